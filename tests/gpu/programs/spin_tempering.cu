/* Parallel tempering of a 2D Edwards-Anderson spin glass in a random field.
   Every replica has its own lattice; one managed pool holds all records.
   Energies are integers and acceptance uses integer thresholds computed on the
   host, so the Markov chain is reproducible bit for bit. */
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

#define L        112            /* lattice side, even */
#define NSITE    (L * L)
#define NREP     16
#define SWEEPS   20             /* per timed iteration */
#define MAX_DE   14             /* largest possible positive dE: 2 * (4 + 3) */
#define TILE_X   16
#define TILE_Y   8

typedef unsigned int u32;
typedef unsigned long long u64;

struct Bond {
    signed char right, down;    /* +-1 */
};

struct Site {
    signed char spin;           /* +-1 */
    signed char field;          /* -3 .. 3 */
    Bond bond;
    u32 rng;
    int flips;
    int spinSum;                /* for the time average */
    short overlapHits;
    unsigned char frozen;
    float localTemp;            /* cold: only used by the report */
    double autocorr;
};

struct Replica {
    double beta;
    u32 accept[MAX_DE + 1];     /* thresholds of a 32 bit uniform */
    int energy;
    int mag;
    int label;                  /* which walker is at this temperature */
    u32 rng;
    u32 swaps;
};

struct Histo {
    u32 e[64];
};

static void die(const char *msg, cudaError_t e)
{
    fprintf(stderr, "%s: %s\n", msg, cudaGetErrorString(e));
    exit(1);
}

template <typename T>
static T *managed(size_t n)
{
    T *p = NULL;
    cudaError_t e = cudaMallocManaged(&p, n * sizeof(T), cudaMemAttachGlobal);
    if (e != cudaSuccess) die("cudaMallocManaged", e);
    return p;
}

__device__ __forceinline__ u32 xorshift(u32 x)
{
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return x;
}

__device__ __forceinline__ int wrap(int v)
{
    return v < 0 ? v + L : (v >= L ? v - L : v);
}

/* sum over neighbours of J * s, bonds are stored on the left / upper site */
__device__ int localField(const Site *lat, int x, int y)
{
    int me = y * L + x;
    int r = y * L + wrap(x + 1), l = y * L + wrap(x - 1);
    int d = wrap(y + 1) * L + x, u = wrap(y - 1) * L + x;
    return lat[me].bond.right * lat[r].spin + lat[l].bond.right * lat[l].spin +
           lat[me].bond.down * lat[d].spin + lat[u].bond.down * lat[u].spin + lat[me].field;
}

/* one colour of the checkerboard; z = replica */
__global__ void metropolis(Site *sites, const Replica *reps, int colour)
{
    int half = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int rep = blockIdx.z;
    if (half >= L / 2 || y >= L) return;
    int x = 2 * half + ((y + colour) & 1);
    Site *lat = sites + (size_t)reps[rep].label * NSITE;
    Site *s = &lat[y * L + x];
    if (s->frozen) return;
    int dE = 2 * s->spin * localField(lat, x, y);
    u32 r = xorshift(s->rng);
    s->rng = r;
    if (dE <= 0 || r < reps[rep].accept[dE]) {
        s->spin = (signed char)-s->spin;
        s->flips++;
    }
}

/* tile with halo in shared memory; energy and magnetisation per replica */
__global__ void measure(Site *sites, Replica *reps)
{
    __shared__ signed char sp[TILE_Y + 1][TILE_X + 1];
    int x = blockIdx.x * TILE_X + threadIdx.x;
    int y = blockIdx.y * TILE_Y + threadIdx.y;
    int rep = blockIdx.z;
    Site *lat = sites + (size_t)reps[rep].label * NSITE;
    int e = 0, m = 0;

    if (x < L && y < L) sp[threadIdx.y][threadIdx.x] = lat[y * L + x].spin;
    if (threadIdx.x == TILE_X - 1 && y < L)
        sp[threadIdx.y][TILE_X] = lat[y * L + wrap(x + 1)].spin;
    if (threadIdx.y == TILE_Y - 1 && x < L)
        sp[TILE_Y][threadIdx.x] = lat[wrap(y + 1) * L + x].spin;
    __syncthreads();
    if (x < L && y < L) {
        Site *s = &lat[y * L + x];
        int c = sp[threadIdx.y][threadIdx.x];
        e = -c * (s->bond.right * sp[threadIdx.y][threadIdx.x + 1] +
                  s->bond.down * sp[threadIdx.y + 1][threadIdx.x] + s->field);
        m = c;
        s->spinSum += c;
    }
    for (int o = 16; o > 0; o /= 2) {
        e += __shfl_down_sync(0xffffffffu, e, o);
        m += __shfl_down_sync(0xffffffffu, m, o);
    }
    if (((threadIdx.y * TILE_X + threadIdx.x) & 31) == 0) {
        atomicAdd(&reps[rep].energy, e);
        atomicAdd(&reps[rep].mag, m);
    }
}

/* one block, one thread per pair of neighbouring temperatures */
__global__ void exchange(Replica *reps, Histo *histo, int parity)
{
    int t = threadIdx.x;
    if (t < NREP) {
        int bin = (reps[t].energy + 4 * NSITE) / (NSITE / 8);
        if (bin < 0) bin = 0;
        if (bin > 63) bin = 63;
        atomicAdd(&histo[t].e[bin], 1u);
    }
    __syncthreads();
    int i = 2 * t + parity, j = i + 1;
    if (j < NREP) {
        double a = (reps[i].beta - reps[j].beta) * (double)(reps[i].energy - reps[j].energy);
        u32 r = xorshift(reps[i].rng);
        reps[i].rng = r;
        if (a >= 0.0 || log((r + 0.5) / 4294967296.0) < a) {
            int l = reps[i].label;
            reps[i].label = reps[j].label;
            reps[j].label = l;
            reps[i].swaps++;
        }
    }
    __syncthreads();
    if (t < NREP) {
        reps[t].energy = 0;
        reps[t].mag = 0;
    }
}

/* overlap of walkers (2k, 2k+1), each thread runs along one column */
__global__ void overlaps(Site *sites, int *q)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int pair = blockIdx.y;
    if (x >= L) return;
    Site *a = sites + (size_t)(2 * pair) * NSITE;
    const Site *b = sites + (size_t)(2 * pair + 1) * NSITE;
    int sum = 0;
    for (int y = 0; y < L; ++y) {
        int p = a[y * L + x].spin * b[y * L + x].spin;
        sum += p;
        if (p > 0) a[y * L + x].overlapHits++;
    }
    atomicAdd(&q[pair], sum);
}

static u32 seed = 987654321u;
static u32 rnd(void)
{
    seed = 1664525u * seed + 1013904223u;
    return seed >> 4;
}

int main(void)
{
    Site *sites = managed<Site>((size_t)NREP * NSITE);
    Replica *reps = managed<Replica>(NREP);
    Histo *histo = managed<Histo>(NREP);
    int *q = managed<int>(NREP / 2);

    /* the disorder is shared by all replicas, the spins are not */
    for (int i = 0; i < NSITE; ++i) {
        Bond bond;
        bond.right = rnd() & 1 ? 1 : -1;
        bond.down = rnd() & 1 ? 1 : -1;
        signed char field = (signed char)((int)(rnd() % 7) - 3);
        unsigned char frozen = rnd() % 64 == 0;
        for (int r = 0; r < NREP; ++r) {
            Site *s = &sites[(size_t)r * NSITE + i];
            s->bond = bond;
            s->field = field;
            s->frozen = frozen;
            s->spin = rnd() & 1 ? 1 : -1;
            s->rng = rnd() * 16u + 1u;
            s->flips = 0;
            s->spinSum = 0;
            s->overlapHits = 0;
            s->localTemp = 1.0f;
            s->autocorr = 0.0;
        }
    }
    for (int r = 0; r < NREP; ++r) {
        Replica *p = &reps[r];
        p->beta = 0.25 + 0.05 * r;
        for (int d = 0; d <= MAX_DE; ++d) {
            double t = floor(exp(-p->beta * d) * 4294967295.0);
            p->accept[d] = (u32)t;
        }
        p->energy = 0;
        p->mag = 0;
        p->label = r;
        p->rng = rnd() * 2u + 1u;
        p->swaps = 0;
        for (int b = 0; b < 64; ++b) histo[r].e[b] = 0;
    }
    for (int k = 0; k < NREP / 2; ++k) q[k] = 0;

    cudaEvent_t ev[2];
    cudaEventCreate(&ev[0]);
    cudaEventCreate(&ev[1]);
    dim3 mBlock(28, 8), mGrid((L / 2 + 27) / 28, (L + 7) / 8, NREP);
    dim3 tBlock(TILE_X, TILE_Y), tGrid((L + TILE_X - 1) / TILE_X, (L + TILE_Y - 1) / TILE_Y, NREP);
    const int iterations = 20;
    for (int it = 0; it <= iterations; ++it) {
        if (it == 1) cudaEventRecord(ev[0]);
        for (int s = 0; s < SWEEPS; ++s) {
            metropolis<<<mGrid, mBlock>>>(sites, reps, 0);
            metropolis<<<mGrid, mBlock>>>(sites, reps, 1);
        }
        measure<<<tGrid, tBlock>>>(sites, reps);
        exchange<<<1, 32>>>(reps, histo, it & 1);
        overlaps<<<dim3((L + 31) / 32, NREP / 2), 32>>>(sites, q);
    }
    cudaEventRecord(ev[1]);
    cudaError_t err = cudaDeviceSynchronize();
    if (err != cudaSuccess) die("run", err);
    float ms = 0.0f;
    cudaEventElapsedTime(&ms, ev[0], ev[1]);

    u64 flips = 0, swaps = 0, weighted = 0;
    long long spin = 0, qsum = 0;
    for (size_t i = 0; i < (size_t)NREP * NSITE; ++i) {
        flips += (u64)sites[i].flips;
        spin += sites[i].spinSum * (long long)(1 + i % 7);
    }
    for (int r = 0; r < NREP; ++r) {
        swaps += reps[r].swaps;
        for (int b = 0; b < 64; ++b) weighted += (u64)histo[r].e[b] * (u64)(b + 1) * (u64)(r + 1);
    }
    for (int k = 0; k < NREP / 2; ++k) qsum += q[k] * (k + 1);
    cudaFree(sites);
    cudaFree(reps);
    cudaFree(histo);
    cudaFree(q);
    printf("check %llu/%llu/%llu/%lld/%lld\n", flips, swaps, weighted, spin, qsum);
    printf("time_ms %f\n", ms / iterations);
    return 0;
}
