// SELECT item, count(*), sum(quantity), sum(cents), min(day), max(day) GROUP BY item
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cuda_runtime.h>

#define NUM_ITEMS 6000
#define BLOCK 256

typedef struct {
  unsigned long long ticket;
  int store;
  int item;
  int quantity;
  unsigned int cents;
  int day;
  unsigned char channel;
  unsigned char payment;
  short discount;         // per mille
} Sale;

typedef struct {
  unsigned long long cents;
  unsigned int count;
  int quantity;
  int firstDay;
  int lastDay;
} ItemTotal;

#define gpuErrchk(ans) gpuAssert((ans), __FILE__, __LINE__)
static inline void gpuAssert(cudaError_t code, const char *file, int line) {
  if (code != cudaSuccess) {
    fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line);
    exit(code);
  }
}

__global__ void clear_totals(ItemTotal *totals, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    totals[i].cents = 0;
    totals[i].count = 0;
    totals[i].quantity = 0;
    totals[i].firstDay = INT_MAX;
    totals[i].lastDay = INT_MIN;
  }
}

__global__ void group_sales(const Sale *sales, size_t n, ItemTotal *totals, int fromDay, int toDay) {
  size_t stride = (size_t)gridDim.x * blockDim.x;
  for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
    const Sale &s = sales[i];
    if (s.day < fromDay || s.day >= toDay) continue;
    ItemTotal &t = totals[s.item];
    unsigned long long paid =
        (unsigned long long)s.cents * (unsigned)s.quantity * (unsigned)(1000 - s.discount) / 1000u;
    atomicAdd(&t.cents, paid);
    atomicAdd(&t.count, 1u);
    atomicAdd(&t.quantity, s.quantity);
    if (s.day < t.firstDay) atomicMin(&t.firstDay, s.day);
    if (s.day > t.lastDay) atomicMax(&t.lastDay, s.day);
  }
}

__global__ void average_price(const ItemTotal *totals, unsigned int *avg, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int q = totals[i].quantity;
  avg[i] = q > 0 ? (unsigned int)(totals[i].cents / (unsigned)q) : 0u;
}

static uint64_t lcg = 88172645463325252ull;
static inline uint32_t rnd(void) {
  lcg = lcg * 6364136223846793005ull + 1442695040888963407ull;
  return (uint32_t)(lcg >> 32);
}

static void run_step(const Sale *d_sales, size_t n, ItemTotal *d_totals, unsigned int *d_avg, int step) {
  int small = (NUM_ITEMS + BLOCK - 1) / BLOCK;
  int blocks = (int)((n + BLOCK - 1) / BLOCK);
  if (blocks > 132 * 16) blocks = 132 * 16;
  clear_totals<<<small, BLOCK>>>(d_totals, NUM_ITEMS);
  group_sales<<<blocks, BLOCK>>>(d_sales, n, d_totals, step % 30, 335 + step % 30);
  average_price<<<small, BLOCK>>>(d_totals, d_avg, NUM_ITEMS);
}

int main(int argc, char **argv) {
  size_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 8000000;
  if (n < 1) n = 1;
  const int steps = 20;

  Sale *h_sales = (Sale *)malloc(n * sizeof(Sale));
  if (!h_sales) { fprintf(stderr, "out of memory\n"); return 1; }
  for (size_t i = 0; i < n; i++) {
    uint32_t r = rnd(), r2 = rnd();
    double u = rnd() / 4294967296.0;
    h_sales[i].ticket = ((unsigned long long)r << 20) ^ i;
    h_sales[i].store = (int)(r % 800);
    h_sales[i].item = (int)(u * (0.3 + 0.7 * u) * NUM_ITEMS);   // popular items first
    h_sales[i].quantity = 1 + (int)(r2 % 9);
    h_sales[i].cents = 50 + (r2 >> 8) % 20000;
    h_sales[i].day = (int)((i * 365ull) / n);
    h_sales[i].channel = (unsigned char)(r & 3);
    h_sales[i].payment = (unsigned char)((r >> 2) & 7);
    h_sales[i].discount = (short)((r >> 5) % 4 == 0 ? (r >> 8) % 300 : 0);
  }

  Sale *d_sales;
  ItemTotal *d_totals;
  unsigned int *d_avg;
  gpuErrchk(cudaMalloc((void **)&d_sales, n * sizeof(Sale)));
  gpuErrchk(cudaMalloc((void **)&d_totals, NUM_ITEMS * sizeof(ItemTotal)));
  gpuErrchk(cudaMalloc((void **)&d_avg, NUM_ITEMS * sizeof(unsigned int)));
  gpuErrchk(cudaMemcpy(d_sales, h_sales, n * sizeof(Sale), cudaMemcpyHostToDevice));

  run_step(d_sales, n, d_totals, d_avg, 0);
  gpuErrchk(cudaPeekAtLastError());
  gpuErrchk(cudaDeviceSynchronize());

  cudaEvent_t start, stop;
  gpuErrchk(cudaEventCreate(&start));
  gpuErrchk(cudaEventCreate(&stop));
  gpuErrchk(cudaEventRecord(start, 0));
  for (int s = 0; s < steps; s++) run_step(d_sales, n, d_totals, d_avg, s);
  gpuErrchk(cudaEventRecord(stop, 0));
  gpuErrchk(cudaEventSynchronize(stop));
  gpuErrchk(cudaPeekAtLastError());
  float ms = 0.0f;
  gpuErrchk(cudaEventElapsedTime(&ms, start, stop));

  ItemTotal *h_totals = (ItemTotal *)malloc(NUM_ITEMS * sizeof(ItemTotal));
  unsigned int *h_avg = (unsigned int *)malloc(NUM_ITEMS * sizeof(unsigned int));
  gpuErrchk(cudaMemcpy(h_totals, d_totals, NUM_ITEMS * sizeof(ItemTotal), cudaMemcpyDeviceToHost));
  gpuErrchk(cudaMemcpy(h_avg, d_avg, NUM_ITEMS * sizeof(unsigned int), cudaMemcpyDeviceToHost));

  uint64_t h = 1469598103934665603ull;
#define MIX(v) h = (h ^ (uint64_t)(v)) * 1099511628211ull
  for (int i = 0; i < NUM_ITEMS; i++) {
    MIX(h_totals[i].cents);
    MIX(h_totals[i].count);
    MIX((uint32_t)h_totals[i].quantity);
    MIX((uint32_t)h_totals[i].firstDay);
    MIX((uint32_t)h_totals[i].lastDay);
    MIX(h_avg[i]);
  }
  printf("time_ms %f\n", ms / steps);
  printf("check %llu\n", (unsigned long long)h);

  cudaFree(d_sales); cudaFree(d_totals); cudaFree(d_avg);
  free(h_sales); free(h_totals); free(h_avg);
  return 0;
}
