// A customs office: parcels are inspected, the suspicious ones are appended to a
// queue (atomic counter), duties are levied from the queue, and the tallies are
// kept per country in shared memory.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CK(x)                                                                 \
    do {                                                                      \
        cudaError_t e_ = (x);                                                 \
        if (e_ != cudaSuccess) {                                              \
            fprintf(stderr, "error at line %d: %s\n", __LINE__, cudaGetErrorString(e_)); \
            exit(1);                                                          \
        }                                                                     \
    } while (0)

struct Parcel {
    unsigned id;
    float value;
    short country;
    short grams;
    unsigned char kind;
    unsigned char sealed;
    unsigned char lane;
    unsigned char visits;
    float duty;
    int broker;
};

struct Seizure {
    int parcel;
    float fine;
    short reason;
    short country;
};

static const int PARCELS = 9000000;
static const int COUNTRIES = 192;
static const int BROKERS = 5000;
static const int DAYS = 25;

__global__ void inspect(const Parcel* parcels, int n, const float* limit, int day,
                        Seizure* queue, int* queued)
{
    int step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        if (parcels[i].sealed != 0) continue;
        if (((int)parcels[i].kind + day) % 5 > 2) continue;
        int c = parcels[i].country;
        float over = parcels[i].value - limit[c];
        if (over > 0.0f) {
            int slot = atomicAdd(queued, 1);
            queue[slot].parcel = i;
            queue[slot].fine = 0.05f * over;
            queue[slot].reason = (short)(parcels[i].grams > 800 ? 2 : 1);
            queue[slot].country = (short)c;
        }
    }
}

__global__ void levy(const Seizure* queue, const int* queued, Parcel* parcels, int* brokers)
{
    int m = *queued;
    int step = gridDim.x * blockDim.x;
    for (int s = blockIdx.x * blockDim.x + threadIdx.x; s < m; s += step) {
        Seizure z = queue[s];
        Parcel& p = parcels[z.parcel];
        p.duty += z.fine * (float)z.reason;
        p.visits = (unsigned char)(p.visits + 1);
        atomicAdd(&brokers[p.broker], 1);
    }
}

__global__ void tally(const Parcel* parcels, int n, unsigned long long* grams)
{
    __shared__ unsigned local[COUNTRIES];
    for (int c = threadIdx.x; c < COUNTRIES; c += blockDim.x) local[c] = 0;
    __syncthreads();
    int step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        atomicAdd(&local[parcels[i].country], (unsigned)parcels[i].grams);
    __syncthreads();
    for (int c = threadIdx.x; c < COUNTRIES; c += blockDim.x)
        if (local[c] != 0) atomicAdd(&grams[c], (unsigned long long)local[c]);
}

__global__ void reason_report(const Seizure* queue, const int* queued, int* reasons)
{
    int m = *queued;
    int heavy = 0;
    int step = gridDim.x * blockDim.x;
    for (int s = blockIdx.x * blockDim.x + threadIdx.x; s < m; s += step)
        if (queue[s].reason == 2) heavy += 1 + (queue[s].country & 1);
    for (int o = 16; o > 0; o >>= 1) heavy += __shfl_down_sync(0xffffffffu, heavy, o);
    if ((threadIdx.x & 31) == 0 && heavy > 0) atomicAdd(reasons, heavy);
}

struct Office {
    Parcel* parcels;
    Seizure* queue;
    int* queued;
    float* limit;
    int* brokers;
    unsigned long long* grams;
    int* reasons;
};

static void open_day(const Office& o, int day)
{
    CK(cudaMemsetAsync(o.queued, 0, sizeof(int)));
    inspect<<<1320, 256>>>(o.parcels, PARCELS, o.limit, day, o.queue, o.queued);
    levy<<<660, 256>>>(o.queue, o.queued, o.parcels, o.brokers);
    reason_report<<<264, 256>>>(o.queue, o.queued, o.reasons);
    if (day % 4 == 3) tally<<<528, 256>>>(o.parcels, PARCELS, o.grams);
}

static unsigned mix(unsigned x)
{
    x ^= x >> 16; x *= 0x7feb352du;
    x ^= x >> 15; x *= 0x846ca68bu;
    return x ^ (x >> 16);
}

int main()
{
    std::vector<Parcel> parcels(PARCELS);
    for (int i = 0; i < PARCELS; ++i) {
        unsigned h = mix((unsigned)i + 1u), g = mix(h ^ 0x51ed27u);
        Parcel& p = parcels[i];
        p.id = h;
        float u = (float)(h & 0xffffu) / 65536.0f;
        p.value = 400.0f * u * u * u;                        // few are dear
        // a third of them arrives in batches of one country
        p.country = (short)((g & 3u) == 0 ? (i / 1000) % COUNTRIES : (g >> 4) % COUNTRIES);
        p.grams = (short)(20 + (h >> 16) % 1200u);
        p.kind = (unsigned char)((g >> 12) % 40u);
        p.sealed = ((g >> 18) & 3u) == 0 ? 0 : 1;
        p.lane = (unsigned char)(i % 12);
        p.visits = 0;
        p.duty = 0.0f;
        p.broker = (int)((g >> 7) % (unsigned)BROKERS);
    }
    std::vector<float> limit(COUNTRIES);
    for (int c = 0; c < COUNTRIES; ++c) limit[c] = 20.0f + (float)((c * 37) % 100);

    Office o;
    CK(cudaMalloc(&o.parcels, sizeof(Parcel) * (size_t)PARCELS));
    CK(cudaMalloc(&o.queue, sizeof(Seizure) * (size_t)PARCELS));
    CK(cudaMalloc(&o.queued, sizeof(int)));
    CK(cudaMalloc(&o.limit, sizeof(float) * COUNTRIES));
    CK(cudaMalloc(&o.brokers, sizeof(int) * BROKERS));
    CK(cudaMalloc(&o.grams, sizeof(unsigned long long) * COUNTRIES));
    CK(cudaMalloc(&o.reasons, sizeof(int)));
    CK(cudaMemcpy(o.parcels, parcels.data(), sizeof(Parcel) * (size_t)PARCELS, cudaMemcpyHostToDevice));
    CK(cudaMemcpy(o.limit, limit.data(), sizeof(float) * COUNTRIES, cudaMemcpyHostToDevice));
    CK(cudaMemset(o.brokers, 0, sizeof(int) * BROKERS));
    CK(cudaMemset(o.grams, 0, sizeof(unsigned long long) * COUNTRIES));
    CK(cudaMemset(o.reasons, 0, sizeof(int)));

    for (int d = 2; d < 4; ++d) open_day(o, d);
    CK(cudaGetLastError());
    CK(cudaDeviceSynchronize());

    cudaEvent_t a, b;
    CK(cudaEventCreate(&a));
    CK(cudaEventCreate(&b));
    CK(cudaEventRecord(a));
    for (int d = 0; d < DAYS; ++d) open_day(o, d);
    CK(cudaEventRecord(b));
    CK(cudaEventSynchronize(b));
    CK(cudaGetLastError());
    float ms = 0;
    CK(cudaEventElapsedTime(&ms, a, b));

    std::vector<int> brokers(BROKERS);
    std::vector<unsigned long long> grams(COUNTRIES);
    int last = 0, reasons = 0;
    CK(cudaMemcpy(parcels.data(), o.parcels, sizeof(Parcel) * (size_t)PARCELS, cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(brokers.data(), o.brokers, sizeof(int) * BROKERS, cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(grams.data(), o.grams, sizeof(unsigned long long) * COUNTRIES, cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(&last, o.queued, sizeof(int), cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(&reasons, o.reasons, sizeof(int), cudaMemcpyDeviceToHost));
    double duty = 0, weight = 0;
    long long visits = 0, calls = 0;
    for (const Parcel& p : parcels) {
        duty += p.duty;
        visits += p.visits;
    }
    for (int k = 0; k < BROKERS; ++k) calls += (long long)brokers[k] * (k % 7 + 1);
    for (int c = 0; c < COUNTRIES; ++c) weight += (double)grams[c] * (c + 1);
    printf("check duty %.8g\n", duty);
    printf("check visits %lld\n", visits);
    printf("check broker_calls %lld\n", calls);
    printf("check weight %.10g\n", weight);
    printf("check last_queue %d\n", last);
    printf("check reasons %d\n", reasons);
    printf("time_ms %.4f\n", ms);
    return 0;
}
