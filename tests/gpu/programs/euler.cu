// Gas dynamics in two dimensions: finite volumes, conserved variables in double.
//
// Each cell reads itself and its four neighbours, all fields, and stores a
// record of the other buffer. The argument is the side of the grid.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define CHECK(call)                                                                                                    \
  do {                                                                                                                 \
    cudaError_t status = (call);                                                                                       \
    if (status != cudaSuccess) {                                                                                       \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));                                  \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

struct Cell {
  double rho, mx, my, e;
};

__device__ double pressure(Cell c) { return 0.4 * (c.e - 0.5 * (c.mx * c.mx + c.my * c.my) / c.rho); }

// Rusanov's flux through the face between a left and a right cell.
__device__ Cell fluxX(Cell l, Cell r) {
  double ul = l.mx / l.rho, ur = r.mx / r.rho;
  double pl = pressure(l), pr = pressure(r);
  double a = fmax(fabs(ul) + sqrt(1.4 * pl / l.rho), fabs(ur) + sqrt(1.4 * pr / r.rho));
  Cell f;
  f.rho = 0.5 * (l.mx + r.mx - a * (r.rho - l.rho));
  f.mx = 0.5 * (l.mx * ul + pl + r.mx * ur + pr - a * (r.mx - l.mx));
  f.my = 0.5 * (l.my * ul + r.my * ur - a * (r.my - l.my));
  f.e = 0.5 * ((l.e + pl) * ul + (r.e + pr) * ur - a * (r.e - l.e));
  return f;
}

// And between a lower and an upper one.
__device__ Cell fluxY(Cell l, Cell u) {
  double vl = l.my / l.rho, vu = u.my / u.rho;
  double pl = pressure(l), pu = pressure(u);
  double a = fmax(fabs(vl) + sqrt(1.4 * pl / l.rho), fabs(vu) + sqrt(1.4 * pu / u.rho));
  Cell f;
  f.rho = 0.5 * (l.my + u.my - a * (u.rho - l.rho));
  f.mx = 0.5 * (l.mx * vl + u.mx * vu - a * (u.mx - l.mx));
  f.my = 0.5 * (l.my * vl + pl + u.my * vu + pu - a * (u.my - l.my));
  f.e = 0.5 * ((l.e + pl) * vl + (u.e + pu) * vu - a * (u.e - l.e));
  return f;
}

__global__ void step(const Cell *now, Cell *next, int n, double ratio) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= n || y >= n)
    return;
  int west = x > 0 ? x - 1 : x, east = x < n - 1 ? x + 1 : x;
  int south = y > 0 ? y - 1 : y, north = y < n - 1 ? y + 1 : y;
  Cell c = now[y * n + x];
  Cell fw = fluxX(now[y * n + west], c), fe = fluxX(c, now[y * n + east]);
  Cell fs = fluxY(now[south * n + x], c), fn = fluxY(c, now[north * n + x]);
  int i = y * n + x;
  next[i].rho = c.rho - ratio * (fe.rho - fw.rho + fn.rho - fs.rho);
  next[i].mx = c.mx - ratio * (fe.mx - fw.mx + fn.mx - fs.mx);
  next[i].my = c.my - ratio * (fe.my - fw.my + fn.my - fs.my);
  next[i].e = c.e - ratio * (fe.e - fw.e + fn.e - fs.e);
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1536;
  size_t cells = (size_t)n * n;
  std::vector<Cell> grid(cells);
  for (int y = 0; y < n; ++y)
    for (int x = 0; x < n; ++x) { // hot discs in a cold gas
      unsigned h = hash(y / 64 * 1024 + x / 64);
      int dx = x % 64 - 32, dy = y % 64 - 32;
      bool hot = dx * dx + dy * dy < (int)(h & 511);
      double rho = hot ? 1.0 : 0.2 + (h >> 9 & 7) / 64.0, p = hot ? 1.0 : 0.1 + (h >> 12 & 7) / 128.0;
      double u = (h >> 15 & 7) / 16.0 - 0.25, v = (h >> 18 & 7) / 16.0 - 0.25;
      grid[(size_t)y * n + x] = {rho, rho * u, rho * v, p / 0.4 + 0.5 * rho * (u * u + v * v)};
    }
  Cell *d_now;
  CHECK(cudaMalloc(&d_now, cells * sizeof(Cell)));
  CHECK(cudaMemcpy(d_now, grid.data(), cells * sizeof(Cell), cudaMemcpyHostToDevice));
  Cell *d_next;
  CHECK(cudaMalloc(&d_next, cells * sizeof(Cell)));

  dim3 block(32, 8), blocks((n + 31) / 32, (n + 7) / 8);
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    step<<<blocks, block>>>(d_now, d_next, n, 0.125);
    std::swap(d_now, d_next);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  CHECK(cudaMemcpy(grid.data(), d_now, cells * sizeof(Cell), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Cell &c : grid)
    check = check * 31 + llround(c.rho * 1e3) + 3 * llround(c.mx * 1e3) + 5 * llround(c.my * 1e3) +
            7 * llround(c.e * 1e3);

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_now));
  CHECK(cudaFree(d_next));
}
