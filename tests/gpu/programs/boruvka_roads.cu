// CS 5220 final project: minimum spanning forest of a road network (Boruvka)
// Re-run for changing road costs ("traffic") every iteration.

#include <cstdio>
#include <cstdlib>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>

#define gpuErrchk(ans) { gpuAssert((ans), __FILE__, __LINE__); }
inline void gpuAssert(cudaError_t code, const char *file, int line, bool abort = true)
{
    if (code != cudaSuccess) {
        fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line);
        if (abort) exit(code);
    }
}

typedef unsigned long long u64;
#define NO_EDGE 0xffffffffffffffffULL

struct Vertex {
    u64 best;        // (weight << 32 | edge id) of the cheapest edge leaving the component
    int comp;        // representative of my component
    int next;        // hook target, only valid for representatives
    float x, y;      // km
    float elevation;
    int degree;
    unsigned int treeCost;   // cost of the MST edges hooked from here
    int timesRoot;
};

struct Edge {
    int u, v;
    unsigned int weight;
    int inTree;
    float lanes;
    int roadClass;   // 0 motorway .. 4 track
    int timesUsed;
};

// road cost from geometry, class and the traffic of this iteration; resets the tree flags
__global__ void computeWeights(Edge *edges, const Vertex *vertices, int m, int iter)
{
    int tid = blockIdx.x * blockDim.x + threadIdx.x;
    if (tid >= m) return;
    Edge e = edges[tid];
    float dx = vertices[e.u].x - vertices[e.v].x;
    float dy = vertices[e.u].y - vertices[e.v].y;
    float climb = fabsf(vertices[e.u].elevation - vertices[e.v].elevation);
    float len = sqrtf(dx * dx + dy * dy);
    unsigned int h = (unsigned int)tid * 2654435761u ^ (unsigned int)(iter * 40503);
    h ^= h >> 15;
    h *= 2246822519u;
    h ^= h >> 13;
    float traffic = 1.0f + (h & 255) / 256.0f * 2.0f / e.lanes;
    e.weight = (unsigned int)(1000.0f * (len * (1.0f + 0.25f * e.roadClass) * traffic + 0.01f * climb)) + 1u;
    e.inTree = 0;
    edges[tid] = e;
}

__global__ void initVertices(Vertex *vertices, int n)
{
    int tid = blockIdx.x * blockDim.x + threadIdx.x;
    if (tid >= n) return;
    vertices[tid].best = NO_EDGE;
    vertices[tid].comp = tid;
    vertices[tid].next = tid;
    vertices[tid].treeCost = 0;
}

__global__ void findCheapest(const Edge *edges, Vertex *vertices, int m)
{
    int tid = blockIdx.x * blockDim.x + threadIdx.x;
    if (tid >= m) return;
    int cu = vertices[edges[tid].u].comp;
    int cv = vertices[edges[tid].v].comp;
    if (cu == cv) return;
    u64 key = ((u64)edges[tid].weight << 32) | (unsigned int)tid;
    atomicMin(&vertices[cu].best, key);
    atomicMin(&vertices[cv].best, key);
}

__device__ int otherComponent(const Edge &e, const Vertex *vertices, int c)
{
    int cu = vertices[e.u].comp;
    return cu == c ? vertices[e.v].comp : cu;
}

__global__ void hookComponents(Edge *edges, Vertex *vertices, int n)
{
    int tid = blockIdx.x * blockDim.x + threadIdx.x;
    if (tid >= n) return;
    const Vertex *me = &vertices[tid];
    if (me->comp != tid) return;
    u64 key = me->best;
    if (key == NO_EDGE) return;
    int id = (int)(key & 0xffffffffu);
    int other = otherComponent(edges[id], vertices, tid);
    // two components that choose the same edge: the smaller one stays the root
    if (vertices[other].best == key && tid < other) return;
    vertices[tid].next = other;
    vertices[tid].treeCost = edges[id].weight;
    edges[id].inTree = 1;
    edges[id].timesUsed += 1;
}

__global__ void compress(Vertex *vertices, int n)
{
    int tid = blockIdx.x * blockDim.x + threadIdx.x;
    if (tid >= n) return;
    int r = vertices[tid].comp;
    while (vertices[r].next != r) r = vertices[r].next;
    vertices[tid].comp = r;
    vertices[tid].best = NO_EDGE;
    if (r == tid) vertices[tid].timesRoot++;
}

int main()
{
    const int side = 1200;
    const int n = side * side;
    const int iterations = 10, rounds = 12;

    unsigned int state = 31337u;
    auto rnd = [&]() { state = state * 1664525u + 1013904223u; return state >> 8; };

    // vertices: jittered grid, edges: streets to right / down (some missing), few diagonals, motorways
    std::vector<Vertex> vertices(n);
    for (int j = 0; j < side; j++)
        for (int i = 0; i < side; i++) {
            Vertex &v = vertices[j * side + i];
            v.x = 0.1f * i + 0.07f * (rnd() % 1000) / 1000.0f;
            v.y = 0.1f * j + 0.07f * (rnd() % 1000) / 1000.0f;
            v.elevation = 300.0f + (float)((i / 40 * 37 + j / 40 * 91) % 200) + (rnd() % 30);
            v.degree = 0;
            v.best = NO_EDGE;
            v.comp = v.next = j * side + i;
            v.treeCost = 0;
            v.timesRoot = 0;
        }
    std::vector<Edge> edges;
    edges.reserve(3 * n);
    auto add = [&](int a, int b, int cls) {
        Edge e;
        e.u = a;
        e.v = b;
        e.weight = 0;
        e.inTree = 0;
        e.lanes = cls == 0 ? 4.0f : cls < 3 ? 2.0f : 1.0f;
        e.roadClass = cls;
        e.timesUsed = 0;
        vertices[a].degree++;
        vertices[b].degree++;
        edges.push_back(e);
    };
    for (int j = 0; j < side; j++)
        for (int i = 0; i < side; i++) {
            int id = j * side + i;
            int cls = (j % 20 == 0 || i % 20 == 0) ? 1 : 2 + (int)(rnd() % 3);
            if (i + 1 < side && rnd() % 100 < 85) add(id, id + 1, cls);
            if (j + 1 < side && rnd() % 100 < 85) add(id, id + side, cls);
            if (i + 1 < side && j + 1 < side && rnd() % 100 < 15) add(id, id + side + 1, 4);
            if (id % 200 == 0 && i + 60 < side) add(id, id + 60, 0);
        }
    const int m = (int)edges.size();

    Vertex *d_vertices;
    Edge *d_edges;
    gpuErrchk(cudaMalloc(&d_vertices, sizeof(Vertex) * n));
    gpuErrchk(cudaMalloc(&d_edges, sizeof(Edge) * m));
    gpuErrchk(cudaMemcpy(d_vertices, &vertices[0], sizeof(Vertex) * n, cudaMemcpyHostToDevice));
    gpuErrchk(cudaMemcpy(d_edges, &edges[0], sizeof(Edge) * m, cudaMemcpyHostToDevice));

    const int threads = 256;
    const int bn = (n + threads - 1) / threads, bm = (m + threads - 1) / threads;
    cudaEvent_t start, stop;
    gpuErrchk(cudaEventCreate(&start));
    gpuErrchk(cudaEventCreate(&stop));
    for (int it = 0; it <= iterations; it++) {
        if (it == 1) gpuErrchk(cudaEventRecord(start));   // it 0: warm-up
        computeWeights<<<bm, threads>>>(d_edges, d_vertices, m, it);
        initVertices<<<bn, threads>>>(d_vertices, n);
        for (int r = 0; r < rounds; r++) {
            findCheapest<<<bm, threads>>>(d_edges, d_vertices, m);
            hookComponents<<<bn, threads>>>(d_edges, d_vertices, n);
            compress<<<bn, threads>>>(d_vertices, n);
        }
    }
    gpuErrchk(cudaEventRecord(stop));
    gpuErrchk(cudaPeekAtLastError());
    gpuErrchk(cudaEventSynchronize(stop));
    float ms = 0;
    gpuErrchk(cudaEventElapsedTime(&ms, start, stop));

    gpuErrchk(cudaMemcpy(&vertices[0], d_vertices, sizeof(Vertex) * n, cudaMemcpyDeviceToHost));
    gpuErrchk(cudaMemcpy(&edges[0], d_edges, sizeof(Edge) * m, cudaMemcpyDeviceToHost));

    double cost = 0, vcost = 0;
    long long treeEdges = 0, used = 0, roots = 0, rootTimes = 0;
    for (const Edge &e : edges) {
        if (e.inTree) { cost += e.weight; treeEdges++; }
        used += e.timesUsed;
    }
    for (int i = 0; i < n; i++) {
        vcost += vertices[i].treeCost;
        roots += vertices[i].comp == i;
        rootTimes += vertices[i].timesRoot;
    }
    printf("check mst_cost %.8e\n", cost);
    printf("check hook_cost %.8e\n", vcost);
    printf("check tree_edges %lld\n", treeEdges);
    printf("check components %lld\n", roots);
    printf("check edges_used %lld\n", used);
    printf("check root_times %lld\n", rootTimes);
    printf("time_ms %.4f\n", ms);

    cudaFree(d_vertices);
    cudaFree(d_edges);
    return 0;
}
