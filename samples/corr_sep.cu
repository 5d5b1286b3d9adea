// Correlation matrix of m variables from as many observations, every matrix and
// every statistic in an array of its own.
//
// The result is accumulated in memory, and as it might overlap the data, each
// step stores it. Two fields of one record do not overlap, so that corr_aos.cu,
// which merges the arrays into records, stores each sum once.
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

__global__ void statistics(const float *data, float *mean, float *variance, float *stddev, float *scale, int m) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= m)
    return;
  mean[j] = 0;
  for (int i = 0; i < m; ++i)
    mean[j] += data[i * m + j];
  mean[j] /= m;
  variance[j] = 0;
  for (int i = 0; i < m; ++i) {
    float d = data[i * m + j] - mean[j];
    variance[j] += d * d;
  }
  variance[j] /= m;
  stddev[j] = sqrtf(variance[j]);
  if (stddev[j] <= 0.005f) // a constant column correlates with nothing
    stddev[j] = 1;
  scale[j] = sqrtf((float)m) * stddev[j];
}

__global__ void standardize(float *data, const float *mean, const float *scale, int m) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= m || j >= m)
    return;
  data[i * m + j] -= mean[j];
  data[i * m + j] /= scale[j];
}

__global__ void correlate(const float *data, float *symmat, int m) {
  int j1 = blockIdx.x * blockDim.x + threadIdx.x;
  if (j1 >= m)
    return;
  symmat[j1 * m + j1] = 1;
  for (int j2 = j1 + 1; j2 < m; ++j2) {
    symmat[j1 * m + j2] = 0;
    for (int i = 0; i < m; ++i)
      symmat[j1 * m + j2] += data[i * m + j1] * data[i * m + j2];
    symmat[j2 * m + j1] = symmat[j1 * m + j2];
  }
}

static float observe(int i, int j) {
  unsigned k = (i * 40503u + j) * 2654435761u;
  k = (k ^ k >> 15) * 2246822519u;
  return (k >> 16) / 65536.0f + 0.5f * (i * (j % 5 + 1) % 7);
}

int main(int argc, char **argv) {
  int m = argc > 1 ? atoi(argv[1]) : 512;
  const int repeats = 3;
  if (m < 2) {
    fprintf(stderr, "usage: %s [variables], at least two\n", argv[0]);
    return 2;
  }

  std::vector<float> data(m * m), result(m * m);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < m; ++j)
      data[i * m + j] = observe(i, j);

  float *d_data, *d_symmat, *d_mean, *d_variance, *d_stddev, *d_scale;
  CHECK(cudaMalloc(&d_data, m * m * sizeof(float)));
  CHECK(cudaMalloc(&d_symmat, m * m * sizeof(float)));
  CHECK(cudaMalloc(&d_mean, m * sizeof(float)));
  CHECK(cudaMalloc(&d_variance, m * sizeof(float)));
  CHECK(cudaMalloc(&d_stddev, m * sizeof(float)));
  CHECK(cudaMalloc(&d_scale, m * sizeof(float)));

  cudaEvent_t start, stop;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  dim3 block(32, 8), grid((m + 31) / 32, (m + 7) / 8);
  float total = 0;
  for (int r = 0; r <= repeats; ++r) {
    CHECK(cudaMemcpy(d_data, data.data(), m * m * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaEventRecord(start));
    statistics<<<(m + 63) / 64, 64>>>(d_data, d_mean, d_variance, d_stddev, d_scale, m);
    standardize<<<grid, block>>>(d_data, d_mean, d_scale, m);
    correlate<<<(m + 63) / 64, 64>>>(d_data, d_symmat, m);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(stop));
    CHECK(cudaEventSynchronize(stop));
    float ms = 0;
    CHECK(cudaEventElapsedTime(&ms, start, stop));
    if (r > 0) // round 0 warms up
      total += ms;
  }
  CHECK(cudaMemcpy(result.data(), d_symmat, m * m * sizeof(float), cudaMemcpyDeviceToHost));

  for (int s = 0; s < 500; ++s) {
    int q = (m * (long long)m - 1) * s / 499, j1 = q / m, j2 = q % m;
    double mean1 = 0, mean2 = 0, v1 = 0, v2 = 0, v12 = 0;
    for (int i = 0; i < m; ++i) {
      mean1 += data[i * m + j1] / m;
      mean2 += data[i * m + j2] / m;
    }
    for (int i = 0; i < m; ++i) {
      double d1 = data[i * m + j1] - mean1, d2 = data[i * m + j2] - mean2;
      v1 += d1 * d1;
      v2 += d2 * d2;
      v12 += d1 * d2;
    }
    if (fabs(v12 / sqrt(v1 * v2) - result[q]) > 1e-4) {
      fprintf(stderr, "variables %d and %d: %g, expected %g\n", j1, j2, result[q], v12 / sqrt(v1 * v2));
      return 1;
    }
  }
  unsigned long long check = 0;
  for (int i = 0; i < m * m; ++i)
    check = check * 31 + llround(result[i] * 1e3);
  printf("check %llu\ntime_ms %.4f\n", check, total / repeats);
  CHECK(cudaFree(d_data));
  CHECK(cudaFree(d_symmat));
  CHECK(cudaFree(d_mean));
  CHECK(cudaFree(d_variance));
  CHECK(cudaFree(d_stddev));
  CHECK(cudaFree(d_scale));
  return 0;
}
