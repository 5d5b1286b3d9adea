// Input and output are two arrays of one record: each is decided by itself.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=IN --input-file=%t/out/P-d_in/soa/in.cu
// RUN: FileCheck %s --check-prefix=OUT --input-file=%t/out/P-d_out/asta32/in.cu
// RUN: %restride --quiet --layout=soa %t/in.cu -- -std=c++17 | FileCheck %s --check-prefix=BOTH
// RUN: %compile-both %t/out/P-d_in/soa/in.cu %t/out/P-d_out/asta32/in.cu %t/out/P-d_out/aos-align8/in.cu

#include <cstdio>

struct P {
  float x, y;
  int n;
};
// One handle type serves both.
// BOTH: +struct PSoA {
// BOTH-NOT: +struct PSoA {

__global__ void k(const P *in, P *out) {
  // IN: __global__ void k(PSoA in, P *out) {
  // OUT: __global__ void k(const P *in, PTile32 *out) {
  // BOTH: +__global__ void k(PSoA in, PSoA out) {
  int i = threadIdx.x;
  out[i] = in[i];
  // IN: out[i] = PSoA_load(in, i);
  // OUT: PTile32_store(out, i, in[i]);
  // BOTH: +  PSoA_store(out, i, PSoA_load(in, i));
}

int main() {
  P h[32];
  for (int i = 0; i < 32; ++i)
    h[i] = {1.0f * i, 2.0f * i, i};
  P *d_in, *d_out;
  // IN: PSoA d_in;
  // IN-NEXT: P *d_out;
  // OUT: P *d_in;
  // OUT-NEXT: PTile32 *d_out;
  // BOTH: +  PSoA d_in, d_out;
  cudaMalloc(&d_in, sizeof(h));
  cudaMalloc(&d_out, sizeof(h));
  cudaMemcpy(d_in, h, sizeof(h), cudaMemcpyHostToDevice);
  k<<<1, 32>>>(d_in, d_out);
  cudaMemcpy(h, d_out, sizeof(h), cudaMemcpyDeviceToHost);
  // IN: cudaMemcpy(h, d_out, sizeof(h), cudaMemcpyDeviceToHost);
  // OUT: PTile32_memcpy(h, d_out, sizeof(h), cudaMemcpyDeviceToHost);
  for (const P &p : h)
    printf("%g %g %d\n", p.x, p.y, p.n);
  cudaFree(d_in);
  cudaFree(d_out);
}
