// Camera ISP stage: demosaic a Bayer frame, build a pixel pyramid, bilateral-denoise each
// level from coarse to fine, merging the coarse result into the next level.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

namespace {

struct RawSample {
    uint16_t value;
    uint8_t cfa;        // 0 = R, 1 = G, 2 = B
    uint8_t defect;
    float gain;
};

struct Pixel {
    float r, g, b;
    float luma;
    float sigma;        // noise estimate
    uint8_t clipped;
    uint8_t edge;
    int16_t support;
};

struct LevelStats {
    unsigned long long lumaQ;
    unsigned int edges;
    unsigned int clipped;
    unsigned int hist[16];
};

constexpr int kLevels = 4;
constexpr int kTileX = 32, kTileY = 8, kRad = 2;

void must(cudaError_t e, int line = __builtin_LINE())
{
    if (e == cudaSuccess) return;
    std::fprintf(stderr, "[line %d] %s\n", line, cudaGetErrorString(e));
    std::exit(EXIT_FAILURE);
}

__device__ __forceinline__ int clampi(int v, int lo, int hi) { return v < lo ? lo : (v > hi ? hi : v); }

__device__ __forceinline__ float lumaOf(const Pixel& p) { return 0.299f * p.r + 0.587f * p.g + 0.114f * p.b; }

__global__ void demosaic(const RawSample* __restrict__ raw, Pixel* __restrict__ out, int w, int h, float black)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    float sum[3] = {0.f, 0.f, 0.f};
    float wsum[3] = {0.f, 0.f, 0.f};
    bool clipped = false;
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
            const RawSample s = raw[(size_t)clampi(y + dy, 0, h - 1) * w + clampi(x + dx, 0, w - 1)];
            if (s.defect) continue;
            const float wt = (dx == 0 ? 2.f : 1.f) * (dy == 0 ? 2.f : 1.f);
            const float v = (s.value - black) * s.gain * (1.f / 1023.f);
            if (s.cfa == 0)      { sum[0] += wt * v; wsum[0] += wt; }
            else if (s.cfa == 1) { sum[1] += wt * v; wsum[1] += wt; }
            else                 { sum[2] += wt * v; wsum[2] += wt; }
            clipped |= s.value >= 1020;
        }
    Pixel p;
    p.r = wsum[0] > 0.f ? sum[0] / wsum[0] : 0.f;
    p.g = wsum[1] > 0.f ? sum[1] / wsum[1] : 0.f;
    p.b = wsum[2] > 0.f ? sum[2] / wsum[2] : 0.f;
    p.luma = lumaOf(p);
    p.sigma = 0.012f + 0.03f * sqrtf(fmaxf(p.luma, 0.f));
    p.clipped = clipped;
    p.edge = 0;
    p.support = 0;
    out[(size_t)y * w + x] = p;
}

__global__ void downsample(const Pixel* __restrict__ fine, Pixel* __restrict__ coarse, int cw, int ch)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= cw || y >= ch) return;
    const int fw = cw * 2;
    const Pixel* q = fine + (size_t)(2 * y) * fw + 2 * x;
    const Pixel &a = q[0], &b = q[1], &c = q[fw], &d = q[fw + 1];
    Pixel p;
    p.r = 0.25f * (a.r + b.r + c.r + d.r);
    p.g = 0.25f * (a.g + b.g + c.g + d.g);
    p.b = 0.25f * (a.b + b.b + c.b + d.b);
    p.luma = lumaOf(p);
    p.sigma = 0.5f * 0.25f * (a.sigma + b.sigma + c.sigma + d.sigma);
    p.clipped = a.clipped | b.clipped | c.clipped | d.clipped;
    p.edge = 0;
    p.support = 0;
    coarse[(size_t)y * cw + x] = p;
}

__global__ void __launch_bounds__(kTileX * kTileY)
bilateral(const Pixel* __restrict__ src, Pixel* __restrict__ dst, int w, int h)
{
    constexpr int SX = kTileX + 2 * kRad, SY = kTileY + 2 * kRad;
    __shared__ Pixel tile[SY][SX];
    const int x0 = blockIdx.x * kTileX - kRad, y0 = blockIdx.y * kTileY - kRad;
    for (int k = threadIdx.y * kTileX + threadIdx.x; k < SX * SY; k += kTileX * kTileY) {
        const int sx = k % SX, sy = k / SX;
        tile[sy][sx] = src[(size_t)clampi(y0 + sy, 0, h - 1) * w + clampi(x0 + sx, 0, w - 1)];
    }
    __syncthreads();
    const int x = blockIdx.x * kTileX + threadIdx.x;
    const int y = blockIdx.y * kTileY + threadIdx.y;
    if (x >= w || y >= h) return;

    Pixel c = tile[threadIdx.y + kRad][threadIdx.x + kRad];
    const float inv = 1.f / (2.f * c.sigma * c.sigma + 1e-8f);
    float r = 0, g = 0, b = 0, ws = 0, lo = c.luma, hi = c.luma;
    int support = 0;
#pragma unroll
    for (int dy = -kRad; dy <= kRad; ++dy)
#pragma unroll
        for (int dx = -kRad; dx <= kRad; ++dx) {
            const Pixel& n = tile[threadIdx.y + kRad + dy][threadIdx.x + kRad + dx];
            const float d = n.luma - c.luma;
            const float wt = __expf(-d * d * inv - 0.15f * (dx * dx + dy * dy));
            r += wt * n.r;
            g += wt * n.g;
            b += wt * n.b;
            ws += wt;
            support += fabsf(d) < c.sigma;
            lo = fminf(lo, n.luma);
            hi = fmaxf(hi, n.luma);
        }
    const float iw = 1.f / ws;
    c.r = r * iw;
    c.g = g * iw;
    c.b = b * iw;
    c.luma = lumaOf(c);
    c.edge = hi - lo > 0.35f;
    c.support = (int16_t)support;
    dst[(size_t)y * w + x] = c;
}

// blends bilinear-upsampled coarse colour into flat areas of the fine level, in place
__global__ void mergeCoarse(Pixel* fine, const Pixel* __restrict__ coarse, int w, int h)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    Pixel& p = fine[(size_t)y * w + x];
    if (p.edge || p.clipped) return;
    const int cw = w / 2, ch = h / 2;
    const int cx = x >> 1, cy = y >> 1;
    const int nx = clampi(cx + ((x & 1) ? 1 : -1), 0, cw - 1);
    const int ny = clampi(cy + ((y & 1) ? 1 : -1), 0, ch - 1);
    const Pixel& a = coarse[(size_t)cy * cw + cx];
    const Pixel& b = coarse[(size_t)cy * cw + nx];
    const Pixel& c = coarse[(size_t)ny * cw + cx];
    const Pixel& d = coarse[(size_t)ny * cw + nx];
    const float k = 0.3f + 0.4f * p.support * (1.f / 25.f);
    p.r += k * (0.5625f * a.r + 0.1875f * (b.r + c.r) + 0.0625f * d.r - p.r);
    p.g += k * (0.5625f * a.g + 0.1875f * (b.g + c.g) + 0.0625f * d.g - p.g);
    p.b += k * (0.5625f * a.b + 0.1875f * (b.b + c.b) + 0.0625f * d.b - p.b);
    p.luma = lumaOf(p);
}

__global__ void levelStats(const Pixel* __restrict__ px, int n, LevelStats* st)
{
    __shared__ unsigned int hist[16];
    __shared__ unsigned int edges, clipped;
    if (threadIdx.x < 16) hist[threadIdx.x] = 0;
    if (threadIdx.x == 0) edges = clipped = 0;
    __syncthreads();
    unsigned long long q = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const float l = fminf(fmaxf(px[i].luma, 0.f), 1.f);
        q += (unsigned int)(l * 1024.f);
        atomicAdd(&hist[min(15, (int)(l * 16.f))], 1u);
        if (px[i].edge) atomicAdd(&edges, 1u);
        if (px[i].clipped) atomicAdd(&clipped, 1u);
    }
    for (int o = 16; o; o >>= 1) q += __shfl_down_sync(~0u, q, o);
    if ((threadIdx.x & 31) == 0) atomicAdd(&st->lumaQ, q);
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&st->hist[threadIdx.x], hist[threadIdx.x]);
    if (threadIdx.x == 0) {
        atomicAdd(&st->edges, edges);
        atomicAdd(&st->clipped, clipped);
    }
}

} // namespace

int main()
{
    const int W = 2560, H = 1920;               // divisible by 2^(kLevels-1)
    std::vector<RawSample> raw((size_t)W * H);
    uint32_t s = 777u;
    for (int y = 0; y < H; ++y)
        for (int x = 0; x < W; ++x) {
            s = s * 1664525u + 1013904223u;
            RawSample& r = raw[(size_t)y * W + x];
            const bool ey = y & 1, ex = x & 1;
            r.cfa = ey == ex ? (ey ? 2 : 0) : 1;
            int scene = 180 + ((x * 3 + y * 2) & 511) / 2 + (((x >> 6) ^ (y >> 6)) & 1) * 420;
            scene += (int)(s >> 24) / 4 - 32;
            r.value = (uint16_t)std::min(1023, std::max(0, scene));
            r.defect = (s >> 8) % 2003 == 0;
            r.gain = 0.85f + 0.1f * r.cfa;
        }

    RawSample* dRaw;
    LevelStats* dStats;
    std::array<Pixel*, kLevels> noisy{}, clean{};
    must(cudaMalloc(&dRaw, raw.size() * sizeof(RawSample)));
    must(cudaMalloc(&dStats, kLevels * sizeof(LevelStats)));
    for (int l = 0; l < kLevels; ++l) {
        const size_t bytes = (size_t)(W >> l) * (H >> l) * sizeof(Pixel);
        must(cudaMalloc(&noisy[l], bytes));
        must(cudaMalloc(&clean[l], bytes));
    }
    must(cudaMemcpy(dRaw, raw.data(), raw.size() * sizeof(RawSample), cudaMemcpyHostToDevice));

    const dim3 block(kTileX, kTileY);
    auto grid = [&](int l) {
        return dim3(((W >> l) + kTileX - 1) / kTileX, ((H >> l) + kTileY - 1) / kTileY);
    };
    auto frame = [&](float black) {
        demosaic<<<grid(0), block>>>(dRaw, noisy[0], W, H, black);
        for (int l = 1; l < kLevels; ++l)
            downsample<<<grid(l), block>>>(noisy[l - 1], noisy[l], W >> l, H >> l);
        must(cudaMemsetAsync(dStats, 0, kLevels * sizeof(LevelStats)));
        for (int l = kLevels - 1; l >= 0; --l) {
            bilateral<<<grid(l), block>>>(noisy[l], clean[l], W >> l, H >> l);
            if (l + 1 < kLevels)
                mergeCoarse<<<grid(l), block>>>(clean[l], clean[l + 1], W >> l, H >> l);
            levelStats<<<264, 256>>>(clean[l], (W >> l) * (H >> l), dStats + l);
        }
        must(cudaGetLastError());
    };

    frame(64.f);
    must(cudaDeviceSynchronize());
    cudaEvent_t beg, end;
    must(cudaEventCreate(&beg));
    must(cudaEventCreate(&end));
    must(cudaEventRecord(beg));
    for (int f = 0; f < 12; ++f) frame(60.f + f);
    must(cudaEventRecord(end));
    must(cudaEventSynchronize(end));
    float ms = 0.f;
    must(cudaEventElapsedTime(&ms, beg, end));

    std::array<LevelStats, kLevels> stats;
    std::vector<Pixel> img((size_t)W * H);
    must(cudaMemcpy(stats.data(), dStats, sizeof(stats), cudaMemcpyDeviceToHost));
    must(cudaMemcpy(img.data(), clean[0], img.size() * sizeof(Pixel), cudaMemcpyDeviceToHost));
    double rgb = 0, support = 0, sigma = 0;
    for (const Pixel& p : img) {
        rgb += p.r + 2.0 * p.g + 3.0 * p.b;
        support += p.support;
        sigma += p.sigma;
    }
    std::printf("check rgb %.6g\n", rgb);
    std::printf("check support %.6g\n", support);
    std::printf("check sigma %.6g\n", sigma);
    for (int l = 0; l < kLevels; ++l) {
        double hs = 0;
        for (int k = 0; k < 16; ++k) hs += (double)stats[l].hist[k] * k;
        std::printf("check level%d_luma %.6g\n", l, (double)stats[l].lumaQ);
        std::printf("check level%d_hist %.6g\n", l, hs);
        std::printf("check level%d_flags %u\n", l, stats[l].clipped);
    }
    std::printf("time_ms %.4f\n", ms);
    for (int l = 0; l < kLevels; ++l) { cudaFree(noisy[l]); cudaFree(clean[l]); }
    cudaFree(dRaw);
    cudaFree(dStats);
    return 0;
}
