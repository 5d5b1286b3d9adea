// Satellite catalogue: 160-byte records of doubles, about 1 GB in total.
//   seed_catalogue : writes every field
//   propagate      : Newton iterations on Kepler's equation (FP64 heavy), half of the fields
//   low_perigee    : touches a single double per record
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

struct Satellite {
    double sma, ecc, incl, raan, argp, mean_anom;   // orbit
    double mean_motion;
    double perigee;
    double pos[3];
    double mass, area, cd;
    double power[4];
    double launch_day;
    int    norad;
    int    status;
};
static_assert(sizeof(Satellite) == 160, "layout");

class Timer {
    cudaEvent_t a_, b_;
public:
    Timer()  { cudaEventCreate(&a_); cudaEventCreate(&b_); }
    ~Timer() { cudaEventDestroy(a_); cudaEventDestroy(b_); }
    void start() { cudaEventRecord(a_); }
    float stop() { float t = 0; cudaEventRecord(b_); cudaEventSynchronize(b_); cudaEventElapsedTime(&t, a_, b_); return t; }
};

__device__ __forceinline__ double unit(unsigned i, unsigned salt)
{
    unsigned x = i * 0x9E3779B1u + salt * 0x85EBCA77u;
    x ^= x >> 15; x *= 0x2C1B3C6Du; x ^= x >> 13;
    return (double)x * (1.0 / 4294967296.0);
}

__global__ void seed_catalogue(Satellite *cat, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Satellite s;
    s.sma = 6700.0 + 2000.0 * unit(i, 1);
    s.ecc = 0.25 * unit(i, 2);
    s.incl = 3.0 * unit(i, 3);
    s.raan = 6.0 * unit(i, 4);
    s.argp = 6.0 * unit(i, 5);
    s.mean_anom = 6.0 * unit(i, 6);
    s.mean_motion = sqrt(398600.4418 / (s.sma * s.sma * s.sma));
    s.perigee = s.sma * (1.0 - s.ecc) - 6378.0;
    s.pos[0] = s.pos[1] = s.pos[2] = 0.0;
    s.mass = 100.0 + 900.0 * unit(i, 7);
    s.area = 1.0 + 20.0 * unit(i, 8);
    s.cd = 2.2;
    for (int k = 0; k < 4; ++k) s.power[k] = 50.0 * k + unit(i, 9 + k);
    s.launch_day = 20000.0 * unit(i, 14);
    s.norad = i;
    s.status = i % 4;
    cat[i] = s;
}

__global__ __launch_bounds__(256) void propagate(Satellite *cat, int n, double dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const double e = cat[i].ecc, a = cat[i].sma;
    double M = cat[i].mean_anom + cat[i].mean_motion * dt;
    if (M > 6.283185307179586) M -= 6.283185307179586;
    cat[i].mean_anom = M;
    double E = M;
    for (int it = 0; it < 4; ++it) {
        double sE, cE;
        sincos(E, &sE, &cE);
        E -= (E - e * sE - M) / (1.0 - e * cE);
    }
    double sE, cE, sw, cw, so, co, si, ci;
    sincos(E, &sE, &cE);
    double xp = a * (cE - e), yp = a * sqrt(1.0 - e * e) * sE;
    sincos(cat[i].argp, &sw, &cw);
    sincos(cat[i].raan, &so, &co);
    sincos(cat[i].incl, &si, &ci);
    double u = cw * xp - sw * yp, v = sw * xp + cw * yp;
    cat[i].pos[0] = co * u - so * ci * v;
    cat[i].pos[1] = so * u + co * ci * v;
    cat[i].pos[2] = si * v;
}

__global__ void low_perigee(const Satellite *cat, int n, double limit, unsigned long long *count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool low = i < n && cat[i].perigee < limit;
    unsigned votes = __ballot_sync(0xffffffffu, low);
    if ((threadIdx.x & 31) == 0 && votes) atomicAdd(count, (unsigned long long)__popc(votes));
}

int main()
{
    const int n = 6600000;
    const int block = 256, grid = (n + block - 1) / block;
    Satellite *cat = nullptr;
    unsigned long long *count = nullptr;
    if (cudaMallocManaged(&cat, (size_t)n * sizeof(Satellite)) != cudaSuccess ||
        cudaMallocManaged(&count, sizeof *count) != cudaSuccess) { fprintf(stderr, "no memory\n"); return 1; }
    *count = 0;

    seed_catalogue<<<grid, block>>>(cat, n);
    low_perigee<<<grid, block>>>(cat, n, 0.0, count);
    cudaDeviceSynchronize();
    printf("check below_ground %llu\n", *count);
    *count = 0;
    low_perigee<<<grid, block>>>(cat, n, -1e30, count);   // brings the counter's page over, finds nothing
    cudaDeviceSynchronize();

    Timer timer;
    timer.start();
    for (int step = 0; step < 8; ++step) {
        propagate<<<grid, block>>>(cat, n, 60.0);
        for (int k = 0; k < 3; ++k)
            low_perigee<<<grid, block>>>(cat, n, 200.0 + 100.0 * k, count);
    }
    const float ms = timer.stop();
    cudaError_t err = cudaDeviceSynchronize();
    if (err != cudaSuccess) { fprintf(stderr, "%s\n", cudaGetErrorString(err)); return 1; }

    // a slice from either end of the catalogue
    const int slice = 50000;
    std::vector<Satellite> some(2 * slice);
    cudaMemcpy(some.data(), cat, slice * sizeof(Satellite), cudaMemcpyDeviceToHost);
    cudaMemcpy(some.data() + slice, cat + (n - slice), slice * sizeof(Satellite), cudaMemcpyDeviceToHost);
    double r = 0, m = 0, x = 0; long long ids = 0;
    for (const Satellite &s : some) {
        r += std::sqrt(s.pos[0] * s.pos[0] + s.pos[1] * s.pos[1] + s.pos[2] * s.pos[2]);
        x += std::fabs(s.pos[0]) + 2 * std::fabs(s.pos[2]);
        m += s.mean_anom + s.power[2] + s.mass;
        ids += s.norad + s.status;
    }
    printf("check low %llu\n", *count);
    printf("check radius %.6g\n", r);
    printf("check coords %.6g\n", x);
    printf("check anomaly %.6g\n", m);
    printf("check ids %lld\n", ids);
    printf("time_ms %.4f\n", ms);
    cudaFree(cat); cudaFree(count);
    return 0;
}
