// patch_descriptor.cu - part of a tiny feature matching library
//   gradient image -> corner response / orientation of key points ->
//   rotated BRIEF-like 256 bit descriptors -> brute force Hamming matching
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>

#define PD_CHECK(call) ::pd::fail((call), __LINE__)

namespace pd {
inline void fail(cudaError_t s, int line)
{
    if (s == cudaSuccess) return;
    std::fprintf(stderr, "patch_descriptor:%d: %s\n", line, cudaGetErrorString(s));
    std::exit(EXIT_FAILURE);
}

constexpr int kBlock = 16, kWords = 8;
constexpr int kPatch = 15;      // patch radius
constexpr int kMatchTile = 64;

struct GradPixel {
    float   value;
    float   gx, gy;
    float   mag;
    uint8_t edge;
    uint8_t quadrant;
};

struct KeyPoint {
    float    x, y;
    float    angle;
    float    response;
    float    size;
    uint32_t desc[kWords];
    int      octave;
    int      match;
    int      distance;
    int      second;

    __device__ int hamming(const KeyPoint& o) const
    {
        int d = 0;
#pragma unroll
        for (int w = 0; w < kWords; ++w) d += __popc(desc[w] ^ o.desc[w]);
        return d;
    }
    __device__ bool ratioTest() const { return distance * 10 < second * 8; }
};

struct TestPair {
    signed char x0, y0, x1, y1;
};

__constant__ TestPair c_pairs[32 * kWords];

struct ImageView {
    GradPixel* px;
    int width, height;
    __device__ GradPixel& at(int x, int y) const { return px[y * width + x]; }
    __device__ const GradPixel& clamped(int x, int y) const
    {
        x = min(max(x, 0), width - 1);
        y = min(max(y, 0), height - 1);
        return px[y * width + x];
    }
};

// Scharr derivatives through a shared tile with a halo of one pixel
__global__ void gradientKernel(ImageView img)
{
    __shared__ float tile[kBlock + 2][kBlock + 2];
    const int x = blockIdx.x * kBlock + threadIdx.x;
    const int y = blockIdx.y * kBlock + threadIdx.y;
    const int tid = threadIdx.y * kBlock + threadIdx.x;
    for (int k = tid; k < (kBlock + 2) * (kBlock + 2); k += kBlock * kBlock) {
        const int ty = k / (kBlock + 2), tx = k % (kBlock + 2);
        tile[ty][tx] = img.clamped(blockIdx.x * kBlock + tx - 1, blockIdx.y * kBlock + ty - 1).value;
    }
    __syncthreads();
    if (x >= img.width || y >= img.height) return;
    const int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    const float gx = 10.f * (tile[ty][tx + 1] - tile[ty][tx - 1]) +
                     3.f * (tile[ty - 1][tx + 1] - tile[ty - 1][tx - 1] + tile[ty + 1][tx + 1] - tile[ty + 1][tx - 1]);
    const float gy = 10.f * (tile[ty + 1][tx] - tile[ty - 1][tx]) +
                     3.f * (tile[ty + 1][tx - 1] - tile[ty - 1][tx - 1] + tile[ty + 1][tx + 1] - tile[ty - 1][tx + 1]);
    GradPixel& p = img.at(x, y);
    p.gx = gx / 32.f;
    p.gy = gy / 32.f;
    p.mag = sqrtf(p.gx * p.gx + p.gy * p.gy);
    p.edge = p.mag > 4.0f ? 1 : 0;
    p.quadrant = (uint8_t)((gx < 0.f ? 1 : 0) | (gy < 0.f ? 2 : 0));
}

// one warp per key point: structure tensor and intensity centroid
__global__ void orientKernel(ImageView img, KeyPoint* kps, int n)
{
    const int k = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const int lane = threadIdx.x & 31;
    if (k >= n) return;
    const int cx = (int)kps[k].x, cy = (int)kps[k].y;
    float a = 0.f, b = 0.f, c = 0.f, mx = 0.f, my = 0.f;
    if (lane < 2 * kPatch + 1) {
        const int dx = lane - kPatch;
        for (int dy = -kPatch; dy <= kPatch; ++dy) {
            if (dx * dx + dy * dy > kPatch * kPatch) continue;
            const GradPixel& p = img.clamped(cx + dx, cy + dy);
            a += p.gx * p.gx;
            b += p.gx * p.gy;
            c += p.gy * p.gy;
            mx += dx * p.value;
            my += dy * p.value;
        }
    }
    for (int o = 16; o > 0; o >>= 1) {
        a += __shfl_down_sync(0xffffffffu, a, o);
        b += __shfl_down_sync(0xffffffffu, b, o);
        c += __shfl_down_sync(0xffffffffu, c, o);
        mx += __shfl_down_sync(0xffffffffu, mx, o);
        my += __shfl_down_sync(0xffffffffu, my, o);
    }
    if (lane == 0) {
        kps[k].response = a * c - b * b - 0.04f * (a + c) * (a + c);
        kps[k].angle = atan2f(my, mx);
    }
}

__device__ float sampleRotated(const ImageView& img, const KeyPoint& kp, float ca, float sa, int u, int v)
{
    const int x = (int)rintf(kp.x + ca * u - sa * v);
    const int y = (int)rintf(kp.y + sa * u + ca * v);
    return img.clamped(x, y).value;
}

__global__ void describeKernel(ImageView img, KeyPoint* kps, int n)
{
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= n) return;
    KeyPoint kp = kps[k];
    float sa, ca;
    sincosf(kp.angle, &sa, &ca);
    for (int w = 0; w < kWords; ++w) {
        uint32_t bits = 0;
        for (int i = 0; i < 32; ++i) {
            const TestPair t = c_pairs[w * 32 + i];
            if (sampleRotated(img, kp, ca, sa, t.x0, t.y0) < sampleRotated(img, kp, ca, sa, t.x1, t.y1)) bits |= 1u << i;
        }
        kp.desc[w] = bits;
    }
    kp.match = -1;
    kp.distance = kp.second = 32 * kWords + 1;
    kps[k] = kp;
}

__global__ void matchKernel(KeyPoint* query, int nq, const KeyPoint* train, int nt)
{
    __shared__ KeyPoint tile[kMatchTile];
    const int q = blockIdx.x * blockDim.x + threadIdx.x;
    KeyPoint me;
    if (q < nq) me = query[q];
    for (int base = 0; base < nt; base += kMatchTile) {
        const int lim = min(kMatchTile, nt - base);
        for (int j = threadIdx.x; j < lim; j += blockDim.x) tile[j] = train[base + j];
        __syncthreads();
        if (q < nq)
            for (int j = 0; j < lim; ++j) {
                const int d = me.hamming(tile[j]);
                if (d < me.distance) {
                    me.second = me.distance;
                    me.distance = d;
                    me.match = base + j;
                } else if (d < me.second) me.second = d;
            }
        __syncthreads();
    }
    if (q < nq) {
        if (!me.ratioTest()) me.match = -1 - me.match;
        query[q].match = me.match;
        query[q].distance = me.distance;
        query[q].second = me.second;
    }
}

class Image {
public:
    Image(int w, int h, float shift) : w_(w), h_(h)
    {
        std::vector<GradPixel> host((size_t)w * h);
        std::vector<float> sx(w), sy(h);
        uint32_t noise = 77u + (uint32_t)shift;     // sensor noise differs per image
        for (int x = 0; x < w; ++x) sx[x] = 30.f * std::sin((x + shift) * 0.021f);
        for (int y = 0; y < h; ++y) sy[y] = 25.f * std::cos(y * 0.017f);
        for (int y = 0; y < h; ++y)
            for (int x = 0; x < w; ++x) {
                // smooth shading + random blocks of two sizes (a synthetic city from above)
                const int X = x + (int)shift;
                uint32_t a = (X / 9) * 374761393u + (y / 11) * 668265263u;
                uint32_t b = (X / 37) * 2246822519u + (y / 29) * 3266489917u;
                a = (a ^ (a >> 13)) * 1274126177u;
                b = (b ^ (b >> 15)) * 2654435761u;
                noise = noise * 1664525u + 1013904223u;
                GradPixel& p = host[(size_t)y * w + x];
                p.value = 128.f + sx[x] + sy[y] + ((a >> 20) & 63) - 32.f + ((b >> 18) & 31) + (noise >> 24) * 0.08f;
                p.gx = p.gy = p.mag = 0.f;
                p.edge = p.quadrant = 0;
            }
        PD_CHECK(cudaMalloc(&d_, host.size() * sizeof(GradPixel)));
        PD_CHECK(cudaMemcpy(d_, host.data(), host.size() * sizeof(GradPixel), cudaMemcpyHostToDevice));
    }
    ~Image() { cudaFree(d_); }
    ImageView view() const { return ImageView{d_, w_, h_}; }
    void gradient() const
    {
        gradientKernel<<<dim3((w_ + kBlock - 1) / kBlock, (h_ + kBlock - 1) / kBlock), dim3(kBlock, kBlock)>>>(view());
    }
    std::vector<GradPixel> download() const
    {
        std::vector<GradPixel> host((size_t)w_ * h_);
        PD_CHECK(cudaMemcpy(host.data(), d_, host.size() * sizeof(GradPixel), cudaMemcpyDeviceToHost));
        return host;
    }
private:
    GradPixel* d_ = nullptr;
    int w_, h_;
};

}  // namespace pd

int main()
{
    using namespace pd;
    const int W = 3000, H = 2000, N = 16384, shift = 24, iters = 12;
    uint32_t s = 20240607u;
    auto rnd = [&s](int n) { s = s * 1664525u + 1013904223u; return (int)((s >> 10) % n); };

    TestPair pairs[32 * kWords];
    for (auto& t : pairs) {
        t.x0 = rnd(21) - 10; t.y0 = rnd(21) - 10; t.x1 = rnd(21) - 10; t.y1 = rnd(21) - 10;
    }
    PD_CHECK(cudaMemcpyToSymbol(c_pairs, pairs, sizeof(pairs)));

    // key points in raster order of a jittered grid, B = A moved by the shift
    std::vector<KeyPoint> a(N), b(N);
    for (int k = 0; k < N; ++k) {
        KeyPoint kp = {};
        kp.x = 60 + (k % 128) * 22 + rnd(20);
        kp.y = 40 + (k / 128) * 15 + rnd(12);
        kp.size = 31.f;
        kp.octave = k & 3;
        kp.match = -1;
        a[k] = kp;
        kp.x -= shift;
        b[N - 1 - k] = kp;
    }

    Image imgA(W, H, 0.f), imgB(W, H, (float)shift);
    KeyPoint *dA, *dB;
    PD_CHECK(cudaMalloc(&dA, N * sizeof(KeyPoint)));
    PD_CHECK(cudaMalloc(&dB, N * sizeof(KeyPoint)));
    PD_CHECK(cudaMemcpy(dA, a.data(), N * sizeof(KeyPoint), cudaMemcpyHostToDevice));
    PD_CHECK(cudaMemcpy(dB, b.data(), N * sizeof(KeyPoint), cudaMemcpyHostToDevice));

    auto pass = [&]() {
        imgA.gradient();
        imgB.gradient();
        orientKernel<<<N / 4, 128>>>(imgA.view(), dA, N);
        orientKernel<<<N / 4, 128>>>(imgB.view(), dB, N);
        describeKernel<<<(N + 63) / 64, 64>>>(imgA.view(), dA, N);
        describeKernel<<<(N + 63) / 64, 64>>>(imgB.view(), dB, N);
        matchKernel<<<(N + 127) / 128, 128>>>(dA, N, dB, N);
    };
    cudaEvent_t t0, t1;
    PD_CHECK(cudaEventCreate(&t0)); PD_CHECK(cudaEventCreate(&t1));
    pass();
    PD_CHECK(cudaEventRecord(t0));
    for (int i = 0; i < iters; ++i) pass();
    PD_CHECK(cudaEventRecord(t1));
    PD_CHECK(cudaGetLastError());
    PD_CHECK(cudaEventSynchronize(t1));
    float ms = 0.f;
    PD_CHECK(cudaEventElapsedTime(&ms, t0, t1));

    PD_CHECK(cudaMemcpy(a.data(), dA, N * sizeof(KeyPoint), cudaMemcpyDeviceToHost));
    double mag = 0, edges = 0, resp = 0, ang = 0, dist = 0, good = 0, right = 0, bits = 0;
    for (const GradPixel& p : imgA.download()) { mag += p.mag; edges += p.edge; }
    for (int k = 0; k < N; ++k) {
        resp += std::fabs(a[k].response); ang += std::fabs(a[k].angle); dist += a[k].distance;
        good += a[k].match >= 0;
        right += a[k].match == N - 1 - k;
        for (uint32_t w : a[k].desc) bits += __builtin_popcount(w);
    }
    std::printf("check mag %.6e\ncheck edges %.0f\ncheck response %.6e\ncheck angle %.6e\n", mag, edges, resp, ang);
    std::printf("check distance %.6e\ncheck good %.0f\ncheck right %.0f\ncheck bits %.6e\n", dist, good, right, bits);
    std::printf("time_ms %.4f\n", ms);
    cudaFree(dA), cudaFree(dB);
}
