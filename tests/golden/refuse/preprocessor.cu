// Text of another configuration, and accesses that a macro's body writes.
// RUN: %restride --list %s -- -std=c++17 | FileCheck %s

struct B { float x, y; };
struct C { float x, y; };
struct D { float x, y; };

__global__ void b(B *values) {
  B &first = values[0];
  first.x = 1;
#if 0
  // CHECK-DAG: preprocessor.cu:[[@LINE+1]]:{{.*}} refused: 'first' is used in text that the preprocessor leaves out here
  first.y = 1;
#endif
}

#define X(array, i) (array)[(i)].x
#define FIRST p[0]
#define ALLOCATE(n) cudaMalloc(&c, (n) * sizeof(C))

__global__ void c(C *p) {
  // CHECK-DAG: preprocessor.cu:[[@LINE+1]]:{{.*}} refused: this access is written by a macro's body, which would have to change
  X(p, 1) = 2;
  // CHECK-DAG: preprocessor.cu:[[@LINE+1]]:{{.*}} refused: this access is written by a macro's body, which would have to change
  FIRST.y = 1;
}

#define POINTER(type) type *pointer
// CHECK-DAG: preprocessor.cu:[[@LINE+1]]:{{.*}} refused: {{.*}}macro
__global__ void d(POINTER(D)) {}

int main() {
  C *c;
  // CHECK-DAG: preprocessor.cu:[[@LINE+1]]:{{.*}} refused: this call is written by a macro's body, which would have to change
  ALLOCATE(64);
  ::c<<<1, 1>>>(c);
}
