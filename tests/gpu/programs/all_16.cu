// Trace and weighted sum of 4 x 4 matrices: all sixteen fields, read once.
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

struct Matrix {
  float m00, m01, m02, m03;
  float m10, m11, m12, m13;
  float m20, m21, m22, m23;
  float m30, m31, m32, m33;
};

__global__ void weigh(const Matrix *m, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float top = m[i].m00 + 2 * m[i].m01 + 3 * m[i].m02 + 4 * m[i].m03;
  float upper = 5 * m[i].m10 + 6 * m[i].m11 + 7 * m[i].m12 + 8 * m[i].m13;
  float lower = 9 * m[i].m20 + 10 * m[i].m21 + 11 * m[i].m22 + 12 * m[i].m23;
  float bottom = 13 * m[i].m30 + 14 * m[i].m31 + 15 * m[i].m32 + 16 * m[i].m33;
  out[i] = top + upper + lower + bottom;
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 23;
  std::vector<Matrix> matrices(n);
  for (int i = 0; i < n; ++i) {
    unsigned h = hash(i);
    float a = h & 255, b = h >> 8 & 255, c = h >> 16 & 255, d = h >> 24;
    matrices[i] = {a, b, c, d, b, c, d, a, c, d, a, b, d, b, a, c};
  }
  Matrix *d_matrices;
  CHECK(cudaMalloc(&d_matrices, n * sizeof(Matrix)));
  CHECK(cudaMemcpy(d_matrices, matrices.data(), n * sizeof(Matrix), cudaMemcpyHostToDevice));
  float *d_out;
  CHECK(cudaMalloc(&d_out, n * sizeof(float)));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    weigh<<<(n + 255) / 256, 256>>>(d_matrices, d_out, n);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  std::vector<float> out(n);
  CHECK(cudaMemcpy(out.data(), d_out, n * sizeof(float), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (float v : out)
    check = check * 31 + (long long)v;

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_matrices));
  CHECK(cudaFree(d_out));
}
