// Mapping with a spinning lidar: points are moved by the poses of their times, summed
// into a hash table of voxels, and voxels get normals that tell ground from walls.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

static void Check(cudaError_t e, int line) {
  if (e != cudaSuccess) std::fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(e)), std::exit(1);
}
#define CHECK(e) Check((e), __LINE__)

constexpr int kRings = 64, kColumns = 1024, kPosesPerSweep = 10;
constexpr float kSweepTime = 0.1f, kVoxel = 0.25f;
constexpr int kSizeX = 4096, kSizeY = 2048, kSizeZ = 512;  // voxels; a key has 32 bits
constexpr uint32_t kEmpty = 0, kNoCell = 0xffffffffu;

struct LidarPoint {
  float x, y, z;
  float time;
  uint16_t intensity;
  uint8_t ring, return_number;
};
struct Pose {
  float qw, qx, qy, qz;
  float tx, ty, tz, vx, vy, vz;
  float time;
};
struct RingCalibration {
  float range_scale, height_offset, intensity_gain;
};
struct MapPoint {
  float x, y, z;
  uint32_t cell;
  uint16_t intensity;
  uint8_t label;
};
struct Cell {
  uint32_t key, count;
  int32_t sum_x, sum_y, sum_z;  // from the corner of the voxel, in 1/1024 m
  uint32_t max_intensity;
};

enum Label : uint8_t { kUnknown, kGround, kWall, kObject };
struct Surface {
  float nx, ny, nz;
  float flatness, height;
  uint8_t neighbors, label;
};

__device__ uint32_t HashKey(uint32_t key) { return (key ^ (key >> 15)) * 0x2c1b3c6du >> 3; }
__device__ uint32_t MakeKey(int x, int y, int z) { return (static_cast<uint32_t>(x) * kSizeY + y) * kSizeZ + z; }

__global__ void Deskew(const LidarPoint* points, int n, const Pose* poses, int pose_count, const RingCalibration* rings,
                       MapPoint* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const LidarPoint p = points[i];
  const RingCalibration& ring = rings[p.ring];
  const int k = static_cast<int>(p.time * (kPosesPerSweep / kSweepTime));
  const Pose& pose = poses[min(max(k, 0), pose_count - 1)];
  const float dt = p.time - pose.time;
  const float x = p.x * ring.range_scale, y = p.y * ring.range_scale;
  const float z = p.z * ring.range_scale + ring.height_offset;
  const float cx = 2 * (pose.qy * z - pose.qz * y), cy = 2 * (pose.qz * x - pose.qx * z);
  const float cz = 2 * (pose.qx * y - pose.qy * x);
  MapPoint& m = out[i];
  m.x = x + pose.qw * cx + (pose.qy * cz - pose.qz * cy) + pose.tx + dt * pose.vx;
  m.y = y + pose.qw * cy + (pose.qz * cx - pose.qx * cz) + pose.ty + dt * pose.vy;
  m.z = z + pose.qw * cz + (pose.qx * cy - pose.qy * cx) + pose.tz + dt * pose.vz;
  m.intensity = static_cast<uint16_t>(fminf(p.intensity * ring.intensity_gain, 65535.0f));
  m.label = p.return_number > 1 ? kObject : kUnknown;
}

__global__ void InsertPoints(MapPoint* points, int n, Cell* cells, uint32_t capacity, float3 origin) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float gx = points[i].x - origin.x, gy = points[i].y - origin.y, gz = points[i].z - origin.z;
  const int x = __float2int_rd(gx / kVoxel), y = __float2int_rd(gy / kVoxel), z = __float2int_rd(gz / kVoxel);
  points[i].cell = kNoCell;
  if (x < 1 || y < 1 || z < 1 || x > kSizeX - 2 || y > kSizeY - 2 || z > kSizeZ - 2) return;
  const uint32_t key = MakeKey(x, y, z);
  uint32_t slot = HashKey(key) & (capacity - 1);
  for (uint32_t probe = 0; probe < capacity; ++probe, slot = (slot + 1) & (capacity - 1)) {
    uint32_t found = cells[slot].key;
    if (found == kEmpty) found = atomicCAS(&cells[slot].key, kEmpty, key);
    if (found != kEmpty && found != key) continue;
    Cell& cell = cells[slot];
    atomicAdd(&cell.count, 1u);
    atomicAdd(&cell.sum_x, static_cast<int>((gx - x * kVoxel) * 1024));
    atomicAdd(&cell.sum_y, static_cast<int>((gy - y * kVoxel) * 1024));
    atomicAdd(&cell.sum_z, static_cast<int>((gz - z * kVoxel) * 1024));
    atomicMax(&cell.max_intensity, static_cast<uint32_t>(points[i].intensity));
    points[i].cell = slot;
    return;
  }
}

__device__ uint32_t FindCell(const Cell* cells, uint32_t capacity, uint32_t key) {
  uint32_t slot = HashKey(key) & (capacity - 1);
  for (uint32_t probe = 0; probe < capacity; ++probe, slot = (slot + 1) & (capacity - 1)) {
    const uint32_t found = cells[slot].key;
    if (found == key) return slot;
    if (found == kEmpty) break;
  }
  return kNoCell;
}

__device__ float3 MeanOffset(const Cell& cell) {
  const float scale = 1.0f / (1024.0f * cell.count);
  return make_float3(cell.sum_x * scale, cell.sum_y * scale, cell.sum_z * scale);
}

__global__ void EstimateSurfaces(const Cell* cells, uint32_t capacity, Surface* surfaces, float3 origin) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= capacity || cells[i].key == kEmpty) return;
  const uint32_t key = cells[i].key;
  const float3 center = MeanOffset(cells[i]);
  const int z = key % kSizeZ, y = key / kSizeZ % kSizeY, x = key / (kSizeZ * kSizeY);
  int neighbors = 0;
  float lowest = 0, sx = 0, sy = 0, sz = 0, xx = 0, xy = 0, xz = 0, yy = 0, yz = 0, zz = 0;
  for (int k = 0; k < 27; ++k) {
    const int dx = k % 3 - 1, dy = k / 3 % 3 - 1, dz = k / 9 - 1;
    const uint32_t slot = FindCell(cells, capacity, MakeKey(x + dx, y + dy, z + dz));
    if (slot == kNoCell || slot == i) continue;
    const float3 offset = MeanOffset(cells[slot]);
    const float px = offset.x - center.x + dx * kVoxel, py = offset.y - center.y + dy * kVoxel;
    const float pz = offset.z - center.z + dz * kVoxel;
    sx += px, sy += py, sz += pz;
    xx += px * px, xy += px * py, xz += px * pz;
    yy += py * py, yz += py * pz, zz += pz * pz;
    lowest = fminf(lowest, pz);
    ++neighbors;
  }
  Surface s = {0, 0, 0, 0, origin.z + z * kVoxel + center.z, static_cast<uint8_t>(neighbors), kUnknown};
  if (neighbors >= 4) {
    const float w = 1.0f / (neighbors + 1);
    xx = (xx - sx * sx * w) * w, xy = (xy - sx * sy * w) * w, xz = (xz - sx * sz * w) * w;
    yy = (yy - sy * sy * w) * w, yz = (yz - sy * sz * w) * w, zz = (zz - sz * sz * w) * w;
    // Power iteration on trace - covariance: its largest direction is the normal.
    const float trace = xx + yy + zz + 1e-9f;
    float nx = 0.3f, ny = 0.2f, nz = 0.9f;
    for (int k = 0; k < 12; ++k) {
      const float ax = (trace - xx) * nx - xy * ny - xz * nz;
      const float ay = (trace - yy) * ny - xy * nx - yz * nz;
      const float az = (trace - zz) * nz - xz * nx - yz * ny;
      const float inverse = rsqrtf(ax * ax + ay * ay + az * az + 1e-30f);
      nx = ax * inverse, ny = ay * inverse, nz = az * inverse;
    }
    const float spread = xx * nx * nx + yy * ny * ny + zz * nz * nz + 2 * (xy * nx * ny + xz * nx * nz + yz * ny * nz);
    s.nx = nx, s.ny = ny, s.nz = nz, s.flatness = 1 - 3 * spread / trace;
    const bool flat = s.flatness > 0.6f;
    s.label = flat && fabsf(nz) > 0.85f && lowest > -0.2f ? kGround : flat && fabsf(nz) < 0.3f ? kWall : kObject;
  }
  surfaces[i] = s;
}

__global__ void LabelPoints(MapPoint* points, int n, const Surface* surfaces) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || points[i].cell == kNoCell || points[i].label != kUnknown) return;
  const Surface& s = surfaces[points[i].cell];
  const bool above = s.label == kGround && fabsf(points[i].z - s.height) > 0.15f;
  points[i].label = above ? static_cast<uint8_t>(kObject) : s.label;
}

static float Uniform() {
  static unsigned rng = 7;
  rng = rng * 1664525u + 1013904223u;
  return (rng >> 8) * (1.0f / 16777216);
}

// A street between two fronts of houses, with parked cars, seen from a roof.
static LidarPoint Shoot(int index) {
  const int column = index / kRings, ring = index % kRings;
  const float azimuth = 6.2831853f * (column % kColumns) / kColumns;
  const float elevation = -0.43f + 0.5f * ring / kRings;
  const float c = std::cos(elevation), dx = c * std::cos(azimuth), dy = c * std::sin(azimuth), dz = std::sin(elevation);
  float range = 80;
  if (dz < 0) range = std::min(range, 1.8f / -dz);
  range = std::min(range, (dy > 0 ? 12.0f : 9.0f) / std::max(std::fabs(dy), 1e-3f));
  const unsigned sector = (column + column / kColumns * 11) % kColumns / 24 * 2654435761u;
  if (sector >> 30 == 0 && std::fabs(dy) > 0.2f) range = std::min(range, 5.0f / std::fabs(dy));
  range += 0.03f * (Uniform() - 0.5f);
  const float intensity = 2000 + 30000 * Uniform() / (1 + 0.1f * range);
  const uint8_t return_number = Uniform() < 0.03f ? 2 : 1;
  return {range * dx, range * dy, range * dz, kSweepTime * column / kColumns, static_cast<uint16_t>(intensity),
          static_cast<uint8_t>(ring), return_number};
}

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 4000000;
  const int sweeps = n / (kRings * kColumns) + 1;
  uint32_t capacity = 1024;
  while (capacity < static_cast<uint32_t>(n)) capacity *= 2;

  std::vector<LidarPoint> points;
  for (int i = 0; i < n; ++i) points.push_back(Shoot(i));
  std::vector<Pose> poses(sweeps * kPosesPerSweep);
  for (size_t k = 0; k < poses.size(); ++k) {
    const float t = k * (kSweepTime / kPosesPerSweep), yaw = 0.05f * std::sin(t), pitch = 0.01f * std::sin(7 * t);
    const float norm = std::sqrt(1 + 0.25f * (yaw * yaw + pitch * pitch));
    poses[k] = {1 / norm, 0, pitch / 2 / norm, yaw / 2 / norm, 10 * t, 0.5f * std::sin(0.5f * t),
                1.8f + 0.02f * std::sin(9 * t), 10, 0.25f * std::cos(0.5f * t), 0.18f * std::cos(9 * t), t};
  }
  std::vector<RingCalibration> rings(kRings);
  for (RingCalibration& r : rings) r = {0.999f + 0.002f * Uniform(), 0.01f * Uniform(), 0.8f + 0.4f * Uniform()};

  LidarPoint* d_points = nullptr;
  CHECK(cudaMalloc(&d_points, points.size() * sizeof(LidarPoint)));
  CHECK(cudaMemcpy(d_points, points.data(), points.size() * sizeof(LidarPoint), cudaMemcpyHostToDevice));
  Pose* d_poses = nullptr;
  CHECK(cudaMalloc(&d_poses, poses.size() * sizeof(Pose)));
  CHECK(cudaMemcpy(d_poses, poses.data(), poses.size() * sizeof(Pose), cudaMemcpyHostToDevice));
  RingCalibration* d_rings = nullptr;
  CHECK(cudaMalloc(&d_rings, rings.size() * sizeof(RingCalibration)));
  CHECK(cudaMemcpy(d_rings, rings.data(), rings.size() * sizeof(RingCalibration), cudaMemcpyHostToDevice));
  MapPoint* d_map;
  Cell* d_cells;
  Surface* d_surfaces;
  CHECK(cudaMalloc(&d_map, n * sizeof(MapPoint)));
  CHECK(cudaMalloc(&d_cells, capacity * sizeof(Cell)));
  CHECK(cudaMalloc(&d_surfaces, capacity * sizeof(Surface)));
  const float3 origin = make_float3(-128, -256, -64);
  const int block = 256, point_blocks = (n + block - 1) / block, cell_blocks = capacity / block;

  auto step = [&] {
    CHECK(cudaMemsetAsync(d_cells, 0, capacity * sizeof(Cell)));
    Deskew<<<point_blocks, block>>>(d_points, n, d_poses, static_cast<int>(poses.size()), d_rings, d_map);
    InsertPoints<<<point_blocks, block>>>(d_map, n, d_cells, capacity, origin);
    EstimateSurfaces<<<cell_blocks, block>>>(d_cells, capacity, d_surfaces, origin);
    LabelPoints<<<point_blocks, block>>>(d_map, n, d_surfaces);
    CHECK(cudaGetLastError());
  };
  constexpr int kSteps = 30;
  cudaEvent_t start, stop;
  CHECK(cudaEventCreate(&start)); CHECK(cudaEventCreate(&stop));
  step();
  CHECK(cudaEventRecord(start));
  for (int s = 0; s < kSteps; ++s) step();
  CHECK(cudaEventRecord(stop));
  CHECK(cudaEventSynchronize(stop));
  float ms = 0;
  CHECK(cudaEventElapsedTime(&ms, start, stop));

  // The slots of voxels depend on the order of insertion; sums over them do not.
  std::vector<MapPoint> map(n);
  std::vector<Cell> cells(capacity);
  CHECK(cudaMemcpy(map.data(), d_map, n * sizeof(MapPoint), cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(cells.data(), d_cells, capacity * sizeof(Cell), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const MapPoint& m : map) check = check * 31 + m.label + 5ull * m.intensity;
  for (const Cell& c : cells)
    if (c.key != kEmpty)
      check += c.key * (c.count + 3ull * c.sum_x + 5ull * c.sum_y + 7ull * c.sum_z + 11ull * c.max_intensity);
  std::printf("check %llu\ntime_ms %.4f\n", check, ms / kSteps);
}
