// Airport baggage handling: discrete-time simulation of an individual carrier
// system (ICS).  Every bag rides a tray over a network of conveyor segments and
// is routed towards the make-up chute of its flight.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>
#include <cuda_runtime.h>

#define CUDA_CHECK(call)                                                        \
    do {                                                                        \
        cudaError_t err_ = (call);                                              \
        if (err_ != cudaSuccess) {                                              \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__,                  \
                    cudaGetErrorString(err_));                                  \
            exit(EXIT_FAILURE);                                                 \
        }                                                                       \
    } while (0)

static const int GRID_W     = 256;
static const int GRID_H     = 256;
static const int NUM_NODES  = GRID_W * GRID_H;
static const int NUM_CHUTES = 64;
static const int NUM_FLIGHT = 480;
static const int NUM_BAGS   = 1000000;
static const int NUM_STEPS  = 80;

enum BagState : unsigned char { BAG_MOVING = 0, BAG_SCREENING = 1, BAG_DELIVERED = 2, BAG_HELD = 3 };
enum NodeKind : unsigned char { NODE_BELT = 0, NODE_DIVERTER = 1, NODE_SCREENER = 2, NODE_CHUTE = 3 };

struct Bag {
    int   id;
    int   flight;
    int   node;            // segment the tray is on
    int   dest;            // chute index
    float progress_m;      // travelled on the current segment
    float weight_kg;
    float dims_cm[3];
    float dwell_s;         // remaining screening time
    float total_s;         // time in system
    int   hops;
    int   trips;
    short priority;
    unsigned char state;
    unsigned char screened;
};

struct ConveyorNode {
    short x, y;
    float length_m;
    float base_speed;
    float cur_speed;
    int   load;
    int   capacity;
    int   weight_dg;       // load in units of 100 g
    float delay_ema;
    int   peak_load;
    unsigned char kind;
    unsigned char jammed;
    short chute;           // chute index or -1
};

struct Flight {
    int   chute;
    float departure_s;
    int   loaded;
    int   missed;
    int   hops_total;
    unsigned short carrier;
    unsigned char  closed;
    unsigned char  intl;
};

__host__ __device__ inline uint32_t mix32(uint32_t x)
{
    x ^= x >> 16; x *= 0x7feb352dU;
    x ^= x >> 15; x *= 0x846ca68bU;
    x ^= x >> 16;
    return x;
}

// ---------------------------------------------------------------------------
__global__ void resetNodeLoad(ConveyorNode* nodes, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    nodes[i].load = 0;
    nodes[i].weight_dg = 0;
}

__global__ void countNodeLoad(const Bag* __restrict__ bags, ConveyorNode* nodes, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (bags[i].state == BAG_DELIVERED) return;
    int nd = bags[i].node;
    atomicAdd(&nodes[nd].load, 1);
    atomicAdd(&nodes[nd].weight_dg, (int)(bags[i].weight_kg * 10.0f));
}

__device__ float speedFactor(int load, int capacity)
{
    if (load * 2 <= capacity)      return 1.0f;
    if (load <= capacity)          return 0.75f;
    if (load <= 2 * capacity)      return 0.5f;
    return 0.25f;
}

__global__ void updateNodeSpeed(ConveyorNode* nodes, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    ConveyorNode& nd = nodes[i];
    float f = speedFactor(nd.load, nd.capacity);
    nd.jammed = (nd.load > 3 * nd.capacity) ? 1 : 0;
    nd.cur_speed = nd.base_speed * f;
    if (nd.load > nd.peak_load) nd.peak_load = nd.load;
    float t = nd.length_m / nd.cur_speed;
    nd.delay_ema = 0.875f * nd.delay_ema + 0.125f * t;
}

// Move every tray by one time step.  A bag may pass over several short segments.
__global__ void advanceBags(Bag* bags, const ConveyorNode* __restrict__ nodes,
                            const uint16_t* __restrict__ nextHop,
                            Flight* flights, int n, float dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;

    Bag& b = bags[i];
    unsigned char st = b.state;
    if (st == BAG_DELIVERED || st == BAG_HELD) return;

    b.total_s += dt;
    if (st == BAG_SCREENING) {
        b.dwell_s -= dt;
        if (b.dwell_s <= 0.0f) {
            b.state = BAG_MOVING;
            b.screened = 1;
        }
        return;
    }

    int   node = b.node;
    float pos  = b.progress_m + nodes[node].cur_speed * dt;
    int   hops = 0;
    while (hops < 4 && pos >= nodes[node].length_m) {
        pos -= nodes[node].length_m;
        if (nodes[node].kind == NODE_CHUTE && nodes[node].chute == b.dest) {
            b.state = BAG_DELIVERED;
            atomicAdd(&flights[b.flight].hops_total, b.hops + hops);
            break;
        }
        node = nextHop[node * NUM_CHUTES + b.dest];
        ++hops;
        if (nodes[node].kind == NODE_SCREENER && !b.screened) {
            b.state = BAG_SCREENING;
            b.dwell_s = 1.0f + (float)(mix32(b.id * 31u + b.trips) & 3u);
            pos = 0.0f;
            break;
        }
    }
    b.progress_m = pos;
    if (hops > 0) {
        b.node = node;
        b.hops += hops;
    }
}

// Loading / missed bookkeeping, then the tray is reused for a new bag.
__global__ void recycleBags(Bag* bags, Flight* flights, int n, float now)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (bags[i].state != BAG_DELIVERED) return;

    Bag b = bags[i];
    Flight* f = &flights[b.flight];
    if (now <= f->departure_s)
        atomicAdd(&f->loaded, 1);
    else
        atomicAdd(&f->missed, 1);

    uint32_t h = mix32((uint32_t)b.id * 2654435761u + (uint32_t)b.trips + 1u);
    b.trips += 1;
    b.flight = (int)(h % (uint32_t)NUM_FLIGHT);
    b.dest = flights[b.flight].chute;
    b.progress_m = 0.0f;
    b.total_s = 0.0f;
    b.hops = 0;
    b.screened = 0;
    b.state = BAG_MOVING;
    bags[i] = b;
}

__global__ void closeFlights(Flight* flights, int n, float now)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < n && !flights[i].closed && now > flights[i].departure_s)
        flights[i].closed = 1;
}

// ---------------------------------------------------------------------------
static void buildNetwork(std::vector<ConveyorNode>& nodes, std::vector<uint16_t>& hop)
{
    std::mt19937 rng(20240117u);
    nodes.resize(NUM_NODES);
    for (int y = 0; y < GRID_H; ++y)
        for (int x = 0; x < GRID_W; ++x) {
            ConveyorNode& n = nodes[y * GRID_W + x];
            n.x = (short)x;
            n.y = (short)y;
            n.length_m = 2.0f + 0.5f * (float)(rng() % 12);
            n.base_speed = 3.0f + 0.125f * (float)(rng() % 24);
            n.cur_speed = n.base_speed;
            n.load = 0;
            n.capacity = 12 + (int)(rng() % 20);
            n.weight_dg = 0;
            n.delay_ema = 0.0f;
            n.peak_load = 0;
            n.jammed = 0;
            n.chute = -1;
            uint32_t k = rng() % 100;
            n.kind = k < 6 ? NODE_SCREENER : (k < 30 ? NODE_DIVERTER : NODE_BELT);
        }
    int cx[NUM_CHUTES], cy[NUM_CHUTES];
    for (int c = 0; c < NUM_CHUTES; ++c) {
        cx[c] = (c % 8) * 32 + 8 + (int)(rng() % 16);
        cy[c] = (c / 8) * 32 + 8 + (int)(rng() % 16);
        ConveyorNode& n = nodes[cy[c] * GRID_W + cx[c]];
        n.kind = NODE_CHUTE;
        n.chute = (short)c;
        n.capacity = 400;
    }
    hop.resize((size_t)NUM_NODES * NUM_CHUTES);
    for (int i = 0; i < NUM_NODES; ++i)
        for (int c = 0; c < NUM_CHUTES; ++c) {
            int x = i % GRID_W, y = i / GRID_W;
            int dx = cx[c] - x, dy = cy[c] - y;
            bool horizontal = (dy == 0) || (dx != 0 && ((i ^ c) & 1));
            if (dx == 0 && dy == 0) { /* at the chute */ }
            else if (horizontal) x += dx > 0 ? 1 : -1;
            else                 y += dy > 0 ? 1 : -1;
            hop[(size_t)i * NUM_CHUTES + c] = (uint16_t)(y * GRID_W + x);
        }
}

int main()
{
    std::vector<ConveyorNode> nodes;
    std::vector<uint16_t> hop;
    buildNetwork(nodes, hop);

    std::mt19937 rng(7u);
    std::vector<Flight> flights(NUM_FLIGHT);
    for (int f = 0; f < NUM_FLIGHT; ++f) {
        flights[f].chute = (int)(rng() % NUM_CHUTES);
        flights[f].departure_s = 20.5f + (float)(rng() % 120);
        flights[f].loaded = flights[f].missed = flights[f].hops_total = 0;
        flights[f].carrier = (unsigned short)(rng() % 60);
        flights[f].closed = 0;
        flights[f].intl = (unsigned char)(rng() & 1);
    }
    std::vector<Bag> bags(NUM_BAGS);
    for (int i = 0; i < NUM_BAGS; ++i) {
        Bag& b = bags[i];
        b.id = i;
        b.flight = (int)(rng() % NUM_FLIGHT);
        b.dest = flights[b.flight].chute;
        if (rng() & 1) {
            // checked in near its own pier
            int x = (b.dest % 8) * 32 + (int)(rng() % 32);
            int y = (b.dest / 8) * 32 + (int)(rng() % 32);
            b.node = y * GRID_W + x;
        } else {
            b.node = (int)(rng() % NUM_NODES);
        }
        b.progress_m = 0.125f * (float)(rng() % 16);
        b.weight_kg = 5.0f + 0.25f * (float)(rng() % 100);
        b.dims_cm[0] = 40.0f + (float)(rng() % 50);
        b.dims_cm[1] = 30.0f + (float)(rng() % 30);
        b.dims_cm[2] = 15.0f + (float)(rng() % 25);
        b.dwell_s = 0.0f;
        b.total_s = 0.0f;
        b.hops = 0;
        b.trips = 0;
        b.priority = (short)(rng() % 4);
        b.state = (rng() % 50 == 0) ? BAG_HELD : BAG_MOVING;
        b.screened = (rng() % 3 == 0) ? 1 : 0;
    }

    Bag* dBags;
    ConveyorNode* dNodes;
    Flight* dFlights;
    uint16_t* dHop;
    CUDA_CHECK(cudaMalloc((void**)&dBags, NUM_BAGS * sizeof(Bag)));
    CUDA_CHECK(cudaMalloc((void**)&dNodes, NUM_NODES * sizeof(ConveyorNode)));
    CUDA_CHECK(cudaMalloc((void**)&dFlights, NUM_FLIGHT * sizeof(Flight)));
    CUDA_CHECK(cudaMalloc((void**)&dHop, hop.size() * sizeof(uint16_t)));
    CUDA_CHECK(cudaMemcpy(dBags, bags.data(), NUM_BAGS * sizeof(Bag), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(dNodes, nodes.data(), NUM_NODES * sizeof(ConveyorNode), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(dFlights, flights.data(), NUM_FLIGHT * sizeof(Flight), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(dHop, hop.data(), hop.size() * sizeof(uint16_t), cudaMemcpyHostToDevice));

    const int TB = 256;
    const int gBags = (NUM_BAGS + TB - 1) / TB;
    const int gNodes = (NUM_NODES + TB - 1) / TB;
    float now = 0.0f;
    const float dt = 1.0f;

    auto step = [&]() {
        now += dt;
        resetNodeLoad<<<gNodes, TB>>>(dNodes, NUM_NODES);
        countNodeLoad<<<gBags, TB>>>(dBags, dNodes, NUM_BAGS);
        updateNodeSpeed<<<gNodes, TB>>>(dNodes, NUM_NODES);
        advanceBags<<<gBags, TB>>>(dBags, dNodes, dHop, dFlights, NUM_BAGS, dt);
        recycleBags<<<gBags, TB>>>(dBags, dFlights, NUM_BAGS, now);
        closeFlights<<<(NUM_FLIGHT + 127) / 128, 128>>>(dFlights, NUM_FLIGHT, now);
    };

    step();   // warm-up
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
    {
        // every tray that is not delivered must be counted exactly once
        std::vector<ConveyorNode> tmp(NUM_NODES);
        CUDA_CHECK(cudaMemcpy(tmp.data(), dNodes, NUM_NODES * sizeof(ConveyorNode), cudaMemcpyDeviceToHost));
        long long total = 0;
        for (const auto& n : tmp) total += n.load;
        if (total != NUM_BAGS) {
            fprintf(stderr, "load mismatch: %lld\n", total);
            return 1;
        }
    }

    cudaEvent_t e0, e1;
    CUDA_CHECK(cudaEventCreate(&e0));
    CUDA_CHECK(cudaEventCreate(&e1));
    CUDA_CHECK(cudaEventRecord(e0));
    for (int s = 0; s < NUM_STEPS; ++s) step();
    CUDA_CHECK(cudaEventRecord(e1));
    CUDA_CHECK(cudaEventSynchronize(e1));
    CUDA_CHECK(cudaGetLastError());
    float ms = 0.0f;
    CUDA_CHECK(cudaEventElapsedTime(&ms, e0, e1));

    CUDA_CHECK(cudaMemcpy(bags.data(), dBags, NUM_BAGS * sizeof(Bag), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(nodes.data(), dNodes, NUM_NODES * sizeof(ConveyorNode), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(flights.data(), dFlights, NUM_FLIGHT * sizeof(Flight), cudaMemcpyDeviceToHost));

    long long loaded = 0, missed = 0, hopsDone = 0, closed = 0, hopsOpen = 0, screened = 0, peak = 0;
    double ema = 0.0, timeInSystem = 0.0;
    for (const Flight& f : flights) {
        loaded += f.loaded; missed += f.missed; hopsDone += f.hops_total; closed += f.closed;
    }
    for (const Bag& b : bags) { hopsOpen += b.hops; screened += b.screened; timeInSystem += b.total_s; }
    for (const ConveyorNode& n : nodes) { ema += n.delay_ema; peak += n.peak_load; }

    printf("check loaded %lld\n", loaded);
    printf("check missed %lld\n", missed);
    printf("check hops_delivered %lld\n", hopsDone);
    printf("check hops_open %lld\n", hopsOpen);
    printf("check screened %lld\n", screened);
    printf("check closed_flights %lld\n", closed);
    printf("check peak_load %lld\n", peak);
    printf("check time_in_system %.6e\n", timeInSystem);
    printf("check delay_ema %.3e\n", ema);
    printf("time_ms %.5f\n", ms / NUM_STEPS);

    cudaFree(dBags); cudaFree(dNodes); cudaFree(dFlights); cudaFree(dHop);
    cudaEventDestroy(e0); cudaEventDestroy(e1);
    return 0;
}
