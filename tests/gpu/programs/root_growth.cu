// Architectural root growth coupled to a soil grid: diffusion of water and nitrate,
// uptake by root segments, xylem pressure along the root trees, growth of the tips.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>
#include <cuda_runtime.h>

namespace rhizo {

constexpr int NX = 224, NY = 224, NZ = 144;
constexpr float DX = 0.5f;                     // cm
constexpr int PLANTS = 1600;
constexpr int TIPS_PER_PLANT = 160;
constexpr int SLOTS = 14;                      // segments a tip can lay down
constexpr int TIPS = PLANTS * TIPS_PER_PLANT;
constexpr int SEGMENTS = TIPS * SLOTS;
struct vec3 {
    float x, y, z;
    __host__ __device__ vec3 operator+(const vec3& o) const { return {x + o.x, y + o.y, z + o.z}; }
    __host__ __device__ vec3 operator-(const vec3& o) const { return {x - o.x, y - o.y, z - o.z}; }
    __host__ __device__ vec3 operator*(float s) const { return {x * s, y * s, z * s}; }
};
__host__ __device__ inline float norm(const vec3& v) { return sqrtf(v.x * v.x + v.y * v.y + v.z * v.z); }
struct Voxel {
    float water;            // volumetric content
    float nitrate, phosphate;
    float temperature;
    float uptakeWater, uptakeNitrate;      // taken during the running step
    float conductivity;
    int rootCount;
    short mineralization;   // 1e-6 per step
    std::uint8_t texture, layer;
};
struct Segment {
    vec3 a, b;
    float radius, age;
    float psi, psiNext;     // xylem potential
    float axial;            // axial conductance
    int parent;             // -1 at the collar
    int voxel, plant;
    std::uint8_t order, born, suberized;
};
struct Tip {
    vec3 pos, dir;
    float pending;          // length grown since the last segment
    float rate;             // cm per step
    float gravitropism;
    int plant;
    int parentTip;          // -1 for the primary root
    int laid;               // segments laid down so far
    int lastSegment;
    std::uint32_t rng;
    short emergeAt;         // laid count of the parent that triggers emergence
    std::uint8_t order, active;
};
struct Plant {
    float x, y;
    float demand;           // relative water demand
    float collarPsi;
    float carbon;
    float length, depth;
    int tips;
    short species, stage;
};
inline void verify(cudaError_t e, int line)
{
    if (e == cudaSuccess) return;
    std::fprintf(stderr, "root_growth:%d %s\n", line, cudaGetErrorString(e));
    std::exit(1);
}
#define VERIFY(e) ::rhizo::verify((e), __LINE__)
__host__ __device__ inline int voxelIndex(const vec3& p)
{
    int i = (int)(p.x / DX), j = (int)(p.y / DX), k = (int)(p.z / DX);
    i = i < 0 ? 0 : (i >= NX ? NX - 1 : i), j = j < 0 ? 0 : (j >= NY ? NY - 1 : j), k = k < 0 ? 0 : (k >= NZ ? NZ - 1 : k);
    return (k * NY + j) * NX + i;
}
__device__ inline float rnd(std::uint32_t& s)
{
    s = s * 1664525u + 1013904223u;
    return (s >> 8) * (1.0f / 16777216.0f);
}
__device__ inline void exchange(const Voxel& c, const Voxel& n, float& dw, float& dn)
{
    float k = 0.5f * (c.conductivity + n.conductivity);
    dw += k * (n.water - c.water);
    dn += 0.02f * (n.nitrate - c.nitrate);
}
__global__ void soilDiffusion(const Voxel* __restrict__ now, Voxel* __restrict__ next, float rain)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    int k = blockIdx.z;
    if (i >= NX || j >= NY) return;
    int id = (k * NY + j) * NX + i;
    const Voxel& c = now[id];
    float dw = 0, dn = 0;
    const int step[3] = {1, NX, NX * NY}, at[3] = {i, j, k}, last[3] = {NX - 1, NY - 1, NZ - 1};
    for (int a = 0; a < 3; ++a) {
        if (at[a] > 0) exchange(c, now[id - step[a]], dw, dn);
        if (at[a] < last[a]) exchange(c, now[id + step[a]], dw, dn);
    }
    // gravity drainage, rain at the surface
    float fromAbove = k > 0 ? now[id - NX * NY].conductivity * now[id - NX * NY].water * 0.1f : rain;
    float toBelow = c.conductivity * c.water * 0.1f;
    Voxel v = c;
    v.water = fminf(0.46f, fmaxf(0.02f, c.water + dw + fromAbove - toBelow - c.uptakeWater));
    v.nitrate = fmaxf(0.0f, c.nitrate + dn + c.mineralization * 1e-6f * c.temperature - c.uptakeNitrate);
    float rel = (v.water - 0.02f) / 0.44f;
    v.conductivity = 0.08f * rel * rel * (c.texture == 0 ? 1.4f : c.texture == 1 ? 1.0f : 0.6f);
    v.uptakeWater = v.uptakeNitrate = 0.0f;
    next[id] = v;
}
__global__ void xylemRelax(Segment* seg, const Voxel* __restrict__ soil, const Plant* __restrict__ plants, int n)
{
    for (int s = blockIdx.x * blockDim.x + threadIdx.x; s < n; s += gridDim.x * blockDim.x) {
        if (!seg[s].born) continue;
        const Segment& g = seg[s];
        float up = g.parent >= 0 ? seg[g.parent].psi : plants[g.plant].collarPsi;
        float soilPsi = -0.02f / fmaxf(soil[g.voxel].water, 0.02f);
        float radial = (g.suberized ? 0.2f : 1.0f) * 6.2831853f * g.radius;
        seg[s].psiNext = (g.axial * up + radial * soilPsi) / (g.axial + radial);
    }
}
__global__ void uptake(Segment* seg, Voxel* soil, int n)
{
    for (int s = blockIdx.x * blockDim.x + threadIdx.x; s < n; s += gridDim.x * blockDim.x) {
        if (!seg[s].born) continue;
        Segment& g = seg[s];
        g.psi = g.psiNext;
        g.age += 1.0f;
        if (g.age > 40.0f) g.suberized = 1;
        Voxel& v = soil[g.voxel];
        float soilPsi = -0.02f / fmaxf(v.water, 0.02f);
        float area = 6.2831853f * g.radius * norm(g.b - g.a);
        float w = fmaxf(0.0f, soilPsi - g.psi) * area * (g.suberized ? 0.004f : 0.02f);
        float nit = area * 2e-4f * v.nitrate / (v.nitrate + 0.3f);
        atomicAdd(&v.uptakeWater, fminf(w, 0.002f));
        atomicAdd(&v.uptakeNitrate, nit);
    }
}
// laterals wait until their parent has grown past the branching point
__global__ void emerge(Tip* tips, const Segment* __restrict__ seg, const Plant* __restrict__ plants, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    Tip& me = tips[t];
    if (me.active || me.laid > 0 || me.parentTip < 0) return;
    const Tip& par = tips[me.parentTip];
    if (par.laid < me.emergeAt || plants[me.plant].carbon < 0.1f) return;
    int from = me.parentTip * SLOTS + me.emergeAt - 1;
    vec3 axis = seg[from].b - seg[from].a;
    float az = 6.2831853f * rnd(me.rng);
    vec3 side = {cosf(az), sinf(az), 0.3f};
    vec3 d = side * 0.8f + axis * (0.4f / fmaxf(norm(axis), 1e-4f));
    me.dir = d * (1.0f / norm(d));
    me.pos = seg[from].b;
    me.lastSegment = from;
    me.pending = 0.0f;
    me.active = 1;
}
__global__ void growTips(Tip* tips, Segment* seg, Voxel* soil, const Plant* __restrict__ plants, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n || !tips[t].active) return;
    Tip& tip = tips[t];
    int here = voxelIndex(tip.pos);
    // nitrate gradient along the axes
    vec3 ahead = tip.pos + tip.dir * (2.0f * DX);
    float gradient = soil[voxelIndex(ahead)].nitrate - soil[here].nitrate;
    vec3 sideways = {-tip.dir.y, tip.dir.x, 0.0f};
    float lateral = soil[voxelIndex(tip.pos + sideways * DX)].nitrate - soil[voxelIndex(tip.pos - sideways * DX)].nitrate;
    float wander = 0.25f / (1 + tip.order);
    vec3 d = tip.dir + sideways * (0.1f * lateral);
    d.x += wander * (rnd(tip.rng) - 0.5f);
    d.y += wander * (rnd(tip.rng) - 0.5f);
    d.z += wander * (rnd(tip.rng) - 0.5f) + tip.gravitropism;
    d = d * (1.0f / fmaxf(norm(d), 1e-4f));
    float wet = fminf(1.0f, soil[here].water * 4.0f);
    float step = tip.rate * wet * (1.0f + 0.2f * fminf(fmaxf(gradient, -1.0f), 1.0f)) * fminf(1.0f, plants[tip.plant].carbon);
    vec3 p = tip.pos + d * step;
    const float ex = NX * DX, ey = NY * DX, ez = NZ * DX;
    if (p.x < 0.0f || p.x >= ex) { d.x = -d.x; p.x = fminf(fmaxf(p.x, 0.0f), ex - 1e-3f); }
    if (p.y < 0.0f || p.y >= ey) { d.y = -d.y; p.y = fminf(fmaxf(p.y, 0.0f), ey - 1e-3f); }
    p.z = fminf(fmaxf(p.z, 0.0f), ez - 1e-3f);
    tip.dir = d, tip.pos = p;
    tip.pending += step;
    if (tip.pending < 0.5f * DX) return;
    Segment& s = seg[t * SLOTS + tip.laid];
    s.a = tip.lastSegment >= 0 ? seg[tip.lastSegment].b : vec3{plants[tip.plant].x, plants[tip.plant].y, 0.0f};
    s.b = p;
    s.parent = tip.lastSegment;
    s.radius = 0.05f / (1 + tip.order);
    s.axial = 4.0f / (1 + tip.order * tip.order);
    s.psi = s.psiNext = tip.lastSegment >= 0 ? seg[tip.lastSegment].psi : plants[tip.plant].collarPsi;
    s.age = 0.0f;
    s.plant = tip.plant;
    s.order = tip.order;
    s.voxel = voxelIndex(p);
    s.suberized = 0, s.born = 1;
    atomicAdd(&soil[s.voxel].rootCount, 1);
    tip.lastSegment = t * SLOTS + tip.laid;
    tip.pending = 0.0f;
    if (++tip.laid == SLOTS) tip.active = 0;
}
// one block per plant
__global__ void plantBudget(Plant* plants, const Tip* __restrict__ tips, int hour)
{
    __shared__ float sLen[64], sDeep[64];
    __shared__ int sTips[64];
    int p = blockIdx.x;
    float len = 0.0f, deep = 0.0f;
    int count = 0;
    for (int k = threadIdx.x; k < TIPS_PER_PLANT; k += blockDim.x) {
        const Tip& t = tips[p * TIPS_PER_PLANT + k];
        len += t.laid * 0.5f * DX + t.pending;
        if (t.laid > 0) deep = fmaxf(deep, t.pos.z);
        count += t.active;
    }
    sLen[threadIdx.x] = len, sDeep[threadIdx.x] = deep, sTips[threadIdx.x] = count;
    __syncthreads();
    for (int s = 32; s > 0; s >>= 1) {
        if (threadIdx.x < s) {
            sLen[threadIdx.x] += sLen[threadIdx.x + s];
            sDeep[threadIdx.x] = fmaxf(sDeep[threadIdx.x], sDeep[threadIdx.x + s]);
            sTips[threadIdx.x] += sTips[threadIdx.x + s];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        Plant& q = plants[p];
        q.length = sLen[0], q.depth = sDeep[0], q.tips = sTips[0];
        float sun = fmaxf(0.0f, sinf(hour * 0.2618f));
        q.collarPsi = -0.3f - 0.9f * sun * q.demand;
        q.carbon = fminf(1.2f, fmaxf(0.2f, q.carbon + 0.03f * sun - 0.0002f * q.tips));
    }
}
class Simulation {
public:
    Simulation()
    {
        makeSoil();
        makePlants();
        soil_ = upload(hostSoil), soilNext_ = upload(hostSoil);
        seg_ = upload(hostSeg);
        tips_ = upload(hostTips);
        plants_ = upload(hostPlants);
    }
    ~Simulation()
    {
        for (void* p : {(void*)soil_, (void*)soilNext_, (void*)seg_, (void*)tips_, (void*)plants_}) cudaFree(p);
    }
    void step()
    {
        dim3 b(32, 8), g((NX + 31) / 32, (NY + 7) / 8, NZ);
        soilDiffusion<<<g, b>>>(soil_, soilNext_, hour_ % 24 < 4 ? 0.004f : 0.0f);
        std::swap(soil_, soilNext_);
        xylemRelax<<<1584, 256>>>(seg_, soil_, plants_, SEGMENTS);
        uptake<<<1584, 256>>>(seg_, soil_, SEGMENTS);
        emerge<<<(TIPS + 255) / 256, 256>>>(tips_, seg_, plants_, TIPS);
        growTips<<<(TIPS + 127) / 128, 128>>>(tips_, seg_, soil_, plants_, TIPS);
        plantBudget<<<PLANTS, 64>>>(plants_, tips_, hour_);
        ++hour_;
    }
    void report()
    {
        download(hostSoil, soil_), download(hostSeg, seg_);
        download(hostTips, tips_), download(hostPlants, plants_);
        double water = 0, nitrate = 0, psi = 0, depth = 0, length = 0;
        long roots = 0, active = 0;
        for (const Voxel& v : hostSoil) { water += v.water; nitrate += v.nitrate; roots += v.rootCount; }
        for (const Segment& s : hostSeg) if (s.born) psi += s.psi;
        for (const Tip& t : hostTips) active += t.active;
        for (const Plant& p : hostPlants) { depth += p.depth; length += p.length; }
        std::printf("check %.5g/%.5g/%.3g/%.3g/%.3g/%.3g/%.3g\n", water, nitrate, (double)roots, psi, depth, length, (double)active);
    }
private:
    template <class T> static T* upload(const std::vector<T>& v)
    {
        T* d;
        VERIFY(cudaMalloc(&d, v.size() * sizeof(T)));
        VERIFY(cudaMemcpy(d, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
        return d;
    }
    template <class T> static void download(std::vector<T>& v, const T* d)
    {
        VERIFY(cudaMemcpy(v.data(), d, v.size() * sizeof(T), cudaMemcpyDeviceToHost));
    }
    std::uint32_t draw() { return seed_ = seed_ * 22695477u + 1u, seed_ >> 8; }
    float unit() { return draw() * (1.0f / 16777216.0f); }
    void makeSoil()
    {
        hostSoil.resize((size_t)NX * NY * NZ);
        size_t at = 0;
        for (int k = 0; k < NZ; ++k)
            for (int j = 0; j < NY; ++j)
                for (int i = 0; i < NX; ++i) {
                    Voxel v{};
                    float patch = std::sin(i * 0.11f) * std::sin(j * 0.09f) * std::cos(k * 0.13f);
                    v.layer = (std::uint8_t)(k < 30 ? 0 : k < 80 ? 1 : 2);
                    v.texture = (std::uint8_t)((v.layer + (patch > 0.4f)) % 3);
                    v.water = 0.18f + 0.06f * patch + 0.02f * unit() + 0.0005f * k;
                    v.nitrate = std::max(0.0f, 1.2f - 0.008f * k + 0.5f * patch);
                    v.phosphate = 0.1f * unit();
                    v.temperature = 18.0f - 0.03f * k;
                    v.conductivity = 0.02f;
                    v.mineralization = (short)(k < 40 ? 3 + draw() % 4 : 0);
                    hostSoil[at++] = v;
                }
    }
    void makePlants()
    {
        hostPlants.resize(PLANTS);
        hostTips.resize(TIPS);
        hostSeg.assign(SEGMENTS, Segment{});
        for (int p = 0; p < PLANTS; ++p) {
            Plant& q = hostPlants[p] = Plant{};
            q.x = NX * DX * ((p % 40) + 0.3f + 0.4f * unit()) / 40.0f;
            q.y = NY * DX * ((p / 40) + 0.3f + 0.4f * unit()) / 40.0f;
            q.demand = 0.7f + 0.6f * unit();
            q.collarPsi = -0.3f;
            q.carbon = 0.8f;
            q.species = (short)(draw() % 3);
            for (int k = 0; k < TIPS_PER_PLANT; ++k) {
                Tip t{};
                int self = p * TIPS_PER_PLANT + k;
                t.plant = p;
                t.order = (std::uint8_t)(k < 8 ? 0 : (k < 60 ? 1 : 2));
                t.parentTip = k < 8 ? -1 : p * TIPS_PER_PLANT + (k < 60 ? (int)(draw() % 8) : 8 + (int)(draw() % 52));
                t.emergeAt = (short)(1 + draw() % (SLOTS - 3));
                t.active = k < 8;
                t.pos = vec3{q.x, q.y, 0.1f};
                float az = 6.2831853f * unit(), tilt = 0.2f + unit();
                t.dir = vec3{std::cos(az) * std::sin(tilt), std::sin(az) * std::sin(tilt), std::cos(tilt)};
                t.rate = 0.09f / (1.0f + 0.5f * t.order) * (0.8f + 0.4f * unit());
                t.gravitropism = 0.06f / (1 + t.order);
                t.lastSegment = -1;
                t.rng = draw() * 97u + (std::uint32_t)self;
                hostTips[self] = t;
            }
        }
    }
    std::vector<Voxel> hostSoil;
    std::vector<Segment> hostSeg;
    std::vector<Tip> hostTips;
    std::vector<Plant> hostPlants;
    Voxel *soil_, *soilNext_;
    Segment* seg_;
    Tip* tips_;
    Plant* plants_;
    int hour_ = 6;
    std::uint32_t seed_ = 12345u;
};
}  // namespace rhizo
int main()
{
    rhizo::Simulation sim;
    for (int i = 0; i < 20; ++i) sim.step();
    cudaEvent_t e0, e1;
    VERIFY(cudaEventCreate(&e0)), VERIFY(cudaEventCreate(&e1));
    const int steps = 60;
    VERIFY(cudaEventRecord(e0));
    for (int i = 0; i < steps; ++i) sim.step();
    VERIFY(cudaEventRecord(e1));
    VERIFY(cudaEventSynchronize(e1));
    float ms = 0;
    VERIFY(cudaEventElapsedTime(&ms, e0, e1));
    sim.report();
    std::printf("time_ms %.4f\n", ms / steps);
    return 0;
}