// Likelihood of a phylogenetic tree by Felsenstein's pruning algorithm, for many site patterns at once.
// The nodes are ordered by level; a level is one launch: patterns along x, nodes of the level along y.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

struct TreeNode {
    int left;
    int right;
    float length;
    float rate;
    int level;
    int leaves;
};

struct Partial {
    float like[4];
    int scale;
};

struct Transition {
    float p[4][4];
    float decay;
};

struct SitePattern {
    double logLike;
    int weight;
    int scales;
    unsigned char rateClass;
    unsigned char gaps;
    short position;
    float gradient;
};

__constant__ float baseFreq[4] = {0.29f, 0.21f, 0.22f, 0.28f};

void check(cudaError_t e, const char *what) {
    if (e != cudaSuccess) {
        fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
        exit(1);
    }
}

__host__ __device__ unsigned mix(unsigned a, unsigned b) {
    unsigned h = a * 0x9e3779b1u + b * 0x85ebca77u + 0x165667b1u;
    h ^= h >> 15;
    h *= 0x2c1b3c6du;
    h ^= h >> 12;
    h *= 0x297a2d39u;
    return h ^ (h >> 15);
}

// F81: P(t) = e^-bt I + (1 - e^-bt) pi
__global__ void makeTransitions(TreeNode *nodes, Transition *trans, int nodeCount, int round) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= nodeCount) return;
    float jitter = 0.95f + 0.1f * (mix(i, round) % 1024) / 1024.0f;
    float t = nodes[i].length * jitter * nodes[i].rate;
    float stay = expf(-1.3f * t);
    trans[i].decay = stay;
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++) trans[i].p[a][b] = (a == b ? stay : 0.0f) + (1.0f - stay) * baseFreq[b];
}

__device__ void descend(float out[4], const Partial &child, const Transition &t) {
    for (int a = 0; a < 4; a++) {
        float sum = 0;
        for (int b = 0; b < 4; b++) sum += t.p[a][b] * child.like[b];
        out[a] = sum;
    }
}

__global__ void pruneLevel(const TreeNode *nodes, const Transition *trans, Partial *partials, const int *order,
                           int sites) {
    int site = blockIdx.x * blockDim.x + threadIdx.x;
    if (site >= sites) return;
    int me = order[blockIdx.y];
    TreeNode node = nodes[me];
    const Partial &l = partials[(size_t)node.left * sites + site];
    const Partial &r = partials[(size_t)node.right * sites + site];
    float fromLeft[4], fromRight[4];
    descend(fromLeft, l, trans[node.left]);
    descend(fromRight, r, trans[node.right]);
    Partial result;
    result.scale = l.scale + r.scale;
    float top = 0;
    for (int a = 0; a < 4; a++) {
        result.like[a] = fromLeft[a] * fromRight[a];
        top = fmaxf(top, result.like[a]);
    }
    while (top > 0.0f && top < 1e-9f) {
        for (int a = 0; a < 4; a++) result.like[a] *= 1073741824.0f; // 2^30
        result.scale += 30;
        top *= 1073741824.0f;
    }
    partials[(size_t)me * sites + site] = result;
}

__global__ void rootLikelihood(const Partial *rootPartials, SitePattern *patterns, int sites) {
    for (int s = blockIdx.x * blockDim.x + threadIdx.x; s < sites; s += gridDim.x * blockDim.x) {
        float sum = 0;
        for (int a = 0; a < 4; a++) sum += baseFreq[a] * rootPartials[s].like[a];
        double ll = log((double)sum) - rootPartials[s].scale * 0.6931471805599453;
        if (patterns[s].gaps > 3) ll *= 0.5; // mostly missing: half the say
        patterns[s].gradient = (float)(ll - patterns[s].logLike);
        patterns[s].logLike = ll;
        patterns[s].scales = rootPartials[s].scale;
    }
}

int main(int argc, char **argv) {
    int sites = argc > 1 ? atoi(argv[1]) : 32768;
    const int tips = 160, nodeCount = 2 * tips - 1;
    std::vector<TreeNode> tree(nodeCount);
    std::vector<int> active;
    for (int i = 0; i < tips; i++) {
        tree[i] = {-1, -1, 0, 0, 0, 1};
        active.push_back(i);
    }
    for (int next = tips; next < nodeCount; next++) { // join two lineages at random
        int a = mix(next, 1) % active.size();
        int left = active[a];
        active[a] = active.back();
        active.pop_back();
        int b = mix(next, 2) % active.size();
        int right = active[b];
        tree[next] = {left, right, 0, 0, 1 + std::max(tree[left].level, tree[right].level),
                      tree[left].leaves + tree[right].leaves};
        active[b] = next;
    }
    for (int i = 0; i < nodeCount; i++) {
        tree[i].length = 0.01f + 0.2f * (mix(i, 3) % 4096) / 4096.0f;
        tree[i].rate = 0.5f + (mix(i, 4) % 1000) / 1000.0f;
    }
    std::vector<int> order, levelBegin;
    for (int level = 1; level <= tree[nodeCount - 1].level; level++) {
        levelBegin.push_back((int)order.size());
        for (int i = tips; i < nodeCount; i++)
            if (tree[i].level == level) order.push_back(i);
    }
    levelBegin.push_back((int)order.size());

    // Tips: a base that mostly follows the site's ancestral base, sometimes ambiguous.
    std::vector<Partial> tipData((size_t)tips * sites);
    std::vector<SitePattern> patterns(sites);
    for (int s = 0; s < sites; s++) {
        patterns[s] = {0.0, 1 + (int)(mix(s, 5) % 20), 0, (unsigned char)(mix(s, 6) % 4),
                       (unsigned char)(mix(s, 7) % 5), (short)(s % 3), 0.0f};
    }
    for (int t = 0; t < tips; t++) {
        for (int s = 0; s < sites; s++) {
            unsigned h = mix(s, 100 + t), ancestral = mix(s, 8) % 4;
            int base = h % 100 < 70 ? ancestral : (h >> 8) % 4;
            bool missing = (h >> 16) % 64 < patterns[s].gaps;
            Partial &p = tipData[(size_t)t * sites + s];
            for (int a = 0; a < 4; a++) p.like[a] = missing || a == base ? 1.0f : 0.0f;
            p.scale = 0;
        }
    }

    TreeNode *dTree;
    Transition *dTrans;
    Partial *dPartials;
    SitePattern *dPatterns;
    int *dOrder;
    check(cudaMalloc(&dTree, nodeCount * sizeof(TreeNode)), "tree");
    check(cudaMalloc(&dTrans, nodeCount * sizeof(Transition)), "transitions");
    check(cudaMalloc(&dPartials, (size_t)nodeCount * sites * sizeof(Partial)), "partials");
    check(cudaMalloc(&dPatterns, sites * sizeof(SitePattern)), "patterns");
    check(cudaMalloc(&dOrder, order.size() * sizeof(int)), "order");
    check(cudaMemcpy(dTree, tree.data(), nodeCount * sizeof(TreeNode), cudaMemcpyHostToDevice), "copy");
    check(cudaMemcpy(dPartials, tipData.data(), tipData.size() * sizeof(Partial), cudaMemcpyHostToDevice), "copy");
    check(cudaMemcpy(dPatterns, patterns.data(), sites * sizeof(SitePattern), cudaMemcpyHostToDevice), "copy");
    check(cudaMemcpy(dOrder, order.data(), order.size() * sizeof(int), cudaMemcpyHostToDevice), "copy");

    cudaEvent_t t0, t1;
    cudaEventCreate(&t0);
    cudaEventCreate(&t1);
    int rounds = 40;
    for (int round = -3; round < rounds; round++) {
        if (round == 0) cudaEventRecord(t0);
        makeTransitions<<<(nodeCount + 127) / 128, 128>>>(dTree, dTrans, nodeCount, round + 3);
        for (size_t level = 0; level + 1 < levelBegin.size(); level++) {
            int begin = levelBegin[level], width = levelBegin[level + 1] - begin;
            dim3 grid((sites + 127) / 128, width);
            pruneLevel<<<grid, 128>>>(dTree, dTrans, dPartials, dOrder + begin, sites);
        }
        rootLikelihood<<<264, 256>>>(dPartials + (size_t)(nodeCount - 1) * sites, dPatterns, sites);
    }
    cudaEventRecord(t1);
    check(cudaEventSynchronize(t1), "rounds");
    float ms = 0;
    cudaEventElapsedTime(&ms, t0, t1);

    check(cudaMemcpy(patterns.data(), dPatterns, sites * sizeof(SitePattern), cudaMemcpyDeviceToHost), "back");
    double total = 0;
    for (int s = 0; s < sites; s++) total += patterns[s].logLike * patterns[s].weight;
    printf("check %.6e\n", total);
    printf("time_ms %.5f\n", ms / rounds);
    return 0;
}
