// A record with base classes: their fields are reached like its own. An element chosen by a condition is a copy.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/out/Body-d/soa/in.cu
// RUN: FileCheck %s --check-prefix=ALIGN --input-file=%t/out/Body-d/aos-align16/in.cu
// RUN: %compile-both %t/out/Body-d/soa/in.cu %t/out/Body-d/asta32/in.cu %t/out/Body-d/aos-align16/in.cu
// RUN: %restride --list %t/in.cu -- -std=c++17 | FileCheck %s --check-prefix=LIST
#include <cstdio>

struct Vec {
  float x, y;
};
struct Point {
  Vec at;
  char kind;
};
struct Mass {
  float mass = 1;
};
struct Body : Point, Mass {
  char state;
  Vec speed;
  __host__ __device__ void move(float dt) { at.x += speed.x * dt, this->at.y += speed.y * dt; }
};
static_assert(sizeof(Body) == 28, "the host keeps its record");
// SOA: r.at.x = p.at.x[i];
// SOA-NEXT: r.at.y = p.at.y[i];
// SOA-NEXT: r.kind = p.kind[i];
// SOA-NEXT: r.mass = p.mass[i];
// SOA-NEXT: r.state = p.state[i];
// SOA-NEXT: r.speed.x = p.speed.x[i];
// SOA: static inline __host__ __device__ void BodySoA_move(BodySoA p, ptrdiff_t i, float dt) {
// SOA-NEXT: p.at.x[i] += p.speed.x[i] * dt, p.at.y[i] += p.speed.y[i] * dt;

__global__ void k(Body *p, int n) {
  int i = threadIdx.x, j = n - 1 - i;
  p[i].at.x += p[i].mass;
  // SOA: p.at.x[i] += p.mass[i];
  (p + i)->kind = 2;
  // SOA: p.kind[i] = 2;
  Body &b = p[i];
  b.mass = b.at.y;
  // SOA: p.mass[i] = p.at.y[i];
  // ALIGN: p[i].mass = p[i].at.y;
  b.move(0.5f);
  Body t = i < j ? p[i] : p[j];
  // SOA: Body t = i < j ? BodySoA_load(p, i) : BodySoA_load(p, j);
  t.mass += (t.mass < 3 ? t : p[i]).speed.x;
  // SOA: t.mass += (t.mass < 3 ? t : BodySoA_load(p, i)).speed.x;
  p[i] = t.mass < 9 ? t : p[i];
  // SOA: BodySoA_store(p, i, t.mass < 9 ? t : BodySoA_load(p, i));
  auto u = i < 4 ? p[i] : p[i];
  // ALIGN: auto u = i < 4 ? static_cast<const Body &>(p[i]) : static_cast<const Body &>(p[i]);
  p[i].state = u.kind;
}

__device__ float weight(const Mass &m) { return m.mass; }
// LIST: refused: an element is used as an object of its base class
__global__ void k2(Body *p) { p[0].state = weight(p[1]); }

int main() {
  const int n = 32;
  Body h[n];
  for (int i = 0; i < n; ++i)
    h[i].at = {1.0f * i, 2}, h[i].speed = {2, 1.0f * i}, h[i].mass = i, h[i].kind = h[i].state = 0;
  Body *d, *e;
  cudaMalloc(&d, n * sizeof(Body));
  cudaMalloc(&e, n * sizeof(Body));
  cudaMemcpy(d, h, n * sizeof(Body), cudaMemcpyHostToDevice);
  k<<<1, n / 2>>>(d, n);
  k2<<<1, 1>>>(e);
  cudaMemcpy(h, d, n * sizeof(Body), cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; ++i)
    printf("%g %g %g %d %d %g\n", h[i].at.x, h[i].at.y, h[i].mass, h[i].kind, h[i].state, h[i].speed.x);
  cudaFree(d);
  cudaFree(e);
}
