// Boids-style fish schools with predators. Fish are binned into a uniform grid every step
// (radix sort of cell keys), records are gathered in cell order, then steered by neighbours.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cub/device/device_radix_sort.cuh>
#include <cuda_runtime.h>

#define CHECK_CUDA(x) check_impl((x), #x, __LINE__)
static void check_impl(cudaError_t e, const char* expr, int line)
{
    if (e != cudaSuccess) {
        fprintf(stderr, "line %d: %s: %s\n", line, expr, cudaGetErrorString(e));
        exit(1);
    }
}

struct Fish {
    float pos[3];
    float vel[3];
    float energy;
    float size;
    int id;
    unsigned int cell;
    short species;
    unsigned char panicked;
    unsigned char neighbours;
};

struct Cell {
    int begin;
    int end;
    float meanVel[3];
    int species0;
};

struct Shark {
    float x, y, z, vx, vy, vz;
    float hunger;
    int kills;
};

struct SimParams {
    int gridDim;
    float cellSize, world;
    float cohesion, alignment, separation;
    float maxSpeed, dt;
};

__host__ __device__ inline float wrapCoord(float v, float world)
{
    if (v < 0.f) return v + world;
    if (v >= world) return v - world;
    return v;
}

__device__ inline unsigned cellOf(const Fish& f, const SimParams& sp)
{
    int c[3];
    for (int k = 0; k < 3; ++k) {
        c[k] = (int)(f.pos[k] / sp.cellSize);
        c[k] = max(0, min(sp.gridDim - 1, c[k]));
    }
    return (unsigned)((c[2] * sp.gridDim + c[1]) * sp.gridDim + c[0]);
}

__global__ void assignCells(Fish* fish, int n, SimParams sp, unsigned* keys, int* order)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned c = cellOf(fish[i], sp);
    fish[i].cell = keys[i] = c;
    order[i] = i;
}

__global__ void gatherSorted(const Fish* __restrict__ in, Fish* __restrict__ out, const int* __restrict__ order, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[order[i]];
}

__global__ void markCells(const Fish* __restrict__ fish, int n, Cell* cells)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned c = fish[i].cell;
    if (i == 0 || fish[i - 1].cell != c) cells[c].begin = i;
    if (i == n - 1 || fish[i + 1].cell != c) cells[c].end = i + 1;
}

__global__ void cellAverages(const Fish* __restrict__ fish, Cell* cells, int numCells)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= numCells) return;
    Cell cl = cells[c];
    float v[3] = {0.f, 0.f, 0.f};
    int sp0 = 0;
    for (int i = cl.begin; i < cl.end; ++i) {
        for (int k = 0; k < 3; ++k) v[k] += fish[i].vel[k];
        sp0 += fish[i].species == 0;
    }
    int cnt = cl.end - cl.begin;
    for (int k = 0; k < 3; ++k) cells[c].meanVel[k] = cnt ? v[k] / cnt : 0.f;
    cells[c].species0 = sp0;
}

__global__ void __launch_bounds__(128)
steer(const Fish* __restrict__ in, Fish* __restrict__ out, int n, const Cell* __restrict__ cells,
      const Shark* __restrict__ sharks, int numSharks, SimParams sp)
{
    extern __shared__ float4 predator[];
    for (int k = threadIdx.x; k < numSharks; k += blockDim.x)
        predator[k] = make_float4(sharks[k].x, sharks[k].y, sharks[k].z, sharks[k].hunger);
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;

    Fish me = in[i];
    const int g = sp.gridDim;
    int cx = me.cell % g, cy = (me.cell / g) % g, cz = me.cell / (g * g);
    float coh[3] = {0, 0, 0}, ali[3] = {0, 0, 0}, rep[3] = {0, 0, 0};
    int mates = 0, near = 0;
    const float r2max = sp.cellSize * sp.cellSize;
    for (int z = max(cz - 1, 0); z <= min(cz + 1, g - 1); ++z)
        for (int y = max(cy - 1, 0); y <= min(cy + 1, g - 1); ++y)
            for (int x = max(cx - 1, 0); x <= min(cx + 1, g - 1); ++x) {
                const Cell& c = cells[(z * g + y) * g + x];
                for (int j = c.begin; j < c.end; ++j) {
                    if (j == i) continue;
                    float d[3] = {in[j].pos[0] - me.pos[0], in[j].pos[1] - me.pos[1], in[j].pos[2] - me.pos[2]};
                    float r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
                    if (r2 > r2max) continue;
                    ++near;
                    if (r2 < 0.1f * r2max) {
                        float w = 1.f / (r2 + 1e-3f);
                        for (int k = 0; k < 3; ++k) rep[k] -= w * d[k];
                    }
                    if (in[j].species == me.species) {
                        ++mates;
                        for (int k = 0; k < 3; ++k) { coh[k] += d[k]; ali[k] += in[j].vel[k]; }
                    }
                }
            }
    float acc[3];
    const Cell& home = cells[me.cell];
    for (int k = 0; k < 3; ++k) {
        acc[k] = sp.separation * rep[k] + 0.05f * (home.meanVel[k] - me.vel[k]);
        if (mates) acc[k] += sp.cohesion * coh[k] / mates + sp.alignment * (ali[k] / mates - me.vel[k]);
    }
    bool panic = false;
    for (int s = 0; s < numSharks; ++s) {
        float dx = me.pos[0] - predator[s].x, dy = me.pos[1] - predator[s].y, dz = me.pos[2] - predator[s].z;
        float r2 = dx * dx + dy * dy + dz * dz;
        if (r2 < 36.f * r2max * 0.25f) {
            float w = predator[s].w / (r2 + 0.1f);
            acc[0] += w * dx; acc[1] += w * dy; acc[2] += w * dz;
            panic = true;
        }
    }
    float speed2 = 0.f;
    for (int k = 0; k < 3; ++k) {
        me.vel[k] += sp.dt * acc[k];
        speed2 += me.vel[k] * me.vel[k];
    }
    float lim = sp.maxSpeed * (panic ? 1.5f : 1.f);
    float sc = speed2 > lim * lim ? lim * rsqrtf(speed2) : 1.f;
    for (int k = 0; k < 3; ++k) {
        me.vel[k] *= sc;
        me.pos[k] = wrapCoord(me.pos[k] + sp.dt * me.vel[k], sp.world);
    }
    me.energy -= 0.001f * me.size + (panic ? 0.002f : 0.f);
    if (me.energy < 0.2f) me.energy += 0.5f;
    me.panicked = panic;
    me.neighbours = (unsigned char)min(near, 255);
    out[i] = me;
}

// one block per shark: count prey within reach, then move
__global__ void huntAndMove(Shark* sharks, const Fish* __restrict__ fish, const Cell* __restrict__ cells, SimParams sp)
{
    __shared__ int prey;
    if (threadIdx.x == 0) prey = 0;
    __syncthreads();
    Shark s = sharks[blockIdx.x];
    const int g = sp.gridDim, R = 3, D = 2 * R + 1;
    int cx = (int)(s.x / sp.cellSize), cy = (int)(s.y / sp.cellSize), cz = (int)(s.z / sp.cellSize);
    int local = 0;
    for (int k = threadIdx.x; k < D * D * D; k += blockDim.x) {
        int x = cx + k % D - R, y = cy + (k / D) % D - R, z = cz + k / (D * D) - R;
        if (x < 0 || y < 0 || z < 0 || x >= g || y >= g || z >= g) continue;
        const Cell& c = cells[(z * g + y) * g + x];
        for (int j = c.begin; j < c.end; ++j) {
            float dx = fish[j].pos[0] - s.x, dy = fish[j].pos[1] - s.y, dz = fish[j].pos[2] - s.z;
            if (dx * dx + dy * dy + dz * dz < 9.f * sp.cellSize * sp.cellSize && fish[j].size < 1.4f) ++local;
        }
    }
    if (local) atomicAdd(&prey, local);
    __syncthreads();
    if (threadIdx.x == 0) {
        s.kills += prey / 16;
        s.hunger = prey > 64 ? 0.8f * s.hunger + 0.1f : fminf(s.hunger + 0.05f, 3.f);
        s.x = wrapCoord(s.x + sp.dt * s.vx, sp.world);
        s.y = wrapCoord(s.y + sp.dt * s.vy, sp.world);
        s.z = wrapCoord(s.z + sp.dt * s.vz, sp.world);
        sharks[blockIdx.x] = s;
    }
}

int main(int argc, char** argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 400000;
    const int numSharks = 48;
    SimParams sp;
    sp.gridDim = 48; sp.cellSize = 1.5f;
    sp.world = sp.gridDim * sp.cellSize;
    sp.cohesion = 0.4f; sp.alignment = 0.6f; sp.separation = 0.25f;
    sp.maxSpeed = 3.f; sp.dt = 0.03f;
    const int numCells = sp.gridDim * sp.gridDim * sp.gridDim;

    unsigned seed = 1234;
    auto uni = [&seed] { seed = seed * 1103515245u + 12345u; return ((seed >> 9) & 0x3fffff) / 4194304.0f; };
    std::vector<Fish> fish(n);
    for (int i = 0; i < n; ++i) {
        Fish& f = fish[i];
        int school = i % 400;
        for (int k = 0; k < 3; ++k) {
            float centre = ((school * (31 + 22 * k)) % 97) / 97.f * sp.world;
            float p = i % 3 ? centre + 9.f * (uni() + uni() - 1.f) : uni() * sp.world;
            p = fmodf(p + sp.world, sp.world);
            f.pos[k] = p < 0.f ? 0.f : p;
            f.vel[k] = 2.f * (uni() - 0.5f) + ((school >> k) & 1);
        }
        f.energy = 0.3f + uni();
        f.size = 0.5f + uni();
        f.id = i;
        f.cell = 0;
        f.species = (short)(school % 5);
        f.panicked = f.neighbours = 0;
    }
    std::vector<Shark> sharks(numSharks);
    for (auto& s : sharks)
        s = Shark{uni() * sp.world, uni() * sp.world, uni() * sp.world,
                  6.f * uni() - 3.f, 6.f * uni() - 3.f, 6.f * uni() - 3.f, 1.f + uni(), 0};

    Fish *dA, *dB; Cell* dCells; Shark* dSharks; unsigned *dKeyIn, *dKeyOut; int *dOrdIn, *dOrdOut;
    CHECK_CUDA(cudaMalloc(&dA, n * sizeof(Fish)));
    CHECK_CUDA(cudaMalloc(&dB, n * sizeof(Fish)));
    CHECK_CUDA(cudaMalloc(&dCells, numCells * sizeof(Cell)));
    CHECK_CUDA(cudaMalloc(&dSharks, numSharks * sizeof(Shark)));
    for (unsigned** k : {&dKeyIn, &dKeyOut}) CHECK_CUDA(cudaMalloc(k, n * sizeof(unsigned)));
    for (int** k : {&dOrdIn, &dOrdOut}) CHECK_CUDA(cudaMalloc(k, n * sizeof(int)));
    CHECK_CUDA(cudaMemcpy(dA, fish.data(), n * sizeof(Fish), cudaMemcpyHostToDevice));
    CHECK_CUDA(cudaMemcpy(dSharks, sharks.data(), numSharks * sizeof(Shark), cudaMemcpyHostToDevice));
    void* dTemp = nullptr;
    size_t tempBytes = 0;
    CHECK_CUDA(cub::DeviceRadixSort::SortPairs(nullptr, tempBytes, dKeyIn, dKeyOut, dOrdIn, dOrdOut, n, 0, 17));
    CHECK_CUDA(cudaMalloc(&dTemp, tempBytes));

    const int nb = (n + 127) / 128;
    auto step = [&] {
        assignCells<<<nb, 128>>>(dA, n, sp, dKeyIn, dOrdIn);
        CHECK_CUDA(cub::DeviceRadixSort::SortPairs(dTemp, tempBytes, dKeyIn, dKeyOut, dOrdIn, dOrdOut, n, 0, 17));
        gatherSorted<<<nb, 128>>>(dA, dB, dOrdOut, n);
        CHECK_CUDA(cudaMemsetAsync(dCells, 0, numCells * sizeof(Cell)));
        markCells<<<nb, 128>>>(dB, n, dCells);
        cellAverages<<<(numCells + 127) / 128, 128>>>(dB, dCells, numCells);
        steer<<<nb, 128, numSharks * sizeof(float4)>>>(dB, dA, n, dCells, dSharks, numSharks, sp);
        huntAndMove<<<numSharks, 128>>>(dSharks, dB, dCells, sp);
        CHECK_CUDA(cudaGetLastError());
    };
    step();
    CHECK_CUDA(cudaDeviceSynchronize());
    cudaEvent_t a, b;
    CHECK_CUDA(cudaEventCreate(&a)); CHECK_CUDA(cudaEventCreate(&b));
    CHECK_CUDA(cudaEventRecord(a));
    for (int s = 0; s < 10; ++s) step();
    CHECK_CUDA(cudaEventRecord(b));
    CHECK_CUDA(cudaEventSynchronize(b));
    float ms = 0.f;
    CHECK_CUDA(cudaEventElapsedTime(&ms, a, b));

    CHECK_CUDA(cudaMemcpy(fish.data(), dA, n * sizeof(Fish), cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaMemcpy(sharks.data(), dSharks, numSharks * sizeof(Shark), cudaMemcpyDeviceToHost));
    double pos = 0, speed = 0, energy = 0, shark = 0;
    long long idsum = 0, panic = 0;
    for (const auto& f : fish) {
        pos += f.pos[0] + f.pos[1] + f.pos[2];
        speed += std::sqrt(f.vel[0] * f.vel[0] + f.vel[1] * f.vel[1] + f.vel[2] * f.vel[2]);
        energy += f.energy;
        idsum += f.id; panic += f.panicked;
    }
    for (const auto& s : sharks) shark += s.x + s.y + s.z;
    printf("check pos %.5g\ncheck speed %.5g\ncheck energy %.6g\n", pos, speed, energy);
    printf("check ids %lld\ncheck panic %.3g\ncheck sharks %.6g\n", idsum, (double)panic, shark);
    printf("time_ms %.4f\n", ms);
    for (void* p : {(void*)dA, (void*)dB, (void*)dCells, (void*)dSharks, (void*)dKeyIn, (void*)dKeyOut,
                    (void*)dOrdIn, (void*)dOrdOut, dTemp})
        cudaFree(p);
    return 0;
}
