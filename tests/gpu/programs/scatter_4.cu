// Reordering: records of four floats are stored at places in random order.
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define CHECK(call)                                                                                                    \
  do {                                                                                                                 \
    cudaError_t status = (call);                                                                                       \
    if (status != cudaSuccess) {                                                                                       \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));                                  \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

struct Quad {
  float x, y, z, w;
};

__global__ void place(const float *value, const int *target, Quad *quads, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float v = value[i];
  int j = target[i];
  quads[j].x = v;
  quads[j].y = v + 1;
  quads[j].z = v + 2;
  quads[j].w = v + 3;
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 23;
  std::vector<float> value(n);
  std::vector<int> target(n);
  for (int i = 0; i < n; ++i) {
    value[i] = hash(i) & 0xffff;
    target[i] = i;
  }
  for (int i = n - 1; i > 0; --i)
    std::swap(target[i], target[hash(i) % (i + 1)]);
  float *d_value;
  CHECK(cudaMalloc(&d_value, n * sizeof(float)));
  CHECK(cudaMemcpy(d_value, value.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  int *d_target;
  CHECK(cudaMalloc(&d_target, n * sizeof(int)));
  CHECK(cudaMemcpy(d_target, target.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  Quad *d_quads;
  CHECK(cudaMalloc(&d_quads, n * sizeof(Quad)));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    place<<<(n + 255) / 256, 256>>>(d_value, d_target, d_quads, n);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  std::vector<Quad> quads(n);
  CHECK(cudaMemcpy(quads.data(), d_quads, n * sizeof(Quad), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Quad &q : quads)
    check = check * 31 + (long long)(q.x + 3 * q.y + 5 * q.z + 7 * q.w);

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_value));
  CHECK(cudaFree(d_target));
  CHECK(cudaFree(d_quads));
}
