// A large wine cellar: every barrel has a spectrum of 32 aromas. Tasters take
// barrels from a random list (one warp per barrel), all barrels lose some wine,
// and whole racks are blended when their turn comes.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

#define CUDA_OK(x)                                                            \
    do {                                                                      \
        cudaError_t s_ = (x);                                                 \
        if (s_ != cudaSuccess) {                                              \
            fprintf(stderr, "%s failed: %s\n", #x, cudaGetErrorString(s_));   \
            exit(1);                                                          \
        }                                                                     \
    } while (0)

#define AROMAS 32

struct Barrel {
    float spectrum[AROMAS];
    double price;
    float volume;
    float sulphur;
    int grape;
    short vintage;
    short rack;
    float oak;
    float angel;
};

static const int BARRELS = 1500000;
static const int TASTED = 500000;
static const int GRAPES = 40;
static const int RACK = 4096;
static const int MONTHS = 24;

__global__ void taste(const Barrel* __restrict__ cellar, const int* __restrict__ list,
                      const float* __restrict__ ideal, float* __restrict__ score, int n)
{
    int lane = threadIdx.x % 32;
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int warps = gridDim.x * blockDim.x / 32;
    for (int t = warp; t < n; t += warps) {
        const Barrel* b = &cellar[list[t]];
        float d = b->spectrum[lane] - ideal[b->grape * AROMAS + lane];
        float q = d * d;
        for (int o = 16; o > 0; o /= 2) q += __shfl_xor_sync(0xffffffffu, q, o);
        if (lane == 0) {
            float age = (float)(2024 - b->vintage);
            score[t] += 100.0f / (1.0f + q) + 0.1f * age - b->sulphur;
        }
    }
}

__global__ void evaporate(Barrel* cellar, float dryness, int n)
{
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        float loss = cellar[i].volume * 0.001f * dryness * cellar[i].oak;
        cellar[i].volume -= loss;
        cellar[i].angel += loss;
    }
}

__global__ void blend_rack(Barrel* cellar, int turn, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (cellar[i].rack % 24 != turn) return;
    float mean = 0.0f;
    for (int k = 0; k < AROMAS; ++k) mean += cellar[i].spectrum[k];
    mean *= 1.0f / AROMAS;
    for (int k = 0; k < AROMAS; ++k)
        cellar[i].spectrum[k] = 0.95f * cellar[i].spectrum[k] + 0.05f * mean;
    cellar[i].price += 0.25 * mean;
}

static unsigned long long z = 7;
static unsigned draw()
{
    z += 0x9e3779b97f4a7c15ull;
    unsigned long long v = z;
    v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9ull;
    v = (v ^ (v >> 27)) * 0x94d049bb133111ebull;
    return (unsigned)(v >> 32);
}

int main()
{
    std::vector<Barrel> cellar(BARRELS);
    for (int i = 0; i < BARRELS; ++i) {
        unsigned u = draw(), v = draw();
        for (int k = 0; k < AROMAS; ++k) {
            cellar[i].spectrum[k] = (float)((u >> (k % 24)) & 255u) * (1.0f / 255.0f);
        }
        cellar[i].price = 50.0 + (v % 1000u) * 0.1;
        cellar[i].volume = 225.0f;
        cellar[i].sulphur = (float)(v & 63u) * 0.02f;
        cellar[i].grape = (int)((u >> 7) % (unsigned)GRAPES);
        cellar[i].vintage = (short)(1960 + (v >> 8) % 60u);
        cellar[i].rack = (short)(i / RACK);
        cellar[i].oak = 0.5f + (float)((v >> 16) & 255u) / 255.0f;
        cellar[i].angel = 0.0f;
    }
    std::vector<int> list(TASTED);
    for (int t = 0; t < TASTED; ++t) list[t] = (int)(draw() % (unsigned)BARRELS);
    std::vector<float> ideal(GRAPES * AROMAS);
    for (size_t k = 0; k < ideal.size(); ++k) ideal[k] = (float)(draw() & 1023u) / 1023.0f;

    Barrel* d_cellar;
    int* d_list;
    float *d_ideal, *d_score;
    CUDA_OK(cudaMalloc(&d_cellar, sizeof(Barrel) * (size_t)BARRELS));
    CUDA_OK(cudaMalloc(&d_list, sizeof(int) * TASTED));
    CUDA_OK(cudaMalloc(&d_ideal, sizeof(float) * ideal.size()));
    CUDA_OK(cudaMalloc(&d_score, sizeof(float) * TASTED));
    CUDA_OK(cudaMemcpy(d_cellar, cellar.data(), sizeof(Barrel) * (size_t)BARRELS, cudaMemcpyHostToDevice));
    CUDA_OK(cudaMemcpy(d_list, list.data(), sizeof(int) * TASTED, cudaMemcpyHostToDevice));
    CUDA_OK(cudaMemcpy(d_ideal, ideal.data(), sizeof(float) * ideal.size(), cudaMemcpyHostToDevice));
    CUDA_OK(cudaMemset(d_score, 0, sizeof(float) * TASTED));

    // warm-up month
    taste<<<2048, 256>>>(d_cellar, d_list, d_ideal, d_score, TASTED);
    evaporate<<<1024, 256>>>(d_cellar, 1.0f, BARRELS);
    blend_rack<<<(BARRELS + 127) / 128, 128>>>(d_cellar, 0, BARRELS);
    CUDA_OK(cudaGetLastError());
    CUDA_OK(cudaDeviceSynchronize());

    cudaEvent_t a, b;
    CUDA_OK(cudaEventCreate(&a));
    CUDA_OK(cudaEventCreate(&b));
    CUDA_OK(cudaEventRecord(a));
    for (int m = 0; m < MONTHS; ++m) {
        taste<<<2048, 256>>>(d_cellar, d_list, d_ideal, d_score, TASTED);
        for (int week = 0; week < 4; ++week)
            evaporate<<<1024, 256>>>(d_cellar, 0.2f * (m % 5), BARRELS);
        blend_rack<<<(BARRELS + 127) / 128, 128>>>(d_cellar, m % 24, BARRELS);
    }
    CUDA_OK(cudaEventRecord(b));
    CUDA_OK(cudaEventSynchronize(b));
    CUDA_OK(cudaGetLastError());
    float ms = 0;
    CUDA_OK(cudaEventElapsedTime(&ms, a, b));

    std::vector<float> score(TASTED);
    CUDA_OK(cudaMemcpy(cellar.data(), d_cellar, sizeof(Barrel) * (size_t)BARRELS, cudaMemcpyDeviceToHost));
    CUDA_OK(cudaMemcpy(score.data(), d_score, sizeof(float) * TASTED, cudaMemcpyDeviceToHost));
    double vol = 0, angel = 0, price = 0, aroma = 0, points = 0;
    for (int i = 0; i < BARRELS; ++i) {
        vol += cellar[i].volume;
        angel += cellar[i].angel;
        price += cellar[i].price;
        aroma += cellar[i].spectrum[i % AROMAS];
    }
    for (int t = 0; t < TASTED; ++t) points += score[t];
    printf("check volume %.8g\n", vol);
    printf("check angel %.8g\n", angel);
    printf("check price %.9g\n", price);
    printf("check aroma %.8g\n", aroma);
    printf("check points %.8g\n", points);
    printf("time_ms %.4f\n", ms);
    return 0;
}
