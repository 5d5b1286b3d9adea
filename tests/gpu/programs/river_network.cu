// Distributed river routing: soil buckets give runoff, and a lagged Muskingum
// scheme carries it down a network of reaches stored with upstream lists.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>
#include <cuda_runtime.h>

inline void cudaCheck(cudaError_t e, const char *what)
{
    if (e != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
}
#define CUDA(call) cudaCheck(call, #call)

template <class T>
class DeviceArray {
public:
    explicit DeviceArray(size_t n) : n_(n) { CUDA(cudaMalloc(&p_, n * sizeof(T))); }
    explicit DeviceArray(const std::vector<T> &v) : DeviceArray(v.size()) { upload(v); }
    ~DeviceArray() { cudaFree(p_); }
    DeviceArray(const DeviceArray &) = delete;
    DeviceArray &operator=(const DeviceArray &) = delete;

    void upload(const std::vector<T> &v) { CUDA(cudaMemcpy(p_, v.data(), n_ * sizeof(T), cudaMemcpyHostToDevice)); }
    std::vector<T> download() const
    {
        std::vector<T> v(n_);
        CUDA(cudaMemcpy(v.data(), p_, n_ * sizeof(T), cudaMemcpyDeviceToHost));
        return v;
    }
    T *get() const { return p_; }
    size_t size() const { return n_; }

private:
    T *p_ = nullptr;
    size_t n_;
};

struct Catchment {
    double moisture;        // mm
    double groundwater;     // mm
    double runoff;          // m3/s to the reach
    float capacity;         // mm
    float area;             // km2
    float infiltration;
    float recession;
    short rainZone;
    unsigned char landUse;
    unsigned char snow;
};

struct Reach {
    double k;               // travel time, s
    double x;
    float length, slope, width, roughness;
    int upBegin, upEnd;     // in the list of upstream reaches
    short basin;
    unsigned char order;
    unsigned char gauge;
};

struct Flow {
    double inflow;
    double outflow;
    double storage;
    float depth;
    int floodHours;
};

constexpr int ZONES = 48;
constexpr int BASINS = 64;
constexpr double DT = 3600.0;
__constant__ float rainfall[ZONES];

__device__ inline double landFactor(unsigned char use) { return use == 0 ? 0.9 : use == 1 ? 0.6 : use == 2 ? 0.35 : 0.2; }

__global__ void catchmentRunoff(Catchment *c, int n, float intensity)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double rain = rainfall[c[i].rainZone] * intensity;
    if (c[i].snow) rain *= 0.3;
    double wet = c[i].moisture / c[i].capacity;
    double quick = rain * landFactor(c[i].landUse) * wet * wet;
    double moisture = c[i].moisture + rain - quick;
    double percolation = c[i].infiltration * moisture * wet;
    moisture -= percolation;
    moisture -= 0.08 * wet;                                  // evaporation
    if (moisture > c[i].capacity) {
        quick += moisture - c[i].capacity;
        moisture = c[i].capacity;
    }
    double ground = c[i].groundwater + percolation;
    double slow = c[i].recession * ground;
    c[i].groundwater = ground - slow;
    c[i].moisture = fmax(moisture, 0.0);
    c[i].runoff = (quick + slow) * c[i].area * (1e3 / DT);
}

__global__ void routeReaches(const Reach *reach, const int *upstream, const Catchment *catchment,
                             const Flow *before, Flow *after, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double inflow = catchment[i].runoff;
    for (int e = reach[i].upBegin; e < reach[i].upEnd; ++e) inflow += before[upstream[e]].outflow;

    double k = reach[i].k, x = reach[i].x;
    double d = 2.0 * k * (1.0 - x) + DT;
    double c0 = (DT - 2.0 * k * x) / d;
    double c1 = (DT + 2.0 * k * x) / d;
    double c2 = (2.0 * k * (1.0 - x) - DT) / d;
    double out = c0 * inflow + c1 * before[i].inflow + c2 * before[i].outflow;
    out = fmax(out, 0.0);

    // wide channel, Manning
    double q = out / reach[i].width;
    float depth = (float)pow(q * reach[i].roughness / sqrt((double)reach[i].slope), 0.6);
    after[i].inflow = inflow;
    after[i].outflow = out;
    after[i].storage = before[i].storage + (inflow - out) * DT;
    after[i].depth = depth;
    after[i].floodHours = before[i].floodHours + (depth > 0.02f * reach[i].width);
}

// The greatest outflow at the gauges of each basin; flows are never negative,
// so that their bits are in the order of their values.
__global__ void gaugePeaks(const Reach *reach, const Flow *flow, int n, unsigned long long *peak)
{
    __shared__ unsigned long long local[BASINS];
    for (int b = threadIdx.x; b < BASINS; b += blockDim.x) local[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        if (reach[i].gauge)
            atomicMax(&local[reach[i].basin], (unsigned long long)__double_as_longlong(flow[i].outflow));
    __syncthreads();
    for (int b = threadIdx.x; b < BASINS; b += blockDim.x) atomicMax(&peak[b], local[b]);
}

static double unit(unsigned long long i, unsigned salt)
{
    unsigned long long h = (i + 1) * 0x9e3779b97f4a7c15ull + salt * 0xbf58476d1ce4e5b9ull;
    h = (h ^ (h >> 31)) * 0x94d049bb133111ebull;
    return (double)((h ^ (h >> 30)) >> 11) / 9007199254740992.0;
}

static void run(int n)
{
    std::vector<int> downstream(n, -1), upstream(n);
    std::vector<Reach> reach(n);
    std::vector<Catchment> catchment(n);
    std::vector<Flow> flow(n, Flow{0, 0, 0, 0, 0});
    for (int i = 0; i < n; ++i) {
        double u = unit(i, 1), v = unit(i, 2);
        Reach &r = reach[i];
        r.upBegin = r.upEnd = 0;
        r.basin = (short)(i % BASINS);
        if (i >= BASINS) {
            int back = 1 + (int)(u * std::min(i / BASINS, 300));
            downstream[i] = i - back * BASINS;              // of the same basin
            reach[downstream[i]].upEnd++;
        }
        r.k = 2400.0 + 3600.0 * v;
        r.x = 0.05 + 0.15 * u;
        r.length = (float)(800 + 4000 * v);
        r.slope = (float)(0.0005 + 0.01 * u);
        r.width = (float)(3 + 40 * v);
        r.roughness = 0.035f;
        r.order = (unsigned char)(1 + i % 5);
        r.gauge = v < 0.15;
        Catchment &c = catchment[i];
        c.capacity = (float)(80 + 150 * u);
        c.moisture = c.capacity * (0.3 + 0.5 * v);
        c.groundwater = 60 * u;
        c.runoff = 0;
        c.area = (float)(2 + 20 * v);
        c.infiltration = (float)(0.002 + 0.01 * u);
        c.recession = 0.004f;
        c.rainZone = (short)((i / 5000 + i % 3) % ZONES);
        c.landUse = (unsigned char)(u * 4);
        c.snow = v > 0.93;
    }
    int at = 0;
    for (Reach &r : reach) {
        int count = r.upEnd;
        r.upBegin = r.upEnd = at;
        at += count;
    }
    for (int i = 0; i < n; ++i)
        if (downstream[i] >= 0) upstream[reach[downstream[i]].upEnd++] = i;
    float zones[ZONES];
    for (int z = 0; z < ZONES; ++z) zones[z] = (float)(6.0 * unit(z, 3));
    CUDA(cudaMemcpyToSymbol(rainfall, zones, sizeof zones));

    DeviceArray<Reach> dReach(reach);
    DeviceArray<Catchment> dCatchment(catchment);
    DeviceArray<Flow> flowA(flow), flowB(flow);
    DeviceArray<int> dUpstream(upstream);
    DeviceArray<unsigned long long> dPeak(std::vector<unsigned long long>(BASINS, 0));

    const int steps = 48, block = 256, grid = (n + block - 1) / block;
    Flow *now = flowA.get(), *next = flowB.get();
    cudaEvent_t start, stop;
    CUDA(cudaEventCreate(&start));
    CUDA(cudaEventCreate(&stop));
    for (int hour = 0; hour <= steps; ++hour) {
        if (hour == 1) CUDA(cudaEventRecord(start));
        float intensity = hour % 24 < 9 ? 1.f + 0.2f * (hour % 24) : 0.05f;
        catchmentRunoff<<<grid, block>>>(dCatchment.get(), n, intensity);
        routeReaches<<<grid, block>>>(dReach.get(), dUpstream.get(), dCatchment.get(), now, next, n);
        gaugePeaks<<<std::min(grid, 792), block>>>(dReach.get(), next, n, dPeak.get());
        std::swap(now, next);
    }
    CUDA(cudaEventRecord(stop));
    CUDA(cudaGetLastError());
    CUDA(cudaEventSynchronize(stop));
    float ms = 0;
    CUDA(cudaEventElapsedTime(&ms, start, stop));

    flow = (now == flowA.get() ? flowA : flowB).download();
    std::vector<unsigned long long> peak = dPeak.download();
    double out = 0, stored = 0, depth = 0, peaks = 0;
    long long flood = 0;
    for (const Flow &f : flow) {
        out += f.outflow;
        stored += f.storage;
        depth += f.depth;
        flood += f.floodHours;
    }
    for (unsigned long long p : peak) {
        double value;
        std::memcpy(&value, &p, sizeof value);
        peaks += value;
    }
    std::printf("time_ms %.5f\n", ms / steps);
    std::printf("check %.6e_%.6e_%.5e_%.6e_%.3e\n", out, stored, depth, peaks, (double)flood);
}

int main(int argc, char **argv)
{
    try {
        run(argc > 1 ? std::max(BASINS, std::atoi(argv[1])) : 3000000);
    } catch (const std::exception &e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
    return 0;
}
