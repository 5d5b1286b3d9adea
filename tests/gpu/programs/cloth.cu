// Three kernels that share one array: a step, a collision and an energy sum.
//
// The step reads and stores nine of ten fields, the collision two, the sum
// four. One layout has to serve them all.
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

struct Node {
  float x, y, z;
  float vx, vy, vz;
  float fx, fy, fz;
  float mass;
};

__global__ void integrate(Node *nodes, int n, float dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  Node &p = nodes[i];
  float k = dt / p.mass;
  p.vx += k * p.fx;
  p.vy += k * p.fy;
  p.vz += k * p.fz;
  p.x += dt * p.vx;
  p.y += dt * p.vy;
  p.z += dt * p.vz;
}

__global__ void collide(Node *nodes, int n, float floorHeight) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && nodes[i].z < floorHeight && nodes[i].vz < 0)
    nodes[i].vz = -0.5f * nodes[i].vz;
}

__global__ void kineticEnergy(const Node *nodes, float *sums, int n) {
  __shared__ float partial[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float e = 0;
  if (i < n)
    e = 0.5f * nodes[i].mass * (nodes[i].vx * nodes[i].vx + nodes[i].vy * nodes[i].vy + nodes[i].vz * nodes[i].vz);
  partial[threadIdx.x] = e;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half)
      partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    sums[blockIdx.x] = partial[0];
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 3 << 21;
  std::vector<Node> cloth(n);
  for (int i = 0; i < n; ++i) {
    unsigned h = hash(i);
    cloth[i] = {(float)(h & 63),
                (float)(h >> 6 & 63),
                (h >> 12 & 63) / 64.0f,
                0,
                0,
                -1,
                (h >> 18 & 15) / 16.0f,
                (h >> 22 & 15) / 16.0f,
                -2,
                1 + (h >> 26 & 1) * 1.0f};
  }
  int blocks = (n + 255) / 256;
  Node *d_cloth;
  CHECK(cudaMalloc(&d_cloth, n * sizeof(Node)));
  CHECK(cudaMemcpy(d_cloth, cloth.data(), n * sizeof(Node), cudaMemcpyHostToDevice));
  float *d_sums;
  CHECK(cudaMalloc(&d_sums, blocks * sizeof(float)));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    integrate<<<blocks, 256>>>(d_cloth, n, 1.0f / 128);
    collide<<<blocks, 256>>>(d_cloth, n, 0.25f);
    kineticEnergy<<<blocks, 256>>>(d_cloth, d_sums, n);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  CHECK(cudaMemcpy(cloth.data(), d_cloth, n * sizeof(Node), cudaMemcpyDeviceToHost));
  std::vector<float> sums(blocks);
  CHECK(cudaMemcpy(sums.data(), d_sums, blocks * sizeof(float), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Node &p : cloth)
    check = check * 31 + llround(p.x * 1e2) + 3 * llround(p.z * 1e2) + 5 * llround(p.vz * 1e2);
  for (float s : sums)
    check = check * 31 + llround(s);

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_cloth));
  CHECK(cudaFree(d_sums));
}
