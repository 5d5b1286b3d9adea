// Particle effects of a game engine: emitters spawn particles, which fly under gravity,
// wind and drag, bounce off the terrain, die, are compacted (in order) and are turned
// into camera-facing quads for the renderer.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

static void checkCuda(cudaError_t err, const char* call, int line) {
  if (err == cudaSuccess) return;
  fprintf(stderr, "%s:%d: %s failed: %s\n", __FILE__, line, call, cudaGetErrorString(err));
  exit(EXIT_FAILURE);
}
#define CUDA_CHECK(call) checkCuda((call), #call, __LINE__)

constexpr int kBlock = 256;
constexpr int kTerrainSize = 1024;  // texels on a side, one metre each
constexpr int kNumEmitters = 320;
constexpr float kDt = 1.0f / 60.0f;
constexpr int kMeanLifeFrames = 120;

enum Material : uint8_t { kGrass, kRock, kSand, kWater };

struct Particle {
  float3 position;
  float age;
  float3 velocity;
  float lifetime;
  float size, rotation, spin;
  uint32_t tint;
  uint16_t emitter;
  uint8_t bounces, flags;
  __host__ __device__ bool alive() const { return age < lifetime; }
};

struct Emitter {
  float3 position, axis;
  float spread, speedMin, speedMax, lifeMin, lifeMax, sizeStart, sizeEnd;
  float drag, gravityScale, restitution, friction;
  uint32_t colorStart, colorEnd;
  float3 wind;
};

struct TerrainTexel {
  float height;
  int8_t nx, nz;
  uint8_t material, wetness;
};

struct SpriteVertex {
  float3 position;
  float u, v;
  uint32_t color;
};

struct Counters {
  uint32_t alive, simulated, collisions, drowned;
};

struct Camera {
  float3 right, up, eye;
};

__host__ __device__ inline float3 operator+(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
__host__ __device__ inline float3 operator-(float3 a, float3 b) { return make_float3(a.x - b.x, a.y - b.y, a.z - b.z); }
__host__ __device__ inline float3 operator*(float3 a, float s) { return make_float3(a.x * s, a.y * s, a.z * s); }
__host__ __device__ inline float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

__host__ __device__ inline uint32_t hash32(uint32_t x) {
  x = (x ^ x >> 16) * 0x7feb352du;
  x = (x ^ x >> 15) * 0x846ca68bu;
  return x ^ x >> 16;
}

__host__ __device__ inline float nextFloat(uint32_t& state) {
  state = state * 1664525u + 1013904223u;
  return (float)(state >> 8) * (1.0f / 16777216.0f);
}

__host__ __device__ inline void spawnParticle(Particle& p, const Emitter& e, int emitterIndex, uint32_t seed) {
  uint32_t rng = hash32(seed);
  const float phi = 6.2831853f * nextFloat(rng);
  const float r = e.spread * sqrtf(nextFloat(rng));
  const float speed = e.speedMin + (e.speedMax - e.speedMin) * nextFloat(rng);
  const float3 dir = e.axis + make_float3(r * cosf(phi), 0.25f * r * (nextFloat(rng) - 0.5f), r * sinf(phi));
  p.position = e.position + dir * (0.3f * nextFloat(rng));
  p.velocity = dir * speed;
  p.age = kDt * nextFloat(rng);
  p.lifetime = e.lifeMin + (e.lifeMax - e.lifeMin) * nextFloat(rng);
  p.size = e.sizeStart;
  p.rotation = 6.2831853f * nextFloat(rng);
  p.spin = 4.0f * (nextFloat(rng) - 0.5f);
  p.tint = 192 + (hash32(rng) & 63);
  p.emitter = (uint16_t)emitterIndex;
  p.bounces = p.flags = 0;
}

// Last emitter whose first spawn is not after i.
__host__ __device__ inline int findEmitter(const int* spawnOffsets, int i) {
  int lo = 0, hi = kNumEmitters;
  while (hi - lo > 1) {
    const int mid = (lo + hi) / 2;
    (spawnOffsets[mid] <= i ? lo : hi) = mid;
  }
  return lo;
}

__global__ void emitKernel(Particle* particles, const Emitter* emitters, const int* spawnOffsets,
                           const Counters* counters, int spawnTotal, int capacity, uint32_t frame) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= spawnTotal) return;
  const int slot = (int)counters->alive + i;
  if (slot >= capacity) return;
  const int e = findEmitter(spawnOffsets, i);
  spawnParticle(particles[slot], emitters[e], e, frame * 0x9e3779b9u + i);
}

__device__ float sampleTerrain(const TerrainTexel* terrain, float x, float z, float3* normal, int* material) {
  const float fx = fminf(fmaxf(x, 0.0f), kTerrainSize - 1.001f);
  const float fz = fminf(fmaxf(z, 0.0f), kTerrainSize - 1.001f);
  const int ix = (int)fx, iz = (int)fz;
  const float tx = fx - ix, tz = fz - iz;
  const TerrainTexel* row = terrain + iz * kTerrainSize + ix;
  const float top = row[0].height + (row[1].height - row[0].height) * tx;
  const float bottom = row[kTerrainSize].height + (row[kTerrainSize + 1].height - row[kTerrainSize].height) * tx;
  const TerrainTexel& nearest = row[(tz > 0.5f ? kTerrainSize : 0) + (tx > 0.5f ? 1 : 0)];
  const float nx = nearest.nx * (1.0f / 127.0f), nz = nearest.nz * (1.0f / 127.0f);
  *normal = make_float3(nx, sqrtf(fmaxf(1.0f - nx * nx - nz * nz, 0.05f)), nz);
  *material = nearest.material;
  return top + (bottom - top) * tz;
}

__global__ void simulateKernel(Particle* particles, const Emitter* __restrict__ emitters,
                               const TerrainTexel* __restrict__ terrain, Counters* counters, int* blockCounts,
                               int spawnTotal, int capacity) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int count = min((int)counters->alive + spawnTotal, capacity);
  bool alive = false;
  if (i < count) {
    Particle& p = particles[i];
    const Emitter& e = emitters[p.emitter];
    p.age += kDt;
    float3 v = p.velocity;
    v = v + (e.wind - v) * (e.drag * kDt);
    v.y -= 9.81f * e.gravityScale * kDt;
    float3 x = p.position + v * kDt;

    float3 normal;
    int material;
    const float ground = sampleTerrain(terrain, x.x, x.z, &normal, &material);
    const float radius = 0.5f * p.size;
    if (x.y < ground + radius) {
      if (material == kWater) {
        p.age = p.lifetime;
        p.flags |= 2;
      } else {
        const float vn = dot(v, normal);
        if (vn < 0) {
          const float3 tangent = v - normal * vn;
          v = tangent * (1.0f - e.friction) - normal * (vn * e.restitution);
          p.spin *= 0.7f;
          p.bounces = (uint8_t)min(p.bounces + 1, 255);
          p.flags |= 1;
        }
        x.y = ground + radius;
      }
    }
    p.position = x;
    p.velocity = v;
    p.rotation += p.spin * kDt;
    const float t = fminf(p.age / p.lifetime, 1.0f);
    p.size = e.sizeStart + (e.sizeEnd - e.sizeStart) * t;
    alive = p.alive();
  }
  const int total = __syncthreads_count(alive);
  if (threadIdx.x == 0) blockCounts[blockIdx.x] = total;
}

// One block: exclusive scan of the counts of the blocks of the simulation.
__global__ void scanKernel(int* blockCounts, int numBlocks, Counters* counters, int spawnTotal, int capacity) {
  __shared__ int sums[1024];
  const int perThread = (numBlocks + 1023) / 1024;
  const int begin = min((int)threadIdx.x * perThread, numBlocks), end = min(begin + perThread, numBlocks);
  int local = 0;
  for (int b = begin; b < end; ++b) local += blockCounts[b];
  sums[threadIdx.x] = local;
  __syncthreads();
  for (int d = 1; d < 1024; d *= 2) {
    const int other = threadIdx.x >= d ? sums[threadIdx.x - d] : 0;
    __syncthreads();
    sums[threadIdx.x] += other;
    __syncthreads();
  }
  int offset = sums[threadIdx.x] - local;
  for (int b = begin; b < end; ++b) {
    const int c = blockCounts[b];
    blockCounts[b] = offset;
    offset += c;
  }
  if (threadIdx.x == 1023) {
    counters->simulated = min((int)counters->alive + spawnTotal, capacity);
    counters->alive = sums[1023];
    counters->collisions = counters->drowned = 0;
  }
}

__global__ void compactKernel(const Particle* __restrict__ src, Particle* __restrict__ dst,
                              const int* __restrict__ blockOffsets, Counters* counters) {
  __shared__ int warpCounts[kBlock / 32];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const bool inRange = i < (int)counters->simulated;
  const bool alive = inRange && src[i].alive();
  const unsigned mask = __ballot_sync(0xffffffffu, alive);
  const unsigned hits = __ballot_sync(0xffffffffu, alive && (src[i].flags & 1));
  const unsigned drowned = __ballot_sync(0xffffffffu, inRange && (src[i].flags & 2));
  if (lane == 0) {
    warpCounts[warp] = __popc(mask);
    if (hits) atomicAdd(&counters->collisions, (uint32_t)__popc(hits));
    if (drowned) atomicAdd(&counters->drowned, (uint32_t)__popc(drowned));
  }
  __syncthreads();
  if (!alive) return;
  int slot = blockOffsets[blockIdx.x] + __popc(mask & ((1u << lane) - 1));
  for (int w = 0; w < warp; ++w) slot += warpCounts[w];
  Particle p = src[i];
  p.flags = 0;
  dst[slot] = p;
}

__device__ uint32_t blendColor(uint32_t a, uint32_t b, float t, uint32_t tint) {
  uint32_t out = 0;
#pragma unroll
  for (int shift = 0; shift < 32; shift += 8) {
    const float ca = (float)((a >> shift) & 255), cb = (float)((b >> shift) & 255);
    uint32_t c = (uint32_t)(ca + (cb - ca) * t);
    if (shift < 24) c = c * tint >> 8;
    out |= c << shift;
  }
  return out;
}

__global__ void buildSpritesKernel(const Particle* __restrict__ particles, const Emitter* __restrict__ emitters,
                                   SpriteVertex* __restrict__ vertices, const Counters* counters, Camera camera) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= (int)counters->alive) return;
  const Particle& p = particles[i];
  const Emitter& e = emitters[p.emitter];
  const float t = fminf(p.age / p.lifetime, 1.0f);
  const uint32_t color = blendColor(e.colorStart, e.colorEnd, t, p.tint);
  const float s = sinf(p.rotation) * p.size, c = cosf(p.rotation) * p.size;
  const float3 right = camera.right * c + camera.up * s;
  const float3 up = camera.up * c - camera.right * s;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const float u = (float)(k & 1), v = (float)(k >> 1);
    SpriteVertex& out = vertices[4 * (size_t)i + k];
    out.position = p.position + right * (u - 0.5f) + up * (v - 0.5f);
    out.u = u;
    out.v = v;
    out.color = color;
  }
}

static float terrainHeight(float x, float z) {
  return 12.0f * sinf(x * 0.013f) * cosf(z * 0.017f) + 3.0f * sinf(x * 0.071f + z * 0.053f) + 0.4f * sinf(x * 0.39f - z * 0.31f);
}

class ParticleSystem {
 public:
  explicit ParticleSystem(int capacity) : capacity_(capacity), numBlocks_((capacity + kBlock - 1) / kBlock) {
    allocate(particles_, capacity);
    allocate(scratch_, capacity);
    allocate(vertices_, 4 * (size_t)capacity);
    allocate(blockCounts_, numBlocks_);
    makeTerrain();
    makeEmitters();
    prefill();
  }
  ParticleSystem(const ParticleSystem&) = delete;
  ~ParticleSystem() {
    for (void* p : owned_) cudaFree(p);
  }

  void update(uint32_t frame) {
    emitKernel<<<(spawnTotal_ + kBlock - 1) / kBlock, kBlock>>>(particles_, emitters_, spawnOffsets_, counters_,
                                                               spawnTotal_, capacity_, frame);
    simulateKernel<<<numBlocks_, kBlock>>>(particles_, emitters_, terrain_, counters_, blockCounts_, spawnTotal_,
                                           capacity_);
    scanKernel<<<1, 1024>>>(blockCounts_, numBlocks_, counters_, spawnTotal_, capacity_);
    compactKernel<<<numBlocks_, kBlock>>>(particles_, scratch_, blockCounts_, counters_);
    std::swap(particles_, scratch_);
    buildSpritesKernel<<<numBlocks_, kBlock>>>(particles_, emitters_, vertices_, counters_, camera_);
    CUDA_CHECK(cudaGetLastError());
  }

  unsigned long long checksum() const {
    Counters c;
    CUDA_CHECK(cudaMemcpy(&c, counters_, sizeof c, cudaMemcpyDeviceToHost));
    std::vector<Particle> particles(c.alive);
    std::vector<SpriteVertex> vertices(4 * (size_t)c.alive);
    CUDA_CHECK(cudaMemcpy(particles.data(), particles_, c.alive * sizeof(Particle), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(vertices.data(), vertices_, 4 * (size_t)c.alive * sizeof(SpriteVertex), cudaMemcpyDeviceToHost));
    unsigned long long h = c.alive + 3ull * c.simulated + 5ull * c.collisions + 7ull * c.drowned;
    for (const Particle& p : particles)
      h = h * 31 + (long long)(p.position.x * 256) + 3 * (long long)(p.velocity.y * 256) + p.bounces + p.emitter;
    for (const SpriteVertex& v : vertices)
      h = h * 31 + (long long)(v.position.y * 256) + 3 * (long long)(v.position.z * 256) + (v.color & 0xf0f0f0f0u) + (int)v.u;
    return h;
  }

 private:
  template <class T>
  void allocate(T*& p, size_t count) {
    CUDA_CHECK(cudaMalloc(&p, count * sizeof(T)));
    owned_.push_back(p);
  }
  template <class T>
  void upload(T*& p, const std::vector<T>& host) {
    allocate(p, host.size());
    CUDA_CHECK(cudaMemcpy(p, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  }

  void makeTerrain() {
    std::vector<TerrainTexel> texels(kTerrainSize * kTerrainSize);
    for (int z = 0; z < kTerrainSize; ++z) {
      for (int x = 0; x < kTerrainSize; ++x) {
        TerrainTexel& t = texels[z * kTerrainSize + x];
        const float h = terrainHeight((float)x, (float)z);
        const float gx = terrainHeight(x + 1.0f, (float)z) - h, gz = terrainHeight((float)x, z + 1.0f) - h;
        const float inv = 1.0f / sqrtf(1.0f + gx * gx + gz * gz);
        t.nx = (int8_t)(-127.0f * gx * inv);
        t.nz = (int8_t)(-127.0f * gz * inv);
        t.material = h < -9.0f ? kWater : h < -7.5f ? kSand : inv < 0.9f ? kRock : kGrass;
        t.height = t.material == kWater ? -9.0f : h;
        t.wetness = (uint8_t)(h < 0 ? fminf(-h * 20, 255.0f) : 0);
      }
    }
    upload(terrain_, texels);
  }

  void makeEmitters() {
    // smoke, sparks, fountains, debris; a few big emitters and many small ones
    static const uint32_t colors[4][2] = {
        {0xc0606060u, 0x00303030u}, {0xff40c0ffu, 0x400010ffu}, {0xa0ffe0c0u, 0x20ffffffu}, {0xff305070u, 0xff203040u}};
    hostEmitters_.resize(kNumEmitters);
    hostOffsets_.resize(kNumEmitters + 1);
    std::vector<double> share(kNumEmitters);
    double total = 0;
    uint32_t rng = 12345;
    for (int i = 0; i < kNumEmitters; ++i) {
      Emitter& e = hostEmitters_[i];
      const int kind = hash32(i * 7 + 3) & 3;
      const float x = 40 + 940 * nextFloat(rng), z = 40 + 940 * nextFloat(rng);
      e.position = make_float3(x, fmaxf(terrainHeight(x, z), -9.0f) + 0.4f, z);
      e.axis = make_float3(0.2f * (nextFloat(rng) - 0.5f), 1, 0.2f * (nextFloat(rng) - 0.5f));
      const bool smoke = kind == 0;
      e.spread = smoke ? 0.15f : 0.5f + 0.4f * nextFloat(rng);
      e.speedMin = smoke ? 1.0f : 4.0f, e.speedMax = smoke ? 2.5f : 8.0f + 4 * nextFloat(rng);
      e.lifeMin = 1.2f, e.lifeMax = 2.8f;
      e.sizeStart = smoke ? 0.3f : 0.08f, e.sizeEnd = smoke ? 1.6f : 0.04f;
      e.drag = smoke ? 1.2f : 0.15f, e.gravityScale = smoke ? -0.05f : 1.0f;
      e.restitution = 0.25f + 0.4f * nextFloat(rng);
      e.friction = 0.1f + 0.3f * nextFloat(rng);
      e.colorStart = colors[kind][0], e.colorEnd = colors[kind][1];
      e.wind = make_float3(1.5f, 0, 0.6f);
      const float u = nextFloat(rng);
      share[i] = 0.2 + 4.0 * u * u * u * u;
      total += share[i];
    }
    const double perFrame = 0.9 * capacity_ / kMeanLifeFrames;
    double sum = 0;
    for (int i = 0; i < kNumEmitters; ++i) {
      hostOffsets_[i] = (int)(sum / total * perFrame);
      sum += share[i];
    }
    spawnTotal_ = (int)perFrame > 0 ? (int)perFrame : 1;
    hostOffsets_[kNumEmitters] = spawnTotal_;
    upload(emitters_, hostEmitters_);
    upload(spawnOffsets_, hostOffsets_);
  }

  // What the frames before the first would have left: the oldest first.
  void prefill() {
    std::vector<Particle> particles;
    particles.reserve(capacity_);
    for (int back = 168; back >= 1; --back) {
      for (int i = 0; i < spawnTotal_ && (int)particles.size() < capacity_; ++i) {
        Particle p;
        const int e = findEmitter(hostOffsets_.data(), i);
        spawnParticle(p, hostEmitters_[e], e, (uint32_t)(100000 + back) * 0x9e3779b9u + i);
        p.age += back * kDt;
        if (!p.alive()) continue;
        const float t = p.age, fall = 9.81f * hostEmitters_[e].gravityScale * t;
        p.position = p.position + p.velocity * (0.8f * t);
        p.position.y = fmaxf(p.position.y - 0.5f * fall * t, terrainHeight(p.position.x, p.position.z));
        p.velocity.y -= fall;
        particles.push_back(p);
      }
    }
    CUDA_CHECK(cudaMemcpy(particles_, particles.data(), particles.size() * sizeof(Particle), cudaMemcpyHostToDevice));
    upload(counters_, std::vector<Counters>{{(uint32_t)particles.size(), 0, 0, 0}});
  }

  int capacity_, numBlocks_, spawnTotal_ = 0;
  Camera camera_ = {{0.8f, 0, -0.6f}, {-0.18f, 0.95f, -0.24f}, {512, 40, 512}};
  std::vector<void*> owned_;
  Particle *particles_, *scratch_;
  SpriteVertex* vertices_;
  Emitter* emitters_;
  TerrainTexel* terrain_;
  Counters* counters_;
  int *spawnOffsets_, *blockCounts_;
  std::vector<Emitter> hostEmitters_;
  std::vector<int> hostOffsets_;
};

int main(int argc, char** argv) {
  const int capacity = argc > 1 ? atoi(argv[1]) : 1 << 20;
  const int steps = 40;
  ParticleSystem system(capacity);
  system.update(0);
  CUDA_CHECK(cudaDeviceSynchronize());

  cudaEvent_t start, stop;
  CUDA_CHECK(cudaEventCreate(&start));
  CUDA_CHECK(cudaEventCreate(&stop));
  CUDA_CHECK(cudaEventRecord(start));
  for (int frame = 1; frame <= steps; ++frame) system.update(frame);
  CUDA_CHECK(cudaEventRecord(stop));
  CUDA_CHECK(cudaEventSynchronize(stop));
  float ms = 0;
  CUDA_CHECK(cudaEventElapsedTime(&ms, start, stop));
  printf("check %llu\ntime_ms %.4f\n", system.checksum(), ms / steps);
  return 0;
}
