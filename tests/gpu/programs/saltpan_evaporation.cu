// A field of shallow salt pans: brine flows between pans, the sun dries it, and a crust is raked when thick enough.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <cuda_runtime.h>

static const int TILE = 16;

struct Brine {
    float nacl;
    float mg;
    float temp;
};

struct Pan {
    Brine brine;
    float depth;
    float floorLevel;
    float crust;
    short rakes;
    unsigned char sluice;
    unsigned char algae;
};

struct Weather {
    float sun;
    float wind;
    float humidity;
};

struct Surface {
    float head;
    float nacl;
    float open;
};

static void die(cudaError_t e, const char *what)
{
    if (e != cudaSuccess) {
        fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
        exit(1);
    }
}

static unsigned hash2(unsigned x, unsigned y)
{
    unsigned h = x * 0x9E3779B1u ^ (y + 0x7F4A7C15u) * 0x85EBCA6Bu;
    h ^= h >> 16;
    h *= 0xC2B2AE35u;
    h ^= h >> 13;
    return h;
}

static __device__ Surface surface_of(const Pan &p)
{
    Surface s;
    s.head = p.floorLevel + p.depth;
    s.nacl = p.brine.nacl;
    s.open = p.sluice ? 1.0f : 0.15f;
    return s;
}

static __device__ void exchange(const Surface &me, const Surface &other, float &water, float &salt)
{
    float q = 0.05f * fminf(me.open, other.open) * (other.head - me.head);
    water += q;
    salt += q * (q > 0.0f ? other.nacl : me.nacl);
}

__global__ void flow(const Pan *in, Pan *out, int w, int h)
{
    __shared__ Surface tile[TILE + 2][TILE + 2];
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    for (int t = threadIdx.y * TILE + threadIdx.x; t < (TILE + 2) * (TILE + 2); t += TILE * TILE) {
        int ty = t / (TILE + 2), tx = t % (TILE + 2);
        int gx = min(max((int)blockIdx.x * TILE + tx - 1, 0), w - 1);
        int gy = min(max((int)blockIdx.y * TILE + ty - 1, 0), h - 1);
        tile[ty][tx] = surface_of(in[(size_t)gy * w + gx]);
    }
    __syncthreads();
    if (x >= w || y >= h)
        return;
    int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    float water = 0.0f, salt = 0.0f;
    const Surface &me = tile[ty][tx];
    exchange(me, tile[ty][tx - 1], water, salt);
    exchange(me, tile[ty][tx + 1], water, salt);
    exchange(me, tile[ty - 1][tx], water, salt);
    exchange(me, tile[ty + 1][tx], water, salt);
    Pan p = in[(size_t)y * w + x];
    float before = p.depth;
    p.depth = fmaxf(p.depth + water, 0.01f);
    p.brine.nacl = fmaxf((before * p.brine.nacl + salt) / p.depth, 0.0f);
    out[(size_t)y * w + x] = p;
}

__global__ void evaporate(Pan *pans, int count, Weather wx)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        Brine b = pans[i].brine;
        float depth = pans[i].depth;
        float absorb = 0.6f + 0.001f * pans[i].algae;
        b.temp += 0.01f * (absorb * wx.sun - 0.3f * (b.temp - 20.0f) / (0.2f + depth));
        float rate = 1e-4f * wx.wind * (1.0f - wx.humidity) * b.temp / (1.0f + b.mg);
        float left = fmaxf(depth - rate, 0.01f);
        b.nacl = b.nacl * depth / left;
        if (b.nacl > 0.36f) {
            pans[i].crust += (b.nacl - 0.36f) * left;
            b.nacl = 0.36f;
        }
        pans[i].brine = b;
        pans[i].depth = left;
    }
}

__global__ void rake(Pan *pans, int w, int h, float limit)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h)
        return;
    Pan *p = pans + (size_t)y * w + x;
    if (p->crust > limit) {
        p->crust = 0.0f;
        p->rakes++;
    }
}

static void step(Pan *&cur, Pan *&nxt, int w, int h, int t)
{
    dim3 block(TILE, TILE), grid((w + TILE - 1) / TILE, (h + TILE - 1) / TILE);
    flow<<<grid, block>>>(cur, nxt, w, h);
    std::swap(cur, nxt);
    Weather wx = {30.0f + 10.0f * sinf(0.3f * t), 2.0f + 0.1f * (t % 7), 0.35f};
    evaporate<<<132 * 8, 256>>>(cur, w * h, wx);
    dim3 rb(64, 4), rg((w + 63) / 64, (h + 3) / 4);
    rake<<<rg, rb>>>(cur, w, h, 0.004f);
}

int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 3600000;
    int w = (int)sqrt((double)n);
    if (w < 1)
        w = 1;
    int h = (int)(n / w);
    size_t bytes = (size_t)w * h * sizeof(Pan);
    Pan *host = (Pan *)malloc(bytes);
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            unsigned r = hash2(x, y);
            Pan &p = host[(size_t)y * w + x];
            p.brine.nacl = 0.05f + 0.3f * (r & 1023) / 1024.0f;
            p.brine.mg = 0.02f * ((r >> 10) & 63) / 64.0f;
            p.brine.temp = 22.0f + (r >> 28);
            p.depth = 0.1f + 0.4f * ((r >> 16) & 255) / 256.0f;
            p.floorLevel = 0.0002f * (x + y) + 0.1f * (hash2(x / 8, y / 8) & 255) / 256.0f;
            p.crust = 0.0f;
            p.rakes = 0;
            p.sluice = hash2(y, x) % 4 == 0;
            p.algae = hash2(x + 9, y) & 127;
        }
    Pan *cur, *nxt;
    die(cudaMalloc(&cur, bytes), "malloc");
    die(cudaMalloc(&nxt, bytes), "malloc");
    die(cudaMemcpy(cur, host, bytes, cudaMemcpyHostToDevice), "copy in");
    for (int t = 0; t < 3; t++)
        step(cur, nxt, w, h, t);
    cudaEvent_t start, stop;
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    int steps = 40;
    cudaEventRecord(start);
    for (int t = 0; t < steps; t++)
        step(cur, nxt, w, h, 3 + t);
    cudaEventRecord(stop);
    die(cudaEventSynchronize(stop), "steps");
    float ms = 0;
    cudaEventElapsedTime(&ms, start, stop);
    die(cudaMemcpy(host, cur, bytes, cudaMemcpyDeviceToHost), "copy out");
    double sum = 0;
    for (size_t i = 0; i < (size_t)w * h; i++)
        sum += host[i].depth + host[i].brine.nacl + 0.01 * host[i].brine.temp + 0.001 * host[i].rakes;
    printf("check %.5e\n", sum);
    printf("time_ms %.5f\n", ms / steps);
    cudaFree(cur);
    cudaFree(nxt);
    free(host);
    return 0;
}
