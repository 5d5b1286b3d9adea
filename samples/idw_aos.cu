// Inverse-distance-weighted interpolation, points as records {x, y, z}.
//
// Each query walks all data points in step with its neighbours: three scalar
// loads per point, or two, or one of a padded point. idw_sep.cu keeps the
// coordinates in separate arrays.
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

struct Point {
  float x, y, z;
};

// query[i].z becomes the mean height of the data points, weighted by 1/d^2.
__global__ void interpolate(const Point *__restrict__ data, int dataCount, Point *__restrict__ query, int queryCount) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= queryCount)
    return;
  float x = query[i].x, y = query[i].y;
  float sum = 0.0f, weights = 0.0f;
  for (int j = 0; j < dataCount; ++j) {
    float dx = x - data[j].x, dy = y - data[j].y;
    float w = 1.0f / (dx * dx + dy * dy + 1e-6f);
    sum += w * data[j].z;
    weights += w;
  }
  query[i].z = sum / weights;
}

static Point scatter(unsigned k) {
  k = (k ^ k >> 16) * 0x45d9f3bu;
  k = (k ^ k >> 16) * 0x45d9f3bu;
  k ^= k >> 16;
  Point p;
  p.x = (k >> 16) / 65536.0f;
  p.y = (k & 65535) / 65536.0f;
  p.z = 10.0f + 3.0f * p.x * p.x - 2.0f * p.y;
  return p;
}

int main(int argc, char **argv) {
  int queryCount = argc > 1 ? atoi(argv[1]) : 131072;
  int dataCount = argc > 2 ? atoi(argv[2]) : (queryCount + 1) / 2;
  const int repeats = 3;

  std::vector<Point> data(dataCount), query(queryCount);
  for (int j = 0; j < dataCount; ++j)
    data[j] = scatter(j);
  for (int i = 0; i < queryCount; ++i) {
    query[i] = scatter(0x80000000u + i);
    query[i].z = 0.0f;
  }

  Point *d_data, *d_query;
  CHECK(cudaMalloc(&d_data, dataCount * sizeof(Point)));
  CHECK(cudaMalloc(&d_query, queryCount * sizeof(Point)));
  CHECK(cudaMemcpy(d_data, data.data(), dataCount * sizeof(Point), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(d_query, query.data(), queryCount * sizeof(Point), cudaMemcpyHostToDevice));

  cudaEvent_t start, stop;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  int blocks = (queryCount + 255) / 256;
  interpolate<<<blocks, 256>>>(d_data, dataCount, d_query, queryCount); // warm-up
  CHECK(cudaEventRecord(start));
  for (int r = 0; r < repeats; ++r)
    interpolate<<<blocks, 256>>>(d_data, dataCount, d_query, queryCount);
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(stop));
  CHECK(cudaEventSynchronize(stop));
  CHECK(cudaMemcpy(query.data(), d_query, queryCount * sizeof(Point), cudaMemcpyDeviceToHost));

  for (int s = 0; s < 32; ++s) {
    int i = (queryCount - 1LL) * s / 31;
    double sum = 0, weights = 0;
    for (int j = 0; j < dataCount; ++j) {
      double dx = query[i].x - data[j].x, dy = query[i].y - data[j].y;
      double w = 1 / (dx * dx + dy * dy + 1e-6);
      sum += w * data[j].z;
      weights += w;
    }
    if (!(fabs(sum / weights - query[i].z) < 5e-3)) {
      fprintf(stderr, "query %d: height %g, expected %g\n", i, query[i].z, sum / weights);
      return 1;
    }
  }
  unsigned long long check = 0;
  for (int i = 0; i < queryCount; ++i)
    check = check * 31 + llround(query[i].z * 1e3);

  float ms = 0;
  CHECK(cudaEventElapsedTime(&ms, start, stop));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_data));
  CHECK(cudaFree(d_query));
  return 0;
}
