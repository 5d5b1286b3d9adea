// One-year credit portfolio loss by Monte Carlo (multi-factor Gaussian threshold
// model), loss histogram, expected-shortfall contributions, rating drift.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>
#include <cuda_runtime.h>

constexpr int FACTORS = 8;
constexpr int SECTORS = 40;
constexpr int OBLIGORS = 120000;
constexpr int SCENARIOS = 1024;
constexpr int BUCKETS = 256;

typedef unsigned int uint;

struct Obligor {
    double exposure;
    double esContribution;    // running sum over tail scenarios
    float pd;
    float threshold;          // normal quantile of pd
    float lgdMean, lgdVol;
    float loading;            // systematic share (correlation root)
    float idio;               // sqrt(1 - loading^2)
    int sector;
    int counterpartyId;
    int defaults;             // over all scenarios simulated
    int tailDefaults;
    short rating;             // 0 AAA .. 7 CCC
    short maturityMonths;
    unsigned char country;
    unsigned char seniority;
    unsigned char guaranteed;
    unsigned char watchlist;
};

struct Sector {
    float weight[FACTORS];
    float cyclicality;
    float lgdAddOn;
    double loss;
    int defaults;
    int members;
};

struct Scenario {
    double loss;
    float z[FACTORS];
    float recoveryShock;
    uint seed;
    int defaults;
    unsigned char tail;
    unsigned char antithetic;
};

struct Bucket {
    int hits;
    int tail;
    double lossSum;
};

inline void must(cudaError_t rc, const char* where)
{
    if (rc == cudaSuccess) return;
    fprintf(stderr, "%s: %s\n", where, cudaGetErrorString(rc));
    exit(1);
}

__device__ inline uint hash2(uint a, uint b)
{
    uint h = a ^ (b * 0x9E3779B1u);
    h ^= h >> 16; h *= 0x7feb352du;
    h ^= h >> 15; h *= 0x846ca68bu;
    h ^= h >> 16;
    return h;
}

__device__ inline float toUnit(uint h) { return ((h >> 8) + 0.5f) * (1.0f / 16777216.0f); }

__device__ inline float gauss(uint a, uint b)
{
    float u = toUnit(hash2(a, b)), v = toUnit(hash2(a + 0x51ed27u, b));
    return sqrtf(-2.0f * logf(u)) * cospif(2.0f * v);
}

__global__ void drawScenarios(Scenario* sc, int n, uint run)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Scenario& s = sc[i];
    uint seed = hash2(run * 65537u + (uint)(i >> 1), 0xC0FFEEu);
    s.seed = hash2(seed, (uint)i);
    s.antithetic = i & 1;
    float sign = s.antithetic ? -1.0f : 1.0f;
    for (int f = 0; f < FACTORS; ++f) s.z[f] = sign * gauss(seed, f);
    s.recoveryShock = 0.3f * s.z[0] + 0.2f * gauss(seed, 77u);
    s.loss = 0.0;
    s.defaults = 0;
    s.tail = 0;
}

__device__ inline float systematic(const Sector& sec, const float* z)
{
    float y = 0.0f;
#pragma unroll
    for (int f = 0; f < FACTORS; ++f) y += sec.weight[f] * z[f];
    return y;
}

// loss given default of one obligor in a scenario, 0 when it survives
__device__ inline float obligorLoss(const Obligor& o, float y, float lgdAdd, uint seed, uint id)
{
    float p = normcdff((o.threshold - o.loading * y) / o.idio);
    if (toUnit(hash2(seed, id)) >= p) return 0.0f;
    float lgd = o.lgdMean + lgdAdd + o.lgdVol * (toUnit(hash2(seed ^ 0xABCDEFu, id)) - 0.5f);
    if (o.guaranteed) lgd *= 0.4f;
    lgd = fminf(fmaxf(lgd, 0.02f), 1.0f);
    return lgd * (float)o.exposure;
}

template <int BLOCK>
__global__ void __launch_bounds__(BLOCK) simulate(Obligor* __restrict__ obl, int nObl, const Sector* __restrict__ sectors,
                                                  Scenario* __restrict__ scen)
{
    __shared__ float sy[SECTORS], sl[SECTORS];
    __shared__ double part[BLOCK];
    __shared__ int cnt;
    const int s = blockIdx.x;
    if (threadIdx.x == 0) cnt = 0;
    if (threadIdx.x < SECTORS) {
        sy[threadIdx.x] = systematic(sectors[threadIdx.x], scen[s].z);
        sl[threadIdx.x] = sectors[threadIdx.x].lgdAddOn - 0.1f * scen[s].recoveryShock;
    }
    __syncthreads();
    const uint seed = scen[s].seed;
    double loss = 0.0;
    int defaults = 0;
    for (int i = threadIdx.x; i < nObl; i += BLOCK) {
        int sec = obl[i].sector;
        float l = obligorLoss(obl[i], sy[sec], sl[sec], seed, (uint)i);
        if (l > 0.0f) {
            loss += l;
            ++defaults;
            atomicAdd(&obl[i].defaults, 1);
        }
    }
    part[threadIdx.x] = loss;
    atomicAdd(&cnt, defaults);
    __syncthreads();
    for (int k = BLOCK / 2; k > 0; k >>= 1) {
        if (threadIdx.x < k) part[threadIdx.x] += part[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        scen[s].loss = part[0];
        scen[s].defaults = cnt;
    }
}

__global__ void bucketLosses(Scenario* scen, int n, Bucket* hist, double width, double tailFrom)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double loss = scen[i].loss;
    int b = (int)(loss / width);
    if (b >= BUCKETS) b = BUCKETS - 1;
    bool tail = loss >= tailFrom;
    scen[i].tail = tail;
    atomicAdd(&hist[b].hits, 1);
    atomicAdd(&hist[b].lossSum, loss);
    if (tail) atomicAdd(&hist[b].tail, 1);
}

// re-evaluates the tail scenarios for every obligor
__global__ void tailContributions(Obligor* __restrict__ obl, int n, const Sector* __restrict__ sectors,
                                  const Scenario* __restrict__ scen, int nScen)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const Sector& sec = sectors[obl[i].sector];
    double sum = 0.0;
    int hits = 0;
    for (int s = 0; s < nScen; ++s) {
        if (!scen[s].tail) continue;
        float y = systematic(sec, scen[s].z);
        float l = obligorLoss(obl[i], y, sec.lgdAddOn - 0.1f * scen[s].recoveryShock, scen[s].seed, (uint)i);
        if (l > 0.0f) { sum += l; ++hits; }
    }
    if (hits) {
        obl[i].esContribution += sum;
        obl[i].tailDefaults += hits;
    }
}

__global__ void sectorTotals(const Obligor* __restrict__ obl, int n, Sector* sectors)
{
    __shared__ double part[256];
    __shared__ int dpart[256];
    const int sec = blockIdx.x;
    double loss = 0.0;
    int def = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        if (obl[i].sector != sec) continue;
        def += obl[i].defaults;
        loss += obl[i].esContribution;
    }
    part[threadIdx.x] = loss;
    dpart[threadIdx.x] = def;
    __syncthreads();
    for (int k = 128; k > 0; k >>= 1) {
        if (threadIdx.x < k) {
            part[threadIdx.x] += part[threadIdx.x + k];
            dpart[threadIdx.x] += dpart[threadIdx.x + k];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        sectors[sec].loss = part[0];
        sectors[sec].defaults = dpart[0];
    }
}

__global__ void ratingDrift(Obligor* obl, int n, uint run)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Obligor& o = obl[i];
    uint h = hash2(run, (uint)i) % 1000u;
    if (h < 4 && o.rating < 7) {
        o.rating++;
        o.pd = fminf(o.pd * 1.6f, 0.3f);
        o.watchlist = o.rating >= 6;
        o.threshold = normcdfinvf(o.pd);
    } else if (h > 996 && o.rating > 0) {
        o.rating--;
        o.pd *= 0.65f;
        o.watchlist = 0;
        o.threshold = normcdfinvf(o.pd);
    }
    if (o.maturityMonths > 1 && h % 50 == 7) o.maturityMonths--;
}

static double invNormal(double p)      // bisection is plenty for set-up
{
    double lo = -8, hi = 8;
    for (int k = 0; k < 50; ++k) {
        double m = 0.5 * (lo + hi);
        (0.5 * erfc(-m / sqrt(2.0)) < p ? lo : hi) = m;
    }
    return 0.5 * (lo + hi);
}

int main()
{
    std::mt19937 gen(2008);
    std::uniform_real_distribution<double> uni(0.0, 1.0);
    const double basePd[8] = {0.0002, 0.0005, 0.0012, 0.003, 0.009, 0.025, 0.06, 0.14};

    std::vector<Sector> sectors(SECTORS);
    for (Sector& s : sectors) {
        s = Sector{};
        double norm = 0;
        for (int f = 0; f < FACTORS; ++f) {
            s.weight[f] = (float)(f == 0 ? 0.6 + 0.3 * uni(gen) : 0.5 * uni(gen) - 0.1);
            norm += s.weight[f] * s.weight[f];
        }
        for (float& w : s.weight) w = (float)(w / sqrt(norm));
        s.cyclicality = (float)uni(gen);
        s.lgdAddOn = (float)(0.1 * uni(gen));
    }
    std::vector<Obligor> obligors(OBLIGORS);
    double total = 0;
    for (int i = 0; i < OBLIGORS; ++i) {
        Obligor& o = obligors[i];
        o = Obligor{};
        o.exposure = 2e4 * exp(2.0 * uni(gen) + 2.5 * uni(gen) * uni(gen));
        o.rating = (short)(uni(gen) * uni(gen) * 3.0 + uni(gen) * 5.0);
        if (o.rating > 7) o.rating = 7;
        o.pd = (float)(basePd[o.rating] * (0.7 + 0.6 * uni(gen)));
        o.threshold = (float)invNormal(o.pd);
        o.loading = (float)(0.25 + 0.35 * uni(gen));
        o.idio = sqrtf(1.0f - o.loading * o.loading);
        o.lgdMean = (float)(0.3 + 0.35 * uni(gen));
        o.lgdVol = 0.3f;
        o.sector = (int)(gen() % SECTORS);
        o.counterpartyId = 500000 + i;
        o.maturityMonths = (short)(6 + gen() % 114);
        o.country = (unsigned char)(gen() % 60);
        o.seniority = (unsigned char)(gen() % 4);
        o.guaranteed = gen() % 8 == 0;
        sectors[o.sector].members++;
        total += o.exposure;
    }
    Obligor* dObl; Sector* dSec; Scenario* dScen; Bucket* dHist;
    must(cudaMalloc(&dObl, OBLIGORS * sizeof(Obligor)), "malloc obligors");
    must(cudaMalloc(&dSec, SECTORS * sizeof(Sector)), "malloc sectors");
    must(cudaMalloc(&dScen, SCENARIOS * sizeof(Scenario)), "malloc scenarios");
    must(cudaMalloc(&dHist, BUCKETS * sizeof(Bucket)), "malloc histogram");
    must(cudaMemcpy(dObl, obligors.data(), OBLIGORS * sizeof(Obligor), cudaMemcpyHostToDevice), "copy");
    must(cudaMemcpy(dSec, sectors.data(), SECTORS * sizeof(Sector), cudaMemcpyHostToDevice), "copy");
    must(cudaMemset(dScen, 0, SCENARIOS * sizeof(Scenario)), "memset");
    must(cudaMemset(dHist, 0, BUCKETS * sizeof(Bucket)), "memset");

    auto run = [&](uint r) {
        drawScenarios<<<SCENARIOS / 64, 64>>>(dScen, SCENARIOS, r);
        simulate<256><<<SCENARIOS, 256>>>(dObl, OBLIGORS, dSec, dScen);
        bucketLosses<<<SCENARIOS / 128, 128>>>(dScen, SCENARIOS, dHist, total * 0.001, total * 0.025);
        tailContributions<<<(OBLIGORS + 127) / 128, 128>>>(dObl, OBLIGORS, dSec, dScen, SCENARIOS);
        sectorTotals<<<SECTORS, 256>>>(dObl, OBLIGORS, dSec);
        ratingDrift<<<(OBLIGORS + 255) / 256, 256>>>(dObl, OBLIGORS, r);
    };
    uint r = 1;
    for (; r <= 3; ++r) run(r);
    cudaEvent_t t0, t1;
    must(cudaEventCreate(&t0), "event");
    must(cudaEventCreate(&t1), "event");
    must(cudaEventRecord(t0), "record");
    const int runs = 40;
    for (int k = 0; k < runs; ++k, ++r) run(r);
    must(cudaEventRecord(t1), "record");
    must(cudaEventSynchronize(t1), "kernels");
    float ms = 0;
    must(cudaEventElapsedTime(&ms, t0, t1), "elapsed");

    std::vector<Bucket> hist(BUCKETS);
    must(cudaMemcpy(obligors.data(), dObl, OBLIGORS * sizeof(Obligor), cudaMemcpyDeviceToHost), "copy back");
    must(cudaMemcpy(sectors.data(), dSec, SECTORS * sizeof(Sector), cudaMemcpyDeviceToHost), "copy back");
    must(cudaMemcpy(hist.data(), dHist, BUCKETS * sizeof(Bucket), cudaMemcpyDeviceToHost), "copy back");
    long long defaults = 0, tailDefaults = 0, ratings = 0, hits = 0, tails = 0;
    double es = 0, mean = 0;
    for (const Obligor& o : obligors) { tailDefaults += o.tailDefaults; ratings += o.rating; }
    for (const Sector& s : sectors) { defaults += s.defaults; es += s.loss; }
    for (const Bucket& b : hist) { hits += b.hits; tails += b.tail; mean += b.lossSum; }
    printf("check %.5g/%.5g/%lld/%lld/%lld/%.5g/%.5g\n", (double)defaults, (double)tailDefaults, ratings, hits, tails, es / total, mean / total);
    printf("time_ms %.4f\n", ms / runs);
    cudaFree(dObl); cudaFree(dSec); cudaFree(dScen); cudaFree(dHist);
    return 0;
}
