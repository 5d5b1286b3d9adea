// Distributes parcels to 256 depots: histogram, prefix sum, scatter of the
// whole records, and a load report per depot over the sorted parcels.
//   usage: parcel_sort [parcels]
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

static void cudaTry(cudaError_t e, int line)
{
    if (e == cudaSuccess) return;
    fprintf(stderr, "CUDA: %s (line %d)\n", cudaGetErrorName(e), line);
    exit(1);
}
#define CUDA_TRY(expr) cudaTry((expr), __LINE__)

#define DEPOTS 256
#define THREADS 256 // per block; the kernels count on THREADS == DEPOTS

struct Parcel {
    unsigned long long id;
    int depot;
    unsigned zip;
    float weight; // kg
    float length, width, height, value;
    int priority;
    unsigned arrival, carrier;
};

struct DepotLoad {
    unsigned long long grams;
    unsigned long long express;
};

__global__ void histogram(const Parcel *parcels, int n, int *counts)
{
    __shared__ int local[DEPOTS];
    local[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&local[parcels[i].depot], 1);
    __syncthreads();
    atomicAdd(&counts[threadIdx.x], local[threadIdx.x]);
}

// one block of DEPOTS threads; offsets has DEPOTS + 1 entries
__global__ void scanCounts(const int *counts, int *offsets, int *cursors)
{
    __shared__ int s[DEPOTS];
    int t = threadIdx.x;
    s[t] = counts[t];
    __syncthreads();
    for (int d = 1; d < DEPOTS; d *= 2) {
        int add = t >= d ? s[t - d] : 0;
        __syncthreads();
        s[t] += add;
        __syncthreads();
    }
    offsets[t + 1] = s[t];
    if (t == 0) offsets[0] = 0;
    cursors[t] = s[t] - counts[t];
}

// the order inside a depot is arbitrary
__global__ void scatter(const Parcel *__restrict__ in, Parcel *__restrict__ out, int n, int *cursors)
{
    __shared__ int base[DEPOTS];
    base[threadIdx.x] = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int depot = -1, rank = 0;
    if (i < n) {
        depot = in[i].depot;
        rank = atomicAdd(&base[depot], 1);
    }
    __syncthreads();
    int mine = base[threadIdx.x];
    if (mine > 0) base[threadIdx.x] = atomicAdd(&cursors[threadIdx.x], mine);
    __syncthreads();
    if (i < n) out[base[depot] + rank] = in[i];
}

__global__ void depotLoad(const Parcel *sorted, const int *offsets, DepotLoad *loads)
{
    __shared__ unsigned long long grams[THREADS], express[THREADS];
    int t = threadIdx.x;
    unsigned long long g = 0, e = 0;
    for (int i = offsets[blockIdx.x] + t; i < offsets[blockIdx.x + 1]; i += THREADS) {
        g += (unsigned long long)(sorted[i].weight * 1000.0f);
        if (sorted[i].priority >= 2) e++;
    }
    grams[t] = g;
    express[t] = e;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (t < half) {
            grams[t] += grams[t + half];
            express[t] += express[t + half];
        }
    }
    if (t == 0) loads[blockIdx.x] = {grams[0], express[0]};
}

static unsigned long long hash64(unsigned long long x)
{
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdull;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53ull;
    return x ^ (x >> 33);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 2500000;
    size_t bytes = (size_t)n * sizeof(Parcel);
    Parcel *parcels = (Parcel *)malloc(bytes);
    for (int i = 0; i < n; i++) {
        unsigned long long h = hash64(i + 1), k = hash64(h);
        Parcel *p = &parcels[i];
        p->id = h;
        p->depot = (int)((h >> 8) % DEPOTS) & ((h & 1) ? 255 : 127);
        p->zip = 10000 + (unsigned)(k % 89999);
        p->weight = 0.1f + (k >> 50) * 0.002f;
        p->length = 10.0f + (h >> 58), p->width = 10.0f + (h >> 52 & 63), p->height = 5.0f + (h >> 46 & 31);
        p->value = (k >> 20 & 0xfff) * 0.25f;
        p->priority = (int)(k >> 40) & 3, p->arrival = i / 100;
        p->carrier = (unsigned)(k >> 33) % 12;
    }

    Parcel *d_in, *d_out;
    int *d_counts, *d_offsets, *d_cursors;
    DepotLoad *d_loads;
    CUDA_TRY(cudaMalloc(&d_in, bytes));
    CUDA_TRY(cudaMalloc(&d_out, bytes));
    CUDA_TRY(cudaMalloc(&d_counts, DEPOTS * sizeof(int)));
    CUDA_TRY(cudaMalloc(&d_offsets, (DEPOTS + 1) * sizeof(int)));
    CUDA_TRY(cudaMalloc(&d_cursors, DEPOTS * sizeof(int)));
    CUDA_TRY(cudaMalloc(&d_loads, DEPOTS * sizeof(DepotLoad)));
    CUDA_TRY(cudaMemcpy(d_in, parcels, bytes, cudaMemcpyHostToDevice));

    const int reps = 20;
    cudaEvent_t start, stop;
    CUDA_TRY(cudaEventCreate(&start));
    CUDA_TRY(cudaEventCreate(&stop));
    for (int r = 0; r <= reps; r++) {
        if (r == 1) CUDA_TRY(cudaEventRecord(start));
        CUDA_TRY(cudaMemsetAsync(d_counts, 0, DEPOTS * sizeof(int)));
        histogram<<<528, DEPOTS>>>(d_in, n, d_counts);
        scanCounts<<<1, DEPOTS>>>(d_counts, d_offsets, d_cursors);
        scatter<<<(n + THREADS - 1) / THREADS, THREADS>>>(d_in, d_out, n, d_cursors);
        depotLoad<<<DEPOTS, THREADS>>>(d_out, d_offsets, d_loads);
    }
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(cudaEventRecord(stop));
    CUDA_TRY(cudaEventSynchronize(stop));
    float ms;
    CUDA_TRY(cudaEventElapsedTime(&ms, start, stop));

    int offsets[DEPOTS + 1];
    DepotLoad loads[DEPOTS];
    CUDA_TRY(cudaMemcpy(parcels, d_out, bytes, cudaMemcpyDeviceToHost));
    CUDA_TRY(cudaMemcpy(offsets, d_offsets, sizeof(offsets), cudaMemcpyDeviceToHost));
    CUDA_TRY(cudaMemcpy(loads, d_loads, sizeof(loads), cudaMemcpyDeviceToHost));
    unsigned long long check = 0; // sums only: independent of the order inside a depot
    for (int d = 0; d < DEPOTS; d++) {
        for (int i = offsets[d]; i < offsets[d + 1]; i++) {
            const Parcel &p = parcels[i];
            unsigned long long dims = (unsigned long long)(p.length + 100 * p.width + 10000 * p.height + 8 * p.value);
            check += hash64(p.id ^ (d * 1000003ull)) + hash64(p.zip * 31ull + p.depot + dims * 64);
            check += llround(p.weight * 1000.0) * 5 + p.priority + p.arrival * 3ull + p.carrier;
        }
        check += hash64(loads[d].grams * 3 + loads[d].express + d);
    }
    printf("time_ms %.4f\ncheck %llu\n", ms / reps, check);
    for (void *p : {(void *)d_in, (void *)d_out, (void *)d_counts, (void *)d_offsets, (void *)d_cursors, (void *)d_loads})
        CUDA_TRY(cudaFree(p));
    free(parcels);
    return 0;
}
