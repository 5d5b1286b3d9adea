// Records whose name is in the way of generated code.
// RUN: %restride --list %s -- -std=c++17 | FileCheck %s

// CHECK: names.cu:[[@LINE+1]]:{{.*}} soa, asta8, {{.*}} refused: 'n' is a name that generated code uses itself
struct n {
  float x, y;
};
typedef struct {
  float x, y;
  // CHECK: names.cu:[[@LINE-2]]:{{.*}} refused: 'body' is also the name of a variable, which hides the record
} body;

__global__ void k(struct n *p, body *b) {}

int main() {
  struct n *d;
  cudaMalloc(&d, 64 * sizeof(struct n));
  body *body;
  cudaMalloc(&body, 64 * sizeof(*body));
  k<<<1, 1>>>(d, body);
}
