// A long truss of bars between nodes, clamped at one end, that swings.
//
// A step takes all bars' forces, then moves the nodes. These are numbered by cross
// section: bars join near ones. The argument is the number of sections.
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
  float x, y, z;
  float vx, vy, vz;
  float mass; // zero for a clamped one
};

struct Edge {
  int a, b;
  float stiffness, damping;
  float rest;
};

__global__ void edgeForces(const Edge *edges, const Node *nodes, float4 *forces, int count) {
  int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= count)
    return;
  const Edge &edge = edges[e];
  const Node &a = nodes[edge.a];
  const Node &b = nodes[edge.b];
  float dx = b.x - a.x, dy = b.y - a.y, dz = b.z - a.z;
  float length = sqrtf(dx * dx + dy * dy + dz * dz);
  float speed = ((b.vx - a.vx) * dx + (b.vy - a.vy) * dy + (b.vz - a.vz) * dz) / length;
  float scale = (edge.stiffness * (length - edge.rest) + edge.damping * speed) / length;
  forces[e] = make_float4(scale * dx, scale * dy, scale * dz, 0);
}

// The edges of node i are ends[first[i]] up to ends[first[i + 1]], as 2 * edge,
// and 1 more where the node is the edge's b.
__global__ void moveNodes(Node *nodes, const int *first, const int *ends, const float4 *forces, int n, float dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || nodes[i].mass == 0)
    return;
  float fx = 0, fy = 0, fz = 0;
  for (int k = first[i]; k < first[i + 1]; ++k) {
    float4 f = forces[ends[k] / 2];
    float sign = ends[k] % 2 ? -1 : 1;
    fx += sign * f.x;
    fy += sign * f.y;
    fz += sign * f.z;
  }
  Node &node = nodes[i];
  float scale = dt / node.mass;
  node.vx += fx * scale;
  node.vy += fy * scale;
  node.vz += fz * scale - 9.81f * dt;
  node.x += node.vx * dt;
  node.y += node.vy * dt;
  node.z += node.vz * dt;
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int sections = argc > 1 ? atoi(argv[1]) : 10000;
  const int side = 16, section = side * side;
  int n = sections * section;
  std::vector<Node> nodes(n);
  for (int i = 0; i < n; ++i) { // beams of 1024 sections, each clamped at its first
    float x = i / section % 1024, y = i / side % side, z = i % side;
    nodes[i] = {x, y, z, 0, 0, (hash(i) & 255) / 512.0f, x == 0 ? 0 : 1.0f + (hash(i) >> 30)};
  }

  const int step[5][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 0}, {1, 0, 1}};
  std::vector<Edge> edges;
  std::vector<int> first(n + 1, 0);
  for (int i = 0; i < n; ++i)
    for (int s = 0; s < 5; ++s) {
      int x = i / section + step[s][0], y = i / side % side + step[s][1], z = i % side + step[s][2];
      if (x >= sections || y >= side || z >= side || (step[s][0] && x % 1024 == 0))
        continue;
      int j = x * section + y * side + z;
      unsigned h = hash((unsigned)edges.size() ^ 0x40000000);
      edges.push_back({i, j, 200.0f + (h & 63), 0.5f + (h >> 8 & 15) / 32.0f, s < 3 ? 1.0f : sqrtf(2)});
      ++first[i + 1];
      ++first[j + 1];
    }
  int count = (int)edges.size();
  for (int i = 0; i < n; ++i)
    first[i + 1] += first[i];
  std::vector<int> ends(2 * (size_t)count), next(first.begin(), first.end() - 1);
  for (int e = 0; e < count; ++e) {
    ends[next[edges[e].a]++] = 2 * e;
    ends[next[edges[e].b]++] = 2 * e + 1;
  }

  Node *d_nodes;
  CHECK(cudaMalloc(&d_nodes, n * sizeof(Node)));
  CHECK(cudaMemcpy(d_nodes, nodes.data(), n * sizeof(Node), cudaMemcpyHostToDevice));
  Edge *d_edges;
  CHECK(cudaMalloc(&d_edges, count * sizeof(Edge)));
  CHECK(cudaMemcpy(d_edges, edges.data(), count * sizeof(Edge), cudaMemcpyHostToDevice));
  float4 *d_forces;
  CHECK(cudaMalloc(&d_forces, count * sizeof(float4)));
  int *d_first, *d_ends;
  CHECK(cudaMalloc(&d_first, first.size() * sizeof(int)));
  CHECK(cudaMemcpy(d_first, first.data(), first.size() * sizeof(int), cudaMemcpyHostToDevice));
  CHECK(cudaMalloc(&d_ends, ends.size() * sizeof(int)));
  CHECK(cudaMemcpy(d_ends, ends.data(), ends.size() * sizeof(int), cudaMemcpyHostToDevice));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    edgeForces<<<(count + 255) / 256, 256>>>(d_edges, d_nodes, d_forces, count);
    moveNodes<<<(n + 255) / 256, 256>>>(d_nodes, d_first, d_ends, d_forces, n, 0.001f);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  CHECK(cudaMemcpy(nodes.data(), d_nodes, n * sizeof(Node), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Node &p : nodes)
    check = check * 31 + llround(p.x * 1e2) + 3 * llround(p.y * 1e2) + 5 * llround(p.z * 1e2) + 7 * llround(p.vz * 1e2);

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_nodes));
  CHECK(cudaFree(d_edges));
  CHECK(cudaFree(d_forces));
  CHECK(cudaFree(d_first));
  CHECK(cudaFree(d_ends));
}
