// Struct types whose objects cannot be told apart: a member is one pointer for all of them.
// RUN: %restride --list %s -- -std=c++17 | FileCheck %s

#include <cstdio>
#include <cstdlib>
#include <vector>

struct A { float x, y; };
struct As { A *p; int n; };
__global__ void use(As d) { d.p[threadIdx.x].x = 1; }
// Read between the copy and the allocation.
As between(As h) {
  As d = h;
  printf("%g\n", d.p[0].x);
  cudaMalloc(&d.p, d.n * sizeof(A));
  return d;
}
void a() {
  As h;
  // CHECK-DAG: objects.cu:[[@LINE+1]]:{{.*}} refused: host memory reaches the same pointers (host memory)
  h.p = (A *)malloc(h.n * sizeof(A));
  use<<<1, 32>>>(between(h));
}

struct B { float x, y; };
struct Bs { B *p; int n; };
__global__ void use(Bs d) { d.p[threadIdx.x].x = 1; }
// Not allocated on every way.
Bs sometimes(Bs h, bool move) {
  Bs d = h;
  if (move)
    cudaMalloc(&d.p, d.n * sizeof(B));
  return d;
}
void b() {
  Bs h;
  // CHECK-DAG: objects.cu:[[@LINE+1]]:{{.*}} refused: host memory reaches the same pointers (host memory)
  h.p = (B *)malloc(h.n * sizeof(B));
  use<<<1, 32>>>(sometimes(h, true));
}

struct C { float x, y; };
struct Cs { C *p; int n; };
__global__ void use(Cs d) { d.p[threadIdx.x].x = 1; }
// A pointer to the struct.
void allocate(Cs *d) { cudaMalloc(&d->p, d->n * sizeof(C)); }
void c() {
  Cs h, d;
  // CHECK-DAG: objects.cu:[[@LINE+1]]:{{.*}} refused: host memory reaches the same pointers (host memory)
  h.p = (C *)malloc(h.n * sizeof(C));
  allocate(&d);
  use<<<1, 32>>>(d);
}

struct D { float x, y; };
struct Ds { D *p; int n; };
__global__ void use(Ds d) { d.p[threadIdx.x].x = 1; }
// In an array, a container, another struct, a lambda.
void d() {
  Ds all[2];
  // CHECK-DAG: objects.cu:[[@LINE+1]]:{{.*}} refused: host memory reaches the same pointers (host memory)
  all[0].p = (D *)malloc(64 * sizeof(D));
  Ds d;
  cudaMalloc(&d.p, 64 * sizeof(D));
  use<<<1, 32>>>(d);
}

struct E { float x, y; };
struct Es { E *p; int n; };
__global__ void use(Es d) { d.p[threadIdx.x].x = 1; }
void e() {
  Es h, d;
  // CHECK-DAG: objects.cu:[[@LINE+1]]:{{.*}} refused: host memory reaches the same pointers (host memory)
  h.p = (E *)malloc(64 * sizeof(E));
  cudaMalloc(&d.p, 64 * sizeof(E));
  std::vector<Es> both;
  both.push_back(d);
  use<<<1, 32>>>(d);
}

struct F { float x, y; };
struct Fs { F *p; int n; };
__global__ void use(Fs d) { d.p[threadIdx.x].x = 1; }
void f() {
  Fs h, d;
  // CHECK-DAG: objects.cu:[[@LINE+1]]:{{.*}} refused: host memory reaches the same pointers (host memory)
  h.p = (F *)malloc(64 * sizeof(F));
  cudaMalloc(&d.p, 64 * sizeof(F));
  [&] { h = d; }();
  use<<<1, 32>>>(d);
}

struct G { float x, y; };
struct Gs { G *p; int n; };
__global__ void use(Gs d) { d.p[threadIdx.x].x = 1; }
template <typename T> void copy(T &to, const T &from) { to = from; }
void g() {
  Gs h, d;
  // CHECK-DAG: objects.cu:[[@LINE+1]]:{{.*}} refused: host memory reaches the same pointers (host memory)
  h.p = (G *)malloc(64 * sizeof(G));
  cudaMalloc(&d.p, 64 * sizeof(G));
  copy(h, d);
  use<<<1, 32>>>(d);
}

struct H { float x, y; };
struct Hs { H *p; int n; };
__global__ void use(Hs d) { d.p[threadIdx.x].x = 1; }
void h() {
  Hs h, d;
  // CHECK-DAG: objects.cu:[[@LINE+1]]:{{.*}} refused: host memory reaches the same pointers (host memory)
  h.p = (H *)malloc(64 * sizeof(H));
  cudaMalloc(&d.p, 64 * sizeof(H));
  printf("%zu\n", sizeof(Hs));
  use<<<1, 32>>>(d);
}

// Told apart, but a member beside the first cannot take its place.
struct I { float x, y; };
struct Is { I *p; int n; };
#define POINTER(d) d.p
__global__ void use(Is d) { d.p[threadIdx.x].x = 1; }
void i() {
  Is h, d;
  h.p = (I *)malloc(64 * sizeof(I));
  cudaMalloc(&d.p, 64 * sizeof(I));
  // CHECK-DAG: objects.cu:[[@LINE+1]]:{{.*}} refused: 'p' is named by a macro's body or an initialiser list, and only some objects' 'p' can move
  cudaMemset(POINTER(d), 0, 64 * sizeof(I));
  use<<<1, 32>>>(d);
}

struct J { float x, y; };
struct Js { J *p; int n; };
__global__ void use(Js d) { d.p[threadIdx.x].x = 1; }
void j() {
  J *array;
  cudaMalloc(&array, 64 * sizeof(J));
  // CHECK-DAG: objects.cu:[[@LINE+1]]:{{.*}} refused: 'p' is named by a macro's body or an initialiser list, and only some objects' 'p' can move
  Js d = {array, 64};
  Js h;
  h.p = (J *)malloc(64 * sizeof(J));
  use<<<1, 32>>>(d);
}
