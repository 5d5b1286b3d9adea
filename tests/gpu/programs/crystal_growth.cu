// Phase-field model of crystals growing from an undercooled melt.
// Two copies of the cells are swapped after every step.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define BX 32
#define BY 8

struct Cell {
    float2 grad;             // gradient of phi
    float phi;               // 0 melt, 1 solid
    float temp;
    float solute;
    short grain;             // 0: none
    unsigned char age;       // steps since it became solid
    signed char curvature;
};

struct Grain {
    float angle;
    float strength;          // of the anisotropy
    float mobility;
    int cells;
};

struct Seed {
    int2 at;
    short grain;
    short when;
    float amplitude;
};

static void check(cudaError_t e, int line)
{
    if (e == cudaSuccess) return;
    fprintf(stderr, "CUDA error in line %d: %s\n", line, cudaGetErrorString(e));
    exit(1);
}
#define CU(x) check((x), __LINE__)

__device__ __forceinline__ int wrap(int i, int n) { return i < 0 ? i + n : i >= n ? i - n : i; }

// phi and temperature of a tile with a border of one cell are kept in shared memory
__global__ void grow(const Cell* __restrict__ cur, Cell* __restrict__ next,
                     const Grain* __restrict__ grains, int w, int h)
{
    __shared__ float sPhi[BY + 2][BX + 2];
    __shared__ float sTemp[BY + 2][BX + 2];

    const int x0 = blockIdx.x * BX, y0 = blockIdx.y * BY;
    for (int k = threadIdx.y * BX + threadIdx.x; k < (BX + 2) * (BY + 2); k += BX * BY) {
        const int lx = k % (BX + 2), ly = k / (BX + 2);
        const Cell* c = &cur[wrap(y0 + ly - 1, h) * w + wrap(x0 + lx - 1, w)];
        sPhi[ly][lx] = c->phi;
        sTemp[ly][lx] = c->temp;
    }
    __syncthreads();

    const int x = x0 + threadIdx.x, y = y0 + threadIdx.y;
    if (x >= w || y >= h) return;
    const int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    const int idx = y * w + x;

    const float p = sPhi[ty][tx], t = sTemp[ty][tx];
    const float lapP = (sPhi[ty][tx - 1] + sPhi[ty][tx + 1]) + (sPhi[ty - 1][tx] + sPhi[ty + 1][tx]) - 4.0f * p;
    const float lapT = (sTemp[ty][tx - 1] + sTemp[ty][tx + 1]) + (sTemp[ty - 1][tx] + sTemp[ty + 1][tx]) - 4.0f * t;

    Cell c = cur[idx];
    c.grad.x = 0.5f * (sPhi[ty][tx + 1] - sPhi[ty][tx - 1]);
    c.grad.y = 0.5f * (sPhi[ty + 1][tx] - sPhi[ty - 1][tx]);

    // melt next to a crystal joins the grain of its most solid neighbour
    if (c.grain == 0) {
        float best = 0.01f;
        const int nb[4] = {wrap(y - 1, h) * w + x, y * w + wrap(x - 1, w),
                           y * w + wrap(x + 1, w), wrap(y + 1, h) * w + x};
        const float np[4] = {sPhi[ty - 1][tx], sPhi[ty][tx - 1], sPhi[ty][tx + 1], sPhi[ty + 1][tx]};
        for (int k = 0; k < 4; k++)
            if (np[k] > best) {
                best = np[k];
                c.grain = cur[nb[k]].grain;
            }
    }

    float dphi = 0.0f;
    if (c.grain != 0) {
        const Grain g = grains[c.grain];
        const float theta = atan2f(c.grad.y, c.grad.x) - g.angle;
        const float eps = fmaf(g.strength, cosf(4.0f * theta), 1.0f);
        const float drive = fmaf(0.45f, 1.0f - t, __fmul_rn(-0.1f, c.solute));
        const float react = p * (1.0f - p) * (p - 0.5f + drive);
        dphi = g.mobility * fmaf(0.25f * eps, lapP, 1.5f * react);
        dphi = fminf(fmaxf(dphi, -0.2f), 0.2f);
    }
    const float pn = fminf(fmaxf(p + dphi, 0.0f), 1.0f);
    c.temp = fmaf(0.2f, lapT, t) + 0.6f * (pn - p);
    c.solute = fmaf(-0.3f, pn - p, c.solute);
    c.phi = pn;
    c.curvature = (signed char)fminf(fmaxf(rintf(64.0f * lapP), -127.0f), 127.0f);
    if (pn > 0.5f && c.age < 255) c.age++;
    next[idx] = c;
}

__global__ void nucleate(Cell* cells, const Seed* seeds, int nSeeds, int w, int step)
{
    const int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= nSeeds || seeds[s].when != step) return;
    Cell& c = cells[seeds[s].at.y * w + seeds[s].at.x];
    if (c.grain != 0) return;
    c.phi = seeds[s].amplitude;
    c.grain = seeds[s].grain;
    c.temp = 0.0f;
}

__global__ void countGrains(const Cell* __restrict__ cells, Grain* grains, int w, int h)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    const int g = cells[y * w + x].grain;
    if (g == 0) return;
    // neighbours in a warp are mostly of the same grain
    const unsigned same = __match_any_sync(__activemask(), g);
    if (__ffs(same) - 1 == (int)threadIdx.x % 32) atomicAdd(&grains[g].cells, __popc(same));
}

int main(int argc, char** argv)
{
    int w = 2048;
    if (argc > 1) w = (int)std::sqrt(std::atof(argv[1]));
    if (w < 64) w = 64;
    const int h = w, n = w * h;
    const int nGrains = 300, nSeeds = n / 700 + 1, steps = 20;

    unsigned lcg = 99;
    auto rnd = [&lcg](unsigned m) {
        lcg = lcg * 1103515245u + 12345u;
        return (lcg >> 9) % m;
    };

    std::vector<Cell> cells(n);
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            Cell& c = cells[y * w + x];
            c.grad = make_float2(0.0f, 0.0f);
            c.phi = 0.0f;
            c.temp = 0.1f + 0.4f * x / w;                  // cold on the left
            c.solute = rnd(256) / 1024.0f;
            c.grain = 0;
            c.age = 0;
            c.curvature = 0;
        }
    // disks that are solid from the beginning; their sizes differ a lot
    std::vector<Grain> grains(nGrains + 1);
    grains[0] = Grain{0.0f, 0.0f, 0.0f, 0};
    for (int g = 1; g <= nGrains; g++) {
        grains[g] = Grain{rnd(1000) / 636.0f, 0.05f + rnd(100) / 1000.0f, 0.6f + rnd(64) / 160.0f, 0};
        const int cx = rnd(w), cy = rnd(h);
        const int r = 2 + w / 16 / (1 + rnd(24));
        for (int y = std::max(0, cy - r); y < std::min(h, cy + r); y++)
            for (int x = std::max(0, cx - r); x < std::min(w, cx + r); x++)
                if ((x - cx) * (x - cx) + (y - cy) * (y - cy) < r * r) {
                    cells[y * w + x].phi = 1.0f;
                    cells[y * w + x].grain = (short)g;
                }
    }
    // no two seeds share a cell
    std::vector<Seed> seeds(nSeeds);
    for (int s = 0; s < nSeeds; s++) {
        const int at = (int)((long long)s * n / nSeeds) + (int)rnd(500) % std::max(1, n / nSeeds);
        seeds[s] = Seed{make_int2(at % w, at / w), (short)(1 + rnd(nGrains)), (short)rnd(steps + 1), 0.9f};
    }

    Cell *cur, *next;
    Grain* dGrains;
    Seed* dSeeds;
    CU(cudaMalloc(&cur, n * sizeof(Cell)));
    CU(cudaMalloc(&next, n * sizeof(Cell)));
    CU(cudaMalloc(&dGrains, grains.size() * sizeof(Grain)));
    CU(cudaMalloc(&dSeeds, nSeeds * sizeof(Seed)));
    CU(cudaMemcpy(cur, cells.data(), n * sizeof(Cell), cudaMemcpyHostToDevice));
    CU(cudaMemcpy(dGrains, grains.data(), grains.size() * sizeof(Grain), cudaMemcpyHostToDevice));
    CU(cudaMemcpy(dSeeds, seeds.data(), nSeeds * sizeof(Seed), cudaMemcpyHostToDevice));

    cudaEvent_t start, stop;
    CU(cudaEventCreate(&start));
    CU(cudaEventCreate(&stop));
    const dim3 block(BX, BY), grid((w + BX - 1) / BX, (h + BY - 1) / BY);
    for (int step = 0; step <= steps; step++) {
        if (step == 1) CU(cudaEventRecord(start));
        nucleate<<<(nSeeds + 127) / 128, 128>>>(cur, dSeeds, nSeeds, w, step);
        grow<<<grid, block>>>(cur, next, dGrains, w, h);
        std::swap(cur, next);
        countGrains<<<grid, block>>>(cur, dGrains, w, h);
    }
    CU(cudaEventRecord(stop));
    CU(cudaEventSynchronize(stop));
    CU(cudaGetLastError());
    float ms;
    CU(cudaEventElapsedTime(&ms, start, stop));

    CU(cudaMemcpy(cells.data(), cur, n * sizeof(Cell), cudaMemcpyDeviceToHost));
    CU(cudaMemcpy(grains.data(), dGrains, grains.size() * sizeof(Grain), cudaMemcpyDeviceToHost));
    double phi = 0.0, temp = 0.0, cellSteps = 0.0;
    for (const Cell& c : cells) {
        phi += c.phi;
        temp += c.temp;
    }
    for (const Grain& g : grains) cellSteps += g.cells;
    printf("check %.4e/%.4e/%.4e\n", phi, temp, cellSteps);
    printf("time_ms %.4f\n", ms / steps);

    CU(cudaFree(cur));
    CU(cudaFree(next));
    CU(cudaFree(dGrains));
    CU(cudaFree(dSeeds));
    return 0;
}
