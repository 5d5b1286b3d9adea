// Breadth-first search by levels, bottom up, over a graph in compressed rows.
//
// A vertex is 16 bytes. At each level all vertices that were not reached look
// at one field of random neighbours, until one of them is of the last level.
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

struct Vertex {
  int first, degree;
  int level; // -1 while unseen
  int next;  // the level it takes after this pass
};

__global__ void reset(Vertex *v, int n, int root) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  v[i].level = i == root ? 0 : -1;
  v[i].next = v[i].level;
}

__global__ void look(Vertex *v, const int *__restrict__ edges, int n, int level) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || v[i].level >= 0)
    return;
  int end = v[i].first + v[i].degree;
  for (int e = v[i].first; e < end; ++e)
    if (v[edges[e]].level == level) {
      v[i].next = level + 1;
      break;
    }
}

__global__ void commit(Vertex *v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && v[i].level != v[i].next)
    v[i].level = v[i].next;
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 22;
  const int levels = 12;
  std::vector<Vertex> vertices(n);
  std::vector<int> edges;
  edges.reserve(5 * (size_t)n);
  for (int i = 0; i < n; ++i) {
    vertices[i] = {(int)edges.size(), (int)(1 + hash(i) % 8), -1, -1};
    for (int k = 0; k < vertices[i].degree; ++k)
      edges.push_back(hash(8 * i + k) % n);
  }
  Vertex *d_vertices;
  CHECK(cudaMalloc(&d_vertices, n * sizeof(Vertex)));
  CHECK(cudaMemcpy(d_vertices, vertices.data(), n * sizeof(Vertex), cudaMemcpyHostToDevice));
  int *d_edges;
  CHECK(cudaMalloc(&d_edges, edges.size() * sizeof(int)));
  CHECK(cudaMemcpy(d_edges, edges.data(), edges.size() * sizeof(int), cudaMemcpyHostToDevice));
  int blocks = (n + 255) / 256;

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    reset<<<blocks, 256>>>(d_vertices, n, n / 2);
    for (int level = 0; level < levels; ++level) {
      look<<<blocks, 256>>>(d_vertices, d_edges, n, level);
      commit<<<blocks, 256>>>(d_vertices, n);
    }
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  CHECK(cudaMemcpy(vertices.data(), d_vertices, n * sizeof(Vertex), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Vertex &v : vertices)
    check = check * 31 + v.level + v.degree;

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_vertices));
  CHECK(cudaFree(d_edges));
}
