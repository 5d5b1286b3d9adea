/*
 * Ageing simulation of a fleet of battery cells.
 * Each time step has two phases: the electrical / thermal state of every cell
 * is advanced, then wear is accumulated according to temperature and charge.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <cuda_runtime.h>

#define gpuErrchk(ans) { gpuAssert((ans), __FILE__, __LINE__); }
inline void gpuAssert(cudaError_t code, const char *file, int line)
{
    if (code != cudaSuccess) {
        fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line);
        exit(code);
    }
}

typedef struct {
    float charge;       /* state of charge, 0..1 */
    float temp;         /* degrees Celsius */
    float current;      /* A, positive: discharging */
    float resistance;   /* Ohm */
    float capacity;     /* Ah */
    float wear;         /* fraction of life used */
    int   alarms;
} Cell;

__global__ void advance_cells(Cell *cells, int n, float dt, float ambient)
{
    int tid = blockIdx.x * blockDim.x + threadIdx.x;
    if (tid < n) {
        Cell *c = &cells[tid];
        float amps = c->current;
        float q = c->charge - amps * dt / (3600.0f * c->capacity);
        if (q < 0.05f) {
            q = 0.05f;
            c->current = -amps;
        } else if (q > 0.95f) {
            q = 0.95f;
            c->current = -amps;
        }
        c->charge = q;
        float heat = amps * amps * c->resistance - 0.15f * (c->temp - ambient);
        c->temp += heat * dt * 0.01f;
    }
}

__global__ void age_cells(Cell *cells, int n, float dt, float limit)
{
    int tid = blockIdx.x * blockDim.x + threadIdx.x;
    if (tid < n) {
        float t = cells[tid].temp;
        float dev = fabsf(cells[tid].charge - 0.5f);
        float rate = expf(0.035f * (t - 25.0f)) * (1.0f + 2.0f * dev);
        cells[tid].wear += 1.0e-6f * rate * dt;
        if (t > limit)
            cells[tid].alarms++;
    }
}

static void run_step(Cell *d_cells, int n, int step)
{
    const int block = 256;
    const int grid = (n + block - 1) / block;
    float ambient = 20.0f + 10.0f * sinf(0.1f * step);
    advance_cells<<<grid, block>>>(d_cells, n, 10.0f, ambient);
    age_cells<<<grid, block>>>(d_cells, n, 10.0f, 38.0f);
}

static unsigned int lcg_state = 12345u;
static float frand(float lo, float hi)
{
    lcg_state = lcg_state * 1664525u + 1013904223u;
    return lo + (hi - lo) * ((lcg_state >> 8) / 16777216.0f);
}

int main(int argc, char **argv)
{
    int n = 3500000;
    if (argc > 1) n = atoi(argv[1]);
    if (n <= 0) {
        fprintf(stderr, "number of cells must be positive\n");
        return 1;
    }
    const int steps = 50;

    size_t bytes = (size_t)n * sizeof(Cell);
    Cell *cells = (Cell *)malloc(bytes);
    if (!cells) {
        fprintf(stderr, "out of memory\n");
        return 1;
    }
    for (int i = 0; i < n; i++) {
        cells[i].charge = frand(0.06f, 0.94f);
        cells[i].temp = frand(15.0f, 40.0f);
        cells[i].current = frand(-8.0f, 8.0f);
        cells[i].resistance = frand(0.02f, 0.08f);
        cells[i].capacity = frand(2.0f, 5.0f);
        cells[i].wear = frand(0.0f, 0.3f);
        cells[i].alarms = 0;
    }

    Cell *d_cells = NULL;
    gpuErrchk(cudaMalloc((void **)&d_cells, bytes));
    gpuErrchk(cudaMemcpy(d_cells, cells, bytes, cudaMemcpyHostToDevice));

    run_step(d_cells, n, 0);
    gpuErrchk(cudaPeekAtLastError());
    gpuErrchk(cudaDeviceSynchronize());

    cudaEvent_t begin, end;
    gpuErrchk(cudaEventCreate(&begin));
    gpuErrchk(cudaEventCreate(&end));
    gpuErrchk(cudaEventRecord(begin, 0));
    for (int s = 1; s <= steps; s++)
        run_step(d_cells, n, s);
    gpuErrchk(cudaEventRecord(end, 0));
    gpuErrchk(cudaEventSynchronize(end));
    gpuErrchk(cudaPeekAtLastError());
    float elapsed = 0.0f;
    gpuErrchk(cudaEventElapsedTime(&elapsed, begin, end));

    gpuErrchk(cudaMemcpy(cells, d_cells, bytes, cudaMemcpyDeviceToHost));

    unsigned long long check = 0;
    for (int i = 0; i < n; i++) {
        unsigned int w[4];
        memcpy(&w[0], &cells[i].charge, 4);
        memcpy(&w[1], &cells[i].temp, 4);
        memcpy(&w[2], &cells[i].wear, 4);
        memcpy(&w[3], &cells[i].current, 4);
        for (int k = 0; k < 4; k++)
            check = check * 31 + w[k];
        check += (unsigned long long)cells[i].alarms;
    }
    printf("time_ms %f\n", elapsed / steps);
    printf("check %llu\n", check);

    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    cudaFree(d_cells);
    free(cells);
    return 0;
}
