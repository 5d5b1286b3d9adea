// Where somebody sees the record's size, a twin is aligned in its place.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %restride --quiet --layout=aos-align16 %t/in.cu -- -std=c++17 | FileCheck %s --implicit-check-not="+struct __align__(16) {{[A-Z]+}} {"
// RUN: %restride -i --quiet --layout=aos-align16 %t/in.cu -- -std=c++17
// RUN: %compile-both %t/in.cu

#include <cstdio>
struct Asked { float x, y, z; };
// CHECK: +struct __align__(16) AskedAlign16 : Asked {
static_assert(sizeof(Asked) == 12, "");

struct Shared { float x, y, z; };
// CHECK: +struct __align__(16) SharedAlign16 : Shared {

struct Linked { float x, y, z; };
// CHECK: +struct __align__(16) LinkedAlign16 : Linked {
void elsewhere(const Linked *host, int n);

struct Written { float x, y, z; };
// CHECK: +struct __align__(16) WrittenAlign16 : Written {

struct Counted { float x, y, z; };
// CHECK: +struct __align__(16) CountedAlign16 : Counted {

struct Part { float x, y, z; };
// CHECK: +struct __align__(16) PartAlign16 : Part {
struct Whole {
  Part part;
};

__global__ void k(Asked *a, Shared *b, Linked *c, Written *d, Counted *e, Part *f) {
  // CHECK: +__global__ void k(AskedAlign16 *a, SharedAlign16 *b, LinkedAlign16 *c, WrittenAlign16 *d, CountedAlign16 *e, PartAlign16 *f) {
  extern __shared__ Shared tile[];
  int i = threadIdx.x;
  tile[i] = b[i];
  a[i].x = tile[i].y + c[i].x + d[i].x + e[i].x + f[i].x;
}

void run() {
  const int n = 64;
  Asked *a;
  Shared *b;
  Linked *c, hc[n] = {};
  Written *d, hd[n] = {};
  Counted *e;
  Part *f;
  cudaMalloc(&a, n * sizeof(Asked));
  cudaMalloc(&b, n * sizeof(Shared));
  cudaMalloc(&c, sizeof(hc));
  cudaMalloc(&d, sizeof(hd));
  cudaMalloc(&e, n * 12);
  cudaMalloc(&f, n * sizeof(Part));
  elsewhere(hc, n);
  fwrite(hd, 12, n, stdout);
  k<<<1, 32, 32 * 12>>>(a, b, c, d, e, f);
}
