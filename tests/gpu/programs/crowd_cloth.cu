// Cloth capes for a crowd of animated characters: mass-spring dynamics with Verlet
// integration and collision against the body spheres of each character.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA_TRY(expr)                                                                  \
  if (cudaError_t e_ = (expr); e_ != cudaSuccess) {                                     \
    std::fprintf(stderr, "%s -> %s (%s:%d)\n", #expr, cudaGetErrorString(e_), __FILE__, \
                 __LINE__);                                                             \
    std::exit(1);                                                                       \
  }

namespace cape {
constexpr int kCols = 16;
constexpr int kRows = 24;
constexpr int kVerts = kCols * kRows;
constexpr int kSpheres = 8;
}  // namespace cape

struct ClothVertex {
  float3 position;
  float3 previous;
  float3 normal;
  float inv_mass;
  float u, v;
  int character;
  uint8_t pinned;
  uint8_t contacts;
  short stress;
};

struct Spring {
  int a;
  int b;
  float rest;
  float stiffness;
  float3 pull;  // force on vertex a; vertex b receives the opposite
};

struct SpringRef {
  int spring;
  float sign;
};

struct BodySphere {
  float3 center;
  float radius;
  float3 velocity;
  float friction;
};

struct Character {
  float3 root;
  float heading;
  float speed;
  float phase;
  float wind_cover;
  int contacts;
  short outfit;
  short lod;
};

__device__ __forceinline__ float3 add(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
__device__ __forceinline__ float3 sub(float3 a, float3 b) { return make_float3(a.x - b.x, a.y - b.y, a.z - b.z); }
__device__ __forceinline__ float3 mul(float3 a, float s) { return make_float3(a.x * s, a.y * s, a.z * s); }
__device__ __forceinline__ float dot3(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__device__ __forceinline__ float3 cross3(float3 a, float3 b) {
  return make_float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

__host__ __device__ inline uint32_t wang(uint32_t s) {
  s = (s ^ 61u) ^ (s >> 16);
  s *= 9u;
  s ^= s >> 4;
  s *= 0x27d4eb2du;
  return s ^ (s >> 15);
}
__host__ __device__ inline float rnd(uint32_t s) { return (wang(s) & 0xffffff) / 16777216.0f; }

// One warp-sized slice of threads per character, one thread per sphere.
__global__ void animate(Character* chars, BodySphere* spheres, int first, int count, float dt) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  const int c = t / cape::kSpheres, k = t % cape::kSpheres;
  if (c >= count) return;
  const Character ch = chars[first + c];
  const float phase = ch.phase + dt * (3.0f + ch.speed);
  const float3 dir = make_float3(cosf(ch.heading), 0.0f, sinf(ch.heading));
  const float sway = 0.08f * sinf(phase + 0.7f * k);
  const float3 root = add(ch.root, mul(dir, ch.speed * dt));
  const float3 target = make_float3(root.x + sway * dir.z, root.y + 0.25f + 0.2f * k, root.z - sway * dir.x);

  BodySphere& s = spheres[(first + c) * cape::kSpheres + k];
  s.velocity = mul(sub(target, s.center), 1.0f / dt);
  s.center = target;
  __syncwarp();
  if (k == 0) {
    Character& out = chars[first + c];
    out.root = root;
    out.phase = phase > 62.83185f ? phase - 62.83185f : phase;
    out.heading = ch.heading + 0.002f * (ch.outfit - 2);
    out.contacts = 0;
  }
}

__global__ void spring_forces(Spring* __restrict__ springs, const ClothVertex* __restrict__ verts,
                              int first, int count) {
  const int stride = blockDim.x * gridDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
    Spring& s = springs[first + i];
    const float3 d = sub(verts[s.b].position, verts[s.a].position);
    const float len = sqrtf(dot3(d, d)) + 1e-6f;
    float stretch = (len - s.rest) / s.rest;
    if (stretch > 0.3f) stretch = 0.3f + 2.0f * (stretch - 0.3f);
    s.pull = mul(d, s.stiffness * fminf(stretch, 2.0f) / len);
  }
}

template <bool kDetailedContact>
__global__ void integrate(ClothVertex* __restrict__ verts, const Spring* __restrict__ springs,
                          const SpringRef* __restrict__ refs, const int* __restrict__ ref_begin,
                          const BodySphere* __restrict__ spheres, Character* __restrict__ chars,
                          int first_char, float3 wind, float dt) {
  __shared__ BodySphere body[cape::kSpheres];
  __shared__ int block_contacts;
  const int who = first_char + blockIdx.x;
  if (threadIdx.x < cape::kSpheres) body[threadIdx.x] = spheres[who * cape::kSpheres + threadIdx.x];
  if (threadIdx.x == 0) block_contacts = 0;
  __syncthreads();

  const float cover = chars[who].wind_cover;
  for (int local = threadIdx.x; local < cape::kVerts; local += blockDim.x) {
    const int i = who * cape::kVerts + local;
    ClothVertex& v = verts[i];
    if (v.pinned) {
      const BodySphere& neck = body[cape::kSpheres - 1];
      v.previous = v.position;
      v.position = add(v.position, mul(neck.velocity, dt));
      continue;
    }
    float3 f = make_float3(0.0f, -9.8f / v.inv_mass, 0.0f);
    float load = 0.0f;
    for (int r = ref_begin[i]; r < ref_begin[i + 1]; ++r) {
      const float3 p = springs[refs[r].spring].pull;
      f = add(f, mul(p, refs[r].sign));
      load += fabsf(p.x) + fabsf(p.y) + fabsf(p.z);
    }
    const float facing = dot3(v.normal, wind) * (1.0f - cover);
    f = add(f, mul(v.normal, 0.4f * facing));

    const float3 pos = v.position;
    float3 step = mul(sub(pos, v.previous), 0.985f);
    step = add(step, mul(f, v.inv_mass * dt * dt));
    const float len2 = dot3(step, step);
    if (len2 > 0.01f) step = mul(step, 0.1f * rsqrtf(len2));
    float3 next = add(pos, step);

    int contacts = 0;
    for (int k = 0; k < cape::kSpheres; ++k) {
      const float3 rel = sub(next, body[k].center);
      const float d2 = dot3(rel, rel);
      const float r = body[k].radius;
      if (d2 >= r * r) continue;
      const float inv = rsqrtf(d2 + 1e-9f);
      next = add(body[k].center, mul(rel, r * inv));
      if (kDetailedContact) next = add(next, mul(body[k].velocity, body[k].friction * dt));
      ++contacts;
    }
    if (next.y < 0.02f) next.y = 0.02f;
    v.previous = pos;
    v.position = next;
    v.contacts = static_cast<uint8_t>(contacts);
    v.stress = static_cast<short>(fminf(32000.0f, load * 10.0f));
    if (contacts) atomicAdd(&block_contacts, 1);
  }
  __syncthreads();
  if (threadIdx.x == 0) chars[who].contacts = block_contacts;
}

__global__ void rebuild_normals(ClothVertex* verts, int first_char, int nchars) {
  const int col = threadIdx.x, row = threadIdx.y + blockIdx.y * blockDim.y;
  if (row >= cape::kRows || static_cast<int>(blockIdx.x) >= nchars) return;
  ClothVertex* grid = verts + static_cast<size_t>(first_char + blockIdx.x) * cape::kVerts;
  const int l = max(col - 1, 0), r = min(col + 1, cape::kCols - 1);
  const int u = max(row - 1, 0), d = min(row + 1, cape::kRows - 1);
  const float3 du = sub(grid[row * cape::kCols + r].position, grid[row * cape::kCols + l].position);
  const float3 dv = sub(grid[d * cape::kCols + col].position, grid[u * cape::kCols + col].position);
  const float3 n = cross3(du, dv);
  grid[row * cape::kCols + col].normal = mul(n, rsqrtf(dot3(n, n) + 1e-12f));
}

struct CrowdHost {
  std::vector<ClothVertex> verts;
  std::vector<Spring> springs;
  std::vector<SpringRef> refs;
  std::vector<int> ref_begin;
  std::vector<BodySphere> spheres;
  std::vector<Character> chars;
  int springs_per_char = 0;
};

static CrowdHost build_crowd(int n) {
  CrowdHost h;
  h.verts.resize(static_cast<size_t>(n) * cape::kVerts);
  h.spheres.resize(static_cast<size_t>(n) * cape::kSpheres);
  h.chars.resize(n);
  for (int c = 0; c < n; ++c) {
    Character& ch = h.chars[c];
    ch = Character{make_float3(2.0f * (c % 128), 0.0f, 2.0f * (c / 128)), 6.28f * rnd(c), 0.5f + rnd(c + 7u),
                   6.28f * rnd(c + 13u), 0.5f * rnd(c + 17u), 0, static_cast<short>(wang(c) % 5), 0};
    for (int k = 0; k < cape::kSpheres; ++k)
      h.spheres[c * cape::kSpheres + k] =
          BodySphere{make_float3(ch.root.x, 0.25f + 0.2f * k, ch.root.z), 0.16f + 0.02f * ((k + c) % 4),
                     make_float3(0, 0, 0), 0.1f + 0.1f * (k % 3)};
    for (int y = 0; y < cape::kRows; ++y)
      for (int x = 0; x < cape::kCols; ++x) {
        ClothVertex& v = h.verts[static_cast<size_t>(c) * cape::kVerts + y * cape::kCols + x];
        v.position = make_float3(ch.root.x + 0.06f * (x - 7.5f), 1.65f - 0.06f * y, ch.root.z + 0.26f + 0.01f * rnd(c * 401u + y * 16u + x));
        v.previous = v.position;
        v.normal = make_float3(0, 0, 1);
        v.inv_mass = 1.0f / (0.02f + 0.01f * rnd(c * 977u + y * 16u + x));
        v.u = x / 15.0f;
        v.v = y / 23.0f;
        v.character = c;
        v.pinned = y == 0;
        v.contacts = 0;
        v.stress = 0;
      }
    const int base = c * cape::kVerts;
    auto link = [&](int x0, int y0, int x1, int y1, float k) {
      if (x1 < 0 || x1 >= cape::kCols || y1 >= cape::kRows) return;
      const float rest = 0.06f * std::sqrt(static_cast<float>((x1 - x0) * (x1 - x0) + (y1 - y0) * (y1 - y0)));
      h.springs.push_back(Spring{base + y0 * cape::kCols + x0, base + y1 * cape::kCols + x1, rest, k, make_float3(0, 0, 0)});
    };
    for (int y = 0; y < cape::kRows; ++y)
      for (int x = 0; x < cape::kCols; ++x) {
        link(x, y, x + 1, y, 14.0f);
        link(x, y, x, y + 1, 18.0f);
        link(x, y, x + 1, y + 1, 6.0f);
        link(x, y, x - 1, y + 1, 6.0f);
        link(x, y, x + 2, y, 2.0f);
        link(x, y, x, y + 2, 2.0f);
      }
    if (c == 0) h.springs_per_char = static_cast<int>(h.springs.size());
  }
  h.ref_begin.assign(h.verts.size() + 1, 0);
  for (const Spring& s : h.springs) {
    ++h.ref_begin[s.a + 1];
    ++h.ref_begin[s.b + 1];
  }
  for (size_t i = 1; i < h.ref_begin.size(); ++i) h.ref_begin[i] += h.ref_begin[i - 1];
  h.refs.resize(h.springs.size() * 2);
  std::vector<int> fill(h.ref_begin.begin(), h.ref_begin.end() - 1);
  for (size_t i = 0; i < h.springs.size(); ++i) {
    h.refs[fill[h.springs[i].a]++] = SpringRef{static_cast<int>(i), 1.0f};
    h.refs[fill[h.springs[i].b]++] = SpringRef{static_cast<int>(i), -1.0f};
  }
  return h;
}

template <typename T>
T* stage(const std::vector<T>& src, cudaStream_t stream) {
  T* dst = nullptr;
  CUDA_TRY(cudaMalloc(&dst, src.size() * sizeof(T)));
  CUDA_TRY(cudaMemcpyAsync(dst, src.data(), src.size() * sizeof(T), cudaMemcpyHostToDevice, stream));
  return dst;
}

int main(int argc, char** argv) {
  int n = argc > 1 ? std::atoi(argv[1]) : 5000;
  if (n < 8) n = 8;
  CrowdHost host = build_crowd(n);

  cudaStream_t streams[2];
  for (auto& s : streams) CUDA_TRY(cudaStreamCreate(&s));
  ClothVertex* verts = stage(host.verts, streams[0]);
  Spring* springs = stage(host.springs, streams[1]);
  SpringRef* refs = stage(host.refs, streams[0]);
  int* ref_begin = stage(host.ref_begin, streams[1]);
  BodySphere* spheres = stage(host.spheres, streams[0]);
  Character* chars = stage(host.chars, streams[1]);
  CUDA_TRY(cudaDeviceSynchronize());

  const float dt = 1.0f / 240.0f;
  int frame = 0;
  auto simulate = [&] {
    const float3 wind = make_float3(3.0f * std::sin(0.05f * frame), 0.3f, 2.0f + std::cos(0.03f * frame));
    for (int part = 0; part < 2; ++part) {
      const int first = part == 0 ? 0 : n / 2;
      const int count = part == 0 ? n / 2 : n - n / 2;
      cudaStream_t st = streams[part];
      animate<<<(count * cape::kSpheres + 127) / 128, 128, 0, st>>>(chars, spheres, first, count, dt);
      spring_forces<<<1024, 256, 0, st>>>(springs, verts, first * host.springs_per_char, count * host.springs_per_char);
      if (part == 0)
        integrate<true><<<count, 128, 0, st>>>(verts, springs, refs, ref_begin, spheres, chars, first, wind, dt);
      else
        integrate<false><<<count, 128, 0, st>>>(verts, springs, refs, ref_begin, spheres, chars, first, wind, dt);
      rebuild_normals<<<dim3(count, (cape::kRows + 7) / 8), dim3(cape::kCols, 8), 0, st>>>(verts, first, count);
    }
    ++frame;
  };

  for (int i = 0; i < 6; ++i) simulate();
  CUDA_TRY(cudaDeviceSynchronize());
  const int frames = 60;
  cudaEvent_t tic, toc;
  CUDA_TRY(cudaEventCreate(&tic));
  CUDA_TRY(cudaEventCreate(&toc));
  CUDA_TRY(cudaEventRecord(tic));  // legacy stream orders against both worker streams
  for (int i = 0; i < frames; ++i) simulate();
  CUDA_TRY(cudaEventRecord(toc));
  CUDA_TRY(cudaGetLastError());
  CUDA_TRY(cudaEventSynchronize(toc));
  float ms = 0.0f;
  CUDA_TRY(cudaEventElapsedTime(&ms, tic, toc));

  CUDA_TRY(cudaMemcpyAsync(host.verts.data(), verts, host.verts.size() * sizeof(ClothVertex), cudaMemcpyDeviceToHost, streams[0]));
  CUDA_TRY(cudaMemcpyAsync(host.springs.data(), springs, host.springs.size() * sizeof(Spring), cudaMemcpyDeviceToHost, streams[0]));
  CUDA_TRY(cudaMemcpyAsync(host.chars.data(), chars, host.chars.size() * sizeof(Character), cudaMemcpyDeviceToHost, streams[1]));
  for (auto s : streams) CUDA_TRY(cudaStreamSynchronize(s));
  double sum = 0.0;
  for (size_t i = 0; i < host.verts.size(); ++i) {
    const ClothVertex& v = host.verts[i];
    sum += (1.0 + i % 3) * (0.01 * v.position.x + v.position.y + 0.02 * v.position.z) + 0.01 * v.previous.z +
           std::fabs(v.normal.x) + 2.0 * std::fabs(v.normal.z) + v.contacts + 1e-4 * v.stress + 0.1 * v.u + v.pinned +
           1e-5 * v.character;
  }
  for (size_t i = 0; i < host.springs.size(); ++i) {
    const float3 p = host.springs[i].pull;
    sum += 0.01 * (1.0 + i % 3) * (std::fabs(p.x) + std::fabs(p.y) + std::fabs(p.z)) + host.springs[i].rest;
  }
  for (const Character& c : host.chars) sum += c.root.x - 0.5 * c.root.z + c.heading + c.phase + 0.1 * c.contacts;

  for (void* p : {static_cast<void*>(verts), static_cast<void*>(springs), static_cast<void*>(refs),
                  static_cast<void*>(ref_begin), static_cast<void*>(spheres), static_cast<void*>(chars)})
    CUDA_TRY(cudaFree(p));
  for (auto s : streams) CUDA_TRY(cudaStreamDestroy(s));
  std::printf("check %.6e\n", sum);
  std::printf("time_ms %.5f\n", ms / frames);
  return 0;
}
