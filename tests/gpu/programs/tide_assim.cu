// Coastal shallow-water model with nudging assimilation of tide gauge records.
// Each repetition: gauge prediction, several model steps (ping-pong), innovation
// scatter to the grid and analysis increment.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <algorithm>
#include <cstdint>
#include <cuda_runtime.h>

#define CUDA_CHECK(expr)                                                         \
    do {                                                                         \
        cudaError_t err_ = (expr);                                               \
        if (err_ != cudaSuccess) {                                               \
            fprintf(stderr, "%s:%d: %s failed: %s\n", __FILE__, __LINE__, #expr, \
                    cudaGetErrorString(err_));                                   \
            exit(EXIT_FAILURE);                                                  \
        }                                                                        \
    } while (0)

constexpr int NX = 1024;
constexpr int NY = 768;
constexpr int N_GAUGES = 20000;
constexpr int N_CONST = 4;          // M2, S2, K1, O1
constexpr int STEPS_PER_CYCLE = 6;
constexpr int STENCIL = 2;          // localisation radius in cells
constexpr float DX = 2000.0f;
constexpr float DT = 12.0f;
constexpr float GRAV = 9.81f;

struct GridCell {
    float eta;            // sea surface elevation
    float u, v;           // face velocities (west / south face)
    float depth;
    double incr;          // accumulated weighted innovation
    double wsum;          // accumulated weights
    short  gaugesNear;
    char   wet;
    char   zone;
};

struct TideGauge {
    float  x, y;                  // position in grid units
    float  amp[N_CONST];
    float  phase[N_CONST];
    float  obs, model;            // observation of this cycle, model equivalent
    float  bias;                  // slowly estimated instrument bias
    float  obsErr;
    double sumSq;                 // running squared innovation
    int    cell;
    short  nUsed, nRejected;
    char   status;                // 0 ok, 1 suspicious, 2 offline
    char   agency[7];
};

template <typename T>
class DeviceBuffer {
public:
    explicit DeviceBuffer(size_t n) : n_(n) { CUDA_CHECK(cudaMalloc(&p_, n * sizeof(T))); }
    ~DeviceBuffer() { cudaFree(p_); }
    DeviceBuffer(const DeviceBuffer&) = delete;
    DeviceBuffer& operator=(const DeviceBuffer&) = delete;
    T* get() { return p_; }
    void upload(const std::vector<T>& h) {
        CUDA_CHECK(cudaMemcpy(p_, h.data(), n_ * sizeof(T), cudaMemcpyHostToDevice));
    }
    void download(std::vector<T>& h) {
        CUDA_CHECK(cudaMemcpy(h.data(), p_, n_ * sizeof(T), cudaMemcpyDeviceToHost));
    }
private:
    T* p_ = nullptr;
    size_t n_;
};

__constant__ float c_omega[N_CONST] = {1.405189e-4f, 1.454441e-4f, 7.292117e-5f, 6.759774e-5f};

__global__ void predictGauges(TideGauge* g, int n, float t)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || g[i].status == 2) return;
    float h = 0.0f;
    for (int k = 0; k < N_CONST; ++k)
        h += g[i].amp[k] * cosf(c_omega[k] * t - g[i].phase[k]);
    g[i].obs = h + g[i].bias;
}

__global__ void stepMomentum(const GridCell* __restrict__ in, GridCell* __restrict__ out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= NX || y >= NY) return;
    int id = y * NX + x;
    GridCell c = in[id];
    if (c.wet) {
        bool west = x > 0 && in[id - 1].wet;
        bool south = y > 0 && in[id - NX].wet;
        float drag = 1.0f / (1.0f + DT * 0.0025f * sqrtf(c.u * c.u + c.v * c.v) / c.depth);
        c.u = west ? (c.u - DT * GRAV * (c.eta - in[id - 1].eta) / DX) * drag : 0.0f;
        c.v = south ? (c.v - DT * GRAV * (c.eta - in[id - NX].eta) / DX) * drag : 0.0f;
    }
    c.incr = 0.0;
    c.wsum = 0.0;
    c.gaugesNear = 0;
    out[id] = c;
}

__global__ void stepContinuity(GridCell* g, float forcing)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= NX || y >= NY) return;
    int id = y * NX + x;
    if (!g[id].wet) return;
    if (x == 0 || y == 0) {           // open boundary
        g[id].eta = forcing;
        return;
    }
    float d = g[id].depth;
    float fluxW = 0.5f * (d + g[id - 1].depth) * g[id].u;
    float fluxS = 0.5f * (d + g[id - NX].depth) * g[id].v;
    float fluxE = 0.0f, fluxN = 0.0f;
    if (x + 1 < NX) fluxE = 0.5f * (d + g[id + 1].depth) * g[id + 1].u;
    if (y + 1 < NY) fluxN = 0.5f * (d + g[id + NX].depth) * g[id + NX].v;
    g[id].eta -= DT / DX * (fluxE - fluxW + fluxN - fluxS);
}

__global__ void scatterInnovations(TideGauge* gauges, int n, GridCell* grid)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    TideGauge& g = gauges[i];
    if (g.status == 2) return;
    g.model = grid[g.cell].eta;
    float innov = g.obs - g.model - 0.5f * g.bias;
    if (fabsf(innov) > 6.0f * g.obsErr) {         // gross error check
        g.nRejected++;
        return;
    }
    g.nUsed++;
    g.sumSq += (double)innov * innov;
    int cx = g.cell % NX, cy = g.cell / NX;
    for (int dy = -STENCIL; dy <= STENCIL; ++dy)
        for (int dx = -STENCIL; dx <= STENCIL; ++dx) {
            int x = cx + dx, y = cy + dy;
            if (x < 0 || y < 0 || x >= NX || y >= NY) continue;
            GridCell* c = &grid[y * NX + x];
            if (!c->wet) continue;
            float rx = x + 0.5f - g.x, ry = y + 0.5f - g.y;
            double w = exp(-0.5 * (rx * rx + ry * ry)) / (g.obsErr * g.obsErr);
            atomicAdd(&c->incr, w * innov);
            atomicAdd(&c->wsum, w);
        }
}

__global__ void applyAnalysis(GridCell* grid, double background)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= NX || y >= NY) return;
    GridCell& c = grid[y * NX + x];
    if (c.wsum > 0.0)
        c.eta += (float)(c.incr / (c.wsum + background));
}

static uint32_t lcg(uint32_t& s) { s = s * 1664525u + 1013904223u; return s; }
static float frand(uint32_t& s) { return (lcg(s) >> 8) * (1.0f / 16777216.0f); }

int main()
{
    std::vector<GridCell> hGrid(NX * NY);
    std::vector<TideGauge> hGauge(N_GAUGES);
    uint32_t seed = 20240611u;
    for (int y = 0; y < NY; ++y)
        for (int x = 0; x < NX; ++x) {
            GridCell c{};
            float shelf = 120.0f - 0.1f * x + 30.0f * sinf(0.013f * y) + 25.0f * cosf(0.021f * x + 0.008f * y);
            c.depth = fmaxf(shelf, 3.0f);
            c.wet = shelf > 0.0f;
            c.zone = (char)((x / 128 + y / 128) % 5);
            c.eta = 0.3f * sinf(0.01f * x) * cosf(0.012f * y);
            hGrid[y * NX + x] = c;
        }
    for (auto& g : hGauge) {
        g = TideGauge{};
        do {
            g.x = frand(seed) * (NX - 1);
            g.y = frand(seed) * (NY - 1);
            g.cell = (int)g.y * NX + (int)g.x;
        } while (!hGrid[g.cell].wet);
        for (int k = 0; k < N_CONST; ++k) {
            g.amp[k] = (0.9f / (k + 1)) * (0.8f + 0.4f * frand(seed));
            g.phase[k] = 0.002f * g.x + 0.3f * k + 0.1f * frand(seed);
        }
        g.bias = 0.05f * (frand(seed) - 0.5f);
        g.obsErr = 0.25f + 0.3f * frand(seed);
        g.status = frand(seed) < 0.04f ? 2 : 0;
        snprintf(g.agency, sizeof(g.agency), "A%03d", (int)(lcg(seed) >> 24));
    }

    DeviceBuffer<GridCell> bufA(hGrid.size()), bufB(hGrid.size());
    DeviceBuffer<TideGauge> gauges(N_GAUGES);
    bufA.upload(hGrid);
    gauges.upload(hGauge);

    GridCell* cur = bufA.get();
    GridCell* nxt = bufB.get();
    dim3 blk(32, 8), grd((NX + 31) / 32, (NY + 7) / 8);
    int gBlocks = (N_GAUGES + 255) / 256;
    cudaEvent_t e0, e1;
    CUDA_CHECK(cudaEventCreate(&e0));
    CUDA_CHECK(cudaEventCreate(&e1));

    std::vector<float> times;
    float t = 0.0f;
    for (int rep = 0; rep < 2 + 30; ++rep) {
        CUDA_CHECK(cudaEventRecord(e0));
        for (int s = 0; s < STEPS_PER_CYCLE; ++s) {
            t += DT;
            stepMomentum<<<grd, blk>>>(cur, nxt);
            stepContinuity<<<grd, blk>>>(nxt, 0.8f * sinf(1.4e-4f * t));
            std::swap(cur, nxt);
        }
        predictGauges<<<gBlocks, 256>>>(gauges.get(), N_GAUGES, t);
        scatterInnovations<<<gBlocks, 256>>>(gauges.get(), N_GAUGES, cur);
        applyAnalysis<<<grd, blk>>>(cur, 12.0);
        CUDA_CHECK(cudaEventRecord(e1));
        CUDA_CHECK(cudaEventSynchronize(e1));
        CUDA_CHECK(cudaGetLastError());
        float ms;
        CUDA_CHECK(cudaEventElapsedTime(&ms, e0, e1));
        if (rep >= 2) times.push_back(ms);
    }

    (cur == bufA.get() ? bufA : bufB).download(hGrid);
    gauges.download(hGauge);
    double etaSq = 0, kin = 0, innov = 0;
    for (const auto& c : hGrid) {
        etaSq += (double)c.eta * c.eta;
        kin += (double)c.depth * ((double)c.u * c.u + (double)c.v * c.v);
    }
    for (const auto& g : hGauge) innov += g.sumSq;
    std::sort(times.begin(), times.end());
    printf("check eta_rms %.9g\n", sqrt(etaSq / hGrid.size()));
    printf("check kinetic %.9g\n", kin);
    printf("check innovation_sq %.9g\n", innov);
    printf("time_ms %.5f\n", times[times.size() / 2]);
    return 0;
}
