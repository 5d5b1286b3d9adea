/* Die links among coin hoards. Coins struck from the same pair of dies are entered in a hash table; a coin is weighed
 * against the standard that was in force in its year, and a hoard is dated by a warp that goes through its coins. */
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

struct Coin {
    double findX, findY;
    float weight, diameter;
    int obverse, reverse;
    int year, companions;
    unsigned short hoard;
    unsigned char metal;
    unsigned char wear;
    float deviation;
};

struct DiePair {
    unsigned long long key; // 0: free
    int coins;
    int weightMg;
    int firstYear;
    int lastYear;
    unsigned int hoardBits;
    unsigned int pad;
};

struct Reform {
    int year;
    float standard[4]; // by metal, in grams
    float tolerance;
};

struct Hoard {
    int begin;
    int count;
    int closing;
    int linked, light;
    float meanDeviation;
};

#define TRY(x)                                                     \
    do {                                                           \
        cudaError_t e = (x);                                       \
        if (e != cudaSuccess) {                                    \
            fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(e)); \
            exit(3);                                               \
        }                                                          \
    } while (0)

__host__ __device__ static inline unsigned long long mix64(unsigned long long z) {
    z += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

static double pick(unsigned long long seed) { return (mix64(seed) >> 11) / 9007199254740992.0; }

__device__ static inline unsigned long long dieKey(const Coin &c) {
    return ((unsigned long long)(unsigned)c.obverse << 32) | (unsigned)(c.reverse + 1);
}

__global__ void clearTable(DiePair *table, unsigned slots) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= slots) return;
    DiePair empty = {0ull, 0, 0, 1 << 20, -(1 << 20), 0u, 0u};
    table[i] = empty;
}

__global__ void enterCoins(const Coin *coins, DiePair *table, int n, unsigned mask) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const Coin &coin = coins[i];
    if (coin.wear > 240) return; // the dies cannot be told any more
    unsigned long long key = dieKey(coin);
    unsigned slot = (unsigned)mix64(key) & mask;
    while (true) {
        unsigned long long seen = atomicCAS(&table[slot].key, 0ull, key);
        if (seen == 0ull || seen == key) break;
        slot = (slot + 1) & mask;
    }
    atomicAdd(&table[slot].coins, 1);
    atomicAdd(&table[slot].weightMg, (int)(coin.weight * 1000.0f));
    atomicMin(&table[slot].firstYear, coin.year);
    atomicMax(&table[slot].lastYear, coin.year);
    atomicOr(&table[slot].hoardBits, 1u << (coin.hoard % 32));
}

__device__ int reformOf(const Reform *reforms, int count, int year) {
    int lo = 0, hi = count; // the last reform that is not later than the year
    while (hi - lo > 1) {
        int mid = (lo + hi) / 2;
        if (reforms[mid].year <= year)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

__global__ void appraise(Coin *coins, const DiePair *table, const Reform *reforms, int n, unsigned mask, int eras) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int r = reformOf(reforms, eras, coins[i].year);
    float standard = reforms[r].standard[coins[i].metal];
    float worn = coins[i].weight * (1.0f + 0.0006f * coins[i].wear);
    float mean = worn;
    int companions = 0;
    if (coins[i].wear <= 240) {
        unsigned long long key = dieKey(coins[i]);
        unsigned slot = (unsigned)mix64(key) & mask;
        while (table[slot].key != key) slot = (slot + 1) & mask;
        companions = table[slot].coins - 1;
        if (companions > 0) mean = 0.5f * worn + 0.5f * (table[slot].weightMg / (1000.0f * table[slot].coins));
        if (table[slot].lastYear - table[slot].firstYear > 60) companions = 0; // not one pair, but a copy
    }
    float deviation = (mean - standard) / standard;
    if (deviation > -reforms[r].tolerance && deviation < reforms[r].tolerance) deviation *= 0.25f;
    coins[i].deviation = deviation;
    coins[i].companions = companions;
}

__global__ void dateHoards(const Coin *coins, Hoard *hoards, int hoardCount) {
    int h = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    int lane = threadIdx.x % 32;
    if (h >= hoardCount) return;
    int closing = -10000, linked = 0, light = 0, milli = 0;
    int begin = hoards[h].begin, end = begin + hoards[h].count;
    for (int i = begin + lane; i < end; i += 32) {
        if (coins[i].year > closing) closing = coins[i].year;
        linked += coins[i].companions > 1;
        light += coins[i].deviation < -0.1f;
        milli += (int)(coins[i].deviation * 1000.0f);
    }
    for (int o = 16; o > 0; o /= 2) {
        closing = max(closing, __shfl_down_sync(0xffffffffu, closing, o));
        linked += __shfl_down_sync(0xffffffffu, linked, o);
        light += __shfl_down_sync(0xffffffffu, light, o);
        milli += __shfl_down_sync(0xffffffffu, milli, o);
    }
    if (lane == 0) {
        hoards[h].closing = closing;
        hoards[h].linked = linked;
        hoards[h].light = light;
        hoards[h].meanDeviation = hoards[h].count ? milli / (1000.0f * hoards[h].count) : 0.0f;
    }
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 1400000;
    unsigned slots = 1024;
    while (slots < (unsigned)n) slots *= 2;
    const int reformCount = 300, hoardCount = n / 120 + 1;
    Reform reforms[reformCount];
    for (int r = 0; r < reformCount; r++) {
        reforms[r].year = -450 + r * 3 + (int)(pick(r) * 3);
        for (int m = 0; m < 4; m++)
            reforms[r].standard[m] = (float)((2.0 + 3.0 * m) * (1.0 - 0.001 * r) + 0.2 * pick(r * 4 + m + 500));
        reforms[r].tolerance = (float)(0.02 + 0.04 * pick(r + 9000));
    }
    Hoard *hoards = (Hoard *)malloc(hoardCount * sizeof(Hoard));
    Coin *coins = (Coin *)malloc((size_t)n * sizeof(Coin));
    int at = 0;
    for (int h = 0; h < hoardCount; h++) {
        double next = h + 1 < hoardCount ? h + 0.6 + 0.8 * pick(h + 100000) : hoardCount;
        int count = (int)(next * n / hoardCount) - at;
        Hoard hoard = {at, count, 0, 0, 0, 0.0f};
        hoards[h] = hoard;
        int era = -450 + (int)(pick(h + 200000) * 800);
        for (int i = at; i < at + count; i++) {
            unsigned long long s = 1000003ull * (i + 1);
            Coin *c = &coins[i];
            int pool = n / 6 + 1, die = (int)(pick(s) * pick(s + 1) * pool);
            c->obverse = die;
            c->reverse = die * 3 + (int)(pick(s + 2) * 3);
            c->year = era + (int)(pick(s + 3) * 90);
            c->metal = (unsigned char)(mix64(s + 4) % 4);
            c->wear = (unsigned char)(mix64(s + 5) % 256);
            c->weight = (float)((1.6 + 2.8 * c->metal) * (0.9 + 0.2 * pick(s + 6)));
            c->diameter = (float)(14 + 12 * pick(s + 7));
            c->hoard = (unsigned short)(h % 65536);
            c->findX = 400.0 * pick(h + 300000), c->findY = 300.0 * pick(h + 400000);
            c->companions = 0, c->deviation = 0;
        }
        at += count;
    }
    Coin *dCoins;
    DiePair *dTable;
    Reform *dReforms;
    Hoard *dHoards;
    TRY(cudaMalloc(&dCoins, (size_t)n * sizeof(Coin)));
    TRY(cudaMalloc(&dTable, (size_t)slots * sizeof(DiePair)));
    TRY(cudaMalloc(&dReforms, sizeof(reforms)));
    TRY(cudaMalloc(&dHoards, hoardCount * sizeof(Hoard)));
    TRY(cudaMemcpy(dCoins, coins, (size_t)n * sizeof(Coin), cudaMemcpyHostToDevice));
    TRY(cudaMemcpy(dReforms, reforms, sizeof(reforms), cudaMemcpyHostToDevice));
    TRY(cudaMemcpy(dHoards, hoards, hoardCount * sizeof(Hoard), cudaMemcpyHostToDevice));
    cudaEvent_t on, off;
    TRY(cudaEventCreate(&on));
    TRY(cudaEventCreate(&off));
    const int warm = 2, rounds = 20, threads = 256;
    for (int round = 0; round < warm + rounds; round++) {
        if (round == warm) TRY(cudaEventRecord(on));
        clearTable<<<(slots + threads - 1) / threads, threads>>>(dTable, slots);
        enterCoins<<<(n + threads - 1) / threads, threads>>>(dCoins, dTable, n, slots - 1);
        appraise<<<(n + threads - 1) / threads, threads>>>(dCoins, dTable, dReforms, n, slots - 1, reformCount);
        dateHoards<<<(hoardCount + 3) / 4, 128>>>(dCoins, dHoards, hoardCount);
    }
    TRY(cudaEventRecord(off));
    TRY(cudaEventSynchronize(off));
    float ms;
    TRY(cudaEventElapsedTime(&ms, on, off));
    TRY(cudaMemcpy(hoards, dHoards, hoardCount * sizeof(Hoard), cudaMemcpyDeviceToHost));
    long long check = 0;
    for (int h = 0; h < hoardCount; h++)
        check += hoards[h].closing + 7LL * hoards[h].linked + 3LL * hoards[h].light * (1 + h % 5);
    printf("check %lld\ntime_ms %.5f\n", check, ms / rounds);
    return 0;
}
