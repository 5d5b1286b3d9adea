// Rigid bodies that rest on each other: contacts refreshed from the positions,
// sequential impulses colour by colour (no body twice in a colour), integration.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

static void check(cudaError_t e, int line) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(e));
  std::exit(1);
}
#define CUDA_OK(call) check((call), __LINE__)

struct Vec3 { float x, y, z; };
struct Quat { float w, x, y, z; };

__host__ __device__ inline Vec3 operator+(Vec3 a, Vec3 b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
__host__ __device__ inline Vec3 operator-(Vec3 a, Vec3 b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
__host__ __device__ inline Vec3 operator*(float s, Vec3 a) { return {s * a.x, s * a.y, s * a.z}; }
__host__ __device__ inline float dot(Vec3 a, Vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__host__ __device__ inline Vec3 cross(Vec3 a, Vec3 b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
__device__ inline Vec3 rotate(Quat q, Vec3 v) {
  const Vec3 axis = {q.x, q.y, q.z};
  const Vec3 t = 2.0f * cross(axis, v);
  return v + q.w * t + cross(axis, t);
}
__device__ inline Vec3 rotateBack(Quat q, Vec3 v) { return rotate({q.w, -q.x, -q.y, -q.z}, v); }

struct Body {
  Vec3 position;
  Quat orientation;
  Vec3 velocity;
  Vec3 spin;
  float inverseMass;
  Vec3 inverseInertia;  // along its own axes
  float radius, friction;
  unsigned short shape;
  unsigned char fixed;
};

struct Contact {
  int a, b;
  Vec3 point;
  Vec3 normal;  // from a to b
  float depth;
  float impulse, frictionImpulse;
};

struct Params {
  float dt, gravity, baumgarte;
  float slop, maxDepth;
  float damping;
};
__constant__ Params params;

__global__ void refreshContacts(Contact* contacts, int count, const Body* bodies) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  Contact& c = contacts[i];
  const Body& a = bodies[c.a];
  const Body& b = bodies[c.b];
  const Vec3 d = b.position - a.position;
  const float length = sqrtf(fmaxf(dot(d, d), 1e-12f));
  c.normal = (1.0f / length) * d;
  c.depth = a.radius + b.radius - length;
  c.point = a.position + (a.radius - 0.5f * c.depth) * c.normal;
  c.impulse = 0;
  c.frictionImpulse = 0;
}

__device__ inline Vec3 applyInverseInertia(const Body& body, Vec3 torque) {
  const Vec3 local = rotateBack(body.orientation, torque), k = body.inverseInertia;
  return rotate(body.orientation, {k.x * local.x, k.y * local.y, k.z * local.z});
}

__device__ inline float effectiveMass(const Body& a, const Body& b, Vec3 ra, Vec3 rb, Vec3 direction) {
  const Vec3 ca = cross(ra, direction), cb = cross(rb, direction);
  const float k = a.inverseMass + b.inverseMass + dot(ca, applyInverseInertia(a, ca)) +
                  dot(cb, applyInverseInertia(b, cb));
  return k > 0 ? 1.0f / k : 0.0f;
}

__device__ inline void push(Body& body, Vec3 impulse, Vec3 arm) {
  body.velocity = body.velocity + body.inverseMass * impulse;
  body.spin = body.spin + applyInverseInertia(body, cross(arm, impulse));
}

__global__ void solveColour(Contact* contacts, int first, int count, Body* bodies) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  Contact& contact = contacts[first + i];
  if (contact.depth <= -params.slop) return;
  Body& a = bodies[contact.a];
  Body& b = bodies[contact.b];
  const Vec3 normal = contact.normal;
  const Vec3 ra = contact.point - a.position, rb = contact.point - b.position;

  Vec3 relative = b.velocity + cross(b.spin, rb) - a.velocity - cross(a.spin, ra);
  const float bias = params.baumgarte / params.dt * fminf(fmaxf(contact.depth - params.slop, 0.0f), params.maxDepth);
  const float wanted = (bias - dot(relative, normal)) * effectiveMass(a, b, ra, rb, normal);
  const float before = contact.impulse;
  const float after = fmaxf(before + wanted, 0.0f);
  contact.impulse = after;
  const Vec3 impulse = (after - before) * normal;
  push(a, -1.0f * impulse, ra);
  push(b, impulse, rb);

  relative = b.velocity + cross(b.spin, rb) - a.velocity - cross(a.spin, ra);
  const Vec3 slide = relative - dot(relative, normal) * normal;
  const float speed = sqrtf(dot(slide, slide));
  if (speed < 1e-5f) return;
  const Vec3 tangent = (1.0f / speed) * slide;
  const float limit = sqrtf(a.friction * b.friction) * after - contact.frictionImpulse;
  const float drag = fminf(speed * effectiveMass(a, b, ra, rb, tangent), fmaxf(limit, 0.0f));
  contact.frictionImpulse += drag;
  push(a, drag * tangent, ra);
  push(b, -drag * tangent, rb);
}

__global__ void integrate(Body* bodies, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Body& body = bodies[i];
  if (body.fixed) return;
  const Vec3 w = params.damping * body.spin;
  Vec3 v = params.damping * body.velocity;
  v.y -= params.gravity * params.dt;
  Vec3 p = body.position + params.dt * v;
  if (p.y < body.radius) {
    p.y = body.radius;
    if (v.y < 0) v.y = -0.2f * v.y;
  }
  const Quat q = body.orientation;
  const float h = 0.5f * params.dt;
  Quat r = {q.w + h * (-w.x * q.x - w.y * q.y - w.z * q.z), q.x + h * (w.x * q.w + w.y * q.z - w.z * q.y),
            q.y + h * (w.y * q.w + w.z * q.x - w.x * q.z), q.z + h * (w.z * q.w + w.x * q.y - w.y * q.x)};
  const float scale = rsqrtf(r.w * r.w + r.x * r.x + r.y * r.y + r.z * r.z);
  body.orientation = {scale * r.w, scale * r.x, scale * r.y, scale * r.z};
  body.position = p;
  body.velocity = v;
  body.spin = w;
}

struct Scene {
  std::vector<Body> bodies;
  std::vector<Contact> contacts;
  std::vector<int> colourStart;
};

static Scene makeScene(int n) {
  Scene scene;
  uint32_t seed = 99;
  auto uniform = [&seed](float low, float high) {
    seed = seed * 1664525u + 1013904223u;
    return low + (high - low) * ((seed >> 8) / 16777216.0f);
  };
  int side = 1;
  while (side * side * side < n) ++side;
  scene.bodies.resize(n);
  for (int i = 0; i < n; ++i) {
    const int x = i % side, z = i / side % side, y = i / side / side;
    Body& b = scene.bodies[i];
    b.radius = uniform(0.45f, 0.55f);
    b.position = {x + uniform(-0.05f, 0.05f), y + 0.5f + uniform(-0.05f, 0.05f), z + uniform(-0.05f, 0.05f)};
    b.orientation = {1, 0, 0, 0};
    b.velocity = {uniform(-0.2f, 0.2f), uniform(-0.2f, 0.2f), uniform(-0.2f, 0.2f)};
    b.spin = {uniform(-1, 1), uniform(-1, 1), uniform(-1, 1)};
    const bool fixed = uniform(0, 1) < 0.02f;
    const float mass = 4 * b.radius * b.radius * b.radius;
    const float inertia = 0.4f * mass * b.radius * b.radius;
    b.inverseMass = fixed ? 0 : 1 / mass;
    b.inverseInertia = {b.inverseMass * mass / inertia, b.inverseMass * mass / (0.9f * inertia),
                        b.inverseMass * mass / (1.1f * inertia)};
    b.friction = uniform(0.2f, 0.8f);
    b.shape = static_cast<unsigned short>(i % 7);
    b.fixed = fixed;
    if (fixed) b.velocity = b.spin = {0, 0, 0};
  }

  // Pairs of neighbours that nearly touch, coloured greedily.
  std::vector<uint64_t> used(n, 0);
  std::vector<std::vector<Contact>> colours;
  for (int i = 0; i < n; ++i) {
    const int x = i % side, z = i / side % side, y = i / side / side;
    for (int k = 14; k < 27; ++k) {  // the half of the 26 neighbours that comes after
      const int nx = x + k % 3 - 1, nz = z + k / 3 % 3 - 1, ny = y + k / 9 - 1;
      if (nx < 0 || nx >= side || nz < 0 || nz >= side || ny < 0 || ny >= side) continue;
      const int j = (ny * side + nz) * side + nx;
      if (j >= n) continue;
      const Body &a = scene.bodies[i], &b = scene.bodies[j];
      const Vec3 d = b.position - a.position;
      const float reach = a.radius + b.radius + 0.1f;
      if (dot(d, d) > reach * reach || a.inverseMass + b.inverseMass == 0) continue;
      size_t colour = 0;
      while ((used[i] | used[j]) >> colour & 1) ++colour;
      used[i] |= 1ull << colour;
      used[j] |= 1ull << colour;
      if (colour >= colours.size()) colours.resize(colour + 1);
      colours[colour].push_back({i, j, {0, 0, 0}, {0, 0, 0}, 0, 0, 0});
    }
  }
  scene.colourStart.push_back(0);
  for (const std::vector<Contact>& colour : colours) {
    scene.contacts.insert(scene.contacts.end(), colour.begin(), colour.end());
    scene.colourStart.push_back(static_cast<int>(scene.contacts.size()));
  }
  return scene;
}

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 1000000;
  Scene scene = makeScene(n);
  const int contactCount = static_cast<int>(scene.contacts.size());
  const Params hostParams = {1.0f / 240, 9.81f, 0.1f, 0.02f, 0.02f, 0.999f};
  CUDA_OK(cudaMemcpyToSymbol(params, &hostParams, sizeof(Params)));
  Body* bodies;
  Contact* contacts;
  CUDA_OK(cudaMalloc(&bodies, n * sizeof(Body)));
  CUDA_OK(cudaMalloc(&contacts, (contactCount + 1) * sizeof(Contact)));
  CUDA_OK(cudaMemcpy(bodies, scene.bodies.data(), n * sizeof(Body), cudaMemcpyHostToDevice));
  CUDA_OK(cudaMemcpy(contacts, scene.contacts.data(), contactCount * sizeof(Contact), cudaMemcpyHostToDevice));

  constexpr int threads = 128;
  auto blocks = [](int items) { return (items + threads - 1) / threads; };
  auto step = [&] {
    if (contactCount > 0) refreshContacts<<<blocks(contactCount), threads>>>(contacts, contactCount, bodies);
    for (int iteration = 0; iteration < 4; ++iteration)
      for (size_t c = 0; c + 1 < scene.colourStart.size(); ++c) {
        const int first = scene.colourStart[c], count = scene.colourStart[c + 1] - first;
        solveColour<<<blocks(count), threads>>>(contacts, first, count, bodies);
      }
    integrate<<<blocks(n), threads>>>(bodies, n);
    CUDA_OK(cudaGetLastError());
  };
  cudaEvent_t start, stop;
  for (cudaEvent_t* event : {&start, &stop}) CUDA_OK(cudaEventCreate(event));
  constexpr int steps = 30;
  step();
  CUDA_OK(cudaEventRecord(start));
  for (int s = 0; s < steps; ++s) step();
  CUDA_OK(cudaEventRecord(stop));
  CUDA_OK(cudaEventSynchronize(stop));
  float ms = 0;
  CUDA_OK(cudaEventElapsedTime(&ms, start, stop));

  CUDA_OK(cudaMemcpy(scene.bodies.data(), bodies, n * sizeof(Body), cudaMemcpyDeviceToHost));
  CUDA_OK(cudaMemcpy(scene.contacts.data(), contacts, contactCount * sizeof(Contact), cudaMemcpyDeviceToHost));
  // Means: what one body does depends on how products and sums are contracted.
  double height = 0, energy = 0, impulse = 0;
  for (const Body& b : scene.bodies) {
    height += b.position.y;
    energy += dot(b.velocity, b.velocity);
  }
  for (const Contact& c : scene.contacts) impulse += c.impulse;
  const unsigned long long check = std::llround(1000 * height / n) + 31 * std::llround(500 * energy / n) +
                                   961 * std::llround(500 * impulse / (contactCount + 1)) + 29791ll * contactCount;
  std::printf("check %llu\ntime_ms %.4f\n", check, ms / steps);
}
