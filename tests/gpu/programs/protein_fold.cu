// Coarse Langevin dynamics of a folded chain with native-centric bonded terms and a
// fixed neighbour list for Lennard-Jones / screened electrostatics, plus residue summaries.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>

static void gpuAssert(cudaError_t code, const char* file, int line) {
  if (code != cudaSuccess) {
    fprintf(stderr, "GPUassert: %s %s:%d\n", cudaGetErrorString(code), file, line);
    exit(code);
  }
}
#define gpuErrchk(ans) gpuAssert((ans), __FILE__, __LINE__)

struct Vec3 {
  float x, y, z;
  __host__ __device__ Vec3 operator+(const Vec3& o) const { return {x + o.x, y + o.y, z + o.z}; }
  __host__ __device__ Vec3 operator-(const Vec3& o) const { return {x - o.x, y - o.y, z - o.z}; }
  __host__ __device__ Vec3 operator*(float s) const { return {x * s, y * s, z * s}; }
  __host__ __device__ Vec3& operator+=(const Vec3& o) { x += o.x; y += o.y; z += o.z; return *this; }
};
__host__ __device__ inline float dot(const Vec3& a, const Vec3& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__host__ __device__ inline float norm(const Vec3& a) { return sqrtf(dot(a, a)); }

struct Atom {
  Vec3 pos;
  Vec3 vel;
  Vec3 force;
  float charge, mass, energy;
  int residue;
  short type;
  char element;
  char frozen;
  Vec3 native;
};

struct BondTerm { int partner; float r0; float k; };
struct AngleTerm { int first; int second; int role; float theta0; float k; };

struct Topology {
  short nbonds, nangles;
  BondTerm bonds[3];
  AngleTerm angles[3];
};

struct Residue {
  char name[4];
  int first_atom;
  int natoms;
  Vec3 com;
  float gyration, deviation, phi_energy;
  int contacts;
  int chain;
};

struct PairParam { float sigma; float eps; float switch_r; };

constexpr int NTYPES = 16;

struct System {
  Atom* atoms;
  const Topology* topo;
  const int* nb_first;
  const int* nb_list;
  const PairParam* pairs;
  Residue* residues;
  int natoms, nres;
  float dt, gamma, kT, cutoff2;
};

__host__ __device__ inline unsigned pcg(unsigned v) {
  unsigned state = v * 747796405u + 2891336453u;
  unsigned word = ((state >> ((state >> 28u) + 4u)) ^ state) * 277803737u;
  return (word >> 22u) ^ word;
}
__host__ __device__ inline float u01(unsigned v) { return (pcg(v) >> 8) * 5.9604645e-8f; }

__device__ Vec3 angle_force(const Vec3& ri, const Vec3& rj, const Vec3& rk, const AngleTerm& a, float& energy) {
  Vec3 u = ri - rj, v = rk - rj;
  float lu = fmaxf(norm(u), 0.1f), lv = fmaxf(norm(v), 0.1f);
  float c = fminf(0.999f, fmaxf(-0.999f, dot(u, v) / (lu * lv)));
  float th = acosf(c);
  float d = th - a.theta0;
  energy += a.k * d * d / 3.0f;
  float pref = 2.0f * a.k * d / sqrtf(1.0f - c * c);
  Vec3 fi = (v * (1.0f / (lu * lv)) - u * (c / (lu * lu))) * pref;
  if (a.role == 0) return fi;
  Vec3 fk = (u * (1.0f / (lu * lv)) - v * (c / (lv * lv))) * pref;
  if (a.role == 2) return fk;
  return (fi + fk) * -1.0f;
}

__global__ void bonded_forces(System sys) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= sys.natoms) return;
  const Topology& t = sys.topo[i];
  Vec3 ri = sys.atoms[i].pos;
  Vec3 f = {0.0f, 0.0f, 0.0f};
  float e = 0.0f;
  for (int b = 0; b < t.nbonds; ++b) {
    const BondTerm& bt = t.bonds[b];
    Vec3 d = sys.atoms[bt.partner].pos - ri;
    float r = fmaxf(norm(d), 0.1f);
    float dr = r - bt.r0;
    e += 0.5f * bt.k * dr * dr;
    f += d * (2.0f * bt.k * dr / r);
  }
  for (int a = 0; a < t.nangles; ++a) {
    const AngleTerm& at = t.angles[a];
    Vec3 p = sys.atoms[at.first].pos, q = sys.atoms[at.second].pos;
    if (at.role == 0) f += angle_force(ri, p, q, at, e);
    else if (at.role == 1) f += angle_force(p, ri, q, at, e);
    else f += angle_force(p, q, ri, at, e);
  }
  sys.atoms[i].force = f;
  sys.atoms[i].energy = e;
}

__global__ void nonbonded_forces(System sys) {
  __shared__ PairParam table[NTYPES * NTYPES];
  for (int k = threadIdx.x; k < NTYPES * NTYPES; k += blockDim.x) table[k] = sys.pairs[k];
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= sys.natoms) return;
  const Vec3 ri = sys.atoms[i].pos;
  const float qi = sys.atoms[i].charge;
  const PairParam* row = table + sys.atoms[i].type * NTYPES;
  Vec3 f = {0.0f, 0.0f, 0.0f};
  float e = 0.0f;
  for (int k = sys.nb_first[i]; k < sys.nb_first[i + 1]; ++k) {
    const Atom& other = sys.atoms[sys.nb_list[k]];
    Vec3 d = ri - other.pos;
    float r2 = dot(d, d);
    if (r2 > sys.cutoff2) continue;
    PairParam p = row[other.type];
    float s2 = p.sigma * p.sigma;
    r2 = fmaxf(r2, 0.8f * s2);
    float ir2 = 1.0f / r2;
    float s6 = s2 * ir2;
    s6 = s6 * s6 * s6;
    float fr = 24.0f * p.eps * (2.0f * s6 * s6 - s6) * ir2;
    e += 2.0f * p.eps * (s6 * s6 - s6);
    float r = sqrtf(r2);
    float coul = 3.32f * qi * other.charge * expf(-0.3f * r) / r;
    fr += coul * ir2;
    e += 0.5f * coul;
    if (r > p.switch_r) fr *= 0.5f;
    f += d * fr;
  }
  sys.atoms[i].force += f;
  sys.atoms[i].energy += e;
}

__global__ void integrate(System sys, unsigned step) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= sys.natoms) return;
  Atom& a = sys.atoms[i];
  if (a.frozen) return;
  Vec3 f = a.force;
  float mag = norm(f);
  if (mag > 400.0f) f = f * (400.0f / mag);
  float im = 1.0f / a.mass;
  float c = expf(-sys.gamma * sys.dt);
  float s = sqrtf(fmaxf(0.0f, (1.0f - c * c) * sys.kT * im));
  unsigned key = (unsigned)i * 3u + step * 0x9E3779B9u;
  Vec3 noise = {u01(key) + u01(key ^ 0xA5A5u) - 1.0f, u01(key + 1) + u01((key + 1) ^ 0xA5A5u) - 1.0f,
                u01(key + 2) + u01((key + 2) ^ 0xA5A5u) - 1.0f};
  Vec3 v = (a.vel + f * (im * sys.dt)) * c + noise * (2.449f * s);
  a.vel = v;
  a.pos += v * sys.dt;
}

__global__ void residue_summary(System sys) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= sys.nres) return;
  Residue& res = sys.residues[r];
  const Atom* a = sys.atoms + res.first_atom;
  Vec3 com = {0.0f, 0.0f, 0.0f};
  float m = 0.0f, dev = 0.0f, e = 0.0f;
  for (int k = 0; k < res.natoms; ++k) {
    com += a[k].pos * a[k].mass;
    m += a[k].mass;
    Vec3 d = a[k].pos - a[k].native;
    dev += dot(d, d);
    e += a[k].energy;
  }
  com = com * (1.0f / m);
  float g = 0.0f;
  for (int k = 0; k < res.natoms; ++k) {
    Vec3 d = a[k].pos - com;
    g += a[k].mass * dot(d, d);
  }
  res.com = com;
  res.gyration = sqrtf(g / m);
  res.deviation = 0.95f * res.deviation + 0.05f * dev;
  res.phi_energy = e;
  if (e < 0.0f) res.contacts++;
}

// Serpentine walk through a cubic lattice so that consecutive residues are adjacent.
static void lattice_site(int r, int side, int& x, int& y, int& z) {
  z = r / (side * side);
  int rem = r % (side * side);
  y = rem / side;
  x = rem % side;
  if (y & 1) x = side - 1 - x;
  if (z & 1) y = side - 1 - y;
}

static float native_angle(const Vec3& a, const Vec3& b, const Vec3& c) {
  Vec3 u = a - b, v = c - b;
  return acosf(fminf(0.99f, fmaxf(-0.99f, dot(u, v) / (norm(u) * norm(v)))));
}

int main(int argc, char** argv) {
  int natoms = argc > 1 ? atoi(argv[1]) : 1000000;
  if (natoms < 400) natoms = 400;
  const int nres = natoms / 4;
  natoms = nres * 4;
  const int side = (int)ceil(cbrt((double)nres));
  const float spacing = 3.8f, cutoff = 5.2f;
  std::vector<Atom> atoms(natoms);
  std::vector<Residue> residues(nres);
  std::vector<int> site_to_res((size_t)side * side * side, -1);
  const float off[4][3] = {{-1.2f, 0.4f, 0.2f}, {0.0f, 0.0f, 0.0f}, {1.2f, -0.3f, 0.4f}, {1.1f, -1.4f, 0.9f}};
  const char names[5][5] = {"ALA ", "GLY ", "LYS ", "ASP ", "VAL "};
  for (int r = 0; r < nres; ++r) {
    int x, y, z;
    lattice_site(r, side, x, y, z);
    site_to_res[((size_t)z * side + y) * side + x] = r;
    Residue& res = residues[r];
    res = Residue{};
    for (int c = 0; c < 4; ++c) res.name[c] = names[pcg(r) % 5][c];
    res.first_atom = 4 * r;
    res.natoms = 4;
    res.chain = r / 300;
    for (int k = 0; k < 4; ++k) {
      int i = 4 * r + k;
      Atom& a = atoms[i];
      a.pos = {x * spacing + off[k][0] + 0.3f * u01(i * 3u), y * spacing + off[k][1] + 0.3f * u01(i * 3u + 1),
               z * spacing + off[k][2] + 0.3f * u01(i * 3u + 2)};
      a.vel = {u01(i + 11u) - 0.5f, u01(i + 12u) - 0.5f, u01(i + 13u) - 0.5f};
      a.force = {0.0f, 0.0f, 0.0f};
      a.native = a.pos;
      a.charge = 0.5f * (k == 3 ? -1.0f : (k == 0 ? 0.6f : 0.2f));
      a.mass = k == 0 ? 14.0f : (k == 3 ? 16.0f : 12.0f);
      a.energy = 0.0f; a.residue = r;
      a.type = (short)(pcg(r * 4u + k + 99u) % NTYPES);
      a.element = "NCCO"[k];
      a.frozen = pcg(i + 5000u) % 997 == 0;
    }
  }
  std::vector<Topology> topo(natoms, Topology{});
  auto add_bond = [&](int i, int j, float k) {
    float r0 = norm(atoms[i].pos - atoms[j].pos);
    topo[i].bonds[topo[i].nbonds++] = {j, r0, k};
    topo[j].bonds[topo[j].nbonds++] = {i, r0, k};
  };
  auto add_angle = [&](int i, int j, int k, float kf) {
    float th = native_angle(atoms[i].pos, atoms[j].pos, atoms[k].pos);
    topo[i].angles[topo[i].nangles++] = {j, k, 0, th, kf};
    topo[j].angles[topo[j].nangles++] = {i, k, 1, th, kf};
    topo[k].angles[topo[k].nangles++] = {i, j, 2, th, kf};
  };
  for (int r = 0; r < nres; ++r) {
    int n = 4 * r, ca = n + 1, c = n + 2, o = n + 3;
    add_bond(n, ca, 80.0f);
    add_bond(ca, c, 80.0f);
    add_bond(c, o, 100.0f);
    add_angle(n, ca, c, 15.0f);
    if (r + 1 < nres && residues[r + 1].chain == residues[r].chain) {
      add_bond(c, n + 4, 90.0f);
      add_angle(ca, c, n + 4, 12.0f);
      add_angle(c, n + 4, n + 5, 12.0f);
    }
  }
  std::vector<int> nb_first(natoms + 1, 0), nb_list;
  nb_list.reserve((size_t)natoms * 40);
  for (int i = 0; i < natoms; ++i) {
    int x, y, z;
    lattice_site(i / 4, side, x, y, z);
    for (int zz = z > 2 ? z - 2 : 0; zz <= z + 2 && zz < side; ++zz)
      for (int yy = y > 2 ? y - 2 : 0; yy <= y + 2 && yy < side; ++yy)
        for (int xx = x > 2 ? x - 2 : 0; xx <= x + 2 && xx < side; ++xx) {
          int r = site_to_res[((size_t)zz * side + yy) * side + xx];
          if (r < 0 || r == i / 4) continue;
          for (int j = 4 * r; j < 4 * r + 4; ++j) {
            Vec3 d = atoms[i].pos - atoms[j].pos;
            if (dot(d, d) < cutoff * cutoff) nb_list.push_back(j);
          }
        }
    nb_first[i + 1] = (int)nb_list.size();
  }
  std::vector<PairParam> pairs(NTYPES * NTYPES);
  for (int a = 0; a < NTYPES; ++a)
    for (int b = 0; b < NTYPES; ++b)
      pairs[a * NTYPES + b] = {2.0f + 0.03f * (a + b), 0.05f + 0.01f * ((a * b) % 7), 4.2f + 0.02f * (a + b)};
  System sys{};
  Topology* d_topo;
  int *d_first, *d_list;
  PairParam* d_pairs;
  gpuErrchk(cudaMalloc(&sys.atoms, natoms * sizeof(Atom)));
  gpuErrchk(cudaMalloc(&sys.residues, nres * sizeof(Residue)));
  gpuErrchk(cudaMalloc(&d_topo, natoms * sizeof(Topology)));
  gpuErrchk(cudaMalloc(&d_first, nb_first.size() * sizeof(int)));
  gpuErrchk(cudaMalloc(&d_list, nb_list.size() * sizeof(int)));
  gpuErrchk(cudaMalloc(&d_pairs, pairs.size() * sizeof(PairParam)));
  gpuErrchk(cudaMemcpy(sys.atoms, atoms.data(), natoms * sizeof(Atom), cudaMemcpyHostToDevice));
  gpuErrchk(cudaMemcpy(sys.residues, residues.data(), nres * sizeof(Residue), cudaMemcpyHostToDevice));
  gpuErrchk(cudaMemcpy(d_topo, topo.data(), natoms * sizeof(Topology), cudaMemcpyHostToDevice));
  gpuErrchk(cudaMemcpy(d_first, nb_first.data(), nb_first.size() * sizeof(int), cudaMemcpyHostToDevice));
  gpuErrchk(cudaMemcpy(d_list, nb_list.data(), nb_list.size() * sizeof(int), cudaMemcpyHostToDevice));
  gpuErrchk(cudaMemcpy(d_pairs, pairs.data(), pairs.size() * sizeof(PairParam), cudaMemcpyHostToDevice));
  sys.topo = d_topo; sys.nb_first = d_first; sys.nb_list = d_list; sys.pairs = d_pairs;
  sys.natoms = natoms; sys.nres = nres;
  sys.dt = 0.005f; sys.gamma = 2.0f; sys.kT = 0.6f; sys.cutoff2 = cutoff * cutoff;
  const int threads = 128, ablocks = (natoms + threads - 1) / threads, rblocks = (nres + threads - 1) / threads;
  const int warm = 5, steps = 60;
  cudaEvent_t e0, e1;
  gpuErrchk(cudaEventCreate(&e0));
  gpuErrchk(cudaEventCreate(&e1));
  for (int s = 0; s < warm + steps; ++s) {
    if (s == warm) gpuErrchk(cudaEventRecord(e0));
    bonded_forces<<<ablocks, threads>>>(sys);
    nonbonded_forces<<<ablocks, threads>>>(sys);
    integrate<<<ablocks, threads>>>(sys, (unsigned)s);
    residue_summary<<<rblocks, threads>>>(sys);
  }
  gpuErrchk(cudaEventRecord(e1));
  gpuErrchk(cudaGetLastError());
  gpuErrchk(cudaEventSynchronize(e1));
  float ms;
  gpuErrchk(cudaEventElapsedTime(&ms, e0, e1));
  gpuErrchk(cudaMemcpy(atoms.data(), sys.atoms, natoms * sizeof(Atom), cudaMemcpyDeviceToHost));
  gpuErrchk(cudaMemcpy(residues.data(), sys.residues, nres * sizeof(Residue), cudaMemcpyDeviceToHost));
  double sum = 0.0;
  for (int i = 0; i < natoms; ++i) {
    const Atom& a = atoms[i];
    double w = 1.0 + i % 4;
    sum += w * (a.pos.x + 2.0 * a.pos.y + 3.0 * a.pos.z) + 5.0 * fabs(a.vel.x) + 6.0 * fabs(a.vel.y) +
           7.0 * fabs(a.vel.z) + 0.01 * fabs(a.force.x - a.force.y) + 0.01 * fabs(a.force.z) + a.energy +
           0.1 * a.type + a.charge * w + a.element;
  }
  for (int r = 0; r < nres; ++r) {
    const Residue& q = residues[r];
    sum += q.com.x - q.com.y + q.com.z + 10.0 * q.gyration + 100.0 * q.deviation + q.phi_energy + q.contacts + q.name[1];
  }
  for (void* p : {(void*)sys.atoms, (void*)sys.residues, (void*)d_topo, (void*)d_first, (void*)d_list, (void*)d_pairs})
    gpuErrchk(cudaFree(p));
  printf("check %.6e\n", sum);
  printf("time_ms %.5f\n", ms / steps);
  return 0;
}
