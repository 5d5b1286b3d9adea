// A structure of arrays has a pointer per field; tiles and alignment do not mind.
// RUN: %restride --list %s -- -std=c++17 | FileCheck %s
// RUN: rm -rf %t && %restride --quiet --emit-variants=%t/out %s -- -std=c++17 > %t.diff
// RUN: ls %t/out/Many | FileCheck %s --check-prefix=LAYOUTS
// RUN: %compile-both %t/out/Many/asta32/many-fields.cu %t/out/Many/aos-align16/many-fields.cu
// LAYOUTS: aos-align16
// LAYOUTS: asta32
// LAYOUTS-NOT: soa

struct Ten {
  float a, b, c, d, e, f, g, h, i, j;
};
// CHECK: many-fields.cu:[[@LINE+2]]:8: remark: array of 'Many' ('m') can be laid out anew
// CHECK-NEXT: many-fields.cu:[[@LINE+1]]:8: note: soa refused: 'Many' would need 129 arrays, more than a kernel parameter should carry
struct Many {
  Ten v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11;
  float k0, k1, k2, k3, k4, k5, k6, k7, k8;
};
// An array in a record is one array.
// CHECK: array of 'Long' ('l') can be laid out anew
// CHECK-NOT: refused
struct Long {
  Ten v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11;
  float k[100];
};

__global__ void k(Many *m, Long *l) {
  int i = threadIdx.x;
  m[i].v11.j += m[i].k8 + l[i].k[i];
  Many t = m[i];
  m[i + 32] = t;
}

int main() {
  Many *m;
  Long *l;
  cudaMalloc(&m, 64 * sizeof(Many));
  cudaMalloc(&l, 64 * sizeof(Long));
  k<<<1, 32>>>(m, l);
}
