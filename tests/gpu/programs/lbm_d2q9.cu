// D2Q9 lattice Boltzmann (BGK, double precision), channel with obstacles.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>
#include <cuda_runtime.h>

#define CUDA_CHECK(call)                                                        \
    do {                                                                        \
        cudaError_t e_ = (call);                                                \
        if (e_ != cudaSuccess) {                                                \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__,                  \
                    cudaGetErrorString(e_));                                    \
            exit(1);                                                            \
        }                                                                       \
    } while (0)

struct Node {
    double f[9];
    int solid;
};

__constant__ int c_dx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
__constant__ int c_dy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
__constant__ int c_opp[9] = {0, 3, 4, 1, 2, 7, 8, 5, 6};
__constant__ double c_w[9] = {4.0 / 9,  1.0 / 9,  1.0 / 9,  1.0 / 9, 1.0 / 9,
                              1.0 / 36, 1.0 / 36, 1.0 / 36, 1.0 / 36};

__global__ void stream_collide(const Node *src, Node *dst, int nx, int ny, double omega,
                               double gx)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= nx || y >= ny) return;
    int me = y * nx + x;

    if (src[me].solid) {
        for (int k = 0; k < 9; ++k) dst[me].f[k] = src[me].f[k];
        dst[me].solid = 1;
        return;
    }

    double f[9];
#pragma unroll
    for (int k = 0; k < 9; ++k) {
        int xs = x - c_dx[k];
        int ys = y - c_dy[k];
        if (xs < 0) xs += nx;
        if (xs >= nx) xs -= nx;
        if (ys < 0) ys += ny;
        if (ys >= ny) ys -= ny;
        int from = ys * nx + xs;
        f[k] = src[from].solid ? src[me].f[c_opp[k]] : src[from].f[k];
    }

    double rho = f[0] + f[1] + f[2] + f[3] + f[4] + f[5] + f[6] + f[7] + f[8];
    double ux = (f[1] + f[5] + f[8] - f[3] - f[6] - f[7]) / rho + gx;
    double uy = (f[2] + f[5] + f[6] - f[4] - f[7] - f[8]) / rho;
    double usq = 1.5 * (ux * ux + uy * uy);

#pragma unroll
    for (int k = 0; k < 9; ++k) {
        double cu = 3.0 * (c_dx[k] * ux + c_dy[k] * uy);
        double feq = c_w[k] * rho * (1.0 + cu + 0.5 * cu * cu - usq);
        dst[me].f[k] = f[k] + omega * (feq - f[k]);
    }
    dst[me].solid = 0;
}

int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 2097152;
    int nx = 1;
    while ((long)nx * nx < 2 * n) nx *= 2;
    int ny = (int)(n / nx);
    if (ny < 4) ny = 4;
    size_t cells = (size_t)nx * ny;
    const int steps = 40;

    std::vector<Node> h(cells);
    const double w[9] = {4.0 / 9,  1.0 / 9,  1.0 / 9,  1.0 / 9, 1.0 / 9,
                         1.0 / 36, 1.0 / 36, 1.0 / 36, 1.0 / 36};
    for (int y = 0; y < ny; ++y)
        for (int x = 0; x < nx; ++x) {
            Node &c = h[(size_t)y * nx + x];
            double rho = 1.0 + 0.001 * ((x * 13 + y * 7) % 17);
            for (int k = 0; k < 9; ++k) c.f[k] = w[k] * rho;
            int px = x % 128 - 64, py = y % 96 - 48;
            c.solid = (px * px + py * py < 144) || y == 0 || y == ny - 1;
        }

    Node *d_a, *d_b;
    CUDA_CHECK(cudaMalloc(&d_a, cells * sizeof(Node)));
    CUDA_CHECK(cudaMalloc(&d_b, cells * sizeof(Node)));
    CUDA_CHECK(cudaMemcpy(d_a, h.data(), cells * sizeof(Node), cudaMemcpyHostToDevice));

    dim3 block(64, 4);
    dim3 grid((nx + block.x - 1) / block.x, (ny + block.y - 1) / block.y);

    stream_collide<<<grid, block>>>(d_a, d_b, nx, ny, 1.2, 1e-5);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
    std::swap(d_a, d_b);

    cudaEvent_t t0, t1;
    CUDA_CHECK(cudaEventCreate(&t0));
    CUDA_CHECK(cudaEventCreate(&t1));
    CUDA_CHECK(cudaEventRecord(t0));
    for (int s = 0; s < steps; ++s) {
        stream_collide<<<grid, block>>>(d_a, d_b, nx, ny, 1.2, 1e-5);
        std::swap(d_a, d_b);
    }
    CUDA_CHECK(cudaEventRecord(t1));
    CUDA_CHECK(cudaEventSynchronize(t1));
    CUDA_CHECK(cudaGetLastError());
    float ms = 0;
    CUDA_CHECK(cudaEventElapsedTime(&ms, t0, t1));

    CUDA_CHECK(cudaMemcpy(h.data(), d_a, cells * sizeof(Node), cudaMemcpyDeviceToHost));
    double sum = 0;
    for (size_t i = 0; i < cells; ++i) {
        if (h[i].solid) continue;
        const double *f = h[i].f;
        double mx = f[1] + f[5] + f[8] - f[3] - f[6] - f[7];
        double my = f[2] + f[5] + f[6] - f[4] - f[7] - f[8];
        double rho = 0;
        for (int k = 0; k < 9; ++k) rho += f[k];
        sum += rho * (double)(1 + i % 5) + 1000.0 * sqrt(mx * mx + my * my);
    }
    printf("time_ms %.5f\n", ms / steps);
    printf("check %.8g\n", sum);
    cudaFree(d_a);
    cudaFree(d_b);
    return 0;
}
