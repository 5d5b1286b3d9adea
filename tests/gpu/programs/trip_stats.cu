// Summary statistics over a table of taxi trips: total fare in cents,
// passengers and distance. Few blocks, grid-stride loop, tree reduction in a
// fixed order so that the double sum is reproducible.
//   usage: trip_stats [trips]
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CUDA_SAFE_CALL(call)                                                \
    {                                                                       \
        cudaError_t err = call;                                             \
        if (cudaSuccess != err) {                                           \
            fprintf(stderr, "Cuda error in file '%s' in line %i : %s.\n",   \
                    __FILE__, __LINE__, cudaGetErrorString(err));           \
            exit(EXIT_FAILURE);                                             \
        }                                                                   \
    }

struct Trip {
    long long pickupTime;
    long long dropoffTime;
    float pickupLon, pickupLat;
    float dropoffLon, dropoffLat;
    float distance;
    float tip;
    float tolls;
    int fareCents;
    int passengers;
    int vendor;
    int paymentType;
    int zone;
};

struct Summary {
    double distance;
    long long fareCents;
    long long passengers;
    __device__ void add(const Summary &o)
    {
        distance += o.distance;
        fareCents += o.fareCents;
        passengers += o.passengers;
    }
};

template <int BLOCK>
__device__ void blockReduce(Summary *sh, int tid)
{
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half >>= 1) {
        if (tid < half) sh[tid].add(sh[tid + half]);
        __syncthreads();
    }
}

template <int BLOCK>
__global__ void partialSums(const Trip *__restrict__ trips, int n, Summary *partial)
{
    __shared__ Summary sh[BLOCK];
    Summary mine = {0.0, 0, 0};
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK) {
        mine.distance += trips[i].distance;
        mine.fareCents += trips[i].fareCents;
        mine.passengers += trips[i].passengers;
    }
    sh[threadIdx.x] = mine;
    blockReduce<BLOCK>(sh, threadIdx.x);
    if (threadIdx.x == 0) partial[blockIdx.x] = sh[0];
}

template <int BLOCK>
__global__ void finalSum(const Summary *partial, int count, Summary *result)
{
    __shared__ Summary sh[BLOCK];
    Summary mine = {0.0, 0, 0};
    for (int i = threadIdx.x; i < count; i += BLOCK) mine.add(partial[i]);
    sh[threadIdx.x] = mine;
    blockReduce<BLOCK>(sh, threadIdx.x);
    if (threadIdx.x == 0) *result = sh[0];
}

void fillTrips(Trip *t, int n)
{
    unsigned long long x = 1234567ull;
    for (int i = 0; i < n; i++) {
        x = x * 6364136223846793005ull + 1442695040888963407ull;
        unsigned hi = (unsigned)(x >> 33);
        float u = (hi & 0xffff) / 65536.0f;
        t[i].pickupTime = 1700000000ll + i;
        t[i].dropoffTime = t[i].pickupTime + 120 + (hi % 3600);
        t[i].pickupLon = -74.0f + 0.2f * u;
        t[i].pickupLat = 40.6f + 0.2f * ((hi >> 8 & 0xfff) / 4096.0f);
        t[i].dropoffLon = -74.0f + 0.2f * ((hi >> 4 & 0xfff) / 4096.0f);
        t[i].dropoffLat = 40.6f + 0.2f * ((hi >> 12 & 0xfff) / 4096.0f);
        t[i].distance = 0.3f + 15.0f * u * u;
        t[i].tip = 5.0f * u;
        t[i].tolls = (hi % 7 == 0) ? 6.5f : 0.0f;
        t[i].fareCents = 300 + (int)(250.0f * t[i].distance);
        t[i].passengers = 1 + (int)(hi >> 5) % 4;
        t[i].vendor = hi & 1;
        t[i].paymentType = (int)(hi >> 9) % 5;
        t[i].zone = (int)(hi >> 3) % 263;
    }
}

int main(int argc, char **argv)
{
    const int BLOCK = 256;
    int n = 4000000;
    if (argc > 1) n = atoi(argv[1]);
    int repeat = 50;

    int sms = 0;
    CUDA_SAFE_CALL(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    int numBlocks = 4 * sms;

    Trip *trips = new Trip[n];
    fillTrips(trips, n);

    Trip *dTrips;
    Summary *dPartial, *dResult;
    CUDA_SAFE_CALL(cudaMalloc((void **)&dTrips, sizeof(Trip) * n));
    CUDA_SAFE_CALL(cudaMalloc((void **)&dPartial, sizeof(Summary) * numBlocks));
    CUDA_SAFE_CALL(cudaMalloc((void **)&dResult, sizeof(Summary)));
    CUDA_SAFE_CALL(cudaMemcpy(dTrips, trips, sizeof(Trip) * n, cudaMemcpyHostToDevice));

    partialSums<BLOCK><<<numBlocks, BLOCK>>>(dTrips, n, dPartial);
    finalSum<BLOCK><<<1, BLOCK>>>(dPartial, numBlocks, dResult);
    CUDA_SAFE_CALL(cudaGetLastError());
    CUDA_SAFE_CALL(cudaDeviceSynchronize());

    cudaEvent_t start, stop;
    CUDA_SAFE_CALL(cudaEventCreate(&start));
    CUDA_SAFE_CALL(cudaEventCreate(&stop));
    CUDA_SAFE_CALL(cudaEventRecord(start, 0));
    for (int r = 0; r < repeat; r++) {
        partialSums<BLOCK><<<numBlocks, BLOCK>>>(dTrips, n, dPartial);
        finalSum<BLOCK><<<1, BLOCK>>>(dPartial, numBlocks, dResult);
    }
    CUDA_SAFE_CALL(cudaEventRecord(stop, 0));
    CUDA_SAFE_CALL(cudaEventSynchronize(stop));
    float ms = 0.0f;
    CUDA_SAFE_CALL(cudaEventElapsedTime(&ms, start, stop));

    Summary res;
    CUDA_SAFE_CALL(cudaMemcpy(&res, dResult, sizeof(Summary), cudaMemcpyDeviceToHost));
    printf("fare %lld cents, %lld passengers, %.3f miles\n", res.fareCents, res.passengers, res.distance);
    printf("time_ms %.5f\n", ms / repeat);
    printf("check %lld\n", res.fareCents * 31 + res.passengers * 17 + llround(res.distance * 10.0));

    CUDA_SAFE_CALL(cudaFree(dTrips));
    CUDA_SAFE_CALL(cudaFree(dPartial));
    CUDA_SAFE_CALL(cudaFree(dResult));
    delete[] trips;
    return 0;
}
