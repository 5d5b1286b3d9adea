// estuary_lattice.cu
// D2Q9 lattice Boltzmann flow through an estuary with piers and islands, a tidal
// inflow on the left, a dye released from a few outfalls, and gauging sections.
//
// One record per lattice site, two lattices that are swapped every step.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <random>
#include <utility>
#include <vector>
#include <cuda_runtime.h>

static void check(cudaError_t e, int line)
{
    if (e == cudaSuccess) return;
    std::cerr << "line " << line << ": " << cudaGetErrorString(e) << std::endl;
    std::exit(2);
}
#define CK(x) check((x), __LINE__)

enum SiteKind { WATER = 0, WALL = 1, OUTFALL = 2 };

struct Site {
    float f[9];
    float dye;
    unsigned char kind;
    unsigned char bed;      // index into the table of relaxation rates
    unsigned short gauge;   // gauging section or 0
};

struct Macro {
    float rho;
    float ux, uy;
    float shear;
    float dyeDose;          // accumulated over time
    int wetSteps;
};

struct Gauge {
    unsigned long long discharge;   // two's complement
    unsigned long long dye;
    int peakSpeed;
    int samples;
};

__constant__ int cX[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
__constant__ int cY[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
__constant__ int cOpp[9] = {0, 3, 4, 1, 2, 7, 8, 5, 6};
__constant__ float cW[9] = {4.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 9,
                            1.f / 36, 1.f / 36, 1.f / 36, 1.f / 36};
__constant__ float cOmega[4];

__host__ __device__ inline float equilibrium(float w, int cx, int cy, float rho, float ux, float uy)
{
    const float cu = 3.0f * (cx * ux + cy * uy);
    return w * rho * (1.0f + cu + 0.5f * cu * cu - 1.5f * (ux * ux + uy * uy));
}

template <int BX, int BY>
__global__ __launch_bounds__(BX * BY) void collideAndStream(const Site *__restrict__ src,
                                                            Site *__restrict__ dst, int w, int h)
{
    const int x = blockIdx.x * BX + threadIdx.x;
    const int y = blockIdx.y * BY + threadIdx.y;
    if (x < 1 || x >= w - 1 || y < 1 || y >= h - 1) return;
    const int id = y * w + x;
    const unsigned char kind = src[id].kind;
    if (kind == WALL) return;

    float f[9];
    float rho = 0.f, ux = 0.f, uy = 0.f, dye = 0.f;
#pragma unroll
    for (int k = 0; k < 9; ++k) {
        const int from = id - cY[k] * w - cX[k];
        const bool wall = src[from].kind == WALL;
        f[k] = wall ? src[id].f[cOpp[k]] : src[from].f[k];
        dye += f[k] * (wall ? src[id].dye : src[from].dye);
        rho += f[k];
        ux += cX[k] * f[k];
        uy += cY[k] * f[k];
    }
    const float inv = 1.0f / rho;
    ux *= inv;
    uy *= inv;
    const float omega = cOmega[src[id].bed];
#pragma unroll
    for (int k = 0; k < 9; ++k)
        dst[id].f[k] = f[k] + omega * (equilibrium(cW[k], cX[k], cY[k], rho, ux, uy) - f[k]);
    dye *= inv;
    if (kind == OUTFALL) dye += 0.05f * (1.0f - dye);
    dst[id].dye = dye;
}

__global__ void tidalBoundary(Site *lat, int w, int h, float inflow)
{
    const int y = blockIdx.x * blockDim.x + threadIdx.x + 1;
    if (y >= h - 1) return;
    Site *in = lat + (size_t)y * w;
    Site *out = in + w - 1;
    if (in->kind != WALL) {
        const float s = 4.0f * y * (h - 1.0f - y) / ((h - 1.0f) * (h - 1.0f));
        for (int k = 0; k < 9; ++k)
            in->f[k] = equilibrium(cW[k], cX[k], cY[k], 1.0f, inflow * s, 0.0f);
        in->dye = 0.0f;
    }
    if (out->kind != WALL) {
        const Site inner = out[-1];
        float rho = 0.f;
        for (int k = 0; k < 9; ++k) rho += inner.f[k];
        for (int k = 0; k < 9; ++k) out->f[k] = inner.f[k] / rho;   // keep the sea level at 1
        out->dye = inner.dye;
    }
}

__global__ void macroscopic(const Site *lat, Macro *mac, int total)
{
    const int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += stride) {
        if (lat[i].kind == WALL) continue;
        float rho = 0.f, mx = 0.f, my = 0.f, pxy = 0.f;
        for (int k = 0; k < 9; ++k) {
            const float v = lat[i].f[k];
            rho += v;
            mx += cX[k] * v;
            my += cY[k] * v;
            pxy += cX[k] * cY[k] * v;
        }
        Macro m = mac[i];
        m.rho = rho;
        m.ux = mx / rho;
        m.uy = my / rho;
        m.shear = pxy - mx * my / rho;
        m.dyeDose += lat[i].dye;
        m.wetSteps += 1;
        mac[i] = m;
    }
}

__global__ void readGauges(const Site *lat, const Macro *mac, Gauge *gauges, int w, int h)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    const int id = y * w + x;
    const int g = lat[id].gauge;
    if (g == 0 || lat[id].kind == WALL) return;
    Gauge *ga = &gauges[g - 1];
    // quantised, so that the sum is the same in any order
    const long long q = llrintf(mac[id].ux * mac[id].rho * 65536.0f);
    atomicAdd(&ga->discharge, (unsigned long long)q);
    atomicAdd(&ga->dye, (unsigned long long)(lat[id].dye * 65536.0f));
    const float speed = sqrtf(mac[id].ux * mac[id].ux + mac[id].uy * mac[id].uy);
    atomicMax(&ga->peakSpeed, (int)(speed * 4096.0f));
    atomicAdd(&ga->samples, 1);
}

int main(int argc, char **argv)
{
    const int w = argc > 1 ? std::atoi(argv[1]) : 2400;
    const int h = argc > 2 ? std::atoi(argv[2]) : 1000;
    const int steps = argc > 3 ? std::atoi(argv[3]) : 80;
    const int total = w * h;
    const int nGauges = 16;

    const float omega[4] = {1.60f, 1.45f, 1.25f, 1.05f};
    CK(cudaMemcpyToSymbol(cOmega, omega, sizeof(omega)));

    std::vector<Site> lattice(total);
    {
        static const float W[9] = {4.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 9,
                                   1.f / 36, 1.f / 36, 1.f / 36, 1.f / 36};
        static const int X[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
        static const int Y[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
        for (int y = 0; y < h; ++y)
            for (int x = 0; x < w; ++x) {
                Site &s = lattice[y * w + x];
                for (int k = 0; k < 9; ++k) s.f[k] = equilibrium(W[k], X[k], Y[k], 1.0f, 0.04f, 0.0f);
                s.dye = 0.f;
                s.kind = (y == 0 || y == h - 1) ? WALL : WATER;
                s.bed = (unsigned char)((x / 50 + y / 50) % 4);
                s.gauge = (x % (w / nGauges) == w / nGauges / 2) ? (unsigned short)(1 + std::min(x / (w / nGauges), nGauges - 1)) : 0;
            }
        std::mt19937 rng(99);
        for (int p = 0; p < 120; ++p) {                 // piers and islands
            const int cx = 100 + (int)(rng() % (unsigned)(w - 200));
            const int cy = 20 + (int)(rng() % (unsigned)(h - 40));
            const int r = 3 + (int)(rng() % 14u);
            for (int y = std::max(0, cy - r); y <= std::min(h - 1, cy + r); ++y)
                for (int x = std::max(0, cx - r); x <= std::min(w - 1, cx + r); ++x)
                    if ((x - cx) * (x - cx) + (y - cy) * (y - cy) <= r * r) lattice[y * w + x].kind = WALL;
        }
        for (int p = 0; p < 400; ++p) {
            const int x = 20 + (int)(rng() % (unsigned)(w - 40));
            const int y = 2 + (int)(rng() % (unsigned)(h - 4));
            if (lattice[y * w + x].kind == WATER) lattice[y * w + x].kind = OUTFALL;
        }
    }
    Site *dA, *dB;
    Macro *dMac;
    Gauge *dGauge;
    CK(cudaMalloc(&dA, total * sizeof(Site)));
    CK(cudaMalloc(&dB, total * sizeof(Site)));
    CK(cudaMalloc(&dMac, total * sizeof(Macro)));
    CK(cudaMalloc(&dGauge, nGauges * sizeof(Gauge)));
    CK(cudaMemcpy(dA, lattice.data(), total * sizeof(Site), cudaMemcpyHostToDevice));
    CK(cudaMemcpy(dB, lattice.data(), total * sizeof(Site), cudaMemcpyHostToDevice));
    CK(cudaMemset(dMac, 0, total * sizeof(Macro)));
    CK(cudaMemset(dGauge, 0, nGauges * sizeof(Gauge)));

    constexpr int BX = 64, BY = 4;
    const dim3 block(BX, BY), grid((w + BX - 1) / BX, (h + BY - 1) / BY);
    cudaEvent_t e0, e1;
    CK(cudaEventCreate(&e0));
    CK(cudaEventCreate(&e1));
    CK(cudaEventRecord(e0));
    for (int s = 0; s < steps; ++s) {
        collideAndStream<BX, BY><<<grid, block>>>(dA, dB, w, h);
        tidalBoundary<<<(h + 127) / 128, 128>>>(dB, w, h, 0.04f + 0.02f * std::sin(0.05f * s));
        macroscopic<<<132 * 8, 256>>>(dB, dMac, total);
        readGauges<<<grid, block>>>(dB, dMac, dGauge, w, h);
        std::swap(dA, dB);
    }
    CK(cudaEventRecord(e1));
    CK(cudaEventSynchronize(e1));
    CK(cudaGetLastError());
    float ms;
    CK(cudaEventElapsedTime(&ms, e0, e1));

    std::vector<Macro> mac(total);
    std::vector<Gauge> gauges(nGauges);
    CK(cudaMemcpy(lattice.data(), dA, total * sizeof(Site), cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(mac.data(), dMac, total * sizeof(Macro), cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(gauges.data(), dGauge, nGauges * sizeof(Gauge), cudaMemcpyDeviceToHost));
    double mass = 0, dye = 0, speed = 0, shear = 0, dose = 0, discharge = 0, gdye = 0;
    double dir[9] = {};
    long long wet = 0, samples = 0;
    int peak = 0;
    for (int i = 0; i < total; ++i) {
        if (lattice[i].kind == WALL) continue;
        for (int k = 0; k < 9; ++k) dir[k] += lattice[i].f[k];
        dye += lattice[i].dye;
        mass += mac[i].rho;
        speed += std::sqrt((double)mac[i].ux * mac[i].ux + (double)mac[i].uy * mac[i].uy);
        shear += std::fabs(mac[i].shear);
        dose += mac[i].dyeDose;
        wet += mac[i].wetSteps;
    }
    for (const Gauge &g : gauges) {
        discharge += (double)(long long)g.discharge;
        gdye += (double)g.dye;
        samples += g.samples;
        peak = std::max(peak, g.peakSpeed);
    }
    double mix = 0;
    for (int k = 0; k < 9; ++k) mix += (k + 1) * dir[k];
    std::printf("time_ms %.5f\n", ms / steps);
    std::printf("check mass %.5e\n", mass);
    std::printf("check directions %.5e\n", mix);
    std::printf("check dye %.3e\n", dye);
    std::printf("check speed %.4e\n", speed);
    std::printf("check shear %.3e\n", shear);
    std::printf("check dose %.3e\n", dose);
    std::printf("check discharge %.4e\n", discharge);
    std::printf("check gaugedye %.2e\n", gdye);
    std::printf("check wet %lld\n", wet);
    std::printf("check samples %lld\n", samples);
    std::printf("check peak %d\n", peak / 16);
    CK(cudaFree(dA));
    CK(cudaFree(dB));
    CK(cudaFree(dMac));
    CK(cudaFree(dGauge));
    return 0;
}
