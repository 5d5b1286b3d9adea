// Memory from the stream-ordered allocator.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/out/P/soa/in.cu
// RUN: FileCheck %s --check-prefix=TILE --input-file=%t/out/P/asta32/in.cu
// RUN: %compile-both %t/out/P/soa/in.cu %t/out/P/asta32/in.cu

#include <cstdio>

struct P {
  float x, y;
};

__global__ void k(P *p) { p[threadIdx.x].x += 1; }

int main() {
  P h[64], *d;
  for (int i = 0; i < 64; ++i)
    h[i] = {1.0f * i, 2.0f * i};
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaMallocAsync(&d, 64 * sizeof(P), stream);
  // SOA: PSoA_mallocAsync(&d, 64 * sizeof(P), stream);
  // TILE: PTile32_mallocAsync(&d, 64 * sizeof(P), stream);
  cudaMemcpyAsync(d, h, sizeof(h), cudaMemcpyHostToDevice, stream);
  k<<<1, 32, 0, stream>>>(d);
  cudaMemcpyAsync(h, d, sizeof(h), cudaMemcpyDeviceToHost, stream);
  cudaFreeAsync(d, stream);
  // SOA: PSoA_freeAsync(d, stream);
  // TILE: cudaFreeAsync(d, stream);
  cudaStreamSynchronize(stream);
  for (const P &p : h)
    printf("%g %g\n", p.x, p.y);
}
