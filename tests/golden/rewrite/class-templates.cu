// Class templates over records: where an array moves the class is specialised for its record, behind the template or the
// record, whichever comes later. Member functions that nobody calls for it stay declarations.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %restride --quiet --emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=BODY --input-file=%t/out/Body/soa/in.cu
// RUN: FileCheck %s --check-prefix=TILE --input-file=%t/out/Body/asta32/in.cu
// RUN: FileCheck %s --check-prefix=CELL --input-file=%t/out/Cell/soa/in.cu
// RUN: %compile-both %t/out/Body/soa/in.cu %t/out/Body/asta32/in.cu %t/out/Body/aos-align16/in.cu
// RUN: %compile-both %t/out/Cell/soa/in.cu %t/out/Cell/asta32/in.cu
// RUN: cp %t/in.cu %t/both.cu && %restride -i --layout=soa --quiet %t/both.cu -- -std=c++17
// RUN: FileCheck %s --check-prefix=BOTH --input-file=%t/both.cu
// RUN: %compile-both %t/both.cu
// RUN: %restride --check --layout=soa --quiet %t/both.cu -- -std=c++17
#include <cstdio>
#include <utility>
#include <vector>

namespace {

void check(cudaError_t e, const char *what) {
  if (e != cudaSuccess)
    std::printf("%s: %s\n", what, cudaGetErrorString(e));
}

} // namespace

namespace util {

struct Cell { int first, count; float weight; };
// CELL: struct CellSoA {

template <typename T>
class Buffer {
public:
  explicit Buffer(size_t n) : n_(n) { check(cudaMalloc(&data_, n * sizeof(T)), "cudaMalloc"); }
  explicit Buffer(const std::vector<T> &host) : Buffer(host.size()) { upload(host); }
  Buffer(const Buffer &) = delete;
  Buffer(Buffer<T> &&other) noexcept : data_(other.data_), n_(other.n_) { other.data_ = nullptr; }
  Buffer &operator=(Buffer &&other) noexcept {
    if (data_)
      cudaFree(data_);
    data_ = std::exchange(other.data_, nullptr);
    n_ = other.n_;
    return *this;
  }
  ~Buffer() {
    if (data_)
      cudaFree(data_);
  }
  void upload(const std::vector<T> &host) {
    check(cudaMemcpy(data_, host.data(), n_ * sizeof(T), cudaMemcpyHostToDevice), "upload");
  }
  std::vector<T> download() const {
    std::vector<T> host(n_);
    check(cudaMemcpy(host.data(), data_, n_ * sizeof(T), cudaMemcpyDeviceToHost), "download");
    return host;
  }
  T *get() { return data_; }
  const T *get() const { return data_; }
  size_t size() const { return n_; }

private:
  T *data_ = nullptr;
  size_t n_ = 0;
};
// BODY: class Buffer {
// BODY: T *data_ = nullptr;
// CELL: class Buffer {
// CELL: T *data_ = nullptr;
// CELL: template <>
// CELL-NEXT: class Buffer<util::Cell> {
// CELL: explicit Buffer(size_t n) : n_(n) { check(CellSoA_malloc(&data_, n * sizeof(util::Cell)), "cudaMalloc"); }
// CELL-NEXT: explicit Buffer(const std::vector<util::Cell> &host) : Buffer(host.size()) { upload(host); }
// CELL-NEXT: Buffer(const Buffer &) = delete;
// CELL-NEXT: Buffer(Buffer<util::Cell> &&other) noexcept;
// CELL-NEXT: Buffer &operator=(Buffer &&other) noexcept;
// CELL: if (data_.first)
// CELL-NEXT: CellSoA_free(data_);
// CELL: std::vector<util::Cell> download() const;
// CELL-NEXT: CellSoA get() { return data_; }
// CELL-NEXT: const util::Cell *get() const;
// CELL: CellSoA data_ = {};
// CELL-NEXT: size_t n_ = 0;
// CELL-NEXT: };

} // namespace util

struct Body { float x, y, z, m; };
// BODY: struct BodySoA {
// BODY: namespace util {
// BODY-NEXT: template <>
// BODY-NEXT: class Buffer<Body> {
// BODY: Buffer(Buffer<Body> &&other) noexcept : data_(other.data_), n_(other.n_) { other.data_ = {}; }
// BODY: data_ = std::exchange(other.data_, {});
// BODY: std::vector<Body> download() const {
// BODY-NEXT: std::vector<Body> host(n_);
// BODY-NEXT: check(BodySoA_memcpy(host.data(), data_, n_ * sizeof(Body), cudaMemcpyDeviceToHost), "download");
// BODY: BodySoA get() { return data_; }
// BODY: } // namespace util
// TILE: BodyTile32 *get() { return data_; }
// TILE-NEXT: const Body *get() const;
// TILE: BodyTile32 *data_ = nullptr;

__global__ void step(Body *b, const util::Cell *c, float *e, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  b[i].x += c[i].weight * c[i].count;
  // BODY: b.x[i] += c[i].weight * c[i].count;
  // CELL: b[i].x += c.weight[i] * c.count[i];
  // BOTH: b.x[i] += c.weight[i] * c.count[i];
  e[i] = b[i].x * b[i].m;
}

class Simulation {
public:
  explicit Simulation(const std::vector<Body> &bodies, const std::vector<util::Cell> &cells) : bodies(bodies), cells(cells), energy(bodies.size()) {}
  void run() { step<<<unsigned(bodies.size() / 256), 256>>>(bodies.get(), cells.get(), energy.get(), int(bodies.size())); }
  util::Buffer<Body> bodies;
  // BODY: util::Buffer<Body> bodies;
  util::Buffer<util::Cell> cells;
  util::Buffer<float> energy;
};

int main() {
  const int n = 4096;
  std::vector<Body> bodies(n);
  std::vector<util::Cell> cells(n);
  for (int i = 0; i < n; ++i) {
    bodies[i] = {float(i % 7), 0, 0, 2};
    cells[i] = {i, i % 5, 0.5f};
  }
  Simulation s(bodies, cells);
  s.run();
  util::Buffer<Body> moved(std::move(s.bodies));
  util::Buffer<Body> last(std::move(moved.size() ? moved : s.bodies));
  s.bodies = std::move(last);
  std::vector<Body> after = s.bodies.download();
  std::vector<float> energy = s.energy.download();
  std::printf("%g %g\n", after[8].x, energy[9]);
}
