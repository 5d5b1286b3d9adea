// Members whose type has no name: fields are reached by their path, and decltype names what must have a type.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/out/Body/soa/in.cu
// RUN: FileCheck %s --check-prefix=TILE --input-file=%t/out/Body/asta32/in.cu
// RUN: FileCheck %s --check-prefix=ALIGN --input-file=%t/out/Body/aos-align16/in.cu
// RUN: %compile-both %t/out/Body/soa/in.cu %t/out/Body/asta32/in.cu %t/out/Body/aos-align16/in.cu
// RUN: %restride --list %t/in.cu -- -std=c++17 | FileCheck %s --check-prefix=LIST
#include <cstdio>

namespace geo {
struct Body {
  struct {
    float x, y;
  } pos, vel;
  struct { // in one piece
    float w, l;
  } size;
  struct {
    float r, g, b;
    struct {
      float fore, back;
    };
  };
  struct {
    int id;
    float weight;
  } links[2];
  union {
    int bits;
    float value;
  } raw;
  enum { Free, Held } state;
};
} // namespace geo
// SOA: struct BodySoA {
// SOA-NEXT: struct {
// SOA-NEXT: float *x, *y;
// SOA-NEXT: } pos;
// SOA: decltype(geo::Body::size) *size;
// SOA-NEXT: float *r, *g, *b, *fore, *back;
// SOA-NEXT: struct {
// SOA-NEXT: int *id;
// SOA-NEXT: float *weight;
// SOA-NEXT: } links[2];
// SOA-NEXT: decltype(geo::Body::raw) *raw;
// SOA-NEXT: decltype(geo::Body::state) *state;
// SOA: static inline __host__ __device__ void BodySoA_store_pos(BodySoA p, ptrdiff_t i, const decltype(geo::Body::pos) &r) {
// TILE: float r[32], g[32], b[32], fore[32], back[32];
static_assert(sizeof(geo::Body) == 68, "the host keeps its record");

template <class T> __device__ float grow(T &size) { return size.w *= size.l; }

__global__ void k(geo::Body *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  p[i].pos.x += p[i].vel.x;
  // SOA: p.pos.x[i] += p.vel.x[i];
  p[i].fore += p[i].r;
  // SOA: p.fore[i] += p.r[i];
  // ALIGN: p[i].fore += p[i].r;
  geo::Body &q = p[i];
  q.links[i % 2].weight += q.back;
  // SOA: p.links[i % 2].weight[i] += p.back[i];
  // ALIGN: p[i].links[i % 2].weight += p[i].back;
  auto v = p[i].vel;
  // SOA: auto v = BodySoA_load(p, i).vel;
  p[i].pos.y = v.y + grow(p[i].size);
  p[i].pos = p[n - 1 - i].pos;
  // SOA: BodySoA_store_pos(p, i, BodySoA_load(p, n - 1 - i).pos);
  p[i].raw.bits = i;
  // SOA: p.raw[i].bits = i;
  p[i].state = geo::Body::Held;
  geo::Body t = p[i];
  t.b = 2;
  p[i] = t;
}

struct Table {
  struct {
    float x, y;
  } rows[40];
};
// LIST: refused: member array 'rows' stays in one piece, and its elements' type has no name
__global__ void k(Table *t) { t[threadIdx.x].rows[1].x = 1; }

int main() {
  const int n = 64;
  geo::Body h[n] = {};
  for (int i = 0; i < n; ++i)
    h[i].vel.x = i, h[i].size = {2, 3}, h[i].r = i, h[i].links[1].weight = i, h[i].back = 3;
  geo::Body *d;
  cudaMalloc(&d, n * sizeof(geo::Body));
  cudaMemcpy(d, h, n * sizeof(geo::Body), cudaMemcpyHostToDevice);
  k<<<1, n>>>(d, n);
  cudaMemcpy(h, d, n * sizeof(geo::Body), cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; ++i)
    printf("%g %g %g %g %g %d %d\n", h[i].pos.x, h[i].pos.y, h[i].fore, h[i].b, h[i].links[1].weight, h[i].raw.bits, h[i].state);
  cudaFree(d);
  Table *t;
  cudaMalloc(&t, n * sizeof(Table));
  k<<<1, n>>>(t);
  cudaFree(t);
}
