// Member functions that cannot be written a second time; aligned layouts keep them.
// RUN: %restride --list %s -- -std=c++17 | FileCheck %s

struct P {
  float x, y;
  // CHECK-DAG: methods.cu:[[@LINE+1]]:{{.*}} soa, {{.*}} refused: 'is' works on an element in place, and keeps or passes on 'this'
  __host__ __device__ bool is(const P &o) const { return this == &o; }
};
__global__ void k(P *p, float *out) {
  P t{1, 2};
  out[0] = p[0].is(t) ? 1 : 0;
}

struct Q {
  float x, y;
  __host__ __device__ const float *begin() const { return &x; }
};
// CHECK-DAG: methods.cu:{{.*}} refused: {{.*}}begin{{.*}}
__global__ void k(Q *q, float *out) { out[0] = q[0].begin()[1]; }

struct R {
  float x, y;
  __host__ __device__ void move(float d) { x += d * y; }
};
__device__ R table[64];
// CHECK-DAG: methods.cu:[[@LINE+1]]:{{.*}} soa refused: 'table' is declared with its extent, and a member function changes an element of it
__global__ void k(int n) { table[n].move(2); }

int main() {
  P *p;
  Q *q;
  float *out;
  cudaMalloc(&out, sizeof(float));
  cudaMalloc(&p, 64 * sizeof(P));
  cudaMalloc(&q, 64 * sizeof(Q));
  k<<<1, 1>>>(p, out);
  k<<<1, 1>>>(q, out);
}
