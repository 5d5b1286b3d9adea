// Classifies samples with a random forest: each thread walks all trees with its
// sample and counts votes; a second kernel fills per-class statistics.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

inline void check_cuda(cudaError_t e, const char* what) {
  if (e != cudaSuccess) {
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
    exit(1);
  }
}

constexpr int NUM_FEATURES = 20;
constexpr int NUM_CLASSES = 5;
constexpr int NUM_TREES = 48;
constexpr int MAX_DEPTH = 12;
constexpr int BLOCK = 256;

struct TreeNode {
  short feature;               // -1 in a leaf
  unsigned char label;         // of a leaf
  unsigned char missing_left;  // where samples without the feature go
  float threshold;
  int left;
  int right;
};

struct Sample {
  int id;
  short label;
  unsigned char weight;
  unsigned char fold;
  float features[NUM_FEATURES];
};

struct Prediction {
  unsigned short votes[NUM_CLASSES];
  unsigned char label;
  float margin;
};

struct ClassStats {
  unsigned int support;
  unsigned int predicted;
  unsigned int correct;
  unsigned int confident;
};

__device__ int walk_tree(const TreeNode* nodes, int root, const Sample& sample) {
  int current = root;
  while (nodes[current].feature >= 0) {
    const float value = sample.features[nodes[current].feature];
    bool go_left;
    if (isnan(value)) {
      go_left = nodes[current].missing_left != 0;
    } else {
      go_left = value < nodes[current].threshold;
    }
    current = go_left ? nodes[current].left : nodes[current].right;
  }
  return nodes[current].label;
}

__global__ void vote_kernel(const TreeNode* nodes, const int* roots, const Sample* samples, Prediction* predictions,
                            int num_samples) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= num_samples) return;

  int votes[NUM_CLASSES] = {};
  for (int t = 0; t < NUM_TREES; ++t) {
    const int label = walk_tree(nodes, roots[t], samples[i]);
#pragma unroll
    for (int c = 0; c < NUM_CLASSES; ++c) votes[c] += c == label;
  }

  int best = 0, first = -1, second = -1;
#pragma unroll
  for (int c = 0; c < NUM_CLASSES; ++c) {
    predictions[i].votes[c] = (unsigned short)votes[c];
    if (votes[c] > first) {
      second = first;
      first = votes[c];
      best = c;
    } else if (votes[c] > second) {
      second = votes[c];
    }
  }
  predictions[i].label = (unsigned char)best;
  predictions[i].margin = (float)(first - second) / NUM_TREES;
}

__global__ void evaluate_kernel(const Sample* samples, const Prediction* predictions, ClassStats* stats,
                                int num_samples, int fold) {
  __shared__ ClassStats local[NUM_CLASSES];
  if (threadIdx.x < NUM_CLASSES) local[threadIdx.x] = ClassStats{0, 0, 0, 0};
  __syncthreads();

  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < num_samples; i += gridDim.x * blockDim.x) {
    if (samples[i].fold == fold) continue;
    const unsigned int w = samples[i].weight;
    const int truth = samples[i].label;
    const int guess = predictions[i].label;
    atomicAdd(&local[truth].support, w);
    atomicAdd(&local[guess].predicted, w);
    if (truth == guess) atomicAdd(&local[truth].correct, w);
    if (predictions[i].margin > 0.25f) atomicAdd(&local[guess].confident, w);
  }
  __syncthreads();
  if (threadIdx.x < NUM_CLASSES) {
    const ClassStats s = local[threadIdx.x];
    atomicAdd(&stats[threadIdx.x].support, s.support);
    atomicAdd(&stats[threadIdx.x].predicted, s.predicted);
    atomicAdd(&stats[threadIdx.x].correct, s.correct);
    atomicAdd(&stats[threadIdx.x].confident, s.confident);
  }
}

// The concept that the forest has learnt.
static int true_class(const float* f) {
  const float score = f[0] + 0.5f * f[3] * f[7] + (f[5] > 0.6f ? 0.8f : 0.0f) + 0.7f * f[11];
  return std::min(NUM_CLASSES - 1, (int)(score * 1.8f));
}

class ForestBuilder {
 public:
  explicit ForestBuilder(unsigned int seed) : rng_(seed) {}

  int add_tree() {
    std::fill(low_, low_ + NUM_FEATURES, 0.0f);
    std::fill(high_, high_ + NUM_FEATURES, 1.0f);
    return grow(0);
  }
  const std::vector<TreeNode>& nodes() const { return nodes_; }

 private:
  float uniform() { return (rng_() - 1) * (1.0f / 2147483648.0f); }

  int grow(int depth) {
    const int me = (int)nodes_.size();
    nodes_.push_back(TreeNode{-1, 0, 0, 0.0f, -1, -1});
    if (depth == MAX_DEPTH || (depth > 6 && uniform() < 0.15f)) {
      float center[NUM_FEATURES];
      for (int k = 0; k < NUM_FEATURES; ++k) center[k] = low_[k] + (high_[k] - low_[k]) * uniform();
      nodes_[me].label = (unsigned char)true_class(center);
      return me;
    }
    static const int informative[] = {0, 3, 5, 7, 11};
    const int f = uniform() < 0.6f ? informative[rng_() % 5] : (int)(rng_() % NUM_FEATURES);
    const float low = low_[f], high = high_[f];
    const float split = low + (high - low) * (0.25f + 0.5f * uniform());
    nodes_[me].feature = (short)f;
    nodes_[me].threshold = split;
    nodes_[me].missing_left = rng_() & 1;
    high_[f] = split;
    const int left = grow(depth + 1);
    high_[f] = high;
    low_[f] = split;
    const int right = grow(depth + 1);
    low_[f] = low;
    nodes_[me].left = left;
    nodes_[me].right = right;
    return me;
  }

  std::minstd_rand rng_;
  std::vector<TreeNode> nodes_;
  float low_[NUM_FEATURES], high_[NUM_FEATURES];
};

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::max(1, atoi(argv[1])) : 1000000;

  ForestBuilder forest(4711);
  std::vector<int> roots;
  for (int t = 0; t < NUM_TREES; ++t) roots.push_back(forest.add_tree());
  const std::vector<TreeNode>& nodes = forest.nodes();

  std::vector<Sample> samples(n);
  std::minstd_rand rng(17);
  for (int i = 0; i < n; ++i) {
    Sample& s = samples[i];
    for (float& f : s.features) f = (rng() & 0xffffff) / 16777216.0f;
    s.id = i;
    s.label = (short)true_class(s.features);
    s.weight = (unsigned char)(1 + rng() % 4);
    s.fold = (unsigned char)(rng() % 5);
    if (rng() % 4 == 0) s.features[rng() % NUM_FEATURES] = std::numeric_limits<float>::quiet_NaN();
  }

  TreeNode* d_nodes = nullptr;
  int* d_roots = nullptr;
  Sample* d_samples = nullptr;
  Prediction* d_predictions = nullptr;
  ClassStats* d_stats = nullptr;
  check_cuda(cudaMalloc(&d_nodes, nodes.size() * sizeof(TreeNode)), "nodes");
  check_cuda(cudaMalloc(&d_roots, roots.size() * sizeof(int)), "roots");
  check_cuda(cudaMalloc(&d_samples, n * sizeof(Sample)), "samples");
  check_cuda(cudaMalloc(&d_predictions, n * sizeof(Prediction)), "predictions");
  check_cuda(cudaMalloc(&d_stats, NUM_CLASSES * sizeof(ClassStats)), "stats");
  check_cuda(cudaMemcpy(d_nodes, nodes.data(), nodes.size() * sizeof(TreeNode), cudaMemcpyHostToDevice), "nodes");
  check_cuda(cudaMemcpy(d_roots, roots.data(), roots.size() * sizeof(int), cudaMemcpyHostToDevice), "roots");
  check_cuda(cudaMemcpy(d_samples, samples.data(), n * sizeof(Sample), cudaMemcpyHostToDevice), "samples");
  check_cuda(cudaMemset(d_stats, 0, NUM_CLASSES * sizeof(ClassStats)), "stats");

  const int blocks = (n + BLOCK - 1) / BLOCK;
  const int eval_blocks = std::min(blocks, 1024);
  cudaEvent_t begin, end;
  check_cuda(cudaEventCreate(&begin), "event");
  check_cuda(cudaEventCreate(&end), "event");
  const int repeats = 20;
  for (int r = -1; r < repeats; ++r) {
    if (r == 0) check_cuda(cudaEventRecord(begin), "record");
    vote_kernel<<<blocks, BLOCK>>>(d_nodes, d_roots, d_samples, d_predictions, n);
    evaluate_kernel<<<eval_blocks, BLOCK>>>(d_samples, d_predictions, d_stats, n, (r + 5) % 5);
    check_cuda(cudaGetLastError(), "launch");
  }
  check_cuda(cudaEventRecord(end), "record");
  check_cuda(cudaEventSynchronize(end), "synchronize");
  float ms = 0;
  check_cuda(cudaEventElapsedTime(&ms, begin, end), "elapsed");

  std::vector<Prediction> predictions(n);
  std::vector<ClassStats> stats(NUM_CLASSES);
  check_cuda(cudaMemcpy(predictions.data(), d_predictions, n * sizeof(Prediction), cudaMemcpyDeviceToHost), "copy");
  check_cuda(cudaMemcpy(stats.data(), d_stats, NUM_CLASSES * sizeof(ClassStats), cudaMemcpyDeviceToHost), "copy");
  unsigned long long check = 0;
  for (const Prediction& p : predictions) {
    check = check * 31 + p.label + (unsigned long long)(p.margin * NUM_TREES + 0.5f);
    for (int c = 0; c < NUM_CLASSES; ++c) check = check * 7 + p.votes[c];
  }
  for (const ClassStats& s : stats) check = check * 31 + s.support + 3ull * s.predicted + 5ull * s.correct + s.confident;

  cudaFree(d_nodes);
  cudaFree(d_roots);
  cudaFree(d_samples);
  cudaFree(d_predictions);
  cudaFree(d_stats);
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  return 0;
}
