// Honeybee foraging: dancers recruit bees to flower patches scattered over a
// landscape; patches regrow nectar every hour.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

#define CU(call)                                                     \
    do {                                                             \
        cudaError_t e = (call);                                      \
        if (e != cudaSuccess) {                                      \
            fprintf(stderr, "cuda error %s (%s:%d)\n",               \
                    cudaGetErrorString(e), __FILE__, __LINE__);      \
            exit(EXIT_FAILURE);                                      \
        }                                                            \
    } while (0)

struct Patch {
    float x, y;
    float nectar;
    float sugar;
    float pollen;
    int species;
    short bloomStart;
    short bloomEnd;
    int visits;
    float shade;
    float altitude;
    unsigned char colour;
    unsigned char thorny;
    short soil;
};

struct Bee {
    float energy;
    int target;
    int trips;
    float honey;
    unsigned int rng;
    short hive;
    short age;
};

__device__ __forceinline__ unsigned int spin(unsigned int &s)
{
    s ^= s << 13;
    s ^= s >> 17;
    s ^= s << 5;
    return s;
}

// Compare a few advertised patches by flowering calendar only.
__global__ void follow_dance(Bee *bees, const Patch *patches, int nb, int np, int day)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < nb) {
        unsigned int s = bees[i].rng;
        int best = bees[i].target;
        for (int k = 0; k < 3; k++) {
            int c = (int)(spin(s) % (unsigned int)np);
            if (patches[c].bloomStart <= day && day < patches[c].bloomEnd) best = c;
        }
        bees[i].rng = s;
        bees[i].target = best;
    }
}

__device__ float gain(const Patch &p, float hx, float hy)
{
    float dx = p.x - hx, dy = p.y - hy;
    float d = sqrtf(dx * dx + dy * dy);
    float haul = p.nectar * p.sugar * (1.0f - 0.5f * p.shade);
    return haul - 0.02f * d - (p.altitude > 900.0f ? 0.2f : 0.0f);
}

__global__ void fly_out(Bee *bees, Patch *patches, int nb, const float *hiveX, const float *hiveY)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < nb) {
        Bee b = bees[i];
        if (b.energy > 0.1f) {
            float g = gain(patches[b.target], hiveX[b.hive], hiveY[b.hive]);
            b.honey += g > 0.0f ? g : 0.0f;
            b.energy = fminf(1.0f, b.energy + 0.05f * g);
            b.trips++;
            atomicAdd(&patches[b.target].visits, 1);
        } else {
            b.energy += 0.3f;
            b.age++;
        }
        bees[i] = b;
    }
}

__global__ void regrow(Patch *patches, int np)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < np) {
        int v = patches[i].visits;
        float nec = patches[i].nectar * (v > 0 ? 0.9f : 1.0f);
        patches[i].nectar = nec + 0.02f * (1.0f - nec);
        patches[i].pollen *= 0.999f;
    }
}

static unsigned long long seed = 88172645463325252ull;
static unsigned int next32()
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned int)(seed >> 33);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 4000000;
    if (n < 1) n = 1;
    int np = n, nb = n - n / 4;
    if (nb < 1) nb = 1;
    const int hives = 64;

    std::vector<Patch> hp(np);
    for (int i = 0; i < np; i++) {
        unsigned int r = next32(), q = next32();
        Patch &p = hp[i];
        p.x = (r & 0xffff) * 0.001f;
        p.y = (q & 0xffff) * 0.001f;
        p.nectar = ((r >> 16) & 0xff) / 255.0f;
        p.sugar = 0.2f + ((q >> 16) & 0xff) / 400.0f;
        p.pollen = 1.0f;
        p.species = r % 311;
        p.bloomStart = (short)(60 + q % 120);
        p.bloomEnd = (short)(p.bloomStart + 20 + r % 60);
        p.visits = 0;
        p.shade = (q % 10) * 0.1f;
        p.altitude = (float)(r % 1000);
        p.colour = (unsigned char)(q % 7);
        p.thorny = (unsigned char)(r & 1);
        p.soil = (short)(q % 13);
    }
    std::vector<Bee> hb(nb);
    for (int i = 0; i < nb; i++) {
        Bee &b = hb[i];
        b.energy = 0.5f;
        b.target = (int)(next32() % (unsigned int)np);
        b.trips = 0;
        b.honey = 0.0f;
        b.rng = next32() | 1u;
        b.hive = (short)(i % hives);
        b.age = 0;
    }
    std::vector<float> hx(hives), hy(hives);
    for (int k = 0; k < hives; k++) {
        hx[k] = (next32() & 0xffff) * 0.001f;
        hy[k] = (next32() & 0xffff) * 0.001f;
    }

    Patch *dp;
    Bee *db;
    float *dx, *dy;
    CU(cudaMalloc((void **)&dp, np * sizeof(Patch)));
    CU(cudaMalloc((void **)&db, nb * sizeof(Bee)));
    CU(cudaMalloc((void **)&dx, hives * sizeof(float)));
    CU(cudaMalloc((void **)&dy, hives * sizeof(float)));
    CU(cudaMemcpy(dp, hp.data(), np * sizeof(Patch), cudaMemcpyHostToDevice));
    CU(cudaMemcpy(db, hb.data(), nb * sizeof(Bee), cudaMemcpyHostToDevice));
    CU(cudaMemcpy(dx, hx.data(), hives * sizeof(float), cudaMemcpyHostToDevice));
    CU(cudaMemcpy(dy, hy.data(), hives * sizeof(float), cudaMemcpyHostToDevice));

    const int T = 256, hours = 12;
    int gb = (nb + T - 1) / T, gp = (np + T - 1) / T;
    cudaEvent_t t0, t1;
    CU(cudaEventCreate(&t0));
    CU(cudaEventCreate(&t1));
    for (int h = -1; h < hours; h++) {
        if (h == 0) CU(cudaEventRecord(t0));
        follow_dance<<<gb, T>>>(db, dp, nb, np, 130 + h);
        fly_out<<<gb, T>>>(db, dp, nb, dx, dy);
        regrow<<<gp, T>>>(dp, np);
    }
    CU(cudaEventRecord(t1));
    CU(cudaEventSynchronize(t1));
    CU(cudaGetLastError());
    float ms;
    CU(cudaEventElapsedTime(&ms, t0, t1));

    CU(cudaMemcpy(hp.data(), dp, np * sizeof(Patch), cudaMemcpyDeviceToHost));
    CU(cudaMemcpy(hb.data(), db, nb * sizeof(Bee), cudaMemcpyDeviceToHost));
    long long trips = 0, visits = 0, targets = 0;
    double honey = 0, nectar = 0, pollen = 0;
    for (int i = 0; i < nb; i++) {
        trips += hb[i].trips;
        targets += hb[i].target % 1009;
        honey += hb[i].honey;
    }
    for (int i = 0; i < np; i++) {
        visits += hp[i].visits;
        nectar += hp[i].nectar;
        pollen += hp[i].pollen;
    }
    printf("check trips %.3e\n", (double)trips);
    printf("check visits %.3e\n", (double)visits);
    printf("check targets %lld\n", targets);
    printf("check honey %.3e\n", honey);
    printf("check nectar %.3e\n", nectar);
    printf("check pollen %.5g\n", pollen);
    printf("time_ms %.4f\n", ms / hours);
    CU(cudaFree(dp));
    CU(cudaFree(db));
    CU(cudaFree(dx));
    CU(cudaFree(dy));
    return 0;
}
