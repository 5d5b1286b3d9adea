// Memory that is not, or not only, allocated by the program for the device.
// RUN: %restride --list %s -- -std=c++17 | FileCheck %s

#include <cstdlib>
#include <vector>

struct A { float x, y; };
struct B { float x, y; };
struct C { float x, y; };
struct D { float x, y; };
struct E { float x, y; };
struct F { float x, y; };
struct G { float x, y; };

__global__ void a(A *p) { p[0].x = 1; }
__global__ void b(B *p) { p[0].x = 1; }
// CHECK-DAG: origins.cu:[[@LINE+1]]:{{.*}} refused: no cudaMalloc or cudaMallocManaged of this array is seen
__global__ void c(C *p) { p[0].x = 1; }
__global__ void d(D *p) { p[0].x = 1; }
__global__ void e(E *p) { p[0].x = 1; }
__global__ void f(F *p) { p[0].x = 1; }
__global__ void g(G *p) { p[0].x = 1; }

void fill(void *p); // elsewhere

static A *clear(A *p) {
  static int calls; // of which there would be two, were the function written twice
  p[calls++].x = 0;
  return p;
}

int main() {
  A *dA, hA[4];
  cudaMalloc(&dA, sizeof(hA));
  a<<<1, 1>>>(dA);
  dA = clear(dA);
  // CHECK-DAG: origins.cu:[[@LINE+1]]:{{.*}} refused: host memory reaches the same pointers (an array that is not cudaMalloc's)
  clear(hA);
  A one;
  // CHECK-DAG: origins.cu:[[@LINE+1]]:{{.*}} refused: host memory reaches the same pointers (the address of a single object)
  clear(&one);
  std::vector<A> v(4);
  // CHECK-DAG: origins.cu:[[@LINE+1]]:{{.*}} refused: host memory reaches the same pointers (an array that is not cudaMalloc's)
  clear(v.data());

  int *untyped;
  cudaMalloc(&untyped, 64);
  // CHECK-DAG: origins.cu:[[@LINE+1]]:{{.*}} refused: the pointer comes from a cast from 'int *'
  b<<<1, 1>>>((B *)untyped);

  // CHECK-DAG: origins.cu:[[@LINE+1]]:{{.*}} refused: host memory reaches the same pointers (host memory)
  D *dD = (D *)malloc(64);
  cudaMalloc(&dD, sizeof(D));
  d<<<1, 1>>>(dD);
  // CHECK-DAG: origins.cu:[[@LINE+1]]:{{.*}} refused: host memory reaches the same pointers (free)
  free(dD);

  // CHECK-DAG: origins.cu:[[@LINE+1]]:{{.*}} refused: host memory reaches the same pointers (an array that is not cudaMalloc's)
  E *dE = new E[4];
  cudaMalloc(&dE, sizeof(E));
  e<<<1, 1>>>(dE);
  // CHECK-DAG: origins.cu:[[@LINE+1]]:{{.*}} refused: host memory reaches the same pointers (delete)
  delete[] dE;

  void *raw;
  cudaMalloc(&raw, sizeof(F));
  // CHECK-DAG: origins.cu:[[@LINE+1]]:{{.*}} refused: the pointer is passed to a function that takes any pointer and whose use of it is not known
  fill(raw);
  f<<<1, 1>>>((F *)raw);

  // Of two types: what it points to is not one array of records.
  void *arena;
  cudaMalloc(&arena, 4096);
  a<<<1, 1>>>((A *)arena);
  // CHECK-DAG: origins.cu:[[@LINE+1]]:{{.*}} refused: the pointer comes from a cast from 'void *'
  g<<<1, 1>>>((G *)arena);
}
