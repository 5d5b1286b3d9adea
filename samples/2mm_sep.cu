// Two matrix products, D = A B and E = C D, each matrix in its own array.
//
// The inputs of a product have the same size but are read at different
// indices: pairing them would only spread each one out. 2mm_aos.cu does. The sum
// of a product is kept in a register, so that it is the loads that count.
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

__global__ void multiplyAB(const float *a, const float *b, float *d, int n) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= n || j >= n)
    return;
  float sum = 0;
  for (int k = 0; k < n; ++k)
    sum += a[i * n + k] * b[k * n + j];
  d[i * n + j] = sum;
}

__global__ void multiplyCD(const float *c, const float *d, float *e, int n) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= n || j >= n)
    return;
  float sum = 0;
  for (int k = 0; k < n; ++k)
    sum += c[i * n + k] * d[k * n + j];
  e[i * n + j] = sum;
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

  std::vector<float> a(count), b(count), c(count), d(count), e(count);
  for (int i = 0; i < count; ++i) {
    a[i] = digit(3 * i);
    b[i] = digit(3 * i + 1);
    c[i] = digit(3 * i + 2);
  }

  size_t bytes = count * sizeof(float);
  float *d_a, *d_b, *d_c, *d_d, *d_e;
  CHECK(cudaMalloc((void **)&d_a, bytes));
  CHECK(cudaMalloc((void **)&d_b, bytes));
  CHECK(cudaMalloc((void **)&d_c, bytes));
  CHECK(cudaMalloc((void **)&d_d, bytes));
  CHECK(cudaMalloc((void **)&d_e, bytes));
  CHECK(cudaMemcpy(d_a, a.data(), bytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(d_b, b.data(), bytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(d_c, c.data(), bytes, cudaMemcpyHostToDevice));

  cudaEvent_t start, stop;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  dim3 block(32, 8), grid((n + 31) / 32, (n + 7) / 8);
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(start));
    multiplyAB<<<grid, block>>>(d_a, d_b, d_d, n);
    multiplyCD<<<grid, block>>>(d_c, d_d, d_e, n);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(stop));
  CHECK(cudaEventSynchronize(stop));
  CHECK(cudaMemcpy(d.data(), d_d, bytes, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(e.data(), d_e, bytes, cudaMemcpyDeviceToHost));

  for (int s = 0; s < 500; ++s) {
    int p = (count - 1LL) * s / 499, i = p / n, j = p % n;
    float dd = 0, ee = 0;
    for (int k = 0; k < n; ++k) {
      dd += a[i * n + k] * b[k * n + j];
      ee += c[i * n + k] * d[k * n + j];
    }
    if (d[p] != dd || e[p] != ee) {
      fprintf(stderr, "(%d, %d): D %g, expected %g; E %g, expected %g\n", i, j, d[p], dd, e[p], ee);
      return 1;
    }
  }
  unsigned long long check = 0;
  for (int i = 0; i < count; ++i)
    check = check * 31 + (long long)e[i];

  float ms = 0;
  CHECK(cudaEventElapsedTime(&ms, start, stop));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_a));
  CHECK(cudaFree(d_b));
  CHECK(cudaFree(d_c));
  CHECK(cudaFree(d_d));
  CHECK(cudaFree(d_e));
  return 0;
}
