// Breadth-first search by levels over a graph in compressed rows.
//
// A vertex is 16 bytes; each level all threads read one field, few go on to
// their edges, and those change another field of random vertices.
#include <algorithm>
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
  int label;
};

__global__ void reset(Vertex *v, int n, int root) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    v[i].level = i == root ? 0 : -1;
}

__global__ void expand(Vertex *v, const int *__restrict__ edges, int n, int level, int *reached) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || atomicAdd(&v[i].level, 0) != level)
    return;
  int end = v[i].first + v[i].degree;
  for (int e = v[i].first; e < end; ++e)
    if (atomicCAS(&v[edges[e]].level, -1, level + 1) == -1)
      atomicAdd(reached, 1);
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
    unsigned h = hash(i);
    vertices[i] = {(int)edges.size(), (int)(1 + (h & 7)), -1, (int)(h >> 8 & 255)};
    for (int k = 0; k < vertices[i].degree; ++k)
      edges.push_back(hash(8 * i + k) % n);
  }
  Vertex *d_vertices;
  CHECK(cudaMalloc(&d_vertices, n * sizeof(Vertex)));
  CHECK(cudaMemcpy(d_vertices, vertices.data(), n * sizeof(Vertex), cudaMemcpyHostToDevice));
  int *d_edges;
  CHECK(cudaMalloc(&d_edges, edges.size() * sizeof(int)));
  CHECK(cudaMemcpy(d_edges, edges.data(), edges.size() * sizeof(int), cudaMemcpyHostToDevice));
  int *d_reached;
  CHECK(cudaMalloc(&d_reached, 1 * sizeof(int)));
  CHECK(cudaMemset(d_reached, 0, sizeof(int)));
  int blocks = (n + 255) / 256;

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 5;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    reset<<<blocks, 256>>>(d_vertices, n, n / 2);
    for (int level = 0; level < levels; ++level)
      expand<<<blocks, 256>>>(d_vertices, d_edges, n, level, d_reached);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  CHECK(cudaMemcpy(vertices.data(), d_vertices, n * sizeof(Vertex), cudaMemcpyDeviceToHost));
  int reached;
  CHECK(cudaMemcpy(&reached, d_reached, sizeof(int), cudaMemcpyDeviceToHost));
  unsigned long long check = reached;
  for (const Vertex &v : vertices)
    check = check * 31 + v.level + v.label;

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_vertices));
  CHECK(cudaFree(d_edges));
  CHECK(cudaFree(d_reached));
}
