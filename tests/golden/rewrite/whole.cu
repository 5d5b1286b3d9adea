// Elements as a whole: loaded, stored, copied, passed and returned by value.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/out/P/soa/in.cu
// RUN: FileCheck %s --check-prefix=TILE --input-file=%t/out/P/asta32/in.cu
// RUN: FileCheck %s --check-prefix=ALIGN --input-file=%t/out/P/aos-align16/in.cu
// RUN: %compile-both %t/out/P/soa/in.cu %t/out/P/asta32/in.cu %t/out/P/aos-align16/in.cu

#include <cstdio>

struct P {
  float x, y;
  double z;
  int n;
};
// SOA: static inline __host__ __device__ P PSoA_load(PSoA p, ptrdiff_t i) {
// SOA-NEXT: P r;
// SOA-NEXT: r.x = p.x[i];
// SOA-NEXT: r.y = p.y[i];
// SOA-NEXT: r.z = p.z[i];
// SOA-NEXT: r.n = p.n[i];
// SOA-NEXT: return r;
// SOA: static inline __host__ __device__ void PSoA_store(PSoA p, ptrdiff_t i, const P &r) {
// SOA-NEXT: p.x[i] = r.x;
// TILE: static inline __host__ __device__ P PTile32_load(const PTile32 *p, ptrdiff_t i) {
// TILE-NEXT: P r;
// TILE-NEXT: r.x = p[i >> 5].x[i & 31];

__device__ P make(int n) {
  P r = {1, 2, 3, n};
  return r;
}
__device__ float length(const P &a) { return a.x * a.x + a.y * a.y; }
__device__ float byValue(P a) { return a.x; }
__device__ P get(const P *p, int i) { return p[i]; }
// SOA: __device__ P get(PSoA p, int i) { return PSoA_load(p, i); }
// TILE: __device__ P get(const PTile32 *p, int i) { return PTile32_load(p, i); }
// ALIGN: __device__ P get(const PAlign16 *p, int i) { return static_cast<const P &>(p[i]); }

__global__ void k(P *p, int n, int *count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  P t = p[i];
  // SOA: P t = PSoA_load(p, i);
  // TILE: P t = PTile32_load(p, i);
  // ALIGN: P t = p[i];
  t.x += 1;
  p[i] = t;
  // SOA: PSoA_store(p, i, t);
  // TILE: PTile32_store(p, i, t);
  // ALIGN: static_cast<P &>(p[i]) = t;
  p[i] = p[n];
  // SOA: PSoA_store(p, i, PSoA_load(p, n));
  // TILE: PTile32_store(p, i, PTile32_load(p, n));
  // ALIGN: static_cast<P &>(p[i]) = p[n];
  p[i] = make(i);
  // SOA: PSoA_store(p, i, make(i));
  // ALIGN: static_cast<P &>(p[i]) = make(i);
  p[i] = {1, 2, 3, 4};
  // SOA: PSoA_store(p, i, {1, 2, 3, 4});
  // ALIGN: static_cast<P &>(p[i]) = {1, 2, 3, 4};
  p[atomicAdd(count, 1)] = t;
  // SOA: PSoA_store(p, atomicAdd(count, 1), t);
  t = *p;
  // SOA: t = PSoA_load(p, 0);
  auto u = p[i];
  // SOA: auto u = PSoA_load(p, i);
  // ALIGN: auto u = static_cast<const P &>(p[i]);
  P both[2] = {p[i], u};
  // SOA: P both[2] = {PSoA_load(p, i), u};
  p[i].x = length(p[i]) + byValue(p[n]) + both[1].x;
  // SOA: p.x[i] = length(PSoA_load(p, i)) + byValue(PSoA_load(p, n)) + both[1].x;
  // ALIGN: p[i].x = length(p[i]) + byValue(p[n]) + both[1].x;
  if (n)
    p[i] = get(p, n);
  // SOA: PSoA_store(p, i, get(p, n));
}

static_assert(sizeof(P) == 24, "the host keeps its record");

int main() {
  P h[64], *d;
  int *c;
  for (int i = 0; i < 64; ++i)
    h[i] = {1.0f * i, 2.0f * i, 3.0 * i, i};
  cudaMalloc(&d, 64 * sizeof(P));
  cudaMalloc(&c, sizeof(int));
  cudaMemcpy(d, h, sizeof(h), cudaMemcpyHostToDevice);
  cudaMemset(c, 0, sizeof(int));
  k<<<1, 32>>>(d, 1, c);
  cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
  for (const P &p : h)
    printf("%g %g %g %d\n", p.x, p.y, p.z, p.n);
  cudaFree(d);
}
