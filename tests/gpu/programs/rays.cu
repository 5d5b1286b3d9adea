// Rays against axis-aligned boxes that slide through the scene.
//
// All threads read the same box at a time, in a loop over all of them. Of a
// ray the origin and direction are read, and only distance and hit are stored.
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

struct Box {
  float minX, minY, minZ;
  float maxX, maxY, maxZ;
  int id;
  int flags;
};

struct Ray {
  float ox, oy, oz;
  float dx, dy, dz;
  float t;
  int hit;
};

const int BOXES = 512;
const int HIDDEN = 1;
const int SLIDES_X = 2;
const int SLIDES_Y = 4;
const float WORLD = 64; // the boxes stay between -WORLD and WORLD
const float FAR = 1000; // the distance where rays end

// Moves the sliding boxes; one that leaves the world comes back on the other side.
__global__ void slide(Box *boxes, float by) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= BOXES)
    return;
  if (boxes[i].flags & SLIDES_X) {
    float shift = boxes[i].maxX + by > WORLD ? -WORLD - boxes[i].minX : by;
    boxes[i].minX += shift;
    boxes[i].maxX += shift;
  }
  if (boxes[i].flags & SLIDES_Y) {
    float shift = boxes[i].maxY + by > WORLD ? -WORLD - boxes[i].minY : by;
    boxes[i].minY += shift;
    boxes[i].maxY += shift;
  }
}

// Where a ray enters the box, or FAR if it does not.
__device__ float enter(const Box &b, float ox, float oy, float oz, float ix, float iy, float iz) {
  float x0 = (b.minX - ox) * ix, x1 = (b.maxX - ox) * ix;
  float y0 = (b.minY - oy) * iy, y1 = (b.maxY - oy) * iy;
  float z0 = (b.minZ - oz) * iz, z1 = (b.maxZ - oz) * iz;
  float near = fmaxf(fmaxf(fminf(x0, x1), fminf(y0, y1)), fmaxf(fminf(z0, z1), 0.0f));
  float far = fminf(fminf(fmaxf(x0, x1), fmaxf(y0, y1)), fmaxf(z0, z1));
  return near <= far ? near : FAR;
}

__global__ void trace(Ray *rays, const Box *boxes, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float ox = rays[i].ox, oy = rays[i].oy, oz = rays[i].oz;
  float ix = 1.0f / rays[i].dx, iy = 1.0f / rays[i].dy, iz = 1.0f / rays[i].dz;
  float nearest = FAR;
  int hit = -1;
  for (int k = 0; k < BOXES; ++k) {
    if (boxes[k].flags & HIDDEN)
      continue;
    float t = enter(boxes[k], ox, oy, oz, ix, iy, iz);
    if (t < nearest) {
      nearest = t;
      hit = boxes[k].id;
    }
  }
  rays[i].t = nearest;
  rays[i].hit = hit;
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 20;
  std::vector<Ray> rays(n);
  for (int i = 0; i < n; ++i) { // a jittered image, 1024 wide, seen from around the origin
    unsigned h = hash(i);
    float x = (i % 1024 - 512 + (h & 127) / 128.0f + 1.0f / 256) / 512;
    float y = (i / 1024 % 1024 - 512 + (h >> 7 & 127) / 128.0f + 1.0f / 256) / 512;
    float length = std::sqrt(x * x + y * y + 1); // no direction has a zero in it
    rays[i] = {(h >> 14 & 63) / 256.0f,
               (h >> 20 & 63) / 256.0f,
               (h >> 26 & 63) / -256.0f,
               x / length,
               y / length,
               1 / length,
               0,
               -1};
  }
  std::vector<Box> boxes(BOXES);
  for (int k = 0; k < BOXES; ++k) { // all coordinates are multiples of 1 / 8
    unsigned h = hash(k + 0x10000000), g = hash(h);
    float x = (int)(h % 960) / 8.0f - WORLD, y = (int)((h >> 10) % 960) / 8.0f - WORLD;
    float z = 8 + (h >> 20 & 511) / 8.0f;
    float wide = (8 + (g & 31)) / 8.0f, high = (8 + (g >> 5 & 31)) / 8.0f, deep = (8 + (g >> 10 & 31)) / 8.0f;
    int flags = (g >> 15 & 7) == 0 ? HIDDEN : 0;
    flags |= (g >> 18 & 1 ? SLIDES_X : 0) | (g >> 19 & 1 ? SLIDES_Y : 0);
    boxes[k] = {x, y, z, x + wide, y + high, z + deep, 100 + k, flags};
  }
  Ray *d_rays;
  CHECK(cudaMalloc(&d_rays, n * sizeof(Ray)));
  CHECK(cudaMemcpy(d_rays, rays.data(), n * sizeof(Ray), cudaMemcpyHostToDevice));
  Box *d_boxes;
  CHECK(cudaMalloc(&d_boxes, BOXES * sizeof(Box)));
  CHECK(cudaMemcpy(d_boxes, boxes.data(), BOXES * sizeof(Box), cudaMemcpyHostToDevice));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    slide<<<(BOXES + 127) / 128, 128>>>(d_boxes, 0.125f);
    trace<<<(n + 255) / 256, 256>>>(d_rays, d_boxes, n);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  CHECK(cudaMemcpy(rays.data(), d_rays, n * sizeof(Ray), cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(boxes.data(), d_boxes, BOXES * sizeof(Box), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Ray &ray : rays)
    check = check * 31 + llround(ray.t * 1e2) + 3 * ray.hit;
  for (const Box &b : boxes)
    check = check * 31 + llround(b.minX * 8) + 3 * llround(b.maxY * 8);

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_rays));
  CHECK(cudaFree(d_boxes));
}
