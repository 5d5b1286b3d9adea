// An index with side effects is evaluated once; a tile would need it twice.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/out/P/soa/in.cu
// RUN: %restride --list %s -- -std=c++17 | FileCheck %s --check-prefix=LIST
// RUN: %compile-both %t/out/P/soa/in.cu

#include <cstdio>

struct P {
  float x;
  int n;
};

__global__ void k(P *p, int *count, int n, int i) {
  // LIST: side-effects.cu:[[@LINE+1]]:{{[0-9]+}}: note: asta8, asta16, asta32, asta64, asta128 refused: the index has side effects and would be evaluated twice
  p[atomicAdd(count, 1)].x = i;
  // SOA: p.x[atomicAdd(count, 1)] = i;
  p[n++] = {1, i};
  // SOA: PSoA_store(p, n++, {1, i});
  P t = p[--n];
  // SOA: P t = PSoA_load(p, --n);
  p[atomicAdd(&count[i], 1)] = t;
  // SOA: PSoA_store(p, atomicAdd(&count[i], 1), t);
}

int main() {
  P h[64], *d;
  int counts[32] = {}, *c;
  for (int i = 0; i < 64; ++i)
    h[i] = {0.5f * i, i};
  cudaMalloc(&d, 64 * sizeof(P));
  cudaMalloc(&c, sizeof(counts));
  cudaMemcpy(d, h, sizeof(h), cudaMemcpyHostToDevice);
  cudaMemcpy(c, counts, sizeof(counts), cudaMemcpyHostToDevice);
  for (int i = 0; i < 32; ++i)
    k<<<1, 1>>>(d, c, 3, i);
  cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
  cudaMemcpy(counts, c, sizeof(counts), cudaMemcpyDeviceToHost);
  for (int i = 0; i < 64; ++i)
    printf("%g %d %d\n", h[i].x, h[i].n, counts[i % 32]);
}
