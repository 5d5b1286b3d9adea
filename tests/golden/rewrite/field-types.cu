// Fields of every kind keep their types: padding, pointers, enums, a nested type, a bool.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/out/P/soa/in.cu
// RUN: FileCheck %s --check-prefix=TILE --input-file=%t/out/P/asta32/in.cu
// RUN: %compile-both %t/out/P/soa/in.cu %t/out/P/asta32/in.cu %t/out/P/aos-align16/in.cu

#include <cstdio>

enum Kind : unsigned char { A, B };
struct P {
  enum class Own { C, D } own;
  bool b;
  double d;
  Kind kind;
  const char *name;
  float *w[2];
  unsigned long long u;
  short s[2];
};
static_assert(sizeof(P) == 64, "");
// SOA: struct PSoA {
// SOA-NEXT: {{(enum )?}}P::Own *own;
// SOA-NEXT: bool *b;
// SOA-NEXT: double *d;
// SOA-NEXT: Kind *kind;
// SOA-NEXT: const char **name;
// SOA-NEXT: struct {
// SOA-NEXT: float **base;
// SOA-NEXT: long long pitch; // elements from one array to the next
// SOA-NEXT: __host__ __device__ float **operator[](long long k) const { return base + k * pitch; }
// SOA-NEXT: } w;
// SOA-NEXT: unsigned long long *u;
// SOA-NEXT: struct {
// SOA-NEXT: short *base;
// SOA-NEXT: long long pitch; // elements from one array to the next
// SOA-NEXT: __host__ __device__ short *operator[](long long k) const { return base + k * pitch; }
// SOA-NEXT: } s;

__global__ void k(P *p, int n, int i) {
  p[i].kind = p[n].b ? B : A;
  // SOA: p.kind[i] = p.b[n] ? B : A;
  p[i].own = P::Own::D;
  p[i].w[n][i] = p[n].w[1][n];
  // SOA: p.w[n][i][i] = p.w[1][n][n];
  // TILE: p[i >> 5].w[n][i & 31][i] = p[n >> 5].w[1][n & 31][n];
  p[n] = p[i];
}

int main() {
  P h[64], *d;
  float values[64], *w;
  cudaMalloc(&w, sizeof(values));
  for (int i = 0; i < 64; ++i) {
    values[i] = 0.5f * i;
    h[i] = {P::Own::C, i % 3 == 0, 0.25 * i, A, "name", {w, w + 32}, 1ull << i, {(short)i, (short)-i}};
  }
  cudaMemcpy(w, values, sizeof(values), cudaMemcpyHostToDevice);
  cudaMalloc(&d, sizeof(h));
  cudaMemcpy(d, h, sizeof(h), cudaMemcpyHostToDevice);
  for (int i = 0; i < 32; ++i)
    k<<<1, 1>>>(d, 1, i);
  cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
  cudaMemcpy(values, w, sizeof(values), cudaMemcpyDeviceToHost);
  for (int i = 0; i < 64; ++i) {
    const P &p = h[i];
    printf("%d %d %g %d %s %d ", (int)p.own, p.b, p.d, p.kind, p.name, (int)(p.w[1] - w));
    printf("%llu %d %d %g\n", p.u, p.s[0], p.s[1], values[i]);
  }
}
