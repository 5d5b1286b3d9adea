// Lambdas capture the pointer by copy or by reference.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/out/P/soa/in.cu
// RUN: %compile-both %t/out/P/soa/in.cu %t/out/P/asta32/in.cu

#include <cstdio>

struct P {
  float x, y;
};

__global__ void k(P *p, int n) {
  int i = threadIdx.x;
  P &r = p[i];
  auto add = [=](float v) { p[i].x += v + r.y; };
  // SOA: auto add = [=](float v) { p.x[i] += v + p.y[r]; };
  auto set = [p](int j) { p[j].y = 0; };
  // SOA: auto set = [p](int j) { p.y[j] = 0; };
  auto whole = [&](const P &t) { p[n] = t; };
  // SOA: auto whole = [&](const P &t) { PSoA_store(p, n, t); };
  add(1);
  set(2);
  whole({1, 2});
}

int main() {
  P h[64], *d;
  for (int i = 0; i < 64; ++i)
    h[i] = {1.0f * i, 2.0f * i};
  auto alloc = [&](int n) { return cudaMalloc(&d, n * sizeof(P)); };
  // SOA: auto alloc = [&](int n) { return PSoA_malloc(&d, n * sizeof(P)); };
  if (alloc(64) != cudaSuccess)
    return 1;
  cudaMemcpy(d, h, sizeof(h), cudaMemcpyHostToDevice);
  k<<<1, 32>>>(d, 1);
  cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
  for (const P &p : h)
    printf("%g %g\n", p.x, p.y);
  cudaFree(d);
}
