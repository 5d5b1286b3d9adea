// Bodies by a random index: whole records of seven floats are gathered.
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

struct Body {
  float x, y, z, mass, vx, vy, vz;
};

__global__ void momentum(const Body *__restrict__ bodies, const int *__restrict__ index, float *__restrict__ out,
                         int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int j = index[i];
  float speed = bodies[j].vx + bodies[j].vy + bodies[j].vz;
  out[i] = bodies[j].x + 2 * bodies[j].y + 3 * bodies[j].z + bodies[j].mass * speed;
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 23;
  std::vector<Body> bodies(n);
  std::vector<int> index(n);
  for (int i = 0; i < n; ++i) {
    unsigned h = hash(i);
    bodies[i] = {(float)(h & 15),       (float)(h >> 4 & 15),  (float)(h >> 8 & 15), (float)(h >> 12 & 15),
                 (float)(h >> 16 & 15), (float)(h >> 20 & 15), (float)(h >> 24)};
    index[i] = hash(h + 1) % n;
  }
  Body *d_bodies;
  CHECK(cudaMalloc(&d_bodies, n * sizeof(Body)));
  CHECK(cudaMemcpy(d_bodies, bodies.data(), n * sizeof(Body), cudaMemcpyHostToDevice));
  int *d_index;
  CHECK(cudaMalloc(&d_index, n * sizeof(int)));
  CHECK(cudaMemcpy(d_index, index.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  float *d_out;
  CHECK(cudaMalloc(&d_out, n * sizeof(float)));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    momentum<<<(n + 255) / 256, 256>>>(d_bodies, d_index, d_out, n);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  std::vector<float> out(n);
  CHECK(cudaMemcpy(out.data(), d_out, n * sizeof(float), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (float v : out)
    check = check * 31 + (long long)v;

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_bodies));
  CHECK(cudaFree(d_index));
  CHECK(cudaFree(d_out));
}
