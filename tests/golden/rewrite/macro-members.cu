// Macros that name the members of their argument; nested records in member arrays are copied as a whole.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/out/S-p/soa/in.cu
// RUN: FileCheck %s --check-prefix=TILE --input-file=%t/out/S-p/asta32/in.cu
// RUN: %compile-both %t/out/S-p/soa/in.cu %t/out/S-p/asta32/in.cu %t/out/S-p/aos-align16/in.cu
#include <cstdio>
struct C {
  double re, im;
};
struct S {
  C c[3];
  int tag;
  C d[2][2];
};
#define CSUM(a, b)                                                                                                     \
  {                                                                                                                    \
    (a).re += (b).re;                                                                                                  \
    (a).im += (b).im;                                                                                                  \
  }
#define CMUL(a, b, r)                                                                                                  \
  {                                                                                                                    \
    (r).re = (a).re * (b).re - (a).im * (b).im;                                                                        \
    (r).im = (a).re * (b).im + (a).im * (b).re;                                                                        \
  }
__global__ void k(S *p, const S *q) {
  // SOA: __global__ void k(SSoA p, const S *q) {
  // TILE: __global__ void k(STile32 *p, const S *q) {
  int i = threadIdx.x;
  C t = q[i].c[1];
  for (int j = 0; j < 3; j++) {
    CSUM(p[i].c[j], t);
    // SOA: CSUM(p.c[j][i], t);
    // TILE: CSUM(p[i >> 5].c[j][i & 31], t);
    CSUM(t, q[i].c[j]);
    C r;
    CMUL(p[i].c[j], t, r);
    // SOA: CMUL(p.c[j][i], t, r);
    // TILE: CMUL(p[i >> 5].c[j][i & 31], t, r);
    CMUL(r, q[i].d[1][j % 2], p[i].d[j % 2][0]);
    // SOA: CMUL(r, q[i].d[1][j % 2], p.d[j % 2][0][i]);
    // TILE: CMUL(r, q[i].d[1][j % 2], p[i >> 5].d[j % 2][0][i & 31]);
  }
  p[i].c[2] = p[i].c[0];
  // SOA: p.c[2][i] = p.c[0][i];
  // TILE: p[i >> 5].c[2][i & 31] = p[i >> 5].c[0][i & 31];
  p[i].d[1][1] = t;
  // SOA: p.d[1][1][i] = t;
  // TILE: p[i >> 5].d[1][1][i & 31] = t;
  t = p[i].d[0][1];
  // SOA: t = p.d[0][1][i];
  // TILE: t = p[i >> 5].d[0][1][i & 31];
  CSUM(p[i].c[0], t);
  // SOA: CSUM(p.c[0][i], t);
  // TILE: CSUM(p[i >> 5].c[0][i & 31], t);
  p[i].tag = q[i].tag + 1;
  // SOA: p.tag[i] = q[i].tag + 1;
  // TILE: p[i >> 5].tag[i & 31] = q[i].tag + 1;
}
int main() {
  S h[32], g[32], *p, *q;
  // SOA: S h[32], g[32];
  // SOA: SSoA p;
  // SOA: S *q;
  // TILE: S h[32], g[32];
  // TILE: STile32 *p;
  for (int i = 0; i < 32; i++) {
    for (int j = 0; j < 3; j++)
      h[i].c[j] = {i + j * .5, j - i * .25};
    for (int j = 0; j < 4; j++)
      h[i].d[j / 2][j % 2] = {j * .125, i * .5};
    h[i].tag = i;
  }
  cudaMalloc(&p, sizeof(h));
  // SOA: SSoA_malloc(&p, sizeof(h));
  // TILE: STile32_malloc(&p, sizeof(h));
  cudaMalloc(&q, sizeof(h));
  cudaMemcpy(p, h, sizeof(h), cudaMemcpyHostToDevice);
  // SOA: SSoA_memcpy(p, h, sizeof(h), cudaMemcpyHostToDevice);
  // TILE: STile32_memcpy(p, h, sizeof(h), cudaMemcpyHostToDevice);
  cudaMemcpy(q, h, sizeof(h), cudaMemcpyHostToDevice);
  k<<<1, 32>>>(p, q);
  cudaMemcpy(g, p, sizeof(h), cudaMemcpyDeviceToHost);
  // SOA: SSoA_memcpy(g, p, sizeof(h), cudaMemcpyDeviceToHost);
  // TILE: STile32_memcpy(g, p, sizeof(h), cudaMemcpyDeviceToHost);
  for (auto &s : g) {
    for (auto &c : s.c)
      printf("%g %g ", c.re, c.im);
    for (auto &r : s.d)
      for (auto &c : r)
        printf("%g %g ", c.re, c.im);
    printf("%d\n", s.tag);
  }
}
