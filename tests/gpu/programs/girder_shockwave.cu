// girder_shockwave.cu
// Explicit finite-element dynamics of a perforated girder (plane strain, constant
// strain triangles).  It is struck at a row of frames, the waves run through the girder and
// soften it a little where it is strained most.
//
// Elements keep their geometry, stress and nodal forces; nodes gather the forces
// of the triangles around them, so the result does not depend on any ordering.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define HANDLE(err) (handleError(err, __FILE__, __LINE__))
static void handleError(cudaError_t err, const char *file, int line)
{
    if (err != cudaSuccess) {
        printf("%s in %s at line %d\n", cudaGetErrorString(err), file, line);
        exit(EXIT_FAILURE);
    }
}

typedef float real;

template <typename T>
struct Vec2T {
    T x, y;
};
template <typename T>
__host__ __device__ inline Vec2T<T> operator+(Vec2T<T> a, Vec2T<T> b) { return {a.x + b.x, a.y + b.y}; }
template <typename T>
__host__ __device__ inline Vec2T<T> operator*(T s, Vec2T<T> a) { return {s * a.x, s * a.y}; }
typedef Vec2T<real> vec2;

struct Triangle {
    int node[3];
    int material;
    real b[3], c[3];        // shape function gradients
    real area;
    real thickness;
    real stress[3];         // xx, yy, xy
    real strain[3];
    real damage;
    vec2 force[3];          // on the three nodes
    double work;            // plastic-like dissipation so far
};

struct Node {
    vec2 x;                 // reference position
    double ux, uy;          // displacement
    vec2 v;
    vec2 a;
    real mass;
    int tri[6];             // element * 4 + corner, or -1
    unsigned char fixed;
    unsigned char struck;
};

struct MaterialData {
    real young, poisson, density, softening;
};

struct Probe {
    unsigned long long elastic;   // fixed point
    unsigned long long kinetic;
    int maxStress;
    int count;
};

__constant__ MaterialData matTable[4];

__device__ inline void hooke(const MaterialData &m, const real e[3], real d, real s[3])
{
    const real E = m.young * (1.0f - d);
    const real k = E / ((1.0f + m.poisson) * (1.0f - 2.0f * m.poisson));
    s[0] = k * ((1.0f - m.poisson) * e[0] + m.poisson * e[1]);
    s[1] = k * (m.poisson * e[0] + (1.0f - m.poisson) * e[1]);
    s[2] = k * 0.5f * (1.0f - 2.0f * m.poisson) * e[2];
}

__global__ void strainElements(Triangle *tri, const Node *__restrict__ nodes, int nTri)
{
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= nTri) return;
    real ex = 0, ey = 0, exy = 0;
    for (int k = 0; k < 3; k++) {
        const Node &n = nodes[tri[e].node[k]];
        const real ux = (real)n.ux, uy = (real)n.uy;
        ex += tri[e].b[k] * ux;
        ey += tri[e].c[k] * uy;
        exy += tri[e].c[k] * ux + tri[e].b[k] * uy;
    }
    tri[e].strain[0] = ex;
    tri[e].strain[1] = ey;
    tri[e].strain[2] = exy;
}

__global__ void stressElements(Triangle *tri, int nTri, real dt)
{
    const int stride = blockDim.x * gridDim.x;
    for (int e = blockIdx.x * blockDim.x + threadIdx.x; e < nTri; e += stride) {
        Triangle t = tri[e];
        const MaterialData m = matTable[t.material];
        // smooth softening, no threshold
        const real norm2 = t.strain[0] * t.strain[0] + t.strain[1] * t.strain[1] + 0.5f * t.strain[2] * t.strain[2];
        const real rate = m.softening * norm2 / (norm2 + 1e-4f);
        const real dd = rate * (0.5f - t.damage) * dt;
        hooke(m, t.strain, t.damage, t.stress);
        t.work += (double)(0.5f * dd * t.area * t.thickness *
                           (t.stress[0] * t.strain[0] + t.stress[1] * t.strain[1] + t.stress[2] * t.strain[2]));
        t.damage += dd;
        const real w = -t.area * t.thickness;
        for (int k = 0; k < 3; k++) {
            t.force[k].x = w * (t.b[k] * t.stress[0] + t.c[k] * t.stress[2]);
            t.force[k].y = w * (t.c[k] * t.stress[1] + t.b[k] * t.stress[2]);
        }
        tri[e] = t;
    }
}

__global__ void moveNodes(Node *nodes, const Triangle *__restrict__ tri, int nNodes, real dt, real hammer)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= nNodes) return;
    vec2 f = {0.0f, 0.0f};
    for (int k = 0; k < 6; k++) {
        const int t = nodes[i].tri[k];
        if (t >= 0) f = f + tri[t >> 2].force[t & 3];
    }
    if (nodes[i].struck) f.x += hammer * nodes[i].mass;
    if (nodes[i].fixed || nodes[i].mass == 0.0f) return;
    const vec2 a = (1.0f / nodes[i].mass) * f;
    vec2 v = 0.9995f * nodes[i].v + dt * a;
    nodes[i].a = a;
    nodes[i].v = v;
    nodes[i].ux += (double)(dt * v.x);
    nodes[i].uy += (double)(dt * v.y);
}

__global__ void readProbes(const Triangle *tri, const Node *nodes, Probe *probes, int cols, int rows, int perProbe)
{
    // a block looks at 32 x 8 squares of two triangles each
    int cx = blockIdx.x * blockDim.x + threadIdx.x;
    int cy = blockIdx.y * blockDim.y + threadIdx.y;
    unsigned long long el = 0, kin = 0;
    int top = 0, cnt = 0;
    if (cx < cols && cy < rows) {
        for (int h = 0; h < 2; h++) {
            const Triangle *t = tri + 2 * (cy * cols + cx) + h;
            real en = 0.5f * t->area * t->thickness *
                      (t->stress[0] * t->strain[0] + t->stress[1] * t->strain[1] + t->stress[2] * t->strain[2]);
            el += (unsigned long long)(fmaxf(en, 0.0f) * 1.0e9f);
            real mises = sqrtf(t->stress[0] * t->stress[0] - t->stress[0] * t->stress[1] +
                               t->stress[1] * t->stress[1] + 3.0f * t->stress[2] * t->stress[2]);
            top = max(top, (int)(mises * 1.0e6f));
            cnt++;
        }
        const Node *n = nodes + cy * (cols + 1) + cx;
        kin = (unsigned long long)(0.5f * n->mass * (n->v.x * n->v.x + n->v.y * n->v.y) * 1.0e9f);
    }
    for (int o = 16; o > 0; o /= 2) {
        el += __shfl_down_sync(0xffffffff, el, o);
        kin += __shfl_down_sync(0xffffffff, kin, o);
        top = max(top, __shfl_down_sync(0xffffffff, top, o));
        cnt += __shfl_down_sync(0xffffffff, cnt, o);
    }
    if (threadIdx.x == 0 && cnt > 0) {
        Probe *p = &probes[cx / perProbe];
        atomicAdd(&p->elastic, el);
        atomicAdd(&p->kinetic, kin);
        atomicMax(&p->maxStress, top);
        atomicAdd(&p->count, cnt);
    }
}

static void attach(Node &n, int code)
{
    for (int k = 0; k < 6; k++)
        if (n.tri[k] < 0) { n.tri[k] = code; return; }
}

int main(int argc, char **argv)
{
    const int cols = argc > 1 ? atoi(argv[1]) : 2048;
    const int rows = argc > 2 ? atoi(argv[2]) : 400;
    const int steps = argc > 3 ? atoi(argv[3]) : 100;
    const int nNodes = (cols + 1) * (rows + 1), nTri = 2 * cols * rows;
    const int perProbe = 64;
    const int nProbes = (cols + perProbe - 1) / perProbe;

    MaterialData table[4] = {{1.0f, 0.30f, 1.0f, 0.004f},
                             {0.7f, 0.25f, 0.9f, 0.010f},
                             {1.2f, 0.20f, 1.1f, 0.002f},
                             {0.02f, 0.10f, 0.05f, 0.000f}};   // 3: filling of the holes
    HANDLE(cudaMemcpyToSymbol(matTable, table, sizeof(table)));

    std::vector<Node> nodes(nNodes);
    std::vector<Triangle> tri(nTri);
    srand(2718);
    for (int j = 0; j <= rows; j++)
        for (int i = 0; i <= cols; i++) {
            Node &n = nodes[j * (cols + 1) + i];
            real jx = 0, jy = 0;
            if (i > 0 && i < cols && j > 0 && j < rows) {
                jx = 0.2f * ((rand() % 1000) / 1000.0f - 0.5f);
                jy = 0.2f * ((rand() % 1000) / 1000.0f - 0.5f);
            }
            n.x = {i + jx, j + jy};
            n.ux = n.uy = 0.0;
            n.v = {0, 0};
            n.a = {0, 0};
            n.mass = 0;
            for (int k = 0; k < 6; k++) n.tri[k] = -1;
            n.fixed = (i == cols) ? 1 : 0;
            n.struck = (i % 64 < 3) ? 1 : 0;
        }
    for (int j = 0; j < rows; j++)
        for (int i = 0; i < cols; i++)
            for (int h = 0; h < 2; h++) {
                const int e = 2 * (j * cols + i) + h;
                Triangle &t = tri[e];
                const int n00 = j * (cols + 1) + i, n10 = n00 + 1, n01 = n00 + cols + 1, n11 = n01 + 1;
                t.node[0] = n00;
                t.node[1] = h ? n11 : n10;
                t.node[2] = h ? n01 : n11;
                const int hx = i % 128 - 64, hy = j % 100 - 50;
                t.material = (hx * hx + hy * hy < 400) ? 3 : (i / 200 + j / 133) % 3;
                const vec2 p0 = nodes[t.node[0]].x, p1 = nodes[t.node[1]].x, p2 = nodes[t.node[2]].x;
                const real two = (p1.x - p0.x) * (p2.y - p0.y) - (p2.x - p0.x) * (p1.y - p0.y);
                t.area = 0.5f * two;
                t.thickness = 1.0f + 0.25f * ((i / 32) % 3);
                t.b[0] = (p1.y - p2.y) / two;
                t.b[1] = (p2.y - p0.y) / two;
                t.b[2] = (p0.y - p1.y) / two;
                t.c[0] = (p2.x - p1.x) / two;
                t.c[1] = (p0.x - p2.x) / two;
                t.c[2] = (p1.x - p0.x) / two;
                t.damage = 0;
                t.work = 0;
                for (int k = 0; k < 3; k++) {
                    t.stress[k] = t.strain[k] = 0;
                    t.force[k] = {0, 0};
                    Node &n = nodes[t.node[k]];
                    n.mass += table[t.material].density * t.area * t.thickness / 3.0f;
                    attach(n, e * 4 + k);
                }
            }

    Triangle *dTri;
    Node *dNodes;
    Probe *dProbes;
    HANDLE(cudaMalloc((void **)&dTri, nTri * sizeof(Triangle)));
    HANDLE(cudaMalloc((void **)&dNodes, nNodes * sizeof(Node)));
    HANDLE(cudaMalloc((void **)&dProbes, nProbes * sizeof(Probe)));
    HANDLE(cudaMemcpy(dTri, &tri[0], nTri * sizeof(Triangle), cudaMemcpyHostToDevice));
    HANDLE(cudaMemcpy(dNodes, &nodes[0], nNodes * sizeof(Node), cudaMemcpyHostToDevice));
    HANDLE(cudaMemset(dProbes, 0, nProbes * sizeof(Probe)));

    const real dt = 0.2f;
    const dim3 pb(32, 8), pg((cols + 31) / 32, (rows + 7) / 8);
    cudaEvent_t t0, t1;
    HANDLE(cudaEventCreate(&t0));
    HANDLE(cudaEventCreate(&t1));
    HANDLE(cudaEventRecord(t0, 0));
    for (int s = 0; s < steps; s++) {
        real hammer = s < 40 ? 0.01f * sinf(3.14159265f * s / 40.0f) : 0.0f;
        strainElements<<<(nTri + 255) / 256, 256>>>(dTri, dNodes, nTri);
        stressElements<<<132 * 12, 128>>>(dTri, nTri, dt);
        moveNodes<<<(nNodes + 255) / 256, 256>>>(dNodes, dTri, nNodes, dt, hammer);
        readProbes<<<pg, pb>>>(dTri, dNodes, dProbes, cols, rows, perProbe);
    }
    HANDLE(cudaEventRecord(t1, 0));
    HANDLE(cudaEventSynchronize(t1));
    HANDLE(cudaGetLastError());
    float ms = 0;
    HANDLE(cudaEventElapsedTime(&ms, t0, t1));
    printf("time_ms %.5f\n", ms / steps);

    std::vector<Probe> probes(nProbes);
    HANDLE(cudaMemcpy(&tri[0], dTri, nTri * sizeof(Triangle), cudaMemcpyDeviceToHost));
    HANDLE(cudaMemcpy(&nodes[0], dNodes, nNodes * sizeof(Node), cudaMemcpyDeviceToHost));
    HANDLE(cudaMemcpy(&probes[0], dProbes, nProbes * sizeof(Probe), cudaMemcpyDeviceToHost));
    double disp = 0, vel = 0, acc = 0, damage = 0, work = 0, stress = 0, strain = 0, force = 0, el = 0, kin = 0, top = 0;
    long long cnt = 0;
    for (int i = 0; i < nNodes; i++) {
        disp += fabs(nodes[i].ux) + fabs(nodes[i].uy);
        vel += fabs(nodes[i].v.x) + fabs(nodes[i].v.y);
        acc += fabs(nodes[i].a.x) + fabs(nodes[i].a.y);
    }
    for (int e = 0; e < nTri; e++) {
        damage += tri[e].damage;
        work += tri[e].work;
        stress += fabs(tri[e].stress[0]) + fabs(tri[e].stress[1]) + fabs(tri[e].stress[2]);
        strain += fabs(tri[e].strain[0]) + fabs(tri[e].strain[1]) + fabs(tri[e].strain[2]);
        for (int k = 0; k < 3; k++) force += fabs(tri[e].force[k].x) + fabs(tri[e].force[k].y);
    }
    for (int p = 0; p < nProbes; p++) {
        el += (double)probes[p].elastic;
        kin += (double)probes[p].kinetic;
        top += probes[p].maxStress;
        cnt += probes[p].count;
    }
    printf("check displacement %.4e\n", disp);
    printf("check velocity %.4e\n", vel);
    printf("check acceleration %.3e\n", acc);
    printf("check damage %.4e\n", damage);
    printf("check work %.3e\n", work);
    printf("check stress %.4e\n", stress);
    printf("check strain %.4e\n", strain);
    printf("check force %.4e\n", force);
    printf("check elastic %.3e\n", el);
    printf("check kinetic %.3e\n", kin);
    printf("check peak %.3e\n", top);
    printf("check count %lld\n", cnt);
    HANDLE(cudaFree(dTri));
    HANDLE(cudaFree(dNodes));
    HANDLE(cudaFree(dProbes));
    return 0;
}
