// slab_shielding.cu
// Multigroup Monte Carlo transport of neutrons through a layered shield.
// Histories are followed in fixed point (micrometres, integer weights and
// tabulated free paths), so that the tallies are reproducible to the last bit.
//
//   fly        - advance every particle to its next collision or cell border
//   collide    - absorption, scattering and group change at the collision site
//   tallyMesh  - flux and heating on a mesh
//   respawn    - dead particles are replaced by new source particles
//   summarise  - burn-up style feedback of the mesh on the next batch

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(ans) do { cudaError_t c_ = (ans); if (c_ != cudaSuccess) { \
    std::fprintf(stderr, "%s (%s:%d)\n", cudaGetErrorString(c_), __FILE__, __LINE__); std::exit(1); } } while (0)

namespace shield {

constexpr int GROUPS = 8;
constexpr int LAYERS = 12;
constexpr int MESH = 96;               // cells per side
constexpr int CELL_UM = 10000;         // a cell is a centimetre
constexpr int SIDE_UM = MESH * CELL_UM;
constexpr int TABLE = 4096;

enum State : uint8_t { ALIVE = 0, COLLIDED = 1, ABSORBED = 2, LEAKED = 3, ROULETTED = 4 };

struct Neutron {
    int x, y, z;                 // micrometres
    short dx, dy, dz;            // direction cosines times 16384
    uint8_t group;
    uint8_t state;
    int weight;                  // 1 << 16 is one
    int cell;
    uint64_t rng;
    int track;                   // last free path
    uint16_t collisions;
    uint16_t generation;
};

struct Material {
    int meanPath[GROUPS];        // micrometres
    int absorb[GROUPS];          // probability times 65536
    int down[GROUPS];            // probability of losing a group, times 65536
    int heating;
    int density;
};

struct MeshCell {
    unsigned long long flux;
    unsigned long long heat;
    unsigned int collisions;
    unsigned int absorptions;
    int density;                 // 1024 is nominal; thinned by burn-up
    short layer;
    short hot;
};

__constant__ Material materials[LAYERS];
__constant__ short dirTable[256][4];

__device__ __forceinline__ uint32_t draw(uint64_t &s)
{
    s = s * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(s >> 33) ^ (uint32_t)(s >> 51);
}

__device__ int locate(int x, int y, int z)
{
    return ((z / CELL_UM) * MESH + y / CELL_UM) * MESH + x / CELL_UM;
}

__device__ void startAtSource(Neutron &p)
{
    const uint32_t a = draw(p.rng), b = draw(p.rng);
    p.x = 1 + (int)(a % 1000u);
    p.y = SIDE_UM / 4 + (int)(b % (unsigned)(SIDE_UM / 2));
    p.z = SIDE_UM / 4 + (int)((a >> 11) % (unsigned)(SIDE_UM / 2));
    const int d = (int)((b >> 20) & 255u);
    p.dx = (short)abs((int)dirTable[d][0]);
    p.dy = dirTable[d][1];
    p.dz = dirTable[d][2];
    p.group = 0;
    p.state = ALIVE;
    p.weight = 1 << 16;
    p.cell = locate(p.x, p.y, p.z);
    p.track = 0;
    p.collisions = 0;
}

__global__ void seedParticles(Neutron *p, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Neutron q = {};
    q.rng = 0x9e3779b97f4a7c15ull * (uint64_t)(i + 1);
    draw(q.rng);
    draw(q.rng);
    startAtSource(q);
    p[i] = q;
}

__global__ void fly(Neutron *p, const MeshCell *__restrict__ mesh, const int *__restrict__ logTable, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || p[i].state != ALIVE) return;
    uint64_t s = p[i].rng;
    const int c = p[i].cell;
    const Material &m = materials[mesh[c].layer];
    const long long mfp = (long long)m.meanPath[p[i].group] * 1024 / mesh[c].density;
    long long path = (mfp * logTable[draw(s) & (TABLE - 1)]) >> 12;
    uint8_t state = COLLIDED;
    if (path > 3 * CELL_UM) {                 // look again with the material found there
        path = 3 * CELL_UM;
        state = ALIVE;
    }
    const int nx = p[i].x + (int)((path * p[i].dx) / 16384);
    const int ny = p[i].y + (int)((path * p[i].dy) / 16384);
    const int nz = p[i].z + (int)((path * p[i].dz) / 16384);
    p[i].rng = s;
    p[i].track = (int)path;
    if (nx < 0 || nx >= SIDE_UM || ny < 0 || ny >= SIDE_UM || nz < 0 || nz >= SIDE_UM) {
        p[i].state = LEAKED;
        return;
    }
    p[i].x = nx;
    p[i].y = ny;
    p[i].z = nz;
    p[i].cell = locate(nx, ny, nz);
    p[i].state = state;
}

__global__ void collide(Neutron *p, MeshCell *mesh, int n)
{
    const int stride = blockDim.x * gridDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        if (p[i].state != COLLIDED) continue;
        Neutron q = p[i];
        MeshCell *c = mesh + q.cell;
        const Material &m = materials[c->layer];
        atomicAdd(&c->collisions, 1u);
        q.collisions++;
        q.state = ALIVE;
        // implicit capture
        const int lost = (int)(((long long)q.weight * m.absorb[q.group]) >> 16);
        q.weight -= lost;
        atomicAdd(&c->heat, (unsigned long long)lost * (unsigned)m.heating);
        if (q.weight < 4096) {                  // Russian roulette
            if ((draw(q.rng) & 3u) == 0) {
                q.weight *= 4;
            } else {
                q.state = ROULETTED;
                atomicAdd(&c->absorptions, 1u);
            }
        }
        if ((int)(draw(q.rng) & 0xffffu) < m.down[q.group] && q.group < GROUPS - 1) q.group++;
        const int d = (int)(draw(q.rng) & 255u);
        q.dx = dirTable[d][0];
        q.dy = dirTable[d][1];
        q.dz = dirTable[d][2];
        p[i] = q;
    }
}

__global__ void tallyMesh(const Neutron *__restrict__ p, MeshCell *mesh, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (p[i].state == LEAKED || p[i].track == 0) return;
    atomicAdd(&mesh[p[i].cell].flux, (unsigned long long)p[i].track * (unsigned)(p[i].weight >> 6));
}

__global__ void respawn(Neutron *p, int n, unsigned long long *leaked)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const uint8_t st = p[i].state;
    if (st == ALIVE) return;
    if (st == LEAKED) atomicAdd(&leaked[p[i].group], (unsigned long long)p[i].weight);
    Neutron q = p[i];
    startAtSource(q);
    q.generation++;
    p[i] = q;
}

__global__ void summarise(MeshCell *mesh, int nx, int ny, int nz)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int z = blockIdx.z;
    if (x >= nx || y >= ny || z >= nz) return;
    MeshCell *c = &mesh[(z * ny + y) * nx + x];
    const int burn = (int)(c->heat >> 24);
    c->density = max(1024 - burn, 512);
    c->hot = (short)(burn > 16);
}

}  // namespace shield

using namespace shield;

int main(int argc, char **argv)
{
    const int n = argc > 1 ? std::atoi(argv[1]) : 4000000;
    const int batches = argc > 2 ? std::atoi(argv[2]) : 60;
    const int cells = MESH * MESH * MESH;

    std::vector<Material> mats(LAYERS);
    for (int l = 0; l < LAYERS; ++l) {
        for (int g = 0; g < GROUPS; ++g) {
            mats[l].meanPath[g] = 6000 + 1500 * ((l * 5 + g * 3) % 9);
            mats[l].absorb[g] = 1500 + 900 * g + 2000 * (l % 3);
            mats[l].down[g] = 12000 + 3000 * (l % 4);
        }
        mats[l].heating = 3 + l % 5;
        mats[l].density = 1024;
    }
    std::vector<MeshCell> mesh(cells);
    for (int k = 0; k < cells; ++k) {
        mesh[k] = MeshCell{};
        mesh[k].layer = (short)((k % MESH) * LAYERS / MESH);
        mesh[k].density = 1024;
    }
    std::vector<int> logs(TABLE);        // -ln(u) times 4096
    for (int k = 0; k < TABLE; ++k) logs[k] = 1 + (int)std::lround(-4096.0 * std::log((k + 0.5) / TABLE));
    short dirs[256][4];
    for (int k = 0; k < 256; ++k) {
        const double mu = -1.0 + (k + 0.5) / 128.0, phi = 2.399963229728653 * k, s = std::sqrt(1.0 - mu * mu);
        dirs[k][0] = (short)std::lround(16383 * mu);
        dirs[k][1] = (short)std::lround(16383 * s * std::cos(phi));
        dirs[k][2] = (short)std::lround(16383 * s * std::sin(phi));
        dirs[k][3] = 0;
    }
    CHECK(cudaMemcpyToSymbol(materials, mats.data(), sizeof(Material) * LAYERS));
    CHECK(cudaMemcpyToSymbol(dirTable, dirs, sizeof(dirs)));

    Neutron *dp;
    MeshCell *dm;
    int *dLog;
    unsigned long long *dLeak;
    CHECK(cudaMalloc(&dp, sizeof(Neutron) * n));
    CHECK(cudaMalloc(&dm, sizeof(MeshCell) * cells));
    CHECK(cudaMalloc(&dLog, sizeof(int) * TABLE));
    CHECK(cudaMalloc(&dLeak, sizeof(unsigned long long) * GROUPS));
    CHECK(cudaMemcpy(dm, mesh.data(), sizeof(MeshCell) * cells, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(dLog, logs.data(), sizeof(int) * TABLE, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(dLeak, 0, sizeof(unsigned long long) * GROUPS));

    const int T = 256, B = (n + T - 1) / T;
    seedParticles<<<B, T>>>(dp, n);
    CHECK(cudaDeviceSynchronize());

    const dim3 mb(32, 8, 1), mg((MESH + 31) / 32, (MESH + 7) / 8, MESH);
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaEventRecord(begin));
    for (int b = 0; b < batches; ++b) {
        fly<<<B, T>>>(dp, dm, dLog, n);
        collide<<<132 * 8, T>>>(dp, dm, n);
        tallyMesh<<<B, T>>>(dp, dm, n);
        respawn<<<B, T>>>(dp, n, dLeak);
        summarise<<<mg, mb>>>(dm, MESH, MESH, MESH);
    }
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));
    CHECK(cudaGetLastError());
    float ms = 0;
    CHECK(cudaEventElapsedTime(&ms, begin, end));

    std::vector<Neutron> p(n);
    std::vector<unsigned long long> leak(GROUPS);
    CHECK(cudaMemcpy(p.data(), dp, sizeof(Neutron) * n, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(mesh.data(), dm, sizeof(MeshCell) * cells, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(leak.data(), dLeak, sizeof(unsigned long long) * GROUPS, cudaMemcpyDeviceToHost));
    unsigned long long hist = 0, flux = 0, heat = 0, coll = 0, gen = 0, lk = 0;
    for (const Neutron &q : p) {
        hist = hist * 33 + q.rng + (unsigned)q.x + 3ull * (unsigned)q.y + 5ull * (unsigned)q.z + q.group * 7u + (unsigned)q.weight +
               (unsigned)(q.track + q.cell + q.dx + 2 * q.dy + 3 * q.dz + q.state);
        gen += q.generation + q.collisions;
    }
    for (int k = 0; k < cells; ++k) {
        const MeshCell &c = mesh[k];
        flux = flux * 31 + c.flux;
        heat = heat * 31 + c.heat + (unsigned)c.density + (unsigned)c.hot;
        coll += (unsigned long long)(k % 251 + 1) * (c.collisions + 2ull * c.absorptions);
    }
    for (unsigned long long l : leak) lk = lk * 31 + l;
    std::printf("time_ms %.5f\n", ms / batches);
    std::printf("check histories %llu\n", hist);
    std::printf("check generations %llu\n", gen);
    std::printf("check flux %llu\n", flux);
    std::printf("check heat %llu\n", heat);
    std::printf("check collisions %llu\n", coll);
    std::printf("check leakage %llu\n", lk);
    cudaFree(dp);
    cudaFree(dm);
    cudaFree(dLog);
    cudaFree(dLeak);
    return 0;
}
