// warehouse_bots.cu -- a fleet of robots carrying shelves to picking desks.
//
// Moves are made in two phases: robots claim the cell they want (the highest
// claim wins, claims carry the step number so they need no reset), then winners
// move.  Shelves and charging stations are claimed the same way.
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <vector>
#include <cuda_runtime.h>
using u64 = unsigned long long;
struct Pos { short x, y; };
enum class Task : unsigned char { Idle, ToShelf, ToDesk, Return, ToCharger, Charging };

struct Robot {
    Pos   at, goal;
    Pos   want;             // cell claimed this step, or == at
    int   shelf, station;   // carried or reserved, -1
    float battery, wear;    // battery 0..1
    int   delivered, travelled;
    short waiting;          // steps without a move
    short tries;
    Task  task;
    unsigned char heading, blocked;
};

struct Shelf {
    Pos   home, desk;       // desk: where it is wanted next
    u64   claim;
    float weight;
    int   owner;            // robot, -1 when at home and free
    int   trips;
    unsigned int lines;     // order lines picked
};

struct Station {
    u64 claim;
    Pos at;
    int user, served;
    double energy;
};

struct GridCell {
    u64 claim;
    int occupant;           // robot or -1
    unsigned int visits;
    unsigned char wall, zone;
};

struct World {
    Robot    *robots;
    Shelf    *shelves;
    Station  *stations;
    GridCell *cells;
    int nRobots, shelfCols, stationCols, side;   // shelves and stations form lattices
};

__host__ __device__ inline unsigned scramble(unsigned a, unsigned b)
{
    unsigned h = a * 0xcc9e2d51u + b * 0x1b873593u;
    h ^= h >> 16; h *= 0x85ebca6bu;
    h ^= h >> 13; h *= 0xc2b2ae35u;
    return h ^ (h >> 16);
}

// unique per robot, larger for later steps
__device__ inline u64 ticket(int step, int robot, int nRobots)
{
    unsigned prio = scramble(robot, step) >> 8;
    return ((u64)(step + 1) << 48) | ((u64)prio << 24) | (unsigned)(nRobots - 1 - robot);
}

// a lattice point not far from p
__device__ inline int nearby(Pos p, int side, int cols, unsigned h)
{
    int cx = ((int)p.x * cols / side + (int)(h & 3) + cols - 1) % cols;
    int cy = ((int)p.y * cols / side + (int)(h >> 2 & 3) + cols - 1) % cols;
    return cy * cols + cx;
}

__device__ inline bool same(Pos a, Pos b) { return a.x == b.x && a.y == b.y; }
__device__ inline int cellAt(const World &w, Pos p) { return (int)p.y * w.side + p.x; }

// idle robots bid for a shelf, robots low on battery for a station
__global__ void bid(World w, int step)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= w.nRobots) return;
    Robot &bot = w.robots[r];
    if (bot.task != Task::Idle) return;
    unsigned h = scramble(r * 7 + bot.tries, step / 4);
    if (bot.battery < 0.35f) {
        bot.station = nearby(bot.at, w.side, w.stationCols, h);
        bot.shelf = -1;
        if (w.stations[bot.station].user < 0)
            atomicMax(&w.stations[bot.station].claim, ticket(step, r, w.nRobots));
    } else {
        bot.shelf = nearby(bot.at, w.side, w.shelfCols, h);
        bot.station = -1;
        if (w.shelves[bot.shelf].owner < 0)
            atomicMax(&w.shelves[bot.shelf].claim, ticket(step, r, w.nRobots));
    }
}

__global__ void award(World w, int step)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= w.nRobots) return;
    Robot &bot = w.robots[r];
    if (bot.task != Task::Idle) return;
    u64 mine = ticket(step, r, w.nRobots);
    bool won = bot.station >= 0 ? w.stations[bot.station].claim == mine
                                : w.shelves[bot.shelf].claim == mine;
    if (!won) {
        bot.shelf = bot.station = -1;
        bot.tries++;
        return;
    }
    if (bot.station >= 0) {
        w.stations[bot.station].user = r;
        bot.goal = w.stations[bot.station].at;
        bot.task = Task::ToCharger;
    } else {
        w.shelves[bot.shelf].owner = r;
        bot.goal = w.shelves[bot.shelf].home;
        bot.task = Task::ToShelf;
    }
    bot.tries = 0;
}

__device__ Pos stepTo(const World &w, Pos p, int dir)
{
    if (dir == 0 && p.x + 1 < w.side) p.x++;
    if (dir == 1 && p.y + 1 < w.side) p.y++;
    if (dir == 2 && p.x > 0) p.x--;
    if (dir == 3 && p.y > 0) p.y--;
    return p;
}

__global__ void plan(World w, int step)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= w.nRobots) return;
    Robot *bot = w.robots + r;
    const Pos at = bot->want = bot->at;
    if (bot->task == Task::Idle || bot->task == Task::Charging || same(at, bot->goal)) return;

    int dx = bot->goal.x - at.x, dy = bot->goal.y - at.y;
    int dirX = dx > 0 ? 0 : 2, dirY = dy > 0 ? 1 : 3;
    int first = abs(dx) >= abs(dy) ? dirX : dirY;
    int second = first == dirX ? dirY : dirX;
    if (bot->waiting > 1) {
        // stuck: try another direction, and later any
        int tmp = first; first = second; second = tmp;
        if (bot->waiting > 4) first = scramble(r, step) & 3;
    }
    const int dirs[2] = {first, second};
    for (int k = 0; k < 2; ++k) {
        Pos q = stepTo(w, at, dirs[k]);
        if (same(q, at)) continue;
        const GridCell &c = w.cells[cellAt(w, q)];
        if (c.wall || c.occupant >= 0) continue;
        bot->want = q;
        bot->heading = (unsigned char)dirs[k];
        atomicMax(&w.cells[cellAt(w, q)].claim, ticket(step, r, w.nRobots));
        break;
    }
}

__global__ void move(World w, int step)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= w.nRobots) return;
    Robot bot = w.robots[r];
    if (bot.task == Task::Idle || bot.task == Task::Charging) return;
    int target = cellAt(w, bot.want);
    if (!same(bot.want, bot.at) && w.cells[target].claim == ticket(step, r, w.nRobots)) {
        w.cells[cellAt(w, bot.at)].occupant = -1;
        w.cells[target].occupant = r;
        w.cells[target].visits++;
        bot.at = bot.want;
        bot.travelled++;
        bot.waiting = 0;
        bool loaded = bot.task == Task::ToDesk || bot.task == Task::Return;
        float load = loaded ? w.shelves[bot.shelf].weight : 0.0f;
        bot.battery = fmaxf(0.0f, bot.battery - 0.002f * (1.0f + 0.01f * load));
        bot.wear += 1e-5f * load;
    } else if (!same(bot.at, bot.goal)) {
        bot.waiting++;
        if (bot.blocked < 255) bot.blocked++;
    }
    w.robots[r] = bot;
}

// what happens at the goal; robots stop one cell short when it is taken
__global__ void arrive(World w, int step)
{
    for (int r = blockIdx.x * blockDim.x + threadIdx.x; r < w.nRobots; r += gridDim.x * blockDim.x) {
        Robot &bot = w.robots[r];
        if (bot.task == Task::Idle) continue;
        if (bot.task == Task::Charging) {
            Station &s = w.stations[bot.station];
            bot.battery += 0.02f;
            s.energy += 0.02;
            if (bot.battery < 0.95f) continue;
            s.user = -1;
            s.served++;
            bot.station = -1;
            bot.task = Task::Idle;
            continue;
        }
        int away = abs(bot.at.x - bot.goal.x) + abs(bot.at.y - bot.goal.y);
        if (away > 2 || (away > 0 && bot.waiting <= 2)) continue;
        bot.waiting = 0;
        if (bot.task == Task::ToCharger) {
            bot.task = Task::Charging;
            continue;
        }
        Shelf &s = w.shelves[bot.shelf];
        if (bot.task == Task::ToShelf) {
            bot.task = Task::ToDesk;
            bot.goal = s.desk;
        } else if (bot.task == Task::ToDesk) {
            s.lines += 1 + scramble(r, step) % 5;
            s.weight *= 0.97f;
            bot.task = Task::Return;
            bot.goal = s.home;
            bot.delivered++;
        } else {
            s.trips++;
            s.owner = -1;
            int x = s.home.x + (int)(scramble(bot.shelf, s.trips) % 17) - 8;
            s.desk.x = (short)min(max(x, 0), w.side - 1);
            bot.shelf = -1;
            bot.task = Task::Idle;
        }
    }
}

static void must(cudaError_t e)
{
    if (e != cudaSuccess) { std::cerr << "CUDA: " << cudaGetErrorString(e) << std::endl; std::exit(1); }
}
template <typename T> void put(T *&dst, const std::vector<T> &src)
{
    must(cudaMalloc(&dst, src.size() * sizeof(T)));
    must(cudaMemcpy(dst, src.data(), src.size() * sizeof(T), cudaMemcpyHostToDevice));
}
template <typename T> std::vector<T> fetch(const T *src, int n)
{
    std::vector<T> v(n);
    must(cudaMemcpy(v.data(), src, n * sizeof(T), cudaMemcpyDeviceToHost));
    return v;
}

struct Fleet {
    World w{};
    explicit Fleet(int nRobots)
    {
        w.nRobots = nRobots;
        w.side = 32;
        while (w.side * w.side < 10 * nRobots && w.side < 16000) w.side += 32;
        w.shelfCols = w.stationCols = 4;
        while (w.shelfCols * w.shelfCols < 2 * nRobots) w.shelfCols++;
        while (w.stationCols * w.stationCols < nRobots / 8) w.stationCols++;

        const int side = w.side;
        std::vector<GridCell> cells((size_t)side * side);
        for (int i = 0; i < side * side; ++i) {
            int x = i % side, y = i / side;
            unsigned char pillar = x % 16 == 7 && y % 16 == 7;
            cells[i] = GridCell{0, -1, 0, pillar, (unsigned char)((x / 64 + y / 64) & 7)};
        }
        std::vector<Robot> robots(w.nRobots);
        for (int r = 0; r < w.nRobots; ++r) {
            unsigned c = scramble(r, 99) % (unsigned)(side * side);
            while (cells[c].wall || cells[c].occupant >= 0) c = (c + 1) % (unsigned)(side * side);
            cells[c].occupant = r;
            Robot b{};
            b.at = b.goal = b.want = Pos{(short)(c % side), (short)(c / side)};
            b.shelf = b.station = -1;
            b.battery = 0.3f + 0.65f * (scramble(r, 5) & 1023) / 1024.0f;
            robots[r] = b;
        }
        const int sc = w.shelfCols, cc = w.stationCols;
        std::vector<Shelf> shelves(sc * sc);
        for (int s = 0; s < sc * sc; ++s) {
            Shelf f{};
            short x = (short)((s % sc + 0.5) * side / sc), y = (short)((s / sc + 0.5) * side / sc);
            f.home = Pos{x, y};
            f.desk = Pos{(short)((x + scramble(s, 3) % 9) % side), (short)((y + scramble(s, 4) % 9) % side)};
            f.weight = 20.0f + scramble(s, 6) % 200;
            f.owner = -1;
            shelves[s] = f;
        }
        std::vector<Station> stations(cc * cc);
        for (int s = 0; s < cc * cc; ++s)
            stations[s] = Station{0, Pos{(short)((s % cc + 0.25) * side / cc), (short)((s / cc + 0.25) * side / cc)}, -1, 0, 0.0};
        put(w.robots, robots); put(w.shelves, shelves); put(w.stations, stations); put(w.cells, cells);
    }
    ~Fleet() { cudaFree(w.robots); cudaFree(w.shelves); cudaFree(w.stations); cudaFree(w.cells); }
    void step(int s)
    {
        const int threads = 128, blocks = (w.nRobots + threads - 1) / threads;
        bid<<<blocks, threads>>>(w, s);
        award<<<blocks, threads>>>(w, s);
        plan<<<blocks, threads>>>(w, s);
        move<<<blocks, threads>>>(w, s);
        arrive<<<(blocks + 1) / 2, threads>>>(w, s);
    }
};

static void report(const World &w)
{
    u64 where = 0, trips = 0, lines = 0;
    long long battery = 0, visits = 0, energy = 0;
    for (const Robot &b : fetch(w.robots, w.nRobots)) {
        where = where * 1000003u + (u64)b.at.y * w.side + b.at.x + (u64)b.task * 7 + b.blocked;
        battery += (long long)(b.battery * 1e6f) + (long long)(b.wear * 1e6f) + b.delivered * 13 + b.travelled;
    }
    for (const Shelf &s : fetch(w.shelves, w.shelfCols * w.shelfCols)) {
        trips += s.trips;
        lines += s.lines * 3 + (u64)(s.weight * 100.0f) + s.desk.x;
    }
    for (const Station &s : fetch(w.stations, w.stationCols * w.stationCols)) energy += (long long)(s.energy * 1e4) + s.served;
    for (const GridCell &c : fetch(w.cells, w.side * w.side)) visits += (long long)c.visits * c.visits * (1 + c.zone);
    std::printf("check %llu/%lld/%llu/%llu/%lld/%lld\n", where, battery, trips, lines, energy, visits);
}

int main(int argc, char **argv)
{
    const int robots = argc > 1 ? std::atoi(argv[1]) : 400000;
    if (robots < 1 || robots > 10000000) { std::cerr << "bad number of robots\n"; return 1; }
    const int warmup = 5, steps = 100;
    Fleet fleet(robots);
    cudaEvent_t t0, t1;
    must(cudaEventCreate(&t0)); must(cudaEventCreate(&t1));
    for (int s = 0; s < warmup + steps; ++s) {
        if (s == warmup) must(cudaEventRecord(t0));
        fleet.step(s);
    }
    must(cudaEventRecord(t1));
    must(cudaEventSynchronize(t1));
    must(cudaGetLastError());
    float ms = 0;
    must(cudaEventElapsedTime(&ms, t0, t1));
    report(fleet.w);
    std::printf("time_ms %.5f\n", ms / steps);
    return 0;
}
