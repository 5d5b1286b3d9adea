/******************************************************************************
 * Engineering wake model for an offshore wind farm (Gaussian deficit,
 * root-sum-square superposition), evaluated for every bin of a wind rose.
 *
 *   state[s * nTurb + t]  :  operating point of turbine t in scenario s
 *
 * Fixed-point iteration:   deficits(ct) -> effective speed -> ct, power -> ...
 * All in double precision.
 ******************************************************************************/
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include <cuda_runtime.h>

#define CUDA_OK(call)                                                   \
  if (cudaError_t status = (call); status != cudaSuccess) {             \
    std::fprintf(stderr, "[%s:%d] CUDA error: %s\n", __FILE__,          \
                 __LINE__, cudaGetErrorString(status));                 \
    std::exit(2);                                                       \
  }

// --- data -------------------------------------------------------------------

struct Turbine
{
  double x, y;            // farm coordinates [m]
  double hubHeight;
  double rotorDiameter;
  double ratedPower;      // [kW]
  double cutIn, cutOut;
  double energy;          // result: expected annual energy [MWh]
  int    curveOffset;     // into the power curve table
  int    curveLength;
};

struct CurvePoint
{
  double speed;
  double cp;
  double ct;
};

struct Scenario
{
  double direction;       // [rad], where the wind blows to
  double speed;           // free stream at reference height
  double turbulence;
  double shear;
  double probability;
  double farmPower;       // result [kW]
  double cosd, sind;
  int    directionBin;
  int    speedBin;
};

struct State
{
  double downwind;        // coordinates in the wind frame
  double crosswind;
  double hub;
  double diameter;
  double freeSpeed;
  double effSpeed;
  double deficit2;        // sum of squared relative deficits
  double addedTi2;
  double ct;
  double cp;
  double power;
  int    upstreamCount;
  int    stopped;
};

struct Convergence
{
  unsigned long long maxChangeMicro;   // max |du| in 1e-6 m/s
  unsigned int       stoppedTurbines;
  unsigned int       iterations;
};

constexpr int    TILE       = 128;
constexpr double AIR        = 1.225;
constexpr double REF_HEIGHT = 100.0;
constexpr double HOURS      = 8760.0;

// --- kernels ----------------------------------------------------------------

// grid: x over turbines, y over scenarios
__global__ void initStates(State *state, const Turbine *turb, int nTurb, const Scenario *scen)
{
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  const int s = blockIdx.y;
  if (t >= nTurb) return;

  State st;
  st.downwind  =  turb[t].x * scen[s].cosd + turb[t].y * scen[s].sind;
  st.crosswind = -turb[t].x * scen[s].sind + turb[t].y * scen[s].cosd;
  st.hub       = turb[t].hubHeight;
  st.diameter  = turb[t].rotorDiameter;
  st.freeSpeed = scen[s].speed * pow(turb[t].hubHeight / REF_HEIGHT, scen[s].shear);
  st.effSpeed  = st.freeSpeed;
  st.deficit2  = 0.0;
  st.addedTi2  = 0.0;
  st.ct        = 0.8;
  st.cp        = 0.0;
  st.power     = 0.0;
  st.upstreamCount = 0;
  st.stopped   = 0;
  state[(size_t)s * nTurb + t] = st;
}

__global__ void __launch_bounds__(TILE)
sweepWakes(State *state, int nTurb, const Scenario *scen)
{
  struct Source { double x, y, hub, d, ct; };
  __shared__ Source tile[TILE];

  const int s = blockIdx.y;
  const int t = blockIdx.x * TILE + threadIdx.x;
  State *row = state + (size_t)s * nTurb;
  const double ti0 = scen[s].turbulence;

  double x = 0, y = 0, hub = 0, addedTi2Old = 0;
  if (t < nTurb) {
    x   = row[t].downwind;
    y   = row[t].crosswind;
    hub = row[t].hub;
    addedTi2Old = row[t].addedTi2;
  }
  const double kStar = 0.38 * sqrt(ti0 * ti0 + 0.25 * addedTi2Old) + 0.004;

  double sum2 = 0.0, ti2 = 0.0;
  int    upstream = 0;

  for (int base = 0; base < nTurb; base += TILE) {
    const int j = base + threadIdx.x;
    if (j < nTurb) {
      const State &o = row[j];
      tile[threadIdx.x] = Source{o.downwind, o.crosswind, o.hub, o.diameter, o.stopped ? 0.0 : o.ct};
    }
    __syncthreads();

    const int m = min(TILE, nTurb - base);
    for (int k = 0; k < m; ++k) {
      const double dx = x - tile[k].x;
      const double d  = tile[k].d;
      if (dx < 0.5 * d) continue;                       // not behind this rotor
      const double dy = y - tile[k].y;
      if (fabs(dy) > 2.0 * d + 0.15 * dx) continue;     // outside of the wake cone
      const double ct = tile[k].ct;
      if (ct <= 0.0) continue;

      const double beta  = 0.5 * (1.0 + sqrt(1.0 - ct)) / sqrt(1.0 - ct);
      const double sigma = kStar * dx / d + 0.25 * sqrt(beta);
      const double inner = 1.0 - ct / (8.0 * sigma * sigma);
      const double c     = inner > 0.0 ? 1.0 - sqrt(inner) : 1.0;
      const double dz    = hub - tile[k].hub;
      const double r2    = (dy * dy + dz * dz) / (d * d);
      const double def   = c * exp(-r2 / (2.0 * sigma * sigma));
      if (def < 1e-5) continue;

      sum2 += def * def;
      const double ti = 0.73 * pow(0.25 * ct, 0.8325) * pow(dx / d, -0.32);
      ti2 = fmax(ti2, ti * ti * def);
      ++upstream;
    }
    __syncthreads();
  }

  if (t < nTurb) {
    // ct is read by other blocks of the same sweep: written elsewhere
    row[t].deficit2      = sum2;
    row[t].upstreamCount = upstream;
    row[t].power         = ti2;       // parked here until updateOperatingPoint
  }
}

__device__ int findSegment(const CurvePoint *curve, int n, double u)
{
  int lo = 0, hi = n - 1;
  while (hi - lo > 1) {
    const int mid = (lo + hi) / 2;
    if (curve[mid].speed <= u) lo = mid; else hi = mid;
  }
  return lo;
}

__global__ void updateOperatingPoint(State *state, const Turbine *turb, int nTurb,
                                     const CurvePoint *curves, double relax, Convergence *conv)
{
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= nTurb) return;
  State &st = state[(size_t)blockIdx.y * nTurb + t];

  const double target = st.freeSpeed * (1.0 - fmin(0.95, sqrt(st.deficit2)));
  const double u      = st.effSpeed + relax * (target - st.effSpeed);
  const double change = fabs(u - st.effSpeed);
  st.effSpeed = u;
  st.addedTi2 = st.power;

  if (u < turb[t].cutIn || u > turb[t].cutOut) {
    st.stopped = 1;
    st.cp = st.power = 0.0;
    st.ct = 0.0;
    atomicAdd(&conv->stoppedTurbines, 1u);
  } else {
    const CurvePoint *c = curves + turb[t].curveOffset;
    const int    i = findSegment(c, turb[t].curveLength, u);
    const double f = (u - c[i].speed) / (c[i + 1].speed - c[i].speed);
    st.stopped = 0;
    st.cp = c[i].cp + f * (c[i + 1].cp - c[i].cp);
    st.ct = fmin(0.96, c[i].ct + f * (c[i + 1].ct - c[i].ct));
    const double area = 0.25 * 3.14159265358979 * st.diameter * st.diameter;
    st.power = fmin(turb[t].ratedPower, 0.5e-3 * AIR * area * st.cp * u * u * u);
  }
  atomicMax(&conv->maxChangeMicro, (unsigned long long)(change * 1.0e6));
}

// one block per scenario, fixed-order tree sum
__global__ void sumScenarios(const State *state, int nTurb, Scenario *scen)
{
  __shared__ double part[256];
  const State *row = state + (size_t)blockIdx.x * nTurb;
  double p = 0.0;
  for (int t = threadIdx.x; t < nTurb; t += blockDim.x) p += row[t].power;
  part[threadIdx.x] = p;
  __syncthreads();
  for (int o = blockDim.x / 2; o > 0; o /= 2) {
    if (threadIdx.x < o) part[threadIdx.x] += part[threadIdx.x + o];
    __syncthreads();
  }
  if (threadIdx.x == 0) scen[blockIdx.x].farmPower = part[0];
}

__global__ void sumEnergy(const State *state, Turbine *turb, int nTurb, const Scenario *scen, int nScen)
{
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= nTurb) return;
  double e = 0.0;
  for (int s = 0; s < nScen; ++s)
    e += scen[s].probability * state[(size_t)s * nTurb + t].power;
  turb[t].energy = e * HOURS * 1e-3;
}

// --- host -------------------------------------------------------------------

static std::vector<Turbine> makeFarm(int n, std::mt19937 &gen)
{
  std::vector<Turbine> farm(n);
  const int side = (int)std::ceil(std::sqrt((double)n));
  for (int i = 0; i < n; ++i) {
    auto jitter = [&] { return ((double)gen() / 4294967296.0 - 0.5) * 260.0; };
    Turbine &t = farm[i];
    const bool large = (i / side) % 3 == 0;
    t.x = (i % side) * 1150.0 + ((i / side) % 2) * 500.0 + jitter();
    t.y = (i / side) * 980.0 + jitter();
    t.hubHeight     = large ? 140.0 : 105.0;
    t.rotorDiameter = large ? 220.0 : 164.0;
    t.ratedPower    = large ? 14000.0 : 8000.0;
    t.cutIn         = 3.5;
    t.cutOut        = large ? 28.0 : 25.0;
    t.energy        = 0.0;
    t.curveOffset   = large ? 64 : 0;
    t.curveLength   = 64;
  }
  return farm;
}

static std::vector<CurvePoint> makeCurves()
{
  std::vector<CurvePoint> c;
  for (int type = 0; type < 2; ++type)
    for (int i = 0; i < 64; ++i) {
      const double u  = 0.5 * i;
      const double ur = type ? 11.5 : 12.5;
      const double cp = (type ? 0.49 : 0.46) * (u < ur ? 1.0 : std::pow(ur / u, 3.0));
      const double ct = u < ur ? 0.82 - 0.004 * u : 0.78 * std::pow(ur / u, 2.2);
      c.push_back({u, cp, ct});
    }
  return c;
}

static std::vector<Scenario> makeRose(int nDir, int nSpeed)
{
  std::vector<Scenario> rose;
  double total = 0.0;
  for (int d = 0; d < nDir; ++d)
    for (int v = 0; v < nSpeed; ++v) {
      Scenario s{};
      s.direction   = 2.0 * M_PI * d / nDir;
      s.speed       = 4.0 + v * (20.0 / nSpeed);
      s.turbulence  = 0.06 + 0.01 * (v % 3);
      s.shear       = 0.11;
      s.probability = (1.2 + std::cos(s.direction - 0.6)) * s.speed * std::exp(-std::pow(s.speed / 10.5, 2.1));
      s.cosd        = std::cos(s.direction);
      s.sind        = std::sin(s.direction);
      s.directionBin = d;
      s.speedBin     = v;
      total += s.probability;
      rose.push_back(s);
    }
  for (auto &s : rose) s.probability /= total;
  return rose;
}

int main(int argc, char *argv[])
{
  const int nTurb = argc > 1 ? std::atoi(argv[1]) : 480;
  const int nDir  = argc > 2 ? std::atoi(argv[2]) : 72;
  const int nIter = argc > 3 ? std::atoi(argv[3]) : 6;

  std::mt19937 gen(777);
  std::vector<Turbine>    farm   = makeFarm(nTurb, gen);
  std::vector<CurvePoint> curves = makeCurves();
  std::vector<Scenario>   rose   = makeRose(nDir, 10);
  const int    nScen   = (int)rose.size();
  const size_t nStates = (size_t)nScen * nTurb;

  Turbine *dTurb; CurvePoint *dCurves; Scenario *dScen; State *dState; Convergence *dConv;
  CUDA_OK(cudaMalloc(&dTurb,   farm.size() * sizeof(Turbine)));
  CUDA_OK(cudaMalloc(&dCurves, curves.size() * sizeof(CurvePoint)));
  CUDA_OK(cudaMalloc(&dScen,   rose.size() * sizeof(Scenario)));
  CUDA_OK(cudaMalloc(&dState,  nStates * sizeof(State)));
  CUDA_OK(cudaMalloc(&dConv,   sizeof(Convergence)));
  CUDA_OK(cudaMemcpy(dTurb,   farm.data(),   farm.size() * sizeof(Turbine),      cudaMemcpyHostToDevice));
  CUDA_OK(cudaMemcpy(dCurves, curves.data(), curves.size() * sizeof(CurvePoint), cudaMemcpyHostToDevice));
  CUDA_OK(cudaMemcpy(dScen,   rose.data(),   rose.size() * sizeof(Scenario),     cudaMemcpyHostToDevice));

  const dim3 block(TILE);
  const dim3 grid((nTurb + TILE - 1) / TILE, nScen);

  auto solve = [&](int iterations) {
    initStates<<<grid, block>>>(dState, dTurb, nTurb, dScen);
    for (int it = 0; it < iterations; ++it) {
      CUDA_OK(cudaMemsetAsync(dConv, 0, sizeof(Convergence)));
      sweepWakes<<<grid, block>>>(dState, nTurb, dScen);
      updateOperatingPoint<<<grid, block>>>(dState, dTurb, nTurb, dCurves, it < 2 ? 1.0 : 0.7, dConv);
    }
    sumScenarios<<<nScen, 256>>>(dState, nTurb, dScen);
    sumEnergy<<<(nTurb + 63) / 64, 64>>>(dState, dTurb, nTurb, dScen, nScen);
    CUDA_OK(cudaGetLastError());
  };

  solve(1);
  CUDA_OK(cudaDeviceSynchronize());

  cudaEvent_t t0, t1;
  CUDA_OK(cudaEventCreate(&t0));
  CUDA_OK(cudaEventCreate(&t1));
  CUDA_OK(cudaEventRecord(t0, 0));
  for (int rep = 0; rep < 3; ++rep) solve(nIter);
  CUDA_OK(cudaEventRecord(t1, 0));
  CUDA_OK(cudaEventSynchronize(t1));
  float elapsed = 0.f;
  CUDA_OK(cudaEventElapsedTime(&elapsed, t0, t1));

  std::vector<State> states(nStates);
  Convergence conv;
  CUDA_OK(cudaMemcpy(states.data(), dState, nStates * sizeof(State), cudaMemcpyDeviceToHost));
  CUDA_OK(cudaMemcpy(farm.data(), dTurb, farm.size() * sizeof(Turbine), cudaMemcpyDeviceToHost));
  CUDA_OK(cudaMemcpy(rose.data(), dScen, rose.size() * sizeof(Scenario), cudaMemcpyDeviceToHost));
  CUDA_OK(cudaMemcpy(&conv, dConv, sizeof(conv), cudaMemcpyDeviceToHost));

  int64_t aep = 0, farmPower = 0, speedMm = 0, upstream = 0;
  for (const Turbine &t : farm) aep += llround(t.energy);
  for (const Scenario &s : rose) farmPower += llround(s.farmPower);
  for (const State &s : states) {
    speedMm  += llround(s.effSpeed * 1000.0);
    upstream += s.upstreamCount;
  }
  std::printf("check aep_mwh %lld\n", (long long)aep);
  std::printf("check farm_power_kw %lld\n", (long long)farmPower);
  std::printf("check eff_speed_mm %lld\n", (long long)speedMm);
  std::printf("check upstream_links %lld\n", (long long)upstream);
  std::printf("check stopped %u\n", conv.stoppedTurbines);
  std::printf("check residual_milli %llu\n", conv.maxChangeMicro / 1000);
  std::printf("time_ms %f\n", elapsed);

  cudaFree(dTurb); cudaFree(dCurves); cudaFree(dScen); cudaFree(dState); cudaFree(dConv);
  return 0;
}
