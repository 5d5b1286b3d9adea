// Length of walks of sixty-four steps, one thread for each walk.
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

struct Step {
  float east, north, up;
};

__global__ void add(const Step *steps, float *out, int walks) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= walks)
    return;
  float sum = 0;
  for (int k = 0; k < 64; ++k) {
    int j = t * 64 + k;
    sum += steps[j].east + steps[j].north + steps[j].up;
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
  int walks = argc > 1 ? atoi(argv[1]) : 1 << 18;
  int n = walks * 64;
  std::vector<Step> steps(n);
  for (int i = 0; i < n; ++i) {
    unsigned h = hash(i);
    steps[i] = {(float)(h & 255), (float)(h >> 8 & 255), (float)(h >> 16 & 255)};
  }
  Step *d_steps;
  CHECK(cudaMalloc(&d_steps, n * sizeof(Step)));
  CHECK(cudaMemcpy(d_steps, steps.data(), n * sizeof(Step), cudaMemcpyHostToDevice));
  float *d_out;
  CHECK(cudaMalloc(&d_out, walks * sizeof(float)));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    add<<<(walks + 255) / 256, 256>>>(d_steps, d_out, walks);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  std::vector<float> out(walks);
  CHECK(cudaMemcpy(out.data(), d_out, walks * sizeof(float), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (float v : out)
    check = check * 31 + (long long)v;

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_steps));
  CHECK(cudaFree(d_out));
}
