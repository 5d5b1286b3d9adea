// cortex_sheet.cu
//
// A sheet of leaky integrate-and-fire neurons in 16.16-style fixed point, as the
// neuromorphic people do it.  Each neuron has a fixed fan-out of plastic synapses;
// mini-columns of 64 neurons share a pool of inhibition.

#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <utility>

inline void checkCudaErrors(cudaError_t e)
{
    if (e != cudaSuccess) {
        std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(e));
        std::exit(1);
    }
}

constexpr int kFanOut = 24;
constexpr int kColumn = 64;
constexpr int kRest = 0;
constexpr int kReset = -4 * 1024;

struct Neuron {
    int32_t potential;
    int32_t current;        // decaying synaptic current
    int32_t inbox;          // atomically collected input of this tick
    int32_t threshold;
    uint32_t noise;
    int32_t lastSpike;
    uint32_t spikeCount;
    int16_t refractory;
    uint8_t leakShift;
    uint8_t inhibitory;
    int32_t calcium;
};

struct Synapse {
    int32_t target;
    int16_t weight;
    int16_t trace;
};

struct Column {
    int32_t activity;
    int32_t inhibition;
    uint32_t total;
    int32_t gain;
};

__host__ __device__ inline uint32_t mix(uint32_t x)
{
    x ^= x >> 16; x *= 0x7feb352du;
    x ^= x >> 15; x *= 0x846ca68bu;
    x ^= x >> 16;
    return x;
}

template <int FAN>
__global__ void wireUp(Neuron* cells, Synapse* syn, int n, int side)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const uint32_t h = mix(i + 77u);
    Neuron c{};
    c.potential = (int)(h & 0x7fff);
    c.threshold = (40 << 10) + (int)((h >> 5) & 0xfff);
    c.noise = h;
    c.lastSpike = -1000;
    c.leakShift = (uint8_t)(4 + (h >> 20) % 3);
    c.inhibitory = (h >> 24) % 5 == 0;
    cells[i] = c;
    const int x = i % side, y = i / side;
    for (int k = 0; k < FAN; ++k) {
        const uint32_t r = mix(h + 0x9e3779b9u * (k + 1));
        int tx = x + (int)(r & 63) - 32;
        int ty = y + (int)((r >> 6) & 63) - 32;
        tx = (tx + side) % side;
        ty = (ty + side) % side;
        Synapse s;
        s.target = ty * side + tx;
        const int w = 1200 + (int)((r >> 12) & 1023);
        s.weight = (int16_t)(c.inhibitory ? -2 * w : w);
        s.trace = 0;
        syn[(size_t)i * FAN + k] = s;
    }
}

// membrane update; spike flag is lastSpike == tick
__global__ void integrate(Neuron* cells, const Column* cols, int n, int tick)
{
    const int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i >= n) return;
    Neuron c = cells[i];
    c.noise = c.noise * 1664525u + 1013904223u;
    c.current += c.inbox - (c.current >> 2);
    c.inbox = 0;
    if (c.refractory > 0) {
        --c.refractory;
    } else {
        const int drive = (int)(c.noise >> 20) - 500;         // -500 .. 3595
        c.potential += (kRest - c.potential) >> c.leakShift;
        c.potential += c.current + drive - cols[i / kColumn].inhibition;
        if (c.potential < -65536) c.potential = -65536;
        if (c.potential > c.threshold) {
            c.potential = kReset;
            c.refractory = c.inhibitory ? 2 : 4;
            c.lastSpike = tick;
            c.spikeCount++;
            c.calcium += 4096;
        }
    }
    cells[i] = c;
}

// one warp-friendly pass over all (neuron, synapse) pairs of spiking neurons
template <int FAN>
__global__ void propagate(Neuron* cells, Synapse* __restrict__ syn, int n, int tick)
{
    const long long total = (long long)n * FAN;
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long k = (long long)blockIdx.x * blockDim.x + threadIdx.x; k < total; k += step) {
        const int pre = (int)(k / FAN);
        if (cells[pre].lastSpike != tick) continue;
        Synapse s = syn[k];
        atomicAdd(&cells[s.target].inbox, (int)s.weight);
        // spike-timing plasticity: the post neuron fired shortly before -> depress
        const int dt = tick - cells[s.target].lastSpike;
        if (s.weight > 0) {
            if (dt > 0 && dt < 16)
                s.weight = (int16_t)max(s.weight - (32 >> (dt >> 2)), 200);
            else
                s.weight = (int16_t)min(s.weight + 6, 4000);
        }
        s.trace = (int16_t)(s.trace - (s.trace >> 3) + 256);
        syn[k].weight = s.weight;
        syn[k].trace = s.trace;
    }
}

// slow homeostasis: thresholds follow the calcium level
__global__ void homeostasis(Neuron* cells, int n)
{
    const int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i >= n) return;
    int ca = cells[i].calcium;
    ca -= ca >> 5;
    cells[i].calcium = ca;
    int th = cells[i].threshold;
    th += (ca - 6000) >> 7;
    cells[i].threshold = min(max(th, 20 << 10), 90 << 10);
}

// one block per group of mini-columns, 64 threads per column
__global__ void columnPool(const Neuron* cells, Column* cols, int n, int tick)
{
    __shared__ int count[4];
    if (threadIdx.y < 4 && threadIdx.x == 0) count[threadIdx.y] = 0;
    __syncthreads();
    const int col = blockIdx.x * blockDim.y + threadIdx.y;
    const int i = col * kColumn + threadIdx.x;
    if (i < n && cells[i].lastSpike == tick) atomicAdd(&count[threadIdx.y], 1);
    __syncthreads();
    if (threadIdx.x == 0 && i < n) {
        Column& c = cols[col];
        c.activity += count[threadIdx.y] * 256 - (c.activity >> 3);
        c.inhibition = (c.activity * c.gain) >> 8;
        c.total += count[threadIdx.y];
    }
}

class Sheet {
public:
    explicit Sheet(int side) : side_(side), n_(side * side), nCols_(side * side / kColumn)
    {
        checkCudaErrors(cudaMalloc(&cells_, sizeof(Neuron) * n_));
        checkCudaErrors(cudaMalloc(&syn_, sizeof(Synapse) * (size_t)n_ * kFanOut));
        checkCudaErrors(cudaMalloc(&cols_, sizeof(Column) * nCols_));
        std::vector<Column> c(nCols_);
        for (int i = 0; i < nCols_; ++i) c[i] = Column{0, 0, 0u, 120 + i % 60};
        checkCudaErrors(cudaMemcpy(cols_, c.data(), sizeof(Column) * nCols_, cudaMemcpyHostToDevice));
        wireUp<kFanOut><<<(n_ + 127) / 128, 128>>>(cells_, syn_, n_, side_);
        checkCudaErrors(cudaGetLastError());
        checkCudaErrors(cudaDeviceSynchronize());
    }
    ~Sheet() { cudaFree(cells_); cudaFree(syn_); cudaFree(cols_); }

    void tick(int t)
    {
        const int blocks = (n_ + 255) / 256;
        integrate<<<blocks, 256>>>(cells_, cols_, n_, t);
        propagate<kFanOut><<<132 * 16, 256>>>(cells_, syn_, n_, t);
        homeostasis<<<blocks, 256>>>(cells_, n_);
        columnPool<<<(nCols_ + 3) / 4, dim3(kColumn, 4)>>>(cells_, cols_, n_, t);
    }

    void report() const
    {
        std::vector<Neuron> c(n_);
        std::vector<Synapse> s((size_t)n_ * kFanOut);
        std::vector<Column> k(nCols_);
        checkCudaErrors(cudaMemcpy(c.data(), cells_, sizeof(Neuron) * c.size(), cudaMemcpyDeviceToHost));
        checkCudaErrors(cudaMemcpy(s.data(), syn_, sizeof(Synapse) * s.size(), cudaMemcpyDeviceToHost));
        checkCudaErrors(cudaMemcpy(k.data(), cols_, sizeof(Column) * k.size(), cudaMemcpyDeviceToHost));
        uint64_t spikes = 0, state = 0, weights = 0, columns = 0;
        for (const Neuron& x : c) {
            spikes += x.spikeCount;
            state = state * 31 + (uint32_t)x.potential + 7u * (uint32_t)x.current + 11u * (uint32_t)x.inbox +
                    13u * (uint32_t)x.threshold + 17u * (uint32_t)x.calcium + 19u * (uint32_t)x.refractory +
                    x.noise + 23u * (uint32_t)x.lastSpike;
        }
        for (const Synapse& x : s) weights = weights * 3 + (uint16_t)x.weight + 5u * (uint16_t)x.trace + (uint32_t)x.target;
        for (const Column& x : k) columns = columns * 7 + (uint32_t)x.activity + x.total + 3u * (uint32_t)x.inhibition;
        std::printf("check spikes %llu\n", (unsigned long long)spikes);
        std::printf("check neurons %llu\n", (unsigned long long)state);
        std::printf("check synapses %llu\n", (unsigned long long)weights);
        std::printf("check columns %llu\n", (unsigned long long)columns);
    }

private:
    int side_, n_, nCols_;
    Neuron* cells_ = nullptr;
    Synapse* syn_ = nullptr;
    Column* cols_ = nullptr;
};

int main(int argc, char** argv)
{
    int side = argc > 1 ? std::atoi(argv[1]) : 1536;
    side = (side + 63) / 64 * 64;
    const int ticks = argc > 2 ? std::atoi(argv[2]) : 80;
    Sheet sheet(side);
    for (int t = 0; t < 20; ++t) sheet.tick(t);      // let it get going

    cudaEvent_t a, b;
    checkCudaErrors(cudaEventCreate(&a));
    checkCudaErrors(cudaEventCreate(&b));
    checkCudaErrors(cudaEventRecord(a));
    for (int t = 20; t < 20 + ticks; ++t) sheet.tick(t);
    checkCudaErrors(cudaEventRecord(b));
    checkCudaErrors(cudaEventSynchronize(b));
    checkCudaErrors(cudaGetLastError());
    float ms = 0.f;
    checkCudaErrors(cudaEventElapsedTime(&ms, a, b));
    std::printf("time_ms %.5f\n", ms / ticks);
    sheet.report();
    checkCudaErrors(cudaEventDestroy(a));
    checkCudaErrors(cudaEventDestroy(b));
    return 0;
}
