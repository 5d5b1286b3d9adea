// bond_ladder.cu - monthly revaluation of a bond portfolio under moving curves.
//
// Every step is one month: bonds are priced by discounting their cash flows on
// a Nelson-Siegel curve, their risk figures are rolled up per issuer, issuers are
// tested against their limits, and the portfolio is aged by a month (matured
// bonds are reinvested, ratings migrate).

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

inline void checkCuda(cudaError_t e, const char* what) {
  if (e != cudaSuccess)
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
}

struct Bond {
  double face;
  double couponRate;
  float spread;
  int maturityMonths;
  int issuer;
  uint16_t originalTenor;
  uint8_t couponsPerYear;
  uint8_t rating;
  uint32_t seed;
};

struct Valuation {
  double dirty;
  double duration;
  double convexity;
  float yieldGuess;
  float accrued;
};

struct IssuerBook {
  unsigned long long marketValueCents;
  unsigned long long durationMilli;
  unsigned int positions;
  unsigned int breaches;
  double limit;
  double peak;
  int sector;
  float haircut;
};

struct CurveParams {
  float level, slope, curvature, tau;
};

constexpr int kMaxSteps = 128;
__constant__ CurveParams gCurve[kMaxSteps];
__constant__ float gRatingSpread[8];

__device__ double zeroRate(const CurveParams& c, double t) {
  const double x = t / c.tau;
  const double e = exp(-x);
  const double h = (1.0 - e) / x;
  return c.level + c.slope * h + c.curvature * (h - e);
}

__device__ __forceinline__ uint32_t hashNext(uint32_t s) {
  s ^= s << 13;
  s ^= s >> 17;
  s ^= s << 5;
  return s;
}

__global__ void priceBonds(const Bond* __restrict__ bonds, Valuation* __restrict__ out, int n,
                           int month) {
  const int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i >= n) return;
  const Bond b = bonds[i];
  const CurveParams curve = gCurve[month];
  const int period = 12 / b.couponsPerYear;
  const double cpn = b.face * b.couponRate / b.couponsPerYear;
  const double add = b.spread + gRatingSpread[b.rating];

  double pv = 0.0, dur = 0.0, conv = 0.0;
  int m = b.maturityMonths;
  double cash = b.face + cpn;
  while (m > 0) {
    const double t = m / 12.0;
    const double df = exp(-(zeroRate(curve, t) + add) * t);
    const double w = cash * df;
    pv += w;
    dur += w * t;
    conv += w * t * t;
    cash = cpn;
    m -= period;
  }
  const double elapsed = -m / double(period);  // part of the running period gone by
  out[i].dirty = pv;
  out[i].duration = dur / pv;
  out[i].convexity = conv / pv;
  out[i].accrued = float(cpn * elapsed);
  out[i].yieldGuess = float(zeroRate(curve, dur / pv) + add);
}

__global__ void rollUp(const Bond* __restrict__ bonds, const Valuation* __restrict__ val,
                       IssuerBook* books, int n) {
  const int stride = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
    IssuerBook& book = books[bonds[i].issuer];
    const double mv = val[i].dirty;
    atomicAdd(&book.marketValueCents, (unsigned long long)(mv * 100.0 + 0.5));
    atomicAdd(&book.durationMilli, (unsigned long long)(mv * val[i].duration * 10.0 + 0.5));
    atomicAdd(&book.positions, 1u);
  }
}

__global__ void testLimits(IssuerBook* books, int nIssuers) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= nIssuers) return;
  IssuerBook b = books[i];
  const double mv = b.marketValueCents * 0.01;
  const double riskAdjusted = mv * (1.0 - b.haircut);
  if (riskAdjusted > b.limit) b.breaches += 1;
  if (mv > b.peak) b.peak = mv;
  b.marketValueCents = 0;
  b.durationMilli = 0;
  b.positions = 0;
  books[i] = b;
}

__global__ void ageBonds(Bond* bonds, int n) {
  const int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i >= n) return;
  Bond& b = bonds[i];
  const uint32_t s = hashNext(b.seed);
  b.seed = s;
  b.maturityMonths -= 1;
  if (b.maturityMonths <= 0) {
    b.maturityMonths = b.originalTenor;  // reinvest at the same tenor
    b.couponRate = 0.01 + 0.00001 * (s % 5000u);
  }
  const uint32_t draw = (s >> 8) % 1000u;
  if (draw < 4 && b.rating < 7)
    b.rating += 1;
  else if (draw > 996 && b.rating > 0)
    b.rating -= 1;
}

class BondDesk {
 public:
  BondDesk(int bonds, int issuers) : n_(bonds), m_(issuers), hostBonds_(bonds), hostBooks_(issuers) {
    std::mt19937 gen(20240229);
    for (auto& b : hostBonds_) {
      const uint32_t r = gen();
      const uint32_t q = gen();
      static const uint8_t freq[4] = {1, 2, 2, 4};
      b.face = 1000.0 * (1 + r % 50);
      b.couponRate = 0.005 + 0.0001 * (q % 600);
      b.spread = 0.0001f * (q / 600 % 150);
      b.couponsPerYear = freq[(r >> 8) & 3];
      b.originalTenor = uint16_t(12 * (1 + (r >> 10) % 15));
      b.maturityMonths = 1 + int((q >> 17) % b.originalTenor);
      b.issuer = int((r >> 12) % m_);
      b.rating = uint8_t((q >> 12) & 7);
      b.seed = r | 1u;
    }
    for (int i = 0; i < m_; ++i) {
      IssuerBook& k = hostBooks_[i];
      k = IssuerBook{};
      k.limit = 25000.0 * n_ / m_ * (0.8 + 0.4 * (i % 17) / 17.0);
      k.sector = i % 11;
      k.haircut = 0.02f * (i % 9);
    }
    checkCuda(cudaMalloc(&bonds_, n_ * sizeof(Bond)), "malloc bonds");
    checkCuda(cudaMalloc(&vals_, n_ * sizeof(Valuation)), "malloc valuations");
    checkCuda(cudaMalloc(&books_, m_ * sizeof(IssuerBook)), "malloc books");
    checkCuda(cudaMemcpy(bonds_, hostBonds_.data(), n_ * sizeof(Bond), cudaMemcpyHostToDevice), "h2d");
    checkCuda(cudaMemcpy(books_, hostBooks_.data(), m_ * sizeof(IssuerBook), cudaMemcpyHostToDevice),
              "h2d");
    checkCuda(cudaMemset(vals_, 0, n_ * sizeof(Valuation)), "memset");

    std::vector<CurveParams> curves(kMaxSteps);
    for (int s = 0; s < kMaxSteps; ++s)
      curves[s] = {0.035f + 0.0001f * (s % 24), -0.012f + 0.0002f * (s % 31), 0.004f * ((s % 7) - 3) / 3.0f,
                   1.8f + 0.01f * (s % 40)};
    checkCuda(cudaMemcpyToSymbol(gCurve, curves.data(), sizeof(CurveParams) * kMaxSteps), "curve");
    const float spr[8] = {0.f, 0.0005f, 0.001f, 0.002f, 0.004f, 0.008f, 0.016f, 0.03f};
    checkCuda(cudaMemcpyToSymbol(gRatingSpread, spr, sizeof spr), "spreads");
  }
  ~BondDesk() {
    cudaFree(bonds_);
    cudaFree(vals_);
    cudaFree(books_);
  }
  BondDesk(const BondDesk&) = delete;
  BondDesk& operator=(const BondDesk&) = delete;

  void month(int m) {
    const int threads = 128;
    priceBonds<<<(n_ + threads - 1) / threads, threads>>>(bonds_, vals_, n_, m);
    rollUp<<<1056, 256>>>(bonds_, vals_, books_, n_);
    testLimits<<<(m_ + 63) / 64, 64>>>(books_, m_);
    ageBonds<<<(n_ + 255) / 256, 256>>>(bonds_, n_);
  }

  void report() {
    std::vector<Valuation> v(n_);
    checkCuda(cudaMemcpy(v.data(), vals_, n_ * sizeof(Valuation), cudaMemcpyDeviceToHost), "d2h");
    checkCuda(cudaMemcpy(hostBonds_.data(), bonds_, n_ * sizeof(Bond), cudaMemcpyDeviceToHost), "d2h");
    checkCuda(cudaMemcpy(hostBooks_.data(), books_, m_ * sizeof(IssuerBook), cudaMemcpyDeviceToHost), "d2h");
    double dirty = 0, dur = 0, conv = 0, acc = 0, yld = 0, peak = 0;
    unsigned long long months = 0, ratings = 0, seeds = 0, breaches = 0;
    double coupons = 0;
    for (int i = 0; i < n_; ++i) {
      dirty += v[i].dirty;
      dur += v[i].duration;
      conv += v[i].convexity;
      acc += v[i].accrued;
      yld += v[i].yieldGuess;
      months += hostBonds_[i].maturityMonths;
      ratings += hostBonds_[i].rating * (unsigned long long)(1 + i % 13);
      seeds += hostBonds_[i].seed;
      coupons += hostBonds_[i].couponRate;
    }
    for (const auto& b : hostBooks_) {
      breaches += b.breaches;
      peak += b.peak;
    }
    std::printf("check dirty %.6e\n", dirty);
    std::printf("check duration %.6e\n", dur);
    std::printf("check convexity %.6e\n", conv);
    std::printf("check accrued %.5e\n", acc);
    std::printf("check yield %.5e\n", yld);
    std::printf("check peak %.6e\n", peak);
    std::printf("check coupons %.6e\n", coupons);
    std::printf("check months %llu\n", months);
    std::printf("check ratings %llu\n", ratings);
    std::printf("check seeds %llu\n", seeds);
    std::printf("check breaches %llu\n", breaches);
  }

 private:
  int n_, m_;
  std::vector<Bond> hostBonds_;
  std::vector<IssuerBook> hostBooks_;
  Bond* bonds_ = nullptr;
  Valuation* vals_ = nullptr;
  IssuerBook* books_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 2000000;
  const int steps = argc > 2 ? std::min(std::atoi(argv[2]), kMaxSteps) : 36;
  try {
    BondDesk desk(n, 20000);
    cudaEvent_t a, b;
    checkCuda(cudaEventCreate(&a), "event");
    checkCuda(cudaEventCreate(&b), "event");
    checkCuda(cudaEventRecord(a), "record");
    for (int m = 0; m < steps; ++m) desk.month(m);
    checkCuda(cudaEventRecord(b), "record");
    checkCuda(cudaEventSynchronize(b), "sync");
    checkCuda(cudaGetLastError(), "launch");
    float ms = 0;
    checkCuda(cudaEventElapsedTime(&ms, a, b), "elapsed");
    std::printf("time_ms %.5f\n", ms / steps);
    desk.report();
    cudaEventDestroy(a);
    cudaEventDestroy(b);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
