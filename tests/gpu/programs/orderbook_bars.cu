// orderbook_bars.cu
//
// Post-trade analytics on one trading day:
//   * an open-addressing hash table maps exchange order ids to order records
//   * executions are matched back to their orders (fill statistics, latency)
//   * trades are aggregated into one-minute OHLCV bars per symbol
//   * bars are finalised (VWAP, returns, gaps) and summarised per symbol
//
// All prices are integers (1e-4 currency units), all clocks in nanoseconds.

#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#define CUDA_TRY(expr)                                                                   \
    do {                                                                                 \
        cudaError_t _e = (expr);                                                         \
        if (_e != cudaSuccess)                                                           \
            throw std::runtime_error(std::string(#expr) + ": " + cudaGetErrorString(_e)); \
    } while (0)

using u64 = unsigned long long;
using u32 = unsigned int;

static constexpr int kSymbols = 512;
static constexpr int kMinutes = 390;
static constexpr int kBars = kSymbols * kMinutes;
static constexpr int kOrders = 1 << 19;
static constexpr int kTrades = 1 << 21;
static constexpr int kTableBits = 20;
static constexpr u32 kTableSize = 1u << kTableBits;
static constexpr u64 kMinuteNs = 60ull * 1000 * 1000 * 1000;
static constexpr u64 kEmpty = ~0ull;

enum Side : unsigned char { Buy = 0, Sell = 1 };
enum Status : unsigned char { New = 0, Partial = 1, Filled = 2, Overfilled = 3 };

struct Order {
    u64 id;
    u64 entryNs;
    int limitPx;
    int quantity;
    int filled;
    int fills;
    u64 firstFillNs;
    u64 notional;
    int maxSlip;
    unsigned short symbol;
    unsigned char side;
    unsigned char status;
};

struct Trade {
    u64 ns;               // since session start
    u64 orderId;          // aggressor
    int px;
    int qty;
    unsigned short symbol;
    unsigned char venue;
    unsigned char flags;  // bit 0: odd lot, bit 1: auction, bit 2: busted
};

struct Slot {
    u64 key;
    int order;
    int probes;
};

struct Bar {
    u64 firstKey;         // (ns in minute << 26) | px of the earliest trade
    u64 lastKey;
    u64 volume;
    u64 notional;
    int high;
    int low;
    int open;
    int close;
    u32 trades;
    u32 oddLots;
    u32 venueMask;
    int vwapTicks;        // rounded
    int retPpm;
    int gap;
};

struct SymbolStats {
    u64 volume;
    u64 trades;
    u64 sumAbsRet;
    u64 sumRange;
    int activeBars;
    int maxGap;
    float ewmaVol;
    float turnoverSkew;
};

template <class T>
class DeviceArray {
public:
    explicit DeviceArray(size_t n) : n_(n) { CUDA_TRY(cudaMalloc(&p_, n * sizeof(T))); }
    ~DeviceArray() { cudaFree(p_); }
    DeviceArray(const DeviceArray&) = delete;
    DeviceArray& operator=(const DeviceArray&) = delete;
    void upload(const std::vector<T>& v)
    {
        CUDA_TRY(cudaMemcpy(p_, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
    }
    std::vector<T> download() const
    {
        std::vector<T> v(n_);
        CUDA_TRY(cudaMemcpy(v.data(), p_, n_ * sizeof(T), cudaMemcpyDeviceToHost));
        return v;
    }
    T* get() { return p_; }
    size_t size() const { return n_; }

private:
    T* p_ = nullptr;
    size_t n_;
};

__host__ __device__ inline u64 hashId(u64 k)
{
    k ^= k >> 31;
    k *= 0x7fb5d329728ea185ull;
    k ^= k >> 27;
    k *= 0x81dadef4bc2dd44dull;
    k ^= k >> 33;
    return k;
}

__device__ int lookup(const Slot* table, u64 id)
{
    u32 h = static_cast<u32>(hashId(id)) & (kTableSize - 1);
    for (u32 probe = 0; probe < kTableSize; ++probe) {
        const u64 k = table[h].key;
        if (k == id) return table[h].order;
        if (k == kEmpty) return -1;
        h = (h + 1) & (kTableSize - 1);
    }
    return -1;
}

// Clears table, bars and the execution part of the orders.
__global__ void resetDay(Slot* table, Bar* bars, Order* orders)
{
    const u32 stride = gridDim.x * blockDim.x;
    const u32 t0 = blockIdx.x * blockDim.x + threadIdx.x;
    for (u32 i = t0; i < kTableSize; i += stride) {
        table[i].key = kEmpty;
        table[i].order = -1;
        table[i].probes = 0;
    }
    for (u32 i = t0; i < kBars; i += stride) {
        Bar b = {};
        b.firstKey = ~0ull;
        b.low = 0x7fffffff;
        bars[i] = b;
    }
    for (u32 i = t0; i < kOrders; i += stride) {
        Order& o = orders[i];
        o.filled = 0;
        o.fills = 0;
        o.firstFillNs = ~0ull;
        o.notional = 0;
        o.maxSlip = 0;
        o.status = New;
    }
}

__global__ void insertOrders(Slot* table, const Order* orders, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const u64 id = orders[i].id;
    u32 h = static_cast<u32>(hashId(id)) & (kTableSize - 1);
    for (int probe = 0;; ++probe) {
        const u64 prev = atomicCAS(&table[h].key, kEmpty, id);
        if (prev == kEmpty || prev == id) {
            table[h].order = i;
            table[h].probes = probe;
            return;
        }
        h = (h + 1) & (kTableSize - 1);
    }
}

__global__ void matchExecutions(const Trade* trades, int n, const Slot* table, Order* orders, u64* unmatched)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (trades[i].flags & 4) return;
    const int k = lookup(table, trades[i].orderId);
    if (k < 0) {
        atomicAdd(unmatched, 1ull);
        return;
    }
    Order* o = &orders[k];
    const int px = trades[i].px, qty = trades[i].qty;
    atomicAdd(&o->filled, qty);
    atomicAdd(&o->fills, 1);
    atomicAdd(&o->notional, static_cast<u64>(px) * static_cast<u64>(qty));
    atomicMin(&o->firstFillNs, trades[i].ns);
    const int slip = o->side == Buy ? px - o->limitPx : o->limitPx - px;
    if (slip > 0) atomicMax(&o->maxSlip, slip);
}

__global__ void tradesToBars(const Trade* trades, int n, Bar* bars)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const unsigned char fl = trades[i].flags;
        if (fl & 4) continue;
        const u64 ns = trades[i].ns;
        const int minute = static_cast<int>(ns / kMinuteNs);
        if (minute >= kMinutes) continue;
        Bar* b = &bars[trades[i].symbol * kMinutes + minute];
        const int px = trades[i].px;
        const int qty = trades[i].qty;
        atomicAdd(&b->volume, static_cast<u64>(qty));
        atomicAdd(&b->notional, static_cast<u64>(px) * static_cast<u64>(qty));
        atomicAdd(&b->trades, 1u);
        if (fl & 1) {
            atomicAdd(&b->oddLots, 1u);         // odd lots do not set prices
            continue;
        }
        const u64 key = ((ns % kMinuteNs) << 26) | static_cast<u64>(px);
        atomicMin(&b->firstKey, key);
        atomicMax(&b->lastKey, key);
        atomicMax(&b->high, px);
        atomicMin(&b->low, px);
        atomicOr(&b->venueMask, 1u << trades[i].venue);
    }
}

__global__ void finaliseBars(Bar* bars)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= kBars) return;
    Bar* b = bars + i;
    if (b->firstKey == ~0ull) {
        b->low = b->high = 0;
        return;
    }
    const int open = static_cast<int>(b->firstKey & ((1ull << 26) - 1));
    const int close = static_cast<int>(b->lastKey & ((1ull << 26) - 1));
    b->open = open;
    b->close = close;
    b->vwapTicks = static_cast<int>((b->notional + b->volume / 2) / b->volume);
    b->retPpm = static_cast<int>((static_cast<long long>(close) - open) * 1000000 / open);
    // lastKey of the previous minute is immutable here, its close may not be written yet
    if (i % kMinutes != 0 && bars[i - 1].firstKey != ~0ull)
        b->gap = open - static_cast<int>(bars[i - 1].lastKey & ((1ull << 26) - 1));
}

__global__ void symbolSummary(const Bar* bars, SymbolStats* stats)
{
    // one warp per symbol
    const int gtid = blockIdx.x * blockDim.x + threadIdx.x;
    const int sym = gtid / 32, lane = gtid % 32;
    if (sym >= kSymbols) return;
    u64 vol = 0, tr = 0, absRet = 0, range = 0;
    int active = 0, maxGap = 0;
    float late = 0.0f, var = 0.0f;
    for (int m = lane; m < kMinutes; m += 32) {
        const Bar* b = &bars[sym * kMinutes + m];
        vol += b->volume;
        tr += b->trades;
        if (b->firstKey == ~0ull) continue;
        ++active;
        const int r = b->retPpm;
        absRet += r < 0 ? -r : r;
        range += b->high - b->low;
        const int g = b->gap < 0 ? -b->gap : b->gap;
        maxGap = g > maxGap ? g : maxGap;
        var += static_cast<float>(r) * static_cast<float>(r);
        if (m >= kMinutes / 2) late += static_cast<float>(b->volume);
    }
    for (int off = 16; off > 0; off >>= 1) {
        vol += __shfl_down_sync(0xffffffffu, vol, off);
        tr += __shfl_down_sync(0xffffffffu, tr, off);
        absRet += __shfl_down_sync(0xffffffffu, absRet, off);
        range += __shfl_down_sync(0xffffffffu, range, off);
        active += __shfl_down_sync(0xffffffffu, active, off);
        const int g = __shfl_down_sync(0xffffffffu, maxGap, off);
        maxGap = g > maxGap ? g : maxGap;
        late += __shfl_down_sync(0xffffffffu, late, off);
        var += __shfl_down_sync(0xffffffffu, var, off);
    }
    if (lane == 0) {
        SymbolStats s;
        s.volume = vol;
        s.trades = tr;
        s.sumAbsRet = absRet;
        s.sumRange = range;
        s.activeBars = active;
        s.maxGap = maxGap;
        s.ewmaVol = active ? sqrtf(var / active) : 0.0f;
        s.turnoverSkew = vol ? late / static_cast<float>(vol) : 0.0f;
        stats[sym] = s;
    }
}

__global__ void closeOrders(Order* orders, int n, u32* histogram)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int f = orders[i].filled, q = orders[i].quantity;
    const unsigned char st = f == 0 ? New : (f < q ? Partial : (f == q ? Filled : Overfilled));
    orders[i].status = st;
    atomicAdd(&histogram[st], 1u);
}

struct Market {
    std::vector<Order> orders;
    std::vector<Trade> trades;
};

static Market generateDay()
{
    u64 state = 0x5eed5eed1234ull;
    auto next = [&state]() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return state;
    };
    std::vector<int> mid(kSymbols);
    for (int s = 0; s < kSymbols; ++s) mid[s] = 100000 + static_cast<int>(next() % 1900000);

    Market m;
    m.orders.resize(kOrders);
    for (int i = 0; i < kOrders; ++i) {
        Order& o = m.orders[i];
        o = Order{};
        o.id = (static_cast<u64>(i) * 2654435761ull + 77ull) & 0xffffffffffull;
        o.entryNs = static_cast<u64>(i) * (kMinuteNs * kMinutes / kOrders);
        // skewed symbol activity
        const int a = static_cast<int>(next() % kSymbols), b = static_cast<int>(next() % kSymbols);
        o.symbol = static_cast<unsigned short>(a < b ? a : b);
        o.side = (next() & 8) ? Buy : Sell;
        o.quantity = 100 * (1 + static_cast<int>(next() % 20));
        o.limitPx = mid[o.symbol] + static_cast<int>(next() % 401) - 200;
    }
    m.trades.resize(kTrades);
    const u64 dt = kMinuteNs * kMinutes / kTrades;
    for (int i = 0; i < kTrades; ++i) {
        Trade& t = m.trades[i];
        t.ns = static_cast<u64>(i) * dt + next() % dt;
        // the parent order was entered recently
        const int back = static_cast<int>(next() % 2000);
        int parent = static_cast<int>(static_cast<long long>(i) * kOrders / kTrades) - back;
        if (parent < 0) parent += 2000;
        const Order& o = m.orders[parent];
        t.orderId = (next() % 1000 == 0) ? 0xff0000000000ull + i : o.id;
        t.symbol = o.symbol;
        const int drift = static_cast<int>(next() % 61) - 30;
        if (i % 4 == 0) mid[o.symbol] += drift / 2;
        t.px = mid[o.symbol] + drift;
        t.qty = (next() % 5 == 0) ? 1 + static_cast<int>(next() % 99) : 100 * (1 + static_cast<int>(next() % 4));
        t.venue = static_cast<unsigned char>(next() % 16);
        const bool auction = next() % 200 == 0;
        const bool cancelled = next() % 300 == 0;
        t.flags = static_cast<unsigned char>((t.qty < 100 ? 1 : 0) | (auction ? 2 : 0) | (cancelled ? 4 : 0));
    }
    return m;
}

static int run()
{
    const Market day = generateDay();

    DeviceArray<Order> orders(kOrders);
    DeviceArray<Trade> trades(kTrades);
    DeviceArray<Slot> table(kTableSize);
    DeviceArray<Bar> bars(kBars);
    DeviceArray<SymbolStats> stats(kSymbols);
    DeviceArray<u64> unmatched(1);
    DeviceArray<u32> histogram(4);
    orders.upload(day.orders);
    trades.upload(day.trades);

    auto replay = [&]() {
        const int block = 256;
        resetDay<<<1024, block>>>(table.get(), bars.get(), orders.get());
        CUDA_TRY(cudaMemsetAsync(unmatched.get(), 0, sizeof(u64)));
        CUDA_TRY(cudaMemsetAsync(histogram.get(), 0, 4 * sizeof(u32)));
        insertOrders<<<kOrders / block, block>>>(table.get(), orders.get(), kOrders);
        matchExecutions<<<kTrades / block, block>>>(trades.get(), kTrades, table.get(), orders.get(),
                                                    unmatched.get());
        tradesToBars<<<2048, block>>>(trades.get(), kTrades, bars.get());
        finaliseBars<<<(kBars + block - 1) / block, block>>>(bars.get());
        symbolSummary<<<kSymbols * 32 / block, block>>>(bars.get(), stats.get());
        closeOrders<<<kOrders / block, block>>>(orders.get(), kOrders, histogram.get());
    };

    replay();
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(cudaDeviceSynchronize());
    {
        const auto h = histogram.download();
        if (h[0] + h[1] + h[2] + h[3] != static_cast<u32>(kOrders)) {
            std::fprintf(stderr, "order status histogram inconsistent\n");
            return 1;
        }
    }

    const int iterations = 40;
    cudaEvent_t beg, end;
    CUDA_TRY(cudaEventCreate(&beg));
    CUDA_TRY(cudaEventCreate(&end));
    CUDA_TRY(cudaEventRecord(beg));
    for (int it = 0; it < iterations; ++it) replay();
    CUDA_TRY(cudaEventRecord(end));
    CUDA_TRY(cudaEventSynchronize(end));
    float ms = 0.f;
    CUDA_TRY(cudaEventElapsedTime(&ms, beg, end));
    CUDA_TRY(cudaEventDestroy(beg));
    CUDA_TRY(cudaEventDestroy(end));

    const auto ho = orders.download();
    const auto hb = bars.download();
    const auto hs = stats.download();
    const auto hh = histogram.download();
    const auto hu = unmatched.download();

    u64 filled = 0, notional = 0, latency = 0, slip = 0;
    for (const Order& o : ho) {
        filled += o.filled;
        notional += o.notional;
        slip += o.maxSlip;
        if (o.fills) latency += (o.firstFillNs > o.entryNs ? o.firstFillNs - o.entryNs : 0) / 1000;
    }
    long long ohlc = 0, gaps = 0, odd = 0, venues = 0;
    for (const Bar& b : hb) {
        ohlc += b.open + 2LL * b.high - b.low + 3LL * b.close + b.vwapTicks;
        gaps += b.gap;
        odd += b.oddLots;
        venues += b.venueMask & 0xffff;
    }
    u64 vol = 0, tr = 0, ret = 0, range = 0;
    int active = 0, maxGap = 0;
    double volatility = 0, skew = 0;
    for (const SymbolStats& s : hs) {
        vol += s.volume;
        tr += s.trades;
        ret += s.sumAbsRet;
        range += s.sumRange;
        active += s.activeBars;
        maxGap = s.maxGap > maxGap ? s.maxGap : maxGap;
        volatility += s.ewmaVol;
        skew += s.turnoverSkew;
    }
    std::printf("check unmatched %llu\n", hu[0]);
    std::printf("check filled_qty %llu\n", filled);
    std::printf("check notional %llu\n", notional);
    std::printf("check latency_us %llu\n", latency);
    std::printf("check slippage %llu\n", slip);
    std::printf("check status %u/%u/%u/%u\n", hh[0], hh[1], hh[2], hh[3]);
    std::printf("check ohlc %lld\n", ohlc);
    std::printf("check gaps %lld\n", gaps);
    std::printf("check odd_lots %lld\n", odd);
    std::printf("check venues %lld\n", venues);
    std::printf("check volume %llu\n", vol);
    std::printf("check trades %llu\n", tr);
    std::printf("check abs_ret %llu\n", ret);
    std::printf("check range %llu\n", range);
    std::printf("check active_bars %d\n", active);
    std::printf("check max_gap %d\n", maxGap);
    std::printf("check volatility %.3e\n", volatility / kSymbols);
    std::printf("check skew %.3e\n", skew / kSymbols);
    std::printf("time_ms %.5f\n", ms / iterations);
    return 0;
}

int main()
{
    try {
        return run();
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
