// Prices by a random index: one field of eight is gathered.
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

struct Product {
  float price, tax, weight, length, width, height;
  int stock, category;
};

__global__ void total(const Product *products, const int *basket, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = products[basket[i]].price;
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 24;
  std::vector<Product> products(n);
  std::vector<int> basket(n);
  for (int i = 0; i < n; ++i) {
    unsigned h = hash(i);
    products[i] = {(float)(h & 0xffff), 19, 1, 2, 3, 4, i, (int)(h >> 16)};
    basket[i] = hash(h + 1) % n;
  }
  Product *d_products;
  CHECK(cudaMalloc(&d_products, n * sizeof(Product)));
  CHECK(cudaMemcpy(d_products, products.data(), n * sizeof(Product), cudaMemcpyHostToDevice));
  int *d_basket;
  CHECK(cudaMalloc(&d_basket, n * sizeof(int)));
  CHECK(cudaMemcpy(d_basket, basket.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  float *d_out;
  CHECK(cudaMalloc(&d_out, n * sizeof(float)));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    total<<<(n + 255) / 256, 256>>>(d_products, d_basket, d_out, n);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  std::vector<float> out(n);
  CHECK(cudaMemcpy(out.data(), d_out, n * sizeof(float), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (float v : out)
    check = check * 31 + (long long)v;

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_products));
  CHECK(cudaFree(d_basket));
  CHECK(cudaFree(d_out));
}
