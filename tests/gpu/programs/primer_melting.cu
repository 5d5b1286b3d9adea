// Melting temperatures of DNA primers by nearest-neighbour thermodynamics,
// and a screening of primer pairs for 3' dimers.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

constexpr int MAX_LEN = 28;

struct Primer {
    uint8_t base[MAX_LEN];   // 0 A, 1 C, 2 G, 3 T
    uint8_t length;
    uint8_t strand;
    uint16_t gene;
    float conc;              // nmol
    float tm;
    float gc;
    float dG;
};

struct Stack {
    float dH;
    float dS;
};

struct Pair {
    int forward;
    int reverse;
    float deltaTm;
    int dimer;
};

inline void ok(cudaError_t e) {
    if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

template <class T>
class DeviceArray {
public:
    explicit DeviceArray(const std::vector<T>& host) : size_(host.size()) {
        ok(cudaMalloc(&ptr_, size_ * sizeof(T)));
        ok(cudaMemcpy(ptr_, host.data(), size_ * sizeof(T), cudaMemcpyHostToDevice));
    }
    ~DeviceArray() { cudaFree(ptr_); }
    DeviceArray(const DeviceArray&) = delete;
    DeviceArray& operator=(const DeviceArray&) = delete;
    T* get() const { return ptr_; }
    void download(std::vector<T>& host) const {
        ok(cudaMemcpy(host.data(), ptr_, size_ * sizeof(T), cudaMemcpyDeviceToHost));
    }

private:
    T* ptr_ = nullptr;
    size_t size_;
};

__global__ void meltingKernel(Primer* primers, const Stack* stacks, int n, float saltTerm) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Primer& p = primers[i];
    float h = 0.2f, s = -5.7f;
    int gc = 0;
    int prev = p.base[0];
    gc += prev == 1 || prev == 2;
    for (int k = 1; k < p.length; ++k) {
        int cur = p.base[k];
        const Stack& st = stacks[prev * 4 + cur];
        h += st.dH;
        s += st.dS;
        gc += cur == 1 || cur == 2;
        prev = cur;
    }
    s += 0.368f * (p.length - 1) * saltTerm;
    float rlnC = 1.987f * logf(p.conc * 0.25e-9f);
    p.tm = 1000.0f * h / (s + rlnC) - 273.15f;
    p.dG = h - 310.15f * s * 0.001f;
    p.gc = float(gc) / p.length;
}

__device__ int threePrimeDimer(const Primer& a, const Primer& b) {
    int best = 0, run = 0;
    int la = a.length, lb = b.length;
    for (int k = 0; k < 8; ++k) {
        int x = a.base[la - 1 - k];
        int y = b.base[lb - 8 + k];
        run = (x + y == 3) ? run + 1 : 0;
        best = max(best, run);
    }
    return best;
}

__global__ void pairKernel(Pair* pairs, const Primer* primers, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m) return;
    const Primer& f = primers[pairs[i].forward];
    const Primer& r = primers[pairs[i].reverse];
    pairs[i].deltaTm = fabsf(f.tm - r.tm);
    pairs[i].dimer = threePrimeDimer(f, r);
}

__global__ void tmHistogram(const Primer* primers, int n, float minGc, float maxGc, unsigned long long* hist) {
    __shared__ unsigned int bins[64];
    if (threadIdx.x < 64) bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float gc = primers[i].gc;
        if (gc < minGc || gc > maxGc) continue;
        int b = int((primers[i].tm - 20.0f) * 0.8f);
        b = min(max(b, 0), 63);
        atomicAdd(&bins[b], 1u);
    }
    __syncthreads();
    if (threadIdx.x < 64) atomicAdd(&hist[threadIdx.x], (unsigned long long)bins[threadIdx.x]);
}

int run() {
    const int n = 1500000;
    const int m = 2500000;
    uint64_t state = 0x1234567ull;
    auto rnd = [&state](uint32_t bound) {
        state = state * 2862933555777941757ull + 3037000493ull;
        return uint32_t((state >> 33) % bound);
    };

    std::vector<Primer> primers(n);
    for (auto& p : primers) {
        p.length = uint8_t(18 + rnd(11));
        uint64_t bits = rnd(1u << 30);
        bits = (bits << 30) | rnd(1u << 30);
        for (int k = 0; k < MAX_LEN; ++k) p.base[k] = k < p.length ? uint8_t((bits >> (2 * k)) & 3) : 0;
        p.strand = uint8_t(rnd(2));
        p.gene = uint16_t(rnd(20000));
        p.conc = 100.0f + rnd(400);
        p.tm = p.gc = p.dG = 0.0f;
    }
    std::vector<Pair> pairs(m);
    for (auto& q : pairs) q = Pair{int(rnd(n)), int(rnd(n)), 0.0f, 0};
    // SantaLucia 1998, rows AA AC AG AT CA ...
    std::vector<Stack> stacks = {
        {-7.9f, -22.2f}, {-8.4f, -22.4f}, {-7.8f, -21.0f}, {-7.2f, -20.4f},
        {-8.5f, -22.7f}, {-8.0f, -19.9f}, {-10.6f, -27.2f}, {-7.8f, -21.0f},
        {-8.2f, -22.2f}, {-9.8f, -24.4f}, {-8.0f, -19.9f}, {-8.4f, -22.4f},
        {-7.2f, -21.3f}, {-8.2f, -22.2f}, {-8.5f, -22.7f}, {-7.9f, -22.2f}};
    std::vector<unsigned long long> hist(64, 0);

    DeviceArray<Primer> dPrimers(primers);
    DeviceArray<Pair> dPairs(pairs);
    DeviceArray<Stack> dStacks(stacks);
    DeviceArray<unsigned long long> dHist(hist);

    const int block = 128;
    const float salt = std::log(0.05f);
    auto screen = [&](int round) {
        meltingKernel<<<(n + block - 1) / block, block>>>(dPrimers.get(), dStacks.get(), n, salt + 0.01f * (round % 7));
        pairKernel<<<(m + block - 1) / block, block>>>(dPairs.get(), dPrimers.get(), m);
        tmHistogram<<<660, 256>>>(dPrimers.get(), n, 0.35f, 0.66f, dHist.get());
        tmHistogram<<<660, 256>>>(dPrimers.get(), n, 0.42f, 0.58f, dHist.get());
    };
    cudaEvent_t a, b;
    ok(cudaEventCreate(&a));
    ok(cudaEventCreate(&b));
    for (int r = 0; r < 3; ++r) screen(r);
    const int rounds = 100;
    ok(cudaEventRecord(a));
    for (int r = 0; r < rounds; ++r) screen(r);
    ok(cudaEventRecord(b));
    ok(cudaEventSynchronize(b));
    ok(cudaGetLastError());
    float ms = 0.0f;
    ok(cudaEventElapsedTime(&ms, a, b));

    dPrimers.download(primers);
    dPairs.download(pairs);
    dHist.download(hist);
    double tm = 0.0, gc = 0.0, dg = 0.0, diff = 0.0;
    long long dimers = 0;
    for (const auto& p : primers) {
        tm += p.tm;
        gc += p.gc;
        dg += p.dG;
    }
    for (const auto& q : pairs) {
        diff += q.deltaTm;
        dimers += q.dimer;
    }
    double total = std::accumulate(hist.begin(), hist.end(), 0.0, [](double s, unsigned long long v) { return s + double(v); });
    std::printf("check tm %.6g\n", tm);
    std::printf("check gc %.6g\n", gc);
    std::printf("check dG %.6g\n", dg);
    std::printf("check deltaTm %.6g\n", diff);
    std::printf("check dimers %lld\n", dimers);
    std::printf("check histogram %.4g\n", total);
    std::printf("time_ms %.5f\n", ms / rounds);
    return 0;
}

int main() {
    try {
        return run();
    } catch (const std::exception& e) {
        std::cerr << "failed: " << e.what() << std::endl;
        return 1;
    }
}
