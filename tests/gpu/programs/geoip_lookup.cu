// Looks up IPv4 addresses in a table of address ranges sorted by first
// address (binary search), and counts the hits per country.
//   usage: geoip_lookup [number_of_ranges]
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <vector>
#include <cuda_runtime.h>

static inline void gpuAssert(cudaError_t code, const char *file, int line)
{
    if (code != cudaSuccess) {
        std::cerr << "GPUassert: " << cudaGetErrorString(code) << " " << file << ":" << line << std::endl;
        std::exit(code);
    }
}
#define gpuErrchk(ans) gpuAssert((ans), __FILE__, __LINE__)

#define NUM_COUNTRIES 256

struct IpRange {
    uint32_t first;
    uint32_t last;
    uint32_t country;
    uint32_t asn;
    float latitude;
    float longitude;
};

struct Location {
    int rangeIndex; // -1 if not in the table
    uint32_t asn;
    float latitude;
    float longitude;
};

// index of the last range whose first address is <= ip, or -1
__device__ int findRange(const IpRange *table, int n, uint32_t ip)
{
    int lo = 0, hi = n;
    while (lo < hi) {
        int mid = (lo + hi) >> 1;
        if (table[mid].first <= ip)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo - 1;
}

__global__ void lookup(const IpRange *table, int n, const uint32_t *queries, Location *result, int numQueries)
{
    int stride = blockDim.x * gridDim.x;
    for (int q = blockIdx.x * blockDim.x + threadIdx.x; q < numQueries; q += stride) {
        uint32_t ip = queries[q];
        int idx = findRange(table, n, ip);
        Location loc = {-1, 0u, 0.0f, 0.0f};
        if (idx >= 0 && ip <= table[idx].last) {
            loc.rangeIndex = idx;
            loc.asn = table[idx].asn;
            loc.latitude = table[idx].latitude;
            loc.longitude = table[idx].longitude;
        }
        result[q] = loc;
    }
}

__global__ void countCountries(const IpRange *table, const Location *result, int numQueries, unsigned int *counts)
{
    __shared__ unsigned int local[NUM_COUNTRIES];
    for (int i = threadIdx.x; i < NUM_COUNTRIES; i += blockDim.x) local[i] = 0;
    __syncthreads();
    int stride = blockDim.x * gridDim.x;
    for (int q = blockIdx.x * blockDim.x + threadIdx.x; q < numQueries; q += stride) {
        int r = result[q].rangeIndex;
        if (r >= 0) atomicAdd(&local[table[r].country], 1u);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < NUM_COUNTRIES; i += blockDim.x)
        if (local[i]) atomicAdd(&counts[i], local[i]);
}

static uint64_t splitmix(uint64_t &s)
{
    uint64_t z = (s += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? std::atoi(argv[1]) : 3000000;
    const int numQueries = 4 * 1024 * 1024;
    const int iterations = 20;
    if (n < 1 || n > 100000000) {
        std::cerr << "bad number of ranges" << std::endl;
        return 1;
    }

    uint64_t seed = 2024;
    std::vector<IpRange> table(n);
    const uint64_t gap = (1ull << 32) / n;
    for (int i = 0; i < n; i++) {
        uint64_t h = splitmix(seed);
        uint64_t first = i * gap + (h & 0xffff) % (gap / 4);
        table[i].first = (uint32_t)first;
        table[i].last = (uint32_t)(i * gap + gap / 4 + ((h >> 16) & 0xffff) % (gap / 2));
        table[i].country = (uint32_t)(h >> 56) % NUM_COUNTRIES;
        table[i].asn = (uint32_t)(h >> 32) & 0xffff;
        table[i].latitude = (float)((h >> 20) % 180000) * 0.001f - 90.0f;
        table[i].longitude = (float)((h >> 40) % 360000) * 0.001f - 180.0f;
    }
    std::vector<uint32_t> queries(numQueries);
    for (auto &q : queries) q = (uint32_t)splitmix(seed);

    IpRange *d_table;
    uint32_t *d_queries;
    Location *d_result;
    unsigned int *d_counts;
    gpuErrchk(cudaMalloc((void **)&d_table, n * sizeof(IpRange)));
    gpuErrchk(cudaMalloc((void **)&d_queries, numQueries * sizeof(uint32_t)));
    gpuErrchk(cudaMalloc((void **)&d_result, numQueries * sizeof(Location)));
    gpuErrchk(cudaMalloc((void **)&d_counts, NUM_COUNTRIES * sizeof(unsigned int)));
    gpuErrchk(cudaMemcpy(d_table, table.data(), n * sizeof(IpRange), cudaMemcpyHostToDevice));
    gpuErrchk(cudaMemcpy(d_queries, queries.data(), numQueries * sizeof(uint32_t), cudaMemcpyHostToDevice));
    gpuErrchk(cudaMemset(d_counts, 0, NUM_COUNTRIES * sizeof(unsigned int)));

    cudaEvent_t start, stop;
    gpuErrchk(cudaEventCreate(&start));
    gpuErrchk(cudaEventCreate(&stop));
    for (int it = 0; it <= iterations; it++) { // iteration 0 warms up
        if (it == 1) gpuErrchk(cudaEventRecord(start));
        lookup<<<2048, 256>>>(d_table, n, d_queries, d_result, numQueries);
        countCountries<<<512, 256>>>(d_table, d_result, numQueries, d_counts);
    }
    gpuErrchk(cudaEventRecord(stop));
    gpuErrchk(cudaEventSynchronize(stop));
    gpuErrchk(cudaGetLastError());
    float ms = 0.0f;
    gpuErrchk(cudaEventElapsedTime(&ms, start, stop));

    std::vector<Location> result(numQueries);
    std::vector<unsigned int> counts(NUM_COUNTRIES);
    gpuErrchk(cudaMemcpy(result.data(), d_result, numQueries * sizeof(Location), cudaMemcpyDeviceToHost));
    gpuErrchk(cudaMemcpy(counts.data(), d_counts, NUM_COUNTRIES * sizeof(unsigned int), cudaMemcpyDeviceToHost));
    uint64_t check = 0;
    for (int q = 0; q < numQueries; q++) {
        uint32_t a, b;
        std::memcpy(&a, &result[q].latitude, 4);
        std::memcpy(&b, &result[q].longitude, 4);
        check = check * 1099511628211ull + ((uint64_t)(uint32_t)result[q].rangeIndex ^ a) + result[q].asn + b;
    }
    for (int c = 0; c < NUM_COUNTRIES; c++) check = check * 31 + counts[c];

    std::cout << "time_ms " << ms / iterations << "\n";
    std::cout << "check " << check << "\n";
    cudaFree(d_table);
    cudaFree(d_queries);
    cudaFree(d_result);
    cudaFree(d_counts);
    return 0;
}
