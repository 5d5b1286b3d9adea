// Points that move with constant velocity, in place.
//
// All six fields are read, three are written: a store of half a record.
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

struct Mover {
  float x, y, z;
  float vx, vy, vz;
};

__global__ void update(Mover *p, int n, float dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  p[i].x += p[i].vx * dt;
  p[i].y += p[i].vy * dt;
  p[i].z += p[i].vz * dt;
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 23;
  std::vector<Mover> movers(n);
  for (int i = 0; i < n; ++i) { // multiples of 1/256, so that sums are exact
    unsigned h = hash(i);
    movers[i] = {(h & 255) / 256.0f,   (h >> 8 & 255) / 256.0f, (h >> 16 & 255) / 256.0f,
                 (float)(h >> 24 & 7), (float)(h >> 27 & 3),    (float)(h >> 29)};
  }
  Mover *d_movers;
  CHECK(cudaMalloc(&d_movers, n * sizeof(Mover)));
  CHECK(cudaMemcpy(d_movers, movers.data(), n * sizeof(Mover), cudaMemcpyHostToDevice));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    update<<<(n + 255) / 256, 256>>>(d_movers, n, 1.0f / 256);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  CHECK(cudaMemcpy(movers.data(), d_movers, n * sizeof(Mover), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Mover &m : movers)
    check = check * 31 + (long long)((m.x + 3 * m.y + 5 * m.z) * 256);

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_movers));
}
