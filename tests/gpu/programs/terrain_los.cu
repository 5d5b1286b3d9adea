/* Viewshed of several observers over a synthetic terrain by ray marching.
 * Cells carry elevation and vegetation; a coarse tile level (min/max) skips
 * empty space. */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

#define DIM       1024            /* cells per side        */
#define TILE      16
#define TDIM      (DIM / TILE)
#define TARGETS   256             /* target grid per side  */
#define N_OBS     16
#define CELL_M    30.0f
#define N_REPS    20

static void ck(cudaError_t e, int line)
{
    if (e != cudaSuccess) {
        fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(e));
        exit(EXIT_FAILURE);
    }
}
#define CK(x) ck((x), __LINE__)

struct TerrainCell {
    float elev;                 /* ground, metres                   */
    float slope, aspect;        /* steepest gradient and direction  */
    float canopy;               /* vegetation height                */
    unsigned int seenMask;      /* one bit per observer             */
    int   seenCount;            /* accumulated over all passes      */
    unsigned short soil;
    unsigned char landcover;    /* 0 water 1 grass 2 forest 3 urban */
    unsigned char closed;       /* excluded from the analysis       */
    float exposure;
};

struct Tile {
    float minH, maxH;           /* surface range including canopy   */
    int   nForest;
    short x, y;
};

struct Observer {
    float x, y;                 /* cell units */
    float height;               /* above ground */
    float range;                /* metres */
    float heading, fov;         /* radians */
    int   visible, blocked, outOfView;
    char  name[16];
};

__device__ static float surface(const struct TerrainCell *c, float season)
{
    float h = c->elev;
    if (c->landcover == 2) h += c->canopy * season;
    else if (c->landcover == 3) h += c->canopy;
    return h;
}

__global__ void compute_slope(struct TerrainCell *cells)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= DIM || y >= DIM) return;
    int xm = x > 0 ? x - 1 : 0, xp = x < DIM - 1 ? x + 1 : x;
    int ym = y > 0 ? y - 1 : 0, yp = y < DIM - 1 ? y + 1 : y;
    float gx = (cells[y * DIM + xp].elev - cells[y * DIM + xm].elev) / (CELL_M * (xp - xm));
    float gy = (cells[yp * DIM + x].elev - cells[ym * DIM + x].elev) / (CELL_M * (yp - ym));
    cells[y * DIM + x].slope = sqrtf(gx * gx + gy * gy);
    cells[y * DIM + x].aspect = atan2f(gy, gx);
    cells[y * DIM + x].seenMask = 0;
}

/* one block of TILE x TILE threads per tile */
__global__ void build_tiles(const struct TerrainCell *cells, struct Tile *tiles, float season)
{
    __shared__ float lo[TILE * TILE], hi[TILE * TILE];
    __shared__ int forest;
    int t = threadIdx.y * TILE + threadIdx.x;
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    const struct TerrainCell *c = &cells[y * DIM + x];
    if (t == 0) forest = 0;
    lo[t] = hi[t] = surface(c, season);
    __syncthreads();
    if (c->landcover == 2) atomicAdd(&forest, 1);
    for (int s = TILE * TILE / 2; s > 0; s >>= 1) {
        if (t < s) {
            lo[t] = fminf(lo[t], lo[t + s]);
            hi[t] = fmaxf(hi[t], hi[t + s]);
        }
        __syncthreads();
    }
    if (t == 0) {
        struct Tile *d = &tiles[blockIdx.y * TDIM + blockIdx.x];
        d->minH = lo[0];
        d->maxH = hi[0];
        d->nForest = forest;
        d->x = (short)blockIdx.x; d->y = (short)blockIdx.y;
    }
}

/* returns 1 visible, 0 blocked */
__device__ static int march(const struct TerrainCell *cells, const struct Tile *tiles,
                            float ox, float oy, float oz, float tx, float ty, float tz, float season)
{
    float dx = tx - ox, dy = ty - oy, dz = tz - oz;
    float len = sqrtf(dx * dx + dy * dy);
    if (len < 1.5f) return 1;
    float inv = 1.0f / len;
    float step = 0.7f, s = 1.0f;
    while (s < len - 1.0f) {
        float f = s * inv;
        float px = ox + dx * f, py = oy + dy * f, pz = oz + dz * f;
        int cx = (int)px, cy = (int)py;
        const struct Tile *tl = &tiles[(cy / TILE) * TDIM + cx / TILE];
        float drop = fabsf(dz) * inv * TILE;
        if (pz - drop > tl->maxH) {           /* ray passes above the tile: leave it */
            float bx = dx > 0 ? (cx / TILE + 1) * TILE - px : px - (cx / TILE) * TILE;
            float by = dy > 0 ? (cy / TILE + 1) * TILE - py : py - (cy / TILE) * TILE;
            float sx = bx / fmaxf(fabsf(dx) * inv, 1e-6f);
            float sy = by / fmaxf(fabsf(dy) * inv, 1e-6f);
            s += fmaxf(fminf(sx, sy) + 0.01f, 0.1f);
            continue;
        }
        const struct TerrainCell *c = &cells[cy * DIM + cx];
        float drop2 = (s * CELL_M) * ((len - s) * CELL_M) * (0.5f / 6371000.0f); /* curvature */
        if (surface(c, season) + drop2 > pz) return 0;
        s += step;
    }
    return 1;
}

__global__ void line_of_sight(struct TerrainCell *cells, const struct Tile *tiles,
                              struct Observer *obs, float season)
{
    int gx = blockIdx.x * blockDim.x + threadIdx.x;
    int gy = blockIdx.y * blockDim.y + threadIdx.y;
    int o = blockIdx.z;
    if (gx >= TARGETS || gy >= TARGETS) return;
    int cx = gx * (DIM / TARGETS) + 1, cy = gy * (DIM / TARGETS) + 1;
    struct TerrainCell *target = &cells[cy * DIM + cx];
    if (target->closed) return;
    struct Observer *ob = &obs[o];
    float ox = ob->x, oy = ob->y;
    float tx = cx + 0.5f, ty = cy + 0.5f;
    float dist = CELL_M * hypotf(tx - ox, ty - oy);
    float rel = atan2f(ty - oy, tx - ox) - ob->heading;
    rel = fabsf(remainderf(rel, 6.2831853f));
    if (dist > ob->range || rel > 0.5f * ob->fov) {
        atomicAdd(&ob->outOfView, 1);
        return;
    }
    float oz = cells[(int)oy * DIM + (int)ox].elev + ob->height;
    float tz = target->elev + 2.0f;
    if (march(cells, tiles, ox, oy, oz, tx, ty, tz, season)) {
        atomicAdd(&ob->visible, 1);
        atomicOr(&target->seenMask, 1u << o);
        atomicAdd(&target->seenCount, 1);
    } else {
        atomicAdd(&ob->blocked, 1);
    }
}

__global__ void update_exposure(struct TerrainCell *cells)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= DIM || y >= DIM) return;
    struct TerrainCell *c = &cells[y * DIM + x];
    float e = __popc(c->seenMask) * (1.0f / N_OBS) * (1.0f + c->slope);
    c->exposure = 0.8f * c->exposure + 0.2f * e;
}

static unsigned hash2(unsigned x, unsigned y)
{
    unsigned h = x * 374761393u + y * 668265263u;
    h = (h ^ (h >> 13)) * 1274126177u;
    return h ^ (h >> 16);
}
static float vnoise(float x, float y)
{
    int ix = (int)floorf(x), iy = (int)floorf(y);
    float fx = x - ix, fy = y - iy;
    fx = fx * fx * (3 - 2 * fx); fy = fy * fy * (3 - 2 * fy);
    float a = hash2(ix, iy) / 4294967296.0f, b = hash2(ix + 1, iy) / 4294967296.0f;
    float c = hash2(ix, iy + 1) / 4294967296.0f, d = hash2(ix + 1, iy + 1) / 4294967296.0f;
    return (a + (b - a) * fx) * (1 - fy) + (c + (d - c) * fx) * fy;
}

int main(void)
{
    struct TerrainCell *h = (struct TerrainCell *)calloc(DIM * DIM, sizeof(*h)), *d_cells;
    struct Observer ho[N_OBS], *d_obs;
    struct Tile *d_tiles;
    for (int y = 0; y < DIM; y++)
        for (int x = 0; x < DIM; x++) {
            struct TerrainCell *c = &h[y * DIM + x];
            float amp = 500.0f, fr = 1.0f / 256.0f, e = 0.0f;
            for (int o = 0; o < 7; o++, amp *= 0.48f, fr *= 2.0f) e += amp * vnoise(x * fr, y * fr);
            c->elev = e < 300.0f ? 300.0f : e;
            float veg = vnoise(x * 0.05f + 100, y * 0.05f + 50);
            c->landcover = e < 300.0f ? 0 : veg > 0.6f ? 2 : (hash2(x, y) % 50 == 0 ? 3 : 1);
            c->canopy = c->landcover == 2 ? 8.0f + 12.0f * veg : c->landcover == 3 ? 10.0f : 0.3f;
            c->soil = (unsigned short)(hash2(y, x) & 0x3ff);
            c->closed = hash2(x + 7, y + 3) % 31 == 0;
        }
    for (int i = 0; i < N_OBS; i++) {
        ho[i] = Observer{};
        ho[i].x = 64.0f + hash2(i, 1) % (DIM - 128) + 0.5f;
        ho[i].y = 64.0f + hash2(i, 2) % (DIM - 128) + 0.5f;
        ho[i].height = 10.0f + 10.0f * (i % 4);
        ho[i].range = 12000.0f + 1500.0f * (i % 5);
        ho[i].heading = 0.4f * i;
        ho[i].fov = i % 3 == 0 ? 6.4f : 2.0f;
        snprintf(ho[i].name, sizeof(ho[i].name), "OBS-%02d", i);
    }
    CK(cudaMalloc((void **)&d_cells, sizeof(struct TerrainCell) * DIM * DIM));
    CK(cudaMalloc((void **)&d_tiles, sizeof(struct Tile) * TDIM * TDIM));
    CK(cudaMalloc((void **)&d_obs, sizeof(ho)));
    CK(cudaMemcpy(d_cells, h, sizeof(struct TerrainCell) * DIM * DIM, cudaMemcpyHostToDevice));
    CK(cudaMemcpy(d_obs, ho, sizeof(ho), cudaMemcpyHostToDevice));

    cudaEvent_t t0, t1;
    CK(cudaEventCreate(&t0)); CK(cudaEventCreate(&t1));
    dim3 b(TILE, TILE), gAll(DIM / TILE, DIM / TILE), gLos(TARGETS / TILE, TARGETS / TILE, N_OBS);
    for (int rep = 0; rep < N_REPS + 2; rep++) {
        float season = 0.5f + 0.5f * (rep % 5) / 4.0f;
        if (rep == 2) CK(cudaEventRecord(t0));
        compute_slope<<<gAll, b>>>(d_cells);
        build_tiles<<<dim3(TDIM, TDIM), b>>>(d_cells, d_tiles, season);
        line_of_sight<<<gLos, b>>>(d_cells, d_tiles, d_obs, season);
        update_exposure<<<gAll, b>>>(d_cells);
    }
    CK(cudaEventRecord(t1));
    CK(cudaEventSynchronize(t1));
    CK(cudaGetLastError());
    float ms;
    CK(cudaEventElapsedTime(&ms, t0, t1));
    CK(cudaMemcpy(h, d_cells, sizeof(struct TerrainCell) * DIM * DIM, cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(ho, d_obs, sizeof(ho), cudaMemcpyDeviceToHost));
    double expo = 0, seen = 0, slope = 0, vis = 0, blk = 0;
    for (int i = 0; i < DIM * DIM; i++) { expo += h[i].exposure; seen += h[i].seenCount; slope += h[i].slope; }
    for (int i = 0; i < N_OBS; i++) { vis += ho[i].visible * (i + 1.0); blk += ho[i].blocked * (i + 1.0); }
    printf("check exposure %.9g\ncheck seen %.9g\ncheck slope %.9g\n", expo, seen, slope);
    printf("check visible_w %.9g\ncheck blocked_w %.9g\n", vis, blk);
    printf("time_ms %.5f\n", ms / N_REPS);
    cudaFree(d_cells); cudaFree(d_tiles); cudaFree(d_obs); free(h);
    return 0;
}
