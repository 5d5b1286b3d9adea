// bilateral_mesh: bilateral denoising of a closed triangle mesh (Fleishman et
// al.). Vertices are numbered in scrambled patches; one-ring lists are ordered.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>
#include <cuda_runtime.h>

struct Vertex {
    float3 pos;
    float3 normal;
    float area;
    int first;          // first neighbour record
    int degree;
    int flags;
};

struct Neighbor {
    int vertex;
    float length;
};

struct Update {
    float shift;
    float weight;
    int used;
};

struct Stats {
    unsigned long long len_sum;     // fixed point, 1e-6 units
    unsigned long long len_count;
    unsigned int histogram[16];
    int max_curv;                   // bits of a non-negative float
    int pad;
};

#define CU(call)                                                                   \
    do {                                                                           \
        cudaError_t s_ = (call);                                                   \
        if (s_ != cudaSuccess) {                                                   \
            std::fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(s_));    \
            std::exit(1);                                                          \
        }                                                                          \
    } while (0)

__host__ __device__ inline float3 sub3(float3 a, float3 b) { return make_float3(a.x - b.x, a.y - b.y, a.z - b.z); }
__host__ __device__ inline float dot3(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__host__ __device__ inline float3 cross3(float3 a, float3 b)
{
    return make_float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

// Area-weighted normals from the ordered one-ring; also records edge lengths.
__global__ void compute_normals(Vertex *verts, Neighbor *nbrs, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float3 p = verts[i].pos;
    const int first = verts[i].first, deg = verts[i].degree;
    float3 acc = make_float3(0.f, 0.f, 0.f);
    float area = 0.f;
    float3 prev = sub3(verts[nbrs[first + deg - 1].vertex].pos, p);
    for (int k = 0; k < deg; ++k) {
        float3 cur = sub3(verts[nbrs[first + k].vertex].pos, p);
        float3 c = cross3(prev, cur);
        acc.x += c.x; acc.y += c.y; acc.z += c.z;
        area += 0.5f * sqrtf(dot3(c, c));
        nbrs[first + k].length = sqrtf(dot3(cur, cur));
        prev = cur;
    }
    float inv = rsqrtf(fmaxf(dot3(acc, acc), 1e-20f));
    verts[i].normal = make_float3(acc.x * inv, acc.y * inv, acc.z * inv);
    verts[i].area = area / 3.f;
}

// Streams only the edge lengths.
__global__ void edge_statistics(const Neighbor *nbrs, int m, Stats *stats)
{
    unsigned long long sum = 0, cnt = 0;
    for (int e = blockIdx.x * blockDim.x + threadIdx.x; e < m; e += gridDim.x * blockDim.x) {
        sum += (unsigned long long)(nbrs[e].length * 1.0e6f);
        ++cnt;
    }
    for (int o = 16; o; o >>= 1) {
        sum += __shfl_xor_sync(0xffffffffu, sum, o);
        cnt += __shfl_xor_sync(0xffffffffu, cnt, o);
    }
    if ((threadIdx.x & 31) == 0) {
        atomicAdd(&stats->len_sum, sum);
        atomicAdd(&stats->len_count, cnt);
    }
}

// One-ring plus neighbours-of-neighbours within the support radius.
__global__ void bilateral_filter(const Vertex *__restrict__ verts, const Neighbor *__restrict__ nbrs,
                                 Update *upd, int n, const Stats *stats)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const Vertex v = verts[i];
    const float sigma_c = (float)((double)stats->len_sum * 1.0e-6 / (double)stats->len_count);
    const float sigma_s = 0.35f * sigma_c;
    const float ic = 0.5f / (sigma_c * sigma_c), is = 0.5f / (sigma_s * sigma_s);
    float num = 0.f, den = 0.f;
    int used = 0;
    for (int a = 0; a < v.degree; ++a) {
        const Neighbor nb = nbrs[v.first + a];
        if (nb.length > 2.f * sigma_c) continue;
        const Vertex &u = verts[nb.vertex];
        float h = dot3(v.normal, sub3(u.pos, v.pos));
        float w = __expf(-nb.length * nb.length * ic - h * h * is);
        num += w * h; den += w; ++used;
        if (dot3(u.normal, v.normal) < 0.6f) continue;       // do not look behind creases
        for (int b = 0; b < u.degree; b += 2) {
            int q = nbrs[u.first + b].vertex;
            if (q == i) continue;
            float3 d = sub3(verts[q].pos, v.pos);
            float r2 = dot3(d, d);
            if (r2 > 4.f * sigma_c * sigma_c) continue;
            h = dot3(v.normal, d);
            w = __expf(-r2 * ic - h * h * is);
            num += w * h; den += w; ++used;
        }
    }
    upd[i].shift = den > 0.f ? num / den : 0.f;
    upd[i].weight = den;
    upd[i].used = used;
}

__global__ void apply_update(Vertex *verts, const Update *upd, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = upd[i].shift;
    Vertex *v = &verts[i];
    v->pos.x += s * v->normal.x;
    v->pos.y += s * v->normal.y;
    v->pos.z += s * v->normal.z;
    if (upd[i].used < v->degree) v->flags++;
}

// Histogram of area and largest displacement per area; shared then global.
__global__ void quality(const Vertex *verts, const Update *upd, int n, float mean_area, Stats *stats)
{
    __shared__ unsigned int bins[16];
    __shared__ int top;
    if (threadIdx.x < 16) bins[threadIdx.x] = 0;
    if (threadIdx.x == 0) top = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float a = verts[i].area;
        atomicAdd(&bins[min((int)(8.f * a / mean_area), 15)], 1u);
        atomicMax(&top, __float_as_int(fabsf(upd[i].shift)));
    }
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&stats->histogram[threadIdx.x], bins[threadIdx.x]);
    if (threadIdx.x == 0) atomicMax(&stats->max_curv, top);
}

int main(int argc, char **argv)
{
    const int W = argc > 1 ? std::atoi(argv[1]) : 1024;      // around the ring
    const int H = argc > 2 ? std::atoi(argv[2]) : 640;       // around the tube
    const int iters = argc > 3 ? std::atoi(argv[3]) : 10;
    if (W < 4 || H < 4) { std::printf("mesh too small\n"); return 1; }
    const int n = W * H, patch = 128;
    const float R = 10.f, r = 3.f;

    unsigned state = 99u;
    auto rnd = [&state]() { state ^= state << 13; state ^= state >> 17; state ^= state << 5; return state; };
    std::vector<int> id(n);
    for (int i = 0; i < n; ++i) id[i] = i;
    const int npatch = n / patch;                            // shuffle whole patches, then inside each
    for (int p = 0; p < npatch; ++p) {
        int q = (int)(rnd() % npatch);
        for (int k = 0; k < patch; ++k) std::swap(id[p * patch + k], id[q * patch + k]);
    }
    for (int i = 0; i < npatch * patch; ++i) std::swap(id[i], id[i / patch * patch + (int)(rnd() % patch)]);

    std::vector<float> cu(W), su(W), cv(H), sv(H);
    for (int i = 0; i < W; ++i) { cu[i] = std::cos(6.2831853f * i / W); su[i] = std::sin(6.2831853f * i / W); }
    for (int j = 0; j < H; ++j) { cv[j] = std::cos(6.2831853f * j / H); sv[j] = std::sin(6.2831853f * j / H); }
    std::vector<Vertex> verts(n);
    std::vector<Neighbor> nbrs((size_t)n * 6);
    const int di[6] = { 1, 1, 0, -1, -1, 0 }, dj[6] = { 0, 1, 1, 0, -1, -1 };
    for (int j = 0; j < H; ++j)
        for (int i = 0; i < W; ++i) {
            const int me = id[j * W + i];
            Vertex &v = verts[me];
            float noise = 0.02f * ((rnd() & 0xffff) * (1.f / 65536.f) - 0.5f);
            float rr = r + noise + (((i / 32 + j / 32) & 1) ? 0.05f : 0.f);
            v.pos = make_float3((R + rr * cv[j]) * cu[i], (R + rr * cv[j]) * su[i], rr * sv[j]);
            v.normal = make_float3(0.f, 0.f, 0.f);
            v.area = 0.f;
            v.first = me * 6;
            v.degree = 6;
            v.flags = 0;
            for (int k = 0; k < 6; ++k) {
                int ii = (i + di[k] + W) % W, jj = (j + dj[k] + H) % H;
                nbrs[v.first + k].vertex = id[jj * W + ii];
                nbrs[v.first + k].length = 0.f;
            }
        }

    Vertex *d_verts; Neighbor *d_nbrs; Update *d_upd; Stats *d_stats;
    CU(cudaMalloc(&d_verts, n * sizeof(Vertex)));
    CU(cudaMalloc(&d_nbrs, nbrs.size() * sizeof(Neighbor)));
    CU(cudaMalloc(&d_upd, n * sizeof(Update)));
    CU(cudaMalloc(&d_stats, iters * sizeof(Stats)));
    CU(cudaMemcpy(d_verts, verts.data(), n * sizeof(Vertex), cudaMemcpyHostToDevice));
    CU(cudaMemcpy(d_nbrs, nbrs.data(), nbrs.size() * sizeof(Neighbor), cudaMemcpyHostToDevice));
    CU(cudaMemset(d_stats, 0, iters * sizeof(Stats)));

    const float mean_area = 4.f * 9.8696044f * R * r / n;
    const int tb = 256, gb = (n + tb - 1) / tb;
    cudaEvent_t t0, t1;
    CU(cudaEventCreate(&t0));
    CU(cudaEventCreate(&t1));
    CU(cudaEventRecord(t0));
    for (int it = 0; it < iters; ++it) {
        compute_normals<<<gb, tb>>>(d_verts, d_nbrs, n);
        edge_statistics<<<256, 256>>>(d_nbrs, (int)nbrs.size(), d_stats + it);
        bilateral_filter<<<(n + 127) / 128, 128>>>(d_verts, d_nbrs, d_upd, n, d_stats + it);
        apply_update<<<gb, tb>>>(d_verts, d_upd, n);
        quality<<<256, 256>>>(d_verts, d_upd, n, mean_area, d_stats + it);
    }
    CU(cudaEventRecord(t1));
    CU(cudaEventSynchronize(t1));
    CU(cudaGetLastError());
    float ms = 0.f;
    CU(cudaEventElapsedTime(&ms, t0, t1));

    std::vector<Stats> st(iters);
    std::vector<Update> upd(n);
    CU(cudaMemcpy(verts.data(), d_verts, n * sizeof(Vertex), cudaMemcpyDeviceToHost));
    CU(cudaMemcpy(upd.data(), d_upd, n * sizeof(Update), cudaMemcpyDeviceToHost));
    CU(cudaMemcpy(st.data(), d_stats, iters * sizeof(Stats), cudaMemcpyDeviceToHost));
    double radius = 0, area = 0, shift = 0;
    long long used = 0, flags = 0, hist = 0;
    for (int i = 0; i < n; ++i) {
        radius += std::sqrt((double)dot3(verts[i].pos, verts[i].pos));
        area += verts[i].area;
        shift += std::fabs(upd[i].shift);
        used += upd[i].used;
        flags += verts[i].flags;
    }
    for (const Stats &s : st)
        for (int b = 0; b < 16; ++b) hist += (long long)s.histogram[b] * (b + 1);
    std::printf("check radius %.6g\n", radius);
    std::printf("check area %.6g\n", area);
    std::printf("check shift %.5g\n", shift);
    std::printf("check used %.5g\n", (double)used);
    std::printf("check flags %.4g\n", (double)flags);
    std::printf("check edge_length %.6g\n", (double)st[iters - 1].len_sum);
    std::printf("check histogram %.5g\n", (double)hist);
    std::printf("time_ms %.4f\n", ms);
    cudaFree(d_verts); cudaFree(d_nbrs); cudaFree(d_upd); cudaFree(d_stats);
    return 0;
}
