// Two buffers that change places are one array: swapped, rotated by hand, chosen by a condition.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/out/P/soa/in.cu
// RUN: FileCheck %s --check-prefix=TILE --input-file=%t/out/P/asta32/in.cu
// RUN: %compile-both %t/out/P/soa/in.cu %t/out/P/asta32/in.cu
#include <cstdio>
#include <utility>

struct P {
  float x, y;
};

__global__ void k(const P *in, P *out, int n) {
  // SOA: __global__ void k(PSoA in, PSoA out, int n) {
  // TILE: __global__ void k(const PTile32 *in, PTile32 *out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    out[i].x = in[i].y;
  // SOA: out.x[i] = in.y[i];
}

struct Pair {
  P *first, *second;
};

static P *chosen(const Pair &of, bool second) { return second ? of.second : of.first; }

int main() {
  int n = 64;
  P *a, *b;
  // SOA: PSoA a, b;
  // TILE: PTile32 *a, *b;
  cudaMalloc(&a, n * sizeof(P));
  cudaMalloc(&b, n * sizeof(P));
  P h[64];
  for (int i = 0; i < n; ++i)
    h[i] = {1.0f * i, 2.0f * i};
  cudaMemcpy(a, h, n * sizeof(P), cudaMemcpyHostToDevice);
  for (int i = 0; i < n; ++i)
    h[i] = {3.0f * i, 4.0f * i};
  cudaMemcpy(b, h, n * sizeof(P), cudaMemcpyHostToDevice);
  for (int step = 0; step < 3; ++step) {
    k<<<1, 32>>>(a, b, n);
    std::swap(a, b);
    // SOA: std::swap(a, b);
    P *t = a;
    // SOA: PSoA t = a;
    a = b;
    b = t;
    P *in = step % 2 ? a : b, *out = step % 2 ? b : a;
    // SOA: PSoA in = step % 2 ? a : b, out = step % 2 ? b : a;
    // TILE: PTile32 *in = step % 2 ? a : b, *out = step % 2 ? b : a;
    k<<<1, 32>>>(in, step ? b : a, n);
    k<<<1, 32>>>(out, in, n);
    const Pair both{a, b};
    P *last = (in == a ? both.first : both.second);
    // SOA: PSoA last = (in.x == a.x ? both.first : both.second);
    // TILE: PTile32 *last = (in == a ? both.first : both.second);
    printf("%d %d\n", last == chosen(both, step % 2), both.second != (step ? a : b));
    // SOA: printf("%d %d\n", last.x == chosen(both, step % 2).x, both.second.x != (step ? a : b).x);
  }
  cudaMemcpy(h, a, n * sizeof(P), cudaMemcpyDeviceToHost);
  for (const P &p : h)
    printf("%g %g\n", p.x, p.y);
  cudaFree(a);
  cudaFree(b);
}
