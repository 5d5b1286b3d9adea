// Depth camera: a bilateral filter guided by colour over the depth of a frame,
// then a normal per pixel.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>

#define CHECK_CUDA(call)                                              \
    do {                                                              \
        cudaError_t err__ = call;                                     \
        if (err__ != cudaSuccess) {                                   \
            fprintf(stderr, "%s\n", cudaGetErrorString(err__));       \
            exit(EXIT_FAILURE);                                       \
        }                                                             \
    } while (0)

typedef unsigned char uchar;
typedef unsigned short ushort_t;

struct RgbdPixel {
    uchar r, g, b, mask;
    ushort_t depth;        // millimetres, 0 for none
    ushort_t confidence;
};

struct Surfel {
    float3 normal;
    float radius;
    unsigned id;
};

struct FilterParams {
    int width, height;
    int pitch;             // in pixels
    int radius;
    float sigmaSpace, sigmaDepth;
    int minConfidence;
    float fx, fy, cx, cy;  // of the lens
};

__constant__ float colourWeight[256];

__global__ void bilateral(const RgbdPixel *__restrict__ src, RgbdPixel *__restrict__ dst, FilterParams p)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= p.width || y >= p.height)
        return;
    RgbdPixel centre = src[y * p.pitch + x];
    const float space = -0.5f / (p.sigmaSpace * p.sigmaSpace);
    const float range = -0.5f / (p.sigmaDepth * p.sigmaDepth);
    float sum = 0.0f, total = 0.0f;
    int good = 0;
    for (int dy = -p.radius; dy <= p.radius; ++dy) {
        const int yy = min(max(y + dy, 0), p.height - 1);
        for (int dx = -p.radius; dx <= p.radius; ++dx) {
            const int xx = min(max(x + dx, 0), p.width - 1);
            const RgbdPixel *q = &src[yy * p.pitch + xx];
            const int depth = q->depth;
            if (depth == 0 || q->confidence < p.minConfidence)
                continue;
            const int difference = (abs(q->r - centre.r) + 2 * abs(q->g - centre.g) + abs(q->b - centre.b)) >> 2;
            float w = colourWeight[difference] * __expf(space * (dx * dx + dy * dy));
            if (centre.depth != 0) {
                const float dd = (float)(depth - centre.depth);
                w *= __expf(range * dd * dd);
            }
            sum += w * depth;
            total += w;
            ++good;
        }
    }
    if (total > 1e-4f)
        centre.depth = (ushort_t)(sum / total + 0.5f);
    centre.confidence = (ushort_t)min(65535, (centre.confidence * 3 + good * 512) / 4);
    dst[y * p.pitch + x] = centre;
}

__device__ inline float3 unproject(const RgbdPixel *frame, int x, int y, const FilterParams &p)
{
    const float z = frame[y * p.pitch + x].depth * 0.001f;
    return make_float3((x - p.cx) / p.fx * z, (y - p.cy) / p.fy * z, z);
}

__global__ void normals(const RgbdPixel *__restrict__ frame, Surfel *surfels, FilterParams p)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= p.width - 1 || y >= p.height - 1)
        return;
    const float3 l = unproject(frame, x - 1, y, p), r = unproject(frame, x + 1, y, p);
    const float3 t = unproject(frame, x, y - 1, p), b = unproject(frame, x, y + 1, p);
    const float3 u = make_float3(r.x - l.x, r.y - l.y, r.z - l.z);
    const float3 v = make_float3(b.x - t.x, b.y - t.y, b.z - t.z);
    float3 n = make_float3(u.y * v.z - u.z * v.y, u.z * v.x - u.x * v.z, u.x * v.y - u.y * v.x);
    const float length = sqrtf(n.x * n.x + n.y * n.y + n.z * n.z) + 1e-12f;
    n.x /= length;
    n.y /= length;
    n.z /= length;
    const int at = y * p.pitch + x;
    surfels[at].normal = n;
    surfels[at].radius = 0.5f * sqrtf(length);
}

int main(int argc, char *argv[])
{
    const int width = argc > 1 ? atoi(argv[1]) : 4096;
    const int height = width * 3 / 4;
    FilterParams params = {
        /* width */ width,
        /* height */ height,
        /* pitch */ (width + 63) & ~63,
        /* radius */ 3,
        /* sigmaSpace */ 2.0f,
        /* sigmaDepth */ 60.0f,
        /* minConfidence */ 4000,
        /* fx */ 0.9f * width,
        /* fy */ 0.9f * width,
        /* cx */ 0.5f * width,
        /* cy */ 0.5f * height,
    };
    float table[256];
    for (int k = 0; k < 256; ++k)
        table[k] = expf(-0.5f * k * k / (24.0f * 24.0f));
    CHECK_CUDA(cudaMemcpyToSymbol(colourWeight, table, sizeof(table)));

    const size_t count = (size_t)params.pitch * height;
    std::vector<RgbdPixel> frame(count);
    std::vector<Surfel> surfels(count);
    unsigned seed = 1;
    for (size_t k = 0; k < count; ++k) {
        const int x = (int)(k % params.pitch), y = (int)(k / params.pitch);
        seed = seed * 214013u + 2531011u;
        const unsigned noise = seed >> 16 & 0x7fff;
        const int tile = (x / 96 + y / 80 * 7) % 11;
        frame[k].r = (uchar)(tile * 20 + noise % 16);
        frame[k].g = (uchar)(tile * 13 + 40 + noise / 16 % 16);
        frame[k].b = (uchar)(200 - tile * 11 + noise / 256 % 16);
        frame[k].mask = (uchar)(tile == 3);
        frame[k].depth = (ushort_t)(noise % 29 == 0 ? 0 : 800 + tile * 150 + (x + y) / 8 + noise % 64);
        frame[k].confidence = (ushort_t)(noise * 2);
        surfels[k] = {make_float3(0, 0, 0), 0, (unsigned)k};
    }
    RgbdPixel *dRaw, *dFrame[2];
    Surfel *dSurfels;
    CHECK_CUDA(cudaMalloc((void **)&dRaw, count * sizeof(RgbdPixel)));
    CHECK_CUDA(cudaMalloc((void **)&dFrame[0], count * sizeof(RgbdPixel)));
    CHECK_CUDA(cudaMalloc((void **)&dFrame[1], count * sizeof(RgbdPixel)));
    CHECK_CUDA(cudaMalloc((void **)&dSurfels, count * sizeof(Surfel)));
    CHECK_CUDA(cudaMemcpy(dRaw, frame.data(), count * sizeof(RgbdPixel), cudaMemcpyHostToDevice));
    CHECK_CUDA(cudaMemcpy(dSurfels, surfels.data(), count * sizeof(Surfel), cudaMemcpyHostToDevice));

    const dim3 threads(32, 8);
    const dim3 blocks((width + threads.x - 1) / threads.x, (height + threads.y - 1) / threads.y);
    cudaEvent_t start, stop;
    CHECK_CUDA(cudaEventCreate(&start));
    CHECK_CUDA(cudaEventCreate(&stop));
    const int frames = 30;
    for (int f = -1; f < frames; ++f) {
        if (f == 0)
            CHECK_CUDA(cudaEventRecord(start));
        bilateral<<<blocks, threads>>>(dRaw, dFrame[0], params);
        FilterParams second = params;      // finer
        second.radius = 2;
        second.sigmaDepth = params.sigmaDepth / 2;
        bilateral<<<blocks, threads>>>(dFrame[0], dFrame[1], second);
        normals<<<blocks, threads>>>(dFrame[1], dSurfels, params);
    }
    CHECK_CUDA(cudaGetLastError());
    CHECK_CUDA(cudaEventRecord(stop));
    CHECK_CUDA(cudaEventSynchronize(stop));
    float ms = 0.0f;
    CHECK_CUDA(cudaEventElapsedTime(&ms, start, stop));

    CHECK_CUDA(cudaMemcpy(surfels.data(), dSurfels, count * sizeof(Surfel), cudaMemcpyDeviceToHost));
    unsigned long long check = 0;
    for (const Surfel &s : surfels)
        check = check * 31 + llroundf(s.normal.x * 64) + 3 * llroundf(s.normal.y * 64) + 5 * llroundf(s.normal.z * 64) + s.id;
    printf("check %llu\ntime_ms %.4f\n", check, ms / frames);
    cudaFree(dRaw);
    cudaFree(dFrame[0]);
    cudaFree(dFrame[1]);
    cudaFree(dSurfels);
    return 0;
}
