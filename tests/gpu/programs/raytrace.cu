// Rays against all spheres of a small scene: the loop reads four of a sphere's
// eight words, the same for all lanes; the sphere hit gives the colour.
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

struct Ray {
  float ox, oy, oz;
  float dx, dy, dz;
  float t;
  int hit;
};

struct Sphere {
  float x, y, z, r;
  float cr, cg, cb;
  int material;
};

struct Pixel {
  float r, g, b;
};

__global__ void trace(Ray *rays, const Sphere *__restrict__ spheres, Pixel *image, int n, int count, float farthest) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float ox = rays[i].ox, oy = rays[i].oy, oz = rays[i].oz;
  float dx = rays[i].dx, dy = rays[i].dy, dz = rays[i].dz;
  float nearest = farthest;
  int hit = -1;
  for (int k = 0; k < count; ++k) {
    float px = spheres[k].x - ox, py = spheres[k].y - oy, pz = spheres[k].z - oz;
    float along = px * dx + py * dy + pz * dz;
    float gap = spheres[k].r * spheres[k].r - (px * px + py * py + pz * pz - along * along);
    if (gap > 0) {
      float t = along - sqrtf(gap);
      if (t > 0.001f && t < nearest) {
        nearest = t;
        hit = k;
      }
    }
  }
  rays[i].t = nearest;
  rays[i].hit = hit;

  float red = 0.25f, green = 0.375f, blue = 0.5f + 0.5f * dy; // the sky
  if (hit >= 0) {
    const Sphere &s = spheres[hit];
    float nx = (ox + nearest * dx - s.x) / s.r;
    float ny = (oy + nearest * dy - s.y) / s.r;
    float nz = (oz + nearest * dz - s.z) / s.r;
    float light = fmaxf(0.0f, 0.6f * ny - 0.8f * nz) + 0.125f;
    if (s.material == 1) { // shiny
      float facing = fmaxf(0.0f, -(nx * dx + ny * dy + nz * dz));
      light += facing * facing * facing * facing;
    }
    red = light * s.cr;
    green = light * s.cg;
    blue = light * s.cb;
  }
  image[i].r = red;
  image[i].g = green;
  image[i].b = blue;
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 3 << 20;
  const int count = 300, width = 2048;
  int height = (n + width - 1) / width;
  std::vector<Sphere> spheres(count);
  for (int k = 0; k < count; ++k) {
    unsigned h = hash(2 * k), g = hash(2 * k + 1);
    spheres[k] = {(h & 255) / 8.0f - 16,
                  (h >> 8 & 255) / 8.0f - 16,
                  (h >> 16 & 255) / 4.0f + 16,
                  (h >> 24 & 7) / 4.0f + 0.5f,
                  (g & 15) / 15.0f,
                  (g >> 4 & 15) / 15.0f,
                  (g >> 8 & 15) / 15.0f,
                  (int)(g >> 12 & 1)};
  }
  std::vector<Ray> rays(n);
  for (int i = 0; i < n; ++i) { // a camera with a lens of some size
    unsigned h = hash(i);
    float x = (i % width + 0.5f) / width - 0.5f, y = (i / width + 0.5f) / height - 0.5f;
    float length = sqrtf(x * x + y * y + 1);
    rays[i] = {(h & 15) / 64.0f, (h >> 4 & 15) / 64.0f, 0, x / length, y / length, 1 / length, 0, -1};
  }
  Ray *d_rays;
  CHECK(cudaMalloc(&d_rays, n * sizeof(Ray)));
  CHECK(cudaMemcpy(d_rays, rays.data(), n * sizeof(Ray), cudaMemcpyHostToDevice));
  Sphere *d_spheres;
  CHECK(cudaMalloc(&d_spheres, count * sizeof(Sphere)));
  CHECK(cudaMemcpy(d_spheres, spheres.data(), count * sizeof(Sphere), cudaMemcpyHostToDevice));
  Pixel *d_image;
  CHECK(cudaMalloc(&d_image, n * sizeof(Pixel)));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    trace<<<(n + 127) / 128, 128>>>(d_rays, d_spheres, d_image, n, count, 1000.0f);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  CHECK(cudaMemcpy(rays.data(), d_rays, n * sizeof(Ray), cudaMemcpyDeviceToHost));
  std::vector<Pixel> image(n);
  CHECK(cudaMemcpy(image.data(), d_image, n * sizeof(Pixel), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Ray &ray : rays)
    check = check * 31 + llround(ray.t * 10) + 3 * ray.hit;
  for (const Pixel &p : image)
    check = check * 31 + llround(p.r * 50) + 3 * llround(p.g * 50) + 5 * llround(p.b * 50);

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_rays));
  CHECK(cudaFree(d_spheres));
  CHECK(cudaFree(d_image));
}
