// banner_in_wind.cu
// A big banner of knots and threads hung by its upper hem, flapping in gusts.
// Course-project style cloth: every thread (spring) stores its force, every knot
// gathers the forces of its threads, so no float atomics are needed.

#include <cuda_runtime.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

inline void checkCudaErrors(cudaError_t err, const char *msg = "")
{
    if (err != cudaSuccess) {
        fprintf(stderr, "%s: %s\n", msg, cudaGetErrorString(err));
        exit(EXIT_FAILURE);
    }
}

struct Vec3 {
    float x, y, z;
    __host__ __device__ Vec3 operator+(const Vec3 &o) const { return {x + o.x, y + o.y, z + o.z}; }
    __host__ __device__ Vec3 operator-(const Vec3 &o) const { return {x - o.x, y - o.y, z - o.z}; }
    __host__ __device__ Vec3 operator*(float s) const { return {x * s, y * s, z * s}; }
    __host__ __device__ Vec3 &operator+=(const Vec3 &o) { x += o.x; y += o.y; z += o.z; return *this; }
    __host__ __device__ Vec3 &operator-=(const Vec3 &o) { x -= o.x; y -= o.y; z -= o.z; return *this; }
};
__host__ __device__ inline float dot(const Vec3 &a, const Vec3 &b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__host__ __device__ inline Vec3 cross(const Vec3 &a, const Vec3 &b)
{
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
__host__ __device__ inline float length(const Vec3 &a) { return sqrtf(dot(a, a)); }

constexpr int kThreadsPerKnot = 8;

struct Knot {
    Vec3 pos;
    Vec3 vel;
    Vec3 normal;
    float mass;
    int thread[kThreadsPerKnot];   // adjacent threads, -1 where none
    int sewn;                      // fixed to the pole
};

struct Thread {
    int a, b;
    float rest;
    float stiffness;
    float damping;
    Vec3 force;                    // acts on a; minus this acts on b
    float strain;
    unsigned char kind;            // 0 warp, 1 weft, 2 shear
};

struct Panel {                     // statistics of a 32x32 patch of knots
    unsigned long long kinetic;
    int maxHeight;                 // z in 1/65536
    int minHeight;
    int samples;
};

struct WindParams {
    Vec3 mean;
    float gust, wavelength, drag, gravity;
};
__constant__ WindParams wind;

__global__ void threadForces(Thread *threads, const Knot *__restrict__ knots, int count)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= count) return;
    Thread th = threads[t];
    const Vec3 d = knots[th.b].pos - knots[th.a].pos;
    const Vec3 dv = knots[th.b].vel - knots[th.a].vel;
    const float len = length(d);
    const Vec3 dir = d * (1.0f / len);
    th.strain = (len - th.rest) / th.rest;
    const float f = th.stiffness * (len - th.rest) + th.damping * dot(dv, dir);
    th.force = dir * f;
    threads[t] = th;
}

__global__ void knotNormals(Knot *knots, int w, int h)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    const int l = y * w + max(x - 1, 0), r = y * w + min(x + 1, w - 1);
    const int u = max(y - 1, 0) * w + x, d = min(y + 1, h - 1) * w + x;
    const Vec3 n = cross(knots[r].pos - knots[l].pos, knots[d].pos - knots[u].pos);
    knots[y * w + x].normal = n * rsqrtf(dot(n, n) + 1e-20f);
}

__global__ void moveKnots(Knot *knots, const Thread *__restrict__ threads, int count, float dt, float time)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    Knot &k = knots[i];
    if (k.sewn) return;
    Vec3 f = {0.0f, -wind.gravity * k.mass, 0.0f};
#pragma unroll
    for (int s = 0; s < kThreadsPerKnot; ++s) {
        const int t = k.thread[s];
        if (t < 0) continue;
        if (threads[t].a == i)
            f += threads[t].force;
        else
            f -= threads[t].force;
    }
    Vec3 air = wind.mean;
    air.z += wind.gust * sinf(k.pos.x * wind.wavelength + 3.0f * time) * cosf(k.pos.y * 0.7f * wind.wavelength - time);
    const Vec3 rel = air - k.vel;
    f += k.normal * (wind.drag * dot(rel, k.normal));
    k.vel += f * (dt / k.mass);
    k.pos += k.vel * dt;
}

__global__ void panelStatistics(const Knot *knots, Panel *panels, int w, int h)
{
    __shared__ unsigned long long kin;
    __shared__ int hi, lo, cnt;
    if (threadIdx.x == 0 && threadIdx.y == 0) {
        kin = 0;
        hi = -2147483647;
        lo = 2147483647;
        cnt = 0;
    }
    __syncthreads();
    const int x = blockIdx.x * 32 + threadIdx.x;
    unsigned long long myKin = 0;
    int myHi = -2147483647, myLo = 2147483647, myCnt = 0;
    for (int r = threadIdx.y; r < 32; r += blockDim.y) {
        const int y = blockIdx.y * 32 + r;
        if (x >= w || y >= h) continue;
        const Knot *k = knots + y * w + x;
        const float e = 0.5f * k->mass * dot(k->vel, k->vel);
        myKin += (unsigned long long)(e * 16777216.0f);
        const int z = (int)rintf(k->pos.z * 65536.0f);
        myHi = max(myHi, z);
        myLo = min(myLo, z);
        ++myCnt;
    }
    // a row of 32 threads is a warp
    for (int o = 16; o > 0; o >>= 1) {
        myKin += __shfl_down_sync(0xffffffffu, myKin, o);
        myHi = max(myHi, __shfl_down_sync(0xffffffffu, myHi, o));
        myLo = min(myLo, __shfl_down_sync(0xffffffffu, myLo, o));
        myCnt += __shfl_down_sync(0xffffffffu, myCnt, o);
    }
    if (threadIdx.x == 0) {
        atomicAdd(&kin, myKin);
        atomicMax(&hi, myHi);
        atomicMin(&lo, myLo);
        atomicAdd(&cnt, myCnt);
    }
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0) {
        Panel p = panels[blockIdx.y * gridDim.x + blockIdx.x];
        p.kinetic += kin;
        p.maxHeight = max(p.maxHeight, hi);
        p.minHeight = min(p.minHeight, lo);
        p.samples += cnt;
        panels[blockIdx.y * gridDim.x + blockIdx.x] = p;
    }
}

static void hook(std::vector<Knot> &k, int a, int t)
{
    for (int s = 0; s < kThreadsPerKnot; ++s)
        if (k[a].thread[s] < 0) { k[a].thread[s] = t; return; }
}

int main(int argc, char **argv)
{
    const int w = argc > 1 ? atoi(argv[1]) : 1280;
    const int h = argc > 2 ? atoi(argv[2]) : 960;
    const int steps = argc > 3 ? atoi(argv[3]) : 100;
    const float gap = 0.02f, dt = 0.0005f;
    const int nKnots = w * h;

    std::vector<Knot> knots(nKnots);
    std::vector<Thread> threads;
    threads.reserve((size_t)nKnots * 4);
    srand(31337);
    for (int y = 0; y < h; ++y)
        for (int x = 0; x < w; ++x) {
            Knot &k = knots[y * w + x];
            k.pos = {x * gap, -y * gap, 0.05f * sinf(x * 0.01f) * (y * gap)};
            k.vel = {0.f, 0.f, 0.f};
            k.normal = {0.f, 0.f, 1.f};
            k.mass = 0.0004f * (1.0f + 0.1f * (rand() % 100) / 100.0f);
            for (int &t : k.thread) t = -1;
            k.sewn = (y == 0 && (x % 8) < 4) ? 1 : 0;
        }
    const int dx[4] = {1, 0, 1, -1}, dy[4] = {0, 1, 1, 1};
    for (int y = 0; y < h; ++y)
        for (int x = 0; x < w; ++x)
            for (int k = 0; k < 4; ++k) {
                const int x2 = x + dx[k], y2 = y + dy[k];
                if (x2 < 0 || x2 >= w || y2 >= h) continue;
                Thread t;
                t.a = y * w + x;
                t.b = y2 * w + x2;
                t.rest = k < 2 ? gap : gap * 1.41421356f;
                t.stiffness = k < 2 ? 30.0f : 6.0f;
                t.damping = k < 2 ? 0.004f : 0.002f;
                t.force = {0.f, 0.f, 0.f};
                t.strain = 0.f;
                t.kind = (unsigned char)(k < 2 ? k : 2);
                hook(knots, t.a, (int)threads.size());
                hook(knots, t.b, (int)threads.size());
                threads.push_back(t);
            }
    const int nThreads = (int)threads.size();
    const int pw = (w + 31) / 32, ph = (h + 31) / 32;
    std::vector<Panel> panels(pw * ph, Panel{0ull, -2147483647, 2147483647, 0});

    WindParams wp = {{0.4f, 0.0f, 3.0f}, 2.5f, 0.9f, 0.0006f, 9.81f};
    checkCudaErrors(cudaMemcpyToSymbol(wind, &wp, sizeof(wp)), "wind");
    Knot *dKnots = nullptr;
    Thread *dThreads = nullptr;
    Panel *dPanels = nullptr;
    checkCudaErrors(cudaMalloc(&dKnots, knots.size() * sizeof(Knot)), "knots");
    checkCudaErrors(cudaMalloc(&dThreads, threads.size() * sizeof(Thread)), "threads");
    checkCudaErrors(cudaMalloc(&dPanels, panels.size() * sizeof(Panel)), "panels");
    checkCudaErrors(cudaMemcpy(dKnots, knots.data(), knots.size() * sizeof(Knot), cudaMemcpyHostToDevice));
    checkCudaErrors(cudaMemcpy(dThreads, threads.data(), threads.size() * sizeof(Thread), cudaMemcpyHostToDevice));
    checkCudaErrors(cudaMemcpy(dPanels, panels.data(), panels.size() * sizeof(Panel), cudaMemcpyHostToDevice));

    const dim3 b2(32, 8), g2((w + 31) / 32, (h + 7) / 8), gp(pw, ph);
    cudaEvent_t ev0, ev1;
    checkCudaErrors(cudaEventCreate(&ev0));
    checkCudaErrors(cudaEventCreate(&ev1));
    checkCudaErrors(cudaEventRecord(ev0));
    for (int s = 0; s < steps; ++s) {
        threadForces<<<(nThreads + 255) / 256, 256>>>(dThreads, dKnots, nThreads);
        knotNormals<<<g2, b2>>>(dKnots, w, h);
        moveKnots<<<(nKnots + 127) / 128, 128>>>(dKnots, dThreads, nKnots, dt, s * dt);
        panelStatistics<<<gp, b2>>>(dKnots, dPanels, w, h);
    }
    checkCudaErrors(cudaEventRecord(ev1));
    checkCudaErrors(cudaEventSynchronize(ev1));
    checkCudaErrors(cudaGetLastError(), "kernels");
    float ms = 0.f;
    checkCudaErrors(cudaEventElapsedTime(&ms, ev0, ev1));
    printf("time_ms %.5f\n", ms / steps);

    checkCudaErrors(cudaMemcpy(knots.data(), dKnots, knots.size() * sizeof(Knot), cudaMemcpyDeviceToHost));
    checkCudaErrors(cudaMemcpy(threads.data(), dThreads, threads.size() * sizeof(Thread), cudaMemcpyDeviceToHost));
    checkCudaErrors(cudaMemcpy(panels.data(), dPanels, panels.size() * sizeof(Panel), cudaMemcpyDeviceToHost));
    double place = 0, speed = 0, norm = 0, tension = 0, kinetic = 0, hi = 0;
    long long samples = 0;
    for (int i = 0; i < nKnots; ++i) {
        place += knots[i].pos.x - 2.0 * knots[i].pos.y + fabs(knots[i].pos.z);
        speed += length(knots[i].vel);
        norm += fabs(knots[i].normal.z);
    }
    for (const Thread &t : threads) tension += length(t.force);
    for (const Panel &p : panels) {
        kinetic += (double)p.kinetic;
        hi += p.maxHeight - p.minHeight;
        samples += p.samples;
    }
    printf("check place %.4e\n", place);
    printf("check speed %.3e\n", speed);
    printf("check normals %.4e\n", norm);
    printf("check tension %.2e\n", tension);
    printf("check kinetic %.3e\n", kinetic);
    printf("check relief %.3e\n", hi);
    printf("check samples %lld\n", samples);
    checkCudaErrors(cudaFree(dKnots));
    checkCudaErrors(cudaFree(dThreads));
    checkCudaErrors(cudaFree(dPanels));
    return 0;
}
