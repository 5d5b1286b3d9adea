// Two colliding disks of stars: all pairs, a tile of stars at a time in shared
// memory, leapfrog steps, and the radii of the stars in a histogram.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace {

void Must(cudaError_t status, const char* file, int line) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s:%d: %s\n", file, line, cudaGetErrorString(status));
  std::exit(1);
}
#define MUST(call) Must((call), __FILE__, __LINE__)

struct Vec3 {
  float x, y, z;
};

__host__ __device__ inline Vec3 operator-(Vec3 a, Vec3 b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
__host__ __device__ inline Vec3 MulAdd(float s, Vec3 a, Vec3 b) {
  return {b.x + s * a.x, b.y + s * a.y, b.z + s * a.z};
}
__host__ __device__ inline float Dot(Vec3 a, Vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

struct Orbit {
  Vec3 position;
  Vec3 velocity;
  Vec3 acceleration;
};

struct Star {
  Orbit orbit;
  float mass;
  float potential;
  float age, metallicity;
  int disk;
};

struct RadiusBin {
  int stars[2];
  int fast;
  int bound;
};

struct Gravity {
  float g;
  float softening2;
};
__constant__ Gravity gravity = {1.0f, 0.01f};
__constant__ float inverse_bin_width = 16.0f;

constexpr int kTile = 256;

__global__ void Accelerate(Star* stars, int n) {
  __shared__ float4 tile[kTile];
  const int i = blockIdx.x * kTile + threadIdx.x;
  const Vec3 me = stars[min(i, n - 1)].orbit.position;
  Vec3 a = {0, 0, 0};
  float potential = 0;
  for (int base = 0; base < n; base += kTile) {
    const int j = base + threadIdx.x;
    if (j < n) {
      const Vec3 p = stars[j].orbit.position;
      tile[threadIdx.x] = make_float4(p.x, p.y, p.z, stars[j].mass);
    } else {
      tile[threadIdx.x] = make_float4(0, 0, 0, 0);
    }
    __syncthreads();
#pragma unroll 16
    for (int k = 0; k < kTile; ++k) {
      const float4 other = tile[k];
      const Vec3 d = Vec3{other.x, other.y, other.z} - me;
      const float inverse = rsqrtf(Dot(d, d) + gravity.softening2);
      const float pull = other.w * inverse;
      potential -= pull;
      a = MulAdd(pull * inverse * inverse, d, a);
    }
    __syncthreads();
  }
  if (i < n) {
    stars[i].orbit.acceleration = {gravity.g * a.x, gravity.g * a.y, gravity.g * a.z};
    stars[i].potential = gravity.g * potential;
  }
}

__global__ void KickDrift(Star* stars, int n, float kick, float drift) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Orbit o = stars[i].orbit;
  o.velocity = MulAdd(kick, o.acceleration, o.velocity);
  o.position = MulAdd(drift, o.velocity, o.position);
  stars[i].orbit = o;
}

__global__ void Histogram(const Star* stars, int n, RadiusBin* bins, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const Vec3 p = stars[i].orbit.position, v = stars[i].orbit.velocity;
  const int bin = min((int)(sqrtf(Dot(p, p)) * inverse_bin_width), count - 1);
  const float kinetic = 0.5f * Dot(v, v);
  atomicAdd(&bins[bin].stars[stars[i].disk], 1);
  if (kinetic > 0.5f) atomicAdd(&bins[bin].fast, 1);
  if (kinetic + stars[i].potential < 0) atomicAdd(&bins[bin].bound, 1);
}

template <int Block>
class Galaxy {
 public:
  Galaxy(int n, float dt) : n_(n), dt_(dt), stars_(n) {
    unsigned seed = 2024;
    auto uniform = [&seed] {
      seed = seed * 1664525u + 1013904223u;
      return static_cast<float>(seed >> 8) / (1 << 24);
    };
    for (int i = 0; i < n_; ++i) {
      Star& s = stars_[i];
      const int disk = i & 1;
      const float r = 0.1f + 2 * std::sqrt(uniform()), angle = 6.2831853f * uniform();
      const float speed = std::sqrt(0.5f * r / (r + 0.5f));
      s.orbit.position = {r * std::cos(angle) + (disk ? 3.0f : -3.0f), r * std::sin(angle), 0.1f * (uniform() - 0.5f)};
      s.orbit.velocity = {-speed * std::sin(angle) + (disk ? -0.3f : 0.3f), speed * std::cos(angle), 0};
      s.orbit.acceleration = {0, 0, 0};
      s.mass = (0.5f + uniform()) / n_;
      s.potential = 0;
      s.age = 10 * uniform();
      s.metallicity = 0.02f * uniform();
      s.disk = disk;
    }
    MUST(cudaMalloc(&d_stars_, n_ * sizeof(Star)));
    MUST(cudaMalloc(&d_bins_, bins_ * sizeof(RadiusBin)));
    MUST(cudaMemcpy(d_stars_, stars_.data(), n_ * sizeof(Star), cudaMemcpyHostToDevice));
    MUST(cudaMemset(d_bins_, 0, bins_ * sizeof(RadiusBin)));
  }
  ~Galaxy() {
    cudaFree(d_stars_);
    cudaFree(d_bins_);
  }
  void Step() {
    Accelerate<<<(n_ + kTile - 1) / kTile, kTile>>>(d_stars_, n_);
    KickDrift<<<Blocks(), Block>>>(d_stars_, n_, dt_, dt_);
    Histogram<<<Blocks(), Block>>>(d_stars_, n_, d_bins_, bins_);
    MUST(cudaGetLastError());
  }
  unsigned long long Check() {
    std::vector<RadiusBin> bins(bins_);
    MUST(cudaMemcpy(stars_.data(), d_stars_, n_ * sizeof(Star), cudaMemcpyDeviceToHost));
    MUST(cudaMemcpy(bins.data(), d_bins_, bins_ * sizeof(RadiusBin), cudaMemcpyDeviceToHost));
    unsigned long long check = 0;
    for (const Star& s : stars_)
      check = check * 31 + std::llround(s.orbit.position.x * 256) + 3 * std::llround(s.orbit.velocity.y * 256) +
              5 * std::llround(s.potential * 256) + s.disk;
    for (const RadiusBin& b : bins) check = check * 31 + b.stars[0] + 3 * b.stars[1] + 5 * b.fast + 7 * b.bound;
    return check;
  }

 private:
  int Blocks() const { return (n_ + Block - 1) / Block; }
  int n_;
  int bins_ = 128;
  float dt_;
  std::vector<Star> stars_;
  Star* d_stars_ = nullptr;
  RadiusBin* d_bins_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  auto galaxy = std::make_unique<Galaxy<128>>(argc > 1 ? std::atoi(argv[1]) : 50000, 1.0f / 512);
  cudaEvent_t start, stop;
  MUST(cudaEventCreate(&start));
  MUST(cudaEventCreate(&stop));
  const int steps = 40;
  galaxy->Step();
  MUST(cudaEventRecord(start));
  for (int s = 0; s < steps; ++s) galaxy->Step();
  MUST(cudaEventRecord(stop));
  MUST(cudaEventSynchronize(stop));
  float ms = 0;
  MUST(cudaEventElapsedTime(&ms, start, stop));
  std::printf("check %llu\ntime_ms %.4f\n", galaxy->Check(), ms / steps);
}
