// kelp_sonar: echo-sounder pings over a kelp forest. Records of 184 bytes with
// a member array: a warp per record, a thread per record, a thread per chunk
// of records, and a track table that averages its pings.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <vector>

static void die_if(cudaError_t err, const char *step)
{
    if (err == cudaSuccess) return;
    fprintf(stderr, "kelp_sonar: %s: %s\n", step, cudaGetErrorString(err));
    exit(EXIT_FAILURE);
}

const int SAMPLES = 32;
const int PINGS = 1 << 20;
const int CHUNK = 16;
const int TRACKS = 8192;
const int LEGS = 32;

struct Fix {
    double lat, lon;
};

struct Ping {
    double when;
    Fix fix;
    float echo[SAMPLES];
    float peak;
    float floor_level;
    float clutter;
    int best;
    int track;
    int hits;
    short gain;
    short heading;
    unsigned char quality;
    unsigned char mode;
    unsigned char pad_tag[2];
};

struct Track {
    unsigned int pings;
    unsigned int depth_sum;
    int deepest;
    float smooth;
    short ids[4];
};

__device__ __forceinline__ int warp_id() { return (blockIdx.x * blockDim.x + threadIdx.x) >> 5; }

// a warp per ping: 32 lanes read the 32 samples
__global__ void find_peaks(Ping *__restrict__ p, int n)
{
    const int lane = threadIdx.x & 31;
    const int warps = (gridDim.x * blockDim.x) >> 5;
    for (int k = warp_id(); k < n; k += warps) {
        float e = p[k].echo[lane];
        float top = e, low = e;
        int where = lane;
        for (int o = 16; o; o >>= 1) {
            float t = __shfl_xor_sync(0xffffffffu, top, o);
            int w = __shfl_xor_sync(0xffffffffu, where, o);
            if (t > top || (t == top && w < where)) {
                top = t;
                where = w;
            }
            low = fminf(low, __shfl_xor_sync(0xffffffffu, low, o));
        }
        if (lane == 0) {
            p[k].peak = top;
            p[k].floor_level = low;
            p[k].best = where;
        }
    }
}

// a thread per ping: samples around the peak only, and some scalars
__global__ void clutter(Ping *p, int n)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= n) return;
    int b = p[k].best;
    float s = 0.f;
    for (int d = -2; d <= 2; ++d) {
        int j = b + d;
        if (j >= 0 && j < SAMPLES) s += p[k].echo[j];
    }
    p[k].clutter = s - p[k].peak;
    p[k].hits += (p[k].quality > 100) ? 1 : 0;
}

// a thread per chunk of consecutive pings: running gain control
__global__ void gain_control(Ping *p, int chunks, int leg)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= chunks) return;
    int run = 8 + (leg & 3);
    for (int j = 0; j < CHUNK; ++j) {
        Ping &q = p[c * CHUNK + j];
        run = (run * 3 + q.gain / 2 + (int)q.peak) >> 2;
        q.gain = (short)run;
        q.mode = (unsigned char)((run >> 2) & 3);
    }
}

// pings credited to tracks by atomics on a small array held in L2
__global__ void credit_tracks(const Ping *__restrict__ p, int n, Track *t)
{
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < n; k += gridDim.x * blockDim.x) {
        if (p[k].quality < 64) continue;
        int w = p[k].track;
        int d = p[k].best;
        atomicAdd(&t[w].pings, 1u);
        atomicAdd(&t[w].depth_sum, (unsigned int)d);
        atomicMax(&t[w].deepest, d * 4 + p[k].mode);
    }
}

// the tracks are smoothed once a leg, one thread each
__global__ void smooth_tracks(Track *t, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float mean = t[i].pings ? (float)t[i].depth_sum / (float)t[i].pings : 0.f;
    t[i].smooth = 0.75f * t[i].smooth + 0.25f * mean;
    t[i].ids[t[i].deepest & 3] = (short)((t[i].ids[t[i].deepest & 3] + 1) & 1023);
}

// every few legs the noise is rolled: each warp rotates the samples of its ping
__global__ void roll_noise(Ping *p, int n)
{
    const int lane = threadIdx.x & 31;
    const int k = warp_id();
    if (k >= n) return;
    float e = p[k].echo[lane];
    float moved = __shfl_sync(0xffffffffu, e, (lane + 5) & 31);
    p[k].echo[lane] = moved;
}

int main()
{
    std::vector<Ping> h(PINGS);
    unsigned int s = 2463534242u;
    auto rnd = [&s]() {
        s ^= s << 13;
        s ^= s >> 17;
        s ^= s << 5;
        return s;
    };
    for (int k = 0; k < PINGS; ++k) {
        Ping &p = h[k];
        p.when = k * 0.125;
        p.fix.lat = 58.0 + (double)(k % 1000) * 0.001;
        p.fix.lon = 6.0 + (double)(k / 1000) * 0.001;
        for (int j = 0; j < SAMPLES; ++j) p.echo[j] = (float)(rnd() & 1023) / 16.0f;
        unsigned int r = rnd();
        p.peak = p.floor_level = p.clutter = 0.f;
        p.best = 0;
        p.track = (r % 5u == 0) ? (int)((r >> 8) % TRACKS) : (int)(k / 128) % TRACKS;
        p.hits = 0;
        p.gain = (short)((r >> 5) & 15);
        p.heading = (short)((r >> 9) % 360u);
        p.quality = (unsigned char)(r >> 24);
        p.mode = 0;
        p.pad_tag[0] = (unsigned char)(k & 127);
        p.pad_tag[1] = 1;
    }
    std::vector<Track> ht(TRACKS);
    for (int i = 0; i < TRACKS; ++i) ht[i] = Track{0u, 0u, 0, 0.f, {0, (short)(i & 7), 2, 3}};

    Ping *dp = nullptr;
    Track *dt = nullptr;
    die_if(cudaMalloc(&dp, sizeof(Ping) * PINGS), "pings");
    die_if(cudaMalloc(&dt, sizeof(Track) * TRACKS), "tracks");
    die_if(cudaMemcpy(dp, h.data(), sizeof(Ping) * PINGS, cudaMemcpyHostToDevice), "copy");
    die_if(cudaMemcpy(dt, ht.data(), sizeof(Track) * TRACKS, cudaMemcpyHostToDevice), "copy");

    auto leg = [&](int l) {
        find_peaks<<<132 * 8, 256>>>(dp, PINGS);
        clutter<<<PINGS / 256, 256>>>(dp, PINGS);
        gain_control<<<PINGS / CHUNK / 128, 128>>>(dp, PINGS / CHUNK, l);
        credit_tracks<<<132 * 6, 320>>>(dp, PINGS, dt);
        smooth_tracks<<<TRACKS / 64, 64>>>(dt, TRACKS);
        if (l % 4 == 3) roll_noise<<<PINGS / 8, 256>>>(dp, PINGS);
    };

    for (int l = 0; l < 4; ++l) leg(l);
    die_if(cudaGetLastError(), "launch");
    die_if(cudaDeviceSynchronize(), "warm-up");
    cudaEvent_t a, b;
    die_if(cudaEventCreate(&a), "event");
    die_if(cudaEventCreate(&b), "event");
    die_if(cudaEventRecord(a), "record");
    for (int l = 0; l < LEGS; ++l) leg(l);
    die_if(cudaEventRecord(b), "record");
    die_if(cudaEventSynchronize(b), "sync");
    float ms = 0.f;
    die_if(cudaEventElapsedTime(&ms, a, b), "time");
    printf("time_ms %.6f\n", ms / LEGS);

    die_if(cudaMemcpy(h.data(), dp, sizeof(Ping) * PINGS, cudaMemcpyDeviceToHost), "back");
    die_if(cudaMemcpy(ht.data(), dt, sizeof(Track) * TRACKS, cudaMemcpyDeviceToHost), "back");
    double peak = 0, low = 0, clut = 0, smooth = 0;
    long long ints = 0, tr = 0;
    for (int k = 0; k < PINGS; ++k) {
        const Ping &p = h[k];
        peak += p.peak + p.echo[k & 31];
        low += p.floor_level + p.fix.lat + p.when;
        clut += p.clutter;
        ints += p.best * (1 + k % 3) + p.hits + p.gain * 2 + p.mode + p.heading + p.pad_tag[0];
    }
    for (int i = 0; i < TRACKS; ++i) {
        smooth += ht[i].smooth;
        tr += ht[i].pings + 3ll * ht[i].depth_sum + ht[i].deepest * (long long)(i % 7);
        for (int k = 0; k < 4; ++k) tr += ht[i].ids[k] * (k + 1);
    }
    printf("check peak %.6e\n", peak);
    printf("check floor %.6e\n", low);
    printf("check clutter %.5e\n", clut);
    printf("check smooth %.4e\n", smooth);
    printf("check ints %lld\n", ints);
    printf("check tracks %lld\n", tr);
    cudaFree(dp);
    cudaFree(dt);
    return 0;
}
