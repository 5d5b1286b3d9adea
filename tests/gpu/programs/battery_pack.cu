/* Electro-thermal model of a grid-storage hall: 64 racks, each 96 groups in
 * series of 46 parallel cells.  First-order RC equivalent circuit per cell,
 * current sharing within each parallel group, conduction to up to six
 * neighbours, and coolant channels marched from inlet to outlet. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cuda_runtime.h>
#define CUDA_TRY(call) do { cudaError_t err = (call); if (err != cudaSuccess) { \
    fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(err)); \
    exit(EXIT_FAILURE); } } while (0)
enum { RACKS = 64, SERIES = 96, PARALLEL = 46, GROUPS = RACKS * SERIES, NCELL = GROUPS * PARALLEL };
enum { NCHAN = RACKS * PARALLEL, CHAN_LEN = SERIES };   /* one channel cools one column of a rack */
#define DT 0.5f
#define T_IN 22.0f
enum { SUBSTEPS = 5, REPS = 40, WARM = 2 };
typedef struct {
    double soc;
    float temp, temp_new;
    float r0, r1, c1;
    float vrc, current, volt, heat;
    float cap_ah, heat_cap;   /* Ah, J/K */
    int nb[6];             /* neighbour cells, -1 if none */
    float cond[6];         /* W/K */
    short group, chan;
    char state;            /* 0 ok, 1 warm, 2 derated */
    char chem;
    short cycles;
} Cell;
typedef struct {
    float volt, demand, t_max;
    short rack, derated;
} Group;
typedef struct {
    float inlet, outlet;
    float flow_cp, h_area; /* W/K, the latter per cell */
    double removed;        /* J */
} Channel;

__constant__ float c_ocv[2][6] = {
    { 3.00f, 1.90f, -3.60f, 4.10f, -1.55f, 0.28f },
    { 2.85f, 1.40f, -3.10f, 3.20f, -1.10f, 0.15f }
};

__device__ static float ocv(int chem, float s)
{
    const float *k = c_ocv[chem];
    return k[0] + s * (k[1] + s * (k[2] + s * (k[3] + s * (k[4] + s * k[5]))));
}

/* Temperature and charge dependent resistances. */
__global__ void update_params(Cell *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float t = c[i].temp + 273.15f;
    float s = (float)c[i].soc;
    float arr = expf(1800.0f * (1.0f / t - 1.0f / 298.15f));
    float base = c[i].chem ? 0.024f : 0.018f;
    float age = 1.0f + 0.0004f * c[i].cycles;
    c[i].r0 = base * age * arr * (1.0f + 0.6f * expf(-12.0f * s));
    c[i].r1 = 0.6f * base * arr * (1.0f + 0.3f * (1.0f - s));
}

__global__ void set_demand(Group *g, int step)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= GROUPS) return;
    float ph = 0.06f * step + 0.7f * g[i].rack;
    float amps = PARALLEL * (2.2f + 1.6f * sinf(ph) + 0.5f * sinf(3.1f * ph));
    g[i].derated = g[i].t_max > 45.0f;
    g[i].demand = g[i].derated ? 0.7f * amps : amps;
}

/* One block per parallel group: common terminal voltage, then cell currents. */
__global__ void share_current(Cell *c, Group *g)
{
    __shared__ float s_ge[64], s_g[64], s_t[64];
    int t = threadIdx.x;
    int i = blockIdx.x * PARALLEL + t;
    float cond = 0.0f, emf = 0.0f, temp = -100.0f;
    if (t < PARALLEL) {
        emf = ocv(c[i].chem, (float)c[i].soc) - c[i].vrc;
        cond = 1.0f / c[i].r0;
        temp = c[i].temp;
    }
    s_ge[t] = cond * emf; s_g[t] = cond; s_t[t] = temp;
    __syncthreads();
    for (int w = 32; w > 0; w >>= 1) {
        if (t < w) {
            s_ge[t] += s_ge[t + w]; s_g[t] += s_g[t + w];
            s_t[t] = fmaxf(s_t[t], s_t[t + w]);
        }
        __syncthreads();
    }
    float v = (s_ge[0] - g[blockIdx.x].demand) / s_g[0];
    if (t < PARALLEL) { c[i].volt = v; c[i].current = (emf - v) * cond; }
    if (t == 0) { g[blockIdx.x].volt = v; g[blockIdx.x].t_max = s_t[0]; }
}

__global__ void step_cells(Cell *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float cur = c[i].current;
    float decay = expf(-DT / (c[i].r1 * c[i].c1));
    float vrc = c[i].vrc * decay + c[i].r1 * (1.0f - decay) * cur;
    double s = c[i].soc - (double)cur * DT / (3600.0 * c[i].cap_ah);
    c[i].soc = s < 0.02 ? 0.02 : (s > 0.98 ? 0.98 : s);
    c[i].vrc = vrc;
    c[i].heat = cur * cur * c[i].r0 + vrc * vrc / c[i].r1 + 2.0e-4f * cur * (c[i].temp + 273.15f);
}

__global__ void conduct(Cell *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float t = c[i].temp, q = c[i].heat;
    for (int k = 0; k < 6; k++) {
        int j = c[i].nb[k];
        if (j >= 0) q += c[i].cond[k] * (c[j].temp - t);
    }
    c[i].temp_new = t + DT * q / c[i].heat_cap;
}

/* One thread per channel; fluid temperature carries down the channel. */
__global__ void march_coolant(Channel *ch, Cell *c, const int *list)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= NCHAN) return;
    float fluid = ch[k].inlet, sum = 0.0f;
    for (int s = 0; s < CHAN_LEN; s++) {
        int i = list[k * CHAN_LEN + s];
        float q = ch[k].h_area * (c[i].temp_new - fluid);
        c[i].temp_new -= DT * q / c[i].heat_cap;
        fluid += q / ch[k].flow_cp;
        sum += q;
    }
    ch[k].outlet = fluid;
    ch[k].removed += (double)sum * DT;
}

__global__ void commit(Cell *c, int n, unsigned int *warnings)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float t = c[i].temp_new;
    char st = t > 45.0f ? 2 : (t > 38.0f ? 1 : 0);
    if (st > c[i].state) atomicAdd(warnings, 1u);
    if (st != c[i].state) c[i].state = st;
    c[i].temp = t;
}

static float frand(void)
{
    static unsigned int g_seed = 4242u;
    g_seed = g_seed * 1103515245u + 12345u;
    return (float)((g_seed >> 8) & 0xffffff) / 16777216.0f;
}

static void build(Cell *c, Group *g, Channel *ch, int *list)
{
    static const int dr[6] = { 1, -1, 0, 0, 0, 0 }, dc[6] = { 0, 0, 1, -1, 0, 0 };
    memset(c, 0, NCELL * sizeof(Cell));
    for (int i = 0; i < NCELL; i++) {
        int grp = i / PARALLEL, col = i % PARALLEL, row = grp % SERIES, rack = grp / SERIES;
        c[i].soc = 0.72 + 0.06 * frand();
        c[i].temp = c[i].temp_new = 26.0f + 14.0f * frand();
        c[i].r0 = 0.02f; c[i].r1 = 0.012f; c[i].c1 = 1500.0f + 400.0f * frand();
        c[i].cap_ah = 4.6f + 0.3f * frand(); c[i].heat_cap = 62.0f + 6.0f * frand();
        c[i].group = (short)grp; c[i].chan = (short)(rack * PARALLEL + col);
        c[i].chem = (char)(rack % 3 == 0);
        c[i].cycles = (short)(frand() * 1500.0f);
        for (int k = 0; k < 6; k++) {
            int r2 = row + dr[k], c2 = col + dc[k], k2 = rack;
            if (k == 4) k2 = (rack & 7) < 7 ? rack + 1 : -1;
            if (k == 5) k2 = (rack & 7) > 0 ? rack - 1 : -1;
            int ok = r2 >= 0 && r2 < SERIES && c2 >= 0 && c2 < PARALLEL && k2 >= 0;
            c[i].nb[k] = ok ? (k2 * SERIES + r2) * PARALLEL + c2 : -1;
            c[i].cond[k] = k < 2 ? 0.35f : (k < 4 ? 0.55f : 0.04f);
        }
        list[c[i].chan * CHAN_LEN + ((col & 1) ? SERIES - 1 - row : row)] = i;
    }
    memset(g, 0, GROUPS * sizeof(Group));
    for (int k = 0; k < GROUPS; k++) g[k].rack = (short)(k / SERIES);
    for (int k = 0; k < NCHAN; k++) {
        ch[k].inlet = ch[k].outlet = T_IN + 2.0f * frand();
        ch[k].flow_cp = 18.0f + 6.0f * frand();
        ch[k].h_area = 0.22f; ch[k].removed = 0.0;
    }
}

static void *to_device(const void *src, size_t bytes)
{
    void *p;
    CUDA_TRY(cudaMalloc(&p, bytes));
    CUDA_TRY(cudaMemcpy(p, src, bytes, cudaMemcpyHostToDevice));
    return p;
}

int main(void)
{
    Cell *h_c = (Cell *)malloc(NCELL * sizeof(Cell)), *d_c;
    Group *h_g = (Group *)malloc(GROUPS * sizeof(Group)), *d_g;
    Channel *h_ch = (Channel *)malloc(NCHAN * sizeof(Channel)), *d_ch;
    int *h_list = (int *)malloc(NCELL * sizeof(int)), *d_list;
    unsigned int *d_warn, h_warn;
    build(h_c, h_g, h_ch, h_list);
    d_c = (Cell *)to_device(h_c, NCELL * sizeof(Cell));
    d_g = (Group *)to_device(h_g, GROUPS * sizeof(Group));
    d_ch = (Channel *)to_device(h_ch, NCHAN * sizeof(Channel));
    d_list = (int *)to_device(h_list, NCELL * sizeof(int));
    CUDA_TRY(cudaMalloc((void **)&d_warn, sizeof(unsigned int)));
    CUDA_TRY(cudaMemset(d_warn, 0, sizeof(unsigned int)));
    int tpb = 256, nb = (NCELL + tpb - 1) / tpb, step = 0;
    cudaEvent_t ev0, ev1;
    CUDA_TRY(cudaEventCreate(&ev0)); CUDA_TRY(cudaEventCreate(&ev1));
    for (int rep = 0; rep < WARM + REPS; rep++) {
        if (rep == WARM) CUDA_TRY(cudaEventRecord(ev0, 0));
        for (int s = 0; s < SUBSTEPS; s++, step++) {
            update_params<<<nb, tpb>>>(d_c, NCELL);
            set_demand<<<(GROUPS + 127) / 128, 128>>>(d_g, step);
            share_current<<<GROUPS, 64>>>(d_c, d_g);
            step_cells<<<nb, tpb>>>(d_c, NCELL);
            conduct<<<nb, tpb>>>(d_c, NCELL);
            march_coolant<<<(NCHAN + 63) / 64, 64>>>(d_ch, d_c, d_list);
            commit<<<nb, tpb>>>(d_c, NCELL, d_warn);
        }
    }
    CUDA_TRY(cudaEventRecord(ev1, 0)); CUDA_TRY(cudaEventSynchronize(ev1));
    CUDA_TRY(cudaGetLastError());
    float ms;
    CUDA_TRY(cudaEventElapsedTime(&ms, ev0, ev1));
    CUDA_TRY(cudaMemcpy(h_c, d_c, NCELL * sizeof(Cell), cudaMemcpyDeviceToHost));
    CUDA_TRY(cudaMemcpy(h_g, d_g, GROUPS * sizeof(Group), cudaMemcpyDeviceToHost));
    CUDA_TRY(cudaMemcpy(h_ch, d_ch, NCHAN * sizeof(Channel), cudaMemcpyDeviceToHost));
    CUDA_TRY(cudaMemcpy(&h_warn, d_warn, sizeof(h_warn), cudaMemcpyDeviceToHost));
    double soc = 0, temp = 0, volt = 0, removed = 0, heat = 0;
    for (int i = 0; i < NCELL; i++) { soc += h_c[i].soc; temp += h_c[i].temp; heat += h_c[i].heat; }
    for (int k = 0; k < GROUPS; k++) volt += h_g[k].volt;
    for (int k = 0; k < NCHAN; k++) removed += h_ch[k].removed;
    printf("check soc %.9g\ncheck temp %.9g\ncheck heat %.9g\n", soc, temp, heat);
    printf("check volt %.9g\ncheck removed %.9g\ncheck warnings %.9g\n", volt, removed, (double)h_warn);
    printf("time_ms %.5f\n", ms / REPS);
    cudaFree(d_c); cudaFree(d_g); cudaFree(d_ch); cudaFree(d_list); cudaFree(d_warn);
    free(h_c); free(h_g); free(h_ch); free(h_list);
    return 0;
}
