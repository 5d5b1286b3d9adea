// Two groups of one kernel move together where neither gains enough alone.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu && printf 'MinSpeedup: 1.25\n' > %t/.restride.yaml
// RUN: cd %t && %restride --check --struct=Uv in.cu -- -std=c++17 -DSIZE=16777216 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: cd %t && %restride --check --struct=Xy in.cu -- -std=c++17 -DSIZE=16777216 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: cd %t && %restride -i in.cu -- -std=c++17 -DSIZE=16777216 2> log
// RUN: FileCheck %s --check-prefix=LOG --input-file=%t/log
// RUN: FileCheck %s --input-file=%t/in.cu
// RUN: %compile-both %t/in.cu
// ALONE: stay as they are
// LOG-DAG: parallel arrays 'u, v' are faster as one array of 'Uv'
// LOG-DAG: parallel arrays 'x, y' are faster as one array of 'Xy'

#include <cstdio>

#ifndef SIZE
#define SIZE 96
#endif

// CHECK: __global__ void mix(const Xy *xy, const Uv *uv, const int *near, const int *far,
__global__ void mix(const float *x, const float *y, const float *u, const float *v, const int *near, const int *far,
                    float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float sum = 0;
  for (int r = 0; r < 8; ++r) {
    int j = near[r * n + i], k = far[r * n + i];
    sum += x[j] * y[j] + u[k] * v[k];
    // CHECK: sum += xy[j].x * xy[j].y + uv[k].u * uv[k].v;
  }
  for (int r = 0; r < 400; ++r)
    sum = sum * 1.0001f + 0.25f;
  out[i] = sum;
}

int main() {
  const int n = SIZE;
  float *x, *y, *out, sum[96];
  float *u, *v;
  int *near, *far;
  cudaMalloc(&x, n / 8 * sizeof(float));
  cudaMalloc(&y, n / 8 * sizeof(float));
  cudaMalloc(&u, n / 16 * sizeof(float));
  cudaMalloc(&v, n / 16 * sizeof(float));
  cudaMalloc(&near, 8 * n * sizeof(int));
  cudaMalloc(&far, 8 * n * sizeof(int));
  cudaMalloc(&out, n * sizeof(float));
  for (int i = 0; i < 96; ++i)
    sum[i] = 0.5f * i;
  cudaMemcpy(x, sum, n / 8 * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(y, sum + 3, n / 8 * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(u, sum + 5, n / 16 * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(v, sum + 7, n / 16 * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemset(near, 0, 8 * n * sizeof(int));
  cudaMemset(far, 0, 8 * n * sizeof(int));
  for (int step = 0; step < 10; ++step)
    mix<<<(n + 255) / 256, 256>>>(x, y, u, v, near, far, out, n);
  cudaMemcpy(sum, out, sizeof(sum), cudaMemcpyDeviceToHost);
  for (int i = 0; i < 96; i += 9)
    printf("%g\n", sum[i]);
}
