// Ions in a solvent: screened Coulomb forces by cell lists, overdamped motion.
//
// The atoms are sorted by cell. The forces read five fields of the atoms in 27
// cells and store three of one; the motion uses all but the charge. The cells
// are wider than the cutoff by more than the atoms can move in all the rounds.
// The argument is the number of cells along one side of the periodic box.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                                    \
  do {                                                                                                                 \
    cudaError_t status = (call);                                                                                       \
    if (status != cudaSuccess) {                                                                                       \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));                                  \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

struct Atom {
  float x, y, z;
  float charge;
  float fx, fy, fz;
  int type;
};

const float CELL = 5.0f;       // width of a cell
const float CUTOFF = 4.5f;     // of the forces
const float KAPPA = 0.4f;      // inverse screening length
const float STEP = 1.0f / 512; // longest move of a round in each direction

__constant__ float radius[4] = {0.8f, 1.0f, 1.1f, 1.3f};
__constant__ float mobility[4] = {1.0f / 512, 1.0f / 768, 1.0f / 1024, 1.0f / 1536};

// The nearest image of a distance along one axis.
__device__ float nearest(float d, float box) { return d > 0.5f * box ? d - box : d < -0.5f * box ? d + box : d; }

__device__ int wrap(int c, int side) { return c < 0 ? c + side : c >= side ? c - side : c; }

// The atoms of cell c are start[c] to start[c + 1] - 1; cellOf is a cell of each atom.
__global__ void forces(Atom *atoms, const int *start, const int *cellOf, int n, int side) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float box = side * CELL;
  float x = atoms[i].x, y = atoms[i].y, z = atoms[i].z;
  float charge = atoms[i].charge, size = radius[atoms[i].type];
  int cell = cellOf[i];
  int cx = cell % side, cy = cell / side % side, cz = cell / (side * side);
  float fx = 0, fy = 0, fz = 0;
  for (int dz = -1; dz <= 1; ++dz)
    for (int dy = -1; dy <= 1; ++dy)
      for (int dx = -1; dx <= 1; ++dx) {
        int other = (wrap(cz + dz, side) * side + wrap(cy + dy, side)) * side + wrap(cx + dx, side);
        for (int j = start[other]; j < start[other + 1]; ++j) {
          float rx = nearest(x - atoms[j].x, box);
          float ry = nearest(y - atoms[j].y, box);
          float rz = nearest(z - atoms[j].z, box);
          float r2 = rx * rx + ry * ry + rz * rz;
          if (r2 >= CUTOFF * CUTOFF || j == i)
            continue;
          float inverse = rsqrtf(r2 + 0.01f), r = r2 * inverse;
          float f = charge * atoms[j].charge * expf(-KAPPA * r) * (KAPPA + inverse) * inverse * inverse;
          float overlap = size + radius[atoms[j].type] - r;
          if (overlap > 0)
            f += 8 * overlap * inverse;
          fx += f * rx;
          fy += f * ry;
          fz += f * rz;
        }
      }
  atoms[i].fx = fx;
  atoms[i].fy = fy;
  atoms[i].fz = fz;
}

__global__ void move(Atom *atoms, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  Atom &a = atoms[i];
  float m = mobility[a.type];
  a.x += fminf(fmaxf(m * a.fx, -STEP), STEP);
  a.y += fminf(fmaxf(m * a.fy, -STEP), STEP);
  a.z += fminf(fmaxf(m * a.fz, -STEP), STEP);
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int side = argc > 1 ? atoi(argv[1]) : 48;
  if (side < 3) {
    fprintf(stderr, "at least 3 cells a side\n");
    return 1;
  }
  int cells = side * side * side, sites = 2 * side, n = sites * sites * sites;
  float box = side * CELL;
  std::vector<Atom> loose(n), atoms(n);
  std::vector<int> start(cells + 1), looseCell(n), cellOf(n);
  for (int i = 0; i < n; ++i) { // one atom near each site of a lattice
    unsigned h = hash(i), g = hash(~i);
    float p[3] = {(float)(i % sites), (float)(i / sites % sites), (float)(i / (sites * sites))};
    int c[3];
    for (int d = 0; d < 3; ++d) {
      p[d] = (p[d] + 0.5f + ((h >> 10 * d & 1023) / 1024.0f - 0.5f) * 1.25f) * (CELL / 2);
      p[d] = p[d] < 0 ? p[d] + box : p[d] >= box ? p[d] - box : p[d];
      c[d] = (int)(p[d] / CELL);
      c[d] = c[d] < side ? c[d] : side - 1;
    }
    loose[i] = {p[0], p[1], p[2], (g & 1 ? 1.0f : -1.0f) * (1 + (g >> 1 & 1)), 0, 0, 0, (int)(g >> 2 & 3)};
    looseCell[i] = (c[2] * side + c[1]) * side + c[0];
    ++start[looseCell[i] + 1];
  }
  for (int c = 0; c < cells; ++c)
    start[c + 1] += start[c];
  std::vector<int> place(start.begin(), start.end() - 1);
  for (int i = 0; i < n; ++i) { // sort by cell
    int to = place[looseCell[i]]++;
    atoms[to] = loose[i];
    cellOf[to] = looseCell[i];
  }

  Atom *d_atoms;
  CHECK(cudaMalloc(&d_atoms, n * sizeof(Atom)));
  CHECK(cudaMemcpy(d_atoms, atoms.data(), n * sizeof(Atom), cudaMemcpyHostToDevice));
  int *d_start, *d_cellOf;
  CHECK(cudaMalloc(&d_start, (cells + 1) * sizeof(int)));
  CHECK(cudaMemcpy(d_start, start.data(), (cells + 1) * sizeof(int), cudaMemcpyHostToDevice));
  CHECK(cudaMalloc(&d_cellOf, n * sizeof(int)));
  CHECK(cudaMemcpy(d_cellOf, cellOf.data(), n * sizeof(int), cudaMemcpyHostToDevice));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    forces<<<(n + 127) / 128, 128>>>(d_atoms, d_start, d_cellOf, n, side);
    move<<<(n + 255) / 256, 256>>>(d_atoms, n);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  CHECK(cudaMemcpy(atoms.data(), d_atoms, n * sizeof(Atom), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Atom &a : atoms)
    check = check * 31 + llround(a.x * 1e2) + 3 * llround(a.y * 1e2) + 5 * llround(a.z * 1e2) + 7 * llround(a.fx * 10) +
            11 * llround(a.fz * 10) + a.type;

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_atoms));
  CHECK(cudaFree(d_start));
  CHECK(cudaFree(d_cellOf));
}
