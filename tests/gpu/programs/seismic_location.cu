// Location of earthquakes from the arrival times at the stations of a dense network: two-point
// ray tracing (direct and head waves) in layered models that differ by region, then a step of
// Gauss-Newton with Huber weights for each event, and residuals by station.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

template <class T>
class DeviceBuffer {
 public:
  explicit DeviceBuffer(size_t count) : count_(count) { check(cudaMalloc(&data_, count * sizeof(T)), "cudaMalloc"); }
  explicit DeviceBuffer(const std::vector<T>& host) : DeviceBuffer(host.size()) {
    check(cudaMemcpy(data_, host.data(), count_ * sizeof(T), cudaMemcpyHostToDevice), "upload");
  }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  ~DeviceBuffer() { cudaFree(data_); }
  T* get() const { return data_; }
  std::vector<T> download() const {
    std::vector<T> host(count_);
    check(cudaMemcpy(host.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost), "download");
    return host;
  }

 private:
  T* data_ = nullptr;
  size_t count_;
};

constexpr int kLayers = 10;
constexpr int kRegions = 40;          // on a side
constexpr double kExtent = 240.0;     // km on a side
constexpr int kStationsPerSide = 120;
constexpr int kGaussNewton = 2;
constexpr int kMaxNewton = 8;

struct Layer {
  float top, thickness;  // km
  float vp, vs;          // km/s
  float qp, qs;
};

struct Station {
  double x, y;      // km
  float elevation;  // km
  float staticP, staticS;
  short line, number;
};

struct Hypocentre {
  double x, y, z, t;
};

struct Event {
  Hypocentre start, current;
  int firstPick, numPicks;
  float rms, step;
};

enum Phase : uint8_t { kP = 0, kS = 1 };

struct Pick {
  int event, station;
  float observed, sigma, predicted, residual;  // s
  float dtdx, dtdy, dtdz;
  float weight;
  uint8_t phase, quality;
  short refractor;  // -1 for the direct wave
};

struct StationResidual {
  long long sumP, sumS;  // 0.1 ms
  unsigned int countP, countS, rejected, maxAbs;
};

struct Ray {
  float time, slowness;
  float verticalSlowness;  // at the source, positive for a ray that leaves upwards
  int refractor;
};

__host__ __device__ inline float velocity(const Layer& layer, int phase) { return phase == kS ? layer.vs : layer.vp; }

__host__ __device__ inline const Layer* modelAt(const Layer* models, double x, double y) {
  int cx = (int)(x * (kRegions / kExtent)), cy = (int)(y * (kRegions / kExtent));
  cx = cx < 0 ? 0 : cx >= kRegions ? kRegions - 1 : cx;
  cy = cy < 0 ? 0 : cy >= kRegions ? kRegions - 1 : cy;
  return models + (cy * kRegions + cx) * kLayers;
}

// First arrival at the surface, at a given distance from a source at a given depth.
__host__ __device__ Ray traceRay(const Layer* layers, float distance, float depth, int phase) {
  int source = 0;
  while (source + 1 < kLayers && layers[source + 1].top <= depth) ++source;
  const float part = depth - layers[source].top;

  // Direct wave. q is the tangent of the angle in the fastest layer that the ray crosses; offset(q) is
  // concave, so Newton's method from below the root never overshoots.
  float fastest = 0, reach = 0;
  for (int i = 0; i <= source; ++i) fastest = fmaxf(fastest, velocity(layers[i], phase));
  for (int i = 0; i <= source; ++i)
    reach += (i == source ? part : layers[i].thickness) * (velocity(layers[i], phase) / fastest);
  float q = distance / fmaxf(reach, 1e-4f);
  for (int iteration = 0; iteration < kMaxNewton; ++iteration) {
    float offset = 0, slope = 0;
    for (int i = 0; i <= source; ++i) {
      const float h = i == source ? part : layers[i].thickness;
      const float r = velocity(layers[i], phase) / fastest;
      const float s = 1.0f / sqrtf(1.0f + q * q * (1.0f - r * r));
      offset += h * r * q * s;
      slope += h * r * s * s * s;
    }
    const float miss = distance - offset;
    if (fabsf(miss) < 1e-4f * (1.0f + distance)) break;
    q += miss / fmaxf(slope, 1e-6f);
  }
  Ray ray;
  ray.slowness = q / (fastest * sqrtf(1.0f + q * q));
  ray.time = ray.slowness * distance;
  ray.refractor = -1;
  for (int i = 0; i <= source; ++i) {
    const float v = velocity(layers[i], phase);
    const float eta = sqrtf(fmaxf(1.0f / (v * v) - ray.slowness * ray.slowness, 0.0f));
    ray.time += (i == source ? part : layers[i].thickness) * eta;
    if (i == source) ray.verticalSlowness = eta;
  }

  // Head waves along the interfaces below the source.
  float above = fastest;
  for (int m = source + 1; m < kLayers; ++m) {
    const float vm = velocity(layers[m], phase);
    if (vm <= above) continue;
    above = vm;
    const float p = 1.0f / vm;
    float time = distance * p, critical = 0, etaSource = 0;
    for (int i = 0; i < m; ++i) {
      const float v = velocity(layers[i], phase);
      const float eta = sqrtf(1.0f / (v * v) - p * p);
      const float h = layers[i].thickness;
      const float legs = i < source ? h : i > source ? 2 * h : 2 * h - part;
      time += legs * eta;
      critical += legs * p / eta;
      if (i == source) etaSource = eta;
    }
    if (distance >= critical && time < ray.time) {
      ray.time = time;
      ray.slowness = p;
      ray.verticalSlowness = -etaSource;
      ray.refractor = m;
    }
  }
  return ray;
}

__global__ void resetEvents(Event* events, int numEvents) {
  const int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= numEvents) return;
  events[e].current = events[e].start;
  events[e].rms = events[e].step = 0;
}

__global__ void tracePicks(Pick* __restrict__ picks, int numPicks, const Event* __restrict__ events,
                           const Station* __restrict__ stations, const Layer* __restrict__ models) {
  const int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= numPicks) return;
  Pick& pick = picks[k];
  const Hypocentre& source = events[pick.event].current;
  const Station& station = stations[pick.station];
  const float dx = (float)(source.x - station.x), dy = (float)(source.y - station.y);
  const float distance = sqrtf(dx * dx + dy * dy + 1e-6f);
  const Layer* layers = modelAt(models, 0.5 * (source.x + station.x), 0.5 * (source.y + station.y));
  const int phase = pick.phase;
  const Ray ray = traceRay(layers, distance, (float)source.z, phase);
  const float correction = phase == kS ? station.staticS : station.staticP;
  const float predicted = ray.time + station.elevation / velocity(layers[0], phase) + correction;
  pick.predicted = predicted;
  pick.residual = (float)(pick.observed - source.t) - predicted;
  pick.dtdx = ray.slowness * dx / distance;
  pick.dtdy = ray.slowness * dy / distance;
  pick.dtdz = ray.verticalSlowness;
  pick.refractor = (short)ray.refractor;
}

__device__ inline double warpSum(double v) {
  for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffffu, v, d);
  return v;
}

// Elimination without pivots, for a positive definite matrix of which the lower triangle is given.
__device__ void solve4(double a[4][4], double b[4]) {
  for (int j = 0; j < 4; ++j) {
    for (int i = j + 1; i < 4; ++i) {
      const double f = a[i][j] / a[j][j];
      for (int k = i; k < 4; ++k) a[k][i] -= f * a[k][j];
      b[i] -= f * b[j];
    }
  }
  for (int i = 3; i >= 0; --i) {
    for (int k = i + 1; k < 4; ++k) b[i] -= a[k][i] * b[k];
    b[i] /= a[i][i];
  }
}

// A warp for each event.
__global__ void relocateEvents(Event* __restrict__ events, int numEvents, Pick* __restrict__ picks) {
  const int e = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;
  if (e >= numEvents) return;
  const int first = events[e].firstPick, last = first + events[e].numPicks;

  double square = 0, count = 0;
  for (int k = first + lane; k < last; k += 32) {
    const double r = picks[k].residual / picks[k].sigma;
    square += fmin(r * r, 100.0);
    count += 1;
  }
  square = warpSum(square);
  count = warpSum(count);
  const double spread = sqrt(square / fmax(count, 1.0));
  const float knee = (float)fmax(1.5 * spread, 0.5);

  double normal[4][4] = {}, rhs[4] = {};
  for (int k = first + lane; k < last; k += 32) {
    Pick& pick = picks[k];
    const float scaled = fabsf(pick.residual) / pick.sigma;
    float w = scaled <= knee ? 1.0f : knee / scaled;
    if (pick.quality >= 4) w = 0;
    w /= pick.sigma * pick.sigma;
    pick.weight = w;
    const double row[4] = {pick.dtdx, pick.dtdy, pick.dtdz, 1.0};
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j <= i; ++j) normal[i][j] += w * row[i] * row[j];
      rhs[i] += w * row[i] * pick.residual;
    }
  }
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j <= i; ++j) normal[i][j] = warpSum(normal[i][j]);
    rhs[i] = warpSum(rhs[i]);
  }
  if (lane != 0) return;
  for (int i = 0; i < 4; ++i) normal[i][i] += 0.02 * normal[i][i] + 1e-3;
  solve4(normal, rhs);
  const double length = sqrt(rhs[0] * rhs[0] + rhs[1] * rhs[1] + rhs[2] * rhs[2]);
  const double scale = length > 8 ? 8 / length : 1.0;
  Event& event = events[e];
  event.current.x += scale * rhs[0];
  event.current.y += scale * rhs[1];
  event.current.z = fmin(fmax(event.current.z + scale * rhs[2], 0.1), 35.0);
  event.current.t += scale * rhs[3];
  event.rms = (float)spread;
  event.step = (float)(scale * length);
}

__global__ void accumulateStations(const Pick* __restrict__ picks, int numPicks, StationResidual* stations) {
  const int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= numPicks) return;
  const Pick& pick = picks[k];
  StationResidual& s = stations[pick.station];
  const int r = __float2int_rn(fminf(fmaxf(pick.residual, -10.0f), 10.0f) * 1e4f);
  if (pick.weight * pick.sigma * pick.sigma < 0.3f) {
    atomicAdd(&s.rejected, 1u);
    return;
  }
  atomicAdd((unsigned long long*)(pick.phase == kS ? &s.sumS : &s.sumP), (unsigned long long)(long long)r);
  atomicAdd(pick.phase == kS ? &s.countS : &s.countP, 1u);
  atomicMax(&s.maxAbs, (unsigned int)abs(r));
}

struct Random {
  uint64_t state;
  double uniform() {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(state >> 11) * (1.0 / 9007199254740992.0);
  }
  double normal() { return uniform() + uniform() + uniform() + uniform() - 2.0; }  // sd about 0.58
};

std::vector<Layer> makeModels() {
  static const float vp0[kLayers] = {2.4f, 3.9f, 5.2f, 5.8f, 6.0f, 5.9f, 6.4f, 6.8f, 7.1f, 8.0f};
  static const float h0[kLayers] = {0.6f, 1.2f, 2.4f, 3.5f, 4.0f, 3.0f, 5.0f, 6.0f, 6.0f, 40.0f};
  std::vector<Layer> models;
  for (int cy = 0; cy < kRegions; ++cy) {
    for (int cx = 0; cx < kRegions; ++cx) {
      float top = 0;
      for (int l = 0; l < kLayers; ++l) {
        Layer layer;
        layer.top = top;
        layer.thickness = h0[l] * (1 + 0.15f * sinf(cx * 0.21f + l) * cosf(cy * 0.17f - l));
        layer.vp = vp0[l] * (1 + 0.04f * sinf(cx * 0.13f - cy * 0.19f + 2 * l));
        layer.vs = layer.vp / (1.70f + 0.3f / (1 + l));
        layer.qp = 80.0f + 60 * l;
        layer.qs = 40.0f + 35 * l;
        top += layer.thickness;
        models.push_back(layer);
      }
    }
  }
  return models;
}

void makeSurvey(int targetPicks, const std::vector<Layer>& models, std::vector<Station>& stations,
                std::vector<Event>& events, std::vector<Pick>& picks) {
  Random rng{2024};
  const double spacing = kExtent / kStationsPerSide;
  for (int j = 0; j < kStationsPerSide; ++j) {
    for (int i = 0; i < kStationsPerSide; ++i) {
      Station s;
      s.x = (i + 0.3 + 0.4 * rng.uniform()) * spacing;
      s.y = (j + 0.3 + 0.4 * rng.uniform()) * spacing;
      s.elevation = (float)(0.4 + 0.4 * std::sin(s.x * 0.05) * std::cos(s.y * 0.06));
      s.staticP = (float)(0.05 * rng.normal());
      s.staticS = 1.8f * s.staticP;
      s.line = (short)j, s.number = (short)i;
      stations.push_back(s);
    }
  }
  // clusters along faults; a bigger event is seen farther
  std::vector<int> seen;
  while ((int)picks.size() < targetPicks) {
    const int fault = (int)(events.size() / 500) % 12;
    const double along = 30 + 180 * rng.uniform(), strike = 0.5 * fault;
    Hypocentre truth;
    truth.x = 120 + (along - 120) * std::cos(strike) + 2 * rng.normal();
    truth.y = 120 + (along - 120) * std::sin(strike) + 2 * rng.normal();
    truth.z = 2 + 16 * rng.uniform() * rng.uniform();
    truth.t = 10 * rng.uniform();
    const double range = 12 * std::exp(1.2 * rng.uniform());
    const int wanted = 8 + (int)(1.2 * range);
    seen.clear();
    for (int k = 0; k < wanted; ++k) {
      const double r = range * (0.1 + 1.4 * rng.uniform()), azimuth = 6.2831853 * rng.uniform();
      const int i = (int)((truth.x + r * std::cos(azimuth)) / spacing), j = (int)((truth.y + r * std::sin(azimuth)) / spacing);
      if (i < 0 || j < 0 || i >= kStationsPerSide || j >= kStationsPerSide) continue;
      seen.push_back(j * kStationsPerSide + i);
    }
    std::sort(seen.begin(), seen.end());
    seen.erase(std::unique(seen.begin(), seen.end()), seen.end());

    Event event = {};
    event.firstPick = (int)picks.size();
    event.start = {truth.x + 3 * rng.normal(), truth.y + 3 * rng.normal(), 8, truth.t + 0.5 * rng.normal()};
    for (int id : seen) {
      const Station& s = stations[id];
      const double dx = truth.x - s.x, dy = truth.y - s.y;
      const Layer* layers = modelAt(models.data(), 0.5 * (truth.x + s.x), 0.5 * (truth.y + s.y));
      for (int phase = kP; phase <= kS; ++phase) {
        if (phase == kS && rng.uniform() < 0.6) continue;
        Pick p = {};
        p.event = (int)events.size();
        p.station = id;
        p.phase = (uint8_t)phase;
        p.quality = (uint8_t)(5 * rng.uniform() * rng.uniform());
        p.sigma = (phase == kS ? 0.06f : 0.03f) * (1 + p.quality);
        const Ray ray = traceRay(layers, (float)std::sqrt(dx * dx + dy * dy), (float)truth.z, phase);
        double noise = p.sigma * 1.7 * rng.normal();
        if (rng.uniform() < 0.02) noise += 3 * rng.normal();  // a wrong phase
        p.observed = (float)(truth.t + ray.time + s.elevation / velocity(layers[0], phase) +
                             (phase == kS ? s.staticS : s.staticP) + noise);
        picks.push_back(p);
      }
    }
    event.numPicks = (int)picks.size() - event.firstPick;
    events.push_back(event);
  }
}

int run(int targetPicks) {
  const std::vector<Layer> models = makeModels();
  std::vector<Station> stations;
  std::vector<Event> events;
  std::vector<Pick> picks;
  makeSurvey(targetPicks, models, stations, events, picks);
  const int numPicks = (int)picks.size(), numEvents = (int)events.size(), numStations = (int)stations.size();

  DeviceBuffer<Layer> dModels(models);
  DeviceBuffer<Station> dStations(stations);
  DeviceBuffer<Event> dEvents(events);
  DeviceBuffer<Pick> dPicks(picks);
  DeviceBuffer<StationResidual> dResiduals(numStations);

  const int block = 128;
  auto blocks = [=](long long threads) { return (unsigned)((threads + block - 1) / block); };
  auto step = [&] {
    check(cudaMemsetAsync(dResiduals.get(), 0, numStations * sizeof(StationResidual)), "clear");
    resetEvents<<<blocks(numEvents), block>>>(dEvents.get(), numEvents);
    for (int i = 0; i < kGaussNewton; ++i) {
      tracePicks<<<blocks(numPicks), block>>>(dPicks.get(), numPicks, dEvents.get(), dStations.get(), dModels.get());
      relocateEvents<<<blocks(32ll * numEvents), block>>>(dEvents.get(), numEvents, dPicks.get());
    }
    accumulateStations<<<blocks(numPicks), block>>>(dPicks.get(), numPicks, dResiduals.get());
    check(cudaGetLastError(), "launch");
  };

  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin), "event");
  check(cudaEventCreate(&end), "event");
  const int steps = 25;
  step();
  check(cudaEventRecord(begin), "record");
  for (int s = 0; s < steps; ++s) step();
  check(cudaEventRecord(end), "record");
  check(cudaEventSynchronize(end), "steps");
  float ms = 0;
  check(cudaEventElapsedTime(&ms, begin, end), "time");

  unsigned long long sum = 0;
  for (const Event& e : dEvents.download())
    sum = sum * 31 + (long long)(e.current.x * 1000) + 3 * (long long)(e.current.y * 1000) +
          5 * (long long)(e.current.z * 1000) + (long long)(e.rms * 100);
  for (const StationResidual& s : dResiduals.download())
    sum = sum * 31 + s.sumP + 3 * s.sumS + 5ull * s.countP + 7ull * s.countS + 11ull * s.rejected + s.maxAbs;
  for (const Pick& p : dPicks.download()) sum += (long long)(p.predicted * 1000) * (p.refractor + 3) + p.quality;
  printf("check %llu\ntime_ms %.4f\n", sum, ms / steps);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? std::stoi(argv[1]) : 800000);
  } catch (const std::exception& e) {
    fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
