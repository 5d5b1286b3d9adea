// Operators outside of the class that change an element, or a nested record in it: written again like member functions.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/soa.cu && cp %t/soa.cu %t/tile.cu && cp %t/soa.cu %t/align.cu
// RUN: %restride -i --quiet --layout=soa %t/soa.cu -- -std=c++17
// RUN: %restride -i --quiet --layout=asta32 %t/tile.cu -- -std=c++17
// RUN: %restride -i --quiet --layout=aos-align16 %t/align.cu -- -std=c++17
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/soa.cu
// RUN: FileCheck %s --check-prefix=TILE --input-file=%t/tile.cu
// RUN: FileCheck %s --check-prefix=ALIGN --input-file=%t/align.cu
// RUN: %compile-both %t/soa.cu %t/tile.cu %t/align.cu
// RUN: %restride --check --quiet --layout=soa %t/soa.cu -- -std=c++17
#include <cstdio>

// As most programs have them for CUDA's own vectors.
__host__ __device__ inline float3 operator*(float3 a, float f) { return make_float3(a.x * f, a.y * f, a.z * f); }
__host__ __device__ inline void operator+=(float3 &a, float3 b) {
  a.x += b.x;
  a.y += b.y;
  a.z += b.z;
}
__host__ __device__ inline float3 &operator*=(float3 &a, const float &f) { return a = a * f, a; }

namespace geo {
struct Vec {
  float x, y;
};
using Real = float;
__host__ __device__ inline Real least(Real a) { return a < 0 ? 0 : a; }
__host__ __device__ inline Vec operator+(const Vec &a, const Vec &b) { return {a.x + b.x, a.y + b.y}; }
__host__ __device__ inline Vec &operator+=(Vec &a, const Vec &b) {
  a = a + b;
  return a;
}
__host__ __device__ inline void operator-=(Vec &a, const Vec &b) {
  Real x = a.x - b.x;
  a.x = least(x);
  a.y -= b.y;
}
} // namespace geo

struct Body {
  float3 pos, vel;
  geo::Vec spin;
  float mass;
};
static_assert(sizeof(Body) == 36, "the host keeps its record");
// SOA: static inline __host__ __device__ void BodySoA_pos_add(BodySoA p, ptrdiff_t i, float3 b) {
// SOA-NEXT: p.pos.x[i] += b.x;
// SOA: static inline __host__ __device__ void BodySoA_spin_add(BodySoA p, ptrdiff_t i, const geo::Vec &b) {
// SOA-NEXT: BodySoA_store_spin(p, i, BodySoA_load(p, i).spin + b);
// SOA-NEXT: }
// SOA: static inline __host__ __device__ void BodySoA_add(BodySoA p2, ptrdiff_t i, const Body &o) {
// SOA-NEXT: float p = o.mass;
// SOA-NEXT: p2.mass[i] += p;
// SOA-NEXT: BodySoA_pos_add(p2, i, o.pos);
// SOA-NEXT: if (p < 0)
// SOA-NEXT: return;
// SOA-NEXT: BodySoA_spin_add(p2, i, o.spin);
// SOA-NEXT: }
// SOA: static inline __host__ __device__ void BodySoA_spin_subtract(BodySoA p, ptrdiff_t i, const geo::Vec &b) {
// SOA-NEXT: geo::Real x = p.spin.x[i] - b.x;
// SOA-NEXT: p.spin.x[i] = geo::least(x);
// TILE: static inline __host__ __device__ void BodyTile32_pos_add(BodyTile32 *p, ptrdiff_t i, float3 b) {
// TILE-NEXT: p[i >> 5].pos.x[i & 31] += b.x;

__host__ __device__ Body &operator+=(Body &to, const Body &o) {
  float p = o.mass;
  to.mass += p;
  to.pos += o.pos;
  if (p < 0)
    return to;
  to.spin += o.spin;
  return to;
}
__host__ __device__ void operator++(Body &b) { b.mass += 1; }
template <class T> __device__ void operator++(T &t) { t.mass = 0; }

__global__ void k(Body *p, Body *q, int n, float dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  p[i].pos += p[i].vel * dt;
  // SOA: BodySoA_pos_add(p, i, BodySoA_load(p, i).vel * dt);
  // TILE: BodyTile32_pos_add(p, i, BodyTile32_load(p, i).vel * dt);
  // ALIGN: p[i].pos += p[i].vel * dt;
  p[i].spin += p[i].spin;
  // SOA: BodySoA_spin_add(p, i, BodySoA_load(p, i).spin);
  p[i].spin -= {0.5f, 0.25f};
  // SOA: BodySoA_spin_subtract(p, i, {0.5f, 0.25f});
  Body &r = q[n - 1 - i];
  r += p[i];
  // SOA: BodySoA_add(q, r, BodySoA_load(p, i));
  // ALIGN: q[r] += p[i];
  ++r;
  // SOA: BodySoA_increment(q, r);
  // ALIGN: ++static_cast<Body &>(q[r]);
  Body t = p[i];
  t += q[i];
  // SOA: t += BodySoA_load(q, i);
  p[i].mass = t.mass;
}

int main() {
  const int n = 64;
  Body h[n] = {}, g[n] = {};
  for (int i = 0; i < n; ++i)
    h[i].vel = make_float3(i, 2, 3), h[i].spin = {1.0f * i, 2}, h[i].mass = i - 8, g[i].mass = 1;
  Body *d, *e;
  cudaMalloc(&d, n * sizeof(Body));
  cudaMalloc(&e, n * sizeof(Body));
  cudaMemcpy(d, h, n * sizeof(Body), cudaMemcpyHostToDevice);
  cudaMemcpy(e, g, n * sizeof(Body), cudaMemcpyHostToDevice);
  for (int t = 0; t < 3; ++t)
    k<<<1, n>>>(d, e, n, 0.5f);
  cudaMemcpy(h, d, n * sizeof(Body), cudaMemcpyDeviceToHost);
  cudaMemcpy(g, e, n * sizeof(Body), cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; ++i)
    printf("%g %g %g %g %g, %g %g %g\n", h[i].pos.x, h[i].pos.z, h[i].spin.x, h[i].spin.y, h[i].mass, g[i].pos.x, g[i].spin.x, g[i].mass);
  cudaFree(d);
  cudaFree(e);
}
