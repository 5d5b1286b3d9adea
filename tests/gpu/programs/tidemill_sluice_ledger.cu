// Log of a group of tide mills. Readings are sorted by time; grinding shifts
// are stretches of the log of very different lengths, and auditors ask for
// the state of the pond at arbitrary moments.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define OK(call)                                                      \
    do {                                                              \
        cudaError_t e = call;                                         \
        if (e != cudaSuccess) {                                       \
            fprintf(stderr, "[%d] %s\n", __LINE__, cudaGetErrorString(e)); \
            exit(1);                                                  \
        }                                                             \
    } while (0)

struct Reading {
    double t;
    float level;
    float inflow;
    float gate;
    float rpm;
    float torque;
    float hopper;
    int flags;
    short sluice;
    short quality;
};

struct Shift {
    int begin;
    int length;
    float work;
    float peakTorque;
    int alarms;
    int miller;
    double wages;
};

struct Inquiry {
    double when;
    float level;
    int index;
};

__global__ void locate(const Reading *log, int n, Inquiry *ask, int m)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < m) {
        double w = ask[i].when;
        int lo = 0, hi = n - 1;
        while (lo < hi) {
            int mid = (lo + hi + 1) >> 1;
            if (log[mid].t <= w)
                lo = mid;
            else
                hi = mid - 1;
        }
        ask[i].index = lo;
    }
}

__global__ void interpolate(const Reading *log, int n, Inquiry *ask, int m)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < m) {
        int k = ask[i].index;
        int k2 = k + 1 < n ? k + 1 : k;
        double t0 = log[k].t, t1 = log[k2].t;
        float f = t1 > t0 ? (float)((ask[i].when - t0) / (t1 - t0)) : 0.0f;
        if (log[k].quality < 0) f = 0.0f;
        ask[i].level = log[k].level + f * (log[k2].level - log[k].level);
    }
}

// Each thread adds up its own shift.
__global__ void grind(const Reading *log, Shift *shifts, int ns)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < ns) {
        int b = shifts[i].begin, e = b + shifts[i].length;
        float work = 0.0f, peak = 0.0f;
        int alarms = 0;
        for (int k = b; k < e; k++) {
            float tq = log[k].torque;
            work += tq * log[k].rpm * log[k].gate;
            peak = tq > peak ? tq : peak;
            if (log[k].flags & 64) alarms++;
        }
        shifts[i].work = work;
        shifts[i].peakTorque = peak;
        shifts[i].alarms = alarms;
    }
}

__global__ void payroll(Shift *shifts, int ns)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < ns) {
        double w = 0.01 * shifts[i].length + 0.001 * shifts[i].work;
        if (shifts[i].alarms > 4) w *= 0.9;
        shifts[i].wages += w;
    }
}

__global__ void pond_balance(Reading *log, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float drain = log[i].gate * 0.003f;
        log[i].level += 0.001f * log[i].inflow - drain;
    }
}

static unsigned int lehmer = 4711u;
static unsigned int roll()
{
    lehmer = (unsigned int)((unsigned long long)lehmer * 48271ull % 2147483647ull);
    return lehmer;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 5000000;
    if (n < 1) n = 1;

    std::vector<Reading> log(n);
    double t = 0.0;
    for (int i = 0; i < n; i++) {
        unsigned int r = roll(), q = roll();
        t += 0.25 + (r % 1000) * 0.001;
        Reading &x = log[i];
        x.t = t;
        x.level = 1.0f + (q % 2000) * 0.001f;
        x.inflow = (r >> 10) % 300 * 0.01f;
        x.gate = (q >> 11) % 100 * 0.01f;
        x.rpm = 5.0f + (r >> 3) % 10;
        x.torque = 0.5f + (q >> 5) % 77 * 0.1f;
        x.hopper = (r % 37) * 0.5f;
        x.flags = (int)(q & 127);
        x.sluice = (short)(r % 16);
        x.quality = (short)(q % 50 == 0 ? -1 : 1);
    }
    std::vector<Shift> shifts;
    for (int b = 0; b < n;) {
        unsigned int r = roll();
        int len = 4 + (int)(r % 40);
        if (r % 11 == 0) len = 200 + (int)((r >> 8) % 500);
        if (b + len > n) len = n - b;
        Shift s;
        s.begin = b;
        s.length = len;
        s.work = 0.0f;
        s.peakTorque = 0.0f;
        s.alarms = 0;
        s.miller = (int)(r % 23);
        s.wages = 0.0;
        shifts.push_back(s);
        b += len;
    }
    int ns = (int)shifts.size();
    int m = n / 2 + 1;
    std::vector<Inquiry> ask(m);
    for (int i = 0; i < m; i++) {
        ask[i].when = t * (roll() / 2147483647.0);
        ask[i].level = 0.0f;
        ask[i].index = 0;
    }

    Reading *dLog;
    Shift *dShifts;
    Inquiry *dAsk;
    OK(cudaMalloc(&dLog, n * sizeof(Reading)));
    OK(cudaMalloc(&dShifts, ns * sizeof(Shift)));
    OK(cudaMalloc(&dAsk, m * sizeof(Inquiry)));
    OK(cudaMemcpy(dLog, log.data(), n * sizeof(Reading), cudaMemcpyHostToDevice));
    OK(cudaMemcpy(dShifts, shifts.data(), ns * sizeof(Shift), cudaMemcpyHostToDevice));
    OK(cudaMemcpy(dAsk, ask.data(), m * sizeof(Inquiry), cudaMemcpyHostToDevice));

    const int reps = 10, B = 128;
    cudaEvent_t e0, e1;
    OK(cudaEventCreate(&e0));
    OK(cudaEventCreate(&e1));
    for (int r = -1; r < reps; r++) {
        if (r == 0) OK(cudaEventRecord(e0));
        locate<<<(m + B - 1) / B, B>>>(dLog, n, dAsk, m);
        interpolate<<<(m + B - 1) / B, B>>>(dLog, n, dAsk, m);
        grind<<<(ns + B - 1) / B, B>>>(dLog, dShifts, ns);
        payroll<<<(ns + B - 1) / B, B>>>(dShifts, ns);
        pond_balance<<<(n + B - 1) / B, B>>>(dLog, n);
    }
    OK(cudaEventRecord(e1));
    OK(cudaEventSynchronize(e1));
    OK(cudaGetLastError());
    float ms = 0;
    OK(cudaEventElapsedTime(&ms, e0, e1));
    OK(cudaMemcpy(log.data(), dLog, n * sizeof(Reading), cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(shifts.data(), dShifts, ns * sizeof(Shift), cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(ask.data(), dAsk, m * sizeof(Inquiry), cudaMemcpyDeviceToHost));

    long long idx = 0, alarms = 0;
    double lv = 0, work = 0, peak = 0, wages = 0, pond = 0;
    for (int i = 0; i < m; i++) {
        idx += ask[i].index;
        lv += ask[i].level;
    }
    for (int i = 0; i < ns; i++) {
        alarms += shifts[i].alarms;
        work += shifts[i].work;
        peak += shifts[i].peakTorque;
        wages += shifts[i].wages;
    }
    for (int i = 0; i < n; i++) pond += log[i].level;
    printf("check index_sum %lld\n", idx);
    printf("check alarms %lld\n", alarms);
    printf("check answers %.4e\n", lv);
    printf("check work %.4e\n", work);
    printf("check peak %.6g\n", peak);
    printf("check wages %.4e\n", wages);
    printf("check pond %.4e\n", pond);
    printf("time_ms %.4f\n", ms / reps);
    OK(cudaFree(dLog));
    OK(cudaFree(dShifts));
    OK(cudaFree(dAsk));
    return 0;
}
