// banded_align.cu -- score candidate placements of short reads on a reference.
//
// Pipeline per batch:
//   1. screen_jobs   : xor/popcount of the first and last full word against the
//                      reference over small shifts; bad candidates are dropped
//                      and perfect reads get their score without any DP
//   2. banded_score  : local alignment in a diagonal band (registers only)
//   3. choose_best   : best and second best candidate per read, mapping quality
//   4. pile_up       : coverage per reference bin
//   5. mapq_hist     : shared memory histogram
//
// Bases are 2 bits each, 32 to a 64-bit word, lowest bits first.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include <cuda_runtime.h>

#define HANDLE_ERROR(err) (handle_error((err), __FILE__, __LINE__))

namespace {

void handle_error(cudaError_t err, const char* file, int line)
{
    if (err != cudaSuccess) {
        printf("%s in %s at line %d\n", cudaGetErrorString(err), file, line);
        exit(EXIT_FAILURE);
    }
}

constexpr int MAX_WORDS  = 4;
constexpr int NUM_CANDS  = 4;
constexpr int BAND       = 8;
constexpr int WIDTH      = 2 * BAND + 1;
constexpr int MATCH      = 2;
constexpr int MISMATCH   = -3;
constexpr int GAP        = 4;
constexpr int BIN_BASES  = 64;
constexpr int MAPQ_BINS  = 64;
constexpr uint64_t ODD   = 0x5555555555555555ull;

struct Read {
    uint64_t seq[MAX_WORDS];
    int32_t  cand[NUM_CANDS];
    int32_t  best_pos;
    int16_t  best_score;
    int16_t  second_score;
    uint16_t length;
    uint8_t  mapq;
    uint8_t  strand;
    float    identity;
    uint8_t  qual[32];       // two phred nibbles per byte, every other base
    char     name[16];
};

enum JobState : uint8_t { JOB_NEW, JOB_REJECTED, JOB_EXACT, JOB_ALIGNED };

struct AlignJob {
    int32_t  read;
    int32_t  ref_pos;
    int16_t  score;
    int16_t  end_base;
    int16_t  end_diag;
    uint8_t  screen_mism;
    uint8_t  state;
};

struct RefBin {
    uint32_t reads;
    uint32_t bases;
    uint32_t mapq_sum;
    int32_t  best_score;
};

struct GpuTimer {
    cudaEvent_t a, b;
    GpuTimer() { HANDLE_ERROR(cudaEventCreate(&a)); HANDLE_ERROR(cudaEventCreate(&b)); }
    ~GpuTimer() { cudaEventDestroy(a); cudaEventDestroy(b); }
    void start() { HANDLE_ERROR(cudaEventRecord(a)); }
    float stop()
    {
        float ms;
        HANDLE_ERROR(cudaEventRecord(b));
        HANDLE_ERROR(cudaEventSynchronize(b));
        HANDLE_ERROR(cudaEventElapsedTime(&ms, a, b));
        return ms;
    }
};

__device__ __forceinline__ uint64_t ref_word(const uint64_t* __restrict__ ref, int pos)
{
    int w = pos >> 5, sh = (pos & 31) * 2;
    uint64_t lo = ref[w] >> sh;
    return sh ? lo | (ref[w + 1] << (64 - sh)) : lo;
}

__device__ __forceinline__ int ref_base(const uint64_t* __restrict__ ref, int pos)
{
    return int(ref[pos >> 5] >> ((pos & 31) * 2)) & 3;
}

__device__ __forceinline__ int count_mismatches(uint64_t a, uint64_t b)
{
    uint64_t x = a ^ b;
    return __popcll((x | (x >> 1)) & ODD);
}

__global__ void screen_jobs(AlignJob* jobs, int num_jobs, const Read* reads, const uint64_t* __restrict__ ref)
{
    int tid = blockIdx.x * blockDim.x + threadIdx.x;
    if (tid >= num_jobs)
        return;

    AlignJob job;
    job.read     = tid / NUM_CANDS;
    job.ref_pos  = reads[job.read].cand[tid % NUM_CANDS];
    job.score    = 0;
    job.end_base = job.end_diag = 0;

    const Read& rd = reads[job.read];
    int full = rd.length / 32;

    // is it an exact match?
    int mism = 0;
    for (int w = 0; w < full; ++w)
        mism += count_mismatches(rd.seq[w], ref_word(ref, job.ref_pos + 32 * w));
    int tail = rd.length & 31;
    if (tail) {
        uint64_t mask = (1ull << (2 * tail)) - 1;
        mism += count_mismatches(rd.seq[full] & mask, ref_word(ref, job.ref_pos + 32 * full) & mask);
    }
    if (mism == 0) {
        job.state       = JOB_EXACT;
        job.score       = int16_t(MATCH * rd.length);
        job.end_base    = int16_t(rd.length - 1);
        job.screen_mism = 0;
        jobs[tid] = job;
        return;
    }

    int best = 64;
    for (int shift = -BAND / 2; shift <= BAND / 2; ++shift) {
        best = min(best, count_mismatches(rd.seq[0], ref_word(ref, job.ref_pos + shift)));
        best = min(best, count_mismatches(rd.seq[full - 1], ref_word(ref, job.ref_pos + 32 * (full - 1) + shift)));
    }
    job.screen_mism = uint8_t(best);
    job.state       = best <= 9 ? JOB_NEW : JOB_REJECTED;
    jobs[tid]       = job;
}

__global__ void __launch_bounds__(128) banded_score(AlignJob* __restrict__ jobs, int num_jobs,
                                                    const Read* __restrict__ reads,
                                                    const uint64_t* __restrict__ ref)
{
    int tid = blockIdx.x * blockDim.x + threadIdx.x;
    if (tid >= num_jobs || jobs[tid].state != JOB_NEW)
        return;

    const int   pos = jobs[tid].ref_pos;
    const Read* rd  = reads + jobs[tid].read;
    const int   len = rd->length;

    int h[WIDTH];
#pragma unroll
    for (int k = 0; k < WIDTH; ++k)
        h[k] = 0;

    // reference bases under the band, base k at bits 2k
    uint64_t window = ref_word(ref, pos - BAND) & ((1ull << (2 * WIDTH)) - 1);
    int best = 0, best_i = 0, best_k = 0;

    for (int i = 0; i < len; ++i) {
        const int base = int(rd->seq[i >> 5] >> ((i & 31) * 2)) & 3;
        int left = -1000;
#pragma unroll
        for (int k = 0; k < WIDTH; ++k) {
            int rb   = int(window >> (2 * k)) & 3;
            int diag = h[k] + (rb == base ? MATCH : MISMATCH);
            int up   = k + 1 < WIDTH ? h[k + 1] - GAP : -1000;
            int v    = max(max(diag, up), max(left, 0));
            h[k]     = v;
            left     = v - GAP;
            if (v > best) {
                best   = v;
                best_i = i;
                best_k = k;
            }
        }
        window = (window >> 2) | (uint64_t(ref_base(ref, pos + i + 1 + BAND)) << (2 * (WIDTH - 1)));
    }

    jobs[tid].score    = int16_t(best);
    jobs[tid].end_base = int16_t(best_i);
    jobs[tid].end_diag = int16_t(best_k - BAND);
    jobs[tid].state    = JOB_ALIGNED;
}

__global__ void choose_best(Read* reads, int num_reads, const AlignJob* jobs)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= num_reads)
        return;

    int best = 0, second = 0, where = -1;
    for (int c = 0; c < NUM_CANDS; ++c) {
        AlignJob j = jobs[r * NUM_CANDS + c];
        if (j.state == JOB_REJECTED)
            continue;
        if (j.score > best) {
            second = best;
            best   = j.score;
            where  = j.ref_pos + j.end_diag;
        } else if (j.score > second) {
            second = j.score;
        }
    }

    Read& rd = reads[r];
    rd.best_score   = int16_t(best);
    rd.second_score = int16_t(second);
    rd.best_pos     = where;
    rd.identity     = best / float(MATCH * rd.length);
    if (best == 0) {
        rd.mapq = 0;
        return;
    }
    int q = 0;
    for (int b = 0; b < (rd.length + 3) / 4; ++b)
        q += (rd.qual[b] & 15) + (rd.qual[b] >> 4);
    int mapq = (best - second) * 60 / (MATCH * rd.length) + q / 128 - 4;
    rd.mapq = uint8_t(min(max(mapq, 0), MAPQ_BINS - 1));
}

__global__ void pile_up(const Read* __restrict__ reads, int num_reads, RefBin* bins, int num_bins)
{
    for (int r = blockIdx.x * blockDim.x + threadIdx.x; r < num_reads; r += blockDim.x * gridDim.x) {
        int pos = reads[r].best_pos;
        if (pos < 0)
            continue;
        int end   = pos + reads[r].length;
        int first = pos / BIN_BASES;
        atomicAdd(&bins[first].reads, 1u);
        atomicAdd(&bins[first].mapq_sum, (uint32_t)reads[r].mapq);
        atomicMax(&bins[first].best_score, (int)reads[r].best_score);
        for (int b = first; b <= (end - 1) / BIN_BASES && b < num_bins; ++b) {
            int lo = max(pos, b * BIN_BASES), hi = min(end, (b + 1) * BIN_BASES);
            atomicAdd(&bins[b].bases, uint32_t(hi - lo));
        }
    }
}

__global__ void mapq_hist(const Read* __restrict__ reads, int num_reads, unsigned int* hist)
{
    __shared__ unsigned int local[MAPQ_BINS];
    if (threadIdx.x < MAPQ_BINS)
        local[threadIdx.x] = 0;
    __syncthreads();
    for (int r = blockIdx.x * blockDim.x + threadIdx.x; r < num_reads; r += blockDim.x * gridDim.x)
        if (reads[r].best_score > 0)
            atomicAdd(&local[reads[r].mapq], 1u);
    __syncthreads();
    if (threadIdx.x < MAPQ_BINS)
        atomicAdd(&hist[threadIdx.x], local[threadIdx.x]);
}

// ---- host-side simulation of reads -----------------------------------------

struct Simulator {
    std::mt19937 gen{1234567u};
    int below(int n) { return int(gen() % uint32_t(n)); }

    std::vector<uint64_t> reference(int bases)
    {
        std::vector<uint64_t> ref(bases / 32 + 2);
        for (auto& w : ref)
            w = (uint64_t(gen()) << 32) | gen();
        return ref;
    }

    Read sample(const std::vector<uint64_t>& ref, int bases, int id, int& truth)
    {
        Read r;
        memset(&r, 0, sizeof r);
        r.length = uint16_t(96 + below(29));
        truth    = 1024 + below(bases - 4096);
        int src  = truth, n = 0;
        const bool clean = below(4) == 0;
        while (n < r.length) {
            int b = int(ref[src >> 5] >> ((src & 31) * 2)) & 3;
            ++src;
            if (!clean) {
                int e = below(1000);
                if (e < 12) b = (b + 1 + below(3)) & 3;          // substitution
                else if (e < 15) continue;                       // deletion
                else if (e < 18) { --src; b = below(4); }        // insertion
            }
            r.seq[n >> 5] |= uint64_t(b) << ((n & 31) * 2);
            ++n;
        }
        int slot = below(NUM_CANDS);
        for (int c = 0; c < NUM_CANDS; ++c)
            r.cand[c] = c == slot ? truth + (clean ? 0 : below(5) - 2) : 1024 + below(bases - 4096);
        for (auto& q : r.qual)
            q = uint8_t(gen() >> 11);
        r.best_pos = -1;
        snprintf(r.name, sizeof r.name, "sim.%d", id % 10000000);
        return r;
    }
};

template <class T>
T* device_alloc(size_t n)
{
    T* p = nullptr;
    HANDLE_ERROR(cudaMalloc(&p, n * sizeof(T)));
    HANDLE_ERROR(cudaMemset(p, 0, n * sizeof(T)));
    return p;
}

} // namespace

int main(int argc, char* argv[])
{
    const int num_reads = argc > 1 ? atoi(argv[1]) : 1000000;
    const int ref_bases = argc > 2 ? atoi(argv[2]) : 16 << 20;
    const int reps      = 12;
    const int num_jobs  = num_reads * NUM_CANDS;
    const int num_bins  = ref_bases / BIN_BASES + 1;

    Simulator sim;
    std::vector<uint64_t> h_ref = sim.reference(ref_bases);
    std::vector<Read> h_reads(num_reads);
    std::vector<int> truth(num_reads);
    for (int i = 0; i < num_reads; ++i)
        h_reads[i] = sim.sample(h_ref, ref_bases, i, truth[i]);

    uint64_t*     d_ref   = device_alloc<uint64_t>(h_ref.size());
    Read*         d_reads = device_alloc<Read>(num_reads);
    AlignJob*     d_jobs  = device_alloc<AlignJob>(num_jobs);
    RefBin*       d_bins  = device_alloc<RefBin>(num_bins);
    unsigned int* d_hist  = device_alloc<unsigned int>(MAPQ_BINS);
    HANDLE_ERROR(cudaMemcpy(d_ref, h_ref.data(), h_ref.size() * 8, cudaMemcpyHostToDevice));
    HANDLE_ERROR(cudaMemcpy(d_reads, h_reads.data(), sizeof(Read) * num_reads, cudaMemcpyHostToDevice));

    GpuTimer timer;
    for (int rep = 0; rep <= reps; ++rep) {
        if (rep == 1)
            timer.start();
        HANDLE_ERROR(cudaMemsetAsync(d_bins, 0, sizeof(RefBin) * num_bins));
        HANDLE_ERROR(cudaMemsetAsync(d_hist, 0, sizeof(unsigned int) * MAPQ_BINS));
        screen_jobs<<<(num_jobs + 255) / 256, 256>>>(d_jobs, num_jobs, d_reads, d_ref);
        banded_score<<<(num_jobs + 127) / 128, 128>>>(d_jobs, num_jobs, d_reads, d_ref);
        choose_best<<<(num_reads + 255) / 256, 256>>>(d_reads, num_reads, d_jobs);
        pile_up<<<1024, 256>>>(d_reads, num_reads, d_bins, num_bins);
        mapq_hist<<<512, 256>>>(d_reads, num_reads, d_hist);
    }
    HANDLE_ERROR(cudaGetLastError());
    const float ms = timer.stop();

    std::vector<AlignJob> jobs(num_jobs);
    std::vector<RefBin> bins(num_bins);
    unsigned int hist[MAPQ_BINS];
    HANDLE_ERROR(cudaMemcpy(h_reads.data(), d_reads, sizeof(Read) * num_reads, cudaMemcpyDeviceToHost));
    HANDLE_ERROR(cudaMemcpy(jobs.data(), d_jobs, sizeof(AlignJob) * num_jobs, cudaMemcpyDeviceToHost));
    HANDLE_ERROR(cudaMemcpy(bins.data(), d_bins, sizeof(RefBin) * num_bins, cudaMemcpyDeviceToHost));
    HANDLE_ERROR(cudaMemcpy(hist, d_hist, sizeof hist, cudaMemcpyDeviceToHost));

    long long mapped = 0, correct = 0, score = 0, ident = 0, states[4] = {0, 0, 0, 0};
    long long bases = 0, mapq = 0, deepest = 0, hist_sum = 0, ends = 0;
    for (int i = 0; i < num_reads; ++i) {
        const Read& r = h_reads[i];
        if (r.best_pos < 0)
            continue;
        ++mapped;
        correct += abs(r.best_pos - truth[i]) <= BAND;
        score   += r.best_score;
        ident   += (long long)(r.identity * 10000.0f + 0.5f);
    }
    for (const AlignJob& j : jobs) {
        states[j.state]++;
        if (j.state == JOB_ALIGNED)
            ends += j.end_base * 3 + j.end_diag;
    }
    for (const RefBin& b : bins) {
        bases += b.bases;
        mapq  += b.mapq_sum;
        deepest = b.bases > deepest ? b.bases : deepest;
    }
    for (int q = 0; q < MAPQ_BINS; ++q)
        hist_sum += (long long)hist[q] * (q + 1);

    printf("check mapped %lld\n", mapped);
    printf("check correct %lld\n", correct);
    printf("check score %lld\n", score);
    printf("check identity %lld\n", ident);
    printf("check rejected %lld\n", states[JOB_REJECTED]);
    printf("check exact %lld\n", states[JOB_EXACT]);
    printf("check aligned %lld\n", states[JOB_ALIGNED]);
    printf("check ends %lld\n", ends);
    printf("check covered_bases %lld\n", bases);
    printf("check mapq %lld %lld\n", mapq, hist_sum);
    printf("check deepest_bin %lld\n", deepest);
    printf("time_ms %.4f\n", ms);

    cudaFree(d_ref);
    cudaFree(d_reads);
    cudaFree(d_jobs);
    cudaFree(d_bins);
    cudaFree(d_hist);
    return 0;
}
