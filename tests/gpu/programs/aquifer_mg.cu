/* Steady groundwater head in a leaky confined aquifer.
 * Cell-centred geometric multigrid (V-cycles) on one array of cell structs that
 * holds all the levels one after the other.
 *     -div(K grad h) + s h = q,   h = 0 outside of the domain
 */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <vector>
#include <cuda_runtime.h>

#define CK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { \
    fprintf(stderr, "CUDA error %s at line %d\n", cudaGetErrorString(e), __LINE__); exit(EXIT_FAILURE); } } while (0)

struct Cell {
    float h;        /* head (or correction on the coarse levels) */
    float rhs;
    float res;
    float kx;       /* transmissivity of the east face  */
    float ky;       /* transmissivity of the south face */
    float leak;
    int   facies;
};

struct Well {
    int i, j;
    float rate, skin;
};

struct Level {
    int n;          /* n x n cells */
    int offset;     /* first cell in the array */
    float ih2;      /* 1 / spacing^2 */
};

#define N_FINE 2048
#define MAX_LEVELS 8

__device__ float head_at(const Cell *c, int n, int i, int j)
{
    return (i >= 0 && j >= 0 && i < n && j < n) ? c[j * n + i].h : 0.0f;
}

/* returns A h without the diagonal part, and the diagonal through *diag */
__device__ float off_diagonal(const Cell *c, const Level &L, int i, int j, float *diag)
{
    const int id = j * L.n + i;
    const float ke = c[id].kx;
    const float kw = i > 0 ? c[id - 1].kx : c[id].kx;
    const float ks = c[id].ky;
    const float kn = j > 0 ? c[id - L.n].ky : c[id].ky;
    *diag = L.ih2 * (ke + kw + ks + kn) + c[id].leak;
    return -L.ih2 * (ke * head_at(c, L.n, i + 1, j) + kw * head_at(c, L.n, i - 1, j) +
                     ks * head_at(c, L.n, i, j + 1) + kn * head_at(c, L.n, i, j - 1));
}

__global__ void smooth_colour(Cell *all, Level L, int colour)
{
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x) + ((j + colour) & 1);
    if (i >= L.n || j >= L.n) return;
    Cell *c = all + L.offset;
    float diag;
    float off = off_diagonal(c, L, i, j, &diag);
    c[j * L.n + i].h = (c[j * L.n + i].rhs - off) / diag;
}

__global__ void residual(Cell *all, Level L)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= L.n || j >= L.n) return;
    Cell *c = all + L.offset;
    float diag;
    float off = off_diagonal(c, L, i, j, &diag);
    Cell &me = c[j * L.n + i];
    me.res = me.rhs - off - diag * me.h;
}

__global__ void restrict_down(Cell *all, Level fine, Level coarse)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= coarse.n || j >= coarse.n) return;
    const Cell *f = all + fine.offset + 2 * j * fine.n + 2 * i;
    Cell *c = all + coarse.offset + j * coarse.n + i;
    c->rhs = 0.25f * (f[0].res + f[1].res + f[fine.n].res + f[fine.n + 1].res);
    c->h = 0.0f;
}

__global__ void prolong_up(Cell *all, Level fine, Level coarse)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= fine.n || j >= fine.n) return;
    const Cell *c = all + coarse.offset;
    int ci = i / 2, cj = j / 2;
    int di = (i & 1) ? 1 : -1, dj = (j & 1) ? 1 : -1;
    float corr = 0.5625f * head_at(c, coarse.n, ci, cj) +
                 0.1875f * (head_at(c, coarse.n, ci + di, cj) + head_at(c, coarse.n, ci, cj + dj)) +
                 0.0625f * head_at(c, coarse.n, ci + di, cj + dj);
    all[fine.offset + j * fine.n + i].h += corr;
}

__global__ void set_pumping(Cell *cells, const Well *wells, int nwells, Level L, float factor)
{
    int w = blockIdx.x * blockDim.x + threadIdx.x;
    if (w >= nwells) return;
    Well me = wells[w];
    cells[L.offset + me.j * L.n + me.i].rhs = -factor * me.rate / (1.0f + me.skin);
}

static dim3 grid_for(int nx, int ny, dim3 b) { return dim3((nx + b.x - 1) / b.x, (ny + b.y - 1) / b.y); }

static void relax(Cell *d, Level L, int times)
{
    dim3 b(32, 8);
    for (int k = 0; k < times; k++) {
        smooth_colour<<<grid_for(L.n / 2, L.n, b), b>>>(d, L, 0);
        smooth_colour<<<grid_for(L.n / 2, L.n, b), b>>>(d, L, 1);
    }
}

static void vcycle(Cell *d, const Level *lv, int nlev, int sweeps)
{
    dim3 b(32, 8);
    for (int l = 0; l < nlev - 1; l++) {
        relax(d, lv[l], sweeps);
        residual<<<grid_for(lv[l].n, lv[l].n, b), b>>>(d, lv[l]);
        restrict_down<<<grid_for(lv[l + 1].n, lv[l + 1].n, b), b>>>(d, lv[l], lv[l + 1]);
    }
    relax(d, lv[nlev - 1], 12);
    for (int l = nlev - 2; l >= 0; l--) {
        prolong_up<<<grid_for(lv[l].n, lv[l].n, b), b>>>(d, lv[l], lv[l + 1]);
        relax(d, lv[l], sweeps);
    }
}

static unsigned lcg_state = 77u;
static float frand() { lcg_state = lcg_state * 1103515245u + 12345u; return (lcg_state >> 8) / 16777216.0f; }

int main()
{
    Level lv[MAX_LEVELS];
    int total = 0;
    for (int l = 0; l < MAX_LEVELS; l++) {
        lv[l].n = N_FINE >> l;
        lv[l].offset = total;
        lv[l].ih2 = powf(0.25f, (float)l);
        total += lv[l].n * lv[l].n;
    }
    std::vector<Cell> cells(total);
    for (int j = 0; j < N_FINE; j++)
        for (int i = 0; i < N_FINE; i++) {
            Cell &c = cells[j * N_FINE + i];
            int channel = abs((i + j / 3) % 512 - 256) < 40;      /* buried river channels */
            c.facies = channel ? 2 : ((i / 128 + j / 128) & 1);
            c.kx = (channel ? 4.0f : 0.8f) + 0.3f * frand();
            c.ky = (channel ? 3.0f : 0.6f) + 0.3f * frand();
            c.leak = 0.0004f + 0.0002f * c.facies;
            c.h = c.res = 0.0f;
            c.rhs = 0.001f * (1.0f + 0.5f * c.facies);            /* recharge */
        }
    for (int l = 1; l < MAX_LEVELS; l++) {
        int n = lv[l].n, m = lv[l - 1].n;
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++) {
                const Cell *f = &cells[lv[l - 1].offset + 2 * j * m + 2 * i];
                Cell &c = cells[lv[l].offset + j * n + i];
                c.kx = 0.5f * (f[1].kx + f[m + 1].kx);
                c.ky = 0.5f * (f[m].ky + f[m + 1].ky);
                c.leak = 0.25f * (f[0].leak + f[1].leak + f[m].leak + f[m + 1].leak);
                c.h = c.rhs = c.res = 0.0f; c.facies = f[0].facies;
            }
    }
    std::vector<Well> wells;
    for (int bj = 0; bj < 64; bj++)
        for (int bi = 0; bi < 64; bi++)     /* one well somewhere in each 32 x 32 block */
            wells.push_back(Well{bi * 32 + (int)(frand() * 32), bj * 32 + (int)(frand() * 32), 0.3f * frand(), frand()});
    int nwells = (int)wells.size();

    Cell *d_cells; Well *d_wells;
    CK(cudaMalloc(&d_cells, total * sizeof(Cell)));
    CK(cudaMalloc(&d_wells, nwells * sizeof(Well)));
    CK(cudaMemcpy(d_cells, cells.data(), total * sizeof(Cell), cudaMemcpyHostToDevice));
    CK(cudaMemcpy(d_wells, wells.data(), nwells * sizeof(Well), cudaMemcpyHostToDevice));

    vcycle(d_cells, lv, MAX_LEVELS, 1);                            /* warm-up */
    CK(cudaDeviceSynchronize());
    CK(cudaMemcpy(d_cells, cells.data(), total * sizeof(Cell), cudaMemcpyHostToDevice));

    const int sweeps[] = {1, 2, 3};
    const float pumping[] = {0.5f, 1.0f, 1.5f};
    cudaEvent_t a, b;
    CK(cudaEventCreate(&a)); CK(cudaEventCreate(&b));
    CK(cudaEventRecord(a));
    for (int k = 0; k < 3; k++) {
        set_pumping<<<(nwells + 127) / 128, 128>>>(d_cells, d_wells, nwells, lv[0], pumping[k]);
        for (int cyc = 0; cyc < 4; cyc++) vcycle(d_cells, lv, MAX_LEVELS, sweeps[k]);
    }
    CK(cudaEventRecord(b));
    CK(cudaEventSynchronize(b));
    CK(cudaGetLastError());
    float ms; CK(cudaEventElapsedTime(&ms, a, b));

    CK(cudaMemcpy(cells.data(), d_cells, total * sizeof(Cell), cudaMemcpyDeviceToHost));
    double sum = 0, sum2 = 0, channel = 0, at_wells = 0;
    for (int id = 0; id < N_FINE * N_FINE; id++) {
        sum += fabs(cells[id].h);
        sum2 += (double)cells[id].h * cells[id].h;
        if (cells[id].facies == 2) channel += fabs(cells[id].h);
    }
    for (const Well &w : wells) at_wells += fabs(cells[w.j * N_FINE + w.i].h);
    printf("check abs_head %.2e\n", sum);
    printf("check head_sq %.2e\n", sum2);
    printf("check channel_head %.2e\n", channel);
    printf("check well_head %.2e\n", at_wells);
    printf("time_ms %.4f\n", ms);
    return 0;
}
