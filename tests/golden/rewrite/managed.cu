// Managed memory: the host sees the layout of the device, and its accesses change too.
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

__global__ void k(P *p) { p[threadIdx.x].x += 1; }

static_assert(sizeof(P) == 12, "the host keeps its record");

static float total(const P *p, int n) {
  // SOA: static float total(PSoA p, int n) {
  float s = 0;
  for (int i = 0; i < n; ++i)
    s += p[i].x;
  // SOA: s += p.x[i];
  // TILE: s += p[i >> 5].x[i & 31];
  return s;
}

int main() {
  int n = 64;
  P *m;
  // SOA: PSoA m;
  // ALIGN: PAlign16 *m;
  cudaMallocManaged(&m, n * sizeof(P));
  // SOA: PSoA_mallocManaged(&m, n * sizeof(P));
  // TILE: PTile32_mallocManaged(&m, n * sizeof(P));
  // ALIGN: PAlign16_mallocManaged(&m, n * sizeof(P));
  for (int i = 0; i < n; ++i) {
    P &r = m[i];
    r.x = i;
    // SOA: m.x[i] = i;
    // TILE: m[i >> 5].x[i & 31] = i;
    m[i].y = m[i].n = 0;
  }
  P first = {1, 2, 3};
  m[0] = first;
  // SOA: PSoA_store(m, 0, first);
  k<<<1, 32>>>(m);
  cudaDeviceSynchronize();
  first = m[0];
  // SOA: first = PSoA_load(m, 0);
  printf("%g %g %d\n", total(m, n), first.x, m[1].n);
  // SOA: printf("%g %g %d\n", total(m, n), first.x, m.n[1]);
  cudaFree(m);
}
