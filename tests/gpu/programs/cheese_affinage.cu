// Affinage: wheels of cheese ripen on the shelves of a cave. Each day the rinds and the paste of all wheels change,
// the wheels give off moisture and ammonia to their shelves, the air mixes along the rows, and the affineur turns,
// washes and grades those whose day it is.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

struct Rind {
    float moisture;
    float ph;
    float flora[4];
    float thickness;
};

struct Wheel {
    double mass;
    double lost;
    Rind top;
    Rind bottom;
    float coreTemp;
    float salt;
    float fat;
    float protein;
    float proteolysis;
    float lipolysis;
    int shelf;
    int age;
    unsigned char kind;
    unsigned char grade;
    unsigned char weekday;
    unsigned char turned;
    short washes;
    short batch;
};

struct Shelf {
    float temp;
    float humidity;
    float ammonia;
    float draught;
    int vapour; // milligrams of today
    int wheels;
};

struct Recipe {
    float growth[4];
    float acidTolerance;
    float enzyme;
    float brine;
    float idealHumidity;
    int washEvery;
    int gradeAt;
};

const int kKinds = 10;
__constant__ Recipe recipes[kKinds];

static unsigned hashOf(unsigned a, unsigned b) {
    unsigned h = 2166136261u;
    for (int i = 0; i < 4; i++) h = (h ^ ((a >> (8 * i)) & 255u)) * 16777619u;
    for (int i = 0; i < 4; i++) h = (h ^ ((b >> (8 * i)) & 255u)) * 16777619u;
    h ^= h >> 13;
    h *= 0x5bd1e995u;
    return h ^ (h >> 15);
}
static float uni(unsigned a, unsigned b) { return (hashOf(a, b) >> 9) / 8388608.0f; }

__device__ float ripenRind(Rind &r, const Recipe &recipe, const Shelf &air, float salt, bool under) {
    float dry = (under ? 0.01f : 0.03f) * (1.0f + air.draught) * fmaxf(r.moisture - air.humidity, -0.2f);
    r.moisture -= dry;
    float room = 1.0f;
    for (int k = 0; k < 4; k++) room -= r.flora[k];
    float warm = 0.5f + 0.05f * air.temp;
    for (int k = 0; k < 4; k++) {
        float like = 1.0f - recipe.acidTolerance * fabsf(r.ph - (5.0f + 0.6f * k)) - 2.0f * salt * (k & 1);
        float rate = recipe.growth[k] * warm * r.moisture * fmaxf(like, -0.3f);
        r.flora[k] = fminf(fmaxf(r.flora[k] + rate * r.flora[k] * fmaxf(room, 0.0f), 1e-4f), 1.0f);
    }
    r.ph += 0.02f * (r.flora[2] + r.flora[3]) * (7.5f - r.ph) - 0.01f * r.flora[0] + 0.005f * air.ammonia;
    r.thickness += 0.004f * (1.0f - r.moisture) * (1.0f - room);
    return dry;
}

__global__ void ripen(Wheel *wheels, const Shelf *shelves, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Wheel &w = wheels[i];
    const Shelf air = shelves[w.shelf];
    const Recipe &recipe = recipes[w.kind];
    bool topUp = (w.turned & 1) == 0;
    float dry = ripenRind(w.top, recipe, air, w.salt, !topUp);
    dry += ripenRind(w.bottom, recipe, air, w.salt, topUp);
    double gone = w.mass * 0.004 * dry;
    w.mass -= gone;
    w.lost += gone;
    w.coreTemp += 0.3f * (air.temp - w.coreTemp);
    float act = recipe.enzyme * expf(0.08f * (w.coreTemp - 12.0f));
    w.proteolysis += act * (1.0f - w.proteolysis) * (w.top.flora[1] + w.bottom.flora[1] + 0.2f);
    w.lipolysis += 0.6f * act * (1.0f - w.lipolysis) * w.fat;
    w.age++;
}

__global__ void giveOff(const Wheel *wheels, Shelf *shelves, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float mg = 40.0f * (float)wheels[i].mass * wheels[i].top.moisture * wheels[i].proteolysis;
        atomicAdd(&shelves[wheels[i].shelf].vapour, (int)mg);
    }
}

__global__ void mixAir(const Shelf *today, Shelf *tomorrow, int count, int perRow, float outside) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    Shelf s = today[i];
    int row = i / perRow, col = i % perRow;
    const Shelf &l = today[row * perRow + (col > 0 ? col - 1 : 0)];
    const Shelf &r = today[min(row * perRow + (col < perRow - 1 ? col + 1 : col), count - 1)];
    s.temp += 0.2f * (0.5f * (l.temp + r.temp) - s.temp) + 0.01f * (outside - s.temp);
    float wet = s.vapour * 2e-4f / (1.0f + s.wheels);
    s.humidity += 0.25f * (0.5f * (l.humidity + r.humidity) - s.humidity) + wet - 0.004f * s.draught;
    s.humidity = fminf(fmaxf(s.humidity, 0.6f), 0.99f);
    s.ammonia = 0.9f * (0.5f * s.ammonia + 0.25f * (l.ammonia + r.ammonia)) + 0.3f * wet;
    s.vapour = 0;
    tomorrow[i] = s;
}

__device__ void wash(Rind &r, float brine) {
    r.moisture = fminf(r.moisture + 0.05f, 0.98f);
    r.flora[0] *= 0.6f;
    r.flora[3] = fminf(r.flora[3] + 0.02f, 1.0f);
    r.ph += 0.1f * brine;
}

__global__ void attend(Wheel *wheels, int n, int day) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || wheels[i].weekday != day % 7) return;
    Wheel *w = wheels + i;
    const Recipe &recipe = recipes[w->kind];
    w->turned++;
    if (recipe.washEvery > 0 && w->age % recipe.washEvery < 7) {
        wash((w->turned & 1) ? w->bottom : w->top, recipe.brine);
        w->salt += 0.0004f * recipe.brine;
        w->washes++;
    }
    if (w->age >= recipe.gradeAt && w->grade == 0) {
        float taste = 2.0f * w->proteolysis + w->lipolysis - 4.0f * fabsf(w->salt - 0.018f);
        float look = w->top.flora[1] + w->bottom.flora[1] - fabsf(w->top.thickness - w->bottom.thickness);
        w->grade = (unsigned char)(1 + (taste > 0.5f) + (taste > 0.9f) + (look > 0.5f));
    }
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 640000;
    const int perShelf = 24, perRow = 60;
    int shelfCount = (n + perShelf - 1) / perShelf;
    Recipe book[kKinds];
    for (int k = 0; k < kKinds; k++) {
        for (int f = 0; f < 4; f++) book[k].growth[f] = 0.1f + 0.4f * uni(k, f);
        book[k].acidTolerance = 0.3f + 0.3f * uni(k, 5);
        book[k].enzyme = 0.005f + 0.02f * uni(k, 6);
        book[k].brine = 0.5f + uni(k, 7);
        book[k].idealHumidity = 0.85f;
        book[k].washEvery = (int)(hashOf(k, 8) % 3) * 9;
        book[k].gradeAt = 10 + (int)(hashOf(k, 9) % 30);
    }
    std::vector<Shelf> shelves(shelfCount);
    for (int s = 0; s < shelfCount; s++)
        shelves[s] = {10 + 4 * uni(s, 21), 0.8f + 0.15f * uni(s, 22), 0.1f * uni(s, 23), uni(s, 24), 0, 0};
    std::vector<Wheel> wheels(n);
    for (int i = 0; i < n; i++) {
        Rind fresh = {0.9f + 0.05f * uni(i, 31), 5.2f, {0.05f, 0.02f * uni(i, 32), 0.01f, 0.01f}, 0.1f};
        Wheel w = {};
        w.mass = 2.0 + 6.0 * uni(i, 33);
        w.top = w.bottom = fresh;
        w.age = (int)(hashOf(i, 38) % 20);
        w.coreTemp = 14.0f;
        w.salt = 0.01f + 0.01f * uni(i, 34);
        w.fat = 0.2f + 0.1f * uni(i, 35);
        w.protein = 0.22f, w.shelf = i / perShelf;
        w.kind = (unsigned char)(hashOf(i / 480, 36) % kKinds); // a batch of one kind lies together
        w.weekday = (unsigned char)(hashOf(i, 37) % 7);
        w.batch = (short)(i / 480);
        shelves[w.shelf].wheels++;
        wheels[i] = w;
    }
    Wheel *dWheels = nullptr;
    Shelf *dToday = nullptr, *dTomorrow = nullptr;
    size_t shelfBytes = shelfCount * sizeof(Shelf);
    if (cudaMalloc(&dWheels, n * sizeof(Wheel)) || cudaMalloc(&dToday, shelfBytes) ||
        cudaMalloc(&dTomorrow, shelfBytes)) {
        return fprintf(stderr, "out of memory\n"), 1;
    }
    cudaMemcpyToSymbol(recipes, book, sizeof(book));
    cudaMemcpy(dWheels, wheels.data(), n * sizeof(Wheel), cudaMemcpyHostToDevice);
    cudaMemcpy(dToday, shelves.data(), shelfBytes, cudaMemcpyHostToDevice);
    cudaEvent_t t0, t1;
    cudaEventCreate(&t0), cudaEventCreate(&t1);
    const int warm = 5, days = 60;
    for (int day = 0; day < warm + days; day++) {
        if (day == warm) cudaEventRecord(t0);
        ripen<<<(n + 127) / 128, 128>>>(dWheels, dToday, n);
        giveOff<<<528, 256>>>(dWheels, dToday, n);
        mixAir<<<(shelfCount + 255) / 256, 256>>>(dToday, dTomorrow, shelfCount, perRow, 8.0f + 0.1f * day);
        Shelf *swap = dToday;
        dToday = dTomorrow;
        dTomorrow = swap;
        attend<<<(n + 255) / 256, 256>>>(dWheels, n, day);
    }
    cudaEventRecord(t1);
    if (cudaEventSynchronize(t1) != cudaSuccess) return fprintf(stderr, "a kernel failed\n"), 1;
    float ms = 0;
    cudaEventElapsedTime(&ms, t0, t1);
    cudaMemcpy(wheels.data(), dWheels, n * sizeof(Wheel), cudaMemcpyDeviceToHost);
    long long grades = 0;
    double mass = 0;
    for (int i = 0; i < n; i++) grades += wheels[i].grade * (1 + i % 11) + wheels[i].washes, mass += wheels[i].lost;
    printf("check %lld\ntime_ms %.5f\n", grades * 1000 + (long long)mass % 1000, ms / days);
    return 0;
}
