// A local `void *` that is cast to one type of record is that record's pointer: it is declared so, and its casts go.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=BODY --input-file=%t/out/Body/soa/in.cu
// RUN: FileCheck %s --check-prefix=TILE --input-file=%t/out/Body/asta32/in.cu
// RUN: FileCheck %s --check-prefix=CELL --input-file=%t/out/Cell/soa/in.cu
// RUN: FileCheck %s --check-prefix=FACE --input-file=%t/out/Face/soa/in.cu
// RUN: %compile-both %t/out/Body/soa/in.cu %t/out/Body/asta32/in.cu %t/out/Body/aos-align16/in.cu
// RUN: %compile-both %t/out/Cell/soa/in.cu %t/out/Cell/asta32/in.cu %t/out/Cell/grouped/in.cu
// RUN: %compile-both %t/out/Face/soa/in.cu %t/out/Face/asta32/in.cu
// RUN: cp %t/in.cu %t/both.cu && %restride -i --layout=soa --quiet %t/both.cu -- -std=c++17
// RUN: %compile-both %t/both.cu
// RUN: %restride --check --layout=soa --quiet %t/both.cu -- -std=c++17
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace sim {
struct Body { float x, y, z, m; };
} // namespace sim
struct Cell { int first, count; float weight; };
struct Face { int left, right; float area; };

static void check(cudaError_t e) {
  if (e != cudaSuccess)
    exit(1);
}

template <class T> T *allocate(size_t n) {
  void *p = nullptr;
  if (cudaError_t e = cudaMalloc(&p, n * sizeof(T)))
    check(e);
  return static_cast<T *>(p);
}
// BODY: inline sim::BodySoA Body_allocate(size_t n) {
// BODY-NEXT: sim::BodySoA p = {};
// BODY-NEXT: if (cudaError_t e = BodySoA_malloc(&p, n * sizeof(sim::Body)))
// BODY-NEXT: check(e);
// BODY-NEXT: return p;
// TILE: inline sim::BodyTile32 *Body_allocate(size_t n) {
// TILE-NEXT: sim::BodyTile32 *p = nullptr;
// TILE: return p;

static Cell *cellsOf(int n) {
  void *raw, *other;
  check(cudaMalloc(&raw, n * sizeof(Cell)));
  check(cudaMalloc(&other, 64));
  check(cudaFree(other));
  if (raw == nullptr)
    exit(1);
  auto *cells = (Cell *)raw;
  return cells;
}
// CELL: CellSoA raw;
// CELL-NEXT: void *other;
// CELL-NEXT: check(CellSoA_malloc(&raw, n * sizeof(Cell)));
// CELL: if (raw.first == nullptr)
// CELL: auto cells = raw;
// CELL-NEXT: return cells;

class Faces {
public:
  explicit Faces(int n) {
    void *p = 0;
    check(cudaMallocManaged(&p, n * sizeof(Face)));
    if (!p)
      exit(1);
    cudaMemset(p, 0, n * sizeof(Face));
    data = reinterpret_cast<Face *>((p));
    // FACE: FaceSoA p = {};
    // FACE-NEXT: check(FaceSoA_mallocManaged(&p, n * sizeof(Face)));
    // FACE-NEXT: if (!p.left)
    // FACE: FaceSoA_memset(p, 0, n * sizeof(Face));
    // FACE-NEXT: data = (p);
  }
  ~Faces() { cudaFree(data); }
  Face *data;
};

__global__ void step(sim::Body *b, const Cell *c, const Face *f, float *e, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  b[i].x += c[i].weight * c[i].count + f[i].area;
  e[i] = b[i].x * b[i].m;
}

int main() {
  const int n = 4096;
  std::vector<sim::Body> host(n);
  sim::Body *bodies = allocate<sim::Body>(n);
  float *energy = allocate<float>(n);
  check(cudaMemcpy(bodies, host.data(), n * sizeof(sim::Body), cudaMemcpyHostToDevice));
  Cell *cells = cellsOf(n);
  Faces faces(n);
  step<<<n / 256, 256>>>(bodies, cells, faces.data, energy, n);
  check(cudaMemcpy(host.data(), bodies, n * sizeof(sim::Body), cudaMemcpyDeviceToHost));
  std::printf("%g\n", host[7].x);
}
