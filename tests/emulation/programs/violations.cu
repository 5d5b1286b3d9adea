// Each argument does one thing that no program may do.
#include <cstdio>
#include <cstdlib>

__global__ void write(int *p, int i) { p[i] = 1; }
__global__ void read(int *p, int i) { p[0] = p[i]; }
__global__ void beyondShared() {
  extern __shared__ int x[];
  x[8] = 1;
}
__global__ void apart() {
  if (threadIdx.x < 3)
    __syncthreads();
  else
    __syncwarp();
}
__global__ void recursion(int *p, int depth);
__device__ int deeper(int *p, int depth) {
  volatile int local[1000];
  local[depth % 1000] = depth;
  return depth ? deeper(p, depth - 1) + local[depth % 1000] : p[0];
}
__global__ void recursion(int *p, int depth) { p[0] = deeper(p, depth); }
__global__ void misaligned(float *p) { p[0] = reinterpret_cast<float4 *>(p + 1)->x; }

int main(int, char **argv) {
  int *d;
  cudaMalloc(&d, 25 * sizeof(int));
  printf("1\n");
  fflush(stdout);
  switch (atoi(argv[1])) {
  case 0:
    write<<<1, 1>>>(d, 25);
    break;
  case 1:
    write<<<1, 1>>>(d, -1);
    cudaFree(d);
    break;
  case 2:
    read<<<1, 1>>>(d, 64);
    break;
  case 3:
    cudaFree(d);
    read<<<1, 1>>>(d, 0);
    break;
  case 4:
    d[0] = 1;
    break;
  case 5:
    beyondShared<<<1, 1, 32>>>();
    break;
  case 6:
    apart<<<1, 32>>>();
    break;
  case 7:
    recursion<<<1, 1>>>(d, 1000);
    break;
  case 8:
    misaligned<<<1, 1>>>((float *)d);
    break;
  case 9:
    write(d, 0);
    break;
  }
}
// 0 a write 1 bytes beyond an allocation of 100 bytes
// 1 a write 4 bytes before an allocation of 100 bytes
// 2 beyond the end of an allocation (block 0 0 0, thread 0 0 0)
// 3 memory that was freed
// 4 device memory, on the host
// 5 a write 1 bytes beyond the 32 bytes of dynamic shared memory
// 6 32 threads of block (0, 0, 0) wait for others that never come
// 7 the stack of a device thread is full
// 8 a misaligned access
// 9 a kernel is called without a launch
