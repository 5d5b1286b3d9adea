// Member functions and operators that change an element: written again as functions of a pointer and an index.
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

struct Vec {
  float x, y;
  Vec() = default;
  __host__ __device__ Vec(float a, float b) : x(a), y(b) {}
  __host__ __device__ Vec operator*(float f) const { return Vec(x * f, y * f); }
  __host__ __device__ Vec &operator+=(const Vec &o) {
    x += o.x;
    y += o.y;
    return *this;
  }
  __host__ __device__ void limit(float most) {
    if (x > most)
      x = most;
  }
};

struct Body {
  static constexpr float Most = 40;
  enum State { Free, Held };
  Vec pos, vel;
  float mass, hits[2];
  State state;

  __host__ __device__ void set(float x, float y, float m = 2) {
    pos = Vec(x, y);
    vel = {y, x};
    mass = m;
    hits[0] = hits[1] = 0;
    state = Free;
  }
  /// One step.
  __host__ __device__ void move(float dt) {
    if (state == Held)
      return;
    pos += vel * dt; // as far as it goes
    this->pos.limit(Most);
    for (int i = 0; i < 2; ++i)
      hit(i, dt);
  }
  __host__ __device__ void hit(int which, float by) { this->hits[which] += by; }
  __host__ __device__ Body &operator+=(const Body &o) {
    mass += o.mass;
    pos += o.pos;
    return *this;
  }
  __host__ __device__ float &operator[](int p) { return hits[p]; }
  __host__ __device__ bool take(float m) {
    Body old = *this;
    if (old.mass < m)
      return false;
    mass = old.mass - m;
    state = Held;
    return true;
  }
  __host__ __device__ void swap() {
    Body t = *this;
    t.pos = vel;
    t.vel = pos;
    *this = t;
  }
};
static_assert(sizeof(Body) == 32, "the host keeps its record");
// SOA: static inline __host__ __device__ void BodySoA_set(BodySoA p, ptrdiff_t i, float x, float y, float m = 2) {
// SOA-NEXT: BodySoA_store_pos(p, i, Vec(x, y));
// SOA-NEXT: BodySoA_store_vel(p, i, {y, x});
// SOA-NEXT: p.mass[i] = m;
// SOA-NEXT: p.hits[0][i] = p.hits[1][i] = 0;
// SOA-NEXT: p.state[i] = Body::Free;
// SOA-NEXT: }
// SOA: static inline __host__ __device__ void BodySoA_hit(BodySoA p, ptrdiff_t i, int which, float by) {
// SOA-NEXT: p.hits[which][i] += by;
// SOA: static inline __host__ __device__ void BodySoA_pos_add(BodySoA p, ptrdiff_t i, const Vec &o) {
// SOA-NEXT: p.pos.x[i] += o.x;
// SOA-NEXT: p.pos.y[i] += o.y;
// SOA-NEXT: }
// SOA: static inline __host__ __device__ void BodySoA_pos_limit(BodySoA p, ptrdiff_t i, float most) {
// SOA-NEXT: if (p.pos.x[i] > most)
// SOA-NEXT: p.pos.x[i] = most;
// SOA: static inline __host__ __device__ void BodySoA_move(BodySoA p, ptrdiff_t i2, float dt) {
// SOA-NEXT: if (p.state[i2] == Body::Held)
// SOA-NEXT: return;
// SOA-NEXT: BodySoA_pos_add(p, i2, BodySoA_load(p, i2).vel * dt); // as far as it goes
// SOA-NEXT: BodySoA_pos_limit(p, i2, Body::Most);
// SOA-NEXT: for (int i = 0; i < 2; ++i)
// SOA-NEXT: BodySoA_hit(p, i2, i, dt);
// SOA: static inline __host__ __device__ float &BodySoA_subscript(BodySoA p2, ptrdiff_t i, int p) { return p2.hits[p][i]; }
// SOA: static inline __host__ __device__ bool BodySoA_take(BodySoA p, ptrdiff_t i, float m) {
// SOA-NEXT: Body old = BodySoA_load(p, i);
// SOA: p.state[i] = Body::Held;
// SOA: static inline __host__ __device__ void BodySoA_add(BodySoA p, ptrdiff_t i, const Body &o) {
// SOA-NEXT: p.mass[i] += o.mass;
// SOA-NEXT: BodySoA_pos_add(p, i, o.pos);
// SOA-NEXT: }
// TILE: static inline __host__ __device__ void BodyTile32_swap(BodyTile32 *p, ptrdiff_t i) {
// TILE-NEXT: Body t = BodyTile32_load(p, i);
// TILE-NEXT: t.pos = BodyTile32_load(p, i).vel;
// TILE-NEXT: t.vel = BodyTile32_load(p, i).pos;
// TILE-NEXT: BodyTile32_store(p, i, t);

__device__ float sum(const Body &b) { return b.pos.x + b.pos.y + b.mass; }

__global__ void k(Body *p, Body *q, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n / 2) // a thread has q[i] and q[n - 1 - i]
    return;
  p[i].set(i, 2);
  // SOA: BodySoA_set(p, i, i, 2);
  // ALIGN: p[i].set(i, 2);
  p[i].move(0.5f);
  // SOA: BodySoA_move(p, i, 0.5f);
  // TILE: BodyTile32_move(p, i, 0.5f);
  Body &r = q[n - 1 - i];
  // SOA: const ptrdiff_t r = n - 1 - i;
  r += p[i];
  // SOA: BodySoA_add(q, r, BodySoA_load(p, i));
  // ALIGN: q[r] += p[i];
  r.move(sum(p[i]));
  // SOA: BodySoA_move(q, r, sum(BodySoA_load(p, i)));
  // ALIGN: q[r].move(sum(p[i]));
  r.pos += p[i].vel;
  // SOA: BodySoA_pos_add(q, r, BodySoA_load(p, i).vel);
  // ALIGN: q[r].pos += p[i].vel;
  Body *s = &p[i];
  s->pos.limit(i - 3);
  // SOA: BodySoA_pos_limit(p, i, i - 3);
  // ALIGN: p[i].pos.limit(i - 3);
  p[i][1] = p[i][0] + 1;
  // SOA: BodySoA_subscript(p, i, 1) = BodySoA_load(p, i)[0] + 1;
  if (p[i].take(1))
    // SOA: if (BodySoA_take(p, i, 1))
    q[i].swap();
    // SOA: BodySoA_swap(q, i);
  Vec total(0, 0);
  total += q[i].pos;
  // SOA: total += BodySoA_load(q, i).pos;
  p[i].mass += total.x;
}

int main() {
  const int n = 64;
  Body h[n] = {}, g[n] = {};
  for (int i = 0; i < n; ++i)
    h[i].set(i, 3, i), g[i].mass = i;
  Body *d, *e;
  cudaMalloc(&d, n * sizeof(Body));
  cudaMalloc(&e, n * sizeof(Body));
  cudaMemcpy(d, h, n * sizeof(Body), cudaMemcpyHostToDevice);
  cudaMemcpy(e, g, n * sizeof(Body), cudaMemcpyHostToDevice);
  for (int t = 0; t < 3; ++t)
    k<<<1, n>>>(d, e, n);
  cudaMemcpy(h, d, n * sizeof(Body), cudaMemcpyDeviceToHost);
  cudaMemcpy(g, e, n * sizeof(Body), cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; ++i)
    printf("%g %g %g %g %d, %g %g %g %g %d\n", h[i].pos.x, h[i].pos.y, h[i].mass, h[i][1], h[i].state, g[i].pos.x, g[i].vel.y, g[i].mass, g[i][0],
           g[i].state);
  cudaFree(d);
  cudaFree(e);
}
