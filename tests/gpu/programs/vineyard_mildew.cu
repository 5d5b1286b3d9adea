/* vineyard_mildew.cu
 *
 * Spread of downy mildew between vines on an irregular neighbour graph (rows, gaps, slopes and
 * a few long-distance links along tractor routes). Two vine buffers are used in turn: each day
 * reads the old one and writes the new one. The graph is CSR, in-edges per vine.
 */
#include <stdio.h>
#include <stdlib.h>
#include <stdint.h>
#include <string.h>
#include <math.h>
#include <cuda_runtime.h>

#define CHECK(call)                                                              \
    do {                                                                         \
        cudaError_t status_ = (call);                                            \
        if (status_ != cudaSuccess) {                                            \
            fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__,                    \
                    cudaGetErrorString(status_));                                \
            exit(EXIT_FAILURE);                                                  \
        }                                                                        \
    } while (0)

#define SECTORS 16
#define VINES_PER_PARCEL 180     /* mean; parcels differ in size */
#define MAX_DEGREE 13

enum { HEALTHY = 0, INCUBATING = 1, SPORULATING = 2, DEFOLIATED = 3 };

typedef struct {
    float x, y;              /* m */
    float leafArea;          /* m2 */
    float lesionArea;        /* m2 */
    float sporangia;         /* 1e6 per vine */
    float fungicide;         /* residue, kg/ha equivalent */
    double gdd;              /* growing degree days, base 10 C */
    uint32_t parcel;
    uint16_t incubationHours;
    uint16_t cultivar;
    uint8_t state;
    uint8_t age;
    uint8_t slopeSector;
    uint8_t sprays;
} Vine;

typedef struct {
    uint32_t from;
    float distance;
    float coupling;
    uint8_t sector;          /* direction of the source as seen from the target */
    uint8_t kind;            /* 0 canopy contact, 1 across the row, 2 tractor route */
    uint16_t barrier;        /* hedge height, cm */
} Edge;

typedef struct {
    uint32_t firstVine, endVine;
    float elevation;
    float leafWetness;       /* h per day */
    float temperature;
    float budget;            /* for spraying */
    uint32_t infected;       /* counted by atomics */
    uint32_t lesionMm2;
    uint16_t daysSinceSpray;
    uint8_t organic;
    uint8_t alarm;
} Parcel;

typedef struct {
    float windSpeed;
    float rain;
    float meanTemp;
    float sectorWeight[SECTORS];
} Weather;

static __host__ __device__ uint32_t rnd(uint32_t a, uint32_t b)
{
    uint32_t v = a * 0x9e3779b1u ^ (b + 0x85ebca6bu) * 0xc2b2ae35u;
    v ^= v >> 15; v *= 0x2c1b3c6du;
    v ^= v >> 12; v *= 0x297a2d39u;
    return v ^ (v >> 15);
}

static __host__ __device__ int degreeOf(uint32_t v)
{
    uint32_t h = rnd(v, 11u);
    return 4 + (int)(h % 7u) + (h >> 16) % 29u / 26u * 3;       /* 4..10, a few 7..13 */
}

__global__ void plantVines(Vine *vines, int n, const uint32_t *parcelOf, int rowLength)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n) return;
    uint32_t h = rnd(v, 3u);
    Vine w;
    memset(&w, 0, sizeof w);
    w.x = 1.1f * (v % rowLength) + 0.3f * (h & 255u) / 255.0f;
    w.y = 2.2f * (v / rowLength) + 0.2f * (h >> 8 & 255u) / 255.0f;
    w.leafArea = 0.4f + 0.4f * (h >> 16 & 255u) / 255.0f;
    w.parcel = parcelOf[v];
    w.cultivar = (uint16_t)(rnd(w.parcel, 5u) % 24u);
    w.age = (uint8_t)(3 + rnd(w.parcel, 6u) % 50u);
    w.slopeSector = (uint8_t)(rnd(w.parcel, 7u) % SECTORS);
    if (h % 157u == 0u) {                                       /* primary infection */
        w.state = SPORULATING;
        w.lesionArea = 0.02f;
        w.sporangia = 1.0f;
    }
    vines[v] = w;
}

__global__ void linkVines(Edge *edges, const uint32_t *start, const Vine *vines, int n, int rowLength)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n) return;
    uint32_t e0 = start[v], e1 = start[v + 1];
    for (uint32_t e = e0; e < e1; ++e) {
        uint32_t h = rnd(v, 100u + (e - e0));
        int k = (int)(e - e0);
        long long u;
        Edge edge;
        if (k < 2) { u = (long long)v + (k == 0 ? 1 : -1); edge.kind = 0; }
        else if (h % 23u == 0u) { u = (long long)v + (int)(h >> 5 & 0x3fffu) - 8192; edge.kind = 2; }
        else {
            u = (long long)v + ((h & 1u) ? rowLength : -rowLength) * (long long)(1 + (h >> 1) % 2u) + (int)(h >> 4) % 5 - 2;
            edge.kind = 1;
        }
        if (u < 0) u += n;
        if (u >= n) u -= n;
        if (u < 0 || u >= n || u == v) u = (v + 1) % n;
        float dx = vines[u].x - vines[v].x, dy = vines[u].y - vines[v].y;
        edge.from = (uint32_t)u;
        edge.distance = sqrtf(dx * dx + dy * dy) + 0.2f;
        edge.coupling = edge.kind == 0 ? 1.0f : edge.kind == 1 ? 0.45f : 0.15f;
        int sector = (int)((atan2f(dy, dx) + 3.14159265f) * (SECTORS / 6.2831853f));
        edge.sector = (uint8_t)(sector < 0 ? 0 : sector >= SECTORS ? SECTORS - 1 : sector);
        edge.barrier = (uint16_t)((h >> 20) % 9u == 0u ? 120u + (h >> 24) : 0u);
        edges[e] = edge;
    }
}

/* Microclimate and treatment decision; one thread per parcel walks a sample of its vines. */
__global__ void manageParcels(Parcel *parcels, int nParcels, const Vine *vines, Weather wx, int day)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= nParcels) return;
    Parcel pc = parcels[p];
    pc.temperature = wx.meanTemp - 0.0065f * pc.elevation + 0.01f * (float)(rnd(p, 900u + day) & 127u);
    pc.leafWetness = fminf(24.0f, 0.6f * pc.leafWetness + 1.2f * wx.rain + 0.004f * pc.elevation);
    pc.daysSinceSpray++;
    pc.alarm = 0;
    uint32_t size = pc.endVine - pc.firstVine;
    if (pc.infected * 50u > size) pc.alarm = 1;
    else {
        float threshold = 0.0012f * size, seen = 0.0f;
        for (uint32_t v = pc.firstVine; v < pc.endVine; v += 7) {
            if (vines[v].state == DEFOLIATED) continue;
            seen += vines[v].lesionArea / (vines[v].leafArea + 0.01f);
            if (seen > threshold) { pc.alarm = 1; break; }
        }
    }
    uint16_t interval = pc.organic ? 6 : 11;
    float cost = (pc.organic ? 0.6f : 1.0f) * 0.01f * size;
    if (pc.alarm && pc.daysSinceSpray >= interval && pc.budget > cost) {
        pc.budget -= cost;
        pc.daysSinceSpray = 0;
    }
    pc.infected = 0;
    pc.lesionMm2 = 0;
    parcels[p] = pc;
}

__global__ void advanceVines(Vine *__restrict__ next, const Vine *__restrict__ cur, int n,
                             const uint32_t *__restrict__ start, const Edge *__restrict__ edges,
                             const Parcel *__restrict__ parcels, Weather wx, int day)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n) return;
    Vine w = cur[v];
    const Parcel *pc = &parcels[w.parcel];
    float warm = pc->temperature - 10.0f;
    if (warm > 0.0f) w.gdd += warm;
    w.fungicide *= 0.86f - 0.02f * fminf(wx.rain, 10.0f);
    if (pc->daysSinceSpray == 0) {
        w.fungicide += pc->organic ? 0.5f : 1.0f;
        w.sprays++;
    }
    if (w.state == DEFOLIATED) {                                /* bare vines neither catch nor spread */
        w.sporangia = 0.0f;
        next[v] = w;
        return;
    }
    w.leafArea += 0.0009f * fmaxf(warm, 0.0f) * (1.0f - w.leafArea / (2.5f + 0.02f * w.age));

    if (w.state == HEALTHY && pc->leafWetness > 2.0f) {
        float dose = 0.0f;
        for (uint32_t e = start[v], last = start[v + 1]; e < last; ++e) {
            const Vine *src = &cur[edges[e].from];
            if (src->state != SPORULATING) continue;
            float reach = 1.0f + wx.windSpeed * wx.sectorWeight[edges[e].sector];
            float shade = edges[e].barrier ? 0.5f : 1.0f;
            dose += src->sporangia * edges[e].coupling * shade * expf(-edges[e].distance / (2.0f * reach));
            if (dose > 40.0f) break;                            /* saturated */
        }
        float susceptible = 0.4f + 0.05f * (w.cultivar % 12);
        float prob = 1.0f - expf(-0.3f * dose * susceptible * pc->leafWetness / (1.0f + 6.0f * w.fungicide));
        if ((rnd(v, 5000u + day) >> 8) * (1.0f / 16777216.0f) < prob) {
            w.state = INCUBATING;
            w.incubationHours = 0;
            w.lesionArea = 0.001f;
        }
    } else if (w.state == INCUBATING) {
        w.incubationHours += (uint16_t)(24.0f * fminf(1.0f, fmaxf(0.1f, warm / 12.0f)));
        if (w.incubationHours >= 72) w.state = SPORULATING;
    } else if (w.state == SPORULATING) {
        float growth = 0.35f * fmaxf(warm, 0.0f) / 12.0f / (1.0f + 3.0f * w.fungicide);
        w.lesionArea += growth * w.lesionArea * (1.0f - w.lesionArea / w.leafArea);
        w.sporangia = 0.5f * w.sporangia + 4.0f * w.lesionArea * fminf(1.0f, pc->leafWetness / 8.0f);
        if (w.lesionArea > 0.7f * w.leafArea) w.state = DEFOLIATED;
        if (w.lesionArea < 0.0008f) { w.state = HEALTHY; w.sporangia = 0.0f; }
    }
    next[v] = w;
}

/* One block per parcel: shared-memory reduction, then one pair of atomics on the season's counters. */
__global__ void surveyParcels(Parcel *parcels, int nParcels, const Vine *vines, unsigned long long *season)
{
    __shared__ uint32_t sick[128], area[128];
    int p = blockIdx.x;
    uint32_t count = 0, mm2 = 0;
    for (uint32_t v = parcels[p].firstVine + threadIdx.x; v < parcels[p].endVine; v += blockDim.x) {
        if (vines[v].state == HEALTHY) continue;
        count++;
        mm2 += (uint32_t)(vines[v].lesionArea * 1.0e6f);
    }
    sick[threadIdx.x] = count;
    area[threadIdx.x] = mm2;
    __syncthreads();
    for (int half = 64; half > 0; half >>= 1) {
        if (threadIdx.x < half) {
            sick[threadIdx.x] += sick[threadIdx.x + half];
            area[threadIdx.x] += area[threadIdx.x + half];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0 && p < nParcels) {
        parcels[p].infected = sick[0];
        parcels[p].lesionMm2 = area[0];
        atomicAdd(&season[0], (unsigned long long)sick[0]);
        atomicAdd(&season[1], (unsigned long long)area[0]);
    }
}

static Weather weatherOf(int day)
{
    Weather w;
    uint32_t h = rnd(day, 42u);
    w.windSpeed = 0.5f + (h & 63u) * 0.06f;
    w.rain = (h >> 6) % 3u == 0u ? (float)((h >> 10) % 120u) * 0.1f : 0.4f;
    w.meanTemp = 17.0f + 5.0f * sinf(0.09f * day) + (float)((h >> 20) & 15u) * 0.2f;
    for (int s = 0; s < SECTORS; ++s) w.sectorWeight[s] = 0.5f + 0.5f * cosf(0.3926991f * (s - (int)(h >> 28)));
    return w;
}

static void day_step(Vine **cur, Vine **next, int n, const uint32_t *start, const Edge *edges, Parcel *parcels,
                     int nParcels, unsigned long long *season, int day)
{
    Weather wx = weatherOf(day);
    manageParcels<<<(nParcels + 63) / 64, 64>>>(parcels, nParcels, *cur, wx, day);
    advanceVines<<<(n + 255) / 256, 256>>>(*next, *cur, n, start, edges, parcels, wx, day);
    surveyParcels<<<nParcels, 128>>>(parcels, nParcels, *next, season);
    CHECK(cudaGetLastError());
    Vine *t = *cur; *cur = *next; *next = t;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 5000000;
    if (n < 2 || n > 50000000) { fprintf(stderr, "usage: %s [vines >= 2]\n", argv[0]); return 1; }
    int rowLength = (int)sqrt((double)n) + 1, nParcels = 0, maxParcels = n / 60 + 2;

    uint32_t *hStart = (uint32_t *)malloc((n + 1) * sizeof(uint32_t));
    uint32_t *hParcelOf = (uint32_t *)malloc(n * sizeof(uint32_t));
    Parcel *hParcels = (Parcel *)calloc(maxParcels, sizeof(Parcel));
    hStart[0] = 0;
    for (int v = 0; v < n; ++v) hStart[v + 1] = hStart[v] + degreeOf(v);
    for (uint32_t first = 0; first < (uint32_t)n; ++nParcels) {
        Parcel *p = &hParcels[nParcels];
        uint32_t h = rnd(nParcels, 77u), size = 60u + h % (2u * (VINES_PER_PARCEL - 60u));
        p->firstVine = first;
        p->endVine = first + size < (uint32_t)n ? first + size : (uint32_t)n;
        p->elevation = 80.0f + (h >> 24);
        p->leafWetness = 6.0f;
        p->budget = 2.0f + (h >> 16 & 63u) * 0.3f;
        p->organic = (h >> 8) % 5u == 0u;
        p->daysSinceSpray = (uint16_t)(h >> 12 & 15u);
        for (uint32_t v = first; v < p->endVine; ++v) hParcelOf[v] = nParcels;
        first = p->endVine;
    }

    Vine *cur, *next;
    Edge *edges;
    Parcel *parcels;
    uint32_t *start, *parcelOf;
    unsigned long long *season, total[2];
    size_t vineBytes = (size_t)n * sizeof(Vine), nEdges = hStart[n];
    CHECK(cudaMalloc(&cur, vineBytes));
    CHECK(cudaMalloc(&next, vineBytes));
    CHECK(cudaMalloc(&edges, nEdges * sizeof(Edge)));
    CHECK(cudaMalloc(&parcels, nParcels * sizeof(Parcel)));
    CHECK(cudaMalloc(&start, (n + 1) * sizeof(uint32_t)));
    CHECK(cudaMalloc(&parcelOf, n * sizeof(uint32_t)));
    CHECK(cudaMalloc(&season, sizeof total));
    CHECK(cudaMemcpy(start, hStart, (n + 1) * sizeof(uint32_t), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(parcelOf, hParcelOf, n * sizeof(uint32_t), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(parcels, hParcels, nParcels * sizeof(Parcel), cudaMemcpyHostToDevice));
    CHECK(cudaMemset(season, 0, sizeof total));
    plantVines<<<(n + 255) / 256, 256>>>(cur, n, parcelOf, rowLength);
    linkVines<<<(n + 255) / 256, 256>>>(edges, start, cur, n, rowLength);
    CHECK(cudaDeviceSynchronize());

    const int warm = 2, days = 30;
    cudaEvent_t t0, t1;
    CHECK(cudaEventCreate(&t0));
    CHECK(cudaEventCreate(&t1));
    for (int d = 0; d < warm + days; ++d) {
        if (d == warm) CHECK(cudaEventRecord(t0));
        day_step(&cur, &next, n, start, edges, parcels, nParcels, season, d);
    }
    CHECK(cudaEventRecord(t1));
    CHECK(cudaEventSynchronize(t1));
    float ms;
    CHECK(cudaEventElapsedTime(&ms, t0, t1));

    Vine *out = (Vine *)malloc(vineBytes);
    CHECK(cudaMemcpy(out, cur, vineBytes, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(hParcels, parcels, nParcels * sizeof(Parcel), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(total, season, sizeof total, cudaMemcpyDeviceToHost));
    double sum = 1e-2 * (double)total[0] + 1e-9 * (double)total[1];
    for (int v = 0; v < n; ++v)
        sum += out[v].state + 10.0 * out[v].lesionArea + out[v].leafArea + 1e-3 * out[v].gdd + out[v].sprays + out[v].fungicide;
    for (int p = 0; p < nParcels; ++p) sum += hParcels[p].budget + hParcels[p].infected + 0.1 * hParcels[p].leafWetness;
    printf("check %.6g\n", sum);
    printf("time_ms %.5f\n", ms / days);
    return 0;
}
