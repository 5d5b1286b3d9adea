// cloud_radiance.cu
// Monte Carlo short-wave radiative transfer through a stratified, broken cloud field.
// Photon packets stay alive between steps: in each step a packet makes up to MAX_EVENTS cell crossings
// or scatterings; absorbed energy is tallied in fixed point, heats the cells and changes the cloud.
// All arrays are in unified memory.

#include <cuda_runtime.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <random>
#include <vector>

#define CK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { \
    fprintf(stderr, "CUDA error '%s' at line %d\n", cudaGetErrorString(e), __LINE__); exit(1); } } while (0)

const int   NZ = 40;              // layers
const float CELL = 50.0f;         // metres, all three directions
const int   MAX_EVENTS = 16;
const float ENERGY_SCALE = 65536.0f;
const float FAR_AWAY = 1.0e30f;

enum PacketStatus : uint8_t { DEAD = 0, IN_FLIGHT = 1, ESCAPED_TOP = 2, ABSORBED = 3 };

struct CloudCell {
    float    extinction;          // 1/m, cloud droplets at the reference band
    float    ssa;                 // single scattering albedo
    float    asym;                // Henyey-Greenstein g
    float    temperature;         // K
    float    liquidWater;         // g/m3
    float    effRadius;           // um
    uint32_t depositQ;            // absorbed energy in the present step, fixed point
    uint16_t hits;
    uint8_t  phase;               // 0 clear, 1 liquid, 2 ice
    uint8_t  evaporated;

    __host__ __device__ void refreshOptics() {
        // geometric-optics limit: beta = 3 LWC / (2 rho r_e)
        extinction = effRadius > 0.5f ? 1.5f * liquidWater / effRadius : 0.0f;
        ssa = phase == 2 ? 0.985f : 0.9975f - 0.0004f * effRadius;
        asym = phase == 2 ? 0.76f : 0.82f + 0.002f * effRadius;
    }
};

struct Photon {
    double   path;                // metres since entry
    float    fx, fy, fz;          // position within the cell
    float    ux, uy, uz;
    float    weight;
    float    tauLeft;             // optical depth to the next collision
    uint32_t rng;
    uint32_t generation;
    uint16_t ix, iy;
    uint16_t scatterings;
    uint8_t  iz;
    uint8_t  status;
    uint8_t  band;
};

struct Column {
    unsigned long long upQ, downQ;
    double   heating;
    float    surfaceAlbedo;
    float    opticalDepth;
    float    cloudTop;
    uint32_t escapes;
    uint16_t surface;             // land-use class
    uint8_t  cloudyLayers;
    uint8_t  sunlit;
};

struct Domain {                   // passed by value
    int   nx, ny;
    float sunX, sunY, sunZ;
    __host__ __device__ size_t columns() const { return size_t(nx) * ny; }
    __host__ __device__ size_t cell(int ix, int iy, int iz) const {
        return (size_t(iy) * nx + ix) * NZ + iz;
    }
};

__constant__ float bandGas[4]   = {2.0e-6f, 1.1e-5f, 4.0e-5f, 1.6e-4f};
__constant__ float bandScale[4] = {1.00f, 0.98f, 0.94f, 0.86f};

__host__ __device__ inline uint32_t scramble(uint32_t v) {
    v ^= v >> 17; v *= 0xed5ad4bbu; v ^= v >> 11; v *= 0xac4c1b51u; v ^= v >> 15;
    return v;
}

__device__ inline float uniform(uint32_t &state) {           // in (0, 1)
    state = state * 1664525u + 1013904223u;
    return ((state >> 8) + 0.5f) * (1.0f / 16777216.0f);
}

__global__ void injectPackets(Photon *photons, int n, Domain dom) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Photon &p = photons[i];
    if (p.status == IN_FLIGHT) return;
    p.generation += 1;
    p.rng = scramble(uint32_t(i) ^ scramble(p.generation * 0x9e3779b9u));
    p.ix = uint16_t(uniform(p.rng) * dom.nx);
    p.iy = uint16_t(uniform(p.rng) * dom.ny);
    if (p.ix >= dom.nx) p.ix = uint16_t(dom.nx - 1);
    if (p.iy >= dom.ny) p.iy = uint16_t(dom.ny - 1);
    p.iz = NZ - 1;
    p.fx = uniform(p.rng) * CELL;
    p.fy = uniform(p.rng) * CELL;
    p.fz = CELL;
    p.ux = dom.sunX;
    p.uy = dom.sunY;
    p.uz = -dom.sunZ;
    p.weight = 1.0f;
    p.tauLeft = -logf(uniform(p.rng));
    p.path = 0.0;
    p.scatterings = 0;
    p.band = uint8_t(p.rng >> 30);
    p.status = IN_FLIGHT;
}

__device__ void scatterHG(Photon &p, float g) {
    float r = uniform(p.rng);
    float t = (1.0f - g * g) / (1.0f - g + 2.0f * g * r);
    float c = fminf(1.0f, fmaxf(-1.0f, (1.0f + g * g - t * t) / (2.0f * g)));
    float s = sqrtf(1.0f - c * c), phi = 6.2831853f * uniform(p.rng);
    float sp = s * sinf(phi), cp = s * cosf(phi);
    float h = sqrtf(fmaxf(0.0f, 1.0f - p.uz * p.uz));
    float vx, vy, vz;
    if (h > 1.0e-4f) {
        vx = (p.ux * p.uz * cp - p.uy * sp) / h + p.ux * c;
        vy = (p.uy * p.uz * cp + p.ux * sp) / h + p.uy * c;
        vz = -h * cp + p.uz * c;
    } else {
        vx = cp; vy = sp; vz = p.uz > 0.0f ? c : -c;
    }
    float inv = rsqrtf(vx * vx + vy * vy + vz * vz);
    p.ux = vx * inv; p.uy = vy * inv; p.uz = vz * inv;
}

__device__ inline float toWall(float f, float u) {
    if (u > 1.0e-7f) return (CELL - f) / u;
    if (u < -1.0e-7f) return -f / u;
    return FAR_AWAY;
}

__global__ void tracePackets(Photon *photons, int n, CloudCell *cells, Column *columns, Domain dom) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Photon p = photons[i];
    for (int event = 0; event < MAX_EVENTS && p.status == IN_FLIGHT; ++event) {
        CloudCell *cell = &cells[dom.cell(p.ix, p.iy, p.iz)];
        float ext = cell->extinction * bandScale[p.band], gas = bandGas[p.band];
        float k = ext + gas;
        float dx = toWall(p.fx, p.ux), dy = toWall(p.fy, p.uy), dz = toWall(p.fz, p.uz);
        float d = fmaxf(0.0f, fminf(dx, fminf(dy, dz)));
        if (k * d >= p.tauLeft) {                              // collision inside this cell
            d = p.tauLeft / k;
            p.fx = fminf(CELL, fmaxf(0.0f, p.fx + p.ux * d));
            p.fy = fminf(CELL, fmaxf(0.0f, p.fy + p.uy * d));
            p.fz = fminf(CELL, fmaxf(0.0f, p.fz + p.uz * d));
            p.path += d;
            float keep = ext * cell->ssa / k;
            atomicAdd(&cell->depositQ, uint32_t(p.weight * (1.0f - keep) * ENERGY_SCALE));
            p.weight *= keep;
            p.scatterings++;
            if (p.weight < 0.05f) {                            // Russian roulette
                if (uniform(p.rng) < 0.5f) { p.status = ABSORBED; break; }
                p.weight *= 2.0f;
            }
            scatterHG(p, cell->asym > 0.1f ? cell->asym : 0.1f);
            p.tauLeft = -logf(uniform(p.rng));
            continue;
        }
        p.tauLeft -= k * d;
        p.path += d;
        p.fx = fminf(CELL, fmaxf(0.0f, p.fx + p.ux * d));
        p.fy = fminf(CELL, fmaxf(0.0f, p.fy + p.uy * d));
        p.fz = fminf(CELL, fmaxf(0.0f, p.fz + p.uz * d));
        if (dz <= dx && dz <= dy) {
            if (p.uz > 0.0f) {
                if (p.iz == NZ - 1) {
                    Column &top = columns[size_t(p.iy) * dom.nx + p.ix];
                    atomicAdd(&top.upQ, (unsigned long long)(p.weight * ENERGY_SCALE));
                    atomicAdd(&top.escapes, 1u);
                    p.status = ESCAPED_TOP;
                } else { p.iz++; p.fz = 0.0f; }
            } else if (p.iz > 0) {
                p.iz--; p.fz = CELL;
            } else {                                           // Lambertian ground
                Column &foot = columns[size_t(p.iy) * dom.nx + p.ix];
                float taken = p.weight * (1.0f - foot.surfaceAlbedo);
                atomicAdd(&foot.downQ, (unsigned long long)(taken * ENERGY_SCALE));
                p.weight -= taken;
                if (p.weight < 0.05f) p.status = ABSORBED;
                float mu = sqrtf(uniform(p.rng)), phi = 6.2831853f * uniform(p.rng);
                float s = sqrtf(1.0f - mu * mu);
                p.ux = s * cosf(phi); p.uy = s * sinf(phi); p.uz = mu;
                p.fz = 0.0f;
            }
        } else if (dx <= dy) {                                 // periodic sides
            if (p.ux > 0.0f) { p.ix = uint16_t(p.ix + 1 == dom.nx ? 0 : p.ix + 1); p.fx = 0.0f; }
            else             { p.ix = uint16_t(p.ix == 0 ? dom.nx - 1 : p.ix - 1); p.fx = CELL; }
        } else {
            if (p.uy > 0.0f) { p.iy = uint16_t(p.iy + 1 == dom.ny ? 0 : p.iy + 1); p.fy = 0.0f; }
            else             { p.iy = uint16_t(p.iy == 0 ? dom.ny - 1 : p.iy - 1); p.fy = CELL; }
        }
    }
    photons[i] = p;
}

__global__ void updateCells(CloudCell *cells, size_t nCells) {
    size_t c = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (c >= nCells) return;
    CloudCell &cell = cells[c];
    uint32_t q = cell.depositQ;
    if (q != 0) {
        cell.temperature += 0.004f * (q / ENERGY_SCALE);
        cell.hits = uint16_t(cell.hits < 65535 ? cell.hits + 1 : 65535);
        cell.depositQ = 0;
    }
    if (cell.phase == 0) return;
    cell.temperature -= 0.0004f;                               // long-wave cooling of the droplets
    float lost = 0.0015f * cell.liquidWater * (q / ENERGY_SCALE);
    cell.liquidWater -= lost;
    if (cell.liquidWater < 0.01f) {
        cell.phase = 0;
        cell.liquidWater = 0.0f;
        cell.evaporated = 1;
    } else if (cell.phase == 1 && cell.temperature < 258.0f) {
        cell.phase = 2;
        cell.effRadius *= 2.5f;
    }
    cell.refreshOptics();
}

__global__ void integrateColumns(const CloudCell *cells, Column *columns, Domain dom) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= int(dom.columns())) return;
    const CloudCell *stack = cells + size_t(c) * NZ;
    float tau = 0.0f, top = 0.0f;
    int cloudy = 0;
    bool lit = true;
    for (int z = NZ - 1; z >= 0; --z) {
        if (stack[z].phase == 0) continue;
        if (cloudy++ == 0) top = (z + 1) * CELL;
        tau += stack[z].extinction * CELL;
        if (tau > 25.0f) { lit = false; break; }               // opaque: the rest does not matter
    }
    columns[c].opticalDepth = tau;
    columns[c].cloudTop = top;
    columns[c].cloudyLayers = uint8_t(cloudy);
    columns[c].sunlit = lit;
    columns[c].heating += 1.0e-3 * exp(-double(tau)) * dom.sunZ;
}

template <class T> T *managed(size_t count) {
    T *p = nullptr;
    CK(cudaMallocManaged(&p, count * sizeof(T)));
    return p;
}

static void buildAtmosphere(CloudCell *cells, Column *columns, const Domain &dom) {
    std::mt19937 gen(20240611u);
    std::vector<float> bumps(64);
    for (float &b : bumps) b = float(gen() % 1000u) / 1000.0f;
    for (int y = 0; y < dom.ny; ++y)
        for (int x = 0; x < dom.nx; ++x) {
            Column &col = columns[size_t(y) * dom.nx + x];
            col = Column{};
            col.surface = uint16_t(bumps[(x / 16 + 5 * (y / 16)) & 63] * 4.0f);
            col.surfaceAlbedo = 0.06f + 0.09f * col.surface;
            col.sunlit = 1;
            float cover = bumps[(x / 6 + 11 * (y / 6)) & 63];
            int base = 10 + int(6 * bumps[(x / 20) & 63]), depth = cover > 0.35f ? int(4 + 14 * cover) : 0;
            for (int z = 0; z < NZ; ++z) {
                CloudCell &cell = cells[dom.cell(x, y, z)];
                cell = CloudCell{};
                cell.temperature = 288.0f - 0.0065f * CELL * z * 2.2f;
                bool inCloud = z >= base && z < base + depth;
                if (inCloud || (z >= 34 && z < 37 && cover < 0.7f)) {
                    cell.phase = z >= 34 ? 2 : 1;
                    cell.liquidWater = z >= 34 ? 0.03f : 0.08f + 0.02f * (z - base);
                    cell.effRadius = z >= 34 ? 30.0f : 6.0f + 0.4f * (z - base) + float(gen() & 255u) / 256.0f;
                }
                cell.refreshOptics();
            }
        }
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 5000000;
    if (n < 1 || n > 40000000) { fprintf(stderr, "bad number of photon packets\n"); return 1; }
    int side = int(sqrt(n / 70.0));
    side = side < 8 ? 8 : side > 512 ? 512 : side;
    Domain dom = {side, side, 0.48f, 0.36f, 0.8f};

    Photon    *photons = managed<Photon>(n);
    CloudCell *cells   = managed<CloudCell>(dom.columns() * NZ);
    Column    *columns = managed<Column>(dom.columns());
    buildAtmosphere(cells, columns, dom);
    CK(cudaMemset(photons, 0, size_t(n) * sizeof(Photon)));

    const int block = 128, warmup = 2, steps = 24;
    const size_t nCells = dom.columns() * NZ;
    cudaEvent_t t0, t1;
    CK(cudaEventCreate(&t0));
    CK(cudaEventCreate(&t1));
    for (int s = 0; s < warmup + steps; ++s) {
        if (s == warmup) CK(cudaEventRecord(t0));
        injectPackets<<<(n + block - 1) / block, block>>>(photons, n, dom);
        tracePackets<<<(n + block - 1) / block, block>>>(photons, n, cells, columns, dom);
        updateCells<<<unsigned((nCells + block - 1) / block), block>>>(cells, nCells);
        integrateColumns<<<unsigned((dom.columns() + block - 1) / block), block>>>(cells, columns, dom);
        CK(cudaGetLastError());
    }
    CK(cudaEventRecord(t1));
    CK(cudaDeviceSynchronize());
    float ms = 0.0f;
    CK(cudaEventElapsedTime(&ms, t0, t1));

    double sum = 0.0, paths = 0.0;
    for (size_t c = 0; c < dom.columns(); ++c)
        sum += (double(columns[c].upQ) + double(columns[c].downQ)) / ENERGY_SCALE + columns[c].escapes +
               columns[c].opticalDepth + 1e-3 * columns[c].cloudTop + columns[c].heating + columns[c].cloudyLayers;
    for (size_t c = 0; c < nCells; ++c) sum += 1e-2 * (cells[c].temperature - 273.0) + cells[c].liquidWater + 0.1 * cells[c].hits;
    for (int i = 0; i < n; ++i) paths += photons[i].path * 1e-3 + photons[i].scatterings + photons[i].generation;
    printf("check %.6g\n", sum + paths);
    printf("time_ms %.5f\n", ms / steps);
    CK(cudaFree(photons));
    CK(cudaFree(cells));
    CK(cudaFree(columns));
    return 0;
}
