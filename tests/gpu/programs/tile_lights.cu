// Lighting pass of a side-view sandbox game: sunlight columns, point lights with
// occlusion marched through the tile map, light bleeding and lit sprites.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

typedef std::uint8_t u8;
typedef std::uint16_t u16;
typedef std::uint32_t u32;
#define CUDA_REQUIRE(x) LightWorld::require((x), #x, __LINE__)
struct Color { float r, g, b; };
struct Tile {
    u8 material;       // 0 air, 1 dirt, 2 stone, 3 glass, 4 lava
    u8 opacity;        // 0..255
    u8 sun;            // 0..255
    u8 flags;          // 1 = has background wall
    Color light;       // direct light of this frame
    Color bleed;       // smoothed, what sprites see
    float heat;
    short height;
    u16 variant;
};
struct PointLight {
    float x, y;
    float baseX, baseY;
    Color color;
    float radius;
    float intensity;
    float phase;
    float coneDir, coneCos;    // coneCos = -1: all around
    int owner;
    u8 kind;                   // 0 torch, 1 lamp, 2 spot, 3 spell
    u8 on;
    short layer;
};
constexpr int kMaxPerChunk = 48;
constexpr int kChunk = 16;
struct Chunk {
    int count;
    int sprites;
    float brightness;
    u16 lights[kMaxPerChunk];
    u8 dirty;
    u8 underground;
};
struct Sprite {
    float x, y, vx, vy;
    Color tint;
    float health;
    int seed;
    short anim;
    u8 team;
    u8 hidden;
};
struct World {
    Tile* tiles;
    PointLight* lights;
    Chunk* chunks;
    Sprite* sprites;
    int* histogram;
    int w, h, nLights, nSprites;
    float time;
};
__device__ u32 scramble(u32 v) { v ^= v >> 16; v *= 0x45d9f3bu; v ^= v >> 16; v *= 0x45d9f3bu; v ^= v >> 16; return v; }
__device__ float luma(const Color& c) { return 0.299f * c.r + 0.587f * c.g + 0.114f * c.b; }
__global__ void animateLights(World wd)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= wd.nLights) return;
    PointLight& l = wd.lights[i];
    float s = sinf(wd.time * 3.0f + l.phase);
    if (l.kind == 0) {
        l.intensity = 0.85f + 0.15f * s;
    } else if (l.kind == 2) {
        l.coneDir += 0.02f;
        if (l.coneDir > 6.2831853f) l.coneDir -= 6.2831853f;
    } else if (l.kind == 3) {
        l.x = fminf(fmaxf(l.baseX + 4.0f * s, 1.0f), wd.w - 2.0f);
        l.y = fminf(fmaxf(l.baseY + 3.0f * cosf(wd.time + l.phase), 1.0f), wd.h - 2.0f);
        l.on = s > -0.8f;
    }
}
// one thread per column, from the sky downwards
__global__ void sunlight(World wd)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= wd.w) return;
    int sun = 255;
    for (int y = 0; y < wd.h; ++y) {
        Tile& t = wd.tiles[(size_t)y * wd.w + x];
        if (t.opacity > 200) sun -= 40;
        else if (t.opacity > 20) sun -= t.opacity >> 4;
        else if (t.flags & 1) sun -= 4;
        sun = max(sun, 0);
        t.sun = (u8)sun;
    }
}
// one warp per chunk compacts the list of lights that can reach it
__global__ void binLights(World wd, int nChunks, int chunksX)
{
    int c = blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
    int lane = threadIdx.x & 31;
    if (c >= nChunks) return;
    float x0 = (c % chunksX) * kChunk, y0 = (c / chunksX) * kChunk;
    float x1 = x0 + kChunk, y1 = y0 + kChunk;
    int count = 0;
    for (int base = 0; base < wd.nLights; base += 32) {
        int i = base + lane;
        bool hit = false;
        if (i < wd.nLights && wd.lights[i].on) {
            const PointLight& l = wd.lights[i];
            float dx = fmaxf(fmaxf(x0 - l.x, l.x - x1), 0.0f);
            float dy = fmaxf(fmaxf(y0 - l.y, l.y - y1), 0.0f);
            hit = dx * dx + dy * dy < l.radius * l.radius;
        }
        unsigned mask = __ballot_sync(0xffffffffu, hit);
        int at = count + __popc(mask & ((1u << lane) - 1u));
        if (hit && at < kMaxPerChunk) wd.chunks[c].lights[at] = (u16)i;
        count += __popc(mask);
    }
    if (lane == 0) {
        wd.chunks[c].count = min(count, kMaxPerChunk);
        wd.chunks[c].sprites = 0;
    }
}
__device__ float transmittance(const World& wd, float ax, float ay, float bx, float by)
{
    float dx = bx - ax, dy = by - ay;
    float dist = sqrtf(dx * dx + dy * dy);
    int steps = (int)dist + 1;
    float ix = dx / steps, iy = dy / steps;
    float t = 1.0f, x = ax, y = ay;
    for (int k = 1; k < steps; ++k) {
        x += ix, y += iy;
        int tx = min(max((int)x, 0), wd.w - 1), ty = min(max((int)y, 0), wd.h - 1);
        t *= 1.0f - wd.tiles[(size_t)ty * wd.w + tx].opacity * (0.7f / 255.0f);
        if (t < 0.01f) return 0.0f;
    }
    return t;
}
// one block per chunk, one thread per tile
__global__ void shade(World wd)
{
    const Chunk& ch = wd.chunks[blockIdx.y * gridDim.x + blockIdx.x];
    int x = blockIdx.x * kChunk + threadIdx.x;
    int y = blockIdx.y * kChunk + threadIdx.y;
    Tile& t = wd.tiles[(size_t)y * wd.w + x];
    float sun = t.sun / 255.0f;
    Color acc = {0.9f * sun, 0.95f * sun, sun};
    if (t.material == 4) { acc.r += 0.8f; acc.g += 0.3f; }
    float px = x + 0.5f, py = y + 0.5f;
    for (int k = 0; k < ch.count; ++k) {
        const PointLight& l = wd.lights[ch.lights[k]];
        float dx = px - l.x, dy = py - l.y;
        float d2 = dx * dx + dy * dy;
        if (d2 >= l.radius * l.radius) continue;
        float d = sqrtf(d2);
        if (l.coneCos > -1.0f) {
            float c = (dx * cosf(l.coneDir) + dy * sinf(l.coneDir)) / fmaxf(d, 1e-3f);
            if (c < l.coneCos) continue;
        }
        float fall = 1.0f - d / l.radius;
        float a = l.intensity * fall * fall * transmittance(wd, l.x, l.y, px, py);
        acc = Color{acc.r + a * l.color.r, acc.g + a * l.color.g, acc.b + a * l.color.b};
    }
    t.light = acc;
}
__global__ void bleedLight(World wd)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= wd.w || y >= wd.h) return;
    Color sum = {0, 0, 0};
    float ws = 0.0f;
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
            int nx = x + dx, ny = y + dy;
            if (nx < 0 || ny < 0 || nx >= wd.w || ny >= wd.h) continue;
            const Tile& n = wd.tiles[(size_t)ny * wd.w + nx];
            float w = (dx == 0 && dy == 0) ? 2.0f : 1.0f - n.opacity * (0.8f / 255.0f);
            sum = Color{sum.r + w * n.light.r, sum.g + w * n.light.g, sum.b + w * n.light.b};
            ws += w;
        }
    Tile& t = wd.tiles[(size_t)y * wd.w + x];
    float inv = 1.0f / ws;
    t.bleed = Color{0.5f * t.bleed.r + 0.5f * inv * sum.r, 0.5f * t.bleed.g + 0.5f * inv * sum.g, 0.5f * t.bleed.b + 0.5f * inv * sum.b};
    t.heat = 0.95f * t.heat + 0.05f * (t.material == 4 ? 10.0f : luma(t.bleed));
}
__global__ void updateSprites(World wd, float dt, int chunksX)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= wd.nSprites) return;
    Sprite& s = wd.sprites[i];
    s.vy = fminf(s.vy + 9.0f * dt, 12.0f);
    float nx = s.x + s.vx * dt, ny = s.y + s.vy * dt;
    if (nx < 1.0f || nx > wd.w - 2.0f) { s.vx = -s.vx; nx = s.x; }
    if (ny < 1.0f || ny > wd.h - 2.0f) { s.vy = -0.5f * s.vy; ny = s.y; }
    if (wd.tiles[(size_t)(int)s.y * wd.w + (int)nx].opacity > 200) { s.vx = -s.vx; nx = s.x; }
    if (wd.tiles[(size_t)(int)ny * wd.w + (int)nx].opacity > 200) {
        u32 r = scramble((u32)s.seed);
        s.seed = (int)r;
        s.vy = (r & 15) == 0 ? -7.0f : 0.0f;
        ny = s.y;
    }
    s.x = nx, s.y = ny;
    const Tile& t = wd.tiles[(size_t)(int)ny * wd.w + (int)nx];
    s.tint.r += 0.3f * (t.bleed.r - s.tint.r);
    s.tint.g += 0.3f * (t.bleed.g - s.tint.g);
    s.tint.b += 0.3f * (t.bleed.b - s.tint.b);
    s.hidden = luma(s.tint) < 0.08f;
    s.anim = (short)((s.anim + 1) & 31);
    if (t.heat > 5.0f) s.health = fmaxf(0.0f, s.health - dt);
    atomicAdd(&wd.chunks[((int)ny / kChunk) * chunksX + (int)nx / kChunk].sprites, 1);
}
__global__ void exposure(World wd)
{
    __shared__ int bins[64];
    if (threadIdx.x < 64) bins[threadIdx.x] = 0;
    __syncthreads();
    int n = wd.w * wd.h;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[min(63, (int)(luma(wd.tiles[i].bleed) * 32.0f))], 1);
    __syncthreads();
    if (threadIdx.x < 64) atomicAdd(&wd.histogram[threadIdx.x], bins[threadIdx.x]);
}
class LightWorld {
public:
    LightWorld(int w, int h, int nLights, int nSprites) : chunksX_(w / kChunk), chunksY_(h / kChunk)
    {
        generate(w, h, nLights, nSprites);
        wd_.w = w; wd_.h = h; wd_.nLights = nLights; wd_.nSprites = nSprites; wd_.time = 0.0f;
        push(wd_.tiles, tiles_), push(wd_.lights, lights_);
        push(wd_.chunks, chunks_), push(wd_.sprites, sprites_);
        CUDA_REQUIRE(cudaMalloc(&wd_.histogram, 64 * sizeof(int)));
    }
    ~LightWorld()
    {
        cudaFree(wd_.tiles); cudaFree(wd_.lights); cudaFree(wd_.chunks); cudaFree(wd_.sprites); cudaFree(wd_.histogram);
    }
    void frame()
    {
        wd_.time += 1.0f / 60.0f;
        const int nChunks = chunksX_ * chunksY_;
        animateLights<<<(wd_.nLights + 127) / 128, 128>>>(wd_);
        sunlight<<<(wd_.w + 31) / 32, 32>>>(wd_);
        binLights<<<(nChunks + 3) / 4, 128>>>(wd_, nChunks, chunksX_);
        shade<<<dim3(chunksX_, chunksY_), dim3(kChunk, kChunk)>>>(wd_);
        bleedLight<<<dim3((wd_.w + 63) / 64, (wd_.h + 3) / 4), dim3(64, 4)>>>(wd_);
        updateSprites<<<(wd_.nSprites + 255) / 256, 256>>>(wd_, 1.0f / 60.0f, chunksX_);
        CUDA_REQUIRE(cudaMemsetAsync(wd_.histogram, 0, 64 * sizeof(int)));
        exposure<<<264, 256>>>(wd_);
    }
    void summary()
    {
        int hist[64];
        CUDA_REQUIRE(cudaMemcpy(tiles_.data(), wd_.tiles, tiles_.size() * sizeof(Tile), cudaMemcpyDeviceToHost));
        CUDA_REQUIRE(cudaMemcpy(sprites_.data(), wd_.sprites, sprites_.size() * sizeof(Sprite), cudaMemcpyDeviceToHost));
        CUDA_REQUIRE(cudaMemcpy(chunks_.data(), wd_.chunks, chunks_.size() * sizeof(Chunk), cudaMemcpyDeviceToHost));
        CUDA_REQUIRE(cudaMemcpy(hist, wd_.histogram, sizeof hist, cudaMemcpyDeviceToHost));
        double lum = 0, heat = 0, ypos = 0, tint = 0;
        long long sun = 0, listed = 0, level = 0;
        for (const Tile& t : tiles_) { lum += t.bleed.r + t.bleed.g + t.bleed.b; heat += t.heat; sun += t.sun; }
        for (const Sprite& s : sprites_) { ypos += s.y; tint += s.tint.r + s.tint.b; }
        for (const Chunk& c : chunks_) listed += c.count;
        for (int k = 0; k < 64; ++k) level += (long long)k * hist[k];
        std::printf("check %.5g/%.5g/%lld/%.4g/%.4g/%.4g/%.4g\n", lum, heat, sun, ypos, tint, (double)listed, (double)level);
    }
    static void require(cudaError_t e, const char* what, int line)
    {
        if (e == cudaSuccess) return;
        std::fprintf(stderr, "%s (line %d): %s\n", what, line, cudaGetErrorString(e));
        std::exit(1);
    }
private:
    template <class T> void push(T*& dev, const std::vector<T>& host)
    {
        CUDA_REQUIRE(cudaMalloc(&dev, host.size() * sizeof(T)));
        CUDA_REQUIRE(cudaMemcpy(dev, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
    }
    u32 next() { state_ = state_ * 1664525u + 1013904223u; return state_ >> 8; }
    float unit() { return next() * (1.0f / 16777216.0f); }
    void generate(int w, int h, int nLights, int nSprites)
    {
        tiles_.assign((size_t)w * h, Tile{});
        for (int x = 0; x < w; ++x) {
            int ground = (int)(h * 0.25f + 30.0f * std::sin(x * 0.013f) + 12.0f * std::sin(x * 0.071f));
            for (int y = 0; y < h; ++y) {
                Tile& t = tiles_[(size_t)y * w + x];
                t.height = (short)(ground - y);
                t.variant = (u16)(next() & 7);
                bool cave = std::sin(x * 0.05f + 3.0f * std::sin(y * 0.03f)) + std::sin(y * 0.08f) > 0.35f;
                if (y >= ground && !cave) {
                    t.material = next() % 50 == 0 ? 3 : (y > ground + 40 ? 2 : 1);
                    t.opacity = t.material == 3 ? 40 : 255;
                } else if (y > h - 60 && next() % 3) {
                    t.material = 4;
                    t.opacity = 120;
                }
                t.flags = y >= ground ? 1 : 0;
            }
        }
        lights_.resize(nLights);
        for (int i = 0; i < nLights; ++i) {
            PointLight l{};
            l.x = l.baseX = 2.0f + unit() * (w - 4);
            l.y = l.baseY = h * 0.2f + unit() * (h * 0.79f - 2.0f);
            l.color = Color{0.5f + 0.5f * unit(), 0.4f + 0.5f * unit(), 0.2f + 0.8f * unit()};
            l.radius = 5.0f + 14.0f * unit();
            l.intensity = 0.7f + 0.6f * unit();
            l.phase = 6.28f * unit();
            l.kind = (u8)(next() % 4);
            l.coneDir = 6.28f * unit();
            l.coneCos = l.kind == 2 ? 0.6f : -1.0f;
            l.owner = (int)(next() % (u32)nSprites);
            l.on = 1;
            lights_[i] = l;
        }
        sprites_.resize(nSprites);
        for (Sprite& s : sprites_) {
            s = Sprite{};
            s.x = 2.0f + unit() * (w - 5);
            s.y = 2.0f + unit() * (h - 5);
            s.vx = 6.0f * unit() - 3.0f;
            s.health = 10.0f;
            s.seed = (int)next();
            s.team = (u8)(next() & 3);
        }
        chunks_.assign((size_t)chunksX_ * chunksY_, Chunk{});
    }
    int chunksX_, chunksY_;
    u32 state_ = 20070101u;
    World wd_{};
    std::vector<Tile> tiles_;
    std::vector<PointLight> lights_;
    std::vector<Chunk> chunks_;
    std::vector<Sprite> sprites_;
};
int main()
{
    LightWorld world(4096, 1024, 20000, 600000);
    for (int f = 0; f < 8; ++f) world.frame();
    cudaEvent_t a, b;
    CUDA_REQUIRE(cudaEventCreate(&a));
    CUDA_REQUIRE(cudaEventCreate(&b));
    CUDA_REQUIRE(cudaEventRecord(a));
    const int frames = 60;
    for (int f = 0; f < frames; ++f) world.frame();
    CUDA_REQUIRE(cudaEventRecord(b));
    CUDA_REQUIRE(cudaEventSynchronize(b));
    float ms = 0.0f;
    CUDA_REQUIRE(cudaEventElapsedTime(&ms, a, b));
    world.summary();
    std::printf("time_ms %.4f\n", ms / frames);
    return 0;
}