// Surface drifters advected through a time-dependent ocean current grid: RK4 with
// space-time interpolation, sub-grid diffusion, beaching and density maps.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <vector>

namespace ocean {

#define OCEAN_CUDA(stmt)                                                                             \
    do {                                                                                             \
        cudaError_t err = (stmt);                                                                    \
        if (err != cudaSuccess) {                                                                    \
            std::cerr << "CUDA error: " << cudaGetErrorString(err) << " in " << #stmt << std::endl;  \
            std::exit(EXIT_FAILURE);                                                                 \
        }                                                                                            \
    } while (false)

struct Drifter {
    double lon;
    double lat;
    float depth;
    float u, v;
    float temperature, salinity;
    float age_days, travelled_km;
    int id, home_cell;
    short origin;
    char beached, kind;
    float biofouling, heat_stress;
};

struct FlowNode {
    float u, v, w;
    float temperature, salinity;
};

struct SurfaceCell {
    float bathymetry;
    float shore_distance;
    float roughness;
    unsigned drifters, beached, visits;
    short region, land;
};

struct Origin {
    double lon, lat;
    float spread, sink_rate;
    int released;
    unsigned long long metres;
};

struct Grid {
    int nx, ny, nz;
    double lon0, lat0, spacing;
    float layer;
    __host__ __device__ size_t node(int x, int y, int z) const { return (static_cast<size_t>(z) * ny + y) * nx + x; }
    __host__ __device__ int cell(int x, int y) const { return y * nx + x; }
};

__host__ __device__ inline unsigned rot_hash(unsigned h)
{
    h *= 0xcc9e2d51u;
    h = (h << 15) | (h >> 17);
    h *= 0x1b873593u;
    h ^= h >> 16;
    h *= 0x85ebca6bu;
    h ^= h >> 13;
    return h;
}
__host__ __device__ inline float frac_hash(unsigned h) { return (rot_hash(h) >> 9) / 8388608.0f; }

struct Sample {
    float u, v, w;
};

struct Linear {
    __device__ static float weight(float t) { return t; }
};
struct Smooth {
    __device__ static float weight(float t) { return t * t * (3.0f - 2.0f * t); }
};

template <typename Scheme>
__device__ Sample interpolate(const FlowNode *__restrict__ past, const FlowNode *__restrict__ future, const Grid &g,
                              double lon, double lat, float depth, float frac)
{
    const double gx = (lon - g.lon0) / g.spacing, gy = (lat - g.lat0) / g.spacing;
    const int x = min(max(static_cast<int>(gx), 0), g.nx - 2);
    const int y = min(max(static_cast<int>(gy), 0), g.ny - 2);
    const int z = min(max(static_cast<int>(depth / g.layer), 0), g.nz - 1);
    const float fx = Scheme::weight(fminf(1.0f, fmaxf(0.0f, static_cast<float>(gx - x))));
    const float fy = Scheme::weight(fminf(1.0f, fmaxf(0.0f, static_cast<float>(gy - y))));
    Sample out{0.0f, 0.0f, 0.0f};
    auto gather = [&](const FlowNode *f, float scale) {
        for (int k = 0; k < 4; ++k) {
            const FlowNode &n = f[g.node(x + (k & 1), y + (k >> 1), z)];
            const float wgt = scale * ((k & 1) ? fx : 1.0f - fx) * ((k >> 1) ? fy : 1.0f - fy);
            out.u += wgt * n.u;
            out.v += wgt * n.v;
            out.w += wgt * n.w;
        }
    };
    gather(past, 1.0f - frac);
    gather(future, frac);
    return out;
}

template <typename Scheme>
__global__ void advect(Drifter *__restrict__ drifters, int count, const FlowNode *__restrict__ past,
                       const FlowNode *__restrict__ future, Grid g, float frac, float dt)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count || drifters[i].beached) return;
    Drifter &d = drifters[i];
    const double lon = d.lon, lat = d.lat;
    const double per_deg = 111320.0;
    const double cos_lat = fmax(0.2, cos(lat * 0.017453292519943295));
    const double sx = dt / (per_deg * cos_lat), sy = dt / per_deg;
    const Sample k1 = interpolate<Scheme>(past, future, g, lon, lat, d.depth, frac);
    const Sample k2 = interpolate<Scheme>(past, future, g, lon + 0.5 * sx * k1.u, lat + 0.5 * sy * k1.v, d.depth, frac);
    const Sample k3 = interpolate<Scheme>(past, future, g, lon + 0.5 * sx * k2.u, lat + 0.5 * sy * k2.v, d.depth, frac);
    const Sample k4 = interpolate<Scheme>(past, future, g, lon + sx * k3.u, lat + sy * k3.v, d.depth, frac);
    const float u = (k1.u + 2.0f * (k2.u + k3.u) + k4.u) / 6.0f;
    const float v = (k1.v + 2.0f * (k2.v + k3.v) + k4.v) / 6.0f;
    const float w = (k1.w + 2.0f * (k2.w + k3.w) + k4.w) / 6.0f;
    d.lon = lon + sx * u;
    d.lat = lat + sy * v;
    d.depth = fminf(fmaxf(d.depth + w * dt, 0.0f), g.layer * g.nz - 0.5f);
    d.u = u;
    d.v = v;
    d.travelled_km += 0.001f * dt * sqrtf(u * u + v * v);
}

__global__ void diffuse_and_beach(Drifter *drifters, int count, const SurfaceCell *__restrict__ cells,
                                  const Origin *__restrict__ origins, Grid g, int step, float dt)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += blockDim.x * gridDim.x) {
        Drifter &d = drifters[i];
        d.age_days += dt / 86400.0f;
        if (d.beached) {
            // A few beached drifters are washed out again at their release site.
            if ((rot_hash(d.id ^ (step * 7919u)) & 255u) == 0) {
                const Origin &o = origins[d.origin];
                d.lon = o.lon + o.spread * (frac_hash(d.id + step) - 0.5f);
                d.lat = o.lat + o.spread * (frac_hash(d.id - step) - 0.5f);
                d.depth = 1.0f;
                d.beached = 0;
            }
            continue;
        }
        const unsigned key = static_cast<unsigned>(d.id) * 2u + static_cast<unsigned>(step) * 0x51ed270bu;
        const int cx = min(max(static_cast<int>((d.lon - g.lon0) / g.spacing), 0), g.nx - 1);
        const int cy = min(max(static_cast<int>((d.lat - g.lat0) / g.spacing), 0), g.ny - 1);
        const SurfaceCell &here = cells[g.cell(cx, cy)];
        const double kick = 0.002 * here.roughness;
        d.lon += kick * (frac_hash(key) - 0.5f);
        d.lat += kick * (frac_hash(key + 1u) - 0.5f);
        d.lon = fmin(fmax(d.lon, g.lon0 + 0.01), g.lon0 + g.spacing * (g.nx - 1) - 0.01);
        d.lat = fmin(fmax(d.lat, g.lat0 + 0.01), g.lat0 + g.spacing * (g.ny - 1) - 0.01);
        d.depth = fminf(d.depth + origins[d.origin].sink_rate * d.biofouling, fmaxf(here.bathymetry, 0.5f));
        d.biofouling = fminf(1.0f, d.biofouling + 0.0005f);
        if (here.land || (here.shore_distance < 1.5f && d.depth < 2.0f && frac_hash(key + 7u) < 0.02f)) d.beached = 1;
        d.home_cell = g.cell(cx, cy);
    }
}

__global__ void sample_tracers(Drifter *__restrict__ drifters, int count, const FlowNode *__restrict__ flow, Grid g)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count || drifters[i].beached) return;
    const int cell = drifters[i].home_cell;
    const int z = min(static_cast<int>(drifters[i].depth / g.layer), g.nz - 1);
    const FlowNode &n = flow[static_cast<size_t>(z) * g.nx * g.ny + cell];
    drifters[i].temperature += 0.2f * (n.temperature - drifters[i].temperature);
    drifters[i].salinity += 0.2f * (n.salinity - drifters[i].salinity);
    if (n.temperature > 26.0f) drifters[i].heat_stress += n.temperature - 26.0f;
}

__global__ void density_map(const Drifter *__restrict__ drifters, int count, SurfaceCell *__restrict__ cells)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const int c = drifters[i].home_cell;
    if (drifters[i].beached)
        atomicAdd(&cells[c].beached, 1u);
    else
        atomicAdd(&cells[c].drifters, 1u);
}

__global__ void fold_density(SurfaceCell *cells, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    if (cells[i].drifters | cells[i].beached) {
        cells[i].visits += cells[i].drifters;
        cells[i].roughness = 0.98f * cells[i].roughness + 0.02f * fminf(2.0f, 0.1f * cells[i].beached + 0.5f);
        cells[i].drifters = 0;
        cells[i].beached = 0;
    }
}

// New forecast frame from the previous one: relaxation, rotation and heat input.
__global__ void forecast(const FlowNode *__restrict__ from, FlowNode *__restrict__ to,
                         const SurfaceCell *__restrict__ cells, Grid g, float turn)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= g.nx || y >= g.ny) return;
    const int e = min(x + 1, g.nx - 1), w = max(x - 1, 0), n = min(y + 1, g.ny - 1), s = max(y - 1, 0);
    const float friction = cells[g.cell(x, y)].land ? 0.5f : 0.995f;
    const float ct = cosf(turn), st = sinf(turn);
    for (int z = 0; z < g.nz; ++z) {
        FlowNode f = from[g.node(x, y, z)];
        const float lap_t = from[g.node(e, y, z)].temperature + from[g.node(w, y, z)].temperature +
                            from[g.node(x, n, z)].temperature + from[g.node(x, s, z)].temperature - 4.0f * f.temperature;
        const float div = from[g.node(e, y, z)].u - from[g.node(w, y, z)].u + from[g.node(x, n, z)].v - from[g.node(x, s, z)].v;
        const float u = friction * (f.u * ct - f.v * st), v = friction * (f.u * st + f.v * ct);
        f.u = u;
        f.v = v;
        f.w = 0.9f * f.w - 1e-5f * div;
        f.temperature += 0.1f * lap_t + (z == 0 ? 0.01f : 0.0f);
        to[g.node(x, y, z)] = f;
    }
}

class Simulation {
public:
    explicit Simulation(int count) : count_(count), grid_{1200, 600, 6, -60.0, -20.0, 0.08, 15.0f}
    {
        const int ncell = grid_.nx * grid_.ny;
        nodes_ = static_cast<size_t>(ncell) * grid_.nz;
        std::vector<SurfaceCell> cells(ncell);
        std::vector<FlowNode> flow(nodes_);
        for (int y = 0; y < grid_.ny; ++y)
            for (int x = 0; x < grid_.nx; ++x) {
                const int c = grid_.cell(x, y);
                const unsigned h = rot_hash(c + 1u);
                const bool land = rot_hash((y / 25) * 911u + x / 30 + 3u) % 19u == 0;
                cells[c] = SurfaceCell{land ? 0.0f : 10.0f + 70.0f * frac_hash(c), 0.1f * (h % 400u), 0.5f + 0.5f * frac_hash(c + 5u), 0u, 0u, 0u, static_cast<short>((x / 100) + 12 * (y / 100)), static_cast<short>(land)};
                for (int z = 0; z < grid_.nz; ++z) {
                    const float a = x * 0.02f, b = y * 0.025f;
                    flow[grid_.node(x, y, z)] = FlowNode{(1.2f - 0.1f * z) * std::sin(b + 0.3f * z) + 0.1f * frac_hash(c + z), 0.9f * std::cos(a) * std::sin(0.5f * b), 1e-4f * std::sin(a + b), 28.0f - 2.0f * z - 8.0f * y / grid_.ny + frac_hash(c * 7u + z), 34.0f + 2.0f * frac_hash(c * 3u + z)};
                }
            }
        std::vector<Origin> origins(kOrigins);
        for (int o = 0; o < kOrigins; ++o)
            origins[o] = Origin{-60.0 + 95.0 * frac_hash(o + 11u), -20.0 + 47.0 * frac_hash(o + 211u), 1.0f + 4.0f * frac_hash(o + 23u), 0.01f * frac_hash(o + 29u), 0, 0ull};
        host_.resize(count);
        for (int i = 0; i < count; ++i) {
            Drifter &d = host_[i];
            d = Drifter{};
            d.origin = static_cast<short>((static_cast<long long>(i) * kOrigins) / count);
            const Origin &o = origins[d.origin];
            d.lon = std::fmin(35.0, std::fmax(-59.9, o.lon + o.spread * (frac_hash(i * 2u) - 0.5f)));
            d.lat = std::fmin(27.0, std::fmax(-19.9, o.lat + o.spread * (frac_hash(i * 2u + 1u) - 0.5f)));
            d.depth = 30.0f * frac_hash(i + 99u);
            d.temperature = 20.0f;
            d.salinity = 35.0f;
            d.id = i;
            d.kind = static_cast<char>(i % 3);
            d.home_cell = grid_.cell(static_cast<int>((d.lon + 60.0) / 0.08), static_cast<int>((d.lat + 20.0) / 0.08));
        }
        drifters_ = to_device(host_);
        cells_ = to_device(cells);
        origins_ = to_device(origins);
        flow_[0] = to_device(flow);
        flow_[1] = to_device(flow);
    }
    ~Simulation()
    {
        for (void *p : {(void *)drifters_, (void *)cells_, (void *)origins_, (void *)flow_[0], (void *)flow_[1]}) cudaFree(p);
    }

    void step()
    {
        const float dt = 1800.0f;
        const int phase = step_ % kFrameSteps;
        if (phase == 0) {
            std::swap(flow_[0], flow_[1]);
            const dim3 block(64, 4), tiles((grid_.nx + 63) / 64, (grid_.ny + 3) / 4);
            forecast<<<tiles, block>>>(flow_[0], flow_[1], cells_, grid_, 0.03f);
        }
        const float frac = phase / static_cast<float>(kFrameSteps);
        if (step_ & 1)
            advect<Linear><<<blocks(count_), 256>>>(drifters_, count_, flow_[0], flow_[1], grid_, frac, dt);
        else
            advect<Smooth><<<blocks(count_), 256>>>(drifters_, count_, flow_[0], flow_[1], grid_, frac, dt);
        diffuse_and_beach<<<1584, 256>>>(drifters_, count_, cells_, origins_, grid_, step_, dt);
        sample_tracers<<<blocks(count_), 256>>>(drifters_, count_, flow_[0], grid_);
        density_map<<<blocks(count_), 256>>>(drifters_, count_, cells_);
        fold_density<<<blocks(grid_.nx * grid_.ny), 256>>>(cells_, grid_.nx * grid_.ny);
        ++step_;
    }

    double checksum()
    {
        double s = 0.0;
        std::vector<SurfaceCell> cells(grid_.nx * grid_.ny);
        std::vector<FlowNode> flow(nodes_);
        OCEAN_CUDA(cudaMemcpy(host_.data(), drifters_, host_.size() * sizeof(Drifter), cudaMemcpyDeviceToHost));
        OCEAN_CUDA(cudaMemcpy(cells.data(), cells_, cells.size() * sizeof(SurfaceCell), cudaMemcpyDeviceToHost));
        OCEAN_CUDA(cudaMemcpy(flow.data(), flow_[1], flow.size() * sizeof(FlowNode), cudaMemcpyDeviceToHost));
        for (int i = 0; i < count_; ++i) {
            const Drifter &d = host_[i];
            s += (1 + i % 4) * (d.lon + 2.0 * d.lat + 0.1 * d.depth) + std::fabs(d.u) + std::fabs(d.v) + d.temperature + d.salinity + d.age_days + 0.1 * d.travelled_km + 1e-5 * d.home_cell + 5.0 * d.beached + d.kind + d.biofouling + 0.1 * d.heat_stress;
        }
        for (size_t i = 0; i < cells.size(); ++i) s += 1e-2 * (1 + i % 4) * cells[i].visits + cells[i].roughness + 1e-3 * cells[i].bathymetry + cells[i].region;
        for (size_t i = 0; i < flow.size(); ++i) s += 0.1 * (1 + i % 3) * flow[i].u + 0.2 * flow[i].v + 10.0 * flow[i].w + 0.01 * flow[i].temperature + 0.01 * flow[i].salinity;
        return s;
    }

private:
    static constexpr int kOrigins = 40;
    static constexpr int kFrameSteps = 6;
    static int blocks(int items) { return (items + 255) / 256; }

    template <typename T>
    static T *to_device(const std::vector<T> &v)
    {
        T *p = nullptr;
        OCEAN_CUDA(cudaMalloc(&p, v.size() * sizeof(T)));
        OCEAN_CUDA(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
        return p;
    }
    int count_, step_ = 0;
    size_t nodes_ = 0;
    Grid grid_;
    std::vector<Drifter> host_;
    Drifter *drifters_ = nullptr;
    SurfaceCell *cells_ = nullptr;
    Origin *origins_ = nullptr;
    FlowNode *flow_[2] = {nullptr, nullptr};
};

}  // namespace ocean

int main(int argc, char **argv)
{
    const int n = argc > 1 ? std::max(1000, std::atoi(argv[1])) : 2000000;
    ocean::Simulation sim(n);
    for (int i = 0; i < 6; ++i) sim.step();
    cudaEvent_t begin, end;
    OCEAN_CUDA(cudaEventCreate(&begin));
    OCEAN_CUDA(cudaEventCreate(&end));
    OCEAN_CUDA(cudaEventRecord(begin));
    for (int i = 0; i < 72; ++i) sim.step();
    OCEAN_CUDA(cudaEventRecord(end));
    OCEAN_CUDA(cudaGetLastError());
    OCEAN_CUDA(cudaEventSynchronize(end));
    float ms = 0.0f;
    OCEAN_CUDA(cudaEventElapsedTime(&ms, begin, end));
    std::printf("check %.6e\n", sim.checksum());
    std::printf("time_ms %.5f\n", ms / 72);
    return 0;
}
