// Morning rush simulation for a city of office towers: every elevator car
// serves the riders assigned to it, time is advanced in one second ticks.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CU(x)                                                                  \
    do {                                                                       \
        cudaError_t e = (x);                                                   \
        if (e != cudaSuccess) {                                                \
            fprintf(stderr, "%s at line %d\n", cudaGetErrorString(e), __LINE__); \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

enum RiderState { NOT_HERE = 0, WAITING = 1, RIDING = 2, ARRIVED = 3 };
enum Door { CLOSED = 0, OPEN = 1 };

struct Rider {
    float arrive_s;
    float board_s;
    float done_s;
    int car;
    short from;
    short to;
    unsigned char state;
    unsigned char mass_kg;
};

struct Car {
    unsigned long long calls;
    unsigned long long stops;
    float pos;
    float speed;
    float energy_kj;
    float door_timer;
    int first_rider;
    int rider_count;
    int tower;
    int served;
    short target;
    short load_kg;
    short max_kg;
    unsigned short trips;
    signed char dir;
    unsigned char door;
    unsigned char floors;
    unsigned char express;
};

struct Tower {
    int first_car;
    int n_cars;
    int served;
    int crowded;
    float energy;
    float mean_wait;
    short floors;
    short lobby;
};

__global__ void hall_calls(Rider *riders, int n, Car *cars, float now) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        if (riders[i].state == NOT_HERE && riders[i].arrive_s <= now) {
            riders[i].state = WAITING;
            atomicOr(&cars[riders[i].car].calls, 1ull << riders[i].from);
        }
    }
}

__device__ int nearest_above(unsigned long long mask, int floor) {
    unsigned long long m = floor >= 63 ? 0ull : mask & ~((2ull << floor) - 1ull);
    return m ? __ffsll((long long)m) - 1 : -1;
}

__device__ int nearest_below(unsigned long long mask, int floor) {
    unsigned long long m = mask & ((1ull << floor) - 1ull);
    return m ? 63 - __clzll((long long)m) : -1;
}

__global__ void drive_cars(Car *cars, int n, float dt) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        if (cars[i].door == OPEN) {
            cars[i].door_timer -= dt;
            if (cars[i].door_timer <= 0.0f) cars[i].door = CLOSED;
            return;
        }
        unsigned long long want = cars[i].calls | cars[i].stops;
        int here = (int)(cars[i].pos + 0.5f);
        int target = cars[i].target;
        if (target < 0) {
            if (want == 0) return;
            if ((want >> here) & 1ull) {
                target = here;
            } else {
                int up = nearest_above(want, here), down = nearest_below(want, here);
                int dir = cars[i].dir;
                if (dir >= 0)
                    target = up >= 0 ? up : down;
                else
                    target = down >= 0 ? down : up;
                cars[i].dir = target > here ? 1 : -1;
                cars[i].trips++;
            }
            cars[i].target = (short)target;
        }
        float gap = target - cars[i].pos;
        float step = cars[i].speed * dt;
        float load = cars[i].load_kg;
        if (fabsf(gap) <= step) {
            cars[i].pos = (float)target;
            cars[i].door = OPEN;
            cars[i].door_timer = 4.0f;
            cars[i].target = -1;
            unsigned long long bit = 1ull << target;
            cars[i].calls &= ~bit;
            cars[i].stops &= ~bit;
        } else {
            cars[i].pos += gap > 0.0f ? step : -step;
            cars[i].energy_kj += step * (gap > 0.0f ? 0.03f * (load + 200.0f) : 0.01f * (900.0f - load));
        }
    }
}

__global__ void exchange_riders(Car *cars, int n, Rider *riders, float now) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < n) {
        if (cars[c].door != OPEN) return;
        short floor = (short)(cars[c].pos + 0.5f);
        int load = cars[c].load_kg, limit = cars[c].max_kg;
        unsigned long long stops = cars[c].stops, calls = cars[c].calls;
        int served = 0;
        int lo = cars[c].first_rider, hi = lo + cars[c].rider_count;
        for (int r = lo; r < hi; r++) {
            if (riders[r].state == RIDING && riders[r].to == floor) {
                riders[r].state = ARRIVED;
                riders[r].done_s = now;
                load -= riders[r].mass_kg;
                served++;
            }
        }
        for (int r = lo; r < hi; r++) {
            if (riders[r].state == WAITING && riders[r].from == floor) {
                int mass = riders[r].mass_kg;
                if (load + mass <= limit) {
                    riders[r].state = RIDING;
                    riders[r].board_s = now;
                    load += mass;
                    stops |= 1ull << riders[r].to;
                } else {
                    calls |= 1ull << floor;
                }
            }
        }
        cars[c].load_kg = (short)load;
        cars[c].stops = stops;
        cars[c].calls = calls;
        cars[c].served += served;
    }
}

__global__ void tower_report(Tower *towers, int n, const Car *cars, const Rider *riders, float now) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) {
        float energy = 0.0f, wait = 0.0f;
        int served = 0, crowded = 0, people = 0;
        int c0 = towers[t].first_car, c1 = c0 + towers[t].n_cars;
        for (int c = c0; c < c1; c++) {
            energy += cars[c].energy_kj;
            served += cars[c].served;
            crowded += cars[c].load_kg > 0.7f * cars[c].max_kg;
            int r0 = cars[c].first_rider, r1 = r0 + cars[c].rider_count;
            for (int r = r0; r < r1; r++) {
                unsigned char s = riders[r].state;
                if (s == NOT_HERE) continue;
                wait += (s == WAITING ? now : riders[r].board_s) - riders[r].arrive_s;
                people++;
            }
        }
        towers[t].energy = energy;
        towers[t].served = served;
        towers[t].crowded = crowded;
        towers[t].mean_wait = people ? wait / people : 0.0f;
    }
}

static unsigned int mix(unsigned int x) {
    x ^= x >> 15;
    x *= 0x2c1b3c6du;
    x ^= x >> 12;
    x *= 0x297a2d39u;
    x ^= x >> 15;
    return x;
}

int main(int argc, char **argv) {
    int n_cars = argc > 1 ? atoi(argv[1]) : 240000;
    if (n_cars < 1) n_cars = 1;

    std::vector<Tower> towers;
    std::vector<Car> cars(n_cars);
    std::vector<Rider> riders;
    riders.reserve((size_t)n_cars * 18);
    unsigned int seed = 1;
    int c = 0;
    while (c < n_cars) {
        Tower t;
        t.first_car = c;
        t.n_cars = 2 + mix(seed++) % 7;
        if (t.first_car + t.n_cars > n_cars) t.n_cars = n_cars - t.first_car;
        t.floors = (short)(8 + mix(seed++) % 52);
        t.lobby = 0;
        t.served = t.crowded = 0;
        t.energy = t.mean_wait = 0.0f;
        for (int k = 0; k < t.n_cars; k++, c++) {
            Car &e = cars[c];
            e.calls = e.stops = 0;
            e.pos = (float)(mix(seed++) % t.floors);
            e.speed = 0.5f + 0.25f * (mix(seed++) % 4);
            e.energy_kj = 0.0f;
            e.door_timer = 0.0f;
            e.first_rider = (int)riders.size();
            e.rider_count = 6 + mix(seed++) % 22;
            e.tower = (int)towers.size();
            e.served = 0;
            e.target = -1;
            e.load_kg = 0;
            e.max_kg = (short)(450 + 150 * (mix(seed++) % 3));
            e.trips = 0;
            e.dir = 1;
            e.door = CLOSED;
            e.floors = (unsigned char)t.floors;
            e.express = 0;
            for (int r = 0; r < e.rider_count; r++) {
                Rider p;
                unsigned int h = mix(seed++ * 17u);
                p.arrive_s = (h % 1000) * 0.12f;
                p.board_s = p.done_s = 0.0f;
                p.car = c;
                p.from = (h >> 12) % 10 < 7 ? 0 : (short)((h >> 16) % t.floors);
                p.to = (short)(mix(h) % t.floors);
                if (p.to == p.from) p.to = (short)((p.to + 1) % t.floors);
                p.state = NOT_HERE;
                p.mass_kg = (unsigned char)(45 + mix(h + 5u) % 60);
                riders.push_back(p);
            }
        }
        towers.push_back(t);
    }
    int n_riders = (int)riders.size();
    int n_towers = (int)towers.size();

    Rider *d_riders;
    Car *d_cars;
    Tower *d_towers;
    CU(cudaMalloc(&d_riders, sizeof(Rider) * n_riders));
    CU(cudaMalloc(&d_cars, sizeof(Car) * n_cars));
    CU(cudaMalloc(&d_towers, sizeof(Tower) * n_towers));
    CU(cudaMemcpy(d_riders, riders.data(), sizeof(Rider) * n_riders, cudaMemcpyHostToDevice));
    CU(cudaMemcpy(d_cars, cars.data(), sizeof(Car) * n_cars, cudaMemcpyHostToDevice));
    CU(cudaMemcpy(d_towers, towers.data(), sizeof(Tower) * n_towers, cudaMemcpyHostToDevice));

    cudaEvent_t begin, end;
    CU(cudaEventCreate(&begin));
    CU(cudaEventCreate(&end));
    const int tb = 256, ticks = 160;
    int gr = (n_riders + tb - 1) / tb, gc = (n_cars + tb - 1) / tb, gt = (n_towers + 63) / 64;
    for (int tick = 0; tick <= ticks; tick++) {
        if (tick == 1) CU(cudaEventRecord(begin));
        float now = (float)tick;
        hall_calls<<<gr, tb>>>(d_riders, n_riders, d_cars, now);
        drive_cars<<<gc, tb>>>(d_cars, n_cars, 1.0f);
        exchange_riders<<<gc, tb>>>(d_cars, n_cars, d_riders, now);
        if (tick % 10 == 0)
            tower_report<<<gt, 64>>>(d_towers, n_towers, d_cars, d_riders, now);
    }
    CU(cudaEventRecord(end));
    CU(cudaEventSynchronize(end));
    CU(cudaGetLastError());
    float ms = 0.0f;
    CU(cudaEventElapsedTime(&ms, begin, end));

    CU(cudaMemcpy(riders.data(), d_riders, sizeof(Rider) * n_riders, cudaMemcpyDeviceToHost));
    CU(cudaMemcpy(cars.data(), d_cars, sizeof(Car) * n_cars, cudaMemcpyDeviceToHost));
    CU(cudaMemcpy(towers.data(), d_towers, sizeof(Tower) * n_towers, cudaMemcpyDeviceToHost));

    long long states[4] = {0, 0, 0, 0}, trips = 0, load = 0, served = 0, crowded = 0;
    double wait = 0, ride = 0, energy = 0, pos = 0, mean = 0;
    for (auto &r : riders) {
        states[r.state & 3]++;
        if (r.state >= RIDING) wait += r.board_s - r.arrive_s;
        if (r.state == ARRIVED) ride += r.done_s - r.board_s;
    }
    for (auto &e : cars) {
        trips += e.trips;
        load += e.load_kg;
        pos += e.pos;
    }
    for (auto &t : towers) {
        served += t.served;
        crowded += t.crowded;
        energy += t.energy;
        mean += t.mean_wait;
    }
    printf("check riders %d\n", n_riders);
    printf("check waiting %lld\n", states[WAITING]);
    printf("check riding %lld\n", states[RIDING]);
    printf("check arrived %lld\n", states[ARRIVED]);
    printf("check served %lld\n", served);
    printf("check crowded %lld\n", crowded);
    printf("check trips %lld\n", trips);
    printf("check load %lld\n", load);
    printf("check wait %.6g\n", wait);
    printf("check ride %.6g\n", ride);
    printf("check energy %.6g\n", energy);
    printf("check pos %.6g\n", pos);
    printf("check mean_wait %.6g\n", mean / n_towers);
    printf("time_ms %.4f\n", ms / ticks);
    CU(cudaFree(d_riders));
    CU(cudaFree(d_cars));
    CU(cudaFree(d_towers));
    return 0;
}
