// Radio interferometry: calibrate visibilities with the antenna gains and grid
// them onto the uv plane (fixed point, so that the order of the atomics does
// not matter).

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>
#include <cuda_runtime.h>

namespace cu {

inline void check(cudaError_t e)
{
    if (e != cudaSuccess) throw std::runtime_error(std::string("CUDA: ") + cudaGetErrorString(e));
}

template <typename T>
class DeviceBuffer {
public:
    explicit DeviceBuffer(std::size_t n) : n_(n) { check(cudaMalloc(&p_, n * sizeof(T))); }
    explicit DeviceBuffer(const std::vector<T>& host) : DeviceBuffer(host.size()) { copyFrom(host); }
    ~DeviceBuffer() { cudaFree(p_); }
    DeviceBuffer(const DeviceBuffer&) = delete;
    DeviceBuffer& operator=(const DeviceBuffer&) = delete;
    DeviceBuffer(DeviceBuffer&& o) noexcept : p_(std::exchange(o.p_, nullptr)), n_(std::exchange(o.n_, 0)) {}

    T* get() { return p_; }
    const T* get() const { return p_; }
    std::size_t size() const { return n_; }
    void copyFrom(const std::vector<T>& h) { check(cudaMemcpy(p_, h.data(), n_ * sizeof(T), cudaMemcpyHostToDevice)); }
    void clear() { check(cudaMemset(p_, 0, n_ * sizeof(T))); }
    std::vector<T> toHost() const
    {
        std::vector<T> h(n_);
        check(cudaMemcpy(h.data(), p_, n_ * sizeof(T), cudaMemcpyDeviceToHost));
        return h;
    }

private:
    T* p_ = nullptr;
    std::size_t n_ = 0;
};

class Timer {
public:
    Timer() { check(cudaEventCreate(&a_)); check(cudaEventCreate(&b_)); }
    ~Timer() { cudaEventDestroy(a_); cudaEventDestroy(b_); }
    void start() { check(cudaEventRecord(a_)); }
    float stop()
    {
        float ms = 0;
        check(cudaEventRecord(b_));
        check(cudaEventSynchronize(b_));
        check(cudaEventElapsedTime(&ms, a_, b_));
        return ms;
    }

private:
    cudaEvent_t a_{}, b_{};
};

}  // namespace cu

struct Visibility {
    double u, v, w;        // wavelengths
    float2 pol[4];         // XX XY YX YY
    float weight;
    int channel;
    short ant1, ant2;
    unsigned flags;
};

struct Antenna {
    double x, y, z;
    float2 gain[2];        // unit modulus, one per polarisation
    float tsys;
    int flagged;
};

struct GridCell {
    int re, im;            // fixed point
    unsigned hits;
    float power;
};

constexpr int kGrid = 2048;
constexpr int kAntennas = 256;
constexpr float kFixed = 1024.0f;

__constant__ float kTaper[3] = {0.25f, 0.5f, 0.25f};

__device__ float2 cmul(float2 a, float2 b)
{
    return make_float2(fmaf(a.x, b.x, -__fmul_rn(a.y, b.y)), fmaf(a.x, b.y, __fmul_rn(a.y, b.x)));
}

__device__ float2 conj(float2 a) { return make_float2(a.x, -a.y); }

// apply gains and the w phase to all four polarisations, renew the weight
__global__ void calibrate(Visibility* __restrict__ vis, Antenna* __restrict__ ants, int n, double wscale)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;

    Visibility v = vis[i];
    const float2 g1[2] = {ants[v.ant1].gain[0], ants[v.ant1].gain[1]};
    const float2 g2[2] = {ants[v.ant2].gain[0], ants[v.ant2].gain[1]};

    const double turns = v.w * wscale * (1.0 + v.channel * 0.0009765625);
    float2 ph;
    sincospif(2.0f * (float)(turns - floor(turns)), &ph.y, &ph.x);

    float peak = 0.0f;
#pragma unroll
    for (int p = 0; p < 4; ++p) {
        v.pol[p] = cmul(cmul(v.pol[p], ph), cmul(g1[p >> 1], conj(g2[p & 1])));
        peak = fmaxf(peak, fmaxf(fabsf(v.pol[p].x), fabsf(v.pol[p].y)));
    }
    v.weight = 1.0f / (ants[v.ant1].tsys * ants[v.ant2].tsys);
    if (peak > 3.0f && !(v.flags & 2u)) {
        v.flags |= 2u;
        atomicAdd(&ants[v.ant1].flagged, 1);
        atomicAdd(&ants[v.ant2].flagged, 1);
    }
    vis[i] = v;
}

// Stokes I = (XX + YY) / 2 spread over 3 x 3 cells
__global__ void gridVisibilities(const Visibility* __restrict__ vis, GridCell* grid, int n, double scale)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (vis[i].flags) return;

    const int gx = (int)floor(fma(vis[i].u, scale, 0.5 * kGrid));
    const int gy = (int)floor(fma(vis[i].v, scale, 0.5 * kGrid));
    if (gx < 1 || gy < 1 || gx >= kGrid - 1 || gy >= kGrid - 1) return;

    const float w = vis[i].weight * (0.5f * kFixed);
    const float re = (vis[i].pol[0].x + vis[i].pol[3].x) * w;
    const float im = (vis[i].pol[0].y + vis[i].pol[3].y) * w;
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
            const float t = kTaper[dx + 1] * kTaper[dy + 1];
            GridCell* c = grid + (gy + dy) * kGrid + gx + dx;
            atomicAdd(&c->re, __float2int_rn(re * t));
            atomicAdd(&c->im, __float2int_rn(im * t));
            atomicAdd(&c->hits, 1u);
        }
}

__global__ void accumulatePower(GridCell* grid)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    GridCell& c = grid[y * kGrid + x];
    if (c.hits == 0) return;
    const float re = c.re / (kFixed * c.hits), im = c.im / (kFixed * c.hits);
    c.power += fmaf(re, re, __fmul_rn(im, im));
    c.re = c.im = 0;
    c.hits = 0;
}

__global__ void flaggedPerChannel(const Visibility* vis, int n, unsigned* perChannel)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        if (vis[i].flags != 0) atomicAdd(&perChannel[vis[i].channel & 63], 1u);
}

static uint64_t seed = 88172645463325252ull;
static uint32_t next32()
{
    seed ^= seed << 13; seed ^= seed >> 7; seed ^= seed << 17;
    return (uint32_t)(seed >> 32);
}
static float uniform() { return (next32() >> 8) * (1.0f / 16777216.0f); }

int main(int argc, char** argv)
try {
    const int n = argc > 1 ? std::atoi(argv[1]) : 2000000;

    std::vector<Antenna> ants(kAntennas);
    for (auto& a : ants) {
        const float r = 5000.0f * uniform() * uniform(), ang = 6.2831853f * uniform();
        a.x = r * std::cos(ang);
        a.y = r * std::sin(ang);
        a.z = 20.0 * uniform();
        for (auto& g : a.gain) {
            const float p = 0.4f * uniform();
            g = make_float2(std::cos(p), std::sin(p));
        }
        a.tsys = 0.8f + 0.6f * uniform();
        a.flagged = 0;
    }

    std::vector<Visibility> vis(n);
    for (int i = 0; i < n; ++i) {
        Visibility& v = vis[i];
        // one time sample holds all channels of a baseline next to each other
        if (i % 16 == 0) {
            v.ant1 = next32() % kAntennas;
            v.ant2 = next32() % kAntennas;
        } else {
            v.ant1 = vis[i - 1].ant1;
            v.ant2 = vis[i - 1].ant2;
        }
        v.channel = i % 64;
        const double f = 1.0 + 0.01 * v.channel;
        v.u = (ants[v.ant1].x - ants[v.ant2].x) * f + uniform() * 30.0;
        v.v = (ants[v.ant1].y - ants[v.ant2].y) * f + uniform() * 30.0;
        v.w = (ants[v.ant1].z - ants[v.ant2].z) * f;
        for (auto& p : v.pol) p = make_float2(uniform() - 0.3f, uniform() - 0.5f);
        if (next32() % 200 == 0) v.pol[next32() % 4].x = 4.5f;     // interference
        v.weight = 0.0f;
        v.flags = next32() % 50 == 0 ? 1u : 0u;
    }

    cu::DeviceBuffer<Visibility> dVis(vis);
    cu::DeviceBuffer<Antenna> dAnts(ants);
    cu::DeviceBuffer<GridCell> dGrid(std::size_t(kGrid) * kGrid);
    cu::DeviceBuffer<unsigned> dFlags(64);
    dGrid.clear();
    dFlags.clear();

    auto step = [&] {
        const int blocks = (n + 255) / 256;
        calibrate<<<blocks, 256>>>(dVis.get(), dAnts.get(), n, 0.0123);
        gridVisibilities<<<blocks, 256>>>(dVis.get(), dGrid.get(), n, 0.12);
        accumulatePower<<<dim3(kGrid / 32, kGrid / 8), dim3(32, 8)>>>(dGrid.get());
        flaggedPerChannel<<<792, 256>>>(dVis.get(), n, dFlags.get());
        cu::check(cudaGetLastError());
    };

    step();
    const int steps = 20;
    cu::Timer timer;
    timer.start();
    for (int s = 0; s < steps; ++s) step();
    const float ms = timer.stop();

    double power = 0;
    for (const auto& c : dGrid.toHost()) power += c.power;
    unsigned long long flags = 0;
    for (unsigned f : dFlags.toHost()) flags = flags * 5 + f;
    for (const auto& a : dAnts.toHost()) flags += a.flagged;

    std::printf("check %.3e/%llu\n", power, flags);
    std::printf("time_ms %.4f\n", ms / steps);
    return 0;
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
