// Registry of tagged glass eels: tags live in an open-addressing table and
// receiver stations along the river report detections by the million.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define MUST(x)                                                          \
    do {                                                                 \
        cudaError_t rc = (x);                                            \
        if (rc != cudaSuccess) {                                         \
            fprintf(stderr, "%s -> %s\n", #x, cudaGetErrorString(rc));   \
            exit(1);                                                     \
        }                                                                \
    } while (0)

typedef unsigned long long u64;

struct Slot {
    u64 tag;
    int lastSite;
    int lastMinute;
    int detections;
    int deepest;
    float mass;
    float length;
};

struct Eel {
    u64 tag;
    float mass;
    float length;
    int cohort;
    short weir;
    short scale;
};

struct Ping {
    u64 tag;
    int minute;
    short site;
    short depthCm;
    float snr;
};

__host__ __device__ inline u64 mix(u64 k)
{
    k ^= k >> 33;
    k *= 0xff51afd7ed558ccdull;
    k ^= k >> 33;
    k *= 0xc4ceb9fe1a85ec53ull;
    k ^= k >> 33;
    return k;
}

__global__ void clear_table(Slot *table, unsigned int cap)
{
    unsigned int step = gridDim.x * blockDim.x;
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < cap; i += step) {
        table[i].tag = 0;
        table[i].lastSite = -1;
        table[i].lastMinute = -1;
        table[i].detections = 0;
        table[i].deepest = 0;
        table[i].mass = 0.0f;
        table[i].length = 0.0f;
    }
}

__global__ void release_eels(const Eel *eels, int n, Slot *table, unsigned int mask)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        u64 tag = eels[i].tag;
        unsigned int h = (unsigned int)mix(tag) & mask;
        while (true) {
            u64 old = atomicCAS(&table[h].tag, 0ull, tag);
            if (old == 0ull) {
                table[h].mass = eels[i].mass;
                table[h].length = eels[i].length;
                break;
            }
            if (old == tag) break;
            h = (h + 1) & mask;
        }
    }
}

__device__ int find_slot(const Slot *table, unsigned int mask, u64 tag)
{
    unsigned int h = (unsigned int)mix(tag) & mask;
    for (;;) {
        u64 t = table[h].tag;
        if (t == tag) return (int)h;
        if (t == 0ull) return -1;
        h = (h + 1) & mask;
    }
}

__global__ void ingest(const Ping *pings, int m, Slot *table, unsigned int mask, int *strays)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < m) {
        if (pings[i].snr < 3.0f) return;
        int h = find_slot(table, mask, pings[i].tag);
        if (h < 0) {
            atomicAdd(strays, 1);
            return;
        }
        atomicAdd(&table[h].detections, 1);
        atomicMax(&table[h].lastMinute, pings[i].minute);
        atomicMax(&table[h].lastSite, (int)pings[i].site);
        if (pings[i].depthCm > 900) atomicMax(&table[h].deepest, (int)pings[i].depthCm);
    }
}

// Which eels of the release list have reached the sea, by look-up.
__global__ void escapement(const Eel *eels, int n, const Slot *table, unsigned int mask, int seaSite,
                           int *perWeir)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int h = find_slot(table, mask, eels[i].tag);
        if (h >= 0 && table[h].lastSite >= seaSite)
            atomicAdd(&perWeir[eels[i].weir], 1);
    }
}

__global__ void active_tags(const Slot *table, unsigned int cap, u64 *total)
{
    __shared__ int part;
    if (threadIdx.x == 0) part = 0;
    __syncthreads();
    int mine = 0;
    unsigned int step = gridDim.x * blockDim.x;
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < cap; i += step)
        if (table[i].detections > 1) mine += table[i].detections;
    atomicAdd(&part, mine);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(total, (u64)part);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 2200000;
    if (n < 1) n = 1;
    int m = 2 * n;
    unsigned int cap = 64;
    while (cap < n + n / 2u) cap <<= 1;

    std::vector<Eel> eels(n);
    for (int i = 0; i < n; i++) {
        u64 r = mix(i + 1000003ull);
        eels[i].tag = r | 1ull;
        eels[i].mass = 0.2f + (r >> 40) % 100 * 0.001f;
        eels[i].length = 60.0f + (r >> 20) % 100 * 0.1f;
        eels[i].cohort = (int)(r % 9);
        eels[i].weir = (short)((r >> 12) % 24);
        eels[i].scale = (short)(r % 4);
    }
    std::vector<Ping> pings(m);
    for (int i = 0; i < m; i++) {
        u64 r = mix(i * 2654435761ull + 17ull);
        Ping &p = pings[i];
        if (r % 20 == 0)
            p.tag = mix(r) & ~1ull;     // noise that decoded as a tag
        else
            p.tag = eels[(r >> 8) % (u64)n].tag;
        if (p.tag == 0) p.tag = 2;
        p.minute = (int)((r >> 24) % 500000);
        p.site = (short)((r >> 44) % 40);
        p.depthCm = (short)((r >> 34) % 1000);
        p.snr = (r >> 50) % 200 * 0.1f;
    }

    Eel *dEels;
    Ping *dPings;
    Slot *dTable;
    int *dStrays, *dWeir;
    u64 *dTotal;
    MUST(cudaMalloc(&dEels, n * sizeof(Eel)));
    MUST(cudaMalloc(&dPings, m * sizeof(Ping)));
    MUST(cudaMalloc(&dTable, cap * sizeof(Slot)));
    MUST(cudaMalloc(&dStrays, sizeof(int)));
    MUST(cudaMalloc(&dWeir, 24 * sizeof(int)));
    MUST(cudaMalloc(&dTotal, sizeof(u64)));
    MUST(cudaMemcpy(dEels, eels.data(), n * sizeof(Eel), cudaMemcpyHostToDevice));
    MUST(cudaMemcpy(dPings, pings.data(), m * sizeof(Ping), cudaMemcpyHostToDevice));

    const int reps = 8, T = 256;
    cudaEvent_t a, b;
    MUST(cudaEventCreate(&a));
    MUST(cudaEventCreate(&b));
    for (int r = -1; r < reps; r++) {
        if (r == 0) MUST(cudaEventRecord(a));
        MUST(cudaMemsetAsync(dStrays, 0, sizeof(int)));
        MUST(cudaMemsetAsync(dWeir, 0, 24 * sizeof(int)));
        MUST(cudaMemsetAsync(dTotal, 0, sizeof(u64)));
        clear_table<<<1056, T>>>(dTable, cap);
        release_eels<<<(n + T - 1) / T, T>>>(dEels, n, dTable, cap - 1);
        ingest<<<(m + T - 1) / T, T>>>(dPings, m, dTable, cap - 1, dStrays);
        escapement<<<(n + T - 1) / T, T>>>(dEels, n, dTable, cap - 1, 38, dWeir);
        active_tags<<<528, T>>>(dTable, cap, dTotal);
    }
    MUST(cudaEventRecord(b));
    MUST(cudaEventSynchronize(b));
    MUST(cudaGetLastError());
    float ms;
    MUST(cudaEventElapsedTime(&ms, a, b));

    std::vector<Slot> table(cap);
    int strays, weir[24];
    u64 total;
    MUST(cudaMemcpy(table.data(), dTable, cap * sizeof(Slot), cudaMemcpyDeviceToHost));
    MUST(cudaMemcpy(&strays, dStrays, sizeof(int), cudaMemcpyDeviceToHost));
    MUST(cudaMemcpy(weir, dWeir, sizeof(weir), cudaMemcpyDeviceToHost));
    MUST(cudaMemcpy(&total, dTotal, sizeof(u64), cudaMemcpyDeviceToHost));
    long long used = 0, det = 0, minutes = 0, deep = 0, wsum = 0;
    double mass = 0;
    for (unsigned int i = 0; i < cap; i++) {
        if (!table[i].tag) continue;
        used++;
        det += table[i].detections;
        minutes += table[i].lastMinute;
        deep += table[i].deepest;
        mass += table[i].mass;
    }
    for (int k = 0; k < 24; k++) wsum += (long long)weir[k] * (k + 1);
    printf("check used %lld\n", used);
    printf("check detections %lld\n", det);
    printf("check minutes %lld\n", minutes);
    printf("check deepest %lld\n", deep);
    printf("check strays %d\n", strays);
    printf("check escapement %lld\n", wsum);
    printf("check repeat_detections %llu\n", total);
    printf("check mass %.3e\n", mass);
    printf("time_ms %.4f\n", ms / reps);
    MUST(cudaFree(dEels));
    MUST(cudaFree(dPings));
    MUST(cudaFree(dTable));
    MUST(cudaFree(dStrays));
    MUST(cudaFree(dWeir));
    MUST(cudaFree(dTotal));
    return 0;
}
