// Counts that members hold, and a variable that counts for one array after the other.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/out/P/soa/in.cu
// RUN: FileCheck %s --check-prefix=TILE --input-file=%t/out/P/asta32/in.cu
// RUN: FileCheck %s --check-prefix=ALIGN --input-file=%t/out/P/aos-align16/in.cu
// RUN: FileCheck %s --check-prefix=Q --input-file=%t/out/Q/soa/in.cu
// RUN: %compile-both %t/out/P/soa/in.cu %t/out/P/asta32/in.cu %t/out/P/aos-align16/in.cu %t/out/Q/soa/in.cu
#include <cstdio>
struct P {
  float x, y;
  int id;
};
// SOA: struct PSoA {
// SOA-NEXT: float *x, *y;
// SOA-NEXT: int *id;
// SOA-NEXT: };
// TILE: struct PTile32 {
// ALIGN: struct __align__(16) PAlign16 : P {};
struct Q {
  double a;
  int b;
};
// Q: struct QSoA {
// Q-NEXT: double *a;
// Q-NEXT: int *b;
// Q-NEXT: };
struct Sizes {
  size_t p, q;
  int n;
};
__global__ void k(P *p, Q *q) {
  // SOA: __global__ void k(PSoA p, Q *q) {
  // TILE: __global__ void k(PTile32 *p, Q *q) {
  // ALIGN: __global__ void k(PAlign16 *p, Q *q) {
  // Q: __global__ void k(P *p, QSoA q) {
  int i = threadIdx.x;
  p[i].x += q[i].a;
  // SOA: p.x[i] += q[i].a;
  // TILE: p[i >> 5].x[i & 31] += q[i].a;
  // Q: p[i].x += q.a[i];
  q[i].b += p[i].id;
  // SOA: q[i].b += p.id[i];
  // TILE: q[i].b += p[i >> 5].id[i & 31];
  // Q: q.b[i] += p[i].id;
}
int main() {
  Sizes s;
  s.n = 32;
  s.p = s.n * sizeof(P);
  s.q = s.n * sizeof(Q);
  P h[32], *p;
  // SOA: P h[32];
  // SOA-NEXT: PSoA p;
  // SOA-NEXT: Q g[32], *q;
  // TILE: P h[32];
  // TILE-NEXT: PTile32 *p;
  // TILE-NEXT: Q g[32], *q;
  // ALIGN: P h[32];
  // ALIGN-NEXT: PAlign16 *p;
  // Q: P h[32], *p;
  Q g[32], *q;
  // Q-NEXT: Q g[32];
  // Q-NEXT: QSoA q;
  for (int i = 0; i < 32; i++) {
    h[i] = {1.0f * i, 2.0f * i, i};
    g[i] = {3.0 * i, i};
  }
  size_t sz = s.n * sizeof(P);
  cudaMalloc(&p, sz);
  // SOA: PSoA_malloc(&p, sz);
  // TILE: PTile32_malloc(&p, sz);
  // ALIGN: PAlign16_malloc(&p, sz);
  // Q: cudaMalloc(&p, sz);
  cudaMemcpy(p, h, sz, cudaMemcpyHostToDevice);
  // SOA-NEXT: PSoA_memcpy(p, h, sz, cudaMemcpyHostToDevice);
  // TILE-NEXT: PTile32_memcpy(p, h, sz, cudaMemcpyHostToDevice);
  // ALIGN-NEXT: PAlign16_memcpy(p, h, sz, cudaMemcpyHostToDevice);
  // Q-NEXT: cudaMemcpy(p, h, sz, cudaMemcpyHostToDevice);
  sz = s.n * sizeof(Q);
  cudaMalloc(&q, sz);
  // SOA: {{^}}  cudaMalloc(&q, sz);
  // TILE: {{^}}  cudaMalloc(&q, sz);
  // Q: QSoA_malloc(&q, sz);
  cudaMemcpy(q, g, s.q, cudaMemcpyHostToDevice);
  // SOA-NEXT: {{^}}  cudaMemcpy(q, g, s.q, cudaMemcpyHostToDevice);
  // Q-NEXT: QSoA_memcpy(q, g, s.q, cudaMemcpyHostToDevice);
  k<<<1, 32>>>(p, q);
  cudaMemcpy(g, q, sz, cudaMemcpyDeviceToHost);
  // Q: QSoA_memcpy(g, q, sz, cudaMemcpyDeviceToHost);
  cudaMemcpy(h, p, s.p, cudaMemcpyDeviceToHost);
  // SOA: PSoA_memcpy(h, p, s.p, cudaMemcpyDeviceToHost);
  // TILE: PTile32_memcpy(h, p, s.p, cudaMemcpyDeviceToHost);
  // ALIGN: PAlign16_memcpy(h, p, s.p, cudaMemcpyDeviceToHost);
  // Q-NEXT: {{^}}  cudaMemcpy(h, p, s.p, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 32; i++)
    printf("%g %g %d %g %d\n", h[i].x, h[i].y, h[i].id, g[i].a, g[i].b);
}
