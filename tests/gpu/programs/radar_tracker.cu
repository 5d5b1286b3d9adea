// Marine radar processing chain on the GPU:
//   sweep update -> CA-CFAR -> plot extraction -> track association -> track filter
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>
#include <cuda_runtime.h>

namespace radar {

constexpr int   kAzimuths   = 4096;     // beams per revolution
constexpr int   kRangeBins  = 1024;
constexpr int   kTile       = 8;        // a plot covers at most one 8 x 8 tile
constexpr int   kTilesR     = kRangeBins / kTile;
constexpr int   kTilesA     = kAzimuths / kTile;
constexpr int   kPlotSlots  = kTilesR * kTilesA;
constexpr int   kTracks     = 60000;
constexpr int   kScans      = 40;
constexpr float kBinMetres  = 18.0f;
constexpr int   kGuard      = 2;
constexpr int   kTrain      = 8;        // training cells on each side
constexpr float kTwoPi      = 6.283185307f;

struct Echo {
    float amp;                          // video amplitude, integer valued 0..4095
    float clutter;                      // local background estimate
    short doppler;                      // cm/s
    unsigned char hit;
    unsigned char land;                 // static land mask
};

struct Plot {
    float range_m;
    float azimuth;
    float x, y;
    float amp_peak;
    float amp_sum;
    int   cells;
    int   claimed_by;                   // lowest track id, or INT_MAX
    short doppler;
    unsigned char valid;
    unsigned char merged;
};

struct Kinematics {
    float pos[2];
    float vel[2];
};

struct Track {
    Kinematics state;
    double     last_update;
    float      quality;
    float      gate_m;
    int        id;
    int        plot;                    // associated plot slot or -1
    int        hits;
    int        misses;
    float      innovation[2];
    short      mmsi_class;
    unsigned char status;               // 0 tentative, 1 confirmed, 2 lost
    unsigned char manual;
};

template <class T> struct CudaFree { void operator()(T* p) const { cudaFree(p); } };
template <class T> using DevPtr = std::unique_ptr<T, CudaFree<T>>;

inline void must(cudaError_t rc, int line)
{
    if (rc != cudaSuccess) {
        std::fprintf(stderr, "CUDA failure at line %d: %s\n", line, cudaGetErrorString(rc));
        std::exit(1);
    }
}
#define MUST(x) ::radar::must((x), __LINE__)

template <class T> DevPtr<T> device_alloc(size_t n)
{
    T* p = nullptr;
    MUST(cudaMalloc(&p, n * sizeof(T)));
    return DevPtr<T>(p);
}

__host__ __device__ inline uint32_t hash3(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t h = a * 0x9E3779B1u + b * 0x85EBCA77u + c * 0xC2B2AE3Du;
    h ^= h >> 15; h *= 0x2C1B3C6Du;
    h ^= h >> 12; h *= 0x297A2D39u;
    h ^= h >> 15;
    return h;
}

// Ships sit in a sub-set of tiles and creep slowly through their tile.
__device__ inline bool target_in_tile(int ta, int tr, int scan, int* da, int* dr)
{
    uint32_t h = hash3(ta, tr, 77u);
    if (h % 3u != 0u) return false;
    *da = 2 + (int)((h >> 8) % 3u) + ((scan >> 4) & 1);
    *dr = 2 + (int)((h >> 12) % 3u) + ((scan >> 3) & 1);
    return true;
}

__global__ void update_sweep(Echo* echoes, int scan)
{
    const int r = blockIdx.x * blockDim.x + threadIdx.x;
    const int a = blockIdx.y * blockDim.y + threadIdx.y;
    if (r >= kRangeBins || a >= kAzimuths) return;
    Echo& e = echoes[a * kRangeBins + r];

    const uint32_t h = hash3(a, r, scan);
    int v = 40 + (int)(h % 33u);
    if (r < 96) v += 60 - r / 2;                         // sea clutter
    short dop = 0;
    if (e.land) {
        v = 220 + (int)((h >> 7) % 17u);
    } else {
        int da, dr;
        if (target_in_tile(a / kTile, r / kTile, scan, &da, &dr)) {
            const int ea = a % kTile - da, er = r % kTile - dr;
            if (ea >= -1 && ea <= 1 && er >= -1 && er <= 0) {
                v += 700 + (int)((h >> 16) % 200u) - 90 * ea * ea;
                dop = (short)(-400 + (int)(hash3(a / kTile, r / kTile, 5u) % 800u));
            }
        }
    }
    e.amp = (float)v;
    e.doppler = dop;
}

// Cell-averaging CFAR along range, 2-D blocks.
__global__ void cfar(Echo* __restrict__ echoes, float factor)
{
    const int r = blockIdx.x * blockDim.x + threadIdx.x;
    const int a = blockIdx.y * blockDim.y + threadIdx.y;
    if (r >= kRangeBins || a >= kAzimuths) return;
    const int row = a * kRangeBins;

    float sum = 0.0f;
    int   n = 0;
    for (int k = kGuard + 1; k <= kGuard + kTrain; ++k) {
        if (r - k >= 0)         { sum += echoes[row + r - k].amp; ++n; }
        if (r + k < kRangeBins) { sum += echoes[row + r + k].amp; ++n; }
    }
    Echo& me = echoes[row + r];
    me.clutter = sum / (float)n;
    // integers only on both sides, hence exact
    me.hit = (me.land == 0 && me.amp * (float)n > factor * sum) ? 1 : 0;
}

__global__ void extract_plots(const Echo* __restrict__ echoes, Plot* plots)
{
    const int slot = blockIdx.x * blockDim.x + threadIdx.x;
    if (slot >= kPlotSlots) return;
    const int tr = slot % kTilesR, ta = slot / kTilesR;

    float sw = 0.0f, swr = 0.0f, swa = 0.0f, peak = 0.0f;
    int cells = 0;
    int dop = 0;
    for (int j = 0; j < kTile; ++j) {
        const Echo* line = echoes + (ta * kTile + j) * kRangeBins + tr * kTile;
        for (int i = 0; i < kTile; ++i) {
            if (!line[i].hit) continue;
            const float w = line[i].amp;
            sw += w;
            swr += w * i;
            swa += w * j;
            if (w > peak) { peak = w; dop = line[i].doppler; }
            ++cells;
        }
    }
    Plot p;
    p.claimed_by = 0x7fffffff;
    p.cells = cells;
    p.valid = (cells >= 3) ? 1 : 0;
    p.merged = (cells > 9) ? 1 : 0;
    p.doppler = (short)dop;
    p.amp_peak = peak;
    p.amp_sum = sw;
    p.range_m = p.azimuth = p.x = p.y = 0.0f;
    if (p.valid) {
        p.range_m = (tr * kTile + swr / sw + 0.5f) * kBinMetres;
        p.azimuth = (ta * kTile + swa / sw + 0.5f) * (kTwoPi / kAzimuths);
        float s, c;
        sincosf(p.azimuth, &s, &c);
        p.x = p.range_m * s;
        p.y = p.range_m * c;
    }
    plots[slot] = p;
}

__device__ float squared_distance(const Kinematics& k, const Plot& p)
{
    const float dx = p.x - k.pos[0], dy = p.y - k.pos[1];
    return dx * dx + dy * dy;
}

// Nearest neighbour within the gate, looking at the 3 x 3 surrounding tiles.
__global__ void associate(Track* tracks, Plot* plots)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= kTracks) return;
    tracks[t].plot = -1;
    if (tracks[t].status == 2) return;

    const Kinematics k = tracks[t].state;
    const float gate2 = tracks[t].gate_m * tracks[t].gate_m;
    const float range = sqrtf(k.pos[0] * k.pos[0] + k.pos[1] * k.pos[1]);
    float az = atan2f(k.pos[0], k.pos[1]);
    if (az < 0.0f) az += kTwoPi;
    const int tr = (int)(range / (kBinMetres * kTile));
    const int ta = (int)(az * (kTilesA / kTwoPi));

    float best = gate2;
    int who = -1;
    for (int da = -1; da <= 1; ++da)
        for (int dr = -1; dr <= 1; ++dr) {
            const int r = tr + dr;
            if (r < 0 || r >= kTilesR) continue;
            const int a = (ta + da + kTilesA) % kTilesA;
            const int s = a * kTilesR + r;
            if (!plots[s].valid) continue;
            const float d2 = squared_distance(k, plots[s]);
            if (d2 < best) { best = d2; who = s; }
        }
    if (who >= 0) {
        tracks[t].plot = who;
        atomicMin(&plots[who].claimed_by, tracks[t].id);
    }
}

__global__ void filter_tracks(Track* tracks, const Plot* __restrict__ plots, float dt, double now)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= kTracks) return;
    Track& tk = tracks[t];
    if (tk.status == 2) return;

    Kinematics k = tk.state;
    k.pos[0] += k.vel[0] * dt;
    k.pos[1] += k.vel[1] * dt;

    const int p = tk.plot;
    if (p >= 0 && plots[p].claimed_by == tk.id) {
        const float alpha = 0.5f, beta = 0.1f;
        for (int d = 0; d < 2; ++d) {
            const float z = d == 0 ? plots[p].x : plots[p].y;
            const float nu = z - k.pos[d];
            k.pos[d] += alpha * nu;
            k.vel[d] += beta * nu / dt;
            tk.innovation[d] = nu;
        }
        tk.hits++;
        tk.misses = 0;
        tk.last_update = now;
        tk.quality = 0.9f * tk.quality + 0.1f;
        if (tk.status == 0 && tk.hits >= 4) tk.status = 1;
    } else {
        tk.misses++;
        tk.quality *= 0.9f;
        k.vel[0] *= 0.5f;
        k.vel[1] *= 0.5f;
        if (tk.misses > 12 && !tk.manual) tk.status = 2;
    }
    tk.state = k;
}

}  // namespace radar

int main()
{
    using namespace radar;
    uint64_t lcg = 88172645463325252ull;
    auto rnd = [&lcg]() {
        lcg = lcg * 2862933555777941757ull + 3037000493ull;
        return (uint32_t)(lcg >> 33);
    };

    const size_t nEcho = (size_t)kAzimuths * kRangeBins;
    std::vector<Echo> echoes(nEcho);
    for (int a = 0; a < kAzimuths; ++a)
        for (int r = 0; r < kRangeBins; ++r) {
            Echo& e = echoes[(size_t)a * kRangeBins + r];
            e.amp = 0.0f;
            e.clutter = 0.0f;
            e.doppler = 0;
            e.hit = 0;
            e.land = (a > 2900 && a < 3300 && r > 500 + (a % 37)) ? 1 : 0;
        }

    std::vector<Track> tracks(kTracks);
    for (int i = 0; i < kTracks; ++i) {
        Track& t = tracks[i];
        t = Track{};
        const float az = (rnd() % 409600u) * (kTwoPi / 409600.0f);
        const float rg = 200.0f + (float)(rnd() % 18000u);
        t.state.pos[0] = rg * sinf(az);
        t.state.pos[1] = rg * cosf(az);
        t.state.vel[0] = 0.02f * ((float)(rnd() % 200u) - 100.0f);
        t.state.vel[1] = 0.02f * ((float)(rnd() % 200u) - 100.0f);
        t.gate_m = 80.0f + (float)(rnd() % 80u);
        t.quality = 0.5f;
        t.id = i;
        t.plot = -1;
        t.mmsi_class = (short)(rnd() % 9u);
        t.manual = rnd() % 25u == 0;
    }

    auto dEcho = device_alloc<Echo>(nEcho);
    auto dPlot = device_alloc<Plot>(kPlotSlots);
    auto dTrack = device_alloc<Track>(kTracks);
    MUST(cudaMemcpy(dEcho.get(), echoes.data(), nEcho * sizeof(Echo), cudaMemcpyHostToDevice));
    MUST(cudaMemcpy(dTrack.get(), tracks.data(), tracks.size() * sizeof(Track), cudaMemcpyHostToDevice));
    MUST(cudaMemset(dPlot.get(), 0, kPlotSlots * sizeof(Plot)));

    const dim3 b2(32, 8);
    const dim3 g2(kRangeBins / 32, kAzimuths / 8);
    const float dt = 2.5f;

    auto process = [&](int scan) {
        update_sweep<<<g2, b2>>>(dEcho.get(), scan);
        cfar<<<g2, b2>>>(dEcho.get(), 3.0f);
        extract_plots<<<(kPlotSlots + 127) / 128, 128>>>(dEcho.get(), dPlot.get());
        associate<<<(kTracks + 127) / 128, 128>>>(dTrack.get(), dPlot.get());
        filter_tracks<<<(kTracks + 127) / 128, 128>>>(dTrack.get(), dPlot.get(), dt, scan * (double)dt);
    };

    process(0);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    std::vector<Plot> plots(kPlotSlots);
    MUST(cudaMemcpy(plots.data(), dPlot.get(), plots.size() * sizeof(Plot), cudaMemcpyDeviceToHost));
    int firstValid = 0;
    for (const Plot& p : plots) firstValid += p.valid;
    if (firstValid < 1000) {
        std::fprintf(stderr, "too few plots: %d\n", firstValid);
        return 1;
    }

    cudaEvent_t beg, end;
    MUST(cudaEventCreate(&beg));
    MUST(cudaEventCreate(&end));
    MUST(cudaEventRecord(beg));
    for (int s = 1; s <= kScans; ++s) process(s);
    MUST(cudaEventRecord(end));
    MUST(cudaEventSynchronize(end));
    MUST(cudaGetLastError());
    float ms = 0.0f;
    MUST(cudaEventElapsedTime(&ms, beg, end));

    MUST(cudaMemcpy(echoes.data(), dEcho.get(), nEcho * sizeof(Echo), cudaMemcpyDeviceToHost));
    MUST(cudaMemcpy(plots.data(), dPlot.get(), plots.size() * sizeof(Plot), cudaMemcpyDeviceToHost));
    MUST(cudaMemcpy(tracks.data(), dTrack.get(), tracks.size() * sizeof(Track), cudaMemcpyDeviceToHost));

    long long hitCells = 0, dopSum = 0, valid = 0, plotCells = 0, hits = 0, confirmed = 0, lost = 0;
    double clutter = 0, ampSum = 0, quality = 0, range = 0;
    for (const Echo& e : echoes) {
        hitCells += e.hit;
        dopSum += e.doppler;
        clutter += e.clutter;
    }
    for (const Plot& p : plots) {
        valid += p.valid;
        plotCells += p.cells;
        ampSum += p.amp_sum;
        range += p.range_m;
    }
    for (const Track& t : tracks) {
        hits += t.hits;
        quality += t.quality;
        confirmed += t.status == 1;
        lost += t.status == 2;
    }
    std::printf("check first_plots %d\n", firstValid);
    std::printf("check hit_cells %lld\n", hitCells);
    std::printf("check doppler_sum %lld\n", dopSum);
    std::printf("check plots %lld\n", valid);
    std::printf("check plot_cells %lld\n", plotCells);
    std::printf("check amp_sum %.6e\n", ampSum);
    std::printf("check range_sum %.3e\n", range);
    std::printf("check clutter %.3e\n", clutter);
    std::printf("check track_hits %.2e\n", (double)hits);
    std::printf("check confirmed %.2e\n", (double)confirmed);
    std::printf("check lost %.2e\n", (double)lost);
    std::printf("check quality %.2e\n", quality);
    std::printf("time_ms %.5f\n", ms / kScans);
    cudaEventDestroy(beg);
    cudaEventDestroy(end);
    return 0;
}
