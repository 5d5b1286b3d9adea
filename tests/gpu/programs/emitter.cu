// Fountain particle system: particles die of age and are respawned by the emitter.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { \
  printf("CUDA error %s at line %d\n", cudaGetErrorString(e), __LINE__); return 1; } } while (0)

struct Vec3 {
  float x, y, z;
  __host__ __device__ Vec3 operator+(const Vec3 &o) const { return {x + o.x, y + o.y, z + o.z}; }
  __host__ __device__ Vec3 operator*(float s) const { return {x * s, y * s, z * s}; }
};

struct Particle {
  int alive;
  Vec3 pos;
  Vec3 vel;
  int life;            // steps left
  uint32_t rng;
  float size;
  uint32_t colour;

  __host__ __device__ uint32_t random() {
    rng ^= rng << 13;
    rng ^= rng >> 17;
    rng ^= rng << 5;
    return rng;
  }
  __host__ __device__ float random01() { return (random() >> 8) * (1.0f / 16777216.0f); }
};

struct EmitterParams {
  Vec3 origin;
  Vec3 gravity;
  float drag;
  float speed;
  float dt;
  int minLife, lifeRange;
  int respawnOdds;
};

__device__ void respawn(Particle &p, const EmitterParams &e) {
  p.pos.x = e.origin.x + p.random01() - 0.5f;
  p.pos.y = e.origin.y;
  p.pos.z = e.origin.z + p.random01() - 0.5f;
  p.vel.x = (p.random01() - 0.5f) * e.speed;
  p.vel.y = (0.5f + 0.5f * p.random01()) * e.speed;
  p.vel.z = (p.random01() - 0.5f) * e.speed;
  p.life = e.minLife + (int)(p.random() % (uint32_t)e.lifeRange);
  p.size = 0.1f + 0.4f * p.random01();
  p.colour = p.random() | 0xff000000u;
  p.alive = 1;
}

__global__ void updateParticles(Particle *particles, int count, EmitterParams e, unsigned *born) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  Particle &p = particles[i];

  if (!p.alive) {
    if (p.random() % (uint32_t)e.respawnOdds == 0) {
      respawn(p, e);
      atomicAdd(born, 1u);
    }
    return;
  }
  if (--p.life <= 0) {
    p.alive = 0;
    p.size = 0.0f;
    return;
  }
  Vec3 v = (p.vel + e.gravity * e.dt) * e.drag;
  Vec3 x = p.pos + v * e.dt;
  if (x.y < 0.0f) {            // bounce on the ground
    x.y = -x.y;
    v.y = -0.6f * v.y;
  }
  p.vel = v;
  p.pos = x;
}

static float runSteps(Particle *d, int n, const EmitterParams &e, unsigned *born, int steps) {
  const int block = 256;
  const int grid = (n + block - 1) / block;
  cudaEvent_t a, b;
  cudaEventCreate(&a);
  cudaEventCreate(&b);
  cudaEventRecord(a);
  for (int s = 0; s < steps; ++s)
    updateParticles<<<grid, block>>>(d, n, e, born);
  cudaEventRecord(b);
  cudaEventSynchronize(b);
  float ms = 0.0f;
  cudaEventElapsedTime(&ms, a, b);
  cudaEventDestroy(a);
  cudaEventDestroy(b);
  return ms / steps;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 5000000;
  if (n < 1) n = 1;

  EmitterParams e;
  e.origin = {0.0f, 1.0f, 0.0f};
  e.gravity = {0.0f, -9.81f, 0.0f};
  e.drag = 0.998f;
  e.speed = 8.0f;
  e.dt = 0.01f;
  e.minLife = 20;
  e.lifeRange = 60;
  e.respawnOdds = 25;

  std::vector<Particle> particles(n);
  for (int i = 0; i < n; ++i) {
    Particle p{};
    p.rng = (uint32_t)i * 2654435761u + 97u;
    if (p.rng == 0) p.rng = 1;
    for (int k = 0; k < 3; ++k) p.random();
    p.alive = p.random() % 3 != 0;
    p.pos = {p.random01() * 4.0f - 2.0f, p.random01() * 3.0f, p.random01() * 4.0f - 2.0f};
    p.vel = {p.random01() - 0.5f, p.random01() * 4.0f - 2.0f, p.random01() - 0.5f};
    p.life = p.alive ? 1 + (int)(p.random() % 60) : 0;
    p.size = p.alive ? 0.1f + 0.4f * p.random01() : 0.0f;
    p.colour = p.random() | 0xff000000u;
    particles[i] = p;
  }

  Particle *dParticles;
  unsigned *dBorn;
  CK(cudaMalloc(&dParticles, n * sizeof(Particle)));
  CK(cudaMalloc(&dBorn, sizeof(unsigned)));
  CK(cudaMemset(dBorn, 0, sizeof(unsigned)));
  CK(cudaMemcpy(dParticles, particles.data(), n * sizeof(Particle), cudaMemcpyHostToDevice));

  runSteps(dParticles, n, e, dBorn, 1);
  CK(cudaGetLastError());
  float ms = runSteps(dParticles, n, e, dBorn, 60);
  CK(cudaGetLastError());

  unsigned born = 0;
  CK(cudaMemcpy(particles.data(), dParticles, n * sizeof(Particle), cudaMemcpyDeviceToHost));
  CK(cudaMemcpy(&born, dBorn, sizeof(unsigned), cudaMemcpyDeviceToHost));

  uint64_t exact = born;
  long long rounded = 0;
  int alive = 0;
  for (int i = 0; i < n; ++i) {
    const Particle &p = particles[i];
    alive += p.alive;
    exact = exact * 31 + p.rng + (uint32_t)p.life * 7u + p.colour * 3u + (uint32_t)p.alive;
    rounded += (1 + i % 3) * (llround(p.pos.x * 8) + llround(p.pos.y * 8) + llround(p.pos.z * 8) +
                              llround(p.vel.x * 8) + llround(p.vel.y * 8) + llround(p.vel.z * 8) +
                              llround(p.size * 32));
  }
  printf("alive %d of %d, born %u\n", alive, n, born);
  printf("time_ms %f\n", ms);
  printf("check %llu_%lld\n", (unsigned long long)exact, llround(rounded / 10000.0));
  cudaFree(dParticles);
  cudaFree(dBorn);
  return 0;
}
