// Noise filter for a time-of-flight depth camera: joint bilateral filter of
// the depth over a 5x5 window, guided by the infrared amplitude and weighted
// with the confidence of each pixel. The frames are ping-ponged.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>
#include <cuda_runtime.h>

#define CUDA_SAFE(expr)                                                     \
    if (cudaError_t rc = (expr); rc != cudaSuccess) {                       \
        std::fprintf(stderr, "%s failed at line %d: %s\n", #expr, __LINE__, \
                     cudaGetErrorString(rc));                               \
        std::exit(2);                                                       \
    }

struct TofPixel {
    float depth;       // metres
    float amplitude;   // infrared
    int confidence;    // 0..255, 0 = invalid
};

struct FilterParams {
    float invSigmaDepth2;
    float invSigmaAmp2;
    float invSigmaSpace2;
};

constexpr int RADIUS = 2;

__device__ inline int clampi(int v, int lo, int hi)
{
    return v < lo ? lo : (v > hi ? hi : v);
}

__device__ float pairWeight(TofPixel c, TofPixel q, int dist2, FilterParams prm)
{
    float dd = c.depth - q.depth;
    float da = c.amplitude - q.amplitude;
    float e = dd * dd * prm.invSigmaDepth2 + da * da * prm.invSigmaAmp2 +
              dist2 * prm.invSigmaSpace2;
    return q.confidence * __expf(-e);
}

__global__ void bilateral(const TofPixel *in, TofPixel *out, int width, int height,
                          FilterParams prm)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;

    const TofPixel centre = in[y * width + x];
    float sum = 0.0f, weight = 0.0f;
    int valid = 0;
    for (int dy = -RADIUS; dy <= RADIUS; ++dy) {
        const int yy = clampi(y + dy, 0, height - 1);
        for (int dx = -RADIUS; dx <= RADIUS; ++dx) {
            const int xx = clampi(x + dx, 0, width - 1);
            const TofPixel q = in[yy * width + xx];
            if (q.confidence == 0)
                continue;
            const float w = pairWeight(centre, q, dx * dx + dy * dy, prm);
            sum += w * q.depth;
            weight += w;
            ++valid;
        }
    }

    TofPixel res = centre;
    if (weight > 1e-10f)
        res.depth = sum / weight;
    if (centre.confidence == 0 && valid >= 12)
        res.confidence = 1;
    out[y * width + x] = res;
}

static void makeFrame(std::vector<TofPixel> &frame, int width, int height)
{
    unsigned int rnd = 1u;
    for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) {
            rnd = rnd * 1103515245u + 12345u;
            unsigned int r = rnd >> 8;
            rnd = rnd * 1103515245u + 12345u;
            unsigned int s = rnd >> 8;
            bool box = ((x >> 6) + (y >> 6)) & 1;
            TofPixel &p = frame[(size_t)y * width + x];
            p.depth = (box ? 1.5f : 2.2f) + 0.1f * (r & 0xffff) / 65536.0f;
            p.amplitude = (box ? 80.0f : 120.0f) + 10.0f * (s & 0xffff) / 65536.0f;
            p.confidence = (s >> 16) % 10 == 0 ? 0 : (int)(r >> 16);
        }
    }
}

int main(int argc, char **argv)
{
    long records = argc > 1 ? std::atol(argv[1]) : 2560L * 2304L;
    if (records < 64) {
        std::fprintf(stderr, "too few pixels\n");
        return 1;
    }
    int height = (int)std::sqrt(records * 0.9);
    int width = (int)(records / height);
    const size_t count = (size_t)width * height;
    const int steps = 30;

    std::vector<TofPixel> frame(count);
    makeFrame(frame, width, height);

    TofPixel *src = nullptr, *dst = nullptr;
    CUDA_SAFE(cudaMalloc(&src, count * sizeof(TofPixel)));
    CUDA_SAFE(cudaMalloc(&dst, count * sizeof(TofPixel)));
    CUDA_SAFE(cudaMemcpy(src, frame.data(), count * sizeof(TofPixel), cudaMemcpyHostToDevice));

    const FilterParams prm = {1.0f / (2 * 0.15f * 0.15f), 1.0f / (2 * 15.0f * 15.0f),
                              1.0f / (2 * 1.5f * 1.5f)};
    const dim3 block(32, 8);
    const dim3 grid((width + block.x - 1) / block.x, (height + block.y - 1) / block.y);

    bilateral<<<grid, block>>>(src, dst, width, height, prm);
    CUDA_SAFE(cudaGetLastError());
    CUDA_SAFE(cudaDeviceSynchronize());
    std::swap(src, dst);

    cudaEvent_t start, stop;
    CUDA_SAFE(cudaEventCreate(&start));
    CUDA_SAFE(cudaEventCreate(&stop));
    CUDA_SAFE(cudaEventRecord(start));
    for (int i = 0; i < steps; ++i) {
        bilateral<<<grid, block>>>(src, dst, width, height, prm);
        std::swap(src, dst);
    }
    CUDA_SAFE(cudaEventRecord(stop));
    CUDA_SAFE(cudaEventSynchronize(stop));
    CUDA_SAFE(cudaGetLastError());
    float ms = 0.0f;
    CUDA_SAFE(cudaEventElapsedTime(&ms, start, stop));

    CUDA_SAFE(cudaMemcpy(frame.data(), src, count * sizeof(TofPixel), cudaMemcpyDeviceToHost));
    unsigned long long check = 14695981039346656037ull;
    for (size_t i = 0; i < count; ++i) {
        unsigned int d, a;
        std::memcpy(&d, &frame[i].depth, sizeof d);
        std::memcpy(&a, &frame[i].amplitude, sizeof a);
        check = (check ^ d) * 1099511628211ull;
        check = (check ^ a) * 1099511628211ull;
        check += (unsigned)frame[i].confidence;
    }
    std::printf("time_ms %.4f\n", ms / steps);
    std::printf("check %llu\n", check);

    CUDA_SAFE(cudaFree(src));
    CUDA_SAFE(cudaFree(dst));
    return 0;
}
