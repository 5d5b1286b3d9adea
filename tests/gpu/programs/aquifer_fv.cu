// Transient groundwater flow, cell-centred finite volumes on an unstructured mesh.
// Explicit time stepping with two state buffers that are swapped every step.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>
#include <cuda_runtime.h>

namespace mesh {

struct Point { float x, y, z; };

struct Cell {
    Point centre;
    float volume;
    float storage;
    float K[3];             // conductivity along x, y, z
    float top;
    float recharge;
    int faceBegin;
    unsigned short faceCount;
    unsigned char zone;
    bool fixedHead;
};

struct Face {
    int left, right;
    float area;
    float distance;
    Point normal;
    float transmissibility;
    double flux;            // left -> right
};

struct Well {
    char name[12];
    int cell;
    int scheduleBegin, scheduleCount;
    float radius;
    double pumped;
};

struct SchedulePoint { float time, rate; };
struct State { double head; float residual, saturation; };

}  // namespace mesh

namespace gpu {

using namespace mesh;

// Everything that lives on the device.
struct Model {
    Cell* cells;
    Face* faces;
    int* cellFaces;
    Well* wells;
    SchedulePoint* schedule;
    State* now;
    State* next;
    int* maxResidual;       // bits of a non-negative float
    int nCells, nFaces, nWells;
};

__device__ inline float directionalK(const Cell& c, const Point& n) {
    return c.K[0] * n.x * n.x + c.K[1] * n.y * n.y + c.K[2] * n.z * n.z;
}

// Unconfined flow: conductivity is scaled by saturation, so this runs every step.
__global__ void faceCoefficients(Model m) {
    int f = blockIdx.x * blockDim.x + threadIdx.x;
    if (f >= m.nFaces) return;
    Face& face = m.faces[f];
    float kl = directionalK(m.cells[face.left], face.normal) * m.now[face.left].saturation;
    float kr = directionalK(m.cells[face.right], face.normal) * m.now[face.right].saturation;
    float harmonic = 2.0f * kl * kr / (kl + kr + 1e-20f);
    face.transmissibility = harmonic * face.area / face.distance;
}

__global__ void faceFluxes(Model m) {
    for (int f = blockIdx.x * blockDim.x + threadIdx.x; f < m.nFaces; f += gridDim.x * blockDim.x)
        m.faces[f].flux = m.faces[f].transmissibility * (m.now[m.faces[f].left].head - m.now[m.faces[f].right].head);
}

__global__ void updateCells(Model m, double dt) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    float res = 0.0f;
    if (c < m.nCells) {
        const Cell& cell = m.cells[c];
        const double h = m.now[c].head;
        double in = cell.recharge;
        for (int k = 0; k < cell.faceCount; ++k) {
            int f = m.cellFaces[cell.faceBegin + k];
            in += m.faces[f].left == c ? -m.faces[f].flux : m.faces[f].flux;
        }
        double hNew = cell.fixedHead ? h : h + dt * in / ((double)cell.storage * cell.volume);
        res = (float)fabs(hNew - h);
        float depth = (float)(hNew - (cell.top - 10.0f)) * 0.1f;
        m.next[c].head = hNew;
        m.next[c].residual = res;
        m.next[c].saturation = fminf(fmaxf(depth, 0.2f), 1.0f);
    }
    for (int o = 16; o > 0; o >>= 1) res = fmaxf(res, __shfl_xor_sync(0xffffffffu, res, o));
    if ((threadIdx.x & 31) == 0) atomicMax(m.maxResidual, __float_as_int(res));
}

// Each well is in a cell of its own.
__global__ void applyWells(Model m, float time, float dt) {
    int w = blockIdx.x * blockDim.x + threadIdx.x;
    if (w >= m.nWells) return;
    Well& well = m.wells[w];
    const SchedulePoint* s = m.schedule + well.scheduleBegin;
    int lo = 0, hi = well.scheduleCount - 1;
    while (lo < hi) {       // last point with time <= now
        int mid = (lo + hi + 1) / 2;
        if (s[mid].time <= time) lo = mid; else hi = mid - 1;
    }
    float rate = s[lo].rate;
    if (lo + 1 < well.scheduleCount) {
        float u = (time - s[lo].time) / (s[lo + 1].time - s[lo].time);
        rate += u * (s[lo + 1].rate - s[lo].rate);
    }
    const Cell& cell = m.cells[well.cell];
    m.next[well.cell].head -= (double)rate * dt / ((double)cell.storage * cell.volume);
    well.pumped += (double)rate * dt;
}

// Water volume per zone, one block per zone, fixed summation order.
__global__ void zoneStorage(Model m, double* out, int stride) {
    __shared__ double s[256];
    double v = 0.0;
    for (int c = threadIdx.x + blockIdx.y * blockDim.x; c < m.nCells; c += blockDim.x * stride)
        if (m.cells[c].zone == blockIdx.x) v += m.next[c].head * m.cells[c].storage * m.cells[c].volume;
    s[threadIdx.x] = v;
    for (int o = 128; o > 0; o >>= 1) {
        __syncthreads();
        if (threadIdx.x < o) s[threadIdx.x] += s[threadIdx.x + o];
    }
    if (threadIdx.x == 0) out[blockIdx.x * stride + blockIdx.y] = s[0];
}

void check(cudaError_t e) {
    if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

template <typename T>
T* upload(const std::vector<T>& v) {
    void* p = nullptr;
    check(cudaMalloc(&p, v.size() * sizeof(T)));
    check(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
    return static_cast<T*>(p);
}

}  // namespace gpu

using namespace mesh;

struct HostMesh { std::vector<Cell> cells; std::vector<Face> faces; std::vector<int> cellFaces; };

// Perturbed hexahedra, renumbered at random inside windows, plus some oblique connections.
static HostMesh buildMesh(int nx, int ny, int nz, std::mt19937& gen) {
    auto uni = [&] { return (gen() >> 8) / 16777216.0f; };
    HostMesh m;
    const int n = nx * ny * nz, window = 512;
    std::vector<int> number(n);
    std::iota(number.begin(), number.end(), 0);
    for (int i = 0; i < n; ++i) std::swap(number[i], number[std::min(n - 1, i + (int)(gen() % window))]);
    m.cells.resize(n);
    auto at = [&](int x, int y, int z) { return number[(z * ny + y) * nx + x]; };
    for (int z = 0; z < nz; ++z)
        for (int y = 0; y < ny; ++y)
            for (int x = 0; x < nx; ++x) {
                Cell& c = m.cells[at(x, y, z)];
                std::memset(&c, 0, sizeof c);
                c.centre = {10.0f * x + 2 * uni(), 10.0f * y + 2 * uni(), 10.0f * z + 2 * uni()};
                c.volume = 800.0f + 400.0f * uni();
                c.storage = 0.06f + 0.1f * uni();
                c.zone = (unsigned char)((x * 2 / nx) + 2 * (y * 2 / ny));
                float k = (c.zone == 2 ? 2.0f : 6.0f) * (0.5f + uni());
                c.K[0] = k; c.K[1] = k; c.K[2] = 0.1f * k;
                c.top = 10.0f * nz - 5.0f * uni();
                c.recharge = z == nz - 1 ? 0.4f * uni() : 0.0f;
                c.fixedHead = x == 0 || x == nx - 1;
            }
    auto connect = [&](int a, int b, float area) {
        Face f;
        std::memset(&f, 0, sizeof f);
        f.left = a; f.right = b;
        f.area = area;
        const Point &p = m.cells[a].centre, &q = m.cells[b].centre;
        float dx = q.x - p.x, dy = q.y - p.y, dz = q.z - p.z;
        f.distance = std::sqrt(dx * dx + dy * dy + dz * dz);
        f.normal = {dx / f.distance, dy / f.distance, dz / f.distance};
        m.faces.push_back(f);
    };
    for (int z = 0; z < nz; ++z)
        for (int y = 0; y < ny; ++y)
            for (int x = 0; x < nx; ++x) {
                if (x + 1 < nx) connect(at(x, y, z), at(x + 1, y, z), 90.0f + 20.0f * uni());
                if (y + 1 < ny) connect(at(x, y, z), at(x, y + 1, z), 90.0f + 20.0f * uni());
                if (z + 1 < nz) connect(at(x, y, z), at(x, y, z + 1), 90.0f + 20.0f * uni());
                if (x + 1 < nx && y + 1 < ny && gen() % 10 == 0) connect(at(x + 1, y + 1, z), at(x, y, z), 10.0f);
            }
    for (const Face& f : m.faces) { m.cells[f.left].faceCount++; m.cells[f.right].faceCount++; }
    int total = 0;
    for (Cell& c : m.cells) { c.faceBegin = total; total += c.faceCount; c.faceCount = 0; }
    m.cellFaces.resize(total);
    for (int f = 0; f < (int)m.faces.size(); ++f)
        for (int side : {m.faces[f].left, m.faces[f].right})
            m.cellFaces[m.cells[side].faceBegin + m.cells[side].faceCount++] = f;
    return m;
}

int main() try {
    constexpr int zones = 4, stride = 33, steps = 24;
#ifdef SMALL_TEST
    constexpr int nx = 20, ny = 20, nz = 8;
#else
    constexpr int nx = 112, ny = 112, nz = 56;
#endif
    std::mt19937 gen(1234);
    HostMesh host = buildMesh(nx, ny, nz, gen);
    const int n = (int)host.cells.size();

    std::vector<State> state(n);
    for (int c = 0; c < n; ++c) {
        float x = host.cells[c].centre.x / (10.0f * nx);
        state[c] = {10.0 * nz - 4.0 * x - 3.0 + (gen() % 1000) * 0.001, 0.0f, 1.0f};
    }
    std::vector<Well> wells(300);
    std::vector<SchedulePoint> schedule;
    for (int w = 0; w < (int)wells.size(); ++w) {
        Well& k = wells[w];
        std::memset(&k, 0, sizeof k);
        std::snprintf(k.name, sizeof k.name, "W-%05d", w);
        int per = n / (int)wells.size();
        k.cell = w * per + (int)(gen() % per);
        k.radius = 0.2f;
        k.scheduleBegin = (int)schedule.size();
        k.scheduleCount = 3 + (int)(gen() % 40);
        for (int s = 0; s < k.scheduleCount; ++s) schedule.push_back({0.05f * s, 20.0f + (float)(gen() % 100)});
    }

    gpu::Model m;
    m.cells = gpu::upload(host.cells);
    m.faces = gpu::upload(host.faces);
    m.cellFaces = gpu::upload(host.cellFaces);
    m.wells = gpu::upload(wells);
    m.schedule = gpu::upload(schedule);
    m.now = gpu::upload(state);
    m.next = gpu::upload(state);
    m.maxResidual = gpu::upload(std::vector<int>(1, 0));
    m.nCells = n; m.nFaces = (int)host.faces.size(); m.nWells = (int)wells.size();
    double* dZone = gpu::upload(std::vector<double>(zones * stride, 0.0));

    cudaEvent_t a, b;
    gpu::check(cudaEventCreate(&a)); gpu::check(cudaEventCreate(&b));
    const float dt = 0.02f;
    for (int s = 0; s <= steps; ++s) {
        if (s == 1) gpu::check(cudaEventRecord(a));
        gpu::check(cudaMemsetAsync(m.maxResidual, 0, sizeof(int)));
        gpu::faceCoefficients<<<(m.nFaces + 255) / 256, 256>>>(m);
        gpu::faceFluxes<<<1056, 256>>>(m);
        gpu::updateCells<<<(n + 127) / 128, 128>>>(m, dt);
        gpu::applyWells<<<(m.nWells + 63) / 64, 64>>>(m, s * dt, dt);
        gpu::zoneStorage<<<dim3(zones, stride), 256>>>(m, dZone, stride);
        std::swap(m.now, m.next);
    }
    gpu::check(cudaEventRecord(b));
    gpu::check(cudaEventSynchronize(b));
    gpu::check(cudaGetLastError());
    float ms = 0;
    gpu::check(cudaEventElapsedTime(&ms, a, b));

    std::vector<double> zone(zones * stride);
    int bits = 0;
    float residual = 0;
    gpu::check(cudaMemcpy(zone.data(), dZone, zone.size() * sizeof(double), cudaMemcpyDeviceToHost));
    gpu::check(cudaMemcpy(&bits, m.maxResidual, sizeof bits, cudaMemcpyDeviceToHost));
    gpu::check(cudaMemcpy(wells.data(), m.wells, wells.size() * sizeof(Well), cudaMemcpyDeviceToHost));
    std::memcpy(&residual, &bits, sizeof residual);
    std::array<double, zones> water{};
    for (int i = 0; i < zones * stride; ++i) water[i / stride] += zone[i];
    double pumped = 0;
    for (const Well& w : wells) pumped += w.pumped;
    for (void* p : std::initializer_list<void*>{m.cells, m.faces, m.cellFaces, m.wells, m.schedule, m.now, m.next, m.maxResidual, dZone}) cudaFree(p);
    std::printf("check %.3e/%.3e/%.3e/%.3e/%.3e/%.3e\n", water[0], water[1], water[2], water[3], pumped, residual);
    std::printf("time_ms %f\n", ms / steps);
    return 0;
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
