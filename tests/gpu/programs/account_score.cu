// Credit scoring: a batch of requests, each of which names an account by its
// index in the account table; the accounts come in random order.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#define HANDLE_ERROR(err) (HandleError(err, __FILE__, __LINE__))
static void HandleError(cudaError_t err, const char *file, int line)
{
    if (err != cudaSuccess) {
        printf("%s in %s at line %d\n", cudaGetErrorString(err), file, line);
        exit(EXIT_FAILURE);
    }
}

struct Account {
    int32_t id;
    int32_t branch;
    char    holder[24];
    float   balance;
    float   creditLimit;
    float   monthly[10];
    int32_t opened;        // day number
    int32_t lastPayment;   // day number
    float   rate;
    int32_t missed;
    uint32_t flags;
    float   collateral;
    int32_t reserved[2];
};
static_assert(sizeof(Account) == 112, "unexpected size of Account");

__device__ __forceinline__ float creditScore(const Account &a, int today)
{
    float usage = a.balance / (a.creditLimit + 1.0f);
    float age = (today - a.opened) * (1.0f / 365.0f);
    float late = (float)(today - a.lastPayment);
    float s = 600.0f - 180.0f * usage + 12.0f * sqrtf(age) - 0.8f * late;
    s -= 35.0f * a.missed;
    return fminf(fmaxf(s, 300.0f), 850.0f);
}

__global__ void scoreRequests(const Account *accounts, const int *request,
                              float *score, int numRequests, int today)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= numRequests)
        return;
    const Account &acc = accounts[request[r]];
    score[r] = creditScore(acc, today);
}

static inline uint64_t splitmix(uint64_t &x)
{
    uint64_t z = (x += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

static void fillAccounts(Account *acc, int n)
{
    uint64_t seed = 7;
    for (int i = 0; i < n; i++) {
        memset(&acc[i], 0, sizeof(Account));
        uint64_t a = splitmix(seed), b = splitmix(seed);
        acc[i].id = 1000000 + i;
        acc[i].branch = (int)(a % 400);
        snprintf(acc[i].holder, sizeof(acc[i].holder), "H%06d", (int)(b % 1000000));
        acc[i].creditLimit = 500.0f + (float)(a >> 40 & 0x3fff);
        acc[i].balance = acc[i].creditLimit * (float)(b >> 48) / 65536.0f;
        for (int m = 0; m < 10; m++)
            acc[i].monthly[m] = (float)((a >> m) & 0xff);
        acc[i].opened = 1000 + (int)(a >> 20 & 0xfff);
        acc[i].lastPayment = 5900 + (int)(b >> 20 & 0x3f);
        acc[i].rate = 0.01f * (float)(b & 0xf);
        acc[i].missed = (int)(b >> 8 & 3);
        acc[i].flags = (uint32_t)(a >> 8);
        acc[i].collateral = (float)(b >> 30 & 0xffff);
    }
}

int main(int argc, char **argv)
{
    const int numAccounts = argc > 1 ? atoi(argv[1]) : 1500000;
    if (numAccounts < 1) {
        printf("bad number of accounts\n");
        return EXIT_FAILURE;
    }
    const int numRequests = 2 * numAccounts;
    const int steps = 40;

    std::unique_ptr<Account[]> accounts(new Account[numAccounts]);
    fillAccounts(accounts.get(), numAccounts);

    std::vector<int> request(numRequests);
    uint64_t seed = 99;
    for (auto &r : request)
        r = (int)(splitmix(seed) % (uint64_t)numAccounts);

    Account *dAccounts;
    int *dRequest;
    float *dScore;
    HANDLE_ERROR(cudaMalloc(&dAccounts, numAccounts * sizeof(Account)));
    HANDLE_ERROR(cudaMalloc(&dRequest, numRequests * sizeof(int)));
    HANDLE_ERROR(cudaMalloc(&dScore, numRequests * sizeof(float)));
    HANDLE_ERROR(cudaMemcpy(dAccounts, accounts.get(), numAccounts * sizeof(Account), cudaMemcpyHostToDevice));
    HANDLE_ERROR(cudaMemcpy(dRequest, request.data(), numRequests * sizeof(int), cudaMemcpyHostToDevice));

    int threads = 256;
    int blocks = (numRequests + threads - 1) / threads;

    scoreRequests<<<blocks, threads>>>(dAccounts, dRequest, dScore, numRequests, 6000);
    HANDLE_ERROR(cudaDeviceSynchronize());

    cudaEvent_t start, stop;
    HANDLE_ERROR(cudaEventCreate(&start));
    HANDLE_ERROR(cudaEventCreate(&stop));
    HANDLE_ERROR(cudaEventRecord(start, 0));
    for (int s = 0; s < steps; s++)
        scoreRequests<<<blocks, threads>>>(dAccounts, dRequest, dScore, numRequests, 6000 + s);
    HANDLE_ERROR(cudaEventRecord(stop, 0));
    HANDLE_ERROR(cudaEventSynchronize(stop));
    HANDLE_ERROR(cudaGetLastError());
    float ms;
    HANDLE_ERROR(cudaEventElapsedTime(&ms, start, stop));

    std::vector<float> score(numRequests);
    HANDLE_ERROR(cudaMemcpy(score.data(), dScore, numRequests * sizeof(float), cudaMemcpyDeviceToHost));
    uint64_t check = 0;
    for (int i = 0; i < numRequests; i++) {
        uint32_t bits;
        memcpy(&bits, &score[i], 4);
        check += (uint64_t)bits * (uint64_t)(i % 8191 + 1);
    }
    printf("time_ms %f\n", ms / steps);
    printf("check %llu\n", (unsigned long long)check);

    HANDLE_ERROR(cudaFree(dAccounts));
    HANDLE_ERROR(cudaFree(dRequest));
    HANDLE_ERROR(cudaFree(dScore));
    return 0;
}
