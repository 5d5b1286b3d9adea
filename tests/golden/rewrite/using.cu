// A record that other namespaces use under its own or another name: the handle is spelled in full there.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/out/P/soa/in.cu
// RUN: FileCheck %s --check-prefix=ALIGN --input-file=%t/out/P/aos-align16/in.cu
// RUN: %compile-both %t/out/P/soa/in.cu %t/out/P/asta32/in.cu %t/out/P/aos-align16/in.cu
#include <cstdio>

namespace geo {
struct P {
  float x, y;
  int n;
};
static_assert(sizeof(P) == 12, "the host keeps its record");
} // namespace geo

using geo::P;
using Point = geo::P;
namespace app {
using geo::P;
typedef const geo::P Fixed;
} // namespace app

__global__ void k(P *p, const Point *from, app::P *to, app::Fixed *fixed) {
  // SOA: __global__ void k(geo::PSoA p, geo::PSoA from, geo::PSoA to, geo::PSoA fixed) {
  // ALIGN: __global__ void k(geo::PAlign16 *p, const geo::PAlign16 *from, geo::PAlign16 *to, const geo::PAlign16 *fixed) {
  int i = threadIdx.x;
  P t = from[i];
  // SOA: P t = PSoA_load(from, i);
  t.x += fixed[i].y;
  p[i] = t;
  to[i].n += t.n;
}

P *make() {
  // SOA: geo::PSoA make() {
  P *d;
  // SOA: geo::PSoA d;
  cudaMalloc(&d, 64 * sizeof(P));
  // SOA: PSoA_malloc(&d, 64 * sizeof(P));
  return d;
}

int main() {
  P *d = make();
  // SOA: geo::PSoA d = make();
  P h[64];
  for (int i = 0; i < 64; ++i)
    h[i] = {1.0f * i, 2.0f * i, i};
  cudaMemcpy(d, h, sizeof(h), cudaMemcpyHostToDevice);
  k<<<1, 64>>>(d, d, d, d);
  cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
  for (const P &p : h)
    printf("%g %g %d\n", p.x, p.y, p.n);
  cudaFree(d);
}
