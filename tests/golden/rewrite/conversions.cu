// Classes that convert to the pointer that they hold: to pass one on is to pass the pointer. A static method of theirs
// may be kept in a variable.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/out/P/soa/in.cu
// RUN: FileCheck %s --check-prefix=TILE --input-file=%t/out/P/asta32/in.cu
// RUN: %compile-both %t/out/P/soa/in.cu %t/out/P/asta32/in.cu
#include <cstdio>
#include <vector>

struct P {
  float x, y;
};

template <typename T> struct Buffer {
  T *ptr = nullptr;
  size_t count = 0;
  explicit Buffer(const std::vector<T> &v) : count(v.size()) {
    cudaMalloc(&ptr, count * sizeof(T));
    cudaMemcpy(ptr, v.data(), count * sizeof(T), cudaMemcpyHostToDevice);
  }
  ~Buffer() { cudaFree(ptr); }
  Buffer(const Buffer &) = delete;
  operator T *() const { return ptr; }
  static void must(cudaError_t e) {
    if (e != cudaSuccess)
      std::printf("%s\n", cudaGetErrorString(e));
  }
};
// SOA: template <> struct Buffer<P> {
// SOA: operator PSoA() const { return ptr; }
// TILE: operator PTile32 *() const { return ptr; }

struct View {
  const P *p;
  __host__ __device__ operator const P *() const { return p; }
  // SOA: __host__ __device__ operator PSoA() const { return p; }
  // TILE: __host__ __device__ operator const PTile32 *() const { return p; }
};

__device__ float sum(const P *p, int i) { return p[i].x + p[i].y; }

__global__ void k(P *to, View from, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    const P *p = from;
    // SOA: PSoA p = from;
    // TILE: const PTile32 *p = from;
    to[i].x = sum(from, i) * p[i].y;
  }
}

int main() {
  int n = 64;
  std::vector<P> h(n, P{1, 2});
  Buffer<P> d(h);
  auto must = Buffer<P>::must;
  View view{d};
  // SOA: View view{d};
  k<<<1, n>>>(d, view, n);
  // SOA: k<<<1, n>>>(d, view, n);
  must(cudaMemcpy(h.data(), d, n * sizeof(P), cudaMemcpyDeviceToHost));
  // SOA: must(PSoA_memcpy(h.data(), d, n * sizeof(P), cudaMemcpyDeviceToHost));
  std::printf("%g\n", h[3].x);
}
