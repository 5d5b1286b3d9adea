// Vehicle routing local search: evaluates every 2-opt move inside each route and every
// insertion of an unserved stop, then applies the best 2-opt move per vehicle.
// All distances are integers, so results do not depend on floating point rounding.
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

#ifndef VEHICLES
#define VEHICLES 768
#endif
#define ROUTE_LEN 48            // stops per initial route
#define OPEN_STOPS 4096         // stops not on any route yet
#define NSTOPS (VEHICLES * ROUTE_LEN + OPEN_STOPS)
#define DEPOTS 4

struct Window { int open, close; };

struct Stop {
    short x, y;
    Window tw[2];
    int demand;
    int service;
    float penalty;
    int customer;
    unsigned char priority;
    char zone[7];
};

struct Vehicle {
    int first;                  // offset into the route array
    int count;
    int capacity;
    int load;
    int length;                 // tour length in metres
    int late;
    double cost;
    float costPerKm;
    float costPerHour;
    short depot;
    short kind;
};

struct RouteNode {
    int stop;
    int arrive;
    int dist;                   // cumulated from depot
    int load;
};

struct Move {
    int gain;
    int vehicle;
    short i, j;
};

struct Depot { short x, y; int open; };

// everything the kernels need
struct Problem {
    Stop* stops;
    Vehicle* vehicles;
    RouteNode* route;
    Move* best2opt;
    Move* bestInsert;
    Depot* depots;
    long long* stats;
};

#define GPU_OK(call)                                                        \
    if (cudaError_t err__ = (call)) {                                       \
        fprintf(stderr, "%s -> %s\n", #call, cudaGetErrorString(err__));    \
        return 2;                                                           \
    }

__device__ int travel(int ax, int ay, int bx, int by) {
    int dx = ax - bx, dy = ay - by;
    return (int)floorf(sqrtf((float)(dx * dx + dy * dy)));   // |dx|,|dy| < 2048: exact argument
}

__device__ bool better(const Move& a, const Move& b) {
    if (a.gain != b.gain) return a.gain > b.gain;
    if (a.vehicle != b.vehicle) return a.vehicle < b.vehicle;
    if (a.i != b.i) return a.i < b.i;
    return a.j < b.j;
}

// Serial forward pass of one route per thread.
__global__ void schedule_routes(Problem p) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= VEHICLES) return;
    Vehicle& veh = p.vehicles[v];
    const Depot dep = p.depots[veh.depot];
    int x = dep.x, y = dep.y, t = dep.open, d = 0, load = 0, late = 0;
    for (int k = 0; k < veh.count; ++k) {
        RouteNode& node = p.route[veh.first + k];
        const Stop& s = p.stops[node.stop];
        int leg = travel(x, y, s.x, s.y);
        d += leg;
        t += leg;
        // pick the first window that is still reachable
        int w = t <= s.tw[0].close ? 0 : 1;
        if (t < s.tw[w].open) t = s.tw[w].open;
        if (t > s.tw[w].close) late += t - s.tw[w].close;
        node.arrive = t;
        node.dist = d;
        load += s.demand;
        node.load = load;
        t += s.service;
        x = s.x;
        y = s.y;
    }
    d += travel(x, y, dep.x, dep.y);
    veh.length = d;
    veh.load = load;
    veh.late = late;
    veh.cost = d * 0.001 * veh.costPerKm + late / 60.0 * veh.costPerHour;
}

// One block per vehicle, threads over the (i, j) pairs, shared memory copy of the route.
__global__ void two_opt(Problem p) {
    __shared__ int sx[ROUTE_LEN + 2], sy[ROUTE_LEN + 2];
    __shared__ Move sbest[128];
    const int v = blockIdx.x;
    const int first = p.vehicles[v].first;
    const int n = p.vehicles[v].count;
    const Depot dep = p.depots[p.vehicles[v].depot];
    for (int k = threadIdx.x; k < n + 2; k += blockDim.x) {
        if (k == 0 || k == n + 1) {
            sx[k] = dep.x;
            sy[k] = dep.y;
        } else {
            const Stop& s = p.stops[p.route[first + k - 1].stop];
            sx[k] = s.x;
            sy[k] = s.y;
        }
    }
    __syncthreads();
    Move mine = {0, v, -1, -1};
    for (int q = threadIdx.x; q < n * n; q += blockDim.x) {
        int i = q / n + 1, j = q % n + 1;    // reverse positions i..j
        if (j <= i) continue;
        int before = travel(sx[i - 1], sy[i - 1], sx[i], sy[i]) + travel(sx[j], sy[j], sx[j + 1], sy[j + 1]);
        int after = travel(sx[i - 1], sy[i - 1], sx[j], sy[j]) + travel(sx[i], sy[i], sx[j + 1], sy[j + 1]);
        Move m = {before - after, v, (short)(i - 1), (short)(j - 1)};
        if (m.gain > 0 && better(m, mine)) mine = m;
    }
    sbest[threadIdx.x] = mine;
    __syncthreads();
    for (int o = blockDim.x / 2; o > 0; o /= 2) {
        if (threadIdx.x < o && better(sbest[threadIdx.x + o], sbest[threadIdx.x]))
            sbest[threadIdx.x] = sbest[threadIdx.x + o];
        __syncthreads();
    }
    if (threadIdx.x == 0) p.best2opt[v] = sbest[0];
}

// blockIdx.y = slice of vehicles, x = open stops. Partial bests, one per (slice, stop).
__global__ void insertion(Problem p, int slices) {
    int o = blockIdx.x * blockDim.x + threadIdx.x;
    if (o >= OPEN_STOPS) return;
    const Stop& s = p.stops[VEHICLES * ROUTE_LEN + o];
    const int px = s.x, py = s.y, need = s.demand, close = s.tw[1].close;
    Move best = {INT_MIN, VEHICLES, -1, -1};
    for (int v = blockIdx.y; v < VEHICLES; v += slices) {
        const Vehicle& veh = p.vehicles[v];
        if (veh.load + need > veh.capacity) continue;
        const Depot& dep = p.depots[veh.depot];
        int ax = dep.x, ay = dep.y;
        // positions after the window has closed are useless: arrive times are sorted
        int lo = 0, hi = veh.count;
        while (lo < hi) {
            int mid = (lo + hi) / 2;
            if (p.route[veh.first + mid].arrive <= close) lo = mid + 1; else hi = mid;
        }
        int toNew = travel(ax, ay, px, py);
        for (int k = 0; k < lo; ++k) {
            const Stop& b = p.stops[p.route[veh.first + k].stop];
            int fromNew = travel(px, py, b.x, b.y);
            int extra = toNew + fromNew - travel(ax, ay, b.x, b.y);
            Move m = {-extra, v, (short)k, (short)o};
            if (better(m, best)) best = m;
            ax = b.x;
            ay = b.y;
            toNew = fromNew;
        }
    }
    p.bestInsert[blockIdx.y * OPEN_STOPS + o] = best;
}

__global__ void apply_moves(Problem p, int slices) {
    const int tid = blockIdx.x * blockDim.x + threadIdx.x;
    if (tid < VEHICLES) {
        const Move m = p.best2opt[tid];
        if (m.gain > 0) {
            int a = p.vehicles[tid].first + m.i, b = p.vehicles[tid].first + m.j;
            for (; a < b; ++a, --b) {
                int t = p.route[a].stop;
                p.route[a].stop = p.route[b].stop;
                p.route[b].stop = t;
            }
            atomicAdd((unsigned long long*)&p.stats[0], (unsigned long long)m.gain);
            atomicAdd((unsigned long long*)&p.stats[1], 1ull);
        }
    }
    if (tid < OPEN_STOPS) {
        Move best = p.bestInsert[tid];
        for (int s = 1; s < slices; ++s)
            if (better(p.bestInsert[s * OPEN_STOPS + tid], best)) best = p.bestInsert[s * OPEN_STOPS + tid];
        if (best.vehicle < VEHICLES)
            atomicAdd((unsigned long long*)&p.stats[2], (unsigned long long)(-best.gain * p.stops[VEHICLES * ROUTE_LEN + tid].priority));
    }
}

static unsigned seed = 4711;
static int rnd(int n) { seed = seed * 1103515245u + 12345u; return (int)((seed >> 12) % (unsigned)n); }

template <class T> static cudaError_t upload(T** dst, const T* src, size_t n) {
    cudaError_t e = cudaMalloc(dst, n * sizeof(T));
    return e != cudaSuccess ? e : cudaMemcpy(*dst, src, n * sizeof(T), cudaMemcpyHostToDevice);
}

int main() {
    const int slices = 32;
    static Stop stops[NSTOPS];
    static Vehicle vehicles[VEHICLES];
    static RouteNode route[VEHICLES * ROUTE_LEN];
    Depot depots[DEPOTS] = {{500, 500, 6000}, {1500, 500, 6300}, {500, 1500, 6000}, {1500, 1500, 6600}};
    for (int i = 0; i < NSTOPS; ++i) {
        Stop& s = stops[i];
        s.x = (short)rnd(2000);
        s.y = (short)rnd(2000);
        int t = 6000 + rnd(20000);
        s.tw[0] = {t, t + 1200 + rnd(3000)};
        s.tw[1] = {s.tw[0].close + 3000, s.tw[0].close + 9000};
        s.demand = 1 + rnd(30);
        s.service = 60 + rnd(400);
        s.penalty = 0.1f * rnd(100);
        s.customer = 100000 + i;
        s.priority = (unsigned char)(1 + rnd(3));
        snprintf(s.zone, sizeof s.zone, "Z%03d", rnd(999));
    }
    for (int v = 0; v < VEHICLES; ++v) {
        Vehicle& t = vehicles[v];
        memset(&t, 0, sizeof t);
        t.first = v * ROUTE_LEN;
        t.count = ROUTE_LEN - rnd(12);
        t.capacity = 700 + rnd(300);
        t.costPerKm = 0.8f + 0.01f * rnd(40);
        t.costPerHour = 30.0f + rnd(10);
        t.depot = (short)rnd(DEPOTS);
        t.kind = (short)rnd(3);
        for (int k = 0; k < ROUTE_LEN; ++k) route[t.first + k] = {t.first + k, 0, 0, 0};
    }
    Problem p;
    GPU_OK(upload(&p.stops, stops, NSTOPS));
    GPU_OK(upload(&p.vehicles, vehicles, VEHICLES));
    GPU_OK(upload(&p.route, route, VEHICLES * ROUTE_LEN));
    GPU_OK(upload(&p.depots, depots, DEPOTS));
    GPU_OK(cudaMalloc(&p.best2opt, VEHICLES * sizeof(Move)));
    GPU_OK(cudaMalloc(&p.bestInsert, slices * OPEN_STOPS * sizeof(Move)));
    GPU_OK(cudaMalloc(&p.stats, 3 * sizeof(long long)));
    GPU_OK(cudaMemset(p.stats, 0, 3 * sizeof(long long)));

    cudaEvent_t start, stop;
    GPU_OK(cudaEventCreate(&start));
    GPU_OK(cudaEventCreate(&stop));
    const int rounds = 20;
    for (int r = 0; r <= rounds; ++r) {
        if (r == 1) GPU_OK(cudaEventRecord(start));
        schedule_routes<<<(VEHICLES + 63) / 64, 64>>>(p);
        two_opt<<<VEHICLES, 128>>>(p);
        insertion<<<dim3((OPEN_STOPS + 127) / 128, slices), 128>>>(p, slices);
        apply_moves<<<((OPEN_STOPS > VEHICLES ? OPEN_STOPS : VEHICLES) + 127) / 128, 128>>>(p, slices);
    }
    GPU_OK(cudaEventRecord(stop));
    GPU_OK(cudaEventSynchronize(stop));
    GPU_OK(cudaGetLastError());
    float ms = 0;
    GPU_OK(cudaEventElapsedTime(&ms, start, stop));
    long long stats[3];
    GPU_OK(cudaMemcpy(stats, p.stats, sizeof stats, cudaMemcpyDeviceToHost));
    GPU_OK(cudaMemcpy(vehicles, p.vehicles, sizeof vehicles, cudaMemcpyDeviceToHost));
    double cost = 0;
    for (const Vehicle& v : vehicles) cost += v.cost;
    cudaFree(p.stops); cudaFree(p.vehicles); cudaFree(p.route); cudaFree(p.depots);
    cudaFree(p.best2opt); cudaFree(p.bestInsert); cudaFree(p.stats);
    printf("check %lld/%lld/%lld/%.3e\n", stats[0], stats[1], stats[2], cost);
    printf("time_ms %f\n", ms / rounds);
    return 0;
}
