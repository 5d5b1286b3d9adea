// Smoothed-particle hydrodynamics over a cell list: densities, then forces.
//
// A particle gathers its neighbours through an index array. The density pass
// wants three fields of each neighbour, the force pass all eight: one layout
// has to serve both.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

inline void checkCuda(cudaError_t result, int line) {
  if (result != cudaSuccess) {
    fprintf(stderr, "line %d: CUDA error %s\n", line, cudaGetErrorString(result));
    exit(1);
  }
}
#define CK(call) checkCuda((call), __LINE__)

struct Particle {
  float x, y, z;
  float vx, vy, vz;
  float density, pressure;
};

struct Accel {
  float x, y, z;
};

// The unit box cut into side^3 cells as wide as the smoothing radius h.
struct Grid {
  int side;
  float h;
};

__host__ __device__ inline int slice(float x, Grid g) {
  int c = (int)(x * g.side);
  return c < 0 ? 0 : c >= g.side ? g.side - 1 : c;
}

// Cell k of the 27 around a point, or -1 outside the box; 13 is its own cell.
__host__ __device__ inline int cellNear(float x, float y, float z, int k, Grid g) {
  int cx = slice(x, g) + k % 3 - 1, cy = slice(y, g) + k / 3 % 3 - 1, cz = slice(z, g) + k / 9 - 1;
  bool inside = cx >= 0 && cy >= 0 && cz >= 0 && cx < g.side && cy < g.side && cz < g.side;
  return inside ? (cz * g.side + cy) * g.side + cx : -1;
}

// Sum of the smoothing kernel over the particles listed in order[begin..end).
__device__ float densityOf(const Particle *p, const int *order, int begin, int end, float x, float y, float z,
                           float h) {
  float sum = 0;
  for (int k = begin; k < end; ++k) {
    int j = order[k];
    float dx = p[j].x - x, dy = p[j].y - y, dz = p[j].z - z;
    float q = 1.0f - (dx * dx + dy * dy + dz * dz) / (h * h);
    if (q > 0)
      sum += q * q * q;
  }
  return sum;
}

__global__ void densities(Particle *p, const int *order, const int *cellStart, const int *cellEnd, int n, Grid g) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  Particle &self = p[i];
  float x = self.x, y = self.y, z = self.z, sum = 0;
  for (int k = 0; k < 27; ++k) {
    int c = cellNear(x, y, z, k, g);
    if (c >= 0)
      sum += densityOf(p, order, cellStart[c], cellEnd[c], x, y, z, g.h);
  }
  self.density = sum;
  self.pressure = 0.5f * (sum - 3.0f);
}

__global__ void forces(const Particle *__restrict__ p, Accel *__restrict__ accel, const int *__restrict__ order,
                       const int *__restrict__ cellStart, const int *__restrict__ cellEnd, int n, Grid g) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  Particle me = p[i];
  float ax = 0, ay = 0, az = 0;
  for (int k = 0; k < 27; ++k) {
    int c = cellNear(me.x, me.y, me.z, k, g);
    if (c < 0)
      continue;
    int end = cellEnd[c];
    for (int m = cellStart[c]; m < end; ++m) {
      int j = order[m];
      float dx = me.x - p[j].x, dy = me.y - p[j].y, dz = me.z - p[j].z;
      float q = 1.0f - (dx * dx + dy * dy + dz * dz) / (g.h * g.h);
      if (q <= 0)
        continue;
      float push = (me.pressure + p[j].pressure) * q * q / (p[j].density * g.h);
      float drag = 0.1f * q / p[j].density;
      ax += push * dx - drag * (me.vx - p[j].vx);
      ay += push * dy - drag * (me.vy - p[j].vy);
      az += push * dz - drag * (me.vz - p[j].vz);
    }
  }
  accel[i].x = ax;
  accel[i].y = ay;
  accel[i].z = az;
}

static float uniform(unsigned long long k) {
  k = (k + 1) * 0x9e3779b97f4a7c15ull;
  k = (k ^ k >> 32) * 0xd6e8feb86659fd93ull;
  return (k >> 40) / 16777216.0f;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 20;
  Grid g;
  g.side = std::max(1, (int)cbrt(n / 4.0));
  g.h = 1.0f / g.side;
  int cells = g.side * g.side * g.side;

  std::vector<Particle> h_p(n);
  std::vector<int> home(n), cellStart(cells), cellEnd(cells), order(n);
  for (int i = 0; i < n; ++i) {
    Particle &p = h_p[i];
    p.x = uniform(6ull * i);
    p.y = uniform(6ull * i + 1);
    p.z = uniform(6ull * i + 2);
    p.vx = uniform(6ull * i + 3) - 0.5f;
    p.vy = uniform(6ull * i + 4) - 0.5f;
    p.vz = uniform(6ull * i + 5) - 0.5f;
    p.density = p.pressure = 0;
    home[i] = cellNear(p.x, p.y, p.z, 13, g);
    ++cellEnd[home[i]];
  }
  for (int c = 1; c < cells; ++c) // counts become ends, then starts
    cellEnd[c] += cellEnd[c - 1];
  cellStart = cellEnd;
  for (int i = n - 1; i >= 0; --i)
    order[--cellStart[home[i]]] = i;

  // Whole blocks are allocated, the particles in use are copied.
  size_t capacity = (n + 255) / 256 * 256;
  Particle *d_p;
  Accel *d_accel;
  int *d_order, *d_start, *d_end;
  CK(cudaMalloc(&d_p, capacity * sizeof(Particle)));
  CK(cudaMalloc(&d_accel, capacity * sizeof(*d_accel)));
  CK(cudaMalloc(&d_order, n * sizeof(int)));
  CK(cudaMalloc(&d_start, cells * sizeof(int)));
  CK(cudaMalloc(&d_end, cells * sizeof(int)));
  CK(cudaMemcpy(d_p, h_p.data(), n * sizeof(Particle), cudaMemcpyHostToDevice));
  CK(cudaMemcpy(d_order, order.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  CK(cudaMemcpy(d_start, cellStart.data(), cells * sizeof(int), cudaMemcpyHostToDevice));
  CK(cudaMemcpy(d_end, cellEnd.data(), cells * sizeof(int), cudaMemcpyHostToDevice));

  cudaEvent_t begin, end;
  CK(cudaEventCreate(&begin));
  CK(cudaEventCreate(&end));
  const int repeats = 10;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CK(cudaEventRecord(begin));
    densities<<<capacity / 256, 256>>>(d_p, d_order, d_start, d_end, n, g);
    forces<<<capacity / 256, 256>>>(d_p, d_accel, d_order, d_start, d_end, n, g);
  }
  CK(cudaGetLastError());
  CK(cudaEventRecord(end));
  CK(cudaEventSynchronize(end));
  std::vector<Accel> h_accel(n);
  CK(cudaMemcpy(h_p.data(), d_p, n * sizeof(Particle), cudaMemcpyDeviceToHost));
  CK(cudaMemcpy(h_accel.data(), d_accel, n * sizeof(Accel), cudaMemcpyDeviceToHost));

  for (int s = 0; s < 200; ++s) {
    int i = (n - 1LL) * s / 199;
    const Particle &me = h_p[i];
    double density = 0, ax = 0, scale = 1;
    for (int k = 0; k < 27; ++k) {
      int c = cellNear(me.x, me.y, me.z, k, g);
      if (c < 0)
        continue;
      for (int m = cellStart[c]; m < cellEnd[c]; ++m) {
        const Particle &other = h_p[order[m]];
        double dx = me.x - other.x, dy = me.y - other.y, dz = me.z - other.z;
        double q = fmax(0, 1 - (dx * dx + dy * dy + dz * dz) / ((double)g.h * g.h));
        double push = (me.pressure + other.pressure) * q * q / (other.density * g.h);
        density += q * q * q;
        ax += push * dx - 0.1 * q / other.density * (me.vx - other.vx);
        scale += fabs(push * dx);
      }
    }
    if (fabs(density - me.density) > 1e-3 * density || fabs(ax - h_accel[i].x) > 1e-3 * scale) {
      fprintf(stderr, "particle %d: density %g, expected %g; acceleration %g, expected %g\n", i, me.density, density,
              h_accel[i].x, ax);
      return 1;
    }
  }

  unsigned long long check = 0;
  for (int i = 0; i < n; ++i)
    check = check * 31 + llround(h_p[i].density * 1e3) + 3 * llround(h_accel[i].x * 1e3) +
            5 * llround(h_accel[i].y * 1e3) + 7 * llround(h_accel[i].z * 1e3);
  float ms = 0;
  CK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  cudaFree(d_p);
  cudaFree(d_accel);
  cudaFree(d_order);
  cudaFree(d_start);
  cudaFree(d_end);
  return 0;
}
