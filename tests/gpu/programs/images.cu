// Denoising of a rendered image: a bilateral filter of 5x5 pixels, then tones.
//
// The filter weighs its taps by distance, colour and depth: all fields of 25
// pixels for one of the other array. The tone mapping uses three fields in
// place. The argument is the width of the image; it is 3/4 as high.
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

struct Pixel {
  float r, g, b;
  float depth;
};

__global__ void denoise(const Pixel *in, Pixel *out, int width, int height, float colourScale, float depthScale) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height)
    return;
  Pixel centre = in[y * width + x];
  float r = 0, g = 0, b = 0, depth = 0, total = 0;
  for (int dy = -2; dy <= 2; ++dy)
    for (int dx = -2; dx <= 2; ++dx) {
      int tx = min(max(x + dx, 0), width - 1), ty = min(max(y + dy, 0), height - 1);
      const Pixel &tap = in[ty * width + tx];
      float er = tap.r - centre.r, eg = tap.g - centre.g, eb = tap.b - centre.b;
      float ed = (tap.depth - centre.depth) / centre.depth;
      float weight =
          expf(-(dx * dx + dy * dy) * 0.125f - (er * er + eg * eg + eb * eb) * colourScale - ed * ed * depthScale);
      r += weight * tap.r;
      g += weight * tap.g;
      b += weight * tap.b;
      depth += weight * tap.depth;
      total += weight;
    }
  Pixel &result = out[y * width + x];
  result.r = r / total;
  result.g = g / total;
  result.b = b / total;
  result.depth = depth / total;
}

// The extended curve of Reinhard on the luminance, then a gamma of 2.
__global__ void toneMap(Pixel *pixels, int width, int height, float exposure, float white) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height)
    return;
  Pixel &p = pixels[y * width + x];
  float r = p.r * exposure, g = p.g * exposure, b = p.b * exposure;
  float luminance = 0.2126f * r + 0.7152f * g + 0.0722f * b;
  float scale = (1 + luminance / (white * white)) / (1 + luminance);
  p.r = sqrtf(fminf(r * scale, 1));
  p.g = sqrtf(fminf(g * scale, 1));
  p.b = sqrtf(fminf(b * scale, 1));
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int width = argc > 1 ? atoi(argv[1]) : 2560;
  int height = width * 3 / 4;
  size_t n = (size_t)width * height;
  std::vector<Pixel> image(n);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) { // slanted tiles, lit and noisy
      size_t i = (size_t)y * width + x;
      unsigned tile = hash(y / 48 * 4096 + x / 64), noise = hash((unsigned)i ^ 0x40000000);
      float light = 0.25f + (tile >> 24 & 15) / 4.0f;
      float r = (tile & 255) / 255.0f, g = (tile >> 8 & 255) / 255.0f, b = (tile >> 16 & 255) / 255.0f;
      image[i] = {light * (r + (noise & 63) / 256.0f), light * (g + (noise >> 6 & 63) / 256.0f),
                  light * (b + (noise >> 12 & 63) / 256.0f),
                  2 + (tile >> 28) + (x % 64) / 64.0f + (noise >> 18 & 15) / 256.0f};
    }

  Pixel *d_in, *d_out;
  CHECK(cudaMalloc(&d_in, n * sizeof(Pixel)));
  CHECK(cudaMalloc(&d_out, n * sizeof(Pixel)));
  CHECK(cudaMemcpy(d_in, image.data(), n * sizeof(Pixel), cudaMemcpyHostToDevice));

  dim3 block(32, 8), blocks((width + 31) / 32, (height + 7) / 8);
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    denoise<<<blocks, block>>>(d_in, d_out, width, height, 4.0f, 64.0f);
    toneMap<<<blocks, block>>>(d_out, width, height, 0.5f + r / 128.0f, 4.0f); // a slow fade
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  CHECK(cudaMemcpy(image.data(), d_out, n * sizeof(Pixel), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Pixel &p : image)
    check =
        check * 31 + llround(p.r * 1e3) + 3 * llround(p.g * 1e3) + 5 * llround(p.b * 1e3) + 7 * llround(p.depth * 1e2);

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_in));
  CHECK(cudaFree(d_out));
}
