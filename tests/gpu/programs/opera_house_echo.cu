// Sound rays in an opera house: a tree of boxes (balconies, curtains, seats) is
// walked by every ray with a stack in shared memory; energies go to seat blocks.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>

#define CUDA_TRY(x)                                                           \
    do {                                                                      \
        cudaError_t e_ = (x);                                                 \
        if (e_ != cudaSuccess) {                                              \
            fprintf(stderr, "%s at %d\n", cudaGetErrorString(e_), __LINE__);  \
            exit(1);                                                          \
        }                                                                     \
    } while (0)

struct Box {
    float3 lo;
    float3 hi;
    int left, right;      // -1: a leaf
    float absorb;
    short seat;
    short material;
};

struct Ray {
    float3 org;
    float3 dir;
    float energy;
    float reach;
    int hits;
};

const int LEVELS = 15;                        // 32 x 32 x 32 leaves
const int LEAVES = 1 << LEVELS;
const int BOXES = 2 * LEAVES - 1;
const int RAYS = 1 << 19;
const int SEATS = 512;
const int BLOCK = 128;
const int STACK = 24;
const int BOUNCES = 12;

__device__ bool touches(const Box& b, float3 o, float3 inv, float far)
{
    float ax = (b.lo.x - o.x) * inv.x, bx = (b.hi.x - o.x) * inv.x;
    float ay = (b.lo.y - o.y) * inv.y, by = (b.hi.y - o.y) * inv.y;
    float az = (b.lo.z - o.z) * inv.z, bz = (b.hi.z - o.z) * inv.z;
    float t0 = fmaxf(fmaxf(fminf(ax, bx), fminf(ay, by)), fmaxf(fminf(az, bz), 0.0f));
    float t1 = fminf(fminf(fmaxf(ax, bx), fmaxf(ay, by)), fminf(fmaxf(az, bz), far));
    return t0 <= t1;
}

__global__ void __launch_bounds__(BLOCK) trace(const Box* __restrict__ boxes, Ray* rays, int n)
{
    __shared__ int stack[STACK][BLOCK];
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n) return;
    float3 o = rays[i].org;
    float3 d = rays[i].dir;
    float3 inv = make_float3(1.0f / d.x, 1.0f / d.y, 1.0f / d.z);
    float far = rays[i].reach;
    float energy = rays[i].energy;
    int hits = 0;
    int top = 0;
    stack[top++][threadIdx.x] = 0;
    while (top > 0) {
        int b = stack[--top][threadIdx.x];
        if (!touches(boxes[b], o, inv, far)) continue;
        int l = boxes[b].left;
        if (l < 0) {
            energy *= 1.0f - boxes[b].absorb;
            ++hits;
            if (energy < 0.02f) break;
        } else {
            stack[top++][threadIdx.x] = boxes[b].right;
            stack[top++][threadIdx.x] = l;
        }
    }
    rays[i].energy = energy;
    rays[i].hits += hits;
}

__global__ void listen(const Ray* rays, float* heard, int* touched, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float e = rays[i].energy;
    if (e < 0.05f) return;
    int s = (int)(fabsf(rays[i].dir.x) * 15.9f) * 32 + (int)(fabsf(rays[i].dir.z) * 31.9f);
    s = min(max(s, 0), SEATS - 1);
    atomicAdd(&heard[s], e);
    atomicAdd(&touched[s], rays[i].hits);
}

__global__ void bounce(Ray* rays, int n, int wall)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Ray r = rays[i];
    r.org.x = fminf(fmaxf(r.org.x + 3.0f * r.dir.x, 0.1f), 31.9f);
    r.org.y = fminf(fmaxf(r.org.y + 3.0f * r.dir.y, 0.1f), 31.9f);
    r.org.z = fminf(fmaxf(r.org.z + 3.0f * r.dir.z, 0.1f), 31.9f);
    if (wall == 0) r.dir.x = -r.dir.x;
    else if (wall == 1) r.dir.y = -r.dir.y;
    else r.dir.z = -r.dir.z;
    r.energy = 0.2f + 0.8f * r.energy;
    rays[i] = r;
}

static unsigned s0 = 1u, s1 = 362436069u;
static float rf()
{
    s0 = 69069u * s0 + 1234567u;
    s1 ^= s1 << 13; s1 ^= s1 >> 17; s1 ^= s1 << 5;
    return ((s0 + s1) >> 8) * (1.0f / 16777216.0f);
}

int main()
{
    // heap-shaped tree over a Morton order; deep nodes are stored in random places
    std::vector<int> place(BOXES);
    for (int i = 0; i < BOXES; ++i) place[i] = i;
    for (int i = BOXES - 1; i > 255; --i) {
        int j = 255 + (int)(rf() * (float)(i - 254));
        if (j > i) j = i;
        std::swap(place[i], place[j]);
    }
    std::vector<Box> boxes(BOXES);
    for (int h = BOXES - 1; h >= 0; --h) {
        Box& b = boxes[place[h]];
        if (h >= LEAVES - 1) {
            int m = h - (LEAVES - 1), x = 0, y = 0, z = 0;
            for (int k = 0; k < 5; ++k) {
                x |= ((m >> (3 * k)) & 1) << k;
                y |= ((m >> (3 * k + 1)) & 1) << k;
                z |= ((m >> (3 * k + 2)) & 1) << k;
            }
            b.lo = make_float3(x + 0.6f * rf(), y + 0.6f * rf(), z + 0.6f * rf());
            b.hi = make_float3(b.lo.x + 0.1f + 0.3f * rf(), b.lo.y + 0.1f + 0.3f * rf(),
                               b.lo.z + 0.1f + 0.3f * rf());
            b.left = b.right = -1;
            b.absorb = 0.05f + 0.4f * rf();
            b.seat = (short)(m % SEATS);
            b.material = (short)(m % 9);
        } else {
            b.left = place[2 * h + 1];
            b.right = place[2 * h + 2];
            const Box& l = boxes[b.left];
            const Box& r = boxes[b.right];
            b.lo = make_float3(std::min(l.lo.x, r.lo.x), std::min(l.lo.y, r.lo.y), std::min(l.lo.z, r.lo.z));
            b.hi = make_float3(std::max(l.hi.x, r.hi.x), std::max(l.hi.y, r.hi.y), std::max(l.hi.z, r.hi.z));
            b.absorb = 0.0f;
            b.seat = -1;
            b.material = 0;
        }
    }
    std::vector<Ray> rays(RAYS);
    for (int i = 0; i < RAYS; ++i) {
        float az = 6.2831853f * ((i % 1024) + 0.37f) / 1024.0f;
        float up = -0.95f + 1.9f * ((i / 1024) + 0.41f) / 512.0f;
        float flat = sqrtf(1.0f - up * up);
        rays[i].org = make_float3(16.0f + 0.5f * rf(), 4.0f + 0.5f * rf(), 2.0f + 0.5f * rf());
        rays[i].dir = make_float3(flat * cosf(az) + 1e-5f, flat * sinf(az) + 1e-5f, up + 1e-5f);
        rays[i].energy = 1.0f;
        rays[i].reach = 20.0f + 10.0f * rf();
        rays[i].hits = 0;
    }

    Box* d_boxes;
    Ray* d_rays;
    float* d_heard;
    int* d_touched;
    CUDA_TRY(cudaMalloc(&d_boxes, sizeof(Box) * BOXES));
    CUDA_TRY(cudaMalloc(&d_rays, sizeof(Ray) * RAYS));
    CUDA_TRY(cudaMalloc(&d_heard, sizeof(float) * SEATS));
    CUDA_TRY(cudaMalloc(&d_touched, sizeof(int) * SEATS));
    CUDA_TRY(cudaMemcpy(d_boxes, boxes.data(), sizeof(Box) * BOXES, cudaMemcpyHostToDevice));
    CUDA_TRY(cudaMemcpy(d_rays, rays.data(), sizeof(Ray) * RAYS, cudaMemcpyHostToDevice));
    CUDA_TRY(cudaMemset(d_heard, 0, sizeof(float) * SEATS));
    CUDA_TRY(cudaMemset(d_touched, 0, sizeof(int) * SEATS));

    cudaEvent_t e0, e1;
    CUDA_TRY(cudaEventCreate(&e0));
    CUDA_TRY(cudaEventCreate(&e1));
    for (int k = -1; k < BOUNCES; ++k) {
        if (k == 0) CUDA_TRY(cudaEventRecord(e0));
        trace<<<RAYS / BLOCK, BLOCK>>>(d_boxes, d_rays, RAYS);
        listen<<<RAYS / 256, 256>>>(d_rays, d_heard, d_touched, RAYS);
        bounce<<<RAYS / 256, 256>>>(d_rays, RAYS, (k + 1) % 3);
    }
    CUDA_TRY(cudaEventRecord(e1));
    CUDA_TRY(cudaEventSynchronize(e1));
    CUDA_TRY(cudaGetLastError());
    float ms = 0;
    CUDA_TRY(cudaEventElapsedTime(&ms, e0, e1));

    std::vector<float> heard(SEATS);
    std::vector<int> touched(SEATS);
    CUDA_TRY(cudaMemcpy(rays.data(), d_rays, sizeof(Ray) * RAYS, cudaMemcpyDeviceToHost));
    CUDA_TRY(cudaMemcpy(heard.data(), d_heard, sizeof(float) * SEATS, cudaMemcpyDeviceToHost));
    CUDA_TRY(cudaMemcpy(touched.data(), d_touched, sizeof(int) * SEATS, cudaMemcpyDeviceToHost));
    double energy = 0, hits = 0, sum = 0, tsum = 0;
    for (const Ray& r : rays) {
        energy += r.energy;
        hits += r.hits;
    }
    for (int s = 0; s < SEATS; ++s) {
        sum += heard[s];
        tsum += touched[s];
    }
    printf("check energy %.8g\n", energy);
    printf("check hits %.9g\n", hits);
    printf("check heard %.7g\n", sum);
    printf("check touched %.9g\n", tsum);
    printf("time_ms %.4f\n", ms);
    return 0;
}
