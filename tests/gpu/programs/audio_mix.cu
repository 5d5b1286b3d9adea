// Offline renderer of many music sessions: wavetable voices with envelopes are
// summed to channels, and channels with automatic gain to 16-bit stereo.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

static void CudaOk(cudaError_t status, int line) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s:%d: %s\n", __FILE__, line, cudaGetErrorString(status));
  std::exit(1);
}
#define CUDA_OK(call) CudaOk((call), __LINE__)

constexpr int kFrames = 128;  // of an audio block
constexpr int kVoicesPerChannel = 32;
constexpr int kChannelsPerSession = 16;
constexpr int kTables = 48, kTableBits = 11, kTableSize = 1 << kTableBits;

enum Stage : unsigned char { kIdle, kAttack, kDecay, kSustain, kRelease };
struct Voice {
  uint32_t phase;
  uint32_t increment;
  float gain;
  float pan;
  float level, level_step;
  float attack, decay, sustain, release;
  uint32_t seed;
  int16_t blocks_left;
  uint8_t stage, wavetable;
};
struct TableSample {
  float value;
  float slope;  // to the next sample
};
struct Note {
  uint32_t increment;
  float loudness;
};
struct StereoSample {
  float left, right;
};
struct StereoPcm {
  int16_t left, right;
};
struct Channel {
  float fader;
  float balance;
  float ride;     // gain that keeps the peak below the ceiling
  uint32_t peak;  // bits of a float
  uint16_t clips;
  uint8_t mute, bus;
};

// A block of threads renders one channel, a thread one frame.
__global__ void __launch_bounds__(kFrames)
    RenderVoices(const Voice* voices, const TableSample* table, StereoSample* buses, Channel* channels) {
  const int channel = blockIdx.x;
  const int frame = threadIdx.x;
  StereoSample sum = {0.0f, 0.0f};
  for (int k = 0; k < kVoicesPerChannel; ++k) {
    const Voice& voice = voices[channel * kVoicesPerChannel + k];
    if (voice.stage == kIdle) continue;
    const uint32_t phase = voice.phase + voice.increment * frame;
    const uint32_t index = phase >> (32 - kTableBits);
    const float fraction = (phase & ((1u << (32 - kTableBits)) - 1)) * (1.0f / (1u << (32 - kTableBits)));
    const TableSample sample = table[voice.wavetable * kTableSize + index];
    const float level = voice.level + voice.level_step * frame;
    const float out = (sample.value + fraction * sample.slope) * level * voice.gain;
    sum.left += out * (1.0f - voice.pan);
    sum.right += out * voice.pan;
  }
  buses[channel * kFrames + frame] = sum;

  const float loudest = fmaxf(fabsf(sum.left), fabsf(sum.right));
  const unsigned peak = __reduce_max_sync(0xffffffffu, __float_as_uint(loudest));
  if (frame % 32 == 0) atomicMax(&channels[channel].peak, peak);
}

__global__ void RideChannels(Channel* channels, int count, float ceiling) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  Channel& c = channels[i];
  const float peak = __uint_as_float(c.peak) * c.fader;
  const float wanted = peak > ceiling ? ceiling / peak : 1.0f;
  if (wanted < c.ride) ++c.clips;
  c.ride += (wanted < c.ride ? 1.0f : 0.05f) * (wanted - c.ride);
  c.peak = 0;
}

__device__ inline int16_t ToPcm(float x) {
  return static_cast<int16_t>(__float2int_rn(fminf(fmaxf(x, -1.0f), 1.0f) * 32767.0f));
}

__global__ void MixSessions(const StereoSample* buses, const Channel* channels, StereoPcm* output) {
  const int session = blockIdx.x;
  const int frame = threadIdx.x;
  float left = 0.0f, right = 0.0f;
#pragma unroll 4
  for (int k = 0; k < kChannelsPerSession; ++k) {
    const int c = session * kChannelsPerSession + k;
    if (channels[c].mute) continue;
    const float gain = channels[c].fader * channels[c].ride;
    const float balance = channels[c].balance;
    const StereoSample& s = buses[c * kFrames + frame];
    left += s.left * gain * (1.0f - balance);
    right += s.right * gain * (1.0f + balance);
  }
  output[session * kFrames + frame] = {ToPcm(left), ToPcm(right)};
}

__device__ inline uint32_t NextRandom(uint32_t& state) {
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}

__device__ void NoteOn(Voice& voice, const Note* notes) {
  uint32_t seed = voice.seed;
  const Note note = notes[36 + NextRandom(seed) % 60];
  voice.phase = 0;
  voice.increment = note.increment + NextRandom(seed) % 4096;
  voice.gain = note.loudness * (0.25f + (NextRandom(seed) & 255) * (1.0f / 512));
  voice.blocks_left = static_cast<int16_t>(2 + NextRandom(seed) % 12);
  voice.stage = kAttack;
  voice.seed = seed;
}

// Moves the voices to the start of the next block of frames.
__global__ void AdvanceVoices(Voice* voices, int count, const Note* notes) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  Voice& v = voices[i];
  float level = v.level + v.level_step * kFrames;
  v.phase += v.increment * kFrames;
  if (v.stage == kIdle) {
    if (--v.blocks_left <= 0) NoteOn(v, notes);
    level = 0.0f;
  } else if (v.stage == kAttack && level >= 1.0f) {
    v.stage = kDecay;
    level = 1.0f;
  } else if (v.stage == kDecay && level <= v.sustain) {
    v.stage = kSustain;
    level = v.sustain;
  } else if (v.stage == kSustain && --v.blocks_left <= 0) {
    v.stage = kRelease;
  } else if (v.stage == kRelease && level <= 0.0f) {
    v.stage = kIdle;
    v.blocks_left = static_cast<int16_t>(1 + (v.seed >> 28));
    level = 0.0f;
  }
  v.level = level;
  v.level_step = v.stage == kAttack ? v.attack : v.stage == kDecay ? -v.decay : v.stage == kRelease ? -v.release : 0.0f;
}

static std::vector<TableSample> MakeTables() {
  std::vector<TableSample> table(kTables * kTableSize);
  for (int t = 0; t < kTables; ++t) {
    TableSample* wave = &table[t * kTableSize];
    for (int i = 0; i < kTableSize; ++i)
      for (int h = 1; h <= 1 + t % 12; ++h)
        wave[i].value += 0.5f * std::sin(6.2831853f * h * i / kTableSize + 0.3f * (t / 12) * h) / (t & 1 ? h : h * h);
    for (int i = 0; i < kTableSize; ++i) wave[i].slope = wave[(i + 1) % kTableSize].value - wave[i].value;
  }
  return table;
}

int main(int argc, char** argv) {
  constexpr int kSessionVoices = kVoicesPerChannel * kChannelsPerSession;
  const int wanted = argc > 1 ? std::atoi(argv[1]) : 2000000;
  const int sessions = (wanted + kSessionVoices - 1) / kSessionVoices;
  const int channel_count = sessions * kChannelsPerSession;
  const int voice_count = channel_count * kVoicesPerChannel;

  const std::vector<TableSample> table = MakeTables();
  std::vector<Note> notes(128);
  for (int k = 0; k < 128; ++k) {
    const double hertz = 440.0 * std::pow(2.0, (k - 69) / 12.0);
    notes[k] = {static_cast<uint32_t>(hertz / 48000.0 * 4294967296.0), 1.0f - k / 256.0f};
  }
  std::vector<Voice> voices(voice_count);
  std::vector<Channel> channels(channel_count);
  uint32_t seed = 99;
  auto uniform = [&seed] {
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) * (1.0f / 16777216);
  };
  for (int i = 0; i < voice_count; ++i) {
    Voice& v = voices[i];
    const int instrument = i / kVoicesPerChannel * 7 % kTables;
    v = {};
    v.pan = uniform();
    v.attack = 1.0f / (64 + 2000 * uniform());
    v.decay = 1.0f / (1000 + 6000 * uniform());
    v.sustain = 0.2f + 0.6f * uniform();
    v.release = 1.0f / (256 + 3000 * uniform());
    v.seed = seed;
    v.blocks_left = static_cast<int16_t>(1 + 12 * uniform());
    v.wavetable = static_cast<uint8_t>((instrument + (uniform() < 0.25f)) % kTables);
    if (uniform() < 0.7f) {  // already sounding
      v.stage = kSustain;
      v.level = v.sustain;
      v.phase = seed;
      v.increment = notes[36 + (seed >> 20) % 60].increment;
      v.gain = 0.1f + 0.5f * uniform();
    }
  }
  for (Channel& c : channels) {
    c = {0.05f + 0.1f * uniform(), 2 * uniform() - 1, 1.0f, 0, 0, 0, 0};
    c.mute = uniform() < 0.05f;
  }

  Voice* d_voices = nullptr;
  CUDA_OK(cudaMalloc(&d_voices, voices.size() * sizeof(Voice)));
  CUDA_OK(cudaMemcpy(d_voices, voices.data(), voices.size() * sizeof(Voice), cudaMemcpyHostToDevice));
  Channel* d_channels = nullptr;
  CUDA_OK(cudaMalloc(&d_channels, channels.size() * sizeof(Channel)));
  CUDA_OK(cudaMemcpy(d_channels, channels.data(), channels.size() * sizeof(Channel), cudaMemcpyHostToDevice));
  TableSample* d_table = nullptr;
  CUDA_OK(cudaMalloc(&d_table, table.size() * sizeof(TableSample)));
  CUDA_OK(cudaMemcpy(d_table, table.data(), table.size() * sizeof(TableSample), cudaMemcpyHostToDevice));
  Note* d_notes = nullptr;
  CUDA_OK(cudaMalloc(&d_notes, notes.size() * sizeof(Note)));
  CUDA_OK(cudaMemcpy(d_notes, notes.data(), notes.size() * sizeof(Note), cudaMemcpyHostToDevice));
  StereoSample* d_buses;
  StereoPcm* d_output;
  const size_t out_samples = static_cast<size_t>(sessions) * kFrames;
  CUDA_OK(cudaMalloc(&d_buses, out_samples * kChannelsPerSession * sizeof(StereoSample)));
  CUDA_OK(cudaMalloc(&d_output, out_samples * sizeof(StereoPcm)));

  auto step = [&] {
    RenderVoices<<<channel_count, kFrames>>>(d_voices, d_table, d_buses, d_channels);
    RideChannels<<<(channel_count + 127) / 128, 128>>>(d_channels, channel_count, 0.2f);
    MixSessions<<<sessions, kFrames>>>(d_buses, d_channels, d_output);
    AdvanceVoices<<<(voice_count + 255) / 256, 256>>>(d_voices, voice_count, d_notes);
    CUDA_OK(cudaGetLastError());
  };

  const int steps = 40;
  cudaEvent_t start, stop;
  CUDA_OK(cudaEventCreate(&start)); CUDA_OK(cudaEventCreate(&stop));
  step();
  CUDA_OK(cudaEventRecord(start));
  for (int s = 0; s < steps; ++s) step();
  CUDA_OK(cudaEventRecord(stop));
  CUDA_OK(cudaEventSynchronize(stop));
  float ms = 0;
  CUDA_OK(cudaEventElapsedTime(&ms, start, stop));

  std::vector<StereoPcm> output(out_samples);
  CUDA_OK(cudaMemcpy(output.data(), d_output, out_samples * sizeof(StereoPcm), cudaMemcpyDeviceToHost));
  CUDA_OK(cudaMemcpy(voices.data(), d_voices, voices.size() * sizeof(Voice), cudaMemcpyDeviceToHost));
  CUDA_OK(cudaMemcpy(channels.data(), d_channels, channels.size() * sizeof(Channel), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const StereoPcm& s : output) check = check * 31 + (s.left & 0xffff) + 3 * (s.right & 0xffff);
  for (const Voice& v : voices) check = check * 31 + v.phase + 3 * v.stage + 5 * (v.blocks_left & 0xffff);
  for (const Channel& c : channels) check = check * 31 + c.clips;
  std::printf("check %llu\ntime_ms %.4f\n", check, ms / steps);
  return 0;
}
