// A function that searches the member arrays of a record gets the array and an index; a copy would lie in local memory.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/out/Read-d/soa/in.cu
// RUN: FileCheck %s --check-prefix=TILE --input-file=%t/out/Read-d/asta32/in.cu
// RUN: FileCheck %s --check-prefix=ALIGN --input-file=%t/out/Read-d/aos-align16/in.cu
// RUN: %compile-both %t/out/Read-d/soa/in.cu %t/out/Read-d/asta32/in.cu %t/out/Read-d/aos-align16/in.cu
#include <cstdio>
#include <vector>

struct Read {
  int base[24];
  int len;
  float error;
};
struct Pack {
  Read read;
  int key;
};

__host__ __device__ int differences(const Read &r, int at) {
  int n = 0;
  for (int k = 0; k < r.len; ++k)
    n += r.base[(at + k) % 24] != k;
  return n;
}
// SOA: __host__ __device__ int differences(ReadSoA r, ptrdiff_t r_index, int at) {
// SOA-NEXT: int n = 0;
// SOA-NEXT: for (int k = 0; k < r.len[r_index]; ++k)
// SOA-NEXT: n += r.base[(at + k) % 24][r_index] != k;
// SOA: __host__ __device__ int differences(const Read &r, int at) {
// TILE: __host__ __device__ int differences(const ReadTile32 *r, ptrdiff_t r_index, int at) {
// ALIGN: __host__ __device__ int differences(const ReadAlign16 &r, int at) {
// Subscripts that are constants are registers of a copy.
__device__ int ends(const Read &r) { return r.base[0] + r.base[23]; }
// SOA: __device__ int ends(const Read &r) { return r.base[0] + r.base[23]; }
__device__ Read make(int i) {
  Read r;
  for (int k = 0; k < 24; ++k)
    r.base[k] = k + i;
  r.len = 7;
  r.error = 1;
  return r;
}

__global__ void compare(Read *reads, const Pack *packs, int n) {
  __shared__ Read tile[64];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  tile[threadIdx.x] = reads[i];
  Read &r = reads[i];
  int best = ends(r);
  // SOA: int best = ends(ReadSoA_load(reads, i));
  for (int at = 0; at < r.len; ++at)
    best += differences(r, at);
  // SOA: best += differences(reads, i, at);
  // TILE: best += differences(reads, i, at);
  // ALIGN: best += differences(reads[i], at);
  best += differences(reads[n - 1 - i], 3);
  // SOA: best += differences(reads, n - 1 - i, 3);
  // However many objects of its own it is called with besides.
  Read t = reads[i];
  best += differences(t, 1) + differences(make(i), 2) + differences(packs[i].read, 3) + differences(tile[0], 4);
  // SOA: best += differences(t, 1) + differences(make(i), 2) + differences(packs[i].read, 3) + differences(tile[0], 4);
  const Read &shared = tile[threadIdx.x ^ 1];
  best += differences(shared, 5) + differences(tile[threadIdx.x], 6);
  // SOA: best += differences(shared, 5) + differences(tile[threadIdx.x], 6);
  r.error = best;
}

int main() {
  const int n = 1 << 12;
  std::vector<Read> h(n);
  std::vector<Pack> packed(n);
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < 24; ++k)
      h[i].base[k] = i * k % 7;
    h[i].len = i % 20;
    packed[i].read = h[i];
    packed[i].key = i;
  }
  Read *d;
  Pack *p;
  cudaMalloc(&d, n * sizeof(Read));
  cudaMalloc(&p, n * sizeof(Pack));
  cudaMemcpy(d, h.data(), n * sizeof(Read), cudaMemcpyHostToDevice);
  cudaMemcpy(p, packed.data(), n * sizeof(Pack), cudaMemcpyHostToDevice);
  compare<<<n / 64, 64>>>(d, p, n);
  cudaMemcpy(h.data(), d, n * sizeof(Read), cudaMemcpyDeviceToHost);
  double sum = 0;
  for (const Read &r : h)
    sum += r.error + differences(r, 1);
  printf("%g\n", sum);
  cudaFree(d);
  cudaFree(p);
}
