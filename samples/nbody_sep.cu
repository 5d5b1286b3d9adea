// Gravitational potential of many bodies on a plane, positions and masses in
// separate arrays.
//
// Every thread walks the four arrays in step with the others: four loads serve a
// warp for one body, where a record of 16 bytes would need one.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                                    \
  do {                                                                                                                 \
    cudaError_t err = (call);                                                                                          \
    if (err != cudaSuccess) {                                                                                          \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(err));                                     \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

const int WIDTH = 512; // points of the plane in a row
const float SOFTENING = 1e-3f;

__global__ void potential(const float *x, const float *y, const float *z, const float *mass, int bodies, float *plane,
                          int points) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= points)
    return;
  float px = (float)(i % WIDTH) / WIDTH, py = (float)(i / WIDTH) / WIDTH;
  float sum = 0;
  for (int j = 0; j < bodies; ++j) {
    float dx = x[j] - px, dy = y[j] - py, dz = z[j] - 0.5f;
    sum += mass[j] * rsqrtf(dx * dx + dy * dy + dz * dz + SOFTENING);
  }
  plane[i] = sum;
}

// Pseudo-random number in [0, 1) for a counter.
static float noise(unsigned k) {
  k = (k ^ k >> 16) * 0x45d9f3bu;
  k = (k ^ k >> 16) * 0x45d9f3bu;
  return ((k ^ k >> 16) & 0xffff) / 65536.0f;
}

int main(int argc, char **argv) {
  int bodies = argc > 1 ? atoi(argv[1]) : 16384;
  int points = 16 * bodies;
  const int repeats = 5;

  std::vector<float> x(bodies), y(bodies), z(bodies), mass(bodies), plane(points);
  for (int j = 0; j < bodies; ++j) {
    x[j] = noise(4 * j);
    y[j] = noise(4 * j + 1);
    z[j] = noise(4 * j + 2);
    mass[j] = (1 + noise(4 * j + 3)) / bodies;
  }

  size_t bytes = bodies * sizeof(float);
  float *d_x, *d_y, *d_z, *d_mass, *d_plane;
  CHECK(cudaMalloc(&d_x, bytes));
  CHECK(cudaMalloc(&d_y, bytes));
  CHECK(cudaMalloc(&d_z, bytes));
  CHECK(cudaMalloc(&d_mass, bytes));
  CHECK(cudaMalloc(&d_plane, points * sizeof(float)));
  CHECK(cudaMemcpy(d_x, x.data(), bytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(d_y, y.data(), bytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(d_z, z.data(), bytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(d_mass, mass.data(), bytes, cudaMemcpyHostToDevice));

  cudaEvent_t start, stop;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  int blocks = (points + 255) / 256;
  potential<<<blocks, 256>>>(d_x, d_y, d_z, d_mass, bodies, d_plane, points); // warm-up
  CHECK(cudaEventRecord(start));
  for (int r = 0; r < repeats; ++r)
    potential<<<blocks, 256>>>(d_x, d_y, d_z, d_mass, bodies, d_plane, points);
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(stop));
  CHECK(cudaEventSynchronize(stop));
  CHECK(cudaMemcpy(plane.data(), d_plane, points * sizeof(float), cudaMemcpyDeviceToHost));

  for (int s = 0; s < 64; ++s) {
    int i = (points - 1LL) * s / 63;
    float px = (float)(i % WIDTH) / WIDTH, py = (float)(i / WIDTH) / WIDTH;
    double sum = 0;
    for (int j = 0; j < bodies; ++j) {
      double dx = x[j] - px, dy = y[j] - py, dz = z[j] - 0.5;
      sum += mass[j] / sqrt(dx * dx + dy * dy + dz * dz + SOFTENING);
    }
    if (!(fabs(sum - plane[i]) < 1e-3 * sum)) {
      fprintf(stderr, "point %d: potential %g, expected %g\n", i, plane[i], sum);
      return 1;
    }
  }
  unsigned long long check = 0;
  for (int i = 0; i < points; ++i)
    check = check * 31 + llround(plane[i] * 1e3);

  float ms = 0;
  CHECK(cudaEventElapsedTime(&ms, start, stop));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_x));
  CHECK(cudaFree(d_y));
  CHECK(cudaFree(d_z));
  CHECK(cudaFree(d_mass));
  CHECK(cudaFree(d_plane));
  return 0;
}
