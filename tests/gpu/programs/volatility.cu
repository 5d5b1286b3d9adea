// Implied volatility of option quotes by bisection.
//
// Five fields are read once, one is stored, and between them a loop runs for
// as long as the quote's price needs: lanes leave it at different turns.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                                    \
  do {                                                                                                                 \
    cudaError_t status = (call);                                                                                       \
    if (status != cudaSuccess) {                                                                                       \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));                                  \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

struct Quote {
  float spot, strike, years, rate, price;
  float volatility;
};

__device__ float normalCdf(float x) { return 0.5f * erfcf(-0.70710678f * x); }

__device__ float call(float spot, float strike, float years, float rate, float sigma) {
  float sd = sigma * sqrtf(years);
  float d1 = (logf(spot / strike) + (rate + 0.5f * sigma * sigma) * years) / sd;
  return spot * normalCdf(d1) - strike * expf(-rate * years) * normalCdf(d1 - sd);
}

__global__ void imply(Quote *quotes, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  Quote &q = quotes[i];
  float low = 0.01f, high = 2.0f;
  while (high - low > 1e-3f * q.years) {
    float middle = 0.5f * (low + high);
    if (call(q.spot, q.strike, q.years, q.rate, middle) > q.price)
      high = middle;
    else
      low = middle;
  }
  q.volatility = 0.5f * (low + high);
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 22;
  std::vector<Quote> quotes(n);
  for (int i = 0; i < n; ++i) {
    unsigned h = hash(i);
    float spot = 80 + (h & 63), strike = 80 + (h >> 6 & 63), years = 0.0625f * (1 + (h >> 12 & 63));
    float inner = spot > strike ? spot - strike : 0;
    quotes[i] = {spot, strike, years, (h >> 18 & 7) / 128.0f, inner + 3 + (h >> 21 & 255) / 16.0f, 0};
  }
  Quote *d_quotes;
  CHECK(cudaMalloc(&d_quotes, n * sizeof(Quote)));
  CHECK(cudaMemcpy(d_quotes, quotes.data(), n * sizeof(Quote), cudaMemcpyHostToDevice));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    imply<<<(n + 255) / 256, 256>>>(d_quotes, n);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  CHECK(cudaMemcpy(quotes.data(), d_quotes, n * sizeof(Quote), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Quote &q : quotes)
    check = check * 31 + llround(q.volatility * 100.0);

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_quotes));
}
