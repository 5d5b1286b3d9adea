// References and pointers to an element that never change become an index, and
// go where the index they are made of can stand in their place.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=SOA --input-file=%t/out/P/soa/in.cu
// RUN: FileCheck %s --check-prefix=ALIGN --input-file=%t/out/P/aos-align16/in.cu
// RUN: %compile-both %t/out/P/soa/in.cu %t/out/P/aos-align16/in.cu

#include <cstdio>

struct P {
  float x, y;
  int n;
};

__device__ float read(const P *q) { return q->x; }

__global__ void k(P *p, int n, int i) {
  P &r = p[i];
  // SOA: const ptrdiff_t r = i;
  // ALIGN: const ptrdiff_t r = i;
  r.x = r.y;
  // SOA: p.x[r] = p.y[r];
  // ALIGN: p[r].x = p[r].y;
  const P &c = p[n + 1];
  auto &a = p[c.n];
  // SOA-NEXT: const ptrdiff_t a = p.n[n + 1];
  P t = r;
  // SOA: P t = PSoA_load(p, r);
  // ALIGN: P t = p[r];
  a = t;
  // SOA: PSoA_store(p, a, t);
  // ALIGN: static_cast<P &>(p[a]) = t;
  P *q = &p[i];
  // SOA: const ptrdiff_t q = i;
  q->x += q[n].y + (*q).x;
  // SOA: p.x[q] += p.y[q + n] + p.x[q];
  const P *const w = p + i;
  // SOA: const ptrdiff_t w = i;
  for (P *f = q + n; i < n; ++i)
    // SOA: for (const ptrdiff_t f = q + n; i < n; ++i)
    f->n += w[i].n;
  // SOA: p.n[f] += p.n[w + i];
  if (n) {
    const auto *deep = &w[1];
    // SOA: const ptrdiff_t deep = w + 1;
    r.y = read(deep) + read(&r) + read(q + 2) + sizeof(r);
    // SOA: p.y[r] = read(p, deep) + read(p, r) + read(p, q + 2) + sizeof(P);
    // ALIGN: p[r].y = read(p + deep) + read(p + r) + read(p + (q + 2)) + sizeof(P);
  }
}

// SOA-LABEL: __global__ void names(PSoA p, int n) {
__global__ void names(P *p, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    P &r = p[i]; // this thread's own

    r.x += r.y;
    const P *next = &p[i + 1], &last = p[64 - 1];
    if (i + 1 < n)
      r.y += next->n + last.n;
    // SOA-NEXT: for (int i = threadIdx.x; i < n; i += blockDim.x) {
    // SOA-NEXT: // this thread's own
    // SOA-EMPTY:
    // SOA-NEXT: p.x[i] += p.y[i];
    // SOA-NEXT: if (i + 1 < n)
    // SOA-NEXT: p.y[i] += p.n[i + 1] + p.n[64 - 1];
    // ALIGN: p[i].y += p[i + 1].n + p[64 - 1].n;
  }
  int k = threadIdx.x;
  P &changes = p[k];
  k += 32;
  changes.x += 1;
  // SOA: const ptrdiff_t changes = k;
  // SOA: p.x[changes] += 1;
  P &hides = p[k];
  for (int k = 0; k < 2; ++k)
    hides.x += k;
  // SOA: const ptrdiff_t hides = k;
  // SOA: p.x[hides] += k;
  int *address = &k;
  P &far = p[k];
  *address = 7;
  far.x *= 2;
  // SOA: const ptrdiff_t far = k;
  // SOA: p.x[far] *= 2;
}

// SOA-LABEL: __global__ void captured(PSoA p, int i) {
__global__ void captured(P *p, int i) {
  P &r = p[i];
  auto twice = [&] { return 2 * r.x; };
  // SOA: const ptrdiff_t r = i;
  p[i].y = twice();
  int j = 0;
  auto next = [&] { ++j; };
  auto each = [&] {
    P &own = p[j];
    next();
    own.x += 1;
    // SOA: const ptrdiff_t own = j;
    // SOA: p.x[own] += 1;
  };
  each();
}

static_assert(sizeof(P) == 12, "the host keeps its record");

int main() {
  P h[64], *d;
  for (int i = 0; i < 64; ++i)
    h[i] = {1.0f * i, 0.5f * i, 63 - i};
  cudaMalloc(&d, sizeof(h));
  cudaMemcpy(d, h, sizeof(h), cudaMemcpyHostToDevice);
  for (int i = 0; i < 32; ++i) // one thread: they would meet
    k<<<1, 1>>>(d, 1, i);
  names<<<1, 32>>>(d, 32);
  captured<<<1, 1>>>(d, 5);
  cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
  for (const P &p : h)
    printf("%g %g %d\n", p.x, p.y, p.n);
  cudaFree(d);
}
