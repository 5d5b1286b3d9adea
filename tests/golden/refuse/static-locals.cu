// A function that works on a host's and a device's array would be written twice, and its static variable with it.
// RUN: %restride --list %s -- -std=c++17 | FileCheck %s

struct P {
  float x, y;
};

static float count(P *p, int n) {
  static int calls;
  for (int i = 0; i < n; ++i)
    p[i].x += 1;
  return ++calls;
}

__global__ void k(P *p) { p[threadIdx.x].x *= 2; }

int main() {
  P h[32], *m;
  cudaMallocManaged(&m, sizeof(h));
  // CHECK: static-locals.cu:[[@LINE+1]]:9: note: refused: host memory reaches the same pointers (an array that is not cudaMalloc's): 'count' has a static variable and cannot be written twice
  count(h, 32);
  // CHECK-NOT: refused
  count(m, 32);
  k<<<1, 32>>>(m);
}
