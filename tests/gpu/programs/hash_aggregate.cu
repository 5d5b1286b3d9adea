// SELECT customer, COUNT, SUM, MIN, MAX ... WHERE ... GROUP BY customer HAVING ...
// with an open-addressing hash table in global memory.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(expr)                                                                          \
  do {                                                                                       \
    cudaError_t e = (expr);                                                                  \
    if (e != cudaSuccess) {                                                                  \
      std::fprintf(stderr, "%s(%d): %s\n", __FILE__, __LINE__, cudaGetErrorString(e));       \
      std::exit(1);                                                                          \
    }                                                                                        \
  } while (0)

using Key = unsigned long long;
constexpr Key kEmptyKey = ~Key{0};

enum Status : uint8_t { kOpen, kShipped, kReturned, kCancelled };

struct Order {
  Key customer;
  int32_t amount_cents;
  int32_t quantity;
  int32_t day;
  int16_t discount_bp;  // hundredths of a percent
  uint8_t region;
  uint8_t status;
};

struct Bucket {
  Key key;
  unsigned long long revenue;
  uint32_t count;
  uint32_t quantity;
  int32_t min_amount;
  int32_t max_amount;
};

struct Group {
  Key customer;
  double average;
  long long revenue;
  uint32_t count;
  int32_t spread;
  float per_item;
};

struct RegionTotal {
  unsigned long long gross;
  uint32_t orders;
  uint32_t returned;
};

struct Filter {
  int32_t first_day, last_day;
  uint32_t min_count;
};

constexpr int kRegions = 16;

__host__ __device__ inline Key Mix(Key k) {
  k ^= k >> 33;
  k *= 0xff51afd7ed558ccdull;
  k ^= k >> 33;
  k *= 0xc4ceb9fe1a85ec53ull;
  k ^= k >> 33;
  return k;
}

__global__ void ClearTable(Bucket* table, uint32_t capacity) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= capacity) return;
  table[i].key = kEmptyKey;
  table[i].revenue = 0;
  table[i].count = 0;
  table[i].quantity = 0;
  table[i].min_amount = INT32_MAX;
  table[i].max_amount = INT32_MIN;
}

// Linear probing; there are always free buckets, so this ends.
__device__ uint32_t FindOrInsert(Bucket* table, uint32_t mask, Key key) {
  uint32_t slot = static_cast<uint32_t>(Mix(key)) & mask;
  while (true) {
    Key seen = table[slot].key;
    if (seen == kEmptyKey) seen = atomicCAS(&table[slot].key, kEmptyKey, key);
    if (seen == kEmptyKey || seen == key) return slot;
    slot = (slot + 1) & mask;
  }
}

__global__ void Aggregate(const Order* orders, int n, Bucket* table, uint32_t mask, Filter filter) {
  const int stride = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
    if (orders[i].status == kCancelled) continue;
    const int32_t day = orders[i].day;
    if (day < filter.first_day || day > filter.last_day) continue;

    const int32_t amount = orders[i].amount_cents;
    const long long net = static_cast<long long>(amount) * (10000 - orders[i].discount_bp) / 10000;
    const uint32_t slot = FindOrInsert(table, mask, orders[i].customer);
    atomicAdd(&table[slot].count, 1u);
    atomicAdd(&table[slot].revenue, static_cast<unsigned long long>(net));
    atomicAdd(&table[slot].quantity, static_cast<uint32_t>(orders[i].quantity));
    atomicMin(&table[slot].min_amount, amount);
    atomicMax(&table[slot].max_amount, amount);
  }
}

__global__ void SumRegions(const Order* orders, int n, RegionTotal* totals) {
  __shared__ RegionTotal partial[kRegions];
  for (int r = threadIdx.x; r < kRegions; r += blockDim.x) partial[r] = {0, 0, 0};
  __syncthreads();
  const int stride = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
    RegionTotal& t = partial[orders[i].region];
    atomicAdd(&t.gross, static_cast<unsigned long long>(orders[i].amount_cents));
    atomicAdd(&t.orders, 1u);
    if (orders[i].status == kReturned) atomicAdd(&t.returned, 1u);
  }
  __syncthreads();
  for (int r = threadIdx.x; r < kRegions; r += blockDim.x) {
    atomicAdd(&totals[r].gross, partial[r].gross);
    atomicAdd(&totals[r].orders, partial[r].orders);
    atomicAdd(&totals[r].returned, partial[r].returned);
  }
}

__global__ void ExtractGroups(const Bucket* table, uint32_t capacity, Group* groups, uint32_t* group_count,
                              Filter filter) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= capacity) return;
  if (table[i].key == kEmptyKey || table[i].count < filter.min_count) return;
  const Bucket b = table[i];
  Group g;
  g.customer = b.key;
  g.revenue = static_cast<long long>(b.revenue);
  g.count = b.count;
  g.average = static_cast<double>(g.revenue) / b.count;
  g.spread = b.max_amount - b.min_amount;
  g.per_item = static_cast<float>(g.revenue) / b.quantity;
  groups[atomicAdd(group_count, 1u)] = g;
}

static std::vector<Order> MakeOrders(int n, int customers) {
  std::vector<Order> orders(n);
  Key state = 0x9e3779b97f4a7c15ull;
  auto next = [&state] { return Mix(state += 0x9e3779b97f4a7c15ull); };
  for (Order& o : orders) {
    const Key r = next(), s = next();
    // a few customers order often
    const double u = (r >> 11) * (1.0 / 9007199254740992.0);
    const Key rank = static_cast<Key>(u * std::sqrt(u) * customers);
    o.customer = Mix(rank + 1) >> 1;
    o.amount_cents = static_cast<int32_t>(100 + (s & 0xffff) * ((s >> 16 & 7) + 1));
    o.quantity = static_cast<int32_t>(1 + (s >> 20) % 12);
    o.day = static_cast<int32_t>(18000 + (s >> 24) % 730);
    o.discount_bp = static_cast<int16_t>(((s >> 40) % 5) * 250);
    o.region = static_cast<uint8_t>((rank * 7 + (s >> 44 & 1)) % kRegions);
    o.status = static_cast<uint8_t>((s >> 48) % 20 == 0 ? kCancelled : (s >> 48) % 20 == 1 ? kReturned : kShipped);
  }
  return orders;
}

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::max(1, std::atoi(argv[1])) : 5000000;
  const int customers = std::max(16, n / 20);
  uint32_t capacity = 64;
  while (capacity < 2u * customers) capacity *= 2;
  const Filter filter = {18060, 18700, 3};
  const std::vector<Order> orders = MakeOrders(n, customers);

  Order* d_orders;
  Bucket* d_table;
  Group* d_groups;
  RegionTotal* d_regions;
  uint32_t* d_group_count;
  CHECK(cudaMalloc(&d_orders, n * sizeof(Order)));
  CHECK(cudaMalloc(&d_table, capacity * sizeof(Bucket)));
  CHECK(cudaMalloc(&d_groups, customers * sizeof(Group)));
  CHECK(cudaMalloc(&d_regions, kRegions * sizeof(RegionTotal)));
  CHECK(cudaMalloc(&d_group_count, sizeof(uint32_t)));
  CHECK(cudaMemcpy(d_orders, orders.data(), n * sizeof(Order), cudaMemcpyHostToDevice));

  int device = 0, sms = 0;
  CHECK(cudaGetDevice(&device));
  CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
  const int threads = 256;
  const int row_blocks = std::min((n + threads - 1) / threads, sms * 8);
  const int table_blocks = static_cast<int>((capacity + threads - 1) / threads);
  auto query = [&] {
    CHECK(cudaMemsetAsync(d_group_count, 0, sizeof(uint32_t)));
    CHECK(cudaMemsetAsync(d_regions, 0, kRegions * sizeof(RegionTotal)));
    ClearTable<<<table_blocks, threads>>>(d_table, capacity);
    Aggregate<<<row_blocks, threads>>>(d_orders, n, d_table, capacity - 1, filter);
    ExtractGroups<<<table_blocks, threads>>>(d_table, capacity, d_groups, d_group_count, filter);
    SumRegions<<<row_blocks, threads>>>(d_orders, n, d_regions);
    CHECK(cudaGetLastError());
  };

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  query();
  const int repeats = 25;
  CHECK(cudaEventRecord(begin));
  for (int r = 0; r < repeats; ++r) query();
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));
  float ms = 0;
  CHECK(cudaEventElapsedTime(&ms, begin, end));

  uint32_t group_count = 0;
  CHECK(cudaMemcpy(&group_count, d_group_count, sizeof(uint32_t), cudaMemcpyDeviceToHost));
  std::vector<Group> groups(group_count);
  std::vector<RegionTotal> regions(kRegions);
  CHECK(cudaMemcpy(groups.data(), d_groups, group_count * sizeof(Group), cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(regions.data(), d_regions, kRegions * sizeof(RegionTotal), cudaMemcpyDeviceToHost));
  // Groups come in any order: their hashes are summed.
  Key check = group_count;
  for (const Group& g : groups)
    check += Mix(g.customer + 3 * static_cast<Key>(g.revenue) + 5 * static_cast<Key>(std::llround(g.average * 16)) +
                 7 * static_cast<Key>(g.spread) + 11 * static_cast<Key>(std::llround(g.per_item)) + g.count);
  for (const RegionTotal& t : regions) check = check * 31 + t.gross + 3 * t.orders + 5 * t.returned;

  CHECK(cudaFree(d_orders));
  CHECK(cudaFree(d_table));
  CHECK(cudaFree(d_groups));
  CHECK(cudaFree(d_regions));
  CHECK(cudaFree(d_group_count));
  std::printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  return 0;
}
