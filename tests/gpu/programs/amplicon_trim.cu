// amplicon_trim: GPU clean-up of 100 bp amplicon reads
//   - 3' adapter search with mismatches
//   - BWA-style quality trimming and expected errors
//   - primer (amplicon) assignment from the 5' end, UMI extraction
//   - per-cycle quality profile
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vector>

#define GPU(call)                                                              \
  {                                                                            \
    cudaError_t st = (call);                                                   \
    if (st != cudaSuccess) {                                                   \
      fprintf(stderr, "[amplicon_trim] %s failed: %s\n", #call,                \
              cudaGetErrorString(st));                                         \
      exit(EXIT_FAILURE);                                                      \
    }                                                                          \
  }

const int READ_LEN = 100;
const int UMI_LEN = 8;
const int PRIMER_LEN = 20;
const int N_PRIMERS = 48;
const int ADAPTER_LEN = 13;

struct Read {
  uint8_t base[READ_LEN];   // 0..3 = ACGT
  uint8_t qual[READ_LEN];   // phred
  int32_t len;
  int32_t clip3;            // first base not used any more
  uint32_t umi;
  int32_t amplicon;
  float exp_err;
  uint16_t adapter_mm;
  uint16_t flags;
};

struct Primer {
  uint8_t seq[PRIMER_LEN];
  int32_t max_mm;
  unsigned int n_reads;
  unsigned long long n_bases;
  unsigned int umi_xor_count[4];
};

struct CycleStat {
  unsigned long long qsum;
  unsigned int n[4];
  unsigned int kept;
  unsigned int low;
};

enum { F_ADAPTER = 1, F_SHORT = 2, F_NOPRIMER = 4 };

__constant__ uint8_t c_adapter[ADAPTER_LEN];
__constant__ float c_perr[64];

__device__ int mismatches_at(const Read &r, int pos, int limit) {
  int mm = 0;
  int n = min(ADAPTER_LEN, r.len - pos);
  for (int k = 0; k < n; ++k) {
    mm += r.base[pos + k] != c_adapter[k];
    if (mm > limit) break;
  }
  return mm;
}

__global__ void find_adapter(Read *reads, int n) {
  int tid = blockIdx.x * blockDim.x + threadIdx.x;
  int stride = gridDim.x * blockDim.x;
  for (int i = tid; i < n; i += stride) {
    Read &r = reads[i];
    int where = r.len;
    int best = 99;
    for (int p = UMI_LEN + PRIMER_LEN; p + 4 <= r.len; ++p) {
      int overlap = min(ADAPTER_LEN, r.len - p);
      int lim = overlap / 6;
      int mm = mismatches_at(r, p, lim);
      if (mm <= lim) {
        where = p;
        best = mm;
        break;
      }
    }
    r.clip3 = where;
    r.adapter_mm = (uint16_t)best;
    r.flags = where < r.len ? F_ADAPTER : 0;
  }
}

__global__ void quality_trim(Read *reads, int n, int cutoff) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Read *r = &reads[i];
  int end = r->clip3;
  int sum = 0, best = 0, cut = end;
  for (int p = end - 1; p >= UMI_LEN; --p) {
    sum += cutoff - r->qual[p];
    if (sum < 0) break;
    if (sum > best) {
      best = sum;
      cut = p;
    }
  }
  float e = 0.0f;
  for (int p = UMI_LEN; p < cut; ++p) e += c_perr[r->qual[p] & 63];
  r->clip3 = cut;
  r->exp_err = e;
  if (cut < UMI_LEN + PRIMER_LEN + 10) r->flags |= F_SHORT;
}

__device__ uint32_t pack_umi(const uint8_t *b) {
  uint32_t u = 0;
  for (int k = 0; k < UMI_LEN; ++k) u = (u << 2) | b[k];
  return u;
}

__global__ void assign_primer(Read *reads, Primer *primers, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint8_t head[PRIMER_LEN];
  for (int k = 0; k < PRIMER_LEN; ++k) head[k] = reads[i].base[UMI_LEN + k];
  int best = -1, best_mm = PRIMER_LEN;
  for (int p = 0; p < N_PRIMERS; ++p) {
    int mm = 0;
    for (int k = 0; k < PRIMER_LEN; ++k) mm += head[k] != primers[p].seq[k];
    if (mm <= primers[p].max_mm && mm < best_mm) {
      best_mm = mm;
      best = p;
    }
  }
  uint32_t umi = pack_umi(reads[i].base);
  reads[i].umi = umi;
  reads[i].amplicon = best;
  if (best < 0) {
    reads[i].flags |= F_NOPRIMER;
  } else if (!(reads[i].flags & F_SHORT)) {
    atomicAdd(&primers[best].n_reads, 1u);
    atomicAdd(&primers[best].n_bases, (unsigned long long)reads[i].clip3);
    atomicAdd(&primers[best].umi_xor_count[(umi ^ (umi >> 7)) & 3], 1u);
  }
}

// one block per slab of reads; thread = cycle, so that the atomics are few
__global__ void cycle_profile(const Read *reads, CycleStat *stats, int n, int slab) {
  int c = threadIdx.x;
  if (c >= READ_LEN) return;
  int first = blockIdx.x * slab;
  int last = min(first + slab, n);
  CycleStat s;
  s.qsum = 0;
  s.n[0] = s.n[1] = s.n[2] = s.n[3] = 0;
  s.kept = 0;
  s.low = 0;
  for (int i = first; i < last; ++i) {
    int q = reads[i].qual[c];
    int b = reads[i].base[c];
    s.qsum += q;
    s.n[0] += b == 0;
    s.n[1] += b == 1;
    s.n[2] += b == 2;
    s.n[3] += b == 3;
    s.kept += c < reads[i].clip3;
    s.low += q < 15;
  }
  atomicAdd(&stats[c].qsum, s.qsum);
  for (int k = 0; k < 4; ++k) atomicAdd(&stats[c].n[k], s.n[k]);
  atomicAdd(&stats[c].kept, s.kept);
  atomicAdd(&stats[c].low, s.low);
}

static uint64_t g_state = 0x853c49e6748fea9bULL;
static inline uint32_t rnd() {
  g_state ^= g_state << 13;
  g_state ^= g_state >> 7;
  g_state ^= g_state << 17;
  return (uint32_t)(g_state >> 32);
}

int main() {
  const int n_reads = 600000;
  const int n_iter = 10;

  uint8_t adapter[ADAPTER_LEN];
  const char *illumina = "AGATCGGAAGAGC";
  for (int k = 0; k < ADAPTER_LEN; ++k) {
    char ch = illumina[k];
    adapter[k] = ch == 'A' ? 0 : ch == 'C' ? 1 : ch == 'G' ? 2 : 3;
  }
  float perr[64], f = 1.0f;
  for (int q = 0; q < 64; ++q) { perr[q] = f; f *= 0.794328f; }

  std::vector<Primer> primers(N_PRIMERS);
  for (auto &p : primers) {
    memset(&p, 0, sizeof p);
    for (auto &b : p.seq) b = rnd() & 3;
    p.max_mm = 3;
  }
  std::vector<std::vector<uint8_t>> inserts(N_PRIMERS);
  for (auto &s : inserts) {
    s.resize(READ_LEN);
    for (auto &b : s) b = rnd() & 3;
  }

  std::vector<Read> reads(n_reads);
  for (int i = 0; i < n_reads; ++i) {
    Read &r = reads[i];
    memset(&r, 0, sizeof r);
    r.len = (rnd() % 10 == 0) ? 60 + (int)(rnd() % 41) : READ_LEN;
    uint32_t z = rnd() % (N_PRIMERS * N_PRIMERS);
    int amp = 0;                      // skewed coverage, like real panels
    while ((uint32_t)((amp + 1) * (amp + 1)) <= z) ++amp;
    bool junk = rnd() % 25 == 0;
    int insert = 30 + (int)(rnd() % 90);
    int q = 36;
    for (int c = 0; c < READ_LEN; ++c) {
      uint32_t x = rnd();
      int b;
      int in = c - UMI_LEN - PRIMER_LEN;
      if (c < UMI_LEN || junk) b = x & 3;
      else if (in < 0) b = primers[amp].seq[c - UMI_LEN];
      else if (in < insert) b = inserts[amp][in];
      else if (in < insert + ADAPTER_LEN) b = adapter[in - insert];
      else b = 0;
      if ((x >> 4) % 12 == 0 && q > 4) q -= (c > 50) ? 2 : 1;
      if ((x >> 9) % 40 == 0 && q < 36) q += 2;
      int qq = q - (int)((x >> 15) % 5);
      if (qq < 2) qq = 2;
      if ((x >> 20) % 1000 < (uint32_t)(1000.0f * perr[qq])) b = (b + 1 + (x & 1)) & 3;
      r.base[c] = c < r.len ? b : 0;
      r.qual[c] = c < r.len ? qq : 0;
    }
  }

  Read *d_reads;
  Primer *d_primers;
  CycleStat *d_stats;
  std::vector<CycleStat> stats(READ_LEN);
  memset(stats.data(), 0, stats.size() * sizeof(CycleStat));
  GPU(cudaMalloc((void **)&d_reads, n_reads * sizeof(Read)));
  GPU(cudaMalloc((void **)&d_primers, N_PRIMERS * sizeof(Primer)));
  GPU(cudaMalloc((void **)&d_stats, READ_LEN * sizeof(CycleStat)));
  GPU(cudaMemcpy(d_reads, reads.data(), n_reads * sizeof(Read), cudaMemcpyHostToDevice));
  GPU(cudaMemcpy(d_primers, primers.data(), N_PRIMERS * sizeof(Primer), cudaMemcpyHostToDevice));
  GPU(cudaMemset(d_stats, 0, READ_LEN * sizeof(CycleStat)));
  GPU(cudaMemcpyToSymbol(c_adapter, adapter, sizeof adapter));
  GPU(cudaMemcpyToSymbol(c_perr, perr, sizeof perr));

  cudaEvent_t beg, end;
  GPU(cudaEventCreate(&beg));
  GPU(cudaEventCreate(&end));
  const int tpb = 128, grid = (n_reads + tpb - 1) / tpb, slab = 512;
  for (int it = -1; it < n_iter; ++it) {
    if (it == 0) GPU(cudaEventRecord(beg));
    find_adapter<<<2112, tpb>>>(d_reads, n_reads);
    quality_trim<<<grid, tpb>>>(d_reads, n_reads, 16 + (it + 1) % 5);
    assign_primer<<<grid, tpb>>>(d_reads, d_primers, n_reads);
    cycle_profile<<<(n_reads + slab - 1) / slab, 128>>>(d_reads, d_stats, n_reads, slab);
  }
  GPU(cudaEventRecord(end));
  GPU(cudaGetLastError());
  GPU(cudaEventSynchronize(end));
  float ms;
  GPU(cudaEventElapsedTime(&ms, beg, end));

  GPU(cudaMemcpy(reads.data(), d_reads, n_reads * sizeof(Read), cudaMemcpyDeviceToHost));
  GPU(cudaMemcpy(primers.data(), d_primers, N_PRIMERS * sizeof(Primer), cudaMemcpyDeviceToHost));
  GPU(cudaMemcpy(stats.data(), d_stats, READ_LEN * sizeof(CycleStat), cudaMemcpyDeviceToHost));
  double clip = 0, ee = 0, umi = 0, with_ad = 0, noprimer = 0, assigned = 0, bases = 0, qs = 0, kept = 0, low = 0;
  for (const Read &r : reads) {
    clip += r.clip3; ee += r.exp_err; umi += r.umi;
    with_ad += (r.flags & F_ADAPTER) != 0;
    noprimer += (r.flags & F_NOPRIMER) != 0;
  }
  for (int p = 0; p < N_PRIMERS; ++p) { assigned += (p + 1.0) * primers[p].n_reads; bases += primers[p].n_bases; }
  for (const CycleStat &s : stats) { qs += s.qsum; kept += s.kept; low += s.low + 2.0 * s.n[2]; }
  printf("check clip3 %.0f\ncheck exp_err %.6e\ncheck umi %.6e\n", clip, ee, umi);
  printf("check adapter_reads %.0f\ncheck no_primer %.0f\n", with_ad, noprimer);
  printf("check assigned %.0f\ncheck bases %.0f\n", assigned, bases);
  printf("check cycle_q %.6e\ncheck cycle_kept %.0f\ncheck cycle_low %.0f\n", qs, kept, low);
  printf("time_ms %.4f\n", ms);
  cudaFree(d_reads); cudaFree(d_primers); cudaFree(d_stats);
  return 0;
}
