// A parameter `T **`: what it leads to is a pointer like any other, also where functions hand it on.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=STOP --input-file=%t/out/Stop/soa/in.cu
// RUN: FileCheck %s --check-prefix=NET --input-file=%t/out/Net/soa/in.cu
// RUN: FileCheck %s --check-prefix=TILE --input-file=%t/out/Net/asta32/in.cu
// RUN: FileCheck %s --check-prefix=CAR --input-file=%t/out/Car-out/soa/in.cu
// RUN: %compile-both %t/out/Stop/soa/in.cu %t/out/Stop/asta32/in.cu %t/out/Stop/aos-align16/in.cu %t/out/Stop/grouped/in.cu
// RUN: %compile-both %t/out/Net/soa/in.cu %t/out/Net/asta32/in.cu %t/out/Car-out/soa/in.cu %t/out/Car-out-2/asta32/in.cu %t/out/Car-out-3/soa/in.cu
// RUN: cp %t/in.cu %t/all.cu && %restride -i --layout=soa --quiet %t/all.cu -- -std=c++17
// RUN: %compile-both %t/all.cu
// RUN: %restride --check --layout=soa --quiet %t/all.cu -- -std=c++17
#include <cstdio>
#include <cstdlib>
#include <vector>
struct Stop { float x, y; int demand, open; };
struct Car { float a, b, c; int d; };
struct Net { float w, v; int k; };
#define CU(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { fprintf(stderr, "%s\n", cudaGetErrorString(e_)); exit(1); } } while (0)
template <class T> static cudaError_t upload(T** dst, const T* src, size_t n) {
  cudaError_t e = cudaMalloc((void **)dst, n * sizeof(T));
  if (e != cudaSuccess) return e;
  return cudaMemcpy(*dst, src, n * sizeof(T), cudaMemcpyHostToDevice);
}
// STOP: static cudaError_t upload(StopSoA *dst, const Stop* src, size_t n) {
// STOP-NEXT: cudaError_t e = StopSoA_malloc(dst, n * sizeof(Stop));
// STOP-NEXT: if (e != cudaSuccess) return e;
// STOP-NEXT: return StopSoA_memcpy(*dst, src, n * sizeof(Stop), cudaMemcpyHostToDevice);
static void make_cars(Car **out, int n);
// CAR: static void make_cars(CarSoA *out, int n);
// CAR: static void make_cars(CarSoA *out, int n) {
// CAR-NEXT: CU(CarSoA_malloc(out, n * sizeof(Car)));
// CAR: if (!*out) exit(1);
static void make_cars(Car **out, int n) {
  CU(cudaMalloc(out, n * sizeof(Car)));
  CU(cudaMemset(*out, 0, n * sizeof(Car)));
  if (!*out) exit(1);
}
void both(Car **a, Car** b, int n) { make_cars(a, n); make_cars(b, n); }
// CAR: void both(CarSoA *a, Car** b, int n) { make_cars(a, n); make_cars(b, n); }
void drop(Net **p) { if (*p) cudaFree(*p); *p = NULL; }
// NET: void drop(NetSoA *p) { if ((*p).w) NetSoA_free(*p); *p = {}; }
void make_nets(struct Net **p, const Net *h, int n) {
  // NET: void make_nets(NetSoA *p, const Net *h, int n) {
  // TILE: void make_nets(NetTile32 **p, const Net *h, int n) {
  Net *tmp;
  CU(cudaMalloc((void **)&tmp, sizeof(Net) * n));
  CU(cudaMemcpy(tmp, h, sizeof(Net) * n, cudaMemcpyHostToDevice));
  *p = tmp;
  // NET: *p = tmp;
}
struct Problem { Stop *stops; Car *cars; int n; };
__global__ void k(Stop *s, const Car *c, const Car *d, Net *net, int n, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  s[i].demand += s[(i * 7) % n].open;
  net[i].w += s[i].x;
  out[i] = s[i].x * c[i].a + d[i].b + net[i].w;
}
int main() {
  const int n = 100000;
  std::vector<Stop> h(n);
  for (int i = 0; i < n; ++i) h[i] = {float(i % 17), float(i % 23), 1, i % 3};
  std::vector<Net> hn(n, Net{1, 2, 3});
  Problem p;
  CU(upload(&p.stops, h.data(), n));
  // STOP: CU(upload(&p.stops, h.data(), n));
  make_cars(&p.cars, n);
  Car *more;
  Car *third;
  both(&more, &third, n);
  Net *net;
  make_nets(&net, hn.data(), n);
  float *out; CU(cudaMalloc(&out, n * sizeof(float)));
  k<<<(n + 255) / 256, 256>>>(p.stops, p.cars, more, net, n, out);
  k<<<(n + 255) / 256, 256>>>(p.stops, third, more, net, n, out);
  CU(cudaMemcpy(h.data(), p.stops, n * sizeof(Stop), cudaMemcpyDeviceToHost));
  double sum = 0; for (auto &s : h) sum += s.demand;
  std::vector<float> o(n); CU(cudaMemcpy(o.data(), out, n * sizeof(float), cudaMemcpyDeviceToHost));
  for (float f : o) sum += f;
  printf("check %.6g\n", sum);
  cudaFree(p.stops); cudaFree(p.cars); cudaFree(more); cudaFree(third); drop(&net); cudaFree(out);
}
