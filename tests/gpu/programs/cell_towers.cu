// cell_towers.cu
// Down-link association model: handsets move on a map, pick the best sector out
// of the candidate list of their map bin, sectors sum up the offered traffic,
// and the resulting utilisation feeds back as interference.
//
//   usage: cell_towers [number of handsets]

#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

#define CUDA_CHECK(call)                                                        \
    do {                                                                        \
        cudaError_t err_ = (call);                                              \
        if (err_ != cudaSuccess) {                                              \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__,                  \
                    cudaGetErrorString(err_));                                  \
            exit(EXIT_FAILURE);                                                 \
        }                                                                       \
    } while (0)

static const int   SITES_X    = 32;          // sites == bins per map side
static const int   SECTORS    = 3;
static const int   MAX_CAND   = 24;
static const float BIN_SIZE   = 500.0f;      // metres
static const float MAP_SIZE   = SITES_X * BIN_SIZE;
static const int   WARMUP     = 3;
static const int   STEPS      = 40;

enum UserClass { USER_WALK = 0, USER_CAR = 1, USER_FIXED = 2 };

struct Handset {
    float x, y;                 // position, m
    float vx, vy;               // m/s
    float demand;               // Mbit/s
    float shadow;               // shadow fading of this user, dB
    float rsrp;                 // of the serving sector, dBm
    float sinr;                 // dB
    float rate;                 // achieved, Mbit/s
    int   serving;              // sector index or -1
    int   better;               // candidate while time-to-trigger runs
    short timer;
    unsigned short handovers;
    unsigned char cls;
    unsigned char indoor;
};

struct Tower {
    float x, y, height;
    float eirp;                 // dBm
    float azimuth;              // rad
    float bandwidth;            // MHz
    float util;                 // smoothed utilisation 0..1
    float bias;                 // load balancing offset, dB
    unsigned long long offered; // kbit/s, summed over the attached users
    int   attached;
    int   lastAttached;
    int   overload;             // steps in overload
    short band;
    short site;
};

struct MapBin {
    int   first;                // into the candidate list
    int   count;
    float clutter;              // dB
};

__host__ __device__ inline unsigned mix(unsigned v)
{
    v ^= v >> 16; v *= 0x7feb352du;
    v ^= v >> 15; v *= 0x846ca68bu;
    v ^= v >> 16;
    return v;
}

__host__ __device__ inline float unit(unsigned v) { return (mix(v) >> 8) * (1.0f / 16777216.0f); }

__device__ inline int binOf(float x, float y)
{
    int bx = min(SITES_X - 1, max(0, (int)(x / BIN_SIZE)));
    int by = min(SITES_X - 1, max(0, (int)(y / BIN_SIZE)));
    return by * SITES_X + bx;
}

// received power of sector t at (x, y), dBm
__device__ float received(const Tower &t, float x, float y, float extraLoss)
{
    float dx = x - t.x, dy = y - t.y;
    float d2 = dx * dx + dy * dy + t.height * t.height;
    float loss = 15.3f + 18.8f * log10f(d2) + extraLoss;
    float phi = atan2f(dy, dx) - t.azimuth;
    if (phi > 3.14159265f)  phi -= 6.2831853f;
    if (phi < -3.14159265f) phi += 6.2831853f;
    float a = phi * (1.0f / 1.134f);
    float pattern = fminf(12.0f * a * a, 25.0f);
    return t.eirp - loss - pattern;
}

__global__ void moveHandsets(Handset *hs, int n, float dt, unsigned step)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (hs[i].cls == USER_FIXED) return;

    float vx = hs[i].vx, vy = hs[i].vy;
    if (hs[i].cls == USER_CAR) {
        // cars turn by 90 degrees now and then
        unsigned r = mix(i * 2654435761u + step);
        if ((r & 31u) == 0) {
            float t = vx;
            vx = (r & 64u) ? -vy : vy;
            vy = (r & 64u) ? t : -t;
        }
    }
    float x = hs[i].x + vx * dt;
    float y = hs[i].y + vy * dt;
    if (x < 0.0f)      { x = -x;                 vx = -vx; }
    if (x > MAP_SIZE)  { x = 2 * MAP_SIZE - x;   vx = -vx; }
    if (y < 0.0f)      { y = -y;                 vy = -vy; }
    if (y > MAP_SIZE)  { y = 2 * MAP_SIZE - y;   vy = -vy; }
    hs[i].x = x;   hs[i].y = y;
    hs[i].vx = vx; hs[i].vy = vy;
}

__global__ void chooseTower(Handset *hs, const Tower *tw, const MapBin *bins,
                            const int *cand, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;

    Handset &h = hs[i];
    const MapBin bin = bins[binOf(h.x, h.y)];
    float extra = bin.clutter + h.shadow + (h.indoor ? 18.0f : 0.0f);

    int   best = -1;
    float bestP = -1e30f, servP = -1e30f;
    for (int k = 0; k < bin.count; ++k) {
        int s = cand[bin.first + k];
        float p = received(tw[s], h.x, h.y, extra);
        if (s == h.serving) servP = p;
        float q = p + tw[s].bias;
        if (q > bestP) { bestP = q; best = s; }
    }

    int serving = h.serving;
    if (serving < 0 || servP < -125.0f) {          // (re)connect at once
        if (serving >= 0) h.handovers++;
        serving = best;
        h.timer = 0;
    } else if (best != serving && bestP > servP + tw[serving].bias + 2.0f) {
        if (h.better == best) {
            if (++h.timer >= 2) { serving = best; h.handovers++; h.timer = 0; }
        } else {
            h.better = best;
            h.timer = 0;
        }
    } else {
        h.better = -1;
        h.timer = 0;
    }
    h.serving = serving;
    h.rsrp = received(tw[serving], h.x, h.y, extra);
}

__global__ void collectLoad(const Handset *hs, Tower *tw, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int s = hs[i].serving;
        if (s < 0) continue;
        atomicAdd(&tw[s].attached, 1);
        atomicAdd(&tw[s].offered, (unsigned long long)(hs[i].demand * 1000.0f));
    }
}

__global__ void interference(Handset *hs, const Tower *tw, const MapBin *bins,
                             const int *cand, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = hs[i].x, y = hs[i].y;
    int serving = hs[i].serving;
    const MapBin *b = bins + binOf(x, y);
    float extra = b->clutter + hs[i].shadow + (hs[i].indoor ? 18.0f : 0.0f);

    float noise = 1e-10f;                             // mW, -100 dBm
    short band = tw[serving].band;
    for (int k = 0; k < b->count; ++k) {
        int s = cand[b->first + k];
        if (s == serving || tw[s].band != band) continue;
        noise += tw[s].util * exp10f(0.1f * received(tw[s], x, y, extra));
    }
    float sig = exp10f(0.1f * hs[i].rsrp);
    float ratio = sig / noise;
    float share = 1.0f / (1.0f + 0.05f * (float)tw[serving].lastAttached);
    hs[i].sinr = 10.0f * log10f(ratio);
    hs[i].rate = fminf(hs[i].demand, tw[serving].bandwidth * share * log2f(1.0f + ratio));
}

__global__ void updateTowers(Tower *tw, int nt, float loadScale)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= nt) return;
    float cap = tw[t].bandwidth * 1800.0f;            // kbit/s
    float u = fminf(1.0f, (float)tw[t].offered * loadScale / cap);
    u = 0.7f * tw[t].util + 0.3f * u;
    tw[t].util = u;
    if (u > 0.85f) {
        tw[t].overload++;
        tw[t].bias = fmaxf(tw[t].bias - 0.25f, -6.0f);
    } else if (tw[t].bias < 0.0f) {
        tw[t].bias += 0.125f;
    }
    tw[t].lastAttached = tw[t].attached;
    tw[t].attached = 0;
    tw[t].offered = 0;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1000000;
    if (n < 1) n = 1;
    const int nSites = SITES_X * SITES_X, nTowers = nSites * SECTORS;

    Handset *hs = (Handset *)malloc(sizeof(Handset) * (size_t)n);
    Tower   *tw = (Tower *)malloc(sizeof(Tower) * nTowers);
    MapBin  *bins = (MapBin *)malloc(sizeof(MapBin) * nSites);
    int     *cand = (int *)malloc(sizeof(int) * nSites * MAX_CAND);

    for (int s = 0; s < nSites; ++s) {
        float sx = (s % SITES_X + 0.2f + 0.6f * unit(s * 3 + 1)) * BIN_SIZE;
        float sy = (s / SITES_X + 0.2f + 0.6f * unit(s * 3 + 2)) * BIN_SIZE;
        for (int k = 0; k < SECTORS; ++k) {
            Tower t = {};
            t.x = sx; t.y = sy;
            t.height = 20.0f + 25.0f * unit(s + 7000);
            t.eirp = 58.0f + 4.0f * unit(s * 5 + k + 9000);
            t.azimuth = -2.0943951f + 2.0943951f * k;
            t.bandwidth = (s % 4 == 0) ? 100.0f : 40.0f;
            t.util = 0.3f;
            t.band = (short)(mix(s + 77) % 2);
            t.site = (short)s;
            tw[s * SECTORS + k] = t;
        }
    }
    int total = 0;
    for (int b = 0; b < nSites; ++b) {
        int bx = b % SITES_X, by = b / SITES_X;
        bins[b].first = total;
        bins[b].clutter = 6.0f * unit(b + 31337);
        int c = 0;
        for (int dy = -1; dy <= 1; ++dy)
            for (int dx = -1; dx <= 1; ++dx) {
                int x = bx + dx, y = by + dy;
                if (x < 0 || y < 0 || x >= SITES_X || y >= SITES_X) continue;
                for (int k = 0; k < SECTORS && c < MAX_CAND; ++k, ++c)
                    cand[total++] = (y * SITES_X + x) * SECTORS + k;
            }
        bins[b].count = c;
    }
    for (int i = 0; i < n; ++i) {
        Handset h = {};
        unsigned s = (unsigned)i * 16u + 12345u;
        h.x = unit(s) * MAP_SIZE;
        h.y = unit(s + 1) * MAP_SIZE;
        float c = unit(s + 2);
        h.cls = c < 0.5f ? USER_WALK : (c < 0.8f ? USER_CAR : USER_FIXED);
        float speed = h.cls == USER_CAR ? 14.0f : 1.4f;
        h.vx = speed * (2.0f * unit(s + 3) - 1.0f);
        h.vy = speed * (2.0f * unit(s + 4) - 1.0f);
        h.demand = 0.1f + 2.0f * unit(s + 5) * unit(s + 6);
        h.shadow = 8.0f * (unit(s + 7) + unit(s + 8) - 1.0f);
        h.indoor = h.cls != USER_CAR && unit(s + 9) < 0.6f;
        h.serving = -1;
        h.better = -1;
        hs[i] = h;
    }

    Handset *dHs; Tower *dTw; MapBin *dBins; int *dCand;
    CUDA_CHECK(cudaMalloc(&dHs, sizeof(Handset) * (size_t)n));
    CUDA_CHECK(cudaMalloc(&dTw, sizeof(Tower) * nTowers));
    CUDA_CHECK(cudaMalloc(&dBins, sizeof(MapBin) * nSites));
    CUDA_CHECK(cudaMalloc(&dCand, sizeof(int) * total));
    CUDA_CHECK(cudaMemcpy(dHs, hs, sizeof(Handset) * (size_t)n, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(dTw, tw, sizeof(Tower) * nTowers, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(dBins, bins, sizeof(MapBin) * nSites, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(dCand, cand, sizeof(int) * total, cudaMemcpyHostToDevice));

    cudaEvent_t e0, e1;
    CUDA_CHECK(cudaEventCreate(&e0));
    CUDA_CHECK(cudaEventCreate(&e1));

    const int threads = 256, blocks = (n + threads - 1) / threads;
    const float loadScale = 400000.0f / n;
    for (int step = 0; step < WARMUP + STEPS; ++step) {
        if (step == WARMUP) CUDA_CHECK(cudaEventRecord(e0));
        moveHandsets<<<blocks, threads>>>(dHs, n, 1.0f, (unsigned)step);
        chooseTower<<<blocks, threads>>>(dHs, dTw, dBins, dCand, n);
        collectLoad<<<blocks < 1056 ? blocks : 1056, threads>>>(dHs, dTw, n);
        interference<<<blocks, threads>>>(dHs, dTw, dBins, dCand, n);
        updateTowers<<<(nTowers + 127) / 128, 128>>>(dTw, nTowers, loadScale);
    }
    CUDA_CHECK(cudaEventRecord(e1));
    CUDA_CHECK(cudaEventSynchronize(e1));
    CUDA_CHECK(cudaGetLastError());
    float ms = 0.0f;
    CUDA_CHECK(cudaEventElapsedTime(&ms, e0, e1));

    CUDA_CHECK(cudaMemcpy(hs, dHs, sizeof(Handset) * (size_t)n, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(tw, dTw, sizeof(Tower) * nTowers, cudaMemcpyDeviceToHost));

    long long sinr = 0, rate = 0, ho = 0;
    unsigned long long assoc = 0, cells = 0;
    for (int i = 0; i < n; ++i) {
        sinr += llrintf(hs[i].sinr * 100.0f);
        rate += llrintf(hs[i].rate * 1000.0f);
        ho += hs[i].handovers;
        assoc = assoc * 31 + (unsigned)hs[i].serving;
    }
    for (int t = 0; t < nTowers; ++t)
        cells += (unsigned long long)(t + 1) * (unsigned)tw[t].lastAttached + (unsigned)tw[t].overload;
    printf("check %llu/%lld/%lld/%lld/%llu\n", assoc, sinr, rate, ho, cells);
    printf("time_ms %.6f\n", ms / STEPS);

    cudaFree(dHs); cudaFree(dTw); cudaFree(dBins); cudaFree(dCand);
    free(hs); free(tw); free(bins); free(cand);
    return 0;
}
