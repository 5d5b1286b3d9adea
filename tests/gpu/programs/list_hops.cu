// Hospital visits. Every patient has a singly linked list of visits, the nodes of
// which are spread all over one big array (managed memory).
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

struct Visit {
    int    next;          // index of the patient's following visit, -1 at the end
    int    ward;
    float  cost;
    float  hours;
    double dose;
    short  severity;
    short  nurse;
    float  vitals[6];
};                        // 56 bytes

struct Patient {
    int   head;
    float bill;
    int   worst;
    int   visits;
};

const int    LOG_V   = 22;
const int    VISITS  = 1 << LOG_V;
const int    PATIENTS = 262144;
const int    REFERRALS = 8 * 1000 * 1000;

#define OK(call) if (cudaError_t err = (call)) { printf("error %s line %d\n", cudaGetErrorString(err), __LINE__); return 1; }

__global__ void follow(const Visit *visits, Patient *patients, int n)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p < n) {
        float bill = 0.f;
        int worst = 0, count = 0;
        int v = patients[p].head;
        while (v >= 0) {
            bill += visits[v].cost;
            worst = max(worst, (int)visits[v].severity);
            ++count;
            v = visits[v].next;
        }
        patients[p].bill = bill;
        patients[p].worst = worst;
        patients[p].visits = count;
    }
}

// two fields of random records
__global__ void referrals(const Visit *visits, const int *from, float *strain, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int j = from[i];
    double d = visits[j].dose;
    int w = visits[j].ward;
    strain[i] = (float)(d * 0.5) + (float)(w & 31);
}

// every field, in order
__global__ void day_report(const Visit *visits, int n, float *load)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Visit v = visits[i];
    float s = v.cost / (1.f + v.hours) + (float)v.dose;
    #pragma unroll
    for (int k = 0; k < 6; ++k) s += v.vitals[k] * 0.125f;
    s += (float)(v.severity * 3 + v.nurse % 7 + v.ward % 5);
    if (v.next < 0) s = -s;
    load[i] = s;
}

static unsigned scramble(unsigned x)
{
    const unsigned m = VISITS - 1;
    x ^= x >> 10; x = (x * 0x2c1b3c6du) & m;
    x ^= x >> 13; x = (x * 0x297a2d39u) & m;
    x ^= x >> 11;
    return x & m;
}

int main()
{
    Visit *visits; Patient *patients; int *from; float *strain, *load;
    OK(cudaMallocManaged(&visits, sizeof(Visit) * (size_t)VISITS));
    OK(cudaMallocManaged(&patients, sizeof(Patient) * (size_t)PATIENTS));
    OK(cudaMallocManaged(&from, sizeof(int) * (size_t)REFERRALS));
    OK(cudaMalloc(&strain, sizeof(float) * (size_t)REFERRALS));
    OK(cudaMalloc(&load, sizeof(float) * (size_t)VISITS));

    for (int i = 0; i < VISITS; ++i) {
        unsigned r = i * 2246822519u + 3266489917u; r ^= r >> 15;
        visits[i].ward = (int)(r % 40u);
        visits[i].cost = 20.f + (r >> 22);
        visits[i].hours = (r & 127) * 0.25f;
        visits[i].dose = (r >> 12 & 255) * 0.03125;
        visits[i].severity = (short)(r >> 8 & 1023);
        visits[i].nurse = (short)(r >> 17 & 511);
        for (int k = 0; k < 6; ++k) visits[i].vitals[k] = (float)(r >> k * 4 & 127);
        visits[i].next = -1;
    }
    // lengths cycle through 1..31 (average 16); node number k sits at scramble(k)
    int k = 0;
    for (int p = 0; p < PATIENTS; ++p) {
        int len = 1 + (p * 7) % 31;
        if (k + len > VISITS) len = VISITS - k;
        Patient fresh = { -1, 0.f, 0, 0 };
        if (len > 0) {
            fresh.head = (int)scramble((unsigned)k);
            for (int s = 0; s + 1 < len; ++s)
                visits[scramble((unsigned)(k + s))].next = (int)scramble((unsigned)(k + s + 1));
        }
        patients[p] = fresh;
        k += len;
    }
    unsigned seed = 99u;
    for (int i = 0; i < REFERRALS; ++i) {
        seed = seed * 1103515245u + 12345u;
        from[i] = (int)(seed >> (32 - LOG_V));
    }

    cudaEvent_t e0, e1;
    OK(cudaEventCreate(&e0)); OK(cudaEventCreate(&e1));
    const int T = 256;
    for (int round = 0; round < 11; ++round) {
        if (round == 1) { OK(cudaDeviceSynchronize()); OK(cudaEventRecord(e0)); }   // round 0 brings the pages over
        follow<<<(PATIENTS + T - 1) / T, T>>>(visits, patients, PATIENTS);
        referrals<<<(REFERRALS + T - 1) / T, T>>>(visits, from, strain, REFERRALS);
        day_report<<<(VISITS + T - 1) / T, T>>>(visits, VISITS, load);
    }
    OK(cudaEventRecord(e1));
    OK(cudaDeviceSynchronize());
    float ms; OK(cudaEventElapsedTime(&ms, e0, e1));

    double bill = 0, st = 0, ld = 0; long long worst = 0, cnt = 0;
    for (int p = 0; p < PATIENTS; ++p) { bill += patients[p].bill; worst += patients[p].worst; cnt += patients[p].visits; }
    float *tmp = (float *)malloc(sizeof(float) * (size_t)REFERRALS);     // REFERRALS > VISITS
    OK(cudaMemcpy(tmp, strain, sizeof(float) * (size_t)REFERRALS, cudaMemcpyDeviceToHost));
    for (int i = 0; i < REFERRALS; ++i) st += tmp[i];
    OK(cudaMemcpy(tmp, load, sizeof(float) * (size_t)VISITS, cudaMemcpyDeviceToHost));
    for (int i = 0; i < VISITS; ++i) ld += tmp[i];
    printf("check bill %.6g\n", bill);
    printf("check worst %lld\n", worst);
    printf("check visits %lld\n", cnt);
    printf("check strain %.6g\n", st);
    printf("check load %.6g\n", ld);
    printf("time_ms %.4f\n", ms);
    free(tmp);
    cudaFree(visits); cudaFree(patients); cudaFree(from); cudaFree(strain); cudaFree(load);
    return 0;
}
