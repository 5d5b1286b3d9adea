// Particles sorted by cell: whole records of eight words are stored at places
// in random order.
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

struct Particle {
  float x, y, z, vx, vy, vz, mass;
  int cell;
};

__global__ void distribute(const float *seed, const int *target, Particle *sorted, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float s = seed[i];
  Particle p = {s, s + 1, s + 2, s + 3, s + 4, s + 5, s + 6, i};
  sorted[target[i]] = p;
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 23;
  std::vector<float> seed(n);
  std::vector<int> target(n);
  for (int i = 0; i < n; ++i) {
    seed[i] = hash(i) & 0xffff;
    target[i] = i;
  }
  for (int i = n - 1; i > 0; --i)
    std::swap(target[i], target[hash(i) % (i + 1)]);
  float *d_seed;
  CHECK(cudaMalloc(&d_seed, n * sizeof(float)));
  CHECK(cudaMemcpy(d_seed, seed.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  int *d_target;
  CHECK(cudaMalloc(&d_target, n * sizeof(int)));
  CHECK(cudaMemcpy(d_target, target.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  Particle *d_sorted;
  CHECK(cudaMalloc(&d_sorted, n * sizeof(Particle)));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    distribute<<<(n + 255) / 256, 256>>>(d_seed, d_target, d_sorted, n);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  std::vector<Particle> sorted(n);
  CHECK(cudaMemcpy(sorted.data(), d_sorted, n * sizeof(Particle), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Particle &p : sorted)
    check = check * 31 + (long long)(p.x + 3 * p.y + 5 * p.vz + 7 * p.mass) + p.cell;

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_seed));
  CHECK(cudaFree(d_target));
  CHECK(cudaFree(d_sorted));
}
