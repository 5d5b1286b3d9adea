// Revaluation of a book of European options: market ticks, Black-Scholes values
// and greeks for each contract, and totals for each portfolio.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

inline void Check(cudaError_t e, const char* what) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
  std::exit(1);
}
#define CU(call) Check((call), #call)

enum class OptionType : unsigned char { kCall, kPut, kDigitalCall };

struct Underlying {
  double spot;
  float vol;
  float drift;
  uint32_t seed;
};

struct Contract {
  double spot;
  double strike;
  float rate;
  float vol;
  float expiry;  // years
  int quantity;  // negative for a short position
  uint32_t id;
  uint16_t underlying;
  OptionType type;
  uint8_t currency;
};

struct Greeks {
  double price;
  float delta, gamma;
  float vega, theta, rho;
};

struct Portfolio {
  int first, count;
  double value;
  double delta, gamma, vega, theta;
};

__constant__ float currency_rate[4] = {1.0f, 1.25f, 0.75f, 0.0078125f};

__host__ __device__ inline uint32_t NextRandom(uint32_t& state) {
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}

__device__ inline double NormalCdf(double x) { return 0.5 * erfc(-x * 0.70710678118654752); }
__device__ inline float NormalPdf(float x) { return 0.39894228f * expf(-0.5f * x * x); }

__global__ void TickMarket(Underlying* underlyings, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  Underlying& u = underlyings[i];
  float sum = -6.0f;  // near enough a normal variate
  for (int k = 0; k < 12; ++k) sum += NextRandom(u.seed) * (1.0f / 16777216.0f);
  u.spot *= 1.0 + u.drift + 0.02 * u.vol * sum;
  u.vol = fminf(fmaxf(u.vol * (1.0f - 0.01f * sum), 0.05f), 0.90f);
}

__global__ void UpdateQuotes(Contract* contracts, int n, const Underlying* underlyings, float elapsed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const Underlying& u = underlyings[contracts[i].underlying];
  const float skew = 0.1f * fabsf(static_cast<float>(contracts[i].strike / u.spot) - 1.0f);
  contracts[i].spot = u.spot;
  contracts[i].vol = u.vol + skew;
  contracts[i].expiry = fmaxf(contracts[i].expiry - elapsed, 1.0f / 365);
}

__global__ void Price(const Contract* contracts, Greeks* greeks, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const Contract c = contracts[i];
  const double root = sqrt(static_cast<double>(c.expiry));
  const double sd = c.vol * root;
  const double d1 = (log(c.spot / c.strike) + (c.rate + 0.5 * c.vol * c.vol) * c.expiry) / sd;
  const double d2 = d1 - sd;
  const double discount = exp(-static_cast<double>(c.rate) * c.expiry);
  const float s = static_cast<float>(c.spot), pdf1 = NormalPdf(static_cast<float>(d1));
  Greeks g;
  switch (c.type) {
    case OptionType::kCall:
    case OptionType::kPut: {
      const double sign = c.type == OptionType::kCall ? 1.0 : -1.0;
      const double n1 = NormalCdf(sign * d1), n2 = NormalCdf(sign * d2);
      const double carry = sign * c.strike * discount * n2;
      g.price = sign * c.spot * n1 - carry;
      g.delta = static_cast<float>(sign * n1);
      g.gamma = pdf1 / (s * static_cast<float>(sd));
      g.vega = s * pdf1 * static_cast<float>(root);
      g.theta = -0.5f * s * pdf1 * c.vol / static_cast<float>(root) - c.rate * static_cast<float>(carry);
      g.rho = c.expiry * static_cast<float>(carry);
      break;
    }
    default: {  // pays a tenth of the strike
      const double payout = 0.1 * c.strike * discount, n2 = NormalCdf(d2);
      const float pdf2 = static_cast<float>(payout) * NormalPdf(static_cast<float>(d2));
      const float width = static_cast<float>(sd);
      g.price = payout * n2;
      g.delta = pdf2 / (s * width);
      g.gamma = -pdf2 * static_cast<float>(d1) / (s * s * width * width);
      g.vega = -pdf2 * static_cast<float>(d1) / c.vol;
      g.theta = c.rate * static_cast<float>(g.price) + 0.5f * pdf2 * static_cast<float>(d1) / c.expiry;
      g.rho = -c.expiry * static_cast<float>(g.price) + pdf2 * static_cast<float>(root) / c.vol;
      break;
    }
  }
  greeks[i] = g;
}

template <int Block>
__device__ double BlockSum(double value, double* shared) {
  shared[threadIdx.x] = value;
  __syncthreads();
  for (int half = Block / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    __syncthreads();
  }
  const double sum = shared[0];
  __syncthreads();
  return sum;
}

// A block for each portfolio; its contracts are consecutive.
template <int Block>
__global__ void Aggregate(Portfolio* portfolios, const Contract* contracts, const Greeks* greeks) {
  __shared__ double shared[Block];
  const int first = portfolios[blockIdx.x].first, last = first + portfolios[blockIdx.x].count;
  double value = 0, delta = 0, gamma = 0, vega = 0, theta = 0;
  for (int i = first + threadIdx.x; i < last; i += Block) {
    const double size = contracts[i].quantity * static_cast<double>(currency_rate[contracts[i].currency]);
    const double spot = contracts[i].spot;
    const Greeks& g = greeks[i];
    value += size * g.price;
    delta += size * g.delta * spot;
    gamma += size * g.gamma * spot * spot;
    vega += size * g.vega;
    theta += size * g.theta;
  }
  value = BlockSum<Block>(value, shared);
  delta = BlockSum<Block>(delta, shared);
  gamma = BlockSum<Block>(gamma, shared);
  vega = BlockSum<Block>(vega, shared);
  theta = BlockSum<Block>(theta, shared);
  if (threadIdx.x == 0) {
    Portfolio& p = portfolios[blockIdx.x];
    p.value = value;
    p.delta = delta;
    p.gamma = gamma;
    p.vega = vega;
    p.theta = theta;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 2500000;
  constexpr int kUnderlyings = 600;
  uint32_t seed = 12345;
  auto uniform = [&seed](float low, float high) { return low + (high - low) * (NextRandom(seed) / 16777216.0f); };

  std::vector<Underlying> underlyings(kUnderlyings);
  for (Underlying& u : underlyings)
    u = {uniform(10, 400), uniform(0.12f, 0.6f), uniform(-2e-4f, 3e-4f), NextRandom(seed)};
  std::vector<Contract> contracts(n);
  for (int i = 0; i < n; ++i) {
    Contract& c = contracts[i];
    c.underlying = static_cast<uint16_t>(NextRandom(seed) % kUnderlyings);
    const Underlying& u = underlyings[c.underlying];
    const uint32_t kind = NextRandom(seed) % 16;
    c.spot = u.spot;
    c.strike = std::floor(u.spot * uniform(0.7f, 1.3f) * 2 + 1) / 2;
    c.rate = uniform(0.005f, 0.05f);
    c.vol = u.vol;
    c.expiry = uniform(0.1f, 2.5f);
    c.quantity = static_cast<int>(NextRandom(seed) % 401) - 200;
    c.id = 1000000u + static_cast<uint32_t>(i);
    c.type = kind < 8 ? OptionType::kCall : kind < 15 ? OptionType::kPut : OptionType::kDigitalCall;
    c.currency = static_cast<uint8_t>(NextRandom(seed) % 4);
  }
  std::vector<Portfolio> portfolios;
  for (int first = 0; first < n;) {
    int count = 100 + static_cast<int>(NextRandom(seed) % 2000);
    if (count > n - first) count = n - first;
    portfolios.push_back({first, count, 0, 0, 0, 0, 0});
    first += count;
  }
  const int portfolio_count = static_cast<int>(portfolios.size());

  Underlying* d_underlyings;
  Contract* d_contracts;
  Greeks* d_greeks;
  Portfolio* d_portfolios;
  CU(cudaMalloc(&d_underlyings, kUnderlyings * sizeof(Underlying)));
  CU(cudaMalloc(&d_contracts, n * sizeof(Contract)));
  CU(cudaMalloc(&d_greeks, n * sizeof(Greeks)));
  CU(cudaMalloc(&d_portfolios, portfolio_count * sizeof(Portfolio)));
  CU(cudaMemcpy(d_underlyings, underlyings.data(), kUnderlyings * sizeof(Underlying), cudaMemcpyHostToDevice));
  CU(cudaMemcpy(d_contracts, contracts.data(), n * sizeof(Contract), cudaMemcpyHostToDevice));
  CU(cudaMemset(d_greeks, 0, n * sizeof(Greeks)));
  CU(cudaMemcpy(d_portfolios, portfolios.data(), portfolio_count * sizeof(Portfolio), cudaMemcpyHostToDevice));

  constexpr int kBlock = 256, kSteps = 40;
  const int blocks = (n + kBlock - 1) / kBlock;
  auto revalue = [&] {
    TickMarket<<<(kUnderlyings + 63) / 64, 64>>>(d_underlyings, kUnderlyings);
    UpdateQuotes<<<blocks, kBlock>>>(d_contracts, n, d_underlyings, 1.0f / 2048);
    Price<<<blocks, kBlock>>>(d_contracts, d_greeks, n);
    Aggregate<128><<<portfolio_count, 128>>>(d_portfolios, d_contracts, d_greeks);
    CU(cudaGetLastError());
  };
  cudaEvent_t start, stop;
  CU(cudaEventCreate(&start));
  CU(cudaEventCreate(&stop));
  revalue();
  CU(cudaEventRecord(start));
  for (int s = 0; s < kSteps; ++s) revalue();
  CU(cudaEventRecord(stop));
  CU(cudaEventSynchronize(stop));
  float ms = 0;
  CU(cudaEventElapsedTime(&ms, start, stop));

  std::vector<Greeks> greeks(n);
  CU(cudaMemcpy(greeks.data(), d_greeks, n * sizeof(Greeks), cudaMemcpyDeviceToHost));
  CU(cudaMemcpy(portfolios.data(), d_portfolios, portfolio_count * sizeof(Portfolio), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Greeks& g : greeks)
    check = check * 31 + std::llround(g.price * 1024) + 3 * std::llround(g.delta * 65536) +
            5 * std::llround(g.gamma * 65536) + 7 * std::llround(g.vega * 64) + 11 * std::llround(g.theta * 64) +
            13 * std::llround(g.rho * 64);
  for (const Portfolio& p : portfolios)
    check = check * 31 + std::llround(p.value) + 3 * std::llround(p.delta) + 5 * std::llround(p.gamma) +
            7 * std::llround(p.vega) + 11 * std::llround(p.theta) + p.count;
  std::printf("check %llu\ntime_ms %.4f\n", check, ms / kSteps);
  return 0;
}
