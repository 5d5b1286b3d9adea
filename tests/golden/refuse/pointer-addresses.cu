// What is done with the address of a pointer besides `*p`, allocating through it and handing it on.
// RUN: %restride --list %s -- -std=c++17 2>&1 | FileCheck %s
#include <cstdio>
struct A { float x, y, z, w; };
struct B { float x, y, z, w; };
struct C { float x, y, z, w; };
struct D { float x, y, z, w; };
struct E { float x, y, z, w; };
struct F { float x, y, z, w; };
struct G { float x, y, z, w; };
template <class T> __global__ void k(T *p, int n) { int i = threadIdx.x; if (i < n) p[i].x += 1; }
// CHECK-DAG: [[#@LINE+1]]:{{[0-9]+}}: note: refused: the address of the pointer is taken
static void both(A **p, int n) { for (int i = 0; i < 2; ++i) cudaMalloc(&p[i], n * sizeof(A)); }
// CHECK-DAG: [[#@LINE+1]]:{{[0-9]+}}: note: refused: the address of the pointer changes
static void next(B **p, int n) { cudaMalloc(p, n * sizeof(B)); ++p; }
static C **kept;
// CHECK-DAG: [[#@LINE+1]]:{{[0-9]+}}: note: refused: the address of the pointer is taken
static void keep(C **p, int n) { cudaMalloc(p, n * sizeof(C)); kept = p; }
static void any(void **p, size_t bytes) { cudaMalloc(p, bytes); }
void unseen(E **p, int n);
static void allocate(F **p, int n) { cudaMalloc(p, n * sizeof(F)); }
static void fill(G **p, int n) { cudaMalloc(p, n * sizeof(G)); }
int main() {
  int n = 1024;
  A *a[2];
  both(a, n);
  k<<<1, 1024>>>(a[0], n);
  B *b;
  next(&b, n);
  k<<<1, 1024>>>(b, n);
  C *c;
  keep(&c, n);
  k<<<1, 1024>>>(c, n);
  D *d;
  // CHECK-DAG: [[#@LINE+1]]:{{[0-9]+}}: note: refused: the address of the pointer is taken
  any((void **)&d, n * sizeof(D));
  k<<<1, 1024>>>(d, n);
  E *e;
  // CHECK-DAG: [[#@LINE+1]]:{{[0-9]+}}: note: refused: the pointer is passed to 'unseen', whose body is not seen
  unseen(&e, n);
  k<<<1, 1024>>>(e, n);
  F *f;
  void (*how)(F **, int) = allocate;
  // CHECK-DAG: [[#@LINE+1]]:{{[0-9]+}}: note: refused: the address of the pointer is taken
  how(&f, n);
  k<<<1, 1024>>>(f, n);
  G *g, **where = &g;
  // CHECK-DAG: [[#@LINE-1]]:{{[0-9]+}}: note: refused: the address of the pointer is taken
  fill(where, n);
  k<<<1, 1024>>>(g, n);
}
