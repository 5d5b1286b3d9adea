// Classes that were specialised for two records are read again as the template that they came from, which casts where they
// do not and defines what nobody calls for these records.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: cp %t/in.cu %t/moved.cu && %restride -i --layout=soa --quiet %t/moved.cu -- -std=c++17
// RUN: FileCheck %s --input-file=%t/moved.cu
// RUN: %compile-both %t/moved.cu
// RUN: %restride --check --layout=soa --quiet %t/moved.cu -- -std=c++17
// RUN: %restride -i --layout=aos --quiet %t/moved.cu -- -std=c++17
// RUN: diff %t/in.cu %t/moved.cu
#include <cstdio>
#include <vector>

struct Event { float time, value; int page, device; };
struct Total { unsigned long long views, cents; unsigned pages[4]; };

static void check(cudaError_t e) {
  if (e != cudaSuccess)
    std::printf("%s\n", cudaGetErrorString(e));
}

template <typename T> struct Buffer {
  T *d = nullptr;
  size_t n;
  explicit Buffer(size_t count) : n(count) { check(cudaMalloc((void **)&d, n * sizeof(T))); }
  explicit Buffer(const std::vector<T> &h) : Buffer(h.size()) { check(cudaMemcpy(d, h.data(), n * sizeof(T), cudaMemcpyHostToDevice)); }
  Buffer(const Buffer &) = delete;
  ~Buffer() { cudaFree(d); }
  void get(std::vector<T> &h) const { h.resize(n); check(cudaMemcpy(h.data(), d, n * sizeof(T), cudaMemcpyDeviceToHost)); }
};
// CHECK-DAG: template <> struct Buffer<Total> {
// CHECK-DAG: TotalSoA d = {};
// CHECK-DAG: template <> struct Buffer<Event> {
// CHECK-DAG: EventSoA d = {};

static std::vector<Event> generate(int n) {
  std::vector<Event> events(n);
  for (int i = 0; i < n; ++i) {
    events[i].time = i * 0.5f;
    events[i].value = i % 13;
    events[i].page = i % 4;
    events[i].device = i % 3;
  }
  return events;
}

__global__ void add(const Event *events, Total *totals, int n, int groups) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  atomicAdd(&totals[i % groups].views, 1ull);
  atomicAdd(&totals[i % groups].cents, (unsigned long long)(events[i].value * 100));
  atomicAdd(&totals[i % groups].pages[events[i].page & 3], 1u);
}

int main() {
  std::vector<Event> host = generate(1 << 12);
  Buffer<Event> events(host);
  Buffer<Total> totals(96);
  check(cudaMemset(totals.d, 0, totals.n * sizeof(Total)));
  // A member is used outside of its class.
  // CHECK: check(TotalSoA_memset(totals.d, 0, totals.n * sizeof(Total)));
  add<<<(int(host.size()) + 127) / 128, 128>>>(events.d, totals.d, int(host.size()), 96);
  std::vector<Total> result;
  totals.get(result);
  std::printf("%llu %llu %u\n", result[5].views, result[5].cents, result[5].pages[1]);
}
