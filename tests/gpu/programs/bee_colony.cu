// bee_colony.cu
// Agent based foraging: bees of several hives visit flowers, the waggle dance
// of a hive recruits idle bees to the best patch reported in the last step.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

static inline void cudaOk(cudaError_t e, const char *what)
{
    if (e == cudaSuccess) return;
    std::fprintf(stderr, "%s failed: %s\n", what, cudaGetErrorString(e));
    std::exit(EXIT_FAILURE);
}
#define OK(x) cudaOk((x), #x)

namespace bees {

constexpr float kWorld   = 2048.0f;
constexpr int   kGrid    = 128;          // cells per side
constexpr float kCell    = kWorld / kGrid;
constexpr float kSpeed   = 9.0f, kCrop = 1.0f;
constexpr int   kUnit    = 10000;        // fixed point scale for stores
enum State : uint8_t { Idle, Outbound, AtFlower, Homebound, Dancing, Dead };

struct Memory { float2 place; float quality; int flower; };

struct Bee {
    float2   pos, heading;
    Memory   mem;
    float    energy, crop;
    uint32_t rng;
    int      hive, target;
    int16_t  trips;
    State state; uint8_t timer;
};

struct Flower {
    float2   pos;
    float    nectar, capacity, regen;
    int      claims, visits;
    uint8_t  species, open;
    int16_t  bloomDay;
};

struct Hive {
    float2             pos;
    unsigned long long stores;           // fixed point nectar
    unsigned long long dance;            // best advertised (quality | flower)
    unsigned long long danceNext;
    int                population, deaths;
    float              hunger;
};

struct GridCell { int first, count; float richness; };

__host__ __device__ inline uint32_t mix(uint32_t v)
{
    v += 0x9e3779b9u; v ^= v >> 15; v *= 0x2c1b3c6du;
    v ^= v >> 12; v *= 0x297a2d39u; v ^= v >> 15;
    return v;
}

__device__ inline float uniform(Bee &b)
{
    b.rng = b.rng * 1664525u + 1013904223u;
    return (b.rng >> 8) * (1.0f / 16777216.0f);
}

__host__ __device__ inline int cellOf(float2 p)
{
    int cx = (int)(p.x / kCell), cy = (int)(p.y / kCell);
    cx = cx < 0 ? 0 : (cx >= kGrid ? kGrid - 1 : cx);
    return (cy < 0 ? 0 : (cy >= kGrid ? kGrid - 1 : cy)) * kGrid + cx;
}

__device__ inline bool flyTo(Bee &b, float2 goal)
{
    float dx = goal.x - b.pos.x, dy = goal.y - b.pos.y;
    float d = sqrtf(dx * dx + dy * dy);
    if (d <= kSpeed) { b.pos = goal; return true; }
    b.heading = make_float2(dx / d, dy / d);
    b.pos.x += kSpeed * b.heading.x;
    b.pos.y += kSpeed * b.heading.y;
    b.energy -= 0.012f;
    return false;
}
// Looks through the 3x3 cells around the bee for the most rewarding flower.
__device__ int scanPatch(const Bee &b, const Flower *flowers, const GridCell *grid, float &bestQ)
{
    int c = cellOf(b.pos), cx = c % kGrid, cy = c / kGrid, best = -1;
    bestQ = 0.02f;
    for (int y = max(cy - 1, 0); y <= min(cy + 1, kGrid - 1); ++y)
        for (int x = max(cx - 1, 0); x <= min(cx + 1, kGrid - 1); ++x) {
            GridCell g = grid[y * kGrid + x];
            if (g.richness < 0.05f) continue;
            for (int k = g.first; k < g.first + g.count; ++k) {
                const Flower &f = flowers[k];
                if (!f.open) continue;
                float dx = f.pos.x - b.pos.x, dy = f.pos.y - b.pos.y;
                float q = f.nectar / (1.0f + 0.05f * sqrtf(dx * dx + dy * dy));
                if (q > bestQ) { bestQ = q; best = k; }
            }
        }
    return best;
}
__global__ void growFlowers(Flower *f, int n, int day)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;
    int used = f[i].claims; float left = f[i].nectar;
    if (used > 0) {
        left -= fminf(left, 0.35f * used);
        f[i].visits += used;
        f[i].claims = 0;
    }
    left = fminf(f[i].capacity, left + f[i].regen);
    f[i].nectar = left;
    f[i].open = ((day + f[i].bloomDay + f[i].species) % 12) < 9;
}
__global__ void summarizeGrid(const Flower *f, GridCell *grid)
{
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
    if (warp >= kGrid * kGrid) return;
    GridCell &g = grid[warp];
    float best = 0.0f;
    for (int k = lane; k < g.count; k += 32) best = fmaxf(best, f[g.first + k].open ? f[g.first + k].nectar : 0.0f);
    for (int o = 16; o; o >>= 1) best = fmaxf(best, __shfl_xor_sync(0xffffffffu, best, o));
    if (lane == 0) g.richness = best;
}
__global__ void decide(Bee *bees, int n, Flower *flowers, const GridCell *grid, const Hive *hives)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;
    Bee b = bees[i];
    switch (b.state) {
    case Idle: {
        b.energy = fminf(1.0f, b.energy + 0.1f);
        if (b.energy < 0.5f) break;
        unsigned long long ad = hives[b.hive].dance;
        if (ad && uniform(b) < 0.6f) {
            b.target = (int)(ad & 0xffffffffu);
            b.mem.place = flowers[b.target].pos;
        } else if (b.mem.quality > 0.2f) {
            b.target = b.mem.flower;
        } else {
            b.target = -1;
            float a = 6.2831853f * uniform(b), r = 40.0f + 300.0f * uniform(b);
            b.mem.place = make_float2(b.pos.x + r * cosf(a), b.pos.y + r * sinf(a));
        }
        b.state = Outbound;
        break;
    }
    case Outbound:
        if (flyTo(b, b.mem.place)) {
            float q;
            int k = scanPatch(b, flowers, grid, q);
            if (k >= 0) {
                b.target = b.mem.flower = k;
                b.mem.quality = q;
                b.state = AtFlower;
                b.pos = flowers[k].pos;
                atomicAdd(&flowers[k].claims, 1);
            } else {
                b.mem.quality *= 0.5f;
                b.state = Homebound;
            }
        }
        break;
    case Homebound:
        flyTo(b, hives[b.hive].pos);
        break;
    default: break;
    }
    if (b.energy <= 0.0f) b.state = Dead;
    bees[i] = b;
}
__global__ void harvest(Bee *bees, int n, const Flower *flowers, Hive *hives)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;
    Bee *b = bees + i;
    if (b->state == AtFlower) {
        const Flower *f = &flowers[b->target];
        float share = f->claims > 0 ? f->nectar / f->claims : 0.0f;
        float take = fminf(fminf(share, 0.35f), kCrop - b->crop);
        b->crop += take;
        b->mem.place = f->pos;
        b->mem.quality = 0.5f * b->mem.quality + take;
        b->state = Homebound;
    } else if (b->state == Homebound) {
        Hive &h = hives[b->hive];
        if (b->pos.x == h.pos.x && b->pos.y == h.pos.y) {
            atomicAdd(&h.stores, (unsigned long long)(b->crop * kUnit));
            b->crop = 0.0f;
            b->trips++;
            b->state = b->mem.quality > 0.25f ? Dancing : Idle; b->timer = 3;
        }
    } else if (b->state == Dancing) {
        unsigned long long q = (unsigned long long)(b->mem.quality * 1000.0f);
        atomicMax(&hives[b->hive].danceNext, (q << 32) | (unsigned)b->mem.flower);
        if (--b->timer == 0) b->state = Idle;
    } else if (b->state == Dead) {
        atomicAdd(&hives[b->hive].deaths, 1);     // replaced by a hatched bee
        b->pos = hives[b->hive].pos;
        b->energy = 1.0f;
        b->crop = b->mem.quality = 0.0f;
        b->state = Idle;
    }
}
__global__ void closeDay(Hive *hives, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;
    Hive &h = hives[i];
    h.dance = h.danceNext;
    h.danceNext = 0;
    unsigned long long eat = (unsigned long long)h.population * 3;
    h.hunger = h.stores >= eat ? 0.9f * h.hunger : h.hunger + 1.0f;
    h.stores -= h.stores >= eat ? eat : h.stores;
}

}  // namespace bees

int main(int argc, char **argv)
{
    using namespace bees;
    const int nBees = argc > 1 ? std::max(1000, std::atoi(argv[1])) : 500000;
    const int nFlowers = nBees / 4, nHives = nBees / 1000, steps = 60, nCells = kGrid * kGrid;
    auto unit = [](uint32_t k) { return (mix(k) >> 8) * (1.0f / 16777216.0f); };

    Bee *b; Flower *f; Hive *h; GridCell *g;
    OK(cudaMallocManaged(&b, nBees * sizeof(Bee)));
    OK(cudaMallocManaged(&f, nFlowers * sizeof(Flower)));
    OK(cudaMallocManaged(&h, nHives * sizeof(Hive)));
    OK(cudaMallocManaged(&g, nCells * sizeof(GridCell)));

    // flowers grouped by grid cell (counting sort by cell)
    std::vector<float2> fp(nFlowers);
    for (int c = 0; c < nCells; ++c) g[c] = GridCell{0, 0, 0.0f};
    for (int i = 0; i < nFlowers; ++i) {
        float cx = unit(7 * (i % 97)), cy = unit(7 * (i % 97) + 3);       // patch centre
        float x = 0.5f * cx + 0.5f * unit(2 * i + 11), y = 0.5f * cy + 0.5f * unit(2 * i + 12);
        fp[i] = make_float2(x * kWorld, y * kWorld);
        g[cellOf(fp[i])].count++;
    }
    for (int c = 0, sum = 0; c < nCells; ++c) { g[c].first = sum; sum += g[c].count; g[c].count = 0; }
    for (int i = 0; i < nFlowers; ++i) {
        GridCell &c = g[cellOf(fp[i])];
        Flower &w = f[c.first + c.count++];
        w.pos = fp[i];
        w.capacity = 0.4f + 1.6f * unit(i + 5000011);
        w.nectar = w.capacity * unit(i + 6000011);
        w.regen = 0.01f + 0.03f * unit(i + 7000011);
        w.claims = w.visits = 0; w.species = mix(i) % 7; w.open = 1;
        w.bloomDay = (int16_t)(mix(i + 99) % 12);
    }
    for (int i = 0; i < nHives; ++i) {
        h[i] = Hive{};
        h[i].pos = make_float2(kWorld * unit(i + 31), kWorld * unit(i + 77031));
    }
    for (int i = 0; i < nBees; ++i) {
        Bee &q = b[i];
        q = Bee{};
        q.hive = i % nHives;
        q.pos = h[q.hive].pos;
        q.heading = make_float2(1.0f, 0.0f);
        q.energy = 0.3f + 0.7f * unit(i + 123); q.rng = mix(i * 3 + 1);
        q.target = q.mem.flower = -1;
        h[q.hive].population++;
    }

    cudaEvent_t t0, t1;
    OK(cudaEventCreate(&t0)); OK(cudaEventCreate(&t1));
    const int B = 256;
    for (int s = 0; s <= steps; ++s) {
        if (s == 1) OK(cudaEventRecord(t0));
        growFlowers<<<(nFlowers + B - 1) / B, B>>>(f, nFlowers, s / 5);
        summarizeGrid<<<nCells * 32 / B, B>>>(f, g);
        decide<<<(nBees + B - 1) / B, B>>>(b, nBees, f, g, h);
        harvest<<<(nBees + B - 1) / B, B>>>(b, nBees, f, h);
        closeDay<<<(nHives + 63) / 64, 64>>>(h, nHives);
    }
    OK(cudaEventRecord(t1));
    OK(cudaGetLastError()); OK(cudaDeviceSynchronize());
    float ms = 0.0f;
    OK(cudaEventElapsedTime(&ms, t0, t1));

    unsigned long long stores = 0, trips = 0, visits = 0;
    long long deaths = 0;
    double energy = 0.0, nectar = 0.0;
    int states[6] = {0, 0, 0, 0, 0, 0};
    for (int i = 0; i < nHives; ++i) { stores += h[i].stores; deaths += h[i].deaths; }
    for (int i = 0; i < nBees; ++i) { trips += b[i].trips; energy += b[i].energy; states[b[i].state]++; }
    for (int i = 0; i < nFlowers; ++i) { visits += f[i].visits; nectar += f[i].nectar; }
    std::printf("check %llu/%llu/%llu/%lld/%d/%d/%.5g/%.5g\n", stores, trips, visits, deaths,
                states[Outbound], states[Homebound], energy, nectar);
    std::printf("time_ms %.4f\n", ms / steps);
    OK(cudaFree(b)); OK(cudaFree(f)); OK(cudaFree(h)); OK(cudaFree(g));
}
