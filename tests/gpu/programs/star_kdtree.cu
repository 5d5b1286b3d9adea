// Cross-match of a source list with a star catalogue, using a left-balanced k-d tree
// stored in heap order and a small explicit stack per thread.
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <algorithm>
#include <vector>
#include "cuda_runtime.h"

#define SAFE(call) { const cudaError_t error = call; if (error != cudaSuccess) { \
    printf("Error: %s:%d, %s\n", __FILE__, __LINE__, cudaGetErrorString(error)); exit(1); } }

#define TREE_LEVELS 18
#define STACK_SIZE  32
#define MAG_BINS    16

typedef struct
{
    float x, y, z;          // unit vector on the sky
    float magnitude;
    float colour;           // B - V
    float pm_x, pm_y, pm_z; // proper motion per year
    float parallax;
    int   axis;             // split axis of this node
    int   catalogue_id;
    int   flags;            // bit 0: variable, bit 1: double
} StarNode;

typedef struct
{
    float x, y, z;
    float flux_mag, epoch;
    float best_dist2;
    float light;            // summed brightness of the neighbours
    int   best_id;
    int   neighbours, visited;
} Source;

typedef struct
{
    int   matched, variable;
    float colour_sum, dist_sum;
} MagBin;

__device__ float split_delta(const StarNode& node, float x, float y, float z)
{
    if (node.axis == 0) return x - node.x;
    if (node.axis == 1) return y - node.y;
    return z - node.z;
}

__device__ float dist2_at(const StarNode* node, const Source* src)
{
    float dx = node->x - src->x, dy = node->y - src->y, dz = node->z - src->z;
    return dx * dx + dy * dy + dz * dz;
}

// how crowded is the field around every source
__global__ void count_neighbours(const StarNode* tree, int nodes, Source* sources, int n, float radius)
{
    int tid = blockIdx.x * blockDim.x + threadIdx.x;
    if (tid >= n) return;

    Source src = sources[tid];
    float r2 = radius * radius;
    int stack[STACK_SIZE];
    int top = 0, found = 0, visited = 0;
    float light = 0.0f;
    stack[top++] = 0;
    while (top > 0)
    {
        int k = stack[--top];
        visited++;
        if (dist2_at(&tree[k], &src) <= r2) {
            found++;
            light += exp2f(-1.3288f * (tree[k].magnitude - 8.0f));
        }
        float delta = split_delta(tree[k], src.x, src.y, src.z);
        int left = 2 * k + 1, right = 2 * k + 2;
        if (left < nodes && delta <= radius) stack[top++] = left;
        if (right < nodes && delta >= -radius) stack[top++] = right;
    }
    sources[tid].neighbours = found;
    sources[tid].visited += visited;
    sources[tid].light += light;
}

// closest star of compatible magnitude, proper motion applied
__global__ void nearest_match(const StarNode* tree, int nodes, Source* sources, int n,
                              float radius, float mag_tolerance)
{
    int tid = blockIdx.x * blockDim.x + threadIdx.x;
    if (tid >= n) return;

    float sx = sources[tid].x, sy = sources[tid].y, sz = sources[tid].z;
    float mag = sources[tid].flux_mag, epoch = sources[tid].epoch;
    float best = radius * radius;
    int best_id = -1;
    int stack[STACK_SIZE], top = 0;
    stack[top++] = 0;
    while (top > 0)
    {
        int k = stack[--top];
        const StarNode& node = tree[k];
        float delta = split_delta(node, sx, sy, sz);
        int left = 2 * k + 1;
        int nearer = delta < 0.0f ? left : left + 1;
        int further = delta < 0.0f ? left + 1 : left;
        if (fabsf(node.magnitude - mag) <= mag_tolerance)
        {
            float dx = node.x + epoch * node.pm_x - sx;
            float dy = node.y + epoch * node.pm_y - sy;
            float dz = node.z + epoch * node.pm_z - sz;
            float d2 = dx * dx + dy * dy + dz * dz;
            if (d2 < best) { best = d2; best_id = k; }
        }
        float reach = sqrtf(best) + 1e-4f;   // slack for the proper motion
        if (further < nodes && fabsf(delta) <= reach) stack[top++] = further;
        if (nearer < nodes) stack[top++] = nearer;
    }
    sources[tid].best_id = best_id;
    sources[tid].best_dist2 = best;
}

__global__ void magnitude_histogram(const StarNode* tree, const Source* sources, MagBin* bins, int n)
{
    int tid = blockIdx.x * blockDim.x + threadIdx.x;
    if (tid >= n) return;
    int id = sources[tid].best_id;
    if (id < 0) return;
    int b = min(max((int)tree[id].magnitude - 4, 0), MAG_BINS - 1);
    atomicAdd(&bins[b].matched, 1);
    if (tree[id].flags & 1) atomicAdd(&bins[b].variable, 1);
    atomicAdd(&bins[b].colour_sum, tree[id].colour);
    atomicAdd(&bins[b].dist_sum, 1000.0f * sqrtf(sources[tid].best_dist2));
}

static unsigned long long rng = 88172645463325252ULL;
static float rnd(void)
{
    rng ^= rng << 13; rng ^= rng >> 7; rng ^= rng << 17;
    return (float)((rng >> 40) / 16777216.0);
}

static void build(std::vector<StarNode>& pts, int lo, int hi, int depth, int node, std::vector<StarNode>& tree)
{
    if (lo >= hi) return;
    int mid = (lo + hi) / 2, axis = depth % 3;
    std::nth_element(pts.begin() + lo, pts.begin() + mid, pts.begin() + hi,
        [axis](const StarNode& a, const StarNode& b) {
            return axis == 0 ? a.x < b.x : axis == 1 ? a.y < b.y : a.z < b.z; });
    tree[node] = pts[mid];
    tree[node].axis = axis;
    build(pts, lo, mid, depth + 1, 2 * node + 1, tree);
    build(pts, mid + 1, hi, depth + 1, 2 * node + 2, tree);
}

int main(int argc, char** argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 400000, nodes = (1 << TREE_LEVELS) - 1;
    std::vector<StarNode> stars(nodes), tree(nodes);
    for (int i = 0; i < nodes; i++)
    {
        StarNode& s = stars[i];
        float lon = 6.2831853f * rnd(), z = 2.0f * rnd() - 1.0f;
        if (i % 3) z *= fabsf(z);                       // concentrate to the galactic plane
        float c = sqrtf(1.0f - z * z);
        s.x = c * cosf(lon); s.y = c * sinf(lon); s.z = z;
        s.magnitude = 18.0f - 12.0f * rnd() * rnd();
        s.colour = 0.2f + 1.4f * rnd();
        s.pm_x = 1e-6f * (rnd() - 0.5f); s.pm_y = 1e-6f * (rnd() - 0.5f); s.pm_z = 1e-6f * (rnd() - 0.5f);
        s.parallax = 0.01f * rnd(); s.catalogue_id = i;
        s.flags = (int)(4.0f * rnd());
    }
    build(stars, 0, nodes, 0, 0, tree);
    std::vector<Source> sources(n);
    for (int i = 0; i < n; i++)
    {
        const StarNode& s = stars[(int)((long long)i * 7919 % nodes)];
        sources[i] = Source{s.x + 0.002f * (rnd() - 0.5f), s.y + 0.002f * (rnd() - 0.5f), s.z + 0.002f * (rnd() - 0.5f),
                            s.magnitude + 0.3f * (rnd() - 0.5f), 20.0f * rnd(), 0.0f, 0.0f, -1, 0, 0};
    }

    StarNode* dTree; Source* dSources; MagBin* dBins;
    SAFE(cudaMalloc(&dTree, nodes * sizeof(StarNode)));
    SAFE(cudaMalloc(&dSources, n * sizeof(Source)));
    SAFE(cudaMalloc(&dBins, MAG_BINS * sizeof(MagBin)));
    SAFE(cudaMemcpy(dTree, tree.data(), nodes * sizeof(StarNode), cudaMemcpyHostToDevice));

    const float radii[] = {0.003f, 0.006f, 0.012f};
    dim3 block(128), grid((n + 127) / 128);
    cudaEvent_t e0, e1;
    SAFE(cudaEventCreate(&e0)); SAFE(cudaEventCreate(&e1));
    for (int timed = 0; timed < 2; timed++)
    {
        SAFE(cudaMemcpy(dSources, sources.data(), n * sizeof(Source), cudaMemcpyHostToDevice));
        SAFE(cudaMemset(dBins, 0, MAG_BINS * sizeof(MagBin)));
        SAFE(cudaEventRecord(e0));
        for (int rep = 0; rep < (timed ? 5 : 1); rep++)
            for (int k = 0; k < 3; k++)
            {
                count_neighbours<<<grid, block>>>(dTree, nodes, dSources, n, radii[k]);
                nearest_match<<<grid, block>>>(dTree, nodes, dSources, n, radii[k], 0.1f + 0.1f * rep);
                magnitude_histogram<<<grid, block>>>(dTree, dSources, dBins, n);
            }
        SAFE(cudaEventRecord(e1));
        SAFE(cudaEventSynchronize(e1)); SAFE(cudaGetLastError());
    }
    float ms;
    SAFE(cudaEventElapsedTime(&ms, e0, e1));
    MagBin bins[MAG_BINS];
    SAFE(cudaMemcpy(sources.data(), dSources, n * sizeof(Source), cudaMemcpyDeviceToHost));
    SAFE(cudaMemcpy(bins, dBins, sizeof(bins), cudaMemcpyDeviceToHost));
    double neigh = 0, visits = 0, light = 0, d = 0, hits = 0, col = 0, dist = 0;
    for (const Source& s : sources) { neigh += s.neighbours; visits += s.visited; light += s.light; d += sqrt(s.best_dist2); }
    for (int b = 0; b < MAG_BINS; b++) { hits += (b + 1.0) * bins[b].matched + bins[b].variable; col += bins[b].colour_sum; dist += bins[b].dist_sum; }
    printf("check neighbours %.0f\ncheck visited %.0f\ncheck light %.2e\ncheck best_dist %.2e\n", neigh, visits, light, d);
    printf("check matched %.0f\ncheck colour %.2e\ncheck dist %.2e\ntime_ms %.4f\n", hits, col, dist, ms);
    return 0;
}
