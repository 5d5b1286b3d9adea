// Foraging ant swarm on a pheromone grid. Agents sense three patches ahead,
// turn, move, lay trail and pick up or drop food; the grid evaporates and
// diffuses between two buffers. Deposits are fixed point so that the result
// doesn't depend on the order of atomics.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <utility>
#include <cuda_runtime.h>

inline void throwOnError(cudaError_t e) { if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e)); }
#define CU(x) throwOnError((x))
struct ManagedDeleter { void operator()(void* p) const { cudaFree(p); } };
template <typename T> using ManagedPtr = std::unique_ptr<T[], ManagedDeleter>;

template <typename T> ManagedPtr<T> makeManaged(size_t n) {
    void* p = nullptr;
    CU(cudaMallocManaged(&p, n * sizeof(T)));
    return ManagedPtr<T>(static_cast<T*>(p));
}

class StopWatch {
public:
    StopWatch() { CU(cudaEventCreate(&a_)); CU(cudaEventCreate(&b_)); }
    void start() { CU(cudaEventRecord(a_)); }
    float stop() {
        float ms = 0.0f;
        CU(cudaEventRecord(b_)); CU(cudaEventSynchronize(b_));
        CU(cudaEventElapsedTime(&ms, a_, b_));
        return ms;
    }
private:
    cudaEvent_t a_, b_;
};
enum AntState : short { Searching = 0, Returning = 1, Resting = 2 };
struct Ant {
    float    x, y;
    float    heading, speed;
    float    energy;
    uint32_t rng;
    int      trips;
    float    odometer;
    short    state, colony;
    short    restLeft;
    char     caste, lost;
};
struct Patch {
    float home, food;
    int   layHome, layFood;   // fixed point, this step
    int   stock;              // food units left
    int   claims;             // pick-ups requested this step
    short crowd;
    short terrain;            // 0 open, 1 rock, 2 nest
    int   crowdNow;
};

constexpr int   kSide = 1024, kTile = 16;
constexpr int   kAnts = 400000, kColonies = 4;
constexpr float kFix = 4096.0f;

__constant__ float2 cNest[kColonies];

__device__ inline float rand01(uint32_t& s) {
    s ^= s << 13; s ^= s >> 17; s ^= s << 5;
    return (s >> 8) * (1.0f / 16777216.0f);
}

__device__ inline int patchIndex(float x, float y) {
    int ix = min(max(static_cast<int>(x), 0), kSide - 1);
    int iy = min(max(static_cast<int>(y), 0), kSide - 1);
    return iy * kSide + ix;
}

__device__ inline float smell(const Patch* g, const Ant& a, float angle) {
    float sx = a.x + 3.0f * cosf(a.heading + angle);
    float sy = a.y + 3.0f * sinf(a.heading + angle);
    const Patch& p = g[patchIndex(sx, sy)];
    if (p.terrain == 1) return -1.0f;
    if (a.state == Searching) return p.food + (p.stock > 0 ? 50.0f : 0.0f);
    return p.home;
}

__global__ void senseAndTurn(Ant* ants, const Patch* grid, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || ants[i].state == Resting) return;
    Ant a = ants[i];
    float l = smell(grid, a, 0.6f), c = smell(grid, a, 0.0f), r = smell(grid, a, -0.6f);
    float jitter = (rand01(a.rng) - 0.5f) * (a.caste == 1 ? 0.9f : 0.4f);
    float turn = 0.0f;
    if (l > c && l > r) turn = 0.45f;
    else if (r > c) turn = -0.45f;
    else if (c < 0.0f) turn = 1.6f;
    bool lost = a.state == Returning && c < 0.01f;
    if (lost) {                                           // fall back on path integration
        float want = atan2f(cNest[a.colony].y - a.y, cNest[a.colony].x - a.x);
        float d = want - a.heading;
        d -= 6.2831853f * rintf(d / 6.2831853f);
        turn += 0.5f * d;
    }
    ants[i].lost = lost;
    ants[i].heading = a.heading + turn + jitter;
    ants[i].rng = a.rng;
}

__global__ void moveAnts(Ant* ants, const Patch* grid, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Ant& a = ants[i];
    if (a.state == Resting) {
        a.energy = fminf(1.0f, a.energy + 0.05f);
        if (--a.restLeft <= 0) a.state = Searching;
        return;
    }
    float slow = 1.0f / (1.0f + 0.1f * grid[patchIndex(a.x, a.y)].crowd);
    float step = a.speed * slow;
    float nx = a.x + step * cosf(a.heading);
    float ny = a.y + step * sinf(a.heading);
    if (nx < 0.0f || ny < 0.0f || nx >= kSide || ny >= kSide || grid[patchIndex(nx, ny)].terrain == 1) {
        a.heading += 2.2f;
        return;
    }
    a.x = nx; a.y = ny;
    a.odometer += step;
    a.energy -= 0.002f * step;
}

__global__ void interact(Ant* ants, Patch* grid, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Patch& p = grid[patchIndex(ants[i].x, ants[i].y)];
    atomicAdd(&p.crowdNow, 1);
    short st = ants[i].state;
    if (st == Searching) {
        atomicAdd(&p.layHome, static_cast<int>(kFix * 0.5f * ants[i].energy));
        if (p.stock > 0) {
            atomicAdd(&p.claims, 1);
            ants[i].state = Returning; ants[i].heading += 3.1415927f;
        } else if (ants[i].energy < 0.1f) {
            ants[i].state = Resting; ants[i].restLeft = 12;
        }
    } else if (st == Returning) {
        atomicAdd(&p.layFood, static_cast<int>(kFix));
        if (p.terrain == 2) {
            ants[i].state = Searching;
            ants[i].trips += 1; ants[i].energy = 1.0f;
            ants[i].heading += 3.1415927f;
        }
    }
}

__global__ void evolveGrid(const Patch* src, Patch* dst) {
    __shared__ float sh[2][kTile + 2][kTile + 2];
    int bx = blockIdx.x * kTile, by = blockIdx.y * kTile;
    int t = threadIdx.y * kTile + threadIdx.x;
    for (int k = t; k < (kTile + 2) * (kTile + 2); k += kTile * kTile) {
        int lx = k % (kTile + 2), ly = k / (kTile + 2);
        int gx = min(max(bx + lx - 1, 0), kSide - 1), gy = min(max(by + ly - 1, 0), kSide - 1);
        const Patch& p = src[gy * kSide + gx];
        bool rock = p.terrain == 1;
        sh[0][ly][lx] = rock ? 0.0f : p.home + p.layHome / kFix;
        sh[1][ly][lx] = rock ? 0.0f : p.food + p.layFood / kFix;
    }
    __syncthreads();
    int x = bx + threadIdx.x, y = by + threadIdx.y, lx = threadIdx.x + 1, ly = threadIdx.y + 1;
    Patch out = src[y * kSide + x];
    float v[2];
    for (int f = 0; f < 2; ++f) {
        float c = sh[f][ly][lx];
        float nb = sh[f][ly - 1][lx] + sh[f][ly + 1][lx] + sh[f][ly][lx - 1] + sh[f][ly][lx + 1];
        v[f] = (c + 0.08f * (nb - 4.0f * c)) * (f == 0 ? 0.985f : 0.97f);
    }
    out.home = fminf(v[0], 200.0f) + (out.terrain == 2 ? 5.0f : 0.0f);
    out.food = fminf(v[1], 200.0f);
    out.stock = max(0, out.stock - out.claims);
    out.crowd = static_cast<short>(min(out.crowdNow, 30000));
    out.layHome = out.layFood = out.claims = out.crowdNow = 0;
    dst[y * kSide + x] = out;
}

static uint32_t hash32(uint32_t x) {
    x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; x *= 0x846ca68bu;
    return x ^ (x >> 16);
}
static float unit(uint32_t h) { return (hash32(h) >> 8) / 16777216.0f; }

static void populate(Ant* ants, Patch* grid, const float2* nest) {
    for (int k = 0; k < kSide * kSide; ++k) {
        Patch p{};
        int x = k % kSide, y = k / kSide;
        uint32_t h = hash32((y / 12) * 7919u + x / 12);
        if (h % 29u == 0) p.terrain = 1;
        if (h % 37u == 5) p.stock = 40 + static_cast<int>(hash32(k) % 60u);
        for (int c = 0; c < kColonies; ++c) {
            float dx = x - nest[c].x, dy = y - nest[c].y;
            if (dx * dx + dy * dy < 144.0f) { p.terrain = 2; p.stock = 0; }
        }
        grid[k] = p;
    }
    for (int i = 0; i < kAnts; ++i) {
        Ant a{};
        uint32_t h = hash32(i + 1u);
        a.colony = static_cast<short>(i % kColonies);
        float ang = 6.2831853f * unit(h), rad = 90.0f * std::sqrt(unit(h + 1u));
        a.x = nest[a.colony].x + rad * std::cos(ang);
        a.y = nest[a.colony].y + rad * std::sin(ang);
        a.heading = ang;
        a.speed = 0.8f + 0.6f * unit(h + 3u);
        a.energy = 1.0f; a.rng = h | 1u;
        a.caste = static_cast<char>(h % 5u == 0);
        ants[i] = a;
    }
}

int main() {
    const float2 nest[kColonies] = {{256.f, 256.f}, {768.f, 300.f}, {300.f, 740.f}, {720.f, 720.f}};
    CU(cudaMemcpyToSymbol(cNest, nest, sizeof(nest)));
    auto ants = makeManaged<Ant>(kAnts);
    auto grid = makeManaged<Patch>(size_t(kSide) * kSide);
    auto next = makeManaged<Patch>(size_t(kSide) * kSide);
    populate(ants.get(), grid.get(), nest);
    const int block = 128, blocks = (kAnts + block - 1) / block;
    const dim3 tb(kTile, kTile), tg(kSide / kTile, kSide / kTile);
    StopWatch watch;
    double sum = 0.0;
    const int reps = 30;
    for (int rep = -2; rep < reps; ++rep) {
        watch.start();
        for (int s = 0; s < 3; ++s) {
            senseAndTurn<<<blocks, block>>>(ants.get(), grid.get(), kAnts);
            moveAnts<<<blocks, block>>>(ants.get(), grid.get(), kAnts);
            interact<<<blocks, block>>>(ants.get(), grid.get(), kAnts);
            evolveGrid<<<tg, tb>>>(grid.get(), next.get());
            std::swap(grid, next);
        }
        float ms = watch.stop();
        if (rep >= 0) sum += ms;
    }
    CU(cudaDeviceSynchronize());
    double home = 0, food = 0, stock = 0, trips = 0, odo = 0, returning = 0;
    for (int k = 0; k < kSide * kSide; ++k) { home += grid[k].home; food += grid[k].food; stock += grid[k].stock; }
    for (int i = 0; i < kAnts; ++i) { trips += ants[i].trips; odo += ants[i].odometer; returning += ants[i].state == Returning; }
    std::printf("check home %.9g\ncheck food %.9g\ncheck stock %.9g\n", home, food, stock);
    std::printf("check trips %.9g\ncheck returning %.9g\ncheck odometer %.9g\n", trips, returning, odo);
    std::printf("time_ms %.5f\n", sum / reps);
    return 0;
}
