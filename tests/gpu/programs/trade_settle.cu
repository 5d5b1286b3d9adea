// Settlement of a day's trades, one venue after another.
// Every step selects the trades of one venue and adds their cash flow to a
// per-trade ledger; the number of buys and sells is counted as well.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(call)                                                        \
    do {                                                                   \
        cudaError_t err_ = (call);                                         \
        if (err_ != cudaSuccess) {                                         \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__,             \
                    cudaGetErrorString(err_));                             \
            exit(EXIT_FAILURE);                                            \
        }                                                                  \
    } while (0)

constexpr int kVenues = 6;
constexpr int kSteps = 60;

struct Trade {
    double price;
    double quantity;
    double fee;
    uint8_t venue;
    uint8_t isSell;
};

__device__ double cashFlow(const Trade &t, double fxRate)
{
    double gross = t.price * t.quantity * fxRate;
    return t.isSell ? gross - t.fee : -(gross + t.fee);
}

__global__ void settleVenue(const Trade *trades, double *ledger,
                            unsigned int *counts, size_t n, int venue,
                            double fxRate)
{
    size_t stride = (size_t)gridDim.x * blockDim.x;
    unsigned int buys = 0, sells = 0;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        if (trades[i].venue != venue)
            continue;
        ledger[i] += cashFlow(trades[i], fxRate);
        if (trades[i].isSell)
            sells++;
        else
            buys++;
    }
    if (buys)
        atomicAdd(&counts[2 * venue], buys);
    if (sells)
        atomicAdd(&counts[2 * venue + 1], sells);
}

static uint64_t rngState = 88172645463325252ull;
static uint32_t nextRandom()
{
    rngState = rngState * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(rngState >> 33);
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoull(argv[1], nullptr, 10) : 6000000;
    if (n == 0) {
        fprintf(stderr, "usage: %s [trades]\n", argv[0]);
        return 1;
    }

    std::vector<Trade> trades(n);
    for (size_t i = 0; i < n; i++) {
        trades[i].price = 1.0 + (nextRandom() % 500000) * 0.001;
        trades[i].quantity = 1 + nextRandom() % 1000;
        trades[i].fee = 0.05 + (nextRandom() % 100) * 0.01;
        trades[i].venue = nextRandom() % kVenues;
        trades[i].isSell = (nextRandom() >> 7) & 1;
    }

    Trade *dTrades;
    double *dLedger;
    unsigned int *dCounts;
    CHECK(cudaMalloc(&dTrades, n * sizeof(Trade)));
    CHECK(cudaMalloc(&dLedger, n * sizeof(double)));
    CHECK(cudaMalloc(&dCounts, 2 * kVenues * sizeof(unsigned int)));
    CHECK(cudaMemcpy(dTrades, trades.data(), n * sizeof(Trade), cudaMemcpyHostToDevice));
    CHECK(cudaMemset(dLedger, 0, n * sizeof(double)));
    CHECK(cudaMemset(dCounts, 0, 2 * kVenues * sizeof(unsigned int)));

    const int threads = 256;
    const int blocks = 132 * 8;

    settleVenue<<<blocks, threads>>>(dTrades, dLedger, dCounts, n, 0, 1.0);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());

    cudaEvent_t start, stop;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    CHECK(cudaEventRecord(start));
    for (int s = 0; s < kSteps; s++)
        settleVenue<<<blocks, threads>>>(dTrades, dLedger, dCounts, n, s % kVenues, 1.0 + 0.001 * s);
    CHECK(cudaEventRecord(stop));
    CHECK(cudaEventSynchronize(stop));
    CHECK(cudaGetLastError());
    float ms = 0;
    CHECK(cudaEventElapsedTime(&ms, start, stop));

    std::vector<double> ledger(n);
    unsigned int counts[2 * kVenues];
    CHECK(cudaMemcpy(ledger.data(), dLedger, n * sizeof(double), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(counts, dCounts, sizeof(counts), cudaMemcpyDeviceToHost));

    uint64_t check = 0;
    for (size_t i = 0; i < n; i++)
        check += (uint64_t)llround(ledger[i] * 100.0) * (2 * (i % 1021) + 1);
    for (int v = 0; v < 2 * kVenues; v++)
        check = check * 1099511628211ull + counts[v];

    printf("time_ms %f\n", ms / kSteps);
    printf("check %llu\n", (unsigned long long)check);

    CHECK(cudaEventDestroy(start));
    CHECK(cudaEventDestroy(stop));
    CHECK(cudaFree(dTrades));
    CHECK(cudaFree(dLedger));
    CHECK(cudaFree(dCounts));
    return 0;
}
