// Friends-of-friends halo finder: particles are sorted by grid cell, linked with a
// lock-free union-find, then halo properties are accumulated.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>
#include <cuda_runtime.h>

namespace fof {

constexpr int kGrid = 128;              // cells per side, cell size 1
#ifdef SMALL_TEST
constexpr int kParticles = 60000;
constexpr int kClumps = 100;
#else
constexpr int kParticles = 2000000;
constexpr int kClumps = 6000;
#endif
constexpr float kLink = 0.375f;
constexpr int kMinMembers = 20;
constexpr int kBins = 24;

inline void check(cudaError_t e, const char* what) {
    if (e != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
}

// Owning device array, move only.
template <typename T>
class DeviceBuffer {
public:
    explicit DeviceBuffer(size_t n) : n_(n) { check(cudaMalloc(&p_, n * sizeof(T)), "cudaMalloc"); }
    explicit DeviceBuffer(const std::vector<T>& h) : DeviceBuffer(h.size()) { upload(h); }
    DeviceBuffer(const DeviceBuffer&) = delete;
    DeviceBuffer& operator=(const DeviceBuffer&) = delete;
    ~DeviceBuffer() { cudaFree(p_); }
    void upload(const std::vector<T>& h) {
        check(cudaMemcpy(p_, h.data(), n_ * sizeof(T), cudaMemcpyHostToDevice), "upload");
    }
    std::vector<T> download() const {
        std::vector<T> h(n_);
        check(cudaMemcpy(h.data(), p_, n_ * sizeof(T), cudaMemcpyDeviceToHost), "download");
        return h;
    }
    void zero() { check(cudaMemsetAsync(p_, 0, n_ * sizeof(T)), "memset"); }
    T* data() { return p_; }
    const T* data() const { return p_; }
    size_t size() const { return n_; }
private:
    T* p_ = nullptr;
    size_t n_ = 0;
};

struct Vec3 { float x, y, z; };

struct Particle {
    Vec3 pos;             // multiples of 1/1024: pair distances are exact
    Vec3 vel;
    float mass;
    float potential;
    int parent;           // union-find link
    int cell;
    long long gid;
    unsigned char species;
};

struct Cell {
    int start;
    unsigned short count;
    unsigned short maxSpecies;
};

struct Halo {
    unsigned long long mass;    // fixed point, 1/64 units
    long long mom[3];           // fixed point momentum
    int members;
    int gas;
};

__device__ __forceinline__ int findRoot(Particle* p, int i) {
    int cur = i;
    int par = *(volatile int*)&p[cur].parent;
    while (par != cur) {
        cur = par;
        par = *(volatile int*)&p[cur].parent;
    }
    return cur;
}

__device__ void unite(Particle* p, int a, int b) {
    for (;;) {
        a = findRoot(p, a);
        b = findRoot(p, b);
        if (a == b) return;
        if (a < b) { int t = a; a = b; b = t; }
        // a is the larger root; hook it under b
        int old = atomicCAS(&p[a].parent, a, b);
        if (old == a) return;
        a = old;
    }
}

__global__ void resetLabels(Particle* p, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i].parent = i;
}

__global__ void linkPairs(Particle* p, const Cell* cells, int n, float link2) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const Vec3 me = p[i].pos;
    const int c = p[i].cell;
    const int cx = c % kGrid, cy = (c / kGrid) % kGrid, cz = c / (kGrid * kGrid);
    for (int dz = -1; dz <= 1; ++dz) {
        int z = cz + dz;
        if (z < 0 || z >= kGrid) continue;
        for (int dy = -1; dy <= 1; ++dy) {
            int y = cy + dy;
            if (y < 0 || y >= kGrid) continue;
            for (int dx = -1; dx <= 1; ++dx) {
                int x = cx + dx;
                if (x < 0 || x >= kGrid) continue;
                int nc = (z * kGrid + y) * kGrid + x;
                if (nc > c) continue;               // every pair once
                const int first = cells[nc].start;
                const int last = first + cells[nc].count;
                for (int j = first; j < last && j < i; ++j) {
                    float ex = p[j].pos.x - me.x;
                    float ey = p[j].pos.y - me.y;
                    float ez = p[j].pos.z - me.z;
                    if (ex * ex + ey * ey + ez * ez <= link2) unite(p, i, j);
                }
            }
        }
    }
}

__global__ void compressPaths(Particle* p, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int r = findRoot(p, i);
    *(volatile int*)&p[i].parent = r;
}

__global__ void accumulate(const Particle* p, Halo* halos, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const Particle& q = p[i];
        Halo* h = &halos[q.parent];
        atomicAdd(&h->mass, (unsigned long long)(q.mass * 64.0f));
        atomicAdd((unsigned long long*)&h->mom[0], (unsigned long long)(long long)(q.vel.x * 256.0f));
        atomicAdd((unsigned long long*)&h->mom[1], (unsigned long long)(long long)(q.vel.y * 256.0f));
        atomicAdd((unsigned long long*)&h->mom[2], (unsigned long long)(long long)(q.vel.z * 256.0f));
        atomicAdd(&h->members, 1);
        if (q.species == 1) atomicAdd(&h->gas, 1);
    }
}

// Multiplicity function: log2(members) histogram and summed mass of real halos.
__global__ void massFunction(const Halo* halos, int n, unsigned long long* hist) {
    __shared__ unsigned int count[kBins];
    if (threadIdx.x < kBins) count[threadIdx.x] = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int m = halos[i].members;
        if (m >= kMinMembers) {
            int bin = 31 - __clz(m);
            atomicAdd(&count[bin < kBins ? bin : kBins - 1], 1u);
            atomicAdd(&hist[kBins], halos[i].mass);
            long long px = halos[i].mom[0];
            atomicAdd(&hist[kBins + 1], (unsigned long long)(px < 0 ? -px : px));
        }
    }
    __syncthreads();
    if (threadIdx.x < kBins && count[threadIdx.x])
        atomicAdd(&hist[threadIdx.x], (unsigned long long)count[threadIdx.x]);
}

float snap(float v) {
    v = std::min(std::max(v, 0.0f), (float)kGrid - 0.001f);
    return std::floor(v * 1024.0f) / 1024.0f;
}

void makeUniverse(std::vector<Particle>& parts, std::vector<Cell>& cells) {
    std::mt19937 gen(2024);
    auto uni = [&] { return (gen() >> 8) * (1.0f / 16777216.0f); };
    std::vector<Vec3> centre(kClumps);
    std::vector<float> radius(kClumps);
    for (int c = 0; c < kClumps; ++c) {
        centre[c] = {uni() * kGrid, uni() * kGrid, uni() * kGrid};
        radius[c] = 0.4f + 1.6f * uni();
    }
    std::vector<Particle> tmp(kParticles);
    std::vector<int> start(kGrid * kGrid * kGrid + 1, 0);
    for (int i = 0; i < kParticles; ++i) {
        Particle q{};
        if (gen() % 100 < 45) {
            int c = gen() % kClumps;
            float r = radius[c] * uni();
            float dx = uni() - 0.5f, dy = uni() - 0.5f, dz = uni() - 0.5f;
            q.pos = {snap(centre[c].x + 2 * r * dx), snap(centre[c].y + 2 * r * dy), snap(centre[c].z + 2 * r * dz)};
        } else {
            q.pos = {snap(uni() * kGrid), snap(uni() * kGrid), snap(uni() * kGrid)};
        }
        q.vel = {uni() * 200 - 100, uni() * 200 - 100, uni() * 200 - 100};
        q.mass = 1.0f + uni();
        q.potential = -uni();
        q.parent = i;
        q.gid = 1000000000LL + i;
        q.species = gen() % 5 == 0;
        q.cell = ((int)q.pos.z * kGrid + (int)q.pos.y) * kGrid + (int)q.pos.x;
        tmp[i] = q;
        ++start[q.cell + 1];
    }
    cells.resize(kGrid * kGrid * kGrid);
    for (size_t c = 0; c < cells.size(); ++c) {
        cells[c].count = (unsigned short)start[c + 1];
        cells[c].maxSpecies = 1;
        start[c + 1] += start[c];
        cells[c].start = start[c];
    }
    parts.resize(kParticles);
    for (const Particle& q : tmp) parts[start[q.cell]++] = q;
}

int run() {
    std::vector<Particle> hp;
    std::vector<Cell> hc;
    makeUniverse(hp, hc);
    DeviceBuffer<Particle> particles(hp);
    DeviceBuffer<Cell> cells(hc);
    DeviceBuffer<Halo> halos(hp.size());
    DeviceBuffer<unsigned long long> hist(kBins + 2);

    const int n = (int)hp.size(), block = 128, grid = (n + block - 1) / block, iters = 12;
    cudaEvent_t beg, end;
    check(cudaEventCreate(&beg), "event");
    check(cudaEventCreate(&end), "event");
    auto step = [&] {
        halos.zero();
        hist.zero();
        resetLabels<<<grid, block>>>(particles.data(), n);
        linkPairs<<<grid, block>>>(particles.data(), cells.data(), n, kLink * kLink);
        compressPaths<<<grid, block>>>(particles.data(), n);
        accumulate<<<1056, 256>>>(particles.data(), halos.data(), n);
        massFunction<<<grid, block>>>(halos.data(), n, hist.data());
    };
    step();
    check(cudaEventRecord(beg), "record");
    for (int i = 0; i < iters; ++i) step();
    check(cudaEventRecord(end), "record");
    check(cudaEventSynchronize(end), "sync");
    check(cudaGetLastError(), "kernels");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, beg, end), "elapsed");

    auto h = hist.download();
    unsigned long long nh = 0;
    for (int b = 0; b < kBins; ++b) nh += h[b];
    cudaEventDestroy(beg);
    cudaEventDestroy(end);
    printf("check %llu/%llu/%llu\n", nh, h[kBins], h[kBins + 1]);
    printf("time_ms %f\n", ms / iters);
    return 0;
}

}  // namespace fof

int main() {
    try {
        return fof::run();
    } catch (const std::exception& e) {
        fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
