// Match every observation with the two nearest catalogue entries of its class.
// Coordinates are quantised (integers stored as float), so distances are exact.
#include <cfloat>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>
#include <cuda_runtime.h>

#define checkCudaErrors(val) check_((val), #val, __FILE__, __LINE__)
static void check_(cudaError_t r, const char *func, const char *file, int line) {
  if (r) {
    fprintf(stderr, "CUDA error at %s:%d code=%d \"%s\"\n", file, line, (int)r, func);
    exit(EXIT_FAILURE);
  }
}

struct Entry {
  float x, y, z;
  float magnitude;
  int id;
  int cls;
  unsigned flags;
};

struct Observation {
  float x, y, z;
  int cls;
  int best, second;
  float dist1, dist2;
  int accepted;
};

__device__ inline float dist2(const Observation &o, const Entry &e) {
  float dx = o.x - e.x, dy = o.y - e.y, dz = o.z - e.z;
  return dx * dx + dy * dy + dz * dz;
}

__global__ void matchKernel(Observation *__restrict__ obs, int numObs,
                            const Entry *__restrict__ table, int numEntries) {
  int tid = blockIdx.x * blockDim.x + threadIdx.x;
  if (tid >= numObs) return;
  Observation o = obs[tid];

  float d1 = FLT_MAX, d2 = FLT_MAX;
  int i1 = -1, i2 = -1;
  for (int j = 0; j < numEntries; j++) {
    float d = dist2(o, table[j]);
    if (d < d2) {
      if (table[j].cls != o.cls) continue;
      if (d < d1) {
        d2 = d1; i2 = i1;
        d1 = d;  i1 = j;
      } else {
        d2 = d;  i2 = j;
      }
    }
  }
  o.best = i1 >= 0 ? table[i1].id : -1;
  o.second = i2 >= 0 ? table[i2].id : -1;
  o.dist1 = d1;
  o.dist2 = d2;
  o.accepted = i1 >= 0 && i2 >= 0 && d1 * 2.0f < d2 && !(table[i1].flags & 1u);
  obs[tid] = o;
}

// move the observations a little, so the next match has other results
__global__ void driftKernel(Observation *obs, int numObs, int step) {
  int tid = blockIdx.x * blockDim.x + threadIdx.x;
  if (tid >= numObs) return;
  Observation *o = &obs[tid];
  int k = (tid + step) % 3;
  float d = (float)((tid * 7 + step * 5) % 5 - 2);
  if (k == 0) o->x += d;
  else if (k == 1) o->y += d;
  else o->z += d;
}

int main(int argc, char **argv) {
  int numEntries = 6000;
  int numObs = argc > 1 ? atoi(argv[1]) : 200000;
  if (numObs < 1) numObs = 1;
  const int steps = 10;

  std::mt19937 gen(4711);
  std::vector<Entry> table(numEntries);
  for (int j = 0; j < numEntries; j++) {
    table[j].x = (float)(gen() % 1024);
    table[j].y = (float)(gen() % 1024);
    table[j].z = (float)(gen() % 1024);
    table[j].magnitude = (float)(gen() % 100) * 0.25f;
    table[j].id = 1000000 + 3 * j;
    table[j].cls = (int)(gen() % 4);
    table[j].flags = gen() & 7u;
  }
  std::vector<Observation> obs(numObs);
  for (auto &o : obs) {
    o.x = (float)(gen() % 1024);
    o.y = (float)(gen() % 1024);
    o.z = (float)(gen() % 1024);
    o.cls = (int)(gen() % 4);
    o.best = o.second = -1;
    o.dist1 = o.dist2 = 0.0f;
    o.accepted = 0;
  }

  Entry *d_table;
  Observation *d_obs;
  checkCudaErrors(cudaMalloc(&d_table, sizeof(Entry) * numEntries));
  checkCudaErrors(cudaMalloc(&d_obs, sizeof(Observation) * numObs));
  checkCudaErrors(cudaMemcpy(d_table, table.data(), sizeof(Entry) * numEntries, cudaMemcpyHostToDevice));
  checkCudaErrors(cudaMemcpy(d_obs, obs.data(), sizeof(Observation) * numObs, cudaMemcpyHostToDevice));

  int threads = 128;
  int blocks = (numObs + threads - 1) / threads;
  matchKernel<<<blocks, threads>>>(d_obs, numObs, d_table, numEntries);
  checkCudaErrors(cudaGetLastError());
  checkCudaErrors(cudaDeviceSynchronize());

  cudaEvent_t start, stop;
  checkCudaErrors(cudaEventCreate(&start));
  checkCudaErrors(cudaEventCreate(&stop));
  checkCudaErrors(cudaEventRecord(start));
  for (int s = 0; s < steps; s++) {
    driftKernel<<<blocks, threads>>>(d_obs, numObs, s);
    matchKernel<<<blocks, threads>>>(d_obs, numObs, d_table, numEntries);
  }
  checkCudaErrors(cudaEventRecord(stop));
  checkCudaErrors(cudaEventSynchronize(stop));
  checkCudaErrors(cudaGetLastError());
  float msec = 0.0f;
  checkCudaErrors(cudaEventElapsedTime(&msec, start, stop));

  checkCudaErrors(cudaMemcpy(obs.data(), d_obs, sizeof(Observation) * numObs, cudaMemcpyDeviceToHost));
  uint64_t h = 0;
  int accepted = 0;
  for (const auto &o : obs) {
    accepted += o.accepted;
    h = h * 1000003u + (uint32_t)o.best;
    h = h * 1000003u + (uint32_t)o.second;
    h = h * 31u + (uint64_t)o.dist1 + 3u * (uint64_t)o.dist2;
    h = h * 31u + (uint64_t)(int64_t)(o.x + 2 * o.y + 3 * o.z) + (uint32_t)o.cls + (uint32_t)o.accepted;
  }
  printf("accepted %d of %d\n", accepted, numObs);
  printf("time_ms %f\n", msec / steps);
  printf("check %llu\n", (unsigned long long)h);

  checkCudaErrors(cudaFree(d_table));
  checkCudaErrors(cudaFree(d_obs));
  return 0;
}
