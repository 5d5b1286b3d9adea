// sph_bloodflow.cu
//
// Plasma + red blood cells as SPH particles in a periodic channel.  Every red
// cell is a closed ring of membrane particles held together by springs.
// Neighbour search by cell lists rebuilt every step:
//     count -> scan -> scatter -> order (for reproducible sums)
//
// args: [nx ny nz] [steps]

#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

using uint = unsigned int;

#define SAFE(x) safe_((x), #x, __LINE__)
inline void safe_(cudaError_t rc, const char* txt, int line) {
    if (rc != cudaSuccess)
        throw std::runtime_error("line " + std::to_string(line) + ": " + txt + ": " + cudaGetErrorString(rc));
}

// ----------------------------------------------------------------- types --

enum Kind : int { PLASMA = 0, MEMBRANE = 1 };
constexpr int RING = 12;

struct Particle {
    float3 pos;
    float3 vel;
    float3 force;
    float  rho;
    float  pressure;
    float  mass;
    int    kind;
    int    ringPrev;    // membrane neighbours, -1 for plasma
    int    ringNext;
    int    bin;
};                      // 64 bytes

struct RedCell {
    int    member[RING];
    float3 center;
    float  perimeter;
    float  maxStretch;
    int    ruptured;
};

struct Bin {
    int count;
    int first;
    int cursor;
};

struct Domain {
    float3 size;        // periodic box
    float3 inv;         // 1 / size
    int3   bins;
    float  binSize;
    float  h, h2;
    float  dt;
    float  stiffness, viscosity, rho0;
    float  bodyForce;
    float  springK, restLength;
};

// --------------------------------------------------------- device helpers --

__device__ inline float3 operator+(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
__device__ inline float3 operator-(float3 a, float3 b) { return make_float3(a.x - b.x, a.y - b.y, a.z - b.z); }
__device__ inline float3 operator*(float s, float3 a)  { return make_float3(s * a.x, s * a.y, s * a.z); }
__device__ inline void   operator+=(float3& a, float3 b) { a.x += b.x; a.y += b.y; a.z += b.z; }
__device__ inline float  dot(float3 a, float3 b)       { return a.x * b.x + a.y * b.y + a.z * b.z; }

__device__ inline float3 minImage(float3 d, const Domain& D) {
    d.x -= D.size.x * rintf(d.x * D.inv.x);
    d.y -= D.size.y * rintf(d.y * D.inv.y);
    d.z -= D.size.z * rintf(d.z * D.inv.z);
    return d;
}

__device__ inline float wrap(float x, float L) {
    if (x < 0.f) x += L;
    if (x >= L)  x -= L;
    return fminf(fmaxf(x, 0.f), L * 0.999999f);
}

__device__ inline int binOf(float3 p, const Domain& D) {
    int bx = min(int(p.x / D.binSize), D.bins.x - 1);
    int by = min(int(p.y / D.binSize), D.bins.y - 1);
    int bz = min(int(p.z / D.binSize), D.bins.z - 1);
    return (bz * D.bins.y + by) * D.bins.x + bx;
}

// visit all particles in the 27 surrounding bins
template <class Visitor>
__device__ inline void forNeighbours(int self, int bin, const Bin* bins, const int* order, const Domain& D,
                                     Visitor&& visit) {
    const int bx = bin % D.bins.x;
    const int by = (bin / D.bins.x) % D.bins.y;
    const int bz = bin / (D.bins.x * D.bins.y);
    for (int dz = -1; dz <= 1; ++dz)
        for (int dy = -1; dy <= 1; ++dy)
            for (int dx = -1; dx <= 1; ++dx) {
                const int x = (bx + dx + D.bins.x) % D.bins.x;
                const int y = (by + dy + D.bins.y) % D.bins.y;
                const int z = (bz + dz + D.bins.z) % D.bins.z;
                const Bin b = bins[(z * D.bins.y + y) * D.bins.x + x];
                for (int k = b.first; k < b.first + b.count; ++k)
                    if (order[k] != self) visit(order[k]);
            }
}

// ---------------------------------------------------------------- kernels --

__global__ void countBins(Particle* part, int n, Bin* bins, Domain D) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int b = binOf(part[i].pos, D);
    part[i].bin = b;
    atomicAdd(&bins[b].count, 1);
}

// single block exclusive scan over the bin counts, chunk per thread
__global__ void scanBins(Bin* bins, int nBins) {
    __shared__ int sums[1024];
    const int chunk = (nBins + blockDim.x - 1) / blockDim.x;
    const int lo = min(int(threadIdx.x) * chunk, nBins);
    const int hi = min(lo + chunk, nBins);
    int s = 0;
    for (int b = lo; b < hi; ++b) s += bins[b].count;
    sums[threadIdx.x] = s;
    __syncthreads();
    for (int off = 1; off < blockDim.x; off *= 2) {
        int v = threadIdx.x >= off ? sums[threadIdx.x - off] : 0;
        __syncthreads();
        sums[threadIdx.x] += v;
        __syncthreads();
    }
    int run = sums[threadIdx.x] - s;
    for (int b = lo; b < hi; ++b) {
        bins[b].first  = run;
        bins[b].cursor = run;
        run += bins[b].count;
    }
}

__global__ void scatter(const Particle* part, int n, Bin* bins, int* order) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    order[atomicAdd(&bins[part[i].bin].cursor, 1)] = i;
}

// insertion sort inside each bin, they are short
__global__ void orderBins(const Bin* bins, int nBins, int* order) {
    int b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= nBins) return;
    int* list = order + bins[b].first;
    for (int k = 1; k < bins[b].count; ++k) {
        int v = list[k], j = k - 1;
        while (j >= 0 && list[j] > v) {
            list[j + 1] = list[j];
            --j;
        }
        list[j + 1] = v;
    }
}

__global__ void density(Particle* part, int n, const Bin* bins, const int* order, Domain D) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;

    const float3 p = part[i].pos;
    const float  c = 315.f / (64.f * 3.14159265f * D.h2 * D.h2 * D.h2 * D.h2 * D.h);
    float rho = part[i].mass * D.h2 * D.h2 * D.h2;
    forNeighbours(i, part[i].bin, bins, order, D, [&](int j) {
        float3 d  = minImage(p - part[j].pos, D);
        float  r2 = dot(d, d);
        if (r2 < D.h2) {
            float w = D.h2 - r2;
            rho += part[j].mass * w * w * w;
        }
    });
    rho *= c;
    part[i].rho      = rho;
    part[i].pressure = fmaxf(0.f, D.stiffness * (rho - D.rho0));
}

__global__ void forces(Particle* part, int n, const Bin* bins, const int* order, Domain D) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;

    const Particle me = part[i];
    const float cg = 45.f / (3.14159265f * D.h2 * D.h2 * D.h2);
    float3 f = make_float3(D.bodyForce * me.mass, 0.f, 0.f);

    forNeighbours(i, me.bin, bins, order, D, [&](int j) {
        float3 d  = minImage(me.pos - part[j].pos, D);
        float  r2 = dot(d, d);
        if (r2 >= D.h2 || r2 < 1e-10f) return;
        float r  = sqrtf(r2);
        float w  = D.h - r;
        float mj = part[j].mass / part[j].rho;
        float pr = cg * w * w * mj * 0.5f * (me.pressure + part[j].pressure) / r;
        float vi = cg * w * mj * D.viscosity;
        // membranes are twice as sticky towards the plasma
        if (me.kind != part[j].kind) vi *= 2.f;
        f += pr * d;
        f += vi * (part[j].vel - me.vel);
    });

    if (me.kind == MEMBRANE) {
        const int nb[2] = {me.ringPrev, me.ringNext};
        for (int k = 0; k < 2; ++k) {
            if (nb[k] < 0) continue;
            float3 d = minImage(part[nb[k]].pos - me.pos, D);
            float  l = sqrtf(dot(d, d)) + 1e-6f;
            f += (D.springK * (l - D.restLength) / l) * d;
        }
    }
    part[i].force = f;
}

__global__ void integrate(Particle* part, int n, Domain D) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float3 v = part[i].vel + (D.dt / part[i].rho) * part[i].force;
    float  s = sqrtf(dot(v, v));
    if (s > 20.f) v = (20.f / s) * v;
    float3 x = part[i].pos + D.dt * v;
    part[i].vel = v;
    part[i].pos = make_float3(wrap(x.x, D.size.x), wrap(x.y, D.size.y), wrap(x.z, D.size.z));
}

__global__ void measureCells(RedCell* cells, int nCells, const Particle* part, Domain D, float ruptureAt) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= nCells) return;
    RedCell& rc = cells[c];
    const float3 ref = part[rc.member[0]].pos;
    float3 sum = make_float3(0.f, 0.f, 0.f);
    float per = 0.f, worst = 0.f;
    for (int k = 0; k < RING; ++k) {
        int a = rc.member[k], b = rc.member[(k + 1) % RING];
        float3 d = minImage(part[b].pos - part[a].pos, D);
        float  l = sqrtf(dot(d, d));
        per += l;
        worst = fmaxf(worst, l / D.restLength);
        sum += minImage(part[a].pos - ref, D);
    }
    rc.center     = ref + (1.f / RING) * sum;
    rc.perimeter  = per;
    rc.maxStretch = fmaxf(rc.maxStretch, worst);
    if (worst > ruptureAt) rc.ruptured++;
}

// ------------------------------------------------------------- simulation --

class BloodFlow {
public:
    BloodFlow(int nx, int ny, int nz) {
        D.size = make_float3(nx, ny, nz);
        D.inv  = make_float3(1.f / nx, 1.f / ny, 1.f / nz);
        D.h = 2.2f;  D.h2 = D.h * D.h;
        D.bins = make_int3(int(nx / D.h), int(ny / D.h), int(nz / D.h));
        // cubic bins would not tile the box exactly: round the edge up
        D.binSize = 0.f;
        for (float e : {float(nx) / D.bins.x, float(ny) / D.bins.y, float(nz) / D.bins.z})
            if (e > D.binSize) D.binSize = e;
        D.bins = make_int3(int(nx / D.binSize), int(ny / D.binSize), int(nz / D.binSize));
        D.dt = 0.004f;  D.stiffness = 60.f;  D.viscosity = 1.5f;  D.rho0 = 0.9f;
        D.bodyForce = 3.f;  D.springK = 120.f;  D.restLength = 1.f;

        fill(nx, ny, nz);
        nBins = D.bins.x * D.bins.y * D.bins.z;
        SAFE(cudaMalloc(&dPart,  part.size() * sizeof(Particle)));
        SAFE(cudaMalloc(&dCells, cells.size() * sizeof(RedCell)));
        SAFE(cudaMalloc(&dBins,  nBins * sizeof(Bin)));
        SAFE(cudaMalloc(&dOrder, part.size() * sizeof(int)));
        SAFE(cudaMemcpy(dPart,  part.data(),  part.size() * sizeof(Particle), cudaMemcpyHostToDevice));
        SAFE(cudaMemcpy(dCells, cells.data(), cells.size() * sizeof(RedCell), cudaMemcpyHostToDevice));
    }
    ~BloodFlow() { cudaFree(dPart); cudaFree(dCells); cudaFree(dBins); cudaFree(dOrder); }

    void step() {
        const int n = int(part.size()), nc = int(cells.size());
        const int T = 128, G = (n + T - 1) / T;
        SAFE(cudaMemsetAsync(dBins, 0, nBins * sizeof(Bin)));
        countBins<<<G, T>>>(dPart, n, dBins, D);
        scanBins<<<1, 1024>>>(dBins, nBins);
        scatter<<<G, T>>>(dPart, n, dBins, dOrder);
        orderBins<<<(nBins + T - 1) / T, T>>>(dBins, nBins, dOrder);
        density<<<G, T>>>(dPart, n, dBins, dOrder, D);
        forces<<<G, T>>>(dPart, n, dBins, dOrder, D);
        integrate<<<G, T>>>(dPart, n, D);
        measureCells<<<(nc + T - 1) / T, T>>>(dCells, nc, dPart, D, 1.08f);
        SAFE(cudaGetLastError());
    }

    void report() {
        SAFE(cudaMemcpy(part.data(),  dPart,  part.size() * sizeof(Particle), cudaMemcpyDeviceToHost));
        SAFE(cudaMemcpy(cells.data(), dCells, cells.size() * sizeof(RedCell), cudaMemcpyDeviceToHost));
        long long px = 0, vx = 0, rho = 0, per = 0, ctr = 0, rupt = 0;
        for (const auto& p : part) {
            px  += std::lround((p.pos.x + p.pos.y + p.pos.z) * 100.f);
            vx  += std::lround(p.vel.x * 100.f);
            rho += std::lround(p.rho * 1000.f);
        }
        for (const auto& c : cells) {
            per  += std::lround(c.perimeter * 100.f);
            ctr  += std::lround((c.center.x + 2.f * c.center.y + 3.f * c.center.z) * 10.f);
            rupt += c.ruptured;
        }
        std::printf("check position_sum %lld\ncheck velocity_x %lld\ncheck density_milli %lld\n", px, vx, rho);
        std::printf("check perimeter %lld\ncheck centers %lld\ncheck ruptured %lld\n", per, ctr, rupt);
    }

    size_t particles() const { return part.size(); }
    size_t redCells() const { return cells.size(); }

private:
    void fill(int nx, int ny, int nz) {
        uint seed = 99991u;
        auto u = [&] { seed = seed * 747796405u + 2891336453u; return float(seed >> 8) / 16777216.f - 0.5f; };
        part.resize(size_t(nx) * ny * nz);
        auto id = [&](int x, int y, int z) { return (z * ny + y) * nx + x; };
        for (int z = 0; z < nz; ++z)
            for (int y = 0; y < ny; ++y)
                for (int x = 0; x < nx; ++x) {
                    Particle& p = part[id(x, y, z)];
                    p = Particle{};
                    p.pos.x = x + 0.5f + 0.2f * u();
                    p.pos.y = y + 0.5f + 0.2f * u();
                    p.pos.z = z + 0.5f + 0.2f * u();
                    p.vel.x = 0.5f + 0.3f * u();
                    p.vel.y = 0.3f * u();
                    p.vel.z = 0.3f * u();
                    p.mass = 1.f;
                    p.kind = PLASMA;
                    p.ringPrev = p.ringNext = p.bin = -1;
                }
        // rings: 6 x 2 lattice sites, walked around
        for (int z = 1; z + 1 < nz; z += 3)
            for (int y = 1; y + 2 < ny; y += 4)
                for (int x = 1; x + 6 < nx; x += 8) {
                    RedCell c{};
                    for (int k = 0; k < RING; ++k)
                        c.member[k] = k < 6 ? id(x + k, y, z) : id(x + 11 - k, y + 1, z);
                    for (int k = 0; k < RING; ++k) {
                        Particle& p = part[c.member[k]];
                        p.kind = MEMBRANE;
                        p.mass = 1.1f;
                        p.ringPrev = c.member[(k + RING - 1) % RING];
                        p.ringNext = c.member[(k + 1) % RING];
                    }
                    cells.push_back(c);
                }
    }

    Domain D{};
    int nBins = 0;
    std::vector<Particle> part;
    std::vector<RedCell>  cells;
    Particle* dPart = nullptr;
    RedCell*  dCells = nullptr;
    Bin*      dBins = nullptr;
    int*      dOrder = nullptr;
};

int main(int argc, char** argv) try {
    const int nx = argc > 3 ? std::atoi(argv[1]) : 110;
    const int ny = argc > 3 ? std::atoi(argv[2]) : 55;
    const int nz = argc > 3 ? std::atoi(argv[3]) : 55;
    const int steps = argc > 4 ? std::atoi(argv[4]) : 25;

    BloodFlow sim(nx, ny, nz);
    std::fprintf(stderr, "%zu particles, %zu red cells\n", sim.particles(), sim.redCells());

    sim.step();
    SAFE(cudaDeviceSynchronize());

    cudaEvent_t beg, end;
    SAFE(cudaEventCreate(&beg));
    SAFE(cudaEventCreate(&end));
    SAFE(cudaEventRecord(beg));
    for (int s = 0; s < steps; ++s) sim.step();
    SAFE(cudaEventRecord(end));
    SAFE(cudaEventSynchronize(end));
    float ms = 0.f;
    SAFE(cudaEventElapsedTime(&ms, beg, end));

    sim.report();
    std::printf("time_ms %.3f\n", ms);
    return 0;
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
