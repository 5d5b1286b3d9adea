// Particle in cell: charged particles pushed by the fields of their cells.
//
// Particles are nearly sorted by cell, so neighbouring lanes gather the same
// or the next cell's six fields, and each particle is changed in place.
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

struct Particle {
  float x, vx, vy, vz;
  int id;
};

struct Cell {
  float ex, ey, ez, bx, by, bz;
};

__global__ void push(Particle *particles, const Cell *cells, int n, int cellCount, float dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  Particle p = particles[i];
  int c = (int)p.x;
  Cell f = cells[c];
  float ux = p.vx + 0.5f * dt * f.ex, uy = p.vy + 0.5f * dt * f.ey, uz = p.vz + 0.5f * dt * f.ez;
  float tx = 0.5f * dt * f.bx, ty = 0.5f * dt * f.by, tz = 0.5f * dt * f.bz;
  float s = 2 / (1 + tx * tx + ty * ty + tz * tz);
  float wx = ux + uy * tz - uz * ty, wy = uy + uz * tx - ux * tz, wz = uz + ux * ty - uy * tx;
  p.vx = ux + s * (wy * tz - wz * ty) + 0.5f * dt * f.ex;
  p.vy = uy + s * (wz * tx - wx * tz) + 0.5f * dt * f.ey;
  p.vz = uz + s * (wx * ty - wy * tx) + 0.5f * dt * f.ez;
  p.x += dt * p.vx;
  if (p.x < 0)
    p.x += cellCount;
  if (p.x >= cellCount)
    p.x -= cellCount;
  particles[i] = p;
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 23;
  int cellCount = std::max(4, n / 16);
  std::vector<Particle> particles(n);
  std::vector<Cell> cells(cellCount);
  for (int c = 0; c < cellCount; ++c) {
    unsigned h = hash(c);
    cells[c] = {(h & 15) / 16.0f,       (h >> 4 & 15) / 16.0f,  (h >> 8 & 15) / 16.0f,
                (h >> 12 & 15) / 16.0f, (h >> 16 & 15) / 16.0f, (h >> 20 & 15) / 16.0f};
  }
  for (int i = 0; i < n; ++i) {
    unsigned h = hash(i);
    particles[i] = {(float)((int)((long long)i * cellCount / n + (h & 3)) % cellCount) + 0.5f,
                    (h >> 2 & 255) / 128.0f - 1, (h >> 10 & 255) / 128.0f - 1, (h >> 18 & 255) / 128.0f - 1, i};
  }
  Particle *d_particles;
  CHECK(cudaMalloc(&d_particles, n * sizeof(Particle)));
  CHECK(cudaMemcpy(d_particles, particles.data(), n * sizeof(Particle), cudaMemcpyHostToDevice));
  Cell *d_cells;
  CHECK(cudaMalloc(&d_cells, cellCount * sizeof(Cell)));
  CHECK(cudaMemcpy(d_cells, cells.data(), cellCount * sizeof(Cell), cudaMemcpyHostToDevice));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    push<<<(n + 255) / 256, 256>>>(d_particles, d_cells, n, cellCount, 1.0f / 128);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  CHECK(cudaMemcpy(particles.data(), d_particles, n * sizeof(Particle), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Particle &p : particles)
    check = check * 31 + llround(p.vx * 100.0) + 3 * llround(p.vy * 100.0) + 5 * llround(p.vz * 100.0) + p.id;

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_particles));
  CHECK(cudaFree(d_cells));
}
