// Streaming payment fraud scoring: every step re-scores a window of transactions against
// account and merchant profiles and a rule set, then folds the results into the profiles.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#define CU(call)                                                                               \
    do {                                                                                       \
        const cudaError_t rc = (call);                                                         \
        if (rc != cudaSuccess) {                                                               \
            std::fprintf(stderr, "CUDA failure %s at line %d\n", cudaGetErrorName(rc), __LINE__); \
            std::exit(2);                                                                      \
        }                                                                                      \
    } while (0)

struct CudaFree {
    void operator()(void *p) const noexcept { cudaFree(p); }
};
template <class T>
using dev_ptr = std::unique_ptr<T[], CudaFree>;

template <class T>
dev_ptr<T> dev_alloc(size_t n)
{
    void *raw = nullptr;
    CU(cudaMalloc(&raw, n * sizeof(T)));
    return dev_ptr<T>(static_cast<T *>(raw));
}

template <class T>
dev_ptr<T> dev_copy(const std::vector<T> &v)
{
    auto p = dev_alloc<T>(v.size());
    CU(cudaMemcpy(p.get(), v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
    return p;
}

struct Transaction {
    int64_t card_id;
    double amount;
    int account;          // resolved slot, -1 when the card is unknown
    int merchant;
    int time_s;
    uint32_t fired;       // bit per rule
    float score;
    short country;
    short channel;
    char currency[4];
    char decision;
    char retries;
    short terminal;
};

struct Account {
    int64_t card_id;
    double balance;
    double credit_limit;
    float mean_amount, var_amount, risk;
    int opened_day;
    int last_time;
    int tx_count;
    int declines;
    short home_country;
    char tier;
    char frozen;
};

struct Merchant {
    int category;
    float chargeback_rate;
    float avg_ticket;
    int flagged;
    unsigned long long volume_cents;
    short country;
    short online;
};

struct CardSlot {
    int64_t card_id;
    int account;
};

struct Rule {
    float min_amount_z;
    float min_merchant_risk;
    float weight;
    int max_gap_s;
    int category;
    char foreign_only;
    char online_only;
    short enabled;
};

constexpr int kRules = 24;
__constant__ Rule c_rules[kRules];

__host__ __device__ inline uint64_t mix64(uint64_t z)
{
    z += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

// Open-addressing lookup of card number -> account slot.
__global__ void resolve_cards(Transaction *__restrict__ tx, int n, const CardSlot *__restrict__ table, uint32_t mask)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int64_t card = tx[i].card_id;
    uint32_t slot = (uint32_t)mix64((uint64_t)card) & mask;
    int found = -1;
    for (int probe = 0; probe < 64; ++probe) {
        const int64_t key = table[slot].card_id;
        if (key == card) {
            found = table[slot].account;
            break;
        }
        if (key < 0) break;
        slot = (slot + 1) & mask;
    }
    tx[i].account = found;
}

__global__ void score(Transaction *__restrict__ tx, int n, const Account *__restrict__ acc, const Merchant *__restrict__ merch)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Transaction t = tx[i];
    if (t.account < 0) {
        tx[i].fired = 0x80000000u;
        tx[i].score = 1.0f;
        tx[i].decision = 'U';
        return;
    }
    const Account *a = acc + t.account;
    const Merchant &m = merch[t.merchant];
    const float z = ((float)t.amount - a->mean_amount) * rsqrtf(a->var_amount + 1.0f);
    const bool foreign = t.country != a->home_country;
    const int gap = t.time_s - a->last_time;
    uint32_t fired = 0;
    float s = 0.15f * a->risk + 0.5f * m.chargeback_rate;
    for (int r = 0; r < kRules; ++r) {
        const Rule &rule = c_rules[r];
        if (!rule.enabled) continue;
        if (rule.foreign_only && !foreign) continue;
        if (rule.online_only && !m.online) continue;
        if (rule.category >= 0 && rule.category != m.category) continue;
        if (z < rule.min_amount_z || m.chargeback_rate < rule.min_merchant_risk) continue;
        if (gap > rule.max_gap_s) continue;
        fired |= 1u << r;
        s += rule.weight;
    }
    char decision = 'A';
    if (a->frozen)
        decision = 'F';
    else if (t.amount > a->balance + a->credit_limit)
        decision = 'L';
    else if (s > 0.8f)
        decision = 'D';
    else if (s > 0.6f)
        decision = 'R';
    tx[i].fired = fired;
    tx[i].score = s;
    tx[i].decision = decision;
}

// Each account walks its own transactions in posting order.
__global__ void post_to_accounts(const Transaction *__restrict__ tx, const int *__restrict__ first,
                                 const int *__restrict__ order, Account *__restrict__ acc, int accounts)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= accounts) return;
    const int begin = first[id], end = first[id + 1];
    if (begin == end) return;
    Account &a = acc[id];
    double balance = a.balance;
    float mean = a.mean_amount, var = a.var_amount, risk = a.risk;
    int declines = 0, last = a.last_time;
    for (int k = begin; k < end; ++k) {
        const Transaction &t = tx[order[k]];
        const float amt = (float)t.amount;
        if (t.decision == 'A' || t.decision == 'R') {
            const float d = amt - mean;
            mean += 0.05f * d;
            var = 0.95f * (var + 0.05f * d * d);
            balance -= t.amount;
        } else {
            ++declines;
        }
        risk = 0.98f * risk + 0.02f * t.score;
        last = max(last, t.time_s - 86400);
    }
    a.balance = balance < -a.credit_limit * 0.5 ? balance + a.credit_limit : balance;
    a.mean_amount = mean;
    a.var_amount = var;
    a.risk = risk;
    a.tx_count += end - begin;
    a.declines += declines;
    a.last_time = last;
    if (declines > 6) a.frozen = 1;
}

__global__ void merchant_totals(const Transaction *__restrict__ tx, int n, Merchant *merch)
{
    const int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        const char d = tx[i].decision;
        if (d == 'A') {
            atomicAdd(&merch[tx[i].merchant].volume_cents, (unsigned long long)(tx[i].amount * 100.0));
        } else if (d == 'D') {
            atomicAdd(&merch[tx[i].merchant].flagged, 1);
        }
    }
}

__global__ void refresh_merchants(Merchant *merch, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    merch[i].chargeback_rate = 0.999f * merch[i].chargeback_rate + 1e-6f * (float)(merch[i].flagged & 1023);
}

static double unit(uint64_t key) { return (double)(mix64(key) >> 11) * (1.0 / 9007199254740992.0); }

int main(int argc, char **argv)
{
    const int n = argc > 1 ? std::max(1024, std::atoi(argv[1])) : 4000000;
    const int accounts = std::max(64, n / 6);
    const int merchants = std::max(32, n / 200);
    std::vector<Account> h_acc(accounts);
    for (int i = 0; i < accounts; ++i) {
        Account &a = h_acc[i];
        a = Account{};
        a.card_id = (int64_t)(mix64(1000000ull + i) >> 4);
        a.balance = 5000.0 * unit(i * 4ull + 1);
        a.credit_limit = 500.0 + 8000.0 * unit(i * 4ull + 2);
        a.mean_amount = 20.0f + 100.0f * (float)unit(i * 4ull + 3);
        a.var_amount = a.mean_amount * 4.0f;
        a.risk = (float)unit(i * 4ull + 4);
        a.opened_day = (int)(mix64(i) % 9000);
        a.home_country = (short)(mix64(i * 3ull) % 40);
        a.tier = (char)('A' + i % 4);
        a.frozen = mix64(i * 13ull) % 500 == 0;
    }
    uint32_t capacity = 1;
    while (capacity < 2u * (uint32_t)accounts) capacity <<= 1;
    std::vector<CardSlot> h_table(capacity, CardSlot{-1, -1});
    for (int i = 0; i < accounts; ++i) {
        uint32_t s = (uint32_t)mix64((uint64_t)h_acc[i].card_id) & (capacity - 1);
        while (h_table[s].card_id >= 0) s = (s + 1) & (capacity - 1);
        h_table[s] = CardSlot{h_acc[i].card_id, i};
    }
    std::vector<Merchant> h_merch(merchants);
    for (int i = 0; i < merchants; ++i) {
        h_merch[i] = Merchant{(int)(mix64(i + 5ull) % 12), 0.3f * (float)unit(i + 70000ull),
                              10.0f + 90.0f * (float)unit(i + 80000ull), 0, 0ull,
                              (short)(mix64(i + 9ull) % 40), (short)(mix64(i + 11ull) % 3 == 0)};
    }
    std::vector<Transaction> h_tx(n);
    std::vector<int> owner(n), first(accounts + 1, 0), order(n);
    for (int i = 0; i < n; ++i) {
        Transaction &t = h_tx[i];
        t = Transaction{};
        const double skew = unit(i * 7ull + 100);
        owner[i] = std::min(accounts - 1, (int)(skew * std::sqrt(skew) * accounts));
        const Account &a = h_acc[owner[i]];
        const bool stranger = mix64(i * 17ull + 3) % 200 == 0;
        t.card_id = stranger ? (int64_t)(mix64(i * 23ull) >> 3) | 1 : a.card_id;
        if (stranger) owner[i] = -1;
        t.amount = a.mean_amount * (0.2 + 2.0 * unit(i * 7ull + 101));
        if (mix64(i * 7ull + 102) % 60 == 0) t.amount *= 12.0;
        t.account = -1;
        t.merchant = (int)(mix64(i * 7ull + 103) % merchants);
        t.time_s = (int)(i * 86400ll / n);
        t.country = mix64(i * 7ull + 104) % 15 == 0 ? (short)(mix64(i * 7ull + 105) % 40) : a.home_country;
        t.channel = (short)(i % 5);
        t.currency[0] = 'E';
        t.currency[1] = 'U';
        t.currency[2] = 'R';
        t.terminal = (short)(mix64(i + 1ull) % 30000);
        if (owner[i] >= 0) ++first[owner[i] + 1];
    }
    for (int i = 0; i < accounts; ++i) first[i + 1] += first[i];
    {
        std::vector<int> cursor(first.begin(), first.end() - 1);
        for (int i = 0; i < n; ++i)
            if (owner[i] >= 0) order[cursor[owner[i]]++] = i;
    }
    std::vector<Rule> rules(kRules);
    for (int r = 0; r < kRules; ++r) {
        rules[r] = Rule{-1.0f + 0.25f * (r % 10), 0.02f * (r % 7), 0.04f + 0.02f * (r % 5),
                        20000 + 9000 * (r % 8), r % 4 == 0 ? r % 12 : -1, (char)(r % 3 == 0), (char)(r % 5 == 1),
                        (short)(r % 11 != 10)};
    }
    CU(cudaMemcpyToSymbol(c_rules, rules.data(), sizeof(Rule) * kRules));
    auto tx = dev_copy(h_tx);
    auto acc = dev_copy(h_acc);
    auto merch = dev_copy(h_merch);
    auto table = dev_copy(h_table);
    auto d_first = dev_copy(first);
    auto d_order = dev_copy(order);
    const int tpb = 256;
    auto blocks = [tpb](int items) { return (items + tpb - 1) / tpb; };
    auto run_step = [&] {
        resolve_cards<<<blocks(n), tpb>>>(tx.get(), n, table.get(), capacity - 1);
        score<<<blocks(n), tpb>>>(tx.get(), n, acc.get(), merch.get());
        post_to_accounts<<<blocks(accounts), tpb>>>(tx.get(), d_first.get(), d_order.get(), acc.get(), accounts);
        merchant_totals<<<1056, tpb>>>(tx.get(), n, merch.get());
        refresh_merchants<<<blocks(merchants), tpb>>>(merch.get(), merchants);
    };
    for (int i = 0; i < 4; ++i) run_step();
    CU(cudaDeviceSynchronize());
    const int steps = 50;
    cudaEvent_t start, stop;
    CU(cudaEventCreate(&start));
    CU(cudaEventCreate(&stop));
    CU(cudaEventRecord(start));
    for (int i = 0; i < steps; ++i) run_step();
    CU(cudaEventRecord(stop));
    CU(cudaGetLastError());
    CU(cudaEventSynchronize(stop));
    float ms = 0;
    CU(cudaEventElapsedTime(&ms, start, stop));
    CU(cudaMemcpy(h_tx.data(), tx.get(), sizeof(Transaction) * h_tx.size(), cudaMemcpyDeviceToHost));
    CU(cudaMemcpy(h_acc.data(), acc.get(), sizeof(Account) * h_acc.size(), cudaMemcpyDeviceToHost));
    CU(cudaMemcpy(h_merch.data(), merch.get(), sizeof(Merchant) * h_merch.size(), cudaMemcpyDeviceToHost));
    double sum = 0;
    for (int i = 0; i < n; ++i) {
        const Transaction &t = h_tx[i];
        sum += (1 + i % 3) * (100.0 * t.score + t.decision + (double)(t.fired % 1009)) + 0.01 * t.amount +
               1e-4 * t.account + t.currency[i % 4] * 0.01 + 1e-5 * t.terminal;
    }
    for (int i = 0; i < accounts; ++i) {
        const Account &a = h_acc[i];
        sum += (1 + i % 3) * (0.01 * a.balance + a.mean_amount + 0.001 * a.var_amount + 10.0 * a.risk) +
               a.tx_count + 2.0 * a.declines + 1e-4 * a.last_time + a.frozen * 5.0 + a.tier;
    }
    for (const Merchant &m : h_merch)
        sum += 1e-4 * (double)m.volume_cents + m.flagged + 10.0 * m.chargeback_rate + m.category;
    std::printf("check %.6e\n", sum);
    std::printf("time_ms %.5f\n", ms / steps);
    return 0;
}
