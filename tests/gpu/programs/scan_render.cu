// Renders a medical scan: rays march through the volume, density is
// interpolated between eight voxels, shading uses the nearest one's gradient.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

inline void cudaCheck(cudaError_t code, const char *what) {
  if (code != cudaSuccess) {
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(code));
    exit(1);
  }
}

struct Voxel {
  float density;
  float3 gradient;
  unsigned char r, g, b, tissue;
};

struct Fragment {
  float3 color;
  float alpha;
  float depth;
  int samples;
};

struct Camera {
  float3 eye, forward, right, up;
  float fov;
  Camera(float angle, float distance, float3 target, float fov_) : fov(fov_) {
    float c = cosf(angle), s = sinf(angle);
    eye = make_float3(target.x - distance * c, target.y - distance * s, target.z);
    forward = make_float3(c, s, 0.0f);
    right = make_float3(-s, c, 0.0f);
    up = make_float3(0.0f, 0.0f, 1.0f);
  }
};

struct RenderSetup {
  Camera camera;
  struct Volume {
    int nx, ny, nz;
    size_t slice;
    float3 lower;
    float3 inverseSpacing;
  } volume;
  struct Image {
    int width, height;
  } image;
  float stepLength, farPlane, threshold, opaque;

  RenderSetup(int side, int pixels, float angle)
      : camera(angle, 1.6f, make_float3(0.0f, 0.0f, 0.0f), 0.9f),
        volume{side, side, side, (size_t)side * side, make_float3(-0.5f, -0.5f, -0.5f),
               make_float3(side - 1.0f, side - 1.0f, side - 1.0f)},
        image{pixels, pixels}, stepLength(0.7f / side), farPlane(2.6f), threshold(0.35f), opaque(0.97f) {}
};

__device__ bool clipBox(float3 o, float3 d, float &t0, float &t1) {
  float ax = (-0.4999f - o.x) / d.x, bx = (0.4999f - o.x) / d.x;
  float ay = (-0.4999f - o.y) / d.y, by = (0.4999f - o.y) / d.y;
  float az = (-0.4999f - o.z) / d.z, bz = (0.4999f - o.z) / d.z;
  t0 = fmaxf(t0, fmaxf(fminf(ax, bx), fmaxf(fminf(ay, by), fminf(az, bz))));
  t1 = fminf(t1, fminf(fmaxf(ax, bx), fminf(fmaxf(ay, by), fmaxf(az, bz))));
  return t0 < t1;
}

__global__ void render(const Voxel *voxels, Fragment *fragments, const RenderSetup setup) {
  int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
  if (px >= setup.image.width || py >= setup.image.height) return;
  float u = ((px + 0.5f) / setup.image.width - 0.5f) * setup.camera.fov;
  float v = ((py + 0.5f) / setup.image.height - 0.5f) * setup.camera.fov;
  const Camera &cam = setup.camera;
  float3 d = make_float3(cam.forward.x + u * cam.right.x + v * cam.up.x, cam.forward.y + u * cam.right.y + v * cam.up.y,
                         cam.forward.z + u * cam.right.z + v * cam.up.z);
  float inv = rsqrtf(d.x * d.x + d.y * d.y + d.z * d.z);
  d.x = d.x * inv + 1e-7f; d.y = d.y * inv + 1e-7f; d.z = d.z * inv + 1e-7f;

  Fragment out = {};
  out.depth = setup.farPlane;
  float t0 = 0.0f, t1 = setup.farPlane;
  if (clipBox(cam.eye, d, t0, t1)) {
    for (float t = t0; t < t1 && out.alpha < setup.opaque; t += setup.stepLength) {
      float gx = (cam.eye.x + t * d.x - setup.volume.lower.x) * setup.volume.inverseSpacing.x;
      float gy = (cam.eye.y + t * d.y - setup.volume.lower.y) * setup.volume.inverseSpacing.y;
      float gz = (cam.eye.z + t * d.z - setup.volume.lower.z) * setup.volume.inverseSpacing.z;
      int ix = min(max((int)gx, 0), setup.volume.nx - 2);
      int iy = min(max((int)gy, 0), setup.volume.ny - 2);
      int iz = min(max((int)gz, 0), setup.volume.nz - 2);
      float fx = gx - ix, fy = gy - iy, fz = gz - iz;
      size_t base = iz * setup.volume.slice + (size_t)iy * setup.volume.nx + ix;
      const Voxel *lo = voxels + base, *hi = lo + setup.volume.slice;
      int row = setup.volume.nx;
      float a = lo[0].density + fx * (lo[1].density - lo[0].density);
      float b = lo[row].density + fx * (lo[row + 1].density - lo[row].density);
      float c = hi[0].density + fx * (hi[1].density - hi[0].density);
      float e = hi[row].density + fx * (hi[row + 1].density - hi[row].density);
      float near = a + fy * (b - a), far = c + fy * (e - c);
      float density = near + fz * (far - near);
      out.samples++;
      if (density < setup.threshold) continue;
      const Voxel &nearest = voxels[base + (fx > 0.5f) + (fy > 0.5f ? row : 0) + (fz > 0.5f ? setup.volume.slice : 0)];
      float3 n = nearest.gradient;
      float light = 0.3f + 0.7f * fabsf(n.x * d.x + n.y * d.y + n.z * d.z);
      float weight = (1.0f - out.alpha) * 0.08f * (density - setup.threshold);
      out.color.x += weight * light * nearest.r;
      out.color.y += weight * light * nearest.g;
      out.color.z += weight * light * nearest.b;
      out.alpha += weight;
      if (out.depth == setup.farPlane) out.depth = t;
    }
  }
  fragments[py * setup.image.width + px] = out;
}

int main(int argc, char **argv) {
  int side = argc > 1 ? atoi(argv[1]) : 256;
  int pixels = 3 * side;
  std::vector<Voxel> voxels((size_t)side * side * side);
  size_t at = 0;
  for (int z = 0; z < side; z++)
    for (int y = 0; y < side; y++)
      for (int x = 0; x < side; x++, at++) {
        float dx = (x + 0.5f) / side - 0.5f, dy = (y + 0.5f) / side - 0.5f, dz = (z + 0.5f) / side - 0.5f;
        float r = sqrtf(dx * dx + dy * dy + dz * dz) + 1e-6f;
        unsigned h = (unsigned)at * 0x9e3779b1u;
        h ^= h >> 16;
        h *= 0x85ebca6bu;
        h ^= h >> 13;
        float shell = r < 0.45f ? (r > 0.4f ? 0.7f : (x / 8 + y / 8 + z / 8) % 5 == 0 ? 0.5f : 0.2f) : 0.02f;
        voxels[at] = {shell + (h & 255) / 2560.0f,
                      make_float3(dx / r, dy / r, dz / r),
                      (unsigned char)(h >> 8 | 64), (unsigned char)(h >> 16 | 32), (unsigned char)(h >> 24),
                      (unsigned char)(shell * 10)};
      }
  Voxel *d_voxels;
  Fragment *d_fragments;
  std::vector<Fragment> fragments((size_t)pixels * pixels);
  cudaCheck(cudaMalloc(&d_voxels, voxels.size() * sizeof(Voxel)), "voxels");
  cudaCheck(cudaMalloc(&d_fragments, fragments.size() * sizeof(Fragment)), "fragments");
  cudaCheck(cudaMemcpy(d_voxels, voxels.data(), voxels.size() * sizeof(Voxel), cudaMemcpyHostToDevice), "upload");

  cudaEvent_t begin, end;
  cudaCheck(cudaEventCreate(&begin), "event");
  cudaCheck(cudaEventCreate(&end), "event");
  dim3 block(16, 8), grid((pixels + 15) / 16, (pixels + 7) / 8);
  const int frames = 36;
  for (int f = 0; f <= frames; f++) {
    if (f == 1) cudaCheck(cudaEventRecord(begin), "begin");
    render<<<grid, block>>>(d_voxels, d_fragments, RenderSetup(side, pixels, f * 0.1745f));
  }
  cudaCheck(cudaGetLastError(), "render");
  cudaCheck(cudaEventRecord(end), "end");
  cudaCheck(cudaEventSynchronize(end), "synchronize");
  float ms;
  cudaCheck(cudaEventElapsedTime(&ms, begin, end), "time");
  cudaCheck(cudaMemcpy(fragments.data(), d_fragments, fragments.size() * sizeof(Fragment), cudaMemcpyDeviceToHost),
            "download");
  unsigned long long check = 0;
  for (const Fragment &p : fragments)
    check = check * 31 + llroundf(p.color.x) + 3 * llroundf(p.color.y) + 5 * llroundf(p.color.z) +
            7 * llroundf(p.depth * 64) + p.samples;
  printf("check %llu\ntime_ms %.4f\n", check, ms / frames);
  cudaFree(d_voxels);
  cudaFree(d_fragments);
}
