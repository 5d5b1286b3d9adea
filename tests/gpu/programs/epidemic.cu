// An epidemic among people who sit on a torus, one per cell.
//
// The ill shed virus onto their eight neighbours; who catches it depends on
// resistance and luck. Days go from one buffer to the other; what never changes
// is in both from the start. The argument is the side of the torus.
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

enum State : short { HEALTHY, ILL, IMMUNE };

struct Person {
  short state;
  short days; // in this state
  int load;   // of virus
  int resistance;
  int age;
  int household;
};

// Pseudo-random bits for a counter.
__host__ __device__ unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

__global__ void live(const Person *today, Person *tomorrow, int side, unsigned day) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= side || y >= side)
    return;
  int i = y * side + x;
  int state = today[i].state, days = today[i].days + 1, load = today[i].load;

  int exposure = 0;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx) {
      if (dx == 0 && dy == 0)
        continue;
      int nx = (x + dx + side) % side, ny = (y + dy + side) % side;
      const Person &neighbour = today[ny * side + nx];
      if (neighbour.state == ILL)
        exposure += neighbour.load;
    }

  if (state == HEALTHY) {
    int luck = hash((unsigned)i * 131u + day) & 255;
    if (exposure > 0 && exposure > today[i].resistance + luck) {
      state = ILL;
      days = 0;
      load = 16;
    }
  } else if (state == ILL) {
    load += days < 5 ? 24 : -16;
    if (load <= 0) {
      state = IMMUNE;
      days = 0;
      load = 0;
    }
  } else if (days > 20 + today[i].age / 4) {
    state = HEALTHY;
    days = 0;
  }
  tomorrow[i].state = state;
  tomorrow[i].days = days;
  tomorrow[i].load = load;
}

int main(int argc, char **argv) {
  int side = argc > 1 ? atoi(argv[1]) : 4096;
  size_t n = (size_t)side * side;
  std::vector<Person> people(n);
  for (size_t i = 0; i < n; ++i) {
    unsigned h = hash((unsigned)i ^ 0x40000000);
    bool ill = h % 1024 == 0;
    people[i] = {ill ? (short)ILL : (short)HEALTHY, 0,   ill ? 100 : 0, (int)(h >> 10 & 127), (int)(h >> 20) % 90,
                 (int)(i / 4)};
  }
  Person *d_today, *d_tomorrow;
  CHECK(cudaMalloc(&d_today, n * sizeof(Person)));
  CHECK(cudaMalloc(&d_tomorrow, n * sizeof(Person)));
  CHECK(cudaMemcpy(d_today, people.data(), n * sizeof(Person), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(d_tomorrow, people.data(), n * sizeof(Person), cudaMemcpyHostToDevice));

  dim3 block(32, 8), grid((side + 31) / 32, (side + 7) / 8);
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    live<<<grid, block>>>(d_today, d_tomorrow, side, r);
    std::swap(d_today, d_tomorrow);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  CHECK(cudaMemcpy(people.data(), d_today, n * sizeof(Person), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Person &p : people)
    check = check * 31 + p.state + 3 * p.days + 5 * p.load + 7 * p.resistance + 11 * p.age + 13 * p.household;

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_today));
  CHECK(cudaFree(d_tomorrow));
}
