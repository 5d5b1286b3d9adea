/*
 * satellite_links.cu
 *
 * Constellation simulator: propagates satellites on Kepler orbits (with the
 * secular J2 drift), finds the best satellites for every ground station and
 * evaluates the link budgets and the optical cross links of the constellation.
 */
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define RUN(x) { cudaError_t status = x; if (status != cudaSuccess) { \
        printf("error: %s in line %d\n", cudaGetErrorString(status), __LINE__); return 1; } }

static const int MAX_LINKS = 4, ISL = 4, TILE = 128;

struct OrbitalElements {
    double a;                  // km
    double e, incl, raan, argp, mean0, motion;
};

struct Satellite {
    OrbitalElements orb;
    float3 pos;                // km, earth fixed
    float3 vel;                // km/s
    float  txPowerDbw;
    float  beamGain[3];        // dB: centre, mid, edge
    int    isl[ISL];
    float  islRange[ISL];
    int    users, islUp;
    unsigned char plane, slot;
    bool   eclipsed;
    unsigned char outage;
};

struct Station {
    float3 ecef;
    float3 up;
    float  sinMinElev;
    float  gOverT;             // dB/K
    float  rainFade;           // dB
    int    visible;
    int    handovers;
    int    lastSat;
    float  bestElev;
    double volume;             // Mbit
};

struct Link {
    int            sat, station;
    float          range, sinElev, snr, doppler;
    float          rate;       // Mbit/s
    unsigned char  modcod;
    unsigned char  valid;
    unsigned short age;
};

struct ModCod { float minSnr, bitsPerHz; };

__constant__ ModCod modcods[8];

__host__ __device__ inline float dot3(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__host__ __device__ inline float3 sub3(float3 a, float3 b) { return make_float3(a.x - b.x, a.y - b.y, a.z - b.z); }

static double unitRand(unsigned &state)
{
    state = state * 1103515245u + 12345u;
    return (state >> 9) / 8388608.0;
}

__global__ void propagate(Satellite *sats, int n, double t)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const OrbitalElements o = sats[i].orb;
    const double p = o.a * (1.0 - o.e * o.e), re = 6378.137 / p;
    const double raan = o.raan - 1.5 * 1.08263e-3 * re * re * o.motion * cos(o.incl) * t - 7.2921159e-5 * t;
    const double m = fmod(o.mean0 + o.motion * t, 6.283185307179586);
    double E = m;
    for (int k = 0; k < 12; ++k) {
        double d = (E - o.e * sin(E) - m) / (1.0 - o.e * cos(E));
        E -= d;
        if (fabs(d) < 1e-12) break;
    }
    const double nu = 2.0 * atan2(sqrt(1.0 + o.e) * sin(0.5 * E), sqrt(1.0 - o.e) * cos(0.5 * E));
    const double r = o.a * (1.0 - o.e * cos(E)), u = o.argp + nu;
    const double cu = cos(u), su = sin(u), co = cos(raan), so = sin(raan), ci = cos(o.incl), si = sin(o.incl);
    const double v = sqrt(398600.4418 / p);
    const double vr = v * o.e * sin(nu), vt = v * (1.0 + o.e * cos(nu));
    const double px = co * cu - so * su * ci, py = so * cu + co * su * ci, pz = su * si;
    const double qx = -co * su - so * cu * ci, qy = -so * su + co * cu * ci, qz = cu * si;
    Satellite *s = &sats[i];
    s->pos = make_float3((float)(r * px), (float)(r * py), (float)(r * pz));
    s->vel = make_float3((float)(vr * px + vt * qx), (float)(vr * py + vt * qy), (float)(vr * pz + vt * qz));
    const float sun = (float)t * 7.27e-5f;                      // angle of the sun, earth fixed
    const float along = s->pos.x * cosf(sun) - s->pos.y * sinf(sun);
    s->eclipsed = along < 0.0f && dot3(s->pos, s->pos) - along * along < 6378.0f * 6378.0f;
    s->users = 0;
    s->islUp = 0;
}

// Every station tests all satellites, staged through shared memory.
__global__ void findVisible(const Satellite *sats, int n, Station *stations, int ns, Link *links)
{
    __shared__ float4 tile[TILE];
    const int g = blockIdx.x * TILE + threadIdx.x;
    const bool active = g < ns;
    const float3 here = active ? stations[g].ecef : make_float3(0, 0, 0);
    const float3 up = active ? stations[g].up : make_float3(0, 0, 1);
    const float limit = active ? stations[g].sinMinElev : 2.0f;
    int best[MAX_LINKS], count = 0;
    float elev[MAX_LINKS];
    for (int k = 0; k < MAX_LINKS; ++k) { best[k] = -1; elev[k] = -1.0f; }
    for (int base = 0; base < n; base += TILE) {
        const int j = base + threadIdx.x;
        if (j < n) {
            const float3 p = sats[j].pos;
            tile[threadIdx.x] = make_float4(p.x, p.y, p.z, sats[j].outage ? 0.0f : 1.0f);
        }
        __syncthreads();
        const int m = min(TILE, n - base);
        for (int k = 0; k < m; ++k) {
            const float4 q = tile[k];
            const float3 d = make_float3(q.x - here.x, q.y - here.y, q.z - here.z);
            const float h = dot3(d, up);
            if (h <= 0.0f || q.w == 0.0f) continue;
            float s = h * rsqrtf(dot3(d, d));
            if (s < limit) continue;
            count++;
            int id = base + k;
            for (int r = 0; r < MAX_LINKS; ++r)
                if (s > elev[r]) {
                    float ts = elev[r]; elev[r] = s; s = ts;
                    int ti = best[r]; best[r] = id; id = ti;
                }
        }
        __syncthreads();
    }
    if (!active) return;
    Station &st = stations[g];
    st.visible = count;
    st.bestElev = elev[0];
    if (best[0] != st.lastSat) { st.handovers++; st.lastSat = best[0]; }
    for (int r = 0; r < MAX_LINKS; ++r) {
        Link &l = links[g * MAX_LINKS + r];
        if (l.sat == best[r]) l.age++; else l.age = 0;
        l.sat = best[r];
        l.sinElev = elev[r];
        l.valid = best[r] >= 0;
    }
}

__global__ void linkBudget(Link *links, int n, Satellite *sats, const Station *stations)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Link l = links[i];
    if (!l.valid) {
        l.snr = -99.0f; l.rate = 0.0f; l.modcod = 0;
        links[i] = l;
        return;
    }
    const Satellite &s = sats[l.sat];
    const Station &g = stations[l.station];
    const float3 d = sub3(s.pos, g.ecef);
    l.range = sqrtf(dot3(d, d));
    l.doppler = -dot3(s.vel, d) / l.range * 20.0e9f / 299792.458f;
    const float nadir = dot3(s.pos, d) * rsqrtf(dot3(s.pos, s.pos)) / l.range;
    const float gain = nadir > 0.9f ? s.beamGain[0] : nadir > 0.75f ? s.beamGain[1] : s.beamGain[2];
    const float fspl = 92.45f + 20.0f * log10f(l.range * 20.0f);
    const float power = s.txPowerDbw - (s.eclipsed ? 1.5f : 0.0f);
    l.snr = power + gain + g.gOverT - fspl - g.rainFade / fmaxf(0.1f, l.sinElev) + 228.6f - 84.0f;
    int mc = 0;
    while (mc < 7 && l.snr >= modcods[mc + 1].minSnr) ++mc;
    l.modcod = (unsigned char)mc;
    l.rate = 0.0f;
    links[i] = l;
    if (mc > 0) atomicAdd(&sats[l.sat].users, 1);
}

__global__ void shareCapacity(Link *links, Station *stations, int ns, const Satellite *sats, float dt)
{
    const int g = blockIdx.x * blockDim.x + threadIdx.x;
    if (g >= ns) return;
    float sum = 0.0f;
    for (int r = 0; r < MAX_LINKS; ++r) {
        Link *l = links + g * MAX_LINKS + r;
        if (!l->valid || l->modcod == 0) continue;
        const int users = sats[l->sat].users;
        const float share = fminf(60.0f, 2000.0f / users);
        l->rate = share * modcods[l->modcod].bitsPerHz * (l->age == 0 ? 0.8f : 1.0f);
        sum += l->rate;
    }
    stations[g].volume += (double)sum * dt;
}

__global__ void crossLinks(Satellite *sats, int n)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n * ISL) return;
    Satellite &s = sats[t / ISL];
    const int k = t % ISL;
    const Satellite &o = sats[s.isl[k]];
    const float3 d = sub3(o.pos, s.pos);
    const float len2 = dot3(d, d);
    const float w = fminf(1.0f, fmaxf(0.0f, -dot3(s.pos, d) / fmaxf(len2, 1.0f)));
    const float3 c = make_float3(s.pos.x + w * d.x, s.pos.y + w * d.y, s.pos.z + w * d.z);
    const float range = sqrtf(len2);
    s.islRange[k] = range;
    if (dot3(c, c) > 6478.0f * 6478.0f && range < 5500.0f && !s.outage && !o.outage) atomicAdd(&s.islUp, 1);
}

int main(int argc, char **argv)
{
    const int ns = argc > 1 ? atoi(argv[1]) : 24000;
    const int planes = 60, perPlane = 44, n = planes * perPlane, steps = 50, nl = ns * MAX_LINKS;
    Satellite *sats; Station *stations; Link *links;                 // pinned host arrays
    RUN(cudaMallocHost(&sats, n * sizeof(Satellite)));
    RUN(cudaMallocHost(&stations, ns * sizeof(Station)));
    RUN(cudaMallocHost(&links, nl * sizeof(Link)));
    const double pi = 3.14159265358979323846;
    unsigned seed = 20240607u;
    for (int i = 0; i < n; ++i) {
        Satellite s{};
        const int p = i / perPlane, k = i % perPlane;
        s.orb.a = 6378.137 + 550.0 + 20.0 * (p % 5);
        s.orb.e = 0.0005 + 0.002 * unitRand(seed);
        s.orb.incl = (p % 3 == 0 ? 86.0 : 53.0) * pi / 180.0;
        s.orb.raan = 2.0 * pi * p / planes;
        s.orb.argp = 2.0 * pi * unitRand(seed);
        s.orb.mean0 = 2.0 * pi * (k + 0.5 * (p & 1)) / perPlane - s.orb.argp;
        s.orb.motion = sqrt(398600.4418 / (s.orb.a * s.orb.a * s.orb.a));
        s.txPowerDbw = 10.0f + (float)unitRand(seed);
        s.beamGain[0] = 34.0f; s.beamGain[1] = 32.0f; s.beamGain[2] = 28.5f;
        s.isl[0] = p * perPlane + (k + 1) % perPlane;
        s.isl[1] = p * perPlane + (k + perPlane - 1) % perPlane;
        s.isl[2] = (p + 1) % planes * perPlane + k;
        s.isl[3] = (p + planes - 1) % planes * perPlane + k;
        s.plane = (unsigned char)p; s.slot = (unsigned char)k;
        s.outage = unitRand(seed) < 0.03;
        sats[i] = s;
    }
    for (int g = 0; g < ns; ++g) {
        Station s{};
        const double lat = asin(1.8 * unitRand(seed) - 0.9), lon = 2.0 * pi * unitRand(seed);
        s.up = make_float3((float)(cos(lat) * cos(lon)), (float)(cos(lat) * sin(lon)), (float)sin(lat));
        s.ecef = make_float3(6371.0f * s.up.x, 6371.0f * s.up.y, 6371.0f * s.up.z);
        s.sinMinElev = (float)sin((g % 4 == 0 ? 10.0 : 25.0) * pi / 180.0);
        s.gOverT = 8.0f + 6.0f * (float)unitRand(seed);
        s.rainFade = unitRand(seed) < 0.2 ? 4.0f : 0.5f;
        s.lastSat = -1;
        stations[g] = s;
        for (int r = 0; r < MAX_LINKS; ++r) {
            Link l{};
            l.sat = -1; l.station = g;
            links[g * MAX_LINKS + r] = l;
        }
    }
    const ModCod table[8] = {{-99.0f, 0.0f}, {-2.0f, 0.49f}, {1.0f, 0.99f}, {4.0f, 1.49f}, {6.5f, 2.23f}, {9.5f, 2.97f}, {12.5f, 3.70f}, {15.0f, 4.45f}};
    RUN(cudaMemcpyToSymbol(modcods, table, sizeof(table)));

    Satellite *dSat; Station *dSta; Link *dLink;
    cudaStream_t stream; cudaEvent_t t0, t1;
    RUN(cudaStreamCreate(&stream));
    RUN(cudaEventCreate(&t0)); RUN(cudaEventCreate(&t1));
    RUN(cudaMalloc(&dSat, n * sizeof(Satellite)));
    RUN(cudaMalloc(&dSta, ns * sizeof(Station)));
    RUN(cudaMalloc(&dLink, nl * sizeof(Link)));
    RUN(cudaMemcpyAsync(dSat, sats, n * sizeof(Satellite), cudaMemcpyHostToDevice, stream));
    RUN(cudaMemcpyAsync(dSta, stations, ns * sizeof(Station), cudaMemcpyHostToDevice, stream));
    RUN(cudaMemcpyAsync(dLink, links, nl * sizeof(Link), cudaMemcpyHostToDevice, stream));
    for (int s = 0; s <= steps; ++s) {
        if (s == 1) RUN(cudaEventRecord(t0, stream));
        propagate<<<(n + 63) / 64, 64, 0, stream>>>(dSat, n, 30.0 * s);
        findVisible<<<(ns + TILE - 1) / TILE, TILE, 0, stream>>>(dSat, n, dSta, ns, dLink);
        linkBudget<<<(nl + 127) / 128, 128, 0, stream>>>(dLink, nl, dSat, dSta);
        shareCapacity<<<(ns + 127) / 128, 128, 0, stream>>>(dLink, dSta, ns, dSat, 30.0f);
        crossLinks<<<(n * ISL + 127) / 128, 128, 0, stream>>>(dSat, n);
    }
    RUN(cudaEventRecord(t1, stream));
    RUN(cudaMemcpyAsync(sats, dSat, n * sizeof(Satellite), cudaMemcpyDeviceToHost, stream));
    RUN(cudaMemcpyAsync(stations, dSta, ns * sizeof(Station), cudaMemcpyDeviceToHost, stream));
    RUN(cudaMemcpyAsync(links, dLink, nl * sizeof(Link), cudaMemcpyDeviceToHost, stream));
    RUN(cudaGetLastError());
    RUN(cudaStreamSynchronize(stream));
    float ms;
    RUN(cudaEventElapsedTime(&ms, t0, t1));

    long long visible = 0, handovers = 0, users = 0, isl = 0, grades = 0;
    double volume = 0, range = 0, islLen = 0, shift = 0;
    for (int i = 0; i < n; ++i) { users += sats[i].users; isl += sats[i].islUp; for (float r : sats[i].islRange) islLen += r; }
    for (int g = 0; g < ns; ++g) { visible += stations[g].visible; handovers += stations[g].handovers; volume += stations[g].volume; }
    for (int k = 0; k < nl; ++k) { if (links[k].valid) { range += links[k].range; shift += fabs(links[k].doppler); } grades += links[k].modcod; }
    printf("check %lld/%lld/%lld/%lld/%lld/%.5g/%.5g/%.5g/%.4g\n", visible, handovers, users, isl, grades, volume, range, islLen, shift);
    printf("time_ms %.4f\n", ms / steps);
    cudaFreeHost(sats); cudaFreeHost(stations); cudaFreeHost(links);
    cudaFree(dSat); cudaFree(dSta); cudaFree(dLink);
    return 0;
}
