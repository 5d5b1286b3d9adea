// Ground segmentation of a LiDAR sweep: points fall into polar bins, the
// lowest height of every bin gives a ground line, points are labelled by it.
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>

#define SECTORS 720
#define RINGS 320
#define NBINS (SECTORS * RINGS)
#define RANGE_STEP 0.25f
#define NPOINTS 8000000
#define NLABELS 4

typedef struct {
    float x, y, z;
    float intensity;
    uint16_t ring;
    uint8_t echo;
    uint8_t label;
    int bin;
} LidarPoint;

typedef struct {
    int min_mm;
    int count;
    int sum_cm;
    float ground;
    float slope;
} PolarBin;

#define CHECK(x)                                                         \
    if ((x) != cudaSuccess) {                                            \
        fprintf(stderr, "CUDA failure at %s:%d\n", __FILE__, __LINE__);  \
        exit(1);                                                         \
    }

__global__ void clear_bins(PolarBin *bins)
{
    int b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b < NBINS) {
        bins[b].min_mm = 100000;
        bins[b].count = 0;
        bins[b].sum_cm = 0;
    }
}

__global__ void assign_bins(LidarPoint *pts, int n, float yaw)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = pts[i].x;
    float y = pts[i].y;
    float r = sqrtf(x * x + y * y);
    float a = atan2f(y, x) + yaw;
    int s = (int)floorf(a * (SECTORS / 6.2831853f));
    s = ((s % SECTORS) + SECTORS) % SECTORS;
    int k = (int)(r / RANGE_STEP);
    pts[i].bin = k < RINGS ? s * RINGS + k : -1;
}

__global__ void fill_bins(const LidarPoint *pts, int n, PolarBin *bins)
{
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        int b = pts[i].bin;
        if (b < 0) continue;
        float z = pts[i].z;
        atomicMin(&bins[b].min_mm, (int)floorf(z * 1000.0f));
        atomicAdd(&bins[b].count, 1);
        atomicAdd(&bins[b].sum_cm, (int)floorf(z * 100.0f));
    }
}

/* smooth the lowest heights along each sector */
__global__ void ground_line(PolarBin *bins)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    int s = blockIdx.y * blockDim.y + threadIdx.y;
    if (k >= RINGS || s >= SECTORS) return;
    int b = s * RINGS + k;
    float sum = 0.0f, sumk = 0.0f, weight = 0.0f;
    for (int d = -3; d <= 3; d++) {
        int q = k + d;
        if (q < 0 || q >= RINGS) continue;
        int c = s * RINGS + q;
        if (bins[c].count < 2) continue;
        float w = 1.0f / (1.0f + (d < 0 ? -d : d));
        sum += w * bins[c].min_mm * 0.001f;
        sumk += w * d * bins[c].min_mm * 0.001f;
        weight += w;
    }
    bins[b].ground = weight > 0.0f ? sum / weight : -1.7f;
    bins[b].slope = weight > 0.0f ? sumk / (weight * 3.0f) : 0.0f;
}

__global__ void label_points(LidarPoint *pts, int n, const PolarBin *bins, unsigned int *totals)
{
    __shared__ unsigned int cnt[NLABELS];
    if (threadIdx.x < NLABELS) cnt[threadIdx.x] = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        LidarPoint *p = &pts[i];
        uint8_t label = 3;
        if (p->bin >= 0) {
            const PolarBin *g = &bins[p->bin];
            float h = p->z - g->ground;
            float tol = 0.15f + fabsf(g->slope);
            if (h < tol)
                label = 0;
            else if (h < 2.2f)
                label = 1;
            else
                label = 2;
        }
        p->label = label;
        atomicAdd(&cnt[label], 1u);
    }
    __syncthreads();
    if (threadIdx.x < NLABELS && cnt[threadIdx.x])
        atomicAdd(&totals[threadIdx.x], cnt[threadIdx.x]);
}

static uint32_t seed = 2463534242u;
static float frand(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return (float)(seed >> 8) / 16777216.0f;
}

int main(void)
{
    LidarPoint *pts = (LidarPoint *)malloc(sizeof(LidarPoint) * NPOINTS);
    PolarBin *hbins = (PolarBin *)malloc(sizeof(PolarBin) * NBINS);
    /* firing order: azimuth advances slowly, 128 lasers at each azimuth */
    for (int i = 0; i < NPOINTS; i++) {
        int laser = i % 128;
        float az = 6.2831853f * ((float)(i / 128) / (NPOINTS / 128)) - 3.1415926f;
        float r = 3.0f + 0.6f * laser + 2.0f * frand();
        float u = frand();
        pts[i].x = r * cosf(az);
        pts[i].y = r * sinf(az);
        pts[i].z = -1.7f + 0.01f * r + 0.05f * frand();
        if (u > 0.7f) pts[i].z += 3.0f * (u - 0.7f) / 0.3f;
        pts[i].intensity = u;
        pts[i].ring = (uint16_t)laser;
        pts[i].echo = (uint8_t)(i & 1);
        pts[i].label = 0;
        pts[i].bin = -1;
    }

    LidarPoint *d_pts;
    PolarBin *d_bins;
    unsigned int *d_tot;
    CHECK(cudaMalloc((void **)&d_pts, sizeof(LidarPoint) * NPOINTS));
    CHECK(cudaMalloc((void **)&d_bins, sizeof(PolarBin) * NBINS));
    CHECK(cudaMalloc((void **)&d_tot, sizeof(unsigned int) * NLABELS));
    CHECK(cudaMemcpy(d_pts, pts, sizeof(LidarPoint) * NPOINTS, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(d_tot, 0, sizeof(unsigned int) * NLABELS));

    int tpb = 256;
    int pblocks = (NPOINTS + tpb - 1) / tpb;
    int bblocks = (NBINS + tpb - 1) / tpb;
    dim3 lb(32, 4), lg((RINGS + 31) / 32, (SECTORS + 3) / 4);
    int iters = 50;

    cudaEvent_t ev0, ev1;
    cudaEventCreate(&ev0);
    cudaEventCreate(&ev1);
    for (int it = -3; it < iters; it++) {
        if (it == 0) cudaEventRecord(ev0);
        clear_bins<<<bblocks, tpb>>>(d_bins);
        assign_bins<<<pblocks, tpb>>>(d_pts, NPOINTS, 0.01f * it);
        fill_bins<<<2048, tpb>>>(d_pts, NPOINTS, d_bins);
        ground_line<<<lg, lb>>>(d_bins);
        label_points<<<pblocks, tpb>>>(d_pts, NPOINTS, d_bins, d_tot);
    }
    cudaEventRecord(ev1);
    CHECK(cudaEventSynchronize(ev1));
    CHECK(cudaGetLastError());
    float ms = 0.0f;
    cudaEventElapsedTime(&ms, ev0, ev1);

    unsigned int tot[NLABELS];
    CHECK(cudaMemcpy(pts, d_pts, sizeof(LidarPoint) * NPOINTS, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(hbins, d_bins, sizeof(PolarBin) * NBINS, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(tot, d_tot, sizeof(tot), cudaMemcpyDeviceToHost));

    double ground = 0, labels = 0, zsum = 0, counts = 0;
    for (int b = 0; b < NBINS; b++) {
        ground += hbins[b].ground;
        counts += hbins[b].count;
    }
    for (int i = 0; i < NPOINTS; i++) {
        labels += pts[i].label;
        if (pts[i].label == 1) zsum += pts[i].z;
    }
    printf("check ground %.5g\n", ground);
    printf("check counts %.6g\n", counts);
    printf("check labels %.5g\n", labels);
    printf("check obstacles %.4g\n", zsum);
    printf("check total0 %.4g\n", (double)tot[0]);
    printf("time_ms %.5f\n", ms / iters);
    cudaFree(d_pts);
    cudaFree(d_bins);
    cudaFree(d_tot);
    free(pts);
    free(hbins);
    return 0;
}
