// Macros: what their arguments say changes, their bodies never do.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/out/P/soa/in.cu
// RUN: FileCheck %s --check-prefix=TILE --input-file=%t/out/P/asta32/in.cu
// RUN: %compile-both %t/out/P/soa/in.cu %t/out/P/asta32/in.cu

#define IDX(i, j) (i) * 32 + (j)
#define SQUARE(v) ((v) * (v))
#define AT(array, i) array[i]
#define WIDTH 32
// SOA: #define IDX(i, j) (i) * 32 + (j)
// SOA-NEXT: #define SQUARE(v) ((v) * (v))
// SOA-NEXT: #define AT(array, i) array[i]

#include <cstdio>

struct P {
  float x, y;
};

__global__ void k(P *p, int n) {
  int i = threadIdx.x;
  p[IDX(i, n)].x = SQUARE(p[i].y);
  // SOA: p.x[IDX(i, n)] = SQUARE(p.y[i]);
  // TILE: p[(IDX(i, n)) >> 5].x[(IDX(i, n)) & 31] = SQUARE(p[i >> 5].y[i & 31]);
  AT(p, n).x += p[WIDTH].y;
  // SOA: p.x[n] += p.y[WIDTH];
  // TILE: p[n >> 5].x[n & 31] += p[(WIDTH) >> 5].y[(WIDTH) & 31];
}

int main() {
  P h[33 * 32], *d;
  for (int i = 0; i < 33 * 32; ++i)
    h[i] = {1.0f * i, 2.0f * i};
  cudaMalloc(&d, sizeof(h));
  cudaMemcpy(d, h, sizeof(h), cudaMemcpyHostToDevice);
  k<<<1, 32>>>(d, 1);
  cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
  for (const P &p : h)
    printf("%g %g\n", p.x, p.y);
  cudaFree(d);
}
