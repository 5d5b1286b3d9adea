// A robot arm of a few hundred joints: so few records that a launch is mostly
// waiting, many small launches one after the other.
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

struct Joint {
  float position[3], velocity[3], torque[3], axis[3];
  float frame[9];
  float lower, upper, friction, gain, mass;
  int parent, kind;
};

__global__ void actuate(Joint *joints, int n, float dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  for (int a = 0; a < 3; ++a) {
    float pull = joints[i].torque[a] - joints[i].friction * joints[i].velocity[a];
    float v = joints[i].velocity[a] + dt * pull * joints[i].gain;
    float x = joints[i].position[a] + dt * v;
    if (x < joints[i].lower || x > joints[i].upper)
      v = -v;
    joints[i].velocity[a] = v;
    joints[i].position[a] = x;
  }
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 2048;
  const int launches = 50;
  std::vector<Joint> joints(n);
  for (int i = 0; i < n; ++i) {
    for (int a = 0; a < 3; ++a) {
      joints[i].position[a] = (hash(6 * i + a) & 255) / 256.0f;
      joints[i].torque[a] = (hash(6 * i + a) >> 8 & 255) / 128.0f - 1;
    }
    joints[i].upper = 1;
    joints[i].friction = 0.25f;
    joints[i].gain = 0.5f;
    joints[i].parent = i - 1;
  }
  Joint *d_joints;
  CHECK(cudaMalloc(&d_joints, n * sizeof(Joint)));
  CHECK(cudaMemcpy(d_joints, joints.data(), n * sizeof(Joint), cudaMemcpyHostToDevice));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    for (int l = 0; l < launches; ++l)
      actuate<<<(n + 127) / 128, 128>>>(d_joints, n, 1.0f / 1024);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  CHECK(cudaMemcpy(joints.data(), d_joints, n * sizeof(Joint), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Joint &j : joints)
    for (int a = 0; a < 3; ++a)
      check = check * 31 + llround(j.position[a] * 1e2) + 3 * llround(j.velocity[a] * 1e2) + j.parent;

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_joints));
}
