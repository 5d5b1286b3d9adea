// A record in a namespace: its generated code stands beside it, uses keep their qualifier.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/out/P/soa/in.cu
// RUN: FileCheck %s --check-prefix=ALIGN --input-file=%t/out/P/aos-align16/in.cu
// RUN: %compile-both %t/out/P/soa/in.cu %t/out/P/aos-align16/in.cu

#include <cstdio>

namespace geo {
struct P {
  float x, y;
  int n;
};
// SOA: namespace geo {
// SOA: struct PSoA {
namespace detail {
__device__ void step(P *p) { p->x += 1; }
// SOA: __device__ void step(PSoA p, ptrdiff_t p_index) { p.x[p_index] += 1; }
} // namespace detail
static_assert(sizeof(P) == 12, "the host keeps its record");
} // namespace geo

__global__ void k(geo::P *p, const ::geo::P *from) {
  // SOA: __global__ void k(geo::PSoA p, ::geo::PSoA from) {
  // ALIGN: __global__ void k(geo::PAlign16 *p, const ::geo::PAlign16 *from) {
  int i = threadIdx.x;
  geo::P t = from[i];
  // SOA: geo::P t = PSoA_load(from, i);
  p[i] = t;
  // SOA: PSoA_store(p, i, t);
  // ALIGN: static_cast<geo::P &>(p[i]) = t;
  geo::detail::step(p + i);
  // SOA: geo::detail::step(p, i);
}

using namespace geo;

int main() {
  struct geo::P *d;
  // SOA: geo::PSoA d;
  P *e;
  // SOA: PSoA e;
  cudaMalloc(&d, 64 * sizeof(*d));
  // SOA: PSoA_malloc(&d, 64 * sizeof(geo::P));
  cudaMalloc(&e, 64 * sizeof(P));
  P h[64];
  for (int i = 0; i < 64; ++i)
    h[i] = {1.0f * i, 2.0f * i, i};
  cudaMemcpy(d, h, sizeof(h), cudaMemcpyHostToDevice);
  cudaMemcpy(e, d, sizeof(h), cudaMemcpyDeviceToDevice);
  k<<<1, 32>>>(d, e);
  k<<<1, 32>>>(e, d);
  cudaMemcpy(h, e, sizeof(h), cudaMemcpyDeviceToHost);
  for (const P &p : h)
    printf("%g %g %d\n", p.x, p.y, p.n);
  cudaFree(d);
  cudaFree(e);
}
