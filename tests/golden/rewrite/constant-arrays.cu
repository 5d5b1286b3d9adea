// Arrays in constant memory: the host copies records, which are converted on the way.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/out/P-table/soa/in.cu
// RUN: FileCheck %s --check-prefix=OTHER --input-file=%t/out/P-other/soa/in.cu
// RUN: FileCheck %s --check-prefix=ALIGN --input-file=%t/out/P-table/aos-align16/in.cu
// RUN: %compile-both %t/out/P-table/soa/in.cu %t/out/P-other/soa/in.cu %t/out/P-table/aos-align16/in.cu

#include <cstdio>

struct Vec { float a, b; };
struct P {
  float x;
  double y;
  Vec pos;
  int n[2];
};

#define TABLE 40
__constant__ P table[TABLE];
// SOA: __constant__ PArrays<TABLE> table;
// ALIGN: __constant__ PAlign16 table[TABLE];
const int Half = TABLE / 2;
static __constant__ P other[2 * Half];
// SOA: static __constant__ P other[2 * Half];
// OTHER: static __constant__ PArrays<(2 * Half)> other;

__device__ float both(const P &p) { return p.x + p.pos.a; }
__device__ double second(int i) { return table[i].y; }
// SOA: return table.y[i];

__global__ void k(float *out, int n) {
  int i = threadIdx.x;
  if (i >= TABLE)
    return;
  P p = table[i];
  // SOA: P p = PArrays_load(table, i);
  const P &q = other[i];
  float s = p.x + table[i].pos.b + table[i].n[1] + both(table[i]) + q.n[0] + (other + i)->x + table->x;
  // SOA: table.pos.b[i] + table.n[1][i] + both(PArrays_load(table, i)) + q.n[0] + (other + i)->x + table.x[0];
  // OTHER: table[i].n[1] + both(table[i]) + other.n[0][i] + other.x[i] + table->x;
  Vec v = other[i].pos;
  // OTHER: Vec v = PArrays_load(other, i).pos;
  out[i] = s + v.a + (float)second(i);
}

int main() {
  P h[TABLE], g[TABLE];
  float *out, o[TABLE];
  for (int i = 0; i < TABLE; ++i)
    h[i] = {1.0f * i, 2.0 * i, {3.0f * i, 4.0f * i}, {i, 5 * i}};
  cudaMalloc(&out, sizeof(o));
  cudaMemcpyToSymbol(table, h, sizeof(h));
  // SOA: PArrays_memcpyToSymbol(table, h, sizeof(h));
  // ALIGN: PAlign16_memcpyToSymbol(table, h, sizeof(h));
  cudaMemcpyToSymbolAsync(other, h + 1, 20 * sizeof(P), 0, cudaMemcpyHostToDevice, 0);
  // OTHER: PArrays_memcpyToSymbolAsync(other, h + 1, 20 * sizeof(P), 0, cudaMemcpyHostToDevice, 0);
  k<<<1, 64>>>(out, TABLE);
  cudaMemcpy(o, out, sizeof(o), cudaMemcpyDeviceToHost);
  for (float f : o)
    printf("%g\n", f);
  cudaMemcpyToSymbol(other, h, sizeof(table));
  // SOA: cudaMemcpyToSymbol(other, h, PArrays_bytes(table));
  // ALIGN: cudaMemcpyToSymbol(other, h, PAlign16_bytes(table));
  cudaMemcpyToSymbol(other, h + 8, 16 * sizeof(P));
  k<<<1, 64>>>(out, TABLE);
  cudaMemcpy(o, out, sizeof(o), cudaMemcpyDeviceToHost);
  for (float f : o)
    printf("%g\n", f);
  cudaMemcpyFromSymbol(g, other, sizeof(g));
  // OTHER: PArrays_memcpyFromSymbol(g, other, sizeof(g));
  for (const P &p : g)
    printf("%g %g %g %g %d %d\n", p.x, p.y, p.pos.a, p.pos.b, p.n[0], p.n[1]);
  printf("%d %d\n", cudaMemcpyToSymbol(table, h, sizeof(P) * 41), int(sizeof(table) / sizeof(table[0])));
  // SOA: PArrays_memcpyToSymbol(table, h, sizeof(P) * 41), int(PArrays_bytes(table) / sizeof(P)));
}
