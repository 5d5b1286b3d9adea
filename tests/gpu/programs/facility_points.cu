/*
 * Local search for the facility-location problem on weighted points: for
 * every candidate the gain of opening it is computed over all points, and
 * points are reassigned if opening it (and closing others) pays.
 */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

#define DIM 11
#define BLOCK_SIZE 256
#define MAX_CENTERS 64
#define FIXED 64.0f

struct Point {
    float weight;
    float cost;
    float new_cost;
    int assign;
    int moves;
    float coord[DIM];
};

struct Center {
    long long lower;    /* cost of closing it, fixed point */
    int point;
    int open;
    int close;
};

struct Search {
    long long gain;
    int accept;
    int opened;
};

#define cu(x) cu_check((x), __LINE__)
static void cu_check(cudaError_t e, int line)
{
    if (e != cudaSuccess) {
        fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(e));
        exit(1);
    }
}

__device__ float dist2(const Point *p, int i, const float *c)
{
    float s = 0.0f;
    for (int d = 0; d < DIM; d++) {
        float t = p[i].coord[d] - c[d];
        s += t * t;
    }
    return s;
}

__device__ void atomic_add_ll(long long *a, long long v)
{
    atomicAdd((unsigned long long *)a, (unsigned long long)v);
}

__global__ void reset_centers(Center *c, Search *s, int first)
{
    int k = threadIdx.x;
    c[k].lower = 0;
    c[k].point = k == 0 ? first : -1;
    c[k].open = k == 0;
    c[k].close = 0;
    if (k == 0) {
        s->gain = 0;
        s->accept = 0;
        s->opened = 0;
    }
}

__global__ void reset_points(Point *p, int n, int first)
{
    __shared__ float x[DIM];
    if (threadIdx.x < DIM)
        x[threadIdx.x] = p[first].coord[threadIdx.x];
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    p[i].cost = p[i].weight * dist2(p, i, x);
    p[i].assign = 0;
    p[i].moves = 0;
}

__global__ void gain_kernel(Point *p, int n, int cand, Center *c, Search *s)
{
    __shared__ float x[DIM];
    __shared__ int lower[MAX_CENTERS];     /* a block's sums fit an int */
    __shared__ int gain;
    int tid = threadIdx.x;
    if (tid < DIM)
        x[tid] = p[cand].coord[tid];
    if (tid < MAX_CENTERS)
        lower[tid] = 0;
    if (tid == 0)
        gain = 0;
    __syncthreads();

    int i = blockIdx.x * blockDim.x + tid;
    if (i < n) {
        float nc = p[i].weight * dist2(p, i, x);
        float delta = nc - p[i].cost;
        p[i].new_cost = nc;
        int f = (int)lrintf(delta * FIXED);
        if (delta < 0.0f)
            atomicAdd(&gain, -f);
        else
            atomicAdd(&lower[p[i].assign], f);
    }
    __syncthreads();
    if (tid < MAX_CENTERS && lower[tid] != 0)
        atomic_add_ll(&c[tid].lower, lower[tid]);
    if (tid == 0)
        atomic_add_ll(&s->gain, gain);
}

/* one block of MAX_CENTERS threads */
__global__ void decide_kernel(Center *c, Search *s, int cand, long long fee)
{
    __shared__ long long profit[MAX_CENTERS];
    int k = threadIdx.x;
    long long save = fee - c[k].lower;
    c[k].close = c[k].open && save > 0;
    profit[k] = c[k].close ? save : 0;
    __syncthreads();
    for (int w = MAX_CENTERS / 2; w > 0; w >>= 1) {
        if (k < w)
            profit[k] += profit[k + w];
        __syncthreads();
    }
    if (k == 0) {
        int slot = 0;
        while (slot < MAX_CENTERS && c[slot].open)
            slot++;
        s->accept = -1;
        if (slot < MAX_CENTERS && s->gain - fee + profit[0] > 0) {
            s->accept = slot;
            s->opened++;
        }
        s->gain = 0;
    }
    __syncthreads();
    int slot = s->accept;
    c[k].lower = 0;
    if (slot >= 0 && c[k].close)
        c[k].open = 0;
    if (k == slot) {
        c[k].open = 1;
        c[k].point = cand;
    }
}

__global__ void reassign_kernel(Point *p, int n, const Center *c, const Search *s)
{
    int slot = s->accept;
    if (slot < 0)
        return;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float nc = p[i].new_cost;
    if (nc < p[i].cost || c[p[i].assign].close) {
        p[i].cost = nc;
        p[i].assign = slot;
        p[i].moves++;
    }
}

static float frnd(void) { return (float)rand() / (float)RAND_MAX; }

static void search(Point *p, int n, Center *c, Search *s, const int *cand,
                   int ncand, long long fee)
{
    int grid = (n + BLOCK_SIZE - 1) / BLOCK_SIZE;
    reset_centers<<<1, MAX_CENTERS>>>(c, s, cand[0]);
    reset_points<<<grid, BLOCK_SIZE>>>(p, n, cand[0]);
    for (int k = 1; k < ncand; k++) {
        gain_kernel<<<grid, BLOCK_SIZE>>>(p, n, cand[k], c, s);
        decide_kernel<<<1, MAX_CENTERS>>>(c, s, cand[k], fee);
        reassign_kernel<<<grid, BLOCK_SIZE>>>(p, n, c, s);
    }
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1500000;
    int ncand = argc > 2 ? atoi(argv[2]) : 40;
    int reps = argc > 3 ? atoi(argv[3]) : 10;

    const int blobs = 24;
    float mean[blobs][DIM];
    srand(99);
    for (int b = 0; b < blobs; b++)
        for (int d = 0; d < DIM; d++)
            mean[b][d] = 4.0f * frnd();

    Point *h = (Point *)malloc((size_t)n * sizeof(Point));
    Center hc[MAX_CENTERS];
    Search hs;
    int *cand = (int *)malloc(ncand * sizeof(int));
    for (int i = 0; i < n; i++) {
        int b = rand() % blobs;
        h[i].weight = 0.5f + frnd();
        h[i].cost = h[i].new_cost = 0.0f;
        h[i].assign = 0;
        h[i].moves = 0;
        for (int d = 0; d < DIM; d++)
            h[i].coord[d] = mean[b][d] + 0.6f * (frnd() - 0.5f);
    }
    for (int k = 0; k < ncand; k++)
        cand[k] = (int)(((long long)rand() * 7919 + k) % n);
    long long fee = (long long)(FIXED * 0.05 * n);

    Point *dp; Center *dc; Search *ds;
    cu(cudaMalloc((void **)&dp, (size_t)n * sizeof(Point)));
    cu(cudaMalloc((void **)&dc, MAX_CENTERS * sizeof(Center)));
    cu(cudaMalloc((void **)&ds, sizeof(Search)));
    cu(cudaMemcpy(dp, h, (size_t)n * sizeof(Point), cudaMemcpyHostToDevice));

    search(dp, n, dc, ds, cand, ncand, fee);
    cu(cudaDeviceSynchronize());

    cudaEvent_t a, b;
    cu(cudaEventCreate(&a));
    cu(cudaEventCreate(&b));
    cu(cudaEventRecord(a));
    for (int r = 0; r < reps; r++)
        search(dp, n, dc, ds, cand, ncand, fee);
    cu(cudaEventRecord(b));
    cu(cudaEventSynchronize(b));
    float ms;
    cu(cudaEventElapsedTime(&ms, a, b));

    cu(cudaMemcpy(h, dp, (size_t)n * sizeof(Point), cudaMemcpyDeviceToHost));
    cu(cudaMemcpy(hc, dc, sizeof(hc), cudaMemcpyDeviceToHost));
    cu(cudaMemcpy(&hs, ds, sizeof(hs), cudaMemcpyDeviceToHost));
    double cost = 0, moves = 0;
    int open = 0, bad = 0;
    for (int k = 0; k < MAX_CENTERS; k++) open += hc[k].open;
    for (int i = 0; i < n; i++) {
        cost += h[i].cost;
        moves += h[i].moves;
        if (!hc[h[i].assign].open)
            bad++;
    }
    printf("check total_cost %.6g\n", cost);
    printf("check mean_moves %.4g\n", moves / n);
    printf("check open_centers %d\n", open);
    printf("check opened %d\n", hs.opened);
    printf("check badly_assigned %d\n", bad);
    printf("time_ms %.6f\n", ms / reps);
    cudaFree(dp); cudaFree(dc); cudaFree(ds);
    free(h); free(cand);
    return 0;
}
