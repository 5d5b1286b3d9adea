// Two-point seismic ray shooting through a stack of gradient layers.
//
// Every source/receiver pair gets one reflected ray.  The ray parameter p is
// bracketed and bisected until the emergence offset hits the receiver; then
// travel time, transmission losses and attenuation are accumulated along the
// path and the arrivals are binned per receiver.
//
// The survey is run in double and in float (templates), the rays that do not
// converge in float are the interesting ones.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

#include <cuda_runtime.h>

static inline void cudaVerify(cudaError_t code, const char* what, const char* file, int line)
{
    if (code == cudaSuccess) return;
    std::cerr << file << "(" << line << "): " << what << " -> " << cudaGetErrorName(code) << ": "
              << cudaGetErrorString(code) << std::endl;
    std::exit(2);
}
#define CUDA_VERIFY(x) cudaVerify((x), #x, __FILE__, __LINE__)

template <typename T>
class DeviceBuffer {
public:
    DeviceBuffer() = default;
    explicit DeviceBuffer(std::size_t n) : size_(n) { CUDA_VERIFY(cudaMalloc(reinterpret_cast<void**>(&ptr_), n * sizeof(T))); }
    explicit DeviceBuffer(const std::vector<T>& host) : DeviceBuffer(host.size()) { copyFrom(host); }
    DeviceBuffer(DeviceBuffer&& o) noexcept : ptr_(std::exchange(o.ptr_, nullptr)), size_(std::exchange(o.size_, 0)) {}
    DeviceBuffer& operator=(DeviceBuffer&& o) noexcept
    {
        std::swap(ptr_, o.ptr_);
        std::swap(size_, o.size_);
        return *this;
    }
    ~DeviceBuffer() { if (ptr_) cudaFree(ptr_); }

    void copyFrom(const std::vector<T>& host)
    {
        CUDA_VERIFY(cudaMemcpy(ptr_, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
    }
    std::vector<T> toHost() const
    {
        std::vector<T> out(size_);
        CUDA_VERIFY(cudaMemcpy(out.data(), ptr_, size_ * sizeof(T), cudaMemcpyDeviceToHost));
        return out;
    }
    T*          data() { return ptr_; }
    const T*    data() const { return ptr_; }
    std::size_t size() const { return size_; }

private:
    T*          ptr_  = nullptr;
    std::size_t size_ = 0;
};

// ----------------------------------------------------------------------------

enum class RayStatus : int { Active = 0, Converged = 1, Unreachable = 2, Lost = 3 };

template <typename Real>
struct Layer {
    Real  top;
    Real  thickness;
    Real  vTop;
    Real  gradient;
    Real  density;
    float q;
    int   id;
    __host__ __device__ Real vBottom() const { return vTop + gradient * thickness; }
};

template <typename Real>
struct Ray {
    Real      p;          // horizontal slowness
    Real      lo, hi;     // bracket
    Real      x;          // emergence offset of the last shot
    Real      time;
    Real      length;
    float     amplitude;
    float     tStar;
    int       source;
    int       receiver;
    short     reflector;
    short     shots;
    RayStatus status;
};

struct Station {
    double             x;
    double             elevation;
    unsigned long long energy;
    int                arrivals;
    int                firstMicros;
};

struct Survey {
    int nSources, nReceivers, nLayers;
    double sourceSpacing, sourceOrigin;
};

template <typename Real> struct Limits;
template <> struct Limits<double> {
    static constexpr double edge = 1.0 - 1e-10, tolerance = 1e-3;
    static constexpr int iterations = 28;
};
template <> struct Limits<float> {
    static constexpr float edge = 1.0f - 1e-5f, tolerance = 0.5f;
    static constexpr int iterations = 18;
};

__device__ inline double cosine(double pv) { return sqrt(fmax(0.0, 1.0 - pv * pv)); }
__device__ inline float  cosine(float pv) { return sqrtf(fmaxf(0.0f, 1.0f - pv * pv)); }

// one-way horizontal distance travelled within a layer
template <typename Real>
__device__ Real layerOffset(const Layer<Real>& l, Real p)
{
    Real c1 = cosine(p * l.vTop);
    if (l.gradient == Real(0)) return l.thickness * p * l.vTop / c1;
    Real c2 = cosine(p * l.vBottom());
    return (c1 - c2) / (p * l.gradient);
}

template <typename Real>
__global__ void initRays(Ray<Real>* rays, const Layer<Real>* layers, Survey sv)
{
    const int n = sv.nSources * sv.nReceivers;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;

    Ray<Real> r{};
    r.source    = i / sv.nReceivers;
    r.receiver  = i % sv.nReceivers;
    r.reflector = short(4 + (r.source * 7 + r.receiver * 3) % (sv.nLayers - 4));
    r.status    = RayStatus::Active;

    Real vmax = 0;
    for (int k = 0; k <= r.reflector; ++k) {
        Real v = layers[k].vBottom();
        if (v > vmax) vmax = v;
        if (layers[k].vTop > vmax) vmax = layers[k].vTop;
    }
    r.lo    = Real(0);
    r.hi    = Limits<Real>::edge / vmax;
    r.p     = r.hi;
    rays[i] = r;
}

template <typename Real>
__global__ void shoot(Ray<Real>* __restrict__ rays, const Layer<Real>* __restrict__ layers, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (rays[i].status != RayStatus::Active) return;

    const Real p    = rays[i].p;
    const int  last = rays[i].reflector;
    Real x = 0;
    for (int k = 0; k <= last; ++k) x += layerOffset(layers[k], p);
    rays[i].x = 2 * x;
    rays[i].shots++;
}

template <typename Real>
__global__ void bisect(Ray<Real>* rays, const Station* __restrict__ stations, Survey sv, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    auto& r = rays[i];
    if (r.status != RayStatus::Active) return;

    const Real xs     = Real(sv.sourceOrigin + sv.sourceSpacing * r.source);
    const Real target = fabs(Real(stations[r.receiver].x) - xs);
    const Real miss   = r.x - target;

    if (fabs(miss) < Limits<Real>::tolerance) {
        r.status = RayStatus::Converged;
        return;
    }
    if (r.shots == 1 && miss < Real(0)) { // even the most grazing ray falls short
        r.status = RayStatus::Unreachable;
        return;
    }
    if (miss > Real(0)) r.hi = r.p; else r.lo = r.p;
    r.p = Real(0.5) * (r.lo + r.hi);
}

template <typename Real>
__global__ void travelTimes(Ray<Real>* rays, const Layer<Real>* __restrict__ layers, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;

    Ray<Real> r = rays[i];
    if (r.status == RayStatus::Active) rays[i].status = RayStatus::Lost;
    if (r.status != RayStatus::Converged) return;

    Real  t = 0, len = 0;
    float amp = 1.0f, tstar = 0.0f;
    for (int k = 0; k <= r.reflector; ++k) {
        const Layer<Real> l = layers[k];
        const Real v1 = l.vTop, v2 = l.vBottom();
        const Real c1 = cosine(r.p * v1), c2 = cosine(r.p * v2);
        const Real dt = l.gradient == Real(0) ? l.thickness / (v1 * c1)
                                              : log(v2 / v1 * (1 + c1) / (1 + c2)) / l.gradient;
        t   += 2 * dt;
        len += 2 * dt * Real(0.5) * (v1 + v2);
        tstar += 2.0f * float(dt) / l.q;
        if (k < r.reflector) {
            const float z1 = float(l.density * v2), z2 = float(layers[k + 1].density * layers[k + 1].vTop);
            amp *= 4.0f * z1 * z2 / ((z1 + z2) * (z1 + z2));
        }
    }
    r.time      = t;
    r.length    = len;
    r.tStar     = tstar;
    r.amplitude = amp * 1000.0f / float(len) * expf(-3.14159265f * 25.0f * tstar);
    rays[i]     = r;
}

template <typename Real>
__global__ void binArrivals(const Ray<Real>* __restrict__ rays, Station* stations, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        if (rays[i].status != RayStatus::Converged) continue;
        Station& s = stations[rays[i].receiver];
        atomicAdd(&s.arrivals, 1);
        atomicMin(&s.firstMicros, int(rays[i].time * Real(1e6)));
        atomicAdd(&s.energy, (unsigned long long)(rays[i].amplitude * rays[i].amplitude * 1e9f));
    }
}

// ----------------------------------------------------------------------------

struct EarthModel {
    std::vector<double> thickness, velocity, gradient, density;
    std::vector<float>  q;
};

static EarthModel makeModel(int nLayers)
{
    std::mt19937 gen(7);
    auto uni = [&gen](double a, double b) { return a + (b - a) * (gen() * (1.0 / 4294967296.0)); };
    EarthModel m;
    double v = 1500.0;
    for (int k = 0; k < nLayers; ++k) {
        m.thickness.push_back(std::floor(uni(40.0, 160.0)));
        m.velocity.push_back(v);
        m.gradient.push_back(k % 5 == 3 ? 0.0 : uni(0.05, 0.6));
        m.density.push_back(0.31 * std::pow(v, 0.25) * 1000.0);
        m.q.push_back(float(uni(40.0, 250.0)));
        v = v + m.gradient.back() * m.thickness.back() + uni(-60.0, 140.0);
    }
    return m;
}

template <typename Real>
float runSurvey(const char* tag, const EarthModel& m, const Survey& sv, int repetitions)
{
    std::vector<Layer<Real>> layers(sv.nLayers);
    double z = 0;
    for (int k = 0; k < sv.nLayers; ++k) {
        layers[k] = {Real(z), Real(m.thickness[k]), Real(m.velocity[k]), Real(m.gradient[k]), Real(m.density[k]), m.q[k], k};
        z += m.thickness[k];
    }
    std::vector<Station> stations(sv.nReceivers);
    for (int r = 0; r < sv.nReceivers; ++r)
        stations[r] = {12.5 * r, 0.1 * (r % 17), 0ull, 0, 0x7fffffff};

    const int n = sv.nSources * sv.nReceivers;
    DeviceBuffer<Layer<Real>> dLayers(layers);
    DeviceBuffer<Station>     dStations(stations);
    DeviceBuffer<Ray<Real>>   dRays(static_cast<std::size_t>(n));

    const dim3 block(128), grid((n + block.x - 1) / block.x);
    auto pass = [&] {
        initRays<Real><<<grid, block>>>(dRays.data(), dLayers.data(), sv);
        for (int it = 0; it < Limits<Real>::iterations; ++it) {
            shoot<Real><<<grid, block>>>(dRays.data(), dLayers.data(), n);
            bisect<Real><<<grid, block>>>(dRays.data(), dStations.data(), sv, n);
        }
        travelTimes<Real><<<grid, block>>>(dRays.data(), dLayers.data(), n);
        binArrivals<Real><<<512, 256>>>(dRays.data(), dStations.data(), n);
        CUDA_VERIFY(cudaGetLastError());
    };

    pass();
    CUDA_VERIFY(cudaDeviceSynchronize());
    dStations.copyFrom(stations);

    cudaEvent_t e0, e1;
    CUDA_VERIFY(cudaEventCreate(&e0));
    CUDA_VERIFY(cudaEventCreate(&e1));
    CUDA_VERIFY(cudaEventRecord(e0));
    for (int i = 0; i < repetitions; ++i) pass();
    CUDA_VERIFY(cudaEventRecord(e1));
    CUDA_VERIFY(cudaEventSynchronize(e1));
    float ms = 0;
    CUDA_VERIFY(cudaEventElapsedTime(&ms, e0, e1));
    cudaEventDestroy(e0);
    cudaEventDestroy(e1);

    long long byStatus[4] = {}, shots = 0, sumTime = 0, sumLen = 0;
    for (const auto& r : dRays.toHost()) {
        byStatus[int(r.status)]++;
        shots += r.shots;
        if (r.status != RayStatus::Converged) continue;
        sumTime += std::llround(double(r.time) * 1e5);
        sumLen  += std::llround(double(r.length));
    }
    long long first = 0, arrivals = 0;
    unsigned long long energy = 0;
    for (const Station& s : dStations.toHost()) {
        if (s.arrivals) first += s.firstMicros;
        arrivals += s.arrivals;
        energy   += s.energy;
    }
    std::printf("check %s_converged %lld\n", tag, byStatus[1]);
    std::printf("check %s_unreachable %lld\n", tag, byStatus[2]);
    std::printf("check %s_lost %lld\n", tag, byStatus[3]);
    std::printf("check %s_shots %lld\n", tag, shots);
    std::printf("check %s_time %lld\n", tag, sumTime);
    std::printf("check %s_length %lld\n", tag, sumLen);
    std::printf("check %s_first_arrivals %lld\n", tag, first);
    std::printf("check %s_arrivals %lld\n", tag, arrivals);
    std::printf("check %s_energy %llu\n", tag, energy);
    return ms;
}

int main(int argc, char** argv)
{
    Survey sv;
    sv.nSources      = argc > 1 ? std::atoi(argv[1]) : 1000;
    sv.nReceivers    = argc > 2 ? std::atoi(argv[2]) : 1600;
    sv.nLayers       = 40;
    sv.sourceOrigin  = 6.25;
    sv.sourceSpacing = 20.0;

    const EarthModel model = makeModel(sv.nLayers);
    float ms = runSurvey<double>("f64", model, sv, 2);
    ms += runSurvey<float>("f32", model, sv, 2);
    std::printf("time_ms %.3f\n", ms);
    return 0;
}
