// Selection of detector events above a threshold: whole records move.
//
// Every event's energy and flags are read, and one event in eight is copied
// to a place that a counter hands out, so the order of the results is open.
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

struct Event {
  double time;
  float energy, x, y, z;
  int detector;
  unsigned flags;
};

__global__ void keep(const Event *__restrict__ in, Event *__restrict__ out, int *__restrict__ count, int n,
                     float threshold) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  if (in[i].energy < threshold || (in[i].flags & 1))
    return;
  int k = atomicAdd(count, 1);
  out[k] = in[i];
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 23;
  std::vector<Event> events(n);
  for (int i = 0; i < n; ++i) {
    unsigned h = hash(i);
    events[i] = {i * 0.25, (float)(h & 1023), (float)(h >> 10 & 63), (float)(h >> 16 & 63), 1, (int)(h >> 22), h >> 31};
  }
  Event *d_events;
  CHECK(cudaMalloc(&d_events, n * sizeof(Event)));
  CHECK(cudaMemcpy(d_events, events.data(), n * sizeof(Event), cudaMemcpyHostToDevice));
  Event *d_selected;
  CHECK(cudaMalloc(&d_selected, n * sizeof(Event)));
  int *d_count;
  CHECK(cudaMalloc(&d_count, 1 * sizeof(int)));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    CHECK(cudaMemsetAsync(d_count, 0, sizeof(int)));
    keep<<<(n + 255) / 256, 256>>>(d_events, d_selected, d_count, n, 768);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  int count;
  CHECK(cudaMemcpy(&count, d_count, sizeof(int), cudaMemcpyDeviceToHost));
  std::vector<Event> selected(count);
  CHECK(cudaMemcpy(selected.data(), d_selected, count * sizeof(Event), cudaMemcpyDeviceToHost));
  unsigned long long check = count;
  for (const Event &e : selected) // in any order
    check += hash((unsigned)(4 * e.time)) * (unsigned long long)(e.energy + 3 * e.x + 5 * e.y + 7 * e.z + e.detector);

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_events));
  CHECK(cudaFree(d_selected));
  CHECK(cudaFree(d_count));
}
