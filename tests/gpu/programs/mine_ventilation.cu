// mine_ventilation: methane in a 3D gallery block. One kernel marches along z
// with a one-field seven-point stencil, one stages whole voxels in shared
// memory, one streams bytes, gas alarms read scattered voxels.
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>
#include <cuda_runtime.h>

namespace {

constexpr int NX = 320, NY = 256, NZ = 96;
constexpr int BX = 32, BY = 8;
constexpr int SENSORS = 200000;
constexpr int SHIFTS = 40;

struct Voxel { // 36 bytes
    float methane;
    float oxygen;
    float pressure;
    float wind[3];
    int gallery;
    short dust;
    unsigned char porous;
    unsigned char open;
    float heat;
};

struct Sensor {
    int cell;
    int dust_seen;
    float top;
    double mean;
    unsigned char kind;
};

inline void need(cudaError_t e, int line)
{
    if (e != cudaSuccess) {
        std::fprintf(stderr, "mine_ventilation.cu:%d %s\n", line, cudaGetErrorName(e));
        std::exit(3);
    }
}
#define NEED(e) need((e), __LINE__)

template <int LX, int LY>
struct Layout3 {
    static __device__ __forceinline__ int id(int x, int y, int z) { return (z * LY + y) * LX + x; }
};
using Mine = Layout3<NX, NY>;

__device__ __forceinline__ unsigned scramble(unsigned v)
{
    v = (v ^ 61u) ^ (v >> 16);
    v *= 9u;
    v ^= v >> 4;
    v *= 0x27d4eb2du;
    return v ^ (v >> 15);
}

__global__ void dig(Voxel *v)
{
    int x = blockIdx.x * BX + threadIdx.x, y = blockIdx.y * BY + threadIdx.y, z = blockIdx.z;
    if (x >= NX || y >= NY) return;
    int i = Mine::id(x, y, z);
    unsigned r = scramble((unsigned)i + 1234567u);
    v[i].methane = (float)(r & 255) / 32.0f;
    v[i].oxygen = 20.0f + (float)((r >> 8) & 7) * 0.125f;
    v[i].pressure = 100.0f + (float)z * 0.5f;
    v[i].wind[0] = (float)((r >> 11) & 15) * 0.0625f - 0.5f;
    v[i].wind[1] = (float)((r >> 15) & 15) * 0.0625f - 0.5f;
    v[i].wind[2] = 0.0f;
    v[i].gallery = (x / 20) + 16 * (y / 16);
    v[i].dust = (short)((r >> 19) & 511);
    v[i].porous = (unsigned char)((r >> 28) & 3);
    v[i].open = (unsigned char)((r >> 30) != 0);
    v[i].heat = 25.0f;
}

// march along z, one field of seven neighbours, two columns kept in registers
__global__ void seep(const Voxel *__restrict__ a, Voxel *__restrict__ b)
{
    const int x = blockIdx.x * BX + threadIdx.x;
    const int y = blockIdx.y * BY + threadIdx.y;
    if (x >= NX || y >= NY) return;
    const int z0 = blockIdx.z * (NZ / 4), z1 = z0 + NZ / 4;
    const int xm = x > 0 ? x - 1 : 0, xp = x < NX - 1 ? x + 1 : x;
    const int ym = y > 0 ? y - 1 : 0, yp = y < NY - 1 ? y + 1 : y;
    float below = a[Mine::id(x, y, z0 > 0 ? z0 - 1 : 0)].methane;
    float here = a[Mine::id(x, y, z0)].methane;
    for (int z = z0; z < z1; ++z) {
        float above = a[Mine::id(x, y, z < NZ - 1 ? z + 1 : z)].methane;
        float sides = a[Mine::id(xm, y, z)].methane + a[Mine::id(xp, y, z)].methane +
                      a[Mine::id(x, ym, z)].methane + a[Mine::id(x, yp, z)].methane;
        int i = Mine::id(x, y, z);
        float k = 0.03125f * (float)(1 + a[i].porous);
        b[i].methane = here + k * (sides + above + below - 6.0f * here);
        below = here;
        here = above;
    }
}

// one z-plane tile of whole voxels (with rim) in shared memory
__global__ void __launch_bounds__(BX *BY) ventilate(const Voxel *__restrict__ a,
                                                    Voxel *__restrict__ b)
{
    __shared__ Voxel tile[BY + 2][BX + 2];
    const int z = blockIdx.z;
    const int bx = blockIdx.x * BX, by = blockIdx.y * BY;
    const int t = threadIdx.y * BX + threadIdx.x;
    for (int k = t; k < (BX + 2) * (BY + 2); k += BX * BY) {
        int ty = k / (BX + 2), tx = k % (BX + 2);
        int gx = min(max(bx + tx - 1, 0), NX - 1);
        int gy = min(max(by + ty - 1, 0), NY - 1);
        tile[ty][tx] = a[Mine::id(gx, gy, z)];
    }
    __syncthreads();
    const int x = bx + threadIdx.x, y = by + threadIdx.y;
    if (x >= NX || y >= NY) return;
    const int cx = threadIdx.x + 1, cy = threadIdx.y + 1;
    const Voxel &c = tile[cy][cx];
    const Voxel &w = tile[cy][cx - 1], &e = tile[cy][cx + 1];
    const Voxel &s = tile[cy - 1][cx], &n = tile[cy + 1][cx];
    float wx = 0.9f * c.wind[0] + 0.025f * (w.pressure - e.pressure);
    float wy = 0.9f * c.wind[1] + 0.025f * (s.pressure - n.pressure);
    float wz = 0.5f * c.wind[2] + 0.0625f * (float)c.open;
    float p = 0.5f * c.pressure + 0.125f * (w.pressure + e.pressure + s.pressure + n.pressure) +
              0.01f * (w.wind[0] - e.wind[0] + s.wind[1] - n.wind[1]);
    const int i = Mine::id(x, y, z);
    b[i].wind[0] = wx;
    b[i].wind[1] = wy;
    b[i].wind[2] = wz;
    b[i].pressure = p;
    b[i].oxygen = 0.5f * c.oxygen + 0.125f * (w.oxygen + e.oxygen + s.oxygen + n.oxygen);
    b[i].dust = (short)((c.dust * 3 + w.dust + e.dust + s.dust + n.dust + c.gallery % 3) / 7);
    b[i].heat = 0.5f * (c.heat + 0.25f * (w.heat + e.heat + s.heat + n.heat));
}

// dusty open voxels counted per z-layer: only short and byte fields
__global__ void dust_layers(const Voxel *v, unsigned *layers)
{
    const int z = blockIdx.y;
    unsigned mine = 0;
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < NX * NY; k += gridDim.x * blockDim.x) {
        const int i = z * NX * NY + k;
        if (v[i].open) mine += (unsigned)v[i].dust;
    }
    mine = __reduce_add_sync(0xffffffffu, mine);
    if ((threadIdx.x & 31u) == 0) atomicAdd(&layers[z], mine);
}

__global__ void read_sensors(Sensor *s, const Voxel *v, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int c = s[i].cell;
    const float m = s[i].kind ? v[c].methane : v[c].oxygen;
    s[i].top = fmaxf(s[i].top, m);
    s[i].mean += (double)m;
    s[i].dust_seen += v[c].dust;
}

} // namespace

int main()
{
    const size_t cells = (size_t)NX * NY * NZ;
    Voxel *now, *next;
    Sensor *sensors;
    unsigned *layers;
    NEED(cudaMalloc(&now, cells * sizeof(Voxel)));
    NEED(cudaMalloc(&next, cells * sizeof(Voxel)));
    NEED(cudaMalloc(&sensors, SENSORS * sizeof(Sensor)));
    NEED(cudaMalloc(&layers, NZ * sizeof(unsigned)));
    NEED(cudaMemset(layers, 0, NZ * sizeof(unsigned)));
    std::vector<Sensor> hs(SENSORS);
    unsigned lcg = 77;
    for (auto &s : hs) {
        lcg = lcg * 1664525u + 1013904223u;
        s.cell = (int)((lcg >> 4) % (unsigned)cells);
        s.kind = (unsigned char)((lcg >> 31) & 1);
        s.top = -1.0f;
        s.mean = 0.0;
        s.dust_seen = 0;
    }
    NEED(cudaMemcpy(sensors, hs.data(), SENSORS * sizeof(Sensor), cudaMemcpyHostToDevice));

    const dim3 block(BX, BY);
    const dim3 planes((NX + BX - 1) / BX, (NY + BY - 1) / BY, NZ);
    const dim3 slabs(planes.x, planes.y, 4);
    dig<<<planes, block>>>(now);
    dig<<<planes, block>>>(next);

    cudaEvent_t e0, e1;
    NEED(cudaEventCreate(&e0));
    NEED(cudaEventCreate(&e1));
    for (int s = -1; s < SHIFTS; ++s) {
        if (s == 0) {
            NEED(cudaGetLastError());
            NEED(cudaDeviceSynchronize());
            NEED(cudaEventRecord(e0));
        }
        seep<<<slabs, block>>>(now, next);
        ventilate<<<planes, block>>>(now, next);
        dust_layers<<<dim3(20, NZ), 256>>>(next, layers);
        read_sensors<<<(SENSORS + 255) / 256, 256>>>(sensors, next, SENSORS);
        std::swap(now, next);
    }
    NEED(cudaEventRecord(e1));
    NEED(cudaEventSynchronize(e1));
    float ms;
    NEED(cudaEventElapsedTime(&ms, e0, e1));
    std::printf("time_ms %.6f\n", ms / SHIFTS);

    std::vector<Voxel> v(cells);
    std::vector<unsigned> hl(NZ);
    NEED(cudaMemcpy(v.data(), now, cells * sizeof(Voxel), cudaMemcpyDeviceToHost));
    NEED(cudaMemcpy(hs.data(), sensors, SENSORS * sizeof(Sensor), cudaMemcpyDeviceToHost));
    NEED(cudaMemcpy(hl.data(), layers, NZ * sizeof(unsigned), cudaMemcpyDeviceToHost));
    double gas = 0, air = 0, heat = 0, top = 0, wz = 0;
    long long dust = 0, seen = 0, lay = 0;
    for (size_t i = 0; i < cells; ++i) {
        gas += v[i].methane * (double)(1 + i % 5);
        air += v[i].oxygen + v[i].pressure;
        heat += v[i].heat;
        wz += v[i].wind[2];
        dust += v[i].dust + v[i].gallery + v[i].open + v[i].porous;
    }
    for (const auto &s : hs) {
        top += s.top + s.mean;
        seen += s.dust_seen;
    }
    for (int z = 0; z < NZ; ++z) lay += (long long)hl[z] * (z + 1);
    std::printf("check gas %.4e\ncheck air %.5e\ncheck heat %.5e\n", gas, air, heat);
    std::printf("check lift %.4e\ncheck sensors %.4e\n", wz, top);
    std::printf("check dust %lld\ncheck seen %lld\ncheck layers %lld\n", dust, seen, lay);
    cudaFree(now);
    cudaFree(next);
    cudaFree(sensors);
    cudaFree(layers);
    return 0;
}
