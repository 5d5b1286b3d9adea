// Magnetic field of a tokamak's coil set.  The windings are cut into straight
// current segments; the field and the vector potential are summed over all of them
// at the control points (Biot-Savart), with tiles of segments in shared memory.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CUDA_CHECK(call)                                                          \
    do {                                                                          \
        const cudaError_t rc = (call);                                            \
        if (rc != cudaSuccess) {                                                  \
            std::fprintf(stderr, "CUDA: %s (%s:%d)\n", cudaGetErrorString(rc), __FILE__, __LINE__); \
            std::exit(1);                                                         \
        }                                                                         \
    } while (0)

struct Segment {
    float3 start;
    float3 end;
    float3 mid;
    float3 current;   // I * dl, as a vector
    float amps;
    float force;      // |I dl x B| with B of the nearest control point
    int coil;
    int nearest;
};

struct ControlPoint {
    float3 pos;
    float3 field;
    float3 potential;
    float strength;
    float ripple;
    float meanStrength;
    int region;
};

struct Coil {
    float amps;
    float rampRate;
    float limit;
    int firstSegment;
    int segments;
    int tripped;
};

__host__ __device__ inline float3 operator+(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
__host__ __device__ inline float3 operator-(float3 a, float3 b) { return make_float3(a.x - b.x, a.y - b.y, a.z - b.z); }
__host__ __device__ inline float3 operator*(float s, float3 a) { return make_float3(s * a.x, s * a.y, s * a.z); }
__host__ __device__ inline float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__host__ __device__ inline float3 cross(float3 a, float3 b)
{
    return make_float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
__host__ __device__ inline float length(float3 a) { return sqrtf(dot(a, a)); }

__global__ void rampCoils(Coil *coils, int n, float dt)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= n) return;
    if (coils[c].tripped) {
        coils[c].amps *= 0.9f;
        return;
    }
    coils[c].amps += coils[c].rampRate * dt;
    if (fabsf(coils[c].amps) > coils[c].limit) coils[c].tripped = 1;
}

__global__ void energiseSegments(Segment *segs, int n, const Coil *coils)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Segment &s = segs[i];
    s.amps = coils[s.coil].amps;
    s.mid = 0.5f * (s.start + s.end);
    s.current = s.amps * (s.end - s.start);
}

template <int TILE>
__global__ void biotSavart(ControlPoint *points, int nPoints, const Segment *segs, int nSegs, float core2)
{
    __shared__ Segment tile[TILE];
    const int i = blockIdx.x * TILE + threadIdx.x;
    float3 p = make_float3(0.0f, 0.0f, 0.0f);
    if (i < nPoints) p = points[i].pos;
    float3 b = make_float3(0.0f, 0.0f, 0.0f);
    for (int base = 0; base < nSegs; base += TILE) {
        if (base + (int)threadIdx.x < nSegs) tile[threadIdx.x] = segs[base + threadIdx.x];
        __syncthreads();
        const int m = min(TILE, nSegs - base);
        #pragma unroll 4
        for (int k = 0; k < m; ++k) {
            float3 r = p - tile[k].mid;
            float inv = rsqrtf(dot(r, r) + core2);
            b = b + (inv * inv * inv) * cross(tile[k].current, r);
        }
        __syncthreads();
    }
    if (i < nPoints) {
        points[i].field = 1e-7f * b;
        points[i].strength = 1e-7f * length(b);
    }
}

struct SourceTerm {
    float3 mid;
    float3 current;
};

template <int TILE>
__global__ void vectorPotential(ControlPoint *points, int nPoints, const Segment *segs, int nSegs, int stride)
{
    __shared__ SourceTerm tile[TILE];
    const int i = blockIdx.x * TILE + threadIdx.x;
    float3 p = make_float3(0.0f, 0.0f, 0.0f);
    if (i < nPoints) p = points[i].pos;
    float3 a = make_float3(0.0f, 0.0f, 0.0f);
    const int used = nSegs / stride;
    for (int base = 0; base < used; base += TILE) {
        int k = base + (int)threadIdx.x;
        if (k < used) {
            tile[threadIdx.x].mid = segs[k * stride].mid;
            tile[threadIdx.x].current = segs[k * stride].current;
        }
        __syncthreads();
        const int m = min(TILE, used - base);
        for (int t = 0; t < m; ++t)
            a = a + rsqrtf(dot(p - tile[t].mid, p - tile[t].mid) + 1e-4f) * tile[t].current;
        __syncthreads();
    }
    if (i < nPoints) points[i].potential = (1e-7f * (float)stride) * a;
}

__global__ void fieldRipple(ControlPoint *points, int n, int ring)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int base = i / ring * ring, k = i - base;
    float here = points[i].strength;
    float next = points[base + (k + 1) % ring].strength;
    float prev = points[base + (k + ring - 1) % ring].strength;
    points[i].ripple = fabsf(here - 0.5f * (next + prev)) / (here + 1e-6f);
    points[i].meanStrength = 0.9f * points[i].meanStrength + 0.1f * here;
}

__global__ void segmentForces(Segment *segs, int n, const ControlPoint *points)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    segs[i].force = length(cross(segs[i].current, points[segs[i].nearest].field));
}

int main()
{
    const int nCoils = 64, perCoil = 544, turns = 16;
    const int nSegs = nCoils * perCoil;
    const int ring = 64, nRings = 640, nPoints = ring * nRings;
    const float pi = 3.14159265f, major = 6.2f, minor = 3.0f;

    std::vector<Coil> coils(nCoils);
    std::vector<Segment> segs(nSegs);
    for (int c = 0; c < nCoils; ++c) {
        coils[c] = Coil{40000.0f + 150.0f * (float)(c % 5), 800.0f, 45200.0f, c * perCoil, perCoil, 0};
        float phi = 2.0f * pi * (float)c / (float)nCoils;
        float3 corner[2];
        for (int k = 0; k < perCoil; ++k) {
            for (int e = 0; e < 2; ++e) {
                float t = 2.0f * pi * (float)turns * (float)(k + e) / (float)perCoil;
                float rad = minor * (1.0f + 0.01f * sinf(t / (float)turns));
                float r = major + rad * cosf(t);
                corner[e] = make_float3(r * cosf(phi), r * sinf(phi), 1.3f * rad * sinf(t));
            }
            Segment s{};
            s.start = corner[0];
            s.end = corner[1];
            s.coil = c;
            int slice = (int)((float)ring * (float)c / (float)nCoils);
            s.nearest = ((k * 37) % nRings) * ring + slice;
            segs[c * perCoil + k] = s;
        }
    }
    std::vector<ControlPoint> points(nPoints);
    for (int q = 0; q < nRings; ++q) {
        float rad = 1.8f * sqrtf(((float)q + 0.5f) / (float)nRings), ang = 2.39996f * (float)q;
        for (int k = 0; k < ring; ++k) {
            float phi = 2.0f * pi * ((float)k + 0.37f) / (float)ring, r = major + rad * cosf(ang);
            ControlPoint p{};
            p.pos = make_float3(r * cosf(phi), r * sinf(phi), rad * sinf(ang));
            p.region = q * 8 / nRings;
            points[q * ring + k] = p;
        }
    }

    Coil *dCoils;
    Segment *dSegs;
    ControlPoint *dPoints;
    CUDA_CHECK(cudaMalloc(&dCoils, sizeof(Coil) * nCoils));
    CUDA_CHECK(cudaMalloc(&dSegs, sizeof(Segment) * nSegs));
    CUDA_CHECK(cudaMalloc(&dPoints, sizeof(ControlPoint) * nPoints));
    CUDA_CHECK(cudaMemcpy(dCoils, coils.data(), sizeof(Coil) * nCoils, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(dSegs, segs.data(), sizeof(Segment) * nSegs, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(dPoints, points.data(), sizeof(ControlPoint) * nPoints, cudaMemcpyHostToDevice));

    constexpr int TILE = 128;
    const int pg = (nPoints + TILE - 1) / TILE, sg = (nSegs + 255) / 256;
    const int reps = 10;
    cudaEvent_t t0, t1;
    CUDA_CHECK(cudaEventCreate(&t0));
    CUDA_CHECK(cudaEventCreate(&t1));
    for (int r = 0; r <= reps; ++r) {
        if (r == 1) CUDA_CHECK(cudaEventRecord(t0));
        rampCoils<<<1, nCoils>>>(dCoils, nCoils, 0.7f);
        energiseSegments<<<sg, 256>>>(dSegs, nSegs, dCoils);
        biotSavart<TILE><<<pg, TILE>>>(dPoints, nPoints, dSegs, nSegs, 1e-4f);
        vectorPotential<TILE><<<pg, TILE>>>(dPoints, nPoints, dSegs, nSegs, 4);
        fieldRipple<<<pg, TILE>>>(dPoints, nPoints, ring);
        segmentForces<<<sg, 256>>>(dSegs, nSegs, dPoints);
    }
    CUDA_CHECK(cudaEventRecord(t1));
    CUDA_CHECK(cudaEventSynchronize(t1));
    CUDA_CHECK(cudaGetLastError());
    float ms = 0.0f;
    CUDA_CHECK(cudaEventElapsedTime(&ms, t0, t1));
    CUDA_CHECK(cudaMemcpy(segs.data(), dSegs, sizeof(Segment) * nSegs, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(points.data(), dPoints, sizeof(ControlPoint) * nPoints, cudaMemcpyDeviceToHost));
    double b = 0, a = 0, mean = 0, force = 0;
    for (const ControlPoint &p : points) { b += p.strength; a += length(p.potential); mean += p.meanStrength; }
    for (const Segment &s : segs) force += s.force;
    std::printf("check %.4g/%.3g/%.4g/%.4g\n", b / nPoints, a / nPoints, mean / nPoints, force / nSegs);
    std::printf("time_ms %.4f\n", ms / reps);
    return 0;
}
