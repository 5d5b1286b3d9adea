// Three matrix products, E = A B, F = C D, G = E F, inputs in pairs.
//
// Each struct holds the two inputs of one product, which a thread reads at
// different indices. Splitting {e, f} changes the kernels that write it too.
// 3mm_sep.cu keeps the matrices apart.
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

struct AB {
  float a, b;
};

struct CD {
  float c, d;
};

struct EF {
  float e, f;
};

__global__ void multiplyAB(const AB *ab, EF *ef, int n) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= n || j >= n)
    return;
  ef[i * n + j].e = 0;
  for (int k = 0; k < n; ++k)
    ef[i * n + j].e += ab[i * n + k].a * ab[k * n + j].b;
}

__global__ void multiplyCD(const CD *cd, EF *ef, int n) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= n || j >= n)
    return;
  ef[i * n + j].f = 0;
  for (int k = 0; k < n; ++k)
    ef[i * n + j].f += cd[i * n + k].c * cd[k * n + j].d;
}

__global__ void multiplyEF(const EF *ef, float *g, int n) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= n || j >= n)
    return;
  g[i * n + j] = 0;
  for (int k = 0; k < n; ++k)
    g[i * n + j] += ef[i * n + k].e * ef[k * n + j].f;
}

// Small whole numbers: every product and sum is exact.
static float digit(unsigned k) {
  k *= 2654435761u;
  k = (k ^ k >> 15) * 2246822519u;
  return (int)((k ^ k >> 13) % 5) - 2;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 2048;
  const int repeats = 3;
  int count = n * n;

  std::vector<AB> ab(count);
  std::vector<CD> cd(count);
  std::vector<EF> ef(count);
  std::vector<float> g(count);
  for (int i = 0; i < count; ++i) {
    ab[i].a = digit(4 * i);
    ab[i].b = digit(4 * i + 1);
    cd[i].c = digit(4 * i + 2);
    cd[i].d = digit(4 * i + 3);
  }

  AB *d_ab;
  CD *d_cd;
  EF *d_ef;
  float *d_g;
  CHECK(cudaMalloc(&d_ab, count * sizeof(AB)));
  CHECK(cudaMalloc(&d_cd, count * sizeof(CD)));
  CHECK(cudaMalloc(&d_ef, count * sizeof(EF)));
  CHECK(cudaMalloc(&d_g, count * sizeof(float)));
  CHECK(cudaMemcpy(d_ab, ab.data(), count * sizeof(AB), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(d_cd, cd.data(), count * sizeof(CD), cudaMemcpyHostToDevice));

  cudaEvent_t start, stop;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  dim3 block(32, 8), grid((n + 31) / 32, (n + 7) / 8);
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(start));
    multiplyAB<<<grid, block>>>(d_ab, d_ef, n);
    multiplyCD<<<grid, block>>>(d_cd, d_ef, n);
    multiplyEF<<<grid, block>>>(d_ef, d_g, n);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(stop));
  CHECK(cudaEventSynchronize(stop));
  CHECK(cudaMemcpy(ef.data(), d_ef, count * sizeof(EF), cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(g.data(), d_g, count * sizeof(float), cudaMemcpyDeviceToHost));

  for (int s = 0; s < 500; ++s) {
    int p = (count - 1LL) * s / 499, i = p / n, j = p % n;
    float e = 0, f = 0, expected = 0;
    for (int k = 0; k < n; ++k) {
      e += ab[i * n + k].a * ab[k * n + j].b;
      f += cd[i * n + k].c * cd[k * n + j].d;
      expected += ef[i * n + k].e * ef[k * n + j].f;
    }
    if (ef[p].e != e || ef[p].f != f || g[p] != expected) {
      fprintf(stderr, "(%d, %d): E %g, F %g, G %g, expected %g, %g, %g\n", i, j, ef[p].e, ef[p].f, g[p], e, f,
              expected);
      return 1;
    }
  }
  unsigned long long check = 0;
  for (int i = 0; i < count; ++i)
    check = check * 31 + (long long)g[i];

  float ms = 0;
  CHECK(cudaEventElapsedTime(&ms, start, stop));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_ab));
  CHECK(cudaFree(d_cd));
  CHECK(cudaFree(d_ef));
  CHECK(cudaFree(d_g));
  return 0;
}
