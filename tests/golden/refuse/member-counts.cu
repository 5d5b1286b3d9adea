// Byte counts in members that may hold something else.
// RUN: %restride --list %s -- -std=c++17 | FileCheck %s
// RUN: %restride --list %s -- -std=c++17 | grep -c "refused:" | FileCheck %s --check-prefix=COUNT
// COUNT: {{^}}10{{$}}

#include <cstdio>
#include <cstring>

struct P {
  float x, y, z;
};

__global__ void k(P *p) { p[threadIdx.x].x = 1; }

struct Plain { size_t bytes; };
struct Defaulted { size_t bytes = 100; };
struct Constructed {
  explicit Constructed(size_t n) : bytes(n) {}
  size_t bytes;
};
union Union {
  size_t bytes;
  double other;
};
struct Unnamed {
  union {
    size_t bytes;
    struct { int low, high; };
  };
};
struct Copied { size_t bytes; };
struct Read { size_t bytes; };
struct Seen { size_t bytes; };
struct Bound { size_t n, bytes; };
struct Pointed { size_t bytes; };
struct Outer { Copied inner; };

// These are fine: set to zero, freed, made by malloc, copied as a whole and to the device, bound by value.
struct Good { size_t n, bytes; };

int main(int argc, char **) {
  P *d;
  Plain plain;
  plain.bytes = argc * sizeof(P);
  plain.bytes += 4;
  // CHECK-DAG: member-counts.cu:[[@LINE+1]]:18: note: refused: this byte count is not seen to be a whole number of records; write it with sizeof, here or in a variable that gets no other value
  cudaMalloc(&d, plain.bytes);
  Defaulted first{argc * sizeof(P)}, second;
  // CHECK-DAG: member-counts.cu:[[@LINE+1]]:20: note: refused: this byte count
  cudaMemset(d, 0, second.bytes), first.bytes = sizeof(P);
  Constructed made(argc);
  if (argc > 3)
    made.bytes = sizeof(P);
  // CHECK-DAG: member-counts.cu:[[@LINE+1]]:20: note: refused: this byte count
  cudaMemset(d, 0, made.bytes);
  Union shared;
  shared.bytes = sizeof(P);
  shared.other = argc;
  // CHECK-DAG: member-counts.cu:[[@LINE+1]]:20: note: refused: this byte count
  cudaMemset(d, 0, shared.bytes);
  Unnamed unnamed;
  unnamed.bytes = sizeof(P);
  unnamed.low = argc;
  // CHECK-DAG: member-counts.cu:[[@LINE+1]]:20: note: refused: this byte count
  cudaMemset(d, 0, unnamed.bytes);
  size_t raw = 100;
  Outer copied;
  copied.inner.bytes = sizeof(P);
  memcpy(&copied, &raw, sizeof raw);
  // CHECK-DAG: member-counts.cu:[[@LINE+1]]:20: note: refused: this byte count
  cudaMemset(d, 0, copied.inner.bytes);
  Read read = {sizeof(P)};
  fread(&read, sizeof read, 1, stdin);
  // CHECK-DAG: member-counts.cu:[[@LINE+1]]:20: note: refused: this byte count
  cudaMemset(d, 0, read.bytes);
  Seen seen;
  seen.bytes = sizeof(P);
  seen = *reinterpret_cast<Seen *>(&raw);
  // CHECK-DAG: member-counts.cu:[[@LINE+1]]:20: note: refused: this byte count
  cudaMemset(d, 0, seen.bytes);
  Bound bound{1, sizeof(P)};
  auto &[n, bytes] = bound;
  bytes += n;
  // CHECK-DAG: member-counts.cu:[[@LINE+1]]:20: note: refused: this byte count
  cudaMemset(d, 0, bound.bytes);
  Pointed pointed{sizeof(P)};
  size_t *pointer = &pointed.bytes;
  *pointer = argc;
  // CHECK-DAG: member-counts.cu:[[@LINE+1]]:20: note: refused: this byte count
  cudaMemset(d, 0, pointed.bytes);

  Good good, copy, *other = (Good *)malloc(sizeof(Good)), *onDevice;
  memset(&good, 0, sizeof good);
  good.bytes = argc * sizeof(P);
  copy = good;
  other->bytes = copy.bytes;
  good.bytes = 2 * other->bytes;
  cudaMalloc(&onDevice, sizeof(Good));
  cudaMemcpy(onDevice, &good, sizeof(Good), cudaMemcpyHostToDevice);
  auto [count, counted] = good;
  counted += count;
  cudaMemset(d, 0, other->bytes);
  free(other);
  cudaFree(onDevice);
  k<<<1, 1>>>(d);
}
