// Overnight parcel hub: rate every parcel, assign it to an outbound chute,
// sort the parcels by chute (LSD radix sort) and build the chute manifests.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CUDA_OK(x)                                                        \
    do {                                                                  \
        cudaError_t err = (x);                                            \
        if (err != cudaSuccess) {                                         \
            fprintf(stderr, "CUDA error %s at %s:%d\n",                   \
                    cudaGetErrorString(err), __FILE__, __LINE__);         \
            exit(EXIT_FAILURE);                                           \
        }                                                                 \
    } while (0)

struct Parcel {
    int id;
    unsigned int postcode;
    float weight_kg;
    float length_cm;
    float width_cm;
    float height_cm;
    float declared_value;
    float tariff;
    int chute;
    short origin;
    unsigned char service;
    unsigned char flags;
};

struct ZoneRate {
    float base;
    float per_kg;
    float per_dm3;
    float fuel;
    short first_chute;
    short chute_count;
};

struct ChuteManifest {
    int first;
    int count;
    float weight;
    float volume;
    float revenue;
    int fragile;
    int express;
};

const int ZONES = 97;
const int CHUTE_BITS = 12;
const int CHUTES = 1 << CHUTE_BITS;
const int RADIX_BITS = 4;
const int RADIX = 1 << RADIX_BITS;
const int SORT_THREADS = 256;
const int ITEMS = 8;
const int TILE = SORT_THREADS * ITEMS;

const unsigned char FLAG_FRAGILE = 1;
const unsigned char FLAG_OVERSIZE = 2;
const unsigned char FLAG_INSURED = 4;

__device__ float billable_weight(const Parcel &p) {
    float dim = p.length_cm * p.width_cm * p.height_cm / 5000.0f;
    return fmaxf(dim, p.weight_kg);
}

__global__ void rate_parcels(Parcel *parcels, int n, const ZoneRate *rates) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        Parcel p = parcels[i];
        const ZoneRate z = rates[p.postcode % ZONES];
        float vol = p.length_cm * p.width_cm * p.height_cm * 0.001f;
        float price = z.base + z.per_kg * billable_weight(p) + z.per_dm3 * vol;
        price *= 1.0f + z.fuel;
        unsigned char flags = p.flags;
        if (p.service == 3)
            price *= 1.9f;
        else if (p.service == 2)
            price *= 1.35f;
        float girth = p.length_cm + 2.0f * (p.width_cm + p.height_cm);
        if (girth > 260.0f) {
            flags |= FLAG_OVERSIZE;
            price += 12.5f;
        }
        if (p.declared_value > 400.0f) {
            flags |= FLAG_INSURED;
            price += 0.008f * p.declared_value;
        }
        unsigned int h = p.postcode * 2654435761u;
        int chute = (z.first_chute + (int)((h >> 12) % z.chute_count)) % CHUTES;
        parcels[i].tariff = price;
        parcels[i].flags = flags;
        parcels[i].chute = chute;
    }
}

__global__ void count_digits(const Parcel *parcels, int n, int shift, int *counts, int nblocks) {
    __shared__ int hist[RADIX];
    if (threadIdx.x < RADIX) hist[threadIdx.x] = 0;
    __syncthreads();
    int base = blockIdx.x * TILE;
    for (int k = threadIdx.x; k < TILE; k += blockDim.x) {
        int i = base + k;
        if (i < n) atomicAdd(&hist[(parcels[i].chute >> shift) & (RADIX - 1)], 1);
    }
    __syncthreads();
    if (threadIdx.x < RADIX) counts[threadIdx.x * nblocks + blockIdx.x] = hist[threadIdx.x];
}

__global__ void scan_counts(int *counts, int m) {
    __shared__ int part[1024];
    int t = threadIdx.x;
    int per = (m + 1023) / 1024;
    int lo = min(t * per, m), hi = min(lo + per, m);
    int sum = 0;
    for (int i = lo; i < hi; i++) sum += counts[i];
    part[t] = sum;
    __syncthreads();
    for (int off = 1; off < 1024; off <<= 1) {
        int v = t >= off ? part[t - off] : 0;
        __syncthreads();
        part[t] += v;
        __syncthreads();
    }
    int run = t > 0 ? part[t - 1] : 0;
    for (int i = lo; i < hi; i++) {
        int c = counts[i];
        counts[i] = run;
        run += c;
    }
}

__global__ void scatter_parcels(const Parcel *in, Parcel *out, int n, int shift,
                                const int *offsets, int nblocks) {
    __shared__ int slot[RADIX][SORT_THREADS + 1];
    int t = threadIdx.x;
    for (int d = 0; d < RADIX; d++) slot[d][t] = 0;
    __syncthreads();
    int base = blockIdx.x * TILE + t * ITEMS;
    for (int k = 0; k < ITEMS; k++) {
        int i = base + k;
        if (i < n) slot[(in[i].chute >> shift) & (RADIX - 1)][t]++;
    }
    __syncthreads();
    if (t < RADIX) {
        int run = offsets[t * nblocks + blockIdx.x];
        for (int j = 0; j < SORT_THREADS; j++) {
            int c = slot[t][j];
            slot[t][j] = run;
            run += c;
        }
    }
    __syncthreads();
    for (int k = 0; k < ITEMS; k++) {
        int i = base + k;
        if (i < n) {
            int d = (in[i].chute >> shift) & (RADIX - 1);
            int dst = slot[d][t]++;
            out[dst] = in[i];
        }
    }
}

__device__ int lower_bound_chute(const Parcel *p, int n, int chute) {
    int lo = 0, hi = n;
    while (lo < hi) {
        int mid = (lo + hi) >> 1;
        if (p[mid].chute < chute)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

__global__ void build_manifests(const Parcel *parcels, int n, ChuteManifest *man) {
    __shared__ int range[2];
    __shared__ float sw[128], sv[128], sr[128];
    __shared__ int sf[128], se[128];
    int c = blockIdx.x, t = threadIdx.x;
    if (t < 2) range[t] = lower_bound_chute(parcels, n, c + t);
    __syncthreads();
    float w = 0.0f, v = 0.0f, r = 0.0f;
    int f = 0, e = 0;
    for (int i = range[0] + t; i < range[1]; i += blockDim.x) {
        w += parcels[i].weight_kg;
        v += parcels[i].length_cm * parcels[i].width_cm * parcels[i].height_cm * 0.001f;
        r += parcels[i].tariff;
        f += (parcels[i].flags & FLAG_FRAGILE) != 0;
        e += parcels[i].service == 3;
    }
    sw[t] = w;
    sv[t] = v;
    sr[t] = r;
    sf[t] = f;
    se[t] = e;
    __syncthreads();
    for (int s = 64; s > 0; s >>= 1) {
        if (t < s) {
            sw[t] += sw[t + s];
            sv[t] += sv[t + s];
            sr[t] += sr[t + s];
            sf[t] += sf[t + s];
            se[t] += se[t + s];
        }
        __syncthreads();
    }
    if (t == 0) {
        man[c].first = range[0];
        man[c].count = range[1] - range[0];
        man[c].weight = sw[0];
        man[c].volume = sv[0];
        man[c].revenue = sr[0];
        man[c].fragile = sf[0];
        man[c].express = se[0];
    }
}

static unsigned int lcg_state = 20240611u;
static unsigned int lcg() {
    lcg_state = lcg_state * 1664525u + 1013904223u;
    return lcg_state >> 8;
}
static float lcgf() { return lcg() / 16777216.0f; }

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 3000000;
    if (n < 1) n = 1;

    std::vector<Parcel> parcels(n);
    for (int i = 0; i < n; i++) {
        Parcel &p = parcels[i];
        p.id = i;
        p.postcode = 10000u + lcg() % 89999u;
        p.weight_kg = 0.1f + 24.0f * lcgf() * lcgf();
        p.length_cm = 10.0f + 90.0f * lcgf();
        p.width_cm = 8.0f + 50.0f * lcgf();
        p.height_cm = 2.0f + 45.0f * lcgf();
        p.declared_value = 1000.0f * lcgf() * lcgf();
        p.tariff = 0.0f;
        p.chute = 0;
        p.origin = (short)(lcg() % 600);
        p.service = (unsigned char)(1 + lcg() % 3);
        p.flags = lcg() % 11 == 0 ? FLAG_FRAGILE : 0;
    }
    std::vector<ZoneRate> rates(ZONES);
    for (int z = 0; z < ZONES; z++) {
        rates[z].base = 3.0f + 4.0f * lcgf();
        rates[z].per_kg = 0.2f + 0.6f * lcgf();
        rates[z].per_dm3 = 0.01f + 0.03f * lcgf();
        rates[z].fuel = 0.05f + 0.1f * lcgf();
        rates[z].first_chute = (short)(z * CHUTES / ZONES);
        rates[z].chute_count = (short)(20 + lcg() % 40);
    }

    int nblocks = (n + TILE - 1) / TILE;
    Parcel *d_src, *d_a, *d_b;
    ZoneRate *d_rates;
    ChuteManifest *d_man;
    int *d_counts;
    CUDA_OK(cudaMalloc(&d_src, n * sizeof(Parcel)));
    CUDA_OK(cudaMalloc(&d_a, n * sizeof(Parcel)));
    CUDA_OK(cudaMalloc(&d_b, n * sizeof(Parcel)));
    CUDA_OK(cudaMalloc(&d_rates, ZONES * sizeof(ZoneRate)));
    CUDA_OK(cudaMalloc(&d_man, CHUTES * sizeof(ChuteManifest)));
    CUDA_OK(cudaMalloc(&d_counts, (size_t)RADIX * nblocks * sizeof(int)));
    CUDA_OK(cudaMemcpy(d_src, parcels.data(), n * sizeof(Parcel), cudaMemcpyHostToDevice));
    CUDA_OK(cudaMemcpy(d_rates, rates.data(), ZONES * sizeof(ZoneRate), cudaMemcpyHostToDevice));

    cudaEvent_t start, stop;
    CUDA_OK(cudaEventCreate(&start));
    CUDA_OK(cudaEventCreate(&stop));
    const int reps = 10;
    float total = 0.0f;
    Parcel *sorted = nullptr;
    for (int rep = 0; rep <= reps; rep++) {
        CUDA_OK(cudaMemcpy(d_a, d_src, n * sizeof(Parcel), cudaMemcpyDeviceToDevice));
        CUDA_OK(cudaEventRecord(start));
        rate_parcels<<<(n + 255) / 256, 256>>>(d_a, n, d_rates);
        Parcel *in = d_a, *out = d_b;
        for (int shift = 0; shift < CHUTE_BITS; shift += RADIX_BITS) {
            count_digits<<<nblocks, SORT_THREADS>>>(in, n, shift, d_counts, nblocks);
            scan_counts<<<1, 1024>>>(d_counts, RADIX * nblocks);
            scatter_parcels<<<nblocks, SORT_THREADS>>>(in, out, n, shift, d_counts, nblocks);
            Parcel *tmp = in;
            in = out;
            out = tmp;
        }
        sorted = in;
        build_manifests<<<CHUTES, 128>>>(sorted, n, d_man);
        CUDA_OK(cudaEventRecord(stop));
        CUDA_OK(cudaEventSynchronize(stop));
        CUDA_OK(cudaGetLastError());
        float ms;
        CUDA_OK(cudaEventElapsedTime(&ms, start, stop));
        if (rep > 0) total += ms;
    }

    std::vector<ChuteManifest> man(CHUTES);
    CUDA_OK(cudaMemcpy(parcels.data(), sorted, n * sizeof(Parcel), cudaMemcpyDeviceToHost));
    CUDA_OK(cudaMemcpy(man.data(), d_man, CHUTES * sizeof(ChuteManifest), cudaMemcpyDeviceToHost));

    long long inversions = 0, idmix = 0, oversize = 0;
    for (int i = 0; i < n; i++) {
        if (i > 0) {
            if (parcels[i].chute < parcels[i - 1].chute) inversions++;
            if (parcels[i].chute == parcels[i - 1].chute && parcels[i].id < parcels[i - 1].id) inversions++;
        }
        idmix = (idmix * 31 + parcels[i].id) % 1000000007LL;
        oversize += (parcels[i].flags & FLAG_OVERSIZE) != 0;
    }
    long long count = 0, fragile = 0, express = 0;
    double revenue = 0, weight = 0, volume = 0;
    int biggest = 0;
    for (int c = 0; c < CHUTES; c++) {
        count += man[c].count;
        fragile += man[c].fragile;
        express += man[c].express;
        revenue += man[c].revenue;
        weight += man[c].weight;
        volume += man[c].volume;
        if (man[c].count > biggest) biggest = man[c].count;
    }
    printf("check inversions %lld\n", inversions);
    printf("check order_hash %lld\n", idmix);
    printf("check parcels %lld\n", count);
    printf("check oversize %lld\n", oversize);
    printf("check fragile %lld\n", fragile);
    printf("check express %lld\n", express);
    printf("check biggest_chute %d\n", biggest);
    printf("check revenue %.6g\n", revenue);
    printf("check weight %.6g\n", weight);
    printf("check volume %.6g\n", volume);
    printf("time_ms %.4f\n", total / reps);

    cudaFree(d_src);
    cudaFree(d_a);
    cudaFree(d_b);
    cudaFree(d_rates);
    cudaFree(d_man);
    cudaFree(d_counts);
    return 0;
}
