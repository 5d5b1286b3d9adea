/*
 * A sheet of independent heart-muscle-like cells, each with its own
 * conductances, reversal potentials and stimulus, integrated in time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

#define BLOCK_SIZE 192
#define DT 0.02f

struct CellParam {
    float g_na, g_k, g_ca, g_l;      /* conductances */
    float e_na, e_k, e_ca, e_l;      /* reversal potentials */
    float cm;                        /* capacitance */
    float phi_m, phi_h, phi_n;       /* temperature factors */
    float tau_d, tau_f;
    float stim_amp, stim_start, stim_len, stim_period;
    float ca_rest, k_up, k_rel, k_in;
    float sr_volume;
    int   type;
    int   row, col;
};

struct CellState {
    float v;
    float m, h, n;
    float d, f;
    float ca, ca_sr;
};

struct CellStats {
    float v_max;
    float v_min;
    float v_last;
    float t_cross;
    int   beats;
};

static void *checked_malloc(size_t bytes)
{
    void *p = malloc(bytes);
    if (!p) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return p;
}

static void check_cuda(cudaError_t e, const char *what)
{
    if (e != cudaSuccess) {
        fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
        exit(1);
    }
}

__device__ __forceinline__ float lin_exp(float x, float y)
{
    /* x / (1 - exp(-x/y)) without the singularity at zero */
    float r = x / y;
    if (fabsf(r) < 1e-4f)
        return y * (1.0f + 0.5f * r);
    return x / (1.0f - expf(-r));
}

__device__ float relax(float g, float alpha, float beta, float phi)
{
    float sum = alpha + beta;
    float inf = alpha / sum;
    return inf - (inf - g) * expf(-DT * phi * sum);
}

/* opening and closing of the channels */
__global__ void gates_kernel(CellState *s, const CellParam *p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;

    float v = s[i].v;
    float am = 0.1f * lin_exp(v + 40.0f, 10.0f);
    float bm = 4.0f * expf(-(v + 65.0f) / 18.0f);
    float ah = 0.07f * expf(-(v + 65.0f) / 20.0f);
    float bh = 1.0f / (1.0f + expf(-(v + 35.0f) / 10.0f));
    float an = 0.01f * lin_exp(v + 55.0f, 10.0f);
    float bn = 0.125f * expf(-(v + 65.0f) / 80.0f);

    s[i].m = relax(s[i].m, am, bm, p[i].phi_m);
    s[i].h = relax(s[i].h, ah, bh, p[i].phi_h);
    s[i].n = relax(s[i].n, an, bn, p[i].phi_n);

    float d_inf = 1.0f / (1.0f + expf(-(v + 10.0f) / 6.0f));
    float f_inf = 1.0f / (1.0f + expf((v + 30.0f) / 8.0f));
    s[i].d += (d_inf - s[i].d) * (1.0f - expf(-DT / p[i].tau_d));
    s[i].f += (f_inf - s[i].f) * (1.0f - expf(-DT / p[i].tau_f));
}

/* currents, voltage and calcium */
__global__ void voltage_kernel(CellState *s, const CellParam *p, int n, float t)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;

    CellState c = s[i];
    float i_na = p[i].g_na * c.m * c.m * c.m * c.h * (c.v - p[i].e_na);
    float n2 = c.n * c.n;
    float i_k = p[i].g_k * n2 * n2 * (c.v - p[i].e_k);
    float i_ca = p[i].g_ca * c.d * c.f * (c.v - p[i].e_ca);
    float i_l = p[i].g_l * (c.v - p[i].e_l);

    float stim = 0.0f;
    float phase = t - p[i].stim_start;
    if (phase >= 0.0f) {
        phase = fmodf(phase, p[i].stim_period);
        if (phase < p[i].stim_len)
            stim = p[i].stim_amp;
    }
    c.v += DT * (stim - i_na - i_k - i_ca - i_l) / p[i].cm;

    float release = p[i].k_rel * c.d * (c.ca_sr - c.ca);
    float uptake = p[i].k_up * (c.ca - p[i].ca_rest);
    c.ca += DT * (release - uptake - p[i].k_in * i_ca);
    c.ca_sr += DT * (uptake - release) / p[i].sr_volume;

    s[i].v = c.v;
    s[i].ca = c.ca;
    s[i].ca_sr = c.ca_sr;
}

__global__ void stats_kernel(CellStats *q, const CellState *s, int n, float t)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float v = s[i].v;
    if (v > q[i].v_max) q[i].v_max = v;
    if (v < q[i].v_min) q[i].v_min = v;
    if (q[i].v_last < -20.0f && v >= -20.0f) {
        q[i].beats++;
        q[i].t_cross = t;
    }
    q[i].v_last = v;
}

__global__ void reset_kernel(CellState *s, CellStats *q, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    CellState c;
    c.v = -65.0f;
    c.m = 0.053f; c.h = 0.596f; c.n = 0.318f;
    c.d = 0.0f;   c.f = 0.98f;
    c.ca = 0.1f;  c.ca_sr = 1.5f;
    s[i] = c;
    q[i].v_max = -1000.0f;
    q[i].v_min = 1000.0f;
    q[i].v_last = -65.0f;
    q[i].t_cross = -1.0f;
    q[i].beats = 0;
}

static float uniform(float lo, float hi)
{
    return lo + (hi - lo) * (float)(rand() / (double)RAND_MAX);
}

static void simulate(CellState *s, CellStats *q, const CellParam *p, int n, int steps)
{
    int grid = (n + BLOCK_SIZE - 1) / BLOCK_SIZE;
    reset_kernel<<<grid, BLOCK_SIZE>>>(s, q, n);
    for (int k = 0; k < steps; k++) {
        float t = k * DT;
        gates_kernel<<<grid, BLOCK_SIZE>>>(s, p, n);
        voltage_kernel<<<grid, BLOCK_SIZE>>>(s, p, n, t);
        stats_kernel<<<grid, BLOCK_SIZE>>>(q, s, n, t);
    }
}

int main(int argc, char **argv)
{
    int width = argc > 1 ? atoi(argv[1]) : 800;
    int steps = argc > 2 ? atoi(argv[2]) : 160;
    int reps = argc > 3 ? atoi(argv[3]) : 8;
    int n = width * width;

    CellParam *hp = (CellParam *)checked_malloc(n * sizeof(CellParam));
    CellState *hs = (CellState *)checked_malloc(n * sizeof(CellState));
    CellStats *hq = (CellStats *)checked_malloc(n * sizeof(CellStats));
    srand(7);
    for (int i = 0; i < n; i++) {
        CellParam *p = &hp[i];
        p->g_na = uniform(110.0f, 130.0f);
        p->g_k = uniform(32.0f, 40.0f);
        p->g_ca = uniform(0.5f, 1.5f);
        p->g_l = 0.3f;
        p->e_na = 50.0f; p->e_k = -77.0f; p->e_ca = 80.0f; p->e_l = -54.4f;
        p->cm = uniform(0.95f, 1.1f);
        p->phi_m = 1.0f; p->phi_h = 1.0f; p->phi_n = uniform(0.9f, 1.1f);
        p->tau_d = 1.2f; p->tau_f = 20.0f;
        p->type = rand() % 3;
        p->stim_amp = p->type == 2 ? 0.0f : uniform(18.0f, 30.0f);
        p->stim_start = 0.2f;
        p->stim_len = 1.0f;
        p->stim_period = uniform(12.0f, 20.0f);
        p->ca_rest = 0.1f; p->k_up = 0.3f; p->k_rel = 0.5f; p->k_in = 0.002f;
        p->sr_volume = 0.2f;
        p->row = i / width; p->col = i % width;
    }

    CellParam *dp; CellState *ds; CellStats *dq;
    check_cuda(cudaMalloc((void **)&dp, n * sizeof(CellParam)), "malloc params");
    check_cuda(cudaMalloc((void **)&ds, n * sizeof(CellState)), "malloc states");
    check_cuda(cudaMalloc((void **)&dq, n * sizeof(CellStats)), "malloc stats");
    check_cuda(cudaMemcpy(dp, hp, n * sizeof(CellParam), cudaMemcpyHostToDevice), "copy");

    simulate(ds, dq, dp, n, steps);
    check_cuda(cudaDeviceSynchronize(), "warm-up");

    cudaEvent_t start, stop;
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    cudaEventRecord(start);
    for (int r = 0; r < reps; r++)
        simulate(ds, dq, dp, n, steps);
    cudaEventRecord(stop);
    check_cuda(cudaEventSynchronize(stop), "timed runs");
    float ms = 0.0f;
    cudaEventElapsedTime(&ms, start, stop);

    check_cuda(cudaMemcpy(hs, ds, n * sizeof(CellState), cudaMemcpyDeviceToHost), "copy");
    check_cuda(cudaMemcpy(hq, dq, n * sizeof(CellStats), cudaMemcpyDeviceToHost), "copy");
    double sv = 0, sca = 0, sgate = 0, smax = 0, beats = 0;
    for (int i = 0; i < n; i++) {
        sv += hs[i].v;
        sca += hs[i].ca + hs[i].ca_sr;
        sgate += hs[i].m + hs[i].h + hs[i].n + hs[i].d + hs[i].f;
        smax += hq[i].v_max;
        beats += hq[i].beats;
    }
    printf("check mean_voltage %.5g\n", sv / n);
    printf("check mean_calcium %.5g\n", sca / n);
    printf("check mean_gates %.5g\n", sgate / n);
    printf("check mean_peak %.5g\n", smax / n);
    printf("check beats_per_cell %.3g\n", beats / n);
    printf("time_ms %.6f\n", ms / reps);

    cudaFree(dp); cudaFree(ds); cudaFree(dq);
    free(hp); free(hs); free(hq);
    return 0;
}
