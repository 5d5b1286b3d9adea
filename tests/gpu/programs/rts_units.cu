// RTS skirmish simulation.  Lock-step friendly: all game state that influences
// decisions is integer / fixed point (1 tile = 256 units).
//
//   reset_cells -> insert_units -> acquire_and_fire -> fly_projectiles -> steer -> integrate
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>
#include <cuda_runtime.h>

#define CHECK_CUDA(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
    printf("CUDA error %s at %s:%d\n", cudaGetErrorString(e_), __FILE__, __LINE__); exit(1); } } while (0)

const int NUM_UNITS  = 300000;
const int NUM_TEAMS  = 4;
const int NUM_TYPES  = 6;
const int CELL_SHIFT = 10;                 // 4 tiles per cell
const int GRID_DIM   = 256;
const int NUM_CELLS  = GRID_DIM * GRID_DIM;
const int MAP_SIZE   = GRID_DIM << CELL_SHIFT;
const int NUM_TICKS  = 60;

struct Vec2i {
    int x, y;
    __host__ __device__ Vec2i operator+(const Vec2i& o) const { return {x + o.x, y + o.y}; }
    __host__ __device__ Vec2i operator-(const Vec2i& o) const { return {x - o.x, y - o.y}; }
    __host__ __device__ Vec2i& operator+=(const Vec2i& o) { x += o.x; y += o.y; return *this; }
};

enum UnitState : unsigned char { US_MARCH, US_ENGAGE, US_RETREAT };

struct Unit {
    Vec2i pos;
    Vec2i vel;
    Vec2i goal;
    int   hp;
    int   pending_damage;
    int   target;           // unit index or -1
    int   next_in_cell;
    int   deaths;
    int   shots;
    float morale;
    short type;
    short cooldown;
    unsigned char team;
    UnitState     state;
    unsigned char veteran;
    unsigned char selected;
};

struct UnitType {
    int   max_hp;
    int   speed;            // fixed-point units per tick
    int   range;            // fixed-point units
    int   damage;
    short reload;
    short shot_speed;
    unsigned char armour;
    unsigned char splash;
    unsigned char radius_shift;
    unsigned char pad;
};

struct Cell {
    int head;
    int count;
    int team_hp[NUM_TEAMS];
};

struct Projectile {
    Vec2i pos;
    int   target;
    int   travelled;
    short damage;
    short ttl;
    short speed;
    unsigned char active;
    unsigned char team;
};

__constant__ UnitType c_types[NUM_TYPES];

__host__ __device__ inline unsigned wang(unsigned s)
{
    s = (s ^ 61) ^ (s >> 16);
    s *= 9;
    s = s ^ (s >> 4);
    s *= 0x27d4eb2d;
    s = s ^ (s >> 15);
    return s;
}

__device__ inline int cell_of(Vec2i p) { return (p.y >> CELL_SHIFT) * GRID_DIM + (p.x >> CELL_SHIFT); }

// length approximation max + min/2; good enough and purely integer
__device__ inline int approx_len(Vec2i d)
{
    int ax = abs(d.x), ay = abs(d.y);
    return ax > ay ? ax + (ay >> 1) : ay + (ax >> 1);
}

__global__ void reset_cells(Cell* cells)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= NUM_CELLS) return;
    cells[c].head = -1;
    cells[c].count = 0;
    for (int t = 0; t < NUM_TEAMS; ++t) cells[c].team_hp[t] = 0;
}

__global__ void insert_units(Unit* units, Cell* cells, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int c = cell_of(units[i].pos);
    units[i].next_in_cell = atomicExch(&cells[c].head, i);
    atomicAdd(&cells[c].count, 1);
    atomicAdd(&cells[c].team_hp[units[i].team], units[i].hp);
}

__global__ void acquire_and_fire(Unit* units, const Cell* __restrict__ cells, Projectile* shots, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Unit& u = units[i];
    const Vec2i me = u.pos;
    const unsigned char team = u.team;
    const UnitType& ut = c_types[u.type];
    const int cx = me.x >> CELL_SHIFT, cy = me.y >> CELL_SHIFT;

    int best = -1;
    int best_d2 = ut.range * ut.range + 1;
    int friends = 0, enemies = 0;
    for (int dy = -1; dy <= 1; ++dy) {
        for (int dx = -1; dx <= 1; ++dx) {
            int nx = cx + dx, ny = cy + dy;
            if (nx < 0 || ny < 0 || nx >= GRID_DIM || ny >= GRID_DIM) continue;
            const Cell& cell = cells[ny * GRID_DIM + nx];
            if (cell.count == 0) continue;
            for (int t = 0; t < NUM_TEAMS; ++t) {
                if (t == team) friends += cell.team_hp[t];
                else           enemies += cell.team_hp[t];
            }
            for (int j = cell.head; j >= 0; j = units[j].next_in_cell) {
                if (units[j].team == team) continue;
                Vec2i d = units[j].pos - me;
                int d2 = d.x * d.x + d.y * d.y;
                if (d2 < best_d2 || (d2 == best_d2 && j < best)) {
                    best_d2 = d2;
                    best = j;
                }
            }
        }
    }
    u.target = best;
    if (enemies > 4 * friends)  u.state = US_RETREAT;
    else if (best >= 0)         u.state = US_ENGAGE;
    else                        u.state = US_MARCH;
    u.morale = 0.875f * u.morale + 0.125f * ((float)friends / (float)(friends + enemies + 1));

    if (u.cooldown > 0) {
        u.cooldown--;
    } else if (best >= 0 && !shots[i].active) {
        u.cooldown = ut.reload;
        u.shots++;
        Projectile p;
        p.pos = me;
        p.target = best;
        p.travelled = 0;
        p.damage = (short)(ut.damage + u.veteran);
        p.ttl = 20;
        p.speed = ut.shot_speed;
        p.active = 1;
        p.team = team;
        shots[i] = p;
    }
}

__global__ void fly_projectiles(Projectile* __restrict__ shots, Unit* __restrict__ units, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        if (!shots[i].active) continue;
        Projectile& p = shots[i];
        Vec2i d = units[p.target].pos - p.pos;
        int len = approx_len(d);
        if (len <= p.speed) {
            int armour = c_types[units[p.target].type].armour;
            int dmg = p.damage - armour;
            atomicAdd(&units[p.target].pending_damage, dmg > 1 ? dmg : 1);
            p.active = 0;
            p.travelled += len;
            continue;
        }
        p.pos.x += d.x * p.speed / len;
        p.pos.y += d.y * p.speed / len;
        p.travelled += p.speed;
        if (--p.ttl <= 0) p.active = 0;
    }
}

// Separation from units closer than the body radius.
__device__ Vec2i separation(const Unit* units, const Cell* cells, int self, Vec2i me, int radius)
{
    Vec2i push = {0, 0};
    int x0 = max((me.x - radius) >> CELL_SHIFT, 0), x1 = min((me.x + radius) >> CELL_SHIFT, GRID_DIM - 1);
    int y0 = max((me.y - radius) >> CELL_SHIFT, 0), y1 = min((me.y + radius) >> CELL_SHIFT, GRID_DIM - 1);
    for (int y = y0; y <= y1; ++y)
        for (int x = x0; x <= x1; ++x)
            for (int j = cells[y * GRID_DIM + x].head; j >= 0; j = units[j].next_in_cell) {
                if (j == self) continue;
                Vec2i d = me - units[j].pos;
                int len = approx_len(d);
                if (len >= radius) continue;
                int w = radius - len;
                push += Vec2i{d.x * w / (len + 8), d.y * w / (len + 8)};
            }
    return push;
}

__global__ void steer(Unit* units, const Cell* __restrict__ cells, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Unit& u = units[i];
    const UnitType ut = c_types[u.type];

    Vec2i want = u.goal - u.pos;
    if (u.state == US_ENGAGE) {
        Vec2i d = units[u.target].pos - u.pos;
        int len = approx_len(d);
        // keep at two thirds of the weapon range
        if (len * 3 < ut.range * 2) want = Vec2i{-d.x, -d.y};
        else                        want = d;
    } else if (u.state == US_RETREAT) {
        want = Vec2i{u.team & 1 ? MAP_SIZE : 0, u.team & 2 ? MAP_SIZE : 0} - u.pos;
    }
    int len = approx_len(want);
    Vec2i v = {0, 0};
    if (len > 0) {
        int s = min(ut.speed, len);
        v.x = (int)((long long)want.x * s / len);
        v.y = (int)((long long)want.y * s / len);
    }
    Vec2i push = separation(units, cells, i, u.pos, 96 << ut.radius_shift);
    v.x += push.x >> 2;
    v.y += push.y >> 2;
    v.x = max(-2 * ut.speed, min(2 * ut.speed, v.x));
    v.y = max(-2 * ut.speed, min(2 * ut.speed, v.y));
    // inertia
    u.vel.x = (u.vel.x + v.x) / 2;
    u.vel.y = (u.vel.y + v.y) / 2;
}

__global__ void integrate(Unit* units, int n, int tick)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Unit* u = units + i;

    int hp = u->hp - u->pending_damage;
    u->pending_damage = 0;
    if (hp <= 0) {
        // back to the team's quadrant as a fresh recruit
        unsigned h = wang(i * 2u + 77u * (unsigned)tick);
        u->pos.x = (int)(h % (MAP_SIZE / 2)) + ((u->team & 1) ? MAP_SIZE / 2 : 0);
        h = wang(h);
        u->pos.y = (int)(h % (MAP_SIZE / 2)) + ((u->team & 2) ? MAP_SIZE / 2 : 0);
        u->vel = Vec2i{0, 0};
        u->hp = c_types[u->type].max_hp;
        u->deaths++;
        u->veteran = 0;
        u->cooldown = c_types[u->type].reload;
        return;
    }
    u->hp = hp;
    if (u->state == US_RETREAT && hp < c_types[u->type].max_hp) u->hp++;
    if (u->shots % 16 == 15 && u->veteran < 20) u->veteran++;

    Vec2i p = u->pos + u->vel;
    p.x = max(0, min(MAP_SIZE - 1, p.x));
    p.y = max(0, min(MAP_SIZE - 1, p.y));
    u->pos = p;

    Vec2i left = u->goal - p;
    if (approx_len(left) < 512) {
        unsigned h = wang(i ^ (tick << 20));
        u->goal.x = (int)(h % MAP_SIZE);
        u->goal.y = (int)(wang(h) % MAP_SIZE);
    }
}

int main()
{
    UnitType types[NUM_TYPES] = {
        {60, 40, 700, 6, 4, 300, 1, 0, 0, 0},     // rifleman
        {45, 55, 450, 9, 2, 260, 0, 0, 0, 0},     // raider
        {180, 30, 900, 22, 10, 340, 6, 1, 1, 0},  // tank
        {90, 48, 800, 14, 7, 420, 3, 0, 1, 0},    // rocket buggy
        {40, 28, 1000, 30, 16, 200, 0, 1, 0, 0},  // artillery
        {120, 35, 300, 12, 3, 240, 4, 0, 0, 0},   // melee brute
    };
    CHECK_CUDA(cudaMemcpyToSymbol(c_types, types, sizeof(types)));

    std::mt19937 rng(1701);
    std::vector<Unit> units(NUM_UNITS);
    for (int i = 0; i < NUM_UNITS; ++i) {
        Unit u{};
        u.team = (unsigned char)(rng() % NUM_TEAMS);
        u.type = (short)(rng() % NUM_TYPES);
        u.pos.x = (int)(rng() % MAP_SIZE);
        u.pos.y = (int)(rng() % MAP_SIZE);
        u.goal.x = (int)(rng() % MAP_SIZE);
        u.goal.y = (int)(rng() % MAP_SIZE);
        u.hp = types[u.type].max_hp;
        u.target = -1;
        u.next_in_cell = -1;
        u.morale = 0.5f;
        u.cooldown = (short)(rng() % 8);
        u.state = US_MARCH;
        units[i] = u;
    }

    Unit* d_units;
    Cell* d_cells;
    Projectile* d_shots;
    CHECK_CUDA(cudaMalloc(&d_units, sizeof(Unit) * NUM_UNITS));
    CHECK_CUDA(cudaMalloc(&d_cells, sizeof(Cell) * NUM_CELLS));
    CHECK_CUDA(cudaMalloc(&d_shots, sizeof(Projectile) * NUM_UNITS));
    CHECK_CUDA(cudaMemcpy(d_units, units.data(), sizeof(Unit) * NUM_UNITS, cudaMemcpyHostToDevice));
    CHECK_CUDA(cudaMemset(d_shots, 0, sizeof(Projectile) * NUM_UNITS));

    const int threads = 128;
    const int ublocks = (NUM_UNITS + threads - 1) / threads;
    const int cblocks = (NUM_CELLS + threads - 1) / threads;

    cudaEvent_t start, stop;
    CHECK_CUDA(cudaEventCreate(&start));
    CHECK_CUDA(cudaEventCreate(&stop));

    int tick = 0;
    auto run_tick = [&]() {
        reset_cells<<<cblocks, threads>>>(d_cells);
        insert_units<<<ublocks, threads>>>(d_units, d_cells, NUM_UNITS);
        acquire_and_fire<<<ublocks, threads>>>(d_units, d_cells, d_shots, NUM_UNITS);
        fly_projectiles<<<512, 256>>>(d_shots, d_units, NUM_UNITS);
        steer<<<ublocks, threads>>>(d_units, d_cells, NUM_UNITS);
        integrate<<<ublocks, threads>>>(d_units, NUM_UNITS, tick);
        ++tick;
    };

    run_tick();
    CHECK_CUDA(cudaGetLastError());
    CHECK_CUDA(cudaDeviceSynchronize());
    std::vector<Cell> cells(NUM_CELLS);
    CHECK_CUDA(cudaMemcpy(cells.data(), d_cells, sizeof(Cell) * NUM_CELLS, cudaMemcpyDeviceToHost));
    long long counted = 0;
    for (const Cell& c : cells) counted += c.count;
    if (counted != NUM_UNITS) {
        printf("grid lost units: %lld\n", counted);
        return 1;
    }

    CHECK_CUDA(cudaEventRecord(start));
    for (int t = 0; t < NUM_TICKS; ++t) run_tick();
    CHECK_CUDA(cudaEventRecord(stop));
    CHECK_CUDA(cudaEventSynchronize(stop));
    CHECK_CUDA(cudaGetLastError());
    float ms = 0.0f;
    CHECK_CUDA(cudaEventElapsedTime(&ms, start, stop));

    std::vector<Projectile> shots(NUM_UNITS);
    CHECK_CUDA(cudaMemcpy(units.data(), d_units, sizeof(Unit) * NUM_UNITS, cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaMemcpy(shots.data(), d_shots, sizeof(Projectile) * NUM_UNITS, cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaMemcpy(cells.data(), d_cells, sizeof(Cell) * NUM_CELLS, cudaMemcpyDeviceToHost));

    long long hp = 0, deaths = 0, fired = 0, sx = 0, sy = 0, engaged = 0, in_air = 0, travelled = 0, cell_hp = 0;
    double morale = 0.0;
    for (const Unit& u : units) {
        hp += u.hp;
        deaths += u.deaths;
        fired += u.shots;
        sx += u.pos.x;
        sy += u.pos.y;
        engaged += u.state == US_ENGAGE;
        morale += u.morale;
    }
    for (const Projectile& p : shots) {
        in_air += p.active;
        travelled += p.travelled;
    }
    for (const Cell& c : cells)
        for (int t = 0; t < NUM_TEAMS; ++t) cell_hp += (long long)c.team_hp[t] * (t + 1);

    printf("check hp %lld\n", hp);
    printf("check deaths %lld\n", deaths);
    printf("check shots %lld\n", fired);
    printf("check pos_x %lld\n", sx);
    printf("check pos_y %lld\n", sy);
    printf("check engaged %lld\n", engaged);
    printf("check in_air %lld\n", in_air);
    printf("check travelled %lld\n", travelled);
    printf("check cell_hp %lld\n", cell_hp);
    printf("check morale %.3e\n", morale);
    printf("time_ms %.5f\n", ms / NUM_TICKS);

    CHECK_CUDA(cudaFree(d_units));
    CHECK_CUDA(cudaFree(d_cells));
    CHECK_CUDA(cudaFree(d_shots));
    return 0;
}
