// Pointers in structs that a kernel takes by value, and in a class that launches kernels.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/out/P-dev_/soa/in.cu
// RUN: FileCheck %s --check-prefix=TILE --input-file=%t/out/P-dev_/asta32/in.cu
// RUN: %compile-both %t/out/P-dev_/soa/in.cu %t/out/P-dev_/asta32/in.cu %t/out/P-dev_/aos-align16/in.cu
#include <cstdio>
struct P {
  float x, y;
  int id;
};
struct Inner {
  P *p;
  // SOA: PSoA p;
  // TILE: PTile32 *p;
  int n;
};
struct Data {
  Inner in;
  const P *src;
  float f;
};
class Sim {
public:
  Sim(int n) : n_(n) {
    cudaMalloc(&dev_, n * sizeof(P));
    // SOA: PSoA_malloc(&dev_, n * sizeof(P));
    // TILE: PTile32_malloc(&dev_, n * sizeof(P));
    cudaMalloc((void **)&old_, n * sizeof(P));
  }
  ~Sim() {
    cudaFree(dev_);
    // SOA: PSoA_free(dev_);
    cudaFree(old_);
  }
  void load(const P *h) {
    cudaMemcpy(dev_, h, n_ * sizeof(P), cudaMemcpyHostToDevice);
    // SOA: PSoA_memcpy(dev_, h, n_ * sizeof(P), cudaMemcpyHostToDevice);
    // TILE: PTile32_memcpy(dev_, h, n_ * sizeof(P), cudaMemcpyHostToDevice);
    cudaMemcpy(old_, h, n_ * sizeof(P), cudaMemcpyHostToDevice);
  }
  void run();
  void store(P *h) const { cudaMemcpy(h, dev_, n_ * sizeof(P), cudaMemcpyDeviceToHost); }
  // SOA: void store(P *h) const { PSoA_memcpy(h, dev_, n_ * sizeof(P), cudaMemcpyDeviceToHost); }
  // TILE: void store(P *h) const { PTile32_memcpy(h, dev_, n_ * sizeof(P), cudaMemcpyDeviceToHost); }

private:
  int n_;
  P *dev_ = nullptr, *old_ = nullptr;
  // SOA: PSoA dev_ = {};
  // SOA: P *old_ = nullptr;
  // TILE: PTile32 *dev_ = nullptr;
};
__global__ void k(Data d) {
  int i = threadIdx.x;
  if (i < d.in.n) {
    d.in.p[i].x += d.src[i].y * d.f;
    // SOA: d.in.p.x[i] += d.src[i].y * d.f;
    // TILE: d.in.p[i >> 5].x[i & 31] += d.src[i].y * d.f;
    d.in.p[i].id++;
    // SOA: d.in.p.id[i]++;
    // TILE: d.in.p[i >> 5].id[i & 31]++;
    P t = d.in.p[i];
    // SOA: P t = PSoA_load(d.in.p, i);
    // TILE: P t = PTile32_load(d.in.p, i);
    t.y = t.x;
    d.in.p[i] = t;
    // SOA: PSoA_store(d.in.p, i, t);
    // TILE: PTile32_store(d.in.p, i, t);
  }
}
__global__ void k2(P *p, const P *q, int n) {
  // SOA: __global__ void k2(PSoA p, const P *q, int n) {
  // TILE: __global__ void k2(PTile32 *p, const P *q, int n) {
  int i = threadIdx.x;
  if (i < n)
    p[i].y += q[i].x;
    // SOA: p.y[i] += q[i].x;
    // TILE: p[i >> 5].y[i & 31] += q[i].x;
}
void Sim::run() {
  Data d;
  d.in.p = dev_;
  d.in.n = n_;
  d.src = old_;
  d.f = 2;
  k<<<1, 32>>>(d);
  Data e = d;
  k<<<1, 32>>>(e);
  k2<<<1, 32>>>(dev_, old_, n_);
}
int main() {
  P h[32];
  for (int i = 0; i < 32; i++)
    h[i] = {1.0f * i, 2.0f * i, i};
  Sim s(32);
  s.load(h);
  s.run();
  s.store(h);
  for (auto &p : h)
    printf("%g %g %d\n", p.x, p.y, p.id);
}
