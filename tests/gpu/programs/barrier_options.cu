// Monte Carlo pricing of a book of barrier options, one option per thread.
//   usage: barrier_options [number_of_options]
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CK(x)                                                                  \
    if (cudaError_t e = (x); e != cudaSuccess) {                               \
        std::fprintf(stderr, "%s -> %s\n", #x, cudaGetErrorString(e));         \
        std::exit(2);                                                          \
    }

enum OptionKind { DOWN_OUT_CALL = 0, UP_OUT_PUT = 1, DOWN_IN_CALL = 2 };

struct BarrierOption {
    float spot;
    float strike;
    float barrier;
    float rate;
    float dividend;
    float vol;
    float maturity;
    int kind;
    float price;
    float error;

    __host__ __device__ bool touches(float s) const { return kind == UP_OUT_PUT ? s >= barrier : s <= barrier; }
    __host__ __device__ float payoff(float s, bool touched) const
    {
        float intrinsic = kind == UP_OUT_PUT ? strike - s : s - strike;
        bool alive = (kind == DOWN_IN_CALL) ? touched : !touched;
        return (alive && intrinsic > 0.0f) ? intrinsic : 0.0f;
    }
};
static_assert(sizeof(BarrierOption) == 40, "unexpected padding");

struct Rng {
    unsigned s;
    __device__ explicit Rng(unsigned seed) : s(seed * 2654435761u ^ 0x6a09e667u) { if (s == 0) s = 1; }
    __device__ float uniform()
    {
        s ^= s << 13;
        s ^= s >> 17;
        s ^= s << 5;
        return ((s >> 8) + 0.5f) * (1.0f / 16777216.0f);
    }
    __device__ void normals(float &a, float &b)
    {
        float r = sqrtf(-2.0f * __logf(uniform()));
        float phi = 6.2831853f * uniform();
        a = r * __cosf(phi);
        b = r * __sinf(phi);
    }
};

__global__ void priceBook(BarrierOption *book, int count, int paths, int dates, unsigned seed)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= count) return;

    BarrierOption o = book[id];
    const float dt = o.maturity / dates;
    const float drift = (o.rate - o.dividend - 0.5f * o.vol * o.vol) * dt;
    const float sig = o.vol * sqrtf(dt);
    Rng rng(seed + 977u * id);

    float sum = 0.0f, sumSq = 0.0f;
    for (int p = 0; p < paths; p++) {
        float s = o.spot;
        bool touched = false;
        for (int d = 0; d < dates; d += 2) {
            float z0, z1;
            rng.normals(z0, z1);
            s *= __expf(drift + sig * z0);
            touched |= o.touches(s);
            s *= __expf(drift + sig * z1);
            touched |= o.touches(s);
        }
        float v = o.payoff(s, touched);
        sum += v;
        sumSq += v * v;
    }
    float df = __expf(-o.rate * o.maturity);
    float mean = sum / paths;
    float var = fmaxf(sumSq / paths - mean * mean, 0.0f);
    book[id].price = df * mean;
    book[id].error = df * sqrtf(var / paths);
}

static float runPricing(BarrierOption *dBook, int count, int rounds)
{
    const int threads = 128;
    const int blocks = (count + threads - 1) / threads;
    const int paths = 128, dates = 24;

    priceBook<<<blocks, threads>>>(dBook, count, paths, dates, 1u);
    CK(cudaGetLastError());
    CK(cudaDeviceSynchronize());

    cudaEvent_t a, b;
    CK(cudaEventCreate(&a));
    CK(cudaEventCreate(&b));
    CK(cudaEventRecord(a));
    for (int r = 0; r < rounds; r++)
        priceBook<<<blocks, threads>>>(dBook, count, paths, dates, 17u + r);
    CK(cudaEventRecord(b));
    CK(cudaEventSynchronize(b));
    float ms;
    CK(cudaEventElapsedTime(&ms, a, b));
    CK(cudaEventDestroy(a));
    CK(cudaEventDestroy(b));
    return ms / rounds;
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? std::atoi(argv[1]) : 200000;

    std::vector<BarrierOption> book(count);
    unsigned long long state = 88172645463325252ull;
    auto rnd = [&](float lo, float hi) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        return lo + (hi - lo) * (float)((state >> 40) / 16777216.0);
    };
    for (auto &o : book) {
        o.spot = rnd(60.0f, 140.0f);
        o.strike = o.spot * rnd(0.8f, 1.2f);
        o.kind = (int)rnd(0.0f, 2.999f);
        o.barrier = o.kind == UP_OUT_PUT ? o.spot * rnd(1.1f, 1.4f) : o.spot * rnd(0.65f, 0.95f);
        o.rate = rnd(0.0f, 0.05f);
        o.dividend = rnd(0.0f, 0.03f);
        o.vol = rnd(0.1f, 0.5f);
        o.maturity = rnd(0.25f, 2.0f);
        o.price = o.error = 0.0f;
    }

    BarrierOption *dBook;
    CK(cudaMalloc(&dBook, count * sizeof(BarrierOption)));
    CK(cudaMemcpy(dBook, book.data(), count * sizeof(BarrierOption), cudaMemcpyHostToDevice));
    float ms = runPricing(dBook, count, 20);
    CK(cudaMemcpy(book.data(), dBook, count * sizeof(BarrierOption), cudaMemcpyDeviceToHost));
    CK(cudaFree(dBook));

    long long check = 0;
    for (int i = 0; i < count; i++)
        check += std::llround(book[i].price * 100.0) * (i % 31 + 1) + std::llround(book[i].error * 1000.0) + book[i].kind;
    std::printf("time_ms %.4f\n", ms);
    std::printf("check %lld\n", check);
    return 0;
}
