// tax_audit.cu: selects tax returns for audit.
// Wage statements are summed per taxpayer in a hash table, joined with the returns,
// compared with peers of the same postal area and scored by rules.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>
typedef unsigned long long u64;

#define CUDA_TRY(expr) if (cudaError_t e = (expr); e != cudaSuccess) { \
        fprintf(stderr, "%s (line %d)\n", cudaGetErrorString(e), __LINE__); exit(2); }

enum ReturnFlags : uint32_t {
    kSelfEmployed = 1u << 0, kItemized = 1u << 1, kForeign = 1u << 2, kCashBusiness = 1u << 3, kPriorAudit = 1u << 4,
    kMissingW2 = 1u << 8, kWageMismatch = 1u << 9, kUnderpaid = 1u << 10,      // set by the join
};

struct Deductions {
    float mortgage, charity, medical, business, travel, education;
};

struct TaxReturn {
    u64        ssn;
    double     wages, otherIncome;
    Deductions ded;
    float      taxReported, taxComputed, w2Wages, withheld;
    int        area;
    uint32_t   flags;
    char       filing, dependents;   // 'S', 'M', 'H'
    short      state;
    float      ratio, score;      // deductions / income, audit score
    int        hits;
};

struct W2Form {
    u64   ssn;
    int   employer, wageCents, withheldCents;
    short year;
    char  box12, corrected;
};

struct WageSlot {                 // open addressing, ssn == 0 is free
    u64 ssn, wageCents, withheldCents;
    int forms, corrections;
};

struct AreaStat {
    u64   returns;
    u64   ratioSum, ratioSq;      // 1e-6 units
    u64   income;
    float meanRatio, sdRatio;
    int   flagged;
    short tier;
};

struct Rule {
    int      kind;                // 0 ratio z-score, 1 flag mask, 2 deduction share, 3 income, 4 mismatch
    int      field;
    float    limit, weight;
    uint32_t mask;
};

struct Bracket { float from, rate; };
constexpr int kRules = 10, kBrackets = 6, kBins = 64;
__constant__ Rule c_rules[kRules];
__constant__ Bracket c_brackets[kBrackets];

__host__ __device__ static inline u64 mix64(u64 x)
{
    x ^= x >> 33; x *= 0xff51afd7ed558ccdull; x ^= x >> 33; x *= 0xc4ceb9fe1a85ec53ull;
    return x ^ (x >> 33);
}

__global__ void clearTable(WageSlot *slots, size_t n)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        slots[i] = WageSlot{0, 0, 0, 0, 0};
}

__global__ void insertForms(const W2Form *__restrict__ forms, int n, WageSlot *slots, uint32_t mask)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const W2Form f = forms[i];
    uint32_t h = (uint32_t)mix64(f.ssn) & mask;
    for (;;) {
        u64 prev = atomicCAS(&slots[h].ssn, 0ull, f.ssn);
        if (prev == 0ull || prev == f.ssn) break;
        h = (h + 1) & mask;
    }
    WageSlot *s = slots + h;
    atomicAdd(&s->wageCents, (u64)f.wageCents);
    atomicAdd(&s->withheldCents, (u64)f.withheldCents);
    atomicAdd(&s->forms, 1);
    if (f.corrected) atomicAdd(&s->corrections, 1);
}

__device__ static const WageSlot *findSlot(const WageSlot *slots, uint32_t mask, u64 ssn)
{
    for (uint32_t h = (uint32_t)mix64(ssn) & mask;; h = (h + 1) & mask) {
        if (slots[h].ssn == ssn) return &slots[h];
        if (slots[h].ssn == 0) return nullptr;
    }
}

__device__ static float sumDeductions(const Deductions &d, uint32_t flags)
{
    float s = d.education;
    if (flags & kItemized) s += d.mortgage + d.charity + d.medical;
    if (flags & kSelfEmployed) s += d.business + 0.5f * d.travel;
    return s;
}

__device__ static float computeTax(float taxable, char filing)
{
    float scale = filing == 'M' ? 2.0f : (filing == 'H' ? 1.4f : 1.0f), tax = 0.0f;
    for (int b = 0; b < kBrackets; ++b) {
        float lo = c_brackets[b].from * scale;
        if (taxable <= lo) break;
        float hi = b + 1 < kBrackets ? c_brackets[b + 1].from * scale : taxable;
        tax += c_brackets[b].rate * (fminf(taxable, hi) - lo);
    }
    return tax;
}

__global__ void joinReturns(TaxReturn *ret, int n, const WageSlot *slots, uint32_t mask, AreaStat *areas)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    TaxReturn &r = ret[i];
    uint32_t flags = r.flags & 0xffu;
    float paid = 0.0f;
    if (const WageSlot *s = findSlot(slots, mask, r.ssn)) {
        double w = s->wageCents * 0.01;
        paid = (float)(s->withheldCents * 0.01);
        r.w2Wages = (float)w;
        if (fabs(w - r.wages) > 100.0 + 0.01 * w && s->corrections == 0) flags |= kWageMismatch;
    } else {
        r.w2Wages = 0.0f;
        if (r.wages > 0.0) flags |= kMissingW2;
    }
    double income = r.wages + r.otherIncome;
    float ded = sumDeductions(r.ded, flags);
    float standard = (r.filing == 'M' ? 24000.0f : 12000.0f) + 500.0f * r.dependents;
    float taxable = fmaxf(0.0f, (float)income - fmaxf(ded, standard));
    float tax = computeTax(taxable, r.filing);
    r.taxComputed = tax; r.withheld = paid;
    if (r.taxReported < 0.95f * tax - 50.0f) flags |= kUnderpaid;
    float ratio = income > 1.0 ? fminf(4.0f, ded / (float)income) : 0.0f;
    r.ratio = ratio; r.flags = flags;

    AreaStat *a = &areas[r.area];
    atomicAdd(&a->returns, 1ull);
    atomicAdd(&a->ratioSum, (u64)(ratio * 1.0e6f));
    atomicAdd(&a->ratioSq, (u64)(ratio * ratio * 1.0e6f));
    atomicAdd(&a->income, (u64)income);
}

__global__ void closeAreas(AreaStat *areas, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    AreaStat a = areas[i];
    double cnt = a.returns ? (double)a.returns : 1.0;
    double m = a.ratioSum * 1.0e-6 / cnt, q = a.ratioSq * 1.0e-6 / cnt;
    a.meanRatio = (float)m;
    a.sdRatio = (float)sqrt(fmax(1.0e-4, q - m * m));
    double mean = a.income / cnt;
    a.tier = mean > 90000.0 ? 2 : (mean > 60000.0 ? 1 : 0);
    a.returns = a.ratioSum = a.ratioSq = a.income = 0;      // ready for the next pass
    areas[i] = a;
}

__global__ void scoreReturns(TaxReturn *ret, int n, AreaStat *areas, unsigned *hist, float season)
{
    __shared__ unsigned bins[kBins];
    for (int b = threadIdx.x; b < kBins; b += blockDim.x) bins[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const float income = (float)(ret[i].wages + ret[i].otherIncome);
        const uint32_t flags = ret[i].flags;
        const AreaStat &peer = areas[ret[i].area];
        float s = 0.0f; int hits = 0;
        for (int k = 0; k < kRules; ++k) {
            const Rule &rule = c_rules[k];
            bool hit = false;
            switch (rule.kind) {
            case 0: hit = (ret[i].ratio - peer.meanRatio) > rule.limit * peer.sdRatio; break;
            case 1: hit = (flags & rule.mask) == rule.mask; break;
            case 2: {
                const Deductions &d = ret[i].ded;
                float v = rule.field == 0 ? d.charity : rule.field == 1 ? d.travel : d.medical;
                hit = v > rule.limit * income; break;
            }
            case 3: hit = income > rule.limit * (1 + peer.tier); break;
            default: hit = fabsf(ret[i].taxReported - ret[i].taxComputed) > rule.limit; break;
            }
            if (hit) { s += rule.weight; hits++; }
        }
        s = season * s + (1.0f - season) * ret[i].score;
        ret[i].score = s;
        ret[i].hits += hits;
        if (s > 4.0f) atomicAdd(&areas[ret[i].area].flagged, 1);
        atomicAdd(&bins[min(kBins - 1, (int)(s * 4.0f))], 1u);
    }
    __syncthreads();
    for (int b = threadIdx.x; b < kBins; b += blockDim.x)
        if (bins[b]) atomicAdd(&hist[b], bins[b]);
}

template <class T> static T *toDevice(const std::vector<T> &v)
{
    T *p = nullptr;
    CUDA_TRY(cudaMalloc(&p, v.size() * sizeof(T)));
    CUDA_TRY(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
    return p;
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 1500000;
    const int nForms = n + n / 2, nAreas = n / 150 + 1, steps = 25;
    uint32_t cap = 1024;
    while (cap < 2u * (uint32_t)n) cap <<= 1;
    auto unit = [](u64 k) { return (double)(mix64(k) >> 11) / 9007199254740992.0; };

    std::vector<TaxReturn> ret(n);
    std::vector<W2Form> forms(nForms);
    std::vector<AreaStat> areas(nAreas);
    for (auto &a : areas) a = AreaStat{};
    for (int i = 0; i < n; ++i) {
        u64 h = mix64(i + 1);
        TaxReturn &r = ret[i];
        r = TaxReturn{};
        r.ssn = 100000000ull + 7ull * i;
        r.flags = (uint32_t)(h & 0x1f) & (uint32_t)(h >> 8);
        r.filing = "SSMMH"[h % 5];
        r.dependents = (char)((h >> 16) % 5);
        r.state = (short)((h >> 20) % 50);
        r.area = (int)((h >> 24) % nAreas);
        r.otherIncome = (int)(30000.0 * unit(h) * unit(h + 1));
        float scale = 9000.0f * (float)unit(h + 2);
        r.ded = Deductions{scale, 0.3f * scale * (float)unit(h + 3), 0.4f * scale * (float)unit(h + 4),
                           1.2f * scale, 0.5f * scale * (float)unit(h + 5), 300.0f};
    }
    for (int k = 0; k < nForms; ++k) {
        u64 h = mix64(k + 77777777ull);
        int owner = k < n ? k - (k % 40 == 0 && k > 0) : (int)(h % n);   // some have no form
        int cents = 1000000 + (int)(9000000.0 * unit(h + 9));
        forms[k] = W2Form{ret[owner].ssn, (int)(h >> 40), cents, cents / 6, 2023, (char)(h & 7), (char)((h >> 12) % 30 == 0)};
        if ((h >> 20) % 25) ret[owner].wages += cents / 100;
    }
    for (auto &r : ret) r.taxReported = (float)((r.wages + r.otherIncome) * (0.08 + 0.1 * unit(r.ssn)));

    const Rule rules[kRules] = {{0, 0, 1.5f, 1.0f, 0}, {0, 0, 2.5f, 2.0f, 0}, {1, 0, 0, 1.5f, kWageMismatch}, {1, 0, 0, 1.0f, kMissingW2},
        {1, 0, 0, 0.75f, kSelfEmployed | kCashBusiness}, {1, 0, 0, 2.0f, kUnderpaid | kPriorAudit},
        {2, 0, 0.03f, 0.5f, 0}, {2, 1, 0.05f, 0.5f, 0}, {3, 0, 80000.0f, 0.5f, 0}, {4, 0, 4000.0f, 1.25f, 0}};
    const Bracket brackets[kBrackets] = {{0, 0.10f}, {9700, 0.12f}, {39475, 0.22f}, {84200, 0.24f}, {160725, 0.32f}, {204100, 0.35f}};
    CUDA_TRY(cudaMemcpyToSymbol(c_rules, rules, sizeof rules));
    CUDA_TRY(cudaMemcpyToSymbol(c_brackets, brackets, sizeof brackets));

    TaxReturn *dRet = toDevice(ret);
    W2Form *dForms = toDevice(forms);
    AreaStat *dAreas = toDevice(areas);
    WageSlot *dSlots; unsigned *dHist;
    CUDA_TRY(cudaMalloc(&dSlots, cap * sizeof(WageSlot)));
    CUDA_TRY(cudaMalloc(&dHist, kBins * sizeof(unsigned)));
    CUDA_TRY(cudaMemset(dHist, 0, kBins * sizeof(unsigned)));

    cudaEvent_t beg, end;
    CUDA_TRY(cudaEventCreate(&beg)); CUDA_TRY(cudaEventCreate(&end));
    for (int s = 0; s <= steps; ++s) {
        if (s == 1) CUDA_TRY(cudaEventRecord(beg));
        clearTable<<<2048, 256>>>(dSlots, cap);
        insertForms<<<(nForms + 255) / 256, 256>>>(dForms, nForms, dSlots, cap - 1);
        joinReturns<<<(n + 255) / 256, 256>>>(dRet, n, dSlots, cap - 1, dAreas);
        closeAreas<<<(nAreas + 127) / 128, 128>>>(dAreas, nAreas);
        scoreReturns<<<1320, 256>>>(dRet, n, dAreas, dHist, 0.25f + 0.01f * s);
    }
    CUDA_TRY(cudaEventRecord(end));
    CUDA_TRY(cudaGetLastError()); CUDA_TRY(cudaEventSynchronize(end));
    float ms = 0;
    CUDA_TRY(cudaEventElapsedTime(&ms, beg, end));

    unsigned hist[kBins];
    CUDA_TRY(cudaMemcpy(hist, dHist, sizeof hist, cudaMemcpyDeviceToHost));
    CUDA_TRY(cudaMemcpy(ret.data(), dRet, n * sizeof(TaxReturn), cudaMemcpyDeviceToHost));
    CUDA_TRY(cudaMemcpy(areas.data(), dAreas, nAreas * sizeof(AreaStat), cudaMemcpyDeviceToHost));
    u64 hsum = 0, hits = 0, flagged = 0, missing = 0, mismatch = 0; double tax = 0, score = 0;
    for (int b = 0; b < kBins; ++b) hsum += (u64)b * hist[b];
    for (const auto &r : ret) {
        hits += r.hits; tax += r.taxComputed; score += r.score;
        missing += (r.flags & kMissingW2) != 0; mismatch += (r.flags & kWageMismatch) != 0;
    }
    for (const auto &a : areas) flagged += a.flagged;
    printf("check %llu/%llu/%llu/%llu/%llu/%.5g/%.5g\n", hsum, hits, flagged, missing, mismatch, tax, score);
    printf("time_ms %.4f\n", ms / steps);
    return 0;
}
