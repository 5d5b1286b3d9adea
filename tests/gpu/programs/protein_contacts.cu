// Residue contact maps and pairwise residue energies for a library of decoy structures.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <random>
#include <cuda_runtime.h>

namespace prot {

struct Atom {
    float x, y, z;
    float charge;
    float sigma;
    int residue;
    short element;
    unsigned char backbone;
    unsigned char chain;
};

struct Residue {
    int firstAtom;
    int numAtoms;
    float cx, cy, cz;
    float reach;
    float energy;
    int numContacts;
    short seqPos;
    unsigned char type;
    unsigned char buried;
};

struct Contact {
    int other;
    float dist;
    short seqSep;
    unsigned char typeA, typeB;
};

struct Decoy {
    int firstResidue;
    int numResidues;
    double energy;
    float contactOrder;
    int contacts;
};

constexpr int kMaxContacts = 24;
constexpr float kCutoff = 8.0f;
constexpr int kTypes = 20;
constexpr int kTile = 128;

#define GPU_OK(stmt) ::prot::gpuOk((stmt), #stmt, __LINE__)
inline void gpuOk(cudaError_t e, const char* s, int line)
{
    if (e == cudaSuccess) return;
    std::fprintf(stderr, "line %d: %s -> %s\n", line, s, cudaGetErrorString(e));
    std::exit(1);
}

// thread per residue
__global__ void centroids(const Atom* __restrict__ atoms, Residue* __restrict__ res, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Residue r = res[i];
    float sx = 0, sy = 0, sz = 0;
    for (int a = r.firstAtom; a < r.firstAtom + r.numAtoms; ++a) {
        sx += atoms[a].x; sy += atoms[a].y; sz += atoms[a].z;
    }
    const float inv = 1.0f / r.numAtoms;
    r.cx = sx * inv; r.cy = sy * inv; r.cz = sz * inv;
    float reach = 0.f;
    for (int a = r.firstAtom; a < r.firstAtom + r.numAtoms; ++a) {
        float dx = atoms[a].x - r.cx, dy = atoms[a].y - r.cy, dz = atoms[a].z - r.cz;
        reach = fmaxf(reach, dx * dx + dy * dy + dz * dz);
    }
    r.reach = sqrtf(reach);
    r.numContacts = 0; r.energy = 0.f;
    res[i] = r;
}

// block per decoy, residues of the decoy staged through shared memory
__global__ void findContacts(const Decoy* __restrict__ decoys, Residue* res, Contact* __restrict__ contacts)
{
    __shared__ float4 tile[kTile];
    __shared__ unsigned char tileType[kTile];
    const int first = decoys[blockIdx.x].firstResidue;
    const int n = decoys[blockIdx.x].numResidues;

    for (int base = 0; base < n; base += blockDim.x) {
        const int li = base + threadIdx.x;
        const bool live = li < n;
        float cx = 0, cy = 0, cz = 0;
        unsigned char type = 0;
        if (live) {
            const Residue& r = res[first + li];
            cx = r.cx; cy = r.cy; cz = r.cz;
            type = r.type;
        }
        int count = 0;
        Contact* mine = contacts + (size_t)(first + (live ? li : 0)) * kMaxContacts;
        for (int t0 = 0; t0 < n; t0 += kTile) {
            __syncthreads();
            for (int k = threadIdx.x; k < kTile && t0 + k < n; k += blockDim.x) {
                const Residue& q = res[first + t0 + k];
                tile[k] = make_float4(q.cx, q.cy, q.cz, q.reach);
                tileType[k] = q.type;
            }
            __syncthreads();
            if (!live) continue;
            const int lim = min(kTile, n - t0);
            for (int k = 0; k < lim && count < kMaxContacts; ++k) {
                const int lj = t0 + k;
                const int sep = lj > li ? lj - li : li - lj;
                if (sep < 3) continue;
                float dx = tile[k].x - cx, dy = tile[k].y - cy, dz = tile[k].z - cz;
                float d2 = dx * dx + dy * dy + dz * dz;
                if (d2 < kCutoff * kCutoff) {
                    Contact c;
                    c.other = first + lj;
                    c.dist = sqrtf(d2);
                    c.seqSep = (short)sep;
                    c.typeA = type;
                    c.typeB = tileType[k];
                    mine[count++] = c;
                }
            }
        }
        if (live) {
            res[first + li].numContacts = count;
            res[first + li].buried = count >= 14;
        }
    }
}

__device__ float atomPair(const Atom& a, const Atom& b)
{
    float dx = a.x - b.x, dy = a.y - b.y, dz = a.z - b.z;
    float r2 = fmaxf(dx * dx + dy * dy + dz * dz, 2.25f);
    float s = 0.5f * (a.sigma + b.sigma);
    float q = s * s / r2;
    float q6 = q * q * q;
    return 0.1f * (q6 * q6 - 2.f * q6) + 33.2f * a.charge * b.charge / r2;
}

// warp per residue: lanes sweep the atom pairs of each contact
__global__ void residueEnergy(const Atom* __restrict__ atoms, Residue* res,
                              const Contact* __restrict__ contacts, int n)
{
    const int w = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    const int lane = threadIdx.x & 31;
    if (w >= n) return;
    const int fa = res[w].firstAtom, na = res[w].numAtoms, nc = res[w].numContacts;
    float e = 0.f;
    for (int c = 0; c < nc; ++c) {
        const int o = contacts[(size_t)w * kMaxContacts + c].other;
        const int fb = res[o].firstAtom, nb = res[o].numAtoms;
        for (int p = lane; p < na * nb; p += 32)
            e += atomPair(atoms[fa + p / nb], atoms[fb + p % nb]);
    }
    for (int s = 16; s; s >>= 1) e += __shfl_xor_sync(0xffffffffu, e, s);
    if (lane == 0) res[w].energy = e;
}

__global__ void typeMatrix(const Residue* __restrict__ res, const Contact* __restrict__ contacts, int n,
                           unsigned* __restrict__ table)
{
    __shared__ unsigned local[kTypes * kTypes];
    for (int k = threadIdx.x; k < kTypes * kTypes; k += blockDim.x) local[k] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const int nc = res[i].numContacts;
        for (int c = 0; c < nc; ++c) {
            const Contact& k = contacts[(size_t)i * kMaxContacts + c];
            if (k.dist < 6.5f) atomicAdd(&local[k.typeA * kTypes + k.typeB], 1u);
        }
    }
    __syncthreads();
    for (int k = threadIdx.x; k < kTypes * kTypes; k += blockDim.x)
        if (local[k]) atomicAdd(&table[k], local[k]);
}

__global__ void decoySummary(Decoy* decoys, const Residue* __restrict__ res, const Contact* __restrict__ contacts)
{
    __shared__ double se[128];
    __shared__ int sc[128], ss[128];
    Decoy& d = decoys[blockIdx.x];
    double e = 0;
    int c = 0, sep = 0;
    for (int i = threadIdx.x; i < d.numResidues; i += blockDim.x) {
        const int r = d.firstResidue + i;
        e += res[r].energy;
        c += res[r].numContacts;
        for (int k = 0; k < res[r].numContacts; ++k) sep += contacts[(size_t)r * kMaxContacts + k].seqSep;
    }
    se[threadIdx.x] = e; sc[threadIdx.x] = c; ss[threadIdx.x] = sep;
    __syncthreads();
    for (int s = 64; s; s >>= 1) {
        if (threadIdx.x < s) {
            se[threadIdx.x] += se[threadIdx.x + s];
            sc[threadIdx.x] += sc[threadIdx.x + s];
            ss[threadIdx.x] += ss[threadIdx.x + s];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        d.energy = 0.5 * se[0];
        d.contacts = sc[0];
        d.contactOrder = sc[0] ? (float)ss[0] / ((float)sc[0] * d.numResidues) : 0.f;
    }
}

} // namespace prot

using namespace prot;

int main(int argc, char** argv)
{
    const int numDecoys = argc > 1 ? std::atoi(argv[1]) : 2000;
    std::minstd_rand rng(4711);
    auto uni = [&rng] { return (float)(rng() % 1000003u) / 1000003.0f; };

    std::vector<Decoy> decoys(numDecoys);
    std::vector<Residue> residues;
    std::vector<Atom> atoms;
    residues.reserve((size_t)numDecoys * 260);
    atoms.reserve((size_t)numDecoys * 260 * 9);
    for (auto& d : decoys) {
        d = Decoy{};
        d.firstResidue = (int)residues.size();
        d.numResidues = 90 + (int)(rng() % 170);
        const float ball = 3.1f * std::cbrt((float)d.numResidues);
        float p[3] = {0, 0, 0};
        for (int i = 0; i < d.numResidues; ++i) {
            float len2 = p[0] * p[0] + p[1] * p[1] + p[2] * p[2];
            float pull = len2 > ball * ball ? 0.25f : 0.02f;
            for (float& v : p) v += 6.6f * (uni() - 0.5f) - pull * v;
            Residue r{};
            r.firstAtom = (int)atoms.size();
            r.numAtoms = 4 + (int)(rng() % 9);
            r.seqPos = (short)i;
            r.type = (unsigned char)(rng() % kTypes);
            for (int a = 0; a < r.numAtoms; ++a) {
                Atom at;
                at.x = p[0] + 3.f * (uni() - 0.5f);
                at.y = p[1] + 3.f * (uni() - 0.5f);
                at.z = p[2] + 3.f * (uni() - 0.5f);
                at.charge = a % 3 == 0 ? 0.f : 0.4f * (uni() - 0.5f);
                at.sigma = 3.0f + 0.8f * uni();
                at.residue = (int)residues.size();
                at.element = (short)(6 + a % 3);
                at.backbone = a < 4; at.chain = 0;
                atoms.push_back(at);
            }
            residues.push_back(r);
        }
    }
    const int nr = (int)residues.size();

    Atom* dAtoms = nullptr; Residue* dRes = nullptr; Contact* dCon = nullptr; Decoy* dDec = nullptr;
    unsigned* dTable = nullptr;
    GPU_OK(cudaMalloc(&dAtoms, atoms.size() * sizeof(Atom)));
    GPU_OK(cudaMalloc(&dRes, residues.size() * sizeof(Residue)));
    GPU_OK(cudaMalloc(&dCon, residues.size() * kMaxContacts * sizeof(Contact)));
    GPU_OK(cudaMalloc(&dDec, decoys.size() * sizeof(Decoy)));
    GPU_OK(cudaMalloc(&dTable, kTypes * kTypes * sizeof(unsigned)));
    GPU_OK(cudaMemcpy(dAtoms, atoms.data(), atoms.size() * sizeof(Atom), cudaMemcpyHostToDevice));
    GPU_OK(cudaMemcpy(dRes, residues.data(), residues.size() * sizeof(Residue), cudaMemcpyHostToDevice));
    GPU_OK(cudaMemcpy(dDec, decoys.data(), decoys.size() * sizeof(Decoy), cudaMemcpyHostToDevice));

    cudaEvent_t start, stop;
    GPU_OK(cudaEventCreate(&start)); GPU_OK(cudaEventCreate(&stop));
    const int reps = 6;
    for (int rep = 0; rep <= reps; ++rep) {
        if (rep == 1) GPU_OK(cudaEventRecord(start));
        GPU_OK(cudaMemsetAsync(dTable, 0, kTypes * kTypes * sizeof(unsigned)));
        centroids<<<(nr + 127) / 128, 128>>>(dAtoms, dRes, nr);
        findContacts<<<numDecoys, 128>>>(dDec, dRes, dCon);
        residueEnergy<<<(nr + 7) / 8, 256>>>(dAtoms, dRes, dCon, nr);
        typeMatrix<<<264, 256>>>(dRes, dCon, nr, dTable);
        decoySummary<<<numDecoys, 128>>>(dDec, dRes, dCon);
        GPU_OK(cudaGetLastError());
    }
    GPU_OK(cudaEventRecord(stop));
    GPU_OK(cudaEventSynchronize(stop));
    float ms = 0;
    GPU_OK(cudaEventElapsedTime(&ms, start, stop));

    std::vector<unsigned> table(kTypes * kTypes);
    GPU_OK(cudaMemcpy(residues.data(), dRes, residues.size() * sizeof(Residue), cudaMemcpyDeviceToHost));
    GPU_OK(cudaMemcpy(decoys.data(), dDec, decoys.size() * sizeof(Decoy), cudaMemcpyDeviceToHost));
    GPU_OK(cudaMemcpy(table.data(), dTable, table.size() * sizeof(unsigned), cudaMemcpyDeviceToHost));
    double energy = 0, order = 0, reach = 0;
    long long contacts = 0, buried = 0, tsum = 0;
    for (const auto& d : decoys) { energy += d.energy; order += d.contactOrder; contacts += d.contacts; }
    for (const auto& r : residues) { reach += r.reach; buried += r.buried; }
    for (size_t k = 0; k < table.size(); ++k) tsum += (long long)table[k] * (1 + k % 7);
    std::printf("check energy %.6g\ncheck contact_order %.6g\ncheck reach %.6g\n", energy, order, reach);
    std::printf("check contacts %lld\ncheck buried %lld\ncheck type_table %lld\n", contacts, buried, tsum);
    std::printf("time_ms %.4f\n", ms);
    cudaFree(dAtoms); cudaFree(dRes); cudaFree(dCon); cudaFree(dDec); cudaFree(dTable);
    return 0;
}
