// Conjunction screening of a satellite catalogue: propagate Kepler orbits with
// J2 drift, compare all pairs whose altitude bands overlap, list the close
// pairs and refine them to the time of closest approach.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CUDA_CHECK(x)                                                                   \
    do {                                                                                \
        cudaError_t status = (x);                                                       \
        if (status != cudaSuccess) {                                                    \
            std::fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(status)); \
            std::exit(1);                                                               \
        }                                                                               \
    } while (0)

namespace constants {
constexpr double MU = 398600.4418;      // km3/s2
constexpr double RE = 6378.137;
constexpr double J2 = 1.08262668e-3;
} // namespace constants

struct Orbit {
    double a;               // km
    double e;
    double inclination;
    double node;
    double perigee;         // argument
    double meanAnomaly;
    double drag;            // decay of a, km/s
    float hardBody;         // radius, m
    int catalogNumber;
    unsigned char kind;     // 0 payload, 1 rocket body, 2 debris
    unsigned char active;
    short owner;
    unsigned int nearMisses;
};

struct StateVector {
    double3 r;
    double3 v;
    float low, high;        // altitude band, km
    int index;
    int revolutions;
};

struct Encounter {
    int first, second;
    float distance;         // km
    float speed;
    float tca;              // s from the epoch of the step
    float missDistance;
};

__device__ double eccentricAnomaly(double m, double e)
{
    double E = m + e * sin(m);
    for (int k = 0; k < 8; ++k) {
        double s, c;
        sincos(E, &s, &c);
        double d = (E - e * s - m) / (1.0 - e * c);
        E -= d;
        if (fabs(d) < 1e-12) break;
    }
    return E;
}

__global__ void propagate(const Orbit *orbits, StateVector *states, int n, double t, unsigned int *count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0) *count = 0;
    if (i >= n) return;
    const Orbit &o = orbits[i];
    double a = o.a - o.drag * t;
    double motion = sqrt(constants::MU / (a * a * a));
    double p = a * (1.0 - o.e * o.e);
    double ci = cos(o.inclination), si = sin(o.inclination);
    double j = 1.5 * constants::J2 * (constants::RE / p) * (constants::RE / p) * motion;
    double node = o.node - j * ci * t;
    double arg = o.perigee + j * (2.0 - 2.5 * si * si) * t;
    double turns = (o.meanAnomaly + motion * t) / (2.0 * M_PI);
    double m = (turns - floor(turns)) * 2.0 * M_PI;
    double E = eccentricAnomaly(m, o.e);
    double sE = sin(E), cE = cos(E), root = sqrt(1.0 - o.e * o.e);
    double x = a * (cE - o.e), y = a * root * sE;
    double f = a * motion / (1.0 - o.e * cE);
    double vx = -f * sE, vy = f * root * cE;

    double cn = cos(node), sn = sin(node), cw = cos(arg), sw = sin(arg);
    double px = cn * cw - sn * sw * ci, py = sn * cw + cn * sw * ci, pz = sw * si;
    double qx = -cn * sw - sn * cw * ci, qy = -sn * sw + cn * cw * ci, qz = cw * si;
    StateVector &s = states[i];
    s.r = make_double3(px * x + qx * y, py * x + qy * y, pz * x + qz * y);
    s.v = make_double3(px * vx + qx * vy, py * vx + qy * vy, pz * vx + qz * vy);
    s.low = (float)(a * (1.0 - o.e) - constants::RE);
    s.high = (float)(a * (1.0 + o.e) - constants::RE);
    s.index = i;
    s.revolutions = (int)floor(turns);
}

__global__ void screenPairs(const StateVector *states, int n, int chunk, float limit,
                            Encounter *list, unsigned int *count, unsigned int capacity)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int begin = blockIdx.y * chunk, end = min(begin + chunk, n);
    begin = max(begin, i + 1);
    const float low = states[i].low - limit, high = states[i].high + limit;
    const double3 r = states[i].r;
    for (int j = begin; j < end; ++j) {
        if (states[j].low > high || states[j].high < low) continue;
        double dz = states[j].r.z - r.z;
        if (fabs(dz) > limit) continue;
        double dx = states[j].r.x - r.x, dy = states[j].r.y - r.y;
        double d2 = dx * dx + dy * dy + dz * dz;
        if (d2 > (double)limit * limit) continue;
        unsigned int at = atomicAdd(count, 1u);
        if (at >= capacity) continue;
        list[at].first = i;
        list[at].second = j;
        list[at].distance = (float)sqrt(d2);
    }
}

__global__ void refine(Encounter *list, const unsigned int *count, unsigned int capacity, const StateVector *states,
                       Orbit *orbits, unsigned long long *digest)
{
    unsigned int total = min(*count, capacity);
    for (unsigned int k = blockIdx.x * blockDim.x + threadIdx.x; k < total; k += gridDim.x * blockDim.x) {
        Encounter e = list[k];
        const StateVector &a = states[e.first];
        const StateVector &b = states[e.second];
        double dx = b.r.x - a.r.x, dy = b.r.y - a.r.y, dz = b.r.z - a.r.z;
        double ux = b.v.x - a.v.x, uy = b.v.y - a.v.y, uz = b.v.z - a.v.z;
        double uu = ux * ux + uy * uy + uz * uz + 1e-9;
        double t = -(dx * ux + dy * uy + dz * uz) / uu;
        dx += t * ux;
        dy += t * uy;
        dz += t * uz;
        e.speed = (float)sqrt(uu);
        e.tca = (float)t;
        e.missDistance = (float)sqrt(dx * dx + dy * dy + dz * dz);
        list[k] = e;
        if (e.missDistance < 20.f) {
            atomicAdd(&orbits[e.first].nearMisses, 1u);
            atomicAdd(&orbits[e.second].nearMisses, 1u);
        }
        unsigned long long h = (unsigned long long)e.first * 2654435761u + e.second;
        h += (unsigned long long)__float2int_rn(e.distance) * 977 + __float2int_rn(e.speed * 4.f);
        atomicAdd(digest, h % 1000003);
    }
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? std::atoi(argv[1]) : 24000;
    std::vector<Orbit> orbits(n);
    uint32_t seed = 4711;
    auto u = [&seed]() {
        seed ^= seed << 13;
        seed ^= seed >> 17;
        seed ^= seed << 5;
        return (seed >> 8) * (1.0 / 16777216.0);
    };
    for (int i = 0; i < n; ++i) {
        Orbit &o = orbits[i];
        double shell = u();
        double altitude = shell < 0.4 ? 540 + 20 * u() : shell < 0.7 ? 700 + 250 * u() : 400 + 1400 * u();
        o.a = constants::RE + altitude;
        o.e = shell < 0.4 ? 0.0005 * u() : 0.02 * u();
        o.inclination = shell < 0.4 ? 0.925 : 0.4 + 1.4 * u();
        o.node = 2 * M_PI * u();
        o.perigee = 2 * M_PI * u();
        o.meanAnomaly = 2 * M_PI * u();
        o.drag = 1e-7 * u();
        o.hardBody = (float)(0.2 + 5 * u());
        o.catalogNumber = 10000 + 7 * i;
        o.kind = (unsigned char)(3 * u());
        o.active = o.kind == 0;
        o.owner = (short)(50 * u());
        o.nearMisses = 0;
    }

    const unsigned int capacity = 1u << 20;
    Orbit *dOrbits;
    StateVector *dStates;
    Encounter *dList;
    unsigned int *dCount;
    unsigned long long *dDigest;
    CUDA_CHECK(cudaMalloc(&dOrbits, n * sizeof(Orbit)));
    CUDA_CHECK(cudaMalloc(&dStates, n * sizeof(StateVector)));
    CUDA_CHECK(cudaMalloc(&dList, capacity * sizeof(Encounter)));
    CUDA_CHECK(cudaMalloc(&dCount, sizeof(unsigned int)));
    CUDA_CHECK(cudaMalloc(&dDigest, sizeof(unsigned long long)));
    CUDA_CHECK(cudaMemcpy(dOrbits, orbits.data(), n * sizeof(Orbit), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemset(dDigest, 0, sizeof(unsigned long long)));

    const int steps = 40, chunks = 24, chunk = (n + chunks - 1) / chunks;
    const dim3 pairGrid((n + 127) / 128, chunks);
    cudaEvent_t start, stop;
    CUDA_CHECK(cudaEventCreate(&start));
    CUDA_CHECK(cudaEventCreate(&stop));
    for (int s = 0; s <= steps; ++s) {
        if (s == 1) CUDA_CHECK(cudaEventRecord(start));
        propagate<<<(n + 127) / 128, 128>>>(dOrbits, dStates, n, 30.0 * s, dCount);
        screenPairs<<<pairGrid, 128>>>(dStates, n, chunk, 90.f, dList, dCount, capacity);
        refine<<<32, 128>>>(dList, dCount, capacity, dStates, dOrbits, dDigest);
    }
    CUDA_CHECK(cudaEventRecord(stop));
    CUDA_CHECK(cudaEventSynchronize(stop));
    CUDA_CHECK(cudaGetLastError());
    float ms = 0;
    CUDA_CHECK(cudaEventElapsedTime(&ms, start, stop));

    unsigned int last = 0;
    unsigned long long digest = 0, misses = 0;
    CUDA_CHECK(cudaMemcpy(orbits.data(), dOrbits, n * sizeof(Orbit), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(&last, dCount, sizeof last, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(&digest, dDigest, sizeof digest, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; ++i) misses += (unsigned long long)orbits[i].nearMisses * (1 + i % 13);
    std::printf("time_ms %.5f\n", ms / steps);
    std::printf("check %u_%llu_%llu\n", last, digest, misses);
    if (last > capacity) std::fprintf(stderr, "the list of encounters overflowed\n");
    CUDA_CHECK(cudaFree(dOrbits));
    CUDA_CHECK(cudaFree(dStates));
    CUDA_CHECK(cudaFree(dList));
    CUDA_CHECK(cudaFree(dCount));
    CUDA_CHECK(cudaFree(dDigest));
    return 0;
}
