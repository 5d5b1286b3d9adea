// Dogs hunt truffles in an oak wood. Each dog is a small state machine with its own random numbers; the ground keeps
// a scent that digging wears off.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

enum Mood { ROAM, TRACK, DIG, REST };

struct Dog {
    float x, y;
    float heading;
    float speed;
    float nose[4];
    float energy;
    unsigned int rng;
    int mood;
    int timer;
    int found;
    unsigned char breed;
    unsigned char handler;
};

struct Ground {
    float scent;
    float moisture;
    int digs;
    unsigned short roots;
    unsigned char tree;
    unsigned char ripe;
};

struct Wood {
    int side;
    float calm;
    int ticks;
};

#define OK(x) check_cuda((x), __LINE__)
static void check_cuda(cudaError_t e, int line)
{
    if (e == cudaSuccess) return;
    fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(e));
    exit(2);
}

__host__ __device__ static inline unsigned scramble(unsigned a)
{
    a = (a ^ 61u) ^ (a >> 16);
    a *= 9u;
    a ^= a >> 4;
    a *= 0x27d4eb2du;
    return a ^ (a >> 15);
}

__device__ float draw(Dog *d)
{
    unsigned s = d->rng;
    s ^= s << 13;
    s ^= s >> 17;
    s ^= s << 5;
    d->rng = s;
    return (s >> 8) * (1.0f / 16777216.0f);
}

__device__ int spot(const Wood &w, float x, float y)
{
    int ix = min(max((int)x, 0), w.side - 1);
    int iy = min(max((int)y, 0), w.side - 1);
    return iy * w.side + ix;
}

__device__ void sniff(Dog *d, const Ground *ground, const Wood &w)
{
    const float dx[4] = {3.0f, 0.0f, -3.0f, 0.0f};
    const float dy[4] = {0.0f, 3.0f, 0.0f, -3.0f};
    for (int k = 0; k < 4; k++) {
        const Ground &g = ground[spot(w, d->x + dx[k], d->y + dy[k])];
        d->nose[k] = 0.5f * d->nose[k] + g.scent * (1.0f - 0.3f * g.moisture);
    }
}

__global__ void walk_dogs(Dog *dogs, int n, const Ground *ground, int *pits, Wood w)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= n) return;
    Dog *d = &dogs[id];
    for (int t = 0; t < w.ticks; t++) {
        switch (d->mood) {
        case ROAM: {
            d->heading += 0.8f * (draw(d) - 0.5f);
            d->x += d->speed * __cosf(d->heading);
            d->y += d->speed * __sinf(d->heading);
            d->energy -= 0.01f;
            if (ground[spot(w, d->x, d->y)].scent > 0.75f) {
                d->mood = TRACK;
                d->timer = 6;
            }
            break;
        }
        case TRACK: {
            sniff(d, ground, w);
            int best = 0;
            for (int k = 1; k < 4; k++)
                if (d->nose[k] > d->nose[best]) best = k;
            d->heading = 1.5707963f * best;
            d->x += best == 0 ? 1.0f : best == 2 ? -1.0f : 0.0f;
            d->y += best == 1 ? 1.0f : best == 3 ? -1.0f : 0.0f;
            d->energy -= 0.02f;
            if (--d->timer <= 0) {
                d->mood = d->nose[best] > 1.1f ? DIG : ROAM;
                d->timer = 2 + d->breed % 3;
            }
            break;
        }
        case DIG: {
            int g = spot(w, d->x, d->y);
            atomicAdd(&pits[g], 1);
            d->energy -= 0.05f;
            if (--d->timer <= 0) {
                if (ground[g].ripe && draw(d) < 0.5f + 0.001f * ground[g].roots) d->found++;
                d->mood = d->energy < 0.3f ? REST : ROAM;
            }
            break;
        }
        default:
            d->energy += 0.2f;
            if (d->energy > 1.0f) d->mood = ROAM;
        }
        if (d->energy < 0.0f) d->mood = REST;
        if (d->x < 0.0f) d->x += w.side;
        if (d->x >= w.side) d->x -= w.side;
        if (d->y < 0.0f) d->y += w.side;
        if (d->y >= w.side) d->y -= w.side;
    }
}

__global__ void air_ground(Ground *ground, int *pits, Wood w)
{
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < w.side * w.side; i += stride) {
        int fresh = pits[i];
        if (fresh) {
            ground[i].digs += fresh;
            ground[i].scent *= 1.0f / (1.0f + 0.2f * fresh);
            pits[i] = 0;
        } else if (ground[i].ripe) {
            ground[i].scent += w.calm * (1.0f - ground[i].scent);
        }
    }
}

int main(int argc, char **argv)
{
    int n = 220000;
    if (argc > 1) n = atoi(argv[1]);
    Wood w;
    w.side = 1024;
    w.calm = 0.02f;
    w.ticks = 12;
    const int area = w.side * w.side;

    Dog *dogs;
    Ground *ground;
    int *pits;
    OK(cudaMallocManaged(&dogs, sizeof(Dog) * n));
    OK(cudaMallocManaged(&ground, sizeof(Ground) * area));
    OK(cudaMalloc(&pits, sizeof(int) * area));
    OK(cudaMemset(pits, 0, sizeof(int) * area));
    for (int i = 0; i < n; i++) {
        unsigned h = scramble(i + 1);
        Dog &d = dogs[i];
        d.x = h % 1024 + 0.5f;
        d.y = (h >> 10) % 1024 + 0.5f;
        d.heading = (h >> 20) * 0.0015f;
        d.speed = 0.5f + (scramble(h) & 255) / 256.0f;
        for (int k = 0; k < 4; k++) d.nose[k] = 0.0f;
        d.energy = 0.5f + (scramble(h + 3) & 127) / 256.0f;
        d.rng = scramble(h + 11) | 1u;
        d.mood = ROAM;
        d.timer = 0;
        d.found = 0;
        d.breed = h % 7;
        d.handler = i % 250;
    }
    for (int i = 0; i < area; i++) {
        unsigned h = scramble(i * 3u + 12345u);
        ground[i].moisture = (h & 255) / 255.0f;
        ground[i].ripe = (h >> 8) % 9 == 0;
        ground[i].scent = ground[i].ripe ? 0.6f + 0.4f * ((h >> 16) & 255) / 256.0f : 0.3f * ((h >> 16) & 255) / 256.0f;
        ground[i].digs = 0;
        ground[i].roots = (h >> 4) % 400;
        ground[i].tree = (h >> 24) % 5;
    }

    int blocks = (n + 127) / 128;
    cudaEvent_t e0, e1;
    OK(cudaEventCreate(&e0));
    OK(cudaEventCreate(&e1));
    const int warm = 4, days = 60;
    for (int s = 0; s < warm + days; s++) {
        if (s == warm) OK(cudaEventRecord(e0));
        walk_dogs<<<blocks, 128>>>(dogs, n, ground, pits, w);
        air_ground<<<528, 256>>>(ground, pits, w);
    }
    OK(cudaEventRecord(e1));
    OK(cudaDeviceSynchronize());
    float ms;
    OK(cudaEventElapsedTime(&ms, e0, e1));

    long long found = 0, digs = 0, resting = 0;
    for (int i = 0; i < n; i++) {
        found += dogs[i].found;
        resting += dogs[i].mood == REST;
    }
    for (int i = 0; i < area; i++) digs += (long long)ground[i].digs * (i % 13 + 1);
    printf("check %lld\n", found * 1000 + digs + resting);
    printf("time_ms %.5f\n", ms / days);
    return 0;
}
