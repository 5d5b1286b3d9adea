// Records in a namespace without a name, in each other: nothing generated can say its name.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --input-file=%t/out/Body/soa/in.cu
// RUN: %compile-both %t/out/Body/soa/in.cu %t/out/Body/asta32/in.cu %t/out/Body/aos-align16/in.cu
// CHECK-NOT: (anonymous
#include <cstdio>
#include <vector>

namespace {

struct Vec3 {
  float x, y, z;
};

struct Body {
  Vec3 at;
  Vec3 history[40];
  float mass;
  __device__ Vec3 scaled(float s) const { return {at.x * s, at.y * s, at.z * s}; }
};

// CHECK: __global__ void step(BodySoA b, int n) {
__global__ void step(Body *b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  b[i].history[i % 40] = b[i].at;
  b[i].at = b[i].scaled(b[i].mass);
}

} // namespace

int main() {
  const int n = 4096;
  Body *b;
  cudaMalloc(&b, n * sizeof(Body));
  std::vector<Body> host(n);
  for (int i = 0; i < n; ++i)
    host[i].at = {float(i % 7), 1, 2}, host[i].mass = i % 3;
  cudaMemcpy(b, host.data(), n * sizeof(Body), cudaMemcpyHostToDevice);
  step<<<n / 256, 256>>>(b, n);
  cudaMemcpy(host.data(), b, n * sizeof(Body), cudaMemcpyDeviceToHost);
  float sum = 0;
  for (int i = 0; i < n; ++i)
    sum += host[i].at.x + host[i].history[i % 40].y;
  std::printf("%g\n", sum);
  cudaFree(b);
}
