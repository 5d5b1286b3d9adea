// A network of leaky integrate-and-fire neurons with adaptation and delays.
//
// The first kernel updates the neurons in place. The second has a thread per
// synapse, in the order of the neurons they come from: it reads one field of
// that neuron, and only where it fired, the rest of the synapse.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                                    \
  do {                                                                                                                 \
    cudaError_t status = (call);                                                                                       \
    if (status != cudaSuccess) {                                                                                       \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));                                  \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

struct Neuron {
  float v, u, current;
  int refractory;
  float threshold;
  int spikes;
  float a, b, c, d; // leak, decay of the adaptation, rest, adaptation per spike
};

struct Synapse {
  int from, to;
  float weight;
  short delay;
  short flags;
};

const int SLOTS = 8;      // steps that a spike can be on its way, and one
const int REFRACTORY = 5; // a neuron's at the step that it fires in
const int ENABLED = 1;
const int FIXED = 1024; // input is summed as an integer

__global__ void update(Neuron *neurons, int *input, int n, float drive) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  Neuron &p = neurons[i];
  float current = fmaf(0.5f, p.current, input[i] * (1.0f / FIXED));
  input[i] = 0;
  p.current = current;
  float u = fmaf(-p.b, p.u, p.u);
  if (p.refractory > 0) {
    --p.refractory;
  } else {
    float v = fmaf(p.a, p.c - p.v, p.v) + (current + drive - u);
    if (v >= p.threshold) {
      v = p.c;
      u += p.d;
      ++p.spikes;
      p.refractory = REFRACTORY;
    }
    p.v = v;
  }
  p.u = u;
}

__global__ void deliver(const Synapse *synapses, const Neuron *neurons, int *input, int count, int n, int time) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count)
    return;
  if (neurons[synapses[i].from].refractory != REFRACTORY || !(synapses[i].flags & ENABLED))
    return;
  int slot = (time + synapses[i].delay) % SLOTS;
  atomicAdd(&input[slot * n + synapses[i].to], (int)(synapses[i].weight * FIXED));
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 21;
  const int perNeuron = 8;
  int count = n * perNeuron;
  std::vector<Neuron> neurons(n);
  for (int i = 0; i < n; ++i) {
    unsigned h = hash(i);
    neurons[i] = {(h & 255) / 256.0f,
                  0,
                  0,
                  0,
                  1 + (h >> 8 & 63) / 128.0f,
                  0,
                  0.015625f + (h >> 14 & 15) / 512.0f,
                  0.03125f,
                  (h >> 18 & 7) / 64.0f,
                  0.0078125f + (h >> 21 & 7) / 1024.0f};
  }
  std::vector<Synapse> synapses(count);
  for (int i = 0; i < count; ++i) {
    unsigned h = hash(i), other = hash(~i);
    int from = i / perNeuron;
    int to = h & 1 ? (from + other % 4096) % n : other % n; // half of them near by
    float weight = h >> 1 & 3 ? (h >> 3 & 31) / 256.0f : (h >> 3 & 31) / -128.0f;
    synapses[i] = {from, to, weight, (short)(1 + (h >> 8) % (SLOTS - 1)), (short)(h >> 16 & 3 ? ENABLED : 0)};
  }
  Neuron *d_neurons;
  CHECK(cudaMalloc(&d_neurons, n * sizeof(Neuron)));
  CHECK(cudaMemcpy(d_neurons, neurons.data(), n * sizeof(Neuron), cudaMemcpyHostToDevice));
  Synapse *d_synapses;
  CHECK(cudaMalloc(&d_synapses, count * sizeof(Synapse)));
  CHECK(cudaMemcpy(d_synapses, synapses.data(), count * sizeof(Synapse), cudaMemcpyHostToDevice));
  int *d_input; // what arrives at each neuron, in the next steps
  CHECK(cudaMalloc(&d_input, (size_t)SLOTS * n * sizeof(int)));
  CHECK(cudaMemset(d_input, 0, (size_t)SLOTS * n * sizeof(int)));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    update<<<(n + 255) / 256, 256>>>(d_neurons, d_input + (size_t)(r % SLOTS) * n, n, 0.046875f);
    deliver<<<(count + 255) / 256, 256>>>(d_synapses, d_neurons, d_input, count, n, r);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  CHECK(cudaMemcpy(neurons.data(), d_neurons, n * sizeof(Neuron), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Neuron &p : neurons)
    check = check * 31 + p.spikes + 3 * p.refractory + 5 * llround(p.v * 1e2) + 7 * llround(p.u * 1e2) +
            11 * llround(p.current * 1e2);

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_neurons));
  CHECK(cudaFree(d_synapses));
  CHECK(cudaFree(d_input));
}
