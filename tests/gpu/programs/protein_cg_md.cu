// Coarse-grained molecular dynamics of a protein condensate: a bead for each residue (HPS-like), harmonic bonds and
// angles, Ashbaugh-Hatch contacts and Debye-Hueckel charges within a cutoff, Langevin leapfrog. Forces are summed in
// 64-bit fixed point. Units: Angstrom, ps, Dalton, kcal/mol.
// A step rebuilds the neighbour list and takes SUBSTEPS time steps.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr int CHAIN_LENGTH = 128;
constexpr int NUM_TYPES = 20;
constexpr int MAX_NEIGHBOURS = 192;
constexpr int CELL_CAPACITY = 96;
constexpr int SUBSTEPS = 8;
constexpr float CUTOFF = 16.0f;
constexpr float SKIN = 2.0f;
constexpr float DT = 0.01f;
constexpr float FRICTION = 0.2f;
constexpr float KT = 0.596f;
constexpr float ACCELERATION = 418.4f;  // kcal/mol/A/Da to A/ps^2
constexpr float FORCE_SCALE = 4294967296.0f;

void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

template <class T>
class DeviceBuffer {
 public:
  explicit DeviceBuffer(size_t count) : count_(count) { check(cudaMalloc(&data_, count * sizeof(T)), "cudaMalloc"); }
  explicit DeviceBuffer(const std::vector<T>& host) : DeviceBuffer(host.size()) {
    check(cudaMemcpy(data_, host.data(), count_ * sizeof(T), cudaMemcpyHostToDevice), "upload");
  }
  DeviceBuffer(const DeviceBuffer&) = delete;
  ~DeviceBuffer() { cudaFree(data_); }
  T* get() const { return data_; }
  void clearAsync() { check(cudaMemsetAsync(data_, 0, count_ * sizeof(T)), "cudaMemsetAsync"); }
  std::vector<T> download() const {
    std::vector<T> host(count_);
    check(cudaMemcpy(host.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost), "download");
    return host;
  }

 private:
  T* data_ = nullptr;
  size_t count_;
};

struct Vec3 {
  float x, y, z;
};
__host__ __device__ inline Vec3 operator+(Vec3 a, Vec3 b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
__host__ __device__ inline Vec3 operator-(Vec3 a, Vec3 b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
__host__ __device__ inline Vec3 operator*(float s, Vec3 a) { return {s * a.x, s * a.y, s * a.z}; }
__host__ __device__ inline float dot(Vec3 a, Vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

struct Bead {
  Vec3 position;
  Vec3 velocity;
  unsigned long long force[3];  // fixed point, two's complement
  float mass;
  float charge;
  int neighbours;
  short type;
  short chain;

  __device__ void addForce(Vec3 f) {
    atomicAdd(&force[0], (unsigned long long)__float2ll_rn(f.x * FORCE_SCALE));
    atomicAdd(&force[1], (unsigned long long)__float2ll_rn(f.y * FORCE_SCALE));
    atomicAdd(&force[2], (unsigned long long)__float2ll_rn(f.z * FORCE_SCALE));
  }
  __device__ Vec3 takeForce() {
    const float s = 1.0f / FORCE_SCALE;
    const Vec3 f = {(long long)force[0] * s, (long long)force[1] * s, (long long)force[2] * s};
    force[0] = force[1] = force[2] = 0;
    return f;
  }
};

struct Bond {
  int i, j;
  float length, stiffness;
};

struct Angle {
  int i, j, k;
  float theta0, stiffness;
};

struct Contact {  // of a pair of types
  float sigma, epsilon, lambda;
};

struct Box {
  Vec3 size;
  int nx, ny, nz;

  __host__ __device__ int cells() const { return nx * ny * nz; }
  __device__ Vec3 nearest(Vec3 d) const {
    d.x -= size.x * rintf(d.x / size.x);
    d.y -= size.y * rintf(d.y / size.y);
    d.z -= size.z * rintf(d.z / size.z);
    return d;
  }
  __device__ int3 cellOf(const Vec3& p) const {
    return make_int3(min((int)(p.x / size.x * nx), nx - 1), min((int)(p.y / size.y * ny), ny - 1),
                     min((int)(p.z / size.z * nz), nz - 1));
  }
};

__host__ __device__ inline uint32_t hash(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t h = a * 0x9e3779b1u ^ (b + 0x7f4a7c15u) * 0x85ebca6bu ^ (c + 0x165667b1u) * 0xc2b2ae35u;
  h ^= h >> 15;
  h *= 0x2c1b3c6du;
  h ^= h >> 12;
  h *= 0x297a2d39u;
  return h ^ (h >> 15);
}
__host__ __device__ inline float unit(uint32_t a, uint32_t b, uint32_t c) {
  return ((hash(a, b, c) >> 8) + 0.5f) * (1.0f / 16777216.0f);
}

__device__ float gaussian(uint32_t a, uint32_t b, uint32_t c) {
  return sqrtf(-2.0f * __logf(unit(a, b, 2 * c))) * __cosf(6.2831853f * unit(a, b, 2 * c + 1));
}

__global__ void binBeads(const Bead* beads, int n, Box box, int* cellCount, int* cellBeads) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int3 c = box.cellOf(beads[i].position);
  const int cell = (c.z * box.ny + c.y) * box.nx + c.x;
  const int slot = atomicAdd(&cellCount[cell], 1);
  if (slot < CELL_CAPACITY) cellBeads[cell * CELL_CAPACITY + slot] = i;
}

// Pairs that a bond joins are not in the list.
__global__ void buildNeighbours(Bead* beads, int n, Box box, const int* cellCount, const int* cellBeads, int* list) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const Vec3 p = beads[i].position;
  const short chain = beads[i].chain;
  const int3 c = box.cellOf(p);
  int count = 0;
  for (int dz = -1; dz <= 1; ++dz)
    for (int dy = -1; dy <= 1; ++dy)
      for (int dx = -1; dx <= 1; ++dx) {
        const int x = (c.x + dx + box.nx) % box.nx, y = (c.y + dy + box.ny) % box.ny, z = (c.z + dz + box.nz) % box.nz;
        const int cell = (z * box.ny + y) * box.nx + x;
        const int members = min(cellCount[cell], CELL_CAPACITY);
        for (int s = 0; s < members; ++s) {
          const int j = cellBeads[cell * CELL_CAPACITY + s];
          if (j == i) continue;
          const Vec3 d = box.nearest(beads[j].position - p);
          if (dot(d, d) >= (CUTOFF + SKIN) * (CUTOFF + SKIN)) continue;
          if (beads[j].chain == chain && abs(i - j) == 1) continue;
          if (count < MAX_NEIGHBOURS) list[(size_t)count++ * n + i] = j;
        }
      }
  beads[i].neighbours = count;
}

__global__ void pairForces(Bead* beads, int n, Box box, const Contact* __restrict__ contacts, const int* __restrict__ list) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const Vec3 p = beads[i].position;
  const float charge = beads[i].charge;
  const int row = beads[i].type * NUM_TYPES;
  const int count = beads[i].neighbours;
  long long fx = 0, fy = 0, fz = 0;
  for (int k = 0; k < count; ++k) {
    const int j = list[(size_t)k * n + i];
    const Bead& other = beads[j];
    const Vec3 d = box.nearest(p - other.position);
    const float r2 = dot(d, d);
    if (r2 >= CUTOFF * CUTOFF) continue;
    const Contact contact = contacts[row + other.type];
    const float inv2 = 1.0f / r2;
    const float s2 = contact.sigma * contact.sigma * inv2, s6 = s2 * s2 * s2;
    const float scale = s6 > 0.5f ? 1.0f : contact.lambda;  // inside the minimum, or outside
    float f = scale * 24.0f * contact.epsilon * (2.0f * s6 * s6 - s6) * inv2;
    const float qq = charge * other.charge;
    if (qq != 0) {
      const float r = sqrtf(r2);
      f += 332.06f / 80.0f * qq * __expf(-0.1f * r) * (1.0f / r + 0.1f) * inv2;
    }
    f = fminf(f, 50.0f);
    fx += __float2ll_rn(f * d.x * FORCE_SCALE);
    fy += __float2ll_rn(f * d.y * FORCE_SCALE);
    fz += __float2ll_rn(f * d.z * FORCE_SCALE);
  }
  atomicAdd(&beads[i].force[0], (unsigned long long)fx);
  atomicAdd(&beads[i].force[1], (unsigned long long)fy);
  atomicAdd(&beads[i].force[2], (unsigned long long)fz);
}

__global__ void bondedForces(Bead* beads, Box box, const Bond* __restrict__ bonds, int numBonds,
                             const Angle* __restrict__ angles, int numAngles) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t < numBonds) {
    const Bond& bond = bonds[t];
    const Vec3 d = box.nearest(beads[bond.j].position - beads[bond.i].position);
    const float r = sqrtf(dot(d, d));
    const Vec3 f = (bond.stiffness * (r - bond.length) / r) * d;
    beads[bond.i].addForce(f);
    beads[bond.j].addForce(-1.0f * f);
  } else if (t < numBonds + numAngles) {
    const Angle angle = angles[t - numBonds];
    const Vec3 a = box.nearest(beads[angle.i].position - beads[angle.j].position);
    const Vec3 b = box.nearest(beads[angle.k].position - beads[angle.j].position);
    const float ia = rsqrtf(dot(a, a)), ib = rsqrtf(dot(b, b));
    const float cosine = fminf(fmaxf(dot(a, b) * ia * ib, -0.9999f), 0.9999f);
    const float slope = angle.stiffness * (acosf(cosine) - angle.theta0) * rsqrtf(1.0f - cosine * cosine);
    const Vec3 fi = (slope * ia) * (ib * b - (cosine * ia) * a);
    const Vec3 fk = (slope * ib) * (ia * a - (cosine * ib) * b);
    beads[angle.i].addForce(fi);
    beads[angle.k].addForce(fk);
    beads[angle.j].addForce(-1.0f * (fi + fk));
  }
}

__global__ void integrate(Bead* beads, int n, Box box, uint32_t time) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Bead& bead = beads[i];
  const Vec3 f = bead.takeForce();
  const float drag = __expf(-FRICTION * DT);
  const float kick = sqrtf((1.0f - drag * drag) * KT * ACCELERATION / bead.mass);
  const Vec3 noise = {gaussian(i, time, 0), gaussian(i, time, 1), gaussian(i, time, 2)};
  bead.velocity = drag * (bead.velocity + (DT * ACCELERATION / bead.mass) * f) + kick * noise;
  Vec3 p = bead.position + DT * bead.velocity;
  p.x -= box.size.x * floorf(p.x / box.size.x);
  p.y -= box.size.y * floorf(p.y / box.size.y);
  p.z -= box.size.z * floorf(p.z / box.size.z);
  bead.position = p;
}

struct System {
  Box box;
  std::vector<Bead> beads;
  std::vector<Bond> bonds;
  std::vector<Angle> angles;
  std::vector<Contact> contacts;
};

// Extended chains side by side, along z.
System makeSystem(int chains) {
  System s;
  const float pitch = 12.0f, rise = 3.29f, length = CHAIN_LENGTH * rise + 6.0f;
  int across = 1;
  while (across * across < chains) ++across;
  s.box.size = {std::fmax(across * pitch, 60.0f), std::fmax(across * pitch, 60.0f), length};
  s.box.nx = (int)(s.box.size.x / (CUTOFF + SKIN));
  s.box.ny = (int)(s.box.size.y / (CUTOFF + SKIN));
  s.box.nz = (int)(s.box.size.z / (CUTOFF + SKIN));

  const float masses[5] = {71.08f, 113.2f, 128.1f, 99.1f, 147.2f};
  for (int c = 0; c < chains; ++c) {
    const float cx = (c % across + 0.5f) * pitch, cy = (c / across + 0.5f) * pitch;
    const int sequence = hash(c, 1, 1) % 7;  // chains of a few kinds
    for (int k = 0; k < CHAIN_LENGTH; ++k) {
      const uint32_t id = (uint32_t)(c * CHAIN_LENGTH + k);
      Bead b = {};
      const float side = (k & 1) ? 0.95f : -0.95f, sway = 3.0f * std::sin(k * 0.12f);
      b.position = {cx + side + sway, cy + 0.4f * sway, 3.0f + k * rise};
      b.position.x -= s.box.size.x * std::floor(b.position.x / s.box.size.x);
      b.position.y -= s.box.size.y * std::floor(b.position.y / s.box.size.y);
      b.type = (short)(hash(sequence, k, 3) % NUM_TYPES);
      b.chain = (short)c;
      b.mass = masses[b.type % 5];
      b.charge = b.type < 2 ? 1.0f : b.type < 4 ? -1.0f : 0.0f;
      const float thermal = 3.4f * std::sqrt(KT * ACCELERATION / b.mass);
      b.velocity = thermal * Vec3{unit(id, 5, 0) - 0.5f, unit(id, 5, 1) - 0.5f, unit(id, 5, 2) - 0.5f};
      s.beads.push_back(b);
      if (k >= 1) s.bonds.push_back({(int)id - 1, (int)id, 3.8f, 19.2f});
      if (k >= 2) s.angles.push_back({(int)id - 2, (int)id - 1, (int)id, 2.1f, (sequence & 1) ? 6.0f : 2.5f});
    }
  }
  for (int a = 0; a < NUM_TYPES; ++a)
    for (int b = 0; b < NUM_TYPES; ++b) {
      const int size = (a * 7) % NUM_TYPES + (b * 7) % NUM_TYPES, stick = (a * 11 + 3) % NUM_TYPES + (b * 11 + 3) % NUM_TYPES;
      s.contacts.push_back({4.5f + 0.05f * size, 0.2f, 0.025f * stick});
    }
  return s;
}

int run(int n) {
  System system = makeSystem(std::min(std::max(n / CHAIN_LENGTH, 1), 32000));
  const Box box = system.box;
  n = (int)system.beads.size();
  const int numBonds = (int)system.bonds.size(), numAngles = (int)system.angles.size();

  DeviceBuffer<Bead> beads(system.beads);
  DeviceBuffer<Bond> bonds(system.bonds);
  DeviceBuffer<Angle> angles(system.angles);
  DeviceBuffer<Contact> contacts(system.contacts);
  DeviceBuffer<int> cellCount(box.cells()), cellBeads((size_t)box.cells() * CELL_CAPACITY);
  DeviceBuffer<int> list((size_t)n * MAX_NEIGHBOURS);

  const int threads = 128, blocks = (n + threads - 1) / threads;
  const int bondedBlocks = (numBonds + numAngles + threads - 1) / threads;
  uint32_t time = 0;
  auto step = [&] {
    cellCount.clearAsync();
    binBeads<<<blocks, threads>>>(beads.get(), n, box, cellCount.get(), cellBeads.get());
    buildNeighbours<<<blocks, threads>>>(beads.get(), n, box, cellCount.get(), cellBeads.get(), list.get());
    for (int s = 0; s < SUBSTEPS; ++s) {
      pairForces<<<blocks, threads>>>(beads.get(), n, box, contacts.get(), list.get());
      bondedForces<<<bondedBlocks, threads>>>(beads.get(), box, bonds.get(), numBonds, angles.get(), numAngles);
      integrate<<<blocks, threads>>>(beads.get(), n, box, time++);
    }
    check(cudaGetLastError(), "launch");
  };

  step();
  const int STEPS = 20;
  cudaEvent_t start, stop;
  check(cudaEventCreate(&start), "event");
  check(cudaEventCreate(&stop), "event");
  check(cudaEventRecord(start), "record");
  for (int s = 0; s < STEPS; ++s) step();
  check(cudaEventRecord(stop), "record");
  check(cudaEventSynchronize(stop), "synchronize");
  float ms = 0;
  check(cudaEventElapsedTime(&ms, start, stop), "elapsed");

  uint64_t sum = 0;
  for (const Bead& b : beads.download()) {
    sum = sum * 6364136223846793005ull + (uint64_t)(int64_t)(b.position.x * 256) + 3 * (uint64_t)(int64_t)(b.position.y * 256);
    sum += 5 * (uint64_t)(int64_t)(b.position.z * 256) + 7 * (uint64_t)b.neighbours + (uint64_t)(int64_t)(b.velocity.x * 64);
  }
  std::printf("check %llu\ntime_ms %.4f\n", (unsigned long long)sum, ms / STEPS);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? std::atoi(argv[1]) : 131072);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
