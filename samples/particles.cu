// Particles drifting in a closed box, one thread per particle.
//
// A step reads and writes six of the ten fields. In an array of structs each
// warp drags the other four through the caches too. Which layout avoids that?
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                                                    \
  do {                                                                                                                 \
    cudaError_t status = (call);                                                                                       \
    if (status != cudaSuccess) {                                                                                       \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));                                  \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

struct Particle {
  float x, y, z;
  float vx, vy, vz;
  float mass, charge, age;
  int id;
};

__global__ void drift(Particle *p, int n, float dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  p[i].x += p[i].vx * dt;
  p[i].y += p[i].vy * dt;
  p[i].z += p[i].vz * dt;
  if (p[i].x < 0 || p[i].x > 1)
    p[i].vx = -p[i].vx;
  if (p[i].y < 0 || p[i].y > 1)
    p[i].vy = -p[i].vy;
  if (p[i].z < 0 || p[i].z > 1)
    p[i].vz = -p[i].vz;
}

// Positions and moves are multiples of 1/4096, so every sum is exact.
const float dt = 1.0f / 4096;

static Particle start(int i) {
  unsigned a = i * 2654435761u, b = (a ^ a >> 15) * 2246822519u;
  Particle p;
  p.x = (a >> 20) * dt;
  p.y = (b >> 20) * dt;
  p.z = (b & 4095) * dt;
  p.vx = (int)(a >> 14 & 63) - 32;
  p.vy = (int)(a >> 8 & 63) - 32;
  p.vz = (int)(b >> 13 & 63) - 32;
  p.mass = p.age = 1;
  p.charge = i % 2 ? 1 : -1;
  p.id = i;
  return p;
}

static void bounce(float &x, float &v) {
  x += v * dt;
  if (x < 0 || x > 1)
    v = -v;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 8 << 20;
  int steps = argc > 2 ? atoi(argv[2]) : 20;

  Particle *particles, *d_particles;
  CHECK(cudaMallocHost(&particles, n * sizeof(Particle)));
  CHECK(cudaMalloc(&d_particles, n * sizeof(Particle)));
  for (int i = 0; i < n; ++i)
    particles[i] = start(i);

  cudaStream_t stream;
  cudaEvent_t begin, end;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));

  int blocks = (n + 255) / 256;
  CHECK(cudaMemcpyAsync(d_particles, particles, n * sizeof(Particle), cudaMemcpyHostToDevice, stream));
  drift<<<blocks, 256, 0, stream>>>(d_particles, n, dt); // warm-up
  CHECK(cudaEventRecord(begin, stream));
  for (int s = 0; s < steps; ++s)
    drift<<<blocks, 256, 0, stream>>>(d_particles, n, dt);
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end, stream));
  CHECK(cudaMemcpyAsync(particles, d_particles, n * sizeof(Particle), cudaMemcpyDeviceToHost, stream));
  CHECK(cudaStreamSynchronize(stream));

  unsigned long long check = 0;
  for (int i = 0; i < n; ++i) {
    const Particle &p = particles[i];
    check = check * 31 + (long long)(4096 * p.x + 4096 * p.y + 4096 * p.z) + p.id;
  }
  for (int s = 0; s < 1000; ++s) {
    int i = (n - 1LL) * s / 999;
    Particle p = start(i), q = particles[i];
    for (int k = 0; k <= steps; ++k) {
      bounce(p.x, p.vx);
      bounce(p.y, p.vy);
      bounce(p.z, p.vz);
    }
    if (p.x != q.x || p.y != q.y || p.z != q.z || p.charge != q.charge || p.id != q.id) {
      fprintf(stderr, "particle %d is at %g %g %g, expected %g %g %g\n", i, q.x, q.y, q.z, p.x, p.y, p.z);
      return 1;
    }
  }

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / steps);
  CHECK(cudaFree(d_particles));
  CHECK(cudaFreeHost(particles));
}
