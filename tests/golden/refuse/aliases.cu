// Pointers to an element that no index can replace.
// RUN: %restride --list %s -- -std=c++17 | FileCheck %s

#include <algorithm>
#include <functional>

struct P {
  float x, y;
};

P *global;

__global__ void k(P *p, P *other, int n) {
  // CHECK-DAG: aliases.cu:[[@LINE+1]]:{{.*}} refused: 'q' points into an array whose pointer changes, so an index cannot take its place
  P *q = &p[n];
  p = other;
  q->x = 1;
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

struct Q {
  float x, y;
};

struct Grid {
  Q *cells, *spare;
  int n;
};

void exchange(Grid &g) {
  Q *t = g.cells;
  g.cells = g.spare;
  g.spare = t;
}
void unseen(Grid &g);
void unseen();

void host(Grid &g, Grid &h, Q *p, Q **pp, int n) {
  if (n == 1) {
    // CHECK-DAG: aliases.cu:[[@LINE+1]]:{{.*}} refused: 'c' points into an array whose pointer changes, so an index cannot take its place
    Q &c = g.cells[0];
    exchange(g);
    c.x = 1;
  }
  if (n == 2) {
    // CHECK-DAG: aliases.cu:[[@LINE+1]]:{{.*}} refused: 'd' points into an array whose pointer changes, so an index cannot take its place
    Q &d = g.cells[0];
    g = h;
    d.x = 1;
  }
  if (n == 3) {
    // CHECK-DAG: aliases.cu:[[@LINE+1]]:{{.*}} refused: 'e' points into an array whose pointer changes, so an index cannot take its place
    Q &e = g.cells[0];
    *pp = p;
    e.x = 1;
  }
  if (n == 4) {
    // CHECK-DAG: aliases.cu:[[@LINE+1]]:{{.*}} refused: 'f' points into an array whose pointer changes, so an index cannot take its place
    Q &f = g.cells[0];
    unseen();
    f.x = 1;
  }
  if (n == 5) {
    // CHECK-DAG: aliases.cu:[[@LINE+1]]:{{.*}} refused: 'u' points into an array whose pointer changes, so an index cannot take its place
    Q &u = g.cells[0];
    auto later = [&] { u.x = 1; };
    later();
  }
  if (n == 6) {
    // CHECK-DAG: aliases.cu:[[@LINE+1]]:{{.*}} refused: 'm' points into an array whose pointer changes, so an index cannot take its place
    Q &m = h.cells[0];
    auto swap = [&] { exchange(g); };
    swap();
    m.x = 1;
  }
  if (n == 7) {
    std::function<void()> later = [&] { exchange(g); };
    // CHECK-DAG: aliases.cu:[[@LINE+1]]:{{.*}} refused: 'o' points into an array whose pointer changes, so an index cannot take its place
    Q &o = g.cells[0];
    later();
    o.x = 1;
  }
  if (n == 8) {
    // CHECK-DAG: aliases.cu:[[@LINE+1]]:{{.*}} refused: 'v' points into an array whose pointer changes, so an index cannot take its place
    Q &v = g.cells[0];
    std::for_each(&g, &g + 1, exchange);
    v.x = 1;
  }
  Q &stays = g.cells[1];
  stays.x = g.cells[2].x;
}

// What other threads see may be changed by them.
// CHECK-DAG: aliases.cu:[[@LINE+1]]:{{.*}} refused: 's' points into an array whose pointer changes, so an index cannot take its place
__device__ void shared(Grid &g) { Q &s = g.cells[threadIdx.x]; s.x = 1; }
__global__ void launches(Grid g) { shared(g); }

int main() {
  Grid grid = {};
  cudaMalloc(&grid.cells, 64 * sizeof(Q));
  host(grid, grid, grid.cells, &grid.spare, 0);
  launches<<<1, 64>>>(grid);
  // CHECK-DAG: aliases.cu:[[@LINE+1]]:{{.*}} refused: 'g' points into an array whose pointer changes, so an index cannot take its place
  P &g = global[0];
  global = nullptr;
  g.x = 1;
  k<<<1, 1>>>(global, global, 1);
}
