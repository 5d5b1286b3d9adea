/*
 * ligand_contacts.cu - contact fingerprints of docked poses against an MD ensemble.
 *
 * The trajectory holds many frames of one pocket-sized protein fragment. Residues of a frame are
 * sorted by the x coordinate of their reference centre; frame -> residue and residue -> atom are
 * CSR offsets. In every round the atoms fluctuate, residue spheres are refitted, every pose finds
 * its residues by binary search and collects a 128-bit fingerprint, and poses make a rigid move.
 */
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define GPU_TRY(call)                                                                      \
  if (cudaError_t rc_ = (call); rc_ != cudaSuccess) {                                      \
    std::fprintf(stderr, "%s (line %d): %s\n", #call, __LINE__, cudaGetErrorString(rc_));  \
    std::exit(2);                                                                          \
  }

namespace {
constexpr int kResiduesPerFrame = 512;
constexpr int kPosesPerFrame = 96;
constexpr int kLigands = 48;
constexpr float kBox = 44.0f;            // edge of the fragment, Angstrom
constexpr float kMaxCutoff = 4.5f;
constexpr float kResidueSpread = 3.6f;   // no atom strays further from its residue's reference centre
constexpr int kClashLimit = 6;

enum AtomFlag : uint8_t { kDonor = 1, kAcceptor = 2, kHydrophobic = 4, kPositive = 8, kNegative = 16, kAromatic = 32 };

struct Atom {
  float x, y, z;
  float refX, refY, refZ;
  float bFactor;
  float charge;
  uint32_t serial;
  uint16_t residueInFrame;
  uint8_t element;
  uint8_t flags;
};

struct Residue {
  float sortX;                // reference centre, ascending within a frame
  float cx, cy, cz;
  float radius;
  float burial;
  uint32_t contactHits;
  uint16_t resSeq;
  uint8_t aminoAcid;          // 0..19
  char chain;
};

struct LigandAtom {
  float x, y, z;
  uint16_t type;
  uint8_t flags;
  uint8_t halogen;
};

struct Pose {
  float tx, ty, tz;
  float qw, qx, qy, qz;
  float bestEnergy;
  double energySum;
  uint32_t fp[4];
  float similarity;
  uint32_t rng;
  uint32_t frame;
  uint16_t ligand;
  uint16_t contacts;
  uint8_t clashes;
  uint8_t rejected;
};

struct Topology {             // index arrays, all on the device
  const uint32_t* frameStart;    // frames + 1 -> residues
  const uint32_t* residueStart;  // residues + 1 -> atoms
  const uint32_t* ligandStart;   // kLigands + 1 -> ligand atoms
};

__host__ __device__ inline uint32_t hash32(uint32_t x) {
  x = (x ^ 61u) ^ (x >> 16);  x *= 9u;
  x ^= x >> 4;                x *= 0x27d4eb2du;
  return x ^ (x >> 15);
}
__host__ __device__ inline float unit(uint32_t h) { return (h >> 8) * (1.0f / 16777216.0f); }

__global__ void fluctuateAtoms(Atom* atoms, uint32_t count, uint32_t round) {
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    Atom& a = atoms[i];
    const uint32_t h = hash32(a.serial * 747796405u + round * 2891336453u);
    const float amp = 0.06f * sqrtf(a.bFactor);            // bounded by construction
    a.x = 0.6f * a.x + 0.4f * a.refX + amp * ((h & 1023u) * (2.0f / 1023.0f) - 1.0f);
    a.y = 0.6f * a.y + 0.4f * a.refY + amp * ((h >> 10 & 1023u) * (2.0f / 1023.0f) - 1.0f);
    a.z = 0.6f * a.z + 0.4f * a.refZ + amp * ((h >> 20 & 1023u) * (2.0f / 1023.0f) - 1.0f);
  }
}

__global__ void refitResidues(Residue* residues, uint32_t nResidues, const Atom* __restrict__ atoms,
                              const uint32_t* __restrict__ residueStart) {
  const uint32_t r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= nResidues) return;
  const uint32_t lo = residueStart[r], hi = residueStart[r + 1];
  float sx = 0, sy = 0, sz = 0, r2 = 0;
  for (uint32_t a = lo; a < hi; ++a) { sx += atoms[a].x; sy += atoms[a].y; sz += atoms[a].z; }
  const float inv = 1.0f / float(hi - lo);
  sx *= inv; sy *= inv; sz *= inv;
  for (uint32_t a = lo; a < hi; ++a) {
    const float dx = atoms[a].x - sx, dy = atoms[a].y - sy, dz = atoms[a].z - sz;
    r2 = fmaxf(r2, dx * dx + dy * dy + dz * dz);
  }
  residues[r].cx = sx; residues[r].cy = sy; residues[r].cz = sz;
  residues[r].radius = sqrtf(r2);
  residues[r].burial = 0.95f * residues[r].burial + 0.05f * float(residues[r].contactHits & 255u);
}

__device__ uint32_t lowerBoundX(const Residue* residues, uint32_t lo, uint32_t hi, float x) {
  while (lo < hi) {
    const uint32_t mid = lo + (hi - lo) / 2;
    if (residues[mid].sortX < x) lo = mid + 1; else hi = mid;
  }
  return lo;
}

// -1: no interaction, otherwise 0 hydrophobic, 1 hydrogen bond, 2 salt bridge, 3 stacking
__device__ int classify(uint8_t p, uint8_t l, float d2) {
  if (((p & kPositive) && (l & kNegative)) || ((p & kNegative) && (l & kPositive))) return d2 < 20.25f ? 2 : -1;
  if (d2 < 12.25f && (((p & kDonor) && (l & kAcceptor)) || ((p & kAcceptor) && (l & kDonor)))) return 1;
  if ((p & kAromatic) && (l & kAromatic) && d2 < 18.0f) return 3;
  if ((p & kHydrophobic) && (l & kHydrophobic) && d2 < 16.0f) return 0;
  return -1;
}

__global__ void fingerprintPoses(Pose* poses, int nPoses, Residue* residues, const Atom* __restrict__ atoms,
                                 const LigandAtom* __restrict__ ligandAtoms, const float* __restrict__ ligandRadius,
                                 Topology topo) {
  const int p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= nPoses) return;
  Pose& pose = poses[p];
  const uint32_t lBegin = topo.ligandStart[pose.ligand], lEnd = topo.ligandStart[pose.ligand + 1];
  const float reach = ligandRadius[pose.ligand] + kMaxCutoff;
  const uint32_t last = topo.frameStart[pose.frame + 1];
  const float tx = pose.tx, ty = pose.ty, tz = pose.tz;
  const float w = pose.qw, x = -pose.qx, y = -pose.qy, z = -pose.qz;   // inverse rotation

  unsigned long long bitsLo = 0, bitsHi = 0;
  float energy = 0.0f;
  int contacts = 0, clashes = 0;
  uint32_t r = lowerBoundX(residues, topo.frameStart[pose.frame], last, tx - reach - kResidueSpread);
  for (; r < last && clashes <= kClashLimit; ++r) {
    if (residues[r].sortX > tx + reach + kResidueSpread) break;
    const float rx = residues[r].cx - tx, ry = residues[r].cy - ty, rz = residues[r].cz - tz;
    const float lim = reach + residues[r].radius;
    if (rx * rx + ry * ry + rz * rz > lim * lim) continue;
    int hits = 0;
    for (uint32_t a = topo.residueStart[r]; a < topo.residueStart[r + 1]; ++a) {
      const float ax = atoms[a].x - tx, ay = atoms[a].y - ty, az = atoms[a].z - tz;
      if (ax * ax + ay * ay + az * az > reach * reach) continue;
      // v' = v + 2 q x (q x v + w v)
      const float ux = y * az - z * ay + w * ax, uy = z * ax - x * az + w * ay, uz = x * ay - y * ax + w * az;
      const float lx = ax + 2.0f * (y * uz - z * uy), ly = ay + 2.0f * (z * ux - x * uz), lz = az + 2.0f * (x * uy - y * ux);
      for (uint32_t l = lBegin; l < lEnd; ++l) {
        const float dx = ligandAtoms[l].x - lx, dy = ligandAtoms[l].y - ly, dz = ligandAtoms[l].z - lz;
        const float d2 = dx * dx + dy * dy + dz * dz;
        if (d2 > kMaxCutoff * kMaxCutoff) continue;
        if (d2 < 1.44f && ++clashes > kClashLimit) break;
        const int kind = classify(atoms[a].flags, ligandAtoms[l].flags, d2);
        energy += 0.2f * atoms[a].charge * (ligandAtoms[l].halogen ? -0.3f : 0.1f) / (d2 + 1.0f);
        if (kind < 0) continue;
        energy -= kind == 2 ? 1.2f : kind == 1 ? 0.8f : 0.25f;
        const uint32_t bit = (residues[r].aminoAcid * 4u + kind + 13u * (ligandAtoms[l].type & 3u)) & 127u;
        if (bit < 64) bitsLo |= 1ull << bit; else bitsHi |= 1ull << (bit - 64);
        ++hits;
      }
      if (clashes > kClashLimit) break;
    }
    if (hits) atomicAdd(&residues[r].contactHits, 1u);
    contacts += hits;
  }
  pose.fp[0] = uint32_t(bitsLo); pose.fp[1] = uint32_t(bitsLo >> 32);
  pose.fp[2] = uint32_t(bitsHi); pose.fp[3] = uint32_t(bitsHi >> 32);
  pose.contacts = uint16_t(contacts); pose.clashes = uint8_t(clashes);
  pose.energySum += clashes > kClashLimit ? 50.0 : double(energy);
  if (clashes <= kClashLimit && energy < pose.bestEnergy) pose.bestEnergy = energy;
}

// Tanimoto similarity to the first pose of the frame, then a rigid move of the others.
__global__ void comparePoses(Pose* poses, int nPoses, uint32_t* similarityBins) {
  const int p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= nPoses) return;
  const int first = p - p % kPosesPerFrame;
  int both = 0, any = 0;
  for (int k = 0; k < 4; ++k) {
    both += __popc(poses[p].fp[k] & poses[first].fp[k]);
    any += __popc(poses[p].fp[k] | poses[first].fp[k]);
  }
  poses[p].similarity = any ? float(both) / float(any) : 0.0f;
  atomicAdd(&similarityBins[both * 16 / (any + 1)], 1u);
  if (p == first) return;

  Pose pose = poses[p];
  uint32_t h = pose.rng = hash32(pose.rng + 0x6d2b79f5u);
  const bool bad = pose.clashes > kClashLimit || pose.contacts < 4;
  if (bad && ++pose.rejected >= 3) {                 // start again from another place
    pose.tx = kBox * (0.15f + 0.7f * unit(h));
    pose.ty = kBox * (0.15f + 0.7f * unit(hash32(h + 1)));
    pose.tz = kBox * (0.15f + 0.7f * unit(hash32(h + 2)));
    pose.rejected = 0;
  } else {
    const float step = bad ? 1.2f : 0.3f;
    pose.tx = fminf(kBox, fmaxf(0.0f, pose.tx + step * (unit(h) - 0.5f)));
    pose.ty = fminf(kBox, fmaxf(0.0f, pose.ty + step * (unit(hash32(h + 1)) - 0.5f)));
    pose.tz = fminf(kBox, fmaxf(0.0f, pose.tz + step * (unit(hash32(h + 2)) - 0.5f)));
  }
  pose.qx += 0.2f * (unit(hash32(h + 3)) - 0.5f);
  pose.qy += 0.2f * (unit(hash32(h + 4)) - 0.5f);
  pose.qz += 0.2f * (unit(hash32(h + 5)) - 0.5f);
  const float norm = rsqrtf(pose.qw * pose.qw + pose.qx * pose.qx + pose.qy * pose.qy + pose.qz * pose.qz + 1e-12f);
  pose.qw *= norm; pose.qx *= norm; pose.qy *= norm; pose.qz *= norm;
  poses[p] = pose;
}

struct HostData {
  std::vector<Atom> atoms;
  std::vector<Residue> residues;
  std::vector<uint32_t> frameStart{0}, residueStart{0}, ligandStart{0};
  std::vector<LigandAtom> ligandAtoms;
  std::vector<float> ligandRadius;
  std::vector<Pose> poses;
};

void buildFrame(HostData& d, uint32_t frame) {
  for (int i = 0; i < kResiduesPerFrame; ++i) {
    const uint32_t h = hash32(frame * 7919u + i * 104729u + 1u), g = hash32(h + 0x51u);
    Residue r{};
    r.sortX = r.cx = kBox * (i + unit(h)) / kResiduesPerFrame;
    r.cy = kBox * unit(g);
    r.cz = kBox * unit(hash32(g));
    r.resSeq = uint16_t(i + 1);
    r.aminoAcid = uint8_t(h % 20u);
    r.chain = char('A' + i * 4 / kResiduesPerFrame);
    const int nAtoms = 5 + int(g % 7u);            // 5..11, 8 on average
    for (int k = 0; k < nAtoms; ++k) {
      const uint32_t e = hash32(h + 977u * k);
      Atom a{};
      a.x = a.refX = r.cx + 3.0f * ((e & 255u) / 255.0f - 0.5f);
      a.y = a.refY = r.cy + 3.0f * ((e >> 8 & 255u) / 255.0f - 0.5f);
      a.z = a.refZ = r.cz + 3.0f * ((e >> 16 & 255u) / 255.0f - 0.5f);
      a.bFactor = 4.0f + (e >> 26);
      a.charge = (e >> 24 & 3u) * 0.2f - 0.3f;
      a.serial = uint32_t(d.atoms.size());
      a.residueInFrame = uint16_t(i);
      a.element = uint8_t(k == 0 ? 7 : k == 3 ? 8 : 6);
      a.flags = uint8_t(k == 0 ? kDonor : k == 3 ? kAcceptor : r.aminoAcid < 8 ? kHydrophobic : 0);
      if (k > 4 && r.aminoAcid > 16) a.flags |= kAromatic;
      if (k > 6) a.flags |= r.aminoAcid == 9 ? kPositive : r.aminoAcid == 10 ? kNegative : 0;
      d.atoms.push_back(a);
    }
    d.residues.push_back(r);
    d.residueStart.push_back(uint32_t(d.atoms.size()));
  }
  d.frameStart.push_back(uint32_t(d.residues.size()));
  for (int k = 0; k < kPosesPerFrame; ++k) {
    const uint32_t h = hash32(frame * 131u + k * 65537u + 5u);
    Pose p{kBox * (0.15f + 0.7f * unit(h)), kBox * (0.15f + 0.7f * unit(hash32(h + 1))),
           kBox * (0.15f + 0.7f * unit(hash32(h + 2))), 1.0f, 0.0f, 0.0f, 0.0f, 1000.0f};
    p.rng = h;
    p.frame = frame;
    p.ligand = uint16_t((frame + k / 32) % kLigands);
    d.poses.push_back(p);
  }
}

void buildLigands(HostData& d) {
  for (int m = 0; m < kLigands; ++m) {
    float far2 = 0.0f;
    for (int k = 0; k < 12 + m % 13; ++k) {
      const uint32_t h = hash32(m * 613u + k * 29u + 3u);
      LigandAtom a{5.0f * (unit(h) - 0.5f), 5.0f * (unit(hash32(h)) - 0.5f), 8.0f * (unit(hash32(h + 9)) - 0.5f),
                   uint16_t(h % 11u), uint8_t(1u << (h >> 4) % 6u), uint8_t(h % 17u == 0)};
      far2 = std::max(far2, a.x * a.x + a.y * a.y + a.z * a.z);
      d.ligandAtoms.push_back(a);
    }
    d.ligandRadius.push_back(std::sqrt(far2));
    d.ligandStart.push_back(uint32_t(d.ligandAtoms.size()));
  }
}

template <typename T> T* toDevice(const std::vector<T>& v) {
  T* p = nullptr;
  GPU_TRY(cudaMalloc(&p, v.size() * sizeof(T)));
  GPU_TRY(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
  return p;
}
}  // namespace

int main(int argc, char** argv) {
  const long wanted = argc > 1 ? std::atol(argv[1]) : 8000000L;
  if (wanted < 1 || wanted > 60000000L) { std::fprintf(stderr, "number of atoms?\n"); return 1; }
  HostData d;
  d.atoms.reserve(size_t(wanted) + 11 * kResiduesPerFrame);
  buildLigands(d);
  for (uint32_t f = 0; d.atoms.size() < size_t(wanted); ++f) buildFrame(d, f);

  Atom* atoms = toDevice(d.atoms);
  Residue* residues = toDevice(d.residues);
  LigandAtom* ligandAtoms = toDevice(d.ligandAtoms);
  float* ligandRadius = toDevice(d.ligandRadius);
  Pose* poses = toDevice(d.poses);
  const Topology topo{toDevice(d.frameStart), toDevice(d.residueStart), toDevice(d.ligandStart)};
  std::vector<uint32_t> bins(16, 0);
  uint32_t* dBins = toDevice(bins);
  const uint32_t nAtoms = uint32_t(d.atoms.size()), nRes = uint32_t(d.residues.size());
  const int nPoses = int(d.poses.size());
  auto round = [&](uint32_t k) {
    fluctuateAtoms<<<std::min(4096u, (nAtoms + 255u) / 256u), 256>>>(atoms, nAtoms, k);
    refitResidues<<<(nRes + 127) / 128, 128>>>(residues, nRes, atoms, topo.residueStart);
    fingerprintPoses<<<(nPoses + 63) / 64, 64>>>(poses, nPoses, residues, atoms, ligandAtoms, ligandRadius, topo);
    comparePoses<<<(nPoses + 127) / 128, 128>>>(poses, nPoses, dBins);
    GPU_TRY(cudaGetLastError());
  };
  constexpr int kWarmup = 2, kRounds = 20;
  cudaEvent_t ev[2];
  for (auto& e : ev) GPU_TRY(cudaEventCreate(&e));
  for (int k = 0; k < kWarmup + kRounds; ++k) {
    if (k == kWarmup) GPU_TRY(cudaEventRecord(ev[0]));
    round(k);
  }
  GPU_TRY(cudaEventRecord(ev[1]));
  GPU_TRY(cudaEventSynchronize(ev[1]));
  float ms = 0.0f;
  GPU_TRY(cudaEventElapsedTime(&ms, ev[0], ev[1]));

  GPU_TRY(cudaMemcpy(d.atoms.data(), atoms, nAtoms * sizeof(Atom), cudaMemcpyDeviceToHost));
  GPU_TRY(cudaMemcpy(d.residues.data(), residues, nRes * sizeof(Residue), cudaMemcpyDeviceToHost));
  GPU_TRY(cudaMemcpy(d.poses.data(), poses, nPoses * sizeof(Pose), cudaMemcpyDeviceToHost));
  GPU_TRY(cudaMemcpy(bins.data(), dBins, bins.size() * sizeof(uint32_t), cudaMemcpyDeviceToHost));
  double sum = 0.0;
  for (const Atom& a : d.atoms) sum += 1e-3 * (std::fabs(a.x - a.refX) + std::fabs(a.y - a.refY) + std::fabs(a.z - a.refZ));
  for (const Residue& r : d.residues) sum += r.contactHits + r.burial + 0.1 * r.radius + 1e-2 * r.cy;
  for (const Pose& p : d.poses) {
    for (uint32_t f : p.fp) sum += __builtin_popcount(f);
    sum += 0.1 * p.contacts + p.similarity + 0.01 * p.energySum + 0.01 * (p.tx + p.ty + p.tz);
  }
  for (size_t b = 0; b < bins.size(); ++b) sum += 1e-3 * double(bins[b]) * double(b);
  std::printf("check %.6g\ntime_ms %.5f\n", sum, ms / kRounds);
}
