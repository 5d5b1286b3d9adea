// A terrain mesh sampled at a random point of every triangle, then lit.
//
// The triangles follow the rows of the terrain. A sample blends position,
// colour and normal of three vertices by barycentric coordinates, and stands
// for its triangle's area. The argument is the vertices along a side.
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
  float r, g, b;
  float nx, ny, nz;
};

struct Triangle {
  int i0, i1, i2;
  float area;
};

struct Sample {
  float x, y, z;
  float r, g, b;
  float nx, ny, nz;
  float weight;
};

// Pseudo-random bits for a counter.
__host__ __device__ unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

__device__ float blend(float a, float b, float c, float u, float v) { return a + u * (b - a) + v * (c - a); }

__global__ void sampleSurface(const Triangle *triangles, const Vertex *vertices, Sample *samples, int count,
                              unsigned seed) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= count)
    return;
  unsigned h = hash(t + seed);
  float u = (h & 0xffff) / 65536.0f, v = (h >> 16) / 65536.0f;
  if (u + v > 1) {
    u = 1 - u;
    v = 1 - v;
  }
  Triangle triangle = triangles[t];
  const Vertex &a = vertices[triangle.i0];
  const Vertex &b = vertices[triangle.i1];
  const Vertex &c = vertices[triangle.i2];
  Sample &s = samples[t];
  s.x = blend(a.x, b.x, c.x, u, v);
  s.y = blend(a.y, b.y, c.y, u, v);
  s.z = blend(a.z, b.z, c.z, u, v);
  s.r = blend(a.r, b.r, c.r, u, v);
  s.g = blend(a.g, b.g, c.g, u, v);
  s.b = blend(a.b, b.b, c.b, u, v);
  float nx = blend(a.nx, b.nx, c.nx, u, v), ny = blend(a.ny, b.ny, c.ny, u, v), nz = blend(a.nz, b.nz, c.nz, u, v);
  float scale = rnorm3df(nx, ny, nz);
  s.nx = nx * scale;
  s.ny = ny * scale;
  s.nz = nz * scale;
  s.weight = triangle.area;
}

__global__ void light(Sample *samples, int count, float lx, float ly, float lz) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count)
    return;
  Sample &s = samples[i];
  float cosine = fmaf(s.nx, lx, fmaf(s.ny, ly, s.nz * lz));
  float shade = 0.2f + 0.8f * fmaxf(cosine, 0);
  s.r *= shade;
  s.g *= shade;
  s.b *= shade;
}

int main(int argc, char **argv) {
  int side = argc > 1 ? atoi(argv[1]) : 1600;
  int count = 2 * (side - 1) * (side - 1);
  size_t n = (size_t)side * side;
  std::vector<Vertex> vertices(n);
  for (int j = 0; j < side; ++j)
    for (int i = 0; i < side; ++i) {
      float z = 2 * sinf(i * 0.05f) * cosf(j * 0.03f);
      float dx = 0.1f * cosf(i * 0.05f) * cosf(j * 0.03f), dy = -0.06f * sinf(i * 0.05f) * sinf(j * 0.03f);
      float length = sqrtf(dx * dx + dy * dy + 1);
      unsigned h = hash(j * side + i);
      vertices[(size_t)j * side + i] = {(float)i, (float)j, z, (h & 255) / 255.0f, (h >> 8 & 255) / 255.0f,
                                        (h >> 16 & 255) / 255.0f, -dx / length, -dy / length, 1 / length};
    }
  std::vector<Triangle> triangles;
  triangles.reserve(count);
  for (int j = 0; j + 1 < side; ++j)
    for (int i = 0; i + 1 < side; ++i) {
      int v = j * side + i;
      float area = 0.5f / vertices[v].nz;
      triangles.push_back({v, v + 1, v + side, area});
      triangles.push_back({v + 1, v + side + 1, v + side, area});
    }

  Vertex *d_vertices;
  CHECK(cudaMalloc(&d_vertices, n * sizeof(Vertex)));
  CHECK(cudaMemcpy(d_vertices, vertices.data(), n * sizeof(Vertex), cudaMemcpyHostToDevice));
  Triangle *d_triangles;
  CHECK(cudaMalloc(&d_triangles, count * sizeof(Triangle)));
  CHECK(cudaMemcpy(d_triangles, triangles.data(), count * sizeof(Triangle), cudaMemcpyHostToDevice));
  Sample *d_samples;
  CHECK(cudaMalloc(&d_samples, count * sizeof(Sample)));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    sampleSurface<<<(count + 255) / 256, 256>>>(d_triangles, d_vertices, d_samples, count, r * 0x9e3779b9u);
    light<<<(count + 255) / 256, 256>>>(d_samples, count, 0.48f, 0.36f, 0.8f);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  std::vector<Sample> samples(count);
  CHECK(cudaMemcpy(samples.data(), d_samples, count * sizeof(Sample), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Sample &s : samples)
    check = check * 31 + llround(s.x * 10) + 3 * llround(s.y * 10) + 5 * llround(s.z * 1e2) + 7 * llround(s.r * 1e3) +
            11 * llround(s.g * 1e3) + 13 * llround(s.b * 1e3) + 17 * llround(s.weight * 1e3);

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_vertices));
  CHECK(cudaFree(d_triangles));
  CHECK(cudaFree(d_samples));
}
