// Arrays in device memory whose declaration or use cannot be respelled.
// RUN: rm -rf %t && split-file %s %t
// RUN: cd %t && %restride --list in.cu -- -std=c++17 | FileCheck %s

//--- in.cu
#include <cstdio>
struct A { float x, y; };
// CHECK-DAG: in.cu:{{.*}} refused: 'initial' is initialised where it is declared; fill it with cudaMemcpyToSymbol
__device__ A initial[2] = {{1, 2}, {3, 4}};
// CHECK-DAG: in.cu:{{.*}} refused: 'grid' is an array of arrays; make it one array with a computed index
__constant__ A grid[4][4];
// CHECK-DAG: in.cu:{{.*}} refused: the declaration of 'first' declares other variables too; give the array a declaration of its own
__device__ A first[4], second[4];
// CHECK-DAG: in.cu:{{.*}} refused: 'elsewhere' is declared in several places
extern __device__ A elsewhere[4];
__device__ A elsewhere[4];
__device__ void fill(A *a) { a[0].x = 1; }
__device__ void one(A &a) { a.x = 1; }
__device__ A passed[4];
__device__ A walked[4];
__device__ A kept[4];
__device__ A tested[4];
__device__ A addressed[4];
__device__ A partly[8];
__device__ A odd[8];
__device__ A viaHost[8];
__device__ A ranged[8];
__device__ A symbol[8];
// CHECK-DAG: in.cu:{{.*}} refused: 'generic' is a member of a class or a template
template <class T> __device__ T generic[8];
// CHECK-DAG: in.cu:{{.*}} refused: 'held' is a member of a class or a template
struct Holder { static __constant__ A held[4]; };
__constant__ A Holder::held[4];
typedef A Four[4];
__device__ Four four;
// CHECK-DAG: in.cu:{{.*}} refused: the declaration of 'odder' is too unusual to take apart
__device__ A __align__(16) odder[4];
#define DECLARE(name) __device__ A name[4];
// CHECK-DAG: in.cu:{{.*}} refused: 'made' is declared by a macro
DECLARE(made)
__global__ void a(A *p, int n) {
  // CHECK-DAG: in.cu:{{.*}} refused: 'dynamic' is an array without an extent
  extern __shared__ A dynamic[];
  dynamic[n].x = initial[n].x + grid[n][n].x + first[n].x + second[n].x + elsewhere[n].x + generic<A>[n].x + Holder::held[n].x + four[n].x + odder[n].x + made[n].x;
  fill(p);
  // CHECK-DAG: in.cu:{{.*}} refused: 'passed' is declared in device memory, and a pointer to it is passed on or kept here
  fill(passed);
  for (A *w = walked; w < walked + 4; ++w)
    w->x = 1;
  // CHECK-DAG: in.cu:{{.*}} refused: 'kept' is declared in device memory, and a pointer to it is passed on or kept here
  A *k = kept + n;
  k = n ? k : nullptr;
  k->x = 1;
  // CHECK-DAG: in.cu:{{.*}} refused: 'tested' is declared in device memory, and a pointer to it is passed on or kept here
  if (tested)
    tested[n].x = 1;
  // CHECK-DAG: in.cu:{{.*}} refused: 'addressed' is declared in device memory, and is used as a whole
  A(*all)[4] = &addressed;
  (*all)[0].x = 1;
  // CHECK-DAG: in.cu:{{.*}} refused: 'partly' is declared in device memory, and a pointer to it is passed on or kept here
  one(partly[n]);
  partly[n].x = 1;
  odd[n].x = 1;
  viaHost[n].x = 1;
  // CHECK-DAG: in.cu:{{.*}} refused: 'ranged' gets another name here
  for (A &r : ranged)
    r.x = 1;
  symbol[n].x = 1;
}
struct B { float x, y; };
__constant__ B bytes[8];
__constant__ B offset[8];
__global__ void b(float *out) { *out = bytes[0].x + offset[0].y; }

int main(int argc, char **argv) {
  A *d, h[8];
  B hb[8];
  cudaMalloc(&d, sizeof(h));
  void *p;
  // CHECK-DAG: in.cu:{{.*}} refused: 'symbol' is declared in device memory, and is passed to 'cudaGetSymbolAddress' as a whole
  cudaGetSymbolAddress(&p, symbol);
  // CHECK-DAG: in.cu:{{.*}} refused: 'viaHost' is declared in device memory, and host code uses it
  A x = viaHost[1];
  cudaMemcpyToSymbol(odd, h, sizeof(h));
  // CHECK-DAG: in.cu:{{.*}} refused: this byte count is not seen to be a whole number of records; write it with sizeof
  cudaMemcpyToSymbol(bytes, hb, 12);
  cudaMemcpyToSymbol(bytes, hb, argc);
  // CHECK-DAG: in.cu:{{.*}} refused: a part of 'offset' that does not begin with its first element is copied
  cudaMemcpyToSymbol(offset, hb, sizeof(B), sizeof(B));
  a<<<1, 4>>>(d, 1);
  b<<<1, 1>>>((float *)p);
  printf("%g\n", x.x);
}

// A record that grows would not fit.
struct C { float x, y, z; };
// CHECK-DAG: in.cu:{{.*}} aos-align16 refused: 'large' would have 65600 bytes, more than constant memory holds
__constant__ C large[4100];
__global__ void c(float *out) { *out = large[threadIdx.x].x; }
