/*
 * Gridding of non-uniform k-space samples onto a Cartesian grid, and
 * interpolation back at the samples.  The samples are binned by cell on
 * the host, the device gathers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

#define LUT_SIZE 512
#define CUTOFF 1.5f
#define CUTOFF2 (CUTOFF * CUTOFF)

typedef struct {
    float kx, ky, kz;
    float real, imag;
    float sdc;          /* density compensation */
    float est_real, est_imag;
    float error;
} Sample;

typedef struct {
    float real, imag;
    float weight;
    int first;          /* samples of this cell */
    int count;
} Cell;

#define CHECK_CUDA(x)                                                     \
    {                                                                     \
        cudaError_t st = (x);                                             \
        if (st != cudaSuccess) {                                          \
            fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(st));      \
            exit(1);                                                      \
        }                                                                 \
    }

__device__ int clampi(int a, int lo, int hi)
{
    return a < lo ? lo : (a > hi ? hi : a);
}

/* density weights: from the radius in k-space and the crowd in the cell */
__global__ void density_kernel(Sample *s, int n, const Cell *grid, int d)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int x = clampi((int)s[i].kx, 0, d - 1);
    int y = clampi((int)s[i].ky, 0, d - 1);
    int z = clampi((int)s[i].kz, 0, d - 1);
    float h = 0.5f * d;
    float dx = s[i].kx - h, dy = s[i].ky - h, dz = s[i].kz - h;
    float r2 = dx * dx + dy * dy + dz * dz;
    int crowd = grid[(z * d + y) * d + x].count;
    s[i].sdc = (0.1f + r2 / (h * h)) / (float)crowd;
}

/* one thread per grid point, 2D blocks in x and y */
__global__ void gridding_kernel(const Sample *s, Cell *grid, const float *lut, int d)
{
    __shared__ float s_lut[LUT_SIZE];
    int tid = threadIdx.y * blockDim.x + threadIdx.x;
    for (int i = tid; i < LUT_SIZE; i += blockDim.x * blockDim.y)
        s_lut[i] = lut[i];
    __syncthreads();

    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z;
    if (x >= d || y >= d)
        return;

    /* the grid point is the middle of its cell */
    float gx = x + 0.5f, gy = y + 0.5f, gz = z + 0.5f;
    float re = 0.0f, im = 0.0f, wt = 0.0f;
    for (int cz = max(z - 1, 0); cz <= min(z + 1, d - 1); cz++)
        for (int cy = max(y - 1, 0); cy <= min(y + 1, d - 1); cy++)
            for (int cx = max(x - 1, 0); cx <= min(x + 1, d - 1); cx++) {
                int c = (cz * d + cy) * d + cx;
                int last = grid[c].first + grid[c].count;
                for (int k = grid[c].first; k < last; k++) {
                    float dx = s[k].kx - gx;
                    float dy = s[k].ky - gy;
                    float dz = s[k].kz - gz;
                    float r2 = dx * dx + dy * dy + dz * dz;
                    if (r2 >= CUTOFF2)
                        continue;
                    int li = (int)(r2 * (LUT_SIZE / CUTOFF2));
                    float w = s_lut[min(li, LUT_SIZE - 1)] * s[k].sdc;
                    re += w * s[k].real;
                    im += w * s[k].imag;
                    wt += w;
                }
            }
    int g = (z * d + y) * d + x;
    grid[g].real = re;
    grid[g].imag = im;
    grid[g].weight = wt;
}

__global__ void normalize_kernel(Cell *grid, int cells)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= cells)
        return;
    float w = grid[i].weight;
    if (w <= 0.0f)
        return;
    grid[i].real /= w;
    grid[i].imag /= w;
}

/* trilinear interpolation of the grid at the samples */
__global__ void degrid_kernel(Sample *s, int n, const Cell *grid, int d)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float fx = s[i].kx - 0.5f, fy = s[i].ky - 0.5f, fz = s[i].kz - 0.5f;
    int x = clampi((int)floorf(fx), 0, d - 2);
    int y = clampi((int)floorf(fy), 0, d - 2);
    int z = clampi((int)floorf(fz), 0, d - 2);
    float ax = fminf(fmaxf(fx - x, 0.0f), 1.0f);
    float ay = fminf(fmaxf(fy - y, 0.0f), 1.0f);
    float az = fminf(fmaxf(fz - z, 0.0f), 1.0f);
    float re = 0.0f, im = 0.0f;
    for (int k = 0; k < 8; k++) {
        int bx = k & 1, by = (k >> 1) & 1, bz = k >> 2;
        float w = (bx ? ax : 1.0f - ax) * (by ? ay : 1.0f - ay) * (bz ? az : 1.0f - az);
        int c = ((z + bz) * d + y + by) * d + x + bx;
        re += w * grid[c].real;
        im += w * grid[c].imag;
    }
    s[i].est_real = re;
    s[i].est_imag = im;
    float er = re - s[i].real, ei = im - s[i].imag;
    s[i].error = sqrtf(er * er + ei * ei);
}

static unsigned long long lcg_state = 17;
static float lcg(void)
{
    lcg_state = lcg_state * 2862933555777941757ULL + 3037000493ULL;
    return (float)((lcg_state >> 40) & 0xffffff) / 16777216.0f;
}

static int cell_of(const Sample *s, int d)
{
    return ((int)s->kz * d + (int)s->ky) * d + (int)s->kx;
}

int main(int argc, char **argv)
{
    int d = argc > 1 ? atoi(argv[1]) : 112;
    int n = argc > 2 ? atoi(argv[2]) : 2400000;
    int reps = argc > 3 ? atoi(argv[3]) : 30;
    int cells = d * d * d;

    Sample *raw = (Sample *)malloc((size_t)n * sizeof(Sample));
    Sample *sorted = (Sample *)malloc((size_t)n * sizeof(Sample));
    Cell *grid = (Cell *)calloc(cells, sizeof(Cell));
    int *where = (int *)malloc((size_t)cells * sizeof(int));
    for (int i = 0; i < n; i++) {
        /* denser towards the centre */
        float a = lcg() + lcg(), b = lcg() + lcg(), c = lcg() + lcg();
        Sample *s = &raw[i];
        s->kx = fminf(0.5f * a * d, d - 0.01f);
        s->ky = fminf(0.5f * b * d, d - 0.01f);
        s->kz = fminf(0.5f * c * d, d - 0.01f);
        s->real = cosf(4.0f * a) * cosf(3.0f * b) + 0.1f * lcg();
        s->imag = sinf(2.0f * c) + 0.1f * lcg();
        s->sdc = s->est_real = s->est_imag = s->error = 0.0f;
        grid[cell_of(s, d)].count++;
    }
    int sum = 0;
    for (int i = 0; i < cells; i++) {
        grid[i].first = where[i] = sum;
        sum += grid[i].count;
    }
    for (int i = 0; i < n; i++)
        sorted[where[cell_of(&raw[i], d)]++] = raw[i];
    float lut[LUT_SIZE];
    for (int i = 0; i < LUT_SIZE; i++)
        lut[i] = expf(-2.0f * (i + 0.5f) / LUT_SIZE) * (1.0f - (i + 0.5f) / LUT_SIZE);

    Sample *ds; Cell *dg; float *dl;
    CHECK_CUDA(cudaMalloc((void **)&ds, (size_t)n * sizeof(Sample)));
    CHECK_CUDA(cudaMalloc((void **)&dg, (size_t)cells * sizeof(Cell)));
    CHECK_CUDA(cudaMalloc((void **)&dl, sizeof(lut)));
    CHECK_CUDA(cudaMemcpy(ds, sorted, (size_t)n * sizeof(Sample), cudaMemcpyHostToDevice));
    CHECK_CUDA(cudaMemcpy(dg, grid, (size_t)cells * sizeof(Cell), cudaMemcpyHostToDevice));
    CHECK_CUDA(cudaMemcpy(dl, lut, sizeof(lut), cudaMemcpyHostToDevice));

    dim3 block(32, 4), gdim((d + 31) / 32, (d + 3) / 4, d);
    cudaEvent_t e0, e1;
    CHECK_CUDA(cudaEventCreate(&e0));
    CHECK_CUDA(cudaEventCreate(&e1));
    for (int r = 0; r <= reps; r++) {
        if (r == 1)     /* the first one is the warm-up */
            CHECK_CUDA(cudaEventRecord(e0));
        density_kernel<<<(n + 255) / 256, 256>>>(ds, n, dg, d);
        gridding_kernel<<<gdim, block>>>(ds, dg, dl, d);
        normalize_kernel<<<(cells + 255) / 256, 256>>>(dg, cells);
        degrid_kernel<<<(n + 255) / 256, 256>>>(ds, n, dg, d);
    }
    CHECK_CUDA(cudaEventRecord(e1));
    CHECK_CUDA(cudaEventSynchronize(e1));
    float ms;
    CHECK_CUDA(cudaEventElapsedTime(&ms, e0, e1));

    CHECK_CUDA(cudaMemcpy(sorted, ds, (size_t)n * sizeof(Sample), cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaMemcpy(grid, dg, (size_t)cells * sizeof(Cell), cudaMemcpyDeviceToHost));
    double re = 0, im = 0, wt = 0, err = 0, sdc = 0;
    for (int i = 0; i < cells; i++) {
        re += fabs(grid[i].real);
        im += fabs(grid[i].imag);
        wt += grid[i].weight;
    }
    for (int i = 0; i < n; i++) {
        err += sorted[i].error;
        sdc += sorted[i].sdc;
    }
    printf("check grid_real %.5g\n", re);
    printf("check grid_imag %.5g\n", im);
    printf("check grid_weight %.5g\n", wt);
    printf("check mean_error %.5g\n", err / n);
    printf("check density %.6g\n", sdc);
    printf("time_ms %.6f\n", ms / reps);
    cudaFree(ds); cudaFree(dg); cudaFree(dl);
    free(raw); free(sorted); free(grid); free(where);
    return 0;
}
