// Shading of a photovoltaic park on hilly terrain.  The height map is a 2D grid of
// cells; for every sun position the shadows are cast by marching over the grid, the
// irradiance is computed per cell, and the panels gather it from the cells below them.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

static void must(cudaError_t e, int line)
{
    if (e != cudaSuccess) {
        fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(e));
        exit(1);
    }
}
#define MUST(e) must((e), __LINE__)

template <class T>
struct DeviceArray {
    T *p = nullptr;
    size_t n;
    explicit DeviceArray(size_t count) : n(count)
    {
        MUST(cudaMalloc(reinterpret_cast<void **>(&p), n * sizeof(T)));
        MUST(cudaMemset(p, 0, n * sizeof(T)));
    }
    ~DeviceArray() { cudaFree(p); }
    DeviceArray(const DeviceArray &) = delete;
    DeviceArray &operator=(const DeviceArray &) = delete;
    void put(const std::vector<T> &v) { MUST(cudaMemcpy(p, v.data(), n * sizeof(T), cudaMemcpyHostToDevice)); }
    void get(std::vector<T> &v) const
    {
        v.resize(n);
        MUST(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
    }
};

struct Cell {
    float height, albedo;
    float3 normal;
    float skyView;    // fraction of the sky that is visible
    float sunlit;     // 1 lit, 0 in shadow
    float irradiance; // W/m2
    float dose;       // Wh/m2 so far
    int cover;
};

struct Panel {
    float3 centre, normal;
    float2 size;
    float soiling, temperature;
    float power, energy; // W, Wh
    int shadedHours, string;
};

struct Sun {
    float3 dir;       // towards the sun
    float2 march;     // grid steps
    float rise;       // metres per grid step
    float beam, diffuse, air;
};

struct Scene {
    Cell *cells;
    Panel *panels;
    int *stringLimit; // mW, weakest panel of every string
    int nx, ny, nPanels, nStrings;
    float spacing, top;
};

__global__ void terrainNormals(Scene s)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= s.nx || y >= s.ny) return;
    int xl = max(x - 1, 0), xr = min(x + 1, s.nx - 1), yl = max(y - 1, 0), yr = min(y + 1, s.ny - 1);
    float gx = (s.cells[y * s.nx + xr].height - s.cells[y * s.nx + xl].height) / ((float)(xr - xl) * s.spacing);
    float gy = (s.cells[yr * s.nx + x].height - s.cells[yl * s.nx + x].height) / ((float)(yr - yl) * s.spacing);
    float inv = rsqrtf(gx * gx + gy * gy + 1.0f);
    s.cells[y * s.nx + x].normal = make_float3(-gx * inv, -gy * inv, inv);
}

// Highest elevation angle (as a tangent) seen in one direction within a few cells.
__device__ float horizonTangent(const Scene &s, int x, int y, int dx, int dy)
{
    float h = s.cells[y * s.nx + x].height, best = 0.0f;
    for (int k = 1; k <= 6; ++k) {
        int cx = x + dx * k, cy = y + dy * k;
        if (cx < 0 || cy < 0 || cx >= s.nx || cy >= s.ny) break;
        best = fmaxf(best, (s.cells[cy * s.nx + cx].height - h) / (s.spacing * (float)k));
    }
    return best;
}

__global__ void skyViewFactor(Scene s)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= s.nx || y >= s.ny) return;
    const int dx[4] = {1, -1, 0, 0}, dy[4] = {0, 0, 1, -1};
    float open = 0.0f;
    for (int d = 0; d < 4; ++d) {
        float t = horizonTangent(s, x, y, dx[d], dy[d]);
        open += 1.0f / (1.0f + t * t);
    }
    s.cells[y * s.nx + x].skyView = 0.25f * open;
}

__global__ void castShadows(Scene s, Sun sun)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= s.nx || y >= s.ny) return;
    Cell &me = s.cells[y * s.nx + x];
    float ray = me.height + 0.05f;
    float fx = (float)x + 0.5f, fy = (float)y + 0.5f;
    float lit = 1.0f;
    while (lit > 0.0f) {
        fx += sun.march.x;
        fy += sun.march.y;
        ray += sun.rise;
        if (ray > s.top) break;
        int cx = (int)floorf(fx), cy = (int)floorf(fy);
        if (cx < 0 || cy < 0 || cx >= s.nx || cy >= s.ny) break;
        if (s.cells[cy * s.nx + cx].height > ray) lit = 0.0f;
    }
    me.sunlit = lit;
}

__global__ void irradiate(Scene s, Sun sun, float hours)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= s.nx || y >= s.ny) return;
    Cell &c = s.cells[y * s.nx + x];
    float incidence = fmaxf(0.0f, c.normal.x * sun.dir.x + c.normal.y * sun.dir.y + c.normal.z * sun.dir.z);
    float reflected = (1.0f - c.skyView) * c.albedo * (sun.beam * 0.3f + sun.diffuse);
    c.irradiance = c.sunlit * sun.beam * incidence + c.skyView * sun.diffuse + reflected;
    c.dose += c.irradiance * hours;
}

__global__ void resetStrings(Scene s)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < s.nStrings) s.stringLimit[k] = 2000000000;
}

__global__ void panelPower(Scene s, Sun sun)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= s.nPanels) return;
    Panel &p = s.panels[i];
    int cx = min(s.nx - 2, (int)(p.centre.x / s.spacing)), cy = min(s.ny - 2, (int)(p.centre.y / s.spacing));
    float lit = 0.0f, diffuse = 0.0f;
    for (int k = 0; k < 4; ++k) {
        const Cell &c = s.cells[(cy + (k >> 1)) * s.nx + cx + (k & 1)];
        lit += 0.25f * c.sunlit;
        diffuse += 0.25f * (c.skyView * sun.diffuse + c.albedo * 0.2f * c.irradiance);
    }
    float incidence = fmaxf(0.0f, p.normal.x * sun.dir.x + p.normal.y * sun.dir.y + p.normal.z * sun.dir.z);
    float g = lit * sun.beam * incidence + diffuse;
    p.temperature += 0.4f * (sun.air + 0.03f * g - p.temperature);
    float efficiency = 0.21f * (1.0f - 0.0038f * (p.temperature - 25.0f));
    p.power = g * p.size.x * p.size.y * efficiency * (1.0f - p.soiling);
    if (lit < 0.5f) p.shadedHours += 1;
    atomicMin(&s.stringLimit[p.string], (int)(p.power * 1000.0f));
}

__global__ void harvest(Scene s, float hours)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= s.nPanels) return;
    Panel &p = s.panels[i];
    float limit = 0.001f * (float)s.stringLimit[p.string];
    p.energy += hours * fminf(p.power, 1.15f * limit);
    p.soiling = fminf(0.2f, p.soiling + 0.0005f * hours);
}

int main()
{
    Scene s{};
    s.nx = 1536;
    s.ny = 1280;
    s.nPanels = 80000;
    s.nStrings = s.nPanels / 20;
    s.spacing = 2.0f;
    std::vector<Cell> cells((size_t)s.nx * s.ny);
    std::vector<Panel> panels(s.nPanels);
    uint32_t seed = 606;
    auto rnd = [&seed]() { seed = seed * 1664525u + 1013904223u; return (float)(seed >> 8) / 16777216.0f; };
    for (int y = 0; y < s.ny; ++y)
        for (int x = 0; x < s.nx; ++x) {
            Cell c{};
            float fx = (float)x, fy = (float)y;
            c.height = 40.0f + 14.0f * sinf(fx * 0.013f) * cosf(fy * 0.017f) + 6.0f * sinf(0.05f * fx + 0.031f * fy) + 0.3f * rnd();
            float u = rnd();
            c.cover = u < 0.01f ? 2 : (u < 0.3f ? 1 : 0);
            if (c.cover == 2) c.height += 3.0f + 6.0f * rnd(); // a tree
            c.albedo = c.cover == 0 ? 0.22f : 0.15f;
            if (c.height > s.top) s.top = c.height;
            cells[(size_t)y * s.nx + x] = c;
        }
    for (int i = 0; i < s.nPanels; ++i) {
        Panel p{};
        int row = i / 400, col = i % 400;
        p.centre = make_float3(40.0f + 7.3f * (float)col + rnd(), 40.0f + 12.1f * (float)row + rnd(), 0.0f);
        float tilt = 0.35f + 0.2f * rnd();
        p.normal = make_float3(0.0f, -sinf(tilt), cosf(tilt));
        p.size = make_float2(1.1f, 1.9f);
        p.soiling = 0.05f * rnd();
        p.temperature = 12.0f;
        p.string = i / 20;
        panels[i] = p;
    }

    DeviceArray<Cell> dCells(cells.size());
    DeviceArray<Panel> dPanels(panels.size());
    DeviceArray<int> dStrings((size_t)s.nStrings);
    dCells.put(cells);
    dPanels.put(panels);
    s.cells = dCells.p, s.panels = dPanels.p, s.stringLimit = dStrings.p;

    const dim3 tb(32, 8), tg((s.nx + 31) / 32, (s.ny + 7) / 8);
    const int pb = 128, pg = (s.nPanels + pb - 1) / pb, reps = 14;
    const float hours = 0.5f;
    auto halfHour = [&](int k) {
        float az = -1.55f + 3.07f * (float)k / (float)reps, el = 0.12f + 0.75f * cosf(0.9f * az);
        Sun sun{};
        sun.dir = make_float3(sinf(az) * cosf(el), -cosf(az) * cosf(el), sinf(el));
        sun.march = make_float2(sinf(az), -cosf(az));
        sun.rise = s.spacing * tanf(el);
        sun.beam = 850.0f * powf(0.7f, powf(1.0f / sinf(el), 0.678f)) / 0.7f;
        sun.diffuse = 60.0f + 60.0f * sinf(el);
        sun.air = 14.0f + 9.0f * sinf(el);
        terrainNormals<<<tg, tb>>>(s);
        skyViewFactor<<<tg, tb>>>(s);
        castShadows<<<tg, tb>>>(s, sun);
        irradiate<<<tg, tb>>>(s, sun, hours);
        resetStrings<<<(s.nStrings + pb - 1) / pb, pb>>>(s);
        panelPower<<<pg, pb>>>(s, sun);
        harvest<<<pg, pb>>>(s, hours);
    };
    halfHour(0);
    cudaEvent_t t0, t1;
    MUST(cudaEventCreate(&t0));
    MUST(cudaEventCreate(&t1));
    MUST(cudaEventRecord(t0));
    for (int k = 1; k <= reps; ++k) halfHour(k);
    MUST(cudaEventRecord(t1));
    MUST(cudaEventSynchronize(t1));
    MUST(cudaGetLastError());
    float ms = 0.0f;
    MUST(cudaEventElapsedTime(&ms, t0, t1));
    dCells.get(cells);
    dPanels.get(panels);
    double dose = 0, sky = 0, energy = 0, shaded = 0;
    for (const Cell &c : cells) { dose += c.dose; sky += c.skyView; }
    for (const Panel &p : panels) { energy += p.energy; shaded += p.shadedHours; }
    printf("check %.1f/%.4f/%.1f/%.3f\n", dose / (double)cells.size(), sky / (double)cells.size(), energy / s.nPanels, shaded / s.nPanels);
    printf("time_ms %.4f\n", ms / reps);
    return 0;
}
