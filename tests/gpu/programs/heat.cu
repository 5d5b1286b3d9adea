// Heat conduction in a block of many materials, explicit in time.
//
// Each cell reads temperature and conductivity of itself and six neighbours,
// the rest of itself only, and stores its temperature in the other buffer.
// The argument is the side of the grid.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define CHECK(call)                                                                                                    \
  do {                                                                                                                 \
    cudaError_t status = (call);                                                                                       \
    if (status != cudaSuccess) {                                                                                       \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));                                  \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

struct Cell {
  float temperature;
  float conductivity;
  float capacity; // per volume
  float source;   // power per volume
  int id;         // of the material
};

const int SINK = 0; // a material that keeps its temperature
const int MATERIALS = 8;

// Heat that flows to a cell through one face: the two half cells are in series.
__device__ float flow(float k, float t, float kOther, float tOther) {
  return 2 * k * kOther / (k + kOther) * (tOther - t);
}

__global__ void conduct(const Cell *now, Cell *next, int n, float dt) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x >= n || y >= n || z >= n)
    return;
  int i = (z * n + y) * n + x;
  float t = now[i].temperature;
  if (now[i].id == SINK) {
    next[i].temperature = t;
    return;
  }
  float k = now[i].conductivity;
  float heat = now[i].source;
  if (x > 0) // no heat leaves through the outside
    heat += flow(k, t, now[i - 1].conductivity, now[i - 1].temperature);
  if (x < n - 1)
    heat += flow(k, t, now[i + 1].conductivity, now[i + 1].temperature);
  if (y > 0)
    heat += flow(k, t, now[i - n].conductivity, now[i - n].temperature);
  if (y < n - 1)
    heat += flow(k, t, now[i + n].conductivity, now[i + n].temperature);
  if (z > 0)
    heat += flow(k, t, now[i - n * n].conductivity, now[i - n * n].temperature);
  if (z < n - 1)
    heat += flow(k, t, now[i + n * n].conductivity, now[i + n * n].temperature);
  next[i].temperature = t + dt * heat / now[i].capacity;
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 224;
  size_t cells = (size_t)n * n * n;
  const float conductivity[MATERIALS] = {2.0f, 1.75f, 0.125f, 0.5f, 1.0f, 0.25f, 1.5f, 0.75f};
  const float capacity[MATERIALS] = {4.0f, 1.5f, 1.0f, 2.0f, 2.5f, 1.25f, 3.0f, 1.75f};
  std::vector<Cell> grid(cells);
  for (int z = 0; z < n; ++z)
    for (int y = 0; y < n; ++y)
      for (int x = 0; x < n; ++x) { // bricks of a material each, on a cold plate
        unsigned brick = hash((z / 8 * 256 + y / 16) * 256 + x / 16), grain = hash((z * n + y) * n + x);
        int id = z < 2 ? SINK : 1 + brick % (MATERIALS - 1);
        Cell &c = grid[((size_t)z * n + y) * n + x];
        c.temperature = id == SINK ? 20 : 20 + (brick >> 8 & 63) + (grain & 15) / 16.0f;
        c.conductivity = conductivity[id] * (1 + (grain >> 4 & 15) / 64.0f);
        c.capacity = capacity[id] * (1 + (grain >> 8 & 15) / 64.0f);
        c.source = (brick >> 14 & 7) == 0 ? 8 : 0;
        c.id = id;
      }
  Cell *d_now;
  CHECK(cudaMalloc(&d_now, cells * sizeof(Cell)));
  CHECK(cudaMemcpy(d_now, grid.data(), cells * sizeof(Cell), cudaMemcpyHostToDevice));
  Cell *d_next; // has the same materials
  CHECK(cudaMalloc(&d_next, cells * sizeof(Cell)));
  CHECK(cudaMemcpy(d_next, grid.data(), cells * sizeof(Cell), cudaMemcpyHostToDevice));

  dim3 block(32, 4, 2), blocks((n + 31) / 32, (n + 3) / 4, (n + 1) / 2);
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    conduct<<<blocks, block>>>(d_now, d_next, n, 1.0f / 16);
    std::swap(d_now, d_next);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  CHECK(cudaMemcpy(grid.data(), d_now, cells * sizeof(Cell), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Cell &c : grid)
    check = check * 31 + llround(c.temperature * 1e2) + 3 * llround(c.conductivity * 1e2) + 5 * c.id;

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_now));
  CHECK(cudaFree(d_next));
}
