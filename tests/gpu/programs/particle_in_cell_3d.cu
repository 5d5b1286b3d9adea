// particle_in_cell_3d: periodic 3-D PIC proxy with CIC gather / deposit.
// Particles are re-binned every few steps, so locality decays in between.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

constexpr int NG = 64;               // grid nodes per axis (power of two)
constexpr int NG_MASK = NG - 1;
constexpr int NNODES = NG * NG * NG;
constexpr int BINS_PER_AXIS = 16;    // 4x4x4 cells per sort bin
constexpr int NBINS = BINS_PER_AXIS * BINS_PER_AXIS * BINS_PER_AXIS;
constexpr float FIXED = 4096.0f;

struct Particle {
    float x, y, z;
    float ux, uy, uz;
    float weight;
    int id;
};

struct GridNode {
    float ex, ey, ez;
    float bx, by, bz;
    int rho;
    int jx, jy, jz;
};

static inline void ok(cudaError_t e, const char *what)
{
    if (e != cudaSuccess) {
        std::fprintf(stderr, "%s failed: %s\n", what, cudaGetErrorString(e));
        std::exit(1);
    }
}

__host__ __device__ inline int node_index(int i, int j, int k)
{
    return ((k & NG_MASK) * NG + (j & NG_MASK)) * NG + (i & NG_MASK);
}

__host__ __device__ inline int bin_of(const Particle &p)
{
    int bx = ((int)p.x & NG_MASK) >> 2;
    int by = ((int)p.y & NG_MASK) >> 2;
    int bz = ((int)p.z & NG_MASK) >> 2;
    return (bz * BINS_PER_AXIS + by) * BINS_PER_AXIS + bx;
}

__device__ inline float wrap(float v)
{
    v -= NG * floorf(v * (1.0f / NG));
    return v >= (float)NG ? v - (float)NG : v;
}

// Interpolate E and B at each particle, Boris rotate, move.
__global__ void push_particles(Particle *parts, const GridNode *__restrict__ nodes, int n, float dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;

    Particle p = parts[i];
    int ix = (int)p.x, iy = (int)p.y, iz = (int)p.z;
    float fx = p.x - ix, fy = p.y - iy, fz = p.z - iz;
    float ex = 0, ey = 0, ez = 0, bx = 0, by = 0, bz = 0;
#pragma unroll
    for (int c = 0; c < 8; ++c) {
        int di = c & 1, dj = (c >> 1) & 1, dk = c >> 2;
        float w = (di ? fx : 1 - fx) * (dj ? fy : 1 - fy) * (dk ? fz : 1 - fz);
        const GridNode &g = nodes[node_index(ix + di, iy + dj, iz + dk)];
        ex += w * g.ex; ey += w * g.ey; ez += w * g.ez;
        bx += w * g.bx; by += w * g.by; bz += w * g.bz;
    }

    const float h = 0.5f * dt;
    float vx = p.ux + h * ex, vy = p.uy + h * ey, vz = p.uz + h * ez;
    float tx = h * bx, ty = h * by, tz = h * bz;
    float s = 2.0f / (1.0f + tx * tx + ty * ty + tz * tz);
    float wx = vx + (vy * tz - vz * ty);
    float wy = vy + (vz * tx - vx * tz);
    float wz = vz + (vx * ty - vy * tx);
    vx += s * (wy * tz - wz * ty);
    vy += s * (wz * tx - wx * tz);
    vz += s * (wx * ty - wy * tx);
    p.ux = vx + h * ex; p.uy = vy + h * ey; p.uz = vz + h * ez;

    p.x = wrap(p.x + dt * p.ux);
    p.y = wrap(p.y + dt * p.uy);
    p.z = wrap(p.z + dt * p.uz);
    parts[i] = p;
}

// Fixed-point charge and current deposit.
__global__ void deposit(const Particle *__restrict__ parts, GridNode *nodes, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float px = parts[i].x, py = parts[i].y, pz = parts[i].z;
    const float q = parts[i].weight * FIXED;
    const float qx = q * parts[i].ux, qy = q * parts[i].uy, qz = q * parts[i].uz;
    int ix = (int)px, iy = (int)py, iz = (int)pz;
    float fx = px - ix, fy = py - iy, fz = pz - iz;
    for (int c = 0; c < 8; ++c) {
        int di = c & 1, dj = (c >> 1) & 1, dk = c >> 2;
        float w = (di ? fx : 1 - fx) * (dj ? fy : 1 - fy) * (dk ? fz : 1 - fz);
        GridNode *g = nodes + node_index(ix + di, iy + dj, iz + dk);
        atomicAdd(&g->rho, __float2int_rn(w * q));
        atomicAdd(&g->jx, __float2int_rn(w * qx));
        atomicAdd(&g->jy, __float2int_rn(w * qy));
        atomicAdd(&g->jz, __float2int_rn(w * qz));
    }
}

// E update from curl B and J; the current accumulators are cleared for the next step.
__global__ void update_fields(GridNode *nodes, float dt)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= NNODES) return;
    int i = id & NG_MASK, j = (id / NG) & NG_MASK, k = id / (NG * NG);
    GridNode &me = nodes[id];
    const GridNode &xm = nodes[node_index(i - 1, j, k)];
    const GridNode &ym = nodes[node_index(i, j - 1, k)];
    const GridNode &zm = nodes[node_index(i, j, k - 1)];
    const float scale = 0.02f / FIXED;
    me.ex += dt * ((me.bz - ym.bz) - (me.by - zm.by) - scale * me.jx);
    me.ey += dt * ((me.bx - zm.bx) - (me.bz - xm.bz) - scale * me.jy);
    me.ez += dt * ((me.by - xm.by) - (me.bx - ym.bx) - scale * me.jz);
    me.jx = 0; me.jy = 0; me.jz = 0;
}

__global__ void count_bins(const Particle *parts, int *counts, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&counts[bin_of(parts[i])], 1);
}

__global__ void scan_bins(const int *counts, int *offsets)   // one block of 1024 threads
{
    __shared__ int sh[1024];
    const int per = NBINS / 1024;
    int t = threadIdx.x, sum = 0;
    for (int b = 0; b < per; ++b) sum += counts[t * per + b];
    sh[t] = sum;
    __syncthreads();
    for (int d = 1; d < 1024; d <<= 1) {
        int v = t >= d ? sh[t - d] : 0;
        __syncthreads();
        sh[t] += v;
        __syncthreads();
    }
    int run = sh[t] - sum;
    for (int b = 0; b < per; ++b) { offsets[t * per + b] = run; run += counts[t * per + b]; }
}

__global__ void scatter_particles(const Particle *__restrict__ in, Particle *__restrict__ out, int *offsets, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Particle p = in[i];
    int dst = atomicAdd(&offsets[bin_of(p)], 1);
    out[dst] = p;
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? std::atoi(argv[1]) : 2000000;
    const int steps = argc > 2 ? std::atoi(argv[2]) : 12;
    const int sort_every = argc > 3 ? std::atoi(argv[3]) : 4;

    std::vector<Particle> hp(n);
    std::vector<GridNode> hg(NNODES);
    unsigned long long st = 0x9E3779B97F4A7C15ull;
    auto uni = [&st]() {
        st = st * 6364136223846793005ull + 1442695040888963407ull;
        return (float)(st >> 40) * (1.0f / 16777216.0f);
    };
    for (int i = 0; i < n; ++i) {
        Particle &p = hp[i];
        p.x = uni() * NG * 0.99999f; p.y = uni() * NG * 0.99999f; p.z = uni() * NG * 0.99999f;
        p.ux = uni() - 0.5f + ((i & 1) ? 0.7f : -0.7f);
        p.uy = uni() - 0.5f;
        p.uz = uni() - 0.5f;
        p.weight = 0.5f + uni();
        p.id = i;
    }
    for (int k = 0; k < NG; ++k)
        for (int j = 0; j < NG; ++j)
            for (int i = 0; i < NG; ++i) {
                GridNode g = {};
                g.bz = 0.3f + 0.01f * ((i * 7 + j * 3) % 11);
                g.bx = 0.01f * (k % 5);
                g.by = 0.01f * (i % 3);
                hg[node_index(i, j, k)] = g;
            }

    Particle *d_parts, *d_tmp;
    GridNode *d_nodes;
    int *d_counts, *d_offsets;
    ok(cudaMalloc(&d_parts, n * sizeof(Particle)), "malloc parts");
    ok(cudaMalloc(&d_tmp, n * sizeof(Particle)), "malloc tmp");
    ok(cudaMalloc(&d_nodes, NNODES * sizeof(GridNode)), "malloc nodes");
    ok(cudaMalloc(&d_counts, NBINS * sizeof(int)), "malloc counts");
    ok(cudaMalloc(&d_offsets, NBINS * sizeof(int)), "malloc offsets");
    ok(cudaMemcpy(d_parts, hp.data(), n * sizeof(Particle), cudaMemcpyHostToDevice), "copy parts");
    ok(cudaMemcpy(d_nodes, hg.data(), NNODES * sizeof(GridNode), cudaMemcpyHostToDevice), "copy nodes");

    const int tb = 256, gb = (n + tb - 1) / tb;
    const float dt = 0.2f;
    cudaEvent_t a, b;
    cudaEventCreate(&a); cudaEventCreate(&b);
    cudaEventRecord(a);
    for (int s = 0; s < steps; ++s) {
        if (s % sort_every == 1) {
            cudaMemsetAsync(d_counts, 0, NBINS * sizeof(int));
            count_bins<<<gb, tb>>>(d_parts, d_counts, n);
            scan_bins<<<1, 1024>>>(d_counts, d_offsets);
            scatter_particles<<<gb, tb>>>(d_parts, d_tmp, d_offsets, n);
            Particle *t = d_parts; d_parts = d_tmp; d_tmp = t;
        }
        push_particles<<<gb, tb>>>(d_parts, d_nodes, n, dt);
        deposit<<<gb, tb>>>(d_parts, d_nodes, n);
        update_fields<<<NNODES / 256, 256>>>(d_nodes, dt);
    }
    cudaEventRecord(b);
    ok(cudaEventSynchronize(b), "steps");
    float ms = 0;
    cudaEventElapsedTime(&ms, a, b);

    ok(cudaMemcpy(hp.data(), d_parts, n * sizeof(Particle), cudaMemcpyDeviceToHost), "copy back parts");
    ok(cudaMemcpy(hg.data(), d_nodes, NNODES * sizeof(GridNode), cudaMemcpyDeviceToHost), "copy back nodes");
    long long pos = 0, mom = 0, ids = 0, rho = 0;
    double efield = 0;
    for (const Particle &p : hp) {      // integer sums: the order inside a bin is arbitrary
        pos += (long long)std::floor((p.x + 2.0f * p.y + 3.0f * p.z) * 64.0f);
        mom += (long long)std::floor((p.ux * p.ux + p.uy * p.uy + p.uz * p.uz) * 4096.0f);
        ids += p.id;
    }
    for (const GridNode &g : hg) {
        rho += g.rho;
        efield += (double)g.ex * g.ex + (double)g.ey * g.ey + (double)g.ez * g.ez;
    }
    std::printf("check position %.6g\n", (double)pos);
    std::printf("check kinetic %.6g\n", (double)mom);
    std::printf("check ids %lld\n", ids);
    std::printf("check charge %.6g\n", (double)rho);
    std::printf("check efield %.6g\n", efield);
    std::printf("time_ms %.4f\n", ms);
    cudaFree(d_parts); cudaFree(d_tmp); cudaFree(d_nodes); cudaFree(d_counts); cudaFree(d_offsets);
    return 0;
}
