// Uses of an element as a whole that are not a copy.
// RUN: %restride --list %s -- -std=c++17 | FileCheck %s

#include <utility>

struct P {
  float x, y;
  static int count;
  __host__ __device__ float sum() const { return x + y; }
  __host__ __device__ P &operator+=(const P &o) {
    x += o.x;
    return *this;
  }
};

__device__ P &at(P *p, int i) {
  // CHECK-DAG: elements.cu:[[@LINE+1]]:{{.*}} refused: this use of an element is not understood
  return p[i];
}

__global__ void k(P *p, int n) {
  P t;
  at(p, n).x = 1;
  // CHECK-DAG: elements.cu:[[@LINE+1]]:{{.*}} refused: a member function is called on an element
  t.x = p[n].sum();
  // CHECK-DAG: elements.cu:[[@LINE+1]]:{{.*}} refused: a member function or operator works on an element in place
  p[n] += t;
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
