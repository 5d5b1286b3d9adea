// Declarations of every form; the layout of one array leaves its neighbours alone.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/out/P/soa/in.cu
// RUN: FileCheck %s --check-prefix=TILE --input-file=%t/out/P/asta32/in.cu
// RUN: %compile-both %t/out/P/soa/in.cu %t/out/P/asta32/in.cu

#include <cstdio>

struct P {
  float x, y;
};
P *global; // device
// SOA: PSoA global; // device
// TILE: PTile32 *global; // device
extern P *shown;
// SOA: extern PSoA shown;
static struct P *hidden = 0, spare;
// SOA: static PSoA hidden = {};
// SOA-NEXT: static struct P spare;
P *shown;
// SOA: PSoA shown;

__global__ void k(const P *const __restrict__ a, P const *b, struct P c[], P *__restrict__ e) {
  // SOA: __global__ void k(PSoA a, PSoA b, PSoA c, PSoA e) {
  // TILE: __global__ void k(const PTile32 *const __restrict__ a, PTile32 const *b, PTile32 c[], PTile32 *__restrict__ e) {
  int i = threadIdx.x;
  e[i].x = a[i].x + b[i].x + c[i].x;
}

static void make(P *&d, P *const &again, size_t bytes) {
  // SOA: static void make(PSoA &d, PSoA const &again, size_t bytes) {
  cudaMalloc(&d, bytes);
  cudaMemset(again, 0, bytes);
}

int main() {
  size_t bytes = 64 * sizeof(P);
  P *h = new P[64], // host
      *d,           /* device */
      one;
  // SOA: P *h = new P[64]; // host
  // SOA-NEXT: PSoA d; /* device */
  // SOA-NEXT: P one;
  // TILE: P *h = new P[64]; // host
  // TILE-NEXT: PTile32 *d; /* device */
  // TILE-NEXT: P one;
  for (int i = 0; i < 64; ++i)
    h[i] = {1.0f * i, 2.0f * i};
  make(d, d, bytes);
  auto *copy = d;
  // SOA: auto copy = d;
  auto again = copy;
  // SOA: auto again = copy;
  auto *&name = d;
  // SOA: auto &name = d;
  cudaMemcpy(name, h, bytes, cudaMemcpyHostToDevice);
  hidden = d;
  global = hidden;
  shown = d;
  k<<<1, 32>>>(again, global, shown, d);
  one = spare;
  cudaMemcpy(h, d, bytes, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 64; ++i)
    printf("%g %g\n", h[i].x, h[i].y);
  h[0] = one;
  cudaFree(d);
}
