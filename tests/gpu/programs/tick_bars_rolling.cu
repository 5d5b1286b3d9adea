// Rolling indicators on one-minute bars of many symbols.
#include <cuda_runtime.h>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int NUM_SYMBOLS = 8192;
constexpr int BARS_PER_SYMBOL = 512;
constexpr int TOTAL_BARS = NUM_SYMBOLS * BARS_PER_SYMBOL;
constexpr int WINDOW = 20;

struct Bar {
    int64_t  time_ns;
    float    open;
    float    high;
    float    low;
    float    close;
    uint32_t volume;
    uint32_t trades;
    float    vwap;
    float    spread;
};

struct Signal {
    float  mean;
    float  stdev;
    float  range;
    int8_t action;
    int8_t regime;
    int16_t strength;
};

struct SymbolStats {
    double notional;
    double volume;
    float  ema;
    float  max_drawdown;
    int    trades;
    int    crossings;
};

#define GPU(call) gpu_check((call), #call, __LINE__)
static void gpu_check(cudaError_t err, const char *text, int line)
{
    if (err == cudaSuccess) return;
    std::fprintf(stderr, "line %d: %s -> %s\n", line, text, cudaGetErrorString(err));
    std::exit(2);
}

// Bollinger-like band; one thread per bar, window looks back inside the symbol
__global__ void bollinger(const Bar *bars, Signal *sig)
{
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= TOTAL_BARS) return;
    int pos = idx % BARS_PER_SYMBOL;
    int len = pos + 1 < WINDOW ? pos + 1 : WINDOW;
    float sum = 0.f, sq = 0.f;
    float ref = bars[idx].close;
    for (int k = 0; k < len; ++k) {
        float d = bars[idx - k].close - ref;
        sum += d;
        sq += d * d;
    }
    float m = sum / len;
    sig[idx].mean = ref + m;
    sig[idx].stdev = sqrtf(fmaxf(sq / len - m * m, 0.f));
}

__global__ void true_range(const Bar *bars, Signal *sig)
{
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= TOTAL_BARS) return;
    int pos = idx % BARS_PER_SYMBOL;
    float h = bars[idx].high, l = bars[idx].low;
    float prev = pos > 0 ? bars[idx - 1].close : bars[idx].open;
    sig[idx].range = fmaxf(h - l, fmaxf(fabsf(h - prev), fabsf(l - prev)));
}

__global__ void decide(const Bar *bars, Signal *sig, float width)
{
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= TOTAL_BARS) return;
    Signal s = sig[idx];
    float c = bars[idx].close;
    float up = s.mean + width * s.stdev + 0.01f * s.range;
    float dn = s.mean - width * s.stdev - 0.01f * s.range;
    s.action = c > up ? -1 : (c < dn ? 1 : 0);
    s.regime = s.range > 2.f * s.stdev ? 1 : 0;
    s.strength = (int16_t)(100.f * s.range / (s.stdev + 0.01f) > 3000.f ? 3000 : 1);
    sig[idx] = s;
}

// sequential recurrences: one thread walks a whole symbol
__global__ void walk_symbol(const Bar *bars, SymbolStats *stats, float alpha)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= NUM_SYMBOLS) return;
    const Bar *b = bars + (size_t)s * BARS_PER_SYMBOL;
    float ema = b[0].close;
    float peak = ema, worst = 0.f;
    int cross = 0;
    bool above = false;
    for (int i = 1; i < BARS_PER_SYMBOL; ++i) {
        float c = b[i].close;
        ema += alpha * (c - ema);
        peak = fmaxf(peak, c);
        worst = fmaxf(worst, 1.f - c / peak);
        bool now = c > ema + 0.5f * b[i].spread;
        cross += now != above;
        above = now;
    }
    stats[s].ema = ema;
    stats[s].max_drawdown = worst;
    stats[s].crossings = cross;
}

// one block per symbol
__global__ void volume_profile(const Bar *bars, SymbolStats *stats)
{
    __shared__ double notional[128];
    __shared__ double volume[128];
    __shared__ int trades[128];
    int t = threadIdx.x;
    const Bar *b = bars + (size_t)blockIdx.x * BARS_PER_SYMBOL;
    double n = 0, v = 0;
    int k = 0;
    for (int i = t; i < BARS_PER_SYMBOL; i += blockDim.x) {
        n += (double)b[i].vwap * b[i].volume;
        v += b[i].volume;
        k += b[i].trades;
    }
    notional[t] = n; volume[t] = v; trades[t] = k;
    __syncthreads();
    for (int half = 64; half > 0; half >>= 1) {
        if (t < half) {
            notional[t] += notional[t + half];
            volume[t] += volume[t + half];
            trades[t] += trades[t + half];
        }
        __syncthreads();
    }
    if (t == 0) {
        stats[blockIdx.x].notional = notional[0];
        stats[blockIdx.x].volume = volume[0];
        stats[blockIdx.x].trades = trades[0];
    }
}

static void make_bars(std::vector<Bar> &bars)
{
    uint64_t st = 88172645463325252ull;
    auto next = [&st]() {
        st ^= st << 13; st ^= st >> 7; st ^= st << 17;
        return (st >> 40) * (1.0f / 16777216.0f);
    };
    for (int s = 0; s < NUM_SYMBOLS; ++s) {
        float price = 20.f + 180.f * next();
        for (int i = 0; i < BARS_PER_SYMBOL; ++i) {
            Bar &b = bars[(size_t)s * BARS_PER_SYMBOL + i];
            b.time_ns = 1700000000000000000ll + i * 60000000000ll;
            b.open = price;
            price *= 1.f + 0.004f * (next() - 0.5f);
            b.close = price;
            float j = next();
            b.high = std::fmax(b.open, b.close) * (1.f + 0.001f * j);
            b.low = std::fmin(b.open, b.close) * (1.f - 0.001f * j);
            b.volume = 100 + (uint32_t)(5000.f * next());
            b.trades = 1 + b.volume / 90;
            b.vwap = 0.5f * (b.high + b.low);
            b.spread = 0.01f + 0.02f * j;
        }
    }
}

int main()
{
    std::vector<Bar> bars(TOTAL_BARS);
    make_bars(bars);
    Bar *d_bars; Signal *d_sig; SymbolStats *d_stats;
    GPU(cudaMalloc((void **)&d_bars, sizeof(Bar) * TOTAL_BARS));
    GPU(cudaMalloc((void **)&d_sig, sizeof(Signal) * TOTAL_BARS));
    GPU(cudaMalloc((void **)&d_stats, sizeof(SymbolStats) * NUM_SYMBOLS));
    GPU(cudaMemcpy(d_bars, bars.data(), sizeof(Bar) * TOTAL_BARS, cudaMemcpyHostToDevice));
    GPU(cudaMemset(d_sig, 0, sizeof(Signal) * TOTAL_BARS));
    GPU(cudaMemset(d_stats, 0, sizeof(SymbolStats) * NUM_SYMBOLS));

    const int tpb = 256, nb = (TOTAL_BARS + tpb - 1) / tpb;
    const int repeats = 100;
    cudaEvent_t a, b;
    GPU(cudaEventCreate(&a)); GPU(cudaEventCreate(&b));
    for (int r = -3; r < repeats; ++r) {
        if (r == 0) GPU(cudaEventRecord(a));
        bollinger<<<nb, tpb>>>(d_bars, d_sig);
        true_range<<<nb, tpb>>>(d_bars, d_sig);
        decide<<<nb, tpb>>>(d_bars, d_sig, 1.8f);
        walk_symbol<<<(NUM_SYMBOLS + 63) / 64, 64>>>(d_bars, d_stats, 0.05f);
        volume_profile<<<NUM_SYMBOLS, 128>>>(d_bars, d_stats);
    }
    GPU(cudaEventRecord(b));
    GPU(cudaEventSynchronize(b));
    GPU(cudaGetLastError());
    float ms = 0.f;
    GPU(cudaEventElapsedTime(&ms, a, b));

    std::vector<Signal> sig(TOTAL_BARS);
    std::vector<SymbolStats> stats(NUM_SYMBOLS);
    GPU(cudaMemcpy(sig.data(), d_sig, sizeof(Signal) * TOTAL_BARS, cudaMemcpyDeviceToHost));
    GPU(cudaMemcpy(stats.data(), d_stats, sizeof(SymbolStats) * NUM_SYMBOLS, cudaMemcpyDeviceToHost));
    double mean = 0, sd = 0, rg = 0, act = 0, ema = 0, dd = 0, nt = 0;
    long long tr = 0;
    for (const Signal &s : sig) { mean += s.mean; sd += s.stdev; rg += s.range; act += s.action * s.action; }
    for (const SymbolStats &s : stats) { ema += s.ema; dd += s.max_drawdown; nt += s.notional; tr += s.trades; }
    std::printf("check mean %.6g\ncheck stdev %.5g\ncheck range %.6g\ncheck actions %.4g\n", mean, sd, rg, act);
    std::printf("check ema %.6g\ncheck drawdown %.5g\ncheck notional %.6g\ncheck trades %lld\n", ema, dd, nt, tr);
    std::printf("time_ms %.5f\n", ms / repeats);
    GPU(cudaFree(d_bars)); GPU(cudaFree(d_sig)); GPU(cudaFree(d_stats));
    return 0;
}
