// Coupled two-field sparse matrix-vector power iteration. The CSR nonzeros
// are structs; so are the vector entries.
#include <cuda_runtime.h>
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <iomanip>
#include <string>
#include <vector>

struct Entry {
    int   col;
    float diff;      // diffusion coupling
    float cross;     // coupling between the two fields
    short kind;      // 0: both, 1: only u, 2: only v
    short age;
};

struct Unknown {
    float u, v;
    float mass;
    int   region;
};

#define GPU(x) gpu_ok((x), #x, __LINE__)
inline void gpu_ok(cudaError_t err, const char* expr, int line) {
    if (err == cudaSuccess) return;
    std::cerr << "line " << line << ": " << expr << " -> " << cudaGetErrorString(err) << "\n";
    std::exit(2);
}

constexpr int LANES = 8;   // threads working on one row

__global__ void spmv(const Entry* __restrict__ A, const int* __restrict__ rowPtr,
                     const Unknown* __restrict__ x, Unknown* __restrict__ y, int rows) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int row = t / LANES, lane = t % LANES;
    float su = 0.f, sv = 0.f;
    if (row < rows) {
        for (int k = rowPtr[row] + lane; k < rowPtr[row + 1]; k += LANES) {
            const int c = A[k].col;
            const float d = A[k].diff;
            const float xu = x[c].u, xv = x[c].v;
            if (A[k].kind != 2) su += d * xu + A[k].cross * xv;
            if (A[k].kind != 1) sv += d * xv - A[k].cross * xu;
        }
    }
    for (int o = LANES / 2; o > 0; o >>= 1) {
        su += __shfl_down_sync(0xffffffffu, su, o, LANES);
        sv += __shfl_down_sync(0xffffffffu, sv, o, LANES);
    }
    if (row < rows && lane == 0) {
        y[row].u = su / x[row].mass;
        y[row].v = sv / x[row].mass;
    }
}

__global__ void absMax(const Unknown* y, int rows, int* best) {
    __shared__ int blockBest;
    if (threadIdx.x == 0) blockBest = 0;
    __syncthreads();
    float m = 0.f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < rows; i += gridDim.x * blockDim.x)
        m = fmaxf(m, fmaxf(fabsf(y[i].u), fabsf(y[i].v)));
    atomicMax(&blockBest, __float_as_int(m));   // non-negative floats order like ints
    __syncthreads();
    if (threadIdx.x == 0) atomicMax(best, blockBest);
}

__global__ void rescale(Unknown* x, const Unknown* y, int rows, const int* best) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
    float s = 1.0f / fmaxf(__int_as_float(*best), 1e-20f);
    float keep = x[i].region == 0 ? 0.25f : 0.5f;
    x[i].u = keep * x[i].u + (1.0f - keep) * s * y[i].u;
    x[i].v = keep * x[i].v + (1.0f - keep) * s * y[i].v;
}

int main(int argc, char** argv) {
    const int nnzWanted = argc > 1 ? std::stoi(argv[1]) : 6000000;
    const int rows = std::max(16, nnzWanted / 12);

    unsigned rng = 2463534242u;
    auto next = [&rng]() { rng ^= rng << 13; rng ^= rng >> 17; rng ^= rng << 5; return rng; };

    std::vector<int> rowPtr(rows + 1, 0);
    std::vector<Entry> A;
    A.reserve((size_t)rows * 13);
    std::vector<Unknown> x(rows);
    for (int r = 0; r < rows; ++r) {
        int len = 4 + (int)(next() % 17u);
        for (int k = 0; k < len; ++k) {
            Entry e;
            if (k == 0) e.col = r;
            else if (k % 4 == 3) e.col = (int)(next() % (unsigned)rows);            // far
            else e.col = (int)(((long long)r + next() % 1001u + rows - 500) % rows); // near
            e.diff = 0.1f + (float)(next() % 1000u) * 0.001f;
            e.cross = ((float)(next() % 1000u) - 500.f) * 0.0002f;
            e.kind = (short)(next() % 5u == 0 ? 1 + next() % 2u : 0);
            e.age = (short)(k);
            A.push_back(e);
        }
        rowPtr[r + 1] = (int)A.size();
        x[r].u = 0.5f + 0.5f * (float)(next() % 100u) / 100.f;
        x[r].v = 0.1f * (float)(next() % 10u);
        x[r].mass = 1.0f + (float)(r % 4);
        x[r].region = r % 3;
    }

    Entry* dA; Unknown *dx, *dy; int *dPtr, *dBest;
    GPU(cudaMalloc(&dA, A.size() * sizeof(Entry)));
    GPU(cudaMalloc(&dx, rows * sizeof(Unknown)));
    GPU(cudaMalloc(&dy, rows * sizeof(Unknown)));
    GPU(cudaMalloc(&dPtr, (rows + 1) * sizeof(int)));
    GPU(cudaMalloc(&dBest, sizeof(int)));
    GPU(cudaMemcpy(dA, A.data(), A.size() * sizeof(Entry), cudaMemcpyHostToDevice));
    GPU(cudaMemcpy(dx, x.data(), rows * sizeof(Unknown), cudaMemcpyHostToDevice));
    GPU(cudaMemcpy(dPtr, rowPtr.data(), (rows + 1) * sizeof(int), cudaMemcpyHostToDevice));
    GPU(cudaMemset(dy, 0, rows * sizeof(Unknown)));

    auto step = [&]() {
        spmv<<<(unsigned)(((long long)rows * LANES + 255) / 256), 256>>>(dA, dPtr, dx, dy, rows);
        GPU(cudaMemsetAsync(dBest, 0, sizeof(int)));
        absMax<<<264, 256>>>(dy, rows, dBest);
        rescale<<<(rows + 255) / 256, 256>>>(dx, dy, rows, dBest);
        GPU(cudaGetLastError());
    };

    step();
    GPU(cudaDeviceSynchronize());
    const int iters = 50;
    cudaEvent_t e0, e1;
    GPU(cudaEventCreate(&e0));
    GPU(cudaEventCreate(&e1));
    GPU(cudaEventRecord(e0));
    for (int i = 0; i < iters; ++i) step();
    GPU(cudaEventRecord(e1));
    GPU(cudaEventSynchronize(e1));
    float ms = 0.f;
    GPU(cudaEventElapsedTime(&ms, e0, e1));

    GPU(cudaMemcpy(x.data(), dx, rows * sizeof(Unknown), cudaMemcpyDeviceToHost));
    double sum = 0.0;
    for (int r = 0; r < rows; ++r) sum += (x[r].u + 2.0 * x[r].v) * (1 + r % 3);
    std::cout << "time_ms " << ms / iters << "\n";
    std::cout << "check " << std::setprecision(5) << sum << "\n";
    cudaFree(dA); cudaFree(dx); cudaFree(dy); cudaFree(dPtr); cudaFree(dBest);
    return 0;
}
