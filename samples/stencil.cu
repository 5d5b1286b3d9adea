// Sound waves in a cube of air: a seven-point stencil on managed memory.
//
// Each cell holds a velocity vector and a pressure. The stencil reads one
// velocity component of each neighbour along its own axis and the pressure of
// all six; the host fills and reads the same memory element by element.
#include <cmath>
#include <cstdio>
#include <cstdlib>

#define checkCudaErrors(val) check((val), #val, __FILE__, __LINE__)
static void check(cudaError_t result, const char *func, const char *file, int line) {
  if (result) {
    fprintf(stderr, "%s:%d: code=%d \"%s\"\n", file, line, (int)result, func);
    exit(EXIT_FAILURE);
  }
}

struct Vec {
  float x, y, z;
};

struct Cell {
  Vec v;
  float p;
};

__global__ void advance(const Cell *src, Cell *dst, int n, float c) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < 1 || y < 1 || z < 1 || x >= n - 1 || y >= n - 1 || z >= n - 1)
    return; // walls keep their state
  int dy = n, dz = n * n;
  int i = z * dz + y * dy + x;
  float outflow =
      src[i + 1].v.x - src[i - 1].v.x + (src[i + dy].v.y - src[i - dy].v.y) + (src[i + dz].v.z - src[i - dz].v.z);
  dst[i].p = src[i].p - c * outflow;
  dst[i].v.x = src[i].v.x - c * (src[i + 1].p - src[i - 1].p);
  dst[i].v.y = src[i].v.y - c * (src[i + dy].p - src[i - dy].p);
  dst[i].v.z = src[i].v.z - c * (src[i + dz].p - src[i - dz].p);
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 192;
  const int steps = 20;
  const float c = 0.1f;
  int cells = n * n * n;

  Cell *now, *next;
  checkCudaErrors(cudaMallocManaged(&now, cells * sizeof(Cell)));
  checkCudaErrors(cudaMallocManaged(&next, cells * sizeof(Cell)));
  for (int i = 0; i < cells; ++i) {
    int x = i % n - n / 2, y = i / n % n - n / 2, z = i / n / n - n / 2;
    float bang = expf(-0.01f * (x * x + y * y + z * z));
    now[i].p = next[i].p = 1 + bang;
    now[i].v.x = next[i].v.x = 0.01f * (y & 3);
    now[i].v.y = next[i].v.y = 0;
    now[i].v.z = next[i].v.z = -0.01f * (x & 3);
  }

  cudaEvent_t begin, end;
  checkCudaErrors(cudaEventCreate(&begin));
  checkCudaErrors(cudaEventCreate(&end));
  dim3 block(32, 4, 2);
  dim3 grid((n + 31) / 32, (n + 3) / 4, (n + 1) / 2);
  for (int s = 0; s <= steps; ++s) {
    if (s == 2) // two steps bring both buffers to the GPU
      checkCudaErrors(cudaEventRecord(begin));
    advance<<<grid, block>>>(now, next, n, c);
    Cell *swap = now;
    now = next;
    next = swap;
  }
  checkCudaErrors(cudaGetLastError());
  checkCudaErrors(cudaEventRecord(end));
  checkCudaErrors(cudaDeviceSynchronize());

  // next holds the state before the last step, now the one after.
  for (int z = 1; z < n - 1; z += n / 32 + 1)
    for (int y = 1; y < n - 1; y += n / 32 + 1)
      for (int x = 1; x < n - 1; ++x) {
        int i = (z * n + y) * n + x;
        float outflow = next[i + 1].v.x - next[i - 1].v.x + next[i + n].v.y - next[i - n].v.y + next[i + n * n].v.z -
                        next[i - n * n].v.z;
        float p = next[i].p - c * outflow, vz = next[i].v.z - c * (next[i + n * n].p - next[i - n * n].p);
        if (fabsf(now[i].p - p) > 1e-5f || fabsf(now[i].v.z - vz) > 1e-5f) {
          fprintf(stderr, "cell (%d, %d, %d): p %g, expected %g; v.z %g, expected %g\n", x, y, z, now[i].p, p,
                  now[i].v.z, vz);
          return 1;
        }
      }

  unsigned long long sum = 0;
  for (int i = 0; i < cells; ++i)
    sum = sum * 31 + llround(now[i].p * 1e3) + 3 * llround(now[i].v.x * 1e3) + 5 * llround(now[i].v.y * 1e3) +
          7 * llround(now[i].v.z * 1e3);
  float ms = 0;
  checkCudaErrors(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", sum, ms / (steps - 1));
  checkCudaErrors(cudaFree(now));
  checkCudaErrors(cudaFree(next));
  return 0;
}
