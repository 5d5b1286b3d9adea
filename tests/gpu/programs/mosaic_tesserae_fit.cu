// Restoring a mosaic: a warp looks through the loose stones that might fill a gap; gaps that want the same stone bid.
#include <climits>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

typedef unsigned long long u64;

struct Colour {
    float hue, sat, val;
};

struct Tessera {
    float edge[6];
    Colour colour;
    float area;
    u64 bid;
    int crate;
    unsigned char material;
    unsigned char chipped;
};

struct Gap {
    float edge[6];
    Colour wanted;
    int firstCandidate;
    int candidates;
    int best;
    float score;
    int turn;
    int filled;
};

#define CHECK(c)                                                                  \
    {                                                                             \
        cudaError_t err = (c);                                                    \
        if (err != cudaSuccess) {                                                 \
            printf("error %s in line %d\n", cudaGetErrorString(err), __LINE__);   \
            exit(1);                                                              \
        }                                                                         \
    }

__device__ float colourDistance(Colour a, Colour b)
{
    float dh = fabsf(a.hue - b.hue);
    dh = fminf(dh, 1.0f - dh);
    float ds = a.sat - b.sat, dv = a.val - b.val;
    return 4.0f * dh * dh + ds * ds + dv * dv;
}

__device__ float edgeMisfit(const float *want, const float *have, int turn)
{
    float m = 0.0f;
    for (int k = 0; k < 6; k++) {
        int j = k + turn;
        if (j >= 6)
            j -= 6;
        float d = want[k] - have[j];
        m += d * d;
    }
    return m;
}

__global__ void matchGaps(Gap *gaps, int nGaps, const Tessera *stones, const int *lists)
{
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x & 31;
    if (warp >= nGaps || gaps[warp].filled)
        return;
    const Gap &gap = gaps[warp];
    int begin = gap.firstCandidate, end = begin + gap.candidates;
    float bestScore = 1e30f;
    int best = INT_MAX;
    for (int k = begin + lane; k < end; k += 32) {
        int s = lists[k];
        const Tessera &stone = stones[s];
        if (stone.bid != 0)
            continue;
        float score = colourDistance(gap.wanted, stone.colour);
        if (score >= bestScore)
            continue;
        score += edgeMisfit(gap.edge, stone.edge, gap.turn) + 0.05f * stone.chipped;
        if (score < bestScore || (score == bestScore && s < best)) {
            bestScore = score;
            best = s;
        }
    }
    for (int o = 16; o > 0; o >>= 1) {
        float otherScore = __shfl_down_sync(0xffffffffu, bestScore, o);
        int other = __shfl_down_sync(0xffffffffu, best, o);
        if (otherScore < bestScore || (otherScore == bestScore && other < best)) {
            bestScore = otherScore;
            best = other;
        }
    }
    if (lane == 0) {
        gaps[warp].best = best == INT_MAX ? -1 : best;
        gaps[warp].score = bestScore;
    }
}

__global__ void placeBids(const Gap *gaps, int nGaps, Tessera *stones)
{
    int g = blockIdx.x * blockDim.x + threadIdx.x;
    if (g >= nGaps || gaps[g].filled || gaps[g].best < 0)
        return;
    float worth = 1e6f / (1.0f + gaps[g].score);
    u64 bid = ((u64)(unsigned)worth + 1) << 32 | (unsigned)g;
    atomicMax(&stones[gaps[g].best].bid, bid);
}

__global__ void settle(Gap *gaps, int nGaps, const Tessera *stones, int *placed)
{
    int g = blockIdx.x * blockDim.x + threadIdx.x;
    if (g >= nGaps)
        return;
    Gap *gap = gaps + g;
    if (gap->filled)
        return;
    if (gap->best >= 0 && (unsigned)stones[gap->best].bid == (unsigned)g && gap->score < 0.9f + 0.1f * gap->turn) {
        gap->filled = 1;
        atomicAdd(placed, 1);
    } else {
        gap->turn = (gap->turn + 1) % 6;
    }
}

// stones whose winner did not take them, go back into the crate; most gaps are opened again
__global__ void release(Tessera *stones, int nStones, Gap *gaps, int round)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= nStones || stones[s].bid == 0)
        return;
    unsigned g = (unsigned)stones[s].bid;
    if (!gaps[g].filled)
        stones[s].bid = 0;
    else if (gaps[g].best == s && (s + round) % 4 != 0) {
        gaps[g].filled = 0;
        stones[s].bid = 0;
    }
}

static unsigned hash3(unsigned a, unsigned b, unsigned c)
{
    unsigned h = a * 0x8da6b343u + b * 0xd8163841u + c * 0xcb1ab31fu;
    h ^= h >> 13;
    h *= 0x5bd1e995u;
    h ^= h >> 15;
    return h;
}
static float unit(unsigned a, unsigned b, unsigned c) { return (hash3(a, b, c) & 0xfffff) / 1048576.0f; }

int main(int argc, char **argv)
{
    int nStones = argc > 1 ? atoi(argv[1]) : 240000;
    int nGaps = nStones / 8 + 1;
    std::vector<Tessera> stones(nStones);
    for (int i = 0; i < nStones; i++) {
        for (int k = 0; k < 6; k++)
            stones[i].edge[k] = unit(i, k, 1);
        stones[i].colour.hue = unit(i, 6, 1);
        stones[i].colour.sat = unit(i, 7, 1);
        stones[i].colour.val = unit(i, 8, 1);
        stones[i].area = 0.5f + unit(i, 9, 1);
        stones[i].bid = 0;
        stones[i].crate = i / 400;
        stones[i].material = hash3(i, 10, 1) % 5;
        stones[i].chipped = hash3(i, 11, 1) % 3;
    }
    std::vector<Gap> gaps;
    std::vector<int> lists;
    gaps.reserve(nGaps);
    for (int g = 0; g < nGaps; g++) {
        Gap gap;
        for (int k = 0; k < 6; k++)
            gap.edge[k] = unit(g, k, 2);
        gap.wanted = Colour{unit(g, 6, 2), unit(g, 7, 2), unit(g, 8, 2)};
        gap.firstCandidate = (int)lists.size();
        gap.candidates = 100 + hash3(g, 9, 2) % 200;
        for (int c = 0; c < gap.candidates; c++)
            lists.push_back(hash3(g, c, 3) % nStones);
        gap.best = -1;
        gap.score = 0;
        gap.turn = 0;
        gap.filled = 0;
        gaps.push_back(gap);
    }
    Tessera *dStones;
    Gap *dGaps;
    int *dLists, *dPlaced;
    CHECK(cudaMalloc((void **)&dStones, nStones * sizeof(Tessera)));
    CHECK(cudaMalloc((void **)&dGaps, nGaps * sizeof(Gap)));
    CHECK(cudaMalloc((void **)&dLists, lists.size() * sizeof(int)));
    CHECK(cudaMalloc((void **)&dPlaced, sizeof(int)));
    CHECK(cudaMemcpy(dStones, stones.data(), nStones * sizeof(Tessera), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(dGaps, gaps.data(), nGaps * sizeof(Gap), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(dLists, lists.data(), lists.size() * sizeof(int), cudaMemcpyHostToDevice));
    CHECK(cudaMemset(dPlaced, 0, sizeof(int)));
    cudaEvent_t start, stop;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    const int rounds = 40;
    for (int r = 0; r < rounds + 3; r++) {
        if (r == 3)
            CHECK(cudaEventRecord(start));
        for (int half = 0; half < 2; half++) {      // mornings and afternoons
            matchGaps<<<(nGaps + 7) / 8, 256>>>(dGaps, nGaps, dStones, dLists);
            placeBids<<<(nGaps + 255) / 256, 256>>>(dGaps, nGaps, dStones);
            settle<<<(nGaps + 255) / 256, 256>>>(dGaps, nGaps, dStones, dPlaced);
            release<<<(nStones + 255) / 256, 256>>>(dStones, nStones, dGaps, 2 * r + half);
        }
    }
    CHECK(cudaEventRecord(stop));
    CHECK(cudaEventSynchronize(stop));
    float ms;
    CHECK(cudaEventElapsedTime(&ms, start, stop));
    int placed;
    CHECK(cudaMemcpy(&placed, dPlaced, sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(gaps.data(), dGaps, nGaps * sizeof(Gap), cudaMemcpyDeviceToHost));
    long long sum = placed;
    for (int g = 0; g < nGaps; g++)
        sum += (long long)(gaps[g].best + 2) * (gaps[g].filled + 1) + gaps[g].turn;
    printf("check %lld\n", sum);
    printf("time_ms %.5f\n", ms / rounds);
    return 0;
}
