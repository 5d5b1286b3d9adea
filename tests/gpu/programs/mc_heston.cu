// Monte-Carlo pricing of Asian options under a simple stochastic-volatility
// model. One thread owns one path record, and simulates a year on it per step.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

struct Market {
    double spot;
    double variance;
    double rate;
    double kappa;
};

struct Contract {
    float strike;
    float barrier;
    unsigned char isCall;
    unsigned char knocked;
    short fixings;
};

struct PathState {
    Market start;
    Contract opt;
    unsigned long long rng;
    double average;
    double payoffSum;
    double payoffSq;
    int  trials;
    int  knockOuts;
};

#define CK(expr)                                                          \
    if (cudaError_t err = (expr); err != cudaSuccess) {                   \
        std::fprintf(stderr, "CUDA error %s at line %d\n",                \
                     cudaGetErrorString(err), __LINE__);                  \
        return 1;                                                         \
    }

__device__ __forceinline__ float uniform(unsigned long long &s)
{
    s = s * 6364136223846793005ull + 1442695040888963407ull;
    unsigned v = (unsigned)(s >> 33);
    return ((float)(v & 0xFFFFFF) + 0.5f) * (1.0f / 16777216.0f);
}

// Sum of four uniforms, scaled to unit variance; good enough for this purpose.
__device__ __forceinline__ float gaussLike(unsigned long long &s)
{
    float a = uniform(s) + uniform(s) + uniform(s) + uniform(s) - 2.0f;
    return a * 1.7320508f;
}

__global__ void simulate(PathState *paths, int n, float dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    PathState *p = &paths[i];

    double s = p->start.spot;
    double v = p->start.variance;
    const float sq = sqrtf(dt);
    p->average = 0.0;
    p->opt.knocked = 0;
    for (int k = 0; k < p->opt.fixings; ++k) {
        float z1 = gaussLike(p->rng);
        float z2 = -0.6f * z1 + 0.8f * gaussLike(p->rng);
        double vol = sqrt(fmax(v, 1e-6));
        s += s * (p->start.rate * dt + vol * sq * z1);
        v += p->start.kappa * (p->start.variance - v) * dt + 0.3 * vol * sq * z2;
        p->average += s;
        if (s > p->opt.barrier) p->opt.knocked = 1;
    }
    p->average /= p->opt.fixings;
}

__global__ void settle(PathState *paths, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        double d = paths[i].average - paths[i].opt.strike;
        double pay = paths[i].opt.isCall ? fmax(d, 0.0) : fmax(-d, 0.0);
        if (paths[i].opt.knocked) {
            pay = 0.0;
            paths[i].knockOuts++;
        }
        paths[i].payoffSum += pay;
        paths[i].payoffSq += pay * pay;
        paths[i].trials++;
    }
}

int main(int argc, char *argv[])
{
    int n = (argc > 1) ? std::atoi(argv[1]) : 1000000;
    const int steps = 20;
    size_t bytes = sizeof(PathState) * (size_t)n;

    PathState *h_paths = (PathState *)std::malloc(bytes);
    if (!h_paths) return 1;
    for (int i = 0; i < n; ++i) {
        PathState &p = h_paths[i];
        p.start.spot = 90.0 + (i % 21);
        p.start.variance = 0.02 + 0.001 * (i % 50);
        p.start.rate = 0.01 + 0.0005 * (i % 30);
        p.start.kappa = 1.0 + 0.1 * (i % 10);
        p.opt.strike = 80.0f + (float)(i % 41);
        p.opt.barrier = 140.0f + (float)(i % 13);
        p.opt.isCall = (i / 3) % 2;
        p.opt.knocked = 0;
        p.opt.fixings = (short)(96 + 16 * ((i / 256) % 4));
        p.rng = 0x9E3779B97F4A7C15ull * (unsigned long long)(i + 1);
        p.average = p.payoffSum = p.payoffSq = 0.0;
        p.trials = p.knockOuts = 0;
    }

    PathState *d_paths = nullptr;
    CK(cudaMalloc(&d_paths, bytes));
    CK(cudaMemcpy(d_paths, h_paths, bytes, cudaMemcpyHostToDevice));

    const int tpb = 192;
    const int grid = (n + tpb - 1) / tpb;
    const float dt = 1.0f / 128.0f;

    simulate<<<grid, tpb>>>(d_paths, n, dt);
    settle<<<1024, tpb>>>(d_paths, n);
    CK(cudaGetLastError());
    CK(cudaDeviceSynchronize());

    cudaEvent_t a, b;
    CK(cudaEventCreate(&a));
    CK(cudaEventCreate(&b));
    CK(cudaEventRecord(a));
    for (int s = 0; s < steps; ++s) {
        simulate<<<grid, tpb>>>(d_paths, n, dt);
        settle<<<1024, tpb>>>(d_paths, n);
    }
    CK(cudaEventRecord(b));
    CK(cudaEventSynchronize(b));
    CK(cudaGetLastError());
    float ms = 0.0f;
    CK(cudaEventElapsedTime(&ms, a, b));

    CK(cudaMemcpy(h_paths, d_paths, bytes, cudaMemcpyDeviceToHost));
    double price = 0.0, sq = 0.0;
    long long knocked = 0, trials = 0;
    for (int i = 0; i < n; ++i) {
        price += h_paths[i].payoffSum;
        sq += h_paths[i].payoffSq;
        knocked += h_paths[i].knockOuts;
        trials += h_paths[i].trials;
    }
    double mean = price / (double)trials;
    std::printf("time_ms %.5f\n", ms / steps);
    std::printf("check %.6f\n", mean + std::sqrt(sq / (double)trials) + 100.0 * knocked / (double)trials);
    cudaFree(d_paths);
    std::free(h_paths);
    return 0;
}
