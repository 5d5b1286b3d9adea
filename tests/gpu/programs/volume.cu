// Ray marching through a volume of lit, coloured voxels.
//
// A ray samples the nearest voxel at each step; most are empty, and only the
// others are shaded. A ray ends where it leaves the volume or is opaque. The
// argument is the side of the volume.
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

struct Voxel {
  float density;
  float r, g, b;
  float nx, ny, nz;
  float shine;
};

struct Camera {
  float3 eye, forward, right, up;
};

__global__ void render(const Voxel *voxels, int side, Camera camera, uchar4 *image, int width, int height) {
  int px = blockIdx.x * blockDim.x + threadIdx.x;
  int py = blockIdx.y * blockDim.y + threadIdx.y;
  if (px >= width || py >= height)
    return;
  float u = (px + 0.5f - width * 0.5f) / width, v = (py + 0.5f - height * 0.5f) / width;
  float3 d = camera.forward;
  d.x += u * camera.right.x + v * camera.up.x;
  d.y += u * camera.right.y + v * camera.up.y;
  d.z += u * camera.right.z + v * camera.up.z;
  float norm = rsqrtf(d.x * d.x + d.y * d.y + d.z * d.z);
  d.x *= norm;
  d.y *= norm;
  d.z *= norm;

  // Where the ray is within the volume, [0, side) in each direction.
  float3 o = camera.eye;
  float x0 = -o.x / d.x, x1 = (side - o.x) / d.x;
  float y0 = -o.y / d.y, y1 = (side - o.y) / d.y;
  float z0 = -o.z / d.z, z1 = (side - o.z) / d.z;
  float enter = fmaxf(fmaxf(fminf(x0, x1), fminf(y0, y1)), fmaxf(fminf(z0, z1), 0));
  float leave = fminf(fminf(fmaxf(x0, x1), fmaxf(y0, y1)), fmaxf(z0, z1));

  float red = 0, green = 0, blue = 0, through = 1;
  for (float t = enter + 0.5f; t < leave; t += 1) {
    int x = min(max((int)(o.x + t * d.x), 0), side - 1);
    int y = min(max((int)(o.y + t * d.y), 0), side - 1);
    int z = min(max((int)(o.z + t * d.z), 0), side - 1);
    const Voxel &voxel = voxels[((size_t)z * side + y) * side + x];
    if (voxel.density < 0.05f)
      continue;
    float facing = fabsf(voxel.nx * d.x + voxel.ny * d.y + voxel.nz * d.z); // a light at the eye
    float glint = facing * facing;
    glint = voxel.shine * glint * glint * glint;
    float alpha = 1 - expf(-voxel.density);
    float weight = through * alpha, light = 0.2f + 0.8f * facing;
    red += weight * (voxel.r * light + glint);
    green += weight * (voxel.g * light + glint);
    blue += weight * (voxel.b * light + glint);
    through *= 1 - alpha;
    if (through < 0.02f)
      break;
  }
  image[py * width + px] = make_uchar4(__saturatef(red) * 255, __saturatef(green) * 255, __saturatef(blue) * 255,
                                       255 - through * 255);
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int side = argc > 1 ? atoi(argv[1]) : 288;
  const int width = 1280, height = 960, balls = 40;
  size_t n = (size_t)side * side * side;
  std::vector<Voxel> voxels(n, Voxel{0, 0, 0, 0, 0, 0, 1, 0});
  for (size_t i = 0; i < n; ++i) // a thin haze that is not drawn
    voxels[i].density = (hash((unsigned)i) & 255) * 0.0001f;
  for (int k = 0; k < balls; ++k) { // clouds and solid balls
    unsigned h = hash(k), other = hash(h ^ 0x40000000);
    float radius = side * (0.03f + 0.07f * (h & 255) / 256);
    float cx = side * (h >> 8 & 255) / 256.0f, cy = side * (h >> 16 & 255) / 256.0f, cz = side * (h >> 24) / 256.0f;
    bool solid = k % 3 == 0;
    for (int z = std::max(0, (int)(cz - radius)); z < std::min(side, (int)(cz + radius)); ++z)
      for (int y = std::max(0, (int)(cy - radius)); y < std::min(side, (int)(cy + radius)); ++y)
        for (int x = std::max(0, (int)(cx - radius)); x < std::min(side, (int)(cx + radius)); ++x) {
          float dx = x - cx, dy = y - cy, dz = z - cz, distance = sqrtf(dx * dx + dy * dy + dz * dz);
          if (distance >= radius || distance == 0)
            continue;
          size_t i = ((size_t)z * side + y) * side + x;
          float noise = (hash((unsigned)i ^ 0x20000000) & 255) / 256.0f;
          voxels[i] = {solid ? 2 + noise : 0.3f * noise * (1 - distance / radius),
                       (other & 255) / 255.0f,
                       (other >> 8 & 255) / 255.0f,
                       (other >> 16 & 255) / 255.0f,
                       dx / distance,
                       dy / distance,
                       dz / distance,
                       solid ? 0.25f : 0};
        }
  }
  Voxel *d_voxels;
  CHECK(cudaMalloc(&d_voxels, n * sizeof(Voxel)));
  CHECK(cudaMemcpy(d_voxels, voxels.data(), n * sizeof(Voxel), cudaMemcpyHostToDevice));
  std::vector<uchar4> image(width * height);
  uchar4 *d_image;
  CHECK(cudaMalloc(&d_image, image.size() * sizeof(uchar4)));

  dim3 block(16, 16), blocks((width + 15) / 16, (height + 15) / 16);
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) { // a flight around the volume
    float angle = 0.4f + 0.01f * r, c = cosf(angle), s = sinf(angle), half = side * 0.5f;
    float3 eye = {half - 1.4f * side * c, half - 1.4f * side * s, half * 1.3f};
    Camera camera = {eye, {c, s, -0.1f}, {-s, c, 0}, {0, 0, -1}};
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    render<<<blocks, block>>>(d_voxels, side, camera, d_image, width, height);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  CHECK(cudaMemcpy(image.data(), d_image, image.size() * sizeof(uchar4), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const uchar4 &p : image)
    check = check * 31 + p.x + 3 * p.y + 5 * p.z + 7 * p.w;

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_voxels));
  CHECK(cudaFree(d_image));
}
