// Member arrays: split while they are short and only subscripted, else whole.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/out/P/soa/in.cu
// RUN: FileCheck %s --check-prefix=TILE --input-file=%t/out/P/asta32/in.cu
// RUN: %compile-both %t/out/P/soa/in.cu %t/out/P/asta32/in.cu %t/out/P/aos-align16/in.cu

#include <cstdio>

struct P {
  float v[3];
  int m[2][2];
  double longer[40];
  float whole[4];
};
// SOA: struct PSoA {
// SOA-NEXT: struct {
// SOA-NEXT: float *base;
// SOA-NEXT: long long pitch; // elements from one array to the next
// SOA-NEXT: __host__ __device__ float *operator[](long long k) const { return base + k * pitch; }
// SOA-NEXT: } v;
// SOA-NEXT: struct {
// SOA-NEXT: int *base;
// SOA-NEXT: long long pitch; // elements from one array to the next
// SOA-NEXT: struct Row {
// SOA-NEXT: int *base;
// SOA-NEXT: long long pitch; // elements from one array to the next
// SOA-NEXT: __host__ __device__ int *operator[](long long k) const { return base + k * pitch; }
// SOA-NEXT: };
// SOA-NEXT: __host__ __device__ Row operator[](long long k) const { return {{[{]}}base + k * 2 * pitch, pitch}; }
// SOA-NEXT: } m;
// SOA-NEXT: double (*longer)[40];
// SOA-NEXT: float (*whole)[4];
// TILE: struct PTile32 {
// TILE-NEXT: float v[3][32];
// TILE-NEXT: int m[2][2][32];
// TILE-NEXT: double longer[32][40];
// TILE-NEXT: float whole[32][4];

__device__ float sum(const float *a) { return a[0] + a[1] + a[2] + a[3]; }

__global__ void k(P *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int j = 0;
  p[i].v[0] = p[i].v[i % 3];
  // SOA: p.v[0][i] = p.v[i % 3][i];
  // TILE: p[i >> 5].v[0][i & 31] = p[i >> 5].v[i % 3][i & 31];
  p[i].v[j++] += 1;
  // SOA: p.v[j++][i] += 1;
  // TILE: p[i >> 5].v[j++][i & 31] += 1;
  p[i].m[j][n]--;
  // SOA: p.m[j][n][i]--;
  // TILE: p[i >> 5].m[j][n][i & 31]--;
  if (i == 0)
    p->longer[n] = (*p).longer[j];
  // SOA: p.longer[0][n] = p.longer[0][j];
  // TILE: p[0].longer[0][n] = p[0].longer[0][j];
  p[i].v[0] = sum(p[i].whole);
  // SOA: p.v[0][i] = sum(p.whole[i]);
  // TILE: p[i >> 5].v[0][i & 31] = sum(p[i >> 5].whole[i & 31]);
  p[i].whole[1] = 2;
  // SOA: p.whole[i][1] = 2;
  atomicAdd(&p[i].v[1], 1);
  // SOA: atomicAdd(&p.v[1][i], 1);
  P t = p[i];
  p[i + 32] = t;
}

int main() {
  P h[64], *d;
  for (int i = 0; i < 64; ++i)
    h[i] = {{1.0f * i, 2, 3}, {{i, 5}, {6, 7}}, {0.5 * i, 8, 9}, {10, 11, 1.0f * i, 12}};
  cudaMalloc(&d, sizeof(h));
  cudaMemcpy(d, h, sizeof(h), cudaMemcpyHostToDevice);
  k<<<1, 32>>>(d, 1);
  cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
  for (const P &p : h)
    printf("%g %g %g %d %d %d %d %g %g %g %g %g\n", p.v[0], p.v[1], p.v[2], p.m[0][0], p.m[0][1], p.m[1][0], p.m[1][1],
           p.longer[0], p.longer[1], p.longer[2], p.whole[1], p.whole[2]);
  cudaFree(d);
}
