// Room acoustics by stochastic ray tracing: sources emit rays carrying energy in
// NB octave bands, rays bounce between triangles (specular or diffuse), spherical
// receivers collect energy into time histograms, which are integrated backwards
// (Schroeder) to decay curves.   ray_audio [rays]
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NB 4
#define NRECV 32
#define NBINS 256          /* 4 ms each */
#define TILE 128
#define SPEED 343.0f
#define BIN_TIME 0.004f

typedef struct {
    float3 pos, dir;
    float energy[NB];
    float path;            /* metres since emission */
    unsigned rng;
    int last;              /* triangle just left */
    short bounces;
    unsigned char source, alive;
} Ray;

typedef struct {
    float3 v0, e1, e2;
    float3 n;
    float area;
    int material, object;
} Triangle;

typedef struct {
    float absorb[NB];
    float scatter;
    unsigned long long hits;
    unsigned long long lost;   /* fixed point energy taken from the rays */
} Material;

typedef struct {
    float3 centre;
    float radius;
    int rays;
    unsigned char kind;    /* 1: only sees the upper half space */
} Receiver;

typedef struct {
    unsigned long long e[NB], decay[NB];
    int count;
} HistBin;

#define cu(call) cu_(call, #call)
static void cu_(cudaError_t e, const char *s)
{
    if (e != cudaSuccess) { fprintf(stderr, "%s: %s\n", s, cudaGetErrorString(e)); exit(1); }
}

__host__ __device__ static inline float3 f3(float x, float y, float z) { float3 r; r.x = x; r.y = y; r.z = z; return r; }
__host__ __device__ static inline float3 add(float3 a, float3 b) { return f3(a.x + b.x, a.y + b.y, a.z + b.z); }
__host__ __device__ static inline float3 sub(float3 a, float3 b) { return f3(a.x - b.x, a.y - b.y, a.z - b.z); }
__host__ __device__ static inline float3 mul(float3 a, float s) { return f3(a.x * s, a.y * s, a.z * s); }
__host__ __device__ static inline float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__host__ __device__ static inline float3 cross(float3 a, float3 b)
{
    return f3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

__device__ static inline float next_unit(unsigned *s)
{
    *s = *s * 1664525u + 1013904223u;
    unsigned h = *s;
    h ^= h >> 16; h *= 0x7feb352du; h ^= h >> 15;
    return (h >> 8) * (1.0f / 16777216.0f);
}

__device__ static float3 random_direction(unsigned *s)
{
    float z = 2.0f * next_unit(s) - 1.0f;
    float a = 6.2831853f * next_unit(s), r = sqrtf(fmaxf(0.0f, 1.0f - z * z));
    return f3(r * cosf(a), r * sinf(a), z);
}

/* dead rays start again from their source */
__global__ void emit_rays(Ray *rays, int n, const float3 *sources, unsigned step)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || rays[i].alive) return;
    Ray r = rays[i];
    r.rng += 0x9e3779b9u * (step + 1u);
    r.pos = sources[r.source];
    r.dir = random_direction(&r.rng);
    for (int b = 0; b < NB; ++b) r.energy[b] = 1.0f;
    r.path = 0.0f;
    r.last = -1;
    r.bounces = 0;
    r.alive = 1;
    rays[i] = r;
}

/* Moeller-Trumbore; returns distance or -1 */
__device__ static inline float hit_triangle(const Triangle *t, float3 o, float3 d)
{
    float3 p = cross(d, t->e2);
    float det = dot(t->e1, p);
    if (fabsf(det) < 1e-8f) return -1.0f;
    float inv = 1.0f / det;
    float3 s = sub(o, t->v0);
    float u = dot(s, p) * inv;
    if (u < -1e-6f || u > 1.000001f) return -1.0f;
    float3 q = cross(s, t->e1);
    float v = dot(d, q) * inv;
    if (v < -1e-6f || u + v > 1.000001f) return -1.0f;
    return dot(t->e2, q) * inv;
}

/* nearest triangle for every ray, all triangles pass through shared memory */
__global__ void __launch_bounds__(TILE) find_walls(const Ray *__restrict__ rays, int n, const Triangle *__restrict__ tris,
                                                   int ntri, int *hit, float *dist)
{
    __shared__ Triangle tile[TILE];
    int i = blockIdx.x * TILE + threadIdx.x;
    bool active = i < n;
    float3 o = active ? rays[i].pos : f3(0, 0, 0);
    float3 d = active ? rays[i].dir : f3(1, 0, 0);
    int last = active ? rays[i].last : -1;
    float best = 1e30f;
    int which = -1;
    for (int base = 0; base < ntri; base += TILE) {
        if (base + threadIdx.x < ntri) tile[threadIdx.x] = tris[base + threadIdx.x];
        __syncthreads();
        int m = ntri - base < TILE ? ntri - base : TILE;
        for (int k = 0; k < m; ++k) {
            if (base + k == last) continue;
            float t = hit_triangle(&tile[k], o, d);
            if (t > 1e-4f && t < best) { best = t; which = base + k; }
        }
        __syncthreads();
    }
    if (active) { hit[i] = which; dist[i] = best; }
}

/* energy of the segment up to the wall that passes through the receivers */
__global__ void collect(const Ray *rays, int n, Receiver *recv, HistBin *hist, const float *dist)
{
    __shared__ Receiver r[NRECV];
    __shared__ int seen[NRECV];
    if (threadIdx.x < NRECV) {
        r[threadIdx.x].centre = recv[threadIdx.x].centre;
        r[threadIdx.x].radius = recv[threadIdx.x].radius;
        r[threadIdx.x].kind = recv[threadIdx.x].kind;
        seen[threadIdx.x] = 0;
    }
    __syncthreads();

    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const Ray *ray = &rays[i];
        float3 o = ray->pos, d = ray->dir;
        float limit = dist[i];
        for (int k = 0; k < NRECV; ++k) {
            float3 c = sub(r[k].centre, o);
            float along = dot(c, d);
            if (along <= 0.0f || along >= limit) continue;
            float miss2 = dot(c, c) - along * along;
            float r2 = r[k].radius * r[k].radius;
            if (miss2 >= r2) continue;
            if (r[k].kind == 1 && d.z > 0.0f) continue;
            int bin = (int)((ray->path + along) / (SPEED * BIN_TIME));
            if (bin >= NBINS) continue;
            float chord = 2.0f * sqrtf(r2 - miss2);
            HistBin *h = &hist[k * NBINS + bin];
            for (int b = 0; b < NB; ++b)
                atomicAdd(&h->e[b], (unsigned long long)(ray->energy[b] * chord * 65536.0f));
            atomicAdd(&h->count, 1);
            atomicAdd(&seen[k], 1);
        }
    }
    __syncthreads();
    if (threadIdx.x < NRECV && seen[threadIdx.x]) atomicAdd(&recv[threadIdx.x].rays, seen[threadIdx.x]);
}

__global__ void reflect_rays(Ray *rays, int n, const Triangle *__restrict__ tris, Material *mats,
                             const int *hit, const float *dist)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int t = hit[i];
    if (t < 0) { rays[i].alive = 0; return; }     /* slipped through an edge */
    Ray r = rays[i];
    Material *m = &mats[tris[t].material];
    float3 normal = tris[t].n;
    float cosine = dot(r.dir, normal);
    if (cosine > 0.0f) { normal = mul(normal, -1.0f); cosine = -cosine; }

    r.pos = add(add(r.pos, mul(r.dir, dist[i])), mul(normal, 1e-4f));
    r.path += dist[i];
    if (next_unit(&r.rng) < m->scatter) {
        r.dir = add(normal, mul(random_direction(&r.rng), 0.999f));
    } else {
        r.dir = sub(r.dir, mul(normal, 2.0f * cosine));
    }
    r.dir = mul(r.dir, rsqrtf(dot(r.dir, r.dir)));
    float before = 0.0f, after = 0.0f;
    for (int b = 0; b < NB; ++b) {
        before += r.energy[b];
        r.energy[b] *= 1.0f - m->absorb[b];
        after += r.energy[b];
    }
    atomicAdd(&m->hits, 1ull);
    atomicAdd(&m->lost, (unsigned long long)((before - after) * 4096.0f));
    r.last = t;
    r.bounces++;
    if (after < 1e-3f || r.path > SPEED * BIN_TIME * NBINS) r.alive = 0;
    rays[i] = r;
}

/* suffix sums of the histogram of one receiver, one block per receiver */
__global__ void schroeder(HistBin *hist)
{
    __shared__ unsigned long long buf[2][NBINS];
    HistBin *h = hist + blockIdx.x * NBINS;
    int k = threadIdx.x;
    for (int b = 0; b < NB; ++b) {
        int cur = 0;
        buf[0][k] = h[k].e[b];
        __syncthreads();
        for (int s = 1; s < NBINS; s *= 2) {
            unsigned long long v = buf[cur][k];
            if (k + s < NBINS) v += buf[cur][k + s];
            buf[1 - cur][k] = v;
            cur = 1 - cur;
            __syncthreads();
        }
        h[k].decay[b] = buf[cur][k];
        __syncthreads();
    }
}

static unsigned host_state = 77u;
static float host_unit(void)
{
    host_state ^= host_state << 13; host_state ^= host_state >> 17; host_state ^= host_state << 5;
    return (host_state >> 8) / 16777216.0f;
}

static int add_box(Triangle *t, int count, float3 lo, float3 hi, int object, int material)
{
    static const int quad[6][4] = {{0, 1, 3, 2}, {4, 6, 7, 5}, {0, 4, 5, 1}, {2, 3, 7, 6}, {0, 2, 6, 4}, {1, 5, 7, 3}};
    float3 c[8];
    for (int k = 0; k < 8; ++k) c[k] = f3(k & 4 ? hi.x : lo.x, k & 2 ? hi.y : lo.y, k & 1 ? hi.z : lo.z);
    for (int q = 0; q < 6; ++q)
        for (int h = 0; h < 2; ++h) {
            Triangle *p = &t[count++];
            memset(p, 0, sizeof *p);
            p->v0 = c[quad[q][0]];
            p->e1 = sub(c[quad[q][1 + h]], p->v0);
            p->e2 = sub(c[quad[q][2 + h]], p->v0);
            float3 n = cross(p->e1, p->e2);
            p->area = 0.5f * sqrtf(dot(n, n));
            p->n = mul(n, 0.5f / p->area);
            p->material = object == 0 ? q : material;
            p->object = object;
        }
    return count;
}

static void *upload(const void *src, size_t bytes)
{
    void *dst = NULL;
    cu(cudaMalloc(&dst, bytes));
    cu(cudaMemcpy(dst, src, bytes, cudaMemcpyHostToDevice));
    return dst;
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 262144;
    const int nobj = 30, nmat = 12, warm = 3, steps = 40;
    Triangle *tris = (Triangle *)malloc(sizeof(Triangle) * 12 * (nobj + 1));
    int ntri = add_box(tris, 0, f3(0, 0, 0), f3(40, 25, 12), 0, 0);
    for (int k = 1; k <= nobj; ++k) {       /* seats, columns, reflectors on a 6 x 5 raster */
        float x = 4.0f + 6.0f * ((k - 1) % 6), y = 3.0f + 4.5f * ((k - 1) / 6), z = k % 5 == 0 ? 8.0f : 0.1f;
        float3 lo = f3(x, y, z), hi = f3(x + 0.5f + 2.0f * host_unit(), y + 0.5f + host_unit(), z + 0.5f + 2.5f * host_unit());
        ntri = add_box(tris, ntri, lo, hi, k, 6 + k % 6);
    }
    Material mats[12];
    memset(mats, 0, sizeof mats);
    for (int m = 0; m < nmat; ++m) {
        for (int b = 0; b < NB; ++b) mats[m].absorb[b] = 0.02f + 0.3f * host_unit() * (b + 1) / NB;
        mats[m].scatter = 0.05f + 0.5f * host_unit();
    }
    Receiver recv[NRECV];
    memset(recv, 0, sizeof recv);
    for (int k = 0; k < NRECV; ++k) {
        recv[k].centre = f3(2.0f + 36.0f * host_unit(), 2.0f + 21.0f * host_unit(), 3.5f + 3.0f * host_unit());
        recv[k].radius = 0.5f;
        recv[k].kind = k % 4 == 3;
    }
    float3 sources[4] = {f3(2, 12, 1.5f), f3(3, 6, 1.5f), f3(3, 18, 1.5f), f3(2.5f, 12.5f, 6)};
    Ray *rays = (Ray *)calloc(n, sizeof(Ray));
    for (int i = 0; i < n; ++i) { rays[i].rng = i * 2654435761u + 1u; rays[i].source = i & 3; }

    Ray *dRays; Triangle *dTris; Material *dMats; Receiver *dRecv; HistBin *dHist;
    float3 *dSrc; int *dHit; float *dDist;
    dRays = (Ray *)upload(rays, sizeof(Ray) * n);
    dTris = (Triangle *)upload(tris, sizeof(Triangle) * ntri);
    dMats = (Material *)upload(mats, sizeof mats);
    dRecv = (Receiver *)upload(recv, sizeof recv);
    dSrc = (float3 *)upload(sources, sizeof sources);
    cu(cudaMalloc((void **)&dHist, sizeof(HistBin) * NRECV * NBINS));
    cu(cudaMalloc((void **)&dHit, sizeof(int) * n));
    cu(cudaMalloc((void **)&dDist, sizeof(float) * n));
    cu(cudaMemset(dHist, 0, sizeof(HistBin) * NRECV * NBINS));

    cudaEvent_t ev0, ev1;
    cu(cudaEventCreate(&ev0)); cu(cudaEventCreate(&ev1));
    const int grid = (n + TILE - 1) / TILE;
    for (int s = 0; s < warm + steps; ++s) {
        if (s == warm) cu(cudaEventRecord(ev0, 0));
        emit_rays<<<grid, TILE>>>(dRays, n, dSrc, (unsigned)s);
        find_walls<<<grid, TILE>>>(dRays, n, dTris, ntri, dHit, dDist);
        collect<<<grid, TILE>>>(dRays, n, dRecv, dHist, dDist);
        reflect_rays<<<grid, TILE>>>(dRays, n, dTris, dMats, dHit, dDist);
        schroeder<<<NRECV, NBINS>>>(dHist);
    }
    cu(cudaEventRecord(ev1, 0)); cu(cudaEventSynchronize(ev1)); cu(cudaGetLastError());
    float ms;
    cu(cudaEventElapsedTime(&ms, ev0, ev1));
    HistBin *hist = (HistBin *)malloc(sizeof(HistBin) * NRECV * NBINS);
    cu(cudaMemcpy(rays, dRays, sizeof(Ray) * n, cudaMemcpyDeviceToHost));
    cu(cudaMemcpy(hist, dHist, sizeof(HistBin) * NRECV * NBINS, cudaMemcpyDeviceToHost));
    cu(cudaMemcpy(mats, dMats, sizeof mats, cudaMemcpyDeviceToHost));
    cu(cudaMemcpy(recv, dRecv, sizeof recv, cudaMemcpyDeviceToHost));
    unsigned long long h = 0, lost = 0, heard = 0;
    long long bounces = 0, where = 0;
    for (int i = 0; i < n; ++i) {
        bounces += rays[i].bounces + rays[i].last;
        where += llrintf((rays[i].pos.x + rays[i].pos.y * 2 + rays[i].dir.z) * 64.0f) + llrintf(rays[i].energy[i % NB] * 1e4f);
    }
    for (int k = 0; k < NRECV * NBINS; ++k)
        for (int b = 0; b < NB; ++b) h = h * 3 + hist[k].e[b] + hist[k].decay[b] + hist[k].count;
    for (int m = 0; m < nmat; ++m) lost += mats[m].lost + mats[m].hits * (m + 1);
    for (int k = 0; k < NRECV; ++k) heard += (unsigned long long)recv[k].rays * (k + 1);
    printf("check %llu/%lld/%lld/%llu/%llu\n", h, bounces, where, lost, heard);
    printf("time_ms %.5f\n", ms / steps);
    return 0;
}
