// Concentration map of four gases from a set of point measurements: each map
// cell is the kernel-weighted average of all sensors' readings
// (Nadaraya-Watson with a per-sensor bandwidth).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <vector>

inline void cudaCheck(cudaError_t status, const char *what)
{
    if (status != cudaSuccess) {
        std::cerr << what << ": " << cudaGetErrorString(status) << std::endl;
        std::exit(1);
    }
}

constexpr int NUM_GASES = 4;

struct Sensor {
    float x, y, z;
    float invBandwidth2;
    float level[NUM_GASES];
    float trust;
    float drift;
    int   id;
    int   lastService;
};

struct MapSpec {
    int width, height;
    float x0, y0, dx, dy;
    float altitude;
};

__global__ void estimateMap(const Sensor *__restrict__ sensors, int numSensors,
                            MapSpec spec, float *__restrict__ map)
{
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    int cells = spec.width * spec.height;
    if (cell >= cells)
        return;

    float px = spec.x0 + (cell % spec.width) * spec.dx;
    float py = spec.y0 + (cell / spec.width) * spec.dy;

    float acc[NUM_GASES] = {0.f, 0.f, 0.f, 0.f};
    float norm = 1e-6f;
    for (int s = 0; s < numSensors; ++s) {
        Sensor sn = sensors[s];
        float dx = sn.x - px;
        float dy = sn.y - py;
        float dz = sn.z - spec.altitude;
        float r2 = dx * dx + dy * dy + dz * dz;
        float k = sn.trust * expf(-r2 * sn.invBandwidth2);
        norm += k;
#pragma unroll
        for (int g = 0; g < NUM_GASES; ++g)
            acc[g] += k * sn.level[g];
    }
    float inv = 1.0f / norm;
#pragma unroll
    for (int g = 0; g < NUM_GASES; ++g)
        map[g * cells + cell] = acc[g] * inv;
}

class Lcg {
public:
    explicit Lcg(uint64_t seed) : s(seed) {}
    float uniform(float a, float b)
    {
        s = s * 2862933555777941757ull + 3037000493ull;
        return a + (b - a) * (float)(s >> 40) / 16777216.0f;
    }

private:
    uint64_t s;
};

int main(int argc, char **argv)
{
    const int numSensors = argc > 1 ? std::max(1, std::atoi(argv[1])) : 6000;
    const int steps = 20;

    Lcg rng(2024);
    std::vector<Sensor> sensors(numSensors);
    for (int i = 0; i < numSensors; ++i) {
        Sensor &s = sensors[i];
        s.x = rng.uniform(0.f, 1000.f);
        s.y = rng.uniform(0.f, 500.f);
        s.z = rng.uniform(0.f, 30.f);
        float h = rng.uniform(10.f, 60.f);
        s.invBandwidth2 = 0.5f / (h * h);
        for (int g = 0; g < NUM_GASES; ++g)
            s.level[g] = rng.uniform(0.f, 100.f) / (g + 1);
        s.trust = rng.uniform(0.2f, 1.f);
        s.drift = rng.uniform(-0.01f, 0.01f);
        s.id = i;
        s.lastService = (int)rng.uniform(0.f, 365.f);
    }

    MapSpec spec;
    spec.width = 512;
    spec.height = 256;
    spec.x0 = 0.f;
    spec.y0 = 0.f;
    spec.dx = 1000.f / spec.width;
    spec.dy = 500.f / spec.height;
    spec.altitude = 2.f;
    const int cells = spec.width * spec.height;

    Sensor *devSensors = nullptr;
    float *devMap = nullptr;
    cudaCheck(cudaMalloc(&devSensors, numSensors * sizeof(Sensor)), "malloc sensors");
    cudaCheck(cudaMalloc(&devMap, (size_t)cells * NUM_GASES * sizeof(float)), "malloc map");
    cudaCheck(cudaMemcpy(devSensors, sensors.data(), numSensors * sizeof(Sensor),
                         cudaMemcpyHostToDevice), "copy sensors");

    dim3 block(128);
    dim3 grid((cells + block.x - 1) / block.x);

    estimateMap<<<grid, block>>>(devSensors, numSensors, spec, devMap);
    cudaCheck(cudaDeviceSynchronize(), "warm-up");

    cudaEvent_t a, b;
    cudaCheck(cudaEventCreate(&a), "event");
    cudaCheck(cudaEventCreate(&b), "event");
    cudaCheck(cudaEventRecord(a), "record");
    for (int i = 0; i < steps; ++i) {
        spec.altitude = 2.f + i;
        estimateMap<<<grid, block>>>(devSensors, numSensors, spec, devMap);
    }
    cudaCheck(cudaEventRecord(b), "record");
    cudaCheck(cudaEventSynchronize(b), "synchronize");
    cudaCheck(cudaGetLastError(), "launch");
    float ms = 0.f;
    cudaCheck(cudaEventElapsedTime(&ms, a, b), "elapsed");

    std::vector<float> map((size_t)cells * NUM_GASES);
    cudaCheck(cudaMemcpy(map.data(), devMap, map.size() * sizeof(float),
                         cudaMemcpyDeviceToHost), "copy map");

    long long check = 0;
    for (size_t i = 0; i < map.size(); ++i)
        check += std::llround(map[i] * 1000.0) * (long long)(i % 97 + 1);

    std::cout << "time_ms " << ms / steps << "\n";
    std::cout << "check " << check << std::endl;

    cudaFree(devSensors);
    cudaFree(devMap);
    return 0;
}
