// Video denoising: temporal blend with history, a 3x3 depth-aware filter, and
// an edge/tone pass. One struct per pixel, two frames in flight.
#include <cuda_runtime.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>

struct Rgb { float r, g, b; };

struct Pixel {
    Rgb color;
    Rgb history;
    float depth;
    float luma;
    float variance;
    unsigned char mask;
    unsigned char edge;
    short motion;
};

#define CU(x)                                                                    \
    do {                                                                         \
        const cudaError_t rc_ = (x);                                             \
        if (rc_ != cudaSuccess) {                                                \
            std::fprintf(stderr, "%s failed: %s\n", #x, cudaGetErrorString(rc_)); \
            std::exit(1);                                                        \
        }                                                                        \
    } while (0)

__host__ __device__ inline float luminance(float r, float g, float b)
{
    return 0.2126f * r + 0.7152f * g + 0.0722f * b;
}

__global__ void temporal(Pixel *img, int w, int h, int frame)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    Pixel &p = img[y * w + x];
    // cheap per-frame noise
    unsigned s = (unsigned)(y * w + x) * 747796405u + (unsigned)frame * 2891336453u;
    s ^= s >> 15;
    s *= 2246822519u;
    s ^= s >> 13;
    float noise = ((float)(s & 0xffffu) / 65536.0f - 0.5f) * 0.05f;
    float k = p.motion > 8 ? 0.5f : 0.125f;
    p.history.r += k * (p.color.r + noise - p.history.r);
    p.history.g += k * (p.color.g + noise - p.history.g);
    p.history.b += k * (p.color.b + noise - p.history.b);
    float l = luminance(p.history.r, p.history.g, p.history.b);
    float d = l - p.luma;
    p.variance = 0.9f * p.variance + 0.1f * d * d;
    p.luma = l;
}

__global__ void bilateral(const Pixel *__restrict__ in, Pixel *__restrict__ out, int w, int h)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    const int c = y * w + x;
    const float depth = in[c].depth;
    const float luma = in[c].luma;
    const float sharp = 4.0f / (0.01f + in[c].variance);
    float r = 0.0f, g = 0.0f, b = 0.0f, total = 0.0f;
    for (int dy = -1; dy <= 1; ++dy) {
        for (int dx = -1; dx <= 1; ++dx) {
            const int xx = min(max(x + dx, 0), w - 1);
            const int yy = min(max(y + dy, 0), h - 1);
            const int q = yy * w + xx;
            const float dd = in[q].depth - depth;
            const float dl = in[q].luma - luma;
            const float wgt = 1.0f / (1.0f + 16.0f * dd * dd + sharp * dl * dl);
            r += wgt * in[q].history.r;
            g += wgt * in[q].history.g;
            b += wgt * in[q].history.b;
            total += wgt;
        }
    }
    Pixel p = in[c];
    const float inv = 1.0f / total;
    if (p.mask) {
        p.history.r = r * inv;
        p.history.g = g * inv;
        p.history.b = b * inv;
    }
    out[c] = p;
}

__global__ void edges(Pixel *img, int w, int h)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1) return;
    const int c = y * w + x;
    float gx = img[c + 1].depth - img[c - 1].depth;
    float gy = img[c + w].depth - img[c - w].depth;
    float lx = img[c + 1].luma - img[c - 1].luma;
    float ly = img[c + w].luma - img[c - w].luma;
    float m = sqrtf(gx * gx + gy * gy + lx * lx + ly * ly);
    img[c].edge = (unsigned char)fminf(255.0f, m * 40.0f);
    img[c].motion = (short)((img[c].motion * 5 + 3) & 15);
}

int main(int argc, char **argv)
{
    const long n = argc > 1 ? std::atol(argv[1]) : 2560L * 1440L;
    int w = (int)(std::sqrt((double)n * 16.0 / 9.0) / 16.0) * 16;
    if (w < 16) w = 16;
    const int h = n / w > 2 ? (int)(n / w) : 3;
    const size_t count = (size_t)w * h;

    std::unique_ptr<Pixel[]> img(new Pixel[count]);
    for (int y = 0; y < h; ++y)
        for (int x = 0; x < w; ++x) {
            Pixel &p = img[(size_t)y * w + x];
            const bool disc = (x % 200 - 100) * (x % 200 - 100) + (y % 200 - 100) * (y % 200 - 100) < 4000;
            p.color.r = disc ? 0.8f : (float)(x & 255) / 255.0f;
            p.color.g = (float)(y & 127) / 127.0f;
            p.color.b = disc ? 0.1f : (float)((x ^ y) & 63) / 63.0f;
            p.history = p.color;
            p.depth = disc ? 1.0f : 2.0f + 0.001f * (float)(y % 500);
            p.luma = luminance(p.color.r, p.color.g, p.color.b);
            p.variance = 0.01f;
            p.mask = (x / 64 + y / 64) % 4 != 0;
            p.edge = 0;
            p.motion = (short)((x * 3 + y * 5) % 16);
        }

    Pixel *d_cur, *d_next;
    CU(cudaMalloc(&d_cur, count * sizeof(Pixel)));
    CU(cudaMalloc(&d_next, count * sizeof(Pixel)));
    CU(cudaMemcpy(d_cur, img.get(), count * sizeof(Pixel), cudaMemcpyHostToDevice));

    const dim3 threads(32, 8);
    const dim3 blocks((w + 31) / 32, (h + 7) / 8);
    const int frames = 30;
    cudaEvent_t from, to;
    CU(cudaEventCreate(&from));
    CU(cudaEventCreate(&to));
    for (int f = 0; f < frames + 1; ++f) {
        if (f == 1) CU(cudaEventRecord(from));
        temporal<<<blocks, threads>>>(d_cur, w, h, f);
        bilateral<<<blocks, threads>>>(d_cur, d_next, w, h);
        edges<<<blocks, threads>>>(d_next, w, h);
        CU(cudaGetLastError());
        Pixel *tmp = d_cur;
        d_cur = d_next;
        d_next = tmp;
    }
    CU(cudaEventRecord(to));
    CU(cudaEventSynchronize(to));
    float ms = 0.0f;
    CU(cudaEventElapsedTime(&ms, from, to));

    CU(cudaMemcpy(img.get(), d_cur, count * sizeof(Pixel), cudaMemcpyDeviceToHost));
    double sum = 0.0;
    for (size_t i = 0; i < count; ++i) {
        const Pixel &p = img[i];
        sum += (p.history.r + 2.0 * p.history.g + 3.0 * p.history.b) * (1.0 + (double)(i % 3))
             + 0.01 * p.edge + 0.1 * p.motion;
    }
    std::printf("time_ms %.5f\n", ms / frames);
    std::printf("check %.6e\n", sum);
    cudaFree(d_cur);
    cudaFree(d_next);
    return 0;
}
