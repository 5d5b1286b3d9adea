// Accesses whose parts the language evaluates in an order that another spelling would lose.
// RUN: %restride --list %s -- -std=c++17 | FileCheck %s

struct P {
  float x, v[4];
  int n;
};

__device__ int next(int *k) { return (*k)++; }
__device__ P make(int *k) { return {1, {}, next(k)}; }

__global__ void k(P *p, int *count, int n) {
  int i = 0;
  // CHECK-DAG: order.cu:[[@LINE+1]]:{{.*}} refused: the order in which the parts of this access are evaluated matters, and would change
  p[i++].v[i] = 1;
  // CHECK-DAG: order.cu:[[@LINE+1]]:{{.*}} refused: the order in which
  p[i].v[i++] = 1;
  // CHECK-DAG: order.cu:[[@LINE+1]]:{{.*}} refused: the order in which
  p[next(count)] = make(count);
  // CHECK-DAG: order.cu:[[@LINE+1]]:{{.*}} refused: the order in which
  p[i++] = p[i];
  // CHECK-DAG: order.cu:[[@LINE+1]]:{{.*}} refused: the order in which
  p[next(count)] = p[*count];
  // CHECK-DAG: order.cu:[[@LINE+1]]:{{.*}} refused: the order in which
  (p + i)[i++].x = 1;
  int &j = n;
  // CHECK-DAG: order.cu:[[@LINE+1]]:{{.*}} refused: the order in which
  p[j++] = p[n];
  // CHECK-DAG: order.cu:[[@LINE+1]]:{{.*}} refused: the index is a comma expression
  p[i, n].x = 1;
}
