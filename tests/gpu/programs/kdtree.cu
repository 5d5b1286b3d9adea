// Nearest-neighbour queries over a k-d tree with explicit child indices.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

struct KdNode {
    float pos[3];
    int axis;
    int left, right;
    int payload;
    float weight;
};

struct Query {
    float3 at;
    float3 drift;
    float bestDist;
    int bestNode;
    int visited;
    float score;
};

struct Point { float p[3]; int id; };

#define CUDA_TRY(e) tryCuda((e), __LINE__)
static void tryCuda(cudaError_t e, int line)
{
    if (e == cudaSuccess) return;
    std::fprintf(stderr, "CUDA failure, line %d: %s\n", line, cudaGetErrorString(e));
    std::exit(1);
}

static int buildTree(std::vector<Point> &pts, int lo, int hi, int depth, std::vector<KdNode> &out)
{
    if (lo >= hi) return -1;
    int axis = depth % 3, mid = (lo + hi) / 2;
    std::nth_element(pts.begin() + lo, pts.begin() + mid, pts.begin() + hi,
                     [axis](const Point &a, const Point &b) { return a.p[axis] < b.p[axis]; });
    int me = (int)out.size();
    KdNode nd;
    for (int k = 0; k < 3; ++k) nd.pos[k] = pts[mid].p[k];
    nd.axis = axis;
    nd.payload = pts[mid].id;
    nd.weight = 1.0f + 0.125f * (pts[mid].id % 8);
    nd.left = nd.right = -1;
    out.push_back(nd);
    int l = buildTree(pts, lo, mid, depth + 1, out);
    int r = buildTree(pts, mid + 1, hi, depth + 1, out);
    out[me].left = l;
    out[me].right = r;
    return me;
}

__global__ void __launch_bounds__(128) nearest(const KdNode *tree, Query *queries, int m)
{
    int q = blockIdx.x * blockDim.x + threadIdx.x;
    if (q >= m) return;
    const float qx[3] = {queries[q].at.x, queries[q].at.y, queries[q].at.z};
    float best = FLT_MAX;
    int bestNode = -1, seen = 0;

    int stackNode[32];
    float stackDist[32];
    int top = 1;
    stackNode[0] = 0;
    stackDist[0] = 0.0f;
    while (top > 0) {
        if (stackDist[--top] >= best) continue;
        int node = stackNode[top];
        while (node >= 0) {
            ++seen;
            float dx = tree[node].pos[0] - qx[0];
            float dy = tree[node].pos[1] - qx[1];
            float dz = tree[node].pos[2] - qx[2];
            float d2 = dx * dx + dy * dy + dz * dz;
            if (d2 < best) { best = d2; bestNode = node; }
            int axis = tree[node].axis;
            float diff = axis == 0 ? -dx : (axis == 1 ? -dy : -dz);
            int nearChild = diff < 0.0f ? tree[node].left : tree[node].right;
            int farChild = diff < 0.0f ? tree[node].right : tree[node].left;
            if (farChild >= 0 && diff * diff < best) {
                stackNode[top] = farChild;
                stackDist[top++] = diff * diff;
            }
            node = nearChild;
        }
    }
    queries[q].bestDist = sqrtf(best);
    queries[q].bestNode = bestNode;
    queries[q].visited += seen;
}

__global__ void advance(const KdNode *tree, Query *queries, int m)
{
    int q = blockIdx.x * blockDim.x + threadIdx.x;
    if (q >= m) return;
    Query c = queries[q];
    c.score += c.bestDist * tree[c.bestNode].weight + (float)(tree[c.bestNode].payload % 16);
    c.at.x += c.drift.x;
    c.at.y += c.drift.y;
    c.at.z += c.drift.z;
    if (c.at.x < 0.f || c.at.x > 1.f) c.drift.x = -c.drift.x;
    if (c.at.y < 0.f || c.at.y > 1.f) c.drift.y = -c.drift.y;
    if (c.at.z < 0.f || c.at.z > 1.f) c.drift.z = -c.drift.z;
    queries[q] = c;
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? std::atoi(argv[1]) : 2000000;
    const int m = n / 2 > 0 ? n / 2 : 1;
    unsigned state = 7u;
    auto rnd = [&state]() {
        state = state * 747796405u + 2891336453u;
        unsigned w = ((state >> ((state >> 28) + 4u)) ^ state) * 277803737u;
        return (float)(((w >> 22) ^ w) >> 8) / 16777216.0f;
    };

    std::vector<Point> pts(n);
    for (int i = 0; i < n; ++i) {
        for (int k = 0; k < 3; ++k) pts[i].p[k] = rnd();
        pts[i].id = i;
    }
    std::vector<KdNode> tree;
    tree.reserve(n);
    buildTree(pts, 0, n, 0, tree);
    std::vector<Query> qs(m);
    for (int i = 0; i < m; ++i) {
        qs[i].at = make_float3(rnd(), rnd(), rnd());
        qs[i].drift = make_float3((rnd() - 0.5f) * 0.02f, (rnd() - 0.5f) * 0.02f, (rnd() - 0.5f) * 0.02f);
        qs[i].bestDist = qs[i].score = 0.0f;
        qs[i].bestNode = qs[i].visited = 0;
    }

    KdNode *d_tree;
    Query *d_queries;
    CUDA_TRY(cudaMalloc(&d_tree, sizeof(KdNode) * n));
    CUDA_TRY(cudaMalloc(&d_queries, sizeof(Query) * m));
    CUDA_TRY(cudaMemcpy(d_tree, tree.data(), sizeof(KdNode) * n, cudaMemcpyHostToDevice));
    CUDA_TRY(cudaMemcpy(d_queries, qs.data(), sizeof(Query) * m, cudaMemcpyHostToDevice));

    const int steps = 20, grid = (m + 127) / 128;
    cudaEvent_t ev[2];
    for (auto &e : ev) CUDA_TRY(cudaEventCreate(&e));
    nearest<<<grid, 128>>>(d_tree, d_queries, m);
    advance<<<grid, 128>>>(d_tree, d_queries, m);
    CUDA_TRY(cudaDeviceSynchronize());
    CUDA_TRY(cudaEventRecord(ev[0]));
    for (int s = 0; s < steps; ++s) {
        nearest<<<grid, 128>>>(d_tree, d_queries, m);
        advance<<<grid, 128>>>(d_tree, d_queries, m);
    }
    CUDA_TRY(cudaEventRecord(ev[1]));
    CUDA_TRY(cudaEventSynchronize(ev[1]));
    CUDA_TRY(cudaGetLastError());
    float ms = 0.0f;
    CUDA_TRY(cudaEventElapsedTime(&ms, ev[0], ev[1]));

    CUDA_TRY(cudaMemcpy(qs.data(), d_queries, sizeof(Query) * m, cudaMemcpyDeviceToHost));
    double total = 0.0;
    for (const Query &q : qs) total += q.score + 0.01 * q.visited + q.bestDist;
    std::printf("time_ms %.5f\n", ms / steps);
    std::printf("check %.6e\n", total);
    return 0;
}
