// City traffic with adaptive traffic lights.
// Each lane holds its cars as a linked list (front car first) inside one big
// pool of cars.  All data lives in managed memory.
//
//   ./traffic [cars]

#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <utility>
#include <vector>

static void ok(cudaError_t e, const char* what)
{
    if (e != cudaSuccess) {
        std::fprintf(stderr, "%s failed: %s\n", what, cudaGetErrorString(e));
        std::exit(EXIT_FAILURE);
    }
}

struct Car {
    float pos;        // metres from the start of the lane
    float vel;        // metres per step
    float vmax;
    float gap;        // desired bumper distance
    int next;         // car behind, -1 at the end
    int lane;
    short kind;       // 0 car, 1 van, 2 truck, 3 bus
    short waited;
    unsigned stops;
};

struct Lane {
    int head;
    int tail;
    int signal;
    float length;
    float limit;
    short priority;
    char axis;        // 0 north-south, 1 east-west
    char closed;
};

struct Signal {
    int2 green;       // green time of each axis
    int offset;
    int clock;
    int queued[2];    // stopped cars this cycle
    int served;
    int changes;
};

static uint32_t mix(uint32_t x)
{
    x ^= x >> 16; x *= 0x7feb352du;
    x ^= x >> 15; x *= 0x846ca68bu;
    return x ^ (x >> 16);
}

__device__ bool isGreen(const Signal& s, int axis)
{
    const bool ns = s.clock < s.green.x;
    return axis == 0 ? ns : !ns;
}

// a thread walks the list of one lane from the stop line backwards
__global__ void advanceLanes(Lane* lanes, Car* cars, Signal* signals, int nLanes)
{
    int l = blockIdx.x * blockDim.x + threadIdx.x;
    if (l >= nLanes) return;

    Lane* lane = &lanes[l];
    int c = lane->head;
    if (lane->closed || c < 0) return;

    const float length = lane->length;
    const float limit = lane->limit;
    const int sig = lane->signal;
    const int axis = lane->axis;
    const bool green = isGreen(signals[sig], axis);

    float front = green ? 1.0e6f : length;
    int stopped = 0;
    while (c >= 0) {
        Car& car = cars[c];
        const float old = car.vel;
        float v = fminf(old + 1.25f, fminf(car.vmax, limit));
        v = fminf(v, (front - car.pos - car.gap) * 0.5f);
        v = fmaxf(v, 0.0f);
        if (v < 0.25f) {
            stopped++;
            car.waited++;
            if (old >= 0.25f) car.stops++;
        }
        car.vel = v;
        car.pos += v;
        front = car.pos - 4.0f;
        c = car.next;
    }

    // the first car has left the lane: it comes back at the other end
    const int head = lane->head, tail = lane->tail;
    if (head != tail && cars[head].pos >= length) {
        lane->head = cars[head].next;
        lane->tail = head;
        cars[tail].next = head;
        cars[head].next = -1;
        cars[head].pos = fminf(0.0f, cars[tail].pos - 6.0f);
        atomicAdd(&signals[sig].served, 1);
    } else if (head == tail && cars[head].pos >= length) {
        cars[head].pos = 0.0f;
        atomicAdd(&signals[sig].served, 1);
    }
    if (stopped)
        atomicAdd(&signals[sig].queued[axis], stopped);
}

__global__ void tickSignals(Signal* signals, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Signal s = signals[i];
    s.clock++;
    if (s.clock >= s.green.x + s.green.y) {
        s.clock = 0;
        if (s.queued[0] > s.queued[1] + 8 && s.green.y > 3) {
            s.green.x++; s.green.y--; s.changes++;
        } else if (s.queued[1] > s.queued[0] + 8 && s.green.x > 3) {
            s.green.y++; s.green.x--; s.changes++;
        }
        s.queued[0] = s.queued[1] = 0;
    }
    signals[i] = s;
}

// emission statistics by kind of vehicle
__global__ void statistics(const Car* cars, int n, unsigned long long* moving, unsigned long long* idle)
{
    __shared__ unsigned int sMoving[4], sIdle[4];
    if (threadIdx.x < 4) sMoving[threadIdx.x] = sIdle[threadIdx.x] = 0;
    __syncthreads();
    const int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        const int kind = cars[i].kind & 3;
        const bool idles = cars[i].vel < 0.25f;
        const unsigned active = __activemask();
        for (int k = 0; k < 4; k++) {
            const unsigned who = __ballot_sync(active, kind == k);
            const unsigned idling = __ballot_sync(active, kind == k && idles);
            if (who && (threadIdx.x & 31) == __ffs(who) - 1) {
                atomicAdd(&sMoving[k], (unsigned)(__popc(who) - __popc(idling)));
                atomicAdd(&sIdle[k], (unsigned)__popc(idling));
            }
        }
    }
    __syncthreads();
    if (threadIdx.x < 4) {
        atomicAdd(&moving[threadIdx.x], (unsigned long long)sMoving[threadIdx.x]);
        atomicAdd(&idle[threadIdx.x], (unsigned long long)sIdle[threadIdx.x]);
    }
}

int main(int argc, char** argv)
{
    const int nCars = argc > 1 ? std::atoi(argv[1]) : 3000000;
    const int nLanes = nCars / 7 + 1;
    const int nSignals = nLanes / 4 + 1;

    Car* cars;
    Lane* lanes;
    Signal* signals;
    unsigned long long* totals;
    ok(cudaMallocManaged(&cars, sizeof(Car) * nCars), "cars");
    ok(cudaMallocManaged(&lanes, sizeof(Lane) * nLanes), "lanes");
    ok(cudaMallocManaged(&signals, sizeof(Signal) * nSignals), "signals");
    ok(cudaMallocManaged(&totals, sizeof(unsigned long long) * 8), "totals");
    for (int i = 0; i < 8; i++) totals[i] = 0;

    for (int i = 0; i < nSignals; i++) {
        Signal& s = signals[i];
        s.green = make_int2(5 + mix(i) % 8, 5 + mix(i + 77) % 8);
        s.offset = mix(i * 3 + 1) % 10;
        s.clock = s.offset;
        s.queued[0] = s.queued[1] = 0;
        s.served = s.changes = 0;
    }

    // slots of the pool in a partly shuffled order, as after long use
    std::vector<int> slot(nCars);
    for (int i = 0; i < nCars; i++) slot[i] = i;
    for (int i = 0; i < nCars; i++)
        if (mix(i) % 3 == 0) std::swap(slot[i], slot[mix(i ^ 0x5bd1e995u) % nCars]);

    int used = 0;
    for (int l = 0; l < nLanes; l++) {
        const uint32_t h = mix(l + 1000003u);
        Lane& lane = lanes[l];
        lane.signal = l / 4;
        lane.limit = 8.0f + (h >> 4) % 3 * 3.0f;
        lane.axis = l & 1;
        lane.closed = h % 61 == 0;
        lane.priority = h % 5;
        int count = 2 + (h >> 8) % 6;                 // most lanes are short ...
        if ((h >> 16) % 16 == 0) count += 24;         // ... arterial roads are not
        if (l == nLanes - 1 || count > nCars - used) count = nCars - used;
        if (count > 200) count = 200;
        lane.length = 60.0f + count * 14.0f;
        lane.head = lane.tail = -1;
        float pos = lane.length - 5.0f;
        for (int k = 0; k < count; k++) {
            const int c = slot[used++];
            const uint32_t g = mix(c * 2654435761u);
            const short kind = g % 20 < 15 ? 0 : g % 20 < 17 ? 1 : g % 20 < 19 ? 2 : 3;
            cars[c] = Car{pos, (float)(g >> 8 & 7), 9.0f + (g >> 12 & 7) - kind, 1.5f + kind * 0.5f,
                          -1, l, kind, 0, 0u};
            if (lane.head < 0) lane.head = c;
            else cars[lane.tail].next = c;
            lane.tail = c;
            pos -= 7.0f + (g >> 20) % 8;
        }
    }
    while (used < nCars)                              // parked cars
        cars[slot[used++]] = Car{0.0f, 0.0f, 9.0f, 2.0f, -1, -1, 0, 0, 0u};

    cudaEvent_t start, stop;
    ok(cudaEventCreate(&start), "event");
    ok(cudaEventCreate(&stop), "event");

    const int steps = 20, threads = 128;
    auto step = [&] {
        advanceLanes<<<(nLanes + threads - 1) / threads, threads>>>(lanes, cars, signals, nLanes);
        tickSignals<<<(nSignals + threads - 1) / threads, threads>>>(signals, nSignals);
        statistics<<<528, 256>>>(cars, nCars, totals, totals + 4);
    };
    step();
    ok(cudaDeviceSynchronize(), "warm-up");

    ok(cudaEventRecord(start), "record");
    for (int s = 0; s < steps; s++) step();
    ok(cudaEventRecord(stop), "record");
    ok(cudaDeviceSynchronize(), "simulation");
    float ms = 0;
    ok(cudaEventElapsedTime(&ms, start, stop), "elapsed");

    unsigned long long check = 0;
    for (int i = 0; i < 8; i++) check = check * 131 + totals[i];
    for (int i = 0; i < nCars; i++)
        check += (unsigned long long)(cars[i].waited * 3 + cars[i].stops * 17) * (i % 127 + 1);
    for (int i = 0; i < nSignals; i++)
        check += (unsigned long long)signals[i].served * 7 + signals[i].changes * 1009;

    cudaFree(cars);
    cudaFree(lanes);
    cudaFree(signals);
    cudaFree(totals);
    std::printf("check %llu\n", check);
    std::printf("time_ms %.4f\n", ms / steps);
    return 0;
}
