// Influence of neighbours along a line: three hot fields in a loop, thirteen
// cold ones that this kernel leaves alone.
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

struct Cell {
  float charge, weight, bias;
  float x, y, z, vx, vy, vz;
  float temperature, pressure, density, age, colour[3];
};

__global__ void influence(const Cell *cells, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float sum = 0;
  for (int d = -16; d <= 16; ++d) {
    int j = i + d * 37;
    if (j < 0 || j >= n)
      continue;
    sum += cells[j].charge * cells[j].weight - cells[j].bias;
  }
  out[i] = sum;
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 22;
  std::vector<Cell> cells(n);
  for (int i = 0; i < n; ++i) {
    unsigned h = hash(i);
    cells[i].charge = h & 255;
    cells[i].weight = h >> 8 & 255;
    cells[i].bias = h >> 16 & 255;
    cells[i].age = h >> 24;
  }
  Cell *d_cells;
  CHECK(cudaMalloc(&d_cells, n * sizeof(Cell)));
  CHECK(cudaMemcpy(d_cells, cells.data(), n * sizeof(Cell), cudaMemcpyHostToDevice));
  float *d_out;
  CHECK(cudaMalloc(&d_out, n * sizeof(float)));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    influence<<<(n + 255) / 256, 256>>>(d_cells, d_out, n);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  std::vector<float> out(n);
  CHECK(cudaMemcpy(out.data(), d_out, n * sizeof(float), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (float v : out)
    check = check * 31 + (long long)v;

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_cells));
  CHECK(cudaFree(d_out));
}
