// mcl_localize.cu
//
// Monte Carlo localisation of a wheeled robot against a map of typed point
// landmarks. Observations carry range, bearing and landmark type, but no
// identity: each one is associated with the nearest landmark of its type.
//
// Weights are quantised to integers before the prefix sum, and the pose
// estimate is accumulated in millimetres, so a run is reproducible bit by bit.

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <algorithm>
#include <cstdint>
#include <vector>

#define gpuErrchk(ans) { gpuAssert((ans), __FILE__, __LINE__); }
inline void gpuAssert(cudaError_t code, const char *file, int line, bool abort = true)
{
    if (code != cudaSuccess) {
        fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line);
        if (abort) exit(code);
    }
}

typedef unsigned long long ull;

struct Pose2D { float x, y, theta; };

struct alignas(16) Particle {
    Pose2D   pose;
    float    logw;
    float    speed_bias;
    uint32_t rng;
    uint32_t qweight;
    int      parent;
};

struct Landmark {
    float x, y;
    float sigma;
    short type;
    short id;
};

struct MapCell { int begin; int end; };

struct Observation {
    float range;
    float bearing;
    short type;
    short truth;
};

struct Control { float v, w, dt; };

// small per-step summary, in managed memory
struct FilterState {
    int max_logw;                 // float mapped to an ordered int
    ull total_weight;
    ull sum_w2;                   // of weights >> 10
    long long mm_x, mm_y, cos_e4, sin_e4;
};

static const int BLOCK        = 256;
static const int SCAN_BLOCK   = 1024;
static const int MAX_OBS      = 12;
static const int LM_TYPES     = 4;
static const float MAP_SIZE   = 200.0f;
static const float CELL_SIZE  = 8.0f;
static const int MAP_DIM      = 25;
static const float SENSOR_RANGE = 18.0f;

__device__ __forceinline__ uint32_t xorshift(uint32_t &s)
{
    s ^= s << 13; s ^= s >> 17;
    return s ^= s << 5;
}

__device__ __forceinline__ float gauss(uint32_t &s)
{
    // sum of uniforms, good enough for motion noise
    float a = 0.f;
#pragma unroll
    for (int i = 0; i < 4; i++) a += (xorshift(s) >> 8) * (1.0f / 16777216.0f);
    return (a - 2.0f) * 1.7320508f;
}

__device__ __forceinline__ uint32_t mix(uint32_t a, uint32_t b)
{
    uint32_t h = a * 0x9E3779B1u ^ (b + 0x7F4A7C15u) * 0x85EBCA77u;
    h ^= h >> 15; h *= 0x2C1B3C6Du; h ^= h >> 12; h *= 0x297A2D39u; h ^= h >> 15;
    return h ? h : 1u;
}

__device__ __forceinline__ int ordered(float f)
{
    int i = __float_as_int(f);
    return i >= 0 ? i : i ^ 0x7fffffff;
}
__device__ __forceinline__ float unordered(int i) { return __int_as_float(i >= 0 ? i : i ^ 0x7fffffff); }

__global__ void initParticles(Particle *p, int n, Pose2D guess, float spread)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;

    uint32_t s = mix(i, 0);
    p[i].pose.x     = guess.x + spread * gauss(s);
    p[i].pose.y     = guess.y + spread * gauss(s);
    p[i].pose.theta = guess.theta + 0.15f * gauss(s);
    p[i].logw       = 0.f;
    p[i].speed_bias = 1.0f + 0.03f * gauss(s);
    p[i].rng        = s;
    p[i].qweight    = 0;
    p[i].parent     = i;
}

__global__ void predict(Particle *p, int n, Control u, FilterState *st)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0) {                       // fresh accumulators for this step
        st->max_logw = ordered(-1e30f);
        st->total_weight = st->sum_w2 = 0;
        st->mm_x = st->mm_y = st->cos_e4 = st->sin_e4 = 0;
    }
    if (i >= n) return;
    Particle q = p[i];
    float v = u.v * q.speed_bias + 0.08f * gauss(q.rng);
    float w = u.w + 0.02f * gauss(q.rng);
    float mid = q.pose.theta + 0.5f * w * u.dt;
    q.pose.x += v * u.dt * cosf(mid);
    q.pose.y += v * u.dt * sinf(mid);
    q.pose.theta += w * u.dt;
    q.logw = 0.f;
    p[i] = q;
}

__global__ void weigh(Particle *particles, int n,
                      const Landmark * __restrict__ map, const MapCell * __restrict__ cells,
                      const Observation * __restrict__ obs, int num_obs, FilterState *st)
{
    __shared__ Observation sobs[MAX_OBS];
    __shared__ int smax;
    if (threadIdx.x < num_obs) sobs[threadIdx.x] = obs[threadIdx.x];
    if (threadIdx.x == 0) smax = ordered(-1e30f);
    __syncthreads();

    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const Pose2D pose = particles[i].pose;
        float logw = 0.f;
        for (int o = 0; o < num_obs; o++) {
            float s, c;
            sincosf(pose.theta + sobs[o].bearing, &s, &c);
            float wx = pose.x + sobs[o].range * c;
            float wy = pose.y + sobs[o].range * s;
            int cx = (int)floorf(wx / CELL_SIZE), cy = (int)floorf(wy / CELL_SIZE);

            float best = 1e9f, sigma = 1.f;
            for (int y = max(cy - 1, 0); y <= min(cy + 1, MAP_DIM - 1); y++)
                for (int x = max(cx - 1, 0); x <= min(cx + 1, MAP_DIM - 1); x++) {
                    MapCell cell = cells[y * MAP_DIM + x];
                    for (int k = cell.begin; k < cell.end; k++) {
                        if (map[k].type != sobs[o].type) continue;
                        float dx = map[k].x - wx, dy = map[k].y - wy;
                        float d2 = dx * dx + dy * dy;
                        if (d2 < best) { best = d2; sigma = map[k].sigma; }
                    }
                }
            logw -= 0.5f * fminf(best / (sigma * sigma), 25.0f);
        }
        particles[i].logw = logw;
        atomicMax(&smax, ordered(logw));
    }
    __syncthreads();
    if (threadIdx.x == 0) atomicMax(&st->max_logw, smax);
}

// inclusive scan of the quantised weights, block by block
__global__ void quantiseAndScan(Particle *p, int n, ull *cdf, ull *block_sums, FilterState *st)
{
    __shared__ ull warp_tot[32];
    int i    = blockIdx.x * SCAN_BLOCK + threadIdx.x;
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;

    ull w = 0;
    if (i < n) {
        w = (ull)(expf(p[i].logw - unordered(st->max_logw)) * 1048576.0f);
        p[i].qweight = (uint32_t)w;
        if (w >> 10) atomicAdd(&st->sum_w2, (w >> 10) * (w >> 10));
    }
    for (int d = 1; d < 32; d <<= 1) {
        ull t = __shfl_up_sync(0xffffffffu, w, d);
        if (lane >= d) w += t;
    }
    if (lane == 31) warp_tot[warp] = w;
    __syncthreads();
    if (warp == 0) {
        ull t = warp_tot[lane];
        for (int d = 1; d < 32; d <<= 1) {
            ull s = __shfl_up_sync(0xffffffffu, t, d);
            if (lane >= d) t += s;
        }
        warp_tot[lane] = t;
    }
    __syncthreads();
    if (warp > 0) w += warp_tot[warp - 1];
    if (i < n) cdf[i] = w;
    if (threadIdx.x == SCAN_BLOCK - 1) block_sums[blockIdx.x] = w;
}

// one block: exclusive scan of the block sums
__global__ void scanBlockSums(ull *sums, int n, FilterState *st)
{
    __shared__ ull buf[SCAN_BLOCK];
    int t = threadIdx.x;
    buf[t] = t < n ? sums[t] : 0;
    __syncthreads();
    for (int d = 1; d < SCAN_BLOCK; d <<= 1) {
        ull v = t >= d ? buf[t - d] : 0;
        __syncthreads();
        buf[t] += v;
        __syncthreads();
    }
    if (t < n) sums[t] = t ? buf[t - 1] : 0;
    if (t == 0) st->total_weight = buf[SCAN_BLOCK - 1];
}

__global__ void resample(const Particle * __restrict__ in, Particle * __restrict__ out, int n,
                         const ull * __restrict__ cdf, const ull * __restrict__ block_base, int num_blocks,
                         const FilterState *st, int step)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;

    ull total  = st->total_weight;
    ull target = ((ull)i * total + (ull)(mix(step, 77u) >> 12) * (total >> 20)) / n;   // systematic

    int lo = 0, hi = num_blocks - 1;            // last block whose base is <= target
    while (lo < hi) {
        int m = (lo + hi + 1) >> 1;
        if (block_base[m] <= target) lo = m; else hi = m - 1;
    }
    ull rest = target - block_base[lo];
    int a = lo * SCAN_BLOCK, b = min(a + SCAN_BLOCK, n) - 1;
    while (a < b) {                             // first entry with cdf > rest
        int m = (a + b) >> 1;
        if (cdf[m] > rest) b = m; else a = m + 1;
    }

    Particle q = in[a];
    q.parent = a;
    q.rng = mix(i, step + 1);
    q.speed_bias = fminf(fmaxf(q.speed_bias + 0.002f * gauss(q.rng), 0.8f), 1.2f);
    out[i] = q;
}

__global__ void estimate(const Particle *p, int n, FilterState *st)
{
    long long sx = 0, sy = 0, sc = 0, ss = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        sx += __float2ll_rn(p[i].pose.x * 1000.f);
        sy += __float2ll_rn(p[i].pose.y * 1000.f);
        sc += __float2ll_rn(cosf(p[i].pose.theta) * 10000.f);
        ss += __float2ll_rn(sinf(p[i].pose.theta) * 10000.f);
    }
    for (int d = 16; d > 0; d >>= 1) {          // warp totals in lane 0
        sx += __shfl_down_sync(0xffffffffu, sx, d);
        sy += __shfl_down_sync(0xffffffffu, sy, d);
        sc += __shfl_down_sync(0xffffffffu, sc, d);
        ss += __shfl_down_sync(0xffffffffu, ss, d);
    }
    if ((threadIdx.x & 31) == 0) {
        atomicAdd((ull *)&st->mm_x, (ull)sx);
        atomicAdd((ull *)&st->mm_y, (ull)sy);
        atomicAdd((ull *)&st->cos_e4, (ull)sc);
        atomicAdd((ull *)&st->sin_e4, (ull)ss);
    }
}

class ParticleFilter {
    int       n_;
    int       scan_blocks_;
    Particle *cur_, *next_;
    ull      *cdf_, *block_sums_;
    Landmark *map_;
    MapCell  *cells_;
    FilterState *state_;        // one per step

public:
    ParticleFilter(int n, int steps, const std::vector<Landmark> &map, const std::vector<MapCell> &cells)
        : n_(n), scan_blocks_((n + SCAN_BLOCK - 1) / SCAN_BLOCK)
    {
        gpuErrchk(cudaMalloc(&cur_, n * sizeof(Particle)));
        gpuErrchk(cudaMalloc(&next_, n * sizeof(Particle)));
        gpuErrchk(cudaMalloc(&cdf_, n * sizeof(ull)));
        gpuErrchk(cudaMalloc(&block_sums_, SCAN_BLOCK * sizeof(ull)));
        gpuErrchk(cudaMalloc(&map_, map.size() * sizeof(Landmark)));
        gpuErrchk(cudaMalloc(&cells_, cells.size() * sizeof(MapCell)));
        gpuErrchk(cudaMallocManaged(&state_, steps * sizeof(FilterState)));
        gpuErrchk(cudaMemcpy(map_, map.data(), map.size() * sizeof(Landmark), cudaMemcpyHostToDevice));
        gpuErrchk(cudaMemcpy(cells_, cells.data(), cells.size() * sizeof(MapCell), cudaMemcpyHostToDevice));
    }
    ~ParticleFilter()
    {
        cudaFree(cur_); cudaFree(next_); cudaFree(cdf_); cudaFree(block_sums_);
        cudaFree(map_); cudaFree(cells_); cudaFree(state_);
    }

    void reset(Pose2D guess, float spread)
    {
        initParticles<<<(n_ + BLOCK - 1) / BLOCK, BLOCK>>>(cur_, n_, guess, spread);
        gpuErrchk(cudaPeekAtLastError());
    }

    void update(int step, Control u, const Observation *obs, int num_obs)
    {
        const int grid = (n_ + BLOCK - 1) / BLOCK;
        FilterState *st = state_ + step;
        predict<<<grid, BLOCK>>>(cur_, n_, u, st);
        weigh<<<grid, BLOCK>>>(cur_, n_, map_, cells_, obs, num_obs, st);
        quantiseAndScan<<<scan_blocks_, SCAN_BLOCK>>>(cur_, n_, cdf_, block_sums_, st);
        scanBlockSums<<<1, SCAN_BLOCK>>>(block_sums_, scan_blocks_, st);
        resample<<<grid, BLOCK>>>(cur_, next_, n_, cdf_, block_sums_, scan_blocks_, st, step);
        std::swap(cur_, next_);
        estimate<<<132 * 4, BLOCK>>>(cur_, n_, st);
        gpuErrchk(cudaPeekAtLastError());
    }

    const FilterState &state(int step) const { return state_[step]; }
    std::vector<Particle> particles() const
    {
        std::vector<Particle> v(n_);
        gpuErrchk(cudaMemcpy(v.data(), cur_, n_ * sizeof(Particle), cudaMemcpyDeviceToHost));
        return v;
    }
};

static uint32_t seed = 0xC0FFEEu;
static double uniform() { seed = seed * 1664525u + 1013904223u; return (seed >> 8) / 16777216.0; }
static double normal()
{
    double u = uniform() + 1e-9, v = uniform();
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

static void makeMap(int count, std::vector<Landmark> &map, std::vector<MapCell> &cells)
{
    auto cellOf = [](const Landmark &l) { return (int)(l.y / CELL_SIZE) * MAP_DIM + (int)(l.x / CELL_SIZE); };
    for (int i = 0; i < count; i++) {
        Landmark l;
        l.x = (float)(uniform() * MAP_SIZE * 0.9999);
        l.y = (float)(uniform() * MAP_SIZE * 0.9999);
        l.sigma = (float)(0.4 + 0.4 * uniform());
        l.type = (short)(uniform() * LM_TYPES);
        l.id = (short)i;
        map.push_back(l);
    }
    std::stable_sort(map.begin(), map.end(), [&](const Landmark &a, const Landmark &b) { return cellOf(a) < cellOf(b); });
    cells.assign(MAP_DIM * MAP_DIM, MapCell{0, 0});
    for (int i = 0; i < count; i++) {
        MapCell &c = cells[cellOf(map[i])];
        if (c.end == 0) c.begin = i;
        c.end = i + 1;
    }
}

int main(int argc, char **argv)
{
    int n     = argc > 1 ? atoi(argv[1]) : 1000000;
    int steps = argc > 2 ? atoi(argv[2]) : 40;
    if (n < 1024 || n > SCAN_BLOCK * SCAN_BLOCK) {
        fprintf(stderr, "particle count must be in 1024..%d\n", SCAN_BLOCK * SCAN_BLOCK);
        return 1;
    }

    std::vector<Landmark> map;
    std::vector<MapCell> cells;
    makeMap(1500, map, cells);
    // ground truth: a loop with a varying turn rate
    std::vector<Pose2D> truth(steps);
    std::vector<Control> controls(steps);
    std::vector<Observation> obs((size_t)steps * MAX_OBS);
    std::vector<int> num_obs(steps, 0);
    double x = 100.0, y = 45.0, th = 0.1;
    const Pose2D guess = {101.0f, 44.2f, 0.15f};
    for (int s = 0; s < steps; s++) {
        double v = 3.0 + sin(s * 0.2), w = 0.06 + 0.05 * cos(s * 0.11), dt = 0.5;
        controls[s] = {(float)v, (float)w, (float)dt};
        double vr = v + 0.05 * normal(), wr = w + 0.01 * normal();
        x += vr * dt * cos(th + 0.5 * wr * dt);
        y += vr * dt * sin(th + 0.5 * wr * dt);
        th += wr * dt;
        truth[s] = {(float)x, (float)y, (float)th};
        for (size_t k = 0; k < map.size() && num_obs[s] < MAX_OBS; k++) {
            double dx = map[k].x - x, dy = map[k].y - y, r = sqrt(dx * dx + dy * dy);
            if (r > SENSOR_RANGE || uniform() < 0.3) continue;          // missed detection
            Observation &o = obs[(size_t)s * MAX_OBS + num_obs[s]++];
            o.range   = (float)(r + 0.15 * normal());
            o.bearing = (float)(atan2(dy, dx) - th + 0.01 * normal());
            o.type    = map[k].type;
            o.truth   = map[k].id;
        }
    }
    Observation *d_obs;
    gpuErrchk(cudaMalloc(&d_obs, obs.size() * sizeof(Observation)));
    gpuErrchk(cudaMemcpy(d_obs, obs.data(), obs.size() * sizeof(Observation), cudaMemcpyHostToDevice));
    ParticleFilter pf(n, steps, map, cells);
    pf.reset(guess, 2.0f);
    pf.update(0, controls[0], d_obs, num_obs[0]);       // warm-up
    gpuErrchk(cudaDeviceSynchronize());

    cudaEvent_t start, stop;
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    cudaEventRecord(start);
    pf.reset(guess, 2.0f);
    for (int s = 0; s < steps; s++)
        pf.update(s, controls[s], d_obs + (size_t)s * MAX_OBS, num_obs[s]);
    cudaEventRecord(stop);
    gpuErrchk(cudaEventSynchronize(stop));
    float ms;
    cudaEventElapsedTime(&ms, start, stop);

    long long err_mm = 0, ess = 0, pose_hash = 0;
    for (int s = 0; s < steps; s++) {
        const FilterState &st = pf.state(s);
        long long ex = st.mm_x / n, ey = st.mm_y / n;
        err_mm += llround(hypot(ex - truth[s].x * 1000.0, ey - truth[s].y * 1000.0));
        ess += (long long)((double)(st.total_weight >> 10) * (double)(st.total_weight >> 10) / (double)(st.sum_w2 + 1));
        pose_hash = pose_hash * 31 % 1000000007LL + ex + 3 * ey + 7 * (st.cos_e4 / n) + 11 * (st.sin_e4 / n);
    }
    long long distinct = 0, bias = 0, last_parent = -1, weight = 0;
    for (const Particle &p : pf.particles()) {
        distinct += p.parent != last_parent;
        last_parent = p.parent;
        bias += llround(p.speed_bias * 1e5);
        weight += p.qweight;
    }
    printf("check mean_error_mm %lld\ncheck ess %lld\n", err_mm / steps, ess / steps);
    printf("check pose_hash %lld\n", pose_hash);
    printf("check survivors %lld\ncheck speed_bias %lld\ncheck weight %lld\n", distinct, bias, weight);
    printf("time_ms %.3f\n", ms);

    cudaFree(d_obs);
    return 0;
}
