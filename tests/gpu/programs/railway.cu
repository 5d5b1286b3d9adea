// Microscopic railway operation: block occupancy, signal aspects, train dynamics over
// a branching track network, and track wear bookkeeping.
#include <cuda_runtime.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>

static inline void cudaOk(cudaError_t e, const char *where)
{
    if (e == cudaSuccess) return;
    std::fprintf(stderr, "[railway] %s failed: %s\n", where, cudaGetErrorString(e));
    std::abort();
}

enum TrainState : short { RUNNING, BRAKING, STOPPED, DWELLING };
enum Aspect : int { RED = 0, YELLOW = 1, GREEN = 2 };

struct Train {
    int segment;
    int previous;
    float offset;
    float speed;
    float accel_max;
    float brake_max;
    float speed_max;
    float mass_t;
    float dwell_left;
    int delay_s;
    double energy_kj;
    double distance_m;
    unsigned route_bits;
    short state;
    short kind;
    int stops_made;
    float comfort;
};

struct Segment {
    int next_main;
    int next_branch;
    int signal;
    float length;
    float grade;
    float speed_limit;
    float curvature;
    int occupied;
    int lead_train;
    unsigned tonnage;
    float wear;
    char platform;
    char electrified;
    short line;
};

struct Signal {
    int guarded;
    int lookahead;
    int aspect;
    int changes;
    short hold;
    short kind;
};

struct LineStats {
    unsigned long long tonnage;
    unsigned moving;
    unsigned waiting;
    int capacity;
    float dispatch_bias;
};

__host__ __device__ inline unsigned scramble(unsigned a)
{
    a = (a + 0x7ed55d16u) + (a << 12);
    a = (a ^ 0xc761c23cu) ^ (a >> 19);
    a = (a + 0x165667b1u) + (a << 5);
    a = (a + 0xd3a2646cu) ^ (a << 9);
    a = (a + 0xfd7046c5u) + (a << 3);
    a = (a ^ 0xb55a4f09u) ^ (a >> 16);
    return a;
}

__global__ void releaseBlocks(Segment *seg, int nseg)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < nseg; i += blockDim.x * gridDim.x) {
        seg[i].occupied = 0;
        seg[i].lead_train = -1;
    }
}

__global__ void occupyBlocks(const Train *trains, int ntrains, Segment *seg)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= ntrains) return;
    int s = trains[t].segment;
    atomicAdd(&seg[s].occupied, 1);
    atomicMax(&seg[s].lead_train, t);
}

__global__ void setSignals(Signal *sig, int nsig, const Segment *seg)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= nsig) return;
    Signal s = sig[i];
    int aspect = GREEN;
    if (seg[s.guarded].occupied > 2) {
        aspect = RED;
    } else {
        int at = s.guarded;
        for (int k = 0; k < s.lookahead; ++k) {
            at = seg[at].next_main;
            if (seg[at].occupied > 1) {
                aspect = YELLOW;
                break;
            }
        }
    }
    if (s.hold > 0) {
        s.hold--;
        if (aspect == GREEN) aspect = YELLOW;
    }
    if (aspect != s.aspect) {
        s.changes++;
        if (aspect == RED) s.hold = (short)(2 + s.kind);
        s.aspect = aspect;
    }
    sig[i] = s;
}

__global__ void moveTrains(Train *trains, int ntrains, Segment *seg, const Signal *sig, float dt, int tick)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= ntrains) return;
    Train &tr = trains[id];

    if (tr.state == DWELLING) {
        tr.dwell_left -= dt;
        if (tr.dwell_left <= 0.0f) tr.state = RUNNING;
        return;
    }

    const Segment *here = &seg[tr.segment];
    const float length = here->length;
    float limit = fminf(tr.speed_max, here->speed_limit);
    float to_end = length - tr.offset;
    int aspect = here->signal >= 0 ? sig[here->signal].aspect : (int)GREEN;
    if (aspect == YELLOW) limit *= 0.6f;
    if (aspect == RED && here->lead_train != id) limit = fminf(limit, sqrtf(fmaxf(0.0f, 2.0f * tr.brake_max * (to_end - 20.0f))));

    float v = tr.speed;
    float resist = 0.015f + 0.00012f * v * v / fmaxf(tr.mass_t, 1.0f) * 100.0f + 9.81f * here->grade + 0.05f * here->curvature;
    float a;
    if (v > limit) {
        a = -fminf(tr.brake_max, (v - limit) / dt);
        tr.state = BRAKING;
    } else {
        a = fminf(tr.accel_max, (limit - v) / dt);
        tr.state = RUNNING;
        if (here->electrified) tr.energy_kj += (double)(tr.mass_t * (a + resist) * v * dt);
    }
    float vn = fmaxf(0.0f, v + (a - resist * 0.2f) * dt);
    float dx = 0.5f * (v + vn) * dt;
    float offset = tr.offset + dx;
    if (vn < 0.05f && limit < 0.5f) {
        tr.state = STOPPED;
        tr.delay_s += (int)dt;
    }

    if (offset >= length) {
        unsigned pick = scramble(tr.route_bits + (unsigned)tick) & 7u;
        int nxt = pick == 0 ? here->next_branch : here->next_main;
        tr.previous = tr.segment;
        tr.segment = nxt;
        offset = fminf(offset - length, 0.5f * seg[nxt].length);
        tr.route_bits = tr.route_bits * 1664525u + 1013904223u;
        atomicAdd(&seg[tr.previous].tonnage, (unsigned)tr.mass_t);
        if (seg[nxt].platform && (tr.kind != 2)) {
            tr.state = DWELLING;
            tr.dwell_left = 20.0f + (float)(pick * 5u);
            tr.stops_made++;
            vn = 0.0f;
        }
    }
    tr.comfort = 0.99f * tr.comfort + 0.01f * fabsf(a);
    tr.offset = offset;
    tr.speed = vn;
    tr.distance_m += dx;
}

template <int BLOCK>
__global__ void wearAndStats(Segment *seg, int nseg, const Train *trains, int ntrains, LineStats *lines, int nlines)
{
    extern __shared__ unsigned bins[];
    for (int k = threadIdx.x; k < 2 * nlines; k += BLOCK) bins[k] = 0;
    __syncthreads();
    const int start = blockIdx.x * BLOCK + threadIdx.x, stride = gridDim.x * BLOCK;
    for (int i = start; i < nseg; i += stride) {
        if (seg[i].occupied == 0) continue;
        float load = 1e-6f * (float)seg[i].tonnage;
        seg[i].wear += load * (1.0f + 2.0f * seg[i].curvature) + 1e-4f * seg[i].occupied;
    }
    for (int t = start; t < ntrains; t += stride) {
        int line = seg[trains[t].segment].line;
        atomicAdd(&bins[trains[t].speed > 1.0f ? line : nlines + line], 1u);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < nlines; k += BLOCK) {
        if (bins[k]) atomicAdd(&lines[k].moving, bins[k]);
        if (bins[nlines + k]) atomicAdd(&lines[k].waiting, bins[nlines + k]);
    }
}

class Railway {
public:
    Railway(int ntrains) : ntrains_(ntrains), nseg_(ntrains * 3), nsig_(ntrains)
    {
        cudaOk(cudaMallocManaged(&trains_, sizeof(Train) * ntrains_), "trains");
        cudaOk(cudaMallocManaged(&segments_, sizeof(Segment) * nseg_), "segments");
        cudaOk(cudaMallocManaged(&signals_, sizeof(Signal) * nsig_), "signals");
        cudaOk(cudaMallocManaged(&lines_, sizeof(LineStats) * kLines), "lines");
        build();
    }
    ~Railway()
    {
        cudaFree(trains_);
        cudaFree(segments_);
        cudaFree(signals_);
        cudaFree(lines_);
    }
    Railway(const Railway &) = delete;
    Railway &operator=(const Railway &) = delete;

    void tick()
    {
        releaseBlocks<<<1024, 256>>>(segments_, nseg_);
        occupyBlocks<<<(ntrains_ + 255) / 256, 256>>>(trains_, ntrains_, segments_);
        setSignals<<<(nsig_ + 255) / 256, 256>>>(signals_, nsig_, segments_);
        moveTrains<<<(ntrains_ + 127) / 128, 128>>>(trains_, ntrains_, segments_, signals_, 5.0f, now_);
        wearAndStats<256><<<792, 256, 2 * kLines * sizeof(unsigned)>>>(segments_, nseg_, trains_, ntrains_, lines_, kLines);
        ++now_;
    }

    double checksum() const
    {
        double c = 0.0;
        for (int i = 0; i < ntrains_; ++i) {
            const Train &t = trains_[i];
            c += (1 + i % 3) * (t.offset + 10.0 * t.speed + 1e-3 * t.segment) + 1e-3 * t.previous + t.delay_s +
                 1e-4 * t.energy_kj + 0.01 * t.distance_m + t.state + 3.0 * t.stops_made + t.comfort +
                 0.1 * t.dwell_left + t.route_bits % 17u;
        }
        for (int i = 0; i < nseg_; ++i) {
            const Segment &s = segments_[i];
            c += (1 + i % 3) * (s.occupied + 100.0 * s.wear) + 1e-3 * s.tonnage + 1e-5 * s.lead_train + s.platform;
        }
        for (int i = 0; i < nsig_; ++i) c += signals_[i].aspect * (1 + i % 2) + signals_[i].changes + 0.5 * signals_[i].hold;
        for (int i = 0; i < kLines; ++i) c += (i + 1) * 1e-2 * lines_[i].moving + 2e-2 * lines_[i].waiting;
        return c;
    }

private:
    static constexpr int kLines = 96;

    void build()
    {
        for (int i = 0; i < nseg_; ++i) {
            Segment &s = segments_[i];
            unsigned h = scramble(i);
            s.next_main = i + 1 < nseg_ ? i + 1 : 0;
            s.next_branch = h % 5 == 0 ? (int)(scramble(h) % (unsigned)nseg_) : s.next_main;
            s.signal = i % 3 == 0 ? i / 3 : -1;
            s.length = 300.0f + (h >> 8) % 1200;
            s.grade = ((int)((h >> 4) % 41) - 20) * 0.0005f;
            s.speed_limit = 15.0f + (h >> 12) % 45;
            s.curvature = ((h >> 3) % 100) * 0.01f;
            s.occupied = 0;
            s.lead_train = -1;
            s.tonnage = 0;
            s.wear = 0.0f;
            s.platform = (h >> 20) % 9 == 0;
            s.electrified = (h >> 7) % 4 != 0;
            s.line = (short)((long long)i * kLines / nseg_);
        }
        for (int i = 0; i < nsig_; ++i) signals_[i] = Signal{3 * i + 1, 1 + (int)(scramble(i + 31u) % 4u), GREEN, 0, 0, (short)(i % 3)};
        for (int i = 0; i < kLines; ++i) lines_[i] = LineStats{0ull, 0u, 0u, 100 + i, 0.0f};
        for (int i = 0; i < ntrains_; ++i) {
            Train &t = trains_[i];
            unsigned h = scramble(i * 2u + 1000003u);
            t = Train{};
            t.segment = (int)(h % (unsigned)nseg_);
            t.previous = t.segment;
            t.offset = (float)(scramble(h) % 300u);
            t.speed = (float)(scramble(h + 1) % 30u);
            t.accel_max = 0.2f + (h % 50) * 0.01f;
            t.brake_max = 0.5f + (h % 30) * 0.02f;
            t.speed_max = 25.0f + (h >> 9) % 50;
            t.mass_t = 120.0f + (h >> 6) % 1800;
            t.route_bits = scramble(h + 7);
            t.state = RUNNING;
            t.kind = (short)(h % 4);
        }
    }

    int ntrains_, nseg_, nsig_;
    int now_ = 0;
    Train *trains_ = nullptr;
    Segment *segments_ = nullptr;
    Signal *signals_ = nullptr;
    LineStats *lines_ = nullptr;
};

int main(int argc, char **argv)
{
    int n = argc > 1 ? std::atoi(argv[1]) : 1500000;
    if (n < 100) n = 100;
    Railway net(n);
    for (int i = 0; i < 8; ++i) net.tick();
    cudaOk(cudaDeviceSynchronize(), "warm-up");

    const int ticks = 80;
    cudaEvent_t a, b;
    cudaOk(cudaEventCreate(&a), "event");
    cudaOk(cudaEventCreate(&b), "event");
    cudaOk(cudaEventRecord(a), "event");
    for (int i = 0; i < ticks; ++i) net.tick();
    cudaOk(cudaEventRecord(b), "event");
    cudaOk(cudaGetLastError(), "launch");
    cudaOk(cudaDeviceSynchronize(), "run");
    float ms = 0.0f;
    cudaOk(cudaEventElapsedTime(&ms, a, b), "elapsed");

    std::printf("check %.6e\n", net.checksum());
    std::printf("time_ms %.5f\n", ms / ticks);
    return 0;
}
