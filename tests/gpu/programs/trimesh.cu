// Triangle normals and areas of a height-field mesh, then Laplacian smoothing
// of the vertices over a table of up to six neighbours.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <cuda_runtime.h>

constexpr int MAX_NEIGHBOURS = 6;

struct Vertex {
  float pos[3];
  float u, v;
  int pinned;
};

struct Triangle {
  int v[3];
  float normal[3];
  float area;
};

static void die(const char *msg, cudaError_t e) {
  fprintf(stderr, "%s: %s\n", msg, cudaGetErrorString(e));
  exit(1);
}
#define SAFE(call) { cudaError_t e__ = call; if (e__ != cudaSuccess) die(#call, e__); }

__device__ float3 edge(const Vertex &from, const Vertex &to) {
  return make_float3(to.pos[0] - from.pos[0], to.pos[1] - from.pos[1], to.pos[2] - from.pos[2]);
}

__device__ float3 cross(float3 a, float3 b) {
  return make_float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

__global__ void triangleGeometry(Triangle *tris, const Vertex *verts, int numTris) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t < numTris) {
    Triangle &tri = tris[t];
    const Vertex &a = verts[tri.v[0]];
    const Vertex &b = verts[tri.v[1]];
    const Vertex &c = verts[tri.v[2]];
    float3 n = cross(edge(a, b), edge(a, c));
    float len = sqrtf(n.x * n.x + n.y * n.y + n.z * n.z);
    float inv = len > 0.0f ? 1.0f / len : 0.0f;
    tri.normal[0] = n.x * inv;
    tri.normal[1] = n.y * inv;
    tri.normal[2] = n.z * inv;
    tri.area = 0.5f * len;
  }
}

__global__ void smoothVertices(const Vertex *__restrict__ in, Vertex *__restrict__ out,
                               const int *__restrict__ neighbours, int numVerts, float lambda) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < numVerts; i += gridDim.x * blockDim.x) {
    Vertex me = in[i];
    if (!me.pinned) {
      float sum[3] = {0.0f, 0.0f, 0.0f};
      int count = 0;
      for (int k = 0; k < MAX_NEIGHBOURS; k++) {
        int j = neighbours[i * MAX_NEIGHBOURS + k];
        if (j < 0) continue;
        for (int c = 0; c < 3; c++) sum[c] += in[j].pos[c];
        count++;
      }
      if (count > 0)
        for (int c = 0; c < 3; c++) me.pos[c] += lambda * (sum[c] / count - me.pos[c]);
    }
    out[i] = me;
  }
}

static inline uint32_t scramble(uint32_t x) {
  x = (x ^ 61u) ^ (x >> 16);
  x *= 9u;
  x ^= x >> 4;
  x *= 0x27d4eb2du;
  return x ^ (x >> 15);
}

int main(int argc, char **argv) {
  long want = argc > 1 ? atol(argv[1]) : 4500000;       // triangles
  int side = (int)std::sqrt(want / 2.0) + 1;
  if (side < 16) side = 16;
  const int numVerts = side * side, numTris = 2 * (side - 1) * (side - 1);
  const int steps = 30;

  std::unique_ptr<Vertex[]> verts(new Vertex[numVerts]);
  std::unique_ptr<Triangle[]> tris(new Triangle[numTris]);
  std::unique_ptr<int[]> nbr(new int[(size_t)numVerts * MAX_NEIGHBOURS]);
  const int ox[MAX_NEIGHBOURS] = {-1, 1, 0, 0, -1, 1}, oy[MAX_NEIGHBOURS] = {0, 0, -1, 1, 1, -1};
  for (int y = 0; y < side; y++)
    for (int x = 0; x < side; x++) {
      int i = y * side + x;
      uint32_t h = scramble((uint32_t)i);
      verts[i].u = (float)x / side;
      verts[i].v = (float)y / side;
      verts[i].pos[0] = verts[i].u * 8.0f + ((h & 255) - 127.5f) * 1e-5f;
      verts[i].pos[1] = verts[i].v * 8.0f + (((h >> 8) & 255) - 127.5f) * 1e-5f;
      verts[i].pos[2] = 0.5f * std::sin(7.0f * verts[i].u) + ((h >> 16) & 255) * 1e-5f;
      verts[i].pinned = x == 0 || y == 0 || x == side - 1 || y == side - 1 || (h >> 24) == 0;
      for (int k = 0; k < MAX_NEIGHBOURS; k++) {
        int xx = x + ox[k], yy = y + oy[k];
        bool ok = xx >= 0 && xx < side && yy >= 0 && yy < side;
        nbr[(size_t)i * MAX_NEIGHBOURS + k] = ok ? yy * side + xx : -1;
      }
    }
  int t = 0;
  for (int y = 0; y + 1 < side; y++)
    for (int x = 0; x + 1 < side; x++) {
      int a = y * side + x, b = a + 1, c = a + side, d = c + 1;
      tris[t++] = Triangle{{a, b, c}, {0, 0, 0}, 0};
      tris[t++] = Triangle{{b, d, c}, {0, 0, 0}, 0};
    }

  Vertex *dVerts, *dNext;
  Triangle *dTris;
  int *dNbr;
  SAFE(cudaMalloc(&dVerts, sizeof(Vertex) * numVerts));
  SAFE(cudaMalloc(&dNext, sizeof(Vertex) * numVerts));
  SAFE(cudaMalloc(&dTris, sizeof(Triangle) * numTris));
  SAFE(cudaMalloc(&dNbr, sizeof(int) * (size_t)numVerts * MAX_NEIGHBOURS));
  SAFE(cudaMemcpy(dVerts, verts.get(), sizeof(Vertex) * numVerts, cudaMemcpyHostToDevice));
  SAFE(cudaMemcpy(dTris, tris.get(), sizeof(Triangle) * numTris, cudaMemcpyHostToDevice));
  SAFE(cudaMemcpy(dNbr, nbr.get(), sizeof(int) * (size_t)numVerts * MAX_NEIGHBOURS, cudaMemcpyHostToDevice));

  auto step = [&]() {
    triangleGeometry<<<(numTris + 255) / 256, 256>>>(dTris, dVerts, numTris);
    smoothVertices<<<1056, 256>>>(dVerts, dNext, dNbr, numVerts, 0.4f);
    std::swap(dVerts, dNext);
  };
  step();
  SAFE(cudaDeviceSynchronize());
  cudaEvent_t start, stop;
  SAFE(cudaEventCreate(&start));
  SAFE(cudaEventCreate(&stop));
  SAFE(cudaEventRecord(start));
  for (int s = 0; s < steps; s++) step();
  SAFE(cudaEventRecord(stop));
  SAFE(cudaEventSynchronize(stop));
  SAFE(cudaGetLastError());
  float ms = 0;
  SAFE(cudaEventElapsedTime(&ms, start, stop));

  SAFE(cudaMemcpy(verts.get(), dVerts, sizeof(Vertex) * numVerts, cudaMemcpyDeviceToHost));
  SAFE(cudaMemcpy(tris.get(), dTris, sizeof(Triangle) * numTris, cudaMemcpyDeviceToHost));
  long long sum = 0;
  uint32_t ids = 0;
  for (int i = 0; i < numVerts; i++) {
    for (int c = 0; c < 3; c++) sum += (1 + i % 3) * llround(verts[i].pos[c] * 16);
    sum += llround(verts[i].u * 16) + llround(verts[i].v * 16);
    ids = ids * 31u + (uint32_t)verts[i].pinned;
  }
  double cellArea = 64.0 / side / side;
  for (int i = 0; i < numTris; i++) {
    for (int c = 0; c < 3; c++) {
      sum += (1 + i % 5) * llround(tris[i].normal[c] * 4);
      ids = ids * 31u + (uint32_t)tris[i].v[c];
    }
    sum += (1 + i % 5) * llround(tris[i].area / cellArea * 4);
  }
  printf("time_ms %f\n", ms / steps);
  printf("check %lld_%u\n", llround(sum / 20000.0), ids);
  cudaFree(dVerts);
  cudaFree(dNext);
  cudaFree(dTris);
  cudaFree(dNbr);
  return 0;
}
