// An array of pointers, `T *p[2]`: each is a pointer like any other, and all become the layout's.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=CELL --input-file=%t/out/Cell/soa/in.cu
// RUN: FileCheck %s --check-prefix=TILE --input-file=%t/out/Cell/asta32/in.cu
// RUN: FileCheck %s --check-prefix=AGENT --input-file=%t/out/Agent/soa/in.cu
// RUN: FileCheck %s --check-prefix=SPOT --input-file=%t/out/Spot/soa/in.cu
// RUN: %compile-both %t/out/Cell/soa/in.cu %t/out/Cell/asta32/in.cu %t/out/Cell/aos-align16/in.cu %t/out/Cell/grouped/in.cu
// RUN: %compile-both %t/out/Agent/soa/in.cu %t/out/Agent/asta32/in.cu %t/out/Spot/soa/in.cu %t/out/Spot/asta32/in.cu
// RUN: cp %t/in.cu %t/all.cu && %restride -i --layout=soa --quiet %t/all.cu -- -std=c++17
// RUN: %compile-both %t/all.cu
// RUN: %restride --check --layout=soa --quiet %t/all.cu -- -std=c++17
#include <cstdio>
#include <cstdlib>
#include <utility>
struct Cell { float u, v, h; int kind; };
struct Agent { float x, y, heading; int state; };
struct Spot { float x, y, z; };

static void check(cudaError_t e) {
  if (e != cudaSuccess)
    exit(1);
}

__global__ void advance(const Cell *__restrict__ in, Cell *__restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  out[i].u = in[i].u + 0.5f * in[(i + 1) % n].h;
  out[i].v = in[i].v;
  out[i].h = in[i].h * 0.99f;
  out[i].kind = in[i].kind;
}

__global__ void move(Agent *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    a[i].x += a[i].heading;
}

__global__ void sum(const Spot *a, const Spot *b, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = a[i].x - b[i].x;
}

class Fleet {
public:
  explicit Fleet(int n) : n(n) {
    for (int k = 0; k < 3; ++k)
      check(cudaMalloc((void **)&squads[k], n * sizeof(Agent)));
    check(cudaMemset(squads[0], 0, n * sizeof(Agent)));
    for (int k = 1; k < 3; ++k)
      check(cudaMemcpy(squads[k], squads[0], n * sizeof(Agent), cudaMemcpyDeviceToDevice));
  }
  ~Fleet() {
    for (Agent *squad : squads)
      if (squad != nullptr)
        cudaFree(squad);
    // AGENT: for (AgentSoA squad : squads)
    // AGENT-NEXT: if (squad.x != nullptr)
    // AGENT-NEXT: AgentSoA_free(squad);
  }
  void step() {
    for (int k = 0; k < 3; ++k)
      move<<<(n + 127) / 128, 128>>>(squads[k], n);
  }
  float first(int k) {
    Agent a;
    check(cudaMemcpy(&a, squads[k] + 5, sizeof(Agent), cudaMemcpyDeviceToHost));
    // AGENT: check(AgentSoA_memcpy(&a, squads[k], 5, sizeof(Agent), cudaMemcpyDeviceToHost));
    return a.x + a.heading;
  }

private:
  Agent *squads[3] = {nullptr, nullptr, nullptr};
  // AGENT: AgentSoA squads[3] = {{[{][{]}}}, {}, {}};
  int n;
};

static Spot *spots[2];
// SPOT: static SpotSoA spots[2];

int main() {
  const int n = 4096;
  Cell *host = (Cell *)malloc(n * sizeof(Cell));
  for (int i = 0; i < n; ++i)
    host[i] = Cell{float(i), 1.0f, 2.0f, i % 7};
  Cell *cells[2] = {nullptr, nullptr}, *extra = nullptr;
  // CELL: CellSoA cells[2] = {{[{][{]}}}, {}}, extra = {};
  // TILE: CellTile32 *cells[2] = {nullptr, nullptr}, *extra = nullptr;
  for (auto &one : cells)
    check(cudaMalloc(&one, n * sizeof(Cell)));
  // CELL: for (auto &one : cells)
  // CELL-NEXT: check(CellSoA_malloc(&one, n * sizeof(Cell)));
  check(cudaMalloc(&extra, n * sizeof(Cell)));
  check(cudaMemcpy(cells[0], host, n * sizeof(Cell), cudaMemcpyHostToDevice));
  int now = 0;
  for (int step = 0; step < 7; ++step) {
    advance<<<n / 128, 128>>>(cells[now], cells[now ^ 1], n);
    now ^= 1;
  }
  Cell *last = cells[now];
  // CELL: advance<<<n / 128, 128>>>(cells[now], cells[now ^ 1], n);
  // CELL: CellSoA last = cells[now];
  // TILE: CellTile32 *last = cells[now];
  advance<<<n / 128, 128>>>(last, extra, n);
  std::swap(cells[0], cells[1]);
  std::swap(extra, cells[now ^ 1]);
  check(cudaMemcpy(host, cells[1 - now], n * sizeof(Cell), cudaMemcpyDeviceToHost));
  // CELL: std::swap(cells[0], cells[1]);
  // CELL-NEXT: std::swap(extra, cells[now ^ 1]);
  // CELL-NEXT: check(CellSoA_memcpy(host, cells[1 - now], n * sizeof(Cell), cudaMemcpyDeviceToHost));
  for (int k = 0; k < 2; ++k)
    cudaFree(cells[k]);
  cudaFree(extra);
  float *out, result[4];
  cudaMalloc(&out, n * sizeof(float));
  for (auto k : {0, 1}) {
    cudaMalloc(&spots[k], n * sizeof(Spot));
    cudaMemset(spots[k], 0x3f, n * sizeof(Spot));
  }
  sum<<<n / 128, 128>>>(spots[0], spots[1], out, n);
  cudaMemcpy(result, out, sizeof(result), cudaMemcpyDeviceToHost);
  Fleet fleet(n);
  fleet.step();
  printf("%g %d %g %g\n", host[9].u, host[10].kind, result[1], fleet.first(1));
}
