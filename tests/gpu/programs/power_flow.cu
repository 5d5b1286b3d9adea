// AC power flow of a transmission grid: Gauss-Seidel over coloured buses with the admittance matrix
// in compressed rows, then flows of the branches and totals of the areas.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <vector>

using std::vector;

inline void cudaOk(cudaError_t e, const char* expr, int line) {
  if (e == cudaSuccess) return;
  std::cerr << "line " << line << ": " << expr << ": " << cudaGetErrorString(e) << std::endl;
  std::exit(1);
}
#define OK(expr) cudaOk((expr), #expr, __LINE__)

constexpr int SWEEPS = 8;
constexpr int AREAS = 128;
constexpr double RELAXATION = 1.3;

struct Complex {
  double re, im;
  __host__ __device__ Complex conj() const { return {re, -im}; }
  __host__ __device__ double norm2() const { return re * re + im * im; }
};
__host__ __device__ inline Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
__host__ __device__ inline Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
__host__ __device__ inline Complex operator*(Complex a, Complex b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
__host__ __device__ inline Complex operator*(Complex a, double s) { return {a.re * s, a.im * s}; }
__host__ __device__ inline Complex operator/(Complex a, Complex b) { return a * b.conj() * (1.0 / b.norm2()); }

enum BusType : uint8_t { PQ, PV, SLACK };

struct Bus {
  Complex v;
  Complex load;
  Complex generation;
  Complex diagonal;  // of the admittance matrix
  double setpoint;
  double qMin, qMax;
  float vMin, vMax;
  short area;
  BusType type;
  uint8_t limited;  // a generator at its reactive limit
  int number;
};

struct Admittance {
  Complex y;
  int column;
  int branch;
};

struct Branch {
  int from, to;
  double r, x, charging;
  double tap, shift;
  Complex sFrom, sTo;
  float rating;
  float loading;
};

struct AreaTotals {
  long long generation, load, losses;  // kW on a base of 100 MVA
  long long mismatch;
  unsigned int overloads, voltageViolations;
  int maxLoading;  // per mille
  int limited;
};

__global__ void flatStart(Bus* buses, int n, AreaTotals* areas) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < AREAS) areas[i] = AreaTotals{};
  if (i >= n) return;
  Bus& bus = buses[i];
  bus.v = Complex{bus.type == PQ ? 1.0 : bus.setpoint, 0.0};
  bus.limited = 0;
  if (bus.type != PQ) bus.generation.im = 0;
}

__device__ inline Complex neighbourCurrent(const Bus* buses, const Admittance* row, const Admittance* end) {
  Complex sum{0, 0};
  for (; row != end; ++row) sum = sum + row->y * buses[row->column].v;
  return sum;
}

// Buses of one colour have no branch between them, so the order does not matter.
__global__ void gaussSeidel(Bus* buses, const Admittance* __restrict__ entries, const int* __restrict__ rowStart,
                            const int* __restrict__ order, int count) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= count) return;
  const int i = order[t];
  Bus& bus = buses[i];
  if (bus.type == SLACK) return;
  const Complex others = neighbourCurrent(buses, entries + rowStart[i], entries + rowStart[i + 1]);
  const Complex v = bus.v;

  if (bus.type == PV) {
    const Complex s = v * (bus.diagonal * v + others).conj();
    double q = s.im + bus.load.im;
    const bool limited = q < bus.qMin || q > bus.qMax;
    q = fmin(fmax(q, bus.qMin), bus.qMax);
    bus.generation.im = q;
    bus.limited = limited;
  }
  const Complex injected = bus.generation - bus.load;
  Complex next = (injected.conj() / v.conj() - others) / bus.diagonal;
  next = v + (next - v) * RELAXATION;
  if (bus.type == PV && !bus.limited) next = next * (bus.setpoint * rsqrt(next.norm2()));
  bus.v = next;
}

__global__ void busSummary(Bus* buses, const Admittance* __restrict__ entries, const int* __restrict__ rowStart, int n,
                           AreaTotals* areas) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Bus& bus = buses[i];
  const Complex current = bus.diagonal * bus.v + neighbourCurrent(buses, entries + rowStart[i], entries + rowStart[i + 1]);
  const Complex s = bus.v * current.conj();
  if (bus.type == SLACK) bus.generation = s + bus.load;
  const Complex miss = bus.generation - bus.load - s;
  const double magnitude = sqrt(bus.v.norm2());
  AreaTotals& area = areas[bus.area];
  atomicAdd((unsigned long long*)&area.generation, (unsigned long long)llrint(bus.generation.re * 1e5));
  atomicAdd((unsigned long long*)&area.load, (unsigned long long)llrint(bus.load.re * 1e5));
  atomicAdd((unsigned long long*)&area.mismatch, (unsigned long long)llrint(fabs(miss.re) * 1e5));
  if (magnitude < bus.vMin || magnitude > bus.vMax) atomicAdd(&area.voltageViolations, 1u);
  if (bus.limited) atomicAdd(&area.limited, 1);
}

__global__ void branchFlows(Branch* branches, int n, const Bus* __restrict__ buses, AreaTotals* areas) {
  const int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= n) return;
  Branch& br = branches[k];
  const Bus& from = buses[br.from];
  const Bus& to = buses[br.to];
  double s, c;
  sincos(br.shift, &s, &c);
  const Complex ratio{br.tap * c, br.tap * s};
  const Complex series = Complex{1, 0} / Complex{br.r, br.x};
  const Complex half{0, 0.5 * br.charging};
  const Complex inner = from.v / ratio;  // on the line's side of the ideal transformer
  const Complex iFrom = (inner - to.v) * series + inner * half;
  const Complex iTo = (to.v - inner) * series + to.v * half;
  br.sFrom = inner * iFrom.conj();
  br.sTo = to.v * iTo.conj();
  const double larger = sqrt(fmax(br.sFrom.norm2(), br.sTo.norm2()));
  br.loading = (float)(larger / br.rating);
  AreaTotals& area = areas[from.area];
  atomicAdd((unsigned long long*)&area.losses, (unsigned long long)llrint((br.sFrom.re + br.sTo.re) * 1e5));
  if (br.loading > 1.0f) atomicAdd(&area.overloads, 1u);
  atomicMax(&area.maxLoading, (int)(br.loading * 1000));
}

// ---- the case ----

template <class T>
T* managed(size_t count) {
  T* p = nullptr;
  OK(cudaMallocManaged(&p, count * sizeof(T)));
  return p;
}

struct Grid {
  int numBuses, numBranches, numColors;
  Bus* buses;
  Branch* branches;
  Admittance* entries;
  int* rowStart;
  int* order;  // buses by colour
  vector<int> colorStart;
  AreaTotals* areas;
};

static uint32_t seed = 1;
static double uniform() {
  seed = seed * 1103515245u + 12345u;
  uint32_t x = seed ^ seed >> 15;
  x *= 0x2c1b3c6du;
  x ^= x >> 13;
  return (x >> 8) * (1.0 / 16777216.0);
}

static void makeBuses(Grid& g, int side) {
  g.buses = managed<Bus>(g.numBuses);
  for (int i = 0; i < g.numBuses; ++i) {
    Bus& b = g.buses[i];
    b = Bus{};
    const double u = uniform();
    b.number = 1000 + 3 * i;
    b.type = i == g.numBuses / 2 + side / 2 ? SLACK : u < 0.14 ? PV : PQ;
    b.area = (short)((long long)i * AREAS / g.numBuses);
    b.vMin = 0.95f;
    b.vMax = 1.06f;
    b.setpoint = 1.0;
    if (b.type == PQ) {
      const double p = uniform() < 0.25 ? 0.0 : 0.002 + 0.05 * uniform() * uniform();
      b.load = Complex{p, p * (0.1 + 0.3 * uniform())};
    } else {
      b.setpoint = 1.0 + 0.04 * uniform();
      b.generation.re = 0.15 * uniform();
      b.qMin = -0.15;
      b.qMax = 0.05 + 0.35 * uniform();
    }
  }
}

static void makeBranches(Grid& g, int side) {
  vector<Branch> list;
  list.reserve((size_t)g.numBuses * 3 / 2 + 16);
  auto connect = [&](int a, int b, double length) {
    Branch br{};
    br.from = a;
    br.to = b;
    br.tap = 1.0;
    br.x = 0.02 * length * (0.6 + 0.8 * uniform());
    br.r = br.x * (0.1 + 0.2 * uniform());
    if (uniform() < 0.15) {  // a transformer
      br.tap = 0.97 + 0.0125 * (int)(5 * uniform());
      br.shift = uniform() < 0.05 ? 0.03 : 0.0;
    } else {
      br.charging = 0.01 * length;
    }
    br.rating = (float)(0.2 + 0.6 * uniform());
    list.push_back(br);
  };
  for (int i = 0; i < g.numBuses; ++i) {
    const int x = i % side, y = i / side;
    const bool left = x > 0 && uniform() < 0.8, up = y > 0 && uniform() < 0.5;
    if (left || (x > 0 && !up)) connect(i - 1, i, 1.0);
    if (up || (x == 0 && y > 0)) connect(i - side, i, 1.0);
    if (uniform() < 0.03) {  // a long tie
      const long long j = (long long)i + (long long)(20 * uniform()) * side + 2 + (int)(20 * uniform());
      if (j < g.numBuses) connect(i, (int)j, 4.0);
    }
  }
  g.numBranches = (int)list.size();
  g.branches = managed<Branch>(list.size());
  for (size_t k = 0; k < list.size(); ++k) g.branches[k] = list[k];
}

static void makeMatrix(Grid& g) {
  g.rowStart = managed<int>(g.numBuses + 1);
  for (int i = 0; i <= g.numBuses; ++i) g.rowStart[i] = 0;
  for (int k = 0; k < g.numBranches; ++k) {
    ++g.rowStart[g.branches[k].from + 1];
    ++g.rowStart[g.branches[k].to + 1];
  }
  for (int i = 0; i < g.numBuses; ++i) g.rowStart[i + 1] += g.rowStart[i];
  g.entries = managed<Admittance>(g.rowStart[g.numBuses]);
  vector<int> fill(g.rowStart, g.rowStart + g.numBuses);
  for (int k = 0; k < g.numBranches; ++k) {
    const Branch& br = g.branches[k];
    const Complex series = Complex{1, 0} / Complex{br.r, br.x}, half{0, 0.5 * br.charging};
    const Complex ratio{br.tap * std::cos(br.shift), br.tap * std::sin(br.shift)};
    Bus &from = g.buses[br.from], &to = g.buses[br.to];
    from.diagonal = from.diagonal + (series + half) * (1.0 / ratio.norm2());
    to.diagonal = to.diagonal + series + half;
    g.entries[fill[br.from]++] = Admittance{Complex{0, 0} - series / ratio.conj(), br.to, k};
    g.entries[fill[br.to]++] = Admittance{Complex{0, 0} - series / ratio, br.from, k};
  }
}

static void colourBuses(Grid& g) {
  vector<int> color(g.numBuses, -1), count;
  for (int i = 0; i < g.numBuses; ++i) {
    uint64_t taken = 0;
    for (int e = g.rowStart[i]; e < g.rowStart[i + 1]; ++e) {
      const int c = color[g.entries[e].column];
      if (c >= 0) taken |= 1ull << c;
    }
    int c = 0;
    while (taken >> c & 1) ++c;
    color[i] = c;
    if (c >= (int)count.size()) count.resize(c + 1, 0);
    ++count[c];
  }
  g.numColors = (int)count.size();
  g.colorStart.assign(g.numColors + 1, 0);
  for (int c = 0; c < g.numColors; ++c) g.colorStart[c + 1] = g.colorStart[c] + count[c];
  g.order = managed<int>(g.numBuses);
  vector<int> fill(g.colorStart.begin(), g.colorStart.end() - 1);
  for (int i = 0; i < g.numBuses; ++i) g.order[fill[color[i]]++] = i;
}

static void solve(const Grid& g) {
  const int block = 256;
  auto blocks = [](int count) { return (count + 255) / 256; };
  flatStart<<<blocks(g.numBuses > AREAS ? g.numBuses : AREAS), block>>>(g.buses, g.numBuses, g.areas);
  for (int sweep = 0; sweep < SWEEPS; ++sweep) {
    for (int c = 0; c < g.numColors; ++c) {
      const int count = g.colorStart[c + 1] - g.colorStart[c];
      gaussSeidel<<<blocks(count), block>>>(g.buses, g.entries, g.rowStart, g.order + g.colorStart[c], count);
    }
  }
  busSummary<<<blocks(g.numBuses), block>>>(g.buses, g.entries, g.rowStart, g.numBuses, g.areas);
  branchFlows<<<blocks(g.numBranches), block>>>(g.branches, g.numBranches, g.buses, g.areas);
  OK(cudaGetLastError());
}

int main(int argc, char** argv) {
  Grid g;
  g.numBuses = argc > 1 ? std::atoi(argv[1]) : 500000;
  const int side = (int)std::sqrt((double)g.numBuses) + 1;
  makeBuses(g, side);
  makeBranches(g, side);
  makeMatrix(g);
  colourBuses(g);
  g.areas = managed<AreaTotals>(AREAS);

  solve(g);
  OK(cudaDeviceSynchronize());
  const int steps = 30;
  cudaEvent_t t0, t1;
  OK(cudaEventCreate(&t0));
  OK(cudaEventCreate(&t1));
  OK(cudaEventRecord(t0));
  for (int i = 0; i < steps; ++i) solve(g);
  OK(cudaEventRecord(t1));
  OK(cudaDeviceSynchronize());
  float ms = 0;
  OK(cudaEventElapsedTime(&ms, t0, t1));

  unsigned long long check = 0;
  for (int i = 0; i < g.numBuses; ++i) {
    const Bus& b = g.buses[i];
    check = check * 31 + std::llrint(b.v.re * 1e6) + 3 * std::llrint(b.v.im * 1e6) + 5 * std::llrint(b.generation.im * 1e5) + b.limited;
  }
  for (int k = 0; k < g.numBranches; ++k)
    check = check * 31 + std::llrint(g.branches[k].sFrom.re * 1e5) + 3 * std::llrint(g.branches[k].sTo.im * 1e5);
  for (int a = 0; a < AREAS; ++a) {
    const AreaTotals& t = g.areas[a];
    check = check * 31 + t.generation + 3 * t.load + 5 * t.losses + 7 * t.mismatch + 11 * t.overloads +
            13 * t.voltageViolations + 17 * t.maxLoading + 19 * t.limited;
  }
  std::printf("check %llu\ntime_ms %.4f\n", check, ms / steps);

  for (void* p : {(void*)g.buses, (void*)g.branches, (void*)g.entries, (void*)g.rowStart, (void*)g.order, (void*)g.areas})
    OK(cudaFree(p));
  OK(cudaEventDestroy(t0));
  OK(cudaEventDestroy(t1));
  return 0;
}
