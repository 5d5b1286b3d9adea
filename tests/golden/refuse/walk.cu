// Pointers that walk, and arithmetic on two of them.
// RUN: %restride --list %s -- -std=c++17 | FileCheck %s

struct P {
  float x, y;
};
struct Q {
  float x, y;
};
struct R {
  float x, y;
};

__global__ void walks(P *p, P *q, int n) {
  // CHECK-DAG: walk.cu:[[@LINE+1]]:{{.*}} refused: the pointer walks over the array
  for (; n > 0; --n, ++p)
    p->x = 0;
  // CHECK-DAG: walk.cu:[[@LINE+1]]:{{.*}} refused: the pointer walks over the array
  p += n;
  // CHECK-DAG: walk.cu:[[@LINE+1]]:{{.*}} refused: the pointer walks over the array
  *p++ = q[0];
}

__global__ void compares(Q *p, Q *q, int *out) {
  // CHECK-DAG: walk.cu:[[@LINE+1]]:{{.*}} refused: the difference of two pointers depends on the layout
  out[0] = p - q;
  // CHECK-DAG: walk.cu:[[@LINE+1]]:{{.*}} refused: comparing two element pointers depends on the layout
  if (p < q)
    out[1] = 1;
  // CHECK-DAG: walk.cu:[[@LINE+1]]:{{.*}} refused: comparing two element pointers depends on the layout
  out[2] = p == q + 1;
  // CHECK-DAG: walk.cu:[[@LINE+1]]:{{.*}} refused: a pointer into the array is tested for null
  if (p + 1)
    out[3] = 1;
  // CHECK-DAG: walk.cu:[[@LINE+1]]:{{.*}} refused: the size of the pointer is taken
  out[4] = sizeof(p);
}

struct S {
  float x, y;
};

__device__ void same(S *p, const S *q) {
  // CHECK-DAG: walk.cu:{{.*}} refused: 'p' becomes a pointer and an index, and a comparison needs one pointer
  if (p == q)
    p->x = q->y;
}

__global__ void passes(S *p, S *q) { same(p + 1, q + threadIdx.x); }

struct Grid {
  R *cells, *others;
};

__global__ void inAGrid(Grid g) {
  for (R *q = g.cells + 1;
       // CHECK-DAG: walk.cu:[[@LINE+1]]:{{.*}} refused: comparing two element pointers depends on the layout
       q != g.others; ++q)
    q->x = 1;
}

__global__ void chases(R *p, R *other, int n) {
  for (R *q = p; n > 0; --n)
    // CHECK-DAG: walk.cu:[[@LINE+1]]:{{.*}} refused: the pointer walks over the array
    *q++ = {1, 2};
  R *s = p + 1;
  // CHECK-DAG: walk.cu:[[@LINE+1]]:{{.*}} refused: comparing two element pointers depends on the layout
  while (s != other)
    ++s;
}
