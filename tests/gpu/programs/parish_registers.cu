/* parish_registers: genealogists look families up in sorted registers by
 * binary search; a small table of dioceses is walked by every thread. */
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define TRY(x)                                                                 \
    {                                                                          \
        cudaError_t err__ = (x);                                               \
        if (err__ != cudaSuccess) {                                            \
            std::fprintf(stderr, "%s failed: %s\n", #x,                        \
                         cudaGetErrorString(err__));                           \
            return 1;                                                          \
        }                                                                      \
    }

typedef unsigned int uint;
typedef unsigned long long ull;

struct Entry {
    int family;
    int year;
    short day;
    unsigned char rite;
    unsigned char sex;
    float fee;
    double folio;
    unsigned char name[24];
};

struct Query {
    int family;
    int year;
    int found;
    float fee;
    unsigned char rite;
    unsigned char done;
    short votes;
};

struct Diocese {
    int year_from, year_to;
    float tithe;
    short code;
    unsigned char rites[6];
};

constexpr int ENTRIES = 3 << 20;
constexpr int QUERIES = 1500000;
constexpr int FAMILIES_ASKED = 200000;
constexpr int DIOCESES = 40;
constexpr int ROUNDS = 30;

struct Lcg {
    ull s;
    explicit Lcg(ull seed) : s(seed) {}
    uint next()
    {
        s = s * 2862933555777941757ULL + 3037000493ULL;
        return (uint)(s >> 32);
    }
};

__device__ bool before(const Entry *reg, int k, int family, int year)
{
    int f = reg[k].family;
    if (f != family) return f < family;
    return reg[k].year < year;
}

__device__ int lower_bound(const Entry *reg, int n, int family, int year)
{
    int lo = 0, len = n;
    while (len > 0) {
        int half = len >> 1;
        if (before(reg, lo + half, family, year)) {
            lo += half + 1;
            len -= half + 1;
        } else {
            len = half;
        }
    }
    return lo;
}

/* one search per query, then a few payload fields of the entry found */
__global__ void look_up(const Entry *reg, int n, Query *q, int nq, int year_shift)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i >= nq) return;
    int fam = q[i].family;
    int k = lower_bound(reg, n, fam, q[i].year + year_shift);
    if (k < n && reg[k].family == fam) {
        q[i].found = k;
        q[i].fee = reg[k].fee;
        q[i].rite = reg[k].rite;
    } else {
        q[i].found = -1;
        q[i].fee = 0.f;
        q[i].rite = 255;
    }
    q[i].done = (unsigned char)(q[i].done + 1);
}

/* whole family read after one search: names are hashed */
__global__ void family_tree(const Entry *reg, int n, const int *families, int nf, uint *hash,
                            float *fees)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < nf; i += gridDim.x * blockDim.x) {
        int fam = families[i];
        uint h = 2166136261u;
        float sum = 0.f;
        for (int k = lower_bound(reg, n, fam, -1); k < n && reg[k].family == fam; ++k) {
            for (int c = 0; c < 24; ++c) h = (h ^ reg[k].name[c]) * 16777619u;
            h += (uint)reg[k].day + 7u * reg[k].sex;
            sum += reg[k].fee;
        }
        hash[i] = h;
        fees[i] = sum;
    }
}

/* every query walks all dioceses, uniform over the warp */
__global__ void assign_diocese(Query *q, int nq, const Diocese *dio, int nd)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i >= nq) return;
    int year = q[i].year;
    int rite = q[i].rite;
    int votes = 0;
    for (int d = 0; d < nd; ++d)
        if (year >= dio[d].year_from && year < dio[d].year_to)
            votes += dio[d].rites[rite % 6] + (dio[d].code & 1);
    q[i].votes = (short)votes;
}

int main()
{
    Lcg r(99);
    std::vector<Entry> reg(ENTRIES);
    int fam = 0, year = 1500, left = 4;
    for (int i = 0; i < ENTRIES; ++i) {
        uint a = r.next();
        if (left-- == 0) {
            fam += 1 + (int)(a & 1);
            year = 1500 + (int)((a >> 1) % 100);
            left = (int)((a >> 8) % 12);
        } else {
            year += (int)((a >> 3) % 30);
        }
        Entry &e = reg[i];
        e.family = fam;
        e.year = year;
        e.day = (short)((a >> 12) % 365);
        e.rite = (unsigned char)((a >> 21) % 6);
        e.sex = (unsigned char)(a >> 31);
        e.fee = (float)((a >> 5) & 127) * 0.25f;
        e.folio = i * 0.5;
        for (int c = 0; c < 24; ++c) e.name[c] = (unsigned char)('a' + (a >> (c % 16)) % 26);
    }
    std::vector<Query> q(QUERIES);
    for (Query &x : q) {
        uint a = r.next(), b = r.next();
        x.family = (int)(a % (uint)(fam + 1));
        x.year = 1500 + (int)(b % 300);
        x.found = -2;
        x.fee = 0.f;
        x.rite = 0;
        x.done = 0;
        x.votes = 0;
    }
    std::vector<int> ask(FAMILIES_ASKED);
    for (int i = 0; i < FAMILIES_ASKED; ++i) /* nearly sorted */
        ask[i] = (int)(((ull)i * (ull)fam) / FAMILIES_ASKED) + (int)(r.next() % 3);
    std::vector<Diocese> dio(DIOCESES);
    for (int d = 0; d < DIOCESES; ++d) {
        dio[d].year_from = 1450 + 8 * d;
        dio[d].year_to = dio[d].year_from + 40 + (int)(r.next() % 100);
        dio[d].tithe = 0.1f;
        dio[d].code = (short)(d * 3);
        for (int k = 0; k < 6; ++k) dio[d].rites[k] = (unsigned char)(r.next() % 4);
    }

    Entry *dreg;
    Query *dq;
    Diocese *dd;
    int *dask;
    uint *dhash;
    float *dfees;
    TRY(cudaMalloc(&dreg, reg.size() * sizeof(Entry)));
    TRY(cudaMalloc(&dq, q.size() * sizeof(Query)));
    TRY(cudaMalloc(&dd, dio.size() * sizeof(Diocese)));
    TRY(cudaMalloc(&dask, ask.size() * sizeof(int)));
    TRY(cudaMalloc(&dhash, ask.size() * sizeof(uint)));
    TRY(cudaMalloc(&dfees, ask.size() * sizeof(float)));
    TRY(cudaMemcpy(dreg, reg.data(), reg.size() * sizeof(Entry), cudaMemcpyHostToDevice));
    TRY(cudaMemcpy(dq, q.data(), q.size() * sizeof(Query), cudaMemcpyHostToDevice));
    TRY(cudaMemcpy(dd, dio.data(), dio.size() * sizeof(Diocese), cudaMemcpyHostToDevice));
    TRY(cudaMemcpy(dask, ask.data(), ask.size() * sizeof(int), cudaMemcpyHostToDevice));

    cudaEvent_t t0, t1;
    TRY(cudaEventCreate(&t0));
    TRY(cudaEventCreate(&t1));
    for (int round = -1; round < ROUNDS; ++round) {
        if (round == 0) TRY(cudaEventRecord(t0));
        look_up<<<(QUERIES + 255) / 256, 256>>>(dreg, ENTRIES, dq, QUERIES, round & 7);
        family_tree<<<(FAMILIES_ASKED + 127) / 128, 128>>>(dreg, ENTRIES, dask, FAMILIES_ASKED,
                                                           dhash, dfees);
        assign_diocese<<<(QUERIES + 255) / 256, 256>>>(dq, QUERIES, dd, DIOCESES);
    }
    TRY(cudaEventRecord(t1));
    TRY(cudaEventSynchronize(t1));
    TRY(cudaGetLastError());
    float ms = 0;
    TRY(cudaEventElapsedTime(&ms, t0, t1));
    std::printf("time_ms %.6f\n", ms / ROUNDS);

    std::vector<uint> hash(ask.size());
    std::vector<float> fees(ask.size());
    TRY(cudaMemcpy(q.data(), dq, q.size() * sizeof(Query), cudaMemcpyDeviceToHost));
    TRY(cudaMemcpy(hash.data(), dhash, hash.size() * sizeof(uint), cudaMemcpyDeviceToHost));
    TRY(cudaMemcpy(fees.data(), dfees, fees.size() * sizeof(float), cudaMemcpyDeviceToHost));
    long long found = 0, votes = 0;
    double paid = 0, fsum = 0;
    ull hs = 0;
    for (const Query &x : q) {
        found += x.found;
        votes += x.votes + x.rite + x.done;
        paid += x.fee;
    }
    for (size_t i = 0; i < hash.size(); ++i) {
        hs += (ull)hash[i] * (i % 5 + 1);
        fsum += fees[i];
    }
    std::printf("check found %lld\n", found);
    std::printf("check votes %lld\n", votes);
    std::printf("check paid %.6e\n", paid);
    std::printf("check hash %llu\n", hs);
    std::printf("check fees %.6e\n", fsum);
    cudaFree(dreg);
    cudaFree(dq);
    cudaFree(dd);
    cudaFree(dask);
    cudaFree(dhash);
    cudaFree(dfees);
    return 0;
}
