// Voltages of a resistor network by damped Jacobi sweeps on a sparse matrix.
//
// A row of the matrix is a node, its entries are the branches to other nodes;
// one warp sums up a row. Branches lead mostly to nodes nearby, some far away.
// The argument is the number of nodes.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define CHECK(call)                                                                                                    \
  do {                                                                                                                 \
    cudaError_t status = (call);                                                                                       \
    if (status != cudaSuccess) {                                                                                       \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));                                  \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

struct Branch {
  int column;
  float conductance;
  float capacitance;
  float rating;
  short device;
  char layer;
  char open; // switched off
};

struct Node {
  int begin, end; // its branches
  float source;
  float leak;
  float damping;
  int net;
};

__global__ void sweep(const Node *nodes, const Branch *branches, const float *v, float *next, int n) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  int lane = threadIdx.x % 32;
  if (row >= n)
    return;
  float current = 0, total = 0;
  for (int j = nodes[row].begin + lane; j < nodes[row].end; j += 32) {
    if (branches[j].open)
      continue;
    float g = branches[j].conductance;
    current += g * v[branches[j].column];
    total += g;
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    current += __shfl_down_sync(0xffffffffu, current, offset);
    total += __shfl_down_sync(0xffffffffu, total, offset);
  }
  if (lane == 0) {
    const Node &node = nodes[row];
    float solved = (current + node.source) / (total + node.leak);
    next[row] = v[row] + node.damping * (solved - v[row]);
  }
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 19;
  std::vector<Node> nodes(n);
  std::vector<Branch> branches;
  branches.reserve((size_t)n * 33);
  for (int i = 0; i < n; ++i) {
    unsigned h = hash(i);
    int begin = (int)branches.size(), degree = 16 + h % 33;
    for (int j = 0; j < degree; ++j) {
      unsigned k = hash(i * 64u + j + 0x40000000), other = hash(k);
      long long column = k % 8 ? i + (long long)(other % 4096) - 2048 : other % n;
      column = (column % n + n) % n;
      branches.push_back({(int)column, 0.25f + (k >> 8 & 255) / 256.0f, (k >> 16 & 255) / 1024.0f,
                          1 + (k >> 24) / 16.0f, (short)(other >> 20), (char)(other >> 12 & 7),
                          (char)(k % 64 == 1)});
    }
    nodes[i] = {begin, (int)branches.size(), h >> 28 ? 0.0f : 4 + (h >> 8 & 255) / 64.0f,
                0.125f + (h >> 16 & 255) / 512.0f,
                0.75f, (int)(h >> 8) % 512};
  }
  std::vector<float> v(n, 1.0f);
  Node *d_nodes;
  CHECK(cudaMalloc(&d_nodes, n * sizeof(Node)));
  CHECK(cudaMemcpy(d_nodes, nodes.data(), n * sizeof(Node), cudaMemcpyHostToDevice));
  size_t m = branches.size();
  Branch *d_branches;
  CHECK(cudaMalloc(&d_branches, m * sizeof(Branch)));
  CHECK(cudaMemcpy(d_branches, branches.data(), m * sizeof(Branch), cudaMemcpyHostToDevice));
  float *d_v, *d_next;
  CHECK(cudaMalloc(&d_v, n * sizeof(float)));
  CHECK(cudaMalloc(&d_next, n * sizeof(float)));
  CHECK(cudaMemcpy(d_v, v.data(), n * sizeof(float), cudaMemcpyHostToDevice));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    sweep<<<(n + 7) / 8, 256>>>(d_nodes, d_branches, d_v, d_next, n);
    std::swap(d_v, d_next);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  CHECK(cudaMemcpy(v.data(), d_v, n * sizeof(float), cudaMemcpyDeviceToHost));
  double sums[512] = {}; // by net
  int counts[512] = {};
  for (int i = 0; i < n; ++i) {
    sums[nodes[i].net] += v[i];
    ++counts[nodes[i].net];
  }
  unsigned long long check = 0;
  for (int net = 0; net < 512; ++net)
    check = check * 31 + (counts[net] ? llround(sums[net] / counts[net] * 1e3) : 0);

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_nodes));
  CHECK(cudaFree(d_branches));
  CHECK(cudaFree(d_v));
  CHECK(cudaFree(d_next));
}
