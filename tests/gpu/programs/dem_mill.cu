// Discrete element model: spherical grains on moving triangulated paddles.
// Cell ranges -> neighbour lists -> contact forces -> triangle forces -> integration.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

#define GRAINS_SIDE 80
#define NUM_GRAINS (GRAINS_SIDE * GRAINS_SIDE * GRAINS_SIDE)
#define NTRI 96
#define MAXNB 15
#define BLOCK 128

struct Material {
    double density;
    float stiffness, damping, friction;
    unsigned char rgb[3];
};

struct Grain {
    float3 pos;
    float radius;
    float3 vel;
    float invMass;
    float3 omega;
    unsigned char material;
    unsigned char asleep;
    short layer;
    float3 force, torque;
    int cell;
};

struct Triangle {
    float3 v[3];
    float3 pivot;
    float3 linear;      // velocity of the pivot
    float spin;         // about the z axis through the pivot
    float boundRadius;
    int part, material;
    float wear;
};

struct NeighbourList { int count; int idx[MAXNB]; };

struct CellRange { int begin, end; };
struct GridInfo { int dim; float size; };

__host__ __device__ inline float3 operator+(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
__host__ __device__ inline float3 operator-(float3 a, float3 b) { return make_float3(a.x - b.x, a.y - b.y, a.z - b.z); }
__host__ __device__ inline float3 operator*(float s, float3 a) { return make_float3(s * a.x, s * a.y, s * a.z); }
__host__ __device__ inline float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__host__ __device__ inline float3 cross(float3 a, float3 b) {
    return make_float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

__global__ void moveTriangles(Triangle* tri, float dt) {
    int t = threadIdx.x;
    if (t >= NTRI) return;
    float c = cosf(tri[t].spin * dt), s = sinf(tri[t].spin * dt);
    for (int k = 0; k < 3; ++k) {
        float3 r = tri[t].v[k] - tri[t].pivot;
        float3 q = make_float3(c * r.x - s * r.y, s * r.x + c * r.y, r.z);
        tri[t].v[k] = tri[t].pivot + q + dt * tri[t].linear;
    }
    tri[t].pivot = tri[t].pivot + dt * tri[t].linear;
}

__global__ void buildNeighbours(const Grain* g, const CellRange* cells, NeighbourList* nb, int n, GridInfo grid, float skin) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float3 p = g[i].pos;
    const float r = g[i].radius;
    const int c = g[i].cell, D = grid.dim;
    const int cx = c % D, cy = c / D % D, cz = c / (D * D);
    int cnt = 0;
    for (int z = max(cz - 1, 0); z <= min(cz + 1, D - 1); ++z)
        for (int y = max(cy - 1, 0); y <= min(cy + 1, D - 1); ++y) {
            // the x neighbours are contiguous in the sorted order
            int b = cells[(z * D + y) * D + max(cx - 1, 0)].begin;
            int e = cells[(z * D + y) * D + min(cx + 1, D - 1)].end;
            for (int j = b; j < e; ++j) {
                if (j == i) continue;
                float3 d = g[j].pos - p;
                float reach = r + g[j].radius + skin;
                if (dot(d, d) < reach * reach && cnt < MAXNB) nb[i].idx[cnt++] = j;
            }
        }
    nb[i].count = cnt;
}

__device__ void addContact(float3 n, float overlap, float3 vrel, float arm, const Material& m, float3& f, float3& tq) {
    float vn = dot(vrel, n);
    float fn = fmaxf(m.stiffness * overlap - m.damping * vn, 0.0f);
    float3 vt = vrel - vn * n;
    float speed = sqrtf(dot(vt, vt)) + 1e-6f;
    float ft = fminf(m.friction * fn, 0.5f * m.damping * speed);
    float3 ff = (-ft / speed) * vt;
    f = f + fn * n + ff;
    tq = tq + (-arm) * cross(n, ff);
}

__global__ void contactForces(Grain* g, const NeighbourList* nb, const Material* mat, int n, unsigned long long* contacts) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int mine = 0;
    if (i < n) {
        const float3 p = g[i].pos, v = g[i].vel, w = g[i].omega;
        const float r = g[i].radius;
        float3 f = make_float3(0.0f, 0.0f, -9.81f / g[i].invMass), tq = make_float3(0.0f, 0.0f, 0.0f);
        const int cnt = nb[i].count;
        for (int k = 0; k < cnt; ++k) {
            const int j = nb[i].idx[k];
            float3 d = p - g[j].pos;
            float dist = sqrtf(dot(d, d));
            float overlap = r + g[j].radius - dist;
            if (overlap <= 0.0f || dist < 1e-6f) continue;
            float3 nrm = (1.0f / dist) * d;
            float3 vrel = v - g[j].vel - cross(r * w + g[j].radius * g[j].omega, nrm);
            // softer of the two materials decides
            int a = g[i].material, b = g[j].material;
            addContact(nrm, overlap, vrel, r, mat[a < b ? a : b], f, tq);
            ++mine;
        }
        g[i].force = f;
        g[i].torque = tq;
    }
    for (int o = 16; o; o >>= 1) mine += __shfl_xor_sync(0xffffffffu, mine, o);
    if ((threadIdx.x & 31) == 0 && mine) atomicAdd(contacts, (unsigned long long)mine);
}

__device__ float3 closestOnTriangle(float3 p, float3 a, float3 b, float3 c) {
    float3 ab = b - a, ac = c - a, ap = p - a;
    float d1 = dot(ab, ap), d2 = dot(ac, ap);
    if (d1 <= 0.0f && d2 <= 0.0f) return a;
    float3 bp = p - b;
    float d3 = dot(ab, bp), d4 = dot(ac, bp);
    if (d3 >= 0.0f && d4 <= d3) return b;
    float vc = d1 * d4 - d3 * d2;
    if (vc <= 0.0f && d1 >= 0.0f && d3 <= 0.0f) return a + (d1 / (d1 - d3)) * ab;
    float3 cp = p - c;
    float d5 = dot(ab, cp), d6 = dot(ac, cp);
    if (d6 >= 0.0f && d5 <= d6) return c;
    float vb = d5 * d2 - d1 * d6;
    if (vb <= 0.0f && d2 >= 0.0f && d6 <= 0.0f) return a + (d2 / (d2 - d6)) * ac;
    float va = d3 * d6 - d5 * d4;
    if (va <= 0.0f && d4 - d3 >= 0.0f && d5 - d6 >= 0.0f) return b + ((d4 - d3) / ((d4 - d3) + (d5 - d6))) * (c - b);
    float inv = 1.0f / (va + vb + vc);
    return a + (vb * inv) * ab + (vc * inv) * ac;
}

__global__ void triangleForces(Grain* g, const Triangle* tri, const Material* mat, int n) {
    __shared__ Triangle tile[32];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float3 p = make_float3(0, 0, 0), v = p, f = p, tq = p;
    float r = 0.0f;
    if (i < n) { p = g[i].pos; v = g[i].vel; r = g[i].radius; }
    for (int base = 0; base < NTRI; base += 32) {
        __syncthreads();
        if (threadIdx.x < 32) tile[threadIdx.x] = tri[base + threadIdx.x];
        __syncthreads();
        if (i >= n) continue;
        for (int t = 0; t < 32; ++t) {
            const Triangle& T = tile[t];
            float3 toPivot = p - T.pivot;
            float lim = T.boundRadius + r;
            if (dot(toPivot, toPivot) > lim * lim) continue;
            float3 q = closestOnTriangle(p, T.v[0], T.v[1], T.v[2]);
            float3 d = p - q;
            float dist = sqrtf(dot(d, d));
            if (dist >= r || dist < 1e-5f) continue;
            float3 arm = q - T.pivot;
            float3 wallVel = T.linear + make_float3(-T.spin * arm.y, T.spin * arm.x, 0.0f);
            addContact((1.0f / dist) * d, r - dist, v - wallVel, r, mat[T.material], f, tq);
        }
    }
    if (i >= n) return;
    g[i].force = g[i].force + f;
    g[i].torque = g[i].torque + tq;
}

__global__ void integrate(Grain* g, int n, float dt, double* blockEnergy) {
    __shared__ double e[BLOCK];
    int i = blockIdx.x * BLOCK + threadIdx.x;
    double ke = 0.0;
    if (i < n) {
        Grain& q = g[i];
        float inertiaInv = 2.5f * q.invMass / (q.radius * q.radius);
        q.vel = q.vel + (dt * q.invMass) * q.force;
        q.omega = q.omega + (dt * inertiaInv) * q.torque;
        q.pos = q.pos + dt * q.vel;
        ke = 0.5 * dot(q.vel, q.vel) / q.invMass + 0.5 * dot(q.omega, q.omega) / inertiaInv;
    }
    e[threadIdx.x] = ke;
    __syncthreads();
    for (int s = BLOCK / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) e[threadIdx.x] += e[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) blockEnergy[blockIdx.x] = e[0];
}

static unsigned long long rngState = 88172645463325252ull;
static float rnd() {
    rngState ^= rngState << 13; rngState ^= rngState >> 7; rngState ^= rngState << 17;
    return (float)(rngState >> 40) / 16777216.0f;
}
static float3 rndVec(float half) {
    float x = 2 * rnd() - 1, y = 2 * rnd() - 1, z = 2 * rnd() - 1;
    return half * make_float3(x, y, z);
}

static void* gpuCopyOf(const void* src, size_t bytes) {
    void* d = nullptr;
    if (cudaMalloc(&d, bytes) != cudaSuccess) { fprintf(stderr, "out of device memory\n"); exit(1); }
    src ? cudaMemcpy(d, src, bytes, cudaMemcpyHostToDevice) : cudaMemset(d, 0, bytes);
    return d;
}

int main() {
    const float L = (float)GRAINS_SIDE;
    GridInfo grid = {(int)(L / 1.25f) + 1, 1.25f};
    const Material mats[3] = {{1.5, 8000.f, 4.f, .3f, {200, 180, 90}}, {2.4, 12000.f, 6.f, .5f, {90, 90, 90}}, {7.8, 20000.f, 9.f, .2f, {180, 180, 200}}};

    std::vector<Grain> unsorted(NUM_GRAINS), grains(NUM_GRAINS);
    std::vector<int> fill(grid.dim * grid.dim * grid.dim + 1, 0);
    for (int k = 0; k < NUM_GRAINS; ++k) {
        Grain q;
        memset(&q, 0, sizeof q);
        int x = k % GRAINS_SIDE, y = k / GRAINS_SIDE % GRAINS_SIDE, z = k / (GRAINS_SIDE * GRAINS_SIDE);
        q.pos = make_float3(x + 0.5f, y + 0.5f, z + 0.5f) + 0.1f * rndVec(0.5f);
        q.radius = 0.46f + 0.07f * rnd();
        q.vel = rndVec(0.5f);
        q.omega = rndVec(1.0f);
        q.material = (unsigned char)(rnd() * 3);
        q.layer = (short)z;
        q.invMass = 1.0f / (float)(mats[q.material].density * 4.18879 * q.radius * q.radius * q.radius);
        q.cell = ((int)(q.pos.z / grid.size) * grid.dim + (int)(q.pos.y / grid.size)) * grid.dim + (int)(q.pos.x / grid.size);
        ++fill[q.cell + 1];
        unsorted[k] = q;
    }
    std::vector<CellRange> cells(fill.size() - 1);
    for (size_t c = 0; c < cells.size(); ++c) cells[c] = {fill[c], fill[c + 1] += fill[c]};
    for (const Grain& q : unsorted) grains[fill[q.cell]++] = q;

    std::vector<Triangle> tris(NTRI);
    for (int t = 0; t < NTRI; ++t) {
        Triangle& T = tris[t];
        memset(&T, 0, sizeof T);
        T.pivot = make_float3(0.5f * L, 0.5f * L, 0.5f * L) + rndVec(0.45f * L);
        if (t < 2) T.pivot = make_float3(0.5f * L, 0.5f * L, 0.04f);
        for (int k = 0; k < 3; ++k) T.v[k] = T.pivot + rndVec(6.0f);
        if (t < 2) {    // floor
            T.v[0] = make_float3(0, 0, 0.04f);
            T.v[1] = t ? make_float3(L, L, 0.04f) : make_float3(L, 0, 0.04f);
            T.v[2] = t ? make_float3(0, L, 0.04f) : make_float3(L, L, 0.04f);
        } else {
            T.linear = rndVec(2.0f);
            T.spin = 10 * rnd() - 5;
        }
        for (int k = 0; k < 3; ++k) T.boundRadius = fmaxf(T.boundRadius, sqrtf(dot(T.v[k] - T.pivot, T.v[k] - T.pivot)));
        T.part = t / 8;
        T.material = t % 3;
    }

    const int n = NUM_GRAINS, blocks = (n + BLOCK - 1) / BLOCK, steps = 20;
    Grain* dG = (Grain*)gpuCopyOf(grains.data(), n * sizeof(Grain));
    Triangle* dT = (Triangle*)gpuCopyOf(tris.data(), NTRI * sizeof(Triangle));
    CellRange* dC = (CellRange*)gpuCopyOf(cells.data(), cells.size() * sizeof(CellRange));
    Material* dM = (Material*)gpuCopyOf(mats, sizeof mats);
    NeighbourList* dN = (NeighbourList*)gpuCopyOf(nullptr, n * sizeof(NeighbourList));
    double* dE = (double*)gpuCopyOf(nullptr, blocks * sizeof(double));
    unsigned long long* dContacts = (unsigned long long*)gpuCopyOf(nullptr, sizeof(unsigned long long));

    cudaEvent_t start, stop;
    cudaEventCreate(&start); cudaEventCreate(&stop);
    const float dt = 1e-4f;
    for (int s = -1; s < steps; ++s) {
        if (s == 0) cudaEventRecord(start);
        moveTriangles<<<1, NTRI>>>(dT, dt);
        buildNeighbours<<<blocks, BLOCK>>>(dG, dC, dN, n, grid, 0.1f);
        contactForces<<<blocks, BLOCK>>>(dG, dN, dM, n, dContacts);
        triangleForces<<<blocks, BLOCK>>>(dG, dT, dM, n);
        integrate<<<blocks, BLOCK>>>(dG, n, dt, dE);
    }
    cudaEventRecord(stop); cudaEventSynchronize(stop);
    float ms = 0;
    cudaEventElapsedTime(&ms, start, stop);
    std::vector<double> e(blocks);
    unsigned long long contacts = 0;
    cudaMemcpy(e.data(), dE, blocks * sizeof(double), cudaMemcpyDeviceToHost);
    cudaMemcpy(&contacts, dContacts, sizeof contacts, cudaMemcpyDeviceToHost);
    if (cudaError_t err = cudaGetLastError()) { fprintf(stderr, "%s\n", cudaGetErrorString(err)); return 1; }
    double total = 0;
    for (double x : e) total += x;
    cudaFree(dG); cudaFree(dT); cudaFree(dC); cudaFree(dM); cudaFree(dN); cudaFree(dE); cudaFree(dContacts);
    printf("check %.2e/%.2e\n", total, (double)contacts);
    printf("time_ms %f\n", ms / steps);
    return 0;
}
