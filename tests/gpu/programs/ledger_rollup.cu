// ledger_rollup.cu : nightly batch of a card processor.
//
// A big transaction table is scanned each day; the day's transactions are
// authorised against the accounts, accounts and merchants are rolled up and
// scored, and a report per tier is kept.  All money is in integer cents.

#include <stdio.h>
#include <stdlib.h>
#include <stdint.h>
#include <cuda_runtime.h>

#define SAFE_CALL(x) do { cudaError_t rc = (x); if (rc != cudaSuccess) { \
    printf("CUDA failure %d (%s) line %d\n", (int)rc, cudaGetErrorString(rc), __LINE__); exit(1); } } while (0)

#define CYCLE 8          /* transactions repeat every CYCLE days */
#define TIERS 6

enum { KIND_PURCHASE = 0, KIND_PAYMENT = 1, KIND_REFUND = 2, KIND_CASH = 3 };

typedef struct Transaction_ {
    int64_t  cents;
    int32_t  account;
    int32_t  merchant;
    uint32_t stamp;       /* second within the cycle */
    uint8_t  kind;
    uint8_t  day;
    uint8_t  verdict;     /* last verdict: 0 none, 1 ok, 2 over limit, 3 frozen, 4 merchant */
    uint8_t  attempts;
} Transaction;

typedef struct Account_ {
    int64_t  balance;      /* owed */
    int64_t  limit;
    int64_t  interest;
    unsigned long long pendingDebit;
    unsigned long long pendingCredit;
    uint32_t declines;
    uint32_t postings;
    int32_t  branch;
    int16_t  rateBp;       /* basis points a day x 10 */
    uint8_t  tier;
    uint8_t  frozen;
} Account;

typedef struct Merchant_ {
    unsigned long long turnover;
    unsigned long long today;
    uint32_t refunds;
    uint32_t refused;
    int32_t  risk;
    int32_t  category;
} Merchant;

typedef struct TierLine_ {
    unsigned long long owed;
    unsigned long long interest;
    unsigned int frozen;
    unsigned int accounts;
} TierLine;

__device__ int judge(const Transaction *t, const Account *a, const Merchant *m)
{
    if (t->kind == KIND_PAYMENT || t->kind == KIND_REFUND) return 1;
    if (a->frozen) return 3;
    if (m->risk > 900 && t->cents > 20000) return 4;
    int64_t room = a->limit - a->balance;
    if (t->kind == KIND_CASH) room /= 2;
    return t->cents <= room ? 1 : 2;
}

__global__ void authorise(Transaction *tx, Account *acc, const Merchant *mer, int n, int day)
{
    int tid = blockIdx.x * blockDim.x + threadIdx.x;
    int nth = gridDim.x * blockDim.x;
    for (int i = tid; i < n; i += nth) {
        if (tx[i].day != day) continue;
        Account *a = acc + tx[i].account;
        int v = judge(&tx[i], a, mer + tx[i].merchant);
        tx[i].verdict = (uint8_t)v;
        tx[i].attempts++;
        if (v == 1) {
            if (tx[i].kind == KIND_PAYMENT || tx[i].kind == KIND_REFUND)
                atomicAdd(&a->pendingCredit, (unsigned long long)tx[i].cents);
            else
                atomicAdd(&a->pendingDebit, (unsigned long long)tx[i].cents);
            atomicAdd(&a->postings, 1u);
        } else {
            atomicAdd(&a->declines, 1u);
        }
    }
}

__global__ void merchantTotals(const Transaction *tx, Merchant *mer, int n, int day)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (tx[i].day != day) return;
    uint8_t kind = tx[i].kind;
    if (kind == KIND_PAYMENT) return;
    Merchant *m = &mer[tx[i].merchant];
    if (tx[i].verdict != 1)
        atomicAdd(&m->refused, 1u);
    else if (kind == KIND_REFUND)
        atomicAdd(&m->refunds, 1u);
    else
        atomicAdd(&m->today, (unsigned long long)tx[i].cents);
}

__global__ void postAccounts(Account *acc, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Account a = acc[i];
    a.balance += (int64_t)a.pendingDebit - (int64_t)a.pendingCredit;
    a.pendingDebit = 0;
    a.pendingCredit = 0;
    if (a.balance > 0) {
        int64_t add = a.balance * a.rateBp / 100000;
        a.interest += add;
        a.balance += add;
    }
    if (a.balance > a.limit + a.limit / 20)
        a.frozen = 1;
    else if (a.frozen && a.balance < a.limit * 3 / 4)
        a.frozen = 0;
    acc[i] = a;
}

__global__ void scoreMerchants(Merchant *mer, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Merchant *m = &mer[i];
    m->turnover += m->today;
    int bad = (int)((8u * m->refunds + m->refused) & 0xffff);
    int vol = (int)(m->today / 100000) + 1;
    m->risk += (bad * 16 / vol - m->risk) / 4;
    if (m->risk < 0) m->risk = 0;
    if (m->risk > 1000) m->risk = 1000;
    m->refunds -= m->refunds / 8;
    m->refused -= m->refused / 8;
    m->today = 0;
}

__global__ void tierReport(const Account *acc, TierLine *lines, int n)
{
    __shared__ unsigned long long owed[TIERS], interest[TIERS];
    __shared__ unsigned int frozen[TIERS], count[TIERS];
    if (threadIdx.x < TIERS) {
        owed[threadIdx.x] = 0;
        interest[threadIdx.x] = 0;
        frozen[threadIdx.x] = 0;
        count[threadIdx.x] = 0;
    }
    __syncthreads();
    unsigned long long myOwed[TIERS] = {0}, myInterest[TIERS] = {0};
    unsigned int myFrozen[TIERS] = {0}, myCount[TIERS] = {0};
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int tier = acc[i].tier;
        int64_t b = acc[i].balance;
        #pragma unroll
        for (int t = 0; t < TIERS; t++) {
            if (t != tier) continue;
            myOwed[t] += b > 0 ? (unsigned long long)b : 0ull;
            myInterest[t] += (unsigned long long)acc[i].interest;
            myFrozen[t] += acc[i].frozen;
            myCount[t]++;
        }
    }
    #pragma unroll
    for (int t = 0; t < TIERS; t++) {
        atomicAdd(&owed[t], myOwed[t]);
        atomicAdd(&interest[t], myInterest[t]);
        atomicAdd(&frozen[t], myFrozen[t]);
        atomicAdd(&count[t], myCount[t]);
    }
    __syncthreads();
    if (threadIdx.x < TIERS) {
        TierLine *l = &lines[threadIdx.x];
        atomicAdd(&l->owed, owed[threadIdx.x]);
        atomicAdd(&l->interest, interest[threadIdx.x]);
        atomicAdd(&l->frozen, frozen[threadIdx.x]);
        atomicAdd(&l->accounts, count[threadIdx.x]);
    }
}

static uint64_t seed64 = 88172645463325252ull;
static uint32_t rnd(void)
{
    seed64 ^= seed64 << 13;
    seed64 ^= seed64 >> 7;
    seed64 ^= seed64 << 17;
    return (uint32_t)(seed64 >> 16);
}

int main(int argc, char *argv[])
{
    int nTx = 10000000, nAcc = 1500000, nMer = 40000, days = 48;
    if (argc > 1) nTx = atoi(argv[1]);
    if (argc > 2) days = atoi(argv[2]);

    Transaction *tx = (Transaction *)calloc(nTx, sizeof(Transaction));
    Account *acc = (Account *)calloc(nAcc, sizeof(Account));
    Merchant *mer = (Merchant *)calloc(nMer, sizeof(Merchant));
    TierLine lines[TIERS];
    for (int i = 0; i < nAcc; i++) {
        uint32_t r = rnd();
        acc[i].tier = (uint8_t)(r % TIERS);
        acc[i].limit = 50000ll * (1 + acc[i].tier) + (r >> 8) % 50000;
        acc[i].balance = (int64_t)((r >> 4) % 60000);
        acc[i].rateBp = (int16_t)(30 + (r >> 12) % 40);
        acc[i].branch = (int32_t)((r >> 16) % 1200);
    }
    for (int i = 0; i < nMer; i++) {
        mer[i].category = (int32_t)(rnd() % 60);
        mer[i].risk = (int32_t)(rnd() % 300);
    }
    for (int i = 0; i < nTx; i++) {
        uint32_t r = rnd(), q = rnd();
        uint32_t k = r & 15;
        tx[i].account = (int32_t)(q % nAcc);
        /* a few merchants get most of the business */
        uint32_t m1 = (r >> 4) % nMer, m2 = (q >> 3) % nMer;
        tx[i].merchant = (int32_t)(m1 < m2 ? m1 : m2);
        tx[i].kind = (uint8_t)(k < 10 ? KIND_PURCHASE : k < 14 ? KIND_PAYMENT : k == 14 ? KIND_REFUND : KIND_CASH);
        tx[i].cents = tx[i].kind == KIND_PAYMENT ? 5000 + (r >> 7) % 40000 : 200 + (r >> 9) % 30000;
        tx[i].stamp = (uint32_t)((uint64_t)i * (86400ull * CYCLE) / (uint64_t)nTx);
        tx[i].day = (uint8_t)((tx[i].stamp / 86400u + (q >> 29 == 0 ? 1u : 0u)) % CYCLE);   /* late entries */
    }

    Transaction *dTx;
    Account *dAcc;
    Merchant *dMer;
    TierLine *dLines;
    SAFE_CALL(cudaMalloc((void **)&dTx, sizeof(Transaction) * (size_t)nTx));
    SAFE_CALL(cudaMalloc((void **)&dAcc, sizeof(Account) * (size_t)nAcc));
    SAFE_CALL(cudaMalloc((void **)&dMer, sizeof(Merchant) * (size_t)nMer));
    SAFE_CALL(cudaMalloc((void **)&dLines, sizeof(TierLine) * TIERS));
    SAFE_CALL(cudaMemcpy(dTx, tx, sizeof(Transaction) * (size_t)nTx, cudaMemcpyHostToDevice));
    SAFE_CALL(cudaMemcpy(dAcc, acc, sizeof(Account) * (size_t)nAcc, cudaMemcpyHostToDevice));
    SAFE_CALL(cudaMemcpy(dMer, mer, sizeof(Merchant) * (size_t)nMer, cudaMemcpyHostToDevice));
    SAFE_CALL(cudaMemset(dLines, 0, sizeof(TierLine) * TIERS));

    cudaEvent_t begin, end;
    SAFE_CALL(cudaEventCreate(&begin));
    SAFE_CALL(cudaEventCreate(&end));
    SAFE_CALL(cudaEventRecord(begin, 0));
    for (int d = 0; d < days; d++) {
        int day = d % CYCLE;
        authorise<<<132 * 8, 256>>>(dTx, dAcc, dMer, nTx, day);
        merchantTotals<<<(nTx + 511) / 512, 512>>>(dTx, dMer, nTx, day);
        postAccounts<<<(nAcc + 127) / 128, 128>>>(dAcc, nAcc);
        scoreMerchants<<<(nMer + 127) / 128, 128>>>(dMer, nMer);
        tierReport<<<264, 128>>>(dAcc, dLines, nAcc);
    }
    SAFE_CALL(cudaEventRecord(end, 0));
    SAFE_CALL(cudaEventSynchronize(end));
    SAFE_CALL(cudaGetLastError());
    float ms = 0.0f;
    SAFE_CALL(cudaEventElapsedTime(&ms, begin, end));

    SAFE_CALL(cudaMemcpy(tx, dTx, sizeof(Transaction) * (size_t)nTx, cudaMemcpyDeviceToHost));
    SAFE_CALL(cudaMemcpy(acc, dAcc, sizeof(Account) * (size_t)nAcc, cudaMemcpyDeviceToHost));
    SAFE_CALL(cudaMemcpy(mer, dMer, sizeof(Merchant) * (size_t)nMer, cudaMemcpyDeviceToHost));
    SAFE_CALL(cudaMemcpy(lines, dLines, sizeof(TierLine) * TIERS, cudaMemcpyDeviceToHost));

    uint64_t verdicts = 0, attempts = 0, balances = 0, interest = 0, activity = 0, merchants = 0, report = 0;
    for (int i = 0; i < nTx; i++) {
        verdicts = verdicts * 5 + tx[i].verdict;
        attempts += tx[i].attempts;
    }
    for (int i = 0; i < nAcc; i++) {
        balances = balances * 31 + (uint64_t)acc[i].balance + acc[i].frozen;
        interest += (uint64_t)acc[i].interest;
        activity += (uint64_t)(1 + i % 101) * (acc[i].postings + 3ull * acc[i].declines);
    }
    for (int i = 0; i < nMer; i++)
        merchants = merchants * 31 + mer[i].turnover + (uint64_t)mer[i].risk * 7 + mer[i].refunds + 3ull * mer[i].refused;
    for (int t = 0; t < TIERS; t++)
        report = report * 31 + lines[t].owed + lines[t].interest + lines[t].frozen * 5ull + lines[t].accounts;
    printf("time_ms %.5f\n", ms / days);
    printf("check verdicts %llu\n", (unsigned long long)verdicts);
    printf("check attempts %llu\n", (unsigned long long)attempts);
    printf("check balances %llu\n", (unsigned long long)balances);
    printf("check interest %llu\n", (unsigned long long)interest);
    printf("check activity %llu\n", (unsigned long long)activity);
    printf("check merchants %llu\n", (unsigned long long)merchants);
    printf("check report %llu\n", (unsigned long long)report);
    cudaFree(dTx);
    cudaFree(dAcc);
    cudaFree(dMer);
    cudaFree(dLines);
    free(tx);
    free(acc);
    free(mer);
    return 0;
}
