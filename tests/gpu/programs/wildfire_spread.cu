// Wildfire growth over complex terrain: a stochastic cellular automaton in the manner of Alexandridis et al. (2008),
// with dead fuel moisture and wind downscaled from a weather grid, and spotting by firebrands.
// A step is one ensemble member: from the observed perimeter, SUBSTEPS time steps and a report for each sector.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA_OK(call)                                                                           \
  do {                                                                                          \
    cudaError_t status_ = (call);                                                               \
    if (status_ != cudaSuccess) {                                                               \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_));     \
      std::exit(EXIT_FAILURE);                                                                  \
    }                                                                                           \
  } while (0)

enum CellState : uint8_t { UNBURNED = 0, BURNING = 1, BURNED = 2, BARREN = 3 };

constexpr int SUBSTEPS = 12;
constexpr int SECTOR = 64;         // cells on a side of a reporting sector
constexpr int WEATHER_PITCH = 48;  // cells between nodes of the weather grid
constexpr int NUM_FUELS = 14;      // 0 is rock, water and roads
constexpr float CELL_SIZE = 20.0f; // m
constexpr float DT = 60.0f;        // s

struct TerrainCell {
  float elevation;     // m
  float moisture;      // of the fine dead fuel, fraction
  float windU, windV;  // m/s at mid-flame height
  float intensity;     // kW/m at the front
  float residence;     // s of flaming left
  float hazard;        // probability that the cell ignites in this time step
  uint32_t arrival;    // s since the start of the run
  unsigned int embers; // landed in this time step
  uint8_t fuel;
  uint8_t canopy;      // cover, percent
  uint8_t state;
  uint8_t observed;    // state at the start
};

struct FuelModel {
  float load;          // kg/m2
  float heatContent;   // kJ/kg
  float extinction;    // moisture of extinction
  float residence;     // s
  float vegetation;    // p_veg of the automaton
  float windFactor;    // reduction from 10 m to mid-flame
  float brandRate;     // firebrands for each MW/m
  float brandCatch;    // probability that a brand starts a spot fire
};

struct WeatherNode {
  float u, v;          // m/s at 10 m
  float temperature;   // C
  float humidity;      // percent
  float elevation;     // of the node, m
};

struct Sector {
  unsigned int burning, burned, spotted;
  unsigned int firstArrival;
  unsigned long long energy; // kW, rounded for each cell
};

struct Landscape {
  TerrainCell* cells;
  FuelModel* fuels;
  WeatherNode* weather;
  Sector* sectors;
  int width, height;
  int weatherWidth, weatherHeight;
  int sectorsX, sectorsY;
};

__host__ __device__ inline uint32_t mix(uint32_t a, uint32_t b) {
  uint32_t h = a * 0x9e3779b1u + b * 0x85ebca6bu + 0x27d4eb2fu;
  h ^= h >> 16;
  h *= 0x7feb352du;
  h ^= h >> 15;
  h *= 0x846ca68bu;
  return h ^ (h >> 16);
}

__host__ __device__ inline float uniform(uint32_t a, uint32_t b) { return (mix(a, b) >> 8) * (1.0f / 16777216.0f); }

// Weather to the cell, and the cell to the observed perimeter.
__global__ void conditionCells(Landscape land) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= land.width || y >= land.height) return;
  TerrainCell& cell = land.cells[y * land.width + x];

  const float gx = (float)x / WEATHER_PITCH, gy = (float)y / WEATHER_PITCH;
  const int nx = (int)gx, ny = (int)gy;
  const float fx = gx - nx, fy = gy - ny;
  float u = 0, v = 0, temperature = 0, humidity = 0, reference = 0;
  for (int k = 0; k < 4; ++k) {
    const WeatherNode& node = land.weather[(ny + (k >> 1)) * land.weatherWidth + nx + (k & 1)];
    const float w = ((k & 1) ? fx : 1 - fx) * ((k >> 1) ? fy : 1 - fy);
    u += w * node.u;
    v += w * node.v;
    temperature += w * node.temperature;
    humidity += w * node.humidity;
    reference += w * node.elevation;
  }
  const float rise = cell.elevation - reference;
  temperature -= 0.0065f * rise;
  humidity = fminf(fmaxf(humidity + 0.02f * rise, 3.0f), 98.0f);

  // equilibrium moisture content (Simard), drier under an open canopy
  float emc = 0.03229f + 0.281073f * humidity - 0.000578f * temperature * humidity;
  if (humidity >= 10) emc = 2.22749f + 0.160107f * humidity - 0.014784f * temperature;
  if (humidity >= 50)
    emc = 21.0606f + 0.005565f * humidity * humidity - 0.00035f * humidity * temperature - 0.483199f * humidity;
  cell.moisture = 0.01f * fmaxf(emc, 1.0f) * (0.85f + 0.003f * cell.canopy);

  // ridges speed the wind up
  const float exposure = 1.0f + fminf(fmaxf(rise * 0.002f, -0.4f), 0.6f);
  const float reduction = land.fuels[cell.fuel].windFactor * exposure;
  cell.windU = u * reduction;
  cell.windV = v * reduction;

  cell.state = cell.observed;
  cell.embers = 0;
  cell.hazard = 0;
  cell.arrival = cell.observed == BURNING ? 0u : 0xffffffffu;
  cell.residence = cell.observed == BURNING ? land.fuels[cell.fuel].residence : 0.0f;
  cell.intensity = cell.observed == BURNING ? 1500.0f : 0.0f;
}

// Probability that fire passes from a burning cell to its neighbour at (dx, dy) from it.
__device__ float transmission(const TerrainCell& from, float elevation, int dx, int dy) {
  const float length = (dx != 0 && dy != 0) ? 1.41421356f : 1.0f;
  const float speed = sqrtf(from.windU * from.windU + from.windV * from.windV);
  const float along = speed > 1e-3f ? (from.windU * dx + from.windV * dy) / (speed * length) : 1.0f;
  const float wind = __expf(0.045f * speed) * __expf(speed * 0.131f * (along - 1.0f));
  const float slope = atanf((elevation - from.elevation) / (CELL_SIZE * length)) * 57.29578f;
  const float strength = from.intensity / (from.intensity + 600.0f);
  return wind * __expf(0.078f * slope) * strength / length;
}

__global__ void spread(Landscape land) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= land.width || y >= land.height) return;
  TerrainCell& cell = land.cells[y * land.width + x];
  if (cell.state != UNBURNED) return;

  float survive = 1.0f;
  for (int dy = -1; dy <= 1; ++dy) {
    for (int dx = -1; dx <= 1; ++dx) {
      const int qx = x + dx, qy = y + dy;
      if ((dx == 0 && dy == 0) || qx < 0 || qy < 0 || qx >= land.width || qy >= land.height) continue;
      const TerrainCell& q = land.cells[qy * land.width + qx];
      if (q.state != BURNING) continue;
      survive *= 1.0f - fminf(0.22f * transmission(q, cell.elevation, -dx, -dy), 1.0f);
    }
  }
  float hazard = 0;
  if (survive < 1.0f) {
    const FuelModel& fuel = land.fuels[cell.fuel];
    const float damp = fmaxf(1.0f - cell.moisture / fuel.extinction, 0.0f);
    hazard = (1.0f - survive) * (1.0f + fuel.vegetation) * (0.7f + 0.006f * cell.canopy) * damp;
  }
  cell.hazard = fminf(hazard, 1.0f);
}

// Torching cells throw brands downwind.
__global__ void throwBrands(Landscape land, uint32_t substep) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= land.width || y >= land.height) return;
  const int i = y * land.width + x;
  const TerrainCell& cell = land.cells[i];
  if (cell.state != BURNING || cell.canopy < 40) return;
  const float expected = land.fuels[cell.fuel].brandRate * cell.intensity * 1e-3f;
  const int brands = min((int)(expected + uniform(i, substep * 16u + 1)), 6);
  for (int b = 0; b < brands; ++b) {
    const float flight = -__logf(uniform(i, substep * 16u + 2 + b) + 1e-6f) * 25.0f; // s
    const float swerve = (uniform(i, substep * 16u + 9 + b) - 0.5f) * 0.6f;
    const int tx = x + (int)rintf((cell.windU - swerve * cell.windV) * flight / CELL_SIZE);
    const int ty = y + (int)rintf((cell.windV + swerve * cell.windU) * flight / CELL_SIZE);
    if (tx < 0 || ty < 0 || tx >= land.width || ty >= land.height) continue;
    atomicAdd(&land.cells[ty * land.width + tx].embers, 1u);
  }
}

__global__ void advanceCells(Landscape land, uint32_t substep) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= land.width || y >= land.height) return;
  const int i = y * land.width + x;
  TerrainCell& cell = land.cells[i];
  if (cell.state == BURNING) {
    cell.residence -= DT;
    cell.intensity *= 0.82f;
    if (cell.residence <= 0) {
      cell.state = BURNED;
      cell.intensity = 0;
    }
  } else if (cell.state == UNBURNED && (cell.hazard > 0 || cell.embers > 0)) {
    const FuelModel& fuel = land.fuels[cell.fuel];
    float survive = 1.0f - cell.hazard;
    if (cell.embers > 0 && cell.moisture < fuel.extinction) survive *= __powf(1.0f - fuel.brandCatch, (float)cell.embers);
    if (uniform(i, 0x5000u + substep) >= survive) {
      // Byram's intensity, with a rate of spread out of the hazard
      const float rate = CELL_SIZE * fmaxf(cell.hazard, 0.05f) / DT;
      cell.state = BURNING;
      cell.arrival = (uint32_t)((substep + 1) * DT);
      cell.residence = fuel.residence * (1.0f + 0.5f * uniform(i, 0x6000u));
      cell.intensity = fuel.heatContent * fuel.load * rate + 8.0f * cell.canopy;
    }
  }
  if (substep + 1 < SUBSTEPS) cell.embers = 0;
}

// A block for each sector.
__global__ void reportSectors(Landscape land) {
  __shared__ unsigned int burning, burned, spotted, first;
  __shared__ unsigned long long energy;
  if (threadIdx.x == 0) {
    burning = burned = spotted = 0;
    first = 0xffffffffu;
    energy = 0;
  }
  __syncthreads();
  for (int t = threadIdx.x; t < SECTOR * SECTOR; t += blockDim.x) {
    const int x = blockIdx.x * SECTOR + t % SECTOR, y = blockIdx.y * SECTOR + t / SECTOR;
    if (x >= land.width || y >= land.height) continue;
    const TerrainCell& cell = land.cells[y * land.width + x];
    if (cell.embers > 0) atomicAdd(&spotted, 1u);
    if (cell.state == BURNING) {
      atomicAdd(&burning, 1u);
      atomicAdd(&energy, (unsigned long long)__float2uint_rn(cell.intensity * CELL_SIZE));
    } else if (cell.state == BURNED) {
      atomicAdd(&burned, 1u);
    }
    if (cell.arrival != 0xffffffffu) atomicMin(&first, cell.arrival);
  }
  __syncthreads();
  if (threadIdx.x == 0) land.sectors[blockIdx.y * land.sectorsX + blockIdx.x] = Sector{burning, burned, spotted, first, energy};
}

// Smooth noise in 0..1.
static float noise2(float x, float y, uint32_t seed) {
  const int ix = (int)std::floor(x), iy = (int)std::floor(y);
  float fx = x - ix, fy = y - iy;
  fx = fx * fx * (3 - 2 * fx);
  fy = fy * fy * (3 - 2 * fy);
  auto at = [&](int i, int j) { return uniform((uint32_t)(i + 40000 * j), seed); };
  return (at(ix, iy) * (1 - fx) + at(ix + 1, iy) * fx) * (1 - fy) + (at(ix, iy + 1) * (1 - fx) + at(ix + 1, iy + 1) * fx) * fy;
}

static void buildLandscape(const Landscape& land, std::vector<TerrainCell>& cells, std::vector<FuelModel>& fuels,
                           std::vector<WeatherNode>& weather) {
  for (int f = 0; f < NUM_FUELS; ++f) {
    const float timber = f > 7 ? 1.0f : 0.0f, grass = f < 4 ? 1.0f : 0.0f;
    fuels[f] = {0.3f + 0.15f * f, 18600.0f, 0.14f + 0.012f * f, 90.0f + 45.0f * f, grass * 0.4f - 0.03f * f + 0.1f,
                0.55f - 0.02f * f, timber * 0.9f, 0.02f + 0.05f * grass};
  }
  for (int y = 0; y < land.weatherHeight; ++y)
    for (int x = 0; x < land.weatherWidth; ++x) {
      WeatherNode& node = weather[(size_t)y * land.weatherWidth + x];
      node = {9.0f + 5.0f * noise2(x * 0.3f, y * 0.3f, 11), -3.0f + 6.0f * noise2(x * 0.3f, y * 0.3f, 12),
              31.0f + 4.0f * noise2(x * 0.2f, y * 0.2f, 13), 14.0f + 12.0f * noise2(x * 0.2f, y * 0.2f, 14),
              500.0f + 300.0f * noise2(x * 0.25f, y * 0.25f, 15)};
    }
  for (int y = 0; y < land.height; ++y)
    for (int x = 0; x < land.width; ++x) {
      TerrainCell cell = {};
      cell.elevation = 350.0f + 500.0f * noise2(x / 160.0f, y / 160.0f, 1) + 90.0f * noise2(x / 37.0f, y / 37.0f, 2);
      const float green = 0.7f * noise2(x / 60.0f, y / 60.0f, 3) + 0.3f * noise2(x / 9.0f, y / 9.0f, 4);
      cell.fuel = (uint8_t)std::min(1 + (int)(green * (NUM_FUELS - 1)), NUM_FUELS - 1);
      cell.canopy = (uint8_t)std::min(100.0f, std::max(0.0f, 160.0f * (green - 0.35f)));
      const float river = std::fabs(noise2(x / 300.0f, y / 300.0f, 5) - 0.5f);
      if (river < 0.006f || cell.elevation > 880.0f) cell.fuel = 0, cell.canopy = 0;
      // fires on a loose lattice, with ragged edges
      const int fx = x / 192, fy = y / 192;
      const float cx = fx * 192 + 60 + 70 * uniform(fx, 77 + fy), cy = fy * 192 + 60 + 70 * uniform(fx, 177 + fy);
      const float r = std::hypot(x - cx, y - cy) + 14.0f * noise2(x / 7.0f, y / 7.0f, 6);
      const float radius = 20.0f + 28.0f * uniform(fx, 277 + fy);
      cell.observed = cell.fuel == 0 ? BARREN : r < radius - 4 ? BURNED : r < radius ? BURNING : UNBURNED;
      cells[(size_t)y * land.width + x] = cell;
    }
}

int main(int argc, char** argv) {
  const long n = argc > 1 ? std::max(std::atol(argv[1]), 4096L) : 1L << 21;
  Landscape land;
  land.width = (int)std::lround(std::sqrt((double)n * 1.5));
  land.height = (int)(n / land.width);
  land.weatherWidth = land.width / WEATHER_PITCH + 2;
  land.weatherHeight = land.height / WEATHER_PITCH + 2;
  land.sectorsX = (land.width + SECTOR - 1) / SECTOR;
  land.sectorsY = (land.height + SECTOR - 1) / SECTOR;

  std::vector<TerrainCell> cells((size_t)land.width * land.height);
  std::vector<FuelModel> fuels(NUM_FUELS);
  std::vector<WeatherNode> weather((size_t)land.weatherWidth * land.weatherHeight);
  std::vector<Sector> sectors((size_t)land.sectorsX * land.sectorsY);
  buildLandscape(land, cells, fuels, weather);

  CUDA_OK(cudaMalloc(&land.cells, cells.size() * sizeof(TerrainCell)));
  CUDA_OK(cudaMalloc(&land.fuels, fuels.size() * sizeof(FuelModel)));
  CUDA_OK(cudaMalloc(&land.weather, weather.size() * sizeof(WeatherNode)));
  CUDA_OK(cudaMalloc(&land.sectors, sectors.size() * sizeof(Sector)));
  CUDA_OK(cudaMemcpy(land.cells, cells.data(), cells.size() * sizeof(TerrainCell), cudaMemcpyHostToDevice));
  CUDA_OK(cudaMemcpy(land.fuels, fuels.data(), fuels.size() * sizeof(FuelModel), cudaMemcpyHostToDevice));
  CUDA_OK(cudaMemcpy(land.weather, weather.data(), weather.size() * sizeof(WeatherNode), cudaMemcpyHostToDevice));

  const dim3 block(32, 8), grid((land.width + 31) / 32, (land.height + 7) / 8);
  const dim3 sectorGrid(land.sectorsX, land.sectorsY);
  auto runMember = [&] {
    conditionCells<<<grid, block>>>(land);
    for (uint32_t s = 0; s < SUBSTEPS; ++s) {
      spread<<<grid, block>>>(land);
      throwBrands<<<grid, block>>>(land, s);
      advanceCells<<<grid, block>>>(land, s);
    }
    reportSectors<<<sectorGrid, 256>>>(land);
    CUDA_OK(cudaGetLastError());
  };

  runMember();
  CUDA_OK(cudaDeviceSynchronize());
  const int STEPS = 20;
  cudaEvent_t begin, end;
  CUDA_OK(cudaEventCreate(&begin));
  CUDA_OK(cudaEventCreate(&end));
  CUDA_OK(cudaEventRecord(begin));
  for (int s = 0; s < STEPS; ++s) runMember();
  CUDA_OK(cudaEventRecord(end));
  CUDA_OK(cudaEventSynchronize(end));
  float ms = 0;
  CUDA_OK(cudaEventElapsedTime(&ms, begin, end));

  CUDA_OK(cudaMemcpy(cells.data(), land.cells, cells.size() * sizeof(TerrainCell), cudaMemcpyDeviceToHost));
  CUDA_OK(cudaMemcpy(sectors.data(), land.sectors, sectors.size() * sizeof(Sector), cudaMemcpyDeviceToHost));
  uint64_t check = 0;
  for (const TerrainCell& c : cells) check = check * 1099511628211ull + c.state + 5ull * c.arrival + (uint64_t)(c.intensity * 16);
  for (const Sector& s : sectors) check = check * 31 + s.burning + 3ull * s.burned + 5ull * s.spotted + 7 * s.energy + s.firstArrival;
  std::printf("check %llu\ntime_ms %.4f\n", (unsigned long long)check, ms / STEPS);

  for (void* p : {(void*)land.cells, (void*)land.fuels, (void*)land.weather, (void*)land.sectors}) CUDA_OK(cudaFree(p));
  return 0;
}
