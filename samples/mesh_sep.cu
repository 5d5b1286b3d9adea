// Size of the elements of a finite-element mesh: each gathers its eight nodes
// by number, from coordinates in separate arrays.
//
// The nodes of an element lie anywhere, and a gather fetches a whole sector for
// one coordinate. With x, y and z side by side it would be one for all three.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                                    \
  do {                                                                                                                 \
    cudaError_t err = (call);                                                                                          \
    if (err != cudaSuccess) {                                                                                          \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(err));                                     \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

// Squared distance of the corners of an element from its centre, summed up:
// corner k of element e is node nodelist[k * elements + e].
__global__ void spread(const float *x, const float *y, const float *z, const int *nodelist, int elements, float *size) {
  int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= elements)
    return;
  float sx = 0, sy = 0, sz = 0, squares = 0;
  for (int k = 0; k < 8; ++k) {
    int node = nodelist[k * elements + e];
    float px = x[node], py = y[node], pz = z[node];
    sx += px;
    sy += py;
    sz += pz;
    squares += px * px + py * py + pz * pz;
  }
  size[e] = squares - (sx * sx + sy * sy + sz * sz) / 8;
}

static unsigned scatter(unsigned k) {
  k = (k ^ k >> 16) * 0x45d9f3bu;
  k = (k ^ k >> 16) * 0x45d9f3bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int elements = argc > 1 ? atoi(argv[1]) : 1 << 22;
  int nodes = elements;
  const int corners = 8, repeats = 5;

  // Whole numbers up to 15: every product and sum is exact. Meshes that were
  // refined or cut have their nodes in no order.
  std::vector<float> x(nodes), y(nodes), z(nodes), size(elements);
  std::vector<int> nodelist(corners * elements);
  for (int i = 0; i < nodes; ++i) {
    unsigned k = scatter(i);
    x[i] = k & 15;
    y[i] = k >> 4 & 15;
    z[i] = k >> 8 & 15;
  }
  for (int i = 0; i < corners * elements; ++i)
    nodelist[i] = scatter(0x80000000u + i) % nodes;

  float *d_x, *d_y, *d_z, *d_size;
  int *d_nodelist;
  CHECK(cudaMalloc(&d_x, nodes * sizeof(float)));
  CHECK(cudaMalloc(&d_y, nodes * sizeof(float)));
  CHECK(cudaMalloc(&d_z, nodes * sizeof(float)));
  CHECK(cudaMalloc(&d_nodelist, corners * elements * sizeof(int)));
  CHECK(cudaMalloc(&d_size, elements * sizeof(float)));
  CHECK(cudaMemcpy(d_x, x.data(), nodes * sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(d_y, y.data(), nodes * sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(d_z, z.data(), nodes * sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(d_nodelist, nodelist.data(), corners * elements * sizeof(int), cudaMemcpyHostToDevice));

  cudaEvent_t start, stop;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  int blocks = (elements + 255) / 256;
  spread<<<blocks, 256>>>(d_x, d_y, d_z, d_nodelist, elements, d_size); // warm-up
  CHECK(cudaEventRecord(start));
  for (int r = 0; r < repeats; ++r)
    spread<<<blocks, 256>>>(d_x, d_y, d_z, d_nodelist, elements, d_size);
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(stop));
  CHECK(cudaEventSynchronize(stop));
  CHECK(cudaMemcpy(size.data(), d_size, elements * sizeof(float), cudaMemcpyDeviceToHost));

  unsigned long long check = 0;
  for (int e = 0; e < elements; ++e) {
    float sx = 0, sy = 0, sz = 0, squares = 0;
    for (int k = 0; k < corners; ++k) {
      int node = nodelist[k * elements + e];
      sx += x[node];
      sy += y[node];
      sz += z[node];
      squares += x[node] * x[node] + y[node] * y[node] + z[node] * z[node];
    }
    if (size[e] != squares - (sx * sx + sy * sy + sz * sz) / 8) {
      fprintf(stderr, "element %d: %g, expected %g\n", e, size[e], squares - (sx * sx + sy * sy + sz * sz) / 8);
      return 1;
    }
    check = check * 31 + (long long)(size[e] * 8);
  }
  float ms = 0;
  CHECK(cudaEventElapsedTime(&ms, start, stop));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_x));
  CHECK(cudaFree(d_y));
  CHECK(cudaFree(d_z));
  CHECK(cudaFree(d_nodelist));
  CHECK(cudaFree(d_size));
  return 0;
}
