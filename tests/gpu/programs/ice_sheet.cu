// Shallow-ice approximation of an ice sheet on an N x N grid, explicit in time,
// with an elevation dependent mass balance and a vertical temperature column
// per cell (implicit diffusion).  Everything lives in managed memory.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <algorithm>

#define TX 32
#define TY 8
#define NZ 10
#define NBASINS 64

using real = float;

struct Cell {
    real thick;              // m
    real bed;                // m a.s.l.
    real surf;               // bed + thick
    real smb;                // m ice / yr
    real tsurf;              // deg C
    real heat;               // strain heating of the column, K/yr
    unsigned short basin;
    unsigned char mask;      // 0 ocean, 1 land, 2 ice
    unsigned char temperate; // base at the melting point
};

// lives on the corner between (i,j), (i+1,j), (i,j+1), (i+1,j+1)
struct Corner {
    real diff;               // m^2/yr
    real slopeX, slopeY;
};

struct Column {
    real T[NZ];              // base first
    real melt;               // accumulated basal melt, m
    real age;
};

struct Basin {
    unsigned long long volume;   // decimetres of ice summed over the cells
    long long balance;           // mm
    int cells;
    int temperate;
    int maxThick;                // cm
};

struct Climate {
    real ela, lapse, tSea, gradient, maxAcc;
};

__constant__ Climate clim;

#define CHECK(e) check_((e), __FILE__, __LINE__)
inline void check_(cudaError_t e, const char *file, int line)
{
    if (e != cudaSuccess) {
        std::fprintf(stderr, "%s(%d): CUDA error %d: %s\n", file, line, (int)e, cudaGetErrorString(e));
        std::abort();
    }
}

template <class T> T *managed(size_t count)
{
    T *p;
    CHECK(cudaMallocManaged(&p, count * sizeof(T)));
    return p;
}

__device__ unsigned hash2(unsigned x, unsigned y)
{
    unsigned h = x * 73856093u ^ y * 19349663u;
    h = (h ^ (h >> 13)) * 0x5bd1e995u;
    h = (h ^ (h >> 15)) * 0x27d4eb2du;
    return h ^ (h >> 16);
}

__global__ void setup(Cell *cells, Column *cols, Corner *corners, int n)
{
    int i = blockIdx.x * TX + threadIdx.x, j = blockIdx.y * TY + threadIdx.y;
    if (i >= n || j >= n) return;
    int id = j * n + i;
    float x = 2.0f * i / (n - 1) - 1.0f, y = 2.0f * j / (n - 1) - 1.0f;
    float r2 = x * x + y * y;

    Cell c;
    float coarse = (hash2(i >> 4, j >> 4) & 0xffff) / 65536.0f;
    float fine = (hash2(i + 991, j + 17) & 0xffff) / 65536.0f;
    c.bed = 900.0f * (0.8f - r2) + 150.0f * (coarse - 0.5f) + 15.0f * fine;
    c.thick = r2 < 0.6f ? 2600.0f * sqrtf(1.0f - r2 / 0.6f) : 0.0f;
    if (c.bed < 0.0f) c.thick = 0.0f;
    c.mask = c.bed < 0.0f ? 0 : (c.thick > 0.0f ? 2 : 1);
    c.surf = c.bed + c.thick;
    c.smb = 0.0f;
    c.tsurf = -10.0f;
    c.heat = 0.0f;
    c.temperate = 0;
    c.basin = (unsigned short)((8 * j / n) * 8 + 8 * i / n);
    cells[id] = c;

    for (int k = 0; k < NZ; ++k) cols[id].T[k] = -12.0f + 8.0f * (NZ - 1 - k) / (NZ - 1);
    cols[id].melt = 0.0f;
    cols[id].age = 0.0f;
    corners[id].diff = corners[id].slopeX = corners[id].slopeY = 0.0f;
}

// surface, surface temperature and mass balance; streaming
__global__ void surface(Cell *cells, int total, float year)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= total) return;
    Cell c = cells[id];
    c.surf = c.bed + c.thick;
    if (c.mask == 0) {
        c.smb = 0.0f;
    } else {
        float cycle = 2.0f * sinf(0.02f * year);
        c.tsurf = clim.tSea + cycle - clim.lapse * c.surf;
        float b = clim.gradient * (c.surf - (clim.ela + 60.0f * cycle));
        c.smb = fminf(b, clim.maxAcc);
    }
    cells[id] = c;
}

// staggered diffusivity: Glen exponent 3, on the corners
__global__ void diffusivity(const Cell *__restrict__ cells, Corner *__restrict__ corners,
                            int n, float dx, float maxDiff)
{
    __shared__ float s[TY + 1][TX + 1];
    __shared__ float h[TY + 1][TX + 1];
    const int i0 = blockIdx.x * TX, j0 = blockIdx.y * TY;

    for (int t = threadIdx.y * TX + threadIdx.x; t < (TX + 1) * (TY + 1); t += TX * TY) {
        int lx = t % (TX + 1), ly = t / (TX + 1);
        int gi = min(i0 + lx, n - 1), gj = min(j0 + ly, n - 1);
        s[ly][lx] = cells[gj * n + gi].surf;
        h[ly][lx] = cells[gj * n + gi].thick;
    }
    __syncthreads();

    const int i = i0 + threadIdx.x, j = j0 + threadIdx.y;
    if (i >= n || j >= n) return;
    const int lx = threadIdx.x, ly = threadIdx.y;
    float s00 = s[ly][lx], s10 = s[ly][lx + 1], s01 = s[ly + 1][lx], s11 = s[ly + 1][lx + 1];
    float sx = 0.5f * (s10 - s00 + s11 - s01) / dx;
    float sy = 0.5f * (s01 - s00 + s11 - s10) / dx;
    float hm = 0.25f * (h[ly][lx] + h[ly][lx + 1] + h[ly + 1][lx] + h[ly + 1][lx + 1]);
    float h2 = hm * hm;
    const float gamma = 2.8e-5f;                // 2 A (rho g)^3 / 5, per year
    float d = gamma * h2 * h2 * hm * (sx * sx + sy * sy);

    Corner *c = corners + (j * n + i);
    c->diff = fminf(d, maxDiff);
    c->slopeX = sx;
    c->slopeY = sy;
}

// thickness update with the fluxes through the four faces of the cell
__global__ void advance(Cell *cells, const Corner *__restrict__ corners, int n, float dx, float dt)
{
    int i = blockIdx.x * TX + threadIdx.x;
    int j = blockIdx.y * TY + threadIdx.y;
    if (i < 1 || j < 1 || i >= n - 1 || j >= n - 1) return;
    int id = j * n + i;
    if (cells[id].mask == 0) return;

    const Corner &ne = corners[id], &nw = corners[id - 1];
    const Corner &se = corners[id - n], &sw = corners[id - n - 1];
    float s = cells[id].surf;
    float fe = 0.5f * (ne.diff + se.diff) * (cells[id + 1].surf - s);
    float fw = 0.5f * (nw.diff + sw.diff) * (s - cells[id - 1].surf);
    float fn = 0.5f * (ne.diff + nw.diff) * (cells[id + n].surf - s);
    float fs = 0.5f * (se.diff + sw.diff) * (s - cells[id - n].surf);

    float h = cells[id].thick + dt * ((fe - fw + fn - fs) / (dx * dx) + cells[id].smb);
    h = fmaxf(h, 0.0f);
    float gx = 0.25f * (ne.slopeX + nw.slopeX + se.slopeX + sw.slopeX);
    float gy = 0.25f * (ne.slopeY + nw.slopeY + se.slopeY + sw.slopeY);
    float tau = 9.0e-3f * h * sqrtf(gx * gx + gy * gy);          // MPa-ish
    cells[id].heat = fminf(0.02f * tau * tau, 0.05f);
    cells[id].thick = h;
    cells[id].mask = h > 1.0f ? 2 : 1;
}

// implicit vertical diffusion of temperature (Thomas algorithm)
__global__ void thermodynamics(Cell *cells, Column *cols, int total, float dt)
{
    for (int id = blockIdx.x * blockDim.x + threadIdx.x; id < total; id += gridDim.x * blockDim.x) {
        if (cells[id].mask != 2) continue;
        const float H = fmaxf(cells[id].thick, 20.0f);
        const float dz = H / (NZ - 1);
        const float r = 36.0f * dt / (dz * dz);                  // kappa = 36 m^2/yr
        const float heat = cells[id].heat * dt;
        const float pmp = -8.7e-4f * H;
        Column &col = cols[id];

        float cp[NZ], dp[NZ];
        // base: geothermal gradient 0.02 K/m
        float b = 1.0f + 2.0f * r;
        cp[0] = -2.0f * r / b;
        dp[0] = (col.T[0] + 2.0f * r * dz * 0.02f + 2.0f * heat) / b;
#pragma unroll
        for (int k = 1; k < NZ - 1; ++k) {
            float m = 1.0f / (b + r * cp[k - 1]);
            cp[k] = -r * m;
            dp[k] = (col.T[k] + heat * (NZ - k) / NZ + r * dp[k - 1]) * m;
        }
        float t = fminf(cells[id].tsurf, 0.0f);
        col.T[NZ - 1] = t;
#pragma unroll
        for (int k = NZ - 2; k >= 0; --k) {
            t = dp[k] - cp[k] * t;
            col.T[k] = fminf(t, 0.0f);
        }
        unsigned char wet = 0;
        if (col.T[0] > pmp) {
            col.melt += 0.01f * (col.T[0] - pmp);
            col.T[0] = pmp;
            wet = 1;
        }
        cells[id].temperate = wet;
        col.age += dt;
    }
}

__global__ void basinBudget(const Cell *cells, Basin *basins, int total)
{
    __shared__ Basin local[NBASINS];
    for (int b = threadIdx.x; b < NBASINS; b += blockDim.x) local[b] = Basin{};
    __syncthreads();
    for (int id = blockIdx.x * blockDim.x + threadIdx.x; id < total; id += gridDim.x * blockDim.x) {
        if (cells[id].mask != 2) continue;
        Basin *b = &local[cells[id].basin];
        atomicAdd(&b->volume, (unsigned long long)(cells[id].thick * 10.0f));
        atomicAdd((unsigned long long *)&b->balance,
                  (unsigned long long)__float2ll_rn(cells[id].smb * 1000.0f));
        atomicAdd(&b->cells, 1);
        if (cells[id].temperate) atomicAdd(&b->temperate, 1);
        atomicMax(&b->maxThick, (int)(cells[id].thick * 100.0f));
    }
    __syncthreads();
    for (int b = threadIdx.x; b < NBASINS; b += blockDim.x) {
        const Basin &l = local[b];
        if (l.cells == 0) continue;
        atomicAdd(&basins[b].volume, l.volume);
        atomicAdd((unsigned long long *)&basins[b].balance, (unsigned long long)l.balance);
        atomicAdd(&basins[b].cells, l.cells);
        atomicAdd(&basins[b].temperate, l.temperate);
        atomicMax(&basins[b].maxThick, l.maxThick);
    }
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? std::max(16, std::atoi(argv[1])) : 1536;
    const int total = n * n;
    const int warm = 3, steps = 40;
    const float dx = 2.0e6f / n, dt = 0.25f;
    const float maxDiff = 0.2f * dx * dx / dt;

    Cell *cells = managed<Cell>(total);
    Corner *corners = managed<Corner>(total);
    Column *cols = managed<Column>(total);
    Basin *basins = managed<Basin>(NBASINS);
    CHECK(cudaMemset(basins, 0, NBASINS * sizeof(Basin)));

    Climate c{1100.0f, 6.5e-3f, 4.0f, 2.2e-3f, 0.7f};
    CHECK(cudaMemcpyToSymbol(clim, &c, sizeof(c)));

    const dim3 block(TX, TY), grid((n + TX - 1) / TX, (n + TY - 1) / TY);
    setup<<<grid, block>>>(cells, cols, corners, n);
    CHECK(cudaDeviceSynchronize());

    cudaEvent_t start, stop;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    float year = 0.0f;
    for (int s = 0; s < warm + steps; ++s, year += dt) {
        if (s == warm) CHECK(cudaEventRecord(start));
        surface<<<(total + 255) / 256, 256>>>(cells, total, year);
        diffusivity<<<grid, block>>>(cells, corners, n, dx, maxDiff);
        advance<<<grid, block>>>(cells, corners, n, dx, dt);
        thermodynamics<<<(total + 127) / 128, 128>>>(cells, cols, total, dt);
        basinBudget<<<264, 256>>>(cells, basins, total);
    }
    CHECK(cudaEventRecord(stop));
    CHECK(cudaDeviceSynchronize());
    float ms = 0.0f;
    CHECK(cudaEventElapsedTime(&ms, start, stop));

    long long thick = 0, temp = 0, melt = 0, budget = 0;
    unsigned mask = 0;
    for (int id = 0; id < total; ++id) {
        thick += std::llrint(cells[id].thick * 100.0);
        mask = mask * 3u + cells[id].mask + cells[id].temperate;
        if (cells[id].mask == 0) continue;
        temp += std::llrint(cols[id].T[id % NZ] * 1000.0) + std::llrint(cols[id].age);
        melt += std::llrint(cols[id].melt * 1e5);
    }
    for (int b = 0; b < NBASINS; ++b)
        budget += (long long)basins[b].volume + basins[b].balance * (b + 1) + basins[b].cells +
                  basins[b].temperate + basins[b].maxThick;
    std::printf("check %lld/%lld/%lld/%lld/%u\n", thick, temp, melt, budget, mask);
    std::printf("time_ms %.5f\n", ms / steps);

    for (void *p : {(void *)cells, (void *)corners, (void *)cols, (void *)basins}) CHECK(cudaFree(p));
    return 0;
}
