// Customers by a random index: whole records of eight words are gathered.
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

struct Customer {
  int id, region, orders, returns;
  float spent, credit, discount, rating;
};

__device__ float value(const Customer &c) {
  return c.id % 7 + c.region + 2 * c.orders - c.returns + c.spent + 2 * c.credit - c.discount + c.rating;
}

__global__ void rate(const Customer *customers, const int *index, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  Customer c = customers[index[i]];
  out[i] = value(c);
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 23;
  std::vector<Customer> customers(n);
  std::vector<int> index(n);
  for (int i = 0; i < n; ++i) {
    unsigned h = hash(i);
    customers[i] = {i,   (int)(h & 15),         (int)(h >> 4 & 15), (int)(h >> 8 & 15), (float)(h >> 12 & 255),
                    100, (float)(h >> 20 & 15), (float)(h >> 24)};
    index[i] = hash(h + 1) % n;
  }
  Customer *d_customers;
  CHECK(cudaMalloc(&d_customers, n * sizeof(Customer)));
  CHECK(cudaMemcpy(d_customers, customers.data(), n * sizeof(Customer), cudaMemcpyHostToDevice));
  int *d_index;
  CHECK(cudaMalloc(&d_index, n * sizeof(int)));
  CHECK(cudaMemcpy(d_index, index.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  float *d_out;
  CHECK(cudaMalloc(&d_out, n * sizeof(float)));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    rate<<<(n + 255) / 256, 256>>>(d_customers, d_index, d_out, n);
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
  CHECK(cudaFree(d_customers));
  CHECK(cudaFree(d_index));
  CHECK(cudaFree(d_out));
}
