// sleep_hmm.cu -- Viterbi decoding of sleep stages for many recorded nights.
// Lattice layout: [epoch][night][state].
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

#define CUDACHECK(cmd) do { cudaError_t rc_ = cmd; if (rc_ != cudaSuccess) {       \
    printf("Failed: Cuda error line %d '%s'\n", __LINE__, cudaGetErrorString(rc_)); \
    exit(EXIT_FAILURE); } } while (0)

const int NUM_STATES = 8;    // wake, drowsy, N1, N2, N2 spindle, N3, REM tonic, REM phasic
const int NUM_STAGES = 5;    // wake, N1, N2, N3, REM

struct Epoch {               // features of 30 s of polysomnogram
  float delta, theta, sigma, beta;   // log band powers
  float emg, eog;
  float heart_rate;
  int   artifact;
};

struct LatticeNode {
  float score;
  float dwell;               // epochs spent in the state along the best path
  int   from;
  int   switches;            // number of changes along the best path
};

struct NightSummary {
  int   stage_epochs[NUM_STAGES];
  int   switches;
  int   rem_latency;         // first REM epoch, -1 when there is none
  float log_likelihood;
  float mean_heart;
  int   group;
};

struct EmissionModel {       // one per hidden state
  float mu[6];
  float inv_sigma, offset;
};

struct GroupReport {
  int   nights;
  int   deep_epochs;
  int   latency_sum;
  float likelihood;
};

__constant__ EmissionModel kEmission[NUM_STATES];
__constant__ float kTransition[NUM_STATES * NUM_STATES];
__constant__ int kStageOf[NUM_STATES];

__device__ float emission(const Epoch& e, int state, float sharpness) {
  if (e.artifact) return -4.0f;
  const EmissionModel& m = kEmission[state];
  float d0 = e.delta - m.mu[0], d1 = e.theta - m.mu[1], d2 = e.sigma - m.mu[2];
  float d3 = e.beta - m.mu[3], d4 = e.emg - m.mu[4], d5 = e.eog - m.mu[5];
  float q = d0 * d0 + d1 * d1 + d2 * d2 + d3 * d3 + d4 * d4 + d5 * d5;
  return m.offset - 0.5f * sharpness * q * m.inv_sigma;
}

__global__ void start_lattice(LatticeNode* lattice, const Epoch* epochs, int nights, int T, float sharpness) {
  int tid = blockIdx.x * blockDim.x + threadIdx.x;
  if (tid >= nights * NUM_STATES) return;
  int night = tid / NUM_STATES, s = tid % NUM_STATES;
  LatticeNode node;
  node.score = emission(epochs[night * T], s, sharpness) - (s < 2 ? 0.7f : 3.0f);
  node.dwell = 1.0f;
  node.from = -1;
  node.switches = 0;
  lattice[tid] = node;
}

__global__ void forward_step(LatticeNode* lattice, const Epoch* epochs, int nights, int T, int t,
                             float sharpness, float dwell_bonus) {
  int tid = blockIdx.x * blockDim.x + threadIdx.x;
  if (tid >= nights * NUM_STATES) return;
  int night = tid / NUM_STATES, s = tid % NUM_STATES;
  const LatticeNode* prev = lattice + ((size_t)(t - 1) * nights + night) * NUM_STATES;
  LatticeNode* cur = lattice + ((size_t)t * nights + night) * NUM_STATES + s;

  float best = -1e30f;
  int arg = 0;
  for (int p = 0; p < NUM_STATES; ++p) {
    float sc = prev[p].score + kTransition[p * NUM_STATES + s];
    if (p == s) sc += dwell_bonus * fminf(prev[p].dwell, 10.0f);
    if (sc > best) { best = sc; arg = p; }
  }
  cur->score = best + emission(epochs[night * T + t], s, sharpness);
  cur->from = arg;
  cur->dwell = arg == s ? prev[arg].dwell + 1.0f : 1.0f;
  cur->switches = prev[arg].switches + (arg != s);
}

__global__ void trace_back(const LatticeNode* lattice, const Epoch* epochs, NightSummary* out, int nights, int T) {
  int night = blockIdx.x * blockDim.x + threadIdx.x;
  if (night >= nights) return;
  NightSummary* sum = &out[night];
  for (int k = 0; k < NUM_STAGES; ++k) sum->stage_epochs[k] = 0;

  const LatticeNode* last = lattice + ((size_t)(T - 1) * nights + night) * NUM_STATES;
  int state = 0;
  for (int s = 1; s < NUM_STATES; ++s)
    if (last[s].score > last[state].score) state = s;
  sum->log_likelihood = last[state].score;
  sum->switches = last[state].switches;

  int rem = -1;
  float heart = 0.0f;
  for (int t = T - 1; t >= 0; --t) {
    int stage = kStageOf[state];
    sum->stage_epochs[stage] += 1;
    if (stage == 4) rem = t;
    if (stage != 0) heart += epochs[night * T + t].heart_rate;
    state = lattice[((size_t)t * nights + night) * NUM_STATES + state].from;
  }
  int asleep = T - sum->stage_epochs[0];
  sum->rem_latency = rem;
  sum->mean_heart = asleep > 0 ? heart / asleep : 0.0f;
}

__global__ void group_report(const NightSummary* nights_in, GroupReport* rep, int nights) {
  int night = blockIdx.x * blockDim.x + threadIdx.x;
  if (night >= nights) return;
  const NightSummary& s = nights_in[night];
  GroupReport& g = rep[s.group];
  atomicAdd(&g.nights, 1);
  atomicAdd(&g.deep_epochs, s.stage_epochs[3]);
  if (s.rem_latency >= 0) atomicAdd(&g.latency_sum, s.rem_latency);
  atomicAdd(&g.likelihood, s.log_likelihood);
}

static unsigned g_seed = 2718u;
static float urand() { g_seed = g_seed * 1664525u + 1013904223u; return (g_seed >> 8) * (1.0f / 16777216.0f); }

int main(int argc, char** argv) {
  int nights = argc > 1 ? atoi(argv[1]) : 32768;
  const int T = 96, groups = 40;

  EmissionModel em[NUM_STATES];
  float trans[NUM_STATES * NUM_STATES];
  int stage_of[NUM_STATES] = {0, 0, 1, 2, 2, 3, 4, 4};
  for (int s = 0; s < NUM_STATES; ++s) {
    for (int f = 0; f < 6; ++f) em[s].mu[f] = 1.5f * sinf(1.3f * s + 0.9f * f) + (f == 0 && s == 5 ? 1.0f : 0.0f);
    em[s].inv_sigma = 0.5f + 0.05f * s;
    em[s].offset = -0.1f * s;
    for (int p = 0; p < NUM_STATES; ++p)
      trans[p * NUM_STATES + s] = p == s ? -0.15f : -1.8f - 0.35f * abs(p - s);
  }
  CUDACHECK(cudaMemcpyToSymbol(kEmission, em, sizeof(em)));
  CUDACHECK(cudaMemcpyToSymbol(kTransition, trans, sizeof(trans)));
  CUDACHECK(cudaMemcpyToSymbol(kStageOf, stage_of, sizeof(stage_of)));

  std::vector<Epoch> epochs((size_t)nights * T);
  std::vector<NightSummary> sums(nights);
  for (int n = 0; n < nights; ++n) {
    int s = 0;
    sums[n] = NightSummary{{0, 0, 0, 0, 0}, 0, -1, 0.0f, 0.0f, (n * 11) % groups};
    for (int t = 0; t < T; ++t) {
      float u = urand();
      if (u < 0.12f) s = (s + 1) % NUM_STATES; else if (u < 0.18f) s = (s + NUM_STATES - 1) % NUM_STATES;
      Epoch& e = epochs[(size_t)n * T + t];
      e.delta = em[s].mu[0] + 2.0f * (urand() - 0.5f);
      e.theta = em[s].mu[1] + 2.0f * (urand() - 0.5f);
      e.sigma = em[s].mu[2] + 2.0f * (urand() - 0.5f);
      e.beta = em[s].mu[3] + 2.0f * (urand() - 0.5f);
      e.emg = em[s].mu[4] + 2.0f * (urand() - 0.5f);
      e.eog = em[s].mu[5] + 2.0f * (urand() - 0.5f);
      e.heart_rate = 50.0f + 3.0f * (7 - s) + 4.0f * urand();
      e.artifact = u > 0.98f;
    }
  }

  Epoch* d_epochs; LatticeNode* d_lattice; NightSummary* d_sums; GroupReport* d_rep;
  CUDACHECK(cudaMalloc(&d_epochs, epochs.size() * sizeof(Epoch)));
  CUDACHECK(cudaMalloc(&d_lattice, (size_t)nights * T * NUM_STATES * sizeof(LatticeNode)));
  CUDACHECK(cudaMalloc(&d_sums, nights * sizeof(NightSummary)));
  CUDACHECK(cudaMalloc(&d_rep, groups * sizeof(GroupReport)));
  CUDACHECK(cudaMemcpy(d_epochs, epochs.data(), epochs.size() * sizeof(Epoch), cudaMemcpyHostToDevice));
  CUDACHECK(cudaMemcpy(d_sums, sums.data(), nights * sizeof(NightSummary), cudaMemcpyHostToDevice));

  const float sharpness[] = {0.5f, 1.0f, 2.0f, 4.0f};
  int cells = nights * NUM_STATES;
  auto decode = [&](float sharp, float bonus) {
    start_lattice<<<(cells + 255) / 256, 256>>>(d_lattice, d_epochs, nights, T, sharp);
    for (int t = 1; t < T; ++t)
      forward_step<<<(cells + 255) / 256, 256>>>(d_lattice, d_epochs, nights, T, t, sharp, bonus);
    trace_back<<<(nights + 127) / 128, 128>>>(d_lattice, d_epochs, d_sums, nights, T);
    group_report<<<(nights + 127) / 128, 128>>>(d_sums, d_rep, nights);
  };
  decode(1.0f, 0.01f);
  CUDACHECK(cudaMemset(d_rep, 0, groups * sizeof(GroupReport)));
  CUDACHECK(cudaDeviceSynchronize());

  cudaEvent_t ev[2];
  for (auto& e : ev) CUDACHECK(cudaEventCreate(&e));
  CUDACHECK(cudaEventRecord(ev[0]));
  for (float sharp : sharpness)
    for (int k = 0; k < 3; ++k) decode(sharp, 0.01f * (k + 1));
  CUDACHECK(cudaEventRecord(ev[1]));
  CUDACHECK(cudaEventSynchronize(ev[1]));
  CUDACHECK(cudaGetLastError());
  float ms = 0;
  CUDACHECK(cudaEventElapsedTime(&ms, ev[0], ev[1]));

  std::vector<GroupReport> rep(groups);
  CUDACHECK(cudaMemcpy(sums.data(), d_sums, nights * sizeof(NightSummary), cudaMemcpyDeviceToHost));
  CUDACHECK(cudaMemcpy(rep.data(), d_rep, groups * sizeof(GroupReport), cudaMemcpyDeviceToHost));
  double ll = 0, heart = 0, stage = 0, sw = 0, glik = 0, deep = 0;
  for (auto& s : sums) {
    ll += s.log_likelihood; heart += s.mean_heart; sw += s.switches;
    for (int k = 0; k < NUM_STAGES; ++k) stage += (k + 1.0) * s.stage_epochs[k];
  }
  for (auto& g : rep) { glik += g.likelihood; deep += g.deep_epochs + g.latency_sum; }
  printf("check loglik %.2e\ncheck heart %.2e\ncheck stages %.0f\ncheck switches %.0f\n", ll, heart, stage, sw);
  printf("check group_loglik %.2e\ncheck group_epochs %.0f\ntime_ms %.4f\n", glik, deep, ms);
  return 0;
}
