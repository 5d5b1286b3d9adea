// Pull of a few thousand heavy stars on many: a loop over four fields in which
// all threads read the same record.
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

struct Star {
  float x, y, z, mass;
};

__global__ void pull(const Star *stars, int heavy, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float x = stars[i].x, y = stars[i].y, z = stars[i].z;
  float ax = 0, ay = 0, az = 0;
  for (int j = 0; j < heavy; ++j) {
    float dx = stars[j].x - x, dy = stars[j].y - y, dz = stars[j].z - z;
    float inv = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-3f);
    float s = stars[j].mass * inv * inv * inv;
    ax += dx * s;
    ay += dy * s;
    az += dz * s;
  }
  out[i] = sqrtf(ax * ax + ay * ay + az * az);
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 18;
  int heavy = n < 4096 ? n : 4096;
  std::vector<Star> stars(n);
  for (int i = 0; i < n; ++i) {
    unsigned h = hash(i);
    stars[i] = {(h & 1023) / 8.0f, (h >> 10 & 1023) / 8.0f, (h >> 20 & 1023) / 8.0f, 1.0f + (h >> 30)};
  }
  Star *d_stars;
  CHECK(cudaMalloc(&d_stars, n * sizeof(Star)));
  CHECK(cudaMemcpy(d_stars, stars.data(), n * sizeof(Star), cudaMemcpyHostToDevice));
  float *d_out;
  CHECK(cudaMalloc(&d_out, n * sizeof(float)));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    pull<<<(n + 255) / 256, 256>>>(d_stars, heavy, d_out, n);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  std::vector<float> out(n);
  CHECK(cudaMemcpy(out.data(), d_out, n * sizeof(float), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (float v : out)
    check = check * 31 + llround(v * 100.0);

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_stars));
  CHECK(cudaFree(d_out));
}
