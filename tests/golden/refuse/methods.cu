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

struct S {
  float x, y;
};
__device__ void operator+=(S &a, const S &b) { // reads b.x after it wrote a.x
  a.x += b.x;
  a.y += b.x;
}
template <class T> __device__ void operator-=(S &a, T b) { a.x -= b; }
__device__ void operator*=(S &a, float *b) { a.x *= *b; }
__device__ void operator/=(S &a, S *b) { a.x /= b->x; }
__device__ S &operator%=(S &a, S &b) { return a.x < b.x ? a : b; }
__device__ S &operator^=(S &a, int b) { return a.x *= b, a; }
// CHECK-DAG: methods.cu:[[@LINE+1]]:{{.*}} refused: an operator may change this element, or read it after changing another; give it a copy
__global__ void k0(S *s) { s[0] += s[1]; }
// CHECK-DAG: methods.cu:36:{{.*}} refused: 'operator-=' works on an element in place, and is a template
__global__ void k1(S *s) { s[0] -= 2; }
// CHECK-DAG: methods.cu:38:{{.*}} refused: 'operator/=' works on an element in place, and uses a pointer to records
__global__ void k2(S *s, float *out) { s[0] *= out, s[0] /= nullptr; }
// CHECK-DAG: methods.cu:[[@LINE+1]]:{{.*}} refused: an operator may change this element, or read it after changing another; give it a copy
__global__ void k3(S *s) { s[0] %= s[1]; }
// CHECK-DAG: methods.cu:[[@LINE+1]]:{{.*}} refused: the result of 'operator^=', which works on an element in place, is used
__global__ void k4(S *s) { (s[0] ^= 2).y = 1; }

// Behind the record its functions' names would mean something else.
__host__ __device__ inline int scale(double) { return 2; }
namespace vec {
struct V {
  float x, y;
};
__host__ __device__ inline V operator*(V a, float b) { return {a.x * b, a.y * b}; }
__host__ __device__ inline void operator*=(V &a, float b) { a.x *= scale(b); }
} // namespace vec
__host__ __device__ inline int scale(float) { return 3; }
struct T {
  vec::V v;
  float m;
};
// CHECK-DAG: methods.cu:[[@LINE-4]]:{{.*}} remark: array of 'T' ('t') can be laid out anew
__global__ void k5(T *t) { t[0].v *= 2; }

int main() {
  S *s0, *s1, *s2, *s3, *s4;
  T *t;
  cudaMalloc(&t, 64 * sizeof(T));
  k5<<<1, 1>>>(t);
  cudaMalloc(&s0, 64 * sizeof(S));
  cudaMalloc(&s1, 64 * sizeof(S));
  cudaMalloc(&s2, 64 * sizeof(S));
  cudaMalloc(&s3, 64 * sizeof(S));
  cudaMalloc(&s4, 64 * sizeof(S));
  k0<<<1, 1>>>(s0);
  k1<<<1, 1>>>(s1);
  k2<<<1, 1>>>(s2, nullptr);
  k3<<<1, 1>>>(s3);
  k4<<<1, 1>>>(s4);
  P *p;
  Q *q;
  float *out;
  cudaMalloc(&out, sizeof(float));
  cudaMalloc(&p, 64 * sizeof(P));
  cudaMalloc(&q, 64 * sizeof(Q));
  k<<<1, 1>>>(p, out);
  k<<<1, 1>>>(q, out);
}
