// Sparse visual odometry back end: robust reprojection residuals, analytic
// Jacobians and alternating damped block updates of landmarks and keyframes.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>
static void cudaCheck(cudaError_t e, const char* file, int line) {
    if (e == cudaSuccess) return;
    std::fprintf(stderr, "%s(%d): CUDA: %s\n", file, line, cudaGetErrorString(e));
    std::exit(2);
}
#define CHECK(e) cudaCheck((e), __FILE__, __LINE__)
struct Keyframe {
    double rot[3], trans[3];     // angle-axis, world to camera
    double grad[6];
    float  focal, cx, cy, k1;
    int    numObs, fixed;
};
struct Landmark {
    double pos[3], step[3];
    float  infoTrace;
    int    firstObs;
    short  numObs;
    char   valid, level;
};
struct Observation {
    int   kf, lm;
    float u, v, invSigma;
    float res[2], weight;
    float jc[2][6], jp[2][3];
    short octave, outlier;
};

// Owns both sides of a buffer; h is the staging copy.
template <class T> struct Mirror {
    std::vector<T> h;
    T* d = nullptr;
    explicit Mirror(size_t n) : h(n) { CHECK(cudaMalloc(&d, n * sizeof(T))); }
    ~Mirror() { cudaFree(d); }
    void push() { CHECK(cudaMemcpy(d, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice)); }
    void pull() { CHECK(cudaMemcpy(h.data(), d, h.size() * sizeof(T), cudaMemcpyDeviceToHost)); }
};
constexpr int kKeyframes = 400, kLandmarks = 150000, kTrack = 6;
constexpr int kObs = kLandmarks * kTrack;
constexpr float kHuber = 2.5f;

__host__ __device__ inline void rodrigues(const double* w, double R[9]) {
    double th2 = w[0] * w[0] + w[1] * w[1] + w[2] * w[2];
    double th = sqrt(th2);
    double a = th > 1e-8 ? sin(th) / th : 1.0, b = th > 1e-8 ? (1.0 - cos(th)) / th2 : 0.5;
    double xy = b * w[0] * w[1], xz = b * w[0] * w[2], yz = b * w[1] * w[2];
    R[0] = 1.0 - b * (w[1] * w[1] + w[2] * w[2]); R[1] = xy - a * w[2]; R[2] = xz + a * w[1];
    R[3] = xy + a * w[2]; R[4] = 1.0 - b * (w[0] * w[0] + w[2] * w[2]); R[5] = yz - a * w[0];
    R[6] = xz - a * w[1]; R[7] = yz + a * w[0]; R[8] = 1.0 - b * (w[0] * w[0] + w[1] * w[1]);
}

__global__ void linearise(Observation* obs, const Keyframe* kfs, const Landmark* lms, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Observation& o = obs[i];
    const Keyframe& kf = kfs[o.kf];
    const Landmark& lm = lms[o.lm];
    double R[9], pr[3], pc[3];
    rodrigues(kf.rot, R);
    for (int r = 0; r < 3; ++r) {
        pr[r] = R[3 * r] * lm.pos[0] + R[3 * r + 1] * lm.pos[1] + R[3 * r + 2] * lm.pos[2];
        pc[r] = pr[r] + kf.trans[r];
    }
    if (pc[2] < 0.2) {           // behind the camera: no pull on anything
        o.res[0] = o.res[1] = 0.0f;
        return;
    }
    double iz = 1.0 / pc[2];
    double xn = pc[0] * iz, yn = pc[1] * iz;
    double rad = 1.0 + kf.k1 * (xn * xn + yn * yn);
    o.res[0] = static_cast<float>(kf.focal * rad * xn + kf.cx - o.u) * o.invSigma;
    o.res[1] = static_cast<float>(kf.focal * rad * yn + kf.cy - o.v) * o.invSigma;
    double fs = kf.focal * rad * o.invSigma * iz;
    // d(pixel)/d(pc), radial term treated as constant
    double d[2][3] = {{fs, 0.0, -fs * xn}, {0.0, fs, -fs * yn}};
    for (int r = 0; r < 2; ++r) {
        for (int c = 0; c < 3; ++c) {
            o.jc[r][3 + c] = static_cast<float>(d[r][c]);
            o.jp[r][c] = static_cast<float>(d[r][0] * R[c] + d[r][1] * R[3 + c] + d[r][2] * R[6 + c]);
        }
        o.jc[r][0] = static_cast<float>(d[r][2] * pr[1] - d[r][1] * pr[2]);
        o.jc[r][1] = static_cast<float>(d[r][0] * pr[2] - d[r][2] * pr[0]);
        o.jc[r][2] = static_cast<float>(d[r][1] * pr[0] - d[r][0] * pr[1]);
    }
}

__global__ void robustWeights(Observation* obs, double* cost, unsigned int* outliers, int n) {
    __shared__ double sh[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double e = 0.0;
    if (i < n) {
        float r2 = obs[i].res[0] * obs[i].res[0] + obs[i].res[1] * obs[i].res[1];
        float r = sqrtf(r2);
        obs[i].weight = r > kHuber ? kHuber / r : 1.0f;
        e = r > kHuber ? kHuber * (2.0 * r - kHuber) : r2;
        bool out = r > 8.0f * kHuber;
        obs[i].outlier = out ? 1 : 0;
        if (out) atomicAdd(outliers, 1u);
    }
    sh[threadIdx.x] = e;
    __syncthreads();
    for (int s = 128; s > 0; s >>= 1) {
        if (threadIdx.x < s) sh[threadIdx.x] += sh[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(cost, sh[0]);
}

// One thread per landmark: 3x3 normal equations over its track.
__global__ void solveLandmarks(Landmark* lms, const Observation* obs, int n) {
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= n || !lms[p].valid) return;
    double H[6] = {0, 0, 0, 0, 0, 0}, g[3] = {0, 0, 0};
    for (int k = 0; k < lms[p].numObs; ++k) {
        const Observation& o = obs[lms[p].firstObs + k];
        if (o.outlier) continue;
        for (int r = 0; r < 2; ++r) {
            double a = o.jp[r][0], b = o.jp[r][1], c = o.jp[r][2], w = o.weight;
            H[0] += w * a * a; H[1] += w * a * b; H[2] += w * a * c;
            H[3] += w * b * b; H[4] += w * b * c; H[5] += w * c * c;
            g[0] += w * a * o.res[r]; g[1] += w * b * o.res[r]; g[2] += w * c * o.res[r];
        }
    }
    double lam = 1e-2 * (H[0] + H[3] + H[5]) + 1.0;
    double a = H[0] + lam, b = H[1], c = H[2], d = H[3] + lam, e = H[4], f = H[5] + lam;
    double A = d * f - e * e, B = c * e - b * f, C = b * e - c * d;
    double inv = 1.0 / (a * A + b * B + c * C);
    lms[p].step[0] = -inv * (A * g[0] + B * g[1] + C * g[2]);
    lms[p].step[1] = -inv * (B * g[0] + (a * f - c * c) * g[1] + (b * c - a * e) * g[2]);
    lms[p].step[2] = -inv * (C * g[0] + (b * c - a * e) * g[1] + (a * d - b * b) * g[2]);
    lms[p].infoTrace = static_cast<float>(H[0] + H[3] + H[5]);
}

// One block per keyframe, walking the CSR list of its observations.
__global__ void solveKeyframes(Keyframe* kfs, const int* offs, const int* list, const Observation* obs) {
    __shared__ double sh[12][128];
    int c = blockIdx.x, t = threadIdx.x;
    double acc[12] = {0};
    for (int k = offs[c] + t; k < offs[c + 1]; k += blockDim.x) {
        const Observation& o = obs[list[k]];
        if (o.outlier) continue;
        for (int j = 0; j < 6; ++j) {
            acc[j] += o.weight * (o.jc[0][j] * o.res[0] + o.jc[1][j] * o.res[1]);
            acc[6 + j] += o.weight * (o.jc[0][j] * o.jc[0][j] + o.jc[1][j] * o.jc[1][j]);
        }
    }
    for (int j = 0; j < 12; ++j) sh[j][t] = acc[j];
    __syncthreads();
    for (int s = 64; s > 0; s >>= 1) {
        for (int j = 0; j < 12 && t < s; ++j) sh[j][t] += sh[j][t + s];
        __syncthreads();
    }
    if (t >= 6) return;
    kfs[c].grad[t] = sh[t][0];
    if (kfs[c].fixed) return;
    double delta = -0.15 * sh[t][0] / (sh[6 + t][0] + 1.0);
    if (t < 3) kfs[c].rot[t] += delta;
    else kfs[c].trans[t - 3] += delta;
}

__global__ void applyLandmarkSteps(Landmark* lms, int n) {
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 3 && p < n; ++k) lms[p].pos[k] += 0.5 * lms[p].step[k];
}
static double uni() {
    static uint64_t rngState = 0x1234567ull;
    rngState = rngState * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<double>(rngState >> 11) / 9007199254740992.0;
}
static void buildScene(Mirror<Keyframe>& kf, Mirror<Landmark>& lm, Mirror<Observation>& ob) {
    for (int c = 0; c < kKeyframes; ++c) {
        Keyframe& k = kf.h[c];
        k.rot[0] = 0.02 * (uni() - 0.5); k.rot[1] = 0.15 * std::sin(c * 0.05);
        k.trans[0] = -c * 0.25; k.trans[1] = 0.1 * std::sin(c * 0.2); k.trans[2] = 1.5;
        k.focal = 520.0f; k.cx = 320.0f; k.cy = 240.0f; k.k1 = -0.05f;
        k.fixed = c < 2;
    }
    for (int p = 0; p < kLandmarks; ++p) {
        int base = static_cast<int>(uni() * (kKeyframes - 40));
        Landmark& l = lm.h[p];
        double truth[3] = {(base + 20) * 0.25 + 3.0 * (uni() - 0.5), 4.0 * (uni() - 0.5), 8.0 + 10.0 * uni()};
        l.firstObs = p * kTrack; l.numObs = kTrack; l.valid = uni() > 0.02; l.level = static_cast<char>(p & 7);
        for (int k = 0; k < kTrack; ++k) {
            int c = base + 6 * k + static_cast<int>(6 * uni());
            Observation& o = ob.h[p * kTrack + k];
            double R[9], q[3];
            rodrigues(kf.h[c].rot, R);
            for (int r = 0; r < 3; ++r) q[r] = R[3 * r] * truth[0] + R[3 * r + 1] * truth[1] + R[3 * r + 2] * truth[2] + kf.h[c].trans[r];
            double xn = q[0] / q[2], yn = q[1] / q[2], rad = 1.0 - 0.05 * (xn * xn + yn * yn);
            bool bad = uni() < 0.03;
            o.kf = c; o.lm = p; o.octave = static_cast<short>(4 * uni());
            o.u = static_cast<float>(520.0 * rad * xn + 320.0 + (bad ? 120.0 : 1.5) * (uni() - 0.5));
            o.v = static_cast<float>(520.0 * rad * yn + 240.0 + (bad ? 120.0 : 1.5) * (uni() - 0.5));
            o.invSigma = 1.0f / (1.0f + 0.3f * o.octave);
            kf.h[c].numObs++;
        }
        for (int k = 0; k < 3; ++k) l.pos[k] = truth[k] + 0.2 * (uni() - 0.5);
    }
    for (Keyframe& k : kf.h)
        for (int j = 0; j < 3 && !k.fixed; ++j) { k.rot[j] += 0.004 * (uni() - 0.5); k.trans[j] += 0.05 * (uni() - 0.5); }
}
int main() {
    Mirror<Keyframe> kf(kKeyframes);
    Mirror<Landmark> lm(kLandmarks);
    Mirror<Observation> ob(kObs);
    Mirror<int> offs(kKeyframes + 1), list(kObs);
    Mirror<double> cost(32);
    Mirror<unsigned int> outl(1);
    buildScene(kf, lm, ob);
    offs.h[0] = 0;
    for (int c = 0; c < kKeyframes; ++c) offs.h[c + 1] = offs.h[c] + kf.h[c].numObs;
    std::vector<int> fill(offs.h.begin(), offs.h.end() - 1);
    for (int i = 0; i < kObs; ++i) list.h[fill[ob.h[i].kf]++] = i;
    kf.push(); lm.push(); ob.push(); offs.push(); list.push(); cost.push();
    cudaEvent_t a, b;
    CHECK(cudaEventCreate(&a)); CHECK(cudaEventCreate(&b));
    std::vector<float> ms;
    const int B = 256, gObs = (kObs + B - 1) / B, gLm = (kLandmarks + B - 1) / B;
    for (int it = 0; it < 26; ++it) {
        CHECK(cudaMemset(outl.d, 0, sizeof(unsigned int)));
        CHECK(cudaEventRecord(a));
        linearise<<<gObs, B>>>(ob.d, kf.d, lm.d, kObs);
        robustWeights<<<gObs, B>>>(ob.d, cost.d + it, outl.d, kObs);
        solveLandmarks<<<gLm, B>>>(lm.d, ob.d, kLandmarks);
        solveKeyframes<<<kKeyframes, 128>>>(kf.d, offs.d, list.d, ob.d);
        applyLandmarkSteps<<<gLm, B>>>(lm.d, kLandmarks);
        CHECK(cudaEventRecord(b)); CHECK(cudaEventSynchronize(b));
        float t = 0.0f;
        CHECK(cudaEventElapsedTime(&t, a, b));
        if (it >= 2) ms.push_back(t);
    }
    kf.pull(); lm.pull(); cost.pull(); outl.pull();
    double lmSum = 0.0, info = 0.0, camSum = 0.0;
    for (const Landmark& l : lm.h) { lmSum += std::fabs(l.pos[0]) + std::fabs(l.pos[1]) + l.pos[2]; info += l.infoTrace; }
    for (const Keyframe& k : kf.h) camSum += std::fabs(k.trans[0]) + std::fabs(k.trans[1]) + std::fabs(k.rot[1]);
    std::nth_element(ms.begin(), ms.begin() + ms.size() / 2, ms.end());
    std::printf("check cost_first %.9g\ncheck cost_last %.9g\n", cost.h[0], cost.h[25]);
    std::printf("check outliers %.9g\n", static_cast<double>(outl.h[0]));
    std::printf("check landmarks %.9g\ncheck keyframes %.9g\n", lmSum, camSum);
    std::printf("check information %.9g\n", info);
    std::printf("time_ms %.5f\n", ms[ms.size() / 2]);
    return 0;
}
