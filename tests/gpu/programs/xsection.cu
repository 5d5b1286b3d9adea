// Cross sections of materials at random energies, as a Monte Carlo simulation
// of a reactor looks them up: a binary search in the grid of each nuclide of
// the material, then all fields of two neighbouring points.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                                    \
  do {                                                                                                                 \
    cudaError_t status = (call);                                                                                       \
    if (status != cudaSuccess) {                                                                                       \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));                                  \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

struct GridPoint {
  double energy;
  double total, elastic, absorption, fission, nu;
};

struct Material {
  int first, count; // of its constituents
};

struct Constituent {
  double density;
  int nuclide;
};

struct CrossSection {
  double total, elastic, absorption, fission, nu;
};

// Pseudo-random bits for a counter.
__host__ __device__ static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

__global__ void lookup(const GridPoint *__restrict__ grid, int points, const Material *__restrict__ materials,
                       int materialCount, const Constituent *__restrict__ constituents, CrossSection *results, int n,
                       unsigned seed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  unsigned bits = hash(seed + i);
  double energy = (bits + 0.5) / 4294967296.0;
  int m = hash(bits) % materialCount;
  int first = materials[m].first, last = first + materials[m].count;
  double total = 0, elastic = 0, absorption = 0, fission = 0, nu = 0;
  for (int k = first; k < last; ++k) {
    int low = constituents[k].nuclide * points, high = low + points - 1;
    while (high - low > 1) {
      int middle = (low + high) / 2;
      if (grid[middle].energy > energy)
        high = middle;
      else
        low = middle;
    }
    double density = constituents[k].density;
    double f = (grid[high].energy - energy) / (grid[high].energy - grid[low].energy);
    total += density * (grid[high].total - f * (grid[high].total - grid[low].total));
    elastic += density * (grid[high].elastic - f * (grid[high].elastic - grid[low].elastic));
    absorption += density * (grid[high].absorption - f * (grid[high].absorption - grid[low].absorption));
    fission += density * (grid[high].fission - f * (grid[high].fission - grid[low].fission));
    nu += density * (grid[high].nu - f * (grid[high].nu - grid[low].nu));
  }
  results[i].total = total;
  results[i].elastic = elastic;
  results[i].absorption = absorption;
  results[i].fission = fission;
  results[i].nu = nu;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 19;
  const int nuclides = 256, points = 8192, materialCount = 8;
  const int sizes[materialCount] = {40, 24, 4, 6, 3, 12, 9, 16};
  std::vector<GridPoint> grid(nuclides * points);
  for (int i = 0; i < nuclides * points; ++i) {
    int k = i % points; // energies from 0 to 1, in order
    unsigned h = hash(2 * i), g = hash(2 * i + 1);
    double jitter = k == 0 || k == points - 1 ? 0 : (h & 255) / 320.0;
    grid[i] = {(k + jitter) / (points - 1),
               (h >> 8 & 4095) / 4096.0,
               (h >> 20) / 4096.0,
               (g & 1023) / 1024.0,
               (g >> 10 & 1023) / 1024.0,
               2 + (g >> 20 & 1023) / 1024.0};
  }
  std::vector<Material> materials(materialCount);
  std::vector<Constituent> constituents;
  for (int m = 0; m < materialCount; ++m) {
    materials[m] = {(int)constituents.size(), sizes[m]};
    for (int k = 0; k < sizes[m]; ++k) {
      unsigned h = hash(100 * m + k);
      constituents.push_back({(1 + (h & 15)) / 16.0, (int)(h >> 8) % nuclides});
    }
  }
  GridPoint *d_grid;
  CHECK(cudaMalloc(&d_grid, grid.size() * sizeof(GridPoint)));
  CHECK(cudaMemcpy(d_grid, grid.data(), grid.size() * sizeof(GridPoint), cudaMemcpyHostToDevice));
  Material *d_materials;
  CHECK(cudaMalloc(&d_materials, materials.size() * sizeof(Material)));
  CHECK(cudaMemcpy(d_materials, materials.data(), materials.size() * sizeof(Material), cudaMemcpyHostToDevice));
  Constituent *d_constituents;
  CHECK(cudaMalloc(&d_constituents, constituents.size() * sizeof(Constituent)));
  CHECK(cudaMemcpy(d_constituents, constituents.data(), constituents.size() * sizeof(Constituent),
                   cudaMemcpyHostToDevice));
  CrossSection *d_results;
  CHECK(cudaMalloc(&d_results, n * sizeof(CrossSection)));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    lookup<<<(n + 255) / 256, 256>>>(d_grid, points, d_materials, materialCount, d_constituents, d_results, n,
                                     (unsigned)r * n);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  std::vector<CrossSection> results(n);
  CHECK(cudaMemcpy(results.data(), d_results, n * sizeof(CrossSection), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const CrossSection &s : results)
    check = check * 31 + llround(s.total * 1e3) + 3 * llround(s.elastic * 1e3) + 5 * llround(s.absorption * 1e3) +
            7 * llround(s.fission * 1e3) + 11 * llround(s.nu * 1e3);

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_grid));
  CHECK(cudaFree(d_materials));
  CHECK(cudaFree(d_constituents));
  CHECK(cudaFree(d_results));
}
