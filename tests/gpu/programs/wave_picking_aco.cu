/*
 * Warehouse wave picking: ant-colony optimisation of the pick tour of many
 * waves at once.  All costs are kept in integer decimetres and pheromones in
 * fixed point so that results are reproducible across GPUs.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

#define N_WAVES     3000
#define PICKS       32                    /* pick stops per wave           */
#define ANTS        24                    /* ants per wave                 */
#define N_PICKS     (N_WAVES * PICKS)
#define N_EDGES     (N_WAVES * PICKS * PICKS)
#define N_ANTS      (N_WAVES * ANTS)
#define N_ITER      30
#define TAU_MAX     4095
#define TAU_MIN     16

#define CK(x) ck((x), #x, __LINE__)
static void ck(cudaError_t e, const char *what, int line)
{
    if (e == cudaSuccess) return;
    fprintf(stderr, "line %d: %s -> %s\n", line, what, cudaGetErrorString(e));
    exit(1);
}

typedef struct {
    int            sku;
    int            order_no;
    short          aisle;
    short          bay;
    unsigned char  level;
    unsigned char  zone;
    unsigned short qty;
    float          unit_volume;           /* litres */
    float          unit_weight;           /* kg     */
    int            pick_time;             /* deciseconds */
    int            visits;                /* how often chosen as first stop */
} PickStop;

typedef struct {
    int            tau;                   /* pheromone, fixed point */
    int            eta;                   /* visibility             */
    int            dist;                  /* decimetres             */
    unsigned short uses;
    unsigned short elite;
} Edge;

typedef struct {
    unsigned int   rng;
    int            wave;
    int            length;
    int            best_length;
    int            improvements;
    unsigned int   picked_mask;
    float          fatigue;
    unsigned char  tour[PICKS];
} Ant;

typedef struct {
    int            best_length;
    int            best_ant;
    int            iter_best;
    int            stagnation;
    float          volume;
    float          weight;
    unsigned char  best_tour[PICKS];
} Wave;

__device__ __forceinline__ unsigned int xorshift(unsigned int &s)
{
    s ^= s << 13;
    s ^= s >> 17;
    s ^= s << 5;
    return s;
}

/* Walk between two stops: cross-aisles at bay 0 and bay 60. */
__host__ __device__ static int walk_dm(const PickStop *a, const PickStop *b)
{
    int lift = 8 * abs((int)a->level - (int)b->level);
    if (a->aisle == b->aisle)
        return 12 * abs(a->bay - b->bay) + lift;
    int front = a->bay + b->bay;
    int back  = 120 - front;
    int along = front < back ? front : back;
    return 12 * along + 35 * abs(a->aisle - b->aisle) + lift;
}

/* Edge initialisation, 2-D blocks: x = destination, y = source. */
__global__ void init_edges(Edge *edges, const PickStop *stops)
{
    int j = threadIdx.x;
    int i = threadIdx.y + blockIdx.y * blockDim.y;
    int w = blockIdx.x;
    if (i >= PICKS || j >= PICKS) return;
    Edge e;
    e.dist  = walk_dm(&stops[w * PICKS + i], &stops[w * PICKS + j]);
    e.tau   = 256;
    e.eta   = 4000 / (e.dist + 10);
    e.uses  = 0;
    e.elite = 0;
    edges[(w * PICKS + i) * PICKS + j] = e;
}

/* Each ant builds one tour by roulette wheel over the unvisited stops. */
__global__ void build_tours(Ant *ants, const Edge *__restrict__ edges, PickStop *stops)
{
    int a = blockIdx.x * blockDim.x + threadIdx.x;
    if (a >= N_ANTS) return;

    int w = ants[a].wave;
    unsigned int rng = ants[a].rng;
    const Edge *E = edges + (size_t)w * PICKS * PICKS;

    int cur = (int)(xorshift(rng) % PICKS);
    int first = cur;
    unsigned int mask = 1u << cur;
    int len = 0;
    ants[a].tour[0] = (unsigned char)cur;

    for (int s = 1; s < PICKS; ++s) {
        unsigned int total = 0;
        for (int j = 0; j < PICKS; ++j) {
            if (mask & (1u << j)) continue;
            total += (unsigned int)(E[cur * PICKS + j].tau * E[cur * PICKS + j].eta) >> 4;
        }
        unsigned int pick = xorshift(rng);
        pick = total ? pick % total : 0u;
        int next = -1;
        unsigned int acc = 0;
        for (int j = 0; j < PICKS; ++j) {
            if (mask & (1u << j)) continue;
            acc += (unsigned int)(E[cur * PICKS + j].tau * E[cur * PICKS + j].eta) >> 4;
            next = j;
            if (acc > pick) break;
        }
        len += E[cur * PICKS + next].dist;
        mask |= 1u << next;
        ants[a].tour[s] = (unsigned char)next;
        cur = next;
    }
    len += E[cur * PICKS + first].dist;

    ants[a].rng = rng;
    ants[a].length = len;
    ants[a].picked_mask = mask;
    ants[a].fatigue = 0.5f * ants[a].fatigue + 0.0005f * (float)len;
    if (len < ants[a].best_length) {
        ants[a].best_length = len;
        ants[a].improvements++;
    }
    atomicAdd(&stops[w * PICKS + first].visits, 1);
}

/* One warp per wave: find the best ant of this iteration (lowest index wins). */
__global__ void select_best(Wave *waves, const Ant *ants)
{
    __shared__ int s_len[4][32];
    __shared__ int s_ant[4][32];
    int lane = threadIdx.x;
    int row  = threadIdx.y;
    int w    = blockIdx.x * blockDim.y + row;

    int len = 0x7fffffff, id = -1;
    if (w < N_WAVES && lane < ANTS) {
        id  = w * ANTS + lane;
        len = ants[id].length;
    }
    s_len[row][lane] = len;
    s_ant[row][lane] = id;
    __syncthreads();
    for (int off = 16; off > 0; off >>= 1) {
        if (lane < off) {
            int l2 = s_len[row][lane + off];
            int i2 = s_ant[row][lane + off];
            if (l2 < s_len[row][lane] || (l2 == s_len[row][lane] && i2 >= 0 && i2 < s_ant[row][lane])) {
                s_len[row][lane] = l2;
                s_ant[row][lane] = i2;
            }
        }
        __syncthreads();
    }
    if (w >= N_WAVES) return;
    int best = s_ant[row][0];
    int blen = s_len[row][0];
    bool improved = blen < waves[w].best_length;
    __syncwarp();
    if (improved)
        waves[w].best_tour[lane] = ants[best].tour[lane];
    if (lane == 0) {
        waves[w].iter_best = blen;
        if (improved) {
            waves[w].best_length = blen;
            waves[w].best_ant = best;
            waves[w].stagnation = 0;
        } else {
            waves[w].stagnation += 1;
        }
    }
}

__global__ void evaporate(Edge *edges, const Wave *waves)
{
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= N_EDGES) return;
    int w = e / (PICKS * PICKS);
    int t = edges[e].tau;
    if (waves[w].stagnation > 12)
        t = (t * 3 + 256) >> 2;           /* smoothing restart */
    else
        t -= t >> 4;
    edges[e].tau = t < TAU_MIN ? TAU_MIN : t;
}

/* Deposit along the best-so-far tour, one thread per tour leg. */
__global__ void deposit(Edge *edges, const Wave *waves)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= N_PICKS) return;
    int w = k / PICKS, s = k % PICKS;
    const Wave &wv = waves[w];
    int from = wv.best_tour[s];
    int to   = wv.best_tour[(s + 1) % PICKS];
    int amount = 400000 / (wv.best_length + 1);
    Edge *fw = &edges[(w * PICKS + from) * PICKS + to];
    int t = fw->tau + amount;
    fw->tau = t > TAU_MAX ? TAU_MAX : t;
    fw->uses++;
    if (wv.stagnation == 0)
        fw->elite++;
}

int main(void)
{
    unsigned int seed = 12345u;
    auto rnd = [&seed]() { seed = seed * 1664525u + 1013904223u; return seed >> 8; };

    PickStop *h_stops = (PickStop *)calloc(N_PICKS, sizeof(PickStop));
    Ant      *h_ants  = (Ant *)calloc(N_ANTS, sizeof(Ant));
    Wave     *h_waves = (Wave *)calloc(N_WAVES, sizeof(Wave));
    Edge     *h_edges = (Edge *)malloc(sizeof(Edge) * (size_t)N_EDGES);
    if (!h_stops || !h_ants || !h_waves || !h_edges) return 1;

    for (int i = 0; i < N_PICKS; ++i) {
        h_stops[i].sku = (int)(rnd() % 50000);
        h_stops[i].order_no = i / 4;
        h_stops[i].aisle = (short)(rnd() % 24);
        h_stops[i].bay = (short)(rnd() % 60);
        h_stops[i].level = (unsigned char)(rnd() % 5);
        h_stops[i].zone = (unsigned char)(h_stops[i].aisle / 6);
        h_stops[i].qty = (unsigned short)(1 + rnd() % 6);
        h_stops[i].unit_volume = 0.25f * (float)(1 + rnd() % 20);
        h_stops[i].unit_weight = 0.125f * (float)(1 + rnd() % 40);
        h_stops[i].pick_time = 60 + (int)(rnd() % 90);
        Wave *w = &h_waves[i / PICKS];
        w->volume += h_stops[i].qty * h_stops[i].unit_volume;
        w->weight += h_stops[i].qty * h_stops[i].unit_weight;
    }
    for (int w = 0; w < N_WAVES; ++w) {
        h_waves[w].best_length = 0x3fffffff;
        h_waves[w].best_ant = -1;
        for (int s = 0; s < PICKS; ++s) h_waves[w].best_tour[s] = (unsigned char)s;
    }
    for (int a = 0; a < N_ANTS; ++a) {
        h_ants[a].wave = a / ANTS;
        h_ants[a].rng = (rnd() << 7) ^ (unsigned int)(a * 2654435761u) ^ 0x9e3779b9u;
        if (h_ants[a].rng == 0) h_ants[a].rng = 1;
        h_ants[a].best_length = 0x3fffffff;
    }

    PickStop *d_stops; Ant *d_ants; Wave *d_waves; Edge *d_edges;
    CK(cudaMalloc(&d_stops, sizeof(PickStop) * N_PICKS));
    CK(cudaMalloc(&d_ants,  sizeof(Ant) * N_ANTS));
    CK(cudaMalloc(&d_waves, sizeof(Wave) * N_WAVES));
    CK(cudaMalloc(&d_edges, sizeof(Edge) * (size_t)N_EDGES));
    CK(cudaMemcpy(d_stops, h_stops, sizeof(PickStop) * N_PICKS, cudaMemcpyHostToDevice));
    CK(cudaMemcpy(d_ants,  h_ants,  sizeof(Ant) * N_ANTS, cudaMemcpyHostToDevice));
    CK(cudaMemcpy(d_waves, h_waves, sizeof(Wave) * N_WAVES, cudaMemcpyHostToDevice));

    dim3 eb(PICKS, 8), eg(N_WAVES, PICKS / 8);
    init_edges<<<eg, eb>>>(d_edges, d_stops);
    CK(cudaGetLastError());

    cudaEvent_t ev0, ev1;
    CK(cudaEventCreate(&ev0));
    CK(cudaEventCreate(&ev1));
    long long first_total = 0;
    for (int it = -1; it < N_ITER; ++it) {
        if (it == 0) {
            /* the first iteration was the warm-up; verify that tours are complete */
            CK(cudaDeviceSynchronize());
            CK(cudaMemcpy(h_ants, d_ants, sizeof(Ant) * N_ANTS, cudaMemcpyDeviceToHost));
            for (int a = 0; a < N_ANTS; ++a) {
                unsigned int m = 0;
                for (int s = 0; s < PICKS; ++s) m |= 1u << h_ants[a].tour[s];
                if (m != 0xffffffffu || h_ants[a].picked_mask != m) {
                    fprintf(stderr, "ant %d: incomplete tour\n", a);
                    return 1;
                }
                first_total += h_ants[a].length;
            }
            CK(cudaEventRecord(ev0));
        }
        build_tours<<<(N_ANTS + 127) / 128, 128>>>(d_ants, d_edges, d_stops);
        select_best<<<(N_WAVES + 3) / 4, dim3(32, 4)>>>(d_waves, d_ants);
        evaporate<<<(N_EDGES + 255) / 256, 256>>>(d_edges, d_waves);
        deposit<<<(N_PICKS + 255) / 256, 256>>>(d_edges, d_waves);
    }
    CK(cudaEventRecord(ev1));
    CK(cudaEventSynchronize(ev1));
    CK(cudaGetLastError());
    float ms;
    CK(cudaEventElapsedTime(&ms, ev0, ev1));

    CK(cudaMemcpy(h_ants,  d_ants,  sizeof(Ant) * N_ANTS, cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(h_waves, d_waves, sizeof(Wave) * N_WAVES, cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(h_stops, d_stops, sizeof(PickStop) * N_PICKS, cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(h_edges, d_edges, sizeof(Edge) * (size_t)N_EDGES, cudaMemcpyDeviceToHost));

    long long best = 0, last_total = 0, impr = 0, tau = 0, uses = 0, elite = 0, visits = 0, stag = 0;
    double fatigue = 0.0;
    for (int w = 0; w < N_WAVES; ++w) {
        best += h_waves[w].best_length;
        stag += h_waves[w].stagnation;
    }
    for (int a = 0; a < N_ANTS; ++a) {
        last_total += h_ants[a].length;
        impr += h_ants[a].improvements;
        fatigue += h_ants[a].fatigue;
    }
    for (long long e = 0; e < N_EDGES; ++e) {
        tau += h_edges[e].tau;
        uses += h_edges[e].uses;
        elite += h_edges[e].elite;
    }
    for (int i = 0; i < N_PICKS; ++i) visits += (long long)h_stops[i].visits * (i % PICKS + 1);

    printf("check first_total %lld\n", first_total);
    printf("check last_total %lld\n", last_total);
    printf("check best_total %lld\n", best);
    printf("check improvements %lld\n", impr);
    printf("check stagnation %lld\n", stag);
    printf("check tau_sum %lld\n", tau);
    printf("check uses %lld\n", uses);
    printf("check elite %lld\n", elite);
    printf("check first_stop_moment %lld\n", visits);
    printf("check fatigue %.3e\n", fatigue);
    printf("time_ms %.5f\n", ms / N_ITER);

    CK(cudaFree(d_stops)); CK(cudaFree(d_ants)); CK(cudaFree(d_waves)); CK(cudaFree(d_edges));
    free(h_stops); free(h_ants); free(h_waves); free(h_edges);
    return 0;
}
