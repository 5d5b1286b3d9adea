// Correlation matrix of m variables from n <= m observations, data and result
// in one record, and one record of statistics per variable.
//
// The result is accumulated in memory, row by row in each thread, next to the
// data that every thread reads: they share records but not indices.
// corr_sep.cu keeps the arrays apart.
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

struct Entry {
  float symmat; // m x m
  float data;   // n x m, in the first n rows
};

struct Column {
  float mean, variance, stddev, scale;
};

__global__ void statistics(const Entry *e, Column *col, int m, int n) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= m)
    return;
  col[j].mean = 0;
  for (int i = 0; i < n; ++i)
    col[j].mean += e[i * m + j].data;
  col[j].mean /= n;
  col[j].variance = 0;
  for (int i = 0; i < n; ++i) {
    float d = e[i * m + j].data - col[j].mean;
    col[j].variance += d * d;
  }
  col[j].variance /= n;
  col[j].stddev = sqrtf(col[j].variance);
  if (col[j].stddev <= 0.005f) // a constant column correlates with nothing
    col[j].stddev = 1;
  col[j].scale = sqrtf((float)n) * col[j].stddev;
}

__global__ void standardize(Entry *e, const Column *col, int m, int n) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= n || j >= m)
    return;
  e[i * m + j].data -= col[j].mean;
  e[i * m + j].data /= col[j].scale;
}

__global__ void correlate(Entry *e, int m, int n) {
  int j1 = blockIdx.x * blockDim.x + threadIdx.x;
  if (j1 >= m)
    return;
  e[j1 * m + j1].symmat = 1;
  for (int j2 = j1 + 1; j2 < m; ++j2) {
    e[j1 * m + j2].symmat = 0;
    for (int i = 0; i < n; ++i)
      e[j1 * m + j2].symmat += e[i * m + j1].data * e[i * m + j2].data;
    e[j2 * m + j1].symmat = e[j1 * m + j2].symmat;
  }
}

static float observe(int i, int j) {
  unsigned k = (i * 40503u + j) * 2654435761u;
  k = (k ^ k >> 15) * 2246822519u;
  return (k >> 16) / 65536.0f + 0.5f * (i * (j % 5 + 1) % 7);
}

int main(int argc, char **argv) {
  int m = argc > 1 ? atoi(argv[1]) : 1024;
  int n = argc > 2 ? atoi(argv[2]) : m < 16 ? 2 : m / 8;
  const int repeats = 3;
  if (n < 2 || n > m) {
    fprintf(stderr, "usage: %s [variables [observations]], 2 <= observations <= variables\n", argv[0]);
    return 2;
  }

  std::vector<Entry> e(m * m), result(m * m);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < m; ++j) {
      e[i * m + j].symmat = 0;
      e[i * m + j].data = i < n ? observe(i, j) : 0;
    }

  Entry *d_e;
  Column *d_col;
  CHECK(cudaMalloc(&d_e, m * m * sizeof(Entry)));
  CHECK(cudaMalloc(&d_col, m * sizeof(Column)));

  cudaEvent_t start, stop;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  dim3 block(32, 8), grid((m + 31) / 32, (n + 7) / 8);
  float total = 0;
  for (int r = 0; r <= repeats; ++r) {
    CHECK(cudaMemcpy(d_e, e.data(), m * m * sizeof(Entry), cudaMemcpyHostToDevice));
    CHECK(cudaEventRecord(start));
    statistics<<<(m + 63) / 64, 64>>>(d_e, d_col, m, n);
    standardize<<<grid, block>>>(d_e, d_col, m, n);
    correlate<<<(m + 63) / 64, 64>>>(d_e, m, n);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(stop));
    CHECK(cudaEventSynchronize(stop));
    float ms = 0;
    CHECK(cudaEventElapsedTime(&ms, start, stop));
    if (r > 0) // round 0 warms up
      total += ms;
  }
  CHECK(cudaMemcpy(result.data(), d_e, m * m * sizeof(Entry), cudaMemcpyDeviceToHost));

  for (int s = 0; s < 500; ++s) {
    int q = (m * (long long)m - 1) * s / 499, j1 = q / m, j2 = q % m;
    double mean1 = 0, mean2 = 0, v1 = 0, v2 = 0, v12 = 0;
    for (int i = 0; i < n; ++i) {
      mean1 += e[i * m + j1].data / n;
      mean2 += e[i * m + j2].data / n;
    }
    for (int i = 0; i < n; ++i) {
      double d1 = e[i * m + j1].data - mean1, d2 = e[i * m + j2].data - mean2;
      v1 += d1 * d1;
      v2 += d2 * d2;
      v12 += d1 * d2;
    }
    if (fabs(v12 / sqrt(v1 * v2) - result[q].symmat) > 1e-4) {
      fprintf(stderr, "variables %d and %d: %g, expected %g\n", j1, j2, result[q].symmat, v12 / sqrt(v1 * v2));
      return 1;
    }
  }
  unsigned long long check = 0;
  for (int i = 0; i < m * m; ++i)
    check = check * 31 + llround(result[i].symmat * 1e3);
  printf("check %llu\ntime_ms %.4f\n", check, total / repeats);
  CHECK(cudaFree(d_e));
  CHECK(cudaFree(d_col));
  return 0;
}
