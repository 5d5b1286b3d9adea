// A crowd of agents of 112 bytes: five hot words of twenty-eight, three of them
// changed, and a look at the agent in front.
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

struct Agent {
  float x, y, heading, speed;
  float goalX, goalY, patience, radius;
  float colour[4];
  float hunger, thirst, energy, mood;
  int home, work, family, group;
  int bag[8];
};

__global__ void walk(Agent *agents, const int *ahead, float *speed, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int j = ahead[i];
  float dx = agents[j].x - agents[i].x, dy = agents[j].y - agents[i].y;
  float gap = sqrtf(dx * dx + dy * dy);
  float wish = agents[i].speed;
  speed[i] = gap < 1 ? 0.5f * wish : wish;
}

__global__ void move(Agent *agents, const float *speed, int n, float dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  Agent &a = agents[i];
  a.x += dt * speed[i] * cosf(a.heading);
  a.y += dt * speed[i] * sinf(a.heading);
  a.energy -= speed[i];
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 21;
  std::vector<Agent> agents(n);
  std::vector<int> ahead(n);
  for (int i = 0; i < n; ++i) {
    unsigned h = hash(i);
    agents[i].x = i % 1000 + (h & 255) / 256.0f;
    agents[i].y = i / 1000 + (h >> 8 & 255) / 256.0f;
    agents[i].heading = (h >> 16 & 255) / 64.0f;
    agents[i].speed = 1 + (h >> 24 & 7) / 8.0f;
    agents[i].energy = 1000;
    agents[i].home = i;
    agents[i].bag[7] = h >> 27;
    ahead[i] = (i + 1 + hash(h) % 8) % n;
  }
  Agent *d_agents;
  CHECK(cudaMalloc(&d_agents, n * sizeof(Agent)));
  CHECK(cudaMemcpy(d_agents, agents.data(), n * sizeof(Agent), cudaMemcpyHostToDevice));
  int *d_ahead;
  CHECK(cudaMalloc(&d_ahead, n * sizeof(int)));
  CHECK(cudaMemcpy(d_ahead, ahead.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  float *d_speed;
  CHECK(cudaMalloc(&d_speed, n * sizeof(float)));
  int blocks = (n + 255) / 256;

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    walk<<<blocks, 256>>>(d_agents, d_ahead, d_speed, n);
    move<<<blocks, 256>>>(d_agents, d_speed, n, 1.0f / 64);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  CHECK(cudaMemcpy(agents.data(), d_agents, n * sizeof(Agent), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Agent &a : agents)
    check = check * 31 + llround(a.x * 100.0) + 3 * llround(a.y * 100.0) + a.home + a.bag[7];

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_agents));
  CHECK(cudaFree(d_ahead));
  CHECK(cudaFree(d_speed));
}
