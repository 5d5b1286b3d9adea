// Smoothed dissipative particle dynamics (SDPD) of a colloidal suspension.
//
// Solvent particles carry density / pressure / temperature, colloids are rigid
// clusters of "bead" particles that translate with a common velocity.  The
// pair list is rebuilt every few steps from a linked-cell structure.

#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA_CHECK(call)                                                        \
    do {                                                                        \
        cudaError_t err_ = (call);                                              \
        if (err_ != cudaSuccess) {                                              \
            std::fprintf(stderr, "CUDA error %s at %s:%d\n",                    \
                         cudaGetErrorString(err_), __FILE__, __LINE__);         \
            std::exit(EXIT_FAILURE);                                            \
        }                                                                       \
    } while (0)

namespace {

constexpr int   NX = 48, NY = 48, NZ = 32;       // initial lattice
constexpr int   NPART = NX * NY * NZ;
constexpr int   MAX_NEIGH = 48;
constexpr float H_SUPPORT = 1.6f;
constexpr float SKIN = 0.2f;
constexpr int   CX = 24, CY = 24, CZ = 16;       // cell size 2.0 > H + SKIN
constexpr int   NCELL = CX * CY * CZ;
constexpr int   REBUILD_EVERY = 10;
constexpr int   N_COLLOID = 64;
constexpr float FIXED_SCALE = 4096.0f;

enum : int { FLUID = 0, BEAD = 1 };

struct Particle {
    float4 pos;        // x, y, z, mass
    float3 vel;
    float  rho;
    float3 force;
    float  pressure;
    float  temperature;
    float  heat;
    int    kind;
    int    owner;      // colloid index for beads, -1 for solvent
};

struct Neighbour {
    int   j;
    float r;
    float w;
    float dwdr;
};

struct Colloid {
    float3 center;
    float  radius;
    float3 vel;
    float  mass;
    int    fx, fy, fz;  // force accumulators in fixed point
    int    nbeads;
};

struct Params {
    float3 box;
    float  dt;
    float  cs2;
    float  rho0;
    float  eta;
    float  kT;
};

__device__ __forceinline__ float minimg(float d, float L)
{
    if (d > 0.5f * L) d -= L;
    else if (d < -0.5f * L) d += L;
    return d;
}

__device__ __forceinline__ float wrap(float x, float L)
{
    if (x >= L) x -= L;
    if (x < 0.0f) x += L;
    return x;
}

__device__ __forceinline__ int cell_coord(float x, float inv, int n)
{
    int c = static_cast<int>(x * inv);
    return c < 0 ? 0 : (c >= n ? n - 1 : c);
}

// Wendland C2 kernel with compact support H
__device__ __forceinline__ float wendland(float r)
{
    const float a = 21.0f / (2.0f * 3.14159265f * H_SUPPORT * H_SUPPORT * H_SUPPORT);
    float q = r / H_SUPPORT;
    if (q >= 1.0f) return 0.0f;
    float t = 1.0f - q;
    return a * t * t * t * t * (4.0f * q + 1.0f);
}

__device__ __forceinline__ float wendland_deriv(float r)
{
    const float a = 21.0f / (2.0f * 3.14159265f * H_SUPPORT * H_SUPPORT * H_SUPPORT);
    float q = r / H_SUPPORT;
    if (q >= 1.0f) return 0.0f;
    float t = 1.0f - q;
    return -a * 20.0f * q * t * t * t / H_SUPPORT;
}

// Pair-symmetric noise in [-sqrt(3), sqrt(3)] (unit variance), Saru-like mixing
__device__ __forceinline__ float pair_noise(unsigned i, unsigned j, unsigned step)
{
    unsigned lo = min(i, j), hi = max(i, j);
    unsigned s = lo * 0x9E3779B9u ^ (hi + 0x7F4A7C15u) * 0x85EBCA6Bu ^ step * 0xC2B2AE35u;
    s ^= s >> 16; s *= 0x7feb352du;
    s ^= s >> 15; s *= 0x846ca68bu;
    s ^= s >> 16;
    return (static_cast<float>(s >> 8) * (1.0f / 16777216.0f) - 0.5f) * 3.4641016f;
}

__global__ void bin_particles(const Particle* p, int n, Params prm, int* head, int* next)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 x = p[i].pos;
    int cx = cell_coord(x.x, CX / prm.box.x, CX);
    int cy = cell_coord(x.y, CY / prm.box.y, CY);
    int cz = cell_coord(x.z, CZ / prm.box.z, CZ);
    next[i] = atomicExch(&head[(cz * CY + cy) * CX + cx], i);
}

__global__ void build_list(const Particle* p, int n, Params prm, const int* head,
                           const int* next, Neighbour* list, int* count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float4 xi = p[i].pos;
    const float rc2 = (H_SUPPORT + SKIN) * (H_SUPPORT + SKIN);
    int cx = cell_coord(xi.x, CX / prm.box.x, CX);
    int cy = cell_coord(xi.y, CY / prm.box.y, CY);
    int cz = cell_coord(xi.z, CZ / prm.box.z, CZ);
    int m = 0;
    for (int dz = -1; dz <= 1; ++dz)
        for (int dy = -1; dy <= 1; ++dy)
            for (int dx = -1; dx <= 1; ++dx) {
                int ax = (cx + dx + CX) % CX;
                int ay = (cy + dy + CY) % CY;
                int az = (cz + dz + CZ) % CZ;
                for (int j = head[(az * CY + ay) * CX + ax]; j >= 0; j = next[j]) {
                    if (j == i) continue;
                    float4 xj = p[j].pos;
                    float ex = minimg(xi.x - xj.x, prm.box.x);
                    float ey = minimg(xi.y - xj.y, prm.box.y);
                    float ez = minimg(xi.z - xj.z, prm.box.z);
                    if (ex * ex + ey * ey + ez * ez < rc2 && m < MAX_NEIGH)
                        list[static_cast<size_t>(i) * MAX_NEIGH + m++].j = j;
                }
            }
    count[i] = m;
}

__global__ void density_pass(Particle* p, int n, Params prm, Neighbour* list, const int* count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float4 xi = p[i].pos;
    float rho = xi.w * wendland(0.0f);
    Neighbour* nb = list + static_cast<size_t>(i) * MAX_NEIGH;
    const int m = count[i];
    for (int k = 0; k < m; ++k) {
        float4 xj = p[nb[k].j].pos;
        float ex = minimg(xi.x - xj.x, prm.box.x);
        float ey = minimg(xi.y - xj.y, prm.box.y);
        float ez = minimg(xi.z - xj.z, prm.box.z);
        float r = sqrtf(ex * ex + ey * ey + ez * ez + 1e-8f);
        float w = wendland(r);
        nb[k].r = r;
        nb[k].w = w;
        nb[k].dwdr = wendland_deriv(r);
        rho += xj.w * w;
    }
    p[i].rho = rho;
    p[i].pressure = prm.cs2 * (rho - prm.rho0) + prm.cs2 * 0.5f;
}

__global__ void force_pass(Particle* p, int n, Params prm, const Neighbour* list,
                           const int* count, Colloid* colloids, unsigned step)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float4 xi = p[i].pos;
    const float3 vi = p[i].vel;
    const float rhoi = p[i].rho;
    const float pi = p[i].pressure / (rhoi * rhoi);
    const float Ti = p[i].temperature;
    const int owner = p[i].owner;

    float fx = 0.f, fy = 0.f, fz = 0.f, heat = 0.f;
    const Neighbour* nb = list + static_cast<size_t>(i) * MAX_NEIGH;
    const int m = count[i];
    for (int k = 0; k < m; ++k) {
        const float dw = nb[k].dwdr;
        if (dw == 0.0f) continue;
        const int j = nb[k].j;
        const Particle& q = p[j];
        if (owner >= 0 && q.owner == owner) continue;     // rigid, no internal force
        const float4 xj = q.pos;
        const float rinv = 1.0f / nb[k].r;
        const float ex = minimg(xi.x - xj.x, prm.box.x) * rinv;
        const float ey = minimg(xi.y - xj.y, prm.box.y) * rinv;
        const float ez = minimg(xi.z - xj.z, prm.box.z) * rinv;
        const float rhoj = q.rho;
        const float pj = q.pressure / (rhoj * rhoj);
        const float mm = xi.w * xj.w;
        const float vx = vi.x - q.vel.x, vy = vi.y - q.vel.y, vz = vi.z - q.vel.z;
        const float visc = prm.eta * mm * dw * rinv / (rhoi * rhoj);
        const float sigma = sqrtf(-2.0f * prm.kT * visc / prm.dt);
        const float cons = -mm * (pi + pj) * dw;
        const float fr = cons + sigma * pair_noise(i, j, step);
        fx += fr * ex + visc * vx;
        fy += fr * ey + visc * vy;
        fz += fr * ez + visc * vz;
        heat += 0.4f * visc * (Ti - q.temperature)
              - 0.5f * visc * (vx * vx + vy * vy + vz * vz);
    }
    p[i].force = make_float3(fx, fy, fz);
    p[i].heat = heat;
    if (owner >= 0) {
        atomicAdd(&colloids[owner].fx, __float2int_rn(fx * FIXED_SCALE));
        atomicAdd(&colloids[owner].fy, __float2int_rn(fy * FIXED_SCALE));
        atomicAdd(&colloids[owner].fz, __float2int_rn(fz * FIXED_SCALE));
    }
}

__global__ void move_colloids(Colloid* c, int n, Params prm)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float s = prm.dt / (FIXED_SCALE * c[i].mass);
    float3 v = c[i].vel;
    v.x += c[i].fx * s;
    v.y += c[i].fy * s;
    v.z += (c[i].fz * s) - 0.05f * prm.dt;        // weak sedimentation
    c[i].vel = v;
    c[i].center.x = wrap(c[i].center.x + v.x * prm.dt, prm.box.x);
    c[i].center.y = wrap(c[i].center.y + v.y * prm.dt, prm.box.y);
    c[i].center.z = wrap(c[i].center.z + v.z * prm.dt, prm.box.z);
    c[i].fx = c[i].fy = c[i].fz = 0;
}

__global__ void integrate(Particle* p, int n, Params prm, const Colloid* colloids)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 x = p[i].pos;
    float3 v = p[i].vel;
    if (p[i].kind == BEAD) {
        v = colloids[p[i].owner].vel;
    } else {
        const float s = prm.dt / x.w;
        v.x += p[i].force.x * s;
        v.y += p[i].force.y * s;
        v.z += p[i].force.z * s;
    }
    x.x = wrap(x.x + v.x * prm.dt, prm.box.x);
    x.y = wrap(x.y + v.y * prm.dt, prm.box.y);
    x.z = wrap(x.z + v.z * prm.dt, prm.box.z);
    p[i].pos = x;
    p[i].vel = v;
    p[i].temperature += prm.dt * p[i].heat;
}

class ColloidSim {
public:
    ColloidSim()
    {
        prm_.box = make_float3(static_cast<float>(NX), static_cast<float>(NY), static_cast<float>(NZ));
        prm_.dt = 0.002f;
        prm_.cs2 = 25.0f;
        prm_.rho0 = 1.0f;
        prm_.eta = 4.0f;
        prm_.kT = 0.02f;
        makeInitialState();
        CUDA_CHECK(cudaMalloc(&d_part_, NPART * sizeof(Particle)));
        CUDA_CHECK(cudaMalloc(&d_list_, static_cast<size_t>(NPART) * MAX_NEIGH * sizeof(Neighbour)));
        CUDA_CHECK(cudaMalloc(&d_count_, NPART * sizeof(int)));
        CUDA_CHECK(cudaMalloc(&d_head_, NCELL * sizeof(int)));
        CUDA_CHECK(cudaMalloc(&d_next_, NPART * sizeof(int)));
        CUDA_CHECK(cudaMalloc(&d_colloid_, N_COLLOID * sizeof(Colloid)));
        CUDA_CHECK(cudaMemset(d_list_, 0, static_cast<size_t>(NPART) * MAX_NEIGH * sizeof(Neighbour)));
        CUDA_CHECK(cudaMemcpy(d_part_, part_.data(), NPART * sizeof(Particle), cudaMemcpyHostToDevice));
        CUDA_CHECK(cudaMemcpy(d_colloid_, colloid_.data(), N_COLLOID * sizeof(Colloid),
                              cudaMemcpyHostToDevice));
    }

    ~ColloidSim()
    {
        cudaFree(d_part_);
        cudaFree(d_list_);
        cudaFree(d_count_);
        cudaFree(d_head_);
        cudaFree(d_next_);
        cudaFree(d_colloid_);
    }

    void step()
    {
        const int tpb = 128;
        const int nb = (NPART + tpb - 1) / tpb;
        if (step_ % REBUILD_EVERY == 0) {
            CUDA_CHECK(cudaMemsetAsync(d_head_, 0xff, NCELL * sizeof(int)));
            bin_particles<<<nb, tpb>>>(d_part_, NPART, prm_, d_head_, d_next_);
            build_list<<<nb, tpb>>>(d_part_, NPART, prm_, d_head_, d_next_, d_list_, d_count_);
        }
        density_pass<<<nb, tpb>>>(d_part_, NPART, prm_, d_list_, d_count_);
        force_pass<<<nb, tpb>>>(d_part_, NPART, prm_, d_list_, d_count_, d_colloid_, step_);
        move_colloids<<<1, N_COLLOID>>>(d_colloid_, N_COLLOID, prm_);
        integrate<<<nb, tpb>>>(d_part_, NPART, prm_, d_colloid_);
        ++step_;
    }

    void download()
    {
        CUDA_CHECK(cudaMemcpy(part_.data(), d_part_, NPART * sizeof(Particle), cudaMemcpyDeviceToHost));
        CUDA_CHECK(cudaMemcpy(colloid_.data(), d_colloid_, N_COLLOID * sizeof(Colloid),
                              cudaMemcpyDeviceToHost));
        count_.resize(NPART);
        CUDA_CHECK(cudaMemcpy(count_.data(), d_count_, NPART * sizeof(int), cudaMemcpyDeviceToHost));
    }

    void report() const
    {
        double ekin = 0, rho = 0, temp = 0, press = 0;
        long long nn = 0;
        for (int i = 0; i < NPART; ++i) {
            const Particle& q = part_[i];
            ekin += 0.5 * q.pos.w * (double(q.vel.x) * q.vel.x + double(q.vel.y) * q.vel.y +
                                     double(q.vel.z) * q.vel.z);
            rho += q.rho;
            temp += q.temperature;
            press += q.pressure;
            nn += count_[i];
        }
        double cz = 0, c2 = 0;
        int beads = 0;
        for (const Colloid& c : colloid_) {
            cz += c.center.z;
            c2 += c.vel.x * c.vel.x + c.vel.y * c.vel.y + c.vel.z * c.vel.z;
            beads += c.nbeads;
        }
        std::printf("check kinetic_energy %.3e\n", ekin);
        std::printf("check mean_density %.3e\n", rho / NPART);
        std::printf("check mean_temperature %.3e\n", temp / NPART);
        std::printf("check mean_pressure %.3e\n", press / NPART);
        std::printf("check mean_neighbours %.3e\n", double(nn) / NPART);
        std::printf("check colloid_height %.3e\n", cz / N_COLLOID);
        std::printf("check colloid_v2 %.2e\n", c2 / N_COLLOID);
        std::printf("check beads %d\n", beads);
    }

    bool sane() const
    {
        for (const Particle& q : part_)
            if (!std::isfinite(q.pos.x) || !std::isfinite(q.vel.x) || q.rho <= 0.0f) return false;
        for (int c : count_)
            if (c <= 0 || c >= MAX_NEIGH) return false;
        return true;
    }

private:
    void makeInitialState()
    {
        unsigned long long lcg = 20240611ULL;
        auto rnd = [&lcg]() {
            lcg = lcg * 6364136223846793005ULL + 1442695040888963407ULL;
            return static_cast<float>((lcg >> 40) & 0xffffff) / 16777216.0f;
        };
        colloid_.resize(N_COLLOID);
        for (int c = 0; c < N_COLLOID; ++c) {
            Colloid& k = colloid_[c];
            int a = c % 4, b = (c / 4) % 4, d = c / 16;
            k.center = make_float3(a * 12.0f + 6.0f, b * 12.0f + 6.0f, d * 8.0f + 4.0f);
            k.radius = 2.4f;
            k.vel.x = 0.2f * (rnd() - 0.5f);
            k.vel.y = 0.2f * (rnd() - 0.5f);
            k.vel.z = 0.0f;
            k.mass = 0.0f;
            k.fx = k.fy = k.fz = 0;
            k.nbeads = 0;
        }
        part_.resize(NPART);
        int i = 0;
        for (int z = 0; z < NZ; ++z)
            for (int y = 0; y < NY; ++y)
                for (int x = 0; x < NX; ++x, ++i) {
                    Particle& q = part_[i];
                    q.pos.x = x + 0.5f + 0.2f * (rnd() - 0.5f);
                    q.pos.y = y + 0.5f + 0.2f * (rnd() - 0.5f);
                    q.pos.z = z + 0.5f + 0.2f * (rnd() - 0.5f);
                    q.pos.w = 1.0f;
                    q.vel.x = 0.4f * (rnd() - 0.5f);
                    q.vel.y = 0.4f * (rnd() - 0.5f);
                    q.vel.z = 0.4f * (rnd() - 0.5f);
                    q.rho = 1.0f;
                    q.force = make_float3(0.f, 0.f, 0.f);
                    q.pressure = 0.0f;
                    q.temperature = 1.0f + 0.5f * std::sin(6.2831853f * x / NX);
                    q.heat = 0.0f;
                    q.kind = FLUID;
                    q.owner = -1;
                    // colloid lookup on the regular 12 x 12 x 8 super-lattice
                    int c = (z / 8) * 16 + (y / 12) * 4 + x / 12;
                    float dx = q.pos.x - colloid_[c].center.x;
                    float dy = q.pos.y - colloid_[c].center.y;
                    float dz = q.pos.z - colloid_[c].center.z;
                    if (dx * dx + dy * dy + dz * dz < colloid_[c].radius * colloid_[c].radius) {
                        q.kind = BEAD;
                        q.owner = c;
                        q.vel = colloid_[c].vel;
                        colloid_[c].nbeads++;
                        colloid_[c].mass += q.pos.w;
                    }
                }
    }

    Params prm_{};
    unsigned step_ = 0;
    std::vector<Particle> part_;
    std::vector<Colloid> colloid_;
    std::vector<int> count_;
    Particle* d_part_ = nullptr;
    Neighbour* d_list_ = nullptr;
    int* d_count_ = nullptr;
    int* d_head_ = nullptr;
    int* d_next_ = nullptr;
    Colloid* d_colloid_ = nullptr;
};

}  // namespace

int main()
{
    ColloidSim sim;
    sim.step();
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
    sim.download();
    if (!sim.sane()) {
        std::fprintf(stderr, "unphysical state after first step\n");
        return 1;
    }

    const int nsteps = 60;
    cudaEvent_t t0, t1;
    CUDA_CHECK(cudaEventCreate(&t0));
    CUDA_CHECK(cudaEventCreate(&t1));
    CUDA_CHECK(cudaEventRecord(t0));
    for (int s = 0; s < nsteps; ++s) sim.step();
    CUDA_CHECK(cudaEventRecord(t1));
    CUDA_CHECK(cudaEventSynchronize(t1));
    float ms = 0.0f;
    CUDA_CHECK(cudaEventElapsedTime(&ms, t0, t1));

    sim.download();
    sim.report();
    std::printf("time_ms %.5f\n", ms / nsteps);
    CUDA_CHECK(cudaEventDestroy(t0));
    CUDA_CHECK(cudaEventDestroy(t1));
    return 0;
}
