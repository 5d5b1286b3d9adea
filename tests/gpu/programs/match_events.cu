// match_events.cu : analytics on optical tracking of football matches.
//
// Samples are stored frame by frame, 22 players a frame (home 0..10, away 11..21).
// Events refer to frames, players and to the following event by index.
//
//   match_events [frames]          (25 frames per second)

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

static const int PLAYERS = 22;
static const int ROSTER = 28;           // 22 on the pitch + substitutes
static const int ZX = 12, ZY = 8;       // pitch zones
static const float PITCH_X = 105.0f, PITCH_Y = 68.0f, FPS = 25.0f;

static inline void gpuAssert(cudaError_t code, const char *file, int line) {
    if (code != cudaSuccess) {
        fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line);
        exit(code);
    }
}
#define gpuErrchk(ans) gpuAssert((ans), __FILE__, __LINE__)

enum EventType : unsigned char { PASS, SHOT, TACKLE, DRIBBLE, CLEARANCE, N_EVENT_TYPES };

struct Sample {
    float x, y;
    float vx, vy;
    float speed, toBall;
    short roster;                       // who it is
    unsigned char zone, sprint;
};

struct Frame {
    float3 ball;
    float ballSpeed;
    int owner;                          // player slot 0..21 or -1
    int spell;                          // number of the possession spell
    unsigned char team;                 // 0, 1, 2: nobody
    unsigned char inPlay;
    short nearest[2];                   // nearest player of either team
};

struct Event {
    int frame;
    int next;                           // following event of the same team, -1
    float x, y;                         // filled in from the tracking
    float pressure;
    float gain;                         // metres towards goal until the next event
    double xt;                          // threat value
    short player;
    EventType type;
    unsigned char valid;
};

struct PlayerTotals {
    unsigned long long distance, sprintDistance;   // mm
    unsigned int touches, frames;
    unsigned int maxSpeed;              // mm/s
    unsigned int zone[ZX];
    struct { unsigned int count[N_EVENT_TYPES]; long long threat; } events;
};

template <typename T> struct CudaDelete { void operator()(T *p) const { cudaFree(p); } };
template <typename T> using dev_ptr = std::unique_ptr<T[], CudaDelete<T>>;

template <typename T> dev_ptr<T> devAlloc(size_t n, const T *init = nullptr) {
    T *p = nullptr;
    gpuErrchk(cudaMalloc((void **)&p, n * sizeof(T)));
    if (init) gpuErrchk(cudaMemcpy(p, init, n * sizeof(T), cudaMemcpyHostToDevice));
    else gpuErrchk(cudaMemset(p, 0, n * sizeof(T)));
    return dev_ptr<T>(p);
}

__device__ inline int zoneX(float x) { return min(ZX - 1, max(0, (int)(x * (ZX / PITCH_X)))); }
__device__ inline int zoneY(float y) { return min(ZY - 1, max(0, (int)(y * (ZY / PITCH_Y)))); }

// smoothed central differences over the neighbouring frames
__global__ void kinematics(Sample *s, const Frame *frames, int nFrames, int window) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= nFrames * PLAYERS) return;
    int f = idx / PLAYERS, p = idx - f * PLAYERS;
    int before = max(0, f - window), after = min(nFrames - 1, f + window);

    const Sample &a = s[before * PLAYERS + p];
    const Sample &b = s[after * PLAYERS + p];
    float scale = after > before ? FPS / (after - before) : 0.0f;
    float vx = (b.x - a.x) * scale, vy = (b.y - a.y) * scale;
    if (a.roster != b.roster) vx = vy = 0.0f;       // substitution in between
    float speed = sqrtf(vx * vx + vy * vy);
    float x = s[idx].x, y = s[idx].y;
    float dx = x - frames[f].ball.x, dy = y - frames[f].ball.y;
    s[idx].vx = vx; s[idx].vy = vy;
    s[idx].speed = speed;
    s[idx].toBall = sqrtf(dx * dx + dy * dy);
    s[idx].zone = (unsigned char)(zoneY(y) * ZX + zoneX(x));
    s[idx].sprint = speed > 7.0f ? 1 : 0;
}

__global__ void possession(const Sample *__restrict__ s, Frame *frames, int n, float reach) {
    int f = blockIdx.x * blockDim.x + threadIdx.x;
    if (f >= n) return;
    Frame fr = frames[f];
    fr.owner = -1;
    fr.team = 2;
    if (fr.inPlay) {
        float best[2] = {1e9f, 1e9f};
        for (int p = 0; p < PLAYERS; p++) {
            float d = s[f * PLAYERS + p].toBall;
            int t = p >= PLAYERS / 2;
            if (d < best[t]) { best[t] = d; fr.nearest[t] = (short)p; }
        }
        int t = best[1] < best[0];
        if (best[t] < reach && fr.ball.z < 2.0f && fabsf(best[0] - best[1]) > 0.2f) {
            fr.owner = fr.nearest[t];
            fr.team = (unsigned char)t;
        }
    }
    frames[f] = fr;
}

// block-wide sum, the result is valid in thread 0
template <int THREADS, typename T> __device__ T blockSum(T v) {
    __shared__ T part[THREADS / 32];
    for (int o = 16; o > 0; o /= 2) v += __shfl_down_sync(~0u, v, o);
    __syncthreads();
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x == 0)
        for (int w = 1; w < THREADS / 32; w++) v += part[w];
    return v;
}

// numbers the spells of possession within chunks of 256 frames
__global__ void __launch_bounds__(256) numberSpells(Frame *frames, int n, int *chunkSpells) {
    __shared__ int scan[256];
    int f = blockIdx.x * 256 + threadIdx.x;
    int number = 0;
    if (f < n && frames[f].team != 2)
        number = f == 0 || frames[f - 1].team != frames[f].team;
    scan[threadIdx.x] = number;
    __syncthreads();
    for (int o = 1; o < 256; o *= 2) {
        int left = threadIdx.x >= o ? scan[threadIdx.x - o] : 0;
        __syncthreads();
        scan[threadIdx.x] = number += left;
        __syncthreads();
    }
    if (f < n) frames[f].spell = number;
    if (threadIdx.x == 255) chunkSpells[blockIdx.x] = number;
}

// sums per roster member; a block handles one slot over a stretch of frames
__global__ void __launch_bounds__(128) playerTotals(const Sample *s, const Frame *frames, int n,
                                                    int stretch, PlayerTotals *out) {
    const int p = blockIdx.y;
    const int begin = blockIdx.x * stretch, end = min(n, begin + stretch);
    if (begin >= end) return;
    // substitutions happen only between stretches
    const int who = s[begin * PLAYERS + p].roster;

    unsigned long long dist = 0, sprint = 0;
    unsigned int touches = 0, fastest = 0, zones[ZX] = {0};
    for (int f = begin + threadIdx.x; f < end; f += 128) {
        const Sample *q = &s[f * PLAYERS + p];
        unsigned int mms = (unsigned int)(q->speed * 1000.0f);
        unsigned int mm = (unsigned int)(q->speed * (1000.0f / FPS));
        dist += mm;
        if (q->sprint) sprint += mm;
        fastest = max(fastest, mms);
        if (frames[f].owner == p) touches++;
        int zx = q->zone % ZX;
#pragma unroll
        for (int k = 0; k < ZX; k++) zones[k] += (k == zx);
    }
    dist = blockSum<128>(dist);
    sprint = blockSum<128>(sprint);
    PlayerTotals *t = out + who;
    if (threadIdx.x == 0) {
        atomicAdd(&t->distance, dist);
        atomicAdd(&t->sprintDistance, sprint);
        atomicAdd(&t->frames, (unsigned)(end - begin));
    }
    if (touches) atomicAdd(&t->touches, touches);
    atomicMax(&t->maxSpeed, fastest);
    for (int k = 0; k < ZX; k++)
        if (zones[k]) atomicAdd(&t->zone[k], zones[k]);
}

// join of the events with the tracking data
__global__ void enrichEvents(Event *ev, int n, const Sample *__restrict__ s, const Frame *__restrict__ frames,
                             const double *__restrict__ threat, PlayerTotals *totals, float radius) {
    for (int e = blockIdx.x * blockDim.x + threadIdx.x; e < n; e += gridDim.x * blockDim.x) {
        const int f = ev[e].frame, p = ev[e].player;
        if (!frames[f].inPlay) {
            ev[e].valid = 0;
            ev[e].xt = ev[e].pressure = ev[e].gain = 0.0f;
            continue;
        }
        const Sample me = s[f * PLAYERS + p];
        const int away = p >= PLAYERS / 2;
        float pressure = 0.0f;
        const Sample *opp = s + f * PLAYERS + (away ? 0 : PLAYERS / 2);
        for (int k = 0; k < PLAYERS / 2; k++) {
            float dx = opp[k].x - me.x, dy = opp[k].y - me.y;
            float d = sqrtf(dx * dx + dy * dy);
            if (d < radius) {
                float closing = -(dx * (opp[k].vx - me.vx) + dy * (opp[k].vy - me.vy)) / fmaxf(d, 0.1f);
                pressure += (1.0f - d / radius) * (1.0f + 0.1f * fmaxf(closing, 0.0f));
            }
        }
        double xt = threat[away ? ZX * ZY - 1 - me.zone : me.zone];
        float gain = 0.0f;
        const int nx = ev[e].next;
        if (nx >= 0) {
            const Sample &to = s[ev[nx].frame * PLAYERS + ev[nx].player];
            gain = away ? me.x - to.x : to.x - me.x;
            xt = threat[away ? ZX * ZY - 1 - to.zone : to.zone] - xt;
        }
        switch (ev[e].type) {
        case SHOT:      xt += 0.1 / (1.0 + pressure); break;
        case TACKLE:    xt *= 0.5; break;
        case CLEARANCE: xt -= 0.001 * frames[f].ballSpeed; break;
        default:        break;
        }
        ev[e].x = me.x; ev[e].y = me.y;
        ev[e].pressure = pressure;
        ev[e].gain = gain;
        ev[e].xt = xt;
        ev[e].valid = 1;
        PlayerTotals *t = &totals[me.roster];
        atomicAdd(&t->events.count[ev[e].type], 1u);
        atomicAdd((unsigned long long *)&t->events.threat, (unsigned long long)llrint(xt * 1e6));
    }
}

static uint64_t state = 0x853c49e6748fea9bULL;
static float rnd() {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (float)(state >> 40) / 16777216.0f;
}

int main(int argc, char **argv) {
    const int nFrames = std::max(1024, argc > 1 ? atoi(argv[1]) : 200000);
    const int nEvents = nFrames / 4, stretch = 1024, warmup = 3, steps = 50;
    const int chunks = (nFrames + 255) / 256, stretches = (nFrames + stretch - 1) / stretch;

    std::vector<Sample> samples((size_t)nFrames * PLAYERS);
    std::vector<Frame> frames(nFrames);
    std::vector<Event> events(nEvents);
    std::vector<double> threat(ZX * ZY);
    for (int z = 0; z < ZX * ZY; z++) threat[z] = 0.002 * (z % ZX) * (1 + z % ZX) / ZX + 0.001 * (z / ZX % 4);

    float px[PLAYERS], py[PLAYERS], tx[PLAYERS], ty[PLAYERS];
    short who[PLAYERS];
    for (int p = 0; p < PLAYERS; p++) {
        px[p] = tx[p] = rnd() * PITCH_X; py[p] = ty[p] = rnd() * PITCH_Y;
        who[p] = (short)p;
    }
    float3 ball = make_float3(52.5f, 34.0f, 0.0f);
    int carrier = 3, dead = 0;
    for (int f = 0; f < nFrames; f++) {
        if (f % stretch == 0 && f > 0) {                  // a substitution
            int p = (int)(rnd() * PLAYERS), spare = PLAYERS + (int)(rnd() * (ROSTER - PLAYERS));
            if (std::find(who, who + PLAYERS, (short)spare) == who + PLAYERS) who[p] = (short)spare;
        }
        for (int p = 0; p < PLAYERS; p++) {
            if (rnd() < 0.02f) { tx[p] = rnd() * PITCH_X; ty[p] = rnd() * PITCH_Y; }
            px[p] += 0.012f * (tx[p] - px[p]);
            py[p] += 0.012f * (ty[p] - py[p]);
            Sample &s = samples[(size_t)f * PLAYERS + p];
            s = Sample();
            s.x = px[p]; s.y = py[p]; s.roster = who[p];
        }
        if (rnd() < 0.02f) carrier = (int)(rnd() * PLAYERS);
        if (dead == 0 && rnd() < 0.001f) dead = 100;
        if (dead > 0) dead--;
        float bx = ball.x + 0.15f * (px[carrier] - ball.x), by = ball.y + 0.15f * (py[carrier] - ball.y);
        Frame fr = Frame();
        fr.ballSpeed = FPS * (std::abs(bx - ball.x) + std::abs(by - ball.y));
        ball = make_float3(bx, by, 4.0f * rnd() * rnd());
        fr.ball = ball;
        fr.owner = -1;
        fr.team = 2;
        fr.inPlay = dead == 0;
        frames[f] = fr;
    }
    int lastOf[2] = {-1, -1};
    for (int e = nEvents - 1; e >= 0; e--) {
        Event &v = events[e];
        v = Event();
        v.frame = (int)((long long)e * nFrames / nEvents);
        v.player = (short)(rnd() * PLAYERS);
        v.type = (EventType)(int)(rnd() * N_EVENT_TYPES);
        int team = v.player >= PLAYERS / 2;
        v.next = rnd() < 0.9f ? lastOf[team] : -1;
        lastOf[team] = e;
    }

    auto dSamples = devAlloc(samples.size(), samples.data());
    auto dFrames = devAlloc(frames.size(), frames.data());
    auto dEvents = devAlloc(events.size(), events.data());
    auto dThreat = devAlloc(threat.size(), threat.data());
    auto dTotals = devAlloc<PlayerTotals>(ROSTER);
    auto dChunks = devAlloc<int>(chunks);

    cudaEvent_t start, stop;
    gpuErrchk(cudaEventCreate(&start)); gpuErrchk(cudaEventCreate(&stop));
    for (int k = 0; k < warmup + steps; k++) {
        if (k == warmup) gpuErrchk(cudaEventRecord(start));
        kinematics<<<(nFrames * PLAYERS + 255) / 256, 256>>>(dSamples.get(), dFrames.get(), nFrames, 2 + k % 5);
        possession<<<(nFrames + 127) / 128, 128>>>(dSamples.get(), dFrames.get(), nFrames, 1.5f + 0.1f * (k % 7));
        numberSpells<<<chunks, 256>>>(dFrames.get(), nFrames, dChunks.get());
        playerTotals<<<dim3(stretches, PLAYERS), 128>>>(dSamples.get(), dFrames.get(), nFrames, stretch, dTotals.get());
        enrichEvents<<<256, 128>>>(dEvents.get(), nEvents, dSamples.get(), dFrames.get(), dThreat.get(), dTotals.get(), 6.0f);
    }
    gpuErrchk(cudaEventRecord(stop));
    gpuErrchk(cudaEventSynchronize(stop));
    gpuErrchk(cudaGetLastError());
    float ms = 0;
    gpuErrchk(cudaEventElapsedTime(&ms, start, stop));

    PlayerTotals totals[ROSTER];
    std::vector<int> spells(chunks);
    gpuErrchk(cudaMemcpy(frames.data(), dFrames.get(), frames.size() * sizeof(Frame), cudaMemcpyDeviceToHost));
    gpuErrchk(cudaMemcpy(events.data(), dEvents.get(), events.size() * sizeof(Event), cudaMemcpyDeviceToHost));
    gpuErrchk(cudaMemcpy(totals, dTotals.get(), sizeof(totals), cudaMemcpyDeviceToHost));
    gpuErrchk(cudaMemcpy(spells.data(), dChunks.get(), chunks * sizeof(int), cudaMemcpyDeviceToHost));

    unsigned long long own = 0, sum = 0, nSpells = 0;
    long long ev = 0;
    for (const Frame &f : frames) own = own * 33 + (f.owner + 1) + f.team * 5u + f.spell + f.nearest[0] + f.nearest[1];
    for (const Event &e : events)
        ev += llrint(e.pressure * 1e4) + llrint(e.gain * 1e3) + llrint(e.xt * 1e7) + llrint((e.x + e.y) * 100.0) + e.valid;
    for (int r = 0; r < ROSTER; r++) {
        const PlayerTotals &t = totals[r];
        sum += (r + 1) * (t.distance + t.sprintDistance + t.touches + t.frames + t.maxSpeed) + (unsigned long long)t.events.threat;
        for (int k = 0; k < ZX; k++) sum += (unsigned long long)t.zone[k] * (k + 3);
        for (int k = 0; k < N_EVENT_TYPES; k++) sum += (unsigned long long)t.events.count[k] * (k + 7);
    }
    for (int c : spells) nSpells += c;
    printf("check %llu/%lld/%llu/%llu\n", own, ev, sum, nSpells);
    printf("time_ms %.5f\n", ms / steps);
    return 0;
}
