// Lloyd's k-means: every point looks at all centroids, then sums per cluster.
//
// All threads read the same centroid at a time. The sums are in fixed point,
// in shared memory first, so that their order does not matter.
#include <cmath>
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
  float x, y, z, w;
  int cluster;
  float distance;
};

struct Centroid {
  float x, y, z, w;
  int count;
  float pad;
};

struct Sum {
  int x, y, z, w;
  int count;
};

const int CLUSTERS = 64;
const float SCALE = 16; // of the sums

__global__ void assign(Point *points, const Centroid *centroids, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float x = points[i].x, y = points[i].y, z = points[i].z, w = points[i].w;
  int best = 0;
  float nearest = 1e30f;
  for (int k = 0; k < CLUSTERS; ++k) {
    float dx = x - centroids[k].x, dy = y - centroids[k].y;
    float dz = z - centroids[k].z, dw = w - centroids[k].w;
    float d = fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, dw * dw)));
    if (d < nearest) {
      nearest = d;
      best = k;
    }
  }
  points[i].cluster = best;
  points[i].distance = nearest;
}

__global__ void accumulate(const Point *points, Sum *sums, int n) {
  __shared__ int sx[CLUSTERS], sy[CLUSTERS], sz[CLUSTERS], sw[CLUSTERS], members[CLUSTERS];
  int t = threadIdx.x;
  if (t < CLUSTERS)
    sx[t] = sy[t] = sz[t] = sw[t] = members[t] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) {
    int k = points[i].cluster;
    atomicAdd(&sx[k], (int)(points[i].x * SCALE));
    atomicAdd(&sy[k], (int)(points[i].y * SCALE));
    atomicAdd(&sz[k], (int)(points[i].z * SCALE));
    atomicAdd(&sw[k], (int)(points[i].w * SCALE));
    atomicAdd(&members[k], 1);
  }
  __syncthreads();
  if (t < CLUSTERS) {
    atomicAdd(&sums[t].x, sx[t]);
    atomicAdd(&sums[t].y, sy[t]);
    atomicAdd(&sums[t].z, sz[t]);
    atomicAdd(&sums[t].w, sw[t]);
    atomicAdd(&sums[t].count, members[t]);
  }
}

__global__ void update(Centroid *centroids, Sum *sums) {
  int k = threadIdx.x;
  int count = sums[k].count;
  centroids[k].count = count;
  if (count > 0) {
    float scale = SCALE * count;
    centroids[k].x = sums[k].x / scale;
    centroids[k].y = sums[k].y / scale;
    centroids[k].z = sums[k].z / scale;
    centroids[k].w = sums[k].w / scale;
  }
  sums[k].x = 0;
  sums[k].y = 0;
  sums[k].z = 0;
  sums[k].w = 0;
  sums[k].count = 0;
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 22;
  std::vector<Point> points(n);
  for (int i = 0; i < n; ++i) { // clouds around a hundred places
    unsigned h = hash(i), place = hash(h % 100 + 0x10000000), spread = hash(~i);
    points[i] = {(place & 63) + (spread & 255) / 16.0f,
                 (place >> 6 & 63) + (spread >> 8 & 255) / 16.0f,
                 (place >> 12 & 63) + (spread >> 16 & 255) / 16.0f,
                 (place >> 18 & 63) + (spread >> 24 & 255) / 16.0f,
                 0,
                 0};
  }
  std::vector<Centroid> centroids(CLUSTERS);
  std::vector<Sum> sums(CLUSTERS);
  for (int k = 0; k < CLUSTERS; ++k) {
    const Point &p = points[hash(k) % n];
    centroids[k] = {p.x, p.y, p.z, p.w, 0, 0};
    sums[k] = {0, 0, 0, 0, 0};
  }
  Point *d_points;
  CHECK(cudaMalloc(&d_points, n * sizeof(Point)));
  CHECK(cudaMemcpy(d_points, points.data(), n * sizeof(Point), cudaMemcpyHostToDevice));
  Centroid *d_centroids;
  CHECK(cudaMalloc(&d_centroids, CLUSTERS * sizeof(Centroid)));
  CHECK(cudaMemcpy(d_centroids, centroids.data(), CLUSTERS * sizeof(Centroid), cudaMemcpyHostToDevice));
  Sum *d_sums;
  CHECK(cudaMalloc(&d_sums, CLUSTERS * sizeof(Sum)));
  CHECK(cudaMemcpy(d_sums, sums.data(), CLUSTERS * sizeof(Sum), cudaMemcpyHostToDevice));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    assign<<<(n + 255) / 256, 256>>>(d_points, d_centroids, n);
    accumulate<<<1056, 256>>>(d_points, d_sums, n);
    update<<<1, CLUSTERS>>>(d_centroids, d_sums);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  CHECK(cudaMemcpy(points.data(), d_points, n * sizeof(Point), cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(centroids.data(), d_centroids, CLUSTERS * sizeof(Centroid), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Point &p : points)
    check = check * 31 + p.cluster + 3 * llround(p.distance);
  for (const Centroid &c : centroids)
    check = check * 31 + c.count + llround(c.x * 10) + 3 * llround(c.w * 10);

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_points));
  CHECK(cudaFree(d_centroids));
  CHECK(cudaFree(d_sums));
}
