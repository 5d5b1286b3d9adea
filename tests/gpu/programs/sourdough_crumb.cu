// A loaf of sourdough that proves: a lattice of dough with yeast, acid, sugar and gas, bubbles that feed on the gas of
// their surroundings, and a crust that takes up the warmth of the oven room. Fields stay in the L2 cache.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

struct Dough {
    float temp;
    float yeast;
    float acid;
    float sugar;
    float gas;
    float gluten;
    float porosity;
    unsigned char flour;
    unsigned char bubbles;
    short salt;
};

struct Bubble {
    int cell;
    float radius;
    float pressure;
    float wall;
    int burst;
    int grown;
    unsigned int rng;
};

struct Flour {
    float growth;
    float acidity;
    float starch;
    float strength;
};

static const int FLOURS = 6;

struct Loaf {
    int nx, ny, nz;
    float dt;
    Flour flour[FLOURS]; // goes to the kernels with the rest
};

__host__ __device__ inline unsigned knead(unsigned s) {
    s ^= 2747636419u;
    s *= 2654435769u;
    s ^= s >> 16;
    s *= 2654435769u;
    s ^= s >> 16;
    return s * 2654435769u;
}

#define CELL(x, y, z) (((z) * loaf.ny + (y)) * loaf.nx + (x))

__device__ inline void react(Dough &d, const Flour &f, float dt) {
    float warm = expf(-0.5f * (d.temp - 30.0f) * (d.temp - 30.0f) / 64.0f);
    float sour = 1.0f / (1.0f + 4.0f * d.acid);
    float eaten = dt * f.growth * warm * sour * d.yeast * d.sugar / (0.1f + d.sugar);
    float salty = 1.0f - 0.0002f * d.salt;
    d.yeast = fminf(d.yeast + 0.5f * eaten * salty, 5.0f);
    d.sugar = fmaxf(d.sugar - eaten + dt * 0.01f * f.starch, 0.0f);
    d.acid += dt * f.acidity * (0.2f + d.yeast) * 0.05f;
    d.gas += 0.9f * eaten;
    d.gluten += dt * 0.02f * (f.strength - d.gluten) - dt * 0.01f * d.acid * d.gluten;
}

__global__ void ferment(const Dough *in, Dough *out, Loaf loaf) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= loaf.nx || y >= loaf.ny || z >= loaf.nz) return;
    int here = CELL(x, y, z);
    Dough d = in[here];
    int around[6] = {CELL(max(x - 1, 0), y, z), CELL(min(x + 1, loaf.nx - 1), y, z),
                     CELL(x, max(y - 1, 0), z), CELL(x, min(y + 1, loaf.ny - 1), z),
                     CELL(x, y, max(z - 1, 0)), CELL(x, y, min(z + 1, loaf.nz - 1))};
    float heat = 0, gas = 0, acid = 0;
    for (int k = 0; k < 6; k++) {
        const Dough &n = in[around[k]];
        heat += n.temp - d.temp;
        gas += (n.gas - d.gas) * (n.porosity + d.porosity);
        acid += n.acid - d.acid;
    }
    d.temp += 0.12f * heat;
    d.gas += 0.08f * gas;
    d.acid += 0.02f * acid;
    react(d, loaf.flour[d.flour], loaf.dt);
    d.porosity = fminf(0.05f + 0.3f * d.gas / (0.5f + d.gluten), 0.9f);
    out[here] = d;
}

// Thin walls give way: cells of one colour share gas with their neighbours of the other colour above and beside them.
__global__ void coalesce(Dough *dough, Loaf loaf, int colour) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= loaf.nx || y >= loaf.ny || z >= loaf.nz || ((x + y + z) & 1) != colour) return;
    Dough *d = &dough[CELL(x, y, z)];
    if (d->porosity < 0.15f) return;
    float most = d->gas;
    if (x + 1 < loaf.nx) most = fmaxf(most, dough[CELL(x + 1, y, z)].gas);
    if (y + 1 < loaf.ny) most = fmaxf(most, dough[CELL(x, y + 1, z)].gas);
    if (z > 0) most = fmaxf(most, dough[CELL(x, y, z - 1)].gas);
    d->gas += 0.02f * (most - d->gas);
    d->gluten *= 0.999f;
}

__global__ void bakeCrust(Dough *dough, Loaf loaf, float room) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= loaf.nx || y >= loaf.ny) return;
    Dough *top = dough + CELL(x, y, loaf.nz - 1);
    top->temp += 0.3f * (room - top->temp);
    top->gas *= 0.95f;
    dough[CELL(x, y, 0)].temp += 0.15f * (room - dough[CELL(x, y, 0)].temp);
}

__global__ void growBubbles(Bubble *bubbles, const Dough *dough, int count, Loaf loaf) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    Bubble b = bubbles[i];
    float gas = dough[b.cell].gas, gluten = dough[b.cell].gluten;
    b.pressure = 1.0f + 0.4f / b.radius;
    float growth = loaf.dt * (gas - 0.2f * b.pressure) / (1.0f + b.wall);
    b.radius = fmaxf(b.radius + 0.5f * growth, 0.05f);
    b.wall = gluten / (0.2f + b.radius);
    if (growth > 0) b.grown++;
    if (b.wall < 0.25f || (b.pressure > 6.0f && growth < 0)) { // bursts, and starts again a few cells on
        b.burst++;
        b.rng = knead(b.rng);
        int x = b.cell % loaf.nx, y = b.cell / loaf.nx % loaf.ny, z = b.cell / (loaf.nx * loaf.ny);
        x = min(max(x + (int)(b.rng % 5) - 2, 0), loaf.nx - 1);
        y = min(max(y + (int)(b.rng / 8 % 5) - 2, 0), loaf.ny - 1);
        z = min(max(z + (int)(b.rng / 64 % 5) - 1, 0), loaf.nz - 1);
        b.cell = CELL(x, y, z);
        b.radius = 0.1f + (b.rng >> 20) / 8192.0f;
    }
    bubbles[i] = b;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 88 * 88 * 66;
    Loaf loaf;
    loaf.nx = 8;
    while ((long long)(loaf.nx + 4) * (loaf.nx + 4) * (loaf.nx + 4) * 3 / 4 <= n) loaf.nx += 4;
    loaf.ny = loaf.nx, loaf.nz = loaf.nx * 3 / 4, loaf.dt = 0.05f;
    for (int f = 0; f < FLOURS; f++)
        loaf.flour[f] = {0.4f + 0.1f * f, 0.2f + 0.07f * (f % 3), 1.0f - 0.1f * f, 1.0f + 0.2f * (f % 4)};
    int cells = loaf.nx * loaf.ny * loaf.nz, bubbleCount = cells / 4;
    std::vector<Dough> dough(cells);
    for (int i = 0; i < cells; i++) {
        unsigned h = knead(i);
        dough[i] = {24.0f, 0.2f + (h % 100) * 0.002f, 0.05f, 1.0f + (h >> 8) % 100 * 0.01f, 0.1f, 1.0f, 0.1f,
                    (unsigned char)(knead(i / 64 + 7) % FLOURS), 0, (short)(h >> 16 & 255)};
    }
    std::vector<Bubble> bubbles(bubbleCount);
    for (int i = 0; i < bubbleCount; i++) {
        int cell = (int)(knead(i + 31337) % (unsigned)cells);
        bubbles[i] = {cell, 0.1f + knead(i + 5) % 100 * 0.01f, 1.0f, 1.0f, 0, 0, knead(i + 9)};
        dough[cell].bubbles++;
    }
    Dough *current, *next;
    Bubble *dBubbles;
    cudaMalloc(&current, cells * sizeof(Dough));
    cudaMalloc(&next, cells * sizeof(Dough));
    cudaMalloc(&dBubbles, bubbleCount * sizeof(Bubble));
    cudaMemcpy(current, dough.data(), cells * sizeof(Dough), cudaMemcpyHostToDevice);
    cudaMemcpy(dBubbles, bubbles.data(), bubbleCount * sizeof(Bubble), cudaMemcpyHostToDevice);
    dim3 block(32, 4, 2);
    dim3 grid((loaf.nx + 31) / 32, (loaf.ny + 3) / 4, (loaf.nz + 1) / 2);
    dim3 flat(16, 16), top((loaf.nx + 15) / 16, (loaf.ny + 15) / 16);
    cudaEvent_t start, stop;
    cudaEventCreate(&start), cudaEventCreate(&stop);
    int warm = 10, steps = 200;
    for (int step = 0; step < warm + steps; step++) {
        if (step == warm) cudaEventRecord(start);
        ferment<<<grid, block>>>(current, next, loaf);
        std::swap(current, next);
        for (int colour = 0; colour < 2; colour++) coalesce<<<grid, block>>>(current, loaf, colour);
        bakeCrust<<<top, flat>>>(current, loaf, 32.0f + 4.0f * sinf(0.02f * step));
        growBubbles<<<(bubbleCount + 127) / 128, 128>>>(dBubbles, current, bubbleCount, loaf);
    }
    cudaEventRecord(stop);
    cudaEventSynchronize(stop);
    if (cudaGetLastError() != cudaSuccess) return printf("failed\n"), 1;
    float ms;
    cudaEventElapsedTime(&ms, start, stop);
    cudaMemcpy(dough.data(), current, cells * sizeof(Dough), cudaMemcpyDeviceToHost);
    cudaMemcpy(bubbles.data(), dBubbles, bubbleCount * sizeof(Bubble), cudaMemcpyDeviceToHost);
    double sum = 0;
    for (int i = 0; i < cells; i++) sum += dough[i].gas + dough[i].temp + dough[i].yeast;
    for (int i = 0; i < bubbleCount; i++) sum += 0.1 * (bubbles[i].grown + bubbles[i].burst);
    printf("check %.5e\ntime_ms %.5f\n", sum, ms / steps);
    return 0;
}
