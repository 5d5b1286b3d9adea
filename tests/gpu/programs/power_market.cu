// Day-ahead electricity auction: orders of many agents for 24 hours x 16 bidding zones.
// Per (zone,hour) book a price ladder is accumulated, cleared by a block scan, orders
// are filled pro rata at the margin and agents adapt their limit prices in place.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <vector>
#include <cuda_runtime.h>

#define CUCHK(x) do { cudaError_t r = (x); if (r != cudaSuccess) { \
    fprintf(stderr, "%s:%d CUDA error: %s\n", __FILE__, __LINE__, cudaGetErrorString(r)); exit(1); } } while (0)

enum { BUY = 0, SELL = 1 };
enum { NORMAL = 0, BLOCK_ORDER = 1, MUST_RUN = 2 };
static const int N_ORDERS = 4000000;
static const int N_AGENTS = 50000;
static const int N_ZONES = 16;
static const int N_HOURS = 24;
static const int N_BOOKS = N_ZONES * N_HOURS;
static const int LEVELS = 512;               // price ticks of 0.5 EUR starting at -56 EUR

struct Order {
    double value;            // settled cash flow, EUR
    int    agent;
    int    qty;              // kWh
    int    filled;           // kWh
    float  limit;            // EUR/MWh
    float  flexibility;
    short  tick;             // quantised limit
    unsigned char zone, hour;
    char   side, kind;
    char   tag[6];
};

struct Level {
    unsigned long long buy, sell;    // kWh at this tick
    unsigned int nBuy, nSell;
};

struct Book {
    long long volume;        // cleared kWh
    long long imports;       // net import from neighbours, kWh
    float price;
    float prevPrice;
    float buyShare;          // fill share of marginal orders
    float sellShare;
    int   tick;
    int   zone, hour;
};

struct Agent {
    long long cashMilli;     // thousandths of EUR
    long long energy;        // kWh, positive bought
    int   fills;
    float aggressiveness;
    float capital;
    short homeZone;
    char  type, active;      // type: 0 retailer 1 thermal 2 wind 3 trader
};

struct Link { int from, to; int capacity; float loss; };

template <typename T>
T* devAlloc(size_t count, const T* src = nullptr)
{
    T* p;
    CUCHK(cudaMalloc(&p, count * sizeof(T)));
    if (src) CUCHK(cudaMemcpy(p, src, count * sizeof(T), cudaMemcpyHostToDevice));
    else CUCHK(cudaMemset(p, 0, count * sizeof(T)));
    return p;
}

__global__ void clearLadder(Level* lv)
{
    lv[blockIdx.x * LEVELS + threadIdx.x] = Level{0, 0, 0, 0};
}

__global__ void quantise(Order* o, const Agent* agents, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float limit = o[i].limit;
    if (o[i].kind == MUST_RUN) limit = o[i].side == SELL ? -56.0f : 199.5f;
    if (!agents[o[i].agent].active) { o[i].tick = -1; return; }
    int t = (int)((limit + 56.0f) * 2.0f);
    o[i].tick = (short)(t < 0 ? 0 : t >= LEVELS ? LEVELS - 1 : t);
}

__global__ void fillLadder(const Order* o, int n, Level* lv)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int tick = o[i].tick;
        if (tick < 0) continue;
        Level* l = &lv[(o[i].zone * N_HOURS + o[i].hour) * LEVELS + tick];
        if (o[i].side == BUY) {
            atomicAdd(&l->buy, (unsigned long long)o[i].qty);
            atomicAdd(&l->nBuy, 1u);
        } else {
            atomicAdd(&l->sell, (unsigned long long)o[i].qty);
            atomicAdd(&l->nSell, 1u);
        }
    }
}

// one block of LEVELS threads per book: demand(t) = buys at >= t, supply(t) = sells at <= t
__global__ void clearBooks(const Level* lv, Book* books)
{
    __shared__ long long sup[LEVELS], dem[LEVELS];
    __shared__ int best;
    int t = threadIdx.x;
    Book* bk = &books[blockIdx.x];
    const Level* mine = &lv[blockIdx.x * LEVELS + t];
    sup[t] = (long long)mine->sell + (t == 0 && bk->imports > 0 ? bk->imports : 0);
    dem[t] = (long long)mine->buy + (t == LEVELS - 1 && bk->imports < 0 ? -bk->imports : 0);
    if (t == 0) best = LEVELS - 1;
    __syncthreads();
    for (int s = 1; s < LEVELS; s <<= 1) {
        long long a = t >= s ? sup[t - s] : 0;
        long long b = t + s < LEVELS ? dem[t + s] : 0;
        __syncthreads();
        sup[t] += a;
        dem[t] += b;
        __syncthreads();
    }
    if (sup[t] >= dem[t]) atomicMin(&best, t);
    __syncthreads();
    if (t == best) {
        long long below = t > 0 ? sup[t - 1] : 0;                  // sells strictly cheaper
        long long above = t + 1 < LEVELS ? dem[t + 1] : 0;         // buys strictly dearer
        long long vol = min(sup[t], dem[t]), mSell = sup[t] - below, mBuy = dem[t] - above;
        bk->volume = vol; bk->tick = t;
        bk->prevPrice = bk->price;
        bk->price = -56.0f + 0.5f * t;
        bk->sellShare = mSell > 0 ? fminf(fmaxf((float)(vol - below) / (float)mSell, 0.0f), 1.0f) : 0.0f;
        bk->buyShare = mBuy > 0 ? fminf(fmaxf((float)(vol - above) / (float)mBuy, 0.0f), 1.0f) : 0.0f;
    }
}

// grid (links, hours): shift energy from the cheap to the dear zone for the next round
__global__ void couple(Book* books, const Link* links, int nLinks)
{
    int l = blockIdx.x * blockDim.x + threadIdx.x;
    int h = blockIdx.y;
    if (l >= nLinks) return;
    Book* a = &books[links[l].from * N_HOURS + h];
    Book* b = &books[links[l].to * N_HOURS + h];
    float spread = b->price - a->price;
    if (fabsf(spread) < 1.0f) return;
    long long flow = (long long)(links[l].capacity * fminf(fmaxf(spread * 0.05f, -1.0f), 1.0f));
    long long arrive = flow - (long long)(fabsf((float)flow) * links[l].loss);
    atomicAdd((unsigned long long*)&a->imports, (unsigned long long)(-flow));
    atomicAdd((unsigned long long*)&b->imports, (unsigned long long)arrive);
}

__global__ void settle(Order* o, int n, const Book* books, Agent* agents)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || o[i].tick < 0) return;
    Order& ord = o[i];
    const Book& b = books[ord.zone * N_HOURS + ord.hour];
    int sign = ord.side == BUY ? 1 : -1;
    int rel = (ord.tick - b.tick) * sign;       // > 0 in the money
    int filled = 0;
    if (rel > 0) filled = ord.qty;
    else if (rel == 0 && ord.kind != BLOCK_ORDER)
        filled = (int)(ord.qty * (ord.side == BUY ? b.buyShare : b.sellShare));
    ord.filled = filled;
    if (filled == 0) return;
    ord.value -= sign * (double)filled * b.price * 1e-3;
    Agent* a = &agents[ord.agent];
    atomicAdd((unsigned long long*)&a->cashMilli, (unsigned long long)(long long)(-sign * (double)filled * b.price));
    atomicAdd((unsigned long long*)&a->energy, (unsigned long long)(long long)(sign * filled));
    atomicAdd(&a->fills, 1);
}

__global__ void adapt(Order* o, int n, const Book* books, const Agent* agents)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || o[i].kind == MUST_RUN || o[i].tick < 0) return;
    float target = books[o[i].zone * N_HOURS + o[i].hour].price;
    float w = o[i].flexibility * agents[o[i].agent].aggressiveness;
    if (o[i].filled < o[i].qty) o[i].limit += w * (target - o[i].limit);
    else o[i].limit += (o[i].side == BUY ? -0.25f : 0.25f) * w;
}

static uint32_t state = 0x1234567u;
static uint32_t rnd(void) { state ^= state << 13; state ^= state >> 17; state ^= state << 5; return state; }
static float unif(void) { return (rnd() >> 8) / 16777216.0f; }

int main()
{
    std::vector<Order> orders(N_ORDERS);
    std::vector<Agent> agents(N_AGENTS);
    std::vector<Book> books(N_BOOKS);
    std::vector<Link> links;
    for (Agent& a : agents)
        a = Agent{0, 0, 0, 0.2f + 0.8f * unif(), 1e6f * unif(), (short)(rnd() % N_ZONES), (char)(rnd() & 3), (char)(rnd() % 20 != 0)};
    for (Order& o : orders) {
        o = Order{};
        o.agent = (int)(rnd() % N_AGENTS);
        const Agent& a = agents[o.agent];
        o.zone = (unsigned char)(rnd() % 8 ? a.homeZone : (int)(rnd() % N_ZONES));
        o.hour = (unsigned char)(rnd() % N_HOURS);
        o.side = a.type == 0 ? BUY : a.type == 3 ? (char)(rnd() & 1) : SELL;
        o.qty = 100 + (int)(rnd() % 20000) + (o.side == BUY ? 9000 : 0);
        o.limit = (o.side == BUY ? 90.0f : 20.0f) + 60.0f * (unif() + unif() - 0.8f) + (a.type == 2 ? -20.0f : 0.0f) + 2.0f * (o.zone % 5);
        o.flexibility = 0.3f * unif();
        o.kind = (char)(rnd() % 10 == 0 ? MUST_RUN : rnd() % 6 == 0 ? BLOCK_ORDER : NORMAL);
        o.tag[0] = (char)('A' + rnd() % 26);
    }
    for (int b = 0; b < N_BOOKS; ++b) { books[b] = Book{}; books[b].zone = b / N_HOURS; books[b].hour = b % N_HOURS; }
    for (int z = 0; z < N_ZONES; ++z)
        for (int k = 1; k <= 3; k += 2) links.push_back(Link{z, (z + k) % N_ZONES, 200000 + (int)(rnd() % 400000), 0.02f});
    Order* dO = devAlloc(orders.size(), orders.data());
    Agent* dA = devAlloc(agents.size(), agents.data());
    Book* dB = devAlloc(books.size(), books.data());
    Link* dL = devAlloc(links.size(), links.data());
    Level* dLv = devAlloc<Level>((size_t)N_BOOKS * LEVELS);
    cudaEvent_t t0, t1;
    CUCHK(cudaEventCreate(&t0)); CUCHK(cudaEventCreate(&t1));
    const int reps = 24, B = 256, G = (N_ORDERS + B - 1) / B, nL = (int)links.size();
    for (int r = 0; r < reps + 2; ++r) {
        if (r == 2) CUCHK(cudaEventRecord(t0));
        clearLadder<<<N_BOOKS, LEVELS>>>(dLv);
        quantise<<<G, B>>>(dO, dA, N_ORDERS);
        fillLadder<<<1056, B>>>(dO, N_ORDERS, dLv);
        clearBooks<<<N_BOOKS, LEVELS>>>(dLv, dB);
        settle<<<G, B>>>(dO, N_ORDERS, dB, dA);
        couple<<<dim3((nL + 31) / 32, N_HOURS), 32>>>(dB, dL, nL);
        adapt<<<G, B>>>(dO, N_ORDERS, dB, dA);
    }
    CUCHK(cudaEventRecord(t1));
    CUCHK(cudaEventSynchronize(t1));
    CUCHK(cudaGetLastError());
    float ms = 0.0f;
    CUCHK(cudaEventElapsedTime(&ms, t0, t1));

    CUCHK(cudaMemcpy(orders.data(), dO, orders.size() * sizeof(Order), cudaMemcpyDeviceToHost));
    CUCHK(cudaMemcpy(agents.data(), dA, agents.size() * sizeof(Agent), cudaMemcpyDeviceToHost));
    CUCHK(cudaMemcpy(books.data(), dB, books.size() * sizeof(Book), cudaMemcpyDeviceToHost));
    double limit = 0, filled = 0, gross = 0, fills = 0, price = 0, vol = 0;
    for (const Order& o : orders) { limit += o.limit; filled += o.filled; gross += o.value > 0 ? o.value : -o.value; }
    for (const Agent& a : agents) fills += a.fills + 1e-6 * (a.energy > 0 ? a.energy : -a.energy);
    for (const Book& b : books) { price += b.price * (1 + b.hour); vol += (double)b.volume; }
    printf("check limit %.9g\ncheck filled %.9g\ncheck gross %.9g\n", limit, filled, gross);
    printf("check fills %.9g\ncheck price_w %.9g\ncheck volume %.9g\n", fills, price, vol);
    printf("time_ms %.5f\n", ms / reps);
    cudaFree(dO); cudaFree(dA); cudaFree(dB); cudaFree(dL); cudaFree(dLv);
    return 0;
}
