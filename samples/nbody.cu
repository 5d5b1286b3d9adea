// All-pairs gravity with two buffers that swap roles after each step.
//
// Every thread walks the whole array in step with the others, so a load serves
// the warp at once. What counts is how few instructions fetch the four fields
// that the loop reads; the velocities are only touched once per thread.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

#define CUDA_CHECK(expr)                                                                                               \
  {                                                                                                                    \
    cudaError_t e = expr;                                                                                              \
    if (e != cudaSuccess) {                                                                                            \
      fprintf(stderr, "%s failed: %s (%s:%d)\n", #expr, cudaGetErrorString(e), __FILE__, __LINE__);                    \
      exit(EXIT_FAILURE);                                                                                              \
    }                                                                                                                  \
  }

struct Body {
  float x, y, z;
  float mass;
  float vx, vy, vz;
};

const int BLOCK = 128;
const float SOFTENING = 1e-3f;

__global__ void integrate(const Body *in, Body *out, int n, float dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  Body me = in[i];
  float ax = 0, ay = 0, az = 0;
  for (int j = 0; j < n; ++j) {
    float dx = in[j].x - me.x;
    float dy = in[j].y - me.y;
    float dz = in[j].z - me.z;
    float inv = rsqrtf(dx * dx + dy * dy + dz * dz + SOFTENING);
    float s = in[j].mass * inv * inv * inv;
    ax += s * dx;
    ay += s * dy;
    az += s * dz;
  }
  me.vx += ax * dt;
  me.vy += ay * dt;
  me.vz += az * dt;
  me.x += me.vx * dt;
  me.y += me.vy * dt;
  me.z += me.vz * dt;
  out[i] = me;
}

// Pseudo-random number in [-1, 1) for a counter.
static float noise(unsigned k) {
  k = (k ^ 61) ^ (k >> 16);
  k *= 9;
  k ^= k >> 4;
  k *= 0x27d4eb2d;
  k ^= k >> 15;
  return (int)k / 2147483648.0f;
}

// The velocity that one step gives to body i, in double precision.
static void reference(const Body *in, int n, int i, double dt, double v[3]) {
  double a[3] = {0, 0, 0};
  for (int j = 0; j < n; ++j) {
    double dx = in[j].x - in[i].x, dy = in[j].y - in[i].y, dz = in[j].z - in[i].z;
    double r2 = dx * dx + dy * dy + dz * dz + SOFTENING;
    double s = in[j].mass / (r2 * sqrt(r2));
    a[0] += s * dx;
    a[1] += s * dy;
    a[2] += s * dz;
  }
  v[0] = in[i].vx + a[0] * dt;
  v[1] = in[i].vy + a[1] * dt;
  v[2] = in[i].vz + a[2] * dt;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 65536;
  int steps = argc > 2 ? atoi(argv[2]) : 5;
  const float dt = 0.01f;
  size_t bytes = n * sizeof(Body);

  Body *h_bodies = (Body *)malloc(bytes), *h_before = (Body *)malloc(bytes);
  for (int i = 0; i < n; ++i) {
    h_bodies[i].x = noise(6 * i);
    h_bodies[i].y = noise(6 * i + 1);
    h_bodies[i].z = noise(6 * i + 2);
    h_bodies[i].mass = 1.0f / n;
    h_bodies[i].vx = noise(6 * i + 3);
    h_bodies[i].vy = noise(6 * i + 4);
    h_bodies[i].vz = noise(6 * i + 5);
  }

  Body *d_in, *d_out;
  CUDA_CHECK(cudaMalloc((void **)&d_in, bytes));
  CUDA_CHECK(cudaMalloc((void **)&d_out, bytes));
  CUDA_CHECK(cudaMemcpy(d_in, h_bodies, bytes, cudaMemcpyHostToDevice));

  cudaEvent_t start, stop;
  CUDA_CHECK(cudaEventCreate(&start));
  CUDA_CHECK(cudaEventCreate(&stop));
  int grid = (n + BLOCK - 1) / BLOCK;
  for (int s = 0; s <= steps; ++s) {
    if (s == 1) // step 0 warms up
      CUDA_CHECK(cudaEventRecord(start));
    integrate<<<grid, BLOCK>>>(d_in, d_out, n, dt);
    CUDA_CHECK(cudaGetLastError());
    std::swap(d_in, d_out);
  }
  CUDA_CHECK(cudaEventRecord(stop));
  CUDA_CHECK(cudaEventSynchronize(stop));
  CUDA_CHECK(cudaMemcpy(h_bodies, d_in, bytes, cudaMemcpyDeviceToHost));
  CUDA_CHECK(cudaMemcpy(h_before, d_out, bytes, cudaMemcpyDeviceToHost));

  for (int s = 0; s < 16; ++s) {
    int i = (n - 1LL) * s / 15;
    double v[3];
    reference(h_before, n, i, dt, v);
    double error = fabs(v[0] - h_bodies[i].vx) + fabs(v[1] - h_bodies[i].vy) + fabs(v[2] - h_bodies[i].vz);
    double moved = fabs(h_before[i].x + v[0] * dt - h_bodies[i].x) + fabs(h_before[i].mass - h_bodies[i].mass);
    if (error > 1e-4 || moved > 1e-5) {
      fprintf(stderr, "body %d: velocity off by %g, position by %g\n", i, error, moved);
      return 1;
    }
  }

  unsigned long long check = 0;
  for (int i = 0; i < n; ++i) {
    const Body &b = h_bodies[i];
    check = check * 31 + llround(b.x * 1e3) + 3 * llround(b.y * 1e3) + 5 * llround(b.z * 1e3);
    check = check * 31 + llround(b.vx * 1e3) + 3 * llround(b.vy * 1e3) + 5 * llround(b.vz * 1e3);
  }
  float ms = 0;
  CUDA_CHECK(cudaEventElapsedTime(&ms, start, stop));
  printf("check %llu\ntime_ms %.4f\n", check, ms / steps);
  CUDA_CHECK(cudaFree(d_in));
  CUDA_CHECK(cudaFree(d_out));
  free(h_bodies);
  free(h_before);
  return 0;
}
