// Cross sections for a Monte Carlo code: every neutron adds up the cross
// sections of its material's nuclides, each found in that nuclide's own grid of
// energies, then collides and goes on with less energy.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

static void check(cudaError_t status) {
  if (status != cudaSuccess) {
    fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(status));
    exit(1);
  }
}

struct GridPoint {
  double energy;
  double total, elastic, absorption, fission, nu;
};

struct Component {
  int nuclide;
  float density;
};

struct MacroXs {
  double total, elastic, absorption, nuFission;
};

struct Neutron {
  double energy, weight;
  MacroXs xs;
  unsigned seed;
  int material;
  short collisions, absorbed;
  int region;
};

constexpr int kMaterials = 12;
__constant__ int materialStart[kMaterials + 1];

__device__ float uniform(unsigned &seed) {
  seed = seed * 1664525u + 1013904223u;
  unsigned x = seed ^ seed >> 15;
  x *= 0x2c1b3c6du;
  return (x >> 8) * (1.0f / 16777216.0f);
}

// The last point of the nuclide's grid that isn't above the energy.
__device__ int locate(const GridPoint *grid, int points, double energy) {
  int low = 0, high = points - 1;
  while (high - low > 1) {
    int middle = (low + high) / 2;
    if (grid[middle].energy > energy)
      high = middle;
    else
      low = middle;
  }
  return low;
}

__global__ void lookup(Neutron *neutrons, long count, const GridPoint *grids, int points, const Component *components) {
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i >= count)
    return;
  double energy = neutrons[i].energy;
  int material = neutrons[i].material;
  MacroXs sum = {0, 0, 0, 0};
  for (int c = materialStart[material]; c < materialStart[material + 1]; ++c) {
    const GridPoint *grid = grids + (long)components[c].nuclide * points;
    int k = locate(grid, points, energy);
    GridPoint a = grid[k], b = grid[k + 1];
    double f = (energy - a.energy) / (b.energy - a.energy);
    double n = components[c].density;
    sum.total += n * (a.total + f * (b.total - a.total));
    sum.elastic += n * (a.elastic + f * (b.elastic - a.elastic));
    sum.absorption += n * (a.absorption + f * (b.absorption - a.absorption));
    sum.nuFission += n * (a.fission + f * (b.fission - a.fission)) * (a.nu + f * (b.nu - a.nu));
  }
  neutrons[i].xs = sum;
}

__global__ void collide(Neutron *neutrons, long count, double minEnergy, double maxEnergy) {
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i >= count)
    return;
  unsigned seed = neutrons[i].seed;
  double total = neutrons[i].xs.total;
  double weight = neutrons[i].weight * (1 - 0.5 * neutrons[i].xs.absorption / total);
  double energy = neutrons[i].energy * (0.1 + 0.9 * uniform(seed));
  if (energy < minEnergy || weight < 0.1) { // a new one
    energy = minEnergy + (maxEnergy - minEnergy) * uniform(seed);
    weight = 1;
    neutrons[i].absorbed++;
  }
  if (uniform(seed) < 0.25f)
    neutrons[i].material = (int)(uniform(seed) * kMaterials);
  neutrons[i].energy = energy;
  neutrons[i].weight = weight;
  neutrons[i].seed = seed;
  neutrons[i].collisions++;
}

class Simulation {
public:
  Simulation(long neutrons, int nuclides, int points)
      : count_(neutrons), nuclides_(nuclides), points_(points), host_(neutrons) {
    std::vector<GridPoint> grids((size_t)nuclides_ * points_);
    const double ratio = log(maxEnergy_ / minEnergy_);
    for (int n = 0; n < nuclides_; ++n)
      for (int k = 0; k < points_; ++k) {
        GridPoint &g = grids[(size_t)n * points_ + k];
        double u = k == 0 ? 0 : k == points_ - 1 ? 1 : (k + 0.8 * (random() - 0.5)) / (points_ - 1);
        g.energy = minEnergy_ * exp(ratio * u) * (k == 0 ? 0.999 : k == points_ - 1 ? 1.001 : 1);
        g.elastic = 2 + 8 * random();
        g.absorption = 0.1 + 1 / sqrt(1 + 1000 * u) * random();
        g.fission = n % 4 == 0 ? g.absorption * 0.5 : 0;
        g.nu = 2.4 + 0.1 * g.energy;
        g.total = g.elastic + g.absorption;
      }
    std::vector<Component> components;
    int start[kMaterials + 1] = {0};
    for (int m = 0; m < kMaterials; ++m) {
      int parts = m == 0 ? 24 : 3 + m % 5 * 2;
      for (int c = 0; c < parts; ++c)
        components.push_back({(int)(random() * nuclides_), 0.01f + (float)random() * 0.1f});
      start[m + 1] = (int)components.size();
    }
    for (long i = 0; i < count_; ++i) {
      double e = minEnergy_ * exp(ratio * random());
      host_[i] = {e, 1, {0, 0, 0, 0}, (unsigned)i * 2654435761u, (int)(random() * kMaterials), 0, 0, (int)(i % 97)};
    }
    check(cudaMemcpyToSymbol(materialStart, start, sizeof(start)));
    check(cudaMalloc(&neutrons_, count_ * sizeof(Neutron)));
    check(cudaMalloc(&grids_, grids.size() * sizeof(GridPoint)));
    check(cudaMalloc(&components_, components.size() * sizeof(Component)));
    check(cudaMemcpy(neutrons_, host_.data(), count_ * sizeof(Neutron), cudaMemcpyHostToDevice));
    check(cudaMemcpy(grids_, grids.data(), grids.size() * sizeof(GridPoint), cudaMemcpyHostToDevice));
    check(cudaMemcpy(components_, components.data(), components.size() * sizeof(Component), cudaMemcpyHostToDevice));
  }

  void generation() {
    unsigned blocks = (unsigned)((count_ + threads_ - 1) / threads_);
    lookup<<<blocks, threads_>>>(neutrons_, count_, grids_, points_, components_);
    collide<<<blocks, threads_>>>(neutrons_, count_, minEnergy_, maxEnergy_);
    check(cudaGetLastError());
  }

  unsigned long long tally() {
    check(cudaMemcpy(host_.data(), neutrons_, count_ * sizeof(Neutron), cudaMemcpyDeviceToHost));
    unsigned long long sum = 0;
    for (const Neutron &n : host_)
      sum = sum * 31 + llround(n.energy * 1e3) + 3 * llround(n.weight * 1e3) + 5 * llround(n.xs.total * 1e3) +
            7 * llround(n.xs.nuFission * 1e3) + 11 * n.material + n.absorbed + n.collisions + n.region;
    check(cudaFree(neutrons_));
    check(cudaFree(grids_));
    check(cudaFree(components_));
    return sum;
  }

private:
  double random() {
    state_ = state_ * 6364136223846793005ull + 1;
    return (double)(state_ >> 33) / 2147483648.0;
  }

  long count_;
  int nuclides_, points_;
  int threads_ = 128;
  double minEnergy_ = 1e-6, maxEnergy_ = 20;
  unsigned long long state_ = 4242;
  std::vector<Neutron> host_;
  Neutron *neutrons_ = nullptr;
  GridPoint *grids_ = nullptr;
  Component *components_ = nullptr;
};

int main(int argc, char **argv) {
  Simulation simulation(argc > 1 ? atol(argv[1]) : 1 << 19, 160, 12000);
  cudaEvent_t start, stop;
  check(cudaEventCreate(&start));
  check(cudaEventCreate(&stop));
  const int generations = 40;
  simulation.generation();
  check(cudaEventRecord(start));
  for (int g = 0; g < generations; ++g)
    simulation.generation();
  check(cudaEventRecord(stop));
  check(cudaEventSynchronize(stop));
  float ms;
  check(cudaEventElapsedTime(&ms, start, stop));
  unsigned long long sum = simulation.tally();
  printf("check %llu\ntime_ms %.4f\n", sum, ms / generations);
}
