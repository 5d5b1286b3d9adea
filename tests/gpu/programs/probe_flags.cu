// Fraud screening of card payments.
//  screen     : looks at one flag byte, for ~5% of the payments reads everything else
//  settle     : looks up each payment's merchant in an open-addressing hash table
//  channels   : histogram of a single byte-sized field out of a 56-byte record
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <vector>
#include <cuda_runtime.h>

#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
    fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); exit(1); } } while (0)

struct Payment {
    double amount;
    double fee;
    float  risk[6];
    int    merchant;
    int    customer;
    short  country;
    short  currency;
    char   flagged;
    unsigned char channel;
};                                   // 56 bytes with tail padding

struct MerchantSlot {
    int    key;                      // -1: empty
    int    tier;
    float  rate;
    float  limit;
    double turnover;
    float  lat, lon;
    int    open_year;
};                                   // 40 bytes

static const int N_PAY   = 6 * 1000 * 1000 + 77;
static const int N_MERCH = 1200 * 1000;
static const unsigned CAP = 1u << 21;

__host__ __device__ inline unsigned mix(unsigned x)
{
    x ^= x >> 16; x *= 0x7feb352dU;
    x ^= x >> 15; x *= 0x846ca68bU;
    x ^= x >> 16;
    return x;
}

__global__ void screen(const Payment *p, int n, float *score)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = 0.f;
    if (p[i].flagged) {
        for (int k = 0; k < 6; k++) s += p[i].risk[k] * (float)(k + 1);
        s += (float)(p[i].amount * 0.001 + p[i].fee);
        s += (p[i].country == p[i].currency) ? 0.f : 2.5f;
        s += (float)((p[i].customer ^ p[i].merchant) & 15) * 0.125f;
    }
    score[i] = s;
}

__global__ void settle(const Payment *__restrict__ p, int n,
                       const MerchantSlot *__restrict__ table, unsigned cap_mask,
                       float *payout, int *missing)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int who = p[i].merchant;
    unsigned h = mix((unsigned)who) & cap_mask;
    float out = 0.f;
    while (true) {
        int k = table[h].key;
        if (k == who) {
            const MerchantSlot &m = table[h];
            float a = (float)p[i].amount;
            out = a * (1.f - m.rate) - 0.01f * (float)m.tier;
            break;
        }
        if (k < 0) { atomicAdd(missing, 1); break; }
        h = (h + 1) & cap_mask;
    }
    payout[i] = out;
}

__global__ void channels(const Payment *p, int n, unsigned *hist)
{
    __shared__ unsigned local[16];
    if (threadIdx.x < 16) local[threadIdx.x] = 0;
    __syncthreads();
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        atomicAdd(&local[p[i].channel & 15], 1u);
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&hist[threadIdx.x], local[threadIdx.x]);
}

int main()
{
    std::vector<Payment> pay(N_PAY);
    for (int i = 0; i < N_PAY; i++) {
        unsigned r = mix(i + 1u);
        Payment &q = pay[i];
        q.amount = 1.0 + (r & 0xffff) * 0.05;
        q.fee = 0.1 + (r >> 28) * 0.02;
        for (int k = 0; k < 6; k++) q.risk[k] = ((r >> (3 * k)) & 31) * 0.03f;
        unsigned r2 = r * 2654435761u + 12345u;
        q.merchant = (int)((r2 >> 4) % (unsigned)(N_MERCH + N_MERCH / 50));   // 2% unknown
        q.customer = (int)(r >> 8);
        q.country = (short)((r >> 5) % 200);
        q.currency = (short)((r >> 9) % 3 ? q.country : (r >> 11) % 200);
        q.flagged = ((r2 >> 8) % 20u) == 0;
        q.channel = (unsigned char)((r >> 20) % 11u);
    }
    std::vector<MerchantSlot> tab(CAP);
    for (unsigned s = 0; s < CAP; s++) { MerchantSlot z = {}; z.key = -1; tab[s] = z; }
    for (int m = 0; m < N_MERCH; m++) {
        unsigned h = mix((unsigned)m) & (CAP - 1);
        while (tab[h].key >= 0) h = (h + 1) & (CAP - 1);
        MerchantSlot &t = tab[h];
        t.key = m; t.tier = m % 5; t.rate = 0.005f * (float)(m % 7); t.limit = 1000.f + m % 100;
        t.turnover = m * 3.0; t.lat = (m % 180) - 90.f; t.lon = (m % 360) - 180.f; t.open_year = 1980 + m % 45;
    }

    Payment *d_pay; MerchantSlot *d_tab; float *d_score, *d_payout; unsigned *d_hist; int *d_miss;
    CK(cudaMalloc(&d_pay, sizeof(Payment) * (size_t)N_PAY));
    CK(cudaMalloc(&d_tab, sizeof(MerchantSlot) * (size_t)CAP));
    CK(cudaMalloc(&d_score, sizeof(float) * (size_t)N_PAY));
    CK(cudaMalloc(&d_payout, sizeof(float) * (size_t)N_PAY));
    CK(cudaMalloc(&d_hist, 16 * sizeof(unsigned)));
    CK(cudaMalloc(&d_miss, sizeof(int)));
    CK(cudaMemcpy(d_pay, pay.data(), sizeof(Payment) * (size_t)N_PAY, cudaMemcpyHostToDevice));
    CK(cudaMemcpy(d_tab, tab.data(), sizeof(MerchantSlot) * (size_t)CAP, cudaMemcpyHostToDevice));
    CK(cudaMemset(d_hist, 0, 16 * sizeof(unsigned)));
    CK(cudaMemset(d_miss, 0, sizeof(int)));

    const int tpb = 256, nb = (N_PAY + tpb - 1) / tpb, iters = 20;
    cudaEvent_t t0, t1; CK(cudaEventCreate(&t0)); CK(cudaEventCreate(&t1));
    screen<<<nb, tpb>>>(d_pay, N_PAY, d_score);           // warm-up
    CK(cudaDeviceSynchronize());
    CK(cudaEventRecord(t0));
    for (int it = 0; it < iters; it++) {
        screen<<<nb, tpb>>>(d_pay, N_PAY, d_score);
        settle<<<nb, tpb>>>(d_pay, N_PAY, d_tab, CAP - 1, d_payout, d_miss);
        channels<<<1056, tpb>>>(d_pay, N_PAY, d_hist);
    }
    CK(cudaEventRecord(t1)); CK(cudaEventSynchronize(t1)); CK(cudaGetLastError());
    float ms; CK(cudaEventElapsedTime(&ms, t0, t1));

    std::vector<float> f(N_PAY);
    unsigned hist[16]; int miss;
    double s = 0;
    CK(cudaMemcpy(f.data(), d_score, sizeof(float) * (size_t)N_PAY, cudaMemcpyDeviceToHost));
    for (float v : f) s += v;
    printf("check score %.6g\n", s);
    CK(cudaMemcpy(f.data(), d_payout, sizeof(float) * (size_t)N_PAY, cudaMemcpyDeviceToHost));
    s = 0; for (float v : f) s += v;
    printf("check payout %.6g\n", s);
    CK(cudaMemcpy(hist, d_hist, sizeof hist, cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(&miss, d_miss, sizeof miss, cudaMemcpyDeviceToHost));
    unsigned long long hs = 0; for (int k = 0; k < 16; k++) hs += (unsigned long long)hist[k] * (k + 1);
    printf("check channels %llu\n", hs);
    printf("check missing %d\n", miss);
    printf("time_ms %.4f\n", ms);
    cudaFree(d_pay); cudaFree(d_tab); cudaFree(d_score); cudaFree(d_payout); cudaFree(d_hist); cudaFree(d_miss);
    return 0;
}
