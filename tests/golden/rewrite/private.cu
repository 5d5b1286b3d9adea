// Private fields: the handle's type becomes a friend, and takes elements apart in functions of its own.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/out/Shot-d/soa/in.cu
// RUN: FileCheck %s --check-prefix=TILE --input-file=%t/out/Line/asta32/in.cu
// RUN: FileCheck %s --check-prefix=ALIGN --input-file=%t/out/Shot-d/aos-align16/in.cu --implicit-check-not="friend struct"
// RUN: %compile-both %t/out/Shot-d/soa/in.cu %t/out/Line/asta32/in.cu %t/out/Shot-d/aos-align16/in.cu
// RUN: %restride -i --quiet --layout=asta32 %t/in.cu -- -std=c++17
// RUN: %clang-cuda -fsyntax-only -std=c++14 %t/in.cu
// RUN: FileCheck %s --check-prefix=ALL --input-file=%t/in.cu
// RUN: %restride --check --quiet --layout=asta32 %t/in.cu -- -std=c++17
#include <cstdio>

class Shot { // one shot
  // SOA: class Shot { // one shot
  // SOA-NEXT: {{^}}  friend struct ShotSoA;
  // SOA-NEXT: private:
  // ALL: class Shot { // one shot
  // ALL-NEXT: {{^}}  friend struct ShotTile32;
  // ALL-NEXT: private:
private:
  float angle;
  double speed;
  int load[2];

public:
  __host__ __device__ Shot(float a = 0, float s = 0) : angle(a), speed(s) { load[0] = load[1] = 1; }
  __host__ __device__ float range() const { return angle * speed + load[1]; }
};
// SOA: struct ShotSoA {
// SOA-NEXT: float *angle;
// SOA-NEXT: double *speed;
// SOA-NEXT: struct {
// SOA-NEXT: int *base;
// SOA-NEXT: long long pitch; // elements from one array to the next
// SOA-NEXT: __host__ __device__ int *operator[](long long k) const { return base + k * pitch; }
// SOA-NEXT: } load;
// SOA-EMPTY:
// SOA-NEXT: static __host__ __device__ Shot load_element(ShotSoA p, ptrdiff_t i) {
// SOA: r.angle = p.angle[i];
// SOA: return r;
// SOA: static __host__ __device__ void store(ShotSoA p, ptrdiff_t i, const Shot &r) {
// SOA: dst[i] = ShotSoA::load_element(src, i);

namespace geo {
class Line { float a, b; public: Line() = default; __host__ __device__ Line(float x) : a(x), b(x + 1) {}
  // TILE: class Line { friend struct LineTile32; float a, b; public: Line()
  __host__ __device__ float sum() const { return a + b; } };
  // TILE: struct LineTile32 {
  // TILE: static __host__ __device__ Line load(const LineTile32 *p, ptrdiff_t i) {
  // TILE-NEXT: Line r;
  // TILE-NEXT: r.a = p[i >> 5].a[i & 31];
}

__global__ void k(Shot *p, const Shot *q, geo::Line *l, int n) {
  // ALIGN: __global__ void k(ShotAlign16 *p, const Shot *q, geo::Line *l, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  Shot s = q[i];
  geo::Line t = l[i];
  // TILE: geo::Line t = geo::LineTile32::load(l, i);
  p[i] = Shot(s.range(), t.sum());
  // SOA: ShotSoA::store(p, i, Shot(s.range(), t.sum()));
  // ALIGN: static_cast<Shot &>(p[i]) = Shot(s.range(), t.sum());
}

int main() {
  const int n = 100;
  Shot h[n];
  geo::Line g[n];
  for (int i = 0; i < n; ++i) {
    h[i] = Shot(i, 2 * i);
    g[i] = geo::Line(i);
  }
  Shot *d, *in;
  geo::Line *e;
  cudaMalloc(&d, n * sizeof(Shot));
  cudaMalloc(&in, n * sizeof(Shot));
  cudaMalloc(&e, n * sizeof(geo::Line));
  cudaMemcpy(in, h, n * sizeof(Shot), cudaMemcpyHostToDevice);
  cudaMemcpy(e, g, n * sizeof(geo::Line), cudaMemcpyHostToDevice);
  k<<<1, 128>>>(d, in, e, n);
  cudaMemcpy(h, d, n * sizeof(Shot), cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; i += 9)
    printf("%g\n", h[i].range());
  cudaFree(d);
  cudaFree(in);
  cudaFree(e);
}
