// margin_scenarios.cu -- intraday portfolio margin: tick underliers, re-mark
// positions by Taylor expansion, 16-scenario SPAN-like grid per account.
#include <cstdint>
#include <cstdio>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>
#include <iostream>
#include <cuda_runtime.h>

#define CUDA_TRY(stmt)                                                        \
    do {                                                                      \
        const cudaError_t rc_ = (stmt);                                       \
        if (rc_ != cudaSuccess)                                               \
            throw std::runtime_error(std::string(#stmt) + ": " +              \
                                     cudaGetErrorString(rc_));                \
    } while (false)

namespace risk {

constexpr int kScenarios = 16;
constexpr int kAccountsPerBlock = 8;

struct Underlier {
    double spot;
    double prevSpot;
    double vol;
    double prevVol;
    double scanRange;     // fraction of spot
    double volRange;
    int    sector;
    int    ticks;
};

struct Position {
    int    account;
    int    underlier;
    double qty;
    double mark;
    double delta;
    double gamma;
    double vega;
    double theta;
    float  multiplier;
    int    daysToExpiry;
    int    isShort;
    int    tradeId;
};

struct Account {
    int    first;
    int    count;
    double equity;
    double scenPnl[kScenarios];
    double shortCharge;
    double margin;
    int    worst;
    int    calls;         // margin calls so far
};

struct ScenarioDef {
    double spotShift;     // in units of scanRange
    double volShift;
    double cover;
};

__constant__ ScenarioDef c_scen[kScenarios];

__device__ __forceinline__ double hashNormalish(uint32_t a, uint32_t b)
{
    uint32_t h = a * 0x85ebca6bu ^ b * 0xc2b2ae35u;
    double acc = 0.0;
    for (int i = 0; i < 4; ++i) {
        h ^= h >> 16; h *= 0x7feb352du; h ^= h >> 15; h *= 0x846ca68bu; h ^= h >> 16;
        acc += h * (1.0 / 4294967296.0);
    }
    return (acc - 2.0) * 1.7320508;
}

__device__ double taylorPnl(const Position& p, double dS, double dVol)
{
    return p.qty * p.multiplier * (p.delta * dS + 0.5 * p.gamma * dS * dS + p.vega * dVol);
}

__global__ void tickUnderliers(Underlier* und, int n, int tick)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Underlier u = und[i];
    u.prevSpot = u.spot;
    u.prevVol  = u.vol;
    double z = 0.6 * hashNormalish(u.sector + 1000003, tick) + 0.8 * hashNormalish(i, tick);
    u.spot *= exp(u.vol * 0.004 * z);
    u.vol  += 0.002 * (0.25 - u.vol) - 0.003 * z * u.vol;
    u.ticks++;
    und[i] = u;
}

__global__ void remark(Position* pos, const Underlier* und, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Position& p = pos[i];
    const Underlier& u = und[p.underlier];
    const double dS = u.spot - u.prevSpot;
    const double dV = u.vol - u.prevVol;
    p.mark  += p.delta * dS + 0.5 * p.gamma * dS * dS + p.vega * dV + p.theta * 1e-3;
    if (p.mark < 0.01) p.mark = 0.01;
    const double nd = p.delta + p.gamma * dS;
    p.delta = nd > 1.0 ? 1.0 : nd < -1.0 ? -1.0 : nd;
    p.gamma *= 1.0 - 0.01 * fabs(dS) / u.spot;
}

// blockDim = (16 scenarios, 8 accounts)
__global__ void scanAccounts(Account* acc, const Position* pos, const Underlier* und, int nAcc)
{
    const int s = threadIdx.x;
    const int a = blockIdx.x * kAccountsPerBlock + threadIdx.y;
    if (a >= nAcc) return;
    const int first = acc[a].first;
    const int last  = first + acc[a].count;
    const ScenarioDef def = c_scen[s];
    double pnl = 0.0, charge = 0.0;
    for (int k = first; k < last; ++k) {
        const Position& p = pos[k];
        const Underlier& u = und[p.underlier];
        pnl += def.cover * taylorPnl(p, def.spotShift * u.scanRange * u.spot, def.volShift * u.volRange);
        if (s == 0 && p.isShort && p.daysToExpiry < 30)
            charge += 0.01 * fabs(p.qty) * p.multiplier * u.spot;
    }
    acc[a].scenPnl[s] = pnl;
    if (s == 0) acc[a].shortCharge = charge;
}

__global__ void settleMargin(Account* acc, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Account* a = acc + i;
    double worst = 0.0;
    int which = -1;
    for (int s = 0; s < kScenarios; ++s)
        if (a->scenPnl[s] < worst) {
            worst = a->scenPnl[s];
            which = s;
        }
    a->margin = a->shortCharge - worst;
    a->worst  = which;
    if (a->margin > a->equity) {
        a->calls++;
        a->equity += 0.5 * (a->margin - a->equity);   // client tops up half
    }
}

class MarginEngine {
public:
    MarginEngine(const std::vector<Underlier>& u, const std::vector<Position>& p, const std::vector<Account>& a)
        : nU_(int(u.size())), nP_(int(p.size())), nA_(int(a.size()))
    {
        CUDA_TRY(cudaMalloc(&und_, sizeof(Underlier) * nU_));
        CUDA_TRY(cudaMalloc(&pos_, sizeof(Position) * nP_));
        CUDA_TRY(cudaMalloc(&acc_, sizeof(Account) * nA_));
        CUDA_TRY(cudaMemcpy(und_, u.data(), sizeof(Underlier) * nU_, cudaMemcpyHostToDevice));
        CUDA_TRY(cudaMemcpy(pos_, p.data(), sizeof(Position) * nP_, cudaMemcpyHostToDevice));
        CUDA_TRY(cudaMemcpy(acc_, a.data(), sizeof(Account) * nA_, cudaMemcpyHostToDevice));
        CUDA_TRY(cudaEventCreate(&t0_));
        CUDA_TRY(cudaEventCreate(&t1_));
    }
    ~MarginEngine()
    {
        cudaFree(und_);
        cudaFree(pos_);
        cudaFree(acc_);
        cudaEventDestroy(t0_);
        cudaEventDestroy(t1_);
    }
    MarginEngine(const MarginEngine&) = delete;
    MarginEngine& operator=(const MarginEngine&) = delete;

    void step(int tick)
    {
        tickUnderliers<<<(nU_ + 127) / 128, 128>>>(und_, nU_, tick);
        remark<<<(nP_ + 255) / 256, 256>>>(pos_, und_, nP_);
        scanAccounts<<<(nA_ + kAccountsPerBlock - 1) / kAccountsPerBlock, dim3(kScenarios, kAccountsPerBlock)>>>(acc_, pos_, und_, nA_);
        settleMargin<<<(nA_ + 127) / 128, 128>>>(acc_, nA_);
    }
    float run(int ticks)
    {
        step(0);
        CUDA_TRY(cudaEventRecord(t0_));
        for (int t = 1; t <= ticks; ++t) step(t);
        CUDA_TRY(cudaEventRecord(t1_));
        CUDA_TRY(cudaGetLastError());
        CUDA_TRY(cudaEventSynchronize(t1_));
        float ms = 0.f;
        CUDA_TRY(cudaEventElapsedTime(&ms, t0_, t1_));
        return ms;
    }
    void download(std::vector<Position>& p, std::vector<Account>& a) const
    {
        CUDA_TRY(cudaMemcpy(p.data(), pos_, sizeof(Position) * nP_, cudaMemcpyDeviceToHost));
        CUDA_TRY(cudaMemcpy(a.data(), acc_, sizeof(Account) * nA_, cudaMemcpyDeviceToHost));
    }

private:
    int nU_, nP_, nA_;
    Underlier* und_ = nullptr;
    Position*  pos_ = nullptr;
    Account*   acc_ = nullptr;
    cudaEvent_t t0_{}, t1_{};
};

struct Lcg {
    uint64_t s;
    double next() { s = s * 6364136223846793005ULL + 1442695040888963407ULL; return (s >> 11) * (1.0 / 9007199254740992.0); }
    int below(int n) { return int(next() * n); }
};

}  // namespace risk

int main()
try {
    using namespace risk;
    Lcg rng{42};
    const int nUnd = 4000, nAcc = 60000;

    std::vector<Underlier> und(nUnd);
    for (auto& u : und) {
        u.spot = u.prevSpot = 5.0 + 300.0 * rng.next() * rng.next();
        u.vol = u.prevVol = 0.15 + 0.4 * rng.next();
        u.scanRange = 0.05 + 0.2 * u.vol;
        u.volRange = 0.04;
        u.sector = rng.below(11);
        u.ticks = 0;
    }
    std::vector<Account> acc(nAcc);
    std::vector<Position> pos;
    pos.reserve(3000000);
    for (int a = 0; a < nAcc; ++a) {
        Account& ac = acc[a];
        ac = Account{};
        ac.first = int(pos.size());
        double r = rng.next();
        ac.count = 3 + int(20.0 * r + 150.0 * r * r * r * r);   // few large books
        int home = rng.below(nUnd);
        double gross = 0.0;
        for (int k = 0; k < ac.count; ++k) {
            Position p;
            p.account = a;
            // desks concentrate on some names; the rest popular names
            double z = rng.next();
            p.underlier = (k % 3) ? (home + rng.below(12)) % nUnd : int(nUnd * z * z * z);
            const Underlier& u = und[p.underlier];
            bool option = rng.next() < 0.7;
            p.qty = double(1 + rng.below(40)) * (rng.next() < 0.45 ? -1.0 : 1.0);
            p.multiplier = option ? 100.f : 1.f;
            p.daysToExpiry = option ? 1 + rng.below(180) : 100000;
            p.delta = option ? (rng.next() < 0.5 ? rng.next() : -rng.next()) : 1.0;
            double T = std::sqrt(p.daysToExpiry / 365.0);
            p.gamma = option ? 4.0 * std::fabs(p.delta) * (1.0 - std::fabs(p.delta)) * 0.4 / (u.spot * u.vol * T) : 0.0;
            p.vega = option ? 0.3 * u.spot * T * std::fabs(p.delta) : 0.0;
            p.theta = option ? -0.02 * u.spot * u.vol : 0.0;
            p.mark = option ? 0.08 * u.spot * std::fabs(p.delta) + 0.05 : u.spot;
            p.isShort = p.qty < 0;
            p.tradeId = int(pos.size());
            gross += std::fabs(p.qty) * p.multiplier * u.spot;
            pos.push_back(p);
        }
        ac.equity = gross * (0.01 + 0.12 * rng.next());
        ac.worst = -1;
    }

    ScenarioDef scen[kScenarios];
    const double shifts[7] = {0.0, 1.0 / 3, -1.0 / 3, 2.0 / 3, -2.0 / 3, 1.0, -1.0};
    for (int s = 0; s < 14; ++s) scen[s] = ScenarioDef{shifts[s / 2], (s & 1) ? -1.0 : 1.0, 1.0};
    scen[14] = ScenarioDef{3.0, 0.0, 0.33};
    scen[15] = ScenarioDef{-3.0, 0.0, 0.33};
    CUDA_TRY(cudaMemcpyToSymbol(c_scen, scen, sizeof(scen)));

    MarginEngine engine(und, pos, acc);
    const float ms = engine.run(25);
    engine.download(pos, acc);

    double mark = 0, absDelta = 0, margin = 0, equity = 0, absPnl = 0, charge = 0;
    long long calls = 0, worst = 0;
    for (const auto& p : pos) { mark += p.mark; absDelta += std::fabs(p.delta); }
    for (const auto& a : acc) {
        margin += a.margin; equity += a.equity; charge += a.shortCharge; calls += a.calls; worst += a.worst + 1;
        for (double v : a.scenPnl) absPnl += std::fabs(v);
    }
    std::printf("check mark %.8e\ncheck abs_delta %.8e\ncheck margin %.8e\ncheck equity %.8e\n", mark, absDelta, margin, equity);
    std::printf("check abs_pnl %.8e\ncheck short_charge %.8e\ncheck calls %lld\ncheck worst_sum %lld\n", absPnl, charge, calls, worst);
    std::printf("time_ms %.4f\n", ms);
    return 0;
} catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
}
