// Pointers that go where their use is not known.
// RUN: %restride --list %s -- -std=c++17 | FileCheck %s

#include <cstdio>

struct A { float x, y; };
struct B { float x, y; };
struct C { float x, y; };
struct D { float x, y; };
struct E { float x, y; };

__device__ void unseen(A *p);
__device__ float any(const void *p) { return *(const float *)p; }
void keep(void *p) {
  static void *kept = p;
  cudaFree(kept);
}
struct Wrapper {
  A *p;
  __device__ Wrapper(A *q) : p(q) {}
};

__global__ void a(A *p, A **out) {
  // CHECK-DAG: escapes.cu:[[@LINE+1]]:{{.*}} refused: the pointer is cast to 'float *'
  float *f = (float *)p;
  // CHECK-DAG: escapes.cu:[[@LINE+1]]:{{.*}} refused: the pointer is cast to 'const float4 *'
  float4 v = *reinterpret_cast<const float4 *>(&p[1]);
  // CHECK-DAG: escapes.cu:[[@LINE+1]]:{{.*}} refused: the pointer is passed to a function that takes any pointer and whose use of it is not known
  any(p);
  // CHECK-DAG: escapes.cu:[[@LINE+1]]:{{.*}} refused: the pointer becomes a pointer without a type
  void *u = p;
  *out = (A *)u;
  // CHECK-DAG: escapes.cu:[[@LINE+1]]:{{.*}} refused: the pointer is passed to 'unseen', whose body is not seen
  unseen(p);
  // CHECK-DAG: escapes.cu:[[@LINE+1]]:{{.*}} refused: the address of the pointer is taken
  A **pp = &p;
  // CHECK-DAG: escapes.cu:[[@LINE+1]]:{{.*}} refused: the pointer is stored where it cannot be followed
  *out = p;
  // CHECK-DAG: escapes.cu:[[@LINE+1]]:{{.*}} refused: the pointer is passed to a constructor
  Wrapper w(p);
  // CHECK-DAG: escapes.cu:[[@LINE+1]]:{{.*}} refused: this use of the pointer is not understood
  asm volatile("" ::"l"(p));
}

// CHECK-DAG: escapes.cu:[[@LINE+1]]:{{.*}} refused: the pointer is passed through a function pointer
__global__ void b(B *p, void (*f)(B *)) { f(p); }
__global__ void launched(C *p) {}

// CHECK-DAG: escapes.cu:[[@LINE+1]]:{{.*}} refused: 'd' is volatile
__global__ void d(volatile D *d) { d[0].x = 1; }

__global__ void e(E *p) {
  auto first = [](E *q) { return q[0].x; };
  // CHECK-DAG: escapes.cu:[[@LINE+1]]:{{.*}} refused: the pointer is passed to a lambda, whose calls are not followed; make it a function
  first(p);
  // CHECK-DAG: escapes.cu:[[@LINE+1]]:{{.*}} refused: a lambda captures the pointer under another name
  auto f = [q = p] { q[0].x = 1; };
  f();
}

int main() {
  // CHECK-DAG: escapes.cu:[[@LINE+1]]:{{.*}} refused: 'q' is a parameter of a lambda, whose calls are not followed; make it a function
  auto launch = [](C *q) { launched<<<1, 1>>>(q); };
  B *b = nullptr;
  // CHECK-DAG: escapes.cu:[[@LINE+1]]:{{.*}} refused: {{the pointer is passed to 'printf', which takes anything|the pointer is passed to a function that takes any pointer and whose use of it is not known}}
  printf("%p\n", b);
  // CHECK-DAG: escapes.cu:[[@LINE+1]]:{{.*}} refused: the pointer is stored by an initialiser list
  B *pair[][1] = {{b}, {nullptr}};
  ::b<<<1, 1>>>(b, nullptr);
  C *c;
  void *arguments[] = {&c};
  // CHECK-DAG: escapes.cu:[[@LINE+1]]:{{.*}} refused: 'launched' is used as a function pointer
  cudaLaunchKernel((void *)launched, 1, 1, arguments, 0, 0);
}
