// Event driven simulation of many independent service stations (G/G/c/K queues
// with abandonment) that pass blocked customers on to a partner station.
//
//   queue_sim [stations] [--events E] [--steps S] [--seed X]

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

struct Config {
    int stations = 1000000;
    int events = 12;           // arrivals per step and station
    int steps = 20;
    unsigned seed = 7;
    int threads = 128;

    int blocks() const { return (stations + threads - 1) / threads; }
};

struct Rng {
    uint32_t a, b;
};

struct Ring {                  // arrival times of waiting customers
    float t[8];
    int head;
    int count;
};

struct Station {
    double clock;
    double busy;               // total service time
    Rng rng;
    Ring ring;
    int waits[8];              // histogram of waiting times
    float arrivalMean;
    float serviceMean;
    float freeAt;              // next time the server is free, relative to clock
    int served;
    int blocked;
    int partner;
};

struct Partner {
    int incoming;              // customers handed over
    int lost;
    short distance;
    short capacity;
};

#define TRY(x)                                                               \
    do {                                                                     \
        const cudaError_t rc = (x);                                          \
        if (rc != cudaSuccess) {                                             \
            std::fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(rc));    \
            return EXIT_FAILURE;                                             \
        }                                                                    \
    } while (false)

__device__ __forceinline__ float uniform01(Rng& r)
{
    r.a = 36969u * (r.a & 65535u) + (r.a >> 16);
    r.b = 18000u * (r.b & 65535u) + (r.b >> 16);
    const uint32_t x = (r.a << 16) + r.b;
    return ((x >> 8) + 1) * (1.0f / 16777217.0f);
}

__device__ __forceinline__ float exponential(Rng& r, float mean) { return __fmul_rn(-logf(uniform01(r)), mean); }

__device__ void serveUntil(Station& s, float now)
{
    while (s.ring.count > 0 && s.freeAt <= now) {
        const float wait = fmaxf(s.freeAt - s.ring.t[s.ring.head], 0.0f);
        s.ring.head = (s.ring.head + 1) & 7;
        s.ring.count--;
        int bin = 0;
        for (float lim = 0.25f; bin < 7 && wait > lim; lim += lim) bin++;
        s.waits[bin]++;
        if (wait > 12.0f) continue;               // has given up
        const float service = exponential(s.rng, s.serviceMean);
        s.freeAt += service;
        s.busy += service;
        s.served++;
    }
}

// the whole station is kept in local memory while its events are handled
__global__ void simulate(Station* stations, Config cfg)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= cfg.stations) return;

    Station s = stations[i];
    float now = 0.0f;
    for (int e = 0; e < cfg.events; ++e) {
        now += exponential(s.rng, s.arrivalMean);
        serveUntil(s, now);
        if (s.ring.count == 8) {
            s.blocked++;
            continue;
        }
        s.ring.t[(s.ring.head + s.ring.count) & 7] = now;
        s.ring.count++;
        if (s.freeAt < now) s.freeAt = now;
    }
    // times are relative to the clock of the station
    for (int k = 0; k < 8; ++k) s.ring.t[k] -= now;
    s.freeAt -= now;
    s.clock += now;
    stations[i] = s;
}

__global__ void handOver(Station* stations, Partner* partners, Config cfg)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= cfg.stations) return;
    const int blocked = stations[i].blocked;
    if (blocked == 0) return;
    stations[i].blocked = 0;
    const int p = stations[i].partner;
    // a partner that is full itself turns them away
    if (stations[p].ring.count >= 7 || partners[p].capacity == 0)
        atomicAdd(&partners[i].lost, blocked);
    else
        atomicAdd(&partners[p].incoming, blocked);
}

__global__ void takeIn(Station* stations, Partner* partners, Config cfg)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= cfg.stations) return;
    Partner p = partners[i];
    if (p.incoming == 0) return;
    const int take = min(p.incoming, (int)p.capacity);
    stations[i].served += take;
    stations[i].freeAt += take * 0.25f;
    p.lost += p.incoming - take;
    p.incoming = 0;
    partners[i] = p;
}

__global__ void waitReport(const Station* __restrict__ stations, unsigned long long* report, Config cfg)
{
    __shared__ unsigned bins[8];
    if (threadIdx.x < 8) bins[threadIdx.x] = 0;
    __syncthreads();
    const int total = cfg.stations * 8;
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < total; k += gridDim.x * blockDim.x) {
        const int w = stations[k >> 3].waits[k & 7];
        if (w) atomicAdd(&bins[k & 7], (unsigned)w);
    }
    __syncthreads();
    if (threadIdx.x < 8) atomicAdd(&report[threadIdx.x], (unsigned long long)bins[threadIdx.x]);
}

__global__ void longQueues(const Station* __restrict__ stations, unsigned long long* report, Config cfg)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const bool is = i < cfg.stations && stations[i].ring.count >= 6;
    const int c = __syncthreads_count(is);
    if (threadIdx.x == 0 && c) atomicAdd(&report[8], (unsigned long long)c);
}

static Config parse(int argc, char** argv)
{
    Config c;
    for (int i = 1; i < argc; ++i) {
        if (i + 1 < argc && !std::strcmp(argv[i], "--events")) c.events = std::atoi(argv[++i]);
        else if (i + 1 < argc && !std::strcmp(argv[i], "--steps")) c.steps = std::atoi(argv[++i]);
        else if (i + 1 < argc && !std::strcmp(argv[i], "--seed")) c.seed = std::atoi(argv[++i]);
        else if (std::atoi(argv[i]) > 0) c.stations = std::atoi(argv[i]);
        else {
            std::fprintf(stderr, "usage: %s [stations] [--events E] [--steps S] [--seed X]\n", argv[0]);
            std::exit(EXIT_FAILURE);
        }
    }
    return c;
}

static uint32_t scramble(uint32_t x)
{
    x += 0x9e3779b9u;
    x = (x ^ (x >> 16)) * 0x21f0aaadu;
    x = (x ^ (x >> 15)) * 0x735a2d97u;
    return x ^ (x >> 15);
}

int main(int argc, char** argv)
{
    const Config cfg = parse(argc, argv);
    const int n = cfg.stations;

    std::vector<Station> stations(n);
    std::vector<Partner> partners(n);
    for (int i = 0; i < n; ++i) {
        const uint32_t h = scramble(i ^ cfg.seed * 7919u);
        Station s = {};
        s.rng = {h | 1u, scramble(h) | 1u};
        s.arrivalMean = 1.0f;
        // most stations are lightly loaded, one in eight is overloaded
        s.serviceMean = h % 8 == 0 ? 1.1f + (h >> 8 & 15) / 16.0f : 0.3f + (h >> 8 & 31) / 64.0f;
        s.partner = h % 16 < 12 ? (i + 1 + h % 500) % n : (int)(scramble(h + 1) % n);
        stations[i] = s;
        partners[i] = Partner{0, 0, (short)(h % 90), (short)(h >> 12 & 7)};
    }

    Station* dStations;
    Partner* dPartners;
    unsigned long long* dReport;
    TRY(cudaMalloc(&dStations, n * sizeof(Station)));
    TRY(cudaMalloc(&dPartners, n * sizeof(Partner)));
    TRY(cudaMalloc(&dReport, 9 * sizeof(unsigned long long)));
    TRY(cudaMemcpy(dStations, stations.data(), n * sizeof(Station), cudaMemcpyHostToDevice));
    TRY(cudaMemcpy(dPartners, partners.data(), n * sizeof(Partner), cudaMemcpyHostToDevice));
    TRY(cudaMemset(dReport, 0, 9 * sizeof(unsigned long long)));

    cudaEvent_t begin, end;
    TRY(cudaEventCreate(&begin));
    TRY(cudaEventCreate(&end));
    for (int s = 0; s <= cfg.steps; ++s) {
        if (s == 1) TRY(cudaEventRecord(begin));
        simulate<<<cfg.blocks(), cfg.threads>>>(dStations, cfg);
        handOver<<<cfg.blocks(), cfg.threads>>>(dStations, dPartners, cfg);
        takeIn<<<cfg.blocks(), cfg.threads>>>(dStations, dPartners, cfg);
        waitReport<<<1056, 256>>>(dStations, dReport, cfg);
        longQueues<<<cfg.blocks(), cfg.threads>>>(dStations, dReport, cfg);
    }
    TRY(cudaEventRecord(end));
    TRY(cudaEventSynchronize(end));
    float ms = 0.0f;
    TRY(cudaEventElapsedTime(&ms, begin, end));

    unsigned long long report[9];
    TRY(cudaMemcpy(report, dReport, sizeof report, cudaMemcpyDeviceToHost));
    TRY(cudaMemcpy(stations.data(), dStations, n * sizeof(Station), cudaMemcpyDeviceToHost));
    TRY(cudaMemcpy(partners.data(), dPartners, n * sizeof(Partner), cudaMemcpyDeviceToHost));
    unsigned long long check = 0;
    for (unsigned long long r : report) check = check * 5 + r;
    for (int i = 0; i < n; ++i)
        check += (unsigned long long)(i % 31 + 1) * (stations[i].served + 3 * stations[i].ring.count + 7 * partners[i].lost);
    TRY(cudaFree(dStations));
    TRY(cudaFree(dPartners));
    TRY(cudaFree(dReport));
    std::printf("check %llu\n", check);
    std::printf("time_ms %.4f\n", ms / cfg.steps);
    return EXIT_SUCCESS;
}
