// Replay of an order book: depth per price level, and orders that grow old.
//
// The depth kernel reads five fields of every order on one side, the aging
// kernel looks at all orders and stores into the few whose time has come. The
// depths are integers, summed over all rounds.
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

struct Order {
  int price; // in ticks
  int quantity;
  int trader;
  char side; // 'B' or 'S'
  char flags;
  long long timestamp; // in microseconds
};

const char EXPIRED = 1;
const char PEGGED = 2;     // follows the middle of the market
const char PERSISTENT = 4; // good till cancelled

const int LEVELS = 4096; // price levels of the book
const int MIDDLE = LEVELS / 2;
const int MAKERS = 32;                 // the first traders are market makers
const long long ROUND = 1000;          // time between two rounds
const long long LIFETIME = 16 * ROUND; // of an order that is not renewed

// What one trader sees of one side: the volume per level without his own orders.
__global__ void depth(const Order *orders, unsigned long long *volume, int n, char side, int viewer) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  const Order &order = orders[i];
  if (order.side != side || (order.flags & EXPIRED) || order.trader == viewer)
    return;
  atomicAdd(&volume[order.price], (unsigned long long)order.quantity);
}

// Orders whose time is up expire, unless they are pegged, persistent, or a market maker's.
__global__ void age(Order *orders, int n, long long now) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  Order &order = orders[i];
  if ((order.flags & EXPIRED) || now - order.timestamp < LIFETIME)
    return;
  if (order.flags & PEGGED) { // one tick closer to the middle, but never across
    int last = order.side == 'B' ? MIDDLE - 1 : MIDDLE;
    if (order.price != last)
      order.price += order.price < last ? 1 : -1;
    order.timestamp = now;
  } else if ((order.flags & PERSISTENT) || order.trader < MAKERS) { // partly filled meanwhile
    order.quantity -= order.quantity / 8;
    order.timestamp = now;
  } else {
    order.flags |= EXPIRED;
  }
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 23;
  const long long start = 1700000000000000;
  std::vector<Order> orders(n);
  for (int i = 0; i < n; ++i) {
    unsigned h = hash(i), g = hash(~i);
    bool buys = h & 1;
    // Most prices are near the middle, at most 63 * 31 + 31 = 1984 ticks away.
    int away = (int)((h >> 1 & 63) * (h >> 7 & 31) + (g >> 24 & 31));
    Order &order = orders[i];
    order.price = buys ? MIDDLE - 1 - away : MIDDLE + away;
    order.quantity = 1 + (h >> 12 & 1023);
    order.trader = (g & 15) == 0 ? (int)(g >> 4 & (MAKERS - 1)) : MAKERS + (int)((g >> 4) % 5000);
    order.side = buys ? 'B' : 'S';
    unsigned kind = h >> 22 & 7; // an eighth each is pegged or persistent
    order.flags = kind == 0 ? PEGGED : kind == 1 ? PERSISTENT : 0;
    // Entered up to 16 rounds before the start, or up to 240 after it.
    order.timestamp = start - LIFETIME + (long long)(hash(h + g) % (256 * ROUND));
  }
  Order *d_orders;
  CHECK(cudaMalloc(&d_orders, n * sizeof(Order)));
  CHECK(cudaMemcpy(d_orders, orders.data(), n * sizeof(Order), cudaMemcpyHostToDevice));
  unsigned long long *d_volume;
  CHECK(cudaMalloc(&d_volume, LEVELS * sizeof(unsigned long long)));
  CHECK(cudaMemset(d_volume, 0, LEVELS * sizeof(unsigned long long)));

  int blocks = (n + 255) / 256;
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    depth<<<blocks, 256>>>(d_orders, d_volume, n, r % 2 ? 'S' : 'B', r % MAKERS);
    age<<<blocks, 256>>>(d_orders, n, start + r * ROUND);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  CHECK(cudaMemcpy(orders.data(), d_orders, n * sizeof(Order), cudaMemcpyDeviceToHost));
  std::vector<unsigned long long> volume(LEVELS);
  CHECK(cudaMemcpy(volume.data(), d_volume, LEVELS * sizeof(unsigned long long), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Order &o : orders)
    check = check * 31 + o.price + 3 * o.quantity + 5 * o.flags + 7 * (unsigned long long)o.timestamp;
  for (unsigned long long v : volume)
    check = check * 31 + v;

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_orders));
  CHECK(cudaFree(d_volume));
}
