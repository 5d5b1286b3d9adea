// The pointer handed on to device functions; declarations that stand before.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %restride --quiet --emit-variants=%t/out %t/in.cu -- -std=c++17 > %t/diff
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/out/P/soa/in.cu
// RUN: %compile-both %t/out/P/soa/in.cu

struct P {
  float x, y;
};

__global__ void k(P *, int n);
// SOA: __global__ void k(PSoA, int n);
__device__ void step(P *p, const int n);
// SOA: __device__ void step(PSoA p, const int n);
__device__ float first(const P p[], int = 0);
// SOA: __device__ float first(PSoA p, int = 0);
__host__ __device__ static inline P *skip(P *const p, int n) { return p + n; }
// SOA: __host__ __device__ static inline PSoA skip(PSoA p, int n) { return PSoA_at(p, n); }

__device__ void step(P *p, const int n) {
  // SOA: __device__ void step(PSoA p, const int n) {
  if (n > 0)
    step(p, n - 1);
  p->x += first(p);
  // SOA: p.x[0] += first(p);
}
__device__ float first(const P p[], int i) { return p[i].x; }
// SOA: __device__ float first(PSoA p, int i) { return p.x[i]; }

__global__ void k(P *p, int n) {
  // SOA: __global__ void k(PSoA p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  step(p, i);
  step(p + i, i);
  // SOA: step(PSoA_at(p, i), i);
  step(&p[i + 1], n);
  // SOA: step(PSoA_at(p, i + 1), n);
  p[i].y = first(skip(p, n), 3) + skip(p, i)->x;
  // SOA: p.y[i] = first(skip(p, n), 3) + skip(p, i).x[0];
}

int main() {
  P *d;
  cudaMalloc(&d, 64 * sizeof(P));
  k<<<1, 32>>>(d, 1);
  k<<<1, 32>>>(d + 32, 1);
  // SOA: k<<<1, 32>>>(PSoA_at(d, 32), 1);
  cudaFree(d);
}
