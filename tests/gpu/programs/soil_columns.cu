// Layered soil-moisture bookkeeping for a large number of independent columns.
// Every step: rain falls, water infiltrates, percolates down the layers, plants
// transpire it, and heat diffuses between the layers.  Pure streaming work.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CUDA_CHECK(call)                                                          \
    do {                                                                          \
        cudaError_t err_ = (call);                                                \
        if (err_ != cudaSuccess) {                                                \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(err_)); \
            exit(1);                                                              \
        }                                                                         \
    } while (0)

constexpr int kColumns = 1 << 19;
constexpr int kLayers = 4;
constexpr int kBasins = 64;

struct SoilCell {
    float theta;        // volumetric water content
    float flux;         // water handed to the layer below in the last step [mm]
    float ksat;         // saturated conductivity [mm/h]
    float thetaSat;
    float thetaRes;
    float bExp;         // Clapp-Hornberger exponent
    float thickness;    // [mm]
    float rootFrac;
    float temperature;  // [C]
    float salinity;     // [g/l]
    int texture;
    float uptake;       // transpiration taken out in the last step [mm]
};

struct SurfaceState {
    float rain;       // [mm/h]
    float pond;       // [mm]
    float runoff;     // accumulated [mm]
    float demand;     // potential transpiration [mm/h]
    float transpired; // accumulated [mm]
    float slope;
    float drainage;   // accumulated loss through the lowest layer [mm]
    int basin;
};

__host__ __device__ inline uint32_t mix32(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x7feb352dU;
    x ^= x >> 15;
    x *= 0x846ca68bU;
    x ^= x >> 16;
    return x;
}

__global__ void rainfall(SurfaceState *surf, int n, int step)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= n) return;
    uint32_t storm = mix32((uint32_t)(c >> 10) * 977u + (uint32_t)(step / 3));
    float intensity = (storm & 7u) < 3u ? (float)((storm >> 8) & 1023u) * 0.02f : 0.0f;
    surf[c].rain = intensity;
    float day = 0.5f + 0.5f * sinf(0.2618f * (float)(step % 24) - 1.5708f);
    surf[c].demand = 0.6f * day * (intensity > 0.0f ? 0.3f : 1.0f);
}

__global__ void infiltrate(SoilCell *cells, SurfaceState *surf, int n, float dt)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= n) return;
    SoilCell *top = &cells[c];
    float water = surf[c].pond + surf[c].rain * dt;
    float room = fmaxf(0.0f, (top->thetaSat - top->theta) * top->thickness);
    float in = fminf(fminf(water, top->ksat * dt), room);
    top->theta += in / top->thickness;
    water -= in;
    float keep = 2.0f * (1.0f - surf[c].slope);
    float over = fmaxf(0.0f, water - keep);
    surf[c].runoff += over;
    surf[c].pond = water - over;
}

__device__ inline float conductivity(const SoilCell &s)
{
    float sat = (s.theta - s.thetaRes) / (s.thetaSat - s.thetaRes);
    sat = fminf(1.0f, fmaxf(0.001f, sat));
    return s.ksat * powf(sat, 2.0f * s.bExp + 3.0f);
}

__global__ void percolate(SoilCell *cells, SurfaceState *surf, int n, float dt)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= n) return;
    for (int l = kLayers - 1; l >= 0; --l) {
        SoilCell &s = cells[l * n + c];
        float avail = fmaxf(0.0f, (s.theta - s.thetaRes) * s.thickness);
        float q = fminf(conductivity(s) * dt, 0.5f * avail);
        if (l + 1 < kLayers) {
            SoilCell &below = cells[(l + 1) * n + c];
            float room = fmaxf(0.0f, (below.thetaSat - below.theta) * below.thickness);
            q = fminf(q, room);
            below.theta += q / below.thickness;
        } else {
            surf[c].drainage += q;
        }
        s.theta -= q / s.thickness;
        s.flux = q;
    }
}

__global__ void transpire(SoilCell *cells, SurfaceState *surf, int n, float dt)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= n) return;
    float want = surf[c].demand * dt;
    float total = 0.0f;
    for (int l = 0; l < kLayers; ++l) {
        SoilCell &s = cells[l * n + c];
        float wet = fmaxf(0.0f, s.theta - s.thetaRes - 0.02f);
        float take = fminf(want * s.rootFrac, 0.3f * wet * s.thickness);
        s.theta -= take / s.thickness;
        s.uptake = take;
        total += take;
    }
    surf[c].transpired += total;
}

__global__ void conductHeat(SoilCell *cells, int n, float airTemp, float dt)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= n) return;
    float above = airTemp;
    float halfAbove = 20.0f;
    for (int l = 0; l < kLayers; ++l) {
        SoilCell &s = cells[l * n + c];
        float t = s.temperature;
        float k = 40.0f + 200.0f * s.theta;
        float cap = (1.2f + 4.2f * s.theta) * s.thickness;
        float flow = k * (above - t) / (halfAbove + 0.5f * s.thickness);
        s.temperature = t + dt * flow / cap;
        above = t;
        halfAbove = 0.5f * s.thickness;
    }
}

__global__ void basinTotals(const SoilCell *cells, const SurfaceState *surf, int n,
                            unsigned long long *storage)
{
    __shared__ unsigned long long local[kBasins];
    for (int b = threadIdx.x; b < kBasins; b += blockDim.x) local[b] = 0ULL;
    __syncthreads();
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < n) {
        float mm = 0.0f;
        for (int l = 0; l < kLayers; ++l) {
            const SoilCell &s = cells[l * n + c];
            mm += s.theta * s.thickness;
        }
        atomicAdd(&local[surf[c].basin], (unsigned long long)(mm * 100.0f + 0.5f));
    }
    __syncthreads();
    for (int b = threadIdx.x; b < kBasins; b += blockDim.x)
        if (local[b]) atomicAdd(&storage[b], local[b]);
}

int main()
{
    const int n = kColumns;
    std::vector<SoilCell> cells((size_t)n * kLayers);
    std::vector<SurfaceState> surf(n);
    const float thick[kLayers] = {100.0f, 250.0f, 650.0f, 1000.0f};
    const float roots[kLayers] = {0.4f, 0.3f, 0.2f, 0.1f};
    const float ksat[4] = {60.0f, 25.0f, 9.0f, 2.5f};
    const float porosity[4] = {0.40f, 0.43f, 0.46f, 0.50f};
    for (int c = 0; c < n; ++c) {
        uint32_t r = mix32((uint32_t)c * 31u + 5u);
        surf[c] = SurfaceState{0, 0, 0, 0, 0, (float)(r & 255u) / 300.0f, 0, (c / 37) % kBasins};
        for (int l = 0; l < kLayers; ++l) {
            uint32_t q = mix32(r + (uint32_t)l * 7919u);
            int tex = (int)(q & 3u);
            SoilCell s{};
            s.ksat = ksat[tex] * (0.8f + 0.4f * (float)((q >> 4) & 255u) / 255.0f);
            s.thetaSat = porosity[tex];
            s.thetaRes = 0.04f + 0.02f * (float)tex;
            s.theta = s.thetaRes + (0.3f + 0.4f * (float)((q >> 12) & 255u) / 255.0f) * (s.thetaSat - s.thetaRes);
            s.bExp = 3.0f + 1.5f * (float)tex;
            s.thickness = thick[l];
            s.rootFrac = roots[l];
            s.temperature = 12.0f - 1.0f * (float)l;
            s.salinity = 0.5f;
            s.texture = tex;
            cells[(size_t)l * n + c] = s;
        }
    }

    SoilCell *dCells;
    SurfaceState *dSurf;
    unsigned long long *dStorage;
    CUDA_CHECK(cudaMalloc(&dCells, cells.size() * sizeof(SoilCell)));
    CUDA_CHECK(cudaMalloc(&dSurf, surf.size() * sizeof(SurfaceState)));
    CUDA_CHECK(cudaMalloc(&dStorage, kBasins * sizeof(unsigned long long)));
    CUDA_CHECK(cudaMemcpy(dCells, cells.data(), cells.size() * sizeof(SoilCell), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(dSurf, surf.data(), surf.size() * sizeof(SurfaceState), cudaMemcpyHostToDevice));

    const int block = 256, grid = (n + block - 1) / block;
    const float dt = 1.0f;
    const int reps = 16;
    cudaEvent_t begin, end;
    CUDA_CHECK(cudaEventCreate(&begin));
    CUDA_CHECK(cudaEventCreate(&end));
    for (int step = 0; step <= reps; ++step) {
        if (step == 1) CUDA_CHECK(cudaEventRecord(begin));
        CUDA_CHECK(cudaMemsetAsync(dStorage, 0, kBasins * sizeof(unsigned long long)));
        rainfall<<<grid, block>>>(dSurf, n, step);
        infiltrate<<<grid, block>>>(dCells, dSurf, n, dt);
        percolate<<<grid, block>>>(dCells, dSurf, n, dt);
        transpire<<<grid, block>>>(dCells, dSurf, n, dt);
        conductHeat<<<grid, block>>>(dCells, n, 15.0f + 5.0f * sinf(0.26f * (float)step), dt);
        basinTotals<<<grid, block>>>(dCells, dSurf, n, dStorage);
    }
    CUDA_CHECK(cudaEventRecord(end));
    CUDA_CHECK(cudaEventSynchronize(end));
    CUDA_CHECK(cudaGetLastError());
    float ms = 0.0f;
    CUDA_CHECK(cudaEventElapsedTime(&ms, begin, end));

    std::vector<unsigned long long> storage(kBasins);
    CUDA_CHECK(cudaMemcpy(storage.data(), dStorage, kBasins * sizeof(unsigned long long), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(cells.data(), dCells, cells.size() * sizeof(SoilCell), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(surf.data(), dSurf, surf.size() * sizeof(SurfaceState), cudaMemcpyDeviceToHost));
    double mm = 0, temp = 0, runoff = 0, transp = 0;
    for (unsigned long long s : storage) mm += (double)s / 100.0;
    for (const SoilCell &s : cells) temp += s.temperature;
    for (const SurfaceState &s : surf) { runoff += s.runoff; transp += s.transpired; }
    CUDA_CHECK(cudaFree(dCells));
    CUDA_CHECK(cudaFree(dSurf));
    CUDA_CHECK(cudaFree(dStorage));
    printf("check %.2f/%.3f/%.3f/%.4f\n", mm / n, temp / (double)cells.size(), runoff / n, transp / n);
    printf("time_ms %.4f\n", ms / reps);
    return 0;
}
