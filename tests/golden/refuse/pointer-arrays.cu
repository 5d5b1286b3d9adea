// What is done with an array of pointers besides naming one of them.
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
__global__ void a(A *p, int n) { int i = threadIdx.x; if (i < n) p[i].x += 1; }
__global__ void b(B *p, int n) { int i = threadIdx.x; if (i < n) p[i].x += 1; }
__global__ void c(C *p, int n) { int i = threadIdx.x; if (i < n) p[i].x += 1; }
// CHECK-DAG: [[#@LINE+1]]:18: note: refused: 'p' is an array of pointers that a kernel gets
struct Args { D *p[2]; int n; };
__global__ void d(Args g) { int i = threadIdx.x; if (i < g.n) g.p[0][i].x += g.p[1][i].x; }
// CHECK-DAG: [[#@LINE+1]]:{{[0-9]+}}: note: refused: an array of pointers in device code; give each a name of its own
__global__ void e(E *p, E *q, int n) { int i = threadIdx.x; E *both[2] = {p, q}; if (i < n) both[i & 1][i].x += 1; }
__global__ void f(F *p, int n) { int i = threadIdx.x; if (i < n) p[i].x += 1; }
__global__ void g(G *p, int n) { int i = threadIdx.x; if (i < n) p[i].x += 1; }
static void allocate(A **p, int n) { for (int k = 0; k < 2; ++k) cudaMalloc(&p[k], n * sizeof(A)); }
int main() {
  int n = 1024;
  A *as[2];
  // CHECK-DAG: [[#@LINE+1]]:12: note: refused: the array of pointers is used as a whole; name one of its pointers
  allocate(as, n);
  a<<<1, 1024>>>(as[0], n);
  B *bs[2];
  // CHECK-DAG: [[#@LINE+1]]:35: note: refused: the array of pointers is used as a whole; name one of its pointers
  for (unsigned k = 0; k < sizeof(bs) / sizeof(bs[0]); ++k)
    cudaMalloc(&bs[k], n * sizeof(B));
  b<<<1, 1024>>>(bs[0], n);
  C *cs[2][2];
  cudaMalloc(&cs[0][1], n * sizeof(C));
  // CHECK-DAG: [[#@LINE+1]]:18: note: refused: the pointer comes from an array of pointers; give each array a pointer of its own
  c<<<1, 1024>>>(cs[0][1], n);
  Args args;
  for (int k = 0; k < 2; ++k) cudaMalloc(&args.p[k], n * sizeof(D));
  args.n = n;
  d<<<1, 1024>>>(args);
  E *e0, *e1;
  cudaMalloc(&e0, n * sizeof(E));
  cudaMalloc(&e1, n * sizeof(E));
  e<<<1, 1024>>>(e0, e1, n);
  // CHECK-DAG: [[#@LINE+1]]:{{[0-9]+}}: note: refused: host memory reaches the same pointers
  F *fs[2] = {nullptr, new F[n]};
  // CHECK-DAG: [[#@LINE+1]]:14: note: refused: the array of pointers is used as a whole; name one of its pointers
  cudaMalloc(fs, n * sizeof(F));
  f<<<1, 1024>>>(fs[0], n);
  G *gs[2];
  cudaMalloc(&gs[0], n * sizeof(G));
  G **walk = gs;
  // CHECK-DAG: [[#@LINE+1]]:18: note: refused: the pointer comes from a value that cannot be followed
  g<<<1, 1024>>>(*walk, n);
  printf("%d\n", n);
}
