// Loops, branches and calls; flow.*.ptx are made of this file (README.md).
extern "C" __global__ void up(float *a, int n) {
  float s = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i)
    s += a[i];
  a[threadIdx.x] = s;
}

extern "C" __global__ void down(float *a) {
  float s = 0;
#pragma unroll 1
  for (int i = 100; i > 0; i -= 4)
    s = s * s + a[i];
  a[threadIdx.x] = s;
}

extern "C" __global__ void nested(float *a, int n, int m) {
  float s = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i)
#pragma unroll 1
    for (int j = 0; j < m; ++j)
#pragma unroll 1
      for (int k = 0; k < 8; ++k)
        s = s * s + a[(i * 200 + j) * 8 + k];
  a[threadIdx.x] = s;
}

extern "C" __global__ void stride(float *a, int n) {
#pragma unroll 1
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    a[i] *= 2;
}

extern "C" __global__ void diverge(float *a) {
  int i = threadIdx.x;
  if (i % 4 == 0)
    a[i] *= 2;
  else
    a[i + 4096] *= 3;
  a[i + 8192] = 1;
}

__device__ __noinline__ float load(const float *p, int i) { return p[i * 2]; }

extern "C" __global__ void calls(const float *a, float *b) {
  b[threadIdx.x] = load(a, threadIdx.x) + load(a, threadIdx.x + 64);
}

extern "C" __global__ void choose(int *p, int m) {
  int i = threadIdx.x, r = 0;
  switch (m) {
  case 0:
    r = p[i];
    break;
  case 1:
    r = p[i * 2] + 3;
    break;
  case 2:
    r = p[i + 5] * 7;
    break;
  case 3:
    r = p[i / 3];
    break;
  case 4:
    r = p[i % 7];
    break;
  case 5:
    r = p[9];
    break;
  }
  p[i] = r;
}

extern "C" __global__ void depot(const float *a, const float *b, const float *c, float *out, int k) {
  const float *from[3] = {a, b, c};
  __shared__ int order[64];
  order[threadIdx.x] = 63 - threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = from[k][order[threadIdx.x]];
}

extern "C" __global__ void warp(float *a, int *count) {
  int i = threadIdx.x, v = __shfl_down_sync(~0u, i, 1);
  unsigned even = __ballot_sync(~0u, i % 2 == 0);
  a[v] = __popc(even & ((1u << (i & 31)) - 1));
  if (a[i] > 0)
    a[atomicAdd(count, 1)] = 0;
}
