// Shortest paths over a road network in compressed rows: rounds of relaxations
// from a worklist, the tree of predecessors, and a summary of each region.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA_CHECK(call)                                                                      \
  do {                                                                                        \
    cudaError_t err_ = (call);                                                                \
    if (err_ != cudaSuccess) {                                                                \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(err_));      \
      std::exit(EXIT_FAILURE);                                                                \
    }                                                                                         \
  } while (0)

constexpr unsigned kInfinity = 0xffffffffu;
constexpr unsigned kNone = 0xffffffffu;
constexpr int kRounds = 16;
constexpr int kRegions = 4096;
constexpr int kLanesPerVertex = 8;
constexpr int kMaxDegree = 2000;
constexpr int kBlock = 256;

struct Edge {
  unsigned target;
  unsigned travel_time;
  unsigned short toll;
  unsigned char road_class;
  unsigned char closed;
};

struct Vertex {
  unsigned first_edge;
  unsigned distance;
  unsigned parent;
  unsigned queued;  // the last round that put it on the worklist
  unsigned short degree;
  unsigned short region;
};

struct WorkItem {
  unsigned vertex;
  unsigned distance;
  unsigned first_edge;
  unsigned degree;
};

struct Region {
  unsigned long long total_distance;
  unsigned reached;
  unsigned farthest;
};

struct CostModel {
  unsigned per_toll;
  unsigned class_penalty[4];
};

__constant__ CostModel cost_model = {3, {0, 2, 5, 11}};

__device__ inline unsigned edge_cost(const Edge& e) {
  return e.travel_time + cost_model.per_toll * e.toll + cost_model.class_penalty[e.road_class & 3];
}

// One atomic for all lanes of the warp that come here together.
__device__ inline unsigned reserve(unsigned* counter) {
  const unsigned active = __activemask();
  const unsigned lane = threadIdx.x & 31;
  const int leader = __ffs(active) - 1;
  unsigned base = 0;
  if (lane == static_cast<unsigned>(leader)) base = atomicAdd(counter, __popc(active));
  base = __shfl_sync(active, base, leader);
  return base + __popc(active & ((1u << lane) - 1));
}

__global__ void reset(Vertex* vertices, unsigned n, unsigned source, unsigned* queue, unsigned* count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  vertices[i].distance = i == source ? 0 : kInfinity;
  vertices[i].parent = kNone;
  vertices[i].queued = 0;
  if (i == source) {
    queue[0] = source;
    *count = 1;
  }
}

// Freezes the distances of the queued vertices, so that a round does not
// depend on the order in which its relaxations happen.
__global__ void expand_queue(const unsigned* queue, const unsigned* count, const Vertex* vertices, WorkItem* work) {
  const unsigned total = *count;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += gridDim.x * blockDim.x) {
    const unsigned v = queue[i];
    WorkItem item;
    item.vertex = v;
    item.distance = vertices[v].distance;
    item.first_edge = vertices[v].first_edge;
    item.degree = vertices[v].degree;
    work[i] = item;
  }
}

__global__ void relax(const WorkItem* work, const unsigned* count, const Edge* edges, Vertex* vertices,
                      unsigned* queue, unsigned* next_count, unsigned round) {
  const unsigned total = *count;
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned lane = thread % kLanesPerVertex;
  const unsigned groups = gridDim.x * blockDim.x / kLanesPerVertex;
  for (unsigned i = thread / kLanesPerVertex; i < total; i += groups) {
    const WorkItem item = work[i];
    for (unsigned k = lane; k < item.degree; k += kLanesPerVertex) {
      const Edge& e = edges[item.first_edge + k];
      if (e.closed) continue;
      const unsigned distance = item.distance + edge_cost(e);
      Vertex& to = vertices[e.target];
      if (distance >= to.distance) continue;
      if (distance < atomicMin(&to.distance, distance) && atomicExch(&to.queued, round) != round)
        queue[reserve(next_count)] = e.target;
    }
  }
}

__global__ void find_parents(Vertex* vertices, unsigned n, const Edge* edges) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned lane = thread % kLanesPerVertex;
  const unsigned v = thread / kLanesPerVertex;
  if (v >= n) return;
  const unsigned distance = vertices[v].distance;
  if (distance == kInfinity) return;
  const unsigned first = vertices[v].first_edge, degree = vertices[v].degree;
  for (unsigned k = lane; k < degree; k += kLanesPerVertex) {
    const Edge e = edges[first + k];
    if (e.closed) continue;
    if (distance + edge_cost(e) == vertices[e.target].distance) atomicMin(&vertices[e.target].parent, v);
  }
}

__global__ void summarize(const Vertex* vertices, unsigned n, Region* regions) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const Vertex& v = vertices[i];
  if (v.parent == kNone) return;
  Region& r = regions[v.region];
  atomicAdd(&r.reached, 1u);
  atomicMax(&r.farthest, v.distance);
  atomicAdd(&r.total_distance, static_cast<unsigned long long>(v.distance));
}

static unsigned hash(unsigned x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ (x >> 16);
}

static void build_graph(unsigned n, std::vector<Vertex>& vertices, std::vector<Edge>& edges) {
  vertices.resize(n);
  edges.reserve(static_cast<size_t>(n) * 6);
  for (unsigned i = 0; i < n; ++i) {
    const double u = (hash(i * 2 + 1) + 1.0) / 4294967296.0;
    const unsigned degree = static_cast<unsigned>(std::fmin(1.0 + 1.5 * std::pow(u, -0.7), kMaxDegree));
    Vertex& v = vertices[i];
    v.first_edge = static_cast<unsigned>(edges.size());
    v.degree = static_cast<unsigned short>(degree);
    v.region = static_cast<unsigned short>(static_cast<uint64_t>(i) * kRegions / n);
    v.distance = kInfinity;
    v.parent = kNone;
    v.queued = 0;
    for (unsigned k = 0; k < degree; ++k) {
      const unsigned h = hash(v.first_edge + k + 0x9e3779b9u), g = hash(h + 0x51ed270bu);
      Edge e;
      if (h % 8 == 0) {  // a motorway, more often to the dense end of the network
        const double x = g / 4294967296.0;
        e.target = static_cast<unsigned>(n * x * x);
        e.travel_time = 200 + (h >> 8) % 2000;
        e.road_class = 0;
      } else {
        const unsigned span = (1 + (g >> 8) % (1u << (h >> 4) % 11)) % n;
        e.target = (h >> 3) & 1 ? (i + span) % n : (i + n - span) % n;
        e.travel_time = 10 + span + (h >> 16) % 50;
        e.road_class = static_cast<unsigned char>(1 + g % 3);
      }
      e.toll = static_cast<unsigned short>(e.road_class == 0 ? (g >> 4) % 100 : 0);
      e.closed = (g >> 20) % 50 == 0;
      edges.push_back(e);
    }
  }
}

static int blocks_for(size_t threads) { return static_cast<int>((threads + kBlock - 1) / kBlock); }

int main(int argc, char** argv) {
  const unsigned n = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 3200000u;
  std::vector<Vertex> vertices;
  std::vector<Edge> edges;
  build_graph(n, vertices, edges);

  Vertex* d_vertices;
  Edge* d_edges;
  WorkItem* d_work;
  Region* d_regions;
  unsigned *d_queue, *d_counts;
  CUDA_CHECK(cudaMalloc(&d_vertices, n * sizeof(Vertex)));
  CUDA_CHECK(cudaMalloc(&d_edges, edges.size() * sizeof(Edge)));
  CUDA_CHECK(cudaMalloc(&d_work, n * sizeof(WorkItem)));
  CUDA_CHECK(cudaMalloc(&d_regions, kRegions * sizeof(Region)));
  CUDA_CHECK(cudaMalloc(&d_queue, n * sizeof(unsigned)));
  CUDA_CHECK(cudaMalloc(&d_counts, (kRounds + 1) * sizeof(unsigned)));
  CUDA_CHECK(cudaMemcpy(d_vertices, vertices.data(), n * sizeof(Vertex), cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(d_edges, edges.data(), edges.size() * sizeof(Edge), cudaMemcpyHostToDevice));

  int sms = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
  const int persistent = sms * 8;

  auto step = [&](unsigned source) {
    CUDA_CHECK(cudaMemsetAsync(d_counts, 0, (kRounds + 1) * sizeof(unsigned)));
    CUDA_CHECK(cudaMemsetAsync(d_regions, 0, kRegions * sizeof(Region)));
    reset<<<blocks_for(n), kBlock>>>(d_vertices, n, source, d_queue, d_counts);
    for (int r = 0; r < kRounds; ++r) {
      expand_queue<<<persistent, kBlock>>>(d_queue, d_counts + r, d_vertices, d_work);
      relax<<<persistent, kBlock>>>(d_work, d_counts + r, d_edges, d_vertices, d_queue, d_counts + r + 1, r + 1);
    }
    find_parents<<<blocks_for(static_cast<size_t>(n) * kLanesPerVertex), kBlock>>>(d_vertices, n, d_edges);
    summarize<<<blocks_for(n), kBlock>>>(d_vertices, n, d_regions);
    CUDA_CHECK(cudaGetLastError());
  };

  constexpr int kSteps = 20;
  cudaEvent_t start, stop;
  CUDA_CHECK(cudaEventCreate(&start));
  CUDA_CHECK(cudaEventCreate(&stop));
  step(0);
  CUDA_CHECK(cudaEventRecord(start));
  for (int s = 1; s <= kSteps; ++s) step(hash(s) % n);
  CUDA_CHECK(cudaEventRecord(stop));
  CUDA_CHECK(cudaEventSynchronize(stop));
  float ms = 0;
  CUDA_CHECK(cudaEventElapsedTime(&ms, start, stop));

  std::vector<Region> regions(kRegions);
  CUDA_CHECK(cudaMemcpy(vertices.data(), d_vertices, n * sizeof(Vertex), cudaMemcpyDeviceToHost));
  CUDA_CHECK(cudaMemcpy(regions.data(), d_regions, kRegions * sizeof(Region), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Vertex& v : vertices) check = check * 31 + v.distance + 3ull * v.parent + 7ull * v.queued;
  for (const Region& r : regions) check = check * 31 + r.total_distance + 3ull * r.reached + 5ull * r.farthest;
  std::printf("check %llu\ntime_ms %.4f\n", check, ms / kSteps);

  cudaFree(d_vertices);
  cudaFree(d_edges);
  cudaFree(d_work);
  cudaFree(d_regions);
  cudaFree(d_queue);
  cudaFree(d_counts);
  return 0;
}
