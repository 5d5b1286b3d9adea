// Refits the leaves of a gradient boosted forest: every step scores all samples
// with all trees, collects gradients in the leaves of one tree and corrects them.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define FEATURES 14
#define TREES    40

struct TreeNode {
    float threshold;
    float value;            // of a leaf
    int left, right;        // -1: a leaf
    short feature;
    unsigned char missingLeft;
    unsigned char depth;
    float gain;
};

struct Sample {
    float x[FEATURES];
    float margin;
    float weight;
    int leaf;               // in the tree being refitted
    unsigned char label;
    unsigned char fold;
    short visits;
};

struct LeafStats {
    long long gradient;     // fixed point, 2^20
    long long hessian;
    unsigned int count;
    unsigned int positive;
};

// Everything a kernel needs to know of the forest
struct Forest {
    TreeNode *nodes;
    const int *roots;       // roots[t] .. roots[t + 1]: the nodes of tree t
    int trees;
    float shrinkage;
};

static void gpu(cudaError_t e)
{
    if (e != cudaSuccess) {
        fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(e));
        exit(1);
    }
}

__device__ __forceinline__ int descend(const TreeNode *nodes, int root, const Sample &s, short &visits)
{
    int at = root;
    while (nodes[at].left >= 0) {
        float v = s.x[nodes[at].feature];
        bool goLeft = isnan(v) ? nodes[at].missingLeft : v < nodes[at].threshold;
        at = goLeft ? nodes[at].left : nodes[at].right;
        visits++;
    }
    return at;
}

__global__ void scoreSamples(Forest forest, Sample *samples, int n, int refit)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float margin = 0.f;
    short visits = 0;
    int leaf = -1;
    for (int t = 0; t < forest.trees; t++) {
        int at = descend(forest.nodes, forest.roots[t], samples[i], visits);
        margin += forest.nodes[at].value;
        if (t == refit) leaf = at;
    }
    samples[i].margin = margin;
    samples[i].leaf = leaf;
    samples[i].visits = visits;
}

__global__ void collectGradients(const Sample *samples, int n, int fold, LeafStats *stats)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || samples[i].fold == fold) return;        // held out
    float p = 1.f / (1.f + expf(-samples[i].margin));
    float w = samples[i].weight;
    float gradient = w * (p - samples[i].label);
    float hessian = w * p * (1.f - p);
    LeafStats *s = stats + samples[i].leaf;
    atomicAdd((unsigned long long *)&s->gradient, (unsigned long long)__float2ll_rn(gradient * 1048576.f));
    atomicAdd((unsigned long long *)&s->hessian, (unsigned long long)__float2ll_rn(hessian * 1048576.f));
    atomicAdd(&s->count, 1u);
    if (samples[i].label) atomicAdd(&s->positive, 1u);
}

__global__ void refitLeaves(Forest forest, int tree, LeafStats *stats)
{
    int at = forest.roots[tree] + blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= forest.roots[tree + 1] || forest.nodes[at].left >= 0) return;
    LeafStats s = stats[at];
    if (s.count >= 8) {
        double g = s.gradient / 1048576.0, h = s.hessian / 1048576.0;
        forest.nodes[at].value -= forest.shrinkage * (float)(g / (h + 1.0));
        forest.nodes[at].gain = (float)(0.5 * g * g / (h + 1.0));
    }
    LeafStats zero = {0, 0, 0, 0};
    stats[at] = zero;
}

static unsigned long long rngState = 88172645463325252ull;
static unsigned rnd()
{
    rngState = rngState * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(rngState >> 33);
}
static float rndUnit() { return (rnd() >> 7) * (1.f / 16777216.f); }

static int growTree(std::vector<TreeNode> &nodes, int depth, int maxDepth)
{
    int me = (int)nodes.size();
    TreeNode nd;
    nd.threshold = 0.15f + 0.7f * rndUnit();
    nd.value = 0.02f * (rndUnit() - 0.5f);
    nd.left = nd.right = -1;
    nd.feature = (short)(rnd() % FEATURES);
    nd.missingLeft = rnd() & 1;
    nd.depth = (unsigned char)depth;
    nd.gain = 0.f;
    nodes.push_back(nd);
    if (depth < maxDepth && (depth < 3 || rnd() % 8)) {
        int l = growTree(nodes, depth + 1, maxDepth);
        int r = growTree(nodes, depth + 1, maxDepth);
        nodes[me].left = l;
        nodes[me].right = r;
    }
    return me;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1 << 20;
    std::vector<TreeNode> nodes;
    std::vector<int> roots;
    int largest = 0;
    for (int t = 0; t < TREES; t++) {
        roots.push_back(growTree(nodes, 0, 6 + t % 3));
        largest = std::max(largest, (int)nodes.size() - roots.back());
    }
    roots.push_back((int)nodes.size());

    std::vector<Sample> samples(n);
    for (Sample &s : samples) {
        float signal = 0.f;
        for (int f = 0; f < FEATURES; f++) {
            s.x[f] = rndUnit();
            if (f < 5) signal += (f % 2 ? 1.f : -1.f) * s.x[f];
        }
        unsigned r = rnd();
        if (r % 10 == 0) s.x[(r >> 8) % FEATURES] = NAN;
        s.margin = 0.f;
        s.weight = r & 16 ? 1.f : 0.5f;
        s.leaf = -1;
        s.label = signal + 0.4f * rndUnit() > -0.3f;
        s.fold = (unsigned char)((r >> 20) % 5);
        s.visits = 0;
    }

    Forest forest;
    Sample *dSamples;
    LeafStats *dStats;
    int *dRoots;
    gpu(cudaMalloc(&forest.nodes, nodes.size() * sizeof(TreeNode)));
    gpu(cudaMalloc(&dRoots, roots.size() * sizeof(int)));
    gpu(cudaMalloc(&dSamples, samples.size() * sizeof(Sample)));
    gpu(cudaMalloc(&dStats, nodes.size() * sizeof(LeafStats)));
    gpu(cudaMemcpy(forest.nodes, nodes.data(), nodes.size() * sizeof(TreeNode), cudaMemcpyHostToDevice));
    gpu(cudaMemcpy(dRoots, roots.data(), roots.size() * sizeof(int), cudaMemcpyHostToDevice));
    gpu(cudaMemcpy(dSamples, samples.data(), samples.size() * sizeof(Sample), cudaMemcpyHostToDevice));
    gpu(cudaMemset(dStats, 0, nodes.size() * sizeof(LeafStats)));
    forest.roots = dRoots;
    forest.trees = TREES;
    forest.shrinkage = 0.3f;

    const int steps = TREES;
    int grid = (n + 255) / 256, leafGrid = (largest + 127) / 128;
    cudaEvent_t start, stop;
    gpu(cudaEventCreate(&start));
    gpu(cudaEventCreate(&stop));
    for (int s = -1; s < steps; s++) {
        if (s == 0) gpu(cudaEventRecord(start));
        int tree = (s + TREES) % TREES;
        scoreSamples<<<grid, 256>>>(forest, dSamples, n, tree);
        collectGradients<<<grid, 256>>>(dSamples, n, tree % 5, dStats);
        refitLeaves<<<leafGrid, 128>>>(forest, tree, dStats);
        gpu(cudaGetLastError());
    }
    gpu(cudaEventRecord(stop));
    gpu(cudaEventSynchronize(stop));
    float ms = 0.f;
    gpu(cudaEventElapsedTime(&ms, start, stop));

    gpu(cudaMemcpy(nodes.data(), forest.nodes, nodes.size() * sizeof(TreeNode), cudaMemcpyDeviceToHost));
    gpu(cudaMemcpy(samples.data(), dSamples, samples.size() * sizeof(Sample), cudaMemcpyDeviceToHost));
    double loss = 0, values = 0, gains = 0;
    long long visits = 0, leaves = 0;
    for (const Sample &s : samples) {
        loss += log1p(exp((double)(s.label ? -s.margin : s.margin)));
        visits += s.visits;
        leaves += s.leaf;
    }
    for (const TreeNode &nd : nodes) {
        values += fabs(nd.value);
        gains += nd.gain;
    }
    printf("time_ms %.5f\n", ms / steps);
    printf("check %.4e_%.4e_%.4e_%lld_%lld\n", loss, values, gains, visits, leaves);
    gpu(cudaFree(forest.nodes));
    gpu(cudaFree(dRoots));
    gpu(cudaFree(dSamples));
    gpu(cudaFree(dStats));
    return 0;
}
