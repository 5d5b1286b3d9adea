// Insurance fraud triage.
//
// A weekly batch run: every step is six business days. Open claims are screened against cheap rules
// (filter), suspicious ones are queued, joined with the policy (sorted by policy number) and the
// provider, scored, and the outcome is aggregated into both tables with integer atomics. Closed
// records are taken over by claims that newly arrive.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include <cuda_runtime.h>

#define CHECK_CUDA(e) checkCuda((e), __LINE__)
static void checkCuda(cudaError_t e, int line)
{
    if (e == cudaSuccess) return;
    std::fprintf(stderr, "claims_triage: line %d: %s\n", line, cudaGetErrorName(e));
    std::exit(1);
}

enum class Status : std::uint8_t { Open, Queued, Paid, Denied, Investigated };

enum Rule : std::uint8_t {
    RuleRoundAmount = 1, RuleWeekendSurgery = 2, RuleHighAmount = 4, RuleWatchedProvider = 8,
    RuleLateNotice = 16, RuleUncovered = 32, RuleOverInsured = 64, RuleFrequent = 128
};

struct Claim {
    std::uint64_t claimNo;
    std::uint32_t policyNo;
    std::uint32_t provider;
    double        paid;
    float         billed;
    float         score;
    std::int32_t  serviceDay;
    std::int32_t  noticeDay;
    std::uint16_t procedure;
    std::uint16_t zip3;
    Status        status;
    std::uint8_t  rules;
    std::uint8_t  line;          // motor, home, health, travel
    std::uint8_t  cycles;
};

struct Policy {
    std::uint32_t policyNo;      // ascending
    std::int32_t  fromDay, toDay;
    float         insured;
    float         deductible;
    std::uint32_t claimCount;
    unsigned long long paidCents;
    double        reserve;
    std::uint16_t zip3;
    std::uint8_t  riskClass;
    std::uint8_t  flagged;

    Policy(std::uint32_t no, std::int32_t from, std::int32_t to, float sum, float ded, std::uint16_t zip, std::uint8_t risk)
        : policyNo(no), fromDay(from), toDay(to), insured(sum), deductible(ded), claimCount(0), paidCents(0),
          reserve(0.1 * sum), zip3(zip), riskClass(risk), flagged(0) {}
};

struct Provider {
    unsigned long long billedCents;
    std::uint32_t nScored, nFlagged;
    float         suspicion;
    float         usualAmount;
    std::uint16_t zip3;
    std::uint8_t  specialty;
    std::uint8_t  watched;
};

struct DayCounters { unsigned int queued, denied, paid, investigated; };

__host__ __device__ inline std::uint32_t hashU32(std::uint32_t a)
{
    a = (a + 0x7ed55d16u) + (a << 12);
    a = (a ^ 0xc761c23cu) ^ (a >> 19);
    a = (a + 0x165667b1u) + (a << 5);
    a = (a + 0xd3a2646cu) ^ (a << 9);
    return (a ^ 0xb55a4f09u) ^ (a >> 16);
}

__global__ void screenClaims(Claim* claims, int n, const Provider* providers, int day,
                             std::uint32_t* queue, DayCounters* counters)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool suspicious = false;
    if (i < n && claims[i].status == Status::Open && claims[i].noticeDay <= day) {
        const float billed = claims[i].billed;
        std::uint8_t rules = 0;
        if (fmodf(billed, 100.0f) == 0.0f) rules |= RuleRoundAmount;
        if (claims[i].serviceDay % 7 >= 5 && claims[i].procedure >= 700) rules |= RuleWeekendSurgery;
        if (claims[i].noticeDay - claims[i].serviceDay > 45) rules |= RuleLateNotice;
        const Provider& pr = providers[claims[i].provider];
        if (billed > 3.0f * pr.usualAmount) rules |= RuleHighAmount;
        if (pr.watched) rules |= RuleWatchedProvider;
        claims[i].rules = rules;
        suspicious = __popc(rules) >= 2 || (rules & (RuleHighAmount | RuleWatchedProvider));
        if (suspicious) claims[i].status = Status::Queued;
    }
    // one queue reservation per warp
    const unsigned ballot = __ballot_sync(0xffffffffu, suspicious);
    if (ballot == 0) return;
    const int lane = threadIdx.x & 31, leader = __ffs(ballot) - 1;
    unsigned base = 0;
    if (lane == leader) base = atomicAdd(&counters->queued, (unsigned)__popc(ballot));
    base = __shfl_sync(0xffffffffu, base, leader);
    if (suspicious) queue[base + __popc(ballot & ((1u << lane) - 1u))] = (std::uint32_t)i;
}

__device__ int findPolicy(const Policy* policies, int n, std::uint32_t no)
{
    int lo = 0, hi = n - 1;
    while (lo <= hi) {
        const int mid = (lo + hi) >> 1;
        const std::uint32_t key = policies[mid].policyNo;
        if (key == no) return mid;
        if (key < no) lo = mid + 1; else hi = mid - 1;
    }
    return -1;
}

__global__ void joinAndScore(Claim* claims, const std::uint32_t* queue, DayCounters* counters, Policy* policies,
                             int nPolicies, Provider* providers)
{
    const unsigned count = counters->queued;
    for (unsigned q = blockIdx.x * blockDim.x + threadIdx.x; q < count; q += gridDim.x * blockDim.x) {
        Claim& c = claims[queue[q]];
        const int p = findPolicy(policies, nPolicies, c.policyNo);
        if (p < 0) {                                        // forged policy number
            c.status = Status::Denied;
            c.score = 1.0f;
            atomicAdd(&counters->denied, 1u);
            continue;
        }
        Provider& pr = providers[c.provider];
        std::uint8_t rules = c.rules;
        if (c.serviceDay < policies[p].fromDay || c.serviceDay > policies[p].toDay) rules |= RuleUncovered;
        if (c.billed > policies[p].insured) rules |= RuleOverInsured;
        if (policies[p].flagged || policies[p].riskClass > 5) rules |= RuleFrequent;
        float score = 0.08f * __popc(rules) + 0.35f * pr.suspicion + 0.04f * policies[p].riskClass;
        if (policies[p].zip3 != c.zip3) score += 0.07f;
        if (pr.zip3 != c.zip3) score += 0.05f;
        if (rules & RuleUncovered) score += 0.25f;
        score += 0.06f * log1pf(c.billed / (1.0f + pr.usualAmount));
        c.rules = rules;
        c.score = score;
        const bool investigate = score > 0.62f;
        if (investigate) {
            c.status = Status::Investigated;
            atomicAdd(&pr.nFlagged, 1u);
            atomicAdd(&counters->investigated, 1u);
        } else {
            c.status = Status::Open;
            c.rules = 0;
        }
        atomicAdd(&pr.nScored, 1u);
        atomicAdd(&pr.billedCents, (unsigned long long)(c.billed * 100.0f));
        atomicAdd(&policies[p].claimCount, investigate ? 3u : 1u);
    }
}

// Pays what is still open a while after notice; replaces finished records by new claims.
__global__ void settleClaims(Claim* claims, int n, Policy* policies, int nPolicies, int day, DayCounters* counters)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Claim& c = claims[i];
    if (c.status == Status::Open) {
        if (c.noticeDay + 6 > day) return;
        const int p = findPolicy(policies, nPolicies, c.policyNo);
        if (p < 0) {
            c.status = Status::Denied;
            atomicAdd(&counters->denied, 1u);
            return;
        }
        const float amount = fminf(c.billed - policies[p].deductible, policies[p].insured);
        if (amount > 0.0f) {
            c.paid += amount;
            atomicAdd(&policies[p].paidCents, (unsigned long long)(amount * 100.0f));
        }
        c.status = Status::Paid;
        atomicAdd(&counters->paid, 1u);
        return;
    }
    const std::uint32_t h = hashU32((std::uint32_t)c.claimNo + 977u * (std::uint32_t)day);
    if ((h & 3u) != 0u) return;
    c.claimNo += 1ull << 32;
    c.billed = c.status == Status::Investigated ? c.billed * 0.9f + 5.0f : (float)((h >> 8) % 4000u) + 20.0f;
    c.serviceDay = day - (int)((h >> 4) % 60u);
    c.noticeDay = day + 1 + (int)((h >> 12) % 4u);
    c.status = Status::Open;
    c.rules = 0;
    c.cycles++;
}

__global__ void refreshProviders(Provider* providers, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Provider& p = providers[i];
    if (p.nScored == 0) { p.suspicion *= 0.98f; return; }
    const float ratio = (float)p.nFlagged / (float)(p.nScored + 4u);
    p.suspicion = 0.8f * p.suspicion + 0.2f * ratio;
    p.watched = p.suspicion > 0.3f;
    const float mean = (float)((double)p.billedCents / p.nScored * 0.01);
    p.usualAmount = 0.95f * p.usualAmount + 0.05f * fminf(mean, 4.0f * p.usualAmount);
}

__global__ void refreshPolicies(Policy* policies, int n, int day)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || policies[i].toDay < day) return;
    policies[i].reserve = 0.99 * policies[i].reserve + 1.0e-4 * (double)policies[i].paidCents;
    policies[i].flagged = policies[i].claimCount > 12u;
    if (policies[i].flagged && policies[i].riskClass < 7) policies[i].riskClass++;
}

static Claim makeClaim(std::mt19937& rng, std::uint64_t no, std::uint32_t nPolicies, std::uint32_t nProviders)
{
    const std::uint32_t a = rng(), b = rng();
    Claim c{};
    c.claimNo = no;
    c.policyNo = 1000u + 3u * (a % nPolicies) + (b % 97u == 0u);          // a few do not exist
    c.provider = hashU32(a ^ (b >> 7)) % nProviders;
    c.billed = (b & 15u) == 0u ? 100.0f * (float)(1u + (b >> 4) % 90u) : 25.0f + (float)((b >> 4) % 300000u) * 0.01f;
    c.serviceDay = (std::int32_t)(a >> 8) % 300;
    c.noticeDay = c.serviceDay + (std::int32_t)((b >> 16) % 70u);
    c.procedure = (std::uint16_t)((a >> 5) % 900u);
    c.zip3 = (std::uint16_t)((a % nPolicies + (b % 13u == 0u)) % 800u);
    c.line = (std::uint8_t)(b & 3u);
    return c;
}

static std::vector<Policy> underwrite(std::size_t count)
{
    std::vector<Policy> book;
    book.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t h = hashU32(i * 31u + 7u);
        const std::int32_t from = (std::int32_t)(h % 200u) - 100;
        book.emplace_back(1000u + 3u * i, from, from + 365, 1500.0f + (float)(h >> 20), 50.0f * (float)(h >> 8 & 7u),
                          (std::uint16_t)(i % 800u), (std::uint8_t)(h >> 12 & 7u));
    }
    return book;
}

template <typename T>
T* upload(const std::vector<T>& host)
{
    T* dev = nullptr;
    CHECK_CUDA(cudaMalloc((void**)&dev, host.size() * sizeof(T)));
    CHECK_CUDA(cudaMemcpy(dev, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
    return dev;
}

template <typename T>
void download(std::vector<T>& host, const T* dev)
{
    CHECK_CUDA(cudaMemcpy(host.data(), dev, host.size() * sizeof(T), cudaMemcpyDeviceToHost));
}

int main(int argc, char** argv)
{
    const int n = argc > 1 ? std::max(1, std::atoi(argv[1])) : 9000000;
    const int nPolicies = std::max(64, n / 4), nProviders = std::max(16, n / 60);

    std::vector<Policy> policies = underwrite(nPolicies);
    std::vector<Provider> providers;
    for (int i = 0; i < nProviders; ++i) {
        const std::uint32_t h = hashU32(i ^ 0x5bd1e995u);
        providers.push_back({0ull, 0u, 0u, (float)(h % 100u) * 0.003f, 300.0f + (float)(h >> 22), (std::uint16_t)(h % 800u),
                             (std::uint8_t)(h >> 10 & 15u), (std::uint8_t)(h % 41u == 0u)});
    }
    std::vector<Claim> claims;
    claims.reserve(n);
    std::mt19937 rng(7771u);
    for (int i = 0; i < n; ++i)
        claims.emplace_back(makeClaim(rng, (std::uint64_t)i, (std::uint32_t)nPolicies, (std::uint32_t)nProviders));
    std::vector<DayCounters> counters(64, DayCounters{0, 0, 0, 0});

    Claim*       dClaims = upload(claims);
    Policy*      dPolicies = upload(policies);
    Provider*    dProviders = upload(providers);
    DayCounters* dCounters = upload(counters);
    std::uint32_t* dQueue = upload(std::vector<std::uint32_t>(n, 0u));

    const int warmup = 2, days = 22, tpb = 256, grid = (n + tpb - 1) / tpb;
    cudaEvent_t from, to;
    CHECK_CUDA(cudaEventCreate(&from));
    CHECK_CUDA(cudaEventCreate(&to));
    for (int d = 0; d < warmup + days; ++d) {
        const int today = 150 + 6 * d;
        if (d == warmup) CHECK_CUDA(cudaEventRecord(from));
        screenClaims<<<grid, tpb>>>(dClaims, n, dProviders, today, dQueue, dCounters + d);
        joinAndScore<<<1056, 128>>>(dClaims, dQueue, dCounters + d, dPolicies, nPolicies, dProviders);
        settleClaims<<<grid, tpb>>>(dClaims, n, dPolicies, nPolicies, today, dCounters + d);
        refreshProviders<<<(nProviders + tpb - 1) / tpb, tpb>>>(dProviders, nProviders);
        refreshPolicies<<<(nPolicies + tpb - 1) / tpb, tpb>>>(dPolicies, nPolicies, today);
        CHECK_CUDA(cudaGetLastError());
    }
    CHECK_CUDA(cudaEventRecord(to));
    CHECK_CUDA(cudaEventSynchronize(to));
    float ms = 0.0f;
    CHECK_CUDA(cudaEventElapsedTime(&ms, from, to));

    download(claims, dClaims);
    download(policies, dPolicies);
    download(providers, dProviders);
    download(counters, dCounters);
    double sum = 0.0;
    for (const Claim& c : claims) sum += 1e-3 * c.paid + c.score + (double)c.status + 0.01 * c.rules + c.cycles;
    for (const Policy& p : policies) sum += 1e-3 * p.reserve + p.claimCount + 1e-6 * (double)p.paidCents + p.riskClass;
    for (const Provider& p : providers) sum += p.suspicion + 1e-3 * p.usualAmount + p.nFlagged + 5.0 * p.watched;
    for (const DayCounters& d : counters) sum += d.queued + 2.0 * d.denied + 3.0 * d.investigated + 0.5 * d.paid;
    std::printf("check %.6g\n", sum);
    std::printf("time_ms %.5f\n", ms / days);
    return 0;
}
