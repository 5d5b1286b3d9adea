// Volumes and quality of a tetrahedral mesh: each element looks up four
// vertices, two fields of the element's twelve are stored.
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

struct Vertex {
  float x, y, z;
};

struct Tetrahedron {
  int corner[4];
  int neighbour[4];
  float volume, quality;
  int region, flags;
};

__global__ void measure(Tetrahedron *t, const Vertex *__restrict__ v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  Vertex a = v[t[i].corner[0]], b = v[t[i].corner[1]], c = v[t[i].corner[2]], d = v[t[i].corner[3]];
  float ux = b.x - a.x, uy = b.y - a.y, uz = b.z - a.z;
  float vx = c.x - a.x, vy = c.y - a.y, vz = c.z - a.z;
  float wx = d.x - a.x, wy = d.y - a.y, wz = d.z - a.z;
  float volume = (ux * (vy * wz - vz * wy) + uy * (vz * wx - vx * wz) + uz * (vx * wy - vy * wx)) / 6;
  float edges = ux * ux + uy * uy + uz * uz + vx * vx + vy * vy + vz * vz + wx * wx + wy * wy + wz * wz;
  t[i].volume = volume;
  t[i].quality = volume / (edges * sqrtf(edges));
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 3 << 21;
  int side = std::max(3, (int)cbrt(n / 5.0)), count = side * side * side;
  std::vector<Vertex> vertices(count);
  std::vector<Tetrahedron> mesh(n);
  for (int i = 0; i < count; ++i) {
    unsigned h = hash(i);
    vertices[i] = {i % side + (h & 63) / 256.0f, i / side % side + (h >> 6 & 63) / 256.0f,
                   i / side / side + (h >> 12 & 63) / 256.0f};
  }
  for (int i = 0; i < n; ++i) { // five in a cube
    int a = i / 5 % (count - side * side - side - 1), k = i % 5;
    int steps[] = {1, side, side * side, side + 1, side * side + side};
    mesh[i] = {{a, a + steps[k], a + steps[(k + 1) % 5], a + steps[(k + 2) % 5]},
               {i - 1, i + 1, i - 5, i + 5},
               0,
               0,
               i / 1000,
               0};
  }
  Vertex *d_vertices;
  CHECK(cudaMalloc(&d_vertices, count * sizeof(Vertex)));
  CHECK(cudaMemcpy(d_vertices, vertices.data(), count * sizeof(Vertex), cudaMemcpyHostToDevice));
  Tetrahedron *d_mesh;
  CHECK(cudaMalloc(&d_mesh, n * sizeof(Tetrahedron)));
  CHECK(cudaMemcpy(d_mesh, mesh.data(), n * sizeof(Tetrahedron), cudaMemcpyHostToDevice));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    measure<<<(n + 255) / 256, 256>>>(d_mesh, d_vertices, n);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  CHECK(cudaMemcpy(mesh.data(), d_mesh, n * sizeof(Tetrahedron), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Tetrahedron &t : mesh)
    check = check * 31 + llround(t.volume * 1e3) + 3 * llround(t.quality * 1e3) + t.region;

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_vertices));
  CHECK(cudaFree(d_mesh));
}
