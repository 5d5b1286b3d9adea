// Scenario revaluation of a book of path-dependent equity options by Monte Carlo.
// Heston paths for every asset under every market scenario are advanced quarter by
// quarter; contracts are settled at the quarter they expire in, then risk is added up by desk.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CU(call)                                                                   \
  if (cudaError_t err_ = (call)) {                                                 \
    std::fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(err_));     \
    std::exit(EXIT_FAILURE);                                                       \
  }

constexpr int ASSETS = 16;
constexpr int SCENARIOS = 32;
constexpr int SECTORS = 8;
constexpr int DESKS = 6;
constexpr int QUARTERS = 8;
constexpr int WEEKS = 13;
constexpr float DT = 1.0f / 52;

struct Rng {
  uint64_t state;

  __host__ __device__ void seed(uint32_t a, uint32_t b) {
    state = ((uint64_t)a << 32 | b) * 0x9E3779B97F4A7C15ull + 0xD1B54A32D192ED03ull;
    next();
    next();
  }
  __host__ __device__ uint32_t next() {  // PCG-XSH-RR
    const uint64_t old = state;
    state = old * 6364136223846793005ull + 1442695040888963407ull;
    const uint32_t x = (uint32_t)(((old >> 18) ^ old) >> 27), r = (uint32_t)(old >> 59);
    return (x >> r) | (x << ((32 - r) & 31));
  }
  __host__ __device__ float uniform() { return ((next() >> 8) + 0.5f) * (1.0f / 16777216.0f); }
};

enum Kind : uint8_t {
  EUROPEAN, ASIAN, GEOMETRIC_ASIAN, LOOKBACK_FIXED, LOOKBACK_FLOATING, UP_OUT, DOWN_OUT, DOWN_IN, RANGE_DIGITAL, KINDS
};

struct Asset {
  float spot, dividend;
  float v0, kappa, theta, volOfVol, rho;
  short sector, currency;
};

struct Scenario {
  float sectorShock[SECTORS];  // on the logarithm of the spot
  float volFactor, rate, dividendShift, probability;
};

struct PathState {
  Rng rng;
  float logSpot;
  float variance;
  float sum, logSum;
  float logMin, logMax;
  uint16_t fixings;
  uint8_t asset, scenario;

  __device__ float spot() const { return expf(logSpot); }
  __device__ float average() const { return sum / fixings; }
  __device__ float geometricAverage() const { return expf(logSum / fixings); }
};

struct Contract {
  Kind kind;
  bool isCall;
  uint8_t desk;
  uint8_t quarter;  // of expiry, 1..QUARTERS
  short asset;
  float strike, barrier, barrier2, rebate;
  double notional;

  __device__ float vanilla(float s, float k) const { return fmaxf(isCall ? s - k : k - s, 0.0f); }

  // `shift` is the continuity correction for a discretely watched barrier.
  __device__ float payoff(const PathState& p, float shift) const {
    switch (kind) {
      case EUROPEAN: return vanilla(p.spot(), strike);
      case ASIAN: return vanilla(p.average(), strike);
      case GEOMETRIC_ASIAN: return vanilla(p.geometricAverage(), strike);
      case LOOKBACK_FIXED: return vanilla(expf(isCall ? p.logMax : p.logMin), strike);
      case LOOKBACK_FLOATING: return isCall ? p.spot() - expf(p.logMin) : expf(p.logMax) - p.spot();
      case UP_OUT: return p.logMax < logf(barrier) - shift ? vanilla(p.spot(), strike) : rebate;
      case DOWN_OUT: return p.logMin > logf(barrier) + shift ? vanilla(p.spot(), strike) : rebate;
      case DOWN_IN: return p.logMin > logf(barrier) + shift ? rebate : vanilla(p.spot(), strike);
      case RANGE_DIGITAL:
        return p.logMin > logf(barrier) + shift && p.logMax < logf(barrier2) - shift ? strike * 0.1f : 0.0f;
      default: return 0.0f;
    }
  }
};

// For a contract under a scenario.
struct Valuation {
  long long sum;        // 1e-4 of a unit of currency, over paths
  long long sumSquare;  // 1e-2
  unsigned int paid, paths;
  long long presentValue;  // cents, times the notional
};

struct DeskRisk {
  long long value;
  long long profit;  // against the base scenario, number 0
  unsigned int losers, contracts;
};

struct Book {
  Asset* assets;
  Scenario* scenarios;
  PathState* paths;
  Contract* contracts;  // by quarter of expiry, then asset
  Valuation* valuations;
  DeskRisk* risk;
  int numContracts;
  int pathsPerAsset;

  __host__ __device__ size_t numPaths() const { return (size_t)SCENARIOS * ASSETS * pathsPerAsset; }
};

__global__ void initialisePaths(Book book) {
  const int p = blockIdx.x * blockDim.x + threadIdx.x;
  const int a = blockIdx.y, s = blockIdx.z;
  if (p >= book.pathsPerAsset) return;
  const Asset& asset = book.assets[a];
  const Scenario& sc = book.scenarios[s];
  PathState state;
  state.rng.seed(a * 7919u + 13u, p);  // the same numbers in all scenarios
  state.logSpot = logf(asset.spot) + sc.sectorShock[asset.sector];
  state.variance = asset.v0 * sc.volFactor * sc.volFactor;
  state.sum = state.logSum = 0;
  state.logMin = state.logMax = state.logSpot;
  state.fixings = 0;
  state.asset = (uint8_t)a;
  state.scenario = (uint8_t)s;
  book.paths[((size_t)s * ASSETS + a) * book.pathsPerAsset + p] = state;
}

template <int STEPS>
__global__ void evolvePaths(Book book) {
  const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= book.numPaths()) return;
  PathState state = book.paths[i];
  const Asset& asset = book.assets[state.asset];
  const Scenario& sc = book.scenarios[state.scenario];
  const float drift = sc.rate - asset.dividend - sc.dividendShift;
  const float theta = asset.theta * sc.volFactor * sc.volFactor;
  const float orthogonal = sqrtf(1 - asset.rho * asset.rho);
  for (int k = 0; k < STEPS; ++k) {
    const float r = sqrtf(-2.0f * logf(state.rng.uniform()) * DT);
    float sn, cs;
    sincospif(2.0f * state.rng.uniform(), &sn, &cs);
    const float dw = r * cs, dz = asset.rho * dw + orthogonal * r * sn;
    const float v = fmaxf(state.variance, 0.0f), vol = sqrtf(v);
    state.logSpot += (drift - 0.5f * v) * DT + vol * dz;
    state.variance += asset.kappa * (theta - v) * DT + asset.volOfVol * vol * dw;
    state.sum += expf(state.logSpot);
    state.logSum += state.logSpot;
    state.logMin = fminf(state.logMin, state.logSpot);
    state.logMax = fmaxf(state.logMax, state.logSpot);
  }
  state.fixings += STEPS;
  book.paths[i] = state;
}

template <typename T> __device__ inline T warpSum(T x) {
  for (int d = 16; d > 0; d >>= 1) x += __shfl_down_sync(0xffffffffu, x, d);
  return x;
}

// A block for a contract under a scenario.
template <int BLOCK>
__global__ void settleContracts(Book book, int firstContract) {
  const int c = firstContract + blockIdx.x, s = blockIdx.y;
  const Contract contract = book.contracts[c];
  const Asset& asset = book.assets[contract.asset];
  const float sigma = sqrtf(asset.theta) * book.scenarios[s].volFactor;
  const float shift = 0.5826f * sigma * sqrtf(DT);
  const PathState* paths = book.paths + ((size_t)s * ASSETS + contract.asset) * book.pathsPerAsset;

  long long sum = 0, square = 0;
  unsigned int paid = 0;
  for (int p = threadIdx.x; p < book.pathsPerAsset; p += BLOCK) {
    const float pay = contract.payoff(paths[p], shift);
    sum += llrintf(pay * 1e4f);
    square += llrintf(pay * pay * 1e2f);
    paid += pay > 0;
  }
  __shared__ long long sums[BLOCK / 32], squares[BLOCK / 32];
  __shared__ unsigned int counts[BLOCK / 32];
  sum = warpSum(sum);
  square = warpSum(square);
  paid = warpSum(paid);
  if (threadIdx.x % 32 == 0) {
    sums[threadIdx.x / 32] = sum;
    squares[threadIdx.x / 32] = square;
    counts[threadIdx.x / 32] = paid;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < BLOCK / 32; ++w) {
      sum += sums[w];
      square += squares[w];
      paid += counts[w];
    }
    Valuation& v = book.valuations[(size_t)c * SCENARIOS + s];
    v.sum = sum;
    v.sumSquare = square;
    v.paid = paid;
    v.paths = book.pathsPerAsset;
    const double years = contract.quarter * 0.25;
    const double mean = (double)sum * 1e-4 / book.pathsPerAsset;
    v.presentValue = llrint(mean * exp(-book.scenarios[s].rate * years) * contract.notional * 100.0);
  }
}

__global__ void clearRisk(Book book) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < DESKS * SCENARIOS) book.risk[i] = DeskRisk{};
}

__global__ void aggregateRisk(Book book) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= book.numContracts * SCENARIOS) return;
  const int c = i / SCENARIOS, s = i % SCENARIOS;
  const long long value = book.valuations[i].presentValue;
  const long long base = book.valuations[c * SCENARIOS].presentValue;
  DeskRisk& r = book.risk[book.contracts[c].desk * SCENARIOS + s];
  atomicAdd((unsigned long long*)&r.value, (unsigned long long)value);
  atomicAdd((unsigned long long*)&r.profit, (unsigned long long)(value - base));
  atomicAdd(&r.contracts, 1u);
  if (value < base) atomicAdd(&r.losers, 1u);
}

template <typename T> static T* upload(const std::vector<T>& v) {
  T* p;
  CU(cudaMalloc(&p, v.size() * sizeof(T)));
  CU(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
  return p;
}

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::max(1, std::atoi(argv[1])) : 1 << 20;  // paths in all
  Rng rng;
  rng.seed(2024, 7);

  std::vector<Asset> assets(ASSETS);
  for (Asset& a : assets) {
    a.spot = 20.0f + 180.0f * rng.uniform() * rng.uniform();
    a.dividend = 0.04f * rng.uniform();
    const float vol = 0.15f + 0.3f * rng.uniform();
    a.v0 = a.theta = vol * vol;
    a.v0 *= 0.7f + 0.6f * rng.uniform();
    a.kappa = 1.0f + 3.0f * rng.uniform();
    a.volOfVol = 0.2f + 0.4f * rng.uniform();
    a.rho = -0.3f - 0.5f * rng.uniform();
    a.sector = (short)(rng.next() % SECTORS);
    a.currency = (short)(rng.next() % 3);
  }
  std::vector<Scenario> scenarios(SCENARIOS);
  for (int s = 0; s < SCENARIOS; ++s) {
    Scenario& sc = scenarios[s];
    const float market = s == 0 ? 0.0f : 0.3f * (rng.uniform() - 0.6f);
    for (float& shock : sc.sectorShock) shock = s == 0 ? 0.0f : market + 0.1f * (rng.uniform() - 0.5f);
    sc.volFactor = s == 0 ? 1.0f : 1.0f - 2.0f * market * rng.uniform();
    sc.rate = 0.03f + (s == 0 ? 0.0f : 0.02f * (rng.uniform() - 0.5f));
    sc.dividendShift = s == 0 ? 0.0f : 0.005f * (rng.uniform() - 0.5f);
    sc.probability = 1.0f / SCENARIOS;
  }
  Book book;
  book.pathsPerAsset = std::max(1, n / (ASSETS * SCENARIOS));
  book.numContracts = std::max(64, n / 1024);
  std::vector<Contract> contracts(book.numContracts);
  for (Contract& c : contracts) {
    c = Contract{};
    c.asset = (short)(ASSETS * rng.uniform() * rng.uniform());  // a few names are most of the book
    c.kind = (Kind)(rng.next() % KINDS);
    c.isCall = rng.next() % 5 < 3;
    c.desk = (uint8_t)(rng.next() % DESKS);
    c.quarter = (uint8_t)(1 + rng.next() % QUARTERS);
    const float spot = assets[c.asset].spot;
    c.strike = spot * (0.8f + 0.05f * (rng.next() % 9));
    c.barrier = c.kind == UP_OUT ? spot * 1.35f : spot * 0.75f;
    c.barrier2 = spot * 1.3f;
    c.rebate = rng.next() % 4 == 0 ? 0.02f * spot : 0.0f;
    c.notional = 1000.0 * (1 + rng.next() % 50) * (rng.next() % 3 == 0 ? -1 : 1);
  }
  std::stable_sort(contracts.begin(), contracts.end(), [](const Contract& a, const Contract& b) {
    return a.quarter != b.quarter ? a.quarter < b.quarter : a.asset < b.asset;
  });
  int first[QUARTERS + 2] = {};
  for (const Contract& c : contracts) ++first[c.quarter + 1];
  for (int q = 1; q <= QUARTERS + 1; ++q) first[q] += first[q - 1];

  book.assets = upload(assets);
  book.scenarios = upload(scenarios);
  book.contracts = upload(contracts);
  CU(cudaMalloc(&book.paths, book.numPaths() * sizeof(PathState)));
  CU(cudaMalloc(&book.valuations, (size_t)book.numContracts * SCENARIOS * sizeof(Valuation)));
  CU(cudaMalloc(&book.risk, DESKS * SCENARIOS * sizeof(DeskRisk)));

  constexpr int BLOCK = 128;
  const unsigned int pathBlocks = (unsigned int)((book.numPaths() + BLOCK - 1) / BLOCK);
  auto step = [&] {
    initialisePaths<<<dim3((book.pathsPerAsset + BLOCK - 1) / BLOCK, ASSETS, SCENARIOS), BLOCK>>>(book);
    for (int q = 1; q <= QUARTERS; ++q) {
      evolvePaths<WEEKS><<<pathBlocks, BLOCK>>>(book);
      const int count = first[q + 1] - first[q];
      if (count > 0) settleContracts<BLOCK><<<dim3(count, SCENARIOS), BLOCK>>>(book, first[q]);
    }
    clearRisk<<<1, 256>>>(book);
    aggregateRisk<<<(book.numContracts * SCENARIOS + 255) / 256, 256>>>(book);
    CU(cudaGetLastError());
  };

  step();
  constexpr int STEPS = 20;
  cudaEvent_t t0, t1;
  CU(cudaEventCreate(&t0));
  CU(cudaEventCreate(&t1));
  CU(cudaEventRecord(t0));
  for (int k = 0; k < STEPS; ++k) step();
  CU(cudaEventRecord(t1));
  CU(cudaEventSynchronize(t1));
  float ms;
  CU(cudaEventElapsedTime(&ms, t0, t1));

  std::vector<Valuation> valuations((size_t)book.numContracts * SCENARIOS);
  std::vector<DeskRisk> risk(DESKS * SCENARIOS);
  CU(cudaMemcpy(valuations.data(), book.valuations, valuations.size() * sizeof(Valuation), cudaMemcpyDeviceToHost));
  CU(cudaMemcpy(risk.data(), book.risk, risk.size() * sizeof(DeskRisk), cudaMemcpyDeviceToHost));
  uint64_t check = 1469598103934665603ull;
  auto mix = [&check](uint64_t x) { check = (check ^ x) * 1099511628211ull; };
  for (const Valuation& v : valuations)
    for (uint64_t x : {(uint64_t)v.sum, (uint64_t)v.sumSquare, (uint64_t)v.paid, (uint64_t)v.presentValue}) mix(x);
  for (const DeskRisk& r : risk)
    for (uint64_t x : {(uint64_t)r.value, (uint64_t)r.profit, (uint64_t)r.losers, (uint64_t)r.contracts}) mix(x);
  std::printf("check %llu\ntime_ms %.4f\n", (unsigned long long)check, ms / STEPS);
  void* buffers[] = {book.assets, book.scenarios, book.paths, book.contracts, book.valuations, book.risk};
  for (void* p : buffers) CU(cudaFree(p));
  return 0;
}
