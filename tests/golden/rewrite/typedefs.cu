// Records that C would name: a typedef of an unnamed struct, and of a named one.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/out/P/soa/in.cu
// RUN: FileCheck %s --check-prefix=ALIGN --input-file=%t/out/P/aos-align16/in.cu
// RUN: %compile-both %t/out/P/soa/in.cu %t/out/P/aos-align16/in.cu
// RUN: FileCheck %s --check-prefix=NAMED --input-file=%t/out/body_t/soa/in.cu

#include <cstdio>

typedef struct {
  float x, y;
  int n;
} P;
// SOA: } P;
// SOA: struct PSoA {
// ALIGN: typedef struct __align__(16) {

typedef struct body_s {
  float x, y;
} body_t;
// NAMED: } body_t;
// NAMED: struct body_t_soa {

__global__ void k(P *p, body_t *b) {
  // SOA: __global__ void k(PSoA p, body_t *b) {
  // NAMED: __global__ void k(P *p, body_t_soa b) {
  p[threadIdx.x].x += b[threadIdx.x].y;
}

int main() {
  P h[64], *d;
  body_t hb[64];
  for (int i = 0; i < 64; ++i) {
    h[i] = {1.0f * i, 2.0f * i, i};
    hb[i] = {3, 4.0f * i};
  }
  struct body_s *b;
  // NAMED: body_t_soa b;
  cudaMalloc(&d, 64 * sizeof(P));
  cudaMalloc(&b, 64 * sizeof(body_t));
  // NAMED: body_t_soa_malloc(&b, 64 * sizeof(body_t));
  cudaMemcpy(d, h, 64 * sizeof(P), cudaMemcpyHostToDevice);
  cudaMemcpy(b, hb, 64 * sizeof(body_t), cudaMemcpyHostToDevice);
  k<<<1, 32>>>(d, b);
  cudaMemcpy(h, d, 64 * sizeof(P), cudaMemcpyDeviceToHost);
  for (const P &p : h)
    printf("%g %g %d\n", p.x, p.y, p.n);
  cudaFree(d);
  cudaFree(b);
}
