// Device memory that functions of the program give out as `void *`: it becomes the layout where it gets its type.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=RAY --input-file=%t/out/Ray/soa/in.cu
// RUN: FileCheck %s --check-prefix=TILE --input-file=%t/out/Ray/asta32/in.cu
// RUN: FileCheck %s --check-prefix=WALL --input-file=%t/out/Wall/soa/in.cu
// RUN: FileCheck %s --check-prefix=PAINT --input-file=%t/out/Paint/aos-align16/in.cu
// RUN: FileCheck %s --check-prefix=ROOM --input-file=%t/out/Room/soa/in.cu
// RUN: %compile-both %t/out/Ray/soa/in.cu %t/out/Ray/asta32/in.cu %t/out/Ray/aos-align16/in.cu %t/out/Ray/grouped/in.cu
// RUN: %compile-both %t/out/Wall/soa/in.cu %t/out/Wall/asta32/in.cu %t/out/Paint/soa/in.cu %t/out/Paint/aos-align16/in.cu %t/out/Room/soa/in.cu
// RUN: cp %t/in.cu %t/all.cu && %restride -i --layout=soa --quiet %t/all.cu -- -std=c++17
// RUN: %compile-both %t/all.cu
// RUN: %restride --check --layout=soa --quiet %t/all.cu -- -std=c++17
// RUN: cp %t/all.cu %t/back.cu && %restride -i --layout=aos --quiet %t/back.cu -- -std=c++17 && diff %t/in.cu %t/back.cu
#include <cstdio>
#include <cstdlib>
#include <vector>
struct Ray { float x, y, z; int hits; };
struct Wall { float a, b, c, d, e, f; };
struct Paint { float absorb; double scatter; int id; };
struct Room { float width, height; int walls; };

#define CHECK(call) do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { fprintf(stderr, "%s\n", cudaGetErrorString(e_)); exit(1); } } while (0)

static void cu(cudaError_t e, const char *what) {
  if (e != cudaSuccess) {
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
    exit(1);
  }
}

static void *upload(const void *from, size_t bytes) {
  void *to = NULL;
  cu(cudaMalloc(&to, bytes), "cudaMalloc");
  cu(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
  return to;
}

struct Device {
  void *zeros(size_t bytes, const char *what) {
    void *p;
    if (cudaMalloc(&p, bytes) != cudaSuccess) {
      fprintf(stderr, "no memory for %s\n", what);
      return nullptr;
    }
    CHECK(cudaMemset(p, 0, bytes));
    return p;
  }
};

__global__ void trace(Ray *rays, int n, const Wall *walls, int m, const Paint *paints, const Room *rooms, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float sum = rooms[i % 8].width;
  for (int k = 0; k < m; ++k)
    if (walls[k].a * rays[i].x + walls[k].b > rays[i].y) {
      sum += walls[k].d;
      rays[i].hits++;
    }
  out[i] = sum * paints[rays[i].hits % 12].absorb;
}

class Scene {
public:
  Scene(const std::vector<Wall> &host) : count((int)host.size()) {
    walls = static_cast<const Wall *>(upload(host.data(), host.size() * sizeof(Wall)));
    // WALL: walls = WallSoA_from(static_cast<const Wall *>(upload(host.data(), host.size() * sizeof(Wall))), host.size() * sizeof(Wall));
  }
  ~Scene() { cudaFree((void *)walls); }
  // WALL: WallSoA walls = {};
  const Wall *walls = nullptr;
  int count;
};

int main() {
  const int n = 10000;
  Ray *host = (Ray *)malloc(n * sizeof(Ray));
  for (int i = 0; i < n; ++i)
    host[i] = {float(i % 17), float(i % 23), 1, 0};
  Ray *rays;
  // RAY: RaySoA rays;
  // TILE: RayTile32 *rays;
  rays = (Ray *)upload(host, sizeof(Ray) * n);
  // RAY: rays = RaySoA_from((Ray *)upload(host, sizeof(Ray) * n), sizeof(Ray) * n);
  // TILE: rays = RayTile32_from((Ray *)upload(host, sizeof(Ray) * n), sizeof(Ray) * n);
  Scene scene(std::vector<Wall>(50, Wall{1, 2, 3, 4, 5, 6}));
  Paint table[12];
  for (int i = 0; i < 12; ++i)
    table[i] = {0.1f * i, 0.5, i};
  // An alignment of the record itself needs no conversion.
  auto *paints = (Paint *)upload(table, sizeof table);
  // PAINT: struct __align__(16) Paint
  // PAINT: auto *paints = (Paint *)upload(table, sizeof table);
  Device device;
  Room *rooms = reinterpret_cast<Room *>(device.zeros(8 * sizeof(Room), "rooms"));
  // ROOM: RoomSoA rooms = RoomSoA_from(reinterpret_cast<Room *>(device.zeros(8 * sizeof(Room), "rooms")), 8 * sizeof(Room));
  float *out = (float *)device.zeros(n * sizeof(float), "out");
  if (!rays || paints == nullptr || !rooms)
    return 1;
  // RAY: if (!rays.x || paints == nullptr || !rooms)
  trace<<<(n + 255) / 256, 256>>>(rays, n, scene.walls, scene.count, paints, rooms, out);
  CHECK(cudaMemcpy(host, rays, sizeof(Ray) * n, cudaMemcpyDeviceToHost));
  double sum = 0;
  for (int i = 0; i < n; ++i)
    sum += host[i].hits;
  printf("%g\n", sum);
  cudaFree(rays);
  cudaFree(paints);
  cudaFree(rooms);
  cudaFree(out);
  free(host);
}
