// Batched second-price ad auctions.  Each impression looks at the campaigns that
// target its audience segment, the winner pays the runner-up's bid, spend is
// booked with atomics and every campaign adjusts its pacing after each batch.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define CUDA_CHECK(x)                                                                   \
    do {                                                                                \
        cudaError_t status = (x);                                                       \
        if (status != cudaSuccess) {                                                    \
            std::fprintf(stderr, "CUDA error %s at line %d\n", cudaGetErrorString(status), __LINE__); \
            std::exit(EXIT_FAILURE);                                                    \
        }                                                                               \
    } while (0)

template <typename T>
class DeviceBuffer {
public:
    explicit DeviceBuffer(size_t n) : count_(n) { CUDA_CHECK(cudaMalloc(&ptr_, n * sizeof(T))); }
    explicit DeviceBuffer(const std::vector<T> &host) : DeviceBuffer(host.size()) { upload(host); }
    ~DeviceBuffer() { cudaFree(ptr_); }
    DeviceBuffer(const DeviceBuffer &) = delete;
    DeviceBuffer &operator=(const DeviceBuffer &) = delete;
    void upload(const std::vector<T> &host)
    {
        CUDA_CHECK(cudaMemcpy(ptr_, host.data(), count_ * sizeof(T), cudaMemcpyHostToDevice));
    }
    std::vector<T> download() const
    {
        std::vector<T> host(count_);
        CUDA_CHECK(cudaMemcpy(host.data(), ptr_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
        return host;
    }
    T *get() const { return ptr_; }
    size_t size() const { return count_; }

private:
    T *ptr_ = nullptr;
    size_t count_;
};

struct Campaign {
    uint32_t keywords;        // targeting bit mask
    uint32_t deviceMask;
    int32_t baseBid;          // micro dollars
    int32_t pacing;           // 1/1024ths
    uint32_t wins;
    uint32_t batchSpend;      // micro dollars in this batch
    unsigned long long spend; // micro dollars in total
    unsigned long long budget;
    uint32_t clicks;
    uint32_t advertiser;
    uint16_t hourFrom, hourTo;
    uint8_t category;
    uint8_t active;
    uint8_t pad[2];
};

struct Impression {
    uint32_t interests;
    uint32_t user;
    uint32_t segment;
    uint8_t hour;
    uint8_t device;
    int32_t floorPrice;
    int32_t winner;
    int32_t price;
    float clickRate;
    uint32_t blocked;      // blocked categories
};

struct Segment {
    int first, count;
    uint32_t filled;
    uint32_t unfilled;
};

__device__ inline int quote(const Campaign &c, const Impression &imp)
{
    if (!c.active) return 0;
    if (!((c.deviceMask >> imp.device) & 1u)) return 0;
    if (imp.hour < c.hourFrom || imp.hour >= c.hourTo) return 0;
    if ((imp.blocked >> (c.category & 31)) & 1u) return 0;
    int match = __popc(c.keywords & imp.interests);
    long long bid = (long long)c.baseBid * (8 + match) * c.pacing;
    return (int)(bid >> 13);
}

__global__ void runAuctions(Impression *imps, int n, const Campaign *campaigns,
                            const Segment *segments, const int *candidates)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Impression imp = imps[i];
    const int first = segments[imp.segment].first;
    const int count = segments[imp.segment].count;
    int best = imp.floorPrice, second = imp.floorPrice, who = -1;
    for (int k = 0; k < count; ++k) {
        int id = candidates[first + k];
        int bid = quote(campaigns[id], imp);
        if (bid > best) {
            second = best;
            best = bid;
            who = id;
        } else if (bid > second) {
            second = bid;
        }
    }
    imps[i].winner = who;
    imps[i].price = who >= 0 ? second + 1 : 0;
}

__global__ void bookSpend(const Impression *imps, int n, Campaign *campaigns, Segment *segments,
                          uint32_t round)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int who = imps[i].winner;
    Segment *seg = segments + imps[i].segment;
    if (who < 0) {
        atomicAdd(&seg->unfilled, 1u);
        return;
    }
    atomicAdd(&seg->filled, 1u);
    atomicAdd(&campaigns[who].wins, 1u);
    atomicAdd(&campaigns[who].batchSpend, (uint32_t)imps[i].price);
    uint32_t dice = (imps[i].user ^ (round * 0x9e3779b9u)) * 2654435761u;
    if ((float)(dice >> 8) * (1.0f / 16777216.0f) < imps[i].clickRate)
        atomicAdd(&campaigns[who].clicks, 1u);
}

__global__ void adjustPacing(Campaign *campaigns, int n, int round, int rounds)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= n) return;
    Campaign &k = campaigns[c];
    k.spend += k.batchSpend;
    k.batchSpend = 0;
    unsigned long long plan = k.budget * (unsigned long long)(round + 1) / (unsigned long long)rounds;
    if (k.spend > plan)
        k.pacing = max(64, k.pacing - k.pacing / 8);
    else
        k.pacing = min(2048, k.pacing + k.pacing / 16 + 1);
    k.active = k.spend < k.budget ? 1 : 0;
}

__global__ void refreshImpressions(Impression *imps, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint32_t u = imps[i].user * 1664525u + 1013904223u;
    imps[i].user = u;
    imps[i].interests ^= 1u << (u >> 27);
    imps[i].hour = (uint8_t)((imps[i].hour + 1) % 24);
}

struct Lcg {
    uint64_t s;
    uint32_t next()
    {
        s = s * 6364136223846793005ULL + 1442695040888963407ULL;
        return (uint32_t)(s >> 33);
    }
    uint32_t below(uint32_t n) { return next() % n; }
};

int main()
{
    const int nCampaigns = 40000, nImpressions = 1000000, nSegments = 140000;
    Lcg rnd{77};

    std::vector<Campaign> campaigns(nCampaigns);
    for (Campaign &c : campaigns) {
        c = Campaign{};
        c.keywords = rnd.next() & rnd.next();
        c.deviceMask = 1u + rnd.below(15);
        c.baseBid = 500 + (int)rnd.below(6000);
        c.pacing = 1024;
        c.budget = 40000ULL + rnd.below(4000000);
        c.advertiser = rnd.below(900);
        c.hourFrom = (uint16_t)rnd.below(10);
        c.hourTo = (uint16_t)(14 + rnd.below(11));
        c.category = (uint8_t)rnd.below(32);
        c.active = 1;
    }
    std::vector<Segment> segments(nSegments);
    std::vector<int> candidates;
    for (Segment &s : segments) {
        s = Segment{(int)candidates.size(), 16 + (int)rnd.below(64), 0, 0};
        for (int k = 0; k < s.count; ++k) candidates.push_back((int)rnd.below(nCampaigns));
    }
    std::vector<Impression> imps(nImpressions);
    for (Impression &m : imps) {
        m = Impression{};
        m.interests = rnd.next() * 2u + (rnd.next() & 1u);
        m.user = rnd.next();
        uint32_t a = rnd.below(nSegments), b = rnd.below(nSegments);
        m.segment = a < b ? a : b;
        m.hour = (uint8_t)rnd.below(24);
        m.device = (uint8_t)rnd.below(4);
        m.floorPrice = 300 + (int)rnd.below(1500);
        m.winner = -1;
        m.clickRate = 0.001f * (float)rnd.below(40);
        m.blocked = rnd.next() & rnd.next() & rnd.next();
    }

    DeviceBuffer<Campaign> dCampaigns(campaigns);
    DeviceBuffer<Segment> dSegments(segments);
    DeviceBuffer<Impression> dImps(imps);
    DeviceBuffer<int> dCandidates(candidates);

    const int block = 256;
    const int impGrid = (nImpressions + block - 1) / block, campGrid = (nCampaigns + block - 1) / block;
    const int reps = 15;
    cudaEvent_t e0, e1;
    CUDA_CHECK(cudaEventCreate(&e0));
    CUDA_CHECK(cudaEventCreate(&e1));
    for (int r = 0; r <= reps; ++r) {
        if (r == 1) CUDA_CHECK(cudaEventRecord(e0));
        runAuctions<<<impGrid, block>>>(dImps.get(), nImpressions, dCampaigns.get(), dSegments.get(), dCandidates.get());
        bookSpend<<<impGrid, block>>>(dImps.get(), nImpressions, dCampaigns.get(), dSegments.get(), (uint32_t)r);
        adjustPacing<<<campGrid, block>>>(dCampaigns.get(), nCampaigns, r, reps + 1);
        refreshImpressions<<<impGrid, block>>>(dImps.get(), nImpressions);
    }
    CUDA_CHECK(cudaEventRecord(e1));
    CUDA_CHECK(cudaEventSynchronize(e1));
    CUDA_CHECK(cudaGetLastError());
    float ms = 0.0f;
    CUDA_CHECK(cudaEventElapsedTime(&ms, e0, e1));

    unsigned long long spend = 0, wins = 0, clicks = 0, unfilled = 0, pacing = 0;
    for (const Campaign &c : dCampaigns.download()) {
        spend += c.spend;
        wins += c.wins;
        clicks += c.clicks;
        pacing += (unsigned long long)c.pacing;
    }
    for (const Segment &s : dSegments.download()) unfilled += s.unfilled;
    std::printf("check %llu/%llu/%llu/%llu/%llu\n", spend, wins, clicks, unfilled, pacing);
    std::printf("time_ms %.4f\n", ms / reps);
    return 0;
}
