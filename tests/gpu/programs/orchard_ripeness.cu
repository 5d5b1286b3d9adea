// An orchard of six thousand rows: trees ripen, the bearing ones are binned by
// variety, pickers walk along the rows, and frost probes sit at every 16th tree.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

#define GPU(x)                                                                \
    do {                                                                      \
        cudaError_t r_ = (x);                                                 \
        if (r_ != cudaSuccess) {                                              \
            printf("failed: %s (line %d)\n", cudaGetErrorString(r_), __LINE__); \
            exit(2);                                                          \
        }                                                                     \
    } while (0)

struct Tree {
    float3 pos;
    float trunk;
    double sugar;
    int row;
    int variety;
    float branch[6];
    short picked;
    short pests;
    unsigned char flags[4];    // bearing, grafted, netted, old
    float water;
    float shade;
    float frost;
    float root;
};

#define ROWS 6000
#define PER_ROW 500
#define TREES (ROWS * PER_ROW)
#define VARIETIES 24
#define GRADES 8
#define PROBE 16
#define SEASONS 20

__global__ void ripen(Tree* trees, float sun, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        double s = trees[i].sugar;
        float rate = 0.08f * sun * (1.0f - trees[i].shade) * trees[i].water;
        s += rate * (18.0 - s);
        trees[i].sugar = s;
    }
}

__global__ void grade_bearing(const Tree* trees, int* grades, float* yields, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (trees[i].flags[0] == 0) return;
    if (trees[i].pests > 60) return;
    float fruit = 0.0f;
    for (int b = 0; b < 6; ++b) fruit += trees[i].branch[b];
    if (trees[i].flags[1]) fruit *= 1.2f;
    int g = (int)(trees[i].sugar * 0.4);
    if (g < 0) g = 0;
    if (g >= GRADES) g = GRADES - 1;
    int bin = trees[i].variety * GRADES + g;
    atomicAdd(&grades[bin], 1);
    atomicAdd(&yields[bin], fruit * trees[i].trunk);
}

// a picker takes one row and goes on until the basket is full
__global__ void walk_rows(Tree* trees, float* baskets, float full)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= ROWS) return;
    float basket = 0.0f;
    int base = row * PER_ROW;
    for (int k = 0; k < PER_ROW; ++k) {
        int t = base + k;
        if (trees[t].pests > 90) continue;
        float ripe = (float)trees[t].sugar - 9.0f;
        if (ripe > 0.0f) {
            basket += 0.01f * ripe * trees[t].trunk;
            trees[t].picked = (short)(trees[t].picked + 1);
        }
        if (basket > full) break;
    }
    baskets[row] += basket;
}

__global__ void frost_probe(Tree* trees, float* lowest, int probes, float night)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= probes) return;
    int t = p * PROBE;
    float f = 0.8f * trees[t].frost + 0.2f * (night + 0.01f * trees[t].pos.z);
    trees[t].frost = f;
    lowest[p] = fminf(lowest[p], f);
}

static unsigned hash_u(unsigned v)
{
    v = (v ^ 61u) ^ (v >> 16);
    v *= 9u;
    v ^= v >> 4;
    v *= 0x27d4eb2du;
    return v ^ (v >> 15);
}

int main()
{
    std::vector<Tree> trees(TREES);
    for (int r = 0; r < ROWS; ++r)
        for (int k = 0; k < PER_ROW; ++k) {
            int i = r * PER_ROW + k;
            unsigned h = hash_u((unsigned)i * 3u + 1u);
            unsigned g = hash_u(h + 17u);
            trees[i].pos = make_float3(4.0f * k, 6.0f * r, (float)((r * 7 + k * 3) % 211));
            trees[i].trunk = 0.1f + 0.3f * (h & 255u) / 255.0f;
            trees[i].sugar = 4.0 + 5.0 * ((h >> 8) & 1023u) / 1023.0;
            trees[i].row = r;
            trees[i].variety = (r / 13 + (int)(g % 3u)) % VARIETIES;
            for (int b = 0; b < 6; ++b) trees[i].branch[b] = (float)((g >> (4 * b)) & 15u);
            trees[i].picked = 0;
            trees[i].pests = (short)((h >> 18) % 101u);
            trees[i].flags[0] = (g >> 5) % 100u < 8u;
            trees[i].flags[1] = (g >> 13) & 1u;
            trees[i].flags[2] = (g >> 14) & 1u;
            trees[i].flags[3] = (g >> 15) & 1u;
            trees[i].water = 0.5f + 0.5f * ((g >> 16) & 255u) / 255.0f;
            trees[i].shade = 0.6f * ((h >> 3) & 127u) / 127.0f;
            trees[i].frost = 4.0f;
            trees[i].root = 1.0f;
        }
    const int bins = VARIETIES * GRADES;
    const int probes = TREES / PROBE;
    std::vector<float> low(probes, 100.0f);

    Tree* d_trees;
    int* d_grades;
    float *d_yields, *d_baskets, *d_low;
    GPU(cudaMalloc(&d_trees, sizeof(Tree) * TREES));
    GPU(cudaMalloc(&d_grades, sizeof(int) * bins));
    GPU(cudaMalloc(&d_yields, sizeof(float) * bins));
    GPU(cudaMalloc(&d_baskets, sizeof(float) * ROWS));
    GPU(cudaMalloc(&d_low, sizeof(float) * probes));
    GPU(cudaMemcpy(d_trees, trees.data(), sizeof(Tree) * TREES, cudaMemcpyHostToDevice));
    GPU(cudaMemcpy(d_low, low.data(), sizeof(float) * probes, cudaMemcpyHostToDevice));
    GPU(cudaMemset(d_grades, 0, sizeof(int) * bins));
    GPU(cudaMemset(d_yields, 0, sizeof(float) * bins));
    GPU(cudaMemset(d_baskets, 0, sizeof(float) * ROWS));

    cudaEvent_t start, stop;
    GPU(cudaEventCreate(&start));
    GPU(cudaEventCreate(&stop));
    int nb = (TREES + 255) / 256;
    for (int s = -2; s < SEASONS; ++s) {
        if (s == 0) GPU(cudaEventRecord(start));      // the first two are warm-up
        ripen<<<nb, 256>>>(d_trees, 0.5f + 0.02f * (s + 2), TREES);
        grade_bearing<<<nb, 256>>>(d_trees, d_grades, d_yields, TREES);
        walk_rows<<<(ROWS + 63) / 64, 64>>>(d_trees, d_baskets, 1.5f);
        frost_probe<<<(probes + 127) / 128, 128>>>(d_trees, d_low, probes, (float)(s % 7) - 3.0f);
    }
    GPU(cudaEventRecord(stop));
    GPU(cudaEventSynchronize(stop));
    GPU(cudaGetLastError());
    float ms = 0;
    GPU(cudaEventElapsedTime(&ms, start, stop));

    std::vector<int> grades(bins);
    std::vector<float> yields(bins), baskets(ROWS);
    GPU(cudaMemcpy(trees.data(), d_trees, sizeof(Tree) * TREES, cudaMemcpyDeviceToHost));
    GPU(cudaMemcpy(grades.data(), d_grades, sizeof(int) * bins, cudaMemcpyDeviceToHost));
    GPU(cudaMemcpy(yields.data(), d_yields, sizeof(float) * bins, cudaMemcpyDeviceToHost));
    GPU(cudaMemcpy(baskets.data(), d_baskets, sizeof(float) * ROWS, cudaMemcpyDeviceToHost));
    GPU(cudaMemcpy(low.data(), d_low, sizeof(float) * probes, cudaMemcpyDeviceToHost));
    double sugar = 0, yield = 0, basket = 0, cold = 0, graded = 0;
    long long picked = 0;
    for (int i = 0; i < TREES; ++i) {
        sugar += trees[i].sugar;
        picked += trees[i].picked;
    }
    for (int b = 0; b < bins; ++b) {
        graded += (double)grades[b] * (b + 1);
        yield += yields[b];
    }
    for (int r = 0; r < ROWS; ++r) basket += baskets[r];
    for (int p = 0; p < probes; ++p) cold += low[p];
    printf("check sugar %.4g\n", sugar);
    printf("check picked %lld\n", picked);
    printf("check graded %.4g\n", graded);
    printf("check yield %.4g\n", yield);
    printf("check basket %.4g\n", basket);
    printf("check cold %.4g\n", cold);
    printf("time_ms %.4f\n", ms);
    return 0;
}
