// A market of one stock: chartists and fundamentalists, days with one price.
//
// A trader that is awake compares the price with a mean of its own horizon or
// with its own estimate of the value, and may place an order; the orders of a
// day move the price of the next one. The argument is the number of traders.
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

const int WINDOW = 32;

struct Trader {
  float cash;
  int stock;
  float belief;
  float value;     // what a fundamentalist thinks the stock is worth
  float learning;
  float threshold; // of the belief, for an order
  float boldness;
  int chartist;
  int horizon;
  int period; // wakes up every so many days
  int lastTrade;
  int trades;
};

__global__ void trade(Trader *traders, int n, const float *prices, int day, int *demand) {
  __shared__ int total;
  if (threadIdx.x == 0)
    total = 0;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && (day + i) % traders[i].period == 0) {
    Trader &t = traders[i];
    float price = prices[day], signal;
    if (t.chartist) {
      float sum = 0;
      for (int k = 1; k <= t.horizon; ++k)
        sum += prices[day - k];
      signal = price * t.horizon / sum - 1;
    } else {
      signal = t.value / price - 1;
    }
    float belief = t.belief + t.learning * (signal - t.belief);
    t.belief = belief;
    if (fabsf(belief) > t.threshold) {
      int order = (int)(belief * t.boldness);
      order = max(min(order, (int)(t.cash / price)), -t.stock);
      if (order != 0) {
        t.cash -= order * price;
        t.stock += order;
        t.lastTrade = day;
        t.trades += 1;
        atomicAdd(&total, order);
      }
    }
  }
  __syncthreads();
  if (threadIdx.x == 0 && total != 0)
    atomicAdd(demand, total);
}

__global__ void clear(float *prices, int day, int *demand, int n) {
  float move = 0.05f * *demand / n;
  prices[day + 1] = fminf(fmaxf(prices[day] * expf(move), 1), 10000);
  *demand = 0;
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 23;
  const int repeats = 100;
  std::vector<Trader> traders(n);
  for (int i = 0; i < n; ++i) {
    unsigned h = hash(i), other = hash(~i);
    traders[i] = {1000 + (h & 4095) / 2.0f,
                  (int)(h >> 12 & 31),
                  0,
                  80 + (other & 1023) / 25.0f,
                  0.25f + (h >> 17 & 127) / 256.0f,
                  0.01f + (other >> 10 & 63) / 1024.0f,
                  20 + (float)(other >> 16 & 63),
                  h >> 24 & 1 ? 1 : 0,
                  5 + (int)(other >> 22 & 15),
                  1 + (int)(h >> 25 & 3),
                  -1,
                  0};
  }
  std::vector<float> prices(WINDOW + repeats + 2, 100.0f);
  for (int day = 0; day <= WINDOW; ++day) // a past to start from
    prices[day] = 96 + (hash(day + 0x40000000) & 255) / 32.0f;

  Trader *d_traders;
  CHECK(cudaMalloc(&d_traders, n * sizeof(Trader)));
  CHECK(cudaMemcpy(d_traders, traders.data(), n * sizeof(Trader), cudaMemcpyHostToDevice));
  float *d_prices;
  CHECK(cudaMalloc(&d_prices, prices.size() * sizeof(float)));
  CHECK(cudaMemcpy(d_prices, prices.data(), prices.size() * sizeof(float), cudaMemcpyHostToDevice));
  int *d_demand;
  CHECK(cudaMalloc(&d_demand, sizeof(int)));
  CHECK(cudaMemset(d_demand, 0, sizeof(int)));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    trade<<<(n + 255) / 256, 256>>>(d_traders, n, d_prices, WINDOW + r, d_demand);
    clear<<<1, 1>>>(d_prices, WINDOW + r, d_demand, n);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  CHECK(cudaMemcpy(traders.data(), d_traders, n * sizeof(Trader), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Trader &t : traders)
    check = check * 31 + llround(t.cash) + 3 * t.stock + 5 * llround(t.belief * 1e3) + 7 * t.trades + 11 * t.lastTrade;

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_traders));
  CHECK(cudaFree(d_prices));
  CHECK(cudaFree(d_demand));
}
