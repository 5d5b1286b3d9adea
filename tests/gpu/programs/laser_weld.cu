// laser_weld.cu
//
// Keyhole-free laser weld on a plate: moving heat sources, enthalpy based
// conduction on an unstructured-style hexahedral mesh (explicit neighbour
// lists), tracer particles that follow the melt pool and take part in the
// evaporation budget.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>
#include <cuda_runtime.h>

namespace weld {

struct Material {
    float rho, cp, kSolid, kLiquid;
    float tSolidus, tLiquidus, tBoil, latent;
};

struct Thermal {                // nested state of a mesh cell
    float T;
    float enthalpy;
    float liquid;               // liquid fraction
};

struct MeshCell {
    float3   centre;
    float    volume;
    Thermal  th;
    float    flux;              // net heat flow of this step
    int      nb[6];             // -1: boundary
    float3   flow;              // melt velocity
    int      tracers;           // particles inside, counted each step
    unsigned evaporated;        // events
    char     material;
    bool     surface;
    short    zone;
};

struct HeatSource {
    float3 pos;
    float3 dir;
    float  power;
    float  radius;
    float  depth;
    float  speed;
    float  phase;
    int    mode;                // 0 gaussian surface, 1 conical volume
    double absorbed;
};

struct Tracer {
    float3         x;
    float3         v;
    float          temp;
    float          maxTemp;
    int            cell;
    unsigned short meltedSteps;
    unsigned char  phase;       // 0 solid, 1 liquid, 2 vapour
    unsigned char  resets;
    unsigned       id;
};

__constant__ Material kMat[2];

__host__ __device__ inline unsigned rnd(unsigned s)
{
    s ^= s << 13; s ^= s >> 17; s ^= s << 5; s *= 0x9e3779b1u; s ^= s >> 15;
    return s;
}

__device__ __forceinline__ void updateThermal(Thermal &t, const Material &m)
{
    float hs = m.cp * m.tSolidus, hl = m.cp * m.tLiquidus + m.latent;
    if (t.enthalpy <= hs) { t.T = t.enthalpy / m.cp; t.liquid = 0.0f; }
    else if (t.enthalpy >= hl) { t.T = (t.enthalpy - m.latent) / m.cp; t.liquid = 1.0f; }
    else {
        float f = (t.enthalpy - hs) / (hl - hs);
        t.liquid = f;
        t.T = m.tSolidus + f * (m.tLiquidus - m.tSolidus);
    }
}

__global__ void moveSources(HeatSource *src, int n, float dt, float length)
{
    int i = threadIdx.x;
    if (i >= n) return;
    HeatSource s = src[i];
    s.phase += dt;
    s.pos.x += s.speed * dt;
    if (s.pos.x > length) s.pos.x -= length;
    s.pos.y += 0.002f * cosf(40.0f * s.phase);        // wobble
    s.absorbed += (double)s.power * dt * (s.mode ? 0.7 : 0.4);
    src[i] = s;
}

// Deposit of all sources and conduction into the flux member.
__global__ void heatFlow(MeshCell *cells, int n, const HeatSource *src, int nsrc, float h)
{
    __shared__ HeatSource s[16];
    for (int k = threadIdx.x; k < nsrc; k += blockDim.x) s[k] = src[k];
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const MeshCell &c = cells[i];
    const Material &m = kMat[(int)c.material];
    float kc = m.kSolid + (m.kLiquid - m.kSolid) * c.th.liquid;
    float q = 0.0f;
    for (int d = 0; d < 6; ++d) {
        int j = c.nb[d];
        if (j < 0) { q += 0.004f * h * (300.0f - c.th.T); continue; }
        const Thermal &o = cells[j].th;
        const Material &mo = kMat[(int)cells[j].material];
        float ko = mo.kSolid + (mo.kLiquid - mo.kSolid) * o.liquid;
        q += 2.0f * kc * ko / (kc + ko) * h * (o.T - c.th.T);
    }
    for (int k = 0; k < nsrc; ++k) {
        float dx = c.centre.x - s[k].pos.x, dy = c.centre.y - s[k].pos.y;
        float r = s[k].radius, depth = -c.centre.z;
        if (s[k].mode == 1) r *= fmaxf(0.1f, 1.0f - depth / s[k].depth);
        else if (!c.surface) continue;
        float r2 = dx * dx + dy * dy;
        if (r2 > 9.0f * r * r || depth > s[k].depth) continue;
        q += s[k].power * expf(-2.0f * r2 / (r * r)) * c.volume / (r * r * h);
    }
    cells[i].flux = q;
}

__global__ void advanceCells(MeshCell *cells, int n, float dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    MeshCell *c = cells + i;
    const Material &m = kMat[(int)c->material];
    Thermal t = c->th;
    t.enthalpy += dt * c->flux / (m.rho * c->volume);
    float boil = m.cp * m.tBoil + m.latent;
    if (t.enthalpy > boil) {
        t.enthalpy = boil;
        c->evaporated++;
    }
    updateThermal(t, m);
    c->th = t;
    c->tracers = 0;
}

// Marangoni like flow from the temperature difference of the neighbours.
__global__ void drivePool(MeshCell *cells, int n, float dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || cells[i].th.liquid < 0.05f) return;
    MeshCell &c = cells[i];
    auto side = [&](int d) { int j = c.nb[d]; return j < 0 ? c.th.T : cells[j].th.T; };
    float gx = side(1) - side(0), gy = side(3) - side(2), gz = side(5) - side(4);
    float gain = c.surface ? 3.0e-3f : 4.0e-4f, f = c.th.liquid;
    c.flow.x = f * (0.98f * c.flow.x - gain * gx * dt * 1000.0f);
    c.flow.y = f * (0.98f * c.flow.y - gain * gy * dt * 1000.0f);
    c.flow.z = f * (0.98f * c.flow.z + 0.5f * gain * gz * dt * 1000.0f);
}

__global__ void advectTracers(Tracer *tr, int n, MeshCell *cells, int3 dim, float h, float dt)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        Tracer p = tr[i];
        const MeshCell &c = cells[p.cell];
        p.temp += 0.3f * (c.th.T - p.temp);
        p.maxTemp = fmaxf(p.maxTemp, p.temp);
        if (c.th.liquid > 0.5f) {
            p.phase = p.temp > 2900.0f ? 2 : 1;
            p.meltedSteps++;
            p.v.x += 0.5f * (c.flow.x - p.v.x);
            p.v.y += 0.5f * (c.flow.y - p.v.y);
            p.v.z += 0.5f * (c.flow.z - p.v.z) - (p.phase == 2 ? -0.2f : 0.0f);
            p.x.x = fminf(fmaxf(p.x.x + dt * p.v.x, 0.0f), h * dim.x * 0.99999f);
            p.x.y = fminf(fmaxf(p.x.y + dt * p.v.y, 0.0f), h * dim.y * 0.99999f);
            p.x.z = fminf(fmaxf(p.x.z + dt * p.v.z, -h * dim.z * 0.99999f), 0.0f);
            int cx = min((int)(p.x.x / h), dim.x - 1), cy = min((int)(p.x.y / h), dim.y - 1);
            int cz = min((int)(-p.x.z / h), dim.z - 1);
            p.cell = (cz * dim.y + cy) * dim.x + cx;
        } else if (p.phase) {
            p.phase = 0;
            p.v = make_float3(0.0f, 0.0f, 0.0f);
            p.resets++;
        }
        atomicAdd(&cells[p.cell].tracers, 1);
        tr[i] = p;
    }
}

template <typename T> struct DeviceArray {
    T *ptr = nullptr;
    size_t count = 0;
    DeviceArray(const std::vector<T> &v, cudaStream_t s) : count(v.size())
    {
        must(cudaMalloc(&ptr, count * sizeof(T)));
        must(cudaMemcpyAsync(ptr, v.data(), count * sizeof(T), cudaMemcpyHostToDevice, s));
    }
    ~DeviceArray() { cudaFree(ptr); }
    DeviceArray(const DeviceArray &) = delete;
    DeviceArray &operator=(const DeviceArray &) = delete;
    std::vector<T> fetch() const
    {
        std::vector<T> v(count);
        must(cudaMemcpy(v.data(), ptr, count * sizeof(T), cudaMemcpyDeviceToHost));
        return v;
    }
    operator T *() const { return ptr; }
    static void must(cudaError_t e)
    {
        if (e != cudaSuccess) { std::fprintf(stderr, "cuda: %s\n", cudaGetErrorString(e)); std::exit(3); }
    }
};

}  // namespace weld

int main(int argc, char **argv)
{
    using namespace weld;
    const int nTracers = argc > 1 ? std::atoi(argv[1]) : 600000;
    const int3 dim = make_int3(160, 96, 40);
    const int n = dim.x * dim.y * dim.z, nsrc = 6, steps = 80;
    const float h = 0.05f, dt = 2.0e-4f;
    const Material mats[2] = {{7.8f, 0.6f, 0.45f, 0.32f, 1690.0f, 1730.0f, 3080.0f, 270.0f},
                              {8.1f, 0.55f, 0.30f, 0.28f, 1600.0f, 1670.0f, 3000.0f, 250.0f}};
    DeviceArray<MeshCell>::must(cudaMemcpyToSymbol(kMat, mats, sizeof mats));

    std::vector<MeshCell> cells(n);
    for (int i = 0; i < n; ++i) {
        int x = i % dim.x, y = i / dim.x % dim.y, z = i / dim.x / dim.y, sxy = dim.x * dim.y;
        MeshCell c{};
        c.centre = make_float3((x + 0.5f) * h, (y + 0.5f) * h, -(z + 0.5f) * h);
        c.volume = h * h * h;
        c.material = (char)(y >= dim.y / 2);
        c.surface = z == 0;
        c.zone = (short)(x / 20);
        const int nb[6] = {x > 0 ? i - 1 : -1, x + 1 < dim.x ? i + 1 : -1, y > 0 ? i - dim.x : -1,
                           y + 1 < dim.y ? i + dim.x : -1, z + 1 < dim.z ? i + sxy : -1, z > 0 ? i - sxy : -1};
        for (int k = 0; k < 6; ++k) c.nb[k] = nb[k];
        c.th.T = 600.0f + (float)(rnd(i + 1) % 100) * 0.1f;
        c.th.enthalpy = c.th.T * mats[(int)c.material].cp;
        cells[i] = c;
    }
    std::vector<HeatSource> src(nsrc);
    for (int k = 0; k < nsrc; ++k)
        src[k] = HeatSource{make_float3(0.8f + 1.2f * k, 2.4f + 0.3f * (k % 3 - 1), 0.0f), make_float3(1, 0, 0),
                            k % 2 ? 2000.0f : 5000.0f, 0.28f + 0.02f * k, k % 2 ? 1.0f : 0.1f, 25.0f, 0.1f * k, k % 2, 0.0};
    std::vector<Tracer> tracers(nTracers);
    for (int i = 0; i < nTracers; ++i) {
        Tracer t{};
        unsigned a = rnd(3 * i + 1), b = rnd(3 * i + 2), c = rnd(3 * i + 3);
        int cx = a % dim.x, cy = dim.y / 4 + b % (dim.y / 2), cz = c % (dim.z / 2);
        t.x = make_float3((cx + 0.5f) * h, (cy + 0.5f) * h, -(cz + 0.5f) * h);
        t.cell = (cz * dim.y + cy) * dim.x + cx;
        t.temp = t.maxTemp = 600.0f;
        t.id = (unsigned)i;
        tracers[i] = t;
    }

    cudaStream_t st;
    auto must = DeviceArray<Tracer>::must;
    must(cudaStreamCreate(&st));
    DeviceArray<MeshCell> dCells(cells, st);
    DeviceArray<HeatSource> dSrc(src, st);
    DeviceArray<Tracer> dTr(tracers, st);
    cudaEvent_t e0, e1;
    must(cudaEventCreate(&e0));
    must(cudaEventCreate(&e1));
    const int gb = (n + 127) / 128;
    for (int s = 0; s <= steps; ++s) {
        if (s == 1) must(cudaEventRecord(e0, st));
        moveSources<<<1, 32, 0, st>>>(dSrc, nsrc, dt, dim.x * h);
        heatFlow<<<gb, 128, 0, st>>>(dCells, n, dSrc, nsrc, h);
        advanceCells<<<gb, 128, 0, st>>>(dCells, n, dt);
        drivePool<<<gb, 128, 0, st>>>(dCells, n, dt);
        advectTracers<<<528, 256, 0, st>>>(dTr, nTracers, dCells, dim, h, dt);
    }
    must(cudaEventRecord(e1, st));
    must(cudaGetLastError());
    must(cudaStreamSynchronize(st));
    float ms = 0.0f;
    must(cudaEventElapsedTime(&ms, e0, e1));

    cells = dCells.fetch(); tracers = dTr.fetch(); src = dSrc.fetch();
    double heat = 0, flow = 0, absorbed = 0, hot = 0;
    long long molten = 0, evap = 0, inside = 0, melted = 0, occupied = 0;
    for (const auto &c : cells) {
        heat += c.th.enthalpy; flow += std::sqrt(c.flow.x * c.flow.x + c.flow.y * c.flow.y);
        molten += c.th.liquid > 0.5f; evap += c.evaporated > 0; inside += c.tracers; occupied += c.tracers > 0;
    }
    for (const auto &t : tracers) { melted += t.meltedSteps > 0; hot += t.maxTemp; }
    for (const auto &s : src) absorbed += s.absorbed;
    std::printf("check %lld/%lld/%lld/%.3g/%lld/%.4g/%.3g/%.5g/%.4g\n", molten, evap, inside, (double)occupied, melted, heat, flow, hot, absorbed);
    std::printf("time_ms %.4f\n", ms / steps);
    return 0;
}
