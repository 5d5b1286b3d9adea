/*
 * Least-squares closure of cave surveys. Stations are joined by legs (tape, compass, clinometer); loops do not close,
 * and the errors are spread by relaxation until the stations settle. Then blunders are looked for in each cave.
 */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

typedef struct {
    double pos[3];
    double shift, weight;
    int firstEnd, ends;
    int cave, fixed;
} Station;

typedef struct {
    int from, to;
    float tape, compass, clino, sigma;
    double delta[3];
    short instrument, surveyor;
    int suspect;
} Leg;

typedef struct {
    int leg, sign;
} LegEnd;

typedef struct {
    float scale, declination, clinoZero, resolution;
} Instrument;

typedef struct {
    long long misclosureUm;
    int legs, suspects;
    int worstMm, spare;
} Cave;

static void die_if(cudaError_t e)
{
    if (e != cudaSuccess) {
        fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(e));
        exit(1);
    }
}

static unsigned h32(unsigned x)
{
    x += 0x9e3779b9u;
    x = (x ^ (x >> 16)) * 0x21f0aaadu;
    x = (x ^ (x >> 15)) * 0x735a2d97u;
    return x ^ (x >> 15);
}

static double h01(unsigned x) { return h32(x) / 4294967296.0; }

__global__ void reduce_legs(Leg *legs, const Instrument *instruments, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    Leg *leg = &legs[i];
    const Instrument in = instruments[leg->instrument];
    double length = (double)leg->tape * in.scale;
    double az = (leg->compass + in.declination) * 0.017453292519943295;
    double up = (leg->clino - in.clinoZero) * 0.017453292519943295;
    double level = length * cos(up);
    leg->delta[0] = level * sin(az);
    leg->delta[1] = level * cos(az);
    leg->delta[2] = length * sin(up);
    leg->sigma = in.resolution + 0.004f * leg->tape;
}

/* Each station moves to the weighted mean of where its legs put it, with some over-relaxation held back. */
__global__ void relax(const Station *before, Station *after, const Leg *legs, const LegEnd *ends, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    Station s = before[i];
    if (!s.fixed) {
        double sum[3] = {0, 0, 0}, total = 0;
        for (int e = s.firstEnd; e < s.firstEnd + s.ends; e++) {
            const Leg *leg = &legs[ends[e].leg];
            int sign = ends[e].sign;
            int other = sign > 0 ? leg->from : leg->to;
            double w = 1.0 / ((double)leg->sigma * leg->sigma);
            for (int k = 0; k < 3; k++) sum[k] += w * (before[other].pos[k] + sign * leg->delta[k]);
            total += w;
        }
        double moved = 0;
        for (int k = 0; k < 3; k++) {
            double step = 0.9 * (sum[k] / total - s.pos[k]);
            s.pos[k] += step;
            moved += step * step;
        }
        s.shift = sqrt(moved);
        s.weight = total;
    }
    after[i] = s;
}

__global__ void misclosures(const Station *stations, Leg *legs, Cave *caves, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const Station *a = &stations[legs[i].from], *b = &stations[legs[i].to];
    double sq = 0;
    for (int k = 0; k < 3; k++) {
        double d = b->pos[k] - a->pos[k] - legs[i].delta[k];
        sq += d * d;
    }
    double off = sqrt(sq);
    int bad = off > 6.0 * legs[i].sigma;
    if (bad) legs[i].suspect++;
    Cave *c = &caves[a->cave];
    atomicAdd((unsigned long long *)&c->misclosureUm, (unsigned long long)(off * 1e6));
    atomicAdd(&c->legs, 1);
    if (bad) {
        atomicAdd(&c->suspects, 1);
        atomicMax(&c->worstMm, (int)(off * 1e3));
    }
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 160000;
    const int per_cave = 400;
    int caves = (n + per_cave - 1) / per_cave, legs_max = 2 * n, leg_count = 0;
    Station *st = (Station *)calloc(n, sizeof(Station));
    Leg *legs = (Leg *)calloc(legs_max, sizeof(Leg));
    Instrument instruments[24];
    for (int i = 0; i < 24; i++) {
        instruments[i].scale = (float)(0.998 + 0.004 * h01(i));
        instruments[i].declination = (float)(2.0 * h01(i + 100) - 1.0);
        instruments[i].clinoZero = (float)(1.0 * h01(i + 200) - 0.5);
        instruments[i].resolution = (float)(0.02 + 0.03 * h01(i + 300));
    }
    for (int i = 0; i < n; i++) { /* a passage winds on from a recent station; side legs close loops */
        int base = i / per_cave * per_cave;
        st[i].cave = i / per_cave;
        if (i == base) {
            st[i].fixed = 1;
            st[i].pos[0] = 5000.0 * h01(7 * i);
            st[i].pos[1] = 5000.0 * h01(7 * i + 1);
            continue;
        }
        int back = 1 + (int)(h01(7 * i + 2) * h01(7 * i + 3) * 12);
        int parent = i - back < base ? base : i - back;
        for (int k = 0; k < 3; k++) st[i].pos[k] = st[parent].pos[k] + (k < 2 ? 16.0 : 6.0) * (h01(31 * i + k) - 0.45);
        int others = h32(7 * i + 4) % 3 == 0 ? 2 : 1;
        for (int j = 0; j < others; j++) {
            int from = j == 0 ? parent : base + (int)(h32(7 * i + 5) % (unsigned)(i - base));
            double d[3], noise = 1.0 + 0.02 * (h01(leg_count) - 0.5);
            for (int k = 0; k < 3; k++) d[k] = st[i].pos[k] - st[from].pos[k];
            double level = sqrt(d[0] * d[0] + d[1] * d[1]);
            Leg *leg = &legs[leg_count];
            leg->from = from;
            leg->to = i;
            leg->tape = (float)(sqrt(level * level + d[2] * d[2]) * noise);
            leg->compass = (float)(atan2(d[0], d[1]) * 57.29577951308232 + 2.0 * (h01(leg_count + 5000000) - 0.5));
            leg->clino = (float)(atan2(d[2], level) * 57.29577951308232);
            if (h32(leg_count + 9000000) % 200 == 0) leg->compass += 180.0f; /* read backwards */
            leg->instrument = (short)(h32(leg_count + 3) % 24);
            leg->surveyor = (short)(h32(leg_count + 4) % 50);
            leg_count++;
            st[from].ends++;
            st[i].ends++;
        }
    }
    LegEnd *ends = (LegEnd *)malloc(2 * (size_t)leg_count * sizeof(LegEnd));
    int *fill = (int *)malloc(n * sizeof(int));
    for (int i = 0, at = 0; i < n; i++) {
        st[i].firstEnd = fill[i] = at;
        at += st[i].ends;
    }
    for (int l = 0; l < leg_count; l++) {
        LegEnd start = {l, -1}, finish = {l, 1};
        ends[fill[legs[l].from]++] = start;
        ends[fill[legs[l].to]++] = finish;
    }

    Station *d_st[2];
    Leg *d_legs;
    LegEnd *d_ends;
    Instrument *d_instruments;
    Cave *d_caves;
    for (int k = 0; k < 2; k++) die_if(cudaMalloc((void **)&d_st[k], n * sizeof(Station)));
    die_if(cudaMalloc((void **)&d_legs, leg_count * sizeof(Leg)));
    die_if(cudaMalloc((void **)&d_ends, 2 * leg_count * sizeof(LegEnd)));
    die_if(cudaMalloc((void **)&d_instruments, sizeof(instruments)));
    die_if(cudaMalloc((void **)&d_caves, caves * sizeof(Cave)));
    die_if(cudaMemcpy(d_st[0], st, n * sizeof(Station), cudaMemcpyHostToDevice));
    die_if(cudaMemcpy(d_legs, legs, leg_count * sizeof(Leg), cudaMemcpyHostToDevice));
    die_if(cudaMemcpy(d_ends, ends, 2 * leg_count * sizeof(LegEnd), cudaMemcpyHostToDevice));
    die_if(cudaMemcpy(d_instruments, instruments, sizeof(instruments), cudaMemcpyHostToDevice));
    die_if(cudaMemset(d_caves, 0, caves * sizeof(Cave)));

    cudaEvent_t ev[2];
    for (int k = 0; k < 2; k++) die_if(cudaEventCreate(&ev[k]));
    const int warm = 2, steps = 25, sweeps = 16;
    for (int step = 0; step < warm + steps; step++) {
        if (step == warm) cudaEventRecord(ev[0]);
        reduce_legs<<<(leg_count + 255) / 256, 256>>>(d_legs, d_instruments, leg_count);
        for (int k = 0; k < sweeps; k++)
            relax<<<(n + 127) / 128, 128>>>(d_st[k % 2], d_st[1 - k % 2], d_legs, d_ends, n);
        misclosures<<<(leg_count + 255) / 256, 256>>>(d_st[0], d_legs, d_caves, leg_count);
    }
    cudaEventRecord(ev[1]);
    die_if(cudaEventSynchronize(ev[1]));
    die_if(cudaGetLastError());
    float ms;
    cudaEventElapsedTime(&ms, ev[0], ev[1]);
    Cave *result = (Cave *)malloc(caves * sizeof(Cave));
    die_if(cudaMemcpy(result, d_caves, caves * sizeof(Cave), cudaMemcpyDeviceToHost));
    long long check = 0;
    for (int c = 0; c < caves; c++)
        check += result[c].misclosureUm / 1000000 + result[c].suspects * 3LL + result[c].worstMm + result[c].legs;
    printf("check %lld\ntime_ms %.5f\n", check, ms / steps);
    return 0;
}
