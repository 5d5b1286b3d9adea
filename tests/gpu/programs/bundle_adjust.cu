// Bundle adjustment: residuals and Jacobians of all observations, normal
// equations of the cameras in fixed point, and damped steps of points and cameras.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

static void check_cuda(cudaError_t status, const char* what) {
  if (status != cudaSuccess) std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status)), std::exit(1);
}
#define CK(x) check_cuda((x), #x)

struct Vec3 {
  float x, y, z;
};
struct Quaternion {
  float w, x, y, z;
};
struct Camera {
  Quaternion rotation;
  Vec3 translation;
  float focal, k1, k2;
};
struct Point {
  Vec3 position;
  unsigned first_observation;
  unsigned short views;
  unsigned char rgb[3];
};
struct Observation {
  int camera, point;
  float u, v;
  float inverse_sigma;
  unsigned char octave, inlier;
};

constexpr int kCameraParams = 9;  // rotation, translation, focal length, distortion
struct Linearization {
  float residual[2];
  float d_camera[2][kCameraParams];
  float d_point[2][3];
};
struct CameraSums {
  unsigned long long gradient[kCameraParams];  // 44.20 fixed point
  unsigned long long diagonal[kCameraParams];
  unsigned long long cost;
  unsigned observations;
};
constexpr float kHuber = 2.0f, kDamping = 0.05f, kPointStep = 0.15f, kCameraStep = 0.1f;

__host__ __device__ inline Vec3 operator+(Vec3 a, Vec3 b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
__host__ __device__ inline Vec3 operator*(float s, Vec3 a) { return {s * a.x, s * a.y, s * a.z}; }
__host__ __device__ inline Vec3 cross(Vec3 a, Vec3 b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
__host__ __device__ inline Vec3 rotate(Quaternion q, Vec3 p) {
  const Vec3 axis = {q.x, q.y, q.z}, t = 2.0f * cross(axis, p);
  return p + q.w * t + cross(axis, t);
}
__host__ __device__ inline Quaternion turned(Quaternion q, Vec3 w) {
  const float x = 0.5f * w.x, y = 0.5f * w.y, z = 0.5f * w.z;
  Quaternion r = {q.w - x * q.x - y * q.y - z * q.z, q.x + x * q.w + y * q.z - z * q.y,
                  q.y + y * q.w + z * q.x - x * q.z, q.z + z * q.w + x * q.y - y * q.x};
  const float s = 1.0f / sqrtf(r.w * r.w + r.x * r.x + r.y * r.y + r.z * r.z);
  return {s * r.w, s * r.x, s * r.y, s * r.z};
}

__device__ inline void add_fixed(unsigned long long* sum, float value) {
  atomicAdd(sum, static_cast<unsigned long long>(__float2ll_rn(value * 1048576.0f)));
}
__device__ inline float from_fixed(unsigned long long x) { return static_cast<long long>(x) * (1.0f / 1048576); }

__global__ void linearize(Observation* observations, int n, const Camera* cameras, const Point* points,
                          Linearization* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const Observation obs = observations[i];
  const Camera& cam = cameras[obs.camera];
  const Vec3 turned_point = rotate(cam.rotation, points[obs.point].position), p = turned_point + cam.translation;
  const float inv_z = 1.0f / fmaxf(p.z, 0.1f);
  const float a = p.x * inv_z, b = p.y * inv_z, r2 = a * a + b * b;
  const float distortion = 1 + r2 * (cam.k1 + r2 * cam.k2), slope = cam.k1 + 2 * cam.k2 * r2;
  const float ru = (cam.focal * distortion * a - obs.u) * obs.inverse_sigma;
  const float rv = (cam.focal * distortion * b - obs.v) * obs.inverse_sigma;
  const float norm = sqrtf(ru * ru + rv * rv);
  const float weight = norm <= kHuber ? 1.0f : sqrtf(kHuber / norm);
  observations[i].inlier = norm < 3 * kHuber;

  const float scale = weight * obs.inverse_sigma, f = cam.focal * scale;
  const float ua = f * (distortion + 2 * a * a * slope), ub = f * 2 * a * b * slope;
  const float vb = f * (distortion + 2 * b * b * slope);
  const Vec3 rows[2] = {{ua * inv_z, ub * inv_z, -(ua * a + ub * b) * inv_z},
                        {ub * inv_z, vb * inv_z, -(ub * a + vb * b) * inv_z}};
  const float image[2] = {a, b};
  const Quaternion back = {cam.rotation.w, -cam.rotation.x, -cam.rotation.y, -cam.rotation.z};
  Linearization& lin = out[i];
  lin.residual[0] = weight * ru, lin.residual[1] = weight * rv;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const Vec3 spin = cross(turned_point, rows[r]);
    lin.d_camera[r][0] = spin.x, lin.d_camera[r][1] = spin.y, lin.d_camera[r][2] = spin.z;
    lin.d_camera[r][3] = rows[r].x, lin.d_camera[r][4] = rows[r].y, lin.d_camera[r][5] = rows[r].z;
    lin.d_camera[r][6] = scale * distortion * image[r];
    lin.d_camera[r][7] = f * r2 * image[r], lin.d_camera[r][8] = f * r2 * r2 * image[r];
    const Vec3 local = rotate(back, rows[r]);
    lin.d_point[r][0] = local.x, lin.d_point[r][1] = local.y, lin.d_point[r][2] = local.z;
  }
}

__global__ void accumulate_cameras(const Observation* observations, const Linearization* lins, int n,
                                   CameraSums* sums) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || !observations[i].inlier) return;
  const Linearization& lin = lins[i];
  const float ru = lin.residual[0], rv = lin.residual[1];
  CameraSums* sum = &sums[observations[i].camera];
  for (int k = 0; k < kCameraParams; ++k) {
    const float ju = lin.d_camera[0][k], jv = lin.d_camera[1][k];
    add_fixed(&sum->gradient[k], ju * ru + jv * rv);
    add_fixed(&sum->diagonal[k], ju * ju + jv * jv);
  }
  add_fixed(&sum->cost, ru * ru + rv * rv);
  atomicAdd(&sum->observations, 1u);
}

__global__ void update_points(Point* points, int n, const Observation* observations, const Linearization* lins) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const unsigned first = points[i].first_observation, last = first + points[i].views;
  float xx = 0, xy = 0, xz = 0, yy = 0, yz = 0, zz = 0, gx = 0, gy = 0, gz = 0;
  for (unsigned k = first; k < last; ++k) {
    if (!observations[k].inlier) continue;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float jx = lins[k].d_point[r][0], jy = lins[k].d_point[r][1], jz = lins[k].d_point[r][2];
      const float e = lins[k].residual[r];
      xx += jx * jx, xy += jx * jy, xz += jx * jz;
      yy += jy * jy, yz += jy * jz, zz += jz * jz;
      gx += jx * e, gy += jy * e, gz += jz * e;
    }
  }
  xx = xx * (1 + kDamping) + 1e-3f, yy = yy * (1 + kDamping) + 1e-3f, zz = zz * (1 + kDamping) + 1e-3f;
  const Vec3 c0 = {yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy};
  const float c11 = xx * zz - xz * xz, c12 = xy * xz - xx * yz, c22 = xx * yy - xy * xy;
  const float step = -kPointStep / (xx * c0.x + xy * c0.y + xz * c0.z);
  const Vec3 delta = {c0.x * gx + c0.y * gy + c0.z * gz, c0.y * gx + c11 * gy + c12 * gz,
                      c0.z * gx + c12 * gy + c22 * gz};
  points[i].position = points[i].position + step * delta;
}

__global__ void update_cameras(Camera* cameras, const CameraSums* sums, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || sums[i].observations == 0) return;
  float delta[kCameraParams];
  for (int k = 0; k < kCameraParams; ++k) {
    const float g = from_fixed(sums[i].gradient[k]), h = from_fixed(sums[i].diagonal[k]);
    delta[k] = -kCameraStep * g / (h * (1 + kDamping) + 1.0f);
  }
  Camera cam = cameras[i];
  cam.rotation = turned(cam.rotation, {delta[0], delta[1], delta[2]});
  cam.translation = cam.translation + Vec3{delta[3], delta[4], delta[5]};
  cam.focal += delta[6], cam.k1 += delta[7], cam.k2 += delta[8];
  cameras[i] = cam;
}

static float uniform() {
  static unsigned state = 12345;
  state = state * 1664525u + 1013904223u;
  return (state >> 8) * (1.0f / 16777216);
}
static float symmetric(float range) { return range * (2 * uniform() - 1); }

// Projects a scene with noise and outliers, and blurs the points.
static void make_scene(int n, std::vector<Camera>& cameras, std::vector<Point>& points,
                       std::vector<Observation>& observations) {
  const int camera_count = std::max(16, n / 1000), row = 250;
  std::vector<Vec3> centers(camera_count);
  cameras.resize(camera_count);
  for (int c = 0; c < camera_count; ++c) {  // flown in rows, there and back
    const int line = c / row, k = line & 1 ? row - 1 - c % row : c % row;
    centers[c] = {0.5f * k + symmetric(0.1f), 3.0f * line + symmetric(0.1f), symmetric(0.2f)};
    const Quaternion q = turned({1, 0, 0, 0}, {symmetric(0.1f), symmetric(0.1f), symmetric(0.3f)});
    cameras[c] = {q, -1.0f * rotate(q, centers[c]), 900 + symmetric(20), symmetric(0.02f), symmetric(0.005f)};
  }
  const float points_per_camera = n / 4.9f / camera_count;
  while (static_cast<int>(observations.size()) < n) {
    const int first = static_cast<int>(observations.size());
    const int base = std::min(static_cast<int>(points.size() / points_per_camera), camera_count - 1);
    const int views = std::min(2 + static_cast<int>(13 * std::pow(uniform(), 3.0f)), n - first);
    Point p = {centers[base] + Vec3{symmetric(2), symmetric(2), 10 + symmetric(1.5f)}, static_cast<unsigned>(first),
               static_cast<unsigned short>(views), {128, 96, 64}};
    for (int k = 0; k < views; ++k) {
      const int c = std::min(std::max(base + k - views / 2, 0), camera_count - 1);
      const Camera& cam = cameras[c];
      const Vec3 q = rotate(cam.rotation, p.position) + cam.translation;
      const float a = q.x / q.z, b = q.y / q.z, r2 = a * a + b * b;
      const float zoom = cam.focal * (1 + r2 * (cam.k1 + r2 * cam.k2)), noise = uniform() < 0.02f ? 30.0f : 0.7f;
      const unsigned char octave = static_cast<unsigned char>(4 * uniform());
      observations.push_back({c, static_cast<int>(points.size()), zoom * a + symmetric(noise),
                              zoom * b + symmetric(noise), 1.0f / (1 + 0.2f * octave), octave, 1});
    }
    p.position = p.position + Vec3{symmetric(0.02f), symmetric(0.02f), symmetric(0.05f)};
    points.push_back(p);
  }
}

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 4000000;
  std::vector<Camera> cameras;
  std::vector<Point> points;
  std::vector<Observation> observations;
  make_scene(n, cameras, points, observations);
  const int camera_count = static_cast<int>(cameras.size()), point_count = static_cast<int>(points.size());
  Camera* d_cameras = nullptr;
  CK(cudaMalloc(&d_cameras, cameras.size() * sizeof(Camera)));
  CK(cudaMemcpy(d_cameras, cameras.data(), cameras.size() * sizeof(Camera), cudaMemcpyHostToDevice));
  Point* d_points = nullptr;
  CK(cudaMalloc(&d_points, points.size() * sizeof(Point)));
  CK(cudaMemcpy(d_points, points.data(), points.size() * sizeof(Point), cudaMemcpyHostToDevice));
  Observation* d_observations = nullptr;
  CK(cudaMalloc(&d_observations, observations.size() * sizeof(Observation)));
  CK(cudaMemcpy(d_observations, observations.data(), observations.size() * sizeof(Observation), cudaMemcpyHostToDevice));
  Linearization* d_lins;
  CameraSums* d_sums;
  CK(cudaMalloc(&d_lins, n * sizeof(Linearization)));
  CK(cudaMalloc(&d_sums, camera_count * sizeof(CameraSums)));

  const int block = 128;
  auto step = [&] {
    CK(cudaMemsetAsync(d_sums, 0, camera_count * sizeof(CameraSums)));
    linearize<<<(n + block - 1) / block, block>>>(d_observations, n, d_cameras, d_points, d_lins);
    accumulate_cameras<<<(n + block - 1) / block, block>>>(d_observations, d_lins, n, d_sums);
    update_points<<<(point_count + block - 1) / block, block>>>(d_points, point_count, d_observations, d_lins);
    update_cameras<<<(camera_count + block - 1) / block, block>>>(d_cameras, d_sums, camera_count);
    CK(cudaGetLastError());
  };
  const int steps = 25;
  cudaEvent_t start, stop;
  CK(cudaEventCreate(&start)); CK(cudaEventCreate(&stop));
  step();
  CK(cudaEventRecord(start));
  for (int s = 0; s < steps; ++s) step();
  CK(cudaEventRecord(stop));
  CK(cudaEventSynchronize(stop));
  float ms = 0;
  CK(cudaEventElapsedTime(&ms, start, stop));

  std::vector<CameraSums> sums(camera_count);
  CK(cudaMemcpy(points.data(), d_points, point_count * sizeof(Point), cudaMemcpyDeviceToHost));
  CK(cudaMemcpy(observations.data(), d_observations, n * sizeof(Observation), cudaMemcpyDeviceToHost));
  CK(cudaMemcpy(sums.data(), d_sums, camera_count * sizeof(CameraSums), cudaMemcpyDeviceToHost));
  long long check = 0;
  for (const Observation& o : observations) check += o.inlier;
  for (const Point& p : points) check += std::llround(p.position.x * 1024) + 3 * std::llround(p.position.z * 1024);
  for (const CameraSums& s : sums) check += s.observations + static_cast<long long>(s.cost >> 20);
  std::printf("check %lld\ntime_ms %.4f\n", check, ms / steps);
}
