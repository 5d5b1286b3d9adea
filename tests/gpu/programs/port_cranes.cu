/*
 * port_cranes.cu - yard simulation of a container terminal.
 *
 * Boxes sit in stacks of up to MAX_TIER tiers, every yard crane (RTG) serves
 * one zone of consecutive stacks. One step ages all boxes, re-evaluates the
 * stacks, lets stacks ask for a rehandle and lets the cranes carry them out.
 */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_TIER   6
#define ZONE_LEN   32
#define N_STEPS    40
#define DT_HOURS   0.05f

#define FLAG_DUE_SOON   0x01
#define FLAG_TEMP_ALARM 0x02
#define FLAG_HOLD       0x04
#define NO_REQUEST 0xFFFFFFFFFFFFFFFFull

#define CHECK(call) do { cudaError_t err_ = (call); if (err_ != cudaSuccess) { \
        fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(err_)); \
        exit(1); } } while (0)

typedef struct {
    int           id, vessel, stack;
    short         tier, size_ft;
    float         weight_t;
    float         due_h;        /* hours until pick-up */
    float         dwell_h, temp_c, set_temp_c;
    unsigned char reefer, hazard, flags, inspections;
    int           rehandles;
} container_t;

typedef struct {
    float x, y;
    int   zone, count;
    int   slot[MAX_TIER];       /* container index per tier, -1 when free */
    float load_t;
    float earliest_due;
    int   overstow;
    int   last_touch;
} yard_stack_t;

typedef struct {
    float3             pos;
    float              gantry_mps, trolley_mps, hoist_mps;
    int                zone_first, zone_count;
    unsigned long long best;    /* (cost << 32) | stack of the best request */
    double             energy_kwh;
    float              busy_h;
    int                moves;
    int                last_box;
    short              state;   /* 0 idle, 1 working */
    short              faults;
} crane_t;

typedef struct {
    unsigned long long due_soon, alarms, overstowed, departed;
} totals_t;

static unsigned int hash_u32(unsigned int x)
{
    x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; x *= 0x846ca68bu;
    return x ^ (x >> 16);
}

static float hash_unit(unsigned int x) { return (hash_u32(x) >> 8) * (1.0f / 16777216.0f); }

__global__ void age_containers(container_t *box, int n, int step, totals_t *tot)
{
    __shared__ unsigned int s_due, s_alarm, s_gone;
    if (threadIdx.x == 0) { s_due = 0; s_alarm = 0; s_gone = 0; }
    __syncthreads();

    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        container_t *c = &box[i];
        float due = c->due_h - DT_HOURS;
        unsigned char fl = c->flags & FLAG_HOLD;

        if (due <= 0.0f && !(fl & FLAG_HOLD)) {
            /* picked up by a truck; the same ground slot receives an import box */
            due = 24.0f + (float)((i * 37 + step * 11) % 96);
            c->dwell_h = 0.0f;
            c->vessel = (c->vessel + 7) % 211;
            atomicAdd(&s_gone, 1u);
        } else {
            c->dwell_h += DT_HOURS;
        }
        if (due < 6.0f) { fl |= FLAG_DUE_SOON; atomicAdd(&s_due, 1u); }

        if (c->reefer) {
            float ambient = 18.0f + 6.0f * (float)(step % 24) / 24.0f;
            float t = c->temp_c;
            t += 0.02f * (ambient - t);
            t += 0.10f * (c->set_temp_c - t);
            c->temp_c = t;
            if (t - c->set_temp_c > 3.5f) { fl |= FLAG_TEMP_ALARM; atomicAdd(&s_alarm, 1u); }
        }
        c->due_h = due;
        c->flags = fl;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(&tot->due_soon, (unsigned long long)s_due);
        atomicAdd(&tot->alarms, (unsigned long long)s_alarm);
        atomicAdd(&tot->departed, (unsigned long long)s_gone);
    }
}

__global__ void evaluate_stacks(yard_stack_t *st, const container_t *box, int nstacks, totals_t *tot)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= nstacks) return;
    yard_stack_t *k = st + s;
    int cnt = k->count;
    float load = 0.0f, below = 1.0e9f; int over = 0;
    for (int t = 0; t < cnt; ++t) {
        const container_t *c = box + k->slot[t];
        load += c->weight_t;
        if (c->due_h > below) over++;          /* blocks an earlier box below */
        if (c->due_h < below) below = c->due_h;
    }
    k->load_t = load;
    k->earliest_due = below;
    k->overstow = over;
    if (over) atomicAdd(&tot->overstowed, (unsigned long long)over);
}

__global__ void reset_cranes(crane_t *cr, int ncranes)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < ncranes) {
        cr[i].best = NO_REQUEST;
        if (cr[i].busy_h > 0.0f) cr[i].busy_h -= DT_HOURS;
        cr[i].state = cr[i].busy_h > 0.0f ? 1 : 0;
    }
}

__global__ void request_rehandles(const yard_stack_t *st, crane_t *cr, int nstacks, int step)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= nstacks) return;
    int over = st[s].overstow;
    if (over == 0 || step - st[s].last_touch < 3) return;
    crane_t *c = &cr[st[s].zone];
    if (c->state != 0) return;
    float dist = fabsf(c->pos.x - st[s].x) + 2.0f * fabsf(c->pos.y - st[s].y);
    float cost = 10.0f * dist + 50.0f * st[s].earliest_due - 100.0f * over;
    if (cost < 0.0f) cost = 0.0f;
    unsigned long long key = ((unsigned long long)(unsigned int)cost << 32) | (unsigned int)s;
    atomicMin(&c->best, key);
}

__device__ static int find_target(const yard_stack_t *st, const crane_t *c, int src, float due)
{
    int best = -1;
    float best_cost = 1.0e30f;
    for (int k = 0; k < c->zone_count; ++k) {
        int s = c->zone_first + k;
        if (s == src || st[s].count >= MAX_TIER) continue;
        float cost = fabsf(st[s].x - st[src].x) + fabsf(st[s].y - st[src].y);
        if (st[s].count > 0 && st[s].earliest_due < due) cost += 500.0f;
        cost += 0.5f * st[s].load_t;
        if (cost < best_cost) { best_cost = cost; best = s; }
    }
    return best;
}

__global__ void operate_cranes(crane_t *cr, yard_stack_t *st, container_t *box, int ncranes, int step)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= ncranes) return;
    crane_t c = cr[i];
    if (c.best == NO_REQUEST) return;

    int src = (int)(c.best & 0xFFFFFFFFull);
    int b = st[src].slot[st[src].count - 1];
    int dst = find_target(st, &c, src, box[b].due_h);
    st[src].last_touch = step;
    if (dst < 0) { cr[i].faults = (short)(c.faults + 1); return; }

    float travel = fabsf(c.pos.x - st[src].x) + fabsf(st[dst].x - st[src].x);
    float trolley = fabsf(c.pos.y - st[src].y) + fabsf(st[dst].y - st[src].y);
    float lift = 2.6f * (float)(2 * MAX_TIER - st[src].count - st[dst].count + 1);
    float secs = travel / c.gantry_mps + trolley / c.trolley_mps + lift / c.hoist_mps + 25.0f;

    int t = st[dst].count;
    st[src].slot[st[src].count - 1] = -1;
    st[src].count -= 1;
    st[dst].slot[t] = b;
    st[dst].count = t + 1;
    st[dst].last_touch = step;

    box[b].stack = dst;
    box[b].tier = (short)t;
    box[b].rehandles += 1;
    if (box[b].hazard && (box[b].rehandles & 1)) box[b].inspections++;

    c.pos = make_float3(st[dst].x, st[dst].y, 2.6f * (t + 1));
    c.busy_h = secs / 3600.0f;
    c.energy_kwh += 0.0027 * (double)box[b].weight_t * lift + 0.004 * travel;
    c.moves += 1;
    c.last_box = b;
    cr[i] = c;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1200000;
    if (n < 64) n = 64;
    int nzones = (n / 4 + ZONE_LEN - 1) / ZONE_LEN;
    int nstacks = nzones * ZONE_LEN;

    container_t  *h_box = (container_t *)calloc(n, sizeof(container_t));
    yard_stack_t *h_st = (yard_stack_t *)calloc(nstacks, sizeof(yard_stack_t));
    crane_t      *h_cr = (crane_t *)calloc(nzones, sizeof(crane_t));

    for (int s = 0; s < nstacks; ++s) {
        h_st[s].x = 6.5f * (s % ZONE_LEN / 4);
        h_st[s].y = 2.8f * (s % 4);
        h_st[s].zone = s / ZONE_LEN;
        h_st[s].last_touch = -10;
        for (int t = 0; t < MAX_TIER; ++t) h_st[s].slot[t] = -1;
    }
    for (int i = 0; i < n; ++i) {
        unsigned int h = hash_u32(i + 17);
        container_t *c = &h_box[i];
        c->id = 100000 + i;
        c->vessel = h % 211;
        c->size_ft = (h >> 9) & 1 ? 40 : 20;
        c->weight_t = 3.0f + 27.0f * hash_unit(3 * i + 1);
        c->due_h = 120.0f * hash_unit(3 * i + 2);
        c->reefer = (h >> 12) % 12 == 0;
        c->hazard = (h >> 16) % 25 == 0;
        c->flags = (h >> 20) % 50 == 0 ? FLAG_HOLD : 0;
        c->set_temp_c = c->reefer ? -18.0f + 22.0f * ((h >> 24) & 1) : 0.0f;
        c->temp_c = c->set_temp_c + 2.0f;
        int s = hash_u32(i * 5 + 3) % nstacks;
        while (h_st[s].count >= MAX_TIER) s = (s + 1) % nstacks;
        c->stack = s;
        c->tier = (short)h_st[s].count;
        h_st[s].slot[h_st[s].count++] = i;
    }
    for (int z = 0; z < nzones; ++z) {
        crane_t *c = &h_cr[z];
        c->pos = make_float3(6.5f * (z % 8), 0.0f, 15.0f);
        c->gantry_mps = 1.5f + 0.7f * hash_unit(z + 901); c->trolley_mps = 1.1f;
        c->hoist_mps = 0.4f + 0.2f * hash_unit(z + 9001);
        c->zone_first = z * ZONE_LEN; c->zone_count = ZONE_LEN;
        c->best = NO_REQUEST;
        c->last_box = -1;
    }

    container_t *d_box; yard_stack_t *d_st; crane_t *d_cr; totals_t *d_tot;
    CHECK(cudaMalloc((void **)&d_box, n * sizeof(container_t)));
    CHECK(cudaMalloc((void **)&d_st, nstacks * sizeof(yard_stack_t)));
    CHECK(cudaMalloc((void **)&d_cr, nzones * sizeof(crane_t)));
    CHECK(cudaMalloc((void **)&d_tot, sizeof(totals_t)));
    CHECK(cudaMemcpy(d_box, h_box, n * sizeof(container_t), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_st, h_st, nstacks * sizeof(yard_stack_t), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_cr, h_cr, nzones * sizeof(crane_t), cudaMemcpyHostToDevice));
    CHECK(cudaMemset(d_tot, 0, sizeof(totals_t)));

    cudaEvent_t e0, e1;
    CHECK(cudaEventCreate(&e0)); CHECK(cudaEventCreate(&e1));
    int gb = (n + 255) / 256 < 1056 ? (n + 255) / 256 : 1056;
    for (int step = 0; step <= N_STEPS; ++step) {
        if (step == 1) CHECK(cudaEventRecord(e0));
        age_containers<<<gb, 256>>>(d_box, n, step, d_tot);
        evaluate_stacks<<<(nstacks + 127) / 128, 128>>>(d_st, d_box, nstacks, d_tot);
        reset_cranes<<<(nzones + 127) / 128, 128>>>(d_cr, nzones);
        request_rehandles<<<(nstacks + 255) / 256, 256>>>(d_st, d_cr, nstacks, step);
        operate_cranes<<<(nzones + 63) / 64, 64>>>(d_cr, d_st, d_box, nzones, step);
    }
    CHECK(cudaEventRecord(e1));
    CHECK(cudaGetLastError()); CHECK(cudaEventSynchronize(e1));
    float ms = 0.0f;
    CHECK(cudaEventElapsedTime(&ms, e0, e1));

    totals_t tot;
    CHECK(cudaMemcpy(h_box, d_box, n * sizeof(container_t), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(h_cr, d_cr, nzones * sizeof(crane_t), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&tot, d_tot, sizeof tot, cudaMemcpyDeviceToHost));
    unsigned long long where = 0, moves = 0;
    double energy = 0.0, dwell = 0.0;
    for (int i = 0; i < n; ++i) {
        where += (unsigned long long)(h_box[i].stack + 1) * (h_box[i].tier + 1) + h_box[i].flags;
        dwell += h_box[i].dwell_h;
    }
    for (int z = 0; z < nzones; ++z) { moves += h_cr[z].moves; energy += h_cr[z].energy_kwh; }
    printf("check %llu/%llu/%llu/%llu/%llu/%.5g/%.5g\n", where, moves, tot.overstowed,
           tot.departed, tot.due_soon + tot.alarms, energy, dwell);
    printf("time_ms %.4f\n", ms / N_STEPS);

    cudaFree(d_box); cudaFree(d_st); cudaFree(d_cr); cudaFree(d_tot);
    free(h_box); free(h_st); free(h_cr);
    return 0;
}
