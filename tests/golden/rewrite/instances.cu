// One function, several arrays of a record. An overload takes the array that moves where the function serves others
// too; a function of which all arrays move is rewritten in place.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %restride --quiet --emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=A --input-file=%t/out/P-a/soa/in.cu
// RUN: FileCheck %s --check-prefix=TILE --input-file=%t/out/P-a/asta32/in.cu
// RUN: FileCheck %s --check-prefix=B --input-file=%t/out/P-b/soa/in.cu
// RUN: %compile-both %t/out/P-a/soa/in.cu %t/out/P-a/asta32/in.cu %t/out/P-a/aos-align16/in.cu
// RUN: %compile-both %t/out/P-b/soa/in.cu %t/out/P-b/asta32/in.cu %t/out/P-b/aos-align16/in.cu
// RUN: cp %t/in.cu %t/both.cu && %restride -i --layout=soa --quiet %t/both.cu -- -std=c++17
// RUN: FileCheck %s --check-prefix=BOTH --input-file=%t/both.cu
// RUN: %compile-both %t/both.cu
// RUN: %restride --check --layout=soa --quiet %t/both.cu -- -std=c++17
#include <cstdio>

struct P {
  float x, y;
};

__device__ void add(P *p, int i, float v);
// A: __device__ void add(PSoA p, int i, float v);
// TILE: __device__ void add(PTile32 *p, int i, float v);
// B: __device__ void add(PSoA p, int i, float v);
// BOTH: __device__ void add(PSoA p, int i, float v);
__global__ void scale(P *p, float f);
// A: __global__ void scale(PSoA p, float f);
// TILE: __global__ void scale(PTile32 *p, float f);
// B: __global__ void scale(PSoA p, float f);
// BOTH: __global__ void scale(PSoA p, float f);

__device__ void add(P *p, int i, float v) { p[i].x += v; }
// A: __device__ void add(PSoA p, int i, float v) { p.x[i] += v; }
// TILE: __device__ void add(PTile32 *p, int i, float v) { p[i >> 5].x[i & 31] += v; }
// B: __device__ void add(PSoA p, int i, float v) { p.x[i] += v; }
// BOTH: __device__ void add(PSoA p, int i, float v) { p.x[i] += v; }

// Both arrays, in two orders.
__device__ float both(const P *p, const P *q, int i) { return p[i].x * q[i].y; }
// A: __device__ float both(PSoA p, const P *q, int i) { return p.x[i] * q[i].y; }
// TILE: __device__ float both(const PTile32 *p, const P *q, int i) { return p[i >> 5].x[i & 31] * q[i].y; }
// B: __device__ float both(const P *p, PSoA q, int i) { return p[i].x * q.y[i]; }
// B: __device__ float both(PSoA p, PSoA q, int i) { return p.x[i] * q.y[i]; }
// BOTH: __device__ float both(PSoA p, PSoA q, int i) { return p.x[i] * q.y[i]; }

// On the host too.
__host__ __device__ float sum(const P *p, int n) { float s = 0; for (int i = 0; i < n; ++i) s += p[i].x; return s; }
// A: __host__ __device__ float sum(PSoA p, int n) { float s = 0; for (int i = 0; i < n; ++i) s += p.x[i]; return s; }
// TILE: __host__ __device__ float sum(const PTile32 *p, int n) { float s = 0; for (int i = 0; i < n; ++i) s += p[i >> 5].x[i & 31]; return s; }
// B: __host__ __device__ float sum(PSoA p, int n) { float s = 0; for (int i = 0; i < n; ++i) s += p.x[i]; return s; }
// BOTH: __host__ __device__ float sum(PSoA p, int n) { float s = 0; for (int i = 0; i < n; ++i) s += p.x[i]; return s; }

template <int N> __device__ void times(P *p, int i) { p[i].y *= N; }
// A: template <int N> __device__ void times(PSoA p, int i) { p.y[i] *= N; }
// TILE: template <int N> __device__ void times(PTile32 *p, int i) { p[i >> 5].y[i & 31] *= N; }
// B: template <int N> __device__ void times(PSoA p, int i) { p.y[i] *= N; }
// BOTH: template <int N> __device__ void times(PSoA p, int i) { p.y[i] *= N; }

__global__ void scale(P *p, float f) {
  // A: __global__ void scale(PSoA p, float f) {
  // TILE: __global__ void scale(PTile32 *p, float f) {
  // TILE: p[i >> 5].y[i & 31] *= f;
  // B: __global__ void scale(PSoA p, float f) {
  // BOTH: __global__ void scale(PSoA p, float f) {
  int i = threadIdx.x;
  // A: int i = threadIdx.x;
  // B: int i = threadIdx.x;
  add(p, i, f);
  // A: add(p, i, f);
  // B: add(p, i, f);
  p[i].y *= f;
  // A: p.y[i] *= f;
  // B: p.y[i] *= f;
  // BOTH: p.y[i] *= f;
}

__global__ void mix(P *a, P *b) {
  // A: __global__ void mix(PSoA a, P *b) {
  // TILE: __global__ void mix(PTile32 *a, P *b) {
  // B: __global__ void mix(P *a, PSoA b) {
  // BOTH: __global__ void mix(PSoA a, PSoA b) {
  int i = threadIdx.x;
  add(a, i, 1);
  add(b, i, 2);
  times<2>(a, i);
  times<3>(b, i);
  a[i].y += both(a, b, i);
  // A: a.y[i] += both(a, b, i);
  // TILE: a[i >> 5].y[i & 31] += both(a, b, i);
  // BOTH: a.y[i] += both(a, b, i);
  b[i].y += both(b, b, i);
  // B: b.y[i] += both(b, b, i);
  // BOTH: b.y[i] += both(b, b, i);
  if (i == 0)
    a[0].x = sum(a, 4);
    // A: a.x[0] = sum(a, 4);
    // TILE: a[0 >> 5].x[0 & 31] = sum(a, 4);
    // BOTH: a.x[0] = sum(a, 4);
}

static void fill(P *p, int n) {
  // B: static void fill(PSoA p, int n) {
  // BOTH: static void fill(PSoA p, int n) {
  for (int i = 0; i < n; ++i)
  // B: for (int i = 0; i < n; ++i)
  // BOTH: for (int i = 0; i < n; ++i)
    p[i] = {1.0f * i, 0.5f * i};
    // B: PSoA_store(p, i, {1.0f * i, 0.5f * i});
    // BOTH: PSoA_store(p, i, {1.0f * i, 0.5f * i});
}

int main() {
  P h[32], *a, *b;
  // A: P h[32];
  // A: PSoA a;
  // A: P *b;
  // TILE: P h[32];
  // B: P h[32], *a;
  // B: PSoA b;
  // BOTH: P h[32];
  // BOTH: PSoA a, b;
  fill(h, 32);
  cudaMalloc(&a, sizeof(h));
  // A: PSoA_malloc(&a, sizeof(h));
  // BOTH: PSoA_malloc(&a, sizeof(h));
  cudaMallocManaged(&b, sizeof(h));
  // B: PSoA_mallocManaged(&b, sizeof(h));
  // BOTH: PSoA_mallocManaged(&b, sizeof(h));
  fill(b, 32);
  cudaMemcpy(a, h, sizeof(h), cudaMemcpyHostToDevice);
  // A: PSoA_memcpy(a, h, sizeof(h), cudaMemcpyHostToDevice);
  // BOTH: PSoA_memcpy(a, h, sizeof(h), cudaMemcpyHostToDevice);
  scale<<<1, 32>>>(a, 2);
  scale<<<1, 32>>>(b, 3);
  mix<<<1, 32>>>(a, b);
  cudaDeviceSynchronize();
  cudaMemcpy(h, a, sizeof(h), cudaMemcpyDeviceToHost);
  // A: PSoA_memcpy(h, a, sizeof(h), cudaMemcpyDeviceToHost);
  // BOTH: PSoA_memcpy(h, a, sizeof(h), cudaMemcpyDeviceToHost);
  for (int i = 0; i < 32; ++i)
    printf("%g %g %g %g\n", h[i].x, h[i].y, b[i].x, b[i].y);
    // B: printf("%g %g %g %g\n", h[i].x, h[i].y, b.x[i], b.y[i]);
    // BOTH: printf("%g %g %g %g\n", h[i].x, h[i].y, b.x[i], b.y[i]);
  printf("%g %g\n", sum(h, 32), sum(b, 32));
  cudaFree(a);
  // A: PSoA_free(a);
  // BOTH: PSoA_free(a);
  cudaFree(b);
  // B: PSoA_free(b);
  // BOTH: PSoA_free(b);
}
