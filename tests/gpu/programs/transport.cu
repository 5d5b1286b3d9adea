// Monte Carlo transport of photons through slabs of tissue.
//
// Whole records, once before and once after a loop of as many turns as the
// photon lives; a table of slabs that fits L1, at a different slab per lane.
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

struct Photon {
  float x, y, z;
  float ux, uy, uz;
  float weight;
  int layer;
  unsigned rng;
};

struct Tissue {
  float absorption, scattering, anisotropy;
  float top, bottom;
};

// The next number above 0, to 1.
__device__ float uniform(unsigned &state) {
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return ((state >> 8) + 1) * (1.0f / (1 << 24));
}

// A narrow beam into the top slab.
__global__ void emit(Photon *photons, int n, float radius) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  unsigned rng = photons[i].rng;
  photons[i].x = radius * (uniform(rng) - 0.5f);
  photons[i].y = radius * (uniform(rng) - 0.5f);
  photons[i].z = 0;
  photons[i].ux = 0;
  photons[i].uy = 0;
  photons[i].uz = 1;
  photons[i].weight = 1;
  photons[i].layer = 0;
  photons[i].rng = rng;
}

// Follows each photon until it leaves or next to nothing is left of it.
__global__ void propagate(Photon *photons, const Tissue *tissues, int layers, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  Photon p = photons[i];
  for (int turn = 0; turn < 1000 && p.weight > 0.02f; ++turn) {
    const Tissue &t = tissues[p.layer];
    float extinction = t.absorption + t.scattering;
    float path = -logf(uniform(p.rng)) / extinction;
    float z = fmaf(path, p.uz, p.z);
    int crossed = z > t.bottom ? 1 : z < t.top ? -1 : 0;
    if (crossed) { // go on from the boundary, with a path of the next slab's
      float boundary = crossed > 0 ? t.bottom : t.top;
      path = (boundary - p.z) / p.uz;
      z = boundary;
    }
    p.x = fmaf(path, p.ux, p.x);
    p.y = fmaf(path, p.uy, p.y);
    p.z = z;
    if (crossed) {
      p.layer += crossed;
      if (p.layer < 0 || p.layer >= layers)
        break;
      continue;
    }
    p.weight *= t.scattering / extinction;

    // A new direction (Henyey and Greenstein).
    float g = t.anisotropy;
    float f = (1 - g * g) / (1 - g + 2 * g * uniform(p.rng));
    float cosine = fminf(1.0f, fmaxf(-1.0f, (1 + g * g - f * f) / (2 * g)));
    float sine = sqrtf(1 - cosine * cosine);
    float angle = 6.2831853f * uniform(p.rng);
    float a = sine * cosf(angle), b = sine * sinf(angle);
    float ux = p.ux, uy = p.uy, uz = p.uz;
    if (fabsf(uz) > 0.9999f) {
      p.ux = a;
      p.uy = b;
      p.uz = uz > 0 ? cosine : -cosine;
    } else {
      float s = sqrtf(1 - uz * uz);
      p.ux = (a * ux * uz - b * uy) / s + ux * cosine;
      p.uy = (a * uy * uz + b * ux) / s + uy * cosine;
      p.uz = -a * s + uz * cosine;
    }
  }
  photons[i] = p;
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 21;
  std::vector<Photon> photons(n);
  for (int i = 0; i < n; ++i)
    photons[i] = {0, 0, 0, 0, 0, 1, 0, 0, hash(i) | 1};
  const int layers = 5; // skin, roughly: mm and 1/mm
  std::vector<Tissue> tissues = {{1.0f, 9.0f, 0.8f, 0.0f, 0.1f},
                                 {0.3f, 10.0f, 0.75f, 0.1f, 0.3f},
                                 {0.7f, 12.0f, 0.8f, 0.3f, 0.5f},
                                 {0.4f, 8.0f, 0.85f, 0.5f, 2.0f},
                                 {0.2f, 5.0f, 0.9f, 2.0f, 6.0f}};
  Photon *d_photons;
  CHECK(cudaMalloc(&d_photons, n * sizeof(Photon)));
  CHECK(cudaMemcpy(d_photons, photons.data(), n * sizeof(Photon), cudaMemcpyHostToDevice));
  Tissue *d_tissues;
  CHECK(cudaMalloc(&d_tissues, layers * sizeof(Tissue)));
  CHECK(cudaMemcpy(d_tissues, tissues.data(), layers * sizeof(Tissue), cudaMemcpyHostToDevice));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    emit<<<(n + 255) / 256, 256>>>(d_photons, n, 0.25f);
    propagate<<<(n + 127) / 128, 128>>>(d_photons, d_tissues, layers, n);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  CHECK(cudaMemcpy(photons.data(), d_photons, n * sizeof(Photon), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Photon &p : photons)
    check = check * 31 + llround(p.x * 4) + 3 * llround(p.y * 4) + 5 * llround(p.z * 8) + 7 * llround(p.uz * 4) +
            11 * llround(p.weight * 64) + p.layer;

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_photons));
  CHECK(cudaFree(d_tissues));
}
