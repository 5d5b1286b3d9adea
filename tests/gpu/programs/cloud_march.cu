// cloud_march.cu - animated cloud volume with sun shadowing, clustered point
// lights per brick and a ray marcher that skips empty bricks.
#include <cuda_runtime.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace clouds {

constexpr int N = 192;                 // voxels per axis
constexpr int BS = 4;                  // brick size
constexpr int NB = N / BS;             // bricks per axis
constexpr int kVoxels = N * N * N;
constexpr int kBricks = NB * NB * NB;
constexpr int kLights = 60000;
constexpr int kW = 1024, kH = 576;
constexpr int kFrames = 10;

struct vec3 {
    float x, y, z;
    __host__ __device__ vec3 operator+(const vec3& o) const { return {x + o.x, y + o.y, z + o.z}; }
    __host__ __device__ vec3 operator-(const vec3& o) const { return {x - o.x, y - o.y, z - o.z}; }
    __host__ __device__ vec3 operator*(float s) const { return {x * s, y * s, z * s}; }
    __host__ __device__ vec3 operator*(const vec3& o) const { return {x * o.x, y * o.y, z * o.z}; }
    __host__ __device__ float dot(const vec3& o) const { return x * o.x + y * o.y + z * o.z; }
    __host__ __device__ vec3 normalized() const { return *this * (1.0f / sqrtf(dot(*this))); }
};

struct Voxel {
    float density;
    float density_next;
    float temperature;
    float sun;                          // transmittance towards the sun
    vec3 inscatter;
    vec3 albedo;
    unsigned char material;
};

struct Light {
    vec3 pos;
    vec3 color;
    float radius;
    float phase;
    short kind;
    short group;

    __device__ vec3 evaluate(const vec3& at, float time) const {
        vec3 d = pos - at;
        float r2 = d.dot(d), lim = radius * radius;
        if (r2 >= lim) return {0, 0, 0};
        float fall = 1.0f - r2 / lim;
        float blink = kind == 1 ? 0.6f + 0.4f * sinf(phase + 3.0f * time) : 1.0f;
        return color * (fall * fall * blink / (1.0f + r2));
    }
};

struct Brick {
    float max_density;
    float mean_density;
    int light_begin;
    int light_count;
    int samples;                        // how often rays sampled it
};

struct Ray {
    vec3 origin;
    vec3 dir;
    vec3 radiance;
    float transmittance;
    float depth;
    int steps;
    unsigned pixel;
};

struct FrameParams { vec3 eye, forward, right, up; float time, sun_strength; };
__constant__ FrameParams g_frame;

__device__ inline int vid(int x, int y, int z) { return (z * N + y) * N + x; }
__device__ inline int bid_of(int x, int y, int z) { return ((z / BS) * NB + y / BS) * NB + x / BS; }

__global__ void diffuse(Voxel* vox) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;
    if (x >= N || y >= N) return;
    int c = vid(x, y, z);
    float d = vox[c].density;
    float sum = 0.0f;
    sum += x > 0 ? vox[c - 1].density : d;
    sum += x < N - 1 ? vox[c + 1].density : d;
    sum += y > 0 ? vox[c - N].density : d;
    sum += y < N - 1 ? vox[c + N].density : d;
    sum += z > 0 ? vox[c - N * N].density : d;
    sum += z < N - 1 ? vox[c + N * N].density : d;
    float growth = 0.02f * (vox[c].temperature - 0.5f) * d;
    float v = d + 0.05f * (sum - 6.0f * d) + growth;
    vox[c].density_next = v < 0.002f ? 0.0f : fminf(v, 4.0f);
}

// one 64-thread block per brick
__global__ void commit_bricks(Voxel* vox, Brick* bricks) {
    __shared__ float smax[64], ssum[64];
    int b = blockIdx.x, t = threadIdx.x;
    int x = (b % NB) * BS + t % BS, y = (b / NB % NB) * BS + t / BS % BS, z = (b / (NB * NB)) * BS + t / (BS * BS);
    int c = vid(x, y, z);
    float d = vox[c].density_next;
    vox[c].density = d;
    smax[t] = ssum[t] = d;
    __syncthreads();
    for (int s = 32; s > 0; s >>= 1) {
        if (t < s) { smax[t] = fmaxf(smax[t], smax[t + s]); ssum[t] += ssum[t + s]; }
        __syncthreads();
    }
    if (t == 0) {
        bricks[b].max_density = smax[0];
        bricks[b].mean_density = ssum[0] / 64.0f;
    }
}

// sun straight above: each thread walks one column downwards
__global__ void sun_columns(Voxel* vox) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x >= N) return;
    float tau = 0.0f;
    for (int z = N - 1; z >= 0; --z) {
        Voxel& v = vox[vid(x, y, z)];
        tau += 0.08f * v.density;
        v.sun = __expf(-tau);
    }
}

__global__ void scatter_lights(Voxel* vox, const Brick* bricks, const Light* lights, const int* light_ids) {
    int b = blockIdx.x, t = threadIdx.x;
    if (bricks[b].max_density <= 0.0f) return;
    int x = (b % NB) * BS + t % BS, y = (b / NB % NB) * BS + t / BS % BS, z = (b / (NB * NB)) * BS + t / (BS * BS);
    Voxel& v = vox[vid(x, y, z)];
    if (v.density <= 0.0f) return;
    vec3 at{x + 0.5f, y + 0.5f, z + 0.5f}, sum{0, 0, 0};
    int first = bricks[b].light_begin, n = bricks[b].light_count;
    for (int k = 0; k < n; ++k) sum = sum + lights[light_ids[first + k]].evaluate(at, g_frame.time);
    v.inscatter = sum * v.albedo;
}

__global__ void make_rays(Ray* rays) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= kW * kH) return;
    unsigned pix = rays[i].pixel;           // pixels are stored tile by tile
    float u = ((pix % kW) + 0.5f) / kW * 2.0f - 1.0f, w = ((pix / kW) + 0.5f) / kH * 2.0f - 1.0f;
    rays[i].origin = g_frame.eye;
    rays[i].dir = (g_frame.forward + g_frame.right * (0.7f * u) + g_frame.up * (0.4f * w)).normalized();
}

__global__ void march(Ray* rays, const Voxel* vox, Brick* bricks) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= kW * kH) return;
    vec3 o = rays[i].origin, d = rays[i].dir;
    float inv[3] = {1.0f / d.x, 1.0f / d.y, 1.0f / d.z}, org[3] = {o.x, o.y, o.z};
    float t0 = 0.0f, t1 = 1e9f;
    for (int a = 0; a < 3; ++a) {
        float ta = -org[a] * inv[a], tb = (N - org[a]) * inv[a];
        t0 = fmaxf(t0, fminf(ta, tb));
        t1 = fminf(t1, fmaxf(ta, tb));
    }
    vec3 rad{0, 0, 0};
    float T = 1.0f, depth = 0.0f;
    int steps = 0;
    for (float t = t0 + 0.01f; t < t1 && T > 0.01f && steps < 400; ++steps) {
        vec3 p = o + d * t;
        int x = min(N - 1, max(0, (int)p.x)), y = min(N - 1, max(0, (int)p.y)), z = min(N - 1, max(0, (int)p.z));
        int b = bid_of(x, y, z);
        if (bricks[b].max_density <= 0.0f) { t += 3.0f; continue; }
        const Voxel& v = vox[vid(x, y, z)];
        float den = v.density;
        if (den > 0.0f) {
            float a = 1.0f - __expf(-0.12f * den);
            vec3 glow = v.inscatter + v.albedo * (v.sun * g_frame.sun_strength);
            if (v.material == 2) glow.x += 0.2f * v.temperature;
            rad = rad + glow * (T * a);
            depth += T * a * t;
            T *= 1.0f - a;
        }
        if ((steps & 15) == 0) atomicAdd(&bricks[b].samples, 1);
        t += 1.0f;
    }
    rays[i].radiance = rad;
    rays[i].transmittance = T;
    rays[i].depth = depth;
    rays[i].steps = steps;
}

__global__ void expose(const Ray* rays, unsigned char* image, int* histogram) {
    __shared__ int bins[256];
    bins[threadIdx.x] = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < kW * kH) {
        vec3 c = rays[i].radiance;
        float sky = 0.3f * rays[i].transmittance;
        float lum = 0.3f * c.x + 0.6f * c.y + 0.1f * c.z + sky;
        int q = min(255, (int)(255.0f * lum / (1.0f + lum)));
        image[rays[i].pixel] = (unsigned char)q;
        atomicAdd(&bins[q], 1);
    }
    __syncthreads();
    if (bins[threadIdx.x]) atomicAdd(&histogram[threadIdx.x], bins[threadIdx.x]);
}

struct CudaFree { void operator()(void* p) const { cudaFree(p); } };
template <class T> using dev_ptr = std::unique_ptr<T[], CudaFree>;

inline void ok(cudaError_t e) { if (e != cudaSuccess) { std::fprintf(stderr, "%s\n", cudaGetErrorString(e)); std::exit(1); } }

template <class T> dev_ptr<T> to_device(const std::vector<T>& h) {
    T* p = nullptr;
    ok(cudaMalloc(&p, h.size() * sizeof(T)));
    ok(cudaMemcpy(p, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice));
    return dev_ptr<T>(p);
}
template <class T> void to_host(std::vector<T>& h, const dev_ptr<T>& d) {
    ok(cudaMemcpy(h.data(), d.get(), h.size() * sizeof(T), cudaMemcpyDeviceToHost));
}

static unsigned seed = 4242u;
static float rnd() { seed = seed * 1664525u + 1013904223u; return (seed >> 8) / 16777216.0f; }

}  // namespace clouds

int main() {
    using namespace clouds;
    std::vector<Voxel> vox(kVoxels);
    for (auto& v : vox) v = Voxel{0, 0, rnd(), 1, {0, 0, 0}, {0.9f, 0.92f, 0.95f}, (unsigned char)(seed >> 30)};
    std::vector<vec3> centres;
    for (int k = 0; k < 60; ++k) {                       // blobs in a flat layer
        vec3 c{rnd() * N, rnd() * N, N * (0.3f + 0.4f * rnd())};
        float r = 5.0f + 22.0f * rnd() * rnd();
        centres.push_back(c);
        for (int z = std::max(0, int(c.z - r)); z < std::min<int>(N, int(c.z + r)); ++z)
            for (int y = std::max(0, int(c.y - r)); y < std::min<int>(N, int(c.y + r)); ++y)
                for (int x = std::max(0, int(c.x - r)); x < std::min<int>(N, int(c.x + r)); ++x) {
                    vec3 d = vec3{x + 0.5f, y + 0.5f, z + 0.5f} - c;
                    float f = 1.0f - std::sqrt(d.dot(d)) / r;
                    if (f > 0) vox[(z * N + y) * N + x].density += f * (0.5f + rnd());
                }
    }
    std::vector<Light> lights(kLights);
    std::vector<std::vector<int>> per_brick(kBricks);
    for (int l = 0; l < kLights; ++l) {                  // clustered around the clouds
        vec3 c = centres[int(60 * rnd() * rnd())];
        float s = 30.0f;
        vec3 p{c.x + s * (rnd() + rnd() - 1), c.y + s * (rnd() + rnd() - 1), c.z + s * (rnd() + rnd() - 1)};
        float r = 2.0f + 4.0f * rnd() * rnd();
        lights[l] = Light{p, {rnd(), rnd() * 0.8f, rnd() * 0.5f}, r, 6.28f * rnd(), short(l % 5 == 0), short(l % 17)};
        for (int z = std::max(0, int((p.z - r) / BS)); z <= std::min<int>(NB - 1, int((p.z + r) / BS)); ++z)
            for (int y = std::max(0, int((p.y - r) / BS)); y <= std::min<int>(NB - 1, int((p.y + r) / BS)); ++y)
                for (int x = std::max(0, int((p.x - r) / BS)); x <= std::min<int>(NB - 1, int((p.x + r) / BS)); ++x)
                    per_brick[(z * NB + y) * NB + x].push_back(l);
    }
    std::vector<Brick> bricks(kBricks);
    std::vector<int> ids;
    for (int b = 0; b < kBricks; ++b) {
        bricks[b] = Brick{0, 0, int(ids.size()), int(per_brick[b].size()), 0};
        ids.insert(ids.end(), per_brick[b].begin(), per_brick[b].end());
    }
    std::vector<Ray> rays(kW * kH);
    for (unsigned i = 0; i < rays.size(); ++i) {         // 8x8 pixel tiles
        unsigned tile = i / 64, in = i % 64;
        rays[i] = Ray{};
        rays[i].pixel = (tile / (kW / 8) * 8 + in / 8) * kW + tile % (kW / 8) * 8 + in % 8;
    }
    std::vector<unsigned char> image(kW * kH, 0);
    std::vector<int> hist(256, 0);
    auto dVox = to_device(vox); auto dLights = to_device(lights); auto dBricks = to_device(bricks);
    auto dIds = to_device(ids); auto dRays = to_device(rays); auto dImage = to_device(image); auto dHist = to_device(hist);

    cudaEvent_t e0, e1;
    ok(cudaEventCreate(&e0)); ok(cudaEventCreate(&e1));
    ok(cudaEventRecord(e0));
    const dim3 tb(64, 4), tg(N / 64, N / 4, N);
    for (int f = 0; f < kFrames; ++f) {
        float ang = 0.3f + 0.15f * f;
        vec3 eye{N * 0.5f + 210.0f * cosf(ang), N * 0.5f + 210.0f * sinf(ang), N * 0.62f};
        vec3 fwd = (vec3{N * 0.5f, N * 0.5f, N * 0.5f} - eye).normalized();
        vec3 right = vec3{-fwd.y, fwd.x, 0.0f}.normalized();
        FrameParams fp{eye, fwd, right, {0, 0.001f, 1}, 0.1f * f, 1.6f};
        ok(cudaMemcpyToSymbolAsync(g_frame, &fp, sizeof fp, 0, cudaMemcpyHostToDevice, 0));
        diffuse<<<tg, tb>>>(dVox.get());
        commit_bricks<<<kBricks, 64>>>(dVox.get(), dBricks.get());
        sun_columns<<<dim3(N / 64, N), 64>>>(dVox.get());
        scatter_lights<<<kBricks, 64>>>(dVox.get(), dBricks.get(), dLights.get(), dIds.get());
        make_rays<<<kW * kH / 256, 256>>>(dRays.get());
        march<<<kW * kH / 128, 128>>>(dRays.get(), dVox.get(), dBricks.get());
        expose<<<kW * kH / 256, 256>>>(dRays.get(), dImage.get(), dHist.get());
    }
    ok(cudaEventRecord(e1));
    ok(cudaEventSynchronize(e1));
    ok(cudaGetLastError());
    float ms; ok(cudaEventElapsedTime(&ms, e0, e1));

    to_host(vox, dVox); to_host(bricks, dBricks); to_host(rays, dRays); to_host(image, dImage); to_host(hist, dHist);
    double den = 0, sun = 0, ins = 0, rad = 0, tr = 0, bm = 0; long long steps = 0, smp = 0, img = 0, hs = 0;
    for (auto& v : vox) { den += v.density; sun += v.sun; ins += v.inscatter.x + v.inscatter.y + v.inscatter.z; }
    for (auto& r : rays) { rad += r.radiance.x + r.radiance.y + r.radiance.z; tr += r.transmittance + 0.01 * r.depth; steps += r.steps; }
    for (auto& b : bricks) { bm += b.max_density + b.mean_density; smp += b.samples; }
    for (auto p : image) img += p;
    for (int i = 0; i < 256; ++i) hs += (long long)i * hist[i];
    std::printf("check density %.4e\ncheck sun %.4e\ncheck inscatter %.4e\ncheck bricks %.4e\n", den, sun, ins, bm);
    std::printf("check radiance %.4e\ncheck transmittance %.4e\ncheck steps %.3e\ncheck samples %.3e\n", rad, tr, (double)steps, (double)smp);
    std::printf("check image %.4e\ncheck histogram %.4e\ntime_ms %.4f\n", (double)img, (double)hs, ms);
    return 0;
}
