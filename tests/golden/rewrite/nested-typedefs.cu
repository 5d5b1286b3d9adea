// Records whose parts are typedefs of unnamed structs, in arrays of arrays too.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=SITE --input-file=%t/out/Site-p/soa/in.cu
// RUN: FileCheck %s --check-prefix=TILE --input-file=%t/out/Site-p/asta32/in.cu
// RUN: FileCheck %s --check-prefix=LATTICE --input-file=%t/out/Lattice/soa/in.cu
// RUN: FileCheck %s --check-prefix=ALIGN --input-file=%t/out/Lattice/aos-align16/in.cu
// RUN: %compile-both %t/out/Site-p/soa/in.cu %t/out/Site-p/asta32/in.cu %t/out/Lattice/soa/in.cu %t/out/Lattice/aos-align16/in.cu
#include <cstdio>

typedef struct {
  float re, im;
} Complex;

typedef struct {
  Complex link[3][3];
  Complex last;
} Site;
// SITE: struct SiteSoA {
// SITE-NEXT: struct {
// SITE-NEXT: float *re, *im;
// SITE-NEXT: } link[3][3];
// SITE-NEXT: struct {
// SITE-NEXT: float *re, *im;
// SITE-NEXT: } last;
// SITE-NEXT: };
// TILE: float re[32], im[32];
// TILE-NEXT: } link[3][3];

typedef struct lattice {
  // ALIGN: typedef struct __align__(16) lattice {
  double m[4][4];
  Complex c[4];
  int id;
} Lattice;
// LATTICE: struct LatticeSoA {
// LATTICE-NEXT: struct {
// LATTICE-NEXT: double *base;
// LATTICE-NEXT: long long pitch; // elements from one array to the next
// LATTICE-NEXT: struct Row {
// LATTICE-NEXT: double *base;
// LATTICE-NEXT: long long pitch; // elements from one array to the next
// LATTICE-NEXT: __host__ __device__ double *operator[](long long k) const { return base + k * pitch; }
// LATTICE-NEXT: };
// LATTICE-NEXT: __host__ __device__ Row operator[](long long k) const { return {{[{]}}base + k * 4 * pitch, pitch}; }
// LATTICE-NEXT: } m;

__global__ void k(Site *p, const Site *q, Lattice *b, int n) {
  // SITE: __global__ void k(SiteSoA p, const Site *q, Lattice *b, int n) {
  // TILE: __global__ void k(SiteTile32 *p, const Site *q, Lattice *b, int n) {
  // LATTICE: __global__ void k(Site *p, const Site *q, LatticeSoA b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  Complex s = {0, 0};
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 3; c++) {
      s.re += q[i].link[r][c].re;
      s.im -= p[i].link[c][r].im;
      // SITE: s.im -= p.link[c][r].im[i];
      // TILE: s.im -= p[i >> 5].link[c][r].im[i & 31];
    }
  p[i].last = s;
  // SITE: SiteSoA_store_last(p, i, s);
  // TILE: SiteTile32_store_last(p, i, s);
  b[i].m[2][i % 4] += b[i].m[i % 4][3] + s.re;
  // LATTICE: b.m[2][i % 4][i] += b.m[i % 4][3][i] + s.re;
  p[i].link[1][2].im = b[i].c[i & 3].im;
  // SITE: p.link[1][2].im[i] = b[i].c[i & 3].im;
  // TILE: p[i >> 5].link[1][2].im[i & 31] = b[i].c[i & 3].im;
  // LATTICE: p[i].link[1][2].im = b.c[i & 3].im[i];
  Site t = p[i];
  // SITE: Site t = SiteSoA_load(p, i);
  // TILE: Site t = SiteTile32_load(p, i);
  t.link[0][0] = t.last;
  p[i] = t;
  // SITE: SiteSoA_store(p, i, t);
  // TILE: SiteTile32_store(p, i, t);
}

int main() {
  Site h[40], *p, *q;
  // SITE: Site h[40];
  // SITE: SiteSoA p;
  // SITE: Site *q;
  // TILE: Site h[40];
  // TILE: SiteTile32 *p;
  // TILE: Site *q;
  Lattice g[40];
  struct lattice *b;
  // LATTICE: LatticeSoA b;
  for (int i = 0; i < 40; i++) {
    for (int r = 0; r < 9; r++)
      h[i].link[r / 3][r % 3] = {r * 0.5f, i * 0.25f};
    h[i].last = {1, 2};
    for (int r = 0; r < 16; r++)
      g[i].m[r / 4][r % 4] = r + i * 100;
    for (Complex &c : g[i].c)
      c = {3, 4.0f * i};
    g[i].id = i;
  }
  cudaMalloc((void **)&p, sizeof(h));
  // SITE: SiteSoA_malloc(&p, sizeof(h));
  // TILE: SiteTile32_malloc(&p, sizeof(h));
  cudaMalloc((void **)&q, sizeof(h));
  cudaMalloc((void **)&b, 40 * sizeof(Lattice));
  // LATTICE: LatticeSoA_malloc(&b, 40 * sizeof(Lattice));
  cudaMemcpy(p, h, sizeof(h), cudaMemcpyHostToDevice);
  // SITE: SiteSoA_memcpy(p, h, sizeof(h), cudaMemcpyHostToDevice);
  // TILE: SiteTile32_memcpy(p, h, sizeof(h), cudaMemcpyHostToDevice);
  cudaMemcpy(q, h, 40 * sizeof(Site), cudaMemcpyHostToDevice);
  cudaMemcpy(b, g, sizeof g, cudaMemcpyHostToDevice);
  // LATTICE: LatticeSoA_memcpy(b, g, sizeof g, cudaMemcpyHostToDevice);
  k<<<2, 32>>>(p, q, b, 40);
  cudaMemcpy(h, p, sizeof(h), cudaMemcpyDeviceToHost);
  // SITE: SiteSoA_memcpy(h, p, sizeof(h), cudaMemcpyDeviceToHost);
  // TILE: SiteTile32_memcpy(h, p, sizeof(h), cudaMemcpyDeviceToHost);
  cudaMemcpy(g, b, sizeof(struct lattice) * 40, cudaMemcpyDeviceToHost);
  // LATTICE: LatticeSoA_memcpy(g, b, sizeof(struct lattice) * 40, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 40; i++) {
    for (const auto &row : h[i].link)
      for (const Complex &c : row)
        printf("%g %g ", c.re, c.im);
    for (const auto &row : g[i].m)
      for (double d : row)
        printf("%g ", d);
    printf("%g %g %g %d\n", h[i].last.re, h[i].last.im, g[i].c[1].im, g[i].id);
  }
  cudaFree(p);
  // SITE: SiteSoA_free(p);
  cudaFree(q);
  cudaFree(b);
  // LATTICE: LatticeSoA_free(b);
}
