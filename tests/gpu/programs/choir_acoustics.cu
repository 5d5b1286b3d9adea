// choir_acoustics: how loud a choir is at every seat of a cathedral.
// Singers are staged through shared memory, reflecting panels are a small
// table walked uniformly, seats are updated in place.
#include <cstdio>
#include <cstdlib>
#include <random>
#include <type_traits>
#include <vector>
#include <cuda_runtime.h>

namespace choir {

constexpr int kSingers = 2048;
constexpr int kSeats = 120000;
constexpr int kPanels = 56;
constexpr int kChunk = 128;
constexpr int kBars = 40;

struct Point {
    float x, y, z;
};

struct Singer { // 52 bytes
    Point at;
    float loud;
    float formants[4];
    int voice;
    short column;
    short row;
    unsigned char robe;
    unsigned char candle;
    short breath;
    float tired;
};

struct Panel {
    Point at;
    Point normal;
    float absorb;
    float size;
    short wood;
    unsigned char cracks[6];
};

struct Seat {
    Point at;
    short column;
    short row;
    float level;
    float echo;
    double dose;
    int nearest;
    unsigned char taken;
    unsigned char cushion;
};


void verify(cudaError_t e, const char *file, int line)
{
    if (e != cudaSuccess) {
        std::fprintf(stderr, "%s(%d): %s\n", file, line, cudaGetErrorString(e));
        std::abort();
    }
}
#define VERIFY(e) ::choir::verify((e), __FILE__, __LINE__)

template <class T>
T *upload(const std::vector<T> &v)
{
    static_assert(std::is_trivially_copyable<T>::value, "plain records only");
    T *d = nullptr;
    VERIFY(cudaMalloc(&d, v.size() * sizeof(T)));
    VERIFY(cudaMemcpy(d, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
    return d;
}

template <class T>
void download(std::vector<T> &v, const T *d)
{
    VERIFY(cudaMemcpy(v.data(), d, v.size() * sizeof(T), cudaMemcpyDeviceToHost));
}

__device__ inline float dist2(const Point &a, const Point &b)
{
    float dx = a.x - b.x, dy = a.y - b.y, dz = a.z - b.z;
    return fmaf(dx, dx, fmaf(dy, dy, dz * dz));
}

// all singers for every seat, whole records staged in shared memory
template <int CHUNK>
__global__ void direct_sound(Seat *seats, int ns, const Singer *singers, int n, int formant)
{
    __shared__ Singer stage[CHUNK];
    const int i = blockIdx.x * CHUNK + threadIdx.x;
    Point me{0.f, 0.f, 0.f};
    int col = 0, row = 0;
    if (i < ns) {
        me = seats[i].at;
        col = seats[i].column;
        row = seats[i].row;
    }
    float level = 0.f;
    int best = 1 << 30, who = -1;
    for (int base = 0; base < n; base += CHUNK) {
        const int k = base + threadIdx.x;
        __syncthreads();
        if (k < n) stage[threadIdx.x] = singers[k];
        __syncthreads();
        const int m = min(CHUNK, n - base);
        for (int j = 0; j < m; ++j) {
            const float r2 = dist2(me, stage[j].at);
            level += stage[j].loud * stage[j].formants[formant] * __frcp_rn(r2 + 1.0f);
            const int far = abs(col - stage[j].column) + abs(row - stage[j].row);
            if (far < best) {
                best = far;
                who = base + j;
            }
        }
    }
    if (i < ns) {
        seats[i].level = level;
        seats[i].nearest = who;
    }
}

// small table of panels, the same record read by all threads
__global__ void reflections(Seat *__restrict__ seats, int ns, const Panel *__restrict__ panels,
                            int np)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= ns) return;
    const Point me = seats[i].at;
    float e = 0.f;
    for (int p = 0; p < np; ++p) {
        const Panel &q = panels[p];
        float d = (me.x - q.at.x) * q.normal.x + (me.y - q.at.y) * q.normal.y +
                  (me.z - q.at.z) * q.normal.z;
        float r2 = dist2(me, q.at);
        e += q.size * (1.0f - q.absorb) * fabsf(d) / (r2 + 4.0f);
        e += 0.0625f * (float)q.cracks[p % 6];
    }
    seats[i].echo = e;
}

// random access to singers through the seats' nearest, dose accumulated
__global__ void listen(Seat *seats, int ns, const Singer *singers, int *credits)
{
    int step = blockDim.x * gridDim.x;
    for (int i = blockDim.x * blockIdx.x + threadIdx.x; i < ns; i += step) {
        if (!seats[i].taken) continue;
        int w = seats[i].nearest;
        double extra = 0.125 * (double)(singers[w].voice + singers[w].candle);
        seats[i].dose += (double)seats[i].level + 0.5 * (double)seats[i].echo + extra;
        atomicAdd(&credits[w], 1 + (seats[i].cushion & 1));
    }
}

// the singers tire and recover (exact dyadic arithmetic)
__global__ void breathe(Singer *s, int n, int bar)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i >= n) return;
    int b = s[i].breath + ((bar + i) % 3) - 1;
    s[i].breath = (short)max(0, min(b, 31));
    s[i].loud = 1.0f + 0.03125f * (float)s[i].breath;
    s[i].tired += 0.125f;
}

} // namespace choir

int main()
{
    using namespace choir;
    std::mt19937 g(1685);
    std::vector<Singer> singers(kSingers);
    for (int i = 0; i < kSingers; ++i) {
        Singer &s = singers[i];
        unsigned r = g();
        s.column = (short)(i % 64);
        s.row = (short)(400 + 2 * (i / 64));
        s.at = Point{(float)s.column * 0.5f, (float)s.row * 0.5f, (float)(i / 64) * 0.25f};
        s.loud = 1.0f;
        for (int k = 0; k < 4; ++k) s.formants[k] = 0.5f + (float)((r >> (6 * k)) & 63) / 64.0f;
        s.voice = (int)(r >> 30);
        s.robe = (unsigned char)(r & 3);
        s.candle = (unsigned char)((r >> 2) & 1);
        s.breath = (short)(r & 31);
        s.tired = 0.f;
    }
    std::vector<Panel> panels(kPanels);
    for (Panel &p : panels) {
        unsigned r = g();
        p.at = Point{(float)(r & 63), (float)((r >> 6) & 255), (float)((r >> 14) & 31)};
        p.normal = Point{0.6f, 0.0f, 0.8f};
        p.absorb = (float)((r >> 19) & 7) / 8.0f;
        p.size = 1.0f + (float)((r >> 22) & 3);
        p.wood = (short)(r >> 24);
        for (int k = 0; k < 6; ++k) p.cracks[k] = (unsigned char)((r >> (3 * k)) & 7);
    }
    std::vector<Seat> seats(kSeats);
    for (int i = 0; i < kSeats; ++i) {
        Seat &s = seats[i];
        unsigned r = g();
        s.column = (short)(i % 300);
        s.row = (short)(i / 300);
        s.at = Point{(float)s.column * 0.25f, (float)s.row * 0.5f, 0.0f};
        s.level = s.echo = 0.f;
        s.dose = 0.0;
        s.nearest = 0;
        s.taken = (unsigned char)((r & 7) != 0);
        s.cushion = (unsigned char)((r >> 3) & 3);
    }

    Singer *ds = upload(singers);
    Panel *dp = upload(panels);
    Seat *dq = upload(seats);
    std::vector<int> credits(kSingers, 0);
    int *dc = upload(credits);

    auto bar = [&](int b) {
        direct_sound<kChunk><<<(kSeats + kChunk - 1) / kChunk, kChunk>>>(dq, kSeats, ds, kSingers,
                                                                         b & 3);
        reflections<<<(kSeats + 191) / 192, 192>>>(dq, kSeats, dp, kPanels);
        listen<<<132 * 2, 256>>>(dq, kSeats, ds, dc);
        breathe<<<(kSingers + 63) / 64, 64>>>(ds, kSingers, b);
    };
    bar(0);
    VERIFY(cudaGetLastError());
    VERIFY(cudaDeviceSynchronize());
    cudaEvent_t t0, t1;
    VERIFY(cudaEventCreate(&t0));
    VERIFY(cudaEventCreate(&t1));
    VERIFY(cudaEventRecord(t0));
    for (int b = 0; b < kBars; ++b) bar(b);
    VERIFY(cudaEventRecord(t1));
    VERIFY(cudaEventSynchronize(t1));
    float ms = 0.f;
    VERIFY(cudaEventElapsedTime(&ms, t0, t1));
    std::printf("time_ms %.6f\n", ms / kBars);

    download(singers, ds);
    download(seats, dq);
    download(credits, dc);
    double level = 0, echo = 0, dose = 0, tired = 0;
    long long near_sum = 0, cred = 0;
    for (const Seat &s : seats) {
        level += s.level;
        echo += s.echo;
        dose += s.dose;
        near_sum += s.nearest;
    }
    for (int i = 0; i < kSingers; ++i) {
        cred += (long long)credits[i] * (i % 9 + 1) + singers[i].breath + singers[i].robe;
        tired += singers[i].tired + singers[i].loud;
    }
    std::printf("check level %.4e\ncheck echo %.4e\ncheck dose %.4e\n", level, echo, dose);
    std::printf("check nearest %lld\ncheck credits %lld\ncheck tired %.6e\n", near_sum, cred, tired);
    cudaFree(ds);
    cudaFree(dp);
    cudaFree(dq);
    cudaFree(dc);
    return 0;
}
