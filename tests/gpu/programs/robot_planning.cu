// Sampling based motion planning for a seven-joint arm: the samples form a
// tree; each step checks the arm of every sample against all obstacles, tries to
// rewire samples to a cheaper parent and lets the obstacles move.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

struct Vec3 {
    float x, y, z;
    __host__ __device__ Vec3 operator+(const Vec3& o) const { return {x + o.x, y + o.y, z + o.z}; }
    __host__ __device__ Vec3 operator-(const Vec3& o) const { return {x - o.x, y - o.y, z - o.z}; }
    __device__ float dot(const Vec3& o) const { return fmaf(x, o.x, fmaf(y, o.y, __fmul_rn(z, o.z))); }
    __device__ Vec3 axpy(float a, const Vec3& o) const { return {fmaf(a, o.x, x), fmaf(a, o.y, y), fmaf(a, o.z, z)}; }
    __device__ Vec3& operator+=(const Vec3& o) { x += o.x; y += o.y; z += o.z; return *this; }
};

// orthonormal frame that is turned joint by joint
struct Frame {
    Vec3 ax, ay, az;
    __device__ static Vec3 blend(float c, const Vec3& a, float s, const Vec3& b)
    {
        return {fmaf(c, a.x, __fmul_rn(s, b.x)), fmaf(c, a.y, __fmul_rn(s, b.y)), fmaf(c, a.z, __fmul_rn(s, b.z))};
    }
    __device__ void turnZ(float angle)
    {
        float s, c;
        sincosf(angle, &s, &c);
        const Vec3 nx = blend(c, ax, s, ay);
        ay = blend(c, ay, -s, ax);
        ax = nx;
    }
    __device__ void turnY(float angle)
    {
        float s, c;
        sincosf(angle, &s, &c);
        const Vec3 nz = blend(c, az, s, ax);
        ax = blend(c, ax, -s, az);
        az = nz;
    }
};

struct Obstacle {
    Vec3 centre;
    float radius;
    Vec3 velocity;
    int hits;

    // squared gap test with a ball
    __device__ bool touches(const Vec3& p, float r) const
    {
        const Vec3 d = p - centre;
        const float reach = radius + r;
        return d.dot(d) < __fmul_rn(reach, reach);
    }
    __device__ void move()
    {
        centre += velocity;
        if (fabsf(centre.x) > 1.5f) velocity.x = -velocity.x;
        if (fabsf(centre.y) > 1.5f) velocity.y = -velocity.y;
        if (centre.z < 0.0f || centre.z > 2.0f) velocity.z = -velocity.z;
    }
};

enum class State : unsigned char { Free, Blocked, Goal };

struct Sample {
    float q[7];          // joint angles
    float edgeCost;      // to the parent
    Vec3 tip;            // position of the hand
    int parent;
    int candidate;       // parent chosen by the rewiring
    short link;          // first blocked link, -1 if none
    State state;
    unsigned char age;

    __device__ float distance(const Sample& o) const
    {
        float d = 0.0f;
        for (int j = 0; j < 7; ++j) d += fabsf(q[j] - o.q[j]);
        return d;
    }
    __device__ bool blocked() const { return state == State::Blocked; }
    // cost from the root, following the parents
    __device__ float costToRoot(const Sample* all) const
    {
        float c = edgeCost;
        for (int p = parent; p >= 0; p = all[p].parent) c += all[p].edgeCost;
        return c;
    }
};

__constant__ float kLinkLength[7] = {0.34f, 0.2f, 0.2f, 0.2f, 0.2f, 0.13f, 0.13f};
__constant__ float kLinkRadius[7] = {0.09f, 0.08f, 0.08f, 0.07f, 0.07f, 0.05f, 0.04f};

__global__ void checkCollisions(Sample* samples, int n, Obstacle* obstacles, int nObstacles)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Sample& s = samples[i];

    Frame f{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    Vec3 p{0, 0, 0};
    int link = -1, hit = -1;
    for (int j = 0; j < 7 && link < 0; ++j) {
        if (j & 1) f.turnY(s.q[j]);
        else f.turnZ(s.q[j]);
        const Vec3 mid = p.axpy(0.5f * kLinkLength[j], f.az);
        p = p.axpy(kLinkLength[j], f.az);
        for (int o = 0; o < nObstacles; ++o)
            if (obstacles[o].touches(mid, kLinkRadius[j]) || obstacles[o].touches(p, kLinkRadius[j])) {
                link = j;
                hit = o;
                break;
            }
    }
    s.tip = p;
    s.link = (short)link;
    s.state = link >= 0 ? State::Blocked : (p.z > 1.1f ? State::Goal : State::Free);
    if (hit >= 0) atomicAdd(&obstacles[hit].hits, 1);
}

__global__ void rewire(Sample* samples, int n, unsigned round)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Sample& s = samples[i];
    s.candidate = -1;
    if (i == 0 || s.blocked()) return;

    float best = s.costToRoot(samples);
    unsigned h = (i * 2654435761u) ^ (round * 0x9e3779b9u);
    for (int t = 0; t < 2; ++t) {
        h = h * 1664525u + 1013904223u;
        const int c = (h >> 4) % i;               // older samples only, so no cycles
        const Sample& other = samples[c];
        if (other.blocked()) continue;
        const float cost = other.costToRoot(samples) + s.distance(other);
        if (cost < best) {
            best = cost;
            s.candidate = c;
        }
    }
}

__global__ void commitParents(Sample* samples, int n, unsigned long long* rewired)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool changed = false;
    if (i < n && samples[i].candidate >= 0) {
        samples[i].parent = samples[i].candidate;
        samples[i].edgeCost = samples[i].distance(samples[samples[i].candidate]);
        samples[i].age = 0;
        changed = true;
    } else if (i < n && samples[i].age < 255) {
        samples[i].age++;
    }
    const unsigned who = __ballot_sync(0xffffffffu, changed);
    if ((threadIdx.x & 31) == 0 && who) atomicAdd(rewired, (unsigned long long)__popc(who));
}

// counts of reached cells of the workspace
__global__ void reachMap(const Sample* samples, int n, unsigned* map)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || samples[i].state == State::Blocked) return;
    const Vec3 t = samples[i].tip;
    const int x = min(31, max(0, (int)floorf((t.x + 1.6f) * 10.0f)));
    const int y = min(31, max(0, (int)floorf((t.y + 1.6f) * 10.0f)));
    atomicAdd(&map[y * 32 + x], 1u);
}

__global__ void moveObstacles(Obstacle* obstacles, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) obstacles[i].move();
}

static unsigned long long rngState = 0x853c49e6748fea9bull;
static float frand()
{
    rngState = rngState * 6364136223846793005ull + 1ull;
    return (float)(rngState >> 40) / 16777216.0f;
}

int main(int argc, char** argv)
{
    const int n = argc > 1 ? std::atoi(argv[1]) : 1200000;
    const int nObstacles = 64, steps = 20;

    std::vector<Obstacle> obstacles(nObstacles);
    for (auto& o : obstacles) {
        o.centre = Vec3{3.0f * frand() - 1.5f, 3.0f * frand() - 1.5f, 0.2f + 1.8f * frand()};
        o.radius = 0.02f + 0.12f * frand() * frand();
        o.velocity = Vec3{0.02f * (frand() - 0.5f), 0.02f * (frand() - 0.5f), 0.01f * (frand() - 0.5f)};
        o.hits = 0;
    }
    std::vector<Sample> samples(n);
    for (int i = 0; i < n; ++i) {
        Sample& s = samples[i];
        for (float& a : s.q) a = 3.0f * (frand() - 0.5f);
        s.parent = i == 0 ? -1 : (int)(frand() * i) % i;
        s.edgeCost = 0.0f;
        if (i > 0)
            for (int j = 0; j < 7; ++j) s.edgeCost += std::abs(s.q[j] - samples[s.parent].q[j]);
        s.tip = Vec3{0, 0, 0};
        s.candidate = -1;
        s.link = -1;
        s.state = State::Free;
        s.age = 0;
    }

    Sample* dSamples;
    Obstacle* dObstacles;
    unsigned* dMap;
    unsigned long long* dRewired;
    cudaMalloc(&dSamples, sizeof(Sample) * n);
    cudaMalloc(&dObstacles, sizeof(Obstacle) * nObstacles);
    cudaMalloc(&dMap, sizeof(unsigned) * 1024);
    cudaMalloc(&dRewired, sizeof(unsigned long long));
    cudaMemcpy(dSamples, samples.data(), sizeof(Sample) * n, cudaMemcpyHostToDevice);
    cudaMemcpy(dObstacles, obstacles.data(), sizeof(Obstacle) * nObstacles, cudaMemcpyHostToDevice);
    cudaMemset(dMap, 0, sizeof(unsigned) * 1024);
    cudaMemset(dRewired, 0, sizeof(unsigned long long));

    cudaEvent_t e0, e1;
    cudaEventCreate(&e0);
    cudaEventCreate(&e1);
    const dim3 block(128), grid((n + 127) / 128);
    for (int s = 0; s <= steps; ++s) {
        if (s == 1) cudaEventRecord(e0);
        checkCollisions<<<grid, block>>>(dSamples, n, dObstacles, nObstacles);
        rewire<<<grid, block>>>(dSamples, n, s);
        commitParents<<<grid, block>>>(dSamples, n, dRewired);
        reachMap<<<grid, block>>>(dSamples, n, dMap);
        moveObstacles<<<1, 64>>>(dObstacles, nObstacles);
    }
    cudaEventRecord(e1);
    const cudaError_t err = cudaDeviceSynchronize();
    if (err != cudaSuccess) {
        std::fprintf(stderr, "error: %s\n", cudaGetErrorString(err));
        return 1;
    }
    float ms = 0;
    cudaEventElapsedTime(&ms, e0, e1);

    std::vector<unsigned> map(1024);
    unsigned long long rewired = 0, check = 0;
    cudaMemcpy(samples.data(), dSamples, sizeof(Sample) * n, cudaMemcpyDeviceToHost);
    cudaMemcpy(obstacles.data(), dObstacles, sizeof(Obstacle) * nObstacles, cudaMemcpyDeviceToHost);
    cudaMemcpy(map.data(), dMap, sizeof(unsigned) * 1024, cudaMemcpyDeviceToHost);
    cudaMemcpy(&rewired, dRewired, sizeof rewired, cudaMemcpyDeviceToHost);
    for (unsigned m : map) check = check * 3 + m;
    for (const Obstacle& o : obstacles) check += 17ull * o.hits;
    for (const Sample& s : samples) check += (s.parent + 1) + 5 * (int)s.state + s.age + s.link;
    check += rewired * 1000;

    cudaFree(dSamples);
    cudaFree(dObstacles);
    cudaFree(dMap);
    cudaFree(dRewired);
    std::printf("check %llu\n", check);
    std::printf("time_ms %.4f\n", ms / steps);
    return 0;
}
