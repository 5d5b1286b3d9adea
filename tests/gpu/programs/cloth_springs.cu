// cloth_springs.cu
//
// Mass-spring cloth draped over a sphere.  The sheet is a WxH lattice with
// structural, shear and bend springs; springs that are over-stretched tear.
//
// Forces are evaluated per spring, then gathered per particle through an
// incidence list, so no float atomics are needed.
//
// usage: cloth_springs [width] [height] [steps]

#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#define CUDA_CHECK(expr)                                                        \
    do {                                                                        \
        cudaError_t err__ = (expr);                                             \
        if (err__ != cudaSuccess)                                               \
            throw std::runtime_error(std::string(__FILE__) + ":" +              \
                                     std::to_string(__LINE__) + " " #expr ": " + \
                                     cudaGetErrorString(err__));                \
    } while (0)

namespace cloth {

// ---------------------------------------------------------------- vector math

__host__ __device__ inline float3 operator+(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
__host__ __device__ inline float3 operator-(float3 a, float3 b) { return make_float3(a.x - b.x, a.y - b.y, a.z - b.z); }
__host__ __device__ inline float3 operator*(float3 a, float s) { return make_float3(a.x * s, a.y * s, a.z * s); }
__host__ __device__ inline float3& operator+=(float3& a, float3 b) { a.x += b.x; a.y += b.y; a.z += b.z; return a; }
__host__ __device__ inline float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__host__ __device__ inline float length(float3 a) { return sqrtf(dot(a, a)); }
__host__ __device__ inline float3 cross(float3 a, float3 b)
{
    return make_float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

// ---------------------------------------------------------------- records

enum ParticleFlags : unsigned { kPinned = 1u, kTouchedSphere = 2u };
enum SpringKind : unsigned char { kStructural = 0, kShear = 1, kBend = 2 };

struct Particle {
    float3   position;
    float3   previous;
    float3   velocity;
    float3   normal;
    float    mass;
    float    invMass;
    float2   uv;
    int      firstIncident;
    int      incidentCount;
    unsigned flags;
};

struct Spring {
    int           a, b;
    float         restLength;
    float         stiffness;
    float         damping;
    float3        force;      // acting on a, the opposite acts on b
    float         strain;
    unsigned char kind;
    bool          broken;
};

struct Params {
    float3 gravity;
    float3 wind;
    float3 sphereCentre;
    float  sphereRadius;
    float  friction;
    float  tearStrain;
    float  dt;
};

// ---------------------------------------------------------------- kernels

__global__ void springForces(const Particle* __restrict__ particles, Spring* __restrict__ springs,
                             int count, float tearStrain)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;

    Spring& s = springs[i];
    if (s.broken) return;

    const Particle& pa = particles[s.a];
    const Particle& pb = particles[s.b];

    float3 d      = pb.position - pa.position;
    float  len    = fmaxf(length(d), 1e-6f);
    float  strain = (len - s.restLength) / s.restLength;
    s.strain      = strain;

    if (s.kind != kBend && strain > tearStrain) {
        s.broken = true;
        s.force  = make_float3(0.f, 0.f, 0.f);
        return;
    }

    float3 dir = d * (1.0f / len);
    float  rel = dot(pb.velocity - pa.velocity, dir);
    s.force    = dir * (s.stiffness * (len - s.restLength) + s.damping * rel);
}

__global__ void integrate(Particle* particles, const Spring* __restrict__ springs,
                          const int* __restrict__ incident, int count, Params prm)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;

    Particle p = particles[i];
    if (p.flags & kPinned) return;

    float3 f = prm.gravity * p.mass;
    for (int k = 0; k < p.incidentCount; ++k) {
        const Spring& s = springs[incident[p.firstIncident + k]];
        f += s.a == i ? s.force : s.force * -1.0f;
    }

    // aerodynamic drag projected onto the surface normal
    float3 rel = prm.wind - p.velocity;
    f += p.normal * (0.05f * dot(rel, p.normal));

    p.previous = p.position;
    p.velocity += f * (p.invMass * prm.dt);
    p.position += p.velocity * prm.dt;
    particles[i] = p;
}

__global__ void collideSphere(Particle* particles, int count, Params prm)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        Particle* p = &particles[i];
        float3 d    = p->position - prm.sphereCentre;
        float  dist = length(d);
        if (dist >= prm.sphereRadius || (p->flags & kPinned)) continue;

        float3 n    = d * (1.0f / fmaxf(dist, 1e-6f));
        p->position = prm.sphereCentre + n * prm.sphereRadius;

        float  vn = dot(p->velocity, n);
        float3 vt = p->velocity - n * vn;
        p->velocity = vt * (1.0f - prm.friction) + n * fmaxf(vn, 0.0f);
        p->flags |= kTouchedSphere;
    }
}

__global__ void vertexNormals(Particle* particles, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;

    int l = max(x - 1, 0), r = min(x + 1, w - 1);
    int u = max(y - 1, 0), d = min(y + 1, h - 1);

    float3 tx = particles[y * w + r].position - particles[y * w + l].position;
    float3 ty = particles[d * w + x].position - particles[u * w + x].position;
    float3 n  = cross(ty, tx);
    float  ln = length(n);
    particles[y * w + x].normal = ln > 0.f ? n * (1.0f / ln) : make_float3(0.f, 1.f, 0.f);
}

// ---------------------------------------------------------------- simulation

class Lcg {
public:
    explicit Lcg(uint32_t seed) : state_(seed) {}
    float uniform() { state_ = state_ * 1664525u + 1013904223u; return (state_ >> 8) * (1.0f / 16777216.0f); }
private:
    uint32_t state_;
};

class ClothSystem {
public:
    ClothSystem(int w, int h) : w_(w), h_(h) { buildLattice(); allocate(); }
    ~ClothSystem()
    {
        cudaFree(dParticles_);
        cudaFree(dSprings_);
        cudaFree(dIncident_);
    }
    ClothSystem(const ClothSystem&)            = delete;
    ClothSystem& operator=(const ClothSystem&) = delete;

    void upload()
    {
        CUDA_CHECK(cudaMemcpy(dParticles_, particles_.data(), particles_.size() * sizeof(Particle), cudaMemcpyHostToDevice));
        CUDA_CHECK(cudaMemcpy(dSprings_, springs_.data(), springs_.size() * sizeof(Spring), cudaMemcpyHostToDevice));
        CUDA_CHECK(cudaMemcpy(dIncident_, incident_.data(), incident_.size() * sizeof(int), cudaMemcpyHostToDevice));
    }

    void download(std::vector<Particle>& p, std::vector<Spring>& s) const
    {
        p.resize(particles_.size());
        s.resize(springs_.size());
        CUDA_CHECK(cudaMemcpy(p.data(), dParticles_, p.size() * sizeof(Particle), cudaMemcpyDeviceToHost));
        CUDA_CHECK(cudaMemcpy(s.data(), dSprings_, s.size() * sizeof(Spring), cudaMemcpyDeviceToHost));
    }

    void step(const Params& prm, int stepIndex)
    {
        const int np = int(particles_.size()), ns = int(springs_.size());
        const int threads = 256;

        if (stepIndex % 4 == 0) {
            dim3 block(32, 8);
            dim3 grid((w_ + block.x - 1) / block.x, (h_ + block.y - 1) / block.y);
            vertexNormals<<<grid, block>>>(dParticles_, w_, h_);
        }
        springForces<<<(ns + threads - 1) / threads, threads>>>(dParticles_, dSprings_, ns, prm.tearStrain);
        integrate<<<(np + threads - 1) / threads, threads>>>(dParticles_, dSprings_, dIncident_, np, prm);
        collideSphere<<<1024, threads>>>(dParticles_, np, prm);
        CUDA_CHECK(cudaGetLastError());
    }

    int width() const { return w_; }
    int height() const { return h_; }

private:
    void connect(int x0, int y0, int x1, int y1, SpringKind kind, float k)
    {
        if (x1 < 0 || y1 < 0 || x1 >= w_ || y1 >= h_) return;
        Spring s{};
        s.a          = y0 * w_ + x0;
        s.b          = y1 * w_ + x1;
        float dx     = float(x1 - x0), dy = float(y1 - y0);
        s.restLength = std::sqrt(dx * dx + dy * dy);
        s.stiffness  = k;
        s.damping    = 0.8f;
        s.kind       = kind;
        s.broken     = false;
        springs_.push_back(s);
    }

    void buildLattice()
    {
        Lcg rng(20240611u);
        particles_.resize(size_t(w_) * h_);
        for (int y = 0; y < h_; ++y)
            for (int x = 0; x < w_; ++x) {
                Particle& p = particles_[size_t(y) * w_ + x];
                p           = Particle{};
                p.position  = make_float3(x - 0.5f * (w_ - 1), 0.02f * (rng.uniform() - 0.5f), y - 0.5f * (h_ - 1));
                p.previous  = p.position;
                p.velocity  = make_float3(0.f, 0.f, 0.f);
                p.normal    = make_float3(0.f, 1.f, 0.f);
                p.mass      = 0.9f + 0.2f * rng.uniform();
                p.invMass   = 1.0f / p.mass;
                p.uv        = make_float2(x / float(w_ - 1), y / float(h_ - 1));
                bool border = x == 0 || y == 0 || x == w_ - 1 || y == h_ - 1;
                if (border && (x + y) % 16 == 0) p.flags |= kPinned;
            }

        springs_.reserve(size_t(w_) * h_ * 6);
        for (int y = 0; y < h_; ++y)
            for (int x = 0; x < w_; ++x) {
                connect(x, y, x + 1, y, kStructural, 300.f);
                connect(x, y, x, y + 1, kStructural, 300.f);
                connect(x, y, x + 1, y + 1, kShear, 150.f);
                connect(x, y, x - 1, y + 1, kShear, 150.f);
                connect(x, y, x + 2, y, kBend, 40.f);
                connect(x, y, x, y + 2, kBend, 40.f);
            }

        for (const Spring& s : springs_) {
            particles_[s.a].incidentCount++;
            particles_[s.b].incidentCount++;
        }
        int offset = 0;
        for (Particle& p : particles_) {
            p.firstIncident = offset;
            offset += p.incidentCount;
        }
        incident_.resize(offset);
        std::vector<int> fill(particles_.size(), 0);
        for (int i = 0; i < int(springs_.size()); ++i) {
            const Spring& s = springs_[i];
            incident_[particles_[s.a].firstIncident + fill[s.a]++] = i;
            incident_[particles_[s.b].firstIncident + fill[s.b]++] = i;
        }
    }

    void allocate()
    {
        CUDA_CHECK(cudaMalloc(&dParticles_, particles_.size() * sizeof(Particle)));
        CUDA_CHECK(cudaMalloc(&dSprings_, springs_.size() * sizeof(Spring)));
        CUDA_CHECK(cudaMalloc(&dIncident_, incident_.size() * sizeof(int)));
    }

    int w_, h_;
    std::vector<Particle> particles_;
    std::vector<Spring>   springs_;
    std::vector<int>      incident_;
    Particle* dParticles_ = nullptr;
    Spring*   dSprings_   = nullptr;
    int*      dIncident_  = nullptr;
};

} // namespace cloth

int main(int argc, char** argv)
{
    using namespace cloth;
    try {
        int w     = argc > 1 ? std::atoi(argv[1]) : 1024;
        int h     = argc > 2 ? std::atoi(argv[2]) : 1024;
        int steps = argc > 3 ? std::atoi(argv[3]) : 100;

        Params prm;
        prm.gravity      = make_float3(0.f, -9.81f, 0.f);
        prm.wind         = make_float3(1.5f, 0.f, 0.7f);
        prm.sphereRadius = 0.2f * w;
        prm.sphereCentre = make_float3(3.f, -prm.sphereRadius - 0.5f, -5.f);
        prm.friction     = 0.3f;
        prm.tearStrain   = 0.25f;
        prm.dt           = 0.01f;

        ClothSystem sim(w, h);
        sim.upload();
        sim.step(prm, 0); // warm up
        CUDA_CHECK(cudaDeviceSynchronize());
        sim.upload();

        cudaEvent_t start, stop;
        CUDA_CHECK(cudaEventCreate(&start));
        CUDA_CHECK(cudaEventCreate(&stop));
        CUDA_CHECK(cudaEventRecord(start));
        for (int s = 0; s < steps; ++s) sim.step(prm, s);
        CUDA_CHECK(cudaEventRecord(stop));
        CUDA_CHECK(cudaEventSynchronize(stop));
        float ms = 0.f;
        CUDA_CHECK(cudaEventElapsedTime(&ms, start, stop));

        std::vector<Particle> particles;
        std::vector<Spring>   springs;
        sim.download(particles, springs);

        long long sumY = 0, sumSpeed = 0, sumNormal = 0, touched = 0;
        for (const Particle& p : particles) {
            sumY      += llround(p.position.y * 256.0);
            sumSpeed  += llround(length(p.velocity) * 256.0);
            sumNormal += llround(p.normal.y * 256.0);
            touched   += (p.flags & kTouchedSphere) ? 1 : 0;
        }
        long long torn[3] = {0, 0, 0}, sumStrain = 0;
        for (const Spring& s : springs) {
            if (s.broken) torn[s.kind]++;
            sumStrain += llround(s.strain * 1024.0);
        }

        std::printf("cloth %dx%d, %zu springs, %d steps\n", w, h, springs.size(), steps);
        std::printf("check height %lld\n", sumY);
        std::printf("check speed %lld\n", sumSpeed);
        std::printf("check normal %lld\n", sumNormal);
        std::printf("check strain %lld\n", sumStrain);
        std::printf("check touched %lld\n", touched);
        std::printf("check torn_structural %lld\n", torn[kStructural]);
        std::printf("check torn_shear %lld\n", torn[kShear]);
        std::printf("time_ms %.3f\n", ms);

        CUDA_CHECK(cudaEventDestroy(start));
        CUDA_CHECK(cudaEventDestroy(stop));
    } catch (const std::exception& e) {
        std::fprintf(stderr, "fatal: %s\n", e.what());
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
