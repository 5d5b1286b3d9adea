// lantern_parade: three orders of visiting lanterns (random, sorted with
// gaps, clustered in runs) with whole or partial use of the record.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>
#include <cuda_runtime.h>

namespace parade {

constexpr int kLanterns = 4'000'000;
constexpr int kVisits = 1'200'000;
constexpr int kSteps = 60;

struct Flame {
    float wick;
    float oil;
    short smoke;
    unsigned char rgb[3];
    unsigned char lit;
};

struct Lantern {
    double lit_at;
    float pos[3];
    float vel[3];
    Flame flame;
    int owner;
    short troupe;
    short row;
};

struct Sight {
    float glow;
    float distance2;
    int tag;
};

inline void check(cudaError_t e, int line)
{
    if (e == cudaSuccess) return;
    std::fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(e));
    std::exit(1);
}
#define PCHECK(x) ::parade::check((x), __LINE__)

template <class T>
class Buffer {
public:
    explicit Buffer(size_t n) : n_(n) { PCHECK(cudaMalloc(&p_, n * sizeof(T))); }
    explicit Buffer(const std::vector<T> &v) : Buffer(v.size())
    {
        PCHECK(cudaMemcpy(p_, v.data(), n_ * sizeof(T), cudaMemcpyHostToDevice));
    }
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;
    ~Buffer() { cudaFree(p_); }
    T *get() { return p_; }
    size_t size() const { return n_; }
    std::vector<T> download() const
    {
        std::vector<T> v(n_);
        PCHECK(cudaMemcpy(v.data(), p_, n_ * sizeof(T), cudaMemcpyDeviceToHost));
        return v;
    }

private:
    T *p_ = nullptr;
    size_t n_ = 0;
};

__device__ inline float length2(const float *v)
{
    return v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
}

// random visits: nearly every field is used
__global__ void spectators_look(const Lantern *__restrict__ l, const int *__restrict__ idx,
                                Sight *__restrict__ out, int n, float now)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const Lantern one = l[idx[i]];
    float p[3];
    for (int k = 0; k < 3; ++k) p[k] = one.pos[k] + now * one.vel[k];
    Sight s;
    s.distance2 = length2(p);
    s.glow = one.flame.wick * one.flame.oil + (float)one.flame.smoke +
             (float)(now - one.lit_at);
    s.tag = one.flame.rgb[0] + 2 * one.flame.rgb[1] + 3 * one.flame.rgb[2] + one.flame.lit +
            (one.owner ^ (one.troupe * 31 + one.row));
    out[i] = s;
}

// sorted visits with gaps: only two small fields, one of them updated
// (indices are distinct)
__global__ void refill_oil(Lantern *l, const int *idx, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        const int j = idx[i];
        const float need = 4.0f - l[j].flame.oil;
        l[j].flame.oil += 0.25f * need;
    }
}

// clustered visits: whole records copied out to a marching row
__global__ void line_up(const Lantern *__restrict__ l, const int *__restrict__ idx,
                        Lantern *__restrict__ row, int n)
{
    const int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < n) row[i] = l[idx[i]];
}

// streams over the marching row, few fields, one reduction
__global__ void count_row(const Lantern *row, int n, unsigned long long *total)
{
    unsigned int mine = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        mine += (unsigned int)row[i].troupe + (row[i].flame.lit ? 1000u : 0u);
    for (int o = 16; o > 0; o >>= 1) mine += __shfl_down_sync(0xffffffffu, mine, o);
    if ((threadIdx.x & 31) == 0) atomicAdd(total, (unsigned long long)mine);
}

} // namespace parade

int main()
{
    using namespace parade;
    std::mt19937 rng(20240617u);
    std::vector<Lantern> host(kLanterns);
    for (int i = 0; i < kLanterns; ++i) {
        Lantern &l = host[i];
        unsigned int a = rng(), b = rng();
        l.lit_at = (double)(a & 1023) / 16.0;
        for (int k = 0; k < 3; ++k) {
            l.pos[k] = (float)((a >> (k * 8)) & 255) - 128.0f;
            l.vel[k] = (float)((b >> (k * 8)) & 63) * 0.03125f - 1.0f;
            l.flame.rgb[k] = (unsigned char)(b >> (k * 7));
        }
        l.flame.wick = 1.0f + (float)(b & 7) * 0.125f;
        l.flame.oil = (float)(a & 3);
        l.flame.smoke = (short)(a >> 20);
        l.flame.lit = (unsigned char)(b >> 31);
        l.owner = i / 3;
        l.troupe = (short)(i / 4000);
        l.row = (short)(i % 4000);
    }
    std::vector<int> random_order(kVisits), sorted_order, clustered(kVisits);
    for (int &r : random_order) r = (int)(rng() % kLanterns);
    sorted_order.reserve(kVisits);
    for (int j = (int)(rng() % 3); j < kLanterns && (int)sorted_order.size() < kVisits;
         j += 1 + (int)(rng() % 5))
        sorted_order.push_back(j);
    for (int i = 0; i < kVisits; i += 8) {
        const int start = (int)(rng() % (kLanterns - 8));
        for (int k = 0; k < 8; ++k) clustered[i + k] = start + k;
    }

    Buffer<Lantern> lanterns(host);
    Buffer<int> ri(random_order), si(sorted_order), ci(clustered);
    Buffer<Sight> sights(kVisits);
    Buffer<Lantern> row(kVisits);
    Buffer<unsigned long long> total(1);
    PCHECK(cudaMemset(total.get(), 0, sizeof(unsigned long long)));
    const int ns = (int)si.size();

    auto step = [&](int s) {
        const int block = 192;
        const int grid = (kVisits + block - 1) / block;
        spectators_look<<<grid, block>>>(lanterns.get(), ri.get(), sights.get(), kVisits,
                                         0.5f * (float)(s & 31));
        refill_oil<<<132 * 4, 256>>>(lanterns.get(), si.get(), ns);
        line_up<<<grid, block>>>(lanterns.get(), ci.get(), row.get(), kVisits);
        count_row<<<132 * 4, 256>>>(row.get(), kVisits, total.get());
    };

    step(0);
    PCHECK(cudaGetLastError());
    PCHECK(cudaDeviceSynchronize());
    cudaEvent_t beg, end;
    PCHECK(cudaEventCreate(&beg));
    PCHECK(cudaEventCreate(&end));
    PCHECK(cudaEventRecord(beg));
    for (int s = 0; s < kSteps; ++s) step(s);
    PCHECK(cudaEventRecord(end));
    PCHECK(cudaEventSynchronize(end));
    float ms = 0;
    PCHECK(cudaEventElapsedTime(&ms, beg, end));
    std::printf("time_ms %.6f\n", ms / kSteps);

    double glow = 0, dist = 0, oil = 0, rowsum = 0;
    long long tags = 0;
    for (const Sight &s : sights.download()) {
        glow += s.glow;
        dist += s.distance2;
        tags += s.tag;
    }
    for (const Lantern &l : lanterns.download()) oil += l.flame.oil;
    for (const Lantern &l : row.download())
        rowsum += l.pos[0] + 2.0 * l.vel[1] + l.flame.wick + l.owner % 17 + l.lit_at + l.row +
                  l.flame.oil + l.flame.rgb[1];
    std::printf("check glow %.5e\n", glow);
    std::printf("check distance %.5e\n", dist);
    std::printf("check tags %lld\n", tags);
    std::printf("check oil %.5e\n", oil);
    std::printf("check row %.5e\n", rowsum);
    std::printf("check total %llu\n", total.download()[0]);
    return 0;
}
