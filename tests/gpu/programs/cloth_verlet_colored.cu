// Sail / flag cloth with coloured constraint groups. My little game-physics playground, part 7.
// Everything lives in managed memory because I'm lazy :)
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cmath>

#define CK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { \
    printf("CUDA oops: %s @ line %d\n", cudaGetErrorString(e), __LINE__); exit(1); } } while (0)

struct Vec3 {
    float x, y, z;
    Vec3() = default;
    __host__ __device__ Vec3(float a, float b, float c) : x(a), y(b), z(c) {}
    __host__ __device__ Vec3 operator+(const Vec3& o) const { return Vec3(x + o.x, y + o.y, z + o.z); }
    __host__ __device__ Vec3 operator-(const Vec3& o) const { return Vec3(x - o.x, y - o.y, z - o.z); }
    __host__ __device__ Vec3 operator*(float s) const { return Vec3(x * s, y * s, z * s); }
    __host__ __device__ Vec3& operator+=(const Vec3& o) { x += o.x; y += o.y; z += o.z; return *this; }
    __host__ __device__ Vec3& operator-=(const Vec3& o) { x -= o.x; y -= o.y; z -= o.z; return *this; }
    __host__ __device__ float dot(const Vec3& o) const { return x * o.x + y * o.y + z * o.z; }
    __host__ __device__ Vec3 cross(const Vec3& o) const {
        return Vec3(y * o.z - z * o.y, z * o.x - x * o.z, x * o.y - y * o.x);
    }
    __host__ __device__ float len() const { return sqrtf(dot(*this)); }
};

struct ClothNode {
    Vec3 p;          // position now
    Vec3 prev;       // position last frame
    Vec3 n;          // normal (for wind + rendering)
    float invMass;   // 0 = pinned
    float u, v;      // texture coords
    float wet;       // wetness, makes it heavier

    __host__ __device__ bool pinned() const { return invMass == 0.0f; }
    __device__ Vec3 velocity(float dt) const { return (p - prev) * (1.0f / dt); }
    __device__ void verlet(const Vec3& acc, float dt, float damp) {
        Vec3 old = p;
        p += (p - prev) * damp + acc * (dt * dt);
        prev = old;
    }
};

struct Spring {
    int a, b;
    float rest;
    float k;
    float strain;
    int kind;        // 0 structural, 1 shear
};

struct Ball { Vec3 c; float r; };

#define NBALLS 4
__constant__ Ball balls[NBALLS];

const int W = 1024, H = 1024;
const float CELL = 0.02f;

__device__ Vec3 windForce(const ClothNode& nd, float t)
{
    Vec3 w(3.0f + sinf(1.7f * nd.u * 20.0f + t), 0.3f * cosf(t * 3.0f + nd.v * 9.0f), 1.5f);
    float d = w.dot(nd.n);
    return nd.n * (d * 0.8f);
}

__global__ void integrate(ClothNode* nodes, int n, float dt, float t)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        if (nodes[i].pinned()) continue;
        Vec3 acc(0.0f, -9.81f * (1.0f + nodes[i].wet), 0.0f);
        acc += windForce(nodes[i], t) * nodes[i].invMass;
        nodes[i].verlet(acc, dt, 0.995f);
        nodes[i].wet *= 0.999f;
    }
}

// springs of one colour never share a node, so no atomics needed
__global__ void satisfy(ClothNode* nodes, Spring* springs, int first, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    Spring& s = springs[first + i];
    ClothNode& A = nodes[s.a];
    ClothNode& B = nodes[s.b];
    Vec3 d = B.p - A.p;
    float L = d.len();
    float w = A.invMass + B.invMass;
    if (w > 0.0f && L > 1e-7f) {
        Vec3 corr = d * (s.k * (L - s.rest) / (L * w));
        A.p += corr * A.invMass;
        B.p -= corr * B.invMass;
    }
    s.strain = fabsf(L / s.rest - 1.0f);
}

__global__ void collide(ClothNode* nodes, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    ClothNode me = nodes[i];
    if (me.pinned()) return;
    bool touched = false;
    for (int b = 0; b < NBALLS; b++) {
        Vec3 d = me.p - balls[b].c;
        float L = d.len();
        if (L < balls[b].r) {
            me.p = balls[b].c + d * (balls[b].r / fmaxf(L, 1e-6f));
            me.prev = me.prev + (me.p - me.prev) * 0.3f;   // friction
            me.wet = fminf(me.wet + 0.01f, 1.0f);
            touched = true;
        }
    }
    if (touched) nodes[i] = me;
}

__global__ void normals(ClothNode* nodes)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= W || y >= H) return;
    int xl = x > 0 ? x - 1 : x, xr = x < W - 1 ? x + 1 : x;
    int yd = y > 0 ? y - 1 : y, yu = y < H - 1 ? y + 1 : y;
    Vec3 du = nodes[y * W + xr].p - nodes[y * W + xl].p;
    Vec3 dv = nodes[yu * W + x].p - nodes[yd * W + x].p;
    Vec3 n = du.cross(dv);
    float L = n.len();
    nodes[y * W + x].n = L > 1e-12f ? n * (1.0f / L) : Vec3(0, 0, 1);
}

int addSpring(Spring* sp, int at, int a, int b, float rest, float k, int kind)
{
    sp[at].a = a; sp[at].b = b; sp[at].rest = rest; sp[at].k = k;
    sp[at].strain = 0; sp[at].kind = kind;
    return at + 1;
}

int main()
{
    int n = W * H;
    int maxSprings = 4 * n;
    ClothNode* nodes; Spring* springs;
    CK(cudaMallocManaged(&nodes, n * sizeof(ClothNode)));
    CK(cudaMallocManaged(&springs, maxSprings * sizeof(Spring)));

    unsigned seed = 777;
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            ClothNode& nd = nodes[y * W + x];
            seed = seed * 1664525u + 1013904223u;
            float jit = ((seed >> 9) & 1023) / 1023.0f - 0.5f;
            nd.p = Vec3(x * CELL, -y * CELL, 0.02f * sinf(x * 0.05f) + 0.001f * jit);
            nd.prev = nd.p;
            nd.n = Vec3(0, 0, 1);
            nd.invMass = (y == 0 && x % 64 == 0) || (x == 0 && y % 128 == 0) ? 0.0f : 1.0f + 0.2f * jit;
            nd.u = x / float(W); nd.v = y / float(H);
            nd.wet = y > H / 2 ? 0.2f : 0.0f;
        }

    // colour groups: 2 x horizontal, 2 x vertical, 2 x each diagonal
    int start[9], m = 0, g = 0;
    for (int par = 0; par < 2; par++) {
        start[g++] = m;
        for (int y = 0; y < H; y++)
            for (int x = par; x + 1 < W; x += 2) m = addSpring(springs, m, y * W + x, y * W + x + 1, CELL, 0.9f, 0);
    }
    for (int par = 0; par < 2; par++) {
        start[g++] = m;
        for (int y = par; y + 1 < H; y += 2)
            for (int x = 0; x < W; x++) m = addSpring(springs, m, y * W + x, (y + 1) * W + x, CELL, 0.9f, 0);
    }
    for (int par = 0; par < 2; par++) {
        start[g++] = m;
        for (int y = par; y + 1 < H; y += 2)
            for (int x = 0; x + 1 < W; x++) m = addSpring(springs, m, y * W + x, (y + 1) * W + x + 1, CELL * 1.41421f, 0.3f, 1);
    }
    for (int par = 0; par < 2; par++) {
        start[g++] = m;
        for (int y = par; y + 1 < H; y += 2)
            for (int x = 1; x < W; x++) m = addSpring(springs, m, y * W + x, (y + 1) * W + x - 1, CELL * 1.41421f, 0.3f, 1);
    }
    start[g] = m;

    Ball hb[NBALLS];
    for (int b = 0; b < NBALLS; b++) {
        hb[b].c = Vec3(3.0f + 4.5f * b, -6.0f - 3.0f * b, 0.9f);
        hb[b].r = 1.0f;
    }
    CK(cudaMemcpyToSymbol(balls, hb, sizeof(hb)));

    cudaEvent_t e0, e1;
    CK(cudaEventCreate(&e0)); CK(cudaEventCreate(&e1));
    const int FRAMES = 20;
    const float dt = 1.0f / 240.0f;
    dim3 nb(16, 16), ng((W + 15) / 16, (H + 15) / 16);
    for (int f = 0; f <= FRAMES; f++) {
        if (f == 1) CK(cudaEventRecord(e0));     // frame 0 warms up + migrates pages
        integrate<<<1056, 256>>>(nodes, n, dt, f * dt);
        for (int c = 0; c < g; c++) {
            int cnt = start[c + 1] - start[c];
            satisfy<<<(cnt + 127) / 128, 128>>>(nodes, springs, start[c], cnt);
        }
        collide<<<(n + 255) / 256, 256>>>(nodes, n);
        normals<<<ng, nb>>>(nodes);
    }
    CK(cudaEventRecord(e1));
    CK(cudaGetLastError());
    CK(cudaDeviceSynchronize());
    float ms; CK(cudaEventElapsedTime(&ms, e0, e1));

    double py = 0, pz2 = 0, strain = 0, strainS = 0, wet = 0, nz = 0;
    for (int i = 0; i < n; i++) {
        py += nodes[i].p.y; pz2 += nodes[i].p.z * nodes[i].p.z;
        wet += nodes[i].wet; nz += fabs(nodes[i].n.z);
    }
    for (int i = 0; i < m; i++) (springs[i].kind ? strainS : strain) += springs[i].strain;
    printf("check pos_y %.6e\n", py);
    printf("check pos_z2 %.6e\n", pz2);
    printf("check wet %.6e\n", wet);
    printf("check normal_z %.6e\n", nz);
    printf("check strain_struct %.6e\n", strain);
    printf("check strain_shear %.6e\n", strainS);
    printf("time_ms %.4f\n", ms);
    CK(cudaFree(nodes)); CK(cudaFree(springs));
    return 0;
}
