// coral_sand_bins.cu
//
// Carbonate sand on a reef flat.  A 2-D grid of cells holds the tidal flow, a
// bed of sand sorted into grain-size bins, and the living reef that makes new
// sand (parrotfish and urchins grind coral, storms break it to rubble).  Each
// time step: tide and waves -> bed-load flux per bin through the cell faces ->
// mass balance of the bed -> bio-erosion and abrasion -> grain-size census.
//
//   usage: coral_sand_bins [number of cells]     (a square grid is used)
#include <cuda_runtime.h>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(x)                                                                             \
    do {                                                                                     \
        cudaError_t e = (x);                                                                 \
        if (e != cudaSuccess) {                                                              \
            std::fprintf(stderr, "CUDA error %s at line %d\n", cudaGetErrorString(e), __LINE__); \
            std::exit(EXIT_FAILURE);                                                         \
        }                                                                                    \
    } while (0)

constexpr int kBins = 6;      // silt, very fine, fine, medium, coarse, gravel-size coral
constexpr int kZones = 4;     // lagoon, back reef, flat, crest
constexpr int kHist = 32;
constexpr int kWarmup = 2;
constexpr int kSteps = 25;
constexpr float kDx = 4.0f;   // metres
constexpr float kDt = 30.0f;  // seconds
constexpr float kRho = 2720.0f;

struct GrainClass {
    float diameter;           // mm
    float tauCrit;            // Pa
    float settling;           // m/s
    float yield;              // share of freshly ground coral that ends in this bin
};

struct Flow {
    float depth;
    float u, v;
    float tauBed;
};

struct SandBed {
    float mass[kBins];        // kg per square metre
    float thickness;          // m
    float d50;                // mm
};

struct Reef {
    float cover;              // 0..1 live coral
    float rubble;             // kg per square metre
    uint16_t grazers;         // fish per hectare
    uint8_t zone;
    uint8_t exposed;          // dry at low tide
};

struct GridCell {
    Flow flow;
    SandBed bed;
    Reef reef;
    float rock;               // elevation of the reef platform, m
};

struct FaceFlux {
    float east[kBins];        // kg/m/s through the east face
    float north[kBins];
    double exported;          // what left the domain here, kg/m
};

__constant__ GrainClass cGrain[kBins];

__host__ __device__ inline uint32_t hash3(uint32_t a, uint32_t b, uint32_t c) {
    uint32_t h = a * 0x9E3779B1u ^ b * 0x85EBCA77u ^ c * 0xC2B2AE3Du;
    h ^= h >> 15;
    h *= 0x2C1B3C6Du;
    h ^= h >> 12;
    h *= 0x297A2D39u;
    return h ^ (h >> 15);
}

__host__ __device__ inline float unit(uint32_t h) { return (h >> 8) * (1.0f / 16777216.0f); }

// ---- helpers on the nested structs --------------------------------------------------

__device__ inline float surfaceLevel(const GridCell& c) { return c.rock + c.bed.thickness; }

__device__ inline float bedMass(const SandBed& bed) {
    float m = 0.0f;
#pragma unroll
    for (int b = 0; b < kBins; ++b) m += bed.mass[b];
    return m;
}

// Mass-weighted median by linear interpolation between bins.
__device__ inline void refreshBed(SandBed& bed) {
    const float total = bedMass(bed);
    bed.thickness = total * (1.0f / (kRho * 0.55f));
    if (total <= 1e-6f) {
        bed.d50 = 0.0f;
        return;
    }
    const float half = 0.5f * total;
    float below = 0.0f;
    float median = cGrain[kBins - 1].diameter;
    for (int b = 0; b < kBins; ++b) {
        const float next = below + bed.mass[b];
        if (next >= half) {
            const float lo = b ? cGrain[b - 1].diameter : 0.5f * cGrain[0].diameter;
            const float t = (half - below) / fmaxf(bed.mass[b], 1e-9f);
            median = lo + t * (cGrain[b].diameter - lo);
            break;
        }
        below = next;
    }
    bed.d50 = median;
}

__device__ inline float hiding(float d, float d50) {
    return d50 > 0.0f ? __powf(d / d50, -0.6f) : 1.0f;
}

// Meyer-Peter-Mueller with a hiding correction; never more than a fifth of what lies there.
__device__ inline float binFlux(const GridCell& from, const GridCell& to, float speed, int b) {
    const float have = from.bed.mass[b];
    if (have <= 0.0f || from.flow.depth <= 0.02f) return 0.0f;
    const GrainClass g = cGrain[b];
    const float excess = from.flow.tauBed - g.tauCrit * hiding(g.diameter, from.bed.d50) * (1.0f + 2.0f * from.reef.cover);
    if (excess <= 0.0f) return 0.0f;
    const float slope = (surfaceLevel(to) - surfaceLevel(from)) / kDx;
    const float share = have / fmaxf(bedMass(from.bed), 1e-6f);
    float q = 8e-2f * share * excess * sqrtf(excess) * fabsf(speed) / (fabsf(speed) + g.settling);
    q *= fminf(fmaxf(1.0f - 1.5f * slope, 0.0f), 2.0f);
    return fminf(q, 0.2f * have * kDx / kDt);
}

__device__ inline void faceTransport(float (&out)[kBins], const GridCell& a, const GridCell& b, float speed) {
    for (int k = 0; k < kBins; ++k)
        out[k] = speed >= 0.0f ? binFlux(a, b, speed, k) : -binFlux(b, a, speed, k);
}

__device__ inline void abrade(SandBed& bed, float power) {
#pragma unroll
    for (int b = kBins - 1; b > 0; --b) {
        const float lost = bed.mass[b] * fminf(power * cGrain[b].diameter, 0.05f);
        bed.mass[b] -= lost;
        bed.mass[b - 1] += lost;
    }
}

// ---- kernels ------------------------------------------------------------------------

__global__ void tideAndWaves(GridCell* cells, int nx, int ny, float time) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= nx || y >= ny) return;
    const int i = y * nx + x;
    const float bottom = surfaceLevel(cells[i]);
    const float left = x > 0 ? cells[i - 1].rock : cells[i].rock;
    const float right = x + 1 < nx ? cells[i + 1].rock : cells[i].rock;
    const float down = y > 0 ? cells[i - nx].rock : cells[i].rock;
    const float up = y + 1 < ny ? cells[i + nx].rock : cells[i].rock;

    const float level = 0.9f * sinf(time * 1.405e-4f + 1.0e-4f * y);
    const float depth = fmaxf(level - bottom, 0.0f);
    Flow& f = cells[i].flow;
    const float drag = 1.0f + 4.0f * cells[i].reef.cover;
    const float sx = (right - left) * (0.5f / kDx);
    const float sy = (up - down) * (0.5f / kDx);
    const float stream = 1.4f * cosf(time * 1.405e-4f + 2.0e-3f * x);
    f.depth = depth;
    f.u = depth > 0.02f ? 0.7f * f.u + 0.3f * (stream - 2.0f * sx) / drag : 0.0f;
    f.v = depth > 0.02f ? 0.7f * f.v + 0.3f * (0.5f * stream * sinf(3.0e-3f * y) - 2.0f * sy) / drag : 0.0f;
    const float orbital = depth > 0.02f ? 0.6f / (0.3f + depth) * (cells[i].reef.zone == 3 ? 1.6f : 0.8f) : 0.0f;
    f.tauBed = 3.2f * (f.u * f.u + f.v * f.v) + 0.9f * orbital * orbital;
    if (depth <= 0.02f) cells[i].reef.exposed = 1;
}

__global__ void bedLoad(const GridCell* __restrict__ cells, FaceFlux* __restrict__ flux, int nx, int ny) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= nx || y >= ny) return;
    const int i = y * nx + x;
    if (x + 1 < nx) {
        const float speed = 0.5f * (cells[i].flow.u + cells[i + 1].flow.u);
        faceTransport(flux[i].east, cells[i], cells[i + 1], speed);
    } else {                                       // open boundary: only outflow
        float gone = 0.0f;
        for (int b = 0; b < kBins; ++b) {
            const float q = cells[i].flow.u > 0.0f ? binFlux(cells[i], cells[i], cells[i].flow.u, b) : 0.0f;
            flux[i].east[b] = q;
            gone += q;
        }
        flux[i].exported += double(gone) * kDt;
    }
    if (y + 1 < ny) {
        const float speed = 0.5f * (cells[i].flow.v + cells[i + nx].flow.v);
        faceTransport(flux[i].north, cells[i], cells[i + nx], speed);
    } else {
        for (int b = 0; b < kBins; ++b) flux[i].north[b] = 0.0f;
    }
}

__global__ void exner(GridCell* cells, const FaceFlux* flux, int nx, int ny) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= nx || y >= ny) return;
    const int i = y * nx + x;
    SandBed& bed = cells[i].bed;
    for (int b = 0; b < kBins; ++b) {
        float net = -flux[i].east[b] - flux[i].north[b];
        if (x > 0) net += flux[i - 1].east[b];
        if (y > 0) net += flux[i - nx].north[b];
        bed.mass[b] = fmaxf(bed.mass[b] + net * (kDt / kDx), 0.0f);
    }
    refreshBed(bed);
}

__global__ void bioErosion(GridCell* cells, int n, uint32_t step) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Reef& reef = cells[i].reef;
    if (reef.cover <= 0.01f && reef.rubble <= 0.0f) return;        // bare sand
    const float luck = unit(hash3(i, step, 17u));
    const float ground = fminf(1e-3f * reef.cover * reef.grazers * (0.5f + luck), 2.0f);
    const float broken = cells[i].flow.tauBed > 4.0f ? 0.02f * reef.cover : 0.0f;
    const float crumbled = 0.01f * reef.rubble;
    reef.rubble += 40.0f * broken - crumbled;
    reef.cover = fminf(fmaxf(reef.cover + (reef.exposed ? -2e-3f : 8e-4f) - broken - 1e-4f * ground, 0.0f), 1.0f);
    reef.exposed = 0;
    SandBed& bed = cells[i].bed;
#pragma unroll
    for (int b = 0; b < kBins; ++b) bed.mass[b] += (ground + crumbled) * cGrain[b].yield;
    abrade(bed, 1e-3f * cells[i].flow.tauBed);
}

__global__ void grainCensus(const GridCell* cells, int n, unsigned* hist) {
    __shared__ unsigned local[kZones * kHist];
    for (int k = threadIdx.x; k < kZones * kHist; k += blockDim.x) local[k] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int bin = int(cells[i].bed.d50 * 12.0f);
        bin = min(max(bin, 0), kHist - 1);
        atomicAdd(&local[cells[i].reef.zone * kHist + bin], 1u);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < kZones * kHist; k += blockDim.x)
        if (local[k]) atomicAdd(&hist[k], local[k]);
}

int main(int argc, char** argv) {
    const long want = argc > 1 ? std::atol(argv[1]) : 2048L * 2048L;
    int nx = int(std::sqrt(double(want > 64 ? want : 64)));
    const int ny = nx;
    const int n = nx * ny;

    const GrainClass grains[kBins] = {{0.06f, 0.10f, 0.003f, 0.10f}, {0.12f, 0.14f, 0.010f, 0.20f},
                                      {0.25f, 0.18f, 0.030f, 0.30f}, {0.50f, 0.27f, 0.065f, 0.22f},
                                      {1.00f, 0.50f, 0.120f, 0.12f}, {2.50f, 1.60f, 0.210f, 0.06f}};
    CHECK(cudaMemcpyToSymbol(cGrain, grains, sizeof(grains)));

    std::vector<GridCell> host(n);
    for (int y = 0; y < ny; ++y)
        for (int x = 0; x < nx; ++x) {
            GridCell& c = host[size_t(y) * nx + x];
            const float s = float(x) / nx;
            const float noise = unit(hash3(x, y, 1u));
            const float patch = unit(hash3(x >> 4, y >> 4, 2u));
            c.flow = Flow{1.0f, 0.0f, 0.0f, 0.0f};
            c.rock = -2.5f + 2.2f * s + 0.3f * patch + 0.1f * noise;
            const bool coral = patch > 0.55f;
            c.reef.cover = coral ? 0.2f + 0.7f * noise : 0.0f;
            c.reef.rubble = coral ? 5.0f * unit(hash3(x, y, 3u)) : 0.0f;
            c.reef.grazers = uint16_t(coral ? hash3(x, y, 4u) % 900u : 0u);
            c.reef.zone = uint8_t(s * kZones);
            c.reef.exposed = 0;
            float total = 0.0f;
            for (int b = 0; b < kBins; ++b) {
                c.bed.mass[b] = (coral ? 8.0f : 60.0f) * unit(hash3(x, y, 10u + b)) * grains[b].yield;
                total += c.bed.mass[b];
            }
            c.bed.thickness = total / (kRho * 0.55f);
            c.bed.d50 = 0.3f;
        }

    GridCell* cells = nullptr;
    FaceFlux* flux = nullptr;
    unsigned* hist = nullptr;
    CHECK(cudaMalloc(&cells, size_t(n) * sizeof(GridCell)));
    CHECK(cudaMalloc(&flux, size_t(n) * sizeof(FaceFlux)));
    CHECK(cudaMalloc(&hist, kZones * kHist * sizeof(unsigned)));
    CHECK(cudaMemcpy(cells, host.data(), size_t(n) * sizeof(GridCell), cudaMemcpyHostToDevice));
    CHECK(cudaMemset(flux, 0, size_t(n) * sizeof(FaceFlux)));
    CHECK(cudaMemset(hist, 0, kZones * kHist * sizeof(unsigned)));

    const dim3 block(32, 8), grid((nx + 31) / 32, (ny + 7) / 8);
    const int flatBlocks = (n + 255) / 256;
    cudaEvent_t start, stop;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    for (int step = 0; step < kWarmup + kSteps; ++step) {
        if (step == kWarmup) CHECK(cudaEventRecord(start));
        tideAndWaves<<<grid, block>>>(cells, nx, ny, step * 900.0f);
        bedLoad<<<grid, block>>>(cells, flux, nx, ny);
        exner<<<grid, block>>>(cells, flux, nx, ny);
        bioErosion<<<flatBlocks, 256>>>(cells, n, uint32_t(step));
        grainCensus<<<min(flatBlocks, 1056), 256>>>(cells, n, hist);
        CHECK(cudaGetLastError());
    }
    CHECK(cudaEventRecord(stop));
    CHECK(cudaEventSynchronize(stop));
    float ms = 0.0f;
    CHECK(cudaEventElapsedTime(&ms, start, stop));

    std::vector<FaceFlux> hostFlux(n);
    std::vector<unsigned> hostHist(kZones * kHist);
    CHECK(cudaMemcpy(host.data(), cells, size_t(n) * sizeof(GridCell), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(hostFlux.data(), flux, size_t(n) * sizeof(FaceFlux), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(hostHist.data(), hist, hostHist.size() * sizeof(unsigned), cudaMemcpyDeviceToHost));
    double sum = 0.0;
    for (int i = 0; i < n; ++i) {
        const GridCell& c = host[i];
        for (int b = 0; b < kBins; ++b) sum += (1.0 + b) * (c.bed.mass[b] + 3.0 * std::fabs(hostFlux[i].east[b] + hostFlux[i].north[b]));
        sum += c.bed.d50 + 2.0 * c.reef.cover + c.reef.rubble + c.flow.tauBed + hostFlux[i].exported;
    }
    for (size_t k = 0; k < hostHist.size(); ++k) sum += 1e-3 * double(k) * hostHist[k];

    std::printf("check %.6g\n", sum);
    std::printf("time_ms %.4f\n", ms / kSteps);
    CHECK(cudaFree(cells));
    CHECK(cudaFree(flux));
    CHECK(cudaFree(hist));
    return 0;
}
