// Tomato greenhouse on a fine 2D floor plan: heat, humidity and CO2 spread
// between cells, plants transpire and take up CO2, vents and heaters act.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

#define NX 3072
#define NY 2048
#define BX 32
#define BY 8

enum CellKind : uint8_t { BED = 0, PATH = 1, VENT = 2, HEATER = 3 };

struct Cell {
    float temp;
    float humid;
    float co2;
    float leafArea;
    float biomass;
    float lamp;
    float soilWater;
    uint8_t kind;
    uint8_t cultivar;
    uint16_t row;
};

struct Cultivar {
    float maxRate;
    float halfCo2;
    float topt;
    float stomata;
};

static void check(cudaError_t e, const char* what)
{
    if (e != cudaSuccess) {
        fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
        exit(EXIT_FAILURE);
    }
}

__global__ void diffuse(const Cell* __restrict__ in, Cell* __restrict__ out, float kT, float kH, float kC)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= NX || y >= NY)
        return;
    int c = y * NX + x;
    int l = x > 0 ? c - 1 : c;
    int r = x < NX - 1 ? c + 1 : c;
    int d = y > 0 ? c - NX : c;
    int u = y < NY - 1 ? c + NX : c;

    float t = in[c].temp;
    float h = in[c].humid;
    float g = in[c].co2;
    t += kT * (in[l].temp + in[r].temp + in[d].temp + in[u].temp - 4.0f * t);
    h += kH * (in[l].humid + in[r].humid + in[d].humid + in[u].humid - 4.0f * h);
    g += kC * (in[l].co2 + in[r].co2 + in[d].co2 + in[u].co2 - 4.0f * g);
    out[c].temp = t;
    out[c].humid = h;
    out[c].co2 = g;
}

__global__ void react(Cell* cells, const Cultivar* cult, float dt, float sun)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= NX || y >= NY)
        return;
    Cell c = cells[y * NX + x];
    switch (c.kind) {
    case BED: {
        Cultivar k = cult[c.cultivar];
        float light = sun + c.lamp;
        float dT = (c.temp - k.topt) * 0.1f;
        float rate = k.maxRate * light * c.co2 / (c.co2 + k.halfCo2) * expf(-dT * dT);
        float uptake = rate * c.leafArea * dt;
        c.co2 = fmaxf(c.co2 - 8.0f * uptake, 50.0f);
        c.biomass += uptake;
        float vap = k.stomata * c.leafArea * (1.0f - c.humid) * dt * c.soilWater;
        c.humid += 0.2f * vap;
        c.soilWater = fmaxf(c.soilWater - 0.01f * vap, 0.2f);
        c.temp += 0.02f * light * dt - 0.3f * vap;
        break;
    }
    case VENT:
        c.temp += (14.0f - c.temp) * 0.2f * dt;
        c.humid += (0.5f - c.humid) * 0.2f * dt;
        c.co2 += (410.0f - c.co2) * 0.2f * dt;
        break;
    case HEATER:
        c.temp += (45.0f - c.temp) * 0.1f * dt;
        c.co2 += 3.0f * dt;
        break;
    default:
        break;
    }
    cells[y * NX + x] = c;
}

// mean temperature per bench row, one block per row
__global__ void rowMeans(const Cell* cells, float* mean)
{
    __shared__ float acc[BX * BY];
    int y = blockIdx.x;
    float s = 0.0f;
    for (int x = threadIdx.x; x < NX; x += blockDim.x)
        s += cells[y * NX + x].temp;
    acc[threadIdx.x] = s;
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k >>= 1) {
        if (threadIdx.x < k)
            acc[threadIdx.x] += acc[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        mean[y] = acc[0] / NX;
}

static uint32_t lcg(uint32_t& s)
{
    s = s * 1664525u + 1013904223u;
    return s >> 8;
}

int main()
{
    const size_t n = (size_t)NX * NY;
    Cell* host = (Cell*)malloc(n * sizeof(Cell));
    uint32_t seed = 77u;
    for (int y = 0; y < NY; y++) {
        for (int x = 0; x < NX; x++) {
            Cell& c = host[(size_t)y * NX + x];
            c.temp = 18.0f + (lcg(seed) % 1000) * 0.004f;
            c.humid = 0.5f + (lcg(seed) % 1000) * 0.0003f;
            c.co2 = 420.0f + (lcg(seed) % 1000) * 0.1f;
            c.biomass = 0.0f;
            c.soilWater = 0.8f;
            c.row = (uint16_t)(y / 12);
            c.cultivar = (uint8_t)((y / 12) % 6);
            if (y % 12 < 8)
                c.kind = BED;
            else
                c.kind = PATH;
            if (x % 256 == 0 && y % 64 < 6)
                c.kind = VENT;
            if (x % 512 == 100 && y % 128 < 4)
                c.kind = HEATER;
            c.leafArea = c.kind == BED ? 1.0f + (lcg(seed) % 1000) * 0.002f : 0.0f;
            c.lamp = (x / 16) % 4 == 0 ? 0.4f : 0.1f;
        }
    }
    Cultivar hc[6];
    for (int k = 0; k < 6; k++)
        hc[k] = { 0.03f + 0.004f * k, 300.0f + 15.0f * k, 21.0f + 0.5f * k, 0.05f + 0.01f * k };

    Cell *a, *b;
    Cultivar* dc;
    float* dmean;
    check(cudaMalloc(&a, n * sizeof(Cell)), "malloc a");
    check(cudaMalloc(&b, n * sizeof(Cell)), "malloc b");
    check(cudaMalloc(&dc, sizeof(hc)), "malloc cult");
    check(cudaMalloc(&dmean, NY * sizeof(float)), "malloc mean");
    check(cudaMemcpy(a, host, n * sizeof(Cell), cudaMemcpyHostToDevice), "copy a");
    check(cudaMemcpy(b, host, n * sizeof(Cell), cudaMemcpyHostToDevice), "copy b");
    check(cudaMemcpy(dc, hc, sizeof(hc), cudaMemcpyHostToDevice), "copy cult");

    dim3 block(BX, BY);
    dim3 grid((NX + BX - 1) / BX, (NY + BY - 1) / BY);

    cudaEvent_t start, stop;
    cudaEventCreate(&start);
    cudaEventCreate(&stop);

    const int reps = 50;
    for (int rep = -2; rep < reps; rep++) {
        if (rep == 0)
            cudaEventRecord(start);
        // air mixes faster than plants respond: four half steps of mixing (a -> b -> a -> b -> a)
        for (int k = 0; k < 2; k++) {
            diffuse<<<grid, block>>>(a, b, 0.12f, 0.10f, 0.15f);
            diffuse<<<grid, block>>>(b, a, 0.12f, 0.10f, 0.15f);
        }
        float sun = 0.5f + 0.02f * (rep % 20);
        react<<<grid, block>>>(a, dc, 0.05f, sun);
        rowMeans<<<NY, BX * BY>>>(a, dmean);
    }
    cudaEventRecord(stop);
    check(cudaEventSynchronize(stop), "run");
    check(cudaGetLastError(), "launch");
    float ms = 0;
    cudaEventElapsedTime(&ms, start, stop);

    check(cudaMemcpy(host, a, n * sizeof(Cell), cudaMemcpyDeviceToHost), "copy back");
    float* mean = (float*)malloc(NY * sizeof(float));
    check(cudaMemcpy(mean, dmean, NY * sizeof(float), cudaMemcpyDeviceToHost), "copy mean");
    double st = 0, sh = 0, sc = 0, sb = 0, sm = 0;
    for (size_t i = 0; i < n; i++) {
        st += host[i].temp;
        sh += host[i].humid;
        sc += host[i].co2;
        sb += host[i].biomass;
    }
    for (int y = 0; y < NY; y++)
        sm += mean[y];
    printf("check temp %.6g\n", st);
    printf("check humid %.6g\n", sh);
    printf("check co2 %.6g\n", sc);
    printf("check biomass %.5g\n", sb);
    printf("check rowmean %.6g\n", sm);
    printf("time_ms %.5f\n", ms / reps);
    free(host);
    free(mean);
    cudaFree(a);
    cudaFree(b);
    cudaFree(dc);
    cudaFree(dmean);
    return 0;
}
