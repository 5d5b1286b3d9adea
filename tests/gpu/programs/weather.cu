// Clouds and rain in the columns of an atmosphere, and the turning of the wind.
//
// A thread walks one column up and down, so lanes are 40 records apart; of
// seven fields five are used. The other two are updated by all cells in order.
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

struct Level {
  float temperature, pressure, humidity;
  float wind_u, wind_v;
  float cloud, rain;
};

__global__ void physics(Level *air, int columns, int levels, float dt) {
  int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= columns)
    return;
  // Upwards: vapour rises from level to level and condenses.
  float vapour = 0.002f * dt; // from the ground
  for (int k = 0; k < levels; ++k) {
    int i = column * levels + k;
    float t = air[i].temperature;
    float q = air[i].humidity + vapour;
    vapour = 0.05f * dt * q;
    q -= vapour;
    float saturated = 3.8f / air[i].pressure * expf(17.27f * (t - 273.15f) / (t - 35.86f));
    float excess = 0.5f * fmaxf(0.0f, q - saturated);
    air[i].humidity = q - excess;
    air[i].cloud += excess;
    air[i].temperature = t + 250.0f * excess;
  }
  // Downwards: clouds turn into rain, which falls, and some of it evaporates.
  float fall = 0;
  for (int k = levels - 1; k >= 0; --k) {
    int i = column * levels + k;
    float cloud = air[i].cloud;
    float formed = dt * (0.1f * fmaxf(0.0f, cloud - 0.0005f) + cloud * fminf(1.0f, fall));
    float evaporated = 0.1f * dt * (fall + formed);
    air[i].cloud = cloud - formed;
    air[i].humidity += evaporated;
    air[i].temperature -= 250.0f * evaporated + 0.01f * dt * (air[i].temperature - 280.0f + k);
    fall += formed - evaporated;
    air[i].rain = fall;
  }
}

__global__ void turn(Level *air, int cells, float dt, float coriolis) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= cells)
    return;
  float u = air[i].wind_u, v = air[i].wind_v;
  air[i].wind_u = u + dt * (coriolis * v - 0.01f * u);
  air[i].wind_v = v - dt * (coriolis * u + 0.01f * v);
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 17;
  const int levels = 40;
  int cells = n * levels;
  std::vector<Level> air(cells);
  for (int i = 0; i < cells; ++i) {
    unsigned h = hash(i);
    int k = i % levels;
    air[i] = {290.0f - 1.5f * k + (h & 15) / 8.0f,
              1000.0f - 20.0f * k,
              0.008f * expf(-0.1f * k) * (1 + (h >> 4 & 15) / 16.0f),
              (int)(h >> 8 & 31) - 16.0f,
              (int)(h >> 13 & 31) - 16.0f,
              0,
              0};
  }
  Level *d_air;
  CHECK(cudaMalloc(&d_air, cells * sizeof(Level)));
  CHECK(cudaMemcpy(d_air, air.data(), cells * sizeof(Level), cudaMemcpyHostToDevice));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    physics<<<(n + 127) / 128, 128>>>(d_air, n, levels, 0.25f);
    turn<<<(cells + 255) / 256, 256>>>(d_air, cells, 0.25f, 0.1f);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  CHECK(cudaMemcpy(air.data(), d_air, cells * sizeof(Level), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Level &a : air)
    check = check * 31 + llround(a.temperature * 10) + 3 * llround(a.humidity * 1e5) + 5 * llround(a.wind_u * 10) +
            7 * llround(a.wind_v * 10) + 11 * llround(a.rain * 1e6);

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_air));
}
