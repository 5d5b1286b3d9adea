// Mass spectrometry.
//  normalise   : one warp per 160-byte spectrum, lane k owns peak k
//  match       : tiles of 40-byte peptides staged in shared memory, every thread
//                compares one spectrum against all of the library
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

struct Spectrum {
    float  peak[32];
    double tic;              // total ion current
    float  precursor;
    float  rt;
    int    scan;
    short  charge;
    short  best_bin;
    float  norm;
    int    hit;
};
struct Peptide {
    float mass;
    float rt;
    float frag[4];
    int   id;
    int   length;
    float prior;
    short charge;
    char  decoy;
};

static_assert(sizeof(Spectrum) == 160 && sizeof(Peptide) == 40, "");

constexpr int NSPEC = 2500000;
constexpr int NQUERY = 131072;       // the first NQUERY spectra are matched
constexpr int NPEP = 2000;           // not a multiple of the tile
constexpr int TILE = 128;

__global__ void normalise(Spectrum *spec, int n)
{
    const int lane = threadIdx.x & 31;
    const int warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    if (warp >= n) return;                        // whole warps leave together
    Spectrum &s = spec[warp];
    const float p = s.peak[lane];
    float sum = p, best = p;
    int where = lane;
    for (int o = 16; o > 0; o >>= 1) {
        sum += __shfl_xor_sync(0xffffffffu, sum, o);
        const float b2 = __shfl_xor_sync(0xffffffffu, best, o);
        const int   w2 = __shfl_xor_sync(0xffffffffu, where, o);
        if (b2 > best || (b2 == best && w2 < where)) { best = b2; where = w2; }
    }
    s.peak[lane] = 0.5f * p + 16.f * p / (sum + 1.f);
    if (lane == 0) {
        s.tic = sum;
        s.norm = 1.f / (best + 1e-3f);
        s.best_bin = (short)where;
    }
}

__device__ float score(const Peptide &q, float mz, float rt, float norm)
{
    float d = (q.mass - mz) * norm * 0.05f;
    float t = (q.rt - rt) * 0.01f;
    float s = q.prior / (1.f + d * d + t * t);
    s += 0.001f * (q.frag[0] + q.frag[3]) * norm;
    return q.decoy ? 0.8f * s : s;
}

__global__ void match(const Spectrum *spec, const Peptide *lib, int npep, int nquery, int *hit, float *quality)
{
    __shared__ Peptide tile[TILE];
    const int i = blockIdx.x * TILE + threadIdx.x;
    float mz = 0.f, rt = 0.f, norm = 0.f;
    int z = 0;
    if (i < nquery) {
        mz = spec[i].precursor;
        rt = spec[i].rt;
        norm = spec[i].norm;
        z = spec[i].charge;
    }
    float best = -1.f;
    int arg = -1;
    for (int base = 0; base < npep; base += TILE) {
        const int m = min(TILE, npep - base);
        if ((int)threadIdx.x < m) tile[threadIdx.x] = lib[base + threadIdx.x];
        __syncthreads();
        for (int k = 0; k < m; ++k) {
            if (tile[k].charge != z) continue;
            const float s = score(tile[k], mz, rt, norm);
            if (s > best) { best = s; arg = tile[k].id; }
        }
        __syncthreads();
    }
    if (i < nquery) { hit[i] = arg; quality[i] = best; }
}

int main()
{
    Spectrum *h = (Spectrum *)malloc(sizeof(Spectrum) * (size_t)NSPEC);
    Peptide *lib = (Peptide *)calloc(NPEP, sizeof(Peptide));
    for (int i = 0; i < NSPEC; ++i) {
        Spectrum *s = h + i;
        unsigned r = (unsigned)i * 0x9E3779B1u + 0x7F4A7C15u; r ^= r >> 16;
        for (int k = 0; k < 32; ++k) { unsigned q = (r >> (k & 7)) * (k + 3u); s->peak[k] = (float)(q >> 4 & 1023); }
        s->tic = 0.0;
        s->precursor = 300.f + (float)(r & 2047);
        s->rt = (float)(r >> 11 & 4095);
        s->scan = i;
        s->charge = (short)(1 + (r >> 23) % 3u);
        s->best_bin = -1;
        s->norm = 0.f;
        s->hit = -1;
    }
    for (int i = 0; i < NPEP; ++i) {
        unsigned r = (unsigned)i * 2654435761u; r ^= r >> 15;
        lib[i].mass = 300.f + (float)(r % 2048u);
        lib[i].rt = (float)(r >> 10 & 4095);
        for (int k = 0; k < 4; ++k) lib[i].frag[k] = (float)(r >> (6 * k) & 63);
        lib[i].id = i * 3 + 1;
        lib[i].length = 6 + i % 30;
        lib[i].prior = 0.5f + (float)(r & 15) * 0.05f;
        lib[i].charge = (short)(1 + i % 3);
        lib[i].decoy = (char)(i % 4 == 3);
    }

    Spectrum *d_spec = nullptr; Peptide *d_lib = nullptr; int *d_hit = nullptr; float *d_q = nullptr;
    bool ok = cudaMalloc(&d_spec, sizeof(Spectrum) * (size_t)NSPEC) == cudaSuccess
           && cudaMalloc(&d_lib, sizeof(Peptide) * NPEP) == cudaSuccess
           && cudaMalloc(&d_hit, sizeof(int) * NQUERY) == cudaSuccess
           && cudaMalloc(&d_q, sizeof(float) * NQUERY) == cudaSuccess
           && cudaMemcpy(d_spec, h, sizeof(Spectrum) * (size_t)NSPEC, cudaMemcpyHostToDevice) == cudaSuccess
           && cudaMemcpy(d_lib, lib, sizeof(Peptide) * NPEP, cudaMemcpyHostToDevice) == cudaSuccess;
    if (!ok) { fprintf(stderr, "set-up failed: %s\n", cudaGetErrorString(cudaGetLastError())); return 1; }

    const int wpb = 8;                                        // warps per block
    const int nblk = (NSPEC + wpb - 1) / wpb;
    const int mblk = (NQUERY + TILE - 1) / TILE;
    normalise<<<nblk, wpb * 32>>>(d_spec, NSPEC);
    match<<<mblk, TILE>>>(d_spec, d_lib, NPEP, NQUERY, d_hit, d_q);
    cudaDeviceSynchronize();
    cudaEvent_t b, e;
    cudaEventCreate(&b); cudaEventCreate(&e);
    cudaEventRecord(b);
    for (int it = 0; it < 10; ++it) {
        normalise<<<nblk, wpb * 32>>>(d_spec, NSPEC);
        match<<<mblk, TILE>>>(d_spec, d_lib, NPEP, NQUERY, d_hit, d_q);
    }
    cudaEventRecord(e);
    cudaError_t rc = cudaEventSynchronize(e);
    if (rc != cudaSuccess) { fprintf(stderr, "%s\n", cudaGetErrorString(rc)); return 1; }
    float ms = 0; cudaEventElapsedTime(&ms, b, e);

    int *hit = (int *)malloc(sizeof(int) * NQUERY);
    float *q = (float *)malloc(sizeof(float) * NQUERY);
    cudaMemcpy(h, d_spec, sizeof(Spectrum) * (size_t)NSPEC, cudaMemcpyDeviceToHost);
    cudaMemcpy(hit, d_hit, sizeof(int) * NQUERY, cudaMemcpyDeviceToHost);
    cudaMemcpy(q, d_q, sizeof(float) * NQUERY, cudaMemcpyDeviceToHost);
    double tic = 0, pk = 0, qs = 0; long long bins = 0, scans = 0, hits = 0;
    for (int i = 0; i < NSPEC; ++i) {
        tic += h[i].tic; pk += h[i].peak[i & 31]; bins += h[i].best_bin; scans += h[i].scan + h[i].hit;
    }
    for (int i = 0; i < NQUERY; ++i) { hits += hit[i]; qs += q[i]; }
    printf("check tic %.6g\ncheck peaks %.6g\ncheck bins %lld\ncheck scans %lld\n", tic, pk, bins, scans);
    printf("check hits %lld\ncheck quality %.6g\n", hits, qs);
    printf("time_ms %.4f\n", ms);
    free(h); free(lib); free(hit); free(q);
    cudaFree(d_spec); cudaFree(d_lib); cudaFree(d_hit); cudaFree(d_q);
    return 0;
}
