// A query: filter, hash join, sums by group.
//
// The filter on the date drops three tuples of four, so that the other fields
// are read by a few lanes of a warp only. The table is chained: heads of the
// chains, and slots at random places.
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

struct Slot {
  unsigned key;
  int payload;
  unsigned next;
  int tag;
};

struct Tuple {
  unsigned key;
  int quantity;
  int price;
  int date;
  char status;
  char mode;
  short region;
};

struct Group {
  unsigned long long revenue;
  int quantity;
  int orders;
};

const unsigned NONE = 0xffffffffu;

// The chain of a key, of 2^bits.
__host__ __device__ unsigned bucket(unsigned key, int bits) { return key * 2654435769u >> (32 - bits); }

__global__ void query(const Tuple *tuples, const unsigned *heads, const Slot *slots, Group *groups, int n, int bits,
                      int firstDate, int lastDate, int without) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  if (tuples[i].date < firstDate || tuples[i].date > lastDate)
    return;
  if (tuples[i].status != 'F' || tuples[i].region >= 40)
    return;
  unsigned key = tuples[i].key;
  for (unsigned s = heads[bucket(key, bits)]; s != NONE; s = slots[s].next) {
    if (slots[s].key != key)
      continue;
    if (slots[s].tag != without) {
      int group = slots[s].payload, quantity = tuples[i].quantity;
      atomicAdd(&groups[group].revenue, (unsigned long long)quantity * tuples[i].price);
      atomicAdd(&groups[group].quantity, quantity);
      atomicAdd(&groups[group].orders, 1);
    }
    break;
  }
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 24;
  int count = n / 4 + 1, bits = 1;
  while (1 << bits < count)
    ++bits;
  const int groupCount = 4096;
  std::vector<unsigned> heads((size_t)1 << bits, NONE);
  std::vector<Slot> slots(count);
  for (int i = 0; i < count; ++i) {
    unsigned key = hash(i), h = hash(~i), b = bucket(key, bits);
    slots[i] = {key, (int)(h % groupCount), heads[b], (int)(h >> 30)};
    heads[b] = i;
  }
  std::vector<Tuple> tuples(n);
  for (int i = 0; i < n; ++i) {
    unsigned h = hash(i + 0x40000000), other = hash(h);
    tuples[i] = {hash(other % (count + count / 2)), // two of three are in the table
                 (int)(1 + h % 50),
                 (int)(100 + (h >> 8) % 10000),
                 (int)(other >> 20) % 2400,
                 h >> 7 & 1 ? 'F' : 'O',
                 (char)('A' + (h >> 3) % 7),
                 (short)((h >> 16) % 50)};
  }
  std::vector<Group> groups(groupCount);
  for (int g = 0; g < groupCount; ++g)
    groups[g] = {0, 0, 0};
  Tuple *d_tuples;
  CHECK(cudaMalloc(&d_tuples, n * sizeof(Tuple)));
  CHECK(cudaMemcpy(d_tuples, tuples.data(), n * sizeof(Tuple), cudaMemcpyHostToDevice));
  unsigned *d_heads;
  CHECK(cudaMalloc(&d_heads, heads.size() * sizeof(unsigned)));
  CHECK(cudaMemcpy(d_heads, heads.data(), heads.size() * sizeof(unsigned), cudaMemcpyHostToDevice));
  Slot *d_slots;
  CHECK(cudaMalloc(&d_slots, count * sizeof(Slot)));
  CHECK(cudaMemcpy(d_slots, slots.data(), count * sizeof(Slot), cudaMemcpyHostToDevice));
  Group *d_groups;
  CHECK(cudaMalloc(&d_groups, groupCount * sizeof(Group)));
  CHECK(cudaMemcpy(d_groups, groups.data(), groupCount * sizeof(Group), cudaMemcpyHostToDevice));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    query<<<(n + 255) / 256, 256>>>(d_tuples, d_heads, d_slots, d_groups, n, bits, 600, 1199, 3);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  CHECK(cudaMemcpy(groups.data(), d_groups, groupCount * sizeof(Group), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Group &g : groups)
    check = check * 31 + g.revenue + 3 * g.quantity + 5 * g.orders;

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_tuples));
  CHECK(cudaFree(d_heads));
  CHECK(cudaFree(d_slots));
  CHECK(cudaFree(d_groups));
}
