// Lens-flare ghosts: trace a grid of rays through a lens system for every pair of
// internal reflections, then splat the surviving rays on the sensor.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cstring>
#include <cuda_runtime.h>

static void check(cudaError_t e, const char* what)
{
    if (e != cudaSuccess) {
        fprintf(stderr, "CUDA error in %s: %s\n", what, cudaGetErrorString(e));
        exit(1);
    }
}

typedef struct LensSurface {
    float z;
    float radius;        /* 0 = flat (aperture stop) */
    float halfHeight;
    float iorBefore[3];
    float iorAfter[3];
    float coating;       /* residual reflectance scale */
    int isStop;
} LensSurface;

typedef struct GhostPair {
    short first, second;
    float tint[3];
    int hits;
    float extent;
} GhostPair;

typedef struct Ray {
    float px, py, pz;
    float dx, dy, dz;
    float u, v;
    float intensity;
    float relAperture;
    unsigned short ghost;
    unsigned char channel;
    unsigned char alive;
} Ray;

typedef struct FlarePixel {
    unsigned int rgb[3];
    unsigned int hits;
} FlarePixel;

#define GRID 128
#define W 1024
#define H 768
#define NCH 3

__device__ bool intersectSurface(const LensSurface* s, float3 p, float3 d, float3* hit, float3* n)
{
    if (s->radius == 0.f) {
        float t = (s->z - p.z) / d.z;
        *hit = make_float3(p.x + t * d.x, p.y + t * d.y, s->z);
        *n = make_float3(0.f, 0.f, d.z > 0.f ? -1.f : 1.f);
        return true;
    }
    float cz = s->z + s->radius;
    float oz = p.z - cz;
    float b = p.x * d.x + p.y * d.y + oz * d.z;
    float c = p.x * p.x + p.y * p.y + oz * oz - s->radius * s->radius;
    float disc = b * b - c;
    if (disc < 0.f) return false;
    bool closer = (d.z > 0.f) != (s->radius < 0.f);
    float t = closer ? -b - sqrtf(disc) : -b + sqrtf(disc);
    *hit = make_float3(p.x + t * d.x, p.y + t * d.y, p.z + t * d.z);
    float inv = 1.f / fabsf(s->radius);
    float3 nn = make_float3(hit->x * inv, hit->y * inv, (hit->z - cz) * inv);
    if (nn.x * d.x + nn.y * d.y + nn.z * d.z > 0.f) { nn.x = -nn.x; nn.y = -nn.y; nn.z = -nn.z; }
    *n = nn;
    return true;
}

__global__ void initRays(Ray* rays, int numGhosts, float sunX, float sunY, float frontHalf, float startZ)
{
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    int total = numGhosts * NCH * GRID * GRID;
    if (idx >= total) return;
    int cell = idx % (GRID * GRID);
    int gc = idx / (GRID * GRID);
    Ray r;
    r.u = ((cell % GRID) + 0.5f) / GRID * 2.f - 1.f;
    r.v = ((cell / GRID) + 0.5f) / GRID * 2.f - 1.f;
    r.px = r.u * frontHalf; r.py = r.v * frontHalf; r.pz = startZ;
    float inv = rsqrtf(sunX * sunX + sunY * sunY + 1.f);
    r.dx = sunX * inv; r.dy = sunY * inv; r.dz = inv;
    r.intensity = 1.f; r.relAperture = 0.f;
    r.ghost = (unsigned short)(gc / NCH);
    r.channel = (unsigned char)(gc % NCH);
    r.alive = 1;
    rays[idx] = r;
}

__global__ void __launch_bounds__(256)
traceGhosts(Ray* rays, int total, const LensSurface* __restrict__ lens, int numSurf,
            const GhostPair* __restrict__ ghosts, float sensorZ)
{
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= total) return;
    Ray* r = &rays[idx];
    int ch = r->channel;
    int bounce1 = ghosts[r->ghost].second;
    int bounce2 = ghosts[r->ghost].first;

    float3 p = make_float3(r->px, r->py, r->pz);
    float3 d = make_float3(r->dx, r->dy, r->dz);
    float power = r->intensity, rel = 0.f;
    int step = 1, phase = 0, k = 0;
    bool ok = true;
    while (k < numSurf && k >= 0) {
        const LensSurface* s = &lens[k];
        float3 hit, n;
        if (!intersectSurface(s, p, d, &hit, &n)) { ok = false; break; }
        float h = sqrtf(hit.x * hit.x + hit.y * hit.y) / s->halfHeight;
        rel = fmaxf(rel, h);
        if (h > 1.f) { ok = false; break; }
        p = hit;
        bool reflect = (phase == 0 && k == bounce1) || (phase == 1 && k == bounce2);
        float cosi = -(d.x * n.x + d.y * n.y + d.z * n.z);
        float n1 = step > 0 ? s->iorBefore[ch] : s->iorAfter[ch];
        float n2 = step > 0 ? s->iorAfter[ch] : s->iorBefore[ch];
        float r0 = (n1 - n2) / (n1 + n2);
        r0 *= r0;
        float m = 1.f - cosi;
        float fr = s->coating * (r0 + (1.f - r0) * m * m * m * m * m);
        if (reflect) {
            d.x += 2.f * cosi * n.x;
            d.y += 2.f * cosi * n.y;
            d.z += 2.f * cosi * n.z;
            power *= fr;
            step = -step;
            ++phase;
        } else if (!s->isStop) {
            float eta = n1 / n2;
            float kk = 1.f - eta * eta * (1.f - cosi * cosi);
            if (kk < 0.f) { ok = false; break; }
            float q = eta * cosi - sqrtf(kk);
            d.x = eta * d.x + q * n.x;
            d.y = eta * d.y + q * n.y;
            d.z = eta * d.z + q * n.z;
            power *= 1.f - fr;
        }
        k += step;
    }
    r->relAperture = rel;
    if (!ok || phase != 2 || k < 0 || d.z <= 1e-3f) {
        r->alive = 0;
        r->intensity = 0.f;
        return;
    }
    float t = (sensorZ - p.z) / d.z;
    r->px = p.x + t * d.x;
    r->py = p.y + t * d.y;
    r->pz = sensorZ;
    r->dx = d.x; r->dy = d.y; r->dz = d.z;
    r->intensity = power;
}

__global__ void splat(const Ray* __restrict__ rays, int total, const GhostPair* __restrict__ ghosts,
                      FlarePixel* film, float halfW, float halfH)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += gridDim.x * blockDim.x) {
        if (!rays[i].alive) continue;
        int x = (int)floorf((rays[i].px / halfW * 0.5f + 0.5f) * W);
        int y = (int)floorf((rays[i].py / halfH * 0.5f + 0.5f) * H);
        if (x < 0 || x >= W || y < 0 || y >= H) continue;
        int ch = rays[i].channel;
        float e = rays[i].intensity * ghosts[rays[i].ghost].tint[ch];
        unsigned int q = (unsigned int)fminf(e * 4.0e6f, 1.0e6f);
        FlarePixel* px = &film[y * W + x];
        atomicAdd(&px->rgb[ch], q);
        atomicAdd(&px->hits, 1u);
    }
}

/* one block per ghost: how many rays survive and how far they land */
__global__ void ghostExtent(const Ray* __restrict__ rays, GhostPair* ghosts)
{
    __shared__ int sHits[256];
    __shared__ float sExt[256];
    const Ray* mine = rays + (size_t)blockIdx.x * NCH * GRID * GRID;
    int hits = 0;
    float ext = 0.f;
    for (int i = threadIdx.x; i < NCH * GRID * GRID; i += blockDim.x) {
        if (mine[i].alive) {
            ++hits;
            ext = fmaxf(ext, mine[i].px * mine[i].px + mine[i].py * mine[i].py);
        }
    }
    sHits[threadIdx.x] = hits;
    sExt[threadIdx.x] = ext;
    __syncthreads();
    for (int s = 128; s > 0; s >>= 1) {
        if (threadIdx.x < s) {
            sHits[threadIdx.x] += sHits[threadIdx.x + s];
            sExt[threadIdx.x] = fmaxf(sExt[threadIdx.x], sExt[threadIdx.x + s]);
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        ghosts[blockIdx.x].hits = sHits[0];
        ghosts[blockIdx.x].extent = sqrtf(sExt[0]);
    }
}

__global__ void tonemap(const FlarePixel* __restrict__ film, uchar4* out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= W || y >= H) return;
    const FlarePixel& f = film[y * W + x];
    unsigned char c[3];
    for (int k = 0; k < 3; ++k) {
        float v = f.rgb[k] * 2.0e-4f;
        c[k] = (unsigned char)(255.f * v / (1.f + v));
    }
    out[y * W + x] = make_uchar4(c[0], c[1], c[2], f.hits ? 255 : 0);
}

int main()
{
    /* roughly a double-Gauss: z, radius, half height, base IOR after the surface */
    static const float rx[12][4] = {
        { 0.f,  58.f, 25.f, 1.67f}, { 8.f, 170.f, 25.f, 1.f}, { 9.f,  38.f, 22.f, 1.67f},
        {18.f,  80.f, 22.f, 1.70f}, {21.f, 25.f, 17.f, 1.f}, {31.f,  0.f,  15.f, 1.f},
        {40.f, -28.f, 16.f, 1.60f}, {43.f, 90.f, 18.f, 1.66f}, {54.f, -37.f, 19.f, 1.f},
        {55.f, 180.f, 20.f, 1.72f}, {61.f, -80.f, 20.f, 1.f}, {66.f, -900.f, 21.f, 1.f}};
    const int numSurf = 12;
    LensSurface lens[12];
    float prev = 1.f;
    for (int i = 0; i < numSurf; ++i) {
        memset(&lens[i], 0, sizeof(LensSurface));
        lens[i].z = rx[i][0]; lens[i].radius = rx[i][1]; lens[i].halfHeight = rx[i][2];
        for (int c = 0; c < 3; ++c) {
            float disp = 0.006f * (c - 1);
            lens[i].iorBefore[c] = prev > 1.f ? prev + disp : 1.f;
            lens[i].iorAfter[c] = rx[i][3] > 1.f ? rx[i][3] + disp : 1.f;
        }
        lens[i].coating = 0.35f + 0.05f * (i % 4);
        lens[i].isStop = rx[i][1] == 0.f;
        prev = rx[i][3];
    }
    GhostPair ghosts[66];
    int numGhosts = 0;
    for (int a = 0; a < numSurf; ++a)
        for (int b = a + 1; b < numSurf; ++b) {
            if (lens[a].isStop || lens[b].isStop) continue;
            GhostPair* g = &ghosts[numGhosts++];
            g->first = (short)a; g->second = (short)b;
            for (int c = 0; c < 3; ++c) g->tint[c] = 0.6f + 0.4f * ((a * 7 + b * 3 + c * 5) % 11) / 10.f;
            g->hits = 0; g->extent = 0.f;
        }
    const int total = numGhosts * NCH * GRID * GRID;

    LensSurface* dLens; GhostPair* dGhosts; Ray* dRays; FlarePixel* dFilm; uchar4* dOut;
    check(cudaMalloc((void**)&dLens, sizeof(lens)), "malloc lens");
    check(cudaMalloc((void**)&dGhosts, numGhosts * sizeof(GhostPair)), "malloc ghosts");
    check(cudaMalloc((void**)&dRays, (size_t)total * sizeof(Ray)), "malloc rays");
    check(cudaMalloc((void**)&dFilm, W * H * sizeof(FlarePixel)), "malloc film");
    check(cudaMalloc((void**)&dOut, W * H * sizeof(uchar4)), "malloc out");
    check(cudaMemcpy(dLens, lens, sizeof(lens), cudaMemcpyHostToDevice), "copy lens");
    check(cudaMemcpy(dGhosts, ghosts, numGhosts * sizeof(GhostPair), cudaMemcpyHostToDevice), "copy ghosts");

    const int frames = 8, tpb = 256, blocks = (total + tpb - 1) / tpb;
    cudaEvent_t t0, t1;
    cudaEventCreate(&t0); cudaEventCreate(&t1);
    for (int f = -1; f < frames; ++f) {          /* frame -1 is the warm-up */
        if (f == 0) cudaEventRecord(t0);
        float sx = 0.05f + 0.02f * (f + 1), sy = 0.12f - 0.015f * (f + 1);
        check(cudaMemsetAsync(dFilm, 0, W * H * sizeof(FlarePixel)), "clear film");
        initRays<<<blocks, tpb>>>(dRays, numGhosts, sx, sy, 22.f, -5.f);
        traceGhosts<<<blocks, tpb>>>(dRays, total, dLens, numSurf, dGhosts, 95.f);
        splat<<<1024, tpb>>>(dRays, total, dGhosts, dFilm, 18.f, 13.5f);
        ghostExtent<<<numGhosts, 256>>>(dRays, dGhosts);
        tonemap<<<dim3(W / 32, (H + 7) / 8), dim3(32, 8)>>>(dFilm, dOut);
    }
    cudaEventRecord(t1);
    check(cudaEventSynchronize(t1), "frames");
    float ms = 0.f;
    cudaEventElapsedTime(&ms, t0, t1);

    FlarePixel* film = (FlarePixel*)malloc(W * H * sizeof(FlarePixel));
    uchar4* out = (uchar4*)malloc(W * H * sizeof(uchar4));
    check(cudaMemcpy(film, dFilm, W * H * sizeof(FlarePixel), cudaMemcpyDeviceToHost), "film back");
    check(cudaMemcpy(out, dOut, W * H * sizeof(uchar4), cudaMemcpyDeviceToHost), "out back");
    check(cudaMemcpy(ghosts, dGhosts, numGhosts * sizeof(GhostPair), cudaMemcpyDeviceToHost), "ghosts back");
    double energy = 0, extent = 0, lum = 0;
    long long hits = 0, alive = 0;
    for (int i = 0; i < W * H; ++i) {
        energy += (double)film[i].rgb[0] + 2.0 * film[i].rgb[1] + 3.0 * film[i].rgb[2];
        hits += film[i].hits;
        lum += out[i].x + out[i].y + out[i].z;
    }
    for (int g = 0; g < numGhosts; ++g) { alive += ghosts[g].hits; extent += ghosts[g].extent; }
    printf("check energy %.6g\ncheck hits %lld\ncheck alive %lld\n", energy, hits, alive);
    printf("check extent %.6g\ncheck luminance %.6g\n", extent, lum);
    printf("time_ms %.4f\n", ms);
    free(film); free(out);
    cudaFree(dLens); cudaFree(dGhosts); cudaFree(dRays); cudaFree(dFilm); cudaFree(dOut);
    return 0;
}
