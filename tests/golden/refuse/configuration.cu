// A use that this configuration leaves out refuses the array; a layout that is asked for takes it, with a warning.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %restride --list %s -- -std=c++17 2>&1 | FileCheck %s --check-prefix=LIST
// RUN: %restride --check --quiet %t/in.cu -- -std=c++17 | count 0
// RUN: %restride --layout=soa --emit-variants=%t/out %t/in.cu -- -std=c++17 2>&1 | FileCheck %s --check-prefix=WARN
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/out/P/soa/in.cu
// RUN: %compile-both %t/out/P/soa/in.cu

// LIST: configuration.cu:[[@LINE+3]]:{{.*}} array of 'P' ('d') is left alone
// WARN: in.cu:{{.*}} array of 'P' ('d') becomes soa as asked
#include <cstdio>
struct P {
  float x, y;
};

__global__ void k(P *p) {
  // SOA: __global__ void k(PSoA p) {
  int i = threadIdx.x;
  p[i].x += 1;
  // SOA: p.x[i] += 1;
#ifdef OTHER
  // LIST: configuration.cu:[[@LINE+3]]:{{.*}} refused: 'p' is used in text that the preprocessor leaves out here
  // WARN: warning: {{.*}}in.cu:{{[0-9]+}}: 'p' is used in text that the preprocessor leaves out here, and stays as it is there
  // SOA: p[i].y = 0;
  p[i].y = 0;
#endif
}

int main() {
  P h[32] = {}, *d;
  cudaMalloc(&d, sizeof(h));
  cudaMemcpy(d, h, sizeof(h), cudaMemcpyHostToDevice);
  k<<<1, 32>>>(d);
  cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
  printf("%g\n", h[1].x);
  cudaFree(d);
}
