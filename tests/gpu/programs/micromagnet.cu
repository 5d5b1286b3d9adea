// Micromagnetics of a polycrystalline film: Landau-Lifshitz-Gilbert dynamics of
// the magnetisation on a 3D grid (exchange, uniaxial anisotropy, a rotating
// applied field) with Heun's method, and the moment of every grain.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CHECK_CUDA(call)                                                                       \
    if (cudaError_t err = (call)) {                                                            \
        fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(err)); \
        exit(1);                                                                               \
    }

#define MATERIALS 4

struct Site {
    float3 m;                   // unit vector
    float anisotropy;
    float3 easy;                // easy axis of the grain
    unsigned char material;
    unsigned char pinned;
    unsigned short grain;
};

struct Torque {
    float4 k1;                  // first slope; w is the local energy
};

struct Material {
    float exchange;
    float damping;
    float saturation;
    float gamma;
};

struct GrainMoment {
    long long x, y, z;          // fixed point, 2^16
    unsigned int sites;
    int switched;
};

__constant__ Material materials[MATERIALS];

struct Grid {
    int nx, ny, nz;
    __host__ __device__ size_t at(int x, int y, int z) const { return ((size_t)z * ny + y) * nx + x; }
    __host__ __device__ size_t size() const { return (size_t)nx * ny * nz; }
};

__host__ __device__ inline float3 operator+(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
__host__ __device__ inline float3 operator*(float s, float3 a) { return make_float3(s * a.x, s * a.y, s * a.z); }
__host__ __device__ inline float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__host__ __device__ inline float3 cross(float3 a, float3 b)
{
    return make_float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
__device__ inline float3 unit(float3 a) { return rsqrtf(dot(a, a)) * a; }

// Free surfaces: a missing neighbour counts as the site itself
__device__ float3 effectiveField(const Site *s, const Grid &g, int x, int y, int z, float3 applied)
{
    size_t me = g.at(x, y, z);
    float3 m = s[me].m;
    float3 sum = s[x > 0 ? g.at(x - 1, y, z) : me].m;
    sum = sum + s[x < g.nx - 1 ? g.at(x + 1, y, z) : me].m;
    sum = sum + s[y > 0 ? g.at(x, y - 1, z) : me].m;
    sum = sum + s[y < g.ny - 1 ? g.at(x, y + 1, z) : me].m;
    sum = sum + s[z > 0 ? g.at(x, y, z - 1) : me].m;
    sum = sum + s[z < g.nz - 1 ? g.at(x, y, z + 1) : me].m;
    float exchange = materials[s[me].material].exchange;
    float3 easy = s[me].easy;
    float3 h = exchange * (sum + (-6.f) * m);
    h = h + (2.f * s[me].anisotropy * dot(m, easy)) * easy;
    return h + applied;
}

__device__ float3 slope(float3 m, float3 h, const Material &mat)
{
    float3 mxh = cross(m, h);
    float3 mxmxh = cross(m, mxh);
    float f = -mat.gamma / (1.f + mat.damping * mat.damping);
    return f * (mxh + mat.damping * mxmxh);
}

__global__ void predictor(const Site *in, Site *out, Torque *torque, Grid g, float3 applied, float dt)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z;
    if (x >= g.nx || y >= g.ny) return;
    size_t me = g.at(x, y, z);
    if (in[me].pinned) {
        out[me].m = in[me].m;
        torque[me].k1 = make_float4(0.f, 0.f, 0.f, 0.f);
        return;
    }
    float3 m = in[me].m;
    float3 h = effectiveField(in, g, x, y, z, applied);
    float3 k = slope(m, h, materials[in[me].material]);
    out[me].m = unit(m + dt * k);
    torque[me].k1 = make_float4(k.x, k.y, k.z, -dot(m, h));
}

__global__ void corrector(const Site *guess, Site *sites, const Torque *torque, Grid g, float3 applied, float dt)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z;
    if (x >= g.nx || y >= g.ny) return;
    size_t me = g.at(x, y, z);
    if (guess[me].pinned) return;
    float3 h = effectiveField(guess, g, x, y, z, applied);
    float3 k2 = slope(guess[me].m, h, materials[guess[me].material]);
    float4 k1 = torque[me].k1;
    float3 mean = 0.5f * (make_float3(k1.x, k1.y, k1.z) + k2);
    sites[me].m = unit(sites[me].m + dt * mean);
}

__global__ void grainMoments(const Site *sites, Grid g, GrainMoment *grains)
{
    size_t n = g.size();
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
        if (i % 4 != 0) continue;                       // a quarter of the sites will do
        GrainMoment *gm = &grains[sites[i].grain];
        float ms = materials[sites[i].material].saturation * 65536.f;
        atomicAdd((unsigned long long *)&gm->x, (unsigned long long)__float2ll_rn(sites[i].m.x * ms));
        atomicAdd((unsigned long long *)&gm->y, (unsigned long long)__float2ll_rn(sites[i].m.y * ms));
        atomicAdd((unsigned long long *)&gm->z, (unsigned long long)__float2ll_rn(sites[i].m.z * ms));
        atomicAdd(&gm->sites, 1u);
        if (sites[i].m.z < 0.f) atomicAdd(&gm->switched, 1);
    }
}

int main(int argc, char **argv)
{
    Grid g;
    g.nx = argc > 1 ? atoi(argv[1]) : 384;
    g.ny = g.nx;
    g.nz = g.nx / 12 > 0 ? g.nx / 12 : 1;
    const int grainSize = 12;
    int gx = (g.nx + grainSize - 1) / grainSize, gy = (g.ny + grainSize - 1) / grainSize;
    int grainCount = gx * gy;

    auto hash = [](unsigned a) {
        a = (a ^ 61u) ^ (a >> 16);
        a *= 9u;
        a ^= a >> 4;
        a *= 0x27d4eb2du;
        return a ^ (a >> 15);
    };
    std::vector<Site> sites(g.size());
    for (int z = 0; z < g.nz; z++)
        for (int y = 0; y < g.ny; y++)
            for (int x = 0; x < g.nx; x++) {
                size_t i = g.at(x, y, z);
                Site &s = sites[i];
                int grain = (y / grainSize) * gx + x / grainSize;
                unsigned hg = hash(grain * 7919u + 1u), hs = hash((unsigned)i);
                float tilt = 0.2f * (hg % 1000) / 1000.f, turn = 6.2831853f * (hg / 1000 % 1000) / 1000.f;
                s.easy = make_float3(sinf(tilt) * cosf(turn), sinf(tilt) * sinf(turn), cosf(tilt));
                s.anisotropy = 0.3f + 0.2f * (hg >> 20) / 4096.f;
                s.material = (unsigned char)(hg % MATERIALS);
                s.pinned = hs % 97 == 0;
                s.grain = (unsigned short)grain;
                float3 m = s.easy;
                m.x += 0.1f * ((hs >> 8) % 256) / 256.f;
                m.y += 0.1f * ((hs >> 16) % 256) / 256.f;
                s.m = (1.f / sqrtf(dot(m, m))) * m;
            }
    Material table[MATERIALS];
    for (int k = 0; k < MATERIALS; k++) table[k] = Material{0.4f + 0.05f * k, 0.2f + 0.1f * k, 0.8f + 0.1f * k, 1.f};
    CHECK_CUDA(cudaMemcpyToSymbol(materials, table, sizeof table));

    size_t bytes = g.size() * sizeof(Site);
    Site *current, *guess;
    Torque *torque;
    GrainMoment *grains;
    CHECK_CUDA(cudaMalloc(&current, bytes));
    CHECK_CUDA(cudaMalloc(&guess, bytes));
    CHECK_CUDA(cudaMalloc(&torque, g.size() * sizeof(Torque)));
    CHECK_CUDA(cudaMalloc(&grains, grainCount * sizeof(GrainMoment)));
    CHECK_CUDA(cudaMemcpy(current, sites.data(), bytes, cudaMemcpyHostToDevice));
    CHECK_CUDA(cudaMemcpy(guess, current, bytes, cudaMemcpyDeviceToDevice));
    CHECK_CUDA(cudaMemset(grains, 0, grainCount * sizeof(GrainMoment)));

    const int steps = 50;
    const float dt = 0.05f;
    dim3 block(64, 4), grid((g.nx + 63) / 64, (g.ny + 3) / 4, g.nz);
    cudaEvent_t start, stop;
    CHECK_CUDA(cudaEventCreate(&start));
    CHECK_CUDA(cudaEventCreate(&stop));
    for (int s = 0; s <= steps; s++) {
        if (s == 1) CHECK_CUDA(cudaEventRecord(start));
        float3 applied = make_float3(0.6f * sinf(0.03f * s), 0.1f, -0.9f);
        predictor<<<grid, block>>>(current, guess, torque, g, applied, dt);
        corrector<<<grid, block>>>(guess, current, torque, g, applied, dt);
        grainMoments<<<528, 256>>>(current, g, grains);
    }
    CHECK_CUDA(cudaGetLastError());
    CHECK_CUDA(cudaEventRecord(stop));
    CHECK_CUDA(cudaEventSynchronize(stop));
    float ms = 0.f;
    CHECK_CUDA(cudaEventElapsedTime(&ms, start, stop));

    std::vector<GrainMoment> moments(grainCount);
    std::vector<Torque> slopes(g.size());
    CHECK_CUDA(cudaMemcpy(sites.data(), current, bytes, cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaMemcpy(slopes.data(), torque, slopes.size() * sizeof(Torque), cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaMemcpy(moments.data(), grains, grainCount * sizeof(GrainMoment), cudaMemcpyDeviceToHost));
    double mz = 0, mabs = 0, energy = 0, moment = 0, counted = 0;
    for (const Site &s : sites) {
        mz += s.m.z;
        mabs += fabs(s.m.x) + 2 * fabs(s.m.y);
    }
    for (const Torque &t : slopes) energy += t.k1.w;
    for (const GrainMoment &gm : moments) {
        moment += fabs((double)gm.x) + fabs((double)gm.y) + fabs((double)gm.z);
        counted += gm.sites;
    }
    printf("time_ms %.5f\n", ms / steps);
    printf("check %.4e_%.4e_%.4e_%.4e_%.0f\n", mz, mabs, energy, moment, counted);
    CHECK_CUDA(cudaFree(current));
    CHECK_CUDA(cudaFree(guess));
    CHECK_CUDA(cudaFree(torque));
    CHECK_CUDA(cudaFree(grains));
    return 0;
}
