// Stochastic SEIR epidemic as a synchronous cellular automaton on a contact graph.
// State of all persons is double buffered; randomness is a counter based hash so
// that results do not depend on scheduling.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <algorithm>
#include <vector>
#include <cuda_runtime.h>

#define GPU_CHECK(cmd)                                                              \
    if (cudaError_t st = (cmd)) std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(st)), std::abort()

enum Compartment : unsigned char { SUSCEPTIBLE, EXPOSED, INFECTIOUS, HOSPITAL, RECOVERED, DEAD, N_COMP };

struct Person {
    float         susceptibility;
    float         infectivity;
    float         compliance;      // share of contacts avoided under measures
    int           household;
    int           infectedBy;
    int           infections;      // number of episodes
    unsigned      region;
    short         daysInState;
    short         immunity;        // days of immunity left
    unsigned char age;
    Compartment   state;
    unsigned char vaccinated;
    unsigned char quarantined;
};

struct Contact { int other; float intensity; };

struct Household {
    int   size, sick, reported;
    float crowding;
};

struct RegionStats {
    unsigned long long ageOfCases;
    int   newCases;
    int   current[N_COMP];
    int   cumulative;
    int   beds;
    float lockdown;                // 0..1, updated daily
};

struct Params { float beta, betaHome; int incubation, infectious, immunityDays; };

__host__ __device__ inline uint32_t mix(uint32_t h)
{
    h ^= h >> 16; h *= 0x85ebca6bu; h ^= h >> 13; h *= 0xc2b2ae35u; h ^= h >> 16;
    return h;
}
__device__ inline float uniform(uint32_t person, uint32_t day, uint32_t salt)
{
    return (mix(person * 0x9e3779b9u + mix(day * 131u + salt)) >> 8) * (1.0f / 16777216.0f);
}

__global__ void resetDay(RegionStats* reg, int nReg, Household* hh, int nHouse)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < nHouse) hh[i].sick = 0;
    if (i < nReg) {
        reg[i].newCases = 0;
        for (int c = 0; c < N_COMP; ++c) reg[i].current[c] = 0;
    }
}

__global__ void countHouseholds(const Person* p, int n, Household* hh)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && p[i].state == INFECTIOUS) atomicAdd(&hh[p[i].household].sick, 1);
}

__global__ void transmit(const Person* __restrict__ in, Person* __restrict__ out, int n, const int* __restrict__ rowPtr,
                         const Contact* __restrict__ contacts, const Household* __restrict__ hh,
                         const RegionStats* __restrict__ reg, Params prm, int day)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Person me = in[i];
    me.daysInState++;
    float lock = reg[me.region].lockdown;
    switch (me.state) {
    case SUSCEPTIBLE: {
        float reduce = 1.0f - lock * me.compliance;
        float escape = 1.0f;
        int source = -1;
        for (int k = rowPtr[i]; k < rowPtr[i + 1]; ++k) {
            const Person& q = in[contacts[k].other];
            if (q.state != INFECTIOUS || q.quarantined) continue;
            float pr = prm.beta * contacts[k].intensity * q.infectivity * me.susceptibility * reduce;
            if (source < 0 && uniform(i, day, 17u + k) < pr) source = contacts[k].other;
            escape *= 1.0f - fminf(pr, 1.0f);
        }
        const Household& h = hh[me.household];
        float home = 1.0f - powf(1.0f - prm.betaHome * me.susceptibility * h.crowding, (float)h.sick);
        if (source >= 0 || uniform(i, day, 1u) < home) {
            me.state = EXPOSED;
            me.daysInState = 0;
            me.infectedBy = source;
            me.infections++;
        } else if (escape < 0.5f) me.quarantined = 1;
        break;
    }
    case EXPOSED:
        if (me.daysInState >= prm.incubation && uniform(i, day, 2u) < 0.4f) {
            me.state = INFECTIOUS; me.daysInState = 0;
            me.quarantined = uniform(i, day, 3u) < me.compliance * 0.5f;
        }
        break;
    case INFECTIOUS: {
        float severe = 0.0004f * me.age * (me.vaccinated ? 0.15f : 1.0f);
        if (uniform(i, day, 4u) < severe) { me.state = HOSPITAL; me.daysInState = 0; }
        else if (me.daysInState >= prm.infectious) { me.state = RECOVERED; me.daysInState = 0; me.immunity = (short)prm.immunityDays; me.quarantined = 0; }
        break;
    }
    case HOSPITAL: {
        bool overload = reg[me.region].current[HOSPITAL] > reg[me.region].beds;
        float death = 0.0002f * me.age * (overload ? 2.0f : 1.0f);
        if (uniform(i, day, 5u) < death) { me.state = DEAD; me.daysInState = 0; }
        else if (me.daysInState > 9) { me.state = RECOVERED; me.daysInState = 0; me.immunity = (short)prm.immunityDays; }
        break;
    }
    case RECOVERED:
        if (--me.immunity <= 0) { me.state = SUSCEPTIBLE; me.daysInState = 0; me.susceptibility *= 0.8f; }
        break;
    default: break;
    }
    out[i] = me;
}

__global__ void regionCensus(const Person* p, int n, RegionStats* reg, int nReg)
{
    extern __shared__ int hist[];             // nReg x N_COMP
    for (int k = threadIdx.x; k < nReg * N_COMP; k += blockDim.x) hist[k] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        atomicAdd(&hist[p[i].region * N_COMP + p[i].state], 1);
        if (p[i].state == EXPOSED && p[i].daysInState == 0) {
            atomicAdd(&reg[p[i].region].newCases, 1);
            atomicAdd(&reg[p[i].region].ageOfCases, (unsigned long long)p[i].age);
        }
    }
    __syncthreads();
    for (int k = threadIdx.x; k < nReg * N_COMP; k += blockDim.x)
        if (hist[k]) atomicAdd(&reg[k / N_COMP].current[k % N_COMP], hist[k]);
}

__global__ void policy(RegionStats* reg, int nReg)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= nReg) return;
    reg[r].cumulative += reg[r].newCases;
    float load = (float)reg[r].current[INFECTIOUS] / (20.0f * reg[r].beds);
    reg[r].lockdown = 0.7f * reg[r].lockdown + 0.3f * fminf(load, 1.0f);
}

// vaccinate in place, oldest age groups first
__global__ void vaccinate(Person* p, int n, int minAge, float rate, int day)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (p[i].age < minAge || p[i].vaccinated || p[i].state != SUSCEPTIBLE) return;
    if (uniform(i, day, 6u) < rate) { p[i].vaccinated = 1; p[i].susceptibility *= 0.35f; }
}

int main()
{
    const int n = 1200000, nReg = 64, reps = 40;
    std::vector<Person> people(n);
    std::vector<Household> house;
    std::vector<int> rowPtr(n + 1);
    std::vector<Contact> contacts;
    contacts.reserve((size_t)n * 12);
    uint32_t s = 4242u;
    auto next = [&s] { s = s * 1664525u + 1013904223u; return mix(s); };
    for (int i = 0, left = 0; i < n; ++i) {
        if (left == 0) { left = 1 + next() % 5; house.push_back(Household{0, 0, 0, 0.5f + 0.2f * left}); }
        --left;
        house.back().size++;
        Person& p = people[i];
        p = Person{};
        p.age = (unsigned char)(next() % 95);
        p.susceptibility = 0.6f + 0.8f * (p.age / 95.0f);
        p.infectivity = 0.5f + (next() & 1023) / 1024.0f;
        p.compliance = (next() & 1023) / 1280.0f;
        p.household = (int)house.size() - 1;
        p.region = (unsigned)((long long)i * nReg / n);
        p.infectedBy = -1;
        p.state = next() % 500 == 0 ? INFECTIOUS : SUSCEPTIBLE;
        rowPtr[i] = (int)contacts.size();
        int deg = 4 + next() % 12 + (next() % 100 == 0 ? 60 : 0);
        for (int k = 0; k < deg; ++k) {
            unsigned r = next();
            int other = r % 10 < 7 ? (int)(((long long)i + n + (int)(next() % 4001) - 2000) % n) : (int)(next() % n);
            contacts.push_back(Contact{other, 0.2f + (r >> 16) / 65536.0f});
        }
    }
    rowPtr[n] = (int)contacts.size();
    std::vector<RegionStats> reg(nReg);
    for (auto& r : reg) { r = RegionStats{}; r.beds = 60 + next() % 60; }

    Person *dA, *dB; Contact* dC; Household* dH; RegionStats* dR; int* dRow;
    GPU_CHECK(cudaMalloc(&dA, n * sizeof(Person)));
    GPU_CHECK(cudaMalloc(&dB, n * sizeof(Person)));
    GPU_CHECK(cudaMalloc(&dC, contacts.size() * sizeof(Contact)));
    GPU_CHECK(cudaMalloc(&dH, house.size() * sizeof(Household)));
    GPU_CHECK(cudaMalloc(&dR, nReg * sizeof(RegionStats)));
    GPU_CHECK(cudaMalloc(&dRow, (n + 1) * sizeof(int)));
    GPU_CHECK(cudaMemcpy(dA, people.data(), n * sizeof(Person), cudaMemcpyHostToDevice));
    GPU_CHECK(cudaMemcpy(dC, contacts.data(), contacts.size() * sizeof(Contact), cudaMemcpyHostToDevice));
    GPU_CHECK(cudaMemcpy(dH, house.data(), house.size() * sizeof(Household), cudaMemcpyHostToDevice));
    GPU_CHECK(cudaMemcpy(dR, reg.data(), nReg * sizeof(RegionStats), cudaMemcpyHostToDevice));
    GPU_CHECK(cudaMemcpy(dRow, rowPtr.data(), (n + 1) * sizeof(int), cudaMemcpyHostToDevice));

    const Params prm{0.055f, 0.08f, 2, 7, 25};
    const int B = 256, G = (n + B - 1) / B, nH = (int)house.size();
    cudaEvent_t beg, end;
    GPU_CHECK(cudaEventCreate(&beg)); GPU_CHECK(cudaEventCreate(&end));
    std::vector<float> ms(reps);
    for (int day = -2; day < reps; ++day) {
        GPU_CHECK(cudaEventRecord(beg));
        countHouseholds<<<G, B>>>(dA, n, dH);
        transmit<<<G, B>>>(dA, dB, n, dRow, dC, dH, dR, prm, day + 2);
        resetDay<<<(nH + B - 1) / B, B>>>(dR, nReg, dH, nH);
        regionCensus<<<264, B, nReg * N_COMP * sizeof(int)>>>(dB, n, dR, nReg);
        policy<<<1, nReg>>>(dR, nReg);
        vaccinate<<<G, B>>>(dB, n, 80 - day, 0.03f, day + 2);
        GPU_CHECK(cudaEventRecord(end));
        GPU_CHECK(cudaEventSynchronize(end));
        GPU_CHECK(cudaGetLastError());
        float t; GPU_CHECK(cudaEventElapsedTime(&t, beg, end));
        if (day >= 0) ms[day] = t;
        std::swap(dA, dB);
    }
    GPU_CHECK(cudaMemcpy(people.data(), dA, n * sizeof(Person), cudaMemcpyDeviceToHost));
    GPU_CHECK(cudaMemcpy(reg.data(), dR, nReg * sizeof(RegionStats), cudaMemcpyDeviceToHost));
    double comp = 0, links = 0, susc = 0, cumul = 0, ages = 0, lock = 0;
    for (const auto& p : people) { comp += p.state * 10.0 + p.daysInState; links += p.infectedBy + 1.0; susc += p.susceptibility; }
    for (const auto& r : reg) { cumul += r.cumulative; ages += (double)r.ageOfCases; lock += r.lockdown; }
    std::sort(ms.begin(), ms.end());
    printf("check compartments %.9g\ncheck links %.9g\ncheck susceptibility %.9g\n", comp, links, susc);
    printf("check cumulative %.9g\ncheck case_ages %.9g\ncheck lockdown %.9g\n", cumul, ages, lock);
    printf("time_ms %.5f\n", ms[reps / 2]);
    for (void* q : {(void*)dA, (void*)dB, (void*)dC, (void*)dH, (void*)dR, (void*)dRow}) cudaFree(q);
    return 0;
}
