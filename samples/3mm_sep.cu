// Three matrix products, E = A B, F = C D, G = E F, each matrix in its own
// array.
//
// The two inputs of a product are read at different indices, so nothing is
// gained by pairing them, which is what 3mm_aos.cu does. The sum of a product is
// kept in a register, so that it is the loads that count.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                                    \
  do {                                                                                                                 \
    cudaError_t err = (call);                                                                                          \
    if (err != cudaSuccess) {                                                                                          \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(err));                                     \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

__global__ void multiplyAB(const float *a, const float *b, float *e, int n) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= n || j >= n)
    return;
  float sum = 0;
  for (int k = 0; k < n; ++k)
    sum += a[i * n + k] * b[k * n + j];
  e[i * n + j] = sum;
}

__global__ void multiplyCD(const float *c, const float *d, float *f, int n) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= n || j >= n)
    return;
  float sum = 0;
  for (int k = 0; k < n; ++k)
    sum += c[i * n + k] * d[k * n + j];
  f[i * n + j] = sum;
}

__global__ void multiplyEF(const float *e, const float *f, float *g, int n) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= n || j >= n)
    return;
  float sum = 0;
  for (int k = 0; k < n; ++k)
    sum += e[i * n + k] * f[k * n + j];
  g[i * n + j] = sum;
}

// Small whole numbers: every product and sum is exact.
static float digit(unsigned k) {
  k *= 2654435761u;
  k = (k ^ k >> 15) * 2246822519u;
  return (int)((k ^ k >> 13) % 5) - 2;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 2048;
  const int repeats = 3;
  int count = n * n;

  std::vector<float> a(count), b(count), c(count), d(count), e(count), f(count), g(count);
  for (int i = 0; i < count; ++i) {
    a[i] = digit(4 * i);
    b[i] = digit(4 * i + 1);
    c[i] = digit(4 * i + 2);
    d[i] = digit(4 * i + 3);
  }

  size_t bytes = count * sizeof(float);
  float *d_a, *d_b, *d_c, *d_d, *d_e, *d_f, *d_g;
  CHECK(cudaMalloc(&d_a, bytes));
  CHECK(cudaMalloc(&d_b, bytes));
  CHECK(cudaMalloc(&d_c, bytes));
  CHECK(cudaMalloc(&d_d, bytes));
  CHECK(cudaMalloc(&d_e, bytes));
  CHECK(cudaMalloc(&d_f, bytes));
  CHECK(cudaMalloc(&d_g, bytes));
  CHECK(cudaMemcpy(d_a, a.data(), bytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(d_b, b.data(), bytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(d_c, c.data(), bytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(d_d, d.data(), bytes, cudaMemcpyHostToDevice));

  cudaEvent_t start, stop;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  dim3 block(32, 8), grid((n + 31) / 32, (n + 7) / 8);
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(start));
    multiplyAB<<<grid, block>>>(d_a, d_b, d_e, n);
    multiplyCD<<<grid, block>>>(d_c, d_d, d_f, n);
    multiplyEF<<<grid, block>>>(d_e, d_f, d_g, n);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(stop));
  CHECK(cudaEventSynchronize(stop));
  CHECK(cudaMemcpy(e.data(), d_e, bytes, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(f.data(), d_f, bytes, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(g.data(), d_g, bytes, cudaMemcpyDeviceToHost));

  for (int s = 0; s < 500; ++s) {
    int p = (count - 1LL) * s / 499, i = p / n, j = p % n;
    float ee = 0, ff = 0, gg = 0;
    for (int k = 0; k < n; ++k) {
      ee += a[i * n + k] * b[k * n + j];
      ff += c[i * n + k] * d[k * n + j];
      gg += e[i * n + k] * f[k * n + j];
    }
    if (e[p] != ee || f[p] != ff || g[p] != gg) {
      fprintf(stderr, "(%d, %d): E %g, F %g, G %g, expected %g, %g, %g\n", i, j, e[p], f[p], g[p], ee, ff, gg);
      return 1;
    }
  }
  unsigned long long check = 0;
  for (int i = 0; i < count; ++i)
    check = check * 31 + (long long)g[i];

  float ms = 0;
  CHECK(cudaEventElapsedTime(&ms, start, stop));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_a));
  CHECK(cudaFree(d_b));
  CHECK(cudaFree(d_c));
  CHECK(cudaFree(d_d));
  CHECK(cudaFree(d_e));
  CHECK(cudaFree(d_f));
  CHECK(cudaFree(d_g));
  return 0;
}
