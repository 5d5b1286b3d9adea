// Two small simulations whose data live in the L2 cache.
//  * a ring of 400 000 neurons (16 MB); each one listens to its 16 neighbours;
//    potentials are double-buffered *inside* the record (v[2])
//  * a 640 x 640 pond (11.5 MB, ping-pong) with a nine-point stencil on 28-byte cells
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

struct Neuron {
    float v[2];
    float recovery;
    float drive;
    float weight[4];
    int   refractory;
    unsigned short spikes;
    unsigned short kind;
};                             // 40 bytes

struct Water {
    float height;
    float mx, my;              // momentum
    float ground;
    float salt;
    float temp;
    int   wet;
};                             // 28 bytes

#define NN   400000
#define GX   640
#define GY   640

static void die_if(cudaError_t e, int line)
{
    if (e != cudaSuccess) { std::fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(e)); std::exit(1); }
}
#define CU(x) die_if((x), __LINE__)

__global__ void ring_step(Neuron *ring, int n, int cur)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Neuron *me = ring + i;
    float in = 0.f;
    for (int d = 1; d <= 8; ++d) {
        int l = i - d; if (l < 0) l += n;
        int r = i + d; if (r >= n) r -= n;
        in += me->weight[(d - 1) >> 1] * (ring[l].v[cur] + ring[r].v[cur]);
    }
    float v = me->v[cur];
    float nv = 0.90f * v + 0.05f * in + me->drive - me->recovery;
    if (me->refractory > 0) {
        me->refractory--;
        nv = 0.f;
    } else if (nv > 1.f) {
        me->refractory = 3 + me->kind;
        me->spikes++;
        me->recovery += 0.02f;
    }
    me->recovery *= 0.98f;
    me->v[cur ^ 1] = nv;
}

__device__ inline float spread(float c, float side, float corner)
{
    return c + 0.1f * (side - 4.f * c) + 0.025f * (corner - 4.f * c);
}

__global__ void pond_step(const Water *__restrict__ a, Water *__restrict__ b)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= GX || y >= GY) return;
    int xm = x ? x - 1 : GX - 1, xp = x + 1 < GX ? x + 1 : 0;
    int ym = y ? y - 1 : GY - 1, yp = y + 1 < GY ? y + 1 : 0;
    const Water *c = a + y * GX + x;
    const Water *n = a + ym * GX + x, *s = a + yp * GX + x;
    const Water *w = a + y * GX + xm, *e = a + y * GX + xp;
    const Water *nw = a + ym * GX + xm, *ne = a + ym * GX + xp;
    const Water *sw = a + yp * GX + xm, *se = a + yp * GX + xp;
    Water r = *c;
    if (c->wet) {
        r.mx = 0.995f * c->mx - 0.05f * (e->height + e->ground - w->height - w->ground);
        r.my = 0.995f * c->my - 0.05f * (s->height + s->ground - n->height - n->ground);
        r.height = spread(c->height, n->height + s->height + w->height + e->height,
                          nw->height + ne->height + sw->height + se->height)
                   - 0.05f * (e->mx - w->mx + s->my - n->my);
        r.salt = spread(c->salt, n->salt + s->salt + w->salt + e->salt, nw->salt + ne->salt + sw->salt + se->salt);
    }
    b[y * GX + x] = r;
}

int main()
{
    std::vector<Neuron> ring(NN);
    std::vector<Water> pond(GX * GY);
    unsigned s = 5u;
    for (int i = 0; i < NN; ++i) {
        s = s * 1664525u + 1013904223u;
        Neuron z;
        z.v[0] = (s >> 24) / 300.f; z.v[1] = 0.f;
        z.recovery = 0.f;
        z.drive = 0.02f + ((s >> 16) & 255) / 2000.f;
        for (int k = 0; k < 4; ++k) z.weight[k] = ((int)((s >> (4 * k)) & 15) - 7) / 40.f;
        z.refractory = (s >> 9) & 3;
        z.spikes = 0;
        z.kind = (s >> 12) & 1;
        ring[i] = z;
    }
    for (int y = 0; y < GY; ++y)
        for (int x = 0; x < GX; ++x) {
            Water &c = pond[y * GX + x];
            int dx = x - 200, dy = y - 320;
            c.height = dx * dx + dy * dy < 2500 ? 2.f : 1.f;
            c.mx = c.my = 0.f;
            c.ground = ((x / 16 + y / 16) & 3) * 0.05f;
            c.salt = (x % 50) * 0.02f;
            c.temp = 10.f + y * 0.01f;
            c.wet = (x % 97) != 0 || (y % 5) == 0;
        }

    Neuron *d_ring; Water *d_a, *d_b;
    CU(cudaMalloc(&d_ring, NN * sizeof(Neuron)));
    CU(cudaMalloc(&d_a, GX * GY * sizeof(Water)));
    CU(cudaMalloc(&d_b, GX * GY * sizeof(Water)));
    CU(cudaMemcpy(d_ring, ring.data(), NN * sizeof(Neuron), cudaMemcpyHostToDevice));
    CU(cudaMemcpy(d_a, pond.data(), GX * GY * sizeof(Water), cudaMemcpyHostToDevice));
    CU(cudaMemset(d_b, 0, GX * GY * sizeof(Water)));

    const int T = 128;
    dim3 tile(32, 4), tiles((GX + 31) / 32, (GY + 3) / 4);
    cudaEvent_t e0, e1;
    CU(cudaEventCreate(&e0)); CU(cudaEventCreate(&e1));
    ring_step<<<(NN + T - 1) / T, T>>>(d_ring, NN, 0);
    ring_step<<<(NN + T - 1) / T, T>>>(d_ring, NN, 1);
    pond_step<<<tiles, tile>>>(d_a, d_b);
    CU(cudaDeviceSynchronize());

    CU(cudaEventRecord(e0));
    for (int it = 0; it < 300; ++it) ring_step<<<(NN + T - 1) / T, T>>>(d_ring, NN, it & 1);
    for (int it = 0; it < 300; ++it) {
        pond_step<<<tiles, tile>>>(d_a, d_b);
        std::swap(d_a, d_b);
    }
    CU(cudaEventRecord(e1));
    CU(cudaEventSynchronize(e1));
    CU(cudaGetLastError());
    float ms; CU(cudaEventElapsedTime(&ms, e0, e1));

    CU(cudaMemcpy(ring.data(), d_ring, NN * sizeof(Neuron), cudaMemcpyDeviceToHost));
    CU(cudaMemcpy(pond.data(), d_a, GX * GY * sizeof(Water), cudaMemcpyDeviceToHost));
    double v = 0, rec = 0, h = 0, m = 0, sa = 0, t = 0; long long sp = 0;
    for (const Neuron &z : ring) { v += z.v[0]; rec += z.recovery; sp += z.spikes; }
    for (const Water &c : pond) { h += c.height; m += c.mx * c.mx + c.my * c.my; sa += c.salt; t += c.temp * (1 + c.wet); }
    std::printf("check potential %.6g\ncheck recovery %.6g\ncheck spikes %lld\n", v, rec, sp);
    std::printf("check height %.6g\ncheck momentum %.6g\ncheck salt %.6g\ncheck temp %.6g\n", h, m, sa, t);
    std::printf("time_ms %.4f\n", ms);
    cudaFree(d_ring); cudaFree(d_a); cudaFree(d_b);
    return 0;
}
