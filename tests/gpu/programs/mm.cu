// Product of two matrices whose elements share a record with the result's.
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

struct Element {
  float a, b, c, bias;
};

__global__ void multiply(Element *m, int size) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size * size)
    return;
  int row = i / size, col = i % size;
  float sum = 0;
  for (int k = 0; k < size; ++k)
    sum += m[row * size + k].a * m[k * size + col].b;
  m[i].c = sum;
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int size = argc > 1 ? atoi(argv[1]) : 1024;
  int n = size * size;
  std::vector<Element> matrices(n);
  for (int i = 0; i < n; ++i) {
    unsigned h = hash(i);
    matrices[i] = {(float)(h & 15), (float)(h >> 4 & 15), 0, (float)(h >> 8 & 15)};
  }
  Element *d_matrices;
  CHECK(cudaMalloc(&d_matrices, n * sizeof(Element)));
  CHECK(cudaMemcpy(d_matrices, matrices.data(), n * sizeof(Element), cudaMemcpyHostToDevice));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    multiply<<<(n + 255) / 256, 256>>>(d_matrices, size);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  CHECK(cudaMemcpy(matrices.data(), d_matrices, n * sizeof(Element), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Element &e : matrices)
    check = check * 31 + (long long)(e.c + e.bias);

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_matrices));
}
