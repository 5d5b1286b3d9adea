// potts_tissue_growth.cu
//
// Cellular Potts model of a growing epithelium with a diffusing morphogen.
// A lattice of sites, each owned by a cell (0 is the medium), and a table of
// cell records.  One Monte-Carlo step is four sub-sweeps of copy attempts, one
// per parity class of the lattice, so that no two attempts touch neighbouring
// sites; cell volumes are frozen during a sub-sweep and committed after it.
// Then the morphogen diffuses, cells grow or commit to division, and the sites
// of dividing cells on one side of the division axis go to the daughter.
//
//   usage: potts_tissue_growth [number of lattice sites]
#include <cuda_runtime.h>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#define GPU(call)                                                                        \
    do {                                                                                 \
        const cudaError_t rc = (call);                                                   \
        if (rc != cudaSuccess) {                                                         \
            std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(rc)); \
            std::exit(2);                                                                \
        }                                                                                \
    } while (0)

enum CellKind : uint8_t { kMedium = 0, kStem = 1, kSecreting = 2, kMature = 3 };

struct Site {
    uint32_t cell;
    float morphogen;
    float morphogenNext;
    uint16_t age;              // steps since the last change of owner
    uint8_t kind;              // copy of the owner's kind
    uint8_t wall;              // 1: frozen border
};

struct CellRecord {
    double targetVolume;
    unsigned long long sumX, sumY;   // coordinate sums over the owned sites
    int volume;
    int deltaVolume;           // pending changes of the running sub-sweep
    unsigned signal;           // sampled morphogen, fixed point
    float lambda;              // stiffness of the volume constraint
    float growth;              // target volume gained per step
    float axisX, axisY;        // normal of the division plane
    float centreX, centreY;
    uint16_t generation;
    uint16_t ageSteps;
    uint8_t kind;
    uint8_t dividing;
    uint8_t alive;
    uint8_t quiescent;
};

struct Params {
    int width, height;
    uint32_t founders;         // cells 1..founders; daughter of c is c + founders
    float temperature;
    float diffusion, decay, secretion;
    int divideAt;
};

// contact energies between kinds (medium, stem, secreting, mature)
__constant__ float cContact[4][4] = {{0.f, 9.f, 9.f, 8.f}, {9.f, 6.f, 8.f, 7.f}, {9.f, 8.f, 5.f, 7.f}, {8.f, 7.f, 7.f, 4.f}};

__device__ inline uint32_t rng(uint32_t x, uint32_t step) {
    uint32_t h = x * 0xCC9E2D51u + step * 0x1B873593u;
    h ^= h >> 16; h *= 0x85EBCA6Bu;
    h ^= h >> 13; h *= 0xC2B2AE35u;
    return h ^ (h >> 16);
}

// Energy of giving the volume constraint of one cell `change` more sites.
__device__ inline float volumeEnergy(const CellRecord* cells, uint32_t id, int change) {
    if (id == 0) return 0.0f;
    const float gap = float(cells[id].volume) - float(cells[id].targetVolume);
    return cells[id].lambda * (2.0f * gap * change + 1.0f);
}

__device__ inline void moveSite(CellRecord* cells, uint32_t id, int change, int x, int y) {
    if (id == 0) return;       // nobody keeps the books of the medium
    atomicAdd(&cells[id].deltaVolume, change);
    const long long sx = change > 0 ? x : -(long long)x, sy = change > 0 ? y : -(long long)y;
    atomicAdd(&cells[id].sumX, (unsigned long long)sx);
    atomicAdd(&cells[id].sumY, (unsigned long long)sy);
}

__global__ void copyAttempts(Site* sites, CellRecord* cells, Params p, int ox, int oy, uint32_t sweep) {
    const int x = 2 * (blockIdx.x * blockDim.x + threadIdx.x) + ox;
    const int y = 2 * (blockIdx.y * blockDim.y + threadIdx.y) + oy;
    if (x >= p.width || y >= p.height) return;
    const int i = y * p.width + x;
    if (sites[i].wall) return;

    const uint32_t h = rng(i, sweep);
    int d = h & 7;
    d += d >= 4;               // skip the centre of the 3 x 3 neighbourhood
    const int j = i + (d / 3 - 1) * p.width + (d % 3 - 1);
    const uint32_t mine = sites[i].cell, theirs = sites[j].cell;
    if (mine == theirs || sites[j].wall) return;

    const int kindOld = sites[i].kind, kindNew = sites[j].kind;
    float dE = 0.0f;
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
            if (dx == 0 && dy == 0) continue;
            const Site& nb = sites[i + dy * p.width + dx];
            if (nb.cell != theirs) dE += cContact[kindNew][nb.kind];
            if (nb.cell != mine) dE -= cContact[kindOld][nb.kind];
        }
    dE += volumeEnergy(cells, theirs, 1);
    dE += volumeEnergy(cells, mine, -1);
    dE -= 2.0f * (sites[i].morphogen - sites[j].morphogen);          // chemotaxis
    const float u = float(rng(h, sweep + 77u) >> 8) * (1.0f / 16777216.0f);
    if (dE > 0.0f && u >= __expf(-dE / p.temperature)) return;

    sites[i].cell = theirs;
    sites[i].kind = uint8_t(kindNew);
    sites[i].age = 0;
    moveSite(cells, mine, -1, x, y);
    moveSite(cells, theirs, +1, x, y);
}

// Close the books of a sub-sweep; also completes the divisions of the step.
__global__ void commitCells(CellRecord* cells, uint32_t count, uint32_t founders) {
    const uint32_t id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id == 0 || id >= count) return;
    const int change = cells[id].deltaVolume;
    if (change != 0) {
        cells[id].volume += change;
        cells[id].deltaVolume = 0;
    }
    if (!cells[id].dividing) return;
    CellRecord& mother = cells[id];
    CellRecord& daughter = cells[id + founders];   // its own thread only touches its volume
    mother.dividing = 0;
    mother.targetVolume *= 0.5;
    mother.generation++;
    daughter.targetVolume = mother.targetVolume;
    daughter.lambda = mother.lambda;
    daughter.growth = 0.8f * mother.growth;
    daughter.generation = mother.generation;
    daughter.kind = mother.kind;
    daughter.alive = 1;
}

__global__ void diffuse(Site* sites, CellRecord* cells, Params p) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= p.width || y >= p.height) return;
    const int i = y * p.width + x;
    const float c = sites[i].morphogen;
    if (sites[i].wall) {
        sites[i].morphogenNext = 0.0f;
        return;
    }
    const float lap = sites[i - 1].morphogen + sites[i + 1].morphogen + sites[i - p.width].morphogen +
                      sites[i + p.width].morphogen - 4.0f * c;
    float next = c + p.diffusion * lap - p.decay * c;
    if (sites[i].kind == kSecreting) next += p.secretion;
    sites[i].morphogenNext = next;
    const uint32_t id = sites[i].cell;
    if (id != 0 && ((x | y) & 1) == 0) atomicAdd(&cells[id].signal, unsigned(next * 256.0f));
}

__global__ void growCells(CellRecord* cells, uint32_t count, Params p, uint32_t step) {
    const uint32_t id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id == 0 || id >= count) return;
    CellRecord& c = cells[id];
    if (!c.alive) return;
    if (c.volume <= 0) {                           // squeezed out
        c.alive = 0;
        return;
    }
    c.ageSteps++;
    const float level = 4.0f * float(c.signal) / (256.0f * c.volume);
    c.signal = 0;
    c.quiescent = level > 2.5f;
    if (!c.quiescent) c.targetVolume += c.growth * (1.0f + 0.5f * level);
    if (c.ageSteps > 12 && c.kind == kStem && level > 0.8f) c.kind = kMature;
    const bool canDivide = id <= p.founders && c.generation == 0;
    if (canDivide && c.volume >= p.divideAt) {
        const float angle = float(rng(id, step) & 0xFFFFu) * (6.2831853f / 65536.0f);
        c.axisX = cosf(angle);
        c.axisY = sinf(angle);
        c.centreX = float(double(c.sumX) / c.volume);
        c.centreY = float(double(c.sumY) / c.volume);
        c.dividing = 1;
    }
}

__global__ void relabelSites(Site* sites, CellRecord* cells, Params p) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= p.width || y >= p.height) return;
    Site& s = sites[y * p.width + x];
    s.morphogen = s.morphogenNext;
    if (s.age < 65535) s.age++;
    const uint32_t id = s.cell;
    if (id == 0) return;
    if (s.kind != cells[id].kind && cells[id].kind != kMedium) s.kind = cells[id].kind;
    if (!cells[id].dividing) return;
    const float side = (x - cells[id].centreX) * cells[id].axisX + (y - cells[id].centreY) * cells[id].axisY;
    if (side <= 0.0f) return;
    s.cell = id + p.founders;
    s.age = 0;
    moveSite(cells, id, -1, x, y);
    moveSite(cells, id + p.founders, +1, x, y);
}

int main(int argc, char** argv) {
    constexpr int tile = 8, inner = 6, warmup = 2, timed = 20;
    const double want = argc > 1 ? std::atof(argv[1]) : 4096.0 * 4096.0;
    int side = int(std::sqrt(want)) / tile * tile;
    if (side < 4 * tile) side = 4 * tile;

    Params p = {};
    p.width = p.height = side;
    const int tilesX = side / tile - 2, tilesY = side / tile - 2;    // a rim of medium all around
    p.founders = uint32_t(tilesX) * tilesY;
    p.temperature = 8.0f;
    p.diffusion = 0.18f;
    p.decay = 0.02f;
    p.secretion = 0.12f;
    p.divideAt = 46;

    const size_t siteCount = size_t(side) * side, cellCount = 2 * size_t(p.founders) + 1;
    std::vector<Site> sites(siteCount);
    std::vector<CellRecord> cells(cellCount);
    std::mt19937 gen(20240611u);
    for (uint32_t c = 1; c <= p.founders; ++c) {
        CellRecord& rec = cells[c];
        const uint32_t r = gen();
        rec.kind = r % 10u < 2u ? kSecreting : r % 10u < 8u ? kStem : kMature;
        rec.targetVolume = 34.0 + double(r >> 8 & 7u);
        rec.lambda = 0.8f + 0.1f * float(r >> 16 & 7u);
        rec.growth = 0.4f + 0.2f * float(r >> 20 & 7u);
        rec.alive = 1;
    }
    for (int y = 0; y < side; ++y)
        for (int x = 0; x < side; ++x) {
            Site& s = sites[size_t(y) * side + x];
            s.wall = x == 0 || y == 0 || x == side - 1 || y == side - 1;
            const int tx = x / tile - 1, ty = y / tile - 1;
            if (tx < 0 || ty < 0 || tx >= tilesX || ty >= tilesY || x % tile >= inner || y % tile >= inner) continue;
            s.cell = 1u + uint32_t(ty) * tilesX + tx;
            CellRecord& owner = cells[s.cell];
            s.kind = owner.kind;
            s.morphogen = owner.kind == kSecreting ? 1.0f : 0.1f;
            owner.volume++;
            owner.sumX += x;
            owner.sumY += y;
        }

    Site* dSites = nullptr;
    CellRecord* dCells = nullptr;
    GPU(cudaMalloc(&dSites, siteCount * sizeof(Site)));
    GPU(cudaMalloc(&dCells, cellCount * sizeof(CellRecord)));
    GPU(cudaMemcpy(dSites, sites.data(), siteCount * sizeof(Site), cudaMemcpyHostToDevice));
    GPU(cudaMemcpy(dCells, cells.data(), cellCount * sizeof(CellRecord), cudaMemcpyHostToDevice));

    const dim3 block(32, 8), full((side + 31) / 32, (side + 7) / 8), half((side / 2 + 31) / 32, (side / 2 + 7) / 8);
    const unsigned cellBlocks = unsigned((cellCount + 127) / 128);
    cudaEvent_t t0, t1;
    GPU(cudaEventCreate(&t0));
    GPU(cudaEventCreate(&t1));
    for (int step = 0; step < warmup + timed; ++step) {
        if (step == warmup) GPU(cudaEventRecord(t0));
        for (int sub = 0; sub < 4; ++sub) {
            copyAttempts<<<half, block>>>(dSites, dCells, p, sub & 1, sub >> 1, uint32_t(step * 4 + sub));
            commitCells<<<cellBlocks, 128>>>(dCells, uint32_t(cellCount), p.founders);
        }
        diffuse<<<full, block>>>(dSites, dCells, p);
        growCells<<<cellBlocks, 128>>>(dCells, uint32_t(cellCount), p, uint32_t(step));
        relabelSites<<<full, block>>>(dSites, dCells, p);
        commitCells<<<cellBlocks, 128>>>(dCells, uint32_t(cellCount), p.founders);
        GPU(cudaGetLastError());
    }
    GPU(cudaEventRecord(t1));
    GPU(cudaEventSynchronize(t1));
    float ms = 0.0f;
    GPU(cudaEventElapsedTime(&ms, t0, t1));

    GPU(cudaMemcpy(sites.data(), dSites, siteCount * sizeof(Site), cudaMemcpyDeviceToHost));
    GPU(cudaMemcpy(cells.data(), dCells, cellCount * sizeof(CellRecord), cudaMemcpyDeviceToHost));
    double sum = 0.0;
    for (size_t i = 0; i < siteCount; ++i)
        sum += double(sites[i].cell % 97u) * (1 + sites[i].kind) + sites[i].age + 5.0 * sites[i].morphogen;
    for (size_t c = 1; c < cellCount; ++c) {
        const CellRecord& r = cells[c];
        sum += double(c % 31u) * r.volume + r.targetVolume + 1e-3 * double(r.sumX + 2u * r.sumY);
        sum += r.generation + r.ageSteps + 7.0 * r.alive + 3.0 * r.quiescent + r.centreX * r.axisX + r.growth;
    }
    std::printf("check %.6g\n", sum);
    std::printf("time_ms %.4f\n", ms / timed);
    GPU(cudaFree(dSites));
    GPU(cudaFree(dCells));
    return 0;
}
