// Genome-scale gene regulatory network for a small population of cells.
// A Boolean layer (promoter open / closed) runs on top of mRNA / protein ODEs
// with Hill-type regulation.  The regulatory graph is stored as CSR and is
// shared by all cells.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include <cuda_runtime.h>

#define gpuErrchk(ans) { gpuAssert((ans), __FILE__, __LINE__); }
inline void gpuAssert(cudaError_t code, const char* file, int line)
{
    if (code != cudaSuccess) {
        fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line);
        exit(code);
    }
}

constexpr int kGenes  = 20000;
constexpr int kCells  = 64;
constexpr int kSteps  = 50;
constexpr int kBlock  = 256;

struct GeneParam {
    float basal;
    float vmax;
    float degM;
    float transl;
    float degP;
    int   linkBegin;
    short linkCount;
    unsigned char isTF;
    unsigned char defaultOn;
    int   chromosome;
};

struct RegLink {
    int   src;
    float kHalf;
    float weight;
    signed char   sign;      // +1 activator, -1 repressor
    unsigned char strength;  // Boolean weight
    short family;
};

struct GeneState {
    float mrna;
    float protein;
    float txRate;
    float peak;
    float age;               // time since last switch
    int   switches;
    unsigned char on;
    unsigned char nextOn;
    unsigned short burst;
};

struct CellContext {
    float volume;
    float resource;          // shared ribosome pool, 0..1
    float signal[4];
    double totalProtein;
    int   seed;
    int   openGenes;
};

// --------------------------------------------------------------- Boolean layer
__global__ void booleanUpdate(GeneState* __restrict__ states, const GeneParam* __restrict__ genes,
                              const RegLink* __restrict__ links, const CellContext* __restrict__ cells,
                              int step)
{
    const int g = blockIdx.x * blockDim.x + threadIdx.x;
    const int c = blockIdx.y;
    if (g >= kGenes) return;

    GeneState* mine = states + static_cast<size_t>(c) * kGenes;
    const int begin = genes[g].linkBegin;
    const int end   = begin + genes[g].linkCount;

    int score = 0;
    for (int l = begin; l < end; ++l) {
        if (mine[links[l].src].on)
            score += links[l].sign * links[l].strength;
    }
    unsigned char next = mine[g].on;
    if (score > 0) next = 1;
    else if (score < 0) next = 0;
    // stimulus arriving from outside
    if (((g + cells[c].seed + step * 131) % 997) == 0) next = 1;
    if (score == 0 && ((g * 7 + step * 53 + c) % 211) == 0) next = genes[g].defaultOn;
    mine[g].nextOn = next;
}

__global__ void booleanCommit(GeneState* states, float dt, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    GeneState& s = states[i];
    if (s.nextOn != s.on) {
        s.on = s.nextOn;
        s.switches++;
        s.age = 0.0f;
        if (s.on) s.burst = 3;
    } else {
        s.age += dt;
        if (s.burst > 0) s.burst--;
    }
}

// ------------------------------------------------------------------- ODE layer
template <int N>
__device__ __forceinline__ float hill(float x, float k)
{
    float xn = x, kn = k;
#pragma unroll
    for (int i = 1; i < N; ++i) { xn *= x; kn *= k; }
    return xn / (xn + kn);
}

template <int N>
__global__ void regulate(GeneState* states, const GeneParam* __restrict__ genes,
                         const RegLink* __restrict__ links, const CellContext* __restrict__ cells)
{
    const int g = blockIdx.x * blockDim.x + threadIdx.x;
    const int c = blockIdx.y;
    if (g >= kGenes) return;
    GeneState* mine = states + static_cast<size_t>(c) * kGenes;

    const GeneParam p = genes[g];
    float act = 0.0f, rep = 1.0f;
    for (int l = p.linkBegin; l < p.linkBegin + p.linkCount; ++l) {
        const RegLink& lk = links[l];
        const float h = hill<N>(mine[lk.src].protein, lk.kHalf);
        if (lk.sign > 0)
            act += lk.weight * h;
        else
            rep *= 1.0f - lk.weight * h;
    }
    float rate = p.basal + p.vmax * act * rep;
    if (mine[g].burst > 0) rate *= 1.5f;
    if (!mine[g].on) rate *= 0.2f;
    rate *= 1.0f + 0.1f * cells[c].signal[g & 3];
    mine[g].txRate = rate;
}

__device__ void advance(GeneState& s, const GeneParam& p, float resource, float dt)
{
    const float m0 = s.mrna;
    // Heun step for the mRNA, midpoint mRNA for the protein
    const float k1 = s.txRate - p.degM * m0;
    const float k2 = s.txRate - p.degM * (m0 + dt * k1);
    const float m1 = m0 + 0.5f * dt * (k1 + k2);
    const float mm = 0.5f * (m0 + m1);
    s.mrna = m1;
    s.protein += dt * (p.transl * resource * mm - p.degP * s.protein);
}

__global__ void integrate(GeneState* states, const GeneParam* __restrict__ genes,
                          const CellContext* __restrict__ cells, float dt)
{
    const int g = blockIdx.x * blockDim.x + threadIdx.x;
    const int c = blockIdx.y;
    if (g >= kGenes) return;
    GeneState& s = states[static_cast<size_t>(c) * kGenes + g];
    advance(s, genes[g], cells[c].resource, dt);
    if (genes[g].isTF) s.peak = fmaxf(s.peak, s.protein);
}

// One block per cell: total protein and number of open promoters.
__global__ void cellSummary(const GeneState* __restrict__ states, CellContext* cells)
{
    __shared__ double sumP[kBlock];
    __shared__ int    sumOn[kBlock];
    const int c = blockIdx.x;
    double acc = 0.0;
    int open = 0;
    for (int g = threadIdx.x; g < kGenes; g += blockDim.x) {
        const GeneState* s = &states[static_cast<size_t>(c) * kGenes + g];
        acc += s->protein;
        open += s->on;
    }
    sumP[threadIdx.x] = acc;
    sumOn[threadIdx.x] = open;
    __syncthreads();
    for (int off = kBlock / 2; off > 0; off /= 2) {
        if (threadIdx.x < off) {
            sumP[threadIdx.x] += sumP[threadIdx.x + off];
            sumOn[threadIdx.x] += sumOn[threadIdx.x + off];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        CellContext& cc = cells[c];
        cc.totalProtein = sumP[0];
        cc.openGenes = sumOn[0];
        cc.resource = 1.0f / (1.0f + static_cast<float>(sumP[0] / (4.0e4 * cc.volume)));
        cc.volume += 0.0005f * (2.0f - cc.volume);
    }
}

int main()
{
    std::mt19937 gen(4242);
    auto uni = [&gen](float lo, float hi) {
        return lo + (hi - lo) * (static_cast<float>(gen() >> 8) * (1.0f / 16777216.0f));
    };

    std::vector<GeneParam> genes(kGenes);
    std::vector<RegLink> links;
    for (int g = 0; g < kGenes; ++g) {
        GeneParam& p = genes[g];
        p.basal = uni(0.02f, 0.2f);
        p.vmax = uni(0.2f, 1.5f);
        p.degM = uni(0.1f, 0.4f);
        p.transl = uni(0.3f, 1.2f);
        p.degP = uni(0.05f, 0.2f);
        p.linkBegin = static_cast<int>(links.size());
        int cnt = 2 + static_cast<int>(gen() % 6);
        if (gen() % 40 == 0) cnt += 24;            // hub target
        p.linkCount = static_cast<short>(cnt);
        p.isTF = gen() % 12 == 0;
        p.defaultOn = gen() & 1;
        p.chromosome = g * 23 / kGenes;
        for (int k = 0; k < cnt; ++k) {
            RegLink l{};
            // mostly distant regulators, some neighbours on the chromosome
            l.src = (gen() % 4 == 0) ? static_cast<int>((g + gen() % 64) % kGenes)
                                     : static_cast<int>(gen() % kGenes);
            l.kHalf = uni(0.5f, 4.0f);
            l.sign = (gen() % 5 < 3) ? 1 : -1;
            l.weight = l.sign > 0 ? uni(0.1f, 0.5f) : uni(0.1f, 0.8f);
            l.strength = static_cast<unsigned char>(1 + gen() % 3);
            l.family = static_cast<short>(l.src % 61);
            links.push_back(l);
        }
    }
    std::vector<CellContext> cells(kCells);
    for (int c = 0; c < kCells; ++c) {
        cells[c].volume = uni(0.8f, 1.6f);
        cells[c].resource = 1.0f;
        for (float& s : cells[c].signal) s = uni(0.0f, 1.0f);
        cells[c].totalProtein = 0.0;
        cells[c].seed = static_cast<int>(gen() % 997);
        cells[c].openGenes = 0;
    }
    const int n = kGenes * kCells;
    std::vector<GeneState> st(n);
    for (auto& s : st) {
        s.mrna = uni(0.0f, 1.0f);
        s.protein = uni(0.0f, 3.0f);
        s.txRate = 0.0f;
        s.peak = 0.0f;
        s.age = 0.0f;
        s.switches = 0;
        s.on = gen() % 3 == 0;
        s.nextOn = s.on;
        s.burst = 0;
    }

    GeneState* dStates = nullptr;
    GeneParam* dGenes = nullptr;
    RegLink* dLinks = nullptr;
    CellContext* dCells = nullptr;
    gpuErrchk(cudaMalloc(&dStates, st.size() * sizeof(GeneState)));
    gpuErrchk(cudaMalloc(&dGenes, genes.size() * sizeof(GeneParam)));
    gpuErrchk(cudaMalloc(&dLinks, links.size() * sizeof(RegLink)));
    gpuErrchk(cudaMalloc(&dCells, cells.size() * sizeof(CellContext)));
    gpuErrchk(cudaMemcpy(dStates, st.data(), st.size() * sizeof(GeneState), cudaMemcpyHostToDevice));
    gpuErrchk(cudaMemcpy(dGenes, genes.data(), genes.size() * sizeof(GeneParam), cudaMemcpyHostToDevice));
    gpuErrchk(cudaMemcpy(dLinks, links.data(), links.size() * sizeof(RegLink), cudaMemcpyHostToDevice));
    gpuErrchk(cudaMemcpy(dCells, cells.data(), cells.size() * sizeof(CellContext), cudaMemcpyHostToDevice));

    const dim3 grid((kGenes + kBlock - 1) / kBlock, kCells);
    const float dt = 0.1f;
    cudaEvent_t t0, t1;
    gpuErrchk(cudaEventCreate(&t0));
    gpuErrchk(cudaEventCreate(&t1));

    for (int step = 0; step <= kSteps; ++step) {
        if (step == 1) {
            gpuErrchk(cudaDeviceSynchronize());
            gpuErrchk(cudaEventRecord(t0));
        }
        booleanUpdate<<<grid, kBlock>>>(dStates, dGenes, dLinks, dCells, step);
        booleanCommit<<<(n + kBlock - 1) / kBlock, kBlock>>>(dStates, dt, n);
        if (step % 2 == 0)
            regulate<2><<<grid, kBlock>>>(dStates, dGenes, dLinks, dCells);
        else
            regulate<3><<<grid, kBlock>>>(dStates, dGenes, dLinks, dCells);
        integrate<<<grid, kBlock>>>(dStates, dGenes, dCells, dt);
        cellSummary<<<kCells, kBlock>>>(dStates, dCells);
        if (step == 0) {
            gpuErrchk(cudaGetLastError());
            gpuErrchk(cudaDeviceSynchronize());
            gpuErrchk(cudaMemcpy(cells.data(), dCells, cells.size() * sizeof(CellContext), cudaMemcpyDeviceToHost));
            for (const auto& c : cells)
                if (!(c.totalProtein > 0.0) || c.openGenes <= 0 || c.openGenes > kGenes) {
                    fprintf(stderr, "implausible cell state\n");
                    return 2;
                }
        }
    }
    gpuErrchk(cudaEventRecord(t1));
    gpuErrchk(cudaEventSynchronize(t1));
    gpuErrchk(cudaGetLastError());
    float ms = 0;
    gpuErrchk(cudaEventElapsedTime(&ms, t0, t1));

    gpuErrchk(cudaMemcpy(st.data(), dStates, st.size() * sizeof(GeneState), cudaMemcpyDeviceToHost));
    gpuErrchk(cudaMemcpy(cells.data(), dCells, cells.size() * sizeof(CellContext), cudaMemcpyDeviceToHost));

    long long switches = 0, on = 0, burst = 0, openCells = 0;
    double mrna = 0, prot = 0, peak = 0, age = 0, vol = 0;
    for (const auto& s : st) {
        switches += s.switches;
        on += s.on;
        burst += s.burst;
        mrna += s.mrna;
        prot += s.protein;
        peak += s.peak;
        age += s.age;
    }
    for (const auto& c : cells) {
        openCells += c.openGenes;
        vol += c.volume;
    }
    printf("check switches %lld\n", switches);
    printf("check open %lld\n", on);
    printf("check open_cells %lld\n", openCells);
    printf("check burst %lld\n", burst);
    printf("check mrna %.3e\n", mrna);
    printf("check protein %.3e\n", prot);
    printf("check tf_peak %.3e\n", peak);
    printf("check age %.3e\n", age);
    printf("check volume %.3e\n", vol);
    printf("time_ms %.5f\n", ms / kSteps);

    cudaFree(dStates);
    cudaFree(dGenes);
    cudaFree(dLinks);
    cudaFree(dCells);
    return 0;
}
