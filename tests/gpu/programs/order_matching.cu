// Call-auction matching: every symbol has a slice of the order table. Orders are ranked by
// price-time priority (bitonic sort per symbol), crossed, and the remaining depth is queried.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <vector>

#define CUDA_TRY(expr)                                                           \
    do {                                                                         \
        cudaError_t _e = (expr);                                                 \
        if (_e != cudaSuccess) {                                                 \
            fprintf(stderr, "%s failed: %s (%s:%d)\n", #expr,                    \
                    cudaGetErrorString(_e), __FILE__, __LINE__);                 \
            abort();                                                             \
        }                                                                        \
    } while (0)

struct Order {
    int64_t id;
    int symbol;
    int price;              // ticks
    int qty;
    int filled;
    uint32_t seq;
    uint8_t side;           // 0 = buy, 1 = sell
    uint8_t tif;            // 1 = immediate-or-cancel
    int16_t venue;
};

struct Book {
    int firstOrder;
    int numOrders;
    int numBuys;
    int numTrades;
    int bestBid, bestAsk;
    int64_t volume;
    int64_t notional;
    int lastPrice;
    float imbalance;
};

struct Trade {
    int buyOrder;
    int sellOrder;
    int price;
    int qty;
};

struct Quote {
    int symbol;
    int limit;              // worst acceptable price
    int wanted;
    int available;
    float avgPrice;
    uint8_t side;
    uint8_t full;
    int16_t levels;
};

static constexpr int MAX_ORDERS = 256;
static constexpr int SIZE_BINS = 32;

__global__ void resetOrders(Order* orders, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        orders[i].filled = 0;
}

// One block per symbol. Key = side | price priority | sequence | local index.
__global__ void __launch_bounds__(MAX_ORDERS)
rankOrders(Book* books, const Order* __restrict__ orders, int* __restrict__ rank)
{
    __shared__ unsigned long long key[MAX_ORDERS];
    __shared__ int buys;
    const int first = books[blockIdx.x].firstOrder;
    const int n = books[blockIdx.x].numOrders;
    const int t = threadIdx.x;
    if (t == 0) buys = 0;
    __syncthreads();
    unsigned long long k = ~0ull;
    if (t < n) {
        const Order& o = orders[first + t];
        unsigned long long pr = o.side ? o.price : (0xFFFFF - o.price);
        k = ((unsigned long long)o.side << 62) | (pr << 40) | ((unsigned long long)(o.seq & 0xFFFFFFu) << 16) | t;
        if (!o.side) atomicAdd(&buys, 1);
    }
    key[t] = k;
    __syncthreads();
    for (int size = 2; size <= MAX_ORDERS; size <<= 1)
        for (int stride = size >> 1; stride > 0; stride >>= 1) {
            int p = t ^ stride;
            if (p > t) {
                bool up = (t & size) == 0;
                unsigned long long a = key[t], b = key[p];
                if ((a > b) == up) { key[t] = b; key[p] = a; }
            }
            __syncthreads();
        }
    if (t < n) rank[first + t] = first + (int)(key[t] & 0xFFFF);
    if (t == 0) books[blockIdx.x].numBuys = buys;
}

// One thread per symbol: two-pointer cross of the sorted sides.
__global__ void matchBooks(Book* books, Order* orders, const int* __restrict__ rank, Trade* trades, int numSymbols)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= numSymbols) return;
    Book bk = books[s];
    const int* buy = rank + bk.firstOrder;
    const int* sell = buy + bk.numBuys;
    const int nb = bk.numBuys, ns = bk.numOrders - bk.numBuys;
    int i = 0, j = 0, nt = 0;
    bk.volume = 0; bk.notional = 0;
    while (i < nb && j < ns) {
        Order& b = orders[buy[i]];
        Order& a = orders[sell[j]];
        if (b.price < a.price) break;
        int rb = b.qty - b.filled, ra = a.qty - a.filled;
        int q = rb < ra ? rb : ra;
        int px = b.seq < a.seq ? b.price : a.price;     // resting order sets the price
        b.filled += q; a.filled += q;
        Trade t;
        t.buyOrder = buy[i]; t.sellOrder = sell[j];
        t.price = px; t.qty = q;
        trades[bk.firstOrder + nt++] = t;
        bk.volume += q;
        bk.notional += (int64_t)q * px;
        bk.lastPrice = px;
        if (b.filled == b.qty) ++i;
        if (a.filled == a.qty) ++j;
    }
    bk.numTrades = nt;
    // skip IOC remainders when publishing the top of book
    int restBid = 0, restAsk = 0;
    while (i < nb && orders[buy[i]].tif == 1) ++i;
    while (j < ns && orders[sell[j]].tif == 1) ++j;
    bk.bestBid = i < nb ? orders[buy[i]].price : 0;
    bk.bestAsk = j < ns ? orders[sell[j]].price : 0;
    if (i < nb) restBid = orders[buy[i]].qty - orders[buy[i]].filled;
    if (j < ns) restAsk = orders[sell[j]].qty - orders[sell[j]].filled;
    bk.imbalance = (float)(restBid - restAsk) / (float)(restBid + restAsk + 1);
    books[s] = bk;
}

// Depth queries: binary search for the end of the acceptable price range, then walk.
__global__ void answerQuotes(Quote* quotes, int n, const Book* __restrict__ books,
                             const Order* __restrict__ orders, const int* __restrict__ rank)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= n) return;
    Quote q = quotes[k];
    const Book& bk = books[q.symbol];
    // a buyer looks at sell orders and the other way around
    const int* side = rank + bk.firstOrder + (q.side == 0 ? bk.numBuys : 0);
    int cnt = q.side == 0 ? bk.numOrders - bk.numBuys : bk.numBuys;
    int lo = 0, hi = cnt;
    while (lo < hi) {
        int mid = (lo + hi) >> 1;
        int p = orders[side[mid]].price;
        bool ok = q.side == 0 ? p <= q.limit : p >= q.limit;
        if (ok) lo = mid + 1; else hi = mid;
    }
    int got = 0, levels = 0, prev = -1;
    long long cost = 0;
    for (int i = 0; i < lo && got < q.wanted; ++i) {
        const Order& o = orders[side[i]];
        int rest = o.qty - o.filled;
        if (rest == 0 || o.tif == 1) continue;
        int take = min(rest, q.wanted - got);
        got += take;
        cost += (long long)take * o.price;
        if (o.price != prev) { ++levels; prev = o.price; }
    }
    q.available = got;
    q.avgPrice = got ? (float)((double)cost / got) : 0.f;
    q.full = got == q.wanted;
    q.levels = (int16_t)levels;
    quotes[k] = q;
}

// Warp per symbol over its trades.
__global__ void tradeSizes(const Book* __restrict__ books, const Trade* __restrict__ trades, int numSymbols,
                           unsigned* hist, unsigned long long* crossed)
{
    __shared__ unsigned bins[SIZE_BINS];
    if (threadIdx.x < SIZE_BINS) bins[threadIdx.x] = 0;
    __syncthreads();
    int s = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
    if (s < numSymbols) {
        unsigned long long sum = 0;
        const int nt = books[s].numTrades, first = books[s].firstOrder;
        for (int i = lane; i < nt; i += 32) {
            const Trade& t = trades[first + i];
            atomicAdd(&bins[min(SIZE_BINS - 1, t.qty >> 4)], 1u);
            sum += t.qty;
        }
        for (int o = 16; o; o >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, o);
        if (lane == 0 && sum) atomicAdd(crossed, sum);
    }
    __syncthreads();
    if (threadIdx.x < SIZE_BINS && bins[threadIdx.x]) atomicAdd(&hist[threadIdx.x], bins[threadIdx.x]);
}

static uint64_t gState = 0x9E3779B97F4A7C15ull;
static uint32_t rnd()
{
    gState ^= gState << 7; gState ^= gState >> 9;
    return (uint32_t)(gState >> 16);
}

int main(int argc, char** argv)
{
    const int numSymbols = argc > 1 ? atoi(argv[1]) : 10000;
    const int numQuotes = 1 << 20;
    std::vector<Book> books(numSymbols);
    std::vector<Order> orders;
    orders.reserve((size_t)numSymbols * MAX_ORDERS);
    std::vector<int> mid(numSymbols);
    for (int s = 0; s < numSymbols; ++s) {
        Book b{};
        b.firstOrder = (int)orders.size();
        b.numOrders = 64 + rnd() % (MAX_ORDERS - 64 + 1);
        mid[s] = 2000 + rnd() % 20000;
        for (int i = 0; i < b.numOrders; ++i) {
            Order o{};
            o.id = 1000000000ll + (int64_t)orders.size();
            o.symbol = s;
            o.side = rnd() & 1;
            int off = (int)(rnd() % 200) - 60;
            o.price = o.side ? mid[s] + off : mid[s] - off;
            o.qty = 1 + rnd() % 400;
            o.seq = (rnd() & 0xFFFF) * 64u + (i & 63);
            o.tif = rnd() % 16 == 0;
            o.venue = (int16_t)(rnd() % 12);
            orders.push_back(o);
        }
        books[s] = b;
    }
    std::vector<Quote> quotes(numQuotes);
    for (auto& q : quotes) {
        q = Quote{};
        q.symbol = rnd() % numSymbols;
        q.side = rnd() & 1;
        int off = rnd() % 150;
        q.limit = q.side == 0 ? mid[q.symbol] + off : mid[q.symbol] - off;
        q.wanted = 50 + rnd() % 3000;
    }
    const int n = (int)orders.size();

    Book* dBooks; Order* dOrders; Trade* dTrades; Quote* dQuotes; int* dRank; unsigned* dHist; unsigned long long* dCross;
    CUDA_TRY(cudaMalloc(&dBooks, books.size() * sizeof(Book)));
    CUDA_TRY(cudaMalloc(&dOrders, orders.size() * sizeof(Order)));
    CUDA_TRY(cudaMalloc(&dTrades, orders.size() * sizeof(Trade)));
    CUDA_TRY(cudaMalloc(&dQuotes, quotes.size() * sizeof(Quote)));
    CUDA_TRY(cudaMalloc(&dRank, orders.size() * sizeof(int)));
    CUDA_TRY(cudaMalloc(&dHist, SIZE_BINS * sizeof(unsigned)));
    CUDA_TRY(cudaMalloc(&dCross, sizeof(unsigned long long)));
    CUDA_TRY(cudaMemcpy(dBooks, books.data(), books.size() * sizeof(Book), cudaMemcpyHostToDevice));
    CUDA_TRY(cudaMemcpy(dOrders, orders.data(), orders.size() * sizeof(Order), cudaMemcpyHostToDevice));
    CUDA_TRY(cudaMemcpy(dQuotes, quotes.data(), quotes.size() * sizeof(Quote), cudaMemcpyHostToDevice));
    CUDA_TRY(cudaMemset(dTrades, 0, orders.size() * sizeof(Trade)));

    cudaEvent_t t0, t1;
    CUDA_TRY(cudaEventCreate(&t0)); CUDA_TRY(cudaEventCreate(&t1));
    for (int round = -1; round < 10; ++round) {
        if (round == 0) CUDA_TRY(cudaEventRecord(t0));
        CUDA_TRY(cudaMemsetAsync(dHist, 0, SIZE_BINS * sizeof(unsigned)));
        CUDA_TRY(cudaMemsetAsync(dCross, 0, sizeof(unsigned long long)));
        resetOrders<<<1024, 256>>>(dOrders, n);
        rankOrders<<<numSymbols, MAX_ORDERS>>>(dBooks, dOrders, dRank);
        matchBooks<<<(numSymbols + 63) / 64, 64>>>(dBooks, dOrders, dRank, dTrades, numSymbols);
        answerQuotes<<<(numQuotes + 127) / 128, 128>>>(dQuotes, numQuotes, dBooks, dOrders, dRank);
        tradeSizes<<<(numSymbols + 7) / 8, 256>>>(dBooks, dTrades, numSymbols, dHist, dCross);
        CUDA_TRY(cudaGetLastError());
    }
    CUDA_TRY(cudaEventRecord(t1));
    CUDA_TRY(cudaEventSynchronize(t1));
    float ms = 0;
    CUDA_TRY(cudaEventElapsedTime(&ms, t0, t1));

    std::vector<unsigned> hist(SIZE_BINS);
    unsigned long long crossed = 0;
    CUDA_TRY(cudaMemcpy(books.data(), dBooks, books.size() * sizeof(Book), cudaMemcpyDeviceToHost));
    CUDA_TRY(cudaMemcpy(orders.data(), dOrders, orders.size() * sizeof(Order), cudaMemcpyDeviceToHost));
    CUDA_TRY(cudaMemcpy(quotes.data(), dQuotes, quotes.size() * sizeof(Quote), cudaMemcpyDeviceToHost));
    CUDA_TRY(cudaMemcpy(hist.data(), dHist, SIZE_BINS * sizeof(unsigned), cudaMemcpyDeviceToHost));
    CUDA_TRY(cudaMemcpy(&crossed, dCross, sizeof(crossed), cudaMemcpyDeviceToHost));
    long long vol = 0, notional = 0, trades = 0, top = 0, filled = 0, avail = 0, levels = 0, hs = 0;
    double imb = 0, avg = 0;
    for (const auto& b : books) {
        vol += b.volume; notional += b.notional; trades += b.numTrades;
        top += b.bestAsk - b.bestBid; imb += b.imbalance;
    }
    for (const auto& o : orders) filled += o.filled;
    for (const auto& q : quotes) { avail += q.available; levels += q.levels + 1000 * q.full; avg += q.avgPrice; }
    for (int k = 0; k < SIZE_BINS; ++k) hs += (long long)hist[k] * k;
    printf("check volume %lld\ncheck notional %lld\ncheck trades %lld\n", vol, notional, trades);
    printf("check spread %lld\ncheck imbalance %.6g\ncheck filled %lld\n", top, imb, filled);
    printf("check available %lld\ncheck levels %lld\ncheck avg_price %.6g\n", avail, levels, avg);
    printf("check sizes %lld\ncheck crossed %llu\n", hs, crossed);
    printf("time_ms %.4f\n", ms);
    return 0;
}
