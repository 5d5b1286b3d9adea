// Every way to write a field of an element.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/out/P/soa/in.cu
// RUN: FileCheck %s --check-prefix=TILE --input-file=%t/out/P/asta32/in.cu
// RUN: FileCheck %s --check-prefix=ALIGN --input-file=%t/out/P/aos-align16/in.cu
// RUN: %compile-both %t/out/P/soa/in.cu %t/out/P/asta32/in.cu %t/out/P/aos-align16/in.cu

#include <cstdio>

struct P {
  float x, y;
  int n;
};
// SOA: struct PSoA {
// SOA-NEXT: float *x, *y;
// SOA-NEXT: int *n;
// TILE: struct PTile32 {
// TILE-NEXT: float x[32], y[32];
// TILE-NEXT: int n[32];
// ALIGN: struct __align__(16) PAlign16 : P {};

__global__ void k(P *p, int n, long long far, unsigned u) {
  // SOA: __global__ void k(PSoA p, int n, long long far, unsigned u) {
  // TILE: __global__ void k(PTile32 *p, int n, long long far, unsigned u) {
  // ALIGN: __global__ void k(PAlign16 *p, int n, long long far, unsigned u) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float t = p[i].x; // read
  // SOA: float t = p.x[i]; // read
  // TILE: float t = p[i >> 5].x[i & 31]; // read
  // ALIGN: float t = p[i].x; // read
  p[i].x = p[i].y = 0;
  // SOA: p.x[i] = p.y[i] = 0;
  // TILE: p[i >> 5].x[i & 31] = p[i >> 5].y[i & 31] = 0;
  p[i + 1].x += t;
  // SOA: p.x[i + 1] += t;
  // TILE: p[(i + 1) >> 5].x[(i + 1) & 31] += t;
  p[i].n++, --p[i].n;
  // SOA: p.n[i]++, --p.n[i];
  p[i ? n : u].n <<= 1;
  // SOA: p.n[i ? n : u] <<= 1;
  // TILE: p[(i ? n : u) >> 5].n[(i ? n : u) & 31] <<= 1;
  p[-i + n].y = p[far].y;
  // SOA: p.y[-i + n] = p.y[far];
  // TILE: p[(-i + n) >> 5].y[(-i + n) & 31] = p[far >> 5].y[far & 31];
  p->x = (*p).y;
  // SOA: p.x[0] = p.y[0];
  // TILE: p[0].x[0] = p[0].y[0];
  (p + n)->x = (*(p + u)).y;
  // SOA: p.x[n] = p.y[u];
  // TILE: p[n >> 5].x[n & 31] = p[u >> 5].y[u & 31];
  (p - u)[n].x = (&p[n])[i].y;
  // SOA: p.x[-(ptrdiff_t)u + n] = p.y[(ptrdiff_t)n + i];
  // TILE: p[(-(ptrdiff_t)u + n) >> 5].x[(-(ptrdiff_t)u + n) & 31] = p[((ptrdiff_t)n + i) >> 5].y[((ptrdiff_t)n + i) & 31];
  atomicAdd(&p[i].n, 1);
  // SOA: atomicAdd(&p.n[i], 1);
  // TILE: atomicAdd(&p[i >> 5].n[i & 31], 1);
  t = __ldg(&p[i].x);
  // SOA: t = __ldg(&p.x[i]);
  float &r = p[i].y, *q = &p[i].x;
  // SOA: float &r = p.y[i], *q = &p.x[i];
  *q = r;
  if (!p[i].n && p[i].x < 0)
    // SOA: if (!p.n[i] && p.x[i] < 0)
    return;
  p[i].y = sizeof(p[i].x) + i[p].x;
  // SOA: p.y[i] = sizeof(p.x[i]) + p.x[i];
}

static_assert(sizeof(P) == 12, "the host keeps its record");

int main() {
  P h[128], *d;
  for (int i = 0; i < 128; ++i)
    h[i] = {1.0f * i, 2.0f * i, i % 5};
  cudaMalloc(&d, sizeof(h));
  cudaMemcpy(d, h, sizeof(h), cudaMemcpyHostToDevice);
  k<<<1, 32>>>(d, 40, 50, 3);
  cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
  for (const P &p : h)
    printf("%g %g %d\n", p.x, p.y, p.n);
  cudaFree(d);
}
