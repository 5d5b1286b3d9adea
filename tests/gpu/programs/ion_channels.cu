// Noisy Hodgkin-Huxley membrane patches, one thread per patch (managed memory).
// usage: ion_channels [patches]
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

static void check(cudaError_t e, const char* what)
{
    if (e != cudaSuccess) { printf("%s failed: %s\n", what, cudaGetErrorString(e)); exit(2); }
}
#define CHECK(call) check((call), #call)

enum Kind { PYRAMIDAL = 0, INTERNEURON, PURKINJE, GRANULE, NUM_KINDS };

struct PatchParams
{
    float gNa, gK, gLeak;   // mS / cm^2
    float capacitance;
    float bias, noise;      // constant current, noise amplitude
    int   kind;
};

struct PatchState
{
    float v;                // mV relative to rest
    float m, h, n;          // gates
    float lastSpike;        // ms, -1 if none
    float isiSum;           // sum of inter-spike intervals
    unsigned int rng;
    int   spikes;
    int   above;            // currently above threshold
    int   dead;             // depolarisation block, no more updates
};

struct KindStats
{
    int   alive, spikes;
    float isi, voltage;
};

struct RunConfig
{
    float dt;
    int   substeps, maxSpikes;
    float stimulus, blockVoltage;
};

__device__ float gaussian(unsigned int& s)
{
    // sum of four uniforms, close enough to a normal variable
    float sum = 0.0f;
    for (int k = 0; k < 4; ++k) {
        s = s * 1664525u + 1013904223u;
        sum += (float)(s >> 8) * (1.0f / 16777216.0f);
    }
    return (sum - 2.0f) * 1.7320508f;
}

__device__ float vtrap(float x, float y)
{
    return fabsf(x / y) < 1e-4f ? y * (1.0f - 0.5f * x / y) : x / (__expf(x / y) - 1.0f);
}

__device__ void updateGates(PatchState& s, float dt)
{
    float am = 0.1f * vtrap(25.0f - s.v, 10.0f);
    float bm = 4.0f * __expf(-s.v / 18.0f);
    float ah = 0.07f * __expf(-s.v / 20.0f);
    float bh = 1.0f / (__expf((30.0f - s.v) / 10.0f) + 1.0f);
    float an = 0.01f * vtrap(10.0f - s.v, 10.0f);
    float bn = 0.125f * __expf(-s.v / 80.0f);
    // implicit Euler keeps the gates within (0, 1)
    s.m = (s.m + dt * am) / (1.0f + dt * (am + bm));
    s.h = (s.h + dt * ah) / (1.0f + dt * (ah + bh));
    s.n = (s.n + dt * an) / (1.0f + dt * (an + bn));
}

__device__ float ionicCurrent(const PatchState* s, const PatchParams* p)
{
    float gna = p->gNa * s->m * s->m * s->m * s->h;
    float n2 = s->n * s->n;
    return gna * (s->v - 115.0f) + p->gK * n2 * n2 * (s->v + 12.0f) + p->gLeak * (s->v - 10.6f);
}

__global__ void resetPatches(PatchState* states, const PatchParams* params, int count, unsigned int seed)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    PatchState s;
    s.v = 0.5f * params[i].bias;
    s.m = 0.053f; s.h = 0.596f; s.n = 0.318f;
    s.lastSpike = -1.0f; s.isiSum = 0.0f;
    s.rng = seed ^ (unsigned int)i * 2654435761u;
    s.spikes = s.above = s.dead = 0;
    states[i] = s;
}

__global__ void integrate(PatchState* states, const PatchParams* params, int count, float t0, RunConfig cfg)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count || states[i].dead) return;

    PatchState s = states[i];
    for (int k = 0; k < cfg.substeps; ++k)
    {
        float noise = params[i].noise * gaussian(s.rng);
        float current = cfg.stimulus + params[i].bias + noise - ionicCurrent(&s, &params[i]);
        s.v += cfg.dt * current / params[i].capacitance;
        updateGates(s, cfg.dt);

        float t = t0 + k * cfg.dt;
        if (s.v > 50.0f && !s.above)
        {
            s.above = 1;
            if (s.lastSpike >= 0.0f) s.isiSum += t - s.lastSpike;
            s.lastSpike = t;
            s.spikes++;
        }
        else if (s.v < 30.0f) s.above = 0;
        if (s.v > cfg.blockVoltage || s.spikes >= cfg.maxSpikes) { s.dead = 1; break; }
    }
    states[i] = s;
}

__global__ void census(const PatchState* states, const PatchParams* params, KindStats* out, int count)
{
    __shared__ KindStats acc[NUM_KINDS];
    if (threadIdx.x < NUM_KINDS)
    {
        acc[threadIdx.x].alive = acc[threadIdx.x].spikes = 0;
        acc[threadIdx.x].isi = acc[threadIdx.x].voltage = 0.0f;
    }
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += blockDim.x * gridDim.x)
    {
        KindStats* a = &acc[params[i].kind];
        atomicAdd(&a->spikes, states[i].spikes);
        if (states[i].spikes > 1) atomicAdd(&a->isi, states[i].isiSum);
        if (!states[i].dead)
        {
            atomicAdd(&a->alive, 1);
            atomicAdd(&a->voltage, fabsf(states[i].v));
        }
    }
    __syncthreads();
    if (threadIdx.x < NUM_KINDS)
    {
        atomicAdd(&out[threadIdx.x].alive, acc[threadIdx.x].alive);
        atomicAdd(&out[threadIdx.x].spikes, acc[threadIdx.x].spikes);
        atomicAdd(&out[threadIdx.x].isi, acc[threadIdx.x].isi);
        atomicAdd(&out[threadIdx.x].voltage, acc[threadIdx.x].voltage);
    }
}

int main(int argc, char** argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 2000000;
    PatchParams* params;
    PatchState* states;
    KindStats* stats;
    CHECK(cudaMallocManaged(&params, count * sizeof(PatchParams)));
    CHECK(cudaMallocManaged(&states, count * sizeof(PatchState)));
    CHECK(cudaMallocManaged(&stats, 3 * NUM_KINDS * sizeof(KindStats)));

    unsigned int s = 99u;
    for (int i = 0; i < count; ++i)
    {
        s = s * 1664525u + 1013904223u;
        float u = (s >> 8) / 16777216.0f, w = (s & 0xffff) / 65536.0f;
        params[i].kind = u < 0.5f ? PYRAMIDAL : u < 0.7f ? INTERNEURON : u < 0.8f ? PURKINJE : GRANULE;
        params[i].gNa = 110.0f + 20.0f * w;
        params[i].gK = 33.0f + 6.0f * u;
        params[i].gLeak = 0.25f + 0.1f * w;
        params[i].capacitance = 0.9f + 0.05f * params[i].kind;
        params[i].bias = 2.0f * (w - 0.5f);
        params[i].noise = 4.0f + 2.0f * params[i].kind;
    }
    for (int k = 0; k < 3 * NUM_KINDS; ++k) stats[k] = KindStats{0, 0, 0.0f, 0.0f};

    const int tpb = 256, blocks = (count + tpb - 1) / tpb;
    RunConfig cfg = {0.04f, 10, 6, 10.0f, 118.0f};
    resetPatches<<<blocks, tpb>>>(states, params, count, 1u);
    integrate<<<blocks, tpb>>>(states, params, count, 0.0f, cfg);
    CHECK(cudaDeviceSynchronize());

    float stimuli[3] = {6.0f, 12.0f, 30.0f};
    cudaEvent_t e0, e1;
    CHECK(cudaEventCreate(&e0)); CHECK(cudaEventCreate(&e1));
    CHECK(cudaEventRecord(e0));
    for (int k = 0; k < 3; ++k)
    {
        cfg.stimulus = stimuli[k];
        resetPatches<<<blocks, tpb>>>(states, params, count, 1000u + k);
        for (int it = 0; it < 16; ++it)
            integrate<<<blocks, tpb>>>(states, params, count, it * cfg.substeps * cfg.dt, cfg);
        census<<<512, tpb>>>(states, params, stats + k * NUM_KINDS, count);
    }
    CHECK(cudaEventRecord(e1));
    CHECK(cudaEventSynchronize(e1)); CHECK(cudaGetLastError());
    float ms;
    CHECK(cudaEventElapsedTime(&ms, e0, e1));

    for (int k = 0; k < 3; ++k)
    {
        double alive = 0, spikes = 0, volt = 0;
        for (int j = 0; j < NUM_KINDS; ++j)
        {
            alive += stats[k * NUM_KINDS + j].alive;
            spikes += (j + 1.0) * stats[k * NUM_KINDS + j].spikes;
            volt += stats[k * NUM_KINDS + j].voltage;
        }
        printf("check alive%d %.2e\ncheck spikes%d %.2e\ncheck volt%d %.2e\n", k, alive, k, spikes, k, volt);
    }
    double gates = 0;
    for (int i = 0; i < count; ++i) gates += states[i].m + states[i].h + states[i].n;
    printf("check gates %.2e\ntime_ms %.4f\n", gates, ms);
    return 0;
}
