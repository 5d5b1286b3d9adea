// Fields in groups: what one kernel uses lies together, in pieces that one instruction loads.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: cd %t && %restride --quiet --layout=grouped in.cu -- -std=c++17 > %t/diff
// RUN: cp %t/in.cu %t/out.cu && %restride --quiet -i --layout=grouped %t/out.cu -- -std=c++17
// RUN: FileCheck %s --input-file=%t/out.cu
// RUN: %compile-both %t/out.cu
// RUN: %restride --check --layout=grouped --quiet %t/out.cu -- -std=c++17

#include <cstdio>

struct Star {
  float x, y, z, mass;
  int name[3];
  double temperature;
};
// CHECK: struct __align__(16) [[G0:StarGroups_g[0-9]]] {
// CHECK-NEXT: float x, y, z, mass;
// CHECK-NEXT: };
// CHECK: struct [[G1:StarGroups_g[0-9]]] {
// CHECK-NEXT: int name[3];
// CHECK-NEXT: };
// CHECK: struct StarGroups {
// CHECK-NEXT: [[G0]] *[[P0:g[0-9]]];
// CHECK-NEXT: [[G1]] *[[P1:g[0-9]]];
// CHECK-NEXT: double *temperature;
// CHECK-NEXT: };

__global__ void pull(Star *s, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  s[i].x += s[i].mass;
  // CHECK: s.[[P0]][i].x += s.[[P0]][i].mass;
  s[i].y -= s[i].z * s[i].mass;
}

__global__ void cool(Star *s, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  s[i].temperature *= 0.5;
  // CHECK: s.temperature[i] *= 0.5;
}

__global__ void rename(Star *s, int n, int k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  s[i].name[k] += i;
  // CHECK: s.[[P1]][i].name[k] += i;
}

int main() {
  const int n = 200;
  Star h[n];
  for (int i = 0; i < n; ++i)
    h[i] = {1.0f * i, 2.0f * i, 3, 0.5f, {i, i + 1, i + 2}, 100.0 * i};
  Star *d;
  cudaMalloc(&d, n * sizeof(Star));
  cudaMemcpy(d, h, sizeof(h), cudaMemcpyHostToDevice);
  pull<<<7, 32>>>(d, n);
  cool<<<7, 32>>>(d, n);
  rename<<<7, 32>>>(d, n, 1);
  cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; i += 13)
    printf("%g %g %g %g %d %d %g\n", h[i].x, h[i].y, h[i].z, h[i].mass, h[i].name[1], h[i].name[2], h[i].temperature);
  cudaFree(d);
}
