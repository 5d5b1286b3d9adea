// Pointers in a struct that are parallel arrays: passed by value, filled from variables, by a function, and in a class.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: cd %t && cp in.cu out.cu && %restride -i --quiet --layout=aos-align16 --struct=Vxy --struct=HeatFlux out.cu -- -std=c++17
// RUN: FileCheck %s --input-file=out.cu
// RUN: %compile-both %t/out.cu
// RUN: %restride --check --quiet --layout=aos-align16 --struct=Vxy --struct=HeatFlux out.cu -- -std=c++17

#include <cstdio>

struct Fields {
  double *vx, *vy;
  // CHECK: Vxy *vxy;
  int n;
};

__global__ void gather(Fields f, const int *next, double *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= f.n)
    return;
  int j = next[i];
  out[i] = f.vx[j] * f.vy[j];
  // CHECK: out[i] = f.vxy[j].vx * f.vxy[j].vy;
}

struct Grid {
  float *heat, *flux;
  // CHECK: HeatFlux *heat_flux;
  int n;
};

Grid makeGrid(int n) {
  Grid g;
  g.n = n;
  cudaMalloc(&g.heat, n * sizeof(float));
  cudaMalloc(&g.flux, n * sizeof(float));
  // CHECK: g.n = n;
  // CHECK-NEXT: cudaMalloc(&g.heat_flux, n * sizeof(HeatFlux));
  // CHECK-NEXT: return g;
  return g;
}

__global__ void warm(Grid g, const int *next) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < g.n)
    g.flux[i] = 0.5f * g.heat[next[i]];
  // CHECK: g.heat_flux[i].flux = 0.5f * g.heat_flux[next[i]].heat;
}

class Simulation {
public:
  explicit Simulation(int n) : grid(makeGrid(n)) {}
  ~Simulation() {
    cudaFree(grid.heat);
    cudaFree(grid.flux);
    // CHECK: ~Simulation() {
    // CHECK-NEXT: cudaFree(grid.heat_flux);
    // CHECK-NEXT: }
  }
  void set(const float *heat) { cudaMemcpy(grid.heat, heat, grid.n * sizeof(float), cudaMemcpyHostToDevice); }
  // CHECK: HeatFlux_memcpy(grid.heat_flux, &HeatFlux::heat, heat, grid.n * sizeof(float), cudaMemcpyHostToDevice); }
  void get(float *flux) const { cudaMemcpy(flux, grid.flux, grid.n * sizeof(float), cudaMemcpyDeviceToHost); }
  void run(const int *next) { warm<<<(grid.n + 31) / 32, 32>>>(grid, next); }

private:
  Grid grid;
};

int main() {
  const int n = 200;
  double h_x[n], h_y[n], sum[n];
  float h_pos[n], h_mass[n];
  int next[n];
  for (int i = 0; i < n; ++i)
    h_x[i] = i, h_y[i] = 0.5 * i, h_pos[i] = 2 * i, h_mass[i] = 3, next[i] = i * 7 % n;
  int *d_next;
  double *out;
  cudaMalloc(&d_next, (n + 1) * sizeof(int));
  cudaMalloc(&out, 2 * n * sizeof(double));
  cudaMemcpy(d_next, next, sizeof(next), cudaMemcpyHostToDevice);
  double *d_vx, *d_vy;
  // CHECK: Vxy *d_vxy;
  cudaMalloc(&d_vx, n * sizeof(double));
  cudaMalloc(&d_vy, n * sizeof(double));
  // CHECK: cudaMalloc(&d_vxy, n * sizeof(Vxy));
  cudaMemcpy(d_vx, h_x, sizeof(h_x), cudaMemcpyHostToDevice);
  cudaMemcpy(d_vy, h_y, sizeof(h_y), cudaMemcpyHostToDevice);
  Fields f;
  f.n = n;
  f.vx = d_vx;
  f.vy = d_vy; // both
  // CHECK: f.n = n;
  // CHECK-NEXT: f.vxy = d_vxy;
  // CHECK-NEXT: gather<<<(n + 31) / 32, 32>>>(f, d_next, out);
  gather<<<(n + 31) / 32, 32>>>(f, d_next, out);
  Simulation s(n);
  s.set(h_pos);
  s.run(d_next);
  s.get(h_mass);
  cudaMemcpy(sum, out, sizeof(sum), cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; i += 17)
    printf("%g %g\n", sum[i], h_mass[i]);
  cudaFree(d_vx);
  cudaFree(d_vy);
}
