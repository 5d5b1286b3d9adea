// Additive rendering of a full organ chord: every audio frame sums the
// harmonics of all drawn pipes, and the wind chest sags under the demand.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

#define CUDA_OK(x)                                                            \
    do {                                                                      \
        cudaError_t err__ = (x);                                              \
        if (err__ != cudaSuccess) {                                           \
            fprintf(stderr, "CUDA %s at line %d\n", cudaGetErrorString(err__), \
                    __LINE__);                                                \
            exit(1);                                                          \
        }                                                                     \
    } while (0)

struct Pipe {
    double lengthMm;
    float f0;
    float amp[5];
    float phase;
    float pan;
    float detune;
    float demand;
    float pressure;
    int rank;
    int key;
    short stop;
    char open;
    char reed;
    int speaks;
};

struct Frame {
    float left;
    float right;
    float peak;
    int loudest;
};

// one thread per audio frame, all of them run over the same pipes
__global__ void render(const Pipe *pipes, int np, Frame *frames, int n, float dt, int firstFrame)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float t = (float)(i + firstFrame) * dt;
    float l = 0.0f, r = 0.0f, peak = 0.0f;
    int loud = -1;
    for (int p = 0; p < np; p++) {
        if (!pipes[p].speaks) continue;
        float f = pipes[p].f0 * pipes[p].detune;
        float cyc = f * t + pipes[p].phase;
        cyc -= floorf(cyc);
        float v = 0.0f;
        #pragma unroll
        for (int h = 0; h < 5; h++)
            v += pipes[p].amp[h] * __sinf(6.2831853f * (cyc * (h + 1) - floorf(cyc * (h + 1))));
        v *= pipes[p].pressure;
        l += v * (1.0f - pipes[p].pan);
        r += v * pipes[p].pan;
        if (fabsf(v) > peak) {
            peak = fabsf(v);
            loud = pipes[p].rank;
        }
    }
    frames[i].left = l;
    frames[i].right = r;
    frames[i].peak = peak;
    frames[i].loudest = loud;
}

__global__ void sag(Pipe *pipes, int np, float bellows)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p < np) {
        Pipe *q = &pipes[p];
        float want = q->speaks ? q->demand : 0.0f;
        q->pressure += 0.1f * (bellows - 0.2f * want - q->pressure);
        if (q->reed) q->detune = 1.0f + 0.002f * (q->pressure - 1.0f);
    }
}

// soft limiter with a three-frame window, written to a separate buffer
__global__ void limiter(const Frame *in, float *outL, float *outR, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int a = i > 0 ? i - 1 : 0;
        int b = i + 1 < n ? i + 1 : n - 1;
        float l = 0.25f * in[a].left + 0.5f * in[i].left + 0.25f * in[b].left;
        float r = 0.25f * in[a].right + 0.5f * in[i].right + 0.25f * in[b].right;
        outL[i] = l / (1.0f + fabsf(l));
        outR[i] = r / (1.0f + fabsf(r));
    }
}

static unsigned int rnd_state = 2024u;
static float rnd01()
{
    rnd_state = rnd_state * 747796405u + 2891336453u;
    unsigned int w = ((rnd_state >> ((rnd_state >> 28) + 4)) ^ rnd_state) * 277803737u;
    w = (w >> 22) ^ w;
    return (w >> 8) * (1.0f / 16777216.0f);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 96000;
    if (n < 1) n = 1;
    const int np = 3072;
    const int reps = 8;

    Pipe *pipes;
    Frame *frames;
    float *outL, *outR;
    CUDA_OK(cudaMallocManaged(&pipes, np * sizeof(Pipe)));
    CUDA_OK(cudaMallocManaged(&frames, n * sizeof(Frame)));
    CUDA_OK(cudaMallocManaged(&outL, n * sizeof(float)));
    CUDA_OK(cudaMallocManaged(&outR, n * sizeof(float)));

    for (int p = 0; p < np; p++) {
        pipes[p].rank = p / 61;
        pipes[p].key = p % 61;
        pipes[p].f0 = 65.4f * powf(2.0f, pipes[p].key / 12.0f);
        pipes[p].lengthMm = 340000.0 / (2.0 * pipes[p].f0);
        for (int h = 0; h < 5; h++)
            pipes[p].amp[h] = rnd01() / ((h + 1) * 40.0f);
        pipes[p].phase = rnd01();
        pipes[p].pan = rnd01();
        pipes[p].detune = 1.0f + 0.001f * (rnd01() - 0.5f);
        pipes[p].demand = 0.2f + rnd01();
        pipes[p].pressure = 1.0f;
        pipes[p].stop = (short)(pipes[p].rank % 12);
        pipes[p].open = rnd01() < 0.7f;
        pipes[p].reed = rnd01() < 0.2f;
        pipes[p].speaks = rnd01() < 0.4f;
    }

    int fb = (n + 127) / 128, pb = (np + 63) / 64;
    cudaEvent_t start, stop;
    CUDA_OK(cudaEventCreate(&start));
    CUDA_OK(cudaEventCreate(&stop));
    for (int rep = -1; rep < reps; rep++) {
        if (rep == 0) CUDA_OK(cudaEventRecord(start));
        sag<<<pb, 64>>>(pipes, np, 1.02f);
        render<<<fb, 128>>>(pipes, np, frames, n, 1.0f / 48000.0f, 0);
        limiter<<<fb, 128>>>(frames, outL, outR, n);
    }
    CUDA_OK(cudaEventRecord(stop));
    CUDA_OK(cudaEventSynchronize(stop));
    CUDA_OK(cudaGetLastError());
    float ms = 0.0f;
    CUDA_OK(cudaEventElapsedTime(&ms, start, stop));
    CUDA_OK(cudaDeviceSynchronize());

    double e = 0, pk = 0, pr = 0;
    long long voiced = 0;
    for (int i = 0; i < n; i++) {
        e += (double)outL[i] * outL[i] + (double)outR[i] * outR[i];
        pk += frames[i].peak;
        if (frames[i].loudest >= 0) voiced++;
    }
    for (int p = 0; p < np; p++) pr += pipes[p].pressure;
    printf("check energy %.2e\n", e);
    printf("check peak %.3e\n", pk);
    printf("check voiced %lld\n", voiced);
    printf("check pressure %.6g\n", pr);
    printf("time_ms %.4f\n", ms / reps);
    CUDA_OK(cudaFree(pipes));
    CUDA_OK(cudaFree(frames));
    CUDA_OK(cudaFree(outL));
    CUDA_OK(cudaFree(outR));
    return 0;
}
