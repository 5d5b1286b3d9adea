// A record from a header: the header stays as it is, the generated code goes
// before the first use.
// RUN: rm -rf %t && split-file %s %t && cp %t/body.h %t/body.copy
// RUN: %restride --quiet --layout=soa --emit-variants=%t/out %t/in.cu -- -std=c++17 > %t/diff
// RUN: FileCheck %s --input-file=%t/diff
// RUN: FileCheck %s --check-prefix=TWIN --input-file=%t/out/geo--Body/aos-align16/in.cu
// RUN: %compile-both -I%t %t/out/geo--Body/soa/in.cu %t/out/geo--Body/asta32/in.cu %t/out/geo--Body/aos-align16/in.cu
// RUN: %restride -i --layout=soa --quiet %t/in.cu -- -std=c++17
// RUN: cmp %t/body.h %t/body.copy
// RUN: %restride --check --quiet --layout=soa %t/in.cu -- -std=c++17

// CHECK-NOT: body.h
// CHECK:      +// restride: geo::Body as a structure of arrays
// CHECK-NEXT: +struct BodySoA2 {
// CHECK-NEXT: +  float *x, *y;
// CHECK-NEXT: +  int *n;
// CHECK-NEXT: +};
// CHECK:      +static inline {{.*}} geo::Body BodySoA2_load(BodySoA2 p, ptrdiff_t i) {
// CHECK:       // Moves one body.
// CHECK-NEXT: -__global__ void k(geo::Body *p) {
// CHECK:      +__global__ void k(BodySoA2 p) {
// CHECK-NEXT: +  geo::Body t = BodySoA2_load(p, threadIdx.x);

// TWIN: struct __align__(16) BodyAlign16 : geo::Body {};

//--- body.h
#pragma once
namespace geo {
struct Body {
  float x, y;
  int n;
};
} // namespace geo
inline int BodySoA = 0;

//--- in.cu
#include "body.h"
#include <cstdio>

const int n = 64;

// Moves one body.
__global__ void k(geo::Body *p) {
  geo::Body t = p[threadIdx.x];
  p[threadIdx.x].x = t.y;
}

int main() {
  geo::Body h[n], *d;
  for (int i = 0; i < n; ++i)
    h[i] = {1.0f * i, 2.0f * i, i};
  cudaMalloc(&d, n * sizeof(geo::Body));
  cudaMemcpy(d, h, n * sizeof(geo::Body), cudaMemcpyHostToDevice);
  k<<<1, 32>>>(d);
  cudaMemcpy(h, d, n * sizeof(geo::Body), cudaMemcpyDeviceToHost);
  for (const geo::Body &b : h)
    printf("%g %g %d\n", b.x, b.y, b.n);
  cudaFree(d);
}
