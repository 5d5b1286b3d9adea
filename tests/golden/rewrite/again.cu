// A second run changes nothing, for every kind of handle.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/soa.cu && cp %t/soa.cu %t/tile.cu && cp %t/soa.cu %t/twin.cu
// RUN: %restride -i --quiet --layout=soa %t/soa.cu -- -std=c++17 && cp %t/soa.cu %t/soa.copy
// RUN: %restride -i --quiet --layout=asta32 %t/tile.cu -- -std=c++17 && cp %t/tile.cu %t/tile.copy
// RUN: %restride -i --quiet --layout=aos-align16 %t/twin.cu -- -std=c++17 && cp %t/twin.cu %t/twin.copy
// RUN: FileCheck %s --check-prefix=ONE --input-file=%t/soa.cu
// RUN: FileCheck %s --check-prefix=ONE --input-file=%t/tile.cu
// RUN: FileCheck %s --check-prefix=ONE --input-file=%t/twin.cu
// RUN: %restride -i --quiet --layout=soa %t/soa.cu -- -std=c++17 && cmp %t/soa.cu %t/soa.copy
// RUN: %restride -i --quiet --layout=asta32 %t/tile.cu -- -std=c++17 && cmp %t/tile.cu %t/tile.copy
// RUN: %restride -i --quiet --layout=aos-align16 %t/twin.cu -- -std=c++17 && cmp %t/twin.cu %t/twin.copy
// RUN: %compile-both %t/soa.cu %t/tile.cu %t/twin.cu
// ONE: // restride: P
// ONE-NOT: // restride:

#include <cstdio>

struct P {
  float x, y, z;
};
static_assert(sizeof(P) == 12, "");

__global__ void k(P *p, int n) {
  int i = threadIdx.x;
  P t = p[i];
  p[n + i] = t;
  p[i].x = 0;
}

int main() {
  P h[64], *d, *e;
  for (int i = 0; i < 64; ++i)
    h[i] = {1.0f * i, 2.0f * i, 3.0f * i};
  cudaMalloc(&d, sizeof(h));
  cudaMalloc(&e, sizeof(h));
  cudaMemcpy(d, h, sizeof(h), cudaMemcpyHostToDevice);
  cudaMemcpy(e, d, sizeof(h), cudaMemcpyDeviceToDevice);
  cudaMemset(e, 0, sizeof(h));
  k<<<1, 32>>>(d, 32);
  cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
  for (const P &p : h)
    printf("%g %g %g\n", p.x, p.y, p.z);
}
