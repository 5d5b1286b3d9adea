// Error checks around host calls stay, and so do the macros.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/out/P/soa/in.cu
// RUN: %compile-both %t/out/P/soa/in.cu
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                                                    \
  do {                                                                                                                 \
    cudaError_t status = (call);                                                                                       \
    if (status != cudaSuccess) {                                                                                       \
      fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status));                                                  \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)
// SOA: #define CHECK(call)

static void check(cudaError_t e, const char *file, int line) {
  if (e != cudaSuccess)
    exit(1);
}
#define checkCudaErrors(e) check((e), __FILE__, __LINE__)

struct P {
  float x, y;
};

__global__ void k(P *p) { p[threadIdx.x].x += 1; }

int main() {
  P h[64] = {}, *d = nullptr;
  // SOA: P h[64] = {};
  // SOA-NEXT: PSoA d = {};
  for (int i = 0; i < 64; ++i)
    h[i] = {1.0f * i, 2.0f * i};
  CHECK(cudaMalloc(&d, sizeof(h)));
  // SOA: CHECK(PSoA_malloc(&d, sizeof(h)));
  checkCudaErrors(cudaMemcpy(d, h, sizeof(h), cudaMemcpyHostToDevice));
  // SOA: checkCudaErrors(PSoA_memcpy(d, h, sizeof(h), cudaMemcpyHostToDevice));
  k<<<1, 32>>>(d);
  CHECK(cudaGetLastError());
  if (cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost) != cudaSuccess) {
    // SOA: if (PSoA_memcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost) != cudaSuccess) {
    cudaFree(d);
    // SOA: PSoA_free(d);
    return 1;
  }
  for (const P &p : h)
    printf("%g %g\n", p.x, p.y);
  cudaError_t e = cudaFree(d);
  // SOA: cudaError_t e = PSoA_free(d);
  return e == cudaSuccess ? 0 : 1;
}
