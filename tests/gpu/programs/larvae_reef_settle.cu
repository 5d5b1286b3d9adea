// Drift and settlement of oyster larvae in a tidal estuary.
// Larvae are advected by a gridded current field, grow according to local
// temperature and food, and settle on reefs that still have free substrate.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(call)                                                          \
    do {                                                                     \
        cudaError_t e_ = (call);                                             \
        if (e_ != cudaSuccess) {                                             \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__,               \
                    cudaGetErrorString(e_));                                 \
            exit(1);                                                         \
        }                                                                    \
    } while (0)

enum Stage { TROCHOPHORE = 0, VELIGER = 1, PEDIVELIGER = 2, SPAT = 3 };

struct Larva {
    float x, y, z;
    float vx, vy;
    float age_h;
    float size_um;
    float swim;
    unsigned int rng;
    int cell;
    int reef;
    unsigned char stage;
    unsigned char alive;
    short brood;
};

struct WaterCell {
    float u, v;
    float temp;
    float salinity;
    float food;
    float depth;
    int reef_id;
};

struct Reef {
    float quality;
    int capacity;
    int settled;
    int rejected;
    int open;
};

static unsigned long long g_seed = 88172645463325252ull;
static float frand() {
    g_seed = g_seed * 6364136223846793005ull + 1442695040888963407ull;
    return (float)((g_seed >> 40) & 0xffffff) / 16777216.0f;
}

__device__ __forceinline__ unsigned int next_rng(unsigned int &s) {
    s ^= s << 13;
    s ^= s >> 17;
    s ^= s << 5;
    return s;
}

__device__ __forceinline__ float unit_rng(unsigned int &s) {
    return (next_rng(s) >> 8) * (1.0f / 16777216.0f);
}

__device__ float2 current_at(const WaterCell *water, int g, float x, float y) {
    int ix = (int)x, iy = (int)y;
    ix = min(max(ix, 0), g - 2);
    iy = min(max(iy, 0), g - 2);
    float fx = x - ix, fy = y - iy;
    const WaterCell *c00 = water + (size_t)iy * g + ix;
    const WaterCell *c10 = c00 + 1;
    const WaterCell *c01 = c00 + g;
    const WaterCell *c11 = c01 + 1;
    float u0 = c00->u + fx * (c10->u - c00->u);
    float u1 = c01->u + fx * (c11->u - c01->u);
    float v0 = c00->v + fx * (c10->v - c00->v);
    float v1 = c01->v + fx * (c11->v - c01->v);
    return make_float2(u0 + fy * (u1 - u0), v0 + fy * (v1 - v0));
}

__global__ void tide_kernel(WaterCell *water, int g, float phase) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < g * g) {
        int ix = i % g, iy = i / g;
        float k = 6.2831853f / g;
        float amp = 0.8f / (0.5f + 0.05f * water[i].depth);
        water[i].u = amp * (cosf(phase) + 0.4f * sinf(3.0f * k * iy));
        water[i].v = amp * (0.5f * sinf(phase) + 0.4f * sinf(2.0f * k * ix));
    }
}

__global__ void advect_kernel(Larva *larvae, int n, const WaterCell *water,
                              int g, float dt) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        Larva *l = &larvae[i];
        if (!l->alive || l->stage == SPAT) return;
        float x = l->x, y = l->y;
        float2 c = current_at(water, g, x, y);
        float2 m = current_at(water, g, x + 0.5f * dt * c.x, y + 0.5f * dt * c.y);
        unsigned int s = l->rng;
        float rx = unit_rng(s) - 0.5f;
        float ry = unit_rng(s) - 0.5f;
        l->rng = s;
        x += dt * m.x + 0.3f * rx;
        y += dt * m.y + 0.3f * ry;
        if (x < 0.0f) x = -x;
        if (y < 0.0f) y = -y;
        float top = g - 1.001f;
        if (x > top) x = 2.0f * top - x;
        if (y > top) y = 2.0f * top - y;
        x = fminf(fmaxf(x, 0.0f), top);
        y = fminf(fmaxf(y, 0.0f), top);
        l->x = x;
        l->y = y;
        l->vx = m.x;
        l->vy = m.y;
        l->cell = (int)y * g + (int)x;
    }
}

__global__ void grow_kernel(Larva *larvae, int n, const WaterCell *water, float dt) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        if (!larvae[i].alive || larvae[i].stage == SPAT) return;
        const WaterCell &w = water[larvae[i].cell];
        float tq = expf(0.08f * (w.temp - 20.0f));
        float sal = 1.0f - 0.002f * (w.salinity - 22.0f) * (w.salinity - 22.0f);
        sal = fmaxf(sal, 0.1f);
        float size = larvae[i].size_um + dt * 0.9f * tq * sal * w.food;
        larvae[i].size_um = size;
        larvae[i].age_h += dt;
        unsigned char st = size > 290.0f ? PEDIVELIGER : size > 110.0f ? VELIGER : TROCHOPHORE;
        larvae[i].stage = st;
        float z = larvae[i].z;
        z += dt * (st == PEDIVELIGER ? larvae[i].swim : -0.3f * larvae[i].swim);
        larvae[i].z = fminf(fmaxf(z, 0.0f), w.depth);
        unsigned int s = larvae[i].rng;
        float p = 0.0015f * dt * (2.0f - sal);
        if (unit_rng(s) < p) larvae[i].alive = 0;
        larvae[i].rng = s;
    }
}

__global__ void settle_kernel(Larva *larvae, int n, const WaterCell *water, Reef *reefs) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        if (larvae[i].stage != PEDIVELIGER || !larvae[i].alive) return;
        int r = water[larvae[i].cell].reef_id;
        if (r < 0) return;
        if (larvae[i].z < 0.4f * water[larvae[i].cell].depth) return;
        if (!reefs[r].open) {
            atomicAdd(&reefs[r].rejected, 1);
            return;
        }
        unsigned int s = larvae[i].rng;
        bool take = unit_rng(s) < reefs[r].quality;
        larvae[i].rng = s;
        if (take) {
            larvae[i].stage = SPAT;
            larvae[i].reef = r;
            atomicAdd(&reefs[r].settled, 1);
        }
    }
}

__global__ void reef_kernel(Reef *reefs, int nr) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < nr) reefs[r].open = reefs[r].settled < reefs[r].capacity;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 2000000;
    if (n < 1) n = 1;
    int g = 64;
    while (g < 1024 && (long long)g * g < n / 2) g *= 2;
    int nr = g / 4;

    std::vector<Larva> larvae(n);
    std::vector<WaterCell> water((size_t)g * g);
    std::vector<Reef> reefs(nr);

    for (int i = 0; i < g * g; i++) {
        WaterCell &w = water[i];
        w.u = w.v = 0.0f;
        w.temp = 18.0f + 8.0f * frand();
        w.salinity = 12.0f + 20.0f * (float)(i % g) / g;
        w.food = 0.3f + frand();
        w.depth = 1.0f + 11.0f * frand();
        w.reef_id = -1;
    }
    for (int r = 0; r < nr; r++) {
        reefs[r].quality = 0.2f + 0.7f * frand();
        reefs[r].capacity = 1 + (int)(0.4f * n / nr * frand());
        reefs[r].settled = reefs[r].rejected = 0;
        reefs[r].open = 1;
        int rad = g / 40 + 1;
        int cx = (int)(frand() * g), cy = (int)(frand() * g);
        for (int y = cy - rad; y <= cy + rad; y++)
            for (int x = cx - rad; x <= cx + rad; x++) {
                if (x < 0 || y < 0 || x >= g || y >= g) continue;
                if ((x - cx) * (x - cx) + (y - cy) * (y - cy) <= rad * rad)
                    water[(size_t)y * g + x].reef_id = r;
            }
    }
    int broods = n / 500 + 1;
    for (int i = 0; i < n; i++) {
        Larva &l = larvae[i];
        int b = (int)((long long)i * broods / n);
        unsigned int h = (unsigned int)b * 2654435761u;
        float bx = (h & 0xffff) / 65536.0f * g, by = (h >> 16) / 65536.0f * g;
        l.x = fminf(fmaxf(bx + 12.0f * (frand() - 0.5f), 0.0f), g - 1.01f);
        l.y = fminf(fmaxf(by + 12.0f * (frand() - 0.5f), 0.0f), g - 1.01f);
        l.z = frand() * 2.0f;
        l.vx = l.vy = 0.0f;
        l.age_h = 0.0f;
        l.size_um = 60.0f + 230.0f * frand();
        l.swim = 0.2f + 0.5f * frand();
        l.rng = (unsigned int)i * 747796405u + 2891336453u;
        if (l.rng == 0) l.rng = 1;
        l.cell = (int)l.y * g + (int)l.x;
        l.reef = -1;
        l.stage = l.size_um > 110.0f ? VELIGER : TROCHOPHORE;
        l.alive = 1;
        l.brood = (short)(b & 0x7fff);
    }

    Larva *d_larvae;
    WaterCell *d_water;
    Reef *d_reefs;
    CHECK(cudaMalloc(&d_larvae, sizeof(Larva) * n));
    CHECK(cudaMalloc(&d_water, sizeof(WaterCell) * water.size()));
    CHECK(cudaMalloc(&d_reefs, sizeof(Reef) * nr));
    CHECK(cudaMemcpy(d_larvae, larvae.data(), sizeof(Larva) * n, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_water, water.data(), sizeof(WaterCell) * water.size(), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_reefs, reefs.data(), sizeof(Reef) * nr, cudaMemcpyHostToDevice));

    const int threads = 256;
    int bl = (n + threads - 1) / threads;
    int bw = (g * g + threads - 1) / threads;
    int br = (nr + threads - 1) / threads;
    const float dt = 1.0f;
    const int steps = 24;

    cudaEvent_t t0, t1;
    CHECK(cudaEventCreate(&t0));
    CHECK(cudaEventCreate(&t1));
    for (int step = 0; step <= steps; step++) {
        if (step == 1) CHECK(cudaEventRecord(t0));
        tide_kernel<<<bw, threads>>>(d_water, g, step * 0.506f);
        advect_kernel<<<bl, threads>>>(d_larvae, n, d_water, g, dt);
        grow_kernel<<<bl, threads>>>(d_larvae, n, d_water, dt);
        reef_kernel<<<br, threads>>>(d_reefs, nr);
        settle_kernel<<<bl, threads>>>(d_larvae, n, d_water, d_reefs);
    }
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(t1));
    CHECK(cudaEventSynchronize(t1));
    float ms = 0.0f;
    CHECK(cudaEventElapsedTime(&ms, t0, t1));

    CHECK(cudaMemcpy(larvae.data(), d_larvae, sizeof(Larva) * n, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(reefs.data(), d_reefs, sizeof(Reef) * nr, cudaMemcpyDeviceToHost));

    long long alive = 0, spat = 0, settled = 0, rejected = 0;
    double size = 0.0, xs = 0.0, speed = 0.0;
    for (const Larva &l : larvae) {
        alive += l.alive;
        spat += l.stage == SPAT;
        size += l.size_um;
        xs += l.x + l.y + l.z;
        speed += sqrt((double)l.vx * l.vx + (double)l.vy * l.vy);
    }
    for (const Reef &r : reefs) {
        settled += r.settled;
        rejected += r.rejected;
    }
    printf("check alive %lld\n", alive);
    printf("check spat %lld\n", spat);
    printf("check settled %lld\n", settled);
    printf("check rejected %lld\n", rejected);
    printf("check sum_size %.6g\n", size);
    printf("check sum_pos %.6g\n", xs);
    printf("check sum_speed %.6g\n", speed);
    printf("time_ms %.4f\n", ms / steps);

    CHECK(cudaFree(d_larvae));
    CHECK(cudaFree(d_water));
    CHECK(cudaFree(d_reefs));
    return 0;
}
