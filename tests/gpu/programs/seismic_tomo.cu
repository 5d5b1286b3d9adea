// Travel-time tomography, SIRT-style update on a regular 3-D slowness model.
// Straight rays are traced from hypocentre to station; residuals are projected
// back along the ray and the model is relaxed towards the a-priori slowness.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace tomo {

inline void check(cudaError_t e, const char* what) {
  if (e != cudaSuccess)
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
}

template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(size_t n) : n_(n) { check(cudaMalloc(&p_, n * sizeof(T)), "cudaMalloc"); }
  explicit DeviceArray(const std::vector<T>& h) : DeviceArray(h.size()) { upload(h); }
  ~DeviceArray() { cudaFree(p_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  void upload(const std::vector<T>& h) {
    check(cudaMemcpy(p_, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice), "H2D");
  }
  std::vector<T> download() const {
    std::vector<T> h(n_);
    check(cudaMemcpy(h.data(), p_, n_ * sizeof(T), cudaMemcpyDeviceToHost), "D2H");
    return h;
  }
  T* get() { return p_; }
  const T* get() const { return p_; }
  size_t size() const { return n_; }

 private:
  T* p_ = nullptr;
  size_t n_ = 0;
};

struct Vec3 {
  float x, y, z;
};

struct Ray {
  Vec3 src;             // hypocentre, km
  Vec3 rec;             // receiver, km
  float length;         // km
  float t_obs;          // observed travel time, s
  float t_calc;         // last computed time, s
  float residual;
  float weight;
  int station;
  int event;
  int n_samples;
  short phase;          // 0 = P, 1 = S
  unsigned char quality;  // 0..4, 4 = discard
  unsigned char outlier;
};

struct Cell {
  float slowness;       // s/km
  float slowness_ref;
  float update_num;     // sum w * res * dl
  float update_den;     // sum w * dl
  int hits;
  float damping;
  float dslow_last;
  int region;
};

struct Station {
  double lat, lon;
  float elevation;
  float correction;     // static delay, s
  long long res_sum_us; // residual sum in microseconds
  int n_picks;
  char code[8];
};

struct GridSpec {
  int nx, ny, nz;
  float h;              // cell size, km
};

struct Model {
  GridSpec grid;
  Cell* cells;
  Ray* rays;
  Station* stations;
  int n_rays;
  int n_stations;
  int n_cells;
};

__host__ __device__ inline int cell_index(const GridSpec& g, float x, float y, float z) {
  int ix = static_cast<int>(x / g.h);
  int iy = static_cast<int>(y / g.h);
  int iz = static_cast<int>(z / g.h);
  ix = ix < 0 ? 0 : (ix >= g.nx ? g.nx - 1 : ix);
  iy = iy < 0 ? 0 : (iy >= g.ny ? g.ny - 1 : iy);
  iz = iz < 0 ? 0 : (iz >= g.nz ? g.nz - 1 : iz);
  return (iz * g.ny + iy) * g.nx + ix;
}

__host__ __device__ inline Vec3 point_on(const Ray& r, float s) {
  return Vec3{r.src.x + s * (r.rec.x - r.src.x),
              r.src.y + s * (r.rec.y - r.src.y),
              r.src.z + s * (r.rec.z - r.src.z)};
}

__global__ void clear_cells(Model m) {
  for (int c = blockIdx.x * blockDim.x + threadIdx.x; c < m.n_cells; c += gridDim.x * blockDim.x) {
    Cell& cell = m.cells[c];
    cell.update_num = 0.f;
    cell.update_den = 0.f;
    cell.hits = 0;
  }
}

// Forward problem: integrate slowness along the ray.
__global__ void trace_rays(Model m, float outlier_limit) {
  const int stride = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < m.n_rays; i += stride) {
    Ray& ray = m.rays[i];
    if (ray.quality >= 4) continue;
    const int n = ray.n_samples;
    const float inv = 1.0f / n;
    float sum = 0.f;
    for (int k = 0; k < n; ++k) {
      const Vec3 p = point_on(ray, (k + 0.5f) * inv);
      sum += m.cells[cell_index(m.grid, p.x, p.y, p.z)].slowness;
    }
    const float scale = ray.phase == 1 ? 1.7320508f : 1.0f;
    const float t = sum * inv * ray.length * scale + m.stations[ray.station].correction;
    const float res = ray.t_obs - t;
    ray.t_calc = t;
    ray.residual = res;
    ray.outlier = fabsf(res) > outlier_limit;
  }
}

// Adjoint: spread residual over the cells along the ray.
__global__ void backproject(Model m) {
  const int stride = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < m.n_rays; i += stride) {
    const Ray ray = m.rays[i];
    if (ray.quality >= 4 || ray.outlier) continue;
    const float scale = ray.phase == 1 ? 1.7320508f : 1.0f;
    const float inv = 1.0f / ray.n_samples;
    const float dl = ray.length * inv;
    const float g = ray.weight * ray.residual / (ray.length * scale) * dl;
    int last = -1;
    float num = 0.f, den = 0.f;
    int hits = 0;
    for (int k = 0; k < ray.n_samples; ++k) {
      const Vec3 p = point_on(ray, (k + 0.5f) * inv);
      const int c = cell_index(m.grid, p.x, p.y, p.z);
      if (c != last) {
        if (last >= 0) {
          atomicAdd(&m.cells[last].update_num, num);
          atomicAdd(&m.cells[last].update_den, den);
          atomicAdd(&m.cells[last].hits, hits);
        }
        last = c;
        num = den = 0.f;
        hits = 0;
      }
      num += g;
      den += ray.weight * dl;
      ++hits;
    }
    if (last >= 0) {
      atomicAdd(&m.cells[last].update_num, num);
      atomicAdd(&m.cells[last].update_den, den);
      atomicAdd(&m.cells[last].hits, hits);
    }
  }
}

__global__ void update_model(Model m, float relax) {
  for (int c = blockIdx.x * blockDim.x + threadIdx.x; c < m.n_cells; c += gridDim.x * blockDim.x) {
    Cell& cell = m.cells[c];
    float ds = 0.f;
    if (cell.hits > 0)
      ds = relax * cell.update_num / (cell.update_den + cell.damping);
    ds -= 0.01f * (cell.slowness - cell.slowness_ref);
    cell.dslow_last = ds;
    cell.slowness += ds;
  }
}

__global__ void accumulate_station_residuals(Model m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m.n_rays) return;
  const Ray& r = m.rays[i];
  if (r.quality >= 4 || r.outlier) return;
  Station* st = m.stations + r.station;
  atomicAdd(&st->n_picks, 1);
  long long us = static_cast<long long>(r.residual * 1.0e6f);
  atomicAdd(reinterpret_cast<unsigned long long*>(&st->res_sum_us),
            static_cast<unsigned long long>(us));
}

__global__ void update_station_corrections(Model m) {
  int s = blockIdx.x * blockDim.x + threadIdx.x;
  if (s >= m.n_stations) return;
  Station& st = m.stations[s];
  if (st.n_picks > 4) {
    float mean = static_cast<float>(static_cast<double>(st.res_sum_us) * 1.0e-6 / st.n_picks);
    st.correction += 0.1f * mean;
  }
  st.res_sum_us = 0;
  st.n_picks = 0;
}

struct Lcg {
  unsigned long long s;
  explicit Lcg(unsigned long long seed) : s(seed) {}
  unsigned next() {
    s = s * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<unsigned>(s >> 33);
  }
  float uni() { return (next() & 0xffffff) * (1.0f / 16777216.0f); }
};

}  // namespace tomo

int main() {
  using namespace tomo;
  const GridSpec g{128, 128, 64, 2.0f};
  const int n_cells = g.nx * g.ny * g.nz;
  const int n_rays = 60000;
  const int n_stations = 600;
  const int n_iter = 40;

  try {
    Lcg rng(991);
    std::vector<Cell> cells(n_cells);
    std::vector<float> truth(n_cells);
    for (int k = 0; k < g.nz; ++k)
      for (int j = 0; j < g.ny; ++j)
        for (int i = 0; i < g.nx; ++i) {
          const int c = (k * g.ny + j) * g.nx + i;
          const float v = 5.0f + 0.03f * k;
          cells[c] = Cell{};
          cells[c].slowness = cells[c].slowness_ref = 1.0f / v;
          cells[c].damping = 1.0f + 0.5f * rng.uni();
          cells[c].region = (i / 32) + 4 * (j / 32);
          const bool anomaly = ((i / 16 + j / 16 + k / 16) & 1) != 0;
          truth[c] = (anomaly ? 1.04f : 0.97f) / v;
        }

    std::vector<Station> stations(n_stations);
    std::vector<Vec3> spos(n_stations);
    for (int s = 0; s < n_stations; ++s) {
      spos[s] = Vec3{rng.uni() * 255.0f, rng.uni() * 255.0f, 0.25f + rng.uni()};
      Station& st = stations[s];
      st = Station{};
      st.lat = 42.0 + spos[s].y / 111.0;
      st.lon = 13.0 + spos[s].x / 85.0;
      st.elevation = 1000.0f * rng.uni();
      snprintf(st.code, sizeof(st.code), "S%03d", s % 1000);
    }

    std::vector<Ray> rays(n_rays);
    for (int i = 0; i < n_rays; ++i) {
      Ray& r = rays[i];
      r = Ray{};
      r.event = i / 30;
      Lcg ev(77000 + r.event);
      ev.next();
      ev.next();
      r.src = Vec3{ev.uni() * 255.0f, ev.uni() * 255.0f, 5.0f + ev.uni() * 118.0f};
      r.station = static_cast<int>(rng.next() % n_stations);
      r.rec = spos[r.station];
      const float dx = r.rec.x - r.src.x, dy = r.rec.y - r.src.y, dz = r.rec.z - r.src.z;
      r.length = std::sqrt(dx * dx + dy * dy + dz * dz);
      r.n_samples = 32 + static_cast<int>(r.length);
      r.phase = static_cast<short>(rng.next() % 4 == 0);
      r.quality = static_cast<unsigned char>(rng.next() % 20 == 0 ? 4 : rng.next() % 4);
      r.weight = 1.0f / (1.0f + 0.5f * r.quality);
      double sum = 0.0;
      for (int k = 0; k < r.n_samples; ++k) {
        const Vec3 p = point_on(r, (k + 0.5f) / r.n_samples);
        sum += truth[cell_index(g, p.x, p.y, p.z)];
      }
      r.t_obs = static_cast<float>(sum / r.n_samples) * r.length * (r.phase ? 1.7320508f : 1.0f);
      r.t_obs += 0.05f * (rng.uni() - 0.5f);
      if (rng.next() % 50 == 0) r.t_obs += 30.0f;  // mispick
    }

    DeviceArray<Cell> d_cells(cells);
    DeviceArray<Ray> d_rays(rays);
    DeviceArray<Station> d_stations(stations);
    Model m{g, d_cells.get(), d_rays.get(), d_stations.get(), n_rays, n_stations, n_cells};

    const int block = 128;
    const int grid_rays = (n_rays + block - 1) / block;
    const int grid_cells = 1024;

    auto iterate = [&] {
      clear_cells<<<grid_cells, 256>>>(m);
      trace_rays<<<grid_rays, block>>>(m, 12.0f);
      backproject<<<grid_rays, block>>>(m);
      update_model<<<grid_cells, 256>>>(m, 0.8f);
      accumulate_station_residuals<<<grid_rays, block>>>(m);
      update_station_corrections<<<(n_stations + 63) / 64, 64>>>(m);
    };

    iterate();
    check(cudaGetLastError(), "launch");
    check(cudaDeviceSynchronize(), "sync");
    auto rms = [&](const std::vector<Ray>& rr) {
      double s = 0;
      long n = 0;
      for (const Ray& r : rr)
        if (r.quality < 4 && !r.outlier) {
          s += double(r.residual) * r.residual;
          ++n;
        }
      return std::sqrt(s / (n ? n : 1));
    };
    const double rms0 = rms(d_rays.download());

    cudaEvent_t start, stop;
    check(cudaEventCreate(&start), "event");
    check(cudaEventCreate(&stop), "event");
    check(cudaEventRecord(start), "record");
    for (int it = 0; it < n_iter; ++it) iterate();
    check(cudaEventRecord(stop), "record");
    check(cudaEventSynchronize(stop), "sync");
    check(cudaGetLastError(), "launch");
    float ms = 0.f;
    check(cudaEventElapsedTime(&ms, start, stop), "elapsed");

    const auto out_rays = d_rays.download();
    const auto out_cells = d_cells.download();
    const double rms1 = rms(out_rays);
    long outliers = 0, hit_cells = 0, hits = 0;
    double t_sum = 0, slow = 0;
    for (const Ray& r : out_rays) {
      outliers += r.outlier;
      t_sum += r.t_calc;
    }
    for (const Cell& c : out_cells) {
      hit_cells += c.hits > 0;
      hits += c.hits;
      slow += c.slowness;
    }
    if (!(rms1 < rms0)) {
      fprintf(stderr, "inversion does not converge: %g -> %g\n", rms0, rms1);
      return 1;
    }
    printf("check rms_first %.3e\n", rms0);
    printf("check rms_last %.2e\n", rms1);
    printf("check outliers %ld\n", outliers);
    printf("check total_hits %ld\n", hits);
    printf("check cells_hit_k %ld\n", hit_cells / 1000);
    printf("check t_calc_sum %.3e\n", t_sum);
    printf("check slowness_sum %.3e\n", slow);
    printf("time_ms %.5f\n", ms / n_iter);
    cudaEventDestroy(start);
    cudaEventDestroy(stop);
  } catch (const std::exception& e) {
    fprintf(stderr, "error: %s\n", e.what());
    return EXIT_FAILURE;
  }
  return 0;
}
