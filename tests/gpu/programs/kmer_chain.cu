/// kmer_chain.cu
///
/// Second stage of a protein homology search: seed hits that are grouped by
/// (query, target) pair are weighted through a k-mer table, chained by a
/// bounded look-back dynamic programme, and traced back to the best chain.
///
/// All scoring is integer, as in most aligners.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <vector>
#include <cuda_runtime.h>

namespace chain {

// ---------------------------------------------------------------- records

struct kmer_entry {            // 12 B, sorted by code
    std::uint32_t code;
    std::uint32_t occurrences;
    std::int16_t  complexity;  // 0 (low) .. 100
    std::uint16_t masked;
};

struct hit {                   // 32 B
    std::uint32_t code;
    std::int32_t  qpos;
    std::int32_t  tpos;
    std::int32_t  pair;
    std::int32_t  weight;
    std::int32_t  score;
    std::int32_t  prev;
    std::uint8_t  on_chain;
    std::uint8_t  strand_pad[3];
};

struct seed_pair {             // 56 B
    std::int32_t query, target;
    std::int32_t first, count;
    std::int32_t best_score, best_hit;
    std::int32_t chain_len;
    std::int32_t q_lo, q_hi, t_lo, t_hi;
    std::int32_t band;         // widest diagonal excursion along the chain
    float        density;
    std::int32_t significant;
};

struct target_summary {        // 16 B
    std::int32_t best_score;
    std::int32_t n_pairs;
    unsigned long long total_score;
};

struct params {
    int max_gap      = 120;
    int max_drift    = 40;
    int min_score    = 60;
    int min_seeds    = 3;
    int gap_num      = 1;      // drift penalty = drift * num >> shift + ilog2/2
    int gap_shift    = 2;
};

constexpr int score_bins = 128;

// ---------------------------------------------------------------- kernels

namespace detail {

template <typename T>
__device__ __forceinline__ int lower_bound_code(T const* table, int n, std::uint32_t code)
{
    int lo = 0, hi = n;
    while (lo < hi) {
        int const mid = (lo + hi) >> 1;
        if (table[mid].code < code) lo = mid + 1;
        else                        hi = mid;
    }
    return lo;
}

__device__ __forceinline__ int ilog2(int v) { return v > 0 ? 31 - __clz(v) : 0; }

} // namespace detail

template <int K>
__global__ void weight_hits(hit* hits, int n_hits, kmer_entry const* __restrict__ table, int n_entries)
{
    int const i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n_hits) return;

    std::uint32_t const code = hits[i].code;
    int const e = detail::lower_bound_code(table, n_entries, code);

    int w = 3 * K;                                   // unknown k-mer: rare, full weight
    if (e < n_entries && table[e].code == code) {
        if (table[e].masked) {
            w = 0;
        } else {
            w = 3 * K - detail::ilog2(static_cast<int>(table[e].occurrences));
            w = w * (50 + table[e].complexity) / 100;
        }
    }
    hits[i].weight   = max(w, 0);
    hits[i].score    = 0;
    hits[i].prev     = -1;
    hits[i].on_chain = 0;
}

/// One thread per pair; hits of a pair are sorted by (tpos, qpos).
template <int K, int LookBack>
__global__ void chain_pairs(hit* hits, seed_pair* pairs, int n_pairs, params prm)
{
    int const p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= n_pairs) return;

    int const first = pairs[p].first;
    int const last  = first + pairs[p].count;
    int best = 0, best_hit = -1;

    for (int i = first; i < last; ++i) {
        hit const cur = hits[i];
        if (cur.weight == 0) continue;

        int score = cur.weight;
        int prev  = -1;
        int const stop = max(first, i - LookBack);

        for (int j = i - 1; j >= stop; --j) {
            int const dt = cur.tpos - hits[j].tpos;
            if (dt > prm.max_gap) break;             // sorted: everything further is worse
            int const dq = cur.qpos - hits[j].qpos;
            if (dq <= 0 || dt <= 0 || dq > prm.max_gap) continue;
            if (hits[j].weight == 0) continue;

            int const drift = abs(dq - dt);
            if (drift > prm.max_drift) continue;

            int const overlap = K - min(min(dq, dt), K);
            int const gain    = cur.weight * (K - overlap) / K;
            int const cost    = drift ? ((drift * prm.gap_num) >> prm.gap_shift) + detail::ilog2(drift) / 2 + 1 : 0;
            int const s       = hits[j].score + gain - cost;
            if (s > score) { score = s; prev = j; }
        }
        hits[i].score = score;
        hits[i].prev  = prev;
        if (score > best) { best = score; best_hit = i; }
    }
    pairs[p].best_score = best;
    pairs[p].best_hit   = best_hit;
}

template <int K>
__global__ void trace_back(hit* hits, seed_pair* pairs, int n_pairs)
{
    int const p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= n_pairs) return;

    seed_pair sp = pairs[p];
    sp.chain_len = 0;
    sp.band      = 0;
    sp.density   = 0.f;
    if (sp.best_hit < 0) {
        pairs[p] = sp;
        return;
    }
    int at = sp.best_hit;
    sp.q_hi = hits[at].qpos + K;
    sp.t_hi = hits[at].tpos + K;
    int const diag0 = hits[at].qpos - hits[at].tpos;
    while (at >= 0 && sp.chain_len < sp.count) {
        hits[at].on_chain = 1;
        sp.q_lo = hits[at].qpos;
        sp.t_lo = hits[at].tpos;
        sp.band = max(sp.band, abs(hits[at].qpos - hits[at].tpos - diag0));
        ++sp.chain_len;
        at = hits[at].prev;
    }
    sp.density = float(sp.chain_len * K) / float(max(1, sp.t_hi - sp.t_lo));
    pairs[p] = sp;
}

__global__ void summarize(seed_pair* pairs, int n_pairs, target_summary* targets, params prm)
{
    for (int p = blockIdx.x * blockDim.x + threadIdx.x; p < n_pairs; p += gridDim.x * blockDim.x) {
        int const  s    = pairs[p].best_score;
        bool const keep = s >= prm.min_score && pairs[p].chain_len >= prm.min_seeds;
        pairs[p].significant = keep;
        if (!keep) continue;
        target_summary& t = targets[pairs[p].target];
        atomicMax(&t.best_score, s);
        atomicAdd(&t.n_pairs, 1);
        atomicAdd(&t.total_score, static_cast<unsigned long long>(s));
    }
}

__global__ void score_histogram(seed_pair const* pairs, int n_pairs, unsigned* histogram)
{
    __shared__ unsigned local[score_bins];
    for (int b = threadIdx.x; b < score_bins; b += blockDim.x) local[b] = 0;
    __syncthreads();
    for (int p = blockIdx.x * blockDim.x + threadIdx.x; p < n_pairs; p += gridDim.x * blockDim.x)
        atomicAdd(&local[min(pairs[p].best_score / 4, score_bins - 1)], 1u);
    __syncthreads();
    for (int b = threadIdx.x; b < score_bins; b += blockDim.x)
        if (local[b]) atomicAdd(&histogram[b], local[b]);
}

// ---------------------------------------------------------------- host side

inline void throw_on(cudaError_t status, char const* where)
{
    if (status != cudaSuccess) {
        std::cerr << where << ": " << cudaGetErrorString(status) << std::endl;
        std::exit(EXIT_FAILURE);
    }
}

template <typename T>
T* to_device(std::vector<T> const& v)
{
    T* p = nullptr;
    throw_on(cudaMalloc(&p, v.size() * sizeof(T)), "cudaMalloc");
    throw_on(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice), "upload");
    return p;
}

template <typename T>
void to_host(std::vector<T>& v, T const* p)
{
    throw_on(cudaMemcpy(v.data(), p, v.size() * sizeof(T), cudaMemcpyDeviceToHost), "download");
}

struct lcg {
    std::uint64_t s;
    std::uint32_t operator()()
    {
        s = s * 6364136223846793005ull + 1442695040888963407ull;
        return static_cast<std::uint32_t>(s >> 33);
    }
    std::uint32_t operator()(std::uint32_t n) { return (*this)() % n; }
};

constexpr std::uint32_t code_space = 13 * 13 * 13 * 13 * 13;   // reduced alphabet, k = 5

std::vector<kmer_entry> make_table(lcg& r)
{
    std::vector<kmer_entry> table;
    for (std::uint32_t c = 0; c < code_space; ++c) {
        if (r(5) < 2) continue;
        kmer_entry e{};
        e.code        = c;
        e.occurrences = 1 + r(1u << (r(14)));
        e.complexity  = static_cast<std::int16_t>(20 + r(81));
        e.masked      = r(33) == 0;
        table.push_back(e);
    }
    return table;
}

void make_hits(lcg& r, int n_pairs, int n_targets, std::vector<hit>& hits, std::vector<seed_pair>& pairs)
{
    pairs.reserve(n_pairs);
    hits.reserve(static_cast<std::size_t>(n_pairs) * 20);
    for (int p = 0; p < n_pairs; ++p) {
        seed_pair sp{};
        sp.query  = p / 37;
        sp.target = static_cast<int>(r(n_targets));
        sp.first  = static_cast<int>(hits.size());

        // colinear part for homologous pairs, plus noise
        int const n_true  = r(4) == 0 ? 6 + r(26) : 0;
        int const n_noise = 4 + r(18);
        int q = 10 + r(80), t = 10 + r(80);
        for (int k = 0; k < n_true; ++k) {
            hit h{};
            h.qpos = q; h.tpos = t;
            hits.push_back(h);
            int const step = 1 + r(14);
            q += step + (r(6) == 0 ? r(9) : 0);
            t += step + (r(6) == 0 ? r(9) : 0);
        }
        for (int k = 0; k < n_noise; ++k) {
            hit h{};
            h.qpos = r(420); h.tpos = r(420);
            hits.push_back(h);
        }
        sp.count = static_cast<int>(hits.size()) - sp.first;
        std::sort(hits.begin() + sp.first, hits.end(), [](hit const& a, hit const& b) {
            return a.tpos != b.tpos ? a.tpos < b.tpos : a.qpos < b.qpos;
        });
        for (int i = sp.first; i < sp.first + sp.count; ++i) {
            hits[i].code = r(code_space);
            hits[i].pair = p;
            hits[i].prev = -1;
        }
        pairs.push_back(sp);
    }
}

} // namespace chain

int main(int argc, char** argv)
{
    using namespace chain;
    constexpr int k = 5, look_back = 32;

    int const n_pairs   = argc > 1 ? std::atoi(argv[1]) : 220000;
    int const reps      = argc > 2 ? std::atoi(argv[2]) : 25;
    int const n_targets = 30000;

    lcg rng{42};
    auto const table = make_table(rng);
    std::vector<hit>       hits;
    std::vector<seed_pair> pairs;
    make_hits(rng, n_pairs, n_targets, hits, pairs);
    std::vector<target_summary> targets(n_targets);
    std::vector<unsigned>       histogram(score_bins);

    int const n_hits    = static_cast<int>(hits.size());
    int const n_entries = static_cast<int>(table.size());
    std::clog << n_hits << " hits, " << n_pairs << " pairs, " << n_entries << " k-mers\n";

    auto* d_table   = to_device(table);
    auto* d_hits    = to_device(hits);
    auto* d_pairs   = to_device(pairs);
    auto* d_targets = to_device(targets);
    auto* d_hist    = to_device(histogram);

    auto pass = [&](params const& prm) {
        constexpr int tpb = 128;
        auto blocks = [](int n) { return (n + tpb - 1) / tpb; };
        weight_hits<k><<<blocks(n_hits), tpb>>>(d_hits, n_hits, d_table, n_entries);
        chain_pairs<k, look_back><<<blocks(n_pairs), tpb>>>(d_hits, d_pairs, n_pairs, prm);
        trace_back<k><<<blocks(n_pairs), tpb>>>(d_hits, d_pairs, n_pairs);
        summarize<<<264, tpb>>>(d_pairs, n_pairs, d_targets, prm);
        score_histogram<<<264, tpb>>>(d_pairs, n_pairs, d_hist);
        throw_on(cudaGetLastError(), "launch");
    };

    params prm;
    pass(prm);
    throw_on(cudaDeviceSynchronize(), "warm-up");

    cudaEvent_t ev[2];
    for (auto& e : ev) throw_on(cudaEventCreate(&e), "event");
    throw_on(cudaEventRecord(ev[0]), "record");
    for (int r = 0; r < reps; ++r) {
        prm.max_drift = 24 + 4 * (r % 6);           // parameter sweep
        pass(prm);
    }
    throw_on(cudaEventRecord(ev[1]), "record");
    throw_on(cudaEventSynchronize(ev[1]), "sync");
    float ms = 0.f;
    throw_on(cudaEventElapsedTime(&ms, ev[0], ev[1]), "elapsed");

    to_host(hits, d_hits);
    to_host(pairs, d_pairs);
    to_host(targets, d_targets);
    to_host(histogram, d_hist);

    long long on_chain = 0, best_sum = 0, significant = 0, span = 0, density = 0;
    for (auto const& h : hits) on_chain += h.on_chain;
    for (auto const& p : pairs) {
        best_sum    += p.best_score;
        significant += p.significant;
        if (p.best_hit >= 0) span += (p.q_hi - p.q_lo) + 3 * (p.t_hi - p.t_lo) + p.band;
        density += static_cast<long long>(p.density * 1000.f + 0.5f);
    }
    unsigned long long target_mix = 0;
    for (std::size_t t = 0; t < targets.size(); ++t)
        target_mix += (t % 101 + 1) * (targets[t].total_score + 7ull * targets[t].n_pairs + targets[t].best_score);
    unsigned long long hist_mix = 0;
    for (int b = 0; b < score_bins; ++b) hist_mix += static_cast<unsigned long long>(b + 1) * histogram[b];

    std::cout << "check on_chain "    << on_chain    << '\n'
              << "check best_sum "    << best_sum    << '\n'
              << "check significant " << significant << '\n'
              << "check span "        << span        << '\n'
              << "check density "     << density     << '\n'
              << "check target_mix "  << target_mix  << '\n'
              << "check hist_mix "    << hist_mix    << '\n'
              << "time_ms "           << ms          << std::endl;

    for (auto& e : ev) cudaEventDestroy(e);
    cudaFree(d_table); cudaFree(d_hits); cudaFree(d_pairs); cudaFree(d_targets); cudaFree(d_hist);
    return 0;
}
