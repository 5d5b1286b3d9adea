// Bucket-type soil water balance driven by one weather forcing record per
// grid cell. The forcing is streamed, the soil state is updated in place.
//   usage: soil_moisture [cells]
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define checkCuda(e) checkCuda_((e), #e, __LINE__)
static void checkCuda_(cudaError_t e, const char *what, int line)
{
    if (e != cudaSuccess) {
        fprintf(stderr, "line %d: %s failed: %s\n", line, what, cudaGetErrorString(e));
        exit(1);
    }
}

typedef struct {
    float temperature; // deg C
    float rain;        // mm / h
    float radiation;   // W / m2
    float wind;        // m / s
    float humidity;    // 0..1
    int surface;       // land use class
} Forcing;

typedef struct {
    float moisture; // mm
    float runoff;   // mm
    float capacity; // mm
    float ksat;     // mm / h
    float rootDepth;
    int texture;
} SoilCell;

__constant__ float c_albedo[4] = {0.23f, 0.12f, 0.30f, 0.08f};

// simplified Penman-like potential evaporation, mm / h
__device__ float potentialEvap(const Forcing f)
{
    float es = 0.6108f * expf(17.27f * f.temperature / (f.temperature + 237.3f));
    float deficit = es * (1.0f - f.humidity);
    float net = f.radiation * (1.0f - c_albedo[f.surface & 3]);
    return 0.0012f * net + 0.05f * deficit * (1.0f + 0.54f * f.wind);
}

__global__ void waterBalance(const Forcing *__restrict__ forcing, SoilCell *soil, int n, float dt)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        Forcing f = forcing[i];
        SoilCell *s = &soil[i];

        float cap = s->capacity;
        float m = s->moisture;
        float wet = m / cap;
        float et = potentialEvap(f) * fminf(1.0f, 1.5f * wet);
        float drain = s->ksat * wet * wet * wet;
        m = m + dt * (f.rain - et - drain);
        float over = fmaxf(m - cap, 0.0f);
        m = fmaxf(m - over, 0.0f);

        s->moisture = m;
        s->runoff = over + dt * drain;
    }
}

static unsigned hashU(unsigned x)
{
    x ^= x >> 16;
    x *= 0x7feb352dU;
    x ^= x >> 15;
    x *= 0x846ca68bU;
    x ^= x >> 16;
    return x;
}

static float unit(unsigned i, unsigned salt) { return (hashU(i * 8u + salt) >> 8) / 16777216.0f; }

int main(int argc, char **argv)
{
    const int n = (argc > 1) ? atoi(argv[1]) : 4000000;
    const int steps = 50;
    const size_t bytesF = (size_t)n * sizeof(Forcing);
    const size_t bytesS = (size_t)n * sizeof(SoilCell);

    Forcing *h_forcing = (Forcing *)malloc(bytesF);
    SoilCell *h_soil = (SoilCell *)malloc(bytesS);
    for (int i = 0; i < n; i++) {
        h_forcing[i].temperature = 5.0f + 25.0f * unit(i, 0);
        h_forcing[i].rain = 3.0f * unit(i, 1);
        h_forcing[i].radiation = 600.0f * unit(i, 2);
        h_forcing[i].wind = 8.0f * unit(i, 3);
        h_forcing[i].humidity = 0.3f + 0.6f * unit(i, 4);
        h_forcing[i].surface = hashU(i) & 3;
        h_soil[i].capacity = 80.0f + 120.0f * unit(i, 5);
        h_soil[i].moisture = h_soil[i].capacity * unit(i, 6);
        h_soil[i].runoff = 0.0f;
        h_soil[i].ksat = 0.5f + 2.0f * unit(i, 7);
        h_soil[i].rootDepth = 1.0f;
        h_soil[i].texture = i % 11;
    }

    Forcing *d_forcing = NULL;
    SoilCell *d_soil = NULL;
    checkCuda(cudaMalloc((void **)&d_forcing, bytesF));
    checkCuda(cudaMalloc((void **)&d_soil, bytesS));
    checkCuda(cudaMemcpy(d_forcing, h_forcing, bytesF, cudaMemcpyHostToDevice));
    checkCuda(cudaMemcpy(d_soil, h_soil, bytesS, cudaMemcpyHostToDevice));

    const int threads = 256;
    int blocks = (n + threads - 1) / threads;
    if (blocks > 132 * 16) blocks = 132 * 16;

    waterBalance<<<blocks, threads>>>(d_forcing, d_soil, n, 0.25f);
    checkCuda(cudaGetLastError());
    checkCuda(cudaDeviceSynchronize());

    cudaEvent_t t0, t1;
    checkCuda(cudaEventCreate(&t0));
    checkCuda(cudaEventCreate(&t1));
    checkCuda(cudaEventRecord(t0, 0));
    for (int s = 0; s < steps; s++)
        waterBalance<<<blocks, threads>>>(d_forcing, d_soil, n, 0.25f);
    checkCuda(cudaEventRecord(t1, 0));
    checkCuda(cudaEventSynchronize(t1));
    float ms;
    checkCuda(cudaEventElapsedTime(&ms, t0, t1));

    checkCuda(cudaMemcpy(h_soil, d_soil, bytesS, cudaMemcpyDeviceToHost));
    long long check = 0;
    for (int i = 0; i < n; i++) {
        check += llrintf(h_soil[i].moisture * 100.0f) + 3 * llrintf(h_soil[i].runoff * 1000.0f);
        check += 7 * llrintf(h_soil[i].capacity) + h_soil[i].texture;
    }
    printf("cells %d\n", n);
    printf("time_ms %.4f\n", ms / steps);
    printf("check %lld\n", check);

    cudaFree(d_forcing);
    cudaFree(d_soil);
    free(h_forcing);
    free(h_soil);
    return 0;
}
