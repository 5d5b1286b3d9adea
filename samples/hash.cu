// A linear-probing hash table with 64-bit keys: insert, then look up.
//
// A probe reads keys until it meets its own or an empty slot; a hit reads the
// value and counts itself. Slots are reached at random, so each field that
// lives elsewhere costs one more trip to memory, and each that lives nearby
// makes the slot larger.
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA_CALL(x)                                                                                                   \
  do {                                                                                                                 \
    if ((x) != cudaSuccess) {                                                                                          \
      fprintf(stderr, "error at %s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(cudaGetLastError()));             \
      return EXIT_FAILURE;                                                                                             \
    }                                                                                                                  \
  } while (0)

typedef unsigned long long Key;

struct Slot {
  Key key; // 0 when the slot is empty
  unsigned value;
  unsigned hits;
  Key inserted; // the turn it came in
};

const unsigned MISSING = 0xffffffffu;

// Mixes the bits of a number; no two numbers share a result, and 0 stays 0.
__host__ __device__ inline Key mix(Key k) {
  k = (k ^ k >> 31) * 0x7fb5d329728ea185ull;
  k = (k ^ k >> 27) * 0x81dadef4bc2dd44dull;
  return k ^ k >> 33;
}

__global__ void insert(Slot *table, unsigned mask, const Key *__restrict__ keys, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  Key key = keys[i];
  unsigned s = mix(key) & mask;
  while (atomicCAS(&table[s].key, 0ull, key) != 0)
    s = (s + 1) & mask;
  table[s].value = i;
  table[s].inserted = i / 256;
}

// The slot that holds a key, or MISSING.
__device__ unsigned find(const Slot *table, unsigned mask, Key key) {
  unsigned s = mix(key) & mask;
  while (true) {
    Key seen = table[s].key;
    if (seen == key)
      return s;
    if (seen == 0)
      return MISSING;
    s = (s + 1) & mask;
  }
}

__global__ void lookup(Slot *table, unsigned mask, const Key *__restrict__ queries, unsigned *__restrict__ values,
                       int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  unsigned s = find(table, mask, queries[i]);
  if (s == MISSING) {
    values[i] = MISSING;
    return;
  }
  values[i] = table[s].value;
  atomicAdd(&table[s].hits, 1u);
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 4 << 20;
  const int rounds = 10;
  unsigned capacity = 64;
  while (capacity < 2u * n)
    capacity *= 2;

  // Key i is mix(i + 1). Queries ask for keys 0 .. 2n - 1, in a mixed order.
  std::vector<Key> keys(n), queries(n);
  for (int i = 0; i < n; ++i) {
    keys[i] = mix(i + 1);
    queries[i] = mix(mix(i + 1) % (2ull * n) + 1);
  }

  Slot *d_table;
  Key *d_keys, *d_queries;
  unsigned *d_values;
  CUDA_CALL(cudaMalloc(&d_table, capacity * sizeof(Slot)));
  CUDA_CALL(cudaMemset(d_table, 0, capacity * sizeof(Slot)));
  CUDA_CALL(cudaMalloc(&d_keys, n * sizeof(Key)));
  CUDA_CALL(cudaMalloc(&d_queries, n * sizeof(Key)));
  CUDA_CALL(cudaMalloc(&d_values, n * sizeof(unsigned)));
  CUDA_CALL(cudaMemcpy(d_keys, keys.data(), n * sizeof(Key), cudaMemcpyHostToDevice));
  CUDA_CALL(cudaMemcpy(d_queries, queries.data(), n * sizeof(Key), cudaMemcpyHostToDevice));

  cudaEvent_t begin, end;
  CUDA_CALL(cudaEventCreate(&begin));
  CUDA_CALL(cudaEventCreate(&end));
  int blocks = (n + 255) / 256;
  insert<<<blocks, 256>>>(d_table, capacity - 1, d_keys, n);
  lookup<<<blocks, 256>>>(d_table, capacity - 1, d_queries, d_values, n); // warm-up
  CUDA_CALL(cudaEventRecord(begin));
  for (int r = 0; r < rounds; ++r)
    lookup<<<blocks, 256>>>(d_table, capacity - 1, d_queries, d_values, n);
  CUDA_CALL(cudaGetLastError());
  CUDA_CALL(cudaEventRecord(end));
  CUDA_CALL(cudaEventSynchronize(end));
  std::vector<Slot> table(capacity);
  std::vector<unsigned> values(n);
  CUDA_CALL(cudaMemcpy(table.data(), d_table, capacity * sizeof(Slot), cudaMemcpyDeviceToHost));
  CUDA_CALL(cudaMemcpy(values.data(), d_values, n * sizeof(unsigned), cudaMemcpyDeviceToHost));

  // Which slot a key got depends on timing, so slots add up in any order.
  unsigned long long check = 0, hits = 0, found = 0;
  for (int i = 0; i < n; ++i) {
    unsigned asked = mix(i + 1) % (2ull * n);
    if (values[i] != (asked < (unsigned)n ? asked : MISSING)) {
      fprintf(stderr, "query %d: got %u for key %u of %d\n", i, values[i], asked, n);
      return 1;
    }
    found += values[i] != MISSING;
    check = check * 31 + values[i];
  }
  for (unsigned s = 0; s < capacity; ++s) {
    const Slot &slot = table[s];
    hits += slot.hits;
    check += slot.key * (slot.hits + 1) + slot.value * (slot.inserted + 1);
  }
  if (hits != found * (rounds + 1)) {
    fprintf(stderr, "%llu hits were counted, expected %llu\n", hits, found * (rounds + 1));
    return 1;
  }

  float ms;
  CUDA_CALL(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / rounds);
  CUDA_CALL(cudaFree(d_table));
  CUDA_CALL(cudaFree(d_keys));
  CUDA_CALL(cudaFree(d_queries));
  CUDA_CALL(cudaFree(d_values));
  return 0;
}
