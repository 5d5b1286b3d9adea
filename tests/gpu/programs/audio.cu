// A filter of second order for each of many channels: the coefficients and the
// state are read once for a frame of 64 samples, two of eight words stored.
//
// The samples are interleaved, so lanes read neighbouring ones. The filter is
// on the middle of the stereo signal, its sides pass.
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

struct Biquad {
  float b0, b1, b2;
  float a1, a2;
  float z1, z2;
  float gain;
};

struct Sample {
  float left, right;
};

__global__ void equalize(Biquad *filters, const Sample *__restrict__ in, Sample *out, int channels, int samples) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= channels)
    return;
  Biquad f = filters[c];
  for (int s = 0; s < samples; ++s) {
    float left = in[s * channels + c].left, right = in[s * channels + c].right;
    float middle = 0.5f * (left + right), side = 0.5f * (left - right);
    float y = f.b0 * middle + f.z1;
    f.z1 = f.b1 * middle - f.a1 * y + f.z2;
    f.z2 = f.b2 * middle - f.a2 * y;
    out[s * channels + c].left = f.gain * y + side;
    out[s * channels + c].right = f.gain * y - side;
  }
  filters[c].z1 = f.z1;
  filters[c].z2 = f.z2;
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 3 << 18;
  const int samples = 64;
  std::vector<Biquad> filters(n);
  for (int c = 0; c < n; ++c) { // low-pass filters, the poles within the unit circle
    unsigned h = hash(c);
    float radius = 0.5f + (h & 63) / 256.0f, cosine = (h >> 6 & 63) / 64.0f;
    float a1 = -2 * radius * cosine, a2 = radius * radius;
    float b = (1 + a1 + a2) / 4;
    filters[c] = {b, 2 * b, b, a1, a2, 0, 0, 0.5f + (h >> 12 & 15) / 32.0f};
  }
  std::vector<Sample> signal((size_t)n * samples);
  for (size_t i = 0; i < signal.size(); ++i) {
    unsigned h = hash(i);
    signal[i] = {(int)(h & 65535) / 32768.0f - 1, (int)(h >> 16) / 32768.0f - 1};
  }
  Biquad *d_filters;
  CHECK(cudaMalloc(&d_filters, n * sizeof(Biquad)));
  CHECK(cudaMemcpy(d_filters, filters.data(), n * sizeof(Biquad), cudaMemcpyHostToDevice));
  Sample *d_in;
  CHECK(cudaMalloc(&d_in, signal.size() * sizeof(Sample)));
  CHECK(cudaMemcpy(d_in, signal.data(), signal.size() * sizeof(Sample), cudaMemcpyHostToDevice));
  Sample *d_out;
  CHECK(cudaMalloc(&d_out, signal.size() * sizeof(Sample)));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    equalize<<<(n + 127) / 128, 128>>>(d_filters, d_in, d_out, n, samples);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  CHECK(cudaMemcpy(filters.data(), d_filters, n * sizeof(Biquad), cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(signal.data(), d_out, signal.size() * sizeof(Sample), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Biquad &f : filters)
    check = check * 31 + llround(f.z1 * 1e2) + 3 * llround(f.z2 * 1e2);
  for (const Sample &s : signal)
    check = check * 31 + llround(s.left * 1e2) + 3 * llround(s.right * 1e2);

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_filters));
  CHECK(cudaFree(d_in));
  CHECK(cudaFree(d_out));
}
