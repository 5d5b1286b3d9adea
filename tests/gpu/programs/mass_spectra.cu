// Mass spectra: the peaks of each spectrum are sorted by m/z with a bitonic
// network in shared memory, matched to a sorted library of fragments, and each
// spectrum is then scored and recalibrated.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>
#include <cuda_runtime.h>

namespace ms {

constexpr int PEAKS = 512;              // a spectrum, padded

struct Peak {
    float mz;
    float intensity;
    int fragment;                       // matched, or -1
    short charge;
    unsigned char noise;
    unsigned char detector;
};

struct Fragment {
    float mz;
    float weight;
    int peptide;
    unsigned char ion;                  // 'a', 'b', 'y'
    unsigned char charge;
    unsigned short hits;
};

struct Spectrum {
    float precursor;
    float retention;
    float totalCurrent;
    float matchedCurrent;
    double massError;                   // ppm, mean of the matched peaks
    int matched;
    float shift;                        // ppm, calibration
    short charge;
    short instrument;
    float score;
    float bestScore;
    int pass;
};

template <typename T>
struct Buffer {
    T *data = nullptr;
    size_t count = 0;
    explicit Buffer(size_t n) : count(n) { must(cudaMalloc(&data, n * sizeof(T))); }
    ~Buffer() { cudaFree(data); }
    Buffer(const Buffer &) = delete;
    void put(const std::vector<T> &h) { must(cudaMemcpy(data, h.data(), count * sizeof(T), cudaMemcpyHostToDevice)); }
    void take(std::vector<T> &h) const { must(cudaMemcpy(h.data(), data, count * sizeof(T), cudaMemcpyDeviceToHost)); }
    static void must(cudaError_t e)
    {
        if (e == cudaSuccess) return;
        std::fprintf(stderr, "cuda: %s\n", cudaGetErrorString(e));
        std::exit(1);
    }
};

__device__ __host__ inline bool before(const Peak &a, const Peak &b)
{
    return a.mz < b.mz || (a.mz == b.mz && a.intensity < b.intensity);
}

__device__ inline void exchange(Peak &a, Peak &b, bool up)
{
    if (before(b, a) == up) {
        Peak t = a;
        a = b;
        b = t;
    }
}

// One block a spectrum, half as many threads as peaks; peaks are calibrated on
// the way from one buffer to the other.
__global__ void sortPeaks(const Peak *in, Peak *out, const Spectrum *spectra)
{
    __shared__ Peak s[PEAKS];
    size_t first = (size_t)blockIdx.x * PEAKS;
    float scale = 1.f + 1e-6f * spectra[blockIdx.x].shift;
    for (int k = threadIdx.x; k < PEAKS; k += blockDim.x) {
        s[k] = in[first + k];
        // the detectors drift apart a little with every pass
        s[k].mz *= s[k].detector & 1 ? scale : 2.f - scale;
    }
    __syncthreads();
    for (int size = 2; size <= PEAKS; size *= 2) {
        for (int stride = size / 2; stride > 0; stride /= 2) {
            int t = threadIdx.x;
            int lo = 2 * t - (t & (stride - 1));
            exchange(s[lo], s[lo + stride], (lo & size) == 0);
            __syncthreads();
        }
    }
    for (int k = threadIdx.x; k < PEAKS; k += blockDim.x) out[first + k] = s[k];
}

__global__ void annotate(Peak *peaks, size_t n, const Fragment *library, int fragments, float ppm)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    peaks[i].fragment = -1;
    if (peaks[i].noise > 200) return;
    float mz = peaks[i].mz, tol = mz * ppm * 1e-6f;
    int lo = 0, hi = fragments;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (library[mid].mz < mz - tol) lo = mid + 1;
        else hi = mid;
    }
    float best = 0.f;
    int found = -1;
    for (; lo < fragments && library[lo].mz <= mz + tol; ++lo) {
        if (library[lo].charge > peaks[i].charge) continue;
        float w = library[lo].weight * (1.f - fabsf(library[lo].mz - mz) / (2.f * tol));
        if (w > best) {
            best = w;
            found = lo;
        }
    }
    peaks[i].fragment = found;
}

__global__ void scoreSpectra(const Peak *peaks, const Fragment *library, Spectrum *spectra)
{
    __shared__ float total[128], matched[128], error[128];
    __shared__ int hits[128];
    const Peak *mine = peaks + (size_t)blockIdx.x * PEAKS;
    int t = threadIdx.x;
    float all = 0.f, good = 0.f, err = 0.f;
    int count = 0;
    for (int k = t; k < PEAKS; k += 128) {
        float intensity = mine[k].intensity;
        all += intensity;
        int f = mine[k].fragment;
        if (f < 0) continue;
        good += intensity * library[f].weight;
        err += (mine[k].mz - library[f].mz) / library[f].mz * 1e6f;
        count++;
    }
    total[t] = all;
    matched[t] = good;
    error[t] = err;
    hits[t] = count;
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (t < half) {
            total[t] += total[t + half];
            matched[t] += matched[t + half];
            error[t] += error[t + half];
            hits[t] += hits[t + half];
        }
        __syncthreads();
    }
    if (t != 0) return;
    Spectrum s = spectra[blockIdx.x];
    s.totalCurrent = total[0];
    s.matchedCurrent = matched[0];
    s.matched = hits[0];
    s.massError = hits[0] ? (double)error[0] / hits[0] : 0.0;
    s.score = matched[0] / (total[0] + 1.f) * logf(1.f + hits[0]) / s.charge;
    if (s.score > s.bestScore) s.bestScore = s.score;
    s.pass++;
    spectra[blockIdx.x] = s;
}

} // namespace ms

int main(int argc, char **argv)
{
    using namespace ms;
    int n = argc > 1 ? std::atoi(argv[1]) : 8000;
    int fragments = 400000;
    unsigned x = 2463534242u;
    auto u = [&x]() {
        x = x * 1664525u + 1013904223u;
        return (float)(x >> 8) * (1.f / 16777216.f);
    };

    std::vector<Fragment> library(fragments);
    for (int f = 0; f < fragments; ++f) {
        float r = u();
        library[f].mz = 100.f + 1900.f * (f + r) / fragments;
        library[f].weight = 0.2f + 0.8f * u();
        library[f].peptide = (int)(u() * 30000);
        library[f].ion = "aby"[f % 3];
        library[f].charge = (unsigned char)(1 + (f / 7) % 3);
        library[f].hits = 0;
    }
    std::vector<Peak> peaks((size_t)n * PEAKS);
    for (Peak &p : peaks) {
        float r = u();
        p.mz = r < 0.5f ? library[(int)(2.f * r * fragments)].mz * (1.f + 4e-6f * (u() - 0.5f)) : 100.f + 1900.f * u();
        p.intensity = 1.f / (0.001f + u());
        p.fragment = -1;
        p.charge = (short)(1 + x % 4);
        p.noise = (unsigned char)(x >> 24);
        p.detector = (unsigned char)((x >> 16) & 7);
    }
    std::vector<Spectrum> spectra(n);
    for (int i = 0; i < n; ++i) {
        Spectrum s = {};
        s.precursor = 400.f + 1000.f * u();
        s.retention = 0.1f * i;
        s.shift = 0.4f * (u() - 0.5f);
        s.charge = (short)(2 + i % 3);
        s.instrument = (short)(i % 2);
        spectra[i] = s;
    }

    Buffer<Fragment> dLibrary(library.size());
    Buffer<Peak> bufferA(peaks.size()), bufferB(peaks.size());
    Buffer<Spectrum> dSpectra(spectra.size());
    dLibrary.put(library);
    bufferA.put(peaks);
    dSpectra.put(spectra);

    const int steps = 30;
    Peak *from = bufferA.data, *to = bufferB.data;
    unsigned peakGrid = (unsigned)((peaks.size() + 255) / 256);
    auto must = [](cudaError_t e) { Buffer<int>::must(e); };
    cudaEvent_t start, stop;
    must(cudaEventCreate(&start));
    must(cudaEventCreate(&stop));
    for (int s = 0; s <= steps; ++s) {
        if (s == 1) must(cudaEventRecord(start));
        sortPeaks<<<n, PEAKS / 2>>>(from, to, dSpectra.data);
        annotate<<<peakGrid, 256>>>(to, peaks.size(), dLibrary.data, fragments, 6.f);
        scoreSpectra<<<n, 128>>>(to, dLibrary.data, dSpectra.data);
        std::swap(from, to);
    }
    must(cudaEventRecord(stop));
    must(cudaGetLastError());
    must(cudaEventSynchronize(stop));
    float elapsed = 0;
    must(cudaEventElapsedTime(&elapsed, start, stop));

    (from == bufferA.data ? bufferA : bufferB).take(peaks);
    dSpectra.take(spectra);
    long long matched = 0, fragmentSum = 0;
    double score = 0, error = 0, mz = 0;
    for (const Spectrum &s : spectra) {
        matched += s.matched;
        score += s.score + s.bestScore;
        error += std::fabs(s.massError);
    }
    for (size_t i = 0; i < peaks.size(); ++i) {
        fragmentSum += peaks[i].fragment;
        mz += peaks[i].mz * (double)(1 + i % 5);
    }
    std::printf("time_ms %.5f\n", elapsed / steps);
    std::printf("check %.4e_%.4e_%.4e_%.4e_%.5e\n", score, error, (double)matched, (double)fragmentSum, mz);
    return 0;
}
