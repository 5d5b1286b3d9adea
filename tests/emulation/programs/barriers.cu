// Shared memory and barriers of a block.
#include <cstdio>

__global__ void reverse(int *p, int *sum) {
  extern __shared__ int copy[];
  __shared__ int total;
  int i = threadIdx.x, n = blockDim.x, first = blockIdx.x * n;
  if (i == 0)
    total = 0;
  copy[i] = p[first + i];
  __syncthreads();
  p[first + i] = copy[n - 1 - i];
  atomicAdd(&total, copy[i]);
  __syncthreads();
  sum[first + i] = total;
}

// A tree of sums, with a barrier in a loop and an array of type T.
template <typename T, int N> __global__ void reduce(const T *in, T *out) {
  __shared__ T part[N];
  unsigned t = threadIdx.y * blockDim.x + threadIdx.x;
  part[t] = in[t];
  for (unsigned half = N / 2; half > 0; half /= 2) {
    __syncthreads();
    if (t < half)
      part[t] += part[t + half];
  }
  if (t == 0)
    *out = part[0];
}

// Threads that have ended are not waited for.
__global__ void votes(int *out) {
  int i = threadIdx.x;
  if (i >= 40)
    return;
  int count = __syncthreads_count(i % 4 == 0), all = __syncthreads_and(i < 40), any = __syncthreads_or(i > 40);
  if (i == 39)
    out[0] = count, out[1] = all, out[2] = any;
}

int main() {
  const int n = 96, blocks = 2;
  int h[n * blocks], *d, *sum;
  for (int i = 0; i < n * blocks; ++i)
    h[i] = i;
  cudaMalloc(&d, sizeof(h));
  cudaMalloc(&sum, sizeof(h));
  cudaMemcpy(d, h, sizeof(h), cudaMemcpyHostToDevice);
  reverse<<<blocks, n, n * sizeof(int)>>>(d, sum);
  cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
  printf("%d %d %d %d\n", h[0], h[95], h[96], h[191]);
  cudaMemcpy(h, sum, sizeof(h), cudaMemcpyDeviceToHost);
  printf("%d %d %d\n", h[0], h[95], h[96]);

  double hd[64], *dd;
  for (int i = 0; i < 64; ++i)
    hd[i] = i + 0.5;
  cudaMalloc(&dd, sizeof(hd));
  cudaMemcpy(dd, hd, sizeof(hd), cudaMemcpyHostToDevice);
  reduce<double, 64><<<1, dim3(8, 8)>>>(dd, dd + 1);
  cudaMemcpy(hd, dd, sizeof(hd), cudaMemcpyDeviceToHost);
  printf("%g\n", hd[1]);

  votes<<<1, 64>>>(d);
  cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
  printf("%d %d %d\n", h[0], h[1], h[2]);
}
// 95 0 191 96
// 4560 4560 13776
// 2048
// 10 1 0
