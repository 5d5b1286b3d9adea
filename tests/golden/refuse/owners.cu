// Owners that do more than free, and what is done with those that do not.
// RUN: %restride --list %s -- -std=c++17 2>&1 | FileCheck %s
#include <cstdio>
#include <memory>
#include <vector>
struct A { float x, y, z, w; };
struct B { float x, y, z, w; };
struct C { float x, y, z, w; };
struct D { float x, y, z, w; };
struct E { float x, y, z, w; };
struct F { float x, y, z, w; };
template <class T> __global__ void k(T *p, int n) { int i = threadIdx.x; if (i < n) p[i].x += 1; }
struct Free { void operator()(void *p) const { cudaFree(p); } };
struct Says { void operator()(void *p) const { std::printf("freed\n"); cudaFree(p); } };
struct Counts { int n = 0; void operator()(void *p) { cudaFree(p); ++n; } };
template <class T> using Owner = std::unique_ptr<T[], Free>;
template <class T> T *allocate(int n) { T *p; cudaMalloc(&p, n * sizeof(T)); return p; }
int main() {
  int n = 1024;
  std::unique_ptr<A[], Says> a(allocate<A>(n));
  // CHECK-DAG: [[#@LINE+1]]:{{[0-9]+}}: note: refused: the pointer comes from an owner that is no std::unique_ptr with a deleter that does nothing but cudaFree
  k<<<1, 1024>>>(a.get(), n);
  std::unique_ptr<B[], Counts> b(allocate<B>(n));
  // CHECK-DAG: [[#@LINE+1]]:{{[0-9]+}}: note: refused: the pointer comes from an owner that is no std::unique_ptr with a deleter that does nothing but cudaFree
  k<<<1, 1024>>>(b.get(), n);
  std::vector<Owner<C>> all;
  Owner<C> c(allocate<C>(n));
  k<<<1, 1024>>>(c.get(), n);
  // CHECK-DAG: [[#@LINE+1]]:{{[0-9]+}}: note: refused: the pointer's owner goes where it cannot be followed
  all.push_back(std::move(c));
  Owner<D> d(allocate<D>(n));
  k<<<1, 1024>>>(d.get(), n);
  // CHECK-DAG: [[#@LINE+1]]:{{[0-9]+}}: note: refused: the pointer's owner is asked for more than its pointer
  d.get_deleter()(nullptr);
  // CHECK-DAG: [[#@LINE+1]]:{{[0-9]+}}: note: refused: host memory reaches the same pointers
  Owner<E> e(new E[n]);
  k<<<1, 1024>>>(e.get(), n);
  std::unique_ptr<F, Free> f(allocate<F>(n));
  k<<<1, 1024>>>(f.get(), n);
  // CHECK-DAG: [[#@LINE+1]]:{{[0-9]+}}: note: refused: an element is reached on the host, through the pointer's owner
  f->x = 1;
}
