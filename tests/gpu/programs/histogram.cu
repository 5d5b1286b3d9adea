// Histogram of a picture's brightness and hue in shared memory.
//
// Four bytes per pixel, of which three are read; the counting goes to shared
// memory with atomics, so the loads are only part of the time.
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

struct Pixel {
  unsigned char r, g, b, a;
};

const int BINS = 256;

__global__ void count(const Pixel *__restrict__ picture, unsigned *__restrict__ bins, int n) {
  __shared__ unsigned local[2 * BINS];
  for (int b = threadIdx.x; b < 2 * BINS; b += blockDim.x)
    local[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    Pixel p = picture[i];
    int brightness = (77 * p.r + 150 * p.g + 29 * p.b) >> 8;
    int hue = (p.r - p.b) & 255;
    atomicAdd(&local[brightness], 1u);
    atomicAdd(&local[BINS + hue], 1u);
  }
  __syncthreads();
  for (int b = threadIdx.x; b < 2 * BINS; b += blockDim.x)
    atomicAdd(&bins[b], local[b]);
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 26;
  std::vector<Pixel> picture(n);
  for (int i = 0; i < n; ++i) {
    unsigned h = hash(i);
    picture[i] = {(unsigned char)h, (unsigned char)(h >> 8), (unsigned char)(h >> 16), 255};
  }
  Pixel *d_picture;
  CHECK(cudaMalloc(&d_picture, n * sizeof(Pixel)));
  CHECK(cudaMemcpy(d_picture, picture.data(), n * sizeof(Pixel), cudaMemcpyHostToDevice));
  unsigned *d_bins;
  CHECK(cudaMalloc(&d_bins, 2 * BINS * sizeof(unsigned)));
  CHECK(cudaMemset(d_bins, 0, 2 * BINS * sizeof(unsigned)));
  int blocks = (n + 255) / 256 < 1056 ? (n + 255) / 256 : 1056;

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    count<<<blocks, 256>>>(d_picture, d_bins, n);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  std::vector<unsigned> bins(2 * BINS);
  CHECK(cudaMemcpy(bins.data(), d_bins, 2 * BINS * sizeof(unsigned), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (unsigned b : bins)
    check = check * 31 + b;

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_picture));
  CHECK(cudaFree(d_bins));
}
