// Iterative spike sorting: every spike (NF features, one channel) is assigned to
// one of the UPS units of its shank, then the templates are re-estimated.
// Features are gain corrected per channel between the rounds.
//
//   ./spike_sort [spikes]

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cmath>
#include <vector>

#define NF        12            // features per spike
#define UPS       24            // units per shank
#define SHANKS    8
#define CHANNELS  128           // 16 per shank
#define NUNITS    (UPS * SHANKS)
#define FIX       1024.0f
#define CHUNK     4096          // spikes per block in the accumulation

#define OK(x) ok((x), #x, __LINE__)
static void ok(cudaError_t e, const char* what, int line)
{
  if (e == cudaSuccess) return;
  fprintf(stderr, "line %d: %s failed: %s\n", line, what, cudaGetErrorString(e));
  exit(2);
}

typedef struct {
  float feat[NF];
  float amp;                    // peak to peak, uV
  float dist;                   // Mahalanobis distance to its unit
  int   time;                   // sample number
  int   prev;                   // previous spike of the same channel, -1 if none
  short channel;
  unsigned char unit;           // within the shank, 255: noise
  unsigned char changes;        // how often it was relabelled
} Spike;

typedef struct {
  float mean[NF];
  float ivar[NF];
  float bias;                   // -2 log prior + log det
  int   members;
  int   violations;
  unsigned char alive;
} Unit;

typedef struct {
  long long sum[NF];
  long long dev[NF];
  int members;
  int violations;
} UnitSums;

typedef struct {
  float gain, drift;
  float noise;
  int   spikes;
  int   relabelled;
  long long ampSum;             // fixed point, 1/16 uV
} Channel;

// everything a kernel may want to see
struct SortState {
  Spike*    spikes;
  Unit*     units;
  UnitSums* sums;
  Channel*  channels;
  int       nspikes;
};

__device__ __forceinline__ int shankOf(int channel) { return channel >> 4; }

// small per-feature correction plus the gain of the channel
__global__ void alignSpikes(SortState st, float phase)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= st.nspikes) return;
  Spike* s = &st.spikes[i];
  const Channel* c = &st.channels[s->channel];
  float g = c->gain;
#pragma unroll
  for (int k = 0; k < NF; k++)
    s->feat[k] = s->feat[k] * g + c->drift * __sinf(phase + 0.5f * k);
  s->amp *= g;
}

template <int U>
__global__ void __launch_bounds__(256) assignSpikes(SortState st, float noiseLimit)
{
  __shared__ Unit table[U * SHANKS];
  // copy the templates word by word
  {
    const int words = U * SHANKS * (int)(sizeof(Unit) / sizeof(int));
    const int* src = (const int*)st.units;
    int* dst = (int*)table;
    for (int w = threadIdx.x; w < words; w += blockDim.x) dst[w] = src[w];
  }
  __syncthreads();

  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= st.nspikes) return;

  float f[NF];
  for (int k = 0; k < NF; k++) f[k] = st.spikes[i].feat[k];
  const int channel = st.spikes[i].channel;
  const Unit* mine = table + shankOf(channel) * U;

  float best = 1e30f, bestD = 0.0f;
  int   label = 255;
  for (int u = 0; u < U; u++) {
    if (!mine[u].alive) continue;
    float d = 0.0f;
    for (int k = 0; k < NF; k++) {
      float r = f[k] - mine[u].mean[k];
      d += r * r * mine[u].ivar[k];
    }
    float score = d + mine[u].bias;
    if (score < best) { best = score; bestD = d; label = u; }
  }
  if (bestD > noiseLimit) label = 255;

  if (label != st.spikes[i].unit) {
    st.spikes[i].unit = (unsigned char)label;
    if (st.spikes[i].changes < 255) st.spikes[i].changes++;
    atomicAdd(&st.channels[channel].relabelled, 1);
  }
  st.spikes[i].dist = bestD;
}

__device__ __forceinline__ void add64(long long* p, long long v)
{
  atomicAdd((unsigned long long*)p, (unsigned long long)v);
}

// a block sums up CHUNK spikes in shared memory, then adds to the global sums
__global__ void accumulate(SortState st)
{
  __shared__ int sum[NUNITS][NF];
  __shared__ int dev[NUNITS][NF];
  __shared__ int cnt[NUNITS];
  for (int k = threadIdx.x; k < NUNITS * NF; k += blockDim.x) {
    (&sum[0][0])[k] = 0;
    (&dev[0][0])[k] = 0;
  }
  for (int k = threadIdx.x; k < NUNITS; k += blockDim.x) cnt[k] = 0;
  __syncthreads();

  int begin = blockIdx.x * CHUNK;
  int end = begin + CHUNK < st.nspikes ? begin + CHUNK : st.nspikes;
  for (int i = begin + threadIdx.x; i < end; i += blockDim.x) {
    const Spike& s = st.spikes[i];
    if (s.unit == 255) continue;
    int u = shankOf(s.channel) * UPS + s.unit;
    for (int k = 0; k < NF; k++) {
      float x = s.feat[k];
      float r = x - st.units[u].mean[k];
      atomicAdd(&sum[u][k], __float2int_rn(fminf(fmaxf(x, -400.0f), 400.0f) * FIX));
      atomicAdd(&dev[u][k], __float2int_rn(fminf(r * r, 400.0f) * FIX));
    }
    atomicAdd(&cnt[u], 1);
    add64(&st.channels[s.channel].ampSum, __float2ll_rn(s.amp * 16.0f));
  }
  __syncthreads();

  for (int k = threadIdx.x; k < NUNITS * NF; k += blockDim.x) {
    int u = k / NF, f = k % NF;
    if (cnt[u] == 0) continue;
    add64(&st.sums[u].sum[f], sum[u][f]);
    add64(&st.sums[u].dev[f], dev[u][f]);
    if (f == 0) atomicAdd(&st.sums[u].members, cnt[u]);
  }
}

// refractory period: follow the chain of earlier spikes on the channel
__global__ void refractory(SortState st, int window)
{
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < st.nspikes;
       i += gridDim.x * blockDim.x) {
    const unsigned char unit = st.spikes[i].unit;
    if (unit == 255) continue;
    const int t = st.spikes[i].time;
    int j = st.spikes[i].prev;
    for (int hop = 0; hop < 4 && j >= 0; hop++) {
      if (t - st.spikes[j].time > window) break;
      if (st.spikes[j].unit == unit) {
        atomicAdd(&st.sums[shankOf(st.spikes[i].channel) * UPS + unit].violations, 1);
        break;
      }
      j = st.spikes[j].prev;
    }
  }
}

// one warp per unit; lanes 0..NF-1 own a feature each
__global__ void updateUnits(SortState st, int total)
{
  int u = blockIdx.x, k = threadIdx.x;
  Unit& unit = st.units[u];
  UnitSums& acc = st.sums[u];
  int m = acc.members;
  float logdet = 0.0f;
  if (k < NF) {
    if (m >= 20) {
      float mean = (float)((double)acc.sum[k] / m / FIX);
      float var = (float)((double)acc.dev[k] / m / FIX);
      unit.mean[k] = 0.5f * unit.mean[k] + 0.5f * mean;
      unit.ivar[k] = 1.0f / fmaxf(0.7f * var + 0.3f / unit.ivar[k], 0.05f);
    }
    logdet = -logf(unit.ivar[k]);
    acc.sum[k] = 0;
    acc.dev[k] = 0;
  }
  for (int o = 16; o > 0; o >>= 1) logdet += __shfl_down_sync(0xffffffffu, logdet, o);
  if (k == 0) {
    unit.bias = logdet - 2.0f * logf((m + 1.0f) / (total + NUNITS));
    unit.members = m;
    unit.violations += acc.violations;
    unit.alive = m >= 5 || unit.violations == 0;
    acc.members = 0;
    acc.violations = 0;
  }
}

__global__ void updateChannels(Channel* ch, int n)
{
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= n) return;
  float mean = ch[c].spikes ? (float)((double)ch[c].ampSum / ch[c].spikes / 16.0) : 80.0f;
  ch[c].gain = fminf(1.01f, fmaxf(0.99f, 1.0f + 0.02f * (80.0f - mean) / 80.0f));
  ch[c].drift = 0.05f * ch[c].noise;
  ch[c].ampSum = 0;
}

static unsigned lcg_state = 1u;
static float rnd(void)
{
  lcg_state = lcg_state * 1664525u + 1013904223u;
  return (lcg_state >> 8) / 16777216.0f;
}
static float gauss(void) { return (rnd() + rnd() + rnd() + rnd() - 2.0f) * 1.7320508f; }

template <class T> static T* toDevice(const std::vector<T>& v)
{
  T* d = NULL;
  OK(cudaMalloc(&d, v.size() * sizeof(T)));
  OK(cudaMemcpy(d, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
  return d;
}

int main(int argc, char** argv)
{
  int n = argc > 1 ? atoi(argv[1]) : 600000;
  if (n < 1000) n = 1000;
  const int warm = 3, rounds = 50;

  std::vector<Spike> spikes(n);
  std::vector<Unit> units(NUNITS);
  std::vector<UnitSums> sums(NUNITS);
  std::vector<Channel> channels(CHANNELS);
  memset(sums.data(), 0, sizeof(UnitSums) * sums.size());
  memset(channels.data(), 0, sizeof(Channel) * channels.size());
  memset(units.data(), 0, sizeof(Unit) * units.size());

  std::vector<float> truth(NUNITS * NF);
  for (int u = 0; u < NUNITS; u++) {
    for (int k = 0; k < NF; k++) {
      truth[u * NF + k] = 12.0f * (2.0f * rnd() - 1.0f) / (1.0f + 0.15f * k);
      units[u].mean[k] = truth[u * NF + k] + 2.0f * gauss();
      units[u].ivar[k] = 0.25f;
    }
    units[u].bias = 10.0f;
    units[u].alive = 1;
  }
  for (int c = 0; c < CHANNELS; c++) {
    channels[c].gain = 1.0f;
    channels[c].noise = 0.5f + rnd();
  }
  std::vector<int> last(CHANNELS, -1);
  int t = 0;
  for (int i = 0; i < n; i++) {
    Spike& s = spikes[i];
    t += (int)(4.0f * rnd());
    int c = (int)(rnd() * CHANNELS) % CHANNELS;
    int u = (c >> 4) * UPS + (int)(rnd() * rnd() * UPS) % UPS;
    for (int k = 0; k < NF; k++) s.feat[k] = truth[u * NF + k] + (1.0f + 0.3f * (u % 3)) * gauss();
    s.amp = 50.0f + 60.0f * rnd();
    s.dist = 0.0f;
    s.time = t;
    s.channel = (short)c;
    s.prev = last[c];
    s.unit = 255;
    s.changes = 0;
    last[c] = i;
    channels[c].spikes++;
  }

  SortState st;
  st.spikes = toDevice(spikes);
  st.units = toDevice(units);
  st.sums = toDevice(sums);
  st.channels = toDevice(channels);
  st.nspikes = n;

  cudaEvent_t a, b;
  OK(cudaEventCreate(&a));
  OK(cudaEventCreate(&b));
  const int grid = (n + 255) / 256;
  for (int r = 0; r < warm + rounds; r++) {
    if (r == warm) OK(cudaEventRecord(a, 0));
    alignSpikes<<<grid, 256>>>(st, 0.7f * r);
    assignSpikes<UPS><<<grid, 256>>>(st, 90.0f);
    accumulate<<<(n + CHUNK - 1) / CHUNK, 512>>>(st);
    refractory<<<264, 256>>>(st, 40);
    updateUnits<<<NUNITS, 32>>>(st, n);
    updateChannels<<<1, CHANNELS>>>(st.channels, CHANNELS);
  }
  OK(cudaEventRecord(b, 0));
  OK(cudaEventSynchronize(b));
  OK(cudaGetLastError());
  float ms;
  OK(cudaEventElapsedTime(&ms, a, b));

  OK(cudaMemcpy(spikes.data(), st.spikes, sizeof(Spike) * n, cudaMemcpyDeviceToHost));
  OK(cudaMemcpy(units.data(), st.units, sizeof(Unit) * NUNITS, cudaMemcpyDeviceToHost));
  OK(cudaMemcpy(channels.data(), st.channels, sizeof(Channel) * CHANNELS, cudaMemcpyDeviceToHost));

  unsigned long long labels = 0, relab = 0;
  long long feats = 0, means = 0, viol = 0;
  for (int i = 0; i < n; i++) {
    labels = labels * 257 + spikes[i].unit + spikes[i].changes;
    feats += llrintf(spikes[i].feat[i % NF] * 256.0f) + llrintf(spikes[i].dist * 16.0f);
  }
  for (int u = 0; u < NUNITS; u++) {
    for (int k = 0; k < NF; k++) means += llrintf(units[u].mean[k] * 4096.0f);
    viol += units[u].violations + (long long)units[u].members * (u + 1) + units[u].alive;
  }
  for (int c = 0; c < CHANNELS; c++) relab += channels[c].relabelled;
  printf("check %llu/%lld/%lld/%lld/%llu\n", labels, feats, means, viol, relab);
  printf("time_ms %g\n", ms / rounds);
  cudaFree(st.spikes); cudaFree(st.units); cudaFree(st.sums); cudaFree(st.channels);
  return 0;
}
