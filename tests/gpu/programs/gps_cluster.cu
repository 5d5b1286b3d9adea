// gps_cluster.cu - grid based k-nearest-neighbour statistics and density
// clustering (DBSCAN flavoured) of GPS fixes.
//
// Pipeline per pass:
//   project   : WGS84 -> local metric plane, cell index, histogram
//   scan      : exclusive prefix sum over the cell counters (one block)
//   scatter   : points into cell order
//   knn       : k nearest neighbours and eps-neighbourhood count, core flag
//   propagate : min-label sweeps between core points, two label slots
//   border    : border points inherit the label of a neighbouring core point

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <utility>
#include <vector>

#include <cuda_runtime.h>

static inline void cu(cudaError_t e, const char* where)
{
    if (e != cudaSuccess) {
        fprintf(stderr, "%s: %s\n", where, cudaGetErrorString(e));
        exit(2);
    }
}

constexpr int kNumPoints = 200000;
constexpr int kGrid = 334;                // cells per axis
constexpr int kCells = kGrid * kGrid;
constexpr int kEps = 300;                 // decimetres
constexpr int kMinPts = 12;
constexpr int kNN = 4;
constexpr int kSweeps = 8;
constexpr int kPasses = 25;

struct GpsFix {
    double lat;
    double lon;
    int64_t timestamp;
    float hdop;
    float speed;
    int32_t device;
    int16_t satellites;
    uint8_t quality;
    uint8_t provider;
};

struct GridPoint {
    float x;                   // decimetres, whole numbers
    float y;
    float weight;
    int32_t source;            // index of the fix
    int32_t cell;
    int32_t label[2];
    uint16_t neighbours;
    uint8_t core;
    uint8_t kind;              // 0 noise, 1 border, 2 core
};

struct KnnResult {
    float dist2[kNN];
    int32_t who[kNN];
    float density;
    int32_t cluster;
};

struct Frame {
    double lat0, lon0;
    double metersPerLat, metersPerLon;
};

__device__ int cellOf(float x, float y)
{
    int cx = min(max(static_cast<int>(x) / kEps, 0), kGrid - 1);
    int cy = min(max(static_cast<int>(y) / kEps, 0), kGrid - 1);
    return cy * kGrid + cx;
}

__device__ void toPlane(const GpsFix& f, const Frame& fr, float& x, float& y)
{
    x = static_cast<float>(rint((f.lon - fr.lon0) * fr.metersPerLon * 10.0));
    y = static_cast<float>(rint((f.lat - fr.lat0) * fr.metersPerLat * 10.0));
}

__global__ void projectKernel(const GpsFix* fixes, int n, Frame fr, int* cellCount)
{
    const int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        if (fixes[i].quality == 0) continue;            // no fix
        float x, y;
        toPlane(fixes[i], fr, x, y);
        atomicAdd(&cellCount[cellOf(x, y)], 1);
    }
}

__global__ void scanKernel(const int* count, int* start, int* cursor, int n)
{
    __shared__ int partial[1024];
    const int t = threadIdx.x;
    const int per = (n + 1023) / 1024;
    const int lo = min(t * per, n), hi = min(lo + per, n);
    int s = 0;
    for (int i = lo; i < hi; ++i) s += count[i];
    partial[t] = s;
    __syncthreads();
    for (int off = 1; off < 1024; off <<= 1) {
        int v = t >= off ? partial[t - off] : 0;
        __syncthreads();
        partial[t] += v;
        __syncthreads();
    }
    int run = partial[t] - s;
    for (int i = lo; i < hi; ++i) {
        start[i] = run;
        cursor[i] = run;
        run += count[i];
    }
    if (t == 1023) start[n] = partial[1023];
}

__global__ void scatterKernel(const GpsFix* fixes, int n, Frame fr, int* cursor, GridPoint* pts)
{
    const int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        if (fixes[i].quality == 0) continue;
        float x, y;
        toPlane(fixes[i], fr, x, y);
        const int c = cellOf(x, y);
        GridPoint g;
        g.x = x;
        g.y = y;
        g.weight = 1.0f / (1.0f + fixes[i].hdop);
        g.source = i;
        g.cell = c;
        g.label[0] = g.label[1] = i;
        g.neighbours = 0;
        g.core = 0;
        g.kind = 0;
        pts[atomicAdd(&cursor[c], 1)] = g;
    }
}

__global__ void knnKernel(GridPoint* pts, const int* start, KnnResult* knn)
{
    const int n = start[kCells];
    const int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        const float x = pts[i].x, y = pts[i].y;
        const int cx = pts[i].cell % kGrid, cy = pts[i].cell / kGrid;
        float best[kNN];
        int who[kNN];
#pragma unroll
        for (int k = 0; k < kNN; ++k) {
            best[k] = 1e12f;
            who[k] = -1;
        }
        int inside = 0;
        float wsum = 0.0f;
        for (int gy = max(cy - 1, 0); gy <= min(cy + 1, kGrid - 1); ++gy) {
            // the three cells of a row are contiguous in memory
            const int first = start[gy * kGrid + max(cx - 1, 0)];
            const int last = start[gy * kGrid + min(cx + 1, kGrid - 1) + 1];
            for (int j = first; j < last; ++j) {
                if (j == i) continue;
                const float dx = pts[j].x - x, dy = pts[j].y - y;
                float d2 = dx * dx + dy * dy;
                if (d2 <= static_cast<float>(kEps * kEps)) {
                    ++inside;
                    wsum += pts[j].weight;
                }
                int id = j;
#pragma unroll
                for (int k = 0; k < kNN; ++k)
                    if (d2 < best[k]) {
                        float td = best[k];
                        int ti = who[k];
                        best[k] = d2;
                        who[k] = id;
                        d2 = td;
                        id = ti;
                    }
            }
        }
        const int src = pts[i].source;
#pragma unroll
        for (int k = 0; k < kNN; ++k) {
            knn[src].dist2[k] = best[k];
            knn[src].who[k] = who[k];
        }
        knn[src].density = wsum;
        knn[src].cluster = -1;
        pts[i].neighbours = static_cast<uint16_t>(min(inside, 65535));
        pts[i].core = inside >= kMinPts;
        pts[i].kind = inside >= kMinPts ? 2 : 0;
    }
}

__global__ void propagateKernel(GridPoint* pts, const int* start, int from)
{
    const int n = start[kCells];
    const int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        if (!pts[i].core) continue;
        const float x = pts[i].x, y = pts[i].y;
        const int cx = pts[i].cell % kGrid, cy = pts[i].cell / kGrid;
        int lab = pts[i].label[from];
        for (int gy = max(cy - 1, 0); gy <= min(cy + 1, kGrid - 1); ++gy) {
            const int first = start[gy * kGrid + max(cx - 1, 0)];
            const int last = start[gy * kGrid + min(cx + 1, kGrid - 1) + 1];
            for (int j = first; j < last; ++j) {
                if (!pts[j].core) continue;
                const float dx = pts[j].x - x, dy = pts[j].y - y;
                if (dx * dx + dy * dy <= static_cast<float>(kEps * kEps))
                    lab = min(lab, pts[j].label[from]);
            }
        }
        pts[i].label[1 - from] = lab;
    }
}

__global__ void borderKernel(GridPoint* pts, const int* start, KnnResult* knn, int slot)
{
    const int n = start[kCells];
    const int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        if (pts[i].core) {
            knn[pts[i].source].cluster = pts[i].label[slot];
            continue;
        }
        if (pts[i].neighbours == 0) continue;
        const int cx = pts[i].cell % kGrid, cy = pts[i].cell / kGrid;
        int lab = INT32_MAX;
        for (int gy = max(cy - 1, 0); gy <= min(cy + 1, kGrid - 1); ++gy) {
            const int first = start[gy * kGrid + max(cx - 1, 0)];
            const int last = start[gy * kGrid + min(cx + 1, kGrid - 1) + 1];
            for (int j = first; j < last; ++j) {
                if (!pts[j].core) continue;
                const float dx = pts[j].x - pts[i].x, dy = pts[j].y - pts[i].y;
                if (dx * dx + dy * dy <= static_cast<float>(kEps * kEps))
                    lab = min(lab, pts[j].label[slot]);
            }
        }
        if (lab != INT32_MAX) {
            pts[i].kind = 1;
            knn[pts[i].source].cluster = lab;
        }
    }
}

struct Clusterer {
    GpsFix* fixes = nullptr;
    GridPoint* points = nullptr;
    KnnResult* knn = nullptr;
    int *count = nullptr, *start = nullptr, *cursor = nullptr;
    Frame frame{};

    void upload(const std::vector<GpsFix>& host, const Frame& f)
    {
        frame = f;
        cu(cudaMalloc(&fixes, host.size() * sizeof(GpsFix)), "alloc fixes");
        cu(cudaMalloc(&points, host.size() * sizeof(GridPoint)), "alloc points");
        cu(cudaMalloc(&knn, host.size() * sizeof(KnnResult)), "alloc knn");
        cu(cudaMalloc(&count, kCells * sizeof(int)), "alloc count");
        cu(cudaMalloc(&start, (kCells + 1) * sizeof(int)), "alloc start");
        cu(cudaMalloc(&cursor, kCells * sizeof(int)), "alloc cursor");
        cu(cudaMemset(points, 0, host.size() * sizeof(GridPoint)), "clear points");
        cu(cudaMemset(knn, 0, host.size() * sizeof(KnnResult)), "clear knn");
        cu(cudaMemcpy(fixes, host.data(), host.size() * sizeof(GpsFix), cudaMemcpyHostToDevice),
           "copy fixes");
    }

    void pass()
    {
        constexpr int block = 256;
        constexpr int blocks = 528;
        cu(cudaMemsetAsync(count, 0, kCells * sizeof(int)), "clear count");
        projectKernel<<<blocks, block>>>(fixes, kNumPoints, frame, count);
        scanKernel<<<1, 1024>>>(count, start, cursor, kCells);
        scatterKernel<<<blocks, block>>>(fixes, kNumPoints, frame, cursor, points);
        knnKernel<<<blocks, block>>>(points, start, knn);
        int from = 0;
        for (int s = 0; s < kSweeps; ++s) {
            propagateKernel<<<blocks, block>>>(points, start, from);
            from = 1 - from;
        }
        borderKernel<<<blocks, block>>>(points, start, knn, from);
    }

    void release()
    {
        for (void* p : {static_cast<void*>(fixes), static_cast<void*>(points), static_cast<void*>(knn),
                        static_cast<void*>(count), static_cast<void*>(start), static_cast<void*>(cursor)})
            cudaFree(p);
    }
};

static std::vector<GpsFix> makeFixes(const Frame& f)
{
    std::mt19937 gen(987654321u);
    auto uni = [&gen]() { return (gen() >> 5) * (1.0 / 134217728.0); };
    const double side = kGrid * kEps / 10.0 - 20.0;      // metres
    struct Hub { double x, y, sigma; };
    std::vector<Hub> hubs(150);
    for (auto& h : hubs) {
        h.x = 300.0 + uni() * (side - 600.0);
        h.y = 300.0 + uni() * (side - 600.0);
        h.sigma = 40.0 + 80.0 * uni();
    }
    std::vector<GpsFix> v(kNumPoints);
    for (int i = 0; i < kNumPoints; ++i) {
        double x, y;
        if (uni() < 0.7) {
            const Hub& h = hubs[gen() % hubs.size()];
            // sum of uniforms, close enough to a normal distribution
            double a = 0, b = 0;
            for (int k = 0; k < 4; ++k) {
                a += uni() - 0.5;
                b += uni() - 0.5;
            }
            x = h.x + 1.732 * a * h.sigma;
            y = h.y + 1.732 * b * h.sigma;
        } else {
            x = uni() * side;
            y = uni() * side;
        }
        x = std::min(std::max(x, 0.0), side);
        y = std::min(std::max(y, 0.0), side);
        GpsFix& g = v[i];
        g.lat = f.lat0 + y / f.metersPerLat;
        g.lon = f.lon0 + x / f.metersPerLon;
        g.timestamp = 1700000000000LL + 250LL * i;
        g.hdop = static_cast<float>(0.5 + 2.0 * uni());
        g.speed = static_cast<float>(20.0 * uni());
        g.device = static_cast<int32_t>(gen() % 5000);
        g.satellites = static_cast<int16_t>(4 + gen() % 12);
        g.quality = (gen() % 50) ? 1 : 0;
        g.provider = static_cast<uint8_t>(gen() % 3);
    }
    return v;
}

int main()
{
    Frame frame;
    frame.lat0 = 52.40;
    frame.lon0 = 13.20;
    frame.metersPerLat = 111132.95;
    frame.metersPerLon = 111319.49 * std::cos(52.40 * 3.14159265358979 / 180.0);

    const auto fixes = makeFixes(frame);
    Clusterer cl;
    cl.upload(fixes, frame);

    cl.pass();
    cu(cudaGetLastError(), "launch");
    cu(cudaDeviceSynchronize(), "warm-up");
    int total = 0;
    cu(cudaMemcpy(&total, cl.start + kCells, sizeof(int), cudaMemcpyDeviceToHost), "copy total");
    const int valid = static_cast<int>(
        std::count_if(fixes.begin(), fixes.end(), [](const GpsFix& f) { return f.quality != 0; }));
    if (total != valid) {
        fprintf(stderr, "binned %d of %d fixes\n", total, valid);
        return 1;
    }

    cudaEvent_t a, b;
    cu(cudaEventCreate(&a), "event");
    cu(cudaEventCreate(&b), "event");
    cu(cudaEventRecord(a), "record");
    for (int p = 0; p < kPasses; ++p) cl.pass();
    cu(cudaEventRecord(b), "record");
    cu(cudaEventSynchronize(b), "sync");
    float ms = 0.0f;
    cu(cudaEventElapsedTime(&ms, a, b), "elapsed");

    std::vector<GridPoint> pts(kNumPoints);
    std::vector<KnnResult> knn(kNumPoints);
    cu(cudaMemcpy(pts.data(), cl.points, kNumPoints * sizeof(GridPoint), cudaMemcpyDeviceToHost), "copy");
    cu(cudaMemcpy(knn.data(), cl.knn, kNumPoints * sizeof(KnnResult), cudaMemcpyDeviceToHost), "copy");

    long long core = 0, border = 0, neigh = 0, roots = 0, labelHash = 0;
    double dist = 0.0, density = 0.0;
    for (int i = 0; i < valid; ++i) {
        const GridPoint& p = pts[i];
        const KnnResult& k = knn[p.source];
        core += p.kind == 2;
        border += p.kind == 1;
        neigh += p.neighbours;
        if (k.cluster == p.source) ++roots;
        if (k.cluster >= 0) labelHash += (k.cluster % 9973) * 1LL;
        density += k.density;
        for (int q = 0; q < kNN; ++q)
            if (k.who[q] >= 0) dist += std::sqrt(static_cast<double>(k.dist2[q]));
    }
    printf("check points %d\n", total);
    printf("check core %lld\n", core);
    printf("check border %lld\n", border);
    printf("check neighbours %lld\n", neigh);
    printf("check roots %lld\n", roots);
    printf("check label_hash %lld\n", labelHash);
    printf("check knn_distance %.6e\n", dist);
    printf("check density %.3e\n", density);
    printf("time_ms %.5f\n", ms / kPasses);
    cu(cudaEventDestroy(a), "event");
    cu(cudaEventDestroy(b), "event");
    cl.release();
    return 0;
}
