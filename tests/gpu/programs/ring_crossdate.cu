// Cross-dating of tree-ring samples: every sample is a series of ring widths. A warp standardises its series, then
// slides it along the regional chronologies and keeps the lag with the best correlation. Accepted samples are counted
// in the years of the chronology that they fit.
#include <cuda_runtime.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                  \
    do {                                                                                             \
        cudaError_t err_ = (call);                                                                   \
        if (err_ != cudaSuccess) {                                                                   \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(err_));            \
            exit(1);                                                                                 \
        }                                                                                            \
    } while (0)

struct Ring {
    float width;
    float latewood;
    float index;
    short year;
    unsigned char flags;
    unsigned char cells;
};

struct Series {
    int begin;
    int count;
    int guess; // first year that the collector noted, may be off by a century
    float mean;
    float deviation;
    int bestMaster;
    int bestLag;
    float bestR;
};

struct MasterYear {
    float chron;
    float weight;
    int depth;
    int replaced;
};

const int kMasters = 3;
const int kYears = 1536;
const int kWindow = 128; // lags on either side of the guess

static unsigned hash32(unsigned x) {
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    x ^= x >> 16;
    return x;
}
static float unit(unsigned x) { return (hash32(x) >> 8) * (1.0f / 16777216.0f); }

__device__ float warpSum(float v) {
    for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
    return v;
}

// Widths become indices: the ratio to a local mean of seven rings, then centred and scaled.
__global__ void standardise(Ring *rings, Series *series, int n) {
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x & 31;
    if (warp >= n) return;
    int begin = series[warp].begin, count = series[warp].count;
    float sum = 0, sq = 0;
    for (int i = lane; i < count; i += 32) {
        float local = 0;
        int used = 0;
        for (int d = -3; d <= 3; d++) {
            int j = i + d;
            if (j < 0 || j >= count) continue;
            const Ring &r = rings[begin + j];
            if (r.flags & 1) continue; // a crack in the core
            local += r.width;
            used++;
        }
        float own = rings[begin + i].width + 0.15f * rings[begin + i].latewood;
        float ratio = used ? own * used / local : 1.0f;
        rings[begin + i].index = ratio;
        sum += ratio;
        sq += ratio * ratio;
    }
    sum = warpSum(sum);
    sq = warpSum(sq);
    float mean = sum / count;
    float sd = sqrtf(fmaxf(sq / count - mean * mean, 1e-6f));
    for (int i = lane; i < count; i += 32) rings[begin + i].index = (rings[begin + i].index - mean) / sd;
    if (lane == 0) {
        series[warp].mean = mean;
        series[warp].deviation = sd;
    }
}

__global__ void crossdate(const Ring *rings, Series *series, const MasterYear *masters, int n) {
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x & 31;
    if (warp >= n) return;
    Series s = series[warp];
    float bestR = -2.0f;
    int bestCode = 0; // master * kYears + lag
    for (int m = 0; m < kMasters; m++) {
        const MasterYear *chron = masters + m * kYears;
        for (int w = lane; w < 2 * kWindow; w += 32) {
            int lag = s.guess - kWindow + w;
            if (lag < 0 || lag + s.count > kYears) continue;
            float xy = 0, yy = 0, y1 = 0, ws = 0;
            for (int t = 0; t < s.count; t++) {
                float x = rings[s.begin + t].index;
                float y = chron[lag + t].chron;
                float wt = chron[lag + t].weight;
                xy += wt * x * y;
                yy += wt * y * y;
                y1 += wt * y;
                ws += wt;
            }
            float var = yy / ws - (y1 / ws) * (y1 / ws);
            float r = var > 1e-6f ? xy / ws * rsqrtf(var) : -1.0f;
            if (r > bestR) {
                bestR = r;
                bestCode = m * kYears + lag;
            }
        }
    }
    for (int o = 16; o > 0; o >>= 1) {
        float r = __shfl_xor_sync(0xffffffffu, bestR, o);
        int c = __shfl_xor_sync(0xffffffffu, bestCode, o);
        if (r > bestR || (r == bestR && c < bestCode)) {
            bestR = r;
            bestCode = c;
        }
    }
    if (lane == 0) {
        series[warp].bestMaster = bestCode / kYears;
        series[warp].bestLag = bestCode % kYears;
        series[warp].bestR = bestR;
    }
}

__global__ void countDepth(const Series *series, MasterYear *masters, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || series[i].bestR < 0.35f) return;
    int base = series[i].bestMaster * kYears + series[i].bestLag;
    for (int t = 0; t < series[i].count; t += 8) atomicAdd(&masters[base + t].depth, 1);
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 16000;
    std::vector<MasterYear> masters(kMasters * kYears);
    for (int i = 0; i < kMasters * kYears; i++) {
        float slow = sinf(0.05f * i) * 0.3f;
        masters[i] = {slow + unit(i * 7 + 1) + unit(i * 7 + 2) - 1.0f, 0.5f + 0.5f * unit(i * 7 + 3), 0, 0};
    }
    std::vector<Series> series(n);
    std::vector<Ring> rings;
    rings.reserve((size_t)n * 128);
    for (int s = 0; s < n; s++) {
        unsigned key = 100000u + s * 13u;
        int count = 40 + hash32(key) % 160;
        int truth = hash32(key + 1) % (kYears - count);
        int master = hash32(key + 2) % kMasters;
        int guess = truth + (int)(hash32(key + 3) % 240) - 120;
        series[s] = {(int)rings.size(), count, guess, 0, 0, 0, 0, 0};
        for (int t = 0; t < count; t++) {
            unsigned k = 0x5bd1e995u * (rings.size() + 1);
            float climate = masters[master * kYears + truth + t].chron;
            Ring r;
            r.width = (2.5f - 0.008f * t) * expf(0.35f * climate + 0.5f * (unit(k) - 0.5f));
            r.latewood = r.width * (0.2f + 0.3f * unit(k + 1));
            r.index = 0;
            r.year = (short)(guess + t);
            r.flags = unit(k + 2) < 0.03f;
            r.cells = (unsigned char)(20 + hash32(k + 3) % 60);
            rings.push_back(r);
        }
    }
    Ring *dRings;
    Series *dSeries;
    MasterYear *dMasters;
    CHECK(cudaMalloc(&dRings, rings.size() * sizeof(Ring)));
    CHECK(cudaMalloc(&dSeries, n * sizeof(Series)));
    CHECK(cudaMalloc(&dMasters, masters.size() * sizeof(MasterYear)));
    CHECK(cudaMemcpy(dRings, rings.data(), rings.size() * sizeof(Ring), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(dSeries, series.data(), n * sizeof(Series), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(dMasters, masters.data(), masters.size() * sizeof(MasterYear), cudaMemcpyHostToDevice));

    cudaEvent_t start, stop;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    const int warm = 2, steps = 20;
    for (int step = 0; step < warm + steps; step++) {
        if (step == warm) CHECK(cudaEventRecord(start));
        standardise<<<(n + 7) / 8, 256>>>(dRings, dSeries, n);
        crossdate<<<(n + 3) / 4, 128>>>(dRings, dSeries, dMasters, n);
        countDepth<<<(n + 255) / 256, 256>>>(dSeries, dMasters, n);
    }
    CHECK(cudaEventRecord(stop));
    CHECK(cudaEventSynchronize(stop));
    CHECK(cudaGetLastError());
    float ms = 0;
    CHECK(cudaEventElapsedTime(&ms, start, stop));
    CHECK(cudaMemcpy(series.data(), dSeries, n * sizeof(Series), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(masters.data(), dMasters, masters.size() * sizeof(MasterYear), cudaMemcpyDeviceToHost));
    long long check = 0;
    for (int s = 0; s < n; s++) check += series[s].bestLag * 4 + series[s].bestMaster;
    for (size_t i = 0; i < masters.size(); i++) check += (long long)masters[i].depth * (1 + i % 97);
    printf("check %lld\n", check);
    printf("time_ms %.5f\n", ms / steps);
    cudaFree(dRings);
    cudaFree(dSeries);
    cudaFree(dMasters);
    return 0;
}
