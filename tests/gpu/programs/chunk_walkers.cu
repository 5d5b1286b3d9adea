/* Taxi shifts.  Trips are stored taxi after taxi, so every taxi owns a contiguous
 * run of 40-byte records.
 *   shift_kernel  - one thread per taxi walks its own run (neighbouring threads are ~1 KB apart)
 *   fleet_kernel  - one block per fleet of 64 taxis, threads stride over the fleet's run
 *   audit_kernel  - flat pass over all the fields of all the trips
 */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

typedef struct {
    float start_x, start_y;
    float end_x, end_y;
    float fare, tip;
    int   t_start, t_end;
    short zone, passengers;
    signed char paytype;
} Trip;

struct Taxi {
    int   first;
    int   count;
    float depot_x, depot_y;
    float empty_km;
    int   idle_s;
};

struct FleetSum { double revenue; int riders; int trips; };

enum { NTAXI = 192000, TAXI_PER_FLEET = 64, NFLEET = NTAXI / TAXI_PER_FLEET, FT = 128 };

static void must(cudaError_t e, const char *what)
{
    if (e != cudaSuccess) { fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e)); exit(2); }
}

__device__ float leg(float ax, float ay, float bx, float by)
{
    float dx = ax - bx, dy = ay - by;
    return sqrtf(dx * dx + dy * dy);
}

__global__ void shift_kernel(Taxi *taxis, const Trip *trips, int ntaxi)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= ntaxi) return;
    Taxi *me = taxis + t;
    const Trip *tr = trips + me->first;
    const Trip *end = tr + me->count;
    float x = me->depot_x, y = me->depot_y, empty = 0.0f;
    int clock = 0, idle = 0;
    for (; tr != end; ++tr) {
        empty += leg(x, y, tr->start_x, tr->start_y);
        int gap = tr->t_start - clock;
        if (gap > 0) idle += gap;
        x = tr->end_x;
        y = tr->end_y;
        clock = tr->t_end;
    }
    empty += leg(x, y, me->depot_x, me->depot_y);
    me->empty_km = empty;
    me->idle_s = idle;
}

__global__ void fleet_kernel(const Taxi *taxis, const Trip *trips, FleetSum *out)
{
    __shared__ double money[FT];
    __shared__ int    people[FT];
    const int f = blockIdx.x, tid = threadIdx.x;
    const Taxi *head = &taxis[f * TAXI_PER_FLEET];
    const Taxi *tail = &taxis[f * TAXI_PER_FLEET + TAXI_PER_FLEET - 1];
    const int lo = head->first, hi = tail->first + tail->count;
    double m = 0.0;
    int p = 0;
    for (int j = lo + tid; j < hi; j += FT) {
        m += (double)trips[j].fare + 0.8 * (double)trips[j].tip;
        p += trips[j].passengers;
    }
    money[tid] = m;
    people[tid] = p;
    __syncthreads();
    for (int w = FT / 2; w > 0; w >>= 1) {
        if (tid < w) { money[tid] += money[tid + w]; people[tid] += people[tid + w]; }
        __syncthreads();
    }
    if (tid == 0) {
        FleetSum s;
        s.revenue = money[0];
        s.riders = people[0];
        s.trips = hi - lo;
        out[f] = s;
    }
}

__global__ void audit_kernel(const Trip *trips, int n, float *suspicion)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const Trip &r = trips[i];
        float km = leg(r.start_x, r.start_y, r.end_x, r.end_y);
        float expect = 2.5f + 1.7f * km + 0.004f * (float)(r.t_end - r.t_start);
        float s = fabsf(r.fare - expect) + (r.tip > r.fare ? 5.0f : 0.0f);
        if (r.paytype == 1) s *= 0.5f;
        suspicion[i] = s + 0.01f * (float)((r.zone + r.passengers) & 7);
    }
}

int main(void)
{
    Taxi *taxis = (Taxi *)malloc(sizeof(Taxi) * NTAXI);
    unsigned lcg = 2024u;
    int total = 0;
    for (int t = 0; t < NTAXI; t++) {
        lcg = lcg * 1664525u + 1013904223u;
        taxis[t].first = total;
        taxis[t].count = 10 + (int)((lcg >> 24) % 31u);
        taxis[t].depot_x = (float)((lcg >> 8) & 63);
        taxis[t].depot_y = (float)((lcg >> 14) & 63);
        taxis[t].empty_km = 0.0f;
        taxis[t].idle_s = 0;
        total += taxis[t].count;
    }
    Trip *trips = (Trip *)malloc(sizeof(Trip) * (size_t)total);
    for (int t = 0; t < NTAXI; t++) {
        int clock = 0;
        for (int j = taxis[t].first; j < taxis[t].first + taxis[t].count; j++) {
            Trip *r = trips + j;
            lcg = lcg * 1664525u + 1013904223u;
            unsigned a = lcg >> 3;
            r->start_x = (a & 255) * 0.25f;
            r->start_y = ((a >> 8) & 255) * 0.25f;
            r->end_x = ((a >> 4) & 255) * 0.25f;
            r->end_y = ((a >> 12) & 255) * 0.25f;
            r->fare = 3.0f + (a % 97u) * 0.5f;
            r->tip = (a % 13u) * 0.75f;
            r->t_start = clock + (int)(a % 600u) - 30;
            r->t_end = r->t_start + 120 + (int)((a >> 16) % 1500u);
            clock = r->t_end;
            r->zone = (short)(a % 263u);
            r->passengers = (short)(1 + (a >> 6) % 5u);
            r->paytype = (signed char)((a >> 10) % 3u);
        }
    }

    Taxi *dtx; Trip *dtr; FleetSum *dfs; float *dsus;
    must(cudaMalloc((void **)&dtx, sizeof(Taxi) * NTAXI), "malloc taxis");
    must(cudaMalloc((void **)&dtr, sizeof(Trip) * (size_t)total), "malloc trips");
    must(cudaMalloc((void **)&dfs, sizeof(FleetSum) * NFLEET), "malloc fleets");
    must(cudaMalloc((void **)&dsus, sizeof(float) * (size_t)total), "malloc susp");
    must(cudaMemcpy(dtx, taxis, sizeof(Taxi) * NTAXI, cudaMemcpyHostToDevice), "h2d");
    must(cudaMemcpy(dtr, trips, sizeof(Trip) * (size_t)total, cudaMemcpyHostToDevice), "h2d");

    cudaEvent_t a, b;
    cudaEventCreate(&a); cudaEventCreate(&b);
    for (int it = -1; it < 30; it++) {
        if (it == 0) cudaEventRecord(a);
        shift_kernel<<<(NTAXI + 127) / 128, 128>>>(dtx, dtr, NTAXI);
        fleet_kernel<<<NFLEET, FT>>>(dtx, dtr, dfs);
        audit_kernel<<<2048, 256>>>(dtr, total, dsus);
    }
    cudaEventRecord(b);
    must(cudaEventSynchronize(b), "run");
    float ms = 0; cudaEventElapsedTime(&ms, a, b);

    FleetSum *fs = (FleetSum *)malloc(sizeof(FleetSum) * NFLEET);
    float *sus = (float *)malloc(sizeof(float) * (size_t)total);
    must(cudaMemcpy(taxis, dtx, sizeof(Taxi) * NTAXI, cudaMemcpyDeviceToHost), "d2h");
    must(cudaMemcpy(fs, dfs, sizeof(FleetSum) * NFLEET, cudaMemcpyDeviceToHost), "d2h");
    must(cudaMemcpy(sus, dsus, sizeof(float) * (size_t)total, cudaMemcpyDeviceToHost), "d2h");
    double km = 0, rev = 0, su = 0; long long idle = 0, riders = 0, ntr = 0;
    for (int t = 0; t < NTAXI; t++) { km += taxis[t].empty_km; idle += taxis[t].idle_s; }
    for (int f = 0; f < NFLEET; f++) { rev += fs[f].revenue; riders += fs[f].riders; ntr += fs[f].trips; }
    for (int i = 0; i < total; i++) su += sus[i];
    printf("check empty_km %.6g\ncheck idle %lld\n", km, idle);
    printf("check revenue %.6g\ncheck riders %lld\ncheck trips %lld\n", rev, riders, ntr);
    printf("check suspicion %.6g\n", su);
    printf("time_ms %.4f\n", ms);
    return 0;
}
