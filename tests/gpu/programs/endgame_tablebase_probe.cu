// Probing a sorted endgame table: positions are looked up by key with a
// binary search, then the best line is followed from entry to entry.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

namespace egtb {

struct Entry {
    uint64_t key;
    uint32_t next;      // index of the entry after the best move
    int16_t  dtm;       // plies to mate
    uint8_t  wdl;       // 0 loss, 1 draw, 2 win
    uint8_t  flags;
};

struct Probe {
    uint64_t key;
    int32_t  found;     // index or -1
    int16_t  score;
    uint8_t  depth;
    uint8_t  side;
    uint32_t nodes;
    uint32_t id;
};

constexpr uint32_t kEntries = 6u << 20;
constexpr uint32_t kProbes = 2u << 20;
constexpr int kDtmBuckets = 128;

__host__ __device__ inline uint64_t mix(uint64_t z)
{
    z += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

__device__ int locate(const Entry* table, uint32_t n, uint64_t key, uint32_t* steps)
{
    uint32_t lo = 0, hi = n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        uint64_t k = table[mid].key;
        ++*steps;
        if (k < key)
            lo = mid + 1;
        else
            hi = mid;
    }
    return (lo < n && table[lo].key == key) ? int(lo) : -1;
}

__global__ void lookup(const Entry* table, uint32_t n, Probe* probes, uint32_t m)
{
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m) return;
    uint32_t steps = 0;
    probes[i].found = locate(table, n, probes[i].key, &steps);
    probes[i].nodes = steps;
}

__global__ void followLine(const Entry* table, Probe* probes, uint32_t m)
{
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m) return;
    Probe p = probes[i];
    if (p.found < 0) return;
    uint32_t at = uint32_t(p.found);
    int score = 0;
    int sign = p.side ? -1 : 1;
    for (int ply = 0; ply < p.depth; ++ply) {
        Entry e = table[at];
        if (e.wdl == 1) {
            score += e.flags & 3;
            break;
        }
        score += sign * (e.wdl == 2 ? 200 - e.dtm : e.dtm - 200);
        if (e.flags & 0x80) break;
        sign = -sign;
        at = e.next;
    }
    probes[i].score = int16_t(max(-30000, min(30000, score)));
}

__global__ void dtmHistogram(const Entry* table, uint32_t n, unsigned int* hist)
{
    __shared__ unsigned int bins[3 * kDtmBuckets];
    for (int k = threadIdx.x; k < 3 * kDtmBuckets; k += blockDim.x) bins[k] = 0;
    __syncthreads();
    const uint32_t stride = gridDim.x * blockDim.x;
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        int b = min(int(table[i].dtm), kDtmBuckets - 1);
        atomicAdd(&bins[table[i].wdl * kDtmBuckets + b], 1u);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < 3 * kDtmBuckets; k += blockDim.x)
        if (bins[k]) atomicAdd(&hist[k], bins[k]);
}

}  // namespace egtb

using namespace egtb;

static void must(cudaError_t e)
{
    if (e == cudaSuccess) return;
    std::fprintf(stderr, "cuda: %s\n", cudaGetErrorString(e));
    std::abort();
}

int main()
{
    // keys grow by pseudo-random gaps, so that the table is sorted as built
    std::vector<Entry> table(kEntries);
    uint64_t key = 1000;
    for (uint32_t i = 0; i < kEntries; ++i) {
        uint64_t r = mix(i);
        key += 1 + (r & 0xffff);
        Entry& e = table[i];
        e.key = key;
        e.next = uint32_t((r >> 16) % kEntries);
        e.dtm = int16_t((r >> 40) % 120);
        uint32_t w = uint32_t(r >> 56) % 10;
        e.wdl = w < 4 ? 2 : (w < 8 ? 0 : 1);
        e.flags = uint8_t((r >> 48) & 0x7f);
        if ((r >> 33) % 12 == 0) e.flags |= 0x80;
    }
    std::vector<Probe> probes(kProbes);
    for (uint32_t i = 0; i < kProbes; ++i) {
        uint64_t r = mix(0xabcdef00ull + i);
        Probe& p = probes[i];
        p.key = table[r % kEntries].key + ((r >> 60) == 0 ? 1 : 0);
        p.found = -1;
        p.score = 0;
        p.depth = uint8_t(4 + (r >> 32) % 8);
        p.side = (r >> 50) & 1;
        p.nodes = 0;
        p.id = i;
    }

    Entry* dTable;
    Probe* dProbes;
    unsigned int* dHist;
    const size_t histBytes = 3 * kDtmBuckets * sizeof(unsigned int);
    must(cudaMalloc(&dTable, table.size() * sizeof(Entry)));
    must(cudaMalloc(&dProbes, probes.size() * sizeof(Probe)));
    must(cudaMalloc(&dHist, histBytes));
    must(cudaMemcpy(dTable, table.data(), table.size() * sizeof(Entry), cudaMemcpyHostToDevice));
    must(cudaMemcpy(dProbes, probes.data(), probes.size() * sizeof(Probe), cudaMemcpyHostToDevice));
    must(cudaMemset(dHist, 0, histBytes));

    const int tb = 256;
    const int grid = (kProbes + tb - 1) / tb;
    const int rounds = 60;
    cudaEvent_t from, to;
    must(cudaEventCreate(&from));
    must(cudaEventCreate(&to));
    auto round = [&] {
        lookup<<<grid, tb>>>(dTable, kEntries, dProbes, kProbes);
        followLine<<<grid, tb>>>(dTable, dProbes, kProbes);
        dtmHistogram<<<528, tb>>>(dTable, kEntries, dHist);
    };
    round();
    round();
    must(cudaEventRecord(from));
    for (int r = 0; r < rounds; ++r) round();
    must(cudaEventRecord(to));
    must(cudaEventSynchronize(to));
    must(cudaGetLastError());
    float ms = 0;
    must(cudaEventElapsedTime(&ms, from, to));

    must(cudaMemcpy(probes.data(), dProbes, probes.size() * sizeof(Probe), cudaMemcpyDeviceToHost));
    std::vector<unsigned int> hist(3 * kDtmBuckets);
    must(cudaMemcpy(hist.data(), dHist, histBytes, cudaMemcpyDeviceToHost));
    long long hits = 0, nodes = 0, score = 0, hsum = 0, places = 0;
    for (const Probe& p : probes) {
        hits += p.found >= 0;
        places += p.found;
        nodes += p.nodes;
        score += p.score;
    }
    for (int k = 0; k < 3 * kDtmBuckets; ++k) hsum += (long long)hist[k] * (k + 1);
    std::printf("check hits %lld\n", hits);
    std::printf("check places %lld\n", places);
    std::printf("check nodes %lld\n", nodes);
    std::printf("check score %lld\n", score);
    std::printf("check histogram %lld\n", hsum);
    std::printf("time_ms %.5f\n", ms / rounds);
    must(cudaFree(dTable));
    must(cudaFree(dProbes));
    must(cudaFree(dHist));
    return 0;
}
