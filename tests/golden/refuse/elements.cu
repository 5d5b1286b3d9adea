// Uses of an element as a whole that are not a copy.
// RUN: %restride --list %s -- -std=c++17 | FileCheck %s

#include <utility>

struct P {
  float x, y;
  static int count;
  __host__ __device__ bool is(const P &o) const { return this == &o; }
  __host__ __device__ const float &first() const { return x; }
  __host__ __device__ static float one() { return 1; }
};

__device__ P &at(P *p, int i) {
  // CHECK-DAG: elements.cu:[[@LINE+1]]:{{.*}} refused: this use of an element is not understood
  return p[i];
}

__global__ void k(P *p, int n) {
  P t;
  at(p, n).x = 1;
  // CHECK-DAG: elements.cu:[[@LINE+1]]:{{.*}} refused: an element is passed by reference to 'is'
  t.x = t.is(p[n]);
  // CHECK-DAG: elements.cu:[[@LINE+1]]:{{.*}} refused: the reference that 'first' gives back is kept or passed on
  const float &kept = p[n].first();
  t.y = kept;
  // CHECK-DAG: elements.cu:[[@LINE+1]]:{{.*}} refused: a static member function is called through an element
  t.y = p[n].one();
  // CHECK-DAG: elements.cu:[[@LINE+1]]:{{.*}} refused: the value of an assignment to an element is used
  t = p[n] = p[0];
  // CHECK-DAG: elements.cu:[[@LINE+1]]:{{.*}} refused: an element is chosen by a condition
  (n ? p[0] : p[1]).x = 1;
  // CHECK-DAG: elements.cu:[[@LINE+1]]:{{.*}} refused: an element is named and not used
  p[n];
  // CHECK-DAG: elements.cu:[[@LINE+1]]:{{.*}} refused: a structured binding takes an element apart in place
  auto &[x, y] = p[n];
  // CHECK-DAG: elements.cu:[[@LINE+1]]:{{.*}} refused: the type of a field is asked for
  decltype(p[n].x) f = 1;
  // CHECK-DAG: elements.cu:[[@LINE+1]]:{{.*}} refused: a property of an element's type is asked for
  t.x = alignof(p[n]);
  // CHECK-DAG: elements.cu:[[@LINE+1]]:{{.*}} refused: a static member is reached through an element
  t.y = p[n].count;
}
