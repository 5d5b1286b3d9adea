// Coloured light on a cathedral floor: photons fall through layers of stained
// glass panes (a BVH of triangles), are tinted, bent or scattered and finally
// collected on a grid of floor tiles.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define TRY(x)                                                                  \
    do {                                                                        \
        cudaError_t e__ = (x);                                                  \
        if (e__ != cudaSuccess) {                                               \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__,                  \
                    cudaGetErrorString(e__));                                   \
            exit(1);                                                            \
        }                                                                       \
    } while (0)

#define FLOOR_RES 512
#define MAX_DEPTH 4

struct Pane {
    float v0[3];
    float e1[3];
    float e2[3];
    float tint[3];
    float ior;
    float thickness;
    int window;
    short maker;
    unsigned char lead;
    unsigned char frosted;
};

struct BvhNode {
    float lo[3];
    float hi[3];
    int left;
    int right;
    int first;
    short count;
    short axis;
};

struct Photon {
    float o[3];
    float d[3];
    float rgb[3];
    float t_hit;
    float path;
    int pane;
    unsigned int rng;
    unsigned char alive;
    unsigned char depth;
    unsigned char absorbed_by_lead;
};

struct FloorTile {
    float r, g, b;
    int hits;
};

__device__ float rand01(unsigned int &s) {
    s = s * 747796405u + 2891336453u;
    unsigned int w = ((s >> ((s >> 28) + 4u)) ^ s) * 277803737u;
    w = (w >> 22) ^ w;
    return (w >> 8) * (1.0f / 16777216.0f);
}

__global__ void emit(Photon *photons, int n, float sun_x, float sun_y, unsigned int seed) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        Photon p;
        unsigned int s = (unsigned int)i * 9277u + seed;
        rand01(s);
        p.o[0] = rand01(s);
        p.o[1] = rand01(s);
        p.o[2] = 1.05f;
        float dx = sun_x + 0.05f * (rand01(s) - 0.5f);
        float dy = sun_y + 0.05f * (rand01(s) - 0.5f);
        float inv = rsqrtf(dx * dx + dy * dy + 1.0f);
        p.d[0] = dx * inv;
        p.d[1] = dy * inv;
        p.d[2] = -inv;
        p.rgb[0] = 1.0f;
        p.rgb[1] = 0.97f;
        p.rgb[2] = 0.9f;
        p.t_hit = 0.0f;
        p.path = 0.0f;
        p.pane = -1;
        p.rng = s;
        p.alive = 1;
        p.depth = 0;
        p.absorbed_by_lead = 0;
        photons[i] = p;
    }
}

__device__ bool hit_box(const BvhNode &nd, const float *o, const float *inv, float tmax) {
    float t0 = 0.0f, t1 = tmax;
    for (int k = 0; k < 3; k++) {
        float a = (nd.lo[k] - o[k]) * inv[k];
        float b = (nd.hi[k] - o[k]) * inv[k];
        t0 = fmaxf(t0, fminf(a, b));
        t1 = fminf(t1, fmaxf(a, b));
    }
    return t0 <= t1;
}

__device__ float hit_pane(const Pane &p, const float *o, const float *d) {
    float px = d[1] * p.e2[2] - d[2] * p.e2[1];
    float py = d[2] * p.e2[0] - d[0] * p.e2[2];
    float pz = d[0] * p.e2[1] - d[1] * p.e2[0];
    float det = p.e1[0] * px + p.e1[1] * py + p.e1[2] * pz;
    if (fabsf(det) < 1e-12f) return -1.0f;
    float id = 1.0f / det;
    float tx = o[0] - p.v0[0], ty = o[1] - p.v0[1], tz = o[2] - p.v0[2];
    float u = (tx * px + ty * py + tz * pz) * id;
    if (u < 0.0f || u > 1.0f) return -1.0f;
    float qx = ty * p.e1[2] - tz * p.e1[1];
    float qy = tz * p.e1[0] - tx * p.e1[2];
    float qz = tx * p.e1[1] - ty * p.e1[0];
    float v = (d[0] * qx + d[1] * qy + d[2] * qz) * id;
    if (v < 0.0f || u + v > 1.0f) return -1.0f;
    return (p.e2[0] * qx + p.e2[1] * qy + p.e2[2] * qz) * id;
}

__global__ void trace(Photon *photons, int n, const BvhNode *nodes, const Pane *panes) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        if (!photons[i].alive) return;
        float o[3], d[3], inv[3];
        for (int k = 0; k < 3; k++) {
            o[k] = photons[i].o[k];
            d[k] = photons[i].d[k];
            inv[k] = 1.0f / (fabsf(d[k]) > 1e-8f ? d[k] : 1e-8f);
        }
        float best = FLT_MAX;
        int pane = -1;
        int stack[40];
        int sp = 0;
        stack[sp++] = 0;
        while (sp > 0) {
            const BvhNode &nd = nodes[stack[--sp]];
            if (!hit_box(nd, o, inv, best)) continue;
            if (nd.count > 0) {
                for (int k = nd.first; k < nd.first + nd.count; k++) {
                    float t = hit_pane(panes[k], o, d);
                    if (t > 1e-4f && t < best) {
                        best = t;
                        pane = k;
                    }
                }
            } else if (d[nd.axis] > 0.0f) {
                stack[sp++] = nd.right;
                stack[sp++] = nd.left;
            } else {
                stack[sp++] = nd.left;
                stack[sp++] = nd.right;
            }
        }
        photons[i].pane = pane;
        photons[i].t_hit = best;
    }
}

__global__ void shade(Photon *photons, int n, const Pane *panes) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        Photon &p = photons[i];
        if (!p.alive || p.pane < 0) return;
        const Pane &g = panes[p.pane];
        float t = p.t_hit;
        if (g.lead) {
            p.alive = 0;
            p.absorbed_by_lead = 1;
            return;
        }
        p.path += t;
        p.depth++;
        for (int k = 0; k < 3; k++) {
            p.o[k] += t * p.d[k];
            p.rgb[k] *= powf(g.tint[k], g.thickness);
        }
        float dx = p.d[0], dy = p.d[1], dz = p.d[2];
        if (g.frosted) {
            dx += 0.4f * (rand01(p.rng) - 0.5f);
            dy += 0.4f * (rand01(p.rng) - 0.5f);
        } else {
            float bend = 0.05f * (g.ior - 1.0f);
            float nx = g.e1[1] * g.e2[2] - g.e1[2] * g.e2[1];
            float ny = g.e1[2] * g.e2[0] - g.e1[0] * g.e2[2];
            float nz = g.e1[0] * g.e2[1] - g.e1[1] * g.e2[0];
            float il = rsqrtf(nx * nx + ny * ny + nz * nz + 1e-20f);
            float s = (nx * dx + ny * dy + nz * dz) > 0.0f ? il : -il;
            dx += bend * s * nx;
            dy += bend * s * ny;
        }
        float inv = rsqrtf(dx * dx + dy * dy + dz * dz);
        p.d[0] = dx * inv;
        p.d[1] = dy * inv;
        p.d[2] = dz * inv;
        float lum = 0.3f * p.rgb[0] + 0.59f * p.rgb[1] + 0.11f * p.rgb[2];
        if (lum < 0.02f) p.alive = 0;
    }
}

__global__ void land(Photon *photons, int n, FloorTile *floor_tiles) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        if (!photons[i].alive || photons[i].d[2] >= -1e-4f) return;
        float t = photons[i].o[2] / -photons[i].d[2];
        float x = photons[i].o[0] + t * photons[i].d[0];
        float y = photons[i].o[1] + t * photons[i].d[1];
        photons[i].path += t;
        if (x < 0.0f || y < 0.0f || x >= 1.0f || y >= 1.0f) return;
        FloorTile *f = &floor_tiles[(int)(y * FLOOR_RES) * FLOOR_RES + (int)(x * FLOOR_RES)];
        atomicAdd(&f->r, photons[i].rgb[0]);
        atomicAdd(&f->g, photons[i].rgb[1]);
        atomicAdd(&f->b, photons[i].rgb[2]);
        atomicAdd(&f->hits, 1);
    }
}

static unsigned int hs = 12345u;
static float hrnd() {
    hs = hs * 1664525u + 1013904223u;
    return (hs >> 8) / 16777216.0f;
}

static void grow(BvhNode &nd, const Pane &p) {
    for (int k = 0; k < 3; k++) {
        float a = p.v0[k], b = a + p.e1[k], c = a + p.e2[k];
        nd.lo[k] = std::min(nd.lo[k], std::min(a, std::min(b, c)) - 1e-5f);
        nd.hi[k] = std::max(nd.hi[k], std::max(a, std::max(b, c)) + 1e-5f);
    }
}

static int build(std::vector<BvhNode> &nodes, std::vector<Pane> &panes, int first, int count) {
    int id = (int)nodes.size();
    nodes.push_back(BvhNode());
    BvhNode nd;
    for (int k = 0; k < 3; k++) {
        nd.lo[k] = FLT_MAX;
        nd.hi[k] = -FLT_MAX;
    }
    for (int i = first; i < first + count; i++) grow(nd, panes[i]);
    int axis = 0;
    for (int k = 1; k < 3; k++)
        if (nd.hi[k] - nd.lo[k] > nd.hi[axis] - nd.lo[axis]) axis = k;
    nd.axis = (short)axis;
    nd.first = first;
    nd.left = nd.right = -1;
    nd.count = 0;
    if (count <= 4) {
        nd.count = (short)count;
    } else {
        int half = count / 2;
        std::nth_element(panes.begin() + first, panes.begin() + first + half,
                         panes.begin() + first + count, [axis](const Pane &a, const Pane &b) {
                             float ca = 3 * a.v0[axis] + a.e1[axis] + a.e2[axis];
                             float cb = 3 * b.v0[axis] + b.e1[axis] + b.e2[axis];
                             return ca < cb;
                         });
        nd.left = build(nodes, panes, first, half);
        nd.right = build(nodes, panes, first + half, count - half);
    }
    nodes[id] = nd;
    return id;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 1500000;
    if (n < 1) n = 1;
    int per_side = (int)std::sqrt(n / 20.0 / 6.0);
    per_side = std::max(3, std::min(per_side, 160));

    std::vector<Pane> panes;
    for (int layer = 0; layer < 3; layer++)
        for (int j = 0; j < per_side; j++)
            for (int i = 0; i < per_side; i++)
                for (int h = 0; h < 2; h++) {
                    if (hrnd() < 0.3f) continue;
                    float s = 1.0f / per_side;
                    Pane p;
                    float z = 0.85f - 0.25f * layer + 0.04f * hrnd();
                    p.v0[0] = (i + h) * s;
                    p.v0[1] = (j + h) * s;
                    p.v0[2] = z;
                    float sg = h ? -1.0f : 1.0f;
                    p.e1[0] = sg * s * 0.98f;
                    p.e1[1] = 0.0f;
                    p.e1[2] = 0.6f * s * (hrnd() - 0.5f);
                    p.e2[0] = 0.0f;
                    p.e2[1] = sg * s * 0.98f;
                    p.e2[2] = 0.6f * s * (hrnd() - 0.5f);
                    for (int k = 0; k < 3; k++) p.tint[k] = 0.25f + 0.75f * hrnd();
                    p.ior = 1.45f + 0.15f * hrnd();
                    p.thickness = 0.5f + hrnd();
                    p.window = (j / 8) * 64 + i / 8;
                    p.maker = (short)(hrnd() * 30);
                    p.lead = hrnd() < 0.06f;
                    p.frosted = hrnd() < 0.2f;
                    panes.push_back(p);
                }
    int np = (int)panes.size();
    std::vector<BvhNode> nodes;
    nodes.reserve(2 * np + 1);
    build(nodes, panes, 0, np);

    Photon *d_ph;
    Pane *d_pn;
    BvhNode *d_nd;
    FloorTile *d_fl;
    size_t tiles = (size_t)FLOOR_RES * FLOOR_RES;
    TRY(cudaMalloc(&d_ph, (size_t)n * sizeof(Photon)));
    TRY(cudaMalloc(&d_pn, panes.size() * sizeof(Pane)));
    TRY(cudaMalloc(&d_nd, nodes.size() * sizeof(BvhNode)));
    TRY(cudaMalloc(&d_fl, tiles * sizeof(FloorTile)));
    TRY(cudaMemcpy(d_pn, panes.data(), panes.size() * sizeof(Pane), cudaMemcpyHostToDevice));
    TRY(cudaMemcpy(d_nd, nodes.data(), nodes.size() * sizeof(BvhNode), cudaMemcpyHostToDevice));
    TRY(cudaMemset(d_fl, 0, tiles * sizeof(FloorTile)));

    int tb = 128, grid = (n + tb - 1) / tb;
    cudaEvent_t a, b;
    TRY(cudaEventCreate(&a));
    TRY(cudaEventCreate(&b));
    const int hours = 6;
    for (int hr = 0; hr <= hours; hr++) {
        if (hr == 1) TRY(cudaEventRecord(a));
        emit<<<grid, tb>>>(d_ph, n, 0.1f * (hr - 3), 0.15f, 1000u + 77777u * hr);
        for (int k = 0; k < MAX_DEPTH; k++) {
            trace<<<grid, tb>>>(d_ph, n, d_nd, d_pn);
            shade<<<grid, tb>>>(d_ph, n, d_pn);
        }
        land<<<grid, tb>>>(d_ph, n, d_fl);
    }
    TRY(cudaEventRecord(b));
    TRY(cudaEventSynchronize(b));
    TRY(cudaGetLastError());
    float ms = 0.0f;
    TRY(cudaEventElapsedTime(&ms, a, b));

    std::vector<Photon> ph(n);
    std::vector<FloorTile> fl(tiles);
    TRY(cudaMemcpy(ph.data(), d_ph, (size_t)n * sizeof(Photon), cudaMemcpyDeviceToHost));
    TRY(cudaMemcpy(fl.data(), d_fl, tiles * sizeof(FloorTile), cudaMemcpyDeviceToHost));

    long long hits = 0, alive = 0, lead = 0, depth = 0;
    int lit = 0;
    double r = 0, g = 0, bl = 0, path = 0;
    for (const auto &p : ph) {
        alive += p.alive;
        lead += p.absorbed_by_lead;
        depth += p.depth;
        path += p.path;
    }
    for (const auto &f : fl) {
        hits += f.hits;
        lit += f.hits > 0;
        r += f.r;
        g += f.g;
        bl += f.b;
    }
    printf("check panes %d\n", np);
    printf("check floor_hits %lld\n", hits);
    printf("check lit_tiles %d\n", lit);
    printf("check alive %lld\n", alive);
    printf("check lead %lld\n", lead);
    printf("check depth %lld\n", depth);
    printf("check path %.6g\n", path);
    printf("check red %.2e\n", r);
    printf("check green %.2e\n", g);
    printf("check blue %.2e\n", bl);
    printf("time_ms %.4f\n", ms / hours);
    TRY(cudaFree(d_ph));
    TRY(cudaFree(d_pn));
    TRY(cudaFree(d_nd));
    TRY(cudaFree(d_fl));
    return 0;
}
