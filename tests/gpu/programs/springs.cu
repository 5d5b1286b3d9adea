// Cloth as masses and springs: every spring looks up its two ends.
//
// A spring has 20 bytes of which all are read in order; a mass has 28, of
// which the springs gather six floats, mostly from near by.
#include <algorithm>
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

struct Spring {
  int from, to;
  float rest, stiffness, damping;
};

struct Mass {
  float x, y, z;
  float vx, vy, vz;
  float inverse; // of the mass
};

__global__ void tension(const Spring *__restrict__ springs, const Mass *__restrict__ masses, float *__restrict__ out,
                        int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  Spring s = springs[i];
  const Mass &a = masses[s.from];
  const Mass &b = masses[s.to];
  float dx = b.x - a.x, dy = b.y - a.y, dz = b.z - a.z;
  float length = sqrtf(dx * dx + dy * dy + dz * dz);
  float closing = (dx * (b.vx - a.vx) + dy * (b.vy - a.vy) + dz * (b.vz - a.vz)) / length;
  out[i] = s.stiffness * (length - s.rest) + s.damping * closing;
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 23; // springs
  int width = std::max(2, (int)sqrt(n / 2.0)), count = width * width;
  std::vector<Mass> masses(count);
  std::vector<Spring> springs(n);
  for (int i = 0; i < count; ++i) {
    unsigned h = hash(i);
    masses[i] = {(float)(i % width),
                 (float)(i / width),
                 (h & 255) / 256.0f,
                 (h >> 8 & 255) / 256.0f,
                 (h >> 16 & 255) / 256.0f,
                 (h >> 24) / 256.0f,
                 1};
  }
  for (int i = 0; i < n; ++i) { // right and down, row by row
    int from = i / 2 % count, next = i % 2 ? from + width : from + 1;
    springs[i] = {from, next < count ? next : 0, 1, 10 + (hash(i) & 7) / 8.0f, 0.5f};
    if (springs[i].to == from)
      springs[i].to = 1;
  }
  Mass *d_masses;
  CHECK(cudaMalloc(&d_masses, count * sizeof(Mass)));
  CHECK(cudaMemcpy(d_masses, masses.data(), count * sizeof(Mass), cudaMemcpyHostToDevice));
  Spring *d_springs;
  CHECK(cudaMalloc(&d_springs, n * sizeof(Spring)));
  CHECK(cudaMemcpy(d_springs, springs.data(), n * sizeof(Spring), cudaMemcpyHostToDevice));
  float *d_out;
  CHECK(cudaMalloc(&d_out, n * sizeof(float)));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    tension<<<(n + 255) / 256, 256>>>(d_springs, d_masses, d_out, n);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  std::vector<float> out(n);
  CHECK(cudaMemcpy(out.data(), d_out, n * sizeof(float), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (float v : out)
    check = check * 31 + llround(v * 10.0);

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_masses));
  CHECK(cudaFree(d_springs));
  CHECK(cudaFree(d_out));
}
