// Curvature of a scanned road surface. The scan is a long triangulated strip,
// 256 vertices across; each vertex has a list of adjacent vertices (CSR).
// The curvature is that of the umbrella operator, blended over several passes.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cmath>
#include <vector>

#define CUDA_CALL(x) do { cudaError_t e = (x); if (e != cudaSuccess) { \
    printf("CUDA error %s at %s:%d\n", cudaGetErrorString(e), __FILE__, __LINE__); \
    exit(1); } } while (0)

#define STRIP_WIDTH 256
#define BLOCK 128

struct Vertex {
    float x, y, z;
    float quality;    // reliability of the measurement, 0..1
    float curvature;
};

__global__ void curvature_kernel(Vertex *verts, const int * __restrict__ row_start,
                                 const int * __restrict__ adjacent,
                                 int num_verts, float alpha)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= num_verts) return;

    float px = verts[i].x;
    float py = verts[i].y;
    float pz = verts[i].z;

    float sx = 0.f, sy = 0.f, sz = 0.f, sw = 0.f, len2 = 0.f;
    int last = row_start[i + 1];
    for (int k = row_start[i]; k < last; k++) {
        int j = adjacent[k];
        float w = verts[j].quality;
        float dx = verts[j].x - px;
        float dy = verts[j].y - py;
        float dz = verts[j].z - pz;
        sx += w * dx;
        sy += w * dy;
        sz += w * dz;
        sw += w;
        len2 += w * (dx * dx + dy * dy + dz * dz);
    }
    float c = 0.f;
    if (sw > 0.f && len2 > 0.f)
        c = 2.f * sqrtf(sx * sx + sy * sy + sz * sz) / len2;
    if (sz > 0.f) c = -c;

    verts[i].curvature = (1.f - alpha) * verts[i].curvature + alpha * c;
}

static unsigned int hash32(unsigned int x)
{
    x ^= x >> 16; x *= 0x7feb352dU;
    x ^= x >> 15; x *= 0x846ca68bU;
    x ^= x >> 16;
    return x;
}

static float unit(unsigned int x) { return (hash32(x) >> 8) * (1.0f / 16777216.0f); }

static void build_strip(int rows, std::vector<Vertex> &v, std::vector<int> &start,
                        std::vector<int> &adj)
{
    const int W = STRIP_WIDTH;
    // a triangulated grid: the diagonal goes from (r, c) to (r + 1, c + 1)
    const int dr[6] = {-1, -1, 0, 0, 1, 1};
    const int dc[6] = {-1, 0, -1, 1, 0, 1};
    for (int r = 0; r < rows; r++) {
        for (int c = 0; c < W; c++) {
            int i = r * W + c;
            Vertex &p = v[i];
            p.x = 0.05f * (c + 0.4f * unit(3 * i));
            p.y = 0.05f * ((r % 4096) + 0.4f * unit(3 * i + 1));
            p.z = 0.02f * sinf(0.07f * c) + 0.01f * unit(3 * i + 2);
            p.quality = 0.1f + 0.9f * unit(i ^ 0x5bd1e995);
            p.curvature = 0.0f;
            start[i] = (int)adj.size();
            for (int k = 0; k < 6; k++) {
                int rr = r + dr[k], cc = c + dc[k];
                if (rr >= 0 && rr < rows && cc >= 0 && cc < W)
                    adj.push_back(rr * W + cc);
            }
        }
    }
    start[rows * W] = (int)adj.size();
}

int main(int argc, char *argv[])
{
    int wanted = (argc > 1) ? atoi(argv[1]) : 4194304;
    int rows = wanted / STRIP_WIDTH;
    if (rows < 2) rows = 2;
    int n = rows * STRIP_WIDTH;
    const int steps = 40;

    std::vector<Vertex> verts(n);
    std::vector<int> start(n + 1), adj;
    adj.reserve((size_t)n * 6);
    build_strip(rows, verts, start, adj);

    Vertex *d_verts;
    int *d_start, *d_adj;
    CUDA_CALL(cudaMalloc((void **)&d_verts, sizeof(Vertex) * n));
    CUDA_CALL(cudaMalloc((void **)&d_start, sizeof(int) * (n + 1)));
    CUDA_CALL(cudaMalloc((void **)&d_adj, sizeof(int) * adj.size()));
    CUDA_CALL(cudaMemcpy(d_verts, verts.data(), sizeof(Vertex) * n, cudaMemcpyHostToDevice));
    CUDA_CALL(cudaMemcpy(d_start, start.data(), sizeof(int) * (n + 1), cudaMemcpyHostToDevice));
    CUDA_CALL(cudaMemcpy(d_adj, adj.data(), sizeof(int) * adj.size(), cudaMemcpyHostToDevice));

    int grid = (n + BLOCK - 1) / BLOCK;
    curvature_kernel<<<grid, BLOCK>>>(d_verts, d_start, d_adj, n, 1.0f);
    CUDA_CALL(cudaDeviceSynchronize());

    cudaEvent_t t0, t1;
    CUDA_CALL(cudaEventCreate(&t0));
    CUDA_CALL(cudaEventCreate(&t1));
    CUDA_CALL(cudaEventRecord(t0, 0));
    for (int s = 0; s < steps; s++)
        curvature_kernel<<<grid, BLOCK>>>(d_verts, d_start, d_adj, n, 1.0f / (s + 2));
    CUDA_CALL(cudaEventRecord(t1, 0));
    CUDA_CALL(cudaEventSynchronize(t1));
    CUDA_CALL(cudaGetLastError());
    float ms;
    CUDA_CALL(cudaEventElapsedTime(&ms, t0, t1));

    CUDA_CALL(cudaMemcpy(verts.data(), d_verts, sizeof(Vertex) * n, cudaMemcpyDeviceToHost));
    unsigned long long h = 1469598103934665603ULL;
    for (int i = 0; i < n; i++) {
        unsigned int bits;
        memcpy(&bits, &verts[i].curvature, sizeof(bits));
        h = (h ^ bits) * 1099511628211ULL;
    }

    printf("time_ms %.5f\n", ms / steps);
    printf("check %llu\n", h);

    cudaFree(d_verts);
    cudaFree(d_start);
    cudaFree(d_adj);
    return 0;
}
