// Score of wines from seven properties, each read once; a number that no
// vector width divides.
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

struct Wine {
  float acidity, sugar, chlorides, sulphates, density, alcohol, age;
};

__global__ void score(const Wine *wines, float *scores, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const Wine *w = &wines[i];
    scores[i] =
        w->acidity + 2 * w->sugar + 3 * w->chlorides + 4 * w->sulphates + 5 * w->density + 6 * w->alcohol + 7 * w->age;
  }
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 23;
  std::vector<Wine> wines(n);
  for (int i = 0; i < n; ++i) {
    unsigned h = hash(i);
    wines[i] = {(float)(h & 15),       (float)(h >> 4 & 15),  (float)(h >> 8 & 15), (float)(h >> 12 & 15),
                (float)(h >> 16 & 15), (float)(h >> 20 & 15), (float)(h >> 24)};
  }
  Wine *d_wines;
  CHECK(cudaMalloc(&d_wines, n * sizeof(Wine)));
  CHECK(cudaMemcpy(d_wines, wines.data(), n * sizeof(Wine), cudaMemcpyHostToDevice));
  float *d_scores;
  CHECK(cudaMalloc(&d_scores, n * sizeof(float)));
  int blocks = (n + 255) / 256 < 4224 ? (n + 255) / 256 : 4224;

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    score<<<blocks, 256>>>(d_wines, d_scores, n);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  std::vector<float> scores(n);
  CHECK(cudaMemcpy(scores.data(), d_scores, n * sizeof(float), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (float v : scores)
    check = check * 31 + (long long)v;

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_wines));
  CHECK(cudaFree(d_scores));
}
