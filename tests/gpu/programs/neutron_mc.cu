/* Event-based Monte Carlo neutron transport in a voxelised reactor block.
 * Analog scattering with implicit capture and Russian roulette; continuous
 * energy cross sections on per-material pointwise tables; mesh tallies. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { \
    fprintf(stderr, "CUDA error %s at line %d\n", cudaGetErrorString(e), __LINE__); exit(1); } } while (0)
enum { N_PART = 400000, N_EVENTS = 24, NMAT = 4, NGRID = 4096, REPS = 20, WARM = 2 };
enum { VX = 64, VY = 64, VZ = 32, NVOX = VX * VY * VZ };
#define PITCH 1.6   /* voxel edge, cm */
typedef struct {
    double pos[3];
    double dir[3];
    double energy;            /* MeV */
    unsigned long long rng;
    float weight;
    float sigT, sigS, nuSigF;
    int voxel;
    short alive;              /* 1 flying, 0 killed, -1 leaked */
    short ncoll;
} Neutron;
typedef struct {
    float logE;
    float total, scatter, fission;
    float nubar;
    float elasticFrac;
} XsPoint;
typedef struct { short mat, zone; float density; } Voxel;
typedef struct { double flux, fission; unsigned int collisions, crossings; } Tally;
typedef struct { int count[2]; unsigned int leaked, killed; } Queue;
__constant__ float c_massA[NMAT];

__host__ __device__ static unsigned long long mix64(unsigned long long z)
{
    z += 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

__device__ static double rnd(unsigned long long *s)
{
    *s = *s * 6364136223846793005ull + 1442695040888963407ull;
    return ((double)(mix64(*s) >> 11) + 0.5) * (1.0 / 9007199254740992.0);
}

__device__ static void isotropic(double *d, unsigned long long *s)
{
    double mu = 2.0 * rnd(s) - 1.0, phi = 6.283185307179586 * rnd(s);
    double q = sqrt(1.0 - mu * mu);
    d[0] = q * cos(phi); d[1] = q * sin(phi); d[2] = mu;
}

__global__ void source_kernel(Neutron *p, int *queue, Queue *q, int n, unsigned long long batch)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0) { q->count[0] = n; q->count[1] = 0; q->leaked = 0; q->killed = 0; }
    if (i >= n) return;
    unsigned long long s = mix64(batch * 1000003ull + (unsigned long long)i);
    int ix = VX / 4 + (int)(rnd(&s) * (VX / 2));
    int iy = VY / 4 + (int)(rnd(&s) * (VY / 2));
    int iz = VZ / 4 + (int)(rnd(&s) * (VZ / 2));
    p[i].pos[0] = (ix + rnd(&s)) * PITCH; p[i].pos[1] = (iy + rnd(&s)) * PITCH; p[i].pos[2] = (iz + rnd(&s)) * PITCH;
    isotropic(p[i].dir, &s);
    p[i].energy = 0.5 - 1.3 * log(rnd(&s));
    p[i].weight = 1.0f;
    p[i].voxel = (iz * VY + iy) * VX + ix;
    p[i].alive = 1; p[i].ncoll = 0;
    p[i].rng = s;
    queue[i] = i;
}

/* Binary search on the material's energy grid. */
__global__ void lookup_kernel(Neutron *p, const int *queue, const Queue *q, int which,
                              const XsPoint *xs, const Voxel *vox)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= q->count[which]) return;
    int i = queue[k];
    Voxel v = vox[p[i].voxel];
    const XsPoint *t = xs + v.mat * NGRID;
    float le = (float)log(p[i].energy);
    int lo = 0, hi = NGRID - 1;
    while (hi - lo > 1) {
        int mid = (lo + hi) >> 1;
        if (t[mid].logE <= le) lo = mid; else hi = mid;
    }
    float w = (le - t[lo].logE) / (t[hi].logE - t[lo].logE);
    w = fminf(fmaxf(w, 0.0f), 1.0f);
    p[i].sigT = v.density * (t[lo].total + w * (t[hi].total - t[lo].total));
    p[i].sigS = v.density * (t[lo].scatter + w * (t[hi].scatter - t[lo].scatter));
    p[i].nuSigF = v.density * t[lo].nubar * (t[lo].fission + w * (t[hi].fission - t[lo].fission));
}

/* Fly to the nearer of collision or voxel face; sigT < 0 marks "no collision". */
__global__ void advance_kernel(Neutron *p, const int *queue, const Queue *q, int which, Tally *tally)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= q->count[which]) return;
    Neutron *n = p + queue[k];
    unsigned long long s = n->rng;
    int vx = n->voxel;
    int idx[3] = { vx % VX, (vx / VX) % VY, vx / (VX * VY) };
    const int dim[3] = { VX, VY, VZ };
    double best = 1e30;
    int axis = 0;
    for (int a = 0; a < 3; a++) {
        double d = n->dir[a];
        if (fabs(d) < 1e-12) continue;
        double dist = fmax(0.0, ((idx[a] + (d > 0.0)) * PITCH - n->pos[a]) / d);
        if (dist < best) { best = dist; axis = a; }
    }
    double dcol = -log(rnd(&s)) / n->sigT;
    int hit = dcol < best;
    double dist = hit ? dcol : best;
    for (int a = 0; a < 3; a++) n->pos[a] += dist * n->dir[a];
    atomicAdd(&tally[vx].flux, (double)n->weight * dist);
    atomicAdd(&tally[vx].fission, (double)n->weight * dist * n->nuSigF);
    if (!hit) {
        idx[axis] += n->dir[axis] > 0.0 ? 1 : -1;
        if (idx[axis] < 0 || idx[axis] >= dim[axis]) {
            n->alive = -1;
        } else {
            n->voxel = (idx[2] * VY + idx[1]) * VX + idx[0];
            atomicAdd(&tally[n->voxel].crossings, 1u);
        }
        n->sigT = -n->sigT;
    }
    n->rng = s;
}

__global__ void collide_kernel(Neutron *p, const int *queue, const Queue *q, int which,
                               const Voxel *vox, Tally *tally)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= q->count[which]) return;
    Neutron *n = p + queue[k];
    if (n->sigT <= 0.0f) return;
    unsigned long long s = n->rng;
    n->weight *= n->sigS / n->sigT;
    n->ncoll++;
    atomicAdd(&tally[n->voxel].collisions, 1u);
    if (n->weight < 0.25f) {     /* roulette */
        if (rnd(&s) < 0.5) n->weight *= 2.0f; else n->alive = 0;
    }
    float A = c_massA[vox[n->voxel].mat];
    double alpha = (A - 1.0) * (A - 1.0) / ((A + 1.0) * (A + 1.0));
    n->energy = fmax(1e-9, n->energy * (alpha + (1.0 - alpha) * rnd(&s)));
    isotropic(n->dir, &s);
    n->rng = s;
}

__global__ void compact_kernel(const Neutron *p, const int *in, int *out, Queue *q, int which)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= q->count[which]) return;
    int i = in[k];
    short a = p[i].alive;
    if (a == 1) out[atomicAdd(&q->count[which ^ 1], 1)] = i;
    else if (a == 0) atomicAdd(&q->killed, 1u);
    else atomicAdd(&q->leaked, 1u);
}

static void build_xs(XsPoint *xs)
{
    static const double scat[NMAT] = { 0.35, 1.10, 0.42, 0.25 }, cap[NMAT] = { 0.010, 0.002, 0.0005, 0.004 };
    for (int m = 0; m < NMAT; m++)
        for (int g = 0; g < NGRID; g++) {
            XsPoint *t = &xs[m * NGRID + g];
            double le = log(1e-9) + (log(20.0) - log(1e-9)) * g / (NGRID - 1);
            double e = exp(le);
            double res = m == 0 && e > 1e-6 && e < 1e-2 ? 1.5 * pow(fabs(sin(le * 9.0)), 12.0) : 0.0;
            double fis = m == 0 ? 0.012 + 0.00006 / sqrt(e + 1e-8) : 0.0;
            t->logE = (float)le;
            t->scatter = (float)(scat[m] * (1.0 + 0.3 * cos(le * (2 + m))) + 0.4 * res);
            t->fission = (float)fis;
            t->total = (float)(t->scatter + fis + cap[m] / sqrt(sqrt(e)) * 0.3 + res);
            t->nubar = (float)(2.43 + 0.1 * e);
            t->elasticFrac = 0.9f;
        }
}

int main(void)
{
    static XsPoint h_xs[NMAT * NGRID];
    Voxel *h_vox = (Voxel *)malloc(NVOX * sizeof(Voxel));
    build_xs(h_xs);
    for (int v = 0; v < NVOX; v++) {
        int x = v % VX, y = (v / VX) % VY;
        int edge = x < 6 || y < 6 || x >= VX - 6 || y >= VY - 6;
        h_vox[v].mat = (short)(edge ? 2 : ((x % 3 == 0 || y % 3 == 0) ? 1 : (mix64(v) % 17 == 0 ? 3 : 0)));
        h_vox[v].zone = (short)(v / (VX * VY));
        h_vox[v].density = 0.9f + 0.2f * (float)(mix64(v + 77) % 1000) / 1000.0f;
    }
    const float mass[NMAT] = { 238.0f, 1.5f, 12.0f, 91.0f };
    CK(cudaMemcpyToSymbol(c_massA, mass, sizeof(mass)));
    Neutron *d_p; XsPoint *d_xs; Voxel *d_vox; Tally *d_tally; Queue *d_q; int *d_list[2];
    CK(cudaMalloc((void **)&d_p, N_PART * sizeof(Neutron)));
    CK(cudaMalloc((void **)&d_xs, sizeof(h_xs)));
    CK(cudaMalloc((void **)&d_vox, NVOX * sizeof(Voxel)));
    CK(cudaMalloc((void **)&d_tally, NVOX * sizeof(Tally)));
    CK(cudaMalloc((void **)&d_q, sizeof(Queue)));
    for (int k = 0; k < 2; k++) CK(cudaMalloc((void **)&d_list[k], N_PART * sizeof(int)));
    CK(cudaMemcpy(d_xs, h_xs, sizeof(h_xs), cudaMemcpyHostToDevice));
    CK(cudaMemcpy(d_vox, h_vox, NVOX * sizeof(Voxel), cudaMemcpyHostToDevice));
    CK(cudaMemset(d_tally, 0, NVOX * sizeof(Tally)));
    const int tpb = 128, nb = (N_PART + tpb - 1) / tpb;
    cudaEvent_t t0, t1;
    CK(cudaEventCreate(&t0)); CK(cudaEventCreate(&t1));
    double total_ms = 0.0;
    for (int rep = 0; rep < WARM + REPS; rep++) {
        CK(cudaEventRecord(t0, 0));
        source_kernel<<<nb, tpb>>>(d_p, d_list[0], d_q, N_PART, (unsigned long long)rep);
        int cur = 0;
        for (int ev = 0; ev < N_EVENTS; ev++) {
            lookup_kernel<<<nb, tpb>>>(d_p, d_list[cur], d_q, cur, d_xs, d_vox);
            advance_kernel<<<nb, tpb>>>(d_p, d_list[cur], d_q, cur, d_tally);
            collide_kernel<<<nb, tpb>>>(d_p, d_list[cur], d_q, cur, d_vox, d_tally);
            CK(cudaMemsetAsync(&d_q->count[cur ^ 1], 0, sizeof(int), 0));
            compact_kernel<<<nb, tpb>>>(d_p, d_list[cur], d_list[cur ^ 1], d_q, cur);
            cur ^= 1;
        }
        CK(cudaEventRecord(t1, 0));
        CK(cudaEventSynchronize(t1));
        float ms;
        CK(cudaEventElapsedTime(&ms, t0, t1));
        if (rep >= WARM) total_ms += ms;
    }
    CK(cudaGetLastError());
    Tally *h_t = (Tally *)malloc(NVOX * sizeof(Tally));
    Queue h_q;
    CK(cudaMemcpy(h_t, d_tally, NVOX * sizeof(Tally), cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(&h_q, d_q, sizeof(Queue), cudaMemcpyDeviceToHost));
    double flux = 0, fis = 0, coll = 0, cross = 0;
    for (int v = 0; v < NVOX; v++) {
        flux += h_t[v].flux; fis += h_t[v].fission;
        coll += h_t[v].collisions; cross += h_t[v].crossings;
    }
    printf("check flux %.9g\n", flux / (REPS + WARM));
    printf("check nu_fission %.9g\n", fis / (REPS + WARM));
    printf("check collisions %.9g\ncheck crossings %.9g\n", coll, cross);
    printf("check leaked %.9g\ncheck killed %.9g\n", (double)h_q.leaked, (double)h_q.killed);
    printf("time_ms %.5f\n", total_ms / REPS);
    cudaFree(d_p); cudaFree(d_xs); cudaFree(d_vox); cudaFree(d_tally); cudaFree(d_q);
    cudaFree(d_list[0]); cudaFree(d_list[1]); free(h_vox); free(h_t);
    return 0;
}
