// A recursive function keeps its pointer: a struct in its place would make every level larger.
// RUN: %restride --list %s -- -std=c++17 | FileCheck %s

struct P {
  float x, y;
};

// CHECK: refused: 'sum' calls itself, and its stack would grow by a struct of pointers a call
__device__ float sum(const P *p, int n) { return n ? p[n - 1].x + sum(p, n - 1) : 0; }

__global__ void k(P *p) { p[threadIdx.x].y = sum(p, 8); }

int main() {
  P *p;
  cudaMalloc(&p, 64 * sizeof(P));
  k<<<1, 32>>>(p);
}
