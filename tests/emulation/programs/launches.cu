// Ways to write a kernel and to launch it.
#include <cstdio>
#include <cuda_runtime.h>

struct P {
  float x;
  int n;
};

__global__ void k(int *out, int n = 7);
__global__ void k(P *out, P *from = nullptr) { out[threadIdx.x].n = from ? from->n : -1; }
__global__ __launch_bounds__(32) void k(int *out, int n) {
  n += threadIdx.x; // every thread has its own n
  out[threadIdx.x] = n;
}

namespace geo {
template <typename T, int N = 3, bool B = (N > 2)> static __global__ void scale(T *p, T by) { p[threadIdx.x] *= by * N + B; }
struct Kernels {
  template <typename F> static void apply(F f, int *out);
};
} // namespace geo

template <typename F> __global__ void each(F f, int *out) { out[threadIdx.x] = f(threadIdx.x); }
template <typename F> void geo::Kernels::apply(F f, int *out) { each<<<1, 4>>>(f, out); }

#define KERNEL(name) __global__ void name
#define LAUNCH(kernel, grid, block, ...) \
  kernel<<<grid, block>>>(__VA_ARGS__) /* a launch
  in a macro */
KERNEL(made)(int *out, int v) {
#if defined(SOMETHING)
  if (v) {
#else
  if (!v) {
#endif
    out[0] = v;
    return;
  }
  out[0] = gridDim.x * 100 + blockDim.y * 10 + v;
}

static int evaluated = 0;
static int once() { return ++evaluated; }

static void show(const char *what, int *d) {
  int h[4];
  cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
  printf("%s %d %d %d %d\n", what, h[0], h[1], h[2], h[3]);
}

int main() {
  int *d;
  P hp[2] = {{1, 2}, {3, 4}}, *p;
  cudaMalloc(&d, 4 * sizeof(int));
  cudaMalloc((void **)&p, sizeof(hp));
  cudaMemcpy(p, hp, sizeof(hp), cudaMemcpyHostToDevice);

  k<<<1, 4>>>(d);
  show("default", d);
  k<<<1, 4>>>(d, once() * 10);
  show("once", d);
  k<<<1, 1>>>(p);
  k<<<1, 1>>>(p + 1, {});
  k<<<dim3(1), dim3{1}, 0, 0>>>(p, NULL);
  k<<<1, 1>>>(p, p + 1);
  cudaMemcpy(hp, p, sizeof(hp), cudaMemcpyDeviceToHost);
  printf("overloads %d %d\n", hp[0].n, hp[1].n);
  geo::scale<int><<<1, 4>>>(d, 2);
  geo::scale<int, (1 << 1)><<<8 >> 3, 4>>>(d, 2);
  ::geo::scale<<<1, 2>>>(d, -1);
  show("templates", d);
  geo::Kernels::apply([=] __device__(int i) { return i * evaluated; }, d);
  show("lambda", d);
  if (evaluated)
    LAUNCH(made, 2, dim3(1, 3), d, 5);
  else
    LAUNCH((k), 1, 4, d);
  show("macros", d);

  void (*chosen)(int *, int) = k;
  chosen<<<1, 4>>>(d, 1);
  show("pointer", d);
  int n = 20;
  void *args[] = {&d, &n};
  cudaLaunchKernel((const void *)made, dim3(4), dim3(1, 2), args, 0, 0);
  show("cudaLaunchKernel", d);
  k<<<1, 2000>>>(d);
  k<<<0, 1>>>(d, 3);
  printf("%s, ", cudaGetErrorName(cudaGetLastError()));
  printf("%s\n", cudaGetErrorString(cudaGetLastError()));
}
// default 7 8 9 10
// once 10 11 12 13
// overloads -1 -1
// templates -560 -616 336 364
// lambda 0 1 2 3
// macros 235 1 2 3
// pointer 1 2 3 4
// cudaLaunchKernel 440 2 3 4
// cudaErrorInvalidConfiguration, no error
