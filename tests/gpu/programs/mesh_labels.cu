// Multi-source shortest path labelling on a triangulated mesh graph:
// every vertex learns its nearest seed by repeatedly pulling from neighbours.
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <vector>
#include <cuda_runtime.h>

namespace mesh {

struct Vertex {
    int firstEdge;
    int degree;
    int label;        // id of owning seed, -1 when unreached
    int dist;         // distance to it
    int nextLabel;
    int nextDist;
    float height;
    int changes;
};

struct Edge {
    int to;
    unsigned short length;
    unsigned char  blocked;
    unsigned char  type;
};

constexpr int kFar = 1 << 29;

__global__ void relax(Vertex *verts, const Edge *edges, int n)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n) return;
    int best = verts[v].dist;
    int lab = verts[v].label;
    int e = verts[v].firstEdge;
    const int stop = e + verts[v].degree;
    for (; e < stop; ++e) {
        const Edge ed = edges[e];
        if (ed.blocked) continue;
        int d = verts[ed.to].dist + ed.length;
        int l = verts[ed.to].label;
        if (l >= 0 && (d < best || (d == best && l < lab))) {
            best = d;
            lab = l;
        }
    }
    verts[v].nextDist = best;
    verts[v].nextLabel = lab;
}

__global__ void commit(Vertex *verts, int n, unsigned int *changed)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    bool moved = false;
    if (v < n) {
        moved = verts[v].nextDist != verts[v].dist || verts[v].nextLabel != verts[v].label;
        if (moved) {
            verts[v].dist = verts[v].nextDist;
            verts[v].label = verts[v].nextLabel;
            verts[v].changes += 1;
        }
    }
    int total = __syncthreads_count(moved);
    if (threadIdx.x == 0 && total) atomicAdd(changed, (unsigned)total);
}

inline void ok(cudaError_t e)
{
    if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

struct HostMesh {
    std::vector<Vertex> v;
    std::vector<Edge> e;
};

HostMesh build(int w, int h)
{
    HostMesh m;
    m.v.resize((size_t)w * h);
    m.e.reserve((size_t)w * h * 6);
    const int off[6][2] = {{1, 0}, {0, 1}, {-1, 1}, {-1, 0}, {0, -1}, {1, -1}};
    for (int y = 0; y < h; ++y)
        for (int x = 0; x < w; ++x) {
            unsigned key = (unsigned)(y * w + x) * 2654435761u;
            m.v[(size_t)y * w + x].height = (float)((key >> 12) & 1023u) / 64.0f;
        }
    for (int y = 0; y < h; ++y) {
        for (int x = 0; x < w; ++x) {
            int id = y * w + x;
            Vertex &p = m.v[id];
            p.firstEdge = (int)m.e.size();
            for (int k = 0; k < 6; ++k) {
                int xx = x + off[k][0], yy = y + off[k][1];
                if (xx < 0 || yy < 0 || xx >= w || yy >= h) continue;
                int to = yy * w + xx;
                float dh = m.v[to].height - p.height;
                unsigned mix = ((unsigned)id ^ (unsigned)to) * 40503u + (unsigned)(id + to);
                Edge ed;
                ed.to = to;
                ed.length = (unsigned short)(10 + (int)(dh < 0 ? -dh : dh) * 2);
                ed.blocked = mix % 16u == 0;
                ed.type = (unsigned char)k;
                m.e.push_back(ed);
            }
            p.degree = (int)m.e.size() - p.firstEdge;
            bool seed = x % 37 == 11 && y % 41 == 5;
            p.label = p.nextLabel = seed ? id : -1;
            p.dist = p.nextDist = seed ? 0 : kFar;
            p.changes = 0;
        }
    }
    return m;
}

}  // namespace mesh

int main(int argc, char **argv)
try {
    using namespace mesh;
    int n = argc > 1 ? std::atoi(argv[1]) : 2250000;
    int w = 8;
    while ((long long)(w + 1) * (w + 1) <= n) ++w;
    HostMesh m = build(w, w);
    n = w * w;

    Vertex *d_verts = nullptr;
    Edge *d_edges = nullptr;
    unsigned *d_changed = nullptr;
    ok(cudaMalloc(&d_verts, m.v.size() * sizeof(Vertex)));
    ok(cudaMalloc(&d_edges, m.e.size() * sizeof(Edge)));
    ok(cudaMalloc(&d_changed, sizeof(unsigned)));
    ok(cudaMemcpy(d_verts, m.v.data(), m.v.size() * sizeof(Vertex), cudaMemcpyHostToDevice));
    ok(cudaMemcpy(d_edges, m.e.data(), m.e.size() * sizeof(Edge), cudaMemcpyHostToDevice));
    ok(cudaMemset(d_changed, 0, sizeof(unsigned)));

    const int block = 256, grid = (n + block - 1) / block, steps = 50;
    auto sweep = [&] {
        relax<<<grid, block>>>(d_verts, d_edges, n);
        commit<<<grid, block>>>(d_verts, n, d_changed);
        ok(cudaGetLastError());
    };

    sweep();
    ok(cudaDeviceSynchronize());
    cudaEvent_t t0, t1;
    ok(cudaEventCreate(&t0));
    ok(cudaEventCreate(&t1));
    ok(cudaEventRecord(t0));
    for (int s = 0; s < steps; ++s) sweep();
    ok(cudaEventRecord(t1));
    ok(cudaEventSynchronize(t1));
    float ms = 0;
    ok(cudaEventElapsedTime(&ms, t0, t1));

    unsigned changed = 0;
    ok(cudaMemcpy(&changed, d_changed, sizeof changed, cudaMemcpyDeviceToHost));
    ok(cudaMemcpy(m.v.data(), d_verts, m.v.size() * sizeof(Vertex), cudaMemcpyDeviceToHost));
    unsigned long long sum = changed;
    for (int i = 0; i < n; ++i)
        sum += (unsigned long long)(m.v[i].label + 1) * (1 + i % 3) + (m.v[i].dist % 100003) + m.v[i].changes * 17;
    std::printf("time_ms %.5f\ncheck %llu\n", ms / steps, sum);
    cudaFree(d_verts); cudaFree(d_edges); cudaFree(d_changed);
    return 0;
} catch (const std::exception &ex) {
    std::fprintf(stderr, "failed: %s\n", ex.what());
    return 1;
}
