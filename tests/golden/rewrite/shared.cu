// Tiles of the array in shared memory are arrays of their own: they keep the record.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/out/P-d/soa/in.cu
// RUN: FileCheck %s --check-prefix=TILE --input-file=%t/out/P-d/asta32/in.cu
// RUN: FileCheck %s --check-prefix=ALIGN --input-file=%t/out/P-d/aos-align16/in.cu
// RUN: %compile-both %t/out/P-d/soa/in.cu %t/out/P-d/asta32/in.cu %t/out/P-d/aos-align16/in.cu

#include <cstdio>

struct P {
  float x, y, z;
};

__global__ void k(P *p, int n) {
  __shared__ P tile[32];
  // SOA: __shared__ P tile[32];
  extern __shared__ P more[];
  int t = threadIdx.x;
  tile[t] = p[n + t];
  // SOA: tile[t] = PSoA_load(p, n + t);
  // TILE: tile[t] = PTile32_load(p, n + t);
  // ALIGN: tile[t] = p[n + t];
  more[t].x = p[t].x;
  // SOA: more[t].x = p.x[t];
  __syncthreads();
  p[t] = tile[31 - t];
  // SOA: PSoA_store(p, t, tile[31 - t]);
  // ALIGN: static_cast<P &>(p[t]) = tile[31 - t];
  p[t].x += tile[t].y;
  // SOA: p.x[t] += tile[t].y;
}

int main() {
  P h[64], *d;
  for (int i = 0; i < 64; ++i)
    h[i] = {1.0f * i, 2.0f * i, 3.0f * i};
  cudaMalloc(&d, sizeof(h));
  cudaMemcpy(d, h, sizeof(h), cudaMemcpyHostToDevice);
  k<<<1, 32, 32 * 12>>>(d, 1);
  cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
  for (const P &p : h)
    printf("%g %g %g\n", p.x, p.y, p.z);
  cudaFree(d);
}
