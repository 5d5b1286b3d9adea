// Kernels that are templates, over a value and over a type, instantiated more than once.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/out/P/soa/in.cu
// RUN: FileCheck %s --check-prefix=TILE --input-file=%t/out/P/asta32/in.cu
// RUN: %compile-both %t/out/P/soa/in.cu %t/out/P/asta32/in.cu

#include <cstdio>

struct P {
  float x, y;
};

template <int Width, typename T> __device__ void scale(P *p, T by) {
  // SOA: template <int Width, typename T> __device__ void scale(PSoA p, T by) {
  for (int k = 0; k < Width; ++k)
    p[k * Width].x *= by;
  // SOA: p.x[k * Width] *= by;
  // TILE: p[(k * Width) >> 5].x[(k * Width) & 31] *= by;
}

template <typename T, int Width = 2> __global__ void k(P *__restrict__ p, T by, int n, int i) {
  // SOA: template <typename T, int Width = 2> __global__ void k(PSoA p, T by, int n, int i) {
  // TILE: template <typename T, int Width = 2> __global__ void k(PTile32 *__restrict__ p, T by, int n, int i) {
  P &r = p[i + Width];
  r.y *= by;
  // SOA: p.y[i + Width] *= by;
  scale<Width>(p, by);
  if constexpr (Width == 2)
    p[Width].x = r.x;
  // SOA: p.x[Width] = p.x[i + Width];
  P t = p[i];
  p[n] = t;
}

int main() {
  P h[64], *d;
  for (int i = 0; i < 64; ++i)
    h[i] = {1.0f * i, 2.0f * i};
  cudaMalloc(&d, sizeof(h));
  cudaMemcpy(d, h, sizeof(h), cudaMemcpyHostToDevice);
  for (int i = 0; i < 32; ++i) {
    k<float><<<1, 1>>>(d, 1.5f, 2, i);
    k<double, 4><<<1, 1>>>(d, 0.5, 2, i);
    k<int, 2><<<1, 1>>>(d, 1, 2, i);
  }
  cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
  for (const P &p : h)
    printf("%g %g\n", p.x, p.y);
  cudaFree(d);
}
