// power_flow.cu : coloured Gauss-Seidel and Jacobi load flow on a synthetic
// transmission/distribution grid, with a handful of N-k contingencies.
//
//   V_i <- ( conj(S_i / V_i) - sum_j Y_ij V_j ) / Y_ii
//
// PQ buses iterate freely, PV buses are pulled back to their voltage set point,
// slack buses are fixed.  The lines keep their own flow results.

#include <cstdint>
#include <cstdlib>
#include <cmath>
#include <cstring>
#include <iomanip>
#include <iostream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <vector>

#include <cuda_runtime.h>

struct CudaError : std::runtime_error { using std::runtime_error::runtime_error; };

inline void cuda_throw(cudaError_t rc, const char* where)
{
    if (rc == cudaSuccess) return;
    std::ostringstream os;
    os << where << ": " << cudaGetErrorString(rc) << " (" << int(rc) << ")";
    throw CudaError(os.str());
}

struct CudaDeleter { void operator()(void* p) const noexcept { cudaFree(p); } };
template <typename T> using device_ptr = std::unique_ptr<T[], CudaDeleter>;

template <typename T>
device_ptr<T> make_device(std::size_t n)
{
    void* p = nullptr;
    cuda_throw(cudaMalloc(&p, n * sizeof(T)), "cudaMalloc");
    return device_ptr<T>(static_cast<T*>(p));
}

template <typename T>
device_ptr<T> make_device(const std::vector<T>& src)
{
    auto p = make_device<T>(src.size());
    cuda_throw(cudaMemcpy(p.get(), src.data(), src.size() * sizeof(T), cudaMemcpyHostToDevice), "upload");
    return p;
}

template <typename T>
void fetch(std::vector<T>& dst, const device_ptr<T>& src)
{
    cuda_throw(cudaMemcpy(dst.data(), src.get(), dst.size() * sizeof(T), cudaMemcpyDeviceToHost), "download");
}

// --- complex arithmetic ------------------------------------------------------

struct cplx { double re, im; };

__host__ __device__ inline cplx operator+(cplx a, cplx b) { return {a.re + b.re, a.im + b.im}; }
__host__ __device__ inline cplx operator-(cplx a, cplx b) { return {a.re - b.re, a.im - b.im}; }
__host__ __device__ inline cplx operator*(cplx a, cplx b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
__host__ __device__ inline cplx operator*(cplx a, double s) { return {a.re * s, a.im * s}; }
__host__ __device__ inline cplx conj(cplx a) { return {a.re, -a.im}; }
__host__ __device__ inline double abs2(cplx a) { return a.re * a.re + a.im * a.im; }
__host__ __device__ inline cplx operator/(cplx a, cplx b) { return (a * conj(b)) * (1.0 / abs2(b)); }

// --- records -----------------------------------------------------------------

enum BusType : int { SLACK, PV, PQ };

struct Bus {
    cplx   v;            // voltage, per unit
    cplx   v_next;       // Jacobi iterate
    cplx   s;            // scheduled injection
    cplx   y_diag;
    cplx   y_shunt;
    double v_set;
    double mismatch;
    int    type;
    int    adj_begin;
    int    adj_end;
    short  area;
    short  colour;
};

struct Line {
    int     from, to;
    double  g, b;        // series admittance
    double  b_charging;
    double  p_flow;
    double  q_flow;
    float   rating;
    float   loading;
    uint8_t in_service;
    uint8_t overloaded;
    int16_t trips;
};

struct Neighbour { int bus, line; };

struct AreaReport {
    unsigned long long generation_kw;
    unsigned long long load_kw;
    unsigned int       low_voltage;
    unsigned int       buses;
};

struct Network {
    int side = 0, n_bus = 0, n_line = 0, n_colours = 0;
    std::vector<Bus> buses;
    std::vector<Line> lines;
    std::vector<Neighbour> adjacency;
    std::vector<int> colour_list, colour_start;
};

constexpr int    kAreas   = 24;
constexpr int    kThreads = 256;
constexpr double kAccel   = 1.15;

// --- kernels -----------------------------------------------------------------

__global__ void trip_lines(Line* lines, int n, unsigned contingency)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned h = (unsigned)i * 2654435761u + contingency * 40503u;
    h ^= h >> 13; h *= 0x5bd1e995u; h ^= h >> 15;
    const bool out = contingency != 0 && h % 5000u == 0;
    lines[i].in_service = !out;
    if (out) lines[i].trips++;
}

__global__ void assemble_diagonal(Bus* buses, int n, const Line* __restrict__ lines, const Neighbour* __restrict__ adj)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    cplx d = buses[i].y_shunt;
    for (int k = buses[i].adj_begin; k != buses[i].adj_end; ++k) {
        const Line& l = lines[adj[k].line];
        if (!l.in_service) continue;
        d.re += l.g;
        d.im += l.b + 0.5 * l.b_charging;
    }
    buses[i].y_diag = d;
}

__device__ cplx solve_bus(const Bus* buses, const Bus& me, const Line* __restrict__ lines, const Neighbour* __restrict__ adj)
{
    cplx sum{0.0, 0.0};
    for (int k = me.adj_begin; k < me.adj_end; ++k) {
        const Neighbour nb = adj[k];
        if (!lines[nb.line].in_service) continue;
        const cplx y{-lines[nb.line].g, -lines[nb.line].b};
        sum = sum + y * buses[nb.bus].v;
    }
    cplx s = me.s;
    if (me.type == PV) // hold P, derive Q from the present state
        s.im = -(conj(me.v) * (sum + me.y_diag * me.v)).im;
    cplx v = (conj(s / me.v) - sum) / me.y_diag;
    if (me.type == PV)
        v = v * (me.v_set / sqrt(abs2(v)));
    return v;
}

__global__ void gauss_seidel_colour(Bus* buses, const int* __restrict__ list, int count,
                                    const Line* __restrict__ lines, const Neighbour* __restrict__ adj)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= count) return;
    Bus& me = buses[list[t]];
    if (me.type == SLACK) return;
    const cplx v = solve_bus(buses, me, lines, adj);
    me.v = me.type == PQ ? me.v + (v - me.v) * kAccel : v;
}

__global__ void jacobi_sweep(Bus* buses, int n, const Line* __restrict__ lines, const Neighbour* __restrict__ adj)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        buses[i].v_next = buses[i].type == SLACK ? buses[i].v : solve_bus(buses, buses[i], lines, adj);
}

__global__ void jacobi_commit(Bus* buses, int n, unsigned long long* max_step)
{
    __shared__ double red[kThreads];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    double step = 0.0;
    if (i < n) {
        step              = sqrt(abs2(buses[i].v_next - buses[i].v));
        buses[i].mismatch = step;
        buses[i].v        = buses[i].v_next;
    }
    red[threadIdx.x] = step;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) red[threadIdx.x] = fmax(red[threadIdx.x], red[threadIdx.x + s]);
        __syncthreads();
    }
    if (threadIdx.x == 0) // non-negative doubles compare like integers
        atomicMax(max_step, (unsigned long long)__double_as_longlong(red[0]));
}

__global__ void line_flows(Line* lines, int n, const Bus* __restrict__ buses)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        Line l = lines[i];
        if (!l.in_service) {
            lines[i].p_flow = lines[i].q_flow = 0.0;
            lines[i].loading = 0.0f;
            continue;
        }
        const cplx vf = buses[l.from].v, vt = buses[l.to].v;
        const cplx y{l.g, l.b}, sh{0.0, 0.5 * l.b_charging};
        const cplx s = vf * conj((vf - vt) * y + vf * sh);
        l.p_flow     = s.re;
        l.q_flow     = s.im;
        l.loading    = float(sqrt(abs2(s)) / l.rating);
        l.overloaded = l.loading > 1.0f;
        lines[i]     = l;
    }
}

__global__ void area_report(const Bus* __restrict__ buses, int n, AreaReport* areas)
{
    __shared__ AreaReport local[kAreas];
    if (threadIdx.x < kAreas) local[threadIdx.x] = AreaReport{0, 0, 0, 0};
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        AreaReport& a = local[buses[i].area];
        const double p = buses[i].s.re;
        if (p >= 0) atomicAdd(&a.generation_kw, (unsigned long long)llrint(p * 1e5));
        else        atomicAdd(&a.load_kw, (unsigned long long)llrint(-p * 1e5));
        if (abs2(buses[i].v) < 0.97 * 0.97) atomicAdd(&a.low_voltage, 1u);
        atomicAdd(&a.buses, 1u);
    }
    __syncthreads();
    if (threadIdx.x < kAreas) {
        atomicAdd(&areas[threadIdx.x].generation_kw, local[threadIdx.x].generation_kw);
        atomicAdd(&areas[threadIdx.x].load_kw, local[threadIdx.x].load_kw);
        atomicAdd(&areas[threadIdx.x].low_voltage, local[threadIdx.x].low_voltage);
        atomicAdd(&areas[threadIdx.x].buses, local[threadIdx.x].buses);
    }
}

// --- synthetic network -------------------------------------------------------

class SplitMix {
    uint64_t s_;
public:
    explicit SplitMix(uint64_t seed) : s_(seed) {}
    uint64_t next()
    {
        uint64_t z = (s_ += 0x9e3779b97f4a7c15ull);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
        return z ^ (z >> 31);
    }
    double real(double a, double b) { return a + (b - a) * (next() >> 11) * 0x1.0p-53; }
};

static Network make_network(int side)
{
    Network net;
    SplitMix rng(77);
    net.side  = side;
    net.n_bus = side * side;
    net.buses.resize(net.n_bus);

    auto add_line = [&](int a, int b) {
        Line l{};
        const double r = rng.real(0.002, 0.01), x = rng.real(0.02, 0.06), d = r * r + x * x;
        l.from = a;
        l.to   = b;
        l.g    = r / d;
        l.b    = -x / d;
        l.b_charging = rng.real(0.0, 0.02);
        l.rating     = float(rng.real(0.05, 0.6));
        l.in_service = 1;
        net.lines.push_back(l);
    };
    for (int y = 0; y < side; ++y)
        for (int x = 0; x < side; ++x) {
            const int i = y * side + x;
            Bus& b = net.buses[i];
            std::memset(&b, 0, sizeof b);
            b.v       = {1.0, 0.0};
            b.v_set   = rng.real(1.0, 1.03);
            b.type    = (x % 61 == 30 && y % 61 == 30) ? SLACK : (i * 31) % 23 == 0 ? PV : PQ;
            b.s       = b.type == PV ? cplx{rng.real(0.0, 0.4), 0.0} : cplx{-rng.real(0.0, 0.03), -rng.real(0.0, 0.012)};
            b.y_shunt = {0.0, rng.real(0.0, 0.02)};
            b.area    = short((y * 6 / side) * 4 + x * 4 / side);
            if (x + 1 < side && rng.next() % 20 != 0) add_line(i, i + 1);
            if (y + 1 < side) add_line(i, i + side);
            if (rng.next() % 12 == 0) {   // tie line somewhere near by
                const int xx = int(rng.next() % 40) + x - 20, yy = int(rng.next() % 40) + y - 20;
                if (xx >= 0 && yy >= 0 && xx < side && yy < side && yy * side + xx != i) add_line(i, yy * side + xx);
            }
        }
    net.n_line = int(net.lines.size());

    std::vector<int> degree(net.n_bus, 0);
    for (const Line& l : net.lines) { degree[l.from]++; degree[l.to]++; }
    int pos = 0;
    for (int i = 0; i < net.n_bus; ++i) {
        net.buses[i].adj_begin = net.buses[i].adj_end = pos;
        pos += degree[i];
    }
    net.adjacency.resize(pos);
    for (int k = 0; k < net.n_line; ++k) {
        const Line& l = net.lines[k];
        net.adjacency[net.buses[l.from].adj_end++] = {l.to, k};
        net.adjacency[net.buses[l.to].adj_end++]   = {l.from, k};
    }

    // greedy colouring
    for (auto& b : net.buses) b.colour = -1;
    for (auto& b : net.buses) {
        unsigned used = 0;
        for (int k = b.adj_begin; k < b.adj_end; ++k) {
            const int c = net.buses[net.adjacency[k].bus].colour;
            if (c >= 0) used |= 1u << c;
        }
        int c = 0;
        while (used >> c & 1u) ++c;
        b.colour = short(c);
        if (c + 1 > net.n_colours) net.n_colours = c + 1;
    }
    for (int c = 0; c < net.n_colours; ++c) {
        net.colour_start.push_back(int(net.colour_list.size()));
        for (int i = 0; i < net.n_bus; ++i)
            if (net.buses[i].colour == c) net.colour_list.push_back(i);
    }
    net.colour_start.push_back(net.n_bus);
    return net;
}

static int blocks(int n) { return (n + kThreads - 1) / kThreads; }

int main(int argc, char** argv)
try {
    const int side   = argc > 1 ? std::atoi(argv[1]) : 720;
    const int sweeps = argc > 2 ? std::atoi(argv[2]) : 40;
    const int cases  = 4;

    Network net = make_network(side);
    auto buses  = make_device(net.buses);
    auto lines  = make_device(net.lines);
    auto adj    = make_device(net.adjacency);
    auto list   = make_device(net.colour_list);
    auto areas  = make_device<AreaReport>(kAreas);
    auto step   = make_device<unsigned long long>(cases);

    auto run_case = [&](unsigned c, int n_sweeps) {
        trip_lines<<<blocks(net.n_line), kThreads>>>(lines.get(), net.n_line, c);
        assemble_diagonal<<<blocks(net.n_bus), kThreads>>>(buses.get(), net.n_bus, lines.get(), adj.get());
        for (int s = 0; s < n_sweeps; ++s)
            for (int k = 0; k < net.n_colours; ++k) {
                const int first = net.colour_start[k], count = net.colour_start[k + 1] - first;
                gauss_seidel_colour<<<blocks(count), kThreads>>>(buses.get(), list.get() + first, count, lines.get(), adj.get());
            }
        for (int s = 0; s < n_sweeps / 4; ++s) {
            jacobi_sweep<<<blocks(net.n_bus), kThreads>>>(buses.get(), net.n_bus, lines.get(), adj.get());
            cuda_throw(cudaMemsetAsync(step.get() + c, 0, sizeof(unsigned long long)), "memset");
            jacobi_commit<<<blocks(net.n_bus), kThreads>>>(buses.get(), net.n_bus, step.get() + c);
        }
        line_flows<<<1024, kThreads>>>(lines.get(), net.n_line, buses.get());
        cuda_throw(cudaMemsetAsync(areas.get(), 0, kAreas * sizeof(AreaReport)), "memset");
        area_report<<<256, kThreads>>>(buses.get(), net.n_bus, areas.get());
        cuda_throw(cudaGetLastError(), "kernel launch");
    };

    run_case(0, 4);
    cuda_throw(cudaMemcpy(buses.get(), net.buses.data(), net.n_bus * sizeof(Bus), cudaMemcpyHostToDevice), "reset buses");
    cuda_throw(cudaMemcpy(lines.get(), net.lines.data(), net.n_line * sizeof(Line), cudaMemcpyHostToDevice), "reset lines");

    cudaEvent_t t0, t1;
    cuda_throw(cudaEventCreate(&t0), "event");
    cuda_throw(cudaEventCreate(&t1), "event");
    cuda_throw(cudaEventRecord(t0), "record");
    for (unsigned c = 0; c < unsigned(cases); ++c) run_case(c, sweeps);
    cuda_throw(cudaEventRecord(t1), "record");
    cuda_throw(cudaEventSynchronize(t1), "sync");
    float ms = 0;
    cuda_throw(cudaEventElapsedTime(&ms, t0, t1), "elapsed");
    cudaEventDestroy(t0);
    cudaEventDestroy(t1);

    std::vector<AreaReport> report(kAreas);
    std::vector<unsigned long long> bits(cases);
    fetch(net.buses, buses);
    fetch(net.lines, lines);
    fetch(report, areas);
    fetch(bits, step);

    long long vsum = 0, angle = 0, pflow = 0, qflow = 0, over = 0, trips = 0, mism = 0;
    for (const Bus& b : net.buses) {
        vsum  += std::llround(std::sqrt(abs2(b.v)) * 1e6);
        angle += std::llround(std::atan2(b.v.im, b.v.re) * 1e6);
        mism  += std::llround(b.mismatch * 1e8);
    }
    for (const Line& l : net.lines) {
        pflow += std::llround(std::fabs(l.p_flow) * 1e5);
        qflow += std::llround(l.q_flow * 1e5);
        over  += l.overloaded;
        trips += l.trips;
    }
    unsigned long long gen = 0, load = 0, low = 0;
    for (const AreaReport& a : report) { gen += a.generation_kw; load += a.load_kw; low += a.low_voltage; }

    std::cout << "buses " << net.n_bus << " lines " << net.n_line << " colours " << net.n_colours << '\n'
              << "check voltage " << vsum << '\n'
              << "check angle " << angle << '\n'
              << "check mismatch " << mism << '\n'
              << "check p_flow " << pflow << '\n'
              << "check q_flow " << qflow << '\n'
              << "check overloaded " << over << '\n'
              << "check trips " << trips << '\n'
              << "check generation_load " << gen << '/' << load << '\n'
              << "check low_voltage " << low << '\n';
    for (int c = 0; c < cases; ++c) {
        double d;
        std::memcpy(&d, &bits[c], sizeof d);
        std::cout << "check last_step_case" << c << ' ' << std::llround(d * 1e9) << '\n';
    }
    std::cout << "time_ms " << std::fixed << std::setprecision(3) << ms << std::endl;
    return 0;
} catch (const std::exception& e) {
    std::cerr << "power_flow: " << e.what() << '\n';
    return 1;
}
