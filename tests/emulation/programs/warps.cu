// What the lanes of a warp do together.
#include <cooperative_groups.h>
#include <cstdio>
namespace cg = cooperative_groups;

__global__ void shuffles(int *out) {
  int lane = threadIdx.x % 32, v = lane * lane;
  int r[6] = {__shfl_sync(~0u, v, 5),         __shfl_sync(~0u, v, 1, 8), __shfl_up_sync(~0u, v, 2),
              __shfl_down_sync(~0u, v, 3, 16), __shfl_xor_sync(~0u, v, 1), 0};
  for (int d = 16; d; d /= 2)
    v += __shfl_down_sync(0xffffffff, v, d);
  r[5] = v;
  for (int k = 0; k < 6; ++k)
    out[threadIdx.x * 6 + k] = r[k];
}

__global__ void votes(unsigned *out) {
  unsigned lane = threadIdx.x;
  unsigned ballot = __ballot_sync(~0u, lane % 3 == 0), match = __match_any_sync(~0u, lane / 8);
  unsigned any = __any_sync(~0u, lane == 7), all = __all_sync(~0u, lane < 31);
  unsigned odd = 0, largest = __reduce_max_sync(~0u, lane ^ 5);
  if (lane % 2) {
    odd = __activemask();
    any += __popc(__ballot_sync(odd, 1)); // the odd lanes among themselves
  } else
    __syncwarp(0x55555555);
  if (lane == 9)
    out[0] = ballot, out[1] = match, out[2] = any, out[3] = all, out[4] = odd, out[5] = largest;
}

// One atomic for all lanes that come here.
__global__ void count(int *total, int n) {
  if ((int)threadIdx.x % 5 < n) {
    cg::coalesced_group together = cg::coalesced_threads();
    if (together.thread_rank() == 0)
      atomicAdd(total, together.size());
  }
}

__global__ void tiles(float *out) {
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  float v = cg::reduce(tile, (float)threadIdx.x, cg::plus<float>());
  v += tile.shfl(threadIdx.x, 2) + 0.5f * tile.thread_rank();
  tile.sync();
  out[threadIdx.x] = v;
}

int main() {
  int h[64 * 6], *d;
  cudaMalloc(&d, sizeof(h));
  shuffles<<<1, 64>>>(d);
  cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
  for (int t : {0, 13, 63})
    printf("%d %d %d %d %d %d\n", h[6 * t], h[6 * t + 1], h[6 * t + 2], h[6 * t + 3], h[6 * t + 4], h[6 * t + 5]);

  unsigned u[6];
  votes<<<1, 32>>>((unsigned *)d);
  cudaMemcpy(u, d, sizeof(u), cudaMemcpyDeviceToHost);
  printf("%08x %08x %u %u %08x %u\n", u[0], u[1], u[2], u[3], u[4], u[5]);

  cudaMemset(d, 0, sizeof(int));
  count<<<3, 50>>>(d, 2);
  cudaMemcpy(h, d, sizeof(int), cudaMemcpyDeviceToHost);
  printf("%d\n", h[0]);

  float f[32];
  tiles<<<1, 32>>>((float *)d);
  cudaMemcpy(f, d, sizeof(f), cudaMemcpyDeviceToHost);
  printf("%g %g %g\n", f[0], f[9], f[31]);
}
// 25 1 0 9 1 10416
// 25 81 121 169 144 16240
// 25 625 841 961 900 30752
// 49249249 0000ff00 17 0 aaaaaaaa 31
// 60
// 30 102.5 249.5
