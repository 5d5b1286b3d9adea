/* D2Q9 lattice Boltzmann channel flow past a staggered array of cylinders.
 * One record per lattice cell, two lattices swapped every step, BGK with a
 * Smagorinsky eddy viscosity, half-way bounce back, velocity inlet. */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

#define NX 1536
#define NY 768
#define NCELL ((size_t)NX * NY)
#define STEPS_PER_REP 4
#define WARMUP 2
#define REPS 24
#define U_IN 0.06f
#define TAU0 0.53f

enum { FLUID = 0, WALL = 1, SOLID = 2, INLET = 3, OUTLET = 4 };

typedef struct {
    float f[9];
    float rho;
    float ux, uy;
    float tau;
    short type;
    short tag;      /* which obstacle, or -1 */
} LbCell;

typedef struct {
    double drag, lift;
    double mass, enstrophy;
} FlowSums;

__constant__ int   c_ex[9]  = { 0, 1, 0, -1, 0, 1, -1, -1, 1 };
__constant__ int   c_ey[9]  = { 0, 0, 1, 0, -1, 1, 1, -1, -1 };
__constant__ int   c_opp[9] = { 0, 3, 4, 1, 2, 7, 8, 5, 6 };
__constant__ float c_w[9]   = { 4.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 9,
                                1.f / 36, 1.f / 36, 1.f / 36, 1.f / 36 };

static void die(cudaError_t e, int line)
{
    if (e == cudaSuccess) return;
    fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(e));
    exit(1);
}
#define TRY(x) die((x), __LINE__)

__device__ static float feq(int k, float rho, float ux, float uy)
{
    float eu = c_ex[k] * ux + c_ey[k] * uy;
    return c_w[k] * rho * (1.0f + 3.0f * eu + 4.5f * eu * eu - 1.5f * (ux * ux + uy * uy));
}

__global__ void collide(LbCell *c)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= NX || y >= NY) return;
    LbCell *me = &c[(size_t)y * NX + x];
    if (me->type == WALL || me->type == SOLID) return;
    float rho = 0.f, mx = 0.f, my = 0.f;
    for (int k = 0; k < 9; k++) {
        float v = me->f[k];
        rho += v;
        mx += v * c_ex[k];
        my += v * c_ey[k];
    }
    float ux = mx / rho, uy = my / rho;

    float qxx = 0.f, qxy = 0.f, qyy = 0.f;
    float eq[9];
    for (int k = 0; k < 9; k++) {
        eq[k] = feq(k, rho, ux, uy);
        float ne = me->f[k] - eq[k];
        qxx += ne * c_ex[k] * c_ex[k];
        qxy += ne * c_ex[k] * c_ey[k];
        qyy += ne * c_ey[k] * c_ey[k];
    }
    float q = sqrtf(qxx * qxx + 2.f * qxy * qxy + qyy * qyy);
    float tau = 0.5f * (TAU0 + sqrtf(TAU0 * TAU0 + 0.72f * q / rho));
    float om = 1.0f / tau;
    for (int k = 0; k < 9; k++)
        me->f[k] += om * (eq[k] - me->f[k]);
    me->rho = rho;
    me->ux = ux; me->uy = uy;
    me->tau = tau;
}

/* Pull streaming from src to dst with bounce back. */
__global__ void stream(const LbCell *__restrict__ src, LbCell *__restrict__ dst)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= NX || y >= NY) return;
    size_t i = (size_t)y * NX + x;
    short t = src[i].type;
    if (t == WALL || t == SOLID) return;
    for (int k = 0; k < 9; k++) {
        int sx = x - c_ex[k], sy = y - c_ey[k];
        float v;
        if (sx < 0 || sx >= NX || sy < 0 || sy >= NY) {
            v = src[i].f[k];
        } else {
            const LbCell *nb = &src[(size_t)sy * NX + sx];
            v = (nb->type == WALL || nb->type == SOLID) ? src[i].f[c_opp[k]] : nb->f[k];
        }
        dst[i].f[k] = v;
    }
    dst[i].rho = src[i].rho;
    dst[i].ux = src[i].ux;
    dst[i].uy = src[i].uy;
    dst[i].tau = src[i].tau;
}

__global__ void open_boundaries(LbCell *c, int step)
{
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y < 1 || y >= NY - 1) return;
    float s = (y - 0.5f) / (NY - 2.0f);
    float ramp = fminf(1.0f, 0.2f + step * 0.01f);
    float u = ramp * U_IN * 6.0f * s * (1.0f - s) * (1.0f + 0.02f * sinf(0.05f * step + 9.0f * s));
    LbCell *in = &c[(size_t)y * NX];
    const LbCell *in1 = in + 1;
    for (int k = 0; k < 9; k++)
        in->f[k] = feq(k, in1->rho, u, 0.0f) + (in1->f[k] - feq(k, in1->rho, in1->ux, in1->uy));
    LbCell *out = &c[(size_t)y * NX + NX - 1];
    const LbCell *out1 = out - 1;
    for (int k = 0; k < 9; k++)
        out->f[k] = feq(k, 1.0f, out1->ux, out1->uy);
}

/* Momentum exchange on obstacles plus mass and enstrophy; block-level sums. */
__global__ void flow_sums(const LbCell *c, FlowSums *out)
{
    __shared__ double sh[4][256];
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int t = threadIdx.y * blockDim.x + threadIdx.x;
    double fx = 0, fy = 0, m = 0, en = 0;
    if (x > 0 && x < NX - 1 && y > 0 && y < NY - 1) {
        const LbCell *me = &c[(size_t)y * NX + x];
        if (me->type != WALL && me->type != SOLID) {
            m = me->rho;
            float dvdx = 0.5f * ((me + 1)->uy - (me - 1)->uy);
            float dudy = 0.5f * ((me + NX)->ux - (me - NX)->ux);
            en = (double)(dvdx - dudy) * (dvdx - dudy);
            for (int k = 1; k < 9; k++) {
                const LbCell *nb = me + c_ey[k] * NX + c_ex[k];
                if (nb->type == SOLID) {
                    fx += 2.0 * me->f[c_opp[k]] * c_ex[k];
                    fy += 2.0 * me->f[c_opp[k]] * c_ey[k];
                }
            }
        }
    }
    sh[0][t] = fx; sh[1][t] = fy; sh[2][t] = m; sh[3][t] = en;
    __syncthreads();
    for (int s = 128; s > 0; s >>= 1) {
        if (t < s)
            for (int q = 0; q < 4; q++) sh[q][t] += sh[q][t + s];
        __syncthreads();
    }
    if (t == 0) {
        atomicAdd(&out->drag, sh[0][0]);
        atomicAdd(&out->lift, sh[1][0]);
        atomicAdd(&out->mass, sh[2][0]);
        atomicAdd(&out->enstrophy, sh[3][0]);
    }
}

static void init_cells(LbCell *h)
{
    const float w[9] = { 4.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 36, 1.f / 36, 1.f / 36, 1.f / 36 };
    unsigned int s = 99u;
    for (int y = 0; y < NY; y++)
        for (int x = 0; x < NX; x++) {
            LbCell *c = &h[(size_t)y * NX + x];
            c->type = FLUID;
            c->tag = -1;
            if (x == 0) c->type = INLET;
            if (x == NX - 1) c->type = OUTLET;
            for (int row = 0; row < 5; row++)
                for (int col = 0; col < 3; col++) {
                    int cx = 200 + row * 180, cy = 120 + col * 240 + (row & 1) * 120;
                    int r = 22 + 5 * ((row + col) % 3);
                    int dx = x - cx, dy = y - cy;
                    if (dx * dx + dy * dy < r * r) { c->type = SOLID; c->tag = (short)(row * 3 + col); }
                }
            if (y == 0 || y == NY - 1) c->type = WALL;
            s = s * 1664525u + 1013904223u;
            float rho = 1.0f + 1e-3f * ((float)(s >> 16) / 65536.0f - 0.5f);
            for (int k = 0; k < 9; k++) c->f[k] = w[k] * rho;
            c->rho = rho;
            c->ux = c->uy = 0.0f;
            c->tau = TAU0;
        }
}

int main(void)
{
    LbCell *h = (LbCell *)malloc(NCELL * sizeof(LbCell));
    LbCell *d_a, *d_b;
    FlowSums *d_sums, sums;
    init_cells(h);
    TRY(cudaMalloc((void **)&d_a, NCELL * sizeof(LbCell)));
    TRY(cudaMalloc((void **)&d_b, NCELL * sizeof(LbCell)));
    TRY(cudaMalloc((void **)&d_sums, sizeof(FlowSums)));
    TRY(cudaMemcpy(d_a, h, NCELL * sizeof(LbCell), cudaMemcpyHostToDevice));
    TRY(cudaMemcpy(d_b, d_a, NCELL * sizeof(LbCell), cudaMemcpyDeviceToDevice));

    dim3 block(32, 8), grid((NX + 31) / 32, (NY + 7) / 8);
    cudaEvent_t ev0, ev1;
    TRY(cudaEventCreate(&ev0)); TRY(cudaEventCreate(&ev1));
    int step = 0;
    for (int rep = 0; rep < WARMUP + REPS; rep++) {
        if (rep == WARMUP) TRY(cudaEventRecord(ev0, 0));
        TRY(cudaMemsetAsync(d_sums, 0, sizeof(FlowSums), 0));
        for (int s = 0; s < STEPS_PER_REP; s++, step++) {
            collide<<<grid, block>>>(d_a);
            stream<<<grid, block>>>(d_a, d_b);
            open_boundaries<<<(NY + 127) / 128, 128>>>(d_b, step);
            LbCell *tmp = d_a; d_a = d_b; d_b = tmp;
        }
        flow_sums<<<grid, block>>>(d_a, d_sums);
    }
    TRY(cudaEventRecord(ev1, 0));
    TRY(cudaEventSynchronize(ev1));
    TRY(cudaGetLastError());
    float ms = 0.f;
    TRY(cudaEventElapsedTime(&ms, ev0, ev1));

    TRY(cudaMemcpy(&sums, d_sums, sizeof(sums), cudaMemcpyDeviceToHost));
    TRY(cudaMemcpy(h, d_a, NCELL * sizeof(LbCell), cudaMemcpyDeviceToHost));
    double speed = 0.0, tau = 0.0;
    for (size_t i = 0; i < NCELL; i++) {
        if (h[i].type != FLUID) continue;
        speed += sqrt((double)h[i].ux * h[i].ux + (double)h[i].uy * h[i].uy);
        tau += h[i].tau;
    }
    printf("check mass %.9g\n", sums.mass);
    printf("check drag %.9g\n", sums.drag);
    printf("check enstrophy %.9g\n", sums.enstrophy);
    printf("check speed %.9g\n", speed);
    printf("check tau %.9g\n", tau);
    printf("time_ms %.5f\n", ms / REPS);
    cudaFree(d_a); cudaFree(d_b); cudaFree(d_sums);
    free(h);
    return 0;
}
