// Kidney paired donation: score every donor against every patient, keep a
// short ranked list per patient and look for two-way exchanges.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CUDA_TRY(x)                                                            \
    do {                                                                       \
        cudaError_t rc_ = (x);                                                 \
        if (rc_ != cudaSuccess) {                                              \
            fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__,                  \
                    cudaGetErrorString(rc_));                                  \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

#define LIST 8
#define TILE 128

struct Donor {
    short hla[6];
    unsigned char blood;
    unsigned char age;
    unsigned char sex;
    unsigned char cmv;
    float gfr;
    float weight;
    float lat, lon;
    int center;
    int offers;
};

struct Patient {
    unsigned int antibodies[8];
    short hla[6];
    unsigned char blood;
    unsigned char age;
    unsigned char sex;
    unsigned char cmv;
    float pra;
    float weight;
    float lat, lon;
    float wait_days;
    int center;
    int partner;
};

struct Ranking {
    float score[LIST];
    int donor[LIST];
    int compatible;
    int n;
};

__host__ __device__ inline bool blood_ok(unsigned char donor, unsigned char patient) {
    return (donor & patient) == donor;
}

__device__ inline bool crossmatch_negative(const Donor &d, const Patient &p) {
    for (int k = 0; k < 6; k++) {
        int a = d.hla[k];
        if ((p.antibodies[a >> 5] >> (a & 31)) & 1u) return false;
    }
    return true;
}

__device__ inline float match_score(const Donor &d, const Patient &p) {
    float s = 0.0f;
    for (int k = 0; k < 6; k++) {
        bool hit = d.hla[k] == p.hla[k] || d.hla[k] == p.hla[k ^ 1];
        s += hit ? (k >= 4 ? 12.0f : 6.0f) : 0.0f;
    }
    int da = (int)d.age - (int)p.age;
    s -= 0.15f * abs(da);
    if (d.cmv && !p.cmv) s -= 4.0f;
    float dx = d.lat - p.lat, dy = d.lon - p.lon;
    s -= 0.5f * sqrtf(dx * dx + dy * dy);
    s += 0.08f * (d.gfr - 90.0f);
    s -= 0.05f * fabsf(d.weight - p.weight);
    s += 0.01f * p.wait_days + 0.1f * p.pra;
    return s;
}

__global__ void rank_donors(const Donor *donors, const Patient *patients, Ranking *ranks, int n) {
    __shared__ Donor tile[TILE];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool active = i < n;
    Patient me;
    if (active) me = patients[i];
    float best[LIST];
    int who[LIST];
    for (int k = 0; k < LIST; k++) {
        best[k] = -1e30f;
        who[k] = -1;
    }
    int compatible = 0;
    for (int base = 0; base < n; base += TILE) {
        int m = min(TILE, n - base);
        for (int k = threadIdx.x; k < m; k += blockDim.x) tile[k] = donors[base + k];
        __syncthreads();
        if (active) {
            for (int k = 0; k < m; k++) {
                const Donor &d = tile[k];
                if (base + k == i) continue;
                if (!blood_ok(d.blood, me.blood)) continue;
                if (!crossmatch_negative(d, me)) continue;
                compatible++;
                float s = match_score(d, me);
                if (s <= best[LIST - 1]) continue;
                int id = base + k;
#pragma unroll
                for (int j = 0; j < LIST; j++) {
                    if (s > best[j]) {
                        float ts = best[j];
                        int tw = who[j];
                        best[j] = s;
                        who[j] = id;
                        s = ts;
                        id = tw;
                    }
                }
            }
        }
        __syncthreads();
    }
    if (active) {
        int cnt = 0;
        for (int k = 0; k < LIST; k++) {
            ranks[i].score[k] = best[k];
            ranks[i].donor[k] = who[k];
            cnt += who[k] >= 0;
        }
        ranks[i].compatible = compatible;
        ranks[i].n = cnt;
    }
}

__global__ void count_offers(const Ranking *ranks, Donor *donors, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        for (int k = 0; k < ranks[i].n; k++) atomicAdd(&donors[ranks[i].donor[k]].offers, 1);
    }
}

__global__ void two_way_swaps(const Ranking *ranks, const Donor *donors, Patient *patients, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int pick = -1;
        float value = -1e30f;
        for (int k = 0; k < ranks[i].n; k++) {
            int j = ranks[i].donor[k];
            if (!blood_ok(donors[i].blood, patients[j].blood)) continue;
            if (!crossmatch_negative(donors[i], patients[j])) continue;
            float v = ranks[i].score[k] + match_score(donors[i], patients[j]) - 0.2f * donors[j].offers;
            if (v > value) {
                value = v;
                pick = j;
            }
        }
        patients[i].partner = pick;
    }
}

static unsigned long long state = 777767777ull;
static unsigned int rnd() {
    state = state * 2862933555777941757ull + 3037000493ull;
    return (unsigned int)(state >> 33);
}
static float rndf() { return (rnd() & 0xffffff) / 16777216.0f; }

static unsigned char random_blood() {
    unsigned int r = rnd() % 100;
    return r < 45 ? 0 : r < 85 ? 1 : r < 96 ? 2 : 3;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 20000;
    if (n < 2) n = 2;
    std::vector<Donor> donors(n);
    std::vector<Patient> patients(n);
    for (int i = 0; i < n; i++) {
        Donor &d = donors[i];
        Patient &p = patients[i];
        for (int k = 0; k < 6; k++) {
            d.hla[k] = (short)((k / 2) * 80 + (int)(80 * rndf() * rndf()));
            p.hla[k] = (short)((k / 2) * 80 + (int)(80 * rndf() * rndf()));
        }
        d.blood = random_blood();
        d.age = (unsigned char)(20 + rnd() % 50);
        d.sex = rnd() & 1;
        d.cmv = rnd() % 10 < 6;
        d.gfr = 75.0f + 50.0f * rndf();
        d.weight = 50.0f + 50.0f * rndf();
        d.lat = 20.0f * rndf();
        d.lon = 40.0f * rndf();
        d.center = rnd() % 200;
        d.offers = 0;
        int spec = rnd() % 4 == 0 ? 20 + rnd() % 60 : rnd() % 12;
        for (int k = 0; k < 8; k++) p.antibodies[k] = 0;
        for (int k = 0; k < spec; k++) {
            int a = rnd() % 240;
            p.antibodies[a >> 5] |= 1u << (a & 31);
        }
        p.blood = random_blood();
        p.age = (unsigned char)(15 + rnd() % 60);
        p.sex = rnd() & 1;
        p.cmv = rnd() % 10 < 6;
        p.pra = spec / 2.4f;
        p.weight = 45.0f + 60.0f * rndf();
        p.lat = d.lat + 0.5f * rndf();
        p.lon = d.lon + 0.5f * rndf();
        p.wait_days = 1500.0f * rndf();
        p.center = d.center;
        p.partner = -1;
    }

    Donor *d_don;
    Patient *d_pat;
    Ranking *d_rank;
    CUDA_TRY(cudaMalloc(&d_don, n * sizeof(Donor)));
    CUDA_TRY(cudaMalloc(&d_pat, n * sizeof(Patient)));
    CUDA_TRY(cudaMalloc(&d_rank, n * sizeof(Ranking)));
    CUDA_TRY(cudaMemcpy(d_don, donors.data(), n * sizeof(Donor), cudaMemcpyHostToDevice));
    CUDA_TRY(cudaMemcpy(d_pat, patients.data(), n * sizeof(Patient), cudaMemcpyHostToDevice));

    int tb = 128, grid = (n + tb - 1) / tb;
    cudaEvent_t a, b;
    CUDA_TRY(cudaEventCreate(&a));
    CUDA_TRY(cudaEventCreate(&b));
    const int reps = 5;
    for (int r = 0; r <= reps; r++) {
        if (r == 1) CUDA_TRY(cudaEventRecord(a));
        rank_donors<<<grid, tb>>>(d_don, d_pat, d_rank, n);
        count_offers<<<grid, tb>>>(d_rank, d_don, n);
        two_way_swaps<<<grid, tb>>>(d_rank, d_don, d_pat, n);
    }
    CUDA_TRY(cudaEventRecord(b));
    CUDA_TRY(cudaEventSynchronize(b));
    CUDA_TRY(cudaGetLastError());
    float ms;
    CUDA_TRY(cudaEventElapsedTime(&ms, a, b));

    std::vector<Ranking> ranks(n);
    CUDA_TRY(cudaMemcpy(donors.data(), d_don, n * sizeof(Donor), cudaMemcpyDeviceToHost));
    CUDA_TRY(cudaMemcpy(patients.data(), d_pat, n * sizeof(Patient), cudaMemcpyDeviceToHost));
    CUDA_TRY(cudaMemcpy(ranks.data(), d_rank, n * sizeof(Ranking), cudaMemcpyDeviceToHost));

    long long compatible = 0, listed = 0, offers = 0, paired = 0, mutual = 0, sum_id = 0;
    double top = 0, last = 0;
    for (int i = 0; i < n; i++) {
        compatible += ranks[i].compatible;
        listed += ranks[i].n;
        offers += donors[i].offers;
        if (ranks[i].n > 0) {
            top += ranks[i].score[0];
            last += ranks[i].score[ranks[i].n - 1];
            sum_id += ranks[i].donor[0];
        }
        int j = patients[i].partner;
        if (j >= 0) {
            paired++;
            if (patients[j].partner == i) mutual++;
        }
    }
    printf("check compatible %lld\n", compatible);
    printf("check listed %lld\n", listed);
    printf("check offers %lld\n", offers);
    printf("check paired %lld\n", paired);
    printf("check mutual %lld\n", mutual);
    printf("check best_ids %lld\n", sum_id);
    printf("check top_score %.6g\n", top);
    printf("check last_score %.6g\n", last);
    printf("time_ms %.4f\n", ms / reps);
    CUDA_TRY(cudaFree(d_don));
    CUDA_TRY(cudaFree(d_pat));
    CUDA_TRY(cudaFree(d_rank));
    return 0;
}
