// Arrays of records that are declared in global memory.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/out/P-cells/soa/in.cu
// RUN: FileCheck %s --check-prefix=TOTALS --input-file=%t/out/P-totals/soa/in.cu
// RUN: FileCheck %s --check-prefix=ALIGN --input-file=%t/out/P-cells/aos-align16/in.cu
// RUN: %compile-both %t/out/P-cells/soa/in.cu %t/out/P-totals/soa/in.cu %t/out/P-cells/aos-align16/in.cu

#include <cstdio>

namespace geo {
struct P {
  float x, y, z;
};
__device__ P cells[3 * 32];
// SOA: __device__ PArrays<(3 * 32)> cells;
// ALIGN: __device__ PAlign16 cells[3 * 32];
} // namespace geo
using namespace geo;

static __device__ struct P   totals [ 2 ];
// TOTALS: static __device__ PArrays<2> totals;
__device__ void add(int i, float v) { atomicAdd(&totals[i].x, v); }
// TOTALS: atomicAdd(&totals.x[i], v);

__global__ void step(int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  geo::cells[i].x += 1;
  // SOA: geo::cells.x[i] += 1;
  geo::cells[i].y = geo::cells[(i + 1) % n].z;
  // SOA: geo::cells.y[i] = geo::cells.z[(i + 1) % n];
  P &c = geo::cells[i];
  c.x *= 2;
  // SOA: geo::cells.x[i] *= 2;
  // ALIGN: geo::cells[i].x *= 2;
  P *own = &geo::cells[i];
  own->x += own->z;
  add(i & 1, 1);
  P t = geo::cells[i];
  t.y += 3;
  geo::cells[i] = t;
  // SOA: PArrays_store(geo::cells, i, t);
  // ALIGN: static_cast<geo::P &>(geo::cells[i]) = t;
  totals[1] = {1, 2, 3};
  // TOTALS: PArrays_store(totals, 1, {1, 2, 3});
}

int main() {
  P h[96];
  for (int i = 0; i < 96; ++i)
    h[i] = {1.0f * i, 2.0f * i, 3.0f * i};
  cudaMemcpyToSymbol(geo::cells, h, sizeof(h));
  P zero[2] = {};
  cudaMemcpyToSymbol(totals, zero, sizeof(totals));
  // TOTALS: PArrays_memcpyToSymbol(totals, zero, PArrays_bytes(totals));
  step<<<1, 96>>>(96);
  cudaMemcpyFromSymbol(h, geo::cells, 90 * sizeof(P));
  // SOA: PArrays_memcpyFromSymbol(h, geo::cells, 90 * sizeof(P));
  for (const P &p : h)
    printf("%g %g %g\n", p.x, p.y, p.z);
  P two[2];
  cudaMemcpyFromSymbol(two, totals, sizeof(two), 0, cudaMemcpyDeviceToHost);
  printf("%g %g %g\n", two[0].x, two[1].y, two[1].z);
}
