// Discharge of a grain silo: discrete elements with fixed-size cell buckets.
#include <cuda_runtime.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>

#define CUDA_TRY(stmt)                                                          \
  do {                                                                          \
    if (cudaError_t rc = (stmt)) {                                              \
      std::fprintf(stderr, #stmt " -> %s\n", cudaGetErrorString(rc));           \
      std::exit(1);                                                             \
    }                                                                           \
  } while (0)

namespace silo {

constexpr int kBucket = 15;

struct Grain {
  float x, y, z;
  float vx, vy, vz;
  float fx, fy, fz;
  float radius;
  float mass;
  float wear;       // accumulated friction work
  int species;      // index into the material table
  int contacts;
};

struct Bucket {
  int count;
  int items[kBucket];
};

struct Material {
  float stiffness;
  float damping;
  float friction;
  float density;
};

struct SpeciesTotals {
  int contacts;
  int sinking;
  float kinetic;
  float wear;
};

struct Domain {
  int nx, ny, nz;   // buckets of edge 1
  float dt;
  float gravity;
  float orifice;    // radius of the hole in the floor
};

constexpr int kSpecies = 4;
__constant__ Material materials[kSpecies];

__device__ int bucket_of(const Domain& d, int ix, int iy, int iz) { return (iz * d.ny + iy) * d.nx + ix; }

__device__ int clamp_axis(float v, int n) { return min(max((int)floorf(v), 0), n - 1); }

__global__ void clear_buckets(Bucket* buckets, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) buckets[i].count = 0;
}

__global__ void fill_buckets(Bucket* buckets, const Grain* grains, int n, Domain d) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const Grain& g = grains[i];
  int b = bucket_of(d, clamp_axis(g.x, d.nx), clamp_axis(g.y, d.ny), clamp_axis(g.z, d.nz));
  int slot = atomicAdd(&buckets[b].count, 1);
  if (slot < kBucket) buckets[b].items[slot] = i;
}

// spring-dashpot normal force with a capped tangential force; returns true on contact
__device__ bool contact(const Grain& a, const Grain& b, const Material& m, float stiff, float* f, float& work, float dt) {
  float dx = a.x - b.x, dy = a.y - b.y, dz = a.z - b.z;
  float reach = a.radius + b.radius;
  float d2 = dx * dx + dy * dy + dz * dz;
  if (d2 >= reach * reach || d2 < 1e-10f) return false;
  float inv = rsqrtf(d2);
  float nx = dx * inv, ny = dy * inv, nz = dz * inv;
  float rx = a.vx - b.vx, ry = a.vy - b.vy, rz = a.vz - b.vz;
  float vn = rx * nx + ry * ny + rz * nz;
  float fn = fmaxf(stiff * m.stiffness * (reach - d2 * inv) - m.damping * vn, 0.0f);
  float tx = rx - vn * nx, ty = ry - vn * ny, tz = rz - vn * nz;
  float vt = sqrtf(tx * tx + ty * ty + tz * tz);
  float ft = fminf(m.friction * fn, m.damping * vt) / (vt + 1e-6f);
  f[0] += fn * nx - ft * tx;
  f[1] += fn * ny - ft * ty;
  f[2] += fn * nz - ft * tz;
  work += ft * vt * vt * dt;
  return true;
}

__global__ void forces(Grain* grains, const Bucket* buckets, int n, Domain d, float stiff) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Grain* self = grains + i;
  const Material mat = materials[self->species];
  float f[3] = {0.0f, 0.0f, -d.gravity * self->mass};
  float work = 0.0f;
  int hits = 0;
  int cx = clamp_axis(self->x, d.nx), cy = clamp_axis(self->y, d.ny), cz = clamp_axis(self->z, d.nz);
  for (int iz = max(cz - 1, 0); iz <= min(cz + 1, d.nz - 1); ++iz)
    for (int iy = max(cy - 1, 0); iy <= min(cy + 1, d.ny - 1); ++iy)
      for (int ix = max(cx - 1, 0); ix <= min(cx + 1, d.nx - 1); ++ix) {
        const Bucket& b = buckets[bucket_of(d, ix, iy, iz)];
        int count = min(b.count, kBucket);
        for (int k = 0; k < count; ++k) {
          int j = b.items[k];
          if (j != i) hits += contact(*self, grains[j], mat, stiff, f, work, d.dt);
        }
      }
  // walls and the floor with its orifice
  float k = stiff * mat.stiffness, r = self->radius;
  f[0] += k * (fmaxf(r - self->x, 0.0f) - fmaxf(self->x + r - d.nx, 0.0f));
  f[1] += k * (fmaxf(r - self->y, 0.0f) - fmaxf(self->y + r - d.ny, 0.0f));
  float ox = self->x - 0.5f * d.nx, oy = self->y - 0.5f * d.ny;
  bool over_hole = ox * ox + oy * oy < d.orifice * d.orifice;
  if (!over_hole && self->z > -r) f[2] += k * fmaxf(r - self->z, 0.0f);
  self->fx = f[0];
  self->fy = f[1];
  self->fz = f[2];
  self->wear += work;
  self->contacts = hits;
}

__global__ void move(Grain* grains, int n, Domain d) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Grain g = grains[i];
  float s = d.dt / g.mass;
  g.vx += s * g.fx; g.vy += s * g.fy; g.vz += s * g.fz;
  g.x += d.dt * g.vx; g.y += d.dt * g.vy; g.z += d.dt * g.vz;
  grains[i] = g;
}

__global__ void totals(const Grain* grains, SpeciesTotals* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const Grain& g = grains[i];
  SpeciesTotals& t = out[g.species];
  atomicAdd(&t.contacts, g.contacts);
  if (g.z < 0.48f) atomicAdd(&t.sinking, 1);
  atomicAdd(&t.kinetic, 0.5f * g.mass * (g.vx * g.vx + g.vy * g.vy + g.vz * g.vz));
  atomicAdd(&t.wear, g.wear);
}

}  // namespace silo

int main(int argc, char** argv) {
  using namespace silo;
  const int side = argc > 1 ? std::atoi(argv[1]) : 64;      // grains per horizontal row
  const int layers = 80, n = side * side * layers;
  const float spacing = 0.9f;
  Domain dom{(int)(side * spacing) + 2, (int)(side * spacing) + 2, (int)(layers * spacing) + 4, 1e-3f, 9.81f, 8.0f};
  const int nb = dom.nx * dom.ny * dom.nz;

  Material table[kSpecies] = {{4000.f, 3.f, 0.3f, 1.0f}, {6000.f, 4.f, 0.5f, 1.2f}, {2500.f, 2.f, 0.2f, 0.8f}, {8000.f, 5.f, 0.4f, 1.4f}};
  CUDA_TRY(cudaMemcpyToSymbol(materials, table, sizeof(table)));

  std::unique_ptr<Grain[]> host(new Grain[n]);
  unsigned state = 1234567u;
  auto rnd = [&] { state ^= state << 13; state ^= state >> 17; state ^= state << 5; return (state >> 8) / 16777216.0f; };
  for (int i = 0; i < n; ++i) {
    Grain& g = host[i];
    g.x = 0.8f + spacing * (i % side) + 0.06f * (rnd() - 0.5f);
    g.y = 0.8f + spacing * (i / side % side) + 0.06f * (rnd() - 0.5f);
    g.z = 0.5f + spacing * (i / (side * side)) + 0.06f * (rnd() - 0.5f);
    g.vx = 0.2f * (rnd() - 0.5f); g.vy = 0.2f * (rnd() - 0.5f); g.vz = -0.5f * rnd();
    g.fx = g.fy = g.fz = 0.0f;
    g.radius = 0.41f + 0.06f * rnd();
    g.species = (i / (side * side * 10) + (rnd() < 0.2f)) % kSpecies;   // filled in layers
    g.mass = table[g.species].density * 4.19f * g.radius * g.radius * g.radius;
    g.wear = 0.0f;
    g.contacts = 0;
  }

  Grain* grains; Bucket* buckets; SpeciesTotals* sums;
  CUDA_TRY(cudaMalloc(&grains, n * sizeof(Grain)));
  CUDA_TRY(cudaMalloc(&buckets, nb * sizeof(Bucket)));
  CUDA_TRY(cudaMalloc(&sums, kSpecies * sizeof(SpeciesTotals)));
  cudaEvent_t a, b;
  CUDA_TRY(cudaEventCreate(&a));
  CUDA_TRY(cudaEventCreate(&b));
  const float stiffness[3] = {0.5f, 1.0f, 2.0f};
  const int T = 128;
  float ms = 0.0f;
  for (int steps : {1, 14}) {                               // warm-up, measurement
    CUDA_TRY(cudaMemcpy(grains, host.get(), n * sizeof(Grain), cudaMemcpyHostToDevice));
    CUDA_TRY(cudaMemset(sums, 0, kSpecies * sizeof(SpeciesTotals)));
    CUDA_TRY(cudaEventRecord(a));
    for (float stiff : stiffness) {
      for (int s = 0; s < steps; ++s) {
        clear_buckets<<<(nb + T - 1) / T, T>>>(buckets, nb);
        fill_buckets<<<(n + T - 1) / T, T>>>(buckets, grains, n, dom);
        forces<<<(n + T - 1) / T, T>>>(grains, buckets, n, dom, stiff);
        move<<<(n + T - 1) / T, T>>>(grains, n, dom);
      }
      totals<<<(n + T - 1) / T, T>>>(grains, sums, n);
    }
    CUDA_TRY(cudaEventRecord(b));
    CUDA_TRY(cudaEventSynchronize(b));
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(cudaEventElapsedTime(&ms, a, b));
  }
  SpeciesTotals st[kSpecies];
  CUDA_TRY(cudaMemcpy(host.get(), grains, n * sizeof(Grain), cudaMemcpyDeviceToHost));
  CUDA_TRY(cudaMemcpy(st, sums, sizeof(st), cudaMemcpyDeviceToHost));
  double height = 0, speed = 0, wear = 0, contacts = 0, kin = 0, low = 0;
  for (int i = 0; i < n; ++i) { height += host[i].z; wear += host[i].wear; speed += std::fabs(host[i].vz); }
  for (const auto& s : st) { contacts += s.contacts; kin += s.kinetic; low += s.sinking; }
  std::printf("check height %.2e\ncheck speed %.2e\ncheck wear %.2e\n", height, speed, wear);
  std::printf("check contacts %.2e\ncheck kinetic %.2e\ncheck sinking %.2e\ntime_ms %.4f\n", contacts, kin, low, ms);
}
