// Tracked features of a video: every frame is uploaded, moved by a kernel and
// downloaded again, so copies are part of the price.
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

struct Track {
  float x, y, dx, dy;
  float size, score;
  int id, age;
};

__global__ void advance(Track *tracks, int n, float width, float height) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  Track &t = tracks[i];
  t.x += t.dx;
  t.y += t.dy;
  if (t.x < 0 || t.x >= width || t.y < 0 || t.y >= height) {
    t.dx = -t.dx;
    t.dy = -t.dy;
    t.age = 0;
  } else {
    t.age += 1;
  }
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 18;
  Track *tracks;
  CHECK(cudaMallocHost(&tracks, n * sizeof(Track)));
  for (int i = 0; i < n; ++i) {
    unsigned h = hash(i);
    tracks[i] = {(float)(h & 1023), (float)(h >> 10 & 511), (h >> 19 & 31) - 16.0f, (h >> 24 & 31) - 16.0f, 7, 1, i, 0};
  }
  Track *d_tracks;
  CHECK(cudaMalloc(&d_tracks, n * sizeof(Track)));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    CHECK(cudaMemcpy(d_tracks, tracks, n * sizeof(Track), cudaMemcpyHostToDevice));
    advance<<<(n + 255) / 256, 256>>>(d_tracks, n, 1024, 512);
    CHECK(cudaMemcpy(tracks, d_tracks, n * sizeof(Track), cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i += 1000) // the host corrects some of them
      tracks[i].x = 512;
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  unsigned long long check = 0;
  for (int i = 0; i < n; ++i)
    check = check * 31 + (long long)(tracks[i].x + 3 * tracks[i].y) + 5 * tracks[i].age + tracks[i].id;

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_tracks));
  CHECK(cudaFreeHost(tracks));
}
