// Parallel arrays with uses that are no uses of a field are refused where somebody asks for a layout. Where all
// accesses are coalesced nothing is said unasked.
// RUN: %restride --quiet --layout=soa %s -- -std=c++17 2>&1 | count 0
// RUN: %restride --layout=soa %s -- -std=c++17 2>&1 | FileCheck %s
// RUN: %restride %s -- -std=c++17 2>&1 | FileCheck %s --check-prefix=UNASKED --allow-empty
// UNASKED-NOT: 'd_u, d_v'

// CHECK: remark: parallel arrays 'd_color, d_id' are left alone
// CHECK-NEXT: parallel.cu:{{[0-9]+}}:3: note: soa refused: 'color' is copied by itself, and this layout takes it apart
// CHECK: remark: parallel arrays 'd_x, d_y' are left alone
// CHECK: parallel.cu:[[@LINE+5]]:{{[0-9]+}}: note: refused: the pointer is cast to 'const float4 *'
__global__ void wide(const float *x, const float *y, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n / 4)
    return;
  float4 a = reinterpret_cast<const float4 *>(x)[i];
  reinterpret_cast<float4 *>(out)[i] = a;
}

__global__ void narrow(const float *x, const float *y, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = x[i] + y[i];
}

// CHECK: remark: parallel arrays 'd_u, d_v' are left alone
// CHECK: parallel.cu:[[@LINE+15]]:{{[0-9]+}}: note: refused: 'plus' is used in text that the preprocessor leaves out here
__global__ void plus(const double *u, double *v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    v[i] += u[i];
}

__global__ void shade(const float3 *color, int *id, const int *list, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    id[list[i]] += color[list[i]].x + color[list[i]].z > 1;
}

void other(double *some, double *more, int n) {
#ifdef WITH_DEBUG
  plus<<<1, 32>>>(some, more, n);
#endif
}

int main() {
  const int n = 4096;
  float *d_x, *d_y, *d_out;
  double *d_u, *d_v;
  cudaMalloc(&d_x, n * sizeof(float));
  cudaMalloc(&d_y, n * sizeof(float));
  cudaMalloc(&d_out, 2 * n * sizeof(float));
  cudaMalloc(&d_u, n * sizeof(double));
  cudaMalloc(&d_v, n * sizeof(double));
  const int m = 777;
  float3 h[m] = {};
  float3 *d_color;
  int *d_id, *d_list;
  cudaMalloc(&d_color, m * sizeof(float3));
  cudaMalloc(&d_id, m * sizeof(int));
  cudaMemcpy(d_color, h, sizeof(h), cudaMemcpyHostToDevice);
  cudaMalloc(&d_list, 10 * m * sizeof(int));
  shade<<<4, 256>>>(d_color, d_id, d_list, m);
  wide<<<n / 4 / 256, 256>>>(d_x, d_y, d_out, n);
  narrow<<<n / 256, 256>>>(d_x, d_y, d_out, n);
  plus<<<n / 256, 256>>>(d_u, d_v, n);
  cudaFree(d_color);
  cudaFree(d_id);
  cudaFree(d_list);
  cudaFree(d_x);
  cudaFree(d_y);
  cudaFree(d_out);
  cudaFree(d_u);
  cudaFree(d_v);
}
