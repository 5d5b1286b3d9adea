/* Layered snowpack: every column owns a slice of the layer pool (0 = ground, count-1 = surface). */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

#define CHECK(e) do { cudaError_t r_ = (e); if (r_ != cudaSuccess) { \
        fprintf(stderr, "cuda error %d line %d\n", (int)r_, __LINE__); exit(1); } } while (0)

#define MAX_LAYERS 24
#define DENS_BINS 32

enum LayerKind { EMPTY = 0, FRESH = 1, SETTLED = 2, CRUST = 3, DEPTH_HOAR = 4 };

struct Layer {
    float thickness;    /* m */
    float temp, density;
    float water;        /* kg/m2 liquid */
    float grain;        /* mm */
    int ageSteps;
    unsigned char kind;
    unsigned char wet;
    short freezeCycles;
};

struct Column {
    int first, count, capacity;
    unsigned int seed;
    float airTemp;
    float snowfall;     /* kg/m2 per step */
    float rain, shortwave, wind, groundFlux;
    double runoff, swe;
    float elevation;
    short aspect;
    unsigned char canopy;
    unsigned char glacier;
};

__host__ __device__ static inline float rand01(unsigned int* s)
{
    *s ^= *s << 13; *s ^= *s >> 17; *s ^= *s << 5;
    return (*s >> 8) * (1.0f / 16777216.0f);
}

__host__ __device__ static inline float layerMass(const Layer* l)
{
    return l->thickness * l->density + l->water;
}

__device__ static Layer mergeLayers(Layer a, Layer b)
{
    float ma = a.thickness * a.density, mb = b.thickness * b.density;
    float m = ma + mb;
    Layer r = a;
    r.thickness = a.thickness + b.thickness;
    r.density = m / r.thickness;
    r.temp = (a.temp * ma + b.temp * mb) / m;
    r.grain = (a.grain * ma + b.grain * mb) / m;
    r.water = a.water + b.water;
    r.ageSteps = a.ageSteps > b.ageSteps ? a.ageSteps : b.ageSteps;
    r.kind = ma >= mb ? a.kind : b.kind;
    r.wet = a.wet | b.wet;
    return r;
}

/* weather for this step; streaming update of the columns only */
__global__ void updateForcing(Column* cols, int n, int step)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned int s = cols[i].seed;
    float daily = sinf(step * 0.2617994f);
    float t = 4.f - 0.0065f * cols[i].elevation + 6.f * daily + 4.f * (rand01(&s) - 0.5f);
    float p = rand01(&s);
    float precip = p > 0.7f ? (p - 0.7f) * 20.f : 0.f;
    cols[i].airTemp = t;
    cols[i].snowfall = t < 0.5f ? precip : 0.f;
    cols[i].rain = t < 0.5f ? 0.f : precip;
    float sun = daily > 0.f ? 500.f * daily : 0.f;
    cols[i].shortwave = sun * (1.f - cols[i].canopy * (0.7f / 255.f)) * (1.f + 0.2f * cosf(cols[i].aspect * 0.0174533f));
    cols[i].wind = 1.f + 6.f * rand01(&s);
    cols[i].seed = s;
}

/* add new snow on top; thin or surplus layers are merged to keep within capacity */
__global__ void depositSnow(Column* cols, Layer* pool, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Column* c = &cols[i];
    if (c->snowfall <= 0.f) return;
    Layer* L = pool + c->first;
    int count = c->count;

    Layer fresh;
    fresh.density = fmaxf(50.f, 110.f + 6.f * c->airTemp + 8.f * c->wind);
    fresh.thickness = c->snowfall / fresh.density;
    fresh.temp = fminf(c->airTemp, 0.f);
    fresh.water = 0.f;  fresh.grain = 0.3f;
    fresh.ageSteps = 0; fresh.freezeCycles = 0;
    fresh.kind = FRESH; fresh.wet = 0;

    if (count > 0 && L[count - 1].kind == FRESH && L[count - 1].thickness < 0.03f) {
        L[count - 1] = mergeLayers(L[count - 1], fresh);
        return;
    }
    if (count == c->capacity) {
        int best = 0;
        float thin = 1e30f;
        for (int k = 0; k + 1 < count; ++k) {
            float t = L[k].thickness + L[k + 1].thickness;
            if (t < thin) { thin = t; best = k; }
        }
        L[best] = mergeLayers(L[best], L[best + 1]);
        for (int k = best + 1; k + 1 < count; ++k) L[k] = L[k + 1];
        --count;
    }
    L[count] = fresh;
    c->count = count + 1;
}

/* implicit heat conduction: Thomas algorithm in registers/local memory */
__global__ void __launch_bounds__(128) conductHeat(const Column* __restrict__ cols, Layer* pool, int n, float dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int m = cols[i].count;
    if (m == 0) return;
    Layer* L = pool + cols[i].first;
    float cp[MAX_LAYERS], dp[MAX_LAYERS];

    float kPrev = 0.f, hPrev = 1.f;
    for (int k = 0; k < m; ++k) {
        float rho = L[k].density, h = L[k].thickness, T = L[k].temp;
        float cond = 0.021f + 2.5e-6f * rho * rho;
        float heat = 2100.f * rho * h / dt;
        float below = k > 0 ? 2.f / (hPrev / kPrev + h / cond) : 0.f;
        float above = 0.f, rhs = heat * T;
        if (k + 1 < m) {
            float r2 = L[k + 1].density;
            float c2 = 0.021f + 2.5e-6f * r2 * r2;
            above = 2.f / (L[k + 1].thickness / c2 + h / cond);
        } else {
            rhs += (3.f + cols[i].wind) * cols[i].airTemp + 0.2f * cols[i].shortwave - 25.f;
            heat += 3.f + cols[i].wind;
        }
        if (k == 0) rhs += cols[i].groundFlux;
        float diag = heat + below + above;
        float den = k > 0 ? diag - below * cp[k - 1] : diag;
        cp[k] = above / den;
        dp[k] = (rhs + (k > 0 ? below * dp[k - 1] : 0.f)) / den;
        kPrev = cond; hPrev = h;
    }
    float T = 0.f;                  /* cp of the surface layer is zero */
    for (int k = m - 1; k >= 0; --k) {
        T = dp[k] + cp[k] * T;
        L[k].temp = T;
    }
}

/* melt / refreeze, percolation of water and settling; top to bottom */
__global__ void meltAndSettle(Column* cols, Layer* pool, int n, float dt)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        Layer* L = pool + cols[i].first;
        int m = cols[i].count;
        float flux = cols[i].rain, overburden = 0.f;
        double swe = 0.0;
        for (int k = m - 1; k >= 0; --k) {
            Layer& l = L[k];
            float ice = l.thickness * l.density;
            float energy = 2100.f * ice * l.temp;
            l.water += flux;
            if (l.temp > 0.f) {
                float melt = fminf(energy / 334000.f, 0.9f * ice);
                l.thickness -= melt / l.density;
                l.water += melt; ice -= melt;
                l.temp = 0.f;
            } else if (l.water > 0.f && l.temp < 0.f) {
                float fr = fminf(-energy / 334000.f, l.water);
                l.density = (ice + fr) / l.thickness;
                l.water -= fr;
                l.temp = fminf(l.temp + fr * 334000.f / (2100.f * (ice + fr)), 0.f);
                ice += fr;
                l.freezeCycles++;
                if (l.density > 450.f) l.kind = CRUST;
            }
            float hold = 0.05f * ice;
            flux = l.water > hold ? l.water - hold : 0.f;
            l.water -= flux;
            l.wet = l.water > 0.3f * hold;
            overburden += 0.5f * ice;
            float visc = 3.6e6f * expf(0.08f * -l.temp + 0.023f * l.density);
            float rate = fminf(overburden * 9.81f * dt / visc, 0.05f);
            if (l.density < 550.f) { l.thickness *= 1.f - rate; l.density = ice / l.thickness; }
            overburden += 0.5f * ice;
            l.grain += (l.wet ? 0.01f : 0.002f) * (1.f + 0.05f * l.ageSteps);
            if (++l.ageSteps > 12 && l.kind == FRESH) l.kind = SETTLED;
            if (l.grain > 2.f && !l.wet && k == 0) l.kind = DEPTH_HOAR;
            swe += layerMass(&l);
        }
        /* drop vanished surface layers, water goes to runoff */
        while (m > 0 && L[m - 1].thickness < 1e-3f) {
            flux += layerMass(&L[m - 1]);
            swe -= layerMass(&L[m - 1]);
            L[--m].kind = EMPTY;
        }
        cols[i].count = m;
        cols[i].runoff += flux; cols[i].swe = swe;
    }
}

/* all slots of the pool, block-level density histogram of occupied layers */
__global__ void densityHistogram(const Column* __restrict__ cols, const Layer* __restrict__ pool, int n, unsigned int* hist)
{
    __shared__ unsigned int bins[DENS_BINS];
    if (threadIdx.x < DENS_BINS) bins[threadIdx.x] = 0;
    __syncthreads();
    int warps = (gridDim.x * blockDim.x) >> 5;
    int lane = threadIdx.x & 31;
    for (int c = (blockIdx.x * blockDim.x + threadIdx.x) >> 5; c < n; c += warps) {
        if (lane < cols[c].count) {
            const Layer& l = pool[cols[c].first + lane];
            int b = max(0, min(DENS_BINS - 1, (int)(l.density * (DENS_BINS / 917.f))));
            if (l.kind != EMPTY) atomicAdd(&bins[b], 1u);
        }
    }
    __syncthreads();
    if (threadIdx.x < DENS_BINS) atomicAdd(&hist[threadIdx.x], bins[threadIdx.x]);
}

int main(int argc, char** argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 200000;
    Column* cols = NULL; Layer* pool = NULL; unsigned int* hist = NULL;
    size_t slots = 0;
    CHECK(cudaMallocManaged(&cols, n * sizeof(Column)));
    unsigned int s = 90210u;
    for (int i = 0; i < n; ++i) {
        Column c = {};
        c.count = (int)(rand01(&s) * 18.f);
        c.capacity = c.count + 4 > MAX_LAYERS ? MAX_LAYERS : c.count + 4;
        c.first = (int)slots;
        c.seed = (i * 747796405u + 2891336453u) | 1u;
        c.groundFlux = 0.5f + rand01(&s);
        c.elevation = 200.f + 2200.f * rand01(&s);
        c.aspect = (short)(rand01(&s) * 360.f);
        c.canopy = (unsigned char)(rand01(&s) * 255.f);
        c.glacier = c.elevation > 2200.f;
        cols[i] = c;
        slots += c.capacity;
    }
    CHECK(cudaMallocManaged(&pool, slots * sizeof(Layer)));
    CHECK(cudaMallocManaged(&hist, DENS_BINS * sizeof(unsigned int)));
    for (int i = 0; i < n; ++i)
        for (int k = 0; k < cols[i].capacity; ++k) {
            Layer l = {};
            if (k < cols[i].count) {
                l.thickness = 0.03f + 0.15f * rand01(&s);
                l.density = 420.f - 14.f * k + 30.f * rand01(&s);
                l.temp = -6.f * rand01(&s);
                l.grain = 0.5f + rand01(&s);
                l.ageSteps = 40 - 2 * k;
                l.kind = SETTLED;
            }
            pool[cols[i].first + k] = l;
        }
    for (int b = 0; b < DENS_BINS; ++b) hist[b] = 0;

    /* touch everything once so that the pages live on the device */
    densityHistogram<<<1024, 256>>>(cols, pool, n, hist);
    updateForcing<<<(n + 255) / 256, 256>>>(cols, n, 0);
    CHECK(cudaDeviceSynchronize());

    cudaEvent_t ev0, ev1;
    CHECK(cudaEventCreate(&ev0)); CHECK(cudaEventCreate(&ev1));
    CHECK(cudaEventRecord(ev0));
    const float dt = 3600.f;
    for (int step = 1; step <= 24; ++step) {
        updateForcing<<<(n + 255) / 256, 256>>>(cols, n, step);
        depositSnow<<<(n + 127) / 128, 128>>>(cols, pool, n);
        conductHeat<<<(n + 127) / 128, 128>>>(cols, pool, n, dt);
        meltAndSettle<<<792, 128>>>(cols, pool, n, dt);
        if (step % 6 == 0) densityHistogram<<<1024, 256>>>(cols, pool, n, hist);
    }
    CHECK(cudaEventRecord(ev1));
    CHECK(cudaEventSynchronize(ev1));
    CHECK(cudaGetLastError());
    float ms = 0.f;
    CHECK(cudaEventElapsedTime(&ms, ev0, ev1));

    double swe = 0, runoff = 0, depth = 0, temp = 0;
    long long layers = 0, wet = 0, hsum = 0;
    for (int i = 0; i < n; ++i) {
        swe += cols[i].swe; runoff += cols[i].runoff; layers += cols[i].count;
        for (int k = 0; k < cols[i].count; ++k) {
            const Layer& l = pool[cols[i].first + k];
            depth += l.thickness; temp += l.temp; wet += l.wet;
        }
    }
    for (int b = 0; b < DENS_BINS; ++b) hsum += (long long)hist[b] * b;
    printf("check swe %.6g\ncheck runoff %.6g\ncheck depth %.6g\n", swe, runoff, depth);
    printf("check temp %.5g\ncheck layers %lld\ncheck wet %lld\ncheck hist %lld\n", temp, layers, wet, hsum);
    printf("time_ms %.4f\n", ms);
    cudaFree(cols); cudaFree(pool); cudaFree(hist);
    return 0;
}
