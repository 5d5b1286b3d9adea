// A file with Windows line ends keeps them; tabs and comments stay too.
// RUN: rm -rf %t && split-file %s %t && sed 's/$/\r/' %t/in.cu > %t/crlf.cu
// RUN: %restride -i --layout=soa --quiet %t/crlf.cu -- -std=c++17
// RUN: %compile-both %t/crlf.cu
// RUN: tr -d '\n' < %t/crlf.cu | tr '\r' '\n' > %t/lines && tr -d '\r' < %t/crlf.cu | cmp - %t/lines
// RUN: FileCheck %s --input-file=%t/crlf.cu

// CHECK: __global__ void k(PSoA p) {
// CHECK-NEXT: {{^}}	p.x[threadIdx.x] = 1; // one tab

//--- in.cu
#include <cstdio>
struct P {
  float x, y; // position
};
__global__ void k(P *p) {
	p[threadIdx.x].x = 1; // one tab
}
int main() {
  P h[64] = {}, *d;
  cudaMalloc(&d, sizeof(h));
  cudaMemcpy(d, h, sizeof(h), cudaMemcpyHostToDevice);
  k<<<1, 32>>>(d);
  cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
  for (const P &p : h)
    printf("%g %g\n", p.x, p.y);
}
