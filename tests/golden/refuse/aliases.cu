// Pointers to an element that no index can replace.
// RUN: %restride --list %s -- -std=c++17 | FileCheck %s

struct P {
  float x, y;
};

P *global;

__global__ void k(P *p, P *other, int n) {
  // CHECK-DAG: aliases.cu:[[@LINE+1]]:{{.*}} refused: 'q' points into an array whose pointer changes, so an index cannot take its place
  P *q = &p[n];
  p = other;
  q->x = 1;
  // CHECK-DAG: aliases.cu:[[@LINE+1]]:{{.*}} refused: 'a' is an element's other name, and is declared together with others
  P &a = other[n * n], &b = other[1];
  a.x = b.x;
  P &r = other[n];
  {
    int other = 3;
    // CHECK-DAG: aliases.cu:[[@LINE-3]]:{{.*}} refused: 'r' stands on 'other', a name that is declared twice here
    r.x = other;
  }
  // CHECK-DAG: aliases.cu:[[@LINE+1]]:{{.*}} refused: a pointer into the array is chosen by a condition
  P *c = n ? &other[0] : &other[1];
}

__global__ void together(P *p) {
  P t;
  // CHECK-DAG: aliases.cu:[[@LINE+1]]:{{.*}} refused: 'e' is an element's other name, and is declared together with what is none
  P &e = p[1], &f = t;
  e.x = f.x;
}

__global__ void hides(P *p, int n) {
  // CHECK-DAG: aliases.cu:[[@LINE+1]]:{{.*}} refused: 'h' stands on 'p', a name that is declared twice here
  P *h = &p[n];
  auto inner = [&] {
    P p[3];
    p[0].x = h->x;
  };
  inner();
}

__global__ void tests(P *p, int n) {
  // CHECK-DAG: aliases.cu:[[@LINE+1]]:{{.*}} refused: a pointer into the array is tested for null
  if (P *t = &p[n])
    t->x = 1;
}

int main() {
  // CHECK-DAG: aliases.cu:[[@LINE+1]]:{{.*}} refused: 'g' points into an array whose pointer changes, so an index cannot take its place
  P &g = global[0];
  g.x = 1;
  k<<<1, 1>>>(global, global, 1);
}
