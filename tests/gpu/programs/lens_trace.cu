// lens_trace.cu -- Monte Carlo tolerancing of a Cooke triplet.
// For every perturbed copy ("variant") of the lens a bundle of rays per field
// and colour is traced to the image plane and the spot quality is evaluated.
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace optics {

constexpr int kFields = 5, kColours = 3, kSurf = 9, kHist = 8;
constexpr float kWave[kColours] = {0.4861f, 0.5876f, 0.6563f};
constexpr double kFix = 1.0e6;

struct Sellmeier { float b[3], c[3]; };

struct Surface {
    float  curv, conic;     // 1/mm, -
    float  a4, a6;
    float  z;               // vertex position
    float  semi;            // clear semi aperture
    float2 decentre;
    int    glass;           // medium behind the surface, -1 air
    bool   stop;
    char   kind;            // 's' sphere, 'a' asphere, 'p' plane
};

struct Ray {
    float3         pos, dir;
    float          opl, weight;
    short          field;
    unsigned char  colour;
    unsigned char  status;  // 0 alive, 1 vignetted, 2 missed, 3 total reflection
    int            variant;
    float2         pupil;
};

struct Moments { long long sx, sy, sxx, syy; };

struct Spot {
    Moments m;
    int     n, lost;
    float2  centre;
    float   rms, merit;
    int     hist[kHist];
};
__constant__ Sellmeier cGlass[3];
__constant__ float cWave[kColours];

__host__ __device__ inline unsigned hash(unsigned x)
{
    x = (x ^ 61u) ^ (x >> 16); x *= 9u; x ^= x >> 4; x *= 0x27d4eb2du;
    return x ^ (x >> 15);
}

__device__ float refIndex(int glass, float um)
{
    if (glass < 0) return 1.0f;
    const Sellmeier &g = cGlass[glass];
    float w = um * um, n2 = 1.0f;
    for (int k = 0; k < 3; ++k) n2 += g.b[k] * w / (w - g.c[k]);
    return sqrtf(n2);
}

__device__ inline float sag(const Surface &s, float r2)
{
    float q = 1.0f - (1.0f + s.conic) * s.curv * s.curv * r2;
    if (q <= 0.0f) return 1.0e6f;
    return s.curv * r2 / (1.0f + sqrtf(q)) + r2 * r2 * (s.a4 + s.a6 * r2);
}

__device__ inline float slope(const Surface &s, float r2)  // d sag / d(r^2) * 2
{
    float q = fmaxf(1.0e-4f, 1.0f - (1.0f + s.conic) * s.curv * s.curv * r2);
    return s.curv / sqrtf(q) + r2 * (4.0f * s.a4 + 6.0f * s.a6 * r2);
}

// Moves the ray onto the surface and refracts it, returns the new status.
__device__ int cross(Ray &r, const Surface &s, float n1, float n2)
{
    float t = (s.z - r.pos.z) / r.dir.z, x, y, r2;
    const int iters = s.kind == 'p' ? 1 : (s.kind == 's' ? 4 : 8);
    for (int it = 0; it < iters; ++it) {
        x = r.pos.x + t * r.dir.x - s.decentre.x;
        y = r.pos.y + t * r.dir.y - s.decentre.y;
        r2 = x * x + y * y;
        float f = r.pos.z + t * r.dir.z - s.z - sag(s, r2);
        if (fabsf(f) > 1.0e4f) return 2;
        float g = r.dir.z - slope(s, r2) * (x * r.dir.x + y * r.dir.y);
        t -= f / g;
        if (fabsf(f) < 1.0e-6f) break;
    }
    x = r.pos.x + t * r.dir.x - s.decentre.x;
    y = r.pos.y + t * r.dir.y - s.decentre.y;
    r2 = x * x + y * y;
    r.pos = make_float3(r.pos.x + t * r.dir.x, r.pos.y + t * r.dir.y, r.pos.z + t * r.dir.z);
    r.opl += n1 * t;
    if (r2 > s.semi * s.semi) return 1;

    float k = slope(s, r2), nx = -k * x, ny = -k * y, inv = rsqrtf(nx * nx + ny * ny + 1.0f);
    nx *= inv; ny *= inv;
    float nz = inv, eta = n1 / n2;
    float ci = nx * r.dir.x + ny * r.dir.y + nz * r.dir.z;
    float d = 1.0f - eta * eta * (1.0f - ci * ci);
    if (d < 0.0f) return 3;
    float h = sqrtf(d) - eta * ci;
    r.dir = make_float3(eta * r.dir.x + h * nx, eta * r.dir.y + h * ny, eta * r.dir.z + h * nz);
    return 0;
}

__global__ void perturb(Surface *var, const Surface *nominal, int nvar, int step)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= nvar * kSurf) return;
    int v = i / kSurf, k = i % kSurf;
    Surface s = nominal[k];
    if (v > 0 && k < kSurf - 1) {           // variant 0 stays nominal
        unsigned h = hash(i * 31u + step * 977u);
        auto u = [&h]() { h = hash(h + 0x9e37u); return (h & 0xffff) / 65536.0f - 0.5f; };
        s.curv *= 1.0f + 0.002f * u();
        s.z += 0.03f * u();
        s.decentre.x += 0.04f * u(); s.decentre.y += 0.04f * u();
        if (s.kind == 'a') s.a4 *= 1.0f + 0.1f * u();
    }
    var[i] = s;
}

__global__ void launch(Ray *rays, long long total, int grid)
{
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= total) return;
    int perColour = grid * grid, j = (int)(i % perColour);
    int colour = (int)(i / perColour % kColours), field = (int)(i / perColour / kColours % kFields);
    Ray r;
    r.pupil.x = ((j % grid) + 0.5f) / grid * 2.0f - 1.0f;
    r.pupil.y = ((j / grid) + 0.5f) / grid * 2.0f - 1.0f;
    float angle = field * 4.5f * 0.01745329f;
    r.dir = make_float3(0.0f, sinf(angle), cosf(angle));
    const float start = -5.0f, entrance = 11.5f, radius = 4.9f;
    r.pos.x = radius * r.pupil.x;
    r.pos.y = radius * r.pupil.y - (entrance - start) * tanf(angle);
    r.pos.z = start;
    r.opl = 0.0f; r.weight = colour == 1 ? 1.0f : 0.5f;
    r.field = (short)field;
    r.colour = (unsigned char)colour;
    r.status = r.pupil.x * r.pupil.x + r.pupil.y * r.pupil.y > 1.0f ? 1 : 0;
    r.variant = (int)(i / perColour / kColours / kFields);
    rays[i] = r;
}

__global__ void trace(Ray *rays, long long total, const Surface *var)
{
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= total || rays[i].status) return;
    Ray r = rays[i];
    const Surface *lens = var + (size_t)r.variant * kSurf;
    float n1 = 1.0f;
    for (int k = 0; k < kSurf && r.status == 0; ++k) {
        float n2 = refIndex(lens[k].glass, cWave[r.colour]);
        r.status = (unsigned char)cross(r, lens[k], n1, n2);
        r.weight *= lens[k].glass == 2 ? 0.97f : 0.995f;
        n1 = n2;
    }
    rays[i] = r;
}

// One block per (variant, field): moments of the hit points, fixed point.
__global__ void spotMoments(const Ray *rays, Spot *spots, int perSpot)
{
    __shared__ unsigned long long acc[4];
    __shared__ int cnt[2];
    if (threadIdx.x < 4) acc[threadIdx.x] = 0;
    if (threadIdx.x < 2) cnt[threadIdx.x] = 0;
    __syncthreads();
    const Ray *mine = rays + (size_t)blockIdx.x * perSpot;
    long long sx = 0, sy = 0, sxx = 0, syy = 0;
    int n = 0, lost = 0;
    for (int k = threadIdx.x; k < perSpot; k += blockDim.x) {
        if (mine[k].status) { lost++; continue; }
        double x = mine[k].pos.x, y = mine[k].pos.y;
        sx += llrint(x * kFix); sy += llrint(y * kFix);
        sxx += llrint(x * x * kFix); syy += llrint(y * y * kFix);
        n++;
    }
    atomicAdd(&acc[0], (unsigned long long)sx);
    atomicAdd(&acc[1], (unsigned long long)sy);
    atomicAdd(&acc[2], (unsigned long long)sxx);
    atomicAdd(&acc[3], (unsigned long long)syy);
    atomicAdd(&cnt[0], n); atomicAdd(&cnt[1], lost);
    __syncthreads();
    if (threadIdx.x != 0) return;
    Spot &s = spots[blockIdx.x];
    s.m = Moments{(long long)acc[0], (long long)acc[1], (long long)acc[2], (long long)acc[3]};
    s.n = cnt[0]; s.lost = cnt[1];
    double inv = s.n ? 1.0 / (kFix * s.n) : 0.0, mx = s.m.sx * inv, my = s.m.sy * inv;
    s.centre = make_float2((float)mx, (float)my);
    s.rms = (float)sqrt(fmax(0.0, s.m.sxx * inv - mx * mx + s.m.syy * inv - my * my));
    for (int k = 0; k < kHist; ++k) s.hist[k] = 0;
}

__global__ void encircled(const Ray *__restrict__ rays, long long total, Spot *spots)
{
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < total; i += (long long)gridDim.x * blockDim.x) {
        if (rays[i].status) continue;
        Spot *s = spots + rays[i].variant * kFields + rays[i].field;
        float dx = rays[i].pos.x - s->centre.x, dy = rays[i].pos.y - s->centre.y;
        int bin = min(kHist - 1, (int)(sqrtf(dx * dx + dy * dy) * 100.0f));
        atomicAdd(&s->hist[bin], (int)(rays[i].weight * 256.0f));
    }
}

__global__ void merit(Spot *spots, int nvar)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= nvar) return;
    float sum = 0.0f;
    for (int f = 0; f < kFields; ++f) {
        const Spot &s = spots[v * kFields + f];
        int total = 1, inner = s.hist[0] + s.hist[1];
        for (int h : s.hist) total += h;
        sum += s.rms * s.rms * (1.0f + 0.2f * f) + 0.01f * (1.0f - (float)inner / total);
    }
    for (int f = 0; f < kFields; ++f) spots[v * kFields + f].merit = sqrtf(sum / kFields);
}

inline void check(cudaError_t e) { if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e)); }

template <class T> class Buffer {
    T *p_ = nullptr; size_t n_;
public:
    explicit Buffer(size_t n) : n_(n) { check(cudaMalloc(&p_, n * sizeof(T))); }
    ~Buffer() { cudaFree(p_); }
    Buffer(const Buffer &) = delete;
    T *get() const { return p_; }
    void upload(const std::vector<T> &v) { check(cudaMemcpy(p_, v.data(), n_ * sizeof(T), cudaMemcpyHostToDevice)); }
    void download(std::vector<T> &v) const { v.resize(n_); check(cudaMemcpy(v.data(), p_, n_ * sizeof(T), cudaMemcpyDeviceToHost)); }
};

}  // namespace optics

int main(int argc, char **argv) try {
    using namespace optics;
    const int grid = 64, steps = 20, perSpot = grid * grid * kColours;
    long long want = argc > 1 ? std::atoll(argv[1]) : 2100000;
    const int nvar = (int)std::max(1LL, want / (perSpot * kFields));
    const long long total = (long long)nvar * perSpot * kFields;

    const Sellmeier glass[3] = {{{1.34317774f, 0.241144399f, 0.994317969f}, {0.00704687339f, 0.0229005f, 92.7508526f}},
                                {{1.34533359f, 0.209073176f, 0.937357162f}, {0.00997743871f, 0.0470450767f, 111.886764f}},
                                {{1.03961212f, 0.231792344f, 1.01046945f}, {0.00600069867f, 0.0200179144f, 103.560653f}}};
    check(cudaMemcpyToSymbol(cGlass, glass, sizeof glass));
    check(cudaMemcpyToSymbol(cWave, kWave, sizeof kWave));
    const double R[kSurf] = {22.01359, -435.76, -22.2133, 20.29192, 79.6836, -18.39533, 0, 0, 0};
    const double T[kSurf] = {3.25896, 6.00755, 0.99997, 4.75041, 2.95208, 30.0, 1.5, 11.7, 0};
    const float A[kSurf] = {9.5f, 9.5f, 5.0f, 5.0f, 7.5f, 7.5f, 16.0f, 16.0f, 40.0f};
    const int G[kSurf] = {0, -1, 1, -1, 0, -1, 2, -1, -1};
    std::vector<Surface> nominal(kSurf);
    double z = 0.0;
    for (int k = 0; k < kSurf; ++k) {
        bool asph = k == 5;
        nominal[k] = Surface{R[k] != 0 ? (float)(1.0 / R[k]) : 0.0f, asph ? -0.05f : 0.0f, asph ? 1.0e-7f : 0.0f, asph ? 2.0e-10f : 0.0f,
                             (float)z, A[k], make_float2(0, 0), G[k], k == 3, R[k] == 0 ? 'p' : (asph ? 'a' : 's')};
        z += T[k];
    }
    Buffer<Surface> dNom(kSurf), dVar((size_t)nvar * kSurf);
    Buffer<Ray> dRays(total);
    Buffer<Spot> dSpots((size_t)nvar * kFields);
    dNom.upload(nominal);

    cudaEvent_t a, b;
    check(cudaEventCreate(&a)); check(cudaEventCreate(&b));
    const unsigned nb = (unsigned)((total + 255) / 256);
    double acc = 0.0;
    for (int s = 0; s <= steps; ++s) {
        if (s == 1) check(cudaEventRecord(a));
        perturb<<<(nvar * kSurf + 127) / 128, 128>>>(dVar.get(), dNom.get(), nvar, s);
        launch<<<nb, 256>>>(dRays.get(), total, grid);
        trace<<<nb, 256>>>(dRays.get(), total, dVar.get());
        spotMoments<<<nvar * kFields, 256>>>(dRays.get(), dSpots.get(), perSpot);
        encircled<<<1056, 256>>>(dRays.get(), total, dSpots.get());
        merit<<<(nvar + 63) / 64, 64>>>(dSpots.get(), nvar);
    }
    check(cudaEventRecord(b));
    check(cudaGetLastError()); check(cudaEventSynchronize(b));
    float ms = 0.0f;
    check(cudaEventElapsedTime(&ms, a, b));
    std::vector<Spot> spots; std::vector<Ray> rays;
    dSpots.download(spots); dRays.download(rays);
    long long hits = 0, lost = 0; double opl = 0.0, h3 = 0.0;
    for (const Spot &s : spots) { hits += s.n; lost += s.lost; acc += s.merit; h3 += s.hist[0]; }
    for (const Ray &r : rays) if (!r.status) opl += r.opl;
    std::printf("check %lld/%lld/%.4g/%.4g/%.4g/%.4g\n", hits, lost, acc / nvar, spots[0].rms, opl / (hits + 1.0), h3);
    std::printf("time_ms %.4f\n", ms / steps);
    return 0;
} catch (const std::exception &e) { std::fprintf(stderr, "%s\n", e.what()); return 1; }
