// Table lookup by binary search, then a line through the interval's start.
//
// The search reads one double of a record of 32 bytes at every turn; the rest
// of a record is read once, at the end.
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

struct Knot {
  double x;
  double value;
  double slope;
  int segment, flags;
};

__global__ void evaluate(const Knot *__restrict__ knots, int count, const double *__restrict__ at,
                         double *__restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  double x = at[i];
  int low = 0, high = count;
  while (high - low > 1) {
    int middle = (low + high) / 2;
    if (knots[middle].x <= x)
      low = middle;
    else
      high = middle;
  }
  out[i] = knots[low].value + (x - knots[low].x) * knots[low].slope + knots[low].segment;
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 22;
  int count = n;
  std::vector<Knot> knots(count);
  std::vector<double> at(n);
  for (int k = 0; k < count; ++k) {
    unsigned h = hash(k);
    knots[k] = {k * 4.0 + (h & 3), (double)(h >> 2 & 255), (double)(h >> 10 & 15), (int)(h >> 14 & 255), 0};
  }
  knots[0].x = 0;
  for (int i = 0; i < n; ++i)
    at[i] = hash(~i) % (4u * count);
  Knot *d_knots;
  CHECK(cudaMalloc(&d_knots, count * sizeof(Knot)));
  CHECK(cudaMemcpy(d_knots, knots.data(), count * sizeof(Knot), cudaMemcpyHostToDevice));
  double *d_at;
  CHECK(cudaMalloc(&d_at, n * sizeof(double)));
  CHECK(cudaMemcpy(d_at, at.data(), n * sizeof(double), cudaMemcpyHostToDevice));
  double *d_out;
  CHECK(cudaMalloc(&d_out, n * sizeof(double)));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    evaluate<<<(n + 255) / 256, 256>>>(d_knots, count, d_at, d_out, n);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  std::vector<double> out(n);
  CHECK(cudaMemcpy(out.data(), d_out, n * sizeof(double), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (double v : out)
    check = check * 31 + (long long)v;

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_knots));
  CHECK(cudaFree(d_at));
  CHECK(cudaFree(d_out));
}
