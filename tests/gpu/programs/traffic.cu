// Cars that follow each other on many ring roads: the intelligent driver model.
//
// A step reads all fields of a car and three of the car in front, and stores a
// record of the other buffer; the count reads three fields. The argument is
// the number of lanes.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define CHECK(call)                                                                                                    \
  do {                                                                                                                 \
    cudaError_t status = (call);                                                                                       \
    if (status != cudaSuccess) {                                                                                       \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));                                  \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

struct Car {
  float position; // of the front bumper, in metres; never wrapped
  float speed;
  float desired;
  float length;
  int lane;
  float waiting; // seconds at less than a walking pace
};

// The cars of lane k are first[k] to first[k + 1] - 1, from back to front.
__global__ void drive(const Car *now, Car *next, const int *first, const float *ring, int n, float dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  Car car = now[i];
  int front = i + 1;
  float lap = 0;
  if (front == n || now[front].lane != car.lane) { // the last one follows the first, a lap ahead
    front = first[car.lane];
    lap = ring[car.lane];
  }
  float gap = fmaxf(now[front].position + lap - now[front].length - car.position, 0.25f);
  float approach = car.speed - now[front].speed;

  // Who has waited long keeps a shorter distance.
  float headway = car.waiting > 5 ? 1.0f : 1.5f;
  const float accelerate = 1.5f, brake = 2.0f;
  float wanted = 2 + fmaxf(0, car.speed * headway + car.speed * approach / (2 * sqrtf(accelerate * brake)));
  float ratio = car.speed / car.desired;
  float a = accelerate * (1 - ratio * ratio * ratio * ratio - (wanted / gap) * (wanted / gap));
  float speed = fmaxf(0, car.speed + dt * fmaxf(a, -8));

  car.position += fminf(0.5f * (car.speed + speed) * dt, 0.5f * gap);
  car.waiting = speed < 1 ? car.waiting + dt : 0;
  car.speed = speed;
  next[i] = car;
}

__global__ void countSlow(const Car *cars, int *slow, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && cars[i].speed < 0.3f * cars[i].desired)
    atomicAdd(&slow[cars[i].lane], 1);
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int lanes = argc > 1 ? atoi(argv[1]) : 1 << 14;
  std::vector<Car> cars;
  std::vector<int> first(lanes + 1);
  std::vector<float> ring(lanes);
  for (int k = 0; k < lanes; ++k) {
    unsigned h = hash(k);
    int count = 128 + (h & 255), room = h >> 8 & 31; // jammed and empty lanes
    float position = 0;
    first[k] = cars.size();
    for (int j = 0; j < count; ++j) {
      h = hash(0x80000000u + cars.size());
      float length = (h & 7) == 0 ? 12 : 4 + (h >> 3 & 7) / 8.0f;
      position += length + 1.25f + (h >> 6 & 63) / 64.0f * room;
      float desired = 20 + (h >> 12 & 15);
      float speed = (h >> 16 & 3) == 0 ? 0 : (h >> 18 & 15) * 0.5f;
      cars.push_back({position, speed, desired, length, k, 0});
    }
    ring[k] = position + 2;
  }
  int n = cars.size();
  first[lanes] = n;

  Car *d_now, *d_next;
  CHECK(cudaMalloc(&d_now, n * sizeof(Car)));
  CHECK(cudaMalloc(&d_next, n * sizeof(Car)));
  CHECK(cudaMemcpy(d_now, cars.data(), n * sizeof(Car), cudaMemcpyHostToDevice));
  int *d_first, *d_slow;
  CHECK(cudaMalloc(&d_first, (lanes + 1) * sizeof(int)));
  CHECK(cudaMemcpy(d_first, first.data(), (lanes + 1) * sizeof(int), cudaMemcpyHostToDevice));
  CHECK(cudaMalloc(&d_slow, lanes * sizeof(int)));
  CHECK(cudaMemset(d_slow, 0, lanes * sizeof(int)));
  float *d_ring;
  CHECK(cudaMalloc(&d_ring, lanes * sizeof(float)));
  CHECK(cudaMemcpy(d_ring, ring.data(), lanes * sizeof(float), cudaMemcpyHostToDevice));

  int blocks = (n + 255) / 256;
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    drive<<<blocks, 256>>>(d_now, d_next, d_first, d_ring, n, 0.25f);
    std::swap(d_now, d_next);
    countSlow<<<blocks, 256>>>(d_now, d_slow, n);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  CHECK(cudaMemcpy(cars.data(), d_now, n * sizeof(Car), cudaMemcpyDeviceToHost));
  std::vector<int> slow(lanes);
  CHECK(cudaMemcpy(slow.data(), d_slow, lanes * sizeof(int), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Car &c : cars)
    check = check * 31 + llround(c.position * 10) + 3 * llround(c.speed * 10) + 5 * llround(c.waiting * 4) + c.lane;
  for (int s : slow)
    check = check * 31 + s;

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_now));
  CHECK(cudaFree(d_next));
  CHECK(cudaFree(d_first));
  CHECK(cudaFree(d_slow));
  CHECK(cudaFree(d_ring));
}
