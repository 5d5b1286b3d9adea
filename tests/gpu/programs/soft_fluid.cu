// Charged soft-sphere fluid in a periodic box. The particles are sorted by
// cell; every particle visits the 27 cells around its own one.
//   usage: soft_fluid [number_of_particles]
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define HANDLE_ERROR(err)                                                                          \
    if ((err) != cudaSuccess) {                                                                    \
        printf("%s in %s at line %d\n", cudaGetErrorString(cudaGetLastError()), __FILE__, __LINE__); \
        exit(EXIT_FAILURE);                                                                        \
    }

struct Vec3 {
    float x, y, z;
    __host__ __device__ Vec3 operator+(const Vec3 &o) const { return {x + o.x, y + o.y, z + o.z}; }
    __host__ __device__ Vec3 operator-(const Vec3 &o) const { return {x - o.x, y - o.y, z - o.z}; }
    __host__ __device__ Vec3 operator*(float s) const { return {x * s, y * s, z * s}; }
    __host__ __device__ float norm2() const { return x * x + y * y + z * z; }
};

struct Particle {
    Vec3 pos;
    float charge;
    Vec3 vel;
    int species;
};

struct Cell {
    int begin;
    int count;
};

struct Force {
    Vec3 f;
    float energy;
};

// cells have edge length 1, which is also the cutoff
__host__ __device__ inline int cellCoord(float x, int side)
{
    int c = (int)x;
    return c < 0 ? 0 : (c >= side ? side - 1 : c);
}

__device__ inline float minImage(float d, float box) { return d - box * rintf(d / box); }

__device__ void addPair(const Particle &pi, const Particle &pj, float box, Force &acc)
{
    Vec3 d = pi.pos - pj.pos;
    d = {minImage(d.x, box), minImage(d.y, box), minImage(d.z, box)};
    float r2 = d.norm2();
    if (r2 < 1.0f && r2 > 1e-8f) {
        float r = sqrtf(r2);
        float h = 1.0f - r;
        float a = pi.species == pj.species ? 12.0f : 18.0f;
        float qq = pi.charge * pj.charge;
        acc.f = acc.f + d * ((a * h + qq * h * h) / r);
        acc.energy += 0.5f * a * h * h + qq * h * h * h * (1.0f / 3.0f);
    }
}

__global__ void computeForces(const Particle *particles, const Cell *cells, Force *forces, int n, int side)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Particle p = particles[i];
    int cx = cellCoord(p.pos.x, side), cy = cellCoord(p.pos.y, side), cz = cellCoord(p.pos.z, side);
    Force acc = {{0.0f, 0.0f, 0.0f}, 0.0f};
    for (int dz = -1; dz <= 1; dz++)
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++) {
                int x = (cx + dx + side) % side;
                int y = (cy + dy + side) % side;
                int z = (cz + dz + side) % side;
                Cell c = cells[(z * side + y) * side + x];
                for (int j = c.begin; j < c.begin + c.count; j++)
                    if (j != i) addPair(p, particles[j], (float)side, acc);
            }
    forces[i] = acc;
}

// small moves only: the cell lists stay valid for the length of this run
__global__ void integrate(Particle *particles, const Force *forces, int n, float box, float dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        Particle *p = particles + i;
        p->vel = p->vel + forces[i].f * dt;
        Vec3 r = p->pos + p->vel * dt;
        r.x -= box * floorf(r.x / box);
        r.y -= box * floorf(r.y / box);
        r.z -= box * floorf(r.z / box);
        p->pos = r;
    }
}

static unsigned int seed = 77u;
static float uniformRand()
{
    seed = seed * 1103515245u + 12345u;
    return ((seed >> 7) & 0xffffff) / 16777216.0f;
}

static void makeSystem(int n, int side, std::vector<Particle> &sorted, std::vector<Cell> &cells)
{
    std::vector<Particle> raw(n);
    std::vector<int> cellOf(n);
    cells.assign((size_t)side * side * side, Cell{0, 0});
    for (int i = 0; i < n; i++) {
        Particle &p = raw[i];
        p.pos = {side * uniformRand(), side * uniformRand(), side * uniformRand()};
        p.vel = {0.2f * uniformRand() - 0.1f, 0.2f * uniformRand() - 0.1f, 0.2f * uniformRand() - 0.1f};
        p.species = uniformRand() < 0.3f ? 1 : 0;
        p.charge = (i & 1) ? 1.0f : -1.0f;
        cellOf[i] = (cellCoord(p.pos.z, side) * side + cellCoord(p.pos.y, side)) * side + cellCoord(p.pos.x, side);
        cells[cellOf[i]].count++;
    }
    std::vector<int> cursor(cells.size(), 0);
    for (size_t c = 1; c < cells.size(); c++)
        cursor[c] = cells[c].begin = cells[c - 1].begin + cells[c - 1].count;
    sorted.resize(n);
    for (int i = 0; i < n; i++) sorted[cursor[cellOf[i]]++] = raw[i];
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 2000000;
    int side = (int)cbrt(n / 4.0);
    if (side < 3) side = 3;
    const int steps = 10;
    const float dt = 0.001f;

    std::vector<Particle> particles;
    std::vector<Cell> cells;
    makeSystem(n, side, particles, cells);

    Particle *devP;
    Cell *devC;
    Force *devF;
    HANDLE_ERROR(cudaMalloc((void **)&devP, n * sizeof(Particle)));
    HANDLE_ERROR(cudaMalloc((void **)&devC, cells.size() * sizeof(Cell)));
    HANDLE_ERROR(cudaMalloc((void **)&devF, n * sizeof(Force)));
    HANDLE_ERROR(cudaMemcpy(devP, particles.data(), n * sizeof(Particle), cudaMemcpyHostToDevice));
    HANDLE_ERROR(cudaMemcpy(devC, cells.data(), cells.size() * sizeof(Cell), cudaMemcpyHostToDevice));

    cudaEvent_t start, stop;
    HANDLE_ERROR(cudaEventCreate(&start));
    HANDLE_ERROR(cudaEventCreate(&stop));
    for (int s = -1; s < steps; s++) {
        if (s == 0) HANDLE_ERROR(cudaEventRecord(start, 0));
        computeForces<<<(n + 127) / 128, 128>>>(devP, devC, devF, n, side);
        integrate<<<(n + 255) / 256, 256>>>(devP, devF, n, (float)side, dt);
    }
    HANDLE_ERROR(cudaEventRecord(stop, 0));
    HANDLE_ERROR(cudaEventSynchronize(stop));
    HANDLE_ERROR(cudaGetLastError());
    float ms;
    HANDLE_ERROR(cudaEventElapsedTime(&ms, start, stop));

    std::vector<Force> forces(n);
    HANDLE_ERROR(cudaMemcpy(particles.data(), devP, n * sizeof(Particle), cudaMemcpyDeviceToHost));
    HANDLE_ERROR(cudaMemcpy(forces.data(), devF, n * sizeof(Force), cudaMemcpyDeviceToHost));
    long long check = 0;
    for (int i = 0; i < n; i++) {
        const Particle &p = particles[i];
        check += llround(p.pos.x * 100.0) + 2 * llround(p.pos.y * 100.0) + 3 * llround(p.pos.z * 100.0);
        check += llround(p.vel.x * 1000.0) + llround(p.vel.y * 1000.0) + llround(p.vel.z * 1000.0) + p.species;
        check += llround(forces[i].energy * 100.0) * (i % 17 + 1) + llround(forces[i].f.x * 10.0);
    }
    printf("time_ms %.4f\n", ms / steps);
    printf("check %lld\n", check);
    cudaFree(devP);
    cudaFree(devC);
    cudaFree(devF);
    return 0;
}
