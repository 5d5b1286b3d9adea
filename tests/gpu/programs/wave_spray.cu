// Wind-sea spectra on a coarse grid, a phase-resolved surface patch synthesised from
// the spectrum, and spray droplets torn off breaking crests.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>
#include <random>
#include <cuda_runtime.h>

static inline void ck(cudaError_t e, int line)
{
    if (e != cudaSuccess) {
        std::fprintf(stderr, "line %d: CUDA error %s\n", line, cudaGetErrorString(e));
        std::exit(EXIT_FAILURE);
    }
}
#define CK(x) ck((x), __LINE__)
constexpr int NFREQ = 32, NDIR = 24, NBIN = NFREQ * NDIR;
constexpr int PATCHES_X = 40, PATCHES_Y = 36, NPATCH = PATCHES_X * PATCHES_Y;
constexpr int SURF = 512;
constexpr int NMODES = 256;
constexpr int NDROPS = 3000000;
constexpr float CELL = 0.5f;
constexpr float GRAV = 9.81f;
struct SpecBin {
    float e;           // variance density
    float eNext;
    float sigma;       // rad/s
    float k;           // wave number
    float cgx, cgy;    // group velocity
    float cosTheta, sinTheta;
    float source;      // last total source term
    short ifreq, idir;
};
struct WaveMode {
    float kx, ky;
    float omega;
    float amp;
    float phase;
    int bin;           // bin inside the reference patch
};
struct SurfCell {
    float eta;
    float slopeX, slopeY;
    float u, v, w;
    float foam;
    float breaking;
    int landed;        // droplets that came down in this step
    int emitted;
};
struct Droplet {
    float3 pos;
    float3 vel;
    float radius;      // micrometres
    float temperature;
    float salinity;
    float age;
    uint32_t seed;
    uint16_t bounces;
    uint8_t alive;
    uint8_t source;
};
// everything the kernels touch
struct Sea {
    SpecBin *bins;
    WaveMode *modes;
    SurfCell *cells;
    SurfCell *cellsNew;
    Droplet *drops;
    float time;
    float wind;
    float windDir;
};
__device__ __forceinline__ uint32_t pcg(uint32_t x)
{
    uint32_t s = x * 747796405u + 2891336453u;
    uint32_t w = ((s >> ((s >> 28u) + 4u)) ^ s) * 277803737u;
    return (w >> 22u) ^ w;
}
__device__ __forceinline__ float unit(uint32_t &s) { s = pcg(s); return (s >> 8) * (1.0f / 16777216.0f); }
__global__ void propagateSpectrum(Sea sea, float dt, float dx)
{
    const int total = NPATCH * NBIN;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += gridDim.x * blockDim.x) {
        int patch = i / NBIN, b = i - patch * NBIN;
        int px = patch % PATCHES_X, py = patch / PATCHES_X;
        SpecBin &s = sea.bins[i];
        int ux = s.cgx >= 0.0f ? px - 1 : px + 1;
        int uy = s.cgy >= 0.0f ? py - 1 : py + 1;
        float ex = (ux >= 0 && ux < PATCHES_X) ? sea.bins[(py * PATCHES_X + ux) * NBIN + b].e : 0.9f * s.e;
        float ey = (uy >= 0 && uy < PATCHES_Y) ? sea.bins[(uy * PATCHES_X + px) * NBIN + b].e : 0.9f * s.e;
        float cx = fabsf(s.cgx) * dt / dx, cy = fabsf(s.cgy) * dt / dx;
        s.eNext = s.e - cx * (s.e - ex) - cy * (s.e - ey);
    }
}
// one block per patch: integral parameters first, then source terms bin by bin
__global__ void sourceTerms(Sea sea, float dt)
{
    __shared__ float sE[256], sK[256];
    SpecBin *bins = sea.bins + (size_t)blockIdx.x * NBIN;
    float e = 0.0f, ek = 0.0f;
    for (int b = threadIdx.x; b < NBIN; b += 256) {
        float w = bins[b].sigma * 0.1f * (6.2831853f / NDIR);
        e += bins[b].eNext * w;
        ek += bins[b].eNext * w * bins[b].k;
    }
    sE[threadIdx.x] = e;
    sK[threadIdx.x] = ek;
    __syncthreads();
    for (int s = 128; s > 0; s >>= 1) {
        if (threadIdx.x < s) { sE[threadIdx.x] += sE[threadIdx.x + s]; sK[threadIdx.x] += sK[threadIdx.x + s]; }
        __syncthreads();
    }
    float etot = fmaxf(sE[0], 1e-8f);
    float kmean = sK[0] / etot;
    float steep = kmean * sqrtf(etot);
    float cw = cosf(sea.windDir), sw = sinf(sea.windDir);
    for (int b = threadIdx.x; b < NBIN; b += 256) {
        float align = bins[b].cosTheta * cw + bins[b].sinTheta * sw;
        float c = bins[b].sigma / bins[b].k;
        float grow = fmaxf(0.0f, 0.25f * 1.2e-3f * (28.0f * 0.035f * sea.wind / c * align - 1.0f)) * bins[b].sigma;
        float diss = 2.4e-5f * bins[b].sigma * (bins[b].k / fmaxf(kmean, 1e-4f)) * powf(steep / 0.055f, 4.0f);
        float src = (grow - diss) * bins[b].eNext;
        float limit = 0.1f * (bins[b].eNext + 1e-6f);
        float inc = fminf(fmaxf(src * dt, -limit), limit);
        bins[b].source = src;
        bins[b].e = fmaxf(bins[b].eNext + inc, 0.0f);
    }
}
__global__ void refreshModes(Sea sea, int refPatch)
{
    int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= NMODES) return;
    const SpecBin &b = sea.bins[refPatch * NBIN + sea.modes[m].bin];
    float dsigma = b.sigma * 0.1f, dtheta = 6.2831853f / NDIR;
    sea.modes[m].amp = sqrtf(2.0f * b.e * dsigma * dtheta);
    sea.modes[m].omega = b.sigma;
}
// 2D surface synthesis, modes staged through shared memory
__global__ void synthesize(Sea sea)
{
    __shared__ WaveMode tile[64];
    int ix = blockIdx.x * blockDim.x + threadIdx.x;
    int iy = blockIdx.y * blockDim.y + threadIdx.y;
    int tid = threadIdx.y * blockDim.x + threadIdx.x;
    float x = ix * CELL, y = iy * CELL;
    float eta = 0, sx = 0, sy = 0, u = 0, v = 0, w = 0;
    for (int base = 0; base < NMODES; base += 64) {
        if (tid < 64) tile[tid] = sea.modes[base + tid];
        __syncthreads();
        for (int j = 0; j < 64; ++j) {
            const WaveMode &m = tile[j];
            float sn, cs;
            sincosf(m.kx * x + m.ky * y - m.omega * sea.time + m.phase, &sn, &cs);
            float k = sqrtf(m.kx * m.kx + m.ky * m.ky);
            eta += m.amp * cs;
            sx -= m.amp * m.kx * sn;
            sy -= m.amp * m.ky * sn;
            float orb = m.amp * m.omega;
            u += orb * cs * m.kx / k;
            v += orb * cs * m.ky / k;
            w += orb * sn;
        }
        __syncthreads();
    }
    SurfCell &c = sea.cells[iy * SURF + ix];
    c.eta = eta;
    c.slopeX = sx; c.slopeY = sy;
    c.u = u; c.v = v; c.w = w;
}
// foam diffuses and decays, crests above the steepness limit start to break
__global__ void whitecaps(Sea sea, float dt)
{
    int ix = blockIdx.x * blockDim.x + threadIdx.x;
    int iy = blockIdx.y * blockDim.y + threadIdx.y;
    int l = (ix + SURF - 1) % SURF, r = (ix + 1) % SURF;
    int d = (iy + SURF - 1) % SURF, t = (iy + 1) % SURF;
    const SurfCell &c = sea.cells[iy * SURF + ix];
    float lapFoam = sea.cells[iy * SURF + l].foam + sea.cells[iy * SURF + r].foam +
                    sea.cells[d * SURF + ix].foam + sea.cells[t * SURF + ix].foam - 4.0f * c.foam;
    float slope2 = c.slopeX * c.slopeX + c.slopeY * c.slopeY;
    float excess = fmaxf(0.0f, sqrtf(slope2) - 0.12f) * (c.eta > 0.0f ? 1.0f : 0.3f);
    SurfCell n = c;
    n.breaking = 0.8f * c.breaking + 0.2f * fminf(1.0f, 6.0f * excess);
    n.foam = c.foam + dt * (0.4f * lapFoam + n.breaking - 0.25f * c.foam) + 1e-4f * c.landed;
    n.landed = 0;
    n.emitted = 0;
    sea.cellsNew[iy * SURF + ix] = n;
}
__device__ __forceinline__ int cellAt(float x, float y)
{
    int ix = (int)floorf(x / CELL), iy = (int)floorf(y / CELL);
    ix = min(max(ix, 0), SURF - 1);
    iy = min(max(iy, 0), SURF - 1);
    return iy * SURF + ix;
}
__global__ void moveSpray(Sea sea, float dt, int step)
{
    const float extent = SURF * CELL;
    const float wx = sea.wind * cosf(sea.windDir), wy = sea.wind * sinf(sea.windDir);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < NDROPS; i += gridDim.x * blockDim.x) {
        Droplet &p = sea.drops[i];
        if (!p.alive) {
            // try to be torn off a random crest
            uint32_t s = p.seed ^ (uint32_t)(step * 0x9E3779B9u);
            int cell = pcg(s) % (SURF * SURF);
            const float br = sea.cells[cell].breaking;
            s += 17u;
            if (unit(s) >= br) continue;
            p.pos = make_float3((cell % SURF + unit(s)) * CELL, (cell / SURF + unit(s)) * CELL, sea.cells[cell].eta + 0.05f);
            p.vel = make_float3(sea.cells[cell].u + 0.3f * wx * unit(s), sea.cells[cell].v + 0.3f * wy * unit(s), 1.0f + 3.0f * unit(s));
            p.radius = 30.0f + 250.0f * unit(s) * unit(s);
            p.temperature = 288.0f;
            p.salinity = 35.0f;
            p.age = 0.0f;
            p.alive = 1;
            atomicAdd(&sea.cells[cell].emitted, 1);
            continue;
        }
        float tau = 1.2e-6f * p.radius * p.radius * 4.0f;      // Stokes response time
        float f = 1.0f - expf(-dt / tau);
        float shear = fminf(1.0f, 0.3f + 0.1f * fmaxf(p.pos.z, 0.0f));
        p.vel.x += f * (wx * shear - p.vel.x);
        p.vel.y += f * (wy * shear - p.vel.y);
        p.vel.z += f * (0.0f - p.vel.z) - GRAV * dt * (1.0f - 0.5f * f);
        p.pos.x += p.vel.x * dt;
        p.pos.y += p.vel.y * dt;
        p.pos.z += p.vel.z * dt;
        if (p.pos.x < 0) p.pos.x += extent; else if (p.pos.x >= extent) p.pos.x -= extent;
        if (p.pos.y < 0) p.pos.y += extent; else if (p.pos.y >= extent) p.pos.y -= extent;
        p.age += dt;
        float evap = 1.0f - 0.02f * dt * (100.0f / p.radius);
        p.salinity = p.salinity / (evap * evap * evap);
        p.radius *= evap;
        p.temperature += dt * 2.0f * (285.0f - p.temperature) * (60.0f / p.radius);
        int cell = cellAt(p.pos.x, p.pos.y);
        if (p.pos.z < sea.cells[cell].eta) {
            atomicAdd(&sea.cells[cell].landed, 1);
            p.alive = 0;
            p.bounces++;
        }
    }
}

static void advance(Sea &sea, int step)
{
    const float dtSpec = 30.0f, dx = 2000.0f, dt = 0.02f;
    propagateSpectrum<<<1056, 256>>>(sea, dtSpec, dx);
    sourceTerms<<<NPATCH, 256>>>(sea, dtSpec);
    refreshModes<<<(NMODES + 127) / 128, 128>>>(sea, (PATCHES_Y / 2) * PATCHES_X + PATCHES_X / 2);
    dim3 b(32, 8), g(SURF / 32, SURF / 8);
    synthesize<<<g, b>>>(sea);
    whitecaps<<<g, b>>>(sea, dt);
    std::swap(sea.cells, sea.cellsNew);
    moveSpray<<<2112, 256>>>(sea, dt, step);
    sea.time += dt;
}

int main()
{
    std::mt19937 rng(99);
    std::uniform_real_distribution<float> U(0.0f, 1.0f);
    std::vector<SpecBin> bins((size_t)NPATCH * NBIN);
    const float windDir = 0.35f, peak = 0.9f;
    for (int p = 0; p < NPATCH; ++p)
        for (int b = 0; b < NBIN; ++b) {
            SpecBin &s = bins[(size_t)p * NBIN + b];
            s.ifreq = (short)(b / NDIR);
            s.idir = (short)(b % NDIR);
            float th = 6.2831853f * s.idir / NDIR;
            s.sigma = 0.35f * std::pow(1.1f, (float)s.ifreq);
            s.k = s.sigma * s.sigma / GRAV;
            s.cosTheta = std::cos(th);
            s.sinTheta = std::sin(th);
            float cg = 0.5f * GRAV / s.sigma;
            s.cgx = cg * s.cosTheta;
            s.cgy = cg * s.sinTheta;
            float spread = std::max(0.0f, std::cos(th - windDir));
            float pm = 0.0081f * GRAV * GRAV * std::pow(s.sigma, -5.0f) * std::exp(-1.25f * std::pow(peak / s.sigma, 4.0f));
            s.e = pm * spread * spread * 0.64f * (0.8f + 0.4f * U(rng));
            s.eNext = 0.0f;
            s.source = 0.0f;
        }
    std::vector<WaveMode> modes(NMODES);
    for (WaveMode &m : modes) {
        int fr = 4 + rng() % 22, dr = (int)(NDIR + (int)(rng() % 11) - 5 + 1) % NDIR;
        m.bin = fr * NDIR + dr;
        const SpecBin &s = bins[m.bin];
        m.kx = s.k * s.cosTheta;
        m.ky = s.k * s.sinTheta;
        m.omega = s.sigma;
        m.amp = 0.0f;
        m.phase = 6.2831853f * U(rng);
    }
    std::vector<SurfCell> cells(SURF * SURF, SurfCell{});
    std::vector<Droplet> drops(NDROPS);
    for (int i = 0; i < NDROPS; ++i) {
        Droplet &d = drops[i];
        d = Droplet{};
        d.alive = rng() % 100 < 60;
        d.pos = make_float3(U(rng) * SURF * CELL * 0.999f, U(rng) * SURF * CELL * 0.999f, 3.0f + 5.0f * U(rng));
        d.vel = make_float3(4.0f * U(rng), 2.0f * U(rng) - 1.0f, 2.0f * U(rng));
        d.radius = 20.0f + 200.0f * U(rng);
        d.temperature = 287.0f;
        d.salinity = 35.0f;
        d.seed = rng();
        d.source = (uint8_t)(rng() % 3);
    }
    Sea sea{};
    sea.wind = 16.0f;
    sea.windDir = windDir;
    CK(cudaMalloc(&sea.bins, bins.size() * sizeof(SpecBin)));
    CK(cudaMalloc(&sea.modes, modes.size() * sizeof(WaveMode)));
    CK(cudaMalloc(&sea.cells, cells.size() * sizeof(SurfCell)));
    CK(cudaMalloc(&sea.cellsNew, cells.size() * sizeof(SurfCell)));
    CK(cudaMalloc(&sea.drops, drops.size() * sizeof(Droplet)));
    CK(cudaMemcpy(sea.bins, bins.data(), bins.size() * sizeof(SpecBin), cudaMemcpyHostToDevice));
    CK(cudaMemcpy(sea.modes, modes.data(), modes.size() * sizeof(WaveMode), cudaMemcpyHostToDevice));
    CK(cudaMemcpy(sea.cells, cells.data(), cells.size() * sizeof(SurfCell), cudaMemcpyHostToDevice));
    CK(cudaMemcpy(sea.drops, drops.data(), drops.size() * sizeof(Droplet), cudaMemcpyHostToDevice));

    int step = 0;
    for (; step < 10; ++step) advance(sea, step);
    cudaEvent_t e0, e1;
    CK(cudaEventCreate(&e0));
    CK(cudaEventCreate(&e1));
    CK(cudaEventRecord(e0));
    const int steps = 60;
    for (int s = 0; s < steps; ++s, ++step) advance(sea, step);
    CK(cudaEventRecord(e1));
    CK(cudaEventSynchronize(e1));
    float ms = 0;
    CK(cudaEventElapsedTime(&ms, e0, e1));

    CK(cudaMemcpy(bins.data(), sea.bins, bins.size() * sizeof(SpecBin), cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(cells.data(), sea.cells, cells.size() * sizeof(SurfCell), cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(drops.data(), sea.drops, drops.size() * sizeof(Droplet), cudaMemcpyDeviceToHost));
    double energy = 0, foam = 0, eta2 = 0, height = 0, sal = 0;
    long alive = 0;
    for (const SpecBin &b : bins) energy += b.e;
    for (const SurfCell &c : cells) { foam += c.foam; eta2 += (double)c.eta * c.eta; }
    for (const Droplet &d : drops)
        if (d.alive) { ++alive; height += d.pos.z; sal += d.salinity; }
    std::printf("check %.4g/%.4g/%.4g/%.3g/%.3g/%.3g\n", energy, foam, eta2, (double)alive, height, sal);
    std::printf("time_ms %.4f\n", ms / steps);
    cudaFree(sea.bins); cudaFree(sea.modes); cudaFree(sea.cells); cudaFree(sea.cellsNew); cudaFree(sea.drops);
    return 0;
}
