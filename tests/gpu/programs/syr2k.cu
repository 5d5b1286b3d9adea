// Symmetric rank-2k update, C += A B' + B A': both inputs and the result in one
// record, two of its fields read together at a stride of a row.
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

struct Entry {
  float a, b, c;
};

__global__ void syr2k(Entry *m, int size) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size * size)
    return;
  int row = i / size, col = i % size;
  float sum = m[i].c;
  for (int k = 0; k < size; ++k) {
    sum += m[row * size + k].a * m[col * size + k].b;
    sum += m[row * size + k].b * m[col * size + k].a;
  }
  m[i].c = sum;
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int size = argc > 1 ? atoi(argv[1]) : 1024;
  int n = size * size;
  std::vector<Entry> entries(n);
  for (int i = 0; i < n; ++i) {
    unsigned h = hash(i);
    entries[i] = {(float)(h & 7), (float)(h >> 4 & 7), (float)(h >> 8 & 15)};
  }
  Entry *d_entries;
  CHECK(cudaMalloc(&d_entries, n * sizeof(Entry)));
  CHECK(cudaMemcpy(d_entries, entries.data(), n * sizeof(Entry), cudaMemcpyHostToDevice));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    syr2k<<<(n + 255) / 256, 256>>>(d_entries, size);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  CHECK(cudaMemcpy(entries.data(), d_entries, n * sizeof(Entry), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Entry &e : entries)
    check = check * 31 + (long long)e.c;

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_entries));
}
