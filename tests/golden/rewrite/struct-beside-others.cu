// Some of a struct's pointers are parallel arrays, beside other arrays of their length that the struct does not hold.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: cd %t && cp in.cu out.cu && %restride -i --quiet --layout=aos-align16 --struct=OrderOut --struct=LeftRight out.cu -- -std=c++17
// RUN: FileCheck %s --input-file=out.cu
// RUN: %compile-both %t/out.cu

#include <cstdio>

struct Columns {
  short *kind;
  float *left;
  int length;
  float *right;
  // CHECK: short *kind;
  // CHECK-NEXT: LeftRight *left_right;
  // CHECK-NEXT: int length;
  // CHECK-NEXT: };
};

// Names that share a letter share no word: "order" and "out".
__global__ void gather(Columns c, const int *order, int *out) {
  // CHECK: __global__ void gather(Columns c, OrderOut *order_out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= c.length)
    return;
  int j = order[i];
  out[i] = c.kind[i] + (int)(c.left[j] * c.right[j]);
  // CHECK: order_out[i].out = c.kind[i] + (int)(c.left_right[j].left * c.left_right[j].right);
}

int main() {
  const int n = 200;
  short h_kind[n];
  float h_left[n], h_right[n];
  int h_order[n], h_out[n];
  for (int i = 0; i < n; ++i)
    h_kind[i] = i % 5, h_left[i] = i, h_right[i] = 0.5f * i, h_order[i] = i * 7 % n;
  short *d_kind;
  float *d_left, *d_right;
  int *d_order, *d_out;
  cudaMalloc(&d_kind, n * sizeof(short));
  cudaMalloc(&d_left, n * sizeof(float));
  cudaMalloc(&d_right, n * sizeof(float));
  cudaMalloc(&d_order, n * sizeof(int));
  cudaMalloc(&d_out, n * sizeof(int));
  cudaMemcpy(d_kind, h_kind, sizeof(h_kind), cudaMemcpyHostToDevice);
  cudaMemcpy(d_left, h_left, sizeof(h_left), cudaMemcpyHostToDevice);
  cudaMemcpy(d_right, h_right, sizeof(h_right), cudaMemcpyHostToDevice);
  cudaMemcpy(d_order, h_order, sizeof(h_order), cudaMemcpyHostToDevice);
  Columns c;
  c.left = d_left;
  c.kind = d_kind;
  c.length = n;
  c.right = d_right;
  // CHECK: Columns c;
  // CHECK-NEXT: c.left_right = d_left_right;
  // CHECK-NEXT: c.kind = d_kind;
  // CHECK-NEXT: c.length = n;
  // CHECK-NEXT: gather<<<(n + 31) / 32, 32>>>(c, d_order_out);
  gather<<<(n + 31) / 32, 32>>>(c, d_order, d_out);
  cudaMemcpy(h_out, d_out, sizeof(h_out), cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; i += 17)
    printf("%d\n", h_out[i]);
  cudaFree(d_kind);
  cudaFree(d_left);
  cudaFree(d_right);
  cudaFree(d_order);
  cudaFree(d_out);
}
