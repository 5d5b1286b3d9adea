// Wildfire spread over a gridded landscape: heat exchange between cells, ignition,
// burn-out, suppression along roads and per-district situation reports.
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>

#define CUDA_CHECK(x)                                                              \
    do {                                                                           \
        cudaError_t err_ = (x);                                                    \
        if (err_ != cudaSuccess) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__,                     \
                    cudaGetErrorString(err_));                                     \
            exit(EXIT_FAILURE);                                                    \
        }                                                                          \
    } while (0)

#define NUM_FUELS 13
#define NUM_DISTRICTS 64
#define WX_DIM 32

enum { UNBURNED = 0, BURNING = 1, BURNED = 2, NONFUEL = 3 };

struct Terrain {
    float elevation;
    float slope_x, slope_y;
    float canopy;
    int district;
    short fuel_model;
    unsigned char road;
    unsigned char water;
};

struct FireState {
    float temperature;
    float fuel;
    float moisture;
    float flame;
    int ignited_at;
    unsigned char phase;
    unsigned char intensity;
    short embers;
};

struct WeatherNode {
    float wind_x, wind_y;
    float humidity;
    float air_temp;
    float gust_phase;
};

struct FuelModel {
    float load;
    float ignition_temp;
    float burn_rate;
    float heat_yield;
    float moisture_extinction;
    float ember_rate;
};

struct District {
    int engines;
    int burning;
    int burned;
    int latest_ignition;
    unsigned long long fuel_left_g;
    float risk;
    float closed_roads;
};

__constant__ FuelModel c_fuel[NUM_FUELS];

__host__ __device__ inline unsigned int hash_u32(unsigned int x)
{
    x ^= x >> 16;
    x *= 0x7feb352dU;
    x ^= x >> 15;
    x *= 0x846ca68bU;
    x ^= x >> 16;
    return x;
}

__host__ __device__ inline float hash_unit(unsigned int x)
{
    return (hash_u32(x) >> 8) * (1.0f / 16777216.0f);
}

__global__ void update_weather(WeatherNode *wx, int step)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= WX_DIM * WX_DIM) return;
    WeatherNode w = wx[i];
    w.gust_phase += 0.05f;
    if (w.gust_phase > 6.2831853f) w.gust_phase -= 6.2831853f;
    float gust = 1.0f + 0.35f * sinf(w.gust_phase);
    float turn = 0.01f * gust;
    float nx = w.wind_x * cosf(turn) - w.wind_y * sinf(turn);
    float ny = w.wind_x * sinf(turn) + w.wind_y * cosf(turn);
    w.wind_x = nx;
    w.wind_y = ny;
    w.humidity = 0.25f + 0.1f * sinf(0.02f * step + w.gust_phase);
    wx[i] = w;
}

__global__ void spread_fire(const Terrain *__restrict__ terrain, const FireState *__restrict__ cur,
                            FireState *__restrict__ nxt, const WeatherNode *__restrict__ wx, int width, int height, int step)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int c = y * width + x;
    FireState s = cur[c];
    if (s.phase == NONFUEL) {
        nxt[c] = s;
        return;
    }
    const FuelModel fm = c_fuel[terrain[c].fuel_model];
    int wi = (y * WX_DIM / height) * WX_DIM + (x * WX_DIM / width);
    const float wind_x = wx[wi].wind_x;
    const float wind_y = wx[wi].wind_y;
    float heat = 0.0f;
    int ember_hits = 0;
    for (int dy = -1; dy <= 1; ++dy) {
        int yy = y + dy;
        if (yy < 0 || yy >= height) continue;
        for (int dx = -1; dx <= 1; ++dx) {
            int xx = x + dx;
            if ((dx == 0 && dy == 0) || xx < 0 || xx >= width) continue;
            int n = yy * width + xx;
            if (cur[n].phase != BURNING) continue;
            float dist = (dx != 0 && dy != 0) ? 1.41421356f : 1.0f;
            float rise = (terrain[c].elevation - terrain[n].elevation) / dist;
            float along = (-dx * wind_x - dy * wind_y) / dist;
            float factor = expf(0.12f * along + 0.05f * fminf(fmaxf(rise, -10.0f), 10.0f));
            heat += cur[n].flame * factor / (dist * dist);
            ember_hits += cur[n].embers;
        }
    }
    s.moisture = fmaxf(0.0f, s.moisture - 1e-5f * heat + 1e-4f * (wx[wi].humidity - s.moisture));
    s.temperature += 0.02f * heat - 0.01f * (s.temperature - wx[wi].air_temp);
    if (s.phase == UNBURNED) {
        float threshold = fm.ignition_temp * (1.0f + 1.5f * s.moisture);
        bool lit = s.temperature > threshold && s.moisture < fm.moisture_extinction;
        if (!lit && ember_hits > 0)
            lit = (hash_u32((unsigned)c * 9781u + (unsigned)step) & 0xffff) < (unsigned)ember_hits;
        if (lit) {
            s.phase = BURNING;
            s.ignited_at = step;
            s.flame = fm.heat_yield * 0.5f;
        }
    } else if (s.phase == BURNING) {
        float burned = fminf(s.fuel, fm.burn_rate * (1.0f + terrain[c].canopy));
        s.fuel -= burned;
        s.flame = fm.heat_yield * burned / fm.burn_rate;
        s.embers = (short)(fm.ember_rate * s.flame);
        if (s.fuel <= 0.02f * fm.load) {
            s.phase = BURNED;
            s.flame = 0.0f;
            s.embers = 0;
        }
    }
    s.intensity = (unsigned char)fminf(255.0f, s.flame * 0.25f);
    nxt[c] = s;
}

// Crews work from roads: cells next to a road in a district with engines are wetted down.
__global__ void suppress(const Terrain *__restrict__ terrain, FireState *state,
                         const District *__restrict__ districts, int ncells, int step)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < ncells; i += gridDim.x * blockDim.x) {
        if (!terrain[i].road) continue;
        const District *d = &districts[terrain[i].district];
        if (d->engines <= 0 || state[i].phase > BURNING) continue;
        if ((hash_u32((unsigned)i ^ ((unsigned)step << 20)) % 100u) < (unsigned)d->engines) {
            state[i].moisture = fminf(0.6f, state[i].moisture + 0.05f);
            state[i].temperature *= 0.9f;
        }
    }
}

__global__ void clear_districts(District *districts)
{
    int d = threadIdx.x;
    if (d < NUM_DISTRICTS) {
        districts[d].risk = 0.9f * districts[d].risk + 0.001f * districts[d].burning;
        districts[d].burning = 0;
        districts[d].burned = 0;
        districts[d].fuel_left_g = 0ULL;
    }
}

__global__ void report(const Terrain *__restrict__ terrain, const FireState *__restrict__ state, District *districts, int ncells)
{
    __shared__ int s_burning[NUM_DISTRICTS];
    __shared__ int s_burned[NUM_DISTRICTS];
    __shared__ unsigned int s_fuel[NUM_DISTRICTS];
    for (int k = threadIdx.x; k < NUM_DISTRICTS; k += blockDim.x) {
        s_burning[k] = 0;
        s_burned[k] = 0;
        s_fuel[k] = 0;
    }
    __syncthreads();
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < ncells; i += stride) {
        unsigned char phase = state[i].phase;
        if (phase != BURNING && phase != BURNED) continue;
        int d = terrain[i].district;
        if (phase == BURNING) {
            atomicAdd(&s_burning[d], 1);
            atomicAdd(&s_fuel[d], (unsigned int)(state[i].fuel * 1000.0f));
            if (state[i].ignited_at > districts[d].latest_ignition)
                atomicMax(&districts[d].latest_ignition, state[i].ignited_at);
        } else {
            atomicAdd(&s_burned[d], 1);
        }
    }
    __syncthreads();
    for (int k = threadIdx.x; k < NUM_DISTRICTS; k += blockDim.x) {
        if (s_burning[k]) atomicAdd(&districts[k].burning, s_burning[k]);
        if (s_burned[k]) atomicAdd(&districts[k].burned, s_burned[k]);
        if (s_fuel[k]) atomicAdd(&districts[k].fuel_left_g, (unsigned long long)s_fuel[k]);
    }
}

static void init_landscape(Terrain *t, FireState *f, int w, int h, const FuelModel *fuels)
{
    for (int y = 0; y < h; ++y) {
        for (int x = 0; x < w; ++x) {
            int i = y * w + x;
            float fx = x * 0.01f, fy = y * 0.013f;
            t[i].elevation = 300.0f + 120.0f * sinf(fx) * cosf(fy) + 3.0f * hash_unit(i);
            t[i].slope_x = 1.2f * cosf(fx) * cosf(fy);
            t[i].slope_y = -1.56f * sinf(fx) * sinf(fy);
            t[i].canopy = hash_unit(i * 3u + 1u);
            t[i].fuel_model = (short)(hash_u32((y / 16) * 7919u + (x / 16)) % NUM_FUELS);
            t[i].district = (y * 8 / h) * 8 + (x * 8 / w);
            t[i].road = (x % 97 == 0 || y % 131 == 0) ? 1 : 0;
            t[i].water = (hash_u32((y / 24) * 104729u + (x / 24)) % 23u) == 0 ? 1 : 0;
            f[i].temperature = 25.0f + 5.0f * hash_unit(i * 5u + 2u);
            f[i].fuel = fuels[t[i].fuel_model].load * (0.7f + 0.6f * hash_unit(i * 7u + 3u));
            f[i].moisture = 0.05f + 0.2f * hash_unit(i * 11u + 4u);
            f[i].flame = 0.0f;
            f[i].ignited_at = -1;
            f[i].phase = t[i].water ? NONFUEL : UNBURNED;
            f[i].intensity = 0;
            f[i].embers = 0;
            if (!t[i].water && hash_u32(i * 13u + 5u) % 600u == 0) {
                f[i].phase = BURNING;
                f[i].ignited_at = 0;
                f[i].flame = 400.0f;
            }
        }
    }
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 3072;
    if (n < 64) n = 64;
    if (n > 8192) n = 8192;
    const int ncells = n * n;
    FuelModel fuels[NUM_FUELS];
    for (int k = 0; k < NUM_FUELS; ++k) {
        fuels[k].load = 2.0f + 0.4f * k;
        fuels[k].ignition_temp = 180.0f + 9.0f * k;
        fuels[k].burn_rate = 0.08f - 0.003f * k;
        fuels[k].heat_yield = 420.0f + 25.0f * (k % 5);
        fuels[k].moisture_extinction = 0.2f + 0.01f * k;
        fuels[k].ember_rate = 0.05f * (k % 4);
    }
    WeatherNode h_wx[WX_DIM * WX_DIM];
    for (int i = 0; i < WX_DIM * WX_DIM; ++i) {
        h_wx[i].wind_x = 4.0f + 2.0f * hash_unit(i + 900001u);
        h_wx[i].wind_y = 1.0f - 2.0f * hash_unit(i + 910001u);
        h_wx[i].humidity = 0.3f;
        h_wx[i].air_temp = 28.0f + 6.0f * hash_unit(i + 920001u);
        h_wx[i].gust_phase = 6.0f * hash_unit(i + 930001u);
    }
    District h_dist[NUM_DISTRICTS];
    for (int i = 0; i < NUM_DISTRICTS; ++i) {
        h_dist[i].engines = (int)(hash_u32(i + 77u) % 40u) - 8;
        h_dist[i].burning = h_dist[i].burned = 0;
        h_dist[i].latest_ignition = 0;
        h_dist[i].fuel_left_g = 0;
        h_dist[i].risk = 0.0f;
        h_dist[i].closed_roads = 0.0f;
    }
    Terrain *h_terrain = (Terrain *)malloc((size_t)ncells * sizeof(Terrain));
    FireState *h_state = (FireState *)malloc((size_t)ncells * sizeof(FireState));
    if (!h_terrain || !h_state) { fprintf(stderr, "out of host memory\n"); return 1; }
    init_landscape(h_terrain, h_state, n, n, fuels);
    Terrain *d_terrain;
    FireState *d_a, *d_b;
    WeatherNode *d_wx;
    District *d_dist;
    CUDA_CHECK(cudaMalloc((void **)&d_terrain, (size_t)ncells * sizeof(Terrain)));
    CUDA_CHECK(cudaMalloc((void **)&d_a, (size_t)ncells * sizeof(FireState)));
    CUDA_CHECK(cudaMalloc((void **)&d_b, (size_t)ncells * sizeof(FireState)));
    CUDA_CHECK(cudaMalloc((void **)&d_wx, sizeof(h_wx)));
    CUDA_CHECK(cudaMalloc((void **)&d_dist, sizeof(h_dist)));
    CUDA_CHECK(cudaMemcpyToSymbol(c_fuel, fuels, sizeof(fuels)));
    CUDA_CHECK(cudaMemcpy(d_terrain, h_terrain, (size_t)ncells * sizeof(Terrain), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(d_a, h_state, (size_t)ncells * sizeof(FireState), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(d_wx, h_wx, sizeof(h_wx), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(d_dist, h_dist, sizeof(h_dist), cudaMemcpyHostToDevice));
    dim3 block(32, 8);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    const int warmup = 5, steps = 60;
    cudaEvent_t t0, t1;
    CUDA_CHECK(cudaEventCreate(&t0));
    CUDA_CHECK(cudaEventCreate(&t1));
    for (int s = 0; s < warmup + steps; ++s) {
        if (s == warmup) CUDA_CHECK(cudaEventRecord(t0));
        update_weather<<<(WX_DIM * WX_DIM + 127) / 128, 128>>>(d_wx, s);
        spread_fire<<<grid, block>>>(d_terrain, d_a, d_b, d_wx, n, n, s + 1);
        suppress<<<1024, 256>>>(d_terrain, d_b, d_dist, ncells, s);
        clear_districts<<<1, NUM_DISTRICTS>>>(d_dist);
        report<<<528, 256>>>(d_terrain, d_b, d_dist, ncells);
        FireState *tmp = d_a;
        d_a = d_b;
        d_b = tmp;
    }
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaEventRecord(t1));
    CUDA_CHECK(cudaEventSynchronize(t1));
    float ms = 0.0f;
    CUDA_CHECK(cudaEventElapsedTime(&ms, t0, t1));
    CUDA_CHECK(cudaMemcpy(h_state, d_a, (size_t)ncells * sizeof(FireState), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(h_dist, d_dist, sizeof(h_dist), cudaMemcpyDeviceToHost));
    double check = 0.0;
    for (int i = 0; i < ncells; ++i) {
        const FireState *f = &h_state[i];
        check += (1.0 + i % 7) * (f->temperature + 10.0 * f->fuel + 50.0 * f->moisture + 0.1 * f->flame) +
                 3.0 * f->phase + 0.5 * f->ignited_at + f->intensity * 0.25 + f->embers;
    }
    for (int d = 0; d < NUM_DISTRICTS; ++d)
        check += (d + 1.0) * (h_dist[d].burning + 2.0 * h_dist[d].burned + h_dist[d].latest_ignition +
                              1e-3 * (double)h_dist[d].fuel_left_g + h_dist[d].risk);
    CUDA_CHECK(cudaFree(d_terrain));
    CUDA_CHECK(cudaFree(d_a));
    CUDA_CHECK(cudaFree(d_b));
    CUDA_CHECK(cudaFree(d_wx));
    CUDA_CHECK(cudaFree(d_dist));
    free(h_terrain);
    free(h_state);
    printf("check %.6e\n", check);
    printf("time_ms %.5f\n", ms / steps);
    return 0;
}
