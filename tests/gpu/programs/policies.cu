// Reserves of a portfolio of life insurance policies.
//
// Every policy is projected over 20 years: survival from a mortality table,
// premiums and claims by the kind of the policy, all discounted. The other
// fields are for the administration. The argument is the number of policies.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                                    \
  do {                                                                                                                 \
    cudaError_t status = (call);                                                                                       \
    if (status != cudaSuccess) {                                                                                       \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));                                  \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

enum Kind { TERM, ENDOWMENT, ANNUITY, UNIT_LINKED };

struct Policy {
  int number;
  int holder;
  char kind;
  char channel;
  short age;
  int issued;
  float sumInsured;
  float premium;
  float fund;
  float commission;
  double reserve;
  double cashFlow; // expected sum that is paid, not discounted
};

const int YEARS = 20, OLDEST = 120;

__global__ void project(Policy *policies, int n, const float *mortality, float interest, float growth) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int kind = policies[i].kind, age = policies[i].age;
  float sum = policies[i].sumInsured, premium = policies[i].premium;
  float fund = kind == UNIT_LINKED ? policies[i].fund : 0;
  float alive = 1, discount = 1, step = 1 / (1 + interest);
  double reserve = 0, paid = 0;
  for (int year = 0; year < YEARS; ++year) {
    float q = mortality[min(age + year, OLDEST - 1)];
    float dead = alive * q, claim = 0, income = 0;
    switch (kind) {
    case TERM:
      income = alive * premium;
      claim = dead * sum;
      break;
    case ENDOWMENT:
      income = alive * premium;
      claim = dead * sum;
      if (year == YEARS - 1)
        claim += (alive - dead) * sum;
      break;
    case ANNUITY: // a pension from the age of 65
      if (age + year < 65)
        income = alive * premium;
      else
        claim = alive * sum * 0.06f;
      break;
    default: // the fund, but at least what is insured
      fund = (fund + premium * 0.95f) * (1 + growth);
      income = alive * premium;
      claim = dead * fmaxf(fund, sum);
    }
    reserve += discount * (claim * step - income);
    paid += claim;
    alive -= dead;
    discount *= step;
    if (alive < 1e-3f)
      break;
  }
  policies[i].reserve = reserve;
  policies[i].cashFlow = paid;
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 6000000;
  std::vector<float> mortality(OLDEST);
  for (int age = 0; age < OLDEST; ++age) // the law of Gompertz and Makeham
    mortality[age] = fminf(1, 0.0004f + 0.00003f * expf(0.094f * age));
  std::vector<Policy> policies(n);
  for (int i = 0; i < n; ++i) {
    unsigned h = hash(i), other = hash(h ^ 0x40000000);
    int share = h % 100;
    char kind = share < 45 ? TERM : share < 70 ? ENDOWMENT : share < 85 ? ANNUITY : UNIT_LINKED;
    float sum = 10000 + 1000 * (other % 240);
    policies[i] = {10000000 + i,
                   (int)(other >> 8),
                   kind,
                   (char)(h >> 28),
                   (short)(20 + (h >> 8) % 56),
                   (int)(1990 + (h >> 16) % 34),
                   sum,
                   sum * (0.004f + 0.0001f * (other >> 16 & 255)),
                   sum * (h >> 20 & 63) / 64,
                   0.01f * (other >> 28),
                   0,
                   0};
  }
  Policy *d_policies;
  CHECK(cudaMalloc(&d_policies, n * sizeof(Policy)));
  CHECK(cudaMemcpy(d_policies, policies.data(), n * sizeof(Policy), cudaMemcpyHostToDevice));
  float *d_mortality;
  CHECK(cudaMalloc(&d_mortality, OLDEST * sizeof(float)));
  CHECK(cudaMemcpy(d_mortality, mortality.data(), OLDEST * sizeof(float), cudaMemcpyHostToDevice));

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) { // a scenario of interest each
    if (r == 1)                        // round 0 warms up
      CHECK(cudaEventRecord(begin));
    project<<<(n + 255) / 256, 256>>>(d_policies, n, d_mortality, 0.0005f * r, 0.01f + 0.0005f * r);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  CHECK(cudaMemcpy(policies.data(), d_policies, n * sizeof(Policy), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Policy &p : policies)
    check = check * 31 + llround(p.reserve) + 3 * llround(p.cashFlow) + p.number;

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_policies));
  CHECK(cudaFree(d_mortality));
}
