/*
 * Satellite conjunction screening.
 * Two-body + secular J2 propagation of a debris catalogue, uniform grid hashing,
 * all-on-all pair screening inside neighbouring cells, refinement of candidates.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <cuda_runtime.h>

#define N_OBJ      400000
#define N_BINS     16
#define HASH_BITS  20
#define HASH_SIZE  (1 << HASH_BITS)
#define MAX_CAND   4000000
#define CELL_KM    40.0f
#define SCREEN_KM  25.0f
#define MU_EARTH   398600.4418
#define R_EARTH    6378.137
#define J2_EARTH   1.08262668e-3

#define CK(call) do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { \
    fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); exit(1); } } while (0)

typedef struct {
    double a;          /* semi-major axis, km */
    double ecc;
    double incl;
    double raan;
    double argp;
    double m0;         /* mean anomaly at epoch */
    double n;          /* mean motion rad/s */
    double raan_dot;
    double argp_dot;
    float  bstar;
    float  rcs;
    int    norad_id;
    short  owner;
    char   type;       /* 0 payload, 1 rocket body, 2 debris */
    char   maneuverable;
} OrbitElem;

typedef struct {
    float3 pos;
    float3 vel;
    int    cell_x, cell_y, cell_z;
    int    bucket;
    int    next;
} StateVec;

typedef struct {
    int   first;
    int   second;
    float range;
    float rel_speed;
    float tca;
    float miss;
} Candidate;

typedef struct {
    unsigned int n_close;
    int          min_miss_m;
    unsigned int partner_hash;
    int          last_bin;
    unsigned int risk;
} ObjSummary;

typedef struct {
    unsigned int       candidates;
    unsigned int       close;
    int                min_miss_m;
    unsigned long long hash;
} TimeBin;

__device__ __forceinline__ unsigned int cell_hash(int x, int y, int z)
{
    unsigned int h = (unsigned int)x * 73856093u ^ (unsigned int)y * 19349663u ^ (unsigned int)z * 83492791u;
    h ^= h >> 15;
    return h & (HASH_SIZE - 1);
}

__global__ void precompute_rates(OrbitElem *orb, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double a = orb[i].a, e = orb[i].ecc;
    double mm = sqrt(MU_EARTH / (a * a * a));
    double p = a * (1.0 - e * e);
    double f = 1.5 * J2_EARTH * (R_EARTH / p) * (R_EARTH / p) * mm;
    double ci = cos(orb[i].incl);
    orb[i].n = mm;
    orb[i].raan_dot = -f * ci;
    orb[i].argp_dot = f * (2.0 - 2.5 * (1.0 - ci * ci));
}

__global__ void propagate(const OrbitElem *orb, StateVec *st, int n, double t)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const OrbitElem *o = &orb[i];
    double e = o->ecc;
    double M = fmod(o->m0 + o->n * t, 6.283185307179586);
    double raan = o->raan + o->raan_dot * t;
    double w = o->argp + o->argp_dot * t;
    float Mf = (float)M, ef = (float)e;
    float E = Mf;
    for (int k = 0; k < 5; ++k)
        E -= (E - ef * sinf(E) - Mf) / (1.0f - ef * cosf(E));
    float cE = cosf(E), sE = sinf(E);
    float b = sqrtf(1.0f - ef * ef);
    float af = (float)o->a;
    float xp = af * (cE - ef), yp = af * b * sE;
    float rdot = (float)(o->n) * af / (1.0f - ef * cE);
    float vx = -rdot * sE, vy = rdot * b * cE;
    float cO = (float)cos(raan), sO = (float)sin(raan);
    float cw = (float)cos(w), sw = (float)sin(w);
    float ci = cosf((float)o->incl), si = sinf((float)o->incl);
    float px = cO * cw - sO * sw * ci, qx = -cO * sw - sO * cw * ci;
    float py = sO * cw + cO * sw * ci, qy = -sO * sw + cO * cw * ci;
    float pz = sw * si, qz = cw * si;
    st[i].pos = make_float3(px * xp + qx * yp, py * xp + qy * yp, pz * xp + qz * yp);
    st[i].vel = make_float3(px * vx + qx * vy, py * vx + qy * vy, pz * vx + qz * vy);
}

__global__ void build_grid(StateVec *st, int *heads, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float3 p = st[i].pos;
    int cx = (int)floorf(p.x / CELL_KM), cy = (int)floorf(p.y / CELL_KM), cz = (int)floorf(p.z / CELL_KM);
    int b = (int)cell_hash(cx, cy, cz);
    st[i].cell_x = cx; st[i].cell_y = cy; st[i].cell_z = cz;
    st[i].bucket = b;
    st[i].next = atomicExch(&heads[b], i);
}

__global__ void screen_pairs(const StateVec *st, const int *heads, Candidate *cand, unsigned int *n_cand, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float3 p = st[i].pos;
    int cx = st[i].cell_x, cy = st[i].cell_y, cz = st[i].cell_z;
    for (int dz = -1; dz <= 1; ++dz)
        for (int dy = -1; dy <= 1; ++dy)
            for (int dx = -1; dx <= 1; ++dx) {
                int nx = cx + dx, ny = cy + dy, nz = cz + dz;
                int j = heads[cell_hash(nx, ny, nz)];
                while (j >= 0) {
                    /* chains mix cells: the cell coordinates must match exactly */
                    if (j > i && st[j].cell_x == nx && st[j].cell_y == ny && st[j].cell_z == nz) {
                        float3 q = st[j].pos;
                        float ddx = q.x - p.x, ddy = q.y - p.y, ddz = q.z - p.z;
                        float d2 = ddx * ddx + ddy * ddy + ddz * ddz;
                        if (d2 < SCREEN_KM * SCREEN_KM) {
                            unsigned int k = atomicAdd(n_cand, 1u);
                            if (k < MAX_CAND) {
                                cand[k].first = i; cand[k].second = j;
                                cand[k].range = sqrtf(d2);
                            }
                        }
                    }
                    j = st[j].next;
                }
            }
}

__global__ void refine(Candidate *cand, const unsigned int *n_cand, const StateVec *st, const OrbitElem *orb,
                       ObjSummary *sum, TimeBin *bins, int bin)
{
    unsigned int total = min(*n_cand, (unsigned int)MAX_CAND);
    for (unsigned int k = blockIdx.x * blockDim.x + threadIdx.x; k < total; k += gridDim.x * blockDim.x) {
        int a = cand[k].first, b = cand[k].second;
        float3 pa = st[a].pos, pb = st[b].pos, va = st[a].vel, vb = st[b].vel;
        float rx = pb.x - pa.x, ry = pb.y - pa.y, rz = pb.z - pa.z;
        float wx = vb.x - va.x, wy = vb.y - va.y, wz = vb.z - va.z;
        float w2 = wx * wx + wy * wy + wz * wz + 1e-9f;
        float tca = -(rx * wx + ry * wy + rz * wz) / w2;
        tca = fminf(fmaxf(tca, -30.0f), 30.0f);
        rx += wx * tca; ry += wy * tca; rz += wz * tca;
        float miss = sqrtf(rx * rx + ry * ry + rz * rz);
        cand[k].rel_speed = sqrtf(w2);
        cand[k].tca = tca;
        cand[k].miss = miss;
        int miss_m = (int)(miss * 1000.0f);
        unsigned int h = (unsigned int)(a * 2654435761u) ^ (unsigned int)(b * 40503u);
        atomicMin(&bins[bin].min_miss_m, miss_m);
        if (miss < 5.0f) {
            unsigned int risk = orb[a].type == 2 || orb[b].type == 2 ? 3u : 1u;
            if (!orb[a].maneuverable && !orb[b].maneuverable) risk += 2u;
            atomicAdd(&sum[a].n_close, 1u);
            atomicAdd(&sum[b].n_close, 1u);
            atomicMin(&sum[a].min_miss_m, miss_m);
            atomicMin(&sum[b].min_miss_m, miss_m);
            atomicAdd(&sum[a].risk, risk);
            atomicAdd(&sum[b].risk, risk);
            atomicXor(&sum[a].partner_hash, h);
            sum[a].last_bin = bin; sum[b].last_bin = bin;
            atomicAdd(&bins[bin].close, 1u);
            atomicAdd(&bins[bin].hash, (unsigned long long)h + (unsigned long long)miss_m);
        }
        if (k == 0) bins[bin].candidates = total;
    }
}

static unsigned long long g_seed = 88172645463325252ULL;
static double urand(void)
{
    g_seed = g_seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (double)(g_seed >> 11) * (1.0 / 9007199254740992.0);
}

int main(void)
{
    OrbitElem *h_orb = (OrbitElem *)calloc(N_OBJ, sizeof(OrbitElem));
    ObjSummary *h_sum = (ObjSummary *)calloc(N_OBJ, sizeof(ObjSummary));
    TimeBin h_bins[N_BINS];
    memset(h_bins, 0, sizeof h_bins);
    for (int i = 0; i < N_OBJ; ++i) {
        OrbitElem *o = &h_orb[i];
        double u = urand();
        double alt;
        if (u < 0.45)      alt = 545.0 + 25.0 * urand();                  /* mega-constellation shell */
        else if (u < 0.75) alt = 780.0 + 90.0 * (urand() + urand());      /* collision clouds */
        else if (u < 0.95) alt = 350.0 + 1500.0 * urand();
        else               alt = 19000.0 + 17000.0 * urand();
        o->a = R_EARTH + alt;
        o->ecc = u < 0.45 ? 0.0005 * urand() : 0.02 * urand() * urand();
        o->incl = (u < 0.45 ? 53.0 + 0.2 * urand() : (urand() < 0.5 ? 98.0 + urand() : 30.0 + 70.0 * urand())) * M_PI / 180.0;
        o->raan = 2.0 * M_PI * urand();
        o->argp = 2.0 * M_PI * urand();
        o->m0 = 2.0 * M_PI * urand();
        o->bstar = (float)(1e-4 * urand());
        o->rcs = (float)(0.01 + 5.0 * urand() * urand());
        o->norad_id = 10000 + i;
        o->owner = (short)(urand() * 90);
        o->type = (char)(u < 0.45 ? 0 : (urand() < 0.15 ? 1 : 2));
        o->maneuverable = (char)(o->type == 0 && urand() < 0.9);
        h_sum[i].min_miss_m = 1 << 30;
        h_sum[i].last_bin = -1;
    }
    for (int b = 0; b < N_BINS; ++b) h_bins[b].min_miss_m = 1 << 30;

    OrbitElem *d_orb; StateVec *d_st; Candidate *d_cand; ObjSummary *d_sum; TimeBin *d_bins;
    int *d_heads; unsigned int *d_ncand;
    CK(cudaMalloc((void **)&d_orb, N_OBJ * sizeof(OrbitElem)));
    CK(cudaMalloc((void **)&d_st, N_OBJ * sizeof(StateVec)));
    CK(cudaMalloc((void **)&d_cand, MAX_CAND * sizeof(Candidate)));
    CK(cudaMalloc((void **)&d_sum, N_OBJ * sizeof(ObjSummary)));
    CK(cudaMalloc((void **)&d_bins, N_BINS * sizeof(TimeBin)));
    CK(cudaMalloc((void **)&d_heads, HASH_SIZE * sizeof(int)));
    CK(cudaMalloc((void **)&d_ncand, sizeof(unsigned int)));
    CK(cudaMemcpy(d_orb, h_orb, N_OBJ * sizeof(OrbitElem), cudaMemcpyHostToDevice));
    CK(cudaMemcpy(d_sum, h_sum, N_OBJ * sizeof(ObjSummary), cudaMemcpyHostToDevice));
    CK(cudaMemcpy(d_bins, h_bins, sizeof h_bins, cudaMemcpyHostToDevice));
    CK(cudaMemset(d_st, 0, N_OBJ * sizeof(StateVec)));

    int threads = 256, blocks = (N_OBJ + threads - 1) / threads;
    cudaEvent_t e0, e1;
    CK(cudaEventCreate(&e0)); CK(cudaEventCreate(&e1));
    precompute_rates<<<blocks, threads>>>(d_orb, N_OBJ);
    CK(cudaDeviceSynchronize());
    CK(cudaEventRecord(e0));
    for (int b = 0; b < N_BINS; ++b) {
        CK(cudaMemsetAsync(d_heads, 0xff, HASH_SIZE * sizeof(int)));
        CK(cudaMemsetAsync(d_ncand, 0, sizeof(unsigned int)));
        propagate<<<blocks, threads>>>(d_orb, d_st, N_OBJ, 60.0 * b);
        build_grid<<<blocks, threads>>>(d_st, d_heads, N_OBJ);
        screen_pairs<<<blocks, threads>>>(d_st, d_heads, d_cand, d_ncand, N_OBJ);
        refine<<<1024, threads>>>(d_cand, d_ncand, d_st, d_orb, d_sum, d_bins, b);
    }
    CK(cudaEventRecord(e1)); CK(cudaEventSynchronize(e1));
    CK(cudaGetLastError());
    float ms = 0.0f;
    CK(cudaEventElapsedTime(&ms, e0, e1));

    CK(cudaMemcpy(h_sum, d_sum, N_OBJ * sizeof(ObjSummary), cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(h_bins, d_bins, sizeof h_bins, cudaMemcpyDeviceToHost));
    unsigned long long cands = 0, close = 0, bh = 0, sh = 0, risk = 0;
    double missSum = 0.0;
    for (int b = 0; b < N_BINS; ++b) {
        cands += h_bins[b].candidates; close += h_bins[b].close;
        bh = bh * 31 + h_bins[b].hash + (unsigned long long)h_bins[b].min_miss_m;
    }
    for (int i = 0; i < N_OBJ; ++i) {
        risk += h_sum[i].risk;
        sh = sh * 1099511628211ULL + h_sum[i].partner_hash + 7ULL * h_sum[i].n_close + (unsigned)(h_sum[i].last_bin + 1);
        if (h_sum[i].min_miss_m < (1 << 30)) missSum += h_sum[i].min_miss_m;
    }
    printf("check candidates %llu\n", cands);
    printf("check close_pairs %llu\n", close);
    printf("check bin_hash %llu\n", bh % 1000000007ULL);
    printf("check object_hash %llu\n", sh % 1000000007ULL);
    printf("check risk_total %llu\n", risk);
    printf("check miss_sum_m %.6e\n", missSum);
    printf("time_ms %.4f\n", ms);
    cudaFree(d_orb); cudaFree(d_st); cudaFree(d_cand); cudaFree(d_sum);
    cudaFree(d_bins); cudaFree(d_heads); cudaFree(d_ncand);
    free(h_orb); free(h_sum);
    return 0;
}
