// A program of several files: kernels, device functions and variables across them.
#include "counts.h"
#include <cstdio>

__device__ int total = 1;

__global__ void use(int *out) { out[threadIdx.x] = twice(threadIdx.x) + scale[0]; }

int main() {
  int h[4], *d;
  cudaMalloc(&d, sizeof(h));
  setUp();
  use<<<1, 4>>>(d);
  add<<<1, 4>>>(d, 100);
  cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
  int n;
  cudaMemcpyFromSymbol(&n, total, sizeof(n));
  printf("%d %d %d %d, %d, %d\n", h[0], h[1], h[2], h[3], n, launchFromHeader(d));
}
// 120 122 124 126, 5, 27
