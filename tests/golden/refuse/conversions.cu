// Classes that convert to a pointer, which is used at once.
// RUN: %restride --list %s -- -std=c++17 | FileCheck %s

struct P {
  float x, y;
};
struct Q {
  float x, y;
};
struct R {
  float x, y;
};
struct S {
  float x, y;
};

template <typename T> struct Buffer {
  T *ptr = nullptr;
  explicit Buffer(size_t n) { cudaMallocManaged(&ptr, n * sizeof(T)); }
  ~Buffer() { cudaFree(ptr); }
  Buffer(const Buffer &) = delete;
  operator T *() const { return ptr; }
};

__global__ void k(P *p, Q *q) {
  p[threadIdx.x].x = q[threadIdx.x].y;
}

__global__ void other(R *r, S *s, bool given) {
  if (given)
    r[threadIdx.x].x = s[threadIdx.x].y;
}

int main() {
  Buffer<P> p(64);
  Buffer<Q> q(64);
  // CHECK-DAG: conversions.cu:[[@LINE+1]]:{{.*}} refused: an object is converted to a pointer and used here; give it to a pointer first
  p[3].x = 1;
  // CHECK-DAG: conversions.cu:[[@LINE+1]]:{{.*}} refused: an object is converted to a pointer and used here; give it to a pointer first
  if (q)
    k<<<1, 64>>>(p, q);
  Buffer<R> r(64);
  // CHECK-DAG: conversions.cu:[[@LINE+1]]:{{.*}} refused: an object is converted to a pointer and used here; give it to a pointer first
  bool given = r;
  Buffer<S> s(64);
  // CHECK-DAG: conversions.cu:[[@LINE+1]]:{{.*}} refused: an object is converted to a pointer and used here; give it to a pointer first
  other<<<1, 64>>>(r, s.operator S *(), given);
}
