// Agents in a periodic square: counting sort by grid cell, then a neighbour
// search over the 3x3 surrounding cells, then motion.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/scan.h>

typedef struct {
    float x, y;
    float vx, vy;
    int sumX, sumY;          // fixed point, so order of neighbours is irrelevant
    unsigned int id;
    int cell;
    short species;
    short neighbours;
    float energy;
} Agent;

static void check(cudaError_t e, const char *what)
{
    if (e != cudaSuccess) {
        fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
        exit(EXIT_FAILURE);
    }
}

__global__ void assignCells(Agent *agents, int *count, int n, int g)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int cx = min((int)agents[i].x, g - 1);
        int cy = min((int)agents[i].y, g - 1);
        int c = cy * g + cx;
        agents[i].cell = c;
        atomicAdd(&count[c], 1);
    }
}

__global__ void scatter(const Agent *in, Agent *out, const int *start, int *fill, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int c = in[i].cell;
        int pos = start[c] + atomicAdd(&fill[c], 1);
        out[pos] = in[i];
    }
}

__global__ void interact(Agent *agents, const int *start, const int *count, int n, int g)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = agents[i].x;
    float y = agents[i].y;
    short mine = agents[i].species;
    int cx = agents[i].cell % g, cy = agents[i].cell / g;
    int sx = 0, sy = 0, found = 0;
    for (int dy = -1; dy <= 1; dy++) {
        for (int dx = -1; dx <= 1; dx++) {
            int nx = (cx + dx + g) % g;
            int ny = (cy + dy + g) % g;
            float offx = (float)(cx + dx - nx);
            float offy = (float)(cy + dy - ny);
            int c = ny * g + nx;
            int end = start[c] + count[c];
            for (int j = start[c]; j < end; j++) {
                float rx = agents[j].x + offx - x;
                float ry = agents[j].y + offy - y;
                float r2 = rx * rx + ry * ry;
                if (j != i && r2 < 1.0f) {
                    int sign = agents[j].species == mine ? 1 : -1;
                    sx += sign * (int)(rx * 4096.0f);
                    sy += sign * (int)(ry * 4096.0f);
                    found++;
                }
            }
        }
    }
    agents[i].sumX = sx;
    agents[i].sumY = sy;
    agents[i].neighbours = (short)found;
}

__global__ void move(Agent *agents, int n, float size, float dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Agent &a = agents[i];
    float s = a.neighbours > 0 ? 1.0f / (4096.0f * a.neighbours) : 0.0f;
    a.vx = 0.9f * a.vx + 0.1f * s * a.sumX;
    a.vy = 0.9f * a.vy + 0.1f * s * a.sumY;
    a.energy += 0.01f * (8 - a.neighbours);
    float x = a.x + dt * a.vx;
    float y = a.y + dt * a.vy;
    if (x < 0) x += size;
    if (x >= size) x -= size;
    if (y < 0) y += size;
    if (y >= size) y -= size;
    a.x = x;
    a.y = y;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 2000000;
    int g = 4;
    while ((long long)g * g * 4 < n) g++;
    int cells = g * g;

    std::vector<Agent> host(n);
    uint64_t seed = 88172645463325252ull;
    for (int i = 0; i < n; i++) {
        float r[4];
        for (int k = 0; k < 4; k++) {
            seed ^= seed << 13; seed ^= seed >> 7; seed ^= seed << 17;
            r[k] = (float)((seed >> 40) & 0xFFFFFF) / 16777216.0f;
        }
        Agent a = {r[0] * g, r[1] * g, r[2] - 0.5f, r[3] - 0.5f, 0, 0, (unsigned)i, 0,
                   (short)(i % 3), 0, 10.0f};
        if (a.x >= g) a.x = 0;
        if (a.y >= g) a.y = 0;
        host[i] = a;
    }

    Agent *d_agents, *d_sorted;
    int *d_count, *d_start, *d_fill;
    check(cudaMalloc((void **)&d_agents, n * sizeof(Agent)), "malloc agents");
    check(cudaMalloc((void **)&d_sorted, n * sizeof(Agent)), "malloc sorted");
    check(cudaMalloc((void **)&d_count, cells * sizeof(int)), "malloc count");
    check(cudaMalloc((void **)&d_start, cells * sizeof(int)), "malloc start");
    check(cudaMalloc((void **)&d_fill, cells * sizeof(int)), "malloc fill");
    check(cudaMemcpy(d_agents, host.data(), n * sizeof(Agent), cudaMemcpyHostToDevice), "copy in");

    const int threads = 128, blocks = (n + threads - 1) / threads, steps = 25;
    cudaEvent_t begin, finish;
    check(cudaEventCreate(&begin), "event");
    check(cudaEventCreate(&finish), "event");
    for (int s = -1; s < steps; s++) {
        if (s == 0) check(cudaEventRecord(begin), "record");
        check(cudaMemsetAsync(d_count, 0, cells * sizeof(int)), "memset");
        check(cudaMemsetAsync(d_fill, 0, cells * sizeof(int)), "memset");
        assignCells<<<blocks, threads>>>(d_agents, d_count, n, g);
        thrust::device_ptr<int> cnt(d_count), st(d_start);
        thrust::exclusive_scan(thrust::device, cnt, cnt + cells, st);
        scatter<<<blocks, threads>>>(d_agents, d_sorted, d_start, d_fill, n);
        interact<<<blocks, threads>>>(d_sorted, d_start, d_count, n, g);
        move<<<blocks, threads>>>(d_sorted, n, (float)g, 0.25f);
        Agent *t = d_agents; d_agents = d_sorted; d_sorted = t;
        if (s < 0) check(cudaDeviceSynchronize(), "warm-up");
    }
    check(cudaEventRecord(finish), "record");
    check(cudaEventSynchronize(finish), "steps");
    check(cudaGetLastError(), "launch");
    float ms;
    check(cudaEventElapsedTime(&ms, begin, finish), "elapsed");

    check(cudaMemcpy(host.data(), d_agents, n * sizeof(Agent), cudaMemcpyDeviceToHost), "copy out");
    long long sum = 0;
    for (int i = 0; i < n; i++)
        sum += (long long)(host[i].id % 7 + 1) * (long long)(host[i].x * 1024.0f + host[i].y * 512.0f)
             + host[i].neighbours * 5 + (long long)(host[i].energy * 64.0f);
    printf("time_ms %.5f\n", ms / steps);
    printf("check %lld\n", sum);
    return 0;
}
