// Explicit co-rotational-free (St. Venant-Kirchhoff) tetrahedral FEM on a block mesh
// with a Laplacian smoothing pass on the velocities (CSR vertex adjacency).
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>
#include <cuda_runtime.h>

#define cuTry(x) cuTryImpl((x), __FILE__, __LINE__)
static void cuTryImpl(cudaError_t e, const char* f, int l)
{
    if (e != cudaSuccess) { fprintf(stderr, "%s(%d): %s\n", f, l, cudaGetErrorString(e)); exit(2); }
}

struct CudaFree { void operator()(void* p) const { cudaFree(p); } };
template <class T> using dev_ptr = std::unique_ptr<T[], CudaFree>;

template <class T> dev_ptr<T> toDevice(const std::vector<T>& v)
{
    T* p = nullptr;
    cuTry(cudaMalloc(&p, v.size() * sizeof(T)));
    cuTry(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
    return dev_ptr<T>(p);
}

struct Vec3 { float x, y, z; };
__host__ __device__ inline Vec3 operator+(Vec3 a, Vec3 b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
__host__ __device__ inline Vec3 operator-(Vec3 a, Vec3 b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
__host__ __device__ inline Vec3 operator*(Vec3 a, float s) { return {a.x * s, a.y * s, a.z * s}; }
__host__ __device__ inline float dot(Vec3 a, Vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__host__ __device__ inline Vec3 cross(Vec3 a, Vec3 b)
{
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

struct Node {
    Vec3 pos;
    Vec3 rest;
    Vec3 vel;
    Vec3 force;
    float mass;
    int firstTet, endTet;      // range in incidence list
    int firstAdj, endAdj;      // range in adjacency list
    short fixed;
    short material;
};

struct Tet {
    int v[4];
    Vec3 grad[4];              // shape function gradients
    Vec3 f[4];                 // corner forces
    float vol;
    float mu, lambda;
    float energy;
};                             // 128 bytes

struct Incidence { int tet; int corner; };

__global__ void elementForces(Tet* tets, const Node* nodes, int nTets)
{
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= nTets) return;
    Tet& t = tets[e];
    // deformation gradient F = sum x_a (x) grad_a, stored by rows
    Vec3 F0{0, 0, 0}, F1{0, 0, 0}, F2{0, 0, 0};
    for (int a = 0; a < 4; ++a) {
        Vec3 p = nodes[t.v[a]].pos;
        F0 = F0 + t.grad[a] * p.x;
        F1 = F1 + t.grad[a] * p.y;
        F2 = F2 + t.grad[a] * p.z;
    }
    // Green strain E = (F^T F - I) / 2
    float exx = 0.5f * (F0.x * F0.x + F1.x * F1.x + F2.x * F2.x - 1.0f);
    float eyy = 0.5f * (F0.y * F0.y + F1.y * F1.y + F2.y * F2.y - 1.0f);
    float ezz = 0.5f * (F0.z * F0.z + F1.z * F1.z + F2.z * F2.z - 1.0f);
    float exy = 0.5f * (F0.x * F0.y + F1.x * F1.y + F2.x * F2.y);
    float exz = 0.5f * (F0.x * F0.z + F1.x * F1.z + F2.x * F2.z);
    float eyz = 0.5f * (F0.y * F0.z + F1.y * F1.z + F2.y * F2.z);
    float tr = exx + eyy + ezz;
    float m2 = 2.0f * t.mu, l = t.lambda * tr;
    Vec3 S0{m2 * exx + l, m2 * exy, m2 * exz};
    Vec3 S1{m2 * exy, m2 * eyy + l, m2 * eyz};
    Vec3 S2{m2 * exz, m2 * eyz, m2 * ezz + l};
    for (int a = 0; a < 4; ++a) {
        Vec3 g = t.grad[a];
        Vec3 Sg{dot(S0, g), dot(S1, g), dot(S2, g)};
        t.f[a] = Vec3{dot(F0, Sg), dot(F1, Sg), dot(F2, Sg)} * (-t.vol);
    }
    t.energy = t.vol * (t.mu * (exx * exx + eyy * eyy + ezz * ezz + 2.0f * (exy * exy + exz * exz + eyz * eyz)) +
                        0.5f * t.lambda * tr * tr);
}

__global__ void gatherForces(Node* nodes, const Tet* tets, const Incidence* inc, int n, float gravity)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Vec3 f{0.0f, 0.0f, -gravity * nodes[i].mass};
    for (int k = nodes[i].firstTet; k < nodes[i].endTet; ++k)
        f = f + tets[inc[k].tet].f[inc[k].corner];
    nodes[i].force = f;
}

__global__ void integrate(Node* nodes, int n, float dt, float damping)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Node& nd = nodes[i];
    if (nd.fixed) { nd.vel = Vec3{0, 0, 0}; return; }
    nd.vel = (nd.vel + nd.force * (dt / nd.mass)) * damping;
    nd.pos = nd.pos + nd.vel * dt;
}

__global__ void smoothVelocity(const Node* __restrict__ in, Node* __restrict__ out, const int* __restrict__ adj,
                               int n, float weight)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Node nd = in[i];
    if (!nd.fixed) {
        Vec3 s{0, 0, 0};
        for (int k = nd.firstAdj; k < nd.endAdj; ++k) s = s + in[adj[k]].vel;
        s = s * (1.0f / (nd.endAdj - nd.firstAdj));
        nd.vel = nd.vel + (s - nd.vel) * weight;
    }
    out[i] = nd;
}

__global__ void totalEnergy(const Tet* tets, int nTets, double* result)
{
    __shared__ double part[256];
    double s = 0.0;
    for (int e = blockIdx.x * blockDim.x + threadIdx.x; e < nTets; e += gridDim.x * blockDim.x) s += tets[e].energy;
    part[threadIdx.x] = s;
    __syncthreads();
    for (int h = blockDim.x / 2; h > 0; h >>= 1) {
        if ((int)threadIdx.x < h) part[threadIdx.x] += part[threadIdx.x + h];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(result, part[0]);
}

int main()
{
    const int NX = 72, NY = 40, NZ = 40;      // cells
    auto vid = [&](int x, int y, int z) { return (z * (NY + 1) + y) * (NX + 1) + x; };
    std::vector<Node> nodes((NX + 1) * (NY + 1) * (NZ + 1));
    uint32_t rng = 12345u;
    auto rnd = [&] { rng = rng * 1103515245u + 12345u; return ((rng >> 9) & 0x3fffff) / 4194304.0f - 0.5f; };
    const float h = 0.05f;
    for (int z = 0; z <= NZ; ++z)
        for (int y = 0; y <= NY; ++y)
            for (int x = 0; x <= NX; ++x) {
                Node nd{};
                nd.rest = Vec3{x + 0.2f * rnd(), y + 0.2f * rnd(), z + 0.2f * rnd()} * h;
                nd.pos = nd.rest;
                nd.pos.z += 0.02f * sinf(3.0f * nd.rest.x);
                nd.fixed = x == 0;
                nd.material = (short)((x / 9 + z / 10) & 1);
                nodes[vid(x, y, z)] = nd;
            }
    std::vector<Tet> tets;
    const int kuhn[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (int z = 0; z < NZ; ++z)
        for (int y = 0; y < NY; ++y)
            for (int x = 0; x < NX; ++x)
                for (const auto& perm : kuhn) {
                    std::array<int, 3> c = {x, y, z};
                    Tet t{};
                    t.v[0] = vid(c[0], c[1], c[2]);
                    for (int k = 0; k < 3; ++k) { c[perm[k]]++; t.v[k + 1] = vid(c[0], c[1], c[2]); }
                    Vec3 p0 = nodes[t.v[0]].rest;
                    Vec3 a = nodes[t.v[1]].rest - p0, b = nodes[t.v[2]].rest - p0, d = nodes[t.v[3]].rest - p0;
                    float det = dot(a, cross(b, d));
                    t.grad[1] = cross(b, d) * (1.0f / det);
                    t.grad[2] = cross(d, a) * (1.0f / det);
                    t.grad[3] = cross(a, b) * (1.0f / det);
                    t.grad[0] = (t.grad[1] + t.grad[2] + t.grad[3]) * -1.0f;
                    t.vol = fabsf(det) / 6.0f;
                    bool stiff = nodes[t.v[0]].material == 1;
                    t.mu = stiff ? 4.0e4f : 2.0e4f;
                    t.lambda = stiff ? 6.0e4f : 3.0e4f;
                    for (int v : t.v) nodes[v].mass += t.vol * 1000.0f / 4.0f;
                    tets.push_back(t);
                }
    const int nN = (int)nodes.size(), nT = (int)tets.size();
    std::vector<std::vector<Incidence>> incOf(nN);
    for (int e = 0; e < nT; ++e)
        for (int a = 0; a < 4; ++a) incOf[tets[e].v[a]].push_back({e, a});
    std::vector<Incidence> inc;
    std::vector<int> adj;
    for (int i = 0; i < nN; ++i) {
        std::vector<int> nb;
        nodes[i].firstTet = (int)inc.size();
        for (auto& p : incOf[i]) {
            inc.push_back(p);
            for (int v : tets[p.tet].v) if (v != i) nb.push_back(v);
        }
        nodes[i].endTet = (int)inc.size();
        std::sort(nb.begin(), nb.end());
        nb.erase(std::unique(nb.begin(), nb.end()), nb.end());
        nodes[i].firstAdj = (int)adj.size();
        adj.insert(adj.end(), nb.begin(), nb.end());
        nodes[i].endAdj = (int)adj.size();
    }

    auto dA = toDevice(nodes), dB = toDevice(nodes);
    auto dT = toDevice(tets);
    auto dInc = toDevice(inc);
    auto dAdj = toDevice(adj);
    auto dEnergy = toDevice(std::vector<double>(1, 0.0));
    cudaEvent_t ev[2];
    for (auto& e : ev) cuTry(cudaEventCreate(&e));
    const int B = 128, gN = (nN + B - 1) / B, gT = (nT + B - 1) / B, warm = 2, reps = 40;
    for (int r = 0; r < warm + reps; ++r) {
        if (r == warm) cuTry(cudaEventRecord(ev[0]));
        for (int sub = 0; sub < 2; ++sub) {
            elementForces<<<gT, B>>>(dT.get(), dA.get(), nT);
            gatherForces<<<gN, B>>>(dA.get(), dT.get(), dInc.get(), nN, 9.81f);
            integrate<<<gN, B>>>(dA.get(), nN, 5.0e-4f, 0.999f);
        }
        smoothVelocity<<<gN, B>>>(dA.get(), dB.get(), dAdj.get(), nN, 0.1f);
        std::swap(dA, dB);
        totalEnergy<<<264, 256>>>(dT.get(), nT, dEnergy.get());
        cuTry(cudaGetLastError());
    }
    cuTry(cudaEventRecord(ev[1]));
    cuTry(cudaEventSynchronize(ev[1]));
    float ms = 0.0f;
    cuTry(cudaEventElapsedTime(&ms, ev[0], ev[1]));

    double energy = 0.0, kin = 0.0, disp = 0.0;
    cuTry(cudaMemcpy(&energy, dEnergy.get(), sizeof(double), cudaMemcpyDeviceToHost));
    cuTry(cudaMemcpy(nodes.data(), dA.get(), nN * sizeof(Node), cudaMemcpyDeviceToHost));
    for (const Node& nd : nodes) {
        kin += 0.5 * nd.mass * (double)dot(nd.vel, nd.vel);
        Vec3 d = nd.pos - nd.rest;
        disp += std::sqrt((double)dot(d, d));
    }
    printf("check elastic_energy_sum %.9g\n", energy);
    printf("check kinetic %.9g\n", kin);
    printf("check displacement %.9g\n", disp);
    printf("time_ms %.5f\n", ms / reps);
}
