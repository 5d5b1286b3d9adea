// Function templates over records: where an array moves they are written once more, for its record alone, behind the
// template or the record, whichever comes later. A call that says the record calls that function by another name.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=BODY --input-file=%t/out/Body/soa/in.cu
// RUN: FileCheck %s --check-prefix=TILE --input-file=%t/out/Body/asta32/in.cu
// RUN: FileCheck %s --check-prefix=CELL --input-file=%t/out/Cell/soa/in.cu
// RUN: %compile-both %t/out/Body/soa/in.cu %t/out/Body/asta32/in.cu %t/out/Body/aos-align16/in.cu
// RUN: %compile-both %t/out/Cell/soa/in.cu %t/out/Cell/asta32/in.cu %t/out/Cell/aos-align16/in.cu
// RUN: cp %t/in.cu %t/both.cu && %restride -i --layout=soa --quiet %t/both.cu -- -std=c++17
// RUN: FileCheck %s --check-prefix=BOTH --input-file=%t/both.cu
// RUN: %compile-both %t/both.cu
// RUN: %restride --check --layout=soa --quiet %t/both.cu -- -std=c++17
#include <cstdio>
#include <vector>

#define CHECK_CUDA(call) do { if ((call) != cudaSuccess) std::printf("%s\n", #call); } while (0)

struct Cell { int first, count; float weight; };
// CELL: struct CellSoA {

template <typename T>
static T *upload(const std::vector<T> &host) {
  T *device = nullptr;
  CHECK_CUDA(cudaMalloc(&device, host.size() * sizeof(T)));
  CHECK_CUDA(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  return device;
}
// CELL: template <typename T>
// CELL-NEXT: static T *upload(const std::vector<T> &host) {
// CELL: static CellSoA upload(const std::vector<Cell> &host) {
// CELL-NEXT: CellSoA device = {};
// CELL-NEXT: CHECK_CUDA(CellSoA_malloc(&device, host.size() * sizeof(Cell)));
// CELL-NEXT: CHECK_CUDA(CellSoA_memcpy(device, host.data(), host.size() * sizeof(Cell), cudaMemcpyHostToDevice));
// CELL-NEXT: return device;

template <class T, int Width> __global__ void clear(T *p, int n) {
  int i = blockIdx.x * Width + threadIdx.x;
  if (i < n)
    p[i] = T{};
}
// CELL: template <class T, int Width> __global__ void clear(T *p, int n) {
// CELL-NOT: __global__ void clear(

template <class T> void download(std::vector<T> &host, const T *device) {
  CHECK_CUDA(cudaMemcpy(host.data(), device, host.size() * sizeof(T), cudaMemcpyDeviceToHost));
}

namespace util {
template <class T> T *allocate(int n) {
  T *p;
  CHECK_CUDA(cudaMalloc(&p, n * sizeof(T)));
  return p;
}
} // namespace util

struct Body { float x, y, z, m; };
// BODY: template <class T> void download(std::vector<T> &host, const T *device) {
// BODY: struct BodySoA {
// BODY: static BodySoA upload(const std::vector<Body> &host) {
// BODY-NEXT: BodySoA device = {};
// BODY: template <int Width> __global__ void Body_clear(BodySoA p, int n) {
// BODY: BodySoA_store(p, i, Body{});
// BODY: inline void download(std::vector<Body> &host, BodySoA device) {
// BODY-NEXT: CHECK_CUDA(BodySoA_memcpy(host.data(), device, host.size() * sizeof(Body), cudaMemcpyDeviceToHost));
// BODY: namespace util {
// BODY-NEXT: inline BodySoA Body_allocate(int n) {
// BODY: } // namespace util
// TILE: static BodyTile32 *upload(const std::vector<Body> &host) {
// TILE: template <int Width> __global__ void Body_clear(BodyTile32 *p, int n) {
// TILE: inline void download(std::vector<Body> &host, const BodyTile32 *device) {

__global__ void step(Body *b, const Cell *c, float *e, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  b[i].x += c[i].weight * c[i].count;
  e[i] = b[i].x * b[i].m;
}

int main() {
  const int n = 4096;
  std::vector<Body> bodies(n);
  std::vector<Cell> cells(n);
  std::vector<float> energy(n);
  for (int i = 0; i < n; ++i)
    cells[i] = {i, i % 5, 0.5f};
  Body *d_bodies = upload(bodies);
  // BODY: BodySoA d_bodies = upload(bodies);
  // BOTH: BodySoA d_bodies = upload(bodies);
  Cell *d_cells = upload(cells);
  // CELL: CellSoA d_cells = upload(cells);
  // BOTH: CellSoA d_cells = upload(cells);
  float *d_energy = upload(energy);
  // BODY: float *d_energy = upload(energy);
  clear<Body, 256><<<n / 256, 256>>>(d_bodies, n);
  // BODY: Body_clear<256><<<n / 256, 256>>>(d_bodies, n);
  // BOTH: Body_clear<256><<<n / 256, 256>>>(d_bodies, n);
  clear<float, 256><<<n / 256, 256>>>(d_energy, n);
  // BODY: clear<float, 256><<<n / 256, 256>>>(d_energy, n);
  step<<<n / 256, 256>>>(d_bodies, d_cells, d_energy, n);
  Body *more = upload(std::vector<Body>(n));
  // BODY: BodySoA more = upload(std::vector<Body>(n));
  step<<<n / 256, 256>>>(more, d_cells, d_energy, n);
  Body *copies = util::allocate<Body>(n);
  // BODY: BodySoA copies = util::Body_allocate(n);
  cudaMemcpy(copies, d_bodies, n * sizeof(Body), cudaMemcpyDeviceToDevice);
  step<<<n / 256, 256>>>(copies, d_cells, d_energy, n);
  cudaFree(copies);
  download(bodies, d_bodies);
  download(energy, d_energy);
  std::printf("%g %g\n", bodies[7].x, energy[9]);
  cudaFree(d_bodies);
  cudaFree(d_cells);
  cudaFree(d_energy);
}
