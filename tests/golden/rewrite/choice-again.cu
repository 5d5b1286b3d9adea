// An array that was decided beside a slower one is looked at once more when that one has moved: half of Small's bytes
// are a trifle beside Wide's, and a twelfth of what is left.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: cd %t && %restride --check --struct=Small in.cu -- -std=c++17 -DSIZE=4194304 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: cd %t && %restride -i in.cu -- -std=c++17 -DSIZE=4194304 2> log
// RUN: FileCheck %s --check-prefix=LOG --input-file=%t/log
// RUN: FileCheck %s --input-file=%t/in.cu
// RUN: %compile-both %t/in.cu
// RUN: cd %t && %restride --check --quiet in.cu -- -std=c++17 -DSIZE=4194304
// ALONE: array of 'Small' ('s') stays as it is
// LOG-DAG: array of 'Small' ('s') is faster as soa
// LOG-DAG: array of 'Wide' ('w') is faster as soa

#include <cstdio>

#ifndef SIZE
#define SIZE 96
#endif

struct Small {
  short x, y;
};

struct Wide {
  float value, rest[31];
};

// CHECK: __global__ void add(SmallSoA s, WideSoA w, float *out, int n) {
__global__ void add(const Small *s, const Wide *w, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = s[i].x + w[i].value * w[i].rest[20] + w[i].rest[9] * w[i].rest[30];
}

int main() {
  const int n = SIZE;
  Small *s;
  Wide *w;
  float *out, sum[96];
  cudaMalloc(&s, n * sizeof(Small));
  cudaMalloc(&w, n * sizeof(Wide));
  cudaMalloc(&out, n * sizeof(float));
  cudaMemset(s, 0x3f, n * sizeof(Small));
  cudaMemset(w, 0x3e, n * sizeof(Wide));
  for (int step = 0; step < 100; ++step)
    add<<<(n + 255) / 256, 256>>>(s, w, out, n);
  cudaMemcpy(sum, out, sizeof(sum), cudaMemcpyDeviceToHost);
  for (int i = 0; i < 96; i += 9)
    printf("%g\n", sum[i]);
  cudaFree(s);
  cudaFree(w);
  cudaFree(out);
}
