// A comment in the source asks to leave arrays alone.
// RUN: %restride --list %s -- 2>&1 | FileCheck %s
// RUN: %restride --quiet --layout=soa %s -- | count 0

struct Header { // NORESTRIDE: the driver reads it
  float a, b;
};
struct P {
  float x, y;
};
__global__ void step(Header *h, P *p, float *u, float *v) {
  int i = threadIdx.x;
  h[i].a += h[i].b;
  p[i].x += p[i].y;
  u[i * 4] += v[i * 4];
}
int main() {
  Header *h;
  // NORESTRIDE
  P *p;
  float *u;
  float *v; // NORESTRIDE
  cudaMalloc(&h, 4096 * sizeof(Header));
  cudaMalloc(&p, 4096 * sizeof(P));
  cudaMalloc(&u, 4096 * sizeof(float));
  cudaMalloc(&v, 4096 * sizeof(float));
  step<<<16, 256>>>(h, p, u, v);
}

// CHECK: parallel arrays 'u, v' are left alone
// CHECK-NEXT: comments.cu:22:10: note: refused: a comment asks for it (NORESTRIDE)
// CHECK: comments.cu:5:8: remark: array of 'Header' ('h') is left alone
// CHECK-NEXT: comments.cu:5:8: note: refused: a comment asks for it (NORESTRIDE)
// CHECK: array of 'P' ('p') is left alone
// CHECK-NEXT: comments.cu:20:6: note: refused: a comment asks for it (NORESTRIDE)
