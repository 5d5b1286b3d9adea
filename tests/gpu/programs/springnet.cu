// Spring network: forces per bond, then gathered per point (no atomics).
#include <cmath>
#include <cstdint>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>
#include <cuda_runtime.h>

struct Point {
  float x, y, z;
  float vx, vy, vz;
  float invMass;
};

struct Bond {
  int a, b;
  float rest;
  float k;
  float fx, fy, fz;   // force on a; b gets the opposite
};

static void check(cudaError_t e, const char *what) {
  if (e != cudaSuccess)
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
}

__global__ void bondForces(Bond *bonds, const Point *points, int nBonds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= nBonds) return;
  Bond *bond = &bonds[i];
  const Point *p = &points[bond->a];
  const Point *q = &points[bond->b];
  float dx = q->x - p->x;
  float dy = q->y - p->y;
  float dz = q->z - p->z;
  float len = sqrtf(dx * dx + dy * dy + dz * dz) + 1e-6f;
  float s = bond->k * (len - bond->rest) / len;
  bond->fx = s * dx;
  bond->fy = s * dy;
  bond->fz = s * dz;
}

__global__ void gatherAndMove(Point *points, const Bond *bonds, const int *rowStart,
                              const int *rowBond, int nPoints, float dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= nPoints) return;
  float fx = 0.f, fy = 0.f, fz = 0.f;
  for (int k = rowStart[i]; k < rowStart[i + 1]; ++k) {
    const Bond *bond = &bonds[rowBond[k]];
    float sign = bond->a == i ? 1.f : -1.f;
    fx += sign * bond->fx;
    fy += sign * bond->fy;
    fz += sign * bond->fz;
  }
  Point *p = &points[i];
  float im = p->invMass * dt;
  p->vx = 0.995f * (p->vx + fx * im);
  p->vy = 0.995f * (p->vy + fy * im);
  p->vz = 0.995f * (p->vz + fz * im);
  p->x += p->vx * dt;
  p->y += p->vy * dt;
  p->z += p->vz * dt;
}

class SpringNet {
public:
  SpringNet(const std::vector<Point> &pts, const std::vector<Bond> &bnds)
      : nPoints((int)pts.size()), nBonds((int)bnds.size()) {
    std::vector<int> start(nPoints + 1, 0), list(2 * (size_t)nBonds);
    for (const Bond &b : bnds) { start[b.a + 1]++; start[b.b + 1]++; }
    for (int i = 0; i < nPoints; ++i) start[i + 1] += start[i];
    std::vector<int> fill(start.begin(), start.end() - 1);
    for (int i = 0; i < nBonds; ++i) {
      list[fill[bnds[i].a]++] = i;
      list[fill[bnds[i].b]++] = i;
    }
    check(cudaMalloc((void **)&points, sizeof(Point) * nPoints), "points");
    check(cudaMalloc((void **)&bonds, sizeof(Bond) * nBonds), "bonds");
    check(cudaMalloc((void **)&rowStart, sizeof(int) * start.size()), "rowStart");
    check(cudaMalloc((void **)&rowBond, sizeof(int) * list.size()), "rowBond");
    check(cudaMemcpy(points, pts.data(), sizeof(Point) * nPoints, cudaMemcpyHostToDevice), "copy points");
    check(cudaMemcpy(bonds, bnds.data(), sizeof(Bond) * nBonds, cudaMemcpyHostToDevice), "copy bonds");
    check(cudaMemcpy(rowStart, start.data(), sizeof(int) * start.size(), cudaMemcpyHostToDevice), "copy rows");
    check(cudaMemcpy(rowBond, list.data(), sizeof(int) * list.size(), cudaMemcpyHostToDevice), "copy list");
  }
  ~SpringNet() {
    cudaFree(points); cudaFree(bonds); cudaFree(rowStart); cudaFree(rowBond);
  }
  void step(float dt) {
    const int threads = 256;
    bondForces<<<(nBonds + threads - 1) / threads, threads>>>(bonds, points, nBonds);
    gatherAndMove<<<(nPoints + threads - 1) / threads, threads>>>(points, bonds, rowStart, rowBond, nPoints, dt);
  }
  void download(std::vector<Point> &p, std::vector<Bond> &b) const {
    check(cudaMemcpy(p.data(), points, sizeof(Point) * nPoints, cudaMemcpyDeviceToHost), "get points");
    check(cudaMemcpy(b.data(), bonds, sizeof(Bond) * nBonds, cudaMemcpyDeviceToHost), "get bonds");
  }
private:
  int nPoints, nBonds;
  Point *points = nullptr;
  Bond *bonds = nullptr;
  int *rowStart = nullptr, *rowBond = nullptr;
};

static uint32_t rngState = 2463534242u;
static uint32_t nextRand() {
  rngState ^= rngState << 13; rngState ^= rngState >> 17; rngState ^= rngState << 5;
  return rngState;
}
static float uniform() { return (nextRand() >> 8) * (1.0f / 16777216.0f); }

int main(int argc, char *argv[]) {
  int nBonds = argc > 1 ? std::stoi(argv[1]) : 3600000;
  if (nBonds < 3072) nBonds = 3072;
  int nPoints = nBonds / 3;
  nBonds = nPoints * 3;

  std::vector<Point> points(nPoints);
  for (int i = 0; i < nPoints; ++i) {
    Point p;
    p.x = 0.05f * (i % 128) + 0.02f * uniform();
    p.y = 0.05f * (i / 128 % 128) + 0.02f * uniform();
    p.z = 0.05f * (i / 16384) + 0.02f * uniform();
    p.vx = p.vy = p.vz = 0.0f;
    p.invMass = 0.5f + uniform();
    points[i] = p;
  }
  std::vector<Bond> bonds(nBonds);
  for (int i = 0; i < nPoints; ++i) {
    int off[3] = {1, 2 + int(nextRand() % 30), 100 + int(nextRand() % 56)};
    for (int k = 0; k < 3; ++k) {
      int j = i + off[k] < nPoints ? i + off[k] : i - off[k];
      Bond &b = bonds[3 * (size_t)i + k];
      b.a = i; b.b = j;
      float dx = points[j].x - points[i].x, dy = points[j].y - points[i].y, dz = points[j].z - points[i].z;
      b.rest = std::sqrt(dx * dx + dy * dy + dz * dz) * (0.8f + 0.4f * uniform());
      b.k = 1.0f + uniform();
      b.fx = b.fy = b.fz = 0.0f;
    }
  }

  try {
    SpringNet net(points, bonds);
    const int steps = 50;
    net.step(0.01f);
    check(cudaDeviceSynchronize(), "warm-up");
    cudaEvent_t begin, end;
    cudaEventCreate(&begin); cudaEventCreate(&end);
    cudaEventRecord(begin);
    for (int s = 0; s < steps; ++s) net.step(0.01f);
    cudaEventRecord(end);
    check(cudaEventSynchronize(end), "steps");
    float ms = 0;
    cudaEventElapsedTime(&ms, begin, end);

    net.download(points, bonds);
    long long sum = 0;
    for (int i = 0; i < nPoints; ++i) {
      const Point &p = points[i];
      sum += (1 + i % 3) * (llround(p.x * 8) + llround(p.y * 8) + llround(p.z * 8) + llround(p.vx * 64) +
                            llround(p.vy * 64) + llround(p.vz * 64) + llround(p.invMass * 64));
    }
    uint32_t ids = 0;
    for (int i = 0; i < nBonds; ++i) {
      const Bond &b = bonds[i];
      ids = ids * 31u + (uint32_t)b.a * 7u + (uint32_t)b.b;
      sum += (1 + i % 3) * (llround(b.fx * 64) + llround(b.fy * 64) + llround(b.fz * 64) +
                            llround(b.rest * 16) + llround(b.k * 16));
    }
    std::cout << "points " << nPoints << " bonds " << nBonds << "\n";
    std::cout << "time_ms " << ms / steps << "\n";
    std::cout << "check " << llround(sum / 10000.0) << "_" << ids << std::endl;
  } catch (const std::exception &e) {
    std::cerr << e.what() << std::endl;
    return 1;
  }
  return 0;
}
