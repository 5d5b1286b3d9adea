// Records flattened into an array of numbers are no candidate: nothing is said of one such array. Two of them are
// parallel arrays of numbers like any others, where number k goes with number k.
// RUN: %restride --list %s -- -std=c++17 2>&1 | FileCheck %s
// RUN: %restride --list %s -- -std=c++17 2>&1 | not grep "'d_pos'\|'d_one'"
// CHECK: remark: parallel arrays 'd_pos, d_vel' can be one array of 'PosVel
// CHECK-NOT: remark

__global__ void move(float *pos, const float *vel, int n, float dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    for (int c = 0; c < 3; ++c)
      pos[3 * i + c] += dt * vel[3 * i + c];
}

__global__ void length(const double *p, double *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = p[4 * i] * p[4 * i] + p[4 * i + 1] * p[4 * i + 1];
}

int main() {
  const int n = 4096;
  float *d_pos, *d_vel;
  double *d_one, *d_out;
  cudaMalloc(&d_pos, 3 * n * sizeof(float));
  cudaMalloc(&d_vel, 3 * n * sizeof(float));
  cudaMalloc(&d_one, 4 * n * sizeof(double));
  cudaMalloc(&d_out, n * sizeof(double));
  move<<<n / 256, 256>>>(d_pos, d_vel, n, 0.5f);
  length<<<n / 256, 256>>>(d_one, d_out, n);
  cudaFree(d_pos);
  cudaFree(d_vel);
  cudaFree(d_one);
  cudaFree(d_out);
}
