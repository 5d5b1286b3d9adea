// Lomb-Scargle periodogram of an unevenly sampled light curve.
//
// A thread has a frequency and walks over all samples: doubles and words of
// four and one byte in a record of 24 bytes, read by all lanes at once.
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

struct Sample {
  double time;
  double flux;
  float weight;
  unsigned char valid;
};

__global__ void periodogram(const Sample *samples, int count, float *power, int n, double step) {
  int f = blockIdx.x * blockDim.x + threadIdx.x;
  if (f >= n)
    return;
  double turns = (f + 1) * step;
  float re = 0, im = 0;
  for (int k = 0; k < count; ++k) {
    if (!samples[k].valid)
      continue;
    double phase = samples[k].time * turns;
    float fraction = (float)(phase - floor(phase)), s, c;
    sincospif(2 * fraction, &s, &c);
    float value = samples[k].weight * (float)samples[k].flux;
    re += value * c;
    im += value * s;
  }
  power[f] = re * re + im * im;
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 16;
  int count = n < 2000 ? n : 2000;
  std::vector<Sample> curve(count);
  for (int k = 0; k < count; ++k) {
    unsigned h = hash(k);
    curve[k].time = k + (h & 255) / 512.0;
    curve[k].flux = ((h >> 8 & 255) - 128) / 128.0 + (k % 17 < 4 ? 1 : 0);
    curve[k].weight = 0.5f + (h >> 16 & 255) / 512.0f;
    curve[k].valid = (h >> 24) > 20;
  }
  Sample *d_curve;
  CHECK(cudaMalloc(&d_curve, count * sizeof(Sample)));
  CHECK(cudaMemcpy(d_curve, curve.data(), count * sizeof(Sample), cudaMemcpyHostToDevice));
  float *d_power;
  CHECK(cudaMalloc(&d_power, n * sizeof(float)));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    periodogram<<<(n + 127) / 128, 128>>>(d_curve, count, d_power, n, 0.5 / n);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  std::vector<float> power(n);
  CHECK(cudaMemcpy(power.data(), d_power, n * sizeof(float), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (float v : power)
    check = check * 31 + llround(v);

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_curve));
  CHECK(cudaFree(d_power));
}
