// Byte counts and copies that do not say what they move.
// RUN: %restride --list %s -- -std=c++17 | FileCheck %s

#include <cstdlib>
#include <cstring>

struct A { float x, y; int n; };
struct B { float x, y; };

__global__ void k(A *a, B *b) {
  a[0].x = b[0].x;
  // CHECK-DAG: copies.cu:[[@LINE+1]]:{{.*}} refused: the pointer is passed to a function that takes any pointer and whose use of it is not known
  memset(b, 0, sizeof(B));
}

int main(int argc, char **argv) {
  A *a, *other;
  // CHECK-DAG: copies.cu:[[@LINE+1]]:{{.*}} refused: this byte count is not seen to be a whole number of records; write it with sizeof
  cudaMalloc(&a, atoi(argv[1]));
  size_t half = 0.5 * argc * sizeof(A);
  // CHECK-DAG: copies.cu:[[@LINE+1]]:{{.*}} refused: this byte count is not seen to be a whole number of records; write it with sizeof
  cudaMemset(a, 0, half);
  cudaMalloc(&other, sizeof(A));
  // CHECK-DAG: copies.cu:[[@LINE+1]]:{{.*}} refused: the direction of this copy is not written in the call
  cudaMemcpy(other, a, sizeof(A), cudaMemcpyDefault);
  // CHECK-DAG: copies.cu:[[@LINE+1]]:{{.*}} refused: the pointer is passed to a function that takes any pointer and whose use of it is not known
  void *same = memset(a, 0, sizeof(A));
  // CHECK-DAG: copies.cu:[[@LINE+1]]:{{.*}} refused: this byte count is not seen to be a whole number of records; write it with sizeof
  memset(a, 0, half);
  // CHECK-DAG: copies.cu:[[@LINE+1]]:{{.*}} refused: the pointer is passed to a function that takes any pointer and whose use of it is not known
  cudaMemPrefetchAsync(a, sizeof(A), {}, 0);
  k<<<1, 1>>>(a, nullptr);
}
