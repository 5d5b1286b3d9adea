// tempo_exemplar_beam.cu
//
// Live beat tracking for many radio streams at once.  Per hop: the newest onset
// frame of each stream goes into its ring and updates a rhythm profile, which is
// routed through a two-level codebook to a cluster of exemplar songs; the k
// nearest exemplars give a tempo prior; a beam of 16 (period, phase, metre)
// hypotheses proposes continuations and keeps the best distinct 16.
//   usage: tempo_exemplar_beam [number of streams]
#include <cuda_runtime.h>
#include <algorithm>
#include <cfloat>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define MUST(x) do { const cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
    std::fprintf(stderr, "%s failed at line %d: %s\n", #x, __LINE__, cudaGetErrorString(e_)); std::exit(1); } } while (0)

constexpr int kDim = 8;                           // rhythm profile
constexpr int kBeam = 16, kProps = 3;             // hypotheses, proposals of each
constexpr int kNear = 4, kRing = 32;              // neighbours, onset frames kept per stream
constexpr int kCoarse = 64, kFine = 64, kPerCluster = 256;
constexpr int kSongs = kCoarse * kFine * kPerCluster;
constexpr int kStreamsPerBlock = 8, kTempoBins = 64;
constexpr int kWarm = 2, kHops = 30;
constexpr float kHopSec = 0.0232f;

struct OnsetFrame {
    float strength, band[3], centroid;
    uint16_t peakBin;
    uint8_t voiced, clipped;
};

struct Stream {
    float profile[kDim];
    double beatClock;              // seconds, time of the last published beat
    float energy, bestPeriod, bestScore;
    float trueBpm, truePhase;      // the simulated broadcast
    uint32_t cluster, beats;
    uint16_t agreement;
    uint8_t metre, locked;
};

struct Exemplar {
    float feat[kDim];
    float bpm, swing, weight;
    uint32_t hits;
    uint16_t genre;
    uint8_t metre, active;
};

struct CodeNode { float centre[kDim]; uint32_t first, count; };

struct TempoPrior {
    float period[kNear], weight[kNear];   // in hops
    uint8_t metre[kNear];
};

struct Hypothesis {
    double lastBeat;
    float period, phase;           // in hops; 0..1 within the beat
    float score, tempoVar;
    uint32_t beats, parent;
    uint16_t exemplar;
    uint8_t metre, beatInBar;
};

__host__ __device__ inline uint32_t scramble(uint32_t x) {
    x += 0x9E3779B9u; x ^= x >> 16; x *= 0x21F0AAADu; x ^= x >> 15; x *= 0x735A2D97u;
    return x ^ (x >> 15);
}
__host__ __device__ inline float frac01(uint32_t x) { return float(x >> 8) * (1.0f / 16777216.0f); }

template <class A, class B> __device__ inline float distance2(const A& a, const B& b) {
    float d = 0.0f;
    for (int k = 0; k < kDim; ++k) { const float t = a[k] - b[k]; d += t * t; }
    return d;
}

__device__ uint32_t closestNode(const CodeNode* codebook, uint32_t first, uint32_t count, const float* query) {
    uint32_t best = first;
    float bestD = FLT_MAX;
    for (uint32_t c = first; c < first + count; ++c) {
        const float d = distance2(codebook[c].centre, query);
        if (d < bestD) { bestD = d; best = c; }
    }
    return best;
}

__global__ void analyseHop(Stream* streams, OnsetFrame* ring, const CodeNode* codebook, int n, int hop) {
    const int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= n) return;
    Stream& st = streams[s];
    const uint32_t h = scramble(s * 977u + hop * 131071u);
    float phase = st.truePhase + st.trueBpm * (kHopSec / 60.0f);
    const bool beat = phase >= 1.0f;
    st.truePhase = phase = beat ? phase - 1.0f : phase;
    const float noise = 0.25f * frac01(h);
    OnsetFrame& f = ring[size_t(s) * kRing + hop % kRing];
    f.strength = (beat ? 1.0f : 0.15f * __expf(-8.0f * phase)) + noise;
    f.band[0] = beat ? 0.9f : 0.2f * noise;
    f.band[1] = 0.5f * f.strength + 0.1f * frac01(scramble(h)); f.band[2] = noise;
    f.centroid = 400.0f + 3000.0f * frac01(h * 7u);
    f.peakBin = uint16_t(h % 512u);
    f.voiced = uint8_t((h >> 9) & 1u); f.clipped = uint8_t(f.strength > 1.2f);
    // rhythm profile: recent onset energy folded to kDim lags, read back from the ring
    st.energy = 0.95f * st.energy + 0.05f * f.strength;
    float prof[kDim];
    for (int k = 0; k < kDim; ++k) {
        const int slot = (hop + kRing - (3 * k + 1)) % kRing;
        const OnsetFrame& g = ring[size_t(s) * kRing + slot];
        prof[k] = 0.9f * st.profile[k] + 0.1f * f.strength * (g.strength + 0.5f * g.band[0]);
        st.profile[k] = prof[k];
    }
    const uint32_t branch = closestNode(codebook, 0, kCoarse, prof);
    st.cluster = closestNode(codebook, codebook[branch].first, codebook[branch].count, prof);
}

// One warp per stream.  Every lane keeps its best kNear of the cluster, then the
// warp takes the overall minimum kNear times; ties go to the lower index.
__global__ void nearestSongs(const Stream* streams, const CodeNode* codebook, Exemplar* songs, TempoPrior* priors, int n) {
    const int s = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (s >= n) return;                            // the whole warp leaves together
    float query[kDim];
    for (int k = 0; k < kDim; ++k) query[k] = streams[s].profile[k];
    const uint32_t first = codebook[streams[s].cluster].first;
    const uint32_t last = first + codebook[streams[s].cluster].count;
    float d[kNear];
    uint32_t id[kNear];
    for (int k = 0; k < kNear; ++k) { d[k] = FLT_MAX; id[k] = 0xFFFFFFFFu; }
    for (uint32_t e = first + lane; e < last; e += 32) {
        if (!songs[e].active) continue;
        float x = distance2(songs[e].feat, query) * songs[e].weight;
        uint32_t who = e;
        for (int k = 0; k < kNear; ++k)            // insertion into a sorted short list
            if (x < d[k]) {
                const float td = d[k]; const uint32_t ti = id[k];
                d[k] = x; id[k] = who; x = td; who = ti;
            }
    }
    for (int k = 0; k < kNear; ++k) {
        float m = d[0];
        uint32_t who = id[0];
        for (int off = 16; off > 0; off >>= 1) {
            const float om = __shfl_xor_sync(0xFFFFFFFFu, m, off);
            const uint32_t ow = __shfl_xor_sync(0xFFFFFFFFu, who, off);
            if (om < m || (om == m && ow < who)) { m = om; who = ow; }
        }
        if (id[0] == who) {                        // the winner drops its head
            for (int q = 0; q + 1 < kNear; ++q) { d[q] = d[q + 1]; id[q] = id[q + 1]; }
            d[kNear - 1] = FLT_MAX; id[kNear - 1] = 0xFFFFFFFFu;
        }
        if (lane == 0) {
            const bool ok = who != 0xFFFFFFFFu;
            priors[s].period[k] = ok ? 60.0f / (songs[who].bpm * kHopSec) : 20.0f;
            priors[s].weight[k] = ok ? 1.0f / (0.05f + m) : 0.0f;
            priors[s].metre[k] = ok ? songs[who].metre : 4;
            if (ok && k == 0) atomicAdd(&songs[who].hits, 1u);
        }
    }
}

struct Candidate { float score, period, phase; uint8_t metre, kind; };

__global__ void beamAdvance(const Hypothesis* __restrict__ in, Hypothesis* __restrict__ out,
                            const OnsetFrame* __restrict__ ring, const TempoPrior* __restrict__ priors, int n, int hop) {
    __shared__ Candidate cand[kStreamsPerBlock][kBeam * kProps];
    __shared__ float order[kStreamsPerBlock][kBeam * kProps];
    const int local = threadIdx.x / kBeam, lane = threadIdx.x % kBeam;
    const int s = blockIdx.x * kStreamsPerBlock + local;
    const bool live = s < n;
    Hypothesis me;
    if (live) {
        me = in[size_t(s) * kBeam + lane];
        const float onset = ring[size_t(s) * kRing + hop % kRing].strength;
        const float low = ring[size_t(s) * kRing + hop % kRing].band[0];
        const int back = int(me.period + 0.5f) % kRing;
        const float echo = ring[size_t(s) * kRing + (hop + kRing - back) % kRing].strength;
        for (int p = 0; p < kProps; ++p) {
            float period = me.period, cost = p == 1 ? 0.04f : 0.0f;
            uint8_t metre = me.metre;
            if (p == 1) period += 0.15f * (priors[s].period[0] - period);  // drift to the nearest exemplar
            if (p == 2) {                   // jump to one of the k exemplars
                period = priors[s].period[lane % kNear];
                metre = priors[s].metre[lane % kNear];
                cost = 0.6f / (1.0f + 0.1f * priors[s].weight[lane % kNear]);
            }
            period = fminf(fmaxf(period, 8.0f), 60.0f);
            float phase = me.phase + 1.0f / period;
            if (phase >= 1.0f) phase -= 1.0f;
            const float near = fminf(phase, 1.0f - phase);
            const float expect = __expf(-30.0f * near * near);
            const float fit = expect * (onset + 0.5f * low + 0.3f * echo) - 0.25f * (1.0f - expect) * onset;
            const float score = 0.98f * me.score + fit - cost - 0.002f * period;
            cand[local][lane * kProps + p] = Candidate{score, period, phase, metre, uint8_t(p)};
        }
    }
    __syncthreads();
    // a candidate that repeats an earlier one is sent to the back of the queue
    if (live)
        for (int p = 0; p < kProps; ++p) {
            const int c = lane * kProps + p;
            const Candidate mine = cand[local][c];
            bool twin = false;
            for (int j = 0; j < c && !twin; ++j)
                twin = fabsf(cand[local][j].period - mine.period) < 0.05f && fabsf(cand[local][j].phase - mine.phase) < 0.02f;
            order[local][c] = mine.score - (twin ? 1000.0f : 0.0f);
        }
    __syncthreads();
    if (!live) return;
    for (int p = 0; p < kProps; ++p) {
        const int c = lane * kProps + p;
        const Candidate mine = cand[local][c];
        int rank = 0;
        for (int j = 0; j < kBeam * kProps; ++j) {
            const float other = order[local][j];
            rank += other > order[local][c] || (other == order[local][c] && j < c);
        }
        if (rank >= kBeam) continue;
        Hypothesis next = me;
        const bool wrapped = mine.phase < 1.0f / mine.period;
        next.score = mine.score;
        next.tempoVar = 0.9f * me.tempoVar + 0.1f * fabsf(mine.period - me.period);
        next.period = mine.period; next.phase = mine.phase;
        next.metre = mine.metre; next.parent = lane;
        next.exemplar = uint16_t(mine.kind == 2 ? lane % kNear : me.exemplar);
        if (wrapped) {
            next.beats = me.beats + 1;
            next.lastBeat = hop * double(kHopSec);
            next.beatInBar = uint8_t((me.beatInBar + 1) % (mine.metre ? mine.metre : 4));
        }
        out[size_t(s) * kBeam + rank] = next;
    }
}

__global__ void publishBeats(Stream* streams, const Hypothesis* beam, unsigned* tempoHist, int n) {
    __shared__ unsigned hist[kTempoBins];
    if (threadIdx.x < kTempoBins) hist[threadIdx.x] = 0;
    __syncthreads();
    const int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s < n) {
        const Hypothesis* row = beam + size_t(s) * kBeam;
        const float period = row[0].period;
        int agree = 0;
        for (int k = 1; k < kBeam; ++k) agree += fabsf(row[k].period - period) < 1.0f;
        if (row[0].lastBeat > streams[s].beatClock + 0.15) {
            streams[s].beatClock = row[0].lastBeat; streams[s].beats++;
        }
        streams[s].bestPeriod = period; streams[s].bestScore = row[0].score;
        streams[s].metre = row[0].metre; streams[s].agreement = uint16_t(agree);
        streams[s].locked = uint8_t(agree >= kBeam / 2 && row[0].tempoVar < 0.3f);
        const int bin = min(kTempoBins - 1, int(60.0f / (period * kHopSec) * 0.2f));
        atomicAdd(&hist[bin], 1u);
    }
    __syncthreads();
    if (threadIdx.x < kTempoBins && hist[threadIdx.x]) atomicAdd(&tempoHist[threadIdx.x], hist[threadIdx.x]);
}

template <class T> T* blank(size_t count) {
    T* p = nullptr;
    MUST(cudaMalloc(&p, count * sizeof(T)));
    MUST(cudaMemset(p, 0, count * sizeof(T)));
    return p;
}
template <class T> T* upload(const std::vector<T>& v) {
    T* p = blank<T>(v.size());
    MUST(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
    return p;
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? std::max(std::atoi(argv[1]), 8) : 262144;
    std::vector<CodeNode> codebook(kCoarse + kCoarse * kFine);
    std::vector<Exemplar> songs(kSongs);
    for (int c = 0; c < kCoarse; ++c) {
        CodeNode& top = codebook[c];
        for (int k = 0; k < kDim; ++k) top.centre[k] = 0.6f * frac01(scramble(c * kDim + k));
        top.first = kCoarse + c * kFine; top.count = kFine;
        for (int f = 0; f < kFine; ++f) {
            const int leaf = c * kFine + f;
            CodeNode& node = codebook[kCoarse + leaf];
            for (int k = 0; k < kDim; ++k)
                node.centre[k] = top.centre[k] + 0.2f * (frac01(scramble(leaf * kDim + k + 7919u)) - 0.5f);
            node.first = leaf * kPerCluster;
            node.count = kPerCluster - scramble(leaf) % 64u;
            for (int e = 0; e < kPerCluster; ++e) {
                const uint32_t id = leaf * kPerCluster + e, h = scramble(id ^ 0x5bd1e995u);
                Exemplar& x = songs[id];
                for (int k = 0; k < kDim; ++k) x.feat[k] = node.centre[k] + 0.1f * (frac01(scramble(h + k)) - 0.5f);
                x.bpm = 60.0f + 120.0f * frac01(h);
                x.swing = 0.5f + 0.2f * frac01(h * 5u);
                x.weight = 0.8f + 0.4f * frac01(h * 3u);
                x.genre = uint16_t(h % 300u);
                x.metre = uint8_t(h % 5u ? 4 : 3); x.active = uint8_t(h % 17u != 0);
            }
        }
    }
    std::vector<Stream> streams(n);
    std::vector<Hypothesis> beam(size_t(n) * kBeam);
    for (int s = 0; s < n; ++s) {
        Stream& st = streams[s];                   // zeroed by the vector
        for (int k = 0; k < kDim; ++k) st.profile[k] = 0.5f * frac01(scramble(s * 11u + k));
        st.trueBpm = 70.0f + 100.0f * frac01(scramble(s));
        st.truePhase = frac01(scramble(s + 99u));
        for (int b = 0; b < kBeam; ++b) {
            const uint32_t h = scramble(s * kBeam + b);
            beam[size_t(s) * kBeam + b] = Hypothesis{-1.0, 10.0f + 35.0f * frac01(h), frac01(h * 9u), 0.0f, 0.0f, 0u,
                                                     uint32_t(b), uint16_t(0), uint8_t(4), uint8_t(0)};
        }
    }

    CodeNode* dCode = upload(codebook);
    Exemplar* dSongs = upload(songs);
    Stream* dStreams = upload(streams);
    Hypothesis* dBeam = upload(beam);
    Hypothesis* dNext = blank<Hypothesis>(beam.size());
    OnsetFrame* dRing = blank<OnsetFrame>(size_t(n) * kRing);
    TempoPrior* dPrior = blank<TempoPrior>(n);
    unsigned* dHist = blank<unsigned>(kTempoBins);
    cudaEvent_t t0, t1;
    MUST(cudaEventCreate(&t0)); MUST(cudaEventCreate(&t1));
    for (int hop = 0; hop < kWarm + kHops; ++hop) {
        if (hop == kWarm) MUST(cudaEventRecord(t0));
        analyseHop<<<(n + 127) / 128, 128>>>(dStreams, dRing, dCode, n, hop);
        nearestSongs<<<(n + 3) / 4, 128>>>(dStreams, dCode, dSongs, dPrior, n);
        beamAdvance<<<(n + kStreamsPerBlock - 1) / kStreamsPerBlock, kStreamsPerBlock * kBeam>>>(dBeam, dNext, dRing, dPrior, n, hop);
        std::swap(dBeam, dNext);
        publishBeats<<<(n + 127) / 128, 128>>>(dStreams, dBeam, dHist, n);
        MUST(cudaGetLastError());
    }
    MUST(cudaEventRecord(t1)); MUST(cudaEventSynchronize(t1));
    float ms = 0.0f;
    MUST(cudaEventElapsedTime(&ms, t0, t1));

    std::vector<unsigned> hist(kTempoBins);
    MUST(cudaMemcpy(streams.data(), dStreams, streams.size() * sizeof(Stream), cudaMemcpyDeviceToHost));
    MUST(cudaMemcpy(beam.data(), dBeam, beam.size() * sizeof(Hypothesis), cudaMemcpyDeviceToHost));
    MUST(cudaMemcpy(songs.data(), dSongs, songs.size() * sizeof(Exemplar), cudaMemcpyDeviceToHost));
    MUST(cudaMemcpy(hist.data(), dHist, kTempoBins * sizeof(unsigned), cudaMemcpyDeviceToHost));
    double sum = 0.0;
    for (const Stream& s : streams)
        sum += s.bestPeriod + 0.5 * s.bestScore + 2.0 * s.beats + s.locked + 0.1 * s.agreement + s.energy + s.profile[3] + s.metre;
    for (const Hypothesis& h : beam) sum += 0.01 * (h.period + h.phase + h.beats + h.beatInBar + h.lastBeat);
    for (const Exemplar& e : songs) sum += 1e-3 * e.hits * e.metre;
    for (int b = 0; b < kTempoBins; ++b) sum += 1e-4 * b * hist[b];
    std::printf("check %.6g\ntime_ms %.4f\n", sum, ms / kHops);
    return 0;
}
