// Longitudinal dynamics of long freight trains: pneumatic brake signal along the
// pipe, coupler slack and draft gear, wagon resistance on a graded track.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <memory>
#include <random>
#include <cuda_runtime.h>

#define SAFE(expr)                                                                    \
    do {                                                                              \
        cudaError_t status = (expr);                                                  \
        if (status != cudaSuccess) {                                                  \
            std::fprintf(stderr, "[%s:%d] %s -> %s\n", __FILE__, __LINE__, #expr, cudaGetErrorName(status)); \
            std::abort();                                                             \
        }                                                                             \
    } while (0)
static const int kTrains = 9000;
static const int kSegments = 60000;
static const float kG = 9.80665f;
struct TrackSegment {
    double start;            // chainage, m
    float length;
    float grade;             // m/m
    float curvature;         // 1/m
    float speedLimit;        // m/s
    float cant;
    short stationId;
    unsigned char tunnel;
    unsigned char wet;
};
struct Wagon {
    double pos;              // front coupler, chainage
    float vel;
    float acc;
    float length;
    float mass;              // kg, loaded
    float rotFactor;
    float davisA, davisB, davisC;
    float pipe;              // brake pipe pressure, bar
    float pipeNew;
    float reservoir;
    float cylinder;
    float brakeForce;
    float wheelTemp;
    float shoeWear;
    float tractive;          // for locomotives
    int segment;
    int train;
    short type;
    unsigned char loco;
    unsigned char brakeOn;
    unsigned char axles;
    unsigned char slipping;
    __device__ float resistance() const { return davisA + davisB * fabsf(vel) + davisC * vel * vel; }
    __device__ void brakeValve(float dt) {
        // distributor: cylinder follows the drop of pipe pressure below the reservoir
        float demand = fminf(fmaxf(2.4f * (reservoir - pipe), 0.0f), 3.8f);
        if (demand > cylinder) cylinder += fminf(demand - cylinder, 0.9f * dt);
        else cylinder -= fminf(cylinder - demand, 0.25f * dt);
        if (pipe > reservoir) reservoir += 0.05f * dt * (pipe - reservoir);
        brakeOn = cylinder > 0.05f;
    }
};
struct Coupler {
    int front, rear;         // wagon indices
    float slack;
    float stiffDraft, stiffBuff;
    float damping;
    float preload;
    float force;             // positive = tension
    float extension;
    float maxTension, maxBuff;
    int impacts;
    unsigned char inSlack;
    unsigned char broken;
};
struct Train {
    int first, count;
    float throttle;          // 0..1
    float pipeTarget;        // bar, set by the driver's valve
    float cruise;            // m/s
    float meanSpeed;
    float energy;
    float brakeWork;
    float maxForce;
    float length;
    short mode;              // 0 run, 1 coast, 2 brake
    short notch;
};
__global__ void driverKernel(Train* trains, const Wagon* wagons, const TrackSegment* track, int n, int step)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Train& t = trains[i];
    const Wagon& lead = wagons[t.first];
    // look ahead over the next segments for lower limits
    float limit = t.cruise;
    double reach = lead.pos + 40.0 * lead.vel;
    for (int s = lead.segment; s < min(lead.segment + 24, kSegments); ++s) {
        if (track[s].start > reach) break;
        limit = fminf(limit, track[s].speedLimit);
    }
    float v = lead.vel;
    if (v > limit + 0.8f || (step + i) % 400 < 40) t.mode = 2;
    else if (v > limit - 0.3f) t.mode = 1;
    else t.mode = 0;
    if (t.mode == 0) {
        t.throttle = fminf(1.0f, t.throttle + 0.02f);
        t.pipeTarget = 5.0f;
    } else if (t.mode == 1) {
        t.throttle = fmaxf(0.0f, t.throttle - 0.04f);
        t.pipeTarget = 5.0f;
    } else {
        t.throttle = 0.0f;
        t.pipeTarget = fmaxf(3.6f, 5.0f - 0.5f - 0.15f * (v - limit));
    }
    t.notch = (short)(t.throttle * 8.0f);
}
__global__ void pipeKernel(Wagon* wagons, const Train* __restrict__ trains, int n, float dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const Train& t = trains[wagons[i].train];
    int k = i - t.first;
    float p = wagons[i].pipe;
    float left = k == 0 ? t.pipeTarget : wagons[i - 1].pipe;
    float right = k == t.count - 1 ? p : wagons[i + 1].pipe;
    // fast drop (emergency wave), slow refill
    float c = left < p ? 14.0f : 7.0f;
    wagons[i].pipeNew = p + dt * (c * (left - p) + 2.0f * (right - p));
}
__global__ void brakeKernel(Wagon* wagons, const TrackSegment* __restrict__ track, int n, float dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Wagon& w = wagons[i];
    w.pipe = w.pipeNew;
    w.brakeValve(dt);
    if (!w.brakeOn) {
        w.brakeForce = 0.0f;
        w.wheelTemp += dt * 0.004f * (15.0f - w.wheelTemp);
        return;
    }
    float v = fabsf(w.vel);
    float mu = 0.27f * (3.6f * v + 100.0f) / (18.0f * v + 100.0f);
    mu *= 1.0f - 0.0004f * fmaxf(w.wheelTemp - 200.0f, 0.0f);
    float normal = 15000.0f * w.cylinder * w.axles;
    float f = mu * normal;
    float adhesion = (track[w.segment].wet ? 0.12f : 0.18f) * w.mass * kG;
    w.slipping = f > adhesion;
    w.brakeForce = fminf(f, adhesion);
    w.wheelTemp += dt * (w.brakeForce * v * 2.0e-6f - 0.004f * (w.wheelTemp - 15.0f));
    w.shoeWear += dt * 1e-9f * w.brakeForce * v;
}
__global__ void couplerKernel(Coupler* couplers, const Wagon* __restrict__ wagons, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        Coupler& c = couplers[i];
        if (c.broken) continue;
        const Wagon& a = wagons[c.front];
        const Wagon& b = wagons[c.rear];
        float ext = (float)(a.pos - a.length - b.pos);
        float rate = a.vel - b.vel;
        float half = 0.5f * c.slack;
        float f = 0.0f;
        if (ext > half) f = c.preload + c.stiffDraft * (ext - half) + c.damping * rate;
        else if (ext < -half) f = -c.preload + c.stiffBuff * (ext + half) + c.damping * rate;
        unsigned char slackNow = fabsf(ext) <= half;
        if (c.inSlack && !slackNow) c.impacts++;
        c.inSlack = slackNow;
        c.extension = ext;
        c.force = f;
        c.maxTension = fmaxf(c.maxTension, f);
        c.maxBuff = fminf(c.maxBuff, f);
        if (f > 4.0e6f) c.broken = 1;
    }
}
__global__ void motionKernel(Wagon* wagons, const Coupler* __restrict__ couplers, const Train* __restrict__ trains,
                             const TrackSegment* __restrict__ track, int n, float dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Wagon& w = wagons[i];
    const Train& t = trains[w.train];
    int k = i - t.first;
    int cbase = t.first - w.train;               // one coupler less than wagons per train
    float ahead = k > 0 ? couplers[cbase + k - 1].force : 0.0f;
    float behind = k < t.count - 1 ? couplers[cbase + k].force : 0.0f;
    int s = w.segment;
    while (s + 1 < kSegments && w.pos >= track[s + 1].start) ++s;
    while (s > 0 && w.pos < track[s].start) --s;
    const TrackSegment& g = track[s];
    float drive = 0.0f;
    if (w.loco) {
        float limit = 0.25f * w.mass * kG;
        drive = fminf(limit, t.throttle * 3.0e6f / fmaxf(w.vel, 2.0f));
    }
    float res = w.resistance() + 6000.0f * fabsf(g.curvature) * w.mass * 1e-3f + (g.tunnel ? 0.3f * w.davisC * w.vel * w.vel : 0.0f);
    float f = ahead - behind + drive - w.mass * kG * g.grade;
    float oppose = res + w.brakeForce;
    float inv = 1.0f / (w.mass * w.rotFactor);
    float v = w.vel + dt * f * inv;
    float dv = dt * oppose * inv;
    v = v > 0.0f ? fmaxf(0.0f, v - dv) : fminf(0.0f, v + dv);
    w.acc = (v - w.vel) / dt;
    w.vel = v;
    w.pos += (double)v * dt;
    w.tractive = drive;
    w.segment = s;
}
// one warp per train
__global__ void trainKernel(Train* trains, const Wagon* __restrict__ wagons, const Coupler* __restrict__ couplers, int n, float dt)
{
    int t = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (t >= n) return;
    int first = trains[t].first, count = trains[t].count;
    float sv = 0, work = 0, power = 0, fm = 0;
    for (int k = lane; k < count; k += 32) {
        const Wagon& w = wagons[first + k];
        sv += w.vel;
        work += w.brakeForce * fabsf(w.vel) * dt;
        power += w.tractive * w.vel * dt;
        if (k < count - 1) fm = fmaxf(fm, fabsf(couplers[first - t + k].force));
    }
    for (int o = 16; o; o /= 2) {
        sv += __shfl_xor_sync(~0u, sv, o);
        work += __shfl_xor_sync(~0u, work, o);
        power += __shfl_xor_sync(~0u, power, o);
        fm = fmaxf(fm, __shfl_xor_sync(~0u, fm, o));
    }
    if (lane == 0) {
        trains[t].meanSpeed = sv / count;
        trains[t].brakeWork += work;
        trains[t].energy += power;
        trains[t].maxForce = fmaxf(trains[t].maxForce, fm);
    }
}
template <typename T>
static T* managed(size_t n)
{
    T* p = nullptr;
    SAFE(cudaMallocManaged(&p, n * sizeof(T)));
    return p;
}
int main()
{
    std::mt19937 rng(1825);
    auto uni = [&](float a, float b) { return a + (b - a) * (rng() * (1.0f / 4294967296.0f)); };
    TrackSegment* track = managed<TrackSegment>(kSegments);
    double at = 0.0;
    for (int s = 0; s < kSegments; ++s) {
        TrackSegment g{};
        g.start = at;
        g.length = uni(80.0f, 900.0f);
        g.grade = 0.008f * std::sin(0.05f * s) + uni(-0.002f, 0.002f);
        g.curvature = rng() % 3 == 0 ? 1.0f / uni(300.0f, 2000.0f) : 0.0f;
        g.speedLimit = 14.0f + 2.0f * (rng() % 8);
        g.cant = g.curvature * 40.0f;
        g.stationId = (short)(s % 37 == 0 ? s / 37 : -1);
        g.tunnel = rng() % 40 == 0;
        g.wet = rng() % 7 == 0;
        track[s] = g;
        at += g.length;
    }
    Train* trains = managed<Train>(kTrains);
    int nWagons = 0;
    for (int t = 0; t < kTrains; ++t) {
        trains[t] = Train{};
        trains[t].first = nWagons;
        trains[t].count = 60 + (int)(rng() % 120);
        trains[t].cruise = uni(16.0f, 27.0f);
        trains[t].throttle = 0.5f;
        trains[t].pipeTarget = 5.0f;
        nWagons += trains[t].count;
    }
    int nCouplers = nWagons - kTrains;
    Wagon* wagons = managed<Wagon>(nWagons);
    Coupler* couplers = managed<Coupler>(nCouplers);
    for (int t = 0; t < kTrains; ++t) {
        int s = 200 + (int)(rng() % (kSegments - 400));
        double head = track[s].start + 1.0;
        float v0 = uni(12.0f, 20.0f);
        int seg = s;
        for (int k = 0; k < trains[t].count; ++k) {
            Wagon w{};
            w.loco = k < 2 || k == trains[t].count / 2;
            w.length = w.loco ? 19.0f : uni(12.0f, 22.0f);
            w.mass = w.loco ? 126000.0f : uni(22000.0f, 100000.0f);
            w.axles = w.loco ? 6 : 4;
            w.rotFactor = w.loco ? 1.12f : 1.04f;
            w.davisA = 0.0012f * w.mass * kG;
            w.davisB = 0.00005f * w.mass;
            w.davisC = 4.0f;
            w.vel = v0;
            w.pos = head;
            while (seg > 0 && w.pos < track[seg].start) --seg;
            w.segment = seg;
            w.train = t;
            w.type = (short)(rng() % 9);
            w.pipe = w.pipeNew = w.reservoir = 5.0f;
            w.wheelTemp = uni(10.0f, 60.0f);
            wagons[trains[t].first + k] = w;
            if (k + 1 < trains[t].count) {
                Coupler c{};
                c.front = trains[t].first + k;
                c.rear = c.front + 1;
                c.slack = uni(0.01f, 0.04f);
                c.stiffDraft = uni(4e6f, 9e6f);
                c.stiffBuff = uni(6e6f, 1.2e7f);
                c.damping = 1.2e5f;
                c.preload = 2.0e3f;
                c.inSlack = 1;
                couplers[trains[t].first - t + k] = c;
            }
            head -= w.length + uni(-0.004f, 0.004f);
            trains[t].length += w.length;
        }
    }
    double startSum = 0;
    for (int i = 0; i < nWagons; ++i) startSum += wagons[i].pos;
    const float dt = 0.01f;
    const int bs = 128, gw = (nWagons + bs - 1) / bs;
    auto step = [&](int s) {
        driverKernel<<<(kTrains + 63) / 64, 64>>>(trains, wagons, track, kTrains, s);
        pipeKernel<<<gw, bs>>>(wagons, trains, nWagons, dt);
        brakeKernel<<<gw, bs>>>(wagons, track, nWagons, dt);
        couplerKernel<<<132 * 6, 256>>>(couplers, wagons, nCouplers);
        motionKernel<<<gw, bs>>>(wagons, couplers, trains, track, nWagons, dt);
        trainKernel<<<(kTrains * 32 + 255) / 256, 256>>>(trains, wagons, couplers, kTrains, dt);
    };
    for (int s = 0; s < 20; ++s) step(s);
    SAFE(cudaDeviceSynchronize());
    cudaEvent_t begin, end;
    SAFE(cudaEventCreate(&begin));
    SAFE(cudaEventCreate(&end));
    SAFE(cudaEventRecord(begin));
    const int steps = 100;
    for (int s = 0; s < steps; ++s) step(20 + s);
    SAFE(cudaEventRecord(end));
    SAFE(cudaEventSynchronize(end));
    SAFE(cudaDeviceSynchronize());
    float ms = 0;
    SAFE(cudaEventElapsedTime(&ms, begin, end));
    double vel = 0, travel = -startSum, temp = 0, energy = 0, brake = 0;
    long impacts = 0;
    for (int i = 0; i < nWagons; ++i) { vel += wagons[i].vel; travel += wagons[i].pos; temp += wagons[i].wheelTemp; }
    for (int t = 0; t < kTrains; ++t) { energy += trains[t].energy; brake += trains[t].brakeWork; }
    for (int i = 0; i < nCouplers; ++i) impacts += couplers[i].impacts;
    std::printf("check %.4g/%.5g/%.4g/%.4g/%.4g/%.3g\n", vel, travel, temp, energy, brake, (double)impacts);
    std::printf("time_ms %.4f\n", ms / steps);
    cudaFree(track); cudaFree(trains); cudaFree(wagons); cudaFree(couplers);
    return 0;
}