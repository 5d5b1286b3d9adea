// Discrete-event elevator simulation for many independent buildings.
// One thread owns one building; passengers, cars and floors are shared record pools.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>

#define CK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { \
    printf("cuda failure %s at line %d\n", cudaGetErrorString(e), __LINE__); exit(2); } } while (0)

constexpr int CAR_CAPACITY = 8;
constexpr int MAX_FLOORS = 32;
constexpr int WAIT_BINS = 64;

enum PassengerState : unsigned char { PENDING = 0, WAITING = 1, RIDING = 2, DONE = 3 };

struct Passenger {
    int arriveTick;
    int boardTick;
    int exitTick;
    int next;               // next in the floor queue
    short from, to;
    short car;
    unsigned char state;
    unsigned char weight;
};

struct Car {
    int floor;
    int dir;                // -1, 0, +1
    int doorTimer;
    int load;
    int riders[CAR_CAPACITY];
    unsigned int destMask;
    int travelled;
    int stops;
    float energy;
};

struct Floor {
    int head, tail;
    short waiting;
    short peak;
};

struct Building {
    int firstPassenger, numPassengers;
    int firstCar, numCars;
    int firstFloor, numFloors;
    int nextArrival;
    unsigned int callMask;
    int delivered;
    long long totalWait;
};

__host__ __device__ inline unsigned hash32(unsigned x)
{
    x ^= x >> 16; x *= 0x7feb352dU; x ^= x >> 15; x *= 0x846ca68bU; x ^= x >> 16;
    return x;
}

__global__ void resetPassengers(Passenger* p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        p[i].boardTick = p[i].exitTick = -1;
        p[i].next = p[i].car = -1;
        p[i].state = PENDING;
    }
}

__global__ void resetBuildings(Building* b, Car* cars, Floor* floors, int nb)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= nb) return;
    Building bl = b[i];
    bl.nextArrival = 0; bl.callMask = 0;
    bl.delivered = 0; bl.totalWait = 0;
    b[i] = bl;
    for (int c = 0; c < bl.numCars; ++c) {
        Car& k = cars[bl.firstCar + c];
        k.floor = (int)((long long)c * (bl.numFloors - 1) / (bl.numCars > 1 ? bl.numCars - 1 : 1));
        k.dir = 0; k.doorTimer = 0; k.load = 0; k.destMask = 0;
        k.travelled = 0; k.stops = 0; k.energy = 0.f;
        for (int r = 0; r < CAR_CAPACITY; ++r) k.riders[r] = -1;
    }
    for (int f = 0; f < bl.numFloors; ++f) {
        Floor& fl = floors[bl.firstFloor + f];
        fl.head = fl.tail = -1;
        fl.waiting = fl.peak = 0;
    }
}

__device__ void enqueue(Floor& f, Passenger* pax, int id)
{
    if (f.tail < 0) f.head = id;
    else pax[f.tail].next = id;
    f.tail = id;
    f.waiting++;
    if (f.waiting > f.peak) f.peak = f.waiting;
}

__device__ int chooseDirection(const Car& c, unsigned calls)
{
    unsigned want = c.destMask ? c.destMask : calls;
    if (c.load < CAR_CAPACITY) want |= calls;
    unsigned above = c.floor < 31 ? want & (0xffffffffu << (c.floor + 1)) : 0u;
    unsigned below = want & ((1u << c.floor) - 1u);
    if (c.dir > 0 && above) return 1;
    if (c.dir < 0 && below) return -1;
    if (!above && !below) return 0;
    if (!above) return -1;
    if (!below) return 1;
    int up = __ffs(above) - 1 - c.floor;
    int down = c.floor - (31 - __clz(below));
    return up <= down ? 1 : -1;
}

__global__ void __launch_bounds__(128)
simulate(Building* buildings, Passenger* pax, Car* cars, Floor* floors, int nb, int tick0, int ticks)
{
    int bi = blockIdx.x * blockDim.x + threadIdx.x;
    if (bi >= nb) return;
    Building& b = buildings[bi];
    const int firstP = b.firstPassenger, lastP = firstP + b.numPassengers;
    int next = firstP + b.nextArrival;
    unsigned calls = b.callMask;

    for (int t = tick0; t < tick0 + ticks; ++t) {
        while (next < lastP && pax[next].arriveTick <= t) {
            int fl = pax[next].from;
            pax[next].state = WAITING;
            enqueue(floors[b.firstFloor + fl], pax, next);
            calls |= 1u << fl;
            ++next;
        }
        if (next == lastP && b.delivered == b.numPassengers) break;

        for (int c = 0; c < b.numCars; ++c) {
            Car& car = cars[b.firstCar + c];
            if (car.doorTimer > 0) { car.doorTimer--; continue; }
            bool opened = false;
            unsigned here = 1u << car.floor;
            if (car.destMask & here) {
                for (int r = 0; r < CAR_CAPACITY; ++r) {
                    int id = car.riders[r];
                    if (id >= 0 && pax[id].to == car.floor) {
                        pax[id].state = DONE;
                        pax[id].exitTick = t;
                        car.riders[r] = -1;
                        car.load--;
                        b.delivered++;
                    }
                }
                car.destMask &= ~here;
                opened = true;
            }
            if ((calls & here) && car.load < CAR_CAPACITY) {
                Floor& f = floors[b.firstFloor + car.floor];
                for (int r = 0; r < CAR_CAPACITY && f.head >= 0; ++r) {
                    if (car.riders[r] >= 0) continue;
                    int id = f.head;
                    Passenger& p = pax[id];
                    f.head = p.next;
                    if (f.head < 0) f.tail = -1;
                    f.waiting--;
                    p.next = -1;
                    p.state = RIDING;
                    p.boardTick = t;
                    p.car = (short)c;
                    car.riders[r] = id;
                    car.load++;
                    car.destMask |= 1u << p.to;
                    b.totalWait += t - p.arriveTick;
                }
                if (f.head < 0) calls &= ~here;
                opened = true;
            }
            if (opened) {
                car.doorTimer = 2;
                car.stops++;
                continue;
            }
            car.dir = chooseDirection(car, calls);
            if (car.dir != 0) {
                car.floor += car.dir;
                car.travelled++;
                car.energy += (car.dir > 0 ? 1.5f : 0.5f) + 0.125f * car.load;
            }
        }
    }
    b.nextArrival = next - firstP;
    b.callMask = calls;
}

__global__ void waitHistogram(const Passenger* __restrict__ pax, int n, unsigned* hist, unsigned long long* rideSum)
{
    __shared__ unsigned bins[WAIT_BINS];
    for (int k = threadIdx.x; k < WAIT_BINS; k += blockDim.x) bins[k] = 0;
    __syncthreads();
    unsigned ride = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        if (pax[i].state < RIDING) continue;
        int w = pax[i].boardTick - pax[i].arriveTick;
        atomicAdd(&bins[w < WAIT_BINS ? w : WAIT_BINS - 1], 1u);
        if (pax[i].state == DONE) ride += (pax[i].exitTick - pax[i].boardTick) * pax[i].weight;
    }
    for (int o = 16; o > 0; o >>= 1) ride += __shfl_down_sync(0xffffffffu, ride, o);
    if ((threadIdx.x & 31) == 0) atomicAdd(rideSum, (unsigned long long)ride);
    __syncthreads();
    for (int k = threadIdx.x; k < WAIT_BINS; k += blockDim.x)
        if (bins[k]) atomicAdd(&hist[k], bins[k]);
}

int main(int argc, char** argv)
{
    const int nb = argc > 1 ? atoi(argv[1]) : 50000;
    std::vector<Building> buildings(nb);
    std::vector<Passenger> pax;
    pax.reserve((size_t)nb * 40);
    int numCars = 0, numFloors = 0;
    for (int i = 0; i < nb; ++i) {
        unsigned h = hash32(i * 2654435761u + 17u);
        Building b{};
        b.numFloors = 8 + h % (MAX_FLOORS - 8);
        b.numCars = 2 + (h >> 8) % 3;
        b.numPassengers = 24 + (h >> 16) % 33;
        b.firstCar = numCars; b.firstFloor = numFloors;
        b.firstPassenger = (int)pax.size();
        numCars += b.numCars; numFloors += b.numFloors;
        int t = 0;
        for (int p = 0; p < b.numPassengers; ++p) {
            unsigned r = hash32(h + 7919u * p);
            t += r % 5;
            Passenger q{};
            q.arriveTick = t;
            q.from = (r & 0x100) ? 0 : (short)((r >> 10) % b.numFloors);
            q.to = (short)((r >> 18) % b.numFloors);
            if (q.to == q.from) q.to = (short)((q.from + 1) % b.numFloors);
            q.weight = (unsigned char)(50 + (r >> 24) % 60);
            pax.push_back(q);
        }
        buildings[i] = b;
    }
    const int np = (int)pax.size();

    Building* dB; Passenger* dP; Car* dC; Floor* dF; unsigned* dHist; unsigned long long* dRide;
    CK(cudaMalloc(&dB, nb * sizeof(Building)));
    CK(cudaMalloc(&dP, np * sizeof(Passenger)));
    CK(cudaMalloc(&dC, numCars * sizeof(Car)));
    CK(cudaMalloc(&dF, numFloors * sizeof(Floor)));
    CK(cudaMalloc(&dHist, WAIT_BINS * sizeof(unsigned)));
    CK(cudaMalloc(&dRide, sizeof(unsigned long long)));
    CK(cudaMemcpy(dB, buildings.data(), nb * sizeof(Building), cudaMemcpyHostToDevice));
    CK(cudaMemcpy(dP, pax.data(), np * sizeof(Passenger), cudaMemcpyHostToDevice));

    const int chunk = 40, chunks = 5;
    auto runDay = [&] {
        resetPassengers<<<(np + 255) / 256, 256>>>(dP, np);
        resetBuildings<<<(nb + 127) / 128, 128>>>(dB, dC, dF, nb);
        for (int c = 0; c < chunks; ++c)
            simulate<<<(nb + 127) / 128, 128>>>(dB, dP, dC, dF, nb, c * chunk, chunk);
        CK(cudaMemsetAsync(dHist, 0, WAIT_BINS * sizeof(unsigned)));
        CK(cudaMemsetAsync(dRide, 0, sizeof(unsigned long long)));
        waitHistogram<<<528, 256>>>(dP, np, dHist, dRide);
    };

    runDay();
    CK(cudaDeviceSynchronize());
    cudaEvent_t a, z;
    CK(cudaEventCreate(&a)); CK(cudaEventCreate(&z));
    CK(cudaEventRecord(a));
    for (int day = 0; day < 5; ++day) runDay();
    CK(cudaEventRecord(z));
    CK(cudaEventSynchronize(z));
    CK(cudaGetLastError());
    float ms;
    CK(cudaEventElapsedTime(&ms, a, z));

    std::vector<Car> cars(numCars);
    std::vector<Floor> floors(numFloors);
    unsigned hist[WAIT_BINS];
    unsigned long long ride;
    CK(cudaMemcpy(buildings.data(), dB, nb * sizeof(Building), cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(cars.data(), dC, numCars * sizeof(Car), cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(floors.data(), dF, numFloors * sizeof(Floor), cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(hist, dHist, sizeof(hist), cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(&ride, dRide, sizeof(ride), cudaMemcpyDeviceToHost));

    long long delivered = 0, wait = 0, travelled = 0, stops = 0, peak = 0, hsum = 0;
    double energy = 0;
    for (auto& b : buildings) { delivered += b.delivered; wait += b.totalWait; }
    for (auto& c : cars) { travelled += c.travelled; stops += c.stops; energy += c.energy; }
    for (auto& f : floors) peak += f.peak;
    for (int k = 0; k < WAIT_BINS; ++k) hsum += (long long)hist[k] * (k + 1);
    printf("check delivered %lld\ncheck total_wait %lld\n", delivered, wait);
    printf("check travelled %lld\ncheck stops %lld\ncheck energy %.6g\n", travelled, stops, energy);
    printf("check peak_queue %lld\ncheck wait_hist %lld\n", peak, hsum);
    printf("check ride_weighted %llu\n", ride);
    printf("time_ms %.4f\n", ms);
    cudaFree(dB); cudaFree(dP); cudaFree(dC); cudaFree(dF); cudaFree(dHist); cudaFree(dRide);
    return 0;
}
