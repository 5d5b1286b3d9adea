/* CO oxidation on a stepped metal surface: synchronous-sublattice kinetic Monte
 * Carlo. Sites are updated in five colours so that von Neumann neighbourhoods of
 * simultaneously updated sites never overlap. */
#include <stdio.h>
#include <stdlib.h>
#include <stdint.h>
#include <string.h>
#include <math.h>
#include <cuda_runtime.h>

#define L 4000                 /* lattice edge, divisible by 5 and 32 */
#define TILE 32
#define NT (L / TILE)
#define NDEFECTS 200000
#define NSPECIES 3
#define WARM 6
#define ITER 40

enum { EMPTY = 0, CO = 1, OX = 2 };

struct site {
    uint8_t species;
    uint8_t terrace;           /* 0 terrace, 1 step edge, 2 kink */
    uint8_t nco;               /* occupied neighbours */
    uint8_t nox;
    uint16_t age;              /* steps since the last event */
    uint16_t turnovers;
    float bind;                /* binding energy incl. lateral interaction, eV */
    uint32_t rng;
};

struct rate_row {
    float ads_co, ads_o2;
    float des_co;
    float react;
    float hop_co, hop_o;
    float lateral_co, lateral_o;
    float e0[NSPECIES];
};

struct tile_stat {
    int occ[NSPECIES];
    int turnovers;
    int active;                /* sites with age 0 */
    float coverage;            /* smoothed */
    float flux;                /* local CO pressure factor */
    double bind_sum;
};

struct defect {
    int x, y;
    float strength;
    float poisoned;
    int hits;
    short kind;
    short radius;
};

#define TRY(e)                                                              \
    do {                                                                    \
        cudaError_t r_ = (e);                                               \
        if (r_ != cudaSuccess) {                                            \
            printf("CUDA failure %s at %d\n", cudaGetErrorString(r_), __LINE__); \
            exit(3);                                                        \
        }                                                                   \
    } while (0)

__constant__ struct rate_row rates[3];      /* by terrace type */

__device__ static uint32_t next_rng(uint32_t *s)
{
    uint32_t x = *s;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    *s = x;
    return x;
}

__device__ static float frand(uint32_t *s)
{
    return (next_rng(s) >> 8) * (1.0f / 16777216.0f);
}

/* neighbour counts with a haloed tile of species in shared memory */
__global__ void count_neighbours(struct site *lat)
{
    __shared__ uint8_t t[10][34];
    int x0 = blockIdx.x * 32, y0 = blockIdx.y * 8;
    for (int k = threadIdx.y * 32 + threadIdx.x; k < 340; k += 256) {
        int ty = k / 34, tx = k % 34;
        int gx = (x0 + tx - 1 + L) % L, gy = (y0 + ty - 1 + L) % L;
        t[ty][tx] = lat[(size_t)gy * L + gx].species;
    }
    __syncthreads();
    int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    uint8_t a = t[ty][tx - 1], b = t[ty][tx + 1], c = t[ty - 1][tx], d = t[ty + 1][tx];
    struct site *s = &lat[(size_t)(y0 + threadIdx.y) * L + x0 + threadIdx.x];
    s->nco = (a == CO) + (b == CO) + (c == CO) + (d == CO);
    s->nox = (a == OX) + (b == OX) + (c == OX) + (d == OX);
}

__global__ void binding_energy(struct site *lat, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    struct site s = lat[i];
    const struct rate_row *r = &rates[s.terrace];
    lat[i].bind = r->e0[s.species] + r->lateral_co * s.nco + r->lateral_o * s.nox;
    if (s.age < 65535) lat[i].age = s.age + 1;
}

__global__ void events(struct site *lat, const struct tile_stat *tiles, int colour)
{
    int ix = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (ix >= L / 5 || y >= L) return;
    int x = 5 * ix + ((colour - 2 * y) % 5 + 5) % 5;
    struct site *s = &lat[(size_t)y * L + x];
    uint32_t rng = s->rng;
    const struct rate_row *r = &rates[s->terrace];

    int dir = next_rng(&rng) >> 30;
    int nx = x + (dir == 0) - (dir == 1), ny = y + (dir == 2) - (dir == 3);
    nx = nx < 0 ? nx + L : (nx >= L ? nx - L : nx);
    ny = ny < 0 ? ny + L : (ny >= L ? ny - L : ny);
    struct site *nb = &lat[(size_t)ny * L + nx];
    uint8_t me = s->species, other = nb->species;
    float u = frand(&rng);

    if (me == EMPTY) {
        float flux = tiles[(y / TILE) * NT + x / TILE].flux;
        float pco = r->ads_co * flux;
        if (u < pco) {
            s->species = CO;
            s->age = 0;
        } else if (other == EMPTY && u < pco + r->ads_o2) {
            s->species = OX;
            nb->species = OX;
            s->age = nb->age = 0;
        }
    } else if (me + other == CO + OX && me != EMPTY && other != EMPTY) {
        if (u < r->react) {
            s->species = nb->species = EMPTY;
            s->age = nb->age = 0;
            s->turnovers++;
        }
    } else if (me == CO) {
        float pd = r->des_co * expf(-fmaxf(s->bind, 0.0f) * 2.0f);
        if (u < pd) {
            s->species = EMPTY;
            s->age = 0;
        } else if (other == EMPTY && u < pd + r->hop_co) {
            nb->species = CO;
            s->species = EMPTY;
            s->age = nb->age = 0;
        }
    } else if (other == EMPTY && u < r->hop_o) {
        nb->species = OX;
        s->species = EMPTY;
        s->age = nb->age = 0;
    }
    s->rng = rng;
}

/* one block per tile of 32x32 sites */
__global__ void tile_reduce(const struct site *lat, struct tile_stat *tiles)
{
    __shared__ int occ[NSPECIES], turn, act;
    __shared__ double bind[8];
    int tid = threadIdx.x;
    if (tid < NSPECIES) occ[tid] = 0;
    if (tid == 0) turn = act = 0;
    __syncthreads();
    int bx = blockIdx.x % NT, by = blockIdx.x / NT;
    double b = 0.0;
    for (int k = tid; k < TILE * TILE; k += 256) {
        const struct site *s = &lat[(size_t)(by * TILE + k / TILE) * L + bx * TILE + k % TILE];
        atomicAdd(&occ[s->species], 1);
        if (s->turnovers) atomicAdd(&turn, (int)s->turnovers);
        if (s->age == 0) atomicAdd(&act, 1);
        b += s->bind;
    }
    for (int o = 16; o > 0; o >>= 1) b += __shfl_down_sync(0xffffffffu, b, o);
    if ((tid & 31) == 0) bind[tid >> 5] = b;
    __syncthreads();
    if (tid == 0) {
        struct tile_stat *t = &tiles[blockIdx.x];
        double sum = 0.0;
        for (int w = 0; w < 8; w++) sum += bind[w];
        for (int k = 0; k < NSPECIES; k++) t->occ[k] = occ[k];
        t->turnovers = turn;
        t->active = act;
        t->bind_sum = sum;
        float theta = occ[CO] / (float)(TILE * TILE);
        t->coverage = 0.9f * t->coverage + 0.1f * theta;
        t->flux = 1.3f - 0.6f * t->coverage;
    }
}

__global__ void probe_defects(struct defect *def, int n, const struct site *lat)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int rad = def[i].radius, cx = def[i].x, cy = def[i].y, co = 0, hit = 0;
    for (int dy = -rad; dy <= rad; dy++)
        for (int dx = -rad; dx <= rad; dx++) {
            int x = (cx + dx + L) % L, y = (cy + dy + L) % L;
            const struct site *s = &lat[(size_t)y * L + x];
            co += s->species == CO;
            hit += s->age == 0;
        }
    float frac = co / (float)((2 * rad + 1) * (2 * rad + 1));
    def[i].poisoned += 0.05f * (frac - def[i].poisoned);
    def[i].hits += hit;
}

static uint32_t hash32(uint32_t x)
{
    x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; x *= 0x846ca68bu; x ^= x >> 16;
    return x;
}

static void mc_step(struct site *lat, struct tile_stat *tiles, struct defect *def)
{
    const int n = L * L;
    count_neighbours<<<dim3(L / 32, L / 8), dim3(32, 8)>>>(lat);
    binding_energy<<<(n + 255) / 256, 256>>>(lat, n);
    dim3 b(64, 4), g((L / 5 + 63) / 64, L / 4);
    for (int c = 0; c < 5; c++) events<<<g, b>>>(lat, tiles, (c * 2) % 5);
    tile_reduce<<<NT * NT, 256>>>(lat, tiles);
    probe_defects<<<(NDEFECTS + 127) / 128, 128>>>(def, NDEFECTS, lat);
}

int main(void)
{
    const size_t n = (size_t)L * L;
    struct site *h = (struct site *)malloc(n * sizeof *h);
    struct tile_stat *ht = (struct tile_stat *)calloc(NT * NT, sizeof *ht);
    struct defect *hd = (struct defect *)calloc(NDEFECTS, sizeof *hd);
    if (!h || !ht || !hd) return 1;
    for (size_t i = 0; i < n; i++) {
        uint32_t r = hash32((uint32_t)i * 2654435761u + 17u);
        int x = (int)(i % L), y = (int)(i / L);
        memset(&h[i], 0, sizeof h[i]);
        h[i].species = (r % 100) < 35 ? CO : ((r % 100) < 50 ? OX : EMPTY);
        h[i].terrace = (x + y / 3) % 61 == 0 ? ((r >> 9) % 8 == 0 ? 2 : 1) : 0;
        h[i].rng = hash32(r) | 1u;
    }
    for (int t = 0; t < NT * NT; t++) {
        ht[t].coverage = 0.35f;
        ht[t].flux = 1.0f;
    }
    for (int i = 0; i < NDEFECTS; i++) {
        uint32_t r = hash32(90000001u + i);
        hd[i].x = (int)(r % L);
        hd[i].y = (int)(hash32(r) % L);
        hd[i].strength = (r & 255) / 255.0f;
        hd[i].kind = (short)((r >> 8) % 4);
        hd[i].radius = (short)(1 + (r >> 12) % 3);
    }
    struct rate_row rr[3] = {
        {0.075f, 0.12f, 0.10f, 0.70f, 0.50f, 0.02f, -0.06f, -0.09f, {0.0f, 1.35f, 1.10f}},
        {0.10f, 0.16f, 0.04f, 0.80f, 0.20f, 0.01f, -0.05f, -0.08f, {0.0f, 1.60f, 1.30f}},
        {0.12f, 0.20f, 0.02f, 0.60f, 0.10f, 0.01f, -0.04f, -0.07f, {0.0f, 1.75f, 1.45f}},
    };
    TRY(cudaMemcpyToSymbol(rates, rr, sizeof rr));

    struct site *d;
    struct tile_stat *dt;
    struct defect *dd;
    TRY(cudaMalloc((void **)&d, n * sizeof *d));
    TRY(cudaMalloc((void **)&dt, NT * NT * sizeof *dt));
    TRY(cudaMalloc((void **)&dd, NDEFECTS * sizeof *dd));
    TRY(cudaMemcpy(d, h, n * sizeof *d, cudaMemcpyHostToDevice));
    TRY(cudaMemcpy(dt, ht, NT * NT * sizeof *dt, cudaMemcpyHostToDevice));
    TRY(cudaMemcpy(dd, hd, NDEFECTS * sizeof *dd, cudaMemcpyHostToDevice));

    for (int i = 0; i < WARM; i++) mc_step(d, dt, dd);
    cudaEvent_t start, stop;
    TRY(cudaEventCreate(&start));
    TRY(cudaEventCreate(&stop));
    TRY(cudaEventRecord(start, 0));
    for (int i = 0; i < ITER; i++) mc_step(d, dt, dd);
    TRY(cudaEventRecord(stop, 0));
    TRY(cudaEventSynchronize(stop));
    TRY(cudaGetLastError());
    float ms = 0.0f;
    TRY(cudaEventElapsedTime(&ms, start, stop));

    TRY(cudaMemcpy(ht, dt, NT * NT * sizeof *dt, cudaMemcpyDeviceToHost));
    TRY(cudaMemcpy(hd, dd, NDEFECTS * sizeof *dd, cudaMemcpyDeviceToHost));
    long long occ[3] = {0, 0, 0}, turn = 0, act = 0, hits = 0;
    double bind = 0.0, pois = 0.0;
    for (int t = 0; t < NT * NT; t++) {
        for (int k = 0; k < 3; k++) occ[k] += ht[t].occ[k];
        turn += ht[t].turnovers;
        act += ht[t].active;
        bind += ht[t].bind_sum;
    }
    for (int i = 0; i < NDEFECTS; i++) {
        hits += hd[i].hits;
        pois += hd[i].poisoned;
    }
    printf("check %.4g/%.4g/%.4g/%.4g/%.4g/%.4g/%.4g\n", (double)occ[CO], (double)occ[OX], (double)turn, (double)act,
           (double)hits, bind, pois);
    printf("time_ms %.4f\n", ms / ITER);
    cudaFree(d); cudaFree(dt); cudaFree(dd);
    free(h); free(ht); free(hd);
    return 0;
}
