// Where nobody sees the record's size, the alignment goes where it is defined.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %restride --quiet --layout=aos-align16 %t/in.cu -- -std=c++17 | FileCheck %s
// RUN: %restride -i --quiet --layout=aos-align16 %t/in.cu -- -std=c++17
// RUN: %compile-both %t/in.cu
// RUN: %restride --check --quiet --layout=aos-align16 %t/in.cu -- -std=c++17
#include <cstdio>
#include <cstdlib>

struct P {
  float x, y, z;
};
// CHECK:      -struct P {
// CHECK-NEXT: +struct __align__(16) P {
// CHECK-NOT: {{^[-+]}}

__global__ void k(P *p) { p[threadIdx.x].x += 1; }

int main() {
  P *h = (P *)malloc(64 * sizeof(P)), *d;
  for (int i = 0; i < 64; ++i)
    h[i].x = h[i].y = h[i].z = i;
  cudaMalloc(&d, 64 * sizeof(P));
  cudaMemcpy(d, h, 64 * sizeof(P), cudaMemcpyHostToDevice);
  k<<<1, 32>>>(d);
  cudaMemcpy(h, d, 64 * sizeof(P), cudaMemcpyDeviceToHost);
  for (int i = 0; i < 64; ++i)
    printf("%g %g %g\n", h[i].x, h[i].y, h[i].z);
  free(h);
}
