// minife_rows: Jacobi-preconditioned CG on a 27-point hexahedral FE operator.
// Matrix entries, rows and the CG vectors are all kept as records.
#include <iostream>
#include <vector>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

namespace {
void must(cudaError_t e) {
  if (e != cudaSuccess) { std::cerr << "cuda: " << cudaGetErrorString(e) << "\n"; std::exit(1); }
}
}

struct MatrixEntry {
  double coef;
  int col;
  int tag;        // element family the coefficient came from
};

struct RowRecord {
  int first;
  int count;
  double inv_diag;
  double rhs;
};

struct VectorRecord {
  double x, r, p, ap;
};

constexpr int THREADS = 256;
constexpr int RED_BLOCKS = 512;

__device__ double block_sum(double v) {
  __shared__ double warp_part[THREADS / 32];
  for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffffu, v, o);
  if ((threadIdx.x & 31) == 0) warp_part[threadIdx.x >> 5] = v;
  __syncthreads();
  double s = 0.0;
  if (threadIdx.x == 0)
    for (int w = 0; w < THREADS / 32; ++w) s += warp_part[w];
  return s;
}

// Find the diagonal of each row (early exit) and set up the CG start vector.
__global__ void setup_rows(RowRecord* rows, const MatrixEntry* entries, VectorRecord* vec, int n, double* partial) {
  double rz = 0.0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    RowRecord row = rows[i];
    double inv = 1.0;
    for (int k = 0; k < row.count; ++k) {
      if (entries[row.first + k].col == i) {
        inv = 1.0 / entries[row.first + k].coef;
        break;
      }
    }
    rows[i].inv_diag = inv;
    VectorRecord v;
    v.x = 0.0;
    v.r = row.rhs;
    v.p = row.rhs * inv;
    v.ap = 0.0;
    vec[i] = v;
    rz += v.r * v.p;
  }
  double s = block_sum(rz);
  if (threadIdx.x == 0) partial[blockIdx.x] = s;
}

// ap = A p, and per-block partial sums of p.ap
__global__ void spmv_dot(const RowRecord* __restrict__ rows, const MatrixEntry* __restrict__ entries,
                         VectorRecord* vec, int n, double* partial) {
  double dot = 0.0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const MatrixEntry* e = entries + rows[i].first;
    const MatrixEntry* end = e + rows[i].count;
    double sum = 0.0;
    for (; e != end; ++e)
      sum += e->coef * vec[e->col].p;
    vec[i].ap = sum;
    dot += sum * vec[i].p;
  }
  double s = block_sum(dot);
  if (threadIdx.x == 0) partial[blockIdx.x] = s;
}

// x += alpha p; r -= alpha ap; partial sums of r.z
__global__ void update_xr(VectorRecord* vec, const RowRecord* rows, int n, const double* scal, double* partial) {
  const double alpha = scal[0] / scal[1];
  double rz = 0.0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    VectorRecord& v = vec[i];
    v.x += alpha * v.p;
    double r = v.r - alpha * v.ap;
    v.r = r;
    rz += r * r * rows[i].inv_diag;
  }
  double s = block_sum(rz);
  if (threadIdx.x == 0) partial[blockIdx.x] = s;
}

__global__ void update_p(VectorRecord* vec, const RowRecord* rows, int n, const double* scal) {
  const double beta = scal[2];
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    vec[i].p = vec[i].r * rows[i].inv_diag + beta * vec[i].p;
}

// Fixed-order final reduction. mode 0: initial rz, 1: p.ap, 2: new rz and beta
__global__ void finish(const double* partial, int count, double* scal, int mode) {
  double v = 0.0;
  for (int i = threadIdx.x; i < count; i += blockDim.x) v += partial[i];
  double s = block_sum(v);
  if (threadIdx.x == 0) {
    if (mode == 0) scal[0] = s;
    else if (mode == 1) scal[1] = s;
    else { scal[2] = s / scal[0]; scal[0] = s; }
  }
}

int main(int argc, char** argv) {
  const int nx = argc > 1 ? std::atoi(argv[1]) : 64;
  const int max_iter = argc > 2 ? std::atoi(argv[2]) : 40;
  const int n = nx * nx * nx;

  std::vector<RowRecord> rows(n);
  std::vector<MatrixEntry> entries;
  entries.reserve(static_cast<size_t>(n) * 27);
  unsigned lcg = 2024u;
  for (int z = 0; z < nx; ++z)
    for (int y = 0; y < nx; ++y)
      for (int x = 0; x < nx; ++x) {
        const int i = (z * nx + y) * nx + x;
        RowRecord& row = rows[i];
        row.first = static_cast<int>(entries.size());
        for (int dz = -1; dz <= 1; ++dz)
          for (int dy = -1; dy <= 1; ++dy)
            for (int dx = -1; dx <= 1; ++dx) {
              const int xx = x + dx, yy = y + dy, zz = z + dz;
              if (xx < 0 || yy < 0 || zz < 0 || xx >= nx || yy >= nx || zz >= nx) continue;
              MatrixEntry e;
              const int dist = (dx != 0) + (dy != 0) + (dz != 0);
              e.col = (zz * nx + yy) * nx + xx;
              e.coef = dist == 0 ? 8.0 / 3.0 : (dist == 1 ? -0.01 : (dist == 2 ? -1.0 / 6.0 : -1.0 / 12.0));
              e.tag = dist;
              entries.push_back(e);
            }
        row.count = static_cast<int>(entries.size()) - row.first;
        row.inv_diag = 0.0;
        lcg = lcg * 1664525u + 1013904223u;
        row.rhs = (lcg >> 8) * (1.0 / 16777216.0) - 0.25;
      }

  RowRecord* d_rows = nullptr;
  MatrixEntry* d_entries = nullptr;
  VectorRecord* d_vec = nullptr;
  double *d_partial = nullptr, *d_scal = nullptr;
  must(cudaMalloc(&d_rows, n * sizeof(RowRecord)));
  must(cudaMalloc(&d_entries, entries.size() * sizeof(MatrixEntry)));
  must(cudaMalloc(&d_vec, n * sizeof(VectorRecord)));
  must(cudaMalloc(&d_partial, RED_BLOCKS * sizeof(double)));
  must(cudaMalloc(&d_scal, 3 * sizeof(double)));
  must(cudaMemcpy(d_rows, rows.data(), n * sizeof(RowRecord), cudaMemcpyHostToDevice));
  must(cudaMemcpy(d_entries, entries.data(), entries.size() * sizeof(MatrixEntry), cudaMemcpyHostToDevice));
  must(cudaMemset(d_scal, 0, 3 * sizeof(double)));

  cudaEvent_t t0, t1;
  must(cudaEventCreate(&t0));
  must(cudaEventCreate(&t1));
  must(cudaEventRecord(t0));
  setup_rows<<<RED_BLOCKS, THREADS>>>(d_rows, d_entries, d_vec, n, d_partial);
  finish<<<1, THREADS>>>(d_partial, RED_BLOCKS, d_scal, 0);
  for (int k = 0; k < max_iter; ++k) {
    spmv_dot<<<RED_BLOCKS, THREADS>>>(d_rows, d_entries, d_vec, n, d_partial);
    finish<<<1, THREADS>>>(d_partial, RED_BLOCKS, d_scal, 1);
    update_xr<<<RED_BLOCKS, THREADS>>>(d_vec, d_rows, n, d_scal, d_partial);
    finish<<<1, THREADS>>>(d_partial, RED_BLOCKS, d_scal, 2);
    update_p<<<RED_BLOCKS, THREADS>>>(d_vec, d_rows, n, d_scal);
  }
  must(cudaEventRecord(t1));
  must(cudaEventSynchronize(t1));
  must(cudaGetLastError());
  float ms = 0.f;
  must(cudaEventElapsedTime(&ms, t0, t1));

  std::vector<VectorRecord> sol(n);
  must(cudaMemcpy(sol.data(), d_vec, n * sizeof(VectorRecord), cudaMemcpyDeviceToHost));
  must(cudaMemcpy(rows.data(), d_rows, n * sizeof(RowRecord), cudaMemcpyDeviceToHost));
  double sx = 0, sxx = 0, dsum = 0, corner = sol[0].x, mid = sol[n / 2].x;
  for (int i = 0; i < n; ++i) {
    sx += sol[i].x;
    sxx += sol[i].x * sol[i].x;
    dsum += rows[i].inv_diag;
  }
  std::printf("check nnz %zu\n", entries.size());
  std::printf("check sum_x %.6g\n", sx);
  std::printf("check norm_x %.6g\n", sxx);
  std::printf("check diag %.6g\n", dsum);
  std::printf("check probes %.6g\n", corner + mid);
  std::printf("time_ms %.4f\n", ms);

  cudaFree(d_rows);
  cudaFree(d_entries);
  cudaFree(d_vec);
  cudaFree(d_partial);
  cudaFree(d_scal);
  return 0;
}
