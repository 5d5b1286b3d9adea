// basket_rec.cu
// Basket analysis for a web shop: session totals, purchase counters, a pair
// co-occurrence hash table, lift scores and top-4 recommendations per session.
#include <algorithm>
#include <array>
#include <cstdint>
#include <iostream>
#include <iomanip>
#include <random>
#include <sstream>
#include <stdexcept>
#include <tuple>
#include <vector>
#include <cuda_runtime.h>

using Key = unsigned long long;
enum class Device : std::int8_t { Desktop, Phone, Tablet };

struct Item {
    int category;
    float price;
    float margin;
    float popularity;
    int purchases;
    int promo_sold;
    float emb[8];
    short brand;
    bool in_stock;
};

struct BasketLine {
    int item;
    float paid;
    short qty;
    char promo;
};

struct Session {
    int begin;
    int user;
    float total;
    float discount;
    float rec_score;
    int recs[4];
    short length;
    Device device;
    bool returning;
};

struct PairSlot {
    Key key;
    int count;
    int promo_count;
    float lift;
};

static constexpr Key EMPTY_KEY = ~Key{0};
static constexpr int N_ITEMS = 200'000, N_CATS = 3'000, N_SESSIONS = 500'000;
static constexpr unsigned TABLE_SIZE = 1u << 22;
static constexpr int ROUNDS = 10, CANDIDATES = 24;

struct Shop {                       // everything the kernels see
    Item* items;
    BasketLine* lines;
    Session* sessions;
    PairSlot* table;
    const int* cat_start;
    const int* cat_items;
    int n_lines;
};

__device__ __forceinline__ unsigned hash_key(Key k) {
    k ^= k >> 33; k *= 0xff51afd7ed558ccdULL; k ^= k >> 33;
    return static_cast<unsigned>(k) & (TABLE_SIZE - 1);
}

__device__ __forceinline__ Key pair_key(int a, int b) {
    return a < b ? (static_cast<Key>(a) << 32 | static_cast<unsigned>(b)) : (static_cast<Key>(b) << 32 | static_cast<unsigned>(a));
}

__device__ const PairSlot* find_pair(const PairSlot* table, Key key) {
    for (unsigned s = hash_key(key);; s = (s + 1) & (TABLE_SIZE - 1)) {
        const Key k = table[s].key;
        if (k == key) return &table[s];
        if (k == EMPTY_KEY) return nullptr;
    }
}

__global__ void resetCounters(Shop shop) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < TABLE_SIZE) {
        shop.table[i].key = EMPTY_KEY;
        shop.table[i].count = 0;
        shop.table[i].promo_count = 0;
    }
    if (i < N_ITEMS) shop.items[i].purchases = shop.items[i].promo_sold = 0;
}

__global__ void countPurchases(Shop shop) {
    const int l = blockIdx.x * blockDim.x + threadIdx.x;
    if (l >= shop.n_lines) return;
    const auto it = shop.lines[l].item;
    const int q = shop.lines[l].qty;
    atomicAdd(&shop.items[it].purchases, q);
    if (shop.lines[l].promo) atomicAdd(&shop.items[it].promo_sold, q);
}

__global__ void sessionTotals(Shop shop) {
    const int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= N_SESSIONS) return;
    Session& ses = shop.sessions[s];
    float total = 0.f, full = 0.f;
    for (int k = 0; k < ses.length; ++k) {
        const BasketLine& bl = shop.lines[ses.begin + k];
        total += bl.paid * bl.qty;
        full += shop.items[bl.item].price * bl.qty;
    }
    ses.total = total;
    ses.discount = full - total;
}

__global__ void buildPairs(Shop shop) {
    const int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= N_SESSIONS) return;
    const int b = shop.sessions[s].begin, n = shop.sessions[s].length;
    for (int i = 1; i < n; ++i) {
        const BasketLine u = shop.lines[b + i];
        for (int j = 0; j < i; ++j) {
            const int other = shop.lines[b + j].item;
            if (other == u.item) continue;
            const Key key = pair_key(u.item, other);
            unsigned slot = hash_key(key);
            while (true) {
                const Key prev = atomicCAS(&shop.table[slot].key, EMPTY_KEY, key);
                if (prev == EMPTY_KEY || prev == key) break;
                slot = (slot + 1) & (TABLE_SIZE - 1);
            }
            atomicAdd(&shop.table[slot].count, 1);
            if (u.promo || shop.lines[b + j].promo) atomicAdd(&shop.table[slot].promo_count, 1);
        }
    }
}

__global__ void pairLift(Shop shop) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= TABLE_SIZE) return;
    PairSlot& p = shop.table[i];
    if (p.key == EMPTY_KEY) { p.lift = 0.f; return; }
    const int a = static_cast<int>(p.key >> 32), b = static_cast<int>(p.key & 0xffffffffu);
    const float pa = shop.items[a].purchases, pb = shop.items[b].purchases;
    const float organic = p.count - 0.5f * p.promo_count;
    p.lift = organic * N_SESSIONS / (pa * pb + 50.f);
}

__global__ void recommend(Shop shop, int round) {
    const int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= N_SESSIONS) return;
    Session& ses = shop.sessions[s];
    const int last = shop.lines[ses.begin + ses.length - 1].item;
    const int cat = shop.items[last].category;
    const int c0 = shop.cat_start[cat], cn = shop.cat_start[cat + 1] - c0;
    float me[8];
#pragma unroll
    for (int d = 0; d < 8; ++d) me[d] = shop.items[last].emb[d];
    float score[4] = {-1e30f, -1e30f, -1e30f, -1e30f};
    int rec[4] = {-1, -1, -1, -1};
    unsigned rng = s * 747796405u + round;
    for (int k = 0; k < CANDIDATES; ++k) {
        rng = rng * 1664525u + 1013904223u;
        const int cand = shop.cat_items[c0 + (rng >> 8) % cn];
        if (cand == last || cand == rec[0] || cand == rec[1] || cand == rec[2] || cand == rec[3]) continue;
        const Item& it = shop.items[cand];
        if (!it.in_stock) continue;
        float v = 0.f;
#pragma unroll
        for (int d = 0; d < 8; ++d) v += me[d] * it.emb[d];
        v += 0.2f * it.popularity + (ses.returning ? 0.1f : 0.3f) * it.margin;
        if (const PairSlot* p = find_pair(shop.table, pair_key(last, cand))) v += p->lift;
        for (int r = 0; r < 4; ++r)
            if (v > score[r]) {
                for (int q = 3; q > r; --q) { score[q] = score[q - 1]; rec[q] = rec[q - 1]; }
                score[r] = v;
                rec[r] = cand;
                break;
            }
    }
    float sum = 0.f;
    for (int r = 0; r < 4; ++r) {
        ses.recs[r] = rec[r];
        if (rec[r] >= 0) sum += score[r];
    }
    ses.rec_score = sum;
}

__global__ void updatePopularity(Shop shop) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N_ITEMS) return;
    Item& it = shop.items[i];
    const float fresh = log2f(1.f + it.purchases) - 0.3f * log2f(1.f + it.promo_sold);
    it.popularity = 0.8f * it.popularity + 0.2f * fresh;
}

void check(cudaError_t rc, const char* file, int line) {
    if (rc == cudaSuccess) return;
    std::ostringstream os;
    os << file << ':' << line << ' ' << cudaGetErrorString(rc);
    throw std::runtime_error(os.str());
}
#define CHECK(x) check((x), __FILE__, __LINE__)

template <typename T>
T* upload(const std::vector<T>& v) {
    void* p;
    CHECK(cudaMalloc(&p, v.size() * sizeof(T)));
    CHECK(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
    return static_cast<T*>(p);
}
template <typename T>
void download(std::vector<T>& v, const T* p) { CHECK(cudaMemcpy(v.data(), p, v.size() * sizeof(T), cudaMemcpyDeviceToHost)); }

auto makeData() {
    std::mt19937_64 rng(31337);
    auto uni = [&] { return (rng() >> 11) * 0x1p-53; };
    std::vector<Item> items(N_ITEMS);
    std::vector<int> start(N_CATS + 1, 0), list(N_ITEMS);
    for (auto& it : items) {
        const double u = uni();
        it = Item{int(u * u * N_CATS), float(2 + 90 * uni() * uni()), float(uni()), 0.f, 0, 0, {}, short(rng() % 500), uni() < 0.93};
        for (float& e : it.emb) e = float(uni() - 0.5);
        ++start[it.category + 1];
    }
    for (int c = 0; c < N_CATS; ++c) start[c + 1] += start[c];
    auto cur = start;
    for (int i = 0; i < N_ITEMS; ++i) list[cur[items[i].category]++] = i;
    std::vector<Session> sessions(N_SESSIONS);
    std::vector<BasketLine> lines;
    for (int s = 0; s < N_SESSIONS; ++s) {
        int len = 1;
        while (len < 10 && uni() < 0.62) ++len;
        sessions[s] = Session{int(lines.size()), int(rng() % 150000), 0, 0, 0, {-1, -1, -1, -1}, short(len), Device(rng() % 3), uni() < 0.4};
        int prev = -1;
        for (int k = 0; k < len; ++k) {      // half of the picks stay in the category
            int it;
            const double u = uni(), v = uni();
            if (prev >= 0 && v < 0.5) {
                const int c = items[prev].category, n = start[c + 1] - start[c];
                it = list[start[c] + int(u * u * u * n)];
            } else it = int(u * u * u * N_ITEMS);
            const bool promo = uni() < 0.15;
            lines.push_back({it, items[it].price * (promo ? 0.8f : 1.f), short(1 + (uni() < 0.2)), char(promo)});
            prev = it;
        }
    }
    return std::make_tuple(items, start, list, sessions, lines);
}

int main() try {
    auto [items, start, list, sessions, lines] = makeData();
    std::vector<PairSlot> table(TABLE_SIZE, PairSlot{EMPTY_KEY, 0, 0, 0.f});
    Shop shop{upload(items), upload(lines), upload(sessions), upload(table), upload(start), upload(list), int(lines.size())};

    std::array<cudaEvent_t, 2> ev;
    for (auto& e : ev) CHECK(cudaEventCreate(&e));
    const auto blocks = [](std::size_t n) { return unsigned((n + 255) / 256); };
    CHECK(cudaEventRecord(ev[0]));
    for (int r = 0; r < ROUNDS; ++r) {
        resetCounters<<<blocks(TABLE_SIZE), 256>>>(shop);
        countPurchases<<<blocks(lines.size()), 256>>>(shop);
        sessionTotals<<<blocks(N_SESSIONS), 256>>>(shop);
        buildPairs<<<blocks(N_SESSIONS), 256>>>(shop);
        pairLift<<<blocks(TABLE_SIZE), 256>>>(shop);
        recommend<<<blocks(N_SESSIONS), 256>>>(shop, r);
        updatePopularity<<<blocks(N_ITEMS), 256>>>(shop);
    }
    CHECK(cudaEventRecord(ev[1]));
    CHECK(cudaEventSynchronize(ev[1]));
    CHECK(cudaGetLastError());
    float ms = 0.f;
    CHECK(cudaEventElapsedTime(&ms, ev[0], ev[1]));

    download(items, shop.items); download(sessions, shop.sessions); download(table, shop.table);
    double pop = 0, total = 0, disc = 0, score = 0;
    long long sold = 0, pairs = 0, pairHash = 0, lift = 0, recHash = 0;
    for (const auto& i : items) { pop += i.popularity; sold += i.purchases + 7LL * i.promo_sold; }
    for (const auto& s : sessions) {
        total += s.total; disc += s.discount; score += s.rec_score;
        for (int k = 0; k < 4; ++k) recHash += (s.recs[k] + 1) % 8191 * (k + 1);
    }
    for (const auto& p : table) {           // slot order is arbitrary: integer sums only
        if (p.key == EMPTY_KEY) continue;
        ++pairs;
        pairHash += (long long)(p.key % 65521) * p.count + p.promo_count;
        lift += (long long)(p.lift * 4096.f);
    }
    std::cout << std::scientific << std::setprecision(4)
              << "check popularity " << pop << "\ncheck sold " << sold << "\ncheck totals " << total << "\ncheck discount " << disc
              << "\ncheck rec_score " << score << "\ncheck pairs " << pairs << "\ncheck pair_hash " << pairHash
              << "\ncheck lift " << double(lift) << "\ncheck rec_hash " << double(recHash) << "\n"
              << std::fixed << "time_ms " << ms << std::endl;
    for (const void* p : {(const void*)shop.items, (const void*)shop.lines, (const void*)shop.sessions, (const void*)shop.table, (const void*)shop.cat_start, (const void*)shop.cat_items})
        cudaFree(const_cast<void*>(p));
    return 0;
} catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
}
