// One access pattern per kernel; layouts.*.ptx are made of this file (README.md).
struct P {
  float x, y, z, w;
};
struct Tile {
  float x[32], y[32];
};
struct Soa {
  float *x, *y;
  int n;
};

extern "C" __global__ void aos(const P *p, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  out[i] = p[i].x * p[i].z;
}

extern "C" __global__ void soa(Soa s, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < s.n)
    out[i] = s.x[i] * s.y[i];
}

extern "C" __global__ void asta(const Tile *t, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = t[i / 32].x[i % 32] * t[i / 32].y[i % 32];
}

extern "C" __global__ void gather(const P *p, const int *index, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int j = index[i];
  if (j >= 0)
    out[i] = p[j].y;
}

extern "C" __global__ void nbody(const P *p, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0;
  for (int j = 0; j < n; ++j)
    s += p[j].x * p[i].y;
  out[i] = s;
}

extern "C" __global__ void rows(const int *start, const int *column, const float *v, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0;
#pragma unroll 1
  for (int k = start[i]; k < start[i + 1]; ++k)
    s += v[column[k]];
  out[i] = s;
}
