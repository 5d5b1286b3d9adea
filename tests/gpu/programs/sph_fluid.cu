// Smoothed particle hydrodynamics in a closed tank.
//
// Density and forces by a list of cells, 27 of which surround a particle; the
// cell of a particle follows from its position and the spacing of the grid.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

static void cudaOk(cudaError_t e, int line) {
    if (e == cudaSuccess) return;
    fprintf(stderr, "%s at line %d\n", cudaGetErrorString(e), line);
    exit(1);
}
#define CUDA_OK(x) cudaOk((x), __LINE__)

struct FluidParticle {
    float3 position;
    float density;
    float3 velocity;
    float pressure;
    float3 acceleration;
    int phase;
    float3 normal;   // of the free surface
    float colour;
};

struct CellRange {
    int begin, count;
};

struct SphParams {
    int count;
    int3 cells;
    float3 origin;
    float cellSize;
    float h;         // smoothing radius
    float mass;
    float restDensity, stiffness, viscosity;
    float gravity;
    float poly6, spiky, laplacian;
    float dt;
};

__device__ inline int3 cellOf(const SphParams &p, float3 x) {
    int3 c;
    c.x = min(max((int)((x.x - p.origin.x) / p.cellSize), 0), p.cells.x - 1);
    c.y = min(max((int)((x.y - p.origin.y) / p.cellSize), 0), p.cells.y - 1);
    c.z = min(max((int)((x.z - p.origin.z) / p.cellSize), 0), p.cells.z - 1);
    return c;
}

__global__ void densityKernel(FluidParticle *particles, const CellRange *ranges, SphParams p) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= p.count) return;
    float3 xi = particles[i].position;
    int3 c = cellOf(p, xi);
    float h2 = p.h * p.h, sum = 0.0f;
    for (int z = max(c.z - 1, 0); z <= min(c.z + 1, p.cells.z - 1); z++)
        for (int y = max(c.y - 1, 0); y <= min(c.y + 1, p.cells.y - 1); y++)
            for (int x = max(c.x - 1, 0); x <= min(c.x + 1, p.cells.x - 1); x++) {
                CellRange r = ranges[(z * p.cells.y + y) * p.cells.x + x];
                for (int j = r.begin; j < r.begin + r.count; j++) {
                    float3 xj = particles[j].position;
                    float dx = xi.x - xj.x, dy = xi.y - xj.y, dz = xi.z - xj.z;
                    float d = h2 - (dx * dx + dy * dy + dz * dz);
                    if (d > 0.0f) sum += d * d * d;
                }
            }
    float rho = p.mass * p.poly6 * sum;
    particles[i].density = rho;
    particles[i].pressure = p.stiffness * fmaxf(rho - p.restDensity, 0.0f);
}

__global__ void forceKernel(FluidParticle *particles, const CellRange *ranges, SphParams p) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= p.count) return;
    float3 xi = particles[i].position, vi = particles[i].velocity;
    float rhoi = particles[i].density, pi = particles[i].pressure;
    int3 c = cellOf(p, xi);
    float3 a = make_float3(0.0f, 0.0f, -p.gravity);
    for (int z = max(c.z - 1, 0); z <= min(c.z + 1, p.cells.z - 1); z++)
        for (int y = max(c.y - 1, 0); y <= min(c.y + 1, p.cells.y - 1); y++)
            for (int x = max(c.x - 1, 0); x <= min(c.x + 1, p.cells.x - 1); x++) {
                CellRange r = ranges[(z * p.cells.y + y) * p.cells.x + x];
                for (int j = r.begin; j < r.begin + r.count; j++) {
                    if (j == i) continue;
                    float3 xj = particles[j].position;
                    float dx = xi.x - xj.x, dy = xi.y - xj.y, dz = xi.z - xj.z;
                    float r2 = dx * dx + dy * dy + dz * dz;
                    if (r2 >= p.h * p.h || r2 == 0.0f) continue;
                    float3 vj = particles[j].velocity;
                    float rhoj = particles[j].density;
                    float d = sqrtf(r2), q = p.h - d;
                    float f = p.mass * p.spiky * q * q * (pi + particles[j].pressure) /
                              (2.0f * rhoi * rhoj * d);
                    float w = p.viscosity * p.mass * p.laplacian * q / (rhoi * rhoj);
                    a.x += f * dx + w * (vj.x - vi.x);
                    a.y += f * dy + w * (vj.y - vi.y);
                    a.z += f * dz + w * (vj.z - vi.z);
                }
            }
    particles[i].acceleration = a;
}

__device__ inline void bounce(float &x, float &v, float lo, float hi) {
    if (x < lo) { x = lo; v = -0.5f * v; }
    if (x > hi) { x = hi; v = -0.5f * v; }
}

__global__ void integrateKernel(FluidParticle *particles, SphParams p) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= p.count) return;
    float3 x = particles[i].position, v = particles[i].velocity, a = particles[i].acceleration;
    v.x += p.dt * a.x; v.y += p.dt * a.y; v.z += p.dt * a.z;
    x.x += p.dt * v.x; x.y += p.dt * v.y; x.z += p.dt * v.z;
    bounce(x.x, v.x, p.origin.x, p.origin.x + p.cells.x * p.cellSize);
    bounce(x.y, v.y, p.origin.y, p.origin.y + p.cells.y * p.cellSize);
    bounce(x.z, v.z, p.origin.z, p.origin.z + p.cells.z * p.cellSize);
    particles[i].position = x;
    particles[i].velocity = v;
}

class FluidSolver {
  public:
    explicit FluidSolver(int wanted) {
        int side = (int)cbrt(wanted / 4.0);
        if (side < 4) side = 4;
        p_.cells = make_int3(side, side, side);
        p_.origin = make_float3(-0.5f * side, -0.5f * side, 0.0f);
        p_.cellSize = 1.0f, p_.h = 0.98f, p_.mass = 1.0f;
        p_.restDensity = 3.0f, p_.stiffness = 2.0f, p_.viscosity = 0.4f;
        p_.gravity = 1.0f;
        const float pi = 3.14159265f;
        p_.poly6 = 315.0f / (64.0f * pi * powf(p_.h, 9));
        p_.spiky = p_.laplacian = 45.0f / (pi * powf(p_.h, 6));
        p_.dt = 0.0005f;
        std::vector<CellRange> ranges(side * side * side);
        unsigned state = 12345;
        auto next = [&state] { state = state * 1664525u + 1013904223u; return (state >> 8) / 16777216.0f; };
        for (int c = 0; c < (int)ranges.size(); c++) {
            int k = 3 + (int)(3.0f * next());
            ranges[c] = {(int)host_.size(), k};
            int x = c % side, y = c / side % side, z = c / side / side;
            for (int j = 0; j < k; j++) {
                FluidParticle q = {};
                q.position = {p_.origin.x + x + next(), p_.origin.y + y + next(), p_.origin.z + z + next()};
                q.velocity = {next() - 0.5f, next() - 0.5f, next() - 0.5f};
                q.phase = z < side / 2;
                q.colour = next();
                host_.push_back(q);
            }
        }
        p_.count = (int)host_.size();
        CUDA_OK(cudaMalloc(&particles_, host_.size() * sizeof(FluidParticle)));
        CUDA_OK(cudaMalloc(&ranges_, ranges.size() * sizeof(CellRange)));
        CUDA_OK(cudaMemcpy(particles_, host_.data(), host_.size() * sizeof(FluidParticle), cudaMemcpyHostToDevice));
        CUDA_OK(cudaMemcpy(ranges_, ranges.data(), ranges.size() * sizeof(CellRange), cudaMemcpyHostToDevice));
    }
    ~FluidSolver() { cudaFree(particles_); cudaFree(ranges_); }

    void step() {
        int blocks = (p_.count + 127) / 128;
        densityKernel<<<blocks, 128>>>(particles_, ranges_, p_);
        forceKernel<<<blocks, 128>>>(particles_, ranges_, p_);
        integrateKernel<<<blocks, 128>>>(particles_, p_);
        CUDA_OK(cudaGetLastError());
    }

    unsigned long long checksum() {
        CUDA_OK(cudaMemcpy(host_.data(), particles_, host_.size() * sizeof(FluidParticle), cudaMemcpyDeviceToHost));
        unsigned long long sum = 0;
        for (const FluidParticle &q : host_)
            sum = sum * 31 + llround(q.density * 16) + 3 * llround(q.velocity.x * 16) + 5 * llround(q.velocity.z * 16) +
                  7 * llround(q.position.y * 64) + q.phase;
        return sum;
    }

  private:
    SphParams p_;
    std::vector<FluidParticle> host_;
    FluidParticle *particles_ = nullptr;
    CellRange *ranges_ = nullptr;
};

int main(int argc, char **argv) {
    FluidSolver solver(argc > 1 ? atoi(argv[1]) : 1 << 20);
    cudaEvent_t start, stop;
    CUDA_OK(cudaEventCreate(&start));
    CUDA_OK(cudaEventCreate(&stop));
    const int steps = 50;
    solver.step();   // warm-up
    CUDA_OK(cudaEventRecord(start));
    for (int s = 0; s < steps; s++) solver.step();
    CUDA_OK(cudaEventRecord(stop));
    CUDA_OK(cudaEventSynchronize(stop));
    float ms;
    CUDA_OK(cudaEventElapsedTime(&ms, start, stop));
    printf("check %llu\ntime_ms %.4f\n", solver.checksum(), ms / steps);
}
