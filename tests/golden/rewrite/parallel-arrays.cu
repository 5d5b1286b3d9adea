// Arrays of numbers beside each other become one array of structs, and its record takes every layout.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: cd %t && %restride --quiet --layout=aos-align16 --struct=Xyz in.cu -- -std=c++17 > %t/diff
// RUN: cp in.cu aligned.cu && %restride -i --quiet --layout=aos-align16 --struct=Xyz aligned.cu -- -std=c++17
// RUN: cp in.cu soa.cu && %restride -i --quiet --layout=soa --struct=Xyz soa.cu -- -std=c++17
// RUN: cp in.cu tiles.cu && %restride -i --quiet --layout=asta32 --struct=Xyz tiles.cu -- -std=c++17
// RUN: FileCheck %s --check-prefix=ALIGNED --input-file=aligned.cu
// RUN: FileCheck %s --check-prefix=SOA --input-file=soa.cu
// RUN: FileCheck %s --check-prefix=TILE --input-file=tiles.cu
// RUN: %compile-both %t/aligned.cu %t/soa.cu %t/tiles.cu
// RUN: cd %t && %restride --check --quiet --layout=aos-align16 aligned.cu -- -std=c++17
// RUN: cd %t && %restride --check --quiet --layout=soa soa.cu -- -std=c++17
// RUN: cd %t && %restride --check --quiet --layout=asta32 tiles.cu -- -std=c++17

#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                                                    \
  do {                                                                                                                 \
    cudaError_t e = (call);                                                                                            \
    if (e != cudaSuccess) {                                                                                            \
      printf("%s\n", cudaGetErrorString(e));                                                                           \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

// ALIGNED: // One element of the arrays x, y and z.
// ALIGNED-NEXT: struct __align__(16) Xyz {
// ALIGNED-NEXT:   float x, y;
// ALIGNED-NEXT:   double z;
// ALIGNED-NEXT: };
// SOA: struct Xyz {
// SOA: struct XyzSoA {
// SOA-NEXT:   float *x, *y;
// SOA-NEXT:   double *z;
// SOA-NOT: Xyz_put
// TILE: struct XyzTile32 {
// TILE: XyzTile32_memcpy(XyzTile32 *p,

__device__ float length2(const float *x, const float *y, int i) { return x[i] * x[i] + y[i] * y[i]; }
// ALIGNED: float length2(const Xyz *xy, int i) { return xy[i].x * xy[i].x + xy[i].y * xy[i].y; }
// SOA: float length2(XyzSoA xy, int i) { return xy.x[i] * xy.x[i] + xy.y[i] * xy.y[i]; }

__global__ void gather(const float *x, const float *y, const int *next, double *z, float *sum, int n) {
  // ALIGNED: gather(Xyz *xyz, const int *next, float *sum, int n) {
  // SOA: gather(XyzSoA xyz, const int *next, float *sum, int n) {
  // TILE: gather(XyzTile32 *xyz, const int *next, float *sum, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int j = next[i];
  sum[i] = x[j] + y[j] + length2(x, y, j); // of a neighbour
  // ALIGNED: sum[i] = xyz[j].x + xyz[j].y + length2(xyz, j); // of a neighbour
  // SOA: sum[i] = xyz.x[j] + xyz.y[j] + length2(xyz, j); // of a neighbour
  // TILE: sum[i] = xyz[j >> 5].x[j & 31] + xyz[j >> 5].y[j & 31] + length2(xyz, j); // of a neighbour
  atomicAdd(&z[j], 1.0);
  // ALIGNED: atomicAdd(&xyz[j].z, 1.0);
  *(z + j) += x[i];
  // ALIGNED: xyz[j].z += xyz[i].x;
}

int main() {
  const int n = 100;
  float h_x[n], h_y[n], sum[n];
  double h_z[n];
  int next[n];
  for (int i = 0; i < n; ++i) {
    h_x[i] = i, h_y[i] = 2 * i, h_z[i] = 0.5 * i;
    next[i] = (i * 7 + 3) % n;
  }
  float *d_x, *d_y, *d_sum;
  double *d_z;
  // ALIGNED:      float *d_sum;
  // ALIGNED-NEXT: Xyz *d_xyz;
  // ALIGNED-NEXT: int *d_next;
  int *d_next;
  CHECK(cudaMalloc(&d_x, n * sizeof(float)));
  CHECK(cudaMalloc(&d_y, n * sizeof(float)));
  CHECK(cudaMalloc(&d_z, n * sizeof(double)));
  // ALIGNED-NEXT: CHECK(cudaMalloc(&d_xyz, n * sizeof(Xyz)));
  // ALIGNED-NEXT: CHECK(cudaMalloc((void **)&d_next
  // SOA: CHECK(XyzSoA_malloc(&d_xyz, n * sizeof(Xyz)));
  CHECK(cudaMalloc((void **)&d_next, (n + 1) * sizeof(int)));
  CHECK(cudaMalloc(&d_sum, 2 * n * sizeof(float)));
  CHECK(cudaMemcpy(d_x, h_x, sizeof(h_x), cudaMemcpyHostToDevice));
  // ALIGNED: CHECK(Xyz_memcpy(d_xyz, &Xyz::x, h_x, sizeof(h_x), cudaMemcpyHostToDevice));
  // SOA: CHECK(cudaMemcpy(d_xyz.x, h_x, sizeof(h_x), cudaMemcpyHostToDevice));
  // TILE: CHECK(XyzTile32_memcpy(d_xyz, 0, &XyzTile32::x, h_x, sizeof(h_x), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(d_y, h_y, 10 * sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(d_y + 10, h_y + 10, (n - 10) * sizeof(float), cudaMemcpyHostToDevice));
  // ALIGNED: CHECK(Xyz_memcpy(d_xyz + 10, &Xyz::y, h_y + 10, (n - 10) * sizeof(float), cudaMemcpyHostToDevice));
  // SOA: CHECK(cudaMemcpy(d_xyz.y + 10, h_y + 10, (n - 10) * sizeof(float), cudaMemcpyHostToDevice));
  // TILE: CHECK(XyzTile32_memcpy(d_xyz, 10, &XyzTile32::y, h_y + 10,
  CHECK(cudaMemset(d_z, 0, n * sizeof(double)));
  // ALIGNED: CHECK(Xyz_memset(d_xyz, &Xyz::z, 0, n * sizeof(double)));
  // SOA: CHECK(cudaMemset(d_xyz.z, 0, n * sizeof(double)));
  CHECK(cudaMemcpy(d_next, next, sizeof(next), cudaMemcpyHostToDevice));
  gather<<<(n + 31) / 32, 32>>>(d_x, d_y, d_next, d_z, d_sum, n);
  // ALIGNED: gather<<<(n + 31) / 32, 32>>>(d_xyz, d_next, d_sum, n);
  CHECK(cudaMemcpy(h_z, d_z, sizeof(h_z), cudaMemcpyDeviceToHost));
  // ALIGNED: CHECK(Xyz_memcpy(h_z, d_xyz, &Xyz::z, sizeof(h_z), cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(sum, d_sum, sizeof(sum), cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; i += 9)
    printf("%g %g\n", sum[i], h_z[i]);
  cudaFree(d_x);
  cudaFree(d_y);
  cudaFree(d_z);
  // ALIGNED: {{^}}  cudaFree(d_xyz);
  // ALIGNED-NEXT: cudaFree(d_next);
  // SOA: {{^}}  XyzSoA_free(d_xyz);
  cudaFree(d_next);
  cudaFree(d_sum);
}
