// Monte Carlo transport of photon packets through layered tissue: hop, drop and
// spin for several events a launch, absorbed weight in cells of radius and depth,
// and packets that have left or died counted and launched again.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA_CHECK(expr)                                                                      \
  do {                                                                                        \
    cudaError_t status_ = (expr);                                                             \
    if (status_ != cudaSuccess) {                                                             \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_));   \
      std::exit(EXIT_FAILURE);                                                                \
    }                                                                                         \
  } while (0)

constexpr int kRadialCells = 256, kDepthCells = 256;
constexpr float kCellRadius = 0.005f;  // cm
constexpr float kCellDepth = 0.004f;   // cm
constexpr float kBeamRadius = 0.2f;    // cm
constexpr float kWeightScale = 1 << 20;
constexpr float kRouletteWeight = 1e-3f, kRouletteChance = 0.1f;
constexpr float kOutside = 1.0f;  // refractive index of air
constexpr int kThreads = 256;

enum Status : uint8_t { kAlive, kReflected, kTransmitted, kAbsorbed };

struct Photon {
  float x, y, z;
  float ux, uy, uz;
  float weight;
  float remaining;  // optical depth left of the current hop
  uint32_t rng;
  uint16_t events;
  uint8_t layer;
  uint8_t status;
};

struct Layer {
  float mu_a, mu_s;  // per cm
  float g;
  float n;
  float z0, z1;
};

struct Cell {
  unsigned long long absorbed;  // fixed point
  unsigned int events;
  float fluence;
};

struct Ring {
  unsigned long long reflected;
  unsigned long long transmitted;
  unsigned int packets;
  unsigned int events;
};

__host__ __device__ inline uint32_t Hash(uint32_t v) {
  v = (v ^ 61u) ^ (v >> 16);
  v *= 9u;
  v ^= v >> 4;
  v *= 0x27d4eb2du;
  return v ^ (v >> 15);
}

// xorshift32, in (0, 1]
__device__ inline float Uniform(uint32_t& state) {
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return ((state >> 8) + 1) * (1.0f / 16777216.0f);
}

__device__ inline float FresnelReflectance(float n1, float n2, float cos_i, float* cos_t) {
  const float sin_t = n1 / n2 * sqrtf(fmaxf(0.0f, 1.0f - cos_i * cos_i));
  if (sin_t >= 1.0f) return 1.0f;
  *cos_t = sqrtf(1.0f - sin_t * sin_t);
  const float rs = (n1 * cos_i - n2 * *cos_t) / (n1 * cos_i + n2 * *cos_t);
  const float rp = (n1 * *cos_t - n2 * cos_i) / (n1 * *cos_t + n2 * cos_i);
  return 0.5f * (rs * rs + rp * rp);
}

__device__ void CrossBoundary(Photon& p, const Layer* layers, int layer_count) {
  const int next = p.uz > 0 ? p.layer + 1 : p.layer - 1;
  const bool leaves = next < 0 || next >= layer_count;
  const float n1 = layers[p.layer].n;
  const float n2 = leaves ? kOutside : layers[next].n;
  float cos_t = 0;
  const float reflectance = FresnelReflectance(n1, n2, fabsf(p.uz), &cos_t);
  if (Uniform(p.rng) <= reflectance) {
    p.uz = -p.uz;
    return;
  }
  p.ux *= n1 / n2;
  p.uy *= n1 / n2;
  p.uz = copysignf(cos_t, p.uz);
  if (!leaves) p.layer = static_cast<uint8_t>(next);
  else p.status = next < 0 ? kReflected : kTransmitted;
}

// Henyey-Greenstein
__device__ void Scatter(Photon& p, float g) {
  float cos_theta;
  if (fabsf(g) < 1e-4f) {
    cos_theta = 2 * Uniform(p.rng) - 1;
  } else {
    const float t = (1 - g * g) / (1 - g + 2 * g * Uniform(p.rng));
    cos_theta = fminf(1.0f, fmaxf(-1.0f, (1 + g * g - t * t) / (2 * g)));
  }
  const float sin_theta = sqrtf(1 - cos_theta * cos_theta);
  float sin_phi, cos_phi;
  sincospif(2 * Uniform(p.rng), &sin_phi, &cos_phi);
  const float ux = p.ux, uy = p.uy, uz = p.uz;
  if (fabsf(uz) > 0.9999f) {
    p.ux = sin_theta * cos_phi;
    p.uy = sin_theta * sin_phi;
    p.uz = copysignf(cos_theta, uz * cos_theta);
  } else {
    const float rho = sqrtf(1 - uz * uz);
    p.ux = sin_theta * (ux * uz * cos_phi - uy * sin_phi) / rho + ux * cos_theta;
    p.uy = sin_theta * (uy * uz * cos_phi + ux * sin_phi) / rho + uy * cos_theta;
    p.uz = -sin_theta * cos_phi * rho + uz * cos_theta;
  }
}

__global__ void Transport(Photon* photons, int n, const Layer* layers, int layer_count, Cell* cells, int hops) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Photon p = photons[i];
  for (int hop = 0; hop < hops && p.status == kAlive; ++hop) {
    const Layer& layer = layers[p.layer];
    const float mu_t = layer.mu_a + layer.mu_s;
    if (p.remaining <= 0) p.remaining = -logf(Uniform(p.rng));
    const float wanted = p.remaining / mu_t;
    float boundary = 1e30f;
    if (p.uz > 0) boundary = fmaxf(0.0f, (layer.z1 - p.z) / p.uz);
    if (p.uz < 0) boundary = fmaxf(0.0f, (layer.z0 - p.z) / p.uz);
    if (boundary < wanted) {
      p.x += boundary * p.ux;
      p.y += boundary * p.uy;
      p.z = p.uz > 0 ? layer.z1 : layer.z0;
      p.remaining -= boundary * mu_t;
      CrossBoundary(p, layers, layer_count);
      continue;
    }
    p.x += wanted * p.ux;
    p.y += wanted * p.uy;
    p.z += wanted * p.uz;
    p.remaining = 0;

    const float drop = p.weight * layer.mu_a / mu_t;
    p.weight -= drop;
    const int r = min(static_cast<int>(sqrtf(p.x * p.x + p.y * p.y) / kCellRadius), kRadialCells - 1);
    const int d = max(0, min(static_cast<int>(p.z / kCellDepth), kDepthCells - 1));
    Cell& cell = cells[d * kRadialCells + r];
    atomicAdd(&cell.absorbed, static_cast<unsigned long long>(drop * kWeightScale));
    atomicAdd(&cell.events, 1u);

    Scatter(p, layer.g);
    ++p.events;
    if (p.weight < kRouletteWeight) {
      if (Uniform(p.rng) <= kRouletteChance)
        p.weight /= kRouletteChance;
      else
        p.status = kAbsorbed;
    }
  }
  photons[i] = p;
}

__global__ void Relaunch(Photon* photons, int n, Ring* rings) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || photons[i].status == kAlive) return;
  Photon& p = photons[i];
  const float radius = sqrtf(p.x * p.x + p.y * p.y);
  Ring& ring = rings[min(static_cast<int>(radius / kCellRadius), kRadialCells - 1)];
  const unsigned long long weight = static_cast<unsigned long long>(p.weight * kWeightScale);
  if (p.status == kReflected) atomicAdd(&ring.reflected, weight);
  if (p.status == kTransmitted) atomicAdd(&ring.transmitted, weight);
  atomicAdd(&ring.packets, 1u);
  atomicAdd(&ring.events, static_cast<unsigned int>(p.events));

  uint32_t rng = p.rng;
  const float start = kBeamRadius * sqrtf(Uniform(rng));
  float s, c;
  sincospif(2 * Uniform(rng), &s, &c);
  p = Photon{start * c, start * s, 0, 0, 0, 1, 1.0f, 0, rng, 0, 0, kAlive};
}

__global__ void Fluence(Cell* cells, const Layer* layers, int layer_count) {
  const int r = threadIdx.x, d = blockIdx.x;
  const float z = (d + 0.5f) * kCellDepth;
  int l = 0;
  while (l + 1 < layer_count && z >= layers[l].z1) ++l;
  const float volume = 3.14159265f * (2 * r + 1) * kCellRadius * kCellRadius * kCellDepth;
  Cell& cell = cells[d * kRadialCells + r];
  cell.fluence = static_cast<float>(cell.absorbed) / (kWeightScale * layers[l].mu_a * volume);
}

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 2000000;
  // stratum corneum, epidermis, papillary, upper, reticular and deep dermis, fat
  const std::vector<Layer> layers = {
      {0.8f, 180, 0.86f, 1.50f, 0.000f, 0.002f}, {1.9f, 150, 0.80f, 1.34f, 0.002f, 0.010f},
      {0.9f, 120, 0.90f, 1.40f, 0.010f, 0.025f}, {1.6f, 120, 0.95f, 1.39f, 0.025f, 0.035f},
      {0.7f, 105, 0.76f, 1.40f, 0.035f, 0.160f}, {1.7f, 120, 0.95f, 1.38f, 0.160f, 0.180f},
      {0.5f, 65, 0.75f, 1.44f, 0.180f, 0.900f}};
  const int layer_count = static_cast<int>(layers.size());
  std::vector<Photon> photons(n);
  for (int i = 0; i < n; ++i) {
    const uint32_t a = Hash(2 * i + 1), b = Hash(2 * i + 2);
    const float x = ((a & 0xffff) / 32768.0f - 1) * 0.7f * kBeamRadius;
    const float y = ((b & 0xffff) / 32768.0f - 1) * 0.7f * kBeamRadius;
    photons[i] = Photon{x, y, 0, 0, 0, 1, 1.0f, 0, (a ^ (b << 7)) | 1u, 0, 0, kAlive};
  }
  std::vector<Cell> cells(kRadialCells * kDepthCells);
  std::vector<Ring> rings(kRadialCells);

  Photon* d_photons;
  Layer* d_layers;
  Cell* d_cells;
  Ring* d_rings;
  CUDA_CHECK(cudaMalloc(&d_photons, n * sizeof(Photon)));
  CUDA_CHECK(cudaMalloc(&d_layers, layer_count * sizeof(Layer)));
  CUDA_CHECK(cudaMalloc(&d_cells, cells.size() * sizeof(Cell)));
  CUDA_CHECK(cudaMalloc(&d_rings, rings.size() * sizeof(Ring)));
  CUDA_CHECK(cudaMemcpy(d_photons, photons.data(), n * sizeof(Photon), cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(d_layers, layers.data(), layer_count * sizeof(Layer), cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemset(d_cells, 0, cells.size() * sizeof(Cell)));
  CUDA_CHECK(cudaMemset(d_rings, 0, rings.size() * sizeof(Ring)));

  cudaEvent_t begin, end;
  CUDA_CHECK(cudaEventCreate(&begin));
  CUDA_CHECK(cudaEventCreate(&end));
  const int blocks = (n + kThreads - 1) / kThreads, steps = 30;
  for (int step = 0; step <= steps; ++step) {
    if (step == 1) CUDA_CHECK(cudaEventRecord(begin));
    Transport<<<blocks, kThreads>>>(d_photons, n, d_layers, layer_count, d_cells, 12);
    Relaunch<<<blocks, kThreads>>>(d_photons, n, d_rings);
    Fluence<<<kDepthCells, kRadialCells>>>(d_cells, d_layers, layer_count);
  }
  CUDA_CHECK(cudaEventRecord(end));
  CUDA_CHECK(cudaEventSynchronize(end));
  float ms = 0;
  CUDA_CHECK(cudaEventElapsedTime(&ms, begin, end));

  CUDA_CHECK(cudaMemcpy(photons.data(), d_photons, n * sizeof(Photon), cudaMemcpyDeviceToHost));
  CUDA_CHECK(cudaMemcpy(cells.data(), d_cells, cells.size() * sizeof(Cell), cudaMemcpyDeviceToHost));
  CUDA_CHECK(cudaMemcpy(rings.data(), d_rings, rings.size() * sizeof(Ring), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Photon& p : photons) check = check * 31 + p.rng + 3 * p.events + 5 * p.layer + 7 * p.status;
  for (const Cell& c : cells)
    check = check * 31 + c.absorbed + 3 * c.events + static_cast<unsigned long long>(c.fluence * 16);
  for (const Ring& r : rings) check = check * 31 + r.reflected + 3 * r.transmitted + 5 * r.packets + 7 * r.events;
  std::printf("check %llu\ntime_ms %.4f\n", check, ms / steps);
  CUDA_CHECK(cudaFree(d_photons));
  CUDA_CHECK(cudaFree(d_layers));
  CUDA_CHECK(cudaFree(d_cells));
  CUDA_CHECK(cudaFree(d_rings));
}
