// Freight trains in a marshalling yard. A train is a chain of wagons coupled
// in arbitrary order of the wagon register; brakes are proved wagon by wagon.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define TRY(call)                                                    \
    do {                                                             \
        cudaError_t st = (call);                                     \
        if (st != cudaSuccess) {                                     \
            fprintf(stderr, "%s failed: %s\n", #call,                \
                    cudaGetErrorString(st));                         \
            exit(1);                                                 \
        }                                                            \
    } while (0)

struct Wagon {
    int next;
    float tare;
    float load;
    float length;
    float brake;
    float wear;
    int destination;
    int inspected;
    short axles;
    short hazard;
    char number[12];
};

struct Train {
    int head;
    int wagons;
    float mass;
    float length;
    float braking;
    int axles;
};

__global__ void weigh(const Wagon *wagons, Train *trains, int nt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < nt) {
        float mass = 0.0f, len = 0.0f;
        int count = 0, axles = 0;
        for (int w = trains[i].head; w >= 0; w = wagons[w].next) {
            mass += wagons[w].tare + wagons[w].load;
            len += wagons[w].length;
            axles += wagons[w].axles;
            count++;
        }
        trains[i].mass = mass;
        trains[i].length = len;
        trains[i].axles = axles;
        trains[i].wagons = count;
    }
}

// Brake pressure drops towards the tail of the train.
__global__ void prove_brakes(Wagon *wagons, Train *trains, int nt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < nt) {
        float pressure = 5.0f, total = 0.0f;
        int w = trains[i].head;
        while (w >= 0) {
            Wagon &car = wagons[w];
            float force = pressure * car.brake;
            total += force;
            car.wear += 0.0001f * force;
            pressure -= 0.01f;
            w = car.next;
        }
        trains[i].braking = total;
    }
}

__global__ void inspect(Wagon *wagons, int nw, float limit)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < nw) {
        if (wagons[i].hazard == 9 && wagons[i].wear > limit) {
            int s = 0;
            for (int k = 0; k < 12; k++) s += wagons[i].number[k];
            wagons[i].inspected += 1 + (s & 1);
            wagons[i].wear *= 0.5f;
        }
    }
}

__global__ void by_destination(const Wagon *wagons, int nw, unsigned long long *tons)
{
    __shared__ unsigned int local[256];
    for (int k = threadIdx.x; k < 256; k += blockDim.x) local[k] = 0;
    __syncthreads();
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < nw; i += stride)
        atomicAdd(&local[wagons[i].destination], (unsigned int)wagons[i].load);
    __syncthreads();
    for (int k = threadIdx.x; k < 256; k += blockDim.x)
        atomicAdd(&tons[k], (unsigned long long)local[k]);
}

static unsigned int lfsr = 0xACE1u;
static unsigned int rnd32()
{
    lfsr = lfsr * 1664525u + 1013904223u;
    unsigned int v = lfsr ^ (lfsr >> 14);
    return v * 0x9E3779B1u ^ (v >> 9);
}

int main(int argc, char **argv)
{
    int nw = argc > 1 ? atoi(argv[1]) : 3000000;
    if (nw < 1) nw = 1;

    Wagon *wagons;
    TRY(cudaMallocManaged(&wagons, nw * sizeof(Wagon)));
    std::vector<int> order(nw);
    for (int i = 0; i < nw; i++) order[i] = i;
    // wagons stay near the track where they were registered, loosely shuffled
    for (int i = nw - 1; i > 0; i--) {
        int span = (i % 3 == 0) ? i + 1 : (i < 64 ? i + 1 : 64);
        int j = i - (int)(rnd32() % (unsigned int)span);
        int t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
    for (int i = 0; i < nw; i++) {
        unsigned int r = rnd32();
        Wagon &w = wagons[i];
        w.next = -1;
        w.tare = 12.0f + (r & 15);
        w.load = (float)((r >> 4) & 63);
        w.length = 10.0f + ((r >> 10) & 7);
        w.brake = 0.5f + ((r >> 13) & 31) * 0.03f;
        w.wear = ((r >> 18) & 127) * 0.01f;
        w.destination = (int)((r >> 8) & 255);
        w.inspected = 0;
        w.axles = (short)((r & 1) ? 4 : 2);
        w.hazard = (short)((r >> 20) % 40);
        for (int k = 0; k < 12; k++) w.number[k] = (char)('0' + (r >> k) % 10);
    }
    std::vector<Train> list;
    for (int b = 0; b < nw;) {
        int len = 3 + (int)(rnd32() % 38);
        if (b + len > nw) len = nw - b;
        Train t;
        t.head = order[b];
        t.wagons = 0;
        t.mass = t.length = t.braking = 0.0f;
        t.axles = 0;
        for (int k = 0; k + 1 < len; k++) wagons[order[b + k]].next = order[b + k + 1];
        list.push_back(t);
        b += len;
    }
    int nt = (int)list.size();
    Train *trains;
    unsigned long long *tons;
    TRY(cudaMallocManaged(&trains, nt * sizeof(Train)));
    TRY(cudaMallocManaged(&tons, 256 * sizeof(unsigned long long)));
    for (int i = 0; i < nt; i++) trains[i] = list[i];
    for (int k = 0; k < 256; k++) tons[k] = 0;

    const int reps = 12;
    int gw = (nw + 255) / 256, gt = (nt + 63) / 64;
    int gs = gw < 264 ? gw : 264;
    cudaEvent_t ev0, ev1;
    TRY(cudaEventCreate(&ev0));
    TRY(cudaEventCreate(&ev1));
    for (int r = -1; r < reps; r++) {
        if (r == 0) TRY(cudaEventRecord(ev0));
        weigh<<<gt, 64>>>(wagons, trains, nt);
        prove_brakes<<<gt, 64>>>(wagons, trains, nt);
        inspect<<<gw, 256>>>(wagons, nw, 1.2f);
        by_destination<<<gs, 256>>>(wagons, nw, tons);
    }
    TRY(cudaEventRecord(ev1));
    TRY(cudaEventSynchronize(ev1));
    TRY(cudaGetLastError());
    TRY(cudaDeviceSynchronize());
    float ms;
    TRY(cudaEventElapsedTime(&ms, ev0, ev1));

    long long count = 0, axles = 0, insp = 0;
    double mass = 0, len = 0, brk = 0, wear = 0;
    unsigned long long tw = 0;
    for (int i = 0; i < nt; i++) {
        count += trains[i].wagons;
        axles += trains[i].axles;
        mass += trains[i].mass;
        len += trains[i].length;
        brk += trains[i].braking;
    }
    for (int i = 0; i < nw; i++) {
        insp += wagons[i].inspected;
        wear += wagons[i].wear;
    }
    for (int k = 0; k < 256; k++) tw += tons[k] * (k + 1);
    printf("check wagons %lld\n", count);
    printf("check axles %lld\n", axles);
    printf("check inspected %.3e\n", (double)insp);
    printf("check mass %.6g\n", mass);
    printf("check length %.6g\n", len);
    printf("check braking %.4e\n", brk);
    printf("check wear %.3e\n", wear);
    printf("check tons %llu\n", tw);
    printf("time_ms %.4f\n", ms / reps);
    TRY(cudaFree(wagons));
    TRY(cudaFree(trains));
    TRY(cudaFree(tons));
    return 0;
}
