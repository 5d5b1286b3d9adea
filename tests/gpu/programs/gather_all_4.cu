// Colours by a random index: whole records of four floats are gathered.
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

struct Colour {
  float r, g, b, a;
};

__global__ void blend(const Colour *colours, const int *index, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  Colour c = colours[index[i]];
  out[i] = c.r + 2 * c.g + 3 * c.b + 4 * c.a;
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 24;
  std::vector<Colour> colours(n);
  std::vector<int> index(n);
  for (int i = 0; i < n; ++i) {
    unsigned h = hash(i);
    colours[i] = {(float)(h & 255), (float)(h >> 8 & 255), (float)(h >> 16 & 255), (float)(h >> 24)};
    index[i] = hash(h + 1) % n;
  }
  Colour *d_colours;
  CHECK(cudaMalloc(&d_colours, n * sizeof(Colour)));
  CHECK(cudaMemcpy(d_colours, colours.data(), n * sizeof(Colour), cudaMemcpyHostToDevice));
  int *d_index;
  CHECK(cudaMalloc(&d_index, n * sizeof(int)));
  CHECK(cudaMemcpy(d_index, index.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  float *d_out;
  CHECK(cudaMalloc(&d_out, n * sizeof(float)));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    blend<<<(n + 255) / 256, 256>>>(d_colours, d_index, d_out, n);
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
  CHECK(cudaFree(d_colours));
  CHECK(cudaFree(d_index));
  CHECK(cudaFree(d_out));
}
