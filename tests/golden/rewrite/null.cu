// Null pointers: as values, as arguments, asked for.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/out/P/soa/in.cu
// RUN: FileCheck %s --check-prefix=TILE --input-file=%t/out/P/asta32/in.cu
// RUN: %compile-both %t/out/P/soa/in.cu %t/out/P/asta32/in.cu
#include <cassert>
#include <cstddef>
#include <cstdio>

struct P {
  float v[2], y;
};

__global__ void k(P *p, P *maybe = nullptr) {
  // SOA: __global__ void k(PSoA p, PSoA maybe = {}) {
  // TILE: __global__ void k(PTile32 *p, PTile32 *maybe = nullptr) {
  if (maybe && p)
    // SOA: if (maybe.v.base && p.v.base)
    p[threadIdx.x].y += maybe[0].y;
}

struct Sim {
  P *p;
  int a, b;
};
// SOA: struct Sim {
// SOA-NEXT: PSoA p;

static P *none() { return NULL; }
// SOA: static PSoA none() { return {}; }

int main() {
  P *a = NULL, *b{nullptr}, *c(0), *d = {};
  // SOA: PSoA a = {}, b{{[{][{][}][}]}}, c({}), d = {};
  // TILE: PTile32 *a = NULL, *b{nullptr}, *c(0), *d = {};
  Sim s = {0, 1, 2};
  // SOA: Sim s = {{[{][{][}]}}, 1, 2};
  P h[64];
  for (int i = 0; i < 64; ++i)
    h[i] = {{1.0f * i, 2}, 3.0f * i};
  b = a;
  d = a;
  cudaMalloc(&a, 64 * sizeof(P));
  cudaMemcpy(a, h, sizeof(h), cudaMemcpyHostToDevice);
  assert(a != nullptr);
  // SOA: assert(a.v.base != nullptr);
  k<<<1, 32>>>(a);
  k<<<1, 32>>>(a, NULL);
  // SOA: k<<<1, 32>>>(a, {});
  c = a;
  k<<<1, 32>>>(b, c);
  s.p = d;
  c = none();
  k<<<1, 32>>>(s.p, c);
  c = a;
  k<<<1, 32>>>(a, c);
  cudaMemcpy(h, a, sizeof(h), cudaMemcpyDeviceToHost);
  for (const P &p : h)
    printf("%g %g %g\n", p.v[0], p.v[1], p.y);
  if (a) {
    // SOA: if (a.v.base) {
    cudaFree(a);
    a = nullptr;
    // SOA: a = {};
    // TILE: a = nullptr;
  }
  return !a || b == 0 ? s.a : s.b;
  // SOA: return !a.v.base || b.v.base == 0 ? s.a : s.b;
}
