// Gravity by a walk over an octree: a node far away counts as one mass, a near
// one is opened. Bodies are in the order of the tree, so lanes stay together.
//
// Both arrays fit the L2 cache. The tree is built once: bodies move little.
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
  float cx, cy, cz; // centre of mass
  float mass, size;
  int next, child; // where to go past this node, and into it; -1 at the end
  int leaf;
};

struct Body {
  float x, y, z;
  float vx, vy, vz;
  float ax, ay, az;
  float mass;
};

__global__ void attract(Body *bodies, const Node *__restrict__ nodes, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float x = bodies[i].x, y = bodies[i].y, z = bodies[i].z;
  float ax = 0, ay = 0, az = 0;
  int k = 0;
  while (k >= 0) {
    float dx = nodes[k].cx - x, dy = nodes[k].cy - y, dz = nodes[k].cz - z;
    float r2 = dx * dx + dy * dy + dz * dz;
    if (nodes[k].leaf || nodes[k].size * nodes[k].size < 0.5f * r2) {
      float inverse = rsqrtf(r2 + 1e-4f);
      float pull = nodes[k].mass * inverse * inverse * inverse;
      ax += pull * dx;
      ay += pull * dy;
      az += pull * dz;
      k = nodes[k].next;
    } else {
      k = nodes[k].child;
    }
  }
  bodies[i].ax = ax;
  bodies[i].ay = ay;
  bodies[i].az = az;
}

__global__ void move(Body *bodies, int n, float dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  Body &b = bodies[i];
  b.vx += dt * b.ax;
  b.vy += dt * b.ay;
  b.vz += dt * b.az;
  b.x += dt * b.vx;
  b.y += dt * b.vy;
  b.z += dt * b.vz;
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

// Which of the eight parts of its cube a body is in, at a depth of the tree.
static int octant(const Body &b, int depth) {
  int scale = 2 << depth;
  return ((int)(b.x * scale) & 1) | ((int)(b.y * scale) & 1) << 1 | ((int)(b.z * scale) & 1) << 2;
}

// Adds the node of the bodies in [first, last), and those below it; sorts the bodies.
static void build(std::vector<Node> &nodes, std::vector<Body> &bodies, int first, int last, int depth) {
  int self = nodes.size();
  nodes.push_back({0, 0, 0, 0, 1.0f / (1 << depth), -1, -1, 0});
  double x = 0, y = 0, z = 0, mass = 0;
  for (int i = first; i < last; ++i) {
    x += (double)bodies[i].mass * bodies[i].x;
    y += (double)bodies[i].mass * bodies[i].y;
    z += (double)bodies[i].mass * bodies[i].z;
    mass += bodies[i].mass;
  }
  nodes[self].cx = x / mass;
  nodes[self].cy = y / mass;
  nodes[self].cz = z / mass;
  nodes[self].mass = mass;
  if (last - first <= 1 || depth == 10) {
    nodes[self].leaf = 1;
  } else {
    nodes[self].child = nodes.size();
    std::stable_sort(bodies.begin() + first, bodies.begin() + last,
                     [&](const Body &a, const Body &b) { return octant(a, depth) < octant(b, depth); });
    while (first < last) {
      int part = octant(bodies[first], depth), until = first;
      while (until < last && octant(bodies[until], depth) == part)
        ++until;
      build(nodes, bodies, first, until, depth + 1);
      first = until;
    }
  }
  nodes[self].next = nodes.size(); // the nodes below are all there: what comes next is past them
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 200000;
  std::vector<Body> bodies(n);
  for (int i = 0; i < n; ++i) { // denser towards one corner, within the unit cube
    unsigned h = hash(2 * i), g = hash(2 * i + 1);
    float x = (h & 65535) / 65536.0f, y = (h >> 16) / 65536.0f, z = (g & 65535) / 65536.0f;
    bodies[i] = {x * x, y * y, z, 0, 0, 0, 0, 0, 0, (1 + (g >> 16 & 3)) / (2.0f * n)};
  }
  std::vector<Node> nodes;
  build(nodes, bodies, 0, n, 0);
  int count = nodes.size();
  for (Node &node : nodes)
    if (node.next == count)
      node.next = -1;
  Body *d_bodies;
  CHECK(cudaMalloc(&d_bodies, n * sizeof(Body)));
  CHECK(cudaMemcpy(d_bodies, bodies.data(), n * sizeof(Body), cudaMemcpyHostToDevice));
  Node *d_nodes;
  CHECK(cudaMalloc(&d_nodes, count * sizeof(Node)));
  CHECK(cudaMemcpy(d_nodes, nodes.data(), count * sizeof(Node), cudaMemcpyHostToDevice));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    attract<<<(n + 127) / 128, 128>>>(d_bodies, d_nodes, n);
    move<<<(n + 127) / 128, 128>>>(d_bodies, n, 1.0f / 16384);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  CHECK(cudaMemcpy(bodies.data(), d_bodies, n * sizeof(Body), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Body &b : bodies)
    check = check * 31 + llround(b.x * 1e3) + 3 * llround(b.y * 1e3) + 5 * llround(b.az * 1e2);

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_bodies));
  CHECK(cudaFree(d_nodes));
}
