// Counterparty exposure by Monte Carlo.
//
// For every exposure date: evolve the market factors on all paths, revalue the
// trades of each netting set on each path, apply the collateral agreement and
// accumulate EPE / ENE / CVA.  Trade life-cycle events are processed in between.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CUDA_SAFE(expr)                                                         \
  do {                                                                          \
    const cudaError_t rc = (expr);                                              \
    if (rc != cudaSuccess) {                                                    \
      std::fprintf(stderr, "[xva] %s failed: %s (%s:%d)\n", #expr,              \
                   cudaGetErrorString(rc), __FILE__, __LINE__);                 \
      std::abort();                                                             \
    }                                                                           \
  } while (false)

enum class TradeType : short { Swap = 0, FxForward = 1, EuropeanFxOption = 2, Bond = 3 };

struct Trade {
  double notional;
  double strike;         // fixed rate, forward or strike
  double accrued;
  float start;           // years
  float maturity;
  float last_fixing;
  float spread;
  int netting_set;
  int fixings;
  short type;
  short periods_per_year;
  unsigned char ccy;
  unsigned char payer;   // 1 = we pay fixed / sell
  unsigned char alive;
  unsigned char flags;
};

struct CsaTerms {
  double threshold;
  double mta;            // minimum transfer amount
  float haircut;
  float rounding;
};

struct NettingSet {
  int first_trade;
  int n_trades;
  CsaTerms csa;
  float hazard;
  float recovery;
  double epe;
  double ene;
  double cva;
  double pfe;            // max over dates of the worst path
  int alive_trades;
  int margin_calls;
};

struct MarketState {     // one per (currency, path)
  float short_rate;
  float fx;
  float vol;
  float discount;        // money-market discount factor to today
  float rate_avg;
  int calls;
};

struct Exposure {        // one per (netting set, path)
  double mtm;
  double collateral;
  float peak;
  float epe_path;
  int calls;
  int negative_dates;
};

struct Book {
  Trade* trades;
  NettingSet* sets;
  MarketState* market;
  Exposure* exposures;
  int n_trades;
  int n_sets;
  int n_paths;
  int n_ccy;
};

__device__ __forceinline__ unsigned hash_u32(unsigned x) {
  x = (x ^ 61u) ^ (x >> 16);
  x *= 9u;
  x ^= x >> 4;
  x *= 0x27d4eb2du;
  x ^= x >> 15;
  return x;
}

// Irwin-Hall approximation of a normal variate, good enough for exposure work.
__device__ float gaussian(unsigned seed) {
  float s = 0.0f;
  for (int k = 0; k < 6; ++k) {
    seed = hash_u32(seed + 0x9e3779b9u * (k + 1));
    s += static_cast<float>(seed >> 16) * (1.0f / 65536.0f);
  }
  return (s - 3.0f) * 1.4142135f;
}

__global__ void evolve_market(Book bk, int step, float dt) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= bk.n_paths * bk.n_ccy) return;
  const int path = i % bk.n_paths;
  const int ccy = i / bk.n_paths;
  MarketState& m = bk.market[i];
  const float zr = gaussian(hash_u32(path * 977u + ccy * 131071u) + step * 7919u);
  const float zx = gaussian(hash_u32(path * 613u + ccy * 524287u + 17u) + step * 104729u);
  const float sq = sqrtf(dt);
  const float target = 0.02f + 0.002f * ccy;
  const float r0 = m.short_rate;
  const float r1 = r0 + 0.15f * (target - r0) * dt + 0.008f * sq * zr;
  m.short_rate = r1;
  m.discount *= expf(-0.5f * (r0 + r1) * dt);
  if (ccy > 0)
    m.fx *= expf(-0.5f * m.vol * m.vol * dt + m.vol * sq * zx);
  m.rate_avg += (r1 - m.rate_avg) / static_cast<float>(step + 1);
}

// Fixings, accruals and maturities.
__global__ void trade_events(Book bk, float t, float dt) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < bk.n_trades; i += gridDim.x * blockDim.x) {
    Trade& tr = bk.trades[i];
    if (!tr.alive) continue;
    if (t >= tr.maturity) {
      tr.alive = 0;
      tr.accrued = 0.0;
      continue;
    }
    if (t < tr.start) continue;
    if (tr.type == static_cast<short>(TradeType::Swap) || tr.type == static_cast<short>(TradeType::Bond)) {
      const float period = 1.0f / static_cast<float>(tr.periods_per_year);
      if (t - tr.last_fixing >= period) {
        tr.last_fixing = t;
        tr.fixings += 1;
        tr.accrued = 0.0;
      } else {
        tr.accrued += tr.notional * tr.strike * dt;
      }
    }
  }
}

__device__ float norm_cdf(float x) { return 0.5f * erfcf(-x * 0.70710678f); }

__device__ double price(const Trade& tr, const MarketState& m, const MarketState& dom, float t) {
  const float tau = tr.maturity - t;
  const float df = expf(-m.short_rate * tau);
  double v = 0.0;
  switch (static_cast<TradeType>(tr.type)) {
    case TradeType::Swap: {
      const float begin = fmaxf(tr.start - t, 0.0f);
      const float annuity = fmaxf(tau - begin, 0.0f) * expf(-m.short_rate * 0.5f * (tau + begin));
      const float floating = expf(-m.short_rate * begin) - df + tr.spread * annuity;
      v = tr.notional * (static_cast<double>(floating) - tr.strike * annuity) * m.fx - tr.accrued;
      break;
    }
    case TradeType::FxForward: {
      const float ddf = expf(-dom.short_rate * tau);
      v = tr.notional * (static_cast<double>(m.fx * df) - tr.strike * ddf);
      break;
    }
    case TradeType::EuropeanFxOption: {
      const float ddf = expf(-dom.short_rate * tau);
      const float k = static_cast<float>(tr.strike);
      const float sd = m.vol * sqrtf(fmaxf(tau, 1.0e-4f));
      const float fwd = m.fx * df / ddf;
      const float d1 = logf(fwd / k) / sd + 0.5f * sd;
      v = tr.notional * static_cast<double>(ddf * (fwd * norm_cdf(d1) - k * norm_cdf(d1 - sd)));
      break;
    }
    case TradeType::Bond: {
      const float spread_df = expf(-(m.short_rate + tr.spread) * tau);
      v = tr.notional * (spread_df + tr.strike * tau * 0.9f) * m.fx + tr.accrued;
      break;
    }
  }
  return tr.payer ? -v : v;
}

// blockIdx.y = netting set, x = paths
__global__ void revalue(Book bk, float t) {
  const int path = blockIdx.x * blockDim.x + threadIdx.x;
  const int ns = blockIdx.y;
  if (path >= bk.n_paths) return;
  const int first = bk.sets[ns].first_trade;
  const int last = first + bk.sets[ns].n_trades;
  const MarketState& dom = bk.market[path];
  double mtm = 0.0;
  for (int k = first; k < last; ++k) {
    if (!bk.trades[k].alive) continue;
    const MarketState& m = bk.market[bk.trades[k].ccy * bk.n_paths + path];
    mtm += price(bk.trades[k], m, dom, t);
  }
  bk.exposures[static_cast<size_t>(ns) * bk.n_paths + path].mtm = mtm;
}

__global__ void margining(Exposure* __restrict__ exposures, const NettingSet* __restrict__ sets,
                          const MarketState* __restrict__ market, int n_paths, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int ns = i / n_paths;
  const int path = i % n_paths;
  Exposure e = exposures[i];
  const CsaTerms csa = sets[ns].csa;
  double required = 0.0;
  if (e.mtm > csa.threshold) required = e.mtm - csa.threshold;
  if (e.mtm < -csa.threshold) required = e.mtm + csa.threshold;
  if (fabs(required - e.collateral) > csa.mta) {
    e.collateral = required * (1.0 - csa.haircut);
    e.calls++;
  }
  const double net = e.mtm - e.collateral;
  const float pos = static_cast<float>(fmax(net, 0.0)) * market[path].discount;
  e.peak = fmaxf(e.peak, pos);
  e.epe_path += pos;
  if (net < 0.0) e.negative_dates++;
  exposures[i] = e;
}

// One block per netting set.
template <int THREADS>
__global__ void aggregate(Book bk, float t, float dt) {
  __shared__ double s_pos[THREADS];
  __shared__ double s_neg[THREADS];
  __shared__ double s_max[THREADS];
  const int ns = blockIdx.x;
  double pos = 0.0, neg = 0.0, worst = 0.0;
  const Exposure* ex = bk.exposures + static_cast<size_t>(ns) * bk.n_paths;
  for (int p = threadIdx.x; p < bk.n_paths; p += THREADS) {
    const double net = (ex[p].mtm - ex[p].collateral) * bk.market[p].discount;
    if (net > 0.0) pos += net; else neg -= net;
    worst = fmax(worst, net);
  }
  s_pos[threadIdx.x] = pos;
  s_neg[threadIdx.x] = neg;
  s_max[threadIdx.x] = worst;
  __syncthreads();
  for (int w = THREADS / 2; w > 0; w >>= 1) {
    if (threadIdx.x < w) {
      s_pos[threadIdx.x] += s_pos[threadIdx.x + w];
      s_neg[threadIdx.x] += s_neg[threadIdx.x + w];
      s_max[threadIdx.x] = fmax(s_max[threadIdx.x], s_max[threadIdx.x + w]);
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    NettingSet* s = &bk.sets[ns];
    const double epe = s_pos[0] / bk.n_paths;
    const double pd = exp(-s->hazard * t) * (1.0 - exp(-s->hazard * dt));
    s->epe += epe * dt;
    s->ene += s_neg[0] / bk.n_paths * dt;
    s->cva += (1.0 - s->recovery) * epe * pd;
    s->pfe = fmax(s->pfe, s_max[0]);
  }
}

__global__ void count_alive(Book bk) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < bk.n_trades && bk.trades[i].alive)
    atomicAdd(&bk.sets[bk.trades[i].netting_set].alive_trades, 1);
}

class Random {
 public:
  explicit Random(unsigned long long s) : s_(s) {}
  unsigned next() {
    s_ = s_ * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<unsigned>(s_ >> 41);   // 23 bits
  }
  unsigned below(unsigned n) { return next() % n; }
  double uniform(double a, double b) { return a + (b - a) * (next() / 8388608.0); }
 private:
  unsigned long long s_;
};

int main() {
  const int n_sets = 1500, n_trades = 60000, n_paths = 512, n_ccy = 6;
  const int n_dates = 40;
  const float dt = 0.25f;
  Random rng(2718281u);

  std::vector<int> owner(n_trades);
  for (int& o : owner) {
    // a few large counterparties, many small ones
    const unsigned a = rng.below(n_sets), b = rng.below(n_sets);
    o = static_cast<int>(std::min(a, b));
  }
  std::sort(owner.begin(), owner.end());

  std::vector<Trade> trades(n_trades);
  std::vector<NettingSet> sets(n_sets);
  for (auto& s : sets) {
    s = NettingSet{};
    s.csa.threshold = 1.0e6 * (rng.below(4) == 0 ? 1000.0 : rng.uniform(0.5, 5.0));
    s.csa.mta = rng.uniform(1.0e5, 5.0e5);
    s.csa.haircut = 0.02f * static_cast<float>(rng.below(3));
    s.csa.rounding = 10000.0f;
    s.hazard = static_cast<float>(rng.uniform(0.005, 0.05));
    s.recovery = 0.4f;
  }
  for (int i = 0; i < n_trades; ++i) {
    Trade& t = trades[i];
    t.netting_set = owner[i];
    t.type = static_cast<short>(rng.below(4));
    t.notional = 1.0e5 * (1 + rng.below(50));
    t.ccy = static_cast<unsigned char>(rng.below(n_ccy));
    if (t.type == 1 || t.type == 2) t.ccy = static_cast<unsigned char>(1 + rng.below(n_ccy - 1));
    t.start = 0.25f * static_cast<float>(rng.below(8));
    t.maturity = t.start + 0.125f + 0.25f * static_cast<float>(2 + rng.below(56));
    t.last_fixing = t.start;
    t.spread = static_cast<float>(rng.uniform(0.0, 0.01));
    t.strike = (t.type == 0 || t.type == 3) ? rng.uniform(0.01, 0.04) : rng.uniform(0.8, 1.25);
    t.accrued = 0.0;
    t.fixings = 0;
    const short freq[3] = {1, 2, 4};
    t.periods_per_year = freq[rng.below(3)];
    t.payer = static_cast<unsigned char>(rng.below(2));
    t.alive = 1;
    t.flags = 0;
    NettingSet& s = sets[owner[i]];
    if (s.n_trades == 0) s.first_trade = i;
    s.n_trades++;
  }
  std::vector<MarketState> market(static_cast<size_t>(n_ccy) * n_paths);
  for (int c = 0; c < n_ccy; ++c)
    for (int p = 0; p < n_paths; ++p)
      market[c * n_paths + p] = MarketState{0.015f + 0.003f * c, 1.0f, 0.08f + 0.01f * c, 1.0f, 0.0f, 0};

  Book bk{};
  bk.n_trades = n_trades;
  bk.n_sets = n_sets;
  bk.n_paths = n_paths;
  bk.n_ccy = n_ccy;
  const size_t n_exp = static_cast<size_t>(n_sets) * n_paths;
  CUDA_SAFE(cudaMalloc(&bk.trades, sizeof(Trade) * n_trades));
  CUDA_SAFE(cudaMalloc(&bk.sets, sizeof(NettingSet) * n_sets));
  CUDA_SAFE(cudaMalloc(&bk.market, sizeof(MarketState) * market.size()));
  CUDA_SAFE(cudaMalloc(&bk.exposures, sizeof(Exposure) * n_exp));

  auto upload = [&] {
    CUDA_SAFE(cudaMemcpy(bk.trades, trades.data(), sizeof(Trade) * n_trades, cudaMemcpyHostToDevice));
    CUDA_SAFE(cudaMemcpy(bk.sets, sets.data(), sizeof(NettingSet) * n_sets, cudaMemcpyHostToDevice));
    CUDA_SAFE(cudaMemcpy(bk.market, market.data(), sizeof(MarketState) * market.size(), cudaMemcpyHostToDevice));
    CUDA_SAFE(cudaMemset(bk.exposures, 0, sizeof(Exposure) * n_exp));
  };

  auto run_date = [&](int d) {
    const float t = dt * static_cast<float>(d + 1);
    evolve_market<<<(n_paths * n_ccy + 127) / 128, 128>>>(bk, d, dt);
    trade_events<<<120, 256>>>(bk, t, dt);
    revalue<<<dim3((n_paths + 127) / 128, n_sets), 128>>>(bk, t);
    margining<<<(static_cast<int>(n_exp) + 255) / 256, 256>>>(bk.exposures, bk.sets, bk.market, n_paths,
                                                              static_cast<int>(n_exp));
    aggregate<128><<<n_sets, 128>>>(bk, t, dt);
  };

  // warm-up on the first date, check, and start again from the initial state
  upload();
  run_date(0);
  CUDA_SAFE(cudaGetLastError());
  CUDA_SAFE(cudaDeviceSynchronize());
  std::vector<Exposure> ex(n_exp);
  CUDA_SAFE(cudaMemcpy(ex.data(), bk.exposures, sizeof(Exposure) * n_exp, cudaMemcpyDeviceToHost));
  for (const Exposure& e : ex)
    if (!std::isfinite(e.mtm)) {
      std::fprintf(stderr, "non-finite value\n");
      return 1;
    }
  upload();

  cudaEvent_t a, b;
  CUDA_SAFE(cudaEventCreate(&a));
  CUDA_SAFE(cudaEventCreate(&b));
  CUDA_SAFE(cudaEventRecord(a, 0));
  for (int d = 0; d < n_dates; ++d) run_date(d);
  CUDA_SAFE(cudaEventRecord(b, 0));
  CUDA_SAFE(cudaEventSynchronize(b));
  float ms = 0.0f;
  CUDA_SAFE(cudaEventElapsedTime(&ms, a, b));

  count_alive<<<(n_trades + 255) / 256, 256>>>(bk);
  CUDA_SAFE(cudaGetLastError());
  CUDA_SAFE(cudaMemcpy(sets.data(), bk.sets, sizeof(NettingSet) * n_sets, cudaMemcpyDeviceToHost));
  CUDA_SAFE(cudaMemcpy(trades.data(), bk.trades, sizeof(Trade) * n_trades, cudaMemcpyDeviceToHost));
  CUDA_SAFE(cudaMemcpy(market.data(), bk.market, sizeof(MarketState) * market.size(), cudaMemcpyDeviceToHost));
  CUDA_SAFE(cudaMemcpy(ex.data(), bk.exposures, sizeof(Exposure) * n_exp, cudaMemcpyDeviceToHost));

  double epe = 0, ene = 0, cva = 0, pfe = 0, fx = 0, avg = 0, peak = 0, calls = 0;
  long alive = 0, fixings = 0;
  for (const auto& s : sets) {
    epe += s.epe; ene += s.ene; cva += s.cva; pfe += s.pfe;
    alive += s.alive_trades;
  }
  for (const auto& t : trades) fixings += t.fixings;
  for (const auto& m : market) { fx += m.fx; avg += m.rate_avg; }
  for (const auto& e : ex) { peak += e.peak; calls += e.calls; }

  std::printf("check epe %.3e\n", epe);
  std::printf("check ene %.3e\n", ene);
  std::printf("check cva %.3e\n", cva);
  std::printf("check pfe %.3e\n", pfe);
  std::printf("check peak %.3e\n", peak);
  std::printf("check margin_calls %.2e\n", calls);
  std::printf("check alive %ld\n", alive);
  std::printf("check fixings %ld\n", fixings);
  std::printf("check fx %.3e\n", fx);
  std::printf("check rate_avg %.3e\n", avg);
  std::printf("time_ms %.5f\n", ms / n_dates);

  cudaFree(bk.trades);
  cudaFree(bk.sets);
  cudaFree(bk.market);
  cudaFree(bk.exposures);
  return 0;
}
