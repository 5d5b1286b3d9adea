// Parcel tracking: a stream of scan events is folded into an open-addressing hash
// table keyed by the 64-bit tracking number; then customer enquiries probe it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#define CU(expr)                                                                      \
  if (cudaError_t cu_e = (expr); cu_e != cudaSuccess) {                               \
    std::fprintf(stderr, "CUDA: %s (%s:%d)\n", cudaGetErrorString(cu_e), __FILE__, __LINE__); \
    std::exit(1);                                                                     \
  }

using u64 = unsigned long long;

struct ScanEvent {
  u64 tracking;
  float weight;      // kg as measured by this scanner
  float fee;
  int depot;
  int minute;
};

struct Slot {
  u64 key;           // 0 = empty
  float weight_sum;
  float fee_sum;
  int scans;
  int first_minute;
  int last_minute;
  int last_depot;    // highest depot id on the route so far
  u64 depot_mask;
};

struct Enquiry {
  u64 tracking;
  float eta;
  float mean_weight;
  int probes;
  int status;        // 0 unknown, 1 in transit, 2 lost, 3 delivered
};

struct DepotLoad {
  int delivered;
  int lost;
  int transit;
  float kilos;
};

constexpr int kDepots = 64;

__host__ __device__ inline u64 mix(u64 k) {
  k ^= k >> 33;
  k *= 0xff51afd7ed558ccdULL;
  k ^= k >> 29;
  k *= 0xc4ceb9fe1a85ec53ULL;
  return k ^ (k >> 32);
}

__global__ void clear_table(Slot* table, int capacity) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < capacity; i += gridDim.x * blockDim.x) {
    table[i].key = 0;
    table[i].weight_sum = 0.f;
    table[i].fee_sum = 0.f;
    table[i].scans = 0;
    table[i].first_minute = 0x7fffffff;
    table[i].last_minute = -1;
    table[i].last_depot = -1;
    table[i].depot_mask = 0;
  }
}

__device__ void absorb(Slot* s, const ScanEvent& e) {
  atomicAdd(&s->weight_sum, e.weight);
  atomicAdd(&s->fee_sum, e.fee);
  atomicAdd(&s->scans, 1);
  atomicMin(&s->first_minute, e.minute);
  atomicMax(&s->last_minute, e.minute);
  atomicMax(&s->last_depot, e.depot);
  atomicOr(&s->depot_mask, 1ULL << e.depot);
}

__global__ void ingest(Slot* table, int capacity, const ScanEvent* events, int n) {
  const int mask = capacity - 1;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const ScanEvent e = events[i];
    int pos = (int)(mix(e.tracking) & (u64)mask);
    for (int step = 0; step < capacity; ++step) {
      const u64 seen = atomicCAS(&table[pos].key, 0ULL, e.tracking);
      if (seen == 0ULL || seen == e.tracking) {
        absorb(&table[pos], e);
        break;
      }
      pos = (pos + 1) & mask;
    }
  }
}

__device__ int classify(const Slot& s, int now) {
  if (s.scans >= 4 && s.last_depot >= kDepots / 2) return 3;
  if (now - s.last_minute > 3000) return 2;
  return 1;
}

__global__ void enquire(const Slot* table, int capacity, Enquiry* asks, int n, int now) {
  const int mask = capacity - 1;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const u64 key = asks[i].tracking;
  int pos = (int)(mix(key) & (u64)mask);
  int probes = 1;
  int status = 0;
  while (table[pos].key != 0ULL) {
    if (table[pos].key == key) {
      const Slot& s = table[pos];
      status = classify(s, now);
      asks[i].mean_weight = s.weight_sum / s.scans;
      asks[i].eta = status == 3 ? 0.f : 60.f + 0.5f * (s.last_minute - s.first_minute) + 10.f * __popcll(s.depot_mask);
      break;
    }
    pos = (pos + 1) & mask;
    ++probes;
  }
  asks[i].probes = probes;
  asks[i].status = status;
}

__global__ void depot_report(const Slot* table, int capacity, DepotLoad* loads, int now) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < capacity; i += gridDim.x * blockDim.x) {
    if (table[i].key == 0ULL) continue;
    DepotLoad* d = loads + table[i].last_depot;
    const int st = classify(table[i], now);
    if (st == 3) {
      atomicAdd(&d->delivered, 1);
    } else if (st == 2) {
      atomicAdd(&d->lost, 1);
    } else {
      atomicAdd(&d->transit, 1);
      atomicAdd(&d->kilos, table[i].weight_sum / table[i].scans);
    }
  }
}

int main(int argc, char** argv) {
  const int n_events = argc > 1 ? std::atoi(argv[1]) : 3000000;
  const int n_parcels = n_events / 3 + 1;
  const int n_asks = n_events / 4 + 1;
  int capacity = 1;
  while (capacity < 2 * n_parcels) capacity *= 2;

  std::mt19937 gen(31337);
  auto uni = [&gen]() { return (gen() >> 8) * (1.0f / 16777216.0f); };
  auto tracking_of = [](int p) { return 0x4A00000000000000ULL | ((u64)p * 2654435761ULL + 17ULL); };
  std::vector<ScanEvent> events(n_events);
  for (auto& e : events) {
    const float u = uni();
    const int p = (int)(n_parcels * (0.3f * u * u + 0.7f * u));  // a few parcels travel far
    e.tracking = tracking_of(p);
    e.weight = 0.2f + (p % 97) * 0.15f + 0.05f * uni();
    e.fee = 1.5f + 0.5f * uni();
    e.depot = (p * 7 + (int)(gen() % 9)) % kDepots;
    e.minute = (p % 5000) + (int)(gen() % 2000);
  }
  std::vector<Enquiry> asks(n_asks);
  for (auto& a : asks) a = Enquiry{tracking_of((int)(1.2f * n_parcels * uni())), 0.f, 0.f, 0, 0};

  ScanEvent* d_events;
  Slot* d_table;
  Enquiry* d_asks;
  DepotLoad* d_loads;
  CU(cudaMalloc(&d_events, n_events * sizeof(ScanEvent)));
  CU(cudaMalloc(&d_table, capacity * sizeof(Slot)));
  CU(cudaMalloc(&d_asks, n_asks * sizeof(Enquiry)));
  CU(cudaMalloc(&d_loads, kDepots * sizeof(DepotLoad)));
  CU(cudaMemcpy(d_events, events.data(), n_events * sizeof(ScanEvent), cudaMemcpyHostToDevice));
  CU(cudaMemcpy(d_asks, asks.data(), n_asks * sizeof(Enquiry), cudaMemcpyHostToDevice));

  auto pass = [&](int now) {
    clear_table<<<1024, 256>>>(d_table, capacity);
    ingest<<<2048, 256>>>(d_table, capacity, d_events, n_events);
    enquire<<<(n_asks + 255) / 256, 256>>>(d_table, capacity, d_asks, n_asks, now);
    depot_report<<<1024, 256>>>(d_table, capacity, d_loads, now);
  };
  pass(5000);
  CU(cudaDeviceSynchronize());
  CU(cudaMemset(d_loads, 0, kDepots * sizeof(DepotLoad)));

  const int clocks[] = {5200, 6000, 6800, 7600};
  cudaEvent_t beg, end;
  CU(cudaEventCreate(&beg)); CU(cudaEventCreate(&end));
  CU(cudaEventRecord(beg));
  for (int rep = 0; rep < 3; ++rep)
    for (int now : clocks) pass(now);
  CU(cudaEventRecord(end));
  CU(cudaEventSynchronize(end));
  CU(cudaGetLastError());
  float ms = 0;
  CU(cudaEventElapsedTime(&ms, beg, end));

  std::vector<Slot> table(capacity);
  std::vector<DepotLoad> loads(kDepots);
  CU(cudaMemcpy(table.data(), d_table, capacity * sizeof(Slot), cudaMemcpyDeviceToHost));
  CU(cudaMemcpy(asks.data(), d_asks, n_asks * sizeof(Enquiry), cudaMemcpyDeviceToHost));
  CU(cudaMemcpy(loads.data(), d_loads, kDepots * sizeof(DepotLoad), cudaMemcpyDeviceToHost));
  double used = 0, fees = 0, eta = 0, weight = 0, status = 0, kilos = 0, depots = 0;
  for (const auto& s : table) if (s.key) { used += 1; fees += s.fee_sum; }
  for (const auto& a : asks) { eta += a.eta; weight += a.mean_weight; status += a.status; }
  for (int d = 0; d < kDepots; ++d) { kilos += loads[d].kilos; depots += (d + 1.0) * (loads[d].delivered + 2.0 * loads[d].lost + 3.0 * loads[d].transit); }
  std::printf("check parcels %.0f\ncheck fees %.2e\ncheck eta %.2e\ncheck mean_weight %.2e\n", used, fees, eta, weight);
  std::printf("check status %.0f\ncheck kilos %.2e\ncheck depots %.2e\ntime_ms %.4f\n", status, kilos, depots, ms);
}
