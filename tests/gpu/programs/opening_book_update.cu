// opening_book_update.cu
//
// Statistics updater of a chess opening book.  The repertoire is a forest of
// move trees (one per root position); the statistics live in an open-addressing
// hash table keyed by position, so that transpositions share their counts.
// Each round: a batch of finished games is dealt, every game is replayed down
// its tree and counted at each ply (new positions are inserted), all entries
// are re-rated, and every tree node looks up its children to pick its main line.
//
//   usage: opening_book_update [number of tree nodes]
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#define CUDA_TRY(expr)                                                                    \
    do {                                                                                  \
        cudaError_t status = (expr);                                                      \
        if (status != cudaSuccess)                                                        \
            throw std::runtime_error(std::string(#expr) + ": " + cudaGetErrorString(status)); \
    } while (0)

template <typename T>
class DeviceBuffer {
public:
    explicit DeviceBuffer(size_t count) : count_(count) { CUDA_TRY(cudaMalloc(&ptr_, count * sizeof(T))); }
    explicit DeviceBuffer(const std::vector<T>& host) : DeviceBuffer(host.size()) {
        CUDA_TRY(cudaMemcpy(ptr_, host.data(), count_ * sizeof(T), cudaMemcpyHostToDevice));
    }
    DeviceBuffer(const DeviceBuffer&) = delete;
    DeviceBuffer& operator=(const DeviceBuffer&) = delete;
    ~DeviceBuffer() { cudaFree(ptr_); }

    T* data() { return ptr_; }
    size_t size() const { return count_; }
    void zero() { CUDA_TRY(cudaMemset(ptr_, 0, count_ * sizeof(T))); }
    std::vector<T> download() const {
        std::vector<T> host(count_);
        CUDA_TRY(cudaMemcpy(host.data(), ptr_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
        return host;
    }

private:
    T* ptr_ = nullptr;
    size_t count_ = 0;
};

using Key = unsigned long long;
constexpr int kRoots = 96;
constexpr int kMaxPly = 24;
constexpr int kMoves = 64;           // distinct move codes per side
constexpr uint32_t kProbeLimit = 1024;
constexpr int kWarmup = 2, kRounds = 22;
constexpr uint8_t kMainline = 1, kStale = 2, kTrap = 4;

struct BookEntry {
    Key key;                         // 0: free slot
    unsigned long long eloSum;
    uint32_t wins, draws, losses;    // seen from White
    uint32_t minPly, lastRound;
    float perf, confidence;
    uint16_t eco;
    uint8_t flags, reserved;
};

struct TreeNode {
    Key key;
    uint32_t firstChild, parent;
    float prior, value;
    uint16_t move;
    uint16_t changes;                // how often the main line moved
    uint8_t childCount, ply, best;
    uint8_t side;                    // to move: 0 White, 1 Black
};

struct GameRecord {
    uint32_t root, seed, leaf;
    float minutes;
    uint16_t whiteElo, blackElo;
    uint8_t result;                  // 0 loss, 1 draw, 2 win
    uint8_t plies, novelty, source;
};

struct RoundStats {
    unsigned long long games, probes;
    uint32_t occupied, stale, traps, switches;
};

__host__ __device__ inline Key mix64(Key x) {
    x ^= x >> 30; x *= 0xBF58476D1CE4E5B9ull;
    x ^= x >> 27; x *= 0x94D049BB133111EBull;
    return x ^ (x >> 31);
}
__host__ __device__ inline Key zobrist(uint32_t move, uint32_t side) { return mix64(0x9E3779B97F4A7C15ull * (move * 2u + side + 1u)); }
__host__ __device__ inline Key keyAfter(Key key, uint32_t move, uint32_t side) {
    const Key k = key ^ zobrist(move, side);
    return k ? k : 1ull;
}
__device__ inline uint32_t hash32(uint32_t a, uint32_t b) { return uint32_t(mix64((Key(a) << 32) | b) >> 16); }

// Slot of a known position, or UINT32_MAX.
__device__ uint32_t findEntry(const BookEntry* table, uint32_t mask, Key key) {
    uint32_t slot = uint32_t(mix64(key)) & mask;
    for (uint32_t i = 0; i < kProbeLimit; ++i) {
        const Key k = table[slot].key;
        if (k == key) return slot;
        if (k == 0) break;
        slot = (slot + 1) & mask;
    }
    return UINT32_MAX;
}

__device__ uint32_t insertEntry(BookEntry* table, uint32_t mask, Key key, uint32_t ply) {
    uint32_t slot = uint32_t(mix64(key)) & mask;
    for (uint32_t i = 0; i < kProbeLimit; ++i) {
        const Key old = atomicCAS(&table[slot].key, 0ull, key);
        if (old == 0ull || old == key) {
            atomicMax(&table[slot].minPly, 255u - ply);      // stored as 255 - ply, so 0 means unset
            return slot;
        }
        slot = (slot + 1) & mask;
    }
    return UINT32_MAX;
}

__device__ inline void countGame(BookEntry* e, int result, uint32_t elo, uint32_t round) {
    if (result == 2) atomicAdd(&e->wins, 1u);
    else if (result == 1) atomicAdd(&e->draws, 1u);
    else atomicAdd(&e->losses, 1u);
    atomicAdd(&e->eloSum, static_cast<unsigned long long>(elo));
    if (e->lastRound < round) atomicMax(&e->lastRound, round);
}

__global__ void seedTable(BookEntry* table, uint32_t mask, const TreeNode* nodes, uint32_t n) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const uint32_t slot = insertEntry(table, mask, nodes[i].key, nodes[i].ply);
    if (slot == UINT32_MAX) return;
    table[slot].eco = uint16_t(nodes[i].key % 500u);         // same for every transposition
}

__global__ void dealGames(GameRecord* games, uint32_t n, uint32_t round) {
    const uint32_t g = blockIdx.x * blockDim.x + threadIdx.x;
    if (g >= n) return;
    const uint32_t h = hash32(g, round);
    GameRecord rec;
    rec.root = h % kRoots;
    rec.seed = hash32(h, g);
    rec.leaf = 0;
    rec.minutes = 3.0f + float((h >> 9) % 120u);
    rec.whiteElo = uint16_t(1400u + (h >> 3) % 1300u);
    rec.blackElo = uint16_t(1400u + (h >> 13) % 1300u);
    const int edge = int(rec.whiteElo) - int(rec.blackElo) + 35;
    const int dice = int(rec.seed % 2000u) - 1000 + edge;
    rec.result = uint8_t(dice > 250 ? 2 : dice > -250 ? 1 : 0);
    rec.plies = uint8_t(6u + (rec.seed >> 11) % (kMaxPly - 6u));
    rec.novelty = 0;
    rec.source = uint8_t(h >> 29);
    games[g] = rec;
}

__global__ void replayGames(GameRecord* games, uint32_t n, const TreeNode* nodes, BookEntry* table, uint32_t mask,
                            uint32_t round, RoundStats* stats) {
    __shared__ unsigned blockProbes;
    if (threadIdx.x == 0) blockProbes = 0;
    __syncthreads();
    const uint32_t g = blockIdx.x * blockDim.x + threadIdx.x;
    if (g < n) {
        const int result = games[g].result;
        const uint32_t elo = (uint32_t(games[g].whiteElo) + games[g].blackElo) / 2u;
        const uint32_t plies = games[g].plies, seed = games[g].seed;
        uint32_t node = games[g].root;
        unsigned probes = 0;
        for (uint32_t ply = 0;; ++ply) {
            const uint32_t slot = findEntry(table, mask, nodes[node].key);
            ++probes;
            if (slot != UINT32_MAX) countGame(&table[slot], result, elo, round);
            if (ply >= plies || nodes[node].childCount == 0) break;
            const uint32_t r = hash32(seed, ply);
            const uint32_t first = nodes[node].firstChild, count = nodes[node].childCount;
            uint32_t pick = nodes[node].best;
            if (r % 100u >= 45u) {                           // leave the main line: by prior
                float u = float(r >> 8) * (1.0f / 16777216.0f);
                for (pick = 0; pick + 1 < count; ++pick) {
                    u -= nodes[first + pick].prior;
                    if (u < 0.0f) break;
                }
            }
            node = first + pick;
        }
        games[g].leaf = node;
        if (nodes[node].childCount == 0 && seed % 12u == 0) {
            const uint32_t move = (seed >> 8) % 3u + 5u;     // a novelty outside the repertoire
            const uint32_t slot = insertEntry(table, mask, keyAfter(nodes[node].key, move, nodes[node].side), nodes[node].ply + 1u);
            if (slot != UINT32_MAX) {
                countGame(&table[slot], result, elo, round);
                games[g].novelty = 1;
            }
        }
        atomicAdd(&blockProbes, probes);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(&stats->probes, static_cast<unsigned long long>(blockProbes));
        atomicAdd(&stats->games, static_cast<unsigned long long>(min(blockDim.x, n - blockIdx.x * blockDim.x)));
    }
}

__global__ void rateEntries(BookEntry* table, uint32_t capacity, uint32_t round, RoundStats* stats) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    const bool used = i < capacity && table[i].key != 0ull;
    bool stale = false, trap = false;
    if (used) {
        BookEntry& e = table[i];
        const uint32_t total = e.wins + e.draws + e.losses;
        const float score = (e.wins + 0.5f * e.draws + 2.0f) / (total + 4.0f);
        e.perf = score;
        e.confidence = total / (total + 12.0f);
        stale = round > e.lastRound + 6u;
        trap = total >= 8u && (score > 0.85f || score < 0.15f);
        e.flags = uint8_t((stale ? kStale : 0) | (trap ? kTrap : 0) | (total > 500u ? kMainline : 0));
        if (stale && total > 64u) {                          // old fashions fade
            e.wins -= e.wins / 8u;
            e.draws -= e.draws / 8u;
            e.losses -= e.losses / 8u;
            e.eloSum -= e.eloSum / 8u;
        }
    }
    const unsigned nUsed = __popc(__ballot_sync(0xFFFFFFFFu, used));
    const unsigned nStale = __popc(__ballot_sync(0xFFFFFFFFu, stale));
    const unsigned nTrap = __popc(__ballot_sync(0xFFFFFFFFu, trap));
    if (threadIdx.x % 32 == 0 && nUsed) {
        atomicAdd(&stats->occupied, nUsed);
        if (nStale) atomicAdd(&stats->stale, nStale);
        if (nTrap) atomicAdd(&stats->traps, nTrap);
    }
}

__global__ void refreshForest(TreeNode* nodes, uint32_t n, const BookEntry* table, uint32_t mask, RoundStats* stats) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const uint32_t count = nodes[i].childCount, first = nodes[i].firstChild;
    if (count == 0) return;
    const bool black = nodes[i].side != 0;
    uint32_t best = 0;
    float bestValue = -1.0f;
    for (uint32_t c = 0; c < count; ++c) {
        const uint32_t slot = findEntry(table, mask, nodes[first + c].key);
        if (slot == UINT32_MAX) continue;
        if (table[slot].flags & kStale) continue;
        const float perf = black ? 1.0f - table[slot].perf : table[slot].perf;
        const float value = 0.3f + (perf - 0.3f) * table[slot].confidence;
        if (value > bestValue) { bestValue = value; best = c; }
    }
    nodes[i].value = bestValue;
    if (best != nodes[i].best) {
        nodes[i].best = uint8_t(best);
        nodes[i].changes++;
        atomicAdd(&stats->switches, 1u);
    }
}

// Breadth-first growth of all trees; the children of a node are contiguous.
static std::vector<TreeNode> growForest(uint32_t n) {
    std::vector<TreeNode> nodes(n);
    for (uint32_t r = 0; r < kRoots; ++r) {
        nodes[r].key = mix64(r + 1000u);
        nodes[r].parent = r;
        nodes[r].prior = 1.0f;
        nodes[r].side = uint8_t(r & 1u);
    }
    uint32_t next = kRoots;
    for (uint32_t i = 0; i < n; ++i) {
        TreeNode& node = nodes[i];
        const Key h = mix64(node.key ^ (Key(i) << 20));
        uint32_t count = node.ply < 3 ? 4u + uint32_t(h % 3u) : uint32_t(h % 5u);
        if (node.ply + 1 >= kMaxPly) count = 0;
        if (count > n - next) count = n - next;
        node.firstChild = next;
        node.childCount = uint8_t(count);
        for (uint32_t c = 0; c < count; ++c) {
            TreeNode& child = nodes[next + c];
            const uint32_t move = 8u + (uint32_t(h >> 40) + 7u * c) % (kMoves - 8u);
            child.key = keyAfter(node.key, move, node.side);
            child.parent = i;
            child.prior = (c == 0 ? 0.4f : 0.6f / count) + (count == 1 ? 0.6f : 0.0f);
            child.move = uint16_t(move);
            child.ply = uint8_t(node.ply + 1);
            child.side = uint8_t(node.side ^ 1u);
        }
        next += count;
    }
    return nodes;
}

static int update(uint32_t n) {
    uint32_t capacity = 1u << 12;
    while (capacity < 3u * n) capacity <<= 1;
    const uint32_t mask = capacity - 1u, nGames = n / 4u;

    DeviceBuffer<TreeNode> nodes(growForest(n));
    DeviceBuffer<BookEntry> table(capacity);
    DeviceBuffer<GameRecord> games(nGames);
    DeviceBuffer<RoundStats> stats(1);
    table.zero();
    stats.zero();
    const auto blocks = [](uint32_t k) { return (k + 255u) / 256u; };
    seedTable<<<blocks(n), 256>>>(table.data(), mask, nodes.data(), n);
    CUDA_TRY(cudaGetLastError());

    cudaEvent_t begin, end;
    CUDA_TRY(cudaEventCreate(&begin)); CUDA_TRY(cudaEventCreate(&end));
    for (uint32_t round = 1; round <= kWarmup + kRounds; ++round) {
        if (round == kWarmup + 1) CUDA_TRY(cudaEventRecord(begin));
        dealGames<<<blocks(nGames), 256>>>(games.data(), nGames, round);
        replayGames<<<blocks(nGames), 256>>>(games.data(), nGames, nodes.data(), table.data(), mask, round, stats.data());
        rateEntries<<<blocks(capacity), 256>>>(table.data(), capacity, round, stats.data());
        refreshForest<<<blocks(n), 256>>>(nodes.data(), n, table.data(), mask, stats.data());
        CUDA_TRY(cudaGetLastError());
    }
    CUDA_TRY(cudaEventRecord(end)); CUDA_TRY(cudaEventSynchronize(end));
    float ms = 0.0f;
    CUDA_TRY(cudaEventElapsedTime(&ms, begin, end));

    unsigned long long check = 0;
    for (const BookEntry& e : table.download())
        if (e.key) check += (e.key % 1021u) * (e.wins + 3u * e.draws + 5u * e.losses + e.flags) + e.eloSum + e.minPly * 7u + e.lastRound * 11u + e.eco;
    uint32_t index = 0;
    for (const TreeNode& t : nodes.download()) check += (index++ % 127u) * (t.best + 3u * t.changes + t.ply);
    index = 0;
    for (const GameRecord& g : games.download()) check += (index++ % 61u) * (g.leaf % 4099u + g.novelty + g.result);
    const RoundStats total = stats.download()[0];
    check += total.games + total.probes + total.occupied + total.stale + total.traps + total.switches;
    std::printf("check %llu\n", check);
    std::printf("time_ms %.4f\n", ms / kRounds);
    return 0;
}

int main(int argc, char** argv) {
    try {
        const long want = argc > 1 ? std::atol(argv[1]) : 4000000L;
        return update(uint32_t(want < 1024 ? 1024 : want));
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
