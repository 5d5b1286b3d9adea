// Multi-agent pedestrian evacuation: social-force agents on a building floor,
// floor-field navigation, diffusing smoke, exits with finite counters.
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <queue>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace evac {

inline void check(cudaError_t e, const char* what) {
    if (e != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
}

template <class T>
class DeviceBuffer {
public:
    explicit DeviceBuffer(size_t n) : n_(n) { check(cudaMalloc(&p_, n * sizeof(T)), "malloc"); }
    explicit DeviceBuffer(const std::vector<T>& v) : DeviceBuffer(v.size()) { upload(v); }
    DeviceBuffer(const DeviceBuffer&) = delete;
    DeviceBuffer& operator=(const DeviceBuffer&) = delete;
    ~DeviceBuffer() { cudaFree(p_); }
    void upload(const std::vector<T>& v) { check(cudaMemcpy(p_, v.data(), n_ * sizeof(T), cudaMemcpyHostToDevice), "h2d"); }
    std::vector<T> download() const {
        std::vector<T> v(n_);
        check(cudaMemcpy(v.data(), p_, n_ * sizeof(T), cudaMemcpyDeviceToHost), "d2h");
        return v;
    }
    void zero() { check(cudaMemset(p_, 0, n_ * sizeof(T)), "memset"); }
    T* get() const { return p_; }
    size_t size() const { return n_; }

private:
    T* p_ = nullptr;
    size_t n_ = 0;
};

constexpr int W = 1024, H = 1024, CELLS = W * H;   // one cell = 1 m
constexpr int AGENTS = 600000;
constexpr int STEPS = 20;
constexpr int EXITS = 12;
constexpr float DT = 0.1f;

enum AgentState : int8_t { Calm = 0, Alert = 1, Panic = 2, Out = 3 };

struct Vec2 { float x, y; };

struct Agent {
    Vec2 pos;
    Vec2 vel;
    Vec2 acc;
    float desiredSpeed;
    float radius;
    float mass;
    float smokeDose;
    uint32_t rng;
    int cell;
    int exitTaken;
    short exitStep;
    int8_t state;
    int8_t group;
};

struct FloorCell {
    Vec2 dir;          // direction of steepest descent to the exit
    float smoke;
    float smokeNext;
    float source;
    int exitId;        // nearest exit
    short distance;
    uint8_t wall;
    uint8_t isExit;
};

struct CellList {
    int count;
    int start;
    int cursor;
};

struct ExitStat {
    int evacuated;
    int lastStep;
    unsigned long long doseMicro;
};

__device__ inline uint32_t xorshift(uint32_t& s) {
    s ^= s << 13; s ^= s >> 17; s ^= s << 5;
    return s;
}
__device__ inline float uniform(uint32_t& s) { return (xorshift(s) >> 8) * (1.0f / 16777216.0f); }

__global__ void diffuseSmoke(FloorCell* floor) {
    __shared__ float tile[18][18];
    const int x = blockIdx.x * 16 + threadIdx.x - 1;
    const int y = blockIdx.y * 16 + threadIdx.y - 1;
    const int cx = min(max(x, 0), W - 1), cy = min(max(y, 0), H - 1);
    const int c = cy * W + cx;
    tile[threadIdx.y][threadIdx.x] = floor[c].wall ? -1.0f : floor[c].smoke;
    __syncthreads();
    if (threadIdx.x == 0 || threadIdx.x == 17 || threadIdx.y == 0 || threadIdx.y == 17) return;
    const float me = tile[threadIdx.y][threadIdx.x];
    if (me < 0.0f) return;
    auto nb = [&](int dx, int dy) {
        float v = tile[threadIdx.y + dy][threadIdx.x + dx];
        return v < 0.0f ? me : v;
    };
    const float lap = nb(1, 0) + nb(-1, 0) + nb(0, 1) + nb(0, -1) - 4.0f * me;
    floor[c].smokeNext = fminf((me + 0.2f * lap) * 0.999f + floor[c].source, 50.0f);
}

__global__ void swapSmoke(FloorCell* floor) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < CELLS) floor[c].smoke = floor[c].smokeNext;
}

__global__ void binAgents(Agent* agents, CellList* lists) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= AGENTS || agents[i].state == Out) return;
    const Vec2 p = agents[i].pos;
    const int c = min(max(int(p.y), 0), H - 1) * W + min(max(int(p.x), 0), W - 1);
    agents[i].cell = c;
    atomicAdd(&lists[c].count, 1);
}

// start offsets need not be ordered between cells, so a global cursor is enough
__global__ void allocateCells(CellList* lists, int* total) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= CELLS) return;
    const int n = lists[c].count;
    const int s = n ? atomicAdd(total, n) : 0;
    lists[c].start = s;
    lists[c].cursor = s;
}

__global__ void fillCells(const Agent* agents, CellList* lists, int* members) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= AGENTS || agents[i].state == Out) return;
    members[atomicAdd(&lists[agents[i].cell].cursor, 1)] = i;
}

// makes the order inside each cell independent of scheduling
__global__ void sortCells(const CellList* lists, int* members) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= CELLS) return;
    const int n = lists[c].count;
    int* m = members + lists[c].start;
    for (int k = 1; k < n; ++k) {
        int v = m[k], j = k - 1;
        while (j >= 0 && m[j] > v) { m[j + 1] = m[j]; --j; }
        m[j + 1] = v;
    }
}

__global__ void socialForces(Agent* agents, const FloorCell* floor, const CellList* lists, const int* members) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= AGENTS || agents[i].state == Out) return;
    const Vec2 p = agents[i].pos, v = agents[i].vel;
    const float r = agents[i].radius, invM = 1.0f / agents[i].mass;
    const int c = agents[i].cell, cx = c % W, cy = c / W;
    const float boost = agents[i].state == Panic ? 1.6f : agents[i].state == Alert ? 1.2f : 1.0f;
    const float want = agents[i].desiredSpeed * boost / (1.0f + 0.02f * floor[c].smoke);
    const Vec2 d = floor[c].dir;
    float ax = (d.x * want - v.x) * 2.0f, ay = (d.y * want - v.y) * 2.0f;
    for (int yy = max(cy - 1, 0); yy <= min(cy + 1, H - 1); ++yy)
        for (int xx = max(cx - 1, 0); xx <= min(cx + 1, W - 1); ++xx) {
            const int q = yy * W + xx;
            if (floor[q].wall) {   // repulsion from the centre of the wall cell
                float dx = p.x - (xx + 0.5f), dy = p.y - (yy + 0.5f);
                float dist = sqrtf(dx * dx + dy * dy) + 1e-3f;
                float f = 6.0f * expf((0.7f - dist) / 0.2f);
                ax += f * dx / dist; ay += f * dy / dist;
                continue;
            }
            const int n = min(lists[q].count, 12), s = lists[q].start;
            for (int k = 0; k < n; ++k) {
                const int j = members[s + k];
                if (j == i) continue;
                const Vec2 pj = agents[j].pos;
                float dx = p.x - pj.x, dy = p.y - pj.y;
                float dist = sqrtf(dx * dx + dy * dy) + 1e-3f;
                float overlap = r + agents[j].radius - dist;
                float f = 120.0f * expf(overlap / 0.25f);
                if (overlap > 0.0f) f += 800.0f * overlap;
                ax += f * invM * dx / dist; ay += f * invM * dy / dist;
            }
        }
    const float a = sqrtf(ax * ax + ay * ay), lim = a > 8.0f ? 8.0f / a : 1.0f;
    agents[i].acc = Vec2{ax * lim, ay * lim};
}

__global__ void moveAgents(Agent* agents, const FloorCell* floor, ExitStat* exits, int step) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= AGENTS || agents[i].state == Out) return;
    Agent& a = agents[i];
    a.vel.x += a.acc.x * DT; a.vel.y += a.acc.y * DT;
    uint32_t s = a.rng;
    const float nx = a.pos.x + (a.vel.x + 0.2f * (uniform(s) - 0.5f)) * DT;
    const float ny = a.pos.y + (a.vel.y + 0.2f * (uniform(s) - 0.5f)) * DT;
    a.rng = s;
    const int c = min(max(int(ny), 0), H - 1) * W + min(max(int(nx), 0), W - 1);
    if (floor[c].wall) {
        a.vel = Vec2{0.0f, 0.0f};
    } else {
        a.pos = Vec2{nx, ny};
        a.smokeDose += floor[c].smoke * DT;
        if (floor[c].isExit) {
            const int e = floor[c].exitId;
            a.state = Out; a.exitTaken = e; a.exitStep = short(step);
            atomicAdd(&exits[e].evacuated, 1);
            atomicMax(&exits[e].lastStep, step);
            atomicAdd(&exits[e].doseMicro, (unsigned long long)(a.smokeDose * 1e6f));
            return;
        }
    }
    if (a.smokeDose > 2.0f) a.state = Panic;
    else if (a.smokeDose > 0.2f) a.state = Alert;
}

std::vector<FloorCell> makeBuilding() {
    std::vector<FloorCell> f(CELLS, FloorCell{});
    std::mt19937 g(2024);
    for (int y = 0; y < H; ++y)
        for (int x = 0; x < W; ++x) {
            bool border = x == 0 || y == 0 || x == W - 1 || y == H - 1;
            bool room = (x % 32 == 0 && y % 32 != 15 && y % 32 != 16) || (y % 32 == 0 && x % 32 != 15 && x % 32 != 16);
            f[y * W + x].wall = border || room;
            f[y * W + x].distance = 32767;
            f[y * W + x].exitId = -1;
        }
    std::queue<int> q;
    for (int e = 0; e < EXITS; ++e) {
        int bx = 32 * int(g() % 31) + 12, by = 32 * int(g() % 31) + 12;
        for (int k = 0; k < 16; ++k) {
            int c = (by + k / 4) * W + bx + k % 4;
            if (f[c].isExit) continue;
            f[c].isExit = 1; f[c].exitId = e; f[c].distance = 0; q.push(c);
        }
    }
    const int off[4] = {1, -1, W, -W};
    while (!q.empty()) {
        int c = q.front(); q.pop();
        for (int o : off) {
            int d = c + o;
            if (f[d].wall || f[d].distance != 32767) continue;
            f[d].distance = short(f[c].distance + 1); f[d].exitId = f[c].exitId;
            f[d].dir = Vec2{o == 1 ? -1.0f : o == -1 ? 1.0f : 0.0f, o == W ? -1.0f : o == -W ? 1.0f : 0.0f};
            q.push(d);
        }
    }
    for (int k = 0; k < 40; ++k) { int c = int(g() % CELLS); if (!f[c].wall) f[c].source = 5.0f; }
    return f;
}

std::vector<Agent> makeAgents(const std::vector<FloorCell>& f) {
    std::vector<Agent> a(AGENTS, Agent{});
    std::mt19937 g(7);
    std::uniform_real_distribution<float> u(0.0f, 1.0f);
    for (auto& p : a) {
        for (;;) {   // crowds: agents prefer the lower left part of the building
            p.pos = Vec2{W * std::pow(u(g), 1.3f), H * std::pow(u(g), 1.3f)};
            if (p.pos.x < W && p.pos.y < H && !f[int(p.pos.y) * W + int(p.pos.x)].wall) break;
        }
        p.desiredSpeed = 0.8f + 0.8f * u(g);
        p.radius = 0.18f + 0.07f * u(g);
        p.mass = 50.0f + 50.0f * u(g);
        p.rng = uint32_t(g()) | 1u;
        p.group = int8_t(g() % 5);
        p.exitTaken = -1; p.exitStep = -1;
    }
    return a;
}

int run() {
    auto hostFloor = makeBuilding();
    DeviceBuffer<FloorCell> floor(hostFloor);
    DeviceBuffer<Agent> agents(makeAgents(hostFloor));
    DeviceBuffer<CellList> lists(CELLS);
    DeviceBuffer<int> members(AGENTS), total(1);
    DeviceBuffer<ExitStat> exits(EXITS);
    exits.zero();
    const int tb = 256, ga = (AGENTS + tb - 1) / tb, gc = (CELLS + tb - 1) / tb;
    cudaEvent_t t0, t1;
    check(cudaEventCreate(&t0), "event"); check(cudaEventCreate(&t1), "event");
    check(cudaEventRecord(t0), "record");
    for (int s = 0; s < STEPS; ++s) {
        lists.zero(); total.zero();
        diffuseSmoke<<<dim3(W / 16, H / 16), dim3(18, 18)>>>(floor.get());
        swapSmoke<<<gc, tb>>>(floor.get());
        binAgents<<<ga, tb>>>(agents.get(), lists.get());
        allocateCells<<<gc, tb>>>(lists.get(), total.get());
        fillCells<<<ga, tb>>>(agents.get(), lists.get(), members.get());
        sortCells<<<gc, tb>>>(lists.get(), members.get());
        socialForces<<<ga, tb>>>(agents.get(), floor.get(), lists.get(), members.get());
        moveAgents<<<ga, tb>>>(agents.get(), floor.get(), exits.get(), s);
    }
    check(cudaEventRecord(t1), "record");
    check(cudaEventSynchronize(t1), "sync");
    check(cudaGetLastError(), "kernels");
    float ms = 0.0f;
    check(cudaEventElapsedTime(&ms, t0, t1), "elapsed");
    double sx = 0, sv = 0, dose = 0, smoke = 0;
    long out = 0, panic = 0, stepSum = 0, evac = 0; unsigned long long micro = 0;
    for (const auto& a : agents.download()) {
        sx += a.pos.x + 2.0 * a.pos.y; sv += std::sqrt(a.vel.x * a.vel.x + a.vel.y * a.vel.y); dose += a.smokeDose;
        out += a.state == Out; panic += a.state == Panic; stepSum += a.exitStep;
    }
    for (const auto& c : floor.download()) smoke += c.smoke;
    for (const auto& e : exits.download()) { evac += e.evacuated * (e.lastStep + 1L); micro += e.doseMicro; }
    std::printf("check position_sum %.6e\ncheck speed_sum %.5e\ncheck dose_sum %.5e\ncheck smoke_sum %.5e\n", sx, sv, dose, smoke);
    std::printf("check evacuated %ld\ncheck panic %ld\ncheck exit_steps %ld\ncheck exit_weight %ld\ncheck exit_dose %.5e\n",
                out, panic, stepSum, evac, double(micro));
    std::printf("time_ms %.4f\n", ms);
    return 0;
}

}  // namespace evac

int main() {
    try { return evac::run(); } catch (const std::exception& e) { std::fprintf(stderr, "%s\n", e.what()); return 1; }
}
