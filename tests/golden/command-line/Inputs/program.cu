#include "real.h"
#ifndef REAL
#error the flag for the host compiler is lost
#endif
struct P {
  real x, y;
};
__global__ void scale(P *p) {
  p[blockIdx.x * LEN + threadIdx.x].x *= 2;
}
int main() {
  P *d;
  cudaMalloc(&d, 16 * LEN * sizeof(P));
  scale<<<16, LEN>>>(d);
  return 0;
}
