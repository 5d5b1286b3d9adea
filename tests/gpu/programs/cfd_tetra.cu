/*
 * Finite-volume compressible flow on four-faced elements in an
 * unstructured order: local time steps, Rusanov fluxes, three-stage
 * Runge-Kutta.
 */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

#define GAMMA 1.4f
#define NFACE 4
#define RK 3
#define WALL (-1)
#define FAR_FIELD (-2)
#define BLOCK_SIZE 192

struct Element {
    int nb[NFACE];
    float normal[NFACE][3];
    float area;
    float cx, cy, cz;
};

struct State {
    float rho;
    float mx, my, mz;
    float energy;
};

struct Work {
    State old;
    float factor;
    float residual;
};

__constant__ State c_far;

static void die(cudaError_t e, const char *where)
{
    if (e == cudaSuccess) return;
    fprintf(stderr, "%s: %s\n", where, cudaGetErrorString(e));
    exit(1);
}

__device__ inline float pressure_of(float rho, float mx, float my, float mz, float e)
{
    return (GAMMA - 1.0f) * (e - 0.5f * (mx * mx + my * my + mz * mz) / rho);
}

__global__ void init_state(State *u, const Element *el, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    State s = c_far;
    float dx = el[i].cx - 0.5f, dy = el[i].cy - 0.5f, dz = el[i].cz - 0.5f;
    float bump = 0.3f * expf(-40.0f * (dx * dx + dy * dy + dz * dz));
    s.rho *= 1.0f + bump;
    s.energy *= 1.0f + bump;
    u[i] = s;
}

__global__ void step_factor(const State *u, const Element *el, Work *w, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float rho = u[i].rho;
    float mx = u[i].mx, my = u[i].my, mz = u[i].mz;
    float p = pressure_of(rho, mx, my, mz, u[i].energy);
    float speed = sqrtf(mx * mx + my * my + mz * mz) / rho;
    float sound = sqrtf(GAMMA * p / rho);
    w[i].old = u[i];
    w[i].factor = 1.0f / (el[i].area * (speed + sound));
}

__device__ void add_flux(const State &a, const State &b, float nx, float ny, float nz,
                         State &r)
{
    float pa = pressure_of(a.rho, a.mx, a.my, a.mz, a.energy);
    float pb = pressure_of(b.rho, b.mx, b.my, b.mz, b.energy);
    float va = (a.mx * nx + a.my * ny + a.mz * nz) / a.rho;
    float vb = (b.mx * nx + b.my * ny + b.mz * nz) / b.rho;
    float len = sqrtf(nx * nx + ny * ny + nz * nz);
    float la = fabsf(va) + len * sqrtf(GAMMA * pa / a.rho);
    float lb = fabsf(vb) + len * sqrtf(GAMMA * pb / b.rho);
    float l = fmaxf(la, lb);
    r.rho -= 0.5f * (a.rho * va + b.rho * vb - l * (b.rho - a.rho));
    r.mx -= 0.5f * (a.mx * va + b.mx * vb + (pa + pb) * nx - l * (b.mx - a.mx));
    r.my -= 0.5f * (a.my * va + b.my * vb + (pa + pb) * ny - l * (b.my - a.my));
    r.mz -= 0.5f * (a.mz * va + b.mz * vb + (pa + pb) * nz - l * (b.mz - a.mz));
    r.energy -= 0.5f * ((a.energy + pa) * va + (b.energy + pb) * vb -
                        l * (b.energy - a.energy));
}

__global__ void compute_flux(const State *u, const Element *el, State *flux, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    State me = u[i];
    State r = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
    for (int f = 0; f < NFACE; f++) {
        float nx = el[i].normal[f][0];
        float ny = el[i].normal[f][1];
        float nz = el[i].normal[f][2];
        int nb = el[i].nb[f];
        if (nb >= 0) {
            State o = u[nb];
            add_flux(me, o, nx, ny, nz, r);
        } else if (nb == FAR_FIELD) {
            add_flux(me, c_far, nx, ny, nz, r);
        } else {
            float p = pressure_of(me.rho, me.mx, me.my, me.mz, me.energy);
            r.mx -= p * nx;
            r.my -= p * ny;
            r.mz -= p * nz;
        }
    }
    flux[i] = r;
}

__global__ void time_step(State *u, const State *flux, Work *w, int n, int stage)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float k = w[i].factor / (float)(RK - stage);
    u[i].rho = w[i].old.rho + k * flux[i].rho;
    u[i].mx = w[i].old.mx + k * flux[i].mx;
    u[i].my = w[i].old.my + k * flux[i].my;
    u[i].mz = w[i].old.mz + k * flux[i].mz;
    u[i].energy = w[i].old.energy + k * flux[i].energy;
    if (stage == RK - 1) w[i].residual = fabsf(u[i].rho - w[i].old.rho);
}

/* two interleaved lattices: A(i,j,k) touches B at the same place and one
   step back in each direction, so every element has four faces */
static void build_mesh(Element *el, int *number, int d)
{
    const float t[NFACE][3] = {{1, 1, 1}, {1, -1, -1}, {-1, 1, -1}, {-1, -1, 1}};
    const int step[NFACE][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    int n = 2 * d * d * d;
    float h = 1.0f / d;
    for (int i = 0; i < n; i++) number[i] = i;
    for (int base = 0; base < n; base += 2048) {   /* renumber in chunks */
        int len = n - base < 2048 ? n - base : 2048;
        for (int i = len - 1; i > 0; i--) {
            int j = rand() % (i + 1);
            int tmp = number[base + i];
            number[base + i] = number[base + j];
            number[base + j] = tmp;
        }
    }
    for (int z = 0; z < d; z++)
        for (int y = 0; y < d; y++)
            for (int x = 0; x < d; x++)
                for (int s = 0; s < 2; s++) {
                    int cell = (z * d + y) * d + x;
                    Element *e = &el[number[2 * cell + s]];
                    float sign = s == 0 ? 1.0f : -1.0f;
                    float total = 0.0f;
                    for (int f = 0; f < NFACE; f++) {
                        int ax = x + (s ? 1 : -1) * step[f][0];
                        int ay = y + (s ? 1 : -1) * step[f][1];
                        int az = z + (s ? 1 : -1) * step[f][2];
                        if (az < 0 || az >= d) e->nb[f] = WALL;
                        else if (ax < 0 || ay < 0 || ax >= d || ay >= d) e->nb[f] = FAR_FIELD;
                        else e->nb[f] = number[2 * ((az * d + ay) * d + ax) + 1 - s];
                        float len2 = 0.0f;
                        for (int c = 0; c < 3; c++) {
                            e->normal[f][c] = sign * t[f][c] * h * h * 0.5f;
                            len2 += e->normal[f][c] * e->normal[f][c];
                        }
                        total += sqrtf(len2);
                    }
                    e->area = total;
                    e->cx = (x + 0.25f + 0.5f * s) * h;
                    e->cy = (y + 0.25f + 0.5f * s) * h;
                    e->cz = (z + 0.25f + 0.5f * s) * h;
                }
}

int main(int argc, char **argv)
{
    int d = argc > 1 ? atoi(argv[1]) : 84;
    int iterations = argc > 2 ? atoi(argv[2]) : 20;
    int reps = argc > 3 ? atoi(argv[3]) : 10;
    int n = 2 * d * d * d;

    srand(31);
    Element *he = (Element *)malloc(n * sizeof(Element));
    int *number = (int *)malloc(n * sizeof(int));
    State *hu = (State *)malloc(n * sizeof(State));
    Work *hw = (Work *)malloc(n * sizeof(Work));
    build_mesh(he, number, d);

    float mach = 0.4f, p = 1.0f / GAMMA;
    State far;
    far.rho = 1.0f;
    far.mx = mach * 0.96f; far.my = mach * 0.28f; far.mz = 0.0f;
    far.energy = p / (GAMMA - 1.0f) + 0.5f * mach * mach;
    die(cudaMemcpyToSymbol(c_far, &far, sizeof(far)), "far field");

    Element *de; State *du, *df; Work *dw;
    die(cudaMalloc((void **)&de, n * sizeof(Element)), "malloc");
    die(cudaMalloc((void **)&du, n * sizeof(State)), "malloc");
    die(cudaMalloc((void **)&df, n * sizeof(State)), "malloc");
    die(cudaMalloc((void **)&dw, n * sizeof(Work)), "malloc");
    die(cudaMemcpy(de, he, n * sizeof(Element), cudaMemcpyHostToDevice), "copy");

    int grid = (n + BLOCK_SIZE - 1) / BLOCK_SIZE;
    cudaEvent_t t0, t1;
    cudaEventCreate(&t0);
    cudaEventCreate(&t1);
    for (int r = -1; r < reps; r++) {      /* r = -1 is the warm-up */
        if (r == 0) cudaEventRecord(t0);
        init_state<<<grid, BLOCK_SIZE>>>(du, de, n);
        for (int it = 0; it < iterations; it++) {
            step_factor<<<grid, BLOCK_SIZE>>>(du, de, dw, n);
            for (int s = 0; s < RK; s++) {
                compute_flux<<<grid, BLOCK_SIZE>>>(du, de, df, n);
                time_step<<<grid, BLOCK_SIZE>>>(du, df, dw, n, s);
            }
        }
    }
    cudaEventRecord(t1);
    die(cudaEventSynchronize(t1), "run");
    float ms;
    cudaEventElapsedTime(&ms, t0, t1);

    die(cudaMemcpy(hu, du, n * sizeof(State), cudaMemcpyDeviceToHost), "copy back");
    die(cudaMemcpy(hw, dw, n * sizeof(Work), cudaMemcpyDeviceToHost), "copy back");
    double rho = 0, mom = 0, energy = 0, factor = 0;
    float worst = 0;
    for (int i = 0; i < n; i++) {
        rho += hu[i].rho;
        mom += hu[i].mx + 2.0 * hu[i].my;
        energy += hu[i].energy;
        factor += hw[i].factor;
        if (hw[i].residual > worst) worst = hw[i].residual;
    }
    printf("check density %.6g\n", rho);
    printf("check momentum %.6g\n", mom);
    printf("check energy %.6g\n", energy);
    printf("check step_factor %.6g\n", factor);
    printf("check worst_residual %.3g\n", worst);
    printf("time_ms %.6f\n", ms / reps);
    cudaFree(de); cudaFree(du); cudaFree(df); cudaFree(dw);
    free(he); free(number); free(hu); free(hw);
    return 0;
}
