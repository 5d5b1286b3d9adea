// Land-cover classification of multi-band satellite imagery: cloud masking, spectral
// indices, maximum-likelihood class assignment, majority filter and tile statistics.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace imagery {

inline void check(cudaError_t status, const char* what) {
    if (status != cudaSuccess)
        throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

template <typename T>
class DeviceBuffer {
public:
    explicit DeviceBuffer(std::size_t count) : count_(count) {
        check(cudaMalloc(&ptr_, count * sizeof(T)), "cudaMalloc");
    }
    explicit DeviceBuffer(const std::vector<T>& host) : DeviceBuffer(host.size()) { upload(host); }
    DeviceBuffer(const DeviceBuffer&) = delete;
    DeviceBuffer& operator=(const DeviceBuffer&) = delete;
    DeviceBuffer(DeviceBuffer&& other) noexcept
        : ptr_(std::exchange(other.ptr_, nullptr)), count_(std::exchange(other.count_, 0)) {}
    ~DeviceBuffer() {
        if (ptr_) cudaFree(ptr_);
    }

    void upload(const std::vector<T>& host) {
        check(cudaMemcpy(ptr_, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice), "upload");
    }
    std::vector<T> download() const {
        std::vector<T> host(count_);
        check(cudaMemcpy(host.data(), ptr_, count_ * sizeof(T), cudaMemcpyDeviceToHost), "download");
        return host;
    }
    T* get() { return ptr_; }
    const T* get() const { return ptr_; }
    std::size_t size() const { return count_; }

private:
    T* ptr_ = nullptr;
    std::size_t count_ = 0;
};

constexpr int kBands = 6;
constexpr int kClasses = 12;
constexpr int kTileEdge = 64;

enum MaskBits : std::uint8_t { kCloud = 1, kShadow = 2, kSnow = 4, kNoData = 8 };

struct Pixel {
    std::uint16_t band[kBands];  // blue, green, red, nir, swir1, swir2
    std::uint8_t mask, cover, smoothed, confidence;
    float ndvi, ndwi, brightness;
};

struct Signature {
    float mean[kBands];
    float inv_sigma[kBands];
    float log_prior;
    int water_like;
    float min_ndvi;
};

struct Tile {
    int x0, y0;
    int valid, cloudy;
    int cover_count[kClasses];
    float mean_ndvi;
    float mean_brightness;
    float gain, haze;
};

__host__ __device__ inline std::uint32_t mix(std::uint32_t v) {
    v = (v ^ 61u) ^ (v >> 16);
    v += v << 3;
    v ^= v >> 4;
    v *= 0x27d4eb2du;
    v ^= v >> 15;
    return v;
}

__device__ inline int tile_of(int x, int y, int tiles_x) {
    return (y / kTileEdge) * tiles_x + x / kTileEdge;
}

__device__ inline float reflectance(std::uint16_t dn, const Tile& t) {
    return fmaxf(0.0f, dn * 1e-4f * t.gain - t.haze);
}

__global__ void compute_indices(Pixel* __restrict__ px, const Tile* __restrict__ tiles, int w, int h, int tiles_x) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    Pixel& p = px[y * w + x];
    const Tile& t = tiles[tile_of(x, y, tiles_x)];
    const float blue = reflectance(p.band[0], t);
    const float green = reflectance(p.band[1], t);
    const float red = reflectance(p.band[2], t);
    const float nir = reflectance(p.band[3], t);
    const float swir = reflectance(p.band[4], t);
    std::uint8_t mask = p.mask & kNoData;
    if (blue > 0.34f && swir > 0.12f) mask |= kCloud;
    if (nir < 0.06f && swir < 0.05f && blue < 0.06f) mask |= kShadow;
    if (green > 0.4f && (green - swir) / (green + swir + 1e-4f) > 0.4f) mask |= kSnow;
    p.ndvi = (nir - red) / (nir + red + 1e-4f);
    p.ndwi = (green - nir) / (green + nir + 1e-4f);
    p.brightness = (blue + green + red + nir) * 0.25f;
    p.mask = mask;
}

__global__ void classify(Pixel* __restrict__ px, const Signature* __restrict__ sigs, int count) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        const std::uint8_t mask = px[i].mask;
        if (mask & (kCloud | kNoData)) {
            px[i].cover = 0;
            px[i].confidence = 0;
            continue;
        }
        float v[kBands];
#pragma unroll
        for (int b = 0; b < kBands; ++b) v[b] = px[i].band[b] * 1e-4f;
        const float ndvi = px[i].ndvi;
        const float ndwi = px[i].ndwi;
        float best = -1e30f, second = -1e30f;
        int best_class = 1;
        for (int k = 1; k < kClasses; ++k) {
            const Signature& s = sigs[k];
            float score = s.log_prior;
#pragma unroll
            for (int b = 0; b < kBands; ++b) {
                const float z = (v[b] - s.mean[b]) * s.inv_sigma[b];
                score -= 0.5f * z * z;
            }
            if (s.water_like) score += 4.0f * ndwi;
            if (ndvi < s.min_ndvi) score -= 5.0f;
            if (score > best) {
                second = best;
                best = score;
                best_class = k;
            } else if (score > second) {
                second = score;
            }
        }
        px[i].cover = static_cast<std::uint8_t>(best_class);
        px[i].confidence = static_cast<std::uint8_t>(fminf(255.0f, 32.0f * (best - second)));
    }
}

template <int BX, int BY>
__global__ void majority_filter(Pixel* px, int w, int h) {
    __shared__ std::uint8_t patch[BY + 2][BX + 2];
    const int ox = blockIdx.x * BX - 1;
    const int oy = blockIdx.y * BY - 1;
    for (int k = threadIdx.y * BX + threadIdx.x; k < (BX + 2) * (BY + 2); k += BX * BY) {
        const int lx = k % (BX + 2), ly = k / (BX + 2);
        const int gx = min(max(ox + lx, 0), w - 1);
        const int gy = min(max(oy + ly, 0), h - 1);
        patch[ly][lx] = px[gy * w + gx].cover;
    }
    __syncthreads();
    const int x = blockIdx.x * BX + threadIdx.x;
    const int y = blockIdx.y * BY + threadIdx.y;
    if (x >= w || y >= h) return;
    const int own = patch[threadIdx.y + 1][threadIdx.x + 1];
    int winner = own, votes = 0;
    for (int a = 0; a < 9; ++a) {
        const int cand = patch[threadIdx.y + a / 3][threadIdx.x + a % 3];
        if (cand == 0) continue;
        int n = cand == own ? 1 : 0;
        for (int b = 0; b < 9; ++b) n += patch[threadIdx.y + b / 3][threadIdx.x + b % 3] == cand;
        if (n > votes || (n == votes && cand < winner)) {
            votes = n;
            winner = cand;
        }
    }
    px[y * w + x].smoothed = static_cast<std::uint8_t>(winner);
}

__device__ inline long long warp_sum(long long v) {
    for (int off = 16; off > 0; off >>= 1) v += __shfl_down_sync(0xffffffffu, v, off);
    return v;
}

// One block per tile; sums are kept in fixed point so the result is order independent.
__global__ void tile_statistics(const Pixel* __restrict__ px, Tile* __restrict__ tiles, int w, int h) {
    __shared__ int counts[kClasses];
    __shared__ int valid, cloudy;
    __shared__ unsigned long long ndvi_fx, bright_fx;
    Tile& t = tiles[blockIdx.x];
    if (threadIdx.x < kClasses) counts[threadIdx.x] = 0;
    if (threadIdx.x == 0) {
        valid = cloudy = 0;
        ndvi_fx = bright_fx = 0ull;
    }
    __syncthreads();
    long long ndvi = 0, bright = 0;
    int ok = 0, clouds = 0;
    for (int k = threadIdx.x; k < kTileEdge * kTileEdge; k += blockDim.x) {
        const int x = t.x0 + k % kTileEdge;
        const int y = t.y0 + k / kTileEdge;
        if (x >= w || y >= h) continue;
        const Pixel& p = px[y * w + x];
        if (p.mask & kCloud) {
            ++clouds;
            continue;
        }
        ++ok;
        ndvi += static_cast<long long>((p.ndvi + 1.0f) * 65536.0f);
        bright += static_cast<long long>(p.brightness * 65536.0f);
        atomicAdd(&counts[p.smoothed], 1);
    }
    ndvi = warp_sum(ndvi);
    bright = warp_sum(bright);
    if ((threadIdx.x & 31) == 0) {
        atomicAdd(&ndvi_fx, static_cast<unsigned long long>(ndvi));
        atomicAdd(&bright_fx, static_cast<unsigned long long>(bright));
    }
    if (ok) atomicAdd(&valid, ok);
    if (clouds) atomicAdd(&cloudy, clouds);
    __syncthreads();
    if (threadIdx.x < kClasses) t.cover_count[threadIdx.x] = counts[threadIdx.x];
    if (threadIdx.x == 0) {
        t.valid = valid;
        t.cloudy = cloudy;
        if (valid > 0) {
            t.mean_ndvi = static_cast<float>(ndvi_fx) / 65536.0f / valid - 1.0f;
            t.mean_brightness = static_cast<float>(bright_fx) / 65536.0f / valid;
            t.gain = 0.98f * t.gain + 0.02f * (0.9f + 0.4f * t.mean_brightness);
            t.haze = fminf(0.05f, t.haze + 1e-5f * cloudy / (valid + cloudy));
        }
    }
}

class Scene {
public:
    Scene(int edge)
        : w_(edge), h_(edge), tiles_x_((edge + kTileEdge - 1) / kTileEdge),
          pixels_(make_pixels(edge, edge)), tiles_(make_tiles(edge, edge)), signatures_(make_signatures()) {}

    void step() {
        const dim3 block(32, 8);
        const dim3 grid((w_ + 31) / 32, (h_ + 7) / 8);
        compute_indices<<<grid, block>>>(pixels_.get(), tiles_.get(), w_, h_, tiles_x_);
        classify<<<2048, 256>>>(pixels_.get(), signatures_.get(), w_ * h_);
        majority_filter<32, 8><<<grid, block>>>(pixels_.get(), w_, h_);
        tile_statistics<<<static_cast<unsigned>(tiles_.size()), 256>>>(pixels_.get(), tiles_.get(), w_, h_);
        check(cudaGetLastError(), "step");
    }

    double checksum() const {
        double sum = 0.0;
        const auto px = pixels_.download();
        for (std::size_t i = 0; i < px.size(); ++i) {
            const Pixel& p = px[i];
            sum += (1 + i % 5) * (p.ndvi + 2.0 * p.ndwi + 4.0 * p.brightness) + p.cover + 2.0 * p.smoothed +
                   0.01 * p.confidence + 3.0 * p.mask + 1e-5 * p.band[i % kBands];
        }
        for (const Tile& t : tiles_.download()) {
            sum += t.valid + 2.0 * t.cloudy + t.mean_ndvi + t.mean_brightness + 10.0 * t.gain + 100.0 * t.haze;
            for (int k = 0; k < kClasses; ++k) sum += k * 0.1 * t.cover_count[k];
        }
        return sum;
    }

private:
    static std::vector<Pixel> make_pixels(int w, int h) {
        std::vector<Pixel> v(static_cast<std::size_t>(w) * h);
        for (int y = 0; y < h; ++y)
            for (int x = 0; x < w; ++x) {
                const std::uint32_t i = static_cast<std::uint32_t>(y) * w + x;
                const std::uint32_t field = mix((y / 40) * 4099u + x / 56);
                Pixel& p = v[i];
                for (int b = 0; b < kBands; ++b)
                    p.band[b] = static_cast<std::uint16_t>(300 + mix(field + b) % 3200 + mix(i * 6 + b) % 500);
                if (mix((y / 90) * 7001u + x / 110) % 9 == 0)
                    for (int b = 0; b < kBands; ++b) p.band[b] = static_cast<std::uint16_t>(p.band[b] + 3000);
                p.mask = mix(i + 17u) % 1000 == 0 ? kNoData : 0;
                p.cover = p.smoothed = p.confidence = 0;
                p.ndvi = p.ndwi = p.brightness = 0.0f;
            }
        return v;
    }

    static std::vector<Tile> make_tiles(int w, int h) {
        std::vector<Tile> v;
        for (int y = 0; y < h; y += kTileEdge)
            for (int x = 0; x < w; x += kTileEdge) {
                Tile t{};
                t.x0 = x;
                t.y0 = y;
                t.gain = 0.95f + 0.1f * (mix(x * 31u + y) % 1000) / 1000.0f;
                t.haze = 0.01f * (mix(x + y * 57u) % 100) / 100.0f;
                v.push_back(t);
            }
        return v;
    }

    static std::vector<Signature> make_signatures() {
        std::vector<Signature> v(kClasses);
        for (int k = 0; k < kClasses; ++k) {
            for (int b = 0; b < kBands; ++b) {
                v[k].mean[b] = 0.05f + (mix(k * 37u + b) % 3000) * 1e-4f;
                v[k].inv_sigma[b] = 8.0f + mix(k * 91u + b) % 10;
            }
            v[k].log_prior = -0.2f * (mix(k + 5u) % 8);
            v[k].water_like = k == 3 || k == 8;
            v[k].min_ndvi = k % 3 == 0 ? 0.1f : -1.0f;
        }
        return v;
    }
    int w_, h_, tiles_x_;
    DeviceBuffer<Pixel> pixels_;
    DeviceBuffer<Tile> tiles_;
    DeviceBuffer<Signature> signatures_;
};

}  // namespace imagery

int main(int argc, char** argv) {
    const int edge = argc > 1 ? std::atoi(argv[1]) : 4096;
    if (edge < 64 || edge > 16384) {
        std::fprintf(stderr, "usage: %s [edge 64..16384]\n", argv[0]);
        return 1;
    }
    try {
        imagery::Scene scene(edge);
        for (int i = 0; i < 5; ++i) scene.step();
        constexpr int kSteps = 50;
        cudaEvent_t begin, end;
        imagery::check(cudaEventCreate(&begin), "event");
        imagery::check(cudaEventCreate(&end), "event");
        imagery::check(cudaEventRecord(begin), "record");
        for (int i = 0; i < kSteps; ++i) scene.step();
        imagery::check(cudaEventRecord(end), "record");
        imagery::check(cudaEventSynchronize(end), "sync");
        float ms = 0.0f;
        imagery::check(cudaEventElapsedTime(&ms, begin, end), "elapsed");
        std::printf("check %.6e\n", scene.checksum());
        std::printf("time_ms %.5f\n", ms / kSteps);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "error: %s\n", e.what());
        return 1;
    }
    return 0;
}
