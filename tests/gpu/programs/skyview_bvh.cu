/*
 * skyview_bvh - "Weekend ray tracer" spin-off: how much sky does each spot of a
 * hilly town see?  Terrain + houses in a BVH, sky/sun rays per probe, plus a
 * small bird's eye depth render so that I can see that it is not broken.
 */
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>

#define cudaOk(expr) cuda_ok_((expr), #expr, __LINE__)
static void cuda_ok_(cudaError_t e, const char *what, int line)
{
    if (e == cudaSuccess) return;
    std::fprintf(stderr, "line %d: %s -> %s\n", line, what, cudaGetErrorString(e));
    std::exit(2);
}

struct vec3 {
    float x, y, z;
};
__host__ __device__ inline vec3 V(float x, float y, float z) { vec3 r; r.x = x; r.y = y; r.z = z; return r; }
__host__ __device__ inline vec3 operator+(vec3 a, vec3 b) { return V(a.x + b.x, a.y + b.y, a.z + b.z); }
__host__ __device__ inline vec3 operator-(vec3 a, vec3 b) { return V(a.x - b.x, a.y - b.y, a.z - b.z); }
__host__ __device__ inline vec3 operator*(float s, vec3 a) { return V(s * a.x, s * a.y, s * a.z); }
__host__ __device__ inline float dot(vec3 a, vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__host__ __device__ inline vec3 cross(vec3 a, vec3 b)
{
    return V(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
__host__ __device__ inline vec3 unit(vec3 a) { return (1.0f / sqrtf(dot(a, a))) * a; }

struct Triangle {
    vec3 v0, e1, e2;
    vec3 normal;
    float albedo;
    int object;
};

struct BvhNode {
    vec3 lo, hi;
    int left;     // left child; right = left + 1. leaf: first triangle
    int count;    // 0 for inner nodes
};

struct Probe {
    vec3 pos;
    vec3 normal;
    float sky;
    float sun;
    unsigned seed;
    int rays;
};

struct Ray {
    vec3 o, d, inv;
    float tmax;
};

__device__ Ray makeRay(vec3 o, vec3 d, float tmax)
{
    Ray r;
    r.o = o; r.d = d; r.tmax = tmax;
    r.inv = V(1.0f / (fabsf(d.x) > 1e-8f ? d.x : 1e-8f), 1.0f / (fabsf(d.y) > 1e-8f ? d.y : 1e-8f),
              1.0f / (fabsf(d.z) > 1e-8f ? d.z : 1e-8f));
    return r;
}

__device__ bool hitBox(const BvhNode &n, const Ray &r)
{
    float ax = (n.lo.x - r.o.x) * r.inv.x, bx = (n.hi.x - r.o.x) * r.inv.x;
    float ay = (n.lo.y - r.o.y) * r.inv.y, by = (n.hi.y - r.o.y) * r.inv.y;
    float az = (n.lo.z - r.o.z) * r.inv.z, bz = (n.hi.z - r.o.z) * r.inv.z;
    float t0 = fmaxf(fmaxf(fminf(ax, bx), fminf(ay, by)), fmaxf(fminf(az, bz), 0.0f));
    float t1 = fminf(fminf(fmaxf(ax, bx), fmaxf(ay, by)), fminf(fmaxf(az, bz), r.tmax));
    return t0 <= t1;
}

__device__ float hitTri(const Triangle *t, const Ray &r)
{
    vec3 p = cross(r.d, t->e2);
    float det = dot(t->e1, p);
    if (fabsf(det) < 1e-9f) return -1.0f;
    float inv = 1.0f / det;
    vec3 s = r.o - t->v0;
    float u = dot(s, p) * inv;
    if (u < 0.0f || u > 1.0f) return -1.0f;
    vec3 q = cross(s, t->e1);
    float v = dot(r.d, q) * inv;
    if (v < 0.0f || u + v > 1.0f) return -1.0f;
    return dot(t->e2, q) * inv;
}

// returns triangle index or -1; with anyHit the first one found will do
__device__ int traverse(const BvhNode *nodes, const Triangle *tris, Ray &r, bool anyHit)
{
    int stack[40], sp = 0, found = -1;
    stack[sp++] = 0;
    while (sp > 0) {
        int ni = stack[--sp];
        if (!hitBox(nodes[ni], r)) continue;
        int left = nodes[ni].left, count = nodes[ni].count;
        if (count == 0) {
            stack[sp++] = left;
            stack[sp++] = left + 1;
        } else {
            for (int k = left; k < left + count; k++) {
                float t = hitTri(tris + k, r);
                if (t > 1e-3f && t < r.tmax) {
                    r.tmax = t;
                    found = k;
                    if (anyHit) return found;
                }
            }
        }
    }
    return found;
}

__device__ float rnd(unsigned *s)
{
    unsigned x = *s;
    x ^= x << 13; x ^= x >> 17; x ^= x << 5;
    *s = x;
    return (x >> 8) * (1.0f / 16777216.0f);
}

__global__ void skyPass(Probe *probes, int n, const BvhNode *nodes, const Triangle *tris)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Probe p = probes[i];
    float z = sqrtf(rnd(&p.seed)), phi = 6.2831853f * rnd(&p.seed), rr = sqrtf(1.0f - z * z);
    vec3 up = p.normal;
    vec3 t = unit(fabsf(up.z) < 0.9f ? cross(up, V(0, 0, 1)) : cross(up, V(1, 0, 0)));
    vec3 b = cross(up, t);
    vec3 d = rr * cosf(phi) * t + rr * sinf(phi) * b + z * up;
    Ray r = makeRay(p.pos + 0.02f * up, d, 1e6f);
    if (d.z > 0.0f && traverse(nodes, tris, r, true) < 0) p.sky += 1.0f;
    p.rays++;
    probes[i] = p;
}

__global__ void sunPass(Probe *probes, int n, const BvhNode *nodes, const Triangle *tris, vec3 sun)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float c = dot(probes[i].normal, sun);
    if (c <= 0.0f) return;
    Ray r = makeRay(probes[i].pos + 0.02f * probes[i].normal, sun, 1e6f);
    if (traverse(nodes, tris, r, true) < 0) probes[i].sun += c;
    probes[i].rays += 1;
}

__global__ void birdsEye(float *img, int w, int h, const BvhNode *nodes, const Triangle *tris, vec3 eye)
{
    int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x >= w || y >= h) return;
    vec3 d = unit(V((x - 0.5f * w) / w, 0.9f + 0.01f * y / h, (0.35f * h - y) / w));
    Ray r = makeRay(eye, d, 1e6f);
    int k = traverse(nodes, tris, r, false);
    float c = 0.0f;
    if (k >= 0) {
        const Triangle &t = tris[k];
        c = t.albedo * fabsf(dot(t.normal, d)) * (t.object > 0 ? 0.7f : 1.0f) + 0.001f * r.tmax;
    }
    img[y * w + x] = c;
}

// ---------------------------------------------------------------- host side
static std::vector<Triangle> T;
static std::vector<BvhNode> N;

static float hill(float x, float y) { return 6.0f * sinf(x * 0.03f) * cosf(y * 0.021f) + 2.0f * sinf(x * 0.11f + y * 0.07f); }

static void tri(vec3 a, vec3 b, vec3 c, float alb, int obj)
{
    Triangle t;
    t.v0 = a; t.e1 = b - a; t.e2 = c - a;
    t.normal = unit(cross(t.e1, t.e2));
    t.albedo = alb; t.object = obj;
    T.push_back(t);
}
static vec3 mid(const Triangle &t) { return t.v0 + (1.0f / 3.0f) * (t.e1 + t.e2); }
static float axisOf(vec3 v, int a) { return a == 0 ? v.x : a == 1 ? v.y : v.z; }

static void build(int node, int first, int count)
{
    vec3 lo = V(1e30f, 1e30f, 1e30f), hi = V(-1e30f, -1e30f, -1e30f);
    for (int k = first; k < first + count; k++) {
        vec3 p[3] = { T[k].v0, T[k].v0 + T[k].e1, T[k].v0 + T[k].e2 };
        for (vec3 q : p) {
            lo = V(fminf(lo.x, q.x), fminf(lo.y, q.y), fminf(lo.z, q.z));
            hi = V(fmaxf(hi.x, q.x), fmaxf(hi.y, q.y), fmaxf(hi.z, q.z));
        }
    }
    const float pad = 1e-3f;
    N[node].lo = lo - V(pad, pad, pad); N[node].hi = hi + V(pad, pad, pad);
    if (count <= 4) { N[node].left = first; N[node].count = count; return; }
    vec3 s = hi - lo;
    int a = s.x > s.y ? (s.x > s.z ? 0 : 2) : (s.y > s.z ? 1 : 2);
    int half = count / 2;
    std::nth_element(T.begin() + first, T.begin() + first + half, T.begin() + first + count,
        [a](const Triangle &p, const Triangle &q) { return axisOf(mid(p), a) < axisOf(mid(q), a); });
    int left = (int)N.size();
    N.resize(N.size() + 2);
    N[node].left = left; N[node].count = 0;
    build(left, first, half);
    build(left + 1, first + half, count - half);
}

int main()
{
    const int G = 320, HOUSES = 3000, PW = 600, IW = 800, IH = 600, ITER = 16;
    for (int j = 0; j < G; j++)
        for (int i = 0; i < G; i++) {
            vec3 a = V(i, j, hill(i, j)), b = V(i + 1, j, hill(i + 1, j));
            vec3 c = V(i + 1, j + 1, hill(i + 1, j + 1)), d = V(i, j + 1, hill(i, j + 1));
            tri(a, b, c, 0.3f + 0.2f * ((i + j) & 1), 0);
            tri(a, c, d, 0.4f, 0);
        }
    unsigned s = 2024;
    auto R = [&]() { s = s * 1664525u + 1013904223u; return (s >> 8) / 16777216.0f; };
    for (int k = 1; k <= HOUSES; k++) {
        float x = 10 + 300 * R(), y = 10 + 300 * R(), w = 1 + 2 * R(), d = 1 + 2 * R(), z = hill(x, y) - 1, h = 3 + 6 * R() * R();
        vec3 c[8];
        for (int q = 0; q < 8; q++) c[q] = V(x + (q & 1 ? w : 0), y + (q & 2 ? d : 0), z + (q & 4 ? h : 0));
        const int f[5][4] = { {4, 5, 7, 6}, {0, 1, 5, 4}, {1, 3, 7, 5}, {3, 2, 6, 7}, {2, 0, 4, 6} };
        for (auto &q : f) { tri(c[q[0]], c[q[1]], c[q[2]], 0.8f, k); tri(c[q[0]], c[q[2]], c[q[3]], 0.8f, k); }
    }
    N.reserve(T.size() * 2 + 2);
    N.resize(1);
    build(0, 0, (int)T.size());
    std::vector<Probe> probes(PW * PW);
    for (int j = 0; j < PW; j++)
        for (int i = 0; i < PW; i++) {
            Probe &p = probes[j * PW + i];
            float x = 5.0f + 310.0f * i / PW, y = 5.0f + 310.0f * j / PW, e = 0.5f;
            p.pos = V(x, y, hill(x, y) + 0.3f);
            p.normal = unit(V(hill(x - e, y) - hill(x + e, y), hill(x, y - e) - hill(x, y + e), 2 * e));
            p.sky = p.sun = 0.0f;
            p.seed = 88172645u ^ ((j * PW + i + 1) * 2654435761u);
            if (p.seed == 0) p.seed = 1;
            p.rays = 0;
        }

    Triangle *dT; BvhNode *dN; Probe *dP; float *dI;
    const int np = PW * PW;
    cudaOk(cudaMalloc(&dT, T.size() * sizeof(Triangle)));
    cudaOk(cudaMalloc(&dN, N.size() * sizeof(BvhNode)));
    cudaOk(cudaMalloc(&dP, np * sizeof(Probe)));
    cudaOk(cudaMalloc(&dI, IW * IH * sizeof(float)));
    cudaOk(cudaMemcpy(dT, T.data(), T.size() * sizeof(Triangle), cudaMemcpyHostToDevice));
    cudaOk(cudaMemcpy(dN, N.data(), N.size() * sizeof(BvhNode), cudaMemcpyHostToDevice));
    cudaOk(cudaMemcpy(dP, probes.data(), np * sizeof(Probe), cudaMemcpyHostToDevice));

    cudaEvent_t a, b; float ms;
    cudaOk(cudaEventCreate(&a)); cudaOk(cudaEventCreate(&b));
    for (int it = -1; it < ITER; it++) {
        if (it == 0) cudaOk(cudaEventRecord(a));
        float hour = 0.3f + 2.5f * (it + 1) / ITER;
        skyPass<<<(np + 127) / 128, 128>>>(dP, np, dN, dT);
        sunPass<<<(np + 127) / 128, 128>>>(dP, np, dN, dT, unit(V(cosf(hour), -0.4f, 0.8f * sinf(hour))));
        birdsEye<<<dim3(IW / 8, IH / 8), dim3(8, 8)>>>(dI, IW, IH, dN, dT, V(160.0f + it, -40.0f, 45.0f));
    }
    cudaOk(cudaEventRecord(b));
    cudaOk(cudaGetLastError());
    cudaOk(cudaEventSynchronize(b));
    cudaOk(cudaEventElapsedTime(&ms, a, b));

    std::vector<float> img(IW * IH);
    cudaOk(cudaMemcpy(probes.data(), dP, np * sizeof(Probe), cudaMemcpyDeviceToHost));
    cudaOk(cudaMemcpy(img.data(), dI, img.size() * sizeof(float), cudaMemcpyDeviceToHost));
    double sky = 0, sun = 0, pix = 0, rays = 0;
    for (auto &p : probes) { sky += p.sky; sun += p.sun; rays += p.rays; }
    for (float f : img) pix += f;
    printf("check sky %.6e\ncheck sun %.6e\ncheck rays %.0f\ncheck image %.6e\n", sky, sun, rays, pix);
    printf("time_ms %.4f\n", ms);
    cudaFree(dT); cudaFree(dN); cudaFree(dP); cudaFree(dI);
}
