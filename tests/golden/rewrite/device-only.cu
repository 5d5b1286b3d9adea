// Text that only one of the device's and the host's compilations reads. The host's array keeps its function.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/out/P/soa/in.cu
// RUN: FileCheck %s --check-prefix=TILE --input-file=%t/out/P/asta32/in.cu
// RUN: %compile-both %t/out/P/soa/in.cu %t/out/P/asta32/in.cu %t/out/P/aos-align16/in.cu
#include <cstdio>

struct P {
  float x, y;
};

#ifdef __CUDA_ARCH__
#define SCALE 2.0f
#else
#define SCALE 3.0f
#endif

__host__ __device__ inline float energy(const P *p, int i) {
  // SOA: __host__ __device__ inline float energy(PSoA p, int i) {
  // TILE: __host__ __device__ inline float energy(const PTile32 *p, int i) {
  // TILE-NEXT: #ifdef __CUDA_ARCH__
  // SOA-NEXT: #ifdef __CUDA_ARCH__
#ifdef __CUDA_ARCH__
  return __fmul_rn(p[i].x, p[i].y);
  // SOA-NEXT: return __fmul_rn(p.x[i], p.y[i]);
  // SOA-NEXT: #else
  // TILE-NEXT: return __fmul_rn(p[i >> 5].x[i & 31], p[i >> 5].y[i & 31]);
  // TILE-NEXT: #else
  // TILE-NEXT: return p[i >> 5].x[i & 31] * p[i >> 5].y[i & 31];
#else
  return p[i].x * p[i].y;
  // SOA-NEXT: return p.x[i] * p.y[i];
  // SOA-NEXT: #endif
  // TILE-NEXT: #endif
  // SOA: __host__ __device__ inline float energy(const P *p, int i) {
  // SOA: return p[i].x * p[i].y;
  // TILE: __host__ __device__ inline float energy(const P *p, int i) {
  // TILE: return p[i].x * p[i].y;
#endif
}

__global__ void k(P *p) {
  // SOA: __global__ void k(PSoA p) {
  // TILE: __global__ void k(PTile32 *p) {
  int i = threadIdx.x;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
  p[i].x += 1;
  // SOA: p.x[i] += 1;
  // TILE: p[i >> 5].x[i & 31] += 1;
  P t = p[i + 32];
  // SOA-NEXT: P t = PSoA_load(p, i + 32);
  // SOA-NEXT: #else
  // TILE-NEXT: P t = PTile32_load(p, i + 32);
#else
  p[i].x = 0;
  // SOA-NEXT: p.x[i] = 0;
  // TILE: p[i >> 5].x[i & 31] = 0;
  P t = {0, 0};
#endif
  p[i].y += t.x * SCALE + energy(p, i);
  // SOA: p.y[i] += t.x * SCALE + energy(p, i);
  // TILE: p[i >> 5].y[i & 31] += t.x * SCALE + energy(p, i);
}

int main() {
  P h[64], *d;
  // SOA: P h[64];
  // SOA-NEXT: PSoA d;
  // TILE: P h[64];
  // TILE-NEXT: PTile32 *d;
  for (int i = 0; i < 64; ++i)
    h[i] = {1.0f * i, 0.5f * i};
  cudaMalloc(&d, sizeof(h));
  // SOA: PSoA_malloc(&d, sizeof(h));
  // TILE: PTile32_malloc(&d, sizeof(h));
  cudaMemcpy(d, h, sizeof(h), cudaMemcpyHostToDevice);
  // SOA: PSoA_memcpy(d, h, sizeof(h), cudaMemcpyHostToDevice);
  k<<<1, 32>>>(d);
  cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
  // SOA: PSoA_memcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
  // TILE: PTile32_memcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
  for (int i = 0; i < 64; ++i)
    printf("%g %g %g\n", h[i].x, h[i].y, energy(h, i));
  // SOA: h[i].x, h[i].y, energy(h, i));
  cudaFree(d);
  // SOA: PSoA_free(d);
  // TILE: {{^}}  cudaFree(d);
}
