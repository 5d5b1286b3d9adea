// Two device objects of one struct type: one array can move and one cannot, and two that move together share the member.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=ONE --input-file=%t/out/P-p/soa/in.cu
// RUN: FileCheck %s --check-prefix=TWO --input-file=%t/out/P-p-2/soa/in.cu
// RUN: %restride --quiet --layout=soa --struct=P %t/in.cu -- -std=c++17 > %t/both
// RUN: FileCheck %s --check-prefix=BOTH --input-file=%t/both
// RUN: FileCheck %s --check-prefix=FIXED --input-file=%t/out/R-r/soa/in.cu
// RUN: FileCheck %s --check-prefix=PAIR --input-file=%t/out/R-out/soa/in.cu
// RUN: not ls %t/out/R-r-2/soa
// RUN: %compile-both %t/out/P-p/soa/in.cu %t/out/P-p-2/asta32/in.cu %t/out/R-r/soa/in.cu %t/out/R-r/asta32/in.cu %t/out/R-out/soa/in.cu %t/out/R-out/asta32/in.cu
#include <cstdio>

struct P {
  float x, y;
  int id;
};
struct R {
  float a, b, c;
};
struct Cells {
  P *p;
  int n;
  float f;
  // ONE: P *p;
  // ONE-NEXT: PSoA p_soa;
  // ONE-NEXT: int n;
  // TWO: P *p;
  // TWO-NEXT: PSoA p_soa;
  // BOTH: - P *p;
  // BOTH: + PSoA p;
  // BOTH-NOT: p_soa
};
/// The member that is added stands last where objects are initialised by position.
struct Rays {
  R *r, *rest;
  int n;
  // FIXED: R *r, *rest;
  // FIXED-NEXT: int n;
  // FIXED-NEXT: RSoA r_soa;
};
__global__ void first(Cells c) {
  if (threadIdx.x < c.n)
    c.p[threadIdx.x].x = c.f;
  // ONE: c.p_soa.x[threadIdx.x] = c.f;
  // TWO: c.p[threadIdx.x].x = c.f;
}
__global__ void second(Cells c) {
  if (threadIdx.x < c.n)
    c.p[threadIdx.x].y = c.f;
  // ONE: c.p[threadIdx.x].y = c.f;
  // TWO: c.p_soa.y[threadIdx.x] = c.f;
}
__global__ void trace(Rays t) { t.r[threadIdx.x].a = t.n; }
// FIXED: __global__ void trace(Rays t) { t.r_soa.a[threadIdx.x] = t.n; }
/// Two members of one array, one of which the host has too.
struct Pair {
  const R *in;
  R *out;
  // PAIR: RSoA in;
  // PAIR-NEXT: R *out;
  // PAIR-NEXT: RSoA out_soa;
};
__global__ void shift(Pair s) { s.out[threadIdx.x].a = s.in[threadIdx.x].b; }
// PAIR: __global__ void shift(Pair s) { s.out_soa.a[threadIdx.x] = s.in.b[threadIdx.x]; }
__global__ void walk(Rays t) {
  for (R *at = t.r; at != t.r + t.n; ++at)
    at->a = 1;
}
int main() {
  Cells a, b;
  a.n = b.n = 96;
  a.f = b.f = 1;
  cudaMalloc(&a.p, a.n * sizeof(P));
  // ONE: PSoA_malloc(&a.p_soa, a.n * sizeof(P));
  cudaMalloc(&b.p, b.n * sizeof(P));
  // ONE: cudaMalloc(&b.p, b.n * sizeof(P));
  first<<<3, 32>>>(a);
  second<<<3, 32>>>(b);
  Rays t = {nullptr, nullptr, 96}, u = {nullptr, nullptr, 32};
  cudaMalloc(&t.r, t.n * sizeof(R));
  cudaMalloc(&u.r, u.n * sizeof(R));
  trace<<<3, 32>>>(t);
  walk<<<1, 1>>>(u);
  Pair s, h;
  R *other;
  h.out = new R[32];
  cudaMalloc(&other, 32 * sizeof(*other));
  // PAIR: RSoA_malloc(&other, 32 * sizeof(R));
  s.in = other;
  cudaMalloc(&s.out, 32 * sizeof(*s.out));
  // PAIR: RSoA_malloc(&s.out_soa, 32 * sizeof(R));
  cudaMemcpy(other, s.out, 32 * sizeof(R), cudaMemcpyDeviceToDevice);
  shift<<<1, 32>>>(s);
  cudaMemcpy(h.out, s.out, 32 * sizeof(R), cudaMemcpyDeviceToHost);
  // PAIR: RSoA_memcpy(h.out, s.out_soa, 32 * sizeof(R), cudaMemcpyDeviceToHost);
  printf("%d\n", (int)cudaGetLastError());
}
