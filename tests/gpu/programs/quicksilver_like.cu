// quicksilver_like: Monte Carlo particle tracking through mesh facets
// (planes), with collisions, reflections and per-cell integer tallies.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cstdint>
#include <vector>
#include <utility>
#include <cuda_runtime.h>

#define MC_CHECK(e) do { cudaError_t rc = (e); if (rc != cudaSuccess) { \
    std::printf("CUDA error %s line %d\n", cudaGetErrorString(rc), __LINE__); std::exit(1); } } while (0)

enum FacetEvent { FACET_TRANSIT = 0, FACET_REFLECT = 1, FACET_ESCAPE = 2 };
enum { FACETS_PER_CELL = 6, NUM_GROUPS = 128, NUM_MATERIALS = 6, MAX_SEGMENTS = 48 };

struct MC_Facet
{
    double A, B, C, D;     // outward plane: A x + B y + C z + D = 0
    int adjacent_cell;
    int event;
};

struct MC_Cell
{
    int material;
    float density;
    unsigned int crossings;
    unsigned int collisions;
    unsigned long long scalar_flux;   // fixed point track length
    unsigned long long absorbed;
};

struct MC_Particle
{
    double x, y, z;
    double u, v, w;
    double energy;
    double weight;
    double mfp;            // remaining mean free paths
    uint64_t seed;
    int cell;
    int segments;
    int alive;
    int species;
};

struct XsGroup
{
    double total;
    double absorb;
    double scatter;
    float  elastic_loss;
    int    fissile;
};

__host__ __device__ inline double rng_sample(uint64_t *seed)
{
    *seed = *seed * 2862933555777941757ULL + 3037000493ULL;
    return ((double)(*seed >> 11) + 0.5) * (1.0 / 9007199254740992.0);
}

__device__ inline void sample_isotropic(MC_Particle &p)
{
    double cosT = 1.0 - 2.0 * rng_sample(&p.seed);
    double sinT = sqrt(1.0 - cosT * cosT);
    double s, c;
    sincos(6.283185307179586 * rng_sample(&p.seed), &s, &c);
    p.u = sinT * c;
    p.v = sinT * s;
    p.w = cosT;
}

__device__ inline int energy_group(double e)
{
    int g = (int)(e * NUM_GROUPS);
    return g < 0 ? 0 : (g >= NUM_GROUPS ? NUM_GROUPS - 1 : g);
}

__device__ int nearest_facet(const MC_Facet *facets, const MC_Particle &p, double &dist)
{
    int best = 0;
    dist = 1e30;
    for (int f = 0; f < FACETS_PER_CELL; ++f)
    {
        const MC_Facet &fc = facets[p.cell * FACETS_PER_CELL + f];
        double denom = fc.A * p.u + fc.B * p.v + fc.C * p.w;
        if (denom <= 0.0) continue;
        double t = -(fc.A * p.x + fc.B * p.y + fc.C * p.z + fc.D) / denom;
        if (t < 0.0) t = 0.0;
        if (t < dist) { dist = t; best = f; }
    }
    return best;
}

__global__ void CycleInit(MC_Particle *particles, int n, int cycle)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    particles[i].segments = 0;
    if (!particles[i].alive)
    {
        // re-source dead particles where they died, with fresh energy
        particles[i].alive = 1;
        particles[i].weight = 1.0;
        uint64_t s = particles[i].seed + cycle;
        particles[i].energy = 0.2 + 0.8 * rng_sample(&s);
        particles[i].mfp = -log(rng_sample(&s));
        particles[i].seed = s;
    }
}

__global__ void CycleTracking(MC_Particle *particles, int n, MC_Cell *cells,
                              const MC_Facet *facets, const XsGroup *xs)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    MC_Particle p = particles[i];
    if (!p.alive) return;

    while (p.segments < MAX_SEGMENTS)
    {
        p.segments++;
        const int mat = cells[p.cell].material;
        const XsGroup &g = xs[mat * NUM_GROUPS + energy_group(p.energy)];
        const double sigma = g.total * cells[p.cell].density;

        double dFacet;
        int facet = nearest_facet(facets, p, dFacet);
        double dCollide = p.mfp / sigma;
        double d = fmin(dFacet, dCollide);
        p.x += d * p.u;
        p.y += d * p.v;
        p.z += d * p.w;
        p.mfp -= d * sigma;
        atomicAdd(&cells[p.cell].scalar_flux, (unsigned long long)(d * p.weight * 1048576.0));

        if (dCollide < dFacet)
        {
            atomicAdd(&cells[p.cell].collisions, 1u);
            double r = rng_sample(&p.seed) * g.total;
            if (r < g.absorb)
            {
                atomicAdd(&cells[p.cell].absorbed, (unsigned long long)(p.weight * 65536.0));
                p.alive = 0;
                break;
            }
            p.energy *= 1.0 - g.elastic_loss * rng_sample(&p.seed);
            if (g.fissile) p.energy = fmin(0.999, p.energy + 0.3);
            sample_isotropic(p);
            p.mfp = -log(rng_sample(&p.seed));
        }
        else
        {
            const MC_Facet *fc = &facets[p.cell * FACETS_PER_CELL + facet];
            atomicAdd(&cells[p.cell].crossings, 1u);
            if (fc->event == FACET_TRANSIT)
                p.cell = fc->adjacent_cell;
            else if (fc->event == FACET_REFLECT)
            {
                double dot = 2.0 * (p.u * fc->A + p.v * fc->B + p.w * fc->C);
                p.u -= dot * fc->A;
                p.v -= dot * fc->B;
                p.w -= dot * fc->C;
            }
            else
            {
                p.alive = 0;
                p.u = -p.u; p.v = -p.v; p.w = -p.w;
                break;
            }
        }
    }
    particles[i] = p;
}

// Russian roulette on low energy particles; touches a few fields only.
__global__ void PopulationControl(MC_Particle *particles, int n, unsigned long long *counters)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    MC_Particle *p = particles + i;
    if (p->alive && p->energy < 0.05)
    {
        if (rng_sample(&p->seed) < 0.5) { p->alive = 0; atomicAdd(&counters[0], 1ULL); }
        else p->weight *= 2.0;
    }
    unsigned live = __ballot_sync(__activemask(), p->alive);
    if ((threadIdx.x & 31) == 0) atomicAdd(&counters[1], (unsigned long long)__popc(live));
}

int main(int argc, char **argv)
{
    const int N = argc > 1 ? std::atoi(argv[1]) : 48;            // cells per axis
    const int nParticles = argc > 2 ? std::atoi(argv[2]) : 500000;
    const int nCycles = argc > 3 ? std::atoi(argv[3]) : 6;
    const int nCells = N * N * N;
    uint64_t seed = 1029384756ULL;

    // Non-uniform plane positions along each axis.
    std::vector<double> plane[3];
    for (int a = 0; a < 3; ++a)
    {
        plane[a].resize(N + 1);
        for (int i = 0; i <= N; ++i)
            plane[a][i] = i + ((i == 0 || i == N) ? 0.0 : 0.5 * (rng_sample(&seed) - 0.5));
    }
    // Cell numbering: shuffled inside windows (as left by a mesh partitioner).
    std::vector<int> perm(nCells);
    for (int i = 0; i < nCells; ++i) perm[i] = i;
    const int window = 512;
    for (int i = 0; i < nCells; ++i)
    {
        int base = i / window * window;
        int len = (base + window <= nCells) ? window : nCells - base;
        std::swap(perm[i], perm[base + (int)(rng_sample(&seed) * len)]);
    }

    std::vector<MC_Facet> facets((size_t)nCells * FACETS_PER_CELL);
    std::vector<MC_Cell> cells(nCells);
    for (int k = 0; k < N; ++k)
        for (int j = 0; j < N; ++j)
            for (int i = 0; i < N; ++i)
            {
                const int ijk[3] = { i, j, k };
                const int c = perm[(k * N + j) * N + i];
                for (int a = 0; a < 3; ++a)
                    for (int side = 0; side < 2; ++side)
                    {
                        MC_Facet &f = facets[c * FACETS_PER_CELL + a * 2 + side];
                        double sgn = side ? 1.0 : -1.0;
                        f.A = a == 0 ? sgn : 0.0;
                        f.B = a == 1 ? sgn : 0.0;
                        f.C = a == 2 ? sgn : 0.0;
                        f.D = -sgn * plane[a][ijk[a] + side];
                        int nb[3] = { i, j, k };
                        nb[a] += side ? 1 : -1;
                        if (nb[a] < 0) { f.adjacent_cell = c; f.event = FACET_REFLECT; }
                        else if (nb[a] >= N) { f.adjacent_cell = c; f.event = FACET_ESCAPE; }
                        else { f.adjacent_cell = perm[(nb[2] * N + nb[1]) * N + nb[0]]; f.event = FACET_TRANSIT; }
                    }
                MC_Cell &cell = cells[c];
                cell.material = (i / 6 + j / 6 + k / 6) % NUM_MATERIALS;
                cell.density = 0.5f + 0.1f * ((i + j + k) % 7);
                cell.crossings = cell.collisions = 0;
                cell.scalar_flux = cell.absorbed = 0;
            }

    std::vector<XsGroup> xs(NUM_MATERIALS * NUM_GROUPS);
    for (size_t g = 0; g < xs.size(); ++g)
    {
        xs[g].absorb = 0.02 + 0.05 * rng_sample(&seed);
        xs[g].scatter = 0.2 + 0.6 * rng_sample(&seed);
        xs[g].total = xs[g].absorb + xs[g].scatter;
        xs[g].elastic_loss = 0.1f + 0.1f * (float)(g % 5);
        xs[g].fissile = (g / NUM_GROUPS) == 2 && (g % 4) == 0;
    }

    std::vector<MC_Particle> parts(nParticles);
    for (int n = 0; n < nParticles; ++n)
    {
        MC_Particle &p = parts[n];
        uint64_t s = 7777ULL + 2654435761ULL * n;
        rng_sample(&s);
        int i = (int)(rng_sample(&s) * N), j = (int)(rng_sample(&s) * N), k = (int)(rng_sample(&s) * N);
        p.x = plane[0][i] + (plane[0][i + 1] - plane[0][i]) * rng_sample(&s);
        p.y = plane[1][j] + (plane[1][j + 1] - plane[1][j]) * rng_sample(&s);
        p.z = plane[2][k] + (plane[2][k + 1] - plane[2][k]) * rng_sample(&s);
        p.w = 1.0 - 2.0 * rng_sample(&s);
        double ct = 2.0 * rng_sample(&s) - 1.0, q = std::sqrt(1.0 - p.w * p.w);
        p.u = q * ct;
        p.v = q * std::sqrt(1.0 - ct * ct);
        p.energy = 0.2 + 0.8 * rng_sample(&s);
        p.weight = 1.0;
        p.mfp = 0.1 + 2.0 * rng_sample(&s);
        p.seed = s;
        p.cell = perm[(k * N + j) * N + i];
        p.segments = 0;
        p.alive = 1;
        p.species = n % 3;
    }

    MC_Particle *dP; MC_Cell *dC; MC_Facet *dF; XsGroup *dX; unsigned long long *dCount;
    MC_CHECK(cudaMalloc(&dP, parts.size() * sizeof(MC_Particle)));
    MC_CHECK(cudaMalloc(&dC, cells.size() * sizeof(MC_Cell)));
    MC_CHECK(cudaMalloc(&dF, facets.size() * sizeof(MC_Facet)));
    MC_CHECK(cudaMalloc(&dX, xs.size() * sizeof(XsGroup)));
    MC_CHECK(cudaMalloc(&dCount, 2 * sizeof(unsigned long long)));
    MC_CHECK(cudaMemcpy(dP, parts.data(), parts.size() * sizeof(MC_Particle), cudaMemcpyHostToDevice));
    MC_CHECK(cudaMemcpy(dC, cells.data(), cells.size() * sizeof(MC_Cell), cudaMemcpyHostToDevice));
    MC_CHECK(cudaMemcpy(dF, facets.data(), facets.size() * sizeof(MC_Facet), cudaMemcpyHostToDevice));
    MC_CHECK(cudaMemcpy(dX, xs.data(), xs.size() * sizeof(XsGroup), cudaMemcpyHostToDevice));
    MC_CHECK(cudaMemset(dCount, 0, 2 * sizeof(unsigned long long)));

    cudaEvent_t e0, e1;
    cudaEventCreate(&e0); cudaEventCreate(&e1);
    const int tpb = 128, nb = (nParticles + tpb - 1) / tpb;
    cudaEventRecord(e0);
    for (int cyc = 0; cyc < nCycles; ++cyc)
    {
        CycleInit<<<nb, tpb>>>(dP, nParticles, cyc);
        CycleTracking<<<nb, tpb>>>(dP, nParticles, dC, dF, dX);
        PopulationControl<<<nb, tpb>>>(dP, nParticles, dCount);
    }
    cudaEventRecord(e1);
    MC_CHECK(cudaEventSynchronize(e1));
    MC_CHECK(cudaGetLastError());
    float ms = 0.f;
    cudaEventElapsedTime(&ms, e0, e1);

    unsigned long long cnt[2], flux = 0, absorbed = 0, cross = 0, coll = 0;
    MC_CHECK(cudaMemcpy(cells.data(), dC, cells.size() * sizeof(MC_Cell), cudaMemcpyDeviceToHost));
    MC_CHECK(cudaMemcpy(parts.data(), dP, parts.size() * sizeof(MC_Particle), cudaMemcpyDeviceToHost));
    MC_CHECK(cudaMemcpy(cnt, dCount, sizeof(cnt), cudaMemcpyDeviceToHost));
    for (const MC_Cell &c : cells) { flux += c.scalar_flux; absorbed += c.absorbed; cross += c.crossings; coll += c.collisions; }
    double esum = 0;
    for (const MC_Particle &p : parts) esum += p.energy * p.weight;
    std::printf("check scalar_flux %.6g\n", (double)flux);
    std::printf("check absorbed %.6g\n", (double)absorbed);
    std::printf("check crossings %llu\n", cross);
    std::printf("check collisions %llu\n", coll);
    std::printf("check roulette %llu\n", cnt[0]);
    std::printf("check live %llu\n", cnt[1]);
    std::printf("check energy %.6g\n", esum);
    std::printf("time_ms %.4f\n", ms);
    cudaFree(dP); cudaFree(dC); cudaFree(dF); cudaFree(dX); cudaFree(dCount);
    return 0;
}
