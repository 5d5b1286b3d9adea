// The geometry stages of a rasterizer: vertices to the screen, triangles culled.
//
// The first kernel reads seven words of nine, one of them as bytes, and stores
// whole records of another array; the second gathers three words of four of
// these at the corners of each triangle.
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

struct Vertex {
  float px, py, pz;
  float nx, ny, nz;
  float u, v;
  unsigned char rgba[4];
};

struct ScreenVertex {
  float x, y, depth;
  unsigned char rgba[4];
};

struct Triangle {
  int a, b, c;
  int material;
};

const int VISIBLE = 1 << 16; // in a triangle's material

// Turns the mesh about the y axis, projects it and lights it.
__global__ void transform(const Vertex *vertices, ScreenVertex *screen, int n, float cosine, float sine) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float px = vertices[i].px, pz = vertices[i].pz;
  float x = fmaf(cosine, px, sine * pz);
  float z = fmaf(cosine, pz, 4 - sine * px);
  float zoom = 4.25f / z;
  screen[i].x = x * zoom;
  screen[i].y = vertices[i].py * zoom;
  screen[i].depth = z;

  float nx = vertices[i].nx, nz = vertices[i].nz;
  float turnedX = fmaf(cosine, nx, sine * nz);
  float turnedZ = fmaf(cosine, nz, -(sine * nx));
  float light = fmaf(0.5f, turnedX, fmaf(0.5f, vertices[i].ny, -0.7071f * turnedZ));
  light = fminf(1.0f, fmaxf(0.125f, light));
  for (int k = 0; k < 3; ++k)
    screen[i].rgba[k] = (unsigned char)(vertices[i].rgba[k] * light);
  screen[i].rgba[3] = vertices[i].rgba[3];
}

// Marks the triangles that face the camera and touch the screen.
__global__ void cull(Triangle *triangles, const ScreenVertex *screen, int n, float near) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int a = triangles[i].a, b = triangles[i].b, c = triangles[i].c;
  float ax = screen[a].x, ay = screen[a].y, bx = screen[b].x, by = screen[b].y, cx = screen[c].x, cy = screen[c].y;
  float area = fmaf(bx - ax, cy - ay, -((cx - ax) * (by - ay)));
  bool visible = area > 0;
  visible = visible && fminf(ax, fminf(bx, cx)) < 1 && fmaxf(ax, fmaxf(bx, cx)) > -1;
  visible = visible && fminf(ay, fminf(by, cy)) < 1 && fmaxf(ay, fmaxf(by, cy)) > -1;
  visible = visible && fminf(screen[a].depth, fminf(screen[b].depth, screen[c].depth)) > near;
  int material = triangles[i].material & ~VISIBLE;
  triangles[i].material = visible ? material | VISIBLE : material;
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 22;
  int width = (int)sqrt((double)n), height = n / width;
  n = width * height;
  std::vector<Vertex> vertices(n);
  for (int i = 0; i < n; ++i) { // a sheet with waves and some noise
    unsigned h = hash(i);
    float x = i % width * 2.0f / width - 1, y = i / width * 2.0f / height - 1;
    float slope = 0.9f * cosf(6 * x), length = sqrtf(1 + slope * slope);
    vertices[i] = {x,
                   y,
                   0.15f * sinf(6 * x) + (h & 63) / 65536.0f,
                   slope / length,
                   0,
                   -1 / length,
                   (x + 1) / 2,
                   (y + 1) / 2,
                   {(unsigned char)(h >> 8), (unsigned char)(h >> 16), (unsigned char)(h >> 24), 255}};
  }
  std::vector<Triangle> triangles;
  for (int y = 0; y + 1 < height; ++y)
    for (int x = 0; x + 1 < width; ++x) {
      int i = y * width + x, material = hash(y / 16 * 4096 + x / 16) % 256;
      triangles.push_back({i, i + 1, i + width, material});
      triangles.push_back({i + 1, i + width + 1, i + width, material});
    }
  int count = (int)triangles.size();
  Vertex *d_vertices;
  CHECK(cudaMalloc(&d_vertices, n * sizeof(Vertex)));
  CHECK(cudaMemcpy(d_vertices, vertices.data(), n * sizeof(Vertex), cudaMemcpyHostToDevice));
  ScreenVertex *d_screen;
  CHECK(cudaMalloc(&d_screen, n * sizeof(ScreenVertex)));
  Triangle *d_triangles;
  CHECK(cudaMalloc(&d_triangles, count * sizeof(Triangle)));
  CHECK(cudaMemcpy(d_triangles, triangles.data(), count * sizeof(Triangle), cudaMemcpyHostToDevice));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    float angle = 0.01f * r;
    transform<<<(n + 255) / 256, 256>>>(d_vertices, d_screen, n, cosf(angle), sinf(angle));
    cull<<<(count + 255) / 256, 256>>>(d_triangles, d_screen, count, 3.5f);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  std::vector<ScreenVertex> screen(n);
  CHECK(cudaMemcpy(screen.data(), d_screen, n * sizeof(ScreenVertex), cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(triangles.data(), d_triangles, count * sizeof(Triangle), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const ScreenVertex &s : screen)
    check = check * 31 + llround(s.x * 1e2) + 3 * llround(s.y * 1e2) + 5 * llround(s.depth * 1e2) + s.rgba[0] +
            7 * s.rgba[1] + 11 * s.rgba[2] + s.rgba[3];
  for (const Triangle &t : triangles)
    check = check * 31 + t.material;

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_vertices));
  CHECK(cudaFree(d_screen));
  CHECK(cudaFree(d_triangles));
}
