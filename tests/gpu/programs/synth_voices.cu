// Offline rendering of a huge additive / subtractive synthesiser: every voice has
// four oscillators, an ADSR envelope and a filter.  Voices belong to channels that
// are mixed down block by block.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include "cuda_runtime.h"

#define GPU(call)                                                                        \
    if (cudaError_t e = (call)) {                                                        \
        fprintf(stderr, "%s -> %s (line %d)\n", #call, cudaGetErrorString(e), __LINE__); \
        exit(1);                                                                         \
    }

static constexpr int VOICES = 65536;
static constexpr int PER_CHANNEL = 512;
static constexpr int CHANNELS = VOICES / PER_CHANNEL;
static constexpr int BLOCK = 64; // samples per control tick
static constexpr float RATE = 48000.0f;

struct Oscillator {
    float phase, step; // 0..1, cycles per sample
    float level, detune;
};

enum Stage { ATTACK, DECAY, SUSTAIN, RELEASE, OFF };

struct Envelope {
    float attack, decay, sustain, release; // per tick
    float value;
    int stage, ticks, hold;

    __host__ __device__ void advance()
    {
        ++ticks;
        switch (stage) {
        case ATTACK:
            value += attack;
            if (value >= 1.0f) { value = 1.0f; stage = DECAY; }
            break;
        case DECAY:
            value -= decay;
            if (value <= sustain) { value = sustain; stage = SUSTAIN; }
            break;
        case SUSTAIN:
            if (ticks >= hold) stage = RELEASE;
            break;
        case RELEASE:
            value -= release;
            if (value <= 0.0f) { value = 0.0f; stage = OFF; }
            break;
        default: break;
        }
    }
};

struct Filter {
    float z[2];
    float cutoff, resonance;
    float g, k;
};

struct Voice {
    Oscillator osc[4];
    Envelope amp;
    Envelope mod;
    Filter filter;
    float gain, gainStep, velocity;
    float lfoPhase, lfoStep, pan;
    int note, channel;
    unsigned seed;
};

struct Channel {
    float gain, peak, energy;
    int sounding;
};

__device__ inline float noteFrequency(int note) { return 440.0f * exp2f((float)(note - 69) * (1.0f / 12.0f)); }

// Starts a new note on voices that have died away.
__global__ void allocateNotes(Voice *voices, int count, int tick)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= count) return;
    Voice &me = voices[v];
    if (me.amp.stage != OFF) return;
    unsigned s = me.seed * 1664525u + 1013904223u + (unsigned)tick;
    me.seed = s;
    me.note = 36 + (int)((s >> 16) % 48u);
    me.velocity = 0.3f + 0.7f * (float)((s >> 8) & 255u) / 255.0f;
    me.amp.stage = me.mod.stage = ATTACK;
    me.amp.ticks = me.mod.ticks = 0;
    me.mod.value = 0.0f;
    for (int o = 0; o < 4; ++o) me.osc[o].phase = 0.0f;
}

__global__ void controlTick(Voice *voices, int count)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= count) return;
    Voice *me = voices + v;
    float before = me->amp.value;
    me->amp.advance();
    me->mod.advance();
    me->gain = before * me->velocity;
    me->gainStep = (me->amp.value - before) * me->velocity / (float)BLOCK;

    me->lfoPhase += me->lfoStep;
    me->lfoPhase -= floorf(me->lfoPhase);
    float vibrato = 1.0f + 0.004f * sinf(6.2831853f * me->lfoPhase);
    float base = noteFrequency(me->note) * vibrato / RATE;
    for (int o = 0; o < 4; ++o) me->osc[o].step = base * me->osc[o].detune;

    float fc = me->filter.cutoff * (1.0f + 3.0f * me->mod.value);
    me->filter.g = tanf(3.14159265f * fminf(fc / RATE, 0.45f));
    me->filter.k = 2.0f - 1.8f * me->filter.resonance;
}

// Writes BLOCK samples per voice, sample-major so that neighbouring threads coalesce.
__global__ void renderVoices(Voice *voices, int count, float *samples, int pitch)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= count) return;
    Voice &me = voices[v];
    float *out = samples + v;
    if (me.amp.stage == OFF && me.gain == 0.0f) {
        for (int s = 0; s < BLOCK; ++s) out[(size_t)s * pitch] = 0.0f;
        return;
    }
    float phase[4];
    for (int o = 0; o < 4; ++o) phase[o] = me.osc[o].phase;
    float z0 = me.filter.z[0], z1 = me.filter.z[1];
    const float g = me.filter.g, k = me.filter.k;
    const float a1 = 1.0f / (1.0f + g * (g + k));
    float gain = me.gain;
    for (int s = 0; s < BLOCK; ++s) {
        float x = 0.0f;
        for (int o = 0; o < 4; ++o) {
            x += me.osc[o].level * sinf(6.2831853f * phase[o]);
            phase[o] += me.osc[o].step;
            if (phase[o] >= 1.0f) phase[o] -= 1.0f;
        }
        float hp = x - z1;
        float band = a1 * (z0 + g * hp);
        float low = z1 + g * band;
        z0 = 2.0f * band - z0;
        z1 = 2.0f * low - z1;
        out[(size_t)s * pitch] = low * gain;
        gain += me.gainStep;
    }
    for (int o = 0; o < 4; ++o) me.osc[o].phase = phase[o];
    me.filter.z[0] = z0;
    me.filter.z[1] = z1;
}

// One block per (channel, sample).
__global__ void mixChannel(const float *samples, int pitch, const Voice *voices,
                           const Channel *channels, float2 *bus)
{
    __shared__ float left[128], right[128];
    int ch = blockIdx.y, s = blockIdx.x;
    float l = 0.0f, r = 0.0f;
    for (int k = threadIdx.x; k < PER_CHANNEL; k += 128) {
        int v = ch * PER_CHANNEL + k;
        float x = samples[(size_t)s * pitch + v];
        l += x * (1.0f - voices[v].pan);
        r += x * voices[v].pan;
    }
    left[threadIdx.x] = l;
    right[threadIdx.x] = r;
    __syncthreads();
    for (int half = 64; half > 0; half >>= 1) {
        if (threadIdx.x < half) {
            left[threadIdx.x] += left[threadIdx.x + half];
            right[threadIdx.x] += right[threadIdx.x + half];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0)
        bus[ch * BLOCK + s] = make_float2(left[0] * channels[ch].gain, right[0] * channels[ch].gain);
}

__global__ void meter(const float2 *bus, const Voice *voices, Channel *channels)
{
    __shared__ int on;
    int ch = blockIdx.x;
    if (threadIdx.x == 0) on = 0;
    __syncthreads();
    for (int k = threadIdx.x; k < PER_CHANNEL; k += blockDim.x)
        if (voices[ch * PER_CHANNEL + k].amp.stage != OFF) atomicAdd(&on, 1);
    __syncthreads();
    if (threadIdx.x != 0) return;
    Channel &c = channels[ch];
    c.peak *= 0.9f;
    c.sounding = on;
    for (int s = 0; s < BLOCK; ++s) {
        float2 x = bus[ch * BLOCK + s];
        c.peak = fmaxf(c.peak, fmaxf(fabsf(x.x), fabsf(x.y)));
        c.energy += x.x * x.x + x.y * x.y;
    }
}

int main()
{
    unsigned lcg = 2024;
    auto rnd = [&lcg]() { lcg = lcg * 1103515245u + 12345u; return (float)(lcg >> 8) / 16777216.0f; };
    std::vector<Voice> voices(VOICES);
    for (int v = 0; v < VOICES; ++v) {
        Voice x{};
        for (int o = 0; o < 4; ++o) x.osc[o] = Oscillator{0.0f, 0.0f, 0.6f / (float)(o + 1), (float)(o + 1) * (0.997f + 0.006f * rnd())};
        x.amp = Envelope{0.15f + 0.8f * rnd(), 0.05f + 0.1f * rnd(), 0.3f + 0.4f * rnd(), 0.05f + 0.2f * rnd(), 0.0f, OFF, 0, 4 + (int)(rnd() * 12.0f)};
        x.mod = Envelope{0.3f, 0.1f, 0.2f, 0.1f, 0.0f, OFF, 0, 6};
        x.filter.cutoff = 300.0f + 2500.0f * rnd();
        x.filter.resonance = 0.7f * rnd();
        x.lfoStep = 0.005f + 0.01f * rnd();
        x.pan = rnd();
        x.channel = v / PER_CHANNEL;
        x.seed = (unsigned)v * 2654435761u;
        voices[v] = x;
    }
    std::vector<Channel> channels(CHANNELS, Channel{0.05f, 0.0f, 0.0f, 0});

    Voice *dVoices;
    Channel *dChannels;
    float *dSamples;
    float2 *dBus;
    GPU(cudaMalloc(&dVoices, sizeof(Voice) * VOICES));
    GPU(cudaMalloc(&dChannels, sizeof(Channel) * CHANNELS));
    GPU(cudaMalloc(&dSamples, sizeof(float) * VOICES * BLOCK));
    GPU(cudaMalloc(&dBus, sizeof(float2) * CHANNELS * BLOCK));
    GPU(cudaMemcpy(dVoices, voices.data(), sizeof(Voice) * VOICES, cudaMemcpyHostToDevice));
    GPU(cudaMemcpy(dChannels, channels.data(), sizeof(Channel) * CHANNELS, cudaMemcpyHostToDevice));

    const int reps = 20, tb = 64;
    cudaEvent_t t0, t1;
    GPU(cudaEventCreate(&t0));
    GPU(cudaEventCreate(&t1));
    for (int tick = 0; tick <= reps; ++tick) {
        if (tick == 1) GPU(cudaEventRecord(t0));
        allocateNotes<<<VOICES / tb, tb>>>(dVoices, VOICES, tick);
        controlTick<<<VOICES / tb, tb>>>(dVoices, VOICES);
        renderVoices<<<VOICES / tb, tb>>>(dVoices, VOICES, dSamples, VOICES);
        mixChannel<<<dim3(BLOCK, CHANNELS), 128>>>(dSamples, VOICES, dVoices, dChannels, dBus);
        meter<<<CHANNELS, 128>>>(dBus, dVoices, dChannels);
    }
    GPU(cudaEventRecord(t1));
    GPU(cudaEventSynchronize(t1));
    GPU(cudaGetLastError());
    float ms = 0.0f;
    GPU(cudaEventElapsedTime(&ms, t0, t1));
    GPU(cudaMemcpy(channels.data(), dChannels, sizeof(Channel) * CHANNELS, cudaMemcpyDeviceToHost));
    double energy = 0, peak = 0, on = 0;
    for (const Channel &c : channels) { energy += c.energy; peak += c.peak; on += c.sounding; }
    printf("check %.4g/%.4g/%.4f\n", energy, peak / CHANNELS, on / VOICES);
    printf("time_ms %.4f\n", ms / reps);
    return 0;
}
