// Tiles in shared memory, whose extent may be a template parameter.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/out/P-tile/soa/in.cu
// RUN: FileCheck %s --check-prefix=OWN --input-file=%t/out/P-own/soa/in.cu
// RUN: FileCheck %s --check-prefix=ALIGN --input-file=%t/out/P-tile/aos-align16/in.cu
// RUN: FileCheck %s --check-prefix=ALL --input-file=%t/out/P-d/soa/in.cu
// RUN: %compile-both %t/out/P-tile/soa/in.cu %t/out/P-own/soa/in.cu %t/out/P-tile/aos-align16/in.cu %t/out/P-d/soa/in.cu

#include <cstdio>

struct P {
  float x, y, z;
  int count;
};

template <int N> __global__ void sum(const P *p, float *out) {
  __shared__ P tile[N];
  // SOA: __shared__ PArrays<N> tile;
  // ALIGN: __shared__ PAlign16 tile[N];
  const int t = threadIdx.x;
  tile[t] = p[blockIdx.x * N + t];
  // SOA: PArrays_store(tile, t, p[blockIdx.x * N + t]);
  // ALL: tile[t] = PSoA_load(p, blockIdx.x * N + t);
  __syncthreads();
  float s = 0;
  for (int j = 0; j < N; ++j)
    s += tile[j].x * tile[(j + t) % N].y;
    // SOA: s += tile.x[j] * tile.y[(j + t) % N];
  atomicAdd(&tile[0].count, 1);
  // SOA: atomicAdd(&tile.count[0], 1);
  __syncthreads();
  P *last = &tile[N - 1];
  out[blockIdx.x * N + t] = s + last->z + tile->count;
  // SOA: out[blockIdx.x * N + t] = s + tile.z[N - 1] + tile.count[0];
}

__global__ void turn(P *p, int n) {
  __shared__ P tile[2 * 16], more[4];
  __shared__ __align__(16) P own[2 * 16];
  // OWN: __shared__ __align__(16) PArrays<(2 * 16)> own;
  int t = threadIdx.x;
  own[t] = p[t];
  __syncthreads();
  p[t] = own[31 - t];
  // OWN: p[t] = PArrays_load(own, 31 - t);
  tile[t].x = p[t].x;
  more[0].x = tile[t].x;
  P q = own[t];
  own[31 - t].z = q.x;
}

int main() {
  P h[64], *d;
  float *out, o[64];
  for (int i = 0; i < 64; ++i)
    h[i] = {1.0f * i, 2.0f * i, 3.0f * i, i};
  cudaMalloc(&d, sizeof(h));
  cudaMalloc(&out, sizeof(o));
  cudaMemcpy(d, h, sizeof(h), cudaMemcpyHostToDevice);
  sum<16><<<4, 16>>>(d, out);
  cudaMemcpy(o, out, sizeof(o), cudaMemcpyDeviceToHost);
  for (float f : o)
    printf("%g\n", f);
  sum<32><<<2, 32>>>(d, out);
  turn<<<1, 32>>>(d, 32);
  cudaMemcpy(o, out, sizeof(o), cudaMemcpyDeviceToHost);
  cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
  for (float f : o)
    printf("%g\n", f);
  for (const P &p : h)
    printf("%g %g %g %d\n", p.x, p.y, p.z, p.count);
}
