// Arrays that an earlier run moved go back, or on to another layout; the text is what it was.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu && cd %t && cp in.cu a.cu && cp in.cu b.cu && cp in.cu c.cu && cp in.cu d.cu && cp in.cu e.cu
// RUN: %restride -i --quiet --layout=soa a.cu -- -std=c++17 && cp a.cu soa.cu
// RUN: FileCheck %s --check-prefix=SOA --input-file=soa.cu
// RUN: %restride -i --layout=aos a.cu -- -std=c++17 2>&1 | FileCheck %s --check-prefix=SAID
// RUN: cmp a.cu in.cu
// RUN: %restride -i --quiet --layout=asta32 b.cu -- -std=c++17 && cp b.cu tile.cu
// RUN: %restride -i --quiet --layout=soa b.cu -- -std=c++17 && cmp b.cu soa.cu
// RUN: %restride -i --quiet --layout=grouped b.cu -- -std=c++17
// RUN: %restride -i --quiet --layout=grouped c.cu -- -std=c++17 && cmp b.cu c.cu
// RUN: %restride -i --quiet --layout=aos c.cu -- -std=c++17 && cmp c.cu in.cu
// RUN: %restride -i --quiet --layout=aos-align16 d.cu -- -std=c++17 && FileCheck %s --check-prefix=TWIN --input-file=d.cu
// RUN: %restride -i --quiet --layout=aos d.cu -- -std=c++17 && cmp d.cu in.cu
// RUN: %compile-both soa.cu tile.cu b.cu
// A run that is asked for nothing compares with the layout that is there, and stays with the fastest.
// RUN: %restride -i --quiet e.cu -- -std=c++17 && cp e.cu once.cu && %exits 0 %restride --check --quiet --report=e.json e.cu -- -std=c++17
// RUN: %restride -i --quiet a.cu -- -std=c++17 && cmp a.cu once.cu

#include <cstdio>

struct Body {
  float x, y, z;
  float v[2];
  double charge[6];
};
static_assert(sizeof(Body) % 8 == 0, "");

// SAID: array of 'Body.d' ('d') becomes aos as asked
// SOA: // Before: __device__ float norm(const Body *__restrict__ b, int k) { return b[0].x * b->y + b[k].z; }
// SOA-NOT: // Before: __device__ void push
// SOA: // Before: __global__ void move(const Body *from, Body *__restrict__ to, int n) {
// TWIN: struct __align__(16) BodyAlign16 : Body {};

__device__ float norm(const Body *__restrict__ b, int k) { return b[0].x * b->y + b[k].z; }

__device__ void push(Body *b, float dt) {
  b->x += b->v[0] * dt;
  // SOA: b.x[b_index] += b.v[0][b_index] * dt;
  b->y += b->v[1] * dt;
  b[1].z = b->z + dt;
}

__global__ void move(const Body *from, Body *__restrict__ to, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (2 * i + 1 >= n)
    return;
  Body t = from[2 * i];
  t.charge[1] += norm(from + i, 1);
  to[2 * i] = t;
  // SOA: BodySoA_store(to, 2 * i, t);
  push(to + 2 * i, 0.5f);
  // SOA: push(to, 2 * i, 0.5f);
  to[2 * i + 1].v[i % 2] = from[i].v[0];
  (to + 2 * i)->charge[3] = 1;
  to[2 * i + 1].charge[5] = from[2 * i + 1].charge[0];
}

int main() {
  const int n = 200;
  static Body h[n];
  for (int i = 0; i < n; ++i)
    h[i] = {1.0f * i, 2.0f * i, 3, {0.5f, 1.5f * i}, {i * 1.0, 2, 3, 4, 5, 6}};
  Body *d, *e = nullptr;
  cudaMalloc(&d, sizeof(h));
  cudaMalloc((void **)&e, n * sizeof(Body));
  cudaMemset(e, 0, n * sizeof(Body));
  cudaMemcpy(d, h, sizeof(h), cudaMemcpyHostToDevice);
  move<<<4, 32>>>(d, e, n);
  cudaMemcpy(h + 1, e + 1, (n - 1) * sizeof(Body), cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; i += 7)
    printf("%g %g %g %g %g %g %g\n", h[i].x, h[i].y, h[i].z, h[i].v[0], h[i].v[1], h[i].charge[1], h[i].charge[5]);
  cudaFree(d);
  if (e)
    cudaFree(e);
}
