// Sorts ledger entries by a key with a bitonic network, records and all, then
// runs a balance along each page of the sorted ledger (a scan in steps).
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define CK(x) do { cudaError_t s_ = (x); if (s_ != cudaSuccess) { \
  fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(s_)); exit(1); } } while (0)

enum { PAGE = 1024 };

struct Entry {
  unsigned key;
  unsigned account;
  long long amount;
  long long balance;
  int branch;
  short kind;
  short status;
};

struct Pass {
  unsigned n;
  unsigned size;    // of the runs this pass merges
  unsigned stride;  // from an entry to its partner
  unsigned salt;
};

__host__ __device__ inline unsigned mix(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

__device__ inline bool after(const Entry& a, const Entry& b) {
  return a.key > b.key || (a.key == b.key && a.account > b.account);
}

__global__ void new_keys(Entry* entries, Pass pass) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < pass.n)
    entries[i].key = mix(entries[i].account + pass.salt) >> 8;
}

// Whole records of a page in shared memory: all passes with strides below a page.
__global__ void sort_page(Entry* entries, Pass pass) {
  __shared__ Entry page[PAGE];
  unsigned base = blockIdx.x * PAGE, t = threadIdx.x;
  page[t] = entries[base + t];
  page[t + PAGE / 2] = entries[base + t + PAGE / 2];
  // From the first pass on, or the tail of a bigger merge.
  unsigned first = pass.size > PAGE ? pass.size : 2;
  for (unsigned size = first; size <= pass.size; size *= 2)
    for (unsigned stride = size > PAGE ? PAGE / 2 : size / 2; stride > 0; stride /= 2) {
      __syncthreads();
      unsigned a = 2 * t - (t & (stride - 1)), b = a + stride;
      bool up = ((base + a) & size) == 0;
      if (after(page[a], page[b]) == up) {
        Entry e = page[a];
        page[a] = page[b];
        page[b] = e;
      }
    }
  __syncthreads();
  entries[base + t] = page[t];
  entries[base + t + PAGE / 2] = page[t + PAGE / 2];
}

__global__ void exchange(Entry* entries, Pass pass) {
  unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= pass.n / 2)
    return;
  unsigned a = 2 * t - (t & (pass.stride - 1)), b = a + pass.stride;
  bool up = (a & pass.size) == 0;
  unsigned ka = entries[a].key, kb = entries[b].key;
  if (ka < kb ? !up : ka > kb ? up : false) {
    Entry e = entries[a];
    entries[a] = entries[b];
    entries[b] = e;
  } else if (ka == kb && (entries[a].account > entries[b].account) == up) {
    Entry e = entries[a];
    entries[a] = entries[b];
    entries[b] = e;
  }
}

// Running balance of a page; debits count against it.
__global__ void balance_page(Entry* entries, Pass pass) {
  __shared__ long long sums[2][PAGE];
  unsigned i = blockIdx.x * PAGE + threadIdx.x;
  int from = 0;
  bool in = i < pass.n;
  sums[0][threadIdx.x] = in ? (entries[i].kind & 1 ? -entries[i].amount : entries[i].amount) : 0;
  for (unsigned stride = 1; stride < PAGE; stride *= 2) {
    __syncthreads();
    long long s = sums[from][threadIdx.x];
    if (threadIdx.x >= stride)
      s += sums[from][threadIdx.x - stride];
    sums[1 - from][threadIdx.x] = s;
    from = 1 - from;
  }
  if (in) {
    entries[i].balance = sums[from][threadIdx.x];
    entries[i].status = sums[from][threadIdx.x] < 0;
  }
}

static void sort_and_balance(Entry* d_entries, unsigned n, unsigned round) {
  Pass pass;
  pass.n = n;
  pass.salt = round * 7919;
  pass.size = PAGE;
  pass.stride = 0;
  new_keys<<<(n + 255) / 256, 256>>>(d_entries, pass);
  sort_page<<<n / PAGE, PAGE / 2>>>(d_entries, pass);
  for (pass.size = 2 * PAGE; pass.size <= n; pass.size *= 2) {
    for (pass.stride = pass.size / 2; pass.stride >= PAGE; pass.stride /= 2)
      exchange<<<(n / 2 + 255) / 256, 256>>>(d_entries, pass);
    sort_page<<<n / PAGE, PAGE / 2>>>(d_entries, pass);
  }
  balance_page<<<n / PAGE, PAGE>>>(d_entries, pass);
}

int main(int argc, char** argv) {
  unsigned wanted = argc > 1 ? (unsigned)atoi(argv[1]) : 1u << 21;
  unsigned n = 2 * PAGE;
  while (2 * n <= wanted)
    n *= 2;
  std::vector<Entry> entries(n);
  for (unsigned i = 0; i < n; i++) {
    unsigned h = mix(i + 1);
    entries[i].key = 0;
    entries[i].account = i * 3u;
    entries[i].amount = 1 + h % 100000;
    entries[i].balance = 0;
    entries[i].branch = (int)(h >> 17 & 511);
    entries[i].kind = (short)(h >> 26 & 7);
    entries[i].status = 0;
  }
  Entry* d_entries;
  CK(cudaMalloc(&d_entries, n * sizeof(Entry)));
  CK(cudaMemcpy(d_entries, entries.data(), n * sizeof(Entry), cudaMemcpyHostToDevice));

  cudaEvent_t begin, end;
  CK(cudaEventCreate(&begin));
  CK(cudaEventCreate(&end));
  const unsigned rounds = 20;
  for (unsigned r = 0; r <= rounds; r++) {
    if (r == 1)
      CK(cudaEventRecord(begin));
    sort_and_balance(d_entries, n, r);
  }
  CK(cudaGetLastError());
  CK(cudaEventRecord(end));
  CK(cudaEventSynchronize(end));

  CK(cudaMemcpy(entries.data(), d_entries, n * sizeof(Entry), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  unsigned disorder = 0;
  for (unsigned i = 0; i < n; i++) {
    const Entry& e = entries[i];
    disorder += i > 0 && entries[i - 1].key > e.key;
    check = check * 31 + e.key + 3ull * e.account + 5 * e.balance + 7 * e.branch + e.status;
  }
  if (disorder)
    fprintf(stderr, "%u entries out of order\n", disorder);
  float ms;
  CK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / rounds);
  CK(cudaFree(d_entries));
  return disorder != 0;
}
