// Volcanic ash fall-out: Lagrangian parcels settle through a layered wind field and
// are deposited on a ground grid.  The AshCloud class owns everything on the device.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CUDA_OK(call)                                                                    \
    do {                                                                                 \
        cudaError_t err_ = (call);                                                       \
        if (err_ != cudaSuccess) {                                                       \
            std::fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(err_));   \
            std::exit(1);                                                                \
        }                                                                                \
    } while (0)

struct AshParcel {
    float x, y, z;      // metres
    float mass;         // kg represented by the parcel
    float diameter;     // metres
    float density;      // kg / m^3
    float age;          // seconds
    unsigned int seed;  // private random stream
    int size_class;     // 0 .. 7 (phi scale)
    int state;          // 0 airborne, 1 touched down, 2 deposited
};

struct WindLevel {
    float u, v;         // mean wind
    float turbulence;   // std deviation of the gusts
    float air_density;
};

struct GroundCell {
    float load;         // kg
    float diam_load;    // kg * m
    int hits;
    float age_sum;      // seconds
};

struct ClassBin {
    int airborne, fallen;
    float fallen_mass;
};

constexpr int kLevels = 64, kGrid = 512, kClasses = 8;

struct StepConfig {
    float dt, gust;
    float level_height;
    float cell_size, half_extent;
};

__device__ inline float uniform_pm1(unsigned int& s)
{
    s ^= s << 13; s ^= s >> 17; s ^= s << 5;
    return (s >> 8) * (2.0f / 16777216.0f) - 1.0f;
}

__device__ inline float settling_speed(const AshParcel& p, const WindLevel& w)
{
    const float drag = 0.9f + 0.00015f / (p.diameter + 1e-5f);
    return sqrtf(4.0f * 9.81f * p.diameter * p.density / (3.0f * drag * w.air_density));
}

__global__ void advect(AshParcel* parcels, const WindLevel* winds, int n, StepConfig cfg)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    AshParcel& p = parcels[i];
    if (p.state != 0) return;

    int lev = (int)(p.z / cfg.level_height);
    lev = min(max(lev, 0), kLevels - 1);
    const WindLevel w = winds[lev];

    unsigned int s = p.seed;
    p.x += (w.u + uniform_pm1(s) * w.turbulence) * cfg.gust * cfg.dt;
    p.y += (w.v + uniform_pm1(s) * w.turbulence) * cfg.gust * cfg.dt;
    p.seed = s;
    p.z -= settling_speed(p, w) * cfg.dt;
    p.age += cfg.dt;
    if (p.z <= 0.0f) { p.z = 0.0f; p.state = 1; }
}

__global__ void deposit(AshParcel* parcels, GroundCell* cells, int n, StepConfig cfg)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || parcels[i].state != 1) return;
    parcels[i].state = 2;
    const int cx = (int)floorf((parcels[i].x + cfg.half_extent) / cfg.cell_size);
    const int cy = (int)floorf((parcels[i].y + cfg.half_extent) / cfg.cell_size);
    if (cx < 0 || cy < 0 || cx >= kGrid || cy >= kGrid) return;  // blown off the map
    GroundCell* c = &cells[cy * kGrid + cx];
    const float m = parcels[i].mass;
    atomicAdd(&c->load, m);
    atomicAdd(&c->diam_load, m * parcels[i].diameter * 1000.0f);
    atomicAdd(&c->hits, 1);
    atomicAdd(&c->age_sum, parcels[i].age);
}

__global__ void class_census(const AshParcel* parcels, ClassBin* bins, int n)
{
    __shared__ ClassBin local[kClasses];
    if (threadIdx.x < kClasses) local[threadIdx.x] = {0, 0, 0.0f};
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        ClassBin& b = local[parcels[i].size_class];
        if (parcels[i].state == 0) {
            atomicAdd(&b.airborne, 1);
            continue;
        }
        atomicAdd(&b.fallen, 1);
        atomicAdd(&b.fallen_mass, parcels[i].mass);
    }
    __syncthreads();
    if (threadIdx.x < kClasses) {
        atomicAdd(&bins[threadIdx.x].airborne, local[threadIdx.x].airborne);
        atomicAdd(&bins[threadIdx.x].fallen, local[threadIdx.x].fallen);
        atomicAdd(&bins[threadIdx.x].fallen_mass, local[threadIdx.x].fallen_mass);
    }
}

class AshCloud {
public:
    explicit AshCloud(int n) : n_(n)
    {
        CUDA_OK(cudaMalloc(&parcels_, n_ * sizeof(AshParcel)));
        CUDA_OK(cudaMalloc(&winds_, kLevels * sizeof(WindLevel)));
        CUDA_OK(cudaMalloc(&cells_, kGrid * kGrid * sizeof(GroundCell)));
        CUDA_OK(cudaMalloc(&bins_, kClasses * sizeof(ClassBin)));
    }
    ~AshCloud() { cudaFree(parcels_); cudaFree(winds_); cudaFree(cells_); cudaFree(bins_); }
    void load(const std::vector<AshParcel>& p, const std::vector<WindLevel>& w)
    {
        CUDA_OK(cudaMemcpy(parcels_, p.data(), n_ * sizeof(AshParcel), cudaMemcpyHostToDevice));
        CUDA_OK(cudaMemcpy(winds_, w.data(), kLevels * sizeof(WindLevel), cudaMemcpyHostToDevice));
        CUDA_OK(cudaMemset(cells_, 0, kGrid * kGrid * sizeof(GroundCell)));
        CUDA_OK(cudaMemset(bins_, 0, kClasses * sizeof(ClassBin)));
    }
    void step(const StepConfig& cfg)
    {
        const int blocks = (n_ + 255) / 256;
        advect<<<blocks, 256>>>(parcels_, winds_, n_, cfg);
        deposit<<<blocks, 256>>>(parcels_, cells_, n_, cfg);
    }
    void census() { class_census<<<1024, 256>>>(parcels_, bins_, n_); }
    void fetch(std::vector<AshParcel>& p, std::vector<GroundCell>& c, std::vector<ClassBin>& b) const
    {
        CUDA_OK(cudaMemcpy(p.data(), parcels_, n_ * sizeof(AshParcel), cudaMemcpyDeviceToHost));
        CUDA_OK(cudaMemcpy(c.data(), cells_, kGrid * kGrid * sizeof(GroundCell), cudaMemcpyDeviceToHost));
        CUDA_OK(cudaMemcpy(b.data(), bins_, kClasses * sizeof(ClassBin), cudaMemcpyDeviceToHost));
    }
private:
    int n_;
    AshParcel* parcels_ = nullptr;
    WindLevel* winds_ = nullptr;
    GroundCell* cells_ = nullptr;  ClassBin* bins_ = nullptr;
};

int main(int argc, char** argv)
{
    const int n = argc > 1 ? std::atoi(argv[1]) : 4000000;
    std::vector<AshParcel> parcels(n);
    std::vector<WindLevel> winds(kLevels);
    unsigned int r = 20100414u;
    auto rnd = [&r]() { r = r * 1664525u + 1013904223u; return (r >> 8) / 16777216.0f; };
    for (int i = 0; i < n; ++i) {
        AshParcel& p = parcels[i];
        const float h = rnd();
        p.x = (rnd() - 0.5f) * (400.0f + 3000.0f * h);
        p.y = (rnd() - 0.5f) * (400.0f + 3000.0f * h);
        p.z = 300.0f + 7500.0f * h;
        p.size_class = (int)(rnd() * kClasses);
        p.diameter = 0.00006f * (float)(1 << (p.size_class / 2 + 1)) * (0.8f + 0.5f * rnd());
        p.density = 1000.0f + 1500.0f * rnd();
        p.mass = 0.05f + 2.0f * rnd() * rnd();
        p.age = 0.0f;
        p.seed = r | 1u;
        p.state = 0;
    }
    for (int k = 0; k < kLevels; ++k)
        winds[k] = {4.0f + 0.4f * k, 3.0f * std::sin(0.1f * k), 1.0f + 0.05f * k, 1.2f * std::exp(-k / 64.0f)};

    AshCloud cloud(n);
    cloud.load(parcels, winds);
    StepConfig cfg{20.0f, 1.0f, 125.0f, 60.0f, 0.5f * kGrid * 60.0f};
    cloud.step(cfg);
    cloud.census();
    CUDA_OK(cudaDeviceSynchronize());
    cloud.load(parcels, winds);

    const float gusts[] = {0.6f, 1.0f, 1.7f};
    cudaEvent_t t0, t1;
    CUDA_OK(cudaEventCreate(&t0)); CUDA_OK(cudaEventCreate(&t1));
    CUDA_OK(cudaEventRecord(t0));
    for (float g : gusts) {
        cfg.gust = g;
        for (int s = 0; s < 14; ++s) cloud.step(cfg);
        cloud.census();
    }
    CUDA_OK(cudaEventRecord(t1));
    CUDA_OK(cudaEventSynchronize(t1)); CUDA_OK(cudaGetLastError());
    float ms = 0.0f;
    CUDA_OK(cudaEventElapsedTime(&ms, t0, t1));

    std::vector<GroundCell> cells(kGrid * kGrid);
    std::vector<ClassBin> bins(kClasses);
    cloud.fetch(parcels, cells, bins);
    double load = 0, diam = 0, hits = 0, ages = 0, alt = 0, fallen = 0, weighted = 0;
    for (const auto& c : cells) { load += c.load; diam += c.diam_load; hits += c.hits; ages += c.age_sum; }
    for (const auto& p : parcels) alt += p.z;
    for (int k = 0; k < kClasses; ++k) { fallen += bins[k].fallen_mass; weighted += (k + 1.0) * bins[k].airborne; }
    std::printf("check ground_load %.2e\ncheck diam_load %.2e\ncheck hits %.0f\n", load, diam, hits);
    std::printf("check age_sum %.2e\ncheck altitude_sum %.2e\n", ages, alt);
    std::printf("check census_mass %.2e\ncheck census_air %.0f\n", fallen, weighted);
    std::printf("time_ms %.4f\n", ms);
    return 0;
}
