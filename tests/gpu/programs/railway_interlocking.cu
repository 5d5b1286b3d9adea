// Delays spreading over track sections of a railway; sections and their links
// form a sparse graph (CSR), with a few big junctions.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(x)                                                              \
    do {                                                                      \
        cudaError_t err = (x);                                                \
        if (err != cudaSuccess) {                                             \
            fprintf(stderr, "CUDA error %s at line %d\n",                     \
                    cudaGetErrorString(err), __LINE__);                       \
            exit(1);                                                          \
        }                                                                     \
    } while (0)

struct Section {
    double metres;
    float limit;
    float delay;
    int station;
    int trains;
    short signal;
    signed char aspect;
    signed char fault;
    float wear;
    float reserve;
};

struct Link {
    int to;
    float minutes;
    short points;
    short kind;
};

constexpr int SECTIONS = 400000;
constexpr int HUB_DEGREE = 24;
constexpr int ROUNDS = 30;

static unsigned long long seed = 88172645463325252ull;
static unsigned next_u()
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(seed >> 33);   // 31 bits
}
static float next_f() { return next_u() * (1.0f / 2147483648.0f); }

// each section pulls the worst delay of the sections it is linked to
__global__ void spread_delay(const Section* sections, const Link* links,
                             const int* first, float* fresh, int n)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= n) return;
    float own = sections[s].delay;
    float worst = 0.0f;
    int end = first[s + 1];
    for (int e = first[s]; e < end; ++e) {
        Link l = links[e];
        if (l.kind == 3) continue;                 // siding: never used
        const Section& t = sections[l.to];
        if (t.aspect == 0) continue;               // red: no train comes from there
        float d = t.delay - l.minutes;
        if (l.points & 1) d *= 0.75f;
        worst = fmaxf(worst, d);
    }
    fresh[s] = 0.9f * own + 0.1f * fmaxf(worst, 0.0f) + 0.002f;
}

__global__ void set_signals(Section* sections, const float* fresh, int n)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= n) return;
    float d = fresh[s];
    sections[s].delay = d;
    signed char a = 2;
    if (sections[s].fault) a = 0;
    else if (d > 6.0f) a = 1;
    if (a != sections[s].aspect) {
        sections[s].aspect = a;
        sections[s].signal = (short)(sections[s].signal + 1);
    }
}

// one warp per junction: its links are read side by side
__global__ void junction_load(const Section* sections, const Link* links,
                              const int* first, const int* hubs, int nhubs,
                              float* load)
{
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    int lane = threadIdx.x & 31;
    if (warp >= nhubs) return;
    int s = hubs[warp];
    float sum = 0.0f;
    for (int e = first[s] + lane; e < first[s + 1]; e += 32) {
        int t = links[e].to;
        sum += (float)sections[t].trains * links[e].minutes + sections[t].reserve;
    }
    for (int o = 16; o > 0; o >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, o);
    if (lane == 0) load[warp] += sum * (float)(1.0 / sections[s].metres);
}

struct Net {
    Section* sections;
    Link* links;
    int* first;
    int* hubs;
    int nhubs;
    float* fresh;
    float* load;
};

static void minute(const Net& g, int round)
{
    const int T = 256, B = (SECTIONS + T - 1) / T;
    for (int k = 0; k < 3; ++k) {
        spread_delay<<<B, T>>>(g.sections, g.links, g.first, g.fresh, SECTIONS);
        set_signals<<<B, T>>>(g.sections, g.fresh, SECTIONS);
    }
    if (round % 5 == 0)
        junction_load<<<(g.nhubs * 32 + T - 1) / T, T>>>(g.sections, g.links, g.first,
                                                        g.hubs, g.nhubs, g.load);
}

int main()
{
    std::vector<Section> sec(SECTIONS);
    std::vector<int> first(SECTIONS + 1);
    std::vector<int> hubs;
    first[0] = 0;
    for (int i = 0; i < SECTIONS; ++i) {
        Section& s = sec[i];
        s.metres = 200.0 + 1800.0 * next_f();
        s.limit = 60.0f + 100.0f * next_f();
        s.delay = (i % 97 == 0) ? 20.0f * next_f() : 0.5f * next_f();
        s.station = i / 40;
        s.trains = (int)(next_u() % 4);
        s.signal = 0;
        s.aspect = 2;
        s.fault = (next_u() % 50 == 0);
        s.wear = next_f();
        s.reserve = 0.1f * next_f();
        int deg = 1 + (int)(3.0f / sqrtf(next_f() + 1e-4f));
        if (deg > 200) deg = 200;
        first[i + 1] = first[i] + deg;
        if (deg >= HUB_DEGREE) hubs.push_back(i);
    }
    int m = first[SECTIONS];
    std::vector<Link> links(m);
    for (int i = 0; i < SECTIONS; ++i)
        for (int e = first[i]; e < first[i + 1]; ++e) {
            int to;
            if (next_u() % 10 < 7) {
                to = i + (int)(next_u() % 801) - 400;
            } else {
                float u = next_f();
                to = (int)(u * u * u * (SECTIONS - 1));
            }
            if (to < 0) to += SECTIONS;
            if (to >= SECTIONS) to -= SECTIONS;
            links[e].to = to;
            links[e].minutes = 0.2f + 1.5f * next_f();
            links[e].points = (short)(next_u() % 16);
            links[e].kind = (short)(next_u() % 8);
        }

    Net g;
    g.nhubs = (int)hubs.size();
    CHECK(cudaMalloc(&g.sections, sizeof(Section) * SECTIONS));
    CHECK(cudaMalloc(&g.links, sizeof(Link) * m));
    CHECK(cudaMalloc(&g.first, sizeof(int) * (SECTIONS + 1)));
    CHECK(cudaMalloc(&g.hubs, sizeof(int) * g.nhubs));
    CHECK(cudaMalloc(&g.fresh, sizeof(float) * SECTIONS));
    CHECK(cudaMalloc(&g.load, sizeof(float) * g.nhubs));
    CHECK(cudaMemcpy(g.sections, sec.data(), sizeof(Section) * SECTIONS, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(g.links, links.data(), sizeof(Link) * m, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(g.first, first.data(), sizeof(int) * (SECTIONS + 1), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(g.hubs, hubs.data(), sizeof(int) * g.nhubs, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(g.load, 0, sizeof(float) * g.nhubs));

    for (int r = 0; r < 2; ++r) minute(g, r);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());

    cudaEvent_t a, b;
    CHECK(cudaEventCreate(&a));
    CHECK(cudaEventCreate(&b));
    CHECK(cudaEventRecord(a));
    for (int r = 0; r < ROUNDS; ++r) minute(g, r);
    CHECK(cudaEventRecord(b));
    CHECK(cudaEventSynchronize(b));
    CHECK(cudaGetLastError());
    float ms;
    CHECK(cudaEventElapsedTime(&ms, a, b));

    std::vector<float> load(g.nhubs);
    CHECK(cudaMemcpy(sec.data(), g.sections, sizeof(Section) * SECTIONS, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(load.data(), g.load, sizeof(float) * g.nhubs, cudaMemcpyDeviceToHost));
    double delay = 0, total = 0, length = 0;
    long long changes = 0, red = 0;
    for (const Section& s : sec) {
        delay += s.delay;
        length += s.metres;
        changes += s.signal;
        red += (s.aspect == 0);
    }
    for (float l : load) total += l;
    printf("check delay %.8g\n", delay);
    printf("check length %.8g\n", length);
    printf("check changes %lld\n", changes);
    printf("check red %lld\n", red);
    printf("check load %.8g\n", total);
    printf("time_ms %.4f\n", ms);
    return 0;
}
