// Re-ordering of molecular-dynamics atoms by cell.
// bin_atoms scatters whole 72-byte records through a permutation,
// probe_energy gathers whole records at random, charge_by_slot gathers just one float.
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>

struct Atom {
    double pos[3];
    double vel[3];
    float  charge;
    float  mass;
    int    species;
    int    cell;
    short  bonds;
    short  frozen;
};

namespace {

constexpr int LOGN = 22;
constexpr int N = 1 << LOGN;
constexpr uint32_t MASK = N - 1;

void check(cudaError_t e) {
    if (e == cudaSuccess) return;
    std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(e));
    std::exit(1);
}

// bijection on [0, N)
uint32_t shuffle_index(uint32_t x, uint32_t salt) {
    x = (x + salt) & MASK;
    x ^= x >> 11;  x = (x * 0x9E3779B1u) & MASK;
    x ^= x >> 9;   x = (x * 0x85EBCA6Bu) & MASK;
    x ^= x >> 12;
    return x;
}

}  // namespace

__device__ double kinetic(const Atom &a) {
    return 0.5 * a.mass * (a.vel[0] * a.vel[0] + a.vel[1] * a.vel[1] + a.vel[2] * a.vel[2]);
}

__global__ void bin_atoms(const Atom *__restrict__ src, const int *__restrict__ slot, Atom *__restrict__ dst, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) dst[slot[i]] = src[i];
}

__global__ void probe_energy(const Atom *__restrict__ atoms, const int *__restrict__ pick, double *__restrict__ energy, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const Atom a = atoms[pick[i]];
    double e = kinetic(a);
    double r2 = a.pos[0] * a.pos[0] + a.pos[1] * a.pos[1] + a.pos[2] * a.pos[2] + 1.0;
    e += a.charge / r2;
    e += 1e-3 * (a.species + a.bonds) + 1e-7 * a.cell;
    if (a.frozen) e = 0.25 * e;
    energy[i] = e;
}

__global__ void charge_by_slot(const Atom *__restrict__ atoms, const int *__restrict__ slot, float *__restrict__ q, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) q[i] = atoms[slot[i]].charge;
}

int main() {
    auto host = std::make_unique<Atom[]>(N);
    auto slot = std::make_unique<int[]>(N);
    auto pick = std::make_unique<int[]>(N);
    for (int i = 0; i < N; ++i) {
        const uint32_t r = (uint32_t)i * 747796405u + 2891336453u;
        Atom &a = host[i];
        for (int d = 0; d < 3; ++d) {
            a.pos[d] = ((r >> (5 * d)) & 1023) * 0.05;
            a.vel[d] = (int)((r >> (4 * d + 3)) & 255) * 0.01 - 1.28;
        }
        a.charge = (r >> 31) ? 1.0f : -0.5f;
        a.mass = 1.0f + (r >> 27);
        a.species = (r >> 20) & 7;
        a.bonds = (short)((r >> 12) & 3);
        a.frozen = (short)(((r >> 16) & 31) == 0);
        slot[i] = (int)shuffle_index((uint32_t)i, 17u);
        pick[i] = (int)shuffle_index((uint32_t)i, 90001u);
        a.cell = slot[i] >> 4;
    }

    Atom *d_in, *d_sorted;
    int *d_slot, *d_pick;
    double *d_e;
    float *d_q;
    check(cudaMalloc(&d_in, N * sizeof(Atom)));
    check(cudaMalloc(&d_sorted, N * sizeof(Atom)));
    check(cudaMalloc(&d_slot, N * sizeof(int)));
    check(cudaMalloc(&d_pick, N * sizeof(int)));
    check(cudaMalloc(&d_e, N * sizeof(double)));
    check(cudaMalloc(&d_q, N * sizeof(float)));
    check(cudaMemcpy(d_in, host.get(), N * sizeof(Atom), cudaMemcpyHostToDevice));
    check(cudaMemcpy(d_slot, slot.get(), N * sizeof(int), cudaMemcpyHostToDevice));
    check(cudaMemcpy(d_pick, pick.get(), N * sizeof(int), cudaMemcpyHostToDevice));

    const dim3 block(192), grid((N + 191) / 192);
    auto frame = [&]() {
        bin_atoms<<<grid, block>>>(d_in, d_slot, d_sorted, N);
        probe_energy<<<grid, block>>>(d_sorted, d_pick, d_e, N);
        charge_by_slot<<<grid, block>>>(d_sorted, d_slot, d_q, N);
    };
    frame();
    check(cudaDeviceSynchronize());

    cudaEvent_t begin, end;
    check(cudaEventCreate(&begin));
    check(cudaEventCreate(&end));
    check(cudaEventRecord(begin));
    for (int k = 0; k < 12; ++k) frame();
    check(cudaEventRecord(end));
    check(cudaEventSynchronize(end));
    float ms = 0.f;
    check(cudaEventElapsedTime(&ms, begin, end));

    auto e = std::make_unique<double[]>(N);
    auto q = std::make_unique<float[]>(N);
    check(cudaMemcpy(e.get(), d_e, N * sizeof(double), cudaMemcpyDeviceToHost));
    check(cudaMemcpy(q.get(), d_q, N * sizeof(float), cudaMemcpyDeviceToHost));
    check(cudaMemcpy(host.get(), d_sorted, N * sizeof(Atom), cudaMemcpyDeviceToHost));
    double es = 0, qs = 0, ps = 0;
    long long badcell = 0, sp = 0;
    for (int i = 0; i < N; ++i) {
        es += e[i];
        qs += q[i] * (1 + (i & 3));
        ps += host[i].pos[0] * (1 + (i & 7)) + host[i].vel[2];
        sp += (long long)host[i].species * (i & 15) + host[i].bonds;
        badcell += host[i].cell != (i >> 4);
    }
    std::printf("check energy %.6g\n", es);
    std::printf("check charge %.6g\n", qs);
    std::printf("check position %.6g\n", ps);
    std::printf("check species %lld\n", sp);
    std::printf("check badcell %lld\n", badcell);
    std::printf("time_ms %.4f\n", ms);
    for (void *p : {(void *)d_in, (void *)d_sorted, (void *)d_slot, (void *)d_pick, (void *)d_e, (void *)d_q}) cudaFree(p);
    return 0;
}
