// D2Q9 lattice Boltzmann flow past a row of cylinders (BGK collisions, a body
// force along x, periodic both ways, full-way bounce-back in solid nodes).
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call) check_status((call), __LINE__)
static void check_status(cudaError_t status, int line)
{
    if (status == cudaSuccess) return;
    fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(status));
    exit(EXIT_FAILURE);
}

struct LatticeNode {
    float f[9];
    int   solid;
};

struct MacroNode {
    float rho, ux, uy;
    float speed_sum;        // for the mean flow
    float vort;
    int   visits;
};

struct FlowConfig {
    int   width, height;
    int   row;              // nodes from a row to the next
    float omega;
    float force;
};

__constant__ FlowConfig cfg;
__constant__ int   CX[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
__constant__ int   CY[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
__constant__ int   OPPOSITE[9] = {0, 3, 4, 1, 2, 7, 8, 5, 6};
__constant__ float W[9] = {4.f / 9,  1.f / 9,  1.f / 9,  1.f / 9, 1.f / 9,
                           1.f / 36, 1.f / 36, 1.f / 36, 1.f / 36};

__global__ void stream_collide(const LatticeNode *__restrict__ in, LatticeNode *__restrict__ out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= cfg.width || y >= cfg.height) return;
    int me = y * cfg.row + x;

    float f[9];
#pragma unroll
    for (int k = 0; k < 9; k++) {
        int sx = x - CX[k], sy = y - CY[k];
        sx = sx < 0 ? sx + cfg.width : sx >= cfg.width ? sx - cfg.width : sx;
        sy = sy < 0 ? sy + cfg.height : sy >= cfg.height ? sy - cfg.height : sy;
        f[k] = in[sy * cfg.row + sx].f[k];
    }

    int solid = in[me].solid;
    out[me].solid = solid;
    if (solid) {
#pragma unroll
        for (int k = 0; k < 9; k++) out[me].f[OPPOSITE[k]] = f[k];
        return;
    }

    float rho = 0.f, ux = 0.f, uy = 0.f;
#pragma unroll
    for (int k = 0; k < 9; k++) {
        rho += f[k];
        ux += CX[k] * f[k];
        uy += CY[k] * f[k];
    }
    ux = ux / rho + 0.5f * cfg.force;
    uy = uy / rho;
    float uu = 1.5f * (ux * ux + uy * uy);
#pragma unroll
    for (int k = 0; k < 9; k++) {
        float cu = 3.f * (CX[k] * ux + CY[k] * uy);
        float eq = W[k] * rho * (1.f + cu + 0.5f * cu * cu - uu);
        out[me].f[k] = f[k] + cfg.omega * (eq - f[k]) + W[k] * 3.f * CX[k] * cfg.force;
    }
}

__global__ void moments(const LatticeNode *lattice, MacroNode *macro)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= cfg.width || y >= cfg.height) return;
    int me = y * cfg.row + x;
    float rho = 0.f, ux = 0.f, uy = 0.f;
    for (int k = 0; k < 9; k++) {
        float f = lattice[me].f[k];
        rho += f;
        ux += CX[k] * f;
        uy += CY[k] * f;
    }
    MacroNode m = macro[me];
    m.rho = rho;
    m.ux = ux / rho;
    m.uy = uy / rho;
    m.speed_sum += sqrtf(m.ux * m.ux + m.uy * m.uy);
    m.visits++;
    macro[me] = m;
}

__global__ void vorticity(MacroNode *macro)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= cfg.width - 1 || y >= cfg.height - 1) return;
    int me = y * cfg.row + x;
    macro[me].vort = 0.5f * (macro[me + 1].uy - macro[me - 1].uy) -
                     0.5f * (macro[me + cfg.row].ux - macro[me - cfg.row].ux);
}

int main(int argc, char **argv)
{
    FlowConfig config;
    config.width = argc > 1 ? atoi(argv[1]) : 4000;
    config.height = config.width / 4;
    config.row = (config.width + 31) / 32 * 32;
    config.omega = 1.f / 0.62f;
    config.force = 1e-5f;
    CHECK(cudaMemcpyToSymbol(cfg, &config, sizeof config));

    const float weights[9] = {4.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 36, 1.f / 36, 1.f / 36, 1.f / 36};
    size_t nodes = (size_t)config.row * config.height;
    std::vector<LatticeNode> lattice(nodes);
    for (int y = 0; y < config.height; y++)
        for (int x = 0; x < config.row; x++) {
            LatticeNode &n = lattice[(size_t)y * config.row + x];
            int spacing = config.height;            // a cylinder per square of the channel
            float dx = x % spacing - spacing / 2, dy = y - config.height / 2;
            n.solid = dx * dx + dy * dy < spacing * spacing / 64.f;
            unsigned h = (x * 2654435761u) ^ (y * 2246822519u);
            h ^= h >> 15;
            float rho = 1.f + (h % 1000) * 1e-5f;
            for (int k = 0; k < 9; k++) n.f[k] = weights[k] * rho;
        }

    LatticeNode *a, *b;
    MacroNode *macro;
    CHECK(cudaMalloc(&a, nodes * sizeof(LatticeNode)));
    CHECK(cudaMalloc(&b, nodes * sizeof(LatticeNode)));
    CHECK(cudaMalloc(&macro, nodes * sizeof(MacroNode)));
    CHECK(cudaMemcpy(a, lattice.data(), nodes * sizeof(LatticeNode), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(b, lattice.data(), nodes * sizeof(LatticeNode), cudaMemcpyHostToDevice));
    CHECK(cudaMemset(macro, 0, nodes * sizeof(MacroNode)));

    dim3 block(64, 4);
    dim3 grid((config.width + block.x - 1) / block.x, (config.height + block.y - 1) / block.y);
    cudaEvent_t t0, t1;
    CHECK(cudaEventCreate(&t0));
    CHECK(cudaEventCreate(&t1));
    const int timed = 60;
    for (int it = 0; it < timed + 2; it++) {
        if (it == 2) CHECK(cudaEventRecord(t0));
        stream_collide<<<grid, block>>>(a, b);
        stream_collide<<<grid, block>>>(b, a);
        moments<<<grid, block>>>(a, macro);
        vorticity<<<grid, block>>>(macro);
    }
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(t1));
    CHECK(cudaEventSynchronize(t1));

    std::vector<MacroNode> result(nodes);
    CHECK(cudaMemcpy(result.data(), macro, nodes * sizeof(MacroNode), cudaMemcpyDeviceToHost));
    unsigned long long check = 0;
    for (const MacroNode &m : result)
        check = check * 31 + llround(m.rho * 1e3) + 3 * llround(m.ux * 1e4) + 5 * llround(m.uy * 1e4) +
                7 * llround(m.vort * 1e4) + m.visits;
    float ms = 0;
    CHECK(cudaEventElapsedTime(&ms, t0, t1));
    printf("check %llu\ntime_ms %.4f\n", check, ms / timed);
    cudaFree(a);
    cudaFree(b);
    cudaFree(macro);
    return 0;
}
