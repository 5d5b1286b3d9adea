// tram_tickets: card taps counted in an open-addressing hash table of card
// records; inspectors look cards up; zones are summed by a streaming pass.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>
#include <cuda_runtime.h>

#define CUDA_OK(expr)                                                              \
    do {                                                                           \
        const cudaError_t rc = (expr);                                             \
        if (rc != cudaSuccess) {                                                   \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__,                \
                         cudaGetErrorString(rc));                                  \
            std::exit(EXIT_FAILURE);                                               \
        }                                                                          \
    } while (0)

static const uint32_t LOG_SLOTS = 22;
static const uint32_t SLOTS = 1u << LOG_SLOTS;
static const uint32_t CARDS = 2200000;
static const int TAPS = 3000000;
static const int CHECKS = 1000000;
static const int DAYS = 30;
static const uint32_t EMPTY = 0;

struct Card {            // 32 bytes
    uint32_t number;     // 0: the slot is free
    unsigned int rides;
    unsigned int cents;
    int last_stop;
    float discount;
    int penalty;
    short home_zone;
    unsigned char tariff;
    unsigned char blocked;
    unsigned int spare;
};

struct Tap {             // 24 bytes
    double when;
    uint32_t card;
    float fare;
    short stop;
    unsigned char zone;
    unsigned char reader[3];
};

struct ZoneSum {
    unsigned long long cents;
    unsigned int cards;
    unsigned int blocked;
};

__host__ __device__ inline uint32_t slot_of(uint32_t card)
{
    return (card * 2654435769u) >> (32 - LOG_SLOTS);
}

__device__ uint32_t find_card(const Card *table, uint32_t card)
{
    uint32_t s = slot_of(card);
    for (uint32_t tries = 0; tries < SLOTS; ++tries) {
        uint32_t k = table[s].number;
        if (k == card) return s;
        if (k == EMPTY) break;
        s = (s + 1) & (SLOTS - 1);
    }
    return 0xffffffffu;
}

// streaming, in place: forget yesterday
__global__ void new_day(Card *table)
{
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= SLOTS) return;
    table[i].rides = 0;
    table[i].last_stop = -1;
}

// probe or insert, atomics on several fields of one record
__global__ void tap_in(Card *table, const Tap *taps, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const uint32_t card = taps[i].card;
    uint32_t s = slot_of(card);
    for (;;) {
        uint32_t was = table[s].number;
        if (was == EMPTY) was = atomicCAS(&table[s].number, EMPTY, card);
        if (was == EMPTY || was == card) break;
        s = (s + 1) & (SLOTS - 1);
    }
    atomicAdd(&table[s].rides, 1u);
    atomicAdd(&table[s].cents, (unsigned int)(taps[i].fare * 4.0f) * 25u);
    atomicMax(&table[s].last_stop, (int)taps[i].stop);
    if (taps[i].zone == 0) atomicOr(&table[s].penalty, 1 << (taps[i].reader[0] & 7));
}

// read-only probes by the inspectors, half of them for unknown cards
__global__ void inspect(const Card *table, const uint32_t *asked, int *verdict, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        uint32_t s = find_card(table, asked[i]);
        int v = -1;
        if (s != 0xffffffffu)
            v = (int)table[s].rides * 4 + (table[s].blocked ? 2 : 0) + (table[s].penalty & 1);
        verdict[i] = v;
    }
}

// cards that are used get their tariff and zone from their number (few bytes written)
__global__ void close_day(Card *table)
{
    uint32_t i = threadIdx.x + blockDim.x * blockIdx.x;
    if (i >= SLOTS) return;
    uint32_t c = table[i].number;
    if (c == EMPTY) return;
    if (table[i].rides > 3) {
        table[i].tariff = (unsigned char)(c & 3);
        table[i].blocked = (unsigned char)((table[i].penalty & 6) != 0);
        table[i].discount = 0.5f * table[i].discount + 0.5f;
    }
    table[i].home_zone = (short)(c % 12u);
}

__global__ void zone_sums(const Card *table, ZoneSum *zones)
{
    __shared__ unsigned long long cents[12];
    __shared__ unsigned int cards[12], blocked[12];
    if (threadIdx.x < 12) {
        cents[threadIdx.x] = 0;
        cards[threadIdx.x] = 0;
        blocked[threadIdx.x] = 0;
    }
    __syncthreads();
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < SLOTS;
         i += gridDim.x * blockDim.x) {
        if (table[i].number == EMPTY) continue;
        int z = table[i].home_zone;
        atomicAdd(&cents[z], (unsigned long long)table[i].cents);
        atomicAdd(&cards[z], 1u);
        if (table[i].blocked) atomicAdd(&blocked[z], 1u);
    }
    __syncthreads();
    if (threadIdx.x < 12) {
        atomicAdd(&zones[threadIdx.x].cents, cents[threadIdx.x]);
        atomicAdd(&zones[threadIdx.x].cards, cards[threadIdx.x]);
        atomicAdd(&zones[threadIdx.x].blocked, blocked[threadIdx.x]);
    }
}

struct Tramway {
    Card *table;
    Tap *taps;
    uint32_t *asked;
    int *verdict;
    ZoneSum *zones;

    void day()
    {
        const int b = 256;
        new_day<<<SLOTS / b, b>>>(table);
        tap_in<<<(TAPS + b - 1) / b, b>>>(table, taps, TAPS);
        close_day<<<SLOTS / b, b>>>(table);
        inspect<<<132 * 8, b>>>(table, asked, verdict, CHECKS);
        zone_sums<<<132 * 4, 512>>>(table, zones);
    }
};

int main()
{
    std::mt19937 gen(31337);
    std::vector<Tap> taps(TAPS);
    for (int i = 0; i < TAPS; ++i) {
        uint32_t a = gen(), b = gen();
        Tap &t = taps[i];
        t.when = i * 0.01;
        // a third of the taps come from a few frequent travellers
        t.card = 1u + ((b % 3u == 0) ? a % 50000u : a % CARDS);
        t.fare = 1.5f + 0.25f * (float)(b >> 29);
        t.stop = (short)((b >> 4) % 800u);
        t.zone = (unsigned char)((b >> 16) % 12u);
        t.reader[0] = (unsigned char)(b >> 20);
        t.reader[1] = (unsigned char)(i & 1);
        t.reader[2] = 0;
    }
    std::vector<uint32_t> asked(CHECKS);
    for (uint32_t &c : asked) c = 1u + gen() % (2u * CARDS);

    Tramway tram;
    CUDA_OK(cudaMalloc(&tram.table, sizeof(Card) * (size_t)SLOTS));
    CUDA_OK(cudaMalloc(&tram.taps, sizeof(Tap) * taps.size()));
    CUDA_OK(cudaMalloc(&tram.asked, sizeof(uint32_t) * asked.size()));
    CUDA_OK(cudaMalloc(&tram.verdict, sizeof(int) * asked.size()));
    CUDA_OK(cudaMalloc(&tram.zones, sizeof(ZoneSum) * 12));
    CUDA_OK(cudaMemset(tram.table, 0, sizeof(Card) * (size_t)SLOTS));
    CUDA_OK(cudaMemset(tram.zones, 0, sizeof(ZoneSum) * 12));
    CUDA_OK(cudaMemcpy(tram.taps, taps.data(), sizeof(Tap) * taps.size(),
                       cudaMemcpyHostToDevice));
    CUDA_OK(cudaMemcpy(tram.asked, asked.data(), sizeof(uint32_t) * asked.size(),
                       cudaMemcpyHostToDevice));

    tram.day();
    CUDA_OK(cudaGetLastError());
    CUDA_OK(cudaDeviceSynchronize());

    cudaEvent_t dawn, dusk;
    CUDA_OK(cudaEventCreate(&dawn));
    CUDA_OK(cudaEventCreate(&dusk));
    CUDA_OK(cudaEventRecord(dawn, 0));
    for (int d = 0; d < DAYS; ++d) tram.day();
    CUDA_OK(cudaEventRecord(dusk, 0));
    CUDA_OK(cudaEventSynchronize(dusk));
    float ms = 0.0f;
    CUDA_OK(cudaEventElapsedTime(&ms, dawn, dusk));
    std::printf("time_ms %.6f\n", ms / DAYS);

    std::vector<Card> table(SLOTS);
    std::vector<int> verdict(CHECKS);
    ZoneSum zones[12];
    CUDA_OK(cudaMemcpy(table.data(), tram.table, sizeof(Card) * (size_t)SLOTS,
                       cudaMemcpyDeviceToHost));
    CUDA_OK(cudaMemcpy(verdict.data(), tram.verdict, sizeof(int) * verdict.size(),
                       cudaMemcpyDeviceToHost));
    CUDA_OK(cudaMemcpy(zones, tram.zones, sizeof(zones), cudaMemcpyDeviceToHost));
    unsigned long long mixsum = 0, used = 0, zsum = 0;
    double disc = 0.0;
    for (const Card &c : table) {
        if (c.number == EMPTY) continue;
        ++used;
        mixsum += (unsigned long long)c.number *
                  (c.rides + 3ull * c.cents + 5ull * (unsigned)(c.last_stop + 1) +
                   7ull * (unsigned)c.penalty + c.tariff + c.blocked + (unsigned)c.home_zone);
        disc += (double)c.discount;
    }
    long long vsum = 0;
    for (int i = 0; i < CHECKS; ++i) vsum += (long long)verdict[i] * (1 + i % 3);
    for (int z = 0; z < 12; ++z) zsum += (zones[z].cents + zones[z].cards + zones[z].blocked) * (z + 1);
    std::printf("check used %llu\n", used);
    std::printf("check cards %llu\n", mixsum);
    std::printf("check discount %.5e\n", disc);
    std::printf("check verdicts %lld\n", vsum);
    std::printf("check zones %llu\n", zsum);
    cudaFree(tram.table);
    cudaFree(tram.taps);
    cudaFree(tram.asked);
    cudaFree(tram.verdict);
    cudaFree(tram.zones);
    return 0;
}
