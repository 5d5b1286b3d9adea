/**
 * Progressive photon mapping in a small Cornell-like box.
 *
 *  - eye pass:      one hit point per pixel
 *  - photon pass:   photons are traced from the ceiling light and stored at
 *                   every diffuse bounce
 *  - hash grid:     photons are sorted by cell hash (bitonic sort), the cell
 *                   ranges are derived from the sorted keys
 *  - gather:        hit points collect photons within their radius, and shrink it
 *
 * The photon order after the sort is total (hash, slot), hence the float sums
 * are reproducible.
 */
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <vector>

#define CHECK_CUDA(call)                                                              \
    {                                                                                 \
        const cudaError_t status = call;                                              \
        if (status != cudaSuccess) {                                                  \
            fprintf(stderr, "CUDA failure '%s' at %s:%d\n", cudaGetErrorString(status), \
                    __FILE__, __LINE__);                                              \
            exit(1);                                                                  \
        }                                                                             \
    }

#define HD __host__ __device__ __forceinline__

struct Vec3 {
    float x, y, z;
    Vec3() = default;
    HD Vec3(float a, float b, float c) : x(a), y(b), z(c) {}
    HD Vec3 operator+(const Vec3& o) const { return Vec3(x + o.x, y + o.y, z + o.z); }
    HD Vec3 operator-(const Vec3& o) const { return Vec3(x - o.x, y - o.y, z - o.z); }
    HD Vec3 operator*(const Vec3& o) const { return Vec3(x * o.x, y * o.y, z * o.z); }
    HD Vec3 operator*(float s) const { return Vec3(x * s, y * s, z * s); }
    HD Vec3& operator+=(const Vec3& o) { x += o.x; y += o.y; z += o.z; return *this; }
    HD float dot(const Vec3& o) const { return x * o.x + y * o.y + z * o.z; }
    HD float max3() const { return fmaxf(x, fmaxf(y, z)); }
    HD Vec3 unit() const { return *this * (1.0f / sqrtf(dot(*this))); }
};

struct Photon {
    Vec3     pos;
    Vec3     dir;
    Vec3     power;
    short    cell[3];
    short    bounce;
    uint32_t hash;
};

struct HitPoint {
    Vec3  pos;
    Vec3  normal;
    Vec3  albedo;
    Vec3  flux;
    float radius2;
    float accumulated;    // photons, fractional after the radius reduction
    int   found;          // in the last pass
    int   surface;

    __device__ void absorb(const Vec3& gathered, int n)
    {
        const float alpha = 0.7f;
        if (n > 0) {
            float total = accumulated + n;
            float keep  = (accumulated + alpha * n) / total;
            radius2 *= keep;
            flux = (flux + gathered * albedo) * keep;
            accumulated += alpha * n;
        }
        found = n;
    }
};

struct KeyIndex {
    uint32_t key;
    uint32_t idx;
};

struct CellRange {
    int begin, end;
};

// ------------------------------------------------------------------ constants

static const int   WIDTH = 640, HEIGHT = 480;
static const int   LOG_PHOTONS = 20;             // stored photon slots
static const int   MAX_STORED  = 2;              // per emitted photon
static const int   TABLE_BITS  = 18;
static const float START_RADIUS = 0.02f;
static const int   SORT_TILE   = 1024;           // keys per block in the shared passes
static const uint32_t NO_PHOTON = 0xffffffffu;

// ------------------------------------------------------------------ scene

struct Hit {
    float t;
    Vec3  normal, albedo;
    int   surface;
    bool  mirror;
};

__device__ static bool hitSphere(const Vec3& o, const Vec3& d, const Vec3& c, float r, float& t)
{
    Vec3 oc = o - c;
    float b = oc.dot(d), q = oc.dot(oc) - r * r, disc = b * b - q;
    if (disc < 0.f) return false;
    float s = sqrtf(disc);
    float t0 = -b - s;
    if (t0 < 1e-4f) t0 = -b + s;
    if (t0 < 1e-4f || t0 >= t) return false;
    t = t0;
    return true;
}

__device__ static Hit intersect(const Vec3& o, const Vec3& d)
{
    Hit h;
    h.t = 1e30f;
    h.surface = -1;
    h.mirror = false;
    h.albedo = Vec3(0.7f, 0.7f, 0.7f);
    h.normal = Vec3(0, 0, 0);

    const float oo[3] = {o.x, o.y, o.z}, dd[3] = {d.x, d.y, d.z};
    for (int a = 0; a < 3; ++a) {
        if (fabsf(dd[a]) < 1e-9f) continue;
        float t = ((dd[a] > 0.f ? 1.f : 0.f) - oo[a]) / dd[a];
        if (t < 1e-4f || t >= h.t) continue;
        float s = dd[a] > 0.f ? -1.f : 1.f;
        h.t = t;
        h.surface = 2 * a + (dd[a] > 0.f);
        h.normal = Vec3(a == 0 ? s : 0.f, a == 1 ? s : 0.f, a == 2 ? s : 0.f);
    }
    if (h.surface == 0) h.albedo = Vec3(0.75f, 0.2f, 0.2f);
    if (h.surface == 1) h.albedo = Vec3(0.2f, 0.3f, 0.75f);

    const Vec3 c0(0.27f, 0.18f, 0.6f), c1(0.72f, 0.2f, 0.35f);
    if (hitSphere(o, d, c0, 0.18f, h.t)) {
        h.surface = 6; h.mirror = true;
        h.normal = (o + d * h.t - c0).unit();
    }
    if (hitSphere(o, d, c1, 0.2f, h.t)) {
        h.surface = 7; h.mirror = false;
        h.albedo = Vec3(0.5f, 0.75f, 0.4f);
        h.normal = (o + d * h.t - c1).unit();
    }
    return h;
}

struct Rng {
    uint32_t s;
    __device__ Rng(uint32_t a, uint32_t b) : s(a * 9781u + b * 6271u + 1u) { next(); next(); }
    __device__ uint32_t next()
    {
        s = s * 747796405u + 2891336453u;
        uint32_t w = ((s >> ((s >> 28) + 4)) ^ s) * 277803737u;
        return (w >> 22) ^ w;
    }
    __device__ float uniform() { return (next() >> 8) * (1.f / 16777216.f); }
};

__device__ static Vec3 cosineSample(const Vec3& n, Rng& rng)
{
    float u = rng.uniform(), v = rng.uniform() * 6.2831853f, r = sqrtf(u);
    Vec3 t = fabsf(n.x) > 0.5f ? Vec3(0, 1, 0) : Vec3(1, 0, 0);
    t = (t - n * t.dot(n)).unit();
    Vec3 b(n.y * t.z - n.z * t.y, n.z * t.x - n.x * t.z, n.x * t.y - n.y * t.x);
    return (t * (r * cosf(v)) + b * (r * sinf(v)) + n * sqrtf(1.f - u)).unit();
}

__device__ static uint32_t cellHash(int x, int y, int z)
{
    uint32_t h = uint32_t(x) * 73856093u ^ uint32_t(y) * 19349663u ^ uint32_t(z) * 83492791u;
    return (h ^ (h >> 15)) & ((1u << TABLE_BITS) - 1);
}

// ------------------------------------------------------------------ kernels

__global__ void eyePass(HitPoint* hits, int w, int h, float radius)
{
    int px = blockIdx.x * blockDim.x + threadIdx.x;
    int py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= w || py >= h) return;

    HitPoint hp;
    Vec3 o(0.5f, 0.5f, 0.02f);
    Vec3 d = Vec3((px + 0.5f - w * 0.5f) / h * 1.2f, (h * 0.5f - py - 0.5f) / h * 1.2f, 0.8f).unit();
    Hit hit = intersect(o, d);
    for (int bounce = 0; hit.mirror && bounce < 4; ++bounce) {
        o = o + d * hit.t;
        d = d - hit.normal * (2.f * d.dot(hit.normal));
        hit = intersect(o, d);
    }
    hp.pos = o + d * hit.t;
    hp.normal = hit.normal;
    hp.albedo = hit.albedo;
    hp.flux = Vec3(0, 0, 0);
    hp.radius2 = radius * radius;
    hp.accumulated = 0.f;
    hp.found = 0;
    hp.surface = hit.surface;
    hits[py * w + px] = hp;
}

__global__ void emitPhotons(Photon* photons, KeyIndex* keys, int emitted, int pass, float invCell)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= emitted) return;

    Rng rng(i, pass);
    Vec3 o(0.4f + 0.2f * rng.uniform(), 0.999f, 0.4f + 0.2f * rng.uniform());
    Vec3 d = cosineSample(Vec3(0, -1, 0), rng);
    Vec3 power(1.f, 0.95f, 0.85f);
    int stored = 0;

    for (int event = 0; event < 6 && stored < MAX_STORED; ++event) {
        Hit hit = intersect(o, d);
        o = o + d * hit.t;
        if (hit.mirror) {
            d = d - hit.normal * (2.f * d.dot(hit.normal));
            continue;
        }
        int slot = i * MAX_STORED + stored;
        Photon& ph = photons[slot];
        ph.pos = o;
        ph.dir = d;
        ph.power = power;
        ph.cell[0] = short(floorf(o.x * invCell));
        ph.cell[1] = short(floorf(o.y * invCell));
        ph.cell[2] = short(floorf(o.z * invCell));
        ph.bounce = short(event);
        ph.hash = cellHash(ph.cell[0], ph.cell[1], ph.cell[2]);
        keys[slot] = KeyIndex{ph.hash, uint32_t(slot)};
        ++stored;

        float survive = hit.albedo.max3();          // Russian roulette
        if (rng.uniform() >= survive) break;
        power = power * hit.albedo * (1.f / survive);
        d = cosineSample(hit.normal, rng);
    }
    for (; stored < MAX_STORED; ++stored) {
        int slot = i * MAX_STORED + stored;
        keys[slot].key = NO_PHOTON;
        keys[slot].idx = uint32_t(slot);
    }
}

HD bool keyLess(const KeyIndex& a, const KeyIndex& b)
{
    return a.key < b.key || (a.key == b.key && a.idx < b.idx);
}

__global__ void bitonicGlobal(KeyIndex* data, int k, int j)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int i = 2 * t - (t & (j - 1));
    KeyIndex a = data[i], b = data[i + j];
    bool ascending = (i & k) == 0;
    if (keyLess(b, a) == ascending) {
        data[i] = b;
        data[i + j] = a;
    }
}

__global__ void bitonicShared(KeyIndex* data, int kFrom, int kTo, int jStart)
{
    __shared__ KeyIndex tile[SORT_TILE];
    int base = blockIdx.x * SORT_TILE;
    tile[threadIdx.x] = data[base + threadIdx.x];
    tile[threadIdx.x + SORT_TILE / 2] = data[base + threadIdx.x + SORT_TILE / 2];

    for (int k = kFrom; k <= kTo; k <<= 1) {
        for (int j = min(k >> 1, jStart); j > 0; j >>= 1) {
            __syncthreads();
            int i = 2 * threadIdx.x - (threadIdx.x & (j - 1));
            KeyIndex a = tile[i], b = tile[i + j];
            bool ascending = ((base + i) & k) == 0;
            if (keyLess(b, a) == ascending) {
                tile[i] = b;
                tile[i + j] = a;
            }
        }
    }
    __syncthreads();
    data[base + threadIdx.x] = tile[threadIdx.x];
    data[base + threadIdx.x + SORT_TILE / 2] = tile[threadIdx.x + SORT_TILE / 2];
}

__global__ void reorderAndIndex(const Photon* in, Photon* out, const KeyIndex* keys, CellRange* table, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    KeyIndex k = keys[i];
    if (k.key == NO_PHOTON) return;
    out[i] = in[k.idx];
    if (i == 0 || keys[i - 1].key != k.key) table[k.key].begin = i;
    if (i == n - 1 || keys[i + 1].key != k.key) table[k.key].end = i + 1;
}

__global__ void gatherFlux(HitPoint* hits, int n, const Photon* __restrict__ photons,
                           const CellRange* __restrict__ table, float cellSize)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;

    HitPoint hp = hits[i];
    float r = sqrtf(hp.radius2), inv = 1.f / cellSize;
    int x0 = int(floorf((hp.pos.x - r) * inv)), x1 = int(floorf((hp.pos.x + r) * inv));
    int y0 = int(floorf((hp.pos.y - r) * inv)), y1 = int(floorf((hp.pos.y + r) * inv));
    int z0 = int(floorf((hp.pos.z - r) * inv)), z1 = int(floorf((hp.pos.z + r) * inv));

    Vec3 sum(0, 0, 0);
    int count = 0;
    for (int z = z0; z <= z1; ++z)
        for (int y = y0; y <= y1; ++y)
            for (int x = x0; x <= x1; ++x) {
                CellRange range = table[cellHash(x, y, z)];
                for (int k = range.begin; k < range.end; ++k) {
                    const Photon& ph = photons[k];
                    if (ph.cell[0] != x || ph.cell[1] != y || ph.cell[2] != z) continue;   // hash collision
                    Vec3 d = ph.pos - hp.pos;
                    if (d.dot(d) > hp.radius2) continue;
                    if (ph.dir.dot(hp.normal) >= 0.f) continue;
                    sum += ph.power;
                    ++count;
                }
            }
    hp.absorb(sum, count);
    hits[i] = hp;
}

// ------------------------------------------------------------------ host

static void sortPhotons(KeyIndex* keys, int n)
{
    const int blocks = n / SORT_TILE, threads = SORT_TILE / 2;
    bitonicShared<<<blocks, threads>>>(keys, 2, SORT_TILE, SORT_TILE / 2);
    for (int k = SORT_TILE * 2; k <= n; k <<= 1) {
        for (int j = k >> 1; j >= SORT_TILE; j >>= 1)
            bitonicGlobal<<<n / 2 / 256, 256>>>(keys, k, j);
        bitonicShared<<<blocks, threads>>>(keys, k, k, SORT_TILE / 2);
    }
}

int main(int argc, char** argv)
{
    int passes = argc > 1 ? atoi(argv[1]) : 8;
    int logn   = argc > 2 ? atoi(argv[2]) : LOG_PHOTONS;
    int w      = argc > 3 ? atoi(argv[3]) : WIDTH;
    int h      = argc > 4 ? atoi(argv[4]) : HEIGHT;

    const int   slots = 1 << logn, emitted = slots / MAX_STORED, pixels = w * h;
    const float cell  = 2.f * START_RADIUS;

    Photon *photons, *sorted;
    HitPoint* hits;
    KeyIndex* keys;
    CellRange* table;
    CHECK_CUDA(cudaMalloc(&photons, slots * sizeof(Photon)));
    CHECK_CUDA(cudaMalloc(&sorted, slots * sizeof(Photon)));
    CHECK_CUDA(cudaMalloc(&keys, slots * sizeof(KeyIndex)));
    CHECK_CUDA(cudaMalloc(&hits, pixels * sizeof(HitPoint)));
    CHECK_CUDA(cudaMalloc(&table, sizeof(CellRange) << TABLE_BITS));

    cudaEvent_t begin, end;
    CHECK_CUDA(cudaEventCreate(&begin));
    CHECK_CUDA(cudaEventCreate(&end));

    dim3 tile(16, 16), grid((w + 15) / 16, (h + 15) / 16);
    for (int pass = -1; pass < passes; ++pass) {
        if (pass <= 0) {
            if (pass == 0) CHECK_CUDA(cudaEventRecord(begin));
            eyePass<<<grid, tile>>>(hits, w, h, START_RADIUS);
        }
        emitPhotons<<<(emitted + 127) / 128, 128>>>(photons, keys, emitted, pass < 0 ? 0 : pass, 1.f / cell);
        sortPhotons(keys, slots);
        CHECK_CUDA(cudaMemsetAsync(table, 0, sizeof(CellRange) << TABLE_BITS));
        reorderAndIndex<<<(slots + 255) / 256, 256>>>(photons, sorted, keys, table, slots);
        gatherFlux<<<(pixels + 127) / 128, 128>>>(hits, pixels, sorted, table, cell);
        CHECK_CUDA(cudaGetLastError());
    }
    CHECK_CUDA(cudaEventRecord(end));
    CHECK_CUDA(cudaEventSynchronize(end));
    float ms = 0.f;
    CHECK_CUDA(cudaEventElapsedTime(&ms, begin, end));

    std::vector<HitPoint> result(pixels);
    std::vector<Photon> map(slots);
    std::vector<KeyIndex> order(slots);
    CHECK_CUDA(cudaMemcpy(result.data(), hits, pixels * sizeof(HitPoint), cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaMemcpy(map.data(), sorted, slots * sizeof(Photon), cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaMemcpy(order.data(), keys, slots * sizeof(KeyIndex), cudaMemcpyDeviceToHost));

    long long red = 0, green = 0, blue = 0, radius = 0, found = 0, visible[8] = {0};
    for (const HitPoint& p : result) {
        float scale = 1.f / (3.14159265f * p.radius2 * emitted * passes);
        red   += llroundf(p.flux.x * scale * 1000.f);
        green += llroundf(p.flux.y * scale * 1000.f);
        blue  += llroundf(p.flux.z * scale * 1000.f);
        radius += llroundf(sqrtf(p.radius2) * 1e6f);
        found += p.found;
        if (p.surface >= 0) visible[p.surface]++;
    }
    long long stored = 0, unsorted = 0, power = 0, secondary = 0;
    for (int i = 0; i < slots; ++i) {
        if (i && keyLess(order[i], order[i - 1])) ++unsorted;
        if (order[i].key == NO_PHOTON) continue;
        ++stored;
        power += llroundf(map[i].power.y * 100.f);
        secondary += map[i].bounce > 0;
    }
    printf("check radiance %lld,%lld,%lld\n", red, green, blue);
    printf("check radius %lld\n", radius);
    printf("check photons_found %lld\n", found);
    printf("check photons_stored %lld\n", stored);
    printf("check secondary %lld\n", secondary);
    printf("check power %lld\n", power);
    printf("check unsorted %lld\n", unsorted);
    printf("check sphere_pixels %lld\n", visible[7]);
    printf("time_ms %.3f\n", ms);

    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    cudaFree(photons); cudaFree(sorted); cudaFree(keys); cudaFree(hits); cudaFree(table);
    return 0;
}
