// Statistical-arbitrage pair scan: correlation matrix on log prices, screening,
// and a simple z-score mean-reversion backtest on every selected pair.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>

#define CUDA_CHECK(call)                                                          \
    do {                                                                          \
        cudaError_t err_ = (call);                                                \
        if (err_ != cudaSuccess) {                                                \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__,                    \
                    cudaGetErrorString(err_));                                    \
            exit(EXIT_FAILURE);                                                   \
        }                                                                         \
    } while (0)

struct Bar {
    float open, high, low, close;
    int volume;
    unsigned int ts;
};

struct Instrument {
    int id;
    short sector;
    short lotSize;
    double lastPrice;
    float logMean;
    float logStd;
    float avgVolume;
    unsigned char active;
    unsigned char halted;
};

struct PairStat {
    int a, b;
    float corr;
    float beta;
    float alpha;
    float residStd;
    float pnl;
    int trades;
    int barsHeld;
    short state;
    unsigned char sameSector;
    unsigned char selected;
};

static const int kSectors = 16;
static const int TILE = 16;

__global__ void instrumentStats(const Bar* __restrict__ bars, Instrument* inst, int T)
{
    __shared__ double sSum[256], sSq[256], sVol[256];
    const Bar* my = bars + (size_t)blockIdx.x * T;
    double sum = 0, sq = 0, vol = 0;
    for (int t = threadIdx.x; t < T; t += blockDim.x) {
        float l = logf(my[t].close);
        sum += l;
        sq += (double)l * l;
        vol += my[t].volume;
    }
    sSum[threadIdx.x] = sum;
    sSq[threadIdx.x] = sq;
    sVol[threadIdx.x] = vol;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) {
            sSum[threadIdx.x] += sSum[threadIdx.x + s];
            sSq[threadIdx.x] += sSq[threadIdx.x + s];
            sVol[threadIdx.x] += sVol[threadIdx.x + s];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        Instrument& me = inst[blockIdx.x];
        double mean = sSum[0] / T;
        double var = sSq[0] / T - mean * mean;
        me.logMean = (float)mean;
        me.logStd = (float)sqrt(var > 1e-12 ? var : 1e-12);
        me.avgVolume = (float)(sVol[0] / T);
        me.lastPrice = my[T - 1].close;
        me.active = me.avgVolume > 3000.f && !me.halted;
    }
}

__host__ __device__ inline int pairIndex(int i, int j, int n)   // i < j
{
    return i * n - i * (i + 1) / 2 + (j - i - 1);
}

// tile of the upper triangle of the correlation matrix
__global__ void __launch_bounds__(TILE * TILE)
correlationTiles(const Bar* __restrict__ bars, const Instrument* __restrict__ inst,
                 PairStat* __restrict__ pairs, int n, int T)
{
    if (blockIdx.x < blockIdx.y) return;
    __shared__ float A[TILE][TILE + 1];
    __shared__ float B[TILE][TILE + 1];

    const int row0 = blockIdx.y * TILE, col0 = blockIdx.x * TILE;
    const int tx = threadIdx.x, ty = threadIdx.y;
    const Instrument ra = inst[row0 + ty];
    const Instrument rb = inst[col0 + ty];
    const float invA = 1.0f / ra.logStd, invB = 1.0f / rb.logStd;

    float acc = 0.f;
    for (int t0 = 0; t0 < T; t0 += TILE) {
        A[ty][tx] = (logf(bars[(size_t)(row0 + ty) * T + t0 + tx].close) - ra.logMean) * invA;
        B[ty][tx] = (logf(bars[(size_t)(col0 + ty) * T + t0 + tx].close) - rb.logMean) * invB;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE; ++k) acc += A[ty][k] * B[tx][k];
        __syncthreads();
    }
    const int i = row0 + ty, j = col0 + tx;
    if (i < j && j < n) {
        PairStat p;
        p.a = i;
        p.b = j;
        p.corr = acc / T;
        p.beta = p.corr * inst[i].logStd / inst[j].logStd;
        p.alpha = inst[i].logMean - p.beta * inst[j].logMean;
        float r2 = 1.f - p.corr * p.corr;
        p.residStd = inst[i].logStd * sqrtf(r2 > 0.f ? r2 : 0.f);
        p.pnl = 0.f;
        p.trades = 0;
        p.barsHeld = 0;
        p.state = 0;
        p.sameSector = inst[i].sector == inst[j].sector;
        p.selected = 0;
        pairs[pairIndex(i, j, n)] = p;
    }
}

__global__ void screenPairs(PairStat* pairs, const Instrument* inst, int numPairs,
                            float minCorr, int* list, int* listCount)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= numPairs) return;
    float need = pairs[k].sameSector ? minCorr : minCorr + 0.06f;
    if (pairs[k].corr < need) return;
    if (!inst[pairs[k].a].active || !inst[pairs[k].b].active) return;
    pairs[k].selected = 1;
    list[atomicAdd(listCount, 1)] = k;
}

__global__ void backtest(PairStat* pairs, const Bar* __restrict__ bars, int T,
                         const int* __restrict__ list, const int* __restrict__ listCount,
                         float enterZ, float exitZ)
{
    const int count = *listCount;
    for (int s = blockIdx.x * blockDim.x + threadIdx.x; s < count; s += gridDim.x * blockDim.x) {
        PairStat* p = &pairs[list[s]];
        const Bar* ba = bars + (size_t)p->a * T;
        const Bar* bb = bars + (size_t)p->b * T;
        const float inv = 1.f / (p->residStd + 1e-6f);
        float entry = 0.f, pnl = 0.f;
        int pos = 0, trades = 0, held = 0;
        for (int t = 0; t < T; ++t) {
            float spread = logf(ba[t].close) - p->beta * logf(bb[t].close) - p->alpha;
            float z = spread * inv;
            if (pos == 0) {
                if (z > enterZ) { pos = -1; entry = spread; ++trades; }
                else if (z < -enterZ) { pos = 1; entry = spread; ++trades; }
            } else {
                ++held;
                bool stop = (ba[t].high - ba[t].low) > 0.08f * ba[t].close;
                if (fabsf(z) < exitZ || stop) {
                    pnl += pos * (spread - entry) - 0.0004f;
                    pos = 0;
                }
            }
        }
        p->pnl = pnl;
        p->trades = trades;
        p->barsHeld = held;
        p->state = (short)pos;
    }
}

__global__ void sectorTurnover(const PairStat* __restrict__ pairs, const Instrument* __restrict__ inst,
                               int numPairs, int* sectorTrades)
{
    __shared__ int bins[kSectors];
    if (threadIdx.x < kSectors) bins[threadIdx.x] = 0;
    __syncthreads();
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < numPairs; k += gridDim.x * blockDim.x) {
        if (pairs[k].selected && pairs[k].trades > 0)
            atomicAdd(&bins[inst[pairs[k].a].sector], pairs[k].trades);
    }
    __syncthreads();
    if (threadIdx.x < kSectors) atomicAdd(&sectorTrades[threadIdx.x], bins[threadIdx.x]);
}

int main(int argc, char** argv)
{
    const int n = 1024;                       // multiple of TILE
    const int T = argc > 1 ? std::max(TILE, atoi(argv[1]) / TILE * TILE) : 1024;
    const int numPairs = n * (n - 1) / 2;

    unsigned seed = 20240611u;
    auto rnd = [&seed]() { seed = seed * 1664525u + 1013904223u; return (seed >> 8) * (1.0f / 16777216.0f); };

    std::vector<float> factor((size_t)kSectors * T);
    for (int s = 0; s < kSectors; ++s) {
        float x = 0;
        for (int t = 0; t < T; ++t) { x += 0.02f * (rnd() - 0.5f); factor[(size_t)s * T + t] = x; }
    }
    std::vector<Instrument> inst(n);
    std::vector<Bar> bars((size_t)n * T);
    for (int i = 0; i < n; ++i) {
        Instrument& in = inst[i];
        in = Instrument{};
        in.id = 100000 + i;
        in.sector = (short)(rnd() * kSectors);
        in.lotSize = 100;
        in.halted = rnd() < 0.02f;
        float base = 2.f + 3.f * rnd(), load = 0.4f + 1.2f * rnd(), idio = 0.f, vol = 2000.f + 20000.f * rnd();
        for (int t = 0; t < T; ++t) {
            idio = 0.97f * idio + 0.01f * (rnd() - 0.5f);
            Bar& b = bars[(size_t)i * T + t];
            b.close = expf(base + load * factor[(size_t)in.sector * T + t] + idio);
            b.open = b.close * (1.f + 0.004f * (rnd() - 0.5f));
            b.high = std::max(b.open, b.close) * (1.f + 0.045f * rnd());
            b.low = std::min(b.open, b.close) * (1.f - 0.045f * rnd());
            b.volume = (int)(vol * (0.5f + rnd()));
            b.ts = 1700000000u + 60u * t;
        }
    }

    Bar* dBars; Instrument* dInst; PairStat* dPairs; int *dList, *dCount, *dSector;
    CUDA_CHECK(cudaMalloc(&dBars, bars.size() * sizeof(Bar)));
    CUDA_CHECK(cudaMalloc(&dInst, n * sizeof(Instrument)));
    CUDA_CHECK(cudaMalloc(&dPairs, (size_t)numPairs * sizeof(PairStat)));
    CUDA_CHECK(cudaMalloc(&dList, numPairs * sizeof(int)));
    CUDA_CHECK(cudaMalloc(&dCount, sizeof(int)));
    CUDA_CHECK(cudaMalloc(&dSector, kSectors * sizeof(int)));
    CUDA_CHECK(cudaMemcpy(dBars, bars.data(), bars.size() * sizeof(Bar), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(dInst, inst.data(), n * sizeof(Instrument), cudaMemcpyHostToDevice));

    auto scan = [&]() {
        CUDA_CHECK(cudaMemsetAsync(dCount, 0, sizeof(int)));
        CUDA_CHECK(cudaMemsetAsync(dSector, 0, kSectors * sizeof(int)));
        instrumentStats<<<n, 256>>>(dBars, dInst, T);
        correlationTiles<<<dim3(n / TILE, n / TILE), dim3(TILE, TILE)>>>(dBars, dInst, dPairs, n, T);
        screenPairs<<<(numPairs + 255) / 256, 256>>>(dPairs, dInst, numPairs, 0.82f, dList, dCount);
        backtest<<<1056, 128>>>(dPairs, dBars, T, dList, dCount, 1.8f, 0.3f);
        sectorTurnover<<<528, 256>>>(dPairs, dInst, numPairs, dSector);
        CUDA_CHECK(cudaGetLastError());
    };

    scan();
    CUDA_CHECK(cudaDeviceSynchronize());
    cudaEvent_t e0, e1;
    CUDA_CHECK(cudaEventCreate(&e0));
    CUDA_CHECK(cudaEventCreate(&e1));
    CUDA_CHECK(cudaEventRecord(e0));
    for (int it = 0; it < 10; ++it) scan();
    CUDA_CHECK(cudaEventRecord(e1));
    CUDA_CHECK(cudaEventSynchronize(e1));
    float ms = 0;
    CUDA_CHECK(cudaEventElapsedTime(&ms, e0, e1));

    std::vector<PairStat> pairs(numPairs);
    int count = 0, sector[kSectors];
    CUDA_CHECK(cudaMemcpy(pairs.data(), dPairs, (size_t)numPairs * sizeof(PairStat), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(inst.data(), dInst, n * sizeof(Instrument), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(&count, dCount, sizeof(int), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(sector, dSector, sizeof(sector), cudaMemcpyDeviceToHost));
    double corr = 0, pnl = 0, last = 0;
    long long trades = 0, turnover = 0;
    for (const PairStat& p : pairs) {
        corr += fabs(p.corr);
        if (p.selected) { pnl += p.pnl; trades += p.trades; }
    }
    for (const Instrument& in : inst) last += in.lastPrice;
    for (int s = 0; s < kSectors; ++s) turnover += (long long)sector[s] * (s + 1);
    printf("check selected %d\n", count);
    printf("check abs_corr %.6g\n", corr);
    printf("check pnl %.6g\n", pnl);
    printf("check trades %lld\n", trades);
    printf("check turnover %lld\n", turnover);
    printf("check last_price %.6g\n", last);
    printf("time_ms %.4f\n", ms);

    cudaFree(dBars); cudaFree(dInst); cudaFree(dPairs);
    cudaFree(dList); cudaFree(dCount); cudaFree(dSector);
    return 0;
}
