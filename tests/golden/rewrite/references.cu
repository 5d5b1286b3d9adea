// An element handed to a function by reference or pointer: the function takes the array and an index.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/out/P/soa/in.cu
// RUN: FileCheck %s --check-prefix=TILE --input-file=%t/out/P/asta32/in.cu
// RUN: FileCheck %s --check-prefix=ALIGN --input-file=%t/out/P/aos-align16/in.cu
// RUN: %compile-both %t/out/P/soa/in.cu %t/out/P/asta32/in.cu %t/out/P/aos-align16/in.cu
#include <cstdio>

struct P {
  float x, y;
};

__device__ void push(P &r, float dt = 1);
// SOA: __device__ void push(PSoA r, ptrdiff_t r_index, float dt = 1);
// TILE: __device__ void push(PTile32 *r, ptrdiff_t r_index, float dt = 1);
// ALIGN: __device__ void push(PAlign16 &r, float dt = 1);
__device__ float norm(const P *q);
// SOA: __device__ float norm(PSoA q, ptrdiff_t q_index);
// ALIGN: __device__ float norm(const PAlign16 *q);
__global__ void k(P *p, int n, int i);
// SOA: __global__ void k(PSoA p, int n, int i);
// TILE: __device__ void push(PTile32 *r, ptrdiff_t r_index, float dt) { r[r_index >> 5].x[r_index & 31] += dt * {{.*}} }
// ALIGN: __global__ void k(PAlign16 *p, int n, int i);

__device__ void push(P &r, float dt) { r.x += dt * r.y; }
// SOA: __device__ void push(PSoA r, ptrdiff_t r_index, float dt) { r.x[r_index] += dt * r.y[r_index]; }
// ALIGN: __device__ void push(PAlign16 &r, float dt) { r.x += dt * r.y; }
__device__ float norm(const P *q) { return q->x * q->x + q->y * q->y; }
// SOA: __device__ float norm(PSoA q, ptrdiff_t q_index) { return q.x[q_index] * q.x[q_index] + q.y[q_index] * q.y[q_index]; }
// ALIGN: __device__ float norm(const PAlign16 *q) { return q->x * q->x + q->y * q->y; }
__host__ __device__ inline void clear(P &r) { r = P{0, 0}; }
// SOA: __host__ __device__ inline void clear(PSoA r, ptrdiff_t r_index) { PSoA_store(r, r_index, P{0, 0}); }
// TILE: __host__ __device__ inline void clear(PTile32 *r, ptrdiff_t r_index) { PTile32_store(r, r_index, P{0, 0}); }
// ALIGN: __host__ __device__ inline void clear(PAlign16 &r) { static_cast<P &>(r) = P{0, 0}; }
__device__ void outer(P &r, P *q, float f) {
  // SOA: __device__ void outer(PSoA r, ptrdiff_t r_index, PSoA q, ptrdiff_t q_index, float f) {
  // TILE: __device__ void outer(PTile32 *r, ptrdiff_t r_index, PTile32 *q, ptrdiff_t q_index, float f) {
  // ALIGN: __device__ void outer(PAlign16 &r, PAlign16 *q, float f) {
  push(r);
  // SOA: push(r, r_index);
  // TILE: push(r, r_index);
  push(*q, f);
  // SOA: push(q, q_index, f);
  // TILE: push(q, q_index, f);
  r.y += norm(q) + norm(q + 1);
  // SOA: r.y[r_index] += norm(q, q_index) + norm(q, q_index + 1);
}
__device__ P copy(const P &r) { return r; }

__global__ void k(P *p, int n, int i) {
  // SOA: __global__ void k(PSoA p, int n, int i) {
  // ALIGN: __global__ void k(PAlign16 *p, int n, int i) {
  outer(p[i], &p[i + n], 2);
  // SOA: outer(p, i, p, i + n, 2);
  // TILE: outer(p, i, p, i + n, 2);
  outer(*p, p + 2 * i + n, 2);
  // SOA: outer(p, 0, p, (ptrdiff_t)(2 * i) + n, 2);
  // TILE: outer(p, 0, p, (ptrdiff_t)(2 * i) + n, 2);
  P t = copy(p[i]);
  // SOA: P t = copy(PSoA_load(p, i));
  // TILE: P t = copy(PTile32_load(p, i));
  push(t);
  p[i + n] = t;
  // SOA: PSoA_store(p, i + n, t);
  // TILE: PTile32_store(p, i + n, t);
  // ALIGN: static_cast<P &>(p[i + n]) = t;
  P &r = p[i];
  push(r, 3);
  // SOA: push(p, i, 3);
  // TILE: push(p, i, 3);
  // ALIGN: push(p[i], 3);
  clear(p[i + 2 * n]);
  // SOA: clear(p, i + 2 * n);
  // TILE: clear(p, i + 2 * n);
}

int main() {
  P h[128], *d;
  // SOA: P h[128];
  // SOA: PSoA d;
  // ALIGN: P h[128];
  // ALIGN: PAlign16 *d;
  for (int i = 0; i < 128; ++i)
    h[i] = {1.0f * i, 0.5f * i};
  P one;
  clear(one);
  printf("%g\n", one.x);
  printf("%d\n", (int)sizeof(P)); // keeps the record's size
  cudaMalloc(&d, sizeof(h));
  // SOA: PSoA_malloc(&d, sizeof(h));
  // TILE: PTile32_malloc(&d, sizeof(h));
  // ALIGN: PAlign16_malloc(&d, sizeof(h));
  cudaMemcpy(d, h, sizeof(h), cudaMemcpyHostToDevice);
  // SOA: PSoA_memcpy(d, h, sizeof(h), cudaMemcpyHostToDevice);
  // TILE: PTile32_memcpy(d, h, sizeof(h), cudaMemcpyHostToDevice);
  // ALIGN: PAlign16_memcpy(d, h, sizeof(h), cudaMemcpyHostToDevice);
  for (int i = 0; i < 32; ++i)
    k<<<1, 1>>>(d, 32, i);
  cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
  // SOA: PSoA_memcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
  // TILE: PTile32_memcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
  // ALIGN: PAlign16_memcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
  for (const P &p : h)
    printf("%g %g\n", p.x, p.y);
  cudaFree(d);
  // SOA: PSoA_free(d);
}
