// Without a main, others may call and set what they can see.
// RUN: %restride --list %s -- -std=c++17 | FileCheck %s
// RUN: %restride --list %s -- -std=c++17 | grep -c "refused:" | FileCheck %s --check-prefix=COUNT
// COUNT: {{^}}2{{$}}

struct P {
  float x, y, z;
};

static P *d;
size_t size = 64 * sizeof(P);
static size_t own = 64 * sizeof(P);

__global__ void k(P *p) { p[threadIdx.x].x = 1; }

// CHECK-DAG: library.cu:[[@LINE+1]]:42: note: refused: this byte count is not seen to be a whole number of records
void init(size_t bytes) { cudaMalloc(&d, bytes); }
// CHECK-DAG: library.cu:[[@LINE+1]]:33: note: refused: this byte count is not seen to be a whole number of records
void clear() { cudaMemset(d, 0, size); }

static void half(size_t bytes) { cudaMemset(d, 0, bytes); }

void run(int n) {
  init(n * sizeof(P));
  half(n / 2 * sizeof(P));
  cudaMemset(d, 0, own);
  k<<<1, 1>>>(d);
}
