// Functions and variables that are declared more than once: what is done with one of the declarations is done with all.
// RUN: %restride --list %s -- -std=c++17 | FileCheck %s

struct P { float x, y; };
struct Q { float x, y; };

static P *p;
static Q *q;

// Called through a pointer, by a declaration whose parameter is not the body's.
void make(size_t bytes);
void (*const maker)(size_t) = make;
void make(size_t bytes) {
  // CHECK: redeclared.cu:[[@LINE+1]]:18: note: refused: this byte count is not seen to be a whole number of records
  cudaMalloc(&p, bytes);
}

extern size_t bytes;
void change() { bytes = 1001; }
size_t bytes = 1024 * sizeof(Q);

__global__ void k(P *a, Q *b) { a[threadIdx.x].x = b[threadIdx.x].y; }

int main() {
  make(1024 * sizeof(P));
  maker(1001);
  change();
  // CHECK: redeclared.cu:[[@LINE+1]]:18: note: refused: this byte count is not seen to be a whole number of records
  cudaMalloc(&q, bytes);
  k<<<1, 32>>>(p, q);
}
