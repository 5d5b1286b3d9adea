// Conflict probe for air traffic: for each flight, count the other flights
// which come closer than the separation minima within the look-ahead time,
// and find the one with the smallest miss distance. Blocks stage the flights
// through shared memory.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define checkCudaErrors(val) checkResult((val), #val, __FILE__, __LINE__)

template <typename T>
void checkResult(T result, char const *const func, const char *const file, int const line)
{
    if (result) {
        fprintf(stderr, "CUDA error at %s:%d code=%d \"%s\"\n", file, line,
                static_cast<unsigned int>(result), func);
        exit(EXIT_FAILURE);
    }
}

struct Flight {
    float x, y;        // nautical miles
    float alt;         // feet
    float vx, vy;      // nautical miles per minute
    float climb;       // feet per minute
    int callsign;
    int wake;          // wake turbulence category 0..3
};

struct Probe {
    int conflicts;
    int nearest;       // callsign, or -1
    float missDist2;
};

template <int BLOCK>
__global__ void probeConflicts(const Flight *flights, Probe *probes, int n, float lookAhead)
{
    __shared__ Flight tile[BLOCK];

    const int i = blockIdx.x * BLOCK + threadIdx.x;
    Flight me = {};
    if (i < n)
        me = flights[i];

    Probe p;
    p.conflicts = 0;
    p.nearest = -1;
    p.missDist2 = 1e30f;

    for (int base = 0; base < n; base += BLOCK) {
        if (base + threadIdx.x < n)
            tile[threadIdx.x] = flights[base + threadIdx.x];
        __syncthreads();

        const int m = min(BLOCK, n - base);
        for (int k = 0; k < m; k++) {
            if (base + k == i)
                continue;
            const Flight &o = tile[k];
            float dx = o.x - me.x;
            float dy = o.y - me.y;
            float dvx = o.vx - me.vx;
            float dvy = o.vy - me.vy;
            float t = -(dx * dvx + dy * dvy) / (dvx * dvx + dvy * dvy + 1e-6f);
            t = fminf(fmaxf(t, 0.0f), lookAhead);
            float mx = dx + t * dvx;
            float my = dy + t * dvy;
            float d2 = mx * mx + my * my;
            float dz = fabsf(o.alt - me.alt + t * (o.climb - me.climb));
            float sep = 3.0f + 0.5f * o.wake;
            if (dz < 1000.0f) {
                if (d2 < sep * sep)
                    p.conflicts++;
                if (d2 < p.missDist2) {
                    p.missDist2 = d2;
                    p.nearest = o.callsign;
                }
            }
        }
        __syncthreads();
    }

    if (i < n)
        probes[i] = p;
}

__global__ void fly(Flight *flights, int n, float minutes, float extent)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    Flight f = flights[i];
    f.x += minutes * f.vx;
    f.y += minutes * f.vy;
    f.alt += minutes * f.climb;
    if (f.x < 0.0f || f.x > extent) f.vx = -f.vx;
    if (f.y < 0.0f || f.y > extent) f.vy = -f.vy;
    if (f.alt < 5000.0f || f.alt > 41000.0f) f.climb = -f.climb;
    flights[i] = f;
}

static unsigned long long seed = 0x1234abcdULL;
static float rnd(float lo, float hi)
{
    seed = seed * 25214903917ULL + 11ULL;
    return lo + (hi - lo) * (float)((seed >> 24) & 0xffffff) / 16777216.0f;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 24000;
    if (n < 1) {
        fprintf(stderr, "usage: %s [flights]\n", argv[0]);
        return 1;
    }
    const int BLOCK = 128;
    const int steps = 20;
    const float extent = 2000.0f;

    Flight *h_flights = new Flight[n];
    for (int i = 0; i < n; i++) {
        h_flights[i].x = rnd(0.0f, extent);
        h_flights[i].y = rnd(0.0f, extent);
        h_flights[i].alt = rnd(6000.0f, 40000.0f);
        h_flights[i].vx = rnd(-8.0f, 8.0f);
        h_flights[i].vy = rnd(-8.0f, 8.0f);
        h_flights[i].climb = rnd(-500.0f, 500.0f);
        h_flights[i].callsign = 100 + i;
        h_flights[i].wake = (int)rnd(0.0f, 3.99f);
    }

    Flight *d_flights;
    Probe *d_probes;
    checkCudaErrors(cudaMalloc(&d_flights, n * sizeof(Flight)));
    checkCudaErrors(cudaMalloc(&d_probes, n * sizeof(Probe)));
    checkCudaErrors(cudaMemcpy(d_flights, h_flights, n * sizeof(Flight), cudaMemcpyHostToDevice));

    const int grid = (n + BLOCK - 1) / BLOCK;
    probeConflicts<BLOCK><<<grid, BLOCK>>>(d_flights, d_probes, n, 10.0f);
    fly<<<grid, BLOCK>>>(d_flights, n, 0.25f, extent);
    checkCudaErrors(cudaDeviceSynchronize());

    cudaEvent_t start, stop;
    checkCudaErrors(cudaEventCreate(&start));
    checkCudaErrors(cudaEventCreate(&stop));
    checkCudaErrors(cudaEventRecord(start));
    for (int s = 0; s < steps; s++) {
        probeConflicts<BLOCK><<<grid, BLOCK>>>(d_flights, d_probes, n, 10.0f);
        fly<<<grid, BLOCK>>>(d_flights, n, 0.25f, extent);
    }
    checkCudaErrors(cudaEventRecord(stop));
    checkCudaErrors(cudaEventSynchronize(stop));
    checkCudaErrors(cudaGetLastError());
    float ms = 0.0f;
    checkCudaErrors(cudaEventElapsedTime(&ms, start, stop));

    std::vector<Probe> probes(n);
    checkCudaErrors(cudaMemcpy(probes.data(), d_probes, n * sizeof(Probe), cudaMemcpyDeviceToHost));
    checkCudaErrors(cudaMemcpy(h_flights, d_flights, n * sizeof(Flight), cudaMemcpyDeviceToHost));
    unsigned long long check = 0;
    for (int i = 0; i < n; i++) {
        unsigned int b[3];
        memcpy(&b[0], &probes[i].missDist2, 4);
        memcpy(&b[1], &h_flights[i].x, 4);
        memcpy(&b[2], &h_flights[i].alt, 4);
        check = check * 131 + probes[i].conflicts + 7ULL * (unsigned)probes[i].nearest;
        check = check * 131 + b[0] + 3ULL * b[1] + 5ULL * b[2];
    }
    printf("time_ms %f\n", ms / steps);
    printf("check %llu\n", check);

    delete[] h_flights;
    cudaFree(d_flights);
    cudaFree(d_probes);
    return 0;
}
