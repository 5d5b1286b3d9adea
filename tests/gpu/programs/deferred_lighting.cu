// Tiled deferred lighting: a G-buffer of a hall with pillars is lit by many point and spot lights.
// Lights are culled for each tile of the screen against its frustum and depth range; the HDR image
// is then exposed by a histogram of luminance and tone-mapped.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

inline void cuda(cudaError_t e, const char* what) {
  if (e != cudaSuccess) fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e)), exit(1);
}

template <typename T>
class DeviceBuffer {
 public:
  explicit DeviceBuffer(size_t count) : count_(count) { cuda(cudaMalloc(&ptr_, count * sizeof(T)), "cudaMalloc"); }
  explicit DeviceBuffer(const std::vector<T>& v) : DeviceBuffer(v.size()) {
    cuda(cudaMemcpy(ptr_, v.data(), count_ * sizeof(T), cudaMemcpyHostToDevice), "upload");
  }
  DeviceBuffer(const DeviceBuffer&) = delete;
  ~DeviceBuffer() { cudaFree(ptr_); }
  T* data() { return ptr_; }
  std::vector<T> download() const {
    std::vector<T> v(count_);
    cuda(cudaMemcpy(v.data(), ptr_, count_ * sizeof(T), cudaMemcpyDeviceToHost), "download");
    return v;
  }

 private:
  T* ptr_ = nullptr;
  size_t count_ = 0;
};

struct Vec3 { float x, y, z; };
__host__ __device__ inline Vec3 operator+(Vec3 a, Vec3 b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
__host__ __device__ inline Vec3 operator-(Vec3 a, Vec3 b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
__host__ __device__ inline Vec3 operator*(Vec3 a, float s) { return {a.x * s, a.y * s, a.z * s}; }
__host__ __device__ inline float dot(Vec3 a, Vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__host__ __device__ inline Vec3 normalize(Vec3 a) { return a * (1.0f / sqrtf(dot(a, a) + 1e-12f)); }

struct GBufferTexel {
  float depth;          // view space; 0: nothing was drawn here
  short normal[2];      // octahedral
  uint8_t albedo[3];
  uint8_t occlusion, roughness, metalness;
  short velocity[2];
  uint16_t emissive;    // 1/256
};

enum LightType { POINT_LIGHT = 0, SPOT_LIGHT = 1 };
struct Light {
  Vec3 worldPosition;
  float radius;
  Vec3 worldDirection;
  float cosOuter, cosInner;
  Vec3 color;
  Vec3 position, direction;  // in view space, filled for each frame
  int type;
};

struct Tile {
  float minDepth, maxDepth;
  uint16_t lightCount, litPixels;
};
struct HdrPixel { float r, g, b, luminance; };

struct Camera {
  Vec3 eye, right, up, forward;
  float tanX, tanY;
  int width, height;
  __device__ Vec3 ray(float px, float py) const {
    return {(2 * px / width - 1) * tanX, (1 - 2 * py / height) * tanY, 1.0f};
  }
  __device__ Vec3 rotate(Vec3 v) const { return {dot(v, right), dot(v, up), dot(v, forward)}; }
};

constexpr int TILE_SIZE = 16, MAX_LIGHTS = 2048, MAX_TILE_LIGHTS = 192, NUM_BINS = 64;

__device__ inline Vec3 decodeNormal(const GBufferTexel& t) {
  const float u = t.normal[0] * (1.0f / 32767), v = t.normal[1] * (1.0f / 32767);
  Vec3 n = {u, v, 1 - fabsf(u) - fabsf(v)};
  if (n.z < 0) {
    n.x = copysignf(1 - fabsf(v), u);
    n.y = copysignf(1 - fabsf(u), v);
  }
  return normalize(n);
}

__global__ void transformLights(Light* lights, int count, Camera cam, unsigned int* bins) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < NUM_BINS) bins[i] = 0;
  if (i >= count) return;
  Light& l = lights[i];
  l.position = cam.rotate(l.worldPosition - cam.eye);
  if (l.type == SPOT_LIGHT) l.direction = cam.rotate(l.worldDirection);
}

template <int TILE>
__global__ void cullLights(const GBufferTexel* __restrict__ gbuffer, const Light* __restrict__ lights, int numLights,
                           Camera cam, Tile* tiles, uint16_t* tileLights) {
  __shared__ int minBits, maxBits, lit;
  __shared__ Vec3 planes[4];
  __shared__ unsigned int visible[MAX_LIGHTS / 32];
  const int tid = threadIdx.y * TILE + threadIdx.x;
  const int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  const int tileId = blockIdx.y * gridDim.x + blockIdx.x;
  if (tid == 0) {
    minBits = __float_as_int(1e30f);
    maxBits = lit = 0;
  }
  if (tid < 4) {  // side planes pass through the eye; normals point inside
    const float s = tid & 1 ? -1.0f : 1.0f;
    const Vec3 corner = cam.ray((blockIdx.x + (tid & 1)) * TILE, (blockIdx.y + 1 - (tid & 1)) * TILE);
    planes[tid] = normalize(tid < 2 ? Vec3{s, 0, -s * corner.x} : Vec3{0, s, -s * corner.y});
  }
  __syncthreads();
  if (x < cam.width && y < cam.height) {
    const float depth = gbuffer[(size_t)y * cam.width + x].depth;
    if (depth > 0) {
      atomicMin(&minBits, __float_as_int(depth));
      atomicMax(&maxBits, __float_as_int(depth));
      atomicAdd(&lit, 1);
    }
  }
  __syncthreads();
  const float zMin = __int_as_float(minBits), zMax = __int_as_float(maxBits);

  const int words = (numLights + 31) / 32;
  for (int base = tid & ~31; base < words * 32; base += TILE * TILE) {
    const int i = base + (tid & 31);
    bool hit = false;
    if (i < numLights && lit > 0) {
      const Vec3 p = lights[i].position;
      const float r = lights[i].radius;
      hit = p.z + r >= zMin && p.z - r <= zMax;
      for (int k = 0; k < 4 && hit; ++k) hit = dot(planes[k], p) >= -r;
    }
    const unsigned int ballot = __ballot_sync(0xffffffffu, hit);
    if ((tid & 31) == 0) visible[base / 32] = ballot;
  }
  __syncthreads();
  for (int w = tid; w < words; w += TILE * TILE) {  // the list keeps the order of the lights
    int offset = 0;
    for (int k = 0; k < w; ++k) offset += __popc(visible[k]);
    for (unsigned int m = visible[w]; m && offset < MAX_TILE_LIGHTS; m &= m - 1)
      tileLights[(size_t)tileId * MAX_TILE_LIGHTS + offset++] = (uint16_t)(w * 32 + __ffs(m) - 1);
  }
  if (tid == 0) {
    int total = 0;
    for (int k = 0; k < words; ++k) total += __popc(visible[k]);
    tiles[tileId] = Tile{zMin, zMax, (uint16_t)min(total, MAX_TILE_LIGHTS), (uint16_t)lit};
  }
}

__device__ inline Vec3 shadeLight(const Light& l, Vec3 p, Vec3 n, Vec3 v, Vec3 diffuse, Vec3 f0, float alpha2) {
  const Vec3 toLight = l.position - p;
  const float d2 = dot(toLight, toLight), r2 = l.radius * l.radius;
  if (d2 >= r2) return {0, 0, 0};
  const Vec3 dir = toLight * rsqrtf(d2 + 1e-8f);
  const float nl = dot(n, dir);
  if (nl <= 0) return {0, 0, 0};
  const float window = 1 - (d2 / r2) * (d2 / r2);
  float att = window * window / (d2 + 0.05f);
  if (l.type == SPOT_LIGHT) {
    const float s = (-dot(dir, l.direction) - l.cosOuter) / (l.cosInner - l.cosOuter);
    if (s <= 0) return {0, 0, 0};
    att *= fminf(s, 1.0f) * fminf(s, 1.0f);
  }
  const Vec3 h = normalize(dir + v);
  const float nh = fmaxf(dot(n, h), 0.0f), nv = fmaxf(dot(n, v), 1e-3f), vh = fmaxf(dot(v, h), 0.0f);
  const float dd = nh * nh * (alpha2 - 1) + 1, distribution = alpha2 / (3.14159265f * dd * dd);
  const float visibility =
      0.5f / (nl * sqrtf(nv * nv * (1 - alpha2) + alpha2) + nv * sqrtf(nl * nl * (1 - alpha2) + alpha2));
  const float c = 1 - vh, c5 = c * c * c * c * c, spec = distribution * visibility;
  const Vec3 brdf = diffuse * 0.31830989f + (f0 + (Vec3{1, 1, 1} - f0) * c5) * spec;
  return Vec3{brdf.x * l.color.x, brdf.y * l.color.y, brdf.z * l.color.z} * (att * nl);
}

template <int TILE>
__global__ void shadePixels(const GBufferTexel* __restrict__ gbuffer, const Light* __restrict__ lights,
                            const Tile* __restrict__ tiles, const uint16_t* __restrict__ tileLights, Camera cam,
                            HdrPixel* __restrict__ hdr) {
  const int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  if (x >= cam.width || y >= cam.height) return;
  const int tileId = blockIdx.y * gridDim.x + blockIdx.x;
  const size_t i = (size_t)y * cam.width + x;
  const GBufferTexel t = gbuffer[i];
  Vec3 sum = {0.04f, 0.06f, 0.13f};  // the sky
  if (t.depth > 0) {
    const Vec3 p = cam.ray(x + 0.5f, y + 0.5f) * t.depth;
    const Vec3 n = decodeNormal(t);
    const Vec3 v = normalize(p * -1.0f);
    const Vec3 albedo = Vec3{(float)t.albedo[0], (float)t.albedo[1], (float)t.albedo[2]} * (1.0f / 255);
    const float metal = t.metalness * (1.0f / 255), rough = fmaxf(t.roughness * (1.0f / 255), 0.06f);
    const Vec3 diffuse = albedo * (1 - metal);
    const Vec3 f0 = Vec3{0.04f, 0.04f, 0.04f} * (1 - metal) + albedo * metal;
    const float alpha2 = rough * rough * rough * rough;
    sum = albedo * (0.03f * t.occlusion * (1.0f / 255) + t.emissive * (1.0f / 256));
    const int count = tiles[tileId].lightCount;
    const uint16_t* list = tileLights + (size_t)tileId * MAX_TILE_LIGHTS;
    for (int k = 0; k < count; ++k) sum = sum + shadeLight(lights[list[k]], p, n, v, diffuse, f0, alpha2);
  }
  hdr[i] = HdrPixel{sum.x, sum.y, sum.z, 0.2126f * sum.x + 0.7152f * sum.y + 0.0722f * sum.z};
}

__global__ void luminanceHistogram(const HdrPixel* __restrict__ hdr, int count, unsigned int* bins) {
  __shared__ unsigned int local[NUM_BINS];
  if (threadIdx.x < NUM_BINS) local[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const float l = log2f(fmaxf(hdr[i].luminance, 1e-5f));
    atomicAdd(&local[min(max((int)((l + 12) * 4), 0), NUM_BINS - 1)], 1u);
  }
  __syncthreads();
  if (threadIdx.x < NUM_BINS && local[threadIdx.x]) atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

__device__ inline unsigned char filmic(float c) {
  c = c * (2.51f * c + 0.03f) / (c * (2.43f * c + 0.59f) + 0.14f);
  return (unsigned char)(powf(fminf(fmaxf(c, 0.0f), 1.0f), 1 / 2.2f) * 255 + 0.5f);
}

__global__ void tonemap(const HdrPixel* __restrict__ hdr, int count, const unsigned int* __restrict__ bins,
                        uchar4* __restrict__ out) {
  __shared__ float exposure;
  if (threadIdx.x == 0) {
    unsigned long long weighted = 0, total = 0;
    for (int b = 1; b < NUM_BINS; ++b) {
      weighted += (unsigned long long)bins[b] * b;
      total += bins[b];
    }
    exposure = 0.18f / exp2f(total ? (float)weighted / total * 0.25f - 12 : 0.0f);
  }
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const HdrPixel& p = hdr[i];
  out[i] = make_uchar4(filmic(p.r * exposure), filmic(p.g * exposure), filmic(p.b * exposure), 255);
}

static uint32_t hash(uint32_t h) {
  h = (h ^ (h >> 16)) * 0x7feb352du;
  h = (h ^ (h >> 15)) * 0x846ca68bu;
  return h ^ (h >> 16);
}
static float unit(uint32_t seed) { return (hash(seed) >> 8) * (1.0f / 16777216); }

// A floor at y = -2, pillars in rows, and a back wall at z = 90; the camera looks along z.
static std::vector<GBufferTexel> rasterize(const Camera& cam) {
  std::vector<GBufferTexel> g((size_t)cam.width * cam.height);
  for (int x = 0; x < cam.width; ++x) {
    const float rx = (2 * (x + 0.5f) / cam.width - 1) * cam.tanX;
    float pillarZ = 1e30f;
    Vec3 pillarNormal = {};
    uint32_t pillar = 0;
    for (int k = 0; k < 80; ++k) {
      const float cx = -27 + 6.0f * (k % 10), cz = 8 + 10.0f * (k / 10), a = rx * rx + 1;
      const float b = rx * cx + cz, disc = b * b - a * (cx * cx + cz * cz - 0.64f);
      const float z = disc > 0 ? (b - sqrtf(disc)) / a : 1e30f;
      if (z >= pillarZ) continue;
      pillarZ = z;
      pillar = k;
      pillarNormal = normalize({rx * z - cx, 0, z - cz});
    }
    for (int y = 0; y < cam.height; ++y) {
      const float ry = (1 - 2 * (y + 0.5f) / cam.height) * cam.tanY;
      const float floorZ = ry < 0 ? -2 / ry : 1e30f;
      const bool hitsPillar = pillarZ < floorZ && ry * pillarZ < 5, hitsFloor = !hitsPillar && floorZ < 90;
      if (!hitsPillar && !hitsFloor && ry * 90 > 9) continue;  // sky
      const float z = hitsPillar ? pillarZ : hitsFloor ? floorZ : 90;
      const Vec3 n = hitsPillar ? pillarNormal : hitsFloor ? Vec3{0, 1, 0} : Vec3{0, 0, -1};
      const uint32_t checker = ((int)floorf(rx * z) ^ (int)floorf(z)) & 1, grain = hash(x * 8191u + y) & 15;
      const uint32_t material = hitsPillar ? 3 + pillar % 5 : hitsFloor ? checker : 2;
      GBufferTexel& t = g[(size_t)y * cam.width + x];
      t.depth = z;
      // octahedral; what can be seen faces the camera, so that z <= 0
      const float k = 1 / (fabsf(n.x) + fabsf(n.y) + fabsf(n.z));
      t.normal[0] = (short)((1 - fabsf(n.y * k)) * (n.x < 0 ? -32767 : 32767));
      t.normal[1] = (short)((1 - fabsf(n.x * k)) * (n.y < 0 ? -32767 : 32767));
      for (int c = 0; c < 3; ++c) t.albedo[c] = (uint8_t)(60 + hash(material * 3 + c) % 150 + grain);
      t.occlusion = (uint8_t)(200 + grain);
      t.roughness = (uint8_t)(50 + hash(material + 100) % 160 + grain);
      t.metalness = material >= 6 ? 220 : 10;
      t.velocity[0] = (short)(rx * 64 / z), t.velocity[1] = (short)(ry * 64 / z);
      t.emissive = material == 4 && y % 64 < 4 ? 300 : 0;
    }
  }
  return g;
}

static std::vector<Light> placeLights(int count) {
  std::vector<Light> lights(count);
  for (int i = 0; i < count; ++i) {
    Light& l = lights[i];
    const uint32_t s = i * 16u + 5;
    l.worldPosition = {unit(s) * 64 - 32, unit(s + 1) * 6 - 1.5f, 2 + unit(s + 2) * unit(s + 3) * 88};
    l.radius = 1.5f + 3.5f * unit(s + 4) * unit(s + 5);
    l.worldDirection = normalize({unit(s + 6) - 0.5f, -1, unit(s + 7) - 0.5f});
    l.cosInner = 0.1f + (l.cosOuter = 0.6f + 0.2f * unit(s + 8));
    l.color = Vec3{0.4f + unit(s + 9), 0.4f + unit(s + 10), 0.4f + unit(s + 11)} * (3 + 5 * unit(s + 12));
    l.type = i % 3 == 0 ? SPOT_LIGHT : POINT_LIGHT;
  }
  return lights;
}

int main(int argc, char** argv) {
  const long pixels = argc > 1 ? std::max(atol(argv[1]), 256l) : 1920l * 1080;
  Camera cam = {};
  cam.height = std::max((int)std::sqrt(pixels * 9.0 / 16), 1);
  cam.width = (int)(pixels / cam.height);
  cam.right.x = cam.up.y = cam.forward.z = 1;
  cam.tanX = 0.8f, cam.tanY = 0.45f;
  const dim3 block(TILE_SIZE, TILE_SIZE);
  const dim3 grid((cam.width + TILE_SIZE - 1) / TILE_SIZE, (cam.height + TILE_SIZE - 1) / TILE_SIZE);
  const int count = cam.width * cam.height, numLights = 1536;
  DeviceBuffer<GBufferTexel> gbuffer(rasterize(cam));
  DeviceBuffer<Light> lights(placeLights(numLights));
  DeviceBuffer<Tile> tiles((size_t)grid.x * grid.y);
  DeviceBuffer<uint16_t> tileLights((size_t)grid.x * grid.y * MAX_TILE_LIGHTS);
  DeviceBuffer<HdrPixel> hdr(count);
  DeviceBuffer<unsigned int> bins(NUM_BINS);
  DeviceBuffer<uchar4> output(count);
  auto renderFrame = [&] {
    transformLights<<<(numLights + 127) / 128, 128>>>(lights.data(), numLights, cam, bins.data());
    cullLights<TILE_SIZE><<<grid, block>>>(gbuffer.data(), lights.data(), numLights, cam, tiles.data(), tileLights.data());
    shadePixels<TILE_SIZE><<<grid, block>>>(gbuffer.data(), lights.data(), tiles.data(), tileLights.data(), cam, hdr.data());
    luminanceHistogram<<<528, 256>>>(hdr.data(), count, bins.data());
    tonemap<<<(count + 255) / 256, 256>>>(hdr.data(), count, bins.data(), output.data());
    cuda(cudaGetLastError(), "launch");
  };

  const int frames = 30;
  cudaEvent_t start, stop;
  cuda(cudaEventCreate(&start), "event");
  cuda(cudaEventCreate(&stop), "event");
  renderFrame();
  cuda(cudaEventRecord(start), "record");
  for (int f = 0; f < frames; ++f) renderFrame();
  cuda(cudaEventRecord(stop), "record");
  cuda(cudaEventSynchronize(stop), "synchronize");
  float ms = 0;
  cuda(cudaEventElapsedTime(&ms, start, stop), "elapsed");
  unsigned long long h = 0;
  for (const uchar4& c : output.download()) h = h * 31 + c.x + 256ull * c.y + 65536ull * c.z;
  for (const Tile& t : tiles.download()) h = h * 31 + t.lightCount + 7ull * t.litPixels;
  printf("check %llu\ntime_ms %.4f\n", h, ms / frames);
  return 0;
}
