// Ice shelf flow and rift damage on an unstructured point mesh.
// Shallow-shelf style pseudo-time relaxation of velocities, followed by
// upwind thickness transport and damage evolution.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>
#include <cuda_runtime.h>

#define CK(e)                                                                   \
    {                                                                           \
        cudaError_t rc = (e);                                                   \
        if (rc != cudaSuccess) {                                                \
            printf("CUDA failure %s line %d\n", cudaGetErrorString(rc), __LINE__); \
            exit(2);                                                            \
        }                                                                       \
    }

struct IceNode {
    double x, y;
    double thick;
    double thick_new;
    double bed;
    double u, v;
    double fu, fv;
    float temp;
    float damage;
    float melt;
    int basin;
    unsigned char floating;
    unsigned char boundary;
    short n_links;
};

struct Link {
    int other;
    float len;
    float nx, ny;
    float strain;
};

struct BasinSum {
    double volume;
    double melt;
    int floating;
    int rifted;
};

__device__ inline double surface_of(const IceNode &p) {
    return p.floating ? p.thick * (1.0 - 917.0 / 1028.0) : p.bed + p.thick;
}

__global__ void stress_balance(IceNode *nodes, Link *links, const int *row, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        double ui = nodes[i].u, vi = nodes[i].v;
        double si = surface_of(nodes[i]);
        float di = nodes[i].damage;
        double au = 0.0, av = 0.0, gx = 0.0, gy = 0.0;
        int lo = row[i], hi = row[i + 1];
        for (int k = lo; k < hi; k++) {
            const IceNode &q = nodes[links[k].other];
            double du = q.u - ui, dv = q.v - vi;
            double nx = links[k].nx, ny = links[k].ny, len = links[k].len;
            double stiff = 1.0 - 0.5 * (di + q.damage);
            au += stiff * du;
            av += stiff * dv;
            double ds = (surface_of(q) - si) / len;
            gx += ds * nx;
            gy += ds * ny;
            links[k].strain = (float)((du * nx + dv * ny) / len);
        }
        double inv = 1.0 / max(hi - lo, 1);
        double beta = nodes[i].floating ? 0.002 : 0.12;
        double h = nodes[i].thick;
        nodes[i].fu = au * inv - beta * ui - 9.0e-4 * h * gx * inv;
        nodes[i].fv = av * inv - beta * vi - 9.0e-4 * h * gy * inv;
    }
}

__global__ void relax_velocity(IceNode *nodes, int n, double a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        if (nodes[i].boundary == 1) {
            nodes[i].u = 0.0;
            nodes[i].v = 0.0;
            return;
        }
        nodes[i].u += a * nodes[i].fu;
        nodes[i].v += a * nodes[i].fv;
    }
}

__global__ void transport_thickness(IceNode *nodes, const Link *links, const int *row,
                                    int n, double dt) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        double ui = nodes[i].u, vi = nodes[i].v, hi = nodes[i].thick;
        double net = 0.0;
        for (int k = row[i]; k < row[i + 1]; k++) {
            int j = links[k].other;
            double un = 0.5 * ((ui + nodes[j].u) * links[k].nx + (vi + nodes[j].v) * links[k].ny);
            double up = un > 0.0 ? hi : nodes[j].thick;
            net -= un * up / links[k].len;
        }
        double lim = 0.02 * hi;
        double dh = dt * net;
        dh = dh > lim ? lim : (dh < -lim ? -lim : dh);
        nodes[i].thick_new = hi + dh;
    }
}

__global__ void update_state(IceNode *nodes, const Link *links, const int *row,
                             int n, float dt, float ocean) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float open = 0.0f;
        for (int k = row[i]; k < row[i + 1]; k++) open = fmaxf(open, links[k].strain);
        IceNode &p = nodes[i];
        double h = p.thick_new;
        bool fl = 917.0 * h < -1028.0 * p.bed;
        float m = 0.0f;
        if (fl) m = 0.4f * fmaxf(ocean + 0.0008f * (float)h, 0.0f);
        h -= dt * m;
        p.thick = h > 5.0 ? h : 5.0;
        p.floating = fl ? 1 : 0;
        p.melt = m;
        float d = p.damage;
        if (open > 1e-3f)
            d += dt * 0.6f * (open - 1e-3f) * 40.0f * (1.0f - d);
        else
            d -= dt * 0.01f * d;
        p.damage = fminf(fmaxf(d, 0.0f), 0.95f);
        p.temp += 0.02f * dt * ((fl ? -2.0f : -12.0f) - p.temp);
    }
}

__global__ void basin_totals(const IceNode *nodes, int n, BasinSum *sums) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        BasinSum *b = &sums[nodes[i].basin];
        atomicAdd(&b->volume, nodes[i].thick);
        if (nodes[i].floating) {
            atomicAdd(&b->floating, 1);
            atomicAdd(&b->melt, (double)nodes[i].melt);
        }
        if (nodes[i].damage > 0.3f) atomicAdd(&b->rifted, 1);
    }
}

static unsigned int hash32(unsigned int a) {
    a ^= a >> 16;
    a *= 0x7feb352du;
    a ^= a >> 15;
    a *= 0x846ca68bu;
    a ^= a >> 16;
    return a;
}
static double hrand(unsigned int a) { return hash32(a) / 4294967296.0; }

int main(int argc, char **argv) {
    int want = argc > 1 ? atoi(argv[1]) : 640000;
    if (want < 4) want = 4;
    int w = (int)std::sqrt((double)want);
    int h = want / w;
    int n = w * h;

    // node numbering: shuffled inside windows, as left by a mesh generator
    std::vector<int> id(n);
    std::iota(id.begin(), id.end(), 0);
    const int win = 2048;
    for (int s = 0; s < n; s += win) {
        int e = std::min(n, s + win);
        for (int i = e - 1; i > s; i--) {
            int j = s + (int)(hash32(i * 3u + 7u) % (unsigned)(i - s + 1));
            std::swap(id[i], id[j]);
        }
    }

    const int basins = 256;
    std::vector<IceNode> nodes(n);
    std::vector<int> degree(n + 1, 0), row(n + 1, 0);
    for (int gy = 0; gy < h; gy++)
        for (int gx = 0; gx < w; gx++) {
            int g = gy * w + gx;
            IceNode &p = nodes[id[g]];
            p.x = gx + 0.5 * (hrand(g * 2u) - 0.5);
            p.y = gy + 0.5 * (hrand(g * 2u + 1u) - 0.5);
            double fx = (double)gx / w, fy = (double)gy / h;
            p.bed = 250.0 - 900.0 * fx + 120.0 * sin(9.0 * fy) * cos(7.0 * fx);
            p.thick = 800.0 - 520.0 * fx + 2.0 * hrand(g + 77u);
            p.thick_new = p.thick;
            p.u = p.v = p.fu = p.fv = 0.0;
            p.temp = (float)(-20.0 + 10.0 * hrand(g + 999u));
            p.damage = (float)(0.1 * hrand(g + 5555u));
            p.melt = 0.0f;
            p.basin = (int)(fy * 16) * 16 + (int)(fx * 16);
            p.floating = 917.0 * p.thick < -1028.0 * p.bed;
            p.boundary = gx == 0 ? 1 : (gx == w - 1 ? 2 : 0);
            int deg = 0;
            for (int dy = -1; dy <= 1; dy++)
                for (int dx = -1; dx <= 1; dx++) {
                    int ax = gx + dx, ay = gy + dy;
                    if ((dx || dy) && ax >= 0 && ay >= 0 && ax < w && ay < h) deg++;
                }
            p.n_links = (short)deg;
            degree[id[g]] = deg;
        }
    for (int i = 0; i < n; i++) row[i + 1] = row[i] + degree[i];
    std::vector<Link> links(row[n]);
    for (int gy = 0; gy < h; gy++)
        for (int gx = 0; gx < w; gx++) {
            int me = id[gy * w + gx];
            int k = row[me];
            for (int dy = -1; dy <= 1; dy++)
                for (int dx = -1; dx <= 1; dx++) {
                    int ax = gx + dx, ay = gy + dy;
                    if (!(dx || dy) || ax < 0 || ay < 0 || ax >= w || ay >= h) continue;
                    Link &l = links[k++];
                    l.other = id[ay * w + ax];
                    double ex = nodes[l.other].x - nodes[me].x;
                    double ey = nodes[l.other].y - nodes[me].y;
                    double len = std::sqrt(ex * ex + ey * ey);
                    l.len = (float)len;
                    l.nx = (float)(ex / len);
                    l.ny = (float)(ey / len);
                    l.strain = 0.0f;
                }
        }

    IceNode *d_nodes;
    Link *d_links;
    int *d_row;
    BasinSum *d_sums;
    CK(cudaMalloc((void **)&d_nodes, sizeof(IceNode) * n));
    CK(cudaMalloc((void **)&d_links, sizeof(Link) * (links.size() + 1)));
    CK(cudaMalloc((void **)&d_row, sizeof(int) * (n + 1)));
    CK(cudaMalloc((void **)&d_sums, sizeof(BasinSum) * basins));
    CK(cudaMemcpy(d_nodes, nodes.data(), sizeof(IceNode) * n, cudaMemcpyHostToDevice));
    CK(cudaMemcpy(d_links, links.data(), sizeof(Link) * links.size(), cudaMemcpyHostToDevice));
    CK(cudaMemcpy(d_row, row.data(), sizeof(int) * (n + 1), cudaMemcpyHostToDevice));

    cudaEvent_t a, b;
    CK(cudaEventCreate(&a));
    CK(cudaEventCreate(&b));
    const int steps = 20, inner = 4;
    dim3 block(192), grid((n + 191) / 192);
    for (int s = 0; s < steps + 1; s++) {
        if (s == 1) CK(cudaEventRecord(a));
        for (int it = 0; it < inner; it++) {
            stress_balance<<<grid, block>>>(d_nodes, d_links, d_row, n);
            relax_velocity<<<grid, block>>>(d_nodes, n, 0.7);
        }
        transport_thickness<<<grid, block>>>(d_nodes, d_links, d_row, n, 0.05);
        update_state<<<grid, block>>>(d_nodes, d_links, d_row, n, 0.1f,
                                      0.5f + 0.3f * sinf(0.4f * s));
        CK(cudaMemsetAsync(d_sums, 0, sizeof(BasinSum) * basins));
        basin_totals<<<grid, block>>>(d_nodes, n, d_sums);
    }
    CK(cudaEventRecord(b));
    CK(cudaEventSynchronize(b));
    CK(cudaGetLastError());
    float ms = 0;
    CK(cudaEventElapsedTime(&ms, a, b));

    std::vector<BasinSum> sums(basins);
    CK(cudaMemcpy(nodes.data(), d_nodes, sizeof(IceNode) * n, cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(links.data(), d_links, sizeof(Link) * links.size(), cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(sums.data(), d_sums, sizeof(BasinSum) * basins, cudaMemcpyDeviceToHost));

    double vol = 0, melt = 0, speed = 0, dam = 0, temp = 0, strain = 0;
    long long fl = 0, rifted = 0;
    for (auto &s : sums) {
        vol += s.volume;
        melt += s.melt;
        fl += s.floating;
        rifted += s.rifted;
    }
    for (auto &p : nodes) {
        speed += std::sqrt(p.u * p.u + p.v * p.v);
        dam += p.damage;
        temp += p.temp;
    }
    for (auto &l : links) strain += std::fabs(l.strain);
    printf("check volume %.2e\n", vol);
    printf("check melt %.2e\n", melt);
    printf("check floating %lld\n", fl);
    printf("check rifted %lld\n", rifted);
    printf("check sum_speed %.6g\n", speed);
    printf("check sum_damage %.6g\n", dam);
    printf("check sum_temp %.6g\n", temp);
    printf("check sum_strain %.6g\n", strain);
    printf("time_ms %.4f\n", ms / steps);
    CK(cudaFree(d_nodes));
    CK(cudaFree(d_links));
    CK(cudaFree(d_row));
    CK(cudaFree(d_sums));
    return 0;
}
