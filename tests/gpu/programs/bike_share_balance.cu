// Bicycle-share balances: a day of trips moves bikes between stations, trips
// are priced, and stations exchange surplus with their neighbours by van.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

using namespace std;

#define N_STATIONS 20000
#define N_TRIPS 5000000
#define N_NEAR 24

struct Station {
    float lat;
    float lon;
    float price;
    float surcharge;
    int   docks;
    int   bikes;
    int   arrivals;
    int   departures;
};

struct Trip {
    int from;
    int to;
    int start_s;
    int length_s;
    float fee;
    float km;
    unsigned char member;
    unsigned char electric;
    unsigned short rider;
};

struct Link {
    int other;
    float minutes;
};

void die_on(cudaError_t e, int line)
{
    if (e) {
        fprintf(stderr, "error %d (%s), line %d\n", (int)e, cudaGetErrorString(e), line);
        exit(1);
    }
}
#define TRY(e) die_on((e), __LINE__)

__global__ void open_day(Station* st)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= N_STATIONS) return;
    st[i].arrivals = 0;
    st[i].departures = 0;
}

__global__ void price_trips(Trip* trips, const Station* st, size_t n, float peak)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= n) return;
    Trip t = trips[i];
    const Station a = st[t.from];
    const Station b = st[t.to];
    float dlat = (b.lat - a.lat) * 111.2f;
    float dlon = (b.lon - a.lon) * 78.8f;
    float km = sqrtf(dlat * dlat + dlon * dlon);
    float fee = a.price + b.surcharge;
    if (t.electric) fee += 0.2f * t.length_s / 60.0f;
    if (!t.member) fee += 1.5f + 0.1f * km;
    int hour = t.start_s / 3600;
    if (hour >= 7 && hour < 10) fee *= peak;
    // nearly full or nearly empty docks earn a discount
    if (b.bikes * 4 < b.docks) fee *= 0.9f;
    trips[i].fee = fee;
    trips[i].km = km;
}

__global__ void count_trips(const Trip* trips, Station* st, size_t n, int t0, int t1)
{
    size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += stride) {
        int s = trips[i].start_s;
        if (s < t0 || s >= t1) continue;
        atomicAdd(&st[trips[i].from].departures, 1);
        atomicAdd(&st[trips[i].to].arrivals, 1);
    }
}

__global__ void rebalance(const Station* in, Station* out, const Link* links)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= N_STATIONS) return;
    Station s = in[i];
    int bikes = s.bikes + (s.arrivals - s.departures) % 5;
    float gain = 0.0f;
    float mine = (float)s.bikes / s.docks;
    for (int k = 0; k < N_NEAR; k++) {
        Link l = links[i * N_NEAR + k];
        float other = (float)in[l.other].bikes / in[l.other].docks;
        gain += (other - mine) / (1.0f + l.minutes);
    }
    bikes += (int)rintf(2.0f * gain);
    s.bikes = max(0, min(bikes, s.docks));
    out[i] = s;
}

__global__ void revenue(const Trip* trips, size_t n, double* partial)
{
    __shared__ double sh[256];
    double sum = 0.0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        sum += trips[i].fee;
    sh[threadIdx.x] = sum;
    __syncthreads();
    for (int k = 128; k >= 1; k /= 2) {
        if (threadIdx.x < k) sh[threadIdx.x] += sh[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x == 0) partial[blockIdx.x] = sh[0];
}

int main()
{
    mt19937 rng(314159);
    vector<Station> stations(N_STATIONS);
    vector<Link> links((size_t)N_STATIONS * N_NEAR);
    vector<Trip> trips(N_TRIPS);
    const int side = 142;   // 142 * 142 covers all stations
    for (int i = 0; i < N_STATIONS; i++) {
        Station& s = stations[i];
        s.lat = 48.8f + 0.001f * (i / side);
        s.lon = 2.2f + 0.0013f * (i % side);
        s.price = 1.0f + 0.01f * (rng() % 100);
        s.surcharge = rng() % 10 == 0 ? 0.5f : 0.0f;
        s.docks = 15 + rng() % 30;
        s.bikes = rng() % s.docks;
        s.arrivals = s.departures = 0;
        for (int k = 0; k < N_NEAR; k++) {
            int dx = (int)(rng() % 9) - 4, dy = (int)(rng() % 9) - 4;
            int o = i + dy * side + dx;
            if (o < 0 || o >= N_STATIONS) o = (i + k + 1) % N_STATIONS;
            Link& l = links[(size_t)i * N_NEAR + k];
            l.other = o;
            l.minutes = 1.0f + abs(dx) + abs(dy);
        }
    }
    for (size_t i = 0; i < trips.size(); i++) {
        unsigned r = rng();
        Trip& t = trips[i];
        t.from = rng() % N_STATIONS;
        t.to = rng() % N_STATIONS;
        t.start_s = r % 86400;
        t.length_s = 180 + (r >> 8) % 2400;
        t.fee = 0.0f;
        t.km = 0.0f;
        t.member = (r & 3) != 0;
        t.electric = (r >> 2) & 1;
        t.rider = (unsigned short)(r >> 16);
    }

    Station *sa, *sb;
    Trip* dt;
    Link* dl;
    double* dp;
    const int RB = 1024;
    TRY(cudaMalloc(&sa, sizeof(Station) * N_STATIONS));
    TRY(cudaMalloc(&sb, sizeof(Station) * N_STATIONS));
    TRY(cudaMalloc(&dt, sizeof(Trip) * trips.size()));
    TRY(cudaMalloc(&dl, sizeof(Link) * links.size()));
    TRY(cudaMalloc(&dp, sizeof(double) * RB));
    TRY(cudaMemcpy(sa, stations.data(), sizeof(Station) * N_STATIONS, cudaMemcpyHostToDevice));
    TRY(cudaMemcpy(sb, stations.data(), sizeof(Station) * N_STATIONS, cudaMemcpyHostToDevice));
    TRY(cudaMemcpy(dt, trips.data(), sizeof(Trip) * trips.size(), cudaMemcpyHostToDevice));
    TRY(cudaMemcpy(dl, links.data(), sizeof(Link) * links.size(), cudaMemcpyHostToDevice));

    const int B = 256;
    const int gs = (N_STATIONS + B - 1) / B;
    const int gt = (N_TRIPS + B - 1) / B;
    cudaEvent_t e0, e1;
    TRY(cudaEventCreate(&e0));
    TRY(cudaEventCreate(&e1));
    const int days = 60;
    for (int d = -2; d < days; d++) {
        if (d == 0) TRY(cudaEventRecord(e0));
        Station* cur = (d & 1) ? sb : sa;
        Station* nxt = (d & 1) ? sa : sb;
        open_day<<<gs, B>>>(cur);
        count_trips<<<1056, B>>>(dt, cur, N_TRIPS, 0, 43200);
        count_trips<<<1056, B>>>(dt, cur, N_TRIPS, 61200, 79200);
        price_trips<<<gt, B>>>(dt, cur, N_TRIPS, 1.25f);
        rebalance<<<gs, B>>>(cur, nxt, dl);
        revenue<<<RB, B>>>(dt, N_TRIPS, dp);
    }
    TRY(cudaEventRecord(e1));
    TRY(cudaEventSynchronize(e1));
    TRY(cudaGetLastError());
    float ms;
    TRY(cudaEventElapsedTime(&ms, e0, e1));

    vector<double> part(RB);
    TRY(cudaMemcpy(stations.data(), sa, sizeof(Station) * N_STATIONS, cudaMemcpyDeviceToHost));
    TRY(cudaMemcpy(trips.data(), dt, sizeof(Trip) * trips.size(), cudaMemcpyDeviceToHost));
    TRY(cudaMemcpy(part.data(), dp, sizeof(double) * RB, cudaMemcpyDeviceToHost));
    double rev = 0, km = 0;
    long long arr = 0, dep = 0, bikes = 0;
    for (double p : part) rev += p;
    for (auto& t : trips) km += t.km;
    for (auto& s : stations) { arr += s.arrivals; dep += (long long)s.departures * (&s - stations.data()); bikes += s.bikes; }
    printf("check revenue %.5g\n", rev);
    printf("check km %.6g\n", km);
    printf("check arrivals %lld\n", arr);
    printf("check departures %lld\n", dep);
    printf("check bikes %.3g\n", (double)bikes);
    printf("time_ms %.5f\n", ms / days);
    cudaFree(sa); cudaFree(sb); cudaFree(dt); cudaFree(dl); cudaFree(dp);
    return 0;
}
