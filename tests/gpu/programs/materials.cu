// Shading of hits: a table of a few hundred materials, indexed by a small id.
//
// A material is 48 bytes and the whole table fits L1, but lanes ask for
// different materials. Hits are streamed, 12 bytes each.
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

struct Material {
  float diffuse[3], specular[3];
  float roughness, metallic, emission, opacity;
  int texture, flags;
};

struct Hit {
  float cosine, distance;
  int material;
};

__global__ void shade(const Hit *__restrict__ hits, const Material *__restrict__ materials, float *__restrict__ out,
                      int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  Hit h = hits[i];
  const Material &m = materials[h.material];
  float gloss = powf(h.cosine, 1.0f / (0.05f + m.roughness)) * m.metallic;
  float red = m.diffuse[0] * h.cosine + m.specular[0] * gloss;
  float green = m.diffuse[1] * h.cosine + m.specular[1] * gloss;
  float blue = m.diffuse[2] * h.cosine + m.specular[2] * gloss;
  out[i] = m.emission + (0.3f * red + 0.6f * green + 0.1f * blue) / (1 + h.distance);
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 24;
  int kinds = std::min(n, 300);
  std::vector<Material> materials(kinds);
  std::vector<Hit> hits(n);
  for (int k = 0; k < kinds; ++k) {
    unsigned h = hash(k);
    float a = (h & 255) / 255.0f, b = (h >> 8 & 255) / 255.0f, c = (h >> 16 & 255) / 255.0f;
    materials[k] = {{a, b, c}, {c, a, b}, b, c, a, 1, k, 0};
  }
  for (int i = 0; i < n; ++i) {
    unsigned h = hash(i);
    hits[i] = {(1 + (h & 255)) / 256.0f, (h >> 8 & 255) / 16.0f, (int)((h >> 16) % kinds)};
  }
  Material *d_materials;
  CHECK(cudaMalloc(&d_materials, kinds * sizeof(Material)));
  CHECK(cudaMemcpy(d_materials, materials.data(), kinds * sizeof(Material), cudaMemcpyHostToDevice));
  Hit *d_hits;
  CHECK(cudaMalloc(&d_hits, n * sizeof(Hit)));
  CHECK(cudaMemcpy(d_hits, hits.data(), n * sizeof(Hit), cudaMemcpyHostToDevice));
  float *d_out;
  CHECK(cudaMalloc(&d_out, n * sizeof(float)));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    shade<<<(n + 255) / 256, 256>>>(d_hits, d_materials, d_out, n);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  std::vector<float> out(n);
  CHECK(cudaMemcpy(out.data(), d_out, n * sizeof(float), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (float v : out)
    check = check * 31 + llround(v * 100.0);

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_materials));
  CHECK(cudaFree(d_hits));
  CHECK(cudaFree(d_out));
}
