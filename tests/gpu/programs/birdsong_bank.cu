// birdsong_bank: a bank of band-pass filters (cascaded biquads) over many field
// recorders, with an onset detector per (recorder, band) and a vote per species.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>

#define gpuErrchk(ans) { gpuAssert((ans), __FILE__, __LINE__); }
inline void gpuAssert(cudaError_t code, const char *file, int line)
{
  if (code != cudaSuccess) {
    fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line);
    exit(code);
  }
}

#define BANDS     64
#define SECTIONS  4
#define BLOCK_LEN 32
#define SPECIES   12
#define RATE      22050.0f

struct Biquad {
  float b0, b1, b2, a1, a2;
  float z1, z2;
  float gain;
};

struct BandStat {
  float envelope;
  float noise;
  float peak;
  float energy;
  int   onsets;
  int   hold;      // blocks until the next onset may fire
};

struct BandDef {
  float centre;
  float detune;
  float ratio;     // onset when envelope > ratio * noise
  int   species;
};

struct SpeciesVote {
  int   onsets;
  float energy;
};

__constant__ BandDef c_bands[BANDS];

__device__ __forceinline__ void designSection(Biquad *q, float freq, float Q)
{
  float w0 = 6.2831853f * freq / RATE;
  float alpha = sinf(w0) / (2.0f * Q);
  float inv = 1.0f / (1.0f + alpha);
  q->b0 = alpha * inv;
  q->b1 = 0.0f;
  q->b2 = -alpha * inv;
  q->a1 = -2.0f * cosf(w0) * inv;
  q->a2 = (1.0f - alpha) * inv;
  q->z1 = 0.0f;
  q->z2 = 0.0f;
}

// transposed direct form II
__device__ __forceinline__ float tick(const Biquad &q, float x, float &z1, float &z2)
{
  float y = q.b0 * x + z1;
  z1 = q.b1 * x - q.a1 * y + z2;
  z2 = q.b2 * x - q.a2 * y;
  return y * q.gain;
}

__global__ void designBank(Biquad *bank, BandStat *stats, int channels, float Q)
{
  int ch = blockIdx.x * blockDim.x + threadIdx.x;
  if (ch >= channels) return;
  const BandDef &def = c_bands[ch % BANDS];
  for (int s = 0; s < SECTIONS; ++s) {
    float f = def.centre * (1.0f + def.detune * (s - 1.5f));
    designSection(&bank[ch * SECTIONS + s], f, Q);
    bank[ch * SECTIONS + s].gain = 1.0f + 0.1f * s;
  }
  stats[ch].envelope = 0.0f; stats[ch].noise = 1e-3f; stats[ch].hold = 0;
}

__global__ void filterBlock(Biquad *bank, BandStat *stats, const float *audio,
                            int channels, int samples, int start)
{
  int ch = blockIdx.x * blockDim.x + threadIdx.x;
  if (ch >= channels) return;
  const float *in = audio + (size_t)(ch / BANDS) * samples + start;
  float buf[BLOCK_LEN];
#pragma unroll
  for (int k = 0; k < BLOCK_LEN; ++k) buf[k] = in[k];

  for (int s = 0; s < SECTIONS; ++s) {
    Biquad &q = bank[ch * SECTIONS + s];
    float z1 = q.z1, z2 = q.z2;
#pragma unroll
    for (int k = 0; k < BLOCK_LEN; ++k) buf[k] = tick(q, buf[k], z1, z2);
    q.z1 = z1; q.z2 = z2;
  }

  float e = 0.0f, pk = 0.0f;
#pragma unroll
  for (int k = 0; k < BLOCK_LEN; ++k) {
    e += buf[k] * buf[k];
    pk = fmaxf(pk, fabsf(buf[k]));
  }
  stats[ch].energy += e;
  stats[ch].peak = fmaxf(stats[ch].peak, pk);
  stats[ch].envelope = 0.6f * stats[ch].envelope + 0.4f * sqrtf(e / BLOCK_LEN);
}

__global__ void detectOnsets(BandStat *stats, int channels)
{
  int ch = blockIdx.x * blockDim.x + threadIdx.x;
  if (ch >= channels) return;
  BandStat *st = stats + ch;
  if (st->hold > 0) {
    st->hold -= 1;
  } else if (st->envelope > c_bands[ch % BANDS].ratio * st->noise) {
    st->onsets += 1;
    st->hold = 3;
  }
  st->noise = 0.95f * st->noise + 0.05f * st->envelope;
}

__global__ void voteSpecies(const BandStat *stats, SpeciesVote *votes, int channels)
{
  __shared__ int   sOnsets[SPECIES];
  __shared__ float sEnergy[SPECIES];
  if (threadIdx.x < SPECIES) { sOnsets[threadIdx.x] = 0; sEnergy[threadIdx.x] = 0.0f; }
  __syncthreads();
  int ch = blockIdx.x * blockDim.x + threadIdx.x;
  if (ch < channels) {
    int sp = c_bands[ch % BANDS].species;
    atomicAdd(&sOnsets[sp], stats[ch].onsets);
    atomicAdd(&sEnergy[sp], stats[ch].energy);
  }
  __syncthreads();
  if (threadIdx.x < SPECIES) {
    atomicAdd(&votes[threadIdx.x].onsets, sOnsets[threadIdx.x]);
    atomicAdd(&votes[threadIdx.x].energy, sEnergy[threadIdx.x]);
  }
}

int main(int argc, char *argv[])
{
  int recorders = argc > 1 ? atoi(argv[1]) : 8192;
  const int blocksPerPass = 12;
  const int samples = BLOCK_LEN * blocksPerPass;
  const int channels = recorders * BANDS;

  BandDef bands[BANDS];
  for (int b = 0; b < BANDS; ++b) {
    bands[b].centre = 800.0f * powf(1.035f, (float)b);
    bands[b].detune = 0.004f + 0.0001f * b;
    bands[b].ratio = 1.5f + 0.02f * (b % 10);
    bands[b].species = (b * 7) % SPECIES;
  }
  gpuErrchk(cudaMemcpyToSymbol(c_bands, bands, sizeof(bands)));

  std::vector<float> audio((size_t)recorders * samples);
  unsigned seed = 4242u;
  for (int r = 0; r < recorders; ++r) {
    float f = bands[(r * 13) % BANDS].centre, chirp = 0.2f * (r % 9);
    for (int k = 0; k < samples; ++k) {
      seed = seed * 1664525u + 1013904223u;
      float noise = (float)(seed >> 8) / 8388608.0f - 1.0f;
      float gate = ((k / 70 + r) % 3 == 0) ? 1.0f : 0.05f;
      audio[(size_t)r * samples + k] = 0.1f * noise + gate * sinf(6.2831853f * (f + chirp * k) * k / RATE);
    }
  }

  Biquad *dBank; BandStat *dStats; SpeciesVote *dVotes; float *dAudio;
  gpuErrchk(cudaMalloc(&dBank, (size_t)channels * SECTIONS * sizeof(Biquad)));
  gpuErrchk(cudaMalloc(&dStats, (size_t)channels * sizeof(BandStat)));
  gpuErrchk(cudaMalloc(&dVotes, SPECIES * sizeof(SpeciesVote)));
  gpuErrchk(cudaMalloc(&dAudio, audio.size() * sizeof(float)));
  gpuErrchk(cudaMemcpy(dAudio, audio.data(), audio.size() * sizeof(float), cudaMemcpyHostToDevice));

  const int tpb = 128, grid = (channels + tpb - 1) / tpb;
  const float qs[] = {3.0f, 6.0f, 12.0f};
  float ms = 0.0f;
  cudaEvent_t start, stop;
  gpuErrchk(cudaEventCreate(&start)); gpuErrchk(cudaEventCreate(&stop));
  for (int round = 0; round < 2; ++round) {          // round 0 is the warm-up
    gpuErrchk(cudaMemset(dStats, 0, (size_t)channels * sizeof(BandStat)));
    gpuErrchk(cudaMemset(dVotes, 0, SPECIES * sizeof(SpeciesVote)));
    gpuErrchk(cudaEventRecord(start));
    for (int iq = 0; iq < (round ? 3 : 1); ++iq) {
      designBank<<<grid, tpb>>>(dBank, dStats, channels, qs[iq]);
      for (int b = 0; b < blocksPerPass; ++b) {
        filterBlock<<<grid, tpb>>>(dBank, dStats, dAudio, channels, samples, b * BLOCK_LEN);
        detectOnsets<<<grid, tpb>>>(dStats, channels);
      }
      voteSpecies<<<grid, tpb>>>(dStats, dVotes, channels);
    }
    gpuErrchk(cudaEventRecord(stop));
    gpuErrchk(cudaEventSynchronize(stop));
    gpuErrchk(cudaGetLastError());
    gpuErrchk(cudaEventElapsedTime(&ms, start, stop));
  }

  std::vector<BandStat> stats(channels);
  SpeciesVote votes[SPECIES];
  gpuErrchk(cudaMemcpy(stats.data(), dStats, (size_t)channels * sizeof(BandStat), cudaMemcpyDeviceToHost));
  gpuErrchk(cudaMemcpy(votes, dVotes, sizeof(votes), cudaMemcpyDeviceToHost));
  double energy = 0, peaks = 0, onsets = 0, vote = 0, venergy = 0;
  for (const BandStat &s : stats) { energy += s.energy; peaks += s.peak; onsets += s.onsets; }
  for (int k = 0; k < SPECIES; ++k) { vote += (k + 1.0) * votes[k].onsets; venergy += votes[k].energy; }
  printf("check energy %.2e\ncheck peaks %.2e\ncheck onsets %.3e\n", energy, peaks, onsets);
  printf("check votes %.0f\ncheck vote_energy %.2e\n", vote, venergy);
  printf("time_ms %.4f\n", ms);
  cudaFree(dBank); cudaFree(dStats); cudaFree(dVotes); cudaFree(dAudio);
  return 0;
}
