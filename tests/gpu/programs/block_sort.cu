// Records sorted by key within blocks of 2048, in 32 KB of shared memory.
//
// Keys are read in order; the other fields are gathered within a block once
// the order is known. Shared memory leaves room for few blocks.
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

struct Item {
  unsigned key;
  float weight;
  int owner;
};

const int SIZE = 2048, THREADS = 256;

__global__ void sortBlocks(const Item *__restrict__ in, Item *__restrict__ out, int n) {
  __shared__ unsigned long long keys[2 * SIZE]; // the upper half takes the sorted ones
  int base = blockIdx.x * SIZE;
  for (int t = threadIdx.x; t < SIZE; t += THREADS) {
    unsigned key = base + t < n ? in[base + t].key : 0xffffffffu;
    keys[t] = (unsigned long long)key << 32 | t;
  }
  __syncthreads();
  for (int width = 2; width <= SIZE; width *= 2)
    for (int step = width / 2; step > 0; step /= 2) {
      for (int t = threadIdx.x; t < SIZE; t += THREADS) {
        int other = t ^ step;
        if (other > t && (keys[t] > keys[other]) == ((t & width) == 0)) {
          unsigned long long k = keys[t];
          keys[t] = keys[other];
          keys[other] = k;
        }
      }
      __syncthreads();
    }
  for (int t = threadIdx.x; t < SIZE; t += THREADS)
    keys[SIZE + t] = keys[t] & 0xffffffffu;
  __syncthreads();
  for (int t = threadIdx.x; t < SIZE && base + t < n; t += THREADS)
    out[base + t] = in[base + (int)keys[SIZE + t]];
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 24;
  std::vector<Item> items(n);
  for (int i = 0; i < n; ++i) {
    unsigned h = hash(i);
    items[i] = {h >> 1, (float)(h & 255), i};
  }
  Item *d_items;
  CHECK(cudaMalloc(&d_items, n * sizeof(Item)));
  CHECK(cudaMemcpy(d_items, items.data(), n * sizeof(Item), cudaMemcpyHostToDevice));
  Item *d_sorted;
  CHECK(cudaMalloc(&d_sorted, n * sizeof(Item)));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    sortBlocks<<<(n + SIZE - 1) / SIZE, THREADS>>>(d_items, d_sorted, n);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  std::vector<Item> sorted(n);
  CHECK(cudaMemcpy(sorted.data(), d_sorted, n * sizeof(Item), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Item &s : sorted)
    check = check * 31 + s.key + (long long)s.weight + s.owner;

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_items));
  CHECK(cudaFree(d_sorted));
}
