// Steady-state hydraulics and chlorine transport on a large municipal water
// network: linearised Hazen-Williams conductances on the pipes, Jacobi sweeps on
// the junction heads, then upwind mixing of the disinfectant.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

static void check(cudaError_t e, const char *what)
{
    if (e != cudaSuccess) {
        std::fprintf(stderr, "%s failed: %s\n", what, cudaGetErrorString(e));
        std::exit(2);
    }
}

enum JunctionKind { kDemand = 0, kReservoir = 1, kTank = 2 };

struct Junction {
    float head;
    float nextHead;
    float demand;
    float elevation;
    float chlorine;
    float nextChlorine;
    float imbalance;
    int firstLink;
    int linkCount;
    int kind;
};

struct Pipe {
    int from;
    int to;
    float length;
    float diameter;
    float roughness;
    float conductance;
    float flow;      // positive from -> to
    float velocity;
    float decay;     // bulk + wall decay over the length of the pipe
    int status;      // 1 = open, 0 = closed
};

__global__ void linearise(const Junction *__restrict__ nodes, Pipe *__restrict__ pipes, int nPipes)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= nPipes) return;
    if (!pipes[p].status) {
        pipes[p].conductance = 0.0f;
        pipes[p].flow = 0.0f;
        return;
    }
    float dh = nodes[pipes[p].from].head - nodes[pipes[p].to].head;
    float d = pipes[p].diameter;
    float resist = 10.67f * pipes[p].length /
                   (powf(pipes[p].roughness, 1.852f) * powf(d, 4.87f));
    float mag = fmaxf(fabsf(dh), 1e-3f);
    float q = powf(mag / resist, 0.54f);
    float g = q / mag;
    pipes[p].conductance = g;
    pipes[p].flow = g * dh;
}

__global__ void jacobiSweep(Junction *nodes, const Pipe *pipes, const int *links, int nNodes)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= nNodes) return;
    Junction &me = nodes[i];
    if (me.kind == kReservoir) {
        me.nextHead = me.head;
        return;
    }
    float sum = 0.0f, weight = 0.0f;
    for (int k = 0; k < me.linkCount; ++k) {
        const Pipe &p = pipes[links[me.firstLink + k]];
        int other = p.from == i ? p.to : p.from;
        sum += p.conductance * nodes[other].head;
        weight += p.conductance;
    }
    if (weight > 1e-12f)
        me.nextHead = me.head + 0.8f * ((sum - me.demand) / weight - me.head);
    else
        me.nextHead = me.head;
    me.nextHead = fmaxf(me.nextHead, me.elevation);
}

__global__ void commitHeads(Junction *nodes, int nNodes)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < nNodes) nodes[i].head = nodes[i].nextHead;
}

__global__ void pipeVelocities(Pipe *pipes, const Junction *nodes, int nPipes)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= nPipes) return;
    float dh = nodes[pipes[p].from].head - nodes[pipes[p].to].head;
    float q = pipes[p].conductance * dh;
    float area = 0.785398f * pipes[p].diameter * pipes[p].diameter;
    float v = q / area;
    pipes[p].flow = q;
    pipes[p].velocity = v;
    float travel = pipes[p].length / fmaxf(fabsf(v), 0.01f);
    pipes[p].decay = expf(-6.0e-6f * travel);
}

__global__ void mixChlorine(Junction *nodes, const Pipe *pipes, const int *links, int nNodes)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= nNodes) return;
    const int first = nodes[i].firstLink, count = nodes[i].linkCount;
    float inflow = 0.0f, mass = 0.0f, net = 0.0f;
    for (int k = 0; k < count; ++k) {
        int id = links[first + k];
        float q = pipes[id].flow;
        int other = pipes[id].from;
        if (other == i) {
            q = -q;
            other = pipes[id].to;
        }
        net += q;
        if (q > 0.0f) {
            inflow += q;
            mass += q * pipes[id].decay * nodes[other].chlorine;
        }
    }
    nodes[i].imbalance = net - nodes[i].demand;
    if (nodes[i].kind == kReservoir)
        nodes[i].nextChlorine = 1.0f;
    else if (inflow > 1e-9f)
        nodes[i].nextChlorine = mass / inflow;
    else
        nodes[i].nextChlorine = 0.999f * nodes[i].chlorine;
}

__global__ void commitChlorine(Junction *nodes, int nNodes)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < nNodes) nodes[i].chlorine = nodes[i].nextChlorine;
}

int main()
{
    const int side = 800;
    const int nNodes = side * side;
    std::mt19937 rng(20240117);
    auto uniform = [&rng](float lo, float hi) {
        return lo + (hi - lo) * (float)(rng() >> 8) * (1.0f / 16777216.0f);
    };

    // junction numbers were handed out district by district, in no particular order
    std::vector<int> number(nNodes);
    std::iota(number.begin(), number.end(), 0);
    const int district = 5000;
    for (int base = 0; base < nNodes; base += district) {
        int len = std::min(district, nNodes - base);
        for (int k = len - 1; k > 0; --k)
            std::swap(number[base + k], number[base + (int)(rng() % (unsigned)(k + 1))]);
    }

    struct Edge { int a, b; };
    std::vector<Edge> edges;
    edges.reserve((size_t)nNodes * 2);
    for (int y = 0; y < side; ++y)
        for (int x = 0; x < side; ++x) {
            int me = number[y * side + x];
            if (x + 1 < side && (rng() & 15u) != 0) edges.push_back({me, number[y * side + x + 1]});
            if (y + 1 < side && (rng() & 7u) != 0) edges.push_back({me, number[(y + 1) * side + x]});
            if ((rng() & 127u) == 0) {
                int fx = std::min(side - 1, x + 5), fy = std::min(side - 1, y + 3);
                if (number[fy * side + fx] != me) edges.push_back({me, number[fy * side + fx]});
            }
        }
    const int nPipes = (int)edges.size();

    Junction *nodes;
    Pipe *pipes;
    int *links;
    check(cudaMallocManaged(&nodes, sizeof(Junction) * (size_t)nNodes), "nodes");
    check(cudaMallocManaged(&pipes, sizeof(Pipe) * (size_t)nPipes), "pipes");
    check(cudaMallocManaged(&links, sizeof(int) * (size_t)nPipes * 2), "links");

    for (int i = 0; i < nNodes; ++i) {
        Junction &j = nodes[i];
        j.elevation = uniform(5.0f, 40.0f);
        j.head = j.nextHead = uniform(70.0f, 90.0f);
        j.demand = uniform(0.0f, 0.0008f);
        j.chlorine = j.nextChlorine = 0.6f;
        j.imbalance = 0.0f;
        j.linkCount = 0;
        j.firstLink = 0;
        j.kind = (rng() % 601u) == 0 ? kReservoir : kDemand;
        if (j.kind == kReservoir) j.head = j.nextHead = uniform(70.0f, 95.0f);
    }
    for (int p = 0; p < nPipes; ++p) {
        Pipe q{};
        q.from = edges[p].a;
        q.to = edges[p].b;
        q.length = uniform(40.0f, 300.0f);
        q.diameter = 0.1f + 0.05f * (float)(rng() % 7u);
        q.roughness = uniform(90.0f, 140.0f);
        q.decay = 1.0f;
        q.status = (rng() % 50u) != 0;
        pipes[p] = q;
        nodes[q.from].linkCount++;
        nodes[q.to].linkCount++;
    }
    std::vector<int> cursor(nNodes);
    int offset = 0;
    for (int i = 0; i < nNodes; ++i) {
        nodes[i].firstLink = cursor[i] = offset;
        offset += nodes[i].linkCount;
    }
    for (int p = 0; p < nPipes; ++p) {
        links[cursor[pipes[p].from]++] = p;
        links[cursor[pipes[p].to]++] = p;
    }

    const int threads = 192;
    const int nodeBlocks = (nNodes + threads - 1) / threads;
    const int pipeBlocks = (nPipes + threads - 1) / threads;
    auto hour = [&]() {
        linearise<<<pipeBlocks, threads>>>(nodes, pipes, nPipes);
        for (int sweep = 0; sweep < 4; ++sweep) {
            jacobiSweep<<<nodeBlocks, threads>>>(nodes, pipes, links, nNodes);
            commitHeads<<<nodeBlocks, threads>>>(nodes, nNodes);
        }
        pipeVelocities<<<pipeBlocks, threads>>>(pipes, nodes, nPipes);
        mixChlorine<<<nodeBlocks, threads>>>(nodes, pipes, links, nNodes);
        commitChlorine<<<nodeBlocks, threads>>>(nodes, nNodes);
    };

    hour();
    check(cudaDeviceSynchronize(), "warm-up");
    const int reps = 12;
    cudaEvent_t t0, t1;
    check(cudaEventCreate(&t0), "event");
    check(cudaEventCreate(&t1), "event");
    check(cudaEventRecord(t0), "record");
    for (int r = 0; r < reps; ++r) hour();
    check(cudaEventRecord(t1), "record");
    check(cudaEventSynchronize(t1), "run");
    float ms = 0.0f;
    check(cudaEventElapsedTime(&ms, t0, t1), "elapsed");

    double head = 0.0, cl = 0.0, speed = 0.0;
    for (int i = 0; i < nNodes; ++i) { head += nodes[i].head; cl += nodes[i].chlorine; }
    for (int p = 0; p < nPipes; ++p) speed += std::fabs(pipes[p].velocity);
    std::printf("check %.2f/%.3f/%.3f/%d\n", head / nNodes, cl / nNodes, speed / nPipes, nPipes);
    std::printf("time_ms %.4f\n", ms / reps);
    for (void *m : {(void *)nodes, (void *)pipes, (void *)links}) cudaFree(m);
    return 0;
}
