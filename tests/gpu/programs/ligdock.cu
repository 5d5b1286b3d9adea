/*
 * ligdock - rigid-body Monte Carlo docking of one small ligand into a
 *           receptor pocket, many independent walkers ("poses") at once.
 *
 * Receptor atoms are binned into a uniform grid (CSR-style cell ranges,
 * atoms sorted by cell), energy = 12-6 LJ + screened coulomb inside cutoff.
 *
 *   ./ligdock [n_poses] [n_mc_steps]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <cuda_runtime.h>

#define gpuErrchk(ans) { gpuAssert((ans), __FILE__, __LINE__); }
static inline void gpuAssert(cudaError_t code, const char *file, int line)
{
    if (code != cudaSuccess) {
        fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line);
        exit(code);
    }
}

#define N_LIG       20
#define N_REC       8192
#define GRID_DIM    13
#define CELL_SIZE   6.0f
#define CUTOFF2     36.0f
#define GRID_ORG    (-39.0f)
#define MAX_CLASH   6
#define BLOCK       128

typedef struct { float w, x, y, z; } quat;

typedef struct {
    float3 pos;
    float  charge;
    float  sigma;
    float  eps;
    int    type;
    int    residue;
} RecAtom;

typedef struct {
    float3 pos;          /* in ligand frame */
    float  charge;
    float  sigma;
    float  eps;
} LigAtom;

typedef struct { int start, end; } CellRange;

/* current state of one walker and the best it ever saw */
typedef struct {
    quat   rot;
    float3 trans;
    float  energy;
    quat   best_rot;
    float3 best_trans;
    float  best_energy;
    unsigned int rng;
    short  accepted;
    short  rejected;
} Pose;

/* proposed move */
typedef struct {
    quat   rot;
    float3 trans;
    float  e_vdw;
    float  e_elec;
    int    n_clash;
} Trial;

__constant__ LigAtom c_lig[N_LIG];

/* ------------------------------------------------------------------ */
__device__ static float rnd(unsigned int *s)
{
    unsigned int x = *s;
    x ^= x << 13;  x ^= x >> 17;  x ^= x << 5;
    *s = x;
    return (float)(x >> 8) * (1.0f / 16777216.0f);
}

__device__ static quat qmul(quat a, quat b)
{
    quat r;
    r.w = a.w*b.w - a.x*b.x - a.y*b.y - a.z*b.z;
    r.x = a.w*b.x + a.x*b.w + a.y*b.z - a.z*b.y;
    r.y = a.w*b.y - a.x*b.z + a.y*b.w + a.z*b.x;
    r.z = a.w*b.z + a.x*b.y - a.y*b.x + a.z*b.w;
    return r;
}

__device__ static quat qnorm(quat q)
{
    float s = rsqrtf(q.w*q.w + q.x*q.x + q.y*q.y + q.z*q.z);
    q.w *= s; q.x *= s; q.y *= s; q.z *= s;
    return q;
}

__device__ static float3 place(quat q, float3 t, float3 v)
{
    /* v' = v + 2*u x (u x v + w v) */
    float cx = q.y*v.z - q.z*v.y + q.w*v.x;
    float cy = q.z*v.x - q.x*v.z + q.w*v.y;
    float cz = q.x*v.y - q.y*v.x + q.w*v.z;
    return make_float3(v.x + 2.0f*(q.y*cz - q.z*cy) + t.x,
                       v.y + 2.0f*(q.z*cx - q.x*cz) + t.y,
                       v.z + 2.0f*(q.x*cy - q.y*cx) + t.z);
}

__device__ static int cell_coord(float x)
{
    int c = (int)floorf((x - GRID_ORG) / CELL_SIZE);
    return c < 0 ? 0 : (c >= GRID_DIM ? GRID_DIM - 1 : c);
}

/* ------------------------------------------------------------------ */
__global__ void k_propose(const Pose *poses, Pose *poses_rng, Trial *trials, int n,
                          float step_t, float step_r)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;

    unsigned int s = poses[i].rng;
    quat d;
    d.w = 1.0f;
    d.x = step_r * (rnd(&s) - 0.5f);
    d.y = step_r * (rnd(&s) - 0.5f);
    d.z = step_r * (rnd(&s) - 0.5f);

    Trial t;
    t.rot     = qnorm(qmul(d, poses[i].rot));
    t.trans   = poses[i].trans;
    t.trans.x += step_t * (rnd(&s) - 0.5f);
    t.trans.y += step_t * (rnd(&s) - 0.5f);
    t.trans.z += step_t * (rnd(&s) - 0.5f);
    t.e_vdw   = 0.0f;
    t.e_elec  = 0.0f;
    t.n_clash = 0;
    trials[i] = t;
    poses_rng[i].rng = s;
}

/* cheap hard-core test against the own cell only, gives up early */
__global__ void k_clash(Trial *trials, const RecAtom *rec, const CellRange *cells, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;

    int clash = 0;
    for (int a = 0; a < N_LIG; a++) {
        float3 p = place(trials[i].rot, trials[i].trans, c_lig[a].pos);
        int c = (cell_coord(p.z) * GRID_DIM + cell_coord(p.y)) * GRID_DIM + cell_coord(p.x);
        for (int j = cells[c].start; j < cells[c].end; j++) {
            float dx = rec[j].pos.x - p.x, dy = rec[j].pos.y - p.y, dz = rec[j].pos.z - p.z;
            float rmin = 0.35f * (rec[j].sigma + c_lig[a].sigma);
            if (dx*dx + dy*dy + dz*dz < rmin*rmin) clash++;
        }
        if (clash > MAX_CLASH) break;
    }
    trials[i].n_clash = clash;
}

__global__ void k_score(Trial *trials, const RecAtom * __restrict__ rec,
                        const CellRange * __restrict__ cells, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (trials[i].n_clash > MAX_CLASH) {
        trials[i].e_vdw = 1.0e6f;
        return;
    }

    quat   q = trials[i].rot;
    float3 t = trials[i].trans;
    float  vdw = 0.0f, elec = 0.0f;

    for (int a = 0; a < N_LIG; a++) {
        float3 p = place(q, t, c_lig[a].pos);
        int cx = cell_coord(p.x), cy = cell_coord(p.y), cz = cell_coord(p.z);

        for (int z = max(cz - 1, 0); z <= min(cz + 1, GRID_DIM - 1); z++)
        for (int y = max(cy - 1, 0); y <= min(cy + 1, GRID_DIM - 1); y++) {
            /* cells along x are contiguous: one range per row */
            int row = (z * GRID_DIM + y) * GRID_DIM;
            int beg = cells[row + max(cx - 1, 0)].start;
            int end = cells[row + min(cx + 1, GRID_DIM - 1)].end;
            for (int j = beg; j < end; j++) {
                float3 r = rec[j].pos;
                float dx = r.x - p.x, dy = r.y - p.y, dz = r.z - p.z;
                float d2 = dx*dx + dy*dy + dz*dz;
                if (d2 > CUTOFF2) continue;
                d2 = fmaxf(d2, 1.0f);
                float sg  = 0.5f * (rec[j].sigma + c_lig[a].sigma);
                float s2  = sg * sg / d2;
                float s6  = s2 * s2 * s2;
                float eps = sqrtf(rec[j].eps * c_lig[a].eps);
                vdw  += 4.0f * eps * (s6 * s6 - s6);
                elec += 332.0f * rec[j].charge * c_lig[a].charge / (4.0f * d2);
            }
        }
    }
    trials[i].e_vdw  = vdw;
    trials[i].e_elec = elec;
}

__global__ void k_metropolis(Pose *poses, const Trial *trials, int n, float beta)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;

    Pose *p = poses + i;
    const Trial *t = trials + i;
    float e = t->e_vdw + t->e_elec;
    float de = e - p->energy;

    unsigned int s = p->rng;
    float u = rnd(&s);
    p->rng = s;

    if (de > 0.0f && u >= expf(-beta * de)) {
        p->rejected++;
        return;
    }
    p->rot    = t->rot;
    p->trans  = t->trans;
    p->energy = e;
    p->accepted++;
    if (e < p->best_energy) {
        p->best_energy = e;
        p->best_rot    = t->rot;
        p->best_trans  = t->trans;
    }
}

/* argmin over walkers; key = order-preserving float bits << 32 | index */
__global__ void k_best(const Pose *poses, int n, unsigned long long *best)
{
    __shared__ unsigned long long sh[BLOCK];
    unsigned long long mine = ~0ULL;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned int b = __float_as_uint(poses[i].best_energy);
        b = (b & 0x80000000u) ? ~b : (b | 0x80000000u);
        unsigned long long key = ((unsigned long long)b << 32) | (unsigned int)i;
        if (key < mine) mine = key;
    }
    sh[threadIdx.x] = mine;
    __syncthreads();
    for (int s = BLOCK / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s && sh[threadIdx.x + s] < sh[threadIdx.x])
            sh[threadIdx.x] = sh[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicMin(best, sh[0]);
}

/* ------------------------------------------------------------------ */
static unsigned long long lcg_state = 88172645463325252ULL;
static float frand(void)
{
    lcg_state = lcg_state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (float)(lcg_state >> 40) / 16777216.0f;
}

static int host_cell(const RecAtom *a)
{
    int x = (int)floorf((a->pos.x - GRID_ORG) / CELL_SIZE);
    int y = (int)floorf((a->pos.y - GRID_ORG) / CELL_SIZE);
    int z = (int)floorf((a->pos.z - GRID_ORG) / CELL_SIZE);
    return (z * GRID_DIM + y) * GRID_DIM + x;
}

static void make_receptor(RecAtom *out, CellRange *cells)
{
    const int nc = GRID_DIM * GRID_DIM * GRID_DIM;
    RecAtom *tmp = (RecAtom *)malloc(N_REC * sizeof(RecAtom));
    int *fill = (int *)calloc(nc + 1, sizeof(int));
    int n = 0;
    while (n < N_REC) {
        RecAtom a;
        a.pos = make_float3(64.0f * frand() - 32.0f, 64.0f * frand() - 32.0f, 64.0f * frand() - 32.0f);
        float r2 = a.pos.x*a.pos.x + a.pos.y*a.pos.y + a.pos.z*a.pos.z;
        if (r2 > 32.0f * 32.0f) continue;
        if (r2 < 9.0f * 9.0f) continue;                 /* the pocket */
        a.type    = (int)(frand() * 5.0f);
        a.charge  = 0.6f * (frand() - 0.5f);
        a.sigma   = 2.6f + 0.25f * a.type;
        a.eps     = 0.05f + 0.03f * a.type;
        a.residue = n / 8;
        tmp[n++] = a;
    }
    for (int i = 0; i < N_REC; i++) fill[host_cell(&tmp[i]) + 1]++;
    for (int c = 0; c < nc; c++) fill[c + 1] += fill[c];
    for (int c = 0; c < nc; c++) { cells[c].start = fill[c]; cells[c].end = fill[c + 1]; }
    for (int i = 0; i < N_REC; i++) out[fill[host_cell(&tmp[i])]++] = tmp[i];
    free(tmp);
    free(fill);
}

static void mc_step(Pose *d_poses, Trial *d_trials, RecAtom *d_rec, CellRange *d_cells,
                    int n, int step)
{
    int nb = (n + BLOCK - 1) / BLOCK;
    float temper = 1.0f + 0.15f * step;
    k_propose<<<nb, BLOCK>>>(d_poses, d_poses, d_trials, n, 1.2f / temper, 0.5f / temper);
    k_clash<<<nb, BLOCK>>>(d_trials, d_rec, d_cells, n);
    k_score<<<nb, BLOCK>>>(d_trials, d_rec, d_cells, n);
    k_metropolis<<<nb, BLOCK>>>(d_poses, d_trials, n, 0.4f * temper);
    gpuErrchk(cudaPeekAtLastError());
}

int main(int argc, char **argv)
{
    int n_poses = argc > 1 ? atoi(argv[1]) : 262144;
    int n_steps = argc > 2 ? atoi(argv[2]) : 8;
    const int nc = GRID_DIM * GRID_DIM * GRID_DIM;

    RecAtom   *rec   = (RecAtom *)malloc(N_REC * sizeof(RecAtom));
    CellRange *cells = (CellRange *)malloc(nc * sizeof(CellRange));
    Pose      *poses = (Pose *)malloc(n_poses * sizeof(Pose));
    LigAtom    lig[N_LIG];

    make_receptor(rec, cells);
    for (int a = 0; a < N_LIG; a++) {
        float th = 0.7f * a;
        lig[a].pos    = make_float3(2.2f * cosf(th), 2.2f * sinf(th), 0.35f * (a - N_LIG / 2));
        lig[a].charge = 0.5f * (frand() - 0.5f);
        lig[a].sigma  = 2.8f + 0.4f * frand();
        lig[a].eps    = 0.08f;
    }
    for (int i = 0; i < n_poses; i++) {
        Pose *p = &poses[i];
        memset(p, 0, sizeof *p);
        float w = frand() - 0.5f, x = frand() - 0.5f, y = frand() - 0.5f, z = frand() - 0.5f;
        float s = 1.0f / sqrtf(w*w + x*x + y*y + z*z + 1e-6f);
        p->rot.w = w*s; p->rot.x = x*s; p->rot.y = y*s; p->rot.z = z*s;
        p->trans = make_float3(14.0f * (frand() - 0.5f), 14.0f * (frand() - 0.5f), 14.0f * (frand() - 0.5f));
        p->energy = p->best_energy = 1.0e7f;
        p->best_rot   = p->rot;
        p->best_trans = p->trans;
        p->rng = 2463534242u + 7919u * (unsigned)i;
        if (p->rng == 0) p->rng = 1;
    }

    RecAtom *d_rec; CellRange *d_cells; Pose *d_poses; Trial *d_trials; unsigned long long *d_best;
    gpuErrchk(cudaMalloc((void **)&d_rec,    N_REC * sizeof(RecAtom)));
    gpuErrchk(cudaMalloc((void **)&d_cells,  nc * sizeof(CellRange)));
    gpuErrchk(cudaMalloc((void **)&d_poses,  n_poses * sizeof(Pose)));
    gpuErrchk(cudaMalloc((void **)&d_trials, n_poses * sizeof(Trial)));
    gpuErrchk(cudaMalloc((void **)&d_best,   sizeof(unsigned long long)));
    gpuErrchk(cudaMemcpy(d_rec,   rec,   N_REC * sizeof(RecAtom),  cudaMemcpyHostToDevice));
    gpuErrchk(cudaMemcpy(d_cells, cells, nc * sizeof(CellRange),   cudaMemcpyHostToDevice));
    gpuErrchk(cudaMemcpy(d_poses, poses, n_poses * sizeof(Pose),   cudaMemcpyHostToDevice));
    gpuErrchk(cudaMemcpyToSymbol(c_lig, lig, sizeof(lig)));
    gpuErrchk(cudaMemset(d_best, 0xff, sizeof(unsigned long long)));

    mc_step(d_poses, d_trials, d_rec, d_cells, n_poses, 0);      /* warm-up, counts as step 0 */
    gpuErrchk(cudaDeviceSynchronize());

    cudaEvent_t e0, e1;
    float ms;
    cudaEventCreate(&e0);
    cudaEventCreate(&e1);
    cudaEventRecord(e0);
    for (int s = 1; s <= n_steps; s++)
        mc_step(d_poses, d_trials, d_rec, d_cells, n_poses, s);
    k_best<<<256, BLOCK>>>(d_poses, n_poses, d_best);
    cudaEventRecord(e1);
    gpuErrchk(cudaEventSynchronize(e1));
    cudaEventElapsedTime(&ms, e0, e1);

    unsigned long long best;
    gpuErrchk(cudaMemcpy(&best, d_best, sizeof best, cudaMemcpyDeviceToHost));
    gpuErrchk(cudaMemcpy(poses, d_poses, n_poses * sizeof(Pose), cudaMemcpyDeviceToHost));

    long long acc = 0, rej = 0, esum = 0;
    for (int i = 0; i < n_poses; i++) {
        acc += poses[i].accepted;
        rej += poses[i].rejected;
        float e = poses[i].best_energy;
        if (e < 1000.0f) esum += llroundf(e * 10.0f);
    }
    int bi = (int)(best & 0xffffffffu);
    printf("check accepted %lld\n", acc);
    printf("check rejected %lld\n", rej);
    printf("check energy_x10 %lld\n", esum);
    printf("check best_pose %d\n", bi);
    printf("check best_energy_x100 %lld\n", (long long)llroundf(poses[bi].best_energy * 100.0f));
    printf("time_ms %.3f\n", ms);

    cudaFree(d_rec); cudaFree(d_cells); cudaFree(d_poses); cudaFree(d_trials); cudaFree(d_best);
    free(rec); free(cells); free(poses);
    return 0;
}
