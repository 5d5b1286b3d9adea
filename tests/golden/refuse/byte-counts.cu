// Byte counts in variables that cannot be followed to one value.
// RUN: %restride --list %s -- -std=c++17 | FileCheck %s
// RUN: %restride --list %s -- -std=c++17 | grep -c "refused:" | FileCheck %s --check-prefix=COUNT
// COUNT: {{^}}19{{$}}

struct P {
  float x, y, z;
};

static P *d;

__global__ void k(P *p) { p[threadIdx.x].x = 1; }

// The one way to the call goes through a loop, a branch, a label or another assignment.
void ways(int n) {
  size_t looped = 0, branched = n * sizeof(P), again = 0, changed = n * sizeof(P);
  for (int i = 0; i < n; ++i)
    looped += sizeof(P);
  // CHECK-DAG: byte-counts.cu:[[@LINE+1]]:18: note: refused: this byte count is not seen to be a whole number of records; write it with sizeof, here or in a variable that gets no other value
  cudaMalloc(&d, looped);
  if (n > 4)
    branched = 100;
  // CHECK-DAG: byte-counts.cu:[[@LINE+1]]:18: note: refused: this byte count
  cudaMalloc(&d, branched);
  again = n * sizeof(P);
  again = 3 * again / 2;
  // CHECK-DAG: byte-counts.cu:[[@LINE+1]]:18: note: refused: this byte count
  cudaMalloc(&d, again);
  // CHECK-DAG: byte-counts.cu:[[@LINE+1]]:20: note: refused: this byte count
  cudaMemset(d, 0, changed), changed += 4;
  if (n > 5)
    // CHECK-DAG: byte-counts.cu:[[@LINE+1]]:22: note: refused: this byte count
    cudaMemset(d, 0, changed);
  if (n == 6)
    goto inside;
  changed = n * sizeof(P);
  if (n == 7) {
  inside:
    ++n;
  }
  // CHECK-DAG: byte-counts.cu:[[@LINE+1]]:20: note: refused: this byte count
  cudaMemset(d, 0, changed);
  switch (n) {
  case 1:
    --n;
    changed = n * sizeof(P);
  case 2:
    ++n;
    // CHECK-DAG: byte-counts.cu:[[@LINE+1]]:22: note: refused: this byte count
    cudaMemset(d, 0, changed);
  }
}

// Something else than its name changes it.
void names(int n) {
  size_t aliased = 0, pointed = 0, captured = 0, late = 0;
  size_t &alias = aliased, *pointer = &pointed;
  auto grow = [&] { captured += 4; };
  aliased = n * sizeof(P);
  alias += 4;
  // CHECK-DAG: byte-counts.cu:[[@LINE+1]]:18: note: refused: this byte count
  cudaMalloc(&d, aliased);
  // CHECK-DAG: byte-counts.cu:[[@LINE+1]]:20: note: refused: this byte count
  cudaMemset(d, 0, alias);
  pointed = n * sizeof(P);
  *pointer += 4;
  // CHECK-DAG: byte-counts.cu:[[@LINE+1]]:18: note: refused: this byte count
  cudaMalloc(&d, pointed);
  captured = n * sizeof(P);
  grow();
  // CHECK-DAG: byte-counts.cu:[[@LINE+1]]:18: note: refused: this byte count
  cudaMalloc(&d, captured);
  late = n * sizeof(P);
  // CHECK-DAG: byte-counts.cu:[[@LINE+1]]:39: note: refused: this byte count
  auto clear = [&] { cudaMemset(d, 0, late); };
  late += 4;
  clear();
}

// It is rounded on its way.
void types(int n) {
  unsigned char small = n * sizeof(P);
  // CHECK-DAG: byte-counts.cu:[[@LINE+1]]:18: note: refused: this byte count
  cudaMalloc(&d, small);
  // CHECK-DAG: byte-counts.cu:[[@LINE+1]]:20: note: refused: this byte count
  cudaMemset(d, 0, size_t(short(n * sizeof(P))));
  // CHECK-DAG: byte-counts.cu:[[@LINE+1]]:38: note: refused: this byte count
  cudaMemset(d, 0, n * sizeof(P) / 2 * 2);
}

// Not every call is seen.
// CHECK-DAG: byte-counts.cu:[[@LINE+1]]:51: note: refused: this byte count
static void fill(size_t bytes) { cudaMemset(d, 0, bytes); }
struct Fill {
  // CHECK-DAG: byte-counts.cu:[[@LINE+1]]:52: note: refused: this byte count
  void operator()(size_t bytes) { cudaMemset(d, 0, bytes); }
};
struct Base {
  virtual void fill(size_t bytes) {}
};
struct Derived : Base {
  // CHECK-DAG: byte-counts.cu:[[@LINE+1]]:55: note: refused: this byte count
  void fill(size_t bytes) override { cudaMemset(d, 0, bytes); }
};
// CHECK-DAG: byte-counts.cu:[[@LINE+1]]:66: note: refused: this byte count
static void fillByDefault(size_t bytes = 100) { cudaMemset(d, 0, bytes); }

int main(int argc, char **) {
  ways(argc), names(argc), types(argc);
  void (*f)(size_t) = fill;
  fill(argc * sizeof(P)), f(argc);
  Fill functor;
  functor.operator()(argc * sizeof(P)), functor(argc);
  Derived one;
  one.Derived::fill(argc * sizeof(P)), static_cast<Base &>(one).fill(argc);
  fillByDefault(argc * sizeof(P)), fillByDefault();
  k<<<1, 1>>>(d);
}
