// Many glass-fiber amplifiers are propagated at once: 32 transverse modes per
// fiber, one warp per fiber, pump depletion couples the modes.
#include <cuda_runtime.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>

constexpr int MODES = 32;
constexpr int FIBERS = 65536;
constexpr int TOTAL = MODES * FIBERS;

struct alignas(16) Mode
{
    float re, im;        // field amplitude
    float beta;          // propagation constant offset
    float loss;
    float gain;          // small-signal gain
    float satPower;
    float overlap[6];    // with the doped core, in six zones
    float coupling;
    float phaseNoise;
    int   l, p;          // mode numbers
};

struct Fiber
{
    double pump;
    double heat;
    float  inversion[6];
    float  length;
    int    state;        // 0 ok, 1 depleted
};

#define CUDA_OK(expr)                                            \
    {                                                            \
        cudaError_t rc = (expr);                                 \
        if (rc != cudaSuccess)                                   \
        {                                                        \
            std::fprintf(stderr, "%s\n", cudaGetErrorString(rc)); \
            std::exit(1);                                        \
        }                                                        \
    }

__device__ float warpSum(float v)
{
    for (int o = 16; o > 0; o >>= 1)
        v += __shfl_xor_sync(0xffffffffu, v, o);
    return v;
}

// lane = mode; several z steps per launch
__global__ void propagate(Mode *modes, Fiber *fibers, int steps, float dz)
{
    const int gid = blockIdx.x * blockDim.x + threadIdx.x;
    const int fiber = gid / MODES;
    const int lane = gid % MODES;
    if (fiber >= FIBERS)
        return;

    Mode m = modes[fiber * MODES + lane];
    float inv[6];
    for (int k = 0; k < 6; ++k)
        inv[k] = fibers[fiber].inversion[k];

    float absorbed = 0.0f;
    for (int s = 0; s < steps; ++s)
    {
        float power = m.re * m.re + m.im * m.im;
        float total = warpSum(power);
        float g = 0.0f;
        for (int k = 0; k < 6; ++k)
            g += m.overlap[k] * inv[k];
        g = m.gain * g / (1.0f + total / m.satPower) - m.loss;
        float amp = 1.0f + 0.5f * g * dz;
        float ph = (m.beta + m.phaseNoise) * dz;
        float cs = __cosf(ph), sn = __sinf(ph);
        float re = amp * (m.re * cs - m.im * sn);
        float im = amp * (m.re * sn + m.im * cs);
        // exchange with the next mode group
        float nre = __shfl_xor_sync(0xffffffffu, re, 1);
        float nim = __shfl_xor_sync(0xffffffffu, im, 1);
        m.re = re - m.coupling * dz * (re - nre);
        m.im = im - m.coupling * dz * (im - nim);
        absorbed += g * power * dz;
    }
    modes[fiber * MODES + lane].re = m.re;
    modes[fiber * MODES + lane].im = m.im;

    float all = warpSum(absorbed);
    if (lane == 0)
        fibers[fiber].heat = 0.9 * fibers[fiber].heat + 0.1 * all;
}

// one thread per fiber: inversion relaxes towards what the pump sustains
__global__ void pumpUpdate(Fiber *fibers)
{
    int f = blockIdx.x * blockDim.x + threadIdx.x;
    if (f >= FIBERS)
        return;
    Fiber &fb = fibers[f];
    float drive = float(fb.pump) / (1.0f + fabsf(float(fb.heat)));
    float low = 1.0f;
    for (int k = 0; k < 6; ++k)
    {
        float target = drive / (drive + 1.0f + 0.1f * k);
        fb.inversion[k] += 0.2f * (target - fb.inversion[k]);
        low = fminf(low, fb.inversion[k]);
    }
    fb.state = low < 0.2f ? 1 : 0;
}

// power in every zone over all fibers of a block, grid-stride
__global__ void zonePower(const Mode *modes, float *zones)
{
    __shared__ float part[6][128];
    float acc[6] = {0, 0, 0, 0, 0, 0};
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < TOTAL; i += gridDim.x * blockDim.x)
    {
        const Mode &m = modes[i];
        float p = m.re * m.re + m.im * m.im;
        for (int k = 0; k < 6; ++k)
            acc[k] += p * m.overlap[k];
    }
    for (int k = 0; k < 6; ++k)
        part[k][threadIdx.x] = acc[k];
    __syncthreads();
    for (int h = 64; h > 0; h >>= 1)
    {
        if (threadIdx.x < h)
            for (int k = 0; k < 6; ++k)
                part[k][threadIdx.x] += part[k][threadIdx.x + h];
        __syncthreads();
    }
    if (threadIdx.x < 6)
        zones[blockIdx.x * 6 + threadIdx.x] = part[threadIdx.x][0];
}

static double unit(unsigned &s)
{
    s = s * 1103515245u + 12345u;
    return ((s >> 9) & 0x3fffff) / 4194304.0;
}

int main()
{
    Mode *modes = nullptr;
    Fiber *fibers = nullptr;
    float *zones = nullptr;
    const int zoneBlocks = 1056;
    CUDA_OK(cudaMallocManaged(&modes, TOTAL * sizeof(Mode)));
    CUDA_OK(cudaMallocManaged(&fibers, FIBERS * sizeof(Fiber)));
    CUDA_OK(cudaMallocManaged(&zones, zoneBlocks * 6 * sizeof(float)));

    unsigned seed = 99u;
    for (int f = 0; f < FIBERS; ++f)
    {
        fibers[f].pump = 1.0 + 2.0 * unit(seed);
        fibers[f].heat = 0.0;
        for (int k = 0; k < 6; ++k)
            fibers[f].inversion[k] = 0.5f;
        fibers[f].length = float(5.0 + 10.0 * unit(seed));
        fibers[f].state = 0;
        for (int j = 0; j < MODES; ++j)
        {
            Mode &m = modes[f * MODES + j];
            m.re = float(0.1 + 0.1 * unit(seed));
            m.im = float(0.1 * unit(seed));
            m.beta = 0.3f * j;
            m.loss = 0.05f + 0.002f * j;
            m.gain = float(0.8 + 0.4 * unit(seed));
            m.satPower = float(2.0 + 2.0 * unit(seed));
            for (int k = 0; k < 6; ++k)
                m.overlap[k] = std::exp(-0.15f * j * std::fabs(k - 0.2f * j)) / 3.0f;
            m.coupling = 0.05f;
            m.phaseNoise = float(0.02 * (unit(seed) - 0.5));
            m.l = j / 4;
            m.p = j % 4;
        }
    }

    const int tpb = 128;
    cudaEvent_t beg, end;
    CUDA_OK(cudaEventCreate(&beg));
    CUDA_OK(cudaEventCreate(&end));
    const int reps = 300;
    for (int r = -20; r < reps; ++r)
    {
        if (r == 0)
            CUDA_OK(cudaEventRecord(beg));
        propagate<<<(TOTAL + tpb - 1) / tpb, tpb>>>(modes, fibers, 8, 0.05f);
        pumpUpdate<<<(FIBERS + tpb - 1) / tpb, tpb>>>(fibers);
        zonePower<<<zoneBlocks, 128>>>(modes, zones);
    }
    CUDA_OK(cudaEventRecord(end));
    CUDA_OK(cudaEventSynchronize(end));
    CUDA_OK(cudaGetLastError());
    CUDA_OK(cudaDeviceSynchronize());
    float ms = 0.0f;
    CUDA_OK(cudaEventElapsedTime(&ms, beg, end));

    double power = 0.0, heat = 0.0, inversion = 0.0, z0 = 0.0;
    for (int i = 0; i < TOTAL; ++i)
        power += double(modes[i].re) * modes[i].re + double(modes[i].im) * modes[i].im;
    for (int f = 0; f < FIBERS; ++f)
    {
        heat += fibers[f].heat;
        for (int k = 0; k < 6; ++k)
            inversion += fibers[f].inversion[k];
    }
    for (int b = 0; b < zoneBlocks; ++b)
        z0 += zones[b * 6];
    std::printf("check power %.4g\n", power);
    std::printf("check heat %.3g\n", heat);
    std::printf("check inversion %.5g\n", inversion);
    std::printf("check zone0 %.4g\n", z0);
    std::printf("time_ms %.5f\n", ms / reps);
    cudaFree(modes);
    cudaFree(fibers);
    cudaFree(zones);
    return 0;
}
