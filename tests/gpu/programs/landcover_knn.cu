// Land cover classification of a multispectral scene:
// k nearest reference spectra per pixel, cloud masking, 3x3 majority filter,
// confusion matrix against the ground truth and per-class statistics.
//
// Build: nvcc -O3 -std=c++17 -arch=sm_90 landcover_knn.cu -o landcover_knn
// Run:   ./landcover_knn [width] [height]

#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <float.h>
#include <cuda_runtime.h>

#define BANDS     8
#define CLASSES   12
#define SPECTRA   288
#define TILE_REF  96
#define BX        32
#define BY        8
#define CLOUD     255

// Error check used everywhere
#define CHECK(call)                                                         \
{                                                                           \
    const cudaError_t error = call;                                         \
    if (error != cudaSuccess)                                               \
    {                                                                       \
        printf("Error: %s:%d, ", __FILE__, __LINE__);                       \
        printf("code:%d, reason: %s\n", error, cudaGetErrorString(error));  \
        exit(1);                                                            \
    }                                                                       \
}

struct Pixel
{
    unsigned short dn[BANDS];     // raw digital numbers
    float          ndvi;
    float          brightness;
    unsigned char  truth;
    unsigned char  label;         // per pixel kNN result
    unsigned char  smooth;        // after majority filter
    unsigned char  votes;
};

struct Spectrum
{
    float band[BANDS];            // reflectance 0..1
    float weight;
    int   cls;
};

struct ClassStats
{
    unsigned long long dnSum[BANDS];
    unsigned int count;
    unsigned int correct;
    int          ndviMin;         // x 1000
    int          ndviMax;
};

struct Calibration
{
    float gain[BANDS];
    float offset[BANDS];
    float cloudBrightness;
    float cloudNdvi;
};

__constant__ Calibration calib;

__device__ inline float reflectance(const Pixel &p, int b)
{
    return p.dn[b] * calib.gain[b] + calib.offset[b];
}

// Derived indices and the cloud flag
__global__ void spectralIndices(Pixel *img, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;

    Pixel *p = &img[y * width + x];

    float red = reflectance(*p, 3);
    float nir = reflectance(*p, 6);
    float sum = 0.0f;
    for (int b = 0; b < 4; b++)
        sum += reflectance(*p, b);

    p->ndvi       = (nir - red) / (nir + red + 1e-4f);
    p->brightness = 0.25f * sum;
    p->label      = (p->brightness > calib.cloudBrightness && p->ndvi < calib.cloudNdvi) ? CLOUD : 0;
    p->smooth     = p->label;
    p->votes      = 0;
}

// k nearest spectra, reference set staged through shared memory tile by tile
template <int K>
__global__ void classifyKnn(Pixel *img, int width, int height, const Spectrum *refs, int numRefs)
{
    __shared__ Spectrum tile[TILE_REF];

    int x   = blockIdx.x * blockDim.x + threadIdx.x;
    int y   = blockIdx.y * blockDim.y + threadIdx.y;
    int tid = threadIdx.y * blockDim.x + threadIdx.x;
    bool inside = x < width && y < height;

    float v[BANDS];
    bool  cloudy = true;
    if (inside)
    {
        const Pixel &p = img[y * width + x];
        for (int b = 0; b < BANDS; b++)
            v[b] = reflectance(p, b);
        cloudy = p.label == CLOUD;
    }

    float bestDist[K];
    int   bestClass[K];
#pragma unroll
    for (int k = 0; k < K; k++) { bestDist[k] = FLT_MAX; bestClass[k] = 0; }

    for (int start = 0; start < numRefs; start += TILE_REF)
    {
        __syncthreads();
        for (int r = tid; r < TILE_REF && start + r < numRefs; r += blockDim.x * blockDim.y)
            tile[r] = refs[start + r];
        __syncthreads();

        if (!inside || cloudy) continue;

        int n = min(TILE_REF, numRefs - start);
        for (int r = 0; r < n; r++)
        {
            float d = 0.0f;
#pragma unroll
            for (int b = 0; b < BANDS; b++)
            {
                float e = v[b] - tile[r].band[b];
                d += e * e;
            }
            d *= tile[r].weight;
            if (d >= bestDist[K - 1]) continue;

            // insertion into the sorted list
            int c = tile[r].cls;
#pragma unroll
            for (int k = 0; k < K; k++)
            {
                if (d < bestDist[k])
                {
                    float td = bestDist[k];  bestDist[k]  = d; d = td;
                    int   tc = bestClass[k]; bestClass[k] = c; c = tc;
                }
            }
        }
    }

    if (!inside || cloudy) return;

    int winner = bestClass[0], winnerVotes = 0;
    for (int k = 0; k < K; k++)
    {
        int votes = 0;
        for (int m = 0; m < K; m++)
            votes += bestClass[m] == bestClass[k];
        if (votes > winnerVotes)
        {
            winnerVotes = votes;
            winner      = bestClass[k];
        }
    }
    img[y * width + x].label = (unsigned char)winner;
    img[y * width + x].votes = (unsigned char)winnerVotes;
}

// Majority vote in the 3x3 neighbourhood; confident pixels stay
__global__ void majorityFilter(Pixel *img, int width, int height, int sureVotes)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;

    int idx = y * width + x;
    unsigned char own = img[idx].label;
    if (own == CLOUD || x == 0 || y == 0 || x == width - 1 || y == height - 1)
    {
        img[idx].smooth = own;
        return;
    }

    unsigned char hist[CLASSES];
    for (int c = 0; c < CLASSES; c++) hist[c] = 0;

    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
        {
            const Pixel &q = img[(y + dy) * width + x + dx];
            if (q.label == CLOUD) continue;
            hist[q.label] += q.votes >= sureVotes ? 2 : 1;
        }
    hist[own] += img[idx].votes;

    unsigned char best = own;
    for (int c = 0; c < CLASSES; c++)
        if (hist[c] > hist[best]) best = (unsigned char)c;
    img[idx].smooth = best;
}

__global__ void confusion(const Pixel *img, int numPixels, unsigned int *matrix)
{
    __shared__ unsigned int local[CLASSES * CLASSES];
    for (int i = threadIdx.x; i < CLASSES * CLASSES; i += blockDim.x) local[i] = 0;
    __syncthreads();

    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < numPixels; i += stride)
    {
        int predicted = img[i].smooth;
        if (predicted == CLOUD) continue;
        atomicAdd(&local[img[i].truth * CLASSES + predicted], 1u);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < CLASSES * CLASSES; i += blockDim.x)
        if (local[i]) atomicAdd(&matrix[i], local[i]);
}

// One block per class keeps the atomics cheap enough
__global__ void classStatistics(const Pixel *img, int numPixels, ClassStats *stats)
{
    int cls = blockIdx.y;
    unsigned long long sums[BANDS] = {0};
    unsigned int count = 0, correct = 0;
    int lo = 1 << 20, hi = -(1 << 20);

    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < numPixels; i += gridDim.x * blockDim.x)
    {
        if (img[i].smooth != cls) continue;
        for (int b = 0; b < BANDS; b++) sums[b] += img[i].dn[b];
        count++;
        correct += img[i].truth == cls;
        int n = __float2int_rn(img[i].ndvi * 1000.0f);
        lo = min(lo, n);
        hi = max(hi, n);
    }
    if (count == 0) return;

    ClassStats *s = &stats[cls];
    for (int b = 0; b < BANDS; b++) atomicAdd(&s->dnSum[b], sums[b]);
    atomicAdd(&s->count, count);
    atomicAdd(&s->correct, correct);
    atomicMin(&s->ndviMin, lo);
    atomicMax(&s->ndviMax, hi);
}

// ---------------------------------------------------------------------------

static unsigned int rngState = 1u;
static unsigned int rng()
{
    rngState = rngState * 1664525u + 1013904223u;
    return rngState >> 8;
}
static float rng01() { return rng() / 16777216.0f; }

void makeReferences(Spectrum *refs, float mean[CLASSES][BANDS])
{
    for (int c = 0; c < CLASSES; c++)
        for (int b = 0; b < BANDS; b++)
            mean[c][b] = 0.05f + 0.4f * rng01() + (b >= 5 && c % 2 ? 0.15f : 0.0f);

    for (int i = 0; i < SPECTRA; i++)
    {
        int c = i % CLASSES;
        for (int b = 0; b < BANDS; b++)
            refs[i].band[b] = mean[c][b] + 0.16f * (rng01() - 0.5f);
        refs[i].weight = 0.9f + 0.2f * rng01();
        refs[i].cls    = c;
    }
}

void makeScene(Pixel *img, int width, int height, float mean[CLASSES][BANDS])
{
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
        {
            Pixel &p = img[y * width + x];
            // fields: blocks with a skewed border
            unsigned int fx = (x + (y >> 2)) / 53, fy = (y + (x >> 3)) / 37;
            unsigned int h  = (fx * 73856093u) ^ (fy * 19349663u);
            h ^= h >> 13; h *= 2654435761u; h ^= h >> 15;
            p.truth = h % CLASSES;

            bool cloud = ((x / 90 + 3 * (y / 70)) % 17) == 0 && rng() % 8 != 0;
            for (int b = 0; b < BANDS; b++)
            {
                float r = mean[p.truth][b] + 0.34f * (rng01() - 0.5f);
                if (cloud) r = 0.75f + 0.1f * rng01();
                if (r < 0.0f) r = 0.0f;
                p.dn[b] = (unsigned short)(r * 10000.0f + 1000.0f);
            }
            p.ndvi = p.brightness = 0.0f;
            p.label = p.smooth = p.votes = 0;
        }
}

int main(int argc, char **argv)
{
    int width  = argc > 1 ? atoi(argv[1]) : 1920;
    int height = argc > 2 ? atoi(argv[2]) : 1280;
    int numPixels = width * height;
    const int reps = 10;

    Pixel *img;
    Spectrum *refs;
    ClassStats *stats;
    unsigned int *matrix;
    CHECK(cudaMallocManaged(&img, numPixels * sizeof(Pixel)));
    CHECK(cudaMallocManaged(&refs, SPECTRA * sizeof(Spectrum)));
    CHECK(cudaMallocManaged(&stats, CLASSES * sizeof(ClassStats)));
    CHECK(cudaMallocManaged(&matrix, CLASSES * CLASSES * sizeof(unsigned int)));

    float mean[CLASSES][BANDS];
    makeReferences(refs, mean);
    makeScene(img, width, height, mean);
    for (int i = 0; i < CLASSES * CLASSES; i++) matrix[i] = 0;
    for (int c = 0; c < CLASSES; c++)
    {
        ClassStats zero = {};
        stats[c] = zero;
        stats[c].ndviMin = 1 << 20;
        stats[c].ndviMax = -(1 << 20);
    }

    Calibration cal;
    for (int b = 0; b < BANDS; b++)
    {
        cal.gain[b]   = 1.0e-4f;
        cal.offset[b] = -0.1f;
    }
    cal.cloudBrightness = 0.62f;
    cal.cloudNdvi       = 0.2f;
    CHECK(cudaMemcpyToSymbol(calib, &cal, sizeof(cal)));

    dim3 block(BX, BY);
    dim3 grid((width + BX - 1) / BX, (height + BY - 1) / BY);

    cudaEvent_t start, stop;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));

    float ms = 0.0f;
    for (int rep = 0; rep <= reps; rep++)
    {
        if (rep == 1) CHECK(cudaEventRecord(start));     // rep 0 is the warm-up

        spectralIndices<<<grid, block>>>(img, width, height);
        if (rep % 2)
            classifyKnn<5><<<grid, block>>>(img, width, height, refs, SPECTRA);
        else
            classifyKnn<7><<<grid, block>>>(img, width, height, refs, SPECTRA);
        majorityFilter<<<grid, block>>>(img, width, height, 4);
        confusion<<<528, 256>>>(img, numPixels, matrix);
        classStatistics<<<dim3(64, CLASSES), 256>>>(img, numPixels, stats);
    }
    CHECK(cudaEventRecord(stop));
    CHECK(cudaEventSynchronize(stop));
    CHECK(cudaGetLastError());
    CHECK(cudaEventElapsedTime(&ms, start, stop));

    // managed memory: just read it
    long long diagonal = 0, total = 0, labelSum = 0, smoothSum = 0, clouds = 0, voteSum = 0;
    for (int t = 0; t < CLASSES; t++)
        for (int p = 0; p < CLASSES; p++)
        {
            total += matrix[t * CLASSES + p];
            if (t == p) diagonal += matrix[t * CLASSES + p];
        }
    for (int i = 0; i < numPixels; i++)
    {
        if (img[i].label == CLOUD) { clouds++; continue; }
        labelSum  += img[i].label * (i % 7 + 1);
        smoothSum += img[i].smooth * (i % 5 + 1);
        voteSum   += img[i].votes;
    }
    unsigned long long statMix = 0;
    for (int c = 0; c < CLASSES; c++)
    {
        for (int b = 0; b < BANDS; b++) statMix += stats[c].dnSum[b] * (unsigned)(b + 1);
        statMix += stats[c].count + 3ull * stats[c].correct;
    }

    printf("check classified %lld\n", total);
    printf("check correct %lld\n", diagonal);
    printf("check clouds %lld\n", clouds);
    printf("check labels %lld\n", labelSum);
    printf("check smoothed %lld\n", smoothSum);
    printf("check votes %lld\n", voteSum);
    printf("check class_stats %llu\n", statMix);
    printf("check ndvi_min %d\n", stats[1].ndviMin);
    printf("check ndvi_max %d\n", stats[1].ndviMax);
    printf("time_ms %.3f\n", ms);

    CHECK(cudaFree(img));
    CHECK(cudaFree(refs));
    CHECK(cudaFree(stats));
    CHECK(cudaFree(matrix));
    return 0;
}
