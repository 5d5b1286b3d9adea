/*
 * Jacobi-preconditioned conjugate gradients on a sparse symmetric matrix
 * whose rows are lists of {column, value} entries; the vectors are fields
 * of the row records.
 */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

#define WARP 32
#define BLOCK_SIZE 256
#define DOT_BLOCKS 512

typedef struct {
    int col;
    float value;
} entry_t;

typedef struct {
    int start;
    int length;
    float diag;
    float b;
    float x;
    float r;
    float z;
    float p;
    float q;
} row_t;

typedef struct {
    double pq;
    double rz;
    double rz_old;
    double alpha;
    double beta;
} scalars_t;

static void ck(cudaError_t e, int line)
{
    if (e != cudaSuccess) {
        fprintf(stderr, "line %d: CUDA: %s\n", line, cudaGetErrorString(e));
        exit(1);
    }
}
#define CK(x) ck((x), __LINE__)

__device__ double block_sum(double v)
{
    __shared__ double s[BLOCK_SIZE];
    int t = threadIdx.x;
    s[t] = v;
    __syncthreads();
    for (int w = BLOCK_SIZE / 2; w > 0; w >>= 1) {
        if (t < w)
            s[t] += s[t + w];
        __syncthreads();
    }
    return s[0];
}

__global__ void start_kernel(row_t *row, int n, scalars_t *sc)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0) {
        sc->rz_old = 0.0;
        sc->beta = 0.0;
    }
    if (i >= n)
        return;
    row[i].x = 0.0f;
    row[i].r = row[i].b;
    row[i].z = row[i].b / row[i].diag;
    row[i].p = 0.0f;
}

/* q = A p, eight lanes per row */
__global__ void spmv_kernel(row_t *row, int n, const entry_t *a)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int i = t / 8, lane = t % 8;
    float sum = 0.0f;
    if (i < n) {
        int last = row[i].start + row[i].length;
        for (int k = row[i].start + lane; k < last; k += 8)
            sum += a[k].value * row[a[k].col].p;
    }
    sum += __shfl_down_sync(0xffffffffu, sum, 4, 8);
    sum += __shfl_down_sync(0xffffffffu, sum, 2, 8);
    sum += __shfl_down_sync(0xffffffffu, sum, 1, 8);
    if (i < n && lane == 0)
        row[i].q = sum + row[i].diag * row[i].p;
}

__global__ void dot_pq_kernel(const row_t *row, int n, double *part)
{
    double s = 0.0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        s += (double)row[i].p * row[i].q;
    s = block_sum(s);
    if (threadIdx.x == 0)
        part[blockIdx.x] = s;
}

__global__ void dot_rz_kernel(const row_t *row, int n, double *part)
{
    double s = 0.0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        s += (double)row[i].r * row[i].z;
    s = block_sum(s);
    if (threadIdx.x == 0)
        part[blockIdx.x] = s;
}

/* one block; what = 0: alpha from p.q, what = 1: beta from r.z */
__global__ void finish_kernel(const double *part, scalars_t *sc, int what)
{
    double s = 0.0;
    for (int i = threadIdx.x; i < DOT_BLOCKS; i += blockDim.x)
        s += part[i];
    s = block_sum(s);
    if (threadIdx.x != 0)
        return;
    if (what == 0) {
        sc->pq = s;
        sc->alpha = s > 0.0 ? sc->rz / s : 0.0;
    } else {
        sc->rz = s;
        sc->beta = sc->rz_old > 0.0 ? s / sc->rz_old : 0.0;
        sc->rz_old = s;
    }
}

__global__ void direction_kernel(row_t *row, int n, const scalars_t *sc)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    row[i].p = row[i].z + (float)sc->beta * row[i].p;
}

__global__ void update_kernel(row_t *row, int n, const scalars_t *sc)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float alpha = (float)sc->alpha;
    row[i].x += alpha * row[i].p;
    float r = row[i].r - alpha * row[i].q;
    row[i].r = r;
    row[i].z = r / row[i].diag;
}

static void solve(row_t *row, int n, const entry_t *a, double *part, scalars_t *sc, int iters)
{
    int grid = (n + BLOCK_SIZE - 1) / BLOCK_SIZE;
    int grid8 = (int)(((long long)n * 8 + BLOCK_SIZE - 1) / BLOCK_SIZE);
    start_kernel<<<grid, BLOCK_SIZE>>>(row, n, sc);
    for (int k = 0; k < iters; k++) {
        dot_rz_kernel<<<DOT_BLOCKS, BLOCK_SIZE>>>(row, n, part);
        finish_kernel<<<1, BLOCK_SIZE>>>(part, sc, 1);
        direction_kernel<<<grid, BLOCK_SIZE>>>(row, n, sc);
        spmv_kernel<<<grid8, BLOCK_SIZE>>>(row, n, a);
        dot_pq_kernel<<<DOT_BLOCKS, BLOCK_SIZE>>>(row, n, part);
        finish_kernel<<<1, BLOCK_SIZE>>>(part, sc, 0);
        update_kernel<<<grid, BLOCK_SIZE>>>(row, n, sc);
    }
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 700000;
    int iters = argc > 2 ? atoi(argv[2]) : 15;
    int reps = argc > 3 ? atoi(argv[3]) : 10;
    const int half = 5;               /* pairs made from each row */

    /* symmetric pattern: row i is paired with rows i + offset (mod n) */
    int *from = (int *)malloc((size_t)n * half * sizeof(int));
    float *val = (float *)malloc((size_t)n * half * sizeof(float));
    row_t *row = (row_t *)calloc(n, sizeof(row_t));
    srand(4242);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < half; k++) {
            long long off = k < 3 ? 1 + rand() % 40 : 1 + rand() % (n - 1);
            int j = (int)((i + off) % n);
            from[i * half + k] = j;
            val[i * half + k] = -0.1f - 0.9f * (rand() % 1000) / 1000.0f;
            row[i].length++;
            row[j].length++;
        }
    int total = 0;
    int *fill = (int *)malloc(n * sizeof(int));
    for (int i = 0; i < n; i++) {
        row[i].start = fill[i] = total;
        total += row[i].length;
        row[i].diag = 0.05f;
        row[i].b = (rand() % 2001 - 1000) / 1000.0f;
    }
    entry_t *a = (entry_t *)malloc((size_t)total * sizeof(entry_t));
    for (int i = 0; i < n; i++)
        for (int k = 0; k < half; k++) {
            int j = from[i * half + k];
            float v = val[i * half + k];
            a[fill[i]].col = j;
            a[fill[i]++].value = v;
            a[fill[j]].col = i;
            a[fill[j]++].value = v;
            row[i].diag += fabsf(v);
            row[j].diag += fabsf(v);
        }

    row_t *d_row; entry_t *d_a; double *d_part; scalars_t *d_sc, sc;
    CK(cudaMalloc((void **)&d_row, (size_t)n * sizeof(row_t)));
    CK(cudaMalloc((void **)&d_a, (size_t)total * sizeof(entry_t)));
    CK(cudaMalloc((void **)&d_part, DOT_BLOCKS * sizeof(double)));
    CK(cudaMalloc((void **)&d_sc, sizeof(scalars_t)));
    CK(cudaMemcpy(d_row, row, (size_t)n * sizeof(row_t), cudaMemcpyHostToDevice));
    CK(cudaMemcpy(d_a, a, (size_t)total * sizeof(entry_t), cudaMemcpyHostToDevice));

    solve(d_row, n, d_a, d_part, d_sc, iters);
    CK(cudaDeviceSynchronize());
    cudaEvent_t t0, t1;
    CK(cudaEventCreate(&t0));
    CK(cudaEventCreate(&t1));
    CK(cudaEventRecord(t0));
    for (int r = 0; r < reps; r++)
        solve(d_row, n, d_a, d_part, d_sc, iters);
    CK(cudaEventRecord(t1));
    CK(cudaEventSynchronize(t1));
    float ms;
    CK(cudaEventElapsedTime(&ms, t0, t1));

    CK(cudaMemcpy(row, d_row, (size_t)n * sizeof(row_t), cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(&sc, d_sc, sizeof(sc), cudaMemcpyDeviceToHost));
    double norm = 0, dot = 0, true_res = 0;
    for (int i = 0; i < n; i++) {
        double ax = (double)row[i].diag * row[i].x;
        for (int k = row[i].start; k < row[i].start + row[i].length; k++)
            ax += (double)a[k].value * row[a[k].col].x;
        true_res += (row[i].b - ax) * (row[i].b - ax);
        norm += (double)row[i].x * row[i].x;
        dot += (double)row[i].x * row[i].b;
    }
    printf("check x_norm %.4g\n", sqrt(norm));
    printf("check x_dot_b %.4g\n", dot);
    printf("check true_residual %.3g\n", sqrt(true_res));
    printf("check entries %d\n", total);
    printf("time_ms %.6f\n", ms / reps);
    cudaFree(d_row); cudaFree(d_a); cudaFree(d_part); cudaFree(d_sc);
    free(from); free(val); free(fill); free(row); free(a);
    return 0;
}
