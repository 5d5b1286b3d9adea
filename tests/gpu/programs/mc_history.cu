/*
 * mc_history: history-based Monte Carlo neutron transport mini-app.
 *
 * One thread follows one neutron from birth to death through a 3D pin-lattice
 * problem using Woodcock (delta) tracking and seven-group constants.  Collision
 * estimators are scored on a regular mesh using integer atomics, fission sites
 * are banked per history and resampled for the next generation.
 */
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

typedef unsigned long long u64;

static void gpuAssert(cudaError_t code, const char *file, int line)
{
    if (code != cudaSuccess) {
        fprintf(stderr, "GPUassert: %s %s:%d\n", cudaGetErrorString(code), file, line);
        exit(code);
    }
}
#define GPU(x) gpuAssert((x), __FILE__, __LINE__)

#define NGROUPS 7
#define NMATS   3
#define MESH    64
#define DOMAIN  64.0
#define PITCH   1.26
#define RPIN    0.54
#define MAX_EVENTS 96

enum Fate { FATE_NONE = 0, FATE_CAPTURE, FATE_FISSION, FATE_LEAK, FATE_ROULETTE, FATE_CUT, N_FATES };

struct Neutron {
    double3 pos;
    double3 dir;
    double  wgt;
    u64     seed;
    int     group;
    short   ncoll;
    unsigned char fate;
    unsigned char mat;
};

struct FissionSite {
    double3 pos;
    float   wgt;
    int     nu;
};

struct GroupXS {
    float total;
    float scatter;
    float fission;
    float nu;
    float chi_cdf;
    float scat_cdf[NGROUPS];
};

struct TallyCell {
    u64 flux;             // fixed-point collision estimator of the flux
    unsigned collisions;
    unsigned fissions;
    unsigned captures;
    unsigned batches;
    double mean;
    double m2;
};

/* ------------------------------------------------------------------ RNG --- */
__host__ __device__ inline u64 lcg_next(u64 s)
{
    return s * 2806196910506780709ULL + 1ULL;
}

__device__ inline double rn(u64 *s)
{
    *s = lcg_next(*s);
    u64 x = *s;
    x ^= x >> 33; x *= 0xff51afd7ed558ccdULL; x ^= x >> 33;
    return ((double)(x >> 11) + 0.5) * (1.0 / 9007199254740992.0);
}

__host__ __device__ inline u64 mix64(u64 z)
{
    z += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

/* ------------------------------------------------------------- geometry --- */
__device__ inline int material_at(const double3 r)
{
    // axial reflector
    if (r.z < 4.0 || r.z > DOMAIN - 4.0) return 2;
    double ix = floor(r.x / PITCH), iy = floor(r.y / PITCH);
    double dx = r.x - (ix + 0.5) * PITCH;
    double dy = r.y - (iy + 0.5) * PITCH;
    // every 5th pin position is a water hole
    int hole = (((int)ix) % 5 == 2) && (((int)iy) % 5 == 2);
    if (hole) return 1;
    return (dx * dx + dy * dy < RPIN * RPIN) ? 0 : 1;
}

__device__ inline int mesh_index(const double3 r)
{
    int ix = min(max((int)(r.x * (MESH / DOMAIN)), 0), MESH - 1);
    int iy = min(max((int)(r.y * (MESH / DOMAIN)), 0), MESH - 1);
    int iz = min(max((int)(r.z * (MESH / DOMAIN)), 0), MESH - 1);
    return (iz * MESH + iy) * MESH + ix;
}

__device__ inline double3 isotropic(u64 *s)
{
    double mu = 2.0 * rn(s) - 1.0;
    double phi = 6.283185307179586 * rn(s);
    double st = sqrt(1.0 - mu * mu);
    double sp, cp;
    sincos(phi, &sp, &cp);
    return make_double3(st * cp, st * sp, mu);
}

/* -------------------------------------------------------------- kernels --- */
__global__ void source_kernel(Neutron *nt, const FissionSite *bank, int n, u64 batch)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    u64 s = mix64(batch * 0x100000001b3ULL + (u64)i);

    int pick = (int)(mix64(s) % (u64)n);
    FissionSite site = bank[pick];
    double3 r;
    if (site.nu > 0) {
        r = site.pos;
    } else {
        r.x = DOMAIN * rn(&s);
        r.y = DOMAIN * rn(&s);
        r.z = 8.0 + (DOMAIN - 16.0) * rn(&s);
    }
    nt[i].pos = r;
    nt[i].dir = isotropic(&s);
    nt[i].wgt = 1.0;
    nt[i].group = (rn(&s) < 0.6) ? 0 : 1;
    nt[i].ncoll = 0;
    nt[i].fate = FATE_NONE;
    nt[i].mat = (unsigned char)material_at(r);
    nt[i].seed = s;
}

__global__ void transport_kernel(Neutron *nt, FissionSite *bank, TallyCell *tally,
                                 const GroupXS *xs, float sigma_maj, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;

    double3 r = nt[i].pos;
    double3 u = nt[i].dir;
    double  w = nt[i].wgt;
    u64     s = nt[i].seed;
    int     g = nt[i].group;
    int     ncoll = 0;
    int     fate = FATE_CUT;
    int     mat = nt[i].mat;

    bank[i].nu = 0;

    for (int ev = 0; ev < MAX_EVENTS; ++ev) {
        double d = -log(rn(&s)) / sigma_maj;
        r.x += d * u.x;
        r.y += d * u.y;
        r.z += d * u.z;

        // reflective side walls, vacuum top and bottom
        if (r.z < 0.0 || r.z >= DOMAIN) { fate = FATE_LEAK; break; }
        if (r.x < 0.0)     { r.x = -r.x;               u.x = -u.x; }
        if (r.x >= DOMAIN) { r.x = 2.0 * DOMAIN - r.x; u.x = -u.x; }
        if (r.y < 0.0)     { r.y = -r.y;               u.y = -u.y; }
        if (r.y >= DOMAIN) { r.y = 2.0 * DOMAIN - r.y; u.y = -u.y; }

        mat = material_at(r);
        const GroupXS *c = &xs[mat * NGROUPS + g];
        const float tot = c->total;
        if (rn(&s) * sigma_maj >= tot) continue;        // virtual collision

        ++ncoll;
        const int cell = mesh_index(r);
        atomicAdd(&tally[cell].collisions, 1u);
        atomicAdd(&tally[cell].flux, (u64)(w / tot * 65536.0));

        double xi = rn(&s) * tot;
        if (xi < c->fission) {
            atomicAdd(&tally[cell].fissions, 1u);
            bank[i].pos = r;
            bank[i].wgt = (float)w;
            bank[i].nu = (int)(c->nu + rn(&s));
            fate = FATE_FISSION;
            break;
        }
        xi -= c->fission;
        if (xi >= c->scatter) {
            atomicAdd(&tally[cell].captures, 1u);
            fate = FATE_CAPTURE;
            break;
        }
        // scattering: new group and direction, slight implicit weight loss
        double eta = rn(&s);
        int gn = 0;
        while (gn < NGROUPS - 1 && eta > c->scat_cdf[gn]) ++gn;
        g = gn;
        u = isotropic(&s);
        w *= 0.98;
        if (w < 0.25) {
            if (rn(&s) < 0.5) { fate = FATE_ROULETTE; break; }
            w *= 2.0;
        }
    }

    nt[i].pos = r;
    nt[i].dir = u;
    nt[i].wgt = w;
    nt[i].seed = s;
    nt[i].group = g;
    nt[i].ncoll = (short)ncoll;
    nt[i].fate = (unsigned char)fate;
    nt[i].mat = (unsigned char)mat;
}

// Welford update of the batch statistics, then clear the per-batch flux score
__global__ void batch_stats_kernel(TallyCell *tally, int ncell, double inv_n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < ncell; i += gridDim.x * blockDim.x) {
        double x = (double)tally[i].flux * inv_n;
        unsigned nb = tally[i].batches + 1u;
        double mean = tally[i].mean;
        double delta = x - mean;
        mean += delta / nb;
        tally[i].m2 += delta * (x - mean);
        tally[i].mean = mean;
        tally[i].batches = nb;
        tally[i].flux = 0ULL;
    }
}

__global__ void fate_kernel(const Neutron *nt, int n, u64 *counters)
{
    __shared__ unsigned int h[N_FATES];
    __shared__ unsigned int coll;
    if (threadIdx.x < N_FATES) h[threadIdx.x] = 0;
    if (threadIdx.x == 0) coll = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(&h[nt[i].fate], 1u);
        atomicAdd(&coll, (unsigned)nt[i].ncoll);
    }
    __syncthreads();
    if (threadIdx.x < N_FATES && h[threadIdx.x])
        atomicAdd(&counters[threadIdx.x], (u64)h[threadIdx.x]);
    if (threadIdx.x == 0) atomicAdd(&counters[N_FATES], (u64)coll);
}

/* ----------------------------------------------------------------- host --- */
static void make_xs(std::vector<GroupXS> &xs, float *maj)
{
    // loosely modelled after the C5G7 benchmark
    static const float tot[NMATS][NGROUPS] = {
        {0.178f, 0.330f, 0.480f, 0.554f, 0.312f, 0.395f, 0.564f},
        {0.159f, 0.413f, 0.590f, 0.584f, 0.718f, 1.254f, 1.650f},
        {0.170f, 0.400f, 0.520f, 0.560f, 0.680f, 1.100f, 1.400f}};
    static const float abs_frac[NMATS][NGROUPS] = {
        {0.05f, 0.02f, 0.06f, 0.10f, 0.10f, 0.28f, 0.50f},
        {0.004f, 0.001f, 0.001f, 0.002f, 0.006f, 0.012f, 0.023f},
        {0.004f, 0.001f, 0.002f, 0.003f, 0.008f, 0.014f, 0.025f}};
    static const float chi[NGROUPS] = {0.588f, 0.412f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};

    *maj = 0.0f;
    xs.resize(NMATS * NGROUPS);
    for (int m = 0; m < NMATS; ++m) {
        float ccum = 0.0f;
        for (int g = 0; g < NGROUPS; ++g) {
            GroupXS &x = xs[m * NGROUPS + g];
            float a = tot[m][g] * abs_frac[m][g];
            x.total = tot[m][g];
            x.fission = (m == 0) ? 0.55f * a : 0.0f;
            x.scatter = tot[m][g] - a;
            x.nu = (m == 0) ? 2.43f : 0.0f;
            ccum += chi[g];
            x.chi_cdf = ccum;
            float norm = 0.0f, p[NGROUPS];
            for (int h = 0; h < NGROUPS; ++h) {
                float up = (h < g) ? ((g > 3 && g - h == 1) ? 0.05f : 0.0f) : 1.0f;
                float decay = (m == 0) ? 3.0f : 1.2f;
                p[h] = up * expf(-decay * fabsf((float)(h - g)));
                norm += p[h];
            }
            float cum = 0.0f;
            for (int h = 0; h < NGROUPS; ++h) {
                cum += p[h] / norm;
                x.scat_cdf[h] = cum;
            }
            if (x.total > *maj) *maj = x.total;
        }
    }
}

int main()
{
    const int n = 131072;
    const int ncell = MESH * MESH * MESH;
    const int nbatches = 30;
    const int tpb = 128;

    std::vector<GroupXS> xs;
    float sigma_maj;
    make_xs(xs, &sigma_maj);

    Neutron *d_nt;
    FissionSite *d_bank;
    TallyCell *d_tally;
    GroupXS *d_xs;
    u64 *d_cnt;
    GPU(cudaMalloc(&d_nt, n * sizeof(Neutron)));
    GPU(cudaMalloc(&d_bank, n * sizeof(FissionSite)));
    GPU(cudaMalloc(&d_tally, ncell * sizeof(TallyCell)));
    GPU(cudaMalloc(&d_xs, xs.size() * sizeof(GroupXS)));
    GPU(cudaMalloc(&d_cnt, (N_FATES + 1) * sizeof(u64)));
    GPU(cudaMemset(d_nt, 0, n * sizeof(Neutron)));
    GPU(cudaMemset(d_bank, 0, n * sizeof(FissionSite)));
    GPU(cudaMemset(d_tally, 0, ncell * sizeof(TallyCell)));
    GPU(cudaMemset(d_cnt, 0, (N_FATES + 1) * sizeof(u64)));
    GPU(cudaMemcpy(d_xs, xs.data(), xs.size() * sizeof(GroupXS), cudaMemcpyHostToDevice));

    // initial source: fission sites spread over the core by a host-side LCG
    std::vector<FissionSite> bank(n);
    u64 seed = 42;
    for (int i = 0; i < n; ++i) {
        double f[3];
        for (int k = 0; k < 3; ++k) {
            seed = lcg_next(seed);
            f[k] = (double)(mix64(seed) >> 11) / 9007199254740992.0;
        }
        bank[i].pos = make_double3(f[0] * DOMAIN, f[1] * DOMAIN, 4.0 + f[2] * (DOMAIN - 8.0));
        bank[i].wgt = 1.0f;
        bank[i].nu = 2;
    }
    GPU(cudaMemcpy(d_bank, bank.data(), n * sizeof(FissionSite), cudaMemcpyHostToDevice));

    const int grid = (n + tpb - 1) / tpb;
    cudaEvent_t e0, e1;
    GPU(cudaEventCreate(&e0));
    GPU(cudaEventCreate(&e1));

    for (int b = 0; b <= nbatches; ++b) {
        if (b == 1) GPU(cudaEventRecord(e0));      // batch 0 is inactive (warm-up)
        source_kernel<<<grid, tpb>>>(d_nt, d_bank, n, (u64)b);
        transport_kernel<<<grid, tpb>>>(d_nt, d_bank, d_tally, d_xs, sigma_maj, n);
        batch_stats_kernel<<<512, 256>>>(d_tally, ncell, 1.0 / (65536.0 * n));
        fate_kernel<<<(n + 255) / 256, 256>>>(d_nt, n, d_cnt);
        if (b == 0) {
            GPU(cudaGetLastError());
            GPU(cudaDeviceSynchronize());
            u64 c[N_FATES + 1], sum = 0;
            GPU(cudaMemcpy(c, d_cnt, sizeof(c), cudaMemcpyDeviceToHost));
            for (int k = 0; k < N_FATES; ++k) sum += c[k];
            if (sum != (u64)n || c[FATE_NONE] != 0) {
                fprintf(stderr, "history balance broken: %llu of %d\n", sum, n);
                return 1;
            }
        }
    }
    GPU(cudaEventRecord(e1));
    GPU(cudaEventSynchronize(e1));
    GPU(cudaGetLastError());
    float ms = 0;
    GPU(cudaEventElapsedTime(&ms, e0, e1));

    u64 cnt[N_FATES + 1];
    std::vector<TallyCell> tally(ncell);
    GPU(cudaMemcpy(cnt, d_cnt, sizeof(cnt), cudaMemcpyDeviceToHost));
    GPU(cudaMemcpy(tally.data(), d_tally, ncell * sizeof(TallyCell), cudaMemcpyDeviceToHost));

    double flux = 0, var = 0;
    u64 coll = 0, fis = 0, cap = 0;
    for (int i = 0; i < ncell; ++i) {
        flux += tally[i].mean;
        var += tally[i].m2 / (tally[i].batches - 1);
        coll += tally[i].collisions;
        fis += tally[i].fissions;
        cap += tally[i].captures;
    }
    const u64 histories = (u64)n * (nbatches + 1);
    printf("check histories %llu\n", histories);
    printf("check collisions_match %d\n", coll == cnt[N_FATES] ? 1 : 0);
    printf("check fission_match %d\n", fis == cnt[FATE_FISSION] ? 1 : 0);
    printf("check mean_collisions %.3e\n", (double)coll / (double)histories);
    printf("check fission_fraction %.3e\n", (double)fis / (double)histories);
    printf("check capture_fraction %.3e\n", (double)cap / (double)histories);
    printf("check leak_fraction %.3e\n", (double)cnt[FATE_LEAK] / (double)histories);
    printf("check mesh_flux %.3e\n", flux);
    printf("check mesh_stddev %.3e\n", sqrt(var));
    printf("time_ms %.5f\n", ms / nbatches);

    cudaFree(d_nt);
    cudaFree(d_bank);
    cudaFree(d_tally);
    cudaFree(d_xs);
    cudaFree(d_cnt);
    cudaEventDestroy(e0);
    cudaEventDestroy(e1);
    return 0;
}
