// Bitonic sort of key-value-payload records, in shared memory for short
// strides and in global memory for long ones; afterwards the sorted records
// are compared with their neighbours and summed up by key prefix.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define TILE 1024
#define HALF (TILE / 2)
#define BUCKET_BITS 10

template <typename Key>
struct Record {
  Key key;
  int id;
  float price;
  short flags;
  short region;
  float amount;
  unsigned char tag[4];
};

struct Total {
  unsigned long long price_cents;
  unsigned count;
  unsigned flagged;
  unsigned ties;
};

inline void gpu(cudaError_t e, const char *what) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
  std::exit(2);
}

// ties are broken by id, so the result is unique
template <typename Key>
__device__ inline bool after(const Record<Key> &a, const Record<Key> &b) {
  return a.key > b.key || (a.key == b.key && a.id > b.id);
}

template <typename Key>
__device__ inline void exchange(Record<Key> *r, int i, int j, bool up) {
  if (after(r[i], r[j]) == up) {
    Record<Key> t = r[i];
    r[i] = r[j];
    r[j] = t;
  }
}

// sorts whole tiles, in alternating directions
template <typename Key>
__global__ void sort_tiles(const Record<Key> *in, Record<Key> *out) {
  __shared__ Record<Key> s[TILE];
  int base = blockIdx.x * TILE;
  int t = threadIdx.x;
  s[t] = in[base + t];
  s[t + HALF] = in[base + t + HALF];
  for (int size = 2; size <= TILE; size <<= 1) {
    for (int stride = size >> 1; stride > 0; stride >>= 1) {
      __syncthreads();
      int i = 2 * t - (t & (stride - 1));
      bool up = ((base + i) & size) == 0;
      exchange(s, i, i + stride, up);
    }
  }
  __syncthreads();
  out[base + t] = s[t];
  out[base + t + HALF] = s[t + HALF];
}

// one step with a stride of a tile or more
template <typename Key>
__global__ void merge_global(Record<Key> *r, int pairs, int size, int stride) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= pairs) return;
  int i = 2 * t - (t & (stride - 1));
  exchange(r, i, i + stride, (i & size) == 0);
}

// all the steps with strides below a tile
template <typename Key>
__global__ void merge_tiles(Record<Key> *r, int size) {
  __shared__ Record<Key> s[TILE];
  int base = blockIdx.x * TILE;
  int t = threadIdx.x;
  s[t] = r[base + t];
  s[t + HALF] = r[base + t + HALF];
  bool up = (base & size) == 0;
  for (int stride = HALF; stride > 0; stride >>= 1) {
    __syncthreads();
    int i = 2 * t - (t & (stride - 1));
    exchange(s, i, i + stride, up);
  }
  __syncthreads();
  r[base + t] = s[t];
  r[base + t + HALF] = s[t + HALF];
}

__global__ void clear_totals(Total *t, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  t[i].price_cents = 0;
  t[i].count = 0;
  t[i].flagged = 0;
  t[i].ties = 0;
}

// sums by the leading bits of the key; a whole block mostly has one prefix
template <typename Key>
__global__ void total_by_prefix(const Record<Key> *r, int n, Total *totals) {
  __shared__ unsigned long long cents;
  __shared__ unsigned flagged, ties;
  const int shift = sizeof(Key) * 8 - BUCKET_BITS;
  int first = blockIdx.x * blockDim.x;
  int i = first + threadIdx.x;
  if (threadIdx.x == 0) {
    cents = 0;
    flagged = 0;
    ties = 0;
  }
  __syncthreads();
  int last = min(first + (int)blockDim.x, n) - 1;
  int lo = (int)(r[first].key >> shift);
  int hi = (int)(r[last].key >> shift);
  if (i < n) {
    unsigned c = (unsigned)(r[i].price * 100.0f + 0.5f);
    bool flag = r[i].flags & 4;
    bool tie = i > 0 && r[i - 1].key == r[i].key;
    if (lo == hi) {
      atomicAdd(&cents, (unsigned long long)c);
      if (flag) atomicAdd(&flagged, 1u);
      if (tie) atomicAdd(&ties, 1u);
    } else {
      Total *t = &totals[(int)(r[i].key >> shift)];
      atomicAdd(&t->price_cents, (unsigned long long)c);
      atomicAdd(&t->count, 1u);
      if (flag) atomicAdd(&t->flagged, 1u);
      if (tie) atomicAdd(&t->ties, 1u);
    }
  }
  __syncthreads();
  if (threadIdx.x == 0 && lo == hi) {
    atomicAdd(&totals[lo].price_cents, cents);
    atomicAdd(&totals[lo].count, (unsigned)(last - first + 1));
    atomicAdd(&totals[lo].flagged, flagged);
    atomicAdd(&totals[lo].ties, ties);
  }
}

template <typename Key>
void sort_records(const Record<Key> *in, Record<Key> *out, int n) {
  sort_tiles<Key><<<n / TILE, HALF>>>(in, out);
  for (int size = 2 * TILE; size <= n; size <<= 1) {
    for (int stride = size / 2; stride >= TILE; stride >>= 1)
      merge_global<Key><<<(n / 2 + 255) / 256, 256>>>(out, n / 2, size, stride);
    merge_tiles<Key><<<n / TILE, HALF>>>(out, size);
  }
}

int main(int argc, char **argv) {
  typedef unsigned Key;
  int logn = argc > 1 ? std::atoi(argv[1]) : 21;
  int reps = argc > 2 ? std::atoi(argv[2]) : 15;
  if (logn < 10 || logn > 26) {
    std::fprintf(stderr, "log2 of the number of records must be 10 to 26\n");
    return 1;
  }
  const int n = 1 << logn, nt = 1 << BUCKET_BITS;

  std::vector<Record<Key>> h(n);
  unsigned x = 2463534242u;
  auto rnd = [&x]() {
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return x;
  };
  for (int i = 0; i < n; i++) {
    Record<Key> &r = h[i];
    r.key = rnd() & ~0xfffu;   // some ties
    r.id = i;
    r.price = (rnd() % 100000) * 0.01f;
    r.flags = (short)(rnd() & 0xff);
    r.region = (short)(rnd() % 50);
    r.amount = (float)(rnd() % 1000);
    for (int k = 0; k < 4; k++) r.tag[k] = (unsigned char)('a' + rnd() % 26);
  }

  Record<Key> *d_in, *d_out;
  Total *d_tot;
  gpu(cudaMalloc(&d_in, n * sizeof(Record<Key>)), "cudaMalloc");
  gpu(cudaMalloc(&d_out, n * sizeof(Record<Key>)), "cudaMalloc");
  gpu(cudaMalloc(&d_tot, nt * sizeof(Total)), "cudaMalloc");
  gpu(cudaMemcpy(d_in, h.data(), n * sizeof(Record<Key>), cudaMemcpyHostToDevice), "copy in");

  cudaEvent_t ev[2];
  gpu(cudaEventCreate(&ev[0]), "event");
  gpu(cudaEventCreate(&ev[1]), "event");
  for (int r = -1; r < reps; r++) {
    if (r == 0) gpu(cudaEventRecord(ev[0]), "record");
    sort_records<Key>(d_in, d_out, n);
    clear_totals<<<(nt + 255) / 256, 256>>>(d_tot, nt);
    total_by_prefix<Key><<<(n + 255) / 256, 256>>>(d_out, n, d_tot);
  }
  gpu(cudaEventRecord(ev[1]), "record");
  gpu(cudaEventSynchronize(ev[1]), "sort");
  float ms;
  gpu(cudaEventElapsedTime(&ms, ev[0], ev[1]), "elapsed");

  std::vector<Total> tot(nt);
  gpu(cudaMemcpy(h.data(), d_out, n * sizeof(Record<Key>), cudaMemcpyDeviceToHost), "copy out");
  gpu(cudaMemcpy(tot.data(), d_tot, nt * sizeof(Total), cudaMemcpyDeviceToHost), "copy out");
  long long wrong = 0, places = 0, letters = 0, cents = 0, count = 0, flagged = 0, ties = 0;
  for (int i = 0; i < n; i++) {
    if (i && (h[i - 1].key > h[i].key ||
              (h[i - 1].key == h[i].key && h[i - 1].id >= h[i].id))) wrong++;
    places += (long long)(i % 997) * (h[i].id % 991);
    letters += (i & 15) * h[i].tag[i & 3];
  }
  for (int k = 0; k < nt; k++) {
    cents += (long long)(tot[k].price_cents * (1 + k % 7));
    count += tot[k].count;
    flagged += tot[k].flagged;
    ties += tot[k].ties;
  }
  std::printf("check out_of_order %lld\n", wrong);
  std::printf("check places %lld\ncheck letters %lld\n", places, letters);
  std::printf("check cents %.6g\n", (double)cents);
  std::printf("check count %lld\ncheck flagged %lld\ncheck ties %lld\n", count, flagged, ties);
  std::printf("time_ms %.6f\n", ms / reps);
  cudaFree(d_in);
  cudaFree(d_out);
  cudaFree(d_tot);
  return 0;
}
