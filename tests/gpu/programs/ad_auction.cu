// Second-price ad auctions: impressions look up an audience segment in a hash table,
// one warp evaluates its campaigns, winners are charged and budgets are paced.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

void verify(cudaError_t status, const char* file, int line) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s(%d): CUDA error %d: %s\n", file, line, int(status), cudaGetErrorString(status));
  std::exit(1);
}
#define VERIFY(x) verify((x), __FILE__, __LINE__)

using u32 = unsigned int;
using u64 = unsigned long long;

struct Impression {
  u64 user;
  u32 segment_key;
  float floor_cents;
  float quality;
  int winner;
  float price, runner_up;
  short hour, country, slot_size;
  unsigned char device, viewable;
  int candidates;
};

struct Targeting {
  u32 country_mask, hour_mask;
  unsigned char device_mask, min_quality;
  short slot_size;
};

struct Campaign {
  int bidder;
  float base_bid, ctr_prior, pacing;
  Targeting target;
  int daily_cap;
  u32 wins, impressions;
  u64 spent_milli, pending_milli;
  float weights[8];
  char label[12];
};

struct Bidder {
  double balance, spent_total;
  float bid_multiplier, aggressiveness, win_rate;
  int campaigns;
  u64 charged_milli;
  short strategy, suspended;
};

struct SegmentSlot {
  u32 key;
  int begin, count;
};

struct MarketParams {
  float hour_factor[24];
  float device_factor[4];
  float reserve_scale, pacing_gain;
};

__constant__ MarketParams market;

__host__ __device__ inline u32 jenkins(u32 a) {
  a += ~(a << 15);
  a ^= a >> 10;
  a += a << 3;
  a ^= a >> 6;
  a += ~(a << 11);
  a ^= a >> 16;
  return a;
}

// Fresh traffic each step: the same slots receive new users, hours and floors.
__global__ void next_traffic(Impression* imps, int n, u32 nkeys, int step) {
  const int stride = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
    const u32 h = jenkins(static_cast<u32>(i) * 2654435761u + static_cast<u32>(step));
    imps[i].user = (imps[i].user << 7) ^ h;
    imps[i].segment_key = 1u + jenkins(h ^ 0xabcdu) % nkeys;
    imps[i].hour = static_cast<short>(step % 24);
    imps[i].floor_cents = market.reserve_scale * (5.0f + (h & 63u)) * (imps[i].viewable ? 1.2f : 0.8f);
  }
}

__device__ int find_segment(const SegmentSlot* __restrict__ table, u32 mask, u32 key) {
  for (u32 at = jenkins(key) & mask, tries = 0; tries <= mask; ++tries, at = (at + 1) & mask) {
    if (table[at].key == key) return static_cast<int>(at);
    if (table[at].key == 0) break;
  }
  return -1;
}

__device__ bool eligible(const Campaign& c, const Impression& imp) {
  if (!((c.target.country_mask >> (imp.country & 31)) & 1u) || !((c.target.hour_mask >> imp.hour) & 1u)) return false;
  if (!((c.target.device_mask >> imp.device) & 1u)) return false;
  if (c.target.slot_size >= 0 && c.target.slot_size != imp.slot_size) return false;
  return imp.quality * 100.0f >= c.target.min_quality && c.pacing > 0.02f;
}

__device__ float bid_value(const Campaign& c, const Bidder& b, const Impression& imp) {
  float z = c.ctr_prior;
  const u64 u = imp.user;
#pragma unroll
  for (int f = 0; f < 8; ++f) z += c.weights[f] * (static_cast<float>((u >> (8 * f)) & 255ull) * (1.0f / 255.0f) - 0.5f);
  const float ctr = 1.0f / (1.0f + __expf(-z));
  float bid = c.base_bid * ctr * b.bid_multiplier * market.hour_factor[imp.hour] * market.device_factor[imp.device & 3];
  if (b.strategy == 2) bid *= 1.0f + 0.2f * b.aggressiveness;
  return bid * c.pacing;
}

// Bid in the upper half, inverted list position below: ties go to the earlier campaign.
__device__ u64 pack(float bid, int position) {
  return (static_cast<u64>(__float_as_uint(bid)) << 32) | static_cast<u32>(0x7fffffff - position);
}

__global__ void run_auctions(Impression* __restrict__ imps, int n, const Campaign* __restrict__ campaigns,
                             const Bidder* __restrict__ bidders, const SegmentSlot* __restrict__ table, u32 mask,
                             const int* __restrict__ members) {
  const int lane = threadIdx.x & 31;
  const int warps = (gridDim.x * blockDim.x) >> 5;
  for (int i = (blockIdx.x * blockDim.x + threadIdx.x) >> 5; i < n; i += warps) {
    const Impression& imp = imps[i];
    const int slot = find_segment(table, mask, imp.segment_key);
    u64 first = 0, second = 0;
    int seen = 0;
    if (slot >= 0) {
      const int begin = table[slot].begin, count = table[slot].count;
      for (int k = lane; k < count; k += 32) {
        const Campaign& c = campaigns[members[begin + k]];
        if (!eligible(c, imp)) continue;
        const Bidder& b = bidders[c.bidder];
        if (b.suspended) continue;
        ++seen;
        const float bid = bid_value(c, b, imp);
        if (bid < imp.floor_cents) continue;
        const u64 p = pack(bid, begin + k);
        second = p > first ? first : (p > second ? p : second);
        first = p > first ? p : first;
      }
    }
    for (int off = 16; off > 0; off >>= 1) {
      const u64 of = __shfl_xor_sync(0xffffffffu, first, off);
      const u64 os = __shfl_xor_sync(0xffffffffu, second, off);
      seen += __shfl_xor_sync(0xffffffffu, seen, off);
      const u64 lose = of < first ? of : first;
      first = of > first ? of : first;
      const u64 s = os > second ? os : second;
      second = lose > s ? lose : s;
    }
    if (lane == 0) {
      const float rival = second ? __uint_as_float(static_cast<u32>(second >> 32)) : 0.0f;
      imps[i].winner = first ? members[0x7fffffff - static_cast<int>(first & 0xffffffffull)] : -1;
      imps[i].price = first ? fmaxf(rival, imp.floor_cents) : 0.0f;
      imps[i].runner_up = rival;
      imps[i].candidates = seen;
    }
  }
}

__global__ void charge(const Impression* __restrict__ imps, int n, Campaign* campaigns) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int w = imps[i].winner;
  if (w < 0) return;
  atomicAdd(&campaigns[w].pending_milli, static_cast<u64>(imps[i].price * 1000.0f));
  atomicAdd(&campaigns[w].wins, 1u);
  if (imps[i].viewable) atomicAdd(&campaigns[w].impressions, 1u);
}

__global__ void pace_campaigns(Campaign* campaigns, int n, Bidder* bidders) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Campaign& c = campaigns[i];
  const u64 fresh = c.pending_milli;
  if (fresh > 0) {
    c.spent_milli += fresh;
    c.pending_milli = 0;
    atomicAdd(&bidders[c.bidder].charged_milli, fresh);
  }
  const float target = 1000.0f * static_cast<float>(c.daily_cap) / 64.0f;
  const float ratio = static_cast<float>(fresh) / target;
  c.pacing = fminf(1.0f, fmaxf(0.01f, c.pacing * (1.0f + market.pacing_gain * (1.0f - fminf(ratio, 2.0f)))));
}

__global__ void settle_bidders(Bidder* bidders, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Bidder& b = bidders[i];
  const double due = static_cast<double>(b.charged_milli) * 1e-5;
  b.charged_milli = 0;
  b.balance -= due;
  b.spent_total += due;
  b.win_rate = 0.9f * b.win_rate + 0.1f * static_cast<float>(due);
  if (b.balance < 0.0) {
    b.suspended = 3;
    b.balance += 0.2 * b.spent_total + 10.0;
  } else if (b.suspended > 0) --b.suspended;
}

class AuctionHouse {
 public:
  AuctionHouse(int impressions, cudaStream_t stream) : stream_(stream) {
    make_campaigns(impressions / 16 + 64);
    make_segments();
    imps_.resize(impressions);
    for (int i = 0; i < impressions; ++i) {
      const u32 h = jenkins(i + 1u);
      imps_[i] = Impression{(u64(h) << 32) | jenkins(h), 1, 1.0f, (h % 1000) / 1000.0f, -1, 0.0f, 0.0f, 0, short(h % 30),
                            short((h >> 10) % 4), (unsigned char)((h >> 14) % 4), (unsigned char)((h >> 20) % 3 != 0), 0};
    }
    MarketParams m{};
    for (int k = 0; k < 24; ++k) m.hour_factor[k] = 0.7f + 0.05f * (k % 12);
    for (int k = 0; k < 4; ++k) m.device_factor[k] = 0.8f + 0.15f * k;
    m.reserve_scale = 0.5f;
    m.pacing_gain = 0.1f;
    VERIFY(cudaMemcpyToSymbol(market, &m, sizeof m));
    push(d_imps_, imps_);
    push(d_campaigns_, campaigns_);
    push(d_bidders_, bidders_);
    push(d_table_, table_);
    push(d_members_, members_);
    VERIFY(cudaDeviceSynchronize());
  }
  ~AuctionHouse() {
    for (void* p : {(void*)d_imps_, (void*)d_campaigns_, (void*)d_bidders_, (void*)d_table_, (void*)d_members_})
      cudaFreeAsync(p, stream_);
    cudaStreamSynchronize(stream_);
  }

  void round() {
    const int n = int(imps_.size()), nc = int(campaigns_.size()), nb = int(bidders_.size());
    next_traffic<<<1056, 256, 0, stream_>>>(d_imps_, n, nkeys_, step_++);
    run_auctions<<<2112, 256, 0, stream_>>>(d_imps_, n, d_campaigns_, d_bidders_, d_table_, u32(table_.size()) - 1, d_members_);
    charge<<<(n + 255) / 256, 256, 0, stream_>>>(d_imps_, n, d_campaigns_);
    pace_campaigns<<<(nc + 127) / 128, 128, 0, stream_>>>(d_campaigns_, nc, d_bidders_);
    settle_bidders<<<(nb + 127) / 128, 128, 0, stream_>>>(d_bidders_, nb);
  }

  double checksum() {
    pull(imps_, d_imps_);
    pull(campaigns_, d_campaigns_);
    pull(bidders_, d_bidders_);
    VERIFY(cudaStreamSynchronize(stream_));
    double s = 0;
    for (size_t i = 0; i < imps_.size(); ++i) {
      const Impression& p = imps_[i];
      s += (1 + i % 3) * (p.price + 0.5 * p.runner_up + 1e-4 * p.winner) + p.candidates + 0.1 * p.floor_cents + p.hour +
           double(p.user % 101) + p.country + p.slot_size + p.device + 1e-4 * p.segment_key;
    }
    for (size_t i = 0; i < campaigns_.size(); ++i) {
      const Campaign& c = campaigns_[i];
      s += (1 + i % 3) * (100.0 * c.pacing + c.wins + 0.5 * c.impressions) + 1e-4 * double(c.spent_milli) + c.label[1] +
           c.weights[i % 8] + c.base_bid + c.target.min_quality + 1e-3 * c.daily_cap;
    }
    for (size_t i = 0; i < bidders_.size(); ++i)
      s += (1 + i % 3) * bidders_[i].balance + bidders_[i].spent_total + bidders_[i].win_rate + 10.0 * bidders_[i].suspended + bidders_[i].campaigns;
    return s;
  }

 private:
  void make_campaigns(int count) {
    bidders_.resize(count / 40 + 8);
    for (size_t b = 0; b < bidders_.size(); ++b) {
      const u32 h = jenkins(u32(b) + 900u);
      bidders_[b] = Bidder{50.0 + h % 2000, 0.0, 0.6f + (h % 100) * 0.01f, (h >> 8) % 100 * 0.01f, 0.0f, 0, 0ull, short(h % 4), 0};
    }
    campaigns_.resize(count);
    for (int i = 0; i < count; ++i) {
      const u32 h = jenkins(i * 5u + 3u), g = jenkins(h);
      Campaign& c = campaigns_[i];
      c = Campaign{};
      c.bidder = int(h % bidders_.size());
      c.base_bid = 40.0f + float(g % 300);
      c.ctr_prior = -2.0f + (h % 200) * 0.01f;
      c.pacing = 0.5f + (g >> 5) % 50 * 0.01f;
      c.target = Targeting{jenkins(g) | h, jenkins(g + 1) | 0x00f0f0u, (unsigned char)(1 + g % 15), (unsigned char)(h % 60), short(int(h % 6) < 4 ? -1 : int(h % 4))};
      c.daily_cap = 200 + int(g % 5000);
      for (int f = 0; f < 8; ++f) c.weights[f] = (int(jenkins(h + f) % 200) - 100) * 0.01f;
      std::snprintf(c.label, sizeof c.label, "c%06d", i % 1000000);
      ++bidders_[c.bidder].campaigns;
    }
  }

  void make_segments() {
    nkeys_ = u32(campaigns_.size() / 8 + 4);
    size_t cap = 1;
    while (cap < 2 * size_t(nkeys_)) cap *= 2;
    table_.assign(cap, SegmentSlot{0, 0, 0});
    for (u32 key = 1; key <= nkeys_; ++key) {
      if (key % 37 == 0) continue;  // keys nobody targets
      const int count = 8 + int(jenkins(key * 3u) % 72u);
      size_t at = jenkins(key) & (cap - 1);
      while (table_[at].key != 0) at = (at + 1) & (cap - 1);
      table_[at] = SegmentSlot{key, int(members_.size()), count};
      for (int k = 0; k < count; ++k) members_.push_back(int(jenkins(key * 131u + k) % campaigns_.size()));
    }
  }

  template <typename T>
  void push(T*& dst, const std::vector<T>& src) {
    VERIFY(cudaMallocAsync(&dst, src.size() * sizeof(T), stream_));
    VERIFY(cudaMemcpyAsync(dst, src.data(), src.size() * sizeof(T), cudaMemcpyHostToDevice, stream_));
  }
  template <typename T>
  void pull(std::vector<T>& dst, const T* src) {
    VERIFY(cudaMemcpyAsync(dst.data(), src, dst.size() * sizeof(T), cudaMemcpyDeviceToHost, stream_));
  }
  cudaStream_t stream_;
  int step_ = 0;
  u32 nkeys_ = 0;
  std::vector<Impression> imps_;
  std::vector<Campaign> campaigns_;
  std::vector<Bidder> bidders_;
  std::vector<SegmentSlot> table_;
  std::vector<int> members_;
  Impression* d_imps_ = nullptr;
  Campaign* d_campaigns_ = nullptr;
  Bidder* d_bidders_ = nullptr;
  SegmentSlot* d_table_ = nullptr;
  int* d_members_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  int n = argc > 1 ? std::atoi(argv[1]) : 2000000;
  if (n < 256) n = 256;
  cudaStream_t stream;
  VERIFY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  {
    AuctionHouse house(n, stream);
    for (int i = 0; i < 5; ++i) house.round();
    const int rounds = 50;
    cudaEvent_t from, to;
    VERIFY(cudaEventCreate(&from));
    VERIFY(cudaEventCreate(&to));
    VERIFY(cudaEventRecord(from, stream));
    for (int i = 0; i < rounds; ++i) house.round();
    VERIFY(cudaEventRecord(to, stream));
    VERIFY(cudaGetLastError());
    VERIFY(cudaEventSynchronize(to));
    float ms = 0.0f;
    VERIFY(cudaEventElapsedTime(&ms, from, to));
    std::printf("check %.6e\n", house.checksum());
    std::printf("time_ms %.5f\n", ms / rounds);
  }
  VERIFY(cudaStreamDestroy(stream));
  return 0;
}
