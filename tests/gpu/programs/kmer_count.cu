/* kmer_count.cu
 *
 * Counts canonical k-mers of simulated sequencing reads in an open-addressing
 * hash table, links every solid k-mer to its unique left / right neighbour,
 * walks along unbranched paths and reports the coverage of each read.
 *
 *   kmer_count [reads]
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vector>

typedef unsigned long long u64;

#define CUDA_TRY(stmt)                                                     \
  if (cudaError_t rc_ = (stmt)) {                                          \
    fprintf(stderr, #stmt " -> %s\n", cudaGetErrorString(rc_));            \
    exit(1);                                                               \
  }

constexpr int K = 21;
constexpr u64 KMASK = (1ull << (2 * K)) - 1;
constexpr u64 EMPTY = ~0ull;
constexpr int NBINS = 128;
constexpr int MAX_WALK = 48;
constexpr unsigned SOLID = 2;

struct Slot {
  u64 key;
  unsigned count;
  unsigned first_read;
  int link[2];             // left, right: slot of the only neighbour, else -1
  unsigned char degree[2];
  unsigned short walk;     // k-mers reachable without a branch
  unsigned depth;          // sum of their counts
};

struct Read {
  int begin;               // first base
  unsigned short length;
  unsigned short weak;     // k-mers seen once
  unsigned min_count;
  unsigned max_count;
  float mean;
  bool keep;
};

struct Bin {
  unsigned kmers;
  unsigned branching;
  u64 walked;
};

template <typename T>
struct DeviceArray {
  T *ptr = nullptr;
  size_t count = 0;
  void create(size_t n) {
    count = n;
    CUDA_TRY(cudaMalloc(&ptr, n * sizeof(T)));
  }
  void push(const T *src) { CUDA_TRY(cudaMemcpy(ptr, src, count * sizeof(T), cudaMemcpyHostToDevice)); }
  void pull(T *dst) const { CUDA_TRY(cudaMemcpy(dst, ptr, count * sizeof(T), cudaMemcpyDeviceToHost)); }
  ~DeviceArray() { cudaFree(ptr); }
};

__host__ __device__ static inline u64 mix64(u64 x) {
  x ^= x >> 31; x *= 0x7fb5d329728ea185ull;
  x ^= x >> 27; x *= 0x81dadef4bc2dd44dull;
  return x ^ (x >> 33);
}

// K bases from position pos of the 2-bit packed sequence, first base lowest
__device__ static inline u64 kmer_at(const uint32_t *__restrict__ packed, int pos) {
  int w = pos >> 4, sh = (pos & 15) * 2;
  u64 v = (packed[w] | ((u64)packed[w + 1] << 32)) >> sh;
  if (sh) v |= (u64)packed[w + 2] << (64 - sh);
  return v & KMASK;
}

__device__ static inline u64 canonical(u64 v) {
  u64 r = __brevll(~v & KMASK);
  r = ((r >> 1) & 0x5555555555555555ull) | ((r & 0x5555555555555555ull) << 1);
  r >>= 64 - 2 * K;
  return v < r ? v : r;
}

__device__ static int lookup(const Slot *table, unsigned mask, u64 key, unsigned salt) {
  unsigned h = (unsigned)mix64(key + salt) & mask;
  for (;;) {
    u64 k = table[h].key;
    if (k == key) return (int)h;
    if (k == EMPTY) return -1;
    h = (h + 1) & mask;
  }
}

__global__ void clear_table(Slot *table, unsigned size, Bin *bins) {
  unsigned tid = blockIdx.x * blockDim.x + threadIdx.x;
  for (unsigned i = tid; i < size; i += gridDim.x * blockDim.x) {
    Slot s;
    s.key = EMPTY;
    s.count = 0;
    s.first_read = 0xffffffffu;
    s.link[0] = s.link[1] = -1;
    s.degree[0] = s.degree[1] = 0;
    s.walk = 0;
    s.depth = 0;
    table[i] = s;
  }
  if (tid < NBINS) {
    bins[tid].kmers = 0;
    bins[tid].branching = 0;
    bins[tid].walked = 0;
  }
}

// a warp per read, a lane per k-mer
__global__ void insert_reads(Slot *table, unsigned mask, const Read *reads, int n,
                             const uint32_t *packed, unsigned salt) {
  int r = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  int lane = threadIdx.x & 31;
  if (r >= n) return;
  int begin = reads[r].begin;
  int kmers = reads[r].length - K + 1;
  for (int p = lane; p < kmers; p += 32) {
    u64 key = canonical(kmer_at(packed, begin + p));
    unsigned h = (unsigned)mix64(key + salt) & mask;
    while (true) {
      u64 seen = table[h].key;
      if (seen == EMPTY) seen = atomicCAS(&table[h].key, EMPTY, key);
      if (seen == EMPTY || seen == key) break;
      h = (h + 1) & mask;
    }
    atomicAdd(&table[h].count, 1u);
    atomicMin(&table[h].first_read, (unsigned)r);
  }
}

// unique neighbours of the solid k-mers
__global__ void link_neighbours(Slot *table, unsigned size, unsigned salt) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  u64 key = table[i].key;
  if (key == EMPTY || table[i].count < SOLID) return;

  for (int side = 0; side < 2; ++side) {
    int found = -1, degree = 0;
    for (u64 b = 0; b < 4; ++b) {
      u64 next = side ? (key >> 2) | (b << (2 * K - 2)) : ((key << 2) | b) & KMASK;
      int s = lookup(table, size - 1, canonical(next), salt);
      if (s >= 0 && table[s].count >= SOLID) {
        found = s;
        ++degree;
      }
    }
    table[i].degree[side] = (unsigned char)degree;
    table[i].link[side] = degree == 1 ? found : -1;
  }
}

__global__ void walk_paths(Slot *table, unsigned size) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  if (table[i].count < SOLID) return;
  unsigned steps = 0, depth = table[i].count;
  for (int side = 0; side < 2; ++side) {
    int prev = (int)i, cur = table[i].link[side];
    for (int n = 0; n < MAX_WALK && cur >= 0 && cur != prev && cur != (int)i; ++n) {
      const Slot *s = table + cur;
      int out;
      if (s->link[0] == prev) out = 1;
      else if (s->link[1] == prev) out = 0;
      else break;                       // branch on the way back
      depth += s->count;
      ++steps;
      prev = cur;
      cur = s->link[out];
    }
  }
  table[i].walk = (unsigned short)steps;
  table[i].depth = depth;
}

__global__ void __launch_bounds__(256) spectrum(const Slot *table, unsigned size, Bin *bins) {
  __shared__ Bin local[NBINS];
  for (int b = threadIdx.x; b < NBINS; b += blockDim.x) {
    local[b].kmers = local[b].branching = 0;
    local[b].walked = 0;
  }
  __syncthreads();
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += gridDim.x * blockDim.x) {
    unsigned c = table[i].count;
    if (c == 0) continue;
    unsigned b = c < NBINS ? c : NBINS - 1;
    atomicAdd(&local[b].kmers, 1u);
    if (table[i].degree[0] > 1 || table[i].degree[1] > 1) atomicAdd(&local[b].branching, 1u);
    if (table[i].walk) atomicAdd(&local[b].walked, (u64)table[i].walk);
  }
  __syncthreads();
  for (int b = threadIdx.x; b < NBINS; b += blockDim.x) {
    if (!local[b].kmers) continue;
    atomicAdd(&bins[b].kmers, local[b].kmers);
    atomicAdd(&bins[b].branching, local[b].branching);
    atomicAdd(&bins[b].walked, local[b].walked);
  }
}

__global__ void cover_reads(const Slot *table, unsigned mask, Read *reads, int n,
                            const uint32_t *packed, unsigned salt) {
  int r = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  int lane = threadIdx.x & 31;
  if (r >= n) return;
  int begin = reads[r].begin;
  int kmers = reads[r].length - K + 1;
  unsigned lo = 0xffffffffu, hi = 0, sum = 0, weak = 0;
  for (int p = lane; p < kmers; p += 32) {
    int s = lookup(table, mask, canonical(kmer_at(packed, begin + p)), salt);
    unsigned c = s >= 0 ? table[s].count : 0;
    lo = c < lo ? c : lo;
    hi = c > hi ? c : hi;
    sum += c;
    weak += c < SOLID;
  }
  lo = __reduce_min_sync(0xffffffffu, lo);
  hi = __reduce_max_sync(0xffffffffu, hi);
  sum = __reduce_add_sync(0xffffffffu, sum);
  weak = __reduce_add_sync(0xffffffffu, weak);
  if (lane == 0) {
    Read &out = reads[r];
    out.min_count = lo;
    out.max_count = hi;
    out.mean = (float)sum / kmers;
    out.weak = (unsigned short)weak;
    out.keep = lo >= SOLID || weak <= K;
  }
}

static uint32_t rng = 2463534242u;
static uint32_t next_random() {
  rng ^= rng << 13;
  rng ^= rng >> 17;
  rng ^= rng << 5;
  return rng;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 60000;
  if (n < 10) n = 10;
  const int warm = 2, steps = 25;

  // genome with repeats, reads of 100..150 bases, 0.3 % errors
  const int glen = 12 * n + 400;
  std::vector<unsigned char> genome(glen);
  for (int i = 0; i < glen; ++i) genome[i] = (next_random() >> 7) & 3;
  for (int rep = 0; rep < glen / 5000; ++rep) {
    int from = next_random() % (glen - 300), to = next_random() % (glen - 300);
    memmove(&genome[to], &genome[from], 300);
  }
  std::vector<Read> reads(n);
  std::vector<uint32_t> packed((size_t)n * 150 / 16 + 8, 0u);
  int pos = 0;
  size_t total = 0;
  for (int r = 0; r < n; ++r) {
    int len = 100 + next_random() % 51, at = next_random() % (glen - len);
    bool reverse = next_random() & 1024;
    Read rd;
    memset(&rd, 0, sizeof rd);
    rd.begin = pos;
    rd.length = (unsigned short)len;
    reads[r] = rd;
    for (int i = 0; i < len; ++i, ++pos) {
      unsigned b = reverse ? 3 - genome[at + len - 1 - i] : genome[at + i];
      if (next_random() % 1000 < 3) b = (b + 1 + next_random() % 3) & 3;
      packed[pos >> 4] |= b << ((pos & 15) * 2);
    }
    total += len - K + 1;
  }
  unsigned size = 1024;
  while (size < total + total / 8) size *= 2;      // can never overflow

  DeviceArray<Slot> table;
  DeviceArray<Read> dreads;
  DeviceArray<Bin> bins;
  DeviceArray<uint32_t> dpacked;
  table.create(size);
  dreads.create(n);
  bins.create(NBINS);
  dpacked.create(packed.size());
  dreads.push(reads.data());
  dpacked.push(packed.data());

  cudaEvent_t begin, end;
  CUDA_TRY(cudaEventCreate(&begin));
  CUDA_TRY(cudaEventCreate(&end));
  const int warps = (n + 7) / 8, perSlot = (int)((size + 255) / 256);
  for (int step = 0; step < warm + steps; ++step) {
    if (step == warm) CUDA_TRY(cudaEventRecord(begin));
    unsigned salt = 0x9e3779b9u * step;
    clear_table<<<1056, 256>>>(table.ptr, size, bins.ptr);
    insert_reads<<<warps, 256>>>(table.ptr, size - 1, dreads.ptr, n, dpacked.ptr, salt);
    link_neighbours<<<perSlot, 256>>>(table.ptr, size, salt);
    walk_paths<<<perSlot, 256>>>(table.ptr, size);
    spectrum<<<528, 256>>>(table.ptr, size, bins.ptr);
    cover_reads<<<warps, 256>>>(table.ptr, size - 1, dreads.ptr, n, dpacked.ptr, salt);
  }
  CUDA_TRY(cudaEventRecord(end));
  CUDA_TRY(cudaEventSynchronize(end));
  CUDA_TRY(cudaGetLastError());
  float ms = 0;
  CUDA_TRY(cudaEventElapsedTime(&ms, begin, end));

  std::vector<Slot> slots(size);
  std::vector<Bin> hist(NBINS);
  table.pull(slots.data());
  bins.pull(hist.data());
  dreads.pull(reads.data());
  u64 keys = 0, paths = 0, cover = 0, spec = 0, distinct = 0;
  for (const Slot &s : slots) {
    if (s.key == EMPTY) continue;
    ++distinct;
    keys += mix64(s.key) * s.count + s.first_read;
    paths += mix64(s.key ^ s.depth) + s.walk * 5u + s.degree[0] * 2u + s.degree[1];
  }
  for (const Read &r : reads)
    cover = cover * 31 + r.min_count * 7u + r.max_count + r.weak + (u64)(r.mean * 100.0f) + (r.keep ? 1 : 0);
  for (int b = 0; b < NBINS; ++b) spec += (u64)(b + 1) * (hist[b].kmers + 3u * hist[b].branching + hist[b].walked);
  printf("check %llu/%llu/%llu/%llu/%llu\n", distinct, keys, paths, cover, spec);
  printf("time_ms %.5f\n", ms / steps);
  return 0;
}
