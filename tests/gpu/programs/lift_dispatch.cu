// City-wide elevator dispatch: many buildings, each with a group of lifts and a
// stream of passengers; nearest-car assignment with a load and queue penalty.
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace {
void cudaOk(cudaError_t e, const char* what) {
    if (e != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
}
constexpr float kFloorHeight = 3.6f;
constexpr float kDt = 1.0f;
enum PaxState : uint8_t { kFuture = 0, kWaiting = 1, kAssigned = 2, kRiding = 3, kDone = 4 };

struct Building {
    int firstLift;
    int firstPax;
    int paxCount;
    int nextPax;          // first passenger that has not yet shown up
    int head;             // everything before is delivered
    unsigned long long upCalls;
    unsigned long long downCalls;
    short floors;
    uint8_t numLifts;
    uint8_t peakMode;     // 1 = morning up-peak
};

struct Lift {
    float pos;            // metres above the lobby
    float speed;
    float doorTimer;
    float energy;
    float maxSpeed;
    int load;
    int loadSeen;         // load at the beginning of the tick
    int served;
    int building;
    unsigned long long stops;
    short floor;
    short target;
    int8_t dir;
    uint8_t doorOpen;
    uint8_t capacity;
    uint8_t queued;
};

struct Passenger {
    int building;
    int lift;
    float arrive;
    float board;
    float leave;
    short from;
    short to;
    uint8_t state;
    uint8_t weightClass;
};

struct Totals {
    unsigned long long waitTenths;
    unsigned long long rideTenths;
    unsigned long long delivered;
    unsigned long long waiting;
};

__global__ void arrivalsKernel(Building* __restrict__ bld, Passenger* __restrict__ pax, int nb, float now) {
    int b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= nb) return;
    Building& B = bld[b];
    unsigned long long up = 0, down = 0;
    int next = B.nextPax;
    while (next < B.paxCount) {
        Passenger& p = pax[B.firstPax + next];
        if (p.arrive > now) break;
        p.state = kWaiting;
        if (p.to > p.from) up |= 1ull << p.from; else down |= 1ull << p.from;
        ++next;
    }
    int head = B.head;
    while (head < next && pax[B.firstPax + head].state == kDone) ++head;
    B.nextPax = next;
    B.head = head;
    B.upCalls = up;
    B.downCalls = down;
}

__device__ float liftCost(const Lift& l, short from, short to, bool upPeak) {
    float target = from * kFloorHeight;
    float cost = fabsf(l.pos - target) / l.maxSpeed;
    int want = to > from ? 1 : -1;
    if (l.dir != 0 && l.dir != want) cost += 12.0f;
    if (l.dir > 0 && target < l.pos) cost += 8.0f;
    if (l.dir < 0 && target > l.pos) cost += 8.0f;
    cost += 3.0f * l.queued + 0.6f * l.loadSeen;
    if (l.loadSeen >= l.capacity) cost += 40.0f;
    if (upPeak && from == 0 && l.queued == 0) cost -= 5.0f;
    return cost;
}

// one warp per building, lanes over the open window of passengers
__global__ void assignKernel(const Building* __restrict__ bld, Lift* lifts, Passenger* pax, int nb) {
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    int lane = threadIdx.x & 31;
    if (warp >= nb) return;
    const Building B = bld[warp];
    for (int i = B.head + lane; i < B.nextPax; i += 32) {
        Passenger& p = pax[B.firstPax + i];
        if (p.state != kWaiting) continue;
        float best = 1e30f;
        int pick = B.firstLift;
        for (int k = 0; k < B.numLifts; ++k) {
            float c = liftCost(lifts[B.firstLift + k], p.from, p.to, B.peakMode != 0);
            if (c < best) { best = c; pick = B.firstLift + k; }
        }
        p.lift = pick;
        p.state = kAssigned;
        atomicOr(&lifts[pick].stops, 1ull << p.from);
    }
}

__device__ short chooseTarget(const Lift& l) {
    unsigned long long above = l.floor >= 63 ? 0ull : l.stops & ~((2ull << l.floor) - 1ull);
    unsigned long long below = l.stops & ((1ull << l.floor) - 1ull);
    if (l.dir >= 0 && above) return (short)(__ffsll((long long)above) - 1);
    if (below) return (short)(63 - __clzll((long long)below));
    if (above) return (short)(__ffsll((long long)above) - 1);
    return l.floor;
}

__global__ void moveKernel(Lift* lifts, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Lift& l = lifts[i];
    l.loadSeen = l.load;
    l.queued = (uint8_t)__popcll(l.stops);
    if (l.doorTimer > 0.0f) {
        l.doorTimer -= kDt;
        l.doorOpen = l.doorTimer > 0.0f;
        l.speed = 0.0f;
        l.energy += 0.2f * kDt;
        return;
    }
    l.doorOpen = 0;
    if (l.stops == 0) {
        l.dir = 0;
        l.speed = 0.0f;
        l.energy += 0.05f * kDt;
        return;
    }
    bool atFloor = fabsf(l.pos - l.floor * kFloorHeight) < 0.01f;
    if (atFloor && ((l.stops >> l.floor) & 1ull)) {
        l.stops &= ~(1ull << l.floor);
        l.doorTimer = 3.0f;
        l.doorOpen = 1;
        l.speed = 0.0f;
        return;
    }
    short target = chooseTarget(l);
    float gap = target * kFloorHeight - l.pos;
    l.target = target;
    l.dir = gap > 0.0f ? 1 : -1;
    l.speed = fminf(l.maxSpeed, l.speed + 1.1f * kDt);
    float reach = l.speed * kDt;
    l.energy += (4.0f + 0.35f * l.load) * l.speed * kDt * (l.dir > 0 ? 1.0f : 0.4f);
    if (reach >= fabsf(gap)) {
        l.pos = target * kFloorHeight;
        l.floor = target;
        l.stops &= ~(1ull << target);
        l.speed = 0.0f;
        l.doorTimer = 3.0f;
        l.doorOpen = 1;
    } else {
        l.pos += l.dir * reach;
        // the floor just passed, seen in the direction of travel
        float f = l.pos / kFloorHeight;
        l.floor = (short)(l.dir > 0 ? floorf(f) : ceilf(f));
    }
}

__global__ void boardKernel(Passenger* __restrict__ pax, Lift* lifts, int n, float now) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint8_t st = pax[i].state;
    if (st != kAssigned && st != kRiding) return;
    Lift* l = &lifts[pax[i].lift];
    if (!l->doorOpen) return;
    if (st == kAssigned && l->floor == pax[i].from) {
        if (l->loadSeen < l->capacity) {
            pax[i].state = kRiding;
            pax[i].board = now;
            atomicAdd(&l->load, 1);
            atomicOr(&l->stops, 1ull << pax[i].to);
        } else {
            pax[i].state = kWaiting;     // full car: ask for another one
        }
    } else if (st == kRiding && l->floor == pax[i].to) {
        pax[i].state = kDone;
        pax[i].leave = now;
        atomicSub(&l->load, 1);
        atomicAdd(&l->served, 1);
    }
}

__global__ void totalsKernel(const Passenger* __restrict__ pax, int n, Totals* out) {
    __shared__ unsigned int sWait[256], sRide[256], sDone[256], sOpen[256];
    unsigned int w = 0, r = 0, d = 0, o = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const Passenger& p = pax[i];
        if (p.state == kWaiting || p.state == kAssigned) ++o;
        if (p.state >= kRiding) w += (unsigned)((p.board - p.arrive) * 10.0f);
        if (p.state == kDone) { r += (unsigned)((p.leave - p.board) * 10.0f); ++d; }
    }
    int t = threadIdx.x;
    sWait[t] = w; sRide[t] = r; sDone[t] = d; sOpen[t] = o;
    __syncthreads();
    for (int s = 128; s > 0; s >>= 1) {
        if (t < s) { sWait[t] += sWait[t + s]; sRide[t] += sRide[t + s]; sDone[t] += sDone[t + s]; sOpen[t] += sOpen[t + s]; }
        __syncthreads();
    }
    if (t == 0) {
        atomicAdd(&out->waitTenths, (unsigned long long)sWait[0]);
        atomicAdd(&out->rideTenths, (unsigned long long)sRide[0]);
        atomicAdd(&out->delivered, (unsigned long long)sDone[0]);
        atomicAdd(&out->waiting, (unsigned long long)sOpen[0]);
    }
}

class DispatchSim {
public:
    explicit DispatchSim(int buildings) { generate(buildings); upload(); }
    ~DispatchSim() {
        cudaFree(dBld_); cudaFree(dLift_); cudaFree(dPax_); cudaFree(dTot_);
    }
    DispatchSim(const DispatchSim&) = delete;
    DispatchSim& operator=(const DispatchSim&) = delete;

    void tick() {
        now_ += kDt;
        int nb = (int)bld_.size(), nl = (int)lift_.size(), np = (int)pax_.size();
        arrivalsKernel<<<blocks(nb, 128), 128>>>(dBld_, dPax_, nb, now_);
        assignKernel<<<blocks(nb * 32, 128), 128>>>(dBld_, dLift_, dPax_, nb);
        moveKernel<<<blocks(nl, 128), 128>>>(dLift_, nl);
        boardKernel<<<blocks(np, 256), 256>>>(dPax_, dLift_, np, now_);
        cudaMemsetAsync(dTot_, 0, sizeof(Totals));
        totalsKernel<<<1056, 256>>>(dPax_, np, dTot_);
    }

    void report() {
        Totals t;
        cudaOk(cudaMemcpy(&t, dTot_, sizeof t, cudaMemcpyDeviceToHost), "totals");
        cudaOk(cudaMemcpy(lift_.data(), dLift_, lift_.size() * sizeof(Lift), cudaMemcpyDeviceToHost), "lifts");
        double energy = 0, height = 0;
        long served = 0;
        for (const Lift& l : lift_) { energy += l.energy; height += l.pos; served += l.served; }
        std::printf("check %llu/%llu/%llu/%llu/%ld/%.6g/%.6g\n", t.waitTenths, t.rideTenths, t.delivered, t.waiting,
                    served, energy, height);
    }

private:
    static int blocks(int n, int b) { return (n + b - 1) / b; }

    void generate(int buildings) {
        std::mt19937 rng(4711);
        for (int b = 0; b < buildings; ++b) {
            Building B{};
            B.floors = (short)(10 + rng() % 50);
            B.numLifts = (uint8_t)(2 + B.floors / 10 + rng() % 2);
            B.peakMode = rng() % 3 == 0;
            B.firstLift = (int)lift_.size();
            B.firstPax = (int)pax_.size();
            B.paxCount = 60 + (int)(rng() % 200);
            for (int k = 0; k < B.numLifts; ++k) {
                Lift l{};
                l.floor = (short)(rng() % B.floors);
                l.pos = l.floor * kFloorHeight;
                l.maxSpeed = 1.6f + 0.05f * B.floors;
                l.capacity = (uint8_t)(8 + rng() % 9);
                l.building = b;
                lift_.push_back(l);
            }
            float t = 0.0f, meanGap = 125.0f / B.paxCount;
            for (int k = 0; k < B.paxCount; ++k) {
                Passenger p{};
                t += meanGap * 2.0f * (rng() % 1000) / 1000.0f;
                p.arrive = t;
                p.building = b;
                p.lift = -1;
                p.from = (short)(rng() % 100 < (B.peakMode ? 80u : 30u) ? 0 : rng() % B.floors);
                do p.to = (short)(rng() % B.floors); while (p.to == p.from);
                p.weightClass = (uint8_t)(rng() % 4);
                pax_.push_back(p);
            }
            bld_.push_back(B);
        }
    }

    template <class T> static T* toDevice(const std::vector<T>& v) {
        T* d = nullptr;
        cudaOk(cudaMalloc(&d, v.size() * sizeof(T)), "cudaMalloc");
        cudaOk(cudaMemcpy(d, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice), "upload");
        return d;
    }

    void upload() {
        dBld_ = toDevice(bld_);
        dLift_ = toDevice(lift_);
        dPax_ = toDevice(pax_);
        cudaOk(cudaMalloc(&dTot_, sizeof(Totals)), "cudaMalloc");
    }

    std::vector<Building> bld_;
    std::vector<Lift> lift_;
    std::vector<Passenger> pax_;
    Building* dBld_ = nullptr;
    Lift* dLift_ = nullptr;
    Passenger* dPax_ = nullptr;
    Totals* dTot_ = nullptr;
    float now_ = 0.0f;
};

}  // namespace

int main() {
    try {
        DispatchSim sim(24000);
        for (int i = 0; i < 25; ++i) sim.tick();
        cudaEvent_t a, b;
        cudaOk(cudaEventCreate(&a), "event");
        cudaOk(cudaEventCreate(&b), "event");
        const int steps = 100;
        cudaOk(cudaEventRecord(a), "record");
        for (int i = 0; i < steps; ++i) sim.tick();
        cudaOk(cudaEventRecord(b), "record");
        cudaOk(cudaEventSynchronize(b), "sync");
        float ms = 0;
        cudaOk(cudaEventElapsedTime(&ms, a, b), "elapsed");
        sim.report();
        std::printf("time_ms %.4f\n", ms / steps);
    } catch (const std::exception& e) {
        std::cerr << e.what() << "\n";
        return 1;
    }
    return 0;
}
