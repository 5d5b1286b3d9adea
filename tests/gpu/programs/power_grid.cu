// Power flow on a large transmission network.
//
// Complex bus voltages are found by Jacobi sweeps over the nodal equations;
// after each sweep the flows of the lines are renewed and overloaded lines are
// switched to a higher reactance.  All device pointers travel in one struct.

#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>

struct Bus {
    float2 v;            // present voltage
    float2 vNew;
    float2 load;         // complex power drawn
    float generation;
    float shunt;
    int first;           // first incident line
    int degree;
    short type;          // 0 load, 1 generator, 2 slack
    short area;
    float mismatch;
};

struct Line {
    int from, to;
    float2 y;            // admittance
    float rating;
    float flow;
    short status;        // 0 out of service, 1 normal, 2 limited
    short tripped;
};

struct AreaSum {
    long long load;      // fixed point sums
    long long mismatch;
    int buses;
    int limited;
};

class PowerGrid {
public:
    Bus* bus;
    Line* line;
    AreaSum* area;
    unsigned* worst;
    int nBus, nLine, nArea;

    void create(const std::vector<Bus>& b, const std::vector<Line>& l, int areas);
    void destroy();
    void sweep();
};

#define GPU(stmt)                                                            \
    if (cudaError_t e_ = (stmt)) {                                           \
        std::printf("%s -> %s\n", #stmt, cudaGetErrorString(e_));            \
        std::exit(1);                                                        \
    }

__device__ inline float2 mulc(float2 a, float2 b)
{
    return {fmaf(a.x, b.x, -__fmul_rn(a.y, b.y)), fmaf(a.x, b.y, __fmul_rn(a.y, b.x))};
}

__global__ void jacobi(PowerGrid g)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= g.nBus) return;
    Bus& b = g.bus[i];
    if (b.type == 2) {                       // slack bus: voltage is given
        b.vNew = b.v;
        b.mismatch = 0.0f;
        return;
    }

    // sum of y_ij v_j and of y_ij
    float2 flow = {0.0f, 0.0f}, diag = {b.shunt, 0.0f};
    const int end = b.first + b.degree;
    for (int k = b.first; k < end; ++k) {
        const Line& l = g.line[k];
        if (l.status == 0) continue;
        const float2 y = l.y;
        const float2 t = mulc(y, g.bus[l.to].v);
        flow.x += t.x;
        flow.y += t.y;
        diag.x += y.x;
        diag.y += y.y;
    }

    // injected current  conj(S / v)
    const float2 v = b.v;
    const float inv = 1.0f / fmaf(v.x, v.x, __fmul_rn(v.y, v.y));
    const float2 s = {b.generation - b.load.x, -b.load.y};
    float2 cur = mulc(float2{s.x, -s.y}, v);
    flow.x = fmaf(cur.x, inv, flow.x);
    flow.y = fmaf(cur.y, inv, flow.y);

    const float d = 1.0f / fmaf(diag.x, diag.x, __fmul_rn(diag.y, diag.y));
    const float2 w = mulc(flow, float2{diag.x, -diag.y});
    const float2 vn = {w.x * d, w.y * d};
    b.vNew = vn;
    b.mismatch = fabsf(vn.x - v.x) + fabsf(vn.y - v.y);
}

__global__ void commit(PowerGrid g)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float m = 0.0f;
    if (i < g.nBus) {
        Bus& b = g.bus[i];
        b.v.x += 0.5f * (b.vNew.x - b.v.x);
        b.v.y += 0.5f * (b.vNew.y - b.v.y);
        if (b.type == 1) b.generation += (b.load.x - b.generation) * 0.03125f;
        m = b.mismatch;
    }
    for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, o));
    if ((threadIdx.x & 31) == 0) atomicMax(g.worst, __float_as_uint(m));
}

__global__ void lineFlows(PowerGrid g)
{
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < g.nLine; k += gridDim.x * blockDim.x) {
        Line& l = g.line[k];
        if (l.status == 0) continue;
        const float2 a = g.bus[l.from].v, b = g.bus[l.to].v;
        const float2 c = mulc(l.y, float2{a.x - b.x, a.y - b.y});
        const float f = sqrtf(fmaf(c.x, c.x, __fmul_rn(c.y, c.y)));
        l.flow = f;
        if (f > l.rating && l.status == 1) {
            l.status = 2;
            l.y.x *= 0.5f;
            l.y.y *= 0.5f;
            ++l.tripped;
        }
    }
}

// one block per area would be unbalanced: area sizes differ a lot
__global__ void areaSums(PowerGrid g)
{
    extern __shared__ int counts[];
    for (int a = threadIdx.x; a < g.nArea; a += blockDim.x) counts[a] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < g.nBus; i += gridDim.x * blockDim.x)
        atomicAdd(&counts[g.bus[i].area], (int)rintf(g.bus[i].load.x * 64.0f));
    __syncthreads();
    for (int a = threadIdx.x; a < g.nArea; a += blockDim.x)
        if (counts[a])
            atomicAdd((unsigned long long*)&g.area[a].load, (unsigned long long)(long long)counts[a]);
}

__global__ void countLimited(PowerGrid g)
{
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < g.nLine && g.line[k].status == 2)
        atomicAdd(&g.area[g.bus[g.line[k].from].area].limited, 1);
}

void PowerGrid::create(const std::vector<Bus>& b, const std::vector<Line>& l, int areas)
{
    nBus = (int)b.size();
    nLine = (int)l.size();
    nArea = areas;
    GPU(cudaMalloc(&bus, nBus * sizeof(*bus)));
    GPU(cudaMalloc(&line, nLine * sizeof(*line)));
    GPU(cudaMalloc(&area, nArea * sizeof(*area)));
    GPU(cudaMalloc(&worst, sizeof(*worst)));
    GPU(cudaMemcpy(bus, b.data(), nBus * sizeof(*bus), cudaMemcpyHostToDevice));
    GPU(cudaMemcpy(line, l.data(), nLine * sizeof(*line), cudaMemcpyHostToDevice));
    GPU(cudaMemset(area, 0, nArea * sizeof(*area)));
    GPU(cudaMemset(worst, 0, sizeof(*worst)));
}

void PowerGrid::destroy()
{
    cudaFree(bus);
    cudaFree(line);
    cudaFree(area);
    cudaFree(worst);
}

void PowerGrid::sweep()
{
    const int t = 256;
    const PowerGrid& g = *this;
    jacobi<<<(nBus + t - 1) / t, t>>>(g);
    commit<<<(nBus + t - 1) / t, t>>>(g);
    lineFlows<<<132 * 8, t>>>(g);
    areaSums<<<132 * 2, t, nArea * sizeof(int)>>>(g);
    countLimited<<<(nLine + t - 1) / t, t>>>(g);
}

static unsigned hash2(unsigned a, unsigned b)
{
    unsigned h = a * 0x9e3779b1u ^ (b + 0x7f4a7c15u) * 0x85ebca6bu;
    h ^= h >> 15;
    h *= 0xc2b2ae35u;
    return h ^ (h >> 13);
}

int main(int argc, char** argv)
{
    const int nBus = argc > 1 ? std::atoi(argv[1]) : 1800000;
    const int nArea = 48;
    std::vector<Bus> bus(nBus);
    std::vector<Line> line;
    line.reserve(nBus * 4);
    for (int i = 0; i < nBus; ++i) {
        const unsigned h = hash2(i, 1);
        Bus& b = bus[i];
        b.v = b.vNew = make_float2(1.0f, 0.0f);
        b.load = make_float2((h & 255) / 2048.0f, (h >> 8 & 255) / 8192.0f);
        b.type = h % 5000 == 0 ? 2 : h % 7 == 0 ? 1 : 0;
        b.generation = b.type == 1 ? 0.25f : 0.0f;
        b.shunt = 0.05f;
        const double u = i / (double)nBus;
        b.area = (short)(nArea * u * u);
        b.mismatch = 0.0f;
        b.first = (int)line.size();
        b.degree = 2 + (h >> 20) % 3 + ((h >> 24) % 40 == 0 ? 20 : 0);       // substations
        for (int k = 0; k < b.degree; ++k) {
            const unsigned q = hash2(i, k + 2);
            Line l;
            l.from = i;
            if (q % 8 == 0)                                                   // long distance line
                l.to = (int)(hash2(q, i) % nBus);
            else
                l.to = (int)(((long long)i + q % 600 - 300 + nBus * 2LL) % nBus);
            const float len = 1.0f + (q >> 10) % 64 / 16.0f;
            l.y = make_float2(1.0f / len, -3.0f / len);
            l.rating = 0.08f + (q >> 16 & 63) / 128.0f;
            l.flow = 0.0f;
            l.status = q % 53 == 0 ? 0 : 1;
            l.tripped = 0;
            line.push_back(l);
        }
    }

    PowerGrid grid;
    grid.create(bus, line, nArea);

    const int sweeps = 20;
    cudaEvent_t a, b;
    GPU(cudaEventCreate(&a));
    GPU(cudaEventCreate(&b));
    grid.sweep();
    GPU(cudaEventRecord(a));
    for (int s = 0; s < sweeps; ++s) grid.sweep();
    GPU(cudaEventRecord(b));
    GPU(cudaEventSynchronize(b));
    float ms;
    GPU(cudaEventElapsedTime(&ms, a, b));

    std::vector<AreaSum> sums(nArea);
    GPU(cudaMemcpy(bus.data(), grid.bus, bus.size() * sizeof(Bus), cudaMemcpyDeviceToHost));
    GPU(cudaMemcpy(line.data(), grid.line, line.size() * sizeof(Line), cudaMemcpyDeviceToHost));
    GPU(cudaMemcpy(sums.data(), grid.area, nArea * sizeof(AreaSum), cudaMemcpyDeviceToHost));
    grid.destroy();

    double volts = 0.0, flow = 0.0;
    for (const Bus& x : bus) volts += std::sqrt((double)x.v.x * x.v.x + (double)x.v.y * x.v.y);
    for (const Line& l : line) flow += l.flow;
    long long load = 0;
    for (const AreaSum& s : sums) load += s.load;
    std::printf("check %.4e/%.3e/%lld\n", volts, flow, load);
    std::printf("time_ms %.4f\n", ms / sweeps);
    return 0;
}
