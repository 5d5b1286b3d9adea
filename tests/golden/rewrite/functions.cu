// The pointer handed on to device functions; declarations that stand before.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/out/P/soa/in.cu
// RUN: %compile-both %t/out/P/soa/in.cu

#include <cstdio>

struct P {
  float x, y;
};

__global__ void k(P *, int n, int i);
// SOA: __global__ void k(PSoA, ptrdiff_t, int n, int i);
__device__ void step(P *p, const int n);
// SOA: __device__ void step(PSoA p, ptrdiff_t p_index, const int n);
__device__ float first(const P p[], int = 0);
// SOA: __device__ float first(PSoA p, ptrdiff_t p_index, int = 0);
__host__ __device__ static inline P *skip(P *const p, int n) { return p + n; }
// SOA: __host__ __device__ static inline PSoA skip(PSoA p, ptrdiff_t p_index, int n) { return PSoA_at(p, p_index + n); }

__device__ void step(P *p, const int n) {
  // SOA: __device__ void step(PSoA p, ptrdiff_t p_index, const int n) {
  p->x += first(p) + n;
  // SOA: p.x[p_index] += first(p, p_index) + n;
}
__device__ float first(const P p[], int i) { return p[i].x; }
// SOA: __device__ float first(PSoA p, ptrdiff_t p_index, int i) { return p.x[p_index + i]; }

__global__ void k(P *p, int n, int i) {
  // SOA: __global__ void k(PSoA p, ptrdiff_t p_index, int n, int i) {
  step(p, i);
  step(p + i, i);
  // SOA: step(p, p_index + i, i);
  step(&p[i + 1], n);
  // SOA: step(p, p_index + (i + 1), n);
  p[i].y = first(skip(p, n), 3) + skip(p, i)->x;
  // SOA: p.y[p_index + i] = first(skip(p, p_index, n), 0, 3) + skip(p, p_index, i).x[0];
}

int main() {
  P h[96], *d;
  for (int i = 0; i < 96; ++i)
    h[i] = {1.0f * (i % 32), 0.5f * i};
  cudaMalloc(&d, sizeof(h));
  cudaMemcpy(d, h, sizeof(h), cudaMemcpyHostToDevice);
  for (int i = 0; i < 32; ++i)
    k<<<1, 1>>>(d, 1, i);
  // SOA: k<<<1, 1>>>(d, 0, 1, i);
  for (int i = 0; i < 32; ++i)
    k<<<1, 1>>>(d + 32, 1, i);
  // SOA: k<<<1, 1>>>(d, 32, 1, i);
  cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
  for (const P &p : h)
    printf("%g %g\n", p.x, p.y);
  cudaFree(d);
}
