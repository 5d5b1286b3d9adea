// Sequencing: alignments of reads, filtered and scored, then coverage.
//
// Every round tries other thresholds. The filter stores its verdict into the
// record; the second kernel adds the bases of those that passed, by
// chromosome. The argument is the number of alignments.
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

const int CHROMOSOMES = 24;

struct Alignment {
  short chromosome;
  short length;
  short matches, mismatches;
  short gaps, gapBases;
  short insertSize;
  char mapQuality;
  char strand;
  char firstBase, lastBase;
  char duplicate;
  char verdict; // 'P'ass, low 'Q'uality, 'D'uplicate, low 'S'core, 'I'nsert size
};

__global__ void filter(Alignment *alignments, int n, int minQuality, int minPercent, int maxInsert) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  if (alignments[i].duplicate) {
    alignments[i].verdict = 'D';
    return;
  }
  if (alignments[i].mapQuality < minQuality) {
    alignments[i].verdict = 'Q';
    return;
  }
  int score = 2 * alignments[i].matches - 4 * alignments[i].mismatches;
  score -= 6 * alignments[i].gaps + alignments[i].gapBases;
  char verdict = 'P';
  if (score * 100 < minPercent * 2 * alignments[i].length)
    verdict = 'S';
  else if (alignments[i].insertSize > maxInsert)
    verdict = 'I';
  alignments[i].verdict = verdict;
}

__global__ void cover(const Alignment *alignments, int n, unsigned long long *coverage) {
  __shared__ unsigned bases[CHROMOSOMES];
  if (threadIdx.x < CHROMOSOMES)
    bases[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const Alignment &a = alignments[i];
    if (a.verdict == 'P')
      atomicAdd(&bases[a.chromosome], (unsigned)(a.matches + a.mismatches));
  }
  __syncthreads();
  if (threadIdx.x < CHROMOSOMES)
    atomicAdd(&coverage[threadIdx.x], (unsigned long long)bases[threadIdx.x]);
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 24;
  std::vector<Alignment> alignments(n);
  for (int i = 0; i < n; ++i) {
    unsigned h = hash(i), other = hash(~i);
    int length = 100 + (h & 63), mismatches = (h >> 6 & 15) * (h >> 10 & 1);
    int gaps = (h >> 11 & 7) == 0 ? 1 + (h >> 14 & 1) : 0, gapBases = gaps * (1 + (h >> 15 & 3));
    alignments[i] = {(short)(other % CHROMOSOMES),
                     (short)length,
                     (short)(length - mismatches - gapBases),
                     (short)mismatches,
                     (short)gaps,
                     (short)gapBases,
                     (short)(200 + (other >> 8 & 511)),
                     (char)((h >> 17 & 3) == 0 ? h >> 19 & 31 : 60),
                     h >> 24 & 1 ? '+' : '-',
                     "ACGT"[h >> 25 & 3],
                     "ACGT"[h >> 27 & 3],
                     (char)((other >> 17 & 15) == 0),
                     '?'};
  }

  Alignment *d_alignments;
  CHECK(cudaMalloc(&d_alignments, n * sizeof(Alignment)));
  CHECK(cudaMemcpy(d_alignments, alignments.data(), n * sizeof(Alignment), cudaMemcpyHostToDevice));
  unsigned long long *d_coverage;
  CHECK(cudaMalloc(&d_coverage, CHROMOSOMES * sizeof(unsigned long long)));
  CHECK(cudaMemset(d_coverage, 0, CHROMOSOMES * sizeof(unsigned long long)));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    filter<<<(n + 255) / 256, 256>>>(d_alignments, n, 5 + r / 4, 60 + r % 32, 600);
    cover<<<1056, 256>>>(d_alignments, n, d_coverage);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  std::vector<unsigned long long> coverage(CHROMOSOMES);
  CHECK(cudaMemcpy(coverage.data(), d_coverage, CHROMOSOMES * sizeof(unsigned long long), cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(alignments.data(), d_alignments, n * sizeof(Alignment), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (unsigned long long c : coverage)
    check = check * 31 + c;
  for (const Alignment &a : alignments)
    check = check * 31 + a.verdict + 3 * a.length + 5 * a.strand;

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_alignments));
  CHECK(cudaFree(d_coverage));
}
