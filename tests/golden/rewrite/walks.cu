// Pointers that walk over the array become indices that do, and pointers that are compared
// or subtracted become their places.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/out/P/soa/in.cu
// RUN: FileCheck %s --check-prefix=TILE --input-file=%t/out/P/asta32/in.cu
// RUN: %compile-both %t/out/P/soa/in.cu %t/out/P/asta32/in.cu

#include <cstdio>

struct P {
  float x, y;
  int n;
};

__device__ float product(const P *q) { return q->x * q->y; }

// SOA-LABEL: __global__ void strides(PSoA p, float *out, int n) {
__global__ void strides(const P *p, float *out, int n) {
  float sum = 0;
  const P *end = p + n;
  // SOA-NOT: end
  for (const P *q = p + threadIdx.x; q < end; q += blockDim.x)
    sum += q->x + product(q);
  // SOA: for (ptrdiff_t q = threadIdx.x; q < n; q += blockDim.x)
  // SOA-NEXT: sum += p.x[q] + product(p, q);
  // TILE: for (ptrdiff_t q = threadIdx.x; q < n; q += blockDim.x)
  // TILE-NEXT: sum += p[q >> 5].x[q & 31] + product(p, q);
  out[threadIdx.x] = sum;
}

// SOA-LABEL: __global__ void halves(PSoA p, const int *begins, int n) {
__global__ void halves(P *p, const int *begins, int n) {
  P *first = p + begins[threadIdx.x], *last = first + n;
  // SOA: ptrdiff_t first = begins[threadIdx.x], last = first + n;
  while (first != last) {
    P &one = *first;
    // SOA: const ptrdiff_t one = first;
    --last;
    if (first == last)
      break;
    // SOA: if (first == last)
    P t = *last;
    one.x += t.y;
    // SOA: P t = PSoA_load(p, last);
    // SOA: p.x[one] += t.y;
    last->n = last - p - (first - p);
    // SOA: p.n[last] = last - 0 - (first - 0);
    ++first;
  }
  const auto left = [&] { return last - &p[begins[threadIdx.x]] > n / 2; };
  // SOA: last - begins[threadIdx.x] > n / 2
  first -= left();
  first[0].y = 1;
  // SOA: p.y[first + 0] = 1;
}

// SOA-LABEL: __global__ void numbers(PSoA p, int n) {
__global__ void numbers(P *p, int n) {
  P *q = p;
  // SOA: ptrdiff_t q = 0;
  for (int i = 0; i < n; ++i, q++)
    q->n += i;
  while (q > p + n / 2) {
    // SOA: while (q > (n / 2)) {
    --q;
    *q = {1, 2, q->n};
  }
}

// SOA-LABEL: __global__ void signs(PSoA p, unsigned a, size_t b, int *out) {
__global__ void signs(P *p, unsigned a, size_t b, int *out) {
  const P *first = p + a, *second = p + b;
  out[0] = first - second < 0;
  // SOA: out[0] = (ptrdiff_t)a - (ptrdiff_t)b < 0;
  out[1] = first - 4 < second;
  // SOA: out[1] = (ptrdiff_t)((ptrdiff_t)a - 4) < (ptrdiff_t)b;
  const P *q = second;
  while (q >= p + (b - b))
    --q;
  // SOA: while (q >= (ptrdiff_t)(b - b))
  out[2] = q - p;
}

struct Grid {
  P *cells, *others;
  int n;
};

// SOA-LABEL: __global__ void inAGrid(Grid g) {
__global__ void inAGrid(Grid g) {
  for (const P *q = g.cells + 1; q != g.cells + g.n; ++q)
    g.cells[0].n += q->n;
  // SOA: for (ptrdiff_t q = 1; q != g.n; ++q)
  // SOA-NEXT: g.cells.n[0] += g.cells.n[q];
}

int main() {
  const int n = 64;
  P *m;
  float *sums;
  int *begins;
  cudaMallocManaged(&m, n * sizeof(P));
  cudaMallocManaged(&sums, 32 * sizeof(float));
  cudaMallocManaged(&begins, 3 * sizeof(int));
  for (P *q = m; q != m + n; ++q)
    *q = {1.0f * (q - m), 0.5f, 3};
  // SOA: for (ptrdiff_t q = 0; q != n; ++q)
  // SOA-NEXT: PSoA_store(m, q, {1.0f * (q - 0), 0.5f, 3});
  signs<<<1, 1>>>(m, 1, 3, begins);
  cudaDeviceSynchronize();
  printf("%d %d %d\n", begins[0], begins[1], begins[2]);
  begins[0] = 0, begins[1] = n / 2;
  strides<<<1, 32>>>(m, sums, n);
  halves<<<1, 2>>>(m, begins, n / 2);
  cudaDeviceSynchronize();
  numbers<<<1, 1>>>(m, n);
  inAGrid<<<1, 1>>>({m, m, n});
  cudaDeviceSynchronize();
  for (int i = 0; i < n; ++i)
    printf("%g %g %d %g\n", m[i].x, m[i].y, m[i].n, sums[i % 32]);
  cudaFree(m);
}
