/*
 * hash_join.cu - GPU equi-join of an orders fact table with a customers
 * dimension table (row store), followed by a group-by on (nation, segment).
 *
 *   SELECT c.nation, c.segment, count(*), sum(o.total)
 *   FROM   orders o JOIN customers c ON o.cust_key = c.cust_key
 *   WHERE  o.status <> 'P' AND o.order_date BETWEEN d0 AND d1 AND c.active
 *   GROUP  BY c.nation, c.segment
 *
 * Open addressing with linear probing, the key is claimed with atomicCAS.
 *
 * usage: hash_join [num_orders [num_customers [reps]]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cuda_runtime.h>

#define NATIONS   25
#define SEGMENTS  5
#define GROUPS    (NATIONS * SEGMENTS)
#define EMPTY_KEY (-1)
#define BLOCK     256

typedef unsigned long long u64;
typedef unsigned int       u32;

typedef struct order_s {
    long long order_key;
    int       cust_key;
    int       order_date;          /* days since 1992-01-01 */
    long long total_cents;
    short     ship_priority;
    char      status;              /* 'F', 'O' or 'P' */
    char      clerk[13];
    int       match_row;           /* row in customers, -1 = no partner */
} order_t;

typedef struct customer_s {
    int       cust_key;
    short     nation;
    char      segment;
    char      active;
    char      phone[16];
    long long balance_cents;
    u64       order_sum;
    u32       order_count;
    int       last_date;
} customer_t;

typedef struct { int key; int row; } bucket_t;

typedef struct joined_s {
    long long order_key;
    long long amount;
    int       cust_row;
    short     group;
    short     priority;
} joined_t;

typedef struct agg_s {
    u64 revenue;
    u32 count;
    u32 max_amount;
} agg_t;

/* ------------------------------------------------------------------ device */

__device__ static u32 hash_key(u32 k)
{
    k ^= k >> 16;
    k *= 0x7feb352du;
    k ^= k >> 15;
    k *= 0x846ca68bu;
    k ^= k >> 16;
    return k;
}

__global__ void clear_kernel(bucket_t *table, u32 slots, customer_t *cust, int ncust)
{
    u32 stride = gridDim.x * blockDim.x;
    u32 tid    = blockIdx.x * blockDim.x + threadIdx.x;
    u32 i;

    for (i = tid; i < slots; i += stride) {
        table[i].key = EMPTY_KEY;
        table[i].row = -1;
    }
    for (i = tid; i < (u32)ncust; i += stride) {
        cust[i].order_sum   = 0;
        cust[i].order_count = 0;
        cust[i].last_date   = -1;
    }
}

__global__ void build_kernel(bucket_t *table, u32 mask, const customer_t *cust, int ncust)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int key, old;
    u32 slot;

    if (row >= ncust)
        return;
    if (!cust[row].active)          /* predicate pushed below the join */
        return;

    key  = cust[row].cust_key;
    slot = hash_key((u32)key) & mask;
    for (;;) {
        old = atomicCAS(&table[slot].key, EMPTY_KEY, key);
        if (old == EMPTY_KEY || old == key) {
            table[slot].row = row;
            return;
        }
        slot = (slot + 1) & mask;
    }
}

__global__ void probe_kernel(order_t *orders, int norders,
                             const bucket_t *table, u32 mask,
                             int date_lo, int date_hi)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    u32 slot;
    int key, found = -1;

    if (i >= norders)
        return;
    if (orders[i].status == 'P' ||
        orders[i].order_date < date_lo || orders[i].order_date > date_hi) {
        orders[i].match_row = -1;
        return;
    }

    key  = orders[i].cust_key;
    slot = hash_key((u32)key) & mask;
    while (table[slot].key != EMPTY_KEY) {
        if (table[slot].key == key) {
            found = table[slot].row;
            break;
        }
        slot = (slot + 1) & mask;
    }
    orders[i].match_row = found;
}

__global__ void materialize_kernel(const order_t *orders, int norders,
                                   customer_t *cust, joined_t *out, u32 *out_count)
{
    __shared__ u32 block_count;
    __shared__ u32 block_base;
    int i   = blockIdx.x * blockDim.x + threadIdx.x;
    int row = -1;
    u32 pos = 0;

    if (threadIdx.x == 0)
        block_count = 0;
    __syncthreads();

    if (i < norders)
        row = orders[i].match_row;
    if (row >= 0)
        pos = atomicAdd(&block_count, 1u);
    __syncthreads();

    if (threadIdx.x == 0)
        block_base = block_count ? atomicAdd(out_count, block_count) : 0;
    __syncthreads();

    if (row >= 0) {
        const order_t *o = orders + i;
        customer_t    *c = cust + row;
        joined_t       j;

        j.order_key = o->order_key;
        j.amount    = o->total_cents;
        j.cust_row  = row;
        j.group     = (short)(c->nation * SEGMENTS + c->segment);
        j.priority  = o->ship_priority;
        out[block_base + pos] = j;

        atomicAdd(&c->order_count, 1u);
        atomicAdd(&c->order_sum, (u64)o->total_cents);
        atomicMax(&c->last_date, o->order_date);
    }
}

__global__ void group_by_kernel(const joined_t *in, const u32 *in_count, agg_t *groups)
{
    __shared__ agg_t local[GROUPS];
    u32 n = *in_count;
    u32 i;
    int g;

    for (g = threadIdx.x; g < GROUPS; g += blockDim.x)
        memset(&local[g], 0, sizeof(agg_t));
    __syncthreads();

    for (i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        joined_t r = in[i];
        agg_t   *a = &local[r.group];
        atomicAdd(&a->revenue, (u64)r.amount);
        atomicAdd(&a->count, 1u);
        atomicMax(&a->max_amount, (u32)r.amount);
    }
    __syncthreads();

    for (g = threadIdx.x; g < GROUPS; g += blockDim.x) {
        if (local[g].count == 0)
            continue;
        atomicAdd(&groups[g].revenue, local[g].revenue);
        atomicAdd(&groups[g].count, local[g].count);
        atomicMax(&groups[g].max_amount, local[g].max_amount);
    }
}

/* -------------------------------------------------------------------- host */

static u64 rng_state = 88172645463325252ULL;

static u32 rnd(u32 limit)
{
    rng_state ^= rng_state << 13;
    rng_state ^= rng_state >> 7;
    rng_state ^= rng_state << 17;
    return (u32)((rng_state >> 20) % limit);
}

static void make_customers(customer_t *c, int n)
{
    int i;
    memset(c, 0, (size_t)n * sizeof *c);
    for (i = 0; i < n; i++) {
        c[i].cust_key      = i * 7 + 3;              /* sparse keys */
        c[i].nation        = (short)rnd(NATIONS);
        c[i].segment       = (char)rnd(SEGMENTS);
        c[i].active        = rnd(10) != 0;
        c[i].balance_cents = (long long)rnd(1000000) - 100000;
        snprintf(c[i].phone, sizeof c[i].phone, "%02d-%03u-%04u", 10 + c[i].nation, rnd(1000), rnd(10000));
    }
    for (i = n - 1; i > 0; i--) {                    /* shuffle the rows */
        int j = (int)rnd((u32)i + 1);
        customer_t t = c[i]; c[i] = c[j]; c[j] = t;
    }
}

static void make_orders(order_t *o, int n, int ncust)
{
    int i;
    memset(o, 0, (size_t)n * sizeof *o);
    for (i = 0; i < n; i++) {
        double u = rnd(1u << 24) / (double)(1u << 24);
        int    c = (int)(u * u * ncust);             /* some buy much more */
        o[i].order_key     = (long long)i * 4 + 1;
        o[i].cust_key      = rnd(50) == 0 ? c * 7 + 5 : c * 7 + 3;  /* 2% dangling */
        o[i].order_date    = (int)rnd(2406);
        o[i].total_cents   = 1000 + rnd(50000000);
        o[i].ship_priority = (short)rnd(5);
        o[i].status        = "FFFOOOOP"[rnd(8)];
        memcpy(o[i].clerk, "Clerk#000000", 13);
        o[i].clerk[11]     = (char)('0' + rnd(10));
        o[i].match_row     = -2;
    }
}

#define TRY(call)                              \
    do {                                       \
        err = (call);                          \
        if (err != cudaSuccess) {              \
            err_line = __LINE__;               \
            goto done;                         \
        }                                      \
    } while (0)

int main(int argc, char **argv)
{
    int norders = argc > 1 ? atoi(argv[1]) : 6000000;
    int ncust   = argc > 2 ? atoi(argv[2]) : 1000000;
    int reps    = argc > 3 ? atoi(argv[3]) : 20;

    cudaError_t err = cudaSuccess;
    int         err_line = 0, rep, i;
    u32         slots = 1, count = 0, max_count = 0;
    float       ms = 0.0f;
    cudaEvent_t ev0 = NULL, ev1 = NULL;
    long long   key_sum = 0, unmatched = 0, prio[5] = {0};
    u64         rev = 0, cust_rev = 0, latest = 0;
    order_t    *h_orders = NULL, *d_orders = NULL;
    customer_t *h_cust = NULL, *d_cust = NULL;
    joined_t   *h_join = NULL, *d_join = NULL;
    bucket_t   *d_table = NULL;
    agg_t      *d_groups = NULL, h_groups[GROUPS];
    u32        *d_count = NULL;

    while (slots < (u32)ncust * 2)
        slots <<= 1;

    h_orders = (order_t *)malloc((size_t)norders * sizeof(order_t));
    h_cust   = (customer_t *)malloc((size_t)ncust * sizeof(customer_t));
    h_join   = (joined_t *)malloc((size_t)norders * sizeof(joined_t));
    if (!h_orders || !h_cust || !h_join) {
        fprintf(stderr, "out of host memory\n");
        return 1;
    }
    make_customers(h_cust, ncust);
    make_orders(h_orders, norders, ncust);

    TRY(cudaMalloc((void **)&d_orders, (size_t)norders * sizeof(order_t)));
    TRY(cudaMalloc((void **)&d_cust, (size_t)ncust * sizeof(customer_t)));
    TRY(cudaMalloc((void **)&d_join, (size_t)norders * sizeof(joined_t)));
    TRY(cudaMalloc((void **)&d_table, (size_t)slots * sizeof(bucket_t)));
    TRY(cudaMalloc((void **)&d_groups, sizeof h_groups));
    TRY(cudaMalloc((void **)&d_count, sizeof(u32)));
    TRY(cudaMemcpy(d_orders, h_orders, (size_t)norders * sizeof(order_t), cudaMemcpyHostToDevice));
    TRY(cudaMemcpy(d_cust, h_cust, (size_t)ncust * sizeof(customer_t), cudaMemcpyHostToDevice));
    TRY(cudaEventCreate(&ev0));
    TRY(cudaEventCreate(&ev1));

    for (rep = -1; rep < reps; rep++) {             /* rep -1 warms up */
        if (rep == 0)
            TRY(cudaEventRecord(ev0, 0));
        TRY(cudaMemsetAsync(d_count, 0, sizeof(u32), 0));
        TRY(cudaMemsetAsync(d_groups, 0, sizeof h_groups, 0));
        clear_kernel<<<2048, BLOCK>>>(d_table, slots, d_cust, ncust);
        build_kernel<<<(ncust + BLOCK - 1) / BLOCK, BLOCK>>>(d_table, slots - 1, d_cust, ncust);
        probe_kernel<<<(norders + BLOCK - 1) / BLOCK, BLOCK>>>(d_orders, norders, d_table, slots - 1, 365, 365 + 1400);
        materialize_kernel<<<(norders + BLOCK - 1) / BLOCK, BLOCK>>>(d_orders, norders, d_cust, d_join, d_count);
        group_by_kernel<<<1056, BLOCK>>>(d_join, d_count, d_groups);
        TRY(cudaGetLastError());
    }
    TRY(cudaEventRecord(ev1, 0));
    TRY(cudaEventSynchronize(ev1));
    TRY(cudaEventElapsedTime(&ms, ev0, ev1));

    TRY(cudaMemcpy(&count, d_count, sizeof count, cudaMemcpyDeviceToHost));
    TRY(cudaMemcpy(h_join, d_join, (size_t)count * sizeof(joined_t), cudaMemcpyDeviceToHost));
    TRY(cudaMemcpy(h_groups, d_groups, sizeof h_groups, cudaMemcpyDeviceToHost));
    TRY(cudaMemcpy(h_cust, d_cust, (size_t)ncust * sizeof(customer_t), cudaMemcpyDeviceToHost));
    TRY(cudaMemcpy(h_orders, d_orders, (size_t)norders * sizeof(order_t), cudaMemcpyDeviceToHost));

    for (i = 0; i < (int)count; i++) {
        key_sum += h_join[i].order_key ^ h_join[i].cust_row;
        prio[h_join[i].priority] += 1;
    }
    for (i = 0; i < norders; i++)
        unmatched += h_orders[i].match_row == -1;
    for (i = 0; i < GROUPS; i++)
        rev += h_groups[i].revenue;
    for (i = 0; i < ncust; i++) {
        cust_rev += h_cust[i].order_sum;
        latest   += h_cust[i].order_count ? (u64)h_cust[i].last_date : 0;
        if (h_cust[i].order_count > max_count)
            max_count = h_cust[i].order_count;
    }
    printf("check joined_rows %u\n", count);
    printf("check unmatched %lld\n", unmatched);
    printf("check key_sum %lld\n", key_sum);
    printf("check priority0 %lld\n", prio[0]);
    printf("check revenue %llu\n", rev);
    printf("check revenue_by_customer %llu\n", cust_rev);
    printf("check group7 %llu/%u/%u\n", h_groups[7].revenue, h_groups[7].count, h_groups[7].max_amount);
    printf("check last_dates %llu\n", latest);
    printf("check busiest_customer %u\n", max_count);
    printf("time_ms %.3f\n", ms);

done:
    if (err != cudaSuccess)
        fprintf(stderr, "line %d: %s\n", err_line, cudaGetErrorString(err));
    if (ev0) cudaEventDestroy(ev0);
    if (ev1) cudaEventDestroy(ev1);
    cudaFree(d_count);
    cudaFree(d_groups);
    cudaFree(d_table);
    cudaFree(d_join);
    cudaFree(d_cust);
    cudaFree(d_orders);
    free(h_join);
    free(h_cust);
    free(h_orders);
    return err == cudaSuccess ? 0 : 1;
}
