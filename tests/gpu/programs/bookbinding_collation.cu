// A bindery: printed sheets are matched to presses (every sheet looks at every
// press, through shared tiles), fed to the first press that takes them (uniform
// loop with a break), collated in sewing order (random gather) and dried.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

#define MUST(x)                                                               \
    do {                                                                      \
        cudaError_t c_ = (x);                                                 \
        if (c_ != cudaSuccess) {                                              \
            fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(c_)); \
            exit(1);                                                          \
        }                                                                     \
    } while (0)

struct Sheet {
    int signature;
    short page;
    short grain;
    float width, height;
    float ink;
    float moisture;
    int order;
};

struct Press {
    float4 rollers;
    float2 bed;
    float force;
    float tol;
    int kind;
    int crew;
    float wear;
    float oil;
};

const int SHEETS = 1 << 19;
const int PRESSES = 1024;
const int TILE = 128;
const int DAYS = 16;

__device__ __forceinline__ float misfit(float w, float h, float ink, const Press& p)
{
    float a = p.bed.x - w;
    float b = p.bed.y - h;
    float c = p.force - ink;
    return a * a + b * b + 0.25f * c * c + p.tol;
}

__global__ void match_press(const Sheet* __restrict__ sheets, const Press* __restrict__ presses,
                            int npresses, int* __restrict__ best_press, float* __restrict__ best_cost)
{
    __shared__ Press tile[TILE];
    int i = blockIdx.x * TILE + threadIdx.x;
    float w = sheets[i].width;
    float h = sheets[i].height;
    float ink = sheets[i].ink;
    float best = 1e30f;
    int which = -1;
    for (int base = 0; base < npresses; base += TILE) {
        tile[threadIdx.x] = presses[base + threadIdx.x];
        __syncthreads();
        for (int k = 0; k < TILE; ++k) {
            float m = misfit(w, h, ink, tile[k]);
            if (m < best) {
                best = m;
                which = base + k;
            }
        }
        __syncthreads();
    }
    best_press[i] = which;
    best_cost[i] = best;
}

// all threads of a warp look at the same press; a sheet leaves when one takes it
__global__ void first_feed(const Sheet* sheets, const Press* presses, int npresses,
                           int* fed, int* tries)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= SHEETS) return;
    Sheet s = sheets[i];
    int k = 0;
    for (; k < npresses; ++k) {
        if (presses[k].kind != (s.grain & 3)) continue;
        if (presses[k].bed.x < s.width || presses[k].bed.y < s.height) continue;
        float grip = presses[k].rollers.x + presses[k].rollers.y * s.moisture
                   + presses[k].rollers.z * s.ink;
        if (grip > presses[k].rollers.w) break;
    }
    tries[i] = k;
    if (k < npresses) atomicAdd(&fed[k], 1);
}

__global__ void collate(const Sheet* sheets, const int* sewing, float4* spread, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Sheet s = sheets[sewing[i]];
    float4 o;
    o.x = s.width * s.height;
    o.y = s.ink + 0.001f * (float)s.page;
    o.z = s.moisture * (float)(s.grain + 1);
    o.w = (float)(s.signature % 97) + (float)(s.order & 7);
    spread[i] = o;
}

__global__ void dry(Sheet* sheets, float warmth, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    sheets[i].moisture *= 1.0f - 0.05f * warmth;
}

static unsigned state = 12345u;
static float uni()
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) * (1.0f / 16777216.0f);
}

int main()
{
    std::vector<Sheet> sheets(SHEETS);
    std::vector<Press> presses(PRESSES);
    std::vector<int> sewing(SHEETS);
    for (int i = 0; i < SHEETS; ++i) {
        sheets[i].signature = i / 16;
        sheets[i].page = (short)(i % 16);
        sheets[i].grain = (short)(uni() * 6.0f);
        sheets[i].width = 20.0f + 40.0f * uni() * uni();
        sheets[i].height = 30.0f + 50.0f * uni() * uni();
        sheets[i].ink = uni();
        sheets[i].moisture = 0.3f + 0.5f * uni();
        sheets[i].order = i;
        sewing[i] = i;
    }
    for (int i = SHEETS - 1; i > 0; --i) {
        int j = (int)(uni() * (float)(i + 1));
        if (j > i) j = i;
        int t = sewing[i];
        sewing[i] = sewing[j];
        sewing[j] = t;
    }
    for (int p = 0; p < PRESSES; ++p) {
        presses[p].rollers = make_float4(uni(), uni(), uni(), 0.6f + 1.4f * uni());
        presses[p].bed = make_float2(20.0f + 42.0f * uni(), 30.0f + 52.0f * uni());
        presses[p].force = uni();
        presses[p].tol = 0.1f * uni();
        presses[p].kind = p % 4;
        presses[p].crew = 1 + p % 3;
        presses[p].wear = uni();
        presses[p].oil = uni();
    }

    Sheet* d_sheets;
    Press* d_presses;
    int *d_sewing, *d_best, *d_fed, *d_tries;
    float* d_cost;
    float4* d_spread;
    MUST(cudaMalloc(&d_sheets, SHEETS * sizeof(Sheet)));
    MUST(cudaMalloc(&d_presses, PRESSES * sizeof(Press)));
    MUST(cudaMalloc(&d_sewing, SHEETS * sizeof(int)));
    MUST(cudaMalloc(&d_best, SHEETS * sizeof(int)));
    MUST(cudaMalloc(&d_tries, SHEETS * sizeof(int)));
    MUST(cudaMalloc(&d_cost, SHEETS * sizeof(float)));
    MUST(cudaMalloc(&d_spread, SHEETS * sizeof(float4)));
    MUST(cudaMalloc(&d_fed, PRESSES * sizeof(int)));
    MUST(cudaMemcpy(d_sheets, sheets.data(), SHEETS * sizeof(Sheet), cudaMemcpyHostToDevice));
    MUST(cudaMemcpy(d_presses, presses.data(), PRESSES * sizeof(Press), cudaMemcpyHostToDevice));
    MUST(cudaMemcpy(d_sewing, sewing.data(), SHEETS * sizeof(int), cudaMemcpyHostToDevice));
    MUST(cudaMemset(d_fed, 0, PRESSES * sizeof(int)));

    cudaEvent_t e0, e1;
    MUST(cudaEventCreate(&e0));
    MUST(cudaEventCreate(&e1));
    for (int day = -1; day < DAYS; ++day) {
        if (day == 0) MUST(cudaEventRecord(e0));
        match_press<<<SHEETS / TILE, TILE>>>(d_sheets, d_presses, PRESSES, d_best, d_cost);
        for (int shift = 0; shift < 4; ++shift) {
            first_feed<<<SHEETS / 256, 256>>>(d_sheets, d_presses, PRESSES, d_fed, d_tries);
            collate<<<SHEETS / 256, 256>>>(d_sheets, d_sewing, d_spread, SHEETS);
            dry<<<SHEETS / 256, 256>>>(d_sheets, 0.3f, SHEETS);
        }
    }
    MUST(cudaEventRecord(e1));
    MUST(cudaEventSynchronize(e1));
    MUST(cudaGetLastError());
    float ms = 0;
    MUST(cudaEventElapsedTime(&ms, e0, e1));

    std::vector<int> best(SHEETS), tries(SHEETS), fed(PRESSES);
    std::vector<float> cost(SHEETS);
    std::vector<float4> spread(SHEETS);
    MUST(cudaMemcpy(best.data(), d_best, SHEETS * sizeof(int), cudaMemcpyDeviceToHost));
    MUST(cudaMemcpy(tries.data(), d_tries, SHEETS * sizeof(int), cudaMemcpyDeviceToHost));
    MUST(cudaMemcpy(fed.data(), d_fed, PRESSES * sizeof(int), cudaMemcpyDeviceToHost));
    MUST(cudaMemcpy(cost.data(), d_cost, SHEETS * sizeof(float), cudaMemcpyDeviceToHost));
    MUST(cudaMemcpy(spread.data(), d_spread, SHEETS * sizeof(float4), cudaMemcpyDeviceToHost));
    double sb = 0, st = 0, sf = 0, sc = 0, ss = 0;
    for (int i = 0; i < SHEETS; ++i) {
        sb += best[i];
        st += tries[i];
        sc += cost[i];
        ss += spread[i].x + spread[i].y + spread[i].z + spread[i].w;
    }
    for (int p = 0; p < PRESSES; ++p) sf += (double)fed[p] * (1 + p % 5);
    printf("check best %.9g\n", sb);
    printf("check tries %.9g\n", st);
    printf("check fed %.9g\n", sf);
    printf("check cost %.8g\n", sc);
    printf("check spread %.8g\n", ss);
    printf("time_ms %.4f\n", ms);
    return 0;
}
