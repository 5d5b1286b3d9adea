/* beehive_scales: nightly book-keeping of a regional network of hive scales.
 * A few kernels touch few fields of a fat record; one touches a member array. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

#define CK(call)                                                              \
    do {                                                                      \
        cudaError_t e_ = (call);                                              \
        if (e_ != cudaSuccess) {                                              \
            fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__,                 \
                    cudaGetErrorString(e_));                                  \
            exit(1);                                                          \
        }                                                                     \
    } while (0)

#define N_HIVES 2000000
#define N_KEEPERS 20000
#define N_STEPS 48
#define HOURS 24

struct Hive {
    double longitude;
    double latitude;
    float weight;
    float tare;
    float humidity;
    float brood_temp;
    int keeper;
    int queen_age;
    short frames;
    short mites;
    unsigned char flags;
    unsigned char colour[3];
    float hourly[HOURS];
    int visits;
};

struct Keeper {
    unsigned long long sixteenths; /* total weight in 1/16 kg */
    unsigned int hives;
    unsigned int heavy;
    float fee;
    int village;
};

static unsigned long long lcg_state = 88172645463325252ULL;
static unsigned int lcg(void)
{
    lcg_state = lcg_state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned int)(lcg_state >> 33);
}

/* streaming: reads tare, frames, one hour of the day; writes weight */
__global__ void weigh(Hive *h, int n, int hour)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    h[i].weight = h[i].tare + 1.75f * (float)h[i].frames + h[i].hourly[hour];
}

/* few byte and short fields only, histogram in shared memory */
__global__ void mite_census(const Hive *h, int n, unsigned int *hist)
{
    __shared__ unsigned int bins[64];
    for (int b = threadIdx.x; b < 64; b += blockDim.x) bins[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += gridDim.x * blockDim.x) {
        if (h[i].flags & 1) {
            int density = h[i].mites / (h[i].frames > 0 ? h[i].frames : 1);
            if (density > 63) density = 63;
            if (density < 0) density = 0;
            atomicAdd(&bins[density], 1u);
        }
    }
    __syncthreads();
    for (int b = threadIdx.x; b < 64; b += blockDim.x)
        if (bins[b]) atomicAdd(&hist[b], bins[b]);
}

/* sums the whole day of every hive, rarely run */
__global__ void day_review(Hive *h, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = 0.f, top = -1.f;
    for (int k = 0; k < HOURS; ++k) {
        float v = h[i].hourly[k];
        s += v;
        top = v > top ? v : top;
    }
    h[i].humidity = 0.5f * h[i].humidity + 0.0078125f * s;
    h[i].visits += (int)(top * 8.0f);
}

/* two fields gathered into the keepers' accounts by atomics */
__global__ void credit_keepers(const Hive *h, int n, Keeper *k)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int who = h[i].keeper;
    int w16 = (int)(h[i].weight * 16.0f);
    atomicAdd(&k[who].sixteenths, (unsigned long long)w16);
    atomicAdd(&k[who].hives, 1u);
    if (w16 > 40 * 16) atomicAdd(&k[who].heavy, 1u);
}

static void step(Hive *h, Keeper *k, unsigned int *hist, int s)
{
    const int block = 256, grid = (N_HIVES + block - 1) / block;
    weigh<<<grid, block>>>(h, N_HIVES, s % HOURS);
    credit_keepers<<<grid, block>>>(h, N_HIVES, k);
    mite_census<<<132 * 8, block>>>(h, N_HIVES, hist);
    if (s % 6 == 5) day_review<<<grid, block>>>(h, N_HIVES);
}

int main(void)
{
    Hive *hh = (Hive *)calloc(N_HIVES, sizeof(Hive));
    Keeper *hk = (Keeper *)calloc(N_KEEPERS, sizeof(Keeper));
    unsigned int hhist[64];
    if (!hh || !hk) return 1;
    for (int i = 0; i < N_HIVES; ++i) {
        Hive *p = &hh[i];
        p->longitude = 7.0 + (double)(lcg() % 4096) / 1024.0;
        p->latitude = 46.0 + (double)(lcg() % 4096) / 2048.0;
        p->tare = 12.0f + (float)(lcg() % 64) / 16.0f;
        p->humidity = (float)(lcg() % 100);
        p->brood_temp = 34.5f;
        /* hives of one keeper stand mostly near each other in the list */
        p->keeper = (lcg() % 4) ? i / 100 : (int)(lcg() % N_KEEPERS);
        p->queen_age = (int)(lcg() % 5);
        p->frames = (short)(6 + lcg() % 7);
        p->mites = (short)(lcg() % 500);
        p->flags = (unsigned char)(lcg() & 0xff);
        p->colour[0] = (unsigned char)(i & 7);
        p->colour[1] = (unsigned char)(i & 15);
        p->colour[2] = 200;
        for (int k = 0; k < HOURS; ++k) p->hourly[k] = (float)(lcg() % 512) / 64.0f;
    }
    for (int k = 0; k < N_KEEPERS; ++k) {
        hk[k].fee = 2.5f;
        hk[k].village = k / 37;
    }

    Hive *dh;
    Keeper *dk;
    unsigned int *dhist;
    CK(cudaMalloc((void **)&dh, sizeof(Hive) * (size_t)N_HIVES));
    CK(cudaMalloc((void **)&dk, sizeof(Keeper) * (size_t)N_KEEPERS));
    CK(cudaMalloc((void **)&dhist, sizeof(hhist)));
    CK(cudaMemcpy(dh, hh, sizeof(Hive) * (size_t)N_HIVES, cudaMemcpyHostToDevice));
    CK(cudaMemcpy(dk, hk, sizeof(Keeper) * (size_t)N_KEEPERS, cudaMemcpyHostToDevice));
    CK(cudaMemset(dhist, 0, sizeof(hhist)));

    for (int s = 0; s < 6; ++s) step(dh, dk, dhist, s);
    CK(cudaGetLastError());
    CK(cudaDeviceSynchronize());

    cudaEvent_t t0, t1;
    CK(cudaEventCreate(&t0));
    CK(cudaEventCreate(&t1));
    CK(cudaEventRecord(t0));
    for (int s = 0; s < N_STEPS; ++s) step(dh, dk, dhist, s);
    CK(cudaEventRecord(t1));
    CK(cudaEventSynchronize(t1));
    CK(cudaGetLastError());
    float ms = 0.f;
    CK(cudaEventElapsedTime(&ms, t0, t1));
    printf("time_ms %.6f\n", ms / N_STEPS);

    CK(cudaMemcpy(hh, dh, sizeof(Hive) * (size_t)N_HIVES, cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(hk, dk, sizeof(Keeper) * (size_t)N_KEEPERS, cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(hhist, dhist, sizeof(hhist), cudaMemcpyDeviceToHost));
    double wsum = 0, hum = 0;
    long long visits = 0;
    unsigned long long acc = 0, heads = 0, census = 0;
    for (int i = 0; i < N_HIVES; ++i) {
        wsum += hh[i].weight;
        hum += hh[i].humidity;
        visits += hh[i].visits + hh[i].colour[1] + hh[i].queen_age;
    }
    for (int k = 0; k < N_KEEPERS; ++k) {
        acc += hk[k].sixteenths * (unsigned long long)(k % 13 + 1);
        heads += hk[k].hives + 3u * hk[k].heavy + (unsigned int)hk[k].village;
    }
    for (int b = 0; b < 64; ++b) census += (unsigned long long)hhist[b] * (b + 1);
    printf("check weight %.5e\n", wsum);
    printf("check humidity %.5e\n", hum);
    printf("check visits %lld\n", visits);
    printf("check accounts %llu\n", acc);
    printf("check heads %llu\n", heads);
    printf("check census %llu\n", census);
    cudaFree(dh);
    cudaFree(dk);
    cudaFree(dhist);
    free(hh);
    free(hk);
    return 0;
}
