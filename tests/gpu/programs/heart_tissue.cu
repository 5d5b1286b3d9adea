// Aliev-Panfilov model of cardiac tissue on a 3D grid with anisotropic
// conduction along a fibre field; explicit Euler with two grids.
//   usage: heart_tissue [approximate number of nodes]
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <cuda_runtime.h>

#define CUDA_CALL(f)                                                                      \
    do {                                                                                  \
        cudaError_t rc = (f);                                                             \
        if (rc != cudaSuccess) {                                                          \
            fprintf(stderr, "%s (%d): %s\n", __FILE__, __LINE__, cudaGetErrorString(rc)); \
            abort();                                                                      \
        }                                                                                 \
    } while (0)

struct Vec3 {
    float x, y, z;
};

struct TissueNode {
    float v;          // transmembrane potential (0..1)
    float w;          // recovery variable
    float conduct;    // local conductivity
    Vec3 fibre;       // unit vector
    float stimulus;   // current applied during the first steps
    float activation; // first time v exceeded 0.5, or -1
    int kind;         // 0 = cavity, 1 = muscle, 2 = scar
};

const int NX = 192;
const int NY = 128;

__host__ __device__ inline int nodeIndex(int x, int y, int z) { return (z * NY + y) * NX + x; }

// current from node b into node a
__device__ float flux(const TissueNode &a, const TissueNode &b)
{
    if (b.kind == 0) return 0.0f;
    return 0.5f * (a.conduct + b.conduct) * (b.v - a.v);
}

__global__ void stepTissue(const TissueNode *__restrict__ in, TissueNode *__restrict__ out, int nz, float time, float dt)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= NX || y >= NY || z >= nz) return;

    int id = nodeIndex(x, y, z);
    TissueNode c = in[id];
    if (c.kind == 0) {
        out[id] = c;
        return;
    }

    int xm = x > 0 ? x - 1 : 0, xp = x < NX - 1 ? x + 1 : x;
    int ym = y > 0 ? y - 1 : 0, yp = y < NY - 1 ? y + 1 : y;
    int zm = z > 0 ? z - 1 : 0, zp = z < nz - 1 ? z + 1 : z;

    float gx = flux(c, in[nodeIndex(xm, y, z)]) + flux(c, in[nodeIndex(xp, y, z)]);
    float gy = flux(c, in[nodeIndex(x, ym, z)]) + flux(c, in[nodeIndex(x, yp, z)]);
    float gz = flux(c, in[nodeIndex(x, y, zm)]) + flux(c, in[nodeIndex(x, y, zp)]);
    float diff = gx * (0.3f + 0.7f * c.fibre.x * c.fibre.x) + gy * (0.3f + 0.7f * c.fibre.y * c.fibre.y) +
                 gz * (0.3f + 0.7f * c.fibre.z * c.fibre.z);

    const float k = 8.0f, a = 0.15f, eps0 = 0.002f, mu1 = 0.2f, mu2 = 0.3f;
    float react = k * c.v * (c.v - a) * (c.v - 1.0f) + c.v * c.w;
    float eps = eps0 + mu1 * c.w / (c.v + mu2);
    float dw = eps * (-c.w - k * c.v * (c.v - a - 1.0f));
    if (c.kind == 2) react *= 0.4f;

    c.v += dt * (diff - react + (time < 2.0f ? c.stimulus : 0.0f));
    c.w += dt * dw;
    if (c.activation < 0.0f && c.v > 0.5f) c.activation = time;
    out[id] = c;
}

static unsigned rngState = 2463534242u;
static unsigned xorshift()
{
    rngState ^= rngState << 13;
    rngState ^= rngState >> 17;
    rngState ^= rngState << 5;
    return rngState;
}
static float rnd01() { return (xorshift() >> 8) * (1.0f / 16777216.0f); }

static void initTissue(TissueNode *g, int nz)
{
    for (int z = 0; z < nz; z++)
        for (int y = 0; y < NY; y++)
            for (int x = 0; x < NX; x++) {
                TissueNode &t = g[nodeIndex(x, y, z)];
                float angle = 2.0f * z / nz - 1.0f;
                float dx = x - 0.5f * NX, dy = y - 0.5f * NY;
                t.v = 0.02f * rnd01();
                t.w = 0.0f;
                t.fibre = {cosf(angle), sinf(angle), 0.0f};
                t.stimulus = (x < 6 || (y < 4 && x % 40 < 8)) ? 0.8f : 0.0f;
                t.activation = -1.0f;
                t.kind = 1;
                if (dx * dx + dy * dy < 18.0f * 18.0f) t.kind = 0;
                else if (rnd01() < 0.05f) t.kind = 2;
                t.conduct = t.kind == 2 ? 0.2f : 0.8f + 0.2f * rnd01();
            }
}

int main(int argc, char **argv)
{
    int nz = 100;
    if (argc > 1) nz = atoi(argv[1]) / (NX * NY);
    if (nz < 1) nz = 1;
    const int n = NX * NY * nz;
    const int steps = 60;
    const float dt = 0.1f;

    TissueNode *tissue = new TissueNode[n];
    initTissue(tissue, nz);

    TissueNode *d_cur, *d_next;
    CUDA_CALL(cudaMalloc(&d_cur, n * sizeof(TissueNode)));
    CUDA_CALL(cudaMalloc(&d_next, n * sizeof(TissueNode)));
    CUDA_CALL(cudaMemcpy(d_cur, tissue, n * sizeof(TissueNode), cudaMemcpyHostToDevice));

    dim3 block(32, 4, 2);
    dim3 grid((NX + 31) / 32, (NY + 3) / 4, (nz + 1) / 2);
    float time = 0.0f;

    stepTissue<<<grid, block>>>(d_cur, d_next, nz, time, dt);
    std::swap(d_cur, d_next);
    time += dt;
    CUDA_CALL(cudaDeviceSynchronize());

    cudaEvent_t start, stop;
    CUDA_CALL(cudaEventCreate(&start));
    CUDA_CALL(cudaEventCreate(&stop));
    CUDA_CALL(cudaEventRecord(start));
    for (int s = 0; s < steps; s++) {
        stepTissue<<<grid, block>>>(d_cur, d_next, nz, time, dt);
        std::swap(d_cur, d_next);
        time += dt;
    }
    CUDA_CALL(cudaEventRecord(stop));
    CUDA_CALL(cudaEventSynchronize(stop));
    CUDA_CALL(cudaGetLastError());
    float ms;
    CUDA_CALL(cudaEventElapsedTime(&ms, start, stop));

    CUDA_CALL(cudaMemcpy(tissue, d_cur, n * sizeof(TissueNode), cudaMemcpyDeviceToHost));
    long long check = 0;
    int activated = 0;
    for (int i = 0; i < n; i++) {
        const TissueNode &t = tissue[i];
        activated += t.activation >= 0.0f;
        check += llroundf(t.v * 1000.0f) * (i % 61 + 1) + llroundf(t.w * 1000.0f) * 3 + llroundf(t.activation * 10.0f);
        check += t.kind + llroundf(t.fibre.x * 100.0f) + llroundf(t.conduct * 100.0f);
    }
    printf("%d nodes, %d activated\n", n, activated);
    printf("time_ms %.4f\n", ms / steps);
    printf("check %lld\n", check);

    CUDA_CALL(cudaFree(d_cur));
    CUDA_CALL(cudaFree(d_next));
    delete[] tissue;
    return 0;
}
