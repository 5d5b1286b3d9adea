// Accesses inside the index of others are rewritten inside and outside.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/out/P-d/soa/in.cu
// RUN: FileCheck %s --check-prefix=TILE --input-file=%t/out/P-d/asta32/in.cu
// RUN: %compile-both %t/out/P-d/soa/in.cu %t/out/P-d/asta32/in.cu

#include <cstdio>

struct P {
  float x;
  int next;
};

__global__ void k(P *p, const P *q, int *list) {
  int i = threadIdx.x;
  p[p[i].next].x = q[p[q[i].next].next].x;
  // SOA: p.x[p.next[i]] = q[p.next[q[i].next]].x;
  // TILE: p[p[i >> 5].next[i & 31] >> 5].x[p[i >> 5].next[i & 31] & 31] =
  p[list[i] + p->next] = p[p[i].next];
  // SOA: PSoA_store(p, list[i] + p.next[0], PSoA_load(p, p.next[i]));
  P &r = p[q[i].next + p[i].next];
  // SOA: const ptrdiff_t r = q[i].next + p.next[i];
  r.x = 1;
}

int main() {
  P h[64], *d, *e;
  int order[64], *list;
  for (int i = 0; i < 64; ++i) {
    h[i] = {1.0f * i, (7 * i + 3) % 32};
    order[i] = i % 32;
  }
  cudaMalloc(&d, sizeof(h));
  cudaMalloc(&e, sizeof(h));
  cudaMalloc(&list, sizeof(order));
  cudaMemcpy(d, h, sizeof(h), cudaMemcpyHostToDevice);
  cudaMemcpy(e, h, sizeof(h), cudaMemcpyHostToDevice);
  cudaMemcpy(list, order, sizeof(order), cudaMemcpyHostToDevice);
  k<<<1, 32>>>(d, e, list);
  cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
  for (const P &p : h)
    printf("%g %d\n", p.x, p.next);
}
