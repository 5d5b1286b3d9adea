// Scoring of read seeds against a variation graph: seed extension, sorting by graph rank,
// windowed chaining, score propagation along edges and per-node coverage.
#include <cuda_runtime.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/host_vector.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace vg {

using u8 = std::uint8_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

struct Node {
    u64 bases;        // up to 32 bases, two bits each
    int first_edge;
    float score[2];   // current / next, alternating by round
    u32 coverage;
    u32 mismatches;
    short edge_count;
    u8 length;
    u8 variant;
};

struct Edge {
    int source;
    float weight;
    u32 support;
    short overlap;
    char kind;        // 'M' match, 'S' substitution, 'D' deletion
    char phase;
};

struct Seed {
    int read;
    int node;
    u32 rank;
    float chain_score;
    int predecessor;
    short node_offset;
    short read_offset;
    short matches;
    short run;
    u8 strand;
    u8 quality;
    u8 dropped;
    u8 round;
};

struct Read {
    u64 bases[2];
    int seeds;
    float best;
    short length;
    short sample;
};

struct Penalty {
    float gap_open, gap_extend, mismatch, variant_bonus;
};

namespace detail {
__host__ __device__ inline u32 hash(u32 x) {
    x += 0x9e3779b9u;
    x ^= x >> 15;
    x *= 0x85ebca6bu;
    x ^= x >> 13;
    x *= 0xc2b2ae35u;
    return x ^ (x >> 16);
}
__host__ __device__ inline u64 hash2(u32 x) { return (static_cast<u64>(hash(x)) << 32) | hash(x ^ 0x5bd1e995u); }

inline void require(cudaError_t e, int line) {
    if (e != cudaSuccess) {
        std::fprintf(stderr, "genome_graph:%d: %s\n", line, cudaGetErrorString(e));
        std::exit(3);
    }
}
}  // namespace detail
#define VG_REQUIRE(x) ::vg::detail::require((x), __LINE__)

__constant__ Penalty kPenalty[4];

__device__ inline u64 read_window(const Read& r, int from) {
    const int bit = 2 * (from & 31);
    const u64 lo = from < 32 ? r.bases[0] : r.bases[1];
    const u64 hi = from < 32 ? r.bases[1] : 0ull;
    return bit == 0 ? lo : (lo >> bit) | (hi << (64 - bit));
}

// Compare read and node bases; also picks the sort key for the seed.
__global__ void extend(Seed* __restrict__ seeds, int count, const Node* __restrict__ nodes,
                       const Read* __restrict__ reads, u32* __restrict__ keys, int round) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    Seed& s = seeds[i];
    const Node& n = nodes[s.node];
    const Read& r = reads[s.read];
    const int span = min(n.length - s.node_offset, r.length - s.read_offset);
    u64 diff = read_window(r, s.read_offset) ^ (n.bases >> (2 * s.node_offset));
    if (s.strand) diff = ~diff;
    int matches = 0, run = 0, best_run = 0;
    for (int k = 0; k < span; ++k) {
        if ((diff & 3ull) == 0) {
            ++matches;
            best_run = max(best_run, ++run);
        } else {
            run = 0;
        }
        diff >>= 2;
    }
    s.matches = static_cast<short>(matches);
    s.run = static_cast<short>(best_run);
    s.dropped = matches * 4 < span;
    s.rank = (static_cast<u32>(s.read) & 0xfffffu) << 12 | ((static_cast<u32>(s.node) * 8u + round) & 0xfffu);
    keys[i] = s.rank;
}

// Seeds are visited in key order; each one looks back over a fixed window.
template <int Window>
__global__ void chain(Seed* __restrict__ seeds, const u32* __restrict__ order, int count, Read* __restrict__ reads) {
    for (int p = blockIdx.x * blockDim.x + threadIdx.x; p < count; p += gridDim.x * blockDim.x) {
        Seed& me = seeds[order[p]];
        const Penalty pen = kPenalty[me.strand & 1];
        float best = 0.0f;
        int from = -1;
        if (!me.dropped) {
            for (int w = 1; w <= Window && w <= p; ++w) {
                const u32 j = order[p - w];
                const Seed& prev = seeds[j];
                if (prev.read != me.read) break;
                if (prev.dropped || prev.strand != me.strand) continue;
                const int gap = abs((me.read_offset - prev.read_offset) - (me.node_offset - prev.node_offset));
                const float cand = prev.matches + 0.5f * prev.run - pen.gap_open - pen.gap_extend * gap;
                if (cand > best) {
                    best = cand;
                    from = static_cast<int>(j);
                }
            }
        }
        me.chain_score = best + me.matches - pen.mismatch * (me.dropped ? 1.0f : 0.0f);
        me.predecessor = from;
        me.round++;
        const bool last = p + 1 == count || seeds[order[p + 1]].read != me.read;
        if (last) reads[me.read].best = 0.5f * reads[me.read].best + me.chain_score;
    }
}

__global__ void cover(const Seed* __restrict__ seeds, int count, Node* __restrict__ nodes, Edge* __restrict__ edges) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    if (seeds[i].dropped) return;
    Node& n = nodes[seeds[i].node];
    atomicAdd(&n.coverage, static_cast<u32>(seeds[i].matches));
    if (seeds[i].run < seeds[i].matches) atomicAdd(&n.mismatches, 1u);
    if (seeds[i].predecessor >= 0 && n.edge_count > 0) {
        const int e = n.first_edge + (seeds[i].predecessor % n.edge_count);
        atomicAdd(&edges[e].support, 1u);
    }
}

__global__ void propagate(Node* __restrict__ nodes, int count, const Edge* __restrict__ edges, int round) {
    const int src = round & 1, dst = src ^ 1;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        Node& n = nodes[i];
        float best = -1e9f;
        for (int e = n.first_edge; e < n.first_edge + n.edge_count; ++e) {
            const Edge& edge = edges[e];
            const float gap = edge.kind == 'D' ? kPenalty[2].gap_open : 0.0f;
            const float s = nodes[edge.source].score[src] * edge.weight - gap - 0.01f * edge.overlap;
            best = fmaxf(best, s);
        }
        if (n.edge_count == 0) best = 0.0f;
        const float own = log1pf(static_cast<float>(n.coverage)) + (n.variant ? kPenalty[3].variant_bonus : 0.0f);
        n.score[dst] = 0.9f * best + own;
    }
}

__global__ void adapt_edges(Edge* edges, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const u32 sup = edges[i].support;
    if (sup == 0) return;
    edges[i].weight = fminf(1.0f, edges[i].weight + 1e-4f * static_cast<float>(sup & 15u));
}

struct GraphData {
    thrust::host_vector<Node> nodes;
    thrust::host_vector<Edge> edges;
    thrust::host_vector<Seed> seeds;
    thrust::host_vector<Read> reads;
};

GraphData simulate(int nseeds) {
    using detail::hash;
    using detail::hash2;
    GraphData g;
    const int nnodes = nseeds / 2 + 16, nreads = nseeds / 12 + 1;
    g.nodes.resize(nnodes);
    g.edges.reserve(static_cast<std::size_t>(nnodes) * 2);
    for (int i = 0; i < nnodes; ++i) {
        Node n{};
        const u32 h = hash(i * 3u + 1u);
        n.bases = hash2(i);
        n.length = static_cast<u8>(8 + h % 25);
        n.variant = (h >> 9) % 6 == 0;
        n.first_edge = static_cast<int>(g.edges.size());
        n.edge_count = static_cast<short>(i == 0 ? 0 : 1 + (h >> 13) % 3);
        for (int e = 0; e < n.edge_count; ++e) {
            const u32 q = hash(i * 4u + e + 77u);
            const int back = e == 0 ? 1 : 2 + static_cast<int>(q % 40u);
            g.edges.push_back(Edge{i > back ? i - back : 0, 0.6f + 0.3f * (q % 1000u) / 1000.0f, 0u,
                                   static_cast<short>(q % 12u), "MSD"[q % 3u], static_cast<char>(q % 2u)});
        }
        g.nodes[i] = n;
    }
    g.reads.resize(nreads);
    for (int r = 0; r < nreads; ++r) {
        Read rd{};
        rd.bases[0] = hash2(r + 31337u);
        rd.bases[1] = hash2(r + 73313u);
        rd.length = static_cast<short>(40 + hash(r) % 25);
        rd.sample = static_cast<short>(r % 64);
        g.reads[r] = rd;
    }
    g.seeds.resize(nseeds);
    for (int i = 0; i < nseeds; ++i) {
        Seed s{};
        const u32 h = hash(i + 424242u);
        s.read = static_cast<int>(h % static_cast<u32>(nreads));
        const u32 anchor = hash(s.read + 5u) % static_cast<u32>(nnodes);
        s.node = static_cast<int>((anchor + hash(i) % 64u) % static_cast<u32>(nnodes));
        s.node_offset = static_cast<short>((h >> 5) % 8u);
        s.read_offset = static_cast<short>((h >> 9) % 40u);
        s.strand = (h >> 20) % 5 == 0;
        s.quality = static_cast<u8>(20 + (h >> 24) % 40);
        s.predecessor = -1;
        // Make most seeds really agree with their node.
        if (h % 4 != 0) g.nodes[s.node].bases ^= 0x3ull << (2 * (h % 20u));
        g.seeds[i] = s;
        ++g.reads[s.read].seeds;
    }
    for (int i = 0; i < nseeds; i += 2) {
        const Seed& s = g.seeds[i];
        g.reads[s.read].bases[0] = g.nodes[s.node].bases;
    }
    return g;
}

class Scorer {
public:
    explicit Scorer(const GraphData& g)
        : nodes_(g.nodes), edges_(g.edges), seeds_(g.seeds), reads_(g.reads), keys_(g.seeds.size()), order_(g.seeds.size()) {
        const Penalty host[4] = {{1.5f, 0.2f, 1.0f, 0.0f}, {2.0f, 0.3f, 1.2f, 0.0f}, {0.7f, 0.1f, 0.5f, 0.0f}, {0.0f, 0.0f, 0.0f, 0.4f}};
        VG_REQUIRE(cudaMemcpyToSymbol(kPenalty, host, sizeof(host)));
    }

    void round() {
        const int ns = static_cast<int>(seeds_.size()), nn = static_cast<int>(nodes_.size()), ne = static_cast<int>(edges_.size());
        Seed* seeds = thrust::raw_pointer_cast(seeds_.data());
        Node* nodes = thrust::raw_pointer_cast(nodes_.data());
        Edge* edges = thrust::raw_pointer_cast(edges_.data());
        Read* reads = thrust::raw_pointer_cast(reads_.data());
        extend<<<(ns + 255) / 256, 256>>>(seeds, ns, nodes, reads, thrust::raw_pointer_cast(keys_.data()), round_ & 7);
        if (round_ % 8 == 0) {
            thrust::sequence(thrust::device, order_.begin(), order_.end());
            thrust::stable_sort_by_key(thrust::device, keys_.begin(), keys_.end(), order_.begin());
        }
        chain<12><<<(ns + 255) / 256, 256>>>(seeds, thrust::raw_pointer_cast(order_.data()), ns, reads);
        cover<<<(ns + 255) / 256, 256>>>(seeds, ns, nodes, edges);
        propagate<<<(nn + 127) / 128, 128>>>(nodes, nn, edges, round_);
        adapt_edges<<<(ne + 255) / 256, 256>>>(edges, ne);
        ++round_;
    }

    double checksum() const {
        double sum = 0.0;
        const thrust::host_vector<Node> n = nodes_;
        const thrust::host_vector<Edge> e = edges_;
        const thrust::host_vector<Seed> s = seeds_;
        const thrust::host_vector<Read> r = reads_;
        for (std::size_t i = 0; i < n.size(); ++i)
            sum += (1 + i % 3) * (n[i].score[0] + 2.0 * n[i].score[1]) + 0.01 * n[i].coverage + 0.1 * n[i].mismatches + n[i].length + static_cast<double>(n[i].bases % 97ull);
        for (std::size_t i = 0; i < e.size(); ++i)
            sum += (1 + i % 3) * (10.0 * e[i].weight + 0.1 * e[i].support) + e[i].kind + 1e-6 * e[i].source + e[i].phase;
        for (std::size_t i = 0; i < s.size(); ++i)
            sum += (1 + i % 3) * (s[i].chain_score + s[i].matches + 0.5 * s[i].run) + 1e-6 * s[i].predecessor + 3.0 * s[i].dropped + s[i].quality + s[i].round + s[i].rank % 13u;
        for (std::size_t i = 0; i < r.size(); ++i) sum += (1 + i % 3) * r[i].best + r[i].seeds + r[i].sample;
        return sum;
    }

private:
    thrust::device_vector<Node> nodes_;
    thrust::device_vector<Edge> edges_;
    thrust::device_vector<Seed> seeds_;
    thrust::device_vector<Read> reads_;
    thrust::device_vector<u32> keys_, order_;
    int round_ = 0;
};

}  // namespace vg

int main(int argc, char** argv) {
    int n = argc > 1 ? std::atoi(argv[1]) : 4000000;
    if (n < 1000) n = 1000;
    if (n > 12000000) n = 12000000;
    vg::Scorer scorer(vg::simulate(n));
    for (int i = 0; i < 8; ++i) scorer.round();
    VG_REQUIRE(cudaDeviceSynchronize());

    constexpr int rounds = 64;
    cudaEvent_t start, stop;
    VG_REQUIRE(cudaEventCreate(&start));
    VG_REQUIRE(cudaEventCreate(&stop));
    VG_REQUIRE(cudaEventRecord(start));
    for (int i = 0; i < rounds; ++i) scorer.round();
    VG_REQUIRE(cudaEventRecord(stop));
    VG_REQUIRE(cudaGetLastError());
    VG_REQUIRE(cudaEventSynchronize(stop));
    float ms = 0.0f;
    VG_REQUIRE(cudaEventElapsedTime(&ms, start, stop));
    std::printf("check %.6e\n", scorer.checksum());
    std::printf("time_ms %.5f\n", ms / rounds);
    return 0;
}
