// Which boxes hold a point: walks over a tree of bounding boxes with skip links.
//
// Nodes are visited in an order that the data decides; a miss reads the box
// and the link of a node of 32 bytes, a hit goes on to the next node.
#include <algorithm>
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

struct Node {
  float low[3], high[3];
  int skip; // where to go on when the point is outside
  int leaf; // the object, or -1
};

__global__ void query(const Node *__restrict__ nodes, int nodeCount, const float *__restrict__ points, int *hits,
                      int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float x = points[3 * i], y = points[3 * i + 1], z = points[3 * i + 2];
  int found = 0, k = 0;
  while (k < nodeCount) {
    bool inside = x >= nodes[k].low[0] && x <= nodes[k].high[0] && y >= nodes[k].low[1] && y <= nodes[k].high[1] &&
                  z >= nodes[k].low[2] && z <= nodes[k].high[2];
    if (inside && nodes[k].leaf >= 0)
      found += nodes[k].leaf % 8 + 1;
    k = inside ? k + 1 : nodes[k].skip;
  }
  hits[i] = found;
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

// Writes the tree over the cells [from, to) of a space-filling curve in
// depth-first order.
static int build(std::vector<Node> &nodes, int from, int to) {
  int self = (int)nodes.size();
  nodes.push_back(Node());
  Node node;
  if (to - from == 1) {
    int corner[3] = {0, 0, 0};
    for (int bit = 0; bit < 30; ++bit)
      corner[bit % 3] |= (from >> bit & 1) << bit / 3;
    for (int a = 0; a < 3; ++a) {
      node.low[a] = corner[a] - (hash(from) >> 4 * a & 7) / 8.0f;
      node.high[a] = corner[a] + 1 + (hash(from) >> (4 * a + 12) & 7) / 8.0f;
    }
    node.leaf = from;
  } else {
    int left = build(nodes, from, (from + to) / 2), right = build(nodes, (from + to) / 2, to);
    for (int a = 0; a < 3; ++a) {
      node.low[a] = std::min(nodes[left].low[a], nodes[right].low[a]);
      node.high[a] = std::max(nodes[left].high[a], nodes[right].high[a]);
    }
    node.leaf = -1;
  }
  node.skip = (int)nodes.size();
  nodes[self] = node;
  return self;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 21;
  int leaves = 64;
  while (leaves < n / 2)
    leaves *= 8;
  float side = cbrtf((float)leaves);
  std::vector<Node> nodes;
  build(nodes, 0, leaves);
  std::vector<float> points(3 * n);
  for (int i = 0; i < n; ++i) // rows of points close together, rows anywhere
    for (int a = 0; a < 3; ++a)
      points[3 * i + a] = (hash(i / 64 * 3 + a) & 1023) / 1024.0f * side + (hash(3 * i + a) & 255) / 256.0f;

  Node *d_nodes;
  CHECK(cudaMalloc(&d_nodes, nodes.size() * sizeof(Node)));
  CHECK(cudaMemcpy(d_nodes, nodes.data(), nodes.size() * sizeof(Node), cudaMemcpyHostToDevice));
  float *d_points;
  CHECK(cudaMalloc(&d_points, points.size() * sizeof(float)));
  CHECK(cudaMemcpy(d_points, points.data(), points.size() * sizeof(float), cudaMemcpyHostToDevice));
  int *d_hits;
  CHECK(cudaMalloc(&d_hits, n * sizeof(int)));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    query<<<(n + 127) / 128, 128>>>(d_nodes, (int)nodes.size(), d_points, d_hits, n);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  std::vector<int> hits(n);
  CHECK(cudaMemcpy(hits.data(), d_hits, n * sizeof(int), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (int h : hits)
    check = check * 31 + h;

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_nodes));
  CHECK(cudaFree(d_points));
  CHECK(cudaFree(d_hits));
}
