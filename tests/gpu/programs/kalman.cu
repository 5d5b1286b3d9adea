// Kalman update of many tracks: a state of six and a symmetric covariance of
// twenty-one floats, 112 bytes with the measurement's place.
//
// Nearly everything is read and stored once and lives in registers meanwhile,
// so few warps are resident.
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

struct Track {
  float state[6];
  float covariance[21]; // lower triangle, row by row
  int id;
};

struct Measurement {
  float x, y, z;
};

__device__ constexpr int at(int row, int col) {
  return row >= col ? row * (row + 1) / 2 + col : col * (col + 1) / 2 + row;
}

__global__ void correct(Track *tracks, const Measurement *measured, int n, float noise) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float s[6], p[21];
#pragma unroll
  for (int k = 0; k < 6; ++k)
    s[k] = tracks[i].state[k];
#pragma unroll
  for (int k = 0; k < 21; ++k)
    p[k] = tracks[i].covariance[k];
  float z[3] = {measured[i].x, measured[i].y, measured[i].z};
#pragma unroll
  for (int axis = 0; axis < 3; ++axis) { // one coordinate after the other
    float innovation = z[axis] - s[axis], inverse = 1 / (p[at(axis, axis)] + noise), gain[6];
#pragma unroll
    for (int k = 0; k < 6; ++k)
      gain[k] = p[at(k, axis)] * inverse;
    float row[6];
#pragma unroll
    for (int k = 0; k < 6; ++k)
      row[k] = p[at(k, axis)];
#pragma unroll
    for (int k = 0; k < 6; ++k) {
      s[k] += gain[k] * innovation;
#pragma unroll
      for (int m = 0; m <= k; ++m)
        p[at(k, m)] -= gain[k] * row[m];
    }
  }
#pragma unroll
  for (int k = 0; k < 6; ++k)
    tracks[i].state[k] = s[k];
#pragma unroll
  for (int k = 0; k < 21; ++k)
    tracks[i].covariance[k] = p[k];
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 21;
  std::vector<Track> tracks(n);
  std::vector<Measurement> measured(n);
  for (int i = 0; i < n; ++i) {
    unsigned h = hash(i);
    for (int k = 0; k < 6; ++k) {
      tracks[i].state[k] = (h >> 4 * k & 15) / 2.0f;
      tracks[i].covariance[k * (k + 1) / 2 + k] = 1 + k / 4.0f;
      if (k >= 3)
        tracks[i].covariance[k * (k + 1) / 2 + k - 3] = 0.25f;
    }
    tracks[i].id = i;
    measured[i] = {(h & 15) / 2.0f + 0.5f, (h >> 4 & 15) / 2.0f, (h >> 8 & 15) / 2.0f - 0.5f};
  }
  Track *d_tracks;
  CHECK(cudaMalloc(&d_tracks, n * sizeof(Track)));
  CHECK(cudaMemcpy(d_tracks, tracks.data(), n * sizeof(Track), cudaMemcpyHostToDevice));
  Measurement *d_measured;
  CHECK(cudaMalloc(&d_measured, n * sizeof(Measurement)));
  CHECK(cudaMemcpy(d_measured, measured.data(), n * sizeof(Measurement), cudaMemcpyHostToDevice));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    correct<<<(n + 127) / 128, 128>>>(d_tracks, d_measured, n, 0.5f);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  CHECK(cudaMemcpy(tracks.data(), d_tracks, n * sizeof(Track), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Track &t : tracks)
    for (int k = 0; k < 6; ++k)
      check = check * 31 + llround(t.state[k] * 1e2) + 3 * llround(t.covariance[3 * k] * 1e2) + t.id;

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_tracks));
  CHECK(cudaFree(d_measured));
}
