// Colours of a graph by rounds: a vertex takes the least free colour once its
// priority is the highest among the neighbours that have none.
//
// Neighbours are mostly near by, a few are anywhere. Of a neighbour done is
// read, then color or priority; each round copies the vertices to the other
// buffer. A step is a colouring of twelve rounds.
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

struct Vertex {
  int offset, degree; // of its neighbours in the list
  int color;
  unsigned priority;
  int done;
};

__global__ void restart(Vertex *vertices, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  vertices[i].color = -1;
  vertices[i].done = 0;
  vertices[i].priority = vertices[i].priority * 1664525u + 1013904223u;
}

__global__ void colorRound(const Vertex *__restrict__ from, Vertex *to, const int *__restrict__ neighbours, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  Vertex v = from[i];
  if (!v.done) {
    unsigned long long taken = 0;
    bool highest = true;
    for (int k = v.offset; k < v.offset + v.degree; ++k) {
      int j = neighbours[k];
      if (from[j].done) {
        taken |= 1ull << from[j].color;
      } else {
        unsigned p = from[j].priority;
        if (p > v.priority || (p == v.priority && j > i)) {
          highest = false;
          break;
        }
      }
    }
    if (highest) {
      v.color = __ffsll(~taken) - 1;
      v.done = 1;
    }
  }
  to[i] = v;
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 22;
  std::vector<std::pair<int, int>> edges; // three to near vertices, for every fourth one more to any
  std::vector<Vertex> vertices(n);
  for (int i = 0; i < n; ++i)
    vertices[i] = {0, 0, -1, hash(i + 0x40000000u), 0};
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < 4; ++k) {
      unsigned h = hash(4 * i + k);
      int j = k < 3 ? i + 1 + (int)(h & 63) : i % 4 == 0 ? (int)(h % n) : i;
      if (j != i && j < n) {
        edges.push_back({i, j});
        ++vertices[i].degree;
        ++vertices[j].degree;
      }
    }
  }
  for (int i = 1; i < n; ++i)
    vertices[i].offset = vertices[i - 1].offset + vertices[i - 1].degree;
  std::vector<int> neighbours(2 * edges.size()), filled(n);
  for (const std::pair<int, int> &e : edges) {
    neighbours[vertices[e.first].offset + filled[e.first]++] = e.second;
    neighbours[vertices[e.second].offset + filled[e.second]++] = e.first;
  }
  Vertex *d_vertices;
  CHECK(cudaMalloc(&d_vertices, n * sizeof(Vertex)));
  CHECK(cudaMemcpy(d_vertices, vertices.data(), n * sizeof(Vertex), cudaMemcpyHostToDevice));
  Vertex *d_other;
  CHECK(cudaMalloc(&d_other, n * sizeof(Vertex)));
  int *d_neighbours;
  CHECK(cudaMalloc(&d_neighbours, neighbours.size() * sizeof(int)));
  CHECK(cudaMemcpy(d_neighbours, neighbours.data(), neighbours.size() * sizeof(int), cudaMemcpyHostToDevice));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  int blocks = (n + 255) / 256;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    restart<<<blocks, 256>>>(d_vertices, n);
    for (int k = 0; k < 12; ++k) {
      colorRound<<<blocks, 256>>>(d_vertices, d_other, d_neighbours, n);
      std::swap(d_vertices, d_other);
    }
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  CHECK(cudaMemcpy(vertices.data(), d_vertices, n * sizeof(Vertex), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Vertex &v : vertices)
    check = check * 31 + v.color + 3 * v.done;

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_vertices));
  CHECK(cudaFree(d_other));
  CHECK(cudaFree(d_neighbours));
}
