/* A customer table queried three ways: totals by region, an age histogram of
 * a filtered segment, and a campaign that marks customers and adjusts scores. */
#include <stdio.h>
#include <stdlib.h>
#include <cuda_runtime.h>

#define REGIONS 32
#define AGES    128

struct Customer {
    unsigned int   id;
    int            balance;        /* cents */
    int            turnover;       /* cents, last year */
    unsigned short branch;
    short          score;
    unsigned char  age;
    unsigned char  region;
    unsigned char  segment;
    unsigned char  flags;
    unsigned char  products[6];
    short          daysIdle;
    float          discount;
};

struct RegionTotal {
    unsigned long long balance;
    unsigned int       customers;
    int                bestScore;
};

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { \
    fprintf(stderr, "error: %s (%s)\n", cudaGetErrorString(e), #x); exit(1); } } while (0)

/* SELECT region, SUM(balance), COUNT(*), MAX(score) WHERE balance > 0 AND idle < x */
__global__ void totalsByRegion(const struct Customer *t, int n, int maxIdle,
                               struct RegionTotal *out)
{
    __shared__ unsigned long long sBal[REGIONS];
    __shared__ unsigned int sCnt[REGIONS];
    __shared__ int sBest[REGIONS];
    if (threadIdx.x < REGIONS) {
        sBal[threadIdx.x] = 0;
        sCnt[threadIdx.x] = 0;
        sBest[threadIdx.x] = 0;
    }
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        if (t[i].balance > 0 && t[i].daysIdle < maxIdle) {
            int r = t[i].region;
            atomicAdd(&sBal[r], (unsigned long long)t[i].balance);
            atomicAdd(&sCnt[r], 1u);
            atomicMax(&sBest[r], (int)t[i].score);
        }
    }
    __syncthreads();
    if (threadIdx.x < REGIONS) {
        atomicAdd(&out[threadIdx.x].balance, sBal[threadIdx.x]);
        atomicAdd(&out[threadIdx.x].customers, sCnt[threadIdx.x]);
        atomicMax(&out[threadIdx.x].bestScore, sBest[threadIdx.x]);
    }
}

/* SELECT age, COUNT(*) WHERE segment = s AND (flags & mask) AND any product = p */
__global__ void ageHistogram(const struct Customer *t, int n, unsigned char segment,
                             unsigned char mask, unsigned char product, unsigned int *hist)
{
    __shared__ unsigned int local[AGES];
    for (int k = threadIdx.x; k < AGES; k += blockDim.x) local[k] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        if (t[i].segment != segment) continue;
        if (!(t[i].flags & mask)) continue;
        int has = 0;
        for (int k = 0; k < 6; k++) has |= (t[i].products[k] == product);
        if (has) atomicAdd(&local[t[i].age & (AGES - 1)], 1u);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < AGES; k += blockDim.x)
        if (local[k]) atomicAdd(&hist[k], local[k]);
}

/* UPDATE SET score, flags, discount WHERE turnover > limit AND age BETWEEN lo AND hi */
__global__ void campaign(struct Customer *t, int n, int limit, int lo, int hi)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (t[i].age < lo || t[i].age > hi || t[i].turnover <= limit) return;
    int s = t[i].score + 3;
    t[i].score = (short)(s > 1000 ? s - 1000 : s);
    t[i].flags ^= 4;
    t[i].discount = 0.5f * t[i].discount + 0.25f;
}

static unsigned int lcg(unsigned int *s)
{
    *s = *s * 1664525u + 1013904223u;
    return *s >> 8;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 8000000;
    size_t size = (size_t)n * sizeof(struct Customer);
    struct Customer *table = (struct Customer *)malloc(size);
    if (table == NULL) return 1;
    unsigned int seed = 12345;
    for (int i = 0; i < n; i++) {
        struct Customer *c = table + i;
        unsigned int a = lcg(&seed), b = lcg(&seed);
        c->id = 1000000u + i;
        c->balance = (int)(lcg(&seed) % 1000000u) - 200000;
        c->turnover = (int)(lcg(&seed) % 5000000u);
        c->branch = (unsigned short)(a % 700u);
        c->score = (short)(b % 1000u);
        c->age = (unsigned char)(18 + (a >> 10) % 80u);
        c->region = (unsigned char)((b >> 10) % REGIONS);
        c->segment = (unsigned char)((a >> 4) % 8u);
        c->flags = (unsigned char)(b & 0xff);
        for (int k = 0; k < 6; k++) c->products[k] = (unsigned char)(((a >> (2 * k)) + k * b) % 24u);
        c->daysIdle = (short)((a + b) % 400u);
        c->discount = 0.0f;
    }

    struct Customer *d_table;
    struct RegionTotal *d_totals;
    unsigned int *d_hist;
    CHECK(cudaMalloc((void **)&d_table, size));
    CHECK(cudaMalloc((void **)&d_totals, REGIONS * sizeof(struct RegionTotal)));
    CHECK(cudaMalloc((void **)&d_hist, AGES * sizeof(unsigned int)));
    CHECK(cudaMemcpy(d_table, table, size, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(d_totals, 0, REGIONS * sizeof(struct RegionTotal)));
    CHECK(cudaMemset(d_hist, 0, AGES * sizeof(unsigned int)));

    int grid = 132 * 8, full = (n + 511) / 512, steps = 30;
    cudaEvent_t start, stop;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    for (int s = 0; s <= steps; s++) {
        if (s == 1) {                       /* step 0 was the warm-up */
            CHECK(cudaDeviceSynchronize());
            CHECK(cudaEventRecord(start));
        }
        totalsByRegion<<<grid, 256>>>(d_table, n, 100 + 5 * s, d_totals);
        ageHistogram<<<grid, 256>>>(d_table, n, s % 8, 1 << (s % 5), s % 24, d_hist);
        campaign<<<full, 512>>>(d_table, n, 2000000 + 50000 * s, 20 + s, 40 + s);
        CHECK(cudaGetLastError());
    }
    CHECK(cudaEventRecord(stop));
    CHECK(cudaEventSynchronize(stop));
    float ms;
    CHECK(cudaEventElapsedTime(&ms, start, stop));

    struct RegionTotal totals[REGIONS];
    unsigned int hist[AGES];
    CHECK(cudaMemcpy(totals, d_totals, sizeof totals, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(hist, d_hist, sizeof hist, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(table, d_table, size, cudaMemcpyDeviceToHost));
    unsigned long long check = 0;
    for (int r = 0; r < REGIONS; r++)
        check = check * 31 + totals[r].balance + totals[r].customers * 7ull + totals[r].bestScore;
    for (int k = 0; k < AGES; k++) check = check * 33 + hist[k];
    for (int i = 0; i < n; i++)
        check += (unsigned long long)(table[i].score + table[i].flags * 3 + (int)(table[i].discount * 1024.0f)) * (1 + i % 11);
    printf("time_ms %.5f\n", ms / steps);
    printf("check %llu\n", check);
    free(table);
    cudaFree(d_table); cudaFree(d_totals); cudaFree(d_hist);
    return 0;
}
