// Spectators leaving a stadium: social-force style pedestrians on the concourse.
// A bucket grid is rebuilt every step, neighbour lists are made from it, and the
// force / move / gate kernels work on the agents through those lists.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>
#include <cuda_runtime.h>

inline void cudaCheck(cudaError_t rc, const char *file, int line)
{
    if (rc == cudaSuccess) return;
    fprintf(stderr, "%s(%d): %s\n", file, line, cudaGetErrorString(rc));
    exit(1);
}
#define CHECK(expr) cudaCheck((expr), __FILE__, __LINE__)

constexpr int kMaxNeighbours = 24;
constexpr int kBucket = 32;
constexpr float kCell = 1.6f;

struct Agent {
    float2 pos;
    float2 vel;
    float2 force;
    float radius;
    float desired;    // walking speed [m/s]
    float patience;
    float walked;     // metres so far
    int gate;
    int exits;        // how often it walked out (it re-enters at the far side)
    int neighbours;

    __host__ __device__ float speed() const { return sqrtf(vel.x * vel.x + vel.y * vel.y); }
};

struct Gate {
    float2 centre;
    float width;
    int passed;
};

struct Grid {
    int nx, ny;
    int *count;   // agents per bucket
    int *slots;   // kBucket ids per bucket

    __device__ int cellOf(float2 p) const
    {
        int cx = min(nx - 1, max(0, (int)(p.x / kCell)));
        int cy = min(ny - 1, max(0, (int)(p.y / kCell)));
        return cy * nx + cx;
    }
};

struct NeighbourList {
    int *ids;     // [k * n + i]
    int n;
};

__global__ void fillGrid(const Agent *agents, int n, Grid g)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int cell = g.cellOf(agents[i].pos);
    int slot = atomicAdd(&g.count[cell], 1);
    if (slot < kBucket) g.slots[cell * kBucket + slot] = i;
}

// Atomics fill the buckets in any order; sorting makes the later sums reproducible.
__global__ void sortBuckets(Grid g)
{
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= g.nx * g.ny) return;
    int m = min(kBucket, g.count[cell]);
    int *a = g.slots + cell * kBucket;
    for (int k = 1; k < m; ++k) {
        int v = a[k], j = k - 1;
        while (j >= 0 && a[j] > v) {
            a[j + 1] = a[j];
            --j;
        }
        a[j + 1] = v;
    }
}

__global__ void findNeighbours(Agent *agents, int n, Grid g, NeighbourList list)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float2 me = agents[i].pos;
    int cell = g.cellOf(me);
    int cx = cell % g.nx, cy = cell / g.nx;
    int found = 0;
    for (int y = max(0, cy - 1); y <= min(g.ny - 1, cy + 1); ++y)
        for (int x = max(0, cx - 1); x <= min(g.nx - 1, cx + 1); ++x) {
            int c = y * g.nx + x;
            int m = min(kBucket, g.count[c]);
            for (int k = 0; k < m; ++k) {
                int j = g.slots[c * kBucket + k];
                if (j == i) continue;
                float dx = agents[j].pos.x - me.x, dy = agents[j].pos.y - me.y;
                if (dx * dx + dy * dy < kCell * kCell && found < kMaxNeighbours)
                    list.ids[(size_t)found++ * list.n + i] = j;
            }
        }
    agents[i].neighbours = found;
}

__device__ float2 pairPush(const Agent &a, const Agent &b)
{
    float dx = a.pos.x - b.pos.x, dy = a.pos.y - b.pos.y;
    float d = sqrtf(dx * dx + dy * dy) + 1e-3f;
    float strength = 3.0f * expf((a.radius + b.radius - d) * 2.5f);
    strength = fminf(strength, 8.0f);
    // people avoid what is in front of them more than what is behind
    float ahead = -(dx * a.vel.x + dy * a.vel.y) / (d * (a.speed() + 0.05f));
    strength *= 0.7f + 0.3f * ahead;
    return make_float2(strength * dx / d, strength * dy / d);
}

__global__ void socialForces(Agent *agents, int n, NeighbourList list, const Gate *gates)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const Agent &me = agents[i];
    float2 goal = gates[me.gate].centre;
    float gx = goal.x - me.pos.x, gy = goal.y - me.pos.y;
    float len = sqrtf(gx * gx + gy * gy) + 1e-3f;
    float fx = (me.desired * gx / len - me.vel.x) / me.patience;
    float fy = (me.desired * gy / len - me.vel.y) / me.patience;
    for (int k = 0; k < me.neighbours; ++k) {
        int j = list.ids[(size_t)k * list.n + i];
        float2 p = pairPush(me, agents[j]);
        fx += p.x;
        fy += p.y;
    }
    agents[i].force = make_float2(fx, fy);
}

__global__ void walk(Agent *agents, int n, float dt, float w, float h)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Agent &a = agents[i];
    float vx = a.vel.x + dt * a.force.x, vy = a.vel.y + dt * a.force.y;
    float s = sqrtf(vx * vx + vy * vy), top = 1.4f * a.desired;
    if (s > top) {
        vx *= top / s;
        vy *= top / s;
    }
    a.vel = make_float2(vx, vy);
    a.pos.x = fminf(w - 0.01f, fmaxf(0.01f, a.pos.x + dt * vx));
    a.pos.y = fminf(h - 0.01f, fmaxf(0.01f, a.pos.y + dt * vy));
    a.walked += dt * a.speed();
}

__global__ void passGates(Agent *agents, int n, Gate *gates, int nGates, float w, float h)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int g = agents[i].gate;
    float dx = agents[i].pos.x - gates[g].centre.x, dy = agents[i].pos.y - gates[g].centre.y;
    if (dx * dx + dy * dy < gates[g].width * gates[g].width) {
        atomicAdd(&gates[g].passed, 1);
        agents[i].exits += 1;
        agents[i].gate = (g + nGates / 2 + i % 7) % nGates;
        agents[i].pos.x = w - agents[i].pos.x;
        agents[i].pos.y = h - agents[i].pos.y;
    }
}

int main()
{
    const int n = 240000;
    const int nGates = 96;
    const float w = 520.0f, h = 430.0f;
    std::mt19937 rng(99);
    auto rnd = [&rng]() { return (float)(rng() >> 8) * (1.0f / 16777216.0f); };

    std::vector<Gate> gates(nGates);
    for (int g = 0; g < nGates; ++g) {
        float t = 6.2831853f * (float)g / (float)nGates;
        gates[g] = Gate{make_float2(w * (0.5f + 0.45f * cosf(t)), h * (0.5f + 0.45f * sinf(t))), 1.5f + (float)(g % 3), 0};
    }
    std::vector<Agent> agents(n);
    for (Agent &a : agents) {
        a = Agent{};
        a.pos = make_float2(1.0f + (w - 2.0f) * rnd(), 1.0f + (h - 2.0f) * rnd());
        a.radius = 0.18f + 0.1f * rnd();
        a.desired = 0.8f + 0.9f * rnd();
        a.patience = 0.4f + 0.4f * rnd();
        a.gate = (int)(rng() % (unsigned)nGates);
    }

    Grid grid{};
    grid.nx = (int)(w / kCell) + 1;
    grid.ny = (int)(h / kCell) + 1;
    const int cells = grid.nx * grid.ny;
    NeighbourList list{nullptr, n};
    Agent *dAgents;
    Gate *dGates;
    CHECK(cudaMalloc(&dAgents, n * sizeof(Agent)));
    CHECK(cudaMalloc(&dGates, nGates * sizeof(Gate)));
    CHECK(cudaMalloc(&grid.count, cells * sizeof(int)));
    CHECK(cudaMalloc(&grid.slots, (size_t)cells * kBucket * sizeof(int)));
    CHECK(cudaMalloc(&list.ids, (size_t)n * kMaxNeighbours * sizeof(int)));
    CHECK(cudaMemcpy(dAgents, agents.data(), n * sizeof(Agent), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(dGates, gates.data(), nGates * sizeof(Gate), cudaMemcpyHostToDevice));

    const int bs = 128, gs = (n + bs - 1) / bs;
    auto step = [&]() {
        CHECK(cudaMemsetAsync(grid.count, 0, cells * sizeof(int)));
        fillGrid<<<gs, bs>>>(dAgents, n, grid);
        sortBuckets<<<(cells + bs - 1) / bs, bs>>>(grid);
        findNeighbours<<<gs, bs>>>(dAgents, n, grid, list);
        socialForces<<<gs, bs>>>(dAgents, n, list, dGates);
        walk<<<gs, bs>>>(dAgents, n, 0.04f, w, h);
        passGates<<<gs, bs>>>(dAgents, n, dGates, nGates, w, h);
    };
    step();
    const int reps = 14;
    cudaEvent_t start, stop;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    CHECK(cudaEventRecord(start));
    for (int r = 0; r < reps; ++r) step();
    CHECK(cudaEventRecord(stop));
    CHECK(cudaEventSynchronize(stop));
    CHECK(cudaGetLastError());
    float ms = 0.0f;
    CHECK(cudaEventElapsedTime(&ms, start, stop));

    CHECK(cudaMemcpy(agents.data(), dAgents, n * sizeof(Agent), cudaMemcpyDeviceToHost));
    double walked = 0, nb = 0, speed = 0, px = 0;
    for (const Agent &a : agents) { walked += a.walked; nb += a.neighbours; speed += a.speed(); px += a.pos.x; }
    printf("check %.4f/%.2f/%.3f/%.2f\n", walked / n, nb / n, speed / n, px / n);
    printf("time_ms %.4f\n", ms / reps);
    return 0;
}
