// Copies in every direction: whole, in part, from an offset; fills.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/out/P/soa/in.cu
// RUN: FileCheck %s --check-prefix=TILE --input-file=%t/out/P/asta32/in.cu
// RUN: FileCheck %s --check-prefix=ALIGN --input-file=%t/out/P/aos-align16/in.cu
// RUN: %compile-both %t/out/P/soa/in.cu %t/out/P/asta32/in.cu %t/out/P/aos-align16/in.cu
#include <cstdio>
#include <vector>

struct P {
  float x, y;
  int n;
};

__global__ void k(P *p) { p[threadIdx.x].x += 1; }

static_assert(sizeof(P) == 12, "the host keeps its record");

static void show(const P *d, int n) {
  std::vector<P> h(n);
  cudaMemcpy(h.data(), d, n * sizeof(P), cudaMemcpyDeviceToHost);
  // SOA: PSoA_memcpy(h.data(), d, 0, n * sizeof(P), cudaMemcpyDeviceToHost);
  for (const P &p : h)
    printf("%g %g %d\n", p.x, p.y, p.n);
}

int main() {
  const int n = 64, half = 32;
  std::vector<P> h(n);
  for (int i = 0; i < n; ++i)
    h[i] = {1.0f * i, 2.0f * i, 3 * i};
  P *d, *other;
  cudaStream_t stream = 0;
  cudaMalloc(&d, n * sizeof(P));
  // SOA: PSoA_malloc(&d, n * sizeof(P));
  // TILE: PTile32_malloc(&d, n * sizeof(P));
  // ALIGN: PAlign16_malloc(&d, n * sizeof(P));
  cudaMalloc((void **)&other, n * sizeof(P));
  // SOA: PSoA_malloc(&other, n * sizeof(P));
  cudaMemcpy(d, h.data(), n * sizeof(P), cudaMemcpyHostToDevice);
  // SOA: PSoA_memcpy(d, 0, h.data(), n * sizeof(P), cudaMemcpyHostToDevice);
  // TILE: PTile32_memcpy(d, 0, h.data(), n * sizeof(P), cudaMemcpyHostToDevice);
  // ALIGN: PAlign16_memcpy(d, 0, h.data(), n * sizeof(P), cudaMemcpyHostToDevice);
  cudaMemcpy(d + half, &h[half], half * sizeof(P), cudaMemcpyHostToDevice);
  // SOA: PSoA_memcpy(d, half, &h[half], half * sizeof(P), cudaMemcpyHostToDevice);
  cudaMemcpyAsync(&d[half], h.data(), sizeof(P) * half, cudaMemcpyHostToDevice, stream);
  // SOA: PSoA_memcpyAsync(d, half, h.data(), sizeof(P) * half, cudaMemcpyHostToDevice, stream);
  cudaMemcpyAsync(d, h.data(), sizeof(P), cudaMemcpyHostToDevice);
  // SOA: PSoA_memcpyAsync(d, 0, h.data(), sizeof(P), cudaMemcpyHostToDevice);
  cudaMemcpy(other, d, n * sizeof(P), cudaMemcpyDeviceToDevice);
  // SOA: PSoA_memcpy(other, 0, d, 0, n * sizeof(P), cudaMemcpyDeviceToDevice);
  show(d, n);
  cudaMemcpyAsync(d + 1, other + half, 2 * sizeof(P), cudaMemcpyDeviceToDevice, stream);
  // SOA: PSoA_memcpyAsync(d, 1, other, half, 2 * sizeof(P), cudaMemcpyDeviceToDevice, stream);
  show(d, n);
  show(other, n);
  cudaMemset(d, 0, n * sizeof(P));
  // SOA: PSoA_memset(d, 0, 0, n * sizeof(P));
  cudaMemset(d + 1, 0xff, half * sizeof(P));
  // SOA: PSoA_memset(d, 1, 0xff, half * sizeof(P));
  show(d, n);
  cudaMemsetAsync(d, 0, n * sizeof(P), stream);
  // SOA: PSoA_memsetAsync(d, 0, 0, n * sizeof(P), stream);
  show(d, n);
  cudaMemcpy(d, h.data(), n * sizeof(P), cudaMemcpyHostToDevice);
  k<<<1, 32>>>(d);
  cudaMemcpy(h.data(), d, n * sizeof(P), cudaMemcpyDeviceToHost);
  // SOA: PSoA_memcpy(h.data(), d, 0, n * sizeof(P), cudaMemcpyDeviceToHost);
  // TILE: PTile32_memcpy(h.data(), d, 0, n * sizeof(P), cudaMemcpyDeviceToHost);
  cudaMemcpyAsync(&h[0], &d[n - 1], sizeof(P), cudaMemcpyDeviceToHost, stream);
  // SOA: PSoA_memcpyAsync(&h[0], d, n - 1, sizeof(P), cudaMemcpyDeviceToHost, stream);
  for (const P &p : h)
    printf("%g %g %d\n", p.x, p.y, p.n);
  cudaFree(d);
  // SOA: PSoA_free(d);
  // TILE: cudaFree(d);
  cudaFree(other);
}
