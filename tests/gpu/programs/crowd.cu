/* Pedestrian crowd in a grid of streets: social forces between agents, walls of buildings,
 * routes from junction to junction.  Agents are kept sorted by cell. */
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#define TILE 40.0f      /* metres from junction to junction */
#define BUILDING 14.0f  /* side of the building in the middle of a tile */
#define CELL 2.0f
#define CUTOFF 2.0f /* not more than CELL */
#define DT 0.05f
#define BLOCK 128
#define SCAN_BLOCK 512

typedef struct {
  float2 pos, vel;
  float desiredSpeed, radius, mass;
  float pressure;
  int goal, previousGoal;
  int cell;
  unsigned int id;
  short group;
  uint8_t state, neighbours; /* 0 walking, 1 pushed, 2 waiting */
} Agent;

typedef struct {
  int start, count;
  int wallStart, wallCount;
  int visits, crushed;
} Cell;

typedef struct { float ax, ay, bx, by; } Wall;

typedef struct {
  float x, y, radius;
  int next[4];
  unsigned int arrivals;
} Goal;

static void die(cudaError_t e, const char *file, int line) {
  if (e == cudaSuccess) return;
  fprintf(stderr, "%s(%d): %s\n", file, line, cudaGetErrorString(e));
  exit(2);
}
#define TRY(e) die((e), __FILE__, __LINE__)

__host__ __device__ static inline uint32_t mixBits(uint32_t h) {
  h = (h ^ (h >> 16)) * 0x85ebca6bu;
  h = (h ^ (h >> 13)) * 0xc2b2ae35u;
  return h ^ (h >> 16);
}

__global__ void clearCells(Cell *cells, int numCells) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c < numCells) cells[c].count = 0;
}

__global__ void countAgents(Agent *agents, int n, Cell *cells, int side) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float2 p = agents[i].pos;
  int cx = min(max((int)(p.x / CELL), 0), side - 1);
  int cy = min(max((int)(p.y / CELL), 0), side - 1);
  int c = cy * side + cx;
  agents[i].cell = c;
  atomicAdd(&cells[c].count, 1);
}

__device__ static int blockScanExclusive(int value, int *total) {
  __shared__ int s[SCAN_BLOCK];
  int t = threadIdx.x;
  s[t] = value;
  __syncthreads();
  for (int d = 1; d < SCAN_BLOCK; d *= 2) {
    int add = t >= d ? s[t - d] : 0;
    __syncthreads();
    s[t] += add;
    __syncthreads();
  }
  *total = s[SCAN_BLOCK - 1];
  int result = s[t] - value;
  __syncthreads();
  return result;
}

__global__ void scanCells(Cell *cells, int numCells, int *blockSums) {
  int c = blockIdx.x * SCAN_BLOCK + threadIdx.x, total;
  int value = c < numCells ? cells[c].count : 0;
  int before = blockScanExclusive(value, &total);
  if (c < numCells) cells[c].start = before;
  if (threadIdx.x == 0) blockSums[blockIdx.x] = total;
}

__global__ void scanSums(int *blockSums, int numBlocks) {
  int carry = 0;
  for (int b = 0; b < numBlocks; b += SCAN_BLOCK) {
    int i = b + threadIdx.x, total;
    int before = blockScanExclusive(i < numBlocks ? blockSums[i] : 0, &total);
    if (i < numBlocks) blockSums[i] = carry + before;
    carry += total;
  }
}

__global__ void addSums(Cell *cells, int numCells, const int *blockSums) {
  int c = blockIdx.x * SCAN_BLOCK + threadIdx.x;
  if (c >= numCells) return;
  cells[c].start += blockSums[blockIdx.x];
  cells[c].count = 0; /* the cursor of the scatter */
}

__global__ void scatterAgents(const Agent *agents, int n, Cell *cells, int *order) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Cell *cell = &cells[agents[i].cell];
  order[cell->start + atomicAdd(&cell->count, 1)] = i;
}

/* Atomics give no fixed order within a cell; the identity of the agents does. */
__global__ void orderWithinCells(const Agent *agents, Cell *cells, int numCells, int *order) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= numCells) return;
  int start = cells[c].start, count = cells[c].count;
  int *list = order + start;
  for (int i = 1; i < count; i++) {
    int a = list[i], j = i;
    unsigned int id = agents[a].id;
    while (j > 0 && agents[list[j - 1]].id > id) {
      list[j] = list[j - 1];
      j--;
    }
    list[j] = a;
  }
  cells[c].visits += count;
  if (count > 20) cells[c].crushed++;
}

__global__ void reorderAgents(const Agent *from, Agent *to, const int *order, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = from[order[i]];
}

__device__ static int addPairForce(const Agent *a, const Agent *b, float2 heading, float2 *f, float *pressure) {
  float dx = a->pos.x - b->pos.x, dy = a->pos.y - b->pos.y;
  float d2 = dx * dx + dy * dy;
  if (d2 > CUTOFF * CUTOFF || d2 < 1e-10f) return 0;
  float d = sqrtf(d2), nx = dx / d, ny = dy / d;
  float overlap = a->radius + b->radius - d;
  /* people mind less what is behind them, and less those of their own group */
  float weight = 0.65f - 0.35f * (heading.x * nx + heading.y * ny);
  if (a->group == b->group) weight *= 0.4f;
  float social = 160.0f * weight * __expf(overlap / 0.3f);
  if (overlap > 0) {
    float push = 3000.0f * overlap;
    float slide = 600.0f * overlap * ((b->vel.x - a->vel.x) * -ny + (b->vel.y - a->vel.y) * nx);
    f->x += push * nx - slide * ny;
    f->y += push * ny + slide * nx;
    *pressure += push;
  }
  f->x += social * nx;
  f->y += social * ny;
  return 1;
}

__device__ static void addWallForce(const Agent *a, const Wall *w, float2 *f, float *pressure) {
  float ex = w->bx - w->ax, ey = w->by - w->ay;
  float t = ((a->pos.x - w->ax) * ex + (a->pos.y - w->ay) * ey) / (ex * ex + ey * ey);
  t = fminf(fmaxf(t, 0.0f), 1.0f);
  float dx = a->pos.x - (w->ax + t * ex), dy = a->pos.y - (w->ay + t * ey);
  float d = sqrtf(dx * dx + dy * dy) + 1e-5f;
  float overlap = a->radius - d;
  float strength = 200.0f * __expf(overlap / 0.2f);
  float push = 5000.0f * fmaxf(overlap, 0.0f);
  strength += push;
  *pressure += push;
  f->x += strength * dx / d;
  f->y += strength * dy / d;
}

__global__ void moveAgents(const Agent *agents, Agent *moved, int n, const Cell *cells, int side, const Wall *walls,
                           Goal *goals) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Agent a = agents[i];
  const Goal *g = &goals[a.goal];
  float gx = g->x - a.pos.x, gy = g->y - a.pos.y;
  float distance = sqrtf(gx * gx + gy * gy) + 1e-6f;
  if (distance < g->radius) {
    /* the route is the agent's own; it turns round only at a dead end */
    uint32_t h = mixBits(a.id * 31u + a.goal);
    int next = a.previousGoal;
    for (int k = 0; k < 4 && next == a.previousGoal; k++) {
      int candidate = g->next[(h + k) & 3];
      if (candidate >= 0) next = candidate;
    }
    atomicAdd(&goals[a.goal].arrivals, 1u);
    a.previousGoal = a.goal;
    a.goal = next;
    gx = goals[next].x - a.pos.x;
    gy = goals[next].y - a.pos.y;
    distance = hypotf(gx, gy);
  }
  float2 heading = make_float2(gx / distance, gy / distance);
  float2 f;
  f.x = a.mass * (a.desiredSpeed * heading.x - a.vel.x) / 0.5f;
  f.y = a.mass * (a.desiredSpeed * heading.y - a.vel.y) / 0.5f;

  float pressure = 0;
  int neighbours = 0;
  int cx = a.cell % side, cy = a.cell / side;
  for (int y = max(cy - 1, 0); y <= min(cy + 1, side - 1); y++) {
    for (int x = max(cx - 1, 0); x <= min(cx + 1, side - 1); x++) {
      const Cell *cell = &cells[y * side + x];
      int end = cell->start + cell->count;
      for (int j = cell->start; j < end; j++)
        if (j != i) neighbours += addPairForce(&a, &agents[j], heading, &f, &pressure);
    }
  }
  const Cell *own = &cells[a.cell];
  for (int w = 0; w < own->wallCount; w++) addWallForce(&a, &walls[own->wallStart + w], &f, &pressure);

  a.vel.x += f.x / a.mass * DT;
  a.vel.y += f.y / a.mass * DT;
  float speed = sqrtf(a.vel.x * a.vel.x + a.vel.y * a.vel.y);
  float brake = fminf(1.0f, 1.3f * a.desiredSpeed / (speed + 1e-6f));
  a.vel.x *= brake;
  a.vel.y *= brake;
  float extent = side * CELL;
  a.pos.x = fminf(fmaxf(a.pos.x + a.vel.x * DT, 0.01f), extent - 0.01f);
  a.pos.y = fminf(fmaxf(a.pos.y + a.vel.y * DT, 0.01f), extent - 0.01f);
  a.pressure = 0.9f * a.pressure + 0.1f * pressure;
  a.neighbours = (uint8_t)min(neighbours, 255);
  a.state = a.pressure > 50.0f ? 1 : speed < 0.1f ? 2 : 0;
  moved[i] = a;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1000000;
  int tiles = 1;
  while (640.0 * (tiles + 1) * (tiles + 1) <= n) tiles++; /* 0.4 to the square metre */
  int side = (int)(tiles * TILE / CELL), numCells = side * side, junctions = tiles + 1;
  std::vector<Goal> goals(junctions * junctions);
  for (int y = 0; y < junctions; y++)
    for (int x = 0; x < junctions; x++) {
      int g = y * junctions + x;
      goals[g] = {x * TILE, y * TILE, 4.0f + (mixBits(g) & 3), {-1, -1, -1, -1}, 0};
      if (x > 0) goals[g].next[0] = g - 1;
      if (y > 0) goals[g].next[1] = g - junctions;
      if (x < tiles) goals[g].next[2] = g + 1;
      if (y < tiles) goals[g].next[3] = g + junctions;
    }

  /* the walls of a building, listed by every cell that is within reach of them */
  std::vector<Cell> cells(numCells);
  std::vector<Wall> walls;
  for (int c = 0; c < numCells; c++) {
    memset(&cells[c], 0, sizeof(Cell));
    cells[c].wallStart = (int)walls.size();
    float x = (c % side + 0.5f) * CELL, y = (c / side + 0.5f) * CELL;
    float mx = (floorf(x / TILE) + 0.5f) * TILE, my = (floorf(y / TILE) + 0.5f) * TILE, h = BUILDING / 2;
    float reach = 1.5f * CELL, rx = fabsf(x - mx), ry = fabsf(y - my);
    if (rx < h + reach && ry < h + reach) {
      if (x < mx - h + reach) walls.push_back({mx - h, my - h, mx - h, my + h});
      if (x > mx + h - reach) walls.push_back({mx + h, my - h, mx + h, my + h});
      if (y < my - h + reach) walls.push_back({mx - h, my - h, mx + h, my - h});
      if (y > my + h - reach) walls.push_back({mx - h, my + h, mx + h, my + h});
    }
    cells[c].wallCount = (int)walls.size() - cells[c].wallStart;
  }

  std::vector<Agent> agents(n);
  for (int i = 0; i < n; i++) {
    Agent *a = &agents[i];
    memset(a, 0, sizeof(*a));
    uint32_t h = mixBits(i * 2u + 1), k = mixBits(h + 77), m = mixBits(k + 5);
    /* on the street along one side of a tile, denser towards the junctions; groups are together */
    uint32_t group = mixBits(i / 3 + 900001u), street = mixBits(group + 3);
    int x = group % tiles, y = (group >> 12) % tiles, across = street & 1;
    float along = (street >> 8) / 16777216.0f, width = 24.0f * ((k >> 8) / 16777216.0f - 0.5f);
    along = TILE * (along + 0.08f * sinf(6.2832f * along)) + 1.5f * ((h & 255) / 256.0f);
    a->pos.x = x * TILE + (across ? fabsf(width) : along);
    a->pos.y = y * TILE + (across ? along : fabsf(width));
    int from = y * junctions + x, to = across ? from + junctions : from + 1, back = (street >> 1) & 1;
    a->goal = back ? from : to;
    a->previousGoal = back ? to : from;
    a->desiredSpeed = 1.0f + 0.6f * ((m & 1023) / 1023.0f);
    a->radius = 0.2f + 0.06f * ((m >> 10 & 1023) / 1023.0f);
    a->mass = 55.0f + 35.0f * (m >> 20) / 4095.0f;
    a->id = i;
    a->group = (short)(i / 3 % 32000);
  }

  Agent *dAgents, *dSorted;
  Cell *dCells;
  Wall *dWalls;
  Goal *dGoals;
  int *dOrder, *dSums;
  int grid = (n + BLOCK - 1) / BLOCK, cellGrid = (numCells + BLOCK - 1) / BLOCK;
  int scanGrid = (numCells + SCAN_BLOCK - 1) / SCAN_BLOCK;
  size_t agentBytes = n * sizeof(Agent), cellBytes = numCells * sizeof(Cell), goalBytes = goals.size() * sizeof(Goal);
  TRY(cudaMalloc((void **)&dAgents, agentBytes));
  TRY(cudaMalloc((void **)&dSorted, agentBytes));
  TRY(cudaMalloc((void **)&dCells, cellBytes));
  TRY(cudaMalloc((void **)&dWalls, walls.size() * sizeof(Wall)));
  TRY(cudaMalloc((void **)&dGoals, goalBytes));
  TRY(cudaMalloc((void **)&dOrder, n * sizeof(int)));
  TRY(cudaMalloc((void **)&dSums, scanGrid * sizeof(int)));
  TRY(cudaMemcpy(dAgents, agents.data(), agentBytes, cudaMemcpyHostToDevice));
  TRY(cudaMemcpy(dCells, cells.data(), cellBytes, cudaMemcpyHostToDevice));
  TRY(cudaMemcpy(dWalls, walls.data(), walls.size() * sizeof(Wall), cudaMemcpyHostToDevice));
  TRY(cudaMemcpy(dGoals, goals.data(), goalBytes, cudaMemcpyHostToDevice));

  const int steps = 40;
  cudaEvent_t start, stop;
  TRY(cudaEventCreate(&start));
  TRY(cudaEventCreate(&stop));
  for (int s = -1; s < steps; s++) {
    if (s == 0) TRY(cudaEventRecord(start));
    clearCells<<<cellGrid, BLOCK>>>(dCells, numCells);
    countAgents<<<grid, BLOCK>>>(dAgents, n, dCells, side);
    scanCells<<<scanGrid, SCAN_BLOCK>>>(dCells, numCells, dSums);
    scanSums<<<1, SCAN_BLOCK>>>(dSums, scanGrid);
    addSums<<<scanGrid, SCAN_BLOCK>>>(dCells, numCells, dSums);
    scatterAgents<<<grid, BLOCK>>>(dAgents, n, dCells, dOrder);
    orderWithinCells<<<cellGrid, BLOCK>>>(dAgents, dCells, numCells, dOrder);
    reorderAgents<<<grid, BLOCK>>>(dAgents, dSorted, dOrder, n);
    moveAgents<<<grid, BLOCK>>>(dSorted, dAgents, n, dCells, side, dWalls, dGoals);
    TRY(cudaGetLastError());
  }
  TRY(cudaEventRecord(stop));
  TRY(cudaEventSynchronize(stop));
  float ms;
  TRY(cudaEventElapsedTime(&ms, start, stop));

  TRY(cudaMemcpy(agents.data(), dAgents, agentBytes, cudaMemcpyDeviceToHost));
  TRY(cudaMemcpy(cells.data(), dCells, cellBytes, cudaMemcpyDeviceToHost));
  TRY(cudaMemcpy(goals.data(), dGoals, goalBytes, cudaMemcpyDeviceToHost));
  uint64_t check = 0;
  for (int i = 0; i < n; i++) {
    const Agent *a = &agents[i];
    uint64_t v = (uint64_t)lrintf(a->pos.x * 1000) * 3 + (uint64_t)lrintf(a->pos.y * 1000) * 5 + a->goal * 7 + a->state;
    check += v * (2 * a->id + 1) + a->neighbours;
  }
  for (int c = 0; c < numCells; c++) check = check * 31 + cells[c].visits + 1000 * cells[c].crushed;
  for (const Goal &g : goals) check = check * 31 + g.arrivals;
  printf("check %llu\ntime_ms %.4f\n", (unsigned long long)check, ms / steps);

  return cudaDeviceReset() != cudaSuccess;
}
