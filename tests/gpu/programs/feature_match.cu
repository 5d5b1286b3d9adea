// Geometric verification of successive video frames: binary features are matched
// (best two by Hamming distance, ratio test), homographies are hypothesised from samples of
// four matches and scored over all matches of the frame pair, inliers of the best are marked.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
inline void gpuAssert(cudaError_t code, const char* file, int line) {
  if (code == cudaSuccess) return;
  fprintf(stderr, "GPU error: %s %s %d\n", cudaGetErrorString(code), file, line);
  exit(code);
}
#define gpuErrchk(ans) gpuAssert((ans), __FILE__, __LINE__)

constexpr int kWords = 8;           // of 32 bits
constexpr int kHypotheses = 512;    // for a pair of frames
constexpr int kMatchThreads = 128;
constexpr int kCompactThreads = 256;
constexpr float kWidth = 1920, kHeight = 1080;
constexpr float kInlier = 3.0f;     // pixels

struct Feature {
  float x, y;
  float size, angle, response;
  int octave;
  uint32_t descriptor[kWords];
  int match;             // in the next frame, or -1
  short best, second;    // distances
  float matchX, matchY;
  float error;           // of reprojection, squared
  int inlier;
};

struct FramePair {
  int firstA, countA;
  int firstB, countB;
  int numGood;           // good matches; their list begins at firstA
  int numInliers;
  unsigned long long bestHypothesis;  // inliers << 32 | ~index
  unsigned long long errorSum;        // 1/1024 pixel^2
};

struct Hypothesis {
  float h[9];
  int sample[4];
  int inliers;
};

__device__ __forceinline__ int hamming(const uint32_t* a, const uint32_t* b) {
  int d = 0;
#pragma unroll
  for (int w = 0; w < kWords; ++w) d += __popc(a[w] ^ b[w]);
  return d;
}

// Squared distance of the matched position from that of H; huge behind the camera.
__device__ __forceinline__ float transferError(const float* h, const Feature& f) {
  const float w = h[6] * f.x + h[7] * f.y + h[8];
  if (fabsf(w) < 1e-6f) return 1e30f;
  const float dx = (h[0] * f.x + h[1] * f.y + h[2]) / w - f.matchX;
  const float dy = (h[3] * f.x + h[4] * f.y + h[5]) / w - f.matchY;
  return dx * dx + dy * dy;
}

__global__ void matchKernel(Feature* features, const FramePair* pairs) {
  __shared__ uint32_t words[kMatchThreads][kWords];
  __shared__ int octaves[kMatchThreads];
  const FramePair& pair = pairs[blockIdx.y];
  if (blockIdx.x * kMatchThreads >= pair.countA) return;
  const int q = blockIdx.x * kMatchThreads + threadIdx.x;
  Feature& f = features[pair.firstA + min(q, pair.countA - 1)];
  uint32_t mine[kWords];
  for (int w = 0; w < kWords; ++w) mine[w] = f.descriptor[w];
  const int octave = f.octave;

  int best = 257, second = 257, bestIndex = -1;
  for (int base = 0; base < pair.countB; base += kMatchThreads) {
    const int count = min(kMatchThreads, pair.countB - base);
    if (threadIdx.x < count) {
      const Feature& t = features[pair.firstB + base + threadIdx.x];
      for (int w = 0; w < kWords; ++w) words[threadIdx.x][w] = t.descriptor[w];
      octaves[threadIdx.x] = t.octave;
    }
    __syncthreads();
    for (int k = 0; k < count; ++k) {
      if (abs(octaves[k] - octave) > 1) continue;
      const int d = hamming(mine, words[k]);
      if (d < best) {
        second = best;
        best = d;
        bestIndex = base + k;
      } else if (d < second) {
        second = d;
      }
    }
    __syncthreads();
  }
  if (q >= pair.countA) return;
  f.match = bestIndex < 0 ? -1 : pair.firstB + bestIndex;
  f.best = (short)best;
  f.second = (short)second;
  f.inlier = 0;
  f.error = 0;
  if (bestIndex >= 0) {
    f.matchX = features[f.match].x;
    f.matchY = features[f.match].y;
  }
}

// Ratio test; the good matches of a pair in the order of the features. A block for each pair.
__global__ void compactKernel(const Feature* features, FramePair* pairs, int* good) {
  __shared__ int warpTotals[kCompactThreads / 32];
  FramePair& pair = pairs[blockIdx.x];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  int written = 0;
  for (int base = 0; base < pair.countA; base += kCompactThreads) {
    const int q = base + threadIdx.x;
    bool keep = false;
    if (q < pair.countA) {
      const Feature& f = features[pair.firstA + q];
      keep = f.match >= 0 && f.best <= 64 && f.best * 10 < f.second * 8;
    }
    const unsigned int ballot = __ballot_sync(0xffffffffu, keep);
    if (lane == 0) warpTotals[warp] = __popc(ballot);
    __syncthreads();
    int before = 0, total = 0;
    for (int w = 0; w < kCompactThreads / 32; ++w) {
      if (w < warp) before += warpTotals[w];
      total += warpTotals[w];
    }
    if (keep) good[pair.firstA + written + before + __popc(ballot & ((1u << lane) - 1))] = pair.firstA + q;
    written += total;
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    pair.numGood = written;
    pair.numInliers = 0;
    pair.bestHypothesis = 0;
    pair.errorSum = 0;
  }
}

__device__ inline void swapFloats(float& a, float& b) {
  const float t = a;
  a = b;
  b = t;
}

__device__ bool solve8(float a[8][9]) {
  for (int c = 0; c < 8; ++c) {
    int pivot = c;
    for (int r = c + 1; r < 8; ++r)
      if (fabsf(a[r][c]) > fabsf(a[pivot][c])) pivot = r;
    if (fabsf(a[pivot][c]) < 1e-5f) return false;
    for (int k = c; k < 9; ++k) swapFloats(a[c][k], a[pivot][k]);
    const float inv = 1.0f / a[c][c];
    for (int r = 0; r < 8; ++r) {
      if (r == c) continue;
      const float m = a[r][c] * inv;
      for (int k = c; k < 9; ++k) a[r][k] -= m * a[c][k];
    }
  }
  for (int c = 0; c < 8; ++c) a[c][8] /= a[c][c];
  return true;
}

__global__ void hypothesisKernel(const Feature* features, const FramePair* pairs, const int* good, Hypothesis* hyps) {
  const int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= kHypotheses) return;
  const FramePair& pair = pairs[blockIdx.y];
  Hypothesis& hyp = hyps[blockIdx.y * kHypotheses + k];
  hyp.inliers = -1;
  if (pair.numGood < 8) return;
  uint32_t seed = (blockIdx.y * kHypotheses + k) * 2654435761u + 12345u;
  const float half = 0.5f * kWidth;
  float a[8][9];
  for (int s = 0; s < 4; ++s) {
    bool repeated = true;
    while (repeated) {
      seed = seed * 1664525u + 1013904223u;
      hyp.sample[s] = good[pair.firstA + (int)((seed >> 8) % (uint32_t)pair.numGood)];
      repeated = false;
      for (int t = 0; t < s; ++t) repeated |= hyp.sample[t] == hyp.sample[s];
    }
    const Feature& f = features[hyp.sample[s]];
    const float x = f.x / half - 1, y = f.y / half - 1, u = f.matchX / half - 1, v = f.matchY / half - 1;
    const float rowU[9] = {x, y, 1, 0, 0, 0, -u * x, -u * y, u};
    const float rowV[9] = {0, 0, 0, x, y, 1, -v * x, -v * y, v};
    for (int c = 0; c < 9; ++c) {
      a[2 * s][c] = rowU[c];
      a[2 * s + 1][c] = rowV[c];
    }
  }
  if (!solve8(a)) return;
  // H = T^-1 Hn T with T: p -> p / half - 1
  float m[9];
  for (int r = 0; r < 3; ++r) {
    const float p = a[min(3 * r, 7)][8], q = a[min(3 * r + 1, 7)][8], s = r == 2 ? 1.0f : a[3 * r + 2][8];
    m[3 * r] = p / half;
    m[3 * r + 1] = q / half;
    m[3 * r + 2] = s - p - q;
  }
  for (int c = 0; c < 3; ++c) {
    hyp.h[c] = half * (m[c] + m[6 + c]);
    hyp.h[3 + c] = half * (m[3 + c] + m[6 + c]);
    hyp.h[6 + c] = m[6 + c];
  }
  hyp.inliers = 0;
}

// A warp for each hypothesis.
__global__ void scoreKernel(const Feature* features, FramePair* pairs, const int* good, Hypothesis* hyps) {
  const int k = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  FramePair& pair = pairs[blockIdx.y];
  Hypothesis& hyp = hyps[blockIdx.y * kHypotheses + k];
  if (hyp.inliers < 0) return;
  float h[9];
  for (int c = 0; c < 9; ++c) h[c] = hyp.h[c];
  int inliers = 0;
  for (int i = lane; i < pair.numGood; i += 32) {
    const Feature& f = features[good[pair.firstA + i]];
    inliers += transferError(h, f) < kInlier * kInlier;
  }
  inliers = __reduce_add_sync(0xffffffffu, inliers);
  if (lane == 0) {
    hyp.inliers = inliers;
    atomicMax(&pair.bestHypothesis, (unsigned long long)inliers << 32 | (0xffffffffu - k));
  }
}

__global__ void markInliersKernel(Feature* features, FramePair* pairs, const int* good, const Hypothesis* hyps) {
  FramePair& pair = pairs[blockIdx.y];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= pair.numGood || pair.bestHypothesis == 0) return;
  const int k = (int)(0xffffffffu - (uint32_t)pair.bestHypothesis);
  const Hypothesis& hyp = hyps[blockIdx.y * kHypotheses + k];
  Feature& f = features[good[pair.firstA + i]];
  f.error = transferError(hyp.h, f);
  if (f.error < kInlier * kInlier) {
    f.inlier = 1;
    atomicAdd(&pair.numInliers, 1);
    atomicAdd(&pair.errorSum, (unsigned long long)(f.error * 1024));
  }
}

static uint32_t rnd() {
  static uint32_t rngState = 1;
  rngState ^= rngState << 13;
  rngState ^= rngState >> 17;
  return rngState ^= rngState << 5;
}
static float rndf() { return (rnd() >> 8) / 16777216.0f; }

static Feature randomFeature() {
  Feature f = {};
  f.x = kWidth * rndf();
  f.y = kHeight * (0.3f + 0.7f * rndf() * rndf());
  f.octave = (int)(8 * rndf() * rndf());
  f.size = 31 * std::pow(1.2f, f.octave);
  f.angle = 360 * rndf();
  f.response = 20 + 80 * rndf();
  for (uint32_t& w : f.descriptor) w = rnd();
  f.match = -1;
  return f;
}

// The features of `last` that are seen again, moved and with noise, and new ones.
static std::vector<Feature> nextFrame(const std::vector<Feature>& last, int count) {
  const float c = std::cos(0.03f * (rndf() - 0.5f)), s = 0.03f * (rndf() - 0.5f);
  const float tx = 40 * (rndf() - 0.5f), ty = 20 * (rndf() - 0.5f), p = 2e-5f * (rndf() - 0.5f);
  std::vector<Feature> frame;
  for (const Feature& f : last) {
    if (rnd() % 100 >= 65 || (int)frame.size() == count) continue;
    Feature g = f;
    const float w = 1 + p * f.x;
    g.x = (c * f.x - s * f.y + tx) / w + 1.5f * (rndf() - 0.5f);
    g.y = (s * f.x + c * f.y + ty) / w + 1.5f * (rndf() - 0.5f);
    if (g.x < 0 || g.y < 0 || g.x >= kWidth || g.y >= kHeight) continue;
    const int flips = rnd() % 40;
    for (int k = 0; k < flips; ++k) g.descriptor[rnd() % kWords] ^= 1u << (rnd() % 32);
    frame.push_back(g);
  }
  while ((int)frame.size() < count) frame.push_back(randomFeature());
  // as a detector gives them: octave by octave, in raster order
  std::stable_sort(frame.begin(), frame.end(), [](const Feature& a, const Feature& b) {
    return a.octave != b.octave ? a.octave < b.octave : (int)a.y != (int)b.y ? a.y < b.y : a.x < b.x;
  });
  return frame;
}

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::max(64, atoi(argv[1])) : 131072;
  const int mean = std::min(4096, n / 2);

  Feature* features;
  FramePair* pairs;
  int* good;
  Hypothesis* hyps;
  gpuErrchk(cudaMallocManaged(&features, (size_t)n * sizeof(Feature)));
  std::vector<FramePair> list;
  std::vector<Feature> frame;
  int total = 0, maxCount = 0, lastFirst = 0;
  while (total < n) {
    int count = mean * 3 / 4 + (int)(rnd() % (mean / 2));
    if (n - total - count < mean / 2) count = n - total;
    std::vector<Feature> next = nextFrame(frame, count);
    for (size_t i = 0; i < next.size(); ++i) features[total + i] = next[i];
    if (total > 0) list.push_back({lastFirst, (int)frame.size(), total, count, 0, 0, 0, 0});
    maxCount = std::max(maxCount, count);
    lastFirst = total;
    total += count;
    frame.swap(next);
  }
  const int numPairs = (int)list.size();
  gpuErrchk(cudaMallocManaged(&pairs, numPairs * sizeof(FramePair)));
  for (size_t i = 0; i < list.size(); ++i) pairs[i] = list[i];
  gpuErrchk(cudaMalloc(&good, (size_t)n * sizeof(int)));
  gpuErrchk(cudaMalloc(&hyps, (size_t)numPairs * kHypotheses * sizeof(Hypothesis)));

  auto step = [&] {
    const dim3 perFeature((maxCount + kMatchThreads - 1) / kMatchThreads, numPairs);
    matchKernel<<<perFeature, kMatchThreads>>>(features, pairs);
    compactKernel<<<numPairs, kCompactThreads>>>(features, pairs, good);
    hypothesisKernel<<<dim3(kHypotheses / 64, numPairs), 64>>>(features, pairs, good, hyps);
    scoreKernel<<<dim3(kHypotheses / 4, numPairs), 128>>>(features, pairs, good, hyps);
    markInliersKernel<<<perFeature, kMatchThreads>>>(features, pairs, good, hyps);
    gpuErrchk(cudaGetLastError());
  };
  step();
  cudaEvent_t start, stop;
  gpuErrchk(cudaEventCreate(&start));
  gpuErrchk(cudaEventCreate(&stop));
  const int steps = 20;
  gpuErrchk(cudaEventRecord(start));
  for (int s = 0; s < steps; ++s) step();
  gpuErrchk(cudaEventRecord(stop));
  gpuErrchk(cudaDeviceSynchronize());
  float ms = 0;
  gpuErrchk(cudaEventElapsedTime(&ms, start, stop));
  unsigned long long check = 0;
  for (int i = 0; i < total; ++i)
    check = check * 31 + (unsigned)features[i].match + 3 * features[i].best + 5 * features[i].second + features[i].inlier;
  for (int p = 0; p < numPairs; ++p)
    check = check * 31 + pairs[p].numGood + 3 * pairs[p].numInliers + pairs[p].bestHypothesis + 7 * pairs[p].errorSum;
  printf("check %llu\ntime_ms %.4f\n", check, ms / steps);
  for (void* p : {(void*)features, (void*)pairs, (void*)good, (void*)hyps}) gpuErrchk(cudaFree(p));
  return 0;
}
