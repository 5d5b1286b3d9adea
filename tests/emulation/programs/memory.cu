// Memory of every kind, and what the runtime refuses.
#include <cstdio>

__constant__ float table[4] = {1, 2, 3, 4};
__device__ int counter;
__device__ __managed__ int shown = 5;
struct Slot {
  unsigned long long key;
  double weight;
  unsigned n;
};

__global__ void read(float *out) {
  out[threadIdx.x] = __ldg(&table[threadIdx.x]) + shown;
  atomicAdd(&counter, 1);
}

__device__ double addByCas(double *p, double v) {
  unsigned long long *bits = (unsigned long long *)p, old = *bits, seen;
  do {
    seen = old;
    old = atomicCAS(bits, seen, __double_as_longlong(v + __longlong_as_double(seen)));
  } while (seen != old);
  return __longlong_as_double(old);
}

__global__ void update(Slot *s) {
  unsigned i = threadIdx.x;
  atomicCAS(&s[i % 2].key, 0ull, i + 1ull);
  addByCas(&s[i % 2].weight, 0.5 * i);
  atomicInc(&s[0].n, 4);
  atomicMax(&s[1].n, i * 7 % 10);
}

static void say(const char *what, cudaError_t e) { printf("%s: %s\n", what, cudaGetErrorString(e)); }

int main() {
  float h[4], changed[2] = {10, 20}, *d;
  cudaMalloc(&d, sizeof(h));
  cudaMemcpyToSymbol(table, changed, sizeof(changed), sizeof(float));
  ++shown;
  read<<<1, 4>>>(d);
  cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
  int n;
  cudaMemcpyFromSymbol(&n, counter, sizeof(n));
  printf("%g %g %g %g, %d\n", h[0], h[1], h[2], h[3], n);
  float *address;
  cudaGetSymbolAddress((void **)&address, table);
  cudaMemcpy(h, address + 3, sizeof(float), cudaMemcpyDeviceToHost);
  printf("%g\n", h[0]);

  Slot *s;
  cudaMallocManaged(&s, 2 * sizeof(Slot));
  s[0] = s[1] = {0, 0.25, 0};
  update<<<1, 12>>>(s);
  cudaDeviceSynchronize();
  for (int i = 0; i < 2; ++i)
    printf("%llu %g %u\n", s[i].key, s[i].weight, s[i].n);

  unsigned char raw[3];
  cudaMemset(d, 0x7f, 2);
  cudaMemcpy(raw, d, 3, cudaMemcpyDeviceToHost);
  printf("%02x %02x %02x\n", raw[0], raw[1], raw[2]);

  say("too much", cudaMemcpy(d, h, sizeof(h) + 1, cudaMemcpyHostToDevice));
  say("wrong way", cudaMemcpy(d, h, sizeof(h), cudaMemcpyDeviceToHost));
  say("host memory", cudaMemset(h, 0, sizeof(h)));
  cudaFree(d);
  say("freed", cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost));
  say("twice", cudaFree(d));
}
// 7 16 26 10, 4
// 4
// 1 15.25 2
// 2 18.25 9
// 7f 7f e0
// too much: invalid argument
// wrong way: invalid argument
// host memory: invalid argument
// freed: invalid argument
// twice: invalid argument
