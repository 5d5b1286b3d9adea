// Charged dust around a wire in a periodic box.
//
// The wire runs along z through the middle of the box; its pull and the drag of
// the gas are tabulated over the distance and interpolated between knots. The
// argument is the number of grains.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                                    \
  do {                                                                                                                 \
    cudaError_t status = (call);                                                                                       \
    if (status != cudaSuccess) {                                                                                       \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));                                  \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

struct Grain {
  float x, y, z;
  float vx, vy, vz;
  float charge;
  float mass;
  int species;
  int crossings; // of the faces of the box
};

struct Knot {
  float force;
  float forceSlope;
  float drag;
  float dragSlope;
};

__device__ float wrap(float x, float side, int &crossings) {
  if (x < 0) {
    ++crossings;
    return x + side;
  }
  if (x >= side) {
    ++crossings;
    return x - side;
  }
  return x;
}

__global__ void move(Grain *grains, const Knot *table, int n, int knots, float side, float reach, float dt) {
  float perKnot = (knots - 1) / reach, middle = 0.5f * side;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float x = grains[i].x, y = grains[i].y, z = grains[i].z;
    float dx = x - middle, dy = y - middle; // the nearest image, as the wire is in the middle
    float distance = sqrtf(dx * dx + dy * dy) + 1e-4f;
    float place = fminf(distance * perKnot, knots - 1.001f);
    int k = (int)place;
    float rest = place - k;
    const Knot &knot = table[k];
    float force = knot.force + rest * knot.forceSlope;
    float drag = knot.drag + rest * knot.dragSlope;

    float kick = dt / grains[i].mass;
    float pull = grains[i].charge * force / distance;
    float vx = grains[i].vx, vy = grains[i].vy, vz = grains[i].vz;
    vx += kick * (pull * dx - drag * vx);
    vy += kick * (pull * dy - drag * vy);
    vz -= kick * drag * vz;
    int crossings = 0;
    grains[i].x = wrap(x + dt * vx, side, crossings);
    grains[i].y = wrap(y + dt * vy, side, crossings);
    grains[i].z = wrap(z + dt * vz, side, crossings);
    grains[i].vx = vx;
    grains[i].vy = vy;
    grains[i].vz = vz;
    if (crossings > 0)
      grains[i].crossings += crossings;
  }
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 22;
  const int knots = 1024;
  const float side = 16, reach = 12;
  std::vector<Grain> grains(n);
  for (int i = 0; i < n; ++i) {
    unsigned a = hash(3u * i), b = hash(3u * i + 1), c = hash(3u * i + 2);
    int species = c >> 30;
    grains[i] = {(a & 0xffff) * side / 65536, (a >> 16) * side / 65536,     (b & 0xffff) * side / 65536,
                 (c & 255) / 128.0f - 1,      (c >> 8 & 255) / 128.0f - 1,  (c >> 16 & 255) / 128.0f - 1,
                 0.5f + (b >> 24) / 256.0f,   1 + 0.5f * species,           species,
                 0};
  }
  std::vector<Knot> table(knots);
  for (int k = 0; k < knots; ++k) { // a screened pull, and gas that thins out
    float r = k * reach / (knots - 1), next = (k + 1) * reach / (knots - 1);
    float force = -expf(-r / 4) * r / (r * r + 0.25f), nextForce = -expf(-next / 4) * next / (next * next + 0.25f);
    float drag = 0.05f / (1 + r), nextDrag = 0.05f / (1 + next);
    table[k] = {force, nextForce - force, drag, nextDrag - drag};
  }
  Grain *d_grains;
  CHECK(cudaMalloc(&d_grains, n * sizeof(Grain)));
  CHECK(cudaMemcpy(d_grains, grains.data(), n * sizeof(Grain), cudaMemcpyHostToDevice));
  Knot *d_table;
  CHECK(cudaMalloc(&d_table, knots * sizeof(Knot)));
  CHECK(cudaMemcpy(d_table, table.data(), knots * sizeof(Knot), cudaMemcpyHostToDevice));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    move<<<132 * 8, 256>>>(d_grains, d_table, n, knots, side, reach, 0.01f);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  CHECK(cudaMemcpy(grains.data(), d_grains, n * sizeof(Grain), cudaMemcpyDeviceToHost));
  double radius[4] = {}, energy[4] = {}, along = 0; // means by species, in thousandths
  int count[4] = {};
  for (const Grain &g : grains) {
    radius[g.species] += sqrt((double)(g.x - side / 2) * (g.x - side / 2) + (g.y - side / 2) * (g.y - side / 2));
    energy[g.species] += 0.5 * g.mass * (g.vx * g.vx + g.vy * g.vy + g.vz * g.vz) + g.charge + 0.1 * g.crossings;
    along += g.z;
    ++count[g.species];
  }
  unsigned long long check = llround(along / n * 1e3);
  for (int s = 0; s < 4; ++s)
    check = check * 31 + llround(radius[s] / count[s] * 1e3) + 3 * llround(energy[s] / count[s] * 1e3) + count[s];

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_grains));
  CHECK(cudaFree(d_table));
}
