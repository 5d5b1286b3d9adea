// Thirty thousand ropeways with their cabins, sorted by position: the pull runs
// along each rope (one thread per line, its cabins in a row), four sensors per
// cabin are smoothed by four threads, passengers look for the next cabin by
// binary search and board it, and the cabins settle.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

#define RT(x)                                                                 \
    do {                                                                      \
        cudaError_t e_ = (x);                                                 \
        if (e_ != cudaSuccess) {                                              \
            fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(e_));          \
            exit(1);                                                          \
        }                                                                     \
    } while (0)

struct Cabin {
    double pos;
    double tension;
    double metres;
    float temps[4];
    float sway;
    float load;
    int riders;
    short line;
    char doors[2];
};

static const int LINES = 30000;
static const int PASSENGERS = 400000;
static const int TURNS = 30;

__global__ void haul(Cabin* cabins, const int* first, double speed, double* pull)
{
    int line = blockIdx.x * blockDim.x + threadIdx.x;
    if (line >= LINES) return;
    double t = 100.0;
    for (int c = first[line]; c < first[line + 1]; ++c) {
        t += 0.7 * (80.0 + cabins[c].load) * 0.01;
        cabins[c].tension = t;
        if (cabins[c].doors[0] == 0) cabins[c].metres += speed;
    }
    pull[line] = t;
}

__global__ void climate(Cabin* cabins, int n, float outside)
{
    int tid = blockIdx.x * blockDim.x + threadIdx.x;
    int c = tid >> 2;
    int k = tid & 3;
    if (c >= n) return;
    float t = cabins[c].temps[k];
    t += 0.05f * (outside + 0.2f * (float)cabins[c].riders - t);
    cabins[c].temps[k] = t;
}

__global__ void board(Cabin* cabins, int n, const double* arrivals, double shift, double end,
                      int* missed)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= PASSENGERS) return;
    double where = arrivals[p] + shift;
    if (where >= end) where -= end;
    int lo = 0, hi = n;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (cabins[mid].pos < where) lo = mid + 1;
        else hi = mid;
    }
    if (lo == n) lo = 0;
    if (cabins[lo].doors[1] != 0) atomicAdd(missed, 1);
    else atomicAdd(&cabins[lo].riders, 1);
}

__global__ void settle(Cabin* cabins, int n, float gust)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= n) return;
    int r = cabins[c].riders;
    if (r > 12) {
        r -= 12;
        cabins[c].riders = r;
    }
    cabins[c].load = 75.0f * (float)r;
    float s = cabins[c].sway;
    cabins[c].sway = 0.9f * s + gust / (1.0f + 0.1f * (float)r);
}

static unsigned a_ = 521288629u, b_ = 362436069u;
static unsigned mwc()
{
    a_ = 36969u * (a_ & 65535u) + (a_ >> 16);
    b_ = 18000u * (b_ & 65535u) + (b_ >> 16);
    return (a_ << 16) + (b_ & 65535u);
}
static double unit() { return mwc() * (1.0 / 4294967296.0); }

int main()
{
    std::vector<int> first(LINES + 1);
    first[0] = 0;
    for (int l = 0; l < LINES; ++l) first[l + 1] = first[l] + 24 + (int)(mwc() % 56u);
    const int n = first[LINES];
    const double end = 1000.0 * LINES;

    Cabin* cabins;
    double *arrivals, *pull;
    int *d_first, *missed;
    RT(cudaMallocManaged(&cabins, sizeof(Cabin) * (size_t)n));
    RT(cudaMalloc(&arrivals, sizeof(double) * PASSENGERS));
    RT(cudaMalloc(&pull, sizeof(double) * LINES));
    RT(cudaMalloc(&d_first, sizeof(int) * (LINES + 1)));
    RT(cudaMalloc(&missed, sizeof(int)));
    for (int l = 0; l < LINES; ++l) {
        int m = first[l + 1] - first[l];
        for (int k = 0; k < m; ++k) {
            Cabin* c = &cabins[first[l] + k];
            c->pos = 1000.0 * l + 990.0 * (k + 0.8 * unit()) / m;    // sorted
            c->tension = 0.0;
            c->metres = 0.0;
            for (int q = 0; q < 4; ++q) c->temps[q] = (float)(10.0 + 10.0 * unit());
            c->sway = (float)unit();
            c->load = 0.0f;
            c->riders = (int)(mwc() % 8u);
            c->line = (short)l;
            c->doors[0] = (char)(mwc() % 10u == 0);
            c->doors[1] = (char)(mwc() % 20u == 0);
        }
    }
    // crowds: half of the passengers come to a few popular valleys
    std::vector<double> where(PASSENGERS);
    for (int p = 0; p < PASSENGERS; ++p) {
        double u = unit();
        if (p % 2 == 0) where[p] = u * (end - 1.0);
        else where[p] = u * u * u * (end - 1.0);
    }
    RT(cudaMemcpy(arrivals, where.data(), sizeof(double) * PASSENGERS, cudaMemcpyHostToDevice));
    RT(cudaMemcpy(d_first, first.data(), sizeof(int) * (LINES + 1), cudaMemcpyHostToDevice));
    RT(cudaMemset(missed, 0, sizeof(int)));

    cudaEvent_t t0, t1;
    RT(cudaEventCreate(&t0));
    RT(cudaEventCreate(&t1));
    for (int turn = -2; turn < TURNS; ++turn) {
        if (turn == 0) RT(cudaEventRecord(t0));
        haul<<<(LINES + 127) / 128, 128>>>(cabins, d_first, 0.5, pull);
        for (int k = 0; k < 2; ++k)
            climate<<<(4 * n + 255) / 256, 256>>>(cabins, n, 5.0f + (float)(turn % 3));
        board<<<(PASSENGERS + 127) / 128, 128>>>(cabins, n, arrivals, 777.0 * (turn + 2), end, missed);
        settle<<<(n + 255) / 256, 256>>>(cabins, n, 0.01f * (float)(turn & 3));
    }
    RT(cudaEventRecord(t1));
    RT(cudaEventSynchronize(t1));
    RT(cudaGetLastError());
    RT(cudaDeviceSynchronize());
    float ms = 0;
    RT(cudaEventElapsedTime(&ms, t0, t1));

    std::vector<double> pulls(LINES);
    int lost = 0;
    RT(cudaMemcpy(pulls.data(), pull, sizeof(double) * LINES, cudaMemcpyDeviceToHost));
    RT(cudaMemcpy(&lost, missed, sizeof(int), cudaMemcpyDeviceToHost));
    double tension = 0, metres = 0, temp = 0, sway = 0, load = 0, total = 0;
    long long riders = 0;
    for (int c = 0; c < n; ++c) {
        tension += cabins[c].tension;
        metres += cabins[c].metres;
        temp += cabins[c].temps[c & 3];
        sway += cabins[c].sway;
        load += cabins[c].load;
        riders += cabins[c].riders;
    }
    for (int l = 0; l < LINES; ++l) total += pulls[l];
    printf("check cabins %d\n", n);
    printf("check tension %.9g\n", tension);
    printf("check metres %.9g\n", metres);
    printf("check temp %.8g\n", temp);
    printf("check sway %.8g\n", sway);
    printf("check load %.9g\n", load);
    printf("check riders %lld\n", riders);
    printf("check missed %d\n", lost);
    printf("check pull %.9g\n", total);
    printf("time_ms %.4f\n", ms);
    RT(cudaFree(cabins));
    RT(cudaFree(arrivals));
    RT(cudaFree(pull));
    RT(cudaFree(d_first));
    RT(cudaFree(missed));
    return 0;
}
