// Arrays that several files use: the record stands in the header that all of them read first.
// RUN: rm -rf %t %t.soa %t.none && split-file %s %t && mkdir %t/.git && cp -r %t %t.soa && cp -r %t %t.none
// RUN: cd %t && %restride -i --quiet --layout=aos-align16 --struct=Xyz main.cu kernels.cu -- -std=c++17
// RUN: FileCheck %s --check-prefix=HEADER --input-file=%t/gather.h
// RUN: FileCheck %s --check-prefix=BODY --input-file=%t/bodies.cuh
// RUN: FileCheck %s --check-prefix=KERNELS --input-file=%t/kernels.cu
// RUN: FileCheck %s --check-prefix=MAIN --input-file=%t/main.cu
// RUN: %compile-both -I%t %t/main.cu %t/kernels.cu
// RUN: cd %t && %restride --check --quiet --layout=aos-align16 --struct=Xyz main.cu kernels.cu -- -std=c++17
// RUN: cd %t.soa && %restride -i --quiet --layout=soa --struct=Xyz main.cu kernels.cu -- -std=c++17
// RUN: %compile-both -I%t.soa %t.soa/main.cu %t.soa/kernels.cu
// RUN: cd %t.soa && %restride --check --quiet --layout=soa --struct=Xyz main.cu kernels.cu -- -std=c++17

// Without that header there is no such place.
// RUN: cd %t.none && sed -i '/gather.h/d' main.cu && sed -i 's/^int main/void gather(const float *, const float *, const float *, const int *, float *, int);\nint main/' main.cu
// RUN: %restride --list main.cu kernels.cu -- -std=c++17 | FileCheck %s --check-prefix=NONE
// NONE: refused: the arrays are used in several files, and none of these is read before the others; declare what takes the arrays in one header

// HEADER:      #ifndef GATHER_H
// HEADER-NEXT: #define GATHER_H
// HEADER-EMPTY:
// HEADER-NEXT: // One element of the arrays x, y and z.
// HEADER-NEXT: struct __align__(16) Xyz {
// HEADER-NEXT:   float x, y, z;
// HEADER-NEXT: };
// HEADER:      Xyz_memcpy(
// HEADER:      // The sum of n elements, each found by its number.
// HEADER-NEXT: void gather(const Xyz *xyz, const int *list, float *out, int n);

// BODY: __device__ inline float norm(const Xyz *xyz, int i) { return xyz[i].x * xyz[i].x + xyz[i].y * xyz[i].y + xyz[i].z * xyz[i].z; }

// KERNELS: __global__ void sum(const Xyz *xyz, const int *list, float *out, int n) {
// KERNELS: out[i] = norm(xyz, list[i]);
// KERNELS: void gather(const Xyz *xyz, const int *list, float *out, int n) {
// KERNELS: sum<<<(n + 63) / 64, 64>>>(xyz, list, out, n);

// MAIN: Xyz *xyz
// MAIN: cudaMalloc(&xyz, n * sizeof(Xyz));
// MAIN: Xyz_memcpy(xyz, &Xyz::x, h.data(), n * sizeof(float), cudaMemcpyHostToDevice);
// MAIN: gather(xyz, list, out, n);
// MAIN: cudaFree(xyz);

//--- gather.h
#ifndef GATHER_H
#define GATHER_H

// The sum of n elements, each found by its number.
void gather(const float *x, const float *y, const float *z, const int *list, float *out, int n);

#endif

//--- bodies.cuh
#pragma once

__device__ inline float norm(const float *x, const float *y, const float *z, int i) { return x[i] * x[i] + y[i] * y[i] + z[i] * z[i]; }

//--- kernels.cu
#include "gather.h"
#include "bodies.cuh"

__global__ void sum(const float *x, const float *y, const float *z, const int *list, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = norm(x, y, z, list[i]);
}

void gather(const float *x, const float *y, const float *z, const int *list, float *out, int n) {
  sum<<<(n + 63) / 64, 64>>>(x, y, z, list, out, n);
}

//--- main.cu
#include "gather.h"
#include <cstdio>
#include <vector>

int main() {
  const int n = 1000;
  std::vector<float> h(n);
  std::vector<int> l(n);
  for (int i = 0; i < n; ++i) {
    h[i] = i % 17;
    l[i] = i * 7 % n;
  }
  float *x, *y, *z, *out;
  int *list;
  cudaMalloc(&x, n * sizeof(float));
  cudaMalloc(&y, n * sizeof(float));
  cudaMalloc(&z, n * sizeof(float));
  cudaMalloc(&out, n * sizeof(float));
  cudaMalloc(&list, n * sizeof(int));
  cudaMemcpy(x, h.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(y, h.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(z, h.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(list, l.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  gather(x, y, z, list, out, n);
  cudaMemcpy(h.data(), out, n * sizeof(float), cudaMemcpyDeviceToHost);
  float sum = 0;
  for (float f : h)
    sum += f;
  printf("%g\n", sum);
  cudaFree(x);
  cudaFree(y);
  cudaFree(z);
  cudaFree(out);
  cudaFree(list);
}
