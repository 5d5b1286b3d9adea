// DNS query log analytics: name feature extraction, qtype/rcode histograms,
// per-client aggregation in an open-addressing hash table, per-minute time
// series, and in-place flagging of records that look like tunnelling or DGA.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define GPU(call)                                                                          \
    do {                                                                                   \
        const cudaError_t rc_ = (call);                                                    \
        if (rc_ != cudaSuccess) {                                                          \
            std::fprintf(stderr, "%s failed: %s\n", #call, cudaGetErrorString(rc_));       \
            std::abort();                                                                  \
        }                                                                                  \
    } while (0)

struct LogRecord {
    uint32_t tsSec;
    uint32_t client, resolver;   // IPv4
    uint16_t qtype, srcPort;
    uint8_t  rcode;
    uint8_t  flags;        // bit0 TCP, bit1 DNSSEC, bit6 long name, bit7 suspicious
    uint16_t respBytes;
    float    rttMs;
    char     qname[32];
    uint32_t nameHash;
    float    score;
};

struct ClientSlot {
    uint32_t key;          // 0 = empty
    uint32_t queries, nxdomain, maxRttUs;
    unsigned long long bytes, rttSumUs;
};

struct MinuteBucket {
    uint32_t queries, failures;
    uint32_t bytesKb, flagged;
};

struct Totals {
    unsigned long long clients, heavyClients;
    unsigned long long bytes, rttUs;
    unsigned long long flagged, weightedNx;
};

constexpr int kRecords = 3000000;
constexpr uint32_t kTableSize = 1u << 17;
constexpr int kMinutes = 1440, kTypes = 8, kRcodes = 6;
constexpr uint32_t kT0 = 1700000000u;

__host__ __device__ inline uint32_t fmix(uint32_t h) {
    h ^= h >> 16; h *= 0x85ebca6bu;
    h ^= h >> 13; h *= 0xc2b2ae35u;
    return h ^ (h >> 16);
}

// Synthetic traffic; done on the device because it's the quick way to fill it.
__global__ void synthesise(LogRecord* log, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint32_t s = fmix(i * 2654435761u + 17u);
    LogRecord r;
    r.tsSec = kT0 + static_cast<uint32_t>((static_cast<uint64_t>(i) * 86400ull) / n);
    uint32_t u = fmix(s + 1);
    uint32_t spread = (u & 3u) ? 2000u : 60000u;          // a busy core and a long tail
    r.client = 0x0a000001u + fmix(s + 2) % spread;
    r.resolver = 0xc0a80001u + (s & 3u);
    const uint16_t types[kTypes] = {1, 28, 15, 16, 12, 5, 65, 33};
    r.qtype = types[fmix(s + 3) % 23u % kTypes];
    r.srcPort = static_cast<uint16_t>(1024u + fmix(s + 4) % 60000u);
    uint32_t roll = fmix(s + 5) % 100u;
    r.rcode = roll < 82 ? 0 : (roll < 95 ? 3 : (roll < 98 ? 2 : 5));
    r.flags = static_cast<uint8_t>(fmix(s + 6) & 3u);
    r.respBytes = static_cast<uint16_t>(60u + fmix(s + 7) % 900u);
    r.rttMs = 0.25f + 0.01f * static_cast<float>(fmix(s + 8) % 9000u);
    bool dga = fmix(r.client + 99u) % 41u == 0 && (s & 1u);
    int len = dga ? 20 + static_cast<int>(fmix(s + 9) % 11u) : 6 + static_cast<int>(fmix(s + 9) % 12u);
    uint32_t word = dga ? s : fmix(s + 10) % 5000u;
    for (int k = 0; k < 32; ++k) {
        char c = 0;
        if (k < len) {
            uint32_t h = fmix(word * 33u + k);
            c = dga ? static_cast<char>((h % 36u) < 26u ? 'a' + h % 26u : '0' + h % 10u)
                    : static_cast<char>("aeionrtslc"[h % 10u]);
            if (k == len - 4) c = '.';
        }
        r.qname[k] = c;
    }
    r.nameHash = 0;
    r.score = 0.0f;
    log[i] = r;
}

__global__ void clearState(ClientSlot* table, MinuteBucket* minutes, uint32_t* hist, Totals* totals) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < kTableSize) table[i] = ClientSlot{};
    if (i < kMinutes) minutes[i] = MinuteBucket{};
    if (i < kTypes * kRcodes) hist[i] = 0;
    if (i == 0) *totals = Totals{};
}

__device__ inline bool isVowel(char c) { return c == 'a' || c == 'e' || c == 'i' || c == 'o' || c == 'u'; }

__global__ void nameFeatures(LogRecord* log, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint32_t h = 2166136261u, seen = 0;
    int len = 0, digits = 0, runs = 0;
    char prev = 0;
    for (; len < 32; ++len) {
        char c = log[i].qname[len];
        if (c == 0) break;
        h = (h ^ static_cast<uint32_t>(c)) * 16777619u;
        digits += (c >= '0' && c <= '9');
        if (c >= 'a' && c <= 'z') seen |= 1u << (c - 'a');
        runs += (isVowel(c) != isVowel(prev));
        prev = c;
    }
    log[i].nameHash = h;
    log[i].score = 0.05f * len + 0.25f * digits + 0.08f * __popc(seen) - 0.03f * runs;
    uint8_t f = log[i].flags & 0x3f;
    if (len > 18) f |= 0x40;
    log[i].flags = f;
}

__device__ inline int typeIndex(uint16_t q) {
    switch (q) {
        case 1: return 0;   case 28: return 1;
        case 15: return 2;  case 16: return 3;
        case 12: return 4;  case 5: return 5;
        case 65: return 6;  default: return 7;
    }
}

__global__ void typeHistogram(const LogRecord* log, uint32_t* hist, int n) {
    __shared__ uint32_t local[kTypes * kRcodes];
    for (int k = threadIdx.x; k < kTypes * kRcodes; k += blockDim.x) local[k] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&local[typeIndex(log[i].qtype) * kRcodes + min(static_cast<int>(log[i].rcode), kRcodes - 1)], 1u);
    __syncthreads();
    for (int k = threadIdx.x; k < kTypes * kRcodes; k += blockDim.x)
        if (local[k]) atomicAdd(&hist[k], local[k]);
}

__global__ void aggregateClients(const LogRecord* log, ClientSlot* table, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint32_t key = log[i].client;
    uint32_t slot = fmix(key) & (kTableSize - 1);
    for (;;) {
        uint32_t old = table[slot].key;
        if (old == 0) old = atomicCAS(&table[slot].key, 0u, key);
        if (old == 0 || old == key) break;
        slot = (slot + 1) & (kTableSize - 1);
    }
    uint32_t us = static_cast<uint32_t>(log[i].rttMs * 1000.0f);
    ClientSlot* s = &table[slot];
    atomicAdd(&s->queries, 1u);
    if (log[i].rcode == 3) atomicAdd(&s->nxdomain, 1u);
    atomicMax(&s->maxRttUs, us);
    atomicAdd(&s->bytes, static_cast<unsigned long long>(log[i].respBytes));
    atomicAdd(&s->rttSumUs, static_cast<unsigned long long>(us));
}

__global__ void flagRecords(LogRecord* log, const ClientSlot* table, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (log[i].score < 1.5f) return;                     // most traffic stops here
    uint32_t key = log[i].client;
    uint32_t slot = fmix(key) & (kTableSize - 1);
    while (table[slot].key != key) slot = (slot + 1) & (kTableSize - 1);
    const ClientSlot& c = table[slot];
    bool noisy = c.nxdomain * 8u > c.queries;
    bool longName = (log[i].flags & 0x40) != 0;
    if (noisy && (longName || log[i].qtype == 16)) log[i].flags |= 0x80;
}

__global__ void timeSeries(const LogRecord* log, MinuteBucket* minutes, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint32_t m = (log[i].tsSec - kT0) / 60u;
    if (m >= kMinutes) return;
    atomicAdd(&minutes[m].queries, 1u);
    if (log[i].rcode) atomicAdd(&minutes[m].failures, 1u);
    if (log[i].flags & 0x80) atomicAdd(&minutes[m].flagged, 1u);
    atomicAdd(&minutes[m].bytesKb, static_cast<uint32_t>((log[i].respBytes + 1023) >> 10));
}

__global__ void summarise(const ClientSlot* table, const MinuteBucket* minutes, Totals* t) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < kMinutes && minutes[i].flagged)
        atomicAdd(&t->flagged, static_cast<unsigned long long>(minutes[i].flagged));
    if (i >= kTableSize || table[i].key == 0) return;
    atomicAdd(&t->clients, 1ull);
    if (table[i].queries > 500u) atomicAdd(&t->heavyClients, 1ull);
    atomicAdd(&t->bytes, table[i].bytes);
    atomicAdd(&t->rttUs, table[i].rttSumUs + table[i].maxRttUs);
    atomicAdd(&t->weightedNx, static_cast<unsigned long long>(table[i].nxdomain) * (table[i].key & 0xffu));
}

int main() {
    LogRecord* log; ClientSlot* table; MinuteBucket* minutes;
    uint32_t* hist; Totals* totals;
    GPU(cudaMalloc(&log, sizeof(LogRecord) * size_t(kRecords)));
    GPU(cudaMalloc(&table, sizeof(ClientSlot) * kTableSize));
    GPU(cudaMallocManaged(&minutes, sizeof(MinuteBucket) * kMinutes));
    GPU(cudaMallocManaged(&hist, sizeof(uint32_t) * kTypes * kRcodes));
    GPU(cudaMallocManaged(&totals, sizeof(Totals)));
    const int tpb = 256, blocks = (kRecords + tpb - 1) / tpb, tblocks = kTableSize / tpb;
    synthesise<<<blocks, tpb>>>(log, kRecords);
    GPU(cudaDeviceSynchronize());
    cudaEvent_t start, stop;
    GPU(cudaEventCreate(&start)); GPU(cudaEventCreate(&stop));
    std::vector<float> samples;
    for (int rep = 0; rep < 2 + 30; ++rep) {
        GPU(cudaEventRecord(start));
        clearState<<<tblocks, tpb>>>(table, minutes, hist, totals);
        nameFeatures<<<blocks, tpb>>>(log, kRecords);
        typeHistogram<<<264, tpb>>>(log, hist, kRecords);
        aggregateClients<<<blocks, tpb>>>(log, table, kRecords);
        flagRecords<<<blocks, tpb>>>(log, table, kRecords);
        timeSeries<<<blocks, tpb>>>(log, minutes, kRecords);
        summarise<<<tblocks, tpb>>>(table, minutes, totals);
        GPU(cudaEventRecord(stop)); GPU(cudaEventSynchronize(stop));
        float ms = 0.f;
        GPU(cudaEventElapsedTime(&ms, start, stop));
        if (rep >= 2) samples.push_back(ms);
    }
    GPU(cudaGetLastError());
    double histSum = 0.0, nameSum = 0.0;
    for (int k = 0; k < kTypes * kRcodes; ++k) histSum += double(k + 1) * hist[k];
    std::vector<LogRecord> tail(20000);
    GPU(cudaMemcpy(tail.data(), log + kRecords - tail.size(), tail.size() * sizeof(LogRecord), cudaMemcpyDeviceToHost));
    for (const LogRecord& r : tail) nameSum += r.nameHash * 1e-6 + r.score;
    std::sort(samples.begin(), samples.end());
    std::printf("check clients %.9g\n", double(totals->clients) + 1e-3 * double(totals->heavyClients));
    std::printf("check bytes %.9g\ncheck rtt_us %.9g\n", double(totals->bytes), double(totals->rttUs));
    std::printf("check flagged %.9g\n", double(totals->flagged));
    std::printf("check hist_weighted %.9g\n", histSum + double(totals->weightedNx));
    std::printf("check tail_names %.9g\n", nameSum);
    std::printf("time_ms %.5f\n", samples[samples.size() / 2]);
    cudaFree(log); cudaFree(table); cudaFree(minutes); cudaFree(hist); cudaFree(totals);
    return 0;
}
