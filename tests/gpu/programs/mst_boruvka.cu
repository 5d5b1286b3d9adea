// Minimum spanning forest of a random sparse graph, Boruvka's method.
// Every round each component picks its lightest outgoing edge, components
// are hooked together along these edges, and labels are compressed.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(call)                                                          \
  do {                                                                       \
    cudaError_t e_ = (call);                                                 \
    if (e_ != cudaSuccess) {                                                 \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__,                 \
                   cudaGetErrorString(e_));                                  \
      std::exit(1);                                                          \
    }                                                                        \
  } while (0)

typedef unsigned long long u64;

struct Edge {
  int src;
  int dst;
  int weight;
  int in_tree;
  float length;
  int round;
};

struct Vertex {
  u64 best;
  int comp;
  int next;
  float x, y;
  int degree;
  int merged;
};

static const u64 NO_EDGE = ~0ULL;

__global__ void init_vertices(Vertex *v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  v[i].best = ~0ULL;
  v[i].comp = i;
  v[i].next = i;
  v[i].merged = 0;
}

__global__ void init_edges(Edge *e, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m) return;
  e[i].in_tree = 0;
  e[i].round = -1;
}

__global__ void find_lightest(const Edge *e, int m, Vertex *v) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m) return;
  int cu = v[e[i].src].comp;
  int cv = v[e[i].dst].comp;
  if (cu == cv) return;
  u64 key = ((u64)(unsigned)e[i].weight << 32) | (unsigned)i;
  // a plain read first saves most of the atomics
  if (key < v[cu].best) atomicMin(&v[cu].best, key);
  if (key < v[cv].best) atomicMin(&v[cv].best, key);
}

__global__ void hook(Vertex *v, int n, Edge *e, int round, int *hooked) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (v[i].comp != i) return;
  u64 b = v[i].best;
  if (b == ~0ULL) {
    v[i].next = i;
    return;
  }
  int k = (int)(b & 0xffffffffULL);
  int a = v[e[k].src].comp;
  int c = v[e[k].dst].comp;
  v[i].next = (a == i) ? c : a;
  e[k].in_tree = 1;
  e[k].round = round;
  *hooked = 1;
}

__global__ void break_pairs(Vertex *v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (v[i].comp != i) return;
  int p = v[i].next;
  if (p > i && v[p].next == i) v[i].next = i;
}

__global__ void compress(Vertex *v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int r = v[i].comp;
  int hops = 0;
  while (v[r].next != r) {
    r = v[r].next;
    hops++;
  }
  v[i].comp = r;
  v[i].best = ~0ULL;
  if (hops) v[i].merged++;
}

class Graph {
 public:
  Graph(int n, int m) : verts(n), edges(m), state_(12345u) {
    for (int i = 0; i < n; i++) {
      Vertex &v = verts[i];
      v.best = NO_EDGE;
      v.comp = v.next = i;
      v.x = (next() & 0xffff) / 65536.0f;
      v.y = (next() & 0xffff) / 65536.0f;
      v.degree = v.merged = 0;
    }
    for (int i = 0; i < m; i++) {
      Edge &e = edges[i];
      e.src = (int)(next() % (unsigned)n);
      // half of the edges are local, half arbitrary
      if (i & 1) e.dst = (e.src + 1 + (int)(next() % 64u)) % n;
      else e.dst = (int)(next() % (unsigned)n);
      float dx = verts[e.src].x - verts[e.dst].x;
      float dy = verts[e.src].y - verts[e.dst].y;
      e.length = dx * dx + dy * dy;
      e.weight = 1 + (int)(next() % 100000u);
      e.in_tree = 0;
      e.round = -1;
      verts[e.src].degree++;
      verts[e.dst].degree++;
    }
  }
  std::vector<Vertex> verts;
  std::vector<Edge> edges;

 private:
  unsigned next() {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(state_ >> 33);
  }
  u64 state_;
};

int main(int argc, char **argv) {
  int n = argc > 1 ? std::atoi(argv[1]) : 600000;
  int m = argc > 2 ? std::atoi(argv[2]) : 4000000;
  int reps = argc > 3 ? std::atoi(argv[3]) : 20;
  Graph g(n, m);

  Vertex *dv;
  Edge *de;
  int *dflag;
  CHECK(cudaMalloc(&dv, sizeof(Vertex) * n));
  CHECK(cudaMalloc(&de, sizeof(Edge) * m));
  CHECK(cudaMalloc(&dflag, sizeof(int)));
  CHECK(cudaMemcpy(dv, g.verts.data(), sizeof(Vertex) * n, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(de, g.edges.data(), sizeof(Edge) * m, cudaMemcpyHostToDevice));

  const int B = 256;
  const int gv = (n + B - 1) / B, ge = (m + B - 1) / B;

  // warm-up: also learns the number of rounds
  int rounds = 0;
  init_vertices<<<gv, B>>>(dv, n);
  init_edges<<<ge, B>>>(de, m);
  for (;;) {
    int flag = 0;
    CHECK(cudaMemcpy(dflag, &flag, sizeof(int), cudaMemcpyHostToDevice));
    find_lightest<<<ge, B>>>(de, m, dv);
    hook<<<gv, B>>>(dv, n, de, rounds, dflag);
    break_pairs<<<gv, B>>>(dv, n);
    compress<<<gv, B>>>(dv, n);
    CHECK(cudaMemcpy(&flag, dflag, sizeof(int), cudaMemcpyDeviceToHost));
    if (!flag) break;
    rounds++;
  }

  cudaEvent_t t0, t1;
  CHECK(cudaEventCreate(&t0));
  CHECK(cudaEventCreate(&t1));
  CHECK(cudaEventRecord(t0));
  for (int r = 0; r < reps; r++) {
    init_vertices<<<gv, B>>>(dv, n);
    init_edges<<<ge, B>>>(de, m);
    for (int k = 0; k < rounds; k++) {
      find_lightest<<<ge, B>>>(de, m, dv);
      hook<<<gv, B>>>(dv, n, de, k, dflag);
      break_pairs<<<gv, B>>>(dv, n);
      compress<<<gv, B>>>(dv, n);
    }
  }
  CHECK(cudaEventRecord(t1));
  CHECK(cudaEventSynchronize(t1));
  CHECK(cudaGetLastError());
  float ms = 0;
  CHECK(cudaEventElapsedTime(&ms, t0, t1));

  CHECK(cudaMemcpy(g.verts.data(), dv, sizeof(Vertex) * n, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(g.edges.data(), de, sizeof(Edge) * m, cudaMemcpyDeviceToHost));
  long long weight = 0, tree = 0, comps = 0;
  double length = 0;
  for (const Edge &e : g.edges)
    if (e.in_tree) {
      weight += e.weight;
      length += e.length;
      tree++;
    }
  for (int i = 0; i < n; i++)
    if (g.verts[i].comp == i) comps++;
  std::printf("check tree_weight %lld\n", weight);
  std::printf("check tree_edges %lld\n", tree);
  std::printf("check components %lld\n", comps);
  std::printf("check tree_plus_components_minus_n %lld\n", tree + comps - n);
  std::printf("check tree_length %.6g\n", length);
  std::printf("check rounds %d\n", rounds);
  std::printf("time_ms %.6f\n", ms / reps);
  cudaFree(dv);
  cudaFree(de);
  cudaFree(dflag);
  return 0;
}
