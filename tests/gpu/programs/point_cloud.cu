// A laser scan of many millions of points, turned and moved in place.
//
// Twelve bytes per point, all read and all stored: nothing but bandwidth.
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

struct Point {
  float x, y, z;
};

struct Pose {
  float r[9], t[3];
};

__global__ void transform(Point *cloud, size_t n, Pose pose) {
  size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  Point p = cloud[i];
  cloud[i].x = pose.r[0] * p.x + pose.r[1] * p.y + pose.r[2] * p.z + pose.t[0];
  cloud[i].y = pose.r[3] * p.x + pose.r[4] * p.y + pose.r[5] * p.z + pose.t[1];
  cloud[i].z = pose.r[6] * p.x + pose.r[7] * p.y + pose.r[8] * p.z + pose.t[2];
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  size_t n = argc > 1 ? strtoull(argv[1], nullptr, 10) : 50000000;
  std::vector<Point> cloud(n);
  for (size_t i = 0; i < n; ++i) {
    unsigned h = hash((unsigned)i);
    cloud[i] = {(float)(h & 1023), (float)(h >> 10 & 1023), (float)(h >> 20 & 1023)};
  }
  Pose pose = {{0, -1, 0, 1, 0, 0, 0, 0, 1}, {3, -2, 1}}; // a quarter turn
  Point *d_cloud;
  CHECK(cudaMalloc(&d_cloud, n * sizeof(Point)));
  CHECK(cudaMemcpy(d_cloud, cloud.data(), n * sizeof(Point), cudaMemcpyHostToDevice));
  unsigned blocks = (unsigned)((n + 255) / 256);

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    transform<<<blocks, 256>>>(d_cloud, n, pose);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  CHECK(cudaMemcpy(cloud.data(), d_cloud, n * sizeof(Point), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Point &p : cloud)
    check = check * 31 + (long long)(p.x + 3 * p.y + 5 * p.z);

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_cloud));
}
