// Satellites around a planet in double precision, leapfrog steps in place.
//
// Seven doubles, 56 bytes. Some dozen steps are taken per launch, so the loads
// compete with double-precision arithmetic.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                                    \
  do {                                                                                                                 \
    cudaError_t status = (call);                                                                                       \
    if (status != cudaSuccess) {                                                                                       \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));                                  \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

struct Satellite {
  double x, y, z;
  double vx, vy, vz;
  double drag;
};

__global__ void fly(Satellite *s, int n, int steps, double dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  double x = s[i].x, y = s[i].y, z = s[i].z;
  double vx = s[i].vx, vy = s[i].vy, vz = s[i].vz;
  double keep = 1.0 - s[i].drag * dt;
  for (int k = 0; k < steps; ++k) {
    double r2 = x * x + y * y + z * z;
    double pull = -dt / (r2 * sqrt(r2));
    vx = (vx + pull * x) * keep;
    vy = (vy + pull * y) * keep;
    vz = (vz + pull * z) * keep;
    x += dt * vx;
    y += dt * vy;
    z += dt * vz;
  }
  s[i].x = x;
  s[i].y = y;
  s[i].z = z;
  s[i].vx = vx;
  s[i].vy = vy;
  s[i].vz = vz;
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 3 << 20;
  std::vector<Satellite> fleet(n);
  for (int i = 0; i < n; ++i) {
    unsigned h = hash(i);
    double radius = 1.5 + (h & 1023) / 512.0, angle = (h >> 10 & 1023) / 163.0, tilt = (h >> 20) / 4096.0;
    double speed = 1 / sqrt(radius);
    fleet[i] = {radius * cos(angle), radius * sin(angle), 0,          -speed * sin(angle),
                speed * cos(angle),  speed * tilt / 4,    tilt / 1000};
  }
  Satellite *d_fleet;
  CHECK(cudaMalloc(&d_fleet, n * sizeof(Satellite)));
  CHECK(cudaMemcpy(d_fleet, fleet.data(), n * sizeof(Satellite), cudaMemcpyHostToDevice));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    fly<<<(n + 127) / 128, 128>>>(d_fleet, n, 12, 1.0 / 1024);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  CHECK(cudaMemcpy(fleet.data(), d_fleet, n * sizeof(Satellite), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Satellite &s : fleet)
    check = check * 31 + llround(s.x * 1e4) + 3 * llround(s.y * 1e4) + 5 * llround(s.z * 1e4);

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_fleet));
}
