// Records whose default constructor does something, or is not there: a copy is made without it.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/out/Body/soa/in.cu
// RUN: FileCheck %s --check-prefix=TILE --input-file=%t/out/Pair/asta32/in.cu
// RUN: FileCheck %s --check-prefix=ALIGN --input-file=%t/out/Pair/aos-align16/in.cu
// RUN: FileCheck %s --check-prefix=PLACE --input-file=%t/out/Body/aos-align16/in.cu
// RUN: %compile-both %t/out/Body/soa/in.cu %t/out/Pair/asta32/in.cu %t/out/Pair/aos-align16/in.cu %t/out/Body/aos-align16/in.cu
// RUN: %restride -i --quiet --layout=soa %t/in.cu -- -std=c++17
// RUN: %clang-cuda -fsyntax-only -std=c++14 %t/in.cu
// RUN: %restride --check --quiet --layout=soa %t/in.cu -- -std=c++17
#include <cstdio>
#include <cstdlib>

struct Vec {
  float x, y, z;
  Vec() {}
  __host__ __device__ Vec(float a, float b, float c) : x(a), y(b), z(c) {}
};

struct Body {
  // PLACE: struct __align__(16) Body {
  Vec pos;
  float mass = 1;
  int id;
  Body() : id(-1) {}
  Body(float m, int n) : pos(n, n, n), mass(m), id(n) {}
};
// SOA: struct BodySoA {
// SOA-NEXT: struct {
// SOA-NEXT: float *x, *y, *z;
// SOA-NEXT: } pos;
// SOA: static inline __host__ __device__ Body BodySoA_load(BodySoA p, ptrdiff_t i) {
// SOA-NEXT: union Raw { // room for a Body, whose constructor does not run
// SOA-NEXT: Body r;
// SOA-NEXT: __host__ __device__ Raw() {}
// SOA-NEXT: } raw;
// SOA-NEXT: Body &r = raw.r;
// SOA-NEXT: r.pos.x = p.pos.x[i];
// SOA: return r;
// SOA: static __global__ void BodySoA_fill(BodySoA dst, int value, size_t n) {
// SOA-NEXT: union Raw {
// SOA: memset((void *)&r, value, sizeof(r));

struct Pair {
  float a, b;
  Pair() = delete;
  __host__ __device__ Pair(float x, float y) : a(x), b(y) {}
};
static_assert(sizeof(Pair) == 8, "the host keeps its record");
// TILE: static inline __host__ __device__ Pair PairTile32_load(const PairTile32 *p, ptrdiff_t i) {
// TILE-NEXT: union Raw {
// ALIGN: struct __align__(16) PairAlign16 : Pair {};

__global__ void k(Body *p, Pair *q, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  p[i].pos.x += p[i].mass;
  // SOA: p.pos.x[i] += p.mass[i];
  p[i].pos = Vec(p[i].pos.z, 1, p[i].pos.x);
  // SOA: BodySoA_store_pos(p, i, Vec(p.pos.z[i], 1, p.pos.x[i]));
  Body t = p[i];
  // SOA: Body t = BodySoA_load(p, i);
  t.id += 100;
  p[i] = t;
  q[i] = {q[i].b, q[i].a};
  // TILE: PairTile32_store(q, i, {q[i >> 5].b[i & 31], q[i >> 5].a[i & 31]});
  // ALIGN: static_cast<Pair &>(q[i]) = {q[i].b, q[i].a};
  q[i] = Pair(q[i].b + 1, q[i].a);
  // TILE: PairTile32_store(q, i, Pair(q[i >> 5].b[i & 31] + 1, q[i >> 5].a[i & 31]));
}

int main() {
  const int n = 100;
  Body h[n];
  Pair *g = (Pair *)malloc(n * sizeof(Pair));
  for (int i = 0; i < n; ++i) {
    h[i] = Body(i, 2 * i);
    g[i] = Pair(i, 1);
  }
  Body *d;
  Pair *e;
  cudaMalloc(&d, n * sizeof(Body));
  cudaMalloc(&e, n * sizeof(Pair));
  cudaMemset(d, 0, n * sizeof(Body));
  cudaMemcpy(d, h, (n - 1) * sizeof(Body), cudaMemcpyHostToDevice);
  cudaMemcpy(e, g, n * sizeof(Pair), cudaMemcpyHostToDevice);
  k<<<1, 128>>>(d, e, n);
  cudaMemcpy(h, d, n * sizeof(Body), cudaMemcpyDeviceToHost);
  cudaMemcpy(g, e, n * sizeof(Pair), cudaMemcpyDeviceToHost);
  for (int i = 90; i < n; ++i)
    printf("%g %g %g %g %d %g %g\n", h[i].pos.x, h[i].pos.y, h[i].pos.z, h[i].mass, h[i].id, g[i].a, g[i].b);
  cudaFree(d);
  cudaFree(e);
}
