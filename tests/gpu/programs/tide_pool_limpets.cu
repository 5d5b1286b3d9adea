// Limpets on the rocks of a tide pool: they crowd each other (neighbour lists,
// mostly inside the same rock, a few across the pool), creep and get hungry.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

#define CK(call)                                                              \
    do {                                                                      \
        cudaError_t e_ = (call);                                              \
        if (e_ != cudaSuccess) {                                              \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__,                \
                    cudaGetErrorString(e_));                                  \
            exit(1);                                                          \
        }                                                                     \
    } while (0)

struct Limpet {
    float x, y;
    float vx, vy;
    float radius;
    float hunger;
    float age;
    float grip;
    int species;
    int home;
    float shell[2];
};

static const int N = 1 << 20;
static const int MAXNB = 28;
static const int ROCK = 256;       // limpets of one rock lie together
static const int SPECIES = 12;
static const int REPS = 40;

static unsigned rng_state = 2463534242u;
static unsigned rnd()
{
    unsigned v = rng_state;
    v ^= v << 13;
    v ^= v >> 17;
    v ^= v << 5;
    rng_state = v;
    return v;
}
static float rndf() { return (rnd() >> 8) * (1.0f / 16777216.0f); }

__global__ void crowding(const Limpet* __restrict__ limpets,
                         const int* __restrict__ nbr,
                         const unsigned char* __restrict__ count,
                         float2* __restrict__ push, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = limpets[i].x;
    float y = limpets[i].y;
    float r = limpets[i].radius;
    int sp = limpets[i].species;
    float fx = 0.0f, fy = 0.0f;
    int m = count[i];
    for (int k = 0; k < m; ++k) {
        int j = nbr[(size_t)k * n + i];
        float dx = x - limpets[j].x;
        float dy = y - limpets[j].y;
        float reach = r + limpets[j].radius;
        float d2 = dx * dx + dy * dy + 1e-4f;
        if (d2 < reach * reach) {
            float w = (limpets[j].species == sp) ? 1.0f : 0.35f;
            float inv = rsqrtf(d2);
            float overlap = reach * inv - 1.0f;
            fx += w * overlap * dx;
            fy += w * overlap * dy;
        }
    }
    push[i] = make_float2(fx, fy);
}

__global__ void creep(Limpet* limpets, const float2* push, float dt, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float2 f = push[i];
    float damp = 1.0f / (1.0f + limpets[i].grip);
    float vx = (limpets[i].vx + dt * f.x) * damp;
    float vy = (limpets[i].vy + dt * f.y) * damp;
    limpets[i].vx = vx;
    limpets[i].vy = vy;
    limpets[i].x += dt * vx;
    limpets[i].y += dt * vy;
    float h = limpets[i].hunger;
    limpets[i].hunger = h + 0.01f * (1.0f - h) + 0.001f * fabsf(vx);
}

// only one species is counted at each low tide; the others leave at once
__global__ void low_tide_census(const Limpet* limpets, int wanted, int* bins, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (limpets[i].species != wanted) return;
    float a = limpets[i].age + limpets[i].shell[0] - limpets[i].shell[1];
    int b = (int)(a * 3.0f);
    if (b < 0) b = 0;
    if (b > 31) b = 31;
    atomicAdd(&bins[b], 1);
}

static void one_step(Limpet* d, const int* nbr, const unsigned char* cnt,
                     float2* push, int* bins, int step)
{
    int threads = 128;
    int blocks = (N + threads - 1) / threads;
    crowding<<<blocks, threads>>>(d, nbr, cnt, push, N);
    creep<<<blocks, threads>>>(d, push, 0.02f, N);
    if (step % 4 == 0)
        low_tide_census<<<blocks, threads>>>(d, step % SPECIES, bins, N);
}

int main()
{
    std::vector<Limpet> limpets(N);
    for (int i = 0; i < N; ++i) {
        int rock = i / ROCK;
        float cx = (float)(rock % 64) * 8.0f;
        float cy = (float)(rock / 64) * 8.0f;
        limpets[i].x = cx + 6.0f * rndf();
        limpets[i].y = cy + 6.0f * rndf();
        limpets[i].vx = 0.0f;
        limpets[i].vy = 0.0f;
        limpets[i].radius = 0.3f + 0.7f * rndf();
        limpets[i].hunger = 0.2f * rndf();
        limpets[i].age = 9.0f * rndf();
        limpets[i].grip = 0.05f + 0.1f * rndf();
        limpets[i].species = (rock * 7 + (int)(rnd() % 3)) % SPECIES;
        limpets[i].home = rock;
        limpets[i].shell[0] = 1.0f + rndf();
        limpets[i].shell[1] = rndf();
    }
    std::vector<int> nbr((size_t)N * MAXNB);
    std::vector<unsigned char> cnt(N);
    for (int i = 0; i < N; ++i) cnt[i] = (unsigned char)(8 + rnd() % (MAXNB - 7));
    for (int k = 0; k < MAXNB; ++k)
        for (int i = 0; i < N; ++i) {
            int base = i / ROCK * ROCK;
            unsigned r = rnd();
            int j;
            if ((r & 15u) == 0)
                j = (int)((r >> 4) % (unsigned)N);
            else
                j = base + (int)((r >> 4) % (unsigned)ROCK);
            if (j == i) j = base + (i + 1 - base) % ROCK;
            nbr[(size_t)k * N + i] = j;
        }

    Limpet* d_limpets;
    int* d_nbr;
    unsigned char* d_cnt;
    float2* d_push;
    int* d_bins;
    CK(cudaMalloc(&d_limpets, N * sizeof(Limpet)));
    CK(cudaMalloc(&d_nbr, nbr.size() * sizeof(int)));
    CK(cudaMalloc(&d_cnt, N));
    CK(cudaMalloc(&d_push, N * sizeof(float2)));
    CK(cudaMalloc(&d_bins, 32 * sizeof(int)));
    CK(cudaMemcpy(d_limpets, limpets.data(), N * sizeof(Limpet), cudaMemcpyHostToDevice));
    CK(cudaMemcpy(d_nbr, nbr.data(), nbr.size() * sizeof(int), cudaMemcpyHostToDevice));
    CK(cudaMemcpy(d_cnt, cnt.data(), N, cudaMemcpyHostToDevice));
    CK(cudaMemset(d_bins, 0, 32 * sizeof(int)));

    for (int s = 0; s < 4; ++s) one_step(d_limpets, d_nbr, d_cnt, d_push, d_bins, s);
    CK(cudaGetLastError());
    CK(cudaDeviceSynchronize());

    cudaEvent_t t0, t1;
    CK(cudaEventCreate(&t0));
    CK(cudaEventCreate(&t1));
    CK(cudaEventRecord(t0));
    for (int s = 0; s < REPS; ++s) one_step(d_limpets, d_nbr, d_cnt, d_push, d_bins, s);
    CK(cudaEventRecord(t1));
    CK(cudaEventSynchronize(t1));
    CK(cudaGetLastError());
    float ms = 0.0f;
    CK(cudaEventElapsedTime(&ms, t0, t1));

    int bins[32];
    CK(cudaMemcpy(limpets.data(), d_limpets, N * sizeof(Limpet), cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(bins, d_bins, sizeof(bins), cudaMemcpyDeviceToHost));
    double sx = 0, sy = 0, sh = 0, speed = 0;
    for (int i = 0; i < N; ++i) {
        sx += limpets[i].x;
        sy += limpets[i].y;
        sh += limpets[i].hunger;
        speed += fabs((double)limpets[i].vx) + fabs((double)limpets[i].vy);
    }
    long long census = 0;
    for (int b = 0; b < 32; ++b) census += (long long)bins[b] * (b + 1);
    printf("check sum_x %.8g\n", sx);
    printf("check sum_y %.8g\n", sy);
    printf("check hunger %.8g\n", sh);
    printf("check speed %.8g\n", speed);
    printf("check census %lld\n", census);
    printf("time_ms %.4f\n", ms);
    CK(cudaFree(d_limpets));
    CK(cudaFree(d_nbr));
    CK(cudaFree(d_cnt));
    CK(cudaFree(d_push));
    CK(cudaFree(d_bins));
    return 0;
}
