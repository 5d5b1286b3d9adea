// Position-based cloth: Verlet integration followed by Jacobi relaxation of
// the structural and shear constraints. A frame is a series of short launches.
//   usage: cloth_sim [approximate number of masses]
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(call)                                                   \
    {                                                                 \
        const cudaError_t error = call;                               \
        if (error != cudaSuccess) {                                   \
            printf("Error: %s:%d, ", __FILE__, __LINE__);             \
            printf("%s\n", cudaGetErrorString(error));                \
            exit(1);                                                  \
        }                                                             \
    }

struct Mass {
    float3 pos;
    float3 prev;
    float invMass;
    int pinned;
};

struct Correction {
    float3 delta;
    int count;
};

struct Cloth {
    int cols, rows;
    float rest;
    int size() const { return cols * rows; }
};

__global__ void verlet(Mass *m, int n, float dt, float windZ)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (m[i].pinned) return;
    float3 p = m[i].pos;
    float3 q = m[i].prev;
    const float damp = 0.99f;
    float3 next;
    next.x = p.x + (p.x - q.x) * damp;
    next.y = p.y + (p.y - q.y) * damp - 9.81f * dt * dt;
    next.z = p.z + (p.z - q.z) * damp + windZ * m[i].invMass * dt * dt;
    m[i].prev = p;
    m[i].pos = next;
}

__device__ void pull(const Mass &a, const Mass &b, float rest, Correction &c)
{
    float w = a.invMass + b.invMass;
    if (w == 0.0f) return;
    float dx = b.pos.x - a.pos.x;
    float dy = b.pos.y - a.pos.y;
    float dz = b.pos.z - a.pos.z;
    float len = sqrtf(dx * dx + dy * dy + dz * dz) + 1e-9f;
    float s = (len - rest) / len * (a.invMass / w);
    c.delta.x += s * dx;
    c.delta.y += s * dy;
    c.delta.z += s * dz;
    c.count++;
}

__global__ void relax(const Mass *m, Correction *corr, Cloth cloth)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= cloth.cols || y >= cloth.rows) return;
    int i = y * cloth.cols + x;
    Correction c = {make_float3(0.0f, 0.0f, 0.0f), 0};
    for (int dy = -1; dy <= 1; dy++) {
        for (int dx = -1; dx <= 1; dx++) {
            int nx = x + dx, ny = y + dy;
            if ((dx == 0 && dy == 0) || nx < 0 || ny < 0 || nx >= cloth.cols || ny >= cloth.rows) continue;
            float rest = (dx != 0 && dy != 0) ? cloth.rest * 1.41421356f : cloth.rest;
            pull(m[i], m[ny * cloth.cols + nx], rest, c);
        }
    }
    corr[i] = c;
}

__global__ void applyCorrections(Mass *m, const Correction *corr, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || m[i].pinned) return;
    Correction c = corr[i];
    if (c.count > 0) {
        float s = 1.0f / c.count;
        m[i].pos.x += c.delta.x * s;
        m[i].pos.y += c.delta.y * s;
        m[i].pos.z += c.delta.z * s;
    }
}

void frame(Mass *dMass, Correction *dCorr, const Cloth &cloth, float wind)
{
    const int n = cloth.size();
    const int blocks = (n + 127) / 128;
    dim3 tile(16, 8);
    dim3 tiles((cloth.cols + tile.x - 1) / tile.x, (cloth.rows + tile.y - 1) / tile.y);
    for (int sub = 0; sub < 2; sub++) {
        verlet<<<blocks, 128>>>(dMass, n, 1.0f / 240.0f, wind);
        for (int it = 0; it < 12; it++) {
            relax<<<tiles, tile>>>(dMass, dCorr, cloth);
            applyCorrections<<<blocks, 128>>>(dMass, dCorr, n);
        }
    }
}

int main(int argc, char **argv)
{
    int want = argc > 1 ? atoi(argv[1]) : 8192;
    Cloth cloth;
    cloth.cols = (int)sqrt(want * 2.0);
    if (cloth.cols < 2) cloth.cols = 2;
    cloth.rows = want / cloth.cols;
    if (cloth.rows < 2) cloth.rows = 2;
    cloth.rest = 0.02f;
    const int n = cloth.size();

    std::vector<Mass> masses(n);
    unsigned int h = 99u;
    for (int y = 0; y < cloth.rows; y++) {
        for (int x = 0; x < cloth.cols; x++) {
            h = h * 1664525u + 1013904223u;
            Mass &m = masses[y * cloth.cols + x];
            m.pos = make_float3(x * cloth.rest, -y * cloth.rest, 0.002f * ((h >> 16) / 65536.0f));
            m.prev = m.pos;
            m.pinned = (y == 0 && x % 8 == 0);
            m.invMass = m.pinned ? 0.0f : 1.0f + 0.2f * ((h >> 8 & 0xff) / 256.0f);
        }
    }

    Mass *dMass;
    Correction *dCorr;
    CHECK(cudaMalloc(&dMass, n * sizeof(Mass)));
    CHECK(cudaMalloc(&dCorr, n * sizeof(Correction)));
    CHECK(cudaMemcpy(dMass, masses.data(), n * sizeof(Mass), cudaMemcpyHostToDevice));

    frame(dMass, dCorr, cloth, 1.0f);
    CHECK(cudaDeviceSynchronize());

    const int frames = 100;
    cudaEvent_t t0, t1;
    CHECK(cudaEventCreate(&t0));
    CHECK(cudaEventCreate(&t1));
    CHECK(cudaEventRecord(t0));
    for (int f = 0; f < frames; f++) frame(dMass, dCorr, cloth, f < 50 ? 2.0f : -1.0f);
    CHECK(cudaEventRecord(t1));
    CHECK(cudaEventSynchronize(t1));
    CHECK(cudaGetLastError());
    float ms;
    CHECK(cudaEventElapsedTime(&ms, t0, t1));

    CHECK(cudaMemcpy(masses.data(), dMass, n * sizeof(Mass), cudaMemcpyDeviceToHost));
    long long check = 0;
    for (int i = 0; i < n; i++) {
        const Mass &m = masses[i];
        check += (llrint(m.pos.x * 1e3) + 3 * llrint(m.pos.y * 1e3) + 5 * llrint(m.pos.z * 1e3)) * (i % 13 + 1);
        check += llrint(m.prev.x * 1e3) + llrint(m.prev.y * 1e3) + llrint(m.prev.z * 1e3) + m.pinned;
    }
    printf("masses %d\ntime_ms %.5f\ncheck %lld\n", n, ms / frames, check);
    CHECK(cudaFree(dMass));
    CHECK(cudaFree(dCorr));
    return 0;
}
