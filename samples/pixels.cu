// Tone curve and greyscale of an RGB photo, three bytes per pixel.
//
// A warp reads 96 bytes as three strided byte loads. Planes of one colour,
// padded pixels and small tiles all ask for fewer requests, at other prices.
#include <cmath>
#include <cstdio>
#include <cstdlib>

#define SAFE_CALL(call)                                                                                                \
  if (cudaError_t err_ = (call)) {                                                                                     \
    fprintf(stderr, "cuda: %s at line %d\n", cudaGetErrorString(err_), __LINE__);                                      \
    exit(1);                                                                                                           \
  }

struct Pixel {
  unsigned char r, g, b;
};

__host__ __device__ inline unsigned char luma(int r, int g, int b) { return (77 * r + 150 * g + 29 * b) >> 8; }

template <bool Grey>
__global__ void develop(const Pixel *__restrict__ in, Pixel *__restrict__ out, const unsigned char *__restrict__ curve,
                        int count) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    Pixel p = in[i];
    p.r = __ldg(&curve[p.r]);
    p.g = __ldg(&curve[p.g]);
    p.b = __ldg(&curve[p.b]);
    if (Grey)
      p.r = p.g = p.b = luma(p.r, p.g, p.b);
    out[i] = p;
  }
}

int main(int argc, char **argv) {
  int width = argc > 1 ? atoi(argv[1]) : 8192;
  int height = argc > 2 ? atoi(argv[2]) : (width + 1) / 2;
  const int bands = 4, repeats = 20;
  int count = width * height;

  Pixel *photo = (Pixel *)malloc(count * sizeof(Pixel));
  Pixel *result = (Pixel *)malloc(count * sizeof(Pixel));
  for (int i = 0; i < count; ++i) {
    int x = i % width, y = i / width;
    photo[i].r = x + y;
    photo[i].g = x * 3 ^ y;
    photo[i].b = (x * y) >> 4;
  }
  unsigned char curve[256];
  for (int v = 0; v < 256; ++v)
    curve[v] = (unsigned char)lround(255 * pow(v / 255.0, 1 / 2.2));

  Pixel *d_in, *d_out;
  unsigned char *d_curve;
  SAFE_CALL(cudaMalloc(&d_in, sizeof(Pixel) * count));
  SAFE_CALL(cudaMalloc(&d_out, sizeof(Pixel) * count));
  SAFE_CALL(cudaMalloc(&d_curve, sizeof(curve)));
  SAFE_CALL(cudaMemcpy(d_curve, curve, sizeof(curve), cudaMemcpyHostToDevice));

  // The photo arrives in bands of rows.
  for (int b = 0; b < bands; ++b) {
    int first = height * b / bands * width, last = height * (b + 1) / bands * width;
    SAFE_CALL(cudaMemcpy(d_in + first, photo + first, (last - first) * sizeof(Pixel), cudaMemcpyHostToDevice));
  }

  cudaEvent_t begin, end;
  SAFE_CALL(cudaEventCreate(&begin));
  SAFE_CALL(cudaEventCreate(&end));
  dim3 block(256), grid(count / 1024 + 1);
  develop<true><<<grid, block>>>(d_in, d_out, d_curve, count);
  SAFE_CALL(cudaMemcpy(result, d_out, count * sizeof(Pixel), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (int i = 0; i < count; ++i) {
    const Pixel &p = photo[i];
    if (result[i].r != luma(curve[p.r], curve[p.g], curve[p.b]) || result[i].r != result[i].b) {
      fprintf(stderr, "grey pixel %d is %d\n", i, result[i].r);
      return 1;
    }
    check = check * 31 + result[i].g;
  }

  develop<false><<<grid, block>>>(d_in, d_out, d_curve, count); // warm-up
  SAFE_CALL(cudaEventRecord(begin));
  for (int r = 0; r < repeats; ++r)
    develop<false><<<grid, block>>>(d_in, d_out, d_curve, count);
  SAFE_CALL(cudaGetLastError());
  SAFE_CALL(cudaEventRecord(end));
  SAFE_CALL(cudaEventSynchronize(end));
  for (int b = 0; b < bands; ++b) {
    int first = height * b / bands * width, last = height * (b + 1) / bands * width;
    SAFE_CALL(cudaMemcpy(result + first, &d_out[first], (last - first) * sizeof(Pixel), cudaMemcpyDeviceToHost));
  }
  for (int i = 0; i < count; ++i) {
    const Pixel &p = photo[i], &q = result[i];
    if (q.r != curve[p.r] || q.g != curve[p.g] || q.b != curve[p.b]) {
      fprintf(stderr, "pixel %d is %d %d %d, expected %d %d %d\n", i, q.r, q.g, q.b, curve[p.r], curve[p.g],
              curve[p.b]);
      return 1;
    }
    check = check * 31 + q.r + 256 * q.g + 65536 * q.b;
  }

  float ms;
  SAFE_CALL(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  SAFE_CALL(cudaFree(d_in));
  SAFE_CALL(cudaFree(d_out));
  SAFE_CALL(cudaFree(d_curve));
  free(photo);
  free(result);
  return 0;
}
