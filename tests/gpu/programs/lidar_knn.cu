// Change detection between two airborne lidar surveys. The reference survey is in a KD-tree with leaf buckets; for each
// return of the new survey: its K nearest reference points, the plane through them and the signed distance to it, a
// class by vote of the neighbours, and totals by map tile.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int K = 8;
constexpr int LEAF_SIZE = 12;
constexpr int NUM_CLASSES = 6;
constexpr int STACK_DEPTH = 40;
constexpr float TILE_METRES = 50.0f;

enum SurfaceClass : uint8_t { UNASSIGNED, GROUND, GRASS, TREE, BUILDING, WATER };

struct ReferencePoint {
  float x, y, z;
  float intensity;
  double gpsTime;
  uint16_t red, green, blue;
  uint8_t classification;
  uint8_t returnNumber;
  short scanAngle;      // hundredths of a degree
  uint16_t flightLine;

  float along(int axis) const { return axis == 0 ? x : axis == 1 ? y : z; }
};

struct KdNode {
  float split;
  int left, right;      // children, -1 in a leaf
  int first;            // of the points of a leaf
  short count;
  uint8_t axis;
  uint8_t depth;
};

struct SurveyReturn {
  float x, y, z;
  float intensity;
  // filled in by the pipeline
  float normal[3];
  float roughness;
  float displacement;   // along the normal, m
  uint8_t predicted;
  uint8_t confidence;   // percent
  uint8_t changed;
  uint8_t valid;
};

template <int N>
struct NeighbourSet {
  float distance2[N];
  int index[N];
};

struct TileTotals {
  int returns, changed;
  int classes[NUM_CLASSES];
  long long displacement; // 1/1024 m
  int maxRise;            // 1/1024 m
};

#define GPU(call) gpuAssert((call), #call)
static void gpuAssert(cudaError_t code, const char* call) {
  if (code != cudaSuccess) fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(code)), exit(2);
}

// Depth first, the near child before the far one; the best N by insertion.
template <int N>
__global__ void searchKernel(const KdNode* __restrict__ nodes, const ReferencePoint* __restrict__ points,
                             const SurveyReturn* __restrict__ queries, int numQueries, NeighbourSet<N>* __restrict__ found) {
  const int q = blockIdx.x * blockDim.x + threadIdx.x;
  if (q >= numQueries) return;
  const float x = queries[q].x, y = queries[q].y, z = queries[q].z;

  float bestDistance[N];
  int bestIndex[N];
  for (int k = 0; k < N; ++k) bestDistance[k] = 3.0e38f, bestIndex[k] = -1;
  int stackNode[STACK_DEPTH];
  float stackDistance[STACK_DEPTH];
  int top = 0;
  int current = 0;
  for (;;) {
    while (nodes[current].left >= 0) {
      const KdNode& node = nodes[current];
      const float gap = (node.axis == 0 ? x : node.axis == 1 ? y : z) - node.split;
      const int far = gap < 0 ? node.right : node.left;
      if (gap * gap < bestDistance[N - 1] && top < STACK_DEPTH) {
        stackNode[top] = far;
        stackDistance[top++] = gap * gap;
      }
      current = gap < 0 ? node.left : node.right;
    }
    const int first = nodes[current].first, last = first + nodes[current].count;
    for (int p = first; p < last; ++p) {
      const float dx = points[p].x - x, dy = points[p].y - y, dz = points[p].z - z;
      const float d = dx * dx + dy * dy + dz * dz;
      if (d >= bestDistance[N - 1]) continue;
#pragma unroll
      for (int k = N - 1; k >= 0; --k) {
        const bool shift = k > 0 && d < bestDistance[k > 0 ? k - 1 : 0];
        if (d >= bestDistance[k]) break;
        bestDistance[k] = shift ? bestDistance[k - 1] : d;
        bestIndex[k] = shift ? bestIndex[k - 1] : p;
      }
    }
    while (top > 0 && stackDistance[top - 1] >= bestDistance[N - 1]) --top;
    if (top == 0) break;
    current = stackNode[--top];
  }
  for (int k = 0; k < N; ++k) {
    found[q].distance2[k] = bestDistance[k];
    found[q].index[k] = bestIndex[k];
  }
}

// Least squares in height.
template <int N>
__global__ void planeKernel(const ReferencePoint* __restrict__ points, const NeighbourSet<N>* __restrict__ found,
                            SurveyReturn* __restrict__ queries, int numQueries) {
  const int q = blockIdx.x * blockDim.x + threadIdx.x;
  if (q >= numQueries) return;
  const NeighbourSet<N>& set = found[q];
  SurveyReturn& out = queries[q];
  float mx = 0, my = 0, mz = 0;
  int count = 0;
  for (; count < N && set.index[count] >= 0; ++count) {
    const ReferencePoint& p = points[set.index[count]];
    mx += p.x - out.x, my += p.y - out.y, mz += p.z - out.z;
  }
  out.valid = count >= 4;
  if (count < 4) return;
  mx /= count, my /= count, mz /= count;
  float xx = 0, xy = 0, xz = 0, yy = 0, yz = 0, zz = 0;
  for (int k = 0; k < count; ++k) {
    const ReferencePoint& p = points[set.index[k]];
    const float dx = p.x - out.x - mx, dy = p.y - out.y - my, dz = p.z - out.z - mz;
    xx += dx * dx, xy += dx * dy, xz += dx * dz, yy += dy * dy, yz += dy * dz, zz += dz * dz;
  }
  // normal to z = a x + b y, and the mean square of what is left
  const float det = xx * yy - xy * xy + 1e-9f;
  const float a = (xz * yy - yz * xy) / det, b = (yz * xx - xz * xy) / det;
  const float nz = rsqrtf(1.0f + a * a + b * b);
  out.normal[0] = -a * nz, out.normal[1] = -b * nz, out.normal[2] = nz;
  out.roughness = nz * sqrtf(fmaxf(zz - a * xz - b * yz, 0.0f) / count);
  out.displacement = (a * mx + b * my - mz) * nz;
}

template <int N>
__global__ void classifyKernel(const ReferencePoint* __restrict__ points, const NeighbourSet<N>* __restrict__ found,
                               SurveyReturn* __restrict__ queries, int numQueries) {
  const int q = blockIdx.x * blockDim.x + threadIdx.x;
  if (q >= numQueries || !queries[q].valid) return;
  const float intensity = queries[q].intensity;
  float votes[NUM_CLASSES] = {};
  float total = 0, farthest = 0;
  for (int k = 0; k < N && found[q].index[k] >= 0; ++k) {
    const ReferencePoint& p = points[found[q].index[k]];
    const float d2 = found[q].distance2[k];
    const float green = p.green / (p.red + p.blue + 1.0f);
    float weight = __expf(-fabsf(p.intensity - intensity) * 0.02f) / (0.05f + d2);
    farthest = fmaxf(farthest, d2);
    if (p.classification == TREE || p.classification == GRASS) weight *= 0.5f + fminf(green, 1.0f);
    if (p.returnNumber > 1) weight *= 0.8f;
    votes[p.classification] += weight;
    total += weight;
  }
  int winner = 0;
  for (int c = 1; c < NUM_CLASSES; ++c)
    if (votes[c] > votes[winner]) winner = c;
  SurveyReturn& out = queries[q];
  out.predicted = (uint8_t)winner;
  out.confidence = (uint8_t)(100.0f * votes[winner] / total);
  const float noise = 0.08f + 1.96f * out.roughness / sqrtf((float)N);
  out.changed = fabsf(out.displacement) > noise || farthest > 9.0f;
}

__global__ void tileKernel(const SurveyReturn* __restrict__ queries, int numQueries, TileTotals* tiles, int tilesX, int tilesY) {
  const int q = blockIdx.x * blockDim.x + threadIdx.x;
  if (q >= numQueries) return;
  const SurveyReturn& r = queries[q];
  if (!r.valid) return;
  const int tx = min((int)(r.x / TILE_METRES), tilesX - 1), ty = min((int)(r.y / TILE_METRES), tilesY - 1);
  TileTotals& tile = tiles[ty * tilesX + tx];
  atomicAdd(&tile.returns, 1);
  atomicAdd(&tile.classes[r.predicted], 1);
  if (r.changed) {
    const int d = __float2int_rn(fminf(fmaxf(r.displacement, -100.0f), 100.0f) * 1024);
    atomicAdd(&tile.changed, 1);
    atomicAdd((unsigned long long*)&tile.displacement, (unsigned long long)(long long)d);
    atomicMax(&tile.maxRise, d);
  }
}

static float rnd() {
  static uint32_t rngState = 20240117u;
  rngState = rngState * 1664525u + 1013904223u;
  return (rngState >> 8) * (1.0f / 16777216.0f);
}

// The scene at a point of the map: hills, a lake, blocks of buildings, woods.
static float scene(float x, float y, bool later, SurfaceClass& kind) {
  const float hill = 20 + 8 * std::sin(x * 0.011f) * std::cos(y * 0.013f) + 1.5f * std::sin(x * 0.07f + y * 0.05f);
  if (hill < 14.5f) return kind = WATER, 14.5f;
  const int bx = (int)(x / 30), by = (int)(y / 30);
  const uint32_t h = (uint32_t)(bx * 73856093) ^ (uint32_t)(by * 19349663);
  const uint32_t pick = (h >> 7) % 10;
  const float u = x - bx * 30, v = y - by * 30;
  if ((pick < 3 || (later && pick == 3)) && u > 6 && u < 22 && v > 8 && v < 24)
    return kind = BUILDING, 24 + (h >> 12) % 14 + 0.3f * std::fabs(u - 14);
  if (pick > 6 && rnd() < 0.6f) return kind = TREE, hill + 2 + 9 * rnd();
  kind = pick == 5 ? GRASS : GROUND;
  return hill;
}

class ChangeDetector {
 public:
  ChangeDetector(int numPoints, int numQueries) : numQueries_(numQueries) {
    const float side = std::sqrt(numPoints / 4.0f);  // four points to the square metre
    tilesX_ = tilesY_ = (int)(side / TILE_METRES) + 1;
    std::vector<ReferencePoint> points(numPoints);
    for (int i = 0; i < numPoints; ++i) {
      ReferencePoint& p = points[i];
      SurfaceClass kind;
      p.x = side * rnd(), p.y = side * rnd();
      p.z = scene(p.x, p.y, false, kind) + 0.05f * (rnd() - 0.5f);
      const int tone = (int)(40 * kind + 30 * rnd());
      p.intensity = 20.0f + tone;
      p.gpsTime = 3.1e8 + i * 2.5e-6;
      p.red = (uint16_t)(90 + tone), p.blue = (uint16_t)(80 + tone);
      p.green = (uint16_t)(kind == TREE || kind == GRASS ? 180 + tone : 90 + tone);
      p.classification = (uint8_t)(rnd() < 0.04f ? UNASSIGNED : kind);
      p.returnNumber = (uint8_t)(kind == TREE && rnd() < 0.5f ? 2 : 1);
      p.scanAngle = (short)(3000 * (p.x / side - 0.5f));
      p.flightLine = (uint16_t)(p.x / 40);
    }
    std::vector<KdNode> nodes;
    nodes.reserve(numPoints / 2);
    build(points, nodes, 0, numPoints, 0);

    // the new survey comes in scan lines
    std::vector<SurveyReturn> queries(numQueries, SurveyReturn{});
    const int perLine = std::max((int)std::sqrt((double)numQueries), 1);
    for (int i = 0; i < numQueries; ++i) {
      SurfaceClass kind;
      const int line = i / perLine, k = i % perLine;
      SurveyReturn& r = queries[i];
      r.x = side * ((line & 1) ? perLine - 1 - k + rnd() : k + rnd()) / perLine;
      r.y = side * std::min((line + rnd()) / perLine, 1.0f);
      r.z = scene(r.x, r.y, true, kind) + 0.05f * (rnd() - 0.5f);
      r.intensity = 20.0f + 40 * kind + 30 * rnd();
    }
    upload(nodes_, nodes);
    upload(points_, points);
    upload(queries_, queries);
    GPU(cudaMalloc(&found_, sizeof(NeighbourSet<K>) * numQueries));
    GPU(cudaMalloc(&tiles_, sizeof(TileTotals) * numTiles()));
  }

  ~ChangeDetector() {
    for (void* p : {(void*)nodes_, (void*)points_, (void*)queries_, (void*)found_, (void*)tiles_}) cudaFree(p);
  }

  void step() {
    const int grid = (numQueries_ + 127) / 128;
    searchKernel<K><<<grid, 128>>>(nodes_, points_, queries_, numQueries_, found_);
    planeKernel<K><<<grid, 128>>>(points_, found_, queries_, numQueries_);
    classifyKernel<K><<<grid, 128>>>(points_, found_, queries_, numQueries_);
    GPU(cudaMemsetAsync(tiles_, 0, sizeof(TileTotals) * numTiles()));
    tileKernel<<<grid, 128>>>(queries_, numQueries_, tiles_, tilesX_, tilesY_);
    GPU(cudaGetLastError());
  }

  uint64_t checksum() const {
    std::vector<NeighbourSet<K>> found(numQueries_);
    std::vector<TileTotals> tiles(numTiles());
    GPU(cudaMemcpy(found.data(), found_, sizeof(NeighbourSet<K>) * found.size(), cudaMemcpyDeviceToHost));
    GPU(cudaMemcpy(tiles.data(), tiles_, sizeof(TileTotals) * tiles.size(), cudaMemcpyDeviceToHost));
    uint64_t h = 1469598103934665603ull;
    auto add = [&h](int64_t value) { h = (h ^ (uint64_t)value) * 1099511628211ull; };
    for (const auto& f : found)
      for (int index : f.index) add(index);
    for (const TileTotals& t : tiles) {
      for (int c : t.classes) add(c);
      add(t.returns + 3 * t.changed + 5 * t.displacement + 7 * t.maxRise);
    }
    return h;
  }

 private:
  int numTiles() const { return tilesX_ * tilesY_; }
  template <class T>
  static void upload(T*& device, const std::vector<T>& host) {
    GPU(cudaMalloc(&device, host.size() * sizeof(T)));
    GPU(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  }

  static int build(std::vector<ReferencePoint>& points, std::vector<KdNode>& nodes, int first, int last, int depth) {
    const int id = (int)nodes.size();
    nodes.push_back(KdNode{0, -1, -1, first, (short)std::min(last - first, LEAF_SIZE), 0, (uint8_t)depth});
    if (last - first <= LEAF_SIZE) return id;
    float low[3] = {1e30f, 1e30f, 1e30f}, high[3] = {-1e30f, -1e30f, -1e30f};
    for (int i = first; i < last; ++i)
      for (int a = 0; a < 3; ++a) {
        low[a] = std::min(low[a], points[i].along(a));
        high[a] = std::max(high[a], points[i].along(a));
      }
    int axis = 0;
    for (int a = 1; a < 3; ++a)
      if (high[a] - low[a] > high[axis] - low[axis]) axis = a;
    const int middle = (first + last) / 2;
    std::nth_element(points.begin() + first, points.begin() + middle, points.begin() + last,
                     [axis](const ReferencePoint& a, const ReferencePoint& b) { return a.along(axis) < b.along(axis); });
    const float split = points[middle].along(axis);
    const int left = build(points, nodes, first, middle, depth + 1);
    const int right = build(points, nodes, middle, last, depth + 1);
    nodes[id] = KdNode{split, left, right, first, 0, (uint8_t)axis, (uint8_t)depth};
    return id;
  }

  int numQueries_, tilesX_, tilesY_;
  KdNode* nodes_ = nullptr;
  ReferencePoint* points_ = nullptr;
  SurveyReturn* queries_ = nullptr;
  NeighbourSet<K>* found_ = nullptr;
  TileTotals* tiles_ = nullptr;
};

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::max(atoi(argv[1]), 64) : 600000;
  ChangeDetector detector(n, n / 2);
  const int STEPS = 20;
  cudaEvent_t t0, t1;
  GPU(cudaEventCreate(&t0));
  GPU(cudaEventCreate(&t1));
  detector.step();
  GPU(cudaEventRecord(t0));
  for (int s = 0; s < STEPS; ++s) detector.step();
  GPU(cudaEventRecord(t1));
  GPU(cudaEventSynchronize(t1));
  float ms = 0;
  GPU(cudaEventElapsedTime(&ms, t0, t1));
  printf("check %llu\ntime_ms %.4f\n", (unsigned long long)detector.checksum(), ms / STEPS);
  return 0;
}
