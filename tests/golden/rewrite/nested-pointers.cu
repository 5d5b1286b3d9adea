// Parallel arrays in a struct that is a member of another.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: cd %t && cp in.cu out.cu && %restride -i --quiet --layout=aos-align16 --struct=Vxy out.cu -- -std=c++17
// RUN: FileCheck %s --input-file=out.cu
// RUN: %compile-both %t/out.cu
// RUN: %restride --check --quiet --layout=aos-align16 --struct=Vxy %t/out.cu -- -std=c++17

#include <cstdio>

struct Fields {
  double *vx, *vy;
  // CHECK: Vxy *vxy;
  int n;
};
struct World {
  int step;
  Fields f;
};

__global__ void gather(World w, const int *next, double *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= w.f.n)
    return;
  int j = next[i];
  out[i] = w.f.vx[j] * w.f.vy[j] + w.step;
  // CHECK: out[i] = w.f.vxy[j].vx * w.f.vxy[j].vy + w.step;
}

int main() {
  const int n = 200;
  double h_x[n], h_y[n], sum[n];
  int next[n];
  for (int i = 0; i < n; ++i)
    h_x[i] = i, h_y[i] = 0.5 * i, next[i] = i * 7 % n;
  int *d_next;
  double *out;
  cudaMalloc(&d_next, (n + 1) * sizeof(int));
  cudaMalloc(&out, 2 * n * sizeof(double));
  cudaMemcpy(d_next, next, sizeof(next), cudaMemcpyHostToDevice);
  World w;
  w.step = 1;
  w.f.n = n;
  cudaMalloc(&w.f.vx, n * sizeof(double));
  w.f.n = n;
  cudaMalloc(&w.f.vy, n * sizeof(double));
  // CHECK: cudaMalloc(&w.f.vxy, n * sizeof(Vxy));
  cudaMemcpy(w.f.vx, h_x, n * sizeof(double), cudaMemcpyHostToDevice);
  // CHECK: Vxy_memcpy(w.f.vxy, &Vxy::vx, h_x, n * sizeof(double), cudaMemcpyHostToDevice);
  cudaMemcpy(w.f.vy, h_y, n * sizeof(double), cudaMemcpyHostToDevice);
  gather<<<(n + 31) / 32, 32>>>(w, d_next, out);
  cudaMemcpy(sum, out, sizeof(sum), cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; i += 17)
    printf("%g\n", sum[i]);
  cudaFree(w.f.vx);
  cudaFree(w.f.vy);
  // CHECK: cudaFree(w.f.vxy);
}
