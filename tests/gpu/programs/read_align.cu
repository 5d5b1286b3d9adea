/* Short-read alignment by seed and extend: k-mers of each read and of its reverse complement are looked up
 * in a hash index of the reference, hits vote for diagonals, the best diagonals are scored by a banded
 * affine-gap dynamic program with penalties by base quality, and the winner goes into the coverage. */
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#define K 20
#define SEED_STEP 10
#define MAX_READ 112
#define MAX_OCCURRENCES 12
#define NUM_SLOTS 8
#define NUM_CANDIDATES 4
#define BIN_SHIFT 6
#define PAD 256 /* bases before and after the reference */

#define GAP_OPEN 5
#define GAP_EXTEND 3
#define MATCH 2

typedef struct {
  uint64_t kmer; /* ~0 if free */
  uint32_t first, count;
} HashBucket;

typedef struct {
  uint32_t id;
  uint16_t length;
  uint16_t lane;
  uint32_t bases[MAX_READ / 16]; /* two bits each */
  uint8_t quals[MAX_READ / 2];   /* four bits each: phred / 3 */
} Read;

typedef struct {
  int diagonal; /* in the padded reference */
  int16_t score, readEnd;
  int16_t refEnd; /* from the diagonal */
  uint8_t votes, strand;
} Candidate;

typedef struct {
  uint32_t position;
  int16_t score, secondScore;
  uint16_t span;
  uint8_t mapq, strand, votes, mapped;
} Alignment;

typedef struct {
  uint32_t depth, reverse, mapqSum, lowMapq;
} CoverageBin;

typedef struct {
  const uint32_t* reference; /* two bits a base, padded */
  int referenceLength;       /* with the padding */
  const HashBucket* table;
  uint32_t tableMask;
  const uint32_t* positions;
  const Read* reads;
  int numReads;
  Candidate* candidates;
  Alignment* alignments;
  CoverageBin* coverage;
} Aligner;

static void cuda(cudaError_t e) {
  if (e == cudaSuccess) return;
  fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(e));
  exit(2);
}

template <class T> static T* toDevice(const T* host, size_t n) {
  T* p;
  cuda(cudaMalloc(&p, n * sizeof(T)));
  if (host) cuda(cudaMemcpy(p, host, n * sizeof(T), cudaMemcpyHostToDevice));
  else cuda(cudaMemset(p, 0, n * sizeof(T)));
  return p;
}

__host__ __device__ static inline uint32_t hashKmer(uint64_t kmer) {
  kmer ^= kmer >> 23;
  kmer *= 0x2127599bf4325c37ull;
  kmer ^= kmer >> 29;
  return (uint32_t)kmer;
}

__device__ static inline uint64_t kmerAt(const Read& read, int offset) {
  const int word = offset >> 4, shift = 2 * (offset & 15);
  uint64_t bits = read.bases[word] | (uint64_t)read.bases[word + 1] << 32;
  bits >>= shift;
  if (shift > 24) bits |= (uint64_t)read.bases[word + 2] << (64 - shift);
  return bits & ((1ull << (2 * K)) - 1);
}

__device__ static inline uint64_t reverseComplement(uint64_t kmer) {
  uint64_t x = ~kmer;
  x = (x >> 2 & 0x3333333333333333ull) | (x & 0x3333333333333333ull) << 2;
  x = (x >> 4 & 0x0f0f0f0f0f0f0f0full) | (x & 0x0f0f0f0f0f0f0f0full) << 4;
  x = (x >> 8 & 0x00ff00ff00ff00ffull) | (x & 0x00ff00ff00ff00ffull) << 8;
  x = (x >> 16 & 0x0000ffff0000ffffull) | (x & 0x0000ffff0000ffffull) << 16;
  x = x >> 32 | x << 32;
  return x >> (64 - 2 * K);
}

__device__ static inline int refBase(const uint32_t* reference, int i) {
  return reference[i >> 4] >> 2 * (i & 15) & 3;
}

__device__ static inline int readBase(const Read& read, int i) { return read.bases[i >> 4] >> 2 * (i & 15) & 3; }
__device__ static inline int readQual(const Read& read, int i) { return (read.quals[i >> 1] >> 4 * (i & 1) & 15) * 3; }

__device__ static void vote(Candidate* slots, int* used, int diagonal, int strand) {
  for (int s = 0; s < *used; ++s) {
    if (slots[s].strand == strand && abs(slots[s].diagonal - diagonal) <= 4) {
      ++slots[s].votes;
      return;
    }
  }
  if (*used == NUM_SLOTS) return;
  Candidate& c = slots[(*used)++];
  c.diagonal = diagonal;
  c.strand = (uint8_t)strand;
  c.votes = 1;
}

__global__ void seedReads(Aligner a) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= a.numReads) return;
  const Read& read = a.reads[r];
  const int length = read.length;
  Candidate slots[NUM_SLOTS];
  int used = 0;
  for (int offset = 0; offset + K <= length; offset += SEED_STEP) {
    const uint64_t forward = kmerAt(read, offset);
    for (int strand = 0; strand < 2; ++strand) {
      const uint64_t kmer = strand ? reverseComplement(forward) : forward;
      const int at = strand ? length - offset - K : offset;
      uint32_t h = hashKmer(kmer) & a.tableMask;
      while (a.table[h].kmer != kmer && a.table[h].kmer != ~0ull) h = (h + 1) & a.tableMask;
      const HashBucket& bucket = a.table[h];
      if (bucket.kmer != kmer || bucket.count > MAX_OCCURRENCES) continue;
      for (uint32_t i = 0; i < bucket.count; ++i) vote(slots, &used, (int)a.positions[bucket.first + i] - at, strand);
    }
  }
  for (int c = 0; c < NUM_CANDIDATES; ++c) {
    int best = -1;
    for (int s = 0; s < used; ++s)
      if (slots[s].votes && (best < 0 || slots[s].votes > slots[best].votes)) best = s;
    Candidate& out = a.candidates[(size_t)r * NUM_CANDIDATES + c];
    out.votes = best < 0 ? 0 : slots[best].votes;
    out.score = 0;
    if (best < 0) continue;
    out.diagonal = slots[best].diagonal;
    out.strand = slots[best].strand;
    slots[best].votes = 0;
  }
}

/* Local in the read (ends may be clipped), banded about the diagonal. A thread for each candidate. */
template <int BAND>
__global__ void extendCandidates(Aligner a) {
  const int W = 2 * BAND + 1;
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= a.numReads * NUM_CANDIDATES) return;
  Candidate& candidate = a.candidates[t];
  if (candidate.votes == 0) return;
  const Read& read = a.reads[t / NUM_CANDIDATES];
  const int length = read.length, strand = candidate.strand;
  const int start = candidate.diagonal - BAND;
  if (start < 0 || start + length + W >= a.referenceLength) return;

  int H[W + 1], E[W + 1];
#pragma unroll
  for (int b = 0; b <= W; ++b) {
    H[b] = 0;
    E[b] = -1000;
  }
  uint64_t window = 0;
  for (int b = 0; b < W - 1; ++b) window |= (uint64_t)refBase(a.reference, start + b) << 2 * (b + 1);
  int best = 0, bestRead = 0, bestRef = 0;
  for (int i = 0; i < length; ++i) {
    window = window >> 2 | (uint64_t)refBase(a.reference, start + i + W - 1) << 2 * (W - 1);
    const int at = strand ? length - 1 - i : i;
    const int base = strand ? 3 - readBase(read, at) : readBase(read, at);
    const int mismatch = -(2 + 4 * min(readQual(read, at), 40) / 40);
    int F = -1000, left = -1000;
#pragma unroll
    for (int b = 0; b < W; ++b) {
      const int same = (int)(window >> 2 * b & 3) == base;
      E[b] = max(E[b + 1] - GAP_EXTEND, H[b + 1] - GAP_OPEN - GAP_EXTEND);
      F = max(F - GAP_EXTEND, left - GAP_OPEN - GAP_EXTEND);
      int h = H[b] + (same ? MATCH : mismatch);
      h = max(max(h, 0), max(E[b], F));
      H[b] = left = h;
      if (h > best) {
        best = h;
        bestRead = i + 1;
        bestRef = i + b - BAND + 1;
      }
    }
    H[W] = -1000;
    E[W] = -1000;
  }
  candidate.score = (int16_t)best;
  candidate.readEnd = (int16_t)bestRead;
  candidate.refEnd = (int16_t)bestRef;
}

__global__ void chooseAlignments(Aligner a) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= a.numReads) return;
  const Candidate* candidates = a.candidates + (size_t)r * NUM_CANDIDATES;
  int best = -1, second = 0;
  for (int c = 0; c < NUM_CANDIDATES; ++c) {
    if (candidates[c].votes == 0) break;
    if (best < 0 || candidates[c].score > candidates[best].score) {
      if (best >= 0) second = max(second, (int)candidates[best].score);
      best = c;
    } else {
      second = max(second, (int)candidates[c].score);
    }
  }
  Alignment& out = a.alignments[r];
  const int perfect = MATCH * a.reads[r].length;
  if (best < 0 || candidates[best].score < perfect / 3) {
    out.position = ~0u;
    out.score = out.secondScore = 0;
    out.span = 0;
    out.mapq = out.strand = out.votes = out.mapped = 0;
    return;
  }
  const Candidate winner = candidates[best];
  out.position = (uint32_t)winner.diagonal;
  out.score = winner.score;
  out.secondScore = (int16_t)second;
  out.span = (uint16_t)max(winner.refEnd, 1);
  out.strand = winner.strand;
  out.votes = winner.votes;
  out.mapped = 1;
  const int gap = winner.score - second;
  out.mapq = (uint8_t)(gap <= 0 ? 0 : min(60, 60 * gap * 2 / perfect) * winner.score / perfect);
}

__global__ void accumulateCoverage(Aligner a) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= a.numReads) return;
  const Alignment& alignment = a.alignments[r];
  if (!alignment.mapped) return;
  const uint32_t first = alignment.position, last = first + alignment.span;
  for (uint32_t bin = first >> BIN_SHIFT; bin <= (last - 1) >> BIN_SHIFT; ++bin) {
    const uint32_t lo = max(first, bin << BIN_SHIFT), hi = min(last, (bin + 1) << BIN_SHIFT);
    CoverageBin& c = a.coverage[bin];
    atomicAdd(&c.depth, hi - lo);
    if (alignment.strand) atomicAdd(&c.reverse, hi - lo);
    atomicAdd(&c.mapqSum, (uint32_t)alignment.mapq);
    if (alignment.mapq < 10) atomicAdd(&c.lowMapq, 1u);
  }
}

static uint64_t rngState = 88172645463325252ull;
static uint32_t rnd(void) {
  rngState ^= rngState << 13, rngState ^= rngState >> 7, rngState ^= rngState << 17;
  return (uint32_t)(rngState >> 20);
}

/* Bases 0..3; a tenth of the genome is copies of a few repeats, somewhat diverged. */
static std::vector<uint8_t> makeGenome(int length) {
  std::vector<uint8_t> genome(length + 2 * PAD);
  for (uint8_t& b : genome) b = (uint8_t)(rnd() % 100 < 44 ? 1 + (rnd() & 1) : (rnd() & 1) * 3);
  for (int copied = 0; copied < length / 10;) {
    const int size = 300 + rnd() % 900, from = PAD + (rnd() % 16) * (length / 20), to = PAD + rnd() % (length - 2000);
    for (int i = 0; i < size; ++i) genome[to + i] = rnd() % 50 ? genome[from + i] : (uint8_t)(rnd() & 3);
    copied += size;
  }
  return genome;
}

static void makeRead(Read* read, uint32_t id, const std::vector<uint8_t>& genome, int length) {
  memset(read, 0, sizeof *read);
  read->id = id;
  read->lane = (uint16_t)(id >> 16);
  read->length = (uint16_t)(rnd() % 8 ? 100 : 80 + rnd() % 20);
  /* deeper near the origin of replication */
  const uint32_t span = (uint32_t)(length - 200);
  int pos = PAD + (int)(rnd() % 3 ? rnd() % span : std::min(rnd() % span, rnd() % span));
  const int foreign = rnd() % 100 < 4, strand = rnd() & 1;
  int q = 13;
  std::vector<uint8_t> bases(read->length);
  for (int i = 0; i < read->length; ++i) {
    const uint32_t u = rnd() % 2000;
    if (u == 0) ++pos;
    else if (u == 1) --pos;
    bases[i] = foreign ? (uint8_t)(rnd() & 3) : genome[pos++];
  }
  for (int i = 0; i < read->length; ++i) {
    int b = strand ? 3 - bases[read->length - 1 - i] : bases[i];
    if (rnd() % 100 < (uint32_t)(4 + i / 4)) q = std::max(1, std::min(13, q + (int)(rnd() % 5) - 3));
    else if (rnd() % 3 == 0) q = std::min(13, q + 1);
    if (rnd() % 100 < (q < 5 ? 12u : q < 9 ? 2u : 0u) || rnd() % 300 == 0) b = rnd() & 3;
    read->bases[i >> 4] |= (uint32_t)b << 2 * (i & 15);
    read->quals[i >> 1] |= (uint8_t)(q << 4 * (i & 1));
  }
}

static void buildIndex(const std::vector<uint8_t>& genome, std::vector<HashBucket>& table, std::vector<uint32_t>& positions) {
  std::vector<std::pair<uint64_t, uint32_t>> kmers;
  uint64_t kmer = 0;
  for (size_t i = 0; i < genome.size(); ++i) {
    kmer = kmer >> 2 | (uint64_t)genome[i] << 2 * (K - 1);
    if (i + 1 >= K) kmers.emplace_back(kmer, (uint32_t)(i + 1 - K));
  }
  std::sort(kmers.begin(), kmers.end());
  size_t size = 1024;
  while (size < 2 * kmers.size()) size *= 2;
  table.assign(size, HashBucket{~0ull, 0, 0});
  for (size_t i = 0; i < kmers.size();) {
    size_t j = i;
    while (j < kmers.size() && kmers[j].first == kmers[i].first) positions.push_back(kmers[j++].second);
    uint32_t h = hashKmer(kmers[i].first) & (uint32_t)(size - 1);
    while (table[h].kmer != ~0ull) h = (h + 1) & (uint32_t)(size - 1);
    table[h] = HashBucket{kmers[i].first, (uint32_t)i, (uint32_t)(j - i)};
    i = j;
  }
}

int main(int argc, char** argv) {
  const int numReads = argc > 1 ? atoi(argv[1]) : 250000;
  const int genomeLength = 1500000, steps = 20;
  std::vector<uint8_t> genome = makeGenome(genomeLength);
  std::vector<uint32_t> packed(genome.size() / 16 + 1), positions;
  for (size_t i = 0; i < genome.size(); ++i) packed[i >> 4] |= (uint32_t)genome[i] << 2 * (i & 15);
  std::vector<HashBucket> table;
  buildIndex(genome, table, positions);
  std::vector<Read> reads(numReads);
  for (int r = 0; r < numReads; ++r) makeRead(&reads[r], r, genome, genomeLength);
  const size_t numBins = (genome.size() >> BIN_SHIFT) + 4;

  Aligner a;
  a.reference = toDevice(packed.data(), packed.size());
  a.referenceLength = (int)genome.size();
  a.table = toDevice(table.data(), table.size());
  a.tableMask = (uint32_t)table.size() - 1;
  a.positions = toDevice(positions.data(), positions.size());
  a.reads = toDevice(reads.data(), numReads);
  a.numReads = numReads;
  a.candidates = toDevice((const Candidate*)NULL, (size_t)numReads * NUM_CANDIDATES);
  a.alignments = toDevice((const Alignment*)NULL, numReads);
  a.coverage = toDevice((const CoverageBin*)NULL, numBins);

  const int block = 128, grid = (numReads + block - 1) / block;
  cudaEvent_t start, stop;
  cuda(cudaEventCreate(&start));
  cuda(cudaEventCreate(&stop));
  for (int s = 0; s <= steps; ++s) {
    if (s == 1) cuda(cudaEventRecord(start));
    cuda(cudaMemsetAsync(a.coverage, 0, numBins * sizeof(CoverageBin)));
    seedReads<<<grid, block>>>(a);
    extendCandidates<7><<<grid * NUM_CANDIDATES, block>>>(a);
    chooseAlignments<<<grid, block>>>(a);
    accumulateCoverage<<<grid, block>>>(a);
    cuda(cudaGetLastError());
  }
  cuda(cudaEventRecord(stop));
  cuda(cudaEventSynchronize(stop));
  float ms;
  cuda(cudaEventElapsedTime(&ms, start, stop));

  std::vector<Alignment> alignments(numReads);
  std::vector<CoverageBin> coverage(numBins);
  cuda(cudaMemcpy(alignments.data(), a.alignments, numReads * sizeof(Alignment), cudaMemcpyDeviceToHost));
  cuda(cudaMemcpy(coverage.data(), a.coverage, numBins * sizeof(CoverageBin), cudaMemcpyDeviceToHost));
  unsigned long long h = 0;
  for (const Alignment& x : alignments)
    h = h * 31 + x.position + 3 * x.score + 5 * x.secondScore + 7 * x.mapq + 11 * x.strand + 13 * x.span + 17 * x.votes + x.mapped;
  for (const CoverageBin& c : coverage) h = h * 31 + c.depth + 3ull * c.reverse + 5ull * c.mapqSum + 7ull * c.lowMapq;
  printf("check %llu\ntime_ms %.4f\n", h, ms / steps);

  cuda(cudaDeviceReset());
  return 0;
}
