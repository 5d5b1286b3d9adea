// Population model of honey bee colonies with varroa mites over a season.
// Colonies share forage patches; each apiary decides on mite treatment.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define GPU(call)                                                            \
    do {                                                                     \
        cudaError_t s = (call);                                              \
        if (s != cudaSuccess) {                                              \
            fprintf(stderr, "%s failed: %s\n", #call, cudaGetErrorString(s)); \
            exit(1);                                                         \
        }                                                                    \
    } while (0)

#define NBROOD 6
#define NPATCH 4

struct Colony {
    double lifetime_honey;
    float brood[NBROOD];
    float mites_brood[NBROOD / 2];
    float adults;
    float foragers;
    float honey;
    float pollen;
    float mites;
    float virus;
    int patch[NPATCH];
    float dist_km[NPATCH];
    int apiary;
    unsigned int rng;
    short queen_age;
    short days_since_treat;
    unsigned char treated;
    unsigned char dead;
    unsigned char breed;
    unsigned char supers;
};

struct Patch {
    float nectar;
    float pollen;
    float bloom_start;
    float bloom_len;
    float richness;
    float capacity;
    unsigned int demand;
    unsigned char kind;
    unsigned char wet;
    short soil;
};

struct Apiary {
    float temp;
    float rain;
    float threshold;
    float elevation;
    int treated;
    int losses;
};

__device__ float rnd(unsigned int *state) {
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) * (1.0f / 16777216.0f);
}

__device__ bool flying_weather(const Apiary &a) {
    return a.temp > 12.0f && a.rain < 4.0f;
}

__global__ void weather_day(Apiary *ap, int m, int day) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < m) {
        unsigned int s = (unsigned int)(i / 50) * 9781u + day * 6271u + 13u;
        float r = rnd(&s);
        r = rnd(&s);
        float base = 8.0f + 14.0f * sinf(3.14159f * (day + 20) / 220.0f);
        ap[i].temp = base - 0.006f * ap[i].elevation + 6.0f * (r - 0.5f);
        ap[i].rain = r < 0.3f ? 20.0f * rnd(&s) : 0.0f;
    }
}

__global__ void bloom_day(Patch *p, int m, float day) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < m) {
        float used = p[i].demand * 0.01f;
        float left = fmaxf(p[i].nectar - used, 0.0f);
        float x = (day - p[i].bloom_start) / p[i].bloom_len;
        if (x > 0.0f && x < 1.0f) {
            float f = p[i].richness * sinf(3.14159f * x);
            left = fminf(left + f, p[i].capacity);
            p[i].pollen = 0.3f * f;
        } else {
            left *= 0.7f;
            p[i].pollen = 0.0f;
        }
        p[i].nectar = left;
        p[i].demand = 0;
    }
}

__global__ void scout(const Colony *col, int n, Patch *patches, const Apiary *ap) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        if (col[i].dead || !flying_weather(ap[col[i].apiary])) return;
        float f = col[i].foragers;
        for (int k = 0; k < NPATCH; k++) {
            float d = col[i].dist_km[k];
            if (d > 4.5f) continue;
            float want = f * 0.01f / (1.0f + d * d);
            unsigned int q = (unsigned int)want;
            if (q > 0) atomicAdd(&patches[col[i].patch[k]].demand, q);
        }
    }
}

__global__ void collect(Colony *col, int n, const Patch *patches, const Apiary *ap) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        Colony &c = col[i];
        if (c.dead || !flying_weather(ap[c.apiary])) return;
        float got = 0.0f, pol = 0.0f;
        for (int k = 0; k < NPATCH; k++) {
            float d = c.dist_km[k];
            if (d > 4.5f) continue;
            const Patch &p = patches[c.patch[k]];
            if (p.demand == 0) continue;
            float want = floorf(c.foragers * 0.01f / (1.0f + d * d)) * 0.01f;
            float share = fminf(1.0f, p.nectar / (p.demand * 0.01f));
            got += want * share * (1.0f - 0.08f * d);
            pol += want * p.pollen * 0.1f;
        }
        c.honey += got;
        c.pollen += pol;
        c.lifetime_honey += got;
    }
}

__global__ void demography(Colony *col, int n, const Apiary *ap) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        Colony c = col[i];
        if (c.dead) return;
        float t = ap[c.apiary].temp;
        float lay = 1500.0f * expf(-0.002f * c.queen_age) * fminf(1.0f, c.pollen * 0.4f + 0.2f);
        lay *= t > 10.0f ? 1.0f : 0.4f;
        lay *= 0.85f + 0.3f * rnd(&c.rng);
        float emerged = c.brood[NBROOD - 1] * 0.28f;
        float hatched = c.brood[NBROOD - 1] - emerged;
        for (int k = NBROOD - 1; k > 0; k--) {
            float move = c.brood[k - 1] * 0.28f;
            c.brood[k] = (k == NBROOD - 1 ? hatched : c.brood[k]) * 0.99f + move;
            c.brood[k - 1] -= move;
        }
        c.brood[0] += lay;

        float enter = c.mites * 0.12f * fminf(1.0f, c.brood[3] * 0.001f);
        float leave = c.mites_brood[2] * 0.3f;
        c.mites_brood[2] += c.mites_brood[1] * 0.3f - leave;
        c.mites_brood[1] += c.mites_brood[0] * 0.3f - c.mites_brood[1] * 0.3f;
        c.mites_brood[0] += enter - c.mites_brood[0] * 0.3f;
        float fecund = 1.3f + 0.3f * rnd(&c.rng);
        c.mites += leave * fecund - enter - 0.01f * c.mites;
        c.mites = fmaxf(c.mites, 0.0f);

        float load = c.mites / (c.adults + 1.0f);
        c.virus += 0.05f * (fminf(load * 10.0f, 1.0f) - c.virus);
        float death = 0.025f + 0.06f * c.virus + (c.honey < 0.5f ? 0.05f : 0.0f);
        c.adults += emerged * (1.0f - 0.4f * c.virus) - death * c.adults;
        c.foragers = c.adults * (0.25f + 0.1f * (c.brood[0] < 2000.0f));
        c.honey = fmaxf(c.honey - 0.00001f * c.adults - 0.05f, 0.0f);
        c.pollen = fmaxf(c.pollen * 0.9f, 0.0f);
        c.queen_age++;
        col[i] = c;
    }
}

__global__ void inspect(Colony *col, int n, Apiary *ap) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && !col[i].dead) {
        float adults = col[i].adults;
        if (adults < 1200.0f) {
            col[i].dead = 1;
            atomicAdd(&ap[col[i].apiary].losses, 1);
            return;
        }
        col[i].days_since_treat++;
        if (col[i].mites > ap[col[i].apiary].threshold * adults && col[i].days_since_treat > 6) {
            col[i].mites *= 0.1f;
            col[i].treated = 1;
            col[i].days_since_treat = 0;
            atomicAdd(&ap[col[i].apiary].treated, 1);
        }
        if (col[i].honey > 8.0f * (col[i].supers + 1) && col[i].supers < 5) col[i].supers++;
    }
}

static unsigned long long seed_state = 4101842887655102017ull;
static double urand() {
    seed_state ^= seed_state >> 21;
    seed_state ^= seed_state << 35;
    seed_state ^= seed_state >> 4;
    return (double)((seed_state * 2685821657736338717ull) >> 11) / 9007199254740992.0;
}

int main(int argc, char **argv) {
    int n = 900000;
    if (argc > 1) n = atoi(argv[1]);
    if (n < 1) n = 1;
    int n_ap = n / 14 + 1;
    int n_patch = n / 5 + 8;

    Colony *col;
    Patch *patch;
    Apiary *ap;
    GPU(cudaMallocManaged(&col, n * sizeof(Colony)));
    GPU(cudaMallocManaged(&patch, n_patch * sizeof(Patch)));
    GPU(cudaMallocManaged(&ap, n_ap * sizeof(Apiary)));

    for (int i = 0; i < n_ap; i++) {
        ap[i].temp = 15.0f;
        ap[i].rain = 0.0f;
        ap[i].threshold = (float)(0.02 + 0.04 * urand());
        ap[i].elevation = (float)(900.0 * urand());
        ap[i].treated = ap[i].losses = 0;
    }
    for (int i = 0; i < n_patch; i++) {
        patch[i].bloom_start = (float)(90.0 * urand() - 20.0);
        patch[i].bloom_len = (float)(15.0 + 50.0 * urand());
        patch[i].richness = (float)(3.0 + 12.0 * urand());
        patch[i].capacity = 3.0f * patch[i].richness;
        patch[i].nectar = (float)(10.0 * urand());
        patch[i].pollen = 0.2f;
        patch[i].demand = 0;
        patch[i].kind = (unsigned char)(urand() * 7);
        patch[i].wet = (unsigned char)(urand() * 2);
        patch[i].soil = (short)(urand() * 40);
    }
    for (int i = 0; i < n; i++) {
        Colony &c = col[i];
        c.apiary = (int)((long long)i * n_ap / n);
        c.lifetime_honey = 0.0;
        for (int k = 0; k < NBROOD; k++) c.brood[k] = (float)(1500.0 + 1500.0 * urand());
        for (int k = 0; k < NBROOD / 2; k++) c.mites_brood[k] = (float)(30.0 * urand());
        c.adults = (float)(300.0 + 19000.0 * urand());
        c.foragers = 0.3f * c.adults;
        c.honey = (float)(4.0 * urand());
        c.pollen = (float)(2.0 * urand());
        c.mites = (float)(700.0 * urand() * urand());
        c.virus = 0.0f;
        int home = (int)((long long)c.apiary * n_patch / n_ap);
        for (int k = 0; k < NPATCH; k++) {
            c.patch[k] = (home + (int)(urand() * 300) - 150 + n_patch * 40) % n_patch;
            c.dist_km[k] = (float)(0.2 + 5.0 * urand());
        }
        c.rng = (unsigned int)i * 2246822519u + 3266489917u;
        c.queen_age = (short)(urand() * 700);
        c.days_since_treat = (short)(urand() * 30);
        c.treated = 0;
        c.dead = 0;
        c.breed = (unsigned char)(urand() * 5);
        c.supers = 0;
    }

    int tb = 128;
    int gc = (n + tb - 1) / tb, gp = (n_patch + tb - 1) / tb, ga = (n_ap + tb - 1) / tb;
    cudaEvent_t e0, e1;
    GPU(cudaEventCreate(&e0));
    GPU(cudaEventCreate(&e1));
    const int days = 40;
    for (int day = 0; day <= days; day++) {
        if (day == 1) GPU(cudaEventRecord(e0));
        weather_day<<<ga, tb>>>(ap, n_ap, day);
        bloom_day<<<gp, tb>>>(patch, n_patch, (float)day);
        scout<<<gc, tb>>>(col, n, patch, ap);
        collect<<<gc, tb>>>(col, n, patch, ap);
        demography<<<gc, tb>>>(col, n, ap);
        inspect<<<gc, tb>>>(col, n, ap);
    }
    GPU(cudaEventRecord(e1));
    GPU(cudaDeviceSynchronize());
    GPU(cudaGetLastError());
    float ms;
    GPU(cudaEventElapsedTime(&ms, e0, e1));

    double adults = 0, honey = 0, mites = 0, virus = 0, nectar = 0;
    long long dead = 0, treated = 0, losses = 0, supers = 0;
    for (int i = 0; i < n; i++) {
        adults += col[i].adults;
        honey += col[i].lifetime_honey;
        mites += col[i].mites;
        virus += col[i].virus;
        dead += col[i].dead;
        supers += col[i].supers;
    }
    for (int i = 0; i < n_patch; i++) nectar += patch[i].nectar;
    for (int i = 0; i < n_ap; i++) {
        treated += ap[i].treated;
        losses += ap[i].losses;
    }
    printf("check adults %.6g\n", adults);
    printf("check lifetime_honey %.6g\n", honey);
    printf("check mites %.6g\n", mites);
    printf("check virus %.6g\n", virus);
    printf("check nectar %.6g\n", nectar);
    printf("check dead %lld\n", dead);
    printf("check losses %lld\n", losses);
    printf("check treatments %lld\n", treated);
    printf("check supers %lld\n", supers);
    printf("time_ms %.4f\n", ms / days);
    GPU(cudaFree(col));
    GPU(cudaFree(patch));
    GPU(cudaFree(ap));
    return 0;
}
