// bond_book.cu - revaluation of a bond book under a sequence of curve moves.
//
// curves (knots on a fixed time grid) -> bond values from their cash flows ->
// positions (join with bonds by index) -> desks (fixed-point atomics) -> hedge.
// All money is double, desk totals are 64-bit integers in 1/100 of a cent.
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <stdint.h>
#define N_CURVES   12
#define N_KNOTS    64
#define N_DESKS    24
#define N_BUCKETS  5
#define MAX_FLOWS  60

#define CU(x) do { cudaError_t e__ = (x); if (e__ != cudaSuccess) { \
    fprintf(stderr, "bond_book: %s (%s)\n", #x, cudaGetErrorString(e__)); exit(1); } } while (0)

enum bond_kind { FIXED_RATE, FLOATER, ZERO_COUPON, AMORTISING };

struct Knot {
    double t;               // years
    double base;            // base zero rate
    double zero;            // current zero rate
    double slope;           // d zero / dt up to the next knot
    double fwd;             // forward rate from this knot to the next
    float  vol;             // annual, for the moves
    int    bucket;
};

struct CashFlow {
    double amount;          // per 100 notional; floaters: the accrual fraction
    float  t;
    short  knot;            // left neighbour in the curve grid
    unsigned char principal;
    unsigned char paid;
};

struct Bond {
    int    first;           // first flow
    int    nflows;
    double coupon;
    double spread;          // over the curve, continuously compounded
    double price;           // results, per 100 notional
    double dv01;
    double convexity;
    double krd[N_BUCKETS];  // key rate dv01
    double callPrice;       // 0: not callable
    short  curve;
    unsigned char kind;
    unsigned char rating;
};

struct Position {
    int    bond;
    int    desk;
    double qty;             // in units of 100 notional, negative: short
    double cost;
    double mtm;
    float  hedge;           // share hedged away
    unsigned char book;
    unsigned char frozen;
};

struct Desk {
    long long value;        // 1e-4 currency units
    long long pnl;
    long long dv01;
    long long krd[N_BUCKETS];
    int    positions;
    int    breaches;
    double limit;           // on |dv01|
    double hedge;           // current hedge ratio
    long long lastDv01;
};

__device__ inline double hash01(unsigned a, unsigned b)
{
    unsigned h = a * 0x9E3779B1u ^ (b + 0x7F4A7C15u) * 0x85EBCA6Bu;
    h ^= h >> 15; h *= 0x2C1B3C6Du; h ^= h >> 12; h *= 0x297A2D39u; h ^= h >> 15;
    return h * (1.0 / 4294967296.0);
}

// one block per curve, one thread per knot
__global__ void move_curves(struct Knot *knots, int scenario)
{
    __shared__ double z[N_KNOTS];
    const int c = blockIdx.x, k = threadIdx.x;
    struct Knot *kn = &knots[c * N_KNOTS + k];

    double level = hash01(scenario, c) - 0.5;
    double tilt  = hash01(scenario, c + 1000) - 0.5;
    double curv  = hash01(scenario, c + 2000) - 0.5;
    double x = (double)k / (N_KNOTS - 1);
    double move = kn->vol * (level + tilt * (2.0 * x - 1.0) + curv * (6.0 * x * (1.0 - x) - 1.0));
    double rate = 0.9 * kn->zero + 0.1 * kn->base + move;
    z[k] = rate;
    __syncthreads();

    kn->zero = rate;
    if (k + 1 < N_KNOTS) {
        double t0 = kn->t, t1 = kn[1].t;
        kn->slope = (z[k + 1] - rate) / (t1 - t0);
        kn->fwd = (z[k + 1] * t1 - rate * t0) / (t1 - t0);
    } else {
        kn->slope = 0.0;
        kn->fwd = rate;
    }
}

__device__ __forceinline__ double zero_rate(const struct Knot *__restrict__ curve, int k, double t)
{
    return curve[k].zero + curve[k].slope * (t - curve[k].t);
}

__global__ void value_bonds(struct Bond *__restrict__ bonds, const struct CashFlow *__restrict__ flows,
                            const struct Knot *__restrict__ knots, int nbonds)
{
    int b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= nbonds) return;

    const struct Knot *curve = knots + bonds[b].curve * N_KNOTS;
    const int first = bonds[b].first, last = first + bonds[b].nflows;
    const double spread = bonds[b].spread;
    const int kind = bonds[b].kind;

    double pv = 0.0, d1 = 0.0, d2 = 0.0;
    double krd[N_BUCKETS] = {0.0, 0.0, 0.0, 0.0, 0.0};

    for (int f = first; f < last; ++f) {
        if (flows[f].paid) continue;
        double t = flows[f].t;
        int k = flows[f].knot;
        double df = exp(-(zero_rate(curve, k, t) + spread) * t);
        double cash = flows[f].amount;
        if (kind == FLOATER && !flows[f].principal)
            cash *= 100.0 * fmax(0.0, curve[k].fwd + bonds[b].coupon);
        double v = cash * df;
        pv += v;
        d1 += v * t;
        d2 += v * t * t;
        int q = curve[k].bucket;
#pragma unroll
        for (int j = 0; j < N_BUCKETS; ++j)
            if (j == q) krd[j] += v * t;
    }
    if (bonds[b].callPrice > 0.0 && pv > bonds[b].callPrice) {
        // crude: the holder is capped at the call price
        double s = bonds[b].callPrice / pv;
        pv = bonds[b].callPrice;
        d1 *= 0.35 * s; d2 *= 0.1 * s;
        for (int j = 0; j < N_BUCKETS; ++j) krd[j] *= 0.35 * s;
    }
    bonds[b].price = pv;
    bonds[b].dv01 = d1 * 1e-4;
    bonds[b].convexity = d2 * 1e-4;
    for (int j = 0; j < N_BUCKETS; ++j)
        bonds[b].krd[j] = krd[j] * 1e-4;
}

__device__ inline void fix_add(long long *where, double v)
{
    atomicAdd((unsigned long long *)where, (unsigned long long)__double2ll_rn(v * 1e4));
}

__global__ void book_positions(struct Position *pos, const struct Bond *__restrict__ bonds,
                               struct Desk *desks, int npos)
{
    __shared__ struct Desk local[N_DESKS];
    for (int d = threadIdx.x; d < N_DESKS; d += blockDim.x) {
        local[d].value = local[d].pnl = local[d].dv01 = 0;
        for (int j = 0; j < N_BUCKETS; ++j) local[d].krd[j] = 0;
        local[d].positions = 0;
        local[d].hedge = desks[d].hedge;
    }
    __syncthreads();

    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < npos; i += gridDim.x * blockDim.x) {
        const int b = pos[i].bond, d = pos[i].desk;
        const double q = pos[i].qty;
        const double px = bonds[b].price;
        const double mtm = q * px;
        if (!pos[i].frozen)
            pos[i].hedge = (float)(0.5 * pos[i].hedge + 0.5 * local[d].hedge);
        const double open = q * (1.0 - pos[i].hedge);

        fix_add(&local[d].value, mtm);
        fix_add(&local[d].pnl, mtm - pos[i].cost);
        fix_add(&local[d].dv01, open * bonds[b].dv01);
        for (int j = 0; j < N_BUCKETS; ++j)
            fix_add(&local[d].krd[j], open * bonds[b].krd[j]);
        atomicAdd(&local[d].positions, 1);
        pos[i].mtm = mtm;
    }
    __syncthreads();

    for (int d = threadIdx.x; d < N_DESKS; d += blockDim.x) {
        if (local[d].positions == 0) continue;
        atomicAdd((unsigned long long *)&desks[d].value, (unsigned long long)local[d].value);
        atomicAdd((unsigned long long *)&desks[d].pnl, (unsigned long long)local[d].pnl);
        atomicAdd((unsigned long long *)&desks[d].dv01, (unsigned long long)local[d].dv01);
        for (int j = 0; j < N_BUCKETS; ++j)
            atomicAdd((unsigned long long *)&desks[d].krd[j], (unsigned long long)local[d].krd[j]);
        atomicAdd(&desks[d].positions, local[d].positions);
    }
}

__global__ void close_desks(struct Desk *desks, int last_step)
{
    struct Desk *d = desks + threadIdx.x;
    double risk = fabs((double)d->dv01 * 1e-4);
    if (risk > d->limit) {
        d->breaches++;
        d->hedge = fmin(0.9, d->hedge + 0.1);
    } else {
        d->hedge = fmax(0.0, d->hedge - 0.02);
    }
    d->lastDv01 = d->dv01;
    if (!last_step) {
        d->value = 0; d->pnl = 0; d->dv01 = 0;
        for (int j = 0; j < N_BUCKETS; ++j) d->krd[j] = 0;
        d->positions = 0;
    }
}

/* ---------------------------------------------------------------- host -- */
static uint64_t seed = 0x123456789abcdefULL;
static double u01(void)
{
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (double)(seed >> 11) / 9007199254740992.0;
}

int main(int argc, char **argv)
{
    int nbonds = argc > 1 ? atoi(argv[1]) : 100000;
    if (nbonds < 1) nbonds = 1;
    const int npos = 10 * nbonds;
    const int warm = 3, steps = 60;
    struct Knot *knots = (struct Knot *)malloc(N_CURVES * N_KNOTS * sizeof *knots);
    for (int c = 0; c < N_CURVES; ++c)
        for (int k = 0; k < N_KNOTS; ++k) {
            struct Knot *p = &knots[c * N_KNOTS + k];
            p->t = 0.25 + 0.5 * k;
            p->base = 0.01 + 0.002 * c + 0.02 * (1.0 - exp(-p->t / 8.0));
            p->zero = p->base;
            p->slope = p->fwd = 0.0;
            p->vol = 0.002f + 0.0002f * c;
            p->bucket = p->t < 2 ? 0 : p->t < 5 ? 1 : p->t < 10 ? 2 : p->t < 20 ? 3 : 4;
        }

    struct Bond *bonds = (struct Bond *)calloc(nbonds, sizeof *bonds);
    struct CashFlow *flows = (struct CashFlow *)calloc((size_t)nbonds * (MAX_FLOWS + 1), sizeof *flows);
    int nflows = 0;
    for (int i = 0; i < nbonds; ++i) {
        struct Bond *b = &bonds[i];
        double kindDraw = u01();
        b->kind = kindDraw < 0.6 ? FIXED_RATE : kindDraw < 0.8 ? FLOATER : kindDraw < 0.87 ? ZERO_COUPON : AMORTISING;
        b->curve = (short)(u01() * N_CURVES);
        b->rating = (unsigned char)(u01() * 10);
        b->spread = 0.001 + 0.003 * b->rating;
        b->coupon = b->kind == FLOATER ? b->spread : 0.005 * (int)(2 + 12 * u01());
        b->callPrice = (b->kind == FIXED_RATE && u01() < 0.2) ? 102.0 + 4.0 * u01() : 0.0;
        double start = 0.02 + 0.48 * u01();
        int n = 1 + (int)(u01() * u01() * (MAX_FLOWS - 1));
        b->first = nflows;
        for (int f = 0; f < n; ++f) {
            const int lastf = f == n - 1;
            struct CashFlow cf;
            cf.t = (float)(start + 0.5 * f);
            int k = (int)((cf.t - 0.25) / 0.5);
            cf.knot = (short)(k < 0 ? 0 : k > N_KNOTS - 1 ? N_KNOTS - 1 : k);
            cf.principal = 0;
            cf.paid = (f == 0 && u01() < 0.03);
            double outstanding = b->kind == AMORTISING ? 100.0 * (n - f) / n : 100.0;
            if (b->kind == FLOATER) {
                cf.amount = 0.5;
                flows[nflows++] = cf;
                if (!lastf) continue;
                cf.amount = 100.0;                  /* separate redemption flow */
                cf.principal = 1;
            } else if (b->kind == ZERO_COUPON) {
                if (!lastf) continue;
                cf.amount = 100.0;
                cf.principal = 1;
            } else {
                cf.amount = 0.5 * b->coupon * outstanding;
                if (b->kind == AMORTISING) cf.amount += 100.0 / n;
                else if (lastf) cf.amount += 100.0;
            }
            flows[nflows++] = cf;
        }
        b->nflows = nflows - b->first;
    }

    struct Position *pos = (struct Position *)calloc(npos, sizeof *pos);
    for (int i = 0; i < npos; ++i) {
        pos[i].bond = (int)(u01() * nbonds);
        pos[i].desk = (int)(u01() * N_DESKS);
        pos[i].qty = floor((u01() - 0.4) * 1000.0);
        pos[i].cost = pos[i].qty * (95.0 + 10.0 * u01());
        pos[i].book = (unsigned char)(u01() * 4);
        pos[i].frozen = u01() < 0.1;
    }
    struct Desk desks[N_DESKS] = {};
    for (int d = 0; d < N_DESKS; ++d)
        desks[d].limit = 0.04 * npos / N_DESKS * 100.0 * (0.5 + u01());

    struct Knot *d_knots; struct Bond *d_bonds; struct CashFlow *d_flows;
    struct Position *d_pos; struct Desk *d_desks;
#define TO_DEVICE(d, h, bytes) \
    do { CU(cudaMalloc((void **)&d, bytes)); CU(cudaMemcpy(d, h, bytes, cudaMemcpyHostToDevice)); } while (0)
    TO_DEVICE(d_knots, knots, N_CURVES * N_KNOTS * sizeof(struct Knot));
    TO_DEVICE(d_bonds, bonds, nbonds * sizeof(struct Bond));
    TO_DEVICE(d_flows, flows, nflows * sizeof(struct CashFlow));
    TO_DEVICE(d_pos, pos, npos * sizeof(struct Position));
    TO_DEVICE(d_desks, desks, sizeof(desks));

    cudaEvent_t ev[2];
    CU(cudaEventCreate(&ev[0])); CU(cudaEventCreate(&ev[1]));
    for (int s = 0; s < warm + steps; ++s) {
        if (s == warm) CU(cudaEventRecord(ev[0]));
        move_curves<<<N_CURVES, N_KNOTS>>>(d_knots, s);
        value_bonds<<<(nbonds + 127) / 128, 128>>>(d_bonds, d_flows, d_knots, nbonds);
        book_positions<<<396, 256>>>(d_pos, d_bonds, d_desks, npos);
        close_desks<<<1, N_DESKS>>>(d_desks, s == warm + steps - 1);
    }
    CU(cudaEventRecord(ev[1]));
    CU(cudaEventSynchronize(ev[1]));
    CU(cudaGetLastError());
    float ms; CU(cudaEventElapsedTime(&ms, ev[0], ev[1]));

    CU(cudaMemcpy(bonds, d_bonds, nbonds * sizeof(struct Bond), cudaMemcpyDeviceToHost));
    CU(cudaMemcpy(pos, d_pos, npos * sizeof(struct Position), cudaMemcpyDeviceToHost));
    CU(cudaMemcpy(desks, d_desks, sizeof(desks), cudaMemcpyDeviceToHost));
    long long px = 0, risk = 0, mtm = 0, desk = 0; int breaches = 0;
    for (int i = 0; i < nbonds; ++i) {
        px += llrint(bonds[i].price * 1e6);
        risk += llrint((bonds[i].dv01 + bonds[i].krd[i % N_BUCKETS] + bonds[i].convexity) * 1e6);
    }
    for (int i = 0; i < npos; ++i) mtm += llrint(pos[i].mtm * 100.0) + llrint(pos[i].hedge * 1e4);
    for (int d = 0; d < N_DESKS; ++d) {
        desk += (d + 1) * (desks[d].value + desks[d].pnl + desks[d].lastDv01 + desks[d].krd[d % N_BUCKETS]) + desks[d].positions;
        breaches += desks[d].breaches;
    }
    printf("check %lld/%lld/%lld/%lld/%d\n", px, risk, mtm, desk, breaches);
    printf("time_ms %.4f\n", ms / steps);
    return 0;
}
