// Templates: over the record, never instantiated, instantiated by name, with parts that no instantiation has.
// RUN: %restride --list %s -- -std=c++17 | FileCheck %s

struct A { float x, y; };
struct B { float x, y; };
struct C { float x, y; };
struct D { float x, y; };

// CHECK-DAG: templates.cu:[[@LINE+1]]:{{.*}} refused: 'p' is declared through a typedef of the pointer or a template parameter
template <typename T> __global__ void over(T p) { p[0].x = 1; }

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
struct H { float x, y; };
struct H_made {};

// Templates over records that cannot be written once more for one of them.
// CHECK-DAG: templates.cu:[[@LINE+1]]:{{.*}} refused: 'made' is a template that has parts that are there for some types only (if constexpr), so it is not written for this record alone
template <typename T> T *made(int n) {
  T *p;
  cudaMalloc(&p, n * sizeof(T));
  if constexpr (sizeof(T) == 12)
    cudaMemset(p, 0, n * sizeof(T));
  return p;
}
__global__ void one(E *e) { e[threadIdx.x].x = 1; }

// CHECK-DAG: templates.cu:[[@LINE+1]]:{{.*}} refused: 'kept' is a template that has a static variable, so it is not written for this record alone
template <typename T> T *kept(int n) {
  static int calls;
  T *p;
  cudaMalloc(&p, n * sizeof(T) + 0 * ++calls);
  return p;
}
__global__ void two(F *f) { f[threadIdx.x].x = 1; }

struct Device {
  // CHECK-DAG: templates.cu:[[@LINE+1]]:{{.*}} refused: 'made' is a template that is a member, an operator or a friend, so it is not written for this record alone
  template <typename T> static T *made(int n) {
    T *p;
    cudaMalloc(&p, n * sizeof(T));
    return p;
  }
};
struct G { float x, y; };
__global__ void three(G *g) { g[threadIdx.x].x = 1; }

namespace other {
// CHECK-DAG: templates.cu:{{.*}} refused: 'made' is a template that would be written as 'H_made' for this record, and that name is taken
template <typename T> T *made(int n) {
  T *p;
  cudaMalloc(&p, n * sizeof(T));
  return p;
}
} // namespace other
__global__ void four(H *h) { h[threadIdx.x].x = 1; }

struct I { float x, y; };
struct J { float x, y; };
struct K { float x, y; };
struct L { float x, y; };
struct M { float x, y; };

// CHECK-DAG: templates.cu:{{.*}} refused: 'Outside' is a template that has members that are defined outside of it, so it is not written for this record alone
template <class T> struct Outside {
  explicit Outside(int n);
  T *p;
};
template <class T> Outside<T>::Outside(int n) { cudaMalloc(&p, n * sizeof(T)); }

// CHECK-DAG: templates.cu:{{.*}} refused: 'Sized' is a template that has parameters that stand for no record, so it is not written for this record alone
template <class T, int N> struct Sized {
  Sized() { cudaMalloc(&p, N * sizeof(T)); }
  T *p;
};

// CHECK-DAG: templates.cu:{{.*}} refused: 'Explicit' is a template that is instantiated explicitly, so it is not written for this record alone
template <class T> struct Explicit {
  explicit Explicit(int n) { cudaMalloc(&p, n * sizeof(T)); }
  T *p;
};
template struct Explicit<K>;

struct Around {
  // CHECK-DAG: templates.cu:{{.*}} refused: 'Inner' is a template that is a member of a class, so it is not written for this record alone
  template <class T> struct Inner {
    explicit Inner(int n) { cudaMalloc(&p, n * sizeof(T)); }
    T *p;
  };
};

// CHECK-DAG: templates.cu:{{.*}} refused: 'Counted' is a template that has static members, so it is not written for this record alone
template <class T> struct Counted {
  explicit Counted(int n) { cudaMalloc(&p, n * sizeof(T)), ++count; }
  T *p;
  static int count;
};
template <class T> int Counted<T>::count;

__global__ void five(I *i, J *j, K *k, L *l, M *m) {
  int t = threadIdx.x;
  i[t].x = 1, j[t].x = 1, k[t].x = 1, l[t].x = 1, m[t].x = 1;
}

void classes() {
  Outside<I> i(8);
  Sized<J, 8> j;
  Explicit<K> k(8);
  Around::Inner<L> l(8);
  Counted<M> m(8);
  five<<<1, 8>>>(i.p, j.p, k.p, l.p, m.p);
}

void mixed() {
  one<<<1, 8>>>(made<E>(8));
  two<<<1, 8>>>(kept<F>(8));
  three<<<1, 8>>>(Device::made<G>(8));
  four<<<1, 8>>>(other::made<H>(8));
}

int main() {
  over<<<1, 1>>>((A *)nullptr);
  named<2><<<1, 1>>>(nullptr);
  branches<2><<<1, 1>>>(nullptr);
}
