// Parallel arrays that are gathered move without being asked; those that are coalesced stay.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: cd %t && %restride -i in.cu -- -std=c++17 2> log
// RUN: FileCheck %s --input-file=%t/in.cu
// RUN: FileCheck %s --check-prefix=LOG --input-file=%t/log
// RUN: %compile-both %t/in.cu
// LOG: remark: parallel arrays 'd_x, d_y, d_z' are faster as one array of 'Xyz' in {{[a-z0-9-]+}}: predicted
// LOG-NOT: become
// LOG-NOT: are faster

#include <cstdio>
#include <cstdlib>

// CHECK: struct {{.*}}Xyz {
// CHECK-NEXT:   double x, y, z;
// CHECK-NEXT: };
// CHECK-EMPTY:

// CHECK: collect(const Xyz *xyz, const int *corners, double *sum, int n)
__global__ void collect(const double *x, const double *y, const double *z, const int *corners, double *sum, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  double s = 0;
  for (int k = 0; k < 8; ++k) {
    int j = corners[k * n + i];
    s += x[j] + 2 * y[j] + 3 * z[j];
    // CHECK: s += xyz[j].x + 2 * xyz[j].y + 3 * xyz[j].z;
  }
  sum[i] = s;
}

__global__ void add(const float *a, const float *b, float *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    c[i] = a[i] + b[i];
  // CHECK: c[i] = a[i] + b[i];
}

int main(int argc, char **argv) {
  int n = atoi(argc > 1 ? argv[1] : "96");
  double *h = new double[n], *d_x, *d_y, *d_z, *d_sum;
  int *corners = new int[8 * n], *d_corners;
  float *f = new float[n], *d_a, *d_b, *d_c;
  for (int i = 0; i < n; ++i)
    h[i] = i, f[i] = i;
  for (int i = 0; i < 8 * n; ++i)
    corners[i] = rand() % n;
  cudaMalloc(&d_x, n * sizeof(double));
  cudaMalloc(&d_y, n * sizeof(double));
  cudaMalloc(&d_z, n * sizeof(double));
  cudaMalloc(&d_sum, n * sizeof(double));
  cudaMalloc(&d_corners, 8 * n * sizeof(int));
  cudaMalloc(&d_a, n * sizeof(float));
  cudaMalloc(&d_b, n * sizeof(float));
  cudaMalloc(&d_c, n * sizeof(float));
  cudaMemcpy(d_x, h, n * sizeof(double), cudaMemcpyHostToDevice);
  cudaMemcpy(d_y, h, n * sizeof(double), cudaMemcpyHostToDevice);
  cudaMemcpy(d_z, h, n * sizeof(double), cudaMemcpyHostToDevice);
  cudaMemcpy(d_a, f, n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(d_b, f, n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(d_corners, corners, 8 * n * sizeof(int), cudaMemcpyHostToDevice);
  for (int step = 0; step < 30; ++step)
    collect<<<(n + 31) / 32, 32>>>(d_x, d_y, d_z, d_corners, d_sum, n);
  add<<<(n + 31) / 32, 32>>>(d_a, d_b, d_c, n);
  cudaMemcpy(h, d_sum, n * sizeof(double), cudaMemcpyDeviceToHost);
  cudaMemcpy(f, d_c, n * sizeof(float), cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; i += 7)
    printf("%g %g\n", h[i], f[i]);
  cudaFree(d_x);
  cudaFree(d_y);
  cudaFree(d_z);
  cudaFree(d_sum);
  cudaFree(d_corners);
  cudaFree(d_a);
  cudaFree(d_b);
  cudaFree(d_c);
}
