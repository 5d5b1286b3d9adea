// fraud_score.cu
//
// Nightly batch re-scoring of card transactions.  The transactions arrive
// sorted by account and time; each account record carries the index range of
// its own transactions.  One round =
//
//   1. rebuild behavioural profile of every account
//   2. derive per-transaction features + rule hits
//   3. logistic score, verdict
//   4. escalate declines to account / merchant counters
//   5. freeze accounts with too many alerts
//
// usage: fraud_score [numAccounts] [rounds]

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#define CUDA_CALL(expr)                                                        \
    do {                                                                       \
        const cudaError_t err__ = (expr);                                      \
        if (err__ != cudaSuccess) {                                            \
            std::ostringstream os__;                                           \
            os__ << __FILE__ << ':' << __LINE__ << ": " #expr " -> "           \
                 << cudaGetErrorString(err__);                                 \
            throw std::runtime_error(os__.str());                              \
        }                                                                      \
    } while (0)

namespace fraud {

enum class Channel : uint8_t { CardPresent = 0, Online = 1, Atm = 2, Transfer = 3 };
enum class Verdict : uint8_t { Approve = 0, Review = 1, Decline = 2 };

constexpr int kNumChannels = 4;
constexpr int kNumFeatures = 8;
constexpr int kBlock       = 256;

struct Transaction {
    int64_t  timestamp;   // seconds since epoch
    double   amount;
    uint32_t accountId;
    uint32_t merchantId;
    float    lat;
    float    lon;
    float    zAmount;     // derived
    float    homeKm;      // derived
    float    score;       // derived
    uint16_t mcc;
    Channel  channel;
    Verdict  verdict;
    uint32_t ruleMask;    // derived
};

struct Account {
    double   meanAmount;
    double   m2Amount;
    double   balance;
    int64_t  lastSeen;
    uint32_t firstTxn;
    uint32_t txnCount;
    float    homeLat;
    float    homeLon;
    float    riskPrior;
    float    channelShare[kNumChannels];
    int32_t  burst;       // most transactions within one hour
    int32_t  alerts;
    uint16_t segment;
    uint8_t  tier;
    uint8_t  frozen;
};

struct Merchant {
    float    risk;
    float    lat;
    float    lon;
    int32_t  alerts;
    uint16_t mcc;
    uint16_t country;
};

struct RoundStats {
    unsigned long long declined;
    unsigned long long reviewed;
    unsigned int       frozenAccounts;
    unsigned int       maxAlerts;
};

enum Rule : uint32_t {
    kRuleLargeAmount  = 1u << 0,
    kRuleFarFromHome  = 1u << 1,
    kRuleBurst        = 1u << 2,
    kRuleRareChannel  = 1u << 3,
    kRuleMccMismatch  = 1u << 4,
    kRuleOverBalance  = 1u << 5,
};

__constant__ float c_weights[kNumFeatures + 1];

// ---------------------------------------------------------------- device ---

__device__ __forceinline__ float greatCircleKm(float lat1, float lon1, float lat2, float lon2)
{
    const float rad  = 0.017453292f;
    const float dLat = (lat2 - lat1) * rad * 0.5f;
    const float dLon = (lon2 - lon1) * rad * 0.5f;
    const float sLat = sinf(dLat);
    const float sLon = sinf(dLon);
    const float a    = sLat * sLat + cosf(lat1 * rad) * cosf(lat2 * rad) * sLon * sLon;
    return 12742.0f * asinf(fminf(1.0f, sqrtf(a)));
}

__global__ void rebuildProfiles(Account* accounts, int numAccounts, const Transaction* txns)
{
    const int a = blockIdx.x * blockDim.x + threadIdx.x;
    if (a >= numAccounts) return;

    Account& acc = accounts[a];
    const uint32_t first = acc.firstTxn;
    const uint32_t last  = first + acc.txnCount;

    double mean = 0.0, m2 = 0.0;
    int    perChannel[kNumChannels] = {0, 0, 0, 0};
    int    burst = 0;
    uint32_t windowStart = first;
    int64_t  lastSeen = 0;

    for (uint32_t t = first; t < last; ++t) {
        const double x     = txns[t].amount;
        const double delta = x - mean;
        mean += delta / double(t - first + 1);
        m2   += delta * (x - mean);

        perChannel[static_cast<int>(txns[t].channel)]++;

        lastSeen = txns[t].timestamp;
        while (lastSeen - txns[windowStart].timestamp > 3600) ++windowStart;
        burst = max(burst, int(t - windowStart) + 1);
    }

    acc.meanAmount = mean;
    acc.m2Amount   = m2;
    acc.lastSeen   = lastSeen;
    acc.burst      = burst;
    acc.alerts     = 0;
    const float inv = acc.txnCount ? 1.0f / acc.txnCount : 0.0f;
    for (int c = 0; c < kNumChannels; ++c)
        acc.channelShare[c] = perChannel[c] * inv;
}

__global__ void deriveFeatures(Transaction* txns, int numTxns,
                               const Account* __restrict__ accounts,
                               const Merchant* __restrict__ merchants)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= numTxns) return;

    Transaction t = txns[i];                       // whole record into registers
    const Account&  acc = accounts[t.accountId];
    const Merchant& mer = merchants[t.merchantId];

    const double var = acc.txnCount > 1 ? acc.m2Amount / (acc.txnCount - 1) : 0.0;
    const double sd  = sqrt(var) + 1.0;

    t.zAmount = static_cast<float>((t.amount - acc.meanAmount) / sd);
    t.homeKm  = greatCircleKm(t.lat, t.lon, acc.homeLat, acc.homeLon);

    uint32_t mask = 0;
    if (t.zAmount > 2.5f)                                        mask |= kRuleLargeAmount;
    if (t.homeKm > 800.0f && t.channel == Channel::CardPresent)  mask |= kRuleFarFromHome;
    if (acc.burst >= 4)                                          mask |= kRuleBurst;
    if (acc.channelShare[static_cast<int>(t.channel)] < 0.15f)   mask |= kRuleRareChannel;
    if (mer.mcc != t.mcc)                                        mask |= kRuleMccMismatch;
    if (t.amount > acc.balance)                                  mask |= kRuleOverBalance;
    t.ruleMask = mask;

    txns[i] = t;
}

__global__ void scoreTransactions(Transaction* txns, int numTxns, const Account* accounts,
                                  const Merchant* merchants, float declineAt, float reviewAt,
                                  RoundStats* stats)
{
    __shared__ unsigned int blockDeclined;
    __shared__ unsigned int blockReviewed;
    if (threadIdx.x == 0) { blockDeclined = 0; blockReviewed = 0; }
    __syncthreads();

    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < numTxns) {
        Transaction* t   = &txns[i];
        const Account* a = accounts + t->accountId;

        float f[kNumFeatures];
        f[0] = fminf(fmaxf(t->zAmount, -4.0f), 8.0f);
        f[1] = log1pf(t->homeKm) * 0.2f;
        f[2] = a->riskPrior;
        f[3] = merchants[t->merchantId].risk;
        f[4] = __popc(t->ruleMask);
        f[5] = (t->channel == Channel::Online) ? 1.0f : 0.0f;
        f[6] = a->frozen ? 1.0f : 0.0f;
        f[7] = a->tier * 0.25f;

        float z = c_weights[kNumFeatures];
#pragma unroll
        for (int k = 0; k < kNumFeatures; ++k) z += c_weights[k] * f[k];

        const float p = 1.0f / (1.0f + expf(-z));
        t->score = p;
        if (p >= declineAt) {
            t->verdict = Verdict::Decline;
            atomicAdd(&blockDeclined, 1u);
        } else if (p >= reviewAt) {
            t->verdict = Verdict::Review;
            atomicAdd(&blockReviewed, 1u);
        } else {
            t->verdict = Verdict::Approve;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        if (blockDeclined) atomicAdd(&stats->declined, (unsigned long long)blockDeclined);
        if (blockReviewed) atomicAdd(&stats->reviewed, (unsigned long long)blockReviewed);
    }
}

__global__ void escalateDeclines(const Transaction* txns, int numTxns, Account* accounts,
                                 Merchant* merchants)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= numTxns) return;
    if (txns[i].verdict != Verdict::Decline) return;
    atomicAdd(&accounts[txns[i].accountId].alerts, 1);
    atomicAdd(&merchants[txns[i].merchantId].alerts, 1);
}

__global__ void freezeAccounts(Account* accounts, int numAccounts, int maxAlerts, RoundStats* stats)
{
    const int a = blockIdx.x * blockDim.x + threadIdx.x;
    if (a >= numAccounts) return;
    const int alerts = accounts[a].alerts;
    if (alerts == 0) return;
    atomicMax(&stats->maxAlerts, (unsigned int)alerts);
    if (alerts >= maxAlerts && !accounts[a].frozen) {
        accounts[a].frozen = 1;
        atomicAdd(&stats->frozenAccounts, 1u);
    }
}

// ------------------------------------------------------------------ host ---

template <typename T>
class DeviceBuffer {
public:
    explicit DeviceBuffer(size_t n) : n_(n) { CUDA_CALL(cudaMalloc(&p_, n * sizeof(T))); }
    explicit DeviceBuffer(const std::vector<T>& v) : DeviceBuffer(v.size()) { upload(v); }
    ~DeviceBuffer() { cudaFree(p_); }
    DeviceBuffer(const DeviceBuffer&)            = delete;
    DeviceBuffer& operator=(const DeviceBuffer&) = delete;

    void upload(const std::vector<T>& v)
    {
        CUDA_CALL(cudaMemcpy(p_, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
    }
    std::vector<T> download() const
    {
        std::vector<T> v(n_);
        CUDA_CALL(cudaMemcpy(v.data(), p_, n_ * sizeof(T), cudaMemcpyDeviceToHost));
        return v;
    }
    T*  get() const { return p_; }
    int size() const { return static_cast<int>(n_); }

private:
    T*     p_ = nullptr;
    size_t n_ = 0;
};

struct DataSet {
    std::vector<Transaction> txns;
    std::vector<Account>     accounts;
    std::vector<Merchant>    merchants;
};

DataSet synthesize(int numAccounts, int numMerchants)
{
    std::mt19937 rng(20240611u);
    auto uni = [&rng]() { return (rng() >> 8) * (1.0f / 16777216.0f); };

    DataSet d;
    d.merchants.resize(numMerchants);
    for (auto& m : d.merchants) {
        m.risk    = uni() * uni();
        m.lat     = 36.0f + 20.0f * uni();
        m.lon     = -8.0f + 30.0f * uni();
        m.alerts  = 0;
        m.mcc     = uint16_t(4000 + rng() % 600);
        m.country = uint16_t(rng() % 40);
    }

    d.accounts.resize(numAccounts);
    d.txns.reserve(size_t(numAccounts) * 13);
    for (int a = 0; a < numAccounts; ++a) {
        Account& acc  = d.accounts[a];
        acc           = Account{};
        acc.firstTxn  = uint32_t(d.txns.size());
        acc.txnCount  = 4 + rng() % 19;
        acc.homeLat   = 36.0f + 20.0f * uni();
        acc.homeLon   = -8.0f + 30.0f * uni();
        acc.riskPrior = uni();
        acc.balance   = 200.0 + 9000.0 * uni() * uni();
        acc.segment   = uint16_t(rng() % 12);
        acc.tier      = uint8_t(rng() % 4);

        const double typical = 8.0 + 240.0 * uni() * uni();
        int64_t now = 1700000000LL + rng() % 86400;
        for (uint32_t k = 0; k < acc.txnCount; ++k) {
            Transaction t{};
            now += (rng() % 5 == 0) ? rng() % 900 : 1800 + rng() % 90000;
            const bool odd = rng() % 29 == 0;
            t.timestamp  = now;
            t.amount     = std::floor(typical * (0.2 + 1.6 * uni()) * (odd ? 12.0 : 1.0) * 100.0) / 100.0;
            t.accountId  = uint32_t(a);
            t.merchantId = rng() % numMerchants;
            t.channel    = static_cast<Channel>(rng() % 7 < 4 ? 0 : rng() % 4);
            const bool travel = rng() % 17 == 0;
            t.lat = acc.homeLat + (uni() - 0.5f) * (travel ? 24.0f : 0.8f);
            t.lon = acc.homeLon + (uni() - 0.5f) * (travel ? 30.0f : 0.8f);
            t.mcc = rng() % 50 == 0 ? uint16_t(4000 + rng() % 600) : d.merchants[t.merchantId].mcc;
            d.txns.push_back(t);
        }
    }
    return d;
}

class Engine {
public:
    explicit Engine(const DataSet& d)
        : txns_(d.txns), accounts_(d.accounts), merchants_(d.merchants), stats_(1)
    {
        const float w[kNumFeatures + 1] = {0.55f, 0.35f, 0.8f, 1.1f, 0.75f, 0.3f, 1.4f, -0.4f, -3.7f};
        CUDA_CALL(cudaMemcpyToSymbol(c_weights, w, sizeof(w)));
        CUDA_CALL(cudaMemset(stats_.get(), 0, sizeof(RoundStats)));
    }

    void round(int r)
    {
        const float declineAt = 0.80f + 0.01f * (r % 5);
        const int gt = blocks(txns_.size());
        const int ga = blocks(accounts_.size());

        rebuildProfiles<<<ga, kBlock>>>(accounts_.get(), accounts_.size(), txns_.get());
        deriveFeatures<<<gt, kBlock>>>(txns_.get(), txns_.size(), accounts_.get(), merchants_.get());
        scoreTransactions<<<gt, kBlock>>>(txns_.get(), txns_.size(), accounts_.get(),
                                          merchants_.get(), declineAt, 0.5f, stats_.get());
        escalateDeclines<<<gt, kBlock>>>(txns_.get(), txns_.size(), accounts_.get(), merchants_.get());
        freezeAccounts<<<ga, kBlock>>>(accounts_.get(), accounts_.size(), 2, stats_.get());
        CUDA_CALL(cudaGetLastError());
    }

    void report() const
    {
        const auto s = stats_.download()[0];
        std::printf("check declined %llu\n", s.declined);
        std::printf("check reviewed %llu\n", s.reviewed);
        std::printf("check frozen %u\n", s.frozenAccounts);
        std::printf("check max_alerts %u\n", s.maxAlerts);

        long long scoreSum = 0, ruleSum = 0;
        for (const auto& t : txns_.download()) {
            scoreSum += std::llround(t.score * 1000.0f);
            ruleSum  += t.ruleMask;
        }
        long long merchantAlerts = 0;
        int idx = 0;
        for (const auto& m : merchants_.download()) merchantAlerts += (long long)m.alerts * (++idx % 97);
        std::printf("check score_milli %lld\n", scoreSum);
        std::printf("check rule_sum %lld\n", ruleSum);
        std::printf("check merchant_alerts %lld\n", merchantAlerts);
    }

private:
    static int blocks(int n) { return (n + kBlock - 1) / kBlock; }

    DeviceBuffer<Transaction> txns_;
    DeviceBuffer<Account>     accounts_;
    DeviceBuffer<Merchant>    merchants_;
    DeviceBuffer<RoundStats>  stats_;
};

} // namespace fraud

int main(int argc, char** argv)
{
    const int numAccounts = argc > 1 ? std::atoi(argv[1]) : 300000;
    const int rounds      = argc > 2 ? std::atoi(argv[2]) : 20;

    try {
        const auto data = fraud::synthesize(numAccounts, 20000);
        std::fprintf(stderr, "%zu transactions, %d accounts\n", data.txns.size(), numAccounts);
        fraud::Engine engine(data);

        engine.round(0);
        CUDA_CALL(cudaDeviceSynchronize());

        cudaEvent_t start, stop;
        CUDA_CALL(cudaEventCreate(&start));
        CUDA_CALL(cudaEventCreate(&stop));
        CUDA_CALL(cudaEventRecord(start));
        for (int r = 1; r <= rounds; ++r) engine.round(r);
        CUDA_CALL(cudaEventRecord(stop));
        CUDA_CALL(cudaEventSynchronize(stop));
        float ms = 0.0f;
        CUDA_CALL(cudaEventElapsedTime(&ms, start, stop));

        engine.report();
        std::printf("time_ms %.3f\n", ms);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "fatal: %s\n", e.what());
        return 1;
    }
    return 0;
}
