// Pointers that walk over arrays which are declared in device memory.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=SHARED --input-file=%t/out/P-s/soa/in.cu
// RUN: FileCheck %s --check-prefix=TABLE --input-file=%t/out/P-table/soa/in.cu
// RUN: %compile-both %t/out/P-s/soa/in.cu %t/out/P-table/soa/in.cu

#include <cstdio>

struct P {
  float x, y;
  int n;
};

__device__ P table[64];

__global__ void fill() {
  for (P *q = table; q != table + 64; ++q)
    q->n = int(q - table);
  // TABLE: for (ptrdiff_t q = 0; q != 64; ++q)
  // TABLE-NEXT: table.n[q] = int(q - 0);
}

__global__ void k(P *p, int n) {
  __shared__ P s[64];
  for (P *q = s + threadIdx.x; q < s + 64; q += blockDim.x)
    q->x = p[q - s].y;
  // SHARED: for (ptrdiff_t q = threadIdx.x; q < 64; q += blockDim.x)
  // SHARED-NEXT: s.x[q] = p[q - 0].y;
  __syncthreads();
  const P *last = &s[63];
  while (last > s && last->x > n)
    --last;
  // SHARED: ptrdiff_t last = 63;
  // SHARED-NEXT: while (last > 0 && s.x[last] > n)
  p[threadIdx.x].x = last->x + table[threadIdx.x].n;
}

int main() {
  P *p;
  cudaMallocManaged(&p, 64 * sizeof(P));
  for (int i = 0; i < 64; ++i)
    p[i] = {1.0f * i, 0.5f * i, i};
  fill<<<1, 1>>>();
  k<<<1, 32>>>(p, 20);
  cudaDeviceSynchronize();
  for (int i = 0; i < 64; ++i)
    printf("%g %g %d\n", p[i].x, p[i].y, p[i].n);
  cudaFree(p);
}
