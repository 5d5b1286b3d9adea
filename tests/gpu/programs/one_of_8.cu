// Brightness of stars: one field of eight.
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
  float ra, dec;
  float magnitude;
  float parallax, motionRa, motionDec;
  float radialVelocity, temperature;
};

__global__ void brightness(const Star *stars, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  out[i] = stars[i].magnitude * 2.0f + 1.0f;
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 24;
  std::vector<Star> stars(n);
  for (int i = 0; i < n; ++i) {
    unsigned h = hash(i);
    stars[i] = {(float)(h & 255), (float)(h >> 8 & 255), (float)(h >> 16 & 255), 1, 2, 3, 4, (float)(h >> 24)};
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
    brightness<<<(n + 255) / 256, 256>>>(d_stars, d_out, n);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  std::vector<float> out(n);
  CHECK(cudaMemcpy(out.data(), d_out, n * sizeof(float), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (float v : out)
    check = check * 31 + (long long)v;

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_stars));
  CHECK(cudaFree(d_out));
}
