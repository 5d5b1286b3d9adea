// Symmetric rank-2k update, C = alpha A B^T + alpha B A^T + beta C, with A and
// B in arrays of their own.
//
// a and b are read at the same two indices, at a stride of one row between
// neighbouring threads: would pairs do? syr2k_aos.cu is that program.
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

__global__ void syr2k(const float *a, const float *b, float *c, int n, int m, float alpha, float beta) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= n || j >= n)
    return;
  c[i * n + j] *= beta;
  for (int k = 0; k < m; ++k)
    c[i * n + j] += alpha * a[i * m + k] * b[j * m + k] + alpha * b[i * m + k] * a[j * m + k];
}

// Small whole numbers: every product and sum is exact.
static float digit(unsigned k) {
  k *= 2654435761u;
  k = (k ^ k >> 15) * 2246822519u;
  return (int)((k ^ k >> 13) % 9) - 4;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1024;
  int m = argc > 2 ? atoi(argv[2]) : n;
  const int repeats = 5;
  const float alpha = 1.5f, beta = 0.5f;

  std::vector<float> a(n * m), b(n * m), c(n * n), result(n * n);
  for (int i = 0; i < n * m; ++i) {
    a[i] = digit(2 * i);
    b[i] = digit(2 * i + 1);
  }
  for (int i = 0; i < n * n; ++i)
    c[i] = digit(~i);

  const size_t abBytes = a.size() * sizeof(float), cBytes = c.size() * sizeof(float);
  float *d_a, *d_b, *d_c;
  CHECK(cudaMalloc(&d_a, abBytes));
  CHECK(cudaMalloc(&d_b, abBytes));
  CHECK(cudaMalloc(&d_c, cBytes));
  CHECK(cudaMemcpy(d_a, a.data(), abBytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(d_b, b.data(), abBytes, cudaMemcpyHostToDevice));

  cudaEvent_t start, stop;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  dim3 block(32, 8), grid((n + 31) / 32, (n + 7) / 8);
  float total = 0;
  for (int r = 0; r <= repeats; ++r) {
    CHECK(cudaMemcpy(d_c, c.data(), cBytes, cudaMemcpyHostToDevice));
    CHECK(cudaEventRecord(start));
    syr2k<<<grid, block>>>(d_a, d_b, d_c, n, m, alpha, beta);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(stop));
    CHECK(cudaEventSynchronize(stop));
    float ms = 0;
    CHECK(cudaEventElapsedTime(&ms, start, stop));
    if (r > 0) // round 0 warms up
      total += ms;
  }
  CHECK(cudaMemcpy(result.data(), d_c, cBytes, cudaMemcpyDeviceToHost));

  for (int s = 0; s < 1000; ++s) {
    int q = (n * (long long)n - 1) * s / 999, i = q / n, j = q % n;
    double expected = beta * c[q];
    for (int k = 0; k < m; ++k)
      expected += alpha * (a[i * m + k] * b[j * m + k] + b[i * m + k] * a[j * m + k]);
    if (fabs(expected - result[q]) > 1e-6 * fabs(expected)) {
      fprintf(stderr, "C(%d, %d) is %g, expected %g\n", i, j, result[q], expected);
      return 1;
    }
  }
  unsigned long long check = 0;
  for (int i = 0; i < n * n; ++i)
    check = check * 31 + llround(result[i] * 2);
  printf("check %llu\ntime_ms %.4f\n", check, total / repeats);
  CHECK(cudaFree(d_a));
  CHECK(cudaFree(d_b));
  CHECK(cudaFree(d_c));
  return 0;
}
