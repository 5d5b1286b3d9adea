// Templates: over the record, never instantiated, instantiated by name, with parts that no instantiation has.
// RUN: %restride --list %s -- -std=c++17 | FileCheck %s

struct A { float x, y; };
struct B { float x, y; };
struct C { float x, y; };
struct D { float x, y; };

// CHECK-DAG: templates.cu:[[@LINE+1]]:{{.*}} refused: 'p' is declared through a typedef of the pointer or a template parameter
template <typename T> __global__ void over(T *p) { p[0].x = 1; }

__global__ void b(B *p) {
  // CHECK-DAG: templates.cu:[[@LINE+1]]:{{.*}} refused: this use of the pointer is not understood
  auto generic = [&](auto v) { p[v].x = 1; };
  generic(0);
}

template <int N> __global__ void named(C *p) { p[N].x = 1; }
// CHECK-DAG: templates.cu:[[@LINE+1]]:{{.*}} refused: 'named' is instantiated explicitly, with the pointer's type
template __global__ void named<2>(C *);

template <int N> __global__ void branches(D *p) {
  if constexpr (N == 1)
    // CHECK-DAG: templates.cu:[[@LINE+1]]:{{.*}} refused: this use is in a template, or a part of one, that is not instantiated
    p[1].x = 1;
  else
    p[0].x = 1;
}

struct E { float x, y; };
struct F { float x, y; };
// CHECK: templates.cu:[[@LINE-2]]:{{.*}}array of 'E'
// CHECK-NEXT: templates.cu:[[@LINE+1]]:{{.*}} refused: 'made' is declared for several record types by a template
template <typename T> T *made(int n) {
  T *p;
  cudaMalloc(&p, n * sizeof(T));
  return p;
}
__global__ void both(E *e, F *f) { e[0].x = f[0].y; }
void mixed() { both<<<1, 1>>>(made<E>(8), made<F>(8)); }

int main() {
  over<<<1, 1>>>((A *)nullptr);
  named<2><<<1, 1>>>(nullptr);
  branches<2><<<1, 1>>>(nullptr);
}
