// Nightly batch over bank accounts: classify by flags, then post interest and fees.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

enum Status : uint8_t { kOpen = 0, kFrozen = 1, kDormant = 2, kClosed = 3 };
enum Decision : uint8_t { kSkip = 0, kInterest = 1, kFee = 2, kReview = 3 };

struct Account {
  int32_t id;
  Status status;
  uint8_t risk;
  uint16_t region;
  double balance;
  int32_t limit;
  uint16_t product;
  uint8_t flags;
  int8_t tier;
  int32_t branch;
  uint32_t lastDay;
  float rate;
  float fee;
  int32_t txCount;
  int32_t opened;
  double overdraft;

  __host__ __device__ bool active() const { return status == kOpen || status == kDormant; }
  __host__ __device__ bool has(uint8_t bit) const { return (flags & bit) != 0; }
};
static_assert(sizeof(Account) == 56, "record layout is shared with the host loader");

void cudaTry(cudaError_t status, int line) {
  if (status != cudaSuccess) {
    std::fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(status));
    std::exit(EXIT_FAILURE);
  }
}
#define TRY(x) cudaTry((x), __LINE__)

__global__ void classify(const Account *__restrict__ accounts, uint8_t *__restrict__ decision,
                         unsigned *counts, int n) {
  __shared__ unsigned local[4];
  if (threadIdx.x < 4) local[threadIdx.x] = 0;
  __syncthreads();

  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    const Account *a = accounts + i;
    Decision d = kSkip;
    if (a->active()) {
      int score = a->risk + 4 * a->tier + (a->has(0x04) ? 40 : 0);
      if (a->product >= 600) score += 25;
      if ((a->region & 7) == 3) score -= 10;
      if (a->limit > 5000 && score > 180) d = kReview;
      else if (a->has(0x10) || a->status == kDormant) d = kFee;
      else d = kInterest;
    }
    decision[i] = d;
    atomicAdd(&local[d], 1u);
  }
  __syncthreads();
  if (threadIdx.x < 4) atomicAdd(&counts[threadIdx.x], local[threadIdx.x]);
}

__global__ void post(Account *accounts, const uint8_t *decision, int n, uint32_t today) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint8_t d = decision[i];
  if (d == kSkip) return;

  Account &a = accounts[i];
  double balance = a.balance;
  switch (d) {
    case kInterest: balance += balance * (double)a.rate * (1.0 / 365.0); break;
    case kFee:      balance -= (double)a.fee; break;
    default:        balance *= 0.9999; break;
  }
  a.balance = balance;
  a.lastDay = today;
  if (d == kReview) a.txCount++;
}

uint32_t nextState(uint32_t &s) {
  s ^= s << 13;
  s ^= s >> 17;
  s ^= s << 5;
  return s;
}

void fill(Account *a, int n) {
  uint32_t s = 12345u;
  for (int i = 0; i < n; i++) {
    uint32_t r = nextState(s), q = nextState(s), t = nextState(s);
    a[i].id = 100000 + i;
    a[i].status = (r & 15) < 12 ? kOpen : (Status)(1 + (r >> 4) % 3);
    a[i].risk = (uint8_t)(r >> 8);
    a[i].region = (uint16_t)(r >> 16);
    a[i].balance = (q % 10000000) * 0.01;
    a[i].limit = (int)(t % 10000);
    a[i].product = (uint16_t)(q % 1000);
    a[i].flags = (uint8_t)(t >> 24);
    a[i].tier = (int8_t)((q >> 20) % 11) - 5;
    a[i].branch = (int)((t >> 8) % 1200);
    a[i].lastDay = 0;
    a[i].rate = 0.005f + 0.001f * (q >> 28);
    a[i].fee = 0.25f * (t & 7);
    a[i].txCount = 0;
    a[i].opened = (int)(r % 9000);
    a[i].overdraft = (double)(t % 500);
  }
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 4000000;
  if (n <= 0) { std::fprintf(stderr, "bad size\n"); return 1; }
  const int steps = 50, block = 128, grid = (n + block - 1) / block;

  Account *host = new Account[n];
  fill(host, n);

  Account *dev = nullptr;
  uint8_t *devDecision = nullptr;
  unsigned *devCounts = nullptr;
  TRY(cudaMalloc(&dev, sizeof(Account) * (size_t)n));
  TRY(cudaMalloc(&devDecision, n));
  TRY(cudaMalloc(&devCounts, 4 * sizeof(unsigned)));
  TRY(cudaMemcpy(dev, host, sizeof(Account) * (size_t)n, cudaMemcpyHostToDevice));
  TRY(cudaMemset(devCounts, 0, 4 * sizeof(unsigned)));

  cudaEvent_t e0, e1;
  TRY(cudaEventCreate(&e0));
  TRY(cudaEventCreate(&e1));
  for (int s = -1; s < steps; s++) {
    if (s == 0) TRY(cudaEventRecord(e0));
    classify<<<grid, block>>>(dev, devDecision, devCounts, n);
    post<<<grid, block>>>(dev, devDecision, n, 19000u + s + 1);
  }
  TRY(cudaEventRecord(e1));
  TRY(cudaEventSynchronize(e1));
  TRY(cudaGetLastError());
  float ms;
  TRY(cudaEventElapsedTime(&ms, e0, e1));

  uint8_t *decision = new uint8_t[n];
  unsigned counts[4];
  TRY(cudaMemcpy(host, dev, sizeof(Account) * (size_t)n, cudaMemcpyDeviceToHost));
  TRY(cudaMemcpy(decision, devDecision, n, cudaMemcpyDeviceToHost));
  TRY(cudaMemcpy(counts, devCounts, sizeof(counts), cudaMemcpyDeviceToHost));

  uint64_t sum = 0;
  for (int i = 0; i < n; i++) {
    const Account &a = host[i];
    uint64_t v = (uint64_t)llround(a.balance * 100.0 + 0.137);
    v = v * 31 + a.id + a.status * 3u + a.risk * 5u + a.region * 7u + a.product * 11u + a.flags * 13u;
    v = v * 31 + a.lastDay + (uint64_t)a.txCount * 17u + decision[i] + (uint64_t)(a.tier + 5) + a.limit;
    v = v * 31 + a.branch + a.opened + (uint64_t)llround(a.overdraft) + (uint64_t)llround(a.fee * 4.0f);
    sum += v * (uint64_t)(i % 97 + 1);
  }
  for (int k = 0; k < 4; k++) sum = sum * 1000003u + counts[k];
  std::printf("time_ms %.5f\n", ms / steps);
  std::printf("check %llu\n", (unsigned long long)sum);

  delete[] host;
  delete[] decision;
  cudaFree(dev);
  cudaFree(devDecision);
  cudaFree(devCounts);
  return 0;
}
