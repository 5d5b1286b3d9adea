// Survey telescope broker: score incoming alerts, associate each with the nearest
// star/galaxy of a zone-sorted catalogue, update light-curve summaries.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>
#include <cuda_runtime.h>

namespace broker {

constexpr double kDeg = 0.017453292519943295;
constexpr double kZoneHeight = 0.25;
constexpr int kZones = 720;

struct Source {
    double ra, dec;            // degrees, ra ascending inside a zone
    unsigned long long objectId;
    float pmRa, pmDec;         // mas/yr
    float mag[5];
    float magErr;
    float parallax;
    int numAlerts;
    int lastNight;
    int fluxDelta;             // summed magnitude change in 1e-3 mag
    short kind;                // 0 star, 1 galaxy, 2 agn
    uint8_t flags;
    uint8_t priority;
};

struct Alert {
    double ra, dec;
    double mjd;
    float mag;
    float magErr;
    float fwhm;
    float elong;
    float realBogus;
    float sep;                 // arcsec to the match
    int match;                 // index into the catalogue or -1
    short ccd;
    uint8_t band;
    uint8_t flags;             // 1 = accepted, 2 = matched, 4 = known agn
};

struct Zone {
    double decLow;
    float invCos;              // widening of a ra window
    int first;
    int count;
};

struct ZoneSummary {
    int matched;
    int touched;
    int sumDelta;
    int maxAlerts;
};

template <class T>
class Array {
public:
    explicit Array(size_t n) : n_(n) { check(cudaMalloc(&p_, n * sizeof(T))); }
    explicit Array(const std::vector<T>& v) : Array(v.size()) {
        check(cudaMemcpy(p_, v.data(), n_ * sizeof(T), cudaMemcpyHostToDevice));
    }
    ~Array() { cudaFree(p_); }
    Array(const Array&) = delete;
    void operator=(const Array&) = delete;
    T* data() { return p_; }
    size_t size() const { return n_; }
    void download(std::vector<T>& v) const {
        v.resize(n_);
        check(cudaMemcpy(v.data(), p_, n_ * sizeof(T), cudaMemcpyDeviceToHost));
    }
    static void check(cudaError_t e) {
        if (e == cudaSuccess) return;
        fprintf(stderr, "cuda: %s\n", cudaGetErrorString(e));
        exit(2);
    }
private:
    T* p_ = nullptr;
    size_t n_;
};

__device__ __forceinline__ unsigned mix(unsigned a, unsigned b) {
    unsigned h = a * 0x85ebca6bu ^ (b + 0x9e3779b9u + (a << 6));
    h ^= h >> 15; h *= 0x2c1b3c6du; h ^= h >> 12; h *= 0x297a2d39u; h ^= h >> 15;
    return h;
}

// new exposure: same fields, jittered detections
__global__ void nextExposure(Alert* alerts, int n, int night) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned h = mix(i, night);
    Alert& a = alerts[i];
    double dec = a.dec + ((int)(h & 255) - 128) * 1e-7;
    double ra = a.ra + ((int)((h >> 8) & 255) - 128) * 1e-7;
    a.dec = fmin(fmax(dec, -89.9), 89.9);
    a.ra = ra < 0.0 ? ra + 360.0 : (ra >= 360.0 ? ra - 360.0 : ra);
    a.mjd = 60000.0 + night;
    a.mag = 16.0f + ((h >> 16) & 1023) * 0.006f;
    a.match = -1;
    a.sep = 0.0f;
    a.flags = 0;
}

struct BogusModel {
    float bias, wFwhm, wElong, wErr;
    __device__ float operator()(const Alert& a) const {
        float x = bias + wFwhm * fabsf(a.fwhm - 3.2f) + wElong * (a.elong - 1.0f) + wErr * a.magErr;
        return 1.0f / (1.0f + expf(-x));
    }
};

template <class Model>
__global__ void scoreAlerts(Alert* __restrict__ alerts, int n, Model model) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float s = model(alerts[i]);
        alerts[i].realBogus = s;
        if (s > 0.3f) alerts[i].flags |= 1;
    }
}

__device__ int lowerBoundRa(const Source* __restrict__ cat, int lo, int hi, double ra) {
    while (lo < hi) {
        int mid = lo + ((hi - lo) >> 1);
        if (cat[mid].ra < ra) lo = mid + 1; else hi = mid;
    }
    return lo;
}

__device__ void scanWindow(const Source* __restrict__ cat, const Zone& z, double raLow, double raHigh, double ra, double dec,
                           float years, double cosDec, float& best, int& who) {
    int end = z.first + z.count;
    for (int k = lowerBoundRa(cat, z.first, end, raLow); k < end; ++k) {
        double sra = cat[k].ra;
        if (sra > raHigh) break;
        double dRa = (sra - ra) * 3600.0 * cosDec + 1e-3 * cat[k].pmRa * years;
        double dDec = (cat[k].dec - dec) * 3600.0 + 1e-3 * cat[k].pmDec * years;
        float d2 = (float)(dRa * dRa + dDec * dDec);
        if (cat[k].kind == 1) d2 *= 0.04f;      // galaxies are extended: widen the radius
        if (d2 < best) { best = d2; who = k; }
    }
}

__global__ void crossmatch(Alert* __restrict__ alerts, int n, const Source* __restrict__ cat,
                           const Zone* __restrict__ zones, float radius) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (!(alerts[i].flags & 1)) return;
    const double ra = alerts[i].ra, dec = alerts[i].dec;
    const float years = (float)((alerts[i].mjd - 57388.0) / 365.25);
    const double reach = 5.0 * radius / 3600.0;       // largest, for galaxies
    const double cosDec = cos(dec * kDeg);
    int z0 = max(0, (int)floor((dec - reach + 90.0) / kZoneHeight));
    int z1 = min(kZones - 1, (int)floor((dec + reach + 90.0) / kZoneHeight));
    float best = radius * radius;
    int who = -1;
    for (int z = z0; z <= z1; ++z) {
        const Zone zn = zones[z];
        double w = reach * zn.invCos;
        scanWindow(cat, zn, ra - w, ra + w, ra, dec, years, cosDec, best, who);
        if (ra - w < 0.0) scanWindow(cat, zn, ra - w + 360.0, 360.0, ra + 360.0, dec, years, cosDec, best, who);
        if (ra + w > 360.0) scanWindow(cat, zn, 0.0, ra + w - 360.0, ra - 360.0, dec, years, cosDec, best, who);
    }
    alerts[i].match = who;
    if (who >= 0) {
        alerts[i].sep = sqrtf(best);
        alerts[i].flags |= (uint8_t)(2 | (cat[who].kind == 2 ? 4 : 0));
    }
}

__global__ void updateSources(const Alert* __restrict__ alerts, int n, Source* cat, int night) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int m = alerts[i].match;
    if (m < 0) return;
    float dm = alerts[i].mag - cat[m].mag[alerts[i].band];
    atomicAdd(&cat[m].numAlerts, 1);
    atomicMax(&cat[m].lastNight, night);
    atomicAdd(&cat[m].fluxDelta, __float2int_rn(dm * 1000.0f));
}

// one block per zone
__global__ void summarizeZones(Source* cat, const Zone* __restrict__ zones, ZoneSummary* out, int night) {
    __shared__ int sMatched, sTouched, sDelta, sMax;
    if (threadIdx.x == 0) sMatched = sTouched = sDelta = sMax = 0;
    __syncthreads();
    const Zone z = zones[blockIdx.x];
    int matched = 0, touched = 0, delta = 0, mx = 0;
    for (int k = threadIdx.x; k < z.count; k += blockDim.x) {
        Source& s = cat[z.first + k];
        int na = s.numAlerts;
        if (na == 0) continue;
        matched += na;
        mx = max(mx, na);
        delta += s.fluxDelta / na;
        if (s.lastNight == night) {
            ++touched;
            int pr = min(255, na + (abs(s.fluxDelta / na) >> 4));
            s.priority = (uint8_t)pr;
        }
    }
    atomicAdd(&sMatched, matched);
    atomicAdd(&sTouched, touched);
    atomicAdd(&sDelta, delta);
    atomicMax(&sMax, mx);
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = ZoneSummary{sMatched, sTouched, sDelta, sMax};
}

struct Lcg {
    uint64_t s;
    uint32_t next() { s = s * 6364136223846793005ull + 1442695040888963407ull; return (uint32_t)(s >> 32); }
    double uni() { return next() * (1.0 / 4294967296.0); }
};

void makeCatalogue(std::vector<Source>& cat, std::vector<Zone>& zones, int target) {
    Lcg g{777};
    zones.resize(kZones);
    double norm = 0;
    for (int z = 0; z < kZones; ++z) norm += cos(((z + 0.5) * kZoneHeight - 90.0) * kDeg);
    cat.reserve(target + kZones);
    for (int z = 0; z < kZones; ++z) {
        double mid = (z + 0.5) * kZoneHeight - 90.0;
        int cnt = 1 + (int)(target * cos(mid * kDeg) / norm);
        zones[z] = Zone{z * kZoneHeight - 90.0, (float)(1.0 / cos(std::min(89.9, fabs(mid) + 0.13) * kDeg)), (int)cat.size(), cnt};
        for (int i = 0; i < cnt; ++i) {
            Source s{};
            s.ra = 360.0 * (i + g.uni()) / cnt;
            s.dec = zones[z].decLow + kZoneHeight * g.uni();
            s.objectId = ((unsigned long long)z << 40) | (unsigned long long)i;
            s.pmRa = (float)(g.uni() * 20 - 10);
            s.pmDec = (float)(g.uni() * 20 - 10);
            float m = 15.0f + 8.0f * (float)sqrt(g.uni());
            for (int b = 0; b < 5; ++b) s.mag[b] = m + 0.3f * (2 - b) * (float)g.uni();
            s.magErr = 0.01f + 0.002f * (m - 15.0f);
            s.parallax = (float)g.uni();
            uint32_t r = g.next() % 100;
            s.kind = r < 60 ? 0 : (r < 97 ? 1 : 2);
            s.flags = (uint8_t)(g.next() & 7);
            cat.push_back(s);
        }
    }
}

}  // namespace broker

int main() {
    using namespace broker;
    std::vector<Source> cat;
    std::vector<Zone> zones;
    makeCatalogue(cat, zones, 8000000);
    const int nAlerts = 1500000;
    std::vector<Alert> alerts(nAlerts);
    Lcg g{31337};
    for (int i = 0; i < nAlerts; ++i) {
        Alert a{};
        if (g.next() % 10 < 7) {
            const Source& s = cat[g.next() % cat.size()];
            a.ra = s.ra + (g.uni() - 0.5) * 4e-4;
            a.dec = s.dec + (g.uni() - 0.5) * 4e-4;
        } else {
            a.ra = 360.0 * g.uni();
            a.dec = asin(2.0 * g.uni() - 1.0) / kDeg;
        }
        a.dec = std::fmin(std::fmax(a.dec, -89.9), 89.9);
        if (a.ra < 0) a.ra += 360.0;
        if (a.ra >= 360.0) a.ra -= 360.0;
        a.magErr = 0.02f + 0.1f * (float)g.uni();
        a.fwhm = 2.5f + 2.0f * (float)g.uni();
        a.elong = 1.0f + (float)g.uni();
        a.ccd = (short)(g.next() % 189);
        a.band = (uint8_t)(g.next() % 5);
        a.match = -1;
        alerts[i] = a;
    }
    Array<Source> dCat(cat);
    Array<Zone> dZones(zones);
    Array<Alert> dAlerts(alerts);
    Array<ZoneSummary> dSum(kZones);

    const int B = 128, grid = (nAlerts + B - 1) / B;
    const BogusModel model{2.0f, -0.9f, -1.4f, -6.0f};
    auto night = [&](int t) {
        nextExposure<<<grid, B>>>(dAlerts.data(), nAlerts, t);
        scoreAlerts<<<1056, 256>>>(dAlerts.data(), nAlerts, model);
        crossmatch<<<grid, B>>>(dAlerts.data(), nAlerts, dCat.data(), dZones.data(), 2.0f);
        updateSources<<<grid, B>>>(dAlerts.data(), nAlerts, dCat.data(), t);
        summarizeZones<<<kZones, 512>>>(dCat.data(), dZones.data(), dSum.data(), t);
    };
    int t = 1;
    for (; t <= 5; ++t) night(t);
    cudaEvent_t e0, e1;
    cudaEventCreate(&e0);
    cudaEventCreate(&e1);
    cudaEventRecord(e0);
    const int nights = 50;
    for (; t <= 5 + nights; ++t) night(t);
    cudaEventRecord(e1);
    Array<Source>::check(cudaEventSynchronize(e1));
    float ms = 0;
    cudaEventElapsedTime(&ms, e0, e1);

    std::vector<ZoneSummary> sum;
    dSum.download(sum);
    dAlerts.download(alerts);
    dCat.download(cat);
    long long matched = 0, touched = 0, prio = 0, agn = 0;
    double sep = 0, delta = 0;
    for (const ZoneSummary& s : sum) { matched += s.matched; touched += s.touched; delta += s.sumDelta; }
    for (const Source& s : cat) prio += s.priority;
    for (const Alert& a : alerts) { sep += a.sep; agn += (a.flags & 4) != 0; }
    printf("check %.5g/%.5g/%.4g/%.4g/%.4g/%lld\n", (double)matched, (double)touched, sep, delta, (double)prio, agn);
    printf("time_ms %.4f\n", ms / nights);
    return 0;
}
