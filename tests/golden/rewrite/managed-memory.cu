// Managed memory that the host fills, and hints about where it should lie.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/out/P/soa/in.cu
// RUN: FileCheck %s --check-prefix=TILE --input-file=%t/out/P/asta32/in.cu
// RUN: FileCheck %s --check-prefix=ALIGN --input-file=%t/out/P/aos-align16/in.cu
// RUN: %compile-both %t/out/P/soa/in.cu %t/out/P/asta32/in.cu %t/out/P/aos-align16/in.cu
// RUN: cp %t/in.cu %t/a.cu && %restride -i --quiet --layout=soa %t/a.cu -- -std=c++17 && %restride -i --quiet --layout=aos %t/a.cu -- -std=c++17
// RUN: FileCheck %s --check-prefix=BACK --input-file=%t/a.cu && %compile-both %t/a.cu
#include <cstdio>
#include <cstring>

struct P {
  float x, y;
  int n[3];
};
static_assert(sizeof(P) == 20, "the host keeps its record");

// SOA: static inline void PSoA_hostMemset(PSoA p, ptrdiff_t first, int value, size_t bytes) {
// SOA-NEXT: P r;
// SOA-NEXT: memset(&r, value, sizeof(r));
// SOA-NEXT: for (size_t i = 0; i < bytes / sizeof(P); ++i)
// SOA-NEXT: PSoA_store(p, first + i, r);
// SOA: cudaError_t PSoA_memPrefetchAsync(PSoA p, size_t bytes, Rest... rest) {
// SOA: e = cudaMemPrefetchAsync(p.y, n * 4, rest...);
// SOA: for (size_t k = 0; e == cudaSuccess && k < 3; ++k)
// SOA-NEXT: e = cudaMemPrefetchAsync(p.n.base + k * p.n.pitch, n * 4, rest...);
// SOA-NOT: cudaMemAdvise(p.x
// TILE: return cudaMemPrefetchAsync(p, (n + 31) / 32 * sizeof(PTile32), rest...);
// ALIGN: static_cast<P &>(p[first + i]) = r;
// ALIGN: return cudaMemPrefetchAsync(p, n * sizeof(PAlign16), rest...);

__global__ void k(P *p) { p[threadIdx.x].x += 1; }

template <typename T>
static T *managed(size_t n) {
  T *p = nullptr;
  if (cudaMallocManaged(&p, n * sizeof(T)) != cudaSuccess)
    return nullptr;
  std::memset((void *)p, 0, n * sizeof(T));
  // SOA: PSoA_hostMemset(p, 0, 0, n * sizeof(P));
  return p;
}

#if CUDART_VERSION >= 13000
static cudaMemLocation place(int device) { return {cudaMemLocationTypeDevice, device}; }
#define ON(device) place(device), 0
#else
#define ON(device) device
#endif

int main() {
  int n = 64;
  P *m = managed<P>(n);
  // SOA: PSoA m = P_managed(n);
  int *plain = managed<int>(n);
  memset(m + 32, 0xff, 32 * sizeof(*m));
  // SOA: PSoA_hostMemset(m, 32, 0xff, 32 * sizeof(P));
  // BACK: memset(m + 32, 0xff, 32 * sizeof(P));
  cudaMemPrefetchAsync(m, n * sizeof(P), ON(0));
  // SOA: PSoA_memPrefetchAsync(m, n * sizeof(P), ON(0));
  // BACK: cudaMemPrefetchAsync(m, n * sizeof(P), ON(0));
  k<<<1, 64>>>(m);
  cudaDeviceSynchronize();
  printf("%g %d %d\n", m[1].x, m[63].n[2], plain[0]);
  cudaFree(plain);
  cudaFree(m);
}
