// ember_spotting.cu
//
// Chapter 4 code: firebrand (ember) transport over a fuel raster.
// Embers are lofted at the fire front, drift in a terrain-following log wind
// with a bit of Langevin turbulence, burn down, land, and heat the fuel bed.
//
// nvcc -std=c++17 -O3 -arch=sm_90 ember_spotting.cu -o ember_spotting

#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

#define CUDA_CHECK(call)                                                     \
    do {                                                                     \
        cudaError_t err__ = (call);                                          \
        if (err__ != cudaSuccess) {                                          \
            fprintf(stderr, "%s:%d CUDA error: %s\n", __FILE__, __LINE__,    \
                    cudaGetErrorString(err__));                              \
            exit(1);                                                         \
        }                                                                    \
    } while (0)

enum { EMBER_FLYING = 0, EMBER_LANDED = 1, EMBER_BURNT = 2 };
enum { FUEL_UNBURNT = 0, FUEL_BURNING = 1, FUEL_ASH = 2 };

struct Ember {
    float3   pos;
    float3   vel;
    float    diameter;   // mm
    float    temp;       // K
    int      state;
    float    age;
    unsigned rng;
    int      launches;
};

struct FuelCell {
    float elev;
    float fuel;        // kg / m^2
    float moisture;
    float windU, windV;
    float heat;
    float heatNext;
    int   hits;
    int   state;
    int   ignitedAt;
};

struct SimParams {
    int   nx, ny;
    float dx;
    float dt;
    float z0;
    float sigmaW;
    float burnRate;
    float heatPerHit;
};

__constant__ SimParams P;

__host__ __device__ inline unsigned pcg(unsigned &s)
{
    s = s * 747796405u + 2891336453u;
    unsigned w = ((s >> ((s >> 28) + 4u)) ^ s) * 277803737u;
    return (w >> 22) ^ w;
}
__host__ __device__ inline float u01(unsigned &s) { return (pcg(s) >> 8) * (1.0f / 16777216.0f); }

__device__ inline int cellOf(float x, float y)
{
    int i = (int)(x / P.dx), j = (int)(y / P.dx);
    i = min(max(i, 0), P.nx - 1);
    j = min(max(j, 0), P.ny - 1);
    return j * P.nx + i;
}

__device__ float3 windAt(const FuelCell &c, float z)
{
    float h = fmaxf(z - c.elev, 0.1f);
    float prof = __logf((h + P.z0) / P.z0) * 0.2f;
    float up = (c.state == FUEL_BURNING) ? 3.0f * __expf(-h * 0.02f) : 0.0f;
    return make_float3(c.windU * prof, c.windV * prof, up);
}

// one explicit step of a single ember
__device__ void stepEmber(Ember &e, const float3 &w)
{
    float tau = 0.05f + 0.02f * e.diameter;
    float a = P.dt / (tau + P.dt);
    float gx = u01(e.rng) - 0.5f, gy = u01(e.rng) - 0.5f, gz = u01(e.rng) - 0.5f;
    e.vel.x += a * (w.x - e.vel.x) + P.sigmaW * gx;
    e.vel.y += a * (w.y - e.vel.y) + P.sigmaW * gy;
    e.vel.z += a * (w.z - 0.9f * sqrtf(e.diameter) - e.vel.z) + P.sigmaW * gz;
    e.pos.x += e.vel.x * P.dt;
    e.pos.y += e.vel.y * P.dt;
    e.pos.z += e.vel.z * P.dt;
    e.diameter *= 1.0f - P.burnRate * P.dt;
    e.temp += P.dt * 0.3f * (600.0f - e.temp) / (1.0f + e.diameter);
    e.age += P.dt;
}

__global__ void advectEmbers(Ember *embers, FuelCell *cells, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Ember e = embers[i];
    if (e.state != EMBER_FLYING) return;

    float3 w = windAt(cells[cellOf(e.pos.x, e.pos.y)], e.pos.z);
    stepEmber(e, w);

    int c = cellOf(e.pos.x, e.pos.y);
    if (e.pos.z <= cells[c].elev) {
        e.pos.z = cells[c].elev;
        if (e.temp > 620.0f) {
            e.state = EMBER_LANDED;
            atomicAdd(&cells[c].hits, 1);
        } else {
            e.state = EMBER_BURNT;
        }
    }
    embers[i] = e;
}

__global__ void heatFuel(FuelCell *cells)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= P.nx || y >= P.ny) return;
    int id = y * P.nx + x;
    float acc = 0.0f;
    int cnt = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dxx = -1; dxx <= 1; dxx++) {
            int xx = x + dxx, yy = y + dy;
            if (xx < 0 || yy < 0 || xx >= P.nx || yy >= P.ny) continue;
            const FuelCell &nb = cells[yy * P.nx + xx];
            acc += nb.heat;
            cnt++;
        }
    FuelCell &me = cells[id];
    float diff = acc / cnt - me.heat;
    me.heatNext = 0.995f * me.heat + 0.1f * diff + P.heatPerHit * me.hits;
}

__global__ void ignite(FuelCell *cells, int n, int step)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= n) return;
    FuelCell *c = &cells[id];
    c->heat = c->heatNext;
    c->hits = 0;
    c->moisture = fmaxf(0.0f, c->moisture - 0.0005f * c->heat);
    if (c->state == FUEL_UNBURNT) {
        if (c->heat > 1.0f + 8.0f * c->moisture && c->fuel > 0.05f) {
            c->state = FUEL_BURNING;
            c->ignitedAt = step;
        }
    } else if (c->state == FUEL_BURNING) {
        c->fuel *= 0.97f;
        c->heat += 0.05f * c->fuel;
        if (c->fuel < 0.05f) c->state = FUEL_ASH;
    }
}

__global__ void relaunch(Ember *embers, const FuelCell *cells, int n, float frontX)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (embers[i].state == EMBER_FLYING) return;
    unsigned s = embers[i].rng;
    float L = P.ny * P.dx;
    float y = u01(s) * L;
    float x = frontX + 60.0f * __sinf(y * 0.004f) + 30.0f * u01(s);
    float elev = cells[cellOf(x, y)].elev;
    embers[i].pos = make_float3(x, y, elev + 2.0f + 25.0f * u01(s));
    embers[i].vel = make_float3(0.0f, 0.0f, 4.0f * u01(s));
    embers[i].diameter = 2.0f + 8.0f * u01(s);
    embers[i].temp = 1100.0f;
    embers[i].age = 0.0f;
    embers[i].state = EMBER_FLYING;
    embers[i].launches += 1;
    embers[i].rng = s;
}

int main()
{
    SimParams hp;
    hp.nx = 1024; hp.ny = 1024; hp.dx = 5.0f; hp.dt = 0.15f; hp.z0 = 0.3f;
    hp.sigmaW = 0.4f; hp.burnRate = 0.01f; hp.heatPerHit = 0.15f;
    const int nEmbers = 2000000;
    const int nCells = hp.nx * hp.ny;
    const int nSteps = 40;

    std::vector<FuelCell> hc(nCells);
    unsigned s = 12345u;
    for (int j = 0; j < hp.ny; j++)
        for (int i = 0; i < hp.nx; i++) {
            FuelCell &c = hc[j * hp.nx + i];
            c.elev = 80.0f + 40.0f * sinf(i * 0.011f) * cosf(j * 0.007f) + 10.0f * sinf(i * 0.05f + j * 0.03f);
            c.fuel = ((i / 37 + j / 53) % 4 == 0) ? 0.02f : 0.5f + 1.5f * u01(s);
            c.moisture = 0.05f + 0.1f * u01(s);
            c.windU = 9.0f + 1.5f * sinf(j * 0.02f);
            c.windV = 1.0f + 1.0f * cosf(i * 0.013f);
            c.heat = c.heatNext = 0.0f;
            c.hits = 0;
            c.state = (i > 90 && i < 100 && c.fuel > 0.05f) ? FUEL_BURNING : FUEL_UNBURNT;
            c.ignitedAt = -1;
        }
    // embers are stored along the front line (sorted by y), as the lofting model emits them
    std::vector<Ember> he(nEmbers);
    for (int k = 0; k < nEmbers; k++) {
        Ember &e = he[k];
        e.rng = 0x9E3779B9u * (k + 1);
        float y = (k + u01(e.rng)) / nEmbers * hp.ny * hp.dx;
        float x = 480.0f + 400.0f * u01(e.rng);
        int c = (int)(y / hp.dx) * hp.nx + (int)(x / hp.dx);
        if (c >= nCells) c = nCells - 1;
        e.pos = make_float3(x, y, hc[c].elev + 1.0f + 20.0f * u01(e.rng));
        e.vel = make_float3(2.0f, 0.0f, 1.0f);
        e.diameter = 2.0f + 8.0f * u01(e.rng);
        e.temp = 900.0f + 200.0f * u01(e.rng);
        e.state = EMBER_FLYING;
        e.age = 0.0f;
        e.launches = 1;
    }

    Ember *dE; FuelCell *dC;
    CUDA_CHECK(cudaMalloc(&dE, nEmbers * sizeof(Ember)));
    CUDA_CHECK(cudaMalloc(&dC, nCells * sizeof(FuelCell)));
    CUDA_CHECK(cudaMemcpy(dE, he.data(), nEmbers * sizeof(Ember), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(dC, hc.data(), nCells * sizeof(FuelCell), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpyToSymbol(P, &hp, sizeof(hp)));

    dim3 b2(32, 8), g2((hp.nx + 31) / 32, (hp.ny + 7) / 8);
    int gE = (nEmbers + 255) / 256, gC = (nCells + 255) / 256;
    cudaEvent_t t0, t1;
    CUDA_CHECK(cudaEventCreate(&t0));
    CUDA_CHECK(cudaEventCreate(&t1));
    for (int step = -1; step < nSteps; step++) {
        if (step == 0) CUDA_CHECK(cudaEventRecord(t0));   // step -1 is the warm-up
        advectEmbers<<<gE, 256>>>(dE, dC, nEmbers);
        heatFuel<<<g2, b2>>>(dC);
        ignite<<<gC, 256>>>(dC, nCells, step);
        relaunch<<<gE, 256>>>(dE, dC, nEmbers, 480.0f + 2.0f * step);
    }
    CUDA_CHECK(cudaEventRecord(t1));
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaEventSynchronize(t1));
    float ms = 0.0f;
    CUDA_CHECK(cudaEventElapsedTime(&ms, t0, t1));

    CUDA_CHECK(cudaMemcpy(he.data(), dE, nEmbers * sizeof(Ember), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(hc.data(), dC, nCells * sizeof(FuelCell), cudaMemcpyDeviceToHost));
    double sx = 0, sz = 0, st = 0, heat = 0, fuel = 0;
    long long launches = 0, burning = 0;
    for (const Ember &e : he) { sx += e.pos.x; sz += e.pos.z; st += e.temp; launches += e.launches; }
    for (const FuelCell &c : hc) { heat += c.heat; fuel += c.fuel; burning += c.state != FUEL_UNBURNT; }
    printf("check ember_x %.6e\n", sx);
    printf("check ember_z %.6e\n", sz);
    printf("check ember_temp %.6e\n", st);
    printf("check launches %lld\n", launches);
    printf("check heat %.6e\n", heat);
    printf("check fuel %.6e\n", fuel);
    printf("check burnt_cells %lld\n", burning);
    printf("time_ms %.4f\n", ms);
    CUDA_CHECK(cudaFree(dE));
    CUDA_CHECK(cudaFree(dC));
    return 0;
}
