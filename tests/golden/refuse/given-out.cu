// Functions of the program that give out memory which they keep, change or share.
// RUN: %restride --list %s -- -std=c++17 2>&1 | FileCheck %s
#include <cstdio>
#include <vector>
struct A { float x, y, z, w; };
struct B { float x, y, z, w; };
struct C { float x, y, z, w; };
struct D { float x, y, z, w; };
struct E { float x, y, z, w; };
struct F { float x, y, z, w; };
struct G { float x, y, z, w; };
struct H { float x, y, z, w; };
template <class T> __global__ void k(T *p, int n) { int i = threadIdx.x; if (i < n) p[i].x += 1; }

static std::vector<void *> blocks;
static void *kept(size_t bytes) { void *p; cudaMalloc(&p, bytes); blocks.push_back(p); return p; }
static size_t total;
static void *counted(size_t bytes) { void *p; cudaMalloc(&p, bytes); total += bytes; return p; }
static void *host(size_t bytes) { void *p = new char[bytes]; return p; }
static void *managed(size_t bytes) { void *p; cudaMallocManaged(&p, bytes); return p; }
static void *more(size_t bytes) { bytes += 16; void *p; cudaMalloc(&p, bytes); return p; }
static void *behind(size_t bytes) { void *p; cudaMalloc(&p, bytes); return (char *)p + 16; }
static void *twice(size_t bytes) { void *p; cudaMalloc(&p, bytes); static void *other; other = p; return p; }
static void *plain(size_t bytes) { void *p; cudaMalloc(&p, bytes); return p; }

int main() {
  int n = 1024;
  // CHECK-DAG: [[#@LINE+1]]:{{[0-9]+}}: note: refused: the pointer comes from 'kept', which is not seen to give out device memory of its own
  A *a = (A *)kept(n * sizeof(A));
  k<<<1, 1024>>>(a, n);
  // CHECK-DAG: [[#@LINE+1]]:{{[0-9]+}}: note: refused: the pointer comes from 'counted', which is not seen to give out device memory of its own
  B *b = (B *)counted(n * sizeof(B));
  k<<<1, 1024>>>(b, n);
  // CHECK-DAG: [[#@LINE+1]]:{{[0-9]+}}: note: refused: the pointer comes from 'host', which is not seen to give out device memory of its own
  C *c = (C *)host(n * sizeof(C));
  k<<<1, 1024>>>(c, n);
  // CHECK-DAG: [[#@LINE+1]]:{{[0-9]+}}: note: refused: the pointer comes from 'managed', which is not seen to give out device memory of its own
  D *d = (D *)managed(n * sizeof(D));
  k<<<1, 1024>>>(d, n);
  // CHECK-DAG: [[#@LINE+1]]:{{[0-9]+}}: note: refused: the pointer comes from 'more', which is not seen to give out device memory of its own
  E *e = (E *)more(n * sizeof(E));
  k<<<1, 1024>>>(e, n);
  // CHECK-DAG: [[#@LINE+1]]:{{[0-9]+}}: note: refused: the pointer comes from 'behind', which is not seen to give out device memory of its own
  F *f = (F *)behind(n * sizeof(F));
  k<<<1, 1024>>>(f, n);
  // CHECK-DAG: [[#@LINE+1]]:{{[0-9]+}}: note: refused: the pointer comes from 'twice', which is not seen to give out device memory of its own
  G *g = (G *)twice(n * sizeof(G));
  k<<<1, 1024>>>(g, n);
  // CHECK-DAG: [[#@LINE+1]]:{{[0-9]+}}: note: refused: this byte count is not seen to be a whole number of records
  H *h = (H *)plain(n * 10 + 4);
  k<<<1, 1024>>>(h, n);
}
