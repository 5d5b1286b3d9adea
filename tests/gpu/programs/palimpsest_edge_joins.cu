// Rejoining torn parchment: candidate pairs of fragments are screened by
// catalogue data, then their torn edges are compared point by point.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

#define GPU(call)                                                         \
    do {                                                                  \
        cudaError_t s_ = (call);                                          \
        if (s_ != cudaSuccess) {                                          \
            fprintf(stderr, "GPU failure line %d: %s\n", __LINE__,        \
                    cudaGetErrorString(s_));                              \
            exit(1);                                                      \
        }                                                                 \
    } while (0)

struct Fragment {
    float edge[32];
    double carbonAge;
    float ink[3];
    float thickness;
    int folio;
    int lines;
    short scribe;
    short era;
    char shelf[12];
};

struct Pair {
    int a;
    int b;
    float score;
    int verdict;
};

__global__ void screen(const Fragment *frag, Pair *pairs, int np)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < np) {
        int a = pairs[i].a, b = pairs[i].b;
        float dt = frag[a].thickness - frag[b].thickness;
        int de = frag[a].era - frag[b].era;
        bool ok = fabsf(dt) < 0.12f && de > -3 && de < 3;
        pairs[i].verdict = ok ? 1 : 0;
    }
}

// One warp walks the torn edge of a pair.
__global__ void compare_edges(const Fragment *frag, Pair *pairs, int np)
{
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    int lane = threadIdx.x & 31;
    if (warp >= np) return;
    if (pairs[warp].verdict == 0) {
        if (lane == 0) pairs[warp].score = 1.0e3f;
        return;
    }
    int a = pairs[warp].a, b = pairs[warp].b;
    float d = frag[a].edge[lane] + frag[b].edge[31 - lane];
    float q = d * d;
    for (int o = 16; o > 0; o >>= 1)
        q += __shfl_xor_sync(0xffffffffu, q, o);
    if (lane == 0) {
        if (q < 4.0f) {
            float c = 0.0f;
            for (int k = 0; k < 3; k++) {
                float e = frag[a].ink[k] - frag[b].ink[k];
                c += e * e;
            }
            q += c;
            if (c < 0.3f) pairs[warp].verdict = 2;
        }
        pairs[warp].score = q;
    }
}

// Fragments dry out: the outline is relaxed a little.
__global__ void relax_edges(Fragment *frag, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        Fragment *f = &frag[i];
        float prev = f->edge[0];
        for (int k = 1; k < 31; k++) {
            float cur = f->edge[k];
            f->edge[k] = 0.98f * cur + 0.01f * (prev + f->edge[k + 1]);
            prev = cur;
        }
        f->thickness *= 0.9995f;
    }
}

__global__ void date_eras(Fragment *frag, int n, double shift)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        double age = frag[i].carbonAge + shift;
        frag[i].carbonAge = age;
        frag[i].era = (short)(age * 0.01);
    }
}

static unsigned int st = 31337u;
static unsigned int rnd()
{
    st = st * 1103515245u + 12345u;
    unsigned int x = st;
    x ^= x >> 15;
    x *= 0x2c1b3c6du;
    x ^= x >> 12;
    return x;
}
static float rndf() { return (rnd() >> 8) * (1.0f / 16777216.0f); }

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 500000;
    if (n < 2) n = 2;
    int np = 6 * n;

    std::vector<Fragment> frag(n);
    for (int i = 0; i < n; i++) {
        Fragment &f = frag[i];
        memset(&f, 0, sizeof(f));
        for (int k = 0; k < 32; k++) f.edge[k] = rndf() - 0.5f;
        f.carbonAge = 600.0 + rnd() % 500;
        for (int k = 0; k < 3; k++) f.ink[k] = rndf();
        f.thickness = 0.1f + 0.3f * rndf();
        f.folio = rnd() % 400;
        f.lines = rnd() % 40;
        f.scribe = (short)(rnd() % 50);
        f.era = 0;
        snprintf(f.shelf, sizeof(f.shelf), "MS%u", rnd() % 10000);
    }
    std::vector<Pair> pairs(np);
    for (int i = 0; i < np; i++) {
        pairs[i].a = i / 6;
        pairs[i].b = (int)(rnd() % (unsigned int)n);
        pairs[i].score = 0.0f;
        pairs[i].verdict = 0;
    }

    Fragment *dFrag;
    Pair *dPairs;
    GPU(cudaMalloc(&dFrag, sizeof(Fragment) * n));
    GPU(cudaMalloc(&dPairs, sizeof(Pair) * np));
    GPU(cudaMemcpy(dFrag, frag.data(), sizeof(Fragment) * n, cudaMemcpyHostToDevice));
    GPU(cudaMemcpy(dPairs, pairs.data(), sizeof(Pair) * np, cudaMemcpyHostToDevice));

    const int reps = 10;
    int gf = (n + 127) / 128;
    int gp = (np + 255) / 256;
    int gw = (np + 7) / 8;
    cudaEvent_t b, e;
    GPU(cudaEventCreate(&b));
    GPU(cudaEventCreate(&e));
    for (int r = -1; r < reps; r++) {
        if (r == 0) GPU(cudaEventRecord(b));
        date_eras<<<gf, 128>>>(dFrag, n, 0.5);
        screen<<<gp, 256>>>(dFrag, dPairs, np);
        compare_edges<<<gw, 256>>>(dFrag, dPairs, np);
        relax_edges<<<gf, 128>>>(dFrag, n);
    }
    GPU(cudaEventRecord(e));
    GPU(cudaEventSynchronize(e));
    GPU(cudaGetLastError());
    float ms;
    GPU(cudaEventElapsedTime(&ms, b, e));
    GPU(cudaMemcpy(frag.data(), dFrag, sizeof(Fragment) * n, cudaMemcpyDeviceToHost));
    GPU(cudaMemcpy(pairs.data(), dPairs, sizeof(Pair) * np, cudaMemcpyDeviceToHost));

    long long screened = 0, joined = 0, eras = 0;
    double score = 0, edges = 0;
    for (int i = 0; i < np; i++) {
        screened += pairs[i].verdict >= 1;
        joined += pairs[i].verdict == 2;
        if (pairs[i].verdict) score += pairs[i].score;
    }
    for (int i = 0; i < n; i++) {
        eras += frag[i].era;
        for (int k = 0; k < 32; k++) edges += fabs(frag[i].edge[k]);
    }
    printf("check screened %.3e\n", (double)screened);
    printf("check joined %.2e\n", (double)joined);
    printf("check eras %lld\n", eras);
    printf("check score %.3e\n", score);
    printf("check edges %.4e\n", edges);
    printf("time_ms %.4f\n", ms / reps);
    GPU(cudaFree(dFrag));
    GPU(cudaFree(dPairs));
    return 0;
}
