// Inverse-distance-weighted interpolation, coordinates in separate arrays.
//
// The data points dx, dy, dz are read together, element by element, by every
// thread: would one array of points serve better? The height is summed up in
// memory, and as qz might overlap all that is read, each step stores it and reads
// the query again. idw_aos.cu has points, sums in registers and plain weights.
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

// qz[i] becomes the mean height of the data points. x and y are longitude and
// latitude; the weights fall to zero at reach (Franke and Little).
__global__ void interpolate(const float *dx, const float *dy, const float *dz, int dataCount, const float *qx,
                            const float *qy, float *qz, int queryCount, float reach) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= queryCount)
    return;
  float weights = 0.0f;
  qz[i] = 0.0f;
  for (int j = 0; j < dataCount; ++j) {
    float ex = (qx[i] - dx[j]) * __cosf(0.5f * (qy[i] + dy[j])), ey = qy[i] - dy[j];
    float d = sqrtf(ex * ex + ey * ey) + 1e-6f;
    float t = fmaxf(reach - d, 0.0f) / (reach * d);
    float w = t * t;
    qz[i] += w * dz[j];
    weights += w;
  }
  qz[i] /= weights;
}

static unsigned scatter(unsigned k) {
  k = (k ^ k >> 16) * 0x45d9f3bu;
  k = (k ^ k >> 16) * 0x45d9f3bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int queryCount = argc > 1 ? atoi(argv[1]) : 131072;
  int dataCount = argc > 2 ? atoi(argv[2]) : (queryCount + 1) / 2;
  const int repeats = 3;
  const float reach = 2.0f;

  std::vector<float> dx(dataCount), dy(dataCount), dz(dataCount), qx(queryCount), qy(queryCount), qz(queryCount);
  for (int j = 0; j < dataCount; ++j) {
    unsigned k = scatter(j);
    dx[j] = (k >> 16) / 65536.0f;
    dy[j] = (k & 65535) / 65536.0f;
    dz[j] = 10.0f + 3.0f * dx[j] * dx[j] - 2.0f * dy[j];
  }
  for (int i = 0; i < queryCount; ++i) {
    unsigned k = scatter(0x80000000u + i);
    qx[i] = (k >> 16) / 65536.0f;
    qy[i] = (k & 65535) / 65536.0f;
  }

  size_t dataBytes = dataCount * sizeof(float), queryBytes = queryCount * sizeof(float);
  float *d_dx, *d_dy, *d_dz, *d_qx, *d_qy, *d_qz;
  CHECK(cudaMalloc(&d_dx, dataBytes));
  CHECK(cudaMalloc(&d_dy, dataBytes));
  CHECK(cudaMalloc(&d_dz, dataBytes));
  CHECK(cudaMalloc(&d_qx, queryBytes));
  CHECK(cudaMalloc(&d_qy, queryBytes));
  CHECK(cudaMalloc(&d_qz, queryBytes));
  CHECK(cudaMemcpy(d_dx, dx.data(), dataBytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(d_dy, dy.data(), dataBytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(d_dz, dz.data(), dataBytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(d_qx, qx.data(), queryBytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(d_qy, qy.data(), queryBytes, cudaMemcpyHostToDevice));

  cudaEvent_t start, stop;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  int blocks = (queryCount + 255) / 256;
  interpolate<<<blocks, 256>>>(d_dx, d_dy, d_dz, dataCount, d_qx, d_qy, d_qz, queryCount, reach); // warm-up
  CHECK(cudaEventRecord(start));
  for (int r = 0; r < repeats; ++r)
    interpolate<<<blocks, 256>>>(d_dx, d_dy, d_dz, dataCount, d_qx, d_qy, d_qz, queryCount, reach);
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(stop));
  CHECK(cudaEventSynchronize(stop));
  CHECK(cudaMemcpy(qz.data(), d_qz, queryBytes, cudaMemcpyDeviceToHost));

  for (int s = 0; s < 32; ++s) {
    int i = (queryCount - 1LL) * s / 31;
    double sum = 0, weights = 0;
    for (int j = 0; j < dataCount; ++j) {
      double ex = (qx[i] - dx[j]) * cos(0.5 * (qy[i] + dy[j])), ey = qy[i] - dy[j];
      double d = sqrt(ex * ex + ey * ey) + 1e-6;
      double t = fmax(reach - d, 0) / (reach * d);
      double w = t * t;
      sum += w * dz[j];
      weights += w;
    }
    if (!(fabs(sum / weights - qz[i]) < 5e-3)) {
      fprintf(stderr, "query %d: height %g, expected %g\n", i, qz[i], sum / weights);
      return 1;
    }
  }
  unsigned long long check = 0;
  for (int i = 0; i < queryCount; ++i)
    check = check * 31 + llround(qz[i] * 1e3);

  float ms = 0;
  CHECK(cudaEventElapsedTime(&ms, start, stop));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_dx));
  CHECK(cudaFree(d_dy));
  CHECK(cudaFree(d_dz));
  CHECK(cudaFree(d_qx));
  CHECK(cudaFree(d_qy));
  CHECK(cudaFree(d_qz));
  return 0;
}
