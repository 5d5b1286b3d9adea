// Sessionisation of a clickstream: events are folded into an open-addressing hash table of
// session records, sessions are classified, pages are counted and a batch of lookups is served.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>
#include <cuda_runtime.h>

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;

#ifdef SMALL_TEST
constexpr u32 kEvents = 60000, kSessions = 9000, kSlots = 1u << 15, kQueries = 5000;
#else
constexpr u32 kEvents = 3000000, kSessions = 420000, kSlots = 1u << 20, kQueries = 300000;
#endif
constexpr u32 kPages = 3000;
constexpr int kCategories = 24;
constexpr int kDurationBuckets = 16;
constexpr u64 kEmpty = ~0ull;

enum Action : u8 { View, Search, AddToCart, Purchase };

struct Event {
    u64 session;
    u32 time;
    u32 user;
    float value;        // whole cents, only for purchases
    u16 page;
    u16 dwell;
    Action action;
    u8 device;
    char country[2];
};

struct SessionSlot {
    u64 key;
    u64 first;          // time << 32 | page
    u64 last;
    u32 events;
    u32 actions[4];
    u32 cents;
    u32 dwell;
};

struct PageStat {
    u32 views;
    u32 entries;
    u32 exits;
    u32 byDevice[3];
    u64 dwell;
};

struct CategoryRange { u16 firstPage, id; };     // sorted by firstPage

struct Query {
    u64 session;
    u32 cents;
    u16 events;
    bool found;
};

struct Summary {
    u64 sessions, bounces, buyers, cents;
    u64 duration[kDurationBuckets];
    u64 probes;
};

inline void ok(cudaError_t e, int line) {
    if (e != cudaSuccess) { fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(e)); exit(1); }
}
#define OK(x) ok((x), __LINE__)

__device__ __forceinline__ u32 hashKey(u64 k) {
    k ^= k >> 33; k *= 0xff51afd7ed558ccdull;
    k ^= k >> 33; k *= 0xc4ceb9fe1a85ec53ull;
    k ^= k >> 33;
    return (u32)k;
}

// Non-owning view with the device-side operations.
class SessionTable {
    SessionSlot* slots_;
    u32 mask_;
public:
    SessionTable(SessionSlot* s, u32 capacity) : slots_(s), mask_(capacity - 1) {}
    __device__ SessionSlot& slot(u32 i) const { return slots_[i]; }
    __device__ u32 capacity() const { return mask_ + 1; }
    __device__ SessionSlot* findOrInsert(u64 key) const {
        u32 i = hashKey(key) & mask_;
        for (;;) {
            u64 seen = atomicCAS(&slots_[i].key, kEmpty, key);
            if (seen == kEmpty || seen == key) return &slots_[i];
            i = (i + 1) & mask_;
        }
    }
    __device__ const SessionSlot* find(u64 key) const {
        for (u32 i = hashKey(key) & mask_;; i = (i + 1) & mask_) {
            if (slots_[i].key == key) return &slots_[i];
            if (slots_[i].key == kEmpty) return nullptr;
        }
    }
};

__global__ void clearTable(SessionTable table, PageStat* pages, Summary* sum) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < table.capacity()) {
        SessionSlot& s = table.slot(i);
        s.key = kEmpty;
        s.first = ~0ull;
        s.last = 0;
        s.events = s.cents = s.dwell = 0;
        for (int a = 0; a < 4; ++a) s.actions[a] = 0;
    }
    if (i < kPages) pages[i] = PageStat{};
    if (i == 0) *sum = Summary{};
}

__global__ void aggregate(SessionTable table, const Event* ev, u32 n) {
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const Event& e = ev[i];
        SessionSlot* s = table.findOrInsert(e.session);
        u64 stamp = ((u64)e.time << 32) | e.page;
        atomicMin(&s->first, stamp);
        atomicMax(&s->last, stamp);
        atomicAdd(&s->events, 1u);
        atomicAdd(&s->actions[e.action], 1u);
        atomicAdd(&s->dwell, (u32)e.dwell);
        if (e.action == Purchase) atomicAdd(&s->cents, (u32)(e.value * 100.0f + 0.5f));
    }
}

// Page counters plus a per-category histogram in shared memory.
__global__ void pageStats(const Event* ev, u32 n, PageStat* pages, const CategoryRange* cats, u32* catDwell) {
    __shared__ u32 dwell[kCategories];
    __shared__ CategoryRange range[kCategories];
    if (threadIdx.x < kCategories) {
        dwell[threadIdx.x] = 0;
        range[threadIdx.x] = cats[threadIdx.x];
    }
    __syncthreads();
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const u16 page = ev[i].page;
        PageStat& p = pages[page];
        atomicAdd(&p.views, 1u);
        atomicAdd(&p.byDevice[ev[i].device], 1u);
        int lo = 0, hi = kCategories;           // last range with firstPage <= page
        while (hi - lo > 1) {
            int mid = (lo + hi) >> 1;
            if (range[mid].firstPage <= page) lo = mid; else hi = mid;
        }
        atomicAdd(&dwell[range[lo].id], (u32)ev[i].dwell >> 4);
    }
    __syncthreads();
    if (threadIdx.x < kCategories) atomicAdd(&catDwell[threadIdx.x], dwell[threadIdx.x]);
}

__global__ void classify(SessionTable table, PageStat* pages, Summary* sum) {
    __shared__ u32 hist[kDurationBuckets];
    if (threadIdx.x < kDurationBuckets) hist[threadIdx.x] = 0;
    __syncthreads();
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    u32 live = 0, bounce = 0, buyer = 0, cents = 0;
    if (i < table.capacity()) {
        const SessionSlot& s = table.slot(i);
        if (s.key != kEmpty) {
            live = 1;
            bounce = s.events == 1;
            buyer = s.actions[Purchase] > 0;
            cents = s.cents;
            atomicAdd(&pages[(u32)s.first & 0xffffu].entries, 1u);
            atomicAdd(&pages[(u32)s.last & 0xffffu].exits, 1u);
            u32 seconds = (u32)(s.last >> 32) - (u32)(s.first >> 32);
            int bucket = seconds ? 32 - __clz((int)seconds) : 0;
            atomicAdd(&hist[min(bucket, kDurationBuckets - 1)], 1u);
            if (!bounce) atomicAdd(&pages[(u32)s.first & 0xffffu].dwell, (u64)s.dwell);
        }
    }
    const u32 full = 0xffffffffu;
    u32 nLive = __popc(__ballot_sync(full, live));
    u32 nBounce = __popc(__ballot_sync(full, bounce));
    u32 nBuyer = __popc(__ballot_sync(full, buyer));
    for (int o = 16; o > 0; o >>= 1) cents += __shfl_xor_sync(full, cents, o);
    if ((threadIdx.x & 31) == 0) {
        atomicAdd(&sum->sessions, (u64)nLive);
        atomicAdd(&sum->bounces, (u64)nBounce);
        atomicAdd(&sum->buyers, (u64)nBuyer);
        atomicAdd(&sum->cents, (u64)cents);
    }
    __syncthreads();
    if (threadIdx.x < kDurationBuckets && hist[threadIdx.x])
        atomicAdd(&sum->duration[threadIdx.x], (u64)hist[threadIdx.x]);
}

__global__ void lookup(SessionTable table, Query* q, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const SessionSlot* s = table.find(q[i].session);
    q[i].found = s != nullptr;
    q[i].events = s ? (u16)min(s->events, 65535u) : (u16)0;
    q[i].cents = s ? s->cents : 0u;
}

template <typename T> struct GpuVec {
    T* d = nullptr;
    size_t n;
    explicit GpuVec(size_t count) : n(count) { OK(cudaMalloc((void**)&d, n * sizeof(T))); }
    explicit GpuVec(const std::vector<T>& h) : GpuVec(h.size()) { OK(cudaMemcpy(d, h.data(), n * sizeof(T), cudaMemcpyHostToDevice)); }
    GpuVec(const GpuVec&) = delete;
    ~GpuVec() { cudaFree(d); }
    void get(std::vector<T>& h) const { h.resize(n); OK(cudaMemcpy(h.data(), d, n * sizeof(T), cudaMemcpyDeviceToHost)); }
};

static void generate(std::vector<Event>& ev, std::vector<Query>& queries) {
    std::mt19937_64 gen(20240607);
    std::vector<u64> ids(kSessions);
    std::vector<u32> begin(kSessions);
    for (u32 s = 0; s < kSessions; ++s) {
        ids[s] = gen() >> 1;
        begin[s] = 1700000000u + (u32)(gen() % 86400);
    }
    ev.resize(kEvents);
    for (Event& e : ev) {
        e = Event{};
        u64 r = gen();
        u32 a = (u32)(r % kSessions), b = (u32)((r >> 32) % kSessions);
        u32 s = std::min(a, b);                 // earlier sessions are busier
        e.session = ids[s];
        e.user = s / 3;
        r = gen();
        e.time = begin[s] + (u32)((r & 0xffff) * (1 + s % 7) / 40);
        u32 p = (u32)((r >> 16) & 0xfff) * (u32)((r >> 28) & 0xfff) / 4096;      // skewed
        e.page = (u16)std::min(p, kPages - 1);
        e.dwell = (u16)((r >> 40) & 0x3ff);
        u32 t = (u32)((r >> 50) & 0x7f);
        e.action = t < 90 ? View : t < 112 ? Search : t < 123 ? AddToCart : Purchase;
        e.device = (u8)(s % 3);
        e.value = e.action == Purchase ? (float)((r >> 20) % 20000) * 0.01f : 0.0f;
        e.country[0] = "UDFJ"[s & 3];
        e.country[1] = "SERP"[s & 3];
    }
    queries.resize(kQueries);
    for (Query& q : queries) {
        q = Query{};
        u64 r = gen();
        q.session = r % 5 == 0 ? (r >> 1) : ids[(r >> 8) % kSessions];
    }
}

int main() {
    std::vector<Event> hEvents;
    std::vector<Query> hQueries;
    generate(hEvents, hQueries);
    std::vector<CategoryRange> hCats(kCategories);
    for (int c = 0; c < kCategories; ++c) hCats[c] = {(u16)(c * c * 5), (u16)((c * 7) % kCategories)};

    GpuVec<Event> events(hEvents);
    GpuVec<Query> queries(hQueries);
    GpuVec<CategoryRange> cats(hCats);
    GpuVec<SessionSlot> slots(kSlots);
    GpuVec<PageStat> pages(kPages);
    GpuVec<u32> catDwell(kCategories);
    GpuVec<Summary> summary(1);
    SessionTable table(slots.d, kSlots);

    cudaEvent_t t0, t1;
    OK(cudaEventCreate(&t0)); OK(cudaEventCreate(&t1));
    const int iters = 20;
    for (int it = -1; it < iters; ++it) {
        if (it == 0) OK(cudaEventRecord(t0));
        OK(cudaMemsetAsync(catDwell.d, 0, kCategories * sizeof(u32)));
        clearTable<<<kSlots / 256, 256>>>(table, pages.d, summary.d);
        aggregate<<<2112, 256>>>(table, events.d, kEvents);
        pageStats<<<528, 256>>>(events.d, kEvents, pages.d, cats.d, catDwell.d);
        classify<<<kSlots / 256, 256>>>(table, pages.d, summary.d);
        lookup<<<(kQueries + 127) / 128, 128>>>(table, queries.d, kQueries);
    }
    OK(cudaEventRecord(t1)); OK(cudaEventSynchronize(t1));
    OK(cudaGetLastError());
    float ms = 0;
    OK(cudaEventElapsedTime(&ms, t0, t1));

    std::vector<Summary> sum;
    std::vector<PageStat> ps;
    std::vector<u32> cd;
    summary.get(sum); pages.get(ps); catDwell.get(cd); queries.get(hQueries);
    u64 pageMix = 0, catMix = 0, durMix = 0, found = 0, qCents = 0;
    for (u32 p = 0; p < kPages; ++p) pageMix += (p % 13 + 1) * (u64)(ps[p].views + 3 * ps[p].entries + 5 * ps[p].exits + 7 * ps[p].byDevice[1]) + ps[p].dwell;
    for (int c = 0; c < kCategories; ++c) catMix += (u64)cd[c] * (c + 1);
    for (int b = 0; b < kDurationBuckets; ++b) durMix += sum[0].duration[b] * (b + 1);
    for (const Query& q : hQueries) { found += q.found; qCents += q.cents + q.events; }
    printf("check %llu/%llu/%llu/%llu/%llu/%llu/%llu/%llu/%llu\n", sum[0].sessions, sum[0].bounces, sum[0].buyers, sum[0].cents,
           pageMix, catMix, durMix, found, qCents);
    printf("time_ms %f\n", ms / iters);
    return 0;
}
