// Dense optical flow by Horn and Schunck between successive frames of a sequence:
// gradients, a number of Jacobi iterations, and statistics of the flow by region.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

static void checkCuda(cudaError_t err, int line) {
  if (err != cudaSuccess) {
    fprintf(stderr, "CUDA error at line %d: %s\n", line, cudaGetErrorString(err));
    exit(1);
  }
}
#define CHECK(x) checkCuda((x), __LINE__)

constexpr int BLOCK_X = 32;
constexpr int BLOCK_Y = 8;
constexpr int REGION = 128;       // pixels on a side
constexpr int ITERATIONS = 8;     // even, so that the result is where it began
constexpr float ALPHA2 = 36.0f;   // smoothness
constexpr int NUM_FRAMES = 4;

struct Rgba {
  unsigned char r, g, b, a;
};

struct FlowPixel {
  float ix, iy, it;
  float u, v;
};

struct RegionStats {
  long long sumU, sumV;       // 1/1024 pixel
  unsigned long long energy;  // residual of the brightness constraint
  unsigned int maxSpeed;      // 1/1024 pixel
  unsigned int moving;
};

__device__ __forceinline__ float luma(const Rgba& p) {
  return 0.299f * p.r + 0.587f * p.g + 0.114f * p.b;
}

__global__ void gradientKernel(const Rgba* __restrict__ frame0, const Rgba* __restrict__ frame1,
                               FlowPixel* __restrict__ flow, int width, int height) {
  __shared__ float s0[BLOCK_Y + 1][BLOCK_X + 1];
  __shared__ float s1[BLOCK_Y + 1][BLOCK_X + 1];
  const int x0 = blockIdx.x * BLOCK_X, y0 = blockIdx.y * BLOCK_Y;
  const int tid = threadIdx.y * BLOCK_X + threadIdx.x;
  for (int t = tid; t < (BLOCK_X + 1) * (BLOCK_Y + 1); t += BLOCK_X * BLOCK_Y) {
    const int tx = t % (BLOCK_X + 1), ty = t / (BLOCK_X + 1);
    const int gx = min(x0 + tx, width - 1), gy = min(y0 + ty, height - 1);
    s0[ty][tx] = luma(frame0[gy * width + gx]);
    s1[ty][tx] = luma(frame1[gy * width + gx]);
  }
  __syncthreads();

  const int x = x0 + threadIdx.x, y = y0 + threadIdx.y;
  if (x >= width || y >= height) return;
  const int tx = threadIdx.x, ty = threadIdx.y;
  const float a = s0[ty][tx], b = s0[ty][tx + 1], c = s0[ty + 1][tx], d = s0[ty + 1][tx + 1];
  const float e = s1[ty][tx], f = s1[ty][tx + 1], g = s1[ty + 1][tx], h = s1[ty + 1][tx + 1];
  FlowPixel& p = flow[y * width + x];
  p.ix = 0.25f * ((b - a) + (d - c) + (f - e) + (h - g));
  p.iy = 0.25f * ((c - a) + (d - b) + (g - e) + (h - f));
  p.it = 0.25f * ((e - a) + (f - b) + (g - c) + (h - d));
}

__global__ void iterateKernel(const FlowPixel* __restrict__ src, FlowPixel* __restrict__ dst, int width, int height) {
  __shared__ float2 tile[BLOCK_Y + 2][BLOCK_X + 2];
  const int x0 = blockIdx.x * BLOCK_X - 1, y0 = blockIdx.y * BLOCK_Y - 1;
  const int tid = threadIdx.y * BLOCK_X + threadIdx.x;
  for (int t = tid; t < (BLOCK_X + 2) * (BLOCK_Y + 2); t += BLOCK_X * BLOCK_Y) {
    const int tx = t % (BLOCK_X + 2), ty = t / (BLOCK_X + 2);
    const int gx = min(max(x0 + tx, 0), width - 1), gy = min(max(y0 + ty, 0), height - 1);
    const int g = gy * width + gx;
    tile[ty][tx] = make_float2(src[g].u, src[g].v);
  }
  __syncthreads();

  const int x = blockIdx.x * BLOCK_X + threadIdx.x, y = blockIdx.y * BLOCK_Y + threadIdx.y;
  if (x >= width || y >= height) return;
  const int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
  float2 side = make_float2(0, 0), corner = make_float2(0, 0);
#pragma unroll
  for (int dy = -1; dy <= 1; ++dy) {
#pragma unroll
    for (int dx = -1; dx <= 1; ++dx) {
      if (dx == 0 && dy == 0) continue;
      const float2 q = tile[ty + dy][tx + dx];
      float2& sum = dx == 0 || dy == 0 ? side : corner;
      sum.x += q.x;
      sum.y += q.y;
    }
  }
  const float ubar = side.x / 6 + corner.x / 12;
  const float vbar = side.y / 6 + corner.y / 12;

  const int i = y * width + x;
  FlowPixel p = src[i];
  const float t = (p.ix * ubar + p.iy * vbar + p.it) / (ALPHA2 + p.ix * p.ix + p.iy * p.iy);
  p.u = ubar - p.ix * t;
  p.v = vbar - p.iy * t;
  dst[i] = p;
}

// A block for each region; sums are of integers.
__global__ void statisticsKernel(const FlowPixel* __restrict__ flow, RegionStats* __restrict__ stats, int width,
                                 int height) {
  __shared__ unsigned long long sumU, sumV, energy;
  __shared__ unsigned int maxSpeed, moving;
  const int tid = threadIdx.y * blockDim.x + threadIdx.x;
  if (tid == 0) {
    sumU = sumV = energy = 0;
    maxSpeed = moving = 0;
  }
  __syncthreads();

  const int xEnd = min((int)(blockIdx.x + 1) * REGION, width), yEnd = min((int)(blockIdx.y + 1) * REGION, height);
  int su = 0, sv = 0;
  unsigned int fast = 0, count = 0;
  unsigned long long residual = 0;
  for (int y = blockIdx.y * REGION + threadIdx.y; y < yEnd; y += blockDim.y) {
    for (int x = blockIdx.x * REGION + threadIdx.x; x < xEnd; x += blockDim.x) {
      const FlowPixel& p = flow[y * width + x];
      const float u = p.u, v = p.v;
      su += __float2int_rn(u * 1024);
      sv += __float2int_rn(v * 1024);
      const unsigned int speed = __float2uint_rn(sqrtf(u * u + v * v) * 1024);
      fast = max(fast, speed);
      count += speed > 256;
      const float r = p.ix * u + p.iy * v + p.it;
      residual += __float2uint_rn(fminf(r * r * 16, 1e9f));
    }
  }
  atomicAdd(&sumU, (unsigned long long)(long long)su);
  atomicAdd(&sumV, (unsigned long long)(long long)sv);
  atomicAdd(&energy, residual);
  atomicMax(&maxSpeed, fast);
  atomicAdd(&moving, count);
  __syncthreads();
  if (tid == 0) {
    RegionStats& out = stats[blockIdx.y * gridDim.x + blockIdx.x];
    out.sumU += (long long)sumU;
    out.sumV += (long long)sumV;
    out.energy += energy;
    out.maxSpeed = max(out.maxSpeed, maxSpeed);
    out.moving += moving;
  }
}

// Value noise on a lattice of 16 pixels, in quarters of a pixel, 0..255.
static int noise(int x4, int y4, uint32_t seed) {
  auto lattice = [seed](int i, int j) {
    uint32_t h = (uint32_t)i * 0x9e3779b1u ^ (uint32_t)j * 0x85ebca77u ^ seed;
    h ^= h >> 15;
    h *= 0x2c1b3c6du;
    h ^= h >> 12;
    return (int)(h & 255);
  };
  const int cx = x4 >> 6, cy = y4 >> 6, fx = x4 & 63, fy = y4 & 63;
  const int top = lattice(cx, cy) * (64 - fx) + lattice(cx + 1, cy) * fx;
  const int bottom = lattice(cx, cy + 1) * (64 - fx) + lattice(cx + 1, cy + 1) * fx;
  return (top * (64 - fy) + bottom * fy) >> 12;
}

static void makeFrame(std::vector<Rgba>& frame, int width, int height, int t) {
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      // stripes of the scene that move differently
      const int band = (y / 192) & 3;
      const int dx = (band - 1) * t, dy = (band & 1) * 2 * t;
      const int value = noise(4 * x + 4096 - dx, 4 * y + 4096 - dy, 7u + band);
      Rgba& p = frame[(size_t)y * width + x];
      p.r = (unsigned char)value;
      p.g = (unsigned char)((value * 3 + 64) >> 2);
      p.b = (unsigned char)(255 - value);
      p.a = 255;
    }
  }
}

int main(int argc, char** argv) {
  int width = 2048, height = 2048;
  if (argc > 1) {
    const int pixels = atoi(argv[1]);
    width = 1;
    while ((long long)(width + 1) * (width + 1) <= pixels) ++width;
    height = width;
  }
  const size_t pixels = (size_t)width * height;
  const dim3 block(BLOCK_X, BLOCK_Y);
  const dim3 grid((width + BLOCK_X - 1) / BLOCK_X, (height + BLOCK_Y - 1) / BLOCK_Y);
  const dim3 regions((width + REGION - 1) / REGION, (height + REGION - 1) / REGION);
  const size_t numRegions = (size_t)regions.x * regions.y;

  Rgba* dFrames[NUM_FRAMES];
  std::vector<Rgba> frame(pixels);
  for (int t = 0; t < NUM_FRAMES; ++t) {
    makeFrame(frame, width, height, t);
    CHECK(cudaMalloc(&dFrames[t], pixels * sizeof(Rgba)));
    CHECK(cudaMemcpy(dFrames[t], frame.data(), pixels * sizeof(Rgba), cudaMemcpyHostToDevice));
  }
  FlowPixel *dFlow, *dNext;
  RegionStats* dStats;
  CHECK(cudaMalloc(&dFlow, pixels * sizeof(FlowPixel)));
  CHECK(cudaMalloc(&dNext, pixels * sizeof(FlowPixel)));
  CHECK(cudaMalloc(&dStats, numRegions * sizeof(RegionStats)));
  CHECK(cudaMemset(dFlow, 0, pixels * sizeof(FlowPixel)));
  CHECK(cudaMemset(dNext, 0, pixels * sizeof(FlowPixel)));
  CHECK(cudaMemset(dStats, 0, numRegions * sizeof(RegionStats)));

  auto step = [&](int t) {
    // forwards and backwards through the sequence
    const int period = 2 * (NUM_FRAMES - 1), k = t % period;
    const int from = k < NUM_FRAMES ? k : period - k;
    const int k1 = (t + 1) % period, to = k1 < NUM_FRAMES ? k1 : period - k1;
    gradientKernel<<<grid, block>>>(dFrames[from], dFrames[to], dFlow, width, height);
    for (int i = 0; i < ITERATIONS; ++i) {
      iterateKernel<<<grid, block>>>(dFlow, dNext, width, height);
      std::swap(dFlow, dNext);
    }
    statisticsKernel<<<regions, block>>>(dFlow, dStats, width, height);
    CHECK(cudaGetLastError());
  };

  cudaEvent_t start, stop;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  const int steps = 30;
  step(0);
  CHECK(cudaEventRecord(start));
  for (int t = 1; t <= steps; ++t) step(t);
  CHECK(cudaEventRecord(stop));
  CHECK(cudaEventSynchronize(stop));
  float ms = 0;
  CHECK(cudaEventElapsedTime(&ms, start, stop));

  std::vector<FlowPixel> flow(pixels);
  std::vector<RegionStats> stats(numRegions);
  CHECK(cudaMemcpy(flow.data(), dFlow, pixels * sizeof(FlowPixel), cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(stats.data(), dStats, numRegions * sizeof(RegionStats), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const FlowPixel& p : flow)
    check = check * 31 + (long long)(p.u * 4096) + 3 * (long long)(p.v * 4096) + 5 * (long long)(p.it * 4);
  for (const RegionStats& s : stats)
    check = check * 31 + s.sumU + 3 * s.sumV + 5 * s.energy + 7 * s.maxSpeed + 11 * s.moving;
  printf("check %llu\ntime_ms %.4f\n", check, ms / steps);
  for (Rgba* f : dFrames) CHECK(cudaFree(f));
  CHECK(cudaFree(dFlow));
  CHECK(cudaFree(dNext));
  CHECK(cudaFree(dStats));
  return 0;
}
