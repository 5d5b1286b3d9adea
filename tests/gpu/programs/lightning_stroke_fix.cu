// Time-of-arrival lightning location: associate sferic pulses from a station
// network with candidate strokes, solve each stroke by Gauss-Newton and build
// a stroke density map.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

static void ensure(cudaError_t e, const char *what, int line) {
    if (e != cudaSuccess) {
        fprintf(stderr, "line %d: %s: %s\n", line, what, cudaGetErrorString(e));
        exit(1);
    }
}
#define ENSURE(x) ensure((x), #x, __LINE__)

#define KM_PER_MS 299.792458f
#define NSTATIONS 40
#define EXTENT_KM 1000.0f
#define MAP 200

struct Station {
    float x, y;
    float gain;
    float clock_us;
    float noise;
    int pulses;
};

struct Pulse {
    double t;
    float amplitude;
    float rise_us;
    float azimuth;
    int owner;
    short station;
    unsigned char polarity;
    unsigned char flags;
};

struct Stroke {
    double seed_t;
    double t;
    float seed_x, seed_y;
    float x, y;
    float peak_ka;
    float chi2;
    float major_km;
    int first;
    int count;
    short sensors;
    unsigned char kind;
    unsigned char ok;
};

struct MapCell {
    int strokes;
    int positive;
    float peak_sum;
    float peak_max;
};

__device__ int first_at_or_after(const Pulse *p, int n, double t) {
    int lo = 0, hi = n;
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (p[mid].t < t)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

__device__ float travel_ms(const Station &s, float x, float y) {
    float dx = s.x - x, dy = s.y - y;
    return sqrtf(dx * dx + dy * dy) / KM_PER_MS + s.clock_us * 1e-3f;
}

__global__ void reset_pulses(Pulse *pulses, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < m) pulses[i].owner = 0x7fffffff;
}

__global__ void find_windows(Stroke *strokes, int n, const Pulse *pulses, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        double t = strokes[i].seed_t;
        int a = first_at_or_after(pulses, m, t - 1e-4);
        int b = first_at_or_after(pulses, m, t + 3.0e-3);
        strokes[i].first = a;
        strokes[i].count = b - a;
    }
}

__global__ void associate(const Stroke *strokes, int n, Pulse *pulses, const Station *stations) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const Stroke s = strokes[i];
        for (int k = s.first; k < s.first + s.count; k++) {
            float dt = (float)((pulses[k].t - s.seed_t) * 1e3);
            float expect = travel_ms(stations[pulses[k].station], s.seed_x, s.seed_y);
            if (fabsf(dt - expect) < 0.07f) atomicMin(&pulses[k].owner, i);
        }
    }
}

__global__ void solve_strokes(Stroke *strokes, int n, const Pulse *pulses, const Station *stations) {
    __shared__ Station st[NSTATIONS];
    for (int k = threadIdx.x; k < NSTATIONS; k += blockDim.x) st[k] = stations[k];
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int lo = strokes[i].first, hi = lo + strokes[i].count;
        double base = strokes[i].seed_t;
        float x = strokes[i].seed_x, y = strokes[i].seed_y, t = 0.0f;
        float chi = 0.0f, peak = 0.0f, m00 = 1.0f, m11 = 1.0f;
        int used = 0, positive = 0;
        for (int iter = 0; iter < 4; iter++) {
            float a00 = 1e-3f, a01 = 0, a02 = 0, a11 = 1e-3f, a12 = 0, a22 = 1e-3f;
            float b0 = 0, b1 = 0, b2 = 0;
            chi = 0.0f;
            peak = 0.0f;
            used = 0;
            positive = 0;
            for (int k = lo; k < hi; k++) {
                if (pulses[k].owner != i) continue;
                const Station &q = st[pulses[k].station];
                float dx = x - q.x, dy = y - q.y;
                float d = sqrtf(dx * dx + dy * dy) + 1e-3f;
                float dt = (float)((pulses[k].t - base) * 1e3);
                float r = (dt - t - q.clock_us * 1e-3f) * KM_PER_MS - d;
                float w = 1.0f / (1.0f + q.noise);
                float jx = dx / d, jy = dy / d;
                a00 += w * jx * jx;
                a01 += w * jx * jy;
                a02 += w * jx;
                a11 += w * jy * jy;
                a12 += w * jy;
                a22 += w;
                b0 += w * jx * r;
                b1 += w * jy * r;
                b2 += w * r;
                chi += w * r * r;
                peak += pulses[k].amplitude * d / (100.0f * q.gain);
                positive += pulses[k].polarity;
                used++;
            }
            if (used < 3) break;
            float c00 = a11 * a22 - a12 * a12;
            float c01 = a02 * a12 - a01 * a22;
            float c02 = a01 * a12 - a02 * a11;
            float det = a00 * c00 + a01 * c01 + a02 * c02;
            if (fabsf(det) < 1e-9f) break;
            float id = 1.0f / det;
            float c11 = a00 * a22 - a02 * a02;
            float c12 = a01 * a02 - a00 * a12;
            float c22 = a00 * a11 - a01 * a01;
            float sx = (c00 * b0 + c01 * b1 + c02 * b2) * id;
            float sy = (c01 * b0 + c11 * b1 + c12 * b2) * id;
            float stp = (c02 * b0 + c12 * b1 + c22 * b2) * id;
            float len = sqrtf(sx * sx + sy * sy);
            float scale = len > 25.0f ? 25.0f / len : 1.0f;
            x += scale * sx;
            y += scale * sy;
            t += scale * stp / KM_PER_MS;
            m00 = fabsf(c00 * id);
            m11 = fabsf(c11 * id);
        }
        strokes[i].x = x;
        strokes[i].y = y;
        strokes[i].t = base + 1e-3 * t;
        strokes[i].sensors = (short)used;
        strokes[i].chi2 = used > 3 ? chi / (used - 3) : chi;
        strokes[i].peak_ka = used > 0 ? peak / used : 0.0f;
        strokes[i].major_km = sqrtf(fmaxf(m00, m11));
        strokes[i].kind = 2 * positive > used ? 1 : 0;
        strokes[i].ok = used >= 4 && strokes[i].chi2 < 60.0f ? 1 : 0;
    }
}

__global__ void density_map(const Stroke *strokes, int n, MapCell *map) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && strokes[i].ok) {
        float fx = strokes[i].x * (MAP / EXTENT_KM), fy = strokes[i].y * (MAP / EXTENT_KM);
        if (fx < 0.0f || fy < 0.0f || fx >= MAP || fy >= MAP) return;
        MapCell *c = &map[(int)fy * MAP + (int)fx];
        atomicAdd(&c->strokes, 1);
        if (strokes[i].kind) atomicAdd(&c->positive, 1);
        atomicAdd(&c->peak_sum, strokes[i].peak_ka);
        atomicMax((int *)&c->peak_max, __float_as_int(strokes[i].peak_ka));
    }
}

static unsigned int rs = 0x2545f491u;
static float ur() {
    rs ^= rs << 13;
    rs ^= rs >> 17;
    rs ^= rs << 5;
    return (rs >> 8) / 16777216.0f;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 300000;
    n = std::max(n, 1);

    std::vector<Station> stations(NSTATIONS);
    for (auto &s : stations) {
        s.x = EXTENT_KM * ur();
        s.y = EXTENT_KM * ur();
        s.gain = 0.7f + 0.6f * ur();
        s.clock_us = 4.0f * (ur() - 0.5f);
        s.noise = ur();
        s.pulses = 0;
    }
    std::vector<Stroke> strokes(n);
    std::vector<Pulse> pulses;
    pulses.reserve((size_t)n * 13);
    double now = 0.0;
    float cx = 500.0f, cy = 500.0f;
    for (int i = 0; i < n; i++) {
        if (i % 64 == 0) {
            cx = 50.0f + 900.0f * ur();
            cy = 50.0f + 900.0f * ur();
        }
        now += 2.0e-3 * ur();
        float x = cx + 80.0f * (ur() - 0.5f), y = cy + 80.0f * (ur() - 0.5f);
        float peak = 5.0f + 80.0f * ur() * ur();
        bool pos = ur() < 0.12f;
        Stroke &s = strokes[i];
        memset(&s, 0, sizeof(s));
        s.seed_t = now + 2.0e-5 * (ur() - 0.5f);
        s.seed_x = x + 10.0f * (ur() - 0.5f);
        s.seed_y = y + 10.0f * (ur() - 0.5f);
        for (int k = 0; k < NSTATIONS; k++) {
            Station &q = stations[k];
            float dx = q.x - x, dy = q.y - y;
            float d = sqrtf(dx * dx + dy * dy);
            float heard = peak * 12.0f / (d + 20.0f);
            if (d > 800.0f || heard < 0.2f + ur()) continue;
            Pulse p;
            p.t = now + (d / KM_PER_MS + q.clock_us * 1e-3f) * 1e-3 + 3.0e-6 * (ur() - 0.5f);
            p.amplitude = peak * q.gain * 100.0f / (d + 1e-3f);
            p.rise_us = 1.0f + 6.0f * ur();
            p.azimuth = atan2f(dy, dx) + 0.05f * (ur() - 0.5f);
            p.owner = 0;
            p.station = (short)k;
            p.polarity = pos;
            p.flags = 0;
            pulses.push_back(p);
            q.pulses++;
        }
        if (ur() < 0.5f) {
            Pulse p;
            p.t = now + 1e-3 * ur();
            p.amplitude = ur();
            p.rise_us = 1.0f;
            p.azimuth = 6.28f * ur();
            p.owner = 0;
            p.station = (short)(ur() * NSTATIONS);
            p.polarity = ur() < 0.5f;
            p.flags = 1;
            pulses.push_back(p);
        }
    }
    std::stable_sort(pulses.begin(), pulses.end(),
                     [](const Pulse &a, const Pulse &b) { return a.t < b.t; });
    int m = (int)pulses.size();

    Station *d_st;
    Stroke *d_str;
    Pulse *d_pul;
    MapCell *d_map;
    ENSURE(cudaMalloc(&d_st, NSTATIONS * sizeof(Station)));
    ENSURE(cudaMalloc(&d_str, n * sizeof(Stroke)));
    ENSURE(cudaMalloc(&d_pul, (m + 1) * sizeof(Pulse)));
    ENSURE(cudaMalloc(&d_map, MAP * MAP * sizeof(MapCell)));
    ENSURE(cudaMemcpy(d_st, stations.data(), NSTATIONS * sizeof(Station), cudaMemcpyHostToDevice));
    ENSURE(cudaMemcpy(d_str, strokes.data(), n * sizeof(Stroke), cudaMemcpyHostToDevice));
    ENSURE(cudaMemcpy(d_pul, pulses.data(), m * sizeof(Pulse), cudaMemcpyHostToDevice));

    cudaEvent_t ev0, ev1;
    ENSURE(cudaEventCreate(&ev0));
    ENSURE(cudaEventCreate(&ev1));
    const int reps = 12, tb = 128;
    int gs = (n + tb - 1) / tb, gp = (m + tb) / tb;
    for (int rep = -1; rep < reps; rep++) {
        if (rep == 0) ENSURE(cudaEventRecord(ev0));
        reset_pulses<<<gp, tb>>>(d_pul, m);
        find_windows<<<gs, tb>>>(d_str, n, d_pul, m);
        associate<<<gs, tb>>>(d_str, n, d_pul, d_st);
        solve_strokes<<<gs, tb>>>(d_str, n, d_pul, d_st);
        ENSURE(cudaMemsetAsync(d_map, 0, MAP * MAP * sizeof(MapCell)));
        density_map<<<gs, tb>>>(d_str, n, d_map);
    }
    ENSURE(cudaEventRecord(ev1));
    ENSURE(cudaEventSynchronize(ev1));
    ENSURE(cudaGetLastError());
    float ms;
    ENSURE(cudaEventElapsedTime(&ms, ev0, ev1));

    std::vector<MapCell> map(MAP * MAP);
    ENSURE(cudaMemcpy(strokes.data(), d_str, n * sizeof(Stroke), cudaMemcpyDeviceToHost));
    ENSURE(cudaMemcpy(pulses.data(), d_pul, m * sizeof(Pulse), cudaMemcpyDeviceToHost));
    ENSURE(cudaMemcpy(map.data(), d_map, MAP * MAP * sizeof(MapCell), cudaMemcpyDeviceToHost));

    long long ok = 0, sensors = 0, owned = 0, mapped = 0, positive = 0, window = 0;
    double sx = 0, sy = 0, shift = 0, peaksum = 0, peakmax = 0;
    for (auto &s : strokes) {
        ok += s.ok;
        sensors += s.sensors;
        window += s.count;
        if (s.ok) {
            sx += s.x;
            sy += s.y;
            shift += std::hypot(s.x - s.seed_x, s.y - s.seed_y);
        }
    }
    for (auto &p : pulses) owned += p.owner != 0x7fffffff;
    for (auto &c : map) {
        mapped += c.strokes;
        positive += c.positive;
        peaksum += c.peak_sum;
        peakmax = std::max(peakmax, (double)c.peak_max);
    }
    printf("check pulses %d\n", m);
    printf("check window_pulses %lld\n", window);
    printf("check located %lld\n", ok);
    printf("check sensors %lld\n", sensors);
    printf("check owned %lld\n", owned);
    printf("check mapped %lld\n", mapped);
    printf("check positive %lld\n", positive);
    printf("check sum_x %.6g\n", sx);
    printf("check sum_y %.6g\n", sy);
    printf("check seed_shift %.6g\n", shift);
    printf("check peak_sum %.2e\n", peaksum);
    printf("check peak_max %.6g\n", peakmax);
    printf("time_ms %.4f\n", ms / reps);
    ENSURE(cudaFree(d_st));
    ENSURE(cudaFree(d_str));
    ENSURE(cudaFree(d_pul));
    ENSURE(cudaFree(d_map));
    return 0;
}
