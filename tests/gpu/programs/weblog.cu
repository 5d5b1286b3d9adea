// The log of a web server, summed up by window of time.
//
// A block takes the requests of one window: their volume, how many failed and
// the slowest of those that did not. The argument is the number of windows.
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

struct Request {
  double time;
  int client;
  int path;
  int bytes;
  float latency; // in milliseconds
  short status;
  short method;
  char cached;
};

struct Window {
  double volume; // in bytes
  float slowest;
  int failed;
  int served;
};

const int THREADS = 256;

__global__ void summarize(const Request *requests, const int *starts, Window *windows) {
  __shared__ long long volumes[THREADS];
  __shared__ float slowests[THREADS];
  __shared__ int faileds[THREADS];
  int t = threadIdx.x, first = starts[blockIdx.x], last = starts[blockIdx.x + 1];
  long long volume = 0;
  float slowest = 0;
  int failed = 0;
  for (int i = first + t; i < last; i += THREADS) {
    const Request &request = requests[i];
    volume += request.bytes;
    if (request.status >= 500)
      ++failed;
    else
      slowest = fmaxf(slowest, request.latency);
  }
  volumes[t] = volume;
  slowests[t] = slowest;
  faileds[t] = failed;
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (t < half) {
      volumes[t] += volumes[t + half];
      slowests[t] = fmaxf(slowests[t], slowests[t + half]);
      faileds[t] += faileds[t + half];
    }
    __syncthreads();
  }
  if (t == 0) {
    Window &window = windows[blockIdx.x];
    window.volume = (double)volumes[0];
    window.slowest = slowests[0];
    window.failed = faileds[0];
    window.served = last - first - faileds[0];
  }
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int count = argc > 1 ? atoi(argv[1]) : 4096;
  std::vector<int> starts(count + 1);
  for (int w = 0; w < count; ++w) // quiet and busy ones
    starts[w + 1] = starts[w] + 1024 + hash(w) % 6144;
  int n = starts[count];
  std::vector<Request> requests(n);
  for (int w = 0; w < count; ++w)
    for (int i = starts[w]; i < starts[w + 1]; ++i) {
      unsigned h = hash(i + 0x40000000), other = hash(h);
      short status = h % 50 == 0 ? 503 : h % 50 < 4 ? 404 : 200;
      requests[i] = {60.0 * w + 60.0 * (i - starts[w]) / (starts[w + 1] - starts[w]),
                     (int)(other >> 4),
                     (int)(other % 2048),
                     (int)(200 + (h >> 8 & 0xffff)),
                     1 + (other >> 12 & 0xfff) / 16.0f + (other >> 24 == 0 ? 1000.0f : 0.0f),
                     status,
                     (short)(h >> 24 & 3),
                     (char)(h >> 26 & 1)};
    }
  Request *d_requests;
  CHECK(cudaMalloc(&d_requests, n * sizeof(Request)));
  CHECK(cudaMemcpy(d_requests, requests.data(), n * sizeof(Request), cudaMemcpyHostToDevice));
  int *d_starts;
  CHECK(cudaMalloc(&d_starts, (count + 1) * sizeof(int)));
  CHECK(cudaMemcpy(d_starts, starts.data(), (count + 1) * sizeof(int), cudaMemcpyHostToDevice));
  Window *d_windows;
  CHECK(cudaMalloc(&d_windows, count * sizeof(Window)));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    summarize<<<count, THREADS>>>(d_requests, d_starts, d_windows);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  std::vector<Window> windows(count);
  CHECK(cudaMemcpy(windows.data(), d_windows, count * sizeof(Window), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Window &w : windows)
    check = check * 31 + llround(w.volume) + 3 * llround(w.slowest * 16) + 5 * w.failed + 7 * w.served;

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_requests));
  CHECK(cudaFree(d_starts));
  CHECK(cudaFree(d_windows));
}
