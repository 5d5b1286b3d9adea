// Elements' other names stand on members, too, as long as nothing that runs while they can be used changes these.
// Several names in one declaration stay one declaration.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/out/Cell/soa/in.cu
// RUN: FileCheck %s --check-prefix=TILE --input-file=%t/out/Cell/asta32/in.cu
// RUN: %compile-both %t/out/Cell/soa/in.cu %t/out/Cell/asta32/in.cu %t/out/Cell/aos-align16/in.cu
// RUN: %compile-both %t/out/Total/soa/in.cu %t/out/Total/asta32/in.cu
#include <cstdio>
#include <random>
#include <vector>

#define OK(call) do { if ((call) != cudaSuccess) std::printf("%s\n", #call); } while (0)

struct Cell {
  float height, flow;
  int region;
};
struct Total {
  long long flow;
  unsigned cells;
  int deepest;
};
struct Grid {
  Cell *cells;
  Total *totals;
  int n, regions;
};

__device__ float difference(const Grid &grid, int a, int b) {
  const Cell &from = grid.cells[a % grid.n], &to = grid.cells[b % grid.n];
  // SOA: const ptrdiff_t from = a % grid.n, to = b % grid.n;
  return from.height - to.height;
  // SOA: return grid.cells.height[from] - grid.cells.height[to];
  // TILE: return grid.cells[from >> 5].height[from & 31] - grid.cells[to >> 5].height[to & 31];
}

__device__ void add(long long *sum, float x) { atomicAdd((unsigned long long *)sum, (unsigned long long)(x * 16)); }

__global__ void step(Grid grid) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= grid.n)
    return;
  Cell &cell = grid.cells[i];
  cell.flow += 0.5f * difference(grid, i, (i + 1) % grid.n);
  // SOA: grid.cells.flow[i] += 0.5f * difference(grid, i, (i + 1) % grid.n);
  Total &total = grid.totals[cell.region];
  add(&total.flow, cell.flow);
  atomicAdd((unsigned long long *)&total.flow, 1ull);
  atomicAdd(&total.cells, 1u);
}

static float next(float x) {
  static float state = 1;
  return state = state * 0.5f + x;
}

__device__ float drawn(unsigned &state) {
  state = state * 1664525u + 1013904223u;
  return (state >> 16) * 0.25f;
}

__device__ void shake(Cell &c, unsigned seed) {
  c.height += drawn(seed);
  // SOA: c.height[c_index] += drawn(seed);
  c.flow = drawn(seed) + c.height;
}

__global__ void shakeAll(Cell *cells, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    shake(cells[i], i);
}

static void fill(Grid &grid) {
  OK(cudaMallocManaged(&grid.cells, grid.n * sizeof(Cell)));
  std::mt19937 random(5);
  std::uniform_real_distribution<float> share(0, 1);
  for (int i = 0; i < grid.n; ++i) {
    Cell &cell = grid.cells[(i * 7) % grid.n];
    // SOA: const ptrdiff_t cell = (i * 7) % grid.n;
    cell.height = next(i % 13);
    // SOA: grid.cells.height[cell] = next(i % 13);
    cell.flow = 0;
    cell.flow += random() % 3 + share(random);
    // SOA: grid.cells.flow[cell] += random() % 3 + share(random);
    cell.region = i % grid.regions;
  }
}

class Model {
public:
  explicit Model(int n) {
    allocate(own_, n);
    for (int i = 0; i < n; ++i) {
      Cell &c = own_[i % n];
      // SOA: const ptrdiff_t c = i % n;
      c.height = c.flow = i;
      // SOA: own_.height[c] = own_.flow[c] = i;
      c.region = 0;
    }
  }
  ~Model() {
    for (void *p : owned_)
      OK(cudaFree(p));
  }
  Cell *cells() { return own_; }

private:
  template <class T> void allocate(T *&p, size_t n) {
    OK(cudaMallocManaged(&p, n * sizeof(T)));
    owned_.push_back(p);
  }
  // SOA: inline void allocate(CellSoA &p, size_t n) {
  // SOA-NEXT: OK(CellSoA_mallocManaged(&p, n * sizeof(Cell)));
  // SOA-NEXT: owned_.push_back(p.height);
  std::vector<void *> owned_;
  Cell *own_;
};

static void release(void *p) {
  if (p)
    OK(cudaFree(p));
}

int main() {
  Grid grid;
  grid.n = 4096;
  grid.regions = 16;
  fill(grid);
  OK(cudaMalloc(&grid.totals, grid.regions * sizeof(Total)));
  OK(cudaMemset(grid.totals, 0, grid.regions * sizeof(Total)));
  step<<<grid.n / 256, 256>>>(grid);
  OK(cudaDeviceSynchronize());
  Cell &first = grid.cells[0];
  // SOA-NOT: first
  std::vector<Total> totals(grid.regions);
  OK(cudaMemcpy(totals.data(), grid.totals, grid.regions * sizeof(Total), cudaMemcpyDeviceToHost));
  std::printf("%g %lld %u\n", first.flow, totals[3].flow, totals[3].cells);
  // SOA: std::printf("%g %lld %u\n", grid.cells.flow[0], totals[3].flow, totals[3].cells);
  Model model(grid.n);
  Grid other = grid;
  other.cells = model.cells();
  step<<<grid.n / 256, 256>>>(other);
  OK(cudaDeviceSynchronize());
  Grid third{other.cells, grid.totals, other.n, grid.regions};
  // SOA: Grid third{other.cells, grid.totals, other.n, grid.regions};
  step<<<grid.n / 256, 256>>>(third);
  OK(cudaDeviceSynchronize());
  shakeAll<<<grid.n / 256, 256>>>(other.cells, other.n);
  OK(cudaDeviceSynchronize());
  std::printf("%g\n", other.cells[5].flow);
  for (void *p : {(void *)grid.totals, (void *)nullptr})
    OK(cudaFree(p));
  release(grid.cells);
  // SOA: release(grid.cells.height);
}
