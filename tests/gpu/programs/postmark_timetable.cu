// Old letters and the trains that took them: for each letter the next mail train is looked up in the timetable of its
// office, delays are counted by class, and late ones get a surcharge.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>
#include <cuda_runtime.h>

namespace post {

const int OFFICES = 3000;
const int BINS = 64;
const int CLASSES = 4;

struct Letter {
    long long posted;   // minutes since 1850
    int from;
    int to;
    int grams;
    int postage;
    int train;
    int delay;
    unsigned char cls;
    unsigned char stamps;
    unsigned char late;
};

struct Train {
    int depart;         // minute of the week
    int arrive;
    unsigned short line;
    unsigned char mailCar;
    unsigned char express;
    int seats;
};

struct Office {
    int first;
    int trains;
    int district;
    float lat, lon;
};

inline void ok(cudaError_t e, const char *where)
{
    if (e != cudaSuccess) {
        std::fprintf(stderr, "%s: %s\n", where, cudaGetErrorString(e));
        std::exit(1);
    }
}

inline unsigned long long hash(unsigned long long k)
{
    k ^= k >> 33;
    k *= 0xff51afd7ed558ccdull;
    k ^= k >> 33;
    k *= 0xc4ceb9fe1a85ec53ull;
    return k ^ (k >> 33);
}

__device__ int firstAfter(const Train *trains, int lo, int hi, int minute)
{
    while (lo < hi) {
        int mid = (lo + hi) >> 1;
        if (trains[mid].depart < minute)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

__global__ void dispatch(Letter *letters, const int *order, int n, const Office *offices, const Train *trains, int shift)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n)
        return;
    int id = order[t];
    Letter &letter = letters[id];
    const Office &office = offices[letter.from];
    int minute = (int)((letter.posted + shift) % 10080);
    int end = office.first + office.trains;
    int at = firstAfter(trains, office.first, end, minute);
    int wait = 0;
    bool registered = letter.cls == 3;
    for (int tries = 0; tries < 2 * office.trains; tries++) {
        if (at == end) {
            at = office.first;
            wait += 10080;
        }
        if (trains[at].mailCar && (!registered || trains[at].express))
            break;
        at++;
    }
    if (at == end)
        at = end - 1;
    letter.train = at;
    letter.delay = wait + trains[at].arrive - minute + (letter.from == letter.to ? 0 : 30);
}

__global__ void tally(const Letter *letters, int n, unsigned int *histogram)
{
    __shared__ unsigned int local[CLASSES * BINS];
    for (int b = threadIdx.x; b < CLASSES * BINS; b += blockDim.x)
        local[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int bin = min(max(letters[i].delay / 60, 0), BINS - 1);
        atomicAdd(&local[letters[i].cls * BINS + bin], 1u);
    }
    __syncthreads();
    for (int b = threadIdx.x; b < CLASSES * BINS; b += blockDim.x)
        if (local[b])
            atomicAdd(&histogram[b], local[b]);
}

__device__ int tariff(Letter l)
{
    int base = 2 + l.grams / 15;
    return l.cls == 3 ? base + 6 : l.cls == 0 ? (base + 1) / 2 : base;
}

__global__ void surcharge(Letter *letters, int n, int threshold)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || letters[i].delay < threshold)
        return;
    int due = tariff(letters[i]) - letters[i].postage;
    if (due > 0) {
        letters[i].postage += (due + 1) / 2;
        letters[i].stamps++;
    }
    letters[i].late++;
}

struct ByOffice {
    const Letter *l;
    bool operator()(int a, int b) const { return l[a].from != l[b].from ? l[a].from < l[b].from : a < b; }
};

} // namespace post

using namespace post;

int main(int argc, char **argv)
{
    int n = argc > 1 ? std::atoi(argv[1]) : 2200000;
    std::vector<Office> offices;
    std::vector<Train> trains;
    for (int o = 0; o < OFFICES; o++) {
        unsigned long long h = hash(o + 1);
        Office office = {(int)trains.size(), 6 + (int)(h % 70), (int)(h >> 60), (h >> 8) % 900 * 0.01f, (h >> 20) % 900 * 0.01f};
        for (int k = 0; k < office.trains; k++) {
            unsigned long long g = hash(h + k);
            Train t;
            t.depart = (int)((k * 10080ll + (long long)(g % 5000)) / (office.trains + 1)) % 10080;
            t.arrive = t.depart + 30 + (int)((g >> 20) % 900);
            t.line = (unsigned short)(g >> 40);
            t.mailCar = k == 0 || (g >> 3) % 3 == 0;
            t.express = k == 0 || (g >> 5) % 4 == 0;
            t.seats = 100 + (int)(g >> 57);
            trains.push_back(t);
        }
        offices.push_back(office);
    }
    std::vector<Letter> letters(n);
    for (int i = 0; i < n; i++) {
        unsigned long long h = hash(1000003ull * i + 5);
        Letter &l = letters[i];
        l.posted = 10080ll * 500 + (long long)(h % 10080000ull);
        l.from = (int)(hash(h) % OFFICES);
        l.to = (int)(hash(h + 1) % OFFICES);
        l.grams = 5 + (int)((h >> 30) % 90);
        l.postage = 1 + (int)((h >> 40) % 4);
        l.train = -1;
        l.delay = 0;
        l.cls = (unsigned char)((h >> 50) % CLASSES);
        l.stamps = 1;
        l.late = 0;
    }
    std::vector<int> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), ByOffice{letters.data()});

    Letter *dLetters;
    Office *dOffices;
    Train *dTrains;
    int *dOrder;
    unsigned int *dHist;
    ok(cudaMalloc(&dLetters, letters.size() * sizeof(Letter)), "letters");
    ok(cudaMalloc(&dOffices, offices.size() * sizeof(Office)), "offices");
    ok(cudaMalloc(&dTrains, trains.size() * sizeof(Train)), "trains");
    ok(cudaMalloc(&dOrder, n * sizeof(int)), "order");
    ok(cudaMalloc(&dHist, CLASSES * BINS * sizeof(unsigned)), "histogram");
    ok(cudaMemcpy(dLetters, letters.data(), letters.size() * sizeof(Letter), cudaMemcpyHostToDevice), "copy");
    ok(cudaMemcpy(dOffices, offices.data(), offices.size() * sizeof(Office), cudaMemcpyHostToDevice), "copy");
    ok(cudaMemcpy(dTrains, trains.data(), trains.size() * sizeof(Train), cudaMemcpyHostToDevice), "copy");
    ok(cudaMemcpy(dOrder, order.data(), n * sizeof(int), cudaMemcpyHostToDevice), "copy");
    ok(cudaMemset(dHist, 0, CLASSES * BINS * sizeof(unsigned)), "memset");

    cudaEvent_t a, b;
    ok(cudaEventCreate(&a), "event");
    ok(cudaEventCreate(&b), "event");
    const int weeks = 30;
    int blocks = (n + 255) / 256;
    for (int w = -2; w < weeks; w++) {
        if (w == 0)
            ok(cudaEventRecord(a), "record");
        dispatch<<<blocks, 256>>>(dLetters, dOrder, n, dOffices, dTrains, 777 * (w + 3));
        tally<<<264, 512>>>(dLetters, n, dHist);
        surcharge<<<blocks, 256>>>(dLetters, n, 1500);
    }
    ok(cudaEventRecord(b), "record");
    ok(cudaEventSynchronize(b), "run");
    float ms = 0;
    ok(cudaEventElapsedTime(&ms, a, b), "elapsed");
    unsigned int hist[CLASSES * BINS];
    ok(cudaMemcpy(hist, dHist, sizeof hist, cudaMemcpyDeviceToHost), "copy");
    ok(cudaMemcpy(letters.data(), dLetters, letters.size() * sizeof(Letter), cudaMemcpyDeviceToHost), "copy");
    unsigned long long sum = 0;
    for (int k = 0; k < CLASSES * BINS; k++)
        sum = sum * 31 + hist[k];
    for (const Letter &l : letters)
        sum += (unsigned long long)l.postage * 7 + l.stamps + l.late * 3 + l.delay;
    std::printf("check %llu\n", sum);
    std::printf("time_ms %.5f\n", ms / weeks);
}
