// Single-cell gene expression: normalise, smooth over the nearest neighbours,
// annotate cells by gene modules, quality statistics.  Generic kernels take
// functors, in the manner of a small algorithms library.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <vector>
#include <cuda_runtime.h>

constexpr int kGenes = 12;

struct CellProfile {
    float expr[kGenes];
    float size;                  // library size
    float mito;                  // mitochondrial fraction
    int module;                  // best gene module
    short batch;
    uint8_t phase;
    bool doublet;
    uint64_t barcode;
};

struct Neighbours {
    int4 id;
    float4 weight;               // sums to one
};

struct Module {
    int gene[4];
    float coef[4];
    float bias;
    unsigned members;
};

// ------------------------------------------------------------ generic kernels

template <typename T, typename Op>
__global__ void forEachKernel(T* data, int n, Op op)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        op(data[i], i);
}

template <typename T, typename Proj>
__global__ void sumKernel(const T* data, int n, Proj proj, unsigned long long* out)
{
    unsigned long long s = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        s += proj(data[i]);
#pragma unroll
    for (int d = 16; d > 0; d /= 2) s += __shfl_down_sync(~0u, s, d);
    __shared__ unsigned long long part[32];
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x < 32) {
        s = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0ull;
        for (int d = 16; d > 0; d /= 2) s += __shfl_down_sync(~0u, s, d);
        if (threadIdx.x == 0) atomicAdd(out, s);
    }
}

template <int Bins, typename T, typename Key>
__global__ void histogramKernel(const T* data, int n, Key key, unsigned* hist)
{
    __shared__ unsigned local[Bins];
    for (int b = threadIdx.x; b < Bins; b += blockDim.x) local[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const int k = key(data[i]);
        if (k >= 0 && k < Bins) atomicAdd(&local[k], 1u);
    }
    __syncthreads();
    for (int b = threadIdx.x; b < Bins; b += blockDim.x)
        if (local[b]) atomicAdd(&hist[b], local[b]);
}

template <typename T, typename Op>
void forEach(T* data, int n, Op op)
{
    forEachKernel<<<(n + 255) / 256, 256>>>(data, n, op);
}

// ------------------------------------------------------------ functors

// scale to a common library size, in place
struct Normalise {
    float target;
    __device__ void operator()(CellProfile& c, int) const
    {
        float total = 0.0f;
        for (int g = 0; g < kGenes; ++g) total += c.expr[g];
        if (total <= 0.0f) return;
        const float f = target / total;
        for (int g = 0; g < kGenes; ++g) c.expr[g] *= f;
        c.size = total;
    }
};

// marker gene of the cell smoothed over its neighbours; outliers become doublets
template <int Marker>
struct Smooth {
    const CellProfile* cells;
    __device__ void operator()(const Neighbours& nb, int i, CellProfile& me) const
    {
        const float a = cells[nb.id.x].expr[Marker] * nb.weight.x;
        const float b = fmaf(cells[nb.id.y].expr[Marker], nb.weight.y, a);
        const float c = fmaf(cells[nb.id.z].expr[Marker], nb.weight.z, b);
        const float d = fmaf(cells[nb.id.w].expr[Marker], nb.weight.w, c);
        me.mito += (d * 0.125f - me.mito) * 0.25f;
        me.doublet = me.expr[Marker] > 6.0f * d && (i & 1);
    }
};

template <typename S>
__global__ void smoothKernel(const Neighbours* nb, CellProfile* cells, int n, S smooth)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) smooth(nb[i], i, cells[i]);
}

// every cell is compared with all modules
struct Annotate {
    Module* modules;
    int count;
    float mitoLimit;
    __device__ void operator()(CellProfile& c, int) const
    {
        if (c.mito > mitoLimit) {           // dying cell
            c.module = -1;
            return;
        }
        float best = -1.0e30f;
        int arg = 0;
        for (int m = 0; m < count; ++m) {
            float s = modules[m].bias;
            for (int k = 0; k < 4; ++k) s = fmaf(c.expr[modules[m].gene[k]], modules[m].coef[k], s);
            if (s > best) {
                best = s;
                arg = m;
            }
        }
        c.module = arg;
    }
};

struct Damp {
    float rate;
    __device__ void operator()(CellProfile& c, int) const
    {
        if (c.module < 0 || c.doublet) return;
        c.expr[c.module % kGenes] *= rate;
        c.phase = (c.phase + 1) % 3;
    }
};

struct SizeOf {
    __device__ unsigned long long operator()(const CellProfile& c) const
    {
        return (unsigned long long)__float2int_rn(c.size);
    }
};

struct ModuleOf {
    __device__ int operator()(const CellProfile& c) const { return c.module; }
};

struct DoubletBatch {
    __device__ int operator()(const CellProfile& c) const { return c.doublet ? c.batch : -1; }
};

// ------------------------------------------------------------ host

struct Lcg {
    uint64_t s;
    uint32_t operator()()
    {
        s = s * 6364136223846793005ull + 1442695040888963407ull;
        return (uint32_t)(s >> 33);
    }
    float unit() { return ((*this)() & 0xffffff) / 16777216.0f; }
};

int main(int argc, char** argv)
{
    const int n = argc > 1 ? std::atoi(argv[1]) : 2000000;
    constexpr int nModules = 48, nBatches = 32;

    Lcg rng{42};
    std::vector<CellProfile> cells(n);
    std::vector<Neighbours> nbs(n);
    std::vector<Module> modules(nModules);
    for (int i = 0; i < n; ++i) {
        CellProfile& c = cells[i];
        const int type = (int)(rng.unit() * rng.unit() * 12);
        for (int g = 0; g < kGenes; ++g) {
            const float u = rng.unit();
            c.expr[g] = u * u * 8.0f + (g == type ? 12.0f : 0.0f);       // mostly low counts
        }
        c.size = 0.0f;
        c.mito = 0.2f * rng.unit();
        c.module = -1;
        c.batch = (short)(i / (n / nBatches + 1));
        c.phase = rng() % 3;
        c.doublet = false;
        c.barcode = 0x5bd1e9955bd1e995ull * (i + 1);
        // neighbours: mostly of the same batch
        int* id = &nbs[i].id.x;
        for (int k = 0; k < 4; ++k) {
            const uint32_t r = rng();
            id[k] = r % 4 == 0 ? (int)(r % n) : (int)((i + r % 30000) % n);
        }
        nbs[i].weight = make_float4(0.4f, 0.3f, 0.2f, 0.1f);
    }
    for (Module& m : modules) {
        for (int k = 0; k < 4; ++k) {
            m.gene[k] = rng() % kGenes;
            m.coef[k] = rng.unit() - 0.25f;
        }
        m.bias = 0.5f * rng.unit();
        m.members = 0;
    }

    CellProfile* dCells = nullptr;
    Neighbours* dNbs = nullptr;
    Module* dModules = nullptr;
    unsigned* dHist = nullptr;
    unsigned long long* dSum = nullptr;
    cudaMalloc(&dCells, n * sizeof(CellProfile));
    cudaMalloc(&dNbs, n * sizeof(Neighbours));
    cudaMalloc(&dModules, nModules * sizeof(Module));
    cudaMalloc(&dHist, (nModules + nBatches) * sizeof(unsigned));
    cudaMalloc(&dSum, sizeof(unsigned long long));
    cudaMemcpy(dCells, cells.data(), n * sizeof(CellProfile), cudaMemcpyHostToDevice);
    cudaMemcpy(dNbs, nbs.data(), n * sizeof(Neighbours), cudaMemcpyHostToDevice);
    cudaMemcpy(dModules, modules.data(), nModules * sizeof(Module), cudaMemcpyHostToDevice);
    cudaMemset(dHist, 0, (nModules + nBatches) * sizeof(unsigned));
    cudaMemset(dSum, 0, sizeof(unsigned long long));

    auto step = [&](int s) {
        const int blocks = (n + 255) / 256;
        forEach(dCells, n, Normalise{64.0f});
        if (s % 2 == 0)
            smoothKernel<<<blocks, 256>>>(dNbs, dCells, n, Smooth<3>{dCells});
        else
            smoothKernel<<<blocks, 256>>>(dNbs, dCells, n, Smooth<0>{dCells});
        forEach(dCells, n, Annotate{dModules, nModules, 1.4f});
        forEach(dCells, n, Damp{0.75f});
        histogramKernel<nModules><<<528, 256>>>(dCells, n, ModuleOf{}, dHist);
        histogramKernel<nBatches><<<528, 256>>>(dCells, n, DoubletBatch{}, dHist + nModules);
        sumKernel<<<528, 256>>>(dCells, n, SizeOf{}, dSum);
    };

    step(0);
    constexpr int steps = 20;
    cudaEvent_t begin, end;
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
    cudaEventRecord(begin);
    for (int s = 1; s <= steps; ++s) step(s);
    cudaEventRecord(end);
    cudaEventSynchronize(end);
    float ms = 0;
    cudaEventElapsedTime(&ms, begin, end);

    std::vector<unsigned> hist(nModules + nBatches);
    unsigned long long total = 0;
    cudaMemcpy(hist.data(), dHist, hist.size() * sizeof(unsigned), cudaMemcpyDeviceToHost);
    cudaMemcpy(&total, dSum, sizeof total, cudaMemcpyDeviceToHost);
    cudaMemcpy(cells.data(), dCells, n * sizeof(CellProfile), cudaMemcpyDeviceToHost);
    if (cudaError_t e = cudaGetLastError()) {
        std::cerr << cudaGetErrorString(e) << "\n";
        return 1;
    }
    uint64_t check = total;
    for (unsigned h : hist) check = check * 7 + h;
    for (const CellProfile& c : cells)
        check += (c.barcode >> 40) * (c.module + 2) + c.phase + c.batch * (c.doublet ? 5 : 1);

    cudaFree(dCells);
    cudaFree(dNbs);
    cudaFree(dModules);
    cudaFree(dHist);
    cudaFree(dSum);
    std::printf("check %llu\n", (unsigned long long)check);
    std::printf("time_ms %.4f\n", ms / steps);
}
