// Two matrix products, D = A B and E = C D, inputs of a product in one record.
//
// A thread walks a row of the left matrix and a column of the right one, so
// the two fields of a record are never wanted together. 2mm_sep.cu keeps the
// matrices apart.
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

__global__ void multiplyAB(const AB *ab, CD *cd, int n) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= n || j >= n)
    return;
  cd[i * n + j].d = 0;
  for (int k = 0; k < n; ++k)
    cd[i * n + j].d += ab[i * n + k].a * ab[k * n + j].b;
}

__global__ void multiplyCD(const CD *cd, float *e, int n) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= n || j >= n)
    return;
  e[i * n + j] = 0;
  for (int k = 0; k < n; ++k)
    e[i * n + j] += cd[i * n + k].c * cd[k * n + j].d;
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
  std::vector<float> e(count);
  for (int i = 0; i < count; ++i) {
    ab[i].a = digit(3 * i);
    ab[i].b = digit(3 * i + 1);
    cd[i].c = digit(3 * i + 2);
    cd[i].d = 0;
  }

  AB *d_ab;
  CD *d_cd;
  float *d_e;
  CHECK(cudaMalloc((void **)&d_ab, count * sizeof(AB)));
  CHECK(cudaMalloc((void **)&d_cd, count * sizeof(CD)));
  CHECK(cudaMalloc((void **)&d_e, count * sizeof(float)));
  CHECK(cudaMemcpy(d_ab, ab.data(), count * sizeof(AB), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(d_cd, cd.data(), count * sizeof(CD), cudaMemcpyHostToDevice));

  cudaEvent_t start, stop;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  dim3 block(32, 8), grid((n + 31) / 32, (n + 7) / 8);
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(start));
    multiplyAB<<<grid, block>>>(d_ab, d_cd, n);
    multiplyCD<<<grid, block>>>(d_cd, d_e, n);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(stop));
  CHECK(cudaEventSynchronize(stop));
  CHECK(cudaMemcpy(cd.data(), d_cd, count * sizeof(CD), cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(e.data(), d_e, count * sizeof(float), cudaMemcpyDeviceToHost));

  for (int s = 0; s < 500; ++s) {
    int p = (count - 1LL) * s / 499, i = p / n, j = p % n;
    float d = 0, expected = 0;
    for (int k = 0; k < n; ++k) {
      d += ab[i * n + k].a * ab[k * n + j].b;
      expected += cd[i * n + k].c * cd[k * n + j].d;
    }
    if (cd[p].d != d || e[p] != expected) {
      fprintf(stderr, "(%d, %d): D %g, expected %g; E %g, expected %g\n", i, j, cd[p].d, d, e[p], expected);
      return 1;
    }
  }
  unsigned long long check = 0;
  for (int i = 0; i < count; ++i)
    check = check * 31 + (long long)e[i];

  float ms = 0;
  CHECK(cudaEventElapsedTime(&ms, start, stop));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_ab));
  CHECK(cudaFree(d_cd));
  CHECK(cudaFree(d_e));
  return 0;
}
