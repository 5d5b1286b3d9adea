// Cone-beam CT: preprocessing, row filtering and voxel-driven back-projection.
// Plain C style; one global scan configuration in constant memory.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cstdint>
#include <cuda_runtime.h>

#define CHECK(x)                                                                   \
    do {                                                                           \
        cudaError_t e_ = (x);                                                      \
        if (e_ != cudaSuccess) {                                                   \
            fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); \
            exit(1);                                                               \
        }                                                                          \
    } while (0)

#ifndef NVIEWS
#define NVIEWS 180
#endif
#ifndef NU
#define NU 256 /* detector columns */
#endif
#ifndef NV
#define NV 128 /* detector rows */
#endif
#ifndef NVOX
#define NVOX 128 /* voxels per axis */
#endif

#define TAPS 16
#define ROW_TILE 128

/* one gantry position */
typedef struct {
    double timestamp;
    float cosA, sinA;
    float srcDist, detDist;
    float u0, v0;        /* detector offset (wobble) */
    float tubeCurrent;
    float airNorm;
    int index;
    unsigned char valid;
    unsigned char gating;
    short bed;
} ViewRecord;

/* one detector pixel of one view */
typedef struct {
    float raw;
    float dark;
    float gain;
    float lineIntegral;
    float filtered;
    unsigned short flags;
    short drift;
} DetCell;

/* reconstruction voxel */
typedef struct {
    float density;
    float weight;
    short material;
    unsigned char mask;
    unsigned char nviews;
} Voxel;

typedef struct {
    float pitchU, pitchV;
    float voxel;
    float half;
} ScanGeom;

__constant__ ScanGeom d_geom;
__constant__ float d_kernel[2 * TAPS + 1];

static uint32_t lcg_state = 12345u;
static uint32_t lcg(void) { lcg_state = lcg_state * 1664525u + 1013904223u; return lcg_state >> 8; }
static float frand(void) { return (float)lcg() / 16777216.0f; }

__global__ void correct_cells(DetCell *cells, const ViewRecord *views, int total)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    int view = i / (NU * NV);
    float air = views[view].airNorm * views[view].tubeCurrent;
    float v = (cells[i].raw - cells[i].dark) * cells[i].gain;
    if (cells[i].flags & 1u) v = air * 0.5f; /* dead pixel */
    v = fmaxf(v, 1e-3f);
    cells[i].lineIntegral = -logf(v / air);
}

/* each block: one tile of one detector row of one view (z = view) */
__global__ void filter_rows(DetCell *cells, const ViewRecord *views)
{
    __shared__ float tile[ROW_TILE + 2 * TAPS];
    int u = blockIdx.x * ROW_TILE + threadIdx.x;
    int v = blockIdx.y;
    int view = blockIdx.z;
    size_t row = ((size_t)view * NV + v) * NU;

    for (int t = threadIdx.x; t < ROW_TILE + 2 * TAPS; t += blockDim.x) {
        int uu = (int)(blockIdx.x * ROW_TILE) + t - TAPS;
        tile[t] = (uu >= 0 && uu < NU) ? cells[row + uu].lineIntegral : 0.0f;
    }
    __syncthreads();
    if (u >= NU) return;

    float du = (u - 0.5f * NU + 0.5f) * d_geom.pitchU;
    float dv = (v - 0.5f * NV + 0.5f) * d_geom.pitchV;
    float sdd = views[view].srcDist + views[view].detDist;
    float cosw = sdd * rsqrtf(sdd * sdd + du * du + dv * dv);

    float acc = 0.0f;
#pragma unroll
    for (int k = -TAPS; k <= TAPS; ++k)
        acc += d_kernel[k + TAPS] * tile[threadIdx.x + TAPS + k];
    cells[row + u].filtered = acc * cosw;
}

__global__ void backproject(Voxel *vol, const DetCell *cells, const ViewRecord *views, int nviews)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= NVOX || y >= NVOX || z >= NVOX) return;
    size_t id = ((size_t)z * NVOX + y) * NVOX + x;
    if (!vol[id].mask) return;

    float px = x * d_geom.voxel - d_geom.half;
    float py = y * d_geom.voxel - d_geom.half;
    float pz = z * d_geom.voxel - d_geom.half;
    float sum = 0.0f, wsum = 0.0f;
    int used = 0;
    for (int a = 0; a < nviews; ++a) {
        if (!views[a].valid) continue;
        float c = views[a].cosA, s = views[a].sinA;
        float r = views[a].srcDist;
        float t = px * c + py * s;
        float q = -px * s + py * c;
        float mag = (r + views[a].detDist) / (r - t);
        float fu = q * mag / d_geom.pitchU + 0.5f * NU - 0.5f + views[a].u0;
        float fv = pz * mag / d_geom.pitchV + 0.5f * NV - 0.5f + views[a].v0;
        float flu = floorf(fu), flv = floorf(fv);
        int iu = (int)flu, iv = (int)flv;
        if (iu < 0 || iv < 0 || iu >= NU - 1 || iv >= NV - 1) continue;
        float wu = fu - flu, wv = fv - flv;
        size_t b = ((size_t)a * NV + iv) * NU + iu;
        float top = cells[b].filtered * (1.0f - wu) + cells[b + 1].filtered * wu;
        float bot = cells[b + NU].filtered * (1.0f - wu) + cells[b + NU + 1].filtered * wu;
        float w = (r / (r - t)) * (r / (r - t));
        sum += w * (top * (1.0f - wv) + bot * wv);
        wsum += w;
        ++used;
    }
    vol[id].density = wsum > 0.0f ? sum / wsum : 0.0f;
    vol[id].weight = wsum;
    vol[id].nviews = (unsigned char)(used > 255 ? 255 : used);
}

/* per-block sums of |density| and weight, finished on the host in block order */
__global__ void volume_stats(const Voxel *vol, int n, double *partial)
{
    __shared__ double sd[256], sw[256];
    double a = 0.0, b = 0.0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        a += fabsf(vol[i].density);
        b += vol[i].weight;
    }
    sd[threadIdx.x] = a;
    sw[threadIdx.x] = b;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) {
            sd[threadIdx.x] += sd[threadIdx.x + s];
            sw[threadIdx.x] += sw[threadIdx.x + s];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        partial[2 * blockIdx.x] = sd[0];
        partial[2 * blockIdx.x + 1] = sw[0];
    }
}

int main(void)
{
    const int ncell = NVIEWS * NU * NV;
    const int nvox = NVOX * NVOX * NVOX;
    const int statBlocks = 264;

    ScanGeom g = {1.6f, 1.6f, 1.0f, 0.5f * (NVOX - 1)};
    float taps[2 * TAPS + 1];
    for (int k = -TAPS; k <= TAPS; ++k) /* Ram-Lak */
        taps[k + TAPS] = k == 0 ? 0.25f : (k & 1 ? -1.0f / (9.8696044f * k * k) : 0.0f);
    CHECK(cudaMemcpyToSymbol(d_geom, &g, sizeof g));
    CHECK(cudaMemcpyToSymbol(d_kernel, taps, sizeof taps));

    ViewRecord *views = (ViewRecord *)calloc(NVIEWS, sizeof(ViewRecord));
    DetCell *cells = (DetCell *)calloc(ncell, sizeof(DetCell));
    Voxel *vol = (Voxel *)calloc(nvox, sizeof(Voxel));
    for (int a = 0; a < NVIEWS; ++a) {
        double ang = 2.0 * 3.14159265358979 * a / NVIEWS;
        ViewRecord *v = &views[a];
        v->timestamp = 0.004 * a;
        v->cosA = (float)cos(ang);
        v->sinA = (float)sin(ang);
        v->srcDist = 300.0f;
        v->detDist = 200.0f;
        v->u0 = 0.3f * (frand() - 0.5f);
        v->v0 = 0.3f * (frand() - 0.5f);
        v->tubeCurrent = 200.0f + 5.0f * frand();
        v->airNorm = 100.0f + frand();
        v->index = a;
        v->valid = (lcg() % 40u) != 0;
        v->gating = (unsigned char)(a % 8);
    }
    for (int a = 0, i = 0; a < NVIEWS; ++a)
        for (int v = 0; v < NV; ++v)
            for (int u = 0; u < NU; ++u, ++i) {
                float du = (u - 0.5f * NU) / (0.35f * NU), dv = (v - 0.5f * NV) / (0.45f * NV);
                float rr = 1.0f - du * du - dv * dv;
                float path = rr > 0.0f ? 2.5f * sqrtf(rr) : 0.0f;
                float trans = 1.0f / (1.0f + path + 0.5f * path * path);
                cells[i].dark = 10.0f + frand();
                cells[i].gain = 0.95f + 0.1f * frand();
                cells[i].raw = cells[i].dark + 20000.0f * trans * (0.98f + 0.04f * frand());
                cells[i].flags = (lcg() % 500u) == 0 ? 1 : 0;
                cells[i].drift = (short)(lcg() & 7);
            }
    for (int z = 0, i = 0; z < NVOX; ++z)
        for (int y = 0; y < NVOX; ++y)
            for (int x = 0; x < NVOX; ++x, ++i) {
                float dx = x - g.half, dy = y - g.half;
                vol[i].mask = dx * dx + dy * dy <= g.half * g.half;
                vol[i].material = (short)(lcg() % 5u);
            }

    ViewRecord *dViews;
    DetCell *dCells;
    Voxel *dVol;
    double *dPart;
    CHECK(cudaMalloc((void **)&dViews, NVIEWS * sizeof(ViewRecord)));
    CHECK(cudaMalloc((void **)&dCells, ncell * sizeof(DetCell)));
    CHECK(cudaMalloc((void **)&dVol, nvox * sizeof(Voxel)));
    CHECK(cudaMalloc((void **)&dPart, 2 * statBlocks * sizeof(double)));
    CHECK(cudaMemcpy(dViews, views, NVIEWS * sizeof(ViewRecord), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(dCells, cells, ncell * sizeof(DetCell), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(dVol, vol, nvox * sizeof(Voxel), cudaMemcpyHostToDevice));

    cudaEvent_t t0, t1;
    CHECK(cudaEventCreate(&t0));
    CHECK(cudaEventCreate(&t1));
    dim3 fgrid((NU + ROW_TILE - 1) / ROW_TILE, NV, NVIEWS);
    dim3 bblk(32, 4, 2);
    dim3 bgrid((NVOX + 31) / 32, (NVOX + 3) / 4, (NVOX + 1) / 2);
    const int iters = 10;
    for (int it = -1; it < iters; ++it) {
        if (it == 0) CHECK(cudaEventRecord(t0));
        correct_cells<<<(ncell + 255) / 256, 256>>>(dCells, dViews, ncell);
        filter_rows<<<fgrid, ROW_TILE>>>(dCells, dViews);
        backproject<<<bgrid, bblk>>>(dVol, dCells, dViews, NVIEWS);
        volume_stats<<<statBlocks, 256>>>(dVol, nvox, dPart);
    }
    CHECK(cudaEventRecord(t1));
    CHECK(cudaEventSynchronize(t1));
    CHECK(cudaGetLastError());
    float ms = 0.0f;
    CHECK(cudaEventElapsedTime(&ms, t0, t1));

    double part[2 * 264], dens = 0.0, wgt = 0.0;
    CHECK(cudaMemcpy(part, dPart, sizeof part, cudaMemcpyDeviceToHost));
    for (int b = 0; b < statBlocks; ++b) { dens += part[2 * b]; wgt += part[2 * b + 1]; }

    CHECK(cudaFree(dViews)); CHECK(cudaFree(dCells)); CHECK(cudaFree(dVol)); CHECK(cudaFree(dPart));
    free(views); free(cells); free(vol);
    printf("check %.3e/%.3e\n", dens, wgt);
    printf("time_ms %f\n", ms / iters);
    return 0;
}
