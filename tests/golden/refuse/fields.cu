// Addresses of fields from which neighbours can be reached.
// RUN: %restride --list %s -- -std=c++17 | FileCheck %s

#include <cstdio>

struct Vec {
  float x, y;
  __device__ void clear() { x = y = 0; }
};
struct P {
  float x, y;
  Vec v;
};

__device__ void two(float *f) { f[1] = f[0]; }
__device__ void one(float *f) { *f = 0; }

__global__ void k(P *p, float *out) {
  one(&p[0].x);
  // CHECK-DAG: fields.cu:[[@LINE+1]]:{{.*}} refused: the address of a field is kept or passed on, and may be used to reach its neighbours
  two(&p[0].x);
  // CHECK-DAG: fields.cu:[[@LINE+1]]:{{.*}} refused: the address of a field is kept
  float *f = &p[1].x;
  f[1] = 0;
  // CHECK-DAG: fields.cu:[[@LINE+1]]:{{.*}} refused: the address of a field is kept
  out[0] = *(&p[2].x + 1);
  // CHECK-DAG: fields.cu:[[@LINE+1]]:{{.*}} refused: the address of a field is kept
  out[1] = ((const float2 *)&p[3].x)->y;
  // CHECK-DAG: fields.cu:[[@LINE+1]]:{{.*}} refused: the address of a field is kept
  printf("%p\n", &p[4].x);
  // CHECK-DAG: fields.cu:[[@LINE+1]]:{{.*}} refused: the address of a field is kept
  asm volatile("" ::"l"(&p[5].x));
  // CHECK-DAG: fields.cu:[[@LINE+1]]:{{.*}} refused: the value of an assignment to a nested record is used
  p[7].v = p[8].v = {1, 2};
}
