// Motor/property portfolio: apply policy terms to claims, roll up loss triangles by
// line/region/development year, per-policy accumulation and repeat-claimant detection.
#include <stdio.h>
#include <stdlib.h>
#include <stdint.h>
#include <string.h>
#include <cuda_runtime.h>

static void check(cudaError_t e, int line)
{
    if (e == cudaSuccess) return;
    fprintf(stderr, "CUDA error %s at line %d\n", cudaGetErrorString(e), line);
    exit(1);
}
#define CHECK(call) check((call), __LINE__)

#define N_CLAIMS   3000000
#define N_POLICIES 400000
#define N_REGIONS  24
#define N_LINES    6
#define N_DEV      10
#define N_CELLS    (N_REGIONS * N_LINES * N_DEV)
#define HASH_SIZE  (1 << 21)
#define N_REPS     25

enum { ST_OPEN = 0, ST_PAID = 1, ST_DENIED = 2, ST_REOPENED = 3 };

typedef struct {
    int64_t grossCents;       /* reported amount                   */
    int64_t netCents;         /* after deductible / limit          */
    int64_t reserveCents;     /* case reserve                      */
    int     claimId;
    int     policy;
    unsigned claimant;        /* person key                        */
    float   severityScore;
    short   lossYear;
    short   reportYear;
    short   region;
    char    line;
    char    status;
    char    fraudFlag;
    char    adjuster[7];
} Claim;

typedef struct {
    int64_t deductible;
    int64_t limit;
    unsigned long long paid;  /* accumulated per policy            */
    float   coinsurance;      /* share carried by insured          */
    int     nClaims;
    int     holder;
    short   region;
    char    line;
    char    tier;
} Policy;

typedef struct {
    unsigned long long incurred;
    unsigned long long reserve;
    unsigned int       count;
    unsigned int       nFraud;
} TriangleCell;

typedef struct {
    unsigned int key;         /* 0 = empty */
    unsigned int count;
} ClaimantSlot;

__host__ __device__ static inline uint32_t mix32(uint32_t x)
{
    x = (x ^ (x >> 16)) * 0x7feb352dU;
    x = (x ^ (x >> 15)) * 0x846ca68bU;
    return x ^ (x >> 16);
}

__global__ void reset_policies(Policy *p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    p[i].paid = 0;
    p[i].nClaims = 0;
}

__global__ void apply_terms(Claim *claims, const Policy *policies, int n, int inflationBp)
{
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        Claim *c = &claims[i];
        if (c->status == ST_DENIED) { c->netCents = c->reserveCents = 0; continue; }
        const Policy *p = &policies[c->policy];
        int years = c->reportYear - c->lossYear;
        int64_t amount = c->grossCents;
        for (int y = 0; y < years; y++)
            amount += amount * inflationBp / 10000;
        amount -= p->deductible;
        if (amount < 0) amount = 0;
        if (amount > p->limit) amount = p->limit;
        int64_t insured = (int64_t)((double)amount * p->coinsurance);
        c->netCents = amount - insured;
        c->reserveCents = (c->status == ST_PAID) ? 0 : c->netCents / 3 + (int64_t)(c->severityScore * 1000.0f);
    }
}

__global__ void register_claimants(const Claim *claims, ClaimantSlot *table, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned key = claims[i].claimant;
    unsigned slot = mix32(key) & (HASH_SIZE - 1);
    while (1) {
        unsigned prev = atomicCAS(&table[slot].key, 0u, key);
        if (prev == 0u || prev == key) break;
        slot = (slot + 1) & (HASH_SIZE - 1);
    }
    atomicAdd(&table[slot].count, 1u);
}

__global__ void flag_repeat(Claim *claims, const ClaimantSlot *table, int n, unsigned threshold)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned key = claims[i].claimant;
    unsigned slot = mix32(key) & (HASH_SIZE - 1);
    while (table[slot].key != key) slot = (slot + 1) & (HASH_SIZE - 1);
    claims[i].fraudFlag = (table[slot].count >= threshold && claims[i].severityScore > 0.7f) ? 1 : 0;
}

__global__ void accumulate_policy(const Claim *claims, Policy *policies, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || claims[i].netCents == 0 || claims[i].fraudFlag) return;
    Policy *p = &policies[claims[i].policy];
    atomicAdd(&p->paid, (unsigned long long)claims[i].netCents);
    atomicAdd(&p->nClaims, 1);
}

/* one line of business per blockIdx.y, region x dev cells held in shared memory */
__global__ void build_triangle(const Claim *claims, TriangleCell *tri, int n)
{
    __shared__ TriangleCell local[N_REGIONS * N_DEV];
    int line = blockIdx.y;
    for (int k = threadIdx.x; k < N_REGIONS * N_DEV; k += blockDim.x)
        memset(&local[k], 0, sizeof(TriangleCell));
    __syncthreads();

    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        if (claims[i].line != line) continue;
        int dev = claims[i].reportYear - claims[i].lossYear;
        TriangleCell *cell = &local[claims[i].region * N_DEV + dev];
        atomicAdd(&cell->count, 1u);
        if (claims[i].fraudFlag) {
            atomicAdd(&cell->nFraud, 1u);
        } else {
            atomicAdd(&cell->incurred, (unsigned long long)claims[i].netCents);
            atomicAdd(&cell->reserve, (unsigned long long)claims[i].reserveCents);
        }
    }
    __syncthreads();

    for (int k = threadIdx.x; k < N_REGIONS * N_DEV; k += blockDim.x) {
        TriangleCell *g = &tri[line * N_REGIONS * N_DEV + k];
        if (local[k].count == 0) continue;
        atomicAdd(&g->count, local[k].count);
        atomicAdd(&g->nFraud, local[k].nFraud);
        atomicAdd(&g->incurred, local[k].incurred);
        atomicAdd(&g->reserve, local[k].reserve);
    }
}

int main(void)
{
    Claim *hc = (Claim *)calloc(N_CLAIMS, sizeof(Claim));
    Policy *hp = (Policy *)calloc(N_POLICIES, sizeof(Policy));
    TriangleCell *ht = (TriangleCell *)calloc(N_CELLS, sizeof(TriangleCell));
    for (int i = 0; i < N_POLICIES; i++) {
        uint32_t h = mix32(i * 3u + 17u);
        hp[i].deductible = 10000 + (h % 20) * 5000;
        hp[i].limit = 5000000 + (int64_t)((h >> 5) % 100) * 500000;
        hp[i].coinsurance = 0.05f * ((h >> 12) % 5);
        hp[i].holder = (int)(h >> 9);
        hp[i].region = (short)((h >> 16) % N_REGIONS); hp[i].line = (char)((h >> 21) % N_LINES);
        hp[i].tier = (char)((h >> 28) & 3);
    }
    for (int i = 0; i < N_CLAIMS; i++) {
        uint32_t a = mix32(2u * i + 1u), b = mix32(a ^ 0x9e3779b9u), c = mix32(b + 77u);
        hc[i].claimId = i;
        hc[i].policy = a % N_POLICIES;
        hc[i].claimant = 1u + b % 900000u;
        hc[i].grossCents = 5000 + (int64_t)(c % 10000u) * (c >> 20);
        hc[i].severityScore = (mix32(c) >> 8) * (1.0f / 16777216.0f);
        hc[i].lossYear = (short)(2008 + (a >> 20) % 8);
        hc[i].reportYear = (short)(hc[i].lossYear + ((b >> 22) * (c >> 22) >> 10) % N_DEV);
        hc[i].region = hp[hc[i].policy].region;
        hc[i].line = hp[hc[i].policy].line;
        hc[i].status = (char)((a >> 11) & 3);
        memcpy(hc[i].adjuster, "ADJ000", 6);
        hc[i].adjuster[5] = (char)('0' + i % 10);
    }

    Claim *dc; Policy *dp; TriangleCell *dt; ClaimantSlot *dh;
    CHECK(cudaMalloc((void **)&dc, N_CLAIMS * sizeof(Claim)));
    CHECK(cudaMalloc((void **)&dp, N_POLICIES * sizeof(Policy)));
    CHECK(cudaMalloc((void **)&dt, N_CELLS * sizeof(TriangleCell)));
    CHECK(cudaMalloc((void **)&dh, HASH_SIZE * sizeof(ClaimantSlot)));
    CHECK(cudaMemcpy(dc, hc, N_CLAIMS * sizeof(Claim), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(dp, hp, N_POLICIES * sizeof(Policy), cudaMemcpyHostToDevice));

    cudaEvent_t start, stop;
    CHECK(cudaEventCreate(&start)); CHECK(cudaEventCreate(&stop));
    const int T = 256, nb = (N_CLAIMS + T - 1) / T;
    for (int rep = 0; rep < N_REPS + 2; rep++) {
        if (rep == 2) CHECK(cudaEventRecord(start));
        CHECK(cudaMemsetAsync(dt, 0, N_CELLS * sizeof(TriangleCell)));
        CHECK(cudaMemsetAsync(dh, 0, HASH_SIZE * sizeof(ClaimantSlot)));
        reset_policies<<<(N_POLICIES + T - 1) / T, T>>>(dp, N_POLICIES);
        apply_terms<<<1056, T>>>(dc, dp, N_CLAIMS, 200 + rep * 5);
        register_claimants<<<nb, T>>>(dc, dh, N_CLAIMS);
        flag_repeat<<<nb, T>>>(dc, dh, N_CLAIMS, 6);
        accumulate_policy<<<nb, T>>>(dc, dp, N_CLAIMS);
        build_triangle<<<dim3(128, N_LINES), T>>>(dc, dt, N_CLAIMS);
        CHECK(cudaGetLastError());
    }
    CHECK(cudaEventRecord(stop));
    CHECK(cudaEventSynchronize(stop));
    float ms;
    CHECK(cudaEventElapsedTime(&ms, start, stop));
    CHECK(cudaMemcpy(hc, dc, N_CLAIMS * sizeof(Claim), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(hp, dp, N_POLICIES * sizeof(Policy), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(ht, dt, N_CELLS * sizeof(TriangleCell), cudaMemcpyDeviceToHost));
    double incurred = 0, reserve = 0, weighted = 0, paid = 0, fraud = 0;
    for (int k = 0; k < N_CELLS; k++) {
        incurred += (double)ht[k].incurred;
        reserve += (double)ht[k].reserve;
        weighted += (double)ht[k].count * (k % 97 + 1);
        fraud += ht[k].nFraud;
    }
    for (int i = 0; i < N_POLICIES; i++) paid += (double)hp[i].paid * (1.0 + (i & 7));
    printf("check incurred %.9g\n", incurred);
    printf("check reserve %.9g\n", reserve);
    printf("check count_weighted %.9g\n", weighted);
    printf("check policy_paid %.9g\n", paid);
    printf("check flagged %.9g\n", fraud);
    printf("time_ms %.5f\n", ms / N_REPS);
    cudaFree(dc); cudaFree(dp); cudaFree(dt); cudaFree(dh);
    free(hc); free(hp); free(ht);
    return 0;
}
