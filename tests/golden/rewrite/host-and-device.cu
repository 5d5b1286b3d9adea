// One struct type for the host's arrays and the device's: members are told apart object by object,
// and the device's gets a member beside the host's.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/out/P/soa/in.cu
// RUN: FileCheck %s --check-prefix=TILE --input-file=%t/out/P/asta32/in.cu
// RUN: FileCheck %s --check-prefix=TWIN --input-file=%t/out/P/aos-align16/in.cu
// RUN: FileCheck %s --check-prefix=PAIR --input-file=%t/out/Q/soa/in.cu
// RUN: cp %t/in.cu %t/twice.cu && %restride -i --quiet --layout=soa %t/twice.cu -- -std=c++17
// RUN: %restride --check --quiet --layout=soa %t/twice.cu -- -std=c++17
// RUN: %compile-both %t/out/P/soa/in.cu %t/out/P/asta32/in.cu %t/out/P/aos-align16/in.cu %t/out/Q/soa/in.cu %t/out/Q/asta32/in.cu
#include <cstdio>
#include <cstdlib>
#include <utility>
#define CHECK(call) { check((call), __LINE__); }
inline void check(cudaError_t error, int line) {
  if (error != cudaSuccess)
    printf("line %d\n", line), exit(1);
}
typedef struct {
  float x, y;
  int id;
} P;
struct Q {
  float x, y;
};
typedef struct {
  int n;
  P *p; // the particles
  // SOA:      P *p; // the particles
  // SOA-NEXT: PSoA p_soa;
  // TILE:      P *p; // the particles
  // TILE-NEXT: PTile32 *p_tile32;
  // TWIN:      P *p; // the particles
  // TWIN-NEXT: PAlign16 *p_align16;
  Q *from, *to;
  // SOA: Q *from, *to;
  // PAIR: Q *from;
  // PAIR-NEXT: QSoA to;
  // PAIR-NEXT: QSoA from_soa;
  float *weights;
} Data;

Data onHost(int n);
__global__ void step(Data d, float dt);

__device__ float sum(const P *p, int i) { return p[i].x + p[i].y; }

__device__ float weigh(Data d, int i) { return d.weights[i] * sum(d.p, i); }
// SOA: __device__ float weigh(Data d, int i) { return d.weights[i] * sum(d.p_soa, i); }
// TILE: return d.weights[i] * sum(d.p_tile32, i);

__global__ void step(Data d, float dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < d.n) {
    d.p[i].x += dt * weigh(d, i);
    // SOA: d.p_soa.x[i] += dt * weigh(d, i);
    // TILE: d.p_tile32[i >> 5].x[i & 31] += dt * weigh(d, i);
    // TWIN: d.p_align16[i].x += dt * weigh(d, i);
    P t = d.p[i];
    // SOA: P t = PSoA_load(d.p_soa, i);
    d.to[i].x = d.from[i].y + t.x;
    // PAIR: d.to.x[i] = d.from_soa.y[i] + t.x;
    d.to[i].y = d.from[i].x;
  }
}

Data onHost(int n) {
  Data h;
  h.n = n;
  h.p = (P *)malloc(n * sizeof(P));
  h.from = (Q *)malloc(n * sizeof(Q));
  // PAIR: h.from = (Q *)malloc(n * sizeof(Q));
  h.weights = (float *)malloc(n * sizeof(float));
  for (int i = 0; i < n; i++) {
    h.p[i] = {1.0f * i, 2.0f * i, i};
    // SOA: h.p[i] = {1.0f * i, 2.0f * i, i};
    h.from[i] = {0.5f * i, 0.25f * i};
    h.weights[i] = 1.0f / (i + 1);
  }
  return h;
}

Data toDevice(Data h) {
  size_t bytes;
  Data d = h;
  bytes = d.n * sizeof(float);
  CHECK(cudaMalloc((void **)&d.weights, bytes));
  CHECK(cudaMemcpy(d.weights, h.weights, bytes, cudaMemcpyHostToDevice));
  bytes = d.n * sizeof(P);
  CHECK(cudaMalloc((void **)&d.p, bytes));
  // SOA: CHECK(PSoA_malloc(&d.p_soa, bytes));
  // TILE: CHECK(PTile32_malloc(&d.p_tile32, bytes));
  CHECK(cudaMemcpy(d.p, h.p, bytes, cudaMemcpyHostToDevice));
  // SOA: CHECK(PSoA_memcpy(d.p_soa, h.p, bytes, cudaMemcpyHostToDevice));
  bytes = d.n * sizeof(Q);
  cudaError_t error = cudaMalloc(&d.from, d.n * sizeof(*d.from));
  // PAIR: cudaError_t error = QSoA_malloc(&d.from_soa, d.n * sizeof(Q));
  if (error == cudaSuccess)
    error = cudaMemcpy(d.from, h.from, bytes, cudaMemcpyHostToDevice);
  d.to = nullptr;
  // PAIR: d.to = {};
  if (cudaMalloc(&d.to, bytes) != cudaSuccess)
    exit(1);
  return d;
}

int main() {
  Data h = onHost(96);
  Data d = toDevice(h);
  step<<<3, 32>>>(d, 0.5f);
  Data next = d;
  std::swap(next.from, next.to);
  // PAIR: std::swap(next.from_soa, next.to);
  step<<<3, 32>>>(next, 0.25f);
  cudaMemcpy(h.p, d.p, h.n * sizeof(P), cudaMemcpyDeviceToHost);
  // SOA: PSoA_memcpy(h.p, d.p_soa, h.n * sizeof(P), cudaMemcpyDeviceToHost);
  cudaMemcpy(h.from, next.to, h.n * sizeof(Q), cudaMemcpyDeviceToHost);
  // PAIR: QSoA_memcpy(h.from, next.to, h.n * sizeof(Q), cudaMemcpyDeviceToHost);
  for (int i = 0; i < h.n; i++)
    printf("%g %g %d %g\n", h.p[i].x, h.p[i].y, h.p[i].id, h.from[i].y);
  cudaFree(d.p);
  // SOA: PSoA_free(d.p_soa);
  free(h.p);
}
