// Larvae of oysters drift in a tidal estuary, grow, and settle on reefs.
#include <cuda_runtime.h>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <cstdio>
#include <random>
#include <vector>

struct Larva {
  float x, y, depth;
  float age;
  float energy;
  float size;
  int reef;          // -1 while adrift
  uint8_t stage;     // 0 trochophore, 1 veliger, 2 pediveliger
  uint8_t alive;
  uint16_t cohort;
};

struct WaterCell {
  float u, v;
  float salinity;
  float temperature;
  float food;
  float turbidity;
  float bottom;
  float shear;
};

struct Reef {
  float x, y;
  float radius;
  float rugosity;
};

constexpr int kW = 1024;
constexpr int kH = 512;
constexpr int kLarvae = 4 * 1000 * 1000;
constexpr int kReefs = 48;

__device__ inline int clampi(int v, int lo, int hi) { return v < lo ? lo : (v > hi ? hi : v); }

__global__ void drift(Larva* larvae, const WaterCell* water, int n, float dt, float tide) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    if (larvae[i].reef >= 0) continue;
    float x = larvae[i].x;
    float y = larvae[i].y;
    int ix = clampi(int(x), 0, kW - 2);
    int iy = clampi(int(y), 0, kH - 2);
    float fx = x - ix, fy = y - iy;
    const WaterCell& a = water[iy * kW + ix];
    const WaterCell& b = water[iy * kW + ix + 1];
    const WaterCell& c = water[(iy + 1) * kW + ix];
    const WaterCell& d = water[(iy + 1) * kW + ix + 1];
    float u = (1 - fy) * ((1 - fx) * a.u + fx * b.u) + fy * ((1 - fx) * c.u + fx * d.u);
    float v = (1 - fy) * ((1 - fx) * a.v + fx * b.v) + fy * ((1 - fx) * c.v + fx * d.v);
    float slow = 1.0f - 0.03f * larvae[i].depth;
    x += dt * tide * u * slow;
    y += dt * tide * v * slow;
    larvae[i].x = fminf(fmaxf(x, 0.0f), kW - 1.001f);
    larvae[i].y = fminf(fmaxf(y, 0.0f), kH - 1.001f);
  }
}

__device__ float feed(const WaterCell& w, float size) {
  float q10 = exp2f(0.1f * (w.temperature - 20.0f));
  float clear = 1.0f / (1.0f + w.turbidity);
  return 0.02f * w.food * q10 * clear * size;
}

__global__ void grow(Larva* larvae, const WaterCell* water, int n, float dt) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    Larva l = larvae[i];
    if (!l.alive || l.reef >= 0) continue;
    WaterCell w = water[clampi(int(l.y), 0, kH - 1) * kW + clampi(int(l.x), 0, kW - 1)];
    l.age += dt;
    if (l.stage == 0) {
      l.energy -= 0.01f * dt;
      if (l.age > 1.5f) l.stage = 1;
    } else if (l.stage == 1) {
      l.energy += dt * (feed(w, l.size) - 0.02f);
      l.size += 0.05f * dt * (w.salinity > 12.0f ? 1.0f : 0.3f);
      l.depth += 0.1f * dt * sinf(l.age);
      if (l.age > 9.0f) l.stage = 2;
    } else {
      l.depth += dt * 0.2f * (w.bottom - l.depth);
      l.energy -= 0.015f * dt * (1.0f + w.shear);
    }
    if (l.energy < 0.0f) l.alive = 0;
    larvae[i] = l;
  }
}

__global__ void settle(Larva* larvae, const Reef* reefs, int n, int* recruits) {
  __shared__ int local[kReefs];
  for (int k = threadIdx.x; k < kReefs; k += blockDim.x) local[k] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    if (larvae[i].stage != 2 || larvae[i].reef >= 0 || !larvae[i].alive) continue;
    float x = larvae[i].x, y = larvae[i].y;
    int found = -1;
    for (int r = 0; r < kReefs; ++r) {
      float dx = x - reefs[r].x, dy = y - reefs[r].y;
      float reach = reefs[r].radius * (0.5f + 0.5f * reefs[r].rugosity);
      if (dx * dx + dy * dy < reach * reach) {
        found = r;
        break;
      }
    }
    if (found >= 0) {
      larvae[i].reef = found;
      atomicAdd(&local[found], 1);
    }
  }
  __syncthreads();
  for (int k = threadIdx.x; k < kReefs; k += blockDim.x)
    if (local[k]) atomicAdd(&recruits[k], local[k]);
}

template <typename T>
T* upload(const std::vector<T>& v) {
  T* d = nullptr;
  if (cudaMalloc(&d, v.size() * sizeof(T)) != cudaSuccess) {
    std::cerr << "out of device memory\n";
    std::exit(1);
  }
  cudaMemcpy(d, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice);
  return d;
}

int main() {
  std::minstd_rand gen(4242);
  auto uni = [&gen]() { return float(gen() % 1000003u) / 1000003.0f; };

  std::vector<WaterCell> water(size_t(kW) * kH);
  for (int y = 0; y < kH; ++y)
    for (int x = 0; x < kW; ++x) {
      WaterCell& w = water[size_t(y) * kW + x];
      w.u = 0.6f * std::sin(0.012f * y) + 0.2f * std::cos(0.02f * x);
      w.v = 0.4f * std::cos(0.009f * x);
      w.salinity = 5.0f + 25.0f * x / kW;
      w.temperature = 18.0f + 6.0f * y / kH;
      w.food = 1.0f + 0.5f * uni();
      w.turbidity = 0.3f * uni();
      w.bottom = 2.0f + 6.0f * std::fabs(std::sin(0.006f * y));
      w.shear = 0.1f * uni();
    }
  std::vector<Reef> reefs(kReefs);
  for (auto& r : reefs) r = Reef{uni() * kW, uni() * kH, 10.0f + 20.0f * uni(), uni()};
  std::vector<Larva> larvae(kLarvae);
  for (auto& l : larvae) {
    l.x = uni() * (kW - 2);
    l.y = uni() * (kH - 2);
    l.depth = 1.0f + 3.0f * uni();
    l.age = 10.0f * uni();
    l.energy = 0.5f + uni();
    l.size = 0.1f + 0.1f * uni();
    l.reef = -1;
    l.stage = l.age > 9.0f ? 2 : (l.age > 1.5f ? 1 : 0);
    l.alive = 1;
    l.cohort = uint16_t(gen() % 30);
  }

  Larva* dl = upload(larvae);
  WaterCell* dw = upload(water);
  Reef* dr = upload(reefs);
  int* drec;
  cudaMalloc(&drec, kReefs * sizeof(int));
  cudaMemset(drec, 0, kReefs * sizeof(int));

  const int threads = 256, blocks = 132 * 16;
  auto step = [&](int s) {
    float tide = std::cos(0.26f * s);
    drift<<<blocks, threads>>>(dl, dw, kLarvae, 0.1f, tide);
    drift<<<blocks, threads>>>(dl, dw, kLarvae, 0.1f, tide);
    grow<<<blocks, threads>>>(dl, dw, kLarvae, 0.05f);
    settle<<<blocks, threads>>>(dl, dr, kLarvae, drec);
  };
  cudaEvent_t t0, t1;
  cudaEventCreate(&t0);
  cudaEventCreate(&t1);
  step(0);
  step(1);
  const int steps = 80;
  cudaEventRecord(t0);
  for (int s = 0; s < steps; ++s) step(s + 2);
  cudaEventRecord(t1);
  cudaEventSynchronize(t1);
  if (cudaError_t e = cudaGetLastError()) {
    std::cerr << cudaGetErrorString(e) << "\n";
    return 1;
  }
  float ms;
  cudaEventElapsedTime(&ms, t0, t1);

  cudaMemcpy(larvae.data(), dl, larvae.size() * sizeof(Larva), cudaMemcpyDeviceToHost);
  std::vector<int> rec(kReefs);
  cudaMemcpy(rec.data(), drec, kReefs * sizeof(int), cudaMemcpyDeviceToHost);
  double sx = 0, ss = 0, se = 0, total = 0, alive = 0;
  for (const auto& l : larvae) {
    sx += l.x + l.y;
    ss += l.size;
    se += l.energy;
    alive += l.alive;
  }
  for (int r : rec) total += r;
  std::printf("check position %.5g\n", sx);
  std::printf("check size %.5g\n", ss);
  std::printf("check energy %.5g\n", se);
  std::printf("check alive %.4g\n", alive);
  std::printf("check recruits %.4g\n", total);
  std::printf("time_ms %.5f\n", ms / steps);
  cudaFree(dl);
  cudaFree(dw);
  cudaFree(dr);
  cudaFree(drec);
  return 0;
}
