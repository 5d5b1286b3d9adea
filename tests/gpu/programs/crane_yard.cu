// crane_yard.cu - container-port yard stacking and crane dispatch simulator.
//
// The terminal is split into zones of 32 stacks; each zone is served by one gantry crane. Every
// step accrues storage fees, surveys the stacks, chooses a stack for each idle crane, carries out
// one crane move (delivery or rehandle) and gates in one box.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <algorithm>
#include <vector>
#include <cuda_runtime.h>

#define CUDA_CHECK(expr)                                                                       \
    do {                                                                                       \
        cudaError_t err_ = (expr);                                                             \
        if (err_ != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(err_)); \
            std::exit(EXIT_FAILURE);                                                           \
        }                                                                                      \
    } while (0)

namespace yard {
constexpr int kStacksPerZone = 32;
constexpr int kMaxTier = 6;
constexpr int kBoxesPerZone = 112;   // 3.5 tiers on average
constexpr float kStackWeightLimit = 150.0f;
constexpr uint8_t kNoRequest = 255;

enum BoxState : uint8_t { kStored = 0, kRequested = 1, kGatedOut = 2 };
enum CraneMode : uint8_t { kIdle = 0, kDelivering = 1, kRehandling = 2 };
struct Container {
    uint32_t boxId;
    float    weightT;
    float    dueHour;
    float    reeferTempC;
    double   storageFee;
    uint32_t lifts;
    uint16_t portOfDischarge;
    uint8_t  teu;          // 1 = 20 ft, 2 = 40 ft
    uint8_t  state;
    uint8_t  reefer;
    uint8_t  imoClass;     // dangerous goods class, 0 = none
};

struct YardStack {
    float    minDue;
    float    weightT;
    float    bayPos;       // metres along the gantry rail
    float    rowPos;       // metres along the trolley
    uint32_t digs;         // rehandles that the present order will cause
    uint16_t height;
    uint8_t  requestDepth; // boxes above the topmost requested one
    uint8_t  hazardous;
};

struct Crane {
    float    gantry;
    float    trolley;
    float    busyUntil;
    int32_t  target;
    int32_t  inbound;      // container that waits at the zone's transfer point
    uint32_t deliveries;
    uint32_t rehandles;
    uint8_t  mode;
    uint8_t  stalled;
    uint16_t model;
    double   energyKWh;
    double   revenue;
};

__host__ __device__ inline uint32_t mix(uint32_t h) {
    h ^= h >> 16; h *= 0x7feb352du;
    h ^= h >> 15; h *= 0x846ca68bu;
    return h ^ (h >> 16);
}

__global__ void accrueStorage(Container* __restrict__ boxes, int n, float now, float dt,
                              unsigned long long* requestedTotal) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || boxes[i].state == kGatedOut) return;

    float overdue = now - boxes[i].dueHour;
    double rate = boxes[i].teu == 2 ? 3.2 : 1.9;
    if (boxes[i].imoClass != 0) rate *= 1.75;
    if (overdue > 0.0f) rate *= 1.0 + 0.05 * overdue;
    if (boxes[i].reefer) {
        float target = -18.0f + 0.25f * boxes[i].imoClass;
        boxes[i].reeferTempC += (target - boxes[i].reeferTempC) * 0.2f * dt;
        rate += 0.6;
    }
    boxes[i].storageFee += rate * dt;

    if (overdue >= 0.0f && boxes[i].state == kStored) {
        boxes[i].state = kRequested;
        atomicAdd(requestedTotal, 1ull);
    }
}

__global__ void surveyStacks(const Container* __restrict__ boxes, const int32_t* __restrict__ slots,
                             YardStack* stacks, int nStacks) {
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= nStacks) return;
    YardStack st = stacks[s];
    float minDue = 1.0e9f, weight = 0.0f;
    uint32_t digs = 0;
    uint8_t depth = kNoRequest, hazard = 0;
    for (int t = 0; t < st.height; ++t) {
        const Container& c = boxes[slots[s * kMaxTier + t]];
        if (c.dueHour > minDue) ++digs;
        minDue = fminf(minDue, c.dueHour);
        weight += c.weightT;
        hazard |= c.imoClass != 0;
        if (c.state == kRequested) depth = uint8_t(st.height - 1 - t);
    }
    st.minDue = minDue;  st.weightT = weight;  st.digs = digs;  st.requestDepth = depth;
    st.hazardous = hazard;
    stacks[s] = st;
}

__global__ void dispatchCranes(Crane* cranes, const YardStack* __restrict__ stacks, int nCranes,
                               float now) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= nCranes) return;
    Crane& crane = cranes[k];
    if (crane.busyUntil > now) { crane.target = -1; return; }
    float best = 1.0e9f;
    int bestStack = -1, base = k * kStacksPerZone;
    for (int j = 0; j < kStacksPerZone; ++j) {
        const YardStack* st = stacks + base + j;
        if (st->height == 0) continue;
        float travel = 0.02f * fabsf(st->bayPos - crane.gantry) + 0.05f * fabsf(st->rowPos - crane.trolley);
        float score = 3.0f * st->requestDepth + travel;
        if (st->requestDepth == kNoRequest) {          // housekeeping when nothing is requested
            if (st->digs < 2) continue;
            score = 100.0f - 4.0f * st->digs + travel;
        }
        if (score < best) { best = score; bestStack = base + j; }
    }
    crane.target = bestStack;
    if (bestStack < 0) crane.mode = kIdle;
}

__device__ int pickDestination(const YardStack* stacks, int base, int from, float due, float weight) {
    int fit = -1, fallback = -1;
    float fitDue = 2.0e9f, fallbackDue = -1.0f;
    for (int j = 0; j < kStacksPerZone; ++j) {
        int s = base + j;
        if (s == from || stacks[s].height >= kMaxTier) continue;
        if (stacks[s].weightT + weight > kStackWeightLimit) continue;
        float m = stacks[s].minDue;
        if (m >= due && m < fitDue) { fitDue = m; fit = s; }
        if (m > fallbackDue) { fallbackDue = m; fallback = s; }
    }
    return fit >= 0 ? fit : fallback;
}

__global__ void executeMoves(Crane* cranes, YardStack* stacks, int32_t* slots, Container* boxes,
                             int nCranes, float now) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= nCranes) return;
    Crane crane = cranes[k];
    if (crane.target < 0) return;
    const int s = crane.target, top = stacks[s].height - 1;
    const int c = slots[s * kMaxTier + top];
    const float w = boxes[c].weightT;
    float dist = fabsf(stacks[s].bayPos - crane.gantry) + fabsf(stacks[s].rowPos - crane.trolley);

    if (boxes[c].state == kRequested) {
        if (crane.inbound >= 0) {          // transfer point is occupied: wait
            cranes[k].stalled = 1;
            return;
        }
        boxes[c].state = kGatedOut;
        crane.revenue += boxes[c].storageFee;
        boxes[c].storageFee = 0.0;
        crane.inbound = c;
        crane.mode = kDelivering;
        crane.deliveries++;
        crane.gantry = stacks[s].bayPos;
        crane.trolley = 0.0f;
    } else {
        int d = pickDestination(stacks, k * kStacksPerZone, s, boxes[c].dueHour, w);
        if (d < 0) { cranes[k].stalled = 1; return; }
        slots[d * kMaxTier + stacks[d].height] = c;
        stacks[d].height++;
        stacks[d].weightT += w;
        stacks[d].minDue = fminf(stacks[d].minDue, boxes[c].dueHour);
        crane.mode = kRehandling;
        crane.rehandles++;
        dist += fabsf(stacks[d].bayPos - stacks[s].bayPos);
        crane.gantry = stacks[d].bayPos;
        crane.trolley = stacks[d].rowPos;
    }
    boxes[c].lifts++;
    slots[s * kMaxTier + top] = -1;
    stacks[s].height = uint16_t(top);
    stacks[s].weightT -= w;
    crane.stalled = 0;
    crane.busyUntil = now + 0.05f + 0.002f * dist;
    crane.energyKWh += 0.09 * w + 0.011 * dist;
    cranes[k] = crane;
}

// The record of a delivered box is used again for an import box that takes its place.
__global__ void gateIn(Crane* cranes, YardStack* stacks, int32_t* slots, Container* boxes,
                       int nCranes, float now, uint32_t stepNo) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= nCranes || cranes[k].inbound < 0) return;
    uint32_t h = mix(stepNo * 0x9e3779b9u ^ uint32_t(k));
    if ((h & 3u) == 0u) return;            // the truck is late
    int c = cranes[k].inbound, lowest = -1, lowestHeight = kMaxTier;
    for (int j = 0; j < kStacksPerZone; ++j) {
        int s = k * kStacksPerZone + int((j + h) % kStacksPerZone);
        if (stacks[s].height < lowestHeight) { lowestHeight = stacks[s].height; lowest = s; }
    }
    if (lowest < 0) return;
    Container box = boxes[c];
    box.dueHour = now + 4.0f + float(h >> 8 & 0xfff) * (60.0f / 4096.0f);
    box.weightT = 4.0f + float(h >> 20) * (24.0f / 4096.0f);
    box.state = kStored;
    box.lifts += 1;
    box.portOfDischarge = uint16_t(h % 480u);
    boxes[c] = box;
    slots[lowest * kMaxTier + stacks[lowest].height] = c;
    stacks[lowest].height++;
    cranes[k].inbound = -1;
    cranes[k].energyKWh += 0.05 * box.weightT;
}

class YardSimulator {
public:
    explicit YardSimulator(int requestedBoxes) {
        nCranes_ = std::max(1, requestedBoxes / kBoxesPerZone);
        nStacks_ = nCranes_ * kStacksPerZone;
        nBoxes_ = nCranes_ * kBoxesPerZone;
        buildOnHost();
        const size_t slotBytes = slots_.size() * sizeof(int32_t);
        CUDA_CHECK(cudaMalloc(&dBoxes_, nBoxes_ * sizeof(Container)));
        CUDA_CHECK(cudaMalloc(&dStacks_, nStacks_ * sizeof(YardStack)));
        CUDA_CHECK(cudaMalloc(&dCranes_, nCranes_ * sizeof(Crane)));
        CUDA_CHECK(cudaMalloc(&dSlots_, slotBytes));
        CUDA_CHECK(cudaMalloc(&dRequested_, sizeof *dRequested_));
        CUDA_CHECK(cudaMemcpy(dBoxes_, boxes_.data(), nBoxes_ * sizeof(Container), cudaMemcpyHostToDevice));
        CUDA_CHECK(cudaMemcpy(dStacks_, stacks_.data(), nStacks_ * sizeof(YardStack), cudaMemcpyHostToDevice));
        CUDA_CHECK(cudaMemcpy(dCranes_, cranes_.data(), nCranes_ * sizeof(Crane), cudaMemcpyHostToDevice));
        CUDA_CHECK(cudaMemcpy(dSlots_, slots_.data(), slotBytes, cudaMemcpyHostToDevice));
        CUDA_CHECK(cudaMemset(dRequested_, 0, sizeof(unsigned long long)));
    }
    ~YardSimulator() {
        for (void* p : {(void*)dBoxes_, (void*)dStacks_, (void*)dCranes_, (void*)dSlots_, (void*)dRequested_})
            cudaFree(p);
    }

    void step() {
        constexpr float dt = 0.25f;
        now_ += dt, ++stepNo_;
        accrueStorage<<<grid(nBoxes_), kBlock>>>(dBoxes_, nBoxes_, now_, dt, dRequested_);
        surveyStacks<<<grid(nStacks_), kBlock>>>(dBoxes_, dSlots_, dStacks_, nStacks_);
        dispatchCranes<<<grid(nCranes_), kBlock>>>(dCranes_, dStacks_, nCranes_, now_);
        executeMoves<<<grid(nCranes_), kBlock>>>(dCranes_, dStacks_, dSlots_, dBoxes_, nCranes_, now_);
        gateIn<<<grid(nCranes_), kBlock>>>(dCranes_, dStacks_, dSlots_, dBoxes_, nCranes_, now_, stepNo_);
        CUDA_CHECK(cudaGetLastError());
    }

    double checksum() {
        CUDA_CHECK(cudaDeviceSynchronize());
        CUDA_CHECK(cudaMemcpy(boxes_.data(), dBoxes_, nBoxes_ * sizeof(Container), cudaMemcpyDeviceToHost));
        CUDA_CHECK(cudaMemcpy(stacks_.data(), dStacks_, nStacks_ * sizeof(YardStack), cudaMemcpyDeviceToHost));
        CUDA_CHECK(cudaMemcpy(cranes_.data(), dCranes_, nCranes_ * sizeof(Crane), cudaMemcpyDeviceToHost));
        unsigned long long requested = 0;
        CUDA_CHECK(cudaMemcpy(&requested, dRequested_, sizeof requested, cudaMemcpyDeviceToHost));
        double sum = double(requested);
        for (const Container& c : boxes_)
            sum += 0.05 * c.storageFee + 0.1 * c.lifts + 1e-3 * c.reeferTempC + 1e-4 * c.portOfDischarge;
        for (const YardStack& s : stacks_) sum += s.height * 0.5 + s.digs;
        for (const Crane& c : cranes_) sum += c.energyKWh + 0.01 * c.revenue + c.deliveries + 2.0 * c.rehandles;
        return sum;
    }

private:
    static constexpr int kBlock = 256;
    static int grid(int n) { return (n + kBlock - 1) / kBlock; }
    void buildOnHost() {
        boxes_.resize(nBoxes_);
        stacks_.resize(nStacks_);
        cranes_.resize(nCranes_);
        slots_.assign(size_t(nStacks_) * kMaxTier, -1);
        for (int z = 0; z < nCranes_; ++z) {
            Crane& cr = cranes_[z];
            cr.gantry = float(mix(z) % 96u);
            cr.target = cr.inbound = -1;
            cr.model = uint16_t(z % 7);
            for (int j = 0; j < kStacksPerZone; ++j) {
                stacks_[z * kStacksPerZone + j].bayPos = 13.0f * (j / 4);
                stacks_[z * kStacksPerZone + j].rowPos = 2.9f * (j % 4 + 1);
            }
            for (int k = 0; k < kBoxesPerZone; ++k) {
                int idx = z * kBoxesPerZone + (k * 37 + z % kBoxesPerZone) % kBoxesPerZone;
                int s = z * kStacksPerZone + k % kStacksPerZone;
                uint32_t h = mix(uint32_t(idx) * 2654435761u + 17u), g = mix(h ^ 0xa511e9b3u);
                Container& c = boxes_[idx];
                c.boxId = h;
                c.weightT = 4.0f + float(h & 0xfff) * (24.0f / 4096.0f);
                c.dueHour = float(g & 0xffff) * (64.0f / 65536.0f);
                c.teu = uint8_t(1 + (h >> 12 & 1u));
                c.reefer = (g >> 16) % 8u == 0u;
                c.reeferTempC = c.reefer ? -10.0f : 15.0f;
                c.imoClass = (g >> 20) % 11u == 0u ? uint8_t(1 + (h >> 16) % 9u) : 0;
                c.portOfDischarge = uint16_t((h >> 8) % 480u);
                slots_[size_t(s) * kMaxTier + stacks_[s].height++] = idx;
            }
        }
    }

    int nBoxes_ = 0, nStacks_ = 0, nCranes_ = 0;
    uint32_t stepNo_ = 0;
    float now_ = 0.0f;
    std::vector<Container> boxes_;
    std::vector<YardStack> stacks_;
    std::vector<Crane> cranes_;
    std::vector<int32_t> slots_;
    Container* dBoxes_ = nullptr;
    YardStack* dStacks_ = nullptr;
    Crane* dCranes_ = nullptr;
    int32_t* dSlots_ = nullptr;
    unsigned long long* dRequested_ = nullptr;
};

}  // namespace yard

int main(int argc, char** argv) {
    int n = argc > 1 ? std::atoi(argv[1]) : 7000000;
    if (n < 1 || n > 60000000) return std::fprintf(stderr, "usage: %s [containers]\n", argv[0]), 1;
    yard::YardSimulator sim(n);
    for (int i = 0; i < 2; ++i) sim.step();
    const int steps = 40;
    float ms = 0.0f;
    cudaEvent_t begin, end;
    CUDA_CHECK(cudaEventCreate(&begin));
    CUDA_CHECK(cudaEventCreate(&end));
    CUDA_CHECK(cudaEventRecord(begin));
    for (int i = 0; i < steps; ++i) sim.step();
    CUDA_CHECK(cudaEventRecord(end));
    CUDA_CHECK(cudaEventSynchronize(end));
    CUDA_CHECK(cudaEventElapsedTime(&ms, begin, end));

    std::printf("check %.6g\ntime_ms %.5f\n", sim.checksum(), ms / steps);
    return 0;
}
