/* Card-fraud scoring of a batch.  The transaction log is sorted by account and then by time; money is in cents.
 *   1. merchant statistics of the batch (volume, declines, small tickets)
 *   2. profile of each account: a warp to an account
 *   3. velocity features of each transaction: sums over the windows of 1 h, 24 h and 7 d that end at it
 *   4. score: logistic over the features, with the merchant and the profile
 *   5. roll-up to the account: exposure, worst score, alerts
 */
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define HOUR 3600
#define DAY (24 * HOUR)
#define NUM_MCC 64
#define MAX_LOOKBACK 256
#define ALERT_SCORE 700

#define CUDA_CHECK(expr)                                                                  \
  if (cudaError_t e = (expr)) {                                                           \
    fprintf(stderr, "%s failed at line %d: %s\n", #expr, __LINE__, cudaGetErrorName(e));  \
    return 1;                                                                             \
  }

enum { CHIP = 0, SWIPE = 1, ONLINE = 2, CONTACTLESS = 3, ATM = 4 };

struct Transaction {
  long long time;       /* s since the epoch */
  long long amount;     /* cents */
  unsigned int account;
  unsigned int merchant;
  float latitude, longitude;
  unsigned short country;
  uint8_t channel;
  uint8_t declined;
  char terminal[12];
};

struct Account {
  int first, count;     /* in the log */
  int opened;           /* day */
  unsigned short homeCountry;
  uint8_t tier;
  uint8_t blocked;
  long long creditLimit;
  /* profile */
  double meanLog, deviationLog;
  float nightShare, onlineShare;
  unsigned long long mccSeen;
  /* roll-up */
  long long exposure;
  int worstScore;
  int alerts;
};

struct Merchant {
  int id;
  unsigned short mcc;
  unsigned short country;
  float chargebackRate;
  float averageTicket;
  unsigned long long volume; /* of the batch */
  unsigned int transactions;
  unsigned int declines;
  unsigned int smallTickets;
};

struct Features {
  int count1h, count24h, count7d;
  int declined24h;
  long long amount1h, amount24h, amount7d;
  float speed;          /* km/h since the transaction before */
  float sinceLast;      /* h */
  short merchants24h;
  short countries24h;
  int score;            /* 0..1000 */
};

__global__ void clear_merchants(Merchant *merchants, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Merchant *m = &merchants[i];
  m->volume = 0;
  m->transactions = m->declines = m->smallTickets = 0;
}

__global__ void merchant_statistics(const Transaction *log, int n, Merchant *merchants)
{
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const Transaction *t = &log[i];
    Merchant *m = &merchants[t->merchant];
    atomicAdd(&m->transactions, 1u);
    if (t->declined) atomicAdd(&m->declines, 1u);
    else atomicAdd(&m->volume, (unsigned long long)t->amount);
    if (t->amount < 200) atomicAdd(&m->smallTickets, 1u);
  }
}

template <class T>
__device__ T warp_sum(T v)
{
  for (int offset = 16; offset > 0; offset >>= 1) v += __shfl_xor_sync(0xffffffffu, v, offset);
  return v;
}

__global__ void account_profiles(const Transaction *log, const Merchant *merchants, Account *accounts, int num_accounts)
{
  int a = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (a >= num_accounts) return;
  int first = accounts[a].first, count = accounts[a].count;
  double sum = 0, squares = 0;
  int night = 0, online = 0;
  unsigned long long seen = 0;
  for (int k = lane; k < count; k += 32) {
    const Transaction *t = &log[first + k];
    double l = (double)__logf((float)t->amount + 1.0f);
    sum += l;
    squares += l * l;
    night += t->time % DAY < 5 * HOUR;
    online += t->channel == ONLINE;
    seen |= 1ull << (merchants[t->merchant].mcc % NUM_MCC);
  }
  sum = warp_sum(sum);
  squares = warp_sum(squares);
  night = warp_sum(night);
  online = warp_sum(online);
  for (int offset = 16; offset > 0; offset >>= 1) seen |= __shfl_xor_sync(0xffffffffu, seen, offset);
  if (lane == 0) {
    Account *acc = &accounts[a];
    double mean = sum / count, variance = squares / count - mean * mean;
    acc->meanLog = mean;
    acc->deviationLog = sqrt(fmax(variance, 0.04));
    acc->nightShare = (float)night / count;
    acc->onlineShare = (float)online / count;
    acc->mccSeen = seen;
    acc->exposure = 0;
    acc->worstScore = acc->alerts = 0;
  }
}

/* Small-angle great circle, km. */
__device__ float distance_km(const Transaction *a, const Transaction *b)
{
  float dlat = (a->latitude - b->latitude) * 111.2f;
  float dlon = (a->longitude - b->longitude) * 111.2f * __cosf(0.5f * (a->latitude + b->latitude) * 0.01745329f);
  return sqrtf(dlat * dlat + dlon * dlon);
}

__global__ void velocity_features(const Transaction *log, int n, const Account *accounts, Features *features)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const Transaction *t = &log[i];
  int begin = max(accounts[t->account].first, i - MAX_LOOKBACK);
  Features f;
  memset(&f, 0, sizeof f);
  f.sinceLast = 24.0f * 30;
  unsigned int recent[8], country_bits = 0;
  int num_recent = 0;
  bool have_previous = false;
  for (int j = i; j >= begin; --j) {
    const Transaction *p = &log[j];
    long long age = t->time - p->time;
    if (age >= 7ll * DAY) break;
    long long amount = p->declined ? 0 : p->amount;
    f.count7d++;
    f.amount7d += amount;
    if (age < DAY) {
      f.count24h++;
      f.amount24h += amount;
      f.declined24h += p->declined;
      country_bits |= 1u << (p->country % 32);
      bool known = false;
      for (int r = 0; r < num_recent; ++r) known |= recent[r] == p->merchant;
      if (!known && num_recent < 8) recent[num_recent++] = p->merchant;
    }
    if (age < HOUR) f.count1h++, f.amount1h += amount;
    /* card present, twice */
    if (j < i && !have_previous && p->channel != ONLINE) {
      have_previous = true;
      f.sinceLast = age / (float)HOUR;
      if (t->channel != ONLINE) f.speed = distance_km(t, p) / fmaxf(f.sinceLast, 1.0f / 60);
    }
  }
  f.merchants24h = (short)num_recent;
  f.countries24h = (short)__popc(country_bits);
  features[i] = f;
}

__global__ void score_transactions(const Transaction *log, int n, Account *accounts, const Merchant *merchants,
                                   const float *mcc_risk, Features *features)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const Transaction *t = &log[i];
  const Merchant *m = &merchants[t->merchant];
  Account *acc = &accounts[t->account];
  Features *f = &features[i];

  float surprise = (float)((__logf((float)t->amount + 1.0f) - acc->meanLog) / acc->deviationLog);
  float ticket = (float)t->amount / (m->averageTicket + 1.0f);
  float decline_rate = (float)m->declines / (m->transactions + 20.0f);
  float testing = (float)m->smallTickets / (m->transactions + 20.0f);
  float z = -5.2f;
  z += 0.55f * fminf(fmaxf(surprise, -2.0f), 5.0f);
  z += 0.25f * fminf(ticket, 8.0f);
  z += 0.30f * fmaxf((float)(f->count1h - 2), 0.0f) + 0.05f * f->count24h;
  z += 0.45f * f->declined24h;
  z += 1.6f * (f->speed > 900.0f) + 0.3f * (f->countries24h - 1);
  z += 9.0f * m->chargebackRate + 3.0f * decline_rate + 2.0f * testing + mcc_risk[m->mcc % NUM_MCC];
  if (t->country != acc->homeCountry) z += 0.7f;
  if (t->channel == ONLINE) z += 0.4f * (1.0f - acc->onlineShare);
  if (t->time % DAY < 5 * HOUR) z += 0.6f * (1.0f - acc->nightShare);
  if (f->amount24h * 2 > acc->creditLimit) z += 0.9f;
  if (f->count7d > 3 && f->amount24h * 3 > f->amount7d * 2) z += 0.35f;
  z += 0.3f * (f->merchants24h >= 6) - 0.4f * (acc->tier >= 2);

  int score = f->score = __float2int_rn(1000.0f / (1.0f + __expf(-z)));
  if (score >= ALERT_SCORE / 2) atomicMax(&acc->worstScore, score);
  if (score >= ALERT_SCORE) {
    atomicAdd(&acc->alerts, 1);
    atomicAdd((unsigned long long *)&acc->exposure, (unsigned long long)(t->declined ? 0 : t->amount));
  }
}

static uint32_t next_random(void)
{
  static uint64_t lcg = 88172645463325252ull;
  lcg = lcg * 6364136223846793005ull + 1442695040888963407ull;
  return (uint32_t)(lcg >> 33);
}
static float next_uniform(void) { return (next_random() & 0xffffff) / 16777216.0f; }

/* Few accounts are busy, most are not. */
static void make_accounts(std::vector<Account> &accounts, int n)
{
  for (int at = 0; at < n; at += accounts.back().count) {
    Account a = Account();
    float u = next_uniform();
    a.first = at;
    a.count = 4 + (int)(14.0f / (u + 0.02f));
    if (a.count > n - at) a.count = n - at;
    a.opened = (int)(next_random() % 6000);
    a.homeCountry = (unsigned short)(u < 0.7f ? 0 : next_random() % 30);
    a.tier = (uint8_t)(next_random() % 16 ? next_random() % 2 : 2);
    a.creditLimit = 100000ll * (1 + next_random() % 20);
    accounts.push_back(a);
  }
}

static void make_log(Transaction *log, const std::vector<Account> &accounts, const Merchant *merchants, int num_merchants)
{
  const long long start = 1700000000ll, span = 30ll * DAY;
  for (size_t a = 0; a < accounts.size(); ++a) {
    const Account &acc = accounts[a];
    float lat = 35 + 20 * next_uniform(), lon = -10 + 40 * next_uniform();
    bool fraud = next_random() % 40 == 0;
    long long now = start, gap = span / (acc.count + 1);
    for (int k = 0; k < acc.count; ++k) {
      Transaction &t = log[acc.first + k];
      /* bursts, of a shopping trip or of a stolen card */
      bool burst = next_random() % 3 == 0 || (fraud && k * 4 > acc.count * 3);
      now += burst ? 60 + next_random() % 1500 : (long long)(gap * 1.3f * next_uniform());
      t.time = now;
      t.account = (unsigned int)a;
      t.merchant = (unsigned int)(powf(next_uniform(), 3.0f) * num_merchants); /* skewed */
      const Merchant &m = merchants[t.merchant];
      t.amount = 50 + (long long)(m.averageTicket * (0.2f + 1.6f * next_uniform() * next_uniform()));
      if (fraud && burst) t.amount = k % 3 == 0 ? 100 : t.amount * 3;
      t.channel = (uint8_t)(next_random() % 10 < 4 ? ONLINE : next_random() % 5);
      t.country = (unsigned short)(t.channel == ONLINE ? m.country : acc.homeCountry);
      t.latitude = lat + 0.1f * next_uniform();
      t.longitude = lon + 0.1f * next_uniform();
      if (fraud && burst) t.longitude += 12, t.country = 31;
      t.declined = next_random() % (fraud ? 5 : 50) == 0;
      snprintf(t.terminal, sizeof t.terminal, "T%07u", t.merchant * 4 + next_random() % 4);
    }
  }
}

int main(int argc, char **argv)
{
  int n = argc > 1 ? std::max(atoi(argv[1]), 1000) : 2000000;
  int num_merchants = n / 100 + 16;

  /* the merchants and the risk table are shared with the host; the log is not */
  Merchant *merchants;
  float *mcc_risk;
  CUDA_CHECK(cudaMallocManaged(&merchants, num_merchants * sizeof(Merchant)));
  CUDA_CHECK(cudaMallocManaged(&mcc_risk, NUM_MCC * sizeof(float)));
  for (int c = 0; c < NUM_MCC; ++c) mcc_risk[c] = c % 9 == 4 ? 0.8f : 0.02f * (c % 7) - 0.05f;
  for (int m = 0; m < num_merchants; ++m) {
    Merchant &r = merchants[m] = Merchant();
    r.id = 100000 + m;
    r.mcc = (unsigned short)(next_random() % 7 * (next_random() % 10));
    r.country = (unsigned short)(next_random() % 4 ? 0 : next_random() % 30);
    r.chargebackRate = 0.05f * next_uniform() * next_uniform();
    r.averageTicket = 800.0f + 200000.0f * powf(next_uniform(), 6.0f) + 4000.0f * next_uniform();
  }
  std::vector<Account> accounts;
  std::vector<Transaction> log(n);
  make_accounts(accounts, n);
  int num_accounts = (int)accounts.size();
  make_log(log.data(), accounts, merchants, num_merchants);

  Transaction *d_log;
  Account *d_accounts;
  Features *d_features;
  CUDA_CHECK(cudaMalloc(&d_log, n * sizeof(Transaction)));
  CUDA_CHECK(cudaMalloc(&d_accounts, num_accounts * sizeof(Account)));
  CUDA_CHECK(cudaMalloc(&d_features, n * sizeof(Features)));
  CUDA_CHECK(cudaMemcpy(d_log, log.data(), n * sizeof(Transaction), cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(d_accounts, accounts.data(), num_accounts * sizeof(Account), cudaMemcpyHostToDevice));

  const int STEPS = 30, block = 256;
  cudaEvent_t start, stop;
  CUDA_CHECK(cudaEventCreate(&start));
  CUDA_CHECK(cudaEventCreate(&stop));
  for (int s = -1; s < STEPS; ++s) { /* -1 warms up */
    if (s == 0) { CUDA_CHECK(cudaEventRecord(start)); }
    clear_merchants<<<(num_merchants + block - 1) / block, block>>>(merchants, num_merchants);
    merchant_statistics<<<1056, block>>>(d_log, n, merchants);
    account_profiles<<<(num_accounts + 7) / 8, block>>>(d_log, merchants, d_accounts, num_accounts);
    velocity_features<<<(n + block - 1) / block, block>>>(d_log, n, d_accounts, d_features);
    score_transactions<<<(n + block - 1) / block, block>>>(d_log, n, d_accounts, merchants, mcc_risk, d_features);
    CUDA_CHECK(cudaGetLastError());
  }
  CUDA_CHECK(cudaEventRecord(stop));
  CUDA_CHECK(cudaEventSynchronize(stop));
  float ms;
  CUDA_CHECK(cudaEventElapsedTime(&ms, start, stop));

  std::vector<Features> features(n);
  CUDA_CHECK(cudaMemcpy(features.data(), d_features, n * sizeof(Features), cudaMemcpyDeviceToHost));
  CUDA_CHECK(cudaMemcpy(accounts.data(), d_accounts, num_accounts * sizeof(Account), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Features &f : features)
    check = check * 31 + f.score + 3ull * f.count24h + 5ull * f.amount24h + 7ull * f.amount7d + 11ull * f.merchants24h;
  for (const Account &a : accounts)
    check = check * 31 + a.alerts + 3ull * a.worstScore + 5ull * a.exposure + a.mccSeen;
  for (int m = 0; m < num_merchants; ++m) check = check * 31 + merchants[m].volume + merchants[m].smallTickets;
  printf("check %llu\ntime_ms %.4f\n", check, ms / STEPS);

  return 0; /* the driver frees the rest */
}
