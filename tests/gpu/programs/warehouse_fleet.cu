// warehouse_fleet.cu -- synchronous path steps for a large AGV fleet on a grid.
//
// Everything lives in managed memory, hanging off a small World struct that is
// handed to the kernels by value. Conflicts are resolved by "lowest robot id
// wins the cell", so a run is reproducible.

#include <cuda_runtime.h>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

static void check(cudaError_t e, const char* what, int line) {
  if (e == cudaSuccess) return;
  fprintf(stderr, "line %d: %s failed: %s (%d)\n", line, what, cudaGetErrorName(e), int(e));
  abort();
}
#define CK(x) check((x), #x, __LINE__)

enum CellKind : unsigned char { FLOOR, RACK, CHARGER, DOCK };
enum RobotState : char { TO_PICK, TO_DROP, CHARGING, STUCK };

struct Cell {
  int occupant;          // robot id or -1
  int claim;             // lowest id that wants to enter, INT_MAX if none
  CellKind kind;
  unsigned char lane;    // preferred direction + 1, 0 = none
  unsigned short heat;   // traffic counter
};

struct Task {
  short px, py;   // pick
  short dx, dy;   // drop
  int priority;
  int served;
};

struct Robot {
  short x, y;
  short gx, gy;
  int task;
  int wanted;            // cell index or -1
  unsigned rng;
  int delivered;
  int walked;
  short battery;
  RobotState state;
  char blocked;
  short trail[8];        // last headings, for deadlock detection
};

struct Totals {
  unsigned long long moves;
  unsigned long long conflicts;
  unsigned long long deliveries;
  unsigned long long waits;
};

struct World {
  Robot* robots;
  Cell* cells;
  Task* tasks;
  Totals* totals;
  int w, h;
  int nRobots, nTasks;
};

__device__ const int DX[4] = {1, 0, -1, 0};
__device__ const int DY[4] = {0, 1, 0, -1};

__device__ inline unsigned nextRand(unsigned& s) {
  s = s * 1664525u + 1013904223u;
  return s >> 9;
}

__device__ inline bool passable(const World& w, int x, int y) {
  if (x < 0 || y < 0 || x >= w.w || y >= w.h) return false;
  const Cell& c = w.cells[y * w.w + x];
  return c.kind != RACK && c.occupant < 0;
}

// 1. each robot decides which neighbour cell it would like to enter
__global__ void chooseMove(World w) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < w.nRobots; i += blockDim.x * gridDim.x) {
    Robot& r = w.robots[i];
    r.wanted = -1;
    if (r.state == CHARGING) continue;
    if (r.battery <= 0) {
      r.state = CHARGING;
      continue;
    }

    int x = r.x, y = r.y;
    int ex = r.gx - x, ey = r.gy - y;
    if (ex == 0 && ey == 0) continue;

    if (r.blocked > 3) {
      // random sidestep, try each direction once starting anywhere
      unsigned d0 = nextRand(r.rng);
      for (int k = 0; k < 4; ++k) {
        int d = (d0 + k) & 3;
        if (passable(w, x + DX[d], y + DY[d])) {
          r.wanted = (y + DY[d]) * w.w + x + DX[d];
          break;
        }
      }
      continue;
    }

    int lane = w.cells[y * w.w + x].lane;
    int bestScore = INT_MAX;
    for (int d = 0; d < 4; ++d) {
      int nx = x + DX[d], ny = y + DY[d];
      if (!passable(w, nx, ny)) continue;
      int score = 8 * (abs(r.gx - nx) + abs(r.gy - ny));
      if (lane && lane != d + 1) score += 3;
      // do not oscillate: going straight back is expensive
      if (r.trail[0] == ((d + 2) & 3)) score += 12;
      score += min(int(w.cells[ny * w.w + nx].heat) >> 2, 5);
      if (score < bestScore) {
        bestScore = score;
        r.wanted = ny * w.w + nx;
      }
    }
  }
}

// 2. bid for the target cells
__global__ void claimCells(World w) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < w.nRobots; i += blockDim.x * gridDim.x) {
    int t = w.robots[i].wanted;
    if (t >= 0) atomicMin(&w.cells[t].claim, i);
  }
}

// 3. winners move, losers wait
__global__ void applyMoves(World w) {
  __shared__ unsigned moves, conflicts, waits;
  if (threadIdx.x == 0) moves = conflicts = waits = 0;
  __syncthreads();

  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < w.nRobots; i += blockDim.x * gridDim.x) {
    Robot& r = w.robots[i];
    int target = r.wanted;
    if (target < 0) {
      if (r.state != CHARGING) {
        atomicAdd(&waits, 1u);
        if (r.blocked < 100) r.blocked++;
      }
      continue;
    }
    if (w.cells[target].claim != i) {
      atomicAdd(&conflicts, 1u);
      if (r.blocked < 100) r.blocked++;
      continue;
    }
    int old = r.y * w.w + r.x;
    w.cells[old].occupant = -1;
    w.cells[target].occupant = i;
    if (w.cells[target].heat < 65535) w.cells[target].heat++;

    int diff = target - old;
    short heading = diff == 1 ? 0 : diff == -1 ? 2 : diff > 0 ? 1 : 3;
    for (int k = 7; k > 0; --k) r.trail[k] = r.trail[k - 1];
    r.trail[0] = heading;

    r.x = short(target % w.w);
    r.y = short(target / w.w);
    r.walked++;
    r.battery--;
    r.blocked = 0;
    atomicAdd(&moves, 1u);
  }

  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(&w.totals->moves, (unsigned long long)moves);
    atomicAdd(&w.totals->conflicts, (unsigned long long)conflicts);
    atomicAdd(&w.totals->waits, (unsigned long long)waits);
  }
}

// 4. clear the claims again (only the touched ones)
__global__ void releaseClaims(World w) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < w.nRobots; i += blockDim.x * gridDim.x) {
    int t = w.robots[i].wanted;
    if (t >= 0) w.cells[t].claim = INT_MAX;
  }
}

// 5. pick / drop / charge, assign next task
__global__ void updateTasks(World w) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < w.nRobots; i += blockDim.x * gridDim.x) {
    Robot r = w.robots[i];
    if (r.state == CHARGING) {
      r.battery += (w.cells[r.y * w.w + r.x].kind == CHARGER) ? 20 : 5;
      if (r.battery >= 60) r.state = TO_PICK;
      w.robots[i].battery = r.battery;
      if (r.state != CHARGING) {
        w.robots[i].state = TO_PICK;
        w.robots[i].gx = w.tasks[r.task].px;
        w.robots[i].gy = w.tasks[r.task].py;
      }
      continue;
    }
    // close enough counts: a station serves all four neighbours
    if (abs(r.x - r.gx) + abs(r.y - r.gy) > 1) continue;

    if (r.state == TO_PICK) {
      r.state = TO_DROP;
      r.gx = w.tasks[r.task].dx;
      r.gy = w.tasks[r.task].dy;
    } else {
      atomicAdd(&w.tasks[r.task].served, 1);
      atomicAdd(&w.totals->deliveries, 1ull);
      r.delivered++;
      r.task = int((unsigned(r.task) * 2654435761u + unsigned(i) * 40503u + 17u) % unsigned(w.nTasks));
      r.state = TO_PICK;
      r.gx = w.tasks[r.task].px;
      r.gy = w.tasks[r.task].py;
    }
    w.robots[i] = r;
  }
}

__global__ void coolDown(World w) {
  int n = w.w * w.h;
  for (int c = blockIdx.x * blockDim.x + threadIdx.x; c < n; c += blockDim.x * gridDim.x) {
    unsigned short h = w.cells[c].heat;
    if (h) w.cells[c].heat = h - (h >> 2) - (h < 4 ? 1 : 0);
  }
}

static unsigned g_seed = 12345;
static unsigned hostRand() {
  g_seed ^= g_seed << 13;
  g_seed ^= g_seed >> 17;
  g_seed ^= g_seed << 5;
  return g_seed & 0xffffff;
}

static void buildWorld(World& w) {
  for (int y = 0; y < w.h; ++y)
    for (int x = 0; x < w.w; ++x) {
      Cell& c = w.cells[y * w.w + x];
      c.occupant = -1;
      c.claim = INT_MAX;
      c.heat = 0;
      c.lane = 0;
      bool rack = (x % 8 >= 3 && x % 8 <= 5) && (y % 14 >= 4);
      c.kind = rack ? RACK : FLOOR;
      if (!rack && y % 14 < 2) c.lane = (y & 1) ? 1 : 3;
      if (!rack && x % 8 < 2 && y % 14 >= 4) c.lane = (x & 1) ? 2 : 4;
      if (!rack && x % 64 == 0 && y % 14 == 2) c.kind = CHARGER;
      if (!rack && x % 32 == 7 && y % 14 == 3) c.kind = DOCK;
    }

  auto freeCell = [&](int& x, int& y, int cx, int cy, int radius) {
    for (;;) {
      x = cx + int(hostRand() % unsigned(2 * radius + 1)) - radius;
      y = cy + int(hostRand() % unsigned(2 * radius + 1)) - radius;
      if (x < 0 || y < 0 || x >= w.w || y >= w.h) continue;
      if (w.cells[y * w.w + x].kind != RACK) return;
    }
  };

  for (int t = 0; t < w.nTasks; ++t) {
    int x, y, x2, y2;
    freeCell(x, y, hostRand() % w.w, hostRand() % w.h, 10);
    freeCell(x2, y2, x, y, 25);
    w.tasks[t] = Task{short(x), short(y), short(x2), short(y2), int(hostRand() % 5), 0};
  }

  for (int i = 0; i < w.nRobots; ++i) {
    Robot& r = w.robots[i];
    memset(&r, 0, sizeof(r));
    int x, y;
    do {
      freeCell(x, y, hostRand() % w.w, hostRand() % w.h, 6);
    } while (w.cells[y * w.w + x].occupant >= 0);
    w.cells[y * w.w + x].occupant = i;
    r.x = short(x);
    r.y = short(y);
    r.task = int(hostRand() % unsigned(w.nTasks));
    // first goal: a pick near by so that the fleet starts working at once
    int gx, gy;
    freeCell(gx, gy, x, y, 12);
    r.gx = short(gx);
    r.gy = short(gy);
    r.rng = hostRand() * 31u + i;
    r.battery = short(20 + hostRand() % 100);
    r.state = (i % 3) ? TO_PICK : TO_DROP;
    r.wanted = -1;
    for (short& t : r.trail) t = -1;
  }
  memset(w.totals, 0, sizeof(Totals));
}

static void tick(const World& w, int step) {
  const int threads = 256;
  const int blocks = 132 * 8;
  chooseMove<<<blocks, threads>>>(w);
  claimCells<<<blocks, threads>>>(w);
  applyMoves<<<blocks, threads>>>(w);
  releaseClaims<<<blocks, threads>>>(w);
  updateTasks<<<blocks, threads>>>(w);
  if (step % 4 == 3) coolDown<<<blocks, threads>>>(w);
}

int main(int argc, char** argv) {
  World w{};
  w.w = w.h = argc > 2 ? atoi(argv[2]) : 2048;
  w.nRobots = argc > 1 ? atoi(argv[1]) : 500000;
  w.nTasks = 100000;
  const int steps = argc > 3 ? atoi(argv[3]) : 100;

  CK(cudaMallocManaged(&w.robots, w.nRobots * sizeof(Robot)));
  CK(cudaMallocManaged(&w.cells, size_t(w.w) * w.h * sizeof(Cell)));
  CK(cudaMallocManaged(&w.tasks, w.nTasks * sizeof(Task)));
  CK(cudaMallocManaged(&w.totals, sizeof(Totals)));
  buildWorld(w);

  tick(w, 0);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());

  cudaEvent_t a, b;
  CK(cudaEventCreate(&a));
  CK(cudaEventCreate(&b));
  CK(cudaEventRecord(a));
  for (int s = 1; s <= steps; ++s) tick(w, s);
  CK(cudaEventRecord(b));
  CK(cudaEventSynchronize(b));
  CK(cudaGetLastError());
  float ms = 0;
  CK(cudaEventElapsedTime(&ms, a, b));

  // host side reads straight from managed memory
  unsigned long long posHash = 0, heat = 0, served = 0;
  int misplaced = 0;
  for (int i = 0; i < w.nRobots; ++i) {
    const Robot& r = w.robots[i];
    posHash = posHash * 1099511628211ull + unsigned(r.y * w.w + r.x);
    if (w.cells[r.y * w.w + r.x].occupant != i) ++misplaced;
  }
  for (int c = 0; c < w.w * w.h; ++c) heat += w.cells[c].heat;
  for (int t = 0; t < w.nTasks; ++t) served += w.tasks[t].served;

  printf("check moves %llu\n", w.totals->moves);
  printf("check conflicts %llu\n", w.totals->conflicts);
  printf("check waits %llu\n", w.totals->waits);
  printf("check deliveries %llu\n", w.totals->deliveries);
  printf("check served %llu\n", served);
  printf("check misplaced %d\n", misplaced);
  printf("check heat %llu\n", heat);
  printf("check position_hash %llu\n", posHash);
  printf("time_ms %.4f\n", ms);

  CK(cudaFree(w.robots));
  CK(cudaFree(w.cells));
  CK(cudaFree(w.tasks));
  CK(cudaFree(w.totals));
  return misplaced ? 1 : 0;
}
