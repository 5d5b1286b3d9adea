//
// 3D cellular automaton for grain growth in a temperature gradient with
// solute segregation.  Unified memory, two site lattices that are swapped
// after every sweep.
//
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <utility>
#include <cuda_runtime.h>

#define checkCuda(ans) check_((ans), __FILE__, __LINE__)
inline void check_(cudaError_t rc, const char* f, int l)
{
    if (rc != cudaSuccess) {
        fprintf(stderr, "[cuda] %s (%s:%d)\n", cudaGetErrorString(rc), f, l);
        std::abort();
    }
}

const int N = 128;                 // lattice edge
const int BLK = 4;                 // initial grain edge
const int NG_EDGE = N / BLK;
const int NGRAINS = NG_EDGE * NG_EDGE * NG_EDGE;
const int SWEEPS = 60;

struct Site {
    int grain;
    float temperature;
    float solute;
    float stored;                  // stored deformation energy
    short flips;
    unsigned char unlike;          // unlike neighbours (18-neighbourhood)
    unsigned char phase;           // 0 deformed, 1 recrystallised
};

struct Grain {
    float4 quat;                   // orientation
    float mobility;
    int volume;
    int surface;
    int recryst;
    unsigned long long heat;       // fixed point temperature sum
    int zmin, zmax;
};

__host__ __device__ inline unsigned mix(unsigned a, unsigned b)
{
    unsigned h = a * 0x9E3779B1u + b * 0x85EBCA77u + 0x165667B1u;
    h ^= h >> 15; h *= 0x2c1b3c6du;
    h ^= h >> 12; h *= 0x297a2d39u;
    h ^= h >> 15;
    return h;
}

__host__ __device__ inline int at(int x, int y, int z)
{
    return (z * N + y) * N + x;
}

__device__ inline int wrapc(int v)
{
    return v & (N - 1);            // N is a power of two
}

// z is not periodic
__device__ inline int clampz(int v)
{
    return v < 0 ? 0 : (v >= N ? N - 1 : v);
}

__constant__ int c_off[18][3] = {
    {1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1},
    {1, 1, 0}, {1, -1, 0}, {-1, 1, 0}, {-1, -1, 0},
    {1, 0, 1}, {1, 0, -1}, {-1, 0, 1}, {-1, 0, -1},
    {0, 1, 1}, {0, 1, -1}, {0, -1, 1}, {0, -1, -1}};

// Heat conduction and solute diffusion, explicit 7-point stencil.
__global__ void diffuse(const Site* __restrict__ in, Site* __restrict__ out, float alphaT, float alphaC, float hotT)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= N || y >= N || z >= N) return;
    int c = at(x, y, z);
    int nb[6] = {at(wrapc(x + 1), y, z), at(wrapc(x - 1), y, z), at(x, wrapc(y + 1), z),
                 at(x, wrapc(y - 1), z), at(x, y, clampz(z + 1)), at(x, y, clampz(z - 1))};
    float t = in[c].temperature, s = in[c].solute;
    float lt = -6.0f * t, ls = 0.0f;
    for (int k = 0; k < 6; ++k) {
        lt += in[nb[k]].temperature;
        // boundaries slow the solute down
        float d = in[nb[k]].grain == in[c].grain ? 1.0f : 0.25f;
        ls += d * (in[nb[k]].solute - s);
    }
    t += alphaT * lt;
    if (z == 0) t = hotT;
    out[c].temperature = t;
    out[c].solute = s + alphaC * ls;
}

__device__ float misorientation(const float4 a, const float4 b)
{
    float d = fabsf(a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w);
    return 1.0f - d;               // 0 .. 1
}

// Synchronous stochastic switching, every site considers one neighbour grain.
__global__ void switchSites(const Site* in, Site* out, const Grain* grains, unsigned sweep)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= N || y >= N || z >= N) return;
    int c = at(x, y, z);

    int mine = in[c].grain;
    int ng[18];
    int unlike = 0;
    for (int k = 0; k < 18; ++k) {
        int n = at(wrapc(x + c_off[k][0]), wrapc(y + c_off[k][1]), clampz(z + c_off[k][2]));
        ng[k] = in[n].grain;
        unlike += ng[k] != mine;
    }
    int grain = mine;
    float stored = in[c].stored;
    short flips = in[c].flips;
    unsigned char phase = in[c].phase;

    unsigned h = mix((unsigned)c, sweep);
    if (unlike > 0 && (h & 3u) == 0u) {
        int pick = (int)((h >> 2) % 18u);
        int cand = mine;
        for (int k = 0; k < 18; ++k)
            if (k == pick) cand = ng[k];
        if (cand != mine) {
            int unlikeNew = 0;
            for (int k = 0; k < 18; ++k) unlikeNew += ng[k] != cand;
            float dE = (float)(unlikeNew - unlike) - 4.0f * stored;
            float gamma = 0.2f + 0.8f * misorientation(grains[mine].quat, grains[cand].quat);
            float drag = 1.0f / (1.0f + 3.0f * in[c].solute);
            float mob = grains[cand].mobility * gamma * drag * in[c].temperature;
            float p = dE <= 0.0f ? mob : mob * expf(-dE);
            float r = (float)(mix(h, 77u) >> 8) * (1.0f / 16777216.0f);
            if (r < p) {
                grain = cand;
                stored = 0.0f;
                phase = 1;
                ++flips;
                unlike = unlikeNew;
            }
        }
    }
    out[c].grain = grain;
    out[c].stored = stored;
    out[c].flips = flips;
    out[c].unlike = (unsigned char)unlike;
    out[c].phase = phase;
}

__global__ void resetGrains(Grain* grains, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    grains[i].volume = 0;
    grains[i].surface = 0;
    grains[i].recryst = 0;
    grains[i].heat = 0ULL;
    grains[i].zmin = N;
    grains[i].zmax = -1;
}

__global__ void measureGrains(const Site* sites, Grain* grains)
{
    const int total = N * N * N;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += blockDim.x * gridDim.x) {
        Grain* g = grains + sites[i].grain;
        int z = i / (N * N);
        atomicAdd(&g->volume, 1);
        if (sites[i].unlike) atomicAdd(&g->surface, (int)sites[i].unlike);
        if (sites[i].phase) atomicAdd(&g->recryst, 1);
        atomicAdd(&g->heat, (unsigned long long)(sites[i].temperature * 1024.0f));
        if (z < g->zmin) atomicMin(&g->zmin, z);
        if (z > g->zmax) atomicMax(&g->zmax, z);
    }
}

static void initialise(Site* s, Grain* g)
{
    for (int i = 0; i < NGRAINS; ++i) {
        float q[4], n = 0.0f;
        for (int k = 0; k < 4; ++k) {
            q[k] = (float)(mix((unsigned)i, 1000u + k) & 0xffffu) / 32768.0f - 1.0f;
            n += q[k] * q[k];
        }
        n = 1.0f / std::sqrt(n + 1e-6f);
        g[i].quat = make_float4(q[0] * n, q[1] * n, q[2] * n, q[3] * n);
        g[i].mobility = 0.5f + 0.5f * (float)(mix((unsigned)i, 5u) & 0xffu) / 255.0f;
        g[i].volume = g[i].surface = g[i].recryst = 0;
        g[i].heat = 0;
        g[i].zmin = N;
        g[i].zmax = -1;
    }
    for (int z = 0; z < N; ++z)
        for (int y = 0; y < N; ++y)
            for (int x = 0; x < N; ++x) {
                int c = at(x, y, z);
                unsigned h = mix((unsigned)c, 31337u);
                // ragged cubes: displace the look-up position by up to one site
                int gx = ((x + (int)(h % 3u) - 1) & (N - 1)) / BLK;
                int gy = ((y + (int)((h >> 4) % 3u) - 1) & (N - 1)) / BLK;
                int gz = ((z + (int)((h >> 8) % 3u) - 1) & (N - 1)) / BLK;
                s[c].grain = (gz * NG_EDGE + gy) * NG_EDGE + gx;
                s[c].temperature = 0.9f - 0.6f * (float)z / N;
                s[c].solute = 0.1f + 0.1f * (float)((h >> 12) & 0xffu) / 255.0f;
                s[c].stored = 0.25f * (float)((h >> 20) & 0xffu) / 255.0f;
                s[c].flips = 0;
                s[c].unlike = 0;
                s[c].phase = 0;
            }
}

int main()
{
    const size_t bytes = (size_t)N * N * N * sizeof(Site);
    Site *cur, *nxt;
    Grain* grains;
    checkCuda(cudaMallocManaged(&cur, bytes));
    checkCuda(cudaMallocManaged(&nxt, bytes));
    checkCuda(cudaMallocManaged(&grains, NGRAINS * sizeof(Grain)));
    initialise(cur, grains);
    checkCuda(cudaMemset(nxt, 0, bytes));

    dim3 tb(32, 4, 2);
    dim3 gr(N / tb.x, N / tb.y, N / tb.z);
    unsigned sweep = 0;
    auto doSweep = [&]() {
        diffuse<<<gr, tb>>>(cur, nxt, 0.12f, 0.05f, 0.95f);
        switchSites<<<gr, tb>>>(cur, nxt, grains, sweep);
        std::swap(cur, nxt);
        resetGrains<<<(NGRAINS + 255) / 256, 256>>>(grains, NGRAINS);
        measureGrains<<<1024, 256>>>(cur, grains);
        ++sweep;
    };

    // warm-up, also migrates the pages
    doSweep();
    checkCuda(cudaGetLastError());
    checkCuda(cudaDeviceSynchronize());
    long long vol = 0;
    for (int i = 0; i < NGRAINS; ++i) vol += grains[i].volume;
    if (vol != (long long)N * N * N) {
        fprintf(stderr, "lost sites: %lld\n", vol);
        return 1;
    }
    // the host check pulled the grain table back, touch it once more on the device
    doSweep();
    checkCuda(cudaDeviceSynchronize());

    cudaEvent_t start, stop;
    checkCuda(cudaEventCreate(&start));
    checkCuda(cudaEventCreate(&stop));
    checkCuda(cudaEventRecord(start));
    for (int s = 0; s < SWEEPS; ++s) doSweep();
    checkCuda(cudaEventRecord(stop));
    checkCuda(cudaEventSynchronize(stop));
    float ms = 0;
    checkCuda(cudaEventElapsedTime(&ms, start, stop));
    checkCuda(cudaDeviceSynchronize());

    int alive = 0, biggest = 0, extent = 0;
    long long surface = 0, recr = 0, flips = 0;
    unsigned long long heat = 0;
    for (int i = 0; i < NGRAINS; ++i) {
        if (grains[i].volume == 0) continue;
        ++alive;
        if (grains[i].volume > biggest) biggest = grains[i].volume;
        surface += grains[i].surface;
        recr += grains[i].recryst;
        heat += grains[i].heat;
        extent += grains[i].zmax - grains[i].zmin + 1;
    }
    double solute = 0, stored = 0;
    for (int i = 0; i < N * N * N; ++i) {
        solute += cur[i].solute;
        stored += cur[i].stored;
        flips += cur[i].flips;
    }
    printf("check grains_alive %.2e\n", (double)alive);
    printf("check mean_volume %.2e\n", (double)N * N * N / alive);
    printf("check mean_extent %.2e\n", (double)extent / alive);
    printf("check surface %.3e\n", (double)surface);
    printf("check recrystallised %.3e\n", (double)recr);
    printf("check flips %.3e\n", (double)flips);
    printf("check heat %.3e\n", (double)heat);
    printf("check solute %.3e\n", solute);
    printf("check stored %.3e\n", stored);
    printf("check has_big_grain %d\n", biggest > 2 * BLK * BLK * BLK ? 1 : 0);
    printf("time_ms %.5f\n", ms / SWEEPS);

    checkCuda(cudaEventDestroy(start));
    checkCuda(cudaEventDestroy(stop));
    checkCuda(cudaFree(cur));
    checkCuda(cudaFree(nxt));
    checkCuda(cudaFree(grains));
    return 0;
}
