// Member functions and operators that only read work on a copy of the element.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/soa.cu && cp %t/soa.cu %t/tile.cu && cp %t/soa.cu %t/align.cu
// RUN: %restride -i --quiet --layout=soa %t/soa.cu -- -std=c++17
// RUN: %restride -i --quiet --layout=asta32 %t/tile.cu -- -std=c++17
// RUN: %restride -i --quiet --layout=aos-align16 %t/align.cu -- -std=c++17
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/soa.cu
// RUN: FileCheck %s --check-prefix=TILE --input-file=%t/tile.cu
// RUN: FileCheck %s --check-prefix=ALIGN --input-file=%t/align.cu
// RUN: %compile-both %t/soa.cu %t/tile.cu %t/align.cu
#include <cstdio>

struct Vec {
  float x, y;
  __host__ __device__ Vec(float a = 0, float b = 0) : x(a), y(b) {}
  __host__ __device__ float operator[](int k) const { return (&x)[k]; }
  __host__ __device__ float dot(const Vec &o) const { return x * o.x + y * o.y; }
  __host__ __device__ Vec &operator+=(const Vec &o) {
    x += o.x;
    y += o.y;
    return *this;
  }
};
__host__ __device__ inline Vec operator-(const Vec &a, const Vec &b) { return {a.x - b.x, a.y - b.y}; }
__host__ __device__ inline Vec operator*(Vec a, float f) { return Vec(a.x * f, a.y * f); }

class Body {
  Vec pos, vel;
  float m;
  int hits;

public:
  Body() = default;
  __host__ __device__ Body(Vec p, Vec v, float m) : pos(p), vel(v), m(m), hits(0) {}
  __host__ __device__ explicit Body(float m) : m(m), hits(1) {}
  __host__ __device__ float energy() const { return m * vel.dot(vel) / 2; }
  __host__ __device__ const Vec &position() const { return pos; }
  __host__ __device__ float mass() { return m; }
  template <int N> __host__ __device__ int power() const { return hits * N; }
  __host__ __device__ bool operator==(const Body &o) const { return m == o.m && hits == o.hits; }
  __host__ __device__ operator bool() const { return hits > 0; }
  __host__ __device__ Body after(float dt) const {
    Body b = *this;
    b.pos += vel * dt;
    return b;
  }
  friend __host__ __device__ Body operator+(const Body &a, const Body &b) {
    Vec v = a.vel;
    v += b.vel;
    return Body(a.pos, v, a.m + b.m);
  }
};

static_assert(sizeof(Body) == 24, "the host keeps its record");

__global__ void k(const Body *p, Body *q, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float e = p[i].energy();
  // SOA: float e = BodySoA::load(p, i).energy();
  // TILE: float e = BodyTile32::load(p, i).energy();
  // ALIGN: float e = p[i].energy();
  const Body *one = &p[n - i - 1];
  // SOA: const ptrdiff_t one = n - i - 1;
  e += one->energy() + q[i].mass() + p[i].power<3>();
  // SOA: e += BodySoA::load(p, one).energy() + BodySoA::load(q, i).mass() + BodySoA::load(p, i).power<3>();
  // TILE: e += BodyTile32::load(p, one).energy() + BodyTile32::load(q, i).mass() + BodyTile32::load(p, i).power<3>();
  // ALIGN: e += p[one].energy() + q[i].mass() + p[i].power<3>();
  e += p[i].position().x + p[i].position()[1];
  // SOA: e += BodySoA::load(p, i).position().x + BodySoA::load(p, i).position()[1];
  if (p[i] && !(p[i] == *one))
    // SOA: if (BodySoA::load(p, i) && !(BodySoA::load(p, i) == BodySoA::load(p, one)))
    // ALIGN: if (p[i] && !(p[i] == p[one]))
    q[i] = p[i] + *one;
    // SOA: BodySoA::store(q, i, BodySoA::load(p, i) + BodySoA::load(p, one));
    // ALIGN: static_cast<Body &>(q[i]) = p[i] + p[one];
  else
    q[i] = Body(Vec(e, p[i].position().y), p[i].position() - Vec(1), e);
    // SOA: BodySoA::store(q, i, Body(Vec(e, BodySoA::load(p, i).position().y), BodySoA::load(p, i).position() - Vec(1), e));
  q[i] = q[i].after(0.5f);
  // SOA: BodySoA::store(q, i, BodySoA::load(q, i).after(0.5f));
  // ALIGN: static_cast<Body &>(q[i]) = q[i].after(0.5f);
}

int main() {
  const int n = 64;
  Body h[n];
  for (int i = 0; i < n; ++i)
    h[i] = i % 3 ? Body(Vec(i, 1), Vec(2, i), i) : Body(float(i));
  Body *d, *r;
  cudaMalloc(&d, n * sizeof(Body));
  cudaMalloc(&r, n * sizeof(Body));
  cudaMemcpy(d, h, n * sizeof(Body), cudaMemcpyHostToDevice);
  cudaMemcpy(r, h, n * sizeof(Body), cudaMemcpyHostToDevice);
  k<<<1, n>>>(d, r, n);
  cudaMemcpy(h, r, n * sizeof(Body), cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; ++i)
    printf("%g %g %g\n", h[i].energy(), h[i].position().x, h[i].position().y);
  cudaFree(d);
  cudaFree(r);
}
