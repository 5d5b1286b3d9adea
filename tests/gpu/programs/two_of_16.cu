// Load on beams: two fields of sixteen, one of them in each half.
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

struct Beam {
  float x0, length, y0, z0;
  float x1, y1, z1, modulus;
  float width, depth, load, density;
  float yield, age, fatigue, damping;
};

__global__ void bending(const Beam *beams, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  const Beam &b = beams[i];
  out[i] = b.length * b.load;
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 3 << 22;
  std::vector<Beam> beams(n);
  for (int i = 0; i < n; ++i) {
    unsigned h = hash(i);
    beams[i].length = h & 1023;
    beams[i].load = h >> 10 & 1023;
    beams[i].modulus = h >> 20;
  }
  Beam *d_beams;
  CHECK(cudaMalloc(&d_beams, n * sizeof(Beam)));
  CHECK(cudaMemcpy(d_beams, beams.data(), n * sizeof(Beam), cudaMemcpyHostToDevice));
  float *d_out;
  CHECK(cudaMalloc(&d_out, n * sizeof(float)));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    bending<<<(n + 255) / 256, 256>>>(d_beams, d_out, n);
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
  CHECK(cudaFree(d_beams));
  CHECK(cudaFree(d_out));
}
