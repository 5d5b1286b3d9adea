// Lines are short here, and names long: the comment above generated code stays one line, so that it is known again.
// Text that the preprocessor leaves out elsewhere has variables of the same names, and calls nothing that changes.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: cd %t && printf 'BasedOnStyle: LLVM\nColumnLimit: 60\n' > .clang-format
// RUN: cd %t && %restride -i --quiet --layout=aos-align16 in.cu -- -std=c++17
// RUN: FileCheck %s --input-file=%t/in.cu
// RUN: %compile-both %t/in.cu
// RUN: cd %t && %restride --check --quiet --layout=aos-align16 in.cu -- -std=c++17

#include <cstdio>

// No generated name begins like this one, which is not in the way.
struct ParticleXYplane;

// CHECK: // restride: one field of an array of ParticleXY from and to an array of its own.
__global__ void advance(float *particleX, float *particleY, const int *order, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    particleX[order[i]] += 1;
    particleY[order[i]] *= 2;
  }
}

void debug() {
#ifdef WITH_DEBUG
  float d_particleX = 1, particleX = 2;
  printf("%g %g\n", d_particleX, particleX);
#endif
}

int main() {
  const int n = 64;
  float x[n], y[n];
  int order[n];
  for (int i = 0; i < n; ++i)
    x[i] = i, y[i] = 3 * i, order[i] = (i * 5 + 1) % n;
  float *d_particleX, *d_particleY;
  int *d_order;
  // CHECK: cudaMalloc(&d_particleXY, n * sizeof(ParticleXY));
  cudaMalloc(&d_particleX, n * sizeof(float));
  cudaMalloc(&d_particleY, n * sizeof(float));
  cudaMalloc(&d_order, n * sizeof(int));
  cudaMemcpy(d_particleX, x, sizeof(x), cudaMemcpyHostToDevice);
  cudaMemcpy(d_particleY, y, sizeof(y), cudaMemcpyHostToDevice);
  cudaMemcpy(d_order, order, sizeof(order), cudaMemcpyHostToDevice);
  // CHECK: advance<<<2, 32>>>(d_particleXY, d_order, n);
  advance<<<2, 32>>>(d_particleX, d_particleY, d_order, n);
  cudaMemcpy(x, d_particleX, sizeof(x), cudaMemcpyDeviceToHost);
  cudaMemcpy(y, d_particleY, sizeof(y), cudaMemcpyDeviceToHost);
  debug();
  for (int i = 0; i < n; i += 9)
    printf("%g %g\n", x[i], y[i]);
  cudaFree(d_particleX);
  cudaFree(d_particleY);
  cudaFree(d_order);
}
