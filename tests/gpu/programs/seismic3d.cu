/* Acoustic wave propagation, eighth order in space, with a sponge at the
 * borders, an imaging condition and a line of geophones at the surface. */
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define GPU(call)                                                       \
  {                                                                     \
    const cudaError_t rc = call;                                        \
    if (rc != cudaSuccess) {                                            \
      fprintf(stderr, "GPU: %s (%d)\n", cudaGetErrorString(rc), __LINE__); \
      exit(2);                                                          \
    }                                                                   \
  }

constexpr int kRadius = 4;

typedef struct {
  float wave[2];   // now and before, in turns
  float courant2;  // (c dt / h)^2
  float sponge;
  float image;
  int layer;
} EarthPoint;

typedef struct {
  int x, y;
  float trace;
  float peak;
  int arrival;
  int pad;
} Geophone;

struct Grid {
  int nx, ny, nz;
  long long strideY, strideZ;  // with the halo
  long long origin;            // of the first inner point
  long long total;
  float h, dt;
};

static Grid make_grid(int n) {
  Grid g;
  g.nx = n;
  g.ny = n;
  g.nz = n / 2;
  g.strideY = n + 2 * kRadius;
  g.strideZ = g.strideY * (g.ny + 2 * kRadius);
  g.origin = kRadius * (1 + g.strideY + g.strideZ);
  g.total = g.strideZ * (g.nz + 2 * kRadius);
  g.h = 10.0f;
  g.dt = 0.001f;
  return g;
}

__constant__ float c_laplace[kRadius + 1];

template <int NOW>
__global__ void propagate(EarthPoint *earth, Grid g) {
  int ix = blockIdx.x * blockDim.x + threadIdx.x;
  int iy = blockIdx.y * blockDim.y + threadIdx.y;
  int iz = blockIdx.z;
  if (ix >= g.nx || iy >= g.ny) return;
  long long at = g.origin + iz * g.strideZ + iy * g.strideY + ix;
  float centre = earth[at].wave[NOW];
  float lap = 3.0f * c_laplace[0] * centre;
#pragma unroll
  for (int r = 1; r <= kRadius; ++r)
    lap += c_laplace[r] * (earth[at + r].wave[NOW] + earth[at - r].wave[NOW] +
                           earth[at + r * g.strideY].wave[NOW] + earth[at - r * g.strideY].wave[NOW] +
                           earth[at + r * g.strideZ].wave[NOW] + earth[at - r * g.strideZ].wave[NOW]);
  float damp = earth[at].sponge;
  float next = (2.0f * centre - damp * earth[at].wave[1 - NOW] + earth[at].courant2 * lap) * damp;
  earth[at].wave[1 - NOW] = next;
}

__global__ void inject(EarthPoint *earth, Grid g, int which, float amplitude) {
  int k = threadIdx.x;  // a short line of sources
  long long at = g.origin + (g.nz / 8) * g.strideZ + (g.ny / 2) * g.strideY + g.nx / 2 - blockDim.x / 2 + k;
  earth[at].wave[which] += amplitude * g.dt / (1.0f + 0.1f * k);
}

__global__ void correlate(EarthPoint *earth, Grid g) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < g.total) {
    float u = earth[i].wave[0];
    earth[i].image += u * u;
  }
}

__global__ void record(const EarthPoint *earth, Geophone *phones, int count, Grid g, int step) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  Geophone p = phones[i];
  float u = earth[g.origin + p.y * g.strideY + p.x].wave[0];
  p.trace += u;
  if (fabsf(u) > p.peak) {
    p.peak = fabsf(u);
    p.arrival = step;
  }
  phones[i] = p;
}

int main(int argc, char **argv) {
  const Grid g = make_grid(argc > 1 ? atoi(argv[1]) : 320);
  const float laplace[kRadius + 1] = {-205.f / 72, 8.f / 5, -1.f / 5, 8.f / 315, -1.f / 560};
  GPU(cudaMemcpyToSymbol(c_laplace, laplace, sizeof laplace));

  std::vector<EarthPoint> earth(g.total);
  for (long long i = 0; i < g.total; ++i) {
    int z = (int)(i / g.strideZ) - kRadius;
    int y = (int)(i % g.strideZ / g.strideY) - kRadius;
    int x = (int)(i % g.strideY) - kRadius;
    bool inside = x >= 0 && x < g.nx && y >= 0 && y < g.ny && z >= 0 && z < g.nz;
    int layer = (z + x / 16) / 24;
    float c = 1500.f + 250.f * (layer % 8) + (float)((i * 2654435761ull >> 20) % 64);
    int edge = std::min(std::min(std::min(x, g.nx - 1 - x), std::min(y, g.ny - 1 - y)), g.nz - 1 - z);
    EarthPoint &e = earth[i];
    e.wave[0] = e.wave[1] = 0.f;
    e.courant2 = inside ? c * c * g.dt * g.dt / (g.h * g.h) : 0.f;
    e.sponge = edge < 20 ? 1.f - 0.0002f * (20 - edge) : 1.f;
    e.image = 0.f;
    e.layer = layer;
  }
  int count = g.nx / 2;
  std::vector<Geophone> phones(count);
  for (int i = 0; i < count; ++i) phones[i] = {2 * i, g.ny / 2, 0.f, 0.f, 0, 0};

  EarthPoint *d_earth;
  Geophone *d_phones;
  GPU(cudaMalloc((void **)&d_earth, g.total * sizeof(EarthPoint)));
  GPU(cudaMalloc((void **)&d_phones, count * sizeof(Geophone)));
  GPU(cudaMemcpy(d_earth, earth.data(), g.total * sizeof(EarthPoint), cudaMemcpyHostToDevice));
  GPU(cudaMemcpy(d_phones, phones.data(), count * sizeof(Geophone), cudaMemcpyHostToDevice));

  dim3 block(32, 8), blocks((g.nx + 31) / 32, (g.ny + 7) / 8, g.nz);
  cudaEvent_t before, after;
  GPU(cudaEventCreate(&before));
  GPU(cudaEventCreate(&after));
  const int warm = 2, steps = 80;  // each of two time steps
  for (int s = 0; s < warm + steps; ++s) {
    if (s == warm) GPU(cudaEventRecord(before));
    float t = (2 * s - 60) * 0.05f;
    float ricker = 1e6f * (1.f - 2.f * t * t) * expf(-t * t);
    propagate<0><<<blocks, block>>>(d_earth, g);
    inject<<<1, 32>>>(d_earth, g, 1, ricker);
    propagate<1><<<blocks, block>>>(d_earth, g);
    inject<<<1, 32>>>(d_earth, g, 0, ricker);
    correlate<<<(unsigned)((g.total + 255) / 256), 256>>>(d_earth, g);
    record<<<(count + 63) / 64, 64>>>(d_earth, d_phones, count, g, s);
  }
  GPU(cudaGetLastError());
  GPU(cudaEventRecord(after));
  GPU(cudaEventSynchronize(after));

  GPU(cudaMemcpy(earth.data(), d_earth, g.total * sizeof(EarthPoint), cudaMemcpyDeviceToHost));
  GPU(cudaMemcpy(phones.data(), d_phones, count * sizeof(Geophone), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const EarthPoint &e : earth)
    check = check * 31 + llround(e.wave[0] * 1e3) + 3 * llround(e.wave[1] * 1e3) + 5 * llround(e.image * 100) + e.layer;
  for (const Geophone &p : phones) check = check * 31 + llround(p.peak) + p.arrival;
  float ms;
  GPU(cudaEventElapsedTime(&ms, before, after));
  printf("check %llu\n", check);
  printf("time_ms %.4f\n", ms / steps);
  cudaFree(d_earth);
  cudaFree(d_phones);
  return 0;
}
