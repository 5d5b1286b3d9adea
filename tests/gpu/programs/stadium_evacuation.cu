// stadium_evacuation.cu
// Social-force crowd model of a stadium being evacuated. Agents follow a flow
// field (Dijkstra from the gates, computed on the CPU at start-up) and push
// each other apart. Neighbours come from a uniform grid rebuilt every step.
// Everything lives in managed memory.

#include <cuda_runtime.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <queue>
#include <vector>

static void check_impl(cudaError_t e, const char* file, int line) {
    if (e != cudaSuccess) {
        fprintf(stderr, "%s:%d: CUDA error %d (%s)\n", file, line, (int)e, cudaGetErrorString(e));
        abort();
    }
}
#define check(e) check_impl((e), __FILE__, __LINE__)

constexpr int   kGrid      = 1024;        // cells per side, one metre each
constexpr int   kCells     = kGrid * kGrid;
constexpr int   kNumExits  = 16;
constexpr int   kMaxListed = 32;          // neighbours examined per cell
constexpr float kCentre    = kGrid * 0.5f;
constexpr float kInner     = 120.0f;      // pitch
constexpr float kOuter     = 480.0f;      // outer wall

enum agent_state : char { SEATED = 0, WALKING = 1, EVACUATED = 2 };

struct agent {
    float2 pos;
    float2 vel;
    float2 acc;
    float  radius;
    float  desired_speed;
    float  reaction_time;
    int    cell;
    int    exit_step;
    int    crowding;
    short  exit_id;
    char   state;
    char   group;
};

struct flow_cell {
    float2 dir;        // unit vector towards the next cell
    int    cost;       // 10 per straight cell, 14 per diagonal; -1 unreachable
    short  exit_id;
    bool   wall;
};

struct cell_bin {
    int count;
    int start;
    int fill;
};

struct world {
    agent*     agents;
    flow_cell* flow;
    cell_bin*  bins;
    int*       lists;
    int*       cursor;        // bump allocator for the lists
    int*       exit_counts;
    int        num_agents;
};

__host__ __device__ inline int cell_of(float2 p) {
    int cx = (int)p.x, cy = (int)p.y;
    cx = cx < 0 ? 0 : cx >= kGrid ? kGrid - 1 : cx;
    cy = cy < 0 ? 0 : cy >= kGrid ? kGrid - 1 : cy;
    return cy * kGrid + cx;
}

// ---------------------------------------------------------------- grid build

__global__ void bin_count(world w) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= w.num_agents) return;
    agent& a = w.agents[i];
    if (a.state == EVACUATED) { a.cell = -1; return; }
    a.cell = cell_of(a.pos);
    atomicAdd(&w.bins[a.cell].count, 1);
}

__global__ void bin_allocate(world w) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= kCells) return;
    if (w.bins[c].count > 0) w.bins[c].start = atomicAdd(w.cursor, w.bins[c].count);
}

__global__ void bin_scatter(world w) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= w.num_agents) return;
    int c = w.agents[i].cell;
    if (c < 0) return;
    int slot = atomicAdd(&w.bins[c].fill, 1);
    w.lists[w.bins[c].start + slot] = i;
}

// keep the lists in agent order, so that the forces don't depend on scheduling
__global__ void bin_sort(world w) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= kCells) return;
    int n = w.bins[c].count;
    if (n < 2) return;
    int* list = w.lists + w.bins[c].start;
    for (int i = 1; i < n; ++i) {
        int v = list[i], j = i - 1;
        while (j >= 0 && list[j] > v) { list[j + 1] = list[j]; --j; }
        list[j + 1] = v;
    }
}

// ---------------------------------------------------------------- dynamics

__device__ float2 push_from_walls(const flow_cell* flow, float2 pos) {
    float2 f = make_float2(0.f, 0.f);
    int cx = (int)pos.x, cy = (int)pos.y;
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
            int x = cx + dx, y = cy + dy;
            if (x < 0 || y < 0 || x >= kGrid || y >= kGrid) continue;
            if (!flow[y * kGrid + x].wall) continue;
            float rx = pos.x - (x + 0.5f), ry = pos.y - (y + 0.5f);
            float d = sqrtf(rx * rx + ry * ry) + 1e-4f;
            float m = 6.0f * expf(-(d - 0.5f) / 0.25f) / d;
            f.x += m * rx;
            f.y += m * ry;
        }
    return f;
}

__global__ void social_forces(world w, int step, float dt) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= w.num_agents) return;

    agent me = w.agents[i];
    if (me.state == EVACUATED) return;
    if (me.state == SEATED && step * dt < me.reaction_time) {
        w.agents[i].acc = make_float2(0.f, 0.f);
        return;
    }

    const flow_cell& fc = w.flow[me.cell];
    float2 acc;
    acc.x = (fc.dir.x * me.desired_speed - me.vel.x) / 0.5f;
    acc.y = (fc.dir.y * me.desired_speed - me.vel.y) / 0.5f;

    int cx = me.cell % kGrid, cy = me.cell / kGrid, crowd = 0;
    for (int y = max(cy - 1, 0); y <= min(cy + 1, kGrid - 1); ++y) {
        for (int x = max(cx - 1, 0); x <= min(cx + 1, kGrid - 1); ++x) {
            cell_bin b = w.bins[y * kGrid + x];
            int n = min(b.count, kMaxListed);
            for (int k = 0; k < n; ++k) {
                int j = w.lists[b.start + k];
                if (j == i) continue;
                const agent& other = w.agents[j];
                float rx = me.pos.x - other.pos.x;
                float ry = me.pos.y - other.pos.y;
                float d2 = rx * rx + ry * ry;
                if (d2 > 1.0f) continue;
                float d   = sqrtf(d2) + 1e-4f;
                float gap = me.radius + other.radius - d;
                float m   = 2.5f * expf(gap / 0.2f);
                if (gap > 0.f) m += 20.0f * gap;
                if (other.group == me.group) m *= 0.5f;     // families stay close
                acc.x += m * rx / d;
                acc.y += m * ry / d;
                ++crowd;
            }
        }
    }
    float2 wall = push_from_walls(w.flow, me.pos);
    acc.x += wall.x;
    acc.y += wall.y;

    w.agents[i].acc      = acc;
    w.agents[i].crowding = me.crowding + crowd;
}

__global__ void move_agents(world w, int step, float dt) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= w.num_agents) return;
    agent* a = w.agents + i;
    if (a->state == EVACUATED) return;
    if (a->state == SEATED) {
        if (step * dt < a->reaction_time) return;
        a->state = WALKING;
    }

    float vx = a->vel.x + a->acc.x * dt;
    float vy = a->vel.y + a->acc.y * dt;
    float speed = sqrtf(vx * vx + vy * vy), limit = 1.3f * a->desired_speed;
    if (speed > limit) { vx *= limit / speed; vy *= limit / speed; }

    float2 next = make_float2(a->pos.x + vx * dt, a->pos.y + vy * dt);
    if (w.flow[cell_of(next)].wall) {                       // slide along x or y
        float2 tx = make_float2(next.x, a->pos.y), ty = make_float2(a->pos.x, next.y);
        if (!w.flow[cell_of(tx)].wall)      { next = tx; vy = 0.f; }
        else if (!w.flow[cell_of(ty)].wall) { next = ty; vx = 0.f; }
        else                                { next = a->pos; vx = vy = 0.f; }
    }
    a->pos = next;
    a->vel = make_float2(vx, vy);

    const flow_cell& fc = w.flow[cell_of(next)];
    if (fc.cost == 0) {
        a->state     = EVACUATED;
        a->exit_id   = fc.exit_id;
        a->exit_step = step;
        atomicAdd(&w.exit_counts[fc.exit_id], 1);
    }
}

// ---------------------------------------------------------------- set-up

static unsigned g_seed = 12345u;
static float frand() {
    g_seed = g_seed * 1103515245u + 12345u;
    return ((g_seed >> 9) & 0x3fffff) / 4194304.0f;
}

static void build_flow_field(flow_cell* flow) {
    const float two_pi = 6.28318531f;
    std::vector<int> gate(kCells, -1);
    for (int y = 0; y < kGrid; ++y)
        for (int x = 0; x < kGrid; ++x) {
            flow_cell& c = flow[y * kGrid + x];
            float dx = x + 0.5f - kCentre, dy = y + 0.5f - kCentre;
            float r = std::sqrt(dx * dx + dy * dy);
            float ang = std::atan2(dy, dx);
            if (ang < 0) ang += two_pi;
            float sector = ang / two_pi * kNumExits;
            int   k = (int)sector % kNumExits;
            float arc = std::fabs(sector - k - 0.5f) * two_pi / kNumExits * r;  // distance to the gate axis

            c.dir = make_float2(0.f, 0.f);
            c.cost = -1;
            c.exit_id = -1;
            c.wall = r < kInner || r > kOuter;
            if (r > kOuter && r < kOuter + 8 && arc < 6.0f) {   // tunnel
                c.wall = false;
                if (r > kOuter + 5) gate[y * kGrid + x] = k;
            }
            // two ring barriers with openings, four per sector
            if (std::fabs(r - 240.f) < 1.f || std::fabs(r - 360.f) < 1.f)
                c.wall = std::fmod(sector * 4.0f, 1.0f) > 0.25f;
        }

    typedef std::pair<int, int> item;
    std::priority_queue<item, std::vector<item>, std::greater<item>> open;
    for (int c = 0; c < kCells; ++c)
        if (gate[c] >= 0) { flow[c].cost = 0; flow[c].exit_id = (short)gate[c]; open.push({0, c}); }
    while (!open.empty()) {
        item top = open.top();
        open.pop();
        int c = top.second, cx = c % kGrid, cy = c / kGrid;
        if (top.first != flow[c].cost) continue;
        for (int dy = -1; dy <= 1; ++dy)
            for (int dx = -1; dx <= 1; ++dx) {
                int x = cx + dx, y = cy + dy;
                if ((!dx && !dy) || x < 0 || y < 0 || x >= kGrid || y >= kGrid) continue;
                flow_cell& n = flow[y * kGrid + x];
                if (n.wall) continue;
                if (dx && dy && (flow[cy * kGrid + x].wall || flow[y * kGrid + cx].wall)) continue;
                int cost = top.first + (dx && dy ? 14 : 10);
                if (n.cost >= 0 && n.cost <= cost) continue;
                float inv = 1.0f / std::sqrt((float)(dx * dx + dy * dy));
                n.cost = cost;
                n.exit_id = flow[c].exit_id;
                n.dir = make_float2(-dx * inv, -dy * inv);
                open.push({cost, y * kGrid + x});
            }
    }
}

static void seat_agents(world& w) {
    for (int i = 0; i < w.num_agents;) {
        float r = std::sqrt(kInner * kInner + frand() * (kOuter * kOuter - kInner * kInner));
        float t = frand() * 6.28318531f;
        float2 p = make_float2(kCentre + r * std::cos(t), kCentre + r * std::sin(t));
        if (w.flow[cell_of(p)].cost < 0) continue;
        agent& a = w.agents[i];
        memset(&a, 0, sizeof a);
        a.pos = p;
        a.radius = 0.2f + 0.1f * frand();
        a.desired_speed = 1.0f + 1.2f * frand();
        a.reaction_time = 6.0f * frand() * frand();
        a.exit_id = -1;
        a.exit_step = -1;
        a.group = (char)(i / 4 % 100);
        a.state = SEATED;
        ++i;
    }
}

static void simulate_step(const world& w, int step, float dt) {
    const int tpb = 256, ga = (w.num_agents + tpb - 1) / tpb, gc = kCells / tpb;
    check(cudaMemsetAsync(w.bins, 0, kCells * sizeof(cell_bin)));
    check(cudaMemsetAsync(w.cursor, 0, sizeof(int)));
    bin_count<<<ga, tpb>>>(w);
    bin_allocate<<<gc, tpb>>>(w);
    bin_scatter<<<ga, tpb>>>(w);
    bin_sort<<<gc, tpb>>>(w);
    social_forces<<<ga, 128 * 2>>>(w, step, dt);
    move_agents<<<ga, tpb>>>(w, step, dt);
    check(cudaGetLastError());
}

int main(int argc, char** argv) {
    world w;
    w.num_agents = argc > 1 ? atoi(argv[1]) : 500000;
    int steps = argc > 2 ? atoi(argv[2]) : 150;
    const float dt = 0.2f;

    check(cudaMallocManaged(&w.agents, w.num_agents * sizeof(agent)));
    check(cudaMallocManaged(&w.flow, kCells * sizeof(flow_cell)));
    check(cudaMallocManaged(&w.bins, kCells * sizeof(cell_bin)));
    check(cudaMallocManaged(&w.lists, w.num_agents * sizeof(int)));
    check(cudaMallocManaged(&w.cursor, sizeof(int)));
    check(cudaMallocManaged(&w.exit_counts, kNumExits * sizeof(int)));
    build_flow_field(w.flow);
    seat_agents(w);
    memset(w.exit_counts, 0, kNumExits * sizeof(int));

    simulate_step(w, 0, dt);            // first touch moves the pages to the GPU
    check(cudaDeviceSynchronize());

    cudaEvent_t t0, t1;
    check(cudaEventCreate(&t0));
    check(cudaEventCreate(&t1));
    check(cudaEventRecord(t0));
    for (int s = 1; s <= steps; ++s) simulate_step(w, s, dt);
    check(cudaEventRecord(t1));
    check(cudaEventSynchronize(t1));
    float ms;
    check(cudaEventElapsedTime(&ms, t0, t1));

    long long px = 0, py = 0, out = 0, exit_steps = 0, seated = 0, crowd = 0, left_cost = 0;
    for (int i = 0; i < w.num_agents; ++i) {
        const agent& a = w.agents[i];
        px += llroundf(a.pos.x * 64.f);
        py += llroundf(a.pos.y * 64.f);
        crowd += a.crowding;
        if (a.state == EVACUATED) { ++out; exit_steps += a.exit_step; }
        else left_cost += w.flow[cell_of(a.pos)].cost;
        seated += a.state == SEATED;
    }
    int lo = w.exit_counts[0], hi = lo;
    for (int k = 1; k < kNumExits; ++k) {
        lo = w.exit_counts[k] < lo ? w.exit_counts[k] : lo;
        hi = w.exit_counts[k] > hi ? w.exit_counts[k] : hi;
    }
    printf("check pos_x %lld\ncheck pos_y %lld\n", px, py);
    printf("check evacuated %lld\ncheck exit_steps %lld\n", out, exit_steps);
    printf("check seated %lld\ncheck crowding %lld\n", seated, crowd);
    printf("check remaining_distance %lld\n", left_cost);
    printf("check exit_min_max %d:%d\n", lo, hi);
    printf("time_ms %f\n", ms);

    for (void* p : {(void*)w.agents, (void*)w.flow, (void*)w.bins, (void*)w.lists, (void*)w.cursor, (void*)w.exit_counts})
        check(cudaFree(p));
    check(cudaEventDestroy(t0));
    check(cudaEventDestroy(t1));
    return 0;
}
