// Call routing and rating for a telephone carrier.  Compact call records are routed
// by longest matching number range, offered to trunk groups, pushed to an alternate
// trunk when the first choice is overloaded, and finally charged.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CUDA_CHECK(call)                                                        \
    do {                                                                        \
        cudaError_t cerr = (call);                                              \
        if (cerr != cudaSuccess) {                                              \
            fprintf(stderr, "[%d] %s\n", __LINE__, cudaGetErrorString(cerr));   \
            exit(EXIT_FAILURE);                                                 \
        }                                                                       \
    } while (0)

#define SLOTS 8

struct Call { // 12 bytes
    uint32_t number;
    uint16_t seconds;
    uint16_t trunk;
    uint16_t charge;
    uint8_t hour;
    uint8_t flags;
};

enum CallFlags { CALL_ROUTED = 1, CALL_REROUTED = 2, CALL_BLOCKED = 4, CALL_PREMIUM = 8 };

struct NumberRange { // 8 bytes
    uint32_t first;
    uint16_t trunk;
    uint8_t spread;
    uint8_t premium;
};

struct Trunk {
    uint32_t offered[SLOTS]; // seconds per three-hour slot
    uint32_t capacity;       // seconds per slot
    uint32_t carried;
    uint32_t overflow;
    uint32_t revenue;        // cents
    uint16_t alternate;
    uint16_t setup;          // cents
    uint16_t perMinute;      // cents
    uint8_t increment;       // billing increment [s]
    uint8_t carrier;
};

__host__ __device__ inline uint32_t scramble(uint32_t x)
{
    x ^= x >> 15;
    x *= 0x2c1b3c6dU;
    x ^= x >> 12;
    x *= 0x297a2d39U;
    return x ^ (x >> 15);
}

__device__ inline int findRange(const NumberRange *ranges, int n, uint32_t number)
{
    int lo = 0, hi = n;              // ranges[lo].first <= number < ranges[hi].first
    while (hi - lo > 1) {
        int mid = (lo + hi) >> 1;
        if (ranges[mid].first <= number) lo = mid;
        else hi = mid;
    }
    return lo;
}

__global__ void routeCalls(Call *calls, int n, const NumberRange *ranges, int nRanges, int nTrunks)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint32_t number = calls[i].number;
    const NumberRange *r = ranges + findRange(ranges, nRanges, number);
    uint32_t pick = scramble(number) % (uint32_t)r->spread;
    calls[i].trunk = (uint16_t)((r->trunk + pick) % (uint32_t)nTrunks);
    calls[i].flags = (uint8_t)(CALL_ROUTED | (r->premium ? CALL_PREMIUM : 0));
}

__global__ void offerLoad(const Call *calls, int n, Trunk *trunks)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Call c = calls[i];
    atomicAdd(&trunks[c.trunk].offered[c.hour / 3], (uint32_t)c.seconds);
}

__global__ void rerouteOverflow(Call *calls, int n, Trunk *trunks)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int slot = calls[i].hour / 3;
    int t = calls[i].trunk;
    uint32_t load = trunks[t].offered[slot], cap = trunks[t].capacity;
    if (load > cap) {
        // the excess share of the calls is turned away, chosen by number
        uint32_t share = (uint32_t)((uint64_t)(load - cap) * 1024u / load);
        if ((scramble(calls[i].number ^ 0x5bd1e995u) & 1023u) < share) {
            atomicAdd(&trunks[t].overflow, 1u);
            int alt = trunks[t].alternate;
            if (trunks[alt].offered[slot] < trunks[alt].capacity) {
                calls[i].trunk = (uint16_t)alt;
                calls[i].flags |= CALL_REROUTED;
            } else {
                calls[i].flags |= CALL_BLOCKED;
            }
        }
    }
}

__global__ void chargeCalls(Call *calls, int n, Trunk *trunks)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Call &c = calls[i];
    if (c.flags & CALL_BLOCKED) {
        c.charge = 0;
        return;
    }
    Trunk &t = trunks[c.trunk];
    uint32_t units = (c.seconds + t.increment - 1u) / t.increment;
    uint32_t cents = t.setup + units * t.increment * t.perMinute / 60u;
    if (c.flags & CALL_PREMIUM) cents *= 3u;
    if (c.hour < 7 || c.hour > 20) cents -= cents / 4u;
    c.charge = (uint16_t)(cents < 65535u ? cents : 65535u);
    atomicAdd(&t.carried, 1u);
    atomicAdd(&t.revenue, (uint32_t)c.charge);
}

__global__ void closePeriod(Trunk *trunks, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    uint32_t peak = 0;
    for (int s = 0; s < SLOTS; ++s) {
        peak = max(peak, trunks[t].offered[s]);
        trunks[t].offered[s] = 0;
    }
    if (peak > trunks[t].capacity) trunks[t].capacity += trunks[t].capacity / 16;
}

__global__ void nextPeriod(Call *calls, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint32_t x = scramble(calls[i].number + 0x9e3779b9u);
    calls[i].number = x;
    calls[i].hour = (uint8_t)((calls[i].hour + 1 + (x & 3u)) % 24u);
}

struct Exchange {
    Call *calls;
    NumberRange *ranges;
    Trunk *trunks;
    int nCalls, nRanges, nTrunks;
};

static void simulatePeriod(const Exchange &x, cudaStream_t *streams, cudaEvent_t *joins)
{
    const int block = 256, chunks = 4, per = x.nCalls / chunks;
    const int grid = (per + block - 1) / block;
    for (int k = 0; k < chunks; ++k) {
        cudaStream_t s = streams[k & 1];
        routeCalls<<<grid, block, 0, s>>>(x.calls + (size_t)k * per, per, x.ranges, x.nRanges, x.nTrunks);
        offerLoad<<<grid, block, 0, s>>>(x.calls + (size_t)k * per, per, x.trunks);
    }
    // all loads must be known before anything is rerouted
    for (int k = 0; k < 2; ++k) CUDA_CHECK(cudaEventRecord(joins[k], streams[k]));
    for (int k = 0; k < 2; ++k) CUDA_CHECK(cudaStreamWaitEvent(streams[k], joins[1 - k], 0));
    for (int k = 0; k < chunks; ++k) {
        cudaStream_t s = streams[k & 1];
        rerouteOverflow<<<grid, block, 0, s>>>(x.calls + (size_t)k * per, per, x.trunks);
        chargeCalls<<<grid, block, 0, s>>>(x.calls + (size_t)k * per, per, x.trunks);
        nextPeriod<<<grid, block, 0, s>>>(x.calls + (size_t)k * per, per);
    }
    CUDA_CHECK(cudaEventRecord(joins[2], streams[1]));
    CUDA_CHECK(cudaStreamWaitEvent(streams[0], joins[2], 0));
    closePeriod<<<(x.nTrunks + block - 1) / block, block, 0, streams[0]>>>(x.trunks, x.nTrunks);
    CUDA_CHECK(cudaEventRecord(joins[3], streams[0]));
    CUDA_CHECK(cudaStreamWaitEvent(streams[1], joins[3], 0));
}

int main()
{
    const int nCalls = 6 * 1024 * 1024, nRanges = 280000, nTrunks = 44000;
    std::vector<Call> calls(nCalls);
    std::vector<NumberRange> ranges(nRanges);
    std::vector<Trunk> trunks(nTrunks);
    uint32_t seed = 12345;
    auto rnd = [&seed]() { seed = seed * 1664525u + 1013904223u; return seed >> 8; };

    uint32_t start = 0;
    for (NumberRange &r : ranges) {
        r = NumberRange{start, (uint16_t)(rnd() % nTrunks), (uint8_t)(1 + rnd() % 6), (uint8_t)(rnd() % 40 == 0)};
        start += 7000u + rnd() % 16000u;
    }
    for (Trunk &t : trunks) {
        t = Trunk{};
        t.capacity = 2500u + rnd() % 12000u;
        t.alternate = (uint16_t)(rnd() % nTrunks);
        t.setup = (uint16_t)(rnd() % 10);
        t.perMinute = (uint16_t)(2 + rnd() % 30);
        t.increment = (uint8_t)(rnd() % 3 == 0 ? 1 : (rnd() % 2 ? 6 : 60));
        t.carrier = (uint8_t)(rnd() % 200);
    }
    for (Call &c : calls) {
        uint32_t a = rnd(), b = rnd();
        c = Call{};
        c.number = (a << 8) ^ b;
        c.seconds = (uint16_t)(5u + (a % 300u) * (b % 300u) / 150u);
        c.hour = (uint8_t)((a / 300u + b) % 24u);
    }

    Exchange x{nullptr, nullptr, nullptr, nCalls, nRanges, nTrunks};
    CUDA_CHECK(cudaMalloc(&x.calls, sizeof(Call) * (size_t)nCalls));
    CUDA_CHECK(cudaMalloc(&x.ranges, sizeof(NumberRange) * (size_t)nRanges));
    CUDA_CHECK(cudaMalloc(&x.trunks, sizeof(Trunk) * (size_t)nTrunks));
    CUDA_CHECK(cudaMemcpy(x.calls, calls.data(), sizeof(Call) * (size_t)nCalls, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(x.ranges, ranges.data(), sizeof(NumberRange) * (size_t)nRanges, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(x.trunks, trunks.data(), sizeof(Trunk) * (size_t)nTrunks, cudaMemcpyHostToDevice));

    cudaStream_t streams[2];
    cudaEvent_t joins[4], begin, end;
    for (cudaStream_t &s : streams) CUDA_CHECK(cudaStreamCreate(&s));
    for (cudaEvent_t &e : joins) CUDA_CHECK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    CUDA_CHECK(cudaEventCreate(&begin));
    CUDA_CHECK(cudaEventCreate(&end));

    simulatePeriod(x, streams, joins);
    const int reps = 12;
    CUDA_CHECK(cudaEventRecord(begin, streams[0]));
    for (int r = 0; r < reps; ++r) simulatePeriod(x, streams, joins);
    CUDA_CHECK(cudaEventRecord(end, streams[0]));
    CUDA_CHECK(cudaDeviceSynchronize());
    float ms = 0.0f;
    CUDA_CHECK(cudaEventElapsedTime(&ms, begin, end));

    CUDA_CHECK(cudaMemcpy(trunks.data(), x.trunks, sizeof(Trunk) * (size_t)nTrunks, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(calls.data(), x.calls, sizeof(Call) * (size_t)nCalls, cudaMemcpyDeviceToHost));
    uint64_t revenue = 0, carried = 0, overflow = 0, rerouted = 0;
    for (const Trunk &t : trunks) { revenue += t.revenue; carried += t.carried; overflow += t.overflow; }
    for (const Call &c : calls) rerouted += (c.flags & CALL_REROUTED) != 0;
    printf("check %llu/%llu/%llu/%llu\n", (unsigned long long)revenue, (unsigned long long)carried,
           (unsigned long long)overflow, (unsigned long long)rerouted);
    printf("time_ms %.4f\n", ms / reps);
    return 0;
}
