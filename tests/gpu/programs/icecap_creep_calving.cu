// Shallow-ice model of a small ice cap: deformation flux, mass balance,
// firn temperature and calving at the marine margin.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(c)                                                         \
    do {                                                                 \
        cudaError_t r = (c);                                             \
        if (r != cudaSuccess) {                                          \
            fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(r)); \
            exit(2);                                                     \
        }                                                                \
    } while (0)

#define TX 32
#define TY 8

struct IceCell {
    double h;
    double bed;
    double rate;
    double fluxX;
    double fluxY;
    float tSurf;
    float tBase;
    float melt;
    float debris;
    int margin;
    int crevasses;
};

struct Month {
    float air;
    float precip;
    float lapse;
    int days;
};

__global__ void flux(IceCell *g, int w, int ht, double dx)
{
    __shared__ double s[TY + 1][TX + 1];
    __shared__ double th[TY + 1][TX + 1];
    int x = blockIdx.x * TX + threadIdx.x;
    int y = blockIdx.y * TY + threadIdx.y;
    int cx = min(x, w - 1), cy = min(y, ht - 1);
    long long id = (long long)cy * w + cx;
    s[threadIdx.y][threadIdx.x] = g[id].h + g[id].bed;
    th[threadIdx.y][threadIdx.x] = g[id].h;
    if (threadIdx.x == TX - 1) {
        long long e = (long long)cy * w + min(x + 1, w - 1);
        s[threadIdx.y][TX] = g[e].h + g[e].bed;
        th[threadIdx.y][TX] = g[e].h;
    }
    if (threadIdx.y == TY - 1) {
        long long e = (long long)min(y + 1, ht - 1) * w + cx;
        s[TY][threadIdx.x] = g[e].h + g[e].bed;
        th[TY][threadIdx.x] = g[e].h;
    }
    __syncthreads();
    if (x < w && y < ht) {
        double s0 = s[threadIdx.y][threadIdx.x];
        double h0 = th[threadIdx.y][threadIdx.x];
        double gx = (x + 1 < w) ? (s[threadIdx.y][threadIdx.x + 1] - s0) / dx : 0.0;
        double gy = (y + 1 < ht) ? (s[threadIdx.y + 1][threadIdx.x] - s0) / dx : 0.0;
        double hx = (x + 1 < w) ? 0.5 * (h0 + th[threadIdx.y][threadIdx.x + 1]) : h0;
        double hy = (y + 1 < ht) ? 0.5 * (h0 + th[threadIdx.y + 1][threadIdx.x]) : h0;
        double a = g[id].rate;
        double slope2 = fmin(gx * gx + gy * gy, 0.1);
        g[id].fluxX = -a * hx * hx * hx * slope2 * gx;
        g[id].fluxY = -a * hy * hy * hy * slope2 * gy;
    }
}

__global__ void advance(IceCell *g, int w, int ht, double dtdx, const Month *year, int m)
{
    int x = blockIdx.x * TX + threadIdx.x;
    int y = blockIdx.y * TY + threadIdx.y;
    if (x >= w || y >= ht) return;
    long long id = (long long)y * w + x;
    double inX = x > 0 ? g[id - 1].fluxX : 0.0;
    double inY = y > 0 ? g[id - w].fluxY : 0.0;
    double div = (x + 1 < w ? g[id].fluxX : 0.0) - inX + (y + 1 < ht ? g[id].fluxY : 0.0) - inY;
    double snow = year[m].precip * 0.001 * year[m].days;
    double hn = g[id].h - dtdx * div + snow - 0.001 * g[id].melt;
    g[id].h = hn > 0.0 ? hn : 0.0;
}

__global__ void firn(IceCell *g, long long n, const Month *year, int m)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float air = year[m].air - year[m].lapse * 0.5f;
        float ts = g[i].tSurf;
        float tb = g[i].tBase;
        ts += 0.2f * (air - ts);
        tb += 0.05f * (ts - tb);
        g[i].tSurf = ts;
        g[i].tBase = tb;
        g[i].melt = ts > 0.0f ? ts * (1.0f + 0.5f * g[i].debris) : 0.0f;
    }
}

__global__ void calve(IceCell *g, long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && g[i].margin == 1) {
        double stress = g[i].h * 0.9 - (g[i].bed < 0 ? -g[i].bed : 0.0);
        double depth = 0.0;
        for (int k = 0; k < 24; k++)
            depth += 0.5 * (sqrt(fabs(stress) + k) - depth * 0.1);
        if (depth > 20.0) {
            g[i].crevasses += 1;
            g[i].h *= 0.995;
        }
    }
}

static unsigned int hash3(unsigned int v)
{
    v ^= v >> 16;
    v *= 0x7feb352du;
    v ^= v >> 15;
    v *= 0x846ca68bu;
    v ^= v >> 16;
    return v;
}

int main(int argc, char **argv)
{
    int want = argc > 1 ? atoi(argv[1]) : 2200000;
    if (want < 1) want = 1;
    int w = (int)ceil(sqrt((double)want));
    int ht = (want + w - 1) / w;
    long long n = (long long)w * ht;

    std::vector<IceCell> host(n);
    for (int y = 0; y < ht; y++)
        for (int x = 0; x < w; x++) {
            IceCell &c = host[(long long)y * w + x];
            unsigned int r = hash3(y * 9781u + x * 6271u + 5u);
            double u = (x + 0.5) / w - 0.5, v = (y + 0.5) / ht - 0.5;
            double d = u * u + v * v;
            c.bed = 300.0 * (1.0 - 5.0 * d) + (r % 100) * 0.1;
            c.h = d < 0.18 ? 400.0 * sqrt(1.0 - d / 0.18) + 20.0 : 0.0;
            c.rate = 1.0e-6 * (1.0 + (r >> 8) % 100 * 0.01);
            c.fluxX = c.fluxY = 0.0;
            c.tSurf = -5.0f - (r >> 4) % 10;
            c.tBase = -2.0f;
            c.melt = 0.0f;
            c.debris = (r >> 12) % 50 * 0.01f;
            c.margin = (d > 0.170 && d < 0.174) ? 1 : 0;
            c.crevasses = 0;
        }
    Month hy[12];
    for (int m = 0; m < 12; m++) {
        hy[m].air = -10.0f + 13.0f * (float)sin(m * 0.5236);
        hy[m].precip = 1.0f + 0.1f * m;
        hy[m].lapse = 6.5f;
        hy[m].days = 30 + m % 2;
    }

    IceCell *g;
    Month *year;
    CHECK(cudaMalloc(&g, n * sizeof(IceCell)));
    CHECK(cudaMalloc(&year, sizeof(hy)));
    CHECK(cudaMemcpy(g, host.data(), n * sizeof(IceCell), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(year, hy, sizeof(hy), cudaMemcpyHostToDevice));

    const double dx = 74000.0 / w;
    dim3 tb(TX, TY), tg((w + TX - 1) / TX, (ht + TY - 1) / TY);
    int lb = (int)((n + 255) / 256);
    const int steps = 24;
    cudaEvent_t a, b;
    CHECK(cudaEventCreate(&a));
    CHECK(cudaEventCreate(&b));
    for (int step = -1; step < steps; step++) {
        if (step == 0) CHECK(cudaEventRecord(a));
        int m = (step + 12) % 12;
        flux<<<tg, tb>>>(g, w, ht, dx);
        advance<<<tg, tb>>>(g, w, ht, 1.0 / dx, year, m);
        if (step % 3 == 0) firn<<<lb, 256>>>(g, n, year, m);
        if (step % 6 == 0) calve<<<lb, 256>>>(g, n);
    }
    CHECK(cudaEventRecord(b));
    CHECK(cudaEventSynchronize(b));
    CHECK(cudaGetLastError());
    float ms;
    CHECK(cudaEventElapsedTime(&ms, a, b));
    CHECK(cudaMemcpy(host.data(), g, n * sizeof(IceCell), cudaMemcpyDeviceToHost));

    double vol = 0, ts = 0, tbs = 0;
    long long crev = 0, iced = 0;
    for (long long i = 0; i < n; i++) {
        vol += host[i].h;
        ts += host[i].tSurf;
        tbs += host[i].tBase;
        crev += host[i].crevasses;
        iced += host[i].h > 1.0;
    }
    printf("check volume %.4e\n", vol);
    printf("check t_surface %.4e\n", ts);
    printf("check t_base %.4e\n", tbs);
    printf("check crevasses %lld\n", crev);
    printf("check iced %.2e\n", (double)iced);
    printf("time_ms %.4f\n", ms / steps);
    CHECK(cudaFree(g));
    CHECK(cudaFree(year));
    return 0;
}
