// One level of nested record: its fields, and it as a whole. A float4 stays one piece.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/out/P/soa/in.cu
// RUN: FileCheck %s --check-prefix=TILE --input-file=%t/out/P/asta32/in.cu
// RUN: %compile-both %t/out/P/soa/in.cu %t/out/P/asta32/in.cu

#include <cstdio>

struct Vec {
  float x, y;
};
struct P {
  Vec pos, vel[2];
  float4 color;
  int n;
};
// SOA: struct PSoA {
// SOA-NEXT: struct {
// SOA-NEXT:   float *x, *y;
// SOA-NEXT: } pos;
// SOA-NEXT: struct {
// SOA-NEXT:   float *x, *y;
// SOA-NEXT: } vel[2];
// SOA-NEXT: float4 *color;
// SOA-NEXT: int *n;
// SOA: void PSoA_store_pos(PSoA p, ptrdiff_t i, const Vec &r) {
// SOA-NEXT: p.pos.x[i] = r.x;
// SOA-NEXT: p.pos.y[i] = r.y;
// TILE: struct PTile32 {
// TILE-NEXT: struct {
// TILE-NEXT:   float x[32], y[32];
// TILE-NEXT: } pos;

__device__ Vec half(const Vec &v) { return {v.x / 2, v.y / 2}; }

__global__ void k(P *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  p[i].pos.x += p[i].vel[n].y;
  // SOA: p.pos.x[i] += p.vel[n].y[i];
  // TILE: p[i >> 5].pos.x[i & 31] += p[i >> 5].vel[n].y[i & 31];
  Vec v = p[i].pos;
  // SOA: Vec v = PSoA_load(p, i).pos;
  p[i].pos = v;
  // SOA: PSoA_store_pos(p, i, v);
  // TILE: PTile32_store_pos(p, i, v);
  p[i].pos = half(p[n].vel[1]);
  // SOA: PSoA_store_pos(p, i, half(PSoA_load(p, n).vel[1]));
  p[i].color = make_float4(1, 2, 3, 4);
  // SOA: p.color[i] = make_float4(1, 2, 3, 4);
  // TILE: p[i >> 5].color[i & 31] = make_float4(1, 2, 3, 4);
  p[i].color.w = p[i + 32].color.x;
  // SOA: p.color[i].w = p.color[i + 32].x;
  float4 c = p[i].color;
  // SOA: float4 c = p.color[i];
  p[i].n = (int)c.y;
  P t = p[i];
  p[i + 32] = t;
}

int main() {
  P h[64], *d;
  for (int i = 0; i < 64; ++i)
    h[i] = {{1.0f * i, 2}, {{3, 4.0f * i}, {5, 6}}, {7, 8, 9, 1.0f * i}, i};
  cudaMalloc(&d, sizeof(h));
  cudaMemcpy(d, h, sizeof(h), cudaMemcpyHostToDevice);
  k<<<1, 32>>>(d, 1);
  cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
  for (const P &p : h)
    printf("%g %g %g %g %g %g %g %d\n", p.pos.x, p.pos.y, p.vel[0].y, p.vel[1].x, p.vel[1].y, p.color.x, p.color.w, p.n);
  cudaFree(d);
}
