// Declarations that cannot be respelled.
// RUN: rm -rf %t && split-file %s %t
// RUN: cd %t && %restride --list in.cu -- -std=c++17 | FileCheck %s

//--- in.cu
struct A { float x, y; };
typedef A *APointer;
// CHECK-DAG: in.cu:{{.*}} refused: 'p' is declared through a typedef of the pointer or a template parameter
__global__ void a(APointer p) { p[0].x = 1; }

struct B { float x, y; };
// CHECK-DAG: in.cu:{{.*}} refused: 'elsewhere' is defined in another file
extern B *elsewhere;
// CHECK-DAG: in.cu:{{.*}} refused: 'resident' is a pointer in device memory
__device__ B *resident;
__global__ void b(B *p) { resident = p; }

struct C { float x, y; };
struct Sim {
  static C *shared;
};
// CHECK-DAG: in.cu:{{.*}} refused: the declaration of 'shared' stands outside of its class
C *Sim::shared = nullptr;
__global__ void c(C *p) { p[0].x = 1; }

struct D { float x, y; };
// CHECK-DAG: in.cu:{{.*}} refused: the result type of 'trailing' cannot be respelled
static auto trailing(D *p) -> D * { return p; }
__global__ void d(D *p) { p[0].x = 1; }

struct E { float x, y; };
__global__ void e(E *p) { p[0].x = 1; }

struct F { float x, y; };
__global__ void f(F *p) { p[0].x = 1; }

// CHECK-DAG: in.cu:{{.*}} refused: 'beside' is declared together with its record; give it a declaration of its own behind the record
struct G { float x, y; } *beside;
__global__ void g(G *p) { p[0].x = 1; }

int main() {
  APointer a;
  cudaMalloc(&a, 64 * sizeof(A));
  ::a<<<1, 1>>>(a);
  b<<<1, 1>>>(elsewhere);
  c<<<1, 1>>>(Sim::shared);
  D *d = nullptr;
  ::d<<<1, 1>>>(trailing(d));
  E *e[2][2];
  cudaMalloc(&e[0][1], 64 * sizeof(E));
  // CHECK-DAG: in.cu:{{.*}} refused: the pointer comes from an array of pointers; give each array a pointer of its own
  ::e<<<1, 1>>>(e[0][1]);
  cudaMalloc(&beside, 64 * sizeof(G));
  g<<<1, 1>>>(beside);
  F *one, *other;
  cudaMalloc(&one, 64 * sizeof(F));
  cudaMalloc(&other, 64 * sizeof(F));
  // CHECK-DAG: in.cu:{{.*}} refused: the declaration of 'first' has others beside it in a loop's head; declare it in front of the loop
  for (F *first = one, *second = other; first; first = nullptr)
    ::f<<<1, 1>>>(first), ::f<<<1, 1>>>(second);
}
