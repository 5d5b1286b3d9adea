// Lennard-Jones forces over a neighbour list: indices are mostly near by.
//
// Of an atom's 28 bytes a neighbour's four words are gathered and an atom's
// own three are stored. The list is in columns, as the usual codes keep it.
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
  int type;
  float fx, fy, fz;
};

__global__ void forces(Atom *atoms, const int *__restrict__ list, int listed, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float x = atoms[i].x, y = atoms[i].y, z = atoms[i].z;
  int type = atoms[i].type;
  float fx = 0, fy = 0, fz = 0;
  for (int k = 0; k < listed; ++k) {
    int j = list[k * n + i];
    float dx = x - atoms[j].x, dy = y - atoms[j].y, dz = z - atoms[j].z;
    float r2 = dx * dx + dy * dy + dz * dz + 0.5f;
    float sigma2 = atoms[j].type == type ? 1.0f : 1.21f;
    float s2 = sigma2 / r2, s6 = s2 * s2 * s2;
    float f = 24 * s6 * (2 * s6 - 1) / r2;
    fx += f * dx;
    fy += f * dy;
    fz += f * dz;
  }
  atoms[i].fx = fx;
  atoms[i].fy = fy;
  atoms[i].fz = fz;
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 21;
  const int listed = 32;
  std::vector<Atom> atoms(n);
  std::vector<int> list((size_t)n * listed);
  int side = (int)cbrt((double)n) + 1;
  for (int i = 0; i < n; ++i) {
    unsigned h = hash(i);
    atoms[i] = {i % side + (h & 15) / 32.0f,
                i / side % side + (h >> 4 & 15) / 32.0f,
                i / side / side + (h >> 8 & 15) / 32.0f,
                (int)(h >> 12 & 1),
                0,
                0,
                0};
    for (int k = 0; k < listed; ++k) { // the row, and the rows and planes beside it
      int offset = k % 4 + 1 + k / 4 % 3 * side + k / 12 * side * side;
      list[(size_t)k * n + i] = (i + offset) % n;
    }
  }
  Atom *d_atoms;
  CHECK(cudaMalloc(&d_atoms, n * sizeof(Atom)));
  CHECK(cudaMemcpy(d_atoms, atoms.data(), n * sizeof(Atom), cudaMemcpyHostToDevice));
  int *d_list;
  CHECK(cudaMalloc(&d_list, list.size() * sizeof(int)));
  CHECK(cudaMemcpy(d_list, list.data(), list.size() * sizeof(int), cudaMemcpyHostToDevice));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    forces<<<(n + 127) / 128, 128>>>(d_atoms, d_list, listed, n);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  CHECK(cudaMemcpy(atoms.data(), d_atoms, n * sizeof(Atom), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Atom &a : atoms)
    check = check * 31 + llround(a.fx) + 3 * llround(a.fy) + 5 * llround(a.fz);

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_atoms));
  CHECK(cudaFree(d_list));
}
