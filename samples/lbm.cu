// Lattice Boltzmann flow (D2Q9) around a disc, pull scheme, ping-pong buffers.
//
// Nine populations per cell sit in a member array. Neighbouring threads read
// the same population of neighbouring cells, which is nine words apart here
// and adjacent in other layouts.
#include <cmath>
#include <cstdio>
#include <cstdlib>

#define HANDLE_ERROR(call) handleError((call), #call)
static void handleError(cudaError_t error, const char *what) {
  if (error == cudaSuccess)
    return;
  fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  exit(2);
}

struct Cell {
  float f[9];
  int solid;
};

const float OMEGA = 1.6f;

// Directions: 0 rests, 1-4 go along the axes, 5-8 along the diagonals.
__host__ __device__ constexpr int stepX(int k) { return (k == 1 || k == 5 || k == 8) - (k == 3 || k == 6 || k == 7); }
__host__ __device__ constexpr int stepY(int k) { return (k == 2 || k == 5 || k == 6) - (k == 4 || k == 7 || k == 8); }
__host__ __device__ constexpr int opposite(int k) { return k == 0 ? 0 : k < 5 ? (k + 1) % 4 + 1 : (k - 3) % 4 + 5; }
__host__ __device__ constexpr float weight(int k) { return k == 0 ? 4.0f / 9 : k < 5 ? 1.0f / 9 : 1.0f / 36; }

__host__ __device__ inline float equilibrium(int k, float rho, float ux, float uy) {
  float cu = 3 * (stepX(k) * ux + stepY(k) * uy);
  return weight(k) * rho * (1 + cu + 0.5f * cu * cu - 1.5f * (ux * ux + uy * uy));
}

// Relaxes the nine populations of one cell towards equilibrium.
__host__ __device__ inline void collide(float *f) {
  float rho = 0, ux = 0, uy = 0;
  for (int k = 0; k < 9; ++k) {
    rho += f[k];
    ux += stepX(k) * f[k];
    uy += stepY(k) * f[k];
  }
  ux /= rho;
  uy /= rho;
  for (int k = 0; k < 9; ++k)
    f[k] += OMEGA * (equilibrium(k, rho, ux, uy) - f[k]);
}

// Index of the cell that population k of (x, y) streams from; edges wrap.
__host__ __device__ inline int source(int x, int y, int k, int nx, int ny) {
  return (y - stepY(k) + ny) % ny * nx + (x - stepX(k) + nx) % nx;
}

__global__ void streamCollide(const Cell *in, Cell *out, int nx, int ny) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= nx || y >= ny)
    return;
  int i = y * nx + x;
  float f[9];
#pragma unroll
  for (int k = 0; k < 9; ++k)
    f[k] = in[source(x, y, k, nx, ny)].f[k];
  if (in[i].solid) { // walls send everything back
#pragma unroll
    for (int k = 0; k < 9; ++k)
      out[i].f[opposite(k)] = f[k];
    return;
  }
  collide(f);
#pragma unroll
  for (int k = 0; k < 9; ++k)
    out[i].f[k] = f[k];
}

int main(int argc, char **argv) {
  int nx = argc > 1 ? atoi(argv[1]) : 2048;
  int ny = argc > 2 ? atoi(argv[2]) : nx;
  const int steps = 20;
  int cells = nx * ny;

  Cell *h_cells, *h_before, *d_now, *d_next;
  h_cells = (Cell *)malloc(cells * sizeof(Cell));
  h_before = (Cell *)malloc(cells * sizeof(Cell));
  for (int i = 0; i < cells; ++i) {
    int x = i % nx, y = i / nx;
    for (int k = 0; k < 9; ++k)
      h_cells[i].f[k] = equilibrium(k, 1 + 0.01f * (x * 7 % 11), 0.05f, 0.01f * (y % 3 - 1));
    float dx = x - nx / 4.0f, dy = y - ny / 2.0f;
    h_cells[i].solid = dx * dx + dy * dy < ny * ny / 100.0f;
  }

  size_t bytes = (size_t)cells * sizeof(Cell);
  HANDLE_ERROR(cudaMalloc(&d_now, bytes));
  HANDLE_ERROR(cudaMalloc(&d_next, bytes));
  HANDLE_ERROR(cudaMemcpy(d_now, h_cells, bytes, cudaMemcpyHostToDevice));
  HANDLE_ERROR(cudaMemcpy(d_next, d_now, bytes, cudaMemcpyDeviceToDevice));

  cudaEvent_t start, stop;
  HANDLE_ERROR(cudaEventCreate(&start));
  HANDLE_ERROR(cudaEventCreate(&stop));
  dim3 block(64, 4), grid((nx + 63) / 64, (ny + 3) / 4);
  for (int s = 0; s <= steps; ++s) {
    if (s == 1) // step 0 warms up
      HANDLE_ERROR(cudaEventRecord(start));
    streamCollide<<<grid, block>>>(d_now, d_next, nx, ny);
    Cell *tmp = d_now;
    d_now = d_next;
    d_next = tmp;
  }
  HANDLE_ERROR(cudaGetLastError());
  HANDLE_ERROR(cudaEventRecord(stop));
  HANDLE_ERROR(cudaEventSynchronize(stop));
  HANDLE_ERROR(cudaMemcpy(h_cells, d_now, bytes, cudaMemcpyDeviceToHost));
  HANDLE_ERROR(cudaMemcpy(h_before, d_next, bytes, cudaMemcpyDeviceToHost));

  for (int s = 0; s < 1000; ++s) {
    int i = (cells - 1LL) * s / 999, x = i % nx, y = i / nx;
    float f[9], expected[9];
    for (int k = 0; k < 9; ++k)
      f[k] = h_before[source(x, y, k, nx, ny)].f[k];
    if (!h_before[i].solid)
      collide(f);
    for (int k = 0; k < 9; ++k)
      expected[h_before[i].solid ? opposite(k) : k] = f[k];
    for (int k = 0; k < 9; ++k)
      if (fabsf(expected[k] - h_cells[i].f[k]) > 1e-5f) {
        fprintf(stderr, "cell (%d, %d): f[%d] is %g, expected %g\n", x, y, k, h_cells[i].f[k], expected[k]);
        return 1;
      }
  }

  unsigned long long check = 0;
  for (int i = 0; i < cells; ++i)
    for (int k = 0; k < 9; ++k)
      check = check * 31 + llround(h_cells[i].f[k] * 1e3) + h_cells[i].solid;
  float ms;
  HANDLE_ERROR(cudaEventElapsedTime(&ms, start, stop));
  printf("check %llu\ntime_ms %.4f\n", check, ms / steps);
  HANDLE_ERROR(cudaFree(d_now));
  HANDLE_ERROR(cudaFree(d_next));
  free(h_cells);
  free(h_before);
  return 0;
}
