// Two blocks of snow collide: material point method (MLS-MPM) in 2D with
// plastic snow, quadratic splines and a grid accumulated in fixed point.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA_CHECK(call)                                                                     \
  do {                                                                                       \
    cudaError_t err_ = (call);                                                               \
    if (err_ != cudaSuccess) {                                                               \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(err_));     \
      std::exit(EXIT_FAILURE);                                                               \
    }                                                                                        \
  } while (0)

struct Mat2 {
  float a, b, c, d;  // rows (a b) (c d)
};

__host__ __device__ inline Mat2 mul(const Mat2& m, const Mat2& n) {
  return {m.a * n.a + m.b * n.c, m.a * n.b + m.b * n.d, m.c * n.a + m.d * n.c, m.c * n.b + m.d * n.d};
}
__host__ __device__ inline Mat2 transpose(const Mat2& m) { return {m.a, m.c, m.b, m.d}; }

struct Particle {
  float x, y;
  float vx, vy;
  Mat2 F;    // elastic part of the deformation
  Mat2 C;    // affine velocity field
  float Jp;  // plastic volume ratio
  float mass;
  float volume;
  int block;
};

struct GridNode {
  unsigned long long px, py;  // momentum, fixed point
  unsigned mass;              // fixed point
  float vx, vy;
};

struct SimParams {
  int n;
  int grid;
  float dx, inv_dx, dt;
  float mu0, lambda0;
  float gravity;
};

constexpr int kThreads = 128;
constexpr float kMassScale = 65536.0f;
constexpr float kMomentumScale = 1048576.0f;

__device__ inline void add_fixed(unsigned long long* target, float value) {
  atomicAdd(target, static_cast<unsigned long long>(__float2ll_rn(value * kMomentumScale)));
}

__device__ inline void spline(float f, float w[3]) {
  w[0] = 0.5f * (1.5f - f) * (1.5f - f);
  w[1] = 0.75f - (f - 1.0f) * (f - 1.0f);
  w[2] = 0.5f * (f - 0.5f) * (f - 0.5f);
}

// Rotation of the polar decomposition F = R S.
__device__ inline Mat2 polar_rotation(const Mat2& F) {
  const float x = F.a + F.d, y = F.c - F.b;
  const float s = rsqrtf(fmaxf(x * x + y * y, 1e-20f));
  return {x * s, -y * s, y * s, x * s};
}

// Return mapping: clamps the singular values of F, the rest goes into Jp.
__global__ void project_plasticity(Particle* particles, SimParams p) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= p.n) return;
  const Mat2 C = particles[i].C;
  const Mat2 F = mul({1 + p.dt * C.a, p.dt * C.b, p.dt * C.c, 1 + p.dt * C.d}, particles[i].F);
  const Mat2 R = polar_rotation(F);
  const Mat2 S = mul(transpose(R), F);
  const float mean = 0.5f * (S.a + S.d), diff = 0.5f * (S.a - S.d), off = 0.5f * (S.b + S.c);
  const float radius = sqrtf(diff * diff + off * off);
  const float s1 = mean + radius, s2 = mean - radius;
  const float t1 = fminf(fmaxf(s1, 1 - 2.5e-2f), 1 + 4.5e-3f);
  const float t2 = fminf(fmaxf(s2, 1 - 2.5e-2f), 1 + 4.5e-3f);
  const float c2 = radius > 1e-9f ? diff / radius : 1.0f;
  const float d2 = radius > 1e-9f ? off / radius : 0.0f;
  const float m = 0.5f * (t1 + t2), r = 0.5f * (t1 - t2);
  particles[i].F = mul(R, {m + r * c2, r * d2, r * d2, m - r * c2});
  particles[i].Jp = fminf(fmaxf(particles[i].Jp * s1 * s2 / (t1 * t2), 0.6f), 20.0f);
}

__global__ void particles_to_grid(const Particle* particles, GridNode* grid, SimParams p) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= p.n) return;
  const Particle pt = particles[i];
  const float hardening = expf(fminf(10.0f * (1.0f - pt.Jp), 1.5f));
  const float mu = p.mu0 * hardening, lambda = p.lambda0 * hardening;
  const Mat2 R = polar_rotation(pt.F);
  const float J = pt.F.a * pt.F.d - pt.F.b * pt.F.c;
  Mat2 stress = mul({pt.F.a - R.a, pt.F.b - R.b, pt.F.c - R.c, pt.F.d - R.d}, transpose(pt.F));
  const float pressure = lambda * J * (J - 1);
  const float k = -p.dt * pt.volume * 4 * p.inv_dx * p.inv_dx;
  const Mat2 affine = {k * (2 * mu * stress.a + pressure) + pt.mass * pt.C.a, k * 2 * mu * stress.b + pt.mass * pt.C.b,
                       k * 2 * mu * stress.c + pt.mass * pt.C.c, k * (2 * mu * stress.d + pressure) + pt.mass * pt.C.d};

  const int bx = static_cast<int>(pt.x * p.inv_dx - 0.5f), by = static_cast<int>(pt.y * p.inv_dx - 0.5f);
  const float fx = pt.x * p.inv_dx - bx, fy = pt.y * p.inv_dx - by;
  float wx[3], wy[3];
  spline(fx, wx);
  spline(fy, wy);
#pragma unroll
  for (int dy = 0; dy < 3; ++dy) {
#pragma unroll
    for (int dx = 0; dx < 3; ++dx) {
      const float w = wx[dx] * wy[dy];
      const float ox = (dx - fx) * p.dx, oy = (dy - fy) * p.dx;
      GridNode* node = &grid[(by + dy) * p.grid + bx + dx];
      add_fixed(&node->px, w * (pt.mass * pt.vx + affine.a * ox + affine.b * oy));
      add_fixed(&node->py, w * (pt.mass * pt.vy + affine.c * ox + affine.d * oy));
      atomicAdd(&node->mass, __float2uint_rn(w * pt.mass * kMassScale));
    }
  }
}

__global__ void update_grid(GridNode* grid, SimParams p) {
  const int node = blockIdx.x * blockDim.x + threadIdx.x;
  if (node >= p.grid * p.grid) return;
  const unsigned mass = grid[node].mass;
  if (mass == 0) return;
  const float inv_mass = kMassScale / mass;
  float vx = static_cast<long long>(grid[node].px) / kMomentumScale * inv_mass;
  float vy = static_cast<long long>(grid[node].py) / kMomentumScale * inv_mass - p.dt * p.gravity;
  const int ix = node % p.grid, iy = node / p.grid;
  if (ix < 3) vx = fmaxf(vx, 0.0f);
  if (ix >= p.grid - 3) vx = fminf(vx, 0.0f);
  if (iy < 3) {
    vx *= 0.5f;
    vy = fmaxf(vy, 0.0f);
  }
  if (iy >= p.grid - 3) vy = fminf(vy, 0.0f);
  grid[node].vx = vx;
  grid[node].vy = vy;
}

__global__ void grid_to_particles(Particle* particles, const GridNode* grid, SimParams p) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= p.n) return;
  Particle& pt = particles[i];
  const float x = pt.x, y = pt.y;
  const int bx = static_cast<int>(x * p.inv_dx - 0.5f), by = static_cast<int>(y * p.inv_dx - 0.5f);
  const float fx = x * p.inv_dx - bx, fy = y * p.inv_dx - by;
  float wx[3], wy[3];
  spline(fx, wx);
  spline(fy, wy);
  float vx = 0, vy = 0;
  Mat2 C = {0, 0, 0, 0};
#pragma unroll
  for (int dy = 0; dy < 3; ++dy) {
#pragma unroll
    for (int dx = 0; dx < 3; ++dx) {
      const GridNode& node = grid[(by + dy) * p.grid + bx + dx];
      const float w = wx[dx] * wy[dy];
      const float gx = w * node.vx, gy = w * node.vy;
      vx += gx;
      vy += gy;
      C.a += gx * (dx - fx);
      C.b += gx * (dy - fy);
      C.c += gy * (dx - fx);
      C.d += gy * (dy - fy);
    }
  }
  const float k = 4 * p.inv_dx;
  const float low = 3 * p.dx, high = 1 - 3 * p.dx;
  pt.vx = vx;
  pt.vy = vy;
  pt.C = {k * C.a, k * C.b, k * C.c, k * C.d};
  pt.x = fminf(fmaxf(x + p.dt * vx, low), high);
  pt.y = fminf(fmaxf(y + p.dt * vy, low), high);
}

static float uniform(uint32_t& state) {
  state = state * 1664525u + 1013904223u;
  return (state >> 8) * (1.0f / 16777216.0f);
}

int main(int argc, char** argv) {
  SimParams p;
  p.n = argc > 1 ? std::max(std::atoi(argv[1]), 64) : 1500000;
  p.grid = std::max(32, (static_cast<int>(std::sqrt(p.n / 6.4)) + 15) / 16 * 16);
  p.dx = 1.0f / p.grid;
  p.inv_dx = static_cast<float>(p.grid);
  p.dt = 0.01f / p.grid;
  const float young = 1e3f, poisson = 0.2f;
  p.mu0 = young / (2 * (1 + poisson));
  p.lambda0 = young * poisson / ((1 + poisson) * (1 - 2 * poisson));
  p.gravity = 9.8f;

  // Each block is a jittered lattice of four by four particles in a cell.
  std::vector<Particle> particles(p.n);
  const int half = (p.n + 1) / 2, columns = static_cast<int>(1.6f * p.grid);
  uint32_t seed = 88;
  for (int i = 0; i < p.n; ++i) {
    const int block = i / half, k = i % half;
    Particle& pt = particles[i];
    pt.x = (block ? 0.465f : 0.06f) + (k % columns + uniform(seed)) * 0.25f * p.dx;
    pt.y = (block ? 0.30f : 0.10f) + (k / columns + uniform(seed)) * 0.25f * p.dx;
    pt.vx = block ? -6.0f : 6.0f;
    pt.vy = block ? -2.0f : 0.0f;
    pt.F = {1, 0, 0, 1};
    pt.C = {0, 0, 0, 0};
    pt.Jp = 1;
    pt.mass = pt.volume = 0.75f + 0.5f * uniform(seed);
    pt.block = block;
  }
  const int nodes = p.grid * p.grid;
  Particle* d_particles;
  GridNode* d_grid;
  CUDA_CHECK(cudaMalloc(&d_particles, p.n * sizeof(Particle)));
  CUDA_CHECK(cudaMalloc(&d_grid, nodes * sizeof(GridNode)));
  CUDA_CHECK(cudaMemcpy(d_particles, particles.data(), p.n * sizeof(Particle), cudaMemcpyHostToDevice));

  const int particle_blocks = (p.n + kThreads - 1) / kThreads, node_blocks = (nodes + kThreads - 1) / kThreads;
  auto step = [&] {
    CUDA_CHECK(cudaMemsetAsync(d_grid, 0, nodes * sizeof(GridNode)));
    project_plasticity<<<particle_blocks, kThreads>>>(d_particles, p);
    particles_to_grid<<<particle_blocks, kThreads>>>(d_particles, d_grid, p);
    update_grid<<<node_blocks, kThreads>>>(d_grid, p);
    grid_to_particles<<<particle_blocks, kThreads>>>(d_particles, d_grid, p);
    CUDA_CHECK(cudaGetLastError());
  };
  cudaEvent_t start, stop;
  CUDA_CHECK(cudaEventCreate(&start));
  CUDA_CHECK(cudaEventCreate(&stop));
  const int steps = 40;
  step();
  CUDA_CHECK(cudaEventRecord(start));
  for (int s = 0; s < steps; ++s) step();
  CUDA_CHECK(cudaEventRecord(stop));
  CUDA_CHECK(cudaEventSynchronize(stop));
  float ms = 0;
  CUDA_CHECK(cudaEventElapsedTime(&ms, start, stop));

  CUDA_CHECK(cudaMemcpy(particles.data(), d_particles, p.n * sizeof(Particle), cudaMemcpyDeviceToHost));
  // Means: what one particle does depends on how products and sums are contracted.
  double x = 0, y = 0, energy = 0, volume = 0;
  for (const Particle& pt : particles) {
    x += pt.x;
    y += pt.y;
    energy += pt.vx * pt.vx + pt.vy * pt.vy;
    volume += pt.Jp;
  }
  const unsigned long long check = std::llround(10000 * x / p.n) + 31 * std::llround(10000 * y / p.n) +
                                   961 * std::llround(100 * energy / p.n) + 29791 * std::llround(1000 * volume / p.n);
  CUDA_CHECK(cudaFree(d_particles));
  CUDA_CHECK(cudaFree(d_grid));
  std::printf("check %llu\ntime_ms %.4f\n", check, ms / steps);
  return 0;
}
