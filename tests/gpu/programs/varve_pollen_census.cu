// Pollen counting in annually laminated lake sediment (varves).
// Millions of machine-classified grains are tallied per layer, a slice of the
// material is re-measured for quality control, and corroded grains shrink.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CK(call)                                                             \
    do {                                                                     \
        cudaError_t e_ = (call);                                             \
        if (e_ != cudaSuccess) {                                             \
            fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__,                \
                    cudaGetErrorString(e_));                                 \
            exit(1);                                                         \
        }                                                                    \
    } while (0)

struct Grain {
    unsigned short layer;
    unsigned char taxon;
    unsigned char damage;
    float diameter;   // micrometres
};

struct Taxon {
    float meanDiam;
    float sdDiam;
    float productivity;
    int group;        // 0 tree, 1 herb, 2 spore
    char code[8];
    float corrosion;
    int protologue;
};

struct Layer {
    unsigned int trees;
    unsigned int herbs;
    unsigned int spores;
    unsigned int outliers;
    unsigned int diamTenths;
    float thickness;
    double age;
};

static const int NLAYER = 4096;
static const int NTAXA = 96;

__global__ void reset_layers(Layer *layers, int m)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < m) {
        layers[i].trees = 0;
        layers[i].herbs = 0;
        layers[i].spores = 0;
        layers[i].outliers = 0;
        layers[i].diamTenths = 0;
    }
}

__device__ __forceinline__ bool is_outlier(float d, const Taxon &t)
{
    float z = (d - t.meanDiam) / t.sdDiam;
    return z > 3.0f || z < -3.0f;
}

__global__ void census(const Grain *grains, const Taxon *taxa, Layer *layers, int n)
{
    int step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        int L = grains[i].layer;
        int t = grains[i].taxon;
        float d = grains[i].diameter;
        int grp = taxa[t].group;
        if (grp == 0)
            atomicAdd(&layers[L].trees, 1u);
        else if (grp == 1)
            atomicAdd(&layers[L].herbs, 1u);
        else
            atomicAdd(&layers[L].spores, 1u);
        if (is_outlier(d, taxa[t]))
            atomicAdd(&layers[L].outliers, 1u);
    }
}

__global__ void taxon_histogram(const Grain *grains, unsigned long long *counts, int n)
{
    __shared__ unsigned int bins[NTAXA];
    for (int k = threadIdx.x; k < NTAXA; k += blockDim.x)
        bins[k] = 0;
    __syncthreads();
    int step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        atomicAdd(&bins[grains[i].taxon], 1u);
    __syncthreads();
    for (int k = threadIdx.x; k < NTAXA; k += blockDim.x)
        if (bins[k])
            atomicAdd(&counts[k], (unsigned long long)bins[k]);
}

// Every 12th grain is put under the second microscope.
__global__ void remeasure(const Grain *grains, Layer *layers, int n, int every, int offset)
{
    long long i = (long long)(blockIdx.x * blockDim.x + threadIdx.x) * every + offset;
    if (i < n) {
        Grain g = grains[i];
        if (g.damage < 200)
            atomicAdd(&layers[g.layer].diamTenths, (unsigned int)(g.diameter * 10.0f));
    }
}

__global__ void corrode(Grain *grains, const Taxon *taxa, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        unsigned char dmg = grains[i].damage;
        if (dmg > 252) {
            float c = taxa[grains[i].taxon].corrosion;
            grains[i].diameter -= c * grains[i].diameter;
        }
    }
}

static unsigned int lcg(unsigned int &s)
{
    s = s * 1664525u + 1013904223u;
    return s >> 8;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 24000000;
    if (n < 1) n = 1;

    std::vector<Taxon> hTaxa(NTAXA);
    unsigned int s = 77u;
    for (int k = 0; k < NTAXA; k++) {
        Taxon &t = hTaxa[k];
        t.meanDiam = 15.0f + (lcg(s) % 600) * 0.1f;
        t.sdDiam = 0.06f * t.meanDiam;
        t.productivity = (lcg(s) % 1000) * 0.001f;
        t.group = lcg(s) % 3;
        for (int c = 0; c < 8; c++) t.code[c] = 'a' + lcg(s) % 26;
        t.corrosion = 0.001f + (lcg(s) % 100) * 0.0001f;
        t.protologue = 1753 + lcg(s) % 200;
    }
    std::vector<Layer> hLayers(NLAYER);
    for (int k = 0; k < NLAYER; k++) {
        hLayers[k].trees = hLayers[k].herbs = hLayers[k].spores = 0;
        hLayers[k].outliers = hLayers[k].diamTenths = 0;
        hLayers[k].thickness = 0.2f + (lcg(s) % 100) * 0.01f;
        hLayers[k].age = -50.0 + k;
    }
    std::vector<Grain> hGrains(n);
    for (int i = 0; i < n; i++) {
        unsigned int r = lcg(s), q = lcg(s);
        Grain g;
        g.layer = (unsigned short)(r % NLAYER);
        g.taxon = (unsigned char)((q & 0xffff) % NTAXA);
        g.damage = (unsigned char)((r >> 12) & 0xff);
        float u = (float)((q >> 4) % 2001) * 0.001f - 1.0f;
        g.diameter = hTaxa[g.taxon].meanDiam * (1.0f + 0.19f * u);
        hGrains[i] = g;
    }

    Grain *grains;
    Taxon *taxa;
    Layer *layers;
    unsigned long long *counts;
    CK(cudaMalloc(&grains, sizeof(Grain) * n));
    CK(cudaMalloc(&taxa, sizeof(Taxon) * NTAXA));
    CK(cudaMalloc(&layers, sizeof(Layer) * NLAYER));
    CK(cudaMalloc(&counts, sizeof(unsigned long long) * NTAXA));
    CK(cudaMemcpy(grains, hGrains.data(), sizeof(Grain) * n, cudaMemcpyHostToDevice));
    CK(cudaMemcpy(taxa, hTaxa.data(), sizeof(Taxon) * NTAXA, cudaMemcpyHostToDevice));
    CK(cudaMemcpy(layers, hLayers.data(), sizeof(Layer) * NLAYER, cudaMemcpyHostToDevice));
    CK(cudaMemset(counts, 0, sizeof(unsigned long long) * NTAXA));

    const int every = 12, reps = 10;
    int full = (n + 255) / 256;
    int capped = full < 132 * 8 ? full : 132 * 8;
    int sparse = (n / every + 1 + 255) / 256;

    cudaEvent_t e0, e1;
    CK(cudaEventCreate(&e0));
    CK(cudaEventCreate(&e1));
    for (int rep = -1; rep < reps; rep++) {
        if (rep == 0) CK(cudaEventRecord(e0));
        reset_layers<<<(NLAYER + 127) / 128, 128>>>(layers, NLAYER);
        census<<<capped, 256>>>(grains, taxa, layers, n);
        taxon_histogram<<<capped, 256>>>(grains, counts, n);
        remeasure<<<sparse, 256>>>(grains, layers, n, every, (rep + 1) % every);
        corrode<<<full, 256>>>(grains, taxa, n);
    }
    CK(cudaEventRecord(e1));
    CK(cudaEventSynchronize(e1));
    CK(cudaGetLastError());
    float ms = 0;
    CK(cudaEventElapsedTime(&ms, e0, e1));

    std::vector<unsigned long long> hCounts(NTAXA);
    CK(cudaMemcpy(hGrains.data(), grains, sizeof(Grain) * n, cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(hLayers.data(), layers, sizeof(Layer) * NLAYER, cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(hCounts.data(), counts, sizeof(unsigned long long) * NTAXA, cudaMemcpyDeviceToHost));

    unsigned long long tr = 0, he = 0, sp = 0, ou = 0, dt = 0, wc = 0;
    for (int k = 0; k < NLAYER; k++) {
        tr += hLayers[k].trees;
        he += hLayers[k].herbs;
        sp += hLayers[k].spores;
        ou += hLayers[k].outliers;
        dt += (unsigned long long)hLayers[k].diamTenths * (k % 7 + 1);
    }
    for (int k = 0; k < NTAXA; k++) wc += hCounts[k] * (k + 1);
    double sd = 0;
    for (int i = 0; i < n; i++) sd += hGrains[i].diameter;
    printf("check trees %llu\n", tr);
    printf("check herbs %llu\n", he);
    printf("check spores %llu\n", sp);
    printf("check outliers %llu\n", ou);
    printf("check diam_tenths %llu\n", dt);
    printf("check weighted_taxa %llu\n", wc);
    printf("check sum_diameter %.6g\n", sd);
    printf("time_ms %.4f\n", ms / reps);
    CK(cudaFree(grains));
    CK(cudaFree(taxa));
    CK(cudaFree(layers));
    CK(cudaFree(counts));
    return 0;
}
