// City buses: 100-byte records.
//   drive      : read-modify-write of about half of the fields, in place
//   board      : whole record copied to a local, a few fields changed, written back
//   inspect    : every bus reads all of its fields once (result: one float)
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

struct Bus {
    float x, y, z;
    float vx, vy, vz;
    float heading;
    float fuel;
    float engine_temp;
    float odometer;
    int   id;
    int   route;
    int   next_stop;
    int   depot;
    float wear[8];
    short seats;
    short load;
    float fare_box;
    float tax;
};

struct Stop { float x, y; int waiting; float shelter; short zone; short lines; float demand; };   // 24 bytes

__device__ void advance(Bus *b, float dt)
{
    b->x += b->vx * dt;
    b->y += b->vy * dt;
    b->z += b->vz * dt;
    if (b->x < 0.f || b->x > 1000.f) b->vx = -b->vx;
    if (b->y < 0.f || b->y > 1000.f) b->vy = -b->vy;
    b->vz = -0.5f * b->vz;
}

__global__ void drive(Bus *fleet, int n, float dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    advance(&fleet[i], dt);
    float speed = fabsf(fleet[i].vx) + fabsf(fleet[i].vy);
    fleet[i].heading = fleet[i].vx * 0.1f + fleet[i].vy * 0.2f;
    fleet[i].fuel -= 0.0001f * speed;
    if (fleet[i].fuel < 0.f) fleet[i].fuel = 100.f;
    fleet[i].engine_temp = 0.95f * fleet[i].engine_temp + 0.05f * (60.f + speed);
    fleet[i].odometer += speed * dt;
    fleet[i].wear[0] += 0.001f * speed;
    fleet[i].wear[4] += 0.002f * speed;
}

__device__ Bus ticket(Bus b, const Stop *stops, int nstops)
{
    const Stop &s = stops[b.next_stop];
    int off = b.load / 3;
    int on = min(s.waiting + s.lines, (int)b.seats - (b.load - off));
    if (on < 0) on = 0;
    b.load = (short)(b.load - off + on);
    b.fare_box += 1.5f * on;
    b.tax = 0.1f * b.fare_box;
    b.next_stop += 1 + (b.route & 3);
    if (b.next_stop >= nstops) b.next_stop -= nstops;
    return b;
}

__global__ void board(Bus *fleet, int n, const Stop *stops, int nstops)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Bus local = fleet[i];
    local = ticket(local, stops, nstops);
    fleet[i] = local;
}

__global__ void inspect(const Bus *fleet, int n, float *grade)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const Bus *b = fleet + i;
    float g = b->x + b->y + b->z + b->vx * b->vx + b->vy * b->vy + b->vz * b->vz;
    g += b->heading + b->fuel - 0.1f * b->engine_temp + 0.01f * b->odometer;
    for (int k = 0; k < 8; k++) g -= b->wear[k];
    g += 0.001f * (float)(b->id & 1023) + (float)(b->route + b->depot) * 0.01f + 0.1f * (float)(b->next_stop & 7);
    g += (float)b->load / (float)(b->seats + 1) + 0.01f * (b->fare_box - b->tax);
    grade[i] = g;
}

#define GUARD(c) do { cudaError_t z = (c); if (z != cudaSuccess) { fprintf(stderr, #c ": %s\n", cudaGetErrorString(z)); return 1; } } while (0)

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 5000003;
    const int nstops = 700;
    size_t bytes = (size_t)n * sizeof(Bus);
    Bus *fleet = (Bus *)malloc(bytes);
    Stop stops[nstops];
    for (int s = 0; s < nstops; s++)
        stops[s] = { s * 1.5f, s * 0.5f, (s * 13) % 9, 0.1f * s, (short)(s % 6), (short)(s % 4), 0.5f * (s % 11) };
    for (int i = 0; i < n; i++) {
        unsigned r = (unsigned)i * 1597334677u; r ^= r >> 15;
        Bus b = {};
        b.x = (float)(r & 1023) * 0.95f; b.y = (float)(r >> 10 & 1023) * 0.95f; b.z = 1.f;
        b.vx = (float)(r >> 5 & 31) - 15.5f; b.vy = (float)(r >> 14 & 31) - 15.5f; b.vz = 0.25f;
        b.fuel = 20.f + (float)(r >> 26);
        b.engine_temp = 40.f;
        b.odometer = 0.f;
        b.id = i; b.route = (int)(r >> 8 & 255); b.next_stop = (int)((r >> 3) % (unsigned)nstops); b.depot = (int)(r >> 28);
        for (int k = 0; k < 8; k++) b.wear[k] = 0.125f * k;
        b.seats = (short)(40 + (r & 31)); b.load = (short)(r >> 20 & 31);
        fleet[i] = b;
    }

    Bus *dfleet; Stop *dstops; float *dgrade;
    GUARD(cudaMalloc(&dfleet, bytes));
    GUARD(cudaMalloc(&dstops, sizeof(stops)));
    GUARD(cudaMalloc(&dgrade, (size_t)n * sizeof(float)));
    GUARD(cudaMemcpy(dfleet, fleet, bytes, cudaMemcpyHostToDevice));
    GUARD(cudaMemcpy(dstops, stops, sizeof(stops), cudaMemcpyHostToDevice));

    cudaEvent_t start, stop;
    GUARD(cudaEventCreate(&start));
    GUARD(cudaEventCreate(&stop));
    const int threads = 256, blocks = (n + threads - 1) / threads;
    inspect<<<blocks, threads>>>(dfleet, n, dgrade);
    GUARD(cudaEventRecord(start));
    for (int t = 0; t < 12; t++) {
        drive<<<blocks, threads>>>(dfleet, n, 0.05f);
        drive<<<blocks, threads>>>(dfleet, n, 0.10f);
        board<<<blocks, threads>>>(dfleet, n, dstops, nstops);
        if (t % 4 == 3) inspect<<<blocks, threads>>>(dfleet, n, dgrade);
    }
    GUARD(cudaEventRecord(stop));
    GUARD(cudaEventSynchronize(stop));
    GUARD(cudaGetLastError());
    float ms = 0.f;
    GUARD(cudaEventElapsedTime(&ms, start, stop));

    float *grade = (float *)malloc((size_t)n * sizeof(float));
    GUARD(cudaMemcpy(fleet, dfleet, bytes, cudaMemcpyDeviceToHost));
    GUARD(cudaMemcpy(grade, dgrade, (size_t)n * sizeof(float), cudaMemcpyDeviceToHost));
    double pos = 0, fuel = 0, wear = 0, fares = 0, g = 0; long long load = 0, at = 0;
    for (int i = 0; i < n; i++) {
        const Bus &b = fleet[i];
        pos += b.x + 2 * b.y + b.z; fuel += b.fuel + b.engine_temp + b.odometer; fares += b.fare_box + b.tax;
        for (int k = 0; k < 8; k++) wear += b.wear[k];
        load += b.load; at += b.next_stop + b.id % 3; g += grade[i];
    }
    printf("check position %.6g\ncheck fuel %.6g\ncheck wear %.6g\ncheck fares %.6g\n", pos, fuel, wear, fares);
    printf("check load %lld\ncheck stops %lld\ncheck grade %.6g\n", load, at, g);
    printf("time_ms %.4f\n", ms);
    free(fleet); free(grade);
    cudaFree(dfleet); cudaFree(dstops); cudaFree(dgrade);
    return 0;
}
