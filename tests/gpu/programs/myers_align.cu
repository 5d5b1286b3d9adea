// myers_align: verification stage of a short-read mapper. Bit-parallel edit
// distance (Myers 1999) of 64-base read records against candidate windows.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>

#define HANDLE(x) handle_error((x), #x)
static void handle_error(cudaError_t e, const char *expr) {
    if (e == cudaSuccess) return;
    fprintf(stderr, "%s -> %s\n", expr, cudaGetErrorString(e));
    exit(EXIT_FAILURE);
}

typedef unsigned long long u64;

const int WINDOW = 72;            // reference bases inspected per candidate
const int MAX_ERRORS = 7;
const u64 NO_HIT = ~0ULL;

struct ReadRec {                  // 2 bit-planes of up to 64 bases
    u64 lo, hi;
    u64 best;                     // (score << 40) | reference end position
    int length;
    int quality;
};

struct PeqRec {                   // match masks per base
    u64 mask[4];
    u64 top;
    int length;
    int limit;
};

struct RefBlock {                 // 64 reference bases
    u64 lo, hi;
    u64 unknown;                  // bases reported as N
    unsigned int coverage;
    int chromosome;
};

struct Candidate {
    int read;
    int position;
    short score;
    short diagonal;
    int next;                     // unused slot of the seed chain
};

__global__ void build_peq(const ReadRec *reads, PeqRec *peq, int num_reads) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= num_reads) return;
    const ReadRec rec = reads[r];
    u64 valid = rec.length == 64 ? ~0ULL : ((1ULL << rec.length) - 1);
    PeqRec out;
    out.mask[0] = ~rec.lo & ~rec.hi & valid;
    out.mask[1] = rec.lo & ~rec.hi & valid;
    out.mask[2] = ~rec.lo & rec.hi & valid;
    out.mask[3] = rec.lo & rec.hi & valid;
    out.top = 1ULL << (rec.length - 1);
    out.length = rec.length;
    out.limit = rec.quality > 20 ? MAX_ERRORS : MAX_ERRORS - 2;
    peq[r] = out;
}

// One thread per candidate; `order` optionally permutes the work list.
__global__ void align_candidates(Candidate *cands, const int *order, int num_cands,
                                 const PeqRec *__restrict__ peq, const RefBlock *__restrict__ ref,
                                 ReadRec *reads) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= num_cands) return;
    int id = order ? order[t] : t;
    const int read = cands[id].read;
    const int pos = cands[id].position;

    const PeqRec &p = peq[read];
    const u64 m0 = p.mask[0], m1 = p.mask[1], m2 = p.mask[2], m3 = p.mask[3];
    const u64 top = p.top;
    const int limit = p.limit;
    u64 Pv = ~0ULL, Mv = 0;
    int score = p.length, best = limit + 1, best_end = -1;

    int blk = pos >> 6, bit = pos & 63;
    u64 lo = ref[blk].lo >> bit, hi = ref[blk].hi >> bit, unk = ref[blk].unknown >> bit;
    for (int j = 0; j < WINDOW; ++j) {
        u64 Eq = (hi & 1) ? ((lo & 1) ? m3 : m2) : ((lo & 1) ? m1 : m0);
        if (unk & 1) Eq = 0;
        u64 Xv = Eq | Mv;
        u64 Xh = (((Eq & Pv) + Pv) ^ Pv) | Eq;
        u64 Ph = Mv | ~(Xh | Pv);
        u64 Mh = Pv & Xh;
        if (Ph & top) ++score;
        else if (Mh & top) --score;
        Ph <<= 1;
        Mh <<= 1;
        Pv = Mh | ~(Xv | Ph);
        Mv = Ph & Xv;
        if (score < best) { best = score; best_end = pos + j; }
        if (score - (WINDOW - 1 - j) >= best) break;     // cannot improve any more
        lo >>= 1; hi >>= 1; unk >>= 1;
        if (++bit == 64) {
            bit = 0;
            ++blk;
            lo = ref[blk].lo; hi = ref[blk].hi; unk = ref[blk].unknown;
        }
    }
    if (best_end >= 0) {
        cands[id].score = (short)best;
        cands[id].diagonal = (short)(best_end - pos);
        atomicMin(&reads[read].best, ((u64)best << 40) | (u64)best_end);
    } else {
        cands[id].score = -1;
        cands[id].diagonal = 0;
    }
}

// Mark coverage of the best location of each read.
__global__ void pile_up(const ReadRec *reads, RefBlock *ref, int num_reads, int num_blocks) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= num_reads) return;
    u64 best = reads[r].best;
    if (best == NO_HIT) return;
    int end = (int)(best & 0xFFFFFFFFFFULL);
    int b1 = end >> 6;
    int b0 = max(end - reads[r].length + 1, 0) >> 6;
    atomicAdd(&ref[b0].coverage, 1u);
    if (b1 != b0 && b1 < num_blocks) atomicAdd(&ref[b1].coverage, 1u);
}

// Histogram of candidate scores (streams one short per record).
__global__ void score_histogram(const Candidate *cands, int num_cands, unsigned int *hist) {
    __shared__ unsigned int local[16];
    if (threadIdx.x < 16) local[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < num_cands; i += gridDim.x * blockDim.x) {
        int s = cands[i].score;
        atomicAdd(&local[s < 0 ? 15 : min(s, 14)], 1u);
    }
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&hist[threadIdx.x], local[threadIdx.x]);
}

static u64 rng_s = 88172645463325252ULL;
static inline u64 xorshift() {
    rng_s ^= rng_s << 13; rng_s ^= rng_s >> 7; rng_s ^= rng_s << 17;
    return rng_s;
}

int main(int argc, char **argv) {
    const int num_reads = argc > 1 ? atoi(argv[1]) : 400000;
    const int num_blocks = argc > 2 ? std::max(atoi(argv[2]), 16) : 262144;   // 16.7 M bases
    const int per_read = 5;
    const int repeats = 5;
    const int num_cands = num_reads * per_read;
    const int last_start = num_blocks * 64 - 2 * WINDOW - 64;

    std::vector<RefBlock> ref(num_blocks);
    for (int b = 0; b < num_blocks; ++b) {
        ref[b].lo = xorshift();
        ref[b].hi = xorshift();
        ref[b].unknown = (b % 61 == 0) ? (xorshift() & xorshift() & xorshift()) : 0;
        ref[b].coverage = 0;
        ref[b].chromosome = b / (num_blocks / 8 + 1);
    }
    std::vector<ReadRec> reads(num_reads);
    std::vector<Candidate> cands(num_cands);
    for (int r = 0; r < num_reads; ++r) {
        int pos = (int)(xorshift() % (u64)last_start);
        int b = pos >> 6, s = pos & 63;
        u64 lo = ref[b].lo >> s, hi = ref[b].hi >> s;
        if (s) { lo |= ref[b + 1].lo << (64 - s); hi |= ref[b + 1].hi << (64 - s); }
        int errs = (int)(xorshift() % 6);
        for (int e = 0; e < errs; ++e) lo ^= 1ULL << (xorshift() & 63);   // substitutions
        if (r % 4 == 0) {                                                 // one deletion
            int at = 8 + (int)(xorshift() % 40);
            u64 keep = (1ULL << at) - 1;
            lo = (lo & keep) | ((lo >> 1) & ~keep);
            hi = (hi & keep) | ((hi >> 1) & ~keep);
        }
        ReadRec &rec = reads[r];
        rec.lo = lo; rec.hi = hi;
        rec.best = NO_HIT;
        rec.length = 56 + (int)(xorshift() % 9);
        rec.quality = (int)(xorshift() % 40);
        for (int c = 0; c < per_read; ++c) {
            Candidate &cd = cands[r * per_read + c];
            cd.read = r;
            int p = c == r % per_read ? pos - (int)(xorshift() % 4) : (int)(xorshift() % (u64)last_start);
            cd.position = std::max(p, 0);
            cd.score = -1;
            cd.diagonal = 0;
            cd.next = -1;
        }
    }
    std::vector<int> order(num_cands);      // candidates as delivered by a seed hash: by position bucket
    {
        const int nb = 4096;
        std::vector<int> start(nb + 1, 0);
        auto bucket = [&](int i) { return (int)((long long)cands[i].position * nb / ((long long)num_blocks * 64)); };
        for (int i = 0; i < num_cands; ++i) start[bucket(i) + 1]++;
        for (int b = 0; b < nb; ++b) start[b + 1] += start[b];
        for (int i = 0; i < num_cands; ++i) order[start[bucket(i)]++] = i;
    }

    ReadRec *d_reads; PeqRec *d_peq; RefBlock *d_ref; Candidate *d_cands; int *d_order; unsigned int *d_hist;
    HANDLE(cudaMalloc(&d_reads, num_reads * sizeof(ReadRec)));
    HANDLE(cudaMalloc(&d_peq, num_reads * sizeof(PeqRec)));
    HANDLE(cudaMalloc(&d_ref, num_blocks * sizeof(RefBlock)));
    HANDLE(cudaMalloc(&d_cands, num_cands * sizeof(Candidate)));
    HANDLE(cudaMalloc(&d_order, num_cands * sizeof(int)));
    HANDLE(cudaMalloc(&d_hist, 16 * sizeof(unsigned int)));
    HANDLE(cudaMemcpy(d_reads, reads.data(), num_reads * sizeof(ReadRec), cudaMemcpyHostToDevice));
    HANDLE(cudaMemcpy(d_ref, ref.data(), num_blocks * sizeof(RefBlock), cudaMemcpyHostToDevice));
    HANDLE(cudaMemcpy(d_cands, cands.data(), num_cands * sizeof(Candidate), cudaMemcpyHostToDevice));
    HANDLE(cudaMemcpy(d_order, order.data(), num_cands * sizeof(int), cudaMemcpyHostToDevice));
    HANDLE(cudaMemset(d_hist, 0, 16 * sizeof(unsigned int)));

    const int tpb = 128;
    const int rb = (num_reads + tpb - 1) / tpb, cb = (num_cands + tpb - 1) / tpb;
    cudaEvent_t beg, end;
    HANDLE(cudaEventCreate(&beg));
    HANDLE(cudaEventCreate(&end));
    HANDLE(cudaEventRecord(beg));
    for (int it = 0; it < repeats; ++it) {
        build_peq<<<rb, tpb>>>(d_reads, d_peq, num_reads);
        // odd rounds follow the bucketed order, even rounds go read by read
        align_candidates<<<cb, tpb>>>(d_cands, (it & 1) ? d_order : nullptr, num_cands, d_peq, d_ref, d_reads);
        pile_up<<<rb, tpb>>>(d_reads, d_ref, num_reads, num_blocks);
        score_histogram<<<512, 256>>>(d_cands, num_cands, d_hist);
    }
    HANDLE(cudaEventRecord(end));
    HANDLE(cudaEventSynchronize(end));
    HANDLE(cudaGetLastError());
    float ms = 0;
    HANDLE(cudaEventElapsedTime(&ms, beg, end));

    unsigned int hist[16];
    HANDLE(cudaMemcpy(reads.data(), d_reads, num_reads * sizeof(ReadRec), cudaMemcpyDeviceToHost));
    HANDLE(cudaMemcpy(ref.data(), d_ref, num_blocks * sizeof(RefBlock), cudaMemcpyDeviceToHost));
    HANDLE(cudaMemcpy(cands.data(), d_cands, num_cands * sizeof(Candidate), cudaMemcpyDeviceToHost));
    HANDLE(cudaMemcpy(hist, d_hist, sizeof(hist), cudaMemcpyDeviceToHost));
    u64 mapped = 0, score = 0, where = 0, cover = 0, diag = 0, hh = 0;
    for (const ReadRec &r : reads)
        if (r.best != NO_HIT) { ++mapped; score += r.best >> 40; where += r.best & 0xFFFFFFFFFFULL; }
    for (size_t b = 0; b < ref.size(); ++b) cover += (u64)ref[b].coverage * (b % 13 + 1);
    for (const Candidate &c : cands) diag += c.diagonal;
    for (int i = 0; i < 16; ++i) hh += (u64)hist[i] * (i + 1);
    printf("check mapped %llu\n", mapped);
    printf("check edit_distance %llu\n", score);
    printf("check positions %llu\n", where);
    printf("check coverage %llu\n", cover);
    printf("check diagonals %llu\n", diag);
    printf("check histogram %llu\n", hh);
    printf("time_ms %.4f\n", ms);
    cudaFree(d_reads); cudaFree(d_peq); cudaFree(d_ref); cudaFree(d_cands); cudaFree(d_order); cudaFree(d_hist);
    return 0;
}
