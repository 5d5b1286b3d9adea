// lidar_ground: progressive morphological ground filter for airborne LiDAR
// (rasterise minimum z -> open with growing window -> classify points ->
//  per-cell canopy statistics)
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>

static void check(cudaError_t e, const char* file, int line) {
  if (e != cudaSuccess) {
    std::fprintf(stderr, "%s(%d): %s\n", file, line, cudaGetErrorString(e));
    std::exit(1);
  }
}
#define CHECK(x) check((x), __FILE__, __LINE__)

// LAS-like point
struct LidarPoint {
  double x, y;               // projected metres
  float z;
  float height;              // above ground, output
  double gps_time;
  unsigned short intensity;
  unsigned char return_no;
  unsigned char n_returns;
  unsigned char cls;         // 1 unclassified, 2 ground, 5 vegetation, 6 building, 7 noise
  signed char scan_angle;
  unsigned short source_id;
};

struct DemCell {
  int zmin_mm;               // lowest return, mm
  int n_points;
  float ground;              // current opened surface
  float eroded;
  float slope;
  unsigned int n_ground;
  unsigned int n_veg;
  float intensity_sum;
  int canopy_mm;
};

struct Grid {
  double x0, y0;
  float cell;
  int cols, rows;
  __host__ __device__ int col(double x) const {
    int c = (int)((x - x0) / cell);
    return c < 0 ? 0 : (c >= cols ? cols - 1 : c);
  }
  __host__ __device__ int row(double y) const {
    int r = (int)((y - y0) / cell);
    return r < 0 ? 0 : (r >= rows ? rows - 1 : r);
  }
  __host__ __device__ int size() const { return cols * rows; }
};

constexpr int NODATA = 0x7fffffff;
constexpr int TILE = 16;
constexpr int MAXR = 4;

__global__ void clear_cells(DemCell* dem, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  DemCell c;
  c.zmin_mm = NODATA;
  c.n_points = 0;
  c.ground = 0.f;
  c.eroded = 0.f;
  c.slope = 0.f;
  c.n_ground = 0;
  c.n_veg = 0;
  c.intensity_sum = 0.f;
  c.canopy_mm = 0;
  dem[i] = c;
}

__global__ void rasterise_min(const LidarPoint* pts, int n, DemCell* dem, Grid g) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
    const LidarPoint& p = pts[i];
    if (p.cls == 7) continue;
    DemCell* c = dem + (size_t)g.row(p.y) * g.cols + g.col(p.x);
    atomicMin(&c->zmin_mm, __float2int_rn(p.z * 1000.f));
    atomicAdd(&c->n_points, 1);
  }
}

// erosion of z-min (first pass) or of the current surface, window radius r
__global__ void erode(DemCell* dem, Grid g, int r, bool first) {
  __shared__ float tile[TILE + 2 * MAXR][TILE + 2 * MAXR];
  int gx = blockIdx.x * TILE - MAXR, gy = blockIdx.y * TILE - MAXR;
  for (int ty = threadIdx.y; ty < TILE + 2 * MAXR; ty += TILE)
    for (int tx = threadIdx.x; tx < TILE + 2 * MAXR; tx += TILE) {
      int x = gx + tx, y = gy + ty;
      float v = 1e9f;
      if (x >= 0 && y >= 0 && x < g.cols && y < g.rows) {
        int id = y * g.cols + x;
        if (!first) v = dem[id].ground;
        else if (dem[id].zmin_mm != NODATA) v = dem[id].zmin_mm * 0.001f;
      }
      tile[ty][tx] = v;
    }
  __syncthreads();
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  if (x >= g.cols || y >= g.rows) return;
  float m = 1e9f;
  for (int dy = -r; dy <= r; ++dy)
    for (int dx = -r; dx <= r; ++dx)
      m = fminf(m, tile[threadIdx.y + MAXR + dy][threadIdx.x + MAXR + dx]);
  dem[y * g.cols + x].eroded = m;
}

__device__ float cell_slope(const DemCell* dem, const Grid& g, int x, int y) {
  int xl = max(x - 1, 0), xr = min(x + 1, g.cols - 1);
  int yl = max(y - 1, 0), yr = min(y + 1, g.rows - 1);
  float sx = (dem[y * g.cols + xr].eroded - dem[y * g.cols + xl].eroded) / ((xr - xl) * g.cell);
  float sy = (dem[yr * g.cols + x].eroded - dem[yl * g.cols + x].eroded) / ((yr - yl) * g.cell);
  return sqrtf(sx * sx + sy * sy);
}

__global__ void dilate(DemCell* dem, Grid g, int r) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= g.cols || y >= g.rows) return;
  float m = -1e9f;
  for (int dy = -r; dy <= r; ++dy)
    for (int dx = -r; dx <= r; ++dx) {
      int xx = min(max(x + dx, 0), g.cols - 1), yy = min(max(y + dy, 0), g.rows - 1);
      float e = dem[yy * g.cols + xx].eroded;
      if (e < 1e8f) m = fmaxf(m, e);
    }
  DemCell& c = dem[y * g.cols + x];
  c.ground = m > -1e8f ? m : 1e9f;
  c.slope = cell_slope(dem, g, x, y);
}

__global__ void classify(LidarPoint* pts, int n, DemCell* dem, Grid g, float tol) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  LidarPoint p = pts[i];
  if (p.cls == 7) return;
  int id = g.row(p.y) * g.cols + g.col(p.x);
  float ground = dem[id].ground, slope = dem[id].slope;
  p.height = p.z - ground;
  if (p.height < tol + 0.5f * g.cell * fminf(slope, 2.0f)) {
    p.cls = 2;
    atomicAdd(&dem[id].n_ground, 1u);
  } else if (p.n_returns > 1) {
    p.cls = 5;
    atomicAdd(&dem[id].n_veg, 1u);
    atomicMax(&dem[id].canopy_mm, __float2int_rn(p.height * 1000.f));
  } else {
    p.cls = 6;
  }
  atomicAdd(&dem[id].intensity_sum, p.intensity * 0.01f);
  pts[i] = p;
}

static float terrain(float x, float y) {
  return 210.f + 15.f * sinf(x * 0.006f) + 9.f * cosf(y * 0.009f + x * 0.002f);
}

int main() {
  Grid g;
  g.x0 = 431000.0; g.y0 = 5412000.0; g.cell = 1.0f; g.cols = 1200; g.rows = 900;
  const int lines = 6, per_line = 500000, n = lines * per_line;

  // parallel flight strips, zig-zag scan lines: neighbours in time are neighbours in space
  std::vector<LidarPoint> pts(n);
  unsigned s = 99991u;
  auto rnd = [&s]() { s = s * 1103515245u + 12345u; return ((s >> 9) & 0x3fffff) / 4194304.0f; };
  int k = 0;
  for (int l = 0; l < lines; ++l) {
    for (int q = 0; q < per_line; ++q) {
      LidarPoint& p = pts[k];
      const int per_scan = 500;
      int scan = q / per_scan, in = q % per_scan;
      float f = (in + rnd()) / per_scan;
      if (scan & 1) f = 1.f - f;
      float y = (l + f * 1.15f) * g.rows / (lines + 0.2f);
      float x = (scan + rnd()) * g.cols / (per_line / per_scan);
      if (l & 1) x = g.cols - x;
      float z = terrain(x, y) + 0.05f * (rnd() - 0.5f);
      int bx = (int)(x / 60), by = (int)(y / 45);
      unsigned h = (bx * 73856093u) ^ (by * 19349663u);
      float u = x - bx * 60, v = y - by * 45;
      p.n_returns = 1; p.return_no = 1; p.cls = 1;
      if (h % 3 == 0 && u > 20 && u < 29 && v > 12 && v < 20) {
        z = terrain(bx * 60 + 24.f, by * 45 + 16.f) + 4.f + h % 7;                 // roof
      } else if (h % 3 == 1 && rnd() < 0.7f) {                                     // trees
        p.n_returns = 2 + (rnd() < 0.3f);
        p.return_no = 1 + (int)(rnd() * p.n_returns);
        if (p.return_no < p.n_returns) z += 2.f + 12.f * rnd() * (0.6f + 0.4f * sinf(u) * sinf(v));
      }
      if (rnd() < 0.0005f) { z -= 30.f; p.cls = 7; }
      p.x = g.x0 + x; p.y = g.y0 + y; p.z = z;
      p.height = 0.f;
      p.gps_time = 3.1e8 + l * 120.0 + q * 5e-6;
      p.intensity = (unsigned short)(200 + 800 * rnd());
      p.scan_angle = (signed char)(-20 + 40 * f);
      p.source_id = (unsigned short)(100 + l);
      ++k;
    }
  }

  LidarPoint* d_pts = nullptr;
  DemCell* d_dem = nullptr;
  CHECK(cudaMalloc(&d_pts, sizeof(LidarPoint) * n));
  CHECK(cudaMalloc(&d_dem, sizeof(DemCell) * g.size()));
  CHECK(cudaMemcpy(d_pts, pts.data(), sizeof(LidarPoint) * n, cudaMemcpyHostToDevice));

  const dim3 blk(TILE, TILE), grd((g.cols + TILE - 1) / TILE, (g.rows + TILE - 1) / TILE);
  const int radii[3] = {1, 2, 4};
  cudaEvent_t start, stop;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  for (int it = 0; it <= 20; ++it) {
    if (it == 1) CHECK(cudaEventRecord(start));
    clear_cells<<<(g.size() + 255) / 256, 256>>>(d_dem, g.size());
    rasterise_min<<<2112, 256>>>(d_pts, n, d_dem, g);
    for (int w = 0; w < 3; ++w) {
      erode<<<grd, blk>>>(d_dem, g, radii[w], w == 0);
      dilate<<<grd, blk>>>(d_dem, g, radii[w]);
    }
    classify<<<(n + 255) / 256, 256>>>(d_pts, n, d_dem, g, 0.25f + 0.01f * (it % 4));
  }
  CHECK(cudaEventRecord(stop));
  CHECK(cudaGetLastError());
  CHECK(cudaEventSynchronize(stop));
  float ms = 0;
  CHECK(cudaEventElapsedTime(&ms, start, stop));

  std::vector<DemCell> dem(g.size());
  CHECK(cudaMemcpy(pts.data(), d_pts, sizeof(LidarPoint) * n, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(dem.data(), d_dem, sizeof(DemCell) * g.size(), cudaMemcpyDeviceToHost));
  double height = 0, ground = 0, slope = 0, inten = 0, canopy = 0;
  long long ng = 0, nv = 0, by_class[8] = {0};
  for (const auto& p : pts) { height += p.height; by_class[p.cls & 7]++; }
  for (const auto& c : dem) {
    if (c.ground < 1e8f) { ground += c.ground; slope += fminf(c.slope, 10.f); }
    inten += c.intensity_sum; canopy += c.canopy_mm * 0.001; ng += c.n_ground; nv += c.n_veg;
  }
  std::printf("check height %.6e\n", height);
  std::printf("check ground %.6e\n", ground);
  std::printf("check slope %.6e\n", slope);
  std::printf("check intensity %.6e\n", inten);
  std::printf("check canopy %.6e\n", canopy);
  std::printf("check n_ground %lld\ncheck n_veg %lld\n", ng, nv);
  std::printf("check cls2 %lld\ncheck cls5 %lld\ncheck cls6 %lld\n", by_class[2], by_class[5], by_class[6]);
  std::printf("time_ms %.4f\n", ms);
  CHECK(cudaFree(d_pts));
  CHECK(cudaFree(d_dem));
  return 0;
}
