// Response of damped oscillators after many turns: all four fields once, then
// nothing but arithmetic.
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

struct Oscillator {
  float real, imaginary; // state
  float c, s;            // rotation and damping of one turn
};

__global__ void respond(const Oscillator *o, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float x = o[i].real, y = o[i].imaginary, c = o[i].c, s = o[i].s;
  for (int k = 0; k < 256; ++k) {
    float turned = c * x - s * y;
    y = s * x + c * y + 0.125f;
    x = turned;
  }
  out[i] = x + y;
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 23;
  std::vector<Oscillator> oscillators(n);
  for (int i = 0; i < n; ++i) {
    unsigned h = hash(i);
    oscillators[i] = {(h & 255) / 256.0f, (h >> 8 & 255) / 256.0f, 0.5f + (h >> 16 & 255) / 1024.0f,
                      (h >> 24) / 512.0f};
  }
  Oscillator *d_oscillators;
  CHECK(cudaMalloc(&d_oscillators, n * sizeof(Oscillator)));
  CHECK(cudaMemcpy(d_oscillators, oscillators.data(), n * sizeof(Oscillator), cudaMemcpyHostToDevice));
  float *d_out;
  CHECK(cudaMalloc(&d_out, n * sizeof(float)));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    respond<<<(n + 255) / 256, 256>>>(d_oscillators, d_out, n);
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
  CHECK(cudaFree(d_oscillators));
  CHECK(cudaFree(d_out));
}
