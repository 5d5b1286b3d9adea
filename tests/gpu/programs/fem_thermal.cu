// Explicit transient heat conduction on a tetrahedral mesh (linear elements).
//
//   1. element kernel   : gather nodal temperatures, local conduction load vector
//   2. convection kernel: Robin boundary faces, scatter with atomics
//   3. node kernel      : gather the element contributions through a CSR table,
//                         forward Euler with lumped heat capacity
//   4. material kernel  : temperature dependent conductivity, phase indicator
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

typedef double real;

static void cudaOk(cudaError_t e, const char* file, int line)
{
    if (e == cudaSuccess) return;
    std::fprintf(stderr, "%s(%d): CUDA error %d: %s\n", file, line, (int)e, cudaGetErrorString(e));
    std::exit(3);
}
#define CUDA_OK(e) cudaOk((e), __FILE__, __LINE__)

struct Node {
    real  T;
    real  Told;
    real  load;             // boundary heat, W
    float xyz[3];
    float capacity;         // lumped rho*c*V, J/K
    int   adjBegin;
    int   adjCount;
    unsigned char fixed;
    unsigned char surface;
    short set;
};

struct Tet {
    int   n[4];
    float grad[4][3];       // shape function gradients
    float q[4];             // conduction load per local node, W
    float volume;
    float k;                // current conductivity
    float Tmean;
    short material;
    unsigned char phase;
    unsigned char active;
};

struct Face {
    int   n[3];
    float area;
    float h;                // film coefficient
    float Tinf;
    float flux;             // last total heat flux
    int   patch;
};

struct Material {
    float k0, k1;           // conductivity k0 + k1*(T-293)
    float rhoc;
    float Tmelt;
};

struct Mesh {
    int nNodes, nTets, nFaces;
    Node* nodes;
    Tet*  tets;
    Face* faces;
    const int* adj;         // 4 * element + local node
    const Material* mats;
};

__global__ void __launch_bounds__(256) elementConduction(Mesh mesh)
{
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= mesh.nTets) return;
    Tet& t = mesh.tets[e];
    if (!t.active) {
        for (int a = 0; a < 4; ++a) t.q[a] = 0.0f;
        return;
    }

    float T[4];
    float mean = 0.0f;
    for (int a = 0; a < 4; ++a) {
        T[a] = (float)mesh.nodes[t.n[a]].T;
        mean += 0.25f * T[a];
    }
    float g[3];
    for (int d = 0; d < 3; ++d)
        g[d] = t.grad[0][d] * T[0] + t.grad[1][d] * T[1] + t.grad[2][d] * T[2] + t.grad[3][d] * T[3];
    const float kv = t.k * t.volume;
    for (int a = 0; a < 4; ++a)
        t.q[a] = -kv * (t.grad[a][0] * g[0] + t.grad[a][1] * g[1] + t.grad[a][2] * g[2]);
    t.Tmean = mean;
}

__global__ void faceConvection(Face* faces, Node* nodes, int nFaces, float gain)
{
    int f = blockIdx.x * blockDim.x + threadIdx.x;
    if (f >= nFaces) return;
    Face& fc = faces[f];
    real Ts = (nodes[fc.n[0]].T + nodes[fc.n[1]].T + nodes[fc.n[2]].T) / 3.0;
    real q = gain * fc.h * fc.area * (fc.Tinf - Ts);
    fc.flux = (float)q;
    for (int i = 0; i < 3; ++i)
        atomicAdd(&nodes[fc.n[i]].load, q / 3.0);
}

__global__ void nodeUpdate(Node* __restrict__ nodes, const Tet* __restrict__ tets,
                           const int* __restrict__ adj, int nNodes, float dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= nNodes) return;
    Node& nd = nodes[i];
    real sum = nd.load;
    const int end = nd.adjBegin + nd.adjCount;
    for (int k = nd.adjBegin; k < end; ++k) {
        int code = adj[k];
        sum += tets[code >> 2].q[code & 3];
    }
    nd.Told = nd.T;
    if (!nd.fixed)
        nd.T += dt * sum / nd.capacity;
    nd.load = 0.0;
}

__device__ inline float conductivity(const Material& m, float T)
{
    float k = m.k0 + m.k1 * (T - 293.0f);
    return k < 0.2f * m.k0 ? 0.2f * m.k0 : k;
}

__global__ void updateMaterial(Tet* tets, const Material* __restrict__ mats, int nTets)
{
    const int stride = blockDim.x * gridDim.x;
    for (int e = blockIdx.x * blockDim.x + threadIdx.x; e < nTets; e += stride) {
        if (!tets[e].active) continue;
        const Material m = mats[tets[e].material];
        float Tm = tets[e].Tmean;
        tets[e].k = conductivity(m, Tm);
        tets[e].phase = Tm > m.Tmelt ? 1 : 0;
    }
}

// Largest temperature change, block reduction followed by an atomic maximum on
// the bit pattern (changes are non-negative).
__global__ void maxChange(const Node* __restrict__ nodes, int n, unsigned int* result)
{
    __shared__ float buf[256];
    float best = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        best = fmaxf(best, (float)fabs(nodes[i].T - nodes[i].Told));
    buf[threadIdx.x] = best;
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s; s >>= 1) {
        if (threadIdx.x < s) buf[threadIdx.x] = fmaxf(buf[threadIdx.x], buf[threadIdx.x + s]);
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicMax(result, __float_as_uint(buf[0]));
}

static unsigned lcgState = 1u;
static float frand() { lcgState = lcgState * 1664525u + 1013904223u; return (lcgState >> 8) / 16777216.0f; }

static const int NX = 80, NY = 80, NZ = 64;   // hexahedra, six tets each

static int nid(int i, int j, int k) { return (k * (NY + 1) + j) * (NX + 1) + i; }

int main()
{
    const float h = 0.01f;
    std::vector<Material> mats = {{45.0f, -0.02f, 3.6e6f, 1700.0f},
                                  {200.0f, -0.05f, 2.4e6f, 930.0f},
                                  {1.5f, 0.001f, 2.0e6f, 395.0f}};
    std::vector<Node> nodes((size_t)(NX + 1) * (NY + 1) * (NZ + 1));
    for (int k = 0; k <= NZ; ++k)
        for (int j = 0; j <= NY; ++j)
            for (int i = 0; i <= NX; ++i) {
                Node& n = nodes[nid(i, j, k)];
                bool inner = i > 0 && j > 0 && k > 0 && i < NX && j < NY && k < NZ;
                float jit = inner ? 0.15f * h : 0.0f;
                n.xyz[0] = i * h + jit * (frand() - 0.5f);
                n.xyz[1] = j * h + jit * (frand() - 0.5f);
                n.xyz[2] = k * h + jit * (frand() - 0.5f);
                n.T = 293.0 + 200.0 * std::exp(-0.002 * ((i - 40) * (i - 40) + (j - 30) * (j - 30) + (k - 20) * (k - 20)));
                n.Told = n.T;
                n.load = 0.0;
                n.capacity = 0.0f;
                n.adjBegin = n.adjCount = 0;
                n.fixed = (k == 0);
                n.surface = !inner;
                n.set = (short)(k * 8 / (NZ + 1));
            }

    static const int split[6][4] = {{0, 1, 3, 7}, {0, 1, 7, 5}, {0, 5, 7, 4},
                                    {0, 3, 2, 7}, {0, 6, 7, 2}, {0, 4, 7, 6}};
    std::vector<Tet> tets;
    tets.reserve((size_t)NX * NY * NZ * 6);
    for (int k = 0; k < NZ; ++k)
        for (int j = 0; j < NY; ++j)
            for (int i = 0; i < NX; ++i) {
                int c[8];
                for (int v = 0; v < 8; ++v) c[v] = nid(i + (v & 1), j + ((v >> 1) & 1), k + (v >> 2));
                for (int s = 0; s < 6; ++s) {
                    Tet t{};
                    for (int a = 0; a < 4; ++a) t.n[a] = c[split[s][a]];
                    double p[4][3];
                    for (int a = 0; a < 4; ++a)
                        for (int d = 0; d < 3; ++d) p[a][d] = nodes[t.n[a]].xyz[d];
                    double J[3][3];
                    for (int a = 0; a < 3; ++a)
                        for (int d = 0; d < 3; ++d) J[a][d] = p[a + 1][d] - p[0][d];
                    double inv[3][3];
                    inv[0][0] = J[1][1] * J[2][2] - J[1][2] * J[2][1];
                    inv[0][1] = J[0][2] * J[2][1] - J[0][1] * J[2][2];
                    inv[0][2] = J[0][1] * J[1][2] - J[0][2] * J[1][1];
                    inv[1][0] = J[1][2] * J[2][0] - J[1][0] * J[2][2];
                    inv[1][1] = J[0][0] * J[2][2] - J[0][2] * J[2][0];
                    inv[1][2] = J[0][2] * J[1][0] - J[0][0] * J[1][2];
                    inv[2][0] = J[1][0] * J[2][1] - J[1][1] * J[2][0];
                    inv[2][1] = J[0][1] * J[2][0] - J[0][0] * J[2][1];
                    inv[2][2] = J[0][0] * J[1][1] - J[0][1] * J[1][0];
                    double det = J[0][0] * inv[0][0] + J[0][1] * inv[1][0] + J[0][2] * inv[2][0];
                    if (std::fabs(det) < 1e-12) { std::fprintf(stderr, "degenerate tet\n"); return 1; }
                    t.volume = (float)(std::fabs(det) / 6.0);
                    for (int d = 0; d < 3; ++d) {
                        double s0 = 0.0;
                        for (int a = 0; a < 3; ++a) {
                            double g = inv[d][a] / det;
                            t.grad[a + 1][d] = (float)g;
                            s0 -= g;
                        }
                        t.grad[0][d] = (float)s0;
                    }
                    t.material = (short)(k < NZ / 4 ? 1 : ((i / 10 + j / 10) % 5 == 0 ? 2 : 0));
                    t.k = mats[t.material].k0;
                    t.active = !(i > 60 && j > 60 && k > 50);
                    t.Tmean = 293.0f;
                    for (int a = 0; a < 4; ++a)
                        nodes[t.n[a]].capacity += 0.25f * t.volume * mats[t.material].rhoc;
                    tets.push_back(t);
                }
            }
    // node -> element adjacency
    for (const Tet& t : tets) for (int a = 0; a < 4; ++a) nodes[t.n[a]].adjCount++;
    int run = 0;
    for (Node& n : nodes) { n.adjBegin = run; run += n.adjCount; n.adjCount = 0; }
    std::vector<int> adj(run);
    for (size_t e = 0; e < tets.size(); ++e)
        for (int a = 0; a < 4; ++a) {
            Node& n = nodes[tets[e].n[a]];
            adj[n.adjBegin + n.adjCount++] = (int)(4 * e + a);
        }
    // convective skin: four side walls and the top
    std::vector<Face> faces;
    auto addQuad = [&](int a, int b, int c, int d, int patch) {
        for (int s = 0; s < 2; ++s) {
            Face f{};
            std::array<int, 3> tri = s == 0 ? std::array<int, 3>{a, b, c} : std::array<int, 3>{b, d, c};
            for (int v = 0; v < 3; ++v) f.n[v] = tri[v];
            f.area = 0.5f * h * h;
            f.h = 25.0f + 10.0f * patch + 5.0f * frand();
            f.Tinf = patch == 4 ? 600.0f : 290.0f;
            f.patch = patch;
            faces.push_back(f);
        }
    };
    for (int k = 0; k < NZ; ++k)
        for (int i = 0; i < NX; ++i) {
            addQuad(nid(i, 0, k), nid(i + 1, 0, k), nid(i, 0, k + 1), nid(i + 1, 0, k + 1), 0);
            addQuad(nid(i, NY, k), nid(i + 1, NY, k), nid(i, NY, k + 1), nid(i + 1, NY, k + 1), 1);
        }
    for (int k = 0; k < NZ; ++k)
        for (int j = 0; j < NY; ++j) {
            addQuad(nid(0, j, k), nid(0, j + 1, k), nid(0, j, k + 1), nid(0, j + 1, k + 1), 2);
            addQuad(nid(NX, j, k), nid(NX, j + 1, k), nid(NX, j, k + 1), nid(NX, j + 1, k + 1), 3);
        }
    for (int j = 0; j < NY; ++j)
        for (int i = 0; i < NX; ++i)
            addQuad(nid(i, j, NZ), nid(i + 1, j, NZ), nid(i, j + 1, NZ), nid(i + 1, j + 1, NZ), 4);

    Node* dNodes; Tet* dTets; Face* dFaces; int* dAdj; Material* dMats; unsigned int* dMax;
    const int nNodes = (int)nodes.size(), nTets = (int)tets.size(), nFaces = (int)faces.size();
    CUDA_OK(cudaMalloc(&dNodes, nodes.size() * sizeof(Node)));
    CUDA_OK(cudaMalloc(&dTets, tets.size() * sizeof(Tet)));
    CUDA_OK(cudaMalloc(&dFaces, faces.size() * sizeof(Face)));
    CUDA_OK(cudaMalloc(&dAdj, adj.size() * sizeof(int)));
    CUDA_OK(cudaMalloc(&dMats, mats.size() * sizeof(Material)));
    CUDA_OK(cudaMalloc(&dMax, sizeof(unsigned int)));
    CUDA_OK(cudaMemcpy(dNodes, nodes.data(), nodes.size() * sizeof(Node), cudaMemcpyHostToDevice));
    CUDA_OK(cudaMemcpy(dTets, tets.data(), tets.size() * sizeof(Tet), cudaMemcpyHostToDevice));
    CUDA_OK(cudaMemcpy(dFaces, faces.data(), faces.size() * sizeof(Face), cudaMemcpyHostToDevice));
    CUDA_OK(cudaMemcpy(dAdj, adj.data(), adj.size() * sizeof(int), cudaMemcpyHostToDevice));
    CUDA_OK(cudaMemcpy(dMats, mats.data(), mats.size() * sizeof(Material), cudaMemcpyHostToDevice));
    CUDA_OK(cudaMemset(dMax, 0, sizeof(unsigned int)));

    Mesh mesh = {nNodes, nTets, nFaces, dNodes, dTets, dFaces, dAdj, dMats};
    const int B = 256;
    const float dt = 0.05f;
    auto blocks = [](int n, int b) { return (n + b - 1) / b; };
    auto timeStep = [&]() {
        elementConduction<<<blocks(nTets, B), B>>>(mesh);
        faceConvection<<<blocks(nFaces, B), B>>>(dFaces, dNodes, nFaces, 10.0f);
        nodeUpdate<<<blocks(nNodes, B), B>>>(dNodes, dTets, dAdj, nNodes, dt);
        updateMaterial<<<1024, B>>>(dTets, dMats, nTets);
        maxChange<<<128, 256>>>(dNodes, nNodes, dMax);
    };

    timeStep();
    CUDA_OK(cudaGetLastError());
    CUDA_OK(cudaDeviceSynchronize());
    unsigned int bits = 0;
    CUDA_OK(cudaMemcpy(&bits, dMax, sizeof(bits), cudaMemcpyDeviceToHost));
    float firstChange;
    static_assert(sizeof(firstChange) == sizeof(bits), "bit cast");
    {
        union { unsigned int u; float f; } cast;
        cast.u = bits;
        firstChange = cast.f;
    }
    if (!(firstChange > 0.0f && firstChange < 50.0f)) {
        std::fprintf(stderr, "unstable time step: %g\n", firstChange);
        return 1;
    }

    const int steps = 60;
    cudaEvent_t e0, e1;
    CUDA_OK(cudaEventCreate(&e0));
    CUDA_OK(cudaEventCreate(&e1));
    CUDA_OK(cudaEventRecord(e0));
    for (int s = 0; s < steps; ++s) timeStep();
    CUDA_OK(cudaEventRecord(e1));
    CUDA_OK(cudaEventSynchronize(e1));
    CUDA_OK(cudaGetLastError());
    float ms = 0.0f;
    CUDA_OK(cudaEventElapsedTime(&ms, e0, e1));

    CUDA_OK(cudaMemcpy(nodes.data(), dNodes, nodes.size() * sizeof(Node), cudaMemcpyDeviceToHost));
    CUDA_OK(cudaMemcpy(tets.data(), dTets, tets.size() * sizeof(Tet), cudaMemcpyDeviceToHost));
    CUDA_OK(cudaMemcpy(faces.data(), dFaces, faces.size() * sizeof(Face), cudaMemcpyDeviceToHost));

    double energy = 0, tmax = 0, tsum = 0, flux = 0, ksum = 0;
    long fixed = 0, active = 0, molten = 0;
    for (const Node& n : nodes) {
        energy += n.capacity * (n.T - 293.0);
        tsum += n.T;
        tmax = n.T > tmax ? n.T : tmax;
        fixed += n.fixed;
    }
    for (const Tet& t : tets) {
        ksum += t.k;
        active += t.active;
        molten += t.phase;
    }
    for (const Face& f : faces) flux += f.flux > 0 ? f.flux : 0.0f;

    std::printf("check energy_J %.3e\n", energy);
    std::printf("check T_sum %.4e\n", tsum);
    std::printf("check T_max %.3e\n", tmax);
    std::printf("check heating_W %.3e\n", flux);
    std::printf("check k_sum %.3e\n", ksum);
    std::printf("check fixed_nodes %ld\n", fixed);
    std::printf("check active_tets %ld\n", active);
    std::printf("check molten %.1e\n", (double)molten);
    std::printf("check first_change %.2e\n", firstChange);
    std::printf("time_ms %.5f\n", ms / steps);

    cudaFree(dNodes); cudaFree(dTets); cudaFree(dFaces);
    cudaFree(dAdj); cudaFree(dMats); cudaFree(dMax);
    return 0;
}
