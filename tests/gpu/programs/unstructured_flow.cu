// Compressible Euler equations by finite volumes on an unstructured mesh of
// triangles: limited Green-Gauss gradients, Rusanov fluxes over faces, local steps.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

static void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s failed: %s\n", what, cudaGetErrorString(status));
  std::abort();
}
#define CUDA_OK(x) check((x), #x)

struct Conserved {
  float rho, mx, my, e;
};

struct Cell {
  Conserved u;
  Conserved grad_x, grad_y;
  float limiter;
};

struct CellGeometry {
  float x, y;
  float area;
  int face[3];
};

struct Face {
  int left, right;  // right is -1 at a wall
  float nx, ny;     // from left to right
  float length;
  float x, y;       // midpoint
};

struct Residual {
  unsigned long long rho, mx, my, e;  // fixed point
  unsigned int wave;                  // bits of the largest wave speed times length
};

constexpr float kGamma = 1.4f;
constexpr float kFixed = 1099511627776.0f;
__device__ inline Conserved axpy(float s, const Conserved& a, const Conserved& b) {
  return {b.rho + s * a.rho, b.mx + s * a.mx, b.my + s * a.my, b.e + s * a.e};
}
__device__ inline float pressure(const Conserved& u) {
  return fmaxf((kGamma - 1) * (u.e - 0.5f * (u.mx * u.mx + u.my * u.my) / u.rho), 1e-4f);
}
__device__ inline Conserved mirror(const Conserved& u, float nx, float ny) {
  const float mn = u.mx * nx + u.my * ny;
  return {u.rho, u.mx - 2 * mn * nx, u.my - 2 * mn * ny, u.e};
}
__device__ inline Conserved normal_flux(const Conserved& u, float p, float nx, float ny) {
  const float vn = (u.mx * nx + u.my * ny) / u.rho;
  return {u.rho * vn, u.mx * vn + p * nx, u.my * vn + p * ny, (u.e + p) * vn};
}
__device__ inline unsigned long long to_fixed(float v) {
  return static_cast<unsigned long long>(__float2ll_rn(v * kFixed));
}

__global__ void compute_gradients(Cell* cells, const CellGeometry* geometry, const Face* faces, int n_cells) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= n_cells) return;
  const Conserved u = cells[c].u;
  const CellGeometry g = geometry[c];
  Conserved gx = {0, 0, 0, 0}, gy = {0, 0, 0, 0};
  float low = u.rho, high = u.rho;
  float dx[3], dy[3];
  for (int k = 0; k < 3; ++k) {
    const Face f = faces[g.face[k]];
    const float sign = f.left == c ? 1.0f : -1.0f;
    const int other = f.left == c ? f.right : f.left;
    const Conserved v = other >= 0 ? cells[other].u : mirror(u, f.nx, f.ny);
    const Conserved mean = axpy(0.5f, v, {0.5f * u.rho, 0.5f * u.mx, 0.5f * u.my, 0.5f * u.e});
    gx = axpy(sign * f.nx * f.length, mean, gx);
    gy = axpy(sign * f.ny * f.length, mean, gy);
    low = fminf(low, v.rho);
    high = fmaxf(high, v.rho);
    dx[k] = f.x - g.x;
    dy[k] = f.y - g.y;
  }
  const float inv_area = 1 / g.area;
  gx = {gx.rho * inv_area, gx.mx * inv_area, gx.my * inv_area, gx.e * inv_area};
  gy = {gy.rho * inv_area, gy.mx * inv_area, gy.my * inv_area, gy.e * inv_area};
  float limiter = 1;  // Barth-Jespersen on the density
  for (int k = 0; k < 3; ++k) {
    const float delta = gx.rho * dx[k] + gy.rho * dy[k];
    if (delta > 1e-7f) limiter = fminf(limiter, (high - u.rho) / delta);
    if (delta < -1e-7f) limiter = fminf(limiter, (low - u.rho) / delta);
  }
  cells[c].grad_x = gx;
  cells[c].grad_y = gy;
  cells[c].limiter = limiter;
}

__device__ inline Conserved reconstruct(const Cell& cell, float dx, float dy) {
  const Conserved u = axpy(cell.limiter * dx, cell.grad_x, axpy(cell.limiter * dy, cell.grad_y, cell.u));
  return u.rho < 1e-3f || u.e < 1e-3f ? cell.u : u;
}

__device__ inline void accumulate(Residual* r, const Conserved& f, float scale, float wave) {
  atomicAdd(&r->rho, to_fixed(scale * f.rho));
  atomicAdd(&r->mx, to_fixed(scale * f.mx));
  atomicAdd(&r->my, to_fixed(scale * f.my));
  atomicAdd(&r->e, to_fixed(scale * f.e));
  atomicMax(&r->wave, __float_as_uint(wave));
}

__global__ void face_fluxes(const Face* __restrict__ faces, const Cell* __restrict__ cells,
                            const CellGeometry* __restrict__ geometry, Residual* residuals, int n_faces) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n_faces) return;
  const Face f = faces[i];
  const Conserved ul = reconstruct(cells[f.left], f.x - geometry[f.left].x, f.y - geometry[f.left].y);
  const Conserved ur = f.right >= 0
                           ? reconstruct(cells[f.right], f.x - geometry[f.right].x, f.y - geometry[f.right].y)
                           : mirror(ul, f.nx, f.ny);
  const float pl = pressure(ul), pr = pressure(ur);
  const float sl = fabsf(ul.mx * f.nx + ul.my * f.ny) / ul.rho + sqrtf(kGamma * pl / ul.rho);
  const float sr = fabsf(ur.mx * f.nx + ur.my * f.ny) / ur.rho + sqrtf(kGamma * pr / ur.rho);
  const float speed = fmaxf(sl, sr);
  const Conserved fl = normal_flux(ul, pl, f.nx, f.ny), fr = normal_flux(ur, pr, f.nx, f.ny);
  const Conserved sum = axpy(1.0f, fl, fr), jump = axpy(-1.0f, ul, ur);
  const Conserved flux = axpy(-speed, jump, sum);
  accumulate(&residuals[f.left], flux, -0.5f * f.length, speed * f.length);
  if (f.right >= 0) accumulate(&residuals[f.right], flux, 0.5f * f.length, speed * f.length);
}

__global__ void update_cells(Cell* cells, const CellGeometry* geometry, Residual* residuals, int n_cells, float cfl) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= n_cells) return;
  const Residual r = residuals[c];
  // dt / area, with dt from the fastest wave through the cell
  const float k = cfl / (1.5f * fmaxf(__uint_as_float(r.wave), 1e-12f)) / kFixed;
  Conserved u = cells[c].u;
  u.rho = fmaxf(u.rho + k * static_cast<long long>(r.rho), 1e-3f);
  u.mx += k * static_cast<long long>(r.mx);
  u.my += k * static_cast<long long>(r.my);
  u.e = fmaxf(u.e + k * static_cast<long long>(r.e), 1e-3f);
  cells[c].u = u;
  residuals[c] = Residual{0, 0, 0, 0, 0};
}

struct Mesh {
  std::vector<Cell> cells;
  std::vector<CellGeometry> geometry;
  std::vector<Face> faces;
};

// Triangles of a distorted square, numbered tile by tile and mixed locally.
static Mesh make_mesh(int side) {
  unsigned seed = 7;
  auto random = [&seed] { return (seed = seed * 1664525u + 1013904223u) >> 8; };
  const float h = 1.0f / side;
  std::vector<std::pair<float, float>> vertices((side + 1) * (side + 1));
  for (int j = 0; j <= side; ++j)
    for (int i = 0; i <= side; ++i) {
      const float jx = i > 0 && i < side ? (random() % 1000 - 500.0f) * 4e-4f : 0;
      const float jy = j > 0 && j < side ? (random() % 1000 - 500.0f) * 4e-4f : 0;
      vertices[j * (side + 1) + i] = {(i + jx) * h, (j + jy) * h};
    }
  auto vertex = [&](int i, int j) { return vertices[j * (side + 1) + i]; };

  const int tile = 16, n = 2 * side * side;
  std::vector<int> number(n), label(n);
  for (int i = 0; i < n; ++i) label[i] = i;
  for (int i = 0; i < n; ++i) std::swap(label[i], label[std::min(n - 1, i / 64 * 64 + static_cast<int>(random() % 64))]);
  std::vector<std::pair<int, int>> quads;
  for (int tj = 0; tj < side; tj += tile)
    for (int ti = 0; ti < side; ti += tile)
      for (int j = tj; j < std::min(tj + tile, side); ++j)
        for (int i = ti; i < std::min(ti + tile, side); ++i) {
          for (int k = 0; k < 2; ++k) number[2 * (j * side + i) + k] = label[2 * quads.size() + k];
          quads.push_back({i, j});
        }
  auto cell = [&](int i, int j, int upper) { return number[2 * (j * side + i) + upper]; };

  Mesh mesh{std::vector<Cell>(n), std::vector<CellGeometry>(n), {}};
  std::vector<int> used(n, 0);
  for (const auto& [i, j] : quads)
    for (int k = 0; k < 2; ++k) {
      const auto a = vertex(i, j), b = k ? vertex(i + 1, j + 1) : vertex(i + 1, j);
      const auto c = k ? vertex(i, j + 1) : vertex(i + 1, j + 1);
      CellGeometry& g = mesh.geometry[cell(i, j, k)];
      g.x = (a.first + b.first + c.first) / 3;
      g.y = (a.second + b.second + c.second) / 3;
      g.area = 0.5f * ((b.first - a.first) * (c.second - a.second) - (c.first - a.first) * (b.second - a.second));
      const float r2 = (g.x - 0.4f) * (g.x - 0.4f) + (g.y - 0.5f) * (g.y - 0.5f);
      const float rho = r2 < 0.04f ? 2.0f : 1.0f, p = r2 < 0.04f ? 4.0f : 1.0f, v = 0.3f * std::sin(40 * g.x);
      mesh.cells[cell(i, j, k)] = {{rho, 0.5f * rho, v * rho, p / (kGamma - 1) + 0.5f * rho * (0.25f + v * v)}, {}, {}, 0};
    }
  auto add_face = [&](int left, int right, std::pair<float, float> p, std::pair<float, float> q) {
    const float length = std::hypot(q.first - p.first, q.second - p.second);
    Face f = {left, right, (q.second - p.second) / length, (p.first - q.first) / length, length,
              0.5f * (p.first + q.first), 0.5f * (p.second + q.second)};
    const CellGeometry& g = mesh.geometry[left];
    if (f.nx * (f.x - g.x) + f.ny * (f.y - g.y) < 0) f.nx = -f.nx, f.ny = -f.ny;
    for (int c : {left, right})
      if (c >= 0) mesh.geometry[c].face[used[c]++] = static_cast<int>(mesh.faces.size());
    mesh.faces.push_back(f);
  };
  for (const auto& [i, j] : quads) {
    const int lower = cell(i, j, 0), upper = cell(i, j, 1);
    const auto a = vertex(i, j), b = vertex(i + 1, j), c = vertex(i + 1, j + 1), d = vertex(i, j + 1);
    add_face(lower, upper, a, c);
    add_face(lower, j > 0 ? cell(i, j - 1, 1) : -1, a, b);
    add_face(upper, i > 0 ? cell(i - 1, j, 0) : -1, a, d);
    if (i == side - 1) add_face(lower, -1, b, c);
    if (j == side - 1) add_face(upper, -1, c, d);
  }
  return mesh;
}

int main(int argc, char** argv) {
  const int wanted = argc > 1 ? std::atoi(argv[1]) : 2000000;
  Mesh mesh = make_mesh(std::max(4, static_cast<int>(std::sqrt(wanted / 2.0))));
  const int n_cells = static_cast<int>(mesh.cells.size()), n_faces = static_cast<int>(mesh.faces.size());
  Cell* cells = nullptr;
  CUDA_OK(cudaMalloc(&cells, mesh.cells.size() * sizeof(Cell)));
  CUDA_OK(cudaMemcpy(cells, mesh.cells.data(), mesh.cells.size() * sizeof(Cell), cudaMemcpyHostToDevice));
  CellGeometry* geometry = nullptr;
  CUDA_OK(cudaMalloc(&geometry, mesh.geometry.size() * sizeof(CellGeometry)));
  CUDA_OK(cudaMemcpy(geometry, mesh.geometry.data(), mesh.geometry.size() * sizeof(CellGeometry), cudaMemcpyHostToDevice));
  Face* faces = nullptr;
  CUDA_OK(cudaMalloc(&faces, mesh.faces.size() * sizeof(Face)));
  CUDA_OK(cudaMemcpy(faces, mesh.faces.data(), mesh.faces.size() * sizeof(Face), cudaMemcpyHostToDevice));
  Residual* residuals = nullptr;
  CUDA_OK(cudaMalloc(&residuals, n_cells * sizeof(Residual)));
  CUDA_OK(cudaMemset(residuals, 0, n_cells * sizeof(Residual)));

  const int block = 256, steps = 30;
  auto advance = [&] {
    compute_gradients<<<(n_cells + block - 1) / block, block>>>(cells, geometry, faces, n_cells);
    face_fluxes<<<(n_faces + block - 1) / block, block>>>(faces, cells, geometry, residuals, n_faces);
    update_cells<<<(n_cells + block - 1) / block, block>>>(cells, geometry, residuals, n_cells, 0.4f);
    CUDA_OK(cudaGetLastError());
  };
  cudaEvent_t start, stop;
  CUDA_OK(cudaEventCreate(&start));
  CUDA_OK(cudaEventCreate(&stop));
  advance();
  CUDA_OK(cudaEventRecord(start));
  for (int s = 0; s < steps; ++s) advance();
  CUDA_OK(cudaEventRecord(stop));
  CUDA_OK(cudaEventSynchronize(stop));
  float ms = 0;
  CUDA_OK(cudaEventElapsedTime(&ms, start, stop));

  CUDA_OK(cudaMemcpy(mesh.cells.data(), cells, n_cells * sizeof(Cell), cudaMemcpyDeviceToHost));
  unsigned long long sum = 0;
  for (const Cell& c : mesh.cells)
    sum = sum * 31 + std::llround(c.u.rho * 4096) + 3 * std::llround(c.u.mx * 4096) + 5 * std::llround(c.u.e * 4096);
  std::printf("check %llu\ntime_ms %.4f\n", sum, ms / steps);
}
