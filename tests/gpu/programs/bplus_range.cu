// Range queries over a bulk-loaded B+ tree: nodes are fixed-size records
// in one array, leaves are chained, the values lie in an item array.
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>
#include <cuda_runtime.h>

#define CUDA_OK(x)                                                    \
  if (cudaError_t err__ = (x)) {                                      \
    fprintf(stderr, "CUDA error %s at line %d\n",                     \
            cudaGetErrorString(err__), __LINE__);                     \
    exit(1);                                                          \
  }

constexpr int kMaxKeys = 14;
constexpr int kFill = 12;

struct Node {
  int is_leaf;
  int num_keys;
  int next;                  // next leaf, or -1
  int keys[kMaxKeys];
  int child[kMaxKeys + 1];   // nodes, or items in leaves
};

struct Item {
  int key;
  int date;
  float price;
  float quantity;
  int store;
  unsigned hits;
};

struct Query {
  int lo, hi;
  int leaf;
  int count;
  float revenue;
  float max_price;
  int newest;
};

__global__ void find_leaf(Query *q, int nq, const Node *nodes, int root) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= nq) return;
  int key = q[i].lo;
  int cur = root;
  while (!nodes[cur].is_leaf) {
    int k = 0;
    int nk = nodes[cur].num_keys;
    while (k < nk && key >= nodes[cur].keys[k]) k++;
    cur = nodes[cur].child[k];
  }
  q[i].leaf = cur;
}

__global__ void range_sum(Query *q, int nq, const Node *nodes, const Item *items) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= nq) return;
  int lo = q[i].lo, hi = q[i].hi;
  int cur = q[i].leaf;
  int count = 0;
  float revenue = 0.0f;
  bool done = false;
  while (cur >= 0 && !done) {
    int nk = nodes[cur].num_keys;
    for (int k = 0; k < nk; k++) {
      int key = nodes[cur].keys[k];
      if (key < lo) continue;
      if (key >= hi) {
        done = true;
        break;
      }
      int it = nodes[cur].child[k];
      revenue += items[it].price * items[it].quantity;
      count++;
    }
    cur = nodes[cur].next;
  }
  q[i].count = count;
  q[i].revenue = revenue;
}

// Items are stored by key, so the second query type starts from the
// first item that the leaf gives and goes straight through the items.
__global__ void range_extremes(Query *q, int nq, const Node *nodes, const Item *items,
                               int nitems) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= nq) return;
  if (q[i].count == 0) {
    q[i].max_price = 0.0f;
    q[i].newest = 0;
    return;
  }
  int it = nodes[q[i].leaf].child[0];
  float best = 0.0f;
  int newest = 0;
  for (; it < nitems && items[it].key < q[i].hi; it++) {
    if (items[it].key < q[i].lo) continue;
    best = fmaxf(best, items[it].price);
    newest = max(newest, items[it].date);
  }
  q[i].max_price = best;
  q[i].newest = newest;
}

__global__ void mark_hits(const Query *q, int nq, const Node *nodes, Item *items) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= nq) return;
  const Node &leaf = nodes[q[i].leaf];
  for (int k = 0; k < leaf.num_keys; k++) {
    if (leaf.keys[k] >= q[i].lo) {
      atomicAdd(&items[leaf.child[k]].hits, 1u);
      return;
    }
  }
}

static int build_tree(const std::vector<Item> &items, std::vector<Node> &nodes) {
  std::vector<int> level, low;
  int n = (int)items.size();
  for (int i = 0; i < n; i += kFill) {
    Node nd = {};
    nd.is_leaf = 1;
    nd.next = i + kFill < n ? (int)nodes.size() + 1 : -1;
    for (int k = 0; k < kFill && i + k < n; k++) {
      nd.keys[k] = items[i + k].key;
      nd.child[k] = i + k;
      nd.num_keys++;
    }
    level.push_back((int)nodes.size());
    low.push_back(nd.keys[0]);
    nodes.push_back(nd);
  }
  while (level.size() > 1) {
    std::vector<int> up, uplow;
    for (size_t i = 0; i < level.size(); i += kFill + 1) {
      Node nd = {};
      nd.next = -1;
      nd.child[0] = level[i];
      for (int k = 1; k <= kFill && i + k < level.size(); k++) {
        nd.keys[k - 1] = low[i + k];
        nd.child[k] = level[i + k];
        nd.num_keys++;
      }
      up.push_back((int)nodes.size());
      uplow.push_back(low[i]);
      nodes.push_back(nd);
    }
    level.swap(up);
    low.swap(uplow);
  }
  return level[0];
}

int main(int argc, char **argv) {
  int nitems = argc > 1 ? atoi(argv[1]) : 3000000;
  int nq = argc > 2 ? atoi(argv[2]) : 1000000;
  int reps = argc > 3 ? atoi(argv[3]) : 20;

  std::mt19937 gen(2024);
  std::vector<Item> items(nitems);
  int key = 0;
  for (Item &it : items) {
    key += 1 + (int)(gen() % 8);
    it.key = key;
    it.date = 20000000 + (int)(gen() % 300000);
    it.price = 1.0f + (gen() % 10000) * 0.01f;
    it.quantity = (float)(1 + gen() % 20);
    it.store = (int)(gen() % 500);
    it.hits = 0;
  }
  std::vector<Query> queries(nq);
  for (Query &q : queries) {
    q = Query();
    q.lo = (int)(gen() % (unsigned)key);
    q.hi = q.lo + 16 + (int)(gen() % 240);
  }
  std::vector<Node> nodes;
  int root = build_tree(items, nodes);

  Node *dn;
  Item *di;
  Query *dq;
  CUDA_OK(cudaMalloc(&dn, nodes.size() * sizeof(Node)));
  CUDA_OK(cudaMalloc(&di, items.size() * sizeof(Item)));
  CUDA_OK(cudaMalloc(&dq, queries.size() * sizeof(Query)));
  CUDA_OK(cudaMemcpy(dn, nodes.data(), nodes.size() * sizeof(Node), cudaMemcpyHostToDevice));
  CUDA_OK(cudaMemcpy(di, items.data(), items.size() * sizeof(Item), cudaMemcpyHostToDevice));
  CUDA_OK(cudaMemcpy(dq, queries.data(), queries.size() * sizeof(Query), cudaMemcpyHostToDevice));

  const int threads = 256, blocks = (nq + threads - 1) / threads;
  auto run_all = [&]() {
    find_leaf<<<blocks, threads>>>(dq, nq, dn, root);
    range_sum<<<blocks, threads>>>(dq, nq, dn, di);
    range_extremes<<<blocks, threads>>>(dq, nq, dn, di, nitems);
    mark_hits<<<blocks, threads>>>(dq, nq, dn, di);
  };
  run_all();
  CUDA_OK(cudaDeviceSynchronize());

  cudaEvent_t e0, e1;
  CUDA_OK(cudaEventCreate(&e0));
  CUDA_OK(cudaEventCreate(&e1));
  CUDA_OK(cudaEventRecord(e0));
  for (int r = 0; r < reps; r++) run_all();
  CUDA_OK(cudaEventRecord(e1));
  CUDA_OK(cudaEventSynchronize(e1));
  float ms;
  CUDA_OK(cudaEventElapsedTime(&ms, e0, e1));

  CUDA_OK(cudaMemcpy(queries.data(), dq, queries.size() * sizeof(Query), cudaMemcpyDeviceToHost));
  CUDA_OK(cudaMemcpy(items.data(), di, items.size() * sizeof(Item), cudaMemcpyDeviceToHost));
  long long count = 0, newest = 0, hits = 0, hitpos = 0;
  double revenue = 0, maxp = 0;
  for (const Query &q : queries) {
    count += q.count;
    newest += q.newest;
    revenue += q.revenue;
    maxp += q.max_price;
  }
  for (int i = 0; i < nitems; i++) {
    hits += items[i].hits;
    hitpos += (long long)items[i].hits * (i % 1001);
  }
  printf("check count %lld\n", count);
  printf("check revenue %.6g\n", revenue);
  printf("check max_price %.6g\n", maxp);
  printf("check newest %lld\n", newest);
  printf("check hits %lld\n", hits);
  printf("check hit_positions %lld\n", hitpos);
  printf("time_ms %.6f\n", ms / reps);
  cudaFree(dn);
  cudaFree(di);
  cudaFree(dq);
  return 0;
}
