// Plain C++ to the compiler: a shift is no launch here.
#include "counts.h"
#include <vector>

int sum(const int *p, int n) {
  std::vector<std::vector<std::vector<int>>> unused;
  int s = 0;
  for (int i = 0; i < n; ++i)
    s += p[i];
  return s;
}
