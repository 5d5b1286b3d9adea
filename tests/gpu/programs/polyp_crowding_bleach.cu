// Polyps on a coral head share nitrate with the polyps around them, crowd
// each other and now and then bleach.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

#define SAFE(c)                                                        \
    do {                                                               \
        cudaError_t e_ = (c);                                          \
        if (e_ != cudaSuccess) {                                       \
            fprintf(stderr, "error %d (%s) at %d\n", (int)e_,          \
                    cudaGetErrorString(e_), __LINE__);                 \
            exit(1);                                                   \
        }                                                              \
    } while (0)

struct Polyp {
    float x, y, z;
    float radius;
    double nitrate;
    double nitrateNext;
    int first;
    int count;
    float light;
    float stress;
    float pigment[4];
    int colony;
    int bleached;
    float crowd;
    unsigned short tentacles;
    unsigned short budding;
};

__global__ void shade_light(Polyp *p, int n, float sun)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i].light = sun * expf(-0.08f * (10.0f - p[i].z));
}

__global__ void crowding(Polyp *p, const int *adj, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float xi = p[i].x, yi = p[i].y, zi = p[i].z, ri = p[i].radius;
    float c = 0.0f;
    int b = p[i].first, e = b + p[i].count;
    for (int k = b; k < e; k++) {
        int j = adj[k];
        float dx = p[j].x - xi, dy = p[j].y - yi, dz = p[j].z - zi;
        float d = sqrtf(dx * dx + dy * dy + dz * dz) + 1e-4f;
        float overlap = ri + p[j].radius - d;
        if (overlap > 0.0f) c += overlap / d;
    }
    p[i].crowd = c;
}

__global__ void share_nitrate(Polyp *p, const int *adj, int n, double rate)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        double mine = p[i].nitrate, acc = 0.0;
        int b = p[i].first, cnt = p[i].count;
        for (int k = 0; k < cnt; k++)
            acc += p[adj[b + k]].nitrate - mine;
        p[i].nitrateNext = mine + rate * acc / (cnt + 1);
    }
}

__global__ void commit(Polyp *p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        p[i].nitrate = p[i].nitrateNext;
        p[i].stress += 0.0025f * (p[i].light - 0.6f) + 0.00025f * p[i].crowd;
    }
}

__global__ void bleach(Polyp *p, int n, float limit)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        if (p[i].stress > limit) {
            for (int k = 0; k < 4; k++) p[i].pigment[k] *= 0.5f;
            p[i].bleached += 1;
            p[i].stress = 0.2f;
            if (p[i].budding > 0) p[i].budding--;
        }
    }
}

static unsigned int g_seed = 99u;
static inline unsigned int draw()
{
    g_seed ^= g_seed << 13;
    g_seed ^= g_seed >> 17;
    g_seed ^= g_seed << 5;
    return g_seed;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 220000;
    if (n < 2) n = 2;
    std::vector<Polyp> h(n);
    std::vector<int> adj;
    adj.reserve((size_t)n * 17);
    int side = (int)sqrt((double)n) + 1;
    for (int i = 0; i < n; i++) {
        Polyp &p = h[i];
        unsigned int r = draw();
        p.x = (float)(i % side) + (r & 255) / 256.0f;
        p.y = (float)(i / side) + (r >> 8 & 255) / 256.0f;
        p.z = (r >> 16 & 1023) * 0.01f;
        p.radius = 0.5f + (r >> 26) * 0.02f;
        p.nitrate = 1.0 + (r % 97) * 0.02;
        p.nitrateNext = p.nitrate;
        p.first = (int)adj.size();
        p.count = 6 + (int)(r % 20);
        p.light = 0.0f;
        p.stress = (r >> 4 & 1023) * 0.001f;
        for (int k = 0; k < 4; k++) p.pigment[k] = 1.0f;
        p.colony = i / 5000;
        p.bleached = 0;
        p.crowd = 0.0f;
        p.tentacles = (unsigned short)(6 * (1 + r % 4));
        p.budding = (unsigned short)(r % 3);
        for (int k = 0; k < p.count; k++) {
            unsigned int q = draw();
            int j;
            if (q % 8 == 0) {
                j = (int)((q >> 3) % (unsigned int)n);
            } else {
                int off = (int)((q >> 4) % 9) - 4 + ((int)((q >> 12) % 5) - 2) * side;
                j = i + off;
            }
            if (j < 0) j = 0;
            if (j >= n) j = n - 1;
            if (j == i) j = i + 1 < n ? i + 1 : i - 1;
            adj.push_back(j);
        }
    }
    int m = (int)adj.size();

    Polyp *p;
    int *da;
    SAFE(cudaMalloc(&p, (size_t)n * sizeof(Polyp)));
    SAFE(cudaMalloc(&da, (size_t)m * sizeof(int)));
    SAFE(cudaMemcpy(p, h.data(), (size_t)n * sizeof(Polyp), cudaMemcpyHostToDevice));
    SAFE(cudaMemcpy(da, adj.data(), (size_t)m * sizeof(int), cudaMemcpyHostToDevice));

    const int B = 192, steps = 20;
    int grid = (n + B - 1) / B;
    cudaEvent_t s, e;
    SAFE(cudaEventCreate(&s));
    SAFE(cudaEventCreate(&e));
    for (int t = -1; t < steps; t++) {
        if (t == 0) SAFE(cudaEventRecord(s));
        if (t < 0 || t % 5 == 0) crowding<<<grid, B>>>(p, da, n);
        shade_light<<<grid, B>>>(p, n, 0.9f + 0.02f * (t + 1));
        for (int sub = 0; sub < 4; sub++) {
            share_nitrate<<<grid, B>>>(p, da, n, 0.3);
            commit<<<grid, B>>>(p, n);
        }
        bleach<<<grid, B>>>(p, n, 1.02f);
    }
    SAFE(cudaEventRecord(e));
    SAFE(cudaEventSynchronize(e));
    SAFE(cudaGetLastError());
    float ms;
    SAFE(cudaEventElapsedTime(&ms, s, e));
    SAFE(cudaMemcpy(h.data(), p, (size_t)n * sizeof(Polyp), cudaMemcpyDeviceToHost));

    double nit = 0, crowd = 0, pig = 0, light = 0;
    long long bl = 0;
    for (int i = 0; i < n; i++) {
        nit += h[i].nitrate;
        crowd += h[i].crowd;
        light += h[i].light;
        for (int k = 0; k < 4; k++) pig += h[i].pigment[k];
        bl += h[i].bleached;
    }
    printf("check nitrate %.4e\n", nit);
    printf("check crowd %.4e\n", crowd);
    printf("check light %.4e\n", light);
    printf("check pigment %.2e\n", pig);
    printf("check bleached %.2e\n", (double)bl);
    printf("check links %d\n", m);
    printf("time_ms %.4f\n", ms / steps);
    SAFE(cudaFree(p));
    SAFE(cudaFree(da));
    return 0;
}
