// Managed memory that a std::unique_ptr owns, and whose elements the host reaches through it.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/out/P/soa/in.cu
// RUN: FileCheck %s --check-prefix=TILE --input-file=%t/out/P/asta32/in.cu
// RUN: FileCheck %s --check-prefix=ALIGN --input-file=%t/out/P/aos-align16/in.cu
// RUN: %compile-both %t/out/P/soa/in.cu %t/out/P/asta32/in.cu %t/out/P/aos-align16/in.cu
#include <cstdio>
#include <memory>
#include <utility>

struct P {
  float x, y;
  int n;
};
static_assert(sizeof(P) == 12, "the host keeps its record");

struct Free {
  void operator()(void *p) const { cudaFree(p); }
};

template <class T> using Owner = std::unique_ptr<T[], Free>;

template <class T> Owner<T> managed(size_t n) {
  T *p = nullptr;
  cudaMallocManaged(&p, n * sizeof(T));
  return Owner<T>(p);
}

__global__ void k(const P *from, P *to, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    to[i].x = from[i].x + 1;
}

static double sum(const Owner<P> &all, int n) {
  double s = 0;
  for (int i = 0; i < n; ++i)
    s += all[i].x + all[i].n;
  // SOA: s += all.get().x[i] + all.get().n[i];
  // TILE: s += all.get()[i >> 5].x[i & 31] + all.get()[i >> 5].n[i & 31];
  return s;
}

struct World {
  World(int n) : all(managed<P>(n)) {}
  Owner<P> all;
};

int main() {
  const int n = 1000;
  auto a = managed<P>(n), b = managed<P>(n);
  World w(n);
  for (int i = 0; i < n; ++i) {
    a[i].x = i;
    // SOA: a.get().x[i] = i;
    // ALIGN: a.get()[i].x = i;
    P &r = a[i];
    r.y = 2;
    // SOA: a.get().y[i] = 2;
    r.n = i;
    b[i] = a[i];
    // SOA: PSoA_store(b.get(), i, PSoA_load(a.get(), i));
    P &s = w.all[i];
    w.all[i] = b[i];
    s.n += 3;
    // SOA: w.all.get().n[i] += 3;
  }
  for (int step = 0; step < 4; ++step) {
    k<<<4, 256>>>(a.get(), b.get(), n);
    std::swap(a, b);
  }
  k<<<4, 256>>>(a.get(), w.all.get(), n);
  cudaDeviceSynchronize();
  P one = a[7];
  // SOA: P one = PSoA_load(a.get(), 7);
  printf("%g %g %g %g\n", sum(a, n), sum(b, n), one.x, w.all[9].x);
}
