// Connected components of a graph whose edges wear out, by label propagation.
//
// Edges hook the larger of two labels to the smaller, nodes then jump over
// their label, until nothing changes. In the end every label is the smallest
// node of its component, whatever the order of the atomics.
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

struct Edge {
  int from, to;
  int weight;
  int alive;
};

struct Node {
  int label;
  int degree;
  int size; // of the component, at the node that names it
  int mass; // likewise: the weight of its edges
};

__global__ void wear(Edge *edges, int m) {
  int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= m || !edges[e].alive)
    return;
  int weight = edges[e].weight - 1;
  edges[e].weight = weight;
  if (weight == 0)
    edges[e].alive = 0;
}

__global__ void reset(Node *nodes, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  nodes[i].label = i;
  nodes[i].degree = 0;
  nodes[i].size = 0;
  nodes[i].mass = 0;
}

__global__ void hook(const Edge *edges, Node *nodes, int *changed, int m) {
  int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= m || !edges[e].alive)
    return;
  int a = nodes[edges[e].from].label;
  int b = nodes[edges[e].to].label;
  if (a == b)
    return;
  atomicMin(&nodes[max(a, b)].label, min(a, b));
  *changed = 1;
}

__global__ void jump(Node *nodes, int *changed, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int label = nodes[i].label;
  int next = nodes[label].label;
  if (next != label) {
    nodes[i].label = next;
    *changed = 1;
  }
}

__global__ void measureEdges(const Edge *edges, Node *nodes, int m) {
  int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= m || !edges[e].alive)
    return;
  int from = edges[e].from;
  atomicAdd(&nodes[from].degree, 1);
  atomicAdd(&nodes[edges[e].to].degree, 1);
  atomicAdd(&nodes[nodes[from].label].mass, edges[e].weight);
}

__global__ void measureNodes(Node *nodes, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    atomicAdd(&nodes[nodes[i].label].size, 1);
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 20; // nodes, with three edges for two of them
  int m = n / 2 * 3;
  std::vector<Edge> edges(m);
  for (int e = 0; e < m; ++e) { // three of four edges are short
    unsigned h = hash(e), g = hash(~e);
    unsigned from = h % n, to = (h >> 30) == 0 ? g % n : (from + 1 + (g & 255)) % n;
    edges[e] = {(int)from, (int)to, 16 + (int)(g >> 16 & 127), (g >> 24 & 15) != 0};
  }
  Edge *d_edges;
  CHECK(cudaMalloc(&d_edges, m * sizeof(Edge)));
  CHECK(cudaMemcpy(d_edges, edges.data(), m * sizeof(Edge), cudaMemcpyHostToDevice));
  Node *d_nodes;
  CHECK(cudaMalloc(&d_nodes, n * sizeof(Node)));
  int *d_changed;
  CHECK(cudaMalloc(&d_changed, sizeof(int)));

  int edgeBlocks = (m + 255) / 256, nodeBlocks = (n + 255) / 256;
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    wear<<<edgeBlocks, 256>>>(d_edges, m);
    reset<<<nodeBlocks, 256>>>(d_nodes, n);
    int changed;
    do {
      CHECK(cudaMemsetAsync(d_changed, 0, sizeof(int)));
      hook<<<edgeBlocks, 256>>>(d_edges, d_nodes, d_changed, m);
      jump<<<nodeBlocks, 256>>>(d_nodes, d_changed, n);
      CHECK(cudaMemcpy(&changed, d_changed, sizeof(int), cudaMemcpyDeviceToHost));
    } while (changed);
    measureEdges<<<edgeBlocks, 256>>>(d_edges, d_nodes, m);
    measureNodes<<<nodeBlocks, 256>>>(d_nodes, n);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  std::vector<Node> nodes(n);
  CHECK(cudaMemcpy(nodes.data(), d_nodes, n * sizeof(Node), cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(edges.data(), d_edges, m * sizeof(Edge), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Node &v : nodes)
    check = check * 31 + v.label + 3 * v.degree + 5 * v.size + 7ull * v.mass;
  for (const Edge &e : edges)
    check = check * 31 + e.weight + 3 * e.alive;

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_edges));
  CHECK(cudaFree(d_nodes));
  CHECK(cudaFree(d_changed));
}
