// Shallow-water equations on a regular 2D grid, first order finite volumes
// with Rusanov fluxes, double precision, ping-pong buffers.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>
#include <cuda_runtime.h>

#define CUDA_CHECK(call)                                                      \
  do {                                                                        \
    cudaError_t err_ = (call);                                                \
    if (err_ != cudaSuccess) {                                                \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__,                      \
              cudaGetErrorString(err_));                                      \
      exit(1);                                                                \
    }                                                                         \
  } while (0)

struct Cell {
  double h;      // water depth
  double hu;     // x momentum
  double hv;     // y momentum
  double zb;     // bed elevation
  double cf;     // friction coefficient
};

struct Flux { double m, px, py; };

constexpr double G = 9.81;

// Rusanov flux along x (nx = 1) or y (nx = 0)
__device__ __forceinline__ Flux faceFlux(double hl, double hul, double hvl,
                                         double hr, double hur, double hvr,
                                         bool alongX) {
  double qnl = alongX ? hul : hvl, qnr = alongX ? hur : hvr;
  double ul = qnl / hl, ur = qnr / hr;
  double a = fmax(fabs(ul) + sqrt(G * hl), fabs(ur) + sqrt(G * hr));
  double pl = 0.5 * G * hl * hl, pr = 0.5 * G * hr * hr;
  Flux f;
  f.m = 0.5 * (qnl + qnr) - 0.5 * a * (hr - hl);
  f.px = 0.5 * (hul * ul + hur * ur + (alongX ? pl + pr : 0.0)) - 0.5 * a * (hur - hul);
  f.py = 0.5 * (hvl * ul + hvr * ur + (alongX ? 0.0 : pl + pr)) - 0.5 * a * (hvr - hvl);
  return f;
}

__global__ void sweStep(const Cell *__restrict__ in, Cell *__restrict__ out,
                        int nx, int ny, double dtdx) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= nx || y >= ny) return;

  int xl = x > 0 ? x - 1 : 0, xr = x < nx - 1 ? x + 1 : nx - 1;
  int yl = y > 0 ? y - 1 : 0, yr = y < ny - 1 ? y + 1 : ny - 1;
  const Cell c = in[y * nx + x];
  const Cell w = in[y * nx + xl];
  const Cell e = in[y * nx + xr];
  const Cell s = in[yl * nx + x];
  const Cell n = in[yr * nx + x];

  Flux fw = faceFlux(w.h, w.hu, w.hv, c.h, c.hu, c.hv, true);
  Flux fe = faceFlux(c.h, c.hu, c.hv, e.h, e.hu, e.hv, true);
  Flux fs = faceFlux(s.h, s.hu, s.hv, c.h, c.hu, c.hv, false);
  Flux fn = faceFlux(c.h, c.hu, c.hv, n.h, n.hu, n.hv, false);

  Cell r;
  r.h = fmax(c.h - dtdx * (fe.m - fw.m + fn.m - fs.m), 1e-4);
  r.hu = c.hu - dtdx * (fe.px - fw.px + fn.px - fs.px)
              - 0.5 * dtdx * G * c.h * (e.zb - w.zb);
  r.hv = c.hv - dtdx * (fe.py - fw.py + fn.py - fs.py)
              - 0.5 * dtdx * G * c.h * (n.zb - s.zb);
  double damp = 1.0 / (1.0 + dtdx * c.cf / r.h);
  r.hu *= damp;
  r.hv *= damp;
  r.zb = c.zb;
  r.cf = c.cf;
  out[y * nx + x] = r;
}

static unsigned hash32(unsigned v) {
  v ^= v >> 16; v *= 0x7feb352dU; v ^= v >> 15; v *= 0x846ca68bU; v ^= v >> 16;
  return v;
}

int main(int argc, char **argv) {
  long want = argc > 1 ? atol(argv[1]) : 2048L * 2048L;
  if (want < 1024) want = 1024;
  int nx = (int)std::sqrt((double)want);
  int ny = (int)(want / nx);
  size_t n = (size_t)nx * ny;
  const int steps = 40;

  std::vector<Cell> cells(n);
  for (int y = 0; y < ny; y++)
    for (int x = 0; x < nx; x++) {
      Cell &c = cells[(size_t)y * nx + x];
      double rx = (x % 128 - 64) / 16.0, ry = (y % 96 - 48) / 16.0;
      unsigned h = hash32((unsigned)(y * nx + x));
      c.h = 1.0 + 0.5 * std::exp(-(rx * rx + ry * ry));
      c.hu = 0.01 * ((h & 1023) / 1023.0 - 0.5);
      c.hv = 0.01 * (((h >> 10) & 1023) / 1023.0 - 0.5);
      c.zb = 0.05 * std::sin(0.02 * x + 0.03 * y);
      c.cf = 0.002 + 0.001 * (h >> 30);
    }

  Cell *dA, *dB;
  CUDA_CHECK(cudaMalloc(&dA, n * sizeof(Cell)));
  CUDA_CHECK(cudaMalloc(&dB, n * sizeof(Cell)));
  CUDA_CHECK(cudaMemcpy(dA, cells.data(), n * sizeof(Cell), cudaMemcpyHostToDevice));

  dim3 block(32, 8);
  dim3 grid((nx + block.x - 1) / block.x, (ny + block.y - 1) / block.y);
  const double dtdx = 0.05;

  sweStep<<<grid, block>>>(dA, dB, nx, ny, dtdx);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaDeviceSynchronize());
  std::swap(dA, dB);

  cudaEvent_t t0, t1;
  CUDA_CHECK(cudaEventCreate(&t0));
  CUDA_CHECK(cudaEventCreate(&t1));
  CUDA_CHECK(cudaEventRecord(t0));
  for (int s = 0; s < steps; s++) {
    sweStep<<<grid, block>>>(dA, dB, nx, ny, dtdx);
    std::swap(dA, dB);
  }
  CUDA_CHECK(cudaEventRecord(t1));
  CUDA_CHECK(cudaEventSynchronize(t1));
  CUDA_CHECK(cudaGetLastError());
  float ms = 0;
  CUDA_CHECK(cudaEventElapsedTime(&ms, t0, t1));

  CUDA_CHECK(cudaMemcpy(cells.data(), dA, n * sizeof(Cell), cudaMemcpyDeviceToHost));
  long long sum = 0;
  for (size_t i = 0; i < n; i++) {
    const Cell &c = cells[i];
    long long q = llround(c.h * 1e4) + 3 * llround(c.hu * 1e4) + 5 * llround(c.hv * 1e4) +
                  7 * llround(c.zb * 1e4) + 11 * llround(c.cf * 1e4);
    sum += q * (long long)(i % 13 + 1);
  }
  printf("grid %d x %d\n", nx, ny);
  printf("time_ms %f\n", ms / steps);
  printf("check %lld\n", sum);
  cudaFree(dA);
  cudaFree(dB);
  return 0;
}
