// Taxi routing on a large synthetic network of taxiways: cost-to-gate by
// repeated relaxation, then aircraft greedily follow the cheapest exits.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { \
    printf("CUDA error %s at line %d\n", cudaGetErrorString(e), __LINE__); exit(1); } } while (0)

typedef unsigned char u8;
typedef unsigned short u16;

struct Junction {
    float x, y;
    int first;        // first outgoing segment
    int degree;
    int holdTenths;   // hold time, tenths of a second
    u8 kind;          // 0 plain, 1 runway crossing, 2 gate, 3 apron
    u8 tower;
    u16 zone;
};

struct Segment {
    int to;
    float length;
    float speed;
    u8 closed;
    u8 wingClass;
    u16 name;
};

struct Aircraft {
    int at;
    int hops;
    float travelled;
    float fuel;
    float burn;
    int waitTenths;
    u8 wingClass;
    u8 parked;
    u16 flight;
    int origin;
};

const int SIDE = 800;
const int NJ = SIDE * SIDE;
const int DEG = 6;
const int NA = 1500000;
const int FAR = 1 << 28;

__device__ int costTenths(const Segment& s)
{
    return (int)(10.0f * s.length / s.speed);
}

__global__ void relax(const Junction* junctions, const Segment* segs, const int* costIn, int* costOut, int n)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= n) return;
    int best = costIn[j];
    int first = junctions[j].first;
    int deg = junctions[j].degree;
    int hold = junctions[j].holdTenths;
    for (int k = first; k < first + deg; k++) {
        const Segment& s = segs[k];
        if (s.closed) continue;
        int c = costIn[s.to] + costTenths(s) + hold;
        if (c < best) best = c;
    }
    costOut[j] = best;
}

__global__ void taxi(Aircraft* planes, const Junction* junctions, const Segment* segs, const int* cost, int n, int hops)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Aircraft a = planes[i];
    if (a.parked) {
        a.at = a.origin;
        a.parked = 0;
    }
    for (int h = 0; h < hops; h++) {
        Junction jn = junctions[a.at];
        if (jn.kind == 2) {
            a.parked = 1;
            break;
        }
        a.waitTenths += jn.holdTenths;
        int pick = -1, bestCost = FAR * 2;
        for (int k = 0; k < jn.degree; k++) {
            Segment s = segs[jn.first + k];
            if (s.closed || s.wingClass < a.wingClass) continue;
            int c = cost[s.to] + costTenths(s);
            if (c < bestCost) {
                bestCost = c;
                pick = jn.first + k;
            }
        }
        if (pick < 0) break;
        a.travelled += segs[pick].length;
        a.fuel -= a.burn * segs[pick].length;
        a.at = segs[pick].to;
        a.hops++;
    }
    planes[i] = a;
}

__global__ void zoneLoad(const Aircraft* planes, const Junction* junctions, int n, int* load)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int at = planes[i].at;
    atomicAdd(&load[junctions[at].zone], 1);
}

static unsigned rngState = 12345u;
static unsigned rnd()
{
    rngState ^= rngState << 13;
    rngState ^= rngState >> 17;
    rngState ^= rngState << 5;
    return rngState;
}

int main()
{
    std::vector<Junction> junc(NJ);
    std::vector<Segment> segs;
    segs.reserve((size_t)NJ * DEG);
    std::vector<int> cost(NJ, FAR);
    // junction numbers are scattered over the map, as in a drawn network
    std::vector<int> label(NJ);
    for (int i = 0; i < NJ; i++) label[i] = i;
    for (int i = NJ - 1; i > 0; i--) {
        int k = rnd() % (i + 1);
        int t = label[i]; label[i] = label[k]; label[k] = t;
    }
    std::vector<int> place(NJ);
    for (int i = 0; i < NJ; i++) place[label[i]] = i;

    const int dx[DEG] = {1, -1, 0, 0, 1, -1};
    const int dy[DEG] = {0, 0, 1, -1, 1, -1};
    for (int j = 0; j < NJ; j++) {
        int px = place[j] % SIDE, py = place[j] / SIDE;
        Junction& q = junc[j];
        q.x = px * 40.0f;
        q.y = py * 40.0f;
        q.first = (int)segs.size();
        q.holdTenths = rnd() % 30;
        q.kind = (px % 25 == 12 && py % 25 == 12) ? 2 : (rnd() % 20 == 0 ? 1 : 0);
        q.tower = (u8)(rnd() % 4);
        q.zone = (u16)((py / 10) * (SIDE / 10) + px / 10);
        if (q.kind == 2) cost[j] = 0;
        for (int d = 0; d < DEG; d++) {
            int nx = px + dx[d], ny = py + dy[d];
            if (nx < 0 || ny < 0 || nx >= SIDE || ny >= SIDE) continue;
            Segment s;
            s.to = label[ny * SIDE + nx];
            s.length = 40.0f + rnd() % 30;
            s.speed = 5.0f + rnd() % 10;
            s.closed = rnd() % 16 == 0;
            s.wingClass = (u8)(2 + rnd() % 4);
            s.name = (u16)(rnd() % 1000);
            segs.push_back(s);
        }
        q.degree = (int)segs.size() - q.first;
    }
    std::vector<Aircraft> planes(NA);
    for (int i = 0; i < NA; i++) {
        Aircraft& a = planes[i];
        a.origin = a.at = rnd() % NJ;
        a.hops = 0;
        a.travelled = 0;
        a.fuel = 20000.0f + rnd() % 5000;
        a.burn = 0.01f + 0.001f * (rnd() % 10);
        a.waitTenths = 0;
        a.wingClass = (u8)(1 + rnd() % 2);
        a.parked = 0;
        a.flight = (u16)(i % 9999);
    }

    const int zones = (SIDE / 10) * (SIDE / 10);
    Junction* dj; Segment* ds; Aircraft* da; int *c0, *c1, *load;
    CK(cudaMalloc(&dj, NJ * sizeof(Junction)));
    CK(cudaMalloc(&ds, segs.size() * sizeof(Segment)));
    CK(cudaMalloc(&da, NA * sizeof(Aircraft)));
    CK(cudaMalloc(&c0, NJ * sizeof(int)));
    CK(cudaMalloc(&c1, NJ * sizeof(int)));
    CK(cudaMalloc(&load, zones * sizeof(int)));
    CK(cudaMemcpy(dj, junc.data(), NJ * sizeof(Junction), cudaMemcpyHostToDevice));
    CK(cudaMemcpy(ds, segs.data(), segs.size() * sizeof(Segment), cudaMemcpyHostToDevice));
    CK(cudaMemcpy(da, planes.data(), NA * sizeof(Aircraft), cudaMemcpyHostToDevice));
    CK(cudaMemcpy(c0, cost.data(), NJ * sizeof(int), cudaMemcpyHostToDevice));
    CK(cudaMemset(load, 0, zones * sizeof(int)));

    const int TB = 128, REPS = 40;
    cudaEvent_t beg, end;
    CK(cudaEventCreate(&beg));
    CK(cudaEventCreate(&end));
    for (int rep = -10; rep < REPS; rep++) {
        if (rep == 0) CK(cudaEventRecord(beg));
        relax<<<(NJ + TB - 1) / TB, TB>>>(dj, ds, c0, c1, NJ);
        relax<<<(NJ + TB - 1) / TB, TB>>>(dj, ds, c1, c0, NJ);
        taxi<<<(NA + TB - 1) / TB, TB>>>(da, dj, ds, c0, NA, 4);
        zoneLoad<<<(NA + TB - 1) / TB, TB>>>(da, dj, NA, load);
    }
    CK(cudaEventRecord(end));
    CK(cudaEventSynchronize(end));
    CK(cudaGetLastError());
    float ms = 0;
    CK(cudaEventElapsedTime(&ms, beg, end));

    CK(cudaMemcpy(planes.data(), da, NA * sizeof(Aircraft), cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(cost.data(), c0, NJ * sizeof(int), cudaMemcpyDeviceToHost));
    std::vector<int> hl(zones);
    CK(cudaMemcpy(hl.data(), load, zones * sizeof(int), cudaMemcpyDeviceToHost));
    long long csum = 0, hsum = 0, wsum = 0, lsum = 0;
    double trav = 0, fuel = 0;
    for (int c : cost) csum += c;
    for (const Aircraft& a : planes) { hsum += a.hops; wsum += a.waitTenths; trav += a.travelled; fuel += a.fuel; }
    for (int z = 0; z < zones; z++) lsum += (long long)hl[z] * (z % 17);
    printf("check cost %lld\ncheck hops %lld\ncheck wait %lld\ncheck load %lld\n", csum, hsum, wsum, lsum);
    printf("check travelled %.6g\ncheck fuel %.6g\n", trav, fuel);
    printf("time_ms %.5f\n", ms / REPS);
    return 0;
}
