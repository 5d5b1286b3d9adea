// Pre-screening of a hospital network's patients for clinical trials, with
// caliper-matched controls for the treated cohort.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>
#include <cuda_runtime.h>

#define GPU(call)                                                                         \
    if (cudaError_t rc = (call)) {                                                        \
        fprintf(stderr, "%s failed: %s (line %d)\n", #call, cudaGetErrorString(rc), __LINE__); \
        abort();                                                                          \
    }

struct Patient {
    uint32_t mrn;
    uint32_t conditions;      // bit mask of coded diagnoses
    int16_t birthYear;
    int16_t hemoglobin;       // g/L
    int16_t platelets;        // 10^9/L
    int16_t creatinine;       // umol/L
    int16_t weight;           // 0.1 kg
    int16_t height;           // cm
    uint8_t sex;
    uint8_t ecog;
    uint8_t stage;
    uint8_t priorLines;
    uint8_t smoker;
    uint8_t region;
    uint8_t ethnicity;
    uint8_t consent;
    uint8_t marker[6];        // 0 unknown, 1 negative, 2 positive
    int16_t eligible;         // number of trials passed
    int16_t bestTrial;
    float bestScore;
    float propensity;
};

struct Trial {
    int id;
    uint32_t required;
    uint32_t excluded;
    int16_t minAge, maxAge;
    int16_t minHemoglobin;
    int16_t minPlatelets;
    int16_t maxCreatinine;
    uint8_t maxEcog;
    uint8_t minStage, maxStage;
    uint8_t maxLines;
    uint8_t sexAllowed;       // bit 0: f, bit 1: m
    uint8_t markerIndex;
    uint8_t markerValue;      // 0 = any
    uint8_t phase;
    uint16_t regions;         // bit mask
    float weight[4];
    int candidates;
    int firstChoice;
    int slots;
};

struct LabVisit {
    int patient;
    int16_t value;
    uint8_t kind;             // 0 Hb, 1 platelets, 2 creatinine, 3 marker
    uint8_t slot;
};

struct ControlKey {
    float propensity;
    int patient;
    int16_t birthYear;
    uint8_t sex;
    uint8_t stage;
};

constexpr int kYear = 2024;
constexpr int kMaxTrials = 192;

__global__ void applyVisits(Patient* patients, const LabVisit* __restrict__ visits, int n, int round)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const LabVisit v = visits[i];
    Patient* p = patients + v.patient;
    int16_t value = (int16_t)(v.value + ((round * 7 + i) % 5) - 2);
    switch (v.kind) {
    case 0: p->hemoglobin = value; break;
    case 1: p->platelets = (int16_t)(value * 2); break;
    case 2: p->creatinine = value; break;
    default: p->marker[v.slot] = (uint8_t)(1 + ((value + round) & 1)); break;
    }
}

__device__ inline bool passes(const Patient& p, const Trial& t)
{
    int age = kYear - p.birthYear;
    if (age < t.minAge || age > t.maxAge) return false;
    if (!((t.sexAllowed >> p.sex) & 1)) return false;
    if (!((t.regions >> p.region) & 1)) return false;
    if (p.ecog > t.maxEcog || p.priorLines > t.maxLines) return false;
    if (p.stage < t.minStage || p.stage > t.maxStage) return false;
    if ((p.conditions & t.required) != t.required) return false;
    if (p.conditions & t.excluded) return false;
    if (p.hemoglobin < t.minHemoglobin || p.platelets < t.minPlatelets) return false;
    if (p.creatinine > t.maxCreatinine) return false;
    if (t.markerValue && p.marker[t.markerIndex] && p.marker[t.markerIndex] != t.markerValue) return false;
    return true;
}

__device__ inline float score(const Patient& p, const Trial& t)
{
    float s = t.weight[0] * (4 - p.ecog);
    s += t.weight[1] * __popc(p.conditions & ~t.required) * -0.2f;
    s += t.weight[2] * (t.markerValue && p.marker[t.markerIndex] == t.markerValue ? 1.0f : 0.0f);
    s += t.weight[3] * 0.01f * (p.hemoglobin - t.minHemoglobin);
    return s;
}

__global__ void screen(Patient* __restrict__ patients, int n, Trial* trials, int nt)
{
    __shared__ Trial st[kMaxTrials];
    __shared__ int cand[kMaxTrials], first[kMaxTrials];
    for (int t = threadIdx.x; t < nt; t += blockDim.x) {
        st[t] = trials[t];
        cand[t] = first[t] = 0;
    }
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && patients[i].consent) {
        int ok = 0, best = -1;
        float bestScore = -1e9f;
        for (int t = 0; t < nt; ++t) {
            if (!passes(patients[i], st[t])) continue;
            ++ok;
            atomicAdd(&cand[t], 1);
            float s = score(patients[i], st[t]);
            if (s > bestScore) { bestScore = s; best = t; }
        }
        patients[i].eligible = (int16_t)ok;
        patients[i].bestTrial = (int16_t)best;
        patients[i].bestScore = best >= 0 ? bestScore : 0.0f;
        if (best >= 0) atomicAdd(&first[best], 1);
    }
    __syncthreads();
    for (int t = threadIdx.x; t < nt; t += blockDim.x) {
        if (cand[t]) atomicAdd(&trials[t].candidates, cand[t]);
        if (first[t]) atomicAdd(&trials[t].firstChoice, first[t]);
    }
}

__global__ void clearTrials(Trial* trials, int nt)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < nt) trials[t].candidates = trials[t].firstChoice = 0;
}

__global__ void propensityModel(Patient* patients, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const Patient& p = patients[i];
        float bmi = p.weight * 1000.0f / fmaxf(1.0f, (float)p.height * p.height);
        float x = -1.2f + 0.02f * (kYear - p.birthYear) - 0.4f * p.ecog + 0.3f * p.stage + 0.15f * p.priorLines;
        x += 0.25f * p.smoker - 0.01f * (bmi - 25.0f);
        for (int m = 0; m < 6; ++m) x += (p.marker[m] == 2 ? 0.2f : p.marker[m] == 1 ? -0.1f : 0.0f);
        patients[i].propensity = 1.0f / (1.0f + expf(-x));
    }
}

// nearest acceptable control inside the caliper, by binary search and a two-sided walk
__global__ void matchControls(const Patient* __restrict__ patients, const int* __restrict__ treated, int nTreated,
                              const ControlKey* __restrict__ keys, int nKeys, float caliper, int* match)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= nTreated) return;
    const Patient& p = patients[treated[i]];
    float ps = p.propensity;
    int lo = 0, hi = nKeys;
    while (lo < hi) {
        int mid = (lo + hi) >> 1;
        if (keys[mid].propensity < ps) lo = mid + 1; else hi = mid;
    }
    int found = -1, l = lo - 1, r = lo;
    for (int tries = 0; tries < 256 && found < 0; ++tries) {
        float dl = l >= 0 ? ps - keys[l].propensity : 1e9f;
        float dr = r < nKeys ? keys[r].propensity - ps : 1e9f;
        if (fminf(dl, dr) > caliper) break;
        int k = dl < dr ? l-- : r++;
        if (keys[k].sex != p.sex || keys[k].stage != p.stage) continue;
        if (abs(keys[k].birthYear - p.birthYear) > 4) continue;
        found = keys[k].patient;
    }
    match[i] = found;
}

struct CudaFree { void operator()(void* p) const { cudaFree(p); } };
template <class T> using DevPtr = std::unique_ptr<T[], CudaFree>;

template <class T> DevPtr<T> makeDev(size_t n, const T* src = nullptr)
{
    T* p = nullptr;
    GPU(cudaMalloc(&p, n * sizeof(T)));
    if (src) GPU(cudaMemcpy(p, src, n * sizeof(T), cudaMemcpyHostToDevice))
    return DevPtr<T>(p);
}

static uint64_t lcg = 0x1234567ull;
static uint32_t rnd()
{
    lcg = lcg * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(lcg >> 33);
}
static int between(int a, int b) { return a + (int)(rnd() % (uint32_t)(b - a + 1)); }

int main()
{
    const int n = 2500000, nt = 160, nVisits = 600000, nControls = 400000, nTreated = 300000;
    std::vector<Patient> patients(n);
    for (int i = 0; i < n; ++i) {
        Patient& p = patients[i];
        p = Patient{};
        p.mrn = 10000000u + i;
        p.conditions = (rnd() & rnd() & rnd()) | (rnd() % 3 == 0 ? 1u : 0u);
        p.birthYear = (int16_t)between(1934, 2004);
        p.hemoglobin = (int16_t)between(80, 165);
        p.platelets = (int16_t)between(60, 400);
        p.creatinine = (int16_t)between(45, 180);
        p.weight = (int16_t)between(480, 1150);
        p.height = (int16_t)between(150, 198);
        p.sex = (uint8_t)(rnd() & 1);
        p.ecog = (uint8_t)std::min(between(0, 4), between(0, 4));
        p.stage = (uint8_t)between(1, 4);
        p.priorLines = (uint8_t)between(0, 5);
        p.smoker = (uint8_t)(rnd() % 3);
        p.region = (uint8_t)(rnd() % 12);
        p.ethnicity = (uint8_t)(rnd() % 6);
        p.consent = rnd() % 10 != 0;
        for (uint8_t& m : p.marker) m = (uint8_t)(rnd() % 3);
        p.bestTrial = -1;
    }
    std::vector<Trial> trials(nt);
    for (int t = 0; t < nt; ++t) {
        Trial& q = trials[t];
        q = Trial{};
        q.id = 4000 + t;
        q.required = rnd() % 3 ? 1u << (rnd() % 6) : 0u;
        q.excluded = (1u << (8 + rnd() % 20)) | (1u << (8 + rnd() % 20));
        q.excluded &= ~q.required;
        q.minAge = (int16_t)between(18, 50);
        q.maxAge = (int16_t)(q.minAge + between(15, 45));
        q.minHemoglobin = (int16_t)between(80, 110);
        q.minPlatelets = (int16_t)between(75, 150);
        q.maxCreatinine = (int16_t)between(100, 170);
        q.maxEcog = (uint8_t)between(1, 3);
        q.minStage = (uint8_t)between(1, 3);
        q.maxStage = (uint8_t)between(q.minStage, 4);
        q.maxLines = (uint8_t)between(1, 5);
        q.sexAllowed = (uint8_t)(rnd() % 4 ? 3 : 1 + rnd() % 2);
        q.markerIndex = (uint8_t)(rnd() % 6);
        q.markerValue = (uint8_t)(rnd() % 3);
        q.phase = (uint8_t)between(1, 3);
        q.regions = (uint16_t)(rnd() | rnd());
        for (float& w : q.weight) w = between(1, 100) * 0.01f;
        q.slots = between(20, 400);
    }
    // visits of one step hit distinct patients
    std::vector<LabVisit> visits(nVisits);
    for (int i = 0; i < nVisits; ++i) {
        LabVisit& v = visits[i];
        v.patient = (int)((uint64_t)i * 1299709ull % (uint64_t)n);
        v.kind = (uint8_t)(rnd() % 4);
        v.slot = (uint8_t)(rnd() % 6);
        v.value = (int16_t)between(60, 170);
    }
    std::vector<ControlKey> keys(nControls);
    for (int i = 0; i < nControls; ++i) {
        const Patient& p = patients[(size_t)i * 5 + 1];
        keys[i].patient = i * 5 + 1;
        keys[i].propensity = between(0, 1000000) * 1e-6f;
        keys[i].birthYear = p.birthYear;
        keys[i].sex = p.sex;
        keys[i].stage = p.stage;
    }
    std::sort(keys.begin(), keys.end(), [](const ControlKey& a, const ControlKey& b) {
        return a.propensity < b.propensity || (a.propensity == b.propensity && a.patient < b.patient);
    });
    std::vector<int> treated(nTreated);
    for (int i = 0; i < nTreated; ++i) treated[i] = (int)((uint64_t)i * 15485863ull % (uint64_t)n);

    auto dPat = makeDev(patients.size(), patients.data());
    auto dTri = makeDev(trials.size(), trials.data());
    auto dVis = makeDev(visits.size(), visits.data());
    auto dKey = makeDev(keys.size(), keys.data());
    auto dTre = makeDev(treated.size(), treated.data());
    auto dMat = makeDev<int>(nTreated);

    auto grid = [](int count, int block) { return (count + block - 1) / block; };
    auto round = [&](int r) {
        applyVisits<<<grid(nVisits, 256), 256>>>(dPat.get(), dVis.get(), nVisits, r);
        clearTrials<<<1, 256>>>(dTri.get(), nt);
        screen<<<grid(n, 256), 256>>>(dPat.get(), n, dTri.get(), nt);
        propensityModel<<<132 * 8, 256>>>(dPat.get(), n);
        matchControls<<<grid(nTreated, 128), 128>>>(dPat.get(), dTre.get(), nTreated, dKey.get(), nControls, 0.002f, dMat.get());
    };
    for (int r = 0; r < 5; ++r) round(r);
    cudaEvent_t start, stop;
    GPU(cudaEventCreate(&start));
    GPU(cudaEventCreate(&stop));
    const int rounds = 40;
    GPU(cudaEventRecord(start));
    for (int r = 0; r < rounds; ++r) round(5 + r);
    GPU(cudaEventRecord(stop));
    GPU(cudaEventSynchronize(stop));
    float ms = 0;
    GPU(cudaEventElapsedTime(&ms, start, stop));

    std::vector<int> match(nTreated);
    GPU(cudaMemcpy(patients.data(), dPat.get(), n * sizeof(Patient), cudaMemcpyDeviceToHost));
    GPU(cudaMemcpy(trials.data(), dTri.get(), nt * sizeof(Trial), cudaMemcpyDeviceToHost));
    GPU(cudaMemcpy(match.data(), dMat.get(), nTreated * sizeof(int), cudaMemcpyDeviceToHost));
    long long eligible = 0, cands = 0, firsts = 0, matched = 0;
    double sc = 0, pr = 0;
    for (const Patient& p : patients) { eligible += p.eligible; sc += p.bestScore; pr += p.propensity; }
    for (const Trial& t : trials) { cands += t.candidates; firsts += t.firstChoice; }
    for (int m : match) matched += m >= 0;
    printf("check %lld/%lld/%lld/%.5g/%.5g/%.3g\n", eligible, cands, firsts, sc, pr, (double)matched);
    printf("time_ms %.4f\n", ms / rounds);
    return 0;
}
