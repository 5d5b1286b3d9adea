/*
 * pileup_caller.cu
 *
 * Toy germline SNV caller.  Aligned reads (2-bit bases, 4-bit binned
 * qualities, at most one deletion each) are piled up per reference position,
 * diploid genotypes are called from integer phred likelihoods, calls in dense
 * clusters or with strand bias are filtered and the survivors compacted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cuda_runtime.h>

#define GENOME_LEN   (1 << 20)
#define NUM_READS    160000
#define MAX_READ_LEN 112
#define SEQ_WORDS    (MAX_READ_LEN / 16)
#define MIN_MAPQ     20
#define FLAG_REVERSE 1
#define FLAG_DUP     2
#define WIN          16
#define FILTER_TPB   256
#define MAX_VARIANTS 65536
#define STEPS        30

#define gpuErr(x) do { cudaError_t e__ = (x); if (e__ != cudaSuccess) { \
    fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e__)); exit(1); } } while (0)

typedef struct read_s {
    int            pos;
    unsigned short len;
    unsigned char  mapq;
    unsigned char  flags;
    short          del_at;                  /* read offset, -1 if none */
    short          del_len;
    unsigned int   seq[SEQ_WORDS];
    unsigned char  qual[MAX_READ_LEN / 2];  /* two 4-bit bins per byte */
} read_t;

typedef struct column_s {
    unsigned int   count[4];
    unsigned int   qsum[4];
    unsigned int   fwd[4];
    unsigned int   mapq_sum;
    unsigned short reserved;
    unsigned char  ref;
    unsigned char  mask;                    /* low-complexity region */
    unsigned int   ndel;
} column_t;

typedef struct call_s {
    int            pos;
    int            pl[3];
    float          strand_bias;
    unsigned short depth;
    unsigned short alt_depth;
    unsigned char  ref;
    unsigned char  alt;
    unsigned char  gt;                      /* 0 ref, 1 het, 2 hom alt */
    unsigned char  filter;                  /* bit 0 cluster, 1 bias, 2 depth, 3 masked */
} call_t;

typedef struct variant_s {
    int            pos;
    int            qual;
    unsigned short depth;
    unsigned char  gt;
    unsigned char  alt;
} variant_t;

/* ---------------------------------------------------------------- device */

__global__ void clear_columns(column_t *cols, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int b = 0; b < 4; ++b) {
        cols[i].count[b] = 0;
        cols[i].qsum[b] = 0;
        cols[i].fwd[b] = 0;
    }
    cols[i].mapq_sum = 0;
    cols[i].ndel = 0;
}

/* one thread walks one read */
__global__ void pileup(const read_t *reads, int nreads, column_t *cols, int glen)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= nreads) return;
    const read_t *rd = &reads[r];
    if (rd->mapq < MIN_MAPQ || (rd->flags & FLAG_DUP)) return;

    const int len = rd->len;
    const int del_at = rd->del_at;
    const unsigned int mapq = rd->mapq;
    const int reverse = rd->flags & FLAG_REVERSE;
    int pos = rd->pos;
    unsigned int word = 0;
    for (int k = 0; k < len; ++k) {
        if ((k & 15) == 0) word = rd->seq[k >> 4];
        if (k == del_at) {
            for (int d = 0; d < rd->del_len; ++d, ++pos)
                if (pos < glen) atomicAdd(&cols[pos].ndel, 1u);
        }
        if (pos >= glen) break;
        const unsigned int base = word & 3u;
        word >>= 2;
        unsigned int q = (k & 1) ? (rd->qual[k >> 1] >> 4) : (rd->qual[k >> 1] & 15u);
        q *= 3;
        if (q >= 9) {
            atomicAdd(&cols[pos].count[base], 1u);
            atomicAdd(&cols[pos].qsum[base], q);
            if (!reverse) atomicAdd(&cols[pos].fwd[base], 1u);
            if ((k & 7) == 0) atomicAdd(&cols[pos].mapq_sum, mapq);
        }
        ++pos;
    }
}

__global__ void call_genotypes(const column_t *cols, call_t *calls, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const column_t *c = &cols[i];
    const int ref = c->ref;
    int alt = -1;
    unsigned int best = 0, depth = 0;
#pragma unroll
    for (int b = 0; b < 4; ++b) {
        depth += c->count[b];
        if (b != ref && c->qsum[b] > best) {
            best = c->qsum[b];
            alt = b;
        }
    }
    call_t *o = &calls[i];
    o->pos = i;
    o->depth = (unsigned short)min(depth, 65535u);
    o->ref = (unsigned char)ref;
    if (alt < 0) {
        o->pl[0] = 0;
        o->pl[1] = 3010 * (int)depth;
        o->pl[2] = 1000 * (int)c->qsum[ref];
        o->strand_bias = 0.0f;
        o->alt_depth = 0;
        o->alt = (unsigned char)ref;
        o->gt = 0;
        o->filter = 0;
        return;
    }
    const int nref = (int)c->count[ref], nalt = (int)c->count[alt];
    /* milli-phred costs, prior of 30 / 33 phred against variants */
    int pl0 = 1000 * (int)c->qsum[alt];
    int pl1 = 3010 * (nref + nalt) + 30000;
    int pl2 = 1000 * (int)c->qsum[ref] + 33000;
    int lo = min(pl0, min(pl1, pl2));
    o->pl[0] = pl0 - lo;
    o->pl[1] = pl1 - lo;
    o->pl[2] = pl2 - lo;
    o->gt = (unsigned char)(pl0 == lo ? 0 : (pl1 == lo ? 1 : 2));
    o->alt = (unsigned char)alt;
    o->alt_depth = (unsigned short)min(nalt, 65535);

    /* symmetric odds ratio with pseudo counts */
    float rf = c->fwd[ref] + 1.0f, rr = nref - (float)c->fwd[ref] + 1.0f;
    float af = c->fwd[alt] + 1.0f, ar = nalt - (float)c->fwd[alt] + 1.0f;
    float odds = (rf * ar) / (rr * af);
    o->strand_bias = odds + 1.0f / odds;

    unsigned char filt = 0;
    if (nalt >= 4 && (c->fwd[alt] == 0 || (int)c->fwd[alt] == nalt)) filt |= 2;
    if (depth < 6 || depth > 60) filt |= 4;
    if (c->mask || c->ndel * 2 > depth) filt |= 8;
    o->filter = filt;
}

/* flags calls with more than two other non-reference calls within WIN bases */
__global__ void cluster_filter(call_t *calls, int n)
{
    __shared__ unsigned char gt[FILTER_TPB + 2 * WIN];
    const int base = blockIdx.x * FILTER_TPB - WIN;
    for (int k = threadIdx.x; k < FILTER_TPB + 2 * WIN; k += FILTER_TPB) {
        int p = base + k;
        gt[k] = (p >= 0 && p < n) ? calls[p].gt : 0;
    }
    __syncthreads();
    const int i = blockIdx.x * FILTER_TPB + threadIdx.x;
    if (i >= n || gt[threadIdx.x + WIN] == 0) return;
    int others = -1;
    for (int k = 0; k <= 2 * WIN; ++k) others += gt[threadIdx.x + k] != 0;
    if (others > 2) calls[i].filter |= 1;
}

__global__ void compact_calls(const call_t *calls, int n, variant_t *out, int *nout)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        if (calls[i].gt == 0 || calls[i].filter != 0) continue;
        int slot = atomicAdd(nout, 1);
        if (slot >= MAX_VARIANTS) continue;
        out[slot].pos = calls[i].pos;
        out[slot].qual = calls[i].pl[0];
        out[slot].depth = calls[i].depth;
        out[slot].gt = calls[i].gt;
        out[slot].alt = calls[i].alt;
    }
}

/* ------------------------------------------------------------------ host */

static unsigned int rng_state = 20190807u;

static unsigned int rnd(void)
{
    rng_state = rng_state * 1664525u + 1013904223u;
    unsigned int x = rng_state;
    x ^= x >> 16;
    x *= 0x45d9f3bu;
    x ^= x >> 16;
    return x;
}

static int cmp_read(const void *a, const void *b)
{
    const read_t *x = (const read_t *)a, *y = (const read_t *)b;
    return (x->pos > y->pos) - (x->pos < y->pos);
}

static void simulate(column_t *cols, unsigned char *hap1, unsigned char *hap2, read_t *reads, int *truth)
{
    int i, k;
    *truth = 0;
    for (i = 0; i < GENOME_LEN; ++i) {
        unsigned int x = rnd();
        unsigned char b = (unsigned char)(x & 3u);
        cols[i].ref = b;
        cols[i].mask = (unsigned char)((i / 500) % 97 == 13);
        hap1[i] = hap2[i] = b;
        if ((x >> 8) % 800u == 0) {
            unsigned int y = rnd();
            unsigned char a = (unsigned char)((b + 1 + y % 3u) & 3u);
            ++*truth;
            if ((y >> 8) % 3u == 0) hap1[i] = hap2[i] = a;
            else if ((y >> 8) & 4u) hap1[i] = a;
            else hap2[i] = a;
        }
    }
    for (i = 0; i < NUM_READS; ++i) {
        read_t *r = &reads[i];
        const unsigned char *hap = (rnd() & 16u) ? hap1 : hap2;
        r->len = (unsigned short)(90 + rnd() % 21u);
        r->pos = (int)(rnd() % (GENOME_LEN - MAX_READ_LEN - 8));
        r->mapq = (unsigned char)(rnd() % 20u == 0 ? 5 : 30 + rnd() % 31u);
        r->flags = (unsigned char)((rnd() & 64u) ? FLAG_REVERSE : 0);
        if (rnd() % 33u == 0) r->flags |= FLAG_DUP;
        r->del_at = -1;
        if (rnd() % 50u == 0) {
            r->del_at = (short)(10 + rnd() % 60u);
            r->del_len = (short)(1 + rnd() % 4u);
        }
        int p = r->pos;
        for (k = 0; k < r->len; ++k, ++p) {
            if (k == r->del_at) p += r->del_len;
            unsigned int b = hap[p];
            unsigned int q = 8 + rnd() % 6u;
            if (rnd() % 200u == 0) {
                b = (b + 1 + rnd() % 3u) & 3u;
                q = 1 + rnd() % 6u;
            }
            r->seq[k >> 4] |= b << (2 * (k & 15));
            r->qual[k >> 1] |= (unsigned char)(q << (4 * (k & 1)));
        }
    }
    qsort(reads, NUM_READS, sizeof(read_t), cmp_read);
}

int main(void)
{
    column_t *h_cols = (column_t *)calloc(GENOME_LEN, sizeof(column_t));
    call_t *h_calls = (call_t *)malloc(GENOME_LEN * sizeof(call_t));
    read_t *h_reads = (read_t *)calloc(NUM_READS, sizeof(read_t));
    variant_t *h_var = (variant_t *)malloc(MAX_VARIANTS * sizeof(variant_t));
    unsigned char *hap1 = (unsigned char *)malloc(GENOME_LEN);
    unsigned char *hap2 = (unsigned char *)malloc(GENOME_LEN);
    int truth = 0;
    simulate(h_cols, hap1, hap2, h_reads, &truth);

    column_t *d_cols;
    call_t *d_calls;
    read_t *d_reads;
    variant_t *d_var;
    int *d_nvar;
    gpuErr(cudaMalloc((void **)&d_cols, GENOME_LEN * sizeof(column_t)));
    gpuErr(cudaMalloc((void **)&d_calls, GENOME_LEN * sizeof(call_t)));
    gpuErr(cudaMalloc((void **)&d_reads, NUM_READS * sizeof(read_t)));
    gpuErr(cudaMalloc((void **)&d_var, MAX_VARIANTS * sizeof(variant_t)));
    gpuErr(cudaMalloc((void **)&d_nvar, sizeof(int)));
    gpuErr(cudaMemcpy(d_cols, h_cols, GENOME_LEN * sizeof(column_t), cudaMemcpyHostToDevice));
    gpuErr(cudaMemcpy(d_reads, h_reads, NUM_READS * sizeof(read_t), cudaMemcpyHostToDevice));
    gpuErr(cudaMemset(d_calls, 0, GENOME_LEN * sizeof(call_t)));
    gpuErr(cudaMemset(d_var, 0, MAX_VARIANTS * sizeof(variant_t)));

    cudaEvent_t ev0, ev1;
    gpuErr(cudaEventCreate(&ev0));
    gpuErr(cudaEventCreate(&ev1));

    const int gblocks = (GENOME_LEN + 255) / 256;
    int nvar = 0;
    for (int step = -1; step < STEPS; ++step) {
        if (step == 0) gpuErr(cudaEventRecord(ev0, 0));
        gpuErr(cudaMemsetAsync(d_nvar, 0, sizeof(int), 0));
        clear_columns<<<gblocks, 256>>>(d_cols, GENOME_LEN);
        pileup<<<(NUM_READS + 127) / 128, 128>>>(d_reads, NUM_READS, d_cols, GENOME_LEN);
        call_genotypes<<<gblocks, 256>>>(d_cols, d_calls, GENOME_LEN);
        cluster_filter<<<(GENOME_LEN + FILTER_TPB - 1) / FILTER_TPB, FILTER_TPB>>>(d_calls, GENOME_LEN);
        compact_calls<<<1024, 256>>>(d_calls, GENOME_LEN, d_var, d_nvar);
        if (step < 0) {
            gpuErr(cudaGetLastError());
            gpuErr(cudaMemcpy(&nvar, d_nvar, sizeof(int), cudaMemcpyDeviceToHost));
            if (nvar <= 0 || nvar > MAX_VARIANTS) {
                fprintf(stderr, "implausible number of variants: %d\n", nvar);
                return 1;
            }
        }
    }
    gpuErr(cudaEventRecord(ev1, 0));
    gpuErr(cudaEventSynchronize(ev1));
    gpuErr(cudaGetLastError());
    float ms = 0.0f;
    gpuErr(cudaEventElapsedTime(&ms, ev0, ev1));

    gpuErr(cudaMemcpy(&nvar, d_nvar, sizeof(int), cudaMemcpyDeviceToHost));
    gpuErr(cudaMemcpy(h_cols, d_cols, GENOME_LEN * sizeof(column_t), cudaMemcpyDeviceToHost));
    gpuErr(cudaMemcpy(h_calls, d_calls, GENOME_LEN * sizeof(call_t), cudaMemcpyDeviceToHost));
    gpuErr(cudaMemcpy(h_var, d_var, MAX_VARIANTS * sizeof(variant_t), cudaMemcpyDeviceToHost));

    long long depth = 0, qual = 0, fwd = 0, ndel = 0, mapq = 0;
    long long gts[3] = {0, 0, 0}, filtered = 0, pls = 0;
    double bias = 0.0;
    for (int i = 0; i < GENOME_LEN; ++i) {
        for (int b = 0; b < 4; ++b) {
            depth += h_cols[i].count[b];
            qual += h_cols[i].qsum[b];
            fwd += h_cols[i].fwd[b];
        }
        ndel += h_cols[i].ndel;
        mapq += h_cols[i].mapq_sum;
        gts[h_calls[i].gt]++;
        filtered += h_calls[i].filter != 0;
        pls += h_calls[i].pl[0] / 1000 + h_calls[i].pl[1] / 1000 + h_calls[i].pl[2] / 1000;
        bias += h_calls[i].strand_bias;
    }
    long long vpos = 0, vqual = 0, correct = 0;
    for (int v = 0; v < nvar && v < MAX_VARIANTS; ++v) {
        vpos += h_var[v].pos;
        vqual += h_var[v].qual;
        int p = h_var[v].pos;
        int hom = hap1[p] == hap2[p];
        if (h_var[v].alt == hap1[p] || h_var[v].alt == hap2[p])
            correct += h_var[v].gt == (hom ? 2 : 1);
    }
    printf("check depth %lld\n", depth);
    printf("check quality %lld\n", qual);
    printf("check forward %lld\n", fwd);
    printf("check deletions %lld\n", ndel);
    printf("check mapq %lld\n", mapq);
    printf("check genotypes %lld/%lld/%lld\n", gts[0], gts[1], gts[2]);
    printf("check filtered %lld\n", filtered);
    printf("check pl_sum %lld\n", pls);
    printf("check strand_bias %.3e\n", bias);
    printf("check variants %d\n", nvar);
    printf("check variant_pos %lld\n", vpos);
    printf("check variant_qual %lld\n", vqual);
    printf("check correct_of_truth %lld/%d\n", correct, truth);
    printf("time_ms %.5f\n", ms / STEPS);

    cudaFree(d_cols);
    cudaFree(d_calls);
    cudaFree(d_reads);
    cudaFree(d_var);
    cudaFree(d_nvar);
    free(h_cols);
    free(h_calls);
    free(h_reads);
    free(h_var);
    free(hap1);
    free(hap2);
    return 0;
}
