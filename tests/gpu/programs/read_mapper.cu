// Maps short DNA reads to a reference: a hash table of seeds, candidate
// positions by chains, ungapped verification with 2-bit bases on both strands,
// then a coverage track.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define GPU_OK(expr) mapper::ok((expr), #expr, __LINE__)

namespace mapper {

constexpr int kReadBases = 128, kWords = kReadBases / 32;
constexpr int kSeeds = 6, kMaxChain = 24;       // seeds of 16 bases
constexpr int kBinBases = 256;
constexpr uint32_t kEmpty = 0xffffffffu;

struct SeedSlot {
    uint32_t key;
    uint32_t head;          // last indexed place with this seed; next[] has the others
    uint16_t length;
    uint16_t flags;
};

struct Read {
    unsigned long long bases[kWords];
    uint32_t id;
    int position;
    short mismatches;
    short candidates;
    unsigned char strand, mapq, lane, pass;
    float score;
};

struct CoverageBin {
    unsigned int reads;
    unsigned int mismatches;
    int bestMapq;
    unsigned int reverse;
};

inline void ok(cudaError_t e, const char *what, int line)
{
    if (e == cudaSuccess) return;
    std::fprintf(stderr, "%s at line %d: %s\n", what, line, cudaGetErrorString(e));
    std::exit(2);
}

__host__ __device__ inline uint32_t hashSeed(uint32_t k)
{
    k ^= k >> 16;
    k *= 0x7feb352du;
    k ^= k >> 15;
    k *= 0x846ca68bu;
    return k ^ (k >> 16);
}

__host__ __device__ inline unsigned long long window(const unsigned long long *genome, int pos)
{
    int w = pos >> 5, s = (pos & 31) * 2;
    unsigned long long v = genome[w] >> s;
    return s ? v | (genome[w + 1] << (64 - s)) : v;
}

__device__ inline unsigned long long reverseComplement(unsigned long long v)
{
    v = __brevll(v);
    v = ((v >> 1) & 0x5555555555555555ull) | ((v & 0x5555555555555555ull) << 1);
    return ~v;
}

__device__ inline int countMismatches(const unsigned long long (&b)[kWords], const unsigned long long *genome, int pos)
{
    int bad = 0;
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
        unsigned long long x = b[w] ^ window(genome, pos + 32 * w);
        bad += __popcll((x | (x >> 1)) & 0x5555555555555555ull);
    }
    return bad;
}

struct Best { int position, mismatches, second, strand; };

__device__ void tryStrand(const unsigned long long (&b)[kWords], int strand, const SeedSlot *table, uint32_t mask,
                          const uint32_t *next, const unsigned long long *genome, int genomeBases, Best &best,
                          int &candidates)
{
    for (int s = 0; s < kSeeds; ++s) {
        int offset = s * 19;                // odd and even offsets, as every other position is indexed
        int w = offset >> 5, sh = (offset & 31) * 2;
        unsigned long long bits = b[w] >> sh;
        if (sh > 32) bits |= b[w + 1] << (64 - sh);
        uint32_t key = (uint32_t)bits;
        uint32_t slot = hashSeed(key) & mask;
        while (table[slot].head != kEmpty && table[slot].key != key) slot = (slot + 1) & mask;
        uint32_t entry = table[slot].head;
        for (int k = 0; entry != kEmpty && k < kMaxChain; ++k) {
            int pos = 2 * (int)entry - offset;
            entry = next[entry];
            if (pos < 0 || pos + kReadBases > genomeBases || pos == best.position) continue;
            ++candidates;
            int bad = countMismatches(b, genome, pos);
            if (bad < best.mismatches) {
                best.second = best.mismatches;
                best.mismatches = bad;
                best.position = pos;
                best.strand = strand;
            } else if (bad < best.second) {
                best.second = bad;
            }
        }
    }
}

__global__ void mapReads(Read *reads, int n, const SeedSlot *table, uint32_t mask, const uint32_t *next,
                         const unsigned long long *genome, int genomeBases, int maxMismatches)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long fwd[kWords], rev[kWords];
    for (int w = 0; w < kWords; ++w) {
        fwd[w] = reads[i].bases[w];
        rev[kWords - 1 - w] = reverseComplement(fwd[w]);
    }

    Best best = {-1, kReadBases, kReadBases, 0};
    int candidates = 0;
    tryStrand(fwd, 0, table, mask, next, genome, genomeBases, best, candidates);
    if (best.mismatches > 2) tryStrand(rev, 1, table, mask, next, genome, genomeBases, best, candidates);

    Read &r = reads[i];
    r.candidates = (short)candidates;
    if (best.position < 0 || best.mismatches > maxMismatches) {
        r.position = -1;
        r.mapq = 0;
        return;
    }
    int gap = best.second - best.mismatches;
    r.position = best.position;
    r.mismatches = (short)best.mismatches;
    r.strand = (unsigned char)best.strand;
    r.mapq = (unsigned char)(gap > 20 ? 60 : gap * 3);
    r.score = (float)(kReadBases - 2 * best.mismatches) / kReadBases;
    r.pass += 1;
}

__global__ void coverage(const Read *reads, int n, CoverageBin *bins, int minMapq)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int pos = reads[i].position;
        if (pos < 0 || reads[i].mapq < minMapq) continue;
        CoverageBin *bin = &bins[pos / kBinBases];
        atomicAdd(&bin->reads, 1u);
        atomicAdd(&bin->mismatches, (unsigned)reads[i].mismatches);
        atomicMax(&bin->bestMapq, (int)reads[i].mapq);
        if (reads[i].strand) atomicAdd(&bin->reverse, 1u);
    }
}

} // namespace mapper

int main(int argc, char **argv)
{
    using namespace mapper;
    int n = argc > 1 ? std::atoi(argv[1]) : 1500000;
    int genomeBases = 4 << 20;
    uint64_t state = 0x9e3779b97f4a7c15ull;
    auto random = [&state]() {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        return state ^ (state >> 29);
    };

    std::vector<unsigned long long> genome(genomeBases / 32 + 1);
    for (auto &w : genome) w = random();
    for (int r = 0; r < 60; ++r) {                     // repeats
        size_t from = random() % (genome.size() - 400), to = random() % (genome.size() - 400);
        for (int k = 0; k < 300; ++k) genome[to + k] = genome[from + k];
    }

    uint32_t slots = 1u << 22;
    std::vector<SeedSlot> table(slots, SeedSlot{0, kEmpty, 0, 0});
    std::vector<uint32_t> chain(genomeBases / 2, kEmpty);
    for (int pos = 0; pos + 32 <= genomeBases; pos += 2) {
        uint32_t key = (uint32_t)window(genome.data(), pos);
        uint32_t s = hashSeed(key) & (slots - 1);
        while (table[s].head != kEmpty && table[s].key != key) s = (s + 1) & (slots - 1);
        chain[pos / 2] = table[s].head;
        table[s].key = key;
        table[s].head = (uint32_t)pos / 2;
        table[s].length++;
    }

    std::vector<Read> reads(n);
    for (int i = 0; i < n; ++i) {
        Read r = {};
        uint64_t a = random();
        int pos = (int)((a >> 8) % (uint64_t)(genomeBases - kReadBases));
        for (int w = 0; w < kWords; ++w) r.bases[w] = window(genome.data(), pos + 32 * w);
        for (int e = (int)(a & 7); e > 0; --e) {       // sequencing errors
            uint64_t b = random();
            r.bases[(b >> 3) % kWords] ^= (1 + (b >> 40) % 3) << (2 * ((b >> 8) % 32));
        }
        if (a & 0x80) {                                // from the other strand
            const Read f = r;
            for (int w = 0; w < kWords; ++w) {
                unsigned long long v = ~f.bases[kWords - 1 - w], t = 0;
                for (int k = 0; k < 32; ++k, v >>= 2) t = (t << 2) | (v & 3);
                r.bases[w] = t;
            }
        }
        r.id = (uint32_t)i;
        r.lane = (unsigned char)(i % 8);
        reads[i] = r;
    }

    int binCount = genomeBases / kBinBases;
    Read *dReads;
    SeedSlot *dTable;
    uint32_t *dChain;
    unsigned long long *dGenome;
    CoverageBin *dBins;
    GPU_OK(cudaMalloc(&dReads, reads.size() * sizeof(Read)));
    GPU_OK(cudaMalloc(&dTable, table.size() * sizeof(SeedSlot)));
    GPU_OK(cudaMalloc(&dChain, chain.size() * sizeof(uint32_t)));
    GPU_OK(cudaMalloc(&dGenome, genome.size() * sizeof(genome[0])));
    GPU_OK(cudaMalloc(&dBins, binCount * sizeof(CoverageBin)));
    GPU_OK(cudaMemcpy(dReads, reads.data(), reads.size() * sizeof(Read), cudaMemcpyHostToDevice));
    GPU_OK(cudaMemcpy(dTable, table.data(), table.size() * sizeof(SeedSlot), cudaMemcpyHostToDevice));
    GPU_OK(cudaMemcpy(dChain, chain.data(), chain.size() * sizeof(uint32_t), cudaMemcpyHostToDevice));
    GPU_OK(cudaMemcpy(dGenome, genome.data(), genome.size() * sizeof(genome[0]), cudaMemcpyHostToDevice));
    GPU_OK(cudaMemset(dBins, 0, binCount * sizeof(CoverageBin)));

    const int steps = 24;
    cudaEvent_t t0, t1;
    for (cudaEvent_t *e : {&t0, &t1}) GPU_OK(cudaEventCreate(e));
    for (int s = -1; s < steps; ++s) {
        if (s == 0) GPU_OK(cudaEventRecord(t0));
        mapReads<<<(n + 127) / 128, 128>>>(dReads, n, dTable, slots - 1, dChain, dGenome, genomeBases, 8 - s % 4);
        coverage<<<528, 256>>>(dReads, n, dBins, 10);
    }
    GPU_OK(cudaEventRecord(t1));
    GPU_OK(cudaEventSynchronize(t1));
    GPU_OK(cudaGetLastError());
    float ms = 0;
    GPU_OK(cudaEventElapsedTime(&ms, t0, t1));
    std::vector<CoverageBin> bins(binCount);
    GPU_OK(cudaMemcpy(reads.data(), dReads, reads.size() * sizeof(Read), cudaMemcpyDeviceToHost));
    GPU_OK(cudaMemcpy(bins.data(), dBins, binCount * sizeof(CoverageBin), cudaMemcpyDeviceToHost));
    uint64_t check = 0;
    for (const Read &r : reads)
        check = check * 1099511628211ull + (uint64_t)(r.position + 1) + 17 * r.mapq + 3 * r.mismatches + r.candidates +
                r.pass + r.strand;
    for (const CoverageBin &b : bins) check = check * 31 + b.reads + 5ull * b.mismatches + b.bestMapq + 7ull * b.reverse;
    std::printf("time_ms %.5f\n", ms / steps);
    std::printf("check %llu\n", (unsigned long long)check);
    for (void *p : {(void *)dReads, (void *)dTable, (void *)dChain, (void *)dGenome, (void *)dBins}) GPU_OK(cudaFree(p));
    return 0;
}
