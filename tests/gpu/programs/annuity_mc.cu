// Variable annuity valuation: nested Monte Carlo over policies x economic scenarios.
// Templated on the guarantee rider so that each product gets its own kernel.
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define N_POLICIES 20000
#define N_SCENARIOS 128

constexpr int kYears = 30, kFunds = 4;
constexpr int kMaxAge = 121;
constexpr int kAgeBands = 8;

enum class Rider : unsigned char { None = 0, DeathBenefit = 1, Withdrawal = 2 };

struct FundMix {
    float share[kFunds];
    unsigned char glidePath;
};

struct Policy {
    int id;
    short issueYear;
    unsigned char age;
    unsigned char sex;
    Rider rider;
    unsigned char smoker;
    short channel;
    FundMix mix;
    float surrenderCharge[6];
    double accountValue;
    double guaranteeBase;
    float feeRate;
    float rollUp;
    float withdrawalRate;
    unsigned seed;
};

struct ScenarioYear {
    float fundReturn[kFunds];
    float shortRate;
    float lapseMult;
};

struct Mortality {          // thresholds of a 32 bit uniform: [sex][smoker]
    unsigned qx[2][2];
    float improvement;
};

struct PolicyResult {
    double pvClaims;
    double pvFees;
    float worst;
    int deaths;
    int lapses;
    short worstScenario;
    unsigned char band;
};

static void must(cudaError_t e) {
    if (e != cudaSuccess) {
        std::fprintf(stderr, "CUDA error: %s\n", cudaGetErrorString(e));
        std::exit(1);
    }
}

template <typename T> T* toDevice(const std::vector<T>& v) {
    T* d = nullptr;
    must(cudaMalloc(&d, v.size() * sizeof(T)));
    must(cudaMemcpy(d, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
    return d;
}
template <typename T> T* deviceAlloc(size_t n) {
    T* d = nullptr;
    must(cudaMalloc(&d, n * sizeof(T)));
    must(cudaMemset(d, 0, n * sizeof(T)));
    return d;
}

__host__ __device__ inline unsigned mix32(unsigned h) {
    h ^= h >> 16; h *= 0x7feb352du;
    h ^= h >> 15; h *= 0x846ca68bu;
    return h ^ (h >> 16);
}

// Deflators are rebuilt from the short rates each run.
__global__ void discountFactors(const ScenarioYear* sc, float* df, int nScen) {
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= nScen) return;
    float d = 1.0f;
    for (int y = 0; y < kYears; ++y) {
        d /= 1.0f + sc[s * kYears + y].shortRate;
        df[s * kYears + y] = d;
    }
}

template <Rider R>
__device__ inline float claimAt(float av, float base, bool death) {
    if (R == Rider::DeathBenefit) return death ? fmaxf(base - av, 0.0f) : 0.0f;
    if (R == Rider::Withdrawal) return av <= 0.0f ? base * 0.05f : 0.0f;
    return 0.0f;
}

// One warp per policy; lanes take scenarios in turn.
template <Rider R>
__global__ void project(const Policy* __restrict__ pol, const int* __restrict__ index, int n,
                        const ScenarioYear* __restrict__ sc, const float* __restrict__ df,
                        const Mortality* __restrict__ mort, PolicyResult* out, int nScen) {
    const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const int lane = threadIdx.x & 31;
    if (warp >= n) return;
    const Policy& p = pol[index[warp]];
    const float fee = p.feeRate;
    double claims = 0.0, fees = 0.0;
    float worst = -1.0f;
    int worstScen = 0, deaths = 0, lapses = 0;

    for (int s = lane; s < nScen; s += 32) {
        float av = (float)p.accountValue;
        float base = (float)p.guaranteeBase;
        float pvC = 0.0f, pvF = 0.0f;
        unsigned rng = mix32(p.seed ^ (unsigned)s * 0x9e3779b9u);
        for (int y = 0; y < kYears; ++y) {
            const ScenarioYear& e = sc[s * kYears + y];
            const float d = df[s * kYears + y];
            float growth = 0.0f;
            for (int f = 0; f < kFunds; ++f) growth += p.mix.share[f] * e.fundReturn[f];
            av *= 1.0f + growth;
            float charge = av * fee;
            av -= charge;
            pvF += charge * d;
            base *= 1.0f + p.rollUp;
            if (R == Rider::Withdrawal) {
                float w = base * p.withdrawalRate;
                av = fmaxf(av - w, 0.0f);
            }
            rng = mix32(rng + 0x6d2b79f5u);
            int age = min((int)p.age + y, kMaxAge - 1);
            if (rng < mort[age].qx[p.sex][p.smoker]) {
                pvC += claimAt<R>(av, base, true) * d;
                ++deaths;
                break;
            }
            pvC += claimAt<R>(av, base, false) * d;
            rng = mix32(rng + 0x6d2b79f5u);
            float sur = y < 6 ? p.surrenderCharge[y] : 0.0f;
            float lapse = 0.06f * e.lapseMult * (1.0f - sur * 8.0f);
            if (av > base) lapse *= 1.5f;
            if ((float)(rng >> 8) * (1.0f / 16777216.0f) < lapse) {
                pvF += av * sur * d;
                ++lapses;
                break;
            }
        }
        claims += pvC; fees += pvF;
        if (pvC > worst) { worst = pvC; worstScen = s; }
    }
    for (int o = 16; o > 0; o >>= 1) {
        claims += __shfl_down_sync(0xffffffffu, claims, o);
        fees += __shfl_down_sync(0xffffffffu, fees, o);
        deaths += __shfl_down_sync(0xffffffffu, deaths, o);
        lapses += __shfl_down_sync(0xffffffffu, lapses, o);
        float w = __shfl_down_sync(0xffffffffu, worst, o);
        int ws = __shfl_down_sync(0xffffffffu, worstScen, o);
        if (w > worst) { worst = w; worstScen = ws; }
    }
    if (lane == 0) {
        PolicyResult& r = out[p.id];
        r.pvClaims = claims / nScen; r.pvFees = fees / nScen;
        r.worst = worst; r.worstScenario = (short)worstScen;
        r.deaths = deaths; r.lapses = lapses;
        r.band = (unsigned char)min(max(((int)p.age - 40) / 5, 0), kAgeBands - 1);
    }
}

struct BandTotal {
    unsigned long long claimCents;
    unsigned long long feeCents;
    unsigned deaths, lapses;
};

__global__ void bandTotals(const PolicyResult* r, int n, BandTotal* total) {
    __shared__ BandTotal s[kAgeBands];
    if (threadIdx.x < kAgeBands) s[threadIdx.x] = BandTotal{0, 0, 0, 0};
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        BandTotal& b = s[r[i].band];
        atomicAdd(&b.claimCents, (unsigned long long)(r[i].pvClaims * 100.0 + 0.5));
        atomicAdd(&b.feeCents, (unsigned long long)(r[i].pvFees * 100.0 + 0.5));
        atomicAdd(&b.deaths, (unsigned)r[i].deaths);
        atomicAdd(&b.lapses, (unsigned)r[i].lapses);
    }
    __syncthreads();
    if (threadIdx.x < kAgeBands) {
        BandTotal &g = total[threadIdx.x], &b = s[threadIdx.x];
        atomicAdd(&g.claimCents, b.claimCents); atomicAdd(&g.feeCents, b.feeCents);
        atomicAdd(&g.deaths, b.deaths); atomicAdd(&g.lapses, b.lapses);
    }
}

class Lcg64 {
    uint64_t s_;
public:
    explicit Lcg64(uint64_t seed) : s_(seed) {}
    unsigned next() { s_ = s_ * 6364136223846793005ull + 1442695040888963407ull; return (unsigned)(s_ >> 33); }
    float uni() { return (next() & 0xffffffu) / 16777216.0f; }
    float range(float a, float b) { return a + (b - a) * uni(); }
};

int main() {
    Lcg64 rng(77);
    std::vector<Policy> pol(N_POLICIES);
    std::array<std::vector<int>, 3> byRider;
    for (int i = 0; i < N_POLICIES; ++i) {
        Policy p{};
        p.id = i;
        p.issueYear = (short)(2000 + rng.next() % 24);
        p.age = (unsigned char)(40 + rng.next() % 40);
        p.sex = rng.next() & 1;
        p.smoker = rng.next() % 6 == 0;
        p.rider = static_cast<Rider>(rng.next() % 3);
        p.channel = (short)(rng.next() % 12);
        float left = 1.0f;
        for (int f = 0; f < kFunds - 1; ++f) { p.mix.share[f] = left * rng.uni(); left -= p.mix.share[f]; }
        p.mix.share[kFunds - 1] = left;
        p.mix.glidePath = (unsigned char)(rng.next() % 3);
        for (int y = 0; y < 6; ++y) p.surrenderCharge[y] = 0.07f - 0.01f * y;
        p.accountValue = 20000.0 + 400000.0 * rng.uni();
        p.guaranteeBase = p.accountValue * (0.8 + 0.4 * rng.uni());
        p.feeRate = rng.range(0.008f, 0.025f);
        p.rollUp = rng.range(0.0f, 0.05f);
        p.withdrawalRate = rng.range(0.03f, 0.07f);
        p.seed = rng.next();
        byRider[(int)p.rider].push_back(i);
        pol[i] = p;
    }
    std::vector<ScenarioYear> sc((size_t)N_SCENARIOS * kYears);
    for (int s = 0; s < N_SCENARIOS; ++s) {
        float r = 0.02f;
        for (int y = 0; y < kYears; ++y) {
            ScenarioYear& e = sc[(size_t)s * kYears + y];
            for (int f = 0; f < kFunds; ++f) e.fundReturn[f] = 0.01f * (f + 2) + (0.05f + 0.07f * f) * (rng.uni() + rng.uni() - 1.0f);
            r = fmaxf(0.0f, r + 0.2f * (0.03f - r) + rng.range(-0.01f, 0.01f));
            e.shortRate = r;
            e.lapseMult = rng.range(0.5f, 1.5f);
        }
    }
    std::vector<Mortality> mort(kMaxAge);
    for (int a = 0; a < kMaxAge; ++a)
        for (int xk = 0; xk < 4; ++xk) {
            int x = xk >> 1, k = xk & 1;
            double q = std::fmin(0.999, 3e-5 * std::exp(0.095 * a) * (x ? 0.7 : 1.0) * (k ? 1.9 : 1.0) + 2e-4);
            mort[a].qx[x][k] = (unsigned)(q * 4294967295.0);
            mort[a].improvement = 0.01f;
        }

    Policy* dPol = toDevice(pol);
    ScenarioYear* dSc = toDevice(sc);
    Mortality* dMort = toDevice(mort);
    int* dIdx[3];
    for (int r = 0; r < 3; ++r) dIdx[r] = toDevice(byRider[r]);
    float* dDf = deviceAlloc<float>(sc.size());
    PolicyResult* dRes = deviceAlloc<PolicyResult>(N_POLICIES);
    BandTotal* dTot = deviceAlloc<BandTotal>(kAgeBands);

    auto blocks = [](size_t warps) { return (unsigned)((warps * 32 + 127) / 128); };
    auto valuation = [&] {
        must(cudaMemsetAsync(dTot, 0, kAgeBands * sizeof(BandTotal)));
        discountFactors<<<(N_SCENARIOS + 63) / 64, 64>>>(dSc, dDf, N_SCENARIOS);
        project<Rider::None><<<blocks(byRider[0].size()), 128>>>(dPol, dIdx[0], (int)byRider[0].size(), dSc, dDf, dMort, dRes, N_SCENARIOS);
        project<Rider::DeathBenefit><<<blocks(byRider[1].size()), 128>>>(dPol, dIdx[1], (int)byRider[1].size(), dSc, dDf, dMort, dRes, N_SCENARIOS);
        project<Rider::Withdrawal><<<blocks(byRider[2].size()), 128>>>(dPol, dIdx[2], (int)byRider[2].size(), dSc, dDf, dMort, dRes, N_SCENARIOS);
        bandTotals<<<64, 128>>>(dRes, N_POLICIES, dTot);
    };
    cudaEvent_t a, b;
    must(cudaEventCreate(&a)); must(cudaEventCreate(&b));
    valuation();
    const int reps = 20;
    must(cudaEventRecord(a));
    for (int i = 0; i < reps; ++i) valuation();
    must(cudaEventRecord(b)); must(cudaEventSynchronize(b));
    must(cudaGetLastError());
    float ms = 0.0f;
    must(cudaEventElapsedTime(&ms, a, b));
    BandTotal tot[kAgeBands];
    must(cudaMemcpy(tot, dTot, sizeof tot, cudaMemcpyDeviceToHost));
    double c = 0, f = 0, d = 0, l = 0;
    for (const BandTotal& t : tot) { c += t.claimCents / 100.0; f += t.feeCents / 100.0; d += t.deaths; l += t.lapses; }
    for (int* i : dIdx) must(cudaFree(i));
    must(cudaFree(dPol)); must(cudaFree(dSc)); must(cudaFree(dMort));
    must(cudaFree(dDf)); must(cudaFree(dRes)); must(cudaFree(dTot));
    std::printf("check %.3e/%.3e/%.3e/%.3e\n", c, f, d, l);
    std::printf("time_ms %f\n", ms / reps);
    return 0;
}
