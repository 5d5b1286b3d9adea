// Plasma: ions move through the field of a periodic 3-D mesh and leave charge
// and current in the eight nodes around them, in fixed point.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define cudaTry(call)                                             \
  if (cudaError_t e = (call); e != cudaSuccess) {                 \
    fprintf(stderr, "%d %s\n", __LINE__, cudaGetErrorString(e));  \
    exit(1);                                                      \
  }

struct Ion {
  float x[3];
  float v[3];
  short charge, species;
};

struct MeshNode {
  int charge;
  int current[3];
};

struct FieldNode {
  float4 electric;
  float4 magnetic;
};

struct Domain {
  int cells[3];
  int pitch[2]; // nodes to the next row and to the next plane
  float low[3];
  float spacing[3];
  int ions;
};

struct PushParams {
  Domain domain;
  struct { float dt, charge_to_mass; } motion;
  float fixed_point;
};

struct Weights {
  int node[8];
  float w[8];
};

// The nodes around a point, and how much each counts.
__device__ __forceinline__ Weights weigh(const Domain &d, const float *x) {
  int lo[3], hi[3];
  float f[3];
#pragma unroll
  for (int a = 0; a < 3; ++a) {
    float cell = (x[a] - d.low[a]) / d.spacing[a];
    int c = (int)floorf(cell);
    f[a] = cell - c;
    lo[a] = c < 0 ? c + d.cells[a] : c < d.cells[a] ? c : c - d.cells[a]; // rounding
    hi[a] = lo[a] + 1 < d.cells[a] ? lo[a] + 1 : 0;
  }
  Weights r;
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    int i = k & 1 ? hi[0] : lo[0], j = k & 2 ? hi[1] : lo[1], l = k & 4 ? hi[2] : lo[2];
    r.node[k] = l * d.pitch[1] + j * d.pitch[0] + i;
    r.w[k] = (k & 1 ? f[0] : 1 - f[0]) * (k & 2 ? f[1] : 1 - f[1]) * (k & 4 ? f[2] : 1 - f[2]);
  }
  return r;
}

__global__ void push(Ion *ions, const FieldNode *field, PushParams p) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= p.domain.ions)
    return;
  Ion ion = ions[i];
  Weights at = weigh(p.domain, ion.x);
  float e[3] = {0, 0, 0}, b[3] = {0, 0, 0};
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    float4 fe = field[at.node[k]].electric, fb = field[at.node[k]].magnetic;
    e[0] += at.w[k] * fe.x, e[1] += at.w[k] * fe.y, e[2] += at.w[k] * fe.z;
    b[0] += at.w[k] * fb.x, b[1] += at.w[k] * fb.y, b[2] += at.w[k] * fb.z;
  }
  float q = p.motion.charge_to_mass * ion.charge * p.motion.dt;
  float vx = ion.v[0], vy = ion.v[1], vz = ion.v[2];
  ion.v[0] = vx + q * (e[0] + vy * b[2] - vz * b[1]);
  ion.v[1] = vy + q * (e[1] + vz * b[0] - vx * b[2]);
  ion.v[2] = vz + q * (e[2] + vx * b[1] - vy * b[0]);
#pragma unroll
  for (int a = 0; a < 3; ++a) {
    float length = p.domain.cells[a] * p.domain.spacing[a];
    float x = ion.x[a] + p.motion.dt * ion.v[a];
    ion.x[a] = x < p.domain.low[a] ? x + length : x >= p.domain.low[a] + length ? x - length : x;
  }
  ions[i] = ion;
}

__global__ void deposit(const Ion *ions, MeshNode *mesh, PushParams p) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= p.domain.ions)
    return;
  float x[3] = {ions[i].x[0], ions[i].x[1], ions[i].x[2]};
  Weights at = weigh(p.domain, x);
  float scale = p.fixed_point * ions[i].charge;
  float vz = ions[i].v[2];
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    atomicAdd(&mesh[at.node[k]].charge, __float2int_rn(scale * at.w[k]));
    atomicAdd(&mesh[at.node[k]].current[2], __float2int_rn(scale * at.w[k] * vz));
  }
}

__global__ void clear(MeshNode *mesh, int nodes) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < nodes)
    mesh[i] = MeshNode{0, {0, 0, 0}};
}

// The field pulls towards where charge is missing.
__global__ void relax(FieldNode *field, const MeshNode *mesh, PushParams p) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y, l = blockIdx.z;
  const Domain &d = p.domain;
  if (i >= d.cells[0])
    return;
  int here = l * d.pitch[1] + j * d.pitch[0] + i;
  int right = i + 1 < d.cells[0] ? here + 1 : here - i;
  int back = j + 1 < d.cells[1] ? here + d.pitch[0] : here - j * d.pitch[0];
  int above = l + 1 < d.cells[2] ? here + d.pitch[1] : here - l * d.pitch[1];
  int c = mesh[here].charge;
  float4 e = field[here].electric;
  float s = 0.01f / p.fixed_point;
  e.x = 0.99f * e.x + s * (c - mesh[right].charge);
  e.y = 0.99f * e.y + s * (c - mesh[back].charge);
  e.z = 0.99f * e.z + s * (c - mesh[above].charge - 0.1f * mesh[here].current[2]);
  field[here].electric = e;
}

int main(int argc, char **argv) {
  int side = argc > 1 ? atoi(argv[1]) : 112, per_cell = 4;
  float h = 1.f / side;
  PushParams params = {{{side, side, side}, {side + 1, (side + 1) * side}, {-1.f, -1.f, 0.f}, {2 * h, 2 * h, h}, 0},
                       {0.02f * h, 0.5f}, 256.f};
  Domain &d = params.domain;
  d.ions = per_cell * side * side * side;
  int nodes = d.pitch[1] * side;
  std::vector<Ion> ions(d.ions);
  std::vector<FieldNode> field(nodes);
  unsigned s = 31337;
  auto rnd = [&s]() {
    return (s ^= s << 13, s ^= s >> 17, s ^= s << 5, s >> 8) / 16777216.f;
  };
  for (int i = 0; i < d.ions; ++i) { // nearly in the order of the cells
    int c = i / per_cell;
    int at[3] = {c % side, c / side % side, c / side / side};
    for (int a = 0; a < 3; ++a) {
      ions[i].x[a] = d.low[a] + (at[a] + 0.999f * rnd()) * d.spacing[a];
      ions[i].v[a] = 2 * rnd() - 1;
    }
    ions[i].charge = (short)(1 + (rnd() < 0.1f));
    ions[i].species = (short)(i % 3);
  }
  for (FieldNode &f : field)
    f = {make_float4(0.2f * rnd() - 0.1f, 0, 0.1f, 0), make_float4(0, rnd(), 1, 0)};

  Ion *d_ions;
  MeshNode *d_mesh;
  FieldNode *d_field;
  cudaTry(cudaMalloc(&d_ions, sizeof(Ion) * d.ions));
  cudaTry(cudaMalloc(&d_mesh, sizeof(MeshNode) * nodes));
  cudaTry(cudaMalloc(&d_field, sizeof(FieldNode) * nodes));
  cudaTry(cudaMemcpy(d_ions, ions.data(), sizeof(Ion) * d.ions, cudaMemcpyHostToDevice));
  cudaTry(cudaMemcpy(d_field, field.data(), sizeof(FieldNode) * nodes, cudaMemcpyHostToDevice));
  cudaEvent_t begin, end;
  cudaTry(cudaEventCreate(&begin));
  cudaTry(cudaEventCreate(&end));
  const int steps = 50;
  for (int n = 0; n <= steps; ++n) {
    if (n == 1)
      cudaTry(cudaEventRecord(begin));
    clear<<<(nodes + 255) / 256, 256>>>(d_mesh, nodes);
    push<<<(d.ions + 127) / 128, 128>>>(d_ions, d_field, params);
    deposit<<<(d.ions + 127) / 128, 128>>>(d_ions, d_mesh, params);
    relax<<<dim3((side + 63) / 64, side, side), 64>>>(d_field, d_mesh, params);
  }
  cudaTry(cudaGetLastError());
  cudaTry(cudaEventRecord(end));
  cudaTry(cudaEventSynchronize(end));
  float ms;
  cudaTry(cudaEventElapsedTime(&ms, begin, end));
  std::vector<MeshNode> mesh(nodes);
  cudaTry(cudaMemcpy(mesh.data(), d_mesh, sizeof(MeshNode) * nodes, cudaMemcpyDeviceToHost));
  cudaTry(cudaMemcpy(ions.data(), d_ions, sizeof(Ion) * d.ions, cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const MeshNode &m : mesh)
    check = check * 31 + m.charge / 64 + 3 * (m.current[2] / 64);
  for (const Ion &i : ions)
    check = check * 31 + llroundf(i.x[0] * 256) + llroundf(i.v[2] * 64) + i.species;
  printf("check %llu\ntime_ms %.4f\n", check, ms / steps);
  cudaFree(d_ions), cudaFree(d_mesh), cudaFree(d_field);
}
