// Monte Carlo Greeks for a small book of path-dependent options under Heston.
// Path state lives in records that are advanced a few steps per launch; the
// book is then priced with one grid row per option (antithetic pairs, pathwise
// delta, tangent vega with respect to v0).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CUDA_OK(stmt)                                                                         \
    if (cudaError_t status_ = (stmt); status_ != cudaSuccess) {                               \
        std::fprintf(stderr, "CUDA: %s (line %d)\n", cudaGetErrorString(status_), __LINE__);  \
        std::exit(1);                                                                         \
    }

template <typename T> struct DevArray {
    T* ptr = nullptr;
    size_t count = 0;
    explicit DevArray(size_t n) : count(n) { CUDA_OK(cudaMalloc(&ptr, n * sizeof(T))); }
    ~DevArray() { if (ptr) cudaFree(ptr); }
    DevArray(const DevArray&) = delete;
    std::vector<T> toHost() const {
        std::vector<T> out(count);
        CUDA_OK(cudaMemcpy(out.data(), ptr, count * sizeof(T), cudaMemcpyDeviceToHost));
        return out;
    }
};

struct HestonPath {
    double logS[2], var[2];      // plain and antithetic
    double dVar[2], dLogS[2];    // tangents with respect to v0
    float  sumS[2];
    float  runMax[2], runMin[2];
    uint32_t key;
    short  fixings;
    short  floored;        // times the variance hit the floor
};

enum OptionKind : short { Vanilla, Asian, UpOut, Lookback, Digital };

struct OptionSpec {
    float strike, barrier, notional;
    short kind;
    short sign;            // +1 call, -1 put
};

struct OptionSums {
    double value, square;
    double delta, vega;
    unsigned long long inMoney;
};

struct Model { double s0, v0, kappa, theta, xi, rho, rate, dt; };

constexpr int kPaths = 400000;
constexpr int kSteps = 48, kStepsPerLaunch = 6;
constexpr int kOptions = 20;
constexpr int kBlock = 128, kPathsPerThread = 8;

__constant__ Model cModel;

__device__ __forceinline__ uint32_t scramble(uint32_t a, uint32_t b) {
    uint32_t h = a * 0x9E3779B1u ^ (b + 0x7F4A7C15u) * 0x85EBCA77u;
    h ^= h >> 15; h *= 0x2c1b3c6du;
    h ^= h >> 12; h *= 0x297a2d39u;
    return h ^ (h >> 15);
}

__device__ __forceinline__ float2 gaussianPair(uint32_t key, uint32_t ctr) {
    float u1 = ((scramble(key, 2u * ctr) >> 8) + 0.5f) * (1.0f / 16777216.0f);
    float u2 = (scramble(key, 2u * ctr + 1u) >> 8) * (1.0f / 16777216.0f);
    float r = sqrtf(-2.0f * logf(u1));
    float s, c;
    sincospif(2.0f * u2, &s, &c);
    return make_float2(r * c, r * s);
}

__global__ void resetPaths(HestonPath* paths, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    HestonPath p{};
    for (int a = 0; a < 2; ++a) {
        p.logS[a] = log(cModel.s0);
        p.var[a] = cModel.v0;
        p.dVar[a] = 1.0;
        p.runMax[a] = p.runMin[a] = static_cast<float>(cModel.s0);
    }
    p.key = scramble(i, 0xC0FFEEu);
    paths[i] = p;
}

__global__ void advance(HestonPath* paths, int n, int firstStep) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const Model m = cModel;
    const double sq = sqrt(m.dt), rc = sqrt(1.0 - m.rho * m.rho);
    uint32_t key = paths[i].key;
    for (int s = 0; s < kStepsPerLaunch; ++s) {
        float2 z = gaussianPair(key, firstStep + s);
        for (int a = 0; a < 2; ++a) {
            double zv = a ? -z.x : z.x;
            double zs = m.rho * zv + rc * (a ? -z.y : z.y);
            double v = paths[i].var[a];
            double vp = fmax(v, 0.0);
            double vol = sqrt(vp);
            double dv = paths[i].dVar[a];
            double safe = fmax(vol, 0.08);
            paths[i].dLogS[a] += v > 0.0 ? (-0.5 * m.dt + 0.5 * sq * zs / safe) * dv : 0.0;
            paths[i].logS[a] += (m.rate - 0.5 * vp) * m.dt + vol * sq * zs;
            double nv = v + m.kappa * (m.theta - vp) * m.dt + m.xi * vol * sq * zv;
            if (v > 0.0) paths[i].dVar[a] = dv * (1.0 - m.kappa * m.dt + 0.5 * m.xi * sq * zv / safe);
            if (nv < 0.0) paths[i].floored++;
            paths[i].var[a] = nv;
        }
    }
}

// Fixing dates: only running statistics change.
__global__ void recordFixing(HestonPath* paths, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int a = 0; a < 2; ++a) {
        float s = expf(static_cast<float>(paths[i].logS[a]));
        paths[i].sumS[a] += s;
        if (s > paths[i].runMax[a]) paths[i].runMax[a] = s;
        if (s < paths[i].runMin[a]) paths[i].runMin[a] = s;
    }
    paths[i].fixings++;
}

__global__ void priceBook(const HestonPath* paths, const OptionSpec* book, OptionSums* sums, int n) {
    __shared__ double sh[4][kBlock];
    __shared__ unsigned int hits;
    const OptionSpec o = book[blockIdx.y];
    int t = threadIdx.x;
    if (t == 0) hits = 0;
    __syncthreads();
    double value = 0.0, square = 0.0, delta = 0.0, vega = 0.0;
    unsigned int mine = 0;
    double disc = exp(-cModel.rate * cModel.dt * kSteps);
    int base = blockIdx.x * kBlock * kPathsPerThread + t;
    for (int k = 0; k < kPathsPerThread; ++k) {
        int i = base + k * kBlock;
        if (i >= n) break;
        double pair = 0.0;
        for (int a = 0; a < 2; ++a) {
            double sT = exp(paths[i].logS[a]);
            double under = sT;
            double strike = o.strike;
            switch (o.kind) {
                case Asian: under = paths[i].sumS[a] / paths[i].fixings; break;
                case UpOut: if (paths[i].runMax[a] >= o.barrier) continue; break;
                case Lookback: strike = o.sign > 0 ? paths[i].runMin[a] : paths[i].runMax[a]; break;
                default: break;
            }
            double intrinsic = o.sign * (under - strike);
            if (intrinsic <= 0.0) continue;
            ++mine;
            if (o.kind == Digital) { pair += 1.0; continue; }
            pair += intrinsic;
            double slope = o.kind == Lookback ? intrinsic / cModel.s0 : o.sign * under / cModel.s0;
            delta += 0.5 * slope;
            if (o.kind != Asian) vega += 0.5 * o.sign * sT * paths[i].dLogS[a];
        }
        pair *= 0.5 * disc * o.notional;
        value += pair;
        square += pair * pair;
    }
    if (mine) atomicAdd(&hits, mine);
    sh[0][t] = value; sh[1][t] = square;
    sh[2][t] = delta * disc * o.notional;
    sh[3][t] = vega * disc * o.notional;
    __syncthreads();
    for (int s = kBlock / 2; s > 0; s >>= 1) {
        for (int q = 0; q < 4 && t < s; ++q) sh[q][t] += sh[q][t + s];
        __syncthreads();
    }
    if (t != 0) return;
    OptionSums* out = &sums[blockIdx.y];
    atomicAdd(&out->value, sh[0][0]);
    atomicAdd(&out->square, sh[1][0]);
    atomicAdd(&out->delta, sh[2][0]);
    atomicAdd(&out->vega, sh[3][0]);
    atomicAdd(&out->inMoney, static_cast<unsigned long long>(hits));
}

static std::vector<OptionSpec> makeBook() {
    std::vector<OptionSpec> book(kOptions);
    uint32_t lcg = 777u;
    for (int i = 0; i < kOptions; ++i) {
        lcg = lcg * 1664525u + 1013904223u;
        OptionSpec& o = book[i];
        o.strike = 80.0f + 40.0f * (lcg >> 8) / 16777216.0f;
        o.barrier = 135.0f + i;
        o.notional = 1.0f + (i % 4);
        o.kind = static_cast<short>(i % 5);
        o.sign = (i / 5) & 1 ? -1 : 1;
    }
    return book;
}

int main() {
    Model m{100.0, 0.045, 1.8, 0.05, 0.45, -0.65, 0.02, 1.0 / kSteps};
    CUDA_OK(cudaMemcpyToSymbol(cModel, &m, sizeof(m)));
    DevArray<HestonPath> paths(kPaths);
    DevArray<OptionSpec> book(kOptions);
    DevArray<OptionSums> sums(kOptions);
    std::vector<OptionSpec> hostBook = makeBook();
    CUDA_OK(cudaMemcpy(book.ptr, hostBook.data(), kOptions * sizeof(OptionSpec), cudaMemcpyHostToDevice));
    const int blocks = (kPaths + kBlock - 1) / kBlock;
    const dim3 priceGrid((blocks + kPathsPerThread - 1) / kPathsPerThread, kOptions);
    cudaEvent_t begin, end;
    CUDA_OK(cudaEventCreate(&begin)); CUDA_OK(cudaEventCreate(&end));
    std::vector<float> ms;
    for (int rep = 0; rep < 2 + 25; ++rep) {
        CUDA_OK(cudaEventRecord(begin));
        CUDA_OK(cudaMemsetAsync(sums.ptr, 0, kOptions * sizeof(OptionSums)));
        resetPaths<<<blocks, kBlock>>>(paths.ptr, kPaths);
        for (int s = 0; s < kSteps; s += kStepsPerLaunch) {
            advance<<<blocks, kBlock>>>(paths.ptr, kPaths, s);
            recordFixing<<<blocks, kBlock>>>(paths.ptr, kPaths);
        }
        priceBook<<<priceGrid, kBlock>>>(paths.ptr, book.ptr, sums.ptr, kPaths);
        CUDA_OK(cudaEventRecord(end)); CUDA_OK(cudaEventSynchronize(end));
        float t = 0.0f;
        CUDA_OK(cudaEventElapsedTime(&t, begin, end));
        if (rep >= 2) ms.push_back(t);
    }
    CUDA_OK(cudaGetLastError());
    double value = 0.0, se = 0.0, delta = 0.0, vega = 0.0, itm = 0.0, floored = 0.0;
    for (const OptionSums& s : sums.toHost()) {
        double mean = s.value / kPaths;
        value += mean;
        se += std::sqrt(std::max(0.0, s.square / kPaths - mean * mean) / kPaths);
        delta += std::fabs(s.delta) / kPaths;
        vega += std::fabs(s.vega) / kPaths;
        itm += static_cast<double>(s.inMoney);
    }
    for (const HestonPath& p : paths.toHost()) floored += p.floored;
    std::sort(ms.begin(), ms.end());
    std::printf("check value %.9g\ncheck stderr %.9g\n", value, se);
    std::printf("check delta %.9g\ncheck vega %.9g\n", delta, vega);
    std::printf("check in_money %.9g\ncheck floored %.9g\n", itm, floored);
    std::printf("time_ms %.5f\n", ms[ms.size() / 2]);
    return 0;
}
