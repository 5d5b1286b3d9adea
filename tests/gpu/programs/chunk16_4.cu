// Mean of each run of sixteen measurements: a thread walks its own run, so
// neighbouring threads are sixteen records apart.
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

struct Measurement {
  float voltage, current, phase, offset;
};

const int RUN = 16;

__global__ void summarise(const Measurement *m, float *out, int runs) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= runs)
    return;
  float sum = 0;
  for (int k = 0; k < RUN; ++k) {
    const Measurement &one = m[t * RUN + k];
    sum += one.voltage + one.current + one.phase + one.offset;
  }
  out[t] = sum;
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int runs = argc > 1 ? atoi(argv[1]) : 1 << 20;
  int n = runs * RUN;
  std::vector<Measurement> all(n);
  for (int i = 0; i < n; ++i) {
    unsigned h = hash(i);
    all[i] = {(float)(h & 255), (float)(h >> 8 & 255), (float)(h >> 16 & 255), (float)(h >> 24)};
  }
  Measurement *d_all;
  CHECK(cudaMalloc(&d_all, n * sizeof(Measurement)));
  CHECK(cudaMemcpy(d_all, all.data(), n * sizeof(Measurement), cudaMemcpyHostToDevice));
  float *d_out;
  CHECK(cudaMalloc(&d_out, runs * sizeof(float)));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    summarise<<<(runs + 255) / 256, 256>>>(d_all, d_out, runs);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  std::vector<float> out(runs);
  CHECK(cudaMemcpy(out.data(), d_out, runs * sizeof(float), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (float v : out)
    check = check * 31 + (long long)v;

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_all));
  CHECK(cudaFree(d_out));
}
