// One step: normalise the samples, count their digits per block, scan the
// counts, and scatter the samples stably into the second buffer (one LSD pass).
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>
#include <cuda_runtime.h>

#define CUDA_CALL(x) do { cudaError_t rc = (x); if (rc != cudaSuccess) { \
  fprintf(stderr, "%s failed: %s\n", #x, cudaGetErrorString(rc)); exit(2); } } while (0)

constexpr int kBlock = 256;
constexpr int kWarps = kBlock / 32;
constexpr int kBits = 6;
constexpr int kBuckets = 1 << kBits;
constexpr int kChunk = 1024;

struct Sample {
  float nx, ny, nz;
  float weight;
  uint32_t code;
  int id;
  float u, v;
  uint16_t material;
  uint16_t flags;
};

__device__ inline int digitOf(const Sample &s, int shift) { return (s.code >> shift) & (kBuckets - 1); }

__global__ void normalise(Sample *samples, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = samples[i].nx, y = samples[i].ny, z = samples[i].nz;
  float len = sqrtf(x * x + y * y + z * z);
  samples[i].nx = x / len;
  samples[i].ny = y / len;
  samples[i].nz = z / len;
  samples[i].weight = 0.98f * samples[i].weight + 0.02f * len;
}

// rank of this thread's digit within the block; cnt becomes exclusive over warps
__device__ int blockRank(int digit, int (*cnt)[kBuckets], int *total) {
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  for (int k = threadIdx.x; k < kWarps * kBuckets; k += kBlock) (&cnt[0][0])[k] = 0;
  __syncthreads();
  unsigned peers = __match_any_sync(0xffffffffu, digit);
  int rank = __popc(peers & ((1u << lane) - 1u));
  if (digit >= 0 && rank == 0) cnt[warp][digit] = __popc(peers);
  __syncthreads();
  if (threadIdx.x < kBuckets) {
    int run = 0;
    for (int w = 0; w < kWarps; w++) { int c = cnt[w][threadIdx.x]; cnt[w][threadIdx.x] = run; run += c; }
    *total = run;
  }
  __syncthreads();
  return digit >= 0 ? rank + cnt[warp][digit] : 0;
}

__global__ void countDigits(const Sample *__restrict__ samples, int n, int shift, int *__restrict__ hist) {
  __shared__ int cnt[kWarps][kBuckets];
  int i = blockIdx.x * kBlock + threadIdx.x;
  int total = 0;
  blockRank(i < n ? digitOf(samples[i], shift) : -1, cnt, &total);
  if (threadIdx.x < kBuckets) hist[threadIdx.x * gridDim.x + blockIdx.x] = total;
}

// inclusive scan of one value per thread over a block of kChunk threads
__device__ int inclusiveScan(int mine, int *tmp) {
  int t = threadIdx.x;
  tmp[t] = mine;
  __syncthreads();
  for (int d = 1; d < kChunk; d <<= 1) {
    int add = t >= d ? tmp[t - d] : 0;
    __syncthreads();
    tmp[t] += add;
    __syncthreads();
  }
  return tmp[t];
}

// exclusive scan within chunks of kChunk, chunk totals to sums
__global__ void scanChunks(int *data, int m, int *sums) {
  __shared__ int tmp[kChunk];
  int i = blockIdx.x * kChunk + threadIdx.x;
  int mine = i < m ? data[i] : 0;
  int incl = inclusiveScan(mine, tmp);
  if (i < m) data[i] = incl - mine;
  if (threadIdx.x == kChunk - 1) sums[blockIdx.x] = incl;
}

__global__ void scanSums(int *sums, int m) {
  __shared__ int tmp[kChunk];
  int carry = 0;
  for (int base = 0; base < m; base += kChunk) {
    int i = base + threadIdx.x;
    int mine = i < m ? sums[i] : 0;
    int incl = inclusiveScan(mine, tmp);
    if (i < m) sums[i] = carry + incl - mine;
    carry += tmp[kChunk - 1];
    __syncthreads();
  }
}

__global__ void scatter(const Sample *__restrict__ in, Sample *__restrict__ out, int n, int shift,
                        const int *__restrict__ offsets, const int *__restrict__ sums) {
  __shared__ int cnt[kWarps][kBuckets];
  int i = blockIdx.x * kBlock + threadIdx.x;
  Sample s = {};
  if (i < n) s = in[i];
  int digit = i < n ? digitOf(s, shift) : -1, total;
  int rank = blockRank(digit, cnt, &total);
  if (i < n) {
    int slot = digit * gridDim.x + blockIdx.x;
    out[offsets[slot] + sums[slot / kChunk] + rank] = s;
  }
}

static void sortStep(Sample *&a, Sample *&b, int n, int pass, int *hist, int *sums) {
  int blocks = (n + kBlock - 1) / kBlock;
  int m = blocks * kBuckets, chunks = (m + kChunk - 1) / kChunk;
  int shift = kBits * (pass % 4);
  normalise<<<blocks, kBlock>>>(a, n);
  countDigits<<<blocks, kBlock>>>(a, n, shift, hist);
  scanChunks<<<chunks, kChunk>>>(hist, m, sums);
  scanSums<<<1, kChunk>>>(sums, chunks);
  scatter<<<blocks, kBlock>>>(a, b, n, shift, hist, sums);
  std::swap(a, b);
}

int main(int argc, char **argv) {
  const int n = argc > 1 && atoi(argv[1]) > 0 ? atoi(argv[1]) : 3000000;
  const int steps = 21;
  std::vector<Sample> host(n);
  uint32_t r = 1u;
  auto rnd = [&r]() { r = r * 1664525u + 1013904223u; return r >> 8; };
  for (int i = 0; i < n; i++) {
    Sample &s = host[i];
    s.nx = rnd() / 8388608.0f - 1.0f;
    s.ny = rnd() / 8388608.0f - 1.0f;
    s.nz = 0.25f + rnd() / 16777216.0f;
    s.weight = 1.0f + rnd() / 16777216.0f;
    s.code = rnd() ^ (uint32_t)(i >> 3);
    s.id = i;
    s.u = rnd() / 16777216.0f; s.v = rnd() / 16777216.0f;
    s.material = (uint16_t)(rnd() % 500);
    s.flags = (uint16_t)(rnd() & 0xff);
  }

  int blocks = (n + kBlock - 1) / kBlock, m = blocks * kBuckets;
  Sample *a, *b;
  int *hist, *sums;
  CUDA_CALL(cudaMalloc(&a, (size_t)n * sizeof(Sample)));
  CUDA_CALL(cudaMalloc(&b, (size_t)n * sizeof(Sample)));
  CUDA_CALL(cudaMalloc(&hist, (size_t)m * sizeof(int)));
  CUDA_CALL(cudaMalloc(&sums, (size_t)((m + kChunk - 1) / kChunk) * sizeof(int)));
  CUDA_CALL(cudaMemcpy(a, host.data(), (size_t)n * sizeof(Sample), cudaMemcpyHostToDevice));

  sortStep(a, b, n, 0, hist, sums);
  CUDA_CALL(cudaDeviceSynchronize());
  cudaEvent_t t0, t1;
  CUDA_CALL(cudaEventCreate(&t0)); CUDA_CALL(cudaEventCreate(&t1));
  CUDA_CALL(cudaEventRecord(t0));
  for (int s = 1; s <= steps; s++) sortStep(a, b, n, s, hist, sums);
  CUDA_CALL(cudaEventRecord(t1));
  CUDA_CALL(cudaEventSynchronize(t1));
  CUDA_CALL(cudaGetLastError());
  float ms;
  CUDA_CALL(cudaEventElapsedTime(&ms, t0, t1));
  CUDA_CALL(cudaMemcpy(host.data(), a, (size_t)n * sizeof(Sample), cudaMemcpyDeviceToHost));

  uint64_t h = 7;
  long long q = 0;
  for (int i = 0; i < n; i++) {
    const Sample &s = host[i];
    h = h * 1000003u + (uint32_t)s.id + s.code * 3ull + s.material * 5u + s.flags * 7u;
    q += (1 + i % 4) * (llround(s.nx * 32) + llround(s.ny * 32) + llround(s.nz * 32) + llround(s.weight * 32) +
                        llround(s.u * 32) + llround(s.v * 32));
  }
  printf("time_ms %f\ncheck %llu_%lld\n", ms / steps, (unsigned long long)h, llround(q / 10000.0));
  cudaFree(a); cudaFree(b); cudaFree(hist); cudaFree(sums);
  return 0;
}
