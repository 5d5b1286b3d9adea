/*
 * courier_streets.cu
 *
 * Courier dispatch on a city street network.  Travel times from the nearest
 * depot are relaxed over the street graph while parcels flow downhill along
 * the shortest path tree; the flow slows down the streets it uses, and so the
 * tree keeps changing.  All arithmetic is integer.
 *
 * Data are in managed memory, prefetched to the GPU before the loop.
 */
#include <cstdio>
#include <cstdlib>
#include <climits>
#include <cuda_runtime.h>

static inline void gpuAssert(cudaError_t code, const char *file, int line)
{
    if (code != cudaSuccess) {
        fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line);
        exit(code);
    }
}
#define gpuErrchk(ans) gpuAssert((ans), __FILE__, __LINE__)

#define INF_TIME (INT_MAX / 4)

struct Junction {
    int firstRoad;      // incoming roads are roads[firstRoad .. firstRoad+numRoads)
    int numRoads;
    int travel;         // seconds from the nearest depot
    int travelNext;
    int parentRoad;     // road over which the best time comes, -1 none
    int parcels;        // waiting here
    int arriving;       // atomically collected this step
    int delivered;
    short district;
    unsigned char depot;
    unsigned char signal;   // phase of the traffic light
};

struct Road {
    int from;
    int to;
    int baseTime;
    int time;           // with congestion
    int flow;           // parcels in this step
    unsigned int used;  // all parcels so far
    short lanes;
    short kind;
};

struct District {
    unsigned long long waiting;
    unsigned long long timeSum;
    int worst;
    int unreachable;
};

__global__ void relaxTimes(Junction *jn, const Road *rd, int n, int tick)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (jn[i].depot) {
        jn[i].travelNext = 0;
        jn[i].parentRoad = -1;
        return;
    }
    int best = INF_TIME, arg = -1;
    int first = jn[i].firstRoad;
    int last = first + jn[i].numRoads;
    for (int r = first; r < last; r++) {
        int t = jn[rd[r].from].travel;
        if (t < INF_TIME) {
            t += rd[r].time;
            if (t < best) {
                best = t;
                arg = r;
            }
        }
    }
    if (arg >= 0)
        best += ((tick + jn[i].signal) & 7) == 0 ? 12 : 0;   // red light
    jn[i].travelNext = best;
    jn[i].parentRoad = arg;
}

// parcels wait at junctions and are sent toward the depot along the parent road
__global__ void sendParcels(Junction *jn, Road *rd, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int p = jn[i].parcels;
    int r = jn[i].parentRoad;
    if (p == 0 || r < 0) return;
    int cap = 4 * rd[r].lanes;
    int go = p < cap ? p : cap;
    jn[i].parcels = p - go;
    rd[r].flow = go;                      // a road has just one sending end
    atomicAdd(&jn[rd[r].from].arriving, go);
}

__global__ void settleJunctions(Junction *jn, int n, int tick)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Junction j = jn[i];
    j.travel = j.travelNext;
    if (j.depot) {
        j.delivered += j.arriving;
    } else {
        j.parcels += j.arriving;
        unsigned int h = (unsigned int)i * 2654435761u + (unsigned int)tick * 40503u;
        if ((h >> 24) < 20) j.parcels += 1 + (int)((h >> 16) & 3);
    }
    j.arriving = 0;
    jn[i] = j;
}

__global__ void congestRoads(Road *rd, int m)
{
    for (int r = blockIdx.x * blockDim.x + threadIdx.x; r < m; r += blockDim.x * gridDim.x) {
        int f = rd[r].flow;
        int target = rd[r].baseTime + (rd[r].baseTime * f) / (2 * rd[r].lanes);
        int t = rd[r].time;
        rd[r].time = t + (target - t) / 2;
        rd[r].used += (unsigned int)f;
        rd[r].flow = 0;
    }
}

__global__ void districtReport(const Junction *jn, District *ds, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    District *d = &ds[jn[i].district];
    int t = jn[i].travel;
    if (jn[i].parcels > 0) atomicAdd(&d->waiting, (unsigned long long)jn[i].parcels);
    if (t < INF_TIME) {
        atomicAdd(&d->timeSum, (unsigned long long)t);
        if (t > d->worst) atomicMax(&d->worst, t);
    } else {
        atomicAdd(&d->unreachable, 1);
    }
}

static unsigned int lcgState = 12345u;
static unsigned int lcg()
{
    lcgState = lcgState * 1103515245u + 12345u;
    return (lcgState >> 8) & 0xffffffu;
}

int main(int argc, char **argv)
{
    const int W = argc > 1 ? atoi(argv[1]) : 1200;
    const int H = W;
    const int steps = argc > 2 ? atoi(argv[2]) : 50;
    const int n = W * H;
    const int maxRoads = 5 * n;
    const int nDistricts = 400;

    Junction *jn;
    Road *rd;
    District *ds;
    gpuErrchk(cudaMallocManaged(&jn, n * sizeof(Junction)));
    gpuErrchk(cudaMallocManaged(&rd, maxRoads * sizeof(Road)));
    gpuErrchk(cudaMallocManaged(&ds, nDistricts * sizeof(District)));

    int m = 0;
    for (int i = 0; i < n; i++) {
        int x = i % W, y = i / W;
        Junction j = {};
        j.firstRoad = m;
        j.travel = j.travelNext = INF_TIME;
        j.parentRoad = -1;
        j.parcels = (int)(lcg() % 3);
        j.district = (short)((y * 20 / H) * 20 + x * 20 / W);
        j.signal = (unsigned char)(lcg() & 7);
        j.depot = (x % 60 == 30 && y % 60 == 30) ? 1 : 0;
        if (j.depot) j.travel = j.travelNext = 0;
        const int nx[4] = {x - 1, x + 1, x, x};
        const int ny[4] = {y, y, y - 1, y + 1};
        for (int k = 0; k < 5; k++) {
            int src;
            if (k < 4) {
                if (nx[k] < 0 || nx[k] >= W || ny[k] < 0 || ny[k] >= H) continue;
                if (lcg() % 100 < 8) continue;                   // missing street
                src = ny[k] * W + nx[k];
            } else {
                if (lcg() % 100 >= 5) continue;                  // a tunnel somewhere near
                int tx = x + (int)(lcg() % 41) - 20, ty = y + (int)(lcg() % 41) - 20;
                if (tx < 0 || ty < 0 || tx >= W || ty >= H) continue;
                src = ty * W + tx;
            }
            Road r = {};
            r.from = src;
            r.to = i;
            r.baseTime = (k < 4 ? 20 : 90) + (int)(lcg() % 40);
            r.time = r.baseTime;
            r.lanes = (short)(1 + lcg() % 3);
            r.kind = (short)(k < 4 ? 0 : 1);
            rd[m++] = r;
        }
        j.numRoads = m - j.firstRoad;
        jn[i] = j;
    }
    for (int d = 0; d < nDistricts; d++) ds[d] = District{0ull, 0ull, 0, 0};

    int dev = 0;
    gpuErrchk(cudaGetDevice(&dev));
    cudaMemLocation loc = {};
    loc.type = cudaMemLocationTypeDevice;
    loc.id = dev;
    gpuErrchk(cudaMemPrefetchAsync(jn, n * sizeof(Junction), loc, 0, 0));
    gpuErrchk(cudaMemPrefetchAsync(rd, maxRoads * sizeof(Road), loc, 0, 0));
    gpuErrchk(cudaMemPrefetchAsync(ds, nDistricts * sizeof(District), loc, 0, 0));
    gpuErrchk(cudaDeviceSynchronize());

    const int tpb = 256;
    const int nb = (n + tpb - 1) / tpb;
    cudaEvent_t start, stop;
    gpuErrchk(cudaEventCreate(&start));
    gpuErrchk(cudaEventCreate(&stop));
    gpuErrchk(cudaEventRecord(start));
    for (int t = 0; t < steps; t++) {
        relaxTimes<<<nb, tpb>>>(jn, rd, n, t);
        sendParcels<<<nb, tpb>>>(jn, rd, n);
        settleJunctions<<<nb, tpb>>>(jn, n, t);
        congestRoads<<<132 * 6, tpb>>>(rd, m);
        districtReport<<<nb, tpb>>>(jn, ds, n);
    }
    gpuErrchk(cudaEventRecord(stop));
    gpuErrchk(cudaDeviceSynchronize());
    gpuErrchk(cudaGetLastError());
    float ms;
    gpuErrchk(cudaEventElapsedTime(&ms, start, stop));

    unsigned long long hTravel = 0, hParcels = 0, hDelivered = 0, hParent = 0, hTime = 0, hUsed = 0, hDist = 0;
    for (int i = 0; i < n; i++) {
        unsigned long long w = 1 + i % 1009;
        hTravel += w * (unsigned long long)jn[i].travel;
        hParcels += w * (unsigned long long)jn[i].parcels;
        hDelivered += (unsigned long long)jn[i].delivered;
        hParent += w * (unsigned long long)(jn[i].parentRoad + 1);
    }
    for (int r = 0; r < m; r++) {
        unsigned long long w = 1 + r % 1013;
        hTime += w * (unsigned long long)rd[r].time;
        hUsed += w * rd[r].used;
    }
    for (int d = 0; d < nDistricts; d++)
        hDist += (d + 1) * (ds[d].waiting + 3 * ds[d].timeSum + 5ull * ds[d].worst + 7ull * ds[d].unreachable);
    printf("time_ms %.5f\n", ms / steps);
    printf("check travel %llu\n", hTravel);
    printf("check parcels %llu\n", hParcels);
    printf("check delivered %llu\n", hDelivered);
    printf("check parents %llu\n", hParent);
    printf("check roadtime %llu\n", hTime);
    printf("check roadused %llu\n", hUsed);
    printf("check districts %llu\n", hDist);
    cudaFree(jn);
    cudaFree(rd);
    cudaFree(ds);
    return 0;
}
