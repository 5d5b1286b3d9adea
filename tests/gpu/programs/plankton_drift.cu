// plankton_drift.cu
// Lagrangian plankton in a wind-driven double gyre.  An ocean grid carries
// currents and nutrients, drifting plankton patches move with the current,
// feed on the nutrient and return part of it when they shrink.
//
// usage: plankton_drift [drifters] [steps]

#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

#define CUDA_CHECK(call)                                                     \
    do {                                                                     \
        cudaError_t err_ = (call);                                           \
        if (err_ != cudaSuccess) {                                           \
            fprintf(stderr, "CUDA error %s at %s:%d\n",                      \
                    cudaGetErrorString(err_), __FILE__, __LINE__);           \
            exit(EXIT_FAILURE);                                              \
        }                                                                    \
    } while (0)

#define NX 2048
#define NY 1536
#define UPTAKE_SCALE 65536.0f

typedef struct {
    float u, v;            /* current, cells per step          */
    float nutrient;        /* concentration                    */
    float nutrient_new;    /* result of the diffusion stencil  */
    float temperature;
    unsigned int uptake;   /* fixed point, taken by plankton   */
    short depth;           /* metres                           */
    unsigned char land;
    unsigned char zone;
} OceanCell;

typedef struct {
    float x, y;            /* position in cell units */
    float biomass;
    float growth;          /* last growth rate       */
    float travelled;
    unsigned int rng;
    int cohort;
    short species;
    short age;
} Drifter;

typedef struct {
    float max_uptake;
    float half_sat;
    float mortality;
    float t_opt;
} SpeciesTraits;

__constant__ SpeciesTraits c_traits[4];

/* ------------------------------------------------------------------ */
/* 1: currents for the present time (analytic, oscillating gyres), and
 *    commit of the nutrient field minus what has been eaten           */
__global__ void update_currents(OceanCell *cells, float t)
{
    int ix = blockIdx.x * blockDim.x + threadIdx.x;
    int iy = blockIdx.y * blockDim.y + threadIdx.y;
    if (ix >= NX || iy >= NY) return;
    OceanCell *c = &cells[iy * NX + ix];

    float taken = (float)c->uptake / UPTAKE_SCALE;
    c->nutrient = fmaxf(c->nutrient_new - taken, 0.0f);
    c->uptake = 0u;

    if (c->land) {
        c->u = 0.0f;
        c->v = 0.0f;
        return;
    }
    const float pi = 3.14159265f;
    float X = 2.0f * (ix + 0.5f) / NX;
    float Y = (iy + 0.5f) / NY;
    float eps = 0.25f * sinf(0.3f * t);
    float f = eps * X * X + (1.0f - 2.0f * eps) * X;
    float dfdx = 2.0f * eps * X + 1.0f - 2.0f * eps;
    float drag = 1.0f / (1.0f + 40.0f / (float)c->depth);
    c->u = -1.5f * sinf(pi * f) * cosf(pi * Y) * drag;
    c->v = 0.75f * cosf(pi * f) * sinf(pi * Y) * dfdx * drag;
}

/* 2: diffusion of the nutrient with upwelling in shallow water */
__global__ void diffuse_nutrient(OceanCell *cells, float kappa, float season)
{
    int ix = blockIdx.x * blockDim.x + threadIdx.x;
    int iy = blockIdx.y * blockDim.y + threadIdx.y;
    if (ix >= NX || iy >= NY) return;
    int id = iy * NX + ix;
    if (cells[id].land) return;

    float mid = cells[id].nutrient;
    float lap = 0.0f;
    if (ix > 0 && !cells[id - 1].land)       lap += cells[id - 1].nutrient - mid;
    if (ix < NX - 1 && !cells[id + 1].land)  lap += cells[id + 1].nutrient - mid;
    if (iy > 0 && !cells[id - NX].land)      lap += cells[id - NX].nutrient - mid;
    if (iy < NY - 1 && !cells[id + NX].land) lap += cells[id + NX].nutrient - mid;

    float upwell = 0.02f * season / (1.0f + 0.01f * cells[id].depth);
    cells[id].nutrient_new = mid + kappa * lap + upwell * (8.0f - mid);
    cells[id].temperature += 0.01f * (12.0f + 6.0f * season - cells[id].temperature);
}

__device__ void sample_current(const OceanCell *cells, float x, float y, float *u, float *v)
{
    int ix = min(max((int)floorf(x), 0), NX - 2);
    int iy = min(max((int)floorf(y), 0), NY - 2);
    float fx = x - ix, fy = y - iy;
    const OceanCell *r0 = cells + iy * NX + ix;
    const OceanCell *r1 = r0 + NX;
    float w00 = (1 - fx) * (1 - fy), w10 = fx * (1 - fy), w01 = (1 - fx) * fy, w11 = fx * fy;
    *u = w00 * r0[0].u + w10 * r0[1].u + w01 * r1[0].u + w11 * r1[1].u;
    *v = w00 * r0[0].v + w10 * r0[1].v + w01 * r1[0].v + w11 * r1[1].v;
}

__device__ inline float noise(unsigned int *s)
{
    *s = *s * 1664525u + 1013904223u;
    return (float)(*s >> 16) * (1.0f / 65536.0f) - 0.5f;
}

/* 3: midpoint-rule advection with a small random walk */
__global__ void advect_drifters(Drifter *d, int n, const OceanCell *cells)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float x = d[i].x, y = d[i].y;
        unsigned int s = d[i].rng;
        float u, v;
        sample_current(cells, x, y, &u, &v);
        sample_current(cells, x + 0.5f * u, y + 0.5f * v, &u, &v);
        float dx = u + 0.2f * noise(&s);
        float dy = v + 0.2f * noise(&s);
        d[i].x = fminf(fmaxf(x + dx, 0.0f), NX - 1.0f);
        d[i].y = fminf(fmaxf(y + dy, 0.0f), NY - 1.0f);
        d[i].travelled += sqrtf(dx * dx + dy * dy);
        d[i].rng = s;
    }
}

/* 4: feeding (Monod kinetics), removes nutrient through fixed-point atomics */
__global__ void feed_drifters(Drifter *d, int n, OceanCell *cells)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int ix = min((int)d[i].x, NX - 1);
    int iy = min((int)d[i].y, NY - 1);
    OceanCell *c = &cells[iy * NX + ix];
    SpeciesTraits tr = c_traits[d[i].species];

    float dT = (c->temperature - tr.t_opt) * 0.1f;
    float food = c->nutrient / (c->nutrient + tr.half_sat);
    float rate = tr.max_uptake * food * expf(-dT * dT);
    float b = d[i].biomass;
    unsigned int taken = (unsigned int)(0.05f * rate * b * UPTAKE_SCALE);
    if (taken) atomicAdd(&c->uptake, taken);
    d[i].growth = rate - tr.mortality;
    d[i].biomass = fminf(b * (1.0f + d[i].growth), 50.0f);
    d[i].age += 1;
}

/* ------------------------------------------------------------------ */
static void build_ocean(OceanCell *cells)
{
    for (int j = 0; j < NY; j++)
        for (int i = 0; i < NX; i++) {
            OceanCell *c = &cells[j * NX + i];
            float cx = (i - NX * 0.5f) / NX, cy = (j - NY * 0.5f) / NY;
            float island = (cx - 0.1f) * (cx - 0.1f) + (cy + 0.15f) * (cy + 0.15f);
            c->u = c->v = 0.0f;
            c->land = (island < 0.004f || i < 4 || j < 4 || i >= NX - 4 || j >= NY - 4) ? 1 : 0;
            c->depth = (short)(20 + 900.0f * fminf(1.0f, 4.0f * island));
            c->nutrient = 2.0f + 4.0f * (float)((i * 7 + j * 13) % 64) / 64.0f;
            c->nutrient_new = c->nutrient;
            c->temperature = 8.0f + 10.0f * (float)j / NY;
            c->uptake = 0;
            c->zone = (unsigned char)((i / 256) + 8 * (j / 256));
        }
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 3000000;
    int steps = argc > 2 ? atoi(argv[2]) : 60;
    const size_t ncell = (size_t)NX * NY;

    OceanCell *h_cells = (OceanCell *)malloc(ncell * sizeof(OceanCell));
    Drifter *h_drift = (Drifter *)malloc(n * sizeof(Drifter));
    build_ocean(h_cells);
    srand(4711);
    for (int i = 0; i < n; i++) {
        h_drift[i].x = 8.0f + (NX - 16.0f) * (rand() / (float)RAND_MAX);
        h_drift[i].y = 8.0f + (NY - 16.0f) * (rand() / (float)RAND_MAX);
        h_drift[i].biomass = 0.5f + (rand() % 1000) * 0.001f;
        h_drift[i].growth = 0.0f;
        h_drift[i].travelled = 0.0f;
        h_drift[i].rng = (unsigned int)rand();
        h_drift[i].cohort = i / 10000;
        h_drift[i].species = (short)(i % 4);
        h_drift[i].age = 0;
    }
    SpeciesTraits traits[4] = {
        {0.060f, 1.0f, 0.020f, 12.0f}, {0.045f, 0.4f, 0.015f, 16.0f},
        {0.080f, 3.0f, 0.030f, 10.0f}, {0.050f, 1.5f, 0.010f, 14.0f}};
    CUDA_CHECK(cudaMemcpyToSymbol(c_traits, traits, sizeof(traits)));

    OceanCell *d_cells;
    Drifter *d_drift;
    CUDA_CHECK(cudaMalloc((void **)&d_cells, ncell * sizeof(OceanCell)));
    CUDA_CHECK(cudaMalloc((void **)&d_drift, n * sizeof(Drifter)));
    CUDA_CHECK(cudaMemcpy(d_cells, h_cells, ncell * sizeof(OceanCell), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(d_drift, h_drift, n * sizeof(Drifter), cudaMemcpyHostToDevice));

    dim3 block(32, 8), grid((NX + 31) / 32, (NY + 7) / 8);
    int feed_blocks = (n + 255) / 256;
    cudaEvent_t t0, t1;
    CUDA_CHECK(cudaEventCreate(&t0));
    CUDA_CHECK(cudaEventCreate(&t1));

    CUDA_CHECK(cudaEventRecord(t0));
    for (int s = 0; s < steps; s++) {
        float t = 0.2f * s;
        update_currents<<<grid, block>>>(d_cells, t);
        diffuse_nutrient<<<grid, block>>>(d_cells, 0.12f, 0.5f + 0.5f * sinf(0.1f * t));
        advect_drifters<<<132 * 8, 256>>>(d_drift, n, d_cells);
        feed_drifters<<<feed_blocks, 256>>>(d_drift, n, d_cells);
    }
    CUDA_CHECK(cudaEventRecord(t1));
    CUDA_CHECK(cudaEventSynchronize(t1));
    CUDA_CHECK(cudaGetLastError());
    float ms = 0.0f;
    CUDA_CHECK(cudaEventElapsedTime(&ms, t0, t1));

    CUDA_CHECK(cudaMemcpy(h_cells, d_cells, ncell * sizeof(OceanCell), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(h_drift, d_drift, n * sizeof(Drifter), cudaMemcpyDeviceToHost));

    double nut = 0, eaten = 0, temp = 0, speed = 0, bio = 0, trav = 0, pos = 0;
    long long ages = 0, rngsum = 0;
    for (size_t k = 0; k < ncell; k++) {
        nut += h_cells[k].nutrient_new + h_cells[k].nutrient;
        eaten += h_cells[k].uptake;
        temp += h_cells[k].temperature;
        speed += fabs(h_cells[k].u) + fabs(h_cells[k].v);
    }
    for (int i = 0; i < n; i++) {
        bio += h_drift[i].biomass * (2.0 + h_drift[i].growth);
        trav += h_drift[i].travelled;
        pos += h_drift[i].x + 2.0 * h_drift[i].y;
        ages += h_drift[i].age;
        rngsum += h_drift[i].rng;
    }
    printf("time_ms %.5f\n", ms / steps);
    printf("check nutrient %.3e\n", nut);
    printf("check uptake %.3e\n", eaten);
    printf("check temperature %.4e\n", temp);
    printf("check current %.4e\n", speed);
    printf("check biomass %.4e\n", bio);
    printf("check travelled %.4e\n", trav);
    printf("check position %.4e\n", pos);
    printf("check age %lld\n", ages);
    printf("check rng %lld\n", rngsum);

    CUDA_CHECK(cudaFree(d_cells));
    CUDA_CHECK(cudaFree(d_drift));
    free(h_cells);
    free(h_drift);
    return 0;
}
