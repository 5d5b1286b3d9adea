// reef_polyps: coral polyps exchanging calcium with neighbours in CSR lists.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>
#include <cuda_runtime.h>

struct Vec3 {
    float x, y, z;
};

struct Polyp {
    Vec3 at;
    float calcium;
    float nitrate;
    Vec3 flow;
    int species;
    unsigned char bleach;
    unsigned char algae;
    short depth;
};

struct Link { // 8 bytes
    int to;
    float strength;
};

static void ok(cudaError_t e)
{
    if (e != cudaSuccess) throw std::runtime_error(std::string("cuda: ") + cudaGetErrorString(e));
}

__device__ __forceinline__ float sq(float v) { return v * v; }

__device__ __forceinline__ Vec3 operator-(const Vec3 &a, const Vec3 &b)
{
    return Vec3{a.x - b.x, a.y - b.y, a.z - b.z};
}

// thread per polyp, loop over its links: position and calcium of the neighbours
__global__ void exchange(const Polyp *__restrict__ p, const int *__restrict__ first,
                         const Link *__restrict__ links, float *__restrict__ gain, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Vec3 me = p[i].at;
    float c = p[i].calcium;
    float sum = 0.f;
    for (int e = first[i]; e < first[i + 1]; ++e) {
        Link l = links[e];
        Vec3 d = p[l.to].at - me;
        float r2 = sq(d.x) + sq(d.y) + sq(d.z);
        sum += l.strength * (p[l.to].calcium - c) / (1.0f + r2);
    }
    gain[i] = sum;
}

// four threads per polyp: only species and bleach of the neighbours, integers
__global__ void crowding(const Polyp *__restrict__ p, const int *__restrict__ first,
                         const Link *__restrict__ links, int *__restrict__ stress, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int i = t >> 2, lane = t & 3;
    int s = 0;
    if (i < n) {
        int mine = p[i].species;
        for (int e = first[i] + lane; e < first[i + 1]; e += 4) {
            int j = links[e].to;
            s += (p[j].species == mine) ? -1 : 2;
            s += p[j].bleach >> 6;
        }
    }
    s += __shfl_xor_sync(0xffffffffu, s, 1);
    s += __shfl_xor_sync(0xffffffffu, s, 2);
    if (i < n && lane == 0) stress[i] = s;
}

// streaming in-place update of some fields
__global__ void grow(Polyp *p, const float *gain, const int *stress, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    p[i].calcium += 0.05f * gain[i];
    p[i].nitrate = 0.9f * p[i].nitrate + 0.1f * (float)p[i].algae;
    int b = p[i].bleach + stress[i] / 4;
    p[i].bleach = (unsigned char)(b < 0 ? 0 : (b > 255 ? 255 : b));
}

// the sea's flow at every polyp is relaxed, touches only flow and depth
__global__ void sway(Polyp *p, int n, float phase)
{
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        Vec3 f = p[i].flow;
        float k = 1.0f / (1.0f + 0.01f * (float)p[i].depth);
        f.x += k * (phase - f.x);
        f.y += k * (0.25f * phase - f.y);
        f.z *= 0.5f;
        p[i].flow = f;
    }
}

class Reef {
public:
    Reef(int n, unsigned seed) : n_(n), polyps_(n), first_(n + 1)
    {
        std::mt19937 g(seed);
        int side = (int)std::sqrt((double)n);
        for (int i = 0; i < n; ++i) {
            Polyp &p = polyps_[i];
            unsigned r = g();
            p.at = Vec3{(float)(i % side), (float)(i / side), (float)(r & 7)};
            p.calcium = 1.0f + (float)((r >> 3) & 255) / 64.0f;
            p.nitrate = (float)((r >> 11) & 15);
            p.flow = Vec3{0.f, 0.f, 1.f};
            p.species = (int)((r >> 15) % 5u);
            p.bleach = (unsigned char)(r >> 24);
            p.algae = (unsigned char)((r >> 18) & 63);
            p.depth = (short)(2 + ((r >> 7) & 31));
        }
        first_[0] = 0;
        for (int i = 0; i < n; ++i) {
            int deg = 4 + (int)(g() % 17u);
            for (int k = 0; k < deg; ++k) {
                unsigned r = g();
                int j;
                if (r % 10u == 0)
                    j = (int)(g() % (unsigned)n); // larvae travel far
                else
                    j = i + (int)((r >> 8) % 33u) - 16 + side * ((int)((r >> 20) % 5u) - 2);
                if (j < 0) j += n;
                if (j >= n) j -= n;
                links_.push_back(Link{j, 0.25f + (float)(r >> 28) / 32.0f});
            }
            first_[i + 1] = (int)links_.size();
        }
        ok(cudaMalloc(&d_polyps_, sizeof(Polyp) * n));
        ok(cudaMalloc(&d_first_, sizeof(int) * (n + 1)));
        ok(cudaMalloc(&d_links_, sizeof(Link) * links_.size()));
        ok(cudaMalloc(&d_gain_, sizeof(float) * n));
        ok(cudaMalloc(&d_stress_, sizeof(int) * n));
        ok(cudaMemcpy(d_polyps_, polyps_.data(), sizeof(Polyp) * n, cudaMemcpyHostToDevice));
        ok(cudaMemcpy(d_first_, first_.data(), sizeof(int) * (n + 1), cudaMemcpyHostToDevice));
        ok(cudaMemcpy(d_links_, links_.data(), sizeof(Link) * links_.size(),
                      cudaMemcpyHostToDevice));
    }
    ~Reef()
    {
        cudaFree(d_polyps_);
        cudaFree(d_first_);
        cudaFree(d_links_);
        cudaFree(d_gain_);
        cudaFree(d_stress_);
    }
    Reef(const Reef &) = delete;
    Reef &operator=(const Reef &) = delete;

    void tide(int t)
    {
        exchange<<<(n_ + 127) / 128, 128>>>(d_polyps_, d_first_, d_links_, d_gain_, n_);
        crowding<<<(4 * n_ + 255) / 256, 256>>>(d_polyps_, d_first_, d_links_, d_stress_, n_);
        grow<<<(n_ + 255) / 256, 256>>>(d_polyps_, d_gain_, d_stress_, n_);
        sway<<<264, 512>>>(d_polyps_, n_, 0.125f * (float)(t % 8));
    }

    void report()
    {
        ok(cudaMemcpy(polyps_.data(), d_polyps_, sizeof(Polyp) * n_, cudaMemcpyDeviceToHost));
        double ca = 0, ni = 0, fl = 0;
        long long bl = 0, fixed = 0;
        for (int i = 0; i < n_; ++i) {
            const Polyp &p = polyps_[i];
            ca += p.calcium * (1 + i % 7);
            ni += p.nitrate;
            fl += p.flow.x + 2.0 * p.flow.y + p.flow.z;
            bl += (long long)p.bleach * (1 + i % 11);
            fixed += p.species + p.algae + p.depth + (int)p.at.z;
        }
        std::printf("check calcium %.5e\ncheck nitrate %.5e\ncheck flow %.4e\n", ca, ni, fl);
        std::printf("check bleach %lld\ncheck fixed %lld\n", bl, fixed);
    }

private:
    int n_;
    std::vector<Polyp> polyps_;
    std::vector<int> first_;
    std::vector<Link> links_;
    Polyp *d_polyps_ = nullptr;
    int *d_first_ = nullptr;
    Link *d_links_ = nullptr;
    float *d_gain_ = nullptr;
    int *d_stress_ = nullptr;
};

int main(int argc, char **argv)
{
    int n = argc > 1 ? std::atoi(argv[1]) : 700000;
    const int steps = 50;
    try {
        Reef reef(n, 4711u);
        reef.tide(0);
        ok(cudaGetLastError());
        ok(cudaDeviceSynchronize());
        cudaEvent_t e0, e1;
        ok(cudaEventCreate(&e0));
        ok(cudaEventCreate(&e1));
        ok(cudaEventRecord(e0));
        for (int t = 1; t <= steps; ++t) reef.tide(t);
        ok(cudaEventRecord(e1));
        ok(cudaEventSynchronize(e1));
        ok(cudaGetLastError());
        float ms = 0.f;
        ok(cudaEventElapsedTime(&ms, e0, e1));
        std::printf("time_ms %.6f\n", ms / steps);
        reef.report();
    } catch (const std::exception &e) {
        std::cerr << e.what() << '\n';
        return 1;
    }
    return 0;
}
