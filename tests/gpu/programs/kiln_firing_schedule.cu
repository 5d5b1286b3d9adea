// Firing pots in a wood kiln: heat soaks through eight layers of each wall, glaze melts, quartz turns, some pots crack.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <cuda_runtime.h>

constexpr int kLayers = 8;
constexpr int kClays = 48;
constexpr int kShelves = 512;

struct Glaze {
    float melt;
    float gloss;
    float iron;
};

struct Pot {
    float layer[kLayers];
    Glaze glaze;
    float thickness;
    float mass;
    float stress;
    float quartz;
    int clay;
    int shelf;
    unsigned char cracked;
    unsigned char cone;
};

struct Clay {
    double activation;
    float conductivity;
    float capacity;
    float shrinkage;
    float strength;
    float inversion;
    int quarry;
};

struct ShelfReport {
    int cracked;
    int matured;
    unsigned int hottest;
    int pots;
};

struct Firing {
    Pot *pots;
    const Clay *clays;
    ShelfReport *shelves;
    int count;
    float flame;
    float dt;
};

#define CUDA_TRY(e)                                                    \
    if ((e) != cudaSuccess) {                                          \
        std::cerr << "CUDA failure at line " << __LINE__ << std::endl; \
        return EXIT_FAILURE;                                           \
    }

static unsigned noise(unsigned i, unsigned salt)
{
    unsigned x = i * 2654435761u + salt * 40503u + 17u;
    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    x *= 3266489917u;
    return x ^ (x >> 16);
}

static float between(unsigned i, unsigned salt, float lo, float hi)
{
    return lo + (hi - lo) * (noise(i, salt) & 0xFFFF) / 65536.0f;
}

__global__ void soak(Firing f)
{
    int stride = blockDim.x * gridDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < f.count; i += stride) {
        Pot &pot = f.pots[i];
        const Clay &clay = f.clays[pot.clay];
        float k = clay.conductivity * f.dt / (clay.capacity * pot.thickness * pot.thickness);
        float outside = f.flame * (0.8f + 0.0004f * pot.shelf);
        float t[kLayers];
        for (int l = 0; l < kLayers; l++)
            t[l] = pot.layer[l];
        for (int sub = 0; sub < 3; sub++) {
            float left = outside;
            for (int l = 0; l < kLayers; l++) {
                float right = l + 1 < kLayers ? t[l + 1] : t[l];
                float here = t[l];
                t[l] = here + k * (left - 2.0f * here + right);
                left = here;
            }
        }
        for (int l = 0; l < kLayers; l++)
            pot.layer[l] = t[l];
        pot.stress = fabsf(t[0] - t[kLayers - 1]) * clay.shrinkage;
    }
}

__device__ double ripen(const Clay &clay, float kelvin)
{
    return exp(-clay.activation / (8.314 * kelvin));
}

__global__ void mature(Firing f)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= f.count)
        return;
    Pot *pot = f.pots + i;
    if (pot->cracked)
        return;
    const Clay *clay = f.clays + pot->clay;
    float inner = pot->layer[kLayers - 1];
    float jump = 0.0f;
    if (inner > clay->inversion && pot->quartz > 0.0f) {
        jump = 0.1f * pot->quartz;
        pot->quartz -= jump;
    }
    Glaze g = pot->glaze;
    float ripe = (float)ripen(*clay, pot->layer[0] + 273.0f);
    g.melt = fminf(1.0f, g.melt + ripe * (1.0f + g.iron));
    g.gloss += 0.1f * (g.melt - g.gloss);
    pot->glaze = g;
    if (pot->stress + 40.0f * jump > clay->strength)
        pot->cracked = 1;
}

__global__ void inspect(Firing f)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= f.count)
        return;
    ShelfReport *r = &f.shelves[f.pots[i].shelf];
    if (f.pots[i].cracked)
        atomicAdd(&r->cracked, 1);
    else if (f.pots[i].layer[0] > 100.0f * f.pots[i].cone)
        atomicAdd(&r->matured, 1);
    atomicMax(&r->hottest, (unsigned int)f.pots[i].layer[0]);
}

static void fire_once(Firing f, int tick)
{
    f.flame = 200.0f + 12.0f * tick;
    soak<<<1056, 256>>>(f);
    mature<<<(f.count + 127) / 128, 128>>>(f);
    inspect<<<(f.count + 255) / 256, 256>>>(f);
}

int main(int argc, char **argv)
{
    Firing f;
    f.count = argc > 1 ? std::atoi(argv[1]) : 1 << 20;
    f.dt = 0.4f;
    CUDA_TRY(cudaMallocManaged(&f.pots, sizeof(Pot) * (size_t)f.count));
    for (int i = 0; i < f.count; i++) {
        Pot &p = f.pots[i];
        for (int l = 0; l < kLayers; l++)
            p.layer[l] = 20.0f;
        p.glaze.melt = 0.0f;
        p.glaze.gloss = 0.0f;
        p.glaze.iron = between(i, 1, 0.0f, 0.4f);
        p.thickness = between(i, 2, 1.0f, 2.5f);
        p.mass = between(i, 3, 0.3f, 6.0f);
        p.stress = 0.0f;
        p.quartz = between(i, 4, 0.0f, 0.3f);
        p.clay = noise(i, 5) % kClays;
        p.shelf = i / (f.count / kShelves + 1);
        p.cracked = 0;
        p.cone = 3 + noise(i, 6) % 5;
    }
    Clay hostClays[kClays];
    for (int c = 0; c < kClays; c++) {
        hostClays[c].activation = 2.0e4 + 100.0 * (noise(c, 7) % 200);
        hostClays[c].conductivity = between(c, 8, 0.2f, 0.9f);
        hostClays[c].capacity = between(c, 9, 0.9f, 1.5f);
        hostClays[c].shrinkage = between(c, 10, 0.02f, 0.12f);
        hostClays[c].strength = between(c, 11, 20.0f, 60.0f);
        hostClays[c].inversion = 573.0f + c % 5;
        hostClays[c].quarry = c;
    }
    Clay *clays;
    CUDA_TRY(cudaMalloc(&clays, sizeof hostClays));
    CUDA_TRY(cudaMemcpy(clays, hostClays, sizeof hostClays, cudaMemcpyHostToDevice));
    f.clays = clays;
    CUDA_TRY(cudaMalloc(&f.shelves, kShelves * sizeof(ShelfReport)));
    CUDA_TRY(cudaMemset(f.shelves, 0, kShelves * sizeof(ShelfReport)));

    int tick = 0;
    for (; tick < 5; tick++)
        fire_once(f, tick);
    cudaEvent_t t0, t1;
    cudaEventCreate(&t0);
    cudaEventCreate(&t1);
    cudaEventRecord(t0);
    for (; tick < 65; tick++)
        fire_once(f, tick);
    cudaEventRecord(t1);
    CUDA_TRY(cudaEventSynchronize(t1));
    CUDA_TRY(cudaGetLastError());
    float ms = 0;
    cudaEventElapsedTime(&ms, t0, t1);

    ShelfReport reports[kShelves];
    CUDA_TRY(cudaMemcpy(reports, f.shelves, sizeof reports, cudaMemcpyDeviceToHost));
    double sum = 0.0;
    for (int s = 0; s < kShelves; s++)
        sum += reports[s].cracked + 2.0 * reports[s].matured + reports[s].hottest;
    for (int i = 0; i < f.count; i++)
        sum += f.pots[i].layer[3] + f.pots[i].glaze.gloss + f.pots[i].quartz;
    std::printf("check %.6e\n", sum);
    std::printf("time_ms %.5f\n", ms / 60);
    return 0;
}
