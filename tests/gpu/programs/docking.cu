// Rigid docking of a small ligand into a receptor: many poses are scored
// against all receptor atoms (Lennard-Jones, screened Coulomb, hydrogen bonds),
// and each pose then turns to its next orientation.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

constexpr int LIGAND_ATOMS = 18;
constexpr int TYPES = 8;
constexpr int TILE = 128;
constexpr int SITES = 64;

struct Atom {
    float3 pos;
    float charge;
    unsigned char type;
    unsigned char donor;
    short residue;
    float occupancy;
};

struct PairTerm {
    float rmin2;        // square of the distance of the minimum
    float depth;
};

struct Pose {
    float4 rot;         // unit quaternion
    float3 shift;
    float energy;
    float bestEnergy;
    int bestStep;
    short clashes;
    unsigned short site;
    float4 bestRot;

    __device__ float3 apply(const float3 &p) const
    {
        // p + 2w (q x p) + 2 q x (q x p)
        float cx = rot.y * p.z - rot.z * p.y;
        float cy = rot.z * p.x - rot.x * p.z;
        float cz = rot.x * p.y - rot.y * p.x;
        return make_float3(p.x + 2.f * (rot.w * cx + rot.y * cz - rot.z * cy) + shift.x,
                           p.y + 2.f * (rot.w * cy + rot.z * cx - rot.x * cz) + shift.y,
                           p.z + 2.f * (rot.w * cz + rot.x * cy - rot.y * cx) + shift.z);
    }

    __device__ void turn(const float4 &q)
    {
        float4 r;
        r.w = q.w * rot.w - q.x * rot.x - q.y * rot.y - q.z * rot.z;
        r.x = q.w * rot.x + q.x * rot.w + q.y * rot.z - q.z * rot.y;
        r.y = q.w * rot.y - q.x * rot.z + q.y * rot.w + q.z * rot.x;
        r.z = q.w * rot.z + q.x * rot.y - q.y * rot.x + q.z * rot.w;
        float s = rsqrtf(r.x * r.x + r.y * r.y + r.z * r.z + r.w * r.w);
        rot = make_float4(r.x * s, r.y * s, r.z * s, r.w * s);
    }
};

__constant__ Atom ligand[LIGAND_ATOMS];
__constant__ PairTerm terms[TYPES * TYPES];

static void check(cudaError_t e, const char *where)
{
    if (e == cudaSuccess) return;
    fprintf(stderr, "%s: %s\n", where, cudaGetErrorString(e));
    exit(1);
}

__device__ float interaction(const Atom &a, const float3 &at, const Atom &b, int &clashes)
{
    float dx = at.x - b.pos.x, dy = at.y - b.pos.y, dz = at.z - b.pos.z;
    float r2 = dx * dx + dy * dy + dz * dz;
    if (r2 > 144.f) return 0.f;
    r2 = fmaxf(r2, 1.f);
    const PairTerm t = terms[a.type * TYPES + b.type];
    float s2 = t.rmin2 / r2;
    float s6 = s2 * s2 * s2;
    float e = t.depth * (s6 * s6 - 2.f * s6);
    e = fminf(e, 20.f);
    if (s2 > 2.f) clashes++;
    float r = sqrtf(r2);
    e += 83.f * a.charge * b.charge * expf(-0.25f * r) / r;
    if (a.donor != b.donor && r < 3.5f) e -= 1.5f * (3.5f - r);
    return e * b.occupancy;
}

__global__ void scorePoses(Pose *poses, int poseCount, const Atom *receptor, int atomCount)
{
    __shared__ Atom tile[TILE];
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    bool active = p < poseCount;
    Pose pose;
    if (active) pose = poses[p];
    float energy = 0.f;
    int clashes = 0;

    for (int base = 0; base < atomCount; base += TILE) {
        int load = base + threadIdx.x;
        if (load < atomCount) tile[threadIdx.x] = receptor[load];
        __syncthreads();
        int count = min(TILE, atomCount - base);
        if (active) {
            for (int l = 0; l < LIGAND_ATOMS; l++) {
                float3 at = pose.apply(ligand[l].pos);
                for (int k = 0; k < count; k++) energy += interaction(ligand[l], at, tile[k], clashes);
            }
        }
        __syncthreads();
    }
    if (!active) return;
    poses[p].energy = energy;
    poses[p].clashes = (short)min(clashes, 30000);
}

__global__ void turnPoses(Pose *poses, int poseCount, int step, float4 turn, int *siteBest)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= poseCount) return;
    Pose &pose = poses[p];
    if (pose.energy < pose.bestEnergy - 0.01f) {
        pose.bestEnergy = pose.energy;
        pose.bestStep = step;
        pose.bestRot = pose.rot;
        atomicMin(&siteBest[pose.site], __float2int_rn(pose.energy * 10.f));
    }
    pose.turn(turn);
}

int main(int argc, char **argv)
{
    int poseCount = argc > 1 ? atoi(argv[1]) : 16384;
    int atomCount = 2500;
    unsigned counter = 0;
    auto uniform = [&counter]() {
        unsigned h = ++counter * 2654435769u;
        h = (h ^ (h >> 15)) * 0x2c1b3c6du;
        h = (h ^ (h >> 12)) * 0x297a2d39u;
        return (float)((h ^ (h >> 15)) >> 8) * (1.f / 16777216.f);
    };

    // a hollow ball of atoms, with pockets along its inner surface
    std::vector<Atom> receptor(atomCount);
    for (int i = 0; i < atomCount; i++) {
        float z = 2.f * uniform() - 1.f, phi = 6.2831853f * uniform();
        float r = 16.f + 9.f * sqrtf(uniform()), s = sqrtf(1.f - z * z);
        receptor[i].pos = make_float3(r * s * cosf(phi), r * s * sinf(phi), r * z);
        receptor[i].charge = 0.8f * (uniform() - 0.5f);
        receptor[i].type = (unsigned char)(uniform() * TYPES);
        receptor[i].donor = uniform() < 0.2f;
        receptor[i].residue = (short)(i / 8);
        receptor[i].occupancy = uniform() < 0.1f ? 0.5f : 1.f;
    }
    Atom lig[LIGAND_ATOMS];
    for (int l = 0; l < LIGAND_ATOMS; l++) {
        lig[l].pos = make_float3(1.2f * (l - LIGAND_ATOMS / 2) * 0.6f, 2.f * sinf(0.9f * l), 2.f * cosf(0.9f * l));
        lig[l].charge = 0.6f * (uniform() - 0.5f);
        lig[l].type = (unsigned char)(uniform() * TYPES);
        lig[l].donor = uniform() < 0.3f;
        lig[l].residue = -1;
        lig[l].occupancy = 1.f;
    }
    PairTerm pairs[TYPES * TYPES];
    for (int a = 0; a < TYPES; a++)
        for (int b = 0; b < TYPES; b++) {
            float rmin = 2.8f + 0.1f * (a + b);
            pairs[a * TYPES + b].rmin2 = rmin * rmin;
            pairs[a * TYPES + b].depth = 0.05f + 0.02f * (a * b % 7);
        }
    std::vector<Pose> poses(poseCount);
    for (int p = 0; p < poseCount; p++) {
        float4 q = make_float4(uniform() - 0.5f, uniform() - 0.5f, uniform() - 0.5f, uniform() + 0.1f);
        float s = 1.f / sqrtf(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
        poses[p].rot = make_float4(q.x * s, q.y * s, q.z * s, q.w * s);
        poses[p].bestRot = poses[p].rot;
        poses[p].shift = make_float3(26.f * (uniform() - 0.5f), 26.f * (uniform() - 0.5f), 26.f * (uniform() - 0.5f));
        poses[p].energy = 0.f;
        poses[p].bestEnergy = 1e30f;
        poses[p].bestStep = -1;
        poses[p].clashes = 0;
        poses[p].site = (unsigned short)(p % SITES);
    }
    std::vector<int> siteBest(SITES, 1 << 30);

    Pose *dPoses;
    Atom *dReceptor;
    int *dSiteBest;
    check(cudaMalloc(&dPoses, poseCount * sizeof(Pose)), "malloc poses");
    check(cudaMalloc(&dReceptor, atomCount * sizeof(Atom)), "malloc receptor");
    check(cudaMalloc(&dSiteBest, SITES * sizeof(int)), "malloc sites");
    check(cudaMemcpy(dPoses, poses.data(), poseCount * sizeof(Pose), cudaMemcpyHostToDevice), "copy poses");
    check(cudaMemcpy(dReceptor, receptor.data(), atomCount * sizeof(Atom), cudaMemcpyHostToDevice), "copy receptor");
    check(cudaMemcpy(dSiteBest, siteBest.data(), SITES * sizeof(int), cudaMemcpyHostToDevice), "copy sites");
    check(cudaMemcpyToSymbol(ligand, lig, sizeof lig), "ligand");
    check(cudaMemcpyToSymbol(terms, pairs, sizeof pairs), "terms");

    const int steps = 20;
    const float4 turn = make_float4(0.08f, 0.05f, -0.03f, 0.99f);
    int blocks = (poseCount + TILE - 1) / TILE;
    cudaEvent_t start, stop;
    check(cudaEventCreate(&start), "event");
    check(cudaEventCreate(&stop), "event");
    for (int s = 0; s <= steps; s++) {
        if (s == 1) check(cudaEventRecord(start), "record");
        scorePoses<<<blocks, TILE>>>(dPoses, poseCount, dReceptor, atomCount);
        turnPoses<<<blocks, TILE>>>(dPoses, poseCount, s, turn, dSiteBest);
    }
    check(cudaGetLastError(), "launch");
    check(cudaEventRecord(stop), "record");
    check(cudaEventSynchronize(stop), "synchronize");
    float ms = 0.f;
    check(cudaEventElapsedTime(&ms, start, stop), "elapsed");

    check(cudaMemcpy(poses.data(), dPoses, poseCount * sizeof(Pose), cudaMemcpyDeviceToHost), "result");
    check(cudaMemcpy(siteBest.data(), dSiteBest, SITES * sizeof(int), cudaMemcpyDeviceToHost), "result");
    double best = 0, last = 0, clash = 0, sites = 0;
    for (const Pose &p : poses) {
        best += p.bestEnergy;
        last += p.energy + p.rot.w;
        clash += p.clashes;
    }
    for (int b : siteBest) sites += b;
    printf("time_ms %.5f\n", ms / steps);
    printf("check %.4e_%.4e_%.4e_%.3e\n", best, last, clash, sites);
    cudaFree(dPoses);
    cudaFree(dReceptor);
    cudaFree(dSiteBest);
    return 0;
}
