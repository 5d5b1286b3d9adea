// Matching image features by brute force: each query meets all descriptors.
//
// A feature is 48 bytes: 256 bits to compare, and where it was seen. All
// threads walk the table in step, so a load serves the whole warp.
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

struct Feature {
  unsigned bits[8];
  float x, y, angle;
  int octave;
};

__global__ void match(const Feature *table, int tableSize, const Feature *queries, int *best, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  unsigned mine[8];
  for (int k = 0; k < 8; ++k)
    mine[k] = queries[i].bits[k];
  int octave = queries[i].octave, nearest = -1, least = 257;
  for (int j = 0; j < tableSize; ++j) {
    if (abs(table[j].octave - octave) > 1)
      continue;
    int distance = 0;
    for (int k = 0; k < 8; ++k)
      distance += __popc(mine[k] ^ table[j].bits[k]);
    if (distance < least) {
      least = distance;
      nearest = j;
    }
  }
  best[i] = nearest;
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

static Feature feature(int i, int seed) {
  Feature f;
  for (int k = 0; k < 8; ++k)
    f.bits[k] = hash(seed + 8 * i + k);
  f.x = i % 640;
  f.y = i / 640 % 480;
  f.angle = 0;
  f.octave = hash(i) % 4;
  return f;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 17;
  int tableSize = n < 2048 ? n : 2048;
  std::vector<Feature> table(tableSize), queries(n);
  for (int i = 0; i < tableSize; ++i)
    table[i] = feature(i, 1);
  for (int i = 0; i < n; ++i)
    queries[i] = feature(i, 1 << 30);
  Feature *d_table;
  CHECK(cudaMalloc(&d_table, tableSize * sizeof(Feature)));
  CHECK(cudaMemcpy(d_table, table.data(), tableSize * sizeof(Feature), cudaMemcpyHostToDevice));
  Feature *d_queries;
  CHECK(cudaMalloc(&d_queries, n * sizeof(Feature)));
  CHECK(cudaMemcpy(d_queries, queries.data(), n * sizeof(Feature), cudaMemcpyHostToDevice));
  int *d_best;
  CHECK(cudaMalloc(&d_best, n * sizeof(int)));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    match<<<(n + 127) / 128, 128>>>(d_table, tableSize, d_queries, d_best, n);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  std::vector<int> best(n);
  CHECK(cudaMemcpy(best.data(), d_best, n * sizeof(int), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (int b : best)
    check = check * 31 + b;

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_table));
  CHECK(cudaFree(d_queries));
  CHECK(cudaFree(d_best));
}
