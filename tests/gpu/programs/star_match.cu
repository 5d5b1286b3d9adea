/* Cross-match of a reference catalogue (with proper motions and parallaxes)
 * against a list of detections taken at a given epoch.  The sky patch is cut
 * into cells of equal size in RA and Dec; the reference stars are stored sorted
 * by cell.  For each epoch:  propagate -> match -> mutual check + photometric
 * residuals per zone -> new zero points.
 * Synopsis: star_match [n_stars] */
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>
#include <cuda_runtime.h>

namespace {
inline void check(cudaError_t e, const char *what)
{
    if (e != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
}

template <typename T>
class DeviceBuffer {
public:
    explicit DeviceBuffer(std::size_t n) : n_(n)
    {
        check(cudaMalloc(reinterpret_cast<void **>(&p_), n * sizeof(T)), "cudaMalloc");
    }
    explicit DeviceBuffer(const std::vector<T> &v) : DeviceBuffer(v.size())
    {
        check(cudaMemcpy(p_, v.data(), n_ * sizeof(T), cudaMemcpyHostToDevice), "upload");
    }
    ~DeviceBuffer() { cudaFree(p_); }
    DeviceBuffer(const DeviceBuffer &) = delete;
    T *get() { return p_; }
    std::vector<T> download() const
    {
        std::vector<T> v(n_);
        check(cudaMemcpy(v.data(), p_, n_ * sizeof(T), cudaMemcpyDeviceToHost), "download");
        return v;
    }

private:
    T *p_ = nullptr;
    std::size_t n_;
};

constexpr double kDeg = 0.017453292519943295;
constexpr double kArcsec = 206264.80624709636;
constexpr double kRa0 = 30.0, kDec0 = -10.0, kSize = 20.0;   // patch, degrees
constexpr int kZones = 16;                                   // per side
constexpr double kRefEpoch = 2000.0;
constexpr int kWarmup = 2, kSteps = 30;

struct Star {
    double ra, dec;          // degrees at the reference epoch
    float pmRa, pmDec;       // mas/yr, pmRa includes cos(dec)
    float parallax;          // mas
    float mag[3];
    int cell;
    short flags;
    short nObs;
};

struct UnitVec { double x, y, z; };

struct Moved {
    UnitVec u;
    float mag;
    int star;
};

struct Detection {
    UnitVec u;
    float mag, magErr;
    float sigma;             // positional error, arcsec
    int cellX, cellY;
    int zone;
    unsigned char band;
    unsigned char quality;
};

struct Match {
    int star;                // best, -1 when none
    int second;
    float sep, sep2;         // arcsec
    float dmag;
    unsigned short candidates;
    unsigned char mutual;
};

struct Claim {
    unsigned long long key;  // (separation in micro-arcsec, detection)
    unsigned int hits;
};
struct Zone {
    unsigned long long sumDmag;   // two's complement, 1e-5 mag
    int n;
    float zeroPoint;
    unsigned int maxSep;          // milli-arcsec
    int used;
};


__device__ inline double chord2(const UnitVec &a, const UnitVec &b)
{
    const double dx = a.x - b.x, dy = a.y - b.y, dz = a.z - b.z;
    return dx * dx + dy * dy + dz * dz;
}

__global__ void propagate(const Star *__restrict__ stars, Moved *__restrict__ moved,
                          Claim *__restrict__ claims, int n, double epoch, int band)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const Star s = stars[i];
    const double dt = epoch - kRefEpoch;
    const double phase = 6.283185307179586 * (epoch - floor(epoch));
    const double cd = cos(s.dec * kDeg);

    double dra = s.pmRa * dt, ddec = s.pmDec * dt;            // mas
    dra += s.parallax * cos(phase);                           // toy parallax ellipse
    ddec += 0.4 * s.parallax * sin(phase);
    const double ra = (s.ra + dra / (3.6e6 * cd)) * kDeg;
    const double dec = (s.dec + ddec / 3.6e6) * kDeg;

    double sr, cr, sd, cdd;
    sincos(ra, &sr, &cr);
    sincos(dec, &sd, &cdd);
    Moved m;
    m.u.x = cdd * cr;
    m.u.y = cdd * sr;
    m.u.z = sd;
    m.mag = s.mag[band];
    m.star = (s.flags & 1) ? -1 : i;                          // flagged: galaxy
    moved[i] = m;
    claims[i].key = ~0ull;
    claims[i].hits = 0;
}

__global__ void matchDetections(const Detection *__restrict__ det,
                                const Moved *__restrict__ moved,
                                const int *__restrict__ cellStart, int cells,
                                const Zone *__restrict__ zones, Match *__restrict__ out,
                                Claim *claims, int nDet, float radius)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= nDet) return;
    Match m;
    m.star = m.second = -1;
    m.sep = m.sep2 = 1e9f;
    m.dmag = 0.0f;
    m.candidates = 0;
    m.mutual = 0;
    if (det[i].quality < 2) {                                 // cosmic rays, trails
        out[i] = m;
        return;
    }

    const UnitVec u = det[i].u;
    const float mag = det[i].mag - zones[det[i].zone].zeroPoint;
    const float limit = fminf(radius, 2.0f + 5.0f * det[i].sigma);
    const double maxChord2 = (limit / kArcsec) * (limit / kArcsec);
    const int x0 = max(0, det[i].cellX - 1), x1 = min(cells - 1, det[i].cellX + 1);
    const int y0 = max(0, det[i].cellY - 1), y1 = min(cells - 1, det[i].cellY + 1);

    for (int y = y0; y <= y1; ++y) {
        const int e = cellStart[y * cells + x1 + 1];
        for (int k = cellStart[y * cells + x0]; k < e; ++k) {
            const double c2 = chord2(u, moved[k].u);
            if (c2 > maxChord2) continue;
            if (moved[k].star < 0 || fabsf(mag - moved[k].mag) > 1.5f) continue;
            const float sep = (float)(sqrt(c2) * kArcsec);
            ++m.candidates;
            if (sep < m.sep) {
                m.second = m.star;
                m.sep2 = m.sep;
                m.star = k;
                m.sep = sep;
                m.dmag = mag - moved[k].mag;
            } else if (sep < m.sep2) {
                m.second = k;
                m.sep2 = sep;
            }
        }
    }
    out[i] = m;
    if (m.star >= 0) {
        const unsigned long long micro = (unsigned long long)(m.sep * 1e6f);
        atomicMin(&claims[m.star].key, (micro << 32) | (unsigned)i);
        atomicAdd(&claims[m.star].hits, 1u);
    }
}

__global__ void mutualCheck(const Detection *det, Match *match, const Claim *claims,
                            Zone *zones, int nDet)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < nDet; i += gridDim.x * blockDim.x) {
        const int s = match[i].star;
        if (s < 0) continue;
        const bool won = (unsigned)(claims[s].key & 0xffffffffull) == (unsigned)i;
        match[i].mutual = won ? 1 : 0;
        if (!won || det[i].magErr > 0.08f) continue;
        Zone *z = zones + det[i].zone;
        const long long d = llrintf(match[i].dmag * 1e5f);
        atomicAdd(&z->sumDmag, (unsigned long long)d);
        atomicAdd(&z->n, 1);
        atomicMax(&z->maxSep, (unsigned int)(match[i].sep * 1000.0f));
    }
}

__global__ void solveZones(Zone *zones, int n)
{
    const int z = threadIdx.x + blockIdx.x * blockDim.x;
    if (z >= n) return;
    Zone zone = zones[z];
    if (zone.n > 8) {
        const double mean = (double)(long long)zone.sumDmag / zone.n * 1e-5;
        zone.zeroPoint += 0.5f * (float)mean;
    }
    zone.used = zone.n;
    zone.sumDmag = 0;
    zone.n = 0;
    zones[z] = zone;
}
struct SplitMix {
    std::uint64_t s;
    std::uint64_t next()
    {
        std::uint64_t z = (s += 0x9e3779b97f4a7c15ull);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
        return z ^ (z >> 31);
    }
    double uni() { return (next() >> 11) * (1.0 / 9007199254740992.0); }
    double bell() { return uni() + uni() + uni() - 1.5; }
};

int cellIndex(double value, double origin, int cells)
{
    int c = (int)((value - origin) / kSize * cells);
    return c < 0 ? 0 : (c >= cells ? cells - 1 : c);
}
} // namespace
int main(int argc, char **argv)
try {
    const int nStars = argc > 1 ? std::max(16, std::atoi(argv[1])) : 1000000;
    const int nDet = nStars + nStars / 4;
    int cells = (int)std::sqrt(nStars / 4.0);                 // about 4 stars a cell
    cells = std::min(1500, std::max(1, cells));

    SplitMix rng{20240229};
    std::vector<Star> raw(nStars), stars(nStars);
    std::vector<int> cellStart((std::size_t)cells * cells + 1, 0);
    for (auto &s : raw) {
        s.ra = kRa0 + kSize * rng.uni();
        s.dec = kDec0 + kSize * rng.uni();
        const double fast = rng.uni() < 0.05 ? 300.0 : 20.0;
        s.pmRa = (float)(fast * rng.bell());
        s.pmDec = (float)(fast * rng.bell());
        s.parallax = (float)(10.0 * rng.uni() * rng.uni());
        s.mag[0] = (float)(12.0 + 9.0 * std::sqrt(rng.uni()));
        s.mag[1] = s.mag[0] - 0.3f - (float)rng.uni();
        s.mag[2] = s.mag[1] - 0.2f - 0.5f * (float)rng.uni();
        s.flags = rng.uni() < 0.03 ? 1 : 0;
        s.nObs = (short)(2 + rng.next() % 40);
        s.cell = cellIndex(s.dec, kDec0, cells) * cells + cellIndex(s.ra, kRa0, cells);
        ++cellStart[s.cell + 1];
    }
    for (std::size_t c = 0; c + 1 < cellStart.size(); ++c)
        cellStart[c + 1] += cellStart[c];
    std::vector<int> fill(cellStart.begin(), cellStart.end() - 1);
    for (const auto &s : raw)
        stars[fill[s.cell]++] = s;

    std::vector<Detection> dets(nDet);
    const double dtDet = 8.0;                                 // detections of 2008.0
    for (auto &d : dets) {
        double ra, dec;
        d.band = 1;
        d.sigma = (float)(0.1 + 0.4 * rng.uni());
        d.magErr = (float)(0.01 + 0.1 * rng.uni());
        d.quality = (unsigned char)(rng.uni() < 0.04 ? 1 : 2 + rng.next() % 3);
        if (rng.uni() < 0.85) {
            const Star &s = stars[rng.next() % nStars];
            const double cd = std::cos(s.dec * kDeg);
            ra = s.ra + (s.pmRa * dtDet / 1000.0 + d.sigma * rng.bell()) / (3600.0 * cd);
            dec = s.dec + (s.pmDec * dtDet / 1000.0 + d.sigma * rng.bell()) / 3600.0;
            d.mag = s.mag[1] + (float)(d.magErr * 2.0 * rng.bell());
        } else {
            ra = kRa0 + kSize * rng.uni();
            dec = kDec0 + kSize * rng.uni();
            d.mag = (float)(13.0 + 8.0 * rng.uni());
        }
        d.zone = cellIndex(dec, kDec0, kZones) * kZones + cellIndex(ra, kRa0, kZones);
        d.mag += 0.002f * (d.zone % 64) - 0.05f;              // to be calibrated away
        d.cellX = cellIndex(ra, kRa0, cells);
        d.cellY = cellIndex(dec, kDec0, cells);
        d.u = {std::cos(dec * kDeg) * std::cos(ra * kDeg),
               std::cos(dec * kDeg) * std::sin(ra * kDeg), std::sin(dec * kDeg)};
    }

    DeviceBuffer<Star> dStars(stars);
    DeviceBuffer<int> dCells(cellStart);
    DeviceBuffer<Detection> dDets(dets);
    DeviceBuffer<Moved> dMoved(nStars);
    DeviceBuffer<Claim> dClaims(nStars);
    DeviceBuffer<Match> dMatch(nDet);
    DeviceBuffer<Zone> dZones(std::vector<Zone>(kZones * kZones, Zone{}));

    cudaEvent_t t0, t1;
    check(cudaEventCreate(&t0), "event");
    check(cudaEventCreate(&t1), "event");
    for (int step = -kWarmup; step < kSteps; ++step) {
        if (step == 0) check(cudaEventRecord(t0), "record");
        const double epoch = kRefEpoch + 7.0 + 0.0625 * (step + kWarmup);
        propagate<<<(nStars + 127) / 128, 128>>>(dStars.get(), dMoved.get(), dClaims.get(),
                                                 nStars, epoch, 1);
        matchDetections<<<(nDet + 191) / 192, 192>>>(dDets.get(), dMoved.get(), dCells.get(),
                                                     cells, dZones.get(), dMatch.get(),
                                                     dClaims.get(), nDet, 4.0f);
        mutualCheck<<<528, 256>>>(dDets.get(), dMatch.get(), dClaims.get(), dZones.get(), nDet);
        solveZones<<<2, 128>>>(dZones.get(), kZones * kZones);
    }
    check(cudaEventRecord(t1), "record");
    check(cudaEventSynchronize(t1), "kernels");
    check(cudaGetLastError(), "launch");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, t0, t1), "elapsed");

    std::uint64_t pairs = 0, order = 0;
    long long sep = 0, zp = 0;
    for (const Match &m : dMatch.download()) {
        order = order * 1099511628211ull + (std::uint64_t)(m.star + 2) * 5 + m.mutual + m.candidates;
        pairs += m.mutual;
        if (m.mutual) sep += std::llrint(m.sep * 1e4);
    }
    for (const Zone &z : dZones.download())
        zp += std::llrint(z.zeroPoint * 1e6) + z.used + z.maxSep;
    std::uint64_t hits = 0;
    for (const Claim &c : dClaims.download()) hits += (std::uint64_t)c.hits * c.hits;
    std::printf("check %llu/%lld/%llu/%lld/%llu\n", (unsigned long long)pairs, sep,
                (unsigned long long)order, zp, (unsigned long long)hits);
    std::printf("time_ms %.5f\n", ms / kSteps);
    return 0;
} catch (const std::exception &e) {
    std::fprintf(stderr, "star_match: %s\n", e.what());
    return 1;
}
