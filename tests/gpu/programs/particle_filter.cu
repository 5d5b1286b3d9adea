// A particle filter: resample, predict, weigh.
//
// Resampling copies whole records by indices that only go up, with repeats and
// gaps; predicting updates four fields of six, weighing reads three and stores
// one.
#include <cmath>
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
  float x, y, heading, weight;
  unsigned seed;
  int ancestor;
};

__global__ void resample(const Particle *from, Particle *to, const int *chosen, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  Particle p = from[chosen[i]];
  p.weight = 1;
  p.seed ^= 2654435769u * i; // copies go their own ways
  p.ancestor = chosen[i];
  to[i] = p;
}

// The next number from 0 to 1.
__device__ float uniform(unsigned &seed) {
  seed = seed * 1664525u + 1013904223u;
  return (seed >> 8) * (1.0f / (1 << 24));
}

__global__ void predict(Particle *particles, int n, float speed, float turn) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  unsigned seed = particles[i].seed;
  float swerve = uniform(seed) - 0.5f;
  float distance = speed * (uniform(seed) + 0.5f);
  float heading = particles[i].heading + fmaf(0.25f, swerve, turn);
  particles[i].x = fmaf(distance, cosf(heading), particles[i].x);
  particles[i].y = fmaf(distance, sinf(heading), particles[i].y);
  particles[i].heading = heading;
  particles[i].seed = seed;
}

__global__ void weigh(Particle *particles, int n, float beaconX, float beaconY, float range) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float dx = particles[i].x - beaconX, dy = particles[i].y - beaconY;
  float error = sqrtf(fmaf(dx, dx, dy * dy)) - range;
  particles[i].weight *= expf(-0.02f * error * error);
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 22;
  std::vector<Particle> particles(n);
  for (int i = 0; i < n; ++i) {
    unsigned h = hash(i);
    particles[i] = {(h & 1023) / 16.0f, (h >> 10 & 1023) / 16.0f, (h >> 20 & 63) / 10.0f, 1, hash(~i), i};
  }

  // Systematic resampling: n marks at even distances along the sum of the weights.
  std::vector<int> chosen(n);
  auto weight = [](int i) { return 1 + (long long)(hash(i + 0x20000000) & 15) * (hash(i + 0x20000000) & 15); };
  long long total = 0;
  for (int i = 0; i < n; ++i)
    total += weight(i);
  long long reached = weight(0);
  for (int i = 0, k = 0; i < n; ++i) {
    long long mark = (2 * i + 1LL) * total / (2LL * n);
    while (reached <= mark)
      reached += weight(++k);
    chosen[i] = k;
  }

  Particle *d_from;
  CHECK(cudaMalloc(&d_from, n * sizeof(Particle)));
  CHECK(cudaMemcpy(d_from, particles.data(), n * sizeof(Particle), cudaMemcpyHostToDevice));
  Particle *d_to;
  CHECK(cudaMalloc(&d_to, n * sizeof(Particle)));
  int *d_chosen;
  CHECK(cudaMalloc(&d_chosen, n * sizeof(int)));
  CHECK(cudaMemcpy(d_chosen, chosen.data(), n * sizeof(int), cudaMemcpyHostToDevice));

  int blocks = (n + 255) / 256;
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    resample<<<blocks, 256>>>(d_from, d_to, d_chosen, n);
    predict<<<blocks, 256>>>(d_to, n, 0.25f, 0.03125f);
    weigh<<<blocks, 256>>>(d_to, n, 20, 30, 25);
    std::swap(d_from, d_to);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  CHECK(cudaMemcpy(particles.data(), d_from, n * sizeof(Particle), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Particle &p : particles)
    check = check * 31 + llround(p.x) + 3 * llround(p.y) + 5 * llround(p.heading * 4) + 7 * llround(p.weight * 16) +
            11 * p.ancestor + p.seed % 16;

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_from));
  CHECK(cudaFree(d_to));
  CHECK(cudaFree(d_chosen));
}
