// Sales of a chain of shops, summed by shop.
//
// The lines of a receipt follow each other and have the same shop. Lines of a
// return are counted only. All sums are integers, in cents. The argument is the
// number of lines.
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

struct Sale {
  int receipt;
  int article;
  int customer;
  int price; // of one, in cents
  int day;
  short shop;
  short quantity; // below zero for a return
  char discount;  // in percent
  char payment;
  short cashier;
};

struct Shop {
  unsigned long long revenue;
  unsigned long long tax;
  int count;
  int items;
  int returns;
  int largest;
  int taxRate; // in percent
  int opened;
};

__global__ void sumByShop(const Sale *sales, int n, Shop *shops, int firstDay, int lastDay) {
  int stride = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
    const Sale &sale = sales[i];
    if (sale.day < firstDay || sale.day > lastDay)
      continue;
    Shop &shop = shops[sale.shop];
    if (sale.quantity < 0) {
      atomicAdd(&shop.returns, 1);
      continue;
    }
    int amount = sale.price * sale.quantity * (100 - sale.discount) / 100;
    atomicAdd(&shop.revenue, (unsigned long long)amount);
    atomicAdd(&shop.tax, (unsigned long long)(amount * shop.taxRate / 100));
    atomicAdd(&shop.count, 1);
    atomicAdd(&shop.items, (int)sale.quantity);
    if (amount > 90000) // few are candidates
      atomicMax(&shop.largest, amount);
  }
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 12000000;
  const int shopCount = 2000, days = 364;
  std::vector<Sale> sales(n);
  for (int i = 0, receipt = 0, left = 0; i < n; ++i) {
    if (left == 0) {
      ++receipt;
      left = 1 + hash(receipt ^ 0x20000000) % 8;
    }
    --left;
    unsigned h = hash(i), r = hash(receipt ^ 0x40000000);
    sales[i] = {receipt,
                (int)(h % 40000),
                (int)(hash(r) % 1000000),
                (int)(49 + 50 * (h >> 8 & 511)),
                (int)((long long)i * days / n), // in order of the day
                (short)(r % 3 == 0 ? r / 3 % 100 : r / 3 % shopCount), // a hundred are large
                (short)((h >> 17) % 64 == 0 ? -1 : 1 + (int)(h >> 23 & 3)),
                (char)((h >> 25) % 8 == 0 ? 20 : 0),
                (char)(r >> 30),
                (short)(r >> 20 & 15)};
  }
  std::vector<Shop> shops(shopCount);
  for (int s = 0; s < shopCount; ++s)
    shops[s] = {0, 0, 0, 0, 0, 0, s % 5 == 0 ? 7 : 19, 1980 + s % 40};

  Sale *d_sales;
  CHECK(cudaMalloc(&d_sales, n * sizeof(Sale)));
  CHECK(cudaMemcpy(d_sales, sales.data(), n * sizeof(Sale), cudaMemcpyHostToDevice));
  Shop *d_shops;
  CHECK(cudaMalloc(&d_shops, shopCount * sizeof(Shop)));
  CHECK(cudaMemcpy(d_shops, shops.data(), shopCount * sizeof(Shop), cudaMemcpyHostToDevice));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    sumByShop<<<1056, 256>>>(d_sales, n, d_shops, 91, 272); // two quarters
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  CHECK(cudaMemcpy(shops.data(), d_shops, shopCount * sizeof(Shop), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Shop &s : shops)
    check = check * 31 + s.revenue + 3 * s.tax + 5 * s.count + 7 * s.items + 11 * s.returns + 13 * s.largest;

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_sales));
  CHECK(cudaFree(d_shops));
}
