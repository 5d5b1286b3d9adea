// Interpolation in a table: every query gathers the four corners of its cell.
//
// A query reads its place and cell and stores its value only; a corner is read
// whole, at cells without order. The argument is the number of queries.
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

struct Query {
  float x, y; // in the cell, 0 to 1
  float value;
  int cell; // its lower left node
};

struct Node {
  float f, fx, fy, fxy; // the function and its derivatives
  float weight;         // how far the node is trusted
};

const int SIDE = 2048; // of the grid of nodes

// The part of one corner, given the values there of the two cubics of each
// direction: h goes with the function, g with its derivative.
__device__ float corner(Node c, float hx, float gx, float hy, float gy) {
  return hy * (c.f * hx + c.fx * gx) + gy * (c.fy * hx + c.fxy * gx);
}

__global__ void interpolate(Query *queries, const Node *nodes, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float x = queries[i].x, y = queries[i].y;
  int cell = queries[i].cell;
  Node n00 = nodes[cell], n10 = nodes[cell + 1];
  Node n01 = nodes[cell + SIDE], n11 = nodes[cell + SIDE + 1];

  float hx1 = x * x * (3 - 2 * x), hx0 = 1 - hx1;
  float gx0 = x * (1 - x) * (1 - x), gx1 = x * x * (x - 1);
  float hy1 = y * y * (3 - 2 * y), hy0 = 1 - hy1;
  float gy0 = y * (1 - y) * (1 - y), gy1 = y * y * (y - 1);

  float sum = n00.weight * corner(n00, hx0, gx0, hy0, gy0);
  sum += n10.weight * corner(n10, hx1, gx1, hy0, gy0);
  sum += n01.weight * corner(n01, hx0, gx0, hy1, gy1);
  sum += n11.weight * corner(n11, hx1, gx1, hy1, gy1);
  float total = hy0 * (n00.weight * hx0 + n10.weight * hx1) + hy1 * (n01.weight * hx0 + n11.weight * hx1);
  queries[i].value = sum / total;
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 22;
  int size = SIDE * SIDE;
  std::vector<Node> nodes(size);
  for (int k = 0; k < size; ++k) { // noise, with slopes to match
    unsigned h = hash(k);
    nodes[k] = {(h & 255) / 16.0f - 8, (h >> 8 & 63) / 16.0f - 2, (h >> 14 & 63) / 16.0f - 2,
                (h >> 20 & 63) / 32.0f - 1, 0.5f + (h >> 26 & 63) / 64.0f};
  }
  std::vector<Query> queries(n);
  for (int i = 0; i < n; ++i) {
    unsigned h = hash(i), place = hash(~i);
    int column = h % (SIDE - 1), row = place % (SIDE - 1); // the last ones begin no cell
    queries[i] = {(h >> 20 & 1023) / 1024.0f, (place >> 20 & 1023) / 1024.0f, 0, row * SIDE + column};
  }
  Node *d_nodes;
  CHECK(cudaMalloc(&d_nodes, size * sizeof(Node)));
  CHECK(cudaMemcpy(d_nodes, nodes.data(), size * sizeof(Node), cudaMemcpyHostToDevice));
  Query *d_queries;
  CHECK(cudaMalloc(&d_queries, n * sizeof(Query)));
  CHECK(cudaMemcpy(d_queries, queries.data(), n * sizeof(Query), cudaMemcpyHostToDevice));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    interpolate<<<(n + 255) / 256, 256>>>(d_queries, d_nodes, n);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  CHECK(cudaMemcpy(queries.data(), d_queries, n * sizeof(Query), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Query &q : queries)
    check = check * 31 + llround(q.value * 1e3) + 3 * q.cell;

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_nodes));
  CHECK(cudaFree(d_queries));
}
