// Deposits to accounts: two atomic additions to a random record.
#include <algorithm>
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

struct Account {
  float balance, fees;
  int owner, branch;
};

__global__ void deposit(Account *accounts, const int *number, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int j = number[i];
  atomicAdd(&accounts[j].balance, 5.0f);
  atomicAdd(&accounts[j].fees, 1.0f);
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 23;
  int count = std::max(1, n / 8);
  std::vector<Account> accounts(count);
  std::vector<int> number(n);
  for (int i = 0; i < count; ++i)
    accounts[i] = {(float)(hash(i) & 1023), 0, i, i / 100};
  for (int i = 0; i < n; ++i)
    number[i] = hash(i) % count;
  Account *d_accounts;
  CHECK(cudaMalloc(&d_accounts, count * sizeof(Account)));
  CHECK(cudaMemcpy(d_accounts, accounts.data(), count * sizeof(Account), cudaMemcpyHostToDevice));
  int *d_number;
  CHECK(cudaMalloc(&d_number, n * sizeof(int)));
  CHECK(cudaMemcpy(d_number, number.data(), n * sizeof(int), cudaMemcpyHostToDevice));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    deposit<<<(n + 255) / 256, 256>>>(d_accounts, d_number, n);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  CHECK(cudaMemcpy(accounts.data(), d_accounts, count * sizeof(Account), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Account &a : accounts)
    check = check * 31 + (long long)(a.balance + 3 * a.fees) + a.owner;

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_accounts));
  CHECK(cudaFree(d_number));
}
