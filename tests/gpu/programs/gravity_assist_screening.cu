// Screening of candidate gravity-assist legs: every leg is a patched-conic
// flyby of one planet. Legs are bent, scored, and the best score per
// departure window is kept.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA_CHECK(call)                                                      \
    do {                                                                      \
        cudaError_t err_ = (call);                                            \
        if (err_ != cudaSuccess) {                                            \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__,           \
                         cudaGetErrorString(err_));                           \
            std::exit(1);                                                     \
        }                                                                     \
    } while (0)

constexpr int kLegs = 2000000;
constexpr int kPlanets = 8;
constexpr int kWindows = 512;
constexpr double kAuKm = 149597870.7;

struct Planet {
    double sma;      // AU
    double mu;       // km^3/s^2
    double radius;   // km
    double meanMotion;
    double phase;
    double speed;    // km/s
};

struct Leg {
    double epoch;        // days
    double tof;          // days
    double vIn[3];       // km/s, relative
    double vOut[3];
    double periapsis;    // planet radii
    double dvBudget;
    double dvUsed;
    double mass;
    int body;
    int flags;
    float turn;
    float score;
};

class Rng {
public:
    explicit Rng(unsigned long long s) : state_(s) {}
    double next() {
        state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
        return double(state_ >> 11) * (1.0 / 9007199254740992.0);
    }
    double range(double a, double b) { return a + (b - a) * next(); }

private:
    unsigned long long state_;
};

// Arrival position decides where the incoming relative speed points.
__global__ void aimLegs(Leg* legs, const Planet* planets, int n, double shift) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Leg& leg = legs[i];
    const Planet& p = planets[leg.body];
    double t = leg.epoch + leg.tof + shift;
    double ang = p.phase + p.meanMotion * t;
    double s, c;
    sincos(ang, &s, &c);
    double vx = -p.speed * s, vy = p.speed * c;
    double r = p.sma * kAuKm;
    double vt = sqrt(2.0 * 1.32712440018e11 / r) * 0.9;
    leg.vIn[0] = 0.8 * vt * c - 0.15 * vx;
    leg.vIn[1] = 0.8 * vt * s - 0.15 * vy;
    leg.vIn[2] = 0.4 * sin(0.01 * t);
}

__global__ void bendLegs(Leg* legs, const Planet* planets, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const Planet& p = planets[legs[i].body];
    double vx = legs[i].vIn[0], vy = legs[i].vIn[1], vz = legs[i].vIn[2];
    double v2 = vx * vx + vy * vy + vz * vz;
    double rp = legs[i].periapsis * p.radius;
    double e = 1.0 + rp * v2 / p.mu;
    double delta = 2.0 * asin(1.0 / e);
    double s, c;
    sincos(delta, &s, &c);
    legs[i].vOut[0] = c * vx - s * vy;
    legs[i].vOut[1] = s * vx + c * vy;
    legs[i].vOut[2] = vz;
    legs[i].turn = float(delta);
}

__global__ void scoreLegs(Leg* legs, int n, float weight) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float turn = legs[i].turn;
    double left = legs[i].dvBudget - legs[i].dvUsed;
    int flags = legs[i].flags;
    float score;
    if (flags & 1) {
        score = weight * turn + float(left);
    } else if (flags & 2) {
        score = 0.5f * turn + 0.25f * float(left * left);
    } else {
        score = float(left) - 0.1f;
    }
    legs[i].score = score > 0.0f ? score : 0.0f;
}

__global__ void bestPerWindow(const Leg* legs, int n, int perWindow, int* best) {
    __shared__ int smax[256];
    int w = blockIdx.x;
    int first = w * perWindow;
    int last = min(first + perWindow, n);
    int m = 0;
    for (int i = first + threadIdx.x; i < last; i += blockDim.x) {
        m = max(m, int(legs[i].score * 1024.0f));
    }
    smax[threadIdx.x] = m;
    __syncthreads();
    for (int h = blockDim.x / 2; h > 0; h /= 2) {
        if (threadIdx.x < h) smax[threadIdx.x] = max(smax[threadIdx.x], smax[threadIdx.x + h]);
        __syncthreads();
    }
    if (threadIdx.x == 0) best[w] = smax[0];
}

int main() {
    const double sma[kPlanets] = {0.387, 0.723, 1.0, 1.524, 5.203, 9.537, 19.19, 30.07};
    const double mu[kPlanets] = {2.2e4, 3.249e5, 3.986e5, 4.283e4, 1.267e8, 3.793e7, 5.794e6, 6.837e6};
    const double rad[kPlanets] = {2440, 6052, 6378, 3396, 71492, 60268, 25559, 24764};
    std::vector<Planet> planets(kPlanets);
    for (int k = 0; k < kPlanets; ++k) {
        planets[k].sma = sma[k];
        planets[k].mu = mu[k];
        planets[k].radius = rad[k];
        planets[k].meanMotion = 2.0 * M_PI / (365.25 * std::pow(sma[k], 1.5));
        planets[k].phase = 0.7 * k;
        planets[k].speed = 29.78 / std::sqrt(sma[k]);
    }

    Rng rng(20260417ULL);
    std::vector<Leg> legs(kLegs);
    for (Leg& l : legs) {
        l.epoch = rng.range(9000.0, 14000.0);
        l.tof = rng.range(90.0, 1200.0);
        for (int k = 0; k < 3; ++k) l.vIn[k] = l.vOut[k] = 0.0;
        l.periapsis = rng.range(1.05, 20.0);
        l.dvBudget = rng.range(0.5, 6.0);
        l.dvUsed = rng.range(0.0, 2.0);
        l.mass = rng.range(400.0, 4000.0);
        l.body = int(rng.next() * kPlanets) % kPlanets;
        l.flags = int(rng.next() * 4.0) & 3;
        l.turn = 0.0f;
        l.score = 0.0f;
    }

    Leg* dLegs = nullptr;
    Planet* dPlanets = nullptr;
    int* dBest = nullptr;
    CUDA_CHECK(cudaMalloc(&dLegs, kLegs * sizeof(Leg)));
    CUDA_CHECK(cudaMalloc(&dPlanets, kPlanets * sizeof(Planet)));
    CUDA_CHECK(cudaMalloc(&dBest, kWindows * sizeof(int)));
    CUDA_CHECK(cudaMemcpy(dLegs, legs.data(), kLegs * sizeof(Leg), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(dPlanets, planets.data(), kPlanets * sizeof(Planet), cudaMemcpyHostToDevice));

    const int block = 256;
    const int grid = (kLegs + block - 1) / block;
    const int perWindow = (kLegs + kWindows - 1) / kWindows;
    auto pass = [&](int step) {
        aimLegs<<<grid, block>>>(dLegs, dPlanets, kLegs, 2.5 * step);
        bendLegs<<<grid, block>>>(dLegs, dPlanets, kLegs);
        // several weightings are tried for each geometry
        for (int w = 0; w < 3; ++w) {
            scoreLegs<<<grid, block>>>(dLegs, kLegs, 0.5f + 0.5f * w);
            bestPerWindow<<<kWindows, 256>>>(dLegs, kLegs, perWindow, dBest);
        }
    };

    cudaEvent_t e0, e1;
    CUDA_CHECK(cudaEventCreate(&e0));
    CUDA_CHECK(cudaEventCreate(&e1));
    const int reps = 60;
    for (int s = 0; s < 3; ++s) pass(s);
    CUDA_CHECK(cudaEventRecord(e0));
    for (int s = 0; s < reps; ++s) pass(s);
    CUDA_CHECK(cudaEventRecord(e1));
    CUDA_CHECK(cudaEventSynchronize(e1));
    CUDA_CHECK(cudaGetLastError());
    float ms = 0.0f;
    CUDA_CHECK(cudaEventElapsedTime(&ms, e0, e1));

    std::vector<int> best(kWindows);
    CUDA_CHECK(cudaMemcpy(best.data(), dBest, kWindows * sizeof(int), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(legs.data(), dLegs, kLegs * sizeof(Leg), cudaMemcpyDeviceToHost));
    double turnSum = 0.0, scoreSum = 0.0, vz = 0.0, speed = 0.0, bestSum = 0.0;
    for (const Leg& l : legs) {
        turnSum += l.turn;
        scoreSum += l.score;
        vz += std::fabs(l.vOut[2]);
        speed += std::sqrt(l.vOut[0] * l.vOut[0] + l.vOut[1] * l.vOut[1]);
    }
    for (int b : best) bestSum += b;
    std::printf("check turn %.6g\n", turnSum);
    std::printf("check score %.6g\n", scoreSum);
    std::printf("check vz %.6g\n", vz);
    std::printf("check speed %.6g\n", speed);
    std::printf("check best %.5g\n", bestSum);
    std::printf("time_ms %.5f\n", ms / reps);
    cudaFree(dLegs);
    cudaFree(dPlanets);
    cudaFree(dBest);
    return 0;
}
