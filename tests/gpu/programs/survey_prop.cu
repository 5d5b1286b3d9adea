// Survey propagation on a random 3-SAT formula.  Every literal occurrence is
// an edge record; clause c owns the edges 3c, 3c+1 and 3c+2.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>
#include <cuda_runtime.h>

#define CUDA_TRY(call)                                                       \
  do {                                                                       \
    cudaError_t err = call;                                                  \
    if (err != cudaSuccess) {                                                \
      fprintf(stderr, "%s at %s:%d\n", cudaGetErrorString(err), __FILE__,    \
              __LINE__);                                                     \
      exit(1);                                                               \
    }                                                                        \
  } while (0)

const int K = 3;
const int BLOCK = 256;

struct Edge {
  int var;
  int clause;
  float eta;      // survey sent by the clause to the variable
  float ratio;    // chance that the variable cannot satisfy the clause
  float start;    // starting survey
  bool negated;
  bool frozen;
};

struct Variable {
  int first;      // into the list of edges by variable
  int degree;
  float prod_pos; // product of 1 - eta over positive occurrences
  float prod_neg;
  float bias;
  signed char value;
};

struct Clause {
  float weight;
  float change;
  int satisfied;
};

template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(const std::vector<T> &h) : size_(h.size()) {
    CUDA_TRY(cudaMalloc(&p_, size_ * sizeof(T)));
    CUDA_TRY(cudaMemcpy(p_, h.data(), size_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  ~DeviceArray() { cudaFree(p_); }
  DeviceArray(const DeviceArray &) = delete;
  DeviceArray &operator=(const DeviceArray &) = delete;
  T *get() { return p_; }
  void download(std::vector<T> &h) const {
    h.resize(size_);
    CUDA_TRY(cudaMemcpy(h.data(), p_, size_ * sizeof(T), cudaMemcpyDeviceToHost));
  }

 private:
  T *p_ = nullptr;
  size_t size_;
};

__global__ void restart(Edge *e, int ne) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < ne) {
    e[i].eta = e[i].start;
    e[i].frozen = false;
  }
}

__global__ void variable_products(Variable *v, int nv, const int *by_var, const Edge *e) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= nv) return;
  int first = v[i].first;
  int last = first + v[i].degree;
  float pos = 1.0f, neg = 1.0f;
  for (int k = first; k < last; k++) {
    const Edge &x = e[by_var[k]];
    float f = fmaxf(1.0f - x.eta, 1e-4f);
    if (x.negated) neg *= f;
    else pos *= f;
  }
  v[i].prod_pos = pos;
  v[i].prod_neg = neg;
}

__global__ void edge_ratios(Edge *e, int ne, const Variable *v) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= ne) return;
  if (e[i].frozen) return;
  float pos = v[e[i].var].prod_pos;
  float neg = v[e[i].var].prod_neg;
  float same = e[i].negated ? neg : pos;   // occurrences of the same sign
  float other = e[i].negated ? pos : neg;
  same /= fmaxf(1.0f - e[i].eta, 1e-4f);   // without this edge itself
  float unsat = (1.0f - other) * same;
  float sat = (1.0f - same) * other;
  float none = same * other;
  float sum = unsat + sat + none;
  e[i].ratio = sum > 1e-30f ? unsat / sum : 0.0f;
}

__global__ void clause_surveys(Clause *c, int nc, Edge *e) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= nc) return;
  Edge *x = e + (size_t)i * K;
  float r[K];
  for (int k = 0; k < K; k++) r[k] = x[k].ratio;
  float change = 0.0f;
  for (int k = 0; k < K; k++) {
    float p = 1.0f;
    for (int j = 0; j < K; j++)
      if (j != k) p *= r[j];
    float eta = 0.5f * (p + x[k].eta);     // damped
    change = fmaxf(change, fabsf(eta - x[k].eta));
    x[k].eta = eta;
  }
  c[i].change = change;
}

__global__ void variable_bias(Variable *v, int nv) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= nv) return;
  float pos = v[i].prod_pos, neg = v[i].prod_neg;
  float up = (1.0f - pos) * neg;
  float down = (1.0f - neg) * pos;
  float none = pos * neg;
  float sum = up + down + none;
  float bias = sum > 1e-30f ? (up - down) / sum : 0.0f;
  v[i].bias = bias;
  if (bias > 0.2f) v[i].value = 1;
  else if (bias < -0.2f) v[i].value = -1;
  else v[i].value = 0;
}

__global__ void clause_status(Clause *c, int nc, const Edge *e, const Variable *v) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= nc) return;
  int sat = 0;
  for (int k = 0; k < K; k++) {
    const Edge &x = e[i * K + k];
    int val = v[x.var].value;
    if (val == 0) continue;
    if ((val > 0) != x.negated) sat++;
  }
  c[i].satisfied = sat;
}

int main(int argc, char **argv) {
  int nv = argc > 1 ? atoi(argv[1]) : 400000;
  double ratio = argc > 2 ? atof(argv[2]) : 4.2;
  int iterations = argc > 3 ? atoi(argv[3]) : 25;
  int reps = argc > 4 ? atoi(argv[4]) : 10;
  int nc = (int)(nv * ratio);
  int ne = nc * K;

  std::mt19937 rng(1234567);
  std::vector<Edge> edges(ne);
  std::vector<Variable> vars(nv);
  std::vector<Clause> clauses(nc);
  for (auto &v : vars) v = Variable{0, 0, 1.0f, 1.0f, 0.0f, 0};
  for (int c = 0; c < nc; c++) {
    clauses[c] = Clause{1.0f + (rng() & 3), 0.0f, 0};
    for (int k = 0; k < K; k++) {
      Edge &e = edges[c * K + k];
      e.var = (int)(rng() % (unsigned)nv);
      e.clause = c;
      e.start = 0.2f + 0.6f * (rng() & 0xffff) / 65536.0f;
      e.eta = e.start;
      e.ratio = 0.0f;
      e.negated = rng() & 1;
      e.frozen = false;
      vars[e.var].degree++;
    }
  }
  int sum = 0;
  for (auto &v : vars) {
    v.first = sum;
    sum += v.degree;
  }
  std::vector<int> by_var(ne), fill(nv, 0);
  for (int i = 0; i < ne; i++) {
    int v = edges[i].var;
    by_var[vars[v].first + fill[v]++] = i;
  }

  DeviceArray<Edge> d_edges(edges);
  DeviceArray<Variable> d_vars(vars);
  DeviceArray<Clause> d_clauses(clauses);
  DeviceArray<int> d_by_var(by_var);

  auto blocks = [](int n) { return (n + BLOCK - 1) / BLOCK; };
  auto solve = [&]() {
    restart<<<blocks(ne), BLOCK>>>(d_edges.get(), ne);
    for (int it = 0; it < iterations; it++) {
      variable_products<<<blocks(nv), BLOCK>>>(d_vars.get(), nv, d_by_var.get(), d_edges.get());
      edge_ratios<<<blocks(ne), BLOCK>>>(d_edges.get(), ne, d_vars.get());
      clause_surveys<<<blocks(nc), BLOCK>>>(d_clauses.get(), nc, d_edges.get());
    }
    variable_bias<<<blocks(nv), BLOCK>>>(d_vars.get(), nv);
    clause_status<<<blocks(nc), BLOCK>>>(d_clauses.get(), nc, d_edges.get(), d_vars.get());
  };

  solve();
  CUDA_TRY(cudaDeviceSynchronize());
  cudaEvent_t start, stop;
  CUDA_TRY(cudaEventCreate(&start));
  CUDA_TRY(cudaEventCreate(&stop));
  CUDA_TRY(cudaEventRecord(start));
  for (int r = 0; r < reps; r++) solve();
  CUDA_TRY(cudaEventRecord(stop));
  CUDA_TRY(cudaEventSynchronize(stop));
  float ms = 0;
  CUDA_TRY(cudaEventElapsedTime(&ms, start, stop));

  d_edges.download(edges);
  d_vars.download(vars);
  d_clauses.download(clauses);
  double eta = 0, bias = 0, change = 0, sat = 0, fixed = 0;
  for (const auto &e : edges) eta += e.eta;
  for (const auto &v : vars) {
    bias += std::fabs(v.bias);
    fixed += v.value != 0;
  }
  for (const auto &c : clauses) {
    change += c.change;
    sat += c.satisfied > 0 ? c.weight : 0.0f;
  }
  printf("check mean_eta %.5g\n", eta / ne);
  printf("check mean_abs_bias %.5g\n", bias / nv);
  printf("check mean_change %.4g\n", change / nc);
  printf("check fixed_share %.3g\n", fixed / nv);
  printf("check satisfied_weight %.3g\n", sat / nc);
  printf("time_ms %.6f\n", ms / reps);
  return 0;
}
