// glacier_crevasse.cu : bonded particle model of a glacier tongue.
//
// Particles on a regular lattice are connected by breakable elastic bonds.
// The bed drags the lowest layer, the front is pulled, bonds that are strained
// too much break and open crevasses; melt water weakens damaged ice.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

using std::vector;

struct Vec3 {
    float x, y, z;
    __host__ __device__ Vec3 operator+(const Vec3 &o) const { return {x + o.x, y + o.y, z + o.z}; }
    __host__ __device__ Vec3 operator-(const Vec3 &o) const { return {x - o.x, y - o.y, z - o.z}; }
    __host__ __device__ Vec3 operator*(float s) const { return {x * s, y * s, z * s}; }
    __host__ __device__ float dot(const Vec3 &o) const { return x * o.x + y * o.y + z * o.z; }
};

struct Particle {
    Vec3   pos;
    Vec3   vel;
    Vec3   force;
    float  mass;
    float  temperature;     // deg C
    float  water;           // melt water saturation
    float  damage;          // share of broken bonds
    int    firstLink;       // into the incidence list
    short  links;
    unsigned char layer;
    bool   basal : 1;
    bool   front : 1;
    bool   surface : 1;
    int    column;
};

struct Bond {
    int   a, b;
    float rest;
    float stiffness;
    float limit;            // critical strain
    float strain;
    float tension;          // signed force along a -> b
    float fatigue;
    short brokenAt;         // step, -1 while intact
    unsigned char kind;     // 0 axial, 1 diagonal
    unsigned char healed;
};

struct Column {
    int   firstParticle;    // surface particle
    int   count;
    int   depth;            // deepest damaged layer from the surface, -1 none
    int   openings;
    float stretch;
    float runoff;
};

struct Params {
    float dt, slope, gravity, drag, damping, pull;
};

__constant__ Params P;

static void chk(cudaError_t e, int line)
{
    if (e != cudaSuccess) { std::fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(e)); std::exit(1); }
}
#define CHK(e) chk((e), __LINE__)

static inline float noise(unsigned k)
{
    k = k * 0x9E3779B9u + 0x7F4A7C15u;
    k ^= k >> 16; k *= 0x21f0aaadu; k ^= k >> 15; k *= 0x735a2d97u; k ^= k >> 15;
    return (k >> 8) / 16777216.0f;
}

// Tension of every bond; decides about fracture.
__global__ void stretchBonds(Bond *bonds, int n, const Particle *parts, int step, unsigned long long *broken)
{
    __shared__ unsigned fresh;
    if (threadIdx.x == 0) fresh = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        Bond &b = bonds[i];
        const Particle &p = parts[b.a], &q = parts[b.b];
        const Vec3 d = q.pos - p.pos;
        const float len = sqrtf(d.dot(d)), strain = (len - b.rest) / b.rest;
        b.strain = strain;
        if (b.brokenAt >= 0) {
            b.tension = strain < 0.0f ? b.stiffness * strain : 0.0f;      // contact only
            continue;
        }
        const float wet = fmaxf(p.water, q.water), soft = 1.0f - 0.3f * wet;
        b.fatigue += fmaxf(0.0f, strain - 0.5f * b.limit) * 0.02f;
        if (strain + b.fatigue > b.limit * soft) {
            b.brokenAt = (short)step;
            b.tension = 0.0f;
            atomicAdd(&fresh, 1u);
        } else {
            const Vec3 dv = q.vel - p.vel;
            b.tension = b.stiffness * strain + P.damping * dv.dot(d) / len;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0 && fresh) atomicAdd(broken, (unsigned long long)fresh);
}

// Sums the bond forces of one particle over its incidence list.
__global__ void gatherForces(Particle *parts, int n, const Bond *bonds, const int *incidence)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Particle *me = parts + i;
    const Vec3 x = me->pos;
    Vec3 f = {P.gravity * P.slope * me->mass, 0.0f, -0.05f * P.gravity * me->mass};
    int gone = 0;
    for (int k = 0; k < me->links; ++k) {
        const Bond *b = &bonds[incidence[me->firstLink + k]];
        gone += b->brokenAt >= 0;
        const float t = b->tension;
        if (t == 0.0f) continue;
        const int other = b->a == i ? b->b : b->a;
        const Vec3 d = parts[other].pos - x;
        f = f + d * (t * rsqrtf(d.dot(d)));
    }
    if (me->basal) f = f - me->vel * P.drag;
    if (me->front) f.x += P.pull;
    me->force = f;
    me->damage = me->links ? (float)gone / me->links : 0.0f;
}

__global__ void integrate(Particle *parts, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Particle p = parts[i];
    p.vel = (p.vel + p.force * (P.dt / p.mass)) * 0.999f;
    if (p.basal && p.vel.z < 0.0f) p.vel.z = 0.0f;
    p.pos = p.pos + p.vel * P.dt;
    parts[i] = p;
}

__global__ void meltSurface(Particle *parts, int n, float air)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (!parts[i].surface && parts[i].damage < 0.01f) return;
    float t = parts[i].temperature, w = parts[i].water;
    t += 0.05f * (air * (parts[i].surface ? 1.0f : parts[i].damage) - t);
    if (t > 0.0f) { w = fminf(1.0f, w + 0.04f * t); t = 0.0f; }
    else w = fmaxf(0.0f, w - 0.01f);
    parts[i].temperature = t;
    parts[i].water = w;
}

// One warp per column: crevasse depth and water that drains through it.
__global__ void probeColumns(Column *cols, int n, const Particle *parts)
{
    int c = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
    if (c >= n) return;
    Column &col = cols[c];
    int deepest = -1;
    float stretch = 0.0f;
    for (int k = lane; k < col.count; k += 32) {
        const Particle &p = parts[col.firstParticle + k];
        if (p.damage > 0.15f) deepest = max(deepest, k);
        stretch = fmaxf(stretch, fabsf(p.vel.x));
    }
    for (int o = 16; o; o >>= 1) {
        deepest = max(deepest, __shfl_xor_sync(~0u, deepest, o));
        stretch = fmaxf(stretch, __shfl_xor_sync(~0u, stretch, o));
    }
    if (lane == 0) {
        if (deepest >= 0 && col.depth < 0) col.openings++;
        col.depth = deepest;
        col.stretch = stretch;
        if (deepest > 0) col.runoff += parts[col.firstParticle].water * 0.1f * deepest;
    }
}

struct Event {
    cudaEvent_t e;
    Event() { CHK(cudaEventCreate(&e)); }
    ~Event() { cudaEventDestroy(e); }
};

int main(int argc, char **argv)
{
    const int want = argc > 1 ? std::atoi(argv[1]) : 900000;
    const int nz = 30, ny = 100, nx = std::max(8, want / (ny * nz)), steps = 40;
    const int n = nx * ny * nz;
    vector<Particle> parts(n);
    vector<Bond> bonds;
    vector<Column> cols(nx * ny);
    bonds.reserve((size_t)n * 6);

    auto at = [&](int x, int y, int k) { return (y * nx + x) * nz + k; };        // k = 0 is the surface
    for (int y = 0; y < ny; ++y)
        for (int x = 0; x < nx; ++x) {
            Column &c = cols[y * nx + x];
            c = Column{at(x, y, 0), nz, -1, 0, 0.0f, 0.0f};
            for (int k = 0; k < nz; ++k) {
                Particle &p = parts[at(x, y, k)];
                p = Particle{};
                p.pos = {(float)x, (float)y, (float)(nz - k)};
                p.vel = {0.08f * x / nx + 0.02f * (noise(at(x, y, k)) - 0.5f), 0.0f, 0.0f};
                p.mass = 0.9f + 0.1f * k / nz;
                p.temperature = -6.0f + 5.0f * k / nz;
                p.layer = (unsigned char)k;
                p.basal = k == nz - 1;
                p.front = x == nx - 1;
                p.surface = k == 0;
                p.column = y * nx + x;
            }
        }
    const int off[6][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 0, 1}, {1, 1, 0}, {0, 1, 1}};
    for (int y = 0; y < ny; ++y)
        for (int x = 0; x < nx; ++x)
            for (int k = 0; k < nz; ++k)
                for (int o = 0; o < 6; ++o) {
                    int X = x + off[o][0], Y = y + off[o][1], K = k + off[o][2];
                    if (X >= nx || Y >= ny || K >= nz) continue;
                    Bond b{};
                    b.a = at(x, y, k); b.b = at(X, Y, K);
                    b.kind = o >= 3;
                    b.rest = b.kind ? 1.41421356f : 1.0f;
                    float r = noise((unsigned)bonds.size() + 99u);
                    b.stiffness = (b.kind ? 25.0f : 50.0f) * (0.9f + 0.2f * r);
                    b.limit = 0.004f + 0.05f * r * noise((unsigned)b.a);
                    b.brokenAt = (x % 60 == 30 && k < 3 && o == 0) ? 0 : -1;      // old crevasses
                    bonds.push_back(b);
                    parts[b.a].links++; parts[b.b].links++;
                }
    const int nb = (int)bonds.size();
    vector<int> incidence(2 * (size_t)nb), fill(n);
    for (int i = 0, sum = 0; i < n; ++i) { parts[i].firstLink = fill[i] = sum; sum += parts[i].links; }
    for (int i = 0; i < nb; ++i) { incidence[fill[bonds[i].a]++] = i; incidence[fill[bonds[i].b]++] = i; }

    Particle *dP; Bond *dB; Column *dC; int *dI; unsigned long long *dBroken;
    CHK(cudaMalloc(&dP, n * sizeof(Particle)));
    CHK(cudaMalloc(&dB, nb * sizeof(Bond)));
    CHK(cudaMalloc(&dC, cols.size() * sizeof(Column)));
    CHK(cudaMalloc(&dI, incidence.size() * sizeof(int)));
    CHK(cudaMalloc(&dBroken, sizeof *dBroken));
    CHK(cudaMemcpy(dP, parts.data(), n * sizeof(Particle), cudaMemcpyHostToDevice));
    CHK(cudaMemcpy(dB, bonds.data(), nb * sizeof(Bond), cudaMemcpyHostToDevice));
    CHK(cudaMemcpy(dC, cols.data(), cols.size() * sizeof(Column), cudaMemcpyHostToDevice));
    CHK(cudaMemcpy(dI, incidence.data(), incidence.size() * sizeof(int), cudaMemcpyHostToDevice));
    CHK(cudaMemset(dBroken, 0, sizeof *dBroken));
    const Params params = {0.02f, 0.08f, 1.0f, 0.4f, 0.6f, 0.15f};
    CHK(cudaMemcpyToSymbol(P, &params, sizeof params));

    Event begin, end;
    const int gp = (n + 255) / 256, nc = nx * ny;
    for (int s = 0; s <= steps; ++s) {
        if (s == 1) CHK(cudaEventRecord(begin.e));
        stretchBonds<<<2112, 256>>>(dB, nb, dP, s, dBroken);
        gatherForces<<<gp, 256>>>(dP, n, dB, dI);
        integrate<<<gp, 256>>>(dP, n);
        meltSurface<<<gp, 256>>>(dP, n, 2.0f + 3.0f * (s % 10 < 5));
        probeColumns<<<(nc + 7) / 8, 256>>>(dC, nc, dP);
    }
    CHK(cudaEventRecord(end.e));
    CHK(cudaGetLastError());
    CHK(cudaEventSynchronize(end.e));
    float ms = 0.0f;
    CHK(cudaEventElapsedTime(&ms, begin.e, end.e));

    unsigned long long broken = 0;
    CHK(cudaMemcpy(parts.data(), dP, n * sizeof(Particle), cudaMemcpyDeviceToHost));
    CHK(cudaMemcpy(bonds.data(), dB, nb * sizeof(Bond), cudaMemcpyDeviceToHost));
    CHK(cudaMemcpy(cols.data(), dC, cols.size() * sizeof(Column), cudaMemcpyDeviceToHost));
    CHK(cudaMemcpy(&broken, dBroken, sizeof broken, cudaMemcpyDeviceToHost));
    double advance = 0, water = 0, speed = 0, runoff = 0, strain = 0;
    long long depth = 0, open = 0, when = 0;
    for (const auto &p : parts) { advance += p.pos.x; water += p.water; speed += std::fabs(p.vel.x); }
    for (const auto &b : bonds) { strain += std::fabs(b.strain); when += b.brokenAt; }
    for (const auto &c : cols) { depth += c.depth + 1; open += c.openings; runoff += c.runoff; }
    std::printf("check %llu/%lld/%lld/%lld/%.5g/%.4g/%.4g/%.4g/%.4g\n", broken, when, depth, open, advance, water, speed, runoff, strain);
    std::printf("time_ms %.4f\n", ms / steps);
    cudaFree(dP); cudaFree(dB); cudaFree(dC); cudaFree(dI); cudaFree(dBroken);
    return 0;
}
