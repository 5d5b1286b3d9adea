// Particle effects step of a game engine, everything in managed memory:
// simulate against emitters and colliders, build sort keys, bitonic sort by depth,
// emit render vertices back to front, and bin them into screen tiles.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

struct Range { float lo, hi; };

struct Emitter {
    float3 origin;
    float spread;
    float3 direction;
    Range speed;
    Range life;
    uchar4 colorStart, colorEnd;
    unsigned seed;
    unsigned char shape;
    bool active;
};

enum ColliderKind : int { kPlane, kSphere, kBox };

struct Collider {
    ColliderKind kind;
    float4 shape;           // plane equation or sphere centre + radius
    float3 halfExtent;
    float bounce;
    float drag;
};

struct Particle {
    float3 pos;
    float3 vel;
    float age;
    float life;
    float size;
    float rotation;
    uchar4 tint;
    unsigned short emitter;
    unsigned short generation;
    unsigned char flags;
};

struct SortKey {
    uint32_t key;
    uint32_t index;
};

struct RenderVertex {
    float4 posSize;
    uchar4 color;
    unsigned short tile;
    short rot;
};

struct Camera {
    float3 eye, fwd, right, up;
};

// Fixed-size array in unified memory.
template <typename T>
struct Managed {
    T* ptr;
    int count;
    explicit Managed(int n) : ptr(nullptr), count(n) {
        if (cudaMallocManaged(&ptr, sizeof(T) * n) != cudaSuccess) {
            std::fprintf(stderr, "cudaMallocManaged failed\n");
            std::exit(1);
        }
    }
    ~Managed() { cudaFree(ptr); }
    T& operator[](int i) { return ptr[i]; }
    operator T*() { return ptr; }
};

#ifndef LOG2_PARTICLES
#define LOG2_PARTICLES 20
#endif
constexpr int kCount = 1 << LOG2_PARTICLES;
constexpr int kEmitters = 200;
constexpr int kColliders = 12;
constexpr int kTilesX = 32, kTilesY = 18;
constexpr int kSortTile = 1024;

__device__ unsigned hash3(unsigned a, unsigned b, unsigned c) {
    unsigned h = a * 0x9e3779b1u ^ b * 0x85ebca77u ^ c * 0xc2b2ae3du;
    h ^= h >> 15; h *= 0x2c1b3c6du; h ^= h >> 12; h *= 0x297a2d39u;
    return h ^ (h >> 15);
}

__device__ float unit(unsigned h) { return (h >> 8) * (1.0f / 16777216.0f); }

__device__ void respawn(Particle& p, const Emitter& e, unsigned id) {
    p.generation++;
    unsigned h0 = hash3(id, p.generation, e.seed);
    unsigned h1 = hash3(h0, 1u, id), h2 = hash3(h0, 2u, id), h3 = hash3(h0, 3u, id);
    float a = 6.2831853f * unit(h1), r = e.spread * unit(h2);
    float v = e.speed.lo + (e.speed.hi - e.speed.lo) * unit(h3);
    p.pos = e.origin;
    p.vel = make_float3(v * (e.direction.x + r * cosf(a)), v * e.direction.y, v * (e.direction.z + r * sinf(a)));
    p.age = 0.0f;
    p.life = e.life.lo + (e.life.hi - e.life.lo) * unit(h0);
    p.flags &= ~1;
}

__global__ void simulate(Particle* parts, const Emitter* emitters, const Collider* colliders, int n, float dt) {
    __shared__ Collider col[kColliders];
    if (threadIdx.x < kColliders) col[threadIdx.x] = colliders[threadIdx.x];
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        Particle p = parts[i];
        const Emitter& em = emitters[p.emitter];
        p.age += dt;
        if (p.age >= p.life) {
            if (!em.active) { p.flags |= 2; p.age = p.life; parts[i] = p; continue; }
            respawn(p, em, (unsigned)i);
        }
        p.vel.y -= 9.8f * dt;
        p.pos.x += p.vel.x * dt;
        p.pos.y += p.vel.y * dt;
        p.pos.z += p.vel.z * dt;
        for (int c = 0; c < kColliders; ++c) {
            float3 nrm;
            float depth;
            if (col[c].kind == kPlane) {
                nrm = make_float3(col[c].shape.x, col[c].shape.y, col[c].shape.z);
                depth = -(nrm.x * p.pos.x + nrm.y * p.pos.y + nrm.z * p.pos.z + col[c].shape.w);
            } else {
                float dx = p.pos.x - col[c].shape.x, dy = p.pos.y - col[c].shape.y, dz = p.pos.z - col[c].shape.z;
                float d = sqrtf(dx * dx + dy * dy + dz * dz) + 1e-6f;
                nrm = make_float3(dx / d, dy / d, dz / d);
                depth = col[c].shape.w - d;
            }
            if (depth <= 0.0f) continue;
            p.pos.x += depth * nrm.x; p.pos.y += depth * nrm.y; p.pos.z += depth * nrm.z;
            float vn = p.vel.x * nrm.x + p.vel.y * nrm.y + p.vel.z * nrm.z;
            if (vn < 0.0f) {
                float k = (1.0f + col[c].bounce) * vn;
                p.vel.x = (p.vel.x - k * nrm.x) * col[c].drag;
                p.vel.y = (p.vel.y - k * nrm.y) * col[c].drag;
                p.vel.z = (p.vel.z - k * nrm.z) * col[c].drag;
                p.flags |= 1;
            }
        }
        p.rotation += 0.5f * dt;
        parts[i] = p;
    }
}

__global__ void buildKeys(const Particle* parts, SortKey* keys, int n, Camera cam) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float dx = parts[i].pos.x - cam.eye.x, dy = parts[i].pos.y - cam.eye.y, dz = parts[i].pos.z - cam.eye.z;
    float depth = dx * cam.fwd.x + dy * cam.fwd.y + dz * cam.fwd.z;
    if (parts[i].flags & 2) depth = -1.0f;                 // dead: sorts to the end
    uint32_t u = __float_as_uint(fmaxf(depth, 0.0f));      // non-negative floats order as integers
    keys[i] = {~u, (uint32_t)i};
}

__host__ __device__ inline bool after(const SortKey& a, const SortKey& b) {
    return a.key > b.key || (a.key == b.key && a.index > b.index);
}

// One compare-exchange pass over global memory.
__global__ void bitonicGlobal(SortKey* keys, int n, int k, int j) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n / 2) return;
    int i = 2 * t - (t & (j - 1));
    SortKey a = keys[i], b = keys[i + j];
    bool up = (i & k) == 0;
    if (after(a, b) == up) { keys[i] = b; keys[i + j] = a; }
}

// All passes of stages kFrom..kTo that stay within a tile.
__global__ void bitonicShared(SortKey* keys, int kFrom, int kTo) {
    __shared__ SortKey s[kSortTile];
    const int base = blockIdx.x * kSortTile;
    for (int i = threadIdx.x; i < kSortTile; i += blockDim.x) s[i] = keys[base + i];
    for (int k = kFrom; k <= kTo; k *= 2)
        for (int j = min(k / 2, kSortTile / 2); j > 0; j /= 2) {
            __syncthreads();
            int t = threadIdx.x, i = 2 * t - (t & (j - 1));
            bool up = ((base + i) & k) == 0;
            if (after(s[i], s[i + j]) == up) { SortKey x = s[i]; s[i] = s[i + j]; s[i + j] = x; }
        }
    __syncthreads();
    for (int i = threadIdx.x; i < kSortTile; i += blockDim.x) keys[base + i] = s[i];
}

__global__ void emitVertices(const Particle* parts, const Emitter* emitters, const SortKey* keys, RenderVertex* out,
                             unsigned* tileCount, int n, Camera cam) {
    __shared__ unsigned local[kTilesX * kTilesY];
    for (int t = threadIdx.x; t < kTilesX * kTilesY; t += blockDim.x) local[t] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const Particle& p = parts[keys[i].index];
        RenderVertex v;
        float dx = p.pos.x - cam.eye.x, dy = p.pos.y - cam.eye.y, dz = p.pos.z - cam.eye.z;
        float z = fmaxf(dx * cam.fwd.x + dy * cam.fwd.y + dz * cam.fwd.z, 0.1f);
        float sx = 0.5f + (dx * cam.right.x + dy * cam.right.y + dz * cam.right.z) / z * 0.5f;
        float sy = 0.5f + (dx * cam.up.x + dy * cam.up.y + dz * cam.up.z) / z * 0.9f;
        v.posSize = make_float4(sx, sy, z, p.size / z);
        float f = fminf(p.age / p.life, 1.0f);
        const Emitter& e = emitters[p.emitter];
        v.color.x = (unsigned char)(e.colorStart.x + f * ((int)e.colorEnd.x - (int)e.colorStart.x));
        v.color.y = (unsigned char)(e.colorStart.y + f * ((int)e.colorEnd.y - (int)e.colorStart.y));
        v.color.z = p.tint.z;
        v.color.w = (unsigned char)(255.0f * (1.0f - f));
        v.rot = (short)(p.rotation * 100.0f);
        bool onScreen = sx >= 0.0f && sx < 1.0f && sy >= 0.0f && sy < 1.0f && !(p.flags & 2);
        v.tile = onScreen ? (unsigned short)((int)(sy * kTilesY) * kTilesX + (int)(sx * kTilesX)) : 0xffff;
        if (onScreen) atomicAdd(&local[v.tile], 1u);
        out[i] = v;
    }
    __syncthreads();
    for (int t = threadIdx.x; t < kTilesX * kTilesY; t += blockDim.x)
        if (local[t]) atomicAdd(&tileCount[t], local[t]);
}

static uint32_t hostSeed = 2463534242u;
static float hostRand() {
    hostSeed ^= hostSeed << 13; hostSeed ^= hostSeed >> 17; hostSeed ^= hostSeed << 5;
    return (hostSeed >> 8) / 16777216.0f;
}

int main() {
    Managed<Particle> parts(kCount);
    Managed<Emitter> emitters(kEmitters);
    Managed<Collider> colliders(kColliders);
    Managed<SortKey> keys(kCount);
    Managed<RenderVertex> verts(kCount);
    Managed<unsigned> tiles(kTilesX * kTilesY);

    for (int i = 0; i < kEmitters; ++i) {
        float x = 100 * hostRand() - 50, y = 2 + 10 * hostRand(), z = 100 * hostRand() - 50, s = 3 + 5 * hostRand();
        emitters[i] = {{x, y, z}, 0.5f, {0, 1, 0}, {s, s + 4}, {0.4f, 3.0f}, {255, 200, 40, 255}, {60, 60, 60, 0},
                       (unsigned)i * 7919u, (unsigned char)(i % 3), i % 9 != 0};
    }
    for (int c = 0; c < kColliders; ++c) {
        Collider& k = colliders[c];
        float x = 80 * hostRand() - 40, z = 80 * hostRand() - 40, r = 3 + 4 * hostRand();
        k = c == 0 ? Collider{kPlane, {0, 1, 0, 0}, {0, 0, 0}, 0.4f, 0.9f} : Collider{kSphere, {x, 3, z, r}, {r, r, r}, 0.6f, 0.95f};
    }
    for (int i = 0; i < kCount; ++i) {
        Particle& p = parts[i];
        p = Particle{};
        p.emitter = (unsigned short)std::min((int)(hostRand() * kEmitters), kEmitters - 1);
        p.pos = emitters[p.emitter].origin;
        p.life = 0.4f + 2.6f * hostRand();
        p.age = p.life * hostRand();
        float vx = 4 * hostRand() - 2, vy = 8 * hostRand(), vz = 4 * hostRand() - 2;
        p.vel = {vx, vy, vz};
        p.pos.x += vx * p.age; p.pos.y += vy * p.age; p.pos.z += vz * p.age;
        p.size = 0.05f + 0.2f * hostRand();
        p.tint = {255, 255, (unsigned char)(i & 255), 255};
    }
    for (int t = 0; t < kTilesX * kTilesY; ++t) tiles[t] = 0;
    Camera cam = {{0, 8, -70}, {0, 0, 1}, {1, 0, 0}, {0, 1, 0}};

    auto frame = [&] {
        simulate<<<1056, 256>>>(parts, emitters, colliders, kCount, 1.0f / 60.0f);
        buildKeys<<<kCount / 256, 256>>>(parts, keys, kCount, cam);
        bitonicShared<<<kCount / kSortTile, kSortTile / 2>>>(keys, 2, kSortTile);
        for (int k = 2 * kSortTile; k <= kCount; k *= 2) {
            for (int j = k / 2; j >= kSortTile; j /= 2) bitonicGlobal<<<kCount / 512, 256>>>(keys, kCount, k, j);
            bitonicShared<<<kCount / kSortTile, kSortTile / 2>>>(keys, k, k);
        }
        emitVertices<<<264, 256>>>(parts, emitters, keys, verts, tiles, kCount, cam);
    };
    cudaEvent_t a, b;
    cudaEventCreate(&a);
    cudaEventCreate(&b);
    const int frames = 15;
    frame();
    cudaEventRecord(a);
    for (int f = 0; f < frames; ++f) frame();
    cudaEventRecord(b);
    cudaEventSynchronize(b);
    float ms = 0;
    cudaEventElapsedTime(&ms, a, b);
    cudaError_t err = cudaDeviceSynchronize();
    if (err != cudaSuccess) { std::fprintf(stderr, "%s\n", cudaGetErrorString(err)); return 1; }

    double binned = 0, depth = 0, height = 0;
    int disorder = 0;
    for (int t = 0; t < kTilesX * kTilesY; ++t) binned += tiles[t];
    for (int i = 0; i < kCount; ++i) {
        depth += verts[i].posSize.z;
        height += std::fabs(parts[i].pos.y);
        if (i && after(keys[i - 1], keys[i])) ++disorder;
    }
    std::printf("check %.3e/%.3e/%.3e/%d\n", binned, depth, height, disorder);
    std::printf("time_ms %f\n", ms / frames);
    return 0;
}
