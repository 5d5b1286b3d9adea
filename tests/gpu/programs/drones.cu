// A fleet of drones as rigid bodies: flight in one kernel, charging in another.
//
// Flight reads all sixteen fields and stores all but the mass. Charging reads
// position and battery only, and stores battery and state.
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

struct Drone {
  float x, y, z;
  float vx, vy, vz;
  float qw, qx, qy, qz; // turns body axes to world axes
  float wx, wy, wz;     // around body axes
  float mass;
  float battery; // 0 to 1
  int state;
};

enum { FLYING, RETURNING, CHARGING, EMPTY };

const float GRAVITY = 9.8125f;
const float PAD_SPACING = 32; // of the pads to charge at, on the ground
const float PAD_RADIUS = 8;

__global__ void fly(Drone *drones, int n, float dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  Drone &d = drones[i];
  float battery = d.battery;
  int state = battery > 0 ? d.state : EMPTY;
  float thrust = state == FLYING ? 18.0f : state == RETURNING ? 12.0f : 0.0f;

  // The thrust points along the body's own z axis.
  float qw = d.qw, qx = d.qx, qy = d.qy, qz = d.qz;
  float upX = 2 * (qx * qz + qw * qy);
  float upY = 2 * (qy * qz - qw * qx);
  float upZ = 1 - 2 * (qx * qx + qy * qy);
  float vx = d.vx, vy = d.vy, vz = d.vz;
  float drag = 0.0625f * sqrtf(vx * vx + vy * vy + vz * vz) + 0.125f;
  float perMass = 1 / d.mass;
  vx += dt * perMass * (thrust * upX - drag * vx);
  vy += dt * perMass * (thrust * upY - drag * vy);
  vz += dt * (perMass * (thrust * upZ - drag * vz) - GRAVITY);
  float z = d.z + dt * vz;
  if (z < 0) { // on the ground
    z = 0;
    vx = vy = vz = 0;
  }
  d.x += dt * vx;
  d.y += dt * vy;
  d.z = z;
  d.vx = vx;
  d.vy = vy;
  d.vz = vz;

  // Euler's equations; the controller levels the body and damps its spin.
  float wx = d.wx, wy = d.wy, wz = d.wz;
  const float ix = 0.75f, iy = 1.0f, iz = 1.5f;
  float levelX = 2 * (qy * qz + qw * qx), levelY = 2 * (qx * qz - qw * qy);
  d.wx = wx + dt * ((iy - iz) * wy * wz - 4 * levelX - wx) / ix;
  d.wy = wy + dt * ((iz - ix) * wz * wx + 4 * levelY - wy) / iy;
  d.wz = wz + dt * ((ix - iy) * wx * wy - wz) / iz;

  float rw = qw - dt / 2 * (qx * wx + qy * wy + qz * wz);
  float rx = qx + dt / 2 * (qw * wx + qy * wz - qz * wy);
  float ry = qy + dt / 2 * (qw * wy + qz * wx - qx * wz);
  float rz = qz + dt / 2 * (qw * wz + qx * wy - qy * wx);
  float scale = 1 / sqrtf(rw * rw + rx * rx + ry * ry + rz * rz);
  d.qw = rw * scale;
  d.qx = rx * scale;
  d.qy = ry * scale;
  d.qz = rz * scale;

  d.battery = fmaxf(battery - dt * 0.0009765625f * (thrust + 1), 0.0f);
  d.state = state;
}

__global__ void charge(Drone *drones, int n, float dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float dx = drones[i].x - PAD_SPACING * rintf(drones[i].x / PAD_SPACING);
  float dy = drones[i].y - PAD_SPACING * rintf(drones[i].y / PAD_SPACING);
  float z = drones[i].z;
  float battery = drones[i].battery;
  bool atPad = dx * dx + dy * dy < PAD_RADIUS * PAD_RADIUS && z < 0.5f;
  if (atPad)
    battery = fminf(battery + 0.25f * dt, 1.0f);
  int state = FLYING;
  if (battery <= 0)
    state = EMPTY;
  else if (atPad && battery < 0.875f)
    state = CHARGING;
  else if (battery < 0.25f + z * 0.00390625f) // needs more from high up
    state = RETURNING;
  drones[i].battery = battery;
  drones[i].state = state;
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 22;
  std::vector<Drone> fleet(n);
  for (int i = 0; i < n; ++i) {
    unsigned h = hash(i), k = hash(~i);
    float qx = (h >> 24 & 15) / 32.0f - 0.25f, qy = (h >> 28 & 15) / 32.0f - 0.25f;
    fleet[i] = {(h & 1023) / 4.0f,
                (h >> 10 & 1023) / 4.0f,
                (h >> 20 & 3) == 0 ? 0.0f : (k & 63) / 2.0f,
                (k >> 6 & 15) / 4.0f - 2,
                (k >> 10 & 15) / 4.0f - 2,
                0,
                sqrtf(1 - qx * qx - qy * qy),
                qx,
                qy,
                0,
                (k >> 14 & 7) / 8.0f - 0.5f,
                (k >> 17 & 7) / 8.0f - 0.5f,
                (k >> 20 & 7) / 8.0f - 0.5f,
                1 + (k >> 23 & 15) / 16.0f,
                (k >> 27 & 31) / 32.0f,
                FLYING};
  }
  Drone *d_fleet;
  CHECK(cudaMalloc(&d_fleet, n * sizeof(Drone)));
  CHECK(cudaMemcpy(d_fleet, fleet.data(), n * sizeof(Drone), cudaMemcpyHostToDevice));

  int blocks = (n + 255) / 256;
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    fly<<<blocks, 256>>>(d_fleet, n, 1.0f / 64);
    charge<<<blocks, 256>>>(d_fleet, n, 1.0f / 64);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  CHECK(cudaMemcpy(fleet.data(), d_fleet, n * sizeof(Drone), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Drone &d : fleet)
    check = check * 31 + llround(d.x * 1e2) + 3 * llround(d.z * 1e2) + 5 * llround(d.vy * 1e2) +
            7 * llround(d.qx * 1e2) + 11 * llround(d.wz * 1e2) + 13 * llround(d.battery * 1e2) + 17 * d.state;

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_fleet));
}
