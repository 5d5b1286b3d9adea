// A glacier as a grid of ice cells: heat is diffused and carried (7-point
// stencil, whole cells copied to a second grid), the surface melts, columns are
// weighed from the top down and crevasses are counted.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <utility>
#include <vector>
#include <cuda_runtime.h>

#define CK(x)                                                                 \
    do {                                                                      \
        cudaError_t e = (x);                                                  \
        if (e != cudaSuccess) {                                               \
            fprintf(stderr, "CUDA: %s (line %d)\n", cudaGetErrorString(e), __LINE__); \
            exit(1);                                                          \
        }                                                                     \
    } while (0)

struct Ice {
    double temp;
    float vx, vy, vz;
    float strain;
    float density;
    float melt;
    float water;
    unsigned char kind;    // 0 rock, 1 ice, 2 firn, 3 fractured
};

static const int NX = 320, NY = 256, NZ = 64;
static const size_t CELLS = (size_t)NX * NY * NZ;
static const int STEPS = 24;

__host__ __device__ inline int cell(int x, int y, int z) { return (z * NY + y) * NX + x; }

__global__ void heat_step(const Ice* __restrict__ in, Ice* __restrict__ out, float dt)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z;
    if (x >= NX || y >= NY) return;
    int c = cell(x, y, z);
    Ice me = in[c];
    if (me.kind != 0) {
        double xm = in[x > 0 ? c - 1 : c].temp;
        double xp = in[x < NX - 1 ? c + 1 : c].temp;
        double ym = in[y > 0 ? c - NX : c].temp;
        double yp = in[y < NY - 1 ? c + NX : c].temp;
        double zm = in[z > 0 ? c - NX * NY : c].temp;
        double zp = in[z < NZ - 1 ? c + NX * NY : c].temp;
        double lap = xm + xp + ym + yp + zm + zp - 6.0 * me.temp;
        double gx = me.vx > 0.0f ? me.temp - xm : xp - me.temp;
        double gy = me.vy > 0.0f ? me.temp - ym : yp - me.temp;
        double gz = me.vz > 0.0f ? me.temp - zm : zp - me.temp;
        me.temp += dt * (0.1 * lap - (me.vx * gx + me.vy * gy + me.vz * gz));
        me.water *= 0.99f;
    }
    out[c] = me;
}

__global__ void surface_melt(Ice* ice, float noon)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= NX * NY) return;
    double t = ice[i].temp + noon;
    if (t > -2.0) {
        float m = 0.01f * (float)(t + 2.0);
        ice[i].melt += m;
        ice[i].water += 0.5f * m;
        ice[i].temp -= 0.3 * m;
    }
}

// one thread per column, from the surface (z = 0) to the bed
__global__ void weigh_columns(Ice* ice, float* weight)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col >= NX * NY) return;
    float load = 0.0f;
    for (int z = 0; z < NZ; ++z) {
        int c = z * NX * NY + col;
        if (ice[c].kind == 0) break;
        load += ice[c].density + ice[c].water;
        ice[c].strain = 0.9f * ice[c].strain + 1e-4f * load;
    }
    weight[col] = load;
}

__global__ void count_crevasses(const Ice* ice, int* per_layer)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= (int)CELLS) return;
    if (ice[c].kind != 3) return;
    float v2 = ice[c].vx * ice[c].vx + ice[c].vy * ice[c].vy + ice[c].vz * ice[c].vz;
    if (v2 * ice[c].density > 0.006f) atomicAdd(&per_layer[c / (NX * NY)], 1);
}

static unsigned lcg = 99u;
static float frand()
{
    lcg = lcg * 747796405u + 2891336453u;
    unsigned w = ((lcg >> ((lcg >> 28) + 4)) ^ lcg) * 277803737u;
    return (float)((w >> 22) ^ w) * (1.0f / 4294967296.0f);
}

struct Buffers {
    Ice* now;
    Ice* next;
    float* weight;
    int* crevasses;
};

static void step(Buffers& b, int s)
{
    dim3 threads(64, 4);
    dim3 blocks((NX + 63) / 64, (NY + 3) / 4, NZ);
    heat_step<<<blocks, threads>>>(b.now, b.next, 0.5f);
    std::swap(b.now, b.next);
    surface_melt<<<(NX * NY + 127) / 128, 128>>>(b.now, 6.0f * (float)(s % 4));
    if (s % 3 == 0) weigh_columns<<<(NX * NY + 127) / 128, 128>>>(b.now, b.weight);
    if (s % 6 == 0)
        count_crevasses<<<(int)((CELLS + 255) / 256), 256>>>(b.now, b.crevasses);
}

int main()
{
    std::vector<Ice> ice(CELLS);
    for (int y = 0; y < NY; ++y)
        for (int x = 0; x < NX; ++x) {
            int depth = 24 + (int)(20.0f * (1.0f + sinf(0.02f * x) * cosf(0.03f * y)));
            if (depth > NZ) depth = NZ;
            for (int z = 0; z < NZ; ++z) {
                Ice& c = ice[cell(x, y, z)];
                float r = frand();
                c.temp = -12.0 + 0.15 * z + r;
                c.vx = 0.05f + 0.1f * r;
                c.vy = 0.04f * (r - 0.5f);
                c.vz = -0.02f * r;
                c.strain = 0.0f;
                c.density = 0.3f + 0.01f * z;
                c.melt = 0.0f;
                c.water = 0.01f * r;
                if (z >= depth) c.kind = 0;
                else if (z < 5) c.kind = 2;
                else c.kind = (frand() < 0.03f) ? 3 : 1;
            }
        }

    Buffers b;
    CK(cudaMalloc(&b.now, CELLS * sizeof(Ice)));
    CK(cudaMalloc(&b.next, CELLS * sizeof(Ice)));
    CK(cudaMalloc(&b.weight, NX * NY * sizeof(float)));
    CK(cudaMalloc(&b.crevasses, NZ * sizeof(int)));
    CK(cudaMemcpy(b.now, ice.data(), CELLS * sizeof(Ice), cudaMemcpyHostToDevice));
    CK(cudaMemset(b.weight, 0, NX * NY * sizeof(float)));
    CK(cudaMemset(b.crevasses, 0, NZ * sizeof(int)));

    for (int s = 0; s < 2; ++s) step(b, s);
    CK(cudaGetLastError());
    CK(cudaDeviceSynchronize());

    cudaEvent_t t0, t1;
    CK(cudaEventCreate(&t0));
    CK(cudaEventCreate(&t1));
    CK(cudaEventRecord(t0));
    for (int s = 0; s < STEPS; ++s) step(b, s);
    CK(cudaEventRecord(t1));
    CK(cudaEventSynchronize(t1));
    CK(cudaGetLastError());
    float ms = 0;
    CK(cudaEventElapsedTime(&ms, t0, t1));

    std::vector<float> weight(NX * NY);
    std::vector<int> crev(NZ);
    CK(cudaMemcpy(ice.data(), b.now, CELLS * sizeof(Ice), cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(weight.data(), b.weight, NX * NY * sizeof(float), cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(crev.data(), b.crevasses, NZ * sizeof(int), cudaMemcpyDeviceToHost));
    double temp = 0, strain = 0, melt = 0, water = 0, w = 0;
    long long cr = 0;
    for (size_t c = 0; c < CELLS; ++c) {
        temp += ice[c].temp;
        strain += ice[c].strain;
        melt += ice[c].melt;
        water += ice[c].water;
    }
    for (float v : weight) w += v;
    for (int z = 0; z < NZ; ++z) cr += (long long)crev[z] * (z + 1);
    printf("check temp %.9g\n", temp);
    printf("check strain %.8g\n", strain);
    printf("check melt %.8g\n", melt);
    printf("check water %.8g\n", water);
    printf("check weight %.8g\n", w);
    printf("check crevasses %lld\n", cr);
    printf("time_ms %.4f\n", ms);
    return 0;
}
