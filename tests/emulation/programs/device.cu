// Intrinsics, vectors, and things whose answer must not depend on the machine.
#include <chrono>
#include <cstdio>
#include <ctime>

__global__ void ask() {
  printf("%d %d %d %d\n", __popc(0xf0f0u), __clz(1), __ffs(8), __brev(1) == 0x80000000u);
  printf("%g %g %g\n", rsqrtf(4), __fmaf_rn(2, 3, 4), max(1, 2.5f));
  printf("%x %u %d\n", __byte_perm(0x33221100, 0x77665544, 0x7531), __umulhi(1u << 31, 6), min(3u, 5));
  printf("%d %d\n", __float2int_rn(2.5f), __float_as_int(1.0f) == 0x3f800000);
  float4 v = make_float4(1, 2, 3, 4);
  printf("%g %d %d\n", v.w, (int)alignof(float4), (int)sizeof(uchar3));
}

int main() {
  ask<<<1, 1>>>();
  auto begin = std::chrono::steady_clock::now();
  cudaEvent_t a, b;
  cudaEventCreate(&a);
  cudaEventCreate(&b);
  float ms;
  cudaEventElapsedTime(&ms, a, b);
  auto passed = std::chrono::steady_clock::now() - begin;
  printf("%g %lld %ld\n", ms, (long long)passed.count(), (long)time(nullptr));
  int blocks, threads;
  cudaOccupancyMaxPotentialBlockSize(&blocks, &threads, ask);
  cudaDeviceProp p;
  cudaGetDeviceProperties(&p, 0);
  printf("%d %d %s\n", blocks, threads, p.name);
}
// 8 31 4 1
// 0.5 10 2.5
// 77553311 3 3
// 2 1
// 4 16 3
// 1 1000000 0
// 32 256 emulation
