/*
 * Vibration of a timpani membrane with non-uniform tension, damping rim, mallet strokes
 * and a few pick-ups.  Leap-frog in time, 2D thread blocks, two node buffers swapped on
 * the host.   usage: ./drum_wave [size]
 */
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <utility>
#include <vector>

#define HANDLE_ERROR(err) (HandleError(err, __FILE__, __LINE__))
static void HandleError(cudaError_t err, const char *file, int line)
{
    if (err == cudaSuccess) return;
    printf("%s in %s at line %d\n", cudaGetErrorString(err), file, line);
    exit(EXIT_FAILURE);
}

enum NodeType { OUTSIDE = 0, SKIN = 1, RIM = 2 };

struct Node
{
    float u, uOld;    // displacement now and one step ago
    float tension, density, damping;
    float peak;       // largest |u| seen so far
    int   type;
};

struct Mallet
{
    float x, y;       // grid units
    float radius, strength;
    int   step, period;   // strikes when the step count modulo the period is step
};

struct PickUp
{
    int   ix, iy;
    float gain;
    float level, maximum;   // low-passed rectified signal and its peak
    int   crossings; float last;
};

struct EnergyRow
{
    float kinetic, potential;
    int   active;
};

struct SimConfig
{
    int   nx, ny;
    float dt, h;
    int   step;
};

__device__ inline float laplacian(const Node *p, int pitch, float invh2)
{
    const float c = p[0].u;
    const float te = 0.5f * (p[0].tension + p[1].tension);
    const float tw = 0.5f * (p[0].tension + p[-1].tension);
    const float ts = 0.5f * (p[0].tension + p[pitch].tension);
    const float tn = 0.5f * (p[0].tension + p[-pitch].tension);
    return invh2 * (te * (p[1].u - c) + tw * (p[-1].u - c) + ts * (p[pitch].u - c) + tn * (p[-pitch].u - c));
}

__global__ void advance(const Node *src, Node *dst, SimConfig cfg)
{
    const int ix = blockIdx.x * blockDim.x + threadIdx.x;
    const int iy = blockIdx.y * blockDim.y + threadIdx.y;
    if (ix >= cfg.nx || iy >= cfg.ny) return;

    const int id = iy * cfg.nx + ix;
    Node node = src[id];
    if (node.type == SKIN)
    {
        // the border of the array is never SKIN, so that all four neighbours exist
        const float acc = laplacian(src + id, cfg.nx, 1.0f / (cfg.h * cfg.h)) / node.density;
        const float drag = 0.5f * node.damping * cfg.dt;
        const float next = (2.0f * node.u - (1.0f - drag) * node.uOld + cfg.dt * cfg.dt * acc) / (1.0f + drag);
        node.uOld = node.u; node.u = next;
        node.peak = fmaxf(node.peak, fabsf(next));
    }
    dst[id] = node;
}

// blockIdx.z is the mallet
__global__ void strike(Node *nodes, const Mallet *mallets, SimConfig cfg)
{
    const Mallet m = mallets[blockIdx.z];
    if (cfg.step % m.period != m.step) return;
    const int ix = (int)(m.x - m.radius) + blockIdx.x * blockDim.x + threadIdx.x;
    const int iy = (int)(m.y - m.radius) + blockIdx.y * blockDim.y + threadIdx.y;
    if (ix < 0 || iy < 0 || ix >= cfg.nx || iy >= cfg.ny) return;
    const float dx = (ix - m.x) / m.radius, dy = (iy - m.y) / m.radius;
    const float r2 = dx * dx + dy * dy;
    Node &node = nodes[iy * cfg.nx + ix];
    if (r2 >= 1.0f || node.type != SKIN) return;
    // mallets can overlap: push the old displacement, which acts as a velocity
    atomicAdd(&node.uOld, -m.strength * (1.0f - r2) * (1.0f - r2));
}

__global__ void listen(const Node *nodes, PickUp *picks, int count, SimConfig cfg)
{
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= count) return;
    PickUp &p = picks[k];
    const float s = p.gain * nodes[p.iy * cfg.nx + p.ix].u;
    p.level = 0.9f * p.level + 0.1f * fabsf(s);
    p.maximum = fmaxf(p.maximum, fabsf(s));
    if ((s > 0.0f) != (p.last > 0.0f)) p.crossings++;
    p.last = s;
}

__global__ void row_energy(const Node *nodes, EnergyRow *rows, SimConfig cfg)
{
    __shared__ float kin[256], pot[256];
    const int iy = blockIdx.x;
    float k = 0.0f, p = 0.0f; int active = 0;
    for (int ix = threadIdx.x; ix < cfg.nx - 1; ix += blockDim.x)
    {
        const Node &a = nodes[iy * cfg.nx + ix];
        if (a.type != SKIN) continue;
        const float v = (a.u - a.uOld) / cfg.dt;
        const float g = (nodes[iy * cfg.nx + ix + 1].u - a.u) / cfg.h;
        k += 0.5f * a.density * v * v;
        p += 0.5f * a.tension * g * g;
        active += fabsf(a.u) > 1e-4f;
    }
    kin[threadIdx.x] = k; pot[threadIdx.x] = p;
    const int total = __syncthreads_count(active > 0);
    for (int s = blockDim.x / 2; s > 0; s >>= 1)
    {
        if (threadIdx.x < s) { kin[threadIdx.x] += kin[threadIdx.x + s]; pot[threadIdx.x] += pot[threadIdx.x + s]; }
        __syncthreads();
    }
    if (threadIdx.x == 0)
    {
        rows[iy].kinetic += kin[0];
        rows[iy].potential += pot[0];
        rows[iy].active += total;
    }
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 2400;
    const int nMallets = 6, nPicks = 500;
    std::vector<Node> init(n * n);
    unsigned int r = 5u;
    for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i)
        {
            Node &q = init[j * n + i];
            const float x = 2.0f * i / n - 1.0f, y = 2.0f * j / n - 1.0f, rad = sqrtf(x * x + y * y);
            r = r * 1664525u + 1013904223u;
            q.type = rad < 0.95f ? SKIN : rad < 0.98f ? RIM : OUTSIDE;
            q.tension = 1.0f + 0.2f * x - 0.1f * y * y;             // badly tuned
            q.density = 1.0f + 0.05f * ((r >> 8) / 16777216.0f);    // calf skin is never even
            q.damping = 0.02f + (rad > 0.88f ? 8.0f * (rad - 0.88f) : 0.0f);
            q.u = q.uOld = q.peak = 0.0f;
        }
    std::vector<Mallet> mallets(nMallets);
    for (int k = 0; k < nMallets; ++k)
        mallets[k] = Mallet{n * (0.3f + 0.08f * k), n * (0.55f - 0.04f * k), 40.0f + 12.0f * k, 0.4f + 0.1f * k, k % 3, 9 + k};
    std::vector<PickUp> picks(nPicks);
    for (int k = 0; k < nPicks; ++k)
        picks[k] = PickUp{n / 5 + (k * 37) % (n / 2), n / 5 + (k * 91) % (n / 2), 1.0f + 0.01f * k, 0.0f, 0.0f, 0, 0.0f};

    Node *cur, *next;
    Mallet *dMallets; PickUp *dPicks; EnergyRow *dRows;
    const size_t bytes = init.size() * sizeof(Node);
    HANDLE_ERROR(cudaMalloc(&cur, bytes)); HANDLE_ERROR(cudaMalloc(&next, bytes));
    HANDLE_ERROR(cudaMalloc(&dMallets, nMallets * sizeof(Mallet)));
    HANDLE_ERROR(cudaMalloc(&dPicks, nPicks * sizeof(PickUp)));
    HANDLE_ERROR(cudaMalloc(&dRows, n * sizeof(EnergyRow)));
    HANDLE_ERROR(cudaMemcpy(dMallets, mallets.data(), nMallets * sizeof(Mallet), cudaMemcpyHostToDevice));

    const float dts[3] = {0.3f, 0.45f, 0.6f};
    const dim3 block(32, 8), grid((n + 31) / 32, (n + 7) / 8), patch(7, 25, nMallets);
    cudaEvent_t start, stop;
    HANDLE_ERROR(cudaEventCreate(&start)); HANDLE_ERROR(cudaEventCreate(&stop));
    float ms = 0.0f;
    for (int pass = 0; pass < 2; ++pass)
    {
        HANDLE_ERROR(cudaMemcpy(cur, init.data(), bytes, cudaMemcpyHostToDevice));
        HANDLE_ERROR(cudaMemcpy(dPicks, picks.data(), nPicks * sizeof(PickUp), cudaMemcpyHostToDevice));
        HANDLE_ERROR(cudaMemset(dRows, 0, n * sizeof(EnergyRow)));
        HANDLE_ERROR(cudaEventRecord(start));
        SimConfig cfg = {n, n, 0.3f, 1.0f, 0};
        for (int k = 0; k < (pass ? 3 : 1); ++k)
        {
            cfg.dt = dts[k];
            for (int s = 0; s < 16; ++s, ++cfg.step)
            {
                strike<<<patch, block>>>(cur, dMallets, cfg);
                advance<<<grid, block>>>(cur, next, cfg);
                std::swap(cur, next);
                listen<<<(nPicks + 63) / 64, 64>>>(cur, dPicks, nPicks, cfg);
            }
            row_energy<<<n, 256>>>(cur, dRows, cfg);
        }
        HANDLE_ERROR(cudaEventRecord(stop));
        HANDLE_ERROR(cudaEventSynchronize(stop)); HANDLE_ERROR(cudaGetLastError());
        HANDLE_ERROR(cudaEventElapsedTime(&ms, start, stop));
    }

    std::vector<EnergyRow> rows(n);
    HANDLE_ERROR(cudaMemcpy(init.data(), cur, bytes, cudaMemcpyDeviceToHost));
    HANDLE_ERROR(cudaMemcpy(picks.data(), dPicks, nPicks * sizeof(PickUp), cudaMemcpyDeviceToHost));
    HANDLE_ERROR(cudaMemcpy(rows.data(), dRows, n * sizeof(EnergyRow), cudaMemcpyDeviceToHost));
    double amp = 0, peak = 0, kin = 0, pot = 0, level = 0;
    for (const Node &q : init) { amp += fabs(q.u); peak += q.peak; }
    for (const EnergyRow &e : rows) { kin += e.kinetic; pot += e.potential; }
    for (const PickUp &p : picks) level += p.level + p.maximum;
    printf("check amplitude %.2e\ncheck peak %.2e\ncheck kinetic %.2e\ncheck potential %.2e\ncheck pickups %.2e\n", amp, peak, kin, pot, level);
    printf("time_ms %.4f\n", ms);
    return 0;
}
