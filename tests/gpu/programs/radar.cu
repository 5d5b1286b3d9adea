// Radar: tracks smoothed from their last eight detections.
//
// The detections of a track are kept one after another, oldest first. A thread
// runs an alpha-beta filter in range and azimuth along those of one track; the
// gain depends on the signal. The argument is the number of tracks.
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

const int HISTORY = 8;

struct Detection {
  float time;
  float range;
  float azimuth;
  float doppler;
  float snr;
  int beam;
  int dwell;
};

struct Track {
  float time;
  float range, rangeRate;
  float azimuth, azimuthRate;
  float misfit;
  int id;
};

__global__ void smooth(const Detection *detections, Track *tracks, int trackCount, float noise) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= trackCount)
    return;
  const Detection *history = detections + (size_t)t * HISTORY;
  float time = history[0].time, range = history[0].range, azimuth = history[0].azimuth;
  float rangeRate = 0, azimuthRate = 0, misfit = 0;
  for (int k = 1; k < HISTORY; ++k) {
    const Detection &d = history[k];
    float dt = d.time - time;
    float alpha = d.snr / (d.snr + noise);
    float beta = alpha * alpha / (2 - alpha);
    float expected = range + rangeRate * dt;
    float residual = d.range - expected;
    range = expected + alpha * residual;
    rangeRate += beta / dt * residual;
    misfit += residual * residual;
    expected = azimuth + azimuthRate * dt;
    residual = d.azimuth - expected;
    azimuth = expected + alpha * residual;
    azimuthRate += beta / dt * residual;
    time = d.time;
  }
  Track &track = tracks[t];
  track.time = time;
  track.range = range;
  track.rangeRate = rangeRate;
  track.azimuth = azimuth;
  track.azimuthRate = azimuthRate;
  track.misfit = sqrtf(misfit / (HISTORY - 1));
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int trackCount = argc > 1 ? atoi(argv[1]) : 1 << 21;
  size_t n = (size_t)trackCount * HISTORY;
  std::vector<Detection> detections(n);
  std::vector<Track> tracks(trackCount);
  for (int t = 0; t < trackCount; ++t) {
    unsigned h = hash(t);
    float range = 5 + (h & 1023) / 10.0f, rate = ((int)(h >> 10 & 255) - 128) / 512.0f; // km, km/s
    float azimuth = (h >> 18 & 4095) / 4096.0f * 6.0f;
    for (int k = 0; k < HISTORY; ++k) {
      unsigned noise = hash((unsigned)(t * HISTORY + k) ^ 0x40000000);
      float time = 2.0f * k + (noise & 63) / 128.0f;
      detections[(size_t)t * HISTORY + k] = {time,
                                             range + rate * time + ((int)(noise >> 6 & 63) - 32) / 640.0f,
                                             azimuth + 0.001f * time + ((int)(noise >> 12 & 63) - 32) / 16384.0f,
                                             rate + (noise >> 18 & 7) / 1024.0f,
                                             4 + (noise >> 21 & 255) / 8.0f,
                                             (int)(azimuth * 20),
                                             (int)(noise >> 29)};
    }
    tracks[t] = {0, 0, 0, 0, 0, 0, t};
  }

  Detection *d_detections;
  CHECK(cudaMalloc(&d_detections, n * sizeof(Detection)));
  CHECK(cudaMemcpy(d_detections, detections.data(), n * sizeof(Detection), cudaMemcpyHostToDevice));
  Track *d_tracks;
  CHECK(cudaMalloc(&d_tracks, trackCount * sizeof(Track)));
  CHECK(cudaMemcpy(d_tracks, tracks.data(), trackCount * sizeof(Track), cudaMemcpyHostToDevice));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    smooth<<<(trackCount + 255) / 256, 256>>>(d_detections, d_tracks, trackCount, 2 + r / 16.0f);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  CHECK(cudaMemcpy(tracks.data(), d_tracks, trackCount * sizeof(Track), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Track &t : tracks)
    check = check * 31 + llround(t.range * 1e2) + 3 * llround(t.rangeRate * 1e3) + 5 * llround(t.azimuth * 1e3) +
            7 * llround(t.azimuthRate * 1e4) + 11 * llround(t.misfit * 1e3) + llround(t.time * 1e2) + t.id;

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_detections));
  CHECK(cudaFree(d_tracks));
}
