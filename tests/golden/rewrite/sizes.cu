// Byte counts stay as they are written, whatever they ask the size of.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: cp %t/in.cu %t/soa.cu && %restride --quiet --layout=soa -i %t/soa.cu -- -std=c++17
// RUN: cp %t/in.cu %t/asta32.cu && %restride --quiet --layout=asta32 -i %t/asta32.cu -- -std=c++17
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/soa.cu
// RUN: %compile-both %t/soa.cu %t/asta32.cu

#include <cstdio>

struct P {
  float x, y;
};

__global__ void k(P *p) { p[threadIdx.x].x += sizeof(p[0]) + sizeof p->y; }
// SOA: __global__ void k(PSoA p) { p.x[threadIdx.x] += sizeof(P) + sizeof p.y[0]; }

static void fill(P *d, size_t bytes) { cudaMemset(d, 0, bytes); }
// SOA: static void fill(PSoA d, size_t bytes) { PSoA_memset(d, 0, bytes); }

static void show(const P *d) {
  P h[64];
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  // SOA: PSoA_memcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  for (const P &p : h)
    printf("%g %g\n", p.x, p.y);
}

int main() {
  const size_t n = 64;
  size_t bytes = n * sizeof(P);
  P *a, *b, *c, h[n];
  for (size_t i = 0; i < n; ++i)
    h[i] = {1.0f * i, 2.0f * i};
  cudaMalloc(&a, bytes);
  // SOA: PSoA_malloc(&a, bytes);
  cudaMalloc(&b, n * sizeof(*b));
  // SOA: PSoA_malloc(&b, n * sizeof(P));
  cudaMalloc(&c, sizeof b[0] * n);
  // SOA: PSoA_malloc(&c, sizeof (P) * n);
  fill(a, bytes);
  fill(b, bytes);
  fill(b, (n - 2) * sizeof(P));
  cudaMemcpy(c, h, sizeof(h), cudaMemcpyHostToDevice);
  // SOA: PSoA_memcpy(c, h, sizeof(h), cudaMemcpyHostToDevice);
  k<<<1, 32>>>(a);
  k<<<1, 32>>>(b);
  k<<<1, 32>>>(c);
  show(a);
  show(b);
  show(c);
}
