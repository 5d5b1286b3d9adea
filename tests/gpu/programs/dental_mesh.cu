// Post-processing of an intra-oral scan: face/vertex normals, discrete curvature,
// feature-preserving Taubin smoothing and a per-tooth report.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cmath>
#include <vector>
#include <random>
#include <algorithm>
#include <cuda_runtime.h>

#define CHECK(call)                                                                   \
    do {                                                                              \
        cudaError_t err_ = (call);                                                    \
        if (err_ != cudaSuccess) {                                                    \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(err_)); \
            exit(1);                                                                  \
        }                                                                             \
    } while (0)

#define GRID_W 1408
#define GRID_H 800
#define PATCH 32
#define N_TEETH 16
#define WARMUP 5
#define STEPS 30

struct Vec3 { float x, y, z; };

typedef struct {
    Vec3 pos;
    Vec3 normal;
    Vec3 disp;            // displacement of the running smoothing pass
    float area;           // mixed area (1/3 of incident faces)
    float meanCurv;
    float gaussCurv;
    int firstCorner;
    int numCorners;
    short scanQuality;    // 0..1000 as delivered by the scanner
    unsigned char tooth;  // 0 = gingiva
    unsigned char boundary;
} Vertex;

typedef struct {
    int v[3];
    Vec3 n;
    float area;
    unsigned char tooth;
    unsigned char degenerate;
} Face;

typedef struct {
    int owner, next, prev;
    int face;
    float angle;
    float cotNext;        // cotangent at 'next' corner
    float cotPrev;
} Corner;

typedef struct {
    int vertices, convex, concave;
    int qualitySum;
} ToothStat;

__host__ __device__ static inline Vec3 sub(Vec3 a, Vec3 b) { return Vec3{a.x - b.x, a.y - b.y, a.z - b.z}; }
__host__ __device__ static inline float dot(Vec3 a, Vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__host__ __device__ static inline Vec3 cross(Vec3 a, Vec3 b)
{
    return Vec3{a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

__device__ static inline float clampedCot(Vec3 u, Vec3 w)
{
    Vec3 c = cross(u, w);
    float s = sqrtf(dot(c, c));
    float r = dot(u, w) / fmaxf(s, 1e-12f);
    return fminf(fmaxf(r, -4.0f), 4.0f);
}

__global__ void faceKernel(const Vertex *vert, Face *face, int nf)
{
    int f = blockIdx.x * blockDim.x + threadIdx.x;
    if (f >= nf) return;
    Vec3 a = vert[face[f].v[0]].pos;
    Vec3 b = vert[face[f].v[1]].pos;
    Vec3 c = vert[face[f].v[2]].pos;
    Vec3 n = cross(sub(b, a), sub(c, a));
    float len = sqrtf(dot(n, n));
    float inv = len > 1e-14f ? 1.0f / len : 0.0f;
    face[f].n = Vec3{n.x * inv, n.y * inv, n.z * inv};
    face[f].area = 0.5f * len;
    face[f].degenerate = len < 1e-9f;
}

__global__ void cornerKernel(const Vertex *vert, Corner *corner, int nc)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= nc) return;
    Corner c = corner[i];
    Vec3 p = vert[c.owner].pos;
    Vec3 q = vert[c.next].pos;
    Vec3 r = vert[c.prev].pos;
    Vec3 e1 = sub(q, p), e2 = sub(r, p);
    Vec3 cr = cross(e1, e2);
    corner[i].angle = atan2f(sqrtf(dot(cr, cr)), dot(e1, e2));
    corner[i].cotNext = clampedCot(sub(p, q), sub(r, q));
    corner[i].cotPrev = clampedCot(sub(p, r), sub(q, r));
}

__global__ void normalKernel(Vertex *vert, const Corner *corner, const Face *face, int nv)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= nv) return;
    int first = vert[v].firstCorner, cnt = vert[v].numCorners;
    Vec3 n = {0, 0, 0};
    float area = 0.0f;
    for (int k = 0; k < cnt; k++) {
        const Corner *c = &corner[first + k];
        const Face *f = &face[c->face];
        if (f->degenerate) continue;
        n.x += c->angle * f->n.x;
        n.y += c->angle * f->n.y;
        n.z += c->angle * f->n.z;
        area += f->area;
    }
    float len = sqrtf(dot(n, n));
    float inv = len > 1e-12f ? 1.0f / len : 0.0f;
    vert[v].normal = Vec3{n.x * inv, n.y * inv, n.z * inv};
    vert[v].area = area * (1.0f / 3.0f);
}

__global__ void curvatureKernel(Vertex *vert, const Corner *corner, int nv)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= nv) return;
    if (vert[v].boundary) {
        vert[v].meanCurv = 0.0f;
        vert[v].gaussCurv = 0.0f;
        return;
    }
    Vec3 p = vert[v].pos;
    int first = vert[v].firstCorner, cnt = vert[v].numCorners;
    Vec3 lap = {0, 0, 0};
    float angles = 0.0f;
    for (int k = 0; k < cnt; k++) {
        Corner c = corner[first + k];
        Vec3 q = vert[c.next].pos, r = vert[c.prev].pos;
        lap.x += 0.5f * (c.cotPrev * (q.x - p.x) + c.cotNext * (r.x - p.x));
        lap.y += 0.5f * (c.cotPrev * (q.y - p.y) + c.cotNext * (r.y - p.y));
        lap.z += 0.5f * (c.cotPrev * (q.z - p.z) + c.cotNext * (r.z - p.z));
        angles += c.angle;
    }
    float invA = 1.0f / fmaxf(vert[v].area, 1e-9f);
    vert[v].meanCurv = -0.5f * invA * dot(lap, vert[v].normal);
    vert[v].gaussCurv = (6.2831853f - angles) * invA;
}

__global__ void laplaceKernel(Vertex *vert, const Corner *corner, int nv)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= nv) return;
    Vec3 d = {0, 0, 0};
    if (!vert[v].boundary) {
        Vec3 p = vert[v].pos;
        unsigned char tooth = vert[v].tooth;
        int first = vert[v].firstCorner, cnt = vert[v].numCorners;
        float wsum = 0.0f;
        for (int k = 0; k < cnt; k++) {
            int q = corner[first + k].next;
            float w = vert[q].tooth == tooth ? 1.0f : 0.25f;   // keep the gum line
            Vec3 e = sub(vert[q].pos, p);
            d.x += w * e.x;
            d.y += w * e.y;
            d.z += w * e.z;
            wsum += w;
        }
        float inv = wsum > 0.0f ? 1.0f / wsum : 0.0f;
        d.x *= inv; d.y *= inv; d.z *= inv;
    }
    vert[v].disp = d;
}

__global__ void moveKernel(Vertex *vert, int nv, float lambda)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= nv) return;
    // good scan points are moved less
    float s = lambda * (1.2f - 0.0008f * vert[v].scanQuality);
    vert[v].pos.x += s * vert[v].disp.x;
    vert[v].pos.y += s * vert[v].disp.y;
    vert[v].pos.z += s * vert[v].disp.z;
}

__global__ void toothReportKernel(const Vertex *vert, ToothStat *stat, int nv)
{
    __shared__ ToothStat local[N_TEETH];
    for (int i = threadIdx.x; i < N_TEETH; i += blockDim.x)
        local[i].vertices = local[i].convex = local[i].concave = local[i].qualitySum = 0;
    __syncthreads();
    for (int v = blockIdx.x * blockDim.x + threadIdx.x; v < nv; v += gridDim.x * blockDim.x) {
        int t = vert[v].tooth;
        float h = vert[v].meanCurv;
        atomicAdd(&local[t].vertices, 1);
        if (h > 0.05f) atomicAdd(&local[t].convex, 1);
        else if (h < -0.05f) atomicAdd(&local[t].concave, 1);
        atomicAdd(&local[t].qualitySum, (int)vert[v].scanQuality);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < N_TEETH; i += blockDim.x) {
        atomicAdd(&stat[i].vertices, local[i].vertices);
        atomicAdd(&stat[i].convex, local[i].convex);
        atomicAdd(&stat[i].concave, local[i].concave);
        atomicAdd(&stat[i].qualitySum, local[i].qualitySum);
    }
}

static void buildMesh(std::vector<Vertex> &vert, std::vector<Face> &face, std::vector<Corner> &corner)
{
    const int nv = GRID_W * GRID_H;
    std::mt19937 rng(20240611);
    std::normal_distribution<float> noise(0.0f, 0.012f);
    // the scanner delivers the surface patch by patch
    int pw = GRID_W / PATCH, ph = GRID_H / PATCH;
    std::vector<int> order(pw * ph);
    for (size_t i = 0; i < order.size(); i++) order[i] = (int)i;
    std::shuffle(order.begin(), order.end(), rng);
    std::vector<int> perm(nv);
    for (int j = 0; j < GRID_H; j++)
        for (int i = 0; i < GRID_W; i++) {
            int patch = (j / PATCH) * pw + i / PATCH;
            perm[j * GRID_W + i] = order[patch] * PATCH * PATCH + (j % PATCH) * PATCH + i % PATCH;
        }
    vert.resize(nv);
    for (int j = 0; j < GRID_H; j++)
        for (int i = 0; i < GRID_W; i++) {
            float u = i / (float)(GRID_W - 1), w = j / (float)(GRID_H - 1);
            float th = 3.14159265f * u, rad = 25.0f + (w - 0.5f) * 14.0f;
            float bump = powf(fabsf(sinf(14.0f * th)), 0.6f) * expf(-16.0f * (w - 0.5f) * (w - 0.5f));
            Vertex v;
            memset(&v, 0, sizeof v);
            v.pos.x = rad * cosf(th) + noise(rng);
            v.pos.y = 1.2f * rad * sinf(th) + noise(rng);
            v.pos.z = 4.0f * bump + noise(rng);
            v.tooth = fabsf(w - 0.5f) < 0.28f ? 1 + std::min(13, (int)(u * 14.0f)) : 0;
            v.boundary = i == 0 || j == 0 || i == GRID_W - 1 || j == GRID_H - 1;
            v.scanQuality = (short)(400 + rng() % 600);
            vert[perm[j * GRID_W + i]] = v;
        }
    for (int j = 0; j + 1 < GRID_H; j++)
        for (int i = 0; i + 1 < GRID_W; i++) {
            int a = perm[j * GRID_W + i], b = perm[j * GRID_W + i + 1];
            int c = perm[(j + 1) * GRID_W + i], d = perm[(j + 1) * GRID_W + i + 1];
            Face f;
            memset(&f, 0, sizeof f);
            f.tooth = vert[a].tooth;
            f.v[0] = a; f.v[1] = b; f.v[2] = c;
            face.push_back(f);
            f.v[0] = b; f.v[1] = d; f.v[2] = c;
            face.push_back(f);
        }
    for (const Face &f : face)
        for (int k = 0; k < 3; k++) vert[f.v[k]].numCorners++;
    int at = 0;
    for (Vertex &v : vert) { v.firstCorner = at; at += v.numCorners; v.numCorners = 0; }
    corner.resize(at);
    for (int fi = 0; fi < (int)face.size(); fi++)
        for (int k = 0; k < 3; k++) {
            Vertex &v = vert[face[fi].v[k]];
            Corner c;
            memset(&c, 0, sizeof c);
            c.owner = face[fi].v[k];
            c.next = face[fi].v[(k + 1) % 3];
            c.prev = face[fi].v[(k + 2) % 3];
            c.face = fi;
            corner[v.firstCorner + v.numCorners++] = c;
        }
}

static void smoothStep(Vertex *dv, Face *df, Corner *dc, ToothStat *ds, int nv, int nf, int nc)
{
    const int B = 256;
    faceKernel<<<(nf + B - 1) / B, B>>>(dv, df, nf);
    cornerKernel<<<(nc + B - 1) / B, B>>>(dv, dc, nc);
    normalKernel<<<(nv + B - 1) / B, B>>>(dv, dc, df, nv);
    curvatureKernel<<<(nv + B - 1) / B, B>>>(dv, dc, nv);
    for (int pass = 0; pass < 2; pass++) {
        laplaceKernel<<<(nv + B - 1) / B, B>>>(dv, dc, nv);
        moveKernel<<<(nv + B - 1) / B, B>>>(dv, nv, pass == 0 ? 0.33f : -0.34f);
    }
    CHECK(cudaMemsetAsync(ds, 0, N_TEETH * sizeof(ToothStat)));
    toothReportKernel<<<528, B>>>(dv, ds, nv);
}

int main(void)
{
    std::vector<Vertex> vert;
    std::vector<Face> face;
    std::vector<Corner> corner;
    buildMesh(vert, face, corner);
    int nv = (int)vert.size(), nf = (int)face.size(), nc = (int)corner.size();

    Vertex *dv; Face *df; Corner *dc; ToothStat *ds;
    CHECK(cudaMalloc((void **)&dv, nv * sizeof(Vertex)));
    CHECK(cudaMalloc((void **)&df, nf * sizeof(Face)));
    CHECK(cudaMalloc((void **)&dc, nc * sizeof(Corner)));
    CHECK(cudaMalloc((void **)&ds, N_TEETH * sizeof(ToothStat)));
    CHECK(cudaMemcpy(dv, vert.data(), nv * sizeof(Vertex), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(df, face.data(), nf * sizeof(Face), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(dc, corner.data(), nc * sizeof(Corner), cudaMemcpyHostToDevice));

    for (int s = 0; s < WARMUP; s++) smoothStep(dv, df, dc, ds, nv, nf, nc);
    cudaEvent_t t0, t1;
    CHECK(cudaEventCreate(&t0));
    CHECK(cudaEventCreate(&t1));
    CHECK(cudaEventRecord(t0));
    for (int s = 0; s < STEPS; s++) smoothStep(dv, df, dc, ds, nv, nf, nc);
    CHECK(cudaEventRecord(t1));
    CHECK(cudaEventSynchronize(t1));
    CHECK(cudaGetLastError());
    float ms;
    CHECK(cudaEventElapsedTime(&ms, t0, t1));

    ToothStat stat[N_TEETH];
    CHECK(cudaMemcpy(vert.data(), dv, nv * sizeof(Vertex), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(face.data(), df, nf * sizeof(Face), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(stat, ds, sizeof stat, cudaMemcpyDeviceToHost));
    double area = 0, z = 0, absH = 0, gauss = 0;
    long convex = 0, quality = 0;
    for (const Face &f : face) area += f.area;
    for (const Vertex &v : vert) { z += v.pos.z; absH += fabs(v.meanCurv); gauss += v.gaussCurv * v.area; }
    for (int t = 0; t < N_TEETH; t++) { convex += stat[t].convex; quality += stat[t].qualitySum; }
    printf("check %.5g/%.5g/%.4g/%.3g/%.3g/%ld\n", area, z, absH, gauss, (double)convex, quality);
    printf("time_ms %.4f\n", ms / STEPS);
    cudaFree(dv); cudaFree(df); cudaFree(dc); cudaFree(ds);
    return 0;
}
