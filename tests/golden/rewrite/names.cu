// Generated names follow the record, and avoid what the program has.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/out/particle/soa/in.cu
// RUN: FileCheck %s --check-prefix=TILE --input-file=%t/out/particle/asta32/in.cu
// RUN: FileCheck %s --check-prefix=ALIGN --input-file=%t/out/particle/aos-align16/in.cu
// RUN: %compile-both %t/out/particle/soa/in.cu %t/out/particle/asta32/in.cu %t/out/particle/aos-align16/in.cu
// RUN: FileCheck %s --check-prefix=OTHER --input-file=%t/out/Q/soa/in.cu
// RUN: %compile-both %t/out/Q/soa/in.cu

#include <cstdio>

struct particle {
  float x, y;
  int n;
};
// SOA: struct particle_soa {
// TILE: struct particle_tile32 {
// ALIGN: struct __align__(16) particle_align16 : particle {};
// SOA: particle particle_soa_load(

struct Q {
  float x, y;
};
// OTHER: struct QSoA3 {
struct QSoA {
  int a;
};
static void QSoA2_free() {}
static_assert(sizeof(particle) == 12, "the host keeps its record");

__global__ void k(struct particle *p, Q *q) {
  // SOA: __global__ void k(particle_soa p, Q *q) {
  // OTHER: __global__ void k(struct particle *p, QSoA3 q) {
  struct particle t = p[threadIdx.x];
  q[threadIdx.x].x = t.x;
}

int main() {
  QSoA2_free();
  // The variable has the record's name.
  struct particle h[64], *particle;
  // SOA: struct particle h[64];
  // SOA-NEXT: particle_soa particle;
  // TILE: particle_tile32 *particle;
  cudaMalloc(&particle, 64 * sizeof(*particle));
  // SOA: particle_soa_malloc(&particle, 64 * sizeof(struct particle));
  // TILE: particle_tile32_malloc(&particle, 64 * sizeof(struct particle));
  Q hq[64] = {}, *q;
  cudaMalloc(&q, 64 * sizeof(Q));
  for (int i = 0; i < 64; ++i)
    h[i] = {1.0f * i, 2.0f * i, i};
  cudaMemcpy(particle, h, sizeof(h), cudaMemcpyHostToDevice);
  cudaMemcpy(q, hq, sizeof(hq), cudaMemcpyHostToDevice);
  k<<<1, 32>>>(particle, q);
  cudaMemcpy(hq, q, sizeof(hq), cudaMemcpyDeviceToHost);
  for (const Q &r : hq)
    printf("%g %g\n", r.x, r.y);
}
